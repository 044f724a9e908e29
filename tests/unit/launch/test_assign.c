/* SPDX-License-Identifier: MIT */
/*
 * The assignment against trial of everything (small), against a dynamic programme over
 * the columns taken so far (up to a node's 16 GPUs, the lexicographical order included)
 * and against the Hungarian method with a copy of each column per place (large).
 */
#include "spank/launch/assign.h"
#include "tests/unit/launch/oracle.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Xorshift: the same cases on every machine. */
static uint64_t seed = 88172645463325252ULL;

static uint32_t random_below(uint32_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % limit;
}

struct trial {
	const int64_t *cost;
	uint32_t rows, columns;
	uint32_t load[8];
	uint32_t now[8];
	int64_t total;
	uint32_t best[8];
	int64_t least;
};

/* Every even sharing in lexicographical order; the first of the cheapest stays. */
static void try_row(struct trial *trial, uint32_t row)
{
	uint32_t share = trial->rows / trial->columns;
	uint32_t extra = 0, missing = 0;

	for (uint32_t column = 0; column < trial->columns; column++) {
		if (trial->load[column] > share + 1)
			return;
		extra += trial->load[column] > share;
		missing += trial->load[column] < share;
	}
	if (extra > trial->rows % trial->columns)
		return;
	if (row == trial->rows) {
		if (missing == 0 && trial->total < trial->least) {
			trial->least = trial->total;
			memcpy(trial->best, trial->now, sizeof(trial->best));
		}
		return;
	}
	for (uint32_t column = 0; column < trial->columns; column++) {
		int64_t cost = trial->cost[row * trial->columns + column];

		trial->now[row] = column;
		trial->load[column]++;
		trial->total += cost;
		try_row(trial, row + 1);
		trial->total -= cost;
		trial->load[column]--;
	}
}

static void compare_with_trial(const int64_t *cost, uint32_t rows, uint32_t columns)
{
	struct trial trial = {
		.cost = cost, .rows = rows, .columns = columns, .least = INT64_MAX};
	uint32_t column_of[8] = {0};

	try_row(&trial, 0);
	assert_int_equal(launch_assign(cost, rows, columns, column_of), 0);
	if (!memcmp(column_of, trial.best, rows * sizeof(*column_of)))
		return;
	for (uint32_t row = 0; row < rows; row++) {
		for (uint32_t column = 0; column < columns; column++)
			print_message("%4lld", (long long)cost[row * columns + column]);
		print_message("  got %u, not %u\n", column_of[row], trial.best[row]);
	}
	fail_msg("%u rows, %u columns: not the first of the best", rows, columns);
}

/* Few values make many ties, which is what distances are like. */
static void equals_trial(void **state)
{
	static const uint32_t values[] = {1, 2, 4, 4, 10, 1000};
	int64_t cost[64];

	for (uint32_t round = 0; round < 6000; round++) {
		uint32_t rows = random_below(8), columns = 1 + random_below(7);
		uint32_t limit = values[round % 6];

		for (uint32_t i = 0; i < rows * columns; i++)
			cost[i] = random_below(limit);
		compare_with_trial(cost, rows, columns);
	}
}

/* Rows in groups of equal ones, as several rows for one task, and columns too. */
static void equals_trial_in_groups(void **state)
{
	int64_t cost[64];

	for (uint32_t round = 0; round < 3000; round++) {
		uint32_t rows = 1 + random_below(7), columns = 1 + random_below(7);
		uint32_t high = 1 + random_below(3), wide = 1 + random_below(3);
		int64_t block[64];

		for (uint32_t i = 0; i < 64; i++)
			block[i] = random_below(4);
		for (uint32_t row = 0; row < rows; row++)
			for (uint32_t column = 0; column < columns; column++)
				cost[row * columns + column] =
					block[row / high * 8 + column / wide];
		compare_with_trial(cost, rows, columns);
	}
}

