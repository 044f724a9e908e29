/* SPDX-License-Identifier: MIT */
/*
 * Sizes that no cluster has yet, and texts as long as they can be: right, refused with a
 * message, but never cut and never slow.
 */
#include "spank/launch/environment.h"
#include "spank/launch/order.h"
#include "spank/launch/rendezvous.h"
#include "spank/launch/report.h"

#include "tests/unit/launch/support.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define NODES 100000
#define TASKS 4096 /* on each */

/* One string of an environment, with its name (MAX_ARG_STRLEN in Linux). */
#define VARIABLE_MAX 131072

/* As lookup_in(), but for values of any length. */
static const char *lookup_long(const char *name, void *arg)
{
	size_t length = strlen(name);

	for (const char *const *variable = arg; *variable; variable++) {
		if (strncmp(*variable, name, length) == 0 && (*variable)[length] == '=')
			return *variable + length + 1;
	}
	return NULL;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* "NAME=n00000,n00001,...", which no srun would write, and any user can. */
static char *long_list(const char *name)
{
	char *text = malloc(strlen(name) + 2 + NODES * 7);
	char *end;

	assert_non_null(text);
	end = text + sprintf(text, "%s=", name);
	for (int i = 0; i < NODES; i++)
		end += sprintf(end, "%sn%05d", i ? "," : "", i);
	return text;
}

/* The last of all tasks, with each launcher, from each form of the list. */
static void test_huge_step(void **state)
{
	char *lists[] = {strdup("SLURM_STEP_NODELIST=n[00000-99999]"),
			 long_list("SLURM_STEP_NODELIST")};

	for (size_t i = 0; i < COUNT(lists); i++) {
		const char *environment[] = {lists[i],
					     "SLURM_JOB_ID=4294967295",
					     "SLURM_STEP_ID=4294967040",
					     "SLURM_STEP_TASKS_PER_NODE=4096(x100000)",
					     "SLURM_STEP_NUM_NODES=100000",
					     "SLURM_STEP_NUM_TASKS=409600000",
					     "SLURM_NODEID=99999",
					     "SLURM_PROCID=409599999",
					     "SLURM_LOCALID=4095",
					     "SLURMD_NODENAME=n99999",
					     NULL};
		struct launch_settings settings;
		struct launch_error err = {0};
		struct launch_facts facts;
		double start = now();

		if (launch_facts_read(&facts, lookup_long, environment, &err))
			fail_msg("%s", err.text);
		for (size_t j = 0; j < launch_launchers_count; j++) {
			const struct launch_launcher *launcher = &launch_launchers[j];
			struct launch_environment env = {0};
			int r;

			launch_settings_init(&settings);
			settings.launcher = launcher;
			err = (struct launch_error){0};
			r = launch_environment(&facts, &settings, &env, &err);
			if (strcmp(launcher->name, "tensorflow") == 0 ||
			    launcher->shape == LAUNCH_NODE) {
				assert_int_equal(r, -EINVAL);
				assert_true(launch_error_is_set(&err));
			} else {
				assert_int_equal(r, 0);
			}
			if (r == 0 && !launcher->bare) {
				assert_string_equal(
					launch_environment_get(&env, "MASTER_ADDR"),
					"n00000");
				assert_string_equal(launch_environment_get(&env, "RANK"),
						    "409599999");
				assert_string_equal(
					launch_environment_get(&env, "LOCAL_WORLD_SIZE"),
					"4096");
			}
			launch_environment_clear(&env);
		}
		/* A compressed list takes the same time as a short one. */
		assert_true(now() - start < (i ? 5 : 0.1));
		launch_facts_clear(&facts);
		free(lists[i]);
	}
}

/* -m arbitrary over all of them: rank 0 on the last, cut down to it. */
static void test_huge_order(void **state)
{
	static const char *const environment[] = {"SLURM_STEP_NODELIST=n[00000-99999]",
						  "SLURM_JOB_ID=4711",
						  "SLURM_STEP_ID=2",
						  "SLURM_STEP_TASKS_PER_NODE=1(x100000)",
						  "SLURM_STEP_NUM_NODES=100000",
						  "SLURM_STEP_NUM_TASKS=100000",
						  "SLURM_NODEID=7",
						  "SLURM_PROCID=99992",
						  "SLURM_LOCALID=0",
						  "SLURMD_NODENAME=n00007",
						  "SLURM_DISTRIBUTION=arbitrary",
						  "SLURM_SRANK_NODES=4711.2:n99999",
						  NULL};
	struct launch_error err = {0};
	struct launch_facts facts;

	if (launch_facts_read(&facts, lookup_long, (void *)environment, &err))
		fail_msg("%s", err.text);
	assert_string_equal(facts.head, "n99999");
	assert_int_equal(facts.head_id, 99999);
	assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), 8);
	assert_int_equal(launch_node_rank(&facts, LAUNCH_NODE), 99992);
	launch_facts_clear(&facts);
}

