/* SPDX-License-Identifier: MIT */
/*
 * Memory that runs out at each allocation in turn: every path says so, leaks nothing
 * (AddressSanitizer and valgrind look) and leaves nothing half made. The linker puts the
 * functions below in place of the allocating ones that the library calls; a stream in
 * memory, which allocates inside libc, fails when it is opened or closed.
 */
#include "spank/launch/environment.h"
#include "spank/launch/gpus.h"
#include "spank/launch/order.h"
#include "spank/launch/rendezvous.h"
#include "spank/launch/report.h"

#include "tests/unit/launch/support.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Allocations until one fails; 0: none does. */
static unsigned countdown;
static bool failed;

static bool fails(void)
{
	if (!countdown || --countdown)
		return false;
	failed = true;
	return true;
}

#define WRAP(type, name, parameters, arguments, failure)            \
	type __real_##name parameters;                              \
	type __wrap_##name parameters;                              \
	type __wrap_##name parameters                               \
	{                                                           \
		return fails() ? failure : __real_##name arguments; \
	}

WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t count, size_t size), (count, size), NULL)
WRAP(void *, realloc, (void *old, size_t size), (old, size), NULL)
WRAP(void *, reallocarray, (void *old, size_t count, size_t size), (old, count, size),
     NULL)
WRAP(char *, strdup, (const char *text), (text), NULL)
WRAP(char *, strndup, (const char *text, size_t size), (text, size), NULL)
WRAP(FILE *, open_memstream, (char **text, size_t *size), (text, size), NULL)
WRAP(int, vasprintf, (char **text, const char *format, va_list arguments),
     (text, format, arguments), -1)

int __real_fclose(FILE *stream);
int __wrap_fclose(FILE *stream);
int __wrap_fclose(FILE *stream)
{
	bool fault = fails();
	int r = __real_fclose(stream);

	return fault ? EOF : r;
}

int __wrap_asprintf(char **text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = __wrap_vasprintf(text, format, arguments);
	va_end(arguments);
	return length;
}

/* Runs JOB with one allocation failing after the other, until all of them succeed. */
static void exhaust(int (*job)(const void *arg), const void *arg)
{
	unsigned allocations = 0;
	int r;

	do {
		countdown = ++allocations;
		failed = false;
		r = job(arg);
		countdown = 0;
		if (r != (failed ? -ENOMEM : 0))
			fail_msg("allocation %u: %d", allocations, r);
	} while (failed);
	assert_true(allocations > 1);
}

#define STEP                                                                         \
	"SLURM_JOB_ID=4711", "SLURM_STEP_ID=2", "SLURM_STEP_NODELIST=n[1-3]",        \
		"SLURM_STEP_TASKS_PER_NODE=1(x3)", "SLURM_STEP_NUM_TASKS=3",         \
		"SLURM_STEP_NUM_NODES=3", "SLURM_NODEID=1", "SLURM_PROCID=2",        \
		"SLURM_LOCALID=0", "SLURMD_NODENAME=n2", "CUDA_VISIBLE_DEVICES=0,1", \
		"SLURM_STEP_RESV_PORTS=41001-41003", "PET_NPROC_PER_NODE=2",         \
		"PET_MAX_RESTARTS=1", "PET_RDZV_CONF=timeout=9,is_host=1",           \
		"SRANK_PET_RDZV_CONF=timeout=9,is_host=1", "OMP_NUM_THREADS=1",      \
		"SRANK_LAUNCHER=torchrun"

static const char *const arbitrary[] = {STEP,
					"SLURM_DISTRIBUTION=arbitrary",
					"SLURM_SRANK_NODES=4711.2:n[3,1-2]:0,1,2",
					"MASTER_ADDR=n9",
					"MASTER_PORT=29500",
					NULL};
static const char *const cut[] = {STEP, "SLURM_DISTRIBUTION=arbitrary",
				  "SLURM_SRANK_NODES=4711.2:n3", NULL};
static const char *const components[] = {STEP,
					 "SLURM_HET_SIZE=2",
					 "SLURM_JOB_NODELIST_HET_GROUP_0=n3",
					 "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-2]",
					 "SLURM_GTIDS=2",
					 NULL};
static const char *const *const environments[] = {arbitrary, cut, components};

static int read_facts(const void *arg)
{
	struct launch_error err = {0};
	struct launch_facts facts;
	int r = launch_facts_read(&facts, lookup_in, (void *)arg, &err);

	launch_facts_clear(&facts);
	return r;
}

static int read_batch(const void *arg)
{
	static const char *const batch[] = {"SLURM_JOB_ID=4711",
					    "SLURM_JOB_NODELIST=n[1-3]",
					    "SLURM_TASKS_PER_NODE=1(x3)",
					    "SLURMD_NODENAME=n1",
					    "MASTER_ADDR=n1",
					    NULL};
	struct launch_environment env = {0};
	struct launch_settings settings;
	struct launch_error err = {0};
	struct launch_facts facts;
	int r;

	launch_settings_init(&settings);
	r = launch_facts_read_batch(&facts, lookup_in, (void *)batch, &err);
	if (r == 0)
		r = launch_environment_batch(&facts, &settings, &env, &err);
	launch_environment_clear(&env);
	launch_facts_clear(&facts);
	return r;
}

static int read_shared(const void *arg)
{
	struct launch_error err = {0};
	struct launch_facts facts, devices = {0};
	int r = launch_facts_read_shared(&facts, lookup_in, (void *)arg, &err);

	if (r == 0)
		r = launch_facts_set_head(&facts, "n2", 1);
	if (r == 0)
		r = launch_facts_read_devices(&devices, 0, lookup_in, (void *)arg);
	launch_facts_clear(&devices);
	launch_facts_clear(&facts);
	return r;
}

