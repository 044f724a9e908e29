/* SPDX-License-Identifier: MIT */
/*
 * The variables of a task: what is stale goes, what its shape and its launcher read
 * comes.
 */
#include "spank/launch/environment.h"

#include "spank/launch/hostlist.h"
#include "spank/launch/order.h"
#include "spank/launch/rendezvous.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* What TF_CONFIG can list: the rest is for its own name and the task's rank. */
#define WORKERS_MAX (LAUNCH_VARIABLE_MAX - 64)

struct context {
	const struct launch_facts *facts;
	const struct launch_settings *settings;
	struct launch_environment *env;
	struct launch_error *err;
	enum launch_shape shape;
	uint32_t node_rank;
	uint16_t port;
	enum launch_port_source port_source;
	char addr[LAUNCH_ADDR_MAX];
};

/*
 * What another launcher may have left around this step: srun started from a task of ours
 * or from a worker of torchrun, or an environment that sbatch copied. In the node shape,
 * a rank for the whole node makes programs take themselves for a worker (accelerate for
 * LOCAL_RANK alone, Lightning does not start its own). In the worker shape,
 * TORCHELASTIC_USE_AGENT_STORE makes every rank a client of a store that nobody opens
 * (torch/distributed/rendezvous.py), and TORCHELASTIC_RUN_ID makes Lightning read
 * torchrun's variables and not the step's. Those that the shape does set are set again
 * below.
 */
static const char *const stale[] = {
	"RANK",
	"WORLD_SIZE",
	"LOCAL_RANK",
	"LOCAL_WORLD_SIZE",
	"NODE_RANK",
	"NNODES",
	"GROUP_RANK",
	"GROUP_WORLD_SIZE",
	"ROLE_NAME",
	"ROLE_RANK",
	"ROLE_WORLD_SIZE",
	"TORCHELASTIC_ERROR_FILE",
	"TORCHELASTIC_MAX_RESTARTS",
	"TORCHELASTIC_RESTART_COUNT",
	"TORCHELASTIC_RUN_ID",
	"TORCHELASTIC_USE_AGENT_STORE",
	/* Between srun and us. */
	LAUNCH_ORDER_VARIABLE,
};

/*
 * What a binding of ours (gpus.c) leaves for programs, and a step inside may have no use
 * for. Without a step of ours around this one they are the user's.
 */
static const char *const bound[] = {
	"JAX_LOCAL_DEVICE_IDS",
};

static struct launch_assignment *find(const struct launch_environment *env,
				      const char *name)
{
	for (size_t i = 0; i < env->count; i++) {
		if (strcmp(env->list[i].name, name) == 0)
			return &env->list[i];
	}
	return NULL;
}

static struct launch_assignment *append(struct launch_environment *env, const char *name)
{
	struct launch_assignment *assignment;
	char *copy;

	if (env->count == env->allocated) {
		size_t allocated = env->allocated ? 2 * env->allocated : 32;
		struct launch_assignment *list =
			reallocarray(env->list, allocated, sizeof(*list));

		if (!list)
			return NULL;
		env->list = list;
		env->allocated = allocated;
	}
	copy = strdup(name);
	if (!copy)
		return NULL;
	assignment = &env->list[env->count++];
	*assignment = (struct launch_assignment){.name = copy};
	return assignment;
}

int launch_environment_set(struct launch_environment *env, const char *name,
			   const char *format, ...)
{
	struct launch_assignment *assignment;
	char *value = NULL;
	va_list arguments;

	if (format) {
		int length;

		va_start(arguments, format);
		length = vasprintf(&value, format, arguments);
		va_end(arguments);
		if (length < 0)
			return -ENOMEM;
	}
	assignment = find(env, name);
	if (!assignment)
		assignment = append(env, name);
	if (!assignment) {
		free(value);
		return -ENOMEM;
	}
	free(assignment->value);
	assignment->value = value;
	return 0;
}

const char *launch_environment_get(const struct launch_environment *env, const char *name)
{
	const struct launch_assignment *assignment = find(env, name);

	return assignment ? assignment->value : NULL;
}

