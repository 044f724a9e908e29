/* SPDX-License-Identifier: MIT */
/* The layout of a step as srun hands it to the tasks: written, read and both. */
#include "spank/launch/order.h"

#include "spank/launch/hostlist.h"

#include "tests/unit/launch/support.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define TASKS_MAX 16

static void test_write(void **state)
{
	static const struct {
		const char *nodelist;
		uint32_t ntasks;
		uint32_t node_of[TASKS_MAX];
		const char *text;
	} rows[] = {
		/* Rank 0 on n3, then n1, then n2. */
		{"n[1-3]", 3, {2, 0, 1}, "4711.2:n[3,1-2]:0,1,2"},
		{"n[1-3]", 4, {2, 2, 0, 1}, "4711.2:n[3,1-2]:0(x2),1,2"},
		/* A host file may come back to a node. */
		{"n[1-3]", 6, {2, 0, 2, 1, 1, 0}, "4711.2:n[3,1-2]:0,1,0,2(x2),1"},
		{"n[1-3]", 3, {0, 1, 2}, "4711.2:n[1-3]:0,1,2"},
		{"n[1-3]", 3, {2, 1, 0}, "4711.2:n[3,2,1]:0,1,2"},
		{"n1", 4, {0, 0, 0, 0}, "4711.2:n1:0(x4)"},
		/* Numbers of one width, of growing width, and with too many zeros. */
		{"n[08-11]", 4, {0, 1, 2, 3}, "4711.2:n[08-11]:0,1,2,3"},
		{"n[9-11]", 3, {0, 1, 2}, "4711.2:n[9-11]:0,1,2"},
		{"n09,n10,n9,n010", 4, {2, 1, 0, 3}, "4711.2:n[9-10,09,010]:0,1,2,3"},
		{"n9,n010", 2, {0, 1}, "4711.2:n[9,010]:0,1"},
		{"n09,n10", 2, {0, 1}, "4711.2:n[09-10]:0,1"},
		/* Other names; numbers in front or in the middle do not count up. */
		{"a1,b1,b2", 3, {0, 1, 2}, "4711.2:a1,b[1-2]:0,1,2"},
		{"b1,a1,b2", 3, {0, 1, 2}, "4711.2:b1,a1,b2:0,1,2"},
		{"n1,nn2", 2, {0, 1}, "4711.2:n1,nn2:0,1"},
		{"login,n1,n2", 3, {1, 2, 0}, "4711.2:n[1-2],login:0,1,2"},
		{"r1-ib,r2-ib", 2, {1, 0}, "4711.2:r2-ib,r1-ib:0,1"},
		{"r[1-2]n[1-2]", 4, {3, 2, 1, 0}, "4711.2:r2n[2,1],r1n[2,1]:0,1,2,3"},
		{"1,2", 2, {1, 0}, "4711.2:[2,1]:0,1"},
		{"n999999999999999999999", 1, {0}, "4711.2:n999999999999999999999:0"},
		{"n1000000000000000000000,n1000000000000000000001",
		 2,
		 {0, 1},
		 "4711.2:n1000[000000000000000000-000000000000000001]:0,1"},
		{"n1999999999999999999,n2000000000000000000",
		 2,
		 {0, 1},
		 "4711.2:n1999999999999999999,n2000000000000000000:0,1"},
		/* A node without tasks is last. */
		{"n[1-3]", 2, {2, 1}, "4711.2:n[3,2,1]:0,1"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text, *nodes, *placement;
		uint32_t nnodes;

		assert_int_equal(launch_order_write(4711, 2, rows[i].nodelist,
						    rows[i].node_of, rows[i].ntasks,
						    &text),
				 0);
		if (strcmp(text, rows[i].text) != 0)
			fail_msg("row %zu: %s", i, text);

		/* And back: each task is found on the node that it was put on. */
		assert_int_equal(launch_hostlist_count(rows[i].nodelist, &nnodes), 0);
		assert_int_equal(launch_order_read(text, 4711, 2, nnodes, rows[i].ntasks,
						   &nodes, &placement),
				 0);
		for (uint32_t rank = 0; rank < rows[i].ntasks; rank++) {
			char want[LAUNCH_HOST_MAX], have[LAUNCH_HOST_MAX];
			uint32_t place;

			assert_int_equal(launch_counts_nth(placement, rank, &place), 0);
			assert_int_equal(
				launch_hostlist_nth(nodes, place, have, sizeof(have)), 0);
			assert_int_equal(launch_hostlist_nth(rows[i].nodelist,
							     rows[i].node_of[rank], want,
							     sizeof(want)),
					 0);
			assert_string_equal(have, want);
		}
		free(nodes);
		free(placement);
		free(text);
	}
}

static void test_write_faults(void **state)
{
	static const struct {
		const char *nodelist;
		uint32_t ntasks;
		uint32_t node_of[TASKS_MAX];
	} rows[] = {
		{"n[1-3]", 0, {0}}, {"n[1-3]", 2, {0, 3}}, {"n[1-3]", 1, {UINT32_MAX}},
		{"n[1-3", 1, {0}},  {"n:1", 1, {0}},       {"", 1, {0}},
		{NULL, 1, {0}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = "";

		assert_int_equal(launch_order_write(4711, 2, rows[i].nodelist,
						    rows[i].node_of, rows[i].ntasks,
						    &text),
				 -EINVAL);
		assert_null(text);
	}
}

/* One run of tasks on each of NODES nodes, the last one first. */
static char *write_reversed(uint32_t nodes, uint32_t tasks)
{
	uint32_t *node_of = calloc(nodes * tasks, sizeof(*node_of));
	char list[32], *text;

	assert_non_null(node_of);
	for (uint32_t rank = 0; rank < nodes * tasks; rank++)
		node_of[rank] = nodes - 1 - rank / tasks;
	snprintf(list, sizeof(list), "n[00001-%05u]", nodes);
	assert_int_equal(launch_order_write(1, 0, list, node_of, nodes * tasks, &text),
			 0);
	free(node_of);
	return text;
}

/* A text that gets too long is cut down to what matters most. */
static void test_limit(void **state)
{
	char *nodes, *placement, *text;
	uint32_t most = 0;

	for (uint32_t count = 4000; count < 6000 && !most; count += 100) {
		text = write_reversed(count, 8);
		assert_true(strlen(text) <= LAUNCH_ORDER_MAX);
		if (!strchr(strchr(text, ':') + 1, ':'))
			most = count;
		free(text);
	}
	/* Six characters for a name, nine for its run: 65,536 / 15. */
	assert_in_range(most, 4300, 4500);

	text = write_reversed(100000, 1);
	assert_string_equal(text, "1.0:n100000");
	assert_int_equal(
		launch_order_read(text, 1, 0, 100000, 100000, &nodes, &placement), 0);
	assert_string_equal(nodes, "n100000");
	assert_null(placement);
	free(nodes);
	free(text);

	/* In order it is short, whatever the size. */
	text = write_reversed(1, 4096);
	assert_string_equal(text, "1.0:n00001:0(x4096)");
	free(text);
}

static void test_read(void **state)
{
	static const struct {
		const char *text;
		int result;
	} rows[] = {
		{"4711.2:n[3,1-2]:0(x2),1,2", 0},
		{"4711.2:n3", 0},
		/* Of another step. */
		{"4711.20:n[3,1-2]:0(x2),1,2", -ENOENT},
		{"4711.1:n[3,1-2]:0(x2),1,2", -ENOENT},
		{"471.2:n[3,1-2]:0(x2),1,2", -ENOENT},
		{"47110.2:n[3,1-2]:0(x2),1,2", -ENOENT},
		{"04711.2:n3", -ENOENT},
		{"4711:n3", -ENOENT},
		{"4711.2", -ENOENT},
		{"n[3,1-2]", -ENOENT},
		{"", -ENOENT},
		/* Of this one, and not right. */
		{"4711.2:", -EINVAL},
		{"4711.2:n[3", -EINVAL},
		{"4711.2:n[3,1]", -EINVAL},
		{"4711.2:n[3,1]:0(x3),1", -EINVAL},
		{"4711.2:n[1-4]:0(x2),1,2", -EINVAL},
		{"4711.2:n[3,1-2]:", -EINVAL},
		{"4711.2:n[3,1-2]:0(x2),1", -EINVAL},
		{"4711.2:n[3,1-2]:0(x2),1,2,2", -EINVAL},
		{"4711.2:n[3,1-2]:0(x2),1,3", -EINVAL},
		{"4711.2:n[3,1-2]:1(x2),0,2", -EINVAL},
		{"4711.2:n[3,1-2]:0(x2),2,1", -EINVAL},
		{"4711.2:n[3,1-2]:0(x4294967295),1(x4)", -EINVAL},
		{"4711.2:n[3,1-2]:0(x2),1,2:", -EINVAL},
		{"4711.2:n[3,1-2]:x", -EINVAL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *nodes = "", *placement = "";
		int r = launch_order_read(rows[i].text, 4711, 2, 3, 4, &nodes,
					  &placement);

		if (r != rows[i].result)
			fail_msg("%s: %d", rows[i].text, r);
		if (r) {
			assert_null(nodes);
			assert_null(placement);
		}
		free(nodes);
		free(placement);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_write_faults),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
