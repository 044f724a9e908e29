/* SPDX-License-Identifier: MIT */
/*
 * What the site profile decides: which partition, how many CPUs a task with
 * `cpus_per_task: auto` gets, how memory is asked for, and what is over a limit. The
 * numbers are worked out by hand from srank-spec(5).
 */
#include "job.h"

static const char cluster[] =
	"partitions:\n"
	"  gpu: {default: yes, nodes: 4, cpus_per_node: 128, threads_per_core: 2,\n"
	"        reserved_cpus: 8, gpus_per_node: 8, gpu_types: [a100], mem: 512G,\n"
	"        time: 3-0, qos: [normal, long]}\n"
	"  big: {nodes: 64, min_nodes: 2, gpu_nodes: 16, cpus_per_node: 64,\n"
	"        gpus_per_node: 4, mem: 256G}\n"
	"  cpu: {nodes: 100, cpus_per_node: 48, max_cpus_per_node: 40, mem: 128G,\n"
	"        max_mem_per_cpu: 3G, features: [ib, rome]}\n"
	"  fat: {nodes: 2, cpus_per_node: 96, mem: 2T}\n";

static void make(struct job *job, const char *resources, const char *batch,
		 const char *site)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "run: {script: a.py}\nresources: {%s}\nbatch: {%s}\n", resources, batch);
	job_make(job, text, site);
}

