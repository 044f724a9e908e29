/* SPDX-License-Identifier: MIT */
/*
 * Lines of KEY=VALUE, written and read.
 */
#include "spank/exec/record.h"

#include "spank/launch/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void write_value(FILE *out, const char *value)
{
	size_t written = 0;

	for (; *value; value++) {
		const char *escape = *value == '\n'   ? "\\n"
				     : *value == '\\' ? "\\\\"
						      : NULL;

		written += escape ? 2 : 1;
		if (written > EXEC_RECORD_VALUE_MAX) {
			fputs("...", out);
			return;
		}
		if (escape)
			fputs(escape, out);
		else
			fputc(*value, out);
	}
}

void exec_record_put(FILE *out, const char *key, const char *format, ...)
{
	char *value;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&value, format, list);
	va_end(list);
	/* Nobody knows then what it was, as if it had not been found out. */
	if (length < 0)
		return;
	fprintf(out, "%s=", key);
	write_value(out, value);
	fputc('\n', out);
	free(value);
}

/* In place, since it never gets longer. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '\\' && (from[1] == 'n' || from[1] == '\\'))
			*to++ = *++from == 'n' ? '\n' : '\\';
		else
			*to++ = *from;
	}
	*to = '\0';
}

/* Lines of a value of several are apart in what is shown of it. */
static void clean(char *value)
{
	char *line;

	unescape(value);
	while ((line = strsep(&value, "\n"))) {
		launch_make_printable(line);
		if (value)
			value[-1] = '\n';
	}
}

/* Lines of TEXT, of which each may be an entry. */
static size_t count_lines(const char *text)
{
	size_t count = 1;

	while ((text = strchr(text, '\n'))) {
		count++;
		text++;
	}
	return count < EXEC_RECORD_ENTRIES ? count : EXEC_RECORD_ENTRIES;
}

int exec_record_read(struct exec_record *record, const char *text)
{
	size_t room;
	char *next, *line;

	*record = (struct exec_record){0};
	if (strnlen(text, EXEC_RECORD_MAX) == EXEC_RECORD_MAX)
		return -E2BIG;
	room = count_lines(text);
	record->entry = calloc(room, sizeof(*record->entry));
	record->text = next = strdup(text);
	if (!record->entry || !next)
		return -ENOMEM;
	while ((line = strsep(&next, "\n"))) {
		char *value = strchr(line, '=');

		if (!value || value == line || record->count == room)
			continue;
		*value++ = '\0';
		launch_make_printable(line);
		clean(value);
		record->entry[record->count++] = (struct exec_record_entry){line, value};
	}
	return 0;
}

void exec_record_clear(struct exec_record *record)
{
	free(record->entry);
	free(record->text);
	*record = (struct exec_record){0};
}

const char *exec_record_get(const struct exec_record *record, const char *key)
{
	for (uint32_t i = 0; i < record->count; i++) {
		if (strcmp(record->entry[i].key, key) == 0)
			return record->entry[i].value;
	}
	return NULL;
}

const char *exec_record_text(const struct exec_record *record, const char *key)
{
	const char *value = exec_record_get(record, key);

	return value ? value : "";
}

bool exec_record_number(const struct exec_record *record, const char *key,
			int64_t *number)
{
	const char *value = exec_record_get(record, key);
	char *end;

	*number = 0;
	if (!value || !*value)
		return false;
	errno = 0;
	*number = strtoll(value, &end, 10);
	if (*end || errno) {
		*number = 0;
		return false;
	}
	return true;
}
