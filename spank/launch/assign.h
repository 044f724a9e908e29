/* SPDX-License-Identifier: MIT */
/*
 * The assignment problem behind the GPU binding, free of CPUs and GPUs: rows share
 * columns evenly at the smallest total cost.
 */
#pragma once

#include <stdint.h>

#define LAUNCH_ASSIGN_COLUMNS_MAX 64

/* Largest sum of one cost per row that launch_assign() takes. */
#define LAUNCH_ASSIGN_TOTAL_MAX (INT64_C(1) << 44)

/*
 * Gives each of ROWS rows one of COLUMNS (1 to LAUNCH_ASSIGN_COLUMNS_MAX) columns: every
 * column is taken floor(ROWS / COLUMNS) times or once more, the sum of COST[row * COLUMNS
 * + column] (not negative, at most LAUNCH_ASSIGN_TOTAL_MAX in all) is the smallest
 * possible, and of all such answers COLUMN_OF (ROWS entries) is the lexicographically
 * smallest. -EINVAL when there is no column or are too many, -ENOMEM.
 */
int launch_assign(const int64_t *cost, uint32_t rows, uint32_t columns,
		  uint32_t *column_of);
