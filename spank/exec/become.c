/* SPDX-License-Identifier: MIT */
/*
 * The kernel's answer to execve(2) is one number for many things: ENOENT is said of a
 * program that is there, and whose interpreter is not. What stands behind it is looked up
 * afterwards, in the file itself.
 */
#include "spank/exec/become.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Of a program's name in a message. */
#define NAME_SHOWN 200

/* As much of a script as the kernel reads: BINPRM_BUF_SIZE, execve(2). */
#define FIRST_LINE_MAX 256

/* Interpreters of interpreters: the kernel follows five (execve(2), ELOOP). */
#define DEPTH_MAX 5

/* More than any linker makes. */
#define SEGMENTS_MAX 256

static bool is_executable(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       access(path, X_OK) == 0;
}

static bool is_there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

static bool find(const char *program, bool (*suits)(const char *path), char *file,
		 size_t size)
{
	/* What execvp() takes without a PATH is without the current folder: exec(3). */
	const char *path = getenv("PATH");
	char usual[256] = "";

	if (!path && confstr(_CS_PATH, usual, sizeof(usual)))
		path = usual;
	/* An empty entry is the current folder. */
	for (bool more = path && *program; more;) {
		size_t length = strcspn(path, ":");
		int used = snprintf(file, size, "%.*s/%s", (int)(length ? length : 1),
				    length ? path : ".", program);

		if (used < (int)size && suits(file))
			return true;
		more = path[length] == ':';
		path += length + more;
	}
	return false;
}

bool exec_find_program(const char *program, char *path, size_t size)
{
	if (strchr(program, '/'))
		return snprintf(path, size, "%s", program) < (int)size && is_there(path);
	return find(program, is_executable, path, size) ||
	       find(program, is_there, path, size);
}

/* ---- what a file needs ---- */

struct head {
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
		char line[FIRST_LINE_MAX];
	};
	size_t size; /* as much of it as was read */
};

