/* SPDX-License-Identifier: MIT */
/*
 * The ranks that a script's own shell code gives its tasks, where neither the plugin nor
 * `srank exec` is on the nodes: the shell runs here, in the environment that Slurm gives
 * to a task, and what it exports is what the rules in spank/launch say of that task.
 */
#include "gen/script/script.h"
#include "spank/launch/environment.h"
#include "spank/launch/rendezvous.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

extern char **environ;

/* What the shell prints of a task's environment, one variable a line. */
static char *said;

/* Behind what the shell of a task starts in place of the program. */
#define TASK_BEGIN "\tcat <<'TASK'\n"
#define TASK_END   "\nTASK\n"

/* The shell code of the tasks of SPEC's script, to be freed. */
static char *task_of(const char *text)
{
	struct spec spec = {0};
	struct spec_site site;
	struct plan plan = {0};
	struct script_templates templates = {0};
	struct diag diag = {0};
	char *script = NULL, *begin, *end, *task;
	size_t length;
	FILE *out;

	assert_int_equal(spec_read_text(&spec, "job.yaml", text, strlen(text), &diag), 0);
	spec_site_init(&site);
	assert_int_equal(spec_complete(&spec, &site.defaults), 0);
	assert_int_equal(plan_make(&plan, &spec, &site, &diag), 0);
	out = open_memstream(&script, &length);
	assert_non_null(out);
	assert_int_equal(
		script_write(out, &spec, &plan, &site, NULL, &templates, NULL, &diag), 0);
	assert_int_equal(fclose(out), 0);
	begin = strstr(script, TASK_BEGIN);
	assert_non_null(begin);
	begin += strlen(TASK_BEGIN);
	end = strstr(begin, TASK_END);
	assert_non_null(end);
	task = strndup(begin, end - begin);
	assert_non_null(task);
	free(script);
	script_templates_clear(&templates);
	plan_clear(&plan);
	spec_site_clear(&site);
	spec_clear(&spec);
	diag_clear(&diag);
	return task;
}

/* Runs TASK by SHELL with this process's environment, and keeps what `env` says in it. */
static void run(const char *shell, const char *task)
{
	char command[128];
	size_t length;
	FILE *in, *out;
	char *line = NULL;
	size_t room = 0;

	assert_int_equal(setenv("TASK", task, 1), 0);
	/* By its path: a task's PATH is the user's, and `env` must be found all the same.
	 */
	snprintf(command, sizeof(command), "exec %s -c \"$TASK\" srank /usr/bin/env",
		 shell);
	in = popen(command, "r");
	assert_non_null(in);
	free(said);
	out = open_memstream(&said, &length);
	assert_non_null(out);
	fputc('\n', out);
	while (getline(&line, &room, in) > 0)
		fputs(line, out);
	free(line);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(pclose(in), 0);
	unsetenv("TASK");
}

/* NAME has VALUE there, or with NULL is not there. */
static void assert_said(const char *name, const char *value)
{
	char mark[128];
	const char *at;

	snprintf(mark, sizeof(mark), "\n%s=", name);
	at = strstr(said, mark);
	if (!value) {
		assert_null(at);
		return;
	}
	assert_non_null(at);
	at += strlen(mark);
	assert_int_equal(strcspn(at, "\n"), strlen(value));
	assert_memory_equal(at, value, strlen(value));
}

/* One task of a step, as Slurm tells it. */
struct slurm_task {
	const char *nodelist, *per_node, *ntasks, *nnodes, *procid, *localid, *nodeid,
		*node;
};

static void tell(const struct slurm_task *task, const char *job, const char *step,
		 const char *restart, const char *reserved)
{
	const struct {
		const char *name, *value;
	} rows[] = {
		{"SLURM_JOB_ID", job},
		{"SLURM_STEP_ID", step},
		{"SLURM_RESTART_COUNT", restart},
		{"SLURM_STEP_RESV_PORTS", reserved},
		{"SLURM_STEP_NODELIST", task->nodelist},
		{"SLURM_STEP_TASKS_PER_NODE", task->per_node},
		{"SLURM_STEP_NUM_TASKS", task->ntasks},
		{"SLURM_NTASKS", task->ntasks},
		{"SLURM_STEP_NUM_NODES", task->nnodes},
		{"SLURM_NNODES", task->nnodes},
		{"SLURM_PROCID", task->procid},
		{"SLURM_LOCALID", task->localid},
		{"SLURM_NODEID", task->nodeid},
		{"SLURMD_NODENAME", task->node},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].value)
			assert_int_equal(setenv(rows[i].name, rows[i].value, 1), 0);
		else
			unsetenv(rows[i].name);
	}
}

