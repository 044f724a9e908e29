/* SPDX-License-Identifier: MIT */
/* Every callback in every context and kind of step, and what becomes of errors. */
#include "tests/unit/plugin/mock_spank.h"
#include "tests/unit/plugin/support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* NAME=VALUE, or NAME when it must not be set. */
static void assert_variables(const char *const *expected)
{
	for (; *expected; expected++) {
		char name[64];
		size_t length = strcspn(*expected, "=");
		const char *value = (*expected)[length] ? *expected + length + 1 : NULL;
		const char *found;

		snprintf(name, sizeof(name), "%.*s", (int)length, *expected);
		found = mock_getenv(name);
		if (!value != !found || (value && strcmp(value, found) != 0))
			fail_msg("%s: is %s", *expected, found ? found : "not set");
	}
}

static void assert_logged(const char *text)
{
	if (!strstr(mock->log, text))
		fail_msg("\"%s\" is not in the log: %s", text, mock->log);
}

static int count_logged(const char *text)
{
	int count = 0;

	for (const char *p = mock->log; (p = strstr(p, text)); p++)
		count++;
	return count;
}

/* slurmd would take an error for its own, and every callback of ours would be one more.
 */
static void test_slurmd(void **state)
{
	mock_reset();
	mock->context = S_CTX_SLURMD;
	assert_int_equal(step_init("default=on nonsense"), 0);
	assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
	step_end();
	assert_int_equal(mock->calls, 0);
	assert_string_equal(mock->log, "");
}

/* Without the option in a context, Slurm refuses --srank there. */
static void test_registers(void **state)
{
	static const spank_context_t contexts[] = {S_CTX_LOCAL, S_CTX_REMOTE,
						   S_CTX_ALLOCATOR, S_CTX_JOB_SCRIPT};

	for (size_t i = 0; i < COUNT(contexts); i++) {
		mock_reset();
		mock->context = contexts[i];
		assert_int_equal(step_init("nonsense"), 0);
		assert_int_equal(mock->registered, 1);
		assert_string_equal(mock->option.name, "srank");
		assert_int_equal(mock->option.has_arg, 2);
		assert_string_equal(mock->log, "");
		step_end();
	}
	/* Another plugin has the name: SRANK= still works, so the job goes on. */
	mock_reset();
	mock->fail = 1;
	assert_int_equal(step_init(NULL), 0);
	assert_logged("verbose: srank: option --srank is not available");
	step_end();
}

/* In srun, sbatch and salloc. NULL as argument: --srank alone. */
static void test_local_option(void **state)
{
	static const struct {
		const char *site, *srank, *argument;
		int expected;
		const char *log;
	} rows[] = {
		{NULL, NULL, NULL, 0, ""},
		{NULL, NULL, "", 0, ""},
		{NULL, NULL, "(null)", 0, ""},
		{NULL, NULL, "torchrun,gpus=none,verbose", 0, ""},
		{NULL, NULL, "off", 0, ""},
		{NULL, NULL, "torchrn", -1,
		 "torchrn: no such key or launcher; did you mean torchrun?"},
		{NULL, NULL, "torchrn", -1, "error: srank: --srank: "},
		{NULL, NULL, "gpu=none", -1, "did you mean gpus?"},
		{NULL, NULL, "gpus=ordr", -1, "order"},
		{NULL, NULL, "%s%n,%", -1, "%s%n"},
		/* Whoever asks is told what is wrong elsewhere, whoever does not is not.
		 */
		{"prot=1", NULL, "torch", -1, "error: srank: plugstack.conf: prot: "},
		{"prot=1", NULL, "off", 0, ""},
		/* What the site has fixed or forbidden is refused here, too. */
		{"lock=gpus gpus=none", NULL, "torch,gpus=mask", -1,
		 "error: srank: --srank: gpus=mask: gpus is fixed by this site"},
		{"lock=gpus gpus=none", NULL, "torch,gpus=none", 0, ""},
		{"lock=gpus gpus=none", "gpus=mask", "torch", -1,
		 "error: srank: SRANK: gpus=mask: gpus is fixed by this site"},
		{"forbid=port", NULL, "port=20001", -1,
		 "port=20001: this site does not allow port="},
		{"default=on lock=default", NULL, "off", -1, "fixed by this site"},
		{"prot=1 default=on", NULL, "torch", -1, "plugstack.conf: prot: "},
		{NULL, "torchrn", "torch", -1, "error: srank: SRANK: torchrn"},
		{NULL, "torchrn", "off", 0, ""},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		static const spank_context_t contexts[] = {S_CTX_LOCAL, S_CTX_ALLOCATOR};

		for (size_t j = 0; j < COUNT(contexts); j++) {
			int r;

			mock_reset();
			mock->context = contexts[j];
			if (rows[i].srank)
				setenv("SRANK", rows[i].srank, 1);
			step_init(rows[i].site);
			r = mock->option.cb(mock->option.val, rows[i].argument, 0);
			if (r != rows[i].expected)
				fail_msg("row %zu: %d, %s", i, r, mock->log);
			assert_logged(rows[i].log);
			if (!*rows[i].log)
				assert_string_equal(mock->log, "");
			/* The command line comes after the environment, and counts. */
			if (!rows[i].site && !rows[i].srank)
				assert_int_equal(mock->option.cb(0, "torch", 0), 0);
			unsetenv("SRANK");
			step_end();
		}
	}
}

static void test_local_srank(void **state)
{
	static const spank_context_t contexts[] = {S_CTX_LOCAL, S_CTX_ALLOCATOR};

	for (size_t j = 0; j < COUNT(contexts); j++) {
		mock_reset();
		mock->context = contexts[j];
		assert_int_equal(step_init(NULL), 0);
		assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
		setenv("SRANK", "torch,verbose", 1);
		assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
		assert_string_equal(mock->log, "");
		setenv("SRANK", "verbos", 1);
		assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), -1);
		assert_logged(
			"error: srank: SRANK: verbos: no such key or launcher; did you "
			"mean verbose?");
		unsetenv("SRANK");
		step_end();
	}
}

static int give_help_option(void)
{
	return mock->option.cb(mock->option.val, "help", 0);
}

static int look_at_srank(void)
{
	return slurm_spank_init_post_opt(NULL, 0, NULL);
}

/* What ASK writes to descriptor FD must be the help, and it must return -1. */
static void assert_helps(int fd, int (*ask)(void))
{
	char text[8192] = "";
	int out = dup(fd), ends[2], r;
	ssize_t length;

	assert_int_equal(pipe(ends), 0);
	fflush(NULL);
	dup2(ends[1], fd);
	r = ask();
	fflush(NULL);
	dup2(out, fd);
	close(ends[1]);
	length = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	close(out);
	assert_int_equal(r, -1);
	assert_true(length > 0);
	assert_non_null(strstr(text, "gpus=order|mask|first|map:LIST|none"));
	assert_non_null(strstr(text, "torchrun"));
}

/* The variable's is for stderr, for the job may go on. */
static void test_help(void **state)
{
	mock_reset();
	mock->context = S_CTX_LOCAL;
	step_init(NULL);
	assert_helps(STDOUT_FILENO, give_help_option);
	assert_string_equal(mock->log, "");
	step_end();

	mock_reset();
	mock->context = S_CTX_LOCAL;
	step_init(NULL);
	setenv("SRANK", "help", 1);
	assert_helps(STDERR_FILENO, look_at_srank);
	assert_logged("error: srank: SRANK=help sets nothing; ");
	/* With the option, there is something to do. */
	assert_int_equal(mock->option.cb(0, "torch", 0), 0);
	assert_int_equal(look_at_srank(), 0);
	unsetenv("SRANK");
	step_end();
}

