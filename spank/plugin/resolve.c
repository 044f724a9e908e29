/* SPDX-License-Identifier: MIT */
/*
 * Looking addresses up: in the tables that Slurm itself sends its messages by, and with
 * the host's resolver.
 */
#include "spank/plugin/resolve.h"

#include "spank/launch/lookup.h"
#include "spank/launch/rendezvous.h"
#include "spank/plugin/compat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CURE "use addr=name, or set MASTER_ADDR"

/* NodeAddr of NODE; without one in slurm.conf, that is its NodeHostname. */
static int find_node_addr(const char *node, char *addr, size_t size)
{
	char *found = srank_node_addr(node);
	int length;

	if (!found)
		return -ENOENT;
	length = snprintf(addr, size, "%s", found);
	srank_free_node_addr(found);
	return length >= 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
}

int srank_resolve(enum launch_addr_mode mode, const char *node, const char *name,
		  uint32_t nnodes, char *addr, size_t size, struct launch_error *err)
{
	struct launch_error first = {""}, second = {""};
	char node_addr[LAUNCH_ADDR_MAX];
	int r, known;

	known = find_node_addr(node, node_addr, sizeof(node_addr));
	if (mode == LAUNCH_ADDR_NODEADDR) {
		if (known)
			return launch_error_set(
				err, -EHOSTUNREACH,
				"addr=nodeaddr: Slurm has no NodeAddr of node %.80s on "
				"this host; " CURE,
				node);
		snprintf(addr, size, "%s", node_addr);
		return 0;
	}
	r = launch_look_up(name, nnodes, addr, size, &first);
	if (r == 0 || r == -ENOMEM)
		return r;
	/* suffix= and domain= mean another network than Slurm's. */
	if (known == 0 && strcmp(name, node) == 0 && strcmp(node_addr, name) != 0 &&
	    launch_look_up(node_addr, nnodes, addr, size, &second) == 0)
		return 0;
	return launch_error_set(err, -EHOSTUNREACH, "%s", first.text);
}
