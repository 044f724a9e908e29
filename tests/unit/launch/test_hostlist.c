/* SPDX-License-Identifier: MIT */
/*
 * Host lists and task counts. The rows of hostlists.tsv are what `scontrol show
 * hostnames` of Slurm 22.05, 24.11 and 26.05 expands (with a suffix behind brackets: of
 * the last two).
 */
#include "spank/launch/hostlist.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct expected {
	const char *names[64];
	uint32_t count;
};

static int visit_expected(const char *name, uint32_t position, void *arg)
{
	struct expected *expected = arg;

	assert_true(position < expected->count);
	assert_string_equal(name, expected->names[position]);
	expected->names[position] = NULL;
	return 0;
}

static void check_hostlist(const char *list, char *expansion)
{
	struct expected expected = {0};
	char name[LAUNCH_HOST_MAX];
	uint32_t count, position;
	char *state;

	for (char *p = strtok_r(expansion, ",", &state); p;
	     p = strtok_r(NULL, ",", &state))
		expected.names[expected.count++] = p;
	assert_int_equal(launch_hostlist_count(list, &count), 0);
	assert_int_equal(count, expected.count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(launch_hostlist_nth(list, i, name, sizeof(name)), 0);
		assert_string_equal(name, expected.names[i]);
		assert_int_equal(launch_hostlist_find(list, name, &position), 0);
		assert_string_equal(expected.names[position], name);
		assert_true(position <= i);
	}
	assert_int_equal(launch_hostlist_nth(list, count, name, sizeof(name)), -ERANGE);
	assert_int_equal(launch_hostlist_find(list, "nowhere", &position), -ENOENT);
	assert_int_equal(launch_hostlist_each(list, visit_expected, &expected), 0);
	for (uint32_t i = 0; i < count; i++)
		assert_null(expected.names[i]);
}

static void check_counts(const char *text, char *expansion)
{
	struct launch_counts counts;
	uint32_t nodes = 0, sum = 0, tasks;
	char *state;

	for (char *p = strtok_r(expansion, ",", &state); p;
	     p = strtok_r(NULL, ",", &state)) {
		assert_int_equal(launch_counts_nth(text, nodes, &tasks), 0);
		assert_int_equal(tasks, atoi(p));
		nodes++;
		sum += tasks;
	}
	assert_int_equal(launch_counts_nth(text, nodes, &tasks), -ERANGE);
	assert_int_equal(launch_counts_read(text, &counts), 0);
	assert_int_equal(counts.nodes, nodes);
	assert_int_equal(counts.tasks, sum);
}

static void test_table(void **state)
{
	FILE *in = fopen("hostlists.tsv", "r");
	char line[4096];
	int rows = 0;

	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		char *fields, *kind = strtok_r(line, "\t\n", &fields);
		char *input = strtok_r(NULL, "\t\n", &fields);
		char *expansion = strtok_r(NULL, "\t\n", &fields);

		assert_non_null(expansion);
		if (strcmp(kind, "hostlist") == 0)
			check_hostlist(input, expansion);
		else if (strcmp(kind, "counts") == 0)
			check_counts(input, expansion);
		else
			assert_string_equal(kind, "kind");
		rows++;
	}
	fclose(in);
	assert_int_equal(rows, 30);
}

