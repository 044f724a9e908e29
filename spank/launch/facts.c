/* SPDX-License-Identifier: MIT */
/*
 * The source of facts that every task has: its own environment. What Slurm says is
 * checked against itself here, once, so that the rules can rely on it.
 */
#include "spank/launch/facts.h"

#include "spank/launch/gpus.h"
#include "spank/launch/hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURE "start the program with srun"

/* Slurm's own limit on the components of a heterogeneous job (MAX_HET_JOB_COMPS). */
#define HET_GROUPS_MAX 128

struct reader {
	struct launch_facts *facts;
	launch_lookup lookup;
	void *arg;
	struct launch_error *err;
};

/* An empty variable counts as unset everywhere. */
static const char *look_up(const struct reader *reader, const char *name)
{
	const char *value = reader->lookup(name, reader->arg);

	return value && *value ? value : NULL;
}

static int missing(const struct reader *reader, const char *name)
{
	return launch_error_set(
		reader->err, -EINVAL,
		"%s is not set, so this is no task of a Slurm step; " CURE, name);
}

/* 0, or -ENOENT when the variable is not set. */
static int read_number(const struct reader *reader, const char *name, uint32_t *number)
{
	const char *text = look_up(reader, name);
	uint64_t value = 0;

	if (!text)
		return -ENOENT;
	for (const char *p = text; *p; p++) {
		if (!isdigit((unsigned char)*p) || value > UINT32_MAX / 10)
			goto malformed;
		value = value * 10 + (*p - '0');
	}
	if (value > UINT32_MAX)
		goto malformed;
	*number = value;
	return 0;
malformed:
	return launch_error_set(
		reader->err, -EINVAL,
		"%s=%.40s is not a number that Slurm would set; unset it and " CURE, name,
		text);
}

static int require_number(const struct reader *reader, const char *name, uint32_t *number)
{
	int r = read_number(reader, name, number);

	return r == -ENOENT ? missing(reader, name) : r;
}

/* The first of two names that is set; SECOND is what older or other sources set. */
static int require_either(const struct reader *reader, const char *first,
			  const char *second, uint32_t *number)
{
	int r = read_number(reader, first, number);

	if (r == -ENOENT)
		r = read_number(reader, second, number);
	return r == -ENOENT ? missing(reader, first) : r;
}

/* A copy of the variable, or NULL when it is not set. */
static int read_text(const struct reader *reader, const char *name, char **text)
{
	const char *value = look_up(reader, name);

	*text = NULL;
	if (!value)
		return 0;
	*text = strdup(value);
	return *text ? 0 : -ENOMEM;
}

static int require_text(const struct reader *reader, const char *name, char **text)
{
	int r = read_text(reader, name, text);

	return r || *text ? r : missing(reader, name);
}

/* The variable, unless MARKER says that an outer step of ours set this very value. */
static int read_users(const struct reader *reader, const char *name, const char *marker,
		      char **text)
{
	const char *ours;
	int r = read_text(reader, name, text);

	if (r || !*text)
		return r;
	ours = look_up(reader, marker);
	if (ours && strcmp(ours, *text) == 0) {
		free(*text);
		*text = NULL;
	}
	return 0;
}

static int read_user(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	char *omp;
	int r;

	r = read_users(reader, "MASTER_ADDR", "SRANK_MASTER_ADDR", &facts->user_addr);
	if (r)
		return r;
	r = read_users(reader, "MASTER_PORT", "SRANK_MASTER_PORT", &facts->user_port);
	if (r)
		return r;
	r = read_users(reader, "OMP_NUM_THREADS", "SRANK_OMP_NUM_THREADS", &omp);
	if (r)
		return r;
	facts->user_omp = omp;
	free(omp);
	facts->user_device_order = look_up(reader, "CUDA_DEVICE_ORDER");
	facts->submitit = look_up(reader, "SUBMITIT_EXECUTOR");
	return read_text(reader, "SRANK_LAUNCHER", &facts->outer);
}

/* Slurm gives all that it sets the same list, so the first will do for that. */
static int read_devices(const struct reader *reader)
{
	/* NoDevFiles is what Slurm sets for a gres without device files. */
	static const char *const none[] = {"", "NoDevFiles", "-1"};
	struct launch_facts *facts = reader->facts;
	const char *first = NULL;

	for (uint32_t i = LAUNCH_GPU_VARIABLES; i-- > 0;) {
		if (reader->lookup(launch_gpu_variables[i], reader->arg)) {
			facts->gpu_variables |= UINT32_C(1) << i;
			first = launch_gpu_variables[i];
		}
	}
	/* The text of the first look-up is gone, and a second one may find no memory. */
	if (first)
		first = reader->lookup(first, reader->arg);
	if (!first)
		return 0;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		if (strcmp(first, none[i]) == 0)
			return 0;
	}
	facts->gpus = strdup(first);
	return facts->gpus ? 0 : -ENOMEM;
}

