/* SPDX-License-Identifier: MIT */
/*
 * A task's environment. All of it is computed before the first variable is set, so that a
 * failure leaves nothing half done.
 */
#include "spank/plugin/task.h"

#include "spank/launch/environment.h"
#include "spank/launch/task.h"
#include "spank/plugin/source.h"

#include <errno.h>

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

static void say(const char *line)
{
	slurm_spank_log("srank: %s", line);
}

enum srank_abandon srank_task_abandon(int r, const struct srank_found *found)
{
	switch (r) {
	case 0:
		return SRANK_ABANDON_NO;
	case -EADDRINUSE:
	case -EACCES:
		return SRANK_ABANDON_AT_ONCE;
	case -ENOMEM:
	case -EIO:
		return SRANK_ABANDON_IN_TURN;
	default:
		return found->local ? SRANK_ABANDON_IN_TURN : SRANK_ABANDON_NO;
	}
}

int srank_task(spank_t spank, struct srank_step *step, struct launch_error *err)
{
	struct launch_facts facts = {0};
	struct launch_environment env = {0};
	const struct launch_task task = {
		.facts = &facts,
		.settings = &step->settings,
		.gpus = step->gpus,
		.masks = step->shared->masks,
		.ntasks = step->ntasks,
		.say = say,
	};
	int r;

	r = srank_source_task(spank, &step->devices, &step->found, &facts, err);
	if (r == 0)
		r = launch_task_environment(&task, &env, err);
	if (r == 0)
		r = apply(spank, &env, err);
	if (r == 0 && step->settings.verbose)
		launch_task_report(&task, &step->devices, srank_source_ncpus(spank));
	if (facts.ntasks != 1)
		step->abandon = srank_task_abandon(r, &step->found);
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
