/* SPDX-License-Identifier: MIT */
/*
 * The source of facts that every task has: its own environment. What Slurm says is
 * checked against itself here, once, so that the rules can rely on it.
 */
#include "spank/launch/facts.h"

#include "spank/launch/gpus.h"
#include "spank/launch/hostlist.h"
#include "spank/launch/order.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURE "start the program with srun"

/* Slurm's own limit on the components of a heterogeneous job (MAX_HET_JOB_COMPS). */
#define HET_GROUPS_MAX 128

/* Bits of launch_gpu_variables. */
#define ALL_VARIABLES ((UINT32_C(1) << LAUNCH_GPU_VARIABLES) - 1)

/* Names to compare before a question is left open: a few milliseconds. */
#define PAIRS_MAX 100000

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

/*
 * Our is_host= stands at the end, behind what the user had set; it is of the outer step's
 * tasks, and they may be on other nodes.
 */
static int read_rdzv_conf(const struct reader *reader)
{
	char **conf = &reader->facts->user_rdzv_conf;
	const char *ours;
	char *item;
	int r = read_text(reader, "PET_RDZV_CONF", conf);

	if (r || !*conf)
		return r;
	ours = look_up(reader, "SRANK_PET_RDZV_CONF");
	if (!ours || strcmp(ours, *conf) != 0)
		return 0;
	item = strrchr(*conf, ',');
	if (item) {
		*item = '\0';
	} else {
		free(*conf);
		*conf = NULL;
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
	r = read_users(reader, "PET_NPROC_PER_NODE", "SRANK_PET_NPROC_PER_NODE",
		       &facts->user_nproc);
	if (r)
		return r;
	r = read_users(reader, "PET_MAX_RESTARTS", "SRANK_PET_MAX_RESTARTS",
		       &facts->user_restarts);
	if (r)
		return r;
	r = read_rdzv_conf(reader);
	if (r)
		return r;
	facts->user_device_order = look_up(reader, "CUDA_DEVICE_ORDER");
	facts->submitit = look_up(reader, "SUBMITIT_EXECUTOR");
	return read_text(reader, "SRANK_LAUNCHER", &facts->outer);
}

/* Number of device tokens in a list; 0 when there is none. */
static uint32_t count_devices(const char *list)
{
	/* NoDevFiles is what Slurm sets for a gres without device files. */
	static const char *const none[] = {"", "NoDevFiles", "-1"};
	uint32_t count = 1;

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		if (strcmp(list, none[i]) == 0)
			return 0;
	}
	for (; *list; list++)
		count += *list == ',';
	return count;
}

/*
 * Which of the variables, an index into launch_gpu_variables, has Slurm's list. Slurm
 * sets those that gres.conf's Flags or AutoDetect name, and leaves the others as the user
 * has them (gres_common_gpu_set_env() in src/plugins/gres/common/gres_common.c): as with
 * AutoDetect=rsmi a CUDA_VISIBLE_DEVICES, which AMD's HIP reads, too. Slurm's list is the
 * one that has as many devices as the step; where Slurm has bound the task, none may
 * have, and the first one is taken. LAUNCH_GPU_VARIABLES: none of AMONG is set.
 */
static uint32_t find_devices(const struct reader *reader, uint32_t among)
{
	const char *text = look_up(reader, "SLURM_GPUS_ON_NODE");
	unsigned long on_node = text ? strtoul(text, NULL, 10) : 0;
	uint32_t found = LAUNCH_GPU_VARIABLES;

	for (uint32_t i = 0; i < LAUNCH_GPU_VARIABLES; i++) {
		const char *list = NULL;

		if (among >> i & 1)
			list = reader->lookup(launch_gpu_variables[i], reader->arg);
		if (list && on_node && count_devices(list) == on_node)
			return i;
		if (list && found == LAUNCH_GPU_VARIABLES)
			found = i;
	}
	return found;
}

/* Slurm gives all the variables that it sets the same list. */
static int read_devices(const struct reader *reader, uint32_t among)
{
	struct launch_facts *facts = reader->facts;
	uint32_t found = find_devices(reader, among);
	const char *list;

	if (found == LAUNCH_GPU_VARIABLES)
		return 0;
	/* A second look-up may find no memory, which the source then tells. */
	list = reader->lookup(launch_gpu_variables[found], reader->arg);
	if (!list)
		return 0;
	facts->gpus = strdup(list);
	if (!facts->gpus)
		return -ENOMEM;
	for (uint32_t i = 0; i < LAUNCH_GPU_VARIABLES; i++) {
		if (!(among >> i & 1))
			continue;
		list = reader->lookup(launch_gpu_variables[i], reader->arg);
		if (list && strcmp(list, facts->gpus) == 0)
			facts->gpu_variables |= UINT32_C(1) << i;
	}
	if (count_devices(facts->gpus) == 0) {
		free(facts->gpus);
		facts->gpus = NULL;
	}
	return 0;
}

