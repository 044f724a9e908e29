/* SPDX-License-Identifier: MIT */
/*
 * The job spec: a YAML file read into one struct in which every value keeps its place
 * (file:line:column) and whether it was given at all. One table of fields (fields.c)
 * drives the reader, the overrides of the command line, and the check of the manual page;
 * a new field is a member here, a line there and a paragraph in srank-spec(5).
 *
 * Values are typed by the table and never by YAML's own guesses: YAML 1.1 makes
 * `72:00:00` the number 259200, `no` a boolean and `010` eight. The scalar's text is what
 * counts.
 */
#pragma once

#include "gen/diag.h"
#include "gen/spec/field.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spec {
	struct spec_value version; /* number; 1 */
	struct spec_value name;
	struct spec_value launcher; /* a name in launch_launchers */
	struct {
		struct spec_value script;  /* exactly one of script, command, module, */
		struct spec_value command; /* words; unless mmdet names the program */
		struct spec_value module;
		struct spec_value args; /* words */
		struct spec_value python;
		struct spec_value workdir;
	} run;
	struct {
		struct spec_value nodes;
		struct spec_value gpus;
		struct spec_value gpus_per_node;
		struct spec_value gpu_type;
		struct spec_value tasks_per_gpu;
		struct spec_value ntasks;
		struct spec_value ntasks_per_node;
		struct spec_value cpus_per_task;
		struct spec_value cpus_per_gpu;
		struct spec_value mem;       /* text as sbatch takes it; number in MiB */
		struct spec_value exclusive; /* number 0 or 1; text true, user or mcs */
	} resources;
	struct {
		struct spec_value partition;
		struct spec_value account;
		struct spec_value qos;
		struct spec_value time; /* text as sbatch takes it; number in seconds */
		struct spec_value output;
		struct spec_value error;
		struct spec_value constraint;
		struct spec_value reservation;
	} batch;
	struct {
		struct spec_value port; /* number */
	} rendezvous;
	struct {
		struct spec_value gpus; /* order, mask, first, map:LIST, none */
	} binding;
	struct spec_value env; /* items with names, in the order written */
	struct spec_value
		setup; /* items: shell lines or blocks of them, run before srun */
	struct spec_value teardown;
	struct {
		struct spec_value args; /* words */
	} srun;
	struct {
		struct spec_value config;
		struct spec_value work_dir;
	} mmdet;

	/* About the spec itself. */
	const char *file;            /* as given; "-": standard input */
	struct spec_value overrides; /* items: the texts of -s in the order given */
	uint64_t digest;             /* of the file's bytes and the overrides */
	struct spec_arena *arena;    /* owns every text */
};

/* The fields of struct spec, ended by a NULL name. */
extern const struct spec_field spec_fields[];

/*
 * Reads the spec FILE ("-": standard input) into SPEC, which must be zeroed. Reports
 * every fault to DIAG with its place. 0; -EINVAL when DIAG got an error; -errno when the
 * file cannot be read (reported too); -ENOMEM. SPEC is always in a state that
 * spec_clear() takes, and what was right in it is there.
 */
int spec_read(struct spec *spec, const char *file, struct diag *diag);

/* The same from TEXT of LENGTH bytes; FILE names it in messages. */
int spec_read_text(struct spec *spec, const char *file, const char *text, size_t length,
		   struct diag *diag);

/*
 * Applies `key.path=value` (`resources.nodes=4`, `env.FOO=a b`, `mmdet=null`) on top of
 * SPEC. The value is taken as written, without YAML, except that words can be a list in
 * `[ ]` and a map or a section is one in `{ }`; a null deletes the field, the section or
 * the one entry of a map. Places in DIAG are `-s:N:COL`, the Nth override. -EINVAL as
 * above; SPEC then keeps the old value.
 */
int spec_override(struct spec *spec, const char *assignment, struct diag *diag);

/*
 * FNV-1a, 64 bits: not against malice, only to tell one text from another. HASH is that
 * of what stands in front of TEXT, at first SPEC_DIGEST_START.
 */
#define SPEC_DIGEST_START UINT64_C(0xcbf29ce484222325)
uint64_t spec_digest(uint64_t hash, const char *text, size_t length);

void spec_clear(struct spec *spec);
