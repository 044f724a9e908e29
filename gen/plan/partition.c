/* SPDX-License-Identifier: MIT */
/*
 * Which partition the job goes to: the one that the spec names; without a name the
 * cluster's default one if the job fits into it, else the best of those that it fits
 * into. Whether it fits is found by making the plan for it, with the complaints kept
 * aside.
 */
#include "gen/plan/resolve.h"

#include "gen/spec/arena.h"
#include "spank/launch/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct spec_partition *partition_at(const struct plan_work *work, size_t i)
{
	return (const struct spec_partition *)work->site->partitions.entries + i;
}

/*
 * Makes the plan for PARTITION on the side. 0: it fits; -EINVAL: *WHY, unless NULL, gets
 * the first complaint, to be freed; -ENOMEM.
 */
static int try_partition(struct plan_work *work, const struct spec_partition *partition,
			 char **why)
{
	struct diag diag = {0};
	struct plan plan = *work->plan;
	struct plan_work trial = *work;
	int rc;

	plan.partition = partition;
	trial.plan = &plan;
	trial.diag = &diag;
	rc = plan_settle(&trial);
	/* What was made meanwhile is the arena's, which belongs to the plan. */
	work->plan->arena = plan.arena;
	if (rc == -EINVAL && why && diag.count > 0 && diag.items[0].message)
		*why = strdup(diag.items[0].message);
	diag_clear(&diag);
	return rc;
}

/* A job with GPUs goes where they are known to be, and no other job where they are many.
 */
static bool is_better(const struct plan_work *work, const struct spec_partition *a,
		      const struct spec_partition *b)
{
	const uint64_t a_gpus = a->gpus_per_node.number, b_gpus = b->gpus_per_node.number;
	const uint64_t a_cpus = plan_usable_cpus(a), b_cpus = plan_usable_cpus(b);

	if (work->gpus && !a_gpus != !b_gpus)
		return a_gpus > 0;
	if (a_gpus != b_gpus)
		return a_gpus < b_gpus;
	return a_cpus && (!b_cpus || a_cpus < b_cpus);
}

/*
 * True when the job may go to PARTITION on its own accord: a job with GPUs only where
 * they are known to be, if the profile knows of any.
 */
static bool is_candidate(const struct plan_work *work,
			 const struct spec_partition *partition)
{
	bool known = false;

	for (size_t i = 0; i < work->site->partitions.count; i++)
		known |= partition_at(work, i)->gpus_per_node.given;
	return !work->gpus || !known || partition->gpus_per_node.number > 0;
}

/* The best that the job fits into, in *BEST; NULL: there is none. */
static int find_best(struct plan_work *work, const struct spec_partition **best)
{
	*best = NULL;
	for (size_t i = 0; i < work->site->partitions.count; i++) {
		const struct spec_partition *partition = partition_at(work, i);
		int rc;

		if (!is_candidate(work, partition))
			continue;
		if (*best && !is_better(work, partition, *best))
			continue;
		rc = try_partition(work, partition, NULL);
		if (rc == -ENOMEM)
			return rc;
		if (rc == 0)
			*best = partition;
	}
	return 0;
}

/* Why the job fits nowhere: for each partition what stands in the way. */
static int fits_nowhere(struct plan_work *work)
{
	const struct spec_value *name = &work->spec->batch.partition;
	const struct diag_place file = {.file = work->spec->file};
	size_t errors = work->diag->errors, count = work->site->partitions.count;
	const struct spec_partition *likely = spec_site_default(work->site);
	char *text = NULL;
	size_t length;
	FILE *out;
	int rc;

	if (!likely && count == 1)
		likely = partition_at(work, 0);
	if (likely) {
		work->plan->partition = likely;
		rc = plan_settle(work);
		/* A job that has GPUs may fit numbers of a partition that has none. */
		if (rc < 0 || work->diag->errors > errors)
			return rc < 0 ? rc : -EINVAL;
	}
	out = open_memstream(&text, &length);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < count && i < 8; i++) {
		char *why = NULL;

		try_partition(work, partition_at(work, i), &why);
		fprintf(out, "%s%s: %s", i ? "; " : "", partition_at(work, i)->name.text,
			why && is_candidate(work, partition_at(work, i))
				? why
				: "no GPU is known there");
		free(why);
	}
	if (fclose(out) != 0)
		return -ENOMEM;
	diag_add(work->diag, DIAG_ERROR, "plan-partition",
		 name->given ? &name->place : &file,
		 "the job fits into no partition of %s: %s", work->site->file, text);
	free(text);
	return -EINVAL;
}

