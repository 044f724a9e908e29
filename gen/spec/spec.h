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
	/* Of a component of a heterogeneous job: its place in the list `het`. */
	struct spec_value entry;
	struct spec_value version; /* number; 1 */
	struct spec_value include; /* words: files whose values this one inherits */
	struct spec_value name;
	struct spec_value profile;  /* site profile: a name or a path with a slash */
	struct spec_value launcher; /* a name in launch_launchers */
	struct spec_value plugin;   /* number: enum spec_plugin; not given: auto */
	struct {
		struct spec_value script;  /* exactly one of script, command, module, */
		struct spec_value command; /* words; unless mmdet names the program */
		struct spec_value module;
		struct spec_value args; /* words */
		struct spec_value python;
		struct spec_value workdir;
	} run;
	struct {
		struct spec_value config;
		struct spec_value work_dir;
		struct spec_value amp;           /* flag */
		struct spec_value auto_scale_lr; /* flag */
		struct spec_value base_batch;    /* samples of all ranks in one step */
		struct spec_value batch_size;    /* samples of one rank in one step */
		struct spec_value num_workers;   /* loader processes of one rank */
		struct spec_value accumulate;    /* steps whose gradients are summed */
		struct spec_value resume;        /* flag, or text: the checkpoint */
		struct spec_value seed;
		struct spec_value deterministic; /* flag */
		struct spec_value timeout;       /* of a collective, in seconds */
		struct spec_value cfg_options;   /* items with names: dotted keys */
	} mmdet;
	struct {
		struct spec_value nodes;
		struct spec_value gpus;
		struct spec_value gpus_per_node;
		struct spec_value gpu_type;
		struct spec_value tasks_per_gpu;
		struct spec_value ntasks;
		struct spec_value ntasks_per_node; /* word: auto, as if not given */
		struct spec_value cpus_per_task;   /* word: auto, from the partition */
		struct spec_value cpus_per_gpu;
		struct spec_value threads_per_core;
		struct spec_value hint;
		struct spec_value mem; /* text as sbatch takes it; number in MiB */
		struct spec_value mem_per_cpu;
		struct spec_value mem_per_gpu;
		struct spec_value exclusive; /* number 0 or 1; text true, user, mcs, topo
					      */
		struct spec_value gres; /* words: generic resources other than GPUs */
		struct spec_value licenses;
		struct spec_value tmp; /* size */
		struct spec_value segment;
		struct spec_value switches; /* COUNT[@TIME] */
	} resources;
	struct {
		struct spec_value partition; /* "auto": the plan chooses one */
		struct spec_value account;
		struct spec_value qos;
		struct spec_value time; /* text as sbatch takes it; number in seconds */
		struct spec_value time_min;
		struct spec_value constraint;
		struct spec_value reservation;
		struct spec_value nodelist;
		struct spec_value exclude;
		struct spec_value begin;
		struct spec_value deadline;
		struct spec_value nice; /* text: an integer, which may be negative */
		struct spec_value priority;
		struct spec_value hold; /* flag */
		struct spec_value comment;
		struct spec_value wckey;
		struct spec_value clusters;
		struct spec_value output;
		struct spec_value error;
		struct spec_value open_mode; /* text: append or truncate */
		struct spec_value export;
		struct {
			struct spec_value range; /* text "0-9%4"; number: indices */
			struct spec_value max;   /* of them at a time */
		} array;
		struct {
			struct spec_value condition; /* as sbatch --dependency takes it */
			struct spec_value after;     /* words: job ids, ID+MINUTES */
			struct spec_value afterany;  /* words: job ids, ... */
			struct spec_value afterok;
			struct spec_value afternotok;
			struct spec_value aftercorr;
			struct spec_value afterburstbuffer;
			struct spec_value singleton; /* flag */
			struct spec_value any;       /* flag: one of them is enough */
		} dependency;
		struct spec_value requeue; /* flag */
		struct {
			struct spec_value name;   /* as spec_signal_read() takes it */
			struct spec_value before; /* the end of the time limit, in s */
			struct spec_value batch;  /* flag: to the batch shell; default */
		} signal;
		struct {
			struct spec_value user;
			struct spec_value type; /* words */
		} mail;
		struct spec_value extra; /* words: further options, each with its value */
		struct spec_value skip;  /* words: options not to write, without -- */
	} batch;
	struct {
		struct spec_value master; /* "first", or the host rank 0's node has */
		struct spec_value addr;   /* these four: as in the launch settings */
		struct spec_value suffix;
		struct spec_value domain;
		struct spec_value ports;
		struct spec_value port; /* number; word: auto or resv */
		struct spec_value busy;
		struct spec_value elastic; /* MIN:MAX or off */
		struct spec_value backend; /* text: static or c10d */
		struct spec_value max_restarts;
		struct spec_value verbose; /* flag */
	} rendezvous;
	struct {
		struct spec_value gpus;        /* order, mask, first, map:LIST, none */
		struct spec_value local;       /* text: rank or 0 */
		struct spec_value cpus;        /* text, as srun --cpu-bind takes it */
		struct spec_value omp_threads; /* number; word: auto or keep */
	} binding;
	struct spec_value env; /* items with names, in the order written */
	struct {
		struct spec_value purge; /* flag */
		struct spec_value use;   /* words: folders */
		struct spec_value load;  /* words */
	} modules;
	struct spec_value venv; /* folder of a Python environment */
	struct {
		struct spec_value env;  /* name or folder */
		struct spec_value root; /* folder of the installation; not given: the
					   `conda` that the job finds */
	} conda;
	/* Items: shell lines or blocks of them, run before srun, and after it. */
	struct spec_value setup;
	struct spec_value teardown;
	struct {
		struct spec_value runtime; /* number: enum spec_runtime */
		struct spec_value image;
		struct spec_value mounts; /* words: SRC[:DST[:FLAGS]] */
		struct spec_value workdir;
		struct spec_value name;
		struct spec_value home;     /* flag */
		struct spec_value writable; /* flag */
		struct spec_value env;      /* words: names of variables */
		struct spec_value options;  /* words: further ones of the runtime */
	} container;
	struct {
		struct spec_value args;             /* words */
		struct spec_value kill_on_bad_exit; /* flag; not given: true */
		struct spec_value wait;             /* s */
		struct spec_value unbuffered;       /* flag */
		struct spec_value label;            /* flag */
		struct spec_value mpi;
		struct spec_value distribution;
	} srun;
	struct {
		struct spec_value max;
		struct spec_value on; /* words: timeout, preempt, node_fail, fail */
		struct spec_value exclude_bad_nodes; /* flag */
	} retry;
	struct spec_value preflight; /* flag: checks before the ranks start */
	struct spec_table het;       /* of struct spec */
	struct {
		struct spec_table matrix; /* of struct spec_axis */
		struct spec_table zip;
		struct spec_value as;  /* number: enum spec_sweep_as; not given: array */
		struct spec_value max; /* jobs at a time */
	} sweep;

	/* About the spec itself. */
	const char *file; /* as given; "-": standard input */
	/* Set before reading: which document of FILE, by its place (from 1) or by its
	 * name; NULL: the only one. */
	const char *document;
	size_t documents;            /* of the file */
	struct spec_value overrides; /* items: the texts of -s in the order given */
	uint64_t digest;          /* of the file's bytes, those it includes, overrides */
	struct spec_arena *arena; /* owns every text */
};

