/* SPDX-License-Identifier: MIT */
/*
 * The facts of a task and of the batch step, read from environments as Slurm sets them.
 */
#include "spank/launch/facts.h"
#include "spank/launch/rendezvous.h"

#include "tests/unit/launch/support.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Task 9 of 12 on three nodes with 5, 5 and 2 tasks, as srun and slurmstepd set it. */
#define STEP                                                                         \
	"SLURM_JOB_ID=4711", "SLURM_STEP_ID=2", "SLURM_STEP_NODELIST=n[1-3]",        \
		"SLURM_STEP_TASKS_PER_NODE=5(x2),2", "SLURM_STEP_NUM_TASKS=12",      \
		"SLURM_STEP_NUM_NODES=3", "SLURM_NODEID=1", "SLURM_PROCID=9",        \
		"SLURM_LOCALID=4", "SLURMD_NODENAME=n2", "SLURM_DISTRIBUTION=block", \
		"SLURM_JOB_NODELIST=n[1-8]", "SLURM_NTASKS=64", "SLURM_NNODES=8"
#define MORE_MAX 16

static int read_step(struct launch_facts *facts, const char *const more[],
		     struct launch_error *err)
{
	static const char *const step[] = {STEP};
	const char *environment[COUNT(step) + MORE_MAX + 1] = {STEP};
	size_t count = COUNT(step);

	for (; *more; more++)
		environment[count++] = *more;
	return launch_facts_read(facts, lookup_in, environment, err);
}

static void test_step(void **state)
{
	struct launch_error err = {0};
	struct launch_facts facts;

	assert_int_equal(read_step(&facts, (const char *[]){NULL}, &err), 0);
	assert_int_equal(facts.job_id, 4711);
	assert_int_equal(facts.step_id, 2);
	assert_int_equal(facts.restart_count, 0);
	/* The step's numbers, not the job's. */
	assert_int_equal(facts.nnodes, 3);
	assert_int_equal(facts.ntasks, 12);
	assert_string_equal(facts.nodelist, "n[1-3]");
	assert_string_equal(facts.tasks_per_node, "5(x2),2");
	assert_int_equal(facts.layout, LAUNCH_LAYOUT_BLOCK);
	assert_null(facts.resv_ports);
	assert_null(facts.head);
	assert_false(facts.head_uncertain);
	assert_string_equal(facts.node, "n2");
	assert_int_equal(facts.node_rank, 1);
	assert_int_equal(facts.rank, 9);
	assert_int_equal(facts.local_rank, 4);
	assert_int_equal(facts.local_size, 5);
	assert_int_equal(facts.ncpus, 0);
	assert_null(facts.gpus);
	assert_int_equal(facts.gpu_variables, 0);
	assert_null(facts.user_addr);
	assert_null(facts.user_port);
	assert_false(facts.user_omp);
	assert_false(facts.user_device_order);
	assert_false(facts.submitit);
	assert_null(facts.outer);
	assert_int_equal(launch_facts_ngpus(&facts), 0);
	launch_facts_clear(&facts);
	assert_null(facts.nodelist);
	launch_facts_clear(&facts);
}

