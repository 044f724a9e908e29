/* SPDX-License-Identifier: MIT */
/*
 * What a node makes of names: the resolver's answer for a host, within a time; and the
 * network interfaces, which NCCL and Gloo choose by name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/socket.h>

#define EXEC_ADDRESSES_MAX 8

struct exec_resolved {
	uint32_t count; /* 0: see error */
	struct sockaddr_storage address[EXEC_ADDRESSES_MAX];
	char error[128]; /* why there is none */
};

/* Asks the host's resolver for NAME, and waits MILLISECONDS for it at most. */
void exec_resolve(const char *name, unsigned int milliseconds,
		  struct exec_resolved *resolved);

/* 127.0.0.0/8 and ::1. */
bool exec_address_is_loopback(const struct sockaddr_storage *address);

#define EXEC_INTERFACES_MAX 64

struct exec_interfaces {
	uint32_t count;
	struct {
		char name[16];
		bool loopback;
		bool up;                         /* and has an address */
		struct sockaddr_storage address; /* the first: IPv4 before IPv6 */
	} of[EXEC_INTERFACES_MAX];
};

void exec_interfaces_read(struct exec_interfaces *interfaces);

/*
 * The interface from which this host would send to ADDRESS, and its own address then; -1:
 * there is no way, or the interface is not known. OWN may be NULL.
 */
int exec_interfaces_route(const struct exec_interfaces *interfaces,
			  const struct sockaddr_storage *address,
			  struct sockaddr_storage *own);

/*
 * Whether LIST, of NCCL_SOCKET_IFNAME, takes the interface NAME: prefixes, apart by
 * commas; behind `=` whole names; behind `^` all others.
 */
bool exec_nccl_takes(const char *list, const char *name);

/* The same for GLOO_SOCKET_IFNAME: whole names, apart by commas. */
bool exec_gloo_takes(const char *list, const char *name);
