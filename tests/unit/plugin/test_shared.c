/* SPDX-License-Identifier: MIT */
/* What a node's processes see of each other. */
#include "spank/plugin/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_both_ways(void **state)
{
	struct srank_shared *shared = srank_shared_create(4096);
	int status;
	pid_t pid;

	assert_non_null(shared);
	assert_false(shared->reported);
	assert_false(shared->abandon);
	assert_int_equal(shared->masks[4095].bits[0], 0);

	pid = fork();
	if (pid == 0) {
		shared->abandon = true;
		shared->masks[4095].bits[LAUNCH_CPUS_MAX / 64 - 1] = 5;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(shared->abandon);
	assert_int_equal(shared->masks[4095].bits[LAUNCH_CPUS_MAX / 64 - 1], 5);
	srank_shared_destroy(&shared, 4096);
	assert_null(shared);
	srank_shared_destroy(&shared, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
	};

	return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