/* built-in < plugstack.conf < SRANK < --srank */
static void test_precedence(void **state)
{
	static const struct {
		struct asked asked;
		const char *port; /* NULL: nothing is done */
	} rows[] = {
		{{NULL, NULL, NULL}, NULL},
		{{NULL, NULL, ""}, "41001"},
		{{NULL, NULL, "(null)"}, "41001"},
		{{NULL, "on", NULL}, "41001"},
		{{NULL, "", NULL}, NULL},
		{{"default=on", NULL, NULL}, "41001"},
		{{"default=off", NULL, NULL}, NULL},
		{{"default=on", "off", NULL}, NULL},
		{{"default=on", NULL, "off"}, NULL},
		{{"default=on", "off", "on"}, "41001"},
		{{NULL, "torch", "off"}, NULL},
		{{NULL, "off", "torch"}, "41001"},
		{{"port=20001", NULL, NULL}, NULL},
		{{"port=20001", "", NULL}, NULL},
		{{"port=20001", "on", NULL}, "20001"},
		{{"port=20001", "port=20002", NULL}, "20002"},
		{{"port=20001", "port=20002", ""}, "20002"},
		{{"port=20001", "port=20002", "port=20003"}, "20003"},
		{{"port=20001", NULL, "port=20003"}, "20003"},
		{{"port=20001 default=on", NULL, NULL}, "20001"},
		{{NULL, "help", NULL}, NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *port;

		step_reset();
		step_begin(&rows[i].asked);
		step_task();
		port = mock_getenv("MASTER_PORT");
		if (!port != !rows[i].port || (port && strcmp(port, rows[i].port) != 0))
			fail_msg("row %zu: MASTER_PORT is %s", i,
				 port ? port : "not set");
		step_end();
	}
}

static void test_worker(void **state)
{
	step_reset();
	step_begin(&(struct asked){.option = "torch"});
	step_task();
	assert_variables((const char *[]){
		"RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2",
		"NODE_RANK=1", "GROUP_RANK=1", "NNODES=2", "MASTER_ADDR=n1",
		"MASTER_PORT=41001", "SRANK_MASTER_ADDR=n1", "SRANK_MASTER_PORT=41001",
		"SRANK_LAUNCHER=torch", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
		"PATH=/usr/bin", "SRANK_VERSION=" SRANK_VERSION, NULL});
	assert_string_equal(mock->log, "");
	assert_int_equal(mock->killed, 0);
	step_end();
}

static void test_node(void **state)
{
	step_reset();
	mock_setenv("SLURM_STEP_TASKS_PER_NODE", "1(x2)");
	mock_setenv("SLURM_STEP_NUM_TASKS", "2");
	mock_setenv("SLURM_PROCID", "1");
	mock_setenv("SLURM_LOCALID", "0");
	mock_setenv("RANK", "7");
	mock_setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3");
	mock->local_tasks = 1;
	step_begin(&(struct asked){.srank = "torchrun"});
	step_task();
	assert_variables((const char *[]){
		"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK=1",
		"NNODES=2", "MASTER_ADDR=n1", "PET_NNODES=2", "PET_NODE_RANK=1",
		"PET_NPROC_PER_NODE=4", "PET_MASTER_ADDR=n1", "PET_MASTER_PORT=41001",
		"PET_RDZV_BACKEND=static", "CUDA_VISIBLE_DEVICES=0,1,2,3",
		"CUDA_DEVICE_ORDER=PCI_BUS_ID", NULL});
	step_end();
}

/* 22.05 leaves the variables unset in a task that has all of the step's devices. */
static void test_node_without_variables(void **state)
{
	step_reset();
	mock_setenv("SLURM_STEP_TASKS_PER_NODE", "1(x2)");
	mock_setenv("SLURM_STEP_NUM_TASKS", "2");
	mock_setenv("SLURM_PROCID", "1");
	mock_setenv("SLURM_LOCALID", "0");
	mock_setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3");
	mock->local_tasks = 1;
	step_begin(&(struct asked){.srank = "torchrun"});
	mock_unsetenv("CUDA_VISIBLE_DEVICES");
	step_task();
	assert_variables((const char *[]){"PET_NPROC_PER_NODE=4", NULL});
	step_end();
}

/* The CPUs are this process's own. */
static void test_threads(void **state)
{
	char text[32];
	cpu_set_t cpus;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	snprintf(text, sizeof(text), "OMP_NUM_THREADS=%d", CPU_COUNT(&cpus));
	step_reset();
	step_begin(&(struct asked){.option = "torch"});
	step_task();
	assert_variables((const char *[]){text, NULL});
	step_end();
}

static void test_user_values(void **state)
{
	step_reset();
	mock_setenv("MASTER_ADDR", "login.example.org");
	mock_setenv("MASTER_PORT", "29500");
	mock_setenv("OMP_NUM_THREADS", "3");
	step_begin(&(struct asked){.option = ""});
	step_task();
	assert_variables((const char *[]){
		"MASTER_ADDR=login.example.org", "MASTER_PORT=29500", "OMP_NUM_THREADS=3",
		"SRANK_MASTER_ADDR", "SRANK_MASTER_PORT", NULL});
	step_end();
}

/* The lists do not fit into the first buffer, nor into the second. */
static void test_long_variables(void **state)
{
	enum { NODES = 2500 };
	static char list[NODES * 6 + 1];
	size_t used = 0;

	for (int i = 0; i < NODES; i++)
		used += snprintf(list + used, sizeof(list) - used, "%sx%04d",
				 i ? "," : "", 9999 - i);
	step_reset();
	mock_setenv("SLURM_STEP_NODELIST", list);
	mock_setenv("SLURM_STEP_TASKS_PER_NODE", "2(x2500)");
	mock_setenv("SLURM_STEP_NUM_NODES", "2500");
	mock->nnodes = 2500;
	mock_setenv("SLURM_STEP_NUM_TASKS", "5000");
	mock_setenv("SLURM_NODEID", "2499");
	mock_setenv("SLURM_PROCID", "4999");
	step_begin(&(struct asked){.option = "torch"});
	step_task();
	assert_variables((const char *[]){"MASTER_ADDR=x9999", "RANK=4999",
					  "NODE_RANK=2499", "WORLD_SIZE=5000", NULL});
	step_end();
}

/* Each kind of step without and with being asked. */
static void test_untouched(void **state)
{
	static const struct {
		uint32_t step_id;
		bool batch;
		struct asked asked;
	} rows[] = {
		{0, false, {NULL, NULL, NULL}},
		{0, false, {"gpus=none verbose port=20001", NULL, NULL}},
		{0, false, {"prot=20001", NULL, NULL}},
		{0, false, {"default=on", NULL, "off"}},
		{0, false, {NULL, "off", NULL}},
		{0, false, {NULL, "torchrn", "off"}},
		{0xfffffffb, true, {NULL, NULL, NULL}},
		{0xfffffffb, true, {"default=on", "off", NULL}},
		{0xfffffffc, false, {"default=on", "torch", "torch"}},
		{0xfffffffa, false, {"default=on", "torch", "torch"}},
		{0xfffffffa, false, {NULL, "torchrn", NULL}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *before, *after;

		step_reset();
		if (rows[i].batch)
			step_batch();
		mock->step_id = rows[i].step_id;
		mock_setenv("MASTER_PORT", "1");
		mock_setenv("RANK", "17");
		mock_setenv("CUDA_VISIBLE_DEVICES", "0,1");
		if (rows[i].asked.srank)
			mock_setenv("SRANK", rows[i].asked.srank);
		before = mock_environment();
		step_begin(&rows[i].asked);
		step_task();
		assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
		step_end();
		after = mock_environment();
		if (strcmp(before, after) != 0)
			fail_msg("row %zu: %s became %s", i, before, after);
		assert_int_equal(mock->set + mock->unset + mock->killed, 0);
		assert_string_equal(mock->log, "");
		free(before);
		free(after);
	}
}

/* Nobody asked: the step's number and one look at SRANK are all that it costs. */
static void test_costs_nothing(void **state)
{
	step_reset();
	assert_int_equal(step_init(NULL), 0);
	mock->calls = 0;
	assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
	assert_int_equal(mock->calls, 2);
	mock->calls = 0;
	assert_int_equal(slurm_spank_user_init(NULL, 0, NULL), 0);
	assert_int_equal(slurm_spank_task_post_fork(NULL, 0, NULL), 0);
	step_task();
	assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
	step_end();
	assert_int_equal(mock->calls, 0);
}

static void test_batch(void **state)
{
	step_reset();
	step_batch();
	mock_setenv("CUDA_VISIBLE_DEVICES", "0,1");
	step_begin(&(struct asked){.option = "torch"});
	step_task();
	assert_variables(
		(const char *[]){"MASTER_ADDR=n1", "SRANK_MASTER_ADDR=n1",
				 "SRANK_VERSION=" SRANK_VERSION, "RANK", "WORLD_SIZE",
				 "LOCAL_RANK", "NODE_RANK", "NNODES", "CUDA_DEVICE_ORDER",
				 "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES=0,1", NULL});
	assert_non_null(mock_getenv("MASTER_PORT"));
	assert_string_equal(mock_getenv("MASTER_PORT"), mock_getenv("SRANK_MASTER_PORT"));
	assert_int_equal(mock->set, 5);
	assert_string_equal(mock->log, "");
	step_end();
}

/*
 * What sbatch --export=NONE leaves the batch step of 22.05 and 23.02. An ordinary step is
 * not concerned: there srun has read the variable, or was told otherwise.
 */
static void test_option_of_script(void **state)
{
	static const struct {
		const char *variable, *option;
		bool batch, on;
	} rows[] = {
		{"(null)", NULL, true, true},  {"torch", NULL, true, true},
		{"off", NULL, true, false},    {"(null)", "off", true, false},
		{"off", "torch", true, true},  {NULL, NULL, true, false},
		{"torch", NULL, false, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		step_reset();
		if (rows[i].batch)
			step_batch();
		if (rows[i].variable)
			mock_setenv("SLURM_SPANK__SLURM_SPANK_OPTION_srank_srank",
				    rows[i].variable);
		step_begin(&(struct asked){.option = rows[i].option});
		step_task();
		assert_int_equal(mock_getenv("MASTER_ADDR") != NULL, rows[i].on);
		assert_string_equal(mock->log, "");
		step_end();
	}
}

/* The batch step's errors must not end the job: a node could be drained for it. */
static void test_batch_errors(void **state)
{
	static const struct {
		struct asked asked;
		const char *variable, *value; /* is changed to this, NULL: unset */
		const char *log;
	} rows[] = {
		{{NULL, NULL, "torchrn"}, NULL, NULL, "error: srank: --srank: torchrn: "},
		{{NULL, "torchrn", NULL}, NULL, NULL, "error: srank: SRANK: torchrn: "},
		{{"prot=1", NULL, ""}, NULL, NULL, "plugstack.conf: prot: "},
		{{"lock=port", NULL, "port=1"}, NULL, NULL, "port is fixed by this site"},
		{{NULL, NULL, ""}, "SLURM_JOB_NODELIST", NULL, "SLURM_JOB_NODELIST"},
		{{NULL, NULL, ""}, "SLURM_JOB_NODELIST", "n[", "SLURM_JOB_NODELIST"},
		{{NULL, NULL, ""}, "SLURM_JOB_ID", "x", "SLURM_JOB_ID"},
		{{NULL, NULL, ""}, "MASTER_PORT", "69420", "MASTER_PORT=69420"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *before, *after;

		step_reset();
		step_batch();
		if (rows[i].value)
			mock_setenv(rows[i].variable, rows[i].value);
		else if (rows[i].variable)
			mock_unsetenv(rows[i].variable);
		if (rows[i].asked.srank)
			mock_setenv("SRANK", rows[i].asked.srank);
		before = mock_environment();
		step_begin(&rows[i].asked);
		step_task();
		after = mock_environment();
		assert_string_equal(before, after);
		assert_logged(rows[i].log);
		assert_logged("(the script runs without MASTER_ADDR and MASTER_PORT)");
		free(before);
		free(after);
		step_end();
	}
}

/* Early callbacks succeed, whatever is wrong; the task ends, and says why once a node. */
static void test_task_errors(void **state)
{
	static const struct {
		struct asked asked;
		const char *variable, *value;
		const char *log;
	} rows[] = {
		{{NULL, NULL, "torchrn"}, NULL, NULL, "error: srank: --srank: torchrn: "},
		{{NULL, "torchrn", NULL}, NULL, NULL, "error: srank: SRANK: torchrn: "},
		{{"prot=1", NULL, "torch"}, NULL, NULL, "plugstack.conf: prot: "},
		{{"default=on prot=1", "torch", NULL}, NULL, NULL, "plugstack.conf: "},
		{{"default=on prot=1", "torchrn", NULL}, NULL, NULL, "SRANK: torchrn: "},
		{{"lock=port", "port=1", NULL}, NULL, NULL, "port is fixed by this site"},
		{{NULL, NULL, ""}, "SLURM_PROCID", NULL, "SLURM_PROCID is not set"},
		{{NULL, NULL, ""}, "SLURM_PROCID", "4", "SLURM_PROCID=4"},
		{{NULL, NULL, ""},
		 "SLURM_STEP_NODELIST",
		 "n[1-3]",
		 "SLURM_STEP_NODELIST"},
		{{NULL, NULL, ""}, "SLURM_DISTRIBUTION", "arbitrary", "set MASTER_ADDR"},
		{{NULL, NULL, ""}, "MASTER_PORT", "0", "MASTER_PORT=0"},
		{{NULL, NULL, "torchrun"}, NULL, NULL, "--ntasks-per-node=1"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		step_reset();
		if (rows[i].value)
			mock_setenv(rows[i].variable, rows[i].value);
		else if (rows[i].variable)
			mock_unsetenv(rows[i].variable);
		step_begin(&rows[i].asked);
		assert_string_equal(mock->log, "");
		assert_int_equal(step_task_status(), 1);
		assert_int_equal(step_task_status(), 1);
		assert_logged(rows[i].log);
		assert_int_equal(count_logged("error: "), 1);
		/* The other nodes find the same. */
		assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
		assert_int_equal(mock->killed, 0);
		step_end();
	}
}

/*
 * A slip in plugstack.conf is no reason to end the steps of those who did not ask; it is
 * in the node's log, and srun says nothing.
 */
static void test_site_fault(void **state)
{
	for (int batch = 0; batch < 2; batch++) {
		step_reset();
		if (batch)
			step_batch();
		step_begin(&(struct asked){.site = "default=on gpus=oder"});
		assert_logged("error: srank: plugstack.conf: gpus=oder: no such value; "
			      "did you mean gpus=order?");
		assert_logged("; default=on is without effect\n");
		assert_int_equal(count_logged("error: "), 1);
		step_task();
		assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
		assert_int_equal(mock->set + mock->unset + mock->killed, 0);
		assert_int_equal(count_logged("error: "), 1);
		step_end();
	}

	mock_reset();
	mock->context = S_CTX_LOCAL;
	step_init("default=on gpus=oder");
	assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
	assert_int_equal(slurm_spank_local_user_init(NULL, 0, NULL), 0);
	assert_string_equal(mock->log, "");
	step_end();
}

/*
 * What fails in slurmstepd itself, on one node, before there are tasks: these end, and
 * slurmctld is told so, once, that the other nodes' tasks do not wait for them.
 */
static void test_node_fails(void **state)
{
	static const struct {
		const char *option;
		int early; /* call that fails in init_post_opt, */
		int late;  /* or in user_init */
		const char *log;
	} rows[] = {
		{"torch", 0, 1, "error: srank: number of tasks on this node: "},
		{"torch,addr=ip", 5, 0, "cannot read the task's environment"},
		{"torch,addr=ip", 0, 0, "error: srank: addr=ip: n1: Temporary failure"},
	};
	static const struct mock_address none[] = {{"n1", NULL, EAI_AGAIN}, {NULL}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		step_reset();
		mock->addresses = none;
		step_init(NULL);
		mock->option.cb(0, rows[i].option, 1);
		mock->calls = 0;
		mock->fail = rows[i].early;
		assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
		mock->calls = 0;
		mock->fail = rows[i].late;
		assert_int_equal(slurm_spank_user_init(NULL, 0, NULL), 0);
		mock->fail = 0;
		for (int task = 0; task < 2; task++) {
			assert_int_equal(step_task_status(), 1);
			assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
		}
		assert_logged(rows[i].log);
		if (mock->killed != 1)
			fail_msg("row %zu: %d messages", i, mock->killed);
		step_end();
	}
}

/*
 * Where all nodes may have failed, each waits 50 ms longer than the one before it, and at
 * most two seconds. Whoever is ended by slurmctld meanwhile need not tell it anything.
 */
static void test_turns(void **state)
{
	static const struct {
		uint32_t node_id;
		int waits; /* behind the 300 ms of its message */
	} rows[] = {
		{0, 0}, {1, 50}, {7, 350}, {40, 2000}, {41, 2000}, {99999, 2000},
	};
	static const struct mock_address none[] = {{NULL}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		step_reset();
		mock->addresses = none;
		mock->node_id = rows[i].node_id;
		step_begin(&(struct asked){.option = "torch,addr=ip"});
		assert_int_equal(step_task_status(), 1);
		assert_int_equal(mock->slept, 300 + rows[i].waits);
		assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
		assert_int_equal(mock->killed, 1);
		step_end();
	}
	for (size_t i = 0; i < COUNT(rows); i++) {
		int status;
		pid_t pid;

		step_reset();
		mock->addresses = none;
		mock->node_id = rows[i].node_id;
		mock->kill_after = 300;
		step_begin(&(struct asked){.option = "torch,addr=ip"});
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(slurm_spank_task_init(NULL, 0, NULL));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
		/* The first of them has no turn to wait for. */
		assert_int_equal(mock->killed, rows[i].waits == 0);
		assert_int_equal(WIFSIGNALED(status), rows[i].waits != 0);
		step_end();
	}
	/* One node is the whole step: nobody is left who would wait. */
	step_reset();
	mock->addresses = none;
	mock->nnodes = 1;
	mock_setenv("SLURM_STEP_NODELIST", "n1");
	mock_setenv("SLURM_STEP_NUM_NODES", "1");
	mock_setenv("SLURM_STEP_TASKS_PER_NODE", "4");
	step_begin(&(struct asked){.option = "torch,addr=ip"});
	assert_int_equal(step_task_status(), 1);
	assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
	assert_int_equal(mock->killed, 0);
	step_end();
}

/* A step's life as Slurm plays it to a plugin that plugstack.conf names LINES times. */
static void live(int lines, const char *option)
{
	static const struct mock_address dns[] = {{"n1", "10.0.0.1"}, {NULL}};

	step_reset();
	mock->addresses = dns;
	mock_setenv("SLURM_NODEID", "0");
	mock_setenv("SLURM_PROCID", "0");
	mock_setenv("SLURM_LOCALID", "0");
	mock_setenv("SLURMD_NODENAME", "n1");
	mock_setenv("CUDA_VISIBLE_DEVICES", "0,1");
	mock_setenv("SLURM_STEP_GPUS", "0,1");
	for (int line = 1; line <= lines; line++)
		step_init(line < lines ? "port=20001" : "port=20002");
	mock->option.cb(mock->option.val, option, 1);
	for (int line = 0; line < lines; line++)
		assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
	for (int line = 0; line < lines; line++)
		assert_int_equal(slurm_spank_user_init(NULL, 0, NULL), 0);
	mock->in_task = true;
	for (int line = 0; line < lines; line++)
		assert_int_equal(slurm_spank_task_post_fork(NULL, 0, NULL), 0);
	for (int line = 0; line < lines; line++)
		assert_int_equal(slurm_spank_task_init(NULL, 0, NULL), 0);
}

/* Every step done once, in every line's name: the same calls to Slurm, the same words. */
static void test_twice(void **state)
{
	const char *option = "torch,verbose,addr=ip,gpus=map:1-0";
	char log[sizeof(mock->log)], *environment;
	int set, unset, lookups;

	live(1, option);
	assert_variables((const char *[]){"MASTER_PORT=20002", "MASTER_ADDR=10.0.0.1",
					  "CUDA_VISIBLE_DEVICES=1", NULL});
	memcpy(log, mock->log, sizeof(log));
	environment = mock_environment();
	set = mock->set;
	unset = mock->unset;
	lookups = mock->lookups;
	step_end();
	for (int lines = 2; lines < 4; lines++) {
		char *again;

		live(lines, option);
		again = mock_environment();
		assert_string_equal(again, environment);
		assert_string_equal(mock->log, log);
		assert_int_equal(mock->set, set);
		assert_int_equal(mock->unset, unset);
		assert_int_equal(mock->lookups, lookups);
		free(again);
		for (int line = 0; line < lines; line++)
			step_end();
	}
	free(environment);

	/* In srun: refused for each line, since any of them may be the required one. */
	mock_reset();
	mock->context = S_CTX_LOCAL;
	step_init(NULL);
	step_init(NULL);
	setenv("SRANK", "torchrn", 1);
	assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), -1);
	assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), -1);
	assert_int_equal(count_logged("error: "), 1);
	unsetenv("SRANK");
	step_end();
	step_end();
}

/* Another file of the plugin, with variables of its own, in the same slurmstepd or not.
 */
static void test_other_file(void **state)
{
	const char *marker = "SRANK_PLUGIN_OF_PROCESS";
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv(marker, pid, 1);
	step_reset();
	step_begin(&(struct asked){.option = "torch"});
	step_task();
	assert_int_equal(mock->set + mock->unset, 0);
	assert_logged("verbose: srank: plugstack.conf has another file of this plugin");
	step_end();
	/* The marker is the other's. */
	assert_string_equal(getenv(marker), pid);

	/* What a slurmstepd has from an outer one that started it says nothing. */
	setenv(marker, "1", 1);
	step_reset();
	step_begin(&(struct asked){.option = "torch"});
	assert_string_equal(getenv(marker), pid);
	step_task();
	assert_variables((const char *[]){"RANK=3", marker, NULL});
	step_end();
	assert_null(getenv(marker));

	/* It stands for nothing in steps for which nobody asks. */
	step_reset();
	step_begin(&(struct asked){.site = "port=20001"});
	assert_null(getenv(marker));
	step_end();
}

/* A task that no step has prepared: never seen, and not to be followed by a crash. */
static void test_no_user_init(void **state)
{
	step_reset();
	step_init("default=on");
	assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
	assert_int_equal(slurm_spank_task_post_fork(NULL, 0, NULL), 0);
	assert_int_equal(step_task_status(), 1);
	assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
	assert_logged("error: srank: ");
	step_end();
}

static void test_submitit(void **state)
{
	step_reset();
	mock_setenv("SUBMITIT_EXECUTOR", "slurm");
	mock_setenv("CUDA_VISIBLE_DEVICES", "0,1");
	step_begin(&(struct asked){.option = "torch,verbose"});
	step_task();
	assert_int_equal(mock->set + mock->unset, 0);
	step_end();
}

/* A socket that listens on a port of the kernel's choice. */
static int listen_somewhere(int *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

/* PORT 0: none is asked for. */
static void begin_rank_0(const char *list, int port)
{
	char option[64];

	step_reset();
	mock_setenv("SLURM_NODEID", "0");
	mock_setenv("SLURM_PROCID", "0");
	mock_setenv("SLURM_LOCALID", "0");
	mock_setenv("SLURMD_NODENAME", "n1");
	snprintf(option, sizeof(option), "%s", list);
	if (port)
		snprintf(option, sizeof(option), "%s,port=%d", list, port);
	step_begin(&(struct asked){.option = option});
}

static void test_busy_port(void **state)
{
	int port, fd = listen_somewhere(&port);
	char text[64];

	/* The task ends, and the step with it, once. */
	begin_rank_0("torch", port);
	assert_int_equal(step_task_status(), 1);
	snprintf(text, sizeof(text), "error: srank: port %d (port=) is taken on n1",
		 port);
	assert_logged(text);
	assert_logged("set MASTER_PORT");
	assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
	assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
	assert_int_equal(mock->killed, 1);
	assert_int_equal(mock->killed_job, 4711);
	assert_int_equal(mock->killed_step, 2);
	assert_int_equal(mock->jobs, 0);
	step_end();

	/* Once for a node, however many of its tasks fail, and when. */
	begin_rank_0("torch", port);
	for (int task = 0; task < 2; task++) {
		assert_int_equal(step_task_status(), 1);
		assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
	}
	assert_int_equal(mock->killed, 1);
	step_end();

	/* A port of the user's choice is tested, too. */
	begin_rank_0("torch", 0);
	snprintf(text, sizeof(text), "%d", port);
	mock_setenv("MASTER_PORT", text);
	assert_int_equal(step_task_status(), 1);
	assert_logged("(as set) is taken on n1");
	step_end();

	begin_rank_0("torch,busy=warn", port);
	step_task();
	assert_logged("srank: warning: port ");
	assert_string_equal(mock_getenv("RANK"), "0");
	assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
	assert_int_equal(mock->killed, 0);
	step_end();

	/* The other ranks do not listen there. */
	step_reset();
	snprintf(text, sizeof(text), "torch,port=%d", port);
	step_begin(&(struct asked){.option = text});
	step_task();
	assert_string_equal(mock->log, "");
	step_end();

	/* MPI's ranks meet elsewhere. */
	begin_rank_0("mpi", port);
	step_task();
	assert_string_equal(mock->log, "");
	step_end();

	close(fd);
	begin_rank_0("torch", port);
	step_task();
	assert_string_equal(mock->log, "");
	step_end();
}

/* Rank 0 is on n1, and a process there has the port. */
static void test_busy_port_elsewhere(void **state)
{
	static const struct {
		const char *addr;
		const char *list;
		bool tested;
	} rows[] = {
		{"n1", "torch", true},
		{"N1", "torch", true},
		{"n1.example.org", "torch", true},
		{"n1-ib.example.org", "torch,suffix=-ib,domain=example.org", true},
		{"n1-ib.example.org", "torch", false},
		{"n10", "torch", false},
		{"n2", "torch", false},
		{"login.example.org", "torch", false},
		/* TEST-NET-1 (RFC 5737), which is no host's. */
		{"192.0.2.1", "torch", false},
		{"2001:db8::1", "torch", false},
	};
	int port, fd = listen_somewhere(&port);

	for (size_t i = 0; i < COUNT(rows); i++) {
		begin_rank_0(rows[i].list, port);
		mock_setenv("MASTER_ADDR", rows[i].addr);
		if (step_task_status() != rows[i].tested)
			fail_msg("%s: %s", rows[i].addr, mock->log);
		step_end();
	}
	close(fd);
}

static void test_verbose(void **state)
{
	begin_rank_0("torch,verbose", 0);
	step_task();
	assert_int_equal(count_logged("srank: "), count_logged("\n"));
	assert_logged("srank: MASTER_ADDR  n1\n");
	assert_logged("srank: GPUs         none in the step on this node\n");
	/* The CPUs are this machine's, here and on no other node. */
	assert_logged("srank: NODE_RANK  NODE  TASKS  RANKS  CPUS");
	assert_logged("srank: 1          n2    2      2-3    ?");
	step_end();

	/* Slurm gave rank 0 fewer than the step has. */
	step_reset();
	mock_setenv("SLURM_NODEID", "0");
	mock_setenv("SLURM_PROCID", "0");
	mock_setenv("SLURM_LOCALID", "0");
	mock_setenv("SLURMD_NODENAME", "n1");
	mock_setenv("CUDA_VISIBLE_DEVICES", "0,1");
	step_begin(&(struct asked){.option = "torch,verbose"});
	mock_setenv("CUDA_VISIBLE_DEVICES", "1");
	step_task();
	assert_logged(
		"srank: GPUs         order stands aside: Slurm gave the task of rank 0 "
		"1 of 2\n");
	step_end();

	/* Not at the other ranks. */
	step_reset();
	step_begin(&(struct asked){.option = "torch,verbose"});
	step_task();
	assert_string_equal(mock->log, "");
	step_end();
}

/* srun --pty: a shell at a terminal, and the steps that are started from it. */
static void test_terminal(void **state)
{
	static const struct {
		bool terminal, variable, first;
		const char *rank; /* NULL: none */
	} rows[] = {
		{true, true, true, NULL},
		{true, true, false, "3"},
		{true, false, true, "0"},
		{false, true, true, "0"},
	};
	int input = dup(STDIN_FILENO), none = open("/dev/null", O_RDONLY);
	int controller = posix_openpt(O_RDWR | O_NOCTTY), terminal;
	int port, fd = listen_somewhere(&port);

	if (controller < 0) {
		print_message("# skipped: no terminal is to be had here\n");
		close(fd);
		skip();
	}
	assert_int_equal(grantpt(controller), 0);
	assert_int_equal(unlockpt(controller), 0);
	terminal = open(ptsname(controller), O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0);

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *rank;

		/* A shell listens nowhere, so its port may be taken. */
		begin_rank_0("torch", rows[i].rank ? 0 : port);
		if (!rows[i].first) {
			mock_setenv("SLURM_NODEID", "1");
			mock_setenv("SLURM_PROCID", "3");
			mock_setenv("SLURM_LOCALID", "1");
			mock_setenv("SLURMD_NODENAME", "n2");
		}
		if (rows[i].variable)
			mock_setenv("SLURM_PTY_PORT", "41999");
		dup2(rows[i].terminal ? terminal : none, STDIN_FILENO);
		step_task();
		rank = mock_getenv("RANK");
		if (!rank != !rows[i].rank || (rank && strcmp(rank, rows[i].rank) != 0))
			fail_msg("row %zu: RANK is %s", i, rank ? rank : "not set");
		assert_string_equal(mock_getenv("MASTER_ADDR"), "n1");
		step_end();
	}
	dup2(input, STDIN_FILENO);
	close(input);
	close(none);
	close(terminal);
	close(controller);
	close(fd);
}

/* A step after a step in the same process: nothing is left of the first. */
static void test_forgets(void **state)
{
	step_reset();
	step_begin(&(struct asked){.site = "port=20001", .option = "torch"});
	step_end();
	step_reset();
	step_begin(&(struct asked){.srank = "on"});
	step_task();
	assert_variables(
		(const char *[]){"MASTER_PORT=41001", "SRANK_LAUNCHER=auto", NULL});
	step_end();
	step_reset();
	step_begin(&(struct asked){0});
	step_task();
	assert_int_equal(mock->set, 0);
	step_end();
}

/* srun asks for the layout of an arbitrary step, and of no other. */
static void test_order(void **state)
{
	static const uint32_t beyond[] = {0, 1, 4, 2};
	static const struct {
		const char *site, *option, *distribution;
		const char *nodes; /* in the answer; NULL: none */
		const char *variable;
		int layouts;
		const uint32_t *ids;
	} rows[] = {
		{NULL, "", "arbitrary", "n[1-3]", "4711.2:n[3,1-2]:0,1,2,1", 1},
		{NULL, "torch", "arbitrary", "n[1-3]", "4711.2:n[3,1-2]:0,1,2,1", 1},
		{"default=on", NULL, "arbitrary,NoPack", "n[1-3]",
		 "4711.2:n[3,1-2]:0,1,2,1", 1},
		/* Nobody asked, or the order is known. */
		{NULL, NULL, "arbitrary", "n[1-3]", NULL, 0},
		{"default=on", "off", "arbitrary", "n[1-3]", NULL, 0},
		{"default=on gpus=oder", NULL, "arbitrary", "n[1-3]", NULL, 0},
		{NULL, "", "block", "n[1-3]", NULL, 0},
		{NULL, "", NULL, "n[1-3]", NULL, 0},
		/* No answer, and one that is none. */
		{NULL, "", "arbitrary", NULL, NULL, 1},
		{NULL, "", "arbitrary", "n[1-", NULL, 1},
		{NULL, "", "arbitrary", "n[1-3]", NULL, 1, beyond},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *variable;

		mock_reset();
		mock->context = S_CTX_LOCAL;
		mock->job_id = 4711;
		mock->step_id = 2;
		mock->nodes = rows[i].nodes;
		mock->layout_tasks = 4;
		mock->layout_ids = rows[i].ids;
		memcpy(mock->layout, (uint32_t[]){2, 0, 1, 0}, 4 * sizeof(uint32_t));
		if (rows[i].distribution)
			setenv("SLURM_DISTRIBUTION", rows[i].distribution, 1);
		step_init(rows[i].site);
		if (rows[i].option)
			mock->option.cb(mock->option.val, rows[i].option, 0);
		assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
		assert_int_equal(slurm_spank_local_user_init(NULL, 0, NULL), 0);
		variable = getenv("SLURM_SRANK_NODES");
		if (!variable != !rows[i].variable ||
		    (variable && strcmp(variable, rows[i].variable) != 0))
			fail_msg("row %zu: %s", i, variable ? variable : "not set");
		assert_int_equal(mock->layouts, rows[i].layouts);
		if (mock->layouts) {
			assert_int_equal(mock->layout_job, 4711);
			assert_int_equal(mock->layout_step, 2);
		}
		assert_int_equal(count_logged("error: "), 0);
		step_end();
		unsetenv("SLURM_SRANK_NODES");
		unsetenv("SLURM_DISTRIBUTION");
	}
}

/* The step of an arbitrary distribution, as srun hands it on. */
static void test_arbitrary(void **state)
{
	step_reset();
	mock_setenv("SLURM_DISTRIBUTION", "arbitrary");
	mock_setenv("SLURM_SRANK_NODES", "4711.2:n[2,1]:0,1,1,0");
	step_begin(&(struct asked){.option = "torch"});
	step_task();
	assert_variables((const char *[]){"MASTER_ADDR=n2", "NODE_RANK=0", "RANK=3",
					  "SLURM_SRANK_NODES", NULL});
	assert_int_equal(mock->layouts, 0);
	step_end();
}

/*
 * Rank 3 in the second component of `srun -n2 -w n7,n9 : -n2 -w n1`, whose nodes are
 * n[1,7,9] by name. The numbers of the components are 4711 and 4712.
 */
static void begin_component(const char *option, const char *nodes, const char *user_addr)
{
	step_reset();
	mock->job_id = 4712;
	mock->nnodes = 1;
	mock->nodes = nodes;
	mock->layout_tasks = 2;
	memcpy(mock->layout, (uint32_t[]){1, 0}, 2 * sizeof(uint32_t));
	mock_setenv("SLURM_STEP_NODELIST", "n[1,7,9]");
	mock_setenv("SLURM_STEP_NUM_NODES", "3");
	mock_setenv("SLURM_STEP_TASKS_PER_NODE", "2,1(x2)");
	mock_setenv("SLURM_NODEID", "2");
	mock_setenv("SLURM_GTIDS", "2,3");
	mock_setenv("SLURMD_NODENAME", "n1");
	if (user_addr)
		mock_setenv("MASTER_ADDR", user_addr);
	step_begin(&(struct asked){.option = option});
}

static void test_heterogeneous(void **state)
{
	/* The layout is of n[7,9], and rank 0 on the second. */
	begin_component("torch", "n[7,9]", NULL);
	assert_int_equal(mock->layouts, 1);
	assert_int_equal(mock->layout_job, 4711);
	assert_int_equal(mock->layout_step, 2);
	step_task();
	assert_variables((const char *[]){"MASTER_ADDR=n9", "RANK=3", "WORLD_SIZE=4",
					  "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", NULL});
	step_end();

	/* Components of one job: the answer has them all, and the first one's rank 0
	 * first. */
	begin_component("torch", NULL, NULL);
	step_end();
	mock->nodes = "n[9,7,1]";
	mock->layout_ids = (uint32_t[]){0, 0, 0};
	mock->layout_tasks = 3;
	memcpy(mock->layout, (uint32_t[]){0, 1, 2}, 3 * sizeof(uint32_t));
	/* This one's name stands in the list of the step where its number points to. */
	mock_setenv("SLURM_NODEID", "1");
	mock_setenv("SLURM_STEP_TASKS_PER_NODE", "1,2,1");
	mock_setenv("SLURMD_NODENAME", "n7");
	step_begin(&(struct asked){.option = "torch"});
	step_task();
	assert_variables((const char *[]){"MASTER_ADDR=n9", "NODE_RANK=1", NULL});
	step_end();

	/* slurmctld does not answer: no guess. */
	begin_component("torch", NULL, NULL);
	assert_int_equal(mock->layouts, 1);
	assert_int_equal(step_task_status(), 1);
	assert_logged("set MASTER_ADDR");
	assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
	/* To others it may have answered. */
	assert_int_equal(mock->killed, 1);
	step_end();

	/* All components end by the first one's number, as slurmctld says it; the
	 * environment's is the user's to set. */
	for (int i = 0; i < 3; i++) {
		static const uint32_t leaders[] = {4710, 4712, 0};

		begin_component("torch", NULL, NULL);
		mock->leader = leaders[i];
		mock_setenv("SLURM_HET_SIZE", "2");
		assert_int_equal(step_task_status(), 1);
		assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
		assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
		assert_int_equal(mock->jobs, 1);
		assert_int_equal(mock->killed, 1);
		assert_int_equal(mock->killed_job, leaders[i] ? leaders[i] : 4712);
		step_end();
	}

	/* Ranks that meet elsewhere need no question. */
	begin_component("mpi", "n[7,9]", NULL);
	assert_int_equal(mock->layouts, 0);
	step_task();
	step_end();

	/* Nor does who says where they meet, nor an ordinary step. */
	begin_component("torch", "n[7,9]", "n9");
	assert_int_equal(mock->layouts, 0);
	step_task();
	assert_variables((const char *[]){"MASTER_ADDR=n9", "RANK=3", NULL});
	step_end();
	step_reset();
	mock->nodes = "n[1-2]";
	step_begin(&(struct asked){.option = "torch"});
	step_task();
	assert_int_equal(mock->layouts + mock->lookups, 0);
	step_end();
}

/* The address of n1 as seen from n2, with what hosts files and slurm.conf say. */
static void test_address(void **state)
{
	static const struct mock_address dns[] = {
		{"n1", "10.0.0.1"},
		{"n1-ib.example.org", "10.9.0.1"},
		{NULL},
	};
	static const struct mock_address debian[] = {
		{"n1", "127.0.1.1"},
		{"mgmt1", "10.8.0.1"},
		{NULL},
	};
	static const struct mock_address v6[] = {
		{"n1", "fe80::1"},
		{"n1", "2001:db8::11"},
		{"n1", "10.0.0.1"},
		{NULL},
	};
	static const struct mock_address broken[] = {
		{"n1", NULL, EAI_FAIL},
		{NULL},
	};
	static const struct {
		const char *list;
		const struct mock_address *addresses;
		const char *node_addr;
		const char *addr; /* NULL: the tasks end with LOG */
		const char *log;
		int lookups;
		bool common; /* the failure is one of all nodes */
	} rows[] = {
		{"torch", dns, "10.8.0.1", "n1", NULL, 0},
		{"torch,addr=name", dns, "10.8.0.1", "n1", NULL, 0},
		{"torch,addr=ip", dns, "10.8.0.1", "10.0.0.1", NULL, 1},
		{"torch,addr=ip", dns, NULL, "10.0.0.1", NULL, 1},
		{"torch,addr=ip,suffix=-ib,domain=example.org", dns, "10.8.0.1",
		 "10.9.0.1", NULL, 1},
		/* A host that knows itself by loopback, or not at all: NodeAddr. */
		{"torch,addr=ip", debian, "mgmt1", "10.8.0.1", NULL, 2},
		{"torch,addr=ip", broken, "n1", NULL,
		 "addr=ip: n1: Non-recoverable failure in name resolution; use addr=name",
		 1},
		{"torch,addr=ip", debian, "n1", NULL, "127.0.1.1", 1},
		/* Not where suffix= asks for another network. */
		{"torch,addr=ip,suffix=-x", debian, "mgmt1", NULL,
		 "addr=ip: n1-x: Name or service not known", 1},
		{"torch,addr=ip", v6, "n1", "2001:db8::11", NULL, 1},
		{"torch,addr=nodeaddr", dns, "10.8.0.1", "10.8.0.1", NULL, 0},
		{"torch,addr=nodeaddr", dns, "mgmt1", "mgmt1", NULL, 0},
		{"torch,addr=nodeaddr,suffix=-ib", dns, "mgmt1", "mgmt1", NULL, 0},
		{"torch,addr=nodeaddr", dns, "2001:db8::8", "2001:db8::8", NULL, 0},
		{"torch,addr=nodeaddr", dns, NULL, NULL,
		 "addr=nodeaddr: Slurm has no NodeAddr of node n1 on this host", 0},
		{"torch,addr=nodeaddr", dns, "localhost", NULL, "localhost", 0, true},
		{"mpi,addr=ip", broken, "n1", "", NULL, 0},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		for (int batch = 0; batch < 2; batch++) {
			const char *addr;

			if (batch && !*(rows[i].addr ? rows[i].addr : "n1"))
				continue;
			step_reset();
			if (batch)
				step_batch();
			mock->addresses = rows[i].addresses;
			mock->node_addr = rows[i].node_addr;
			step_begin(&(struct asked){.option = rows[i].list});
			/* Before the tasks, and not in each. */
			if (mock->lookups != rows[i].lookups)
				fail_msg("row %zu: %d look-ups", i, mock->lookups);
			if (!rows[i].addr && !batch) {
				assert_int_equal(step_task_status(), 1);
				assert_logged(rows[i].log);
				assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
				if (mock->killed != !rows[i].common)
					fail_msg("row %zu: %d messages", i, mock->killed);
				step_end();
				continue;
			}
			step_task();
			addr = mock_getenv("MASTER_ADDR");
			if (strcmp(addr ? addr : "", rows[i].addr ? rows[i].addr : ""))
				fail_msg("row %zu: MASTER_ADDR is %s", i, addr);
			if (!rows[i].addr)
				assert_logged(rows[i].log);
			assert_int_equal(mock->lookups, rows[i].lookups);
			step_end();
		}
	}
}

/* torchrun --local-addr is this node's own, n2, by the same rule. */
static void test_local_address(void **state)
{
	static const struct mock_address dns[] = {
		{"n1", "10.0.0.1"},
		{"n2", "10.0.0.2"},
		{NULL},
	};

	step_reset();
	mock_setenv("SLURM_STEP_TASKS_PER_NODE", "1(x2)");
	mock_setenv("SLURM_STEP_NUM_TASKS", "2");
	mock_setenv("SLURM_PROCID", "1");
	mock_setenv("SLURM_LOCALID", "0");
	mock->local_tasks = 1;
	mock->addresses = dns;
	setenv("SLURMD_NODENAME", "n2", 1);
	step_begin(&(struct asked){.option = "torchrun,elastic=1:2,addr=ip"});
	step_task();
	assert_variables((const char *[]){"PET_RDZV_ENDPOINT=10.0.0.1:41001",
					  "PET_LOCAL_ADDR=10.0.0.2", NULL});
	step_end();
	unsetenv("SLURMD_NODENAME");
}

static void write_file(const char *root, const char *path, const char *text)
{
	char name[512];
	FILE *file;

	snprintf(name, sizeof(name), "%s/%s", root, path);
	for (char *slash = name + strlen(root) + 1; (slash = strchr(slash, '/'));
	     slash++) {
		*slash = '\0';
		mkdir(name, 0755);
		*slash = '/';
	}
	file = fopen(name, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* A machine with two GPUs, the first of them near CPU 1 and the second near CPU 0. */
static void make_machine(const char *root)
{
	static const char *const files[][2] = {
		{"proc/driver/nvidia/gpus/0000:01:00.0/information",
		 "Model: \t\t Any\nBus Location: \t 0000:01:00.0\nDevice Minor: \t 0\n"},
		{"proc/driver/nvidia/gpus/0000:02:00.0/information",
		 "Model: \t\t Any\nBus Location: \t 0000:02:00.0\nDevice Minor: \t 1\n"},
		{"sys/bus/pci/devices/0000:01:00.0/local_cpulist", "1\n"},
		{"sys/bus/pci/devices/0000:01:00.0/numa_node", "1\n"},
		{"sys/bus/pci/devices/0000:02:00.0/local_cpulist", "0\n"},
		{"sys/bus/pci/devices/0000:02:00.0/numa_node", "0\n"},
		{"sys/devices/system/node/node0/cpulist", "0\n"},
		{"sys/devices/system/node/node1/cpulist", "1\n"},
		{"sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"},
		{"sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n"},
	};

	for (size_t i = 0; i < COUNT(files); i++)
		write_file(root, files[i][0], files[i][1]);
}

/* A stopped process on one CPU; -1 when this machine does not let it run there. */
static pid_t start_on(int cpu)
{
	pid_t pid = fork();
	cpu_set_t cpus;
	int status;

	if (pid == 0) {
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	return WIFSTOPPED(status) ? pid : -1;
}

static void end_process(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Tasks 0 and 1 on CPUs 0 and 1; the order of the GPUs follows from the masks. */
static void test_gpus(void **state)
{
	static const struct {
		const char *option;
		const char *local_rank;
		const char *task_gpus; /* Slurm's for the task, when not the step's 0,1 */
		const char *variables[4];
	} rows[] = {
		{"torch", "0", "0,1", {"CUDA_VISIBLE_DEVICES=1,0", "LOCAL_RANK=0"}},
		{"torch", "1", "0,1", {"CUDA_VISIBLE_DEVICES=1,0", "LOCAL_RANK=1"}},
		{"torch", "1", "0,1", {"CUDA_DEVICE_ORDER=PCI_BUS_ID"}},
		{"torch,gpus=mask",
		 "0",
		 "0,1",
		 {"CUDA_VISIBLE_DEVICES=1", "LOCAL_RANK=0"}},
		{"torch,gpus=mask",
		 "1",
		 "0,1",
		 {"CUDA_VISIBLE_DEVICES=0", "LOCAL_RANK=1"}},
		{"torch,gpus=first", "1", "0,1", {"CUDA_VISIBLE_DEVICES=0,1"}},
		{"torch,gpus=none",
		 "1",
		 "0,1",
		 {"CUDA_VISIBLE_DEVICES=0,1", "CUDA_DEVICE_ORDER"}},
		/* Slurm has bound the task to one GPU: its choice stays. */
		{"torch", "1", "1", {"CUDA_VISIBLE_DEVICES=1"}},
		/* Slurm has unset the variable, as 22.05 does for --gpu-bind=none. */
		{"torch", "1", NULL, {"CUDA_VISIBLE_DEVICES=1,0"}},
	};
	char root[] = "/tmp/test_plugin.XXXXXX", site[64], command[64];
	pid_t pids[2] = {start_on(0), start_on(1)};

	if (pids[0] < 0 || pids[1] < 0) {
		end_process(pids[0]);
		end_process(pids[1]);
		print_message("# skipped: CPUs 0 and 1 are not both to be had here\n");
		skip();
	}
	assert_non_null(mkdtemp(root));
	make_machine(root);
	snprintf(site, sizeof(site), "sysroot=%s", root);

	for (size_t i = 0; i < COUNT(rows); i++) {
		step_reset();
		memcpy(mock->pids, pids, sizeof(pids));
		mock_setenv("CUDA_VISIBLE_DEVICES", "0,1");
		mock_setenv("SLURM_STEP_GPUS", "0,1");
		step_begin(&(struct asked){.site = site, .option = rows[i].option});
		mock_setenv("SLURM_PROCID", rows[i].local_rank[0] == '0' ? "2" : "3");
		mock_setenv("SLURM_LOCALID", rows[i].local_rank);
		if (rows[i].task_gpus)
			mock_setenv("CUDA_VISIBLE_DEVICES", rows[i].task_gpus);
		else
			mock_unsetenv("CUDA_VISIBLE_DEVICES");
		step_task();
		print_message("# %s, local rank %s\n", rows[i].option,
			      rows[i].local_rank);
		assert_variables(rows[i].variables);
		step_end();
	}

	/* A GPU that does not exist: every node finds that, and sends nothing. */
	step_reset();
	mock_setenv("CUDA_VISIBLE_DEVICES", "0,1");
	step_begin(&(struct asked){.option = "torch,gpus=map:5"});
	assert_int_equal(step_task_status(), 1);
	assert_logged("gpus=map:5");
	assert_int_equal(slurm_spank_task_exit(NULL, 0, NULL), 0);
	assert_int_equal(mock->killed, 0);
	step_end();

	end_process(pids[0]);
	end_process(pids[1]);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
}

/* More devices than gpus= takes end the step of who asked, and of nobody else. */
static void test_many_devices(void **state)
{
	static const struct {
		struct asked asked;
		bool ends;
	} rows[] = {
		{{.option = "torch"}, true},
		{{.site = "default=on", .srank = "torch"}, true},
		{{.site = "default=on"}, false},
		{{.option = "torch,gpus=none"}, false},
	};
	char list[512] = "0";

	for (int i = 1; i < 65; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), ",%d", i);
	for (size_t i = 0; i < COUNT(rows); i++) {
		print_message("# row %zu\n", i);
		step_reset();
		mock_setenv("CUDA_VISIBLE_DEVICES", list);
		step_begin(&rows[i].asked);
		if (rows[i].ends) {
			assert_int_equal(step_task_status(), 1);
			assert_logged("error: srank: the step has more than 64 GPUs");
		} else {
			step_task();
			assert_int_equal(count_logged("error: "), 0);
			assert_string_equal(mock_getenv("CUDA_VISIBLE_DEVICES"), list);
			assert_non_null(mock_getenv("MASTER_PORT"));
		}
		step_end();
	}
}

/*
 * Slurm sets ROCR_VISIBLE_DEVICES alone, of a make that nothing shows here, and the user
 * has a CUDA_VISIBLE_DEVICES: what Slurm then does to the task shows in its own only.
 */
static void test_users_devices(void **state)
{
	static const struct {
		const char *task_gpus;
		const char *variables[4];
	} rows[] = {
		{"0,1", {"ROCR_VISIBLE_DEVICES=1", "CUDA_VISIBLE_DEVICES=0"}},
		/* Its choice, by --gpus-per-task. */
		{"0", {"ROCR_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=0"}},
		/* None, by --gpu-bind=none in 22.05. */
		{NULL, {"ROCR_VISIBLE_DEVICES=1", "CUDA_VISIBLE_DEVICES=0"}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		step_reset();
		mock_setenv("CUDA_VISIBLE_DEVICES", "0");
		mock_setenv("ROCR_VISIBLE_DEVICES", "0,1");
		mock_setenv("SLURM_GPUS_ON_NODE", "2");
		step_begin(&(struct asked){.site = "sysroot=/nonexistent",
					   .option = "torch,gpus=map:1*2"});
		if (rows[i].task_gpus)
			mock_setenv("ROCR_VISIBLE_DEVICES", rows[i].task_gpus);
		else
			mock_unsetenv("ROCR_VISIBLE_DEVICES");
		step_task();
		print_message("# %s\n", rows[i].task_gpus ? rows[i].task_gpus : "none");
		assert_variables(rows[i].variables);
		step_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slurmd),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_local_option),
		cmocka_unit_test(test_local_srank),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_worker),
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_node_without_variables),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_user_values),
		cmocka_unit_test(test_long_variables),
		cmocka_unit_test(test_untouched),
		cmocka_unit_test(test_costs_nothing),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_option_of_script),
		cmocka_unit_test(test_batch_errors),
		cmocka_unit_test(test_task_errors),
		cmocka_unit_test(test_site_fault),
		cmocka_unit_test(test_node_fails),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_other_file),
		cmocka_unit_test(test_no_user_init),
		cmocka_unit_test(test_submitit),
		cmocka_unit_test(test_busy_port),
		cmocka_unit_test(test_busy_port_elsewhere),
		cmocka_unit_test(test_verbose),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_forgets),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_arbitrary),
		cmocka_unit_test(test_heterogeneous),
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_local_address),
		cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_many_devices),
		cmocka_unit_test(test_users_devices),
	};

	/* The test's own environment is srun's in local context. */
	unsetenv("SRANK");
	return cmocka_run_group_tests_name("plugin", tests, NULL, NULL);
}
