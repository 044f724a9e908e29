/* SPDX-License-Identifier: MIT */
/* Reading a script, which may be anything. */
#pragma once

#include <stddef.h>

/*
 * Reads FILE ("-": standard input) into *TEXT, to be freed, with a NUL behind its *LENGTH
 * bytes. 0; -EFBIG for more than any script has; -EISDIR; -errno.
 */
int cli_read_file(const char *file, char **text, size_t *length);

/* The words for what cli_read_file() returned. */
const char *cli_read_fault(int rc);