static void a_partition_is_chosen(void **state)
{
	static const struct {
		const char *resources, *batch;
		const char
			*written; /* into the script; NULL: none, the default will do */
		const char *checked; /* whose limits hold */
	} rows[] = {
		/* The default will do: nothing is written. */
		{"nodes: 4, gpus_per_node: 8", "", NULL, "gpu"},
		{"nodes: 1, ntasks_per_node: 4", "", NULL, "gpu"},
		/* It is too small: the smallest that is not. */
		{"nodes: 8, gpus_per_node: 4", "", "big", "big"},
		{"nodes: 90, ntasks_per_node: 4", "", "cpu", "cpu"},
		{"nodes: 2, ntasks_per_node: 4, mem: 1T", "", "fat", "fat"},
		{"nodes: 1, ntasks_per_node: 4, mem: 1T", "time: 9-0", "fat", "fat"},
		/* By name, and by the word for this. */
		{"nodes: 1, gpus_per_node: 4", "partition: gpu", "gpu", "gpu"},
		{"nodes: 1, gpus_per_node: 4", "partition: auto", "gpu", "gpu"},
		{"nodes: 90, ntasks_per_node: 1", "partition: auto", "cpu", "cpu"},
		/* Of several one must take it. */
		{"nodes: 90, ntasks_per_node: 1", "partition: 'gpu,cpu'", "gpu,cpu",
		 "cpu"},
		{"nodes: 900, ntasks_per_node: 1", "partition: 'gpu,other'", "gpu,other",
		 NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;

		print_message("# row %zu\n", i);
		make(&job, rows[i].resources, rows[i].batch, cluster);
		job_fits(&job);
		assert_text(job.plan.batch.partition, rows[i].written);
		assert_text(job.plan.partition ? job.plan.partition->name.text : NULL,
			    rows[i].checked);
		job_clear(&job);
	}
}

/* Without a default in the profile, and with none that has GPUs by all that is known. */
static void without_a_default(void **state)
{
	static const char two[] = "partitions: {a: {nodes: 2, gpus_per_node: 4}, "
				  "b: {nodes: 9}}";
	struct job job;

	make(&job, "nodes: 2, gpus_per_node: 4", "", two);
	job_fits(&job);
	assert_string_equal(job.plan.batch.partition, "a");
	assert_true(job.plan.batch.chosen);
	assert_int_equal(job.diag.count, 0);
	job_clear(&job);
	make(&job, "nodes: 3, gpus_per_node: 4", "", two);
	assert_int_equal(job.rc, -EINVAL);
	assert_diag(&job.diag,
		    "job.yaml: error: the job fits into no partition of site.yaml: a: "
		    "nodes 3 is more than partition a allows: 2 (site.yaml); b: no GPU "
		    "is known there [plan-partition]\n");
	job_clear(&job);
	/* A contradiction is no matter of the partition. */
	make(&job, "nodes: 3, ntasks: 4, ntasks_per_node: 2", "", two);
	assert_int_equal(job.rc, -EINVAL);
	assert_diag(
		&job.diag,
		"job.yaml:2:51: error: ntasks 4 != nodes 3 x ntasks_per_node 2: nodes "
		"3 (line 2), ntasks 4 (line 2), ntasks_per_node 2 (line 2) "
		"[plan-identity]\n");
	job_clear(&job);
	make(&job, "nodes: 3", "partition: auto", NULL);
	assert_int_equal(job.rc, -EINVAL);
	assert_diag(&job.diag,
		    "job.yaml:3:20: error: partition is auto, but no site profile lists "
		    "the partitions [plan-partition]\n"
		    "  fix: name one, or let `srank site` write a profile\n");
	job_clear(&job);
}

/* The fewest GPUs that will do, and none for a job without. */
static void the_best_of_several(void **state)
{
	static const char site[] =
		"partitions:\n"
		"  g8: {nodes: 9, cpus_per_node: 64, gpus_per_node: 8}\n"
		"  g4: {nodes: 9, cpus_per_node: 64, gpus_per_node: 4}\n"
		"  c64: {nodes: 9, cpus_per_node: 64}\n"
		"  c32: {nodes: 9, cpus_per_node: 32}\n"
		"  any: {nodes: 9}\n";
	static const struct {
		const char *resources, *partition;
	} rows[] = {
		{"nodes: 1, gpus_per_node: 8", "g8"},
		{"nodes: 1, gpus_per_node: 4", "g4"},
		{"gpus: 16, gpus_per_node: 2", "g4"},
		{"gpus: 16", "g4"},
		{"gpus: 56", "g8"},
		{"nodes: 1, ntasks_per_node: 40, cpus_per_task: 1", "c64"},
		{"nodes: 1, ntasks_per_node: 20, cpus_per_task: 1", "c32"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;

		print_message("# row %zu\n", i);
		make(&job, rows[i].resources, "", site);
		job_fits(&job);
		assert_text(job.plan.batch.partition, rows[i].partition);
		job_clear(&job);
	}
}

static void cpus_are_divided_once(void **state)
{
	static const struct {
		const char *launcher, *resources, *site;
		uint64_t cpus_per_task;
	} rows[] = {
		/* A node of 192 CPUs and 8 GPUs, from one task to eight: always all. */
		{"torchrun", "gpus_per_node: 8", "cpus_per_node: 192, gpus_per_node: 8",
		 192},
		{"torch", "gpus_per_node: 8", "cpus_per_node: 192, gpus_per_node: 8", 24},
		{"torch", "gpus_per_node: 4", "cpus_per_node: 192, gpus_per_node: 8", 24},
		{"torch", "gpus_per_node: 1", "cpus_per_node: 192, gpus_per_node: 8", 24},
		{"torch", "gpus_per_node: 8, tasks_per_gpu: 2",
		 "cpus_per_node: 192, gpus_per_node: 8", 12},
		/* Whole nodes have all CPUs, however few GPUs they use. */
		{"torch", "gpus_per_node: 4, exclusive: true",
		 "cpus_per_node: 192, gpus_per_node: 8", 48},
		{"torch", "gpus_per_node: 4",
		 "cpus_per_node: 192, gpus_per_node: 8, exclusive: yes", 48},
		/* Whole cores of two threads: 60 cores, 30 with half of the GPUs. */
		{"torch", "gpus_per_node: 8",
		 "cpus_per_node: 128, reserved_cpus: 8, threads_per_core: 2, "
		 "gpus_per_node: 8",
		 14},
		{"torch", "gpus_per_node: 4",
		 "cpus_per_node: 128, reserved_cpus: 8, threads_per_core: 2, "
		 "gpus_per_node: 8",
		 14},
		/* One thread of each core: 64 cores for 8 tasks. */
		{"torch", "gpus_per_node: 8, hint: nomultithread",
		 "cpus_per_node: 128, threads_per_core: 2, gpus_per_node: 8", 8},
		{"torch", "gpus_per_node: 8, hint: compute_bound",
		 "cpus_per_node: 128, threads_per_core: 2, gpus_per_node: 8", 8},
		{"torch", "gpus_per_node: 8, hint: memory_bound",
		 "cpus_per_node: 128, threads_per_core: 2, gpus_per_node: 8", 16},
		{"torch", "gpus_per_node: 8, threads_per_core: 1",
		 "cpus_per_node: 128, threads_per_core: 2, gpus_per_node: 8", 8},
		/* What other partitions leave. */
		{"torch", "ntasks_per_node: 4",
		 "cpus_per_node: 48, max_cpus_per_node: 40", 10},
		{"torch", "ntasks_per_node: 7", "cpus_per_node: 48", 6},
		/* Given otherwise: then nothing is left to choose. */
		{"torch", "gpus_per_node: 2, cpus_per_gpu: 3",
		 "cpus_per_node: 48, gpus_per_node: 2", 3},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[256], site[256];

		print_message("# row %zu\n", i);
		snprintf(text, sizeof(text),
			 "run: {script: a.py}\nlauncher: %s\nresources: {nodes: 1, "
			 "cpus_per_task: auto, %s}\n",
			 rows[i].launcher, rows[i].resources);
		snprintf(site, sizeof(site), "partitions: {p: {default: yes, %s}}",
			 rows[i].site);
		job_make(&job, text, site);
		job_fits(&job);
		assert_int_equal(plan_value(&job.plan, PLAN_CPUS_PER_TASK),
				 rows[i].cpus_per_task);
		job_clear(&job);
	}
}

static void auto_says_what_it_lacks(void **state)
{
	struct job job;

	make(&job, "nodes: 1, gpus_per_node: 4, cpus_per_task: auto", "", cluster);
	job_fits(&job);
	assert_string_equal(
		job.plan.number[PLAN_CPUS_PER_TASK].reason,
		"partition gpu: 120 CPUs, reserved ones left out x 4 of 8 GPUs "
		"/ 4 tasks, whole cores");
	assert_int_equal(job.plan.number[PLAN_CPUS_PER_TASK].origin, PLAN_SITE);
	job_clear(&job);
	make(&job, "nodes: 1, cpus_per_task: auto", "", NULL);
	assert_int_equal(job.rc, -EINVAL);
	assert_diag(&job.diag,
		    "job.yaml:2:38: error: cpus_per_task is auto, but no site profile "
		    "says how many CPUs a node of the partition has [plan-missing]\n"
		    "  fix: give the number, or cpus_per_gpu, or cpus_per_node in a site "
		    "profile, as `srank site` writes it\n");
	job_clear(&job);
	make(&job, "nodes: 1, cpus_per_task: auto", "partition: p",
	     "partitions: {p: {}}");
	assert_int_equal(job.rc, -EINVAL);
	assert_diag(&job.diag,
		    "job.yaml:2:38: error: cpus_per_task is auto, but site.yaml does not "
		    "say how many CPUs a node of partition p has [plan-missing]\n"
		    "  fix: give the number, or cpus_per_gpu, or cpus_per_node in a site "
		    "profile, as `srank site` writes it\n");
	job_clear(&job);
	make(&job, "nodes: 1, cpus_per_task: auto, ntasks_per_node: 50", "partition: cpu",
	     cluster);
	assert_int_equal(job.rc, -EINVAL);
	assert_diag(
		&job.diag,
		"job.yaml:2:38: error: cpus_per_task is auto, but 40 CPUs of partition "
		"cpu are no whole core for each of 50 tasks [plan-cpus]\n");
	job_clear(&job);
}

static void memory_in_the_sites_way(void **state)
{
	static const struct {
		const char *resources, *site;
		const char *option, *value; /* NULL: no directive */
		uint64_t per_node;          /* MiB */
	} rows[] = {
		{"mem: 64g", "", "mem", "64g", 65536},
		{"mem: 0", "", "mem", "0", 0},
		{"mem_gb: 64", "", "mem", "64G", 65536},
		{"mem_per_cpu: 2G, cpus_per_gpu: 4", "", "mem-per-cpu", "2G", 32768},
		{"mem_per_gpu: 16G", "", "mem-per-gpu", "16G", 65536},
		{"exclusive: true", "mem_dialect: mem_per_cpu", NULL, NULL, 0},
		/* Converted, and never to less than was asked for. */
		{"mem: 64G, cpus_per_gpu: 4", "mem_dialect: mem_per_cpu", "mem-per-cpu",
		 "4G", 65536},
		{"mem: 100G, cpus_per_gpu: 3", "mem_dialect: mem_per_cpu", "mem-per-cpu",
		 "8534M", 102400},
		/* A task without a word about CPUs has one. */
		{"mem: 64G", "mem_dialect: mem_per_cpu", "mem-per-cpu", "16G", 65536},
		{"mem_per_cpu: 2G, cpus_per_gpu: 4", "mem_dialect: mem", "mem", "32G",
		 32768},
		{"mem: 100M", "mem_dialect: mem_per_gpu", "mem-per-gpu", "25M", 100},
		{"mem: 101M", "mem_dialect: mem_per_gpu", "mem-per-gpu", "26M", 101},
		{"mem: 64G", "mem_dialect: none", NULL, NULL, 65536},
		{"mem: 64G", "mem_dialect: given", "mem", "64G", 65536},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;
		char text[256];

		print_message("# row %zu\n", i);
		snprintf(text, sizeof(text), "nodes: 2, gpus_per_node: 4, %s",
			 rows[i].resources);
		make(&job, text, "", rows[i].site);
		job_fits(&job);
		assert_text(job.plan.memory.option, rows[i].option);
		if (rows[i].value)
			assert_text(job.plan.memory.value, rows[i].value);
		assert_int_equal(job.plan.memory.per_node, rows[i].per_node);
		job_clear(&job);
	}
	{
		struct job job;

		/* A job without GPUs has no memory for each. */
		make(&job, "nodes: 1, mem: 8G", "", "mem_dialect: mem_per_gpu");
		job_fits(&job);
		assert_text(job.plan.memory.option, "mem");
		job_clear(&job);
	}
}

static void faults(void **state)
{
	static const struct {
		const char *resources, *batch, *site, *expected;
	} rows[] = {
		/* Memory. */
		{"nodes: 1, mem: 1G, mem_per_cpu: 1G", "", "",
		 "job.yaml:2:45: error: mem_per_cpu 1G is given beside mem 1G; Slurm "
		 "takes one of them [plan-memory]\n"},
		{"nodes: 1, mem_per_gpu: 1G", "", "",
		 "job.yaml:2:36: error: mem_per_gpu is given, but the job has no GPU "
		 "[plan-memory]\n"
		 "  fix: mem: 1G\n"},
		{"nodes: 1, mem: 0", "", "mem_dialect: mem_per_cpu",
		 "job.yaml:2:28: error: mem 0 is all the memory of a node, which cannot "
		 "be asked for by --mem-per-cpu, as site.yaml wants it [plan-memory]\n"
		 "  fix: give an amount\n"},
		{"gpus: 1, mem_per_gpu: 1G", "", "select: linear",
		 "job.yaml:2:35: error: --mem-per-gpu needs select/cons_tres, and "
		 "site.yaml says select: linear [plan-memory]\n"
		 "  fix: give mem, the memory of a node\n"},
		/* Limits. */
		{"nodes: 1, mem_per_gpu: 100G, gpus_per_node: 8", "partition: gpu",
		 cluster,
		 "job.yaml:2:36: error: mem_per_gpu 100G, 819200 MiB a node, is more "
		 "than "
		 "partition gpu allows: 512G (site.yaml) [plan-limit]\n"},
		{"nodes: 1, gpus_per_node: 4", "partition: big", cluster,
		 "job.yaml:2:20: error: nodes 1 is less than partition big wants: 2 "
		 "(site.yaml) [plan-limit]\n"},
		{"nodes: 17, gpus_per_node: 4", "partition: big", cluster,
		 "job.yaml:2:20: error: nodes 17 is more than partition big allows: 16 "
		 "(site.yaml) [plan-limit]\n"},
		{"nodes: 1, cpus_per_task: 121", "partition: gpu", cluster,
		 "job.yaml:2:38: error: cpus_per_node 121 (ntasks_per_node 1 x "
		 "cpus_per_task 121) is more than partition gpu "
		 "allows: 120, the reserved ones left out (site.yaml) [plan-limit]\n"},
		{"nodes: 1, cpus_per_task: 61, hint: nomultithread", "partition: gpu",
		 cluster,
		 "job.yaml:2:38: error: cpus_per_node 61 (ntasks_per_node 1 x "
		 "cpus_per_task 61), 122 with idle threads, is more "
		 "than partition gpu allows: 120, the reserved ones left out (site.yaml) "
		 "[plan-limit]\n"},
		{"nodes: 1, cpus_per_task: 41", "partition: cpu", cluster,
		 "job.yaml:2:38: error: cpus_per_node 41 (ntasks_per_node 1 x "
		 "cpus_per_task 41) is more than partition cpu "
		 "allows: 40 (site.yaml) [plan-limit]\n"},
		{"gpus: 1, gpu_type: v100", "partition: gpu, qos: short", cluster,
		 "job.yaml:2:32: error: gpu_type v100 is not among those of partition "
		 "gpu "
		 "(site.yaml): it has a100 [plan-limit]\n"
		 "job.yaml:3:30: error: qos short is not among those of partition gpu "
		 "(site.yaml) [plan-limit]\n"},
		{"nodes: 1", "partition: cpu, constraint: milan", cluster,
		 "job.yaml:3:37: error: constraint milan is not among those of partition "
		 "cpu (site.yaml) [plan-limit]\n"},
		/* No partition is named, and the default one is the only one. */
		{"nodes: 3, ntasks_per_node: 9", "",
		 "partitions: {p: {default: yes, nodes: 2, cpus_per_node: 8}}",
		 "job.yaml:2:20: error: nodes 3 is more than partition p allows: 2 "
		 "(site.yaml) [plan-limit]\n"},
		/* Of several none takes it: what the first one says. */
		{"nodes: 200", "partition: 'gpu,cpu'", cluster,
		 "job.yaml:2:20: error: nodes 200 is more than partition gpu allows: 4 "
		 "(site.yaml) [plan-limit]\n"},
		/* Dialects and versions. */
		{"gpus: 1", "", "gpu_dialect: gpus\nselect: linear",
		 "site.yaml:1:14: error: gpu_dialect gpus needs select/cons_tres, and "
		 "the "
		 "profile says select: linear [plan-dialect]\n"
		 "  fix: gpu_dialect: gres\n"},
		{"gpus: 1", "", "gpu_dialect: gpus_per_task\nselect: cons_res",
		 "site.yaml:1:14: error: gpu_dialect gpus_per_task needs "
		 "select/cons_tres, and the profile says select: cons_res "
		 "[plan-dialect]\n"
		 "  fix: gpu_dialect: gres\n"},
		{"nodes: 4, segment: 2, exclusive: topo", "", "slurm: '23.11'",
		 "job.yaml:2:32: error: segment came with Slurm 24.05, and site.yaml "
		 "says "
		 "slurm: 23.11 [plan-version]\n"
		 "job.yaml:2:46: error: exclusive: topo came with Slurm 24.05, and "
		 "site.yaml says slurm: 23.11 [plan-version]\n"},
		{"nodes: 3, segment: 2", "", "slurm: '24.05'",
		 "job.yaml:2:32: error: nodes 3 is not a multiple of segment 2 "
		 "[plan-identity]\n"},
		/* All that is wrong, in one run. */
		{"nodes: 2, gpus: 7, gpus_per_node: 4, ntasks: 9, ntasks_per_node: 5",
		 "partition: gpu, time: 5-0", cluster,
		 "job.yaml:2:47: error: gpus 7 != nodes 2 x gpus_per_node 4: nodes 2 "
		 "(line 2), gpus 7 (line 2), gpus_per_node 4 (line 2) [plan-identity]\n"
		 "job.yaml:2:58: error: ntasks 9 is not gpus 7 x tasks_per_gpu, whole "
		 "numbers above zero: gpus 7 (line 2), ntasks 9 (line 2) "
		 "[plan-identity]\n"
		 "job.yaml:2:78: error: ntasks 9 != nodes 2 x ntasks_per_node 5: nodes 2 "
		 "(line 2), ntasks 9 (line 2), ntasks_per_node 5 (line 2) "
		 "[plan-identity]\n"
		 "job.yaml:2:78: error: ntasks_per_node 5 is not gpus_per_node 4 x "
		 "tasks_per_gpu, whole numbers above zero: gpus_per_node 4 (line 2), "
		 "ntasks_per_node 5 (line 2) [plan-identity]\n"
		 "job.yaml:3:31: error: time 5-0 is more than partition gpu allows: 3-0 "
		 "(site.yaml) [plan-limit]\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct job job;

		print_message("# row %zu\n", i);
		make(&job, rows[i].resources, rows[i].batch, rows[i].site);
		assert_int_equal(job.rc, -EINVAL);
		assert_diag(&job.diag, rows[i].expected);
		job_clear(&job);
	}
}

static void words_about_memory_that_costs_cpus(void **state)
{
	struct job job;

	make(&job, "nodes: 1, cpus_per_task: 10, mem: 40G", "partition: cpu", cluster);
	job_fits(&job);
	assert_diag(
		&job.diag,
		"job.yaml:2:47: warning: mem 40G is more than partition cpu allows for "
		"each of 10 CPUs, 3G: Slurm will take more CPUs than cpus_per_task "
		"says [plan-memory]\n");
	job_clear(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_partition_is_chosen),
		cmocka_unit_test(without_a_default),
		cmocka_unit_test(the_best_of_several),
		cmocka_unit_test(cpus_are_divided_once),
		cmocka_unit_test(auto_says_what_it_lacks),
		cmocka_unit_test(memory_in_the_sites_way),
		cmocka_unit_test(faults),
		cmocka_unit_test(words_about_memory_that_costs_cpus),
	};

	return cmocka_run_group_tests_name("partition", tests, NULL, NULL);
}
