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
#include <unistd.h>

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
		const struct launch_assignment *assignment = &env->list[i];
		const char *name = assignment->name, *value = assignment->value;
		spank_err_t r;

		if (is_too_long(assignment))
			return launch_error_set(err, -E2BIG,
						"%s would be %zu bytes long, and Linux takes "
						"%d; use fewer tasks or another launcher",
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

/* Rank 0 of a step whose launcher listens on MASTER_PORT. */
static int test_port(const struct launch_facts *facts,
		     const struct launch_settings *settings, struct launch_error *err)
{
	const char *node = facts->node ? facts->node : "this node";
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
		launch_error_set(&text, 0,
				 "port %u (%s) is taken on %s, where rank 0 would listen; end "
				 "the process that holds it, or set MASTER_PORT to a free one",
				 port, launch_port_source_name(source), node);
		break;
	case -EACCES:
		launch_error_set(&text, 0,
				 "port %u (%s) is not for users on %s, where rank 0 would "
				 "listen; use one above 1023",
				 port, launch_port_source_name(source), node);
		break;
	default:
		return 0;
	}
	if (settings->busy_warns) {
		slurm_spank_log("srank: warning: %s", text.text);
		return 0;
	}
	return launch_error_set(err, -EADDRINUSE, "%s (busy=warn starts it all the same)",
				text.text);
}

static void free_text(char **text)
{
	free(*text);
}

/* The table is for reading only: the task starts without it. */
static void report(const struct launch_facts *facts,
		   const struct launch_settings *settings)
{
	__attribute__((cleanup(free_text))) char *text = NULL;
	struct launch_error err = {""};
	size_t size = 0;
	FILE *out;
	int r;

	if (facts->rank != 0 || !settings->verbose)
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	r = launch_report(out, facts, settings, facts->layout == LAUNCH_LAYOUT_BLOCK, &err);
	if (fclose(out))
		return;
	if (r) {
		slurm_spank_log("srank: %s", err.text);
		return;
	}
	for (char *next = text, *line; (line = strsep(&next, "\n"));) {
		if (*line)
			slurm_spank_log("srank: %s", line);
	}
}

/*
 * A shell at a terminal whose step has more tasks (srun --pty in an allocation of many) is
 * no rank of theirs: programs started in it would wait for ranks that never come. Steps
 * started from it inherit SLURM_PTY_PORT, but not the terminal.
 */
static bool is_shell(spank_t spank, const struct launch_facts *facts)
{
	__attribute__((cleanup(srank_environment_clear)))
	struct srank_environment environment = {.spank = spank};

	return facts->ntasks > 1 && facts->rank == 0 && isatty(STDIN_FILENO) &&
	       srank_environment_get("SLURM_PTY_PORT", &environment);
}

static int compute(spank_t spank, struct srank_step *step,
		   const struct launch_facts *facts, struct launch_environment *env,
		   struct launch_error *err)
{
	int r;

	if (is_shell(spank, facts))
		return launch_environment_batch(facts, &step->settings, env, err);
	r = launch_environment(facts, &step->settings, env, err);
	if (r)
		return r;

	/* From here on, what fails may fail in this task alone. */
	if (step->gpus)
		r = launch_gpus_bind(step->gpus, step->shared->masks, step->shared->ntasks,
				     facts, &step->settings, env, err);
	if (r == 0)
		r = test_port(facts, &step->settings, err);
	if (r)
		step->shared->abandon = facts->ntasks > 1;
	return r;
}

int srank_task(spank_t spank, struct srank_step *step, struct launch_error *err)
{
	__attribute__((cleanup(launch_facts_clear))) struct launch_facts facts = {0};
	__attribute__((cleanup(launch_environment_clear))) struct launch_environment env = {
		0};
	int r;

	r = srank_source_task(spank, &step->devices, &facts, err);
	if (r)
		return r;
	if (facts.submitit)
		return 0;
	r = compute(spank, step, &facts, &env, err);
	if (r)
		return r;
	r = apply(spank, &env, err);
	if (r) {
		step->shared->abandon = facts.ntasks > 1;
		return r;
	}
	report(&facts, &step->settings);
	return 0;
}

int srank_task_batch(spank_t spank, const struct srank_step *step,
		     struct launch_error *err)
{
	__attribute__((cleanup(launch_facts_clear))) struct launch_facts facts = {0};
	__attribute__((cleanup(launch_environment_clear))) struct launch_environment env = {
		0};
	int r;

	r = srank_source_batch(spank, &facts, err);
	if (r)
		return r;
	r = launch_environment_batch(&facts, &step->settings, &env, err);
	return r ? r : apply(spank, &env, err);
}
