/* SPDX-License-Identifier: MIT */
/*
 * SPANK as a source. The step as a whole is read from the environment, because the items
 * of a heterogeneous step are those of one component (exec_task() in Slurm's
 * src/slurmd/slurmstepd/task.c adds the offsets to the variables only).
 */
#include "spank/plugin/source.h"

#include "spank/launch/cpuset.h"
#include "spank/launch/hostlist.h"
#include "spank/launch/rendezvous.h"
#include "spank/plugin/layout.h"
#include "spank/plugin/resolve.h"
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
	r = launch_facts_read_devices(devices, 0, srank_environment_get, &environment);
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

uint32_t srank_source_ncpus(spank_t spank)
{
	struct srank_environment environment = {.spank = spank};
	uint32_t ncpus = launch_facts_node_cpus(srank_environment_get, &environment);

	srank_environment_clear(&environment);
	return ncpus;
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

static int copy(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

/* Into facts that have just been read, and so have none of it. */
static int add_found(struct launch_facts *facts, const struct srank_found *found)
{
	int r = 0;

	if (found->head && facts->head_uncertain)
		r = launch_facts_set_head(facts, found->head, found->head_id);
	if (r == 0)
		r = copy(&facts->head_addr, found->head_addr);
	return r ? r : copy(&facts->node_addr, found->node_addr);
}

/* S_JOB_NNODES counts the nodes of one component, SLURM_STEP_NUM_NODES those of all. */
static void set_component(spank_t spank, struct launch_facts *facts)
{
	uint32_t nodes;

	if (spank_get_item(spank, S_JOB_NNODES, &nodes) == ESPANK_SUCCESS && nodes)
		launch_facts_set_component(facts, nodes);
}

int srank_source_task(spank_t spank, const struct launch_facts *devices,
		      const struct srank_found *found, struct launch_facts *facts,
		      struct launch_error *err)
{
	struct srank_environment environment = {.spank = spank};
	struct launch_cpuset mask;
	uint32_t local_size;
	int r;

	r = launch_facts_read(facts, srank_environment_get, &environment, err);
	if (r == 0)
		facts->pty = is_at_terminal(facts, &environment);
	/* Not from a variable that the user has and Slurm does not set. */
	if (r == 0 && devices->gpu_variables)
		r = launch_facts_read_devices(facts, devices->gpu_variables,
					      srank_environment_get, &environment);
	r = finish(&environment, err, r);
	if (r)
		return r;
	set_component(spank, facts);
	r = add_found(facts, found);
	if (r == 0)
		r = inherit_devices(facts, devices);
	if (r)
		return r;
	/* This slurmstepd's, which are one component's in a heterogeneous step. */
	if (spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &local_size) == ESPANK_SUCCESS)
		facts->local_size = local_size;
	if (launch_cpuset_affinity(0, &mask) == 0)
		facts->ncpus = launch_cpuset_count(&mask);
	return 0;
}

int srank_source_batch(spank_t spank, const struct srank_found *found,
		       struct launch_facts *facts, struct launch_error *err)
{
	struct srank_environment environment = {.spank = spank};
	int r;

	r = finish(
		&environment, err,
		launch_facts_read_batch(facts, srank_environment_get, &environment, err));
	return r ? r : add_found(facts, found);
}

/* The facts of the step, when there are no tasks yet. */
static int read_step(spank_t spank, bool batch, struct launch_facts *facts,
		     struct launch_error *err)
{
	struct srank_environment environment = {.spank = spank};
	int r;

	if (batch)
		r = launch_facts_read_batch(facts, srank_environment_get, &environment,
					    err);
	else
		r = launch_facts_read_shared(facts, srank_environment_get, &environment,
					     err);
	r = finish(&environment, err, r);
	if (r || batch)
		return r;
	set_component(spank, facts);
	/* The task's own environment has it later; slurmstepd's has it from its start. */
	return facts->node ? 0 : copy(&facts->node, getenv("SLURMD_NODENAME"));
}

/* By the job's number in the environment, which is the first component's in each. */
static int find_head(struct launch_facts *facts, struct srank_found *found)
{
	char head[LAUNCH_HOST_MAX];

	if (srank_layout_head(facts->job_id, facts->step_id, head, sizeof(head),
			      &found->head_id))
		return 0;
	found->head = strdup(head);
	if (!found->head)
		return -ENOMEM;
	return launch_facts_set_head(facts, head, found->head_id);
}

typedef int (*launch_query)(const struct launch_facts *facts,
			    const struct launch_settings *settings, char *name,
			    size_t size, struct launch_error *err);

static int find_address(launch_query query, const struct launch_facts *facts,
			const struct launch_settings *settings, char **found,
			struct launch_error *err)
{
	char node[LAUNCH_ADDR_MAX], name[LAUNCH_ADDR_MAX], addr[LAUNCH_ADDR_MAX];
	struct launch_settings plain = *settings;
	int r;

	r = query(facts, settings, name, sizeof(name), err);
	if (r <= 0)
		return r;
	/* The name of the node as it is. */
	plain.addr = LAUNCH_ADDR_NODEADDR;
	r = query(facts, &plain, node, sizeof(node), err);
	if (r <= 0)
		return r;
	r = srank_resolve(settings->addr, node, name, facts->nnodes, addr, sizeof(addr),
			  err);
	return r ? r : copy(found, addr);
}

/* In nearly all steps the first name of the list is rank 0's node, and its address. */
static bool is_plain(spank_t spank, bool batch, const struct launch_settings *settings)
{
	struct srank_environment environment = {.spank = spank};
	const char *text;
	uint32_t nodes;
	bool plain;

	if (settings->launcher && settings->launcher->bare)
		return true;
	if (settings->addr != LAUNCH_ADDR_NAME)
		return false;
	if (batch || spank_get_item(spank, S_JOB_NNODES, &nodes) != ESPANK_SUCCESS)
		return true;
	text = srank_environment_get("SLURM_STEP_NUM_NODES", &environment);
	plain = !text || strtoul(text, NULL, 10) == nodes;
	srank_environment_clear(&environment);
	return plain;
}

int srank_source_find(spank_t spank, bool batch, const struct launch_settings *settings,
		      struct srank_found *found, struct launch_error *err)
{
	struct launch_facts facts = {0};
	int r;

	if (is_plain(spank, batch, settings))
		return 0;
	r = read_step(spank, batch, &facts, err);
	if (r || facts.submitit)
		goto out;
	if (facts.het && facts.head_uncertain && !facts.user_addr)
		r = find_head(&facts, found);
	/* Without a head the tasks say so, and in other words. */
	if (r == 0 && !facts.head_uncertain)
		r = find_address(launch_head_query, &facts, settings, &found->head_addr,
				 err);
	if (r == 0)
		r = find_address(launch_node_query, &facts, settings, &found->node_addr,
				 err);
	found->local = facts.nnodes > 1 &&
		       (r == -EHOSTUNREACH ||
			(facts.het && !facts.user_addr && facts.head_uncertain));
out:
	launch_facts_clear(&facts);
	return r;
}

void srank_found_clear(struct srank_found *found)
{
	free(found->head);
	free(found->head_addr);
	free(found->node_addr);
	*found = (struct srank_found){0};
}
