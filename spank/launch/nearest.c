/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean" by the optimal string alignment distance: insertions, deletions,
 * substitutions and swaps of neighbours cost one each.
 */
#include "spank/launch/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* No option, key or directive is longer; a longer word is no typing mistake of one. */
#define WORD_MAX 80

/* sbatch's options are written with '-', the spec's keys with '_'; people mix them. */
static int fold(char c)
{
	return c == '-' ? '_' : tolower((unsigned char)c);
}

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned distance(const char *a, size_t alen, const char *b, size_t blen)
{
	/* Only the row in the making and the two before it are needed. */
	unsigned rows[3][WORD_MAX + 1];
	unsigned *older = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= blen; j++)
		above[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		unsigned *oldest = older;

		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			bool same = fold(a[i - 1]) == fold(b[j - 1]);

			row[j] = smaller(smaller(above[j], row[j - 1]) + 1,
					 above[j - 1] + !same);
			if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
			    fold(a[i - 2]) == fold(b[j - 1]))
				row[j] = smaller(row[j], older[j - 2] + 1);
		}
		older = above;
		above = row;
		row = oldest;
	}
	return above[blen];
}

const char *launch_nearest(const char *word, const char *const *names, size_t count,
			   size_t stride)
{
	size_t length = strnlen(word, WORD_MAX + 1);
	const char *best = NULL;
	unsigned best_distance = UINT32_MAX;

	if (length > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const char *name =
			*(const char *const *)((const char *)names + i * stride);
		size_t name_length, longer;
		unsigned d;

		if (!name)
			continue;
		name_length = strnlen(name, WORD_MAX + 1);
		if (name_length > WORD_MAX)
			continue;
		longer = length > name_length ? length : name_length;
		d = distance(word, length, name, name_length);
		/* As far apart as the words are long: they have nothing in common. */
		if (d > (longer + 2) / 3 || d >= longer || d >= best_distance)
			continue;
		best = name;
		best_distance = d;
	}
	return best;
}
