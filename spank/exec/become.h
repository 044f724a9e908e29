/* SPDX-License-Identifier: MIT */
/*
 * How a process becomes a program, and why it does not.
 */
#pragma once

#include "spank/launch/error.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The file that execvp() takes for PROGRAM: the first one in PATH that is executable,
 * else the first one that is there at all. False: there is none.
 */
bool exec_find_program(const char *program, char *path, size_t size);

/*
 * Becomes PROGRAM, a vector that ends with NULL, as execvp() does; but what is made for
 * another machine is no script for /bin/sh. Returns only when it cannot: -ENOENT when
 * there is no such program, else another negative errno, with ERR.
 */
int exec_become(char **program, struct launch_error *err);
