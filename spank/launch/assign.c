/* SPDX-License-Identifier: MIT */
/*
 * Exact assignment by successive shortest paths (Ahuja, Magnanti, Orlin: "Network Flows",
 * section 9.7), with the rows contracted: a path runs over columns only, and a step from
 * one column to another moves the row for which that is cheapest. So the work grows with
 * the columns (GPUs, at most 64), not with the rows (tasks, up to the CPUs of a node). A
 * greedy choice is not enough: on nodes where some NUMA nodes have no GPU and others have
 * two, it leaves the last tasks on the far socket.
 */
#include "spank/launch/assign.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS LAUNCH_ASSIGN_COLUMNS_MAX
#define NONE    UINT32_MAX
#define FAR     (INT64_MAX / 4)

/* More than any difference between two assignments: no column takes an extra row while
 * another one is still short of its share. */
#define EXTRA (2 * LAUNCH_ASSIGN_TOTAL_MAX)

struct problem {
	const int64_t *cost;
	uint32_t rows;
	uint32_t columns;
	uint32_t share; /* rows that every column takes at least, in the end */
	uint32_t *column_of;
	uint32_t load[COLUMNS];           /* rows on a column */
	uint32_t first[COLUMNS];          /* list of a column's rows, linked by next */
	int64_t step[COLUMNS][COLUMNS];   /* cheapest move of a row between two columns */
	uint32_t mover[COLUMNS][COLUMNS]; /* that row; NONE: the column is empty */
	uint32_t next[];
};

static void free_problem(struct problem **p)
{
	free(*p);
}

static void free_sets(uint64_t **sets)
{
	free(*sets);
}

static int64_t cost(const struct problem *p, uint32_t row, uint32_t column)
{
	return p->cost[(size_t)row * p->columns + column];
}

static void offer_steps(struct problem *p, uint32_t row, uint32_t from)
{
	for (uint32_t to = 0; to < p->columns; to++) {
		int64_t step = cost(p, row, to) - cost(p, row, from);

		if (p->mover[from][to] == NONE || step < p->step[from][to]) {
			p->step[from][to] = step;
			p->mover[from][to] = row;
		}
	}
}

static void put(struct problem *p, uint32_t row, uint32_t column)
{
	p->column_of[row] = column;
	p->next[row] = p->first[column];
	p->first[column] = row;
	p->load[column]++;
}

static void take(struct problem *p, uint32_t row)
{
	uint32_t column = p->column_of[row];
	uint32_t *link = &p->first[column];

	while (*link != row)
		link = &p->next[*link];
	*link = p->next[row];
	p->load[column]--;
}

static void recount_steps(struct problem *p, uint32_t column)
{
	for (uint32_t to = 0; to < p->columns; to++)
		p->mover[column][to] = NONE;
	for (uint32_t row = p->first[column]; row != NONE; row = p->next[row])
		offer_steps(p, row, column);
}

/*
 * Shortest ways from the columns, LENGTH being what it costs to start at each, over row
 * moves to all others; FROM is the column before it on the way, NONE at a start. Bellman
 * and Ford's algorithm, since steps can be negative; without negative cycles, as long as
 * the assignment so far is optimal, it ends within COLUMNS rounds.
 */
static void shortest_ways(const struct problem *p, int64_t *length, uint32_t *from)
{
	uint64_t changed =
		p->columns == 64 ? UINT64_MAX : (UINT64_C(1) << p->columns) - 1;

	for (uint32_t round = 0; changed && round < p->columns; round++) {
		uint64_t now = changed;

		changed = 0;
		for (; now; now &= now - 1) {
			uint32_t via = (uint32_t)__builtin_ctzll(now);

			if (!p->load[via])
				continue;
			for (uint32_t to = 0; to < p->columns; to++) {
				int64_t sum = length[via] + p->step[via][to];

				if (to == via || sum >= length[to])
					continue;
				length[to] = sum;
				from[to] = via;
				changed |= UINT64_C(1) << to;
			}
		}
	}
}

/* Brings ROW in, moving others where that makes room at the smallest cost. */
static void insert(struct problem *p, uint32_t row)
{
	int64_t length[COLUMNS];
	uint32_t from[COLUMNS];
	int64_t best = FAR;
	uint32_t end = 0;
	uint64_t touched = 0;

	for (uint32_t column = 0; column < p->columns; column++) {
		length[column] = cost(p, row, column);
		from[column] = NONE;
	}
	shortest_ways(p, length, from);
	for (uint32_t column = 0; column < p->columns; column++) {
		int64_t sum = length[column];

		if (p->load[column] > p->share)
			continue;
		if (p->load[column] == p->share)
			sum += EXTRA;
		if (sum < best) {
			best = sum;
			end = column;
		}
	}
	for (; from[end] != NONE; end = from[end]) {
		uint32_t moved = p->mover[from[end]][end];

		take(p, moved);
		put(p, moved, end);
		touched |= UINT64_C(1) << end | UINT64_C(1) << from[end];
	}
	put(p, row, end);
	touched |= UINT64_C(1) << end;
	for (; touched; touched &= touched - 1)
		recount_steps(p, (uint32_t)__builtin_ctzll(touched));
}

