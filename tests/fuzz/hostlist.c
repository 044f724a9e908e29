/* SPDX-License-Identifier: MIT */
/*
 * Host lists, task counts and port lists: what a job's environment can make a root daemon
 * read. Beside not crashing, the answers must agree with each other.
 */
#include "spank/launch/hostlist.h"
#include "spank/launch/rendezvous.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So many names of a list are compared one by one; larger lists only at their ends. */
#define NAMES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static int compare(const char *name, uint32_t position, void *arg)
{
	char nth[LAUNCH_HOST_MAX];

	require(launch_hostlist_nth(arg, position, nth, sizeof(nth)) == 0);
	require(strcmp(name, nth) == 0);
	return position == NAMES_MAX;
}

static void try_hostlist(const char *list)
{
	char name[LAUNCH_HOST_MAX], small[8];
	uint32_t count, position;
	int r = launch_hostlist_count(list, &count);

	if (r) {
		require(r == -EINVAL || r == -ERANGE);
		require(launch_hostlist_nth(list, 0, name, sizeof(name)) == r);
		require(launch_hostlist_each(list, compare, (void *)list) == r);
		return;
	}
	require(count > 0);
	require(launch_hostlist_nth(list, count, name, sizeof(name)) == -ERANGE);
	r = launch_hostlist_nth(list, count - 1, small, sizeof(small));
	require(r == 0 || r == -ENAMETOOLONG);
	r = launch_hostlist_nth(list, count - 1, name, sizeof(name));
	require(r == 0 || r == -ENAMETOOLONG);
	launch_hostlist_each(list, compare, (void *)list);
	if (r == 0 && count <= NAMES_MAX) {
		r = launch_hostlist_find(list, name, &position);
		require(r == -ENAMETOOLONG || (r == 0 && position < count));
	}
}

static int add(uint32_t tasks, uint32_t nodes, void *arg)
{
	*(uint64_t *)arg += (uint64_t)tasks * nodes;
	return 0;
}

static void try_counts(const char *text)
{
	struct launch_counts counts;
	uint64_t sum = 0;
	uint32_t tasks, above;
	int r = launch_counts_read(text, &counts);

	if (r) {
		require(r == -EINVAL || r == -ERANGE);
		return;
	}
	require(launch_counts_each(text, add, &sum) == 0 && sum == counts.tasks);
	require(launch_counts_nth(text, counts.nodes, &tasks) == -ERANGE);
	require(launch_counts_nth(text, counts.nodes - 1, &tasks) == 0);
	require(tasks >= counts.least && tasks <= counts.most);
	require(launch_counts_above(text, 0, counts.nodes, &above) == 0);
	require(above <= counts.nodes && (counts.least == 0 || above == counts.nodes));
}

static void try_ports(const char *text)
{
	uint16_t port;
	int r = launch_port_reserved(text, 1, &port);

	require(r == -EINVAL || r == -ERANGE || (r == 0 && port > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	try_hostlist(text);
	try_counts(text);
	try_ports(text);
	free(text);
	return 0;
}
