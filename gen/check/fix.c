/* SPDX-License-Identifier: MIT */
/*
 * Edits: applied to the bytes of a script, and shown as a difference. Whatever no edit
 * speaks of stays as it is, byte for byte.
 */
#include "gen/check/check.h"

#include "gen/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Unchanged lines around a change. */
#define CONTEXT 3

void check_edits_clear(struct check_edits *edits)
{
	for (size_t i = 0; i < edits->count; i++)
		free(edits->items[i].text);
	free(edits->items);
	*edits = (struct check_edits){0};
}

/* In the order of the text; insertions at one place keep the order of their rules, for
 * which the list was filled in order, so the sort must be stable. */
static void sort(struct check_edits *edits)
{
	for (size_t i = 1; i < edits->count; i++) {
		struct check_edit edit = edits->items[i];
		size_t j = i;

		while (j > 0 &&
		       (edits->items[j - 1].from > edit.from ||
			(edits->items[j - 1].from == edit.from && edit.from == edit.to &&
			 edits->items[j - 1].to > edits->items[j - 1].from))) {
			edits->items[j] = edits->items[j - 1];
			j--;
		}
		edits->items[j] = edit;
	}
}

static bool is_equal(const struct check_edit *a, const struct check_edit *b)
{
	return a->from == b->from && a->to == b->to && strcmp(a->text, b->text) == 0;
}

int check_fix_apply(const char *text, size_t length, struct check_edits *edits,
		    char **fixed, size_t *size)
{
	struct check_edit *last = NULL;
	size_t room = length + 1, at = 0, used = 0;
	char *out;

	for (size_t i = 0; i < edits->count; i++)
		room += strlen(edits->items[i].text);
	out = malloc(room);
	if (!out)
		return -ENOMEM;
	sort(edits);
	for (size_t i = 0; i < edits->count; i++) {
		struct check_edit *edit = &edits->items[i];
		const size_t put = strlen(edit->text);

		/* Two rules may want the same, and none may undo another's. */
		if (edit->from < at || edit->to > length || edit->to < edit->from ||
		    (last && is_equal(last, edit)))
			continue;
		memcpy(out + used, text + at, edit->from - at);
		used += edit->from - at;
		memcpy(out + used, edit->text, put);
		used += put;
		at = edit->to;
		edit->applied = true;
		last = edit;
	}
	memcpy(out + used, text + at, length - at);
	used += length - at;
	out[used] = '\0';
	*fixed = out;
	*size = used;
	return 0;
}

static void tell_lines(FILE *out, const char *file, size_t first, size_t last,
		       const char *rule)
{
	utf8_escape(out, file);
	if (first == last)
		fprintf(out, ":%zu: fixed [%s]\n", first, rule);
	else
		fprintf(out, ":%zu-%zu: fixed [%s]\n", first, last, rule);
}

void check_fix_tell(FILE *out, const char *file, const char *text,
		    const struct check_edits *edits)
{
	size_t line = 1, at = 0, first = 0, last = 0;
	const char *rule = NULL;

	for (size_t i = 0; i < edits->count; i++) {
		const struct check_edit *edit = &edits->items[i];

		if (!edit->applied || !edit->rule)
			continue;
		for (; at < edit->from; at++)
			line += text[at] == '\n';
		if (rule && strcmp(rule, edit->rule) == 0 && line <= last + 1) {
			last = line;
			continue;
		}
		if (rule)
			tell_lines(out, file, first, last, rule);
		rule = edit->rule;
		first = last = line;
	}
	if (rule)
		tell_lines(out, file, first, last, rule);
}

/* ---- the difference ---- */

struct lines {
	const char **at; /* COUNT starts, and the end of the text behind them */
	size_t count;
};

static bool split(struct lines *lines, const char *text, size_t length)
{
	const char *end = text + length;
	size_t count = 0;

	for (const char *at = text; at < end; count++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		at = stop ? stop + 1 : end;
	}
	lines->at = calloc(count + 1, sizeof(*lines->at));
	if (!lines->at)
		return false;
	lines->count = 0;
	for (const char *at = text; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		lines->at[lines->count++] = at;
		at = stop ? stop + 1 : end;
	}
	lines->at[lines->count] = end;
	return true;
}

