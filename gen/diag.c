/* SPDX-License-Identifier: MIT */
/*
 * The collector of diagnostics and its printer. Texts may come from a hostile file, so
 * nothing of them reaches a terminal unescaped.
 */
#include "gen/diag.h"

#include "gen/utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Characters of a source line that are shown; a longer line is cut around the place. */
#define SHOWN_MAX 100

/* How far back an item is compared with those before it. */
#define REPEAT_WINDOW 64

static const char *const severity_names[] = {
	[DIAG_ERROR] = "error",
	[DIAG_WARNING] = "warning",
	[DIAG_NOTE] = "note",
};

/* SGR of ECMA-48, as compilers use them: red, magenta, cyan. */
static const char *const severity_colours[] = {
	[DIAG_ERROR] = "\033[1;31m",
	[DIAG_WARNING] = "\033[1;35m",
	[DIAG_NOTE] = "\033[1;36m",
};
static const char bold[] = "\033[1m";
static const char plain[] = "\033[0m";

const char *diag_severity_name(enum diag_severity severity)
{
	return severity_names[severity];
}

void diag_init(struct diag *diag)
{
	memset(diag, 0, sizeof(*diag));
}

void diag_clear(struct diag *diag)
{
	for (size_t i = 0; i < diag->count; i++) {
		free(diag->items[i].message);
		free(diag->items[i].fix);
	}
	free(diag->items);
	for (size_t i = 0; i < diag->sources_count; i++) {
		free(diag->sources[i].file);
		free(diag->sources[i].text);
	}
	free(diag->sources);
	diag_init(diag);
}

struct diag_source *diag_source_find(const struct diag *diag, const char *file)
{
	for (size_t i = 0; i < diag->sources_count; i++) {
		if (strcmp(diag->sources[i].file, file) == 0)
			return &diag->sources[i];
	}
	return NULL;
}

static struct diag_source *source_get(struct diag *diag, const char *file)
{
	struct diag_source *source = diag_source_find(diag, file);
	struct diag_source *grown;

