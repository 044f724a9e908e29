/* SPDX-License-Identifier: MIT */
/*
 * The resolver is asked in a thread of its own: a name server that does not answer takes
 * it up to half a minute (resolv.conf(5): timeout and attempts), and nothing can break it
 * off.
 */
#include "spank/exec/names.h"

#include "spank/exec/reach.h"
#include "spank/exec/wait.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Any will do: connect(2) of a datagram socket sends nothing. */
#define PORT_DISCARD 9

struct query {
	char *name;
	struct exec_resolved resolved;
};

/*
 * ERROR is that of getaddrinfo(3), and WHY the errno that it has left. Without a file to
 * be had for its databases glibc finds that there is no such name.
 */
static void set_fault(struct exec_resolved *resolved, int error, int why)
{
	if (error == EAI_MEMORY)
		why = ENOMEM;
	else if (error != EAI_SYSTEM && why != EMFILE && why != ENFILE)
		why = 0;
	resolved->unasked = exec_error_is_want(-why);
	snprintf(resolved->error, sizeof(resolved->error), "%s",
		 why ? strerror(why) : gai_strerror(error));
}

static void look_up(const char *name, struct exec_resolved *resolved)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_ADDRCONFIG,
	};
	struct addrinfo *found;
	int error;

	errno = 0;
	error = getaddrinfo(name, NULL, &hints, &found);
	if (error) {
		set_fault(resolved, error, errno);
		return;
	}
	for (const struct addrinfo *info = found;
	     info && resolved->count < EXEC_ADDRESSES_MAX; info = info->ai_next) {
		struct sockaddr_storage *address = &resolved->address[resolved->count];

		if (info->ai_addrlen > sizeof(*address))
			continue;
		memcpy(address, info->ai_addr, info->ai_addrlen);
		resolved->count += exec_address_length(address) > 0;
	}
	freeaddrinfo(found);
}

static void ask(void *arg)
{
	struct query *query = arg;

	look_up(query->name, &query->resolved);
}

static void free_query(void *arg)
{
	struct query *query = arg;

	free(query->name);
	free(query);
}

void exec_resolve(const char *name, unsigned int milliseconds,
		  struct exec_resolved *resolved)
{
	const struct timespec until = exec_time_in(milliseconds);
	struct query *query = calloc(1, sizeof(*query));
	struct exec_call *call = NULL;
	int r = -ENOMEM;

	*resolved = (struct exec_resolved){0};
	if (query && (query->name = strdup(name)))
		r = exec_call_start(&call, ask, free_query, query);
	else
		free(query);
	resolved->unasked = r != 0;
	if (r)
		snprintf(resolved->error, sizeof(resolved->error),
			 "cannot start a thread for the resolver: %s", strerror(-r));
	else if (exec_call_wait(call, &until))
		*resolved = query->resolved;
	else
		snprintf(resolved->error, sizeof(resolved->error),
			 "the resolver has not answered in %u ms", milliseconds);
	exec_call_close(&call);
}

bool exec_address_is_own(const struct sockaddr_storage *address)
{
	struct sockaddr_storage any = *address;
	int fd = socket(any.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool own;

	if (fd < 0)
		return false;
	exec_address_set_port(&any, 0);
	own = bind(fd, (const struct sockaddr *)&any, exec_address_length(&any)) == 0;
	close(fd);
	return own;
}

bool exec_address_is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static bool is_link_local(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static uint32_t find_or_add(struct exec_interfaces *interfaces, const char *name)
{
	uint32_t i;

	for (i = 0; i < interfaces->count; i++) {
		if (strcmp(interfaces->of[i].name, name) == 0)
			return i;
	}
	if (i == EXEC_INTERFACES_MAX) {
		interfaces->cut = true;
		return i;
	}
	snprintf(interfaces->of[i].name, sizeof(interfaces->of[i].name), "%s", name);
	interfaces->count++;
	return i;
}

/* The address of an entry of getifaddrs(3); false: of no use here. */
static bool take_address(const struct ifaddrs *one, struct sockaddr_storage *address)
{
	*address = (struct sockaddr_storage){0};
	if (!one->ifa_addr)
		return false;
	address->ss_family = one->ifa_addr->sa_family;
	if (!exec_address_length(address))
		return false;
	memcpy(address, one->ifa_addr, exec_address_length(address));
	return true;
}

void exec_interfaces_read(struct exec_interfaces *interfaces)
{
	struct ifaddrs *list;

	*interfaces = (struct exec_interfaces){0};
	if (getifaddrs(&list))
		return;
	for (const struct ifaddrs *one = list; one; one = one->ifa_next) {
		struct sockaddr_storage address;
		uint32_t i;

		if (!(one->ifa_flags & IFF_UP) || !take_address(one, &address) ||
		    is_link_local(&address))
			continue;
		i = find_or_add(interfaces, one->ifa_name);
		if (i == EXEC_INTERFACES_MAX)
			continue;
		interfaces->of[i].loopback = one->ifa_flags & IFF_LOOPBACK;
		if (!interfaces->of[i].address.ss_family ||
		    (address.ss_family == AF_INET &&
		     interfaces->of[i].address.ss_family == AF_INET6))
			interfaces->of[i].address = address;
	}
	freeifaddrs(list);
}

static bool is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
				  &((const struct sockaddr_in6 *)b)->sin6_addr);
}

