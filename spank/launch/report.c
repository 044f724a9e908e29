/* SPDX-License-Identifier: MIT */
/*
 * The table of a launch: what was chosen, then the nodes. It is made for a terminal, so
 * it stays short: in a long step, nodes with equally many tasks share a row.
 */
#include "spank/launch/report.h"

#include "spank/launch/environment.h"
#include "spank/launch/hostlist.h"
#include "spank/launch/rendezvous.h"

#include <errno.h>
#include <string.h>

/* Up to so many nodes each has a row of its own. */
#define NODES_UNFOLDED 16
/* Very uneven steps: no more rows than this. */
#define ROWS_MAX 64

#define CELL_MAX (2 * LAUNCH_HOST_MAX + 8)

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

	for (uint32_t i = 0; i < here->ntasks; i++) {
		for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++)
			all.bits[word] |= here->masks[i].bits[word];
	}
	snprintf(cell, CELL_MAX, "?");
	if (launch_cpuset_count(&all))
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
	uint32_t total = launch_facts_ngpus(here->devices);
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
		 launch_shape(facts, settings) == LAUNCH_NODE)
		fprintf(out, "%s: all of the node's, as Slurm lists them\n", name);
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
	if (!has_rows(facts)) {
		print_lists(out, facts, here);
		return 0;
	}
	table.out = out;
	print_table(&table);
	if (table.node < facts->nnodes)
		fprintf(out, "... and %u more nodes\n", facts->nnodes - table.node);
	return 0;
}
