/* SPDX-License-Identifier: MIT */
/*
 * The life of a step in slurmstepd, as the tests of the plugin play it: rank 3 of four,
 * the second task of node n2, unless a test says otherwise.
 */
#pragma once

#include <slurm/spank.h>
#include <stdbool.h>

/* What a step is started with. NULL: without. */
struct asked {
	const char *site;   /* arguments in plugstack.conf, separated by blanks */
	const char *srank;  /* SRANK= */
	const char *option; /* --srank=; "" for --srank alone */
};

/* Resets the mock and gives it the environment of the step. */
void step_reset(void);

/* Makes it the batch step of the same job. */
void step_batch(void);

/* slurm_spank_init with the arguments in SITE; returns what it returns. */
int step_init(const char *site);

/*
 * From slurm_spank_init to slurm_spank_task_post_fork; each must return 0. The option's
 * function is called twice, as slurmstepd does up to 23.11.
 */
void step_begin(const struct asked *asked);

/* slurm_spank_task_init in this process, which must return 0. */
void step_task(void);

/* The same in a process of its own. Returns its exit status; 0: the task would start. */
int step_task_status(void);

/* slurm_spank_exit. */
void step_end(void);

/*
 * In a forked process, where an assertion would run the rest of the tests once more:
 * what is asserted here ends the process with status 98, and a signal does so with its
 * own.
 */
void step_forked(void);
