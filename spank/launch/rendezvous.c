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
#include <strings.h>

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

/*
 * Names for the machine itself in the hosts files of the distributions; RFC 6761 gives it
 * all of .localhost.
 */
static bool is_localhost(const char *name)
{
	static const char *const labels[] = {"localhost", "localhost4", "localhost6",
					     "ip6-localhost", "ip6-loopback"};
	const char *last = strrchr(name, '.');
	size_t label = strcspn(name, ".");

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		if (strlen(labels[i]) == label &&
		    strncasecmp(name, labels[i], label) == 0)
			return true;
	}
	return last && strcasecmp(last, ".localhost") == 0;
}

/* What an address is good for. */
enum reach {
	REACH_ALL,         /* no fault to be seen in the number */
	REACH_SELF,        /* loopback */
	REACH_UNSPECIFIED, /* means the machine itself to a client */
	REACH_LINK,        /* link-local: needs an interface to be said with it */
	REACH_MANY,        /* multicast and broadcast */
	REACH_NONE,        /* no address */
};

static enum reach reach_v4(struct in_addr addr)
{
	uint32_t number = ntohl(addr.s_addr);

	if (number >> 24 == 0)
		return REACH_UNSPECIFIED;
	if (number >> 24 == 127)
		return REACH_SELF;
	if (number >> 16 == 0xa9fe)
		return REACH_LINK;
	return number >> 28 >= 0xe ? REACH_MANY : REACH_ALL;
}

static enum reach reach_v6(const struct in6_addr *addr)
{
	struct in_addr inner;

	if (IN6_IS_ADDR_UNSPECIFIED(addr))
		return REACH_UNSPECIFIED;
	if (IN6_IS_ADDR_LOOPBACK(addr))
		return REACH_SELF;
	if (IN6_IS_ADDR_LINKLOCAL(addr))
		return REACH_LINK;
	if (IN6_IS_ADDR_MULTICAST(addr))
		return REACH_MANY;
	if (!IN6_IS_ADDR_V4MAPPED(addr))
		return REACH_ALL;
	memcpy(&inner, &addr->s6_addr[12], sizeof(inner));
	return reach_v4(inner);
}

/* An IPv6 address may end in the interface that it is meant for: fe80::1%eth0. */
static bool parse_v6(const char *text, struct in6_addr *addr)
{
	char number[INET6_ADDRSTRLEN];
	size_t length = strcspn(text, "%");

	if (length >= sizeof(number))
		return false;
	memcpy(number, text, length);
	number[length] = '\0';
	return inet_pton(AF_INET6, number, addr) == 1;
}

bool launch_address_is_loopback(const char *addr)
{
	enum reach reach = REACH_NONE;
	struct in6_addr v6;
	struct in_addr v4;

	if (parse_v6(addr, &v6))
		reach = reach_v6(&v6);
	/* Resolvers take 127.1 and 0x7f000001, too (inet_aton(3)). */
	else if (inet_aton(addr, &v4))
		reach = reach_v4(v4);
	return reach == REACH_SELF || reach == REACH_UNSPECIFIED || is_localhost(addr);
}

static enum reach reach_of(const char *text)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		return reach_v4(v4);
	return parse_v6(text, &v6) ? reach_v6(&v6) : REACH_NONE;
}

/* Copies ADDRESS, an IPv4 one in IPv6 as IPv4. */
static bool copy_address(const char *address, char *addr, size_t size)
{
	struct in6_addr v6;
	int length;

	if (parse_v6(address, &v6) && IN6_IS_ADDR_V4MAPPED(&v6))
		return inet_ntop(AF_INET, &v6.s6_addr[12], addr, size);
	length = snprintf(addr, size, "%s", address);
	return length >= 0 && (size_t)length < size;
}

int launch_address_choose(const char *name, uint32_t nnodes, const char *const *addresses,
			  size_t count, char *addr, size_t size, struct launch_error *err)
{
	static const char *const faults[] = {
		[REACH_SELF] = "loopback",       [REACH_UNSPECIFIED] = "unspecified",
		[REACH_LINK] = "link-local",     [REACH_MANY] = "multicast",
		[REACH_NONE] = "not an address",
	};
	char found[200] = "";
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		enum reach reach = reach_of(addresses[i]);
		int length;

		if (reach == REACH_ALL || (reach == REACH_SELF && nnodes <= 1)) {
			if (copy_address(addresses[i], addr, size))
				return 0;
			continue;
		}
		/* Those that still fit tell enough. */
		length = snprintf(found + used, sizeof(found) - used, "%s%.60s (%s)",
				  used ? ", " : "", addresses[i], faults[reach]);
		if (length < 0 || (size_t)length >= sizeof(found) - used)
			found[used] = '\0';
		else
			used += length;
	}
	return launch_error_set(err, -EINVAL,
				"%.80s has no address at which other nodes reach it, but "
				"%s; correct its entry in /etc/hosts or DNS, use "
				"addr=name, or set MASTER_ADDR",
				name, *found ? found : "none at all");
}

