/* SPDX-License-Identifier: MIT */
/*
 * Template lookup. An administrator or a user replaces one template, or adds one for a
 * launcher, by putting a file of that name into a folder; no compiler is needed.
 */
#include "gen/script/templates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A template is text for people; a bigger file is something else in the wrong folder. */
#define SIZE_MAX_TEMPLATE (1 << 20)

struct script_file {
	struct script_file *next;
	char *path;
	char *text;
	size_t length;
};

static void free_file(struct script_file *file)
{
	if (!file)
		return;
	free(file->path);
	free(file->text);
	free(file);
}

int script_templates_init(struct script_templates *templates)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	int rc = 0;

	/* A relative path is invalid there (XDG Base Directory Specification). */
	if (config && config[0] == '/')
		rc = asprintf(&templates->folders[0], "%s/srank/templates", config);
	else if (home && home[0] == '/')
		rc = asprintf(&templates->folders[0], "%s/.config/srank/templates", home);
	if (rc < 0) {
		templates->folders[0] = NULL;
		return -ENOMEM;
	}
	templates->folders[1] = strdup("/etc/srank/templates");
	return templates->folders[1] ? 0 : -ENOMEM;
}

/* Reads PATH. -ENOENT when it is not there; another -errno with DIAG told. */
static int read_file(const char *path, struct script_file **result, struct diag *diag)
{
	const struct diag_place place = {.file = path};
	struct script_file *file = NULL;
	FILE *in = fopen(path, "re");
	int rc;

	if (!in) {
		rc = -errno;
		if (rc == -ENOENT || rc == -ENOTDIR)
			return -ENOENT;
		goto out;
	}
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
	if (rc < 0) {
		diag_add(diag, DIAG_ERROR, "script-template", &place,
			 "this template cannot be read: %s", strerror(-rc));
		free_file(file);
		return rc;
	}
	*result = file;
	return 0;
}

int script_templates_find(const char *name, struct script_template *template, void *arg,
			  struct diag *diag)
{
	struct script_templates *templates = arg;

	/* A name, not a path: a template does not reach out of its folder. */
	if (strchr(name, '/'))
		return -ENOENT;
	for (size_t i = 0; i < SCRIPT_FOLDERS_MAX; i++) {
		struct script_file *file = NULL;
		char *path;
		int rc;

		if (!templates->folders[i])
			continue;
		if (asprintf(&path, "%s/%s.mustache", templates->folders[i], name) < 0)
			return -ENOMEM;
		rc = read_file(path, &file, diag);
		free(path);
		if (rc == -ENOENT)
			continue;
		if (rc < 0)
			return rc;
		file->next = templates->files;
		templates->files = file;
		*template =
			(struct script_template){file->path, file->text, file->length};
		return 0;
	}
	for (size_t i = 0; i < script_builtins_count; i++) {
		if (strcmp(script_builtins[i].name, name) == 0) {
			*template = (struct script_template){script_builtins[i].name,
							     script_builtins[i].text,
							     script_builtins[i].length};
			return 0;
		}
	}
	return -ENOENT;
}

void script_templates_clear(struct script_templates *templates)
{
	struct script_file *next;

	for (struct script_file *file = templates->files; file; file = next) {
		next = file->next;
		free_file(file);
	}
	for (size_t i = 0; i < SCRIPT_FOLDERS_MAX; i++)
		free(templates->folders[i]);
	*templates = (struct script_templates){0};
}
