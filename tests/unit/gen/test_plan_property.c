/* SPDX-License-Identifier: MIT */
/*
 * Random consistent plans, of which random numbers are given: the rest must come out
 * again, or be called missing, or be a default that is named as such; and one wrong
 * number among all is never accepted.
 */
#include "support.h"

#include "gen/plan/plan.h"

#include <errno.h>

#define ROUNDS 20000

static const char *const launchers[] = {"torch", "torchrun"};

/* The numbers that a spec can give, in the order of their fields below. */
enum {
	NODES,
	GPUS,
	GPUS_PER_NODE,
	TASKS_PER_GPU,
	NTASKS,
	NTASKS_PER_NODE,
	CPUS_PER_TASK,
	CPUS_PER_GPU,
	GIVENS
};

static const struct {
	enum plan_quantity quantity;
	size_t offset;
	const char *name;
} fields[GIVENS] = {
	{PLAN_NODES, offsetof(struct spec, resources.nodes), "nodes"},
	{PLAN_GPUS, offsetof(struct spec, resources.gpus), "gpus"},
	{PLAN_GPUS_PER_NODE, offsetof(struct spec, resources.gpus_per_node),
	 "gpus_per_node"},
	{PLAN_TASKS_PER_GPU, offsetof(struct spec, resources.tasks_per_gpu),
	 "tasks_per_gpu"},
	{PLAN_NTASKS, offsetof(struct spec, resources.ntasks), "ntasks"},
	{PLAN_NTASKS_PER_NODE, offsetof(struct spec, resources.ntasks_per_node),
	 "ntasks_per_node"},
	{PLAN_CPUS_PER_TASK, offsetof(struct spec, resources.cpus_per_task),
	 "cpus_per_task"},
	{PLAN_CPUS_PER_GPU, offsetof(struct spec, resources.cpus_per_gpu),
	 "cpus_per_gpu"},
};

struct full {
	bool node; /* node shape */
	uint64_t workers_per_node;
	uint64_t value[GIVENS]; /* 0 for what a job without GPUs has not */
};

/* xorshift64*: the same plans on every machine. */
static uint64_t random_state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * UINT64_C(2685821657736338717) >> 33) % below;
}

/* Without the rules of the plan: from the free numbers upwards. */
static struct full draw_full(bool gpus)
{
	struct full full = {.node = draw(2)};
	uint64_t *value = full.value;
	uint64_t per_worker = 1 + draw(6);

	value[NODES] = 1 + draw(6);
	if (gpus) {
		value[GPUS_PER_NODE] = 1 + draw(8);
		value[TASKS_PER_GPU] = 1 + draw(3);
		full.workers_per_node = value[GPUS_PER_NODE] * value[TASKS_PER_GPU];
		value[CPUS_PER_GPU] = per_worker * value[TASKS_PER_GPU];
	} else {
		full.workers_per_node = full.node ? 1 : 1 + draw(8);
	}
	value[GPUS] = value[NODES] * value[GPUS_PER_NODE];
	value[NTASKS_PER_NODE] = full.node ? 1 : full.workers_per_node;
	value[NTASKS] = value[NODES] * value[NTASKS_PER_NODE];
	value[CPUS_PER_TASK] =
		full.node ? per_worker * full.workers_per_node : per_worker;
	return full;
}

static void give(struct spec *spec, int field, uint64_t number)
{
	struct spec_value *value = (void *)((char *)spec + fields[field].offset);

	*value = (struct spec_value){.given = true,
				     .place = {"job.yaml", (uint32_t)field + 1, 1, 2},
				     .text = "",
				     .number = number};
}

/* Plans the numbers in the set GIVEN of FULL. */
static int plan_subset(const struct full *full, unsigned int given, struct plan *plan,
		       struct diag *diag)
{
	static struct spec_site site;
	struct spec spec = {
		.file = "job.yaml",
		.launcher = {.given = true, .text = launchers[full->node]},
		.run.script = {.given = true, .text = "a.py"},
	};

