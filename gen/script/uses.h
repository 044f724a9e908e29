/* SPDX-License-Identifier: MIT */
/*
 * Words -> options, as sbatch and srun read them: glibc's getopt_long() over the table
 * of the asked version of Slurm (slurm_option_table_create() in Slurm's
 * src/common/slurm_opt.c), abbreviations, optional values and eaten words included. One
 * reader for the header of a script, for the words after `srun` in it, and for what
 * stands between `sbatch` and the script.
 */
#pragma once

#include "gen/script/options.h"
#include "gen/script/text.h"
#include "gen/spec/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "22.05", "22.05.8", "24.11" -> 2205, 2205, 2411; 0: no version. */
script_slurm script_slurm_parse(const char *text);

/* A word with its place, what quoting meant taken off. */
struct script_word {
	const char *text;
	struct script_range range; /* with its quotes */
	const uint32_t *origins;   /* of each byte of TEXT; NULL: they follow RANGE */
	uint32_t line;             /* the directive's index, or 0 */
	bool quoted;               /* some of it stood in quotes or behind a backslash */
};

enum script_use_fault {
	SCRIPT_USE_FINE,
	SCRIPT_USE_UNKNOWN,        /* no option of any command, or no such letter */
	SCRIPT_USE_AMBIGUOUS,      /* the beginning of several names */
	SCRIPT_USE_OTHER_COMMAND,  /* srun knows it and sbatch does not, or the reverse */
	SCRIPT_USE_OTHER_VERSION,  /* another version of Slurm knows it */
	SCRIPT_USE_NO_VALUE,       /* it takes one, and no word is left */
	SCRIPT_USE_UNWANTED_VALUE, /* --hold=yes */
	SCRIPT_USE_STRAY, /* no option at all; sbatch: "Invalid directive found" */
};

/* Where an option was said; a later one of these wins over an earlier. */
enum script_use_origin {
	SCRIPT_USE_DIRECTIVE,
	SCRIPT_USE_FOREIGN, /* #PBS, #BSUB: translated by sbatch, beats #SBATCH */
	SCRIPT_USE_ENVIRONMENT,
	SCRIPT_USE_COMMAND_LINE,
};

struct script_use {
	const struct script_option *option; /* NULL: unknown, ambiguous or stray */
	/* UNKNOWN, OTHER_*: the nearest option that may stand here; NULL: none is near.
	 */
	const struct script_option *nearest;
	const char *name;  /* as written, without dashes or value; a stray word whole */
	const char *value; /* NULL: none */
	enum script_use_fault fault;
	enum script_use_origin origin;
	bool letter;                     /* -N */
	bool abbreviated;                /* --gpus-per-n */
	bool separate;                   /* the value is a word of its own: --nodes 2 */
	bool ate;                        /* the value is a word of another directive */
	bool lost;                       /* stands in a line that sbatch does not read */
	struct script_range range;       /* option and value */
	struct script_range name_range;  /* with the dashes */
	struct script_range value_range; /* empty when there is no value */
	size_t word;    /* index of the option's word among those given */
	uint32_t line;  /* its directive's index; of script_word */
	uint16_t group; /* component of a heterogeneous job, from 0 */
};

/*
 * Reads WORDS, COUNT of them, as the options of COMMAND in Slurm SLURM (0: any version).
 * *USES gets *USES_COUNT of them in ARENA, in the order written, stray words among them
 * where sbatch reads a header. srun, salloc, and sbatch with OPERANDS stop at the first
 * word that is no option and behind `--`: its index, or COUNT, goes to *END (may be
 * NULL). 0; -ENOMEM.
 */
int script_uses_read(enum script_command command, script_slurm slurm, bool operands,
		     const struct script_word *words, size_t count,
		     struct spec_arena **arena, struct script_use **uses,
		     size_t *uses_count, size_t *end);
