/* SPDX-License-Identifier: MIT */
/*
 * Sets of CPUs: a task's affinity mask, the CPUs near a GPU. Of a fixed size, so that the
 * masks of a node's tasks can lie in memory that the tasks share.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LAUNCH_CPUS_MAX 4096

struct launch_cpuset {
	uint64_t bits[LAUNCH_CPUS_MAX / 64];
};

/*
 * Reads Linux's list format ("0-3,8", cpuset(7) "List format"; a line feed may end it)
 * into SET. An empty list is an empty set. -EINVAL, with SET empty, when the text is
 * malformed or names a CPU of LAUNCH_CPUS_MAX or above.
 */
int launch_cpuset_parse(struct launch_cpuset *set, const char *text);

/* "0-3,8" of SET; cut to SIZE, an empty set is "". */
void launch_cpuset_text(const struct launch_cpuset *set, char *text, size_t size);

/* Number of CPUs in SET. */
uint32_t launch_cpuset_count(const struct launch_cpuset *set);

/* Lowest CPU of SET; LAUNCH_CPUS_MAX when it is empty. */
uint32_t launch_cpuset_first(const struct launch_cpuset *set);

/* The CPUs that process PID may run on (0: the caller). 0 or negative errno. */
int launch_cpuset_affinity(pid_t pid, struct launch_cpuset *set);