/* One variable more, and what must follow from it. */
static void test_rows(void **state)
{
	static const struct {
		const char *more[MORE_MAX];
		const char *field, *value;
	} rows[] = {
		{{"SLURM_RESTART_COUNT=3"}, "restart", "3"},
		{{"SLURM_STEP_RESV_PORTS=41001-41006"}, "ports", "41001-41006"},
		{{"SLURM_STEP_RESV_PORTS="}, "ports", "-"},
		/* Older or other sources without the step's own counts. */
		{{"SLURM_STEP_NUM_TASKS=", "SLURM_NTASKS=12"}, "ntasks", "12"},
		{{"SLURM_STEP_NUM_NODES=", "SLURM_NNODES=3"}, "nnodes", "3"},
		{{"SLURM_DISTRIBUTION="}, "layout", "block"},
		{{"SLURM_DISTRIBUTION=block:cyclic"}, "layout", "block"},
		{{"SLURM_DISTRIBUTION=block,NoPack"}, "layout", "block"},
		{{"SLURM_DISTRIBUTION=cyclic"}, "layout", "cyclic"},
		{{"SLURM_DISTRIBUTION=cyclic:fcyclic"}, "layout", "cyclic"},
		{{"SLURM_DISTRIBUTION=plane", "SLURM_DIST_PLANESIZE=2"},
		 "layout",
		 "plane 2"},
		{{"SLURM_DISTRIBUTION=plane"}, "layout", "other"},
		{{"SLURM_DISTRIBUTION=blocks"}, "layout", "other"},
		{{"SLURM_DISTRIBUTION=blocks"}, "head", "-"},
		{{"SLURM_DISTRIBUTION=arbitrary"}, "layout", "arbitrary"},
		{{"SLURM_DISTRIBUTION=arbitrary"}, "head", "uncertain"},
		{{"SLURM_DISTRIBUTION=arbitrary:cyclic"}, "head", "uncertain"},
		/* A heterogeneous job: started by `srun a : b` ... */
		{{"SLURM_HET_SIZE=2"}, "head", "uncertain"},
		{{"SLURM_HET_SIZE=1"}, "head", "-"},
		/* ... in the second component only, */
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n9",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-3]"},
		 "head",
		 "-"},
		/* ... over both, the first of which has n3, */
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n3",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-2]"},
		 "head",
		 "n3"},
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n3",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-2]"},
		 "layout",
		 "block"},
		/* ... over two of three, whose nodes are all that there are, */
		{{"SLURM_HET_SIZE=3", "SLURM_JOB_NODELIST_HET_GROUP_0=n3",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-2]",
		  "SLURM_JOB_NODELIST_HET_GROUP_2=n4"},
		 "head",
		 "n3"},
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-2]"},
		 "head",
		 "uncertain"},
		/* ... over the last two of three, of which all is known, */
		{{"SLURM_HET_SIZE=3", "SLURM_JOB_NODELIST_HET_GROUP_0=n[8-9]",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n2",
		  "SLURM_JOB_NODELIST_HET_GROUP_2=n[1,3]"},
		 "head",
		 "n2"},
		/* ... over one node of the first and two of three of the last, */
		{{"SLURM_HET_SIZE=3", "SLURM_JOB_NODELIST_HET_GROUP_0=n[2,9]",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n8",
		  "SLURM_JOB_NODELIST_HET_GROUP_2=n[1,3-4]"},
		 "head",
		 "n2"},
		/* ... over some nodes of the second and the only one of the last, */
		{{"SLURM_HET_SIZE=3", "SLURM_JOB_NODELIST_HET_GROUP_0=n9",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[2-3,8]",
		  "SLURM_JOB_NODELIST_HET_GROUP_2=n1"},
		 "head",
		 "n2"},
		/* ... on some nodes of one only, be it the first or not, */
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[1-8]",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n9"},
		 "head",
		 "-"},
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[8-9]",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-7]"},
		 "head",
		 "-"},
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[1-8]",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n9", "SLURM_DISTRIBUTION=arbitrary"},
		 "head",
		 "uncertain"},
		/* ... but not when another one has one of these nodes, too, */
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[1-8]",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[3,9]"},
		 "head",
		 "uncertain"},
		/* ... unless all its nodes are those of one, which will be it, */
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[1-2]",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-3]"},
		 "het",
		 "no"},
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[1-2]",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-4]"},
		 "head",
		 "uncertain"},
		/* ... over the nodes of two, where a third is on one of these, */
		{{"SLURM_HET_SIZE=3", "SLURM_JOB_NODELIST_HET_GROUP_0=n[2-3]",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n1",
		  "SLURM_JOB_NODELIST_HET_GROUP_2=n[2,9]"},
		 "head",
		 "uncertain"},
		/* ... of some components whose lists are not to be had, */
		{{"SLURM_HET_SIZE=3", "SLURM_JOB_NODELIST_HET_GROUP_0=n[1-8]",
		  "SLURM_JOB_NODELIST_HET_GROUP_2=n9"},
		 "head",
		 "uncertain"},
		/* ... and with an order of its own inside a component. */
		{{"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n3",
		  "SLURM_JOB_NODELIST_HET_GROUP_1=n[1-2]",
		  "SLURM_DISTRIBUTION=arbitrary"},
		 "head",
		 "uncertain"},
		/* The same node twice is named once. */
		{{"SLURM_HET_SIZE=2", "SLURM_STEP_NODELIST=n[1-2]"}, "head", "uncertain"},

		{{"CUDA_VISIBLE_DEVICES=0,1,2"}, "gpus", "0,1,2 3 1"},
		{{"ROCR_VISIBLE_DEVICES=4,5"}, "gpus", "4,5 2 2"},
		{{"ZE_AFFINITY_MASK=0.0,0.1"}, "gpus", "0.0,0.1 2 4"},
		{{"GPU_DEVICE_ORDINAL=3"}, "gpus", "3 1 8"},
		{{"CUDA_VISIBLE_DEVICES=0,1", "ROCR_VISIBLE_DEVICES=0,1",
		  "ZE_AFFINITY_MASK=0,1", "GPU_DEVICE_ORDINAL=0,1"},
		 "gpus",
		 "0,1 2 15"},
		{{"CUDA_VISIBLE_DEVICES=MIG-GPU-1a2b/1/0"},
		 "gpus",
		 "MIG-GPU-1a2b/1/0 1 1"},
		/* A list of the user's, where Slurm sets another variable. */
		{{"SLURM_GPUS_ON_NODE=4", "CUDA_VISIBLE_DEVICES=0",
		  "ROCR_VISIBLE_DEVICES=0,1,2,3"},
		 "gpus",
		 "0,1,2,3 4 2"},
		{{"SLURM_GPUS_ON_NODE=4", "CUDA_VISIBLE_DEVICES=0,1,2,3",
		  "ROCR_VISIBLE_DEVICES=0"},
		 "gpus",
		 "0,1,2,3 4 1"},
		{{"SLURM_GPUS_ON_NODE=2",
		  "CUDA_VISIBLE_DEVICES=", "ZE_AFFINITY_MASK=4,5"},
		 "gpus",
		 "4,5 2 4"},
		{{"SLURM_GPUS_ON_NODE=2", "CUDA_VISIBLE_DEVICES=0",
		  "ROCR_VISIBLE_DEVICES=4,5", "GPU_DEVICE_ORDINAL=4,5"},
		 "gpus",
		 "4,5 2 10"},
		/* ... which cannot be told where Slurm has bound the task, */
		{{"SLURM_GPUS_ON_NODE=4", "CUDA_VISIBLE_DEVICES=1",
		  "ROCR_VISIBLE_DEVICES=1"},
		 "gpus",
		 "1 1 3"},
		{{"SLURM_GPUS_ON_NODE=4", "CUDA_VISIBLE_DEVICES=1",
		  "ROCR_VISIBLE_DEVICES=2"},
		 "gpus",
		 "1 1 1"},
		/* ... or has not said how many there are. */
		{{"CUDA_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=2,3"}, "gpus", "1 1 1"},
		{{"SLURM_GPUS_ON_NODE=x",
		  "CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=2,3"},
		 "gpus",
		 "- 0 1"},
		{{"CUDA_VISIBLE_DEVICES=NoDevFiles"}, "gpus", "- 0 1"},
		{{"CUDA_VISIBLE_DEVICES="}, "gpus", "- 0 1"},
		{{"CUDA_VISIBLE_DEVICES=-1"}, "gpus", "- 0 1"},

		{{"MASTER_ADDR=n2"}, "addr", "n2"},
		{{"MASTER_ADDR="}, "addr", "-"},
		{{"MASTER_ADDR=n2", "SRANK_MASTER_ADDR=n2"}, "addr", "-"},
		{{"MASTER_ADDR=n3", "SRANK_MASTER_ADDR=n2"}, "addr", "n3"},
		{{"SRANK_MASTER_ADDR=n2"}, "addr", "-"},
		{{"MASTER_PORT=29500"}, "port", "29500"},
		{{"MASTER_PORT="}, "port", "-"},
		{{"MASTER_PORT=29500", "SRANK_MASTER_PORT=29500"}, "port", "-"},
		{{"MASTER_PORT=29500", "SRANK_MASTER_PORT=29501"}, "port", "29500"},
		{{"OMP_NUM_THREADS=4"}, "flags", "omp"},
		{{"OMP_NUM_THREADS="}, "flags", ""},
		{{"OMP_NUM_THREADS=4", "SRANK_OMP_NUM_THREADS=4"}, "flags", ""},
		{{"OMP_NUM_THREADS=4", "SRANK_OMP_NUM_THREADS=5"}, "flags", "omp"},
		{{"CUDA_DEVICE_ORDER=FASTEST_FIRST"}, "flags", "order"},
		{{"SUBMITIT_EXECUTOR=slurm"}, "flags", "submitit"},
		{{"SRANK_LAUNCHER=torchrun"}, "outer", "torchrun"},
	};
	static const char *const layouts[] = {"block", "cyclic", "plane", "arbitrary",
					      "other"};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *field = rows[i].field;
		struct launch_error err = {0};
		struct launch_facts facts;
		char value[256];

		if (read_step(&facts, rows[i].more, &err))
			fail_msg("row %zu: %s", i, err.text);
