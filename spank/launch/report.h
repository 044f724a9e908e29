/* SPDX-License-Identifier: MIT */
/*
 * The table that `verbose` prints at rank 0 and `srank explain` prints before the job runs:
 * one row a node, the same columns from the same rules.
 */
#pragma once

#include "spank/launch/facts.h"
#include "spank/launch/settings.h"

#include <stdio.h>

/*
 * Prints launcher, shape, address, port and where the port came from, then one row per node
 * (node rank, node, tasks, ranks). From 17 nodes on, neighbours with equally many tasks share
 * a row, and after 64 rows the rest is only counted. Needs the facts of any task; BLOCK says
 * that tasks are numbered node by node, which makes the ranks known. In a heterogeneous step
 * and under an arbitrary distribution the names have no place beside the node ranks: two
 * lines then stand for the table. -EINVAL with ERR, and nothing printed, as from
 * launch_address() and launch_port(), and when node list and task counts do not fit.
 */
int launch_report(FILE *out, const struct launch_facts *facts,
		  const struct launch_settings *settings, bool block,
		  struct launch_error *err);
