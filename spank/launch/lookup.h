/* SPDX-License-Identifier: MIT */
/*
 * The host's resolver, for addr=ip. It may take its time, and other threads may hold its
 * locks: not between fork() and execve().
 */
#pragma once

#include "spank/launch/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The number by which the NNODES nodes of a step reach the host NAME, in ADDR.
 * -EHOSTUNREACH with ERR when the resolver gives no answer; as launch_address_choose()
 * when no address will do; -ENOMEM.
 */
int launch_look_up(const char *name, uint32_t nnodes, char *addr, size_t size,
		   struct launch_error *err);
