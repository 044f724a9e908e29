/* SPDX-License-Identifier: MIT */
/*
 * The table that `verbose` prints at rank 0 and `srank explain` prints before the job
 * runs: one row a node, the same columns from the same rules.
 */
#pragma once

#include "spank/launch/cpuset.h"
#include "spank/launch/facts.h"
#include "spank/launch/settings.h"

#include <stdio.h>

/* What rank 0 knows of the node that it is on. */
struct launch_report_node {
	const struct launch_cpuset *masks; /* of its tasks, an empty one not known */
	uint32_t ntasks;
	/* What the step has there; see launch_facts_read_devices(). */
	const struct launch_facts *devices;
};

/*
 * Prints launcher, shape, address, port and where the port came from, and how GPUs are
 * bound, then one row per node (node rank, node, tasks, ranks, CPUs, GPUs). CPUs, GPUs
 * and binding only with HERE (NULL: nothing is known of any node), and of other nodes
 * they are not known. From 17 nodes on, neighbours with equally many tasks share a row,
 * and after 64 rows the rest is only counted. Needs the facts of any task, of rank 0's
 * with HERE; the ranks are left out unless tasks are numbered node by node. In a
 * heterogeneous step and under an arbitrary distribution the names have no place beside
 * the node ranks: a few lines then stand for the table. Only printable characters and
 * line feeds come out. -EINVAL with ERR, and nothing printed, as from launch_address()
 * and launch_port(), and when node list and task counts do not fit.
 */
int launch_report(FILE *out, const struct launch_facts *facts,
		  const struct launch_settings *settings,
		  const struct launch_report_node *here, struct launch_error *err);
