/* SPDX-License-Identifier: MIT */
/*
 * The tables of a launch: what was chosen, then the nodes, then the tasks of one of them.
 * They are made for a terminal, so they stay short: in a long step, nodes with equally
 * many tasks share a row.
 */
#include "spank/launch/report.h"

#include "spank/launch/environment.h"
#include "spank/launch/hostlist.h"
#include "spank/launch/rendezvous.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Up to so many nodes each has a row of its own. */
#define NODES_UNFOLDED 16
/* Very uneven steps, and nodes of very many tasks: no more rows than this. */
#define ROWS_MAX 64

#define CELL_MAX (2 * LAUNCH_HOST_MAX + 8)

/* Beyond that, nobody copies masks from a terminal. */
#define MASKS_MAX 800

enum column {
	COLUMN_NODE_RANK,
	COLUMN_NODE,
	COLUMN_TASKS,
	COLUMN_RANKS,
	COLUMN_CPUS,
	COLUMN_GPUS,
	COLUMNS,
};

struct table {
	FILE *out; /* NULL: only the widths are measured */
	const struct launch_facts *facts;
	const struct launch_report_node *here;
	int width[COLUMNS];
	uint32_t node; /* id of the next node */
	uint32_t rank; /* its first rank */
	uint32_t rows;
};

/* The texts are a job's, and the output may be a daemon's log. */
static void print_text(FILE *out, const char *text)
{
	char part[256];

	for (; *text; text += strlen(part)) {
		snprintf(part, sizeof(part), "%s", text);
		launch_make_printable(part);
		fputs(part, out);
	}
}

static bool has_column(const struct table *table, enum column column)
{
	switch (column) {
	case COLUMN_RANKS:
		/* They are only known in block order. */
		return table->facts->layout == LAUNCH_LAYOUT_BLOCK;
	case COLUMN_CPUS:
	case COLUMN_GPUS:
		return table->here;
	default:
		return true;
	}
}

/* A row whose last column, the widest by far where GPUs have names, is not aligned. */
static void print_row(struct table *table, const char *const cells[COLUMNS])
{
	int pending = 0; /* blanks behind the cell before */

	for (int i = 0; i < COLUMNS; i++) {
		int length = strlen(cells[i]);

		if (!has_column(table, i))
			continue;
		if (!table->out) {
			if (length > table->width[i])
				table->width[i] = length;
			continue;
		}
		fprintf(table->out, "%*s", pending, "");
		print_text(table->out, cells[i]);
		pending = table->width[i] - length + 2;
	}
	if (table->out)
		fputc('\n', table->out);
}

static void print_span(char *cell, uint32_t first, uint32_t count)
{
	if (count == 0)
		snprintf(cell, CELL_MAX, "-");
	else if (count == 1)
		snprintf(cell, CELL_MAX, "%u", first);
	else
		snprintf(cell, CELL_MAX, "%u-%u", first, first + count - 1);
}

/* CPUs of all tasks of the node, "?" when they are not known. */
static void print_cpus(char *cell, const struct launch_report_node *here)
{
	struct launch_cpuset all = {0};

	for (uint32_t i = 0; i < here->ntasks; i++)
		launch_cpuset_join(&all, &here->masks[i]);
	snprintf(cell, CELL_MAX, "?");
	if (!launch_cpuset_is_empty(&all))
		launch_cpuset_text(&all, cell, CELL_MAX);
}

static const char *gpus_of(const struct launch_report_node *here)
{
	return here->devices->gpus ? here->devices->gpus : "-";
}

static int print_nodes(struct table *table, uint32_t tasks, uint32_t nodes)
{
	const char *list = table->facts->nodelist;
	bool here = table->here && table->node == 0;
	char rank[CELL_MAX], node[CELL_MAX], count[CELL_MAX], ranks[CELL_MAX];
	char cpus[CELL_MAX] = "?";
	const char *const cells[COLUMNS] = {
		rank, node, count, ranks, cpus, here ? gpus_of(table->here) : "?"};
	char name[LAUNCH_HOST_MAX];
	int r;

	print_span(rank, table->node, nodes);
	r = launch_hostlist_nth(list, table->node, name, sizeof(name));
	if (r)
		return r;
	snprintf(node, sizeof(node), "%s", name);
	if (nodes > 1) {
		r = launch_hostlist_nth(list, table->node + nodes - 1, name,
					sizeof(name));
		if (r)
			return r;
		strncat(node, " ... ", sizeof(node) - 1);
		strncat(node, name, sizeof(node) - 1 - strlen(node));
	}
	snprintf(count, sizeof(count), "%u", tasks);
	print_span(ranks, table->rank, tasks * nodes);
	if (here)
		print_cpus(cpus, table->here);
	print_row(table, cells);
	table->node += nodes;
	table->rank += tasks * nodes;
	table->rows++;
	return 0;
}

