/* SPDX-License-Identifier: MIT */
/*
 * From a spec to a plan: take what is given, apply the identities, then fill the gaps in
 * a fixed order (shape, one rank a GPU, nodes), and say which number is missing where no
 * rule fills it. A gap is filled by a default only where sbatch itself would do the same
 * or where nothing else can be meant.
 */
#include "gen/plan/plan.h"

#include "gen/plan/resolve.h"
#include "gen/spec/arena.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_LAUNCHER "torch"

struct given {
	enum plan_quantity quantity;
	size_t offset;
};

static const struct given givens[] = {
	{PLAN_NODES, offsetof(struct spec, resources.nodes)},
	{PLAN_GPUS, offsetof(struct spec, resources.gpus)},
	{PLAN_GPUS_PER_NODE, offsetof(struct spec, resources.gpus_per_node)},
	{PLAN_TASKS_PER_GPU, offsetof(struct spec, resources.tasks_per_gpu)},
	{PLAN_NTASKS, offsetof(struct spec, resources.ntasks)},
	{PLAN_NTASKS_PER_NODE, offsetof(struct spec, resources.ntasks_per_node)},
	{PLAN_CPUS_PER_TASK, offsetof(struct spec, resources.cpus_per_task)},
	{PLAN_CPUS_PER_GPU, offsetof(struct spec, resources.cpus_per_gpu)},
};

static int take_given(struct plan_work *work)
{
	struct plan *plan = work->plan;

	for (size_t i = 0; i < sizeof(givens) / sizeof(givens[0]); i++) {
		const struct spec_value *value =
			(const void *)((const char *)work->spec + givens[i].offset);
		const char *reason;

		if (!value->given)
			continue;
		reason = spec_arena_format(&plan->arena, "given at %s:%u:%u",
					   value->place.file, value->place.line,
					   value->place.column);
		if (!reason)
			return -ENOMEM;
		plan_set(work, givens[i].quantity, value->number, PLAN_GIVEN, reason);
		plan->number[givens[i].quantity].place = value->place;
	}
	return 0;
}

static int take_launcher(struct plan_work *work)
{
	const struct spec_value *name = &work->spec->launcher;
	struct plan *plan = work->plan;
	struct plan_number *tasks = &plan->number[PLAN_NTASKS_PER_NODE];
	const char *reason;

	plan->launcher =
		launch_launcher_find(name->given ? name->text : DEFAULT_LAUNCHER);
	/* The reader of the spec has reported it. */
	if (!plan->launcher)
		return -EINVAL;
	plan->launcher_given = name->given;
	plan->shape = plan->launcher->shape;
	if (plan->shape != LAUNCH_NODE)
		return 0;
	if (tasks->origin == PLAN_GIVEN && tasks->value != 1) {
		diag_add(work->diag, DIAG_ERROR, "plan-shape", &tasks->place,
			 "ntasks_per_node is %llu, but launcher %s is one task a node "
			 "that "
			 "starts the workers itself",
			 (unsigned long long)tasks->value, plan->launcher->name);
		diag_fix(work->diag,
			 "remove ntasks_per_node; gpus_per_node and tasks_per_gpu "
			 "say how many workers there are");
		return -EINVAL;
	}
	if (tasks->origin == PLAN_GIVEN)
		return 0;
	reason = spec_arena_format(&plan->arena, "launcher %s is one task a node",
				   plan->launcher->name);
	if (!reason)
		return -ENOMEM;
	plan_set(work, PLAN_NTASKS_PER_NODE, 1, PLAN_LAUNCHER, reason);
	return 0;
}

/* The value, other than a number of GPUs, that only a job with GPUs can have; NULL: none.
 */
static const struct spec_value *speaks_of_gpus(const struct spec *spec, const char **name)
{
	const struct {
		const struct spec_value *value;
		const char *name;
	} values[] = {
		{&spec->resources.gpu_type, "gpu_type"},
		{&spec->resources.tasks_per_gpu, "tasks_per_gpu"},
		{&spec->resources.cpus_per_gpu, "cpus_per_gpu"},
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (!values[i].value->given)
			continue;
		*name = values[i].name;
		return values[i].value;
	}
	return NULL;
}

