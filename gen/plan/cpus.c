/* SPDX-License-Identifier: MIT */
/*
 * `cpus_per_task: auto`: the CPUs of a node that jobs may use, the part of them that goes
 * with the job's part of the node's GPUs, spread over its tasks in whole cores. The
 * number of tasks divides once, and only here.
 */
#include "gen/plan/resolve.h"

#include "gen/spec/arena.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

uint64_t plan_usable_cpus(const struct spec_partition *partition)
{
	uint64_t cpus = partition->cpus_per_node.number;
	uint64_t reserved = partition->reserved_cpus.number;

	cpus = cpus > reserved ? cpus - reserved : 0;
	if (partition->max_cpus_per_node.given &&
	    (!cpus || partition->max_cpus_per_node.number < cpus))
		cpus = partition->max_cpus_per_node.number;
	return cpus;
}

/* Hardware threads of each core that the job uses, of THREADS. */
static uint64_t used_threads(const struct plan_work *work, uint64_t threads)
{
	const struct spec_value *asked = &work->spec->resources.threads_per_core;
	const struct spec_value *hint = &work->spec->resources.hint;

	if (asked->given && asked->number < threads)
		return asked->number;
	/* sbatch.1, --hint: both leave all but one thread of a core idle. */
	if (hint->given && (strcmp(hint->text, "nomultithread") == 0 ||
			    strcmp(hint->text, "compute_bound") == 0))
		return 1;
	return threads;
}

uint64_t plan_taken_cpus(const struct plan_work *work)
{
	const struct spec_value *threads = &work->plan->partition->threads_per_core;
	const uint64_t all = threads->given ? threads->number : 1;

	/* The idle threads of a core are taken with it. */
	return plan_value(work->plan, PLAN_CPUS_PER_NODE) * all / used_threads(work, all);
}

static bool has_whole_nodes(const struct plan_work *work)
{
	return work->spec->resources.exclusive.number ||
	       work->plan->partition->exclusive.number ||
	       work->site->select.number == SPEC_SELECT_LINEAR;
}

/* `what` is known of the partition, or it is said what to do. */
static int missing(struct plan_work *work)
{
	const struct spec_partition *partition = work->plan->partition;
	const struct spec_value *cpus = &work->spec->resources.cpus_per_task;

	if (partition)
		diag_add(
			work->diag, DIAG_ERROR, "plan-missing", &cpus->place,
			"cpus_per_task is auto, but %s does not say how many CPUs a node "
			"of partition %s has",
			work->site->file, partition->name.text);
	else
		diag_add(
			work->diag, DIAG_ERROR, "plan-missing", &cpus->place,
			"cpus_per_task is auto, but no site profile says how many CPUs a "
			"node of the partition has");
	diag_fix(work->diag,
		 "give the number, or cpus_per_gpu, or cpus_per_node in a site "
		 "profile, as `srank site` writes it");
	return -EINVAL;
}

int plan_share_cpus(struct plan_work *work)
{
	struct plan *plan = work->plan;
	const struct spec_partition *partition = plan->partition;
	uint64_t tasks = plan_value(plan, PLAN_NTASKS_PER_NODE);
	uint64_t gpus = plan_value(plan, PLAN_GPUS_PER_NODE);
	uint64_t cpus, all, threads, used, each, part = 1, parts = 1;
	char share[64] = "";
	const char *reason;

	if (!work->auto_cpus || plan_known(plan, PLAN_CPUS_PER_TASK))
		return 0;
	all = partition ? plan_usable_cpus(partition) : 0;
	if (!all)
		return missing(work);
	threads = partition->threads_per_core.given ? partition->threads_per_core.number
						    : 1;
	used = used_threads(work, threads);
	if (gpus > 0 && partition->gpus_per_node.number > gpus &&
	    !has_whole_nodes(work)) {
		part = gpus;
		parts = partition->gpus_per_node.number;
		snprintf(share, sizeof(share), " x %llu of %llu GPUs",
			 (unsigned long long)part, (unsigned long long)parts);
	}
	/* Whole cores, then threads of them: what is left of a core helps nobody. */
	cpus = all / threads * part / parts;
	each = cpus / tasks * used;
	if (each == 0) {
		diag_add(work->diag, DIAG_ERROR, "plan-cpus",
			 &work->spec->resources.cpus_per_task.place,
			 "cpus_per_task is auto, but %llu CPU%s of partition %s%s are no "
			 "whole core for each of %llu tasks",
			 (unsigned long long)all, all == 1 ? "" : "s",
			 partition->name.text, share, (unsigned long long)tasks);
		return -EINVAL;
	}
	reason = spec_arena_format(
		&plan->arena, "partition %s: %llu CPUs%s%s / %llu task%s%s",
		partition->name.text, (unsigned long long)all,
		partition->reserved_cpus.number ? ", reserved ones left out" : "", share,
		(unsigned long long)tasks, tasks == 1 ? "" : "s",
		threads > 1 ? ", whole cores" : "");
	if (!reason)
		return -ENOMEM;
	plan_set(work, PLAN_CPUS_PER_TASK, each, PLAN_SITE, reason);
	return plan_propagate(work);
}
