/* SPDX-License-Identifier: MIT */
/*
 * Where templates come from: a folder of the user's, a folder of the site's, and the
 * ones that are built into the command, in this order and file by file.
 */
#pragma once

#include "gen/diag.h"
#include "gen/script/mustache.h"

#include <stddef.h>

struct script_builtin {
	const char *name; /* file name without ".mustache" */
	const char *text;
	size_t length;
};

/* Made from templates/ at build time. */
extern const struct script_builtin script_builtins[];
extern const size_t script_builtins_count;

struct script_file;

/* The files read so far; zeroed at first. */
struct script_templates {
	struct script_file *files;
};

/*
 * Finds NAME, templates/NAME.mustache where spec_file_find() looks or built in, with the
 * signature of script_partials; ARG is the struct script_templates. The text lives until
 * script_templates_clear(). -ENOENT when there is none; -errno, told to DIAG, when a file
 * is there and cannot be read; -ENOMEM.
 */
int script_templates_find(const char *name, struct script_template *template, void *arg,
			  struct diag *diag);

void script_templates_clear(struct script_templates *templates);
