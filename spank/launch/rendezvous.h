/* SPDX-License-Identifier: MIT */
/*
 * Where the ranks of a step meet: the address of rank 0's node and one port. Pure
 * functions of the facts, so that every task computes the same without a message.
 */
#pragma once

#include "spank/launch/facts.h"
#include "spank/launch/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest MASTER_ADDR: a host name or an IPv6 address. */
#define LAUNCH_ADDR_MAX 256

/* Where a port came from; srank explain and the error for a busy port say it. */
enum launch_port_source {
	LAUNCH_PORT_USER,     /* MASTER_PORT was set */
	LAUNCH_PORT_KEY,      /* port=N */
	LAUNCH_PORT_AGREED,   /* free on rank 0's node, which has told the others */
	LAUNCH_PORT_RESERVED, /* SLURM_STEP_RESV_PORTS */
	LAUNCH_PORT_HASH,     /* hash of the step into ports=LO-HI */
};

/* "as set", "port=", "found free by rank 0", "reserved by Slurm", "hash of job, ...". */
const char *launch_port_source_name(enum launch_port_source source);

/*
 * MASTER_ADDR, without brackets: the user's value, else what addr= says of the node of
 * global task 0. name: its name with suffix= inserted before its first dot and domain=
 * appended; ip, nodeaddr: FACTS' head_addr. -EINVAL with ERR when that node cannot be
 * known or named, its address was not found out, or the step has several nodes and the
 * address is one by which a machine means itself.
 */
int launch_address(const struct launch_facts *facts,
		   const struct launch_settings *settings, char *addr, size_t size,
		   struct launch_error *err);

/*
 * The address of a node as other nodes reach it: its name with suffix= and domain= as
 * above (not where the name is an IPv4 address or has the domain already). -EINVAL with
 * ERR when the name has a character that host names do not have, or gets too long.
 */
int launch_node_address(const char *node, const struct launch_settings *settings,
			char *addr, size_t size, struct launch_error *err);

/*
 * What a source must find out for addr= before launch_address() can answer. 1 with NAME:
 * facts->head_addr, and NAME is to be looked up (ip: a host name, suffix= and domain= in
 * place; nodeaddr: Slurm's name of the node). 0: nothing. -EINVAL with ERR as from
 * launch_address().
 */
int launch_head_query(const struct launch_facts *facts,
		      const struct launch_settings *settings, char *name, size_t size,
		      struct launch_error *err);

/* The same for facts->node_addr, this node's own, which elastic= hands to torchrun. */
int launch_node_query(const struct launch_facts *facts,
		      const struct launch_settings *settings, char *name, size_t size,
		      struct launch_error *err);

/*
 * The first of COUNT addresses, as numbers in a resolver's order, at which the other
 * nodes of a step of NNODES nodes can reach the node NAME: not loopback, unless there are
 * no others, and never unspecified, link-local (RFC 3927, RFC 4291) or multicast. An IPv4
 * address in an IPv6 one (::ffff:10.0.0.1) is written as IPv4. -EINVAL with ERR, which
 * names what there was and the cure, when none will do.
 */
int launch_address_choose(const char *name, uint32_t nnodes, const char *const *addresses,
			  size_t count, char *addr, size_t size,
			  struct launch_error *err);

/*
 * True for an address or name by which a machine means itself: 127.0.0.1 in any of its
 * spellings, ::1, 0.0.0.0, ::, localhost with or without a domain.
 */
bool launch_address_is_loopback(const char *addr);

/*
 * NODE_RANK of the task in a step of SHAPE: 0 on the node of rank 0, and no number
 * missing. That is Slurm's node id, except under an arbitrary distribution, where rank 0
 * may be on any node: with one task a node it is then the task's rank, else the place of
 * its node by lowest rank, where that is known, else the nodes before rank 0's move up by
 * one. In a heterogeneous step each component counts its own nodes, also one that it
 * shares.
 */
uint32_t launch_node_rank(const struct launch_facts *facts, enum launch_shape shape);

/* "addr:port", "[v6]:port". Returns false when it does not fit into SIZE. */
bool launch_endpoint(const char *addr, uint16_t port, char *endpoint, size_t size);

/*
 * MASTER_PORT: the user's value, else port=, else what the ranks have agreed on, else the
 * first reserved port, else one out of ports=, evenly spread. There, the steps of a job
 * (the batch step is one) have different ports until all of them, or all but 7, are used
 * up. With 64 ports or more, the first eighth as many steps of a job also share none with
 * those of the 7 jobs before and after it, nor with its own next 7 runs. -EINVAL with ERR
 * when the user's value is no port.
 */
int launch_port(const struct launch_facts *facts, const struct launch_settings *settings,
		uint16_t *port, enum launch_port_source *source,
		struct launch_error *err);

/*
 * The NTH port to try, where rank 0 can tell the others which one it got: launch_port()
 * is the first; behind it come the other reserved ports, and then all of ports=. -ERANGE
 * when there is none left, as behind a port that somebody has set. Else as launch_port().
 */
int launch_port_candidate(const struct launch_facts *facts,
			  const struct launch_settings *settings, uint32_t nth,
			  uint16_t *port, enum launch_port_source *source,
			  struct launch_error *err);

/*
 * The port of the task LOCAL_RANK of any node, where each of them has its own: those
 * above launch_port(), or the reserved ones. Slurm reserves one for each task of a node,
 * or as many as srun --resv-ports says, and slurmctld has no more at times; those behind
 * come out of ports=. -ERANGE: there is none left; else as launch_port().
 */
int launch_port_worker(const struct launch_facts *facts,
		       const struct launch_settings *settings, uint32_t local_rank,
		       uint16_t *port);

/* Port NTH (from 0) of SLURM_STEP_RESV_PORTS. -EINVAL: no port list; -ERANGE: past it. */
int launch_port_reserved(const char *text, uint32_t nth, uint16_t *port);
