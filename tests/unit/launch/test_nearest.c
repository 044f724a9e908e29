/* SPDX-License-Identifier: MIT */
#include "spank/launch/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* A column of a table, and a hole in it, as callers have them. */
static const struct {
	int number;
	const char *name;
} table[] = {
	{1, "gpus_per_node"}, {2, "ntasks_per_node"}, {3, "gpus"},     {4, NULL},
	{5, "verbose"},       {6, "torch"},           {7, "torchrun"},
};

static void test_nearest(void **state)
{
	static const struct {
		const char *word, *near;
	} rows[] = {
		{"gpus_per_nod", "gpus_per_node"},   /* one missing */
		{"gpus_per_nodes", "gpus_per_node"}, /* one too many */
		{"gpus_per_mode", "gpus_per_node"},  /* one wrong */
		{"gpsu", "gpus"},                    /* two swapped: 1, not 2 */
		{"gpus-per-node", "gpus_per_node"},  /* '-' is '_' */
		{"GPUS_Per_Node", "gpus_per_node"},  /* no matter the case */
		{"tasks_per_node", "ntasks_per_node"},
		{"torchun", "torchrun"}, /* 1 from torchrun, 2 from torch */
		{"torhc", "torch"},
		{"gpus", "gpus"},
		{"gxyu", NULL},      /* 3 of 4 letters: more than a third, rounded up */
		{"gxys", "gpus"},    /* 2 of 4 letters: a third, rounded up */
		{"verb", "verbose"}, /* 3 of 7 letters: likewise */
		{"ver", NULL},       /* 4 of 7 */
		{"partition", NULL},
		{"", NULL},
		{"x", NULL},
	};
	const char *const *names = &table[0].name;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *near = launch_nearest(rows[i].word, names, COUNT(table),
						  sizeof(table[0]));

		if (!rows[i].near)
			assert_null(near);
		else
			assert_string_equal(near ? near : "(null)", rows[i].near);
	}
}

static void test_first_wins(void **state)
{
	const char *const names[] = {"abcd", "abce"};

	assert_string_equal(launch_nearest("abcx", names, 2, sizeof(*names)), "abcd");
	assert_null(launch_nearest("abcx", names, 0, sizeof(*names)));
}

/* A swap is one mistake and not two: abcd is nearer than abxx, which stands first. */
static void test_swap(void **state)
{
	const char *const names[] = {"abxx", "abcd"};

	assert_string_equal(launch_nearest("abdc", names, 2, sizeof(*names)), "abcd");
}

static void test_one_letter(void **state)
{
	const char *const names[] = {"y"};

	assert_null(launch_nearest("x", names, 1, sizeof(*names)));
	assert_string_equal(launch_nearest("Y", names, 1, sizeof(*names)), "y");
}

static void test_long_word(void **state)
{
	const char *const names[] = {"gpus"};
	char word[5000];

	memset(word, 'g', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	assert_null(launch_nearest(word, names, 1, sizeof(*names)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest),   cmocka_unit_test(test_first_wins),
		cmocka_unit_test(test_swap),      cmocka_unit_test(test_one_letter),
		cmocka_unit_test(test_long_word),
	};

	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