/* Settles whether the job has GPUs at all. */
static int take_gpus(struct plan_work *work, bool *gpus)
{
	static const enum plan_quantity counts[] = {PLAN_GPUS, PLAN_GPUS_PER_NODE};
	const struct plan_number *number = work->plan->number;
	const char *name = NULL;
	const struct spec_value *value = speaks_of_gpus(work->spec, &name);
	bool zero = false, some = false;

	for (size_t i = 0; i < 2; i++) {
		zero |= number[counts[i]].origin == PLAN_GIVEN &&
			number[counts[i]].value == 0;
		some |= number[counts[i]].value > 0;
	}
	*gpus = some || value;
	if (zero && *gpus) {
		const struct plan_number *none = &number[counts[0]];

		if (none->origin != PLAN_GIVEN || none->value != 0)
			none = &number[counts[1]];
		diag_add(work->diag, DIAG_ERROR, "plan-identity", &none->place,
			 "no GPU is asked for here, but %s speaks of GPUs",
			 value                        ? name
			 : none == &number[PLAN_GPUS] ? "gpus_per_node"
						      : "gpus");
		return -EINVAL;
	}
	for (size_t i = 0; i < 2 && !*gpus; i++) {
		if (number[counts[i]].origin == PLAN_UNKNOWN)
			plan_set(work, counts[i], 0, PLAN_DEFAULT, "no GPU is asked for");
	}
	if (!*gpus)
		plan_set(work, PLAN_GPUS_PER_TASK, 0, PLAN_DEFAULT,
			 "no GPU is asked for");
	return 0;
}

static bool is_unknown(const struct plan_work *work, enum plan_quantity quantity)
{
	return !plan_known(work->plan, quantity);
}

static int fill(struct plan_work *work, bool gpus, enum plan_quantity quantity,
		uint64_t value, enum plan_origin origin, const char *reason)
{
	plan_set(work, quantity, value, origin, reason);
	return plan_propagate(work, gpus);
}

static const struct spec_partition *find_partition(const struct plan_work *work)
{
	const struct spec_value *partition = &work->spec->batch.partition;

	if (!partition->given || strchr(partition->text, ','))
		return NULL;
	return spec_site_partition(work->site, partition->text);
}

/* A total of GPUs that the partition's nodes say how to spread. 0 also when they do not.
 */
static int spread_by_site(struct plan_work *work)
{
	const struct spec_partition *partition = work->plan->partition;
	uint64_t total = plan_value(work->plan, PLAN_GPUS), size;
	const char *reason;

	if (!partition || !partition->gpus_per_node.number || total == 0)
		return 0;
	size = partition->gpus_per_node.number;
	reason =
		spec_arena_format(&work->plan->arena, "partition %s has %llu GPUs a node",
				  partition->name.text, (unsigned long long)size);
	if (!reason)
		return -ENOMEM;
	if (total <= size)
		return fill(work, true, PLAN_NODES, 1, PLAN_SITE, reason);
	if (total % size == 0)
		return fill(work, true, PLAN_GPUS_PER_NODE, size, PLAN_SITE, reason);
	return 0;
}

static int missing(struct plan_work *work, const struct diag_place *place,
		   const char *what, const char *cure)
{
	const struct diag_place file = {.file = work->spec->file};

	diag_add(work->diag, DIAG_ERROR, "plan-missing", place ? place : &file, "%s",
		 what);
	diag_fix(work->diag, "%s", cure);
	return -EINVAL;
}

static int settle_nodes(struct plan_work *work, bool gpus)
{
	static const enum plan_quantity totals[] = {PLAN_GPUS, PLAN_NTASKS,
						    PLAN_WORLD_SIZE};
	char what[128];
	int rc = gpus ? spread_by_site(work) : 0;

	if (rc < 0 || !is_unknown(work, PLAN_NODES))
		return rc;
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		const struct plan_number *total = &work->plan->number[totals[i]];

		if (total->value == 1)
			return fill(work, gpus, PLAN_NODES, 1, PLAN_INFERRED,
				    "one of all needs one node");
		if (total->value == 0)
			continue;
		snprintf(what, sizeof(what),
			 "%s %llu does not say how many nodes share them",
			 plan_quantity_name(totals[i]), (unsigned long long)total->value);
		return missing(work, &total->place, what,
			       totals[i] == PLAN_GPUS ? "add nodes or gpus_per_node"
						      : "add nodes or ntasks_per_node");
	}
	return fill(work, gpus, PLAN_NODES, 1, PLAN_DEFAULT, "default");
}