static const char *look_up(const char *name, void *arg)
{
	(void)arg;
	return getenv(name);
}

static const char *const shells[] = {"/bin/sh", "/bin/bash"};
#define SHELLS (sizeof(shells) / sizeof(*shells))

#define WORKER \
	"plugin: off\nresources: {nodes: 2, gpus_per_node: 4}\nrun: {script: a.py}\n"

static const struct slurm_task second_node = {
	"gpu[07-08]", "4(x2)", "8", "2", "6", "2", "1", "gpu08",
};

static const struct slurm_task second_launcher = {
	"gpu[07-08]", "1(x2)", "2", "2", "1", "0", "1", "gpu08",
};

/* Of every launcher all that the plugin would set, but what needs more than a shell. */
static void same_as_the_rules(void **state)
{
	static const char *const others[] = {
		/* Those of the plugin itself; the script's own lines say OMP_NUM_THREADS
		 * and the workers of a node. */
		"SRANK_",
		"OMP_NUM_THREADS",
		"PET_NPROC_PER_NODE",
	};

	for (size_t i = 0; i < launch_launchers_count * SHELLS; i++) {
		const struct launch_launcher *launcher = &launch_launchers[i / SHELLS];
		struct launch_settings settings;
		struct launch_environment env = {0};
		struct launch_facts facts = {0};
		struct launch_error err = {0};
		char text[256], *task;

		if (launcher->bare ||
		    launch_launcher_takes(launcher, LAUNCH_VALUE_TF_CONFIG))
			continue;
		snprintf(text, sizeof(text), "launcher: %s\n%s", launcher->name, WORKER);
		task = task_of(text);
		tell(launcher->shape == LAUNCH_NODE ? &second_launcher : &second_node,
		     "4711", "0", NULL, NULL);
		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, launcher->name, &err),
				 0);
		assert_int_equal(launch_facts_read(&facts, look_up, NULL, &err), 0);
		assert_int_equal(launch_environment(&facts, &settings, &env, &err), 0);
		/* What another launcher has left. */
		setenv("RANK", "99", 1);
		setenv("LOCAL_RANK", "99", 1);
		setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
		run(shells[i % SHELLS], task);
		for (size_t k = 0; k < env.count; k++) {
			bool other = false;

			for (size_t n = 0; n < sizeof(others) / sizeof(*others); n++)
				other |= strncmp(env.list[k].name, others[n],
						 strlen(others[n])) == 0;
			if (!other)
				assert_said(env.list[k].name, env.list[k].value);
		}
		assert_said("TORCHELASTIC_USE_AGENT_STORE", NULL);
		unsetenv("RANK");
		unsetenv("LOCAL_RANK");
		unsetenv("TORCHELASTIC_USE_AGENT_STORE");
		launch_environment_clear(&env);
		launch_facts_clear(&facts);
		free(task);
	}
}

/* The port of launch_port(), in signed arithmetic. */
static void ports(void **state)
{
	static const struct {
		const char *job, *step, *restart, *range;
	} rows[] = {
		{"1", "0", NULL, "20000-29999"},
		{"1", "1", NULL, "20000-29999"},
		{"1", "0", "1", "20000-29999"},
		{"2", "0", NULL, "20000-29999"},
		{"4711", "3", "2", "20000-29999"},
		{"67043327", "12", "7", "20000-29999"},
		/* More steps than blocks. */
		{"99999", "5000", NULL, "20000-29999"},
		/* Ranges that are small, odd, or high. */
		{"4711", "0", NULL, "15000-15000"},
		{"4711", "7", "1", "15000-15006"},
		{"4712", "7", NULL, "1024-65535"},
		{"4713", "1", "3", "61000-65535"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) * SHELLS; i++) {
		const size_t row = i / SHELLS;
		enum launch_port_source source;
		struct launch_settings settings;
		struct launch_facts facts = {0};
		struct launch_error err = {0};
		char text[256], number[16], *task;
		uint16_t port;

		snprintf(text, sizeof(text),
			 "launcher: torch\nrendezvous: {ports: %s}\n%s", rows[row].range,
			 WORKER);
		task = task_of(text);
		tell(&second_node, rows[row].job, rows[row].step, rows[row].restart,
		     NULL);
		snprintf(text, sizeof(text), "torch,ports=%s", rows[row].range);
		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, text, &err), 0);
		assert_int_equal(launch_facts_read(&facts, look_up, NULL, &err), 0);
		assert_int_equal(launch_port(&facts, &settings, &port, &source, &err), 0);
		snprintf(number, sizeof(number), "%u", port);
		run(shells[i % SHELLS], task);
		assert_said("MASTER_PORT", number);
		launch_facts_clear(&facts);
		free(task);
	}
}