/*
 * Components of so many nodes that comparing them all would take too long: rank 0 is only
 * known where the step has all of them.
 */
static void test_huge_components(void **state)
{
	const char *environment[] = {"SLURM_STEP_NODELIST=n[00000-99999]",
				     "SLURM_JOB_ID=4711",
				     "SLURM_STEP_ID=2",
				     "SLURM_STEP_TASKS_PER_NODE=1(x100000)",
				     "SLURM_STEP_NUM_NODES=100000",
				     "SLURM_STEP_NUM_TASKS=100000",
				     "SLURM_NODEID=7",
				     "SLURM_PROCID=7",
				     "SLURM_LOCALID=0",
				     "SLURM_HET_SIZE=3",
				     "SLURM_JOB_NODELIST_HET_GROUP_0=m[0-9]",
				     "SLURM_JOB_NODELIST_HET_GROUP_1=n[00000-49999]",
				     "SLURM_JOB_NODELIST_HET_GROUP_2=n[50000-99999]",
				     NULL};
	struct launch_error err = {0};
	struct launch_facts facts;
	double start = now();

	if (launch_facts_read(&facts, lookup_long, environment, &err))
		fail_msg("%s", err.text);
	assert_true(facts.het);
	assert_true(facts.head_uncertain);
	assert_true(now() - start < 1);
	launch_facts_clear(&facts);

	for (size_t i = 0; environment[i]; i++) {
		if (strstr(environment[i], "HET_GROUP_0="))
			environment[i] = "SLURM_JOB_NODELIST_HET_GROUP_0=n[50000-99999]";
		else if (strstr(environment[i], "HET_GROUP_2="))
			environment[i] = "SLURM_JOB_NODELIST_HET_GROUP_2=";
		else if (strstr(environment[i], "HET_SIZE="))
			environment[i] = "SLURM_HET_SIZE=2";
	}
	start = now();
	if (launch_facts_read(&facts, lookup_long, environment, &err))
		fail_msg("%s", err.text);
	assert_true(facts.het);
	assert_string_equal(facts.head, "n50000");
	assert_true(now() - start < 1);
	launch_facts_clear(&facts);
}

/* The table of such a step still fits on a screen. */
static void test_huge_report(void **state)
{
	char counts[NODES / 2 * 4 + 1] = "", *end = counts, *text = NULL;
	struct launch_facts facts = {.nnodes = NODES,
				     .ntasks = NODES / 2 * 3,
				     .nodelist = "n[00000-99999]",
				     .tasks_per_node = counts};
	struct launch_settings settings;
	struct launch_error err = {0};
	size_t size, lines = 0;
	FILE *out = open_memstream(&text, &size);

	for (int i = 0; i < NODES / 2; i++)
		end += sprintf(end, "%s1,2", i ? "," : "");
	launch_settings_init(&settings);
	assert_int_equal(launch_report(out, &facts, &settings, NULL, &err), 0);
	assert_int_equal(fclose(out), 0);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_true(lines < 80);
	assert_non_null(strstr(text, "... and 99936 more nodes\n"));
	free(text);
}

/* TF_CONFIG as long as Linux takes it, then one node more at a time. */
static void test_tf_config(void **state)
{
	uint32_t most = 0;

	for (uint32_t nodes = 8000; nodes < 10000; nodes++) {
		struct launch_environment env = {0};
		struct launch_settings settings;
		struct launch_error err = {0};
		char list[32], counts[32];
		struct launch_facts facts = {.nnodes = nodes,
					     .ntasks = nodes,
					     .nodelist = list,
					     .tasks_per_node = counts,
					     .local_size = 1};
		const char *value;
		int r;

		/* Near the limit only: each try makes some 8,000 names. */
		if (nodes > 8000 && nodes < 9350)
			continue;
		snprintf(list, sizeof(list), "n[0000-%04u]", nodes - 1);
		snprintf(counts, sizeof(counts), "1(x%u)", nodes);
		launch_settings_init(&settings);
		settings.launcher = launch_launcher_find("tensorflow");
		settings.port = 20000;
		r = launch_environment(&facts, &settings, &env, &err);
		value = launch_environment_get(&env, "TF_CONFIG");
		if (r == 0) {
			assert_true(strlen("TF_CONFIG=") + strlen(value) + 1 <
				    VARIABLE_MAX);
			assert_string_equal(value + strlen(value) - 2, "}}");
			most = nodes;
		} else {
			assert_int_equal(r, -EINVAL);
			assert_non_null(strstr(err.text, "128 KiB"));
		}
		launch_environment_clear(&env);
		if (r)
			break;
	}
	/* "n0000:20000", with quotes and a comma is 14 characters: 131,072 / 14. */
	assert_in_range(most, 9350, 9362);
}

