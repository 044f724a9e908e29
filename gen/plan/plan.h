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
#include "gen/spec/scalar.h"
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
	const char *python;               /* "python" unless the spec says otherwise */
	const char *target;               /* script or module; NULL for a command */
	const char **args;                /* COUNT words, not quoted */
	const struct diag_place **places; /* of each in the spec; NULL: it follows from
					     something else there */
	size_t count;
	const struct diag_place *python_place, *target_place; /* NULL: as above */
	const char *workdir; /* NULL: where sbatch was called */
};

/* Memory as the header asks for it, in the site's way. */
struct plan_memory {
	const char *option; /* "mem", "mem-per-cpu", "mem-per-gpu"; NULL: no directive */
	const char *value;  /* as sbatch takes it: "64G" */
	const char *reason; /* one phrase, as in struct plan_number */
	const struct diag_place *place; /* of the amount in the spec; NULL: none given */
	uint64_t per_node;              /* MiB; 0: unknown, or all of a node */
	enum plan_origin origin;
};

/* What the header says about the job besides its numbers; NULL: nothing. */
struct plan_batch {
	const char *partition;  /* of the spec, or one that was chosen; NULL: the
				   cluster's default will do */
	bool chosen;            /* the plan chose it */
	const char *array;      /* "0-9%4"; of a sweep as an array: all its points */
	const char *dependency; /* "afterok:12:13,singleton" */
	const char *mail_type;  /* "END,FAIL" */
	const char *signal;     /* "B:USR1@120"; of a retry after a timeout one that the
				   spec lacks */
	struct spec_signal signal_parts; /* the same taken apart; name NULL: none */
	const char *requeue;             /* "requeue", "no-requeue" */
	const char *open_mode; /* "append" for a job that can be started again */
};

/* Where ranks meet, for who has to find it without the plugin. */
struct plan_rendezvous {
	const char *addr;   /* "name", "ip" or "nodeaddr"; never NULL */
	const char *suffix; /* "" : none */
	const char *domain;
	uint16_t port;                /* 0: one from the range, by rule */
	uint16_t port_low, port_high; /* the range */
	bool reserved;                /* srun is to reserve one (--resv-ports) */
};

/*
 * Samples that the ranks of an MMDetection training take in one step, against those that
 * the config's learning rate is for. 0: unknown.
 */
struct plan_training {
	uint64_t per_rank;   /* given, or the B of AxB in the config's name */
	uint64_t accumulate; /* steps that are summed; 1 unless the spec says more */
	uint64_t total;      /* world_size x per_rank x accumulate */
	uint64_t base;       /* given, or A x B of the config's name */
	const char *base_reason, *per_rank_reason; /* one phrase; NULL: unknown */
	bool scaled;      /* --auto-scale-lr: by world_size x per_rank / base */
	uint64_t workers; /* loader processes of a rank; given or chosen */
	uint64_t cpus_per_rank;
};

struct plan {
	const struct launch_launcher *launcher; /* never NULL after plan_make() */
	bool launcher_given;                    /* false: torch, the default */
	enum launch_shape shape;
	struct plan_number number[PLAN_QUANTITIES];
	enum spec_dialect dialect;
	enum spec_means means; /* how ranks learn who they are */
	bool unbind; /* srun must give each task all GPUs of the node, which the dialect
			alone would not, for the plugin to bind it */
	const char *gpu_type; /* NULL: any */
	struct plan_run run;
	struct plan_memory memory;
	struct plan_batch batch;
	struct plan_rendezvous rendezvous;
	struct plan_training training;
	/* What the script exports, in this order: those of the spec, and MASTER_ADDR and
	 * OMP_NUM_THREADS where rendezvous.master and binding.omp_threads want them. */
	struct spec_item *env;
	size_t env_count;
	bool omp_auto; /* OMP_NUM_THREADS is to be the CPUs of a rank, where nobody set
			  it: the plugin's and srank exec's work, else the script's */
	const char *srank;    /* the value of SRANK for the step: "torchrun,gpus=mask" */
	const char **checked; /* identities that hold, as "ntasks 16 = nodes 2 x ..." */
	size_t checked_count;
	const struct spec_partition
		*partition; /* limits that were checked; NULL: none known */
	/*
	 * Of a heterogeneous job: the plan of each component, in order, and the world in
	 * which all of them are. The numbers above are then their sums (nodes, gpus,
	 * ntasks, world_size), and those a node or a task are not known.
	 */
	struct plan *components;
	const struct spec *component_specs; /* of each */
	size_t components_count;
	struct spec_arena *arena; /* owns the texts made here */
};

/*
 * Resolves SPEC, which is complete (spec_complete()), for SITE into PLAN, which must be
 * zeroed; SPEC and SITE must outlive it.
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
