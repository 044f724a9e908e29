/* SPDX-License-Identifier: MIT */
/*
 * A task's environment. All of it is computed before the first variable is set, so that a
 * failure leaves nothing half done.
 */
#include "spank/plugin/task.h"

#include "spank/launch/environment.h"
#include "spank/launch/port_test.h"
#include "spank/launch/rendezvous.h"
#include "spank/launch/report.h"
#include "spank/plugin/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int apply(spank_t spank, const struct launch_environment *env,
		 struct launch_error *err)
{
	for (size_t i = 0; i < env->count; i++) {
		const char *name = env->list[i].name, *value = env->list[i].value;
		spank_err_t r;

		r = value ? spank_setenv(spank, name, value, 1)
			  : spank_unsetenv(spank, name);
		if (r != ESPANK_SUCCESS && (value || r != ESPANK_ENV_NOEXIST))
			return launch_error_set(err, -EIO, "cannot %s %s: %s",
						value ? "set" : "unset", name,
						spank_strerror(r));
	}
	return 0;
}

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

/* Rank 0 of a step whose programs meet at MASTER_PORT tests it before it starts. */
static int test_port(const struct launch_facts *facts,
		     const struct launch_settings *settings, struct launch_error *err)
{
	const char *fault, *cure;
	struct launch_error text = {""};
	enum launch_port_source source;
	uint16_t port;
	int r;

	if (facts->rank != 0 || (settings->launcher && settings->launcher->bare) ||
	    !meets_here(facts, settings))
		return 0;
	r = launch_port(facts, settings, &port, &source, err);
	if (r)
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
	if (settings->busy_warns) {
		slurm_spank_log("srank: warning: %s", text.text);
		return 0;
	}
	return launch_error_set(err, r, "%s (busy=warn starts the step all the same)",
				text.text);
}

/* The table is for reading only: the task starts without it. */
static void report(spank_t spank, const struct launch_facts *facts,
		   const struct srank_step *step)
{
	const struct launch_report_node here = {
		.masks = step->shared->masks,
		.ntasks = step->shared->ntasks,
		.devices = &step->devices,
		.gpus = step->gpus,
		.ncpus = srank_source_ncpus(spank),
	};
	struct launch_error err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int r;

	if (facts->rank != 0 || !step->settings.verbose)
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	r = launch_report(out, facts, &step->settings, &here, &err);
	if (fclose(out) == 0 && r == 0) {
		for (char *next = text, *line; (line = strsep(&next, "\n"));) {
			if (*line)
				slurm_spank_log("srank: %s", line);
		}
	} else if (launch_error_is_set(&err)) {
		slurm_spank_log("srank: %s", err.text);
	}
	free(text);
}

/*
 * Who names no launcher and starts one task where there are several GPUs gets no rank. A
 * program that wants one ends with a message of its own, which does not lead here.
 */
static void say_shape(const struct launch_facts *facts,
		      const struct launch_settings *settings)
{
	uint32_t ngpus = launch_facts_ngpus(facts);

	if (facts->rank == 0 && settings->asked && !settings->launcher &&
	    launch_has_ranks(facts, settings) &&
	    launch_shape(facts, settings) == LAUNCH_NODE)
		slurm_spank_log("srank: one task a node that sees %u GPUs is taken for a "
				"launcher, and gets no RANK; start one task a GPU "
				"(--ntasks-per-node=%u), or name the launcher "
				"(--srank=torchrun)",
				ngpus, ngpus);
}

static int set_task(spank_t spank, const struct srank_step *step,
		    const struct launch_facts *facts, struct launch_environment *env,
		    struct launch_error *err)
{
	int r = launch_environment(facts, &step->settings, env, err);

	if (r)
		return r;
	if (!launch_has_ranks(facts, &step->settings))
		return apply(spank, env, err);
	if (step->gpus)
		r = launch_gpus_bind(step->gpus, step->shared->masks,
				     step->shared->ntasks, facts, &step->settings, env,
				     err);
	if (r == 0)
		r = test_port(facts, &step->settings, err);
	return r ? r : apply(spank, env, err);
}

/* What one node alone can suffer; all else the tasks of the others find as well. */
static bool is_local(int r)
{
	return r == -ENOMEM || r == -EADDRINUSE || r == -EACCES;
}

int srank_task(spank_t spank, struct srank_step *step, struct launch_error *err)
{
	struct launch_facts facts = {0};
	struct launch_environment env = {0};
	int r;

	r = srank_source_task(spank, &step->devices, &step->found, &facts, err);
	if (r == 0 && !facts.submitit) {
		r = set_task(spank, step, &facts, &env, err);
		if (r == 0) {
			say_shape(&facts, &step->settings);
			report(spank, &facts, step);
		}
	}
	if (is_local(r) && facts.ntasks != 1)
		step->shared->abandon = true;
	launch_environment_clear(&env);
	launch_facts_clear(&facts);
	return r;
}

int srank_task_batch(spank_t spank, const struct srank_step *step,
		     struct launch_error *err)
{
	struct launch_facts facts = {0};
	struct launch_environment env = {0};
	int r;

	r = srank_source_batch(spank, &step->found, &facts, err);
	if (r == 0)
		r = launch_environment_batch(&facts, &step->settings, &env, err);
	if (r == 0)
		r = apply(spank, &env, err);
	launch_environment_clear(&env);
	launch_facts_clear(&facts);
	return r;
}
