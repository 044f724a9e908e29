/* SPDX-License-Identifier: MIT */
/* Reading a whole small file; finding one. */
#include "gen/spec/file.h"

#include "gen/spec/yaml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_stream(FILE *in, char **text, size_t *length)
{
	size_t size = 0, got;

	*length = 0;
	do {
		if (*length == size) {
			char *grown;

			size = size ? 2 * size : 8192;
			grown = realloc(*text, size);
			if (!grown)
				return -ENOMEM;
			*text = grown;
		}
		errno = 0;
		got = fread(*text + *length, 1, size - *length, in);
		*length += got;
	} while (got > 0 && *length <= SPEC_YAML_BYTES);
	return ferror(in) ? -(errno ? errno : EIO) : 0;
}

int spec_file_read(const char *file, char **text, size_t *length, struct diag *diag)
{
	const struct diag_place place = {.file = file};
	bool standard = strcmp(file, "-") == 0;
	FILE *in = standard ? stdin : fopen(file, "re");
	int rc = in ? 0 : -errno;

	*text = NULL;
	*length = 0;
	if (in)
		rc = read_stream(in, text, length);
	if (in && !standard)
		fclose(in);
	if (rc < 0) {
		diag_add(diag, DIAG_ERROR, "spec-file", &place, "cannot be read: %s",
			 strerror(-rc));
		free(*text);
		*text = NULL;
	}
	return rc;
}

int spec_file_places(const char *name, char *paths[SPEC_FILE_PLACES + 1])
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	/* A relative path is invalid there (XDG Base Directory Specification). */
	const bool has_config = config && config[0] == '/';
	const struct {
		const char *base, *folder;
	} places[] = {
		{"/etc", "/srank/"},
		/* The variable takes the place of ~/.config. */
		{has_config               ? config
		 : home && home[0] == '/' ? home
					  : NULL,
		 has_config ? "/srank/" : "/.config/srank/"},
	};
	int count = 0;

	memset(paths, 0, (SPEC_FILE_PLACES + 1) * sizeof(*paths));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char *path;

		if (!places[i].base)
			continue;
		if (asprintf(&path, "%s%s%s", places[i].base, places[i].folder, name) <
		    0) {
			while (count > 0)
				free(paths[--count]);
			paths[0] = NULL;
			return -ENOMEM;
		}
		if (access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR))
			paths[count++] = path;
		else
			free(path);
	}
	return count;
}

int spec_file_find(const char *name, char **path)
{
	char *paths[SPEC_FILE_PLACES + 1];
	int count = spec_file_places(name, paths);

	*path = NULL;
	if (count <= 0)
		return count < 0 ? count : -ENOENT;
	for (int i = 0; i < count - 1; i++)
		free(paths[i]);
	*path = paths[count - 1];
	return 0;
}
