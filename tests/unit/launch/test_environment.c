/* SPDX-License-Identifier: MIT */
/* The variables that each launcher's tasks get, written out by hand for one step. */
#include "spank/launch/environment.h"

#include "tests/unit/launch/support.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Task 9 of 12 on three nodes with 5, 5 and 2 tasks; 8 GPUs and 10 CPUs for it. */
static const struct launch_facts worker = {
	.job_id = 4711,
	.step_id = 2,
	.nnodes = 3,
	.ntasks = 12,
	.nodelist = "n[1-3]",
	.tasks_per_node = "5(x2),2",
	.resv_ports = "41001-41006",
	.node = "n2",
	.node_rank = 1,
	.rank = 9,
	.local_rank = 4,
	.local_size = 5,
	.ncpus = 10,
	.gpus = "0,1,2,3,4,5,6,7",
};

/* The second of two nodes with one task each, 8 GPUs and 48 CPUs. */
static const struct launch_facts node = {
	.job_id = 4711,
	.step_id = 2,
	.restart_count = 1,
	.nnodes = 2,
	.ntasks = 2,
	.nodelist = "n[1-2]",
	.tasks_per_node = "1(x2)",
	.resv_ports = "41001-41002",
	.node = "n2",
	.node_rank = 1,
	.rank = 1,
	.local_size = 1,
	.ncpus = 48,
	.gpus = "0,1,2,3,4,5,6,7",
};

#define MEETING \
	"MASTER_ADDR=n1 SRANK_MASTER_ADDR=n1 MASTER_PORT=41001 SRANK_MASTER_PORT=41001 "
#define WORKER                                                                       \
	"RANK=9 WORLD_SIZE=12 LOCAL_RANK=4 LOCAL_WORLD_SIZE=5 NODE_RANK=1 NNODES=3 " \
	"GROUP_RANK=1 " MEETING
#define NODE "NODE_RANK=1 NNODES=2 " MEETING
/* Ours, and marked, for a user may set it as well. */
#define NPROC         "PET_NPROC_PER_NODE=8 SRANK_PET_NPROC_PER_NODE=8 "
#define OMP(n)        "OMP_NUM_THREADS=" #n " SRANK_OMP_NUM_THREADS=" #n " "
#define END(launcher) "SRANK_LAUNCHER=" launcher " SRANK_VERSION=" SRANK_VERSION " "

/* The variables that are set, in the order of the list. */
static void render(const struct launch_environment *env, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");

	assert_non_null(out);
	for (size_t i = 0; i < env->count; i++) {
		if (env->list[i].value)
			fprintf(out, "%s=%s ", env->list[i].name, env->list[i].value);
	}
	fclose(out);
}

/* What LIST makes of FACTS, or the error. */
static int make(const struct launch_facts *facts, const char *list, char *text,
		size_t size)
{
	struct launch_environment env = {0};
	struct launch_settings settings;
	struct launch_error err = {0};
	int r;

	launch_settings_init(&settings);
	if (launch_settings_parse(&settings, list, &err))
		fail_msg("%s", err.text);
	r = launch_environment(facts, &settings, &env, &err);
	if (r)
		snprintf(text, size, "%s", err.text);
	else
		render(&env, text, size);
	launch_environment_clear(&env);
	return r;
}

static void expect(const struct launch_facts *facts, const char *list, const char *wanted)
{
	char text[4096];

	assert_int_equal(make(facts, list, text, sizeof(text)), 0);
	assert_string_equal(text, wanted);
}

static void expect_error(const struct launch_facts *facts, const char *list,
			 const char *start)
{
	char text[4096];

	assert_int_equal(make(facts, list, text, sizeof(text)), -EINVAL);
	if (strncmp(text, start, strlen(start)) != 0)
		fail_msg("%s: got \"%s\", want \"%s\"", list, text, start);
}

static const struct launch_assignment *find(const struct launch_environment *env,
					    const char *name)
{
	const struct launch_assignment *found = NULL;

	for (size_t i = 0; i < env->count; i++) {
		if (strcmp(env->list[i].name, name) == 0) {
			/* One entry a name: a sink may take them in any order. */
			assert_null(found);
			found = &env->list[i];
		}
	}
	return found;
}

