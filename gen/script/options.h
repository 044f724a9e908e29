/* SPDX-License-Identifier: MIT */
/*
 * The options of sbatch that matter to us, in one table: those that the header of a
 * script is made of, in its order, and those that `srank submit` must know to tell what
 * its user may hand on.
 */
#pragma once

#include "gen/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the value of a directive comes from. */
enum script_source {
	SCRIPT_UNWRITTEN,      /* no directive of ours */
	SCRIPT_FROM_SPEC,      /* the text of a value of the spec, when given */
	SCRIPT_FROM_PLAN,      /* a number of the plan, when known */
	SCRIPT_FROM_GPUS,      /* GPUs by the site's dialect */
	SCRIPT_FROM_EXCLUSIVE, /* --exclusive or --exclusive=user|mcs */
};

struct script_option {
	const char *name; /* without the dashes */
	char letter;      /* short form; 0: none */
	bool flag;        /* takes no value, or one behind `=` only */
	/* The script's own commands depend on the number, so it is the plan's alone. */
	bool owned;
	/* What sbatch takes before a directive (sbatch.1, INPUT ENVIRONMENT VARIABLES):
	 * names separated by blanks; NULL: none that matters. */
	const char *variables;
	enum script_source source;
	size_t offset;               /* SCRIPT_FROM_SPEC: in struct spec */
	enum plan_quantity quantity; /* SCRIPT_FROM_PLAN */
};

extern const struct script_option script_options[];
extern const size_t script_options_count;

/*
 * Looks ARGUMENTS, COUNT words that are to stand between `sbatch` and the script, over as
 * sbatch's getopt_long() would. The index of the first word that may not be there, and in
 * *OWNED whether because of an option that is the plan's, else because it is no option,
 * so that sbatch would take it for the script; COUNT when all may.
 */
size_t script_options_check(char *const *arguments, size_t count, bool *owned);
