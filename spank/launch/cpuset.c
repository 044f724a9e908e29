/* SPDX-License-Identifier: MIT */
/*
 * Reading, printing and counting sets of CPUs.
 */
#include "spank/launch/cpuset.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS (LAUNCH_CPUS_MAX / 64)

/* The kernel's own masks are made of longs. */
#define LONG_BITS (8 * sizeof(unsigned long))
#define SHIFT(i)  ((i)*LONG_BITS % 64)

/* More CPUs than Linux can be built for (NR_CPUS), in bytes. */
#define MASK_SIZE_MAX (64 * 1024)

/* Decimal at *TEXT, which moves behind it; LAUNCH_CPUS_MAX when none is in range. */
static uint32_t read_cpu(const char **text)
{
	const char *at = *text;
	uint32_t cpu = 0;

	while (*at >= '0' && *at <= '9' && cpu < LAUNCH_CPUS_MAX)
		cpu = cpu * 10 + (uint32_t)(*at++ - '0');
	if (at == *text || cpu > LAUNCH_CPUS_MAX)
		cpu = LAUNCH_CPUS_MAX;
	*text = at;
	return cpu;
}

int launch_cpuset_parse(struct launch_cpuset *set, const char *text)
{
	memset(set, 0, sizeof(*set));
	while (*text && *text != '\n') {
		uint32_t low = read_cpu(&text);
		uint32_t high = low;

		if (*text == '-') {
			text++;
			high = read_cpu(&text);
		}
		if (high >= LAUNCH_CPUS_MAX || low > high)
			goto malformed;
		for (uint32_t cpu = low; cpu <= high; cpu++)
			launch_cpuset_add(set, cpu);
		if (*text == ',' && text[1] >= '0' && text[1] <= '9')
			text++;
		else if (*text && *text != '\n')
			goto malformed;
	}
	return 0;

malformed:
	memset(set, 0, sizeof(*set));
	return -EINVAL;
}

bool launch_cpuset_has(const struct launch_cpuset *set, uint32_t cpu)
{
	return cpu < LAUNCH_CPUS_MAX && set->bits[cpu / 64] >> (cpu % 64) & 1;
}

void launch_cpuset_add(struct launch_cpuset *set, uint32_t cpu)
{
	set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

void launch_cpuset_join(struct launch_cpuset *set, const struct launch_cpuset *other)
{
	for (size_t word = 0; word < WORDS; word++)
		set->bits[word] |= other->bits[word];
}

void launch_cpuset_remove(struct launch_cpuset *set, const struct launch_cpuset *other)
{
	for (size_t word = 0; word < WORDS; word++)
		set->bits[word] &= ~other->bits[word];
}

void launch_cpuset_keep(struct launch_cpuset *set, const struct launch_cpuset *other)
{
	for (size_t word = 0; word < WORDS; word++)
		set->bits[word] &= other->bits[word];
}

bool launch_cpuset_is_empty(const struct launch_cpuset *set)
{
	return launch_cpuset_first(set) == LAUNCH_CPUS_MAX;
}

/* The range of SET that begins with LOW, and a comma before it where it is not the first.
 * Its last CPU. */
static uint32_t print_range(const struct launch_cpuset *set, uint32_t low, bool first,
			    char *text, size_t size)
{
	const char *comma = first ? "" : ",";
	uint32_t high = low;

	while (launch_cpuset_has(set, high + 1))
		high++;
	if (low == high)
		snprintf(text, size, "%s%u", comma, low);
	else
		snprintf(text, size, "%s%u-%u", comma, low, high);
	return high;
}

void launch_cpuset_text(const struct launch_cpuset *set, char *text, size_t size)
{
	size_t used = 0, left = 0; /* LEFT: behind which the dots have room */

	if (!size)
		return;
	text[0] = '\0';
	for (uint32_t cpu = launch_cpuset_first(set); cpu < LAUNCH_CPUS_MAX;
	     cpu = launch_cpuset_next(set, cpu)) {
		char range[16];
		size_t length;

		cpu = print_range(set, cpu, !used, range, sizeof(range));
		length = strlen(range);
		if (used + length >= size) {
			snprintf(text + left, size - left, left ? ",..." : "...");
			return;
		}
		memcpy(text + used, range, length + 1);
		used += length;
		if (used + strlen(",...") < size)
			left = used;
	}
}

uint32_t launch_cpuset_count(const struct launch_cpuset *set)
{
	uint32_t count = 0;

	for (size_t word = 0; word < WORDS; word++)
		count += (uint32_t)__builtin_popcountll(set->bits[word]);
	return count;
}

/* Lowest CPU of SET from CPU on. */
static uint32_t find_from(const struct launch_cpuset *set, uint32_t cpu)
{
	for (uint32_t word = cpu / 64; word < WORDS; word++) {
		uint64_t bits = set->bits[word];

		if (word == cpu / 64)
			bits &= UINT64_MAX << (cpu % 64);
		if (bits)
			return word * 64 + (uint32_t)__builtin_ctzll(bits);
	}
	return LAUNCH_CPUS_MAX;
}

uint32_t launch_cpuset_first(const struct launch_cpuset *set)
{
	return find_from(set, 0);
}

uint32_t launch_cpuset_next(const struct launch_cpuset *set, uint32_t cpu)
{
	return find_from(set, cpu + 1);
}

static void copy_mask(struct launch_cpuset *set, const unsigned long *words, size_t count)
{
	memset(set, 0, sizeof(*set));
	for (size_t i = 0; i < count && i * LONG_BITS < LAUNCH_CPUS_MAX; i++)
		set->bits[i * LONG_BITS / 64] |= (uint64_t)words[i] << SHIFT(i);
}

int launch_cpuset_affinity(pid_t pid, struct launch_cpuset *set)
{
	/* The kernel refuses a buffer that is too small for its own masks (EINVAL). */
	for (size_t size = LAUNCH_CPUS_MAX / 8; size <= MASK_SIZE_MAX; size *= 2) {
		unsigned long *words = calloc(1, size);
		int r = 0;

		if (!words)
			return -ENOMEM;
		if (sched_getaffinity(pid, size, (cpu_set_t *)words) < 0)
			r = -errno;
		else
			copy_mask(set, words, size / sizeof(*words));
		free(words);
		if (r != -EINVAL)
			return r;
	}
	return -EINVAL;
}
