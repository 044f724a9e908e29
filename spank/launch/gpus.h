/* SPDX-License-Identifier: MIT */
/*
 * Each task on its nearest GPU: which GPUs this node has and which CPUs are near them,
 * the assignment of tasks to GPUs by the CPU masks that the tasks really got, and the
 * device list that each binding mode makes of it.
 */
#pragma once

#include "spank/launch/cpuset.h"
#include "spank/launch/environment.h"
#include "spank/launch/error.h"
#include "spank/launch/facts.h"
#include "spank/launch/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAUNCH_GPUS_MAX     64
#define LAUNCH_GPU_NAME_MAX 96 /* "MIG-GPU-<36 characters>/ii/ii" */

enum launch_vendor {
	LAUNCH_VENDOR_UNKNOWN,
	LAUNCH_VENDOR_NVIDIA,
	LAUNCH_VENDOR_AMD,
	LAUNCH_VENDOR_INTEL,
};

/* Indices into launch_gpu_variables. */
enum launch_gpu_variable {
	LAUNCH_GPU_CUDA,
	LAUNCH_GPU_ROCR,
	LAUNCH_GPU_ZE,
	LAUNCH_GPU_ORDINAL,
	LAUNCH_GPU_VARIABLES,
};

/*
 * The variables in which Slurm may give a task its devices: which of them, gres.conf's
 * Flags or AutoDetect say, and all four without either (gres.conf(5)).
 */
extern const char *const launch_gpu_variables[LAUNCH_GPU_VARIABLES];

/* The one that VENDOR's runtime reads; LAUNCH_GPU_VARIABLES when the vendor is unknown.
 */
enum launch_gpu_variable launch_vendor_variable(enum launch_vendor vendor);

struct launch_gpu {
	/* Token in the vendor's variable: index, UUID, MIG instance. */
	char name[LAUNCH_GPU_NAME_MAX];
	bool located;               /* false: locality unknown, or all CPUs are as near */
	struct launch_cpuset local; /* CPUs near the GPU: of its chiplet, or NODE */
	struct launch_cpuset node;  /* CPUs of its NUMA node */
	struct launch_cpuset socket; /* CPUs of its socket(s) */
};

/* The GPUs that a step has on this node, in the order of Slurm's device list. */
struct launch_gpus {
	enum launch_vendor vendor;
	uint32_t count;
	struct launch_gpu gpu[LAUNCH_GPUS_MAX];
};

/*
 * Fills GPUS from the device list of the step (FACTS' gpus: "0,1,2", opaque tokens), the
 * variables that Slurm has set to it (FACTS' gpu_variables; 0: not known), which tell the
 * vendor where a node has GPUs of several, and the trees below ROOT ("" or "/": the
 * machine's own /proc and /sys; tests give a recorded machine, which may have the content
 * of /sys at its top). STEP_GPUS is SLURM_STEP_GPUS, paired by position when the list is
 * relative under ConstrainDevices and nothing shows which GPUs are left; NULL: none. LIST
 * NULL or empty: no GPU. Only reads files whose names this code makes; a tree that is
 * missing or odd leaves `located` false and is no error. GPUS then has no device: -ENOSPC
 * with ERR when there are more than LAUNCH_GPUS_MAX devices, -EINVAL with ERR when a
 * token does not fit into a name.
 */
int launch_gpus_read(struct launch_gpus *gpus, const char *list, uint32_t variables,
		     const char *step_gpus, const char *root, struct launch_error *err);

/* How near the CPUs of a task are to a GPU, the nearest first. */
enum launch_distance {
	LAUNCH_DISTANCE_LOCAL,   /* one of them is in the GPU's own set */
	LAUNCH_DISTANCE_NODE,    /* in its NUMA node */
	LAUNCH_DISTANCE_SOCKET,  /* in its socket */
	LAUNCH_DISTANCE_OTHER,   /* all in other sockets */
	LAUNCH_DISTANCE_UNKNOWN, /* the GPU is not located, or MASK is empty */
};

enum launch_distance launch_gpu_distance(const struct launch_gpu *gpu,
					 const struct launch_cpuset *mask);

/* The farther one; where one of the two is unknown, the other. */
enum launch_distance launch_distance_farther(enum launch_distance a,
					     enum launch_distance b);

/* "local", "NUMA node", "same socket", "other socket", "?". */
const char *launch_distance_name(enum launch_distance distance);

