/* SPDX-License-Identifier: MIT */
/*
 * One task of a step, or the batch script: from its facts to its environment.
 */
#pragma once

#include "spank/launch/error.h"
#include "spank/launch/facts.h"
#include "spank/launch/gpus.h"
#include "spank/launch/settings.h"
#include "spank/plugin/shared.h"
#include "spank/plugin/source.h"

#include <slurm/spank.h>
#include <stdbool.h>

/* What slurmstepd's parent process has gathered for all tasks of its node. */
struct srank_step {
	struct launch_settings settings;
	struct launch_error error;   /* the first one; the tasks report it */
	struct launch_facts devices; /* gpus and gpu_variables of the step on this node */
	struct launch_gpus *gpus;    /* the same with their places; NULL: none */
	struct srank_found found;    /* what a task cannot find out by itself */
	struct srank_shared *shared; /* NULL before user_init */
	bool abandon;   /* it failed here, and the tasks of other nodes do not know */
	bool abandoned; /* slurmctld was told to end the step */
};

/*
 * Sets the variables of the task that slurm_spank_task_init was called for. -EINVAL with
 * ERR or another negative errno; the task must then not start. step->shared->abandon says
 * that the tasks of other nodes do not know of the failure.
 */
int srank_task(spank_t spank, struct srank_step *step, struct launch_error *err);

/* The same for the batch script, which starts in any case. */
int srank_task_batch(spank_t spank, const struct srank_step *step,
		     struct launch_error *err);
