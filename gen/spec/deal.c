/* SPDX-License-Identifier: MIT */
/*
 * Which CPUs of a node srun gives to which task: what Slurm's task/affinity does
 * (lllp_distribution() in src/plugins/task/affinity/dist_tasks.c of Slurm 22.05) in a
 * step that has just the cores that its tasks ask for, which it has since srun takes
 * --cpus-per-task to mean --exact (21.08).
 */
#include "gen/spec/machine.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is dealt: a core, or a thread of one. */
struct unit {
	uint32_t first, count; /* in the machine's list of usable CPUs */
	uint32_t cpus;         /* that it counts for */
	uint16_t package;
	bool taken;
};

static void free_units(struct unit **units)
{
	free(*units);
}

static void add(struct launch_cpuset *set, uint32_t cpu)
{
	set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

static size_t list_units(const struct spec_machine *machine, bool cores, bool one_thread,
			 struct unit *units)
{
	size_t count = 0;

	for (uint32_t i = 0; i < machine->usable_count; i++) {
		const struct spec_machine_cpu *cpu = &machine->usable[i];
		bool thread = i && cpu->core == cpu[-1].core;

		if (thread && one_thread)
			continue;
		if (thread && cores) {
			units[count - 1].count++;
			units[count - 1].cpus++;
			continue;
		}
		units[count++] = (struct unit){
			.first = i, .count = 1, .cpus = 1, .package = cpu->package};
	}
	return count;
}

/* The first unit that is free, on PACKAGE when it has one, else on those behind it. */
static struct unit *next_free(struct unit *units, size_t count, size_t packages,
			      size_t package)
{
	for (size_t step = 0; step < packages; step++) {
		for (size_t i = 0; i < count; i++) {
			if (!units[i].taken &&
			    units[i].package == (package + step) % packages)
				return &units[i];
		}
	}
	return NULL;
}

/* False when the units do not last for all tasks. */
static bool deal(const struct spec_machine *machine, const struct spec_cpus *cpus,
		 struct unit *units, size_t count, struct launch_cpuset *masks)
{
	size_t package = 0;

	memset(masks, 0, cpus->tasks * sizeof(*masks));
	for (uint32_t task = 0; task < cpus->tasks; task++) {
		size_t at = package;

		for (uint64_t got = 0; got < cpus->cpus_per_task;) {
			struct unit *unit =
				next_free(units, count, machine->packages_count, at);

			if (!unit)
				return false;
			unit->taken = true;
			/* What does not fit on a socket goes on on the next one. */
			at = unit->package;
			got += unit->cpus;
			for (uint32_t i = 0; i < unit->count; i++)
				add(&masks[task], machine->usable[unit->first + i].cpu);
		}
		package = cpus->deal == SPEC_DEAL_CYCLIC
				  ? (package + 1) % machine->packages_count
				  : at;
	}
	return true;
}

static bool meet(const struct launch_cpuset *a, const struct launch_cpuset *b)
{
	for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++) {
		if (a->bits[word] & b->bits[word])
			return true;
	}
	return false;
}

/* Adds to MASK the CPUs of the groups that it touches, as far as they are in WITHIN. */
static void widen(struct launch_cpuset *mask, const struct spec_machine_group *groups,
		  size_t count, const struct launch_cpuset *within)
{
	struct launch_cpuset wide = *mask;

	for (size_t i = 0; i < count; i++) {
		if (!meet(mask, &groups[i].cpus))
			continue;
		for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++)
			wide.bits[word] |= groups[i].cpus.bits[word] & within->bits[word];
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
		uint64_t value;

		if (!isxdigit((unsigned char)c))
			return false;
		value = (uint64_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
		mask->bits[digit / 16] |= value << (digit % 16 * 4);
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
	add(mask, (uint32_t)cpu);
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

/* Adds the other threads of the cores of which MASK has one. */
static void widen_to_cores(const struct spec_machine *machine, struct launch_cpuset *mask)
{
	struct launch_cpuset wide = *mask;

	for (size_t i = 0; i < machine->usable_count; i++) {
		const struct spec_machine_cpu *cpu = &machine->usable[i];

		if (!(mask->bits[cpu->cpu / 64] >> (cpu->cpu % 64) & 1))
			continue;
		for (size_t j = 0; j < machine->usable_count; j++) {
			if (machine->usable[j].core == cpu->core)
				add(&wide, machine->usable[j].cpu);
		}
	}
	*mask = wide;
}

static void bind_task(const struct spec_machine *machine, const struct spec_cpus *cpus,
		      const struct launch_cpuset *step, uint32_t task,
		      struct launch_cpuset *mask)
{
	switch (cpus->bind) {
	case SPEC_BIND_CORES:
		if (!cpus->one_thread)
			widen_to_cores(machine, mask);
		break;
	case SPEC_BIND_SOCKETS:
		widen(mask, machine->packages, machine->packages_count, step);
		break;
	case SPEC_BIND_LDOMS:
		widen(mask, machine->numa, machine->numa_count, &machine->cpus);
		break;
	case SPEC_BIND_NONE:
		*mask = *step;
		break;
	case SPEC_BIND_RANK:
		memset(mask, 0, sizeof(*mask));
		add(mask, machine->usable[task % machine->usable_count].cpu);
		break;
	default:
		break;
	}
}

static int bind(const struct spec_machine *machine, const struct spec_cpus *cpus,
		struct launch_cpuset *masks)
{
	struct launch_cpuset step = {0};
	struct spec_cpus how = *cpus;

	if (cpus->bind == SPEC_BIND_MAP || cpus->bind == SPEC_BIND_MASK)
		return bind_by_list(cpus, masks);
	for (uint32_t task = 0; task < cpus->tasks; task++) {
		for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++)
			step.bits[word] |= masks[task].bits[word];
	}
	/*
	 * A step has whole cores. Where its tasks leave a thread over, nothing binds them
	 * (auto binding is off when the numbers are not equal), and all have all of it.
	 */
	if (!cpus->one_thread)
		widen_to_cores(machine, &step);
	if (cpus->bind == SPEC_BIND_AUTO && !cpus->one_thread &&
	    launch_cpuset_count(&step) != cpus->tasks * cpus->cpus_per_task)
		how.bind = SPEC_BIND_NONE;
	for (uint32_t task = 0; task < cpus->tasks; task++)
		bind_task(machine, &how, &step, task, &masks[task]);
	return 0;
}

int spec_machine_deal(const struct spec_machine *machine, const struct spec_cpus *cpus,
		      struct launch_cpuset *masks)
{
	__attribute__((cleanup(free_units))) struct unit *units =
		calloc(machine->usable_count, sizeof(*units));
	size_t count;

	if (!units)
		return -ENOMEM;
	/* Each task has a CPU at least, so that they are no more than these. */
	if (cpus->tasks > machine->usable_count)
		return -ENOSPC;
	count = list_units(machine, cpus->bind == SPEC_BIND_CORES, cpus->one_thread,
			   units);
	if (deal(machine, cpus, units, count, masks))
		return bind(machine, cpus, masks);
	count = list_units(machine, false, cpus->one_thread, units);
	if (deal(machine, cpus, units, count, masks))
		return bind(machine, cpus, masks);
	return -ENOSPC;
}
