/* SPDX-License-Identifier: MIT */
/*
 * One error text, filled in where a fault is found and printed where it can be seen:
 * inside slurmstepd the early callbacks must not fail, so the first error is kept until
 * task_init can report it.
 */
#pragma once

#include <stdbool.h>

#define LAUNCH_ERROR_MAX 512

struct launch_error {
	char text[LAUNCH_ERROR_MAX]; /* empty: no error yet */
};

/*
 * Keeps the first error: a later call on the same object changes nothing. Too long a text
 * is cut, and is made printable as below. Returns CODE, so that a caller can write
 * `return launch_error_set(err, -EINVAL, ...)`.
 */
int launch_error_set(struct launch_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Puts a question mark in place of every byte of TEXT but printable ASCII, for what comes
 * from a job's environment and goes into a daemon's log: a line feed would forge a line
 * there, an escape sequence rewrite the administrator's terminal.
 */
void launch_make_printable(char *text);

static inline bool launch_error_is_set(const struct launch_error *err)
{
	return err->text[0] != '\0';
}