#define TEXT(text)     snprintf(value, sizeof(value), "%s", (text) ? (text) : "-")
#define NUMBER(number) snprintf(value, sizeof(value), "%u", number)
		if (strcmp(field, "restart") == 0)
			NUMBER(facts.restart_count);
		else if (strcmp(field, "ntasks") == 0)
			NUMBER(facts.ntasks);
		else if (strcmp(field, "nnodes") == 0)
			NUMBER(facts.nnodes);
		else if (strcmp(field, "ports") == 0)
			TEXT(facts.resv_ports);
		else if (strcmp(field, "head") == 0)
			TEXT(facts.head_uncertain ? "uncertain" : facts.head);
		else if (strcmp(field, "het") == 0)
			TEXT(facts.het ? "yes" : "no");
		else if (strcmp(field, "addr") == 0)
			TEXT(facts.user_addr);
		else if (strcmp(field, "port") == 0)
			TEXT(facts.user_port);
		else if (strcmp(field, "outer") == 0)
			TEXT(facts.outer);
		else if (strcmp(field, "flags") == 0)
			snprintf(value, sizeof(value), "%s%s%s",
				 facts.user_omp ? "omp" : "",
				 facts.user_device_order ? "order" : "",
				 facts.submitit ? "submitit" : "");
		else if (strcmp(field, "gpus") == 0)
			snprintf(value, sizeof(value), "%s %u %u",
				 facts.gpus ? facts.gpus : "-",
				 launch_facts_ngpus(&facts), facts.gpu_variables);
		else if (facts.plane_size)
			snprintf(value, sizeof(value), "%s %u", layouts[facts.layout],
				 facts.plane_size);
		else
			TEXT(layouts[facts.layout]);
		if (strcmp(value, rows[i].value) != 0)
			fail_msg("row %zu: %s is \"%s\", want \"%s\"", i, field, value,
				 rows[i].value);
		launch_facts_clear(&facts);
	}
}

