/* SPDX-License-Identifier: MIT */
/*
 * libyaml gives the place where a value begins. Of a block (`|`) the lines follow below
 * that place, one by one and indented; of a plain text the only line stands there.
 */
#include "gen/spec/within.h"

#include "gen/utf8.h"

#include <string.h>

/* Line LINE, from 1, of SOURCE up to *END; NULL: there is none. */
static const char *line_of(const struct diag_source *source, uint32_t line,
			   const char **end)
{
	const char *at = source->text, *stop = source->text + source->length;

	for (; line > 1 && at; line--) {
		at = memchr(at, '\n', (size_t)(stop - at));
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return NULL;
	*end = memchr(at, '\n', (size_t)(stop - at));
	if (!*end)
		*end = stop;
	return at;
}

/* The byte of TEXT, up to END, at which character COLUMN (from 1) begins. */
static const char *seek(const char *text, const char *end, uint32_t column)
{
	for (; column > 1 && text < end; column--) {
		uint32_t code;
		size_t size = utf8_decode(text, (size_t)(end - text), &code);

		text += size ? size : 1;
	}
	return text;
}

void spec_place_within(struct diag_place *place, const struct diag *diag,
		       const char *text, size_t length, size_t begin, size_t end)
{
	const struct diag_source *source =
		place->file ? diag_source_find(diag, place->file) : NULL;
	size_t first = 0, last;
	uint32_t line = 0;

	if (!source || !source->text || begin >= length)
		return;
	for (size_t i = 0; i < begin; i++) {
		if (text[i] == '\n') {
			line++;
			first = i + 1;
		}
	}
	for (last = begin; last < length && text[last] != '\n';)
		last++;
	if (end > last)
		end = last;
	/* YAML takes a block's indentation off, and the first line may lack it, too. */
	while (first < begin && (text[first] == ' ' || text[first] == '\t'))
		first++;
	for (uint32_t below = line > 0; first < last && below < 2; below++) {
		const char *stop;
		const char *row = line_of(source, place->line + line + below, &stop);
		const char *found, *from;

		if (!row)
			return;
		from = line + below ? row : seek(row, stop, place->column);
		found = memmem(from, (size_t)(stop - from), text + first, last - first);
		if (!found)
			continue;
		found += begin - first;
		place->line += line + below;
		place->column = 1 + utf8_count(row, (size_t)(found - row));
		place->end_column = place->column +
				    (end > begin ? utf8_count(found, end - begin) : 1);
		return;
	}
}