static void test_launchers(void **state)
{
	static const struct {
		const struct launch_facts *facts;
		const char *list, *variables;
	} rows[] = {
		{&worker, "torch", WORKER OMP(10) END("torch")},
		{&worker, "lightning", WORKER OMP(10) END("lightning")},
		{&worker, "mmengine",
		 WORKER "OMPI_COMM_WORLD_RANK=9 OMPI_COMM_WORLD_SIZE=12 "
			"OMPI_COMM_WORLD_LOCAL_RANK=4 OMPI_COMM_WORLD_LOCAL_SIZE=5 " OMP(
				10) END("mmengine")},
		{&worker, "deepspeed",
		 WORKER "CROSS_RANK=1 CROSS_SIZE=3 LOCAL_SIZE=5 " OMP(10)
			 END("deepspeed")},
		{&worker, "jax",
		 WORKER
		 "JAX_COORDINATOR_ADDRESS=n1:41001 JAX_COORDINATOR_PORT=41001 " OMP(10)
			 END("jax")},
		/* Local rank 4 is on two of the three nodes. */
		{&worker, "horovod",
		 WORKER
		 "HOROVOD_RANK=9 HOROVOD_SIZE=12 HOROVOD_LOCAL_RANK=4 "
		 "HOROVOD_LOCAL_SIZE=5 HOROVOD_CROSS_RANK=1 HOROVOD_CROSS_SIZE=2 " OMP(10)
			 END("horovod")},
		{&worker, "tensorflow",
		 WORKER
		 "TF_CONFIG={\"cluster\":{\"worker\":["
		 "\"n1:41001\",\"n1:41002\",\"n1:41003\",\"n1:41004\",\"n1:41005\","
		 "\"n2:41001\",\"n2:41002\",\"n2:41003\",\"n2:41004\",\"n2:41005\","
		 "\"n3:41001\",\"n3:41002\"]},"
		 "\"task\":{\"type\":\"worker\",\"index\":9}} " OMP(10)
			 END("tensorflow")},
		{&worker, "mpi", OMP(10) END("mpi")},
		/* 48 CPUs for 8 workers. */
		{&node, "torchrun",
		 NODE "PET_NNODES=2 " NPROC "PET_RDZV_BACKEND=static "
		      "PET_NODE_RANK=1 PET_MASTER_ADDR=n1 PET_MASTER_PORT=41001 " OMP(6)
			      END("torchrun")},
		{&node, "torchrun,elastic=1:2",
		 NODE NPROC "PET_NNODES=1:2 PET_RDZV_BACKEND=c10d "
			    "PET_RDZV_ENDPOINT=n1:41001 PET_RDZV_ID=4711.2.1 "
			    "PET_RDZV_CONF=is_host=0 SRANK_PET_RDZV_CONF=is_host=0 "
			    "PET_LOCAL_ADDR=n2 "
			    "PET_MAX_RESTARTS=3 SRANK_PET_MAX_RESTARTS=3 " OMP(6)
				    END("torchrun")},
		{&node, "accelerate", NODE OMP(6) END("accelerate")},
		/* No launcher: one task a node and several GPUs make the node shape. */
		{&node, "", NODE OMP(6) END("auto")},
		{&worker, "", WORKER OMP(10) END("auto")},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char have[4096] = " ", want[4096];
		char *a, *p;

		/* The order of the list is of no importance: compare word by word. */
		assert_int_equal(
			make(rows[i].facts, rows[i].list, have + 1, sizeof(have) - 1), 0);
		snprintf(want, sizeof(want), " %s", rows[i].variables);
		if (strlen(have) != strlen(want))
			fail_msg("%s: got %s, want %s", rows[i].list, have, want);
		for (p = strtok_r(want, " ", &a); p; p = strtok_r(NULL, " ", &a)) {
			char word[1024];

			snprintf(word, sizeof(word), " %s ", p);
			if (!strstr(have, word))
				fail_msg("%s: no %s in %s", rows[i].list, p, have);
		}
	}
}

static void test_shape(void **state)
{
	struct launch_settings settings;
	struct launch_facts facts = node;

	launch_settings_init(&settings);
	assert_int_equal(launch_shape(&facts, &settings), LAUNCH_NODE);
	facts.gpus = "0";
	assert_int_equal(launch_shape(&facts, &settings), LAUNCH_WORKER);
	facts.gpus = NULL;
	assert_int_equal(launch_shape(&facts, &settings), LAUNCH_WORKER);
	facts.gpus = "0,1";
	facts.tasks_per_node = "1,2";
	assert_int_equal(launch_shape(&facts, &settings), LAUNCH_WORKER);
	facts.tasks_per_node = NULL;
	assert_int_equal(launch_shape(&facts, &settings), LAUNCH_WORKER);
	settings.launcher = launch_launcher_find("torchrun");
	assert_int_equal(launch_shape(&facts, &settings), LAUNCH_NODE);
	settings.launcher = launch_launcher_find("torch");
	assert_int_equal(launch_shape(&node, &settings), LAUNCH_WORKER);

	expect_error(
		&worker, "torchrun",
		"launcher torchrun is one task per node that starts the workers, but the "
		"step has 5(x2),2 tasks per node");
	expect_error(&worker, "accelerate", "launcher accelerate is one task per node");
}

/* Rank 0's node opens the store, unless the user named another place. */
static void test_elastic(void **state)
{
	struct launch_facts facts = node;
	char text[4096];

	facts.rank = facts.node_rank = 0;
	facts.node = "n1";
	assert_int_equal(make(&facts, "torchrun,elastic=1:2,suffix=i,domain=x.y", text,
			      sizeof(text)),
			 0);
	assert_non_null(strstr(text, "PET_RDZV_ENDPOINT=n1i.x.y:41001 "));
	assert_non_null(strstr(text, "PET_RDZV_CONF=is_host=1 "));
	assert_non_null(strstr(text, "PET_LOCAL_ADDR=n1i.x.y "));
	facts.user_addr = "2001:db8::1";
	assert_int_equal(make(&facts, "torchrun,elastic=1:2", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "PET_RDZV_ENDPOINT=[2001:db8::1]:41001 "));
	assert_null(strstr(text, "PET_RDZV_CONF"));

	expect_error(&node, "torchrun,elastic=3:4",
		     "elastic=3:4 waits for 3 nodes, but the step has 2");
	expect_error(&node, "torchrun,elastic=1:1",
		     "elastic=1:1 takes 1 nodes, but the step has 2");
	expect_error(
		&node, "accelerate,elastic=1:2",
		"elastic=1:2 is for launcher torchrun, and the launcher is accelerate");
	expect_error(&node, "elastic=1:2",
		     "elastic=1:2 is for launcher torchrun, and the launcher is auto");
}

