/* SPDX-License-Identifier: MIT */
/*
 * What a task can find out where it is, without asking anybody: what its node is, what
 * the task may use of it, and which GPUs are its own.
 */
#pragma once

#include "spank/launch/environment.h"
#include "spank/launch/facts.h"
#include "spank/launch/settings.h"
#include "spank/launch/tree.h"

#include <stdio.h>

struct exec_probe {
	const struct launch_facts *facts;
	const struct launch_settings *settings;
	/* What the task is to get in its environment; empty where it has it by now. */
	const struct launch_environment *env;
	/* /proc, /sys, /dev and /etc; the machine's own, or a recorded machine's. */
	const struct launch_tree *tree;
};

/* Writes what is of the node into OUT, as a record. */
void exec_probe_node(const struct exec_probe *probe, FILE *out);

/* The same for what is of the task alone. */
void exec_probe_task(const struct exec_probe *probe, FILE *out);
