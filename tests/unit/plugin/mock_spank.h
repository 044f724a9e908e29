/* SPDX-License-Identifier: MIT */
/*
 * Slurm's side of the SPANK interface, as far as the plugin uses it: a job's environment,
 * items, an option table and a log. What a forked task logs and does is seen by the test,
 * too, because the state lies in shared memory.
 */
#pragma once

#include <netdb.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MOCK_VARIABLES 160
#define MOCK_VALUE_MAX (256 * 1024)

struct mock {
	spank_context_t context;

	/* Items; those of a task count only while a task is set. */
	uint32_t job_id, step_id, local_tasks, nnodes, node_id;
	bool in_task;
	int task;
	pid_t pids[8]; /* of the tasks; 0: this process */

	/* What the plugin registered; a second registration is counted. */
	struct spank_option option;
	int registered;

	/* From now on the call number FAIL (from 1) of any spank_ function fails. */
	int fail, calls;

	/* What slurmctld answers: the tasks of LAYOUT, their nodes' places in NODES. */
	const char *nodes; /* NULL: it does not */
	uint32_t layout_tasks, layout[8];
	const uint32_t *layout_ids; /* of the tasks; NULL: 0, 1, ... */
	/* NodeAddr of every node; NULL: not known. */
	const char *node_addr;
	/*
	 * What the resolver knows: the first row with that name, then one for each
	 * address. Without a row, or with an error in it, it has none. NULL name ends it.
	 */
	const struct mock_address {
		const char *name, *address;
		int error;
	} * addresses;

	uint32_t leader; /* of the job, as it is heterogeneous; 0: slurmctld does not say
			  */

	/* What it did. */
	int jobs;    /* slurm_load_job() */
	int layouts; /* slurm_job_step_layout_get() */
	uint32_t layout_job, layout_step;
	int lookups;    /* getaddrinfo() */
	int set, unset; /* spank_setenv(), spank_unsetenv() */
	int slept;      /* nanosleep(), in milliseconds */
	int kill_after; /* when it would have slept so long, SIGKILL comes; 0: never */
	int killed;     /* slurm_kill_job_step() */
	uint32_t killed_job, killed_step;
	char log[16 * 1024]; /* "error: ..." and plain lines */
};

extern struct mock *mock;

/* Above zero while the mock works on its own behalf, for those who count allocations. */
extern int mock_inside;

/* Starts anew: no variable, remote context, step 0 of job 1, nothing logged. */
void mock_reset(void);

/* The job's environment. NULL: not set. */
const char *mock_getenv(const char *name);
void mock_setenv(const char *name, const char *value);
void mock_unsetenv(const char *name);

/* All of it as "NAME=value" lines in the order in which it was set; free it. */
char *mock_environment(void);
