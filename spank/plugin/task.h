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
#include <stdint.h>

/* Whether a failure of this node is to end the step on the others. */
enum srank_abandon {
	SRANK_ABANDON_NO,      /* they have it, too */
	SRANK_ABANDON_AT_ONCE, /* no other can have it: rank 0's port */
	SRANK_ABANDON_IN_TURN, /* some may have it, and all but one keep quiet */
};

/* What slurmstepd's parent process has gathered for all tasks of its node. */
struct srank_step {
	struct launch_settings settings;
	struct launch_error error;   /* the first one; the tasks report it */
	struct launch_facts devices; /* gpus and gpu_variables of the step on this node */
	struct launch_gpus *gpus;    /* the same with their places; NULL: none */
	struct srank_found found;    /* what a task cannot find out by itself */
	uint32_t ntasks;             /* on this node, as many as shared has masks */
	struct srank_shared *shared; /* NULL before user_init */
	enum srank_abandon abandon;
	bool abandoned; /* slurmctld was told to end the step */
};

/*
 * What follows from R, a negative errno, for the other nodes: all but a few failures come
 * from what every task of the step has. FOUND is what the node could find out.
 */
enum srank_abandon srank_task_abandon(int r, const struct srank_found *found);

/*
 * Sets the variables of the task that slurm_spank_task_init was called for. -EINVAL with
 * ERR or another negative errno; the task must then not start, and step->abandon says
 * whether the tasks of the other nodes know of it.
 */
int srank_task(spank_t spank, struct srank_step *step, struct launch_error *err);

/* The same for the batch script, which starts in any case. */
int srank_task_batch(spank_t spank, const struct srank_step *step,
		     struct launch_error *err);
