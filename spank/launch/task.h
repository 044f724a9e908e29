/* SPDX-License-Identifier: MIT */
/*
 * One task, from its facts to its environment: the rules in the order in which whoever
 * starts a task has to ask them.
 */
#pragma once

#include "spank/launch/cpuset.h"
#include "spank/launch/environment.h"
#include "spank/launch/error.h"
#include "spank/launch/facts.h"
#include "spank/launch/gpus.h"
#include "spank/launch/settings.h"

#include <stdbool.h>
#include <stdint.h>

struct launch_task {
	const struct launch_facts *facts;
	const struct launch_settings *settings;
	/* The step's GPUs on this node; NULL: none to bind. */
	const struct launch_gpus *gpus;
	/* CPUs of the node's tasks, by local rank; see launch_gpus_bind(). */
	const struct launch_cpuset *masks;
	uint32_t ntasks;
	bool port_tested; /* by launch_task_find_port(), which has told of it */
	/* Is given what the user should know though nothing failed, a line each; rank 0
	 * alone has any. */
	void (*say)(const char *line);
};

/*
 * Rank 0 finds a port of which it can tell the others, and PORT is to become their
 * facts' agreed_port: the first of launch_port_candidate() on which it could listen. 0 in
 * PORT: the first one holds, which somebody has set (and which is tested), or is not on
 * this node. Errors as below; -EADDRINUSE also when all of ports= are taken, or root's.
 */
int launch_task_find_port(const struct launch_task *task, uint16_t *port,
			  struct launch_error *err);

/*
 * Fills ENV, which must be zeroed, with all that the task gets: its variables, its GPUs,
 * and the mark of launch_environment_mark(). Rank 0's port is tested, unless the ranks
 * have agreed on one. Errors as from launch_environment() and launch_gpus_bind();
 * -EADDRINUSE with ERR when the port is taken, or only root's, which busy=warn makes a
 * line for SAY. With submitit in charge ENV stays empty.
 */
int launch_task_environment(const struct launch_task *task,
			    struct launch_environment *env, struct launch_error *err);

/*
 * Gives SAY the table of `verbose`, if it is asked for and the task is rank 0. DEVICES
 * and NCPUS are those of struct launch_report_node. It is for reading only: what keeps it
 * from being made is a line, too, and no error.
 */
void launch_task_report(const struct launch_task *task,
			const struct launch_facts *devices, uint32_t ncpus);
