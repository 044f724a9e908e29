/* SPDX-License-Identifier: MIT */
/*
 * Quoting: expected texts follow from sbatch's get_argument() (an unquoted '#' cuts,
 * quotes group, a backslash escapes within quotes too) and from the POSIX shell grammar.
 */
#include "gen/script/quote.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

struct row {
	const char *text;
	const char *directive; /* NULL: refused */
	const char *word;
	const char *line; /* a word on one line; NULL: as word */
};

static const struct row rows[] = {
	/* safe everywhere */
	{"gpu", "gpu", "gpu"},
	{"logs/%x-%j.out", "logs/%x-%j.out", "logs/%x-%j.out"},
	{"a_b.c,d:e=f@g+h-i", "a_b.c,d:e=f@g+h-i", "a_b.c,d:e=f@g+h-i"},
	{"-3-00:00:00", "-3-00:00:00", "-3-00:00:00"},
	{"--cfg-options", "--cfg-options", "--cfg-options"},
	/* empty */
	{"", "", "''"},
	/* blanks and tabs split */
	{"big run", "\"big run\"", "'big run'"},
	{" ", "\" \"", "' '"},
	{"a\tb", "\"a\tb\"", "'a\tb'", "$'a\\tb'"},
	/* '#' */
	{"run#3", "\"run#3\"", "'run#3'"},
	/* quotes and backslashes */
	{"it's", "\"it's\"", "\"it's\""},
	{"say \"x\"", "\"say \\\"x\\\"\"", "'say \"x\"'"},
	{"it's \"x\"", "\"it's \\\"x\\\"\"", "\"it's \\\"x\\\"\""},
	{"a\\b", "\"a\\\\b\"", "\"a\\\\b\""},
	{"it's a\\", "\"it's a\\\\\"", "\"it's a\\\\\""},
	/* expansions: sbatch has none, the shell has */
	{"$HOME", "\"$HOME\"", "\"\\$HOME\""},
	{"`id`", "\"`id`\"", "\"\\`id\\`\""},
	{"$(id)", "\"$(id)\"", "\"\\$(id)\""},
	{"~", "\"~\"", "\\~"},
	{"~/x", "\"~/x\"", "\\~/x"},
	{"~/a b", "\"~/a b\"", "\\~'/a b'"},
	{"a~", "\"a~\"", "'a~'"},
	{"*", "\"*\"", "'*'"},
	{"{a,b}", "\"{a,b}\"", "'{a,b}'"},
	{"!x", "\"!x\"", "'!x'"},
	{"a;b&c|d<e>f(g)", "\"a;b&c|d<e>f(g)\"", "'a;b&c|d<e>f(g)'"},
	/* line ends */
	{"a\nb", NULL, "'a\nb'", "$'a\\nb'"},
	{"\n#SBATCH --nodes=9", NULL, "'\n#SBATCH --nodes=9'", "$'\\n#SBATCH --nodes=9'"},
	{"it's\n", NULL, "\"it's\n\"", "$'it\\'s\\n'"},
	/* a carriage return would make a DOS line of it */
	{"a\rb", NULL, "$'a\\rb'"},
	{"it's \\ $x\r\n", NULL, "$'it\\'s \\\\ $x\\r\\n'"},
	{"~\r", NULL, "$'~\\r'"},
	/* what cannot be seen, and bytes that are no UTF-8 */
	{"\x1b[31m", "\"\x1b[31m\"", "$'\\x1b[31m'"},
	{"\x7f", "\"\x7f\"", "$'\\x7f'"},
	{"a\xe2\x80\xae", "\"a\xe2\x80\xae\"", "$'a\\xe2\\x80\\xae'"},
	{"\xff\xfe", "\"\xff\xfe\"", "$'\\xff\\xfe'"},
	/* other characters */
	{"größe 中", "\"größe 中\"", "'größe 中'"},
	/* typographic quotes, which shellcheck wants in quotes of the other kind */
	{"a’b", "\"a’b\"", "\"a’b\""},
	{"“b”", "\"“b”\"", "'“b”'"},
	{"it’s “b”", "\"it’s “b”\"", "\"it’s \"'“'\"b\"'”'\"\""},
};

struct output {
	FILE *file;
	char *text;
	size_t length;
};

static void output_open(struct output *output)
{
	output->text = NULL;
	output->file = open_memstream(&output->text, &output->length);
	assert_non_null(output->file);
}

static void output_check(struct output *output, const char *expected)
{
	assert_int_equal(fclose(output->file), 0);
	assert_string_equal(output->text, expected);
	free(output->text);
}

static void directives(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct output output;
		int rc;

		output_open(&output);
		rc = script_quote_directive(output.file, rows[i].text);
		assert_int_equal(rc, rows[i].directive ? 0 : -EINVAL);
		assert_int_equal(script_quote_directive_ok(rows[i].text),
				 rows[i].directive != NULL);
		output_check(&output, rows[i].directive ? rows[i].directive : "");
	}
}

static void words(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct output output;

		output_open(&output);
		script_quote_word(output.file, rows[i].text);
		output_check(&output, rows[i].word);
	}
}

static void lines(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct output output;

		output_open(&output);
		script_quote_line(output.file, rows[i].text);
		output_check(&output, rows[i].line ? rows[i].line : rows[i].word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directives),
		cmocka_unit_test(words),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests_name("quote", tests, NULL, NULL);
}
