/* SPDX-License-Identifier: MIT */
/*
 * Sets of CPUs: a task's affinity mask, the CPUs near a GPU. Of a fixed size, so that the
 * masks of a node's tasks can lie in memory that the tasks share.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LAUNCH_CPUS_MAX 4096

/* Room for any set as text: every other CPU and a comma. */
#define LAUNCH_CPUS_TEXT_MAX (LAUNCH_CPUS_MAX / 2 * 5)

struct launch_cpuset {
	uint64_t bits[LAUNCH_CPUS_MAX / 64];
};

/*
 * Reads Linux's list format ("0-3,8", cpuset(7) "List format"; a line feed may end it)
 * into SET. An empty list is an empty set. -EINVAL, with SET empty, when the text is
 * malformed or names a CPU of LAUNCH_CPUS_MAX or above.
 */
int launch_cpuset_parse(struct launch_cpuset *set, const char *text);

/*
 * "0-3,8" of SET; an empty set is "". What does not fit into SIZE is left out from the
 * end, and dots tell so: "0-3,...".
 */
void launch_cpuset_text(const struct launch_cpuset *set, char *text, size_t size);

bool launch_cpuset_has(const struct launch_cpuset *set, uint32_t cpu);

/* Adds CPU, which is below LAUNCH_CPUS_MAX, or all CPUs of OTHER, to SET. */
void launch_cpuset_add(struct launch_cpuset *set, uint32_t cpu);
void launch_cpuset_join(struct launch_cpuset *set, const struct launch_cpuset *other);

/* Removes the CPUs of OTHER from SET. */
void launch_cpuset_remove(struct launch_cpuset *set, const struct launch_cpuset *other);

/* Removes the CPUs that OTHER does not have. */
void launch_cpuset_keep(struct launch_cpuset *set, const struct launch_cpuset *other);

bool launch_cpuset_is_empty(const struct launch_cpuset *set);

/* Number of CPUs in SET. */
uint32_t launch_cpuset_count(const struct launch_cpuset *set);

/* Lowest CPU of SET; LAUNCH_CPUS_MAX when it is empty. */
uint32_t launch_cpuset_first(const struct launch_cpuset *set);

/* The same of those above CPU. */
uint32_t launch_cpuset_next(const struct launch_cpuset *set, uint32_t cpu);

/* The CPUs that process PID may run on (0: the caller). 0 or negative errno. */
int launch_cpuset_affinity(pid_t pid, struct launch_cpuset *set);