static void compare_with_programme(const int64_t *cost, uint32_t rows, uint32_t columns)
{
	uint32_t column_of[16] = {0}, best[16] = {0};

	oracle_assign(cost, rows, columns, best);
	assert_int_equal(launch_assign(cost, rows, columns, column_of), 0);
	for (uint32_t row = 0; row < rows; row++)
		if (column_of[row] != best[row])
			fail_msg("%u rows, %u columns: row %u got %u, not %u", rows,
				 columns, row, column_of[row], best[row]);
}

static void equals_dynamic_programme(void **state)
{
	/* Tasks and GPUs of one node. */
	static const struct {
		uint32_t rows, columns;
	} sizes[] = {{16, 16}, {15, 16}, {12, 16}, {3, 16}, {16, 8}, {15, 8}, {12, 8},
		     {9, 8},   {16, 6},  {13, 6},  {16, 4}, {15, 4}, {16, 2}, {16, 1}};
	/* What distances cost, what off CPUs do, and nothing but ties. */
	static const uint32_t values[] = {4, 1000, 1};
	int64_t cost[16 * 16];

	for (uint32_t round = 0; round < sizeof(sizes) / sizeof(*sizes) * 6; round++) {
		uint32_t rows = sizes[round / 6].rows;
		uint32_t columns = sizes[round / 6].columns;
		/* Every second round, columns in pairs, as two GPUs of a NUMA node. */
		uint32_t wide = 1 + round % 2;

		for (uint32_t i = 0; i < rows * columns; i++)
			cost[i] = i % columns % wide ? cost[i - 1]
						     : random_below(values[round % 3]);
		compare_with_programme(cost, rows, columns);
	}
}

/*
 * The Hungarian method for ROWS <= PLACES, place p being column p / copies, as in
 * Jonker and Volgenant: shortest augmenting paths with potentials. The least total.
 */
static int64_t least_total(const int64_t *cost, uint32_t rows, uint32_t columns,
			   uint32_t copies)
{
	uint32_t places = columns * copies;
	int64_t *u = calloc(rows + 1, sizeof(*u)), *v = calloc(places + 1, sizeof(*v));
	int64_t *least = calloc(places + 1, sizeof(*least));
	uint32_t *row_at = calloc(places + 1, sizeof(*row_at));
	uint32_t *way = calloc(places + 1, sizeof(*way));
	bool *used = calloc(places + 1, sizeof(*used));
	int64_t total = 0;

	assert_true(u && v && least && row_at && way && used);
	for (uint32_t row = 1; row <= rows; row++) {
		uint32_t at = 0;

		row_at[0] = row;
		for (uint32_t place = 0; place <= places; place++) {
			least[place] = INT64_MAX;
			used[place] = false;
		}
		do {
			uint32_t from = row_at[at], next = 0;
			int64_t delta = INT64_MAX;

			used[at] = true;
			for (uint32_t place = 1; place <= places; place++) {
				uint32_t column = (place - 1) / copies;
				int64_t now = cost[(from - 1) * columns + column] -
					      u[from] - v[place];

				if (used[place])
					continue;
				if (now < least[place]) {
					least[place] = now;
					way[place] = at;
				}
				if (least[place] < delta) {
					delta = least[place];
					next = place;
				}
			}
			for (uint32_t place = 0; place <= places; place++) {
				if (used[place]) {
					u[row_at[place]] += delta;
					v[place] -= delta;
				} else if (place) {
					least[place] -= delta;
				}
			}
			at = next;
		} while (row_at[at]);
		for (; at; at = way[at])
			row_at[at] = row_at[way[at]];
	}
	for (uint32_t place = 1; place <= places; place++)
		if (row_at[place])
			total += cost[(row_at[place] - 1) * columns +
				      (place - 1) / copies];
	free(u);
	free(v);
	free(least);
	free(row_at);
	free(way);
	free(used);
	return total;
}

