/* SPDX-License-Identifier: MIT */
/*
 * The PMIx client with a library in place of libpmix that fails on demand: each failure
 * has a text, nothing is waited for in vain, what a lost call holds stays, and `srank
 * exec` changes nothing under the library's eyes.
 */
#include "spank/exec/exec.h"
#include "spank/exec/pmix.h"

#include <errno.h>
#include <pmix.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the library ---- */

static struct {
	bool absent;       /* there is no libpmix */
	const char *lacks; /* a function that it has not */
	bool no_thread;    /* the limit of processes is reached */
	pmix_status_t init, commit, fence;
	bool stops;  /* commit comes back when a byte comes through the pipe */
	int gate[2]; /* this one */
	unsigned int finalized;
	int seen[2];           /* a pipe: RANK as it was when the connection ended */
	pmix_op_cbfunc_t late; /* of a fence that has not ended */
	void *arg;
} library;

static pmix_status_t init(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo)
{
	*proc = (pmix_proc_t){.nspace = "job", .rank = 3};
	/* As it does for itself. */
	signal(SIGPIPE, SIG_IGN);
	return library.init;
}

static pmix_status_t finalize(const pmix_info_t info[], size_t ninfo)
{
	const char *rank = getenv("RANK");

	library.finalized++;
	if (library.seen[1] && write(library.seen[1], rank ? rank : "-", 1) != 1)
		return PMIX_ERROR;
	if (library.late)
		library.late(PMIX_ERR_UNREACH, library.arg);
	return PMIX_SUCCESS;
}

static pmix_status_t commit(void)
{
	char byte;

	if (library.stops && read(library.gate[0], &byte, 1) != 1)
		return PMIX_ERROR;
	return library.commit;
}

static pmix_status_t put(pmix_scope_t scope, const pmix_key_t key, pmix_value_t *value)
{
	return PMIX_SUCCESS;
}

/* Ends at once, or with the connection. */
static pmix_status_t fence(const pmix_proc_t procs[], size_t nprocs,
			   const pmix_info_t info[], size_t ninfo,
			   pmix_op_cbfunc_t callback, void *arg)
{
	if (library.fence == PMIX_SUCCESS) {
		library.late = callback;
		library.arg = arg;
	}
	return library.fence;
}

static const char *error_string(pmix_status_t status)
{
	return status == PMIX_ERR_UNREACH ? "UNREACHABLE" : "?";
}

static int unused(void)
{
	return PMIX_ERROR;
}

static const struct {
	const char *name;
	void *function;
} functions[] = {
	{"PMIx_Abort", (void *)unused},
	{"PMIx_Commit", (void *)commit},
	{"PMIx_Error_string", (void *)error_string},
	{"PMIx_Fence_nb", (void *)fence},
	{"PMIx_Finalize", (void *)finalize},
	{"PMIx_Get", (void *)unused},
	{"PMIx_Get_nb", (void *)unused},
	{"PMIx_Get_version", (void *)unused},
	{"PMIx_Init", (void *)init},
	{"PMIx_Put", (void *)put},
};

/* The linker's --wrap leads the client here. */
void *__wrap_dlopen(const char *file, int flags);
void *__wrap_dlsym(void *handle, const char *name);
char *__wrap_dlerror(void);
int __wrap_dlclose(void *handle);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *), void *arg);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *), void *arg);

void *__wrap_dlopen(const char *file, int flags)
{
	return library.absent ? NULL : &library;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (strcmp(functions[i].name, name) == 0 &&
		    (!library.lacks || strcmp(library.lacks, name) != 0))
			return functions[i].function;
	}
	return NULL;
}

char *__wrap_dlerror(void)
{
	static char text[] = "libpmix.so.2: No such file or directory";

	return text;
}

int __wrap_dlclose(void *handle)
{
	return 0;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *), void *arg)
{
	return library.no_thread ? EAGAIN
				 : __real_pthread_create(thread, attributes, run, arg);
}

static struct exec_pmix *connect_to(void)
{
	struct launch_error err = {""};
	struct exec_pmix *pmix;

	assert_int_equal(exec_pmix_open(&pmix, 10, &err), 0);
	assert_non_null(pmix);
	return pmix;
}

/* ---- the tests ---- */

