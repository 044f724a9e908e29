/* SPDX-License-Identifier: MIT */
/* The forms of single values: times and sizes as sbatch takes them, command words. */
#pragma once

#include "gen/spec/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPEC_HINT_MAX 64

/*
 * Seconds of a time limit in a form that sbatch --time takes: MINUTES, MINUTES:SECONDS,
 * HOURS:MINUTES:SECONDS, DAYS-HOURS[:MINUTES[:SECONDS]], or no limit: 0, -1, UNLIMITED,
 * INFINITE. -EINVAL: HINT is the right form of what was meant ("4h" -> "04:00:00"), or
 * empty.
 */
int spec_time_read(const char *text, uint64_t *seconds, char hint[SPEC_HINT_MAX]);

/*
 * MiB of a size in a form that sbatch --mem takes: digits and K, M (or nothing), G or T,
 * with or without B. KiB are rounded up. -EINVAL as above ("64GiB" -> "64G").
 */
int spec_memory_read(const char *text, uint64_t *mib, char hint[SPEC_HINT_MAX]);

/* How many indices a text has in the form that sbatch --array takes. -EINVAL. */
int spec_array_read(const char *text, uint64_t *count);

/* What sbatch --signal=[B:]NAME[@SECONDS] says. */
struct spec_signal {
	bool batch;       /* B: */
	const char *name; /* upper case without SIG, or a number */
	bool timed;       /* @SECONDS is there */
	uint32_t before;  /* its value; Slurm's default of 60 without it */
};

/* -EINVAL for what sbatch refuses; -ENOMEM. */
int spec_signal_read(const char *text, struct spec_arena **arena,
		     struct spec_signal *signal);

/*
 * Splits TEXT into words as a POSIX shell does (blanks, '...', "...", backslash), and
 * expands nothing: `$HOME` stays five characters. *WORDS has *COUNT texts in ARENA.
 * -EINVAL for a quote that is not closed or a backslash at the end; -ENOMEM.
 */
int spec_words_split(const char *text, struct spec_arena **arena, const char ***words,
		     size_t *count);
