/* SPDX-License-Identifier: MIT */
/* The parts of script_write(), each in a file of its own. */
#pragma once

#include "gen/script/script.h"

#include "gen/spec/arena.h"

/* What script_write() works with. */
struct script_work {
	const struct spec *spec; /* of the job; a component of it may have another */
	const struct plan *plan;
	const struct spec_site *site;
	const struct script_point *point; /* NULL: the spec is the whole job */
	struct script_origins *origins;   /* NULL: not wanted */
	struct diag *diag;
	struct spec_arena *arena; /* owns the texts made here */
};

/*
 * TEXT of the spec as one shell word, in WORK's arena. In a sweep that is an array job
 * the value of an axis is a variable of the script: `--lr={lr}` gives `--lr="$lr"`. NULL
 * without memory.
 */
const char *script_word(struct script_work *work, const char *text);

/*
 * TEXT of the spec without placeholders, for a place that is the same in every task of an
 * array. -EINVAL, told to the work's DIAG at PLACE, when an axis stands in it; WHAT names
 * the place: "an #SBATCH line". -ENOMEM.
 */
int script_plain(struct script_work *work, const char *text,
		 const struct diag_place *place, const char *what, const char **plain);

/* The comments and directives, up to the first command. Returns as script_write(). */
int script_header(FILE *out, struct script_work *work);

/*
 * What templates can say (templates/README.md lists the names) as *ROOT, to be freed.
 * Returns as script_write().
 */
int script_context(struct script_work *work, struct script_value **root);
