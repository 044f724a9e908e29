/* SPDX-License-Identifier: MIT */
/*
 * Which CPUs of a node srun gives to which task, after Slurm 22.05: slurmctld picks the
 * cores of the job near its GPUs (gres_select_filter_sock_core() in
 * src/plugins/select/cons_common/gres_select_filter.c), of a job without GPUs by sockets
 * (_cyclic_sync_core_bitmap() and _block_sync_core_bitmap() in dist_tasks.c there), and
 * in a job that has whole nodes those of the step, which srun takes --cpus-per-task to
 * limit
 * (_handle_core_select() in src/slurmctld/step_mgr.c); task/affinity deals their threads
 * to the tasks (lllp_distribution() in src/plugins/task/affinity/dist_tasks.c).
 */
#include "gen/spec/machine.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A core, or a thread of one, as a part of what is to be had. */
struct unit {
	uint32_t first, count; /* in the machine's list of usable CPUs */
	uint32_t cpus;         /* that it counts for */
	uint16_t package;
	bool taken;
};

struct units {
	struct unit *list;
	size_t count, packages;
};

struct dealing {
	const struct spec_machine *machine;
	const struct spec_cpus *cpus;
	struct units cores;        /* taken: the step has it */
	struct launch_cpuset step; /* CPUs of these cores */
};

static void free_units(struct units *units)
{
	free(units->list);
}

static void free_flags(bool **flags)
{
	free(*flags);
}

/* The cores of the machine, or its threads; as far as they are in WITHIN (NULL: all). */
static int list_units(const struct dealing *dealing, bool cores,
		      const struct launch_cpuset *within, struct units *units)
{
	const struct spec_machine *machine = dealing->machine;

	units->packages = machine->packages_count;
	units->count = 0;
	units->list = calloc(machine->usable_count, sizeof(*units->list));
	if (!units->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < machine->usable_count; i++) {
		const struct spec_machine_cpu *cpu = &machine->usable[i];
		bool thread = i && cpu->core == cpu[-1].core;

		if ((within && !launch_cpuset_has(within, cpu->cpu)) ||
		    (thread && dealing->cpus->one_thread))
			continue;
		if (thread && cores) {
			units->list[units->count - 1].count++;
			units->list[units->count - 1].cpus++;
			continue;
		}
		units->list[units->count++] = (struct unit){
			.first = i, .count = 1, .cpus = 1, .package = cpu->package};
	}
	return 0;
}

/* CPUs that are free on PACKAGE. */
static uint64_t count_free(const struct units *units, size_t package)
{
	uint64_t cpus = 0;

	for (size_t i = 0; i < units->count; i++) {
		if (!units->list[i].taken && units->list[i].package == package)
			cpus += units->list[i].cpus;
	}
	return cpus;
}

/* The first unit that is free on PACKAGE. */
static struct unit *first_free(const struct units *units, size_t package)
{
	for (size_t i = 0; i < units->count; i++) {
		if (!units->list[i].taken && units->list[i].package == package)
			return &units->list[i];
	}
	return NULL;
}

/* Takes units of PACKAGE until WANTED CPUs are there or none is left; how many CPUs. */
static uint64_t take_from(struct units *units, size_t package, uint64_t wanted)
{
	struct unit *unit;
	uint64_t got = 0;

	while (got < wanted && (unit = first_free(units, package))) {
		unit->taken = true;
		got += unit->cpus;
	}
	return got;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Fills the sockets: the smallest one that has enough, else the largest, and so on. */
static void pick_block(struct dealing *dealing, uint64_t wanted)
{
	struct units *cores = &dealing->cores;

	for (uint64_t left = wanted, got; left; left -= smaller(got, left)) {
		size_t best = 0;
		uint64_t most = 0;

		for (size_t i = 0; i < cores->packages; i++) {
			uint64_t free = count_free(cores, i);
			bool enough = free >= wanted,
			     better = enough ? free < most : free > most;

			if (most >= wanted ? enough && better : enough || better) {
				most = free;
				best = i;
			}
		}
		got = take_from(cores, best, left);
		if (!got)
			return;
	}
}

/* A job's cores: a socket gets as many tasks as have all their CPUs there. */
static void pick_cyclic(struct dealing *dealing, uint64_t wanted)
{
	const uint64_t each = dealing->cpus->cpus_per_task;
	struct units *cores = &dealing->cores;
	uint64_t left = wanted, before = 0;

	for (size_t i = 0; i < cores->packages && each > 1 && left; i++) {
		uint64_t whole = count_free(cores, i) / each * each;

		left -= smaller(take_from(cores, i, smaller(whole, left)), left);
	}
	/* The others go round core by core. */
	while (left && left != before) {
		before = left;
		for (size_t i = 0; i < cores->packages && left; i++)
			left -= smaller(take_from(cores, i, 1), left);
	}
}

/* GPUs of the machine on PACKAGE; those that are near all CPUs are on none. */
static uint32_t count_gpus(const struct spec_machine *machine, size_t package)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < machine->gpus_count; i++)
		count += spec_machine_package(machine, i) == package;
	return count;
}

