/* SPDX-License-Identifier: MIT */
/*
 * Programs that need MPI are told from others; no file, whole or broken, does harm.
 */
#include "spank/exec/needs.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *with_mpi, *without_mpi;

static void tells_them_apart(void **state)
{
	char library[NEEDS_NAME_MAX] = "";

	assert_true(exec_needs_mpi(with_mpi, library, sizeof(library)));
	assert_string_equal(library, "libmpi.so.40");
	assert_false(exec_needs_mpi(without_mpi, library, sizeof(library)));
	assert_false(exec_needs_mpi("/bin/sh", library, sizeof(library)));
	/* A script, a folder, a device, nothing. */
	assert_false(exec_needs_mpi("/usr/bin/ldd", library, sizeof(library)));
	assert_false(exec_needs_mpi("/", library, sizeof(library)));
	assert_false(exec_needs_mpi("/dev/zero", library, sizeof(library)));
	assert_false(exec_needs_mpi("/nowhere/at/all", library, sizeof(library)));
	assert_false(exec_needs_mpi("", library, sizeof(library)));
}

static void looks_where_execvp_looks(void **state)
{
	char copy[PATH_MAX], path[2 * PATH_MAX], name[] = "needs_mpi";
	char library[NEEDS_NAME_MAX];

	snprintf(copy, sizeof(copy), "%s", with_mpi);
	snprintf(path, sizeof(path), "/nowhere:/etc:%s", dirname(copy));
	setenv("PATH", path, 1);
	assert_true(exec_needs_mpi(name, library, sizeof(library)));
	setenv("PATH", "/nowhere:/etc", 1);
	assert_false(exec_needs_mpi(name, library, sizeof(library)));
	/* An empty entry is the current folder. */
	assert_int_equal(chdir(copy), 0);
	setenv("PATH", "/nowhere::/etc", 1);
	assert_true(exec_needs_mpi(name, library, sizeof(library)));
	unsetenv("PATH");
	assert_false(exec_needs_mpi(name, library, sizeof(library)));
}

static size_t read_file(const char *path, unsigned char **bytes)
{
	FILE *file = fopen(path, "r");
	struct stat status;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &status), 0);
	*bytes = malloc(status.st_size);
	assert_int_equal(fread(*bytes, 1, status.st_size, file), status.st_size);
	fclose(file);
	return status.st_size;
}

/* In memory, under a name by which it can be opened. */
static void look_at(const unsigned char *bytes, size_t size)
{
	char library[NEEDS_NAME_MAX], name[64];
	int fd = memfd_create("broken", 0);

	assert_int_equal(write(fd, bytes, size), size);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	exec_needs_mpi(name, library, sizeof(library));
	close(fd);
}

static void survives_broken_files(void **state)
{
	unsigned char *bytes;
	size_t size = read_file(with_mpi, &bytes);
	uint32_t random = 1;

	for (size_t length = 0; length < size; length += length < 1024 ? 1 : 251)
		look_at(bytes, length);
	/* Headers and tables: every byte at its extremes, and some at random. */
	for (size_t at = 0; at < 1024 && at < size; at++) {
		unsigned char kept = bytes[at];

		bytes[at] = 0xff;
		look_at(bytes, size);
		bytes[at] = 0;
		look_at(bytes, size);
		bytes[at] = kept;
	}
	for (int i = 0; i < 3000; i++) {
		size_t at;
		unsigned char kept;

		random = random * 1664525 + 1013904223;
		at = random % size;
		kept = bytes[at];
		bytes[at] = random >> 24;
		look_at(bytes, size);
		bytes[at] = kept;
	}
	free(bytes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_them_apart),
		cmocka_unit_test(looks_where_execvp_looks),
		cmocka_unit_test(survives_broken_files),
	};

	if (argc != 3)
		return 1;
	with_mpi = realpath(argv[1], NULL);
	without_mpi = argv[2];
	return with_mpi ? cmocka_run_group_tests_name("needs", tests, NULL, NULL) : 1;
}
