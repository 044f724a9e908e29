/* SPDX-License-Identifier: MIT */
/*
 * The plan against the site profile: limits of the partition, and what the site's way of
 * asking for GPUs cannot say. sbatch would refuse such a job, or leave it pending for
 * ever.
 */
#include "gen/plan/resolve.h"

#include "spank/launch/gpus.h"
#include "spank/launch/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	enum plan_quantity quantity;
	size_t offset; /* of the limit in struct spec_partition */
} limits[] = {
	{PLAN_NODES, offsetof(struct spec_partition, nodes)},
	{PLAN_GPUS_PER_NODE, offsetof(struct spec_partition, gpus_per_node)},
	{PLAN_CPUS_PER_NODE, offsetof(struct spec_partition, cpus_per_node)},
};

static void check_known(struct plan_work *work)
{
	const struct spec_value *name = &work->spec->batch.partition;
	const struct spec_table *table = &work->site->partitions;
	const struct spec_partition *partitions = table->entries;
	const char *nearest;

	if (!name->given || strchr(name->text, ',') || table->count == 0 ||
	    work->plan->partition)
		return;
	nearest = launch_nearest(name->text, &partitions[0].name.text, table->count,
				 sizeof(*partitions));
	/* A warning: the profile may be older than the cluster. */
	diag_add(work->diag, DIAG_WARNING, "plan-partition", &name->place,
		 "the site profile has no partition %.60s%s%s%s", name->text,
		 nearest ? "; did you mean " : "", nearest ? nearest : "",
		 nearest ? "?" : "");
}

/* The given number that QUANTITY is or comes from; NULL: none. */
static const struct diag_place *place_of(const struct plan_work *work,
					 enum plan_quantity quantity)
{
	return plan_latest_place(work, work->roots[quantity]);
}

static int over(struct plan_work *work, const struct diag_place *place, const char *what,
		const char *limit)
{
	const struct spec_value *partition = &work->spec->batch.partition;

	diag_add(work->diag, DIAG_ERROR, "plan-limit", place ? place : &partition->place,
		 "%s is more than partition %s allows: %s (%s)", what,
		 work->plan->partition->name.text, limit, work->site->file);
	return -EINVAL;
}

static int check_numbers(struct plan_work *work)
{
	const struct plan *plan = work->plan;
	int rc = 0;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const struct spec_value *limit =
			(const void *)((const char *)plan->partition + limits[i].offset);
		uint64_t value = plan_value(plan, limits[i].quantity);
		char what[64], most[24];

		if (!limit->given || value <= limit->number)
			continue;
		snprintf(what, sizeof(what), "%s %llu",
			 plan_quantity_name(limits[i].quantity),
			 (unsigned long long)value);
		snprintf(most, sizeof(most), "%llu", (unsigned long long)limit->number);
		rc = over(work, place_of(work, limits[i].quantity), what, most);
	}
	return rc;
}

static int check_texts(struct plan_work *work)
{
	const struct {
		const struct spec_value *value, *limit;
		const char *name;
	} pairs[] = {
		{&work->spec->resources.mem, &work->plan->partition->mem, "mem"},
		{&work->spec->batch.time, &work->plan->partition->time, "time"},
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char what[64];

		if (!pairs[i].value->given || !pairs[i].limit->given ||
		    pairs[i].value->number <= pairs[i].limit->number)
			continue;
		snprintf(what, sizeof(what), "%s %.40s", pairs[i].name,
			 pairs[i].value->text);
		rc = over(work, &pairs[i].value->place, what, pairs[i].limit->text);
	}
	return rc;
}

/* --gpus-per-task counts whole GPUs of each task; several tasks on one GPU have no
 * number. */
static int check_dialect(struct plan_work *work)
{
	const struct plan *plan = work->plan;

	if (plan->dialect != SPEC_DIALECT_GPUS_PER_TASK ||
	    plan_known(plan, PLAN_GPUS_PER_TASK))
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-dialect",
		 place_of(work, PLAN_TASKS_PER_GPU),
		 "tasks_per_gpu %llu cannot be asked for by --gpus-per-task, which %s "
		 "demands",
		 (unsigned long long)plan_value(plan, PLAN_TASKS_PER_GPU),
		 work->site->file ? work->site->file : "the site profile");
	diag_fix(work->diag,
		 "a launcher of the node shape, as torchrun, can share a GPU here");
	return -EINVAL;
}

/* No node has as many; the plugin would end every task of such a step. */
static int check_gpus(struct plan_work *work)
{
	uint64_t gpus = plan_value(work->plan, PLAN_GPUS_PER_NODE);

	if (gpus <= LAUNCH_GPUS_MAX)
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-limit", place_of(work, PLAN_GPUS_PER_NODE),
		 "gpus_per_node %llu is more than the plugin takes: %d GPUs a node",
		 (unsigned long long)gpus, LAUNCH_GPUS_MAX);
	return -EINVAL;
}

int plan_check_limits(struct plan_work *work)
{
	int rc = check_dialect(work), gpus = check_gpus(work), numbers = 0, texts = 0;

	check_known(work);
	if (work->plan->partition) {
		numbers = check_numbers(work);
		texts = check_texts(work);
	}
	return rc < 0 || gpus < 0 || numbers < 0 || texts < 0 ? -EINVAL : 0;
}