/* Nodes that share the row of the next one. Of rank 0's own more is known. */
static uint32_t fold(const struct table *table, uint32_t left)
{
	bool alone = table->here && table->node == 0;

	return table->facts->nnodes > NODES_UNFOLDED && !alone ? left : 1;
}

static int print_run(uint32_t tasks, uint32_t nodes, void *arg)
{
	struct table *table = arg;

	while (nodes && table->rows < ROWS_MAX) {
		uint32_t each = fold(table, nodes);
		int r = print_nodes(table, tasks, each);

		if (r)
			return r;
		nodes -= each;
	}
	return 0;
}

static int print_table(struct table *table)
{
	static const char *const heads[COLUMNS] = {"NODE_RANK", "NODE", "TASKS",
						   "RANKS",     "CPUS", "GPUS"};

	table->node = table->rank = table->rows = 0;
	print_row(table, heads);
	return launch_counts_each(table->facts->tasks_per_node, print_run, table);
}

/* Where node names and node ranks are in different orders, no row can hold both. */
static bool has_rows(const struct launch_facts *facts)
{
	return facts->nnodes == 1 ||
	       (facts->layout < LAUNCH_LAYOUT_ARBITRARY && !facts->het);
}

static int no_table(const struct launch_facts *facts, struct launch_error *err)
{
	return launch_error_set(
		err, -EINVAL,
		"no table can be made of the nodes %.80s with %.80s tasks; "
		"start the program with srun",
		facts->nodelist ? facts->nodelist : "(null)",
		facts->tasks_per_node ? facts->tasks_per_node : "(null)");
}

/* What becomes of the GPUs of the step, and whether Slurm has come first. */
static void print_binding(FILE *out, const struct launch_facts *facts,
			  const struct launch_settings *settings,
			  const struct launch_report_node *here)
{
	static const struct {
		const char *name, *meaning;
	} modes[] = {
		[LAUNCH_GPUS_ORDER] = {"order", "all of the node's, the nearest at index "
						"LOCAL_RANK"},
		[LAUNCH_GPUS_MASK] = {"mask", "each task its own"},
		[LAUNCH_GPUS_FIRST] = {"first", "each task its own, then the others"},
		[LAUNCH_GPUS_MAP] = {"map", NULL},
		[LAUNCH_GPUS_NONE] = {"none", "as Slurm left them"},
	};
	const char *name = modes[settings->gpus].name;
	const char *meaning = modes[settings->gpus].meaning;
	/* A source that sees the task's own devices only may know how many there are. */
	uint32_t total =
		here->gpus ? here->gpus->count : launch_facts_ngpus(here->devices);
	uint32_t visible = launch_facts_visible(facts, total);

	fprintf(out, "GPUs         ");
	if (!total)
		fprintf(out, "none in the step on this node\n");
	else if (!launch_has_ranks(facts, settings))
		fprintf(out, "as Slurm left them\n");
	else if (visible < total && settings->gpus != LAUNCH_GPUS_NONE)
		fprintf(out, "%s stands aside: Slurm gave the task of rank 0 %u of %u\n",
			name, visible, total);
	else if (settings->gpus == LAUNCH_GPUS_ORDER &&
		 (launch_shape(facts, settings) == LAUNCH_NODE ||
		  (here->gpus && !launch_gpus_are_ordered(here->gpus))))
		fprintf(out, "%s: all of the node's, as Slurm lists them\n", name);
	else if (settings->gpus == LAUNCH_GPUS_FIRST && here->gpus &&
		 !launch_gpus_are_ordered(here->gpus))
		fprintf(out, "%s: %s\n", name, modes[LAUNCH_GPUS_MASK].meaning);
	else
		fprintf(out, "%s: %s\n", name, meaning ? meaning : settings->gpus_map);
}

static void print_launcher(FILE *out, const struct launch_facts *facts,
			   const struct launch_settings *settings)
{
	if (launch_has_ranks(facts, settings))
		fprintf(out, "launcher     %s (%s shape)\n",
			settings->launcher ? settings->launcher->name : "auto",
			launch_shape_name(launch_shape(facts, settings)));
	else
		fprintf(out, "launcher     none: no rank for %s\n",
			facts->pty ? "the task at a terminal"
				   : "the only task of a step for which nobody asked");
}

