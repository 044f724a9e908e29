/* SPDX-License-Identifier: MIT */
/*
 * The nodes of a step in the order of its ranks. Under an arbitrary distribution
 * SLURM_STEP_NODELIST is sorted by name (hostlist_uniq() in src/common/hostlist.c), and
 * Slurm has no variable that says which task is where. srun can ask for the layout of the
 * step and hand it on to the tasks in a variable, which this writes and reads:
 *
 *	4711.2:n[3,1-2]:0(x2),1,2
 *
 * job and step; the nodes by their lowest task id; for each task, the place of its node
 * among these, runs folded as in SLURM_STEP_TASKS_PER_NODE. A layout that does not fit
 * into LAUNCH_ORDER_MAX is cut down to rank 0's node: `4711.2:n3`.
 */
#pragma once

#include "spank/launch/environment.h"

#include <stdint.h>

/* A name with SLURM_ in front, since only those survive srun --export=NONE. */
#define LAUNCH_ORDER_VARIABLE "SLURM_SRANK_NODES"

/* Longest text. */
#define LAUNCH_ORDER_MAX (LAUNCH_VARIABLE_MAX / 2)

/*
 * The text for a step, in *TEXT (free it). NODELIST is the compressed list of its nodes,
 * NODE_OF has for each of NTASKS tasks the position of its node in there. -EINVAL when
 * NODELIST is no host list or has a colon, there is no task, or a position is not in the
 * list; -ENOMEM.
 */
int launch_order_write(uint32_t job_id, uint32_t step_id, const char *nodelist,
		       const uint32_t *node_of, uint32_t ntasks, char **text);

/*
 * Takes TEXT apart: the nodes in *NODES and, NULL when it was cut down, the places in
 * *PLACEMENT (free both). -ENOENT when it is not of this step: an outer step's, or the
 * user's. -EINVAL when it is of this step, but has not NNODES nodes and NTASKS tasks;
 * -ENOMEM. *NODES and *PLACEMENT are then NULL.
 */
int launch_order_read(const char *text, uint32_t job_id, uint32_t step_id,
		      uint32_t nnodes, uint32_t ntasks, char **nodes, char **placement);
