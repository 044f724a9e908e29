/* SPDX-License-Identifier: MIT */
/*
 * Facts from PMIx take the form of Slurm's variables, so that launch_facts_read() checks
 * and reads both alike, and the rules for the user's own variables are the same.
 */
#include "spank/exec/source.h"

#include "spank/exec/wait.h"
#include "spank/launch/cpuset.h"
#include "spank/launch/hostlist.h"
#include "spank/launch/lookup.h"
#include "spank/launch/order.h"
#include "spank/launch/rendezvous.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Keys of the PMIx standard. */
#define KEY_HOSTNAME   "pmix.hname"
#define KEY_JOB_SIZE   "pmix.job.size"
#define KEY_LOCAL_RANK "pmix.lrank"

#define SLURM_PREFIX "slurm.pmix." /* slurm.pmix.JOB.STEP: mpi/pmix's pmixp_info.c */

/* How long slurmstepd may take to start its tasks after another node's has, in ms. */
#define START_TIME 500

struct exec_variable {
	const char *name;
	char *value;
};

static bool is_job(const char *variable, unsigned long job_id)
{
	const char *value = getenv(variable);

	return value && strtoul(value, NULL, 10) == job_id;
}

/*
 * Of a step of Slurm's in which this one was started: srun --mpi=none hands on what is
 * there. A heterogeneous step has the number of the first component's job.
 */
static bool is_outer(const char *name)
{
	const char *step_id = getenv("SLURM_STEP_ID");
	unsigned long job_id;
	char *end;

	if (strncmp(name, SLURM_PREFIX, strlen(SLURM_PREFIX)) != 0 || !step_id)
		return false;
	job_id = strtoul(name + strlen(SLURM_PREFIX), &end, 10);
	return *end != '.' || strcmp(end + 1, step_id) != 0 ||
	       (!is_job("SLURM_JOB_ID", job_id) && !is_job("SLURM_HET_JOB_ID", job_id));
}

bool exec_source_has_server(void)
{
	const char *name = getenv("PMIX_NAMESPACE"), *rank = getenv("PMIX_RANK");

	return name && *name && rank && *rank && !is_outer(name);
}

bool exec_source_is_slurm(void)
{
	const char *name = getenv("PMIX_NAMESPACE");

	return name && strncmp(name, SLURM_PREFIX, strlen(SLURM_PREFIX)) == 0;
}

bool exec_source_speaks(int r)
{
	const bool foreign = exec_source_has_server() && !exec_source_is_slurm();
	const char *local_rank = getenv(foreign ? "PMIX_RANK" : "SLURM_LOCALID");
	const char *rank = getenv(foreign ? "PMIX_RANK" : "SLURM_PROCID");

	if (r != -EINVAL && r != -ENOTSUP)
		return true;
	/* Rank 0 also because the variables may be what is wrong. */
	return !local_rank || strcmp(local_rank, "0") == 0 || !rank ||
	       strcmp(rank, "0") == 0;
}

int exec_source_connect(struct exec_pmix **pmix, bool wanted, unsigned int seconds,
			void (*say)(const char *line), struct launch_error *err)
{
	struct launch_error text = {""};
	bool foreign;
	int r;

	*pmix = NULL;
	if (!exec_source_has_server())
		return 0;
	foreign = !exec_source_is_slurm();
	if (!wanted)
		return foreign ? launch_error_set(
					 err, -ENOTSUP,
					 "these ranks are not Slurm's, and only PMIx "
					 "tells where they are; start them with srun")
			       : 0;
	r = exec_pmix_open(pmix, seconds, &text);
	if (r == -ENOTSUP && !foreign) {
		if (say)
			say(text.text);
		return 0;
	}
	/* No memory. */
	if (r)
		launch_error_set(&text, r, "PMIx: %s", strerror(-r));
	return r ? launch_error_set(err, r, "%s%s", text.text,
				    foreign ? "" : " (--no-pmix does without)")
		 : 0;
}

