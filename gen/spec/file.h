/* SPDX-License-Identifier: MIT */
/* The bytes of a spec or profile, and where files are that nobody names. */
#pragma once

#include "gen/diag.h"

#include <stddef.h>

/*
 * Reads FILE ("-": standard input) into *TEXT, which the caller frees. Stops behind the
 * size that spec_yaml_parse() takes, so that a wrong name (/dev/zero) ends. A failure is
 * reported to DIAG with the file as its place; returns -errno.
 */
int spec_file_read(const char *file, char **text, size_t *length, struct diag *diag);

/* Where files are that nobody names: the cluster's, and over it the user's. */
#define SPEC_FILE_PLACES 2

/*
 * Those that exist of /etc/srank/NAME and $XDG_CONFIG_HOME/srank/NAME (by default
 * ~/.config/srank/NAME), in this order, in PATHS, to be freed; NULL behind the last. One
 * that cannot be looked at counts as there: to read it then fails with the reason, and a
 * site's rules are not passed over in silence. How many; -ENOMEM.
 */
int spec_file_places(const char *name, char *paths[SPEC_FILE_PLACES + 1]);

/* The last of these in *PATH, to be freed: the user's, else the cluster's. 0; -ENOENT;
 * -ENOMEM. */
int spec_file_find(const char *name, char **path);
