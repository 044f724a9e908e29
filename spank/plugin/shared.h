/* SPDX-License-Identifier: MIT */
/*
 * Memory that slurmstepd and the tasks of one node share. Tasks need each other's CPU
 * masks to agree on their GPUs, and slurmstepd must learn that a task failed here and not
 * in the user's program.
 */
#pragma once

#include "spank/launch/cpuset.h"

#include <stdatomic.h>
#include <stdint.h>

/*
 * The tasks are the user's when they write here, and slurmstepd is root: it takes nothing
 * from here but what cannot harm it. How long this is, it keeps to itself.
 */
struct srank_shared {
	atomic_bool reported; /* a task has printed its error: one line a node will do */
	atomic_bool abandon;  /* a task failed, and slurmctld is to end the others */
	struct launch_cpuset masks[]; /* by local rank; empty: not known */
};

/*
 * Zeroed memory for NTASKS tasks, shared with all processes that are forked later; in
 * slurm_spank_user_init, before the tasks. NULL with errno.
 */
struct srank_shared *srank_shared_create(uint32_t ntasks);

/* Unmaps *SHARED, which may be NULL, of NTASKS tasks, and makes it NULL. */
void srank_shared_destroy(struct srank_shared **shared, uint32_t ntasks);