/*
 * Which sockets the job must have for its GPUs: from the one with most CPUs on as many as
 * have enough of them, or all if a GPU is on none. The order of equal ones is theirs.
 */
static void find_required(const struct dealing *dealing, bool *required)
{
	const struct spec_machine *machine = dealing->machine;
	uint32_t total = machine->gpus_count, found;

	for (size_t i = 0; i < machine->packages_count; i++)
		total -= count_gpus(machine, i);
	found = total;
	for (size_t turn = 0; turn < machine->packages_count; turn++) {
		size_t best = SIZE_MAX;

		for (size_t i = 0; i < machine->packages_count; i++) {
			if (!required[i] && count_gpus(machine, i) &&
			    (best == SIZE_MAX ||
			     count_free(&dealing->cores, i) >
				     count_free(&dealing->cores, best)))
				best = i;
		}
		if (best == SIZE_MAX || found >= dealing->cpus->gpus)
			break;
		required[best] = true;
		found += count_gpus(machine, best);
	}
	for (size_t i = 0; total && i < machine->packages_count; i++)
		required[i] = true;
}

static uint64_t count_taken(const struct units *units, size_t package)
{
	uint64_t count = 0;

	for (size_t i = 0; i < units->count; i++)
		count += units->list[i].taken && units->list[i].package == package;
	return count;
}

/* Gives the highest core of PACKAGE back. */
static void give_back(struct units *cores, size_t package)
{
	for (size_t i = cores->count; i-- > 0;) {
		if (cores->list[i].taken && cores->list[i].package == package) {
			cores->list[i].taken = false;
			return;
		}
	}
}

/*
 * The cores of a job with GPUs: as many on each socket that it must have, and others only
 * where these have not enough. REQUIRED has a place for each socket.
 */
static void pick_near_gpus(struct dealing *dealing, uint64_t wanted, bool *required)
{
	const uint64_t threads =
		dealing->cpus->one_thread ? 1 : dealing->machine->threads;
	const uint64_t need = (wanted + threads - 1) / threads;
	struct units *cores = &dealing->cores;
	uint64_t left = cores->count;

	find_required(dealing, required);
	for (size_t i = 0; i < cores->count; i++)
		cores->list[i].taken = true;
	for (size_t i = 0; i < cores->packages; i++) {
		for (; !required[i] && left > need && count_taken(cores, i); left--)
			give_back(cores, i);
	}
	for (; left > need; left--) {
		size_t fullest = 0;

		for (size_t i = 1; i < cores->packages; i++) {
			if (count_taken(cores, i) > count_taken(cores, fullest))
				fullest = i;
		}
		give_back(cores, fullest);
	}
}

/* A step's cores in a job of whole nodes: those of one task on each socket in turn. */
static void pick_for_tasks(struct dealing *dealing)
{
	const struct spec_cpus *cpus = dealing->cpus;
	const uint32_t threads = cpus->one_thread ? 1 : dealing->machine->threads;
	const bool block = cpus->deal == SPEC_DEAL_BLOCK;
	uint64_t each = (cpus->cpus_per_task + threads - 1) / threads, left, turn = 0;
	struct units *cores = &dealing->cores;
	bool more = true;

	/* Tasks that share a core are not counted by turns. */
	left = cpus->cpus_per_task > threads
		       ? each * cpus->tasks
		       : (cpus->cpus_per_task * cpus->tasks + threads - 1) / threads;
	if (block || left < cpus->tasks)
		each = UINT64_MAX;
	while (more) {
		more = false;
		for (size_t i = 0; i < cores->packages; i++) {
			struct unit *unit;

			while (left && (unit = first_free(cores, i))) {
				unit->taken = more = true;
				left--;
				if (++turn == each) {
					turn = 0;
					break;
				}
			}
		}
	}
}

