/* SPDX-License-Identifier: MIT */
/*
 * Writing a file so that it is there completely or not at all.
 */
#include "gen/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		length -= n;
	}
	return 0;
}

/* 1 when FD holds exactly TEXT, 0 when not. */
static int same_content(int fd, const char *text, size_t length)
{
	char buffer[4096];

	for (;;) {
		ssize_t n = read(fd, buffer, sizeof(buffer));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return length == 0;
		if ((size_t)n > length || memcmp(buffer, text, n) != 0)
			return 0;
		text += n;
		length -= n;
	}
}

/* The folder of PATH, to be freed. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, slash - path);
}

/* Makes PATH, which has no link in its last part, with the permissions MODE. */
static int replace(const char *path, const char *text, size_t length, mode_t mode,
		   bool lazy)
{
	char *folder = folder_of(path), *name = NULL;
	int fd = -1, dir = -1, rc;

	if (!folder || asprintf(&name, "%s/.srank-XXXXXX", folder) < 0) {
		free(folder);
		return -ENOMEM;
	}
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0) {
		rc = -errno;
		goto out;
	}
	rc = write_all(fd, text, length);
	if (rc == 0 &&
	    (fchmod(fd, mode) < 0 || (!lazy && fsync(fd) < 0) || rename(name, path) < 0))
		rc = -errno;
	if (rc < 0)
		unlink(name);
	if (rc < 0 || lazy)
		goto out;
	/* The name is safe once the folder is; a file system without that is no failure.
	 */
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		fsync(dir);
out:
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	free(name);
	free(folder);
	return rc;
}

int cli_write_file(const char *path, const char *text, size_t length, unsigned int flags)
{
	const bool lazy = flags & CLI_WRITE_LAZY;
	struct stat info;
	mode_t mask;
	char *real;
	int fd, rc;

	if (stat(path, &info) < 0) {
		if (errno != ENOENT)
			return -errno;
		/* A new file would take the place of the link. */
		if (lstat(path, &info) == 0)
			return -ENOLINK;
		mask = umask(0);
		umask(mask);
		return replace(path, text, length, 0644 & ~mask, lazy);
	}
	if (!S_ISREG(info.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			return -errno;
		rc = write_all(fd, text, length);
		if (close(fd) < 0 && rc == 0)
			rc = -errno;
		return rc;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		rc = same_content(fd, text, length);
		close(fd);
		if (rc == 1)
			return 0;
		if (rc < 0)
			return rc;
	}
	if (!(flags & CLI_WRITE_FORCE))
		return fd < 0 ? -EACCES : -EEXIST;
	/* Behind a link it is the file that gets the new content, not the link. */
	real = realpath(path, NULL);
	if (!real)
		return -errno;
	rc = replace(real, text, length, info.st_mode & 07777, lazy);
	free(real);
	return rc;
}

int cli_make_folders(const char *folder)
{
	char *path = strdup(folder);
	struct stat info;
	int rc = 0;

	if (!path)
		return -ENOMEM;
	for (char *at = path + 1; rc == 0; at++) {
		const char end = *at;

		if (end != '/' && end != '\0')
			continue;
		*at = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			rc = -errno;
		*at = end;
		if (end == '\0')
			break;
	}
	if (rc == 0 && (stat(path, &info) < 0 || !S_ISDIR(info.st_mode)))
		rc = -ENOTDIR;
	free(path);
	return rc;
}

const char *cli_write_fault(int rc)
{
	switch (rc) {
	case -ENOLINK:
		return "it is a link to a file that is not there; make that, or remove "
		       "the link";
	default:
		return strerror(-rc);
	}
}

enum cli_exit cli_output(const struct cli_command *command, const char *path,
			 const char *text, size_t length, unsigned int flags)
{
	int rc;

	if (!path || strcmp(path, "-") == 0) {
		fwrite(text, 1, length, stdout);
		return CLI_FINE;
	}
	rc = cli_write_file(path, text, length, flags);
	if (rc == -EEXIST)
		return cli_fail(
			command,
			"%s exists and differs, so it was kept; --force replaces it",
			path);
	if (rc < 0)
		return cli_fail(command, "cannot write %s: %s", path,
				cli_write_fault(rc));
	return CLI_FINE;
}
