/* SPDX-License-Identifier: MIT */
/* The table of `verbose`, compared with what a reader should see. */
#include "spank/launch/report.h"

#include "tests/unit/launch/support.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect_here(const struct launch_facts *facts, const char *list,
			const struct launch_report_node *here, const char *wanted)
{
	struct launch_settings settings;
	struct launch_error err = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int r;

	assert_non_null(out);
	launch_settings_init(&settings);
	assert_int_equal(launch_settings_parse(&settings, list, &err), 0);
	r = launch_report(out, facts, &settings, here, &err);
	fclose(out);
	if (r)
		fail_msg("%s", err.text);
	assert_string_equal(text, wanted);
	free(text);
}

/* Of no node anything is known but its name. */
static void expect(const struct launch_facts *facts, const char *list, const char *wanted)
{
	expect_here(facts, list, NULL, wanted);
}

static const struct launch_facts uneven = {
	.nnodes = 3,
	.ntasks = 17,
	.nodelist = "n[9-11]",
	.tasks_per_node = "8(x2),1",
	.resv_ports = "41001-41009",
};

static void test_nodes(void **state)
{
	struct launch_facts cyclic = uneven;

	expect(&uneven, "torch",
	       "launcher     torch (worker shape)\n"
	       "MASTER_ADDR  n9\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "NODE_RANK  NODE  TASKS  RANKS\n"
	       "0          n9    8      0-7\n"
	       "1          n10   8      8-15\n"
	       "2          n11   1      16\n");
	/* Not numbered node by node. */
	cyclic.layout = LAUNCH_LAYOUT_CYCLIC;
	expect(&cyclic, "port=29500",
	       "launcher     auto (worker shape)\n"
	       "MASTER_ADDR  n9\n"
	       "MASTER_PORT  29500 (port=)\n"
	       "NODE_RANK  NODE  TASKS\n"
	       "0          n9    8\n"
	       "1          n10   8\n"
	       "2          n11   1\n");
	expect(&uneven, "mpi",
	       "launcher     mpi (worker shape)\n"
	       "ranks        from PMIx\n"
	       "NODE_RANK  NODE  TASKS  RANKS\n"
	       "0          n9    8      0-7\n"
	       "1          n10   8      8-15\n"
	       "2          n11   1      16\n");
}

static void test_user(void **state)
{
	struct launch_facts facts = {.nnodes = 1,
				     .ntasks = 1,
				     .nodelist = "login-node-7",
				     .tasks_per_node = "1",
				     .user_addr = "login",
				     .user_port = "29500"};

	expect(&facts, "torchrun",
	       "launcher     torchrun (node shape)\n"
	       "MASTER_ADDR  login (as set)\n"
	       "MASTER_PORT  29500 (as set)\n"
	       "NODE_RANK  NODE          TASKS  RANKS\n"
	       "0          login-node-7  1      0\n");
}

static void test_folded(void **state)
{
	struct launch_facts facts = {.resv_ports = "41001"};

	/* 16 nodes, each in a row of its own; one more, and they fold. */
	facts.nnodes = 17;
	facts.nodelist = "n[1-16],m";
	facts.tasks_per_node = "8(x17)";
	expect(&facts, "",
	       "launcher     auto (worker shape)\n"
	       "MASTER_ADDR  n1\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "NODE_RANK  NODE      TASKS  RANKS\n"
	       "0-16       n1 ... m  8      0-135\n");

	facts.nnodes = 100000;
	facts.nodelist = "n[00000-99999]";
	facts.tasks_per_node = "8(x99997),7,8(x1),2";
	expect(&facts, "",
	       "launcher     auto (worker shape)\n"
	       "MASTER_ADDR  n00000\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "NODE_RANK  NODE               TASKS  RANKS\n"
	       "0-99996    n00000 ... n99996  8      0-799975\n"
	       "99997      n99997             7      799976-799982\n"
	       "99998      n99998             8      799983-799990\n"
	       "99999      n99999             2      799991-799992\n");
}

