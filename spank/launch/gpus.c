/* SPDX-License-Identifier: MIT */
/*
 * What a task gets of its node's GPUs: distances and assignment from the tasks' CPU
 * masks, and from them the device list of each binding mode.
 */
#include "spank/launch/gpus.h"
#include "spank/launch/assign.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * One step of distance outweighs all CPUs that can lie off the mark in one node: up to
 * LAUNCH_CPUS_MAX tasks, each with as many CPUs off three sets.
 */
#define STEP (INT64_C(4) * LAUNCH_CPUS_MAX * LAUNCH_CPUS_MAX)

_Static_assert(LAUNCH_GPUS_MAX <= LAUNCH_ASSIGN_COLUMNS_MAX, "one column a GPU");
_Static_assert((LAUNCH_DISTANCE_OTHER + 1) * STEP * LAUNCH_CPUS_MAX <=
		       LAUNCH_ASSIGN_TOTAL_MAX,
	       "a task on each CPU");

/* Room for LAUNCH_GPUS_MAX names and their commas. */
#define LIST_MAX (LAUNCH_GPUS_MAX * LAUNCH_GPU_NAME_MAX)

const char *const launch_gpu_variables[LAUNCH_GPU_VARIABLES] = {
	[LAUNCH_GPU_CUDA] = "CUDA_VISIBLE_DEVICES",
	[LAUNCH_GPU_ROCR] = "ROCR_VISIBLE_DEVICES",
	[LAUNCH_GPU_ZE] = "ZE_AFFINITY_MASK",
	[LAUNCH_GPU_ORDINAL] = "GPU_DEVICE_ORDINAL",
};

/*
 * AMD's HIP counts, in HIP_VISIBLE_DEVICES and its synonym CUDA_VISIBLE_DEVICES, what
 * ROCR_VISIBLE_DEVICES left, and its OpenCL likewise in GPU_DEVICE_ORDINAL: with the same
 * list in two layers the second one names GPUs that are no longer there (ROCm
 * documentation, "GPU isolation techniques").
 */
static const struct {
	enum launch_gpu_variable set;
	const char *unset[4]; /* ended by NULL */
	bool fixed;           /* the order of the list does not count */
} vendors[] = {
	[LAUNCH_VENDOR_UNKNOWN] = {LAUNCH_GPU_VARIABLES, {0}, false},
	[LAUNCH_VENDOR_NVIDIA] = {LAUNCH_GPU_CUDA, {0}, false},
	[LAUNCH_VENDOR_AMD] = {LAUNCH_GPU_ROCR,
			       {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
				"GPU_DEVICE_ORDINAL"},
			       false},
	/* A mask indeed (parseAffinityMask() in Intel's compute-runtime). */
	[LAUNCH_VENDOR_INTEL] = {LAUNCH_GPU_ZE, {0}, true},
};

enum launch_gpu_variable launch_vendor_variable(enum launch_vendor vendor)
{
	return vendors[vendor].set;
}

bool launch_gpus_are_ordered(const struct launch_gpus *gpus)
{
	return !vendors[gpus->vendor].fixed;
}

/* What a mode comes to where the order of the list does not count. */
static enum launch_gpus_mode find_mode(const struct launch_gpus *gpus,
				       const struct launch_settings *settings)
{
	if (launch_gpus_are_ordered(gpus))
		return settings->gpus;
	switch (settings->gpus) {
	case LAUNCH_GPUS_ORDER:
		return LAUNCH_GPUS_NONE;
	case LAUNCH_GPUS_FIRST:
		return LAUNCH_GPUS_MASK;
	default:
		return settings->gpus;
	}
}

static void free_costs(int64_t **costs)
{
	free(*costs);
}

static void free_indices(uint32_t **indices)
{
	free(*indices);
}

/*
 * Distance, and in OFF, to tell near from half near, how many CPUs of MASK lie off each
 * of the GPU's sets: a task whose mask straddles two NUMA nodes belongs to the one with
 * more of it. One pass over the words, of which a mask has few that are not zero.
 */
