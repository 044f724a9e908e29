/* SPDX-License-Identifier: MIT */
/*
 * Specs, site profiles and overrides: any bytes are read, or refused with a message, and
 * what is read plans or is refused likewise. The first byte chooses what the rest is.
 */
#include "gen/plan/plan.h"
#include "gen/plan/sweep.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void print(struct diag *diag)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return;
	diag_print(diag, out, DIAG_SOURCE);
	fclose(out);
	free(text);
}

static void require_sound(const struct plan *plan)
{
	uint64_t nodes = plan_value(plan, PLAN_NODES);

	require(nodes > 0 && plan_value(plan, PLAN_WORKERS_PER_NODE) > 0);
	require(plan_value(plan, PLAN_WORLD_SIZE) ==
		nodes * plan_value(plan, PLAN_WORKERS_PER_NODE));
	require(plan_value(plan, PLAN_NTASKS) ==
		nodes * plan_value(plan, PLAN_NTASKS_PER_NODE));
	require(plan_value(plan, PLAN_GPUS) ==
		nodes * plan_value(plan, PLAN_GPUS_PER_NODE));
	require(plan->srank && plan->run.count + !!plan->run.target > 0);
	require(!plan->memory.option || plan->memory.value);
	require(!plan->batch.chosen || plan->batch.partition);
}

static void try_plan(const struct spec *spec, const struct spec_site *site,
		     struct diag *diag)
{
	struct plan plan = {0};
	size_t errors = diag->errors;
	int rc = plan_make(&plan, spec, site, diag);

	require((rc == 0) == (diag->errors == errors));
	if (rc == 0 && !plan.components_count)
		require_sound(&plan);
	for (size_t i = 0; rc == 0 && i < plan.components_count; i++)
		require_sound(&plan.components[i]);
	plan_clear(&plan);
}

/* The first and the last job of a sweep, each planned. */
static void try_points(const struct spec *spec, const struct spec_site *site,
		       struct diag *diag)
{
	uint64_t points = plan_sweep_points(spec);

	if (points == 0 || plan_sweep_check(spec, diag) < 0)
		return;
	for (uint64_t point = 0; point<points; point += points> 1 ? points - 1 : 1) {
		size_t errors = diag->errors;
		struct spec one = {0};
		int rc = plan_sweep_apply(spec, point, &one, diag);

		require((rc == 0) == (diag->errors == errors));
		if (rc == 0)
			try_plan(&one, site, diag);
		spec_clear(&one);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char base[] =
		"run: {script: a.py}\nresources: {nodes: 2}\nenv: {A: 1}\n";
	const char *text = (const char *)data + 1;
	struct diag diag = {0};
	struct spec_site site;
	struct spec spec = {0};
	char *override;
	int rc;

	if (size == 0)
		return 0;
	size--;
	spec_site_init(&site);
	switch (data[0] % 3) {
	case 0:
		rc = spec_read_text(&spec, "job.yaml", text, size, &diag);
		break;
	case 1:
		rc = spec_site_read_text(&site, "site.yaml", text, size, &diag);
		if (rc == 0)
			rc = spec_read_text(&spec, "job.yaml", base, sizeof(base) - 1,
					    &diag);
		break;
	default:
		override = strndup(text, size);
		rc = spec_read_text(&spec, "job.yaml", base, sizeof(base) - 1, &diag);
		require(rc == 0);
		rc = override ? spec_override(&spec, override, &diag) : 0;
		free(override);
		break;
	}
	require((rc == 0) == (diag.errors == 0));
	if (rc == 0) {
		require(spec_complete(&spec, &site.defaults) == 0);
		try_plan(&spec, &site, &diag);
		try_points(&spec, &site, &diag);
	}
	print(&diag);
	spec_clear(&spec);
	spec_site_clear(&site);
	diag_clear(&diag);
	return 0;
}