/* Instead of rows. */
static void print_lists(FILE *out, const struct launch_facts *facts,
			const struct launch_report_node *here)
{
	char cpus[CELL_MAX];

	fprintf(out, "nodes        ");
	print_text(out, facts->nodelist);
	fprintf(out, " (by name)\ntasks        ");
	print_text(out, facts->tasks_per_node);
	fprintf(out, " (likewise)\n");
	if (facts->order) {
		fprintf(out, "node ranks   ");
		print_text(out, facts->order);
		fputc('\n', out);
	}
	if (!here)
		return;
	print_cpus(cpus, here);
	fprintf(out, "rank 0       its node has CPUs %s, GPUs ", cpus);
	print_text(out, gpus_of(here));
	fputc('\n', out);
}

/* What a warning is about: some of a node's tasks. */
struct some {
	struct launch_cpuset ranks; /* their local ranks, a set of numbers as CPUs are */
	uint32_t count;
};

static void add_rank(struct some *some, uint32_t local_rank)
{
	some->count++;
	if (local_rank < LAUNCH_CPUS_MAX)
		launch_cpuset_add(&some->ranks, local_rank);
}

/* "warning: local ranks 0-3 HAVE", with the verb in the number that they have. */
static void print_some(FILE *out, const struct some *some)
{
	char ranks[CELL_MAX];

	launch_cpuset_text(&some->ranks, ranks, sizeof(ranks));
	fprintf(out, "warning: local rank%s %s %s ", some->count > 1 ? "s" : "", ranks,
		some->count > 1 ? "have" : "has");
}

static struct launch_cpuset common(const struct launch_cpuset *a,
				   const struct launch_cpuset *b)
{
	struct launch_cpuset set;

	for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++)
		set.bits[word] = a->bits[word] & b->bits[word];
	return set;
}

/* A node's tasks, as bound. */
struct tasks {
	const struct launch_report_node *here;
	const struct launch_binding *bindings; /* by local rank */
	struct launch_cpuset cpus;             /* of all of them */
	uint32_t share; /* of the job's CPUs, were they shared out; 0: not known */
};

static const struct launch_gpu *own_gpu(const struct tasks *tasks, uint32_t task,
					uint32_t i)
{
	const struct launch_binding *binding = &tasks->bindings[task];

	return &tasks->here->gpus->gpu[binding->gpu[binding->own + i]];
}

/* To the farthest of the task's own GPUs, as far as their places are known. */
static enum launch_distance find_distance(const struct tasks *tasks, uint32_t task)
{
	enum launch_distance farthest = LAUNCH_DISTANCE_UNKNOWN;

	for (uint32_t i = 0; i < tasks->bindings[task].owned; i++)
		farthest = launch_distance_farther(
			farthest, launch_gpu_distance(own_gpu(tasks, task, i),
						      &tasks->here->masks[task]));
	return farthest;
}

/* A program that computes on a GPU feeds it, too, and loads what it feeds it with. */
static void warn_of_one_cpu(FILE *out, const struct tasks *tasks)
{
	struct some some = {0};

	for (uint32_t task = 0; task < tasks->here->ntasks; task++) {
		if (launch_cpuset_count(&tasks->here->masks[task]) == 1)
			add_rank(&some, task);
	}
	if (!some.count)
		return;
	print_some(out, &some);
	fprintf(out, "one CPU to feed a GPU with; ");
	if (tasks->share > 1)
		fprintf(out, "share out the job's %u here: srun --cpus-per-task=%u\n",
			tasks->here->ncpus, tasks->share);
	else
		fprintf(out, "ask for more in the job: --cpus-per-task=N\n");
}

/* CPUs of the step in the sets of the task's own GPUs; whether there are any for each. */
static bool find_near(const struct tasks *tasks, uint32_t task,
		      struct launch_cpuset *near)
{
	*near = (struct launch_cpuset){0};
	for (uint32_t i = 0; i < tasks->bindings[task].owned; i++) {
		const struct launch_gpu *gpu = own_gpu(tasks, task, i);
		struct launch_cpuset local = common(&gpu->local, &tasks->cpus);

		if (gpu->located && launch_cpuset_is_empty(&local))
			local = common(&gpu->socket, &tasks->cpus);
		if (gpu->located && launch_cpuset_is_empty(&local))
			return false;
		launch_cpuset_join(near, gpu->located ? &local : &tasks->cpus);
	}
	return true;
}

