/* SPDX-License-Identifier: MIT */
/*
 * Looking a host name up with the host's resolver (nsswitch.conf). Which of its addresses
 * will do is for launch_address_choose() to say.
 */
#include "spank/launch/lookup.h"

#include "spank/launch/rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
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

int launch_look_up(const char *name, uint32_t nnodes, char *addr, size_t size,
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
