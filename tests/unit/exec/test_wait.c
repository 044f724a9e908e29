/* SPDX-License-Identifier: MIT */
/*
 * What is waited for: work that ends, work that does not, and who has the argument then.
 */
#include "spank/exec/wait.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

/* Work that waits until it may end. */
struct work {
	int go[2];      /* a pipe: a byte lets it end */
	int dropped[2]; /* a pipe: a byte tells that it was dropped */
	sigset_t mask;  /* of the thread */
	size_t stack;   /* and its size */
	bool done;
};

static void open_work(struct work *work)
{
	*work = (struct work){.done = false};
	assert_int_equal(pipe(work->go), 0);
	assert_int_equal(pipe(work->dropped), 0);
}

static void close_work(struct work *work)
{
	for (int i = 0; i < 2; i++) {
		close(work->go[i]);
		close(work->dropped[i]);
	}
}

static void do_work(void *arg)
{
	struct work *work = arg;
	pthread_attr_t attributes;
	char byte;

	pthread_sigmask(SIG_BLOCK, NULL, &work->mask);
	if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
		pthread_attr_getstacksize(&attributes, &work->stack);
		pthread_attr_destroy(&attributes);
	}
	if (read(work->go[0], &byte, 1) == 1)
		work->done = true;
}

static void drop_work(void *arg)
{
	struct work *work = arg;

	if (write(work->dropped[1], "", 1) != 1)
		_exit(1);
}

static void test_work_that_ends(void **state)
{
	const struct timespec until = exec_time_in(10000);
	struct exec_call *call;
	struct work work;
	sigset_t mask;
	char byte;

	open_work(&work);
	assert_int_equal(write(work.go[1], "", 1), 1);
	assert_int_equal(exec_call_start(&call, do_work, drop_work, &work), 0);
	assert_true(exec_call_wait(call, &until));
	assert_true(work.done);
	/* Whatever `ulimit -s` says. */
	assert_int_equal(work.stack, EXEC_STACK_SIZE);
	/* Signals stay with the thread that called. */
	assert_true(sigismember(&work.mask, SIGTERM));
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	assert_false(sigismember(&mask, SIGTERM));
	exec_call_close(&call);
	assert_null(call);
	assert_int_equal(read(work.dropped[0], &byte, 1), 1);
	exec_call_close(&call);
	close_work(&work);
}

static void test_work_that_does_not_end(void **state)
{
	const struct timespec until = exec_time_in(1200);
	struct timespec before, after;
	struct exec_call *call;
	struct work work;
	int64_t took;
	char byte;

	open_work(&work);
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(exec_call_start(&call, do_work, drop_work, &work), 0);
	assert_false(exec_call_wait(call, &until));
	clock_gettime(CLOCK_MONOTONIC, &after);
	took = (int64_t)(after.tv_sec - before.tv_sec) * 1000 +
	       (after.tv_nsec - before.tv_nsec) / 1000000;
	assert_in_range(took, 1199, 5000);
	assert_true(exec_time_is_past(&until));
	exec_call_close(&call);
	/* It is the thread's now, which drops it in the end. */
	assert_int_equal(write(work.go[1], "", 1), 1);
	assert_int_equal(read(work.dropped[0], &byte, 1), 1);
	assert_true(work.done);
	close_work(&work);
}

static void test_times(void **state)
{
	struct timespec time = exec_time_in(0);
	struct timespec later = exec_time_in(2999);
	int64_t apart = (int64_t)(later.tv_sec - time.tv_sec) * 1000000000 +
			later.tv_nsec - time.tv_nsec;

	assert_in_range(later.tv_nsec, 0, 999999999);
	assert_in_range(apart, INT64_C(2999000000), INT64_C(4000000000));
	assert_false(exec_time_is_past(&later));
	assert_true(exec_time_is_past(&time));
	assert_in_range(exec_seconds_now() - time.tv_sec, 0, 2);
}

static void test_wants(void **state)
{
	static const struct {
		int error;
		bool want;
	} rows[] = {
		{-EAGAIN, true},  {-ENOMEM, true},     {-EMFILE, true},
		{-ENFILE, true},  {-ENOBUFS, true},    {-ENOENT, false},
		{-EACCES, false}, {-ETIMEDOUT, false}, {0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(exec_error_is_want(rows[i].error), rows[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_that_ends),
		cmocka_unit_test(test_work_that_does_not_end),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_wants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
