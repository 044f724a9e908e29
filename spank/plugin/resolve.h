/* SPDX-License-Identifier: MIT */
/*
 * The address of a node for addr=ip and addr=nodeaddr. May take as long as the host's
 * resolver does, and other threads may hold its locks: in slurmstepd's parent process
 * only, never between fork() and execve().
 */
#pragma once

#include "spank/launch/error.h"
#include "spank/launch/settings.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The address by which the NNODES nodes of a step reach NODE (Slurm's name of it), in
 * ADDR. MODE nodeaddr: NodeAddr as Slurm knows it, be it a name. MODE ip: a number, found
 * for NAME, which is NODE with suffix= and domain= in place; where these leave it as it
 * is and it has no such address, for its NodeAddr.
 *
 * -EHOSTUNREACH with ERR when the resolver gives no answer, or knows no address that will
 * do, and when Slurm does not know the node, all of which may be otherwise on another
 * host; -ENOMEM.
 */
int srank_resolve(enum launch_addr_mode mode, const char *node, const char *name,
		  uint32_t nnodes, char *addr, size_t size, struct launch_error *err);
