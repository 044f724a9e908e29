/* SPDX-License-Identifier: MIT */
/*
 * From a spec to a plan: take what is given, apply the identities, then fill the gaps in
 * a fixed order (shape, one rank a GPU, nodes), and say which number is missing where no
 * rule fills it. A gap is filled by a default only where sbatch itself would do the same
 * or where nothing else can be meant.
 */
#include "gen/plan/plan.h"

#include "gen/plan/resolve.h"
#include "gen/plan/sweep.h"
#include "gen/spec/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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
		/* `auto` is settled when the rest is: see cpus.c. */
		if (value->word) {
			work->auto_cpus |= givens[i].quantity == PLAN_CPUS_PER_TASK;
			continue;
		}
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
static int take_gpus(struct plan_work *work)
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
	work->gpus = some || value;
	if (zero && work->gpus) {
		const bool first = number[counts[0]].origin == PLAN_GIVEN &&
				   number[counts[0]].value == 0;
		const enum plan_quantity none = counts[first ? 0 : 1];
		const enum plan_quantity other = counts[first ? 1 : 0];
		char count[24];

		snprintf(count, sizeof(count), "%llu",
			 (unsigned long long)number[other].value);
		diag_add(work->diag, DIAG_ERROR, "plan-identity", &number[none].place,
			 "%s 0 asks for no GPU, and %s %s for some",
			 plan_quantity_name(none),
			 value ? name : plan_quantity_name(other),
			 value ? value->text : count);
		return -EINVAL;
	}
	for (size_t i = 0; i < 2 && !work->gpus; i++) {
		if (number[counts[i]].origin == PLAN_UNKNOWN)
			plan_set(work, counts[i], 0, PLAN_DEFAULT, "no GPU is asked for");
	}
	if (!work->gpus)
		plan_set(work, PLAN_GPUS_PER_TASK, 0, PLAN_DEFAULT,
			 "no GPU is asked for");
	return 0;
}

static bool is_unknown(const struct plan_work *work, enum plan_quantity quantity)
{
	return !plan_known(work->plan, quantity);
}