static void test_corners(void **state)
{
	static const struct {
		const char *list, *expansion;
	} rows[] = {
		{"n[1-2].cluster.local", "n1.cluster.local,n2.cluster.local"},
		{"n[1-2]x[3-4]y", "n1x3y,n1x4y,n2x3y,n2x4y"},
		{"n[1-003]", "n1,n2,n3"},
		{"n[001-2]", "n001,n002"},
		{"n[01-3]", "n01,n02,n03"},
		{"n[1-3,2]", "n1,n2,n3,n2"},
		{"n1,n1", "n1,n1"},
		{"n[1, 2]", "n1,n02"},
		{"[1-2]", "1,2"},
		{"n[00-01][8-10]", "n008,n009,n0010,n018,n019,n0110"},
		{"a,,b", "a,b"},
		{",a,", "a"},
		{"a b\tc\nd", "a,b,c,d"},
		{"n[18446744073709551614-18446744073709551615]",
		 "n18446744073709551614,n18446744073709551615"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char expansion[256];

		snprintf(expansion, sizeof(expansion), "%s", rows[i].expansion);
		check_hostlist(rows[i].list, expansion);
	}
}

static int visit_none(const char *name, uint32_t position, void *arg)
{
	fail_msg("visited %s", name);
	return 0;
}

static void test_no_hostlist(void **state)
{
	static const struct {
		const char *list;
		int error;
	} rows[] = {
		{NULL, -EINVAL},
		{"", -EINVAL},
		{"(null)", -EINVAL},
		{",", -EINVAL},
		{"n[1-2", -EINVAL},
		{"n]", -EINVAL},
		{"n[3-1]", -EINVAL},
		{"n[]", -EINVAL},
		{"n[a-b]", -EINVAL},
		{"n[8-12:2]", -EINVAL},
		{"n[1-]", -EINVAL},
		{"n[-1]", -EINVAL},
		{"n[1,]", -EINVAL},
		{"n[,1]", -EINVAL},
		{"n[1,,2]", -EINVAL},
		{"n[[1]]", -EINVAL},
		{"n[+1]", -EINVAL},
		{"n[0x1]", -EINVAL},
		{"n1,n[1-2],n[", -EINVAL},
		{"n[18446744073709551616]", -EINVAL},
		{"n[0-18446744073709551616]", -EINVAL},
		{"n[1][2][3][4][5][6][7][8][9]", -EINVAL},
		{"n[0-18446744073709551615]", -ERANGE},
		{"n[0-4294967295]", -ERANGE},
		{"n[0-4294967294],n", -ERANGE},
		{"n[0-65535][0-65535]", -ERANGE},
		{"n[0-4294967290,1-9]", -ERANGE},
	};
	char name[LAUNCH_HOST_MAX];
	uint32_t n;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *list = rows[i].list;
		int error = rows[i].error;

		assert_int_equal(launch_hostlist_count(list, &n), error);
		assert_int_equal(launch_hostlist_nth(list, 0, name, sizeof(name)), error);
		assert_int_equal(launch_hostlist_find(list, "n1", &n), error);
		assert_int_equal(launch_hostlist_each(list, visit_none, NULL), error);
	}
}

static void test_size(void **state)
{
	char list[300] = "", name[LAUNCH_HOST_MAX];

	assert_int_equal(launch_hostlist_nth("abc[07]d", 0, name, 7), 0);
	assert_string_equal(name, "abc07d");
	assert_int_equal(launch_hostlist_nth("abc[07]d", 0, name, 6), -ENAMETOOLONG);
	assert_int_equal(launch_hostlist_nth("abc[07]d", 0, name, 4), -ENAMETOOLONG);
	assert_int_equal(launch_hostlist_nth("abc[07]d", 0, name, 1), -ENAMETOOLONG);
	assert_int_equal(launch_hostlist_nth("abc[07]d", 0, name, 0), -ENAMETOOLONG);

	memset(list, 'n', 255);
	assert_int_equal(launch_hostlist_nth(list, 0, name, sizeof(name)), 0);
	assert_string_equal(name, list);
	list[255] = 'n';
	assert_int_equal(launch_hostlist_nth(list, 0, name, sizeof(name)), -ENAMETOOLONG);
	assert_int_equal(launch_hostlist_each(list, visit_none, NULL), -ENAMETOOLONG);

	/* Zeros alone can make a name too long. */
	snprintf(list, sizeof(list), "n[%0280d]", 1);
	assert_int_equal(launch_hostlist_nth(list, 0, name, sizeof(name)), -ENAMETOOLONG);
}