void launch_environment_clear(struct launch_environment *env)
{
	for (size_t i = 0; i < env->count; i++) {
		free(env->list[i].name);
		free(env->list[i].value);
	}
	free(env->list);
	*env = (struct launch_environment){0};
}

enum launch_shape launch_shape(const struct launch_facts *facts,
			       const struct launch_settings *settings)
{
	struct launch_counts counts;

	if (settings->launcher)
		return settings->launcher->shape;
	if (launch_facts_ngpus(facts) > 1 &&
	    launch_counts_read(facts->tasks_per_node, &counts) == 0 &&
	    counts.least == 1 && counts.most == 1)
		return LAUNCH_NODE;
	return LAUNCH_WORKER;
}

static int set_number(struct context *context, const char *name, uint32_t number)
{
	return launch_environment_set(context->env, name, "%u", number);
}

static int set_text(struct context *context, const char *name, const char *text)
{
	return launch_environment_set(context->env, name, "%s", text);
}

static int remove_variable(struct context *context, const char *name)
{
	return launch_environment_set(context->env, name, NULL);
}

/*
 * TF_CONFIG names every worker in the order of the ranks. Tasks are laid out in rounds:
 * in each, every node that has tasks left gets the next `stride` of them. Block is one
 * round, cyclic a stride of one, plane what its size says (src/common/slurm_step_layout.c
 * in Slurm).
 */
struct workers {
	struct context *context;
	FILE *out;
	uint32_t *tasks; /* per node */
	char **names;    /* of the nodes by place, under an arbitrary distribution */
	uint32_t nodes;  /* of tasks that are filled in */
	uint32_t first;  /* local rank with which the round starts */
	uint32_t stride;
	uint32_t rank;
};

static int fill_tasks(uint32_t tasks, uint32_t nodes, void *arg)
{
	struct workers *workers = arg;
	uint32_t room = workers->context->facts->nnodes - workers->nodes;

	if (nodes > room)
		return -EINVAL;
	while (nodes--)
		workers->tasks[workers->nodes++] = tasks;
	return 0;
}

static int no_port(const struct context *context, uint32_t local_rank)
{
	if (context->port_source != LAUNCH_PORT_RESERVED)
		return launch_error_set(
			context->err, -EINVAL,
			"TF_CONFIG: local rank %u would need port %u, for "
			"MASTER_PORT is %u; set a smaller one",
			local_rank, context->port + local_rank, context->port);
	return launch_error_set(context->err, -EINVAL,
				"TF_CONFIG: local rank %u has no port, for Slurm has "
				"reserved %.80s alone and ports=%u-%u has no more; use "
				"a larger range, or srun --resv-ports=%u",
				local_rank, context->facts->resv_ports,
				context->settings->port_low, context->settings->port_high,
				local_rank + 1);
}

static int add_worker(struct workers *workers, const char *node, uint32_t local_rank)
{
	struct context *context = workers->context;
	const struct launch_facts *facts = context->facts;
	char addr[LAUNCH_ADDR_MAX], endpoint[LAUNCH_ADDR_MAX + 8];
	uint32_t rank = workers->rank++;
	uint16_t port;
	int r;

	if (rank == facts->rank && facts->node &&
	    (strcmp(node, facts->node) != 0 || local_rank != facts->local_rank))
		return launch_error_set(
			context->err, -EINVAL,
			"TF_CONFIG: rank %u is local rank %u of %.80s and not "
			"%u of %.80s as SLURM_DISTRIBUTION says; use "
			"--distribution=block",
			rank, facts->local_rank, facts->node, local_rank, node);
	if (launch_port_worker(facts, context->settings, local_rank, &port))
		return no_port(context, local_rank);
	r = launch_node_address(node, context->settings, addr, sizeof(addr),
				context->err);
	if (r)
		return r;
	/* Rank 0 is where MASTER_ADDR is, be that the user's own. */
	if (!launch_endpoint(rank ? addr : context->addr, port, endpoint,
			     sizeof(endpoint)))
		return -ENAMETOOLONG;
	fprintf(workers->out, "%s\"%s\"", rank ? "," : "", endpoint);
	if (ftell(workers->out) > WORKERS_MAX)
		return launch_error_set(
			context->err, -EINVAL,
			"TF_CONFIG: the names of %u workers need more than the "
			"%d KiB that Linux allows for a variable; use fewer "
			"tasks or shorter node names",
			facts->ntasks, LAUNCH_VARIABLE_MAX / 1024);
	return 0;
}

