/* SPDX-License-Identifier: MIT */
/*
 * The order of the rules for one task. All of it is computed before the first variable is
 * set, so that a failure leaves nothing half done.
 */
#include "spank/launch/task.h"

#include "spank/launch/port_test.h"
#include "spank/launch/rendezvous.h"
#include "spank/launch/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "node1", where the user may have written "node1.example.org". */
static bool is_name_of(const char *node, const char *addr)
{
	size_t length = strlen(node);

	return strncasecmp(addr, node, length) == 0 &&
	       (!addr[length] || (addr[length] == '.' && !strchr(node, '.')));
}

/*
 * Whether MASTER_ADDR is rank 0's own node. Where the user has set it, it may be any
 * host, whose ports are not for us to test; a name that is not known for this node's is
 * not looked up.
 */
static bool meets_here(const struct launch_facts *facts,
		       const struct launch_settings *settings)
{
	struct launch_error ignored = {""};
	char addr[LAUNCH_ADDR_MAX];

	if (!facts->user_addr || launch_address_is_loopback(facts->user_addr) ||
	    launch_port_is_own_address(facts->user_addr))
		return true;
	return facts->node && (is_name_of(facts->node, facts->user_addr) ||
			       (launch_node_address(facts->node, settings, addr,
						    sizeof(addr), &ignored) == 0 &&
				strcasecmp(addr, facts->user_addr) == 0));
}

/* Whether this task is to listen on MASTER_PORT here. */
static bool listens(const struct launch_task *task)
{
	const struct launch_launcher *launcher = task->settings->launcher;

	return task->facts->rank == 0 && !(launcher && launcher->bare) &&
	       meets_here(task->facts, task->settings);
}

/* Rank 0 of a step whose programs meet at MASTER_PORT tests it before it starts. */
static int test_port(const struct launch_task *task, struct launch_error *err)
{
	const struct launch_facts *facts = task->facts;
	const char *fault, *cure;
	struct launch_error text = {""};
	enum launch_port_source source;
	uint16_t port;
	int r;

	if (!listens(task))
		return 0;
	r = launch_port(facts, task->settings, &port, &source, err);
	if (r || source == LAUNCH_PORT_AGREED)
		return r;
	switch (launch_port_test(port)) {
	case -EADDRINUSE:
		fault = "is taken";
		cure = "end the process that holds it, or set MASTER_PORT to a free one";
		break;
	case -EACCES:
		fault = "is for root only";
		cure = "set MASTER_PORT to one above 1023";
		break;
	default:
		return 0;
	}
	r = launch_error_set(&text, -EADDRINUSE,
			     "port %u (%s) %s on %s, where rank 0 would listen; %s", port,
			     launch_port_source_name(source), fault,
			     facts->node ? facts->node : "this node", cure);
	if (task->settings->busy_warns) {
		char line[sizeof(text.text) + 16];

		snprintf(line, sizeof(line), "warning: %s", text.text);
		task->say(line);
		return 0;
	}
	return launch_error_set(err, r, "%s (busy=warn starts the step all the same)",
				text.text);
}

int launch_task_find_port(const struct launch_task *task, uint16_t *port,
			  struct launch_error *err)
{
	const struct launch_settings *settings = task->settings;
	enum launch_port_source source;
	bool taken = false, roots = false;
	uint16_t candidate;
	int r = 0;

	*port = 0;
	if (!listens(task))
		return 0;
	for (uint32_t nth = 0; r == 0; nth++) {
		r = launch_port_candidate(task->facts, settings, nth, &candidate, &source,
					  err);
		if (r == 0 && (source == LAUNCH_PORT_USER || source == LAUNCH_PORT_KEY))
			return test_port(task, err);
		if (r)
			break;
		switch (launch_port_test(candidate)) {
		case 0:
			*port = candidate;
			return 0;
		case -EACCES:
			roots = true;
			break;
		default:
			taken = true;
		}
	}
	if (r != -ERANGE)
		return r;
	/* Says which, and takes it all the same with busy=warn. */
	return settings->busy_warns
		       ? test_port(task, err)
		       : launch_error_set(
				 err, -EADDRINUSE,
				 "all ports from %u to %u are %s on %s, where rank 0 "
				 "would listen; name others%s with ports=, or set "
				 "MASTER_PORT to a free one",
				 settings->port_low, settings->port_high,
				 !roots  ? "taken"
				 : taken ? "taken, or for root only,"
					 : "for root only",
				 task->facts->node ? task->facts->node : "this node",
				 roots ? " above 1023" : "");
}

/*
 * Who names no launcher and starts one task where there are several GPUs gets no rank. A
 * program that wants one ends with a message of its own, which does not lead here.
 */
static void say_shape(const struct launch_task *task)
{
	const struct launch_facts *facts = task->facts;
	const struct launch_settings *settings = task->settings;
	uint32_t ngpus = launch_facts_ngpus(facts);
	char line[256];

	if (facts->rank != 0 || !settings->asked || settings->launcher ||
	    launch_shape(facts, settings) != LAUNCH_NODE)
		return;
	snprintf(line, sizeof(line),
		 "one task a node that sees %u GPUs is taken for a launcher, and gets no "
		 "RANK; start one task a GPU (--ntasks-per-node=%u), or name the "
		 "launcher (--srank=torchrun)",
		 ngpus, ngpus);
	task->say(line);
}

int launch_task_environment(const struct launch_task *task,
			    struct launch_environment *env, struct launch_error *err)
{
	const struct launch_facts *facts = task->facts;
	int r;

	if (facts->submitit)
		return 0;
	r = launch_environment(facts, task->settings, env, err);
	if (r)
		return r;
	if (launch_has_ranks(facts, task->settings)) {
		if (task->gpus)
			r = launch_gpus_bind(task->gpus, task->masks, task->ntasks, facts,
					     task->settings, env, err);
		if (r == 0 && !task->port_tested)
			r = test_port(task, err);
		if (r)
			return r;
		say_shape(task);
	}
	return launch_environment_mark(env, facts);
}

static void say_lines(const struct launch_task *task, char *text)
{
	for (char *line; (line = strsep(&text, "\n"));) {
		if (*line)
			task->say(line);
	}
}

void launch_task_report(const struct launch_task *task,
			const struct launch_facts *devices, uint32_t ncpus)
{
	const struct launch_report_node here = {
		.masks = task->masks,
		.ntasks = task->ntasks,
		.devices = devices,
		.gpus = task->gpus,
		.ncpus = ncpus,
	};
	struct launch_error err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int r;

	if (task->facts->rank != 0 || task->facts->submitit || !task->settings->verbose)
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	r = launch_report(out, task->facts, task->settings, &here, &err);
	if (fclose(out) == 0 && r == 0)
		say_lines(task, text);
	else if (launch_error_is_set(&err))
		task->say(err.text);
	free(text);
}