/* More than one machine: the components of a heterogeneous step may share theirs. */
static bool has_others(const struct launch_facts *facts)
{
	uint32_t nodes;

	if (!facts->het || launch_hostlist_count(facts->nodelist, &nodes))
		nodes = facts->nnodes;
	return nodes > 1;
}

/* MASTER_ADDR is read by getaddrinfo(3), to which "[::1]" is no address. */
static const char *without_brackets(const char *addr, size_t *length)
{
	char inner[INET6_ADDRSTRLEN + 20];
	struct in6_addr v6;

	*length = strlen(addr);
	if (addr[0] != '[' || *length < 2 || addr[*length - 1] != ']' ||
	    *length - 2 >= sizeof(inner))
		return addr;
	memcpy(inner, addr + 1, *length - 2);
	inner[*length - 2] = '\0';
	if (!parse_v6(inner, &v6))
		return addr;
	*length -= 2;
	return addr + 1;
}

static int user_address(const struct launch_facts *facts, char *addr, size_t size,
			struct launch_error *err)
{
	size_t length;
	const char *start = without_brackets(facts->user_addr, &length);

	if (length >= size)
		return launch_error_set(
			err, -EINVAL,
			"MASTER_ADDR=%.40s... has more than %zu characters; set "
			"it to the name or address of rank 0's node, or unset it",
			facts->user_addr, size - 1);
	memcpy(addr, start, length);
	addr[length] = '\0';
	if (launch_address_is_loopback(addr) && has_others(facts))
		return launch_error_set(
			err, -EINVAL,
			"MASTER_ADDR=%.80s is each node itself, so that of the step's "
			"nodes only rank 0's would find it; unset MASTER_ADDR",
			facts->user_addr);
	return 0;
}

/* The name in slurm.conf of the node of rank 0. */
static int head_node(const struct launch_facts *facts, char *node, size_t size,
		     struct launch_error *err)
{
	int length;

	if (!facts->head && facts->head_uncertain && facts->nnodes > 1)
		return launch_error_set(
			err, -EINVAL,
			"the node of rank 0 is not known: %s, so it need not be the "
			"first of "
			"%.80s; set MASTER_ADDR to the node that you placed rank 0 on",
			facts->het
				? "Slurm sorts the nodes of a heterogeneous step by name"
				: "the step has -m arbitrary or SLURM_HOSTFILE",
			facts->nodelist ? facts->nodelist : "(null)");
	if (!facts->head) {
		if (facts->nodelist &&
		    launch_hostlist_nth(facts->nodelist, 0, node, size) == 0)
			return 0;
		return launch_error_set(err, -EINVAL,
					"%.80s is not a host list, so the node of rank "
					"0 is not known; set MASTER_ADDR",
					facts->nodelist ? facts->nodelist : "(null)");
	}
	length = snprintf(node, size, "%s", facts->head);
	if (length >= 0 && (size_t)length < size)
		return 0;
	return launch_error_set(err, -EINVAL,
				"%.80s... is longer than a node name can be; set "
				"MASTER_ADDR to the address of rank 0's node",
				facts->head);
}

static const char *mode_name(const struct launch_settings *settings)
{
	return settings->addr == LAUNCH_ADDR_IP ? "ip" : "nodeaddr";
}

/* What the source was to find out. */
static int found_address(const struct launch_facts *facts,
			 const struct launch_settings *settings, const char *node,
			 char *addr, size_t size, struct launch_error *err)
{
	struct launch_settings plain = *settings;

	if (!facts->head_addr)
		return launch_error_set(err, -EINVAL,
					"addr=%s: the address of %.80s was not found "
					"out; use addr=name, or set MASTER_ADDR",
					mode_name(settings), node);
	/* Only the characters and the length are looked at: it is meant as it is. */
	plain.suffix[0] = plain.domain[0] = '\0';
	return launch_node_address(facts->head_addr, &plain, addr, size, err);
}

