/* SPDX-License-Identifier: MIT */
/*
 * Whether two nodes have the same files: one number for a folder, and a listing that
 * tells which file makes the difference.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A tree with more takes too long to be compared before each run. */
#define EXEC_DIGEST_FILES_MAX 100000

struct exec_digest {
	uint64_t hash; /* FNV-1a: not against malice */
	uint32_t files;
	uint64_t bytes;
	/*
	 * 0. -EFBIG: there are more files than that; -ETIME: it takes too long;
	 * -ETIMEDOUT: FAULT, a file or folder in it, is waited for in vain; or what keeps
	 * FAULT from being read.
	 */
	int error;
	char fault[256];
};

/*
 * Reads the files or folders PATHS (COUNT of them) side by side, each into its entry of
 * DIGESTS; with each the time ends after SECONDS, whether its file server answers or not.
 * Names and contents count, times and modes do not; of a link in the tree, where it
 * points to. Folders named __pycache__ and .git are left out: Python and git write into
 * them. Each file gets a line in LISTING, with the number of its tree in front:
 * "0 89ab... PATH". Threads may be left that are waiting for a file: end by _Exit().
 */
void exec_digest_trees(struct exec_digest *digests, const char *const *paths,
		       uint32_t count, unsigned int seconds, FILE *listing);

/*
 * What DIGEST, of PATH and read for SECONDS at most, comes to, as a value of a record:
 * "HASH FILES BYTES"; "!" and why it is not there; "#" and what the task may not read;
 * "*" and what was gone meanwhile; "?" and why it was not read to its end; "~" and what
 * does not answer; "-" and what the task lacked for it.
 */
void exec_digest_text(const struct exec_digest *digest, const char *path,
		      unsigned int seconds, char *text, size_t size);

/* Whether such a value tells what the tree is; else it tells why that is not known. */
bool exec_digest_is(const char *value);

/*
 * PATHS (COUNT of them) as a value that tells one list from another, however long they
 * are: "HASH PATH PATH...".
 */
void exec_digest_list(const char *const *paths, uint32_t count, char *text, size_t size);

/*
 * Writes into TEXT the first few files of tree NUMBER that are not the same in the
 * listings OURS, of the node NODE, and THEIRS: "a.py, b.yaml (only on node1), c.py (not
 * on node1), ...". "" when these tell of none. THEIRS may have been cut, and then does
 * not end with a line feed: what would come behind is not missing.
 */
void exec_digest_compare(const char *ours, const char *theirs, uint32_t number,
			 const char *node, char *text, size_t size);
