/* SPDX-License-Identifier: MIT */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_is_kept),
		cmocka_unit_test(test_long_text_is_cut),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
