/* SPDX-License-Identifier: MIT */
/* Texts of the spec as shell words, those of a sweep's axes among them. */
#include "gen/script/parts.h"
#include "gen/script/quote.h"

#include "gen/plan/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A sweep whose points are tasks of one array: the script itself looks the values up. */
static bool has_axes(const struct script_work *work)
{
	return plan_sweep_points(work->spec) > 0;
}

static int put_word(FILE *out, struct script_work *work, const char *text)
{
	const struct spec_axis *axis;
	const char *part, *literal;
	size_t at = 0, length;
	bool first = true;

	if (!has_axes(work)) {
		script_quote_word(out, text);
		return 0;
	}
	while (plan_sweep_part(work->spec, text, &at, &part, &length, &axis)) {
		first = false;
		if (axis) {
			fprintf(out, "\"$%s\"", axis->name.text);
			continue;
		}
		literal = spec_arena_copy(&work->arena, part, length);
		if (!literal)
			return -ENOMEM;
		script_quote_word(out, literal);
	}
	/* Even nothing is a word. */
	if (first)
		script_quote_word(out, "");
	return 0;
}

/* The text of OUT, opened by open_memstream() on TEXT, moved into the arena. */
static const char *finish(struct script_work *work, FILE *out, char **text, int rc)
{
	const char *result = NULL;

	if (fclose(out) == 0 && rc == 0)
		result = spec_arena_copy(&work->arena, *text, strlen(*text));
	free(*text);
	return result;
}

const char *script_word(struct script_work *work, const char *text)
{
	char *result = NULL;
	size_t length;
	FILE *out = open_memstream(&result, &length);

	if (!out)
		return NULL;
	return finish(work, out, &result, put_word(out, work, text));
}

int script_plain(struct script_work *work, const char *text,
		 const struct diag_place *place, const char *what, const char **plain)
{
	const struct spec_axis *axis;
	size_t at = 0, length, used = 0;
	const char *part;
	char *copy;

	*plain = text;
	if (!has_axes(work))
		return 0;
	copy = spec_arena_alloc(&work->arena, strlen(text) + 1);
	if (!copy)
		return -ENOMEM;
	while (plan_sweep_part(work->spec, text, &at, &part, &length, &axis)) {
		if (axis) {
			diag_add(work->diag, DIAG_ERROR, "script-sweep", place,
				 "{%s} is another value in each task of the array, and "
				 "%s is the same for all of them",
				 axis->name.text, what);
			diag_fix(work->diag, "write sweep.as: files for a script each, "
					     "or %%a for the number of the task");
			return -EINVAL;
		}
		memcpy(copy + used, part, length);
		used += length;
	}
	*plain = copy;
	return 0;
}
