/* SPDX-License-Identifier: MIT */
/*
 * What one task has found out, as it travels to rank 0: lines of KEY=VALUE. A record that
 * arrives is other people's bytes, and is read as such.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Longest text of a record, its final zero included; entries beyond are dropped. */
#define EXEC_RECORD_MAX     65536
#define EXEC_RECORD_ENTRIES 512

/*
 * So many bytes of a value are written: what comes from a task's environment may be as
 * long as two records (MAX_ARG_STRLEN, execve(2)), and would take all others with it.
 */
#define EXEC_RECORD_VALUE_MAX 8192

struct exec_record_entry {
	const char *key, *value;
};

struct exec_record {
	uint32_t count;
	struct exec_record_entry
		*entry; /* as many as it has: rank 0 has one of each rank */
	char *text;     /* in which they are */
};

/*
 * Writes an entry to OUT. Line feeds and backslashes in the value are escaped; KEY has
 * none, and no '='. A longer value is cut, and ends with "...".
 */
void exec_record_put(FILE *out, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Takes TEXT apart. What is no KEY=VALUE is passed over, and what would not be printable
 * ASCII becomes a question mark, for it all may come to be shown. -E2BIG for a longer
 * text, -ENOMEM. RECORD is always in a state that exec_record_clear() takes.
 */
int exec_record_read(struct exec_record *record, const char *text);

void exec_record_clear(struct exec_record *record);

/* The value of KEY, the first one; NULL: there is none. */
const char *exec_record_get(const struct exec_record *record, const char *key);

/* The same, and "" for none. */
const char *exec_record_text(const struct exec_record *record, const char *key);

/*
 * The value of KEY as a number, which may have a sign. False, and NUMBER is 0, when there
 * is none or it is no number.
 */
bool exec_record_number(const struct exec_record *record, const char *key,
			int64_t *number);
