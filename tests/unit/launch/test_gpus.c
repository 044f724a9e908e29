/* SPDX-License-Identifier: MIT */
/*
 * What each task gets by each mode: distances, shares, device lists, and the variables
 * around them.
 */
#include "spank/launch/gpus.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A node: 16 CPUs, two sockets of two NUMA nodes of four CPUs. */
#define CPUS 16

static struct launch_gpus gpus;
static struct launch_cpuset masks[64];

static void read_cpus(struct launch_cpuset *set, const char *text)
{
	assert_int_equal(launch_cpuset_parse(set, text), 0);
}

/*
 * GPUs by name ("0,1") and the NUMA node of each ("3,0"; '-': not located), with the sets
 * that the node of above would give.
 */
static void set_gpus(const char *names, const char *numa)
{
	static const char *const nodes[] = {"0-3", "4-7", "8-11", "12-15"};
	static const char *const sockets[] = {"0-7", "8-15"};

	memset(&gpus, 0, sizeof(gpus));
	gpus.vendor = LAUNCH_VENDOR_NVIDIA;
	while (*names) {
		struct launch_gpu *gpu = &gpus.gpu[gpus.count++];
		size_t length = strcspn(names, ",");

		memcpy(gpu->name, names, length);
		names += length + (names[length] == ',');
		if (*numa != '-') {
			gpu->located = true;
			read_cpus(&gpu->local, nodes[*numa - '0']);
			read_cpus(&gpu->node, nodes[*numa - '0']);
			read_cpus(&gpu->socket, sockets[(*numa - '0') / 2]);
		}
		numa += *numa && numa[1] == ',' ? 2 : 1;
	}
}

/* Masks separated by blanks; "" for none known. The number of tasks. */
static uint32_t set_masks(const char *text)
{
	uint32_t ntasks = 0;
	char mask[64];
	int length;

	for (; sscanf(text, "%63s%n", mask, &length) == 1; text += length)
		read_cpus(&masks[ntasks++], mask);
	return ntasks;
}

/*
 * The GPU that task TASK of NTASKS takes: with up to a GPU for each, the one at its index
 * in the common order; with fewer, the only one that it sees.
 */
static uint32_t gpu_of(uint32_t task, uint32_t ntasks)
{
	bool shared = ntasks > gpus.count;
	const struct launch_facts facts = {.local_rank = task};
	struct launch_environment env = {0};
	struct launch_error err = {{0}};
	struct launch_settings settings;
	const char *list;
	uint32_t gpu;

	launch_settings_init(&settings);
	settings.launcher = launch_launcher_find("torch");
	settings.gpus = shared ? LAUNCH_GPUS_MASK : LAUNCH_GPUS_ORDER;
	assert_int_equal(
		launch_gpus_bind(&gpus, masks, ntasks, &facts, &settings, &env, &err), 0);
	list = launch_environment_get(&env, "CUDA_VISIBLE_DEVICES");
	for (uint32_t i = shared ? 0 : task; i > 0; i--)
		list = strchr(list, ',') + 1;
	gpu = strtoul(list, NULL, 10);
	launch_environment_clear(&env);
	return gpu;
}

/* A GPU's own CPUs, those of its NUMA node and those of its socket; NULL: not located. */
struct place {
	const char *local, *node, *socket;
};

static void put(struct launch_gpu *gpu, const char *name, struct place place)
{
	*gpu = (struct launch_gpu){.located = place.local};
	strcpy(gpu->name, name);
	if (!place.local)
		return;
	read_cpus(&gpu->local, place.local);
	read_cpus(&gpu->node, place.node);
	read_cpus(&gpu->socket, place.socket);
}

/*
 * One task, two GPUs: GPU 1 must be nearer, since GPU 0 is taken where both are as near.
 */
