/* SPDX-License-Identifier: MIT */
/*
 * Where the ranks of a step meet: the address of rank 0's node and one port. Pure functions
 * of the facts, so that every task computes the same without a message.
 */
#pragma once

#include "spank/launch/facts.h"
#include "spank/launch/settings.h"

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

/*
 * MASTER_ADDR: the user's value, else the name of the node of global task 0 with suffix=
 * inserted before its first dot and domain= appended. -EINVAL with ERR when that node cannot
 * be known or named.
 */
int launch_address(const struct launch_facts *facts, const struct launch_settings *settings,
		   char *addr, size_t size, struct launch_error *err);

/*
 * MASTER_PORT: the user's value, else port=, else the first reserved port, else
 * launch_port_hash() into the range. -EINVAL with ERR when the user's value is no port.
 */
int launch_port(const struct launch_facts *facts, const struct launch_settings *settings,
		uint16_t *port, enum launch_port_source *source, struct launch_error *err);

/*
 * A port in [LOW, HIGH], spread evenly over consecutive job ids, steps and restarts, so
 * that neighbours differ.
 */
uint16_t launch_port_hash(uint32_t job_id, uint32_t step_id, uint32_t restart_count,
			  uint16_t low, uint16_t high);
