/* SPDX-License-Identifier: MIT */
/*
 * The plugin's source of facts: SPANK items and the environment that Slurm keeps for the
 * step and its tasks.
 */
#pragma once

#include "spank/launch/error.h"
#include "spank/launch/facts.h"

#include <slurm/spank.h>
#include <stdint.h>

/*
 * Variables of the job's or task's environment, one after the other, in a buffer that
 * grows with the longest of them; a zeroed struct is ready for use.
 */
struct srank_environment {
	spank_t spank;
	char *value; /* of the last variable */
	int size;
	int error; /* -ENOMEM, -EIO: a variable could not be read, and passed for unset */
};

/* Value of NAME until the next call; NULL: not set. ARG is a struct srank_environment. */
const char *srank_environment_get(const char *name, void *arg);

void srank_environment_clear(struct srank_environment *environment);

/*
 * The devices that the step has on this node, in all of its gpus and gpu_variables, and
 * *STEP_GPUS as in SLURM_STEP_GPUS (NULL: none; free it). Only right before Slurm binds
 * the tasks, which is between user_init and task_init. 0 or -ENOMEM.
 */
int srank_source_devices(spank_t spank, struct launch_facts *devices, char **step_gpus);

/*
 * The facts of the task that slurm_spank_task_init was called for. DEVICES stand in for
 * the task's own where Slurm leaves its variables unset. Errors as launch_facts_read().
 */
int srank_source_task(spank_t spank, const struct launch_facts *devices,
		      struct launch_facts *facts, struct launch_error *err);

/* The same for the batch step; see launch_facts_read_batch(). */
int srank_source_batch(spank_t spank, struct launch_facts *facts,
		       struct launch_error *err);