/* The file, opened; negative, and 0 bytes, for what may be executed, but not read. */
static int open_head(const char *path, struct head *head)
{
	/* A pipe would wait for its other end. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t got = fd < 0 ? -1 : read(fd, head, FIRST_LINE_MAX);

	head->size = got < 0 ? 0 : (size_t)got;
	return fd;
}

static bool is_elf(const struct head *head)
{
	return head->size >= sizeof(head->narrow) &&
	       memcmp(head->ident, ELFMAG, SELFMAG) == 0 &&
	       (head->ident[EI_CLASS] != ELFCLASS64 || head->size >= sizeof(head->wide));
}

/* Segment NTH: its type, and where it is in the file. */
static bool read_segment(int fd, const struct head *head, unsigned int nth,
			 uint32_t *type, uint64_t *offset, uint64_t *length)
{
	union {
		Elf32_Phdr narrow;
		Elf64_Phdr wide;
	} segment;

	if (head->ident[EI_CLASS] == ELFCLASS64) {
		if (pread(fd, &segment.wide, sizeof(segment.wide),
			  (off_t)(head->wide.e_phoff + nth * sizeof(segment.wide))) !=
		    sizeof(segment.wide))
			return false;
		*type = segment.wide.p_type;
		*offset = segment.wide.p_offset;
		*length = segment.wide.p_filesz;
	} else {
		if (pread(fd, &segment.narrow, sizeof(segment.narrow),
			  (off_t)(head->narrow.e_phoff + nth * sizeof(segment.narrow))) !=
		    sizeof(segment.narrow))
			return false;
		*type = segment.narrow.p_type;
		*offset = segment.narrow.p_offset;
		*length = segment.narrow.p_filesz;
	}
	return true;
}

static bool read_loader(int fd, const struct head *head, char *name, size_t size)
{
	unsigned int count = head->ident[EI_CLASS] == ELFCLASS64 ? head->wide.e_phnum
								 : head->narrow.e_phnum;
	uint64_t offset, length;
	uint32_t type;

	for (unsigned int i = 0; i < count && i < SEGMENTS_MAX; i++) {
		if (!read_segment(fd, head, i, &type, &offset, &length))
			return false;
		if (type != PT_INTERP)
			continue;
		if (length < 2 || length > size ||
		    pread(fd, name, length, (off_t)offset) != (ssize_t)length)
			return false;
		name[length - 1] = '\0';
		return true;
	}
	return false;
}

/* The first word behind `#!`: it ends at a blank or at the end of the line. */
static bool read_script(const struct head *head, char *name, size_t size)
{
	const char *line = head->line;
	size_t from = 2, length = 0;

	if (head->size < 3 || strncmp(line, "#!", 2) != 0)
		return false;
	while (from < head->size && (line[from] == ' ' || line[from] == '\t'))
		from++;
	while (from + length < head->size && !memchr(" \t\n", line[from + length], 4))
		length++;
	return length &&
	       snprintf(name, size, "%.*s", (int)length, line + from) < (int)size;
}

/* What the kernel starts in place of PATH. False: nothing, or it cannot be told. */
static bool read_interpreter(const char *path, bool *loader, char *name, size_t size)
{
	struct head head;
	int fd = open_head(path, &head);

	*loader = is_elf(&head);
	if (fd < 0)
		return false;
	if (*loader ? !read_loader(fd, &head, name, size)
		    : !read_script(&head, name, size))
		*name = '\0';
	close(fd);
	return *name;
}

/* Whether it is no script; its head is then in HEAD. */
static bool is_binary(const char *path, struct head *head)
{
	int fd = open_head(path, head);

	if (fd >= 0)
		close(fd);
	return is_elf(head);
}

/* ---- why it does not start ---- */

static void explain_missing(const char *path, char *text, size_t size)
{
	char at[PATH_MAX], name[PATH_MAX], link[PATH_MAX];
	bool loader = false;
	ssize_t length;

	snprintf(at, sizeof(at), "%s", path);
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		size_t end;

		if (access(at, F_OK) != 0) {
			length = readlink(at, link, sizeof(link) - 1);
			link[length > 0 ? length : 0] = '\0';
			snprintf(text, size, "it is a link to %.*s, which is not there",
				 NAME_SHOWN, link);
			return;
		}
		if (!read_interpreter(at, &loader, name, sizeof(name)))
			break;
		end = strlen(name);
		if (!loader && name[end - 1] == '\r') {
			snprintf(text, size,
				 "its lines end as on DOS, and there is no interpreter "
				 "of that name; convert it: sed -i 's/\\r$//'");
			return;
		}
		if (!is_there(name)) {
			snprintf(text, size,
				 loader ? "its loader %.*s is not on this node: it was "
					  "built for another system, or for a container"
					: "its interpreter %.*s is not on this node; "
					  "install it there, or name another in the "
					  "first line",
				 NAME_SHOWN, name);
			return;
		}
		memcpy(at, name, sizeof(at));
	}
	snprintf(text, size, "its interpreter or loader is not on this node");
}

static void explain_denied(const char *path, char *text, size_t size)
{
	char at[PATH_MAX], name[PATH_MAX], whose[NAME_SHOWN + 32] = "it";
	struct statvfs mount;
	struct stat status;
	bool loader;

	snprintf(at, sizeof(at), "%s", path);
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		if (stat(at, &status) != 0)
			break;
		if (!S_ISREG(status.st_mode)) {
			snprintf(text, size, "%s is %s", whose,
				 S_ISDIR(status.st_mode) ? "a folder" : "no file");
			return;
		}
		if (statvfs(at, &mount) == 0 && mount.f_flag & ST_NOEXEC) {
			snprintf(text, size,
				 "%s is in a file system from which nothing may be "
				 "started (noexec); copy it elsewhere",
				 whose);
			return;
		}
		if (access(at, X_OK) != 0) {
			snprintf(text, size, "%s is not executable: chmod +x", whose);
			return;
		}
		if (!read_interpreter(at, &loader, name, sizeof(name)))
			break;
		memcpy(at, name, sizeof(at));
		snprintf(whose, sizeof(whose), "its interpreter %.*s", NAME_SHOWN, name);
	}
	snprintf(text, size, "%s", strerror(EACCES));
}