/* The masks that would put each task near its GPUs; false where LIST is too short. */
static bool print_masks(const struct tasks *tasks, char *list, size_t size)
{
	size_t used = 0;

	for (uint32_t task = 0; task < tasks->here->ntasks; task++) {
		int word = LAUNCH_CPUS_MAX / 64 - 1;
		struct launch_cpuset near;

		find_near(tasks, task, &near);
		while (word && !near.bits[word])
			word--;
		used += (size_t)snprintf(list + used, size - used, "%s0x%llx",
					 task ? "," : "",
					 (unsigned long long)near.bits[word]);
		while (word-- && used < size)
			used += (size_t)snprintf(list + used, size - used, "%016llx",
						 (unsigned long long)near.bits[word]);
		if (used >= size)
			return false;
	}
	return true;
}

/*
 * Tasks on one socket with a GPU on another. Where it was ours to choose, there is no
 * better choice for these masks: it takes other masks, or other CPUs, to cure it.
 */
static void warn_of_distance(FILE *out, const struct launch_settings *settings,
			     const struct tasks *tasks)
{
	bool reachable = true;
	char masks[MASKS_MAX];
	struct some some = {0};
	struct launch_cpuset near;

	for (uint32_t task = 0; task < tasks->here->ntasks; task++) {
		if (find_distance(tasks, task) != LAUNCH_DISTANCE_OTHER)
			continue;
		add_rank(&some, task);
		reachable &= find_near(tasks, task, &near);
	}
	if (!some.count)
		return;
	print_some(out, &some);
	fprintf(out, "a GPU on a socket where %s no CPU; ",
		some.count > 1 ? "they have" : "it has");
	if (settings->gpus == LAUNCH_GPUS_NONE || settings->gpus == LAUNCH_GPUS_MAP)
		fprintf(out, "let gpus=order choose\n");
	else if (launch_cpuset_count(&tasks->cpus) < tasks->here->ncpus && tasks->share)
		fprintf(out, "share out the job's %u here: srun --cpus-per-task=%u\n",
			tasks->here->ncpus, tasks->share);
	else if (!reachable)
		fprintf(out, "take the job's CPUs near its GPUs: sbatch "
			     "--gres-flags=enforce-binding\n");
	else if (print_masks(tasks, masks, sizeof(masks)))
		fprintf(out, "bind: srun --cpu-bind=mask_cpu:%s\n", masks);
	else
		fprintf(out, "spread the tasks: srun --distribution=block:cyclic\n");
}