/* 130 nodes of 1 and 2 tasks by turns: 64 rows, and how many are left. */
static void test_cut(void **state)
{
	struct launch_facts facts = {
		.nnodes = 130, .nodelist = "n[1-130]", .resv_ports = "41001"};
	struct launch_settings settings;
	struct launch_error err = {0};
	char counts[1024] = "1";
	char *text = NULL;
	size_t size;
	int lines = 0;
	FILE *out = open_memstream(&text, &size);

	for (int i = 1; i < 130; i++)
		strcat(counts, i % 2 ? ",2" : ",1");
	facts.tasks_per_node = counts;
	launch_settings_init(&settings);
	assert_int_equal(launch_report(out, &facts, &settings, NULL, &err), 0);
	fclose(out);
	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 3 + 1 + 64 + 1);
	assert_non_null(
		strstr(text, "\n63         n64   2      94-95\n... and 66 more nodes\n"));
	free(text);
}

/* Names are not in the order of the node ranks: no row pretends that they are. */
static void test_sorted_names(void **state)
{
	struct launch_facts facts = uneven;

	facts.head = "n10";
	facts.layout = LAUNCH_LAYOUT_OTHER;
	expect(&facts, "",
	       "launcher     auto (worker shape)\n"
	       "MASTER_ADDR  n10\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "nodes        n[9-11] (by name)\n"
	       "tasks        8(x2),1 (likewise)\n");
	/* Where srun has told the layout, the nodes by NODE_RANK. */
	facts.order = "n[10,9,11]";
	facts.placement = "0(x8),1(x8),2";
	expect(&facts, "",
	       "launcher     auto (worker shape)\n"
	       "MASTER_ADDR  n10\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "nodes        n[9-11] (by name)\n"
	       "tasks        8(x2),1 (likewise)\n"
	       "node ranks   n[10,9,11]\n");
}

/* Who gets no rank is told so. */
static void test_no_ranks(void **state)
{
	struct launch_facts facts = {.nnodes = 1,
				     .ntasks = 1,
				     .nodelist = "n9",
				     .tasks_per_node = "1",
				     .resv_ports = "41001",
				     .pty = true};

	expect(&facts, "torch",
	       "launcher     none: no rank for the task at a terminal\n"
	       "MASTER_ADDR  n9\n"
	       "MASTER_PORT  41001 (reserved by Slurm)\n"
	       "NODE_RANK  NODE  TASKS  RANKS\n"
	       "0          n9    1      0\n");
}

/* CPUs 0-3 and 64-67 in two halves, and four GPUs. */
static struct launch_cpuset masks[2];
static struct launch_facts devices = {.gpus = "0,1,2,3", .gpu_variables = 1};
static const struct launch_report_node node9 = {masks, 2, &devices};

static void read_masks(const char *first, const char *second)
{
	assert_int_equal(launch_cpuset_parse(&masks[0], first), 0);
	assert_int_equal(launch_cpuset_parse(&masks[1], second), 0);
}

static void test_here(void **state)
{
	struct launch_facts facts = {.nnodes = 2,
				     .ntasks = 3,
				     .nodelist = "n[9-10]",
				     .tasks_per_node = "2,1",
				     .resv_ports = "41001",
				     .gpus = "0,1,2,3",
				     .gpu_variables = 1};

	read_masks("0-1,64-65", "2-3,66-67");
	expect_here(
		&facts, "torch", &node9,
		"launcher     torch (worker shape)\n"
		"MASTER_ADDR  n9\n"
		"MASTER_PORT  41001 (reserved by Slurm)\n"
		"GPUs         order: all of the node's, the nearest at index LOCAL_RANK\n"
		"NODE_RANK  NODE  TASKS  RANKS  CPUS       GPUS\n"
		"0          n9    2      0-1    0-3,64-67  0,1,2,3\n"
		"1          n10   1      2      ?          ?\n");
	facts.layout = LAUNCH_LAYOUT_CYCLIC;
	read_masks("", "");
	expect_here(&facts, "torch,gpus=mask", &node9,
		    "launcher     torch (worker shape)\n"
		    "MASTER_ADDR  n9\n"
		    "MASTER_PORT  41001 (reserved by Slurm)\n"
		    "GPUs         mask: each task its own\n"
		    "NODE_RANK  NODE  TASKS  CPUS  GPUS\n"
		    "0          n9    2      ?     0,1,2,3\n"
		    "1          n10   1      ?     ?\n");
	/* Where there are no rows, a line. */
	facts.layout = LAUNCH_LAYOUT_ARBITRARY;
	facts.head = "n9";
	read_masks("0-7", "8");
	expect_here(&facts, "torch,gpus=first", &node9,
		    "launcher     torch (worker shape)\n"
		    "MASTER_ADDR  n9\n"
		    "MASTER_PORT  41001 (reserved by Slurm)\n"
		    "GPUs         first: each task its own, then the others\n"
		    "nodes        n[9-10] (by name)\n"
		    "tasks        2,1 (likewise)\n"
		    "rank 0       its node has CPUs 0-8, GPUs 0,1,2,3\n");
	/* In a long step rank 0's node has a row of its own. */
	facts.layout = LAUNCH_LAYOUT_BLOCK;
	facts.nnodes = facts.ntasks = 100;
	facts.nodelist = "n[1-100]";
	facts.tasks_per_node = "1(x100)";
	facts.gpus = "0,1,2,3";
	expect_here(&facts, "torch,gpus=none", &node9,
		    "launcher     torch (worker shape)\n"
		    "MASTER_ADDR  n9\n"
		    "MASTER_PORT  41001 (reserved by Slurm)\n"
		    "GPUs         none: as Slurm left them\n"
		    "NODE_RANK  NODE         TASKS  RANKS  CPUS  GPUS\n"
		    "0          n1           1      0      0-8   0,1,2,3\n"
		    "1-99       n2 ... n100  1      1-99   ?     ?\n");
}