/*
 * SLURM_DISTRIBUTION is "block:cyclic", "plane", "cyclic,NoPack" and so on; what stands
 * behind the first word places tasks inside a node and does not number them. Unset means
 * Slurm's default, which numbers as block does: it is cyclic only when there are no more
 * tasks than nodes.
 */
static int read_layout(const struct reader *reader)
{
	static const struct {
		const char *word;
		enum launch_layout layout;
	} words[] = {
		{"block", LAUNCH_LAYOUT_BLOCK},
		{"cyclic", LAUNCH_LAYOUT_CYCLIC},
		{"plane", LAUNCH_LAYOUT_PLANE},
	};
	struct launch_facts *facts = reader->facts;
	const char *text = look_up(reader, "SLURM_DISTRIBUTION");
	size_t length;
	int r;

	if (!text)
		return 0;
	length = strcspn(text, ":,=");
	facts->layout = LAUNCH_LAYOUT_OTHER;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strlen(words[i].word) == length &&
		    strncmp(text, words[i].word, length) == 0)
			facts->layout = words[i].layout;
	}
	if (length == strlen("arbitrary") && strncmp(text, "arbitrary", length) == 0)
		facts->head_uncertain = true;
	if (facts->layout != LAUNCH_LAYOUT_PLANE)
		return 0;
	r = read_number(reader, "SLURM_DIST_PLANESIZE", &facts->plane_size);
	if (r == -ENOENT || (r == 0 && facts->plane_size == 0)) {
		facts->layout = LAUNCH_LAYOUT_OTHER;
		facts->plane_size = 0;
		return 0;
	}
	return r;
}

/*
 * SLURM_HET_SIZE stands in every step of a heterogeneous job. sbatch and salloc also
 * leave the nodes of each component (`srun a : b` does not), and these tell two kinds of
 * step apart whose rank 0 is certain: the one in a single component, whose nodes are in
 * order, and the one over all components, which starts on the first node of component 0.
 */
static int read_components(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	uint32_t size = 0, nodes = 0, count;
	char head[LAUNCH_HOST_MAX] = "";
	int r;

	r = read_number(reader, "SLURM_HET_SIZE", &size);
	if (r == -ENOENT || (r == 0 && size < 2))
		return 0;
	if (r)
		return r;
	for (uint32_t i = 0; i < size && i < HET_GROUPS_MAX; i++) {
		char name[64];
		const char *list;

		snprintf(name, sizeof(name), "SLURM_JOB_NODELIST_HET_GROUP_%u", i);
		list = look_up(reader, name);
		if (!list || launch_hostlist_count(list, &count))
			break;
		if (strcmp(list, facts->nodelist) == 0)
			return 0;
		if (i == 0 && launch_hostlist_nth(list, 0, head, sizeof(head)))
			break;
		nodes += count;
	}
	facts->het = true;
	facts->layout = LAUNCH_LAYOUT_OTHER;
	if (facts->head_uncertain || nodes != facts->nnodes) {
		facts->head_uncertain = true;
		return 0;
	}
	facts->head = strdup(head);
	return facts->head ? 0 : -ENOMEM;
}

static int check_less(const struct reader *reader, const char *name, uint32_t value,
		      const char *whole, uint32_t size)
{
	if (value < size)
		return 0;
	return launch_error_set(
		reader->err, -EINVAL,
		"%s=%u does not fit %s=%u; do not set these variables, and " CURE, name,
		value, whole, size);
}

/*
 * srun sorts the components of a heterogeneous step by name, and then the counts are not
 * in the order of the node ids. SLURM_GTIDS names the tasks that run beside this one.
 */
static void count_local(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	const char *ids = facts->het ? look_up(reader, "SLURM_GTIDS") : NULL;

	launch_counts_nth(facts->tasks_per_node, facts->node_rank, &facts->local_size);
	if (!ids)
		return;
	facts->local_size = 1;
	for (; *ids; ids++)
		facts->local_size += *ids == ',';
}

static int check(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	struct launch_counts counts;
	uint32_t nodes;
	int r;

	if (launch_hostlist_count(facts->nodelist, &nodes))
		return launch_error_set(
			reader->err, -EINVAL,
			"SLURM_STEP_NODELIST=%.80s is not a host list; " CURE,
			facts->nodelist);
	if (launch_counts_read(facts->tasks_per_node, &counts))
		return launch_error_set(reader->err, -EINVAL,
					"SLURM_STEP_TASKS_PER_NODE=%.80s is not a list "
					"of task counts; " CURE,
					facts->tasks_per_node);
	/* Components may share a node, and the list of a step over several names it once.
	 */
	if (counts.nodes != facts->nnodes || (nodes != facts->nnodes && !facts->het))
		return launch_error_set(reader->err, -EINVAL,
					"the step has SLURM_STEP_NUM_NODES=%u nodes, but "
					"SLURM_STEP_NODELIST names %u and "
					"SLURM_STEP_TASKS_PER_NODE counts %u; " CURE,
					facts->nnodes, nodes, counts.nodes);
	if (counts.tasks != facts->ntasks)
		return launch_error_set(reader->err, -EINVAL,
					"the step has SLURM_STEP_NUM_TASKS=%u tasks, but "
					"SLURM_STEP_TASKS_PER_NODE=%.80s makes %u; " CURE,
					facts->ntasks, facts->tasks_per_node,
					counts.tasks);
	r = check_less(reader, "SLURM_NODEID", facts->node_rank, "SLURM_STEP_NUM_NODES",
		       facts->nnodes);
	if (r)
		return r;
	r = check_less(reader, "SLURM_PROCID", facts->rank, "SLURM_STEP_NUM_TASKS",
		       facts->ntasks);
	if (r)
		return r;
	count_local(reader);
	return check_less(reader, "SLURM_LOCALID", facts->local_rank,
			  "the number of tasks on the node", facts->local_size);
}

