/* SPDX-License-Identifier: MIT */
/* The figure of `srank explain --svg`: which rank computes on which GPU, and how far. */
#pragma once

#include "gen/cli/place.h"
#include "gen/plan/plan.h"
#include "gen/spec/spec.h"

#include <stdio.h>

/*
 * Writes an SVG of 1600 x 900 to OUT: sockets, NUMA nodes, ranks and GPUs of the first
 * and the last node of the job, the same bytes for the same job. At most
 * FIGURE_RANKS_MAX ranks of a node are drawn. -ENOMEM.
 */
#define FIGURE_RANKS_MAX 64

int figure_draw(FILE *out, const struct spec *spec, const struct plan *plan,
		const struct cli_place *place);
