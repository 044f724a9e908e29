/* SPDX-License-Identifier: MIT */
/*
 * Template lookup. An administrator or a user replaces one template, or adds one for a
 * launcher, by putting a file of that name into a folder; no compiler is needed.
 */
#include "gen/script/templates.h"

#include "gen/spec/file.h"
#include "gen/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A template is text for people; a bigger file is something else in the wrong folder. */
#define SIZE_MAX_TEMPLATE (1 << 20)

/* One name that was looked for: each is looked for once, for a sweep may be thousands of
 * scripts. */
struct script_file {
	struct script_file *next;
	char *name;
	char *path; /* NULL: it is built in, or nowhere */
	char *text;
	size_t length;
	struct script_template template; /* text NULL: there is none */
};

static void free_file(struct script_file *file)
{
	if (!file)
		return;
	free(file->name);
	free(file->path);
	free(file->text);
	free(file);
}

/* sbatch refuses a script with DOS line ends, and this text is to be part of one. */
static int check_line_ends(const struct script_file *file, struct diag *diag)
{
	const char *end = memchr(file->text, '\r', file->length);
	struct diag_place place = {.file = file->path};

	if (!end)
		return 0;
	utf8_place(file->text, (size_t)(end - file->text), &place.line, &place.column);
	place.end_column = place.column + 1;
	diag_source(diag, file->path, file->text, file->length);
	diag_add(diag, DIAG_ERROR, "script-template", &place,
		 "a carriage return; save the template with the line ends of Unix, for "
		 "sbatch takes no others");
	return -EINVAL;
}

/* Reads PATH; a failure is told to DIAG. */
static int read_file(const char *path, struct script_file **result, struct diag *diag)
{
	const struct diag_place place = {.file = path};
	struct script_file *file = NULL;
	FILE *in = fopen(path, "re");
	int rc = in ? 0 : -errno;

	if (rc < 0)
		goto out;
	file = calloc(1, sizeof(*file));
	if (!file || !(file->path = strdup(path)) ||
	    !(file->text = malloc(SIZE_MAX_TEMPLATE))) {
		rc = -ENOMEM;
		goto out;
	}
	errno = 0;
	file->length = fread(file->text, 1, SIZE_MAX_TEMPLATE, in);
	rc = ferror(in) ? -errno : 0;
	if (rc == 0 && file->length == SIZE_MAX_TEMPLATE)
		rc = -EFBIG;
out:
	if (in)
		fclose(in);
	if (rc < 0)
		diag_add(diag, DIAG_ERROR, "script-template", &place,
			 "this template cannot be read: %s", strerror(-rc));
	else
		rc = check_line_ends(file, diag);
	if (rc < 0) {
		free_file(file);
		return rc;
	}
	*result = file;
	return 0;
}

static int find_file(const char *name, struct script_file **file, struct diag *diag)
{
	char *relative, *path = NULL;
	int rc;

	if (asprintf(&relative, "templates/%s.mustache", name) < 0)
		return -ENOMEM;
	rc = spec_file_find(relative, &path);
	free(relative);
	if (rc == 0)
		rc = read_file(path, file, diag);
	free(path);
	return rc;
}

static const struct script_file *look_up(const struct script_templates *templates,
					 const char *name)
{
	const struct script_file *file = templates->files;

	while (file && strcmp(file->name, name) != 0)
		file = file->next;
	return file;
}

/* In the folders, else among the built-in ones. */
static int find(const char *name, struct script_file **result, struct diag *diag)
{
	struct script_file *file = NULL;
	int rc = find_file(name, &file, diag);

	if (rc == -ENOENT) {
		file = calloc(1, sizeof(*file));
		rc = file ? 0 : -ENOMEM;
	}
	if (rc < 0)
		return rc;
	file->template = (struct script_template){file->path, file->text, file->length};
	for (size_t i = 0; i < script_builtins_count && !file->text; i++) {
		const struct script_builtin *builtin = &script_builtins[i];

		if (strcmp(builtin->name, name) == 0)
			file->template = (struct script_template){
				builtin->name, builtin->text, builtin->length};
	}
	file->name = strdup(name);
	if (!file->name) {
		free_file(file);
		return -ENOMEM;
	}
	*result = file;
	return 0;
}

int script_templates_find(const char *name, struct script_template *template, void *arg,
			  struct diag *diag)
{
	struct script_templates *templates = arg;
	const struct script_file *known = look_up(templates, name);
	struct script_file *file;
	int rc;

	/* A name, not a path: a template does not reach out of its folder. */
	if (strchr(name, '/'))
		return -ENOENT;
	if (!known) {
		rc = find(name, &file, diag);
		if (rc < 0)
			return rc;
		file->next = templates->files;
		templates->files = file;
		known = file;
	}
	if (!known->template.text)
		return -ENOENT;
	*template = known->template;
	return 0;
}

void script_templates_clear(struct script_templates *templates)
{
	struct script_file *next;

	for (struct script_file *file = templates->files; file; file = next) {
		next = file->next;
		free_file(file);
	}
	*templates = (struct script_templates){0};
}