/*
 * Slurm before 23.02, whose slurmstepd is the first that tells its tasks
 * SLURM_JOB_START_TIME. While slurmstepd starts its tasks it is not root, and munge opens
 * for it no credential that is for root. With auth_setuid_lock() 23.02 lets the PMIx of
 * another node wait until that is over; before, it was turned away when it called back at
 * that moment, and a fence that goes round never ended.
 */
bool exec_source_is_racy(void)
{
	return exec_source_is_slurm() && !getenv("SLURM_JOB_START_TIME");
}

/* The lowest rank that is on another node; NTASKS when the server does not say. */
static uint32_t find_far(struct exec_pmix *pmix, uint32_t ntasks)
{
	char *peers, *next, *end;
	uint32_t far = 0;

	if (exec_pmix_text(pmix, EXEC_PMIX_JOB, EXEC_PMIX_PEERS, &peers))
		return ntasks;
	/* "0-3,8": in order */
	for (next = peers; *next; next = end + (*end == ',')) {
		unsigned long first = strtoul(next, &end, 10), last = first;

		if (end != next && *end == '-')
			last = strtoul(end + 1, &end, 10);
		if (end == next || first > far)
			break;
		far = (uint32_t)last + 1;
	}
	free(peers);
	return far;
}

/*
 * Slurm's fence by a tree (PMIxCollFence=tree, or PMIxDirectConn=no in mpi.conf) is none
 * in a step of fewer nodes than TreeWidth: in reverse_tree_info() each of them is then a
 * root without children, which ends the fence for itself. What others have put is not
 * there afterwards, and that shows it.
 */
static bool has_joined(struct exec_pmix *pmix, const struct launch_facts *facts)
{
	uint32_t far = facts->nnodes > 1 ? find_far(pmix, facts->ntasks) : facts->ntasks;

	return far >= facts->ntasks || exec_pmix_has(pmix, far, EXEC_PMIX_HERE);
}

/*
 * Of 51 steps of Slurm 22.05 on 8 busy nodes two were caught by the race, and none of 79
 * that waited 0.3 s or more.
 */
int exec_source_fence(struct exec_pmix *pmix, const struct launch_facts *facts,
		      unsigned int seconds, struct launch_error *err)
{
	const struct timespec start = {.tv_nsec = START_TIME * 1000000L};
	int r;

	if (facts->nnodes > 1 && exec_source_is_racy())
		nanosleep(&start, NULL);
	r = exec_pmix_fence(pmix, seconds, err);
	return r == 0 && !has_joined(pmix, facts) ? -ENOLINK : r;
}

void exec_layout_clear(struct exec_layout *layout)
{
	for (uint32_t i = 0; i < layout->nnodes; i++)
		free(layout->nodes[i]);
	free(layout->nodes);
	free(layout->node_of);
	free(layout->tasks_of);
	*layout = (struct exec_layout){0};
}

/* Ranks mostly come node by node, or go round the nodes: the next one is looked at first.
 */
static uint32_t find_node(const struct exec_layout *layout, const char *name,
			  uint32_t near)
{
	for (uint32_t i = 0; i < layout->nnodes; i++) {
		uint32_t node = (near + i) % layout->nnodes;

		if (strcmp(layout->nodes[node], name) == 0)
			return node;
	}
	return layout->nnodes;
}

static void add_rank(struct exec_layout *layout, uint32_t rank, char *name)
{
	uint32_t node = find_node(layout, name, rank ? layout->node_of[rank - 1] : 0);

	if (node < layout->nnodes)
		free(name);
	else
		layout->nodes[layout->nnodes++] = name;
	layout->node_of[rank] = node;
	layout->tasks_of[node]++;
}

/*
 * From the name of each rank's host, which every process has of its own job. Not from
 * "pmix.nodeid": Slurm gives all ranks the one of the node that asks (_set_procdatas() in
 * its src/plugins/mpi/pmix/pmixp_client.c).
 */
