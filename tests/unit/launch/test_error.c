/* SPDX-License-Identifier: MIT */
/* The one error text: the first is kept, and fit for a daemon's log. */
#include "spank/launch/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_first_is_kept(void **state)
{
	struct launch_error err = {0};

	assert_false(launch_error_is_set(&err));
	assert_int_equal(launch_error_set(&err, -EINVAL, "port %d is taken", 29500),
			 -EINVAL);
	assert_true(launch_error_is_set(&err));
	assert_int_equal(launch_error_set(&err, -ENOMEM, "another"), -ENOMEM);
	assert_string_equal(err.text, "port 29500 is taken");
}

static void test_long_text_is_cut(void **state)
{
	struct launch_error err = {0};
	char text[2 * LAUNCH_ERROR_MAX];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(launch_error_set(&err, -EINVAL, "%s", text), -EINVAL);
	assert_int_equal(strlen(err.text), LAUNCH_ERROR_MAX - 1);
}

/* What a job can put into its environment, and what of it a log may show. */
static void test_printable(void **state)
{
	static const struct {
		const char *value, *shown;
	} rows[] = {
		{"n1", "n1"},
		{" !09AZaz~", " !09AZaz~"},
		/* A line of somebody else's. */
		{"n1\nslurmd: error: all is lost", "n1?slurmd: error: all is lost"},
		{"\r\t\b\a\v\f", "??????"},
		/* Colours, titles, and what answers for the one who reads it. */
		{"\033[2J\033]0;x\007", "?[2J?]0;x?"},
		/* The same in one byte (C1), by itself and in UTF-8. */
		{"\x9b"
		 "2J",
		 "?2J"},
		{"\xc2\x9b"
		 "2J",
		 "??2J"},
		{"n\xc3\xb6"
		 "de",
		 "n??de"},
		{"\x7f\x01\xff", "???"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct launch_error err = {0};
		char text[64];

		launch_error_set(&err, -EINVAL, "%s", rows[i].value);
		assert_string_equal(err.text, rows[i].shown);
		strcpy(text, rows[i].value);
		launch_make_printable(text);
		assert_string_equal(text, rows[i].shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_is_kept),
		cmocka_unit_test(test_long_text_is_cut),
		cmocka_unit_test(test_printable),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