/* What one task has of its node's GPUs; the numbers are indices into gpus->gpu. */
struct launch_binding {
	uint32_t count; /* it sees so many; 0: not known, Slurm has bound the tasks */
	uint32_t own;   /* position, in gpu, of the first that is its own, */
	uint32_t owned; /* and how many from there on are: its program uses these */
	uint32_t gpu[LAUNCH_GPUS_MAX]; /* in the order in which it sees them */
};

/*
 * Fills BINDINGS with what each of the NTASKS tasks of a node has, by local rank: the
 * rule of launch_gpus_bind() for all of them. FACTS may be those of any task of the node.
 * In the node shape all GPUs are the launcher's own. In mode none, and where a task is to
 * have no rank, the task's own is the one that programs take by LOCAL_RANK from Slurm's
 * order. Where Slurm has given the task of FACTS fewer GPUs than the step has, all counts
 * are 0: what it gave to the others only they can see. Errors as launch_gpus_bind().
 */
int launch_gpus_share(const struct launch_gpus *gpus, const struct launch_cpuset *masks,
		      uint32_t ntasks, const struct launch_facts *facts,
		      const struct launch_settings *settings,
		      struct launch_binding *bindings, struct launch_error *err);

/*
 * The variable of launch_gpu_variables that names the devices to the programs of the task
 * FACTS; the first one where there are several.
 */
const char *launch_gpus_variable(const struct launch_gpus *gpus,
				 const struct launch_facts *facts);

/*
 * Whether programs see the devices in the order of the list. Intel's runtime takes it for
 * a set and counts by address.
 */
bool launch_gpus_are_ordered(const struct launch_gpus *gpus);

/*
 * Whether the VISIBLE GPUs that Slurm has left each of NTASKS tasks, of TOTAL on the
 * node, are so few that no two tasks need share one, as after --gpus-per-task.
 */
bool launch_gpus_are_own(uint32_t visible, uint32_t ntasks, uint32_t total);

/*
 * Adds the binding of the task FACTS (local_rank of NTASKS) to ENV by the mode in
 * SETTINGS: the vendor's device variable, CUDA_DEVICE_ORDER, LOCAL_RANK and
 * JAX_LOCAL_DEVICE_IDS where the mode changes what they must be. GPUS without devices, or
 * mode none, add nothing.
 *
 * A task's GPUs are the nearest by the CPU masks of all tasks of the node (MASKS NULL, or
 * an empty one: not known, and as near to any). The sum of distances is the smallest that
 * there is; among those, the number of CPUs off the GPUs' local sets, NUMA nodes and
 * sockets; among those, the list is the lexicographically smallest, so that every task
 * computes the same. They are shared evenly: each GPU is taken by floor(NTASKS / count)
 * tasks or one more. A GPU that is not located is as near to any task.
 *
 * order: all GPUs of the step, one permutation for all tasks of the node. Position
 * LOCAL_RANK holds the task's GPU; behind the last task's follow the others in Slurm's
 * order. With more tasks than GPUs, tasks whose local ranks are equal modulo the number
 * of GPUs share one, since frameworks then take LOCAL_RANK % device_count. In the node
 * shape the launcher's workers take the devices by their own index: Slurm's order stays.
 * So it does where the order does not count (launch_gpus_are_ordered()).
 *
 * mask: the task's own GPUs only, GPUs / tasks of them, rounded down, at least one.
 *
 * first: all GPUs, the task's own (as in mask) before the others; where the order does
 * not count, as mask.
 *
 * map: the entry of gpus_map for LOCAL_RANK, counted from the start again when the list
 * is short. Entries are separated by commas: ID; ID+ID, several GPUs for one task; A-B or
 * B-A, a task for each; and any of these with *N, N times over. IDs are those of Slurm's
 * list, or positions in it, from 0, when its devices have no numbers.
 *
 * local=0 makes LOCAL_RANK, and what else the launcher's programs take for the index of
 * their GPU, 0 in mask, first and map; in order it would put all tasks on one GPU, and is
 * ignored. Where Slurm has already given the task fewer GPUs than the step has on the
 * node, or none, its choice is left alone; if these can be its own, they are taken for
 * them in all modes but none, and local=0 holds.
 *
 * -EINVAL with ERR when the map is malformed or names a GPU that the step does not have,
 * and when local_rank is not below NTASKS; -ENOMEM.
 */
int launch_gpus_bind(const struct launch_gpus *gpus, const struct launch_cpuset *masks,
		     uint32_t ntasks, const struct launch_facts *facts,
		     const struct launch_settings *settings,
		     struct launch_environment *env, struct launch_error *err);