int exec_layout_read(struct exec_layout *layout, struct exec_pmix *pmix,
		     struct launch_error *err)
{
	int r = exec_pmix_number(pmix, EXEC_PMIX_JOB, KEY_JOB_SIZE, &layout->ntasks);

	if (r || layout->ntasks == 0)
		return launch_error_set(err, -EINVAL,
					"PMIx does not tell the number of ranks");
	layout->nodes = calloc(layout->ntasks, sizeof(*layout->nodes));
	layout->node_of = calloc(layout->ntasks, sizeof(*layout->node_of));
	layout->tasks_of = calloc(layout->ntasks, sizeof(*layout->tasks_of));
	if (!layout->nodes || !layout->node_of || !layout->tasks_of)
		return -ENOMEM;
	for (uint32_t rank = 0; rank < layout->ntasks; rank++) {
		char *name;

		if (exec_pmix_text(pmix, rank, KEY_HOSTNAME, &name))
			return launch_error_set(err, -EINVAL,
						"PMIx does not tell the node of rank "
						"%" PRIu32,
						rank);
		add_rank(layout, rank, name);
	}
	return 0;
}

static int join_nodes(const struct exec_layout *layout, char **list)
{
	size_t size;
	FILE *out = open_memstream(list, &size);

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < layout->nnodes; i++)
		fprintf(out, "%s%s", i ? "," : "", layout->nodes[i]);
	return fclose(out) == 0 ? 0 : -ENOMEM;
}

static int join_counts(const struct exec_layout *layout, char **list)
{
	size_t size;
	FILE *out = open_memstream(list, &size);

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < layout->nnodes; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", layout->tasks_of[i]);
	return fclose(out) == 0 ? 0 : -ENOMEM;
}

/* Takes over VALUE, which may be NULL for want of memory. */
static int add(struct exec_source *source, const char *name, char *value)
{
	struct exec_variable *variables;

	if (!value)
		return -ENOMEM;
	variables =
		reallocarray(source->variables, source->count + 1, sizeof(*variables));
	if (!variables) {
		free(value);
		return -ENOMEM;
	}
	variables[source->count++] = (struct exec_variable){name, value};
	source->variables = variables;
	return 0;
}

static int add_number(struct exec_source *source, const char *name, uint32_t number)
{
	char *value;

	return asprintf(&value, "%" PRIu32, number) < 0 ? -ENOMEM
							: add(source, name, value);
}

/* FNV-1a: jobs of other servers have names, and the port is chosen by a number. */
static uint32_t number_of(const char *name)
{
	uint32_t hash = 2166136261;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619;
	return hash;
}

/* The nodes by lowest rank in the variable that srun has of the plugin for it. */
static int add_order(struct exec_source *source, uint32_t job_id, uint32_t step_id,
		     const char *nodelist, const struct exec_layout *layout)
{
	char *text;
	int r = launch_order_write(job_id, step_id, nodelist, layout->node_of,
				   layout->ntasks, &text);

	return r ? r : add(source, LAUNCH_ORDER_VARIABLE, text);
}

static int describe(struct exec_source *source, const struct exec_layout *layout)
{
	const uint32_t rank = exec_pmix_rank(source->pmix);
	const uint32_t job_id = number_of(exec_pmix_name(source->pmix));
	uint32_t local_rank = 0;
	char *nodelist, *counts;
	int r;

	if (rank >= layout->ntasks)
		return -EINVAL;
	for (uint32_t other = 0; other < rank; other++)
		local_rank += layout->node_of[other] == layout->node_of[rank];
	/* Where the server says something else, it is right. */
	exec_pmix_number(source->pmix, rank, KEY_LOCAL_RANK, &local_rank);
	r = join_nodes(layout, &nodelist);
	if (r)
		return r;
	r = add_order(source, job_id, 0, nodelist, layout);
	if (r) {
		free(nodelist);
		return r;
	}
	if ((r = add(source, "SLURM_STEP_NODELIST", nodelist)) ||
	    (r = join_counts(layout, &counts)) ||
	    (r = add(source, "SLURM_STEP_TASKS_PER_NODE", counts)) ||
	    (r = add(source, "SLURMD_NODENAME",
		     strdup(layout->nodes[layout->node_of[rank]]))) ||
	    (r = add(source, "SLURM_DISTRIBUTION", strdup("arbitrary"))) ||
	    (r = add_number(source, "SLURM_JOB_ID", job_id)) ||
	    (r = add_number(source, "SLURM_STEP_ID", 0)) ||
	    (r = add_number(source, "SLURM_STEP_NUM_NODES", layout->nnodes)) ||
	    (r = add_number(source, "SLURM_STEP_NUM_TASKS", layout->ntasks)) ||
	    (r = add_number(source, "SLURM_NODEID", layout->node_of[rank])) ||
	    (r = add_number(source, "SLURM_PROCID", rank)))
		return r;
	return add_number(source, "SLURM_LOCALID", local_rank);
}

