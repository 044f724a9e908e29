/* SPDX-License-Identifier: MIT */
/*
 * Why a program does not start: each cause has words of its own, and what would start
 * under execvp() does.
 */
#include "spank/exec/become.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *binary; /* a program of this machine */

/* NAME in the current folder, with MODE. */
static void write_bytes(const char *name, const void *bytes, size_t size, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
}

static void write_text(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text), 0700);
}

/* What linkers of this machine write for the loader, and the number of the machine. */
static void write_binary(const char *name, bool loader, bool machine)
{
	static unsigned char bytes[1 << 20];
	FILE *in = fopen(binary, "r");
	size_t size;
	unsigned char *at;

	assert_non_null(in);
	size = fread(bytes, 1, sizeof(bytes), in);
	fclose(in);
	assert_in_range(size, sizeof(Elf32_Ehdr), sizeof(bytes) - 1);
	at = memmem(bytes, size, "/lib", 4);
	assert_non_null(at);
	if (loader)
		memcpy(at, "/nix", 4);
	if (machine)
		((Elf32_Ehdr *)bytes)->e_machine = EM_S390;
	write_bytes(name, bytes, size, 0700);
}

/* Of the other class, as far as it is read: one segment, with the loader behind it. */
static void write_narrow(const char *name)
{
	static const char loader[] = "/lib/ld-none.so.2";
	struct {
		Elf32_Ehdr head;
		Elf32_Phdr segment;
		char loader[sizeof(loader)];
	} file = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
				     ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_EXEC,
			 .e_machine = EM_386,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(Elf32_Ehdr),
			 .e_ehsize = sizeof(Elf32_Ehdr),
			 .e_phentsize = sizeof(Elf32_Phdr),
			 .e_phnum = 1},
		.segment = {.p_type = PT_INTERP,
			    .p_offset = sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
			    .p_filesz = sizeof(loader)},
	};

	memcpy(file.loader, loader, sizeof(loader));
	write_bytes(name, &file, sizeof(file), 0700);
}

static int set_up(void **state)
{
	static char folder[] = "/tmp/srank-test-XXXXXX";

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	*state = folder;
	write_text("no-interpreter", "#!/nowhere/python -u\n");
	write_text("blank-interpreter", "#! \t/nowhere/perl\n");
	write_text("dos", "#!/bin/sh\r\nexit 7\r\n");
	write_text("second", "#!./no-interpreter\n");
	write_text("denied-interpreter", "#!./plain\n");
	write_text("folder-interpreter", "#!.\n");
	write_text("bare", "exit 7\n");
	write_text("good", "#!/bin/sh\nexit $#\n");
	write_bytes("plain", "#!/bin/sh\n", 10, 0600);
	write_binary("no-loader", true, false);
	write_binary("foreign", false, true);
	write_binary("binary", false, false);
	write_narrow("narrow");
	assert_int_equal(mkdir("folder", 0700), 0);
	assert_int_equal(mkdir("bin", 0700), 0);
	assert_int_equal(mkdir("bin/good", 0700), 0);
	assert_int_equal(symlink("nowhere/prog", "dangling"), 0);
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -r %s", (char *)*state);
	return system(command);
}

static int become(const char *name, const char *argument, struct launch_error *err)
{
	char *program[] = {(char *)name, (char *)argument, NULL};

	return exec_become(program, err);
}

static const struct {
	const char *program;
	int r;
	const char *text;
} faults[] = {
	{"./none", -ENOENT, "./none: no such program"},
	{"", -ENOENT, ": no such program in PATH"},
	{"none", -ENOENT, "none: no such program in PATH"},
	{"binary", -ENOENT,
	 "binary: no such program in PATH; this folder has one: ./binary"},
	{"python train.py", -ENOENT,
	 "python train.py: no such program in PATH; quotes have made a command and its "
	 "arguments one word"},
	{"./good -x", -ENOENT,
	 "./good -x: no such program; quotes have made a command and its arguments one "
	 "word"},
	{"A=1", -ENOENT,
	 "A=1: no such program in PATH; variables are set by env: srank exec env "
	 "NAME=VALUE PROGRAM"},
	{"A=/bin/x", -ENOENT,
	 "A=/bin/x: no such program; variables are set by env: srank exec env NAME=VALUE "
	 "PROGRAM"},
	{"./a=b", -ENOENT, "./a=b: no such program"},
	{"./dangling", -ENOEXEC,
	 "./dangling: it is a link to nowhere/prog, which is not there"},
	{"./good/x", -ENOTDIR, "./good/x: Not a directory"},
	{"./no-interpreter", -ENOEXEC,
	 "./no-interpreter: its interpreter /nowhere/python is not on this node; install "
	 "it there, or name another in the first line"},
	{"./blank-interpreter", -ENOEXEC,
	 "./blank-interpreter: its interpreter /nowhere/perl is not on this node; "
	 "install "
	 "it there, or name another in the first line"},
	{"./second", -ENOEXEC,
	 "./second: its interpreter /nowhere/python is not on this node; install it "
	 "there, or name another in the first line"},
	{"./dos", -ENOEXEC,
	 "./dos: its lines end as on DOS, and there is no interpreter of that name; "
	 "convert it: sed -i 's/\\r$//'"},
	{"./folder", -EACCES, "./folder: it is a folder"},
	{"./plain", -EACCES, "./plain: it is not executable: chmod +x"},
	{"./denied-interpreter", -EACCES,
	 "./denied-interpreter: its interpreter ./plain is not executable: chmod +x"},
	{"./folder-interpreter", -EACCES,
	 "./folder-interpreter: its interpreter . is a folder"},
	{"./foreign", -ENOEXEC,
	 "./foreign: it is not for this node's processors, but for s390"},
};