/* e_machine is at the same place in both classes. */
static const char *machine_of(const char *path)
{
	static const struct {
		unsigned int number;
		const char *name;
	} machines[] = {
		{EM_386, "i386"},        {EM_X86_64, "x86_64"}, {EM_ARM, "arm"},
		{EM_AARCH64, "aarch64"}, {EM_PPC64, "ppc64"},   {EM_RISCV, "riscv"},
		{EM_S390, "s390"},
	};
	struct head head;

	if (!is_binary(path, &head))
		return "another machine";
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		if (head.narrow.e_machine == machines[i].number)
			return machines[i].name;
	}
	return "another machine";
}

static void explain_format(const char *path, char *text, size_t size)
{
	snprintf(text, size, "it is not for this node's processors, but for %s",
		 machine_of(path));
}

static void explain_size(const char *path, char *text, size_t size)
{
	snprintf(text, size,
		 "its arguments and the environment take more than %ld bytes, or one of "
		 "them more than 128 KiB; hand long lists over in a file",
		 sysconf(_SC_ARG_MAX));
}

static void explain_busy(const char *path, char *text, size_t size)
{
	snprintf(text, size, "it is open for writing; start it when it is complete");
}

/* What is often meant. */
static void explain_none(const char *program, char *text, size_t size)
{
	const char *where = strchr(program, '/') ? "" : " in PATH";
	const size_t name = strcspn(program, "=/ \t");
	char here[PATH_MAX];

	if (strpbrk(program, " \t"))
		snprintf(
			text, size,
			"no such program%s; quotes have made a command and its arguments "
			"one word",
			where);
	else if (name && program[name] == '=')
		snprintf(text, size,
			 "no such program%s; variables are set by env: srank exec env "
			 "NAME=VALUE PROGRAM",
			 where);
	else if (*where && *program &&
		 snprintf(here, sizeof(here), "./%s", program) < (int)sizeof(here) &&
		 is_there(here))
		snprintf(text, size, "no such program%s; this folder has one: %.*s",
			 where, NAME_SHOWN, here);
	else
		snprintf(text, size, "no such program%s", where);
}

static const struct {
	int error;
	void (*explain)(const char *path, char *text, size_t size);
} faults[] = {
	{ENOENT, explain_missing}, {EACCES, explain_denied}, {ENOEXEC, explain_format},
	{E2BIG, explain_size},     {ETXTBSY, explain_busy},
};

/* Where PROGRAM is, PATH is it. */
static int explain(const char *program, const char *path, int error,
		   struct launch_error *err)
{
	char text[LAUNCH_ERROR_MAX];

	snprintf(text, sizeof(text), "%s", strerror(error));
	if (!path && error == ENOENT)
		explain_none(program, text, sizeof(text));
	for (size_t i = 0; path && i < sizeof(faults) / sizeof(*faults); i++) {
		if (faults[i].error == error)
			faults[i].explain(path, text, sizeof(text));
	}
	launch_error_set(err, -error, "%.*s: %s", NAME_SHOWN, program, text);
	return path && error == ENOENT ? -ENOEXEC : -error;
}

int exec_become(char **program, struct launch_error *err)
{
	char path[PATH_MAX];
	struct head head;
	bool found = exec_find_program(program[0], path, sizeof(path));

	/* execvp() would have /bin/sh read it. */
	if (found && is_binary(path, &head)) {
		execv(path, program);
		if (errno == ENOEXEC)
			return explain(program[0], path, errno, err);
	}
	execvp(program[0], program);
	return explain(program[0], found ? path : NULL, errno, err);
}
