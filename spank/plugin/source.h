/* SPDX-License-Identifier: MIT */
/*
 * The plugin's source of facts: SPANK items and the environment that Slurm keeps for the
 * step and its tasks.
 */
#pragma once

#include "spank/launch/error.h"
#include "spank/launch/facts.h"
#include "spank/launch/settings.h"

#include <slurm/spank.h>
#include <stdbool.h>
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

/* See launch_facts_node_cpus(). */
uint32_t srank_source_ncpus(spank_t spank);

/* What is found out once for a node, before there are tasks; NULL: not known. */
struct srank_found {
	char *head;       /* rank 0's node in a heterogeneous step, */
	uint32_t head_id; /* and its position in the first component */
	char *head_addr;  /* see the same of struct launch_facts */
	char *node_addr;
	bool local; /* something was not found that another node of the step may find */
};

/*
 * Finds out what addr= asks for, and where rank 0 of a heterogeneous step is when the
 * environment does not tell; in the other steps, which are nearly all, that is nothing,
 * and no message is sent. For init_post_opt, not for a task. A rank 0 that cannot
 * be found is no error here: launch_address() may do without. Errors as from
 * launch_facts_read_shared(), launch_facts_read_batch() and srank_resolve().
 */
int srank_source_find(spank_t spank, bool batch, const struct launch_settings *settings,
		      struct srank_found *found, struct launch_error *err);

void srank_found_clear(struct srank_found *found);

/*
 * The facts of the task that slurm_spank_task_init was called for. DEVICES stand in for
 * the task's own where Slurm leaves its variables unset. Errors as launch_facts_read().
 */
int srank_source_task(spank_t spank, const struct launch_facts *devices,
		      const struct srank_found *found, struct launch_facts *facts,
		      struct launch_error *err);

/* The same for the batch step; see launch_facts_read_batch(). */
int srank_source_batch(spank_t spank, const struct srank_found *found,
		       struct launch_facts *facts, struct launch_error *err);