/* True when the given numbers contradict each other, whatever the partition. */
static bool contradicts(const struct plan_work *work)
{
	struct diag diag = {0};
	struct plan plan = *work->plan;
	struct plan_work trial = *work;

	trial.plan = &plan;
	trial.diag = &diag;
	plan_propagate(&trial);
	work->plan->arena = plan.arena;
	diag_clear(&diag);
	return trial.failed;
}

static int choose_any(struct plan_work *work)
{
	const struct spec_value *name = &work->spec->batch.partition;
	const struct spec_partition *best, *usual = spec_site_default(work->site);
	struct plan_batch *batch = &work->plan->batch;
	size_t errors = work->diag->errors;
	int rc;

	if (contradicts(work)) {
		work->plan->partition = usual;
		return plan_settle(work);
	}
	if (usual && is_candidate(work, usual)) {
		rc = try_partition(work, usual, NULL);
		if (rc == -ENOMEM)
			return rc;
		if (rc == 0) {
			work->plan->partition = usual;
			if (name->given)
				batch->partition = usual->name.text;
			batch->chosen = name->given;
			return plan_settle(work);
		}
	}
	rc = find_best(work, &best);
	if (rc < 0)
		return rc;
	if (!best)
		return fits_nowhere(work);
	work->plan->partition = best;
	batch->partition = best->name.text;
	batch->chosen = true;
	rc = plan_settle(work);
	if (rc == 0 && work->diag->errors == errors && usual) {
		const struct diag_place file = {.file = work->spec->file};

		diag_add(work->diag, DIAG_NOTE, "plan-partition",
			 name->given ? &name->place : &file,
			 "the job does not fit into the default partition, %s; %s is "
			 "taken",
			 usual->name.text, best->name.text);
	}
	return rc;
}

/* The first of the partitions in the text "a,b" that the job fits into; NULL: none is
 * known, or nothing is known of one of them. */
static int choose_listed(struct plan_work *work, const struct spec_partition **chosen)
{
	const char *text = work->spec->batch.partition.text;
	const struct spec_partition *first = NULL;
	bool unknown = false;

	*chosen = NULL;
	for (;;) {
		const size_t length = strcspn(text, ",");
		const struct spec_partition *partition;
		char *name = strndup(text, length);
		int rc = 0;

		if (!name)
			return -ENOMEM;
		partition = spec_site_partition(work->site, name);
		free(name);
		unknown |= !partition;
		if (partition && !first)
			first = partition;
		if (partition)
			rc = try_partition(work, partition, NULL);
		if (rc == -ENOMEM)
			return rc;
		if (partition && rc == 0) {
			*chosen = partition;
			return 0;
		}
		if (text[length] == '\0')
			break;
		text += length + 1;
	}
	/* The complaints about the first of them are as good as any. */
	if (!unknown)
		*chosen = first;
	return 0;
}

static void warn_unknown(struct plan_work *work)
{
	const struct spec_value *name = &work->spec->batch.partition;
	const struct spec_table *table = &work->site->partitions;
	const char *nearest =
		launch_nearest(name->text, &partition_at(work, 0)->name.text,
			       table->count, sizeof(struct spec_partition));

	/* A warning: the profile may be older than the cluster. */
	diag_add(work->diag, DIAG_WARNING, "plan-partition", &name->place,
		 "the site profile has no partition %.60s%s%s%s", name->text,
		 nearest ? "; did you mean " : "", nearest ? nearest : "",
		 nearest ? "?" : "");
}

int plan_choose(struct plan_work *work)
{
	const struct spec_value *name = &work->spec->batch.partition;
	const bool any = !name->given || strcmp(name->text, "auto") == 0;
	struct plan *plan = work->plan;
	int rc = 0;

	if (any && work->site->partitions.count > 0)
		return choose_any(work);
	if (any && name->given) {
		diag_add(work->diag, DIAG_ERROR, "plan-partition", &name->place,
			 "partition is auto, but no site profile lists the partitions");
		diag_fix(work->diag, "name one, or let `srank site` write a profile");
		rc = -EINVAL;
	}
	if (!any) {
		plan->batch.partition = name->text;
		if (strchr(name->text, ','))
			rc = choose_listed(work, &plan->partition);
		else
			plan->partition = spec_site_partition(work->site, name->text);
		if (rc < 0)
			return rc;
		if (!plan->partition && work->site->partitions.count > 0 &&
		    !strchr(name->text, ','))
			warn_unknown(work);
	}
	if (rc < 0) {
		int settled = plan_settle(work);

		return settled == -ENOMEM ? settled : rc;
	}
	return plan_settle(work);
}