/* The names of COUNT GPUs from position FIRST on; cut to SIZE. */
static void print_gpus(char *cell, size_t size, const struct launch_gpus *gpus,
		       const struct launch_binding *binding, uint32_t first,
		       uint32_t count)
{
	size_t used = 0;

	*cell = '\0';
	for (uint32_t i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(cell + used, size - used, "%s%s", i ? "," : "",
					 gpus->gpu[binding->gpu[first + i]].name);
}

/* One row a task; without OUT, only the WIDTH of each column but the last. */
static void print_tasks(FILE *out, const struct tasks *tasks, int width[3])
{
	uint32_t ntasks = tasks->here->ntasks;

	if (out)
		fprintf(out, "%-*s  %-*s  %-*s  DISTANCE\n", width[0], "LOCAL_RANK",
			width[1], "CPUS", width[2], "GPUS");
	for (uint32_t task = 0; task < ntasks && task < ROWS_MAX; task++) {
		const struct launch_binding *binding = &tasks->bindings[task];
		char cpus[CELL_MAX] = "?", names[CELL_MAX];

		if (!launch_cpuset_is_empty(&tasks->here->masks[task]))
			launch_cpuset_text(&tasks->here->masks[task], cpus, sizeof(cpus));
		print_gpus(names, sizeof(names), tasks->here->gpus, binding, binding->own,
			   binding->owned);
		launch_make_printable(names);
		if (out)
			fprintf(out, "%-*u  %-*s  %-*s  %s\n", width[0], task, width[1],
				cpus, width[2], names,
				launch_distance_name(find_distance(tasks, task)));
		if ((int)strlen(cpus) > width[1])
			width[1] = strlen(cpus);
		if ((int)strlen(names) > width[2])
			width[2] = strlen(names);
	}
	if (out && ntasks > ROWS_MAX)
		fprintf(out, "... and %u more tasks\n", ntasks - ROWS_MAX);
}

/* In mode order all tasks see one list, which is worth to be seen as it is set. */
static void print_order(FILE *out, const struct launch_facts *facts,
			const struct tasks *tasks)
{
	const struct launch_gpus *gpus = tasks->here->gpus;
	char names[LAUNCH_GPUS_MAX * LAUNCH_GPU_NAME_MAX];

	print_gpus(names, sizeof(names), gpus, tasks->bindings, 0,
		   tasks->bindings[0].count);
	launch_make_printable(names);
	fprintf(out, "all tasks    %s=%s\n", launch_gpus_variable(gpus, facts), names);
}

/*
 * Programs go by an index that they do not have: Slurm has bound the tasks, or there are
 * more of them than GPUs.
 */
static void warn_of_index(FILE *out, const struct launch_facts *facts,
			  const struct launch_settings *settings,
			  const struct launch_report_node *here)
{
	uint32_t total = here->gpus->count, ntasks = here->ntasks;
	uint32_t visible = launch_facts_visible(facts, total);
	bool own = launch_gpus_are_own(visible, ntasks, total);

	if (settings->gpus != LAUNCH_GPUS_ORDER || !visible || visible >= ntasks ||
	    !launch_has_ranks(facts, settings) ||
	    launch_shape(facts, settings) != LAUNCH_WORKER)
		return;
	if (visible == total)
		fprintf(out,
			"warning: %u tasks share %u GPU%s, and LOCAL_RANK is no index "
			"from %u on; add gpus=mask,local=0\n",
			ntasks, total, total > 1 ? "s" : "", total);
	else if (!own || !settings->local_zero)
		fprintf(out,
			"warning: Slurm left tasks no GPU at index LOCAL_RANK; leave "
			"--gpus-per-task and --gpu-bind out%s\n",
			own ? ", or add local=0" : "");
}

static void print_bindings(FILE *out, const struct launch_facts *facts,
			   const struct launch_settings *settings,
			   const struct launch_report_node *here,
			   const struct launch_binding *bindings)
{
	struct tasks tasks = {
		.here = here, .bindings = bindings, .share = here->ncpus / here->ntasks};
	int width[] = {strlen("LOCAL_RANK"), strlen("CPUS"), strlen("GPUS")};

	for (uint32_t task = 0; task < here->ntasks; task++)
		launch_cpuset_join(&tasks.cpus, &here->masks[task]);
	if (settings->gpus == LAUNCH_GPUS_ORDER && launch_has_ranks(facts, settings))
		print_order(out, facts, &tasks);
	print_tasks(NULL, &tasks, width);
	print_tasks(out, &tasks, width);
	warn_of_one_cpu(out, &tasks);
	warn_of_distance(out, settings, &tasks);
}

static void free_bindings(struct launch_binding **bindings)
{
	free(*bindings);
}

int launch_report_binding(FILE *out, const struct launch_facts *facts,
			  const struct launch_settings *settings,
			  const struct launch_report_node *here, struct launch_error *err)
{
	__attribute__((cleanup(free_bindings))) struct launch_binding *bindings = NULL;
	int r;

	if (!here->gpus || !here->gpus->count || !here->ntasks)
		return 0;
	bindings = calloc(here->ntasks, sizeof(*bindings));
	if (!bindings)
		return -ENOMEM;
	r = launch_gpus_share(here->gpus, here->masks, here->ntasks, facts, settings,
			      bindings, err);
	if (r)
		return r;
	if (bindings[0].count)
		print_bindings(out, facts, settings, here, bindings);
	warn_of_index(out, facts, settings, here);
	return 0;
}

int launch_report(FILE *out, const struct launch_facts *facts,
		  const struct launch_settings *settings,
		  const struct launch_report_node *here, struct launch_error *err)
{
	struct table table = {.facts = facts, .here = here};
	bool bare = settings->launcher && settings->launcher->bare;
	enum launch_port_source source;
	char addr[LAUNCH_ADDR_MAX];
	uint16_t port;
	int r;

	if (!bare) {
		r = launch_address(facts, settings, addr, sizeof(addr), err);
		if (r)
			return r;
		r = launch_port(facts, settings, &port, &source, err);
		if (r)
			return r;
		launch_make_printable(addr);
	}
	if (!facts->nodelist || !facts->tasks_per_node)
		return no_table(facts, err);
	/* Measured first, so that nothing is printed of a table that cannot be. */
	if (has_rows(facts) && print_table(&table))
		return no_table(facts, err);

	print_launcher(out, facts, settings);
	if (bare) {
		fprintf(out, "ranks        from PMIx\n");
	} else {
		fprintf(out, "MASTER_ADDR  %s%s\n", addr,
			facts->user_addr ? " (as set)" : "");
		fprintf(out, "MASTER_PORT  %u (%s)\n", port,
			launch_port_source_name(source));
	}
	if (here)
		print_binding(out, facts, settings, here);
	if (has_rows(facts)) {
		table.out = out;
		print_table(&table);
		if (table.node < facts->nnodes)
			fprintf(out, "... and %u more nodes\n",
				facts->nnodes - table.node);
	} else {
		print_lists(out, facts, here);
	}
	return here ? launch_report_binding(out, facts, settings, here, err) : 0;
}