/* The line that says how GPUs are bound, and when Slurm has come first. */
static void test_binding(void **state)
{
	static const struct {
		const char *list, *gpus;
		uint32_t variables;
		bool pty;
		const char *line;
	} rows[] = {
		{"torch", "0,1,2,3", 1, false,
		 "order: all of the node's, the nearest at index LOCAL_RANK"},
		{"torchrun", "0,1,2,3", 1, false,
		 "order: all of the node's, as Slurm lists them"},
		{"torchrun,gpus=mask", "0,1,2,3", 1, false, "mask: each task its own"},
		{"torch,gpus=map:3,1*2", "0,1,2,3", 1, false, "map: 3,1*2"},
		/* Slurm set nothing: all are to be seen. */
		{"torch", NULL, 0, false,
		 "order: all of the node's, the nearest at index LOCAL_RANK"},
		{"torch", "2", 1, false,
		 "order stands aside: Slurm gave the task of rank 0 1 of 4"},
		{"torch,gpus=mask", NULL, 1, false,
		 "mask stands aside: Slurm gave the task of rank 0 0 of 4"},
		{"torch,gpus=none", "2", 1, false, "none: as Slurm left them"},
		{"torch", "0,1,2,3", 1, true, "as Slurm left them"},
	};
	struct launch_facts none = {0};
	const struct launch_report_node without = {masks, 2, &none};

	for (size_t i = 0; i <= COUNT(rows); i++) {
		bool last = i == COUNT(rows);
		const char *line = last ? "none in the step on this node" : rows[i].line;
		struct launch_facts facts = {.nnodes = 1,
					     .ntasks = 1,
					     .nodelist = "n9",
					     .tasks_per_node = "1"};
		struct launch_settings settings;
		struct launch_error err = {0};
		char *text = NULL, want[128];
		size_t size;
		FILE *out = open_memstream(&text, &size);

		facts.gpus = last ? NULL : (char *)rows[i].gpus;
		facts.gpu_variables = last ? 0 : rows[i].variables;
		facts.pty = !last && rows[i].pty;
		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(
					 &settings, last ? "torch" : rows[i].list, &err),
				 0);
		assert_int_equal(launch_report(out, &facts, &settings,
					       last ? &without : &node9, &err),
				 0);
		fclose(out);
		snprintf(want, sizeof(want), "\nGPUs         %s\n", line);
		if (!strstr(text, want))
			fail_msg("row %zu: %s", i, text);
		free(text);
	}
}

/* Four GPUs, two on each of the sockets with the CPUs 0-7 and 8-15, by pairs near. */
static struct launch_gpus located;

