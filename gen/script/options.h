/* SPDX-License-Identifier: MIT */
/*
 * The options of sbatch and srun, in one table: those that the header of a script is made
 * of, in its order, and behind them all others, which `srank submit` must know to tell
 * what its user may hand on, and the reader of existing scripts to read them as Slurm
 * does.
 */
#pragma once

#include "gen/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a directive, or its value, comes from. */
enum script_source {
	SCRIPT_UNWRITTEN,   /* no directive of ours */
	SCRIPT_FROM_SPEC,   /* the text of a value of the spec, when given */
	SCRIPT_FROM_FLAG,   /* a flag of the spec, when true: an option without value */
	SCRIPT_FROM_BATCH,  /* a text of the plan's struct plan_batch, if there is one */
	SCRIPT_FROM_PLAN,   /* a number of the plan, when known */
	SCRIPT_FROM_TASKS,  /* the same, in heterogeneous jobs only */
	SCRIPT_FROM_GPUS,   /* GPUs by the site's dialect, and other generic resources */
	SCRIPT_FROM_MEMORY, /* memory by the site's dialect */
	SCRIPT_FROM_EXCLUSIVE, /* --exclusive or --exclusive=user|mcs|topo */
	SCRIPT_FROM_REQUEUE,   /* --requeue or --no-requeue */
};

enum script_command {
	SCRIPT_SBATCH = 1,
	SCRIPT_SRUN = 2,
	SCRIPT_SALLOC = 4,
};

enum script_takes {
	SCRIPT_TAKES_VALUE,
	SCRIPT_TAKES_NONE,
	SCRIPT_MAY_TAKE, /* behind `=`, or in the word of the letter, only */
};

/* A version of Slurm as a number that compares: 22.05 -> 2205; 0: any. */
typedef uint16_t script_slurm;

struct script_option {
	const char *name; /* without the dashes */
	char letter;      /* short form; 0: none */
	uint8_t commands; /* bits of enum script_command that know it; 0: all */
	enum script_takes takes;
	/* The first version that knows it, and the first that does so no more; 0: since
	 * long, still. Of two rows with one name the version or the command decides. */
	script_slurm since, until;
	/* Of a SPANK plugin, so that only some clusters know it: pyxis, shifter, ours. */
	bool plugin;
	/* The script's own commands depend on the number, so it is the plan's alone. */
	bool owned;
	/* What sbatch takes before a directive (sbatch.1, INPUT ENVIRONMENT VARIABLES):
	 * names separated by blanks; NULL: none that matters. */
	const char *variables;
	enum script_source source;
	bool component; /* of a heterogeneous job each component has it */
	size_t offset;  /* in struct spec, or of a SCRIPT_FROM_BATCH in struct plan_batch
			 */
	enum plan_quantity quantity; /* SCRIPT_FROM_PLAN, SCRIPT_FROM_TASKS */
};

extern const struct script_option script_options[];
extern const size_t script_options_count;

/* True when COMMAND of version SLURM (0: of any) knows OPTION. */
bool script_option_of(const struct script_option *option, enum script_command command,
		      script_slurm slurm);

/*
 * Looks ARGUMENTS, COUNT words that are to stand between `sbatch` and the script, over as
 * sbatch's getopt_long() would. The index of the first word that may not be there, and in
 * *OWNED whether because of an option that is the plan's, else because it is no option,
 * so that sbatch would take it for the script; COUNT when all may.
 */
size_t script_options_check(char *const *arguments, size_t count, bool *owned);