static int settle_tasks(struct plan_work *work, bool gpus)
{
	const struct plan *plan = work->plan;

	if (gpus && is_unknown(work, PLAN_GPUS_PER_NODE)) {
		char what[128];
		const char *name = NULL;
		const struct spec_value *value = speaks_of_gpus(work->spec, &name);

		snprintf(what, sizeof(what), "%s is given, but no number of GPUs",
			 name ? name : "a GPU");
		return missing(work, value ? &value->place : NULL, what,
			       "add gpus_per_node");
	}
	if (plan->shape == LAUNCH_WORKER && is_unknown(work, PLAN_NTASKS_PER_NODE))
		return fill(work, gpus, PLAN_NTASKS_PER_NODE, 1, PLAN_DEFAULT, "default");
	return 0;
}

/* Ranks a node where no GPU counts them. */
static int settle_workers(struct plan_work *work)
{
	uint64_t tasks = plan_value(work->plan, PLAN_NTASKS_PER_NODE);

	if (!is_unknown(work, PLAN_WORKERS_PER_NODE))
		return 0;
	if (work->plan->shape == LAUNCH_NODE)
		return fill(work, false, PLAN_WORKERS_PER_NODE, 1, PLAN_DEFAULT,
			    "no GPU: one worker a node");
	if (fill(work, false, PLAN_WORKERS_PER_NODE, tasks, PLAN_INFERRED,
		 "ntasks_per_node, one rank a task") < 0)
		return -EINVAL;
	work->roots[PLAN_WORKERS_PER_NODE] = work->roots[PLAN_NTASKS_PER_NODE];
	return 0;
}

static int settle(struct plan_work *work, bool gpus)
{
	int rc = plan_propagate(work, gpus);

	if (rc == 0 && gpus && is_unknown(work, PLAN_TASKS_PER_GPU))
		rc = fill(work, gpus, PLAN_TASKS_PER_GPU, 1, PLAN_DEFAULT,
			  "default: one rank a GPU");
	if (rc == 0 && is_unknown(work, PLAN_NODES))
		rc = settle_nodes(work, gpus);
	if (rc == 0)
		rc = settle_tasks(work, gpus);
	if (rc == 0)
		rc = settle_workers(work);
	return rc;
}

/*
 * In the node shape --cpus-per-task is for all workers of a node. A spec that was written
 * for one task per GPU would leave them less than one CPU each, and the job would crawl.
 */
static int check_cpus(struct plan_work *work)
{
	const struct plan *plan = work->plan;
	const struct plan_number *cpus = &plan->number[PLAN_CPUS_PER_TASK];
	uint64_t workers = plan_value(plan, PLAN_WORKERS_PER_NODE);

	if (plan->shape != LAUNCH_NODE || cpus->origin != PLAN_GIVEN ||
	    cpus->value >= workers)
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-cpus", &cpus->place,
		 "cpus_per_task %llu is for the one task a node of launcher %s, and its "
		 "%llu "
		 "workers would share these CPUs",
		 (unsigned long long)cpus->value, plan->launcher->name,
		 (unsigned long long)workers);
	diag_fix(work->diag, "cpus_per_gpu: %llu means the same for every launcher",
		 (unsigned long long)cpus->value);
	return -EINVAL;
}

static void warn_when_nothing_given(struct plan_work *work)
{
	const struct diag_place file = {.file = work->spec->file};

	for (size_t i = 0; i < sizeof(givens) / sizeof(givens[0]); i++) {
		if (work->plan->number[givens[i].quantity].origin == PLAN_GIVEN)
			return;
	}
	diag_add(work->diag, DIAG_WARNING, "plan-missing", &file,
		 "resources names no nodes, tasks or GPUs: the job is one task on one "
		 "node "
		 "without GPU");
	diag_fix(work->diag, "add nodes and gpus_per_node under resources");
}

