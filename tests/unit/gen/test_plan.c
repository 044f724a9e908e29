/* SPDX-License-Identifier: MIT */
/*
 * The plan: numbers inferred from few, contradictions with the identity that fails,
 * limits of the site, and the two example specs in both shapes. Expected numbers are
 * worked out by hand.
 */
#include "support.h"

#include "gen/plan/plan.h"

#include <errno.h>

static const char *source_root = ".";

struct job {
	struct spec spec;
	struct spec_site site;
	struct plan plan;
	struct diag diag;
	int rc;
};

/* `run` is there so that only numbers can be wrong. */
static void make_at(struct job *job, const char *launcher, const char *resources,
		    const char *batch, const char *site)
{
	char *text = NULL;

	memset(job, 0, sizeof(*job));
	spec_site_init(&job->site);
	assert_true(asprintf(&text,
			     "run: {script: a.py}\nlauncher: %s\nresources: {%s}\n"
			     "batch: {%s}\n",
			     launcher, resources, batch) > 0);
	assert_int_equal(
		spec_read_text(&job->spec, "job.yaml", text, strlen(text), &job->diag),
		0);
	free(text);
	if (site)
		assert_int_equal(spec_site_read_text(&job->site, "site.yaml", site,
						     strlen(site), &job->diag),
				 0);
	job->rc = plan_make(&job->plan, &job->spec, &job->site, &job->diag);
}

static void make(struct job *job, const char *launcher, const char *resources)
{
	make_at(job, launcher, resources, "", NULL);
}

static void clear(struct job *job)
{
	plan_clear(&job->plan);
	spec_clear(&job->spec);
	spec_site_clear(&job->site);
	diag_clear(&job->diag);
}

#define UNKNOWN -1

/* In the order of enum plan_quantity. */
struct numbers {
	const char *launcher, *resources;
	int64_t nodes, gpus, gpus_per_node, tasks_per_gpu, ntasks, ntasks_per_node,
		workers_per_node, world_size, cpus_per_task, cpus_per_gpu, cpus_per_node,
		gpus_per_task;
};

static void check_numbers(const struct plan *plan, const struct numbers *row)
{
	const int64_t *expected = &row->nodes;

	for (int q = 0; q < PLAN_QUANTITIES; q++) {
		int64_t got =
			plan_known(plan, q) ? (int64_t)plan_value(plan, q) : UNKNOWN;

		if (got != expected[q])
			fail_msg("{%s} %s: %s is %lld, expected %lld", row->resources,
				 row->launcher, plan_quantity_name(q), (long long)got,
				 (long long)expected[q]);
	}
}

