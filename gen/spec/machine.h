/* SPDX-License-Identifier: MIT */
/*
 * What the nodes of a cluster look like: CPUs, sockets, NUMA nodes and GPUs, from a
 * description in YAML (JSON is one) or from a recorded /proc and /sys. With it `srank
 * explain` knows before the job runs what the plugin will find on the nodes.
 */
#pragma once

#include "gen/diag.h"
#include "gen/spec/arena.h"
#include "spank/launch/gpus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A socket or a NUMA node. */
struct spec_machine_group {
	uint32_t id; /* Linux's number; NUMA nodes' have holes */
	struct launch_cpuset cpus;
};

/* A CPU that jobs may have. */
struct spec_machine_cpu {
	uint16_t cpu;     /* Linux's number */
	uint16_t core;    /* CPUs with equal ones are threads of one core */
	uint16_t package; /* index into packages */
};

struct spec_machine_gpu {
	uint32_t index;             /* as Slurm and the vendor's variable number it */
	const char *model;          /* NULL: not said */
	struct launch_cpuset local; /* CPUs near it; all of them: not known */
};

struct spec_machine {
	const char *file; /* as given */
	const char *name; /* of the kind of machine */
	const char *root; /* the folder of a recorded machine; NULL: a description */
	struct launch_cpuset cpus;
	struct spec_machine_group *packages; /* by id, never none */
	size_t packages_count;
	struct spec_machine_group *numa; /* by id, those that have CPUs, never none */
	size_t numa_count;
	/*
	 * In the order in which Slurm counts: by socket, core and thread. Reserved ones
	 * are left out.
	 */
	struct spec_machine_cpu *usable;
	size_t usable_count;
	uint32_t threads; /* of a core, at most */
	enum launch_vendor vendor;
	struct spec_machine_gpu *gpus; /* by index */
	uint32_t gpus_count;
	uint32_t devices;         /* at most in a step: tiles may count as such */
	struct spec_arena *arena; /* owns all of it */
};

/*
 * Reads PATH, a description or the folder of a recorded machine ("/": this one), into
 * MACHINE, which must be zeroed; PATH must outlive it. Faults of a description go to DIAG
 * with their places. 0; -EINVAL when DIAG got an error; -errno when PATH cannot be read
 * (reported too); -ENOMEM. MACHINE is always in a state that spec_machine_clear() takes.
 */
int spec_machine_read(struct spec_machine *machine, const char *path, struct diag *diag);

/* The same from TEXT of LENGTH bytes; FILE names it in messages. */
int spec_machine_read_text(struct spec_machine *machine, const char *file,
			   const char *text, size_t length, struct diag *diag);

/* Index of the socket of gpus[GPU]; packages_count when it is near all CPUs. */
size_t spec_machine_package(const struct spec_machine *machine, uint32_t gpu);

/*
 * Fills GPUS with COUNT of the machine's, as if Slurm had given them to a step on the
 * idle node: those of one socket after the other, from the one with most CPUs on. They
 * are the first ones in machine->gpus then. -ENOSPC with ERR when there are fewer; else
 * as launch_gpus_read().
 */
int spec_machine_gpus(struct spec_machine *machine, uint32_t count,
		      struct launch_gpus *gpus, struct launch_error *err);

void spec_machine_clear(struct spec_machine *machine);

/* How srun deals the CPUs of a node to the tasks there: the second part of -m. */
enum spec_deal {
	SPEC_DEAL_CYCLIC, /* task by task, each on the next socket; Slurm's default */
	SPEC_DEAL_BLOCK,  /* one socket after the other */
};

/* To what a task is bound, of the CPUs that it was dealt: srun's --cpu-bind. */
enum spec_bind {
	SPEC_BIND_AUTO,    /* as threads, unless one of a core is left over: then none */
	SPEC_BIND_THREADS, /* the very CPUs that it was dealt */
	SPEC_BIND_CORES,   /* whole cores, of its own as far as there are enough */
	SPEC_BIND_SOCKETS, /* and those of the step on the same sockets */
	SPEC_BIND_LDOMS,   /* and the rest of their NUMA nodes */
	SPEC_BIND_NONE,    /* all of the step */
	SPEC_BIND_MAP,     /* one CPU of a list each */
	SPEC_BIND_MASK,    /* one mask of a list each */
	SPEC_BIND_RANK,    /* the CPU of its local rank */
};

struct spec_cpus {
	uint32_t tasks;         /* on the node, at least 1 */
	uint64_t cpus_per_task; /* at least 1 */
	uint32_t gpus;          /* of the job there */
	enum spec_deal deal;
	enum spec_bind bind;
	const char *list; /* of SPEC_BIND_MAP and _MASK, as srun takes it */
	bool one_thread;  /* of each core only the first thread counts */
	bool exclusive;   /* the job has all CPUs of the node, whatever its tasks need */
};

/*
 * Fills MASKS (one a task) with the CPUs that the tasks of a job's only step get on an
 * idle node, as Slurm picks and binds them by default. -ENOSPC when the tasks want more
 * CPUs than jobs may have on the machine, -EINVAL when the list cannot be read, -ENOMEM.
 */
int spec_machine_deal(const struct spec_machine *machine, const struct spec_cpus *cpus,
		      struct launch_cpuset *masks);