static void causes_are_told_apart(void **state)
{
	setenv("PATH", "/nowhere:bin:/bin", 1);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct launch_error err = {""};

		assert_int_equal(become(faults[i].program, NULL, &err), faults[i].r);
		assert_string_equal(err.text, faults[i].text);
	}
}

/* Its name is the machine's, up to the first folder. */
static void loaders_are_named(void **state)
{
	struct launch_error err = {""};

	assert_int_equal(become("./no-loader", NULL, &err), -ENOEXEC);
	assert_ptr_equal(strstr(err.text, "./no-loader: its loader /nix"), err.text);
	assert_non_null(strstr(err.text, " is not on this node: it was built for another "
					 "system, or for a container"));
#if defined(__x86_64__)
	/* Where the kernel takes programs of 32 bits at all. */
	err = (struct launch_error){""};
	if (become("./narrow", NULL, &err) == -ENOEXEC && strstr(err.text, "its loader"))
		assert_string_equal(err.text,
				    "./narrow: its loader /lib/ld-none.so.2 is not on "
				    "this node: it was built for another system, or for "
				    "a container");
	else
		assert_string_equal(err.text, "./narrow: it is not for this node's "
					      "processors, but for i386");
#endif
}

static void arguments_may_be_too_long(void **state)
{
	char *argument = calloc(256 * 1024, 1);
	struct launch_error err = {""};

	memset(argument, 'x', 256 * 1024 - 1);
	assert_int_equal(become("/bin/true", argument, &err), -E2BIG);
	assert_non_null(strstr(err.text, "/bin/true: its arguments and the environment "
					 "take more than "));
	free(argument);
}

static void busy_files_are_told(void **state)
{
	struct launch_error err = {""};
	int fd = open("binary", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(become("./binary", NULL, &err), -ETXTBSY);
	assert_string_equal(err.text,
			    "./binary: it is open for writing; start it when it "
			    "is complete");
	close(fd);
}

/* The exit code of PROGRAM with ARGUMENT. */
static int code_of(const char *name, const char *argument)
{
	struct launch_error err = {""};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		become(name, argument, &err);
		fprintf(stderr, "%s\n", err.text);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void programs_start(void **state)
{
	char path[64];

	setenv("PATH", "/nowhere:bin:.:/bin", 1);
	assert_int_equal(code_of("./good", "x"), 1);
	assert_int_equal(code_of("./binary", NULL), 0);
	/* A folder of that name comes first in PATH. */
	assert_int_equal(code_of("good", "x"), 1);
	assert_true(exec_find_program("good", path, sizeof(path)));
	assert_string_equal(path, "./good");
	/* Without a first line, by /bin/sh. */
	assert_int_equal(code_of("./bare", NULL), 7);
	/* What execvp() takes without a PATH. */
	unsetenv("PATH");
	assert_int_equal(code_of("true", NULL), 0);
	setenv("PATH", "/nowhere:bin", 1);
	assert_true(exec_find_program("good", path, sizeof(path)));
	assert_string_equal(path, "bin/good");
	assert_false(exec_find_program("none", path, sizeof(path)));
	assert_false(exec_find_program("good", path, 3));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(causes_are_told_apart),
		cmocka_unit_test(loaders_are_named),
		cmocka_unit_test(arguments_may_be_too_long),
		cmocka_unit_test(busy_files_are_told),
		cmocka_unit_test(programs_start),
	};

	if (argc != 2)
		return 1;
	binary = realpath(argv[1], NULL);
	return binary ? cmocka_run_group_tests_name("become", tests, set_up, tear_down)
		      : 1;
}
