/* SPDX-License-Identifier: MIT */
/*
 * Whether rank 0 will be able to listen on the step's port.
 */
#pragma once

#include <stdint.h>

/*
 * Binds a socket to PORT as rank 0 is about to do, and lets go of it. 0: nothing stands
 * in the way, or it cannot be told here (no sockets left, a container's filter);
 * -EADDRINUSE: another process has the port; -EACCES: not for this user (below 1024).
 */
int srank_port_test(uint16_t port);
