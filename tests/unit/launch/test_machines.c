/* SPDX-License-Identifier: MIT */
/*
 * Every recorded machine: what is read from its tree, and which GPU each task of its
 * cases gets, by the modes order and mask. The cases' GPUs are the least total distance,
 * the lexicographically smallest of these, or what the centre publishes.
 */
#include "tests/unit/launch/machine.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct machine machine;
static struct launch_gpus gpus;

/* What the vendor's runtime reads. */
static const struct {
	const char *name;
	enum launch_vendor vendor;
	const char *variable;
} vendors[] = {
	{"nvidia", LAUNCH_VENDOR_NVIDIA, "CUDA_VISIBLE_DEVICES"},
	{"amd", LAUNCH_VENDOR_AMD, "ROCR_VISIBLE_DEVICES"},
	{"intel", LAUNCH_VENDOR_INTEL, "ZE_AFFINITY_MASK"},
};

static size_t find_vendor(void)
{
	size_t vendor = 0;

	while (strcmp(vendors[vendor].name, machine.vendor) != 0)
		assert_true(++vendor < sizeof(vendors) / sizeof(*vendors));
	return vendor;
}

static void read_tree(void)
{
	struct launch_cpuset all = {0};
	struct launch_error err = {{0}};
	char root[128], list[64];
	uint32_t at = 0;

	machine_plant(&machine, root, sizeof(root));
	machine_list(&machine, list, sizeof(list));
	assert_int_equal(launch_gpus_read(&gpus, list, 0, NULL, root, &err), 0);
	machine_uproot(root);
	assert_int_equal(gpus.vendor, vendors[find_vendor()].vendor);
	for (uint32_t i = 0; i < machine.npackages; i++)
		for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++)
			all.bits[word] |= machine.packages[i].bits[word];
	for (uint32_t i = 0; i < machine.ngpus; i++) {
		struct launch_cpuset socket =
			machine_socket(&machine, &machine.gpu[i].node);
		const struct launch_gpu *gpu = &gpus.gpu[at];

		if (machine.gpu[i].other)
			continue;
		assert_true(at++ < gpus.count);
		if (!memcmp(&machine.gpu[i].node, &all, sizeof(all))) {
			assert_false(gpu->located);
			continue;
		}
		assert_true(gpu->located);
		assert_memory_equal(&gpu->local, &machine.gpu[i].local,
				    sizeof(gpu->local));
		assert_memory_equal(&gpu->node, &machine.gpu[i].node, sizeof(gpu->node));
		assert_memory_equal(&gpu->socket, &socket, sizeof(socket));
	}
	assert_int_equal(at, gpus.count);
}

/* The devices that the task gets by MODE. */
static void bind(const struct machine_case *step, uint32_t task,
		 enum launch_gpus_mode mode, char *list, size_t size)
{
	struct launch_environment env = {0};
	struct launch_error err = {{0}};
	struct launch_settings settings;
	struct launch_facts facts = {
		.local_rank = task,
		.local_size = step->ntasks,
		.ntasks = step->ntasks,
		.nnodes = 1,
	};
	const char *value;

	launch_settings_init(&settings);
	settings.launcher = launch_launcher_find("torch");
	settings.gpus = mode;
	assert_int_equal(launch_gpus_bind(&gpus, step->masks, step->ntasks, &facts,
					  &settings, &env, &err),
			 0);
	value = launch_environment_get(&env, vendors[find_vendor()].variable);
	assert_non_null(value);
	snprintf(list, size, "%s", value);
	launch_environment_clear(&env);
}

/* Name at POSITION of a list. */
static void pick(const char *list, uint32_t position, char *name, size_t size)
{
	while (position--)
		list = strchr(list, ',') + 1;
	snprintf(name, size, "%.*s", (int)strcspn(list, ","), list);
}

static void run_case(const struct machine_case *step)
{
	/* Several GPUs a task, or a runtime that takes no order: by what is its own. */
	bool single = !strchr(step->gpus[0], ',') && launch_gpus_are_ordered(&gpus);
	char list[256], first[256] = "", name[16];

	for (uint32_t task = 0; task < step->ntasks; task++) {
		if (!single) {
			bind(step, task, LAUNCH_GPUS_MASK, list, sizeof(list));
			assert_string_equal(list, step->gpus[task]);
			continue;
		}
		bind(step, task, LAUNCH_GPUS_ORDER, list, sizeof(list));
		pick(list, task, name, sizeof(name));
		assert_string_equal(name, step->gpus[task]);
		if (task)
			assert_string_equal(list, first);
		else
			strcpy(first, list);
	}
}

static void places_tasks(void **state)
{
	machine_read(&machine, *state);
	read_tree();
	assert_true(machine.ncases > 0);
	for (uint32_t i = 0; i < machine.ncases; i++) {
		print_message("# %s\n", machine.cases[i].label);
		assert_true(machine.cases[i].ntasks > 0);
		run_case(&machine.cases[i]);
	}
}

int main(void)
{
	struct CMUnitTest *tests;
	glob_t files;
	int failed;

	if (glob("machines/*.txt", 0, NULL, &files)) {
		fprintf(stderr, "no machines/ here: run me in tests/unit/launch\n");
		return 1;
	}
	tests = calloc(files.gl_pathc, sizeof(*tests));
	if (!tests)
		return 1;
	for (size_t i = 0; i < files.gl_pathc; i++)
		tests[i] = (struct CMUnitTest){files.gl_pathv[i], places_tasks, NULL,
					       NULL, files.gl_pathv[i]};
	failed = _cmocka_run_group_tests("machines", tests, files.gl_pathc, NULL, NULL);
	free(tests);
	globfree(&files);
	return failed;
}
