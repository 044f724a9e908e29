/* SPDX-License-Identifier: MIT */
/*
 * Recorded machines for the tests: a text file each in machines/, and from it a tree of
 * the files that Linux and the vendor's driver would show there.
 *
 *  vendor nvidia|amd|intel
 *  board NAME			as the firmware has it
 *  package CPUS			one a socket
 *  gpu INDEX BUS CPUS [NEAR]	INDEX as the vendor's variable has it, CPUS of the
 *				GPU's NUMA node, NEAR of its chiplet
 *  other BUS CPUS		a GPU of the driver that no step gets
 *  case LABEL			tasks of a step, one a line, in the order of local rank:
 *  CPUS GPU[,GPU...]		their masks, and the GPUs that they are to get
 */
#pragma once

#include "spank/launch/gpus.h"

#include <stdbool.h>
#include <stdint.h>

#define MACHINE_CASES 12

struct machine_gpu {
	bool other;
	uint32_t index;
	char bus[24];
	char cpus[512];
	char chiplet[64]; /* "" when it is not known */
	struct launch_cpuset node;
	struct launch_cpuset local; /* of the chiplet, or NODE */
};

struct machine_case {
	char label[128];
	uint32_t ntasks;
	struct launch_cpuset masks[16];
	char gpus[16][32]; /* "2,3" */
};

struct machine {
	char vendor[8];
	char board[32];
	uint32_t npackages;
	char package[4][512];
	struct launch_cpuset packages[4];
	uint32_t ngpus;
	struct machine_gpu gpu[17];
	uint32_t ncases;
	struct machine_case cases[MACHINE_CASES];
};

/* Reads the file; fails the test when a line is odd. */
void machine_read(struct machine *machine, const char *path);

/* CPUs of the packages that LOCAL touches. */
struct launch_cpuset machine_socket(const struct machine *machine,
				    const struct launch_cpuset *local);

/* "0,1,2" of the GPUs that a step of the whole node gets. */
void machine_list(const struct machine *machine, char *list, size_t size);

/* Makes a tree for launch_gpus_read() in a new directory, whose name goes to ROOT. */
void machine_plant(const struct machine *machine, char *root, size_t size);

/* Makes one file, and the directories above it, below ROOT. */
void machine_file(const char *root, const char *name, const char *text);

/*
 * Makes a node of the topology of AMD's driver: a CPU when GPU_ID is 0, or a GPU at BUS.
 * PARTITION is or'ed to its location as the kernel does where a GPU has several nodes.
 */
void machine_kfd(const char *root, uint32_t node, uint32_t gpu_id, const char *bus,
		 uint32_t partition, unsigned long long unique_id, uint32_t minor);

/* Makes ENTRY ("card0", "renderD128") of /sys/class/drm, of the device ID at BUS. */
void machine_drm(const char *root, const char *entry, const char *bus, const char *id);

/* Makes a new, empty directory for a tree. */
void machine_root(char *root, size_t size);

/* Removes the tree. */
void machine_uproot(const char *root);
