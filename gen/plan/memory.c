/* SPDX-License-Identifier: MIT */
/*
 * Memory: the spec says it for a node, a CPU or a GPU, the site wants it asked for in its
 * own way, and the limit of the partition is in MiB a node.
 */
#include "gen/plan/resolve.h"

#include "gen/spec/arena.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum unit {
	BY_NODE,
	BY_CPU,
	BY_GPU,
	UNITS,
};

static const struct {
	const char *key, *option, *noun;
} units[UNITS] = {
	[BY_NODE] = {"mem", "mem", "node"},
	[BY_CPU] = {"mem_per_cpu", "mem-per-cpu", "CPU"},
	[BY_GPU] = {"mem_per_gpu", "mem-per-gpu", "GPU"},
};

static const struct spec_value *value_of(const struct plan_work *work, enum unit unit)
{
	const struct spec_value *const values[UNITS] = {
		[BY_NODE] = &work->spec->resources.mem,
		[BY_CPU] = &work->spec->resources.mem_per_cpu,
		[BY_GPU] = &work->spec->resources.mem_per_gpu,
	};

	return values[unit];
}

/* How many UNITs a node of the job has. */
static uint64_t count_of(const struct plan_work *work, enum unit unit)
{
	const struct plan *plan = work->plan;

	switch (unit) {
	case BY_CPU:
		/* A task of which nothing is said has one CPU (sbatch.1). */
		return plan_known(plan, PLAN_CPUS_PER_NODE)
			       ? plan_value(plan, PLAN_CPUS_PER_NODE)
			       : plan_value(plan, PLAN_NTASKS_PER_NODE);
	case BY_GPU:
		return plan_value(plan, PLAN_GPUS_PER_NODE);
	default:
		return 1;
	}
}

/* The one that is given; UNITS: none. -EINVAL, reported: several are. */
static int find_given(struct plan_work *work, enum unit *given)
{
	int rc = 0;

	*given = UNITS;
	for (enum unit unit = BY_NODE; unit < UNITS; unit++) {
		if (!value_of(work, unit)->given)
			continue;
		if (*given != UNITS) {
			diag_add(work->diag, DIAG_ERROR, "plan-memory",
				 &value_of(work, unit)->place,
				 "%s %.40s is given beside %s %.40s; Slurm takes one of "
				 "them",
				 units[unit].key, value_of(work, unit)->text,
				 units[*given].key, value_of(work, *given)->text);
			rc = -EINVAL;
		}
		*given = unit;
	}
	return rc;
}

/* What the site wants to be asked. */
static enum unit wanted(const struct plan_work *work, enum unit given)
{
	switch (work->site->mem_dialect.number) {
	case SPEC_MEMORY_NODE:
		return BY_NODE;
	case SPEC_MEMORY_CPU:
		return BY_CPU;
	case SPEC_MEMORY_GPU:
		return work->gpus ? BY_GPU : BY_NODE;
	default:
		return given;
	}
}

static const char *site_name(const struct plan_work *work)
{
	return work->site->file ? work->site->file : "the site profile";
}

/* --mem-per-gpu is a TRES of a GRES, which only cons_tres has (src/common/gres.c). */
static int check_select(struct plan_work *work, enum unit unit,
			const struct diag_place *place)
{
	if (unit != BY_GPU || work->site->select.number == SPEC_SELECT_CONS_TRES)
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-memory", place,
		 "--mem-per-gpu needs select/cons_tres, and %s says select: %s",
		 site_name(work), work->site->select.text);
	diag_fix(work->diag, "give mem, the memory of a node");
	return -EINVAL;
}

static const char *size_text(struct plan_work *work, uint64_t mib)
{
	const bool whole = mib % 1024 == 0 && mib > 0;

	return spec_arena_format(&work->plan->arena, "%llu%c",
				 (unsigned long long)(whole ? mib / 1024 : mib),
				 whole ? 'G' : 'M');
}

/* GIVEN as TO; rounded up, so that the job has what it asked for. */
static int convert(struct plan_work *work, enum unit given, enum unit to)
{
	struct plan_memory *memory = &work->plan->memory;
	const struct spec_value *value = value_of(work, given);
	const uint64_t count = count_of(work, to);

	if (value->number == 0) {
		diag_add(work->diag, DIAG_ERROR, "plan-memory", &value->place,
			 "%s 0 is all the memory of a node, which cannot be asked for by "
			 "--%s, as %s wants it",
			 units[given].key, units[to].option, site_name(work));
		diag_fix(work->diag, "give an amount");
		return -EINVAL;
	}
	memory->value = size_text(work, (memory->per_node + count - 1) / count);
	memory->reason = spec_arena_format(
		&work->plan->arena, "%s %s x %llu a node / %llu %s%s", units[given].key,
		value->text, (unsigned long long)count_of(work, given),
		(unsigned long long)count, units[to].noun, count == 1 ? "" : "s");
	memory->origin = PLAN_INFERRED;
	return memory->value && memory->reason ? 0 : -ENOMEM;
}

static int ask(struct plan_work *work, enum unit given)
{
	struct plan_memory *memory = &work->plan->memory;
	const struct spec_value *value = value_of(work, given);
	const enum unit to = wanted(work, given);

	if (given == BY_GPU && !work->gpus) {
		diag_add(work->diag, DIAG_ERROR, "plan-memory", &value->place,
			 "mem_per_gpu is given, but the job has no GPU");
		diag_fix(work->diag, "mem: %s", value->text);
		return -EINVAL;
	}
	if (check_select(work, to, &value->place) < 0)
		return -EINVAL;
	memory->place = &value->place;
	memory->per_node = value->number * count_of(work, given);
	memory->option = units[to].option;
	if (given != to)
		return convert(work, given, to);
	memory->value = value->text;
	memory->origin = PLAN_GIVEN;
	memory->reason = spec_arena_format(&work->plan->arena, "given at %s:%u:%u",
					   value->place.file, value->place.line,
					   value->place.column);
	return memory->reason ? 0 : -ENOMEM;
}

int plan_ask_memory(struct plan_work *work)
{
	struct plan_memory *memory = &work->plan->memory;
	enum unit given;
	int rc = find_given(work, &given);

	if (rc < 0 || given == UNITS)
		return rc;
	rc = ask(work, given);
	if (rc == 0 && work->site->mem_dialect.number == SPEC_MEMORY_NONE) {
		memory->option = NULL;
		memory->origin = PLAN_SITE;
		memory->reason = "the site gives memory by its own rule";
	}
	return rc;
}
