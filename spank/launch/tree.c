/* SPDX-License-Identifier: MIT */
/*
 * Reading the trees of /proc and /sys.
 */
#include "spank/launch/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No directory of the kernel's that we list has as many. */
#define NAMES_MAX 4096

static void close_file(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static void close_directory(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

__attribute__((format(printf, 3, 0))) static int
name_file(const struct launch_tree *tree, char *path, const char *format, va_list args)
{
	int used = snprintf(path, PATH_MAX, "%s", tree->root);
	int length;

	if (used >= PATH_MAX)
		return -ENAMETOOLONG;
	length = vsnprintf(path + used, (size_t)(PATH_MAX - used), format, args);
	return length < 0 || length >= PATH_MAX - used ? -ENAMETOOLONG : 0;
}

void launch_tree_init(struct launch_tree *tree, const char *root)
{
	char path[PATH_MAX];

	tree->root = root;
	tree->sys = "/sys";
	if (snprintf(path, sizeof(path), "%s/sys", root) < PATH_MAX && access(path, F_OK))
		tree->sys = "";
}

int launch_tree_read(const struct launch_tree *tree, char *text, size_t size,
		     const char *format, ...)
{
	__attribute__((cleanup(close_file))) int fd = -1;
	char path[PATH_MAX];
	struct stat status;
	size_t used = 0;
	ssize_t got;
	va_list args;
	int error;

	va_start(args, format);
	error = name_file(tree, path, format, args);
	va_end(args);
	if (error)
		return error;
	/* Not to wait for the other end of a pipe that a recorded tree may have. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	do {
		got = read(fd, text + used, size - used);
		if (got > 0)
			used += (size_t)got;
	} while ((got > 0 && used < size) || (got < 0 && errno == EINTR));
	if (got < 0)
		return -errno;
	if (used == size)
		return -EFBIG;
	text[used] = '\0';
	return 0;
}

/*
 * access(2) asks the device cgroup too, of either version (inode_permission() in Linux's
 * fs/namei.c), for which the real user id that it goes by does not matter.
 */
bool launch_tree_denied(const struct launch_tree *tree, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int error;

	va_start(args, format);
	error = name_file(tree, path, format, args);
	va_end(args);
	if (error || !access(path, R_OK | W_OK))
		return false;
	return errno == EPERM || errno == EACCES;
}

void launch_tree_list(const struct launch_tree *tree,
		      bool (*visit)(const char *name, void *data), void *data,
		      const char *format, ...)
{
	__attribute__((cleanup(close_directory))) DIR *dir = NULL;
	char path[PATH_MAX];
	struct dirent *entry;
	va_list args;
	int error;

	va_start(args, format);
	error = name_file(tree, path, format, args);
	va_end(args);
	dir = error ? NULL : opendir(path);
	for (int left = NAMES_MAX; dir && left && (entry = readdir(dir)); left--) {
		if (entry->d_name[0] != '.' && !visit(entry->d_name, data))
			return;
	}
}
