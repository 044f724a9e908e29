/* SPDX-License-Identifier: MIT */
/* What the tests of the launch library share: an environment to look variables up in. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/*
 * A launch_lookup over ARG, strings "NAME=VALUE" ended by NULL; the last of a name wins.
 * The answer lives only until the next call, as the contract of launch_lookup allows.
 */
static inline const char *lookup_in(const char *name, void *arg)
{
	static char value[8192];
	const char *found = NULL;
	size_t length = strlen(name);

	for (const char *const *variable = arg; *variable; variable++) {
		if (strncmp(*variable, name, length) == 0 && (*variable)[length] == '=')
			found = *variable + length + 1;
	}
	memset(value, '#', sizeof(value));
	if (!found)
		return NULL;
	snprintf(value, sizeof(value), "%s", found);
	return value;
}
