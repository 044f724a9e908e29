/* SPDX-License-Identifier: MIT */
/*
 * The layout of a step, task by task, and of a job, component by component, which only
 * slurmctld has. Each call sends it one message, so these are for the steps whose
 * environment does not tell, or is not to be trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * In srun: the text of LAUNCH_ORDER_VARIABLE for a step, in *TEXT (free it). -EIO when
 * slurmctld does not answer, or with a layout that is none; -ENOMEM.
 */
int srank_layout_order(uint32_t job_id, uint32_t step_id, char **text);

/*
 * In slurmstepd: the node of global task 0 in NAME, and *POSITION among the nodes of its
 * component, for a heterogeneous step. JOB_ID is the job of the first component, whose
 * layout alone slurmctld knows by that number. -EIO as above, or when the name does not
 * fit into SIZE.
 */
int srank_layout_head(uint32_t job_id, uint32_t step_id, char *name, size_t size,
		      uint32_t *position);

/*
 * In slurmstepd: the job of the first component of the heterogeneous job that JOB_ID is a
 * component of, whose number stands for all of them. JOB_ID itself, where it is an
 * ordinary job or slurmctld does not say.
 */
uint32_t srank_layout_leader(uint32_t job_id);
