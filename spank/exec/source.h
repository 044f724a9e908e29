/* SPDX-License-Identifier: MIT */
/*
 * The source of facts inside a task, without the plugin: its environment, and PMIx for
 * what that does not tell.
 */
#pragma once

#include "spank/exec/pmix.h"
#include "spank/launch/error.h"
#include "spank/launch/facts.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a PMIx server has started this process: srun --mpi=pmix, mpirun, prterun. */
bool exec_source_has_server(void);

/* Whether that server is Slurm's, which numbers the ranks as SLURM_PROCID. */
bool exec_source_is_slurm(void);

struct exec_source {
	struct exec_pmix *pmix; /* NULL: the environment alone */
	/* Ranks of another server's than Slurm's (mpirun): what SLURM_* say is not of
	 * them, and these stand in. */
	bool foreign;
	struct exec_variable *variables;
	uint32_t count;
};

/*
 * Makes SOURCE, which must be zeroed, ready for exec_source_get(); PMIX may be NULL and
 * is borrowed. -EINVAL with ERR when PMIx does not tell where the ranks are; -ENOMEM.
 */
int exec_source_open(struct exec_source *source, struct exec_pmix *pmix,
		     struct launch_error *err);

/* Looks a variable up, as launch_lookup; ARG is a struct exec_source. */
const char *exec_source_get(const char *name, void *arg);

/*
 * The facts of this task, as launch_facts_read(), with its CPUs and, where the
 * environment leaves it open and PMIx knows, the node of rank 0.
 */
int exec_source_read(struct exec_source *source, struct launch_facts *facts,
		     struct launch_error *err);

void exec_source_close(struct exec_source *source);