/* The tasks on each node: by its position in the list, which is its id, or it is not. */
static void test_local_size(void **state)
{
	static const struct {
		const char *more[6];
		uint32_t size;
		bool het;
	} rows[] = {
		{{"SLURM_NODEID=0", "SLURMD_NODENAME=n1", "SLURM_LOCALID=0"}, 5, false},
		{{"SLURM_NODEID=1", "SLURMD_NODENAME=n2", "SLURM_LOCALID=4"}, 5, false},
		{{"SLURM_NODEID=2", "SLURMD_NODENAME=n3", "SLURM_LOCALID=1"}, 2, false},
		/* No node of the step (a front end), or none at all. */
		{{"SLURM_NODEID=2", "SLURMD_NODENAME=login", "SLURM_LOCALID=1"},
		 2,
		 false},
		{{"SLURM_NODEID=2", "SLURMD_NODENAME=", "SLURM_LOCALID=1"}, 2, false},
		/* `srun -w n3 : -w n[1-2]` in an allocation that is not heterogeneous. */
		{{"SLURM_NODEID=0", "SLURMD_NODENAME=n3", "SLURM_LOCALID=1"}, 2, true},
		{{"SLURM_NODEID=1", "SLURMD_NODENAME=n1", "SLURM_LOCALID=4"}, 5, true},
		{{"SLURM_NODEID=2", "SLURMD_NODENAME=n2", "SLURM_LOCALID=4"}, 5, true},
		/* A heterogeneous job: SLURM_GTIDS has the tasks beside this one. */
		{{"SLURM_NODEID=0", "SLURM_LOCALID=1", "SLURM_GTIDS=0,1",
		  "SLURM_HET_SIZE=2", "SLURMD_NODENAME=n3"},
		 2,
		 true},
		{{"SLURM_NODEID=2", "SLURM_LOCALID=4", "SLURM_GTIDS=7,8,9,10,11",
		  "SLURM_HET_SIZE=2"},
		 5,
		 true},
		{{"SLURM_NODEID=1", "SLURM_LOCALID=0", "SLURM_GTIDS=2",
		  "SLURM_HET_SIZE=2"},
		 1,
		 true},
		{{"SLURM_NODEID=2", "SLURM_LOCALID=4", "SLURM_HET_SIZE=2"}, 5, true},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_error err = {0};
		struct launch_facts facts;

		if (read_step(&facts, rows[i].more, &err))
			fail_msg("row %zu: %s", i, err.text);
		assert_int_equal(facts.local_size, rows[i].size);
		assert_int_equal(facts.het, rows[i].het);
		assert_int_equal(facts.head_uncertain, rows[i].het);
		launch_facts_clear(&facts);
	}
}

/* Two components on one node, which the list names once; it is rank 0's. */
static void test_shared_node(void **state)
{
	static const char *const first[] = {"SLURM_HET_SIZE=2",
					    "SLURM_JOB_NODELIST_HET_GROUP_0=n1",
					    "SLURM_JOB_NODELIST_HET_GROUP_1=n1",
					    "SLURM_STEP_NODELIST=n1",
					    "SLURM_STEP_TASKS_PER_NODE=2,1",
					    "SLURM_STEP_NUM_NODES=2",
					    "SLURM_STEP_NUM_TASKS=3",
					    "SLURM_NODEID=0",
					    "SLURM_PROCID=1",
					    "SLURM_LOCALID=1",
					    "SLURM_GTIDS=0,1",
					    "SLURMD_NODENAME=n1",
					    NULL};
	static const char *const second[] = {"SLURM_HET_SIZE=2",
					     "SLURM_STEP_NODELIST=n1",
					     "SLURM_STEP_TASKS_PER_NODE=2,1",
					     "SLURM_STEP_NUM_NODES=2",
					     "SLURM_STEP_NUM_TASKS=3",
					     "SLURM_NODEID=1",
					     "SLURM_PROCID=2",
					     "SLURM_LOCALID=0",
					     "SLURM_GTIDS=2",
					     "SLURMD_NODENAME=n1",
					     NULL};
	const char *const *const tasks[] = {first, second};

	for (uint32_t i = 0; i < COUNT(tasks); i++) {
		struct launch_error err = {0};
		struct launch_facts facts;

		if (read_step(&facts, tasks[i], &err))
			fail_msg("%s", err.text);
		assert_true(facts.het);
		assert_false(facts.head_uncertain);
		assert_string_equal(facts.head, "n1");
		assert_int_equal(facts.local_size, 2 - i);
		assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), i);
		launch_facts_clear(&facts);
	}
}

/*
 * -m arbitrary by n3 n3 ... : three tasks on n3, then two on n1, then seven on n2. Task 9
 * is on n2, whose id is 1 and whose place is the third.
 */
