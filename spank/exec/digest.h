/* SPDX-License-Identifier: MIT */
/*
 * Whether two nodes have the same files: one number for a folder, and a listing that
 * tells which file makes the difference.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A tree with more takes too long to be compared before each run. */
#define EXEC_DIGEST_FILES_MAX 100000

struct exec_digest {
	uint64_t hash; /* FNV-1a: not against malice */
	uint32_t files;
	uint64_t bytes;
	/* 0; -EFBIG: more files than that, -ETIME: it takes too long; or what keeps the
	 * tree, or the file FAULT in it, from being read. */
	int error;
	char fault[256];
};

/*
 * Reads the file or folder PATH, SECONDS long at most. Names and contents count, times
 * and modes do not; of a link in the tree, where it points to. Folders named __pycache__
 * and .git are left out: Python and git write into them. Each file gets a line in
 * LISTING, with NUMBER in front: "0 89ab... PATH".
 */
void exec_digest_tree(struct exec_digest *digest, const char *path, uint32_t number,
		      unsigned int seconds, FILE *listing);

/*
 * Writes into TEXT the first few files of tree NUMBER that are not the same in the
 * listings OURS and THEIRS: "a.py, b.yaml (missing there), ...". "" when these tell of
 * none. THEIRS may have been cut, and then does not end with a line feed: what would come
 * behind is not missing.
 */
void exec_digest_compare(const char *ours, const char *theirs, uint32_t number,
			 char *text, size_t size);
