/* SPDX-License-Identifier: MIT */
/*
 * Plan -> sbatch script: the header in sbatch's own quoting and a fixed order, the body
 * from the launcher's template. The same spec gives the same bytes.
 */
#pragma once

#include "gen/diag.h"
#include "gen/plan/plan.h"
#include "gen/script/origins.h"
#include "gen/script/templates.h"
#include "gen/spec/site.h"
#include "gen/spec/spec.h"

#include <stdio.h>

/* One point of a sweep, whose spec plan_sweep_apply() made. */
struct script_point {
	const struct spec *sweep; /* the spec that has the sweep */
	uint64_t number;          /* from 0 */
};

/*
 * Writes the script of PLAN, which plan_make() made from SPEC and SITE without an error.
 * POINT: it is of that point; NULL: of the spec itself, whose sweep, if it has one, is
 * one array job. ORIGINS, unless NULL, gets what of the script stands in the spec, and is
 * to be cleared before SPEC and SITE are. 0; -EINVAL when DIAG was told of a fault (a
 * value that no directive can hold, a template that is wrong); -ENOMEM; another -errno
 * from a template file. OUT is then of no use.
 */
int script_write(FILE *out, const struct spec *spec, const struct plan *plan,
		 const struct spec_site *site, const struct script_point *point,
		 struct script_templates *templates, struct script_origins *origins,
		 struct diag *diag);

/*
 * The folder that must be there before the job starts, from PATTERN, a value of
 * batch.output or batch.error: what stands before the last '/' in front of the first '%',
 * in a form that is no option of any command. FOLDER is NULL when there is none, else to
 * be freed. 0; -ENOMEM.
 */
int script_folder(const struct spec_value *pattern, char **folder);