	spec_site_init(&site);
	memset(plan, 0, sizeof(*plan));
	for (int i = 0; i < GIVENS; i++) {
		if (given & 1u << i)
			give(&spec, i, full->value[i]);
	}
	return plan_make(plan, &spec, &site, diag);
}

static uint64_t number(const struct plan *plan, enum plan_quantity quantity)
{
	return plan_value(plan, quantity);
}

static void assert_consistent(const struct plan *plan)
{
	uint64_t nodes = number(plan, PLAN_NODES);
	uint64_t tasks = number(plan, PLAN_NTASKS_PER_NODE);
	uint64_t workers = number(plan, PLAN_WORKERS_PER_NODE);
	uint64_t gpus = number(plan, PLAN_GPUS_PER_NODE);

	assert_true(nodes >= 1 && tasks >= 1 && workers >= 1);
	assert_int_equal(number(plan, PLAN_NTASKS), nodes * tasks);
	assert_int_equal(number(plan, PLAN_GPUS), nodes * gpus);
	assert_int_equal(number(plan, PLAN_WORLD_SIZE), nodes * workers);
	assert_int_equal(tasks, plan->shape == LAUNCH_NODE ? 1 : workers);
	if (gpus > 0)
		assert_int_equal(workers, gpus * number(plan, PLAN_TASKS_PER_GPU));
	if (plan_known(plan, PLAN_CPUS_PER_TASK))
		assert_int_equal(number(plan, PLAN_CPUS_PER_NODE),
				 tasks * number(plan, PLAN_CPUS_PER_TASK));
	if (plan_known(plan, PLAN_CPUS_PER_GPU) && plan_known(plan, PLAN_CPUS_PER_TASK))
		assert_int_equal(tasks * number(plan, PLAN_CPUS_PER_TASK),
				 gpus * number(plan, PLAN_CPUS_PER_GPU));
}

/* True when a number was filled in by a default. */
static bool has_default(const struct plan *plan)
{
	for (int q = 0; q < PLAN_QUANTITIES; q++) {
		if (plan->number[q].origin == PLAN_DEFAULT)
			return true;
	}
	return false;
}

/* Every number of FULL that the plan knows must be FULL's; CPUs may be left open. */
static void assert_same(const struct plan *plan, const struct full *full,
			unsigned int given)
{
	for (int i = 0; i < GIVENS; i++) {
		enum plan_quantity quantity = fields[i].quantity;

		if (!plan_known(plan, quantity)) {
			assert_true(i == CPUS_PER_TASK || i == CPUS_PER_GPU ||
				    full->value[GPUS] == 0);
			continue;
		}
		if (number(plan, quantity) != full->value[i])
			fail_msg("given %#x, %s: %s is %llu, not %llu", given,
				 launchers[full->node], fields[i].name,
				 (unsigned long long)number(plan, quantity),
				 (unsigned long long)full->value[i]);
	}
	assert_int_equal(number(plan, PLAN_WORKERS_PER_NODE), full->workers_per_node);
}

static unsigned int all_of(const struct full *full)
{
	unsigned int given = 0;

	for (int i = 0; i < GIVENS; i++) {
		if (full->value[i] > 0)
			given |= 1u << i;
	}
	return given;
}

static void any_subset_gives_the_same_plan(void **state)
{
	unsigned int same = 0, missing = 0, defaults = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct full full = draw_full(round % 5 > 0);
		unsigned int given = all_of(&full) & (unsigned int)draw(1u << GIVENS);
		struct diag diag = {0};
		struct plan plan;
		int rc = plan_subset(&full, given, &plan, &diag);

		if (rc < 0) {
			/* Consistent numbers are never called a contradiction. */
			assert_int_equal(diag.count, 1);
			if (strcmp(diag.items[0].rule, "plan-missing") != 0)
				fail_msg("given %#x: %s", given, diag.items[0].message);
			missing++;
		} else {
			assert_consistent(&plan);
			for (int i = 0; i < GIVENS; i++) {
				if (given & 1u << i)
					assert_int_equal(
						number(&plan, fields[i].quantity),
						full.value[i]);
			}
			if (!has_default(&plan)) {
				assert_same(&plan, &full, given);
				same++;
			} else {
				defaults++;
			}
		}
		plan_clear(&plan);
		diag_clear(&diag);
	}
	print_message("# %u the same, %u with defaults, %u missing\n", same, defaults,
		      missing);
	/* Each kind must really have been met. */
	assert_true(same > ROUNDS / 5 && defaults > ROUNDS / 50 && missing > ROUNDS / 50);
}