static int fill(struct plan_work *work, enum plan_quantity quantity, uint64_t value,
		enum plan_origin origin, const char *reason)
{
	plan_set(work, quantity, value, origin, reason);
	return plan_propagate(work);
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
		return fill(work, PLAN_NODES, 1, PLAN_SITE, reason);
	if (total % size == 0)
		return fill(work, PLAN_GPUS_PER_NODE, size, PLAN_SITE, reason);
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

static int settle_nodes(struct plan_work *work)
{
	static const enum plan_quantity totals[] = {PLAN_GPUS, PLAN_NTASKS,
						    PLAN_WORLD_SIZE};
	char what[128];
	int rc = work->gpus ? spread_by_site(work) : 0;

	if (rc < 0 || !is_unknown(work, PLAN_NODES))
		return rc;
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		const struct plan_number *total = &work->plan->number[totals[i]];

		if (total->value == 1)
			return fill(work, PLAN_NODES, 1, PLAN_INFERRED,
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
	return fill(work, PLAN_NODES, 1, PLAN_DEFAULT, "default");
}

static int settle_tasks(struct plan_work *work)
{
	const struct plan *plan = work->plan;

	if (work->gpus && is_unknown(work, PLAN_GPUS_PER_NODE)) {
		char what[128];
		const char *name = NULL;
		const struct spec_value *value = speaks_of_gpus(work->spec, &name);

		snprintf(what, sizeof(what), "%s is given, but no number of GPUs",
			 name ? name : "a GPU");
		return missing(work, value ? &value->place : NULL, what,
			       "add gpus_per_node");
	}
	if (plan->shape == LAUNCH_WORKER && is_unknown(work, PLAN_NTASKS_PER_NODE))
		return fill(work, PLAN_NTASKS_PER_NODE, 1, PLAN_DEFAULT, "default");
	return 0;
}

/* Ranks a node where no GPU counts them. */
static int settle_workers(struct plan_work *work)
{
	uint64_t tasks = plan_value(work->plan, PLAN_NTASKS_PER_NODE);

	if (!is_unknown(work, PLAN_WORKERS_PER_NODE))
		return 0;
	if (work->plan->shape == LAUNCH_NODE)
		return fill(work, PLAN_WORKERS_PER_NODE, 1, PLAN_DEFAULT,
			    "no GPU: one worker a node");
	if (fill(work, PLAN_WORKERS_PER_NODE, tasks, PLAN_INFERRED,
		 "ntasks_per_node, one rank a task") < 0)
		return -EINVAL;
	work->roots[PLAN_WORKERS_PER_NODE] = work->roots[PLAN_NTASKS_PER_NODE];
	return 0;
}

static int settle_counts(struct plan_work *work)
{
	int rc = plan_propagate(work);

	if (rc == 0 && work->gpus && is_unknown(work, PLAN_TASKS_PER_GPU))
		rc = fill(work, PLAN_TASKS_PER_GPU, 1, PLAN_DEFAULT,
			  "default: one rank a GPU");
	if (rc == 0 && is_unknown(work, PLAN_NODES))
		rc = settle_nodes(work);
	if (rc == 0)
		rc = settle_tasks(work);
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

int plan_settle(struct plan_work *work)
{
	int rc = settle_counts(work);
	int memory = 0, limits;

	if (rc == 0)
		rc = plan_share_cpus(work);
	if (rc == 0)
		rc = check_cpus(work);
	if (rc == 0)
		memory = plan_ask_memory(work);
	if (rc == -ENOMEM || memory == -ENOMEM)
		return -ENOMEM;
	/* Numbers that contradict each other may be over a limit all the same. */
	limits = plan_check_limits(work);
	return rc < 0 ? rc : memory < 0 ? memory : limits;
}

/*
 * --gpus-per-task makes Slurm bind each task to its own GPU, which is cuda:0 there and
 * not cuda:LOCAL_RANK. Who wants it so says `gpus: none`, and where there is no plugin
 * nothing else would bind the tasks.
 */
static bool needs_unbinding(const struct plan_work *work)
{
	const struct spec_value *gpus = &work->spec->binding.gpus;
	const struct plan *plan = work->plan;

	if (plan->dialect != SPEC_DIALECT_GPUS_PER_TASK ||
	    plan_value(plan, PLAN_GPUS) == 0 ||
	    plan_value(plan, PLAN_NTASKS_PER_NODE) <= 1)
		return false;
	if (plan->launcher->bare && plan->means == SPEC_MEANS_SHELL)
		return false;
	return !(gpus->given && strcmp(gpus->text, "none") == 0);
}

/* What has nothing to do with the numbers: faults of all kinds are told in one run. */
static int make_rest(struct plan_work *work)
{
	int (*const parts[])(struct plan_work *) = {
		plan_resolve_run,
		plan_resolve_batch,
		plan_check_values,
	};
	int result = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int rc = parts[i](work);

		if (rc == -ENOMEM)
			return rc;
		if (rc < 0)
			result = rc;
	}
	return result;
}

static int make(struct plan_work *work)
{
	struct plan *plan = work->plan;
	int rc, rest;

	plan->dialect = (enum spec_dialect)work->site->gpu_dialect.number;
	if (work->spec->resources.gpu_type.given)
		plan->gpu_type = work->spec->resources.gpu_type.text;
	rc = take_given(work);
	if (rc == 0)
		rc = take_launcher(work);
	rest = plan->launcher ? make_rest(work) : 0;
	if (rest == -ENOMEM)
		return rest;
	if (rc == 0)
		rc = take_gpus(work);
	if (rc == 0)
		rc = plan_choose(work);
	if (rc == 0)
		rc = plan_list_identities(work);
	if (rc == 0)
		rc = plan_resolve_settings(work);
	if (rc == 0 && rest == 0)
		rc = plan_check_training(work);
	if (rc == 0) {
		plan->unbind = needs_unbinding(work);
		warn_when_nothing_given(work);
	}
	return rc < 0 ? rc : rest;
}

/* The numbers of the whole job, of which only the sums mean anything. */
static void add_up(struct plan *plan)
{
	static const enum plan_quantity sums[] = {PLAN_NODES, PLAN_GPUS, PLAN_NTASKS,
						  PLAN_WORLD_SIZE};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		struct plan_number *number = &plan->number[sums[i]];

		number->origin = PLAN_INFERRED;
		number->reason = "sum of the components";
		for (size_t j = 0; j < plan->components_count; j++)
			number->value += plan_value(&plan->components[j], sums[i]);
	}
}

static int make_components(struct plan_work *work)
{
	const struct spec *specs = work->spec->het.entries;
	const size_t count = work->spec->het.count;
	struct plan *plan = work->plan;
	const struct plan *first;
	int result = 0;

	plan->components =
		spec_arena_alloc(&plan->arena, count * sizeof(*plan->components));
	if (!plan->components)
		return -ENOMEM;
	plan->component_specs = specs;
	plan->components_count = count;
	for (size_t i = 0; i < count && result != -ENOMEM; i++) {
		int rc = plan_make(&plan->components[i], &specs[i], work->site,
				   work->diag);

		if (rc < 0)
			result = rc;
	}
	if (work->spec->batch.array.range.given ||
	    (plan_sweep_points(work->spec) > 0 &&
	     work->spec->sweep.as.number != SPEC_SWEEP_FILES)) {
		diag_add(work->diag, DIAG_ERROR, "plan-batch", &work->spec->het.place,
			 "Slurm has no arrays of heterogeneous jobs");
		result = -EINVAL;
	}
	if (result < 0)
		return result;
	/* What holds for the job as a whole is the same in each. */
	first = &plan->components[0];
	plan->launcher = first->launcher;
	plan->launcher_given = first->launcher_given;
	plan->shape = first->shape;
	plan->dialect = first->dialect;
	plan->means = first->means;
	plan->rendezvous = first->rendezvous;
	plan->srank = first->srank;
	plan->env = first->env;
	plan->env_count = first->env_count;
	plan->omp_auto = first->omp_auto;
	add_up(plan);
	return plan_resolve_batch(work);
}

int plan_make(struct plan *plan, const struct spec *spec, const struct spec_site *site,
	      struct diag *diag)
{
	struct plan_work work = {.plan = plan, .spec = spec, .site = site, .diag = diag};
	int sweep = plan_sweep_check(spec, diag);
	int rc = spec->het.count ? make_components(&work) : make(&work);

