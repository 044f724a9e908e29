/* SPDX-License-Identifier: MIT */
/*
 * Each task on its nearest GPU: which GPUs this node has and which CPUs are near them, the
 * assignment of tasks to GPUs by the CPU masks that the tasks really got, and the device
 * list that each binding mode makes of it.
 */
#pragma once

#include "spank/launch/environment.h"
#include "spank/launch/error.h"
#include "spank/launch/facts.h"
#include "spank/launch/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAUNCH_CPUS_MAX	    4096
#define LAUNCH_GPUS_MAX	    64
#define LAUNCH_GPU_NAME_MAX 96 /* "MIG-GPU-<36 characters>/ii/ii" */

struct launch_cpuset {
	uint64_t bits[LAUNCH_CPUS_MAX / 64];
};

enum launch_vendor {
	LAUNCH_VENDOR_UNKNOWN,
	LAUNCH_VENDOR_NVIDIA,
	LAUNCH_VENDOR_AMD,
	LAUNCH_VENDOR_INTEL,
};

/* How far a task is from a GPU; the assignment minimises the sum. */
enum launch_distance {
	LAUNCH_DISTANCE_LOCAL,	 /* shares a CPU with the GPU's own CPU set */
	LAUNCH_DISTANCE_NODE,	 /* same NUMA node */
	LAUNCH_DISTANCE_SOCKET,	 /* same socket */
	LAUNCH_DISTANCE_OTHER,
};

struct launch_gpu {
	char name[LAUNCH_GPU_NAME_MAX]; /* token in the vendor's variable: index, UUID, MIG */
	bool located;			/* false: locality unknown, index order is kept */
	struct launch_cpuset local;	/* CPUs near the GPU (PCI local_cpulist) */
	struct launch_cpuset node;	/* CPUs of its NUMA node */
	struct launch_cpuset socket;	/* CPUs of its socket(s) */
};

/* The GPUs that a step has on this node, in the order of Slurm's device list. */
struct launch_gpus {
	enum launch_vendor vendor;
	uint32_t count;
	struct launch_gpu gpu[LAUNCH_GPUS_MAX];
};

/*
 * Fills GPUS from the device list of the step (FACTS' gpus: "0,1,2", opaque tokens) and the
 * trees below ROOT ("" or "/": the machine's own /proc and /sys; tests give a recorded
 * machine). STEP_GPUS is SLURM_STEP_GPUS, paired by position when the list is relative
 * under ConstrainDevices; NULL: none. Only reads files whose names this code makes; a tree
 * that is missing or odd leaves `located` false and is no error. -ENOSPC with ERR when there
 * are more than LAUNCH_GPUS_MAX devices.
 */
int launch_gpus_read(struct launch_gpus *gpus, const char *list, const char *step_gpus,
		     const char *root, struct launch_error *err);

/*
 * Assigns a GPU to each of NTASKS tasks of this node by their CPU masks: smallest sum of
 * distances; no GPU taken by more than ceil(ntasks / count) tasks; ties by index, then by
 * local rank, so that every task computes the same. GPU_OF has NTASKS entries, indices into
 * gpus->gpu. -ENOMEM; -EINVAL when there is no GPU.
 */
int launch_gpus_assign(const struct launch_gpus *gpus, const struct launch_cpuset *masks,
		       uint32_t ntasks, uint32_t *gpu_of);

/* Distance from a task with MASK to GPU; a GPU that is not located is LOCAL to all. */
enum launch_distance launch_gpus_distance(const struct launch_gpu *gpu,
					  const struct launch_cpuset *mask);

/*
 * Adds the binding of the task FACTS (local_rank of NTASKS) to ENV by the mode in SETTINGS:
 * the vendor's device variable, CUDA_DEVICE_ORDER, LOCAL_RANK and JAX_LOCAL_DEVICE_IDS where
 * the mode changes what they must be. GPUS without devices, or mode none, add nothing.
 */
int launch_gpus_bind(const struct launch_gpus *gpus, const struct launch_cpuset *masks,
		     uint32_t ntasks, const struct launch_facts *facts,
		     const struct launch_settings *settings, struct launch_environment *env,
		     struct launch_error *err);

/* Number of CPUs in SET. */
uint32_t launch_cpuset_count(const struct launch_cpuset *set);

/* "0-3,8" of SET; cut to SIZE. */
void launch_cpuset_text(const struct launch_cpuset *set, char *text, size_t size);