static void test_no_gpus(void **state)
{
	struct launch_facts facts = node;
	char text[4096];

	facts.gpus = NULL;
	assert_int_equal(make(&facts, "torchrun", text, sizeof(text)), 0);
	assert_null(strstr(text, "PET_NPROC_PER_NODE"));
}

/*
 * How many workers share the 48 CPUs. Where that is not known, nothing is set and what an
 * outer step has left is removed: torchrun then gives each of its workers one thread.
 */
static void test_omp_workers(void **state)
{
	static const struct {
		const char *list, *gpus, *nproc;
		uint32_t threads; /* 0: removed */
	} rows[] = {
		{"torchrun", "0,1,2,3,4,5,6,7", NULL, 6},
		{"torchrun", NULL, NULL, 0},
		{"accelerate", NULL, NULL, 0},
		/* torchrun --nproc-per-node= by its variable. */
		{"torchrun", NULL, "4", 12},
		{"torchrun", "0,1", "4", 12},
		{"torchrun", NULL, "cpu", 1},
		{"torchrun", NULL, "gpu", 0},
		{"torchrun", NULL, "auto", 0},
		{"torchrun", "0,1", "auto", 24},
		{"torchrun", "0,1", "gpu", 24},
		/* No number of workers at all, and none that can be meant. */
		{"torchrun", "0,1", "0", 0},
		{"torchrun", "0,1", "99999999999999999999", 0},
		{"torchrun", "0,1", "-1", 0},
		/* accelerate does not read it. */
		{"accelerate", NULL, "4", 0},
		{"accelerate", "0,1", "4", 24},
		/* A task is one worker by itself, whatever it sees. */
		{"torch", NULL, NULL, 48},
		{"torch", "0,1", "4", 48},
		{"", NULL, NULL, 48},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_environment env = {0};
		struct launch_facts facts = node;
		struct launch_settings settings;
		struct launch_error err = {0};
		const char *threads;

		facts.gpus = (char *)rows[i].gpus;
		facts.user_nproc = (char *)rows[i].nproc;
		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, rows[i].list, &err), 0);
		assert_int_equal(launch_environment(&facts, &settings, &env, &err), 0);
		threads = launch_environment_get(&env, "OMP_NUM_THREADS");
		if (rows[i].threads != (threads ? strtoul(threads, NULL, 10) : 0))
			fail_msg("row %zu: %s", i, threads ? threads : "not set");
		assert_non_null(find(&env, "OMP_NUM_THREADS"));
		assert_non_null(find(&env, "SRANK_OMP_NUM_THREADS"));
		launch_environment_clear(&env);
	}
}

/*
 * JAX_LOCAL_DEVICE_IDS, which the binding of an outer step leaves, and which without one
 * is the user's.
 */
static void test_bound(void **state)
{
	static const struct {
		const char *outer;
		bool pty, removed;
	} rows[] = {
		{NULL, false, false},     {"auto", false, true}, {"jax", false, true},
		{"torchrun", true, true}, {NULL, true, false},
	};
	static const char *const lists[] = {"jax", "torch,gpus=none", "mpi", ""};

	for (size_t i = 0; i < COUNT(rows) * COUNT(lists); i++) {
		struct launch_environment env = {0};
		struct launch_facts facts = worker;
		struct launch_settings settings;
		struct launch_error err = {0};

		facts.outer = (char *)rows[i / COUNT(lists)].outer;
		facts.pty = rows[i / COUNT(lists)].pty;
		launch_settings_init(&settings);
		assert_int_equal(
			launch_settings_parse(&settings, lists[i % COUNT(lists)], &err),
			0);
		assert_int_equal(launch_environment(&facts, &settings, &env, &err), 0);
		if (rows[i / COUNT(lists)].removed !=
		    (find(&env, "JAX_LOCAL_DEVICE_IDS") != NULL))
			fail_msg("row %zu", i);
		assert_null(launch_environment_get(&env, "JAX_LOCAL_DEVICE_IDS"));
		launch_environment_clear(&env);
	}
}

static void test_omp(void **state)
{
	struct launch_facts facts = worker;
	char text[4096];

	facts.user_omp = true;
	assert_int_equal(make(&facts, "torch", text, sizeof(text)), 0);
	assert_null(strstr(text, "OMP_NUM_THREADS"));
	facts.user_omp = false;
	assert_int_equal(make(&facts, "torch,omp=keep", text, sizeof(text)), 0);
	assert_null(strstr(text, "OMP_NUM_THREADS"));
	facts.ncpus = 0;
	assert_int_equal(make(&facts, "torch", text, sizeof(text)), 0);
	assert_null(strstr(text, "OMP_NUM_THREADS"));
	/* Fewer CPUs than workers: one each, not none. */
	facts = node;
	facts.ncpus = 4;
	assert_int_equal(make(&facts, "torchrun", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "OMP_NUM_THREADS=1 "));
	facts.ncpus = 23;
	assert_int_equal(make(&facts, "torchrun", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "OMP_NUM_THREADS=2 "));
}

