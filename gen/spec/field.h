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
	bool removed; /* null stands there: nothing is inherited, see spec_inherit() */
	struct diag_place place; /* of the value; all zero when not given */
	const char *text;        /* scalars: as written; NULL for lists and maps */
	const char *word;        /* counts: the word in place of a number, as "auto";
				    NULL: it is a number */
	uint64_t number; /* counts, ports, flags (0, 1), times (s), memory (MiB) */
	struct spec_item *items; /* words, lines and maps */
	size_t count;
	size_t gone; /* maps: names behind the COUNT items whose value is null */
};

/* Slurm counts in 32 bits and keeps the highest values for itself (slurm.h, NO_VAL). */
#define SPEC_COUNT_MAX INT32_MAX

/* Time without a limit, as the number of a SPEC_TIME. */
#define SPEC_TIME_UNLIMITED UINT64_MAX

enum spec_type {
	SPEC_TEXT,      /* one line without control characters, not empty */
	SPEC_NAME,      /* a text of letters, digits and _ . - */
	SPEC_COUNT,     /* decimal integer between least and most, or one of choices */
	SPEC_FLAG,      /* true/false, yes/no, on/off, or one of choices */
	SPEC_CHOICE,    /* one of choices */
	SPEC_LAUNCHER,  /* a name in launch_launchers */
	SPEC_SETTING,   /* a value of the key `setting` of the launch settings */
	SPEC_TIME,      /* a time limit as sbatch --time takes it */
	SPEC_MEMORY,    /* a size as sbatch --mem takes it */
	SPEC_GIGABYTES, /* the same, but digits alone are GiB; text has the unit */
	SPEC_ARRAY,     /* indices as sbatch --array takes them; number: how many */
	SPEC_SIGNAL,    /* as sbatch --signal takes it, see spec_signal_read() */
	SPEC_WORDS,     /* list of texts, or one text split into words as a shell does;
			   each one of choices, in any case, if there are any */
	SPEC_LINES,     /* list of texts, or one text; shell code, taken as written */
	SPEC_MAP,       /* names of variables to texts */
	SPEC_OPTIONS,   /* any keys to texts or lists of them, which become `[a,b]` */
	SPEC_SECTION,   /* map by the table `fields` */
	SPEC_TABLE,     /* map of any name to sections by the table `fields`: struct
			   spec_table */
	SPEC_LIST,      /* list of sections by the table `fields`: struct spec_table */
	SPEC_AXES,      /* names to lists of texts: struct spec_table of spec_axis */
};

struct spec_field {
	const char *name;
	enum spec_type type;
	size_t offset;        /* of the struct spec_value, or spec_table, in the struct */
	const char *help;     /* one line */
	const char *aliases;  /* other names taken, separated by blanks; NULL: none */
	const char *choices;  /* COUNT, FLAG, CHOICE, WORDS: separated by blanks */
	uint32_t least, most; /* COUNT; most 0: SPEC_COUNT_MAX */
	const struct spec_field *fields; /* SECTION, TABLE, LIST */
	size_t size;                     /* TABLE, LIST: of one entry's struct */
	/* SECTION: the field in it that a value which is no map stands for; NULL: none */
	const char *shorthand;
	const char *setting; /* SETTING: key in launch_keys */
};

/* The entries of a TABLE, LIST or AXES, in the order written. */
struct spec_table {
	struct diag_place place; /* without a file: not given */
	void *entries;           /* structs of field->size bytes that start with a struct
				    spec_value: TABLE, AXES: the entry's name, with the place of
				    the key; LIST: the place of the entry, and no text */
	size_t count;
	bool removed; /* as in struct spec_value */
};

/* One axis of a sweep. */
struct spec_axis {
	struct spec_value name;
	struct spec_value values; /* items */
};