static int add_node(const char *node, uint32_t position, void *arg)
{
	struct workers *workers = arg;
	uint32_t tasks = workers->tasks[position];

	for (uint32_t i = 0; i < workers->stride; i++) {
		uint32_t local_rank = workers->first + i;
		int r;

		if (local_rank >= tasks)
			break;
		r = add_worker(workers, node, local_rank);
		if (r)
			return r;
	}
	return 0;
}

static int keep_name(const char *name, uint32_t position, void *arg)
{
	struct workers *workers = arg;

	if (position >= workers->context->facts->nnodes)
		return -EINVAL;
	workers->names[position] = strdup(name);
	return workers->names[position] ? 0 : -ENOMEM;
}

/* A run of ranks on one node; here `tasks` counts those that it has had so far. */
static int add_run(uint32_t place, uint32_t ntasks, void *arg)
{
	struct workers *workers = arg;
	const struct launch_facts *facts = workers->context->facts;

	if (place >= facts->nnodes || !workers->names[place])
		return -EINVAL;
	while (ntasks--) {
		int r = add_worker(workers, workers->names[place],
				   workers->tasks[place]++);

		if (r)
			return r;
	}
	return 0;
}

static int add_placed_workers(struct workers *workers)
{
	const struct launch_facts *facts = workers->context->facts;
	int r;

	workers->names = calloc(facts->nnodes, sizeof(*workers->names));
	if (!workers->names)
		return -ENOMEM;
	r = launch_hostlist_each(facts->order, keep_name, workers);
	if (r == 0)
		r = launch_counts_each(facts->placement, add_run, workers);
	for (uint32_t i = 0; i < facts->nnodes; i++)
		free(workers->names[i]);
	free(workers->names);
	if (r)
		return r;
	return workers->rank == facts->ntasks ? 0 : -EINVAL;
}

static int add_rounds_of_workers(struct workers *workers)
{
	const struct launch_facts *facts = workers->context->facts;
	int r;

	r = launch_counts_each(facts->tasks_per_node, fill_tasks, workers);
	if (r)
		return r;
	while (workers->rank < facts->ntasks) {
		uint32_t before = workers->rank;

		r = launch_hostlist_each(facts->nodelist, add_node, workers);
		if (r)
			return r;
		if (workers->rank == before)
			return -EINVAL;
		workers->first += workers->stride;
	}
	return 0;
}

static int add_workers(struct workers *workers)
{
	const struct launch_facts *facts = workers->context->facts;
	int r;

	fprintf(workers->out, "{\"cluster\":{\"worker\":[");
	r = facts->placement ? add_placed_workers(workers)
			     : add_rounds_of_workers(workers);
	fprintf(workers->out, "]},\"task\":{\"type\":\"worker\",\"index\":%u}}",
		facts->rank);
	return r;
}

/* User's MASTER_ADDR goes into JSON as it is, so it must need no escape there. */
static bool is_plain(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
			return false;
	}
	return true;
}

