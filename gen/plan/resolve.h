/* SPDX-License-Identifier: MIT */
/* The parts of plan_make(), each in a file of its own. */
#pragma once

#include "gen/plan/plan.h"

/* What plan_make() works with. */
struct plan_work {
	struct plan *plan;
	const struct spec *spec;
	const struct spec_site *site;
	struct diag *diag;
	/* For each quantity the set (bits) of quantities that were not inferred behind
	 * it. */
	uint32_t roots[PLAN_QUANTITIES];
};

/* A value that needs no identity; REASON is static or in the plan's arena. */
void plan_set(struct plan_work *work, enum plan_quantity quantity, uint64_t value,
	      enum plan_origin origin, const char *reason);

/*
 * Of the given numbers in the set ROOTS the one that stands last in the spec, -s after
 * all: the likeliest slip. NULL: none is given.
 */
const struct diag_place *plan_latest_place(const struct plan_work *work, uint32_t roots);

/*
 * Applies the identities of the plan's shape until nothing new follows. GPUS: those that
 * speak of GPUs hold too. Reports the first that fails; others would only echo it. 0;
 * -EINVAL; -ENOMEM.
 */
int plan_propagate(struct plan_work *work, bool gpus);

/* Fills plan->checked with the identities that hold. -ENOMEM. */
int plan_list_identities(struct plan_work *work, bool gpus);

/* Fills plan->run. */
int plan_resolve_run(struct plan_work *work);

/* Compares the plan with the limits of its partition and with the GPU dialect. */
int plan_check_limits(struct plan_work *work);
