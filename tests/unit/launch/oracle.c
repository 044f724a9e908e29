/* SPDX-License-Identifier: MIT */
/*
 * A dynamic programme: rows come in order, and all that matters of those before is how
 * many rows each column has. A state is these loads as the digits of a number; with one
 * row a column, a set of columns.
 */
#include "tests/unit/launch/oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

/* The least that the rows to come cost. */
static int64_t left[ORACLE_STATES];

static uint32_t power(uint32_t base, uint32_t exponent)
{
	uint32_t result = 1;

	while (exponent--) {
		result *= base;
		assert_true(result <= ORACLE_STATES);
	}
	return result;
}

void oracle_assign(const int64_t *cost, uint32_t rows, uint32_t columns,
		   uint32_t *column_of)
{
	uint32_t share = rows / columns, base = share + (rows % columns ? 2 : 1);
	uint32_t state = 0;

	for (uint32_t at = power(base, columns); at--;) {
		uint32_t row = 0;
		bool even = true;

		for (uint32_t i = 0, digits = at; i < columns; i++, digits /= base) {
			row += digits % base;
			even &= digits % base >= share;
		}
		left[at] = row == rows && even ? 0 : INT64_MAX / 2;
		for (uint32_t i = 0, step = 1; row < rows && i < columns;
		     i++, step *= base) {
			int64_t sum = cost[row * columns + i];

			if (at / step % base == base - 1)
				continue;
			sum += left[at + step];
			if (sum < left[at])
				left[at] = sum;
		}
	}
	for (uint32_t row = 0; row < rows; row++) {
		uint32_t column = 0, step = 1;

		while (state / step % base == base - 1 ||
		       cost[row * columns + column] + left[state + step] != left[state]) {
			step *= base;
			assert_true(++column < columns);
		}
		column_of[row] = column;
		state += step;
	}
}
