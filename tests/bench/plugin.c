/* SPDX-License-Identifier: MIT */
/*
 * What the plugin costs, in CPU time: its work for a node and for a task, with the SPANK
 * of the unit tests under it, beside what people have in their scripts today, which each
 * task runs: a host name by scontrol and head, and a bash hook that sets the same
 * variables. A report, never a test: figures differ between machines, the ratios hold
 * within a run.
 */
#include "tests/unit/launch/machine.h"
#include "tests/unit/plugin/mock_spank.h"
#include "tests/unit/plugin/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* cmocka's, for the support of the unit tests. */
#include <setjmp.h>
#include <cmocka.h>

#define ROUNDS      301
#define PEER_ROUNDS 21
#define LOCAL_TASKS 8

#define NODE_GOAL 300 /* microseconds */
#define TASK_GOAL 100

static double samples[ROUNDS];

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static double cpu(void)
{
	return now(CLOCK_PROCESS_CPUTIME_ID);
}

static double children_cpu(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(size_t count)
{
	qsort(samples, count, sizeof(*samples), compare);
	return samples[count / 2];
}

static void set_number(const char *name, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	mock_setenv(name, text);
}

/* Task RANK of a step of NODES nodes with eight tasks and eight GPUs each. */
static void step_of(uint32_t nodes, uint32_t rank)
{
	char list[64], counts[32];

	step_reset();
	snprintf(list, sizeof(list), "n[00001-%05u]", nodes);
	snprintf(counts, sizeof(counts), "%u(x%u)", LOCAL_TASKS, nodes);
	mock_setenv("SLURM_STEP_NODELIST", list);
	mock_setenv("SLURM_STEP_TASKS_PER_NODE", counts);
	mock_unsetenv("SLURM_STEP_RESV_PORTS");
	mock_setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7");
	mock_setenv("SLURM_STEP_GPUS", "0,1,2,3,4,5,6,7");
	mock_setenv("SLURM_DISTRIBUTION", "block");
	mock_setenv("SLURMD_NODENAME", rank < LOCAL_TASKS ? "n00001" : "n00002");
	set_number("SLURM_STEP_NUM_NODES", nodes);
	set_number("SLURM_STEP_NUM_TASKS", nodes * LOCAL_TASKS);
	set_number("SLURM_NODEID", rank / LOCAL_TASKS);
	set_number("SLURM_PROCID", rank);
	set_number("SLURM_LOCALID", rank % LOCAL_TASKS);
	mock->local_tasks = LOCAL_TASKS;
	mock->nnodes = nodes; /* not a component of a heterogeneous step */
}

static void measure(const struct asked *asked, uint32_t nodes, uint32_t rank,
		    double *node, double *task)
{
	static double tasks[ROUNDS];

	for (size_t i = 0; i < ROUNDS; i++) {
		double start;

		step_of(nodes, rank);
		start = cpu();
		step_begin(asked);
		samples[i] = cpu() - start;
		mock->task = rank % LOCAL_TASKS;
		start = cpu();
		step_task();
		tasks[i] = cpu() - start;
		step_end();
	}
	*node = median(ROUNDS);
	memcpy(samples, tasks, sizeof(samples));
	*task = median(ROUNDS);
}

/* CPU time of a shell command; below zero when it fails. */
static double measure_peer(const char *command)
{
	for (size_t i = 0; i < PEER_ROUNDS; i++) {
		double start = children_cpu();
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			execl("/bin/bash", "bash", "-c", command, NULL);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			return -1;
		samples[i] = children_cpu() - start;
	}
	return median(PEER_ROUNDS);
}

static const struct {
	const char *what, *command;
} peers[] = {
	{"scontrol show hostnames | head -n1",
	 "a=$(scontrol show hostnames 'n[00001-10000]' | head -n1); [ \"$a\" = n00001 ]"},
	{"bash hook for the same variables",
	 "set -e; n='n[00001-10000]'; export MASTER_ADDR; "
	 "MASTER_ADDR=$(scontrol show hostnames \"$n\" | head -n1); "
	 "export MASTER_PORT=$((20000 + 4711 % 10000)) WORLD_SIZE=80000 RANK=11 "
	 "LOCAL_RANK=3 LOCAL_WORLD_SIZE=8 NODE_RANK=1 NNODES=10000 "
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID; "
	 "export OMP_NUM_THREADS=$(nproc); [ \"$MASTER_ADDR\" = n00001 ]"},
};

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = {2, 100, 10000};
	static struct machine machine;
	const struct asked silent = {NULL, NULL, NULL};
	struct asked asked = {NULL, "torch", NULL};
	char root[256], site[300];
	double node, task = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s MACHINE.txt\n", argv[0]);
		return 2;
	}
	/* A task that the plugin ends takes with it what is not printed yet. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	machine_read(&machine, argv[1]);
	machine_plant(&machine, root, sizeof(root));
	snprintf(site, sizeof(site), "sysroot=%s", root);
	asked.site = site;

	printf("plugin, CPU microseconds, median of %d:\n", ROUNDS);
	printf("  %-34s %10s %10s\n", "8 tasks, 8 GPUs a node", "per node", "per task");
	measure(&silent, 10000, 11, &node, &task);
	printf("  %-34s %10.1f %10.1f\n", "not asked, 10000 nodes", node, task);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char label[40];

		measure(&asked, sizes[i], 11, &node, &task);
		snprintf(label, sizeof(label), "%u nodes", sizes[i]);
		printf("  %-34s %10.1f %10.1f\n", label, node, task);
	}
	printf("  %-34s %10d %10d\n", "aim, at most", NODE_GOAL, TASK_GOAL);
	machine_uproot(root);

	printf("what scripts do today, in each task, median of %d:\n", PEER_ROUNDS);
	for (size_t i = 0; i < sizeof(peers) / sizeof(*peers); i++) {
		double peer = measure_peer(peers[i].command);

		if (peer < 0)
			printf("  %-34s SKIPPED: scontrol does not work here\n",
			       peers[i].what);
		else
			printf("  %-34s %10.1f us, %.0f times the plugin's (aim: 50)\n",
			       peers[i].what, peer, peer / task);
	}
	return 0;
}