/* Which cores the step gets; -ENOSPC when there are not so many CPUs. */
static int pick_cores(struct dealing *dealing)
{
	const struct spec_cpus *cpus = dealing->cpus;
	__attribute__((cleanup(free_flags))) bool *required =
		calloc(dealing->machine->packages_count, sizeof(*required));
	int rc = list_units(dealing, true, NULL, &dealing->cores);
	uint64_t wanted, all = 0;

	if (rc < 0 || !required)
		return -ENOMEM;
	for (size_t i = 0; i < dealing->cores.packages; i++)
		all += count_free(&dealing->cores, i);
	/* Each task has a CPU at least; the product is below 2^64. */
	if (cpus->tasks > all || cpus->cpus_per_task > all / cpus->tasks)
		return -ENOSPC;
	wanted = cpus->tasks * cpus->cpus_per_task;
	if (cpus->exclusive)
		pick_for_tasks(dealing);
	else if (cpus->gpus)
		pick_near_gpus(dealing, wanted, required);
	else if (cpus->deal == SPEC_DEAL_BLOCK)
		pick_block(dealing, wanted);
	else
		pick_cyclic(dealing, wanted);
	for (size_t i = 0; i < dealing->cores.count; i++) {
		const struct unit *core = &dealing->cores.list[i];

		for (uint32_t j = 0; j < core->count && core->taken; j++)
			launch_cpuset_add(&dealing->step,
					  dealing->machine->usable[core->first + j].cpu);
	}
	return 0;
}

/* A free unit of PACKAGE, or of those behind it; of all again when none is free. */
static struct unit *next_free(struct units *units, size_t package)
{
	for (;;) {
		for (size_t step = 0; step < units->packages; step++) {
			struct unit *unit =
				first_free(units, (package + step) % units->packages);

			if (unit)
				return unit;
		}
		for (size_t i = 0; i < units->count; i++)
			units->list[i].taken = false;
	}
}

/* Deals UNITS to the tasks. */
static void deal(const struct dealing *dealing, struct units *units,
		 struct launch_cpuset *masks)
{
	const struct spec_cpus *cpus = dealing->cpus;
	size_t package = 0;

	memset(masks, 0, cpus->tasks * sizeof(*masks));
	for (uint32_t task = 0; task < cpus->tasks; task++) {
		for (uint64_t got = 0; got < cpus->cpus_per_task;) {
			struct unit *unit = next_free(units, package);

			unit->taken = true;
			/* What a socket does not have is taken from the next. */
			package = unit->package;
			got += unit->cpus;
			for (uint32_t i = 0; i < unit->count; i++)
				launch_cpuset_add(
					&masks[task],
					dealing->machine->usable[unit->first + i].cpu);
		}
		package = cpus->deal == SPEC_DEAL_CYCLIC ? (package + 1) % units->packages
							 : 0;
	}
}

static bool meet(const struct launch_cpuset *a, const struct launch_cpuset *b)
{
	struct launch_cpuset both = *a;

	launch_cpuset_keep(&both, b);
	return !launch_cpuset_is_empty(&both);
}

/* Adds to MASK the CPUs of the groups that it touches, as far as they are in WITHIN. */
static void widen(struct launch_cpuset *mask, const struct spec_machine_group *groups,
		  size_t count, const struct launch_cpuset *within)
{
	struct launch_cpuset wide = *mask;

	for (size_t i = 0; i < count; i++) {
		struct launch_cpuset part = groups[i].cpus;

		if (!meet(mask, &part))
			continue;
		launch_cpuset_keep(&part, within);
		launch_cpuset_join(&wide, &part);
	}
	*mask = wide;
}