/*
 * All optimal assignments at once. With column prices P such that no move of a row and no
 * passing on of an extra row gains anything, an assignment is optimal exactly when each
 * row is on a column where cost - P is smallest for it, and the extra rows are on columns
 * of the same price as those without that could take them (complementary slackness).
 * ALLOWED[row] becomes the set of such columns, PRICE the prices.
 */
static void find_optima(const struct problem *p, int64_t *price, uint64_t *allowed)
{
	uint32_t from[COLUMNS];
	bool lowered = true;

	memset(price, 0, sizeof(*price) * p->columns);
	while (lowered) {
		int64_t lowest = FAR;

		lowered = false;
		shortest_ways(p, price, from);
		for (uint32_t column = 0; column < p->columns; column++)
			if (p->load[column] == p->share && price[column] < lowest)
				lowest = price[column];
		for (uint32_t column = 0; column < p->columns; column++) {
			if (p->load[column] > p->share && price[column] > lowest) {
				price[column] = lowest;
				lowered = true;
			}
		}
	}
	for (uint32_t row = 0; row < p->rows; row++) {
		int64_t best = FAR;

		allowed[row] = 0;
		for (uint32_t column = 0; column < p->columns; column++) {
			int64_t value = cost(p, row, column) - price[column];

			if (value < best) {
				best = value;
				allowed[row] = 0;
			}
			if (value == best)
				allowed[row] |= UINT64_C(1) << column;
		}
	}
}

/*
 * Columns from which rows behind ROW can move on so that TARGET, in the end, has a place
 * free; NEXT is the column towards TARGET. An extra row can also be passed on: from a
 * column without to one with one, which moves no row.
 */
static uint64_t ways_to(const struct problem *p, uint32_t row, uint32_t target,
			const int64_t *price, const uint64_t *allowed, uint32_t *next)
{
	uint64_t reached = UINT64_C(1) << target;
	uint64_t edge = reached;

	while (edge) {
		uint32_t to = (uint32_t)__builtin_ctzll(edge);

		edge &= edge - 1;
		for (uint32_t column = 0; column < p->columns; column++) {
			bool way = p->load[column] == p->share &&
				   p->load[to] > p->share && price[column] == price[to];

			if (reached >> column & 1)
				continue;
			for (uint32_t other = p->first[column]; other != NONE && !way;
			     other = p->next[other])
				way = other > row && allowed[other] >> to & 1;
			if (!way)
				continue;
			next[column] = to;
			reached |= UINT64_C(1) << column;
			edge |= UINT64_C(1) << column;
		}
	}
	return reached;
}

/* Of the optimal assignments the lexicographically smallest: row by row, lowest first. */
static void settle_ties(struct problem *p, const int64_t *price, const uint64_t *allowed)
{
	for (uint32_t row = 0; row < p->rows; row++) {
		uint32_t target = p->column_of[row];
		uint64_t lower = allowed[row] & ((UINT64_C(1) << target) - 1);
		uint32_t next[COLUMNS];
		uint32_t column;

		if (!lower)
			continue;
		lower &= ways_to(p, row, target, price, allowed, next);
		if (!lower)
			continue;
		column = (uint32_t)__builtin_ctzll(lower);
		take(p, row);
		put(p, row, column);
		for (; column != target; column = next[column]) {
			uint32_t other = p->first[column];

			while (other != NONE &&
			       !(other > row && allowed[other] >> next[column] & 1))
				other = p->next[other];
			if (other == NONE)
				continue;
			take(p, other);
			put(p, other, next[column]);
		}
	}
}

int launch_assign(const int64_t *costs, uint32_t rows, uint32_t columns,
		  uint32_t *column_of)
{
	__attribute__((cleanup(free_problem))) struct problem *p = NULL;
	__attribute__((cleanup(free_sets))) uint64_t *allowed = NULL;
	int64_t price[COLUMNS];

	if (!columns || columns > COLUMNS)
		return -EINVAL;
	p = calloc(1, sizeof(*p) + rows * sizeof(p->next[0]));
	allowed = calloc((size_t)rows + 1, sizeof(*allowed));
	if (!p || !allowed)
		return -ENOMEM;
	p->cost = costs;
	p->rows = rows;
	p->columns = columns;
	p->share = rows / columns;
	p->column_of = column_of;
	for (uint32_t column = 0; column < columns; column++) {
		p->first[column] = NONE;
		recount_steps(p, column);
	}
	for (uint32_t row = 0; row < rows; row++)
		insert(p, row);
	find_optima(p, price, allowed);
	settle_ties(p, price, allowed);
	return 0;
}
