/* SPDX-License-Identifier: MIT */
/*
 * A sweep: one spec, many jobs. The axes of `matrix` are combined, the last one turning
 * fastest, and those of `zip` go side by side; with both, every combination meets every
 * row of the zip, which then turns fastest. `{name}` in the texts of the spec stands for
 * the value of an axis.
 */
#pragma once

#include "gen/diag.h"
#include "gen/spec/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Axes in all; struct spec_axis by spec_sweep_axis(). */
size_t plan_sweep_axes(const struct spec *spec);

/* The axis I: those of the matrix, then those of the zip. */
const struct spec_axis *plan_sweep_axis(const struct spec *spec, size_t i);

/* How many jobs the sweep is; 0: there is none. At most PLAN_SWEEP_MAX. */
uint64_t plan_sweep_points(const struct spec *spec);

/* More is a slip: Slurm's own bound of MaxArraySize is 1001 unless a site raises it. */
#define PLAN_SWEEP_MAX 1000000

/* Which value of axis I point POINT (from 0) has: an index into axis->values.items. */
size_t plan_sweep_value(const struct spec *spec, size_t i, uint64_t point);

/*
 * How many points in a row axis I has the same value in; for who computes the value in a
 * script: index = point / STRIDE % count.
 */
uint64_t plan_sweep_stride(const struct spec *spec, size_t i);

/* True when some axis has in point POINT a value that it had in no point before. */
bool plan_sweep_is_first(const struct spec *spec, uint64_t point);

/*
 * Faults of the sweep's axes: zips of unequal length, a name twice, more points than
 * PLAN_SWEEP_MAX, a path as a name where the sweep is one array. -EINVAL, reported. Warns
 * of placeholders that are nearly an axis's.
 */
int plan_sweep_check(const struct spec *spec, struct diag *diag);

/*
 * The next part of TEXT, from *AT on: LENGTH bytes at PART as they are, or, with AXIS
 * set, the placeholder `{name}` of that axis. `{name}` of no axis is text. False at the
 * end. *AT starts at 0.
 */
bool plan_sweep_part(const struct spec *spec, const char *text, size_t *at,
		     const char **part, size_t *length, const struct spec_axis **axis);

/*
 * The spec of point POINT as POINT_SPEC, which must be zeroed and is cleared by
 * spec_clear() while SPEC lives: every placeholder replaced, every axis that is the path
 * of a key set as -s would, and each other axis exported as a variable. It has no sweep.
 * -EINVAL, reported; -ENOMEM.
 */
int plan_sweep_apply(const struct spec *spec, uint64_t point, struct spec *point_spec,
		     struct diag *diag);