static int set_tf_config(struct context *context, const char *name)
{
	const struct launch_facts *facts = context->facts;
	struct workers workers = {.context = context};
	uint32_t nodes;
	char *text = NULL;
	size_t size;
	int r = -ENOMEM;

	/* The source may not have counted (srank explain), and the array relies on it. */
	if (launch_hostlist_count(facts->nodelist, &nodes) || nodes != facts->nnodes)
		return launch_error_set(
			context->err, -EINVAL,
			"TF_CONFIG: the step has %u nodes, but %.80s does not "
			"name as many",
			facts->nnodes, facts->nodelist ? facts->nodelist : "(null)");
	if ((facts->het || facts->layout >= LAUNCH_LAYOUT_ARBITRARY) &&
	    facts->nnodes > 1 && !facts->placement)
		return launch_error_set(
			context->err, -EINVAL,
			"TF_CONFIG: the node of every rank is not known in a "
			"heterogeneous step or with -m arbitrary; use "
			"--distribution=block");
	if (!is_plain(context->addr))
		return launch_error_set(
			context->err, -EINVAL,
			"TF_CONFIG: MASTER_ADDR=%.40s is no host name; set it to "
			"the name or address of rank 0's node, or unset it",
			context->addr);
	/* Every worker takes three characters at the very least: do not even try. */
	if (facts->nnodes > WORKERS_MAX / 3)
		return launch_error_set(
			context->err, -EINVAL,
			"TF_CONFIG: %u nodes do not fit into the %d KiB that "
			"Linux allows for a variable",
			facts->nnodes, LAUNCH_VARIABLE_MAX / 1024);
	workers.stride = facts->layout == LAUNCH_LAYOUT_CYCLIC  ? 1
			 : facts->layout == LAUNCH_LAYOUT_PLANE ? facts->plane_size
								: UINT32_MAX;
	workers.tasks = calloc(facts->nnodes, sizeof(*workers.tasks));
	if (!workers.tasks)
		return -ENOMEM;
	workers.out = open_memstream(&text, &size);
	if (!workers.out)
		goto out;
	r = add_workers(&workers);
	if (fclose(workers.out) && !r)
		r = -ENOMEM;
	if (r == 0)
		r = set_text(context, name, text);
	else if (r != -ENOMEM)
		r = launch_error_set(context->err, -EINVAL,
				     "TF_CONFIG: %.80s and %.80s do not make %u tasks",
				     facts->nodelist, facts->tasks_per_node,
				     facts->ntasks);
out:
	free(text);
	free(workers.tasks);
	return r;
}

static int bad_counts(struct context *context, const char *name)
{
	const char *text = context->facts->tasks_per_node;

	return launch_error_set(context->err, -EINVAL,
				"%s: %.80s is not a list of task counts", name,
				text ? text : "(null)");
}

/*
 * Positions of this node and of rank 0's in nodelist and tasks_per_node. That is the node
 * id but in a step of several components.
 */
static int find_positions(const struct launch_facts *facts, uint32_t *node,
			  uint32_t *head)
{
	int r;

	*node = facts->node_rank;
	*head = facts->head_id;
	if (!facts->het)
		return 0;
	if (!facts->node)
		return -EINVAL;
	r = launch_hostlist_find(facts->nodelist, facts->node, node);
	/* With the user's own MASTER_ADDR it need not be known: then any one is first. */
	*head = 0;
	if (r == 0 && facts->head)
		r = launch_hostlist_find(facts->nodelist, facts->head, head);
	return r;
}

/*
 * Nodes that have a task with this local rank and come before this one: rank 0's first,
 * the others as they stand in the list.
 */
static int set_cross_rank(struct context *context, const char *name)
{
	const struct launch_facts *facts = context->facts;
	const char *text = facts->tasks_per_node;
	uint32_t above = 0, node, head, tasks;

	if (find_positions(facts, &node, &head))
		return launch_error_set(context->err, -EINVAL,
					"%s: the node of the task is not among %.80s",
					name, facts->nodelist);
	if (node != head) {
		if (launch_counts_above(text, facts->local_rank, node, &above) ||
		    launch_counts_nth(text, head, &tasks))
			return bad_counts(context, name);
		above += head > node && tasks > facts->local_rank;
	}
	return set_number(context, name, above);
}

static int set_cross_size(struct context *context, const char *name)
{
	const struct launch_facts *facts = context->facts;
	uint32_t above;

	if (launch_counts_above(facts->tasks_per_node, facts->local_rank, facts->nnodes,
				&above))
		return bad_counts(context, name);
	return set_number(context, name, above);
}

static int set_endpoint(struct context *context, const char *name)
{
	char endpoint[LAUNCH_ADDR_MAX + 8];

	if (!launch_endpoint(context->addr, context->port, endpoint, sizeof(endpoint)))
		return launch_error_set(context->err, -EINVAL, "%s: %.80s is too long",
					name, context->addr);
	return set_text(context, name, endpoint);
}

