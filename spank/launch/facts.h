/* SPDX-License-Identifier: MIT */
/*
 * What is known about one task of a Slurm step. Sources fill it (the plugin from SPANK and
 * the step's environment, `srank exec` from PMIx or SLURM_*, `srank explain` from a spec);
 * the rules in address.c, port.c, gpus.c and environment.c read it and nothing else.
 */
#pragma once

#include "spank/launch/error.h"

#include <stdbool.h>
#include <stdint.h>

struct launch_facts {
	/* The step. In a heterogeneous step these are the whole step's, not a component's. */
	uint32_t job_id;
	uint32_t step_id;
	uint32_t restart_count;	 /* SLURM_RESTART_COUNT: 0 on the first run of a job */
	uint32_t nnodes;
	uint32_t ntasks;
	char *nodelist;		 /* compressed; order is the nodes' order in the step */
	char *tasks_per_node;	 /* "8(x2),4", same order as nodelist */
	char *resv_ports;	 /* SLURM_STEP_RESV_PORTS, "41001-41003"; NULL: none */
	/*
	 * Node of global task 0, where a source knows it. NULL: it is the first name of
	 * nodelist, unless head_uncertain says that this rule does not hold for the step
	 * (arbitrary distribution, heterogeneous step: hostlist_uniq() and
	 * _reorder_het_job_recs() sort the list in Slurm's srun).
	 */
	char *head;
	bool head_uncertain;

	/* This task. */
	char *node;		 /* SLURMD_NODENAME */
	uint32_t node_rank;
	uint32_t rank;
	uint32_t local_rank;
	uint32_t local_size;
	uint32_t ncpus;		 /* CPUs in the task's affinity mask; 0: not known */
	char *gpus;		 /* device tokens visible to the task, as Slurm set them,
				    comma-separated and opaque; NULL: none */
	uint32_t gpu_variables;	 /* bit i: launch_gpu_variables[i] of gpus.h is set in the
				    task; Slurm gives all of them the same list */

	/* What the user set before the step, after the precedence rules; NULL: nothing. */
	char *user_addr;
	char *user_port;
	bool user_omp;		 /* OMP_NUM_THREADS is set */
	bool user_device_order;	 /* CUDA_DEVICE_ORDER is set */
	bool submitit;		 /* SUBMITIT_EXECUTOR is set: stand aside */
};

/* Looks a variable up; NULL when it is not set. The text need live only until the next call. */
typedef const char *(*launch_lookup)(const char *name, void *arg);

/*
 * Fills FACTS from a step's environment. Per-task variables (SLURM_PROCID, SLURM_LOCALID,
 * SLURM_NODEID) are those of this task only when called at or after task_init: before it
 * they are the batch script's. Precedence and staleness rules are applied here: MASTER_ADDR
 * and MASTER_PORT count as the user's unless empty or equal to the value in the marker
 * (SRANK_MASTER_ADDR, SRANK_MASTER_PORT) that an outer step of ours left.
 * local_size comes from tasks_per_node at node_rank, and may be overwritten by a source that
 * knows better. -EINVAL with ERR set when a variable is missing or malformed; -ENOMEM.
 * FACTS is always in a state that launch_facts_clear() takes.
 */
int launch_facts_read(struct launch_facts *facts, launch_lookup lookup, void *arg,
		      struct launch_error *err);

/* Frees the texts and zeroes the rest. */
void launch_facts_clear(struct launch_facts *facts);