	return rc < 0 ? rc : sweep;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* The shape of one component, without its sum. */
static void describe_shape(const struct plan *plan, FILE *out)
{
	unsigned long long nodes = plan_value(plan, PLAN_NODES);
	unsigned long long tasks = plan_value(plan, PLAN_NTASKS_PER_NODE);
	unsigned long long workers = plan_value(plan, PLAN_WORKERS_PER_NODE);

	fprintf(out, "%llu node%s x %llu task%s", nodes, plural(nodes), tasks,
		plural(tasks));
	if (plan->shape == LAUNCH_NODE)
		fprintf(out, " x %llu worker%s", workers, plural(workers));
}

void plan_sentence(const struct plan *plan, char *text, size_t size)
{
	unsigned long long ranks = plan_value(plan, PLAN_WORLD_SIZE);
	char *line = NULL;
	size_t length;
	FILE *out = open_memstream(&line, &length);

	text[0] = '\0';
	if (!out)
		return;
	if (!plan->components_count)
		describe_shape(plan, out);
	for (size_t i = 0; i < plan->components_count; i++) {
		fputs(i ? " + " : "", out);
		describe_shape(&plan->components[i], out);
	}
	fprintf(out, " = %llu rank%s", ranks, plural(ranks));
	if (fclose(out) == 0)
		snprintf(text, size, "%s", line);
	free(line);
}

void plan_clear(struct plan *plan)
{
	for (size_t i = 0; i < plan->components_count; i++)
		plan_clear(&plan->components[i]);
	spec_arena_free(&plan->arena);
	memset(plan, 0, sizeof(*plan));
}