static void locate(const char *names)
{
	static const char *const sets[][2] = {
		{"0-3", "0-7"}, {"4-7", "0-7"}, {"8-11", "8-15"}, {"12-15", "8-15"}};

	memset(&located, 0, sizeof(located));
	located.vendor = LAUNCH_VENDOR_NVIDIA;
	for (const char *name = names; *name; name += *name == ',') {
		struct launch_gpu *gpu = &located.gpu[located.count];
		size_t length = strcspn(name, ",");

		memcpy(gpu->name, name, length);
		name += length;
		gpu->located = true;
		launch_cpuset_parse(&gpu->local, sets[located.count][0]);
		gpu->node = gpu->local;
		launch_cpuset_parse(&gpu->socket, sets[located.count][1]);
		located.count++;
	}
}

/* Of MASKS, separated by blanks, the table and the warnings. */
static void expect_binding(const char *list, const char *names, const char *visible,
			   const char *text, uint32_t ncpus, const char *wanted)
{
	static struct launch_cpuset cpus[70];
	struct launch_report_node here = {
		.masks = cpus, .gpus = &located, .ncpus = ncpus};
	struct launch_facts facts = {
		.nnodes = 1, .gpus = (char *)visible, .gpu_variables = 1};
	struct launch_settings settings;
	struct launch_error err = {0};
	char *got = NULL, mask[64];
	size_t size;
	int length;
	FILE *out = open_memstream(&got, &size);

	for (; sscanf(text, "%63s%n", mask, &length) == 1; text += length)
		assert_int_equal(launch_cpuset_parse(&cpus[here.ntasks++],
						     strcmp(mask, "?") ? mask : ""),
				 0);
	facts.ntasks = facts.local_size = here.ntasks;
	locate(names);
	launch_settings_init(&settings);
	assert_int_equal(launch_settings_parse(&settings, list, &err), 0);
	assert_int_equal(launch_report_binding(out, &facts, &settings, &here, &err), 0);
	fclose(out);
	assert_string_equal(got, wanted);
	free(got);
}

