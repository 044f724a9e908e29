/* SPDX-License-Identifier: MIT */
/* The parts of plan_make(), each in a file of its own. */
#pragma once

#include "gen/plan/plan.h"

/* Contradictions that are told in one run; as many as there are identities. */
#define PLAN_FAILURES_MAX 16

/* What plan_make() works with. */
struct plan_work {
	struct plan *plan;
	const struct spec *spec;
	const struct spec_site *site;
	struct diag *diag;
	bool gpus;          /* the job has GPUs: the identities that speak of them hold */
	bool auto_cpus;     /* cpus_per_task: auto */
	size_t workers_arg; /* index in plan->run.args of mmdet's num_workers: auto */
	/* For each quantity the set (bits) of quantities that were not inferred behind
	 * it. */
	uint32_t roots[PLAN_QUANTITIES];
	/* Of quantities (bits) the reason is the two others of an identity, as "nodes 2 x
	 * ntasks_per_node 8". */
	uint32_t computed;
	/* The identities (bits) that fail, and what is to be told of them. */
	uint32_t failed;
	struct plan_failure {
		uint32_t roots; /* behind the numbers of the identity */
		struct diag_place place;
		enum plan_quantity guess; /* a default that does not fit;
					     PLAN_QUANTITIES: none */
		const char *text;
	} failures[PLAN_FAILURES_MAX];
	size_t failures_count;
};

/* A value that needs no identity; REASON is static or in the plan's arena. */
void plan_set(struct plan_work *work, enum plan_quantity quantity, uint64_t value,
	      enum plan_origin origin, const char *reason);

/*
 * Of the given numbers in the set ROOTS the one that stands last in the spec, -s after
 * all: the likeliest slip. NULL: none is given.
 */
const struct diag_place *plan_latest_place(const struct plan_work *work, uint32_t roots);

/* The given number that QUANTITY is or comes from; NULL: none. */
static inline const struct diag_place *plan_place_of(const struct plan_work *work,
						     enum plan_quantity quantity)
{
	return plan_latest_place(work, work->roots[quantity]);
}

/*
 * Applies the identities of the plan's shape until nothing new follows. Reports all that
 * fail, but for those that only echo another. 0; -EINVAL; -ENOMEM.
 */
int plan_propagate(struct plan_work *work);

/* Fills plan->checked with the identities that hold. -ENOMEM. */
int plan_list_identities(struct plan_work *work);

/*
 * Settles every number and the memory, on the nodes of plan->partition (NULL: unknown),
 * and compares them with its limits. 0; -EINVAL; -ENOMEM.
 */
int plan_settle(struct plan_work *work);

/*
 * The same with the partition that the spec names, or the one that plan_choose() finds in
 * the site profile.
 */
int plan_choose(struct plan_work *work);

/* Compares the plan with the limits of its partition and with the GPU dialect. */
int plan_check_limits(struct plan_work *work);

/* cpus_per_task: auto. Sets the number where none follows from others. */
int plan_share_cpus(struct plan_work *work);

/* Fills plan->memory. */
int plan_ask_memory(struct plan_work *work);

/* CPUs of a node of PARTITION that jobs may use; 0: unknown. */
uint64_t plan_usable_cpus(const struct spec_partition *partition);

/* CPUs of a node of plan->partition that the job takes from others. */
uint64_t plan_taken_cpus(const struct plan_work *work);

/* Fills plan->run, and of MMDetection plan->training where the numbers are known. */
int plan_resolve_run(struct plan_work *work);

/* The arguments of MMDetection's tools/train.py, into plan->run. */
int plan_take_mmdet(struct plan_work *work);

/* Samples of MMDetection's ranks against those of the config, into plan->training. */
int plan_check_training(struct plan_work *work);

/* One more argument of plan->run, from PLACE in the spec (NULL: of ours). TEXT NULL:
 * -ENOMEM. */
int plan_add_arg(struct plan_work *work, const char *text,
		 const struct diag_place *place);

/* Fills plan->batch, but for the partition. */
int plan_resolve_batch(struct plan_work *work);

/* Values that do not go together, or have a form that sbatch refuses. */
int plan_check_values(struct plan_work *work);

/* batch.nodelist against the nodes of the job. */
int plan_check_nodelist(struct plan_work *work);

/* Fills plan->means, rendezvous, env, srank. */
int plan_resolve_settings(struct plan_work *work);
