/* SPDX-License-Identifier: MIT */
/* Lines of a text, found once; see text.h. */
#include "gen/script/text.h"

#include "gen/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int script_text_init(struct script_text *source, const char *file, const char *text,
		     size_t length)
{
	size_t lines = 1;

	*source = (struct script_text){.file = file, .text = text, .length = length};
	if (length > SCRIPT_TEXT_MAX)
		return -EFBIG;
	for (const char *at = text; (at = memchr(at, '\n', length - (at - text))); at++)
		lines++;
	source->lines = malloc(lines * sizeof(*source->lines));
	if (!source->lines)
		return -ENOMEM;
	source->lines[source->lines_count++] = 0;
	for (const char *at = text; (at = memchr(at, '\n', length - (at - text))); at++)
		source->lines[source->lines_count++] = (uint32_t)(at + 1 - text);
	/* What stands behind the last line end is a line only if there is something. */
	if (source->lines_count > 1 && source->lines[source->lines_count - 1] == length)
		source->lines_count--;
	return 0;
}

uint32_t script_text_line(const struct script_text *source, uint32_t offset)
{
	size_t low = 0, high = source->lines_count;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (source->lines[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low + 1;
}

struct script_range script_text_line_range(const struct script_text *source,
					   uint32_t line)
{
	const uint32_t begin = source->lines[line - 1];
	uint32_t end = line < source->lines_count ? source->lines[line]
						  : (uint32_t)source->length;

	if (end > begin && source->text[end - 1] == '\n')
		end--;
	if (end > begin && source->text[end - 1] == '\r')
		end--;
	return (struct script_range){begin, end};
}

struct diag_place script_text_place(struct script_text *source, struct script_range range)
{
	struct script_text_memory *memory = &source->memory;
	const uint32_t line = script_text_line(source, range.begin);
	const struct script_range whole = script_text_line_range(source, line);
	uint32_t begin = range.begin, end = range.end;
	struct diag_place place = {.file = source->file, .line = line};

	if (begin > whole.end)
		begin = whole.end;
	if (end > whole.end)
		end = whole.end;
	if (end < begin)
		end = begin;
	/* A finding a word on one line of 100 MB must not count the line each time. */
	if (memory->line != line || memory->offset > begin)
		*memory = (struct script_text_memory){line, whole.begin, 1};
	memory->column +=
		utf8_count(source->text + memory->offset, begin - memory->offset);
	memory->offset = begin;
	place.column = memory->column;
	place.end_column = place.column + utf8_count(source->text + begin, end - begin);
	return place;
}

void script_text_clear(struct script_text *source)
{
	free(source->lines);
	*source = (struct script_text){0};
}
