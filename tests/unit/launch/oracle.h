/* SPDX-License-Identifier: MIT */
/*
 * The assignment problem once more, by a method that has nothing in common with the one
 * that is tested.
 */
#pragma once

#include <stdint.h>

/* What the loads of the columns may come to: (rows / columns + 2) ^ columns states. */
#define ORACLE_STATES 65536

/*
 * The lexicographically smallest of the cheapest even sharings of COLUMNS by ROWS, as
 * launch_assign() has it. Fails the test when there are more states than that.
 */
void oracle_assign(const int64_t *cost, uint32_t rows, uint32_t columns,
		   uint32_t *column_of);