static int read_step(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	const struct {
		const char *name;
		uint32_t *number;
	} numbers[] = {
		{"SLURM_JOB_ID", &facts->job_id},      {"SLURM_STEP_ID", &facts->step_id},
		{"SLURM_NODEID", &facts->node_rank},   {"SLURM_PROCID", &facts->rank},
		{"SLURM_LOCALID", &facts->local_rank},
	};
	int r;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		r = require_number(reader, numbers[i].name, numbers[i].number);
		if (r)
			return r;
	}
	r = require_either(reader, "SLURM_STEP_NUM_NODES", "SLURM_NNODES",
			   &facts->nnodes);
	if (r)
		return r;
	r = require_either(reader, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",
			   &facts->ntasks);
	if (r)
		return r;
	r = require_text(reader, "SLURM_STEP_NODELIST", &facts->nodelist);
	if (r)
		return r;
	r = require_text(reader, "SLURM_STEP_TASKS_PER_NODE", &facts->tasks_per_node);
	if (r)
		return r;
	r = read_text(reader, "SLURM_STEP_RESV_PORTS", &facts->resv_ports);
	if (r)
		return r;
	r = read_layout(reader);
	if (r)
		return r;
	r = read_components(reader);
	if (r)
		return r;
	r = read_devices(reader);
	if (r)
		return r;
	return check(reader);
}

static int read_batch(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	int r;

	facts->step_id = LAUNCH_BATCH_STEP;
	r = require_number(reader, "SLURM_JOB_ID", &facts->job_id);
	if (r)
		return r;
	r = require_text(reader, "SLURM_JOB_NODELIST", &facts->nodelist);
	if (r)
		return r;
	if (launch_hostlist_count(facts->nodelist, &facts->nnodes))
		return launch_error_set(
			reader->err, -EINVAL,
			"SLURM_JOB_NODELIST=%.80s is not a host list; let "
			"sbatch start the script",
			facts->nodelist);
	/* With only --nodes sbatch sets no task count. */
	r = read_number(reader, "SLURM_NTASKS", &facts->ntasks);
	if (r && r != -ENOENT)
		return r;
	return read_text(reader, "SLURM_TASKS_PER_NODE", &facts->tasks_per_node);
}

static int read_all(const struct reader *reader,
		    int (*read_kind)(const struct reader *reader))
{
	struct launch_facts *facts = reader->facts;
	int r;

	*facts = (struct launch_facts){0};
	r = read_kind(reader);
	if (r)
		return r;
	r = read_number(reader, "SLURM_RESTART_COUNT", &facts->restart_count);
	if (r && r != -ENOENT)
		return r;
	r = read_text(reader, "SLURMD_NODENAME", &facts->node);
	if (r)
		return r;
	return read_user(reader);
}

int launch_facts_read(struct launch_facts *facts, launch_lookup lookup, void *arg,
		      struct launch_error *err)
{
	return read_all(&(struct reader){facts, lookup, arg, err}, read_step);
}

int launch_facts_read_devices(struct launch_facts *facts, launch_lookup lookup, void *arg)
{
	return read_devices(&(struct reader){facts, lookup, arg, NULL});
}

int launch_facts_read_batch(struct launch_facts *facts, launch_lookup lookup, void *arg,
			    struct launch_error *err)
{
	return read_all(&(struct reader){facts, lookup, arg, err}, read_batch);
}

uint32_t launch_facts_ngpus(const struct launch_facts *facts)
{
	uint32_t count = 1;

	if (!facts->gpus || !*facts->gpus)
		return 0;
	for (const char *p = facts->gpus; *p; p++)
		count += *p == ',';
	return count;
}

void launch_facts_clear(struct launch_facts *facts)
{
	free(facts->nodelist);
	free(facts->tasks_per_node);
	free(facts->resv_ports);
	free(facts->head);
	free(facts->node);
	free(facts->gpus);
	free(facts->user_addr);
	free(facts->user_port);
	free(facts->outer);
	*facts = (struct launch_facts){0};
}
