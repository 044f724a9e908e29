/* SPDX-License-Identifier: MIT */
/*
 * The bytes of an existing script, and where they stand. The readers speak of ranges of
 * bytes, which is what an edit needs; messages want lines and columns.
 */
#pragma once

#include "gen/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets are 32 bits wide; Slurm itself takes no script above 4 MiB (slurm.conf,
 * max_script_size). */
#define SCRIPT_TEXT_MAX (UINT32_MAX - 1)

/* Bytes BEGIN up to, and without, END. */
struct script_range {
	uint32_t begin, end;
};

struct script_text {
	const char *file; /* borrowed, as is the text */
	const char *text; /* any bytes, NUL among them */
	size_t length;
	uint32_t *lines; /* the offset of the first byte of each line */
	size_t lines_count;
	/* Of the place asked for last: one on the same line starts from it. */
	struct script_text_memory {
		uint32_t line, offset, column;
	} memory;
};

/*
 * Fills SOURCE for TEXT, LENGTH bytes, which like FILE must outlive it. 0; -EFBIG for a
 * text above SCRIPT_TEXT_MAX; -ENOMEM.
 */
int script_text_init(struct script_text *source, const char *file, const char *text,
		     size_t length);

/* The line, from 1, that has the byte at OFFSET; the last one for an offset behind. */
uint32_t script_text_line(const struct script_text *source, uint32_t offset);

/* The bytes of line LINE, from 1, without the line end. */
struct script_range script_text_line_range(const struct script_text *source,
					   uint32_t line);

/* RANGE as a place; one that goes over a line end is cut there. */
struct diag_place script_text_place(struct script_text *source,
				    struct script_range range);

void script_text_clear(struct script_text *source);