static void test_stale(void **state)
{
	static const struct {
		const struct launch_facts *facts;
		const char *list, *outer;
		const char *removed[20];
	} rows[] = {
		{&node,
		 "torchrun",
		 NULL,
		 {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
		  "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_NAME", "ROLE_WORLD_SIZE",
		  "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE",
		  "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
		  "TORCHELASTIC_ERROR_FILE"}},
		{&worker,
		 "torch",
		 NULL,
		 {"GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_NAME", "ROLE_WORLD_SIZE",
		  "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE",
		  "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
		  "TORCHELASTIC_ERROR_FILE"}},
		/* The ranks come from PMIx: none of an outer step may stay. */
		{&worker, "mpi", NULL, {"RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_RANK"}},
		/* What the outer step's launcher read, and only that. */
		{&worker,
		 "torch",
		 "torchrun",
		 {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR",
		  "PET_MASTER_PORT", "PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT",
		  "PET_RDZV_ID", "PET_RDZV_CONF", "PET_LOCAL_ADDR", "PET_MAX_RESTARTS"}},
		{&node,
		 "torchrun",
		 "torchrun",
		 {"PET_RDZV_ENDPOINT", "PET_RDZV_ID", "PET_RDZV_CONF"}},
		{&node,
		 "torchrun",
		 "jax",
		 {"JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_PORT"}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_facts facts = *rows[i].facts;
		struct launch_environment env = {0};
		struct launch_settings settings;
		struct launch_error err = {0};

		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, rows[i].list, &err), 0);
		facts.outer = (char *)rows[i].outer;
		assert_int_equal(launch_environment(&facts, &settings, &env, &err), 0);
		for (const char *const *name = rows[i].removed; *name; name++) {
			if (!find(&env, *name) || find(&env, *name)->value)
				fail_msg("row %zu: %s is not removed", i, *name);
		}
		/* A user's own PET_ or JAX_ variable is none of ours to remove. */
		if (!rows[i].outer && rows[i].facts == &worker) {
			assert_null(find(&env, "PET_NNODES"));
			assert_null(find(&env, "JAX_COORDINATOR_ADDRESS"));
		}
		for (size_t j = 0; j < env.count; j++)
			find(&env, env.list[j].name);
		launch_environment_clear(&env);
	}
}

/* A user's value stays unmarked, and an old marker goes. */
static void test_user_values(void **state)
{
	struct launch_facts facts = worker;
	struct launch_environment env = {0};
	struct launch_settings settings;
	struct launch_error err = {0};

	facts.user_addr = "login";
	facts.user_port = " 29500";
	launch_settings_init(&settings);
	assert_int_equal(launch_environment(&facts, &settings, &env, &err), 0);
	assert_string_equal(launch_environment_get(&env, "MASTER_ADDR"), "login");
	assert_string_equal(launch_environment_get(&env, "MASTER_PORT"), "29500");
	assert_non_null(find(&env, "SRANK_MASTER_ADDR"));
	assert_null(launch_environment_get(&env, "SRANK_MASTER_ADDR"));
	assert_non_null(find(&env, "SRANK_MASTER_PORT"));
	assert_null(launch_environment_get(&env, "SRANK_MASTER_PORT"));
	launch_environment_clear(&env);

	facts.user_port = "abc";
	expect_error(&facts, "torch", "MASTER_PORT=abc is no port");
	/* mpi does not meet there. */
	expect(&facts, "mpi,omp=keep", END("mpi"));
}

static void test_arbitrary(void **state)
{
	struct launch_facts facts = worker;
	char text[4096];

	facts.layout = LAUNCH_LAYOUT_OTHER;
	facts.head_uncertain = true;
	expect_error(&facts, "torch", "the node of rank 0 is not known");
	facts.head = "n3";
	facts.head_id = 2;
	facts.head_uncertain = false;
	assert_int_equal(make(&facts, "torch", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "MASTER_ADDR=n3 "));
	assert_non_null(strstr(text, "NODE_RANK=2 "));
	/* Counts go by the node's own id. */
	assert_int_equal(make(&facts, "horovod", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "HOROVOD_CROSS_RANK=1 "));
	expect_error(&facts, "tensorflow",
		     "TF_CONFIG: the node of every rank is not known");
}