static void numbers_follow_from_few(void **state)
{
	enum { _ = UNKNOWN };
	static const struct numbers rows[] = {
		/* Worker shape: N, G, G/N, T/G, T, T/N, W/N, W, C/T, C/G, C/N, G/T */
		{"torch", "nodes: 2, gpus_per_node: 8, cpus_per_gpu: 6", 2, 16, 8, 1, 16,
		 8, 8, 16, 6, 6, 48, 1},
		{"torch", "nodes: 2, gpus: 16, cpus_per_task: 6", 2, 16, 8, 1, 16, 8, 8,
		 16, 6, 6, 48, 1},
		{"torch", "gpus: 16, gpus_per_node: 8", 2, 16, 8, 1, 16, 8, 8, 16, _, _,
		 _, 1},
		{"torch", "gpus: 16, ntasks_per_node: 8", 2, 16, 8, 1, 16, 8, 8, 16, _, _,
		 _, 1},
		{"torch", "ntasks: 16, gpus_per_node: 8", 2, 16, 8, 1, 16, 8, 8, 16, _, _,
		 _, 1},
		{"torch", "ntasks: 16, nodes: 2, tasks_per_gpu: 1", 2, 16, 8, 1, 16, 8, 8,
		 16, _, _, _, 1},
		{"torch", "nodes: 2, ntasks_per_node: 8, cpus_per_gpu: 6", 2, 16, 8, 1,
		 16, 8, 8, 16, 6, 6, 48, 1},
		/* Two ranks on each GPU: a GPU is no whole number of a task. */
		{"torch", "nodes: 2, gpus_per_node: 4, tasks_per_gpu: 2, cpus_per_gpu: 6",
		 2, 8, 4, 2, 16, 8, 8, 16, 3, 6, 24, _},
		{"torch", "gpus: 8, ntasks: 16, nodes: 2", 2, 8, 4, 2, 16, 8, 8, 16, _, _,
		 _, _},
		{"torch", "gpus: 8, ntasks: 16, ntasks_per_node: 8", 2, 8, 4, 2, 16, 8, 8,
		 16, _, _, _, _},
		/* CPUs a task that are no whole number a GPU are nobody's fault. */
		{"torch",
		 "nodes: 1, gpus_per_node: 2, tasks_per_gpu: 1, cpus_per_task: 3", 1, 2,
		 2, 1, 2, 2, 2, 2, 3, 3, 6, 1},
		/* One node is the default when no total says otherwise; one is one node.
		 */
		{"torch", "gpus_per_node: 8", 1, 8, 8, 1, 8, 8, 8, 8, _, _, _, 1},
		{"torch", "gpus: 1", 1, 1, 1, 1, 1, 1, 1, 1, _, _, _, 1},
		{"torch", "ntasks: 1", 1, 0, 0, _, 1, 1, 1, 1, _, _, _, 0},
		/* No GPUs. */
		{"torch", "nodes: 2, ntasks_per_node: 4, cpus_per_task: 2", 2, 0, 0, _, 8,
		 4, 4, 8, 2, _, 8, 0},
		{"torch", "ntasks: 8, ntasks_per_node: 4", 2, 0, 0, _, 8, 4, 4, 8, _, _,
		 _, 0},
		{"torch", "nodes: 4, ntasks: 8, gpus: 0", 4, 0, 0, _, 8, 2, 2, 8, _, _, _,
		 0},
		{"torch", "nodes: 3", 3, 0, 0, _, 3, 1, 1, 3, _, _, _, 0},
		{"mpi", "nodes: 2, ntasks_per_node: 2, gpus_per_node: 2", 2, 4, 2, 1, 4,
		 2, 2, 4, _, _, _, 1},
		/* Node shape: one task a node. */
		{"torchrun", "nodes: 2, gpus_per_node: 8, cpus_per_gpu: 6", 2, 16, 8, 1,
		 2, 1, 8, 16, 48, 6, 48, 8},
		{"torchrun", "nodes: 2, gpus: 16, cpus_per_task: 48", 2, 16, 8, 1, 2, 1,
		 8, 16, 48, 6, 48, 8},
		{"torchrun", "ntasks: 2, gpus_per_node: 8, ntasks_per_node: 1", 2, 16, 8,
		 1, 2, 1, 8, 16, _, _, _, 8},
		{"torchrun",
		 "nodes: 2, gpus_per_node: 8, tasks_per_gpu: 2, cpus_per_gpu: 6", 2, 16,
		 8, 2, 2, 1, 16, 32, 48, 6, 48, 8},
		{"torchrun", "nodes: 2, gpus_per_node: 8, cpus_per_task: 50", 2, 16, 8, 1,
		 2, 1, 8, 16, 50, _, 50, 8},
		{"accelerate", "gpus: 8, gpus_per_node: 4", 2, 8, 4, 1, 2, 1, 4, 8, _, _,
		 _, 4},
		{"torchrun", "cpus_per_task: 48, cpus_per_gpu: 6, nodes: 2", 2, 16, 8, 1,
		 2, 1, 8, 16, 48, 6, 48, 8},
		{"torchrun", "nodes: 2", 2, 0, 0, _, 2, 1, 1, 2, _, _, _, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;

		make(&job, rows[i].launcher, rows[i].resources);
		if (job.rc != 0)
			fail_msg("{%s} %s: %s", rows[i].resources, rows[i].launcher,
				 job.diag.items[0].message);
		assert_int_equal(job.diag.count, 0);
		check_numbers(&job.plan, &rows[i]);
		clear(&job);
	}
}

static void faults(void **state)
{
	static const struct {
		const char *launcher, *resources, *expected;
	} rows[] = {
		/* Contradictions: the identity, its numbers and where they stand. */
		{"torch", "nodes: 2, ntasks_per_node: 8, ntasks: 8",
		 "job.yaml:3:51: error: ntasks 8 != nodes 2 x ntasks_per_node 8: nodes 2 "
		 "(line 3), "
		 "ntasks 8 (line 3), ntasks_per_node 8 (line 3) [plan-identity]\n"},
		{"torch", "gpus: 16, nodes: 2, gpus_per_node: 4",
		 "job.yaml:3:48: error: gpus 16 != nodes 2 x gpus_per_node 4: nodes 2 "
		 "(line 3), "
		 "gpus 16 (line 3), gpus_per_node 4 (line 3) [plan-identity]\n"},
		{"torch", "nodes: 1, ntasks_per_node: 12, gpus_per_node: 8",
		 "job.yaml:3:59: error: ntasks_per_node 12 is not gpus_per_node 8 x "
		 "tasks_per_gpu, whole numbers above zero: gpus_per_node 8 (line 3), "
		 "ntasks_per_node 12 (line 3) [plan-identity]\n"},
		{"torch", "nodes: 3, gpus: 16",
		 "job.yaml:3:29: error: gpus 16 is not nodes 3 x gpus_per_node, whole "
		 "numbers "
		 "above zero: nodes 3 (line 3), gpus 16 (line 3) [plan-identity]\n"},
		{"torch", "nodes: 2, ntasks: 8, gpus_per_node: 8",
		 "job.yaml:3:49: error: ntasks_per_node 4 is not gpus_per_node 8 x "
		 "tasks_per_gpu, "
		 "whole numbers above zero: it follows from nodes 2 (line 3), "
		 "gpus_per_node 8 "
		 "(line 3), ntasks 8 (line 3) [plan-identity]\n"},
		{"torch",
		 "nodes: 1, gpus_per_node: 8, cpus_per_gpu: 6, cpus_per_task: 48",
		 /* The two keys that cannot be, and not the one task that would have
		    all CPUs. */
		 "job.yaml:3:73: error: cpus_per_gpu 6 is not tasks_per_gpu x "
		 "cpus_per_task 48, "
		 "whole numbers above zero: cpus_per_task 48 (line 3), cpus_per_gpu 6 "
		 "(line 3) [plan-identity]\n"},
		{"torch",
		 "gpus_per_node: 8, tasks_per_gpu: 1, cpus_per_gpu: 6, cpus_per_task: 48",
		 "job.yaml:3:81: error: cpus_per_gpu 6 != tasks_per_gpu 1 x "
		 "cpus_per_task 48: "
		 "tasks_per_gpu 1 (line 3), cpus_per_task 48 (line 3), cpus_per_gpu 6 "
		 "(line 3) [plan-identity]\n"},
		{"torch", "nodes: 1, gpus_per_node: 4, tasks_per_gpu: 2, cpus_per_gpu: 3",
		 "job.yaml:3:73: error: cpus_per_gpu 3 is not tasks_per_gpu 2 x "
		 "cpus_per_task, whole numbers above zero: tasks_per_gpu 2 (line 3), "
		 "cpus_per_gpu 3 (line 3) [plan-identity]\n"},
		/* CPUs of a node are no key: what makes them is told. */
		{"torchrun",
		 "nodes: 1, gpus_per_node: 8, cpus_per_gpu: 6, cpus_per_task: 12",
		 "job.yaml:3:73: error: ntasks_per_node 1 x cpus_per_task 12 != "
		 "gpus_per_node 8 x cpus_per_gpu 6: it follows from gpus_per_node 8 "
		 "(line 3), ntasks_per_node 1 (launcher torchrun is one task a node), "
		 "cpus_per_task 12 (line 3), cpus_per_gpu 6 (line 3) "
		 "[plan-identity]\n"},
		/* Four numbers of which three contradict each other: the three. */
		{"torch", "nodes: 2, ntasks: 16, gpus: 12, tasks_per_gpu: 1",
		 "job.yaml:3:60: error: ntasks 16 != gpus 12 x tasks_per_gpu 1: gpus 12 "
		 "(line 3), tasks_per_gpu 1 (line 3), ntasks 16 (line 3) "
		 "[plan-identity]\n"},
		{"torch", "nodes: 1, gpus: 3, ntasks: 2",
		 "job.yaml:3:40: error: ntasks 2 is not gpus 3 x tasks_per_gpu, whole "
		 "numbers above zero: gpus 3 (line 3), ntasks 2 (line 3) "
		 "[plan-identity]\n"},
		{"torch", "ntasks: 8, gpus: 4, tasks_per_gpu: 3",
		 "job.yaml:3:48: error: ntasks 8 != gpus 4 x tasks_per_gpu 3: gpus 4 "
		 "(line 3), tasks_per_gpu 3 (line 3), ntasks 8 (line 3) "
		 "[plan-identity]\n"},
		{"torch", "nodes: 3, ntasks_per_node: 3, gpus: 9, tasks_per_gpu: 2",
		 /* Neither ntasks nor gpus_per_node is given; all four keys are in it. */
		 "job.yaml:3:67: error: ntasks_per_node 3 != gpus_per_node 3 x "
		 "tasks_per_gpu 2: it follows from nodes 3 (line 3), gpus 9 (line 3), "
		 "tasks_per_gpu 2 (line 3), ntasks_per_node 3 (line 3) "
		 "[plan-identity]\n"},
		/* Two contradictions that have nothing to do with each other: both. */
		{"torch",
		 "nodes: 2, gpus: 8, gpus_per_node: 8, cpus_per_gpu: 3, cpus_per_task: 2",
		 "job.yaml:3:47: error: gpus 8 != nodes 2 x gpus_per_node 8: nodes 2 "
		 "(line 3), gpus 8 (line 3), gpus_per_node 8 (line 3) "
		 "[plan-identity]\n"
		 "job.yaml:3:82: error: cpus_per_gpu 3 is not tasks_per_gpu x "
		 "cpus_per_task 2, whole numbers above zero: cpus_per_task 2 (line 3), "
		 "cpus_per_gpu 3 (line 3) [plan-identity]\n"},
		{"torchrun", "nodes: 2, ntasks: 16, gpus_per_node: 8",
		 "job.yaml:3:31: error: ntasks 16 != nodes 2 x ntasks_per_node 1: nodes "
		 "2 (line "
		 "3), ntasks 16 (line 3), ntasks_per_node 1 (launcher torchrun is one "
		 "task a "
		 "node) [plan-identity]\n"},
		{"torchrun", "nodes: 2, ntasks_per_node: 8, gpus_per_node: 8",
		 "job.yaml:3:40: error: ntasks_per_node is 8, but launcher torchrun is "
		 "one task a "
		 "node that starts the workers itself [plan-shape]\n"
		 "  fix: remove ntasks_per_node; gpus_per_node and tasks_per_gpu say how "
		 "many "
		 "workers there are\n"},
		{"torchrun", "nodes: 2, gpus_per_node: 8, cpus_per_task: 6",
		 "job.yaml:3:56: error: cpus_per_task 6 is for the one task a node of "
		 "launcher "
		 "torchrun, and its 8 workers would share these CPUs [plan-cpus]\n"
		 "  fix: cpus_per_gpu: 6 means the same for every launcher\n"},
		/* The plugin's tables end at 64 GPUs; the number given is the one to
		   blame. */
		{"torch", "nodes: 2, gpus_per_node: 65",
		 "job.yaml:3:38: error: gpus_per_node 65 is more than the plugin takes: "
		 "64 GPUs a node [plan-limit]\n"},
		{"torchrun", "gpus: 65, nodes: 1",
		 "job.yaml:3:30: error: gpus_per_node 65 is more than the plugin takes: "
		 "64 GPUs a node [plan-limit]\n"},
		{"torch", "nodes: 2000000, gpus_per_node: 2000000",
		 "job.yaml:3:44: error: gpus = nodes 2000000 x gpus_per_node 2000000 is "
		 "more than "
		 "Slurm can count: nodes 2000000 (line 3), gpus_per_node 2000000 (line "
		 "3) [plan-identity]\n"
		 "job.yaml:3:44: error: gpus_per_node 2000000 is more than the plugin "
		 "takes: 64 GPUs a node [plan-limit]\n"},
		/* Zero GPUs, and words about GPUs. */
		{"torch", "gpus: 0, tasks_per_gpu: 2",
		 "job.yaml:3:19: error: gpus 0 asks for no GPU, and tasks_per_gpu 2 for "
		 "some [plan-identity]\n"},
		{"torch", "gpus: 0, gpus_per_node: 8",
		 "job.yaml:3:19: error: gpus 0 asks for no GPU, and gpus_per_node 8 for "
		 "some [plan-identity]\n"},
		{"torch", "gpus: 8, gpus_per_node: 0",
		 "job.yaml:3:37: error: gpus_per_node 0 asks for no GPU, and gpus 8 for "
		 "some [plan-identity]\n"},
		/* Too little. */
		{"torch", "gpus: 16",
		 "job.yaml:3:19: error: gpus 16 does not say how many nodes share them "
		 "[plan-missing]\n"
		 "  fix: add nodes or gpus_per_node\n"},
		{"torch", "ntasks: 16",
		 "job.yaml:3:21: error: ntasks 16 does not say how many nodes share them "
		 "[plan-missing]\n"
		 "  fix: add nodes or ntasks_per_node\n"},
		{"torch", "nodes: 2, cpus_per_gpu: 6",
		 "job.yaml:3:37: error: cpus_per_gpu is given, but no number of GPUs "
		 "[plan-missing]\n"
		 "  fix: add gpus_per_node\n"},
		{"torch", "nodes: 2, gpu_type: a100",
		 "job.yaml:3:33: error: gpu_type is given, but no number of GPUs "
		 "[plan-missing]\n"
		 "  fix: add gpus_per_node\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;

		print_message("# row %zu: %s {%s}\n", i, rows[i].launcher,
			      rows[i].resources);
		make(&job, rows[i].launcher, rows[i].resources);
		assert_int_equal(job.rc, -EINVAL);
		assert_diag(&job.diag, rows[i].expected);
		clear(&job);
	}
}

static void nothing_given_is_said(void **state)
{
	static const struct numbers row = {"torch", "", 1, 0,       0,       UNKNOWN, 1,
					   1,       1,  1, UNKNOWN, UNKNOWN, UNKNOWN, 0};
	struct job job;

	make(&job, "torch", "");
	assert_int_equal(job.rc, 0);
	check_numbers(&job.plan, &row);
	assert_diag(&job.diag,
		    "job.yaml: warning: resources names no nodes, tasks or GPUs: the "
		    "job is one task on one node without GPU [plan-missing]\n"
		    "  fix: add nodes and gpus_per_node under resources\n");
	clear(&job);
}

static void every_number_has_its_reason(void **state)
{
	struct job job;

	make(&job, "torchrun", "nodes: 2, gpus: 16");
	assert_int_equal(job.rc, 0);
	assert_string_equal(job.plan.number[PLAN_NODES].reason, "given at job.yaml:3:20");
	assert_int_equal(job.plan.number[PLAN_NODES].origin, PLAN_GIVEN);
	assert_string_equal(job.plan.number[PLAN_GPUS_PER_NODE].reason,
			    "gpus 16 / nodes 2");
	assert_int_equal(job.plan.number[PLAN_GPUS_PER_NODE].origin, PLAN_INFERRED);
	assert_string_equal(job.plan.number[PLAN_NTASKS_PER_NODE].reason,
			    "launcher torchrun is one task a node");
	assert_int_equal(job.plan.number[PLAN_NTASKS_PER_NODE].origin, PLAN_LAUNCHER);
	assert_string_equal(job.plan.number[PLAN_TASKS_PER_GPU].reason,
			    "default: one rank a GPU");
	assert_string_equal(job.plan.number[PLAN_WORLD_SIZE].reason,
			    "nodes 2 x workers_per_node 8");
	assert_int_equal(job.plan.checked_count, 5);
	assert_string_equal(job.plan.checked[0],
			    "ntasks 2 = nodes 2 x ntasks_per_node 1");
	assert_string_equal(job.plan.checked[1], "gpus 16 = nodes 2 x gpus_per_node 8");
	assert_string_equal(job.plan.checked[2],
			    "workers_per_node 8 = gpus_per_node 8 x tasks_per_gpu 1");
	assert_string_equal(job.plan.checked[3],
			    "world_size 16 = nodes 2 x workers_per_node 8");
	assert_string_equal(job.plan.checked[4],
			    "gpus_per_node 8 = ntasks_per_node 1 x gpus_per_task 8");
	clear(&job);
}

static void sentences(void **state)
{
	static const struct {
		const char *launcher, *resources, *sentence;
	} rows[] = {
		{"torchrun", "nodes: 2, gpus_per_node: 8",
		 "2 nodes x 1 task x 8 workers = 16 ranks"},
		{"mmengine", "nodes: 2, gpus_per_node: 8",
		 "2 nodes x 8 tasks = 16 ranks"},
		{"torch", "nodes: 1", "1 node x 1 task = 1 rank"},
		{"torchrun", "nodes: 1", "1 node x 1 task x 1 worker = 1 rank"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[80], cut[8];

		make(&job, rows[i].launcher, rows[i].resources);
		plan_sentence(&job.plan, text, sizeof(text));
		assert_string_equal(text, rows[i].sentence);
		plan_sentence(&job.plan, cut, sizeof(cut));
		assert_int_equal(strlen(cut), 7);
		clear(&job);
	}
}

static const char site[] =
	"gpu_dialect: gpus_per_node\n"
	"partitions:\n"
	"  gpu: {nodes: 4, cpus_per_node: 64, gpus_per_node: 8, mem: 512G, time: 3-0}\n"
	"  cpu: {nodes: 100}\n";

static void limits_of_the_partition(void **state)
{
	static const struct {
		const char *resources, *batch, *expected; /* NULL: fits */
	} rows[] = {
		{"nodes: 4, gpus_per_node: 8, cpus_per_gpu: 8, mem: 512G",
		 "partition: gpu, time: 3-0", NULL},
		{"nodes: 5, gpus_per_node: 9", "partition: gpu",
		 "job.yaml:3:20: error: nodes 5 is more than partition gpu allows: 4 "
		 "(site.yaml) "
		 "[plan-limit]\n"
		 "job.yaml:3:38: error: gpus_per_node 9 is more than partition gpu "
		 "allows: 8 "
		 "(site.yaml) [plan-limit]\n"},
		{"nodes: 1, gpus_per_node: 8, cpus_per_gpu: 9", "partition: gpu",
		 "job.yaml:3:55: error: cpus_per_node 72 (gpus_per_node 8 x "
		 "cpus_per_gpu 9) is more than partition gpu "
		 "allows: 64 "
		 "(site.yaml) [plan-limit]\n"},
		{"nodes: 1, mem: 513G", "partition: gpu, time: 3-00:00:01",
		 "job.yaml:3:28: error: mem 513G is more than partition gpu allows: 512G "
		 "(site.yaml) [plan-limit]\n"
		 "job.yaml:4:31: error: time 3-00:00:01 is more than partition gpu "
		 "allows: 3-0 "
		 "(site.yaml) [plan-limit]\n"},
		{"nodes: 1", "partition: gpu, time: UNLIMITED",
		 "job.yaml:4:31: error: time UNLIMITED is more than partition gpu "
		 "allows: 3-0 "
		 "(site.yaml) [plan-limit]\n"},
		{"nodes: 100, mem: 0", "partition: cpu", NULL},
		/* Any of several may take the job. */
		{"nodes: 100", "partition: 'gpu,cpu'", NULL},
		{"nodes: 100", "", NULL},
	};
	struct job job;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("# row %zu\n", i);
		make_at(&job, "torch", rows[i].resources, rows[i].batch, site);
		assert_int_equal(job.rc, rows[i].expected ? -EINVAL : 0);
		assert_diag(&job.diag, rows[i].expected ? rows[i].expected : "");
		assert_int_equal(job.plan.dialect, SPEC_DIALECT_GPUS_PER_NODE);
		clear(&job);
	}
	make_at(&job, "torch", "nodes: 1", "partition: gqu", site);
	assert_int_equal(job.rc, 0);
	assert_diag(&job.diag,
		    "job.yaml:4:20: warning: the site profile has no partition gqu; did "
		    "you mean gpu? [plan-partition]\n");
	clear(&job);
}

static void partition_spreads_a_total(void **state)
{
	static const struct {
		const char *resources;
		uint64_t nodes, gpus_per_node, ntasks_per_node;
	} rows[] = {
		{"gpus: 16", 2, 8, 8},
		{"gpus: 8", 1, 8, 8},
		{"gpus: 3", 1, 3, 3},
		{"gpus: 16, nodes: 4", 4, 4, 4},
		/* Two totals alone: their ratio is known before any node is. */
		{"gpus: 16, ntasks: 32", 2, 8, 16},
		{"gpus: 12", 0, 0, 0}, /* 8 and 4: no even plan */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;

		make_at(&job, "torch", rows[i].resources, "partition: gpu", site);
		assert_int_equal(job.rc, rows[i].nodes ? 0 : -EINVAL);
		assert_int_equal(plan_value(&job.plan, PLAN_NODES), rows[i].nodes);
		assert_int_equal(plan_value(&job.plan, PLAN_GPUS_PER_NODE),
				 rows[i].gpus_per_node);
		assert_int_equal(plan_value(&job.plan, PLAN_NTASKS_PER_NODE),
				 rows[i].ntasks_per_node);
		clear(&job);
	}
}

static void gpus_per_task_cannot_share_a_gpu(void **state)
{
	static const char dialect[] = "gpu_dialect: gpus_per_task";
	struct job job;

	make_at(&job, "torch", "nodes: 1, gpus_per_node: 2, tasks_per_gpu: 2", "",
		dialect);
	assert_int_equal(job.rc, -EINVAL);
	assert_diag(&job.diag,
		    "job.yaml:3:56: error: tasks_per_gpu 2 cannot be asked for by "
		    "--gpus-per-task, which site.yaml demands [plan-dialect]\n"
		    "  fix: a launcher of the node shape, as torchrun, can share a GPU "
		    "here\n");
	clear(&job);
	make_at(&job, "torchrun", "nodes: 1, gpus_per_node: 2, tasks_per_gpu: 2", "",
		dialect);
	assert_int_equal(job.rc, 0);
	assert_int_equal(plan_value(&job.plan, PLAN_GPUS_PER_TASK), 2);
	clear(&job);
}

/* Where Slurm would bind each task to its own GPU, and the plugin is to do it. */
static void unbinding(void **state)
{
	static const struct {
		const char *launcher, *resources, *binding, *site;
		bool unbind;
	} rows[] = {
		{"torch", "nodes: 2, gpus_per_node: 4", NULL, "gpus_per_task", true},
		{"torch", "nodes: 2, gpus_per_node: 4", "mask", "gpus_per_task", true},
		{"mpi", "nodes: 1, gpus_per_node: 2", NULL, "gpus_per_task", true},
		/* As Slurm does it, on demand. */
		{"torch", "nodes: 2, gpus_per_node: 4", "none", "gpus_per_task", false},
		/* The one task of a node has all its GPUs. */
		{"torchrun", "nodes: 2, gpus_per_node: 4", NULL, "gpus_per_task", false},
		{"torch", "nodes: 2, gpus_per_node: 1", NULL, "gpus_per_task", false},
		{"torch", "nodes: 2, ntasks_per_node: 4", NULL, "gpus_per_task", false},
		{"torch", "nodes: 2, gpus_per_node: 4", NULL, "gpus_per_node", false},
		{"torch", "nodes: 2, gpus_per_node: 4", NULL, "gres", false},
		/* Nothing else would bind them. */
		{"mpi", "nodes: 1, gpus_per_node: 2", NULL, "gpus_per_task\nplugin: no",
		 false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char profile[64];

		print_message("# row %zu\n", i);
		snprintf(profile, sizeof(profile), "gpu_dialect: %s\n", rows[i].site);
		make_at(&job, rows[i].launcher, rows[i].resources, "", profile);
		assert_int_equal(job.rc, 0);
		plan_clear(&job.plan);
		if (rows[i].binding)
			job.spec.binding.gpus = (struct spec_value){
				.given = true, .text = rows[i].binding};
		assert_int_equal(plan_make(&job.plan, &job.spec, &job.site, &job.diag),
				 0);
		assert_int_equal(job.plan.unbind, rows[i].unbind);
		clear(&job);
	}
}

static void settings_for_the_step(void **state)
{
	static const struct {
		const char *text, *srank;
	} rows[] = {
		{"launcher: torchrun", "torchrun"},
		{"name: x", "torch"},
		{"launcher: jax\nbinding: {gpus: mask}\nrendezvous: {port: 29500}",
		 "jax,gpus=mask,port=29500"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job = {0};
		char text[256];

		snprintf(text, sizeof(text),
			 "%s\nrun: {script: a.py}\nresources: {nodes: 1}\n",
			 rows[i].text);
		spec_site_init(&job.site);
		assert_int_equal(spec_read_text(&job.spec, "job.yaml", text, strlen(text),
						&job.diag),
				 0);
		assert_int_equal(plan_make(&job.plan, &job.spec, &job.site, &job.diag),
				 0);
		assert_string_equal(job.plan.srank, rows[i].srank);
		assert_int_equal(job.plan.launcher_given,
				 strncmp(rows[i].text, "la", 2) == 0);
		clear(&job);
	}
}

/* The two jobs that people run, in both shapes, by changing one word. */
static void examples(void **state)
{
	enum { _ = UNKNOWN };
	static const struct {
		const char *file, *launcher;
		struct numbers numbers;
		const char *args[6];
	} rows[] = {
		{"yolox-1x8.yaml",
		 NULL,
		 {"torchrun", "", 1, 8, 8, 1, 1, 1, 8, 8, 40, 5, 40, 8},
		 {"configs/yolox/yolox_s_8xb8-300e_coco.py", "--launcher", "pytorch"}},
		{"yolox-1x8.yaml",
		 "mmengine",
		 {"mmengine", "", 1, 8, 8, 1, 8, 8, 8, 8, 5, 5, 40, 1},
		 {"configs/yolox/yolox_s_8xb8-300e_coco.py", "--launcher", "pytorch"}},
		{"yolox-2x8.yaml",
		 NULL,
		 {"torchrun", "", 2, 16, 8, 1, 2, 1, 8, 16, 48, 6, 48, 8},
		 {"configs/yolox/yolox_x_8xb8-300e_coco.py", "--work-dir",
		  "./work_dirs/yolox_x_8x8", "--auto-scale-lr", "--launcher", "pytorch"}},
		{"yolox-2x8.yaml",
		 "torch",
		 {"torch", "", 2, 16, 8, 1, 16, 8, 8, 16, 6, 6, 48, 1},
		 {"configs/yolox/yolox_x_8xb8-300e_coco.py", "--work-dir",
		  "./work_dirs/yolox_x_8x8", "--auto-scale-lr", "--launcher", "pytorch"}},
		{"yolox-2x8.yaml",
		 "mmengine",
		 {"mmengine", "", 2, 16, 8, 1, 16, 8, 8, 16, 6, 6, 48, 1},
		 {"configs/yolox/yolox_x_8xb8-300e_coco.py", "--work-dir",
		  "./work_dirs/yolox_x_8x8", "--auto-scale-lr", "--launcher", "pytorch"}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job = {0};
		char file[512], launcher[64];
		size_t count = 0;

		snprintf(file, sizeof(file), "%s/docs/examples/%s", source_root,
			 rows[i].file);
		spec_site_init(&job.site);
		assert_int_equal(spec_read(&job.spec, file, &job.diag), 0);
		if (rows[i].launcher) {
			snprintf(launcher, sizeof(launcher), "launcher=%s",
				 rows[i].launcher);
			assert_int_equal(spec_override(&job.spec, launcher, &job.diag),
					 0);
		}
		assert_int_equal(plan_make(&job.plan, &job.spec, &job.site, &job.diag),
				 0);
		assert_int_equal(job.diag.count, 0);
		assert_string_equal(job.plan.launcher->name, rows[i].numbers.launcher);
		check_numbers(&job.plan, &rows[i].numbers);
		assert_int_equal(job.plan.run.kind, PLAN_SCRIPT);
		assert_string_equal(job.plan.run.python, "python");
		assert_string_equal(job.plan.run.target, "tools/train.py");
		while (count < 6 && rows[i].args[count])
			count++;
		assert_int_equal(job.plan.run.count, count);
		for (size_t j = 0; j < count; j++)
			assert_string_equal(job.plan.run.args[j], rows[i].args[j]);
		clear(&job);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_follow_from_few),
		cmocka_unit_test(faults),
		cmocka_unit_test(nothing_given_is_said),
		cmocka_unit_test(every_number_has_its_reason),
		cmocka_unit_test(sentences),
		cmocka_unit_test(limits_of_the_partition),
		cmocka_unit_test(partition_spreads_a_total),
		cmocka_unit_test(gpus_per_task_cannot_share_a_gpu),
		cmocka_unit_test(unbinding),
		cmocka_unit_test(settings_for_the_step),
		cmocka_unit_test(examples),
	};

	if (argc > 1)
		source_root = argv[1];
	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
