/* SPDX-License-Identifier: MIT */
/*
 * The site profile: what a cluster allows and which of the equivalent spellings it wants.
 * Read by the same reader as the spec, from the table in fields.c.
 */
#pragma once

#include "gen/diag.h"
#include "gen/spec/field.h"
#include "gen/spec/spec.h"

/* How the script asks for GPUs: sites refuse one spelling or the other. */
enum spec_dialect {
	SPEC_DIALECT_GRES,          /* --gres=gpu:[TYPE:]N, N a node */
	SPEC_DIALECT_GPUS_PER_NODE, /* --gpus-per-node=[TYPE:]N */
	SPEC_DIALECT_GPUS_PER_TASK, /* --gpus-per-task=[TYPE:]N */
	SPEC_DIALECT_GPUS,          /* --gpus=[TYPE:]N, N of the job; on several nodes
				       --gpus-per-node stands beside it, or Slurm spreads
				       them unevenly */
};

/* How the script asks for memory; the plan converts what the spec says. */
enum spec_memory_dialect {
	SPEC_MEMORY_AS_GIVEN, /* as in the spec */
	SPEC_MEMORY_NODE,     /* --mem */
	SPEC_MEMORY_CPU,      /* --mem-per-cpu */
	SPEC_MEMORY_GPU,      /* --mem-per-gpu; without GPUs --mem */
	SPEC_MEMORY_NONE,     /* the site gives memory by its own rule, and no option */
};

/* Slurm's select plugin, as far as it matters. */
enum spec_select {
	SPEC_SELECT_CONS_TRES,
	SPEC_SELECT_CONS_RES, /* up to 22.05 to 23.02: no --gpus* */
	SPEC_SELECT_LINEAR,   /* no --gpus* per task, and whole nodes only */
};

/* How the ranks of a script learn who they are. */
enum spec_means {
	SPEC_MEANS_PLUGIN, /* spank_srank.so */
	SPEC_MEANS_EXEC,   /* `srank exec` in every task */
	SPEC_MEANS_SHELL,  /* nothing of srank is on the nodes */
};

/* What is known of one partition; a value that is not given is not checked. */
struct spec_partition {
	struct spec_value name;       /* first: struct spec_table says so */
	struct spec_value is_default; /* flag: where jobs go that name none */
	struct spec_value nodes;      /* most of a job */
	struct spec_value min_nodes;  /* fewest of a job */
	struct spec_value gpu_nodes;  /* most of a job with GPUs */
	struct spec_value cpus_per_node;
	struct spec_value max_cpus_per_node; /* that jobs may use, MaxCPUsPerNode */
	struct spec_value reserved_cpus; /* of a node, kept from jobs (CoreSpecCount) */
	struct spec_value threads_per_core;
	struct spec_value sockets; /* of a node */
	struct spec_value gpus_per_node;
	struct spec_value gpu_types;   /* words */
	struct spec_value mem;         /* MiB a node */
	struct spec_value mem_per_cpu; /* MiB, when a job does not say (DefMemPerCPU) */
	struct spec_value max_mem_per_cpu; /* MiB */
	struct spec_value time;            /* seconds */
	struct spec_value default_time;    /* seconds, when a job does not say */
	struct spec_value exclusive;       /* flag: whole nodes always */
	struct spec_value features;        /* words */
	struct spec_value qos;             /* words: those that may be used */
};

struct spec_site {
	struct spec_value version;
	struct spec_value name;
	struct spec_value slurm;       /* text: "22.05" */
	struct spec_value select;      /* number: enum spec_select */
	struct spec_value plugin;      /* flag; not given: true */
	struct spec_value rendezvous;  /* number: enum spec_means; not given: plugin or
					  shell, by `plugin` */
	struct spec_value gpu_dialect; /* number: enum spec_dialect; not given: gres */
	struct spec_value mem_dialect; /* number: enum spec_memory_dialect */
	struct spec_value addr, suffix, domain, ports; /* as in the launch settings */
	struct spec_value extra;      /* words: options for every script */
	struct spec_value skip;       /* words: options for none, without the dashes */
	struct spec_value setup;      /* items: shell code before that of the spec */
	struct spec_table partitions; /* of struct spec_partition */
	struct spec defaults;         /* what specs do not say themselves */

	const char *file; /* NULL: the built-in profile */
	bool named; /* the file was asked for (--site), not found at its usual place */
	struct spec_arena *arena;
};

/* The fields of struct spec_site, ended by a NULL name. */
extern const struct spec_field spec_site_fields[];

/* The profile when there is none: gres, plugin installed, no limits, version unknown. */
void spec_site_init(struct spec_site *site);

/*
 * Reads the profile FILE on top of what SITE says, which is the built-in profile or
 * another file's: a user's on top of the cluster's. Returns as spec_read().
 */
int spec_site_read(struct spec_site *site, const char *file, struct diag *diag);
int spec_site_read_text(struct spec_site *site, const char *file, const char *text,
			size_t length, struct diag *diag);

/*
 * Reads the profile that counts into SITE, which is initialized: FILE when it is not
 * NULL; else what PROFILE, the key of a spec, names, when it is given: a path with a
 * slash, or NAME for NAME.yaml in the usual places; else site.yaml there, if there is
 * one. Of two such files the user's is read on top of the cluster's. Returns as
 * spec_read().
 */
int spec_site_load(struct spec_site *site, const char *file,
		   const struct spec_value *profile, struct diag *diag);

/* The partition NAME; NULL when the profile does not list it. */
const struct spec_partition *spec_site_partition(const struct spec_site *site,
						 const char *name);

/* The partition that jobs go to which name none; NULL when the profile does not say. */
const struct spec_partition *spec_site_default(const struct spec_site *site);

/* How ranks learn who they are here. */
enum spec_means spec_site_means(const struct spec_site *site);

/* Slurm's version as 100 x year + month: 2205; 0 when it is unknown. */
unsigned int spec_site_slurm(const struct spec_site *site);

void spec_site_clear(struct spec_site *site);
