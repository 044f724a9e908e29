/* SPDX-License-Identifier: MIT */
/*
 * `srank exec`: what the plugin does for a task, done by the task itself before it
 * becomes the program.
 */
#pragma once

#include "spank/launch/settings.h"

#include <stdbool.h>

/* What a shell says of a program that it cannot start, as env(1) does. */
#define EXEC_FAILED        1
#define EXEC_NOT_STARTABLE 126
#define EXEC_NOT_FOUND     127

struct exec_options {
	struct launch_settings settings;
	bool pmix;            /* use it where there is a server */
	unsigned int timeout; /* seconds to wait for the other ranks */
};

/* Seconds that ranks may come apart: loading modules, a slow file system. */
#define EXEC_TIMEOUT 120

/*
 * Gives this process the environment that the plugin would have set, and becomes PROGRAM
 * (a vector that ends with NULL, looked up in PATH), which says what launcher it is where
 * the settings name none. Where the plugin has done so in this
 * step, or the settings are off, it becomes PROGRAM at once. Returns only after a
 * failure, with an exit code above; what is wrong has then been printed, by this task or
 * by another. Threads of libpmix may still be there, and its handlers at exit would wait
 * for them: call _Exit().
 */
int exec_program(const struct exec_options *options, char **program);
