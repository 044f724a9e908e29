/* SPDX-License-Identifier: MIT */
/*
 * Address and port of rank 0. No name look-up and no socket: every task of the step gets
 * here with the same facts and leaves with the same answer.
 */
#include "spank/launch/rendezvous.h"

#include "spank/launch/hostlist.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A source may give an address for a name; suffix= and domain= make no sense there. */
static bool is_numeric(const char *name)
{
	struct in6_addr addr;

	return inet_pton(AF_INET, name, &addr) == 1 ||
	       inet_pton(AF_INET6, name, &addr) == 1;
}

static bool has_domain(const char *name, const char *domain)
{
	size_t length = strlen(name), tail = strlen(domain);

	return length > tail && name[length - tail - 1] == '.' &&
	       strcmp(name + length - tail, domain) == 0;
}

int launch_node_address(const char *node, const struct launch_settings *settings,
			char *addr, size_t size, struct launch_error *err)
{
	bool rewrite = !is_numeric(node);
	const char *suffix = rewrite ? settings->suffix : "";
	const char *domain = rewrite ? settings->domain : "";
	size_t label = strcspn(node, ".");
	int length;

	for (const char *p = node; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr("-_.:", *p))
			return launch_error_set(
				err, -EINVAL,
				"node name %.80s is no host name; set "
				"MASTER_ADDR to the address of rank 0's node",
				node);
	}
	if (*domain && has_domain(node, domain))
		domain = "";
	length = snprintf(addr, size, "%.*s%s%s%s%s", (int)label, node, suffix,
			  node + label, *domain ? "." : "", domain);
	if (length < 0 || (size_t)length >= size)
		return launch_error_set(
			err, -EINVAL,
			"the address of node %.80s is longer than a host name "
			"can be (%zu characters) with suffix= and domain=",
			node, size - 1);
	return 0;
}

int launch_address(const struct launch_facts *facts,
		   const struct launch_settings *settings, char *addr, size_t size,
		   struct launch_error *err)
{
	char first[LAUNCH_HOST_MAX];
	const char *node = facts->head;
	int length;

	if (facts->user_addr) {
		length = snprintf(addr, size, "%s", facts->user_addr);
		if (length >= 0 && (size_t)length < size)
			return 0;
		return launch_error_set(
			err, -EINVAL,
			"MASTER_ADDR=%.40s... has more than %zu characters; set "
			"it to the name or address of rank 0's node, or unset it",
			facts->user_addr, size - 1);
	}
	if (!node && facts->head_uncertain && facts->nnodes > 1)
		return launch_error_set(
			err, -EINVAL,
			"the node of rank 0 is not known: %s, so it need not be the "
			"first of "
			"%.80s; set MASTER_ADDR to the node that you placed rank 0 on",
			facts->het
				? "Slurm sorts the nodes of a heterogeneous step by name"
				: "the step has -m arbitrary or SLURM_HOSTFILE",
			facts->nodelist);
	if (!node) {
		if (!facts->nodelist ||
		    launch_hostlist_nth(facts->nodelist, 0, first, sizeof(first)))
			return launch_error_set(
				err, -EINVAL,
				"%.80s is not a host list, so the node of rank "
				"0 is not known; set MASTER_ADDR",
				facts->nodelist ? facts->nodelist : "(null)");
		node = first;
	}
	return launch_node_address(node, settings, addr, size, err);
}

uint32_t launch_node_rank(const struct launch_facts *facts, enum launch_shape shape)
{
	uint32_t head;

	if (facts->het || facts->layout != LAUNCH_LAYOUT_OTHER)
		return facts->node_rank;
	if (shape == LAUNCH_NODE)
		return facts->rank;
	if (!facts->head || launch_hostlist_find(facts->nodelist, facts->head, &head))
		return facts->node_rank;
	if (facts->node_rank == head)
		return 0;
	return facts->node_rank + (facts->node_rank < head);
}

bool launch_endpoint(const char *addr, uint16_t port, char *endpoint, size_t size)
{
	bool brackets = strchr(addr, ':') && addr[0] != '[';
	int length = snprintf(endpoint, size, "%s%s%s:%u", brackets ? "[" : "", addr,
			      brackets ? "]" : "", port);

	return length >= 0 && (size_t)length < size;
}