#define ORDER "n[3,1-2]:0(x3),1(x2),2(x7)"
static void test_order(void **state)
{
	static const struct {
		const char *more[6];
		const char *head;      /* NULL: uncertain */
		const char *placement; /* NULL: not known */
		uint32_t node_rank;
	} rows[] = {
		{{"SLURM_DISTRIBUTION=arbitrary", "SLURM_SRANK_NODES=4711.2:" ORDER},
		 "n3",
		 "0(x3),1(x2),2(x7)",
		 2},
		/* Cut down to the first: the nodes before n3 move up by one. */
		{{"SLURM_DISTRIBUTION=arbitrary", "SLURM_SRANK_NODES=4711.2:n3"},
		 "n3",
		 NULL,
		 2},
		{{"SLURM_DISTRIBUTION=arbitrary", "SLURM_SRANK_NODES=4711.2:n1"},
		 "n1",
		 NULL,
		 1},
		/* Of another step, of another job, of nobody. */
		{{"SLURM_DISTRIBUTION=arbitrary", "SLURM_SRANK_NODES=4711.1:" ORDER},
		 NULL,
		 NULL,
		 1},
		{{"SLURM_DISTRIBUTION=arbitrary", "SLURM_SRANK_NODES=471.2:" ORDER},
		 NULL,
		 NULL,
		 1},
		{{"SLURM_DISTRIBUTION=arbitrary", "SLURM_SRANK_NODES=x"}, NULL, NULL, 1},
		{{"SLURM_DISTRIBUTION=arbitrary", "SLURM_SRANK_NODES="}, NULL, NULL, 1},
		/* Of this step, but not all of it, or more. */
		{{"SLURM_DISTRIBUTION=arbitrary",
		  "SLURM_SRANK_NODES=4711.2:n[3,1]:0(x3),1(x9)"},
		 NULL,
		 NULL,
		 1},
		{{"SLURM_DISTRIBUTION=arbitrary",
		  "SLURM_SRANK_NODES=4711.2:n[3,1-2]:0(x3),1(x2),2(x6)"},
		 NULL,
		 NULL,
		 1},
		{{"SLURM_DISTRIBUTION=arbitrary",
		  "SLURM_SRANK_NODES=4711.2:n[9,1-2]:0(x3),1(x2),2(x7)"},
		 NULL,
		 NULL,
		 1},
		{{"SLURM_DISTRIBUTION=arbitrary", "SLURM_SRANK_NODES=4711.2:n9"},
		 NULL,
		 NULL,
		 1},
		{{"SLURM_DISTRIBUTION=arbitrary", "SLURM_SRANK_NODES=4711.2:"},
		 NULL,
		 NULL,
		 1},
		/* Where Slurm's own order holds, it is not asked. */
		{{"SLURM_SRANK_NODES=4711.2:" ORDER}, "", NULL, 1},
		/* Nor where it is one component's. */
		{{"SLURM_DISTRIBUTION=arbitrary", "SLURM_SRANK_NODES=4711.2:" ORDER,
		  "SLURM_HET_SIZE=2"},
		 NULL,
		 NULL,
		 1},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_error err = {0};
		struct launch_facts facts;

		if (read_step(&facts, rows[i].more, &err))
			fail_msg("row %zu: %s", i, err.text);
		assert_int_equal(facts.head_uncertain, !rows[i].head);
		if (rows[i].head && *rows[i].head)
			assert_string_equal(facts.head, rows[i].head);
		else
			assert_null(facts.head);
		assert_int_equal(!facts.order, !facts.placement);
		if (rows[i].placement)
			assert_string_equal(facts.placement, rows[i].placement);
		else
			assert_null(facts.placement);
		assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER),
				 rows[i].node_rank);
		launch_facts_clear(&facts);
	}
}

/* One that is of this step and contradicts what the task is. */
static void test_order_faults(void **state)
{
	static const char *const more[] = {
		"SLURM_DISTRIBUTION=arbitrary",
		"SLURM_SRANK_NODES=4711.2:n[3,2,1]:0(x3),1(x2),2(x7)", NULL};
	struct launch_error err = {0};
	struct launch_facts facts;

	assert_int_equal(read_step(&facts, more, &err), -EINVAL);
	assert_string_equal(err.text,
			    "SLURM_SRANK_NODES puts task 9 on n1, but SLURMD_NODENAME is "
			    "n2; unset it, and start the program with srun");
	launch_facts_clear(&facts);
}

/* Before there are tasks: the batch script's ids, or none, and no node name. */
static void test_shared(void **state)
{
	static const char *const more[] = {"SLURM_NODEID=",
					   "SLURM_PROCID=",
					   "SLURM_LOCALID=",
					   "SLURMD_NODENAME=batch",
					   "SLURM_DISTRIBUTION=arbitrary",
					   "SLURM_SRANK_NODES=4711.2:" ORDER,
					   "MASTER_PORT=29500",
					   "CUDA_VISIBLE_DEVICES=0,1",
					   NULL};
	struct launch_error err = {0};
	struct launch_facts facts;
	const char *environment[64] = {STEP};
	size_t count = 0;

	while (environment[count])
		count++;
	for (size_t i = 0; more[i]; i++)
		environment[count++] = more[i];
	assert_int_equal(launch_facts_read_shared(&facts, lookup_in, environment, &err),
			 0);
	assert_int_equal(facts.job_id, 4711);
	assert_int_equal(facts.ntasks, 12);
	assert_string_equal(facts.head, "n3");
	assert_int_equal(facts.head_id, 2);
	assert_string_equal(facts.user_port, "29500");
	assert_null(facts.node);
	assert_null(facts.gpus);
	assert_int_equal(facts.rank, 0);
	launch_facts_clear(&facts);
}