/* Of a step of Slurm's only the order under an arbitrary distribution is missing. */
static int add_slurm_order(struct exec_source *source, const struct exec_layout *layout)
{
	const char *job_id = getenv("SLURM_JOB_ID"), *step_id = getenv("SLURM_STEP_ID");
	char *nodelist;
	int r;

	if (!job_id || !step_id)
		return 0;
	r = join_nodes(layout, &nodelist);
	if (r)
		return r;
	r = add_order(source, strtoul(job_id, NULL, 10), strtoul(step_id, NULL, 10),
		      nodelist, layout);
	free(nodelist);
	return r == -EINVAL ? 0 : r;
}

static bool is_arbitrary(void)
{
	return launch_layout_of(getenv("SLURM_DISTRIBUTION")) == LAUNCH_LAYOUT_ARBITRARY;
}

int exec_source_open(struct exec_source *source, struct exec_pmix *pmix,
		     struct launch_error *err)
{
	struct exec_layout layout = {0};
	int r;

	source->pmix = pmix;
	source->foreign = pmix && !exec_source_is_slurm();
	if (!pmix ||
	    (!source->foreign && (!is_arbitrary() || getenv(LAUNCH_ORDER_VARIABLE))))
		return 0;
	r = exec_layout_read(&layout, pmix, err);
	if (r == 0)
		r = source->foreign ? describe(source, &layout)
				    : add_slurm_order(source, &layout);
	exec_layout_clear(&layout);
	return r;
}

const char *exec_source_get(const char *name, void *arg)
{
	const struct exec_source *source = arg;

	for (uint32_t i = 0; i < source->count; i++) {
		if (strcmp(source->variables[i].name, name) == 0)
			return source->variables[i].value;
	}
	if (source->foreign && strncmp(name, "SLURM", 5) == 0)
		return NULL;
	return getenv(name);
}

/* By its name; where that is in the list twice, rank 0 is on the first one. */
static int find_head(struct exec_source *source, struct launch_facts *facts)
{
	uint32_t position = 0;
	char *name;
	int r;

	if (!source->pmix || exec_pmix_text(source->pmix, 0, KEY_HOSTNAME, &name))
		return 0;
	/* Its place in the list is its node id, but for heterogeneous steps. */
	if (facts->het || launch_hostlist_find(facts->nodelist, name, &position))
		position = 0;
	r = launch_facts_set_head(facts, name, position);
	free(name);
	return r;
}

int exec_source_read(struct exec_source *source, struct launch_facts *facts,
		     struct launch_error *err)
{
	struct launch_cpuset mask;
	int r = launch_facts_read(facts, exec_source_get, source, err);

	if (r == 0 && facts->head_uncertain)
		r = find_head(source, facts);
	if (r == 0 && launch_cpuset_affinity(0, &mask) == 0)
		facts->ncpus = launch_cpuset_count(&mask);
	return r;
}

void exec_source_close(struct exec_source *source)
{
	for (uint32_t i = 0; i < source->count; i++)
		free(source->variables[i].value);
	free(source->variables);
	*source = (struct exec_source){0};
}

