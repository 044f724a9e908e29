/* SPDX-License-Identifier: MIT */
/*
 * SPANK as a source. The step as a whole is read from the environment, because the items
 * of a heterogeneous step are those of one component (exec_task() in Slurm's
 * src/slurmd/slurmstepd/task.c adds the offsets to the variables only).
 */
#include "spank/plugin/source.h"

#include "spank/launch/cpuset.h"
#include "spank/plugin/shared.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * execve() takes no string above 128 KiB (MAX_ARG_STRLEN), but until then Slurm may hold
 * a longer one.
 */
#define VALUE_SIZE_FIRST 4096
#define VALUE_SIZE_MAX   (4 * 1024 * 1024)

static bool grow(struct srank_environment *environment)
{
	int size = environment->size ? 2 * environment->size : VALUE_SIZE_FIRST;
	char *value = size <= VALUE_SIZE_MAX ? realloc(environment->value, size) : NULL;

	if (!value) {
		environment->error = -ENOMEM;
		return false;
	}
	environment->value = value;
	environment->size = size;
	return true;
}

const char *srank_environment_get(const char *name, void *arg)
{
	struct srank_environment *environment = arg;

	if (!environment->size && !grow(environment))
		return NULL;
	for (;;) {
		spank_err_t r = spank_getenv(environment->spank, name, environment->value,
					     environment->size);

		if (r == ESPANK_SUCCESS)
			return environment->value;
		if (r != ESPANK_NOSPACE && r != ESPANK_ENV_NOEXIST)
			environment->error = -EIO;
		/* The buffer then holds what fits, which must not pass for it all. */
		if (r != ESPANK_NOSPACE || !grow(environment))
			return NULL;
	}
}

void srank_environment_clear(struct srank_environment *environment)
{
	free(environment->value);
	*environment = (struct srank_environment){0};
}

int srank_source_devices(spank_t spank, struct launch_facts *devices, char **step_gpus)
{
	struct srank_environment environment = {.spank = spank};
	const char *text;
	int r;

	*step_gpus = NULL;
	*devices = (struct launch_facts){0};
	r = launch_facts_read_devices(devices, srank_environment_get, &environment);
	text = srank_environment_get("SLURM_STEP_GPUS", &environment);
	if (text)
		*step_gpus = strdup(text);
	if (text && !*step_gpus)
		r = -ENOMEM;
	else if (environment.error)
		r = environment.error;
	srank_environment_clear(&environment);
	return r;
}

/* A variable that could not be read is the cause of what RESULT and ERR then say. */
static int finish(struct srank_environment *environment, struct launch_error *err,
		  int result)
{
	int r = environment->error;

	srank_environment_clear(environment);
	if (!r)
		return result;
	err->text[0] = '\0';
	return launch_error_set(err, r, "cannot read the task's environment: %s",
				strerror(-r));
}

/*
 * 22.05 unsets the variables of a task that has all of the step's devices by
 * --gpu-bind=none, and by a type in --gpus-per-task; 25.05 sets them.
 */
static int inherit_devices(struct launch_facts *facts, const struct launch_facts *devices)
{
	if (facts->gpus || facts->gpu_variables || !devices->gpus)
		return 0;
	facts->gpus = strdup(devices->gpus);
	if (!facts->gpus)
		return -ENOMEM;
	facts->gpu_variables = devices->gpu_variables;
	return 0;
}

/*
 * srun --pty gives its terminal to rank 0 alone. Steps that are started from a shell
 * there inherit the variable, but not the terminal.
 */
static bool is_at_terminal(const struct launch_facts *facts,
			   struct srank_environment *environment)
{
	return facts->rank == 0 && isatty(STDIN_FILENO) &&
	       srank_environment_get("SLURM_PTY_PORT", environment);
}

int srank_source_task(spank_t spank, const struct launch_facts *devices,
		      struct launch_facts *facts, struct launch_error *err)
{
	struct srank_environment environment = {.spank = spank};
	struct launch_cpuset mask;
	uint32_t local_size;
	int r;

	r = launch_facts_read(facts, srank_environment_get, &environment, err);
	if (r == 0)
		facts->pty = is_at_terminal(facts, &environment);
	r = finish(&environment, err, r);
	if (r == 0)
		r = inherit_devices(facts, devices);
	if (r)
		return r;
	/* This slurmstepd's, which are one component's in a heterogeneous step. */
	if (spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &local_size) == ESPANK_SUCCESS)
		facts->local_size = local_size;
	if (srank_affinity(0, &mask) == 0)
		facts->ncpus = launch_cpuset_count(&mask);
	return 0;
}

int srank_source_batch(spank_t spank, struct launch_facts *facts,
		       struct launch_error *err)
{
	struct srank_environment environment = {.spank = spank};

	return finish(
		&environment, err,
		launch_facts_read_batch(facts, srank_environment_get, &environment, err));
}
