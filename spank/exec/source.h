/* SPDX-License-Identifier: MIT */
/*
 * The source of facts inside a task, without the plugin: its environment, and PMIx for
 * what that does not tell.
 */
#pragma once

#include "spank/exec/pmix.h"
#include "spank/launch/error.h"
#include "spank/launch/facts.h"
#include "spank/launch/gpus.h"
#include "spank/launch/settings.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether a PMIx server has started this process: srun --mpi=pmix, mpirun, prterun. The
 * one of a step around this one has not.
 */
bool exec_source_has_server(void);

/* Whether that server is Slurm's, which numbers the ranks as SLURM_PROCID. */
bool exec_source_is_slurm(void);

/*
 * Whether it is for this task to tell of an error R: what is wrong with the step
 * (-EINVAL, -ENOTSUP) is so for all its tasks, and one line a node will do, or one in all
 * where the ranks are not Slurm's.
 */
bool exec_source_speaks(int r);

/*
 * Connects to that server. *PMIX stays NULL, and 0, where there is none, and where the
 * environment will do in its place: PMIx is not WANTED, or this host has no libpmix,
 * which SAY (NULL: nobody) is told. Of ranks that are not Slurm's nothing else tells:
 * -ENOTSUP with ERR then. Its answer is waited for SECONDS; other errors with ERR, as
 * exec_pmix_open().
 */
int exec_source_connect(struct exec_pmix **pmix, bool wanted, unsigned int seconds,
			void (*say)(const char *line), struct launch_error *err);

/* Whether a fence may be lost that comes while another node still starts its tasks. */
bool exec_source_is_racy(void);

/*
 * The first fence of a step that FACTS are of: as exec_pmix_fence(), but so late that the
 * servers of all nodes are most likely up to it. -ENOLINK: it has joined the tasks of
 * each node, but not the nodes.
 */
int exec_source_fence(struct exec_pmix *pmix, const struct launch_facts *facts,
		      unsigned int seconds, struct launch_error *err);

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

/* Where the ranks of a job are, as PMIx knows it. */
struct exec_layout {
	uint32_t ntasks;
	uint32_t nnodes;
	char **nodes;       /* by lowest rank */
	uint32_t *node_of;  /* by rank */
	uint32_t *tasks_of; /* by node */
};

/*
 * Fills LAYOUT, which must be zeroed and is to be cleared also after an error: -EINVAL
 * with ERR when PMIx does not tell; -ENOMEM.
 */
int exec_layout_read(struct exec_layout *layout, struct exec_pmix *pmix,
		     struct launch_error *err);

void exec_layout_clear(struct exec_layout *layout);

/* How long a name may take, in seconds: the resolver asks a second server after 5 s, and
 * the first one again after 10 (resolv.conf(5), timeout and attempts). */
#define EXEC_LOOK_UP_TIME 20

/*
 * Finds out what addr= asks for beyond the node's name, of rank 0's node and with
 * elastic= of this one, each in SECONDS. -EINVAL with ERR when this asks for what a task
 * cannot know (NodeAddr); -EHOSTUNREACH with ERR when the resolver does not answer or
 * cannot be asked; else as launch_look_up().
 */
int exec_source_addresses(struct launch_facts *facts,
			  const struct launch_settings *settings, unsigned int seconds,
			  struct launch_error *err);

/*
 * Whether A and B, names or addresses, come to the same address here, as the NNODES nodes
 * of a step reach it. Each is looked up for SECONDS at most; false also where that gives
 * no answer.
 */
bool exec_source_is_same_host(const char *a, const char *b, uint32_t nnodes,
			      unsigned int seconds);

/*
 * The devices of the step in *GPUS, to be freed; it stays as it is when there are none.
 * Where Slurm has given this task fewer of them (--gpus-per-task, --gpu-bind),
 * SLURM_GPUS_ON_NODE tells how many there are, but nothing which: their entries stay
 * empty, and launch_gpus_bind() leaves Slurm's choice alone. Errors as
 * launch_gpus_read(), and -ENOMEM.
 */
int exec_source_gpus(const struct launch_facts *facts, struct launch_gpus **gpus,
		     struct launch_error *err);