static void test_large(void **state)
{
	const char *list = "n[00000-99999]";
	char name[LAUNCH_HOST_MAX];
	size_t size = 1 << 20;
	uint32_t n;
	char *text;

	assert_int_equal(launch_hostlist_count(list, &n), 0);
	assert_int_equal(n, 100000);
	assert_int_equal(launch_hostlist_nth(list, 98765, name, sizeof(name)), 0);
	assert_string_equal(name, "n98765");
	assert_int_equal(launch_hostlist_find(list, "n98765", &n), 0);
	assert_int_equal(n, 98765);
	assert_int_equal(
		launch_hostlist_nth("n[0-4294967293],m", 4294967294U, name, sizeof(name)),
		0);
	assert_string_equal(name, "m");

	/* A text of a megabyte: open brackets, one long name, one name a character. */
	text = malloc(size + 1);
	assert_non_null(text);
	text[size] = '\0';
	memset(text, '[', size);
	assert_int_equal(launch_hostlist_count(text, &n), -EINVAL);
	memset(text, 'n', size);
	assert_int_equal(launch_hostlist_count(text, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(launch_hostlist_nth(text, 0, name, sizeof(name)), -ENAMETOOLONG);
	for (size_t i = 1; i < size; i += 2)
		text[i] = ',';
	assert_int_equal(launch_hostlist_count(text, &n), 0);
	assert_int_equal(n, size / 2);
	assert_int_equal(launch_hostlist_find(text, "m", &n), -ENOENT);
	free(text);
}

static int stop_at_two(const char *name, uint32_t position, void *arg)
{
	++*(int *)arg;
	return position == 1 ? 7 : 0;
}

static void test_each_stops(void **state)
{
	int visits = 0;

	assert_int_equal(launch_hostlist_each("n[1-9]", stop_at_two, &visits), 7);
	assert_int_equal(visits, 2);
}

static void test_counts(void **state)
{
	struct launch_counts counts;
	uint32_t n;

	assert_int_equal(launch_counts_read("8(x2),4", &counts), 0);
	assert_int_equal(counts.nodes, 3);
	assert_int_equal(counts.tasks, 20);
	assert_int_equal(counts.least, 4);
	assert_int_equal(counts.most, 8);

	assert_int_equal(launch_counts_nth("4096(x100000),1", 100000, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(launch_counts_read("4096(x100000)", &counts), 0);
	assert_int_equal(counts.tasks, 409600000);

	/*
	 * Nodes with a task of local rank 2: both of 3, the one of 5, not the one of 2.
	 */
	assert_int_equal(launch_counts_above("3(x2),2,5", 2, 4, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(launch_counts_above("3(x2),2,5", 2, 1, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(launch_counts_above("3(x2),2,5", 4, 4, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(launch_counts_above("3(x2),2,5", 0, 0, &n), 0);
	assert_int_equal(n, 0);
}

static int visit_run(uint32_t tasks, uint32_t nodes, void *arg)
{
	uint32_t *sum = arg;

	*sum = *sum * 100 + tasks * 10 + nodes;
	return tasks == 9;
}

static void test_counts_each(void **state)
{
	uint32_t sum = 0;

	assert_int_equal(launch_counts_each("8(x2),4", visit_run, &sum), 0);
	assert_int_equal(sum, 8241);
	sum = 0;
	assert_int_equal(launch_counts_each("9(x2),4", visit_run, &sum), 1);
	assert_int_equal(sum, 92);
	assert_int_equal(launch_counts_each("8(x2),", visit_run, &sum), -EINVAL);
}

static void test_no_counts(void **state)
{
	static const struct {
		const char *text;
		int error;
	} rows[] = {
		{NULL, -EINVAL},
		{"", -EINVAL},
		{"(null)", -EINVAL},
		{"a", -EINVAL},
		{"-1", -EINVAL},
		{"8,", -EINVAL},
		{",8", -EINVAL},
		{"8(2)", -EINVAL},
		{"8(x)", -EINVAL},
		{"8(x2", -EINVAL},
		{"8(x0)", -EINVAL},
		{"8(x2)4", -EINVAL},
		{"8 ,4", -EINVAL},
		{"4294967296", -EINVAL},
		{"1(x4294967296)", -EINVAL},
		{"4294967295,1", -ERANGE},
		{"65536(x65536)", -ERANGE},
		{"0(x4294967295),0", -ERANGE},
	};
	struct launch_counts counts;
	uint32_t n;

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(launch_counts_read(rows[i].text, &counts),
				 rows[i].error);
		if (rows[i].error == -EINVAL) {
			assert_int_equal(launch_counts_nth(rows[i].text, 0, &n), -EINVAL);
			assert_int_equal(launch_counts_above(rows[i].text, 0, 1, &n),
					 -EINVAL);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),       cmocka_unit_test(test_corners),
		cmocka_unit_test(test_no_hostlist), cmocka_unit_test(test_size),
		cmocka_unit_test(test_large),       cmocka_unit_test(test_each_stops),
		cmocka_unit_test(test_counts),      cmocka_unit_test(test_counts_each),
		cmocka_unit_test(test_no_counts),
	};

	return cmocka_run_group_tests_name("hostlist", tests, NULL, NULL);
}
