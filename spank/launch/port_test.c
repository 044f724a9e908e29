/* SPDX-License-Identifier: MIT */
/*
 * The port test. A port that another process holds would show as a time-out of all other
 * ranks half an hour later; on rank 0's node one system call shows it now.
 */
#include "spank/launch/port_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * The same bind() as rank 0's: any address, both families on one socket, SO_REUSEADDR, by
 * which the remains of a closed connection (TIME_WAIT) are no obstacle (TCPStore in
 * PyTorch, torch/csrc/distributed/c10d/socket.cpp). Without listen(): another rank that
 * is early must not get a connection here.
 */
static int try_bind(int family, const struct in6_addr *addr6, struct in_addr addr4,
		    uint16_t port)
{
	const struct sockaddr_in6 socket6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = *addr6,
	};
	const struct sockaddr_in socket4 = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = addr4,
	};
	const void *address = family == AF_INET6 ? (const void *)&socket6 : &socket4;
	socklen_t length = family == AF_INET6 ? sizeof(socket6) : sizeof(socket4);
	const int on = 1, off = 0;
	int fd, r = 0;

	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    bind(fd, address, length) < 0)
		r = -errno;
	close(fd);
	return r;
}

int launch_port_test(uint16_t port)
{
	const struct in_addr any4 = {htonl(INADDR_ANY)};
	int r = try_bind(AF_INET6, &in6addr_any, any4, port);

	/* No IPv6 in this kernel, or switched off on all interfaces. */
	if (r && r != -EADDRINUSE && r != -EACCES)
		r = try_bind(AF_INET, &in6addr_any, any4, port);
	return r == -EADDRINUSE || r == -EACCES ? r : 0;
}

bool launch_port_is_own_address(const char *addr)
{
	struct in6_addr addr6 = IN6ADDR_ANY_INIT;
	struct in_addr addr4 = {htonl(INADDR_ANY)};

	if (inet_pton(AF_INET, addr, &addr4) == 1)
		return try_bind(AF_INET, &addr6, addr4, 0) == 0;
	return inet_pton(AF_INET6, addr, &addr6) == 1 &&
	       try_bind(AF_INET6, &addr6, addr4, 0) == 0;
}