/* Each text at its limit, where it holds, and one above, where it is refused. */
static void test_lengths(void **state)
{
	char name[LAUNCH_ADDR_MAX + 1], port[64];
	const struct {
		struct launch_facts facts;
		size_t limit;
		const char *text;
	} rows[] = {
		{{.nnodes = 2, .nodelist = "n[1-2]", .user_addr = name},
		 LAUNCH_ADDR_MAX - 1,
		 "MASTER_ADDR="},
		{{.nnodes = 1, .nodelist = name},
		 LAUNCH_ADDR_MAX - 1,
		 "is not a host list"},
		{{.nnodes = 2, .nodelist = "n[1-2]", .head = name},
		 LAUNCH_ADDR_MAX - 1,
		 "is longer than a node name can be"},
	};
	struct launch_settings settings;
	struct launch_error err = {0};
	char addr[LAUNCH_ADDR_MAX];
	uint16_t number;
	enum launch_port_source source;

	launch_settings_init(&settings);
	for (size_t i = 0; i < COUNT(rows); i++) {
		memset(name, 'n', sizeof(name));
		name[rows[i].limit] = '\0';
		assert_int_equal(launch_address(&rows[i].facts, &settings, addr,
						sizeof(addr), &err),
				 0);
		assert_string_equal(addr, name);
		name[rows[i].limit] = 'n';
		name[rows[i].limit + 1] = '\0';
		assert_int_equal(launch_address(&rows[i].facts, &settings, addr,
						sizeof(addr), &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, rows[i].text));
		err = (struct launch_error){0};
	}
	/* Digits without end are no number that wraps around. */
	memset(port, '9', sizeof(port) - 1);
	port[sizeof(port) - 1] = '\0';
	assert_int_equal(launch_port(&(struct launch_facts){.user_port = port}, &settings,
				     &number, &source, &err),
			 -EINVAL);
	memset(port, '0', sizeof(port) - 6);
	memcpy(port + sizeof(port) - 6, "29500", 6);
	assert_int_equal(launch_port(&(struct launch_facts){.user_port = port}, &settings,
				     &number, &source, &err),
			 0);
	assert_int_equal(number, 29500);
}

/* A user's texts come through whole, as long as Linux takes what is made of them. */
static void test_long_texts(void **state)
{
	static const struct {
		size_t length;
		bool fits;
	} rows[] = {
		/*
		 * PET_RDZV_CONF=<text>,is_host=1 and the final zero; then the marker's.
		 */
		{1000, true},
		{VARIABLE_MAX - 1 - sizeof("SRANK_PET_RDZV_CONF=,is_host=1"), true},
		{VARIABLE_MAX - sizeof("SRANK_PET_RDZV_CONF=,is_host=1"), false},
		{VARIABLE_MAX - 1, false},
	};
	static const char end[] = ",is_host=1";

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_facts facts = {.nnodes = 1,
					     .ntasks = 1,
					     .nodelist = "n1",
					     .tasks_per_node = "1",
					     .local_size = 1};
		struct launch_environment env = {0};
		struct launch_settings settings;
		struct launch_error err = {0};
		char *conf = malloc(rows[i].length + 1);
		const char *value;
		int r;

		assert_non_null(conf);
		memset(conf, 'a', rows[i].length);
		conf[rows[i].length] = '\0';
		facts.user_rdzv_conf = facts.gpus = facts.outer = conf;
		launch_settings_init(&settings);
		assert_int_equal(
			launch_settings_parse(&settings, "torchrun,elastic=1:1", &err),
			0);
		r = launch_environment(&facts, &settings, &env, &err);
		assert_int_equal(r, rows[i].fits ? 0 : -EINVAL);
		if (r)
			assert_non_null(strstr(err.text, "PET_RDZV_CONF would have "));
		value = launch_environment_get(&env, "PET_RDZV_CONF");
		assert_int_equal(strlen(value), rows[i].length + strlen(end));
		assert_memory_equal(value, conf, rows[i].length);
		assert_string_equal(value + rows[i].length, end);
		launch_environment_clear(&env);
		free(conf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_huge_step),
		cmocka_unit_test(test_huge_order),
		cmocka_unit_test(test_huge_components),
		cmocka_unit_test(test_huge_report),
		cmocka_unit_test(test_tf_config),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_long_texts),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
