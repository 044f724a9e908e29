/* SPDX-License-Identifier: MIT */
/*
 * The site profile: what a cluster allows and which of the equivalent spellings it wants.
 * Read by the same reader as the spec, from the table in fields.c.
 */
#pragma once

#include "gen/diag.h"
#include "gen/spec/field.h"

/* How the script asks for GPUs: sites refuse one spelling or the other. */
enum spec_dialect {
	SPEC_DIALECT_GRES,          /* --gres=gpu:[TYPE:]N, N a node */
	SPEC_DIALECT_GPUS_PER_NODE, /* --gpus-per-node=[TYPE:]N */
	SPEC_DIALECT_GPUS_PER_TASK, /* --gpus-per-task=[TYPE:]N */
};

/* The limits of one partition; a value that is not given is not checked. */
struct spec_partition {
	struct spec_value name; /* first: struct spec_table says so */
	struct spec_value nodes;
	struct spec_value cpus_per_node;
	struct spec_value gpus_per_node;
	struct spec_value mem;  /* MiB a node */
	struct spec_value time; /* seconds */
};

struct spec_site {
	struct spec_value version;
	struct spec_value name;
	struct spec_value slurm;       /* text: "22.05" */
	struct spec_value plugin;      /* flag; not given: true */
	struct spec_value gpu_dialect; /* number: enum spec_dialect; not given: gres */
	struct spec_table partitions;  /* of struct spec_partition */

	const char *file; /* NULL: the built-in profile */
	bool named; /* the file was asked for (--site), not found at its usual place */
	struct spec_arena *arena;
};

/* The fields of struct spec_site, ended by a NULL name. */
extern const struct spec_field spec_site_fields[];

/* The profile when there is none: gres, plugin installed, no limits, version unknown. */
void spec_site_init(struct spec_site *site);

/* Reads the profile FILE on top of the built-in one; returns as spec_read(). */
int spec_site_read(struct spec_site *site, const char *file, struct diag *diag);
int spec_site_read_text(struct spec_site *site, const char *file, const char *text,
			size_t length, struct diag *diag);

/* The partition NAME; NULL when the profile does not list it. */
const struct spec_partition *spec_site_partition(const struct spec_site *site,
						 const char *name);

void spec_site_clear(struct spec_site *site);