/* Decimal digits at *AT, 1..65535; moves *AT behind them. */
static bool read_port(const char **at, uint16_t *port)
{
	const char *p = *at;
	uint32_t value = 0;

	for (; isdigit((unsigned char)*p) && value <= UINT16_MAX; p++)
		value = value * 10 + (*p - '0');
	if (p == *at || value == 0 || value > UINT16_MAX)
		return false;
	*port = value;
	*at = p;
	return true;
}

/* Python's int(), which all readers of MASTER_PORT use, takes blanks around the number.
 */
static bool is_user_port(const char *text, uint16_t *port)
{
	while (isspace((unsigned char)*text))
		text++;
	if (!read_port(&text, port))
		return false;
	while (isspace((unsigned char)*text))
		text++;
	return !*text;
}

int launch_port_reserved(const char *text, uint32_t nth, uint16_t *port)
{
	bool found = false;
	uint16_t low, high;

	for (;;) {
		if (!read_port(&text, &low))
			return -EINVAL;
		high = low;
		if (*text == '-') {
			text++;
			if (!read_port(&text, &high) || high < low)
				return -EINVAL;
		}
		if (!found && nth <= (uint32_t)(high - low)) {
			*port = low + nth;
			found = true;
		} else if (!found) {
			nth -= high - low + 1;
		}
		if (!*text)
			return found ? 0 : -ERANGE;
		if (*text++ != ',')
			return -EINVAL;
	}
}

int launch_port(const struct launch_facts *facts, const struct launch_settings *settings,
		uint16_t *port, enum launch_port_source *source, struct launch_error *err)
{
	if (facts->user_port) {
		*source = LAUNCH_PORT_USER;
		if (is_user_port(facts->user_port, port))
			return 0;
		return launch_error_set(
			err, -EINVAL,
			"MASTER_PORT=%.40s is no port; set it to a number from "
			"1 to 65535, or unset it for a port of the step's own",
			facts->user_port);
	}
	if (settings->port) {
		*source = LAUNCH_PORT_KEY;
		*port = settings->port;
		return 0;
	}
	if (facts->resv_ports) {
		*source = LAUNCH_PORT_RESERVED;
		if (launch_port_reserved(facts->resv_ports, 0, port) == 0)
			return 0;
		return launch_error_set(
			err, -EINVAL,
			"SLURM_STEP_RESV_PORTS=%.40s is no list of ports; unset "
			"it, or set MASTER_PORT",
			facts->resv_ports);
	}
	*source = LAUNCH_PORT_HASH;
	*port = launch_port_hash(facts->job_id, facts->step_id, facts->restart_count,
				 settings->port_low, settings->port_high);
	return 0;
}

const char *launch_port_source_name(enum launch_port_source source)
{
	static const char *const names[] = {
		[LAUNCH_PORT_USER] = "as set",
		[LAUNCH_PORT_KEY] = "port=",
		[LAUNCH_PORT_RESERVED] = "reserved by Slurm",
		[LAUNCH_PORT_HASH] = "hash of job, step and restart",
	};

	return names[source];
}

/* The finaliser of splitmix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/*
 * The id of a job modulo the range, as others do it, gives the same port to jobs that far
 * apart, and to all steps of a job. Mixed, any two steps meet as seldom as two random
 * ports. That is still too often for those that are sure to run side by side:
 * neighbouring jobs, steps of one job, a job and its requeue. So the mixer only chooses a
 * block of ports, and the numbers themselves the place in it: neighbours never meet, and
 * all pairs together meet no more often than before.
 */
uint16_t launch_port_hash(uint32_t job_id, uint32_t step_id, uint32_t restart_count,
			  uint16_t low, uint16_t high)
{
	uint32_t size = high - low + 1U;
	uint32_t places = size >= 64 ? 8 : 1;
	uint32_t place = (job_id + 3 * step_id + 5 * restart_count) % places;
	uint64_t key = (uint64_t)job_id << 32 | step_id;

	key = mix(key + UINT64_C(0x9e3779b97f4a7c15) * (restart_count + UINT64_C(1)));
	return low + key % (size / places) * places + place;
}
