/* SPDX-License-Identifier: MIT */
/*
 * Quoting for the places where a value of the spec can land. Each rule takes the
 * plainest form that is safe, because people read these scripts.
 */
#include "gen/script/quote.h"

#include "gen/utf8.h"

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

/* TEXT with a backslash before each character of SPECIAL. */
static void escape(FILE *out, const char *text, size_t length, const char *special)
{
	for (; length > 0; text++, length--) {
		if (strchr(special, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* The first typographic quote of a kind, U+2018 and U+2019 or U+201C and U+201D. */
static const char *curly(const char *text, bool twofold)
{
	const char *left = strstr(text, twofold ? "\xe2\x80\x9c" : "\xe2\x80\x98");
	const char *right = strstr(text, twofold ? "\xe2\x80\x9d" : "\xe2\x80\x99");

	if (!left || (right && right < left))
		return right;
	return left;
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
	if (is_safe(text)) {
		fputs(text, out);
		return 0;
	}
	fputc('"', out);
	escape(out, text, strlen(text), "\"\\");
	fputc('"', out);
	return 0;
}

/* A character of TEXT, not in ALLOWED, that nobody would see, or a byte that is none. */
static bool has_control(const char *text, const char *allowed)
{
	size_t length = strlen(text), bytes;

	for (; length > 0; text += bytes, length -= bytes) {
		uint32_t code;

		bytes = utf8_decode(text, length, &code);
		if (bytes == 0 || (utf8_is_control(code) && !strchr(allowed, *text)))
			return true;
	}
	return false;
}

/* As bash's $'...', whose escapes are those of ANSI C (bash.1, QUOTING). */
static void quote_ansi(FILE *out, const char *text)
{
	static const char named[] = "\n\t\r", letters[] = "ntr";
	size_t length = strlen(text), bytes;

	fputs("$'", out);
	for (; length > 0; text += bytes, length -= bytes) {
		const char *name = strchr(named, *text);
		uint32_t code;

		bytes = utf8_decode(text, length, &code);
		if (name) {
			fprintf(out, "\\%c", letters[name - named]);
		} else if (bytes == 0 || utf8_is_control(code)) {
			bytes = bytes ? bytes : 1;
			for (size_t i = 0; i < bytes; i++)
				fprintf(out, "\\x%02x", (unsigned char)text[i]);
		} else {
			escape(out, text, bytes, "'\\");
		}
	}
	fputc('\'', out);
}

void script_quote_line(FILE *out, const char *text)
{
	if (has_control(text, ""))
		quote_ansi(out, text);
	else
		script_quote_word(out, text);
}

void script_quote_word(FILE *out, const char *text)
{
	const char *mark;

	if (has_control(text, "\n\t")) {
		quote_ansi(out, text);
		return;
	}
	/* Not within quotes: shellcheck takes a tilde there for a mistake (SC2088). */
	if (*text == '~') {
		fputs("\\~", out);
		text++;
		if (!*text)
			return;
	}
	if (text[0] && is_safe(text)) {
		fputs(text, out);
		return;
	}
	/*
	 * Single quotes are the plainest, but a single quote cannot stand in them, and
	 * shellcheck takes a `$`, a last backslash or a typographic quote of their kind
	 * there for a mistake (SC2016, SC1003, SC1112).
	 */
	if (!strpbrk(text, "'$`\\") && !curly(text, false)) {
		fprintf(out, "'%s'", text);
		return;
	}
	/*
	 * In double quotes these four are the special ones in a script (POSIX Shell
	 * Command Language 2.2.3); history expansion by '!' belongs to interactive
	 * shells. A typographic double quote (SC1111) gets single quotes of its own.
	 */
	fputc('"', out);
	for (; (mark = curly(text, true)); text = mark + 3) {
		escape(out, text, mark - text, "\"\\$`");
		fprintf(out, "\"'%.3s'\"", mark);
	}
	escape(out, text, strlen(text), "\"\\$`");
	fputc('"', out);
}
