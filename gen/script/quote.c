/* SPDX-License-Identifier: MIT */
/*
 * Quoting for the three places where a value of the spec can land. Each rule takes the
 * plainest form that is safe, because people read these scripts.
 */
#include "gen/script/quote.h"

#include <errno.h>
#include <string.h>

/* Literal to sbatch's lexer and, in an argument, to the shell. */
#define SAFE                         \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789_./,:=%@+-"

static bool is_safe(const char *text)
{
	return text[strspn(text, SAFE)] == '\0';
}

/* TEXT in double quotes, a backslash before each character of SPECIAL. */
static void quote_double(FILE *out, const char *text, const char *special)
{
	fputc('"', out);
	for (; *text; text++) {
		if (strchr(special, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

bool script_quote_directive_ok(const char *text)
{
	/* sbatch refuses a script with DOS line ends, so CR is no better than LF. */
	return !strpbrk(text, "\r\n");
}

int script_quote_directive(FILE *out, const char *text)
{
	if (!script_quote_directive_ok(text))
		return -EINVAL;
	/*
	 * An unquoted '#' ends the line even inside a word, and Slurm 22.05 splits at a
	 * blank behind a backslash: quotes are the one form that every release reads
	 * alike. Within them '\' still escapes, as in get_argument() of src/sbatch/opt.c.
	 */
	if (is_safe(text))
		fputs(text, out);
	else
		quote_double(out, text, "\"\\");
	return 0;
}

void script_quote_word(FILE *out, const char *text)
{
	if (text[0] && is_safe(text)) {
		fputs(text, out);
		return;
	}
	/*
	 * Single quotes are the plainest, but a single quote cannot stand in them, and
	 * shellcheck takes a `$` there for a mistake (SC2016). In double quotes these
	 * four are the special ones in a script (POSIX Shell Command Language 2.2.3);
	 * history expansion by '!' belongs to interactive shells.
	 */
	if (strpbrk(text, "'$`"))
		quote_double(out, text, "\"\\$`");
	else
		fprintf(out, "'%s'", text);
}

void script_quote_comment(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = *text;

		if (c == '\n')
			fputs("\\n", out);
		else if (c == '\t')
			fputs("\\t", out);
		else if (c < ' ' || c == 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
}