static void measures_distance(void **state)
{
	/* Finer than the NUMA node, as a chiplet is. */
	static const struct place here = {"0-1", "0-3", "0-7"};
	static const struct place beside = {"2-3", "0-3", "0-7"};
	static const struct place same_socket = {"4-5", "4-7", "0-7"};
	static const struct place other_socket = {"8-9", "8-11", "8-15"};
	static const struct place nowhere = {NULL, NULL, NULL};
	const struct {
		const char *mask;
		struct place gpus[2];
		uint32_t nearest;
	} cases[] = {
		{"0", {beside, here}, 1},
		{"0", {same_socket, beside}, 1},
		{"0", {other_socket, same_socket}, 1},
		{"0", {other_socket, nowhere}, 1},
		{"0", {here, nowhere}, 0},
		{"0", {here, here}, 0},
		{"2", {here, beside}, 1},
		/* One CPU of the mask in the set is enough. */
		{"1,15", {beside, here}, 1},
		{"3,9", {here, other_socket}, 1},
		/* More than that are off it than off the other's node or socket. */
		{"1,8-11", {{"20", "8-11", "8-15"}, here}, 1},
		{"2,8-11", {{"20", "21", "8-15"}, here}, 1},
		/* Where it is in both, the one with more of it. */
		{"1,8-9", {here, other_socket}, 1},
		{"0-1,9", {here, other_socket}, 0},
		/* CPUs of no GPU's socket, and no CPU known. */
		{"16", {other_socket, here}, 0},
		{"", {other_socket, here}, 0},
		{"", {other_socket, nowhere}, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		print_message("# %s\n", cases[i].mask);
		memset(&gpus, 0, sizeof(gpus));
		gpus.vendor = LAUNCH_VENDOR_NVIDIA;
		gpus.count = 2;
		put(&gpus.gpu[0], "0", cases[i].gpus[0]);
		put(&gpus.gpu[1], "1", cases[i].gpus[1]);
		read_cpus(&masks[0], cases[i].mask);
		assert_int_equal(gpu_of(0, 1), cases[i].nearest);
	}

	/*
	 * The same socket is a step nearer than another one: task 0 there and task 1 on
	 * its node are as near as task 0 elsewhere and task 1 at its own GPU.
	 */
	put(&gpus.gpu[0], "0", here);
	put(&gpus.gpu[1], "1", (struct place){"8", "8-11", "8-15"});
	set_masks("4 0,9");
	assert_int_equal(gpu_of(0, 2), 0);
	assert_int_equal(gpu_of(1, 2), 1);
}

static void assigns_the_nearest(void **state)
{
	static const struct {
		const char *numa;  /* of the GPUs 0, 1, ... */
		const char *masks; /* of the tasks */
		uint32_t gpu_of[8];
	} cases[] = {
		{"3,2,1,0", "0-3 4-7 8-11 12-15", {3, 2, 1, 0}},
		{"0,1,2,3", "0-3 4-7 8-11 12-15", {0, 1, 2, 3}},
		/* Fewer tasks than GPUs. */
		{"3,2,1,0", "8-11 0-3", {1, 3}},
		{"3,2,1,0", "4", {2}},
		/* Tasks that may run everywhere. */
		{"3,2,1,0", "0-15 0-15 0-15 0-15", {0, 1, 2, 3}},
		/* One that is bound, the others free: the bound one is served. */
		{"3,2,1,0", "0-15 0-15 12-15 0-15", {1, 2, 0, 3}},
		/* More tasks than GPUs: even, blocks where nothing tells them apart. */
		{"0,2", "0-15 0-15 0-15 0-15", {0, 0, 1, 1}},
		{"0,2", "8-9 0-1 10-11 2-3", {1, 0, 1, 0}},
		/* Uneven: no GPU idle, none with three. */
		{"0,0,2,2", "0 1 2 3 8", {0, 0, 1, 2, 3}},
		/* Greedy would give task 0 GPU 0, and task 1 one on the other socket. */
		{"0,2", "0-15 0-3", {1, 0}},
		{"1,2,2,3", "0-3 4-7 8-11 12-15", {1, 0, 2, 3}},
		/* Two CPUs of three say where a task belongs. */
		{"0,1", "3,4,5 2,3,4", {1, 0}},
		/* A GPU that nobody knows suits everyone. */
		{"-,0", "0-3 12-15", {1, 0}},
		{"-,-", "12-15 0-3", {0, 1}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t ntasks = set_masks(cases[i].masks);

		print_message("# %s: %s\n", cases[i].numa, cases[i].masks);
		set_gpus(strlen(cases[i].numa) > 3 ? "0,1,2,3" : "0,1", cases[i].numa);
		for (uint32_t task = 0; task < ntasks; task++)
			assert_int_equal(gpu_of(task, ntasks), cases[i].gpu_of[task]);
	}
}

#define BITS(a) (1u << LAUNCH_GPU_##a)

/* One task of a step: what is known, what is asked for, what it gets. */
struct binding {
	const char *what;
	const char *names, *numa; /* "" for a vendor that is not known */
	const char *masks;
	uint32_t local_rank;
	const char *gpus; /* of the settings: "order", "mask", "first", "none", a map */
	const char *launcher;
	bool local_zero;
	/* Slurm's choice for the task; "none", "unset"; NULL: the step's list */
	const char *visible;
	const char *expected; /* "NAME=value NAME=value -NAME", in the order set */
};

static const struct binding bindings[] = {
	{"order: the same list in every task", "0,1,2,3", "3,2,1,0", "0-3 4-7 8-11 12-15",
	 0, "order", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3,2,1,0"},
	{"order: the same list in every task", "0,1,2,3", "3,2,1,0", "0-3 4-7 8-11 12-15",
	 2, "order", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3,2,1,0"},
	{"order: no launcher named", "0,1,2,3", "3,2,1,0", "0-3 4-7", 1, "order", NULL,
	 false, NULL, "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3,2,0,1"},
	{"order: the others follow as Slurm has them", "4,5,6,7", "3,2,1,0", "4-7", 0,
	 "order", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=6,4,5,7"},
	{"order: nothing to change", "0,1", "0,2", "0-7 8-15", 1, "order", "torch", false,
	 NULL, "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1"},
	{"order: one GPU", "5", "2", "0-3", 0, "order", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=5"},
	{"order: tasks 0 and 2, 1 and 3 share", "0,1", "2,0", "0-1 8-9 2-3 10-11", 2,
	 "order", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0 JAX_LOCAL_DEVICE_IDS=0"},
	{"order: an odd one", "0,1", "2,0", "0 8 1 9 8", 3, "order", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0 JAX_LOCAL_DEVICE_IDS=1"},
	{"order: those who share decide together", "0,1", "2,0", "8 9 0 10 1 11", 0,
	 "order", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0 JAX_LOCAL_DEVICE_IDS=0"},
	{"order: local=0 would be wrong", "0,1", "2,0", "0-7 8-15", 1, "order", "torch",
	 true, NULL, "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0"},
	{"order: a launcher's workers number themselves", "0,1,2,3", "3,2,1,0", "0-3", 0,
	 "order", "torchrun", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1,2,3"},
	{"order: masks not known", "2,3", "3,0", "", 1, "order", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2,3"},

	{"mask: a GPU each", "0,1,2,3", "3,2,1,0", "0-3 4-7 8-11 12-15", 2, "mask",
	 "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 JAX_LOCAL_DEVICE_IDS=0"},
	{"mask: local=0", "0,1,2,3", "3,2,1,0", "0-3 4-7 8-11 12-15", 2, "mask", "torch",
	 true, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 JAX_LOCAL_DEVICE_IDS=0 "
	 "LOCAL_RANK=0"},
	{"mask: local=0, all that MMEngine may read", "0,1", "2,0", "0-7 8-15", 1, "mask",
	 "mmengine", true, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 JAX_LOCAL_DEVICE_IDS=0 "
	 "LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0"},
	{"mask: local=0, but by its own Horovod finds the others", "0,1", "2,0",
	 "0-7 8-15", 1, "mask", "horovod", true, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 JAX_LOCAL_DEVICE_IDS=0 "
	 "LOCAL_RANK=0"},
	{"mask: local=0 without a launcher", "0,1", "2,0", "0-7 8-15", 1, "mask", NULL,
	 true, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 JAX_LOCAL_DEVICE_IDS=0 "
	 "LOCAL_RANK=0"},
	{"mask: local=0, but mpi has no LOCAL_RANK", "0,1", "2,0", "0-7 8-15", 1, "mask",
	 "mpi", true, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 JAX_LOCAL_DEVICE_IDS=0"},
	{"mask: two each", "0,1,2,3", "3,1,2,0", "0-7 8-15", 1, "mask", "torch", false,
	 NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,2 "
	 "JAX_LOCAL_DEVICE_IDS=0,1"},
	{"mask: four for three", "0,1,2,3", "3,2,1,0", "12-15 0-3 4-7", 2, "mask",
	 "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2 JAX_LOCAL_DEVICE_IDS=0"},
	{"mask: shared", "0,1", "2,0", "0 8 1 9", 3, "mask", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 JAX_LOCAL_DEVICE_IDS=0"},
	{"mask: all for the only task", "0,1", "2,0", "0-15", 0, "mask", "torch", false,
	 NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1 "
	 "JAX_LOCAL_DEVICE_IDS=0,1"},
	{"mask: a launcher has no LOCAL_RANK", "0,1", "2,0", "0-15", 0, "mask",
	 "torchrun", true, NULL, "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1"},

	{"first: own, then the others", "0,1,2,3", "3,2,1,0", "0-3 4-7 8-11 12-15", 1,
	 "first", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2,0,1,3 "
	 "JAX_LOCAL_DEVICE_IDS=0"},
	{"first: two of one's own", "0,1,2,3", "3,2,1,0", "0-7 8-15", 0, "first", "torch",
	 true, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2,3,0,1 "
	 "JAX_LOCAL_DEVICE_IDS=0,1 LOCAL_RANK=0"},

	{"map: by local rank", "0,1,2,3", "-,-,-,-", "0 1 2 3", 1, "3,1,2,0", "torch",
	 false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 JAX_LOCAL_DEVICE_IDS=0"},
	{"map: reused when short", "0,1,2,3", "-,-,-,-", "0 1 2 3", 3, "2,0", "torch",
	 false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 JAX_LOCAL_DEVICE_IDS=0"},
	{"map: repeated", "0,1,2,3", "-,-,-,-", "0 1 2 3", 2, "3*2,0*2", "torch", false,
	 NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 JAX_LOCAL_DEVICE_IDS=0"},
	{"map: range", "0,1,2,3", "-,-,-,-", "0 1 2 3", 2, "0-3", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2 JAX_LOCAL_DEVICE_IDS=0"},
	{"map: range downwards", "0,1,2,3", "-,-,-,-", "0 1 2 3", 0, "3-0", "torch",
	 false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3 JAX_LOCAL_DEVICE_IDS=0"},
	{"map: repeated range", "0,1,2,3", "-,-,-,-", "0 1 2 3 4 5 6", 5, "1,2-3*2,0",
	 "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0 JAX_LOCAL_DEVICE_IDS=0"},
	{"map: repeated range", "0,1,2,3", "-,-,-,-", "0 1 2 3 4 5 6", 3, "1,2-3*2,0",
	 "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2 JAX_LOCAL_DEVICE_IDS=0"},
	{"map: several, as written", "0,1,2,3", "-,-,-,-", "0 1", 1, "0+1,3+2", "torch",
	 true, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3,2 JAX_LOCAL_DEVICE_IDS=0,1 "
	 "LOCAL_RANK=0"},
	{"map: the node's numbers", "2,3", "-,-", "0 1", 0, "3,2", "torch", false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3 JAX_LOCAL_DEVICE_IDS=0"},
	{"map: names", "GPU-a-1,GPU-b-2", "-,-", "0 1", 0, "GPU-b-2*2,GPU-a-1", "torch",
	 false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=GPU-b-2 "
	 "JAX_LOCAL_DEVICE_IDS=0"},
	{"map: positions of names", "GPU-a-1,GPU-b-2", "-,-", "0 1", 1, "1-0", "torch",
	 false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=GPU-a-1 "
	 "JAX_LOCAL_DEVICE_IDS=0"},

	{"map: positions of tiles", "0.0,0.1,1.0", "-,-,-", "0 1", 1, "2,1", "torch",
	 false, NULL,
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0.1 JAX_LOCAL_DEVICE_IDS=0"},

	{"none", "0,1,2,3", "3,2,1,0", "0-3 4-7", 0, "none", "torch", true, NULL, ""},
	{"no GPU", "", "", "0-3 4-7", 0, "mask", "torch", true, NULL, ""},

	{"narrowed by Slurm to the task's own", "0,1,2,3", "3,2,1,0",
	 "0-3 4-7 8-11 12-15", 2, "order", "torch", false, "1",
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID JAX_LOCAL_DEVICE_IDS=0"},
	{"narrowed by Slurm to the task's own, local=0", "0,1,2,3", "3,2,1,0",
	 "0-3 4-7 8-11 12-15", 2, "order", "torch", true, "1",
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID JAX_LOCAL_DEVICE_IDS=0 LOCAL_RANK=0"},
	{"narrowed by Slurm to two of the task's own", "0,1,2,3", "3,2,1,0", "0-3 4-7", 1,
	 "first", "torch", false, "0,1",
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID JAX_LOCAL_DEVICE_IDS=0,1"},
	{"narrowed by Slurm to what tasks share", "0,1,2,3", "3,2,1,0", "0-3 4-7 8-11", 1,
	 "order", "torch", true, "0,1", "CUDA_DEVICE_ORDER=PCI_BUS_ID"},
	{"narrowed by Slurm for a launcher", "0,1,2,3", "3,2,1,0", "0-3", 0, "order",
	 "torchrun", true, "0,1", "CUDA_DEVICE_ORDER=PCI_BUS_ID"},
	{"narrowed by Slurm, which is what mask does", "0,1,2,3", "3,2,1,0", "0-3 4-7", 1,
	 "mask", "torch", true, "0,1",
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID JAX_LOCAL_DEVICE_IDS=0,1 LOCAL_RANK=0"},
	{"narrowed by Slurm to none", "0,1", "2,0", "0-7 8-15", 1, "order", "torch",
	 false, "none", "CUDA_DEVICE_ORDER=PCI_BUS_ID"},
	{"narrowed by Slurm to none", "0,1", "2,0", "0-7 8-15", 1, "mask", "mmengine",
	 true, "none", "CUDA_DEVICE_ORDER=PCI_BUS_ID"},
	{"taken away by Slurm 22.05's --gpu-bind=none", "0,1", "2,0", "0-7 8-15", 0,
	 "order", "torch", false, "unset",
	 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0"},
};

/* The variables of ENV as bindings have them. */
static void print_environment(const struct launch_environment *env, char *text,
			      size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < env->count; i++) {
		const struct launch_assignment *one = &env->list[i];

		used += (size_t)snprintf(text + used, size - used, "%s%s%s%s%s",
					 used ? " " : "", one->value ? "" : "-",
					 one->name, one->value ? "=" : "",
					 one->value ? one->value : "");
	}
}

static void set_mode(struct launch_settings *settings, const char *mode)
{
	static const char *const modes[] = {
		[LAUNCH_GPUS_ORDER] = "order",
		[LAUNCH_GPUS_MASK] = "mask",
		[LAUNCH_GPUS_FIRST] = "first",
		[LAUNCH_GPUS_NONE] = "none",
	};

	settings->gpus = LAUNCH_GPUS_MAP;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (modes[i] && strcmp(mode, modes[i]) == 0)
			settings->gpus = (enum launch_gpus_mode)i;
	snprintf(settings->gpus_map, sizeof(settings->gpus_map), "%s", mode);
}

static void binds(void **state)
{
	const struct binding *binding = *state;
	uint32_t known = set_masks(binding->masks), ntasks = known ? known : 2;
	struct launch_environment env = {0};
	struct launch_error err = {{0}};
	struct launch_settings settings;
	char text[512], tasks[16], visible[64];
	struct launch_facts facts = {
		.nnodes = 1,
		.ntasks = ntasks,
		.tasks_per_node = tasks,
		.local_rank = binding->local_rank,
		.local_size = ntasks,
		.gpu_variables = BITS(CUDA) | BITS(ROCR) | BITS(ZE) | BITS(ORDINAL),
	};

	snprintf(tasks, sizeof(tasks), "%u", ntasks);
	snprintf(visible, sizeof(visible), "%s",
		 binding->visible ? binding->visible : binding->names);
	if (strcmp(visible, "unset") == 0)
		facts.gpu_variables = 0;
	else if (*visible && strcmp(visible, "none") != 0)
		facts.gpus = visible;
	launch_settings_init(&settings);
	settings.launcher =
		binding->launcher ? launch_launcher_find(binding->launcher) : NULL;
	settings.local_zero = binding->local_zero;
	set_mode(&settings, binding->gpus);
	set_gpus(binding->names, binding->numa);
	assert_int_equal(launch_gpus_bind(&gpus, known ? masks : NULL, ntasks, &facts,
					  &settings, &env, &err),
			 0);
	print_environment(&env, text, sizeof(text));
	assert_string_equal(text, binding->expected);
	launch_environment_clear(&env);
}

/* What Slurm chose stays, and is not masked twice. */
static void leaves_one_layer_of_slurms(void **state)
{
	static const struct {
		uint32_t variables;
		const char *expected;
	} cases[] = {
		{BITS(CUDA) | BITS(ROCR) | BITS(ZE) | BITS(ORDINAL),
		 "-HIP_VISIBLE_DEVICES -CUDA_VISIBLE_DEVICES -GPU_DEVICE_ORDINAL "
		 "JAX_LOCAL_DEVICE_IDS=0"},
		{BITS(ROCR),
		 "-HIP_VISIBLE_DEVICES -CUDA_VISIBLE_DEVICES -GPU_DEVICE_ORDINAL "
		 "JAX_LOCAL_DEVICE_IDS=0"},
		/* HIP reads it too: taking it away would show the task all GPUs. */
		{BITS(CUDA), "JAX_LOCAL_DEVICE_IDS=0"},
	};
	struct launch_settings settings;

	launch_settings_init(&settings);
	settings.launcher = launch_launcher_find("torch");
	set_gpus("0,1", "-,-");
	gpus.vendor = LAUNCH_VENDOR_AMD;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char one[] = "1";
		struct launch_facts facts = {
			.gpus = one,
			.gpu_variables = cases[i].variables,
		};
		struct launch_environment env = {0};
		struct launch_error err = {{0}};
		char text[512];

		assert_int_equal(
			launch_gpus_bind(&gpus, NULL, 2, &facts, &settings, &env, &err),
			0);
		print_environment(&env, text, sizeof(text));
		assert_string_equal(text, cases[i].expected);
		launch_environment_clear(&env);
	}
}

static void sets_the_vendors_variable(void **state)
{
	static const struct {
		enum launch_vendor vendor;
		uint32_t variables;
		bool user_order;
		const char *expected;
	} cases[] = {
		{LAUNCH_VENDOR_NVIDIA, 0, false,
		 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0"},
		{LAUNCH_VENDOR_NVIDIA, BITS(CUDA) | BITS(ROCR) | BITS(ZE) | BITS(ORDINAL),
		 true, "CUDA_VISIBLE_DEVICES=1,0"},
		{LAUNCH_VENDOR_AMD, BITS(CUDA) | BITS(ROCR) | BITS(ZE) | BITS(ORDINAL),
		 false,
		 "-HIP_VISIBLE_DEVICES -CUDA_VISIBLE_DEVICES -GPU_DEVICE_ORDINAL "
		 "ROCR_VISIBLE_DEVICES=1,0"},
		/* Intel's runtime counts by address, whatever the order here. */
		{LAUNCH_VENDOR_INTEL, BITS(ZE), false, "ZE_AFFINITY_MASK=0,1"},
		/* Not known: those that Slurm had set, or what most programs read. */
		{LAUNCH_VENDOR_UNKNOWN,
		 BITS(CUDA) | BITS(ROCR) | BITS(ZE) | BITS(ORDINAL), false,
		 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0 "
		 "ROCR_VISIBLE_DEVICES=1,0 ZE_AFFINITY_MASK=1,0 GPU_DEVICE_ORDINAL=1,0"},
		{LAUNCH_VENDOR_UNKNOWN, BITS(ROCR), false, "ROCR_VISIBLE_DEVICES=1,0"},
		{LAUNCH_VENDOR_UNKNOWN, BITS(CUDA), true, "CUDA_VISIBLE_DEVICES=1,0"},
		{LAUNCH_VENDOR_UNKNOWN, 0, false,
		 "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1,0"},
	};
	struct launch_settings settings;

	launch_settings_init(&settings);
	settings.launcher = launch_launcher_find("torch");
	set_gpus("0,1", "2,0");
	set_masks("0-7 8-15");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char both[] = "0,1";
		struct launch_facts facts = {
			.gpus = cases[i].variables ? both : NULL,
			.gpu_variables = cases[i].variables,
			.user_device_order = cases[i].user_order,
		};
		struct launch_environment env = {0};
		struct launch_error err = {{0}};
		char text[512];

		gpus.vendor = cases[i].vendor;
		assert_int_equal(
			launch_gpus_bind(&gpus, masks, 2, &facts, &settings, &env, &err),
			0);
		print_environment(&env, text, sizeof(text));
		assert_string_equal(text, cases[i].expected);
		launch_environment_clear(&env);
	}
}

/* Two tasks near the second and the first of two GPUs, by mode and local rank. */
static void knows_where_order_does_not_count(void **state)
{
	static const struct {
		const char *mode;
		enum launch_vendor vendor;
		const char *expected[2]; /* device list, a blank, JAX's indices */
		uint32_t own[2];         /* the GPU that is the task's */
	} cases[] = {
		{"order", LAUNCH_VENDOR_AMD, {"1,0 -", "1,0 -"}, {1, 0}},
		{"order", LAUNCH_VENDOR_INTEL, {"0,1 -", "0,1 -"}, {0, 1}},
		{"first", LAUNCH_VENDOR_AMD, {"1,0 0", "0,1 0"}, {1, 0}},
		{"first", LAUNCH_VENDOR_INTEL, {"1 0", "0 0"}, {1, 0}},
		{"mask", LAUNCH_VENDOR_INTEL, {"1 0", "0 0"}, {1, 0}},
		{"1,0", LAUNCH_VENDOR_INTEL, {"1 0", "0 0"}, {1, 0}},
	};

	set_gpus("0,1", "2,0");
	set_masks("0-7 8-15");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct launch_binding shares[2];
		struct launch_settings settings;
		struct launch_error err = {{0}};

		launch_settings_init(&settings);
		set_mode(&settings, cases[i].mode);
		settings.launcher = launch_launcher_find("torch");
		gpus.vendor = cases[i].vendor;
		for (uint32_t task = 0; task < 2; task++) {
			struct launch_facts facts = {.local_rank = task};
			struct launch_environment env = {0};
			const char *jax, *list;
			char text[64];

			assert_int_equal(launch_gpus_bind(&gpus, masks, 2, &facts,
							  &settings, &env, &err),
					 0);
			jax = launch_environment_get(&env, "JAX_LOCAL_DEVICE_IDS");
			list = launch_environment_get(
				&env, launch_gpus_variable(&gpus, &facts));
			assert_non_null(list);
			snprintf(text, sizeof(text), "%s %s", list, jax ? jax : "-");
			assert_string_equal(text, cases[i].expected[task]);
			assert_int_equal(launch_gpus_share(&gpus, masks, 2, &facts,
							   &settings, shares, &err),
					 0);
			assert_int_equal(shares[task].gpu[shares[task].own],
					 cases[i].own[task]);
			launch_environment_clear(&env);
		}
	}
}

/* What launch_gpus_share() says of the tasks, each "SEEN:OWN", '/' between two. */
static void shares_as_it_binds(void **state)
{
	static const struct {
		const char *masks, *mode, *launcher;
		const char *visible; /* NULL: all */
		bool pty;
		const char *expected;
	} cases[] = {
		{"0-3 4-7 8-11 12-15", "order", "torch", NULL, false,
		 "7,6,5,4:7/7,6,5,4:6/7,6,5,4:5/7,6,5,4:4"},
		{"8-11 0-3", "order", "torch", NULL, false, "5,7,4,6:5/5,7,4,6:7"},
		/* No task at all. */
		{"", "order", "torch", NULL, false, ""},
		{"", "mask", "torch", NULL, false, ""},
		/* Tasks 0 and 4 share what is at index 0. */
		{"0 4 8 12 0", "order", "torch", NULL, false,
		 "7,6,5,4:7/7,6,5,4:6/7,6,5,4:5/7,6,5,4:4/7,6,5,4:7"},
		{"0-3", "order", "torchrun", NULL, false, "4,5,6,7:4,5,6,7"},
		{"0-7 8-15", "mask", "torch", NULL, false, "6,7:6,7/4,5:4,5"},
		{"0-3 4-7 8-11 12-15", "first", "torch", NULL, false,
		 "7,4,5,6:7/6,4,5,7:6/5,4,6,7:5/4,5,6,7:4"},
		{"0 0 0", "6+4,5", "torch", NULL, false, "6,4:6,4/5:5/6,4:6,4"},
		/* What programs would take by themselves. */
		{"0 0 0 0 0", "none", "torch", NULL, false,
		 "4,5,6,7:4/4,5,6,7:5/4,5,6,7:6/4,5,6,7:7/4,5,6,7:4"},
		{"0-3 4-7", "mask", "torch", NULL, true, "4,5,6,7:4/4,5,6,7:5"},
		/* Slurm has bound them, and no task sees another's. */
		{"0-3 4-7", "order", "torch", "4", false, ":/:"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t ntasks = set_masks(cases[i].masks);
		struct launch_error err = {{0}};
		struct launch_binding shares[8];
		struct launch_settings settings;
		char text[256] = "", visible[16];
		struct launch_facts facts = {
			.nnodes = 1,
			.ntasks = ntasks,
			.local_size = ntasks,
			.gpu_variables = BITS(CUDA),
			.gpus = visible,
			.pty = cases[i].pty,
		};
		size_t used = 0;

		snprintf(visible, sizeof(visible), "%s",
			 cases[i].visible ? cases[i].visible : "4,5,6,7");
		launch_settings_init(&settings);
		settings.launcher = launch_launcher_find(cases[i].launcher);
		set_mode(&settings, cases[i].mode);
		set_gpus("4,5,6,7", "3,2,1,0");
		assert_int_equal(launch_gpus_share(&gpus, masks, ntasks, &facts,
						   &settings, shares, &err),
				 0);
		for (uint32_t task = 0; task < ntasks; task++) {
			const struct launch_binding *one = &shares[task];

			used += sprintf(text + used, "%s", task ? "/" : "");
			for (uint32_t at = 0; at < one->count; at++)
				used += sprintf(text + used, "%s%s", at ? "," : "",
						gpus.gpu[one->gpu[at]].name);
			used += sprintf(text + used, ":");
			for (uint32_t at = 0; one->count && at < one->owned; at++)
				used += sprintf(text + used, "%s%s", at ? "," : "",
						gpus.gpu[one->gpu[one->own + at]].name);
		}
		assert_string_equal(text, cases[i].expected);
	}
}

static void names_distances(void **state)
{
	static const struct {
		const char *mask, *name;
		struct place place;
	} cases[] = {
		{"1,15", "local", {"0-1", "0-3", "0-7"}},
		{"2,15", "NUMA node", {"0-1", "0-3", "0-7"}},
		{"4,15", "same socket", {"0-1", "0-3", "0-7"}},
		{"8-15", "other socket", {"0-1", "0-3", "0-7"}},
		{"", "?", {"0-1", "0-3", "0-7"}},
		{"0", "?", {NULL, NULL, NULL}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct launch_gpu gpu;

		put(&gpu, "0", cases[i].place);
		read_cpus(&masks[0], cases[i].mask);
		assert_string_equal(
			launch_distance_name(launch_gpu_distance(&gpu, &masks[0])),
			cases[i].name);
	}
}

static void tells_the_farther(void **state)
{
	static const enum launch_distance cases[][3] = {
		{LAUNCH_DISTANCE_LOCAL, LAUNCH_DISTANCE_LOCAL, LAUNCH_DISTANCE_LOCAL},
		{LAUNCH_DISTANCE_LOCAL, LAUNCH_DISTANCE_NODE, LAUNCH_DISTANCE_NODE},
		{LAUNCH_DISTANCE_OTHER, LAUNCH_DISTANCE_SOCKET, LAUNCH_DISTANCE_OTHER},
		{LAUNCH_DISTANCE_UNKNOWN, LAUNCH_DISTANCE_LOCAL, LAUNCH_DISTANCE_LOCAL},
		{LAUNCH_DISTANCE_UNKNOWN, LAUNCH_DISTANCE_OTHER, LAUNCH_DISTANCE_OTHER},
		{LAUNCH_DISTANCE_UNKNOWN, LAUNCH_DISTANCE_UNKNOWN,
		 LAUNCH_DISTANCE_UNKNOWN},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(launch_distance_farther(cases[i][0], cases[i][1]),
				 cases[i][2]);
		assert_int_equal(launch_distance_farther(cases[i][1], cases[i][0]),
				 cases[i][2]);
	}
}

#define CANNOT(map, entry)                                                               \
	"gpus=map:" map ": cannot read \"" entry                                         \
	"\"; write a GPU for each task (0,1), several for one (0+1,2+3), a range (0-3) " \
	"or a "                                                                          \
	"repetition (0*2), and no GPU twice for one task"

static void refuses_odd_maps(void **state)
{
	static const struct {
		const char *names;
		const char *map;
		const char *error;
	} cases[] = {
		{"0,1,2,3", "0,4",
		 "gpus=map:0,4: the step has no GPU \"4\" on this node; it has 0,1,2,3"},
		{"2,3", "0",
		 "gpus=map:0: the step has no GPU \"0\" on this node; it has 2,3"},
		{"0,1", "0-3",
		 "gpus=map:0-3: the step has no GPU \"2\" on this node; it has 0,1"},
		{"0,1", "0-2147483647",
		 "gpus=map:0-2147483647: the step has no GPU \"2\" on "
		 "this node; it has 0,1"},
		{"0,1", "3-0",
		 "gpus=map:3-0: the step has no GPU \"3\" on this node; it has 0,1"},
		{"0,1", "0+7",
		 "gpus=map:0+7: the step has no GPU \"7\" on this node; it has 0,1"},
		{"0,1", "01",
		 "gpus=map:01: the step has no GPU \"01\" on this node; it has 0,1"},
		{"0,1", "99999999999999999999",
		 "gpus=map:99999999999999999999: the step has no GPU "
		 "\"99999999999999999999\" on this node; it has 0,1"},
		{"GPU-a,GPU-b", "2",
		 "gpus=map:2: the step has no GPU \"2\" on this node; it has "
		 "GPU-a,GPU-b"},
		{"GPU-a,GPU-b", "GPU-c",
		 "gpus=map:GPU-c: the step has no GPU \"GPU-c\" on this "
		 "node; it has GPU-a,GPU-b"},
		{"0,1", "", CANNOT("", "")},
		{"0,1", ",0", CANNOT(",0", "")},
		{"0,1", "0,", CANNOT("0,", "")},
		{"0,1", "0,,1", CANNOT("0,,1", "")},
		{"0,1", "0+", CANNOT("0+", "0+")},
		{"0,1", "+0", CANNOT("+0", "+0")},
		{"0,1", "0+0", CANNOT("0+0", "0+0")},
		{"0,1", "*2", CANNOT("*2", "*2")},
		{"0,1", "0*", CANNOT("0*", "0*")},
		{"0,1", "0*0", CANNOT("0*0", "0*0")},
		{"0,1", "0*x", CANNOT("0*x", "0*x")},
		{"0,1", "0*2*2", CANNOT("0*2*2", "0*2*2")},
		{"0,1", "0*10000", CANNOT("0*10000", "0*10000")},
		{"0,1", "0-", CANNOT("0-", "0-")},
		{"0,1", "0-1-2", CANNOT("0-1-2", "0-1-2")},
		{"0,1", "0-1+1", CANNOT("0-1+1", "0-1+1")},
		{"0,1", "0-99999999999", CANNOT("0-99999999999", "0-99999999999")},
		{"0,1", "-1",
		 "gpus=map:-1: the step has no GPU \"-1\" on this node; it has 0,1"},
	};
	struct launch_settings settings;
	struct launch_facts facts = {0};

	launch_settings_init(&settings);
	settings.launcher = launch_launcher_find("torch");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct launch_environment env = {0};
		struct launch_error err = {{0}};

		set_gpus(cases[i].names, "-,-,-,-");
		set_mode(&settings, cases[i].map);
		assert_int_equal(
			launch_gpus_bind(&gpus, NULL, 2, &facts, &settings, &env, &err),
			-EINVAL);
		assert_string_equal(err.text, cases[i].error);
		launch_environment_clear(&env);
	}
}

static void refuses_odd_ranks(void **state)
{
	struct launch_facts facts = {.local_rank = 2};
	struct launch_environment env = {0};
	struct launch_error err = {{0}};
	struct launch_settings settings;

	launch_settings_init(&settings);
	set_gpus("0,1", "0,2");
	assert_int_equal(launch_gpus_bind(&gpus, NULL, 2, &facts, &settings, &env, &err),
			 -EINVAL);
	assert_string_equal(err.text,
			    "local rank 2 is not one of this node's 2 tasks; use "
			    "gpus=none and report this");
	assert_int_equal(env.count, 0);
	launch_environment_clear(&env);
}

/* The longest list that there can be. */
static void takes_long_names(void **state)
{
	struct launch_environment env = {0};
	struct launch_error err = {{0}};
	struct launch_settings settings;
	struct launch_facts facts = {0};

	launch_settings_init(&settings);
	settings.launcher = launch_launcher_find("torch");
	memset(&gpus, 0, sizeof(gpus));
	gpus.count = LAUNCH_GPUS_MAX;
	for (uint32_t i = 0; i < gpus.count; i++)
		memset(gpus.gpu[i].name, 'z', LAUNCH_GPU_NAME_MAX - 1);
	assert_int_equal(launch_gpus_bind(&gpus, NULL, 1, &facts, &settings, &env, &err),
			 0);
	assert_int_equal(strlen(launch_environment_get(&env, "CUDA_VISIBLE_DEVICES")),
			 LAUNCH_GPUS_MAX * LAUNCH_GPU_NAME_MAX - 1);
	set_mode(&settings, "0");
	assert_int_equal(launch_gpus_bind(&gpus, NULL, 1, &facts, &settings, &env, &err),
			 0);
	launch_environment_clear(&env);
}

int main(void)
{
	const struct CMUnitTest others[] = {
		cmocka_unit_test(measures_distance),
		cmocka_unit_test(assigns_the_nearest),
		cmocka_unit_test(sets_the_vendors_variable),
		cmocka_unit_test(knows_where_order_does_not_count),
		cmocka_unit_test(leaves_one_layer_of_slurms),
		cmocka_unit_test(shares_as_it_binds),
		cmocka_unit_test(names_distances),
		cmocka_unit_test(tells_the_farther),
		cmocka_unit_test(refuses_odd_maps),
		cmocka_unit_test(refuses_odd_ranks),
		cmocka_unit_test(takes_long_names),
	};
	enum { BINDINGS = sizeof(bindings) / sizeof(*bindings) };
	enum { OTHERS = sizeof(others) / sizeof(*others) };
	struct CMUnitTest tests[BINDINGS + OTHERS];

	for (size_t i = 0; i < BINDINGS; i++)
		tests[i] = (struct CMUnitTest){bindings[i].what, binds, NULL, NULL,
					       (void *)&bindings[i]};
	memcpy(tests + BINDINGS, others, sizeof(others));
	return cmocka_run_group_tests_name("gpus", tests, NULL, NULL);
}