/* A source that is in the task alone sees one device, and knows that there are four. */
static void test_part(void **state)
{
	static const struct {
		const char *gpus, *line;
	} rows[] = {
		{"0,1,2,3", "order: all of the node's, the nearest at index LOCAL_RANK"},
		{"2", "order stands aside: Slurm gave the task of rank 0 1 of 4"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_facts facts = {.nnodes = 1,
					     .ntasks = 2,
					     .nodelist = "n9",
					     .tasks_per_node = "2",
					     .gpus = (char *)rows[i].gpus,
					     .gpu_variables = 1};
		const struct launch_report_node here = {
			.masks = masks, .ntasks = 2, .devices = &facts, .gpus = &located};
		struct launch_settings settings;
		struct launch_error err = {0};
		char *text = NULL, want[128];
		size_t size;
		FILE *out = open_memstream(&text, &size);

		locate("0,1,2,3");
		launch_settings_init(&settings);
		settings.asked = true;
		assert_int_equal(launch_report(out, &facts, &settings, &here, &err), 0);
		fclose(out);
		snprintf(want, sizeof(want), "\nGPUs         %s\n", rows[i].line);
		if (!strstr(text, want))
			fail_msg("row %zu: %s", i, text);
		free(text);
	}
}

static void test_tasks(void **state)
{
	expect_binding("torch", "0,1,2,3", "0,1,2,3", "12-15 8-11 4-7 0-3", 16,
		       "all tasks    CUDA_VISIBLE_DEVICES=3,2,1,0\n"
		       "LOCAL_RANK  CPUS   GPUS  DISTANCE\n"
		       "0           12-15  3     local\n"
		       "1           8-11   2     local\n"
		       "2           4-7    1     local\n"
		       "3           0-3    0     local\n");
	/* Of several, the distance of the farthest. */
	expect_binding("torch,gpus=mask", "0,1,2,3", "0,1,2,3", "0-3 8-15", 16,
		       "LOCAL_RANK  CPUS  GPUS  DISTANCE\n"
		       "0           0-3   0,1   same socket\n"
		       "1           8-15  2,3   local\n");
	expect_binding("torch,gpus=first", "GPU-5f,GPU-a0", "GPU-5f,GPU-a0", "4-7 0-3",
		       16,
		       "LOCAL_RANK  CPUS  GPUS    DISTANCE\n"
		       "0           4-7   GPU-a0  local\n"
		       "1           0-3   GPU-5f  local\n");
	expect_binding("torchrun", "0,1", "0,1", "0-15", 16,
		       "all tasks    CUDA_VISIBLE_DEVICES=0,1\n"
		       "LOCAL_RANK  CPUS  GPUS  DISTANCE\n"
		       "0           0-15  0,1   local\n");
	/* Not known, and nothing to warn of. */
	expect_binding("torch", "0,1", "0,1", "? ?", 16,
		       "all tasks    CUDA_VISIBLE_DEVICES=0,1\n"
		       "LOCAL_RANK  CPUS  GPUS  DISTANCE\n"
		       "0           ?     0     ?\n"
		       "1           ?     1     ?\n");
	expect_binding("torch", "", NULL, "0-3 4-7", 16, "");
	/* The names are a job's. */
	expect_binding("torch", "0\n,1\a", "0\n,1\a", "0-3 4-7", 16,
		       "all tasks    CUDA_VISIBLE_DEVICES=0?,1?\n"
		       "LOCAL_RANK  CPUS  GPUS  DISTANCE\n"
		       "0           0-3   0?    local\n"
		       "1           4-7   1?    local\n");
}

static void test_many_tasks(void **state)
{
	char *got = NULL;
	struct launch_report_node here = {.masks = masks, .gpus = &located};
	struct launch_facts facts = {
		.nnodes = 1, .gpus = (char *)"0", .gpu_variables = 1};
	struct launch_cpuset *cpus = calloc(70, sizeof(*cpus));
	struct launch_settings settings;
	struct launch_error err = {0};
	size_t size;
	FILE *out = open_memstream(&got, &size);

	locate("0");
	here.masks = cpus;
	here.ntasks = facts.ntasks = facts.local_size = 70;
	launch_settings_init(&settings);
	assert_int_equal(launch_settings_parse(&settings, "torch", &err), 0);
	assert_int_equal(launch_report_binding(out, &facts, &settings, &here, &err), 0);
	fclose(out);
	assert_non_null(
		strstr(got, "\n63          ?     0     ?\n... and 6 more tasks\n"));
	assert_null(strstr(got, "\n64 "));
	free(got);
	free(cpus);
}

/* What costs time, and the option that cures it. */
static void test_warnings(void **state)
{
	static const struct {
		const char *list, *names, *visible, *masks;
		uint32_t ncpus;
		const char *warning; /* NULL: none */
	} rows[] = {
		{"torch", "0,1,2,3", "0,1,2,3", "0 4 8 12", 16,
		 "local ranks 0-3 have one CPU to feed a GPU with; share out the job's "
		 "16 "
		 "here: srun --cpus-per-task=4"},
		{"torch", "0,1,2,3", "0,1,2,3", "0 4-7 8-11 12", 16,
		 "local ranks 0,3 have one CPU to feed a GPU with; share out the job's "
		 "16 "
		 "here: srun --cpus-per-task=4"},
		/* The job has no more, or it is not known. */
		{"torch", "0,1", "0,1", "0-1 4", 3,
		 "local rank 1 has one CPU to feed a GPU with; ask for more in the job: "
		 "--cpus-per-task=N"},
		{"torch", "0,1", "0,1", "0-1 4", 0,
		 "local rank 1 has one CPU to feed a GPU with; ask for more in the job: "
		 "--cpus-per-task=N"},
		{"torchrun", "0,1", "0,1", "0", 2,
		 "local rank 0 has one CPU to feed a GPU with; share out the job's 2 "
		 "here: "
		 "srun --cpus-per-task=2"},
		/* All on the first socket, two for each GPU there, and the job has more.
		 */
		{"torch", "0,1,2,3", "0,1,2,3", "0-1 2-3 4-5 6-7", 16,
		 "local ranks 1,3 have a GPU on a socket where they have no CPU; share "
		 "out "
		 "the job's 16 here: srun --cpus-per-task=4"},
		/* Nor has the job. */
		{"torch", "0,1,2", "0,1,2", "0-1 4-5 6-7", 6,
		 "local rank 2 has a GPU on a socket where it has no CPU; take the job's "
		 "CPUs near its GPUs: sbatch --gres-flags=enforce-binding"},
		/* It has, but other tasks have them, and more than they have GPUs. */
		{"torch", "0,1,2", "0,1,2", "0-7 8-11 12-15", 16,
		 "local rank 2 has a GPU on a socket where it has no CPU; bind: srun "
		 "--cpu-bind=mask_cpu:0xf,0xf00,0xf0"},
		{"torch,gpus=mask", "0,1", "0,1", "0-7 8-11,80-83", 16,
		 "local rank 1 has a GPU on a socket where it has no CPU; bind: srun "
		 "--cpu-bind=mask_cpu:0xf,0xf0"},
		/* It was not our choice. */
		{"torch,gpus=map:3,2", "0,1,2,3", "0,1,2,3", "0-7 8-15", 16,
		 "local rank 0 has a GPU on a socket where it has no CPU; let gpus=order "
		 "choose"},
		/* Slurm's. */
		{"torch", "0,1,2,3", "2", "0-3 4-7 8-11 12-15", 16,
		 "Slurm left tasks no GPU at index LOCAL_RANK; leave --gpus-per-task and "
		 "--gpu-bind out, or add local=0"},
		{"torch", "0,1,2,3", "0,1", "0-3 4-7 8-11 12-15", 16,
		 "Slurm left tasks no GPU at index LOCAL_RANK; leave --gpus-per-task and "
		 "--gpu-bind out"},
		/* More tasks than GPUs. */
		{"torch", "0,1", "0,1", "0-1 2-3 4-5 6-7", 16,
		 "4 tasks share 2 GPUs, and LOCAL_RANK is no index from 2 on; add "
		 "gpus=mask,local=0"},
		{"torch", "0", "0", "0-1 2-3", 16,
		 "2 tasks share 1 GPU, and LOCAL_RANK is no index from 1 on; add "
		 "gpus=mask,local=0"},
		{"torch,gpus=mask", "0,1", "0,1", "0-1 2-3 4-5 6-7", 16, NULL},
		/* What is as it should be, or cannot be better. */
		{"torch,local=0", "0,1,2,3", "2", "0-3 4-7 8-11 12-15", 16, NULL},
		{"torch,gpus=mask", "0,1,2,3", "2", "0-3 4-7 8-11 12-15", 16, NULL},
		{"torch", "0,1,2,3", "0", "0-15", 16, NULL},
		{"torchrun", "0,1,2,3", "0", "0-15", 16, NULL},
		{"torch", "0,1,2,3", NULL, "0-3 4-7 8-11 12-15", 16, NULL},
		{"torch", "0,1,2,3", "0,1,2,3", "0-1 2-3 8-9 10-11", 16, NULL},
		{"torch", "0,1,2,3", "0,1,2,3", "? ? ? ?", 16, NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_report_node here = {.gpus = &located,
						  .ncpus = rows[i].ncpus};
		struct launch_facts facts = {.nnodes = 1,
					     .gpus = (char *)rows[i].visible,
					     .gpu_variables = rows[i].visible ? 1 : 0};
		static struct launch_cpuset cpus[8];
		const char *text = rows[i].masks;
		char *got = NULL, mask[64], want[256];
		struct launch_settings settings;
		struct launch_error err = {0};
		const char *warning;
		size_t size;
		int length;
		FILE *out = open_memstream(&got, &size);

		for (; sscanf(text, "%63s%n", mask, &length) == 1; text += length)
			launch_cpuset_parse(&cpus[here.ntasks++],
					    strcmp(mask, "?") ? mask : "");
		here.masks = cpus;
		facts.ntasks = facts.local_size = here.ntasks;
		locate(rows[i].names);
		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, rows[i].list, &err), 0);
		assert_int_equal(
			launch_report_binding(out, &facts, &settings, &here, &err), 0);
		fclose(out);
		warning = strstr(got, "warning: ");
		snprintf(want, sizeof(want), "warning: %s\n", rows[i].warning);
		if (!rows[i].warning != !warning ||
		    (warning && strcmp(warning, want) != 0))
			fail_msg("row %zu: %s", i, got);
		free(got);
	}
}