/* The variables of torchrun that say neither who is who nor where they meet. */
static void test_users_torchrun(void **state)
{
	static const struct {
		const char *list, *nproc, *restarts, *conf;
		const char *has, *has_not;
	} rows[] = {
		/* Kept, and no longer marked as ours. */
		{"torchrun", "4", NULL, NULL, "PET_NPROC_PER_NODE=4 ",
		 "SRANK_PET_NPROC_PER_NODE"},
		/* accelerate does not read it. */
		{"accelerate", "4", NULL, NULL, "NNODES=2 ", "PET_"},
		{"torchrun", NULL, "7", NULL, "PET_MAX_RESTARTS=7 ",
		 "SRANK_PET_MAX_RESTARTS"},
		{"torchrun,elastic=1:2", NULL, "0", NULL, "PET_MAX_RESTARTS=0 ",
		 "SRANK_PET_MAX_RESTARTS"},
		{"torchrun", NULL, NULL, "timeout=9", "PET_RDZV_CONF=timeout=9 ",
		 "is_host"},
		{"torchrun,elastic=1:2", NULL, NULL, "timeout=9",
		 "PET_RDZV_CONF=timeout=9,is_host=0 "
		 "SRANK_PET_RDZV_CONF=timeout=9,is_host=0 ",
		 NULL},
		{"torchrun,elastic=1:2", NULL, NULL, "is_host=1,timeout=9",
		 "PET_RDZV_CONF=is_host=1,timeout=9 ", "SRANK_PET_RDZV_CONF"},
		{"torchrun,elastic=1:2", NULL, NULL, "timeout=9, is_host = 1",
		 "PET_RDZV_CONF=timeout=9, is_host = 1 ", "is_host=0"},
		{"torchrun,elastic=1:2", NULL, NULL, "this_host=1",
		 "PET_RDZV_CONF=this_host=1,is_host=0 ", NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_facts facts = node;
		char text[4096];

		facts.user_nproc = (char *)rows[i].nproc;
		facts.user_restarts = (char *)rows[i].restarts;
		facts.user_rdzv_conf = (char *)rows[i].conf;
		assert_int_equal(make(&facts, rows[i].list, text, sizeof(text)), 0);
		if (!strstr(text, rows[i].has) ||
		    (rows[i].has_not && strstr(text, rows[i].has_not)))
			fail_msg("row %zu: %s", i, text);
	}
}

/* What the user has exported for a torchrun of his own and would undo ours. */
static void test_torchrun_removes(void **state)
{
	static const struct {
		const char *list;
		const char *removed[8];
	} rows[] = {
		{"torchrun",
		 {"PET_STANDALONE", "PET_RDZV_ENDPOINT", "PET_RDZV_ID",
		  "PET_LOCAL_ADDR"}},
		{"torchrun,elastic=1:2",
		 {"PET_STANDALONE", "PET_NODE_RANK", "PET_MASTER_ADDR",
		  "PET_MASTER_PORT"}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_environment env = {0};
		struct launch_settings settings;
		struct launch_error err = {0};

		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, rows[i].list, &err), 0);
		assert_int_equal(launch_environment(&node, &settings, &env, &err), 0);
		for (const char *const *name = rows[i].removed; *name; name++) {
			if (!find(&env, *name) || find(&env, *name)->value)
				fail_msg("row %zu: %s is not removed", i, *name);
		}
		launch_environment_clear(&env);
	}
}

/* Who gets a rank: see launch_has_ranks(). */
static void test_ranks(void **state)
{
	static const struct {
		bool pty;
		uint32_t ntasks;
		const char *list; /* NULL: only default=on of the site */
		bool ranks;
	} rows[] = {
		{false, 12, "", true},          {false, 12, NULL, true},
		{false, 1, "", true},           {false, 1, NULL, false},
		{false, 1, "torch", true},      {false, 1, "verbose", true},
		{true, 12, "", false},          {true, 12, NULL, false},
		{true, 1, "", false},           {true, 1, NULL, false},
		{true, 1, "torch", false},      {true, 1, "torchrun", false},
		{true, 1, "tensorflow", false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_facts facts = worker;
		struct launch_environment env = {0};
		struct launch_settings settings;
		struct launch_error err = {0};
		char text[4096];

		facts.pty = rows[i].pty;
		if (rows[i].ntasks == 1) {
			facts.nnodes = facts.ntasks = facts.local_size = 1;
			facts.nodelist = "n2";
			facts.tasks_per_node = "1";
			facts.rank = facts.local_rank = facts.node_rank = 0;
			facts.gpus = "0";
		}
		launch_settings_init(&settings);
		assert_int_equal(launch_settings_site(&settings, "default=on", &err), 0);
		if (rows[i].list)
			assert_int_equal(
				launch_settings_parse(&settings, rows[i].list, &err), 0);
		assert_int_equal(launch_has_ranks(&facts, &settings), rows[i].ranks);
		assert_int_equal(launch_environment(&facts, &settings, &env, &err),
				 rows[i].list && !strcmp(rows[i].list, "torchrun") &&
						 rows[i].ranks
					 ? -EINVAL
					 : 0);
		render(&env, text, sizeof(text));
		if (!rows[i].ranks) {
			char want[256];

			snprintf(want, sizeof(want),
				 "NODE_RANK=%u NNODES=%u MASTER_ADDR=%s "
				 "SRANK_MASTER_ADDR=%s MASTER_PORT=41001 "
				 "SRANK_MASTER_PORT=41001 SRANK_VERSION=" SRANK_VERSION
				 " ",
				 facts.node_rank, facts.nnodes,
				 facts.ntasks == 1 ? "n2" : "n1",
				 facts.ntasks == 1 ? "n2" : "n1");
			assert_string_equal(text, want);
			/* An outer step's are no better than ours. */
			assert_non_null(find(&env, "RANK"));
			assert_null(launch_environment_get(&env, "RANK"));
			assert_non_null(find(&env, "LOCAL_RANK"));
			assert_non_null(find(&env, "SRANK_LAUNCHER"));
			assert_non_null(find(&env, "OMP_NUM_THREADS"));
			assert_non_null(find(&env, "SRANK_OMP_NUM_THREADS"));
		} else {
			assert_non_null(strstr(text, "RANK="));
			assert_non_null(strstr(text, "LOCAL_RANK="));
		}
		launch_environment_clear(&env);
	}
}

/* srun's variable for us is none of the task's. */
static void test_order_removed(void **state)
{
	static const char *const lists[] = {"torch", "torchrun", "mpi"};

	for (size_t i = 0; i < COUNT(lists); i++) {
		struct launch_environment env = {0};
		struct launch_settings settings;
		struct launch_error err = {0};

		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, lists[i], &err), 0);
		assert_int_equal(launch_environment(&node, &settings, &env, &err), 0);
		assert_non_null(find(&env, "SLURM_SRANK_NODES"));
		assert_null(launch_environment_get(&env, "SLURM_SRANK_NODES"));
		launch_environment_clear(&env);
	}
}

