/* SPDX-License-Identifier: MIT */
/* What a node's processes see of each other. */
#include "spank/plugin/shared.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_both_ways(void **state)
{
	struct srank_shared *shared = srank_shared_create(4096);
	int status;
	pid_t pid;

	assert_non_null(shared);
	assert_int_equal(shared->ntasks, 4096);
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
	srank_shared_destroy(&shared);
	assert_null(shared);
	srank_shared_destroy(&shared);
}

static void test_affinity(void **state)
{
	struct launch_cpuset mask;
	cpu_set_t cpus;
	int cpu = 0, status;
	pid_t pid;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	assert_int_equal(srank_affinity(0, &mask), 0);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		assert_int_equal(mask.bits[i / 64] >> (i % 64) & 1,
				 !!CPU_ISSET(i, &cpus));
		if (CPU_ISSET(i, &cpus))
			cpu = i;
	}

	/* That of another process, which is what slurmstepd asks for. */
	pid = fork();
	if (pid == 0) {
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(srank_affinity(pid, &mask), 0);
	assert_int_equal(launch_cpuset_count(&mask), 1);
	assert_int_equal(launch_cpuset_first(&mask), cpu);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_int_equal(srank_affinity(pid, &mask), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_affinity),
	};

	return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