/* Masks that nobody would copy are not printed. */
static void test_long_masks(void **state)
{
	static struct launch_cpuset cpus[2];
	const struct launch_report_node here = {
		.masks = cpus, .ntasks = 2, .gpus = &located, .ncpus = 0};
	struct launch_facts facts = {.nnodes = 1,
				     .ntasks = 2,
				     .local_size = 2,
				     .gpus = (char *)"0,1",
				     .gpu_variables = 1};
	struct launch_settings settings;
	struct launch_error err = {0};
	char *got = NULL;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	locate("0,1");
	for (int i = 0; i < 2; i++) {
		launch_cpuset_parse(&located.gpu[i].local, "4000-4095");
		located.gpu[i].socket = located.gpu[i].node = located.gpu[i].local;
	}
	launch_cpuset_parse(&cpus[0], "4000-4095");
	launch_cpuset_parse(&cpus[1], "0-7");
	launch_settings_init(&settings);
	assert_int_equal(launch_settings_parse(&settings, "torch", &err), 0);
	assert_int_equal(launch_report_binding(out, &facts, &settings, &here, &err), 0);
	fclose(out);
	assert_non_null(strstr(got, "has no CPU; spread the tasks: srun "
				    "--distribution=block:cyclic\n"));
	free(got);
}

