/* SPDX-License-Identifier: MIT */
/*
 * The plan: a spec with every number resolved. The user gives any consistent subset of
 * the resource numbers; the rest follows from the identities in identities.c, and each
 * number remembers where it came from.
 *
 * `ntasks`, `ntasks_per_node` and `cpus_per_task` are Slurm's, as in sbatch's options of
 * these names: in the node shape a task is the launcher, one a node. `tasks_per_gpu`
 * counts ranks a GPU and `cpus_per_gpu` CPUs a GPU in both shapes, so a spec that is
 * written with them gives either shape by changing its launcher.
 */
#pragma once

#include "gen/diag.h"
#include "gen/spec/site.h"
#include "gen/spec/spec.h"
#include "spank/launch/launchers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum plan_quantity {
	PLAN_NODES,
	PLAN_GPUS, /* of the job; 0: no GPU is asked for */
	PLAN_GPUS_PER_NODE,
	PLAN_TASKS_PER_GPU, /* ranks a GPU; not known without GPUs */
	PLAN_NTASKS,
	PLAN_NTASKS_PER_NODE,  /* node shape: 1 */
	PLAN_WORKERS_PER_NODE, /* ranks a node: nproc_per_node in the node shape */
	PLAN_WORLD_SIZE,       /* ranks of the job */
	PLAN_CPUS_PER_TASK,    /* not known: nothing was said about CPUs */
	PLAN_CPUS_PER_GPU,
	PLAN_CPUS_PER_NODE, /* ntasks_per_node x cpus_per_task */
	PLAN_GPUS_PER_TASK, /* not known when a GPU serves several tasks */
	PLAN_QUANTITIES,
};

enum plan_origin {
	PLAN_UNKNOWN, /* the number has no value: nothing gives it and nothing needs it */
	PLAN_GIVEN,   /* in the spec, or by -s */
	PLAN_LAUNCHER, /* the launcher's shape demands it */
	PLAN_SITE,     /* the site profile says so */
	PLAN_INFERRED, /* follows from others by an identity */
	PLAN_DEFAULT,  /* nothing was said; built in */
};

struct plan_number {
	enum plan_origin origin;
	uint64_t value;          /* 0 when unknown */
	struct diag_place place; /* of the given value */
	const char *reason;      /* one phrase: "given at job.yaml:8:10",
				    "nodes 2 x ntasks_per_node 8", "default", ... */
};

enum plan_program {
	PLAN_SCRIPT,  /* PYTHON TARGET ARGS */
	PLAN_MODULE,  /* PYTHON -m TARGET ARGS */
	PLAN_COMMAND, /* ARGS alone, the first being the program */
};

/*
 * What a rank runs. A `run.command` of the form `python X ...` or `python -m X ...` is
 * folded into SCRIPT or MODULE, because torchrun and its like start those by themselves;
 * the section mmdet is spelled out as the arguments of MMDetection's tools/train.py.
 */
struct plan_run {
	enum plan_program kind;
	const char *python; /* "python" unless the spec says otherwise */
	const char *target; /* script or module; NULL for a command */
	const char **args;  /* COUNT words, not quoted */
	size_t count;
	const char *workdir; /* NULL: where sbatch was called */
};

struct plan {
	const struct launch_launcher *launcher; /* never NULL after plan_make() */
	bool launcher_given;                    /* false: torch, the default */
	enum launch_shape shape;
	struct plan_number number[PLAN_QUANTITIES];
	enum spec_dialect dialect;
	bool unbind; /* srun must give each task all GPUs of the node, which the dialect
			alone would not, for the plugin to bind it */
	const char *gpu_type; /* NULL: any */
	struct plan_run run;
	const char *srank;    /* the value of SRANK for the step: "torchrun,gpus=mask" */
	const char **checked; /* identities that hold, as "ntasks 16 = nodes 2 x ..." */
	size_t checked_count;
	const struct spec_partition
		*partition;       /* limits that were checked; NULL: none known */
	struct spec_arena *arena; /* owns the texts made here */
};

/*
 * Resolves SPEC for SITE into PLAN, which must be zeroed; SPEC and SITE must outlive it.
 * Every number is then consistent, or DIAG says which identity fails, with the numbers
 * and their places, or which number is missing. 0; -EINVAL when DIAG got an error;
 * -ENOMEM.
 */
int plan_make(struct plan *plan, const struct spec *spec, const struct spec_site *site,
	      struct diag *diag);

/* The value; 0 when it is unknown. */
static inline uint64_t plan_value(const struct plan *plan, enum plan_quantity quantity)
{
	return plan->number[quantity].value;
}

static inline bool plan_known(const struct plan *plan, enum plan_quantity quantity)
{
	return plan->number[quantity].origin != PLAN_UNKNOWN;
}

/* The spec's name of the quantity: "ntasks_per_node". */
const char *plan_quantity_name(enum plan_quantity quantity);

/*
 * Writes the plan's shape as a sentence: "2 nodes x 8 tasks = 16 ranks" or
 * "2 nodes x 1 task x 8 workers = 16 ranks". Cut to SIZE.
 */
void plan_sentence(const struct plan *plan, char *text, size_t size);

void plan_clear(struct plan *plan);
