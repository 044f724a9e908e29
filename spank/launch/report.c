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
	COLUMNS,
};

struct table {
	FILE *out; /* NULL: only the widths are measured */
	const struct launch_facts *facts;
	bool block;
	int width[COLUMNS];
	uint32_t node; /* id of the next node */
	uint32_t rank; /* its first rank */
	uint32_t rows;
};

static void print_row(struct table *table, char cells[COLUMNS][CELL_MAX])
{
	/* The ranks are only known in block order. */
	int last = table->block ? COLUMN_RANKS : COLUMN_TASKS;

	for (int i = 0; i <= last; i++) {
		int length = strlen(cells[i]);

		if (!table->out) {
			if (length > table->width[i])
				table->width[i] = length;
		} else if (i == last) {
			fprintf(table->out, "%s\n", cells[i]);
		} else {
			fprintf(table->out, "%-*s  ", table->width[i], cells[i]);
		}
	}
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

static int print_nodes(struct table *table, uint32_t tasks, uint32_t nodes)
{
	const char *list = table->facts->nodelist;
	char cells[COLUMNS][CELL_MAX];
	char name[LAUNCH_HOST_MAX];
	int r;

	print_span(cells[COLUMN_NODE_RANK], table->node, nodes);
	r = launch_hostlist_nth(list, table->node, name, sizeof(name));
	if (r)
		return r;
	snprintf(cells[COLUMN_NODE], CELL_MAX, "%s", name);
	if (nodes > 1) {
		r = launch_hostlist_nth(list, table->node + nodes - 1, name,
					sizeof(name));
		if (r)
			return r;
		strncat(cells[COLUMN_NODE], " ... ", CELL_MAX - 1);
		strncat(cells[COLUMN_NODE], name,
			CELL_MAX - 1 - strlen(cells[COLUMN_NODE]));
	}
	snprintf(cells[COLUMN_TASKS], CELL_MAX, "%u", tasks);
	print_span(cells[COLUMN_RANKS], table->rank, tasks * nodes);
	print_row(table, cells);
	table->node += nodes;
	table->rank += tasks * nodes;
	table->rows++;
	return 0;
}

static int print_run(uint32_t tasks, uint32_t nodes, void *arg)
{
	struct table *table = arg;
	uint32_t each = table->facts->nnodes > NODES_UNFOLDED ? nodes : 1;

	for (uint32_t i = 0; i < nodes && table->rows < ROWS_MAX; i += each) {
		int r = print_nodes(table, tasks, each);

		if (r)
			return r;
	}
	return 0;
}

static int print_table(struct table *table)
{
	char heads[COLUMNS][CELL_MAX] = {"NODE_RANK", "NODE", "TASKS", "RANKS"};

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

int launch_report(FILE *out, const struct launch_facts *facts,
		  const struct launch_settings *settings, bool block,
		  struct launch_error *err)
{
	const struct launch_launcher *launcher = settings->launcher;
	struct table table = {
		.facts = facts,
		.block = block,
	};
	bool bare = launcher && launcher->bare;
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
	}
	if (!facts->nodelist || !facts->tasks_per_node)
		return no_table(facts, err);
	/* Measured first, so that nothing is printed of a table that cannot be. */
	if (has_rows(facts) && print_table(&table))
		return no_table(facts, err);

	if (launch_has_ranks(facts, settings))
		fprintf(out, "launcher     %s (%s shape)\n",
			launcher ? launcher->name : "auto",
			launch_shape_name(launch_shape(facts, settings)));
	else
		fprintf(out, "launcher     none: no rank for %s\n",
			facts->pty ? "the task at a terminal"
				   : "the only task of a step for which nobody asked");
	if (bare) {
		fprintf(out, "ranks        from PMIx\n");
	} else {
		fprintf(out, "MASTER_ADDR  %s%s\n", addr,
			facts->user_addr ? " (as set)" : "");
		fprintf(out, "MASTER_PORT  %u (%s)\n", port,
			launch_port_source_name(source));
	}
	if (!has_rows(facts)) {
		fprintf(out, "nodes        %s (by name)\ntasks        %s (likewise)\n",
			facts->nodelist, facts->tasks_per_node);
		if (facts->order)
			fprintf(out, "node ranks   %s\n", facts->order);
		return 0;
	}
	table.out = out;
	print_table(&table);
	if (table.node < facts->nnodes)
		fprintf(out, "... and %u more nodes\n", facts->nnodes - table.node);
	return 0;
}
