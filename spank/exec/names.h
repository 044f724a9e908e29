/* SPDX-License-Identifier: MIT */
/*
 * What a node makes of names: the resolver's answer for a host, within a time; and the
 * network interfaces, which NCCL and Gloo choose by name.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define EXEC_ADDRESSES_MAX 8

struct exec_resolved {
	uint32_t count; /* 0: see error */
	struct sockaddr_storage address[EXEC_ADDRESSES_MAX];
	char error[128]; /* why there is none */
	bool unasked;    /* for want of memory, threads or files: the name may be fine */
};

/* Asks the host's resolver for NAME, and waits MILLISECONDS for it at most. */
void exec_resolve(const char *name, unsigned int milliseconds,
		  struct exec_resolved *resolved);

/* Whether a program here could listen at ADDRESS. */
bool exec_address_is_own(const struct sockaddr_storage *address);

/* 127.0.0.0/8 and ::1. */
bool exec_address_is_loopback(const struct sockaddr_storage *address);

/* Interfaces with an address: virtual functions and ends of veth pairs mostly have none.
 */
#define EXEC_INTERFACES_MAX 256

struct exec_interfaces {
	uint32_t count;
	bool cut; /* there are more */
	struct {
		char name[IF_NAMESIZE];
		bool loopback;
		struct sockaddr_storage address; /* the first: IPv4 before IPv6 */
	} of[EXEC_INTERFACES_MAX];
};

/*
 * Those that are up and have an address by which another host could come, or are the
 * loopback interface; in the kernel's order, which is that of NCCL.
 */
void exec_interfaces_read(struct exec_interfaces *interfaces);

/*
 * The interface from which this host would send to ADDRESS, and its own address then; -1:
 * there is no way, or the interface is not known. OWN may be NULL.
 */
int exec_interfaces_route(const struct exec_interfaces *interfaces,
			  const struct sockaddr_storage *address,
			  struct sockaddr_storage *own);

/* What a variable that names interfaces comes to. */
enum exec_choice_state {
	EXEC_CHOICE_UNSET, /* or too short to count: a library then chooses by itself */
	EXEC_CHOICE_FINE,  /* the interface that leads to rank 0 is among them */
	EXEC_CHOICE_OTHER, /* they are others */
	EXEC_CHOICE_LOOPBACK, /* by one of them no other host can come */
	EXEC_CHOICE_MISSING,  /* one of them is not there */
	EXEC_CHOICE_COUNT,
};

/* "fine", "other", ... : the words of a record. */
extern const char *const exec_choice_names[EXEC_CHOICE_COUNT];

struct exec_choice {
	enum exec_choice_state state;
	int interface; /* where other hosts would come first; -1: nowhere */
	char name[64]; /* EXEC_CHOICE_MISSING: which, `""` for an empty one; "": the list
			  takes none at all */
};

/*
 * What NCCL makes of LIST, its NCCL_SOCKET_IFNAME (NULL: not set), where ROUTE leads to
 * rank 0 (-1: not known).
 */
void exec_choose_nccl(struct exec_choice *choice,
		      const struct exec_interfaces *interfaces, const char *list,
		      int route);

/* The same of Gloo in PyTorch, whose GLOO_SOCKET_IFNAME it uses all names of. */
void exec_choose_gloo(struct exec_choice *choice,
		      const struct exec_interfaces *interfaces, const char *list,
		      int route);

/*
 * Whether LIST, of NCCL_SOCKET_IFNAME or NCCL_IB_HCA, takes NAME: prefixes, apart by
 * commas; behind `=` whole names; behind `^` all others. A port, as in "mlx5_0:1", is
 * passed over.
 */
bool exec_nccl_takes(const char *list, const char *name);
