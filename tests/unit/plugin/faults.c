/* SPDX-License-Identifier: MIT */
/*
 * Faults for the tests in a real Slurm. The plugin's callbacks are built under other
 *names (see meson.build), and stand behind those of this file, which note where Slurm is;
 *and what the plugin calls stands behind functions that fail there. In plugstack.conf,
 *
 *	fault=CALLBACK:slurm    lets all functions of Slurm's fail in that callback,
 *	fault=CALLBACK:memory   all of the plugin's memory,
 *	fault=CALLBACK:overrun  reads past the end of a block, for AddressSanitizer.
 */
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#define FAULT         "fault="
#define ARGUMENTS_MAX 16

static char callback[32], kind[16]; /* of the fault; empty: none */
static const char *now;             /* the callback that Slurm is in; NULL: none */

static bool fails(const char *what)
{
	return now && strcmp(now, callback) == 0 && strcmp(kind, what) == 0;
}

static bool slurm_fails(void)
{
	return fails("slurm");
}

static bool memory_fails(void)
{
	if (!fails("memory"))
		return false;
	errno = ENOMEM;
	return true;
}

/* By ld's --wrap. */
spank_err_t __real_spank_get_item(spank_t spank, spank_item_t item, ...);
spank_err_t __wrap_spank_get_item(spank_t spank, spank_item_t item, ...);

spank_err_t __wrap_spank_get_item(spank_t spank, spank_item_t item, ...)
{
	va_list arguments;
	void *value;

	/* No item that the plugin asks for has more than one value. */
	va_start(arguments, item);
	value = va_arg(arguments, void *);
	va_end(arguments);
	return slurm_fails() ? ESPANK_ERROR : __real_spank_get_item(spank, item, value);
}

#define WRAP(type, name, parameters, arguments, failure, broken)     \
	type __real_##name parameters;                               \
	type __wrap_##name parameters;                               \
	type __wrap_##name parameters                                \
	{                                                            \
		return broken() ? failure : __real_##name arguments; \
	}

WRAP(spank_err_t, spank_getenv, (spank_t spank, const char *name, char *value, int size),
     (spank, name, value, size), ESPANK_ERROR, slurm_fails)
WRAP(spank_err_t, spank_setenv,
     (spank_t spank, const char *name, const char *value, int overwrite),
     (spank, name, value, overwrite), ESPANK_ERROR, slurm_fails)
WRAP(spank_err_t, spank_unsetenv, (spank_t spank, const char *name), (spank, name),
     ESPANK_ERROR, slurm_fails)
WRAP(spank_err_t, spank_option_register, (spank_t spank, struct spank_option *option),
     (spank, option), ESPANK_ERROR, slurm_fails)
WRAP(slurm_step_layout_t *, slurm_job_step_layout_get, (slurm_step_id_t * step_id),
     (step_id), NULL, slurm_fails)

WRAP(void *, malloc, (size_t size), (size), NULL, memory_fails)
WRAP(void *, calloc, (size_t count, size_t size), (count, size), NULL, memory_fails)
WRAP(void *, realloc, (void *old, size_t size), (old, size), NULL, memory_fails)
WRAP(void *, reallocarray, (void *old, size_t count, size_t size), (old, count, size),
     NULL, memory_fails)
WRAP(char *, strdup, (const char *text), (text), NULL, memory_fails)
WRAP(char *, strndup, (const char *text, size_t size), (text, size), NULL, memory_fails)
WRAP(int, vasprintf, (char **text, const char *format, va_list arguments),
     (text, format, arguments), -1, memory_fails)
WRAP(FILE *, open_memstream, (char **text, size_t *size), (text, size), NULL,
     memory_fails)
WRAP(void *, mmap,
     (void *address, size_t size, int protection, int flags, int fd, off_t offset),
     (address, size, protection, flags, fd, offset), MAP_FAILED, memory_fails)

static void overrun(void)
{
	char *block = __real_malloc(1);
	/* What the compiler cannot see through. */
	volatile size_t beyond = 1;

	if (block && ((volatile char *)block)[beyond] == 1)
		setenv("SRANK_OVERRUN", "1", 1);
	free(block);
}

/* Takes the fault out of the arguments, which the plugin does not know. */
static int take_fault(int argc, char **argv, char **rest)
{
	int count = 0;

	for (int i = 0; i < argc && count < ARGUMENTS_MAX; i++) {
		if (strncmp(argv[i], FAULT, strlen(FAULT)) != 0)
			rest[count++] = argv[i];
		else if (sscanf(argv[i] + strlen(FAULT), "%31[a-z_]:%15[a-z]", callback,
				kind) != 2)
			callback[0] = '\0';
	}
	return count;
}

typedef int (*spank_callback)(spank_t spank, int argc, char **argv);

static int call(const char *name, spank_callback real, spank_t spank, int argc,
		char **argv)
{
	char *rest[ARGUMENTS_MAX];
	int r;

	argc = take_fault(argc, argv, rest);
	now = name;
	if (fails("overrun"))
		overrun();
	r = real(spank, argc, rest);
	now = NULL;
	return r;
}

#define CALLBACK(name)                                                     \
	int srank_spank_##name(spank_t spank, int argc, char **argv);      \
	int slurm_spank_##name(spank_t spank, int argc, char **argv)       \
	{                                                                  \
		return call(#name, srank_spank_##name, spank, argc, argv); \
	}

#pragma GCC visibility push(default)
CALLBACK(init)
CALLBACK(init_post_opt)
CALLBACK(local_user_init)
CALLBACK(user_init)
CALLBACK(task_post_fork)
CALLBACK(task_init)
CALLBACK(task_exit)
CALLBACK(exit)
#pragma GCC visibility pop
