/* SPDX-License-Identifier: MIT */
/*
 * What the binding of GPUs costs, in microseconds of wall time: the assignment by itself,
 * the whole binding of one task, and reading where the GPUs of a node sit. A report,
 * never a test.
 */
#include "spank/launch/assign.h"
#include "tests/unit/launch/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 50
#define CPUS   16

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static bool check(const char *what, int error)
{
	if (error)
		fprintf(stderr, "%s: %s\n", what, strerror(-error));
	return !error;
}

/* Costs such as distances make: a few steps, and CPUs that tell equals apart. */
static bool measure_assignment(uint32_t size)
{
	static int64_t cost[64 * 64];
	uint32_t column_of[64];
	double spent = 0;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		double start;

		for (uint32_t i = 0; i < size * size; i++)
			cost[i] = random() % 4 * 1000 + random() % 16;
		start = now();
		if (!check("assignment", launch_assign(cost, size, size, column_of)))
			return false;
		spent += now() - start;
	}
	printf("  assignment, %2u tasks, %2u GPUs %15.1f\n", size, size, spent / ROUNDS);
	return true;
}

/* Every task of a node, each on a CPU of its own, binds itself. */
static bool measure_binding(const struct launch_gpus *gpus)
{
	static struct launch_cpuset masks[LAUNCH_GPUS_MAX];
	struct launch_settings settings;
	double start;

	launch_settings_init(&settings);
	settings.launcher = launch_launcher_find("torch");
	for (uint32_t task = 0; task < gpus->count; task++)
		masks[task].bits[0] = UINT64_C(1) << task * CPUS / gpus->count;
	start = now();
	for (uint32_t i = 0; i < ROUNDS * gpus->count; i++) {
		struct launch_facts facts = {.local_rank = i % gpus->count};
		struct launch_environment env = {0};
		struct launch_error err = {{0}};
		int r = launch_gpus_bind(gpus, masks, gpus->count, &facts, &settings,
					 &env, &err);

		launch_environment_clear(&env);
		if (!check("binding", r))
			return false;
	}
	printf("  binding of one of %2u tasks %17.1f\n", gpus->count,
	       (now() - start) / ROUNDS / gpus->count);
	return true;
}

static bool measure_reading(const struct machine *machine, struct launch_gpus *gpus)
{
	struct launch_error err = {{0}};
	char root[256], list[64];
	double start, first;
	int r;

	machine_plant(machine, root, sizeof(root));
	machine_list(machine, list, sizeof(list));
	/* A step reads them once, in a process that has read nothing before. */
	start = now();
	r = launch_gpus_read(gpus, list, 0, NULL, root, &err);
	first = now() - start;
	start = now();
	for (int i = 0; i < ROUNDS && !r; i++)
		r = launch_gpus_read(gpus, list, 0, NULL, root, &err);
	printf("  places of %2u GPUs %26.1f (first: %.1f)\n", gpus->count,
	       (now() - start) / ROUNDS, first);
	machine_uproot(root);
	return check("places of GPUs", r);
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = {8, 16, 64};
	static struct machine machine;
	static struct launch_gpus gpus;
	bool ok = true;

	if (argc != 2) {
		fprintf(stderr, "usage: %s MACHINE.txt\n", argv[0]);
		return 2;
	}
	machine_read(&machine, argv[1]);
	printf("binding of GPUs, microseconds, mean of %d:\n", ROUNDS);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && ok; i++)
		ok = measure_assignment(sizes[i]);
	ok = ok && measure_reading(&machine, &gpus) && measure_binding(&gpus);
	return ok ? 0 : 1;
}