/* Nothing of a job's environment forges a line, or drives a terminal. */
static void test_printable(void **state)
{
	static struct launch_facts odd = {.gpus = "0\r,\0331"};
	const struct launch_report_node here = {masks, 0, &odd};
	struct launch_facts facts = {.nnodes = 1,
				     .ntasks = 1,
				     .nodelist = "n\a9",
				     .tasks_per_node = "1",
				     .user_addr = "n9\nsrank: all is well\033[2J",
				     .user_port = "29500",
				     .head_uncertain = true};

	expect_here(&facts, "torch,gpus=none", &here,
		    "launcher     torch (worker shape)\n"
		    "MASTER_ADDR  n9?srank: all is well?[2J (as set)\n"
		    "MASTER_PORT  29500 (as set)\n"
		    "GPUs         none: as Slurm left them\n"
		    "NODE_RANK  NODE  TASKS  RANKS  CPUS  GPUS\n"
		    "0          n?9   1      0      ?     0?,?1\n");
	facts.nnodes = 2;
	facts.nodelist = "n\a9,n\r8";
	facts.tasks_per_node = "1(x2)";
	facts.layout = LAUNCH_LAYOUT_ARBITRARY;
	facts.order = "n\r8,n\a9";
	facts.placement = "0,1";
	expect_here(&facts, "torch,gpus=none", &here,
		    "launcher     torch (worker shape)\n"
		    "MASTER_ADDR  n9?srank: all is well?[2J (as set)\n"
		    "MASTER_PORT  29500 (as set)\n"
		    "GPUs         none: as Slurm left them\n"
		    "nodes        n?9,n?8 (by name)\n"
		    "tasks        1(x2) (likewise)\n"
		    "node ranks   n?8,n?9\n"
		    "rank 0       its node has CPUs ?, GPUs 0?,?1\n");
}

static void test_faults(void **state)
{
	static const struct {
		struct launch_facts facts;
		const char *text;
	} rows[] = {
		{{.nnodes = 2,
		  .nodelist = "n[1-2]",
		  .tasks_per_node = "1(x2)",
		  .head_uncertain = true},
		 "the node of rank 0 is not known"},
		{{.nnodes = 1, .nodelist = "n1", .tasks_per_node = "1", .user_port = "x"},
		 "MASTER_PORT=x is no port"},
		{{.nnodes = 2, .nodelist = "n1", .tasks_per_node = "1(x2)"},
		 "no table can be made of the nodes n1 with 1(x2) tasks"},
		{{.nnodes = 1, .nodelist = "n1", .tasks_per_node = "x"},
		 "no table can be made of the nodes n1 with x tasks"},
		{{.nnodes = 1, .nodelist = "n1"},
		 "no table can be made of the nodes n1 with (null) tasks"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings;
		struct launch_error err = {0};
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		launch_settings_init(&settings);
		assert_int_equal(
			launch_report(out, &rows[i].facts, &settings, NULL, &err),
			-EINVAL);
		fclose(out);
		assert_string_equal(text, "");
		if (strncmp(err.text, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("row %zu: %s", i, err.text);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),        cmocka_unit_test(test_user),
		cmocka_unit_test(test_folded),       cmocka_unit_test(test_cut),
		cmocka_unit_test(test_sorted_names), cmocka_unit_test(test_no_ranks),
		cmocka_unit_test(test_here),         cmocka_unit_test(test_binding),
		cmocka_unit_test(test_printable),    cmocka_unit_test(test_faults),
		cmocka_unit_test(test_part),         cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_many_tasks),   cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_long_masks),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
