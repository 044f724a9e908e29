/* SPDX-License-Identifier: MIT */
/*
 * Whether rank 0 will be able to listen on the step's port.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Binds a socket to PORT as rank 0 is about to do, and lets go of it. 0: nothing stands
 * in the way, or it cannot be told here (no sockets left, a container's filter);
 * -EADDRINUSE: another process has the port; -EACCES: not for this user (below 1024).
 */
int launch_port_test(uint16_t port);

/*
 * True when ADDR, a number, is an address of this host (or passes for one, by
 * net.ipv4.ip_nonlocal_bind). False for names: nothing is looked up.
 */
bool launch_port_is_own_address(const char *addr);
