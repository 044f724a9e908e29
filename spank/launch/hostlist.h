/* SPDX-License-Identifier: MIT */
/*
 * Slurm's compressed host lists and task counts, read in place: `rack[1-2]node[1-3],gpu7`
 * and `8(x2),4`. A list of 100,000 nodes is never expanded in memory; a name is written
 * into the caller's buffer when it is asked for.
 *
 * Grammar as `scontrol show hostnames` of Slurm 23.11 and later takes it (a suffix behind
 * the brackets included; older releases refuse that). Order and duplicates are kept as
 * written, the low bound's width rules zero padding, the last bracket varies fastest.
 * Entries are separated by commas, blanks or newlines, and empty ones are passed over, as
 * hostlist_create() in Slurm's src/common/hostlist.c does.
 *
 * The texts reach a root daemon from a job's environment: nothing here allocates or
 * recurses, and the time is linear in the length of the text (and, for _find and _each,
 * in the number of names).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A host name is at most 253 characters (RFC 1035) and Slurm's node names are shorter. */
#define LAUNCH_HOST_MAX 256

/* Slurm itself knows at most five dimensions (HIGHEST_DIMENSIONS in its hostlist.c). */
#define LAUNCH_HOST_BRACKETS_MAX 8

/*
 * Number of hosts in LIST. 0 on success; -EINVAL when LIST is not a host list: it is
 * NULL, empty or "(null)", has unbalanced, empty or nested brackets or more than
 * LAUNCH_HOST_BRACKETS_MAX of them in one entry, or a descending or non-numeric range;
 * -ERANGE when it names more than UINT32_MAX hosts.
 */
int launch_hostlist_count(const char *list, uint32_t *count);

/*
 * Writes the Nth name (from 0) of LIST. -EINVAL as above; -ERANGE when N is past the end;
 * -ENAMETOOLONG when the name does not fit into SIZE bytes.
 */
int launch_hostlist_nth(const char *list, uint32_t n, char *name, size_t size);

/*
 * Position (from 0) of the first name that equals HOST. -EINVAL and -ERANGE as in _count;
 * -ENOENT when there is none.
 */
int launch_hostlist_find(const char *list, const char *host, uint32_t *position);

/*
 * Calls VISIT for each name in order until it returns non-zero, and returns that value; 0
 * when all were visited. -EINVAL and -ERANGE as in _count, before the first call;
 * -ENAMETOOLONG when it comes to a name of LAUNCH_HOST_MAX characters or more.
 */
int launch_hostlist_each(const char *list,
			 int (*visit)(const char *name, uint32_t position, void *arg),
			 void *arg);

/*
 * Tasks on the Nth node (from 0) of a SLURM_STEP_TASKS_PER_NODE text. -EINVAL when TEXT
 * is not a list of COUNT or COUNT(xREPEAT); -ERANGE when N is past the end.
 */
int launch_counts_nth(const char *text, uint32_t n, uint32_t *tasks);

/*
 * Calls VISIT for each run of NODES nodes with TASKS tasks in order, until it returns
 * non-zero, and returns that value. -EINVAL as above, when VISIT comes to the fault.
 */
int launch_counts_each(const char *text,
		       int (*visit)(uint32_t tasks, uint32_t nodes, void *arg),
		       void *arg);

/* How many of the first NODES nodes have more than TASKS tasks. -EINVAL as above. */
int launch_counts_above(const char *text, uint32_t tasks, uint32_t nodes,
			uint32_t *above);

/* Sum over all nodes, number of nodes, and the smallest and largest count. */
struct launch_counts {
	uint32_t nodes;
	uint32_t tasks;
	uint32_t least;
	uint32_t most;
};

/* -EINVAL as above; -ERANGE when nodes or tasks do not fit into 32 bits. */
int launch_counts_read(const char *text, struct launch_counts *counts);
