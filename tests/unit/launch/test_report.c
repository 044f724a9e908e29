/* SPDX-License-Identifier: MIT */
/* The table of `verbose`, compared with what a reader should see. */
#include "spank/launch/report.h"

#include "tests/unit/launch/support.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect(const struct launch_facts *facts, const char *list, bool block,
		   const char *wanted)
{
	struct launch_settings settings;
	struct launch_error err = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int r;

	assert_non_null(out);
	launch_settings_init(&settings);
	assert_int_equal(launch_settings_parse(&settings, list, &err), 0);
	r = launch_report(out, facts, &settings, block, &err);
	fclose(out);
	if (r)
		fail_msg("%s", err.text);
	assert_string_equal(text, wanted);
	free(text);
}

static const struct launch_facts uneven = {
	.nnodes = 3,
	.ntasks = 17,
	.nodelist = "n[9-11]",
	.tasks_per_node = "8(x2),1",
	.resv_ports = "41001-41009",
};

static void test_nodes(void **state)
{
	expect(&uneven, "torch", true,
	       "launcher     torch (worker shape)\n"
	       "MASTER_ADDR  n9\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "NODE_RANK  NODE  TASKS  RANKS\n"
	       "0          n9    8      0-7\n"
	       "1          n10   8      8-15\n"
	       "2          n11   1      16\n");
	/* Not numbered node by node. */
	expect(&uneven, "port=29500", false,
	       "launcher     auto (worker shape)\n"
	       "MASTER_ADDR  n9\n"
	       "MASTER_PORT  29500 (port=)\n"
	       "NODE_RANK  NODE  TASKS\n"
	       "0          n9    8\n"
	       "1          n10   8\n"
	       "2          n11   1\n");
	expect(&uneven, "mpi", true,
	       "launcher     mpi (worker shape)\n"
	       "ranks        from PMIx\n"
	       "NODE_RANK  NODE  TASKS  RANKS\n"
	       "0          n9    8      0-7\n"
	       "1          n10   8      8-15\n"
	       "2          n11   1      16\n");
}

static void test_user(void **state)
{
	struct launch_facts facts = {.nnodes = 1,
				     .ntasks = 1,
				     .nodelist = "login-node-7",
				     .tasks_per_node = "1",
				     .user_addr = "login",
				     .user_port = "29500"};

	expect(&facts, "torchrun", true,
	       "launcher     torchrun (node shape)\n"
	       "MASTER_ADDR  login (as set)\n"
	       "MASTER_PORT  29500 (as set)\n"
	       "NODE_RANK  NODE          TASKS  RANKS\n"
	       "0          login-node-7  1      0\n");
}

static void test_folded(void **state)
{
	struct launch_facts facts = {.resv_ports = "41001"};

	/* 16 nodes, each in a row of its own; one more, and they fold. */
	facts.nnodes = 17;
	facts.nodelist = "n[1-16],m";
	facts.tasks_per_node = "8(x17)";
	expect(&facts, "", true,
	       "launcher     auto (worker shape)\n"
	       "MASTER_ADDR  n1\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "NODE_RANK  NODE      TASKS  RANKS\n"
	       "0-16       n1 ... m  8      0-135\n");

	facts.nnodes = 100000;
	facts.nodelist = "n[00000-99999]";
	facts.tasks_per_node = "8(x99997),7,8(x1),2";
	expect(&facts, "", true,
	       "launcher     auto (worker shape)\n"
	       "MASTER_ADDR  n00000\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "NODE_RANK  NODE               TASKS  RANKS\n"
	       "0-99996    n00000 ... n99996  8      0-799975\n"
	       "99997      n99997             7      799976-799982\n"
	       "99998      n99998             8      799983-799990\n"
	       "99999      n99999             2      799991-799992\n");
}

/* 130 nodes of 1 and 2 tasks by turns: 64 rows, and how many are left. */
static void test_cut(void **state)
{
	struct launch_facts facts = {
		.nnodes = 130, .nodelist = "n[1-130]", .resv_ports = "41001"};
	struct launch_settings settings;
	struct launch_error err = {0};
	char counts[1024] = "1";
	char *text = NULL;
	size_t size;
	int lines = 0;
	FILE *out = open_memstream(&text, &size);

	for (int i = 1; i < 130; i++)
		strcat(counts, i % 2 ? ",2" : ",1");
	facts.tasks_per_node = counts;
	launch_settings_init(&settings);
	assert_int_equal(launch_report(out, &facts, &settings, true, &err), 0);
	fclose(out);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 3 + 1 + 64 + 1);
	assert_non_null(
		strstr(text, "\n63         n64   2      94-95\n... and 66 more nodes\n"));
	free(text);
}

/* Names are not in the order of the node ranks: no row pretends that they are. */
static void test_sorted_names(void **state)
{
	struct launch_facts facts = uneven;

	facts.head = "n10";
	facts.layout = LAUNCH_LAYOUT_OTHER;
	expect(&facts, "", true,
	       "launcher     auto (worker shape)\n"
	       "MASTER_ADDR  n10\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "nodes        n[9-11] (by name)\n"
	       "tasks        8(x2),1 (likewise)\n");
	/* Where srun has told the layout, the nodes by NODE_RANK. */
	facts.order = "n[10,9,11]";
	facts.placement = "0(x8),1(x8),2";
	expect(&facts, "", true,
	       "launcher     auto (worker shape)\n"
	       "MASTER_ADDR  n10\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "nodes        n[9-11] (by name)\n"
	       "tasks        8(x2),1 (likewise)\n"
	       "node ranks   n[10,9,11]\n");
}

/* Who gets no rank is told so. */
static void test_no_ranks(void **state)
{
	struct launch_facts facts = {.nnodes = 1,
				     .ntasks = 1,
				     .nodelist = "n9",
				     .tasks_per_node = "1",
				     .resv_ports = "41001",
				     .pty = true};

	expect(&facts, "torch", true,
	       "launcher     none: no rank for the task at a terminal\n"
	       "MASTER_ADDR  n9\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "NODE_RANK  NODE  TASKS  RANKS\n"
	       "0          n9    1      0\n");
}

static void test_faults(void **state)
{
	static const struct {
		struct launch_facts facts;
		const char *text;
	} rows[] = {
		{{.nnodes = 2,
		  .nodelist = "n[1-2]",
		  .tasks_per_node = "1(x2)",
		  .head_uncertain = true},
		 "the node of rank 0 is not known"},
		{{.nnodes = 1, .nodelist = "n1", .tasks_per_node = "1", .user_port = "x"},
		 "MASTER_PORT=x is no port"},
		{{.nnodes = 2, .nodelist = "n1", .tasks_per_node = "1(x2)"},
		 "no table can be made of the nodes n1 with 1(x2) tasks"},
		{{.nnodes = 1, .nodelist = "n1", .tasks_per_node = "x"},
		 "no table can be made of the nodes n1 with x tasks"},
		{{.nnodes = 1, .nodelist = "n1"},
		 "no table can be made of the nodes n1 with (null) tasks"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings;
		struct launch_error err = {0};
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		launch_settings_init(&settings);
		assert_int_equal(
			launch_report(out, &rows[i].facts, &settings, true, &err),
			-EINVAL);
		fclose(out);
		assert_string_equal(text, "");
		if (strncmp(err.text, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("row %zu: %s", i, err.text);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),        cmocka_unit_test(test_user),
		cmocka_unit_test(test_folded),       cmocka_unit_test(test_cut),
		cmocka_unit_test(test_sorted_names), cmocka_unit_test(test_no_ranks),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
