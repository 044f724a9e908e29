/* SPDX-License-Identifier: MIT */
/*
 * Facts -> rules -> environment: the list of variables that a task gets. Sinks
 * (spank_setenv, setenv before execvp, a printed table) consume the list.
 */
#pragma once

#include "spank/launch/facts.h"
#include "spank/launch/settings.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A variable is shorter than this, its name, '=' and final zero included: execve() takes
 * 32 pages (MAX_ARG_STRLEN in Linux's include/uapi/linux/binfmts.h), and setenvf() in
 * Slurm's src/common/env.c drops what is longer or as long (MAX_ENV_STRLEN), while
 * spank_setenv() reports success.
 */
#define LAUNCH_VARIABLE_MAX (32 * 4096)

struct launch_assignment {
	char *name;
	char *value; /* NULL: the variable is removed */
};

struct launch_environment {
	struct launch_assignment *list;
	size_t count;
	size_t allocated;
};

/*
 * The variables of one task, GPU binding aside (gpus.h). The shape is the launcher's;
 * with `auto` it is the node shape when every node has exactly one task and the task sees
 * more than one GPU, else the worker shape. A node-shape launcher with several tasks on a
 * node is an error that names the cure: each of them would start workers for every GPU.
 * Returns 0; -EINVAL with ERR; -ENOMEM. ENV must be zeroed; free with _clear also on
 * error.
 */
int launch_environment(const struct launch_facts *facts,
		       const struct launch_settings *settings,
		       struct launch_environment *env, struct launch_error *err);

/*
 * The variables of the batch step: MASTER_ADDR, MASTER_PORT, their markers and
 * SRANK_VERSION, and no rank.
 */
int launch_environment_batch(const struct launch_facts *facts,
			     const struct launch_settings *settings,
			     struct launch_environment *env, struct launch_error *err);

/*
 * False for a task that gets MASTER_ADDR, MASTER_PORT, NODE_RANK and NNODES, but no rank,
 * no launcher's variable, no OMP_NUM_THREADS, and must not be bound to GPUs or have its
 * port tested: the task at the terminal of srun --pty, whatever was asked, and the only
 * task of a step for which nobody asked (default=on). A shell is no worker: Lightning
 * started in it would take LOCAL_RANK for a sign that others start its other ranks, and
 * wait for them, and Accelerate would think itself distributed.
 */
bool launch_has_ranks(const struct launch_facts *facts,
		      const struct launch_settings *settings);

/* The shape that launch_environment() uses. */
enum launch_shape launch_shape(const struct launch_facts *facts,
			       const struct launch_settings *settings);

/*
 * Adds the mark that this task has been served (SRANK_STEP=JOB.STEP), and looks for it: a
 * second source in the same step then leaves things as they are. The mark of an outer
 * step has another number. -ENOMEM.
 */
int launch_environment_mark(struct launch_environment *env,
			    const struct launch_facts *facts);
bool launch_environment_is_marked(launch_lookup lookup, void *arg);

/* Sets NAME (a later call wins), or removes it when FORMAT is NULL. -ENOMEM. */
int launch_environment_set(struct launch_environment *env, const char *name,
			   const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Value of NAME in the list; NULL when it is not there or removed. */
const char *launch_environment_get(const struct launch_environment *env,
				   const char *name);

void launch_environment_clear(struct launch_environment *env);