static void test_facts(void **state)
{
	for (size_t i = 0; i < COUNT(environments); i++) {
		exhaust(read_facts, environments[i]);
		exhaust(read_shared, environments[i]);
	}
	exhaust(read_batch, NULL);
}

struct launch {
	const struct launch_facts *facts;
	const char *list;
};

static int make_environment(const void *arg)
{
	const struct launch *launch = arg;
	struct launch_environment env = {0};
	struct launch_settings settings;
	struct launch_error err = {0};
	int r;

	launch_settings_init(&settings);
	r = launch_settings_parse(&settings, launch->list, &err);
	if (r == 0)
		r = launch_environment(launch->facts, &settings, &env, &err);
	/* Nothing was wrong but that. */
	if (r == -ENOMEM && launch_error_is_set(&err))
		r = -EIO;
	launch_environment_clear(&env);
	return r;
}

static void test_environment(void **state)
{
	for (size_t i = 0; i < COUNT(environments); i++) {
		struct launch_error err = {0};
		struct launch_facts facts;
		struct launch launch = {&facts, NULL};

		assert_int_equal(launch_facts_read(&facts, lookup_in,
						   (void *)environments[i], &err),
				 0);
		facts.ncpus = 4;
		for (size_t j = 0; j < launch_launchers_count; j++) {
			launch.list = launch_launchers[j].name;
			/* Components' workers are not known. */
			if (strcmp(launch.list, "tensorflow") != 0 || facts.placement)
				exhaust(make_environment, &launch);
		}
		launch.list = "torchrun,elastic=1:3";
		exhaust(make_environment, &launch);
		facts.pty = true;
		exhaust(make_environment, &launch);
		launch_facts_clear(&facts);
	}
}

/* TF_CONFIG, by rounds of tasks. */
static void test_rounds(void **state)
{
	const struct launch_facts facts = {.nnodes = 2,
					   .ntasks = 3,
					   .nodelist = "n[1-2]",
					   .tasks_per_node = "2,1",
					   .local_size = 2};

	exhaust(make_environment, &(struct launch){&facts, "tensorflow"});
}

static int bind_gpus(const void *arg)
{
	static struct launch_gpus gpus;
	const struct launch_facts facts = {
		.ntasks = 2, .local_rank = 1, .gpus = "0,1", .gpu_variables = 1};
	struct launch_environment env = {0};
	struct launch_settings settings;
	struct launch_error err = {0};
	int r;

	launch_settings_init(&settings);
	r = launch_settings_parse(&settings, arg, &err);
	if (r == 0)
		r = launch_gpus_read(&gpus, facts.gpus, 1, NULL, "/nonexistent", &err);
	if (r == 0)
		r = launch_gpus_bind(&gpus, NULL, 2, &facts, &settings, &env, &err);
	launch_environment_clear(&env);
	return r;
}

static void test_gpus(void **state)
{
	static const char *const lists[] = {"gpus=order", "gpus=mask,local=0",
					    "gpus=first", "gpus=map:1,0"};

	for (size_t i = 0; i < COUNT(lists); i++)
		exhaust(bind_gpus, lists[i]);
}

static int print_binding(const void *arg)
{
	static struct launch_cpuset masks[2];
	static struct launch_gpus gpus = {.count = 2,
					  .gpu = {{.name = "0"}, {.name = "1"}}};
	const struct launch_report_node here = {
		.masks = masks, .ntasks = 2, .gpus = &gpus};
	const struct launch_facts facts = {
		.ntasks = 2, .local_size = 2, .gpus = "0,1", .gpu_variables = 1};
	static char text[4096];
	struct launch_settings settings;
	struct launch_error err = {0};
	FILE *out = fmemopen(text, sizeof(text), "w");
	int r;

	launch_settings_init(&settings);
	r = launch_settings_parse(&settings, arg, &err);
	if (r == 0)
		r = launch_report_binding(out, &facts, &settings, &here, &err);
	__real_fclose(out);
	return r;
}

static void test_binding(void **state)
{
	static const char *const lists[] = {"gpus=order", "gpus=mask", "gpus=first",
					    "gpus=map:1,0", "gpus=none"};

	for (size_t i = 0; i < COUNT(lists); i++)
		exhaust(print_binding, lists[i]);
}

static int write_order(const void *arg)
{
	static const uint32_t node_of[] = {2, 0, 1, 2};
	char *text;
	int r = launch_order_write(4711, 2, arg, node_of, COUNT(node_of), &text);

	assert_int_equal(!text, r != 0);
	free(text);
	return r;
}

static int write_long_order(const void *arg)
{
	static uint32_t node_of[10000];
	char *text;
	int r;

	for (uint32_t i = 0; i < COUNT(node_of); i++)
		node_of[i] = COUNT(node_of) - 1 - i;
	/* Only what comes after the names is of interest here. */
	countdown += countdown ? COUNT(node_of) : 0;
	r = launch_order_write(4711, 2, "n[0-9999]", node_of, COUNT(node_of), &text);
	assert_int_equal(!text, r != 0);
	free(text);
	return r;
}

static void test_order(void **state)
{
	exhaust(write_order, "n[1-3]");
	exhaust(write_long_order, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),  cmocka_unit_test(test_environment),
		cmocka_unit_test(test_rounds), cmocka_unit_test(test_binding),
		cmocka_unit_test(test_gpus),   cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