/* addr= of the task's own node, where another's must reach it. */
static void test_local_addr(void **state)
{
	struct launch_facts facts = node;
	char text[4096];

	facts.head_addr = "10.0.0.1";
	facts.node_addr = "2001:db8::2";
	assert_int_equal(make(&facts, "torchrun,elastic=1:2,addr=ip", text, sizeof(text)),
			 0);
	assert_non_null(strstr(text, "PET_RDZV_ENDPOINT=10.0.0.1:41001 "));
	assert_non_null(strstr(text, "PET_LOCAL_ADDR=2001:db8::2 "));
	assert_int_equal(make(&facts, "torchrun,elastic=1:2", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "PET_LOCAL_ADDR=n2 "));
	facts.node_addr = NULL;
	facts.head_addr = "2001:db8::1";
	assert_int_equal(make(&facts, "torchrun,elastic=1:2,addr=ip", text, sizeof(text)),
			 0);
	assert_non_null(strstr(text, "PET_RDZV_ENDPOINT=[2001:db8::1]:41001 "));
	assert_non_null(strstr(text, "PET_LOCAL_ADDR=n2 "));
	assert_int_equal(make(&facts, "torchrun,addr=ip", text, sizeof(text)), 0);
	assert_non_null(strstr(text, " PET_MASTER_ADDR=2001:db8::1 "));
	assert_non_null(strstr(text, " MASTER_ADDR=2001:db8::1 "));
}

/*
 * Components n3, then n[1-2]: node ids 0 and 1-2, while list and counts are sorted by
 * name. Of the nodes with a second task, n2 and n3, rank 0's n3 comes first.
 */
static void test_cross_het(void **state)
{
	static const struct {
		const char *node;
		uint32_t id, local_rank;
		const char *rank, *size;
	} rows[] = {
		{"n3", 0, 0, "HOROVOD_CROSS_RANK=0 ", "HOROVOD_CROSS_SIZE=3 "},
		{"n1", 1, 0, "HOROVOD_CROSS_RANK=1 ", "HOROVOD_CROSS_SIZE=3 "},
		{"n2", 2, 0, "HOROVOD_CROSS_RANK=2 ", "HOROVOD_CROSS_SIZE=3 "},
		{"n3", 0, 1, "HOROVOD_CROSS_RANK=0 ", "HOROVOD_CROSS_SIZE=2 "},
		{"n2", 2, 1, "HOROVOD_CROSS_RANK=1 ", "HOROVOD_CROSS_SIZE=2 "},
	};
	struct launch_facts facts = {
		.nnodes = 3,
		.ntasks = 5,
		.nodelist = "n[1-3]",
		.tasks_per_node = "1,2(x2)",
		.layout = LAUNCH_LAYOUT_OTHER,
		.het = true,
		.head = "n3",
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[4096], node_rank[32];

		facts.node = (char *)rows[i].node;
		facts.node_rank = rows[i].id;
		facts.local_rank = rows[i].local_rank;
		assert_int_equal(make(&facts, "horovod", text, sizeof(text)), 0);
		if (!strstr(text, rows[i].rank) || !strstr(text, rows[i].size))
			fail_msg("row %zu: %s", i, text);
		snprintf(node_rank, sizeof(node_rank), " NODE_RANK=%u ", rows[i].id);
		assert_non_null(strstr(text, node_rank));
	}
	facts.node = NULL;
	expect_error(&facts, "horovod",
		     "HOROVOD_CROSS_RANK: the node of the task is not");
	facts.node = "n9";
	expect_error(&facts, "horovod",
		     "HOROVOD_CROSS_RANK: the node of the task is not");
}

