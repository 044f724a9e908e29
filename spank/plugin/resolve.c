/* SPDX-License-Identifier: MIT */
/*
 * Looking addresses up: in the tables that Slurm itself sends its messages by, and with
 * the host's resolver (nsswitch.conf). Which of the addresses will do is for
 * launch_address_choose() to say.
 */
#include "spank/plugin/resolve.h"

#include "spank/launch/rendezvous.h"
#include "spank/plugin/compat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* More than any node has; the resolver puts the best ones first. */
#define ADDRESSES_MAX 32

#define CURE "use addr=name, or set MASTER_ADDR"

static bool write_number(const struct addrinfo *info, char *text, size_t size)
{
	const void *address;

	switch (info->ai_family) {
	case AF_INET:
		address = &((const struct sockaddr_in *)info->ai_addr)->sin_addr;
		break;
	case AF_INET6:
		address = &((const struct sockaddr_in6 *)info->ai_addr)->sin6_addr;
		break;
	default:
		return false;
	}
	return inet_ntop(info->ai_family, address, text, size);
}

static int not_found(const char *name, int error, struct launch_error *err)
{
	const char *why = error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);

	if (error == EAI_MEMORY)
		return -ENOMEM;
	return launch_error_set(err, -EHOSTUNREACH, "addr=ip: %.80s: %s; " CURE, name,
				why);
}

static int look_up(const char *name, uint32_t nnodes, char *addr, size_t size,
		   struct launch_error *err)
{
	/* One entry for an address, and not one for each protocol. */
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_ADDRCONFIG,
	};
	char numbers[ADDRESSES_MAX][INET6_ADDRSTRLEN];
	const char *addresses[ADDRESSES_MAX];
	struct addrinfo *found;
	size_t count = 0;
	int r;

	r = getaddrinfo(name, NULL, &hints, &found);
	if (r)
		return not_found(name, r, err);
	for (const struct addrinfo *info = found; info && count < ADDRESSES_MAX;
	     info = info->ai_next) {
		if (!write_number(info, numbers[count], sizeof(numbers[count])))
			continue;
		addresses[count] = numbers[count];
		count++;
	}
	freeaddrinfo(found);
	return launch_address_choose(name, nnodes, addresses, count, addr, size, err);
}

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
	r = look_up(name, nnodes, addr, size, &first);
	if (r == 0 || r == -ENOMEM)
		return r;
	/* suffix= and domain= mean another network than Slurm's. */
	if (known == 0 && strcmp(name, node) == 0 && strcmp(node_addr, name) != 0 &&
	    look_up(node_addr, nnodes, addr, size, &second) == 0)
		return 0;
	return launch_error_set(err, -EHOSTUNREACH, "%s", first.text);
}
