/* SPDX-License-Identifier: MIT */
/*
 * The types that a value in a spec or a site profile can have, and the table that says
 * which key is what. The reader (read.c) knows only these; specs and profiles are tables.
 */
#pragma once

#include "gen/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One element of a list, or one entry of a map. */
struct spec_item {
	const char *name; /* the key in a map; NULL in a list */
	const char *text;
	struct diag_place place; /* of the value */
};

struct spec_value {
	bool given;
	struct diag_place place; /* of the value; all zero when not given */
	const char *text;        /* scalars: as written; NULL for lists and maps */
	uint64_t number; /* counts, ports, flags (0, 1), times (s), memory (MiB) */
	struct spec_item *items; /* words, lines and maps */
	size_t count;
};

/* Slurm counts in 32 bits and keeps the highest values for itself (slurm.h, NO_VAL). */
#define SPEC_COUNT_MAX INT32_MAX

/* Time without a limit, as the number of a SPEC_TIME. */
#define SPEC_TIME_UNLIMITED UINT64_MAX

enum spec_type {
	SPEC_TEXT,     /* one line without control characters, not empty */
	SPEC_NAME,     /* a text of letters, digits and _ . - */
	SPEC_COUNT,    /* decimal integer between least and most */
	SPEC_FLAG,     /* true/false, yes/no, on/off, or one of choices */
	SPEC_CHOICE,   /* one of choices */
	SPEC_LAUNCHER, /* a name in launch_launchers */
	SPEC_BINDING,  /* a value of the key gpus= of the launch settings */
	SPEC_TIME,     /* a time limit as sbatch --time takes it */
	SPEC_MEMORY,   /* a size as sbatch --mem takes it */
	SPEC_WORDS,    /* list of texts, or one text split into words as a shell does */
	SPEC_LINES,    /* list of texts, or one text; shell code, taken as written */
	SPEC_MAP,      /* names of variables to texts */
	SPEC_SECTION,  /* map by the table `fields` */
	SPEC_TABLE,    /* map of any name to sections by the table `fields`: struct
			  spec_table */
};

struct spec_field {
	const char *name;
	enum spec_type type;
	size_t offset;        /* of the struct spec_value, or spec_table, in the struct */
	const char *help;     /* one line */
	const char *aliases;  /* other names taken, separated by blanks; NULL: none */
	const char *choices;  /* SPEC_CHOICE, SPEC_FLAG: separated by blanks */
	uint32_t least, most; /* SPEC_COUNT; most 0: SPEC_COUNT_MAX */
	const struct spec_field *fields; /* SPEC_SECTION, SPEC_TABLE */
	size_t size;                     /* SPEC_TABLE: of one entry's struct */
};

/* The entries of a SPEC_TABLE, in the order written. */
struct spec_table {
	struct diag_place place;
	void *entries; /* structs of field->size bytes that start with a struct
			  spec_value: the entry's name, with the place of the key */
	size_t count;
};