static int set_local_addr(struct context *context, const char *name)
{
	char addr[LAUNCH_ADDR_MAX];
	int r;

	if (context->settings->addr != LAUNCH_ADDR_NAME && context->facts->node_addr)
		return set_text(context, name, context->facts->node_addr);
	if (!context->facts->node)
		return 0;
	r = launch_node_address(context->facts->node, context->settings, addr,
				sizeof(addr), context->err);
	return r ? r : set_text(context, name, addr);
}

/* KEY= in a list such as PyTorch's _parse_rendezvous_config() takes apart. */
static bool has_key(const char *list, const char *key)
{
	size_t length = strlen(key);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += strspn(p, ", \t");
		if (strncmp(p, key, length) == 0 &&
		    p[length + strspn(p + length, " \t")] == '=')
			return true;
	}
	return false;
}

/* Where the user named the meeting place, it may be no node of the step at all. */
static int set_is_host(struct context *context, const char *name)
{
	const char *users = context->facts->user_rdzv_conf;

	if (context->facts->user_addr || (users && has_key(users, "is_host")))
		return 0;
	return launch_environment_set(context->env, name, "%s%sis_host=%d",
				      users ? users : "", users ? "," : "",
				      context->facts->rank == 0);
}

static int set_variable(struct context *context, const struct launch_variable *variable)
{
	const struct launch_facts *facts = context->facts;
	const struct launch_settings *settings = context->settings;
	const char *name = variable->name;
	uint32_t ngpus;

	switch (variable->value) {
	case LAUNCH_VALUE_TEXT:
		return set_text(context, name, variable->text);
	case LAUNCH_VALUE_RANK:
		return set_number(context, name, facts->rank);
	case LAUNCH_VALUE_WORLD_SIZE:
		return set_number(context, name, facts->ntasks);
	case LAUNCH_VALUE_LOCAL_RANK:
		return set_number(context, name, facts->local_rank);
	case LAUNCH_VALUE_LOCAL_SIZE:
		return set_number(context, name, facts->local_size);
	case LAUNCH_VALUE_NODE_RANK:
		return set_number(context, name, context->node_rank);
	case LAUNCH_VALUE_NNODES:
		return set_number(context, name, facts->nnodes);
	case LAUNCH_VALUE_CROSS_RANK:
		return set_cross_rank(context, name);
	case LAUNCH_VALUE_CROSS_SIZE:
		return set_cross_size(context, name);
	case LAUNCH_VALUE_NPROC:
		ngpus = launch_facts_ngpus(facts);
		return ngpus ? set_number(context, name, ngpus) : 0;
	case LAUNCH_VALUE_ADDR:
		return set_text(context, name, context->addr);
	case LAUNCH_VALUE_LOCAL_ADDR:
		return set_local_addr(context, name);
	case LAUNCH_VALUE_PORT:
		return set_number(context, name, context->port);
	case LAUNCH_VALUE_ENDPOINT:
		return set_endpoint(context, name);
	case LAUNCH_VALUE_RUN_ID:
		return launch_environment_set(context->env, name, "%u.%u.%u",
					      facts->job_id, facts->step_id,
					      facts->restart_count);
	case LAUNCH_VALUE_ELASTIC:
		return launch_environment_set(context->env, name, "%u:%u",
					      settings->elastic_min,
					      settings->elastic_max);
	case LAUNCH_VALUE_IS_HOST:
		return set_is_host(context, name);
	case LAUNCH_VALUE_TF_CONFIG:
		return set_tf_config(context, name);
	}
	return -EINVAL;
}

/* What the user has set of the variables that are his to set; NULL: nothing. */
static const char *users_own(const struct launch_facts *facts,
			     const struct launch_variable *variable)
{
	if (!variable->keep)
		return NULL;
	switch (variable->value) {
	case LAUNCH_VALUE_NPROC:
		return facts->user_nproc;
	case LAUNCH_VALUE_IS_HOST:
		return facts->user_rdzv_conf;
	default:
		return facts->user_restarts;
	}
}

