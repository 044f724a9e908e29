/* SPDX-License-Identifier: MIT */
/*
 * What `scontrol` says of a cluster, as text -> structs. Only text: libslurm speaks to
 * daemons of its own release, and one command is to serve every release.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CLI_TYPES_MAX 8

/* Nodes of one partition that are alike. */
struct cli_cluster_kind {
	uint64_t nodes;
	uint64_t cpus; /* that jobs may have: without those reserved by CoreSpecCount */
	uint64_t threads; /* that Slurm counts as CPUs, a core; 1: it counts cores */
	uint64_t mem;     /* MiB that jobs may have: without MemSpecLimit */
	uint64_t gpus;
	char *types[CLI_TYPES_MAX]; /* of the GPUs, in the order of Gres=; NULL: end
				     */
};

struct cli_cluster_partition {
	char *name;
	bool is_default;
	uint64_t nodes;     /* most nodes of a job; 0: no limit is known */
	uint64_t cpus;      /* MaxCPUsPerNode; 0: none */
	uint64_t mem;       /* MaxMemPerNode, MiB; 0: none */
	char *time;         /* MaxTime as sbatch takes it; NULL: none */
	char *default_time; /* DefaultTime; NULL: that is MaxTime */
	/* Of a job that asks for no memory, MiB; all 0: the whole node's. */
	uint64_t mem_per_node, mem_per_cpu, mem_per_gpu;
	struct cli_cluster_kind *kinds; /* those with most GPUs first, then most CPUs */
	size_t kinds_count;
	char **features; /* that nodes have, sorted */
	size_t features_count;
};

struct cli_cluster {
	char *name;
	char *version;   /* "22.05.8" */
	char *select;    /* "linear", "cons_tres" */
	bool memory;     /* memory is something that jobs are given and held to */
	char *mpi_ports; /* "20000-20999"; NULL: slurmctld reserves none */
	struct cli_cluster_partition *partitions;
	size_t partitions_count;
};

/*
 * Reads the output of `scontrol show config`, of `scontrol --all --oneliner show
 * partition` and of the same with `show node` into CLUSTER, which must be zeroed. FAULT
 * gets what is wrong with them. 0; -EINVAL; -ENOMEM. CLUSTER is always in a state that
 * cli_cluster_clear() takes.
 */
int cli_cluster_read(struct cli_cluster *cluster, const char *config,
		     const char *partitions, const char *nodes, const char **fault);

void cli_cluster_clear(struct cli_cluster *cluster);
