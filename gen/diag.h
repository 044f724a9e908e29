/* SPDX-License-Identifier: MIT */
/*
 * Diagnostics: what every reader and every rule before launch has to say. Rooms add to
 * one collector and go on, so that a run reports all faults and not the first; the
 * command prints the collector, sorted by place, and takes its exit code from the counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum diag_severity {
	DIAG_ERROR,
	DIAG_WARNING,
	DIAG_NOTE,
};

/*
 * Where in a text: lines and columns count from 1, columns in characters (UTF-8), and
 * end_column is the first column behind the text meant. line 0: the file as a whole; file
 * NULL: no place at all. The file name is borrowed, except inside a struct diag.
 */
struct diag_place {
	const char *file;
	uint32_t line;
	uint32_t column;
	uint32_t end_column;
};

struct diag_item {
	enum diag_severity severity;
	const char *rule;        /* "spec-unknown-key": static text, never NULL */
	struct diag_place place; /* file name owned by the collector */
	char *message;
	char *fix;     /* what to write instead, one line; NULL: none */
	size_t order;  /* of adding: keeps the sort stable */
	size_t source; /* index of the file in sources; SIZE_MAX: no file */
};

/* A file that was named, and its text, if it is known, for the source line. */
struct diag_source {
	char *file;
	char *text;
	size_t length;
};

struct diag {
	struct diag_item *items;
	size_t count;
	size_t allocated;
	size_t errors;
	size_t warnings;
	struct diag_source *sources;
	size_t sources_count;
	bool lost; /* an item was lost for want of memory; it is counted all the same */
	bool fixable; /* the item added last is there, and is the last of items */
	/* What diag_print() says of an item's rule besides, where there is a fix; NULL:
	 * nothing. */
	const char *(*why)(const char *rule);
};

/* Zeroes; struct diag d = {0} does the same. */
void diag_init(struct diag *diag);
void diag_clear(struct diag *diag);

/*
 * Adds one item. PLACE may be NULL. The message is one line without a full stop or
 * newline; control characters in it are printed escaped. Never fails: without memory the
 * item is counted and `lost` is set. An item that repeats a recent one, as when a YAML
 * alias brings the same fault to several places, is dropped.
 */
void diag_add(struct diag *diag, enum diag_severity severity, const char *rule,
	      const struct diag_place *place, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* Sets the fix of the item added last; does nothing when that one was dropped or lost. */
void diag_fix(struct diag *diag, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Copies the text of FILE (again: replaces it), for source lines. */
void diag_source(struct diag *diag, const char *file, const char *text, size_t length);

/* The source of FILE, whose text is NULL when only its name is known; NULL: none. */
struct diag_source *diag_source_find(const struct diag *diag, const char *file);

/* By file in order of first appearance, line, column, severity; equal items keep their
 * order. */
void diag_sort(struct diag *diag);

enum diag_look {
	DIAG_PLAIN = 0,
	DIAG_SOURCE = 1, /* source line and caret under each message that has a place */
	DIAG_COLOUR = 2,
	DIAG_NO_FIX = 4, /* one line for each message, as programs want it */
};

/*
 * Prints all items as `FILE:LINE:COL: error: message [rule-id]`, the source line with a
 * caret where LOOK asks for it, and lines `why: ...` (once for a row of items of one
 * rule) and `fix: ...`. Sorts first.
 */
void diag_print(struct diag *diag, FILE *out, unsigned int look);

/* What LOOK should be for OUT: source and colour on a terminal; NO_COLOR takes colour
 * away. */
unsigned int diag_look(FILE *out);

/* "error", "warning", "note". */
const char *diag_severity_name(enum diag_severity severity);