int launch_address(const struct launch_facts *facts,
		   const struct launch_settings *settings, char *addr, size_t size,
		   struct launch_error *err)
{
	char node[LAUNCH_HOST_MAX];
	int r;

	if (facts->user_addr)
		return user_address(facts, addr, size, err);
	r = head_node(facts, node, sizeof(node), err);
	if (r)
		return r;
	if (settings->addr == LAUNCH_ADDR_NAME)
		r = launch_node_address(node, settings, addr, size, err);
	else
		r = found_address(facts, settings, node, addr, size, err);
	if (r)
		return r;
	if (launch_address_is_loopback(addr) && has_others(facts))
		return launch_error_set(
			err, -EINVAL,
			"%.80s, the address of rank 0's node %.80s, is each node itself; "
			"correct the node's entry in slurm.conf, use suffix=, domain= or "
			"addr=, or set MASTER_ADDR",
			addr, node);
	return 0;
}

/* What is to be looked up for NODE. */
static int query(const char *node, const struct launch_settings *settings, char *name,
		 size_t size, struct launch_error *err)
{
	struct launch_settings plain = *settings;
	int r;

	if (settings->addr == LAUNCH_ADDR_NODEADDR)
		plain.suffix[0] = plain.domain[0] = '\0';
	r = launch_node_address(node, &plain, name, size, err);
	return r ? r : 1;
}

int launch_head_query(const struct launch_facts *facts,
		      const struct launch_settings *settings, char *name, size_t size,
		      struct launch_error *err)
{
	char node[LAUNCH_HOST_MAX];
	int r;

	if (facts->user_addr || settings->addr == LAUNCH_ADDR_NAME ||
	    (settings->launcher && settings->launcher->bare))
		return 0;
	r = head_node(facts, node, sizeof(node), err);
	return r ? r : query(node, settings, name, size, err);
}

int launch_node_query(const struct launch_facts *facts,
		      const struct launch_settings *settings, char *name, size_t size,
		      struct launch_error *err)
{
	if (!facts->node || !settings->elastic_max || settings->addr == LAUNCH_ADDR_NAME)
		return 0;
	return query(facts->node, settings, name, size, err);
}