/*
 * SLURM_DISTRIBUTION is "block:cyclic", "plane", "cyclic,NoPack" and so on; what stands
 * behind the first word places tasks inside a node and does not number them. Unset means
 * Slurm's default, which numbers as block does: it is cyclic only when there are no more
 * tasks than nodes.
 */
enum launch_layout launch_layout_of(const char *distribution)
{
	static const struct {
		const char *word;
		enum launch_layout layout;
	} words[] = {
		{"block", LAUNCH_LAYOUT_BLOCK},
		{"cyclic", LAUNCH_LAYOUT_CYCLIC},
		{"plane", LAUNCH_LAYOUT_PLANE},
		{"arbitrary", LAUNCH_LAYOUT_ARBITRARY},
	};
	size_t length;

	if (!distribution || !*distribution)
		return LAUNCH_LAYOUT_BLOCK;
	length = strcspn(distribution, ":,=");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strlen(words[i].word) == length &&
		    strncmp(distribution, words[i].word, length) == 0)
			return words[i].layout;
	}
	return LAUNCH_LAYOUT_OTHER;
}

static int read_layout(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	int r;

	facts->layout = launch_layout_of(look_up(reader, "SLURM_DISTRIBUTION"));
	facts->head_uncertain = facts->layout == LAUNCH_LAYOUT_ARBITRARY;
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

/* Nodes of a component, as sbatch and salloc leave them (`srun a : b` does not). */
static const char *component(const struct reader *reader, uint32_t i, uint32_t *count)
{
	char name[64];
	const char *list;

	snprintf(name, sizeof(name), "SLURM_JOB_NODELIST_HET_GROUP_%u", i);
	list = look_up(reader, name);
	return list && launch_hostlist_count(list, count) == 0 ? list : NULL;
}

/* The nodes of the step that a component has. */
struct part {
	const struct launch_facts *facts;
	uint32_t nodes;
	char first[LAUNCH_HOST_MAX];
};

static int add_node(const char *name, uint32_t position, void *arg)
{
	struct part *part = arg;

	if (launch_hostlist_find(part->facts->nodelist, name, &position))
		return 0;
	if (part->nodes++ == 0)
		snprintf(part->first, sizeof(part->first), "%s", name);
	return 0;
}

/*
 * Number of components of which the step consists, and in HEAD the first node of its
 * lowest one. Each of its nodes is in a component, so that there are as many as all
 * components together have of them, unless a name stands for a node of two components and
 * the step is on one of these only; it is then not known which. 0: not known.
 */
static uint32_t find_parts(const struct reader *reader, uint32_t size, uint32_t names,
			   char *head)
{
	struct launch_facts *facts = reader->facts;
	uint32_t nodes = 0, parts = 0, count;
	uint64_t pairs = 0;

	for (uint32_t i = 0; i < size; i++) {
		struct part part = {.facts = facts};
		const char *list = component(reader, i, &count);

		if (!list)
			return 0;
		pairs += (uint64_t)count * names;
		if (pairs > PAIRS_MAX || launch_hostlist_each(list, add_node, &part))
			return 0;
		if (part.nodes && parts++ == 0)
			memcpy(head, part.first, sizeof(part.first));
		nodes += part.nodes;
	}
	return nodes == facts->nnodes ? parts : 0;
}

/* Whether the step is on all nodes of all components; of a long one, too. */
static bool is_whole_job(const struct reader *reader, uint32_t size, char *head)
{
	uint32_t nodes = 0, count;

	for (uint32_t i = 0; i < size; i++) {
		const char *list = component(reader, i, &count);

		if (!list || __builtin_add_overflow(nodes, count, &nodes))
			return false;
		if (i == 0 && launch_hostlist_nth(list, 0, head, LAUNCH_HOST_MAX))
			return false;
	}
	return nodes == reader->facts->nnodes;
}

/* It has just the nodes of one component, and so is the step of it, most likely. */
static bool is_whole_component(const struct reader *reader, uint32_t size)
{
	const struct launch_facts *facts = reader->facts;
	uint32_t count;

	for (uint32_t i = 0; i < size; i++) {
		const char *list = component(reader, i, &count);

		/* Not the one over two components on the same node. */
		if (list && strcmp(list, facts->nodelist) == 0 && count == facts->nnodes)
			return true;
	}
	return false;
}

/*
 * SLURM_HET_SIZE stands in every step of a heterogeneous job, also in the one of a single
 * component, whose nodes are in order. For the others the lists of the components tell
 * where rank 0 is; and where all of them share one node, there is no other.
 */
static int read_components(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	char head[LAUNCH_HOST_MAX] = "";
	uint32_t size = 0, names, parts;
	int r;

	r = read_number(reader, "SLURM_HET_SIZE", &size);
	if (r == -ENOENT || (r == 0 && size < 2))
		return 0;
	if (r)
		return r;
	if (size > HET_GROUPS_MAX)
		size = HET_GROUPS_MAX;
	if (launch_hostlist_count(facts->nodelist, &names))
		return 0;
	if (is_whole_component(reader, size))
		return 0;
	parts = is_whole_job(reader, size, head) ? size
						 : find_parts(reader, size, names, head);
	if (parts == 1)
		return 0;
	facts->het = true;
	if (names == 1 &&
	    launch_hostlist_nth(facts->nodelist, 0, head, sizeof(head)) == 0)
		return launch_facts_set_head(facts, head, 0);
	if (parts && facts->layout != LAUNCH_LAYOUT_ARBITRARY)
		return launch_facts_set_head(facts, head, 0);
	facts->head_uncertain = true;
	return 0;
}

/*
 * An arbitrary distribution: the first name of the step's list says nothing, srun does. A
 * text that does not fit the step (it is of one component only) leaves rank 0 unknown.
 */
static int read_order(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	char head[LAUNCH_HOST_MAX];
	uint32_t head_id;
	const char *text;
	int r;

	if (!facts->head_uncertain || facts->het)
		return 0;
	text = look_up(reader, LAUNCH_ORDER_VARIABLE);
	if (!text)
		return 0;
	r = launch_order_read(text, facts->job_id, facts->step_id, facts->nnodes,
			      facts->ntasks, &facts->order, &facts->placement);
	if (r == -ENOMEM)
		return r;
	if (r)
		return 0;
	r = launch_hostlist_nth(facts->order, 0, head, sizeof(head));
	if (r == 0)
		r = launch_hostlist_find(facts->nodelist, head, &head_id);
	if (r || !facts->placement) {
		free(facts->order);
		free(facts->placement);
		facts->order = facts->placement = NULL;
	}
	return r ? 0 : launch_facts_set_head(facts, head, head_id);
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

/* Node list and counts must name as many nodes and tasks as the step has. */
static int check_step(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	struct launch_counts counts;
	uint32_t nodes;

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
	/* Components may share a node, which the list of the step then names once. */
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
	return 0;
}

static int read_shared(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	int r;

	r = require_number(reader, "SLURM_JOB_ID", &facts->job_id);
	if (r)
		return r;
	r = require_number(reader, "SLURM_STEP_ID", &facts->step_id);
	if (r)
		return r;
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
	r = check_step(reader);
	return r ? r : read_order(reader);
}

static void set_components(struct launch_facts *facts)
{
	facts->het = true;
	facts->head_uncertain = !facts->head;
}

/*
 * The node ids follow the node list, except in a step of several components: there, list
 * and counts are sorted by name, the ids go by component. srun can start such a step
 * inside any allocation (`srun a : b`), and no variable then says so.
 */
static uint32_t find_position(struct launch_facts *facts)
{
	uint32_t nodes, position = facts->node_rank;
	char name[LAUNCH_HOST_MAX] = "";

	if (!facts->node || launch_hostlist_count(facts->nodelist, &nodes) ||
	    nodes != facts->nnodes)
		return position;
	launch_hostlist_nth(facts->nodelist, position, name, sizeof(name));
	/* A front end has no place in the list (Slurm up to 23.11). */
	if (strcmp(name, facts->node) != 0 &&
	    launch_hostlist_find(facts->nodelist, facts->node, &position) == 0)
		set_components(facts);
	return position;
}

static int find_local_size(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	const char *ids = NULL;

	launch_counts_nth(facts->tasks_per_node, find_position(facts),
			  &facts->local_size);
	/* The tasks of this component beside this one, also where two share a node. */
	if (facts->het)
		ids = look_up(reader, "SLURM_GTIDS");
	if (ids) {
		facts->local_size = 1;
		for (; *ids; ids++)
			facts->local_size += *ids == ',';
	}
	if (facts->local_rank < facts->local_size)
		return 0;
	return launch_error_set(reader->err, -EINVAL,
				"SLURM_LOCALID=%u does not fit a node with %u task%s of "
				"the step; do not set this variable, and " CURE,
				facts->local_rank, facts->local_size,
				facts->local_size > 1 ? "s" : "");
}

/* The task must have a place in the step. */
static int check_task(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	char name[LAUNCH_HOST_MAX] = "";
	uint32_t place;
	int r;

	r = check_less(reader, "SLURM_NODEID", facts->node_rank, "SLURM_STEP_NUM_NODES",
		       facts->nnodes);
	if (r)
		return r;
	r = check_less(reader, "SLURM_PROCID", facts->rank, "SLURM_STEP_NUM_TASKS",
		       facts->ntasks);
	if (r)
		return r;
	r = find_local_size(reader);
	if (r || !facts->placement || !facts->node)
		return r;
	launch_counts_nth(facts->placement, facts->rank, &place);
	launch_hostlist_nth(facts->order, place, name, sizeof(name));
	if (strcmp(name, facts->node) == 0)
		return 0;
	return launch_error_set(reader->err, -EINVAL,
				LAUNCH_ORDER_VARIABLE
				" puts task %u on %.80s, but SLURMD_NODENAME is %.80s; "
				"unset it, and " CURE,
				facts->rank, name, facts->node);
}

static int read_step(const struct reader *reader)
{
	struct launch_facts *facts = reader->facts;
	const struct {
		const char *name;
		uint32_t *number;
	} numbers[] = {
		{"SLURM_NODEID", &facts->node_rank},
		{"SLURM_PROCID", &facts->rank},
		{"SLURM_LOCALID", &facts->local_rank},
	};
	int r;

	r = read_shared(reader);
	if (r)
		return r;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		r = require_number(reader, numbers[i].name, numbers[i].number);
		if (r)
			return r;
	}
	r = read_text(reader, "SLURMD_NODENAME", &facts->node);
	if (r)
		return r;
	r = read_devices(reader, ALL_VARIABLES);
	return r ? r : check_task(reader);
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
	r = read_text(reader, "SLURM_TASKS_PER_NODE", &facts->tasks_per_node);
	return r ? r : read_text(reader, "SLURMD_NODENAME", &facts->node);
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
	return read_user(reader);
}

int launch_facts_read(struct launch_facts *facts, launch_lookup lookup, void *arg,
		      struct launch_error *err)
{
	return read_all(&(struct reader){facts, lookup, arg, err}, read_step);
}

int launch_facts_read_shared(struct launch_facts *facts, launch_lookup lookup, void *arg,
			     struct launch_error *err)
{
	return read_all(&(struct reader){facts, lookup, arg, err}, read_shared);
}

int launch_facts_set_head(struct launch_facts *facts, const char *head, uint32_t head_id)
{
	char *copy = strdup(head);

	if (!copy)
		return -ENOMEM;
	free(facts->head);
	facts->head = copy;
	facts->head_id = head_id;
	facts->head_uncertain = false;
	return 0;
}

void launch_facts_set_component(struct launch_facts *facts, uint32_t nodes)
{
	if (nodes < facts->nnodes) {
		set_components(facts);
	} else if (facts->het) {
		facts->het = false;
		facts->head_uncertain =
			!facts->head && facts->layout == LAUNCH_LAYOUT_ARBITRARY;
	}
}

int launch_facts_read_devices(struct launch_facts *facts, uint32_t variables,
			      launch_lookup lookup, void *arg)
{
	free(facts->gpus);
	facts->gpus = NULL;
	facts->gpu_variables = 0;
	return read_devices(&(struct reader){facts, lookup, arg, NULL},
			    variables ? variables : ALL_VARIABLES);
}

int launch_facts_read_batch(struct launch_facts *facts, launch_lookup lookup, void *arg,
			    struct launch_error *err)
{
	return read_all(&(struct reader){facts, lookup, arg, err}, read_batch);
}

uint32_t launch_facts_ngpus(const struct launch_facts *facts)
{
	return facts->gpus ? count_devices(facts->gpus) : 0;
}

uint32_t launch_facts_visible(const struct launch_facts *facts, uint32_t total)
{
	return facts->gpu_variables || facts->gpus ? launch_facts_ngpus(facts) : total;
}

/*
 * SLURM_JOB_CPUS_PER_NODE, "128(x2)" where all nodes have as many, and not
 * SLURM_CPUS_ON_NODE: that counts the step's, which are those of its tasks.
 */
uint32_t launch_facts_node_cpus(launch_lookup lookup, void *arg)
{
	const char *text = lookup("SLURM_JOB_CPUS_PER_NODE", arg);
	unsigned long ncpus;
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return 0;
	ncpus = strtoul(text, &end, 10);
	return (*end && *end != '(') || strchr(end, ',') || ncpus > UINT32_MAX ? 0
									       : ncpus;
}

void launch_facts_clear(struct launch_facts *facts)
{
	free(facts->nodelist);
	free(facts->tasks_per_node);
	free(facts->resv_ports);
	free(facts->head);
	free(facts->head_addr);
	free(facts->node_addr);
	free(facts->order);
	free(facts->placement);
	free(facts->node);
	free(facts->gpus);
	free(facts->user_addr);
	free(facts->user_port);
	free(facts->user_nproc);
	free(facts->user_restarts);
	free(facts->user_rdzv_conf);
	free(facts->outer);
	*facts = (struct launch_facts){0};
}