static enum launch_distance measure(const struct launch_gpu *gpu,
				    const struct launch_cpuset *mask, uint32_t *off)
{
	uint64_t any = 0, local = 0, node = 0, socket = 0;

	*off = 0;
	if (!gpu->located)
		return LAUNCH_DISTANCE_UNKNOWN;
	for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++) {
		uint64_t cpus = mask->bits[word];

		if (!cpus)
			continue;
		any |= cpus;
		local |= cpus & gpu->local.bits[word];
		node |= cpus & gpu->node.bits[word];
		socket |= cpus & gpu->socket.bits[word];
		*off += (uint32_t)__builtin_popcountll(cpus & ~gpu->local.bits[word]);
		*off += (uint32_t)__builtin_popcountll(cpus & ~gpu->node.bits[word]);
		*off += (uint32_t)__builtin_popcountll(cpus & ~gpu->socket.bits[word]);
	}
	if (!any)
		return LAUNCH_DISTANCE_UNKNOWN;
	if (local)
		return LAUNCH_DISTANCE_LOCAL;
	if (node)
		return LAUNCH_DISTANCE_NODE;
	return socket ? LAUNCH_DISTANCE_SOCKET : LAUNCH_DISTANCE_OTHER;
}

enum launch_distance launch_gpu_distance(const struct launch_gpu *gpu,
					 const struct launch_cpuset *mask)
{
	uint32_t off;

	return measure(gpu, mask, &off);
}

enum launch_distance launch_distance_farther(enum launch_distance a,
					     enum launch_distance b)
{
	/* Which is the last one of them. */
	if (a == LAUNCH_DISTANCE_UNKNOWN || b == LAUNCH_DISTANCE_UNKNOWN)
		return a < b ? a : b;
	return a > b ? a : b;
}

const char *launch_distance_name(enum launch_distance distance)
{
	static const char *const names[] = {
		[LAUNCH_DISTANCE_LOCAL] = "local",
		[LAUNCH_DISTANCE_NODE] = "NUMA node",
		[LAUNCH_DISTANCE_SOCKET] = "same socket",
		[LAUNCH_DISTANCE_OTHER] = "other socket",
		[LAUNCH_DISTANCE_UNKNOWN] = "?",
	};

	return names[distance];
}

/* What is not known is as near as can be. */
static int64_t cost(const struct launch_gpu *gpu, const struct launch_cpuset *mask)
{
	uint32_t off;
	int64_t distance = measure(gpu, mask, &off);

	return distance == LAUNCH_DISTANCE_UNKNOWN ? 0 : distance * STEP + off;
}

/* The costs of NTASKS tasks, a row of gpus->count each. NULL without memory. */
static int64_t *count_costs(const struct launch_gpus *gpus,
			    const struct launch_cpuset *masks, uint32_t ntasks)
{
	int64_t *costs = calloc((size_t)ntasks * gpus->count + 1, sizeof(*costs));

	if (!costs || !masks)
		return costs;
	for (uint32_t task = 0; task < ntasks; task++)
		for (uint32_t gpu = 0; gpu < gpus->count; gpu++)
			costs[(size_t)task * gpus->count + gpu] =
				cost(&gpus->gpu[gpu], &masks[task]);
	return costs;
}

