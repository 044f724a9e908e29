/* SPDX-License-Identifier: MIT */
/*
 * A task's environment. All of it is computed before the first variable is set, so that a
 * failure leaves nothing half done.
 */
#include "spank/plugin/task.h"

#include "spank/launch/environment.h"
#include "spank/launch/rendezvous.h"
#include "spank/launch/report.h"
#include "spank/plugin/port_test.h"
#include "spank/plugin/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * setenvf() in Slurm's src/common/env.c drops a variable that is longer (MAX_ENV_STRLEN),
 * and spank_setenv() reports success all the same.
 */
#define VARIABLE_MAX (32 * 4096)

static bool is_too_long(const struct launch_assignment *assignment)
{
	return assignment->value &&
	       strlen(assignment->name) + strlen(assignment->value) + 2 >= VARIABLE_MAX;
}

static int apply(spank_t spank, const struct launch_environment *env,
		 struct launch_error *err)
{
	for (size_t i = 0; i < env->count; i++) {
		const char *name = env->list[i].name, *value = env->list[i].value;
		spank_err_t r;

		if (is_too_long(&env->list[i]))
			return launch_error_set(
				err, -E2BIG,
				"%s would be %zu bytes long, and Linux "
				"takes %d; use fewer tasks, or a launcher "
				"that does not read it",
				name, strlen(value), VARIABLE_MAX);
		r = value ? spank_setenv(spank, name, value, 1)
			  : spank_unsetenv(spank, name);
		if (r != ESPANK_SUCCESS && (value || r != ESPANK_ENV_NOEXIST))
			return launch_error_set(err, -EIO, "cannot %s %s: %s",
						value ? "set" : "unset", name,
						spank_strerror(r));
	}
	return 0;
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

	if (facts->rank != 0 || (settings->launcher && settings->launcher->bare))
		return 0;
	r = launch_port(facts, settings, &port, &source, err);
	if (r)
		return r;
	switch (srank_port_test(port)) {
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
static void report(const struct launch_facts *facts,
		   const struct launch_settings *settings)
{
	bool block = facts->layout == LAUNCH_LAYOUT_BLOCK;
	struct launch_error err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int r;

	if (facts->rank != 0 || !settings->verbose)
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	r = launch_report(out, facts, settings, block, &err);
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

/* What every task of the step computes from the same facts, and fails in the same way. */
static int compute_common(spank_t spank, const struct srank_step *step,
			  struct launch_facts *facts, struct launch_environment *env,
			  struct launch_error *err)
{
	int r = srank_source_task(spank, &step->devices, facts, err);

	if (r || facts->submitit)
		return r;
	return launch_environment(facts, &step->settings, env, err);
}

/* What depends on the node. */
static int finish(spank_t spank, const struct srank_step *step,
		  const struct launch_facts *facts, struct launch_environment *env,
		  struct launch_error *err)
{
	int r = 0;

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

int srank_task(spank_t spank, struct srank_step *step, struct launch_error *err)
{
	struct launch_facts facts = {0};
	struct launch_environment env = {0};
	bool common = true;
	int r;

	r = compute_common(spank, step, &facts, &env, err);
	if (r == 0 && !facts.submitit) {
		common = false;
		r = finish(spank, step, &facts, &env, err);
		if (r == 0)
			report(&facts, &step->settings);
	}
	if (r == -ENOMEM || (r && !common))
		step->shared->abandon = facts.ntasks > 1;
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

	r = srank_source_batch(spank, &facts, err);
	if (r == 0)
		r = launch_environment_batch(&facts, &step->settings, &env, err);
	if (r == 0)
		r = apply(spank, &env, err);
	launch_environment_clear(&env);
	launch_facts_clear(&facts);
	return r;
}