static void test_setters(void **state)
{
	static const struct {
		enum launch_layout layout;
		bool het, uncertain;
		char *head;
		uint32_t nodes; /* of 4 */
		bool het_then, uncertain_then;
	} rows[] = {
		/* `srun a : b` inside an allocation, which no variable tells. */
		{LAUNCH_LAYOUT_BLOCK, false, false, NULL, 3, true, true},
		{LAUNCH_LAYOUT_BLOCK, false, false, NULL, 4, false, false},
		{LAUNCH_LAYOUT_BLOCK, false, false, NULL, 5, false, false},
		/* One component of a heterogeneous job, on some of its nodes. */
		{LAUNCH_LAYOUT_BLOCK, true, true, NULL, 4, false, false},
		{LAUNCH_LAYOUT_ARBITRARY, true, true, NULL, 4, false, true},
		{LAUNCH_LAYOUT_ARBITRARY, false, true, NULL, 4, false, true},
		/* Known is known. */
		{LAUNCH_LAYOUT_BLOCK, true, false, "n3", 2, true, false},
		{LAUNCH_LAYOUT_BLOCK, true, true, NULL, 2, true, true},
		{LAUNCH_LAYOUT_ARBITRARY, false, false, "n3", 4, false, false},
	};
	struct launch_facts facts = {.head_uncertain = true};

	assert_int_equal(launch_facts_set_head(&facts, "n7", 1), 0);
	assert_false(facts.head_uncertain);
	assert_int_equal(launch_facts_set_head(&facts, "n3", 2), 0);
	assert_string_equal(facts.head, "n3");
	assert_int_equal(facts.head_id, 2);
	launch_facts_clear(&facts);

	for (size_t i = 0; i < COUNT(rows); i++) {
		facts = (struct launch_facts){.nnodes = 4,
					      .layout = rows[i].layout,
					      .het = rows[i].het,
					      .head = rows[i].head,
					      .head_uncertain = rows[i].uncertain};
		launch_facts_set_component(&facts, rows[i].nodes);
		if (facts.het != rows[i].het_then ||
		    facts.head_uncertain != rows[i].uncertain_then)
			fail_msg("row %zu: %d %d", i, facts.het, facts.head_uncertain);
	}
}

/* Whatever a source has filled in is freed: AddressSanitizer and valgrind look. */
static void test_clear(void **state)
{
	struct launch_facts facts = {0};
	char **const texts[] = {
		&facts.nodelist,   &facts.tasks_per_node, &facts.resv_ports,
		&facts.head,       &facts.head_addr,      &facts.node_addr,
		&facts.order,      &facts.placement,      &facts.node,
		&facts.gpus,       &facts.user_addr,      &facts.user_port,
		&facts.user_nproc, &facts.user_restarts,  &facts.user_rdzv_conf,
		&facts.outer,
	};

	facts.rank = facts.ntasks = 7;
	facts.het = facts.pty = facts.submitit = true;
	for (size_t i = 0; i < COUNT(texts); i++) {
		*texts[i] = strdup("text");
		assert_non_null(*texts[i]);
	}
	launch_facts_clear(&facts);
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_null(*texts[i]);
	assert_int_equal(facts.rank + facts.ntasks, 0);
	assert_false(facts.het || facts.pty || facts.submitit);
	/* Once more is no fault. */
	launch_facts_clear(&facts);
}

/*
 * Without any of its variables in turn: an error that names it, or all is well without.
 */
static void test_missing(void **state)
{
	static const char *const step[] = {
		STEP, "SLURM_RESTART_COUNT=1", "SLURM_STEP_RESV_PORTS=41001",
		"CUDA_VISIBLE_DEVICES=0", "SLURM_GTIDS=5,6,7,8,9"};
	static const char *const needed[] = {
		"SLURM_JOB_ID",        "SLURM_STEP_ID",
		"SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE",
		"SLURM_NODEID",        "SLURM_PROCID",
		"SLURM_LOCALID"};
	/* The job's own differ from the step's. */
	static const char *const contradicted[] = {"SLURM_STEP_NUM_TASKS",
						   "SLURM_STEP_NUM_NODES"};

	for (size_t i = 0; i < COUNT(step); i++) {
		const char *environment[COUNT(step) + 1];
		size_t length = strcspn(step[i], "="), count = 0;
		struct launch_error err = {0};
		struct launch_facts facts;
		const char *want = "";
		int r;

		for (size_t j = 0; j < COUNT(step); j++) {
			if (j != i)
				environment[count++] = step[j];
		}
		environment[count] = NULL;
		for (size_t j = 0; j < COUNT(needed); j++) {
			if (strlen(needed[j]) == length &&
			    strncmp(needed[j], step[i], length) == 0)
				want = needed[j];
		}
		for (size_t j = 0; j < COUNT(contradicted); j++) {
			if (strlen(contradicted[j]) == length &&
			    strncmp(contradicted[j], step[i], length) == 0)
				want = "the step has";
		}
		r = launch_facts_read(&facts, lookup_in, environment, &err);
		if (r != (*want ? -EINVAL : 0) ||
		    strncmp(err.text, want, strlen(want)) != 0)
			fail_msg("without %s: %d, %s", step[i], r, err.text);
		launch_facts_clear(&facts);
	}
}