	if (source)
		return source;
	grown = reallocarray(diag->sources, diag->sources_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	diag->sources = grown;
	source = &grown[diag->sources_count];
	*source = (struct diag_source){.file = strdup(file)};
	if (!source->file)
		return NULL;
	diag->sources_count++;
	return source;
}

void diag_source(struct diag *diag, const char *file, const char *text, size_t length)
{
	struct diag_source *source = source_get(diag, file);
	char *copy;

	if (!source)
		return;
	copy = malloc(length + 1);
	if (!copy)
		return;
	if (length > 0)
		memcpy(copy, text, length);
	copy[length] = '\0';
	free(source->text);
	source->text = copy;
	source->length = length;
}

static bool item_is_equal(const struct diag_item *a, const struct diag_item *b)
{
	return a->severity == b->severity && strcmp(a->rule, b->rule) == 0 &&
	       a->source == b->source && a->place.line == b->place.line &&
	       a->place.column == b->place.column && strcmp(a->message, b->message) == 0;
}

static bool item_is_repeated(const struct diag *diag, const struct diag_item *item)
{
	size_t first = diag->count > REPEAT_WINDOW ? diag->count - REPEAT_WINDOW : 0;

	for (size_t i = first; i < diag->count; i++) {
		if (item_is_equal(&diag->items[i], item))
			return true;
	}
	return false;
}

static bool item_keep(struct diag *diag, const struct diag_item *item)
{
	if (diag->count == diag->allocated) {
		size_t allocated = diag->allocated ? 2 * diag->allocated : 16;
		struct diag_item *grown =
			reallocarray(diag->items, allocated, sizeof(*grown));

		if (!grown)
			return false;
		diag->items = grown;
		diag->allocated = allocated;
	}
	diag->items[diag->count++] = *item;
	return true;
}

void diag_add(struct diag *diag, enum diag_severity severity, const char *rule,
	      const struct diag_place *place, const char *format, ...)
{
	struct diag_item item = {.severity = severity, .rule = rule, .source = SIZE_MAX};
	va_list list;
	int length;

	if (place && place->file) {
		struct diag_source *source = source_get(diag, place->file);

		if (source) {
			item.place = *place;
			item.place.file = source->file;
			item.source = (size_t)(source - diag->sources);
		}
	}
	va_start(list, format);
	length = vasprintf(&item.message, format, list);
	va_end(list);
	if (length < 0)
		item.message = NULL;
	diag->fixable = false;
	if (item.message && item_is_repeated(diag, &item)) {
		free(item.message);
		return;
	}
	diag->errors += severity == DIAG_ERROR;
	diag->warnings += severity == DIAG_WARNING;
	item.order = diag->errors + diag->warnings + diag->count;
	diag->fixable = item.message && item_keep(diag, &item);
	if (!diag->fixable) {
		free(item.message);
		diag->lost = true;
	}
}

void diag_fix(struct diag *diag, const char *format, ...)
{
	struct diag_item *item;
	va_list list;

	/* Then the item that is there last is not the one that is meant. */
	if (!diag->fixable)
		return;
	item = &diag->items[diag->count - 1];
	free(item->fix);
	va_start(list, format);
	if (vasprintf(&item->fix, format, list) < 0)
		item->fix = NULL;
	va_end(list);
}

static int compare_numbers(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int item_compare(const void *left, const void *right)
{
	const struct diag_item *a = left, *b = right;
	int order = compare_numbers(a->source, b->source);

	if (!order)
		order = compare_numbers(a->place.line, b->place.line);
	if (!order)
		order = compare_numbers(a->place.column, b->place.column);
	if (!order)
		order = compare_numbers(a->severity, b->severity);
	return order ? order : compare_numbers(a->order, b->order);
}

void diag_sort(struct diag *diag)
{
	diag->fixable = false;
	if (diag->count > 1)
		qsort(diag->items, diag->count, sizeof(*diag->items), item_compare);
}

/*
 * Columns that a terminal gives the character: Unicode's East Asian Width (UAX 11), in
 * blocks. wcwidth() would need the user's locale to be set and right.
 */
static unsigned int width(uint32_t code)
{
	static const struct {
		uint32_t first, last;
		unsigned int width;
	} ranges[] = {
		{0x300, 0x36f, 0},   {0x1100, 0x115f, 2},   {0x200b, 0x200f, 0},
		{0x2e80, 0xa4cf, 2}, {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
		{0xfe00, 0xfe0f, 0}, {0xfe30, 0xfe6f, 2},   {0xff01, 0xff60, 2},
		{0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (code >= ranges[i].first && code <= ranges[i].last)
			return ranges[i].width;
	}
	return 1;
}

/* The line that was shown last: items are sorted, so the next one is not far behind. */
struct cursor {
	const struct diag_source *source;
	const char *at;
	uint32_t line;
};

/* The text of line LINE (from 1) of SOURCE; NULL when there is no such line. */
static const char *source_line(struct cursor *cursor, const struct diag_source *source,
			       uint32_t line, size_t *length)
{
	const char *at = source->text, *end = source->text + source->length;
	const char *stop;
	uint32_t now = 1;

	if (cursor->source == source && cursor->line <= line) {
		at = cursor->at;
		now = cursor->line;
	}
	for (; now < line; now++) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			return NULL;
		at++;
	}
	*cursor = (struct cursor){source, at, line};
	stop = memchr(at, '\n', (size_t)(end - at));
	*length = (size_t)((stop ? stop : end) - at);
	if (*length > 0 && at[*length - 1] == '\r')
		--*length;
	return at;
}

static void print_source(const struct diag *diag, const struct diag_item *item,
			 struct cursor *cursor, FILE *out, const char *colour,
			 const char *end)
{
	const struct diag_place *place = &item->place;
	const char *text;
	size_t length, left, cells = 0, indent = 0, marked = 0;
	uint32_t first, column = 1;

	if (item->source == SIZE_MAX || place->line == 0 ||
	    !diag->sources[item->source].text)
		return;
	text = source_line(cursor, &diag->sources[item->source], place->line, &length);
	if (!text)
		return;
	first = place->column > SHOWN_MAX / 2 + 20 ? place->column - SHOWN_MAX / 2 : 1;
	fprintf(out, "%5u | %s", place->line, first > 1 ? "..." : "");
	for (left = length; left > 0 && column < first + SHOWN_MAX; column++) {
		uint32_t code = '\0';
		size_t bytes = utf8_decode(text, left, &code);

		if (bytes == 0)
			bytes = 1;
		if (column >= first) {
			bool odd = utf8_is_control(code);
			unsigned int cell = odd ? 1 : width(code);

			/* A tab is shown as one blank, so that the caret below stays
			 * right. */
			if (odd)
				fputc(code == '\t' ? ' ' : '?', out);
			else
				fwrite(text, 1, bytes, out);
			if (column < place->column)
				indent += cell;
			else if (column < place->end_column)
				marked += cell;
			cells += cell;
		}
		text += bytes;
		left -= bytes;
	}
	fputs(left > 0 ? "...\n" : "\n", out);
	if (place->column == 0)
		return;
	if (indent > cells)
		indent = cells;
	fprintf(out, "      | %s%*s%s^", first > 1 ? "   " : "", (int)indent, "", colour);
	for (; marked > 1; marked--)
		fputc('~', out);
	fprintf(out, "%s\n", end);
}

/* An item without a fix only shows a further place of another. */
static void print_why(const struct diag *diag, size_t index, const char **last, FILE *out)
{
	const struct diag_item *item = &diag->items[index];
	const char *why = diag->why && item->fix ? diag->why(item->rule) : NULL;

	if (!why)
		return;
	if (*last && strcmp(*last, item->rule) == 0)
		return;
	*last = item->rule;
	fputs("  why: ", out);
	utf8_escape(out, why);
	fputc('\n', out);
}

void diag_print(struct diag *diag, FILE *out, unsigned int look)
{
	bool colour = look & DIAG_COLOUR;
	struct cursor cursor = {0};
	const char *last = NULL;

	diag_sort(diag);
	for (size_t i = 0; i < diag->count; i++) {
		const struct diag_item *item = &diag->items[i];
		const char *tint = colour ? severity_colours[item->severity] : "";
		const char *strong = colour ? bold : "";
		const char *end = colour ? plain : "";

		fputs(strong, out);
		if (item->place.file) {
			utf8_escape(out, item->place.file);
			if (item->place.line > 0)
				fprintf(out, ":%u", item->place.line);
			if (item->place.line > 0 && item->place.column > 0)
				fprintf(out, ":%u", item->place.column);
			fputs(": ", out);
		} else {
			fputs("srank: ", out);
		}
		fprintf(out, "%s%s%s:%s ", end, tint, severity_names[item->severity],
			end);
		utf8_escape(out, item->message);
		fprintf(out, " [%s]\n", item->rule);
		if (look & DIAG_SOURCE)
			print_source(diag, item, &cursor, out, tint, end);
		print_why(diag, i, &last, out);
		if (item->fix && !(look & DIAG_NO_FIX)) {
			fputs("  fix: ", out);
			utf8_escape(out, item->fix);
			fputc('\n', out);
		}
	}
	if (diag->lost)
		fputs("srank: error: out of memory, some messages are missing\n", out);
}

unsigned int diag_look(FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!isatty(fileno(out)))
		return DIAG_PLAIN;
	/* no-color.org: any text but the empty one switches colour off. */
	if ((no_color && *no_color) || !term || strcmp(term, "dumb") == 0)
		return DIAG_SOURCE;
	return DIAG_SOURCE | DIAG_COLOUR;
}