/* A name that is looked up by a thread. */
struct query {
	char name[LAUNCH_ADDR_MAX], addr[LAUNCH_ADDR_MAX];
	uint32_t nnodes;
	struct launch_error err;
	int r;
};

static void ask(void *arg)
{
	struct query *query = arg;

	query->r = launch_look_up(query->name, query->nnodes, query->addr,
				  sizeof(query->addr), &query->err);
}

/*
 * As launch_look_up(), and -EHOSTUNREACH with ERR when it takes longer than SECONDS, or
 * no thread is to be had for it.
 */
static int look_up(const char *name, uint32_t nnodes, unsigned int seconds, char **addr,
		   struct launch_error *err)
{
	const struct timespec until = exec_time_in(1000 * seconds);
	struct query *query = calloc(1, sizeof(*query));
	struct exec_call *call;
	int r;

	if (!query)
		return -ENOMEM;
	snprintf(query->name, sizeof(query->name), "%s", name);
	query->nnodes = nnodes;
	r = exec_call_start(&call, ask, free, query);
	if (r)
		return launch_error_set(err, -EHOSTUNREACH,
					"addr=ip: %.80s: cannot start a thread for the "
					"resolver: %s; use addr=name, or set MASTER_ADDR",
					name, strerror(-r));
	if (!exec_call_wait(call, &until)) {
		r = launch_error_set(err, -EHOSTUNREACH,
				     "addr=ip: %.80s: the resolver has not answered in "
				     "%u s; use addr=name, or set MASTER_ADDR",
				     name, seconds);
	} else if (query->r) {
		r = query->r;
		launch_error_set(err, r, "%s", query->err.text);
	} else {
		*addr = strdup(query->addr);
		r = *addr ? 0 : -ENOMEM;
	}
	exec_call_close(&call);
	return r;
}

int exec_source_addresses(struct launch_facts *facts,
			  const struct launch_settings *settings, unsigned int seconds,
			  struct launch_error *err)
{
	const struct {
		int (*query)(const struct launch_facts *facts,
			     const struct launch_settings *settings, char *name,
			     size_t size, struct launch_error *err);
		char **found;
	} wanted[] = {
		{launch_head_query, &facts->head_addr},
		{launch_node_query, &facts->node_addr},
	};
	char name[LAUNCH_ADDR_MAX];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		int r = wanted[i].query(facts, settings, name, sizeof(name), err);

		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (settings->addr == LAUNCH_ADDR_NODEADDR)
			return launch_error_set(err, -EINVAL,
						"addr=nodeaddr: only the plugin can ask "
						"Slurm for it; use addr=ip or addr=name");
		r = look_up(name, facts->nnodes, seconds, wanted[i].found, err);
		if (r)
			return r;
	}
	return 0;
}

bool exec_source_is_same_host(const char *a, const char *b, uint32_t nnodes,
			      unsigned int seconds)
{
	struct launch_error ignored = {""};
	char *one = NULL, *other = NULL;
	bool same = look_up(a, nnodes, seconds, &one, &ignored) == 0 &&
		    look_up(b, nnodes, seconds, &other, &ignored) == 0 &&
		    strcmp(one, other) == 0;

	free(one);
	free(other);
	return same;
}

int exec_source_gpus(const struct launch_facts *facts, struct launch_gpus **gpus,
		     struct launch_error *err)
{
	const char *text = getenv("SLURM_GPUS_ON_NODE");
	unsigned long on_node = text ? strtoul(text, NULL, 10) : 0;
	int r;

	if (!facts->gpus)
		return 0;
	*gpus = calloc(1, sizeof(**gpus));
	if (!*gpus)
		return -ENOMEM;
	r = launch_gpus_read(*gpus, facts->gpus, facts->gpu_variables,
			     getenv("SLURM_STEP_GPUS"), "", err);
	if (r) {
		free(*gpus);
		*gpus = NULL;
	} else if (on_node > (*gpus)->count && on_node <= LAUNCH_GPUS_MAX) {
		(*gpus)->count = on_node;
	}
	return r;
}