static int marker_of(char *marker, size_t size, const char *name)
{
	int length = snprintf(marker, size, "SRANK_%s", name);

	return length >= 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
}

/*
 * A value that we chose is marked as ours, so that a step started inside this one chooses
 * again. A user's value is not, so that it stays the user's in there, too.
 */
static int set_marked(struct context *context, const char *name, const char *value,
		      bool users)
{
	char marker[64];
	int r = marker_of(marker, sizeof(marker), name);

	if (r == 0)
		r = set_text(context, name, value);
	return r ? r
		 : launch_environment_set(context->env, marker, users ? NULL : "%s",
					  value);
}

/* Those of a launcher that must be told from the user's own are marked. */
static int set_or_keep(struct context *context, const struct launch_variable *variable)
{
	const char *users = users_own(context->facts, variable);
	const char *value;
	char marker[64];
	int r;

	if (users && variable->value != LAUNCH_VALUE_IS_HOST)
		return 0;
	r = set_variable(context, variable);
	if (r || !variable->keep)
		return r;
	value = launch_environment_get(context->env, variable->name);
	if (!value || (users && strcmp(value, users) == 0))
		return 0;
	r = marker_of(marker, sizeof(marker), variable->name);
	return r ? r : set_text(context, marker, value);
}

static int set_variables(struct context *context, const struct launch_variable *variables)
{
	enum launch_when other =
		context->settings->elastic_max ? LAUNCH_STATIC : LAUNCH_ELASTIC;

	for (; variables && variables->name; variables++) {
		int r = 0;

		if (variables->when != other)
			r = set_or_keep(context, variables);
		if (r)
			return r;
	}
	return 0;
}

/* The variables of a launcher but for those that the user has set and may. */
static int remove_launcher(struct context *context,
			   const struct launch_launcher *launcher)
{
	const struct launch_variable *variable = launcher ? launcher->variables : NULL;

	for (; variable && variable->name; variable++) {
		const char *users = users_own(context->facts, variable);
		char marker[64];
		int r;

		if (users)
			r = set_marked(context, variable->name, users, true);
		else
			r = remove_variable(context, variable->name);
		if (r == 0 && variable->keep && !users)
			r = marker_of(marker, sizeof(marker), variable->name) ||
			    remove_variable(context, marker);
		if (r)
			return r;
	}
	return 0;
}

static int remove_all(struct context *context, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int r = remove_variable(context, names[i]);

		if (r)
			return r;
	}
	return 0;
}

static int remove_stale(struct context *context)
{
	const char *outer = context->facts->outer;
	int r;

	r = remove_all(context, stale, COUNT(stale));
	if (r == 0 && outer)
		r = remove_all(context, bound, COUNT(bound));
	if (r)
		return r;
	return remove_launcher(context, outer ? launch_launcher_find(outer) : NULL);
}

/*
 * All that the launcher may read is either set or gone: torchrun would take a user's
 * PET_RDZV_ENDPOINT for PET_MASTER_ADDR.
 */
static int set_launcher(struct context *context)
{
	const struct launch_launcher *launcher = context->settings->launcher;
	int r = remove_launcher(context, launcher);

	if (r || !launcher)
		return r;
	for (const char *const *name = launcher->removes; name && *name; name++) {
		r = remove_variable(context, *name);
		if (r)
			return r;
	}
	return set_variables(context, launcher->variables);
}

static int set_rendezvous(struct context *context)
{
	const struct launch_facts *facts = context->facts;
	char port[8];
	int r;

	r = launch_address(facts, context->settings, context->addr, sizeof(context->addr),
			   context->err);
	if (r)
		return r;
	r = launch_port(facts, context->settings, &context->port, &context->port_source,
			context->err);
	if (r)
		return r;
	r = set_marked(context, "MASTER_ADDR", context->addr, facts->user_addr);
	if (r)
		return r;
	snprintf(port, sizeof(port), "%u", context->port);
	return set_marked(context, "MASTER_PORT", port, facts->user_port);
}

/*
 * A node-shape launcher has one worker for each GPU that it sees, or as many as the user
 * says (a number, or "cpu"; the others that torchrun takes mean GPUs). Any other task is
 * one. 0: nobody has said it yet, for torchrun's --nproc-per-node and a configuration of
 * accelerate's are read later.
 */
