/* SPDX-License-Identifier: MIT */
/* Reading a script, which may be anything; see read.h. */
#include "gen/cli/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Slurm takes 4 MiB unless told otherwise (slurm.conf, max_script_size). */
#define BYTES_MAX ((size_t)512 << 20)

static int read_all(int fd, size_t size, char **text, size_t *length)
{
	char *buffer = malloc(size + 1), *grown;
	size_t used = 0;

	if (!buffer)
		return -ENOMEM;
	for (;;) {
		ssize_t n;

		if (used == size) {
			if (size >= BYTES_MAX)
				goto big;
			size = 2 * size;
			grown = realloc(buffer, size + 1);
			if (!grown) {
				free(buffer);
				return -ENOMEM;
			}
			buffer = grown;
		}
		n = read(fd, buffer + used, size - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int rc = -errno;

			free(buffer);
			return rc;
		}
		if (n == 0)
			break;
		used += (size_t)n;
	}
	buffer[used] = '\0';
	*text = buffer;
	*length = used;
	return 0;
big:
	free(buffer);
	return -EFBIG;
}

int cli_read_file(const char *file, char **text, size_t *length)
{
	const bool standard = strcmp(file, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t size = 1 << 14;
	struct stat info;
	int rc;

	if (fd < 0)
		return -errno;
	/* One byte more, so that the end is met without growing. */
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 0 &&
	    (size_t)info.st_size < BYTES_MAX)
		size = (size_t)info.st_size + 1;
	rc = read_all(fd, size, text, length);
	if (!standard)
		close(fd);
	return rc;
}

const char *cli_read_fault(int rc)
{
	return rc == -EFBIG ? "it is larger than any script" : strerror(-rc);
}
