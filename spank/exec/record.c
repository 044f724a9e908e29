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
	for (const char *c = value; *c; c++) {
		if (*c == '\n')
			fputs("\\n", out);
		else if (*c == '\\')
			fputs("\\\\", out);
		else
			fputc(*c, out);
	}
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

int exec_record_read(struct exec_record *record, const char *text)
{
	char *next, *line;

	*record = (struct exec_record){0};
	if (strnlen(text, EXEC_RECORD_MAX) == EXEC_RECORD_MAX)
		return -E2BIG;
	record->text = next = strdup(text);
	if (!next)
		return -ENOMEM;
	while ((line = strsep(&next, "\n"))) {
		char *value = strchr(line, '=');

		if (!value || value == line || record->count == EXEC_RECORD_ENTRIES)
			continue;
		*value++ = '\0';
		launch_make_printable(line);
		clean(value);
		record->entry[record->count].key = line;
		record->entry[record->count++].value = value;
	}
	return 0;
}

void exec_record_clear(struct exec_record *record)
{
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
