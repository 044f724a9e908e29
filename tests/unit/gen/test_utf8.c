/* SPDX-License-Identifier: MIT */
/* UTF-8: expected values are RFC 3629's forms and their limits. */
#include "support.h"

#include "gen/utf8.h"

static void characters_and_what_is_none(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
		uint32_t code;
	} rows[] = {
		{"a", 1, 'a'},
		{"\x7f", 1, 0x7f},
		{"\xc2\x80", 2, 0x80},
		{"\xdf\xbf", 2, 0x7ff},
		{"\xe0\xa0\x80", 3, 0x800},
		{"\xed\x9f\xbf", 3, 0xd7ff},
		{"\xee\x80\x80", 3, 0xe000},
		{"\xef\xbf\xbd", 3, 0xfffd},
		{"\xf0\x90\x80\x80", 4, 0x10000},
		{"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
		/* A continuation alone, overlong forms, a surrogate, beyond the last. */
		{"\x80", 0, 0},
		{"\xc0\x80", 0, 0},
		{"\xc1\xbf", 0, 0},
		{"\xe0\x9f\xbf", 0, 0},
		{"\xed\xa0\x80", 0, 0},
		{"\xf0\x8f\xbf\xbf", 0, 0},
		{"\xf4\x90\x80\x80", 0, 0},
		{"\xf5\x80\x80\x80", 0, 0},
		{"\xff", 0, 0},
		/* Cut short, and continued by what does not continue. */
		{"\xc3", 0, 0},
		{"\xe2\x82", 0, 0},
		{"\xe2\x82(", 0, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t length = strlen(rows[i].text);
		/* A copy without room behind it, for the address sanitizer. */
		char *text = malloc(length);
		uint32_t code = 0;

		assert_non_null(text);
		memcpy(text, rows[i].text, length);
		print_message("# row %zu\n", i);
		assert_int_equal(utf8_decode(text, length, &code), rows[i].bytes);
		assert_int_equal(code, rows[i].code);
		free(text);
	}
}

static void places(void **state)
{
	static const char text[] = "a\xc3\xa9z\n\n\xe4\xb8\xad.";
	static const struct {
		size_t offset;
		uint32_t line, column;
	} rows[] = {{0, 1, 1}, {3, 1, 3}, {4, 1, 4}, {5, 2, 1}, {6, 3, 1}, {9, 3, 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t line, column;

		utf8_place(text, rows[i].offset, &line, &column);
		assert_int_equal(line, rows[i].line);
		assert_int_equal(column, rows[i].column);
	}
	assert_int_equal(utf8_count(text, strlen(text)), 7);
}

static void escapes(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"", ""},
		{"plain, gr\xc3\xb6\xc3\x9f"
		 "e",
		 "plain, gr\xc3\xb6\xc3\x9f"
		 "e"},
		{"a\nb\tc\rd", "a\\nb\\tc\\x0dd"},
		{"\033[31m\177", "\\x1b[31m\\x7f"},
		/* C1; right-to-left override; line separator; isolate. */
		{"\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xe2\x81\xa6",
		 "\\u009b\\u202e\\u2028\\u2066"},
		{"caf\xe9", "caf\\xe9"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *text = NULL;
		size_t length;
		FILE *out = open_memstream(&text, &length);

		assert_non_null(out);
		utf8_escape(out, rows[i].text);
		assert_int_equal(fclose(out), 0);
		assert_string_equal(text, rows[i].expected);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_and_what_is_none),
		cmocka_unit_test(places),
		cmocka_unit_test(escapes),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