/* Adds the GPUs that are not in CHOICE yet behind those that are, in Slurm's order. */
static void append_others(const struct launch_gpus *gpus, struct launch_binding *choice)
{
	uint64_t chosen = 0;

	for (uint32_t i = 0; i < choice->count; i++)
		chosen |= UINT64_C(1) << choice->gpu[i];
	for (uint32_t gpu = 0; gpu < gpus->count; gpu++)
		if (!(chosen >> gpu & 1))
			choice->gpu[choice->count++] = gpu;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * order: positions take GPUs as tasks would, the position's cost being that of all the
 * tasks whose local rank modulo the number of GPUs it is. *GPU_OF has one of each.
 */
static int assign_positions(const struct launch_gpus *gpus,
			    const struct launch_cpuset *masks, uint32_t ntasks,
			    uint32_t **gpu_of)
{
	__attribute__((cleanup(free_costs))) int64_t *costs = NULL;
	uint32_t positions = smaller(ntasks, gpus->count);

	costs = count_costs(gpus, masks, ntasks);
	*gpu_of = malloc(positions * sizeof(**gpu_of));
	if (!costs || !*gpu_of)
		return -ENOMEM;
	for (size_t i = (size_t)positions * gpus->count; i < (size_t)ntasks * gpus->count;
	     i++)
		costs[i % ((size_t)positions * gpus->count)] += costs[i];
	return launch_assign(costs, positions, gpus->count, *gpu_of);
}

/* How many GPUs of its own each task has in mask and first. */
static uint32_t count_own(const struct launch_gpus *gpus, uint32_t ntasks)
{
	return ntasks < gpus->count ? gpus->count / ntasks : 1;
}

/*
 * mask: the tasks' own. With fewer tasks than GPUs each task takes as many rows as it
 * gets GPUs, so that the optimum is that of the whole node; *GPU_OF has so many of each.
 */
static int assign_tasks(const struct launch_gpus *gpus, const struct launch_cpuset *masks,
			uint32_t ntasks, uint32_t **gpu_of)
{
	__attribute__((cleanup(free_costs))) int64_t *costs = NULL;
	__attribute__((cleanup(free_costs))) int64_t *rows = NULL;
	uint32_t each = count_own(gpus, ntasks);
	size_t length = gpus->count * sizeof(*costs);

	costs = count_costs(gpus, masks, ntasks);
	rows = malloc((size_t)ntasks * each * length);
	*gpu_of = malloc((size_t)ntasks * each * sizeof(**gpu_of));
	if (!costs || !rows || !*gpu_of)
		return -ENOMEM;
	for (size_t row = 0; row < (size_t)ntasks * each; row++)
		memcpy(rows + row * gpus->count, costs + row / each * gpus->count,
		       length);
	return launch_assign(rows, ntasks * each, gpus->count, *gpu_of);
}

static void choose_order(const struct launch_gpus *gpus, const uint32_t *gpu_of,
			 uint32_t ntasks, struct launch_binding *choice)
{
	choice->count = smaller(ntasks, gpus->count);
	memcpy(choice->gpu, gpu_of, choice->count * sizeof(*gpu_of));
	append_others(gpus, choice);
}

static void choose_own(const struct launch_gpus *gpus, const uint32_t *gpu_of,
		       uint32_t ntasks, uint32_t local_rank,
		       struct launch_binding *choice)
{
	uint32_t each = count_own(gpus, ntasks);
	uint64_t own = 0;

	for (uint32_t i = 0; i < each; i++)
		own |= UINT64_C(1) << gpu_of[(size_t)local_rank * each + i];
	for (; own; own &= own - 1)
		choice->gpu[choice->count++] = (uint32_t)__builtin_ctzll(own);
	choice->owned = choice->count;
}

/* The names of CHOICE, separated by commas. */
static void print_names(const struct launch_gpus *gpus,
			const struct launch_binding *choice, char *list)
{
	char *end = list;

	*end = '\0';
	for (uint32_t i = 0; i < choice->count; i++) {
		if (i)
			*end++ = ',';
		end = stpcpy(end, gpus->gpu[choice->gpu[i]].name);
	}
}

/* Part of the text of a map. */
struct span {
	const char *text;
	size_t length;
};

static bool is_number(const char *text, size_t length)
{
	return length && strspn(text, "0123456789") >= length;
}

/* Index of the GPU that ID means; gpus->count when there is none. */
static uint32_t find_gpu(const struct launch_gpus *gpus, struct span id)
{
	bool numbered = false;
	unsigned long position;

	for (uint32_t gpu = 0; gpu < gpus->count; gpu++) {
		const char *name = gpus->gpu[gpu].name;

		if (strlen(name) == id.length && !memcmp(name, id.text, id.length))
			return gpu;
		numbered |= is_number(name, strlen(name));
	}
	if (numbered || !is_number(id.text, id.length))
		return gpus->count;
	position = strtoul(id.text, NULL, 10);
	return position < gpus->count ? (uint32_t)position : gpus->count;
}

static int refuse_gpu(const struct launch_gpus *gpus,
		      const struct launch_settings *settings, struct span id,
		      struct launch_error *err)
{
	struct launch_binding all = {0};
	char valid[LIST_MAX];

	append_others(gpus, &all);
	print_names(gpus, &all, valid);
	return launch_error_set(
		err, -EINVAL,
		"gpus=map:%.80s: the step has no GPU \"%.*s\" on this node; it "
		"has %s",
		settings->gpus_map, (int)id.length, id.text, valid);
}

static int refuse_entry(const struct launch_settings *settings, struct span entry,
			struct launch_error *err)
{
	return launch_error_set(
		err, -EINVAL,
		"gpus=map:%.80s: cannot read \"%.*s\"; write a GPU for each "
		"task (0,1), several for one (0+1,2+3), a range (0-3) or a "
		"repetition (0*2), and no GPU twice for one task",
		settings->gpus_map, (int)entry.length, entry.text);
}

/* The GPUs of one task, "0" or "0+1". */
static int read_group(const struct launch_gpus *gpus,
		      const struct launch_settings *settings, struct span entry,
		      struct launch_binding *choice, struct launch_error *err)
{
	const char *end = entry.text + entry.length;
	const char *at = entry.text;
	uint64_t chosen = 0;

	choice->count = 0;
	for (;;) {
		struct span id = {at, strcspn(at, "+*,")};
		uint32_t gpu;

		if (!id.length)
			return refuse_entry(settings, entry, err);
		gpu = find_gpu(gpus, id);
		if (gpu == gpus->count)
			return refuse_gpu(gpus, settings, id, err);
		if (chosen >> gpu & 1)
			return refuse_entry(settings, entry, err);
		chosen |= UINT64_C(1) << gpu;
		choice->gpu[choice->count++] = gpu;
		at += id.length;
		if (at == end)
			return 0;
		at++;
	}
}

/*
 * One entry without its repetition. *SIZE becomes the number of tasks that it is for,
 * CHOICE the GPUs of the task AT of these. A range is no longer than the step's GPUs: the
 * first number that none of them has ends it.
 */
static int read_entry(const struct launch_gpus *gpus,
		      const struct launch_settings *settings, struct span entry,
		      uint64_t at, uint64_t *size, struct launch_binding *choice,
		      struct launch_error *err)
{
	size_t before = strcspn(entry.text, "-+*,");
	unsigned long low, high;

	/* Only a range begins with a number and a dash, a UUID with "GPU-" or "MIG-". */
	if (before >= entry.length || entry.text[before] != '-' ||
	    !is_number(entry.text, before)) {
		*size = 1;
		return read_group(gpus, settings, entry, choice, err);
	}
	if (!is_number(entry.text + before + 1, entry.length - before - 1))
		return refuse_entry(settings, entry, err);
	low = strtoul(entry.text, NULL, 10);
	high = strtoul(entry.text + before + 1, NULL, 10);
	if (low > INT_MAX || high > INT_MAX)
		return refuse_entry(settings, entry, err);
	*size = (low < high ? high - low : low - high) + 1;
	for (uint64_t i = 0; i < *size; i++) {
		char text[24];
		int length = snprintf(text, sizeof(text), "%lu",
				      low < high ? low + i : low - i);
		struct span id = {text, (size_t)length};
		uint32_t gpu = find_gpu(gpus, id);

		if (gpu == gpus->count)
			return refuse_gpu(gpus, settings, id, err);
		if (i == at) {
			choice->gpu[0] = gpu;
			choice->count = 1;
		}
	}
	return 0;
}

/*
 * Reads the map to its end. *TOTAL becomes the number of tasks that it is for, CHOICE the
 * GPUs of the task WANTED, if it is below that.
 */
static int read_map(const struct launch_gpus *gpus,
		    const struct launch_settings *settings, uint64_t wanted,
		    uint64_t *total, struct launch_binding *choice,
		    struct launch_error *err)
{
	const char *at = settings->gpus_map;

	for (*total = 0;; at++) {
		struct span whole = {at, strcspn(at, ",")};
		struct span entry = {at, strcspn(at, "*,")};
		uint64_t times = 1, size;
		struct launch_binding chosen = {0};
		int error;

		if (entry.length < whole.length) {
			const char *repetition = at + entry.length + 1;
			size_t digits = whole.length - entry.length - 1;

			if (!is_number(repetition, digits) || digits > 4)
				return refuse_entry(settings, whole, err);
			times = strtoul(repetition, NULL, 10);
		}
		if (!entry.length || !times)
			return refuse_entry(settings, whole, err);
		error = read_entry(gpus, settings, entry, 0, &size, &chosen, err);
		if (error)
			return error;
		if (wanted >= *total && wanted - *total < size * times) {
			read_entry(gpus, settings, entry, (wanted - *total) % size, &size,
				   &chosen, err);
			*choice = chosen;
		}
		*total += size * times;
		at += whole.length;
		if (!*at)
			return 0;
	}
}

static int choose_map(const struct launch_gpus *gpus,
		      const struct launch_settings *settings, uint32_t local_rank,
		      struct launch_binding *choice, struct launch_error *err)
{
	uint64_t total;
	int error = read_map(gpus, settings, UINT64_MAX, &total, choice, err);

	if (error)
		return error;
	error = read_map(gpus, settings, local_rank % total, &total, choice, err);
	choice->owned = choice->count;
	return error;
}

/*
 * What is the same for all tasks of a node, computed once: see assign_positions() and
 * assign_tasks(). *GPU_OF is NULL in the modes that assign nothing.
 */
static int assign(const struct launch_gpus *gpus, const struct launch_cpuset *masks,
		  uint32_t ntasks, enum launch_gpus_mode mode, bool worker,
		  uint32_t **gpu_of)
{
	switch (mode) {
	case LAUNCH_GPUS_ORDER:
		return worker ? assign_positions(gpus, masks, ntasks, gpu_of) : 0;
	case LAUNCH_GPUS_MASK:
	case LAUNCH_GPUS_FIRST:
		return assign_tasks(gpus, masks, ntasks, gpu_of);
	case LAUNCH_GPUS_MAP:
	case LAUNCH_GPUS_NONE:
		break;
	}
	return 0;
}

/* The GPUs of one task into CHOICE, which is zeroed. */
static int choose(const struct launch_gpus *gpus, const uint32_t *gpu_of, uint32_t ntasks,
		  uint32_t local_rank, const struct launch_settings *settings,
		  bool worker, struct launch_binding *choice, struct launch_error *err)
{
	switch (settings->gpus) {
	case LAUNCH_GPUS_ORDER:
		if (worker)
			choose_order(gpus, gpu_of, ntasks, choice);
		else
			append_others(gpus, choice);
		break;
	case LAUNCH_GPUS_MASK:
		choose_own(gpus, gpu_of, ntasks, local_rank, choice);
		break;
	case LAUNCH_GPUS_FIRST:
		choose_own(gpus, gpu_of, ntasks, local_rank, choice);
		append_others(gpus, choice);
		break;
	case LAUNCH_GPUS_MAP:
		return choose_map(gpus, settings, local_rank, choice, err);
	case LAUNCH_GPUS_NONE:
		append_others(gpus, choice);
		break;
	}
	return 0;
}

int launch_gpus_share(const struct launch_gpus *gpus, const struct launch_cpuset *masks,
		      uint32_t ntasks, const struct launch_facts *facts,
		      const struct launch_settings *settings,
		      struct launch_binding *bindings, struct launch_error *err)
{
	__attribute__((cleanup(free_indices))) uint32_t *gpu_of = NULL;
	bool worker = launch_shape(facts, settings) == LAUNCH_WORKER;
	struct launch_settings plain = *settings;
	int error;

	memset(bindings, 0, ntasks * sizeof(*bindings));
	if (!ntasks || !gpus->count ||
	    launch_facts_visible(facts, gpus->count) < gpus->count)
		return 0;
	plain.gpus = launch_has_ranks(facts, settings) ? find_mode(gpus, settings)
						       : LAUNCH_GPUS_NONE;
	error = assign(gpus, masks, ntasks, plain.gpus, worker, &gpu_of);
	for (uint32_t task = 0; task < ntasks && !error; task++) {
		struct launch_binding *binding = &bindings[task];

		error = choose(gpus, gpu_of, ntasks, task, &plain, worker, binding, err);
		if (binding->owned)
			continue;
		/* In the order that all tasks have, LOCAL_RANK tells the task's own. */
		binding->own = worker ? task % gpus->count : 0;
		binding->owned = worker ? 1 : gpus->count;
	}
	return error;
}

/*
 * The variables that the task's programs read, a bit each: the vendor's, or, where we do
 * not know the vendor, those that Slurm had set.
 */
static uint32_t find_variables(const struct launch_gpus *gpus,
			       const struct launch_facts *facts)
{
	if (gpus->vendor != LAUNCH_VENDOR_UNKNOWN)
		return UINT32_C(1) << launch_vendor_variable(gpus->vendor);
	return facts->gpu_variables ? facts->gpu_variables
				    : UINT32_C(1) << LAUNCH_GPU_CUDA;
}

const char *launch_gpus_variable(const struct launch_gpus *gpus,
				 const struct launch_facts *facts)
{
	return launch_gpu_variables[__builtin_ctz(find_variables(gpus, facts))];
}

static int set_devices(const struct launch_gpus *gpus,
		       const struct launch_binding *choice, uint32_t variables,
		       struct launch_environment *env)
{
	char list[LIST_MAX];
	int error = 0;

	print_names(gpus, choice, list);
	for (uint32_t i = 0; i < LAUNCH_GPU_VARIABLES && !error; i++)
		if (variables >> i & 1)
			error = launch_environment_set(env, launch_gpu_variables[i], "%s",
						       list);
	return error;
}

/* Removes the variables that would mask a second time. */
static int unset_layers(const struct launch_gpus *gpus, struct launch_environment *env)
{
	int error = 0;

	for (size_t i = 0; vendors[gpus->vendor].unset[i] && !error; i++)
		error = launch_environment_set(env, vendors[gpus->vendor].unset[i], NULL);
	return error;
}

/* Those of VARIABLES by which programs choose their GPU: its first one. */
static int zero_indices(const struct launch_variable *variables,
			struct launch_environment *env)
{
	int error = 0;

	for (; variables && variables->name && !error; variables++) {
		if (variables->device)
			error = launch_environment_set(env, variables->name, "0");
	}
	return error;
}

/* local=0, as far as the launcher has told the task of ranks at all. */
static int set_local_zero(const struct launch_settings *settings,
			  struct launch_environment *env)
{
	const struct launch_launcher *launcher = settings->launcher;
	int error;

	if (!settings->local_zero || (launcher && launcher->bare))
		return 0;
	error = zero_indices(launch_shape_variables(LAUNCH_WORKER), env);
	return error || !launcher ? error : zero_indices(launcher->variables, env);
}

/*
 * Where the task's GPUs are not at the index LOCAL_RANK: for JAX, which takes the device
 * of that index unless told otherwise (jax.distributed.initialize), the indices of those
 * that are the task's.
 */
static int set_indices(uint32_t first, uint32_t count, struct launch_environment *env)
{
	char list[LAUNCH_GPUS_MAX * 4];
	size_t used = 0;

	for (uint32_t i = 0; i < count; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u",
					 i ? "," : "", first + i);
	return launch_environment_set(env, "JAX_LOCAL_DEVICE_IDS", "%s", list);
}

bool launch_gpus_are_own(uint32_t visible, uint32_t ntasks, uint32_t total)
{
	return visible && (uint64_t)visible * ntasks <= total;
}

/* The first COUNT devices that the task sees are its own. */
static int set_own(uint32_t count, const struct launch_settings *settings,
		   struct launch_environment *env)
{
	int error = set_indices(0, count, env);

	return error ? error : set_local_zero(settings, env);
}

int launch_gpus_bind(const struct launch_gpus *gpus, const struct launch_cpuset *masks,
		     uint32_t ntasks, const struct launch_facts *facts,
		     const struct launch_settings *settings,
		     struct launch_environment *env, struct launch_error *err)
{
	__attribute__((cleanup(free_indices))) uint32_t *gpu_of = NULL;
	bool worker = launch_shape(facts, settings) == LAUNCH_WORKER;
	uint32_t visible = launch_facts_visible(facts, gpus->count);
	uint32_t variables = find_variables(gpus, facts);
	struct launch_settings plain = *settings;
	struct launch_binding choice = {0};
	int error = 0;

	if (settings->gpus == LAUNCH_GPUS_NONE || !gpus->count)
		return 0;
	plain.gpus = find_mode(gpus, settings);
	if (facts->local_rank >= ntasks)
		return launch_error_set(
			err, -EINVAL,
			"local rank %u is not one of this node's %u tasks; "
			"use gpus=none and report this",
			facts->local_rank, ntasks);
	/* Slurm's numbers are NVML's, by bus; CUDA's default is the fastest GPU first. */
	if (variables >> LAUNCH_GPU_CUDA & 1 && !facts->user_device_order)
		error = launch_environment_set(env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
	/*
	 * Slurm's --gpu-bind or --gpus-per-task, perhaps with a device cgroup behind it.
	 * What it chose may stand in another vendor's variable only.
	 */
	if (visible < gpus->count) {
		if (!error && facts->gpu_variables & variables)
			error = unset_layers(gpus, env);
		if (error || !worker || !visible)
			return error;
		if (settings->gpus == LAUNCH_GPUS_MASK ||
		    launch_gpus_are_own(visible, ntasks, gpus->count))
			return set_own(visible, settings, env);
		return 0;
	}
	if (!error)
		error = unset_layers(gpus, env);
	if (error)
		return error;

	error = assign(gpus, masks, ntasks, plain.gpus, worker, &gpu_of);
	if (!error)
		error = choose(gpus, gpu_of, ntasks, facts->local_rank, &plain, worker,
			       &choice, err);
	if (error)
		return error;
	error = set_devices(gpus, &choice, variables, env);
	if (error || !worker)
		return error;
	if (choice.owned)
		return set_own(choice.owned, settings, env);
	/* order, with several tasks on a GPU: LOCAL_RANK is beyond the last index. */
	if (ntasks > gpus->count)
		return set_indices(facts->local_rank % gpus->count, 1, env);
	return 0;
}