/* Ranks 0, 1 and 4 on n3, 2 on n1, 3 on n2: what a host file can make. */
static void test_tf_arbitrary(void **state)
{
	struct launch_facts facts = {
		.nnodes = 3,
		.ntasks = 5,
		.nodelist = "n[1-3]",
		.tasks_per_node = "1(x2),3",
		.layout = LAUNCH_LAYOUT_OTHER,
		.head = "n3",
		.head_id = 2,
		.order = "n[3,1-2]",
		.placement = "0(x2),1,2,0",
		.node = "n2",
		.node_rank = 1,
		.rank = 3,
		.local_size = 1,
	};
	char text[4096];

	assert_int_equal(
		make(&facts, "tensorflow,port=1000,suffix=i", text, sizeof(text)), 0);
	assert_non_null(strstr(
		text, "TF_CONFIG={\"cluster\":{\"worker\":[\"n3i:1000\",\"n3i:1001\","
		      "\"n1i:1000\",\"n2i:1000\",\"n3i:1002\"]},"
		      "\"task\":{\"type\":\"worker\",\"index\":3}} "));
	assert_non_null(strstr(text, " NODE_RANK=2 "));
	facts.placement = "0(x2),1,2";
	expect_error(&facts, "tensorflow", "TF_CONFIG: n[1-3] and 1(x2),3 do not make 5");
	facts.placement = "0(x2),1,3,0";
	expect_error(&facts, "tensorflow", "TF_CONFIG: n[1-3] and 1(x2),3 do not make 5");
	facts.placement = "0(x2),1,0,2";
	expect_error(&facts, "tensorflow",
		     "TF_CONFIG: rank 3 is local rank 0 of n2 and not 2 of n3");
	facts.placement = NULL;
	expect_error(&facts, "tensorflow",
		     "TF_CONFIG: the node of every rank is not known");
}

/* Rank 9 of 12 elsewhere than in block order, and what the list is then. */
static void test_tf_layouts(void **state)
{
	static const struct {
		enum launch_layout layout;
		uint32_t plane, local_rank;
		const char *node, *workers;
	} rows[] = {
		/* n1 n2 n3, n1 n2 n3, n1 n2, n1 n2, n1 n2 */
		{LAUNCH_LAYOUT_CYCLIC, 0, 3, "n2",
		 "a1:1000,a2:1000,a3:1000,a1:1001,a2:1001,a3:1001,a1:1002,a2:1002,a1:"
		 "1003,"
		 "a2:1003,a1:1004,a2:1004"},
		/* two each: n1 n1 n2 n2 n3 n3, n1 n1 n2 n2, n1 n2 */
		{LAUNCH_LAYOUT_PLANE, 2, 3, "n2",
		 "a1:1000,a1:1001,a2:1000,a2:1001,a3:1000,a3:1001,a1:1002,a1:1003,a2:"
		 "1002,"
		 "a2:1003,a1:1004,a2:1004"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_facts facts = worker;
		char text[4096], want[1024] = "", *tf;
		char workers[512], *rest;

		facts.resv_ports = NULL;
		facts.layout = rows[i].layout;
		facts.plane_size = rows[i].plane;
		facts.node = (char *)rows[i].node;
		facts.local_rank = rows[i].local_rank;
		assert_int_equal(make(&facts, "tensorflow,port=1000", text, sizeof(text)),
				 0);
		tf = strstr(text, "TF_CONFIG=");
		assert_non_null(tf);
		/* "a1" stands for "n1", quoted. */
		snprintf(workers, sizeof(workers), "%s", rows[i].workers);
		strcat(want, "TF_CONFIG={\"cluster\":{\"worker\":[");
		for (char *p = strtok_r(workers, ",", &rest); p;
		     p = strtok_r(NULL, ",", &rest)) {
			strcat(want, p == workers ? "\"n" : ",\"n");
			strcat(want, p + 1);
			strcat(want, "\"");
		}
		strcat(want, "]},\"task\":{\"type\":\"worker\",\"index\":9}} ");
		tf[strlen(want)] = '\0';
		assert_string_equal(tf, want);
	}
}

static void test_tf_faults(void **state)
{
	struct launch_facts facts = worker;
	char text[4096];

	/* The task itself is not where the layout puts it. */
	facts.local_rank = 3;
	expect_error(&facts, "tensorflow",
		     "TF_CONFIG: rank 9 is local rank 3 of n2 and not 4 of n2");
	facts = worker;
	facts.node = "n3";
	expect_error(&facts, "tensorflow", "TF_CONFIG: rank 9 is local rank 4 of n3");
	/* Not known where it is (srank explain): nothing to compare. */
	facts.node = NULL;
	assert_int_equal(make(&facts, "tensorflow", text, sizeof(text)), 0);

	facts = worker;
	facts.resv_ports = NULL;
	expect_error(&facts, "tensorflow,port=65534",
		     "TF_CONFIG: local rank 2 would need port 65536");
	facts.resv_ports = "20000-20001";
	expect_error(&facts, "tensorflow,ports=20001-20003",
		     "TF_CONFIG: local rank 4 has no port, for Slurm has reserved "
		     "20000-20001 alone and ports=20001-20003 has no more; use a larger "
		     "range, or srun --resv-ports=5");

	facts = worker;
	facts.user_addr = "n\"1";
	expect_error(&facts, "tensorflow", "TF_CONFIG: MASTER_ADDR=n\"1 is no host name");
	facts = worker;
	facts.nnodes = 4;
	expect_error(&facts, "tensorflow", "TF_CONFIG: the step has 4 nodes");
	facts = worker;
	facts.ntasks = 13;
	expect_error(&facts, "tensorflow",
		     "TF_CONFIG: n[1-3] and 5(x2),2 do not make 13");
	facts = worker;
	facts.nodelist = "n[00000-99999]";
	facts.tasks_per_node = "1(x100000)";
	facts.nnodes = facts.ntasks = 100000;
	expect_error(&facts, "tensorflow", "TF_CONFIG: 100000 nodes do not fit");
	facts.nodelist = "n[00000-19999]";
	facts.tasks_per_node = "1(x20000)";
	facts.nnodes = facts.ntasks = 20000;
	facts.node = NULL;
	expect_error(&facts, "tensorflow",
		     "TF_CONFIG: the names of 20000 workers need more than the 128 KiB");
	/* suffix= and domain= hold for every worker. */
	facts = worker;
	assert_int_equal(make(&facts, "tensorflow,suffix=i", text, sizeof(text)), 0);
	assert_non_null(strstr(text, "\"n3i:41002\"]"));
}

static void test_submitit(void **state)
{
	struct launch_facts facts = worker;
	struct launch_environment env = {0};
	struct launch_settings settings;
	struct launch_error err = {0};

	facts.submitit = true;
	launch_settings_init(&settings);
	assert_int_equal(launch_environment(&facts, &settings, &env, &err), 0);
	assert_int_equal(env.count, 0);
	assert_int_equal(launch_environment_batch(&facts, &settings, &env, &err), 0);
	assert_int_equal(env.count, 0);
	launch_environment_clear(&env);
}

static void test_batch(void **state)
{
	struct launch_facts facts = {.job_id = 4711,
				     .step_id = LAUNCH_BATCH_STEP,
				     .nnodes = 2,
				     .nodelist = "n[1-2]",
				     .node = "n1"};
	struct launch_environment env = {0};
	struct launch_settings settings;
	struct launch_error err = {0};
	char text[4096];

	launch_settings_init(&settings);
	assert_int_equal(
		launch_settings_parse(&settings, "torchrun,port=7,suffix=i", &err), 0);
	assert_int_equal(launch_environment_batch(&facts, &settings, &env, &err), 0);
	render(&env, text, sizeof(text));
	assert_string_equal(text, "MASTER_ADDR=n1i SRANK_MASTER_ADDR=n1i MASTER_PORT=7 "
				  "SRANK_MASTER_PORT=7 SRANK_VERSION=" SRANK_VERSION " ");
	launch_environment_clear(&env);
}

static const char *look_up(const char *name, void *arg)
{
	const struct launch_environment *env = arg;

	return launch_environment_get(env, name);
}

/* The mark is of one step, whatever else is set. */
static void test_mark(void **state)
{
	static const struct {
		const char *job, *step;
		bool marked;
	} rows[] = {
		{"4711", "2", true},   {"4711", "3", false}, {"4712", "2", false},
		{"4711", NULL, false}, {NULL, "2", false},   {"4711", "", false},
	};
	const struct launch_facts facts = {.job_id = 4711, .step_id = 2};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_environment env = {0};

		launch_environment_set(&env, "SLURM_JOB_ID", rows[i].job ? "%s" : NULL,
				       rows[i].job);
		launch_environment_set(&env, "SLURM_STEP_ID", rows[i].step ? "%s" : NULL,
				       rows[i].step);
		assert_false(launch_environment_is_marked(look_up, &env));
		assert_int_equal(launch_environment_mark(&env, &facts), 0);
		assert_string_equal(launch_environment_get(&env, "SRANK_STEP"), "4711.2");
		assert_int_equal(launch_environment_is_marked(look_up, &env),
				 rows[i].marked);
		launch_environment_clear(&env);
	}
}

