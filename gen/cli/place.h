/* SPDX-License-Identifier: MIT */
/*
 * Where the ranks of one node sit: which CPUs their tasks have there, which GPUs are
 * theirs and how far those are. All nodes of a job are alike, so one stands for all. The
 * table and the figure of `srank explain` show the same place.
 */
#pragma once

#include "gen/diag.h"
#include "gen/plan/plan.h"
#include "gen/spec/machine.h"
#include "spank/launch/facts.h"
#include "spank/launch/gpus.h"
#include "spank/launch/settings.h"

/* With more tasks on a node nothing is said about their GPUs. */
#define CLI_PLACE_TASKS_MAX LAUNCH_CPUS_MAX

struct cli_place {
	const struct spec_machine *machine; /* NULL: nothing is known of the nodes */
	uint64_t nodes;                     /* of the job */
	enum launch_layout layout;          /* how tasks are numbered over them */
	uint32_t plane_size;                /* with LAUNCH_LAYOUT_PLANE */
	uint32_t tasks, workers;            /* on the node */
	struct launch_gpus gpus;            /* of the step, in Slurm's order */
	bool own;      /* Slurm gives each task GPUs of its own (--gpus-per-task) */
	uint32_t each; /* and so many of them */
	struct spec_cpus cpus;           /* how srun deals them */
	const char *deal;                /* the same in words */
	struct launch_cpuset *masks;     /* by local rank of the task; NULL: not known */
	struct launch_binding *bindings; /* likewise; NULL: not known */
};

/*
 * Begins PLACE, which must be zeroed: the machine, the GPUs that the step has, and from
 * the plan and the options that srun gets the CPUs of each task. MACHINE may be NULL.
 * Faults go to DIAG or ERR: -EINVAL, -ENOSPC; -ENOMEM. PLACE can be cleared in any case.
 */
int cli_place_begin(struct cli_place *place, const struct spec *spec,
		    const struct plan *plan, struct spec_machine *machine,
		    struct diag *diag, struct launch_error *err);

/* Binds the tasks, FACTS being those of any of them. Errors as launch_gpus_share(). */
int cli_place_bind(struct cli_place *place, const struct launch_facts *facts,
		   const struct launch_settings *settings, struct launch_error *err);

/* The rank of the rank WORKER of node NODE in the job. */
uint64_t cli_place_rank(const struct cli_place *place, uint64_t node, uint32_t worker);

/* The GPUs of the rank WORKER of the node: bit i is gpus.gpu[i]. 0: none, or not known.
 */
uint64_t cli_place_gpus(const struct cli_place *place, uint32_t worker);

/* How far the rank WORKER is from gpus.gpu[GPU]. */
enum launch_distance cli_place_distance(const struct cli_place *place, uint32_t worker,
					uint32_t gpu);

/* To the farthest of its GPUs whose place is known, else LAUNCH_DISTANCE_UNKNOWN. */
enum launch_distance cli_place_farthest(const struct cli_place *place, uint32_t worker);

#define CLI_PLACE_TEXT_MAX 512

/* The machine is known, and is one NUMA node: no GPU is nearer than another. */
bool cli_place_flat(const struct cli_place *place);

/* "dgx_a100: 2 sockets, 8 NUMA nodes, 256 CPUs, 8 GPUs"; the machine must be known. */
void cli_place_machine(const struct cli_place *place, char *text, size_t size);

/* How many ranks of the node are near their GPUs; "" without GPUs or machine. */
void cli_place_summary(const struct cli_place *place, char *text, size_t size);

void cli_place_clear(struct cli_place *place);