static bool line_is_equal(const struct lines *a, size_t i, const struct lines *b,
			  size_t j)
{
	const size_t length = (size_t)(a->at[i + 1] - a->at[i]);

	return length == (size_t)(b->at[j + 1] - b->at[j]) &&
	       memcmp(a->at[i], b->at[j], length) == 0;
}

static void print_line(FILE *out, char sign, const struct lines *lines, size_t i)
{
	size_t length = (size_t)(lines->at[i + 1] - lines->at[i]);

	fputc(sign, out);
	fwrite(lines->at[i], 1, length, out);
	if (length == 0 || lines->at[i][length - 1] != '\n')
		fputs("\n\\ No newline at end of file\n", out);
}

/* Lines I of A and J of B are where both go on alike, the nearest such. */
static void resync(const struct lines *a, size_t *i, const struct lines *b, size_t *j)
{
	const size_t left_a = a->count - *i, left_b = b->count - *j;

	for (size_t far = 1; far <= left_a + left_b; far++) {
		for (size_t k = far > left_b ? far - left_b : 0; k <= far && k <= left_a;
		     k++) {
			const size_t x = *i + k, y = *j + (far - k);

			if ((x == a->count && y == b->count) ||
			    (x < a->count && y < b->count && line_is_equal(a, x, b, y))) {
				*i = x;
				*j = y;
				return;
			}
		}
	}
}

struct change {
	size_t a, a_end, b, b_end;
};

static void print_hunk(FILE *out, const struct lines *a, const struct lines *b,
		       const struct change *changes, size_t count)
{
	const struct change *first = changes, *last = changes + count - 1;
	size_t before = first->a < CONTEXT ? first->a : CONTEXT;
	size_t after =
		a->count - last->a_end < CONTEXT ? a->count - last->a_end : CONTEXT;
	size_t from_a = first->a - before, from_b = first->b - before;
	size_t size_a = last->a_end + after - from_a,
	       size_b = last->b_end + after - from_b;
	size_t at = from_a;

	fprintf(out, "@@ -%zu,%zu +%zu,%zu @@\n", size_a ? from_a + 1 : from_a, size_a,
		size_b ? from_b + 1 : from_b, size_b);
	for (size_t i = 0; i < count; i++) {
		for (; at < changes[i].a; at++)
			print_line(out, ' ', a, at);
		for (; at < changes[i].a_end; at++)
			print_line(out, '-', a, at);
		for (size_t j = changes[i].b; j < changes[i].b_end; j++)
			print_line(out, '+', b, j);
	}
	for (; at < last->a_end + after; at++)
		print_line(out, ' ', a, at);
}

void check_fix_diff(FILE *out, const char *file, const char *old, size_t old_length,
		    const char *new, size_t new_length)
{
	struct lines a = {0}, b = {0};
	struct change *changes = NULL;
	size_t count = 0, allocated = 0, i = 0, j = 0;

	if (!split(&a, old, old_length) || !split(&b, new, new_length))
		goto out;
	while (i < a.count || j < b.count) {
		struct change change = {i, i, j, j};

		if (i < a.count && j < b.count && line_is_equal(&a, i, &b, j)) {
			i++;
			j++;
			continue;
		}
		resync(&a, &i, &b, &j);
		change.a_end = i;
		change.b_end = j;
		if (count == allocated) {
			struct change *grown;

			allocated = allocated ? 2 * allocated : 16;
			grown = reallocarray(changes, allocated, sizeof(*grown));
			if (!grown)
				goto out;
			changes = grown;
		}
		changes[count++] = change;
	}
	if (count > 0) {
		fputs("--- ", out);
		utf8_escape(out, file);
		fputs("\n+++ ", out);
		utf8_escape(out, file);
		fputc('\n', out);
	}
	for (i = 0; i < count; i = j) {
		for (j = i + 1;
		     j < count && changes[j].a - changes[j - 1].a_end <= 2 * CONTEXT; j++)
			;
		print_hunk(out, &a, &b, changes + i, j - i);
	}
out:
	free(changes);
	free(a.at);
	free(b.at);
}