/* In the order of the words that their fields can have. */
enum spec_plugin {
	SPEC_PLUGIN_AUTO,    /* as the site profile says */
	SPEC_PLUGIN_REQUIRE, /* the SPANK plugin, and a job without it fails */
	SPEC_PLUGIN_EXEC,    /* `srank exec` in every task */
	SPEC_PLUGIN_OFF,     /* plain shell */
};

enum spec_runtime {
	SPEC_RUNTIME_NONE,
	SPEC_RUNTIME_PYXIS,
	SPEC_RUNTIME_APPTAINER,
	SPEC_RUNTIME_SINGULARITY,
};

enum spec_sweep_as {
	SPEC_SWEEP_ARRAY,
	SPEC_SWEEP_FILES,
};

/* The fields of struct spec, ended by a NULL name. */
extern const struct spec_field spec_fields[];

/*
 * Reads the spec FILE ("-": standard input) and what it includes into SPEC, which must be
 * zeroed but for `document`. Reports every fault to DIAG with its place. 0; -EINVAL when
 * DIAG got an error; -errno when the file cannot be read (reported too); -ENOMEM. SPEC is
 * always in a state that spec_clear() takes, and what was right in it is there.
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
 * Sets what PATH, "resources.nodes", names to VALUE, as an override would, for who has
 * them from elsewhere, with their places. Not counted among the overrides. Returns as
 * spec_override().
 */
int spec_set(struct spec *spec, const char *path, const char *value,
	     const struct diag_place *path_place, const struct diag_place *value_place,
	     struct diag *diag);

/*
 * Completes SPEC when all of it is read: what it does not say itself is said by DEFAULTS
 * (NULL: nothing more), and what a component of a heterogeneous job does not say, by
 * SPEC. Texts of DEFAULTS are borrowed. -ENOMEM.
 */
int spec_complete(struct spec *spec, const struct spec *defaults);

/*
 * FNV-1a, 64 bits: not against malice, only to tell one text from another. HASH is that
 * of what stands in front of TEXT, at first SPEC_DIGEST_START.
 */
#define SPEC_DIGEST_START UINT64_C(0xcbf29ce484222325)
uint64_t spec_digest(uint64_t hash, const char *text, size_t length);

void spec_clear(struct spec *spec);