static void test_set(void **state)
{
	struct launch_environment env = {0};
	char name[16];

	assert_null(launch_environment_get(&env, "A"));
	assert_int_equal(launch_environment_set(&env, "A", "%d", 1), 0);
	assert_int_equal(launch_environment_set(&env, "A", "%s-%d", "x", 2), 0);
	assert_string_equal(launch_environment_get(&env, "A"), "x-2");
	assert_int_equal(launch_environment_set(&env, "A", NULL), 0);
	assert_null(launch_environment_get(&env, "A"));
	assert_int_equal(env.count, 1);
	assert_int_equal(launch_environment_set(&env, "A", "%s", ""), 0);
	assert_string_equal(launch_environment_get(&env, "A"), "");
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "N%d", i);
		assert_int_equal(launch_environment_set(&env, name, "%d", i), 0);
	}
	assert_int_equal(env.count, 1001);
	assert_string_equal(launch_environment_get(&env, "N999"), "999");
	launch_environment_clear(&env);
	assert_int_equal(env.count, 0);
	launch_environment_clear(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launchers),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_elastic),
		cmocka_unit_test(test_no_gpus),
		cmocka_unit_test(test_omp),
		cmocka_unit_test(test_omp_workers),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_user_values),
		cmocka_unit_test(test_arbitrary),
		cmocka_unit_test(test_users_torchrun),
		cmocka_unit_test(test_torchrun_removes),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_order_removed),
		cmocka_unit_test(test_local_addr),
		cmocka_unit_test(test_cross_het),
		cmocka_unit_test(test_tf_arbitrary),
		cmocka_unit_test(test_tf_layouts),
		cmocka_unit_test(test_tf_faults),
		cmocka_unit_test(test_submitit),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_mark),
		cmocka_unit_test(test_set),
	};

	return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