/* The interface with this address; getifaddrs() has all of them. */
static int find_owner(const struct exec_interfaces *interfaces,
		      const struct sockaddr_storage *own)
{
	struct ifaddrs *list;
	int found = -1;

	if (getifaddrs(&list))
		return -1;
	for (const struct ifaddrs *one = list; one && found < 0; one = one->ifa_next) {
		struct sockaddr_storage address;

		if (!take_address(one, &address) || !is_same(&address, own))
			continue;
		for (uint32_t i = 0; i < interfaces->count; i++) {
			if (strcmp(interfaces->of[i].name, one->ifa_name) == 0)
				found = (int)i;
		}
	}
	freeifaddrs(list);
	return found;
}

int exec_interfaces_route(const struct exec_interfaces *interfaces,
			  const struct sockaddr_storage *address,
			  struct sockaddr_storage *own)
{
	struct sockaddr_storage to = *address, from = {0};
	socklen_t length = sizeof(from);
	int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), found = -1;

	if (fd < 0)
		return -1;
	exec_address_set_port(&to, PORT_DISCARD);
	if (connect(fd, (const struct sockaddr *)&to, exec_address_length(&to)) == 0 &&
	    getsockname(fd, (struct sockaddr *)&from, &length) == 0)
		found = find_owner(interfaces, &from);
	close(fd);
	if (found >= 0 && own)
		*own = from;
	return found;
}

/* ---- what libraries choose ---- */

const char *const exec_choice_names[EXEC_CHOICE_COUNT] = {
	[EXEC_CHOICE_UNSET] = "unset",     [EXEC_CHOICE_FINE] = "fine",
	[EXEC_CHOICE_OTHER] = "other",     [EXEC_CHOICE_LOOPBACK] = "loopback",
	[EXEC_CHOICE_MISSING] = "missing",
};

/* NCCL's user guide, NCCL_SOCKET_IFNAME; parseStringList() in its src/misc/utils.cc. */
bool exec_nccl_takes(const char *list, const char *name)
{
	bool others = *list == '^', whole, taken = false;

	list += others;
	whole = *list == '=';
	list += whole;
	while (*list && !taken) {
		size_t entry = strcspn(list, ","), length = strcspn(list, ",:");

		taken = length && strncmp(list, name, length) == 0 &&
			(!whole || !name[length]);
		list += entry + (list[entry] == ',');
	}
	return taken != others;
}

/*
 * Both libraries pass over a value of one character, as over an empty one: NCCL's
 * ncclFindInterfaces(), and PyTorch (1.13 and later) in its Gloo options.
 */
static bool is_set(struct exec_choice *choice, const char *list)
{
	*choice = (struct exec_choice){.interface = -1};
	return list && list[0] && list[1];
}

/* It uses the first one that it takes to bring its ranks together. */
void exec_choose_nccl(struct exec_choice *choice,
		      const struct exec_interfaces *interfaces, const char *list,
		      int route)
{
	int taken = -1;

	if (!is_set(choice, list))
		return;
	for (int i = (int)interfaces->count - 1; i >= 0; i--) {
		if (!exec_nccl_takes(list, interfaces->of[i].name))
			continue;
		taken = i;
		if (!interfaces->of[i].loopback)
			choice->interface = i;
	}
	if (taken < 0)
		choice->state = interfaces->cut ? EXEC_CHOICE_FINE : EXEC_CHOICE_MISSING;
	else if (interfaces->of[taken].loopback)
		choice->state = EXEC_CHOICE_LOOPBACK;
	else if (route < 0 || interfaces->of[route].loopback ||
		 exec_nccl_takes(list, interfaces->of[route].name))
		choice->state = EXEC_CHOICE_FINE;
	else
		choice->state = EXEC_CHOICE_OTHER;
}

static int find_name(const struct exec_interfaces *interfaces, const char *name,
		     size_t length)
{
	for (uint32_t i = 0; i < interfaces->count; i++) {
		const char *own = interfaces->of[i].name;

		if (strncmp(own, name, length) == 0 && !own[length])
			return (int)i;
	}
	return -1;
}

/* Judges one name of the list; the worst of them is the list's. */
static void judge_name(struct exec_choice *choice,
		       const struct exec_interfaces *interfaces, const char *name,
		       size_t length, int route)
{
	enum exec_choice_state state = EXEC_CHOICE_OTHER;
	int i = find_name(interfaces, name, length);

	if (i < 0) {
		state = interfaces->cut && length ? EXEC_CHOICE_FINE
						  : EXEC_CHOICE_MISSING;
	} else if (interfaces->of[i].loopback) {
		state = EXEC_CHOICE_LOOPBACK;
	} else {
		if (i == route || route < 0 || interfaces->of[route].loopback)
			state = EXEC_CHOICE_FINE;
		if (choice->interface < 0 || choice->interface == route)
			choice->interface = i;
	}
	if (state == EXEC_CHOICE_MISSING && !choice->name[0])
		snprintf(choice->name, sizeof(choice->name), "%.*s",
			 length ? (int)length : 2, length ? name : "\"\"");
	if (state > choice->state)
		choice->state = state;
}

/*
 * PyTorch makes a device of each name, which Gloo must find, and spreads connections over
 * them (ProcessGroupGloo.cpp and GlooDeviceFactory.cpp in torch/csrc/distributed/c10d). A
 * comma at the end is no further name, an empty name elsewhere is one that is not there.
 */
void exec_choose_gloo(struct exec_choice *choice,
		      const struct exec_interfaces *interfaces, const char *list,
		      int route)
{
	if (!is_set(choice, list))
		return;
	while (*list) {
		size_t length = strcspn(list, ",");

		judge_name(choice, interfaces, list, length, route);
		list += length + (list[length] == ',');
	}
}
