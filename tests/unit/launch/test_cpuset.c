/* SPDX-License-Identifier: MIT */
/*
 * Lists of CPUs as Linux writes them, there and back, and the masks that it has.
 */
#include "spank/launch/cpuset.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void reads_and_prints(void **state)
{
	static const struct {
		const char *text;
		int error;
		uint32_t count;
		uint32_t first;
		const char *again;
	} cases[] = {
		{"", 0, 0, LAUNCH_CPUS_MAX, ""},
		{"\n", 0, 0, LAUNCH_CPUS_MAX, ""},
		{"0", 0, 1, 0, "0"},
		{"0-3,8\n", 0, 5, 0, "0-3,8"},
		{"48-63,112-127", 0, 32, 48, "48-63,112-127"},
		{"1,3,5,7", 0, 4, 1, "1,3,5,7"},
		{"0-63", 0, 64, 0, "0-63"},
		{"60-70", 0, 11, 60, "60-70"},
		{"2,1,0,1-2", 0, 3, 0, "0-2"},
		{"4095", 0, 1, 4095, "4095"},
		{"0-4095", 0, 4096, 0, "0-4095"},
		{"4096", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"0-4096", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"99999999999999999999", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"4294967296", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"3-1", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"0-", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"-1", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"0,", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{",0", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"0,,1", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"0 1", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"0-3x", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
		{"cpu0", -EINVAL, 0, LAUNCH_CPUS_MAX, ""},
	};
	struct launch_cpuset set;
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		print_message("# case %zu\n", i);
		assert_int_equal(launch_cpuset_parse(&set, cases[i].text),
				 cases[i].error);
		assert_int_equal(launch_cpuset_count(&set), cases[i].count);
		assert_int_equal(launch_cpuset_first(&set), cases[i].first);
		launch_cpuset_text(&set, text, sizeof(text));
		assert_string_equal(text, cases[i].again);
	}
}

static void cuts_text(void **state)
{
	/* No number is cut, for what is left of it would be another one. */
	static const char *const cuts[] = {
		"",          ".",           "..",         "...", "...",
		"...",       "...",         "...",        "...", "10-11,...",
		"10-11,...", "10-11,20,30", "10-11,20,30"};
	struct launch_cpuset set;
	char text[16];

	assert_int_equal(launch_cpuset_parse(&set, "10-11,20,30"), 0);
	for (size_t size = 1; size <= sizeof(cuts) / sizeof(*cuts); size++) {
		memset(text, 'x', sizeof(text));
		launch_cpuset_text(&set, text, size);
		assert_string_equal(text, cuts[size - 1]);
		assert_int_equal(text[size], 'x');
	}
	launch_cpuset_text(&set, text, 0);
	assert_string_equal(text, "10-11,20,30");
}

static void joins_removes_and_keeps(void **state)
{
	static const struct {
		const char *set, *other, *joined, *removed, *kept;
	} cases[] = {
		{"", "", "", "", ""},
		{"0-3", "", "0-3", "0-3", ""},
		{"", "0-3", "0-3", "", ""},
		{"0-3,64", "2-5", "0-5,64", "0-1,64", "2-3"},
		{"63-64", "64-65", "63-65", "63", "64"},
		{"4095", "4095", "4095", "", "4095"},
	};
	struct launch_cpuset set, other, result;
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(launch_cpuset_parse(&set, cases[i].set), 0);
		assert_int_equal(launch_cpuset_parse(&other, cases[i].other), 0);
		result = set;
		launch_cpuset_join(&result, &other);
		launch_cpuset_text(&result, text, sizeof(text));
		assert_string_equal(text, cases[i].joined);
		result = set;
		launch_cpuset_remove(&result, &other);
		launch_cpuset_text(&result, text, sizeof(text));
		assert_string_equal(text, cases[i].removed);
		assert_int_equal(launch_cpuset_is_empty(&result), !*cases[i].removed);
		result = set;
		launch_cpuset_keep(&result, &other);
		launch_cpuset_text(&result, text, sizeof(text));
		assert_string_equal(text, cases[i].kept);
	}
}

static void goes_from_one_to_the_next(void **state)
{
	static const uint32_t cpus[] = {0, 1, 62, 63, 64, 127, 128, 4094, 4095};
	const size_t count = sizeof(cpus) / sizeof(*cpus);
	struct launch_cpuset set = {0};
	uint32_t at;

	for (size_t i = 0; i < count; i++) {
		assert_false(launch_cpuset_has(&set, cpus[i]));
		launch_cpuset_add(&set, cpus[i]);
		assert_true(launch_cpuset_has(&set, cpus[i]));
	}
	assert_false(launch_cpuset_has(&set, LAUNCH_CPUS_MAX));
	at = launch_cpuset_first(&set);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(at, cpus[i]);
		at = launch_cpuset_next(&set, at);
	}
	assert_int_equal(at, LAUNCH_CPUS_MAX);
}

static void reads_the_affinity_of_a_process(void **state)
{
	struct launch_cpuset mask;
	cpu_set_t cpus;
	int cpu = 0, status;
	pid_t pid;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	assert_int_equal(launch_cpuset_affinity(0, &mask), 0);
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
	assert_int_equal(launch_cpuset_affinity(pid, &mask), 0);
	assert_int_equal(launch_cpuset_count(&mask), 1);
	assert_int_equal(launch_cpuset_first(&mask), cpu);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_int_equal(launch_cpuset_affinity(pid, &mask), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_prints),
		cmocka_unit_test(cuts_text),
		cmocka_unit_test(joins_removes_and_keeps),
		cmocka_unit_test(goes_from_one_to_the_next),
		cmocka_unit_test(reads_the_affinity_of_a_process),
	};

	return cmocka_run_group_tests_name("cpuset", tests, NULL, NULL);
}