static uint32_t count_workers(const struct context *context)
{
	const struct launch_facts *facts = context->facts;
	const char *users = facts->user_nproc;
	unsigned long number;
	char *end;

	if (context->shape != LAUNCH_NODE)
		return 1;
	if (!users ||
	    !launch_launcher_takes(context->settings->launcher, LAUNCH_VALUE_NPROC))
		return launch_facts_ngpus(facts);
	if (strcmp(users, "cpu") == 0)
		return facts->ncpus;
	number = strtoul(users, &end, 10);
	if (end == users || *end)
		return launch_facts_ngpus(facts);
	return number <= UINT32_MAX ? number : 0;
}

/* What is ours of an outer step: it was made from another task's CPUs. */
static int remove_omp(struct context *context)
{
	int r;

	if (context->facts->user_omp || context->settings->omp_keep)
		return 0;
	r = remove_variable(context, "OMP_NUM_THREADS");
	return r ? r : remove_variable(context, "SRANK_OMP_NUM_THREADS");
}

/*
 * Where the workers are not known, torchrun's own rule is better than a guess: one thread
 * each, unless the variable is set (torch/distributed/run.py).
 */
static int set_omp(struct context *context)
{
	const struct launch_facts *facts = context->facts;
	uint32_t workers = count_workers(context);
	char threads[16];

	if (!workers || !facts->ncpus)
		return remove_omp(context);
	if (facts->user_omp || context->settings->omp_keep)
		return 0;
	snprintf(threads, sizeof(threads), "%u",
		 facts->ncpus > workers ? facts->ncpus / workers : 1);
	return set_marked(context, "OMP_NUM_THREADS", threads, false);
}

static int check_shape(const struct context *context)
{
	const struct launch_facts *facts = context->facts;
	const struct launch_settings *settings = context->settings;
	const struct launch_launcher *launcher = settings->launcher;
	struct launch_counts counts;

	if (settings->elastic_max &&
	    !launch_launcher_takes(launcher, LAUNCH_VALUE_ELASTIC))
		return launch_error_set(
			context->err, -EINVAL,
			"elastic=%u:%u is for launcher torchrun, and the launcher "
			"is %s; use torchrun,elastic=%u:%u or leave it out",
			settings->elastic_min, settings->elastic_max,
			launcher ? launcher->name : "auto", settings->elastic_min,
			settings->elastic_max);
	if (settings->elastic_min > facts->nnodes)
		return launch_error_set(
			context->err, -EINVAL,
			"elastic=%u:%u waits for %u nodes, but the step has %u; "
			"use elastic=%u:%u or more nodes",
			settings->elastic_min, settings->elastic_max,
			settings->elastic_min, facts->nnodes, facts->nnodes,
			settings->elastic_max);
	if (settings->elastic_max && settings->elastic_max < facts->nnodes)
		return launch_error_set(
			context->err, -EINVAL,
			"elastic=%u:%u takes %u nodes, but the step has %u, and "
			"torchrun would fail on the others; use elastic=%u:%u",
			settings->elastic_min, settings->elastic_max,
			settings->elastic_max, facts->nnodes, settings->elastic_min,
			facts->nnodes);
	if (context->shape == LAUNCH_WORKER)
		return 0;
	if (launch_counts_read(facts->tasks_per_node, &counts) || counts.most > 1)
		return launch_error_set(context->err, -EINVAL,
					"launcher %s is one task per node that starts "
					"the workers, but the step "
					"has %.80s tasks per node, and each would start "
					"a worker for every GPU; "
					"use srun --ntasks-per-node=1, or launcher torch "
					"with a task per GPU",
					launcher ? launcher->name : "auto",
					facts->tasks_per_node ? facts->tasks_per_node
							      : "(null)");
	return 0;
}

bool launch_has_ranks(const struct launch_facts *facts,
		      const struct launch_settings *settings)
{
	return !facts->pty && (facts->ntasks != 1 || settings->asked);
}

