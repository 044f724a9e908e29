/* SPDX-License-Identifier: MIT */
/*
 * Nodes made at random, with masks that fit them or not: what each task gets against what
 * the contract of launch_gpus_bind() says, counted CPU by CPU and solved by the oracle.
 */
#include "spank/launch/gpus.h"
#include "tests/unit/launch/oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CPUS_MAX 64

/* More than all CPUs that can be off: a step of distance. */
#define FARTHER 1000000

static uint64_t seed = 88172645463325252ULL;

static uint32_t random_below(uint32_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % limit;
}

static struct launch_gpus gpus;
static struct launch_cpuset masks[16];
static uint32_t ntasks;

static void fill(struct launch_cpuset *set, uint32_t first, uint32_t count)
{
	memset(set, 0, sizeof(*set));
	for (uint32_t cpu = first; cpu < first + count; cpu++)
		set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

/* Sockets of nodes of chiplets, two or one of each in the next; GPUs anywhere. */
static void make_node(uint32_t count)
{
	uint32_t chiplet = 1 + random_below(8);
	uint32_t node = chiplet * (1 + random_below(2));
	uint32_t socket = node * (1 + random_below(2));
	uint32_t sockets = 1 + random_below(2);

	memset(&gpus, 0, sizeof(gpus));
	gpus.vendor = LAUNCH_VENDOR_NVIDIA;
	gpus.count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct launch_gpu *gpu = &gpus.gpu[i];
		uint32_t near = random_below(sockets * socket / chiplet) * chiplet;

		snprintf(gpu->name, sizeof(gpu->name), "%u", i);
		gpu->located = random_below(8) > 0;
		fill(&gpu->local, near, chiplet);
		fill(&gpu->node, near / node * node, node);
		fill(&gpu->socket, near / socket * socket, socket);
	}
	/* Blocks that need not end where a chiplet does, some of them in disorder. */
	for (uint32_t i = 0; i < ntasks; i++) {
		uint32_t task = random_below(4) ? i : random_below(ntasks);
		uint32_t first = task * sockets * socket / ntasks;
		uint32_t last = (task + 1) * sockets * socket / ntasks;

		fill(&masks[i], first, last > first ? last - first : 1);
	}
}

static bool has(const struct launch_cpuset *set, uint32_t cpu)
{
	return set->bits[cpu / 64] >> (cpu % 64) & 1;
}

static int64_t count_cost(const struct launch_gpu *gpu, const struct launch_cpuset *mask)
{
	bool local = false, node = false, socket = false;
	int64_t off = 0;

	for (uint32_t cpu = 0; cpu < CPUS_MAX && gpu->located; cpu++) {
		if (!has(mask, cpu))
			continue;
		local |= has(&gpu->local, cpu);
		node |= has(&gpu->node, cpu);
		socket |= has(&gpu->socket, cpu);
		off += !has(&gpu->local, cpu) + !has(&gpu->node, cpu) +
		       !has(&gpu->socket, cpu);
	}
	if (!gpu->located || local)
		return off;
	return off + (node ? 1 : socket ? 2 : 3) * FARTHER;
}

static void bind(uint32_t task, enum launch_gpus_mode mode, char *list, size_t size)
{
	struct launch_settings settings;
	struct launch_environment env = {0};
	struct launch_error err = {{0}};
	struct launch_facts facts = {
		.local_rank = task,
		.local_size = ntasks,
		.ntasks = ntasks,
		.nnodes = 1,
	};

	launch_settings_init(&settings);
	settings.launcher = launch_launcher_find("torch");
	settings.gpus = mode;
	assert_int_equal(
		launch_gpus_bind(&gpus, masks, ntasks, &facts, &settings, &env, &err), 0);
	snprintf(list, size, "%s", launch_environment_get(&env, "CUDA_VISIBLE_DEVICES"));
	launch_environment_clear(&env);
}

/* Prints GPUs of a set in ascending order, behind what LIST has. */
static void print_set(uint64_t set, char *list, size_t size)
{
	for (uint32_t gpu = 0; gpu < gpus.count; gpu++) {
		size_t used = strlen(list);

		if (set >> gpu & 1)
			snprintf(list + used, size - used, "%s%u", used ? "," : "", gpu);
	}
}

/* A row of costs for each local rank modulo the number of GPUs. */
static void check_order(void)
{
	int64_t cost[16 * 16] = {0};
	uint32_t gpu_of[16], positions = ntasks < gpus.count ? ntasks : gpus.count;
	uint64_t rest = (UINT64_C(1) << gpus.count) - 1;
	char expected[64] = "", list[64];

	for (uint32_t task = 0; task < ntasks; task++)
		for (uint32_t gpu = 0; gpu < gpus.count; gpu++)
			cost[task % positions * gpus.count + gpu] +=
				count_cost(&gpus.gpu[gpu], &masks[task]);
	oracle_assign(cost, positions, gpus.count, gpu_of);
	for (uint32_t i = 0; i < positions; i++) {
		print_set(UINT64_C(1) << gpu_of[i], expected, sizeof(expected));
		rest &= ~(UINT64_C(1) << gpu_of[i]);
	}
	print_set(rest, expected, sizeof(expected));
	for (uint32_t task = 0; task < ntasks; task++) {
		bind(task, LAUNCH_GPUS_ORDER, list, sizeof(list));
		assert_string_equal(list, expected);
	}
}

/* A row for each GPU that a task is to have. */
static void check_own(void)
{
	uint32_t each = ntasks < gpus.count ? gpus.count / ntasks : 1;
	int64_t cost[16 * 16];
	uint32_t gpu_of[16];

	for (uint32_t row = 0; row < ntasks * each; row++)
		for (uint32_t gpu = 0; gpu < gpus.count; gpu++)
			cost[row * gpus.count + gpu] =
				count_cost(&gpus.gpu[gpu], &masks[row / each]);
	oracle_assign(cost, ntasks * each, gpus.count, gpu_of);
	for (uint32_t task = 0; task < ntasks; task++) {
		uint64_t all = (UINT64_C(1) << gpus.count) - 1, own = 0;
		char expected[64] = "", list[64];

		for (uint32_t i = 0; i < each; i++)
			own |= UINT64_C(1) << gpu_of[task * each + i];
		print_set(own, expected, sizeof(expected));
		bind(task, LAUNCH_GPUS_MASK, list, sizeof(list));
		assert_string_equal(list, expected);
		print_set(all & ~own, expected, sizeof(expected));
		bind(task, LAUNCH_GPUS_FIRST, list, sizeof(list));
		assert_string_equal(list, expected);
	}
}

static void binds_as_the_contract_says(void **state)
{
	/* Tasks and GPUs, and on how many nodes. */
	static const struct {
		uint32_t ntasks, ngpus, rounds;
	} sizes[] = {{1, 1, 5},   {1, 4, 40},  {2, 4, 200}, {3, 4, 200}, {4, 4, 200},
		     {7, 4, 100}, {8, 4, 100}, {3, 8, 100}, {5, 8, 100}, {6, 8, 100},
		     {8, 8, 200}, {9, 8, 20},  {16, 8, 5},  {6, 6, 100}, {12, 6, 30},
		     {4, 16, 5},  {16, 16, 5}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		ntasks = sizes[i].ntasks;
		for (uint32_t round = 0; round < sizes[i].rounds; round++) {
			make_node(sizes[i].ngpus);
			check_order();
			check_own();
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(binds_as_the_contract_says),
	};

	return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
