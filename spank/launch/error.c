/* SPDX-License-Identifier: MIT */
/*
 * The one error text of a launch; see error.h for why the first one is kept.
 */
#include "spank/launch/error.h"

#include <stdarg.h>
#include <stdio.h>

int launch_error_set(struct launch_error *err, int code, const char *format, ...)
{
	va_list arguments;

	if (launch_error_is_set(err))
		return code;
	va_start(arguments, format);
	vsnprintf(err->text, sizeof(err->text), format, arguments);
	va_end(arguments);
	launch_make_printable(err->text);
	return code;
}

void launch_make_printable(char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}