uint32_t launch_node_rank(const struct launch_facts *facts, enum launch_shape shape)
{
	uint32_t place;

	if (shape == LAUNCH_NODE)
		return facts->rank;
	if (facts->placement &&
	    launch_counts_nth(facts->placement, facts->rank, &place) == 0)
		return place;
	if (facts->node_rank == facts->head_id)
		return 0;
	return facts->node_rank + (facts->node_rank < facts->head_id);
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

/* Python's int(), which all who read MASTER_PORT use, takes blanks around a number. */
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

/* The next range of ports in a list, at *AT, which moves behind it. */
static bool read_range(const char **at, uint16_t *low, uint16_t *high)
{
	const char *p = *at;

	if (!read_port(&p, low))
		return false;
	*high = *low;
	if (*p == '-') {
		p++;
		if (!read_port(&p, high) || *high < *low)
			return false;
	}
	if (*p && (*p++ != ',' || !*p))
		return false;
	*at = p;
	return true;
}

int launch_port_reserved(const char *text, uint32_t nth, uint16_t *port)
{
	bool found = false;
	uint16_t low, high;

	do {
		if (!read_range(&text, &low, &high))
			return -EINVAL;
		if (!found && nth <= (uint32_t)(high - low)) {
			*port = low + nth;
			found = true;
		} else if (!found) {
			nth -= high - low + 1;
		}
	} while (*text);
	return found ? 0 : -ERANGE;
}

/* How many ports a list has up to LAST. */
static uint32_t count_reserved(const char *text, uint16_t last)
{
	uint32_t count = 0;
	uint16_t low, high;

	while (*text && read_range(&text, &low, &high)) {
		if (low <= last)
			count += (high < last ? high : last) - low + 1;
	}
	return count;
}

/* The finaliser of splitmix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/*
 * SLURM_INTERACTIVE_STEP and SLURM_BATCH_SCRIPT are 0xfffffffa and 0xfffffffb: with this
 * they come before step 0.
 */
#define STEPS_SPECIAL 6U

/*
 * The id of a job modulo the range, as others do it, gives the same port to jobs that far
 * apart, and to all steps of a job. A mixer instead chooses a block of ports for the job,
 * and from there its steps go on block by block, so that no two of them meet before the
 * range is used up. Jobs then meet as seldom as random blocks do; but neighbours, such as
 * the tasks of an array, and a job and its requeue are sure to run side by side, so these
 * have different places in their blocks, and never meet. From step to step there is room
 * for a block of ports: tensorflow's workers of a node take one after another.
 */
static uint16_t hash_port(const struct launch_facts *facts, uint16_t low, uint16_t high)
{
	uint32_t size = high - low + 1U;
	uint32_t places = size >= 64 ? 8 : 1;
	uint32_t blocks = size / places;
	uint64_t key = (uint64_t)facts->restart_count << 32 | facts->job_id;
	uint32_t step = facts->step_id + STEPS_SPECIAL;
	uint32_t place = facts->job_id + 5 * facts->restart_count + step / blocks;
	uint64_t block = mix(key + UINT64_C(0x9e3779b97f4a7c15)) % blocks + step;

	return low + block % blocks * places + place % places;
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
	if (facts->agreed_port) {
		*source = LAUNCH_PORT_AGREED;
		*port = facts->agreed_port;
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
	*port = hash_port(facts, settings->port_low, settings->port_high);
	return 0;
}

int launch_port_candidate(const struct launch_facts *facts,
			  const struct launch_settings *settings, uint32_t nth,
			  uint16_t *port, enum launch_port_source *source,
			  struct launch_error *err)
{
	uint16_t low = settings->port_low, high = settings->port_high;
	uint32_t reserved = 0;
	int r = launch_port(facts, settings, port, source, err);

	if (r || nth == 0)
		return r;
	if (*source == LAUNCH_PORT_RESERVED) {
		if (launch_port_reserved(facts->resv_ports, nth, port) == 0)
			return 0;
		while (launch_port_reserved(facts->resv_ports, reserved, port) == 0)
			reserved++;
		nth -= reserved;
		*source = LAUNCH_PORT_HASH;
	} else if (*source != LAUNCH_PORT_HASH) {
		return -ERANGE;
	}
	if (nth > (uint32_t)(high - low))
		return -ERANGE;
	*port = low + (hash_port(facts, low, high) - low + nth) % (high - low + 1U);
	return 0;
}

/* How many of the ports from LOW to LAST are in no list. */
static uint32_t count_free(const char *reserved, uint16_t low, uint16_t last)
{
	return last - low + 1U -
	       (count_reserved(reserved, last) - count_reserved(reserved, low - 1));
}

/* The port NTH (from 0) of those; it must be there. */
static uint16_t nth_free(const char *reserved, uint32_t nth, uint16_t low, uint16_t last)
{
	uint16_t from = low;

	while (from < last) {
		uint16_t middle = from + (last - from) / 2;

		if (count_free(reserved, low, middle) > nth)
			last = middle;
		else
			from = middle + 1;
	}
	return from;
}

int launch_port_worker(const struct launch_facts *facts,
		       const struct launch_settings *settings, uint32_t local_rank,
		       uint16_t *port)
{
	const uint16_t low = settings->port_low, high = settings->port_high;
	struct launch_error ignored = {""};
	enum launch_port_source source;
	uint32_t left, above;
	uint16_t first;
	int r = launch_port(facts, settings, port, &source, &ignored);

	if (r)
		return r;
	if (source != LAUNCH_PORT_RESERVED) {
		if (local_rank > (uint32_t)(UINT16_MAX - *port))
			return -ERANGE;
		*port += local_rank;
		return 0;
	}
	r = launch_port_reserved(facts->resv_ports, local_rank, port);
	if (r != -ERANGE)
		return r;
	left = local_rank - count_reserved(facts->resv_ports, UINT16_MAX);
	first = hash_port(facts, low, high);
	above = count_free(facts->resv_ports, first, high);
	if (left < above)
		*port = nth_free(facts->resv_ports, left, first, high);
	else if (left < count_free(facts->resv_ports, low, high))
		*port = nth_free(facts->resv_ports, left - above, low, first);
	else
		return -ERANGE;
	return 0;
}

const char *launch_port_source_name(enum launch_port_source source)
{
	static const char *const names[] = {
		[LAUNCH_PORT_USER] = "as set",
		[LAUNCH_PORT_KEY] = "port=",
		[LAUNCH_PORT_AGREED] = "found free by rank 0",
		[LAUNCH_PORT_RESERVED] = "reserved by Slurm",
		[LAUNCH_PORT_HASH] = "hash of job, step and restart",
	};

	return names[source];
}
