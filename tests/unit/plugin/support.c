/* SPDX-License-Identifier: MIT */
#include "tests/unit/plugin/support.h"

#include "tests/unit/plugin/mock_spank.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char words[256];
static char *arguments[16];
static bool forked;

static void must_succeed(int r)
{
	if (!forked)
		assert_int_equal(r, 0);
	else if (r)
		_exit(98);
}

void step_forked(void)
{
	/* cmocka catches these. */
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};

	forked = true;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_DFL);
}

void step_reset(void)
{
	static const char *const environment[][2] = {
		{"PATH", "/usr/bin"},
		{"SLURM_JOB_ID", "4711"},
		{"SLURM_STEP_ID", "2"},
		{"SLURM_STEP_NODELIST", "n[1-2]"},
		{"SLURM_STEP_NUM_NODES", "2"},
		{"SLURM_STEP_NUM_TASKS", "4"},
		{"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
		{"SLURM_STEP_RESV_PORTS", "41001-41003"},
		{"SLURM_NODEID", "1"},
		{"SLURM_PROCID", "3"},
		{"SLURM_LOCALID", "1"},
		{"SLURMD_NODENAME", "n2"},
	};

	mock_reset();
	mock->job_id = 4711;
	mock->step_id = 2;
	mock->local_tasks = 2;
	mock->nnodes = 2;
	for (size_t i = 0; i < sizeof(environment) / sizeof(*environment); i++)
		mock_setenv(environment[i][0], environment[i][1]);
}

void step_batch(void)
{
	static const char *const names[] = {
		"SLURM_STEP_ID",
		"SLURM_STEP_NODELIST",
		"SLURM_STEP_NUM_NODES",
		"SLURM_STEP_NUM_TASKS",
		"SLURM_STEP_TASKS_PER_NODE",
		"SLURM_STEP_RESV_PORTS",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		mock_unsetenv(names[i]);
	mock_setenv("SLURM_JOB_NODELIST", "n[1-2]");
	mock_setenv("SLURM_NODEID", "0");
	mock_setenv("SLURM_PROCID", "0");
	mock_setenv("SLURM_LOCALID", "0");
	mock_setenv("SLURMD_NODENAME", "n1");
	mock->step_id = 0xfffffffb;
	mock->local_tasks = 1;
}

int step_init(const char *site)
{
	int count = 0;

	/* The plugin may keep pointers into plugstack.conf's line. */
	words[0] = '\0';
	if (site)
		strncat(words, site, sizeof(words) - 1);
	for (char *next = words, *word; (word = strsep(&next, " ")) && count < 16;) {
		if (*word)
			arguments[count++] = word;
	}
	return slurm_spank_init(NULL, count, arguments);
}

void step_begin(const struct asked *asked)
{
	if (asked->srank)
		mock_setenv("SRANK", asked->srank);
	must_succeed(step_init(asked->site));
	if (asked->option && mock->registered) {
		must_succeed(mock->option.cb(mock->option.val, asked->option, 1));
		must_succeed(mock->option.cb(mock->option.val, asked->option, 1));
	}
	must_succeed(slurm_spank_init_post_opt(NULL, 0, NULL));
	must_succeed(slurm_spank_user_init(NULL, 0, NULL));
	mock->in_task = true;
	for (uint32_t i = 0; i < mock->local_tasks; i++) {
		mock->task = i;
		must_succeed(slurm_spank_task_post_fork(NULL, 0, NULL));
	}
}

void step_task(void)
{
	mock->in_task = true;
	must_succeed(slurm_spank_task_init(NULL, 0, NULL));
}

int step_task_status(void)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		step_forked();
		mock->in_task = true;
		_exit(slurm_spank_task_init(NULL, 0, NULL) ? 99 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

void step_end(void)
{
	must_succeed(slurm_spank_exit(NULL, 0, NULL));
}