/* Where the defaults are what the plan has (one node, one rank a GPU), dropping is
 * harmless. */
static void defaults_are_what_they_say(void **state)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct full full = {.node = draw(2)};
		struct diag diag = {0};
		unsigned int given;
		struct plan plan;
		uint64_t *value = full.value;

		value[NODES] = value[TASKS_PER_GPU] = 1;
		value[GPUS] = value[GPUS_PER_NODE] = full.workers_per_node = 1 + draw(8);
		value[NTASKS] = value[NTASKS_PER_NODE] = full.node ? 1 : value[GPUS];
		value[CPUS_PER_GPU] = 1 + draw(8);
		value[CPUS_PER_TASK] =
			value[CPUS_PER_GPU] * (full.node ? value[GPUS] : 1);
		/* Without a number of GPUs the spec is for a job without any. */
		given = (unsigned int)draw(1u << GIVENS) | 1u << GPUS_PER_NODE;
		assert_int_equal(plan_subset(&full, given, &plan, &diag), 0);
		assert_same(&plan, &full, given);
		plan_clear(&plan);
		diag_clear(&diag);
	}
}

static void contradictions_are_never_accepted(void **state)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct full full = draw_full(round % 5 > 0);
		unsigned int given = all_of(&full);
		struct diag diag = {0};
		struct plan plan;
		uint64_t old, new;
		int field;

		/* A number that another given one depends on. */
		do {
			field = (int)draw(GIVENS);
		} while (!(given & 1u << field) ||
			 (full.node && field == TASKS_PER_GPU) ||
			 (field == CPUS_PER_TASK && full.value[GPUS] == 0));
		old = full.value[field];
		do {
			new = 1 + draw(2 * old + 2);
		} while (new == old);
		full.value[field] = new;
		if (plan_subset(&full, given, &plan, &diag) == 0)
			fail_msg("%s %llu instead of %llu was accepted",
				 fields[field].name, (unsigned long long)new,
				 (unsigned long long)old);
		assert_true(diag.errors >= 1);
		plan_clear(&plan);
		diag_clear(&diag);
	}
}

/* Any numbers at all: refused with a reason, or a plan that holds. */
static void nonsense_never_makes_an_inconsistent_plan(void **state)
{
	static const uint64_t edges[] = {0, 1, 2, 3, 7, 8, 64, 46341, 65536, INT32_MAX};

	for (int round = 0; round < ROUNDS; round++) {
		struct full full = {.node = draw(2)};
		unsigned int given = (unsigned int)draw(1u << GIVENS);
		struct diag diag = {0};
		struct plan plan;

		for (int i = 0; i < GIVENS; i++) {
			/* As the reader of specs lets pass: zero only for GPUs. */
			full.value[i] = edges[draw(sizeof(edges) / sizeof(edges[0]))];
			if (full.value[i] == 0 && i != GPUS && i != GPUS_PER_NODE)
				full.value[i] = 1;
		}
		if (plan_subset(&full, given, &plan, &diag) == 0) {
			assert_consistent(&plan);
			assert_true(number(&plan, PLAN_WORLD_SIZE) <= INT32_MAX);
		} else {
			assert_true(diag.errors >= 1);
		}
		plan_clear(&plan);
		diag_clear(&diag);
	}
}

