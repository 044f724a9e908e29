/* SPDX-License-Identifier: MIT */
/*
 * Whatever call fails, of Slurm's functions or of memory, the task starts with all of its
 * variables or not at all. One call after the other is made to fail until a whole run
 * needs fewer.
 */
#include "tests/unit/plugin/mock_spank.h"
#include "tests/unit/plugin/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* No run needs as many, so a test that gets here does not end by itself. */
#define FAULTS_MAX 10000

static int allocations, failing; /* FAILING: the number of the one that fails; 0: none */

static bool allocate(void)
{
	return mock_inside || !failing || ++allocations != failing;
}

/* By ld's --wrap. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void *__real_reallocarray(void *pointer, size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
void *__wrap_reallocarray(void *pointer, size_t count, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
	return allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *pointer, size_t size)
{
	return allocate() ? __real_realloc(pointer, size) : NULL;
}

void *__wrap_reallocarray(void *pointer, size_t count, size_t size)
{
	return allocate() ? __real_reallocarray(pointer, count, size) : NULL;
}

char *__wrap_strdup(const char *text)
{
	return allocate() ? __real_strdup(text) : NULL;
}

enum {
	STATUS_COMPLETE = 10,
	STATUS_PARTIAL,
	STATUS_NOTHING,
};

enum kind {
	KIND_STEP,
	KIND_BATCH,
	/* A component of a heterogeneous step, where all is asked for that can be. */
	KIND_COMPONENT,
};

static void make_component(void)
{
	static const struct mock_address dns[] = {
		{"n2", "10.0.0.2"},
		{NULL},
	};

	mock->nnodes = 1;
	mock->nodes = "n2";
	mock->layout_tasks = 2;
	mock->addresses = dns;
	mock->node_addr = "10.0.0.3";
	mock_setenv("SLURM_GTIDS", "2,3");
	mock_setenv("SLURMD_NODENAME", "n1");
}

/* A whole life in a process of its own; the status of one of its kind. */
static int run(enum kind kind, int fail_call, int fail_allocation, bool *failed)
{
	bool batch = kind == KIND_BATCH;
	int status;
	pid_t pid;

	step_reset();
	if (batch)
		step_batch();
	if (kind == KIND_COMPONENT)
		make_component();
	mock_setenv("CUDA_VISIBLE_DEVICES", "0,1");
	mock_setenv("SLURM_STEP_GPUS", "0,1");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		bool all, none;

		step_forked();
		mock->fail = fail_call;
		failing = fail_allocation;
		step_begin(&(struct asked){
			.srank = kind == KIND_COMPONENT ? "torch,addr=ip" : "torch"});
		step_task();
		/* Said in a place that the parent sees. */
		if (fail_allocation)
			mock->calls = allocations >= failing ? 1 : 0;
		failing = 0;
		all = mock_getenv("MASTER_ADDR") && mock_getenv("MASTER_PORT") &&
		      mock_getenv("SRANK_VERSION") && (batch || mock_getenv("RANK"));
		none = mock->set == 0;
		step_end();
		_exit(all ? STATUS_COMPLETE : none ? STATUS_NOTHING : STATUS_PARTIAL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status))
		fail_msg("call %d, allocation %d: signal %d", fail_call, fail_allocation,
			 WTERMSIG(status));
	*failed = WEXITSTATUS(status) == 1 ||
		  (fail_allocation ? mock->calls : mock->calls >= mock->fail);
	return WEXITSTATUS(status);
}

static void check(enum kind kind, bool memory)
{
	bool batch = kind == KIND_BATCH;
	int ended = 0;

	for (int i = 1; i < FAULTS_MAX; i++) {
		bool failed;
		int status = run(kind, memory ? 0 : i, memory ? i : 0, &failed);

		if (!failed) {
			assert_int_equal(status, STATUS_COMPLETE);
			print_message("# %d faults, %d ended the task\n", i - 1, ended);
			/* Facts, variables and lists cannot do with less. */
			assert_true(i > 10);
			return;
		}
		if (status == STATUS_COMPLETE)
			continue;
		if (!strstr(mock->log, "error: srank: "))
			fail_msg("fault %d: nothing was said", i);
		/* A script is not to be ended, unless it cannot be known for one. */
		if (batch && strstr(mock->log, "number of the step"))
			continue;
		if (batch ? status == 1 : status != 1)
			fail_msg("fault %d: status %d, %s", i, status, mock->log);
		ended++;
	}
	fail_msg("%d faults and no end", FAULTS_MAX);
}

static void test_step_calls(void **state)
{
	check(KIND_STEP, false);
}

static void test_step_memory(void **state)
{
	check(KIND_STEP, true);
}

static void test_batch_calls(void **state)
{
	check(KIND_BATCH, false);
}

static void test_batch_memory(void **state)
{
	check(KIND_BATCH, true);
}

static void test_component_calls(void **state)
{
	check(KIND_COMPONENT, false);
}

static void test_component_memory(void **state)
{
	check(KIND_COMPONENT, true);
}

/* In srun no failure is an error: the step starts with the variable, or without. */
static void test_srun(void **state)
{
	for (int memory = 0; memory < 2; memory++) {
		int i = 0;
		bool failed;

		do {
			mock_reset();
			mock->context = S_CTX_LOCAL;
			mock->nodes = "n[1-2]";
			mock->layout_tasks = 2;
			setenv("SLURM_DISTRIBUTION", "arbitrary", 1);
			allocations = 0;
			assert_int_equal(step_init("default=on"), 0);
			assert_int_equal(slurm_spank_init_post_opt(NULL, 0, NULL), 0);
			i++;
			mock->calls = 0;
			mock->fail = memory ? 0 : i;
			failing = memory ? i : 0;
			assert_int_equal(slurm_spank_local_user_init(NULL, 0, NULL), 0);
			failed = memory ? allocations >= i : mock->calls >= i;
			mock->fail = failing = 0;
			assert_true(failed || getenv("SLURM_SRANK_NODES"));
			unsetenv("SLURM_SRANK_NODES");
			step_end();
		} while (failed);
		assert_true(i > 3);
	}
	unsetenv("SLURM_DISTRIBUTION");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step_calls),
		cmocka_unit_test(test_step_memory),
		cmocka_unit_test(test_batch_calls),
		cmocka_unit_test(test_batch_memory),
		cmocka_unit_test(test_component_calls),
		cmocka_unit_test(test_component_memory),
		cmocka_unit_test(test_srun),
	};

	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
