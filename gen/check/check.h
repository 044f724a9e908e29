/* SPDX-License-Identifier: MIT */
/*
 * `srank check`: what is wrong in an sbatch script, as findings with the script's own
 * numbers. The rules are a table (table.c) of what they are called and say, and functions
 * that ask the model of the script (model.h) and never its text; this header is all that
 * the command needs of them.
 */
#pragma once

#include "gen/diag.h"
#include "gen/script/options.h"
#include "gen/spec/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What a rule is about; the manual has a section for each. */
enum check_group {
	CHECK_GROUP_DIRECTIVES,
	CHECK_GROUP_RESOURCES,
	CHECK_GROUP_STEPS,
	CHECK_GROUP_LAUNCHERS,
	CHECK_GROUP_RENDEZVOUS,
	CHECK_GROUP_DEVICES,
	CHECK_GROUP_JOB,
	CHECK_GROUPS,
};

enum check_flag {
	CHECK_PEDANTIC = 1, /* reported on demand only: a matter of taste */
	CHECK_FIXABLE = 2,  /* --fix may have an edit for it */
};

struct check_rule {
	const char *id; /* "late-directive" */
	enum check_group group;
	enum diag_severity
		severity;    /* the usual one: a version or a site may change it */
	unsigned int flags;  /* bits of enum check_flag */
	const char *summary; /* one line */
	const char *why;  /* what happens, in which versions, and who says so; one line */
	const char *cure; /* what to do about it; one line */
	/* Scripts without their first line, #!/bin/bash: one in which the rule finds
	 * something, and the same without the mistake. NULL: none can be shown. */
	const char *bad, *good;
};

extern const struct check_rule check_rules[];
extern const size_t check_rules_count;

/* The rule called ID; NULL when there is none. */
const struct check_rule *check_rule_find(const char *id);

/* "Directives", the heading of GROUP. */
const char *check_group_name(enum check_group group);

/* Prints all rules as the page docs/srank-rules.7.scd. */
void check_rules_describe(FILE *out);

/* Replaces the bytes FROM up to TO of the script by TEXT. */
struct check_edit {
	size_t from, to;
	char *text;
	const char *rule; /* that wants it */
	bool applied;     /* by check_fix_apply() */
};

/* What was found in one script that a program can put right. */
struct check_edits {
	struct check_edit *items;
	size_t count, allocated;
};

void check_edits_clear(struct check_edits *edits);

struct check_options {
	script_slurm slurm;           /* 0: of SITE, else any */
	const struct spec_site *site; /* NULL: nothing is known */
	bool pedantic;
	/* Ids of rules that are off, COUNT of them. */
	const char *const *disabled;
	size_t disabled_count;
	/* Options as on sbatch's command line, which go before the script's. */
	const char *const *arguments;
	size_t arguments_count;
	/* SBATCH_NAME=VALUE, which go between both; other names are passed over. */
	const char *const *environment;
	size_t environment_count;
};

/*
 * Checks the script FILE (a name for messages) with the bytes TEXT, any LENGTH bytes that
 * stay as they are until DIAG is printed. Findings go to DIAG, which gets a copy of the
 * text; edits to EDITS, unless NULL. 0; -ENOMEM.
 */
int check_script(const char *file, const char *text, size_t length,
		 const struct check_options *options, struct diag *diag,
		 struct check_edits *edits);

/*
 * TEXT with EDITS applied, in *FIXED with *SIZE bytes, to be freed; of edits that overlap
 * the first counts. EDITS are then in the order of TEXT. 0; -ENOMEM.
 */
int check_fix_apply(const char *text, size_t length, struct check_edits *edits,
		    char **fixed, size_t *size);

/*
 * Prints what EDITS, applied to TEXT of FILE, put right: a line for each rule and place,
 * adjacent lines in one.
 */
void check_fix_tell(FILE *out, const char *file, const char *text,
		    const struct check_edits *edits);

/* Prints the difference of two texts of FILE in the unified format, three lines around.
 */
void check_fix_diff(FILE *out, const char *file, const char *old, size_t old_length,
		    const char *new, size_t new_length);

enum check_format {
	CHECK_FORMAT_TEXT,
	CHECK_FORMAT_JSON,
	CHECK_FORMAT_SARIF, /* 2.1.0 */
	CHECK_FORMAT_GCC,
	CHECK_FORMATS,
};

/* "text", "json", "sarif", "gcc". */
extern const char *const check_format_names[CHECK_FORMATS];

/* Prints DIAG, sorted. COLOUR: for a terminal, CHECK_FORMAT_TEXT only. */
void check_print(struct diag *diag, enum check_format format, bool colour, FILE *out);

/*
 * Writes a spec for the script TEXT to OUT: what `srank gen` makes of it asks for the
 * same resources. What no key of the spec can say goes to DIAG as a note or an error.
 * 0; -EINVAL when DIAG got an error and OUT is of no use; -ENOMEM.
 */
int check_import(FILE *out, const char *file, const char *text, size_t length,
		 const struct check_options *options, struct diag *diag);