static void chosen_ports_and_addresses(void **state)
{
	static const struct {
		const char *more;     /* of the spec */
		const char *nodelist; /* of the step */
		const char *reserved, *addr, *port, *user_addr, *user_port;
	} rows[] = {
		{"", "n1", "20005", "n1", "20005", NULL, NULL},
		{"", "n[3,7]", "20005-20009", "n3", "20005", NULL, NULL},
		{"", "n[003-004,1]", "20007,20010-20012", "n003", "20007", NULL, NULL},
		{"", "a[1-2]b[04-05]c,d1", "20005", "a1b04c", "20005", NULL, NULL},
		{"", "login,n[1-2]", "20005", "login", "20005", NULL, NULL},
		{"rendezvous: {port: 23456}\n", "n1", "20005", "n1", "23456", NULL, NULL},
		/* The user's own come first; empty counts as unset. */
		{"rendezvous: {port: 23456}\n", "n1", "20005", "h9", "9999", "h9",
		 "9999"},
		{"", "n1", "20005", "n1", "20005", "", ""},
		{"rendezvous: {suffix: i}\n", "jwb[0101-0102].juwels", "20005",
		 "jwb0101i.juwels", "20005", NULL, NULL},
		{"rendezvous: {suffix: -ib}\n", "n[1-2]", "20005", "n1-ib", "20005", NULL,
		 NULL},
		{"rendezvous: {domain: cl.local}\n", "n[1-2]", "20005", "n1.cl.local",
		 "20005", NULL, NULL},
		{"rendezvous: {domain: cl.local}\n", "n[1-2].cl.local", "20005",
		 "n1.cl.local", "20005", NULL, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) * SHELLS; i++) {
		const size_t row = i / SHELLS;
		struct slurm_task told = second_node;
		char text[256], *task;

		snprintf(text, sizeof(text), "launcher: torch\n%s%s", rows[row].more,
			 WORKER);
		task = task_of(text);
		told.nodelist = rows[row].nodelist;
		tell(&told, "1", "0", NULL, rows[row].reserved);
		if (rows[row].user_addr) {
			setenv("MASTER_ADDR", rows[row].user_addr, 1);
			setenv("MASTER_PORT", rows[row].user_port, 1);
		}
		run(shells[i % SHELLS], task);
		unsetenv("MASTER_ADDR");
		unsetenv("MASTER_PORT");
		assert_said("MASTER_ADDR", rows[row].addr);
		assert_said("MASTER_PORT", rows[row].port);
		free(task);
	}
}

static void elastic(void **state)
{
	char *task = task_of("launcher: torchrun\nrendezvous: {elastic: '1:4'}\n" WORKER);

	tell(&second_launcher, "4711", "3", "2", "20005");
	run("/bin/sh", task);
	assert_said("PET_NNODES", "1:4");
	assert_said("PET_RDZV_BACKEND", "c10d");
	assert_said("PET_RDZV_ENDPOINT", "gpu07:20005");
	assert_said("PET_RDZV_ID", "4711.3.2");
	assert_said("PET_RDZV_CONF", "is_host=0");
	assert_said("PET_MAX_RESTARTS", "3");
	assert_said("PET_MASTER_ADDR", NULL);
	setenv("PET_MAX_RESTARTS", "0", 1);
	tell(&(struct slurm_task){"gpu[07-08]", "1(x2)", "2", "2", "0", "0", "0",
				  "gpu07"},
	     "4711", "3", "2", "20005");
	run("/bin/sh", task);
	assert_said("PET_RDZV_CONF", "is_host=1");
	/* The user's own. */
	assert_said("PET_MAX_RESTARTS", "0");
	unsetenv("PET_MAX_RESTARTS");
	free(task);
}

static int leave(void **state)
{
	(void)state;
	free(said);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_the_rules),
		cmocka_unit_test(ports),
		cmocka_unit_test(chosen_ports_and_addresses),
		cmocka_unit_test(elastic),
	};

	return cmocka_run_group_tests(tests, NULL, leave);
}