static void equals_hungarian_method(void **state)
{
	static const struct {
		uint32_t rows, columns;
	} sizes[] = {{8, 8},   {16, 16}, {64, 64},  {5, 16},   {40, 64},
		     {64, 16}, {24, 8},  {256, 64}, {300, 10}, {63, 1}};
	static const uint32_t values[] = {2, 4, 100, 1000000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) * 4; i++) {
		uint32_t rows = sizes[i / 4].rows, columns = sizes[i / 4].columns;
		uint32_t copies = (rows + columns - 1) / columns;
		int64_t *cost = malloc(sizeof(*cost) * rows * columns);
		uint32_t *column_of = malloc(sizeof(*column_of) * rows);
		uint32_t load[64] = {0};
		int64_t total = 0;

		assert_true(cost && column_of);
		for (uint32_t j = 0; j < rows * columns; j++)
			cost[j] = random_below(values[i % 4]);
		assert_int_equal(launch_assign(cost, rows, columns, column_of), 0);
		for (uint32_t row = 0; row < rows; row++) {
			assert_true(column_of[row] < columns);
			load[column_of[row]]++;
			total += cost[row * columns + column_of[row]];
		}
		for (uint32_t column = 0; column < columns; column++)
			assert_in_range(load[column], rows / columns, copies);
		assert_int_equal(total, least_total(cost, rows, columns, copies));
		free(cost);
		free(column_of);
	}
}

/* The largest node that there can be: a task on each of 4096 CPUs. */
static void takes_a_full_node(void **state)
{
	enum { ROWS = 4096, COLUMNS = 64 };
	int64_t *cost = malloc(sizeof(*cost) * ROWS * COLUMNS);
	uint32_t *column_of = malloc(sizeof(*column_of) * ROWS);

	assert_true(cost && column_of);
	/* Row r belongs to column 63 - r / 64, and to no other. */
	for (uint32_t row = 0; row < ROWS; row++)
		for (uint32_t column = 0; column < COLUMNS; column++)
			cost[row * COLUMNS + column] = column != COLUMNS - 1 - row / 64;
	assert_int_equal(launch_assign(cost, ROWS, COLUMNS, column_of), 0);
	for (uint32_t row = 0; row < ROWS; row++)
		assert_int_equal(column_of[row], COLUMNS - 1 - row / 64);
	/* All the same: blocks, as the lexicographically smallest. */
	memset(cost, 0, sizeof(*cost) * ROWS * COLUMNS);
	assert_int_equal(launch_assign(cost, ROWS, COLUMNS, column_of), 0);
	for (uint32_t row = 0; row < ROWS; row++)
		assert_int_equal(column_of[row], row / 64);
	free(cost);
	free(column_of);
}

static void keeps_large_costs_apart(void **state)
{
	const int64_t half = LAUNCH_ASSIGN_TOTAL_MAX / 2;
	const int64_t cost[] = {half - 1, half, half - 1, half};
	uint32_t column_of[2];

	/* Both sums are equal: the row order decides. */
	assert_int_equal(launch_assign(cost, 2, 2, column_of), 0);
	assert_int_equal(column_of[0], 0);
	assert_int_equal(column_of[1], 1);
}

static void refuses_odd_sizes(void **state)
{
	uint32_t column_of[1];
	int64_t cost[65] = {0};

	assert_int_equal(launch_assign(cost, 1, 0, column_of), -EINVAL);
	assert_int_equal(launch_assign(cost, 1, 65, column_of), -EINVAL);
	assert_int_equal(launch_assign(cost, 1, 64, column_of), 0);
	assert_int_equal(launch_assign(cost, 0, 1, column_of), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_trial),
		cmocka_unit_test(equals_trial_in_groups),
		cmocka_unit_test(equals_dynamic_programme),
		cmocka_unit_test(equals_hungarian_method),
		cmocka_unit_test(takes_a_full_node),
		cmocka_unit_test(keeps_large_costs_apart),
		cmocka_unit_test(refuses_odd_sizes),
	};

	return cmocka_run_group_tests_name("assign", tests, NULL, NULL);
}
