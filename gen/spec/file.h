/* SPDX-License-Identifier: MIT */
/* The bytes of a spec or profile. */
#pragma once

#include "gen/diag.h"

#include <stddef.h>

/*
 * Reads FILE ("-": standard input) into *TEXT, which the caller frees. Stops behind the
 * size that spec_yaml_parse() takes, so that a wrong name (/dev/zero) ends. A failure is
 * reported to DIAG with the file as its place; returns -errno.
 */
int spec_file_read(const char *file, char **text, size_t *length, struct diag *diag);
