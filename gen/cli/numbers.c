/* SPDX-License-Identifier: MIT */
/*
 * The first part of `srank explain`: every number of the plan and why it is so, what the
 * header asks for besides, the identities that were checked, and the samples of an
 * MMDetection training.
 */
#include "gen/cli/cli.h"
#include "gen/plan/sweep.h"
#include "gen/utf8.h"

#include <inttypes.h>
#include <string.h>

static void print_number(const char *name, const char *value, const char *reason)
{
	/* A long value takes of the room that a short name leaves. */
	printf("  %s %*s  ", name, 25 - (int)strlen(name), value);
	/* It may name a file. */
	utf8_escape(stdout, reason);
	putchar('\n');
}

static void print_given(const char *name, const struct spec_value *value)
{
	char reason[512];

	if (!value->given)
		return;
	snprintf(reason, sizeof(reason), "given at %s:%" PRIu32 ":%" PRIu32,
		 value->place.file, value->place.line, value->place.column);
	print_number(name, value->text, reason);
}

/* A value that the plan made of several, or of none; NULL: there is none. */
static void print_made(const char *name, const char *value, const char *reason)
{
	if (value)
		print_number(name, value, reason);
}

static void print_partition(const struct spec *spec, const struct plan *plan)
{
	const struct plan_batch *batch = &plan->batch;
	char reason[160];

	if (!batch->partition) {
		if (plan->partition)
			print_number("partition", "-",
				     "not asked for: the job fits into the default one");
		return;
	}
	if (!batch->chosen) {
		print_given("partition", &spec->batch.partition);
		return;
	}
	snprintf(reason, sizeof(reason), "chosen: the job fits into it%s",
		 spec->batch.partition.given ? "" : ", and none is given");
	print_number("partition", batch->partition, reason);
}

static void print_memory(const struct plan *plan)
{
	const struct plan_memory *memory = &plan->memory;
	const char *name = !memory->option                              ? "mem"
			   : strcmp(memory->option, "mem-per-cpu") == 0 ? "mem_per_cpu"
			   : strcmp(memory->option, "mem-per-gpu") == 0 ? "mem_per_gpu"
									: "mem";

	if (memory->reason)
		print_number(name, memory->option ? memory->value : "-", memory->reason);
}

/* The samples between two changes of the weights, and what that does to the rate. */
static void print_training(const struct plan *plan)
{
	const struct plan_training *training = &plan->training;
	char value[24];

	if (training->per_rank) {
		snprintf(value, sizeof(value), "%" PRIu64, training->per_rank);
		print_number("batch_size", value, training->per_rank_reason);
	}
	if (training->base) {
		snprintf(value, sizeof(value), "%" PRIu64, training->base);
		print_number("base_batch", value, training->base_reason);
	}
	if (training->workers) {
		char reason[80];

		snprintf(value, sizeof(value), "%" PRIu64, training->workers);
		snprintf(reason, sizeof(reason),
			 "loaders of a rank, which has %" PRIu64 " CPUs",
			 training->cpus_per_rank);
		print_number("num_workers", value,
			     training->cpus_per_rank ? reason : "loaders of a rank");
	}
}

static void print_samples(const struct plan *plan)
{
	const struct plan_training *training = &plan->training;

	if (!training->per_rank)
		return;
	printf("  samples %" PRIu64 " = world_size %" PRIu64 " x batch_size %" PRIu64,
	       training->total, plan_value(plan, PLAN_WORLD_SIZE), training->per_rank);
	if (training->accumulate > 1)
		printf(" x accumulate %" PRIu64, training->accumulate);
	if (training->base)
		printf(", %g times base_batch %" PRIu64 ": %s",
		       (double)training->total / (double)training->base, training->base,
		       training->total == training->base ? "the learning rate fits"
		       : training->scaled
			       ? "the learning rate is scaled (--auto-scale-lr)"
			       : "the learning rate is not scaled");
	putchar('\n');
}

static void print_plan(const struct spec *spec, const struct plan *plan)
{
	char value[24];

	puts("numbers");
	for (int i = 0; i < PLAN_QUANTITIES; i++) {
		if (!plan_known(plan, i))
			continue;
		snprintf(value, sizeof(value), "%" PRIu64, plan_value(plan, i));
		print_number(plan_quantity_name(i), value, plan->number[i].reason);
	}
	print_memory(plan);
	print_partition(spec, plan);
	print_given("time", &spec->batch.time);
	print_training(plan);
	if (plan->checked_count)
		puts("\nchecked");
	for (size_t i = 0; i < plan->checked_count; i++)
		printf("  %s\n", plan->checked[i]);
	print_samples(plan);
}

/* What the job does as a whole. */
static void print_batch(const struct cli_job *job)
{
	const struct plan_batch *batch = &job->plan.batch;
	const struct spec *spec = &job->spec;
	const bool retry = spec->retry.max.given && spec->retry.max.number;
	const bool preflight = spec->preflight.given && spec->preflight.number;
	const char *again = retry ? "the job is started again (retry)" : "requeue";

	if (!batch->array && !batch->dependency && !batch->signal && !batch->requeue &&
	    !batch->open_mode && !preflight)
		return;
	puts("\njob");
	print_made("array", batch->array,
		   plan_sweep_points(spec) ? "the points of the sweep" : "given");
	print_made("dependency", batch->dependency, "given");
	print_made("signal", batch->signal,
		   spec->batch.signal.name.given ? "given" : again);
	print_made("requeue", batch->requeue,
		   spec->batch.requeue.given ? "given" : again);
	print_made("open_mode", batch->open_mode,
		   spec->batch.open_mode.given ? "given" : again);
	print_made(
		"preflight", preflight ? "yes" : NULL,
		job->plan.launcher->bare
			? "steps ahead of the ranks look at nodes and GPUs"
			: "steps ahead of the ranks look at nodes and GPUs, and whether "
			  "the ranks can meet");
}

void cli_print_numbers(const struct cli_job *job)
{
	const struct plan *plan = &job->plan;
	char sentence[256];

	plan_sentence(plan, sentence, sizeof(sentence));
	printf("%s\n\n", sentence);
	if (job->points > 0)
		printf("point %" PRIu64 " of 0 to %" PRIu64 "%s\n\n", job->here.number,
		       job->points - 1, job->point ? "" : "; --point N explains another");
	printf("launcher %s: %s (%s)\n\n", plan->launcher->name, plan->launcher->summary,
	       plan->launcher_given ? "given" : "nothing was said; the default");
	if (!plan->components_count)
		print_plan(&job->spec, plan);
	for (size_t i = 0; i < plan->components_count; i++) {
		printf("%scomponent %zu: ", i ? "\n" : "", i);
		print_plan(&plan->component_specs[i], &plan->components[i]);
	}
	print_batch(job);
}

void cli_print_components(const struct plan *plan)
{
	uint64_t node = 0, rank = 0;

	printf("\n  %-9s  %-15s  %s\n", "component", "nodes", "ranks");
	for (size_t i = 0; i < plan->components_count; i++) {
		const uint64_t nodes = plan_value(&plan->components[i], PLAN_NODES);
		const uint64_t ranks = plan_value(&plan->components[i], PLAN_WORLD_SIZE);
		char text[32];

		snprintf(text, sizeof(text), "%" PRIu64 " to %" PRIu64, node,
			 node + nodes - 1);
		printf("  %9zu  %-15s  %" PRIu64 " to %" PRIu64 "\n", i, text, rank,
		       rank + ranks - 1);
		node += nodes;
		rank += ranks;
	}
}
