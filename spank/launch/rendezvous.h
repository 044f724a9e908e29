/* SPDX-License-Identifier: MIT */
/*
 * Where the ranks of a step meet: the address of rank 0's node and one port. Pure functions
 * of the facts, so that every task computes the same without a message.
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
	LAUNCH_PORT_RESERVED, /* SLURM_STEP_RESV_PORTS */
	LAUNCH_PORT_HASH,     /* hash of the step into ports=LO-HI */
};

/* "as set", "port=", "reserved by Slurm", "hash of job, step and restart". */
const char *launch_port_source_name(enum launch_port_source source);

/*
 * MASTER_ADDR: the user's value, else the name of the node of global task 0 with suffix=
 * inserted before its first dot and domain= appended. -EINVAL with ERR when that node cannot
 * be known or named.
 */
int launch_address(const struct launch_facts *facts, const struct launch_settings *settings,
		   char *addr, size_t size, struct launch_error *err);

/*
 * The address of a node as other nodes reach it: its name with suffix= and domain= as above
 * (not where the name is an IPv4 address or has the domain already). -EINVAL with ERR when
 * the name has a character that host names do not have, or gets too long.
 */
int launch_node_address(const char *node, const struct launch_settings *settings,
			char *addr, size_t size, struct launch_error *err);

/*
 * NODE_RANK of the task in a step of SHAPE: 0 on the node of rank 0, and no number missing.
 * That is Slurm's node id, except under an arbitrary distribution, where rank 0 may be on
 * any node: with one task a node it is then the task's rank, else the nodes up to rank 0's
 * move up by one.
 */
uint32_t launch_node_rank(const struct launch_facts *facts, enum launch_shape shape);

/* "addr:port", "[v6]:port". Returns false when it does not fit into SIZE. */
bool launch_endpoint(const char *addr, uint16_t port, char *endpoint, size_t size);

/*
 * MASTER_PORT: the user's value, else port=, else the first reserved port, else
 * launch_port_hash() into the range. -EINVAL with ERR when the user's value is no port.
 */
int launch_port(const struct launch_facts *facts, const struct launch_settings *settings,
		uint16_t *port, enum launch_port_source *source, struct launch_error *err);

/* Port NTH (from 0) of a SLURM_STEP_RESV_PORTS text. -EINVAL: no port list; -ERANGE: past it. */
int launch_port_reserved(const char *text, uint32_t nth, uint16_t *port);

/*
 * A port in [LOW, HIGH], spread evenly over consecutive job ids, steps and restarts, so
 * that neighbours differ.
 */
uint16_t launch_port_hash(uint32_t job_id, uint32_t step_id, uint32_t restart_count,
			  uint16_t low, uint16_t high);