/* torchrun's own variables, by what an outer step of ours left of them. */
static void test_users_torchrun(void **state)
{
	static const struct {
		const char *more[4];
		const char *nproc, *restarts, *conf;
	} rows[] = {
		{{NULL}, NULL, NULL, NULL},
		{{"PET_NPROC_PER_NODE=4", "PET_MAX_RESTARTS=7",
		  "PET_RDZV_CONF=timeout=9"},
		 "4",
		 "7",
		 "timeout=9"},
		{{"PET_NPROC_PER_NODE=8", "SRANK_PET_NPROC_PER_NODE=8"},
		 NULL,
		 NULL,
		 NULL},
		{{"PET_NPROC_PER_NODE=4", "SRANK_PET_NPROC_PER_NODE=8"}, "4", NULL, NULL},
		{{"PET_MAX_RESTARTS=3", "SRANK_PET_MAX_RESTARTS=3"}, NULL, NULL, NULL},
		{{"PET_RDZV_CONF=is_host=1", "SRANK_PET_RDZV_CONF=is_host=1"},
		 NULL,
		 NULL,
		 NULL},
		{{"PET_RDZV_CONF=a=1,b=2,is_host=1",
		  "SRANK_PET_RDZV_CONF=a=1,b=2,is_host=1"},
		 NULL,
		 NULL,
		 "a=1,b=2"},
		{{"PET_RDZV_CONF=a=1,is_host=1", "SRANK_PET_RDZV_CONF=is_host=1"},
		 NULL,
		 NULL,
		 "a=1,is_host=1"},
		{{"PET_RDZV_CONF=", "PET_MAX_RESTARTS="}, NULL, NULL, NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_error err = {0};
		struct launch_facts facts;

		assert_int_equal(read_step(&facts, rows[i].more, &err), 0);
#define SAME(have, want)                                               \
	if (!(have) != !(want) || ((have) && strcmp(have, want) != 0)) \
	fail_msg("row %zu: \"%s\"", i, (have) ? (have) : "-")
		SAME(facts.user_nproc, rows[i].nproc);
		SAME(facts.user_restarts, rows[i].restarts);
		SAME(facts.user_rdzv_conf, rows[i].conf);
		launch_facts_clear(&facts);
	}
}

static void test_faults(void **state)
{
	static const struct {
		const char *more[4];
		const char *text; /* the error begins with it */
	} rows[] = {
		{{"SLURM_JOB_ID="},
		 "SLURM_JOB_ID is not set, so this is no task of a Slurm "
		 "step; start the program with srun"},
		{{"SLURM_STEP_ID="}, "SLURM_STEP_ID is not set"},
		{{"SLURM_NODEID="}, "SLURM_NODEID is not set"},
		{{"SLURM_PROCID="}, "SLURM_PROCID is not set"},
		{{"SLURM_LOCALID="}, "SLURM_LOCALID is not set"},
		{{"SLURM_STEP_NODELIST="}, "SLURM_STEP_NODELIST is not set"},
		{{"SLURM_STEP_TASKS_PER_NODE="}, "SLURM_STEP_TASKS_PER_NODE is not set"},
		{{"SLURM_STEP_NUM_TASKS=", "SLURM_NTASKS="},
		 "SLURM_STEP_NUM_TASKS is not set"},
		{{"SLURM_STEP_NUM_NODES=", "SLURM_NNODES="},
		 "SLURM_STEP_NUM_NODES is not set"},
		{{"SLURM_JOB_ID=abc"}, "SLURM_JOB_ID=abc is not a number"},
		{{"SLURM_STEP_ID=-5"}, "SLURM_STEP_ID=-5 is not a number"},
		{{"SLURM_PROCID=4294967296"}, "SLURM_PROCID=4294967296 is not a number"},
		{{"SLURM_PROCID=99999999999999999999"},
		 "SLURM_PROCID=99999999999999999999 is not a number"},
		{{"SLURM_PROCID= 1"}, "SLURM_PROCID= 1 is not a number"},
		{{"SLURM_RESTART_COUNT=x"}, "SLURM_RESTART_COUNT=x is not a number"},
		{{"SLURM_HET_SIZE=x"}, "SLURM_HET_SIZE=x is not a number"},
		{{"SLURM_DISTRIBUTION=plane", "SLURM_DIST_PLANESIZE=x"},
		 "SLURM_DIST_PLANESIZE=x is not a number"},
		{{"SLURM_STEP_NODELIST=n[1-3"},
		 "SLURM_STEP_NODELIST=n[1-3 is not a host list"},
		{{"SLURM_STEP_TASKS_PER_NODE=5(x2"},
		 "SLURM_STEP_TASKS_PER_NODE=5(x2 is not a list of task counts"},
		{{"SLURM_STEP_NODELIST=n[1-4]"},
		 "the step has SLURM_STEP_NUM_NODES=3 nodes, but SLURM_STEP_NODELIST "
		 "names 4 "
		 "and SLURM_STEP_TASKS_PER_NODE counts 3"},
		{{"SLURM_STEP_NUM_NODES=2"}, "the step has SLURM_STEP_NUM_NODES=2 nodes"},
		{{"SLURM_STEP_NUM_TASKS=13"},
		 "the step has SLURM_STEP_NUM_TASKS=13 tasks, but "
		 "SLURM_STEP_TASKS_PER_NODE=5(x2),2 makes 12"},
		{{"SLURM_NODEID=3"},
		 "SLURM_NODEID=3 does not fit SLURM_STEP_NUM_NODES=3"},
		{{"SLURM_PROCID=12"},
		 "SLURM_PROCID=12 does not fit SLURM_STEP_NUM_TASKS=12"},
		{{"SLURM_LOCALID=5"},
		 "SLURM_LOCALID=5 does not fit a node with 5 tasks of the step; do not "},
		{{"SLURM_STEP_NUM_NODES=0"}, "the step has SLURM_STEP_NUM_NODES=0 nodes"},
		{{"SLURM_STEP_NUM_TASKS=0"}, "the step has SLURM_STEP_NUM_TASKS=0 tasks"},
		/* The components' counts still must agree. */
		{{"SLURM_HET_SIZE=2", "SLURM_STEP_NUM_NODES=4"},
		 "the step has SLURM_STEP_NUM_NODES=4 nodes"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_error err = {0};
		struct launch_facts facts;

		assert_int_equal(read_step(&facts, rows[i].more, &err), -EINVAL);
		if (strncmp(err.text, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("row %zu: %s", i, err.text);
		launch_facts_clear(&facts);
	}
}

/* 100,000 nodes and 4,096 tasks on each are read as they are, without growing. */
static void test_huge(void **state)
{
	static const char *const more[] = {"SLURM_STEP_NODELIST=n[00000-99999]",
					   "SLURM_STEP_TASKS_PER_NODE=4096(x100000)",
					   "SLURM_STEP_NUM_NODES=100000",
					   "SLURM_STEP_NUM_TASKS=409600000",
					   "SLURM_NODEID=99999",
					   "SLURMD_NODENAME=n99999",
					   "SLURM_PROCID=409599999",
					   "SLURM_LOCALID=4095",
					   NULL};
	struct launch_error err = {0};
	struct launch_facts facts;

	assert_int_equal(read_step(&facts, more, &err), 0);
	assert_int_equal(facts.local_size, 4096);
	launch_facts_clear(&facts);
}

static void test_batch(void **state)
{
	static const char *const batch[] = {
		"SLURM_JOB_ID=4711",
		"SLURM_JOB_NODELIST=n[1-2]",
		"SLURM_NTASKS=16",
		"SLURM_TASKS_PER_NODE=8(x2)",
		"SLURM_RESTART_COUNT=1",
		"SLURMD_NODENAME=n1",
		"MASTER_PORT=29500",
		"SLURM_STEP_ID=-5", /* as Slurm 26.05 has it */
		"SLURM_STEP_NODELIST=outer99",
		NULL};
	/* With only --nodes. */
	static const char *const few[] = {"SLURM_JOB_ID=4711", "SLURM_JOB_NODELIST=n1",
					  NULL};
	static const char *const none[] = {"SLURM_JOB_ID=4711", NULL};
	static const char *const bad[] = {"SLURM_JOB_ID=4711", "SLURM_JOB_NODELIST=n[",
					  NULL};
	struct launch_error err = {0};
	struct launch_facts facts;

	assert_int_equal(launch_facts_read_batch(&facts, lookup_in, (void *)batch, &err),
			 0);
	assert_int_equal(facts.job_id, 4711);
	assert_int_equal(facts.step_id, LAUNCH_BATCH_STEP);
	assert_int_equal(facts.restart_count, 1);
	assert_int_equal(facts.nnodes, 2);
	assert_int_equal(facts.ntasks, 16);
	assert_string_equal(facts.nodelist, "n[1-2]");
	assert_string_equal(facts.user_port, "29500");
	assert_false(facts.head_uncertain);
	launch_facts_clear(&facts);

	assert_int_equal(launch_facts_read_batch(&facts, lookup_in, (void *)few, &err),
			 0);
	assert_int_equal(facts.ntasks, 0);
	assert_null(facts.tasks_per_node);
	launch_facts_clear(&facts);

	assert_int_equal(launch_facts_read_batch(&facts, lookup_in, (void *)none, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "SLURM_JOB_NODELIST is not set"));
	launch_facts_clear(&facts);
	err = (struct launch_error){0};
	assert_int_equal(launch_facts_read_batch(&facts, lookup_in, (void *)bad, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "SLURM_JOB_NODELIST=n[ is not a host list"));
	launch_facts_clear(&facts);
}

static void test_node_cpus(void **state)
{
	static const struct {
		const char *value;
		uint32_t ncpus;
	} rows[] = {
		{"128", 128},
		{"128(x2)", 128},
		/* Which of them this node has is not said. */
		{"128(x2),64", 0},
		{"128,64", 0},
		{"", 0},
		{"x", 0},
		{"-1", 0},
		{"12x", 0},
		{"4294967295", UINT32_MAX},
		{"4294967296", 0},
		{"99999999999999999999999", 0},
	};
	const char *environment[] = {NULL, NULL};
	char text[64];

	assert_int_equal(launch_facts_node_cpus(lookup_in, environment), 0);
	environment[0] = text;
	for (size_t i = 0; i < COUNT(rows); i++) {
		snprintf(text, sizeof(text), "SLURM_JOB_CPUS_PER_NODE=%s", rows[i].value);
		assert_int_equal(launch_facts_node_cpus(lookup_in, environment),
				 rows[i].ncpus);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step),           cmocka_unit_test(test_rows),
		cmocka_unit_test(test_local_size),     cmocka_unit_test(test_faults),
		cmocka_unit_test(test_huge),           cmocka_unit_test(test_batch),
		cmocka_unit_test(test_shared_node),    cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_faults),   cmocka_unit_test(test_shared),
		cmocka_unit_test(test_setters),        cmocka_unit_test(test_missing),
		cmocka_unit_test(test_users_torchrun), cmocka_unit_test(test_clear),
		cmocka_unit_test(test_node_cpus),
	};

	return cmocka_run_group_tests_name("facts", tests, NULL, NULL);
}