/* What every task of its shape reads. */
static int set_common(struct context *context, enum launch_shape shape)
{
	const struct launch_launcher *launcher = context->settings->launcher;
	int r;

	if (launcher && launcher->bare)
		return 0;
	r = set_rendezvous(context);
	return r ? r : set_variables(context, launch_shape_variables(shape));
}

static int set_ranks(struct context *context)
{
	const struct launch_launcher *launcher = context->settings->launcher;
	int r;

	r = set_common(context, context->shape);
	if (r)
		return r;
	r = set_launcher(context);
	if (r)
		return r;
	r = set_omp(context);
	return r ? r
		 : set_text(context, "SRANK_LAUNCHER",
			    launcher ? launcher->name : "auto");
}

/* The variables of the node shape have no rank, and hold for any task. */
static int set_meeting(struct context *context)
{
	int r = set_common(context, LAUNCH_NODE);

	if (r == 0)
		r = remove_omp(context);
	return r ? r : remove_variable(context, "SRANK_LAUNCHER");
}

/* A user's own text may get too long by what we add to it. */
static int check_lengths(const struct context *context)
{
	for (size_t i = 0; i < context->env->count; i++) {
		const struct launch_assignment *one = &context->env->list[i];

		if (one->value &&
		    strlen(one->name) + strlen(one->value) + 2 >= LAUNCH_VARIABLE_MAX)
			return launch_error_set(
				context->err, -EINVAL,
				"%s would have %zu characters, more than the %d KiB that "
				"Linux allows for a variable; shorten or unset it",
				one->name, strlen(one->value),
				LAUNCH_VARIABLE_MAX / 1024);
	}
	return 0;
}

static int finish(struct context *context)
{
	int r = set_text(context, "SRANK_VERSION", SRANK_VERSION);

	return r ? r : check_lengths(context);
}

int launch_environment(const struct launch_facts *facts,
		       const struct launch_settings *settings,
		       struct launch_environment *env, struct launch_error *err)
{
	bool ranks = launch_has_ranks(facts, settings);
	struct context context = {
		.facts = facts,
		.settings = settings,
		.env = env,
		.err = err,
		.shape = ranks ? launch_shape(facts, settings) : LAUNCH_WORKER,
	};
	int r;

	if (facts->submitit)
		return 0;
	if (ranks) {
		r = check_shape(&context);
		if (r)
			return r;
	}
	context.node_rank = launch_node_rank(facts, context.shape);
	r = remove_stale(&context);
	if (r)
		return r;
	r = ranks ? set_ranks(&context) : set_meeting(&context);
	return r ? r : finish(&context);
}

int launch_environment_batch(const struct launch_facts *facts,
			     const struct launch_settings *settings,
			     struct launch_environment *env, struct launch_error *err)
{
	struct context context = {
		.facts = facts, .settings = settings, .env = env, .err = err};
	int r;

	if (facts->submitit)
		return 0;
	r = set_rendezvous(&context);
	return r ? r : finish(&context);
}

#define MARK "SRANK_STEP"

int launch_environment_mark(struct launch_environment *env,
			    const struct launch_facts *facts)
{
	return launch_environment_set(env, MARK, "%" PRIu32 ".%" PRIu32, facts->job_id,
				      facts->step_id);
}

/* A look-up ends the life of the text that the last one gave. */
static bool look_up_number(launch_lookup lookup, void *arg, const char *name,
			   uint32_t *number)
{
	const char *text = lookup(name, arg);

	if (!text || !isdigit((unsigned char)*text))
		return false;
	*number = strtoul(text, NULL, 10);
	return true;
}

bool launch_environment_is_marked(launch_lookup lookup, void *arg)
{
	uint32_t job_id, step_id;
	char mark[32];
	const char *found;

	if (!look_up_number(lookup, arg, "SLURM_JOB_ID", &job_id) ||
	    !look_up_number(lookup, arg, "SLURM_STEP_ID", &step_id))
		return false;
	snprintf(mark, sizeof(mark), "%" PRIu32 ".%" PRIu32, job_id, step_id);
	found = lookup(MARK, arg);
	return found && strcmp(found, mark) == 0;
}
