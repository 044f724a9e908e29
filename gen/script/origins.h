/* SPDX-License-Identifier: MIT */
/*
 * Where the bytes of a script that was written come from: those that stand in the spec or
 * in the site profile, with their places there. What no origin covers is the template's.
 */
#pragma once

#include "gen/diag.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes BEGIN up to, and without, END. */
struct script_origin {
	size_t begin, end;
	struct diag_place
		place; /* the file's name is borrowed from the spec or profile */
};

/* In the order of the script, without overlaps. Zeroes: none. */
struct script_origins {
	struct script_origin *items;
	size_t count, allocated;
	bool failed; /* one was lost for want of memory */
};

/*
 * Adds one, behind those that are there; nothing for ORIGINS NULL, for a PLACE that is
 * NULL or has no file, or for no bytes. Without memory `failed` is set.
 */
void script_origins_add(struct script_origins *origins, size_t begin, size_t end,
			const struct diag_place *place);

/* The one that has the byte at OFFSET; NULL: none has. */
const struct script_origin *script_origins_find(const struct script_origins *origins,
						size_t offset);

void script_origins_clear(struct script_origins *origins);
