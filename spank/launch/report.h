/* SPDX-License-Identifier: MIT */
/*
 * The table that `verbose` prints at rank 0 and `srank explain` prints before the job
 * runs: one row a node, the same columns from the same rules.
 */
#pragma once

#include "spank/launch/cpuset.h"
#include "spank/launch/facts.h"
#include "spank/launch/gpus.h"
#include "spank/launch/settings.h"

#include <stdio.h>

/* What is known of the node of rank 0, which is the one where it is printed. */
struct launch_report_node {
	const struct launch_cpuset *masks; /* of its tasks, an empty one not known */
	uint32_t ntasks;
	/* What the step has there; see launch_facts_read_devices(). */
	const struct launch_facts *devices;
	const struct launch_gpus *gpus; /* the same, located; NULL: no binding of tasks */
	uint32_t ncpus;                 /* the job's CPUs there; 0: not known */
};

/*
 * Prints launcher, shape, address, port and where the port came from, and how GPUs are
 * bound, then one row per node (node rank, node, tasks, ranks, CPUs, GPUs), and at last
 * what launch_report_binding() prints. CPUs, GPUs and binding only with HERE (NULL:
 * nothing is known of any node), and of other nodes they are not known. From 17 nodes on,
 * neighbours with equally many tasks share a row, and after 64 rows the rest is only
 * counted. Needs the facts of any task, of rank 0's with HERE; the ranks are left out
 * unless tasks are numbered node by node. In a heterogeneous step and under an arbitrary
 * distribution the names have no place beside the node ranks: a few lines then stand for
 * the table. Only printable characters and line feeds come out. -EINVAL with ERR, and
 * nothing printed, as from launch_address() and launch_port(), and when node list and
 * task counts do not fit; -ENOMEM.
 */
int launch_report(FILE *out, const struct launch_facts *facts,
		  const struct launch_settings *settings,
		  const struct launch_report_node *here, struct launch_error *err);

/*
 * Prints the tasks of the node HERE, as launch_gpus_share() binds them: one row per task
 * (local rank, CPUs, its own GPUs by their names, and the distance of the farthest of
 * these), in mode order a line with the list that all tasks see, and after 64 rows how
 * many are left. Then what costs time and an option of srun's or sbatch's cures, each in
 * a line that begins with "warning: ": tasks with a GPU and no more than one CPU, and
 * tasks whose CPUs are all on other sockets than their GPU, and tasks without a GPU at
 * the index LOCAL_RANK; where Slurm has bound the tasks itself, only the last of these.
 * Nothing without gpus. Errors as from launch_gpus_share().
 */
int launch_report_binding(FILE *out, const struct launch_facts *facts,
			  const struct launch_settings *settings,
			  const struct launch_report_node *here,
			  struct launch_error *err);