/* What SRANK must say in the job, in the words of the launch settings. */
static int name_settings(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	struct plan *plan = work->plan;
	char port[16] = "";

	if (spec->rendezvous.port.given)
		snprintf(port, sizeof(port), ",port=%u",
			 (unsigned int)spec->rendezvous.port.number);
	plan->srank = spec_arena_format(
		&plan->arena, "%s%s%s%s", plan->launcher->name,
		spec->binding.gpus.given ? ",gpus=" : "",
		spec->binding.gpus.given ? spec->binding.gpus.text : "", port);
	return plan->srank ? 0 : -ENOMEM;
}

/*
 * --gpus-per-task makes Slurm bind each task to its own GPU, which is cuda:0 there and
 * not cuda:LOCAL_RANK. Who wants it so says `gpus: none`, and where there is no plugin
 * nothing else would bind the tasks.
 */
static bool needs_unbinding(const struct plan_work *work)
{
	const struct spec_value *gpus = &work->spec->binding.gpus;

	return work->plan->dialect == SPEC_DIALECT_GPUS_PER_TASK &&
	       plan_value(work->plan, PLAN_GPUS) > 0 &&
	       plan_value(work->plan, PLAN_NTASKS_PER_NODE) > 1 &&
	       work->site->plugin.number &&
	       !(gpus->given && strcmp(gpus->text, "none") == 0);
}

static int make(struct plan_work *work)
{
	struct plan *plan = work->plan;
	bool gpus = false;
	int rc, program;

	plan->dialect = (enum spec_dialect)work->site->gpu_dialect.number;
	plan->partition = find_partition(work);
	if (work->spec->resources.gpu_type.given)
		plan->gpu_type = work->spec->resources.gpu_type.text;
	rc = take_given(work);
	if (rc == 0)
		rc = take_launcher(work);
	/* What to run has nothing to do with the numbers: report both kinds of fault. */
	program = plan->launcher ? plan_resolve_run(work) : 0;
	if (program == -ENOMEM)
		return program;
	if (rc == 0)
		rc = take_gpus(work, &gpus);
	if (rc == 0)
		rc = settle(work, gpus);
	if (rc == 0)
		rc = check_cpus(work);
	if (rc == 0)
		rc = plan_check_limits(work);
	if (rc == 0)
		rc = plan_list_identities(work, gpus);
	if (rc == 0)
		rc = name_settings(work);
	if (rc == 0) {
		plan->unbind = needs_unbinding(work);
		warn_when_nothing_given(work);
	}
	return rc < 0 ? rc : program;
}

int plan_make(struct plan *plan, const struct spec *spec, const struct spec_site *site,
	      struct diag *diag)
{
	struct plan_work work = {.plan = plan, .spec = spec, .site = site, .diag = diag};

	return make(&work);
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

void plan_sentence(const struct plan *plan, char *text, size_t size)
{
	unsigned long long nodes = plan_value(plan, PLAN_NODES);
	unsigned long long tasks = plan_value(plan, PLAN_NTASKS_PER_NODE);
	unsigned long long workers = plan_value(plan, PLAN_WORKERS_PER_NODE);
	unsigned long long ranks = plan_value(plan, PLAN_WORLD_SIZE);

	if (plan->shape == LAUNCH_NODE)
		snprintf(text, size,
			 "%llu node%s x %llu task%s x %llu worker%s = %llu rank%s", nodes,
			 plural(nodes), tasks, plural(tasks), workers, plural(workers),
			 ranks, plural(ranks));
	else
		snprintf(text, size, "%llu node%s x %llu task%s = %llu rank%s", nodes,
			 plural(nodes), tasks, plural(tasks), ranks, plural(ranks));
}

void plan_clear(struct plan *plan)
{
	spec_arena_free(&plan->arena);
	memset(plan, 0, sizeof(*plan));
}