static void test_connection(void **state)
{
	static const struct {
		bool absent, no_thread;
		const char *lacks;
		pmix_status_t init;
		int r;
		const char *text;
	} rows[] = {
		{.text = ""},
		{.absent = true,
		 .r = -ENOTSUP,
		 .text = "PMIx: libpmix.so.2: No such file or directory"},
		{.lacks = "PMIx_Get_nb",
		 .r = -ENOTSUP,
		 .text = "PMIx: libpmix.so.2 has no PMIx_Get_nb"},
		{.init = PMIX_ERR_UNREACH,
		 .r = -EIO,
		 .text = "PMIx: connection: UNREACHABLE"},
		{.no_thread = true,
		 .r = -EIO,
		 .text = "PMIx: connection: cannot start a thread: Resource temporarily "
			 "unavailable"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct launch_error err = {""};
		struct exec_pmix *pmix;
		struct sigaction action;

		memset(&library, 0, sizeof(library));
		library.absent = rows[i].absent;
		library.lacks = rows[i].lacks;
		library.no_thread = rows[i].no_thread;
		library.init = rows[i].init;
		assert_int_equal(exec_pmix_open(&pmix, 10, &err), rows[i].r);
		assert_string_equal(err.text, rows[i].text);
		assert_int_equal(pmix != NULL, rows[i].r == 0);
		if (pmix) {
			assert_string_equal(exec_pmix_name(pmix), "job");
			assert_int_equal(exec_pmix_rank(pmix), 3);
		}
		exec_pmix_close(&pmix);
		assert_null(pmix);
		assert_int_equal(library.finalized, rows[i].r == 0);
		/* For the program that comes after it. */
		sigaction(SIGPIPE, NULL, &action);
		assert_true(action.sa_handler == SIG_DFL);
	}
}

static void test_fence(void **state)
{
	static const struct {
		bool no_thread;
		pmix_status_t commit, fence;
		int r;
		const char *text;
	} rows[] = {
		{false, PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED, 0, ""},
		{false, PMIX_SUCCESS, PMIX_SUCCESS, -ETIMEDOUT, ""},
		{false, PMIX_SUCCESS, PMIX_ERR_UNREACH, -EIO, "PMIx: fence: UNREACHABLE"},
		{false, PMIX_ERR_UNREACH, 0, -EIO, "PMIx: values: UNREACHABLE"},
		{true, PMIX_SUCCESS, 0, -EIO,
		 "PMIx: values: cannot start a thread: Resource temporarily unavailable"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct launch_error err = {""};
		struct exec_pmix *pmix;

		memset(&library, 0, sizeof(library));
		pmix = connect_to();
		library.no_thread = rows[i].no_thread;
		library.commit = rows[i].commit;
		library.fence = rows[i].fence;
		assert_int_equal(exec_pmix_fence(pmix, 1, &err), rows[i].r);
		assert_string_equal(err.text, rows[i].text);
		library.no_thread = false;
		exec_pmix_close(&pmix);
		assert_int_equal(library.finalized, 1);
	}
}

/* What a thread may still look at is not freed: AddressSanitizer would see it. */
static void test_call_that_is_lost(void **state)
{
	struct launch_error err = {""};
	static struct exec_pmix *kept; /* or it would be a leak */
	struct exec_pmix *pmix;

	memset(&library, 0, sizeof(library));
	assert_int_equal(pipe(library.gate), 0);
	kept = pmix = connect_to();
	library.stops = true;
	assert_int_equal(exec_pmix_fence(pmix, 1, &err), -EIO);
	assert_string_equal(err.text, "PMIx: values: the server of this node does not "
				      "answer in 1 s");
	exec_pmix_close(&pmix);
	assert_null(pmix);
	assert_int_equal(library.finalized, 1);
	assert_int_equal(exec_pmix_rank(kept), 3);
	/* The thread, too, comes to its end. */
	assert_int_equal(write(library.gate[1], "", 1), 1);
}

/*
 * Threads of libpmix may call getenv() until it has ended, and setenv() beside them is
 * what setenv(3) warns of.
 */
static void test_environment_is_changed_last(void **state)
{
	static const char *const variables[][2] = {
		{"PMIX_NAMESPACE", "slurm.pmix.7.0"},
		{"PMIX_RANK", "0"},
		{"SLURM_JOB_ID", "7"},
		{"SLURM_STEP_ID", "0"},
		{"SLURM_STEP_NODELIST", "localhost"},
		{"SLURM_STEP_NUM_NODES", "1"},
		{"SLURM_STEP_NUM_TASKS", "1"},
		{"SLURM_STEP_TASKS_PER_NODE", "1"},
		{"SLURM_NODEID", "0"},
		{"SLURM_PROCID", "0"},
		{"SLURM_LOCALID", "0"},
		{"SLURMD_NODENAME", "localhost"},
		{"RANK", "7"}, /* stale */
	};
	static char name[] = "sh", flag[] = "-c", test[] = "test \"$RANK\" = 0";
	char *program[] = {name, flag, test, NULL};
	struct exec_options options = {.pmix = true, .timeout = 10};
	char seen;
	pid_t child;
	int status;

	memset(&library, 0, sizeof(library));
	assert_int_equal(pipe(library.seen), 0);
	launch_settings_init(&options.settings);
	options.settings.on = options.settings.asked = true;
	options.settings.launcher = launch_launcher_find("torch");
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
			setenv(variables[i][0], variables[i][1], 1);
		_exit(exec_program(&options, program));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(library.seen[0], &seen, 1), 1);
	assert_int_equal(seen, '7');
	close(library.seen[0]);
	close(library.seen[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connection),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_call_that_is_lost),
		cmocka_unit_test(test_environment_is_changed_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
