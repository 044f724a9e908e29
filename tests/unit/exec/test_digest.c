/* SPDX-License-Identifier: MIT */
/*
 * What `srank doctor` makes of trees: equal ones are equal, others are told apart by
 * their files, and none is too large or too slow for it.
 */
#include "spank/exec/digest.h"
#include "spank/exec/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Into a new folder in BASE, which is left with leave(). */
static void enter(char *folder, const char *base)
{
	sprintf(folder, "%s/srank-test-XXXXXX", base);
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
}

static void leave(const char *folder)
{
	char command[64];

	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void make_folder(const char *folder, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static char *digest(const char *path, struct exec_digest *digest)
{
	char *listing = NULL;
	size_t size;
	FILE *out = open_memstream(&listing, &size);

	exec_digest_trees(digest, &path, 1, 10, out);
	assert_int_equal(fclose(out), 0);
	return listing;
}

static void trees_are_compared(void **state)
{
	char folder[48], text[256];
	struct exec_digest first, second;
	char *before, *after;

	enter(folder, "/tmp");
	make_folder(".", "code");
	make_folder("code", "lib");
	write_file("code", "lib.py", "a");
	write_file("code/lib", "z.py", "");
	write_file("code", "train.py", "1");
	assert_int_equal(symlink("train.py", "code/link"), 0);
	before = digest("code", &first);
	assert_int_equal(first.error, 0);
	assert_int_equal(first.files, 4);
	assert_int_equal(first.bytes, 2);
	/* FNV-1a of no byte is its basis, and of "a" a published test vector. All in a
	 * folder comes before its next neighbour. */
	assert_non_null(strstr(before, "0 cbf29ce484222325 code/lib/z.py\n"
				       "0 af63dc4c8601ec8c code/lib.py\n"));
	/* Times, modes and what Python and git write themselves do not count. */
	make_folder("code", "__pycache__");
	write_file("code/__pycache__", "x.pyc", "x");
	make_folder("code", ".git");
	write_file("code", "train.py", "1");
	assert_int_equal(chmod("code/lib.py", 0600), 0);
	after = digest("code", &second);
	assert_int_equal(first.hash, second.hash);
	exec_digest_compare(before, after, 0, "node1", text, sizeof(text));
	assert_string_equal(text, "");
	free(after);
	/* Contents, names and links do. */
	write_file("code", "train.py", "2");
	assert_int_equal(rename("code/lib/z.py", "code/lib/y.py"), 0);
	after = digest("code", &second);
	assert_int_not_equal(first.hash, second.hash);
	exec_digest_compare(before, after, 0, "node1", text, sizeof(text));
	assert_string_equal(text, "code/lib/y.py (not on node1), code/lib/z.py (only on "
				  "node1), code/train.py");
	exec_digest_compare(before, after, 1, "node1", text, sizeof(text));
	assert_string_equal(text, "");
	/* More than three are not named. */
	exec_digest_compare(before, "", 0, "node1", text, sizeof(text));
	assert_string_equal(text, "code/lib/z.py (only on node1), code/lib.py (only on "
				  "node1), code/link (only on node1), ...");
	/* Behind the end of one that was cut none is missing. */
	exec_digest_compare(before, "0 cbf29ce484222325 code/lib/z.py\n0 af63dc4c8601", 0,
			    "node1", text, sizeof(text));
	assert_string_equal(text, "");
	exec_digest_compare(before, "0 zz\nnonsense\n0 0123456789abcdef\n\n0 ", 0,
			    "node1", text, 16);
	free(after);
	free(before);
	free(digest("code/lib.py", &first));
	assert_int_equal(first.files, 1);
	free(digest("nowhere", &first));
	assert_int_equal(first.error, -ENOENT);
	assert_string_equal(first.fault, "nowhere");
	/* A pipe is not waited for. */
	assert_int_equal(mkfifo("code/pipe", 0600), 0);
	free(digest("code", &first));
	assert_int_equal(first.error, 0);
	leave(folder);
}

/*
 * Who opens a file under another's lease waits until it is given up, as for a file server
 * that does not answer: fcntl(2), F_SETLEASE.
 */
static void a_file_that_does_not_answer(void **state)
{
	static const char *const paths[] = {"stuck", "stuck/b", "fine"};
	struct exec_digest digests[3];
	time_t began = exec_seconds_now();
	char folder[48], text[512], *listing;
	size_t size;
	FILE *out;
	int fd;

	enter(folder, "/tmp");
	make_folder(".", "stuck");
	write_file("stuck", "a", "a");
	write_file("stuck", "b", "b");
	write_file(".", "fine", "a");
	signal(SIGIO, SIG_IGN);
	fd = open("stuck/b", O_RDWR);
	assert_true(fd >= 0);
	if (fcntl(fd, F_SETLEASE, F_WRLCK)) {
		close(fd);
		leave(folder);
		print_message("SKIPPED, NOT PASSED: no leases in this file system\n");
		skip();
	}
	out = open_memstream(&listing, &size);
	exec_digest_trees(digests, paths, 3, 1, out);
	assert_int_equal(fclose(out), 0);
	assert_in_range(exec_seconds_now() - began, 1, 5);
	exec_digest_text(&digests[0], paths[0], 1, text, sizeof(text));
	assert_string_equal(text, "~stuck/b: no answer in 1 s");
	exec_digest_text(&digests[1], paths[1], 1, text, sizeof(text));
	assert_string_equal(text, "~no answer in 1 s");
	assert_false(exec_digest_is(text));
	/* The other one has not had to wait, and of these nothing is listed. */
	assert_int_equal(digests[2].error, 0);
	assert_string_equal(listing, "2 af63dc4c8601ec8c fine\n");
	free(listing);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
	close(fd);
	/* And one that answers after a while. */
	free(digest("stuck", &digests[0]));
	assert_int_equal(digests[0].error, 0);
	assert_int_equal(digests[0].files, 2);
	leave(folder);
}

/* So many, and one more. */
static void a_folder_of_many_files(void **state)
{
	struct exec_digest large;
	char folder[48], name[64], text[512], *listing, *line;

	/* On a disk 100000 files take up to a minute. */
	enter(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	make_folder(".", "many");
	/* Downwards: the order is the names', and not the one in which they are there. */
	for (int i = EXEC_DIGEST_FILES_MAX - 1; i >= 0; i--) {
		snprintf(name, sizeof(name), "many/%06d", i);
		assert_int_equal(symlink("x", name), 0);
	}
	listing = digest("many", &large);
	assert_int_equal(large.error, 0);
	assert_int_equal(large.files, EXEC_DIGEST_FILES_MAX);
	assert_int_equal(strlen(listing), 31 * EXEC_DIGEST_FILES_MAX);
	line = listing;
	for (int i = 0; i < EXEC_DIGEST_FILES_MAX; i++) {
		/* Behind the number of the tree and 16 digits. */
		line += 19;
		snprintf(name, sizeof(name), "many/%06d\n", i);
		assert_memory_equal(line, name, strlen(name));
		line += strlen(name);
	}
	free(listing);
	assert_int_equal(symlink("x", "many/more"), 0);
	listing = digest("many", &large);
	exec_digest_text(&large, "many", 10, text, sizeof(text));
	assert_string_equal(text, "?it has more than 100000 files");
	/* The folder is not even looked through: its names alone are too many. */
	assert_int_equal(*listing, 0);
	free(listing);
	leave(folder);
}

static void a_tree_without_time(void **state)
{
	static const char *const path = "/usr/include";
	struct exec_digest digest;
	char text[512];

	exec_digest_trees(&digest, &path, 1, 0, stderr);
	assert_int_equal(digest.error, -ETIME);
	exec_digest_text(&digest, path, 0, text, sizeof(text));
	assert_string_equal(text, "?reading it takes longer than 0 s");
	assert_false(exec_digest_is(text));
}

static const struct {
	struct exec_digest digest;
	const char *text;
	bool told;
} texts[] = {
	{{.hash = 0xabc, .files = 2, .bytes = 3}, "0000000000000abc 2 3", true},
	{{.error = -EACCES, .fault = "code"}, "#Permission denied", false},
	{{.error = -EACCES, .fault = "code/a"}, "#code/a: Permission denied", false},
	{{.error = -EPERM, .fault = "code/a"}, "#code/a: Operation not permitted", false},
	{{.error = -ENOENT, .fault = "code"}, "!No such file or directory", false},
	{{.error = -ENOENT, .fault = "code/a"},
	 "*code/a: gone while the tree was read",
	 false},
	{{.error = -ENOTDIR, .fault = "code"}, "!Not a directory", false},
	{{.error = -EIO, .fault = "code/a"}, "~code/a: Input/output error", false},
	{{.error = -ESTALE, .fault = "code"}, "~Stale file handle", false},
	{{.error = -EMFILE, .fault = "code/a"}, "-code/a: Too many open files", false},
	{{.error = -ENOMEM, .fault = "code"}, "-Cannot allocate memory", false},
	{{.error = -EFBIG, .fault = "code/a"}, "?it has more than 100000 files", false},
	{{.error = -ETIMEDOUT, .fault = "code/a"}, "~code/a: no answer in 20 s", false},
};

static void digests_as_text(void **state)
{
	char text[512];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		exec_digest_text(&texts[i].digest, "code", 20, text, sizeof(text));
		assert_string_equal(text, texts[i].text);
		assert_int_equal(exec_digest_is(text), texts[i].told);
	}
	assert_false(exec_digest_is(""));
}

/* However long they are, and where one ends. */
static void lists_as_text(void **state)
{
	static const char *const whole[] = {"code", "conf"};
	static const char *const turned[] = {"conf", "code"};
	static const char *const joined[] = {"code conf"};
	char text[64], other[64];

	exec_digest_list(whole, 2, text, sizeof(text));
	assert_string_equal(text + 16, " code conf");
	exec_digest_list(turned, 2, other, sizeof(other));
	assert_string_equal(other + 16, " conf code");
	exec_digest_list(joined, 1, other, sizeof(other));
	assert_string_equal(other + 16, " code conf");
	assert_string_not_equal(text, other);
	exec_digest_list(whole, 2, text, 20);
	assert_string_equal(text + 16, " co");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_compared),
		cmocka_unit_test(a_file_that_does_not_answer),
		cmocka_unit_test(a_folder_of_many_files),
		cmocka_unit_test(a_tree_without_time),
		cmocka_unit_test(digests_as_text),
		cmocka_unit_test(lists_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
