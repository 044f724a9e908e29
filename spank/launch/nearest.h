/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean": the known name that is nearest to a mistyped one. Used for option keys
 * at launch and for spec keys, launchers and directives before it.
 */
#pragma once

#include <stddef.h>

/*
 * The entry of NAMES (COUNT pointers, STRIDE bytes apart, so that a column of a table can
 * be passed) with the smallest edit distance to WORD, transpositions counted as one. NULL
 * when nothing is near enough to be worth suggesting: the distance must be at most a
 * third of the longer length, rounded up, and less than that length. '-' and '_' count as
 * equal, case does not matter; of equally near names the first wins; entries may be NULL.
 */
const char *launch_nearest(const char *word, const char *const *names, size_t count,
			   size_t stride);
