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
	uint64_t cpus;
	uint64_t reserved; /* of the CPUs, kept from jobs by CoreSpecCount */
	uint64_t threads;  /* that Slurm counts as CPUs, a core; 1: it counts cores */
	uint64_t sockets;  /* 0: not known */
	uint64_t mem;      /* MiB that jobs may have: without MemSpecLimit */
	uint64_t gpus;
	char *types[CLI_TYPES_MAX]; /* of the GPUs, in the order of Gres=; NULL: end */
};

/* Numbers are 0 where nothing is said or no limit is set. */
struct cli_cluster_partition {
	char *name;
	bool is_default;
	bool exclusive;            /* a job gets whole nodes, whatever it asks for */
	uint64_t nodes, min_nodes; /* most and fewest of a job */
	uint64_t cpus;             /* MaxCPUsPerNode */
	uint64_t mem;              /* MaxMemPerNode, MiB */
	uint64_t mem_per_cpu;      /* DefMemPerCPU, MiB: of a job that asks for none */
	uint64_t max_mem_per_cpu;  /* MaxMemPerCPU, MiB */
	char *time;                /* MaxTime as sbatch takes it; NULL: no limit */
	char *default_time;        /* DefaultTime; NULL: that is MaxTime */
	char *qos;                 /* AllowQos, with commas; NULL: any */
	struct cli_cluster_kind *kinds; /* most GPUs first, then most CPUs */
	size_t kinds_count;
	char **features; /* that nodes have, sorted */
	size_t features_count;
};

struct cli_cluster {
	char *name;
	char *version; /* "22.05.8" */
	char *select;  /* "linear", "cons_tres" */
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