/* `cpus_per_task: auto` and memory against what a node has, which is drawn, too. */
static void auto_takes_its_share_and_no_more(void **state)
{
	static const char *const dialects[] = {"mem", "mem_per_cpu", "mem_per_gpu"};
	unsigned int fits = 0;

	for (int round = 0; round < ROUNDS / 4; round++) {
		const uint64_t threads = 1 + draw(2), cores = 8 + draw(121);
		const uint64_t node_gpus = 1 + draw(8), gpus = 1 + draw(node_gpus);
		const uint64_t per_gpu = 1 + draw(3), reserved = draw(5);
		const uint64_t mem = 1 + draw(1 << 20);
		const bool node = draw(2), exclusive = draw(3) == 0;
		const uint64_t tasks = node ? 1 : gpus * per_gpu;
		/* What the job may have, in cores. */
		const uint64_t share = (cores * threads - reserved) / threads *
				       (exclusive ? node_gpus : gpus) / node_gpus;
		struct spec spec = {0};
		struct spec_site site;
		struct plan plan = {0};
		struct diag diag = {0};
		char text[512];
		int rc;

		snprintf(text, sizeof(text),
			 "run: {script: a.py}\nlauncher: %s\nresources: {nodes: 1, "
			 "gpus_per_node: %d, tasks_per_gpu: %d, cpus_per_task: auto, "
			 "exclusive: %s, mem: %dM}\n",
			 launchers[node], (int)gpus, (int)per_gpu,
			 exclusive ? "yes" : "no", (int)mem);
		assert_int_equal(
			spec_read_text(&spec, "job.yaml", text, strlen(text), &diag), 0);
		spec_site_init(&site);
		snprintf(text, sizeof(text),
			 "mem_dialect: %s\npartitions: {p: {default: yes, cpus_per_node: "
			 "%d, threads_per_core: %d, reserved_cpus: %d, gpus_per_node: "
			 "%d}}\n",
			 dialects[draw(3)], (int)(cores * threads), (int)threads,
			 (int)reserved, (int)node_gpus);
		assert_int_equal(spec_site_read_text(&site, "site.yaml", text,
						     strlen(text), &diag),
				 0);
		rc = plan_make(&plan, &spec, &site, &diag);
		if (rc == 0) {
			const uint64_t each = number(&plan, PLAN_CPUS_PER_TASK);
			const uint64_t asked = plan.memory.per_node;
			unsigned long long value = 0;
			char unit = 'M';
			uint64_t count = 1;

			fits++;
			assert_int_equal(each % threads, 0);
			assert_true(each / threads * tasks <= share);
			assert_true((each / threads + 1) * tasks > share);
			/* As much memory as asked for, and less than one MiB more for
			 * each part of it. */
			if (strcmp(plan.memory.option, "mem-per-cpu") == 0)
				count = each * tasks;
			if (strcmp(plan.memory.option, "mem-per-gpu") == 0)
				count = gpus;
			assert_int_equal(asked, mem);
			assert_int_equal(
				sscanf(plan.memory.value, "%llu%c", &value, &unit), 2);
			value *= unit == 'G' ? 1024 : 1;
			assert_true(value * count >= mem);
			assert_true((value - 1) * count < mem);
		} else {
			/* Less than a core for each task, or for each rank of a node. */
			assert_true(share < tasks ||
				    (node && share * threads < gpus * per_gpu));
		}
		plan_clear(&plan);
		spec_clear(&spec);
		spec_site_clear(&site);
		diag_clear(&diag);
	}
	assert_true(fits > ROUNDS / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_subset_gives_the_same_plan),
		cmocka_unit_test(defaults_are_what_they_say),
		cmocka_unit_test(contradictions_are_never_accepted),
		cmocka_unit_test(auto_takes_its_share_and_no_more),
		cmocka_unit_test(nonsense_never_makes_an_inconsistent_plan),
	};

	return cmocka_run_group_tests_name("plan-property", tests, NULL, NULL);
}