/* "c", "0x1f": hexadecimal, the last digit being CPUs 0 to 3. */
static bool read_mask(struct launch_cpuset *mask, const char *text, size_t length)
{
	if (length > 2 && text[0] == '0' && tolower((unsigned char)text[1]) == 'x') {
		text += 2;
		length -= 2;
	}
	memset(mask, 0, sizeof(*mask));
	if (!length || length > LAUNCH_CPUS_MAX / 4)
		return false;
	for (size_t digit = 0; digit < length; digit++) {
		char c = (char)tolower((unsigned char)text[length - 1 - digit]);
		unsigned int value;

		if (!isxdigit((unsigned char)c))
			return false;
		value = (unsigned int)(isdigit((unsigned char)c) ? c - '0'
								 : c - 'a' + 10);
		for (uint32_t bit = 0; bit < 4; bit++) {
			if (value >> bit & 1)
				launch_cpuset_add(mask, (uint32_t)digit * 4 + bit);
		}
	}
	return launch_cpuset_count(mask) > 0;
}

static bool read_cpu(struct launch_cpuset *mask, const char *text, size_t length)
{
	char *end;
	unsigned long cpu;

	memset(mask, 0, sizeof(*mask));
	if (!length || !isdigit((unsigned char)*text))
		return false;
	/* srun takes numbers with 0x, too. */
	cpu = strtoul(text, &end, 0);
	if (end != text + length || cpu >= LAUNCH_CPUS_MAX)
		return false;
	launch_cpuset_add(mask, (uint32_t)cpu);
	return true;
}

/*
 * The list of --cpu-bind=map_cpu: or mask_cpu:, "A,B*3" (srun(1)): an entry for each
 * task, begun again when there are more tasks.
 */
static int bind_by_list(const struct spec_cpus *cpus, struct launch_cpuset *masks)
{
	const char *at = cpus->list;
	uint32_t task = 0;

	while (task < cpus->tasks) {
		size_t length = strcspn(at, ","), digits = strcspn(at, ",*");
		unsigned long times = 1;
		struct launch_cpuset mask;
		char *end;

		if (!(cpus->bind == SPEC_BIND_MAP ? read_cpu(&mask, at, digits)
						  : read_mask(&mask, at, digits)))
			return -EINVAL;
		if (digits < length) {
			times = strtoul(at + digits + 1, &end, 10);
			if (end != at + length || end == at + digits + 1 || !times)
				return -EINVAL;
		}
		for (; times && task < cpus->tasks; times--)
			masks[task++] = mask;
		at += length;
		at = *at ? at + 1 : cpus->list;
	}
	return 0;
}

static void bind_task(const struct dealing *dealing, enum spec_bind bind, uint32_t task,
		      struct launch_cpuset *mask)
{
	const struct spec_machine *machine = dealing->machine;

	switch (bind) {
	case SPEC_BIND_SOCKETS:
		widen(mask, machine->packages, machine->packages_count, &dealing->step);
		break;
	case SPEC_BIND_LDOMS:
		widen(mask, machine->numa, machine->numa_count, &machine->cpus);
		break;
	case SPEC_BIND_NONE:
		*mask = dealing->step;
		break;
	case SPEC_BIND_RANK:
		memset(mask, 0, sizeof(*mask));
		launch_cpuset_add(mask, task % launch_cpuset_count(&machine->cpus));
		break;
	default:
		break;
	}
}

/* Auto binding is off where the tasks leave a thread of the step over. */
static enum spec_bind settle(const struct dealing *dealing)
{
	const struct spec_cpus *cpus = dealing->cpus;

	if (cpus->bind == SPEC_BIND_AUTO &&
	    launch_cpuset_count(&dealing->step) != cpus->tasks * cpus->cpus_per_task)
		return SPEC_BIND_NONE;
	return cpus->bind;
}

int spec_machine_deal(const struct spec_machine *machine, const struct spec_cpus *cpus,
		      struct launch_cpuset *masks)
{
	struct dealing dealing = {.machine = machine, .cpus = cpus};
	__attribute__((cleanup(free_units))) struct units units = {0};
	enum spec_bind bind;
	int rc = pick_cores(&dealing);

	free_units(&dealing.cores);
	if (rc == 0)
		rc = list_units(&dealing, cpus->bind == SPEC_BIND_CORES, &dealing.step,
				&units);
	if (rc < 0)
		return rc;
	if (cpus->bind == SPEC_BIND_MAP || cpus->bind == SPEC_BIND_MASK)
		return bind_by_list(cpus, masks);
	deal(&dealing, &units, masks);
	bind = settle(&dealing);
	for (uint32_t task = 0; task < cpus->tasks; task++)
		bind_task(&dealing, bind, task, &masks[task]);
	return 0;
}
