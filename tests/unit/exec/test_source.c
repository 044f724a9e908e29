/* SPDX-License-Identifier: MIT */
/*
 * Whose PMIx server it is that the environment tells of, which task speaks for the step,
 * and how long a name may take.
 */
#include "spank/exec/source.h"
#include "spank/exec/wait.h"

#include <errno.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* NULL: not set. */
static void set(const char *name, const char *value)
{
	assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static const struct {
	const char *name, *rank, *job_id, *het_id, *step_id;
	bool there, slurm;
} servers[] = {
	{NULL, NULL, "7", NULL, "0", false, false},
	{"slurm.pmix.7.0", "1", "7", NULL, "0", true, true},
	{"slurm.pmix.7.12", "0", "7", NULL, "12", true, true},
	/* Half of it, or nothing in it. */
	{"slurm.pmix.7.0", NULL, "7", NULL, "0", false, true},
	{"slurm.pmix.7.0", "", "7", NULL, "0", false, true},
	{"", "1", "7", NULL, "0", false, false},
	/* Of a step around this one, of the same job or of another. */
	{"slurm.pmix.7.0", "1", "7", NULL, "1", false, true},
	{"slurm.pmix.7.1", "1", "7", NULL, "12", false, true},
	{"slurm.pmix.6.0", "1", "7", NULL, "0", false, true},
	{"slurm.pmix.6", "1", "7", NULL, "0", false, true},
	/* The second component of a heterogeneous job. */
	{"slurm.pmix.7.0", "1", "8", "7", "0", true, true},
	{"slurm.pmix.6.0", "1", "8", "7", "0", false, true},
	/* In no step at all, as under another starter. */
	{"slurm.pmix.7.0", "1", NULL, NULL, NULL, true, true},
	/* Open MPI's: of whatever step its daemon is in. */
	{"2364407809", "1", "7", NULL, "0", true, false},
	{"prterun-node1-17@1", "1", "7", NULL, "0", true, false},
};

static void servers_are_told_apart(void **state)
{
	for (size_t i = 0; i < sizeof(servers) / sizeof(*servers); i++) {
		set("PMIX_NAMESPACE", servers[i].name);
		set("PMIX_RANK", servers[i].rank);
		set("SLURM_JOB_ID", servers[i].job_id);
		set("SLURM_HET_JOB_ID", servers[i].het_id);
		set("SLURM_STEP_ID", servers[i].step_id);
		assert_int_equal(exec_source_has_server(), servers[i].there);
		assert_int_equal(exec_source_is_slurm(), servers[i].slurm);
	}
}

static const struct {
	const char *name, *pmix_rank, *rank, *local_rank;
	bool of_step, of_task;
} speakers[] = {
	{NULL, NULL, "4", "0", true, true},
	{NULL, NULL, "4", "3", false, true},
	{NULL, NULL, "4", NULL, true, true},
	{NULL, NULL, NULL, "3", true, true},
	/* All have the same wrong one. */
	{NULL, NULL, "0", "77", true, true},
	{NULL, NULL, "1", "77", false, true},
	{"slurm.pmix.7.0", "4", "4", "0", true, true},
	{"slurm.pmix.7.0", "4", "4", "1", false, true},
	/* What Slurm says is of mpirun's daemon. */
	{"prterun-node1-17@1", "0", "0", "0", true, true},
	{"prterun-node1-17@1", "1", "0", "0", false, true},
};

static void one_speaks_for_the_step(void **state)
{
	set("SLURM_JOB_ID", "7");
	set("SLURM_STEP_ID", "0");
	for (size_t i = 0; i < sizeof(speakers) / sizeof(*speakers); i++) {
		set("PMIX_NAMESPACE", speakers[i].name);
		set("PMIX_RANK", speakers[i].pmix_rank);
		set("SLURM_PROCID", speakers[i].rank);
		set("SLURM_LOCALID", speakers[i].local_rank);
		assert_int_equal(exec_source_speaks(-EINVAL), speakers[i].of_step);
		assert_int_equal(exec_source_speaks(-ENOTSUP), speakers[i].of_step);
		assert_int_equal(exec_source_speaks(-ENOMEM), speakers[i].of_task);
	}
}

/* ---- a resolver that does not answer ---- */

static int release[2] = {-1, -1}; /* a pipe: a byte lets it answer */

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **found)
{
	char byte;

	if (strcmp(name, "n1-slow") == 0 && read(release[0], &byte, 1) != 1)
		abort();
	return EAI_NONAME;
}

static void a_resolver_is_not_waited_for(void **state)
{
	static const struct {
		const char *settings;
		int r;
		const char *text;
	} rows[] = {
		{"addr=ip,suffix=-slow", -EHOSTUNREACH,
		 "addr=ip: n1-slow: the resolver has not answered in 1 s; use addr=name, "
		 "or set MASTER_ADDR"},
		{"addr=ip", -EHOSTUNREACH,
		 "addr=ip: n1: Name or service not known; use addr=name, or set "
		 "MASTER_ADDR"},
		{"addr=nodeaddr", -EINVAL,
		 "addr=nodeaddr: only the plugin can ask Slurm for it; use addr=ip or "
		 "addr=name"},
		{"addr=name,suffix=-slow", 0, ""},
	};
	char nodes[] = "n[1-2]", node[] = "n1";
	struct launch_facts facts = {
		.nnodes = 2, .ntasks = 2, .nodelist = nodes, .node = node};

	assert_int_equal(pipe(release), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const time_t began = exec_seconds_now();
		struct launch_settings settings;
		struct launch_error err = {""};

		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, rows[i].settings, &err),
				 0);
		assert_int_equal(exec_source_addresses(&facts, &settings, 1, &err),
				 rows[i].r);
		assert_string_equal(err.text, rows[i].text);
		assert_in_range(exec_seconds_now() - began, 0, 4);
		assert_null(facts.head_addr);
	}
	assert_int_equal(write(release[1], "", 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_are_told_apart),
		cmocka_unit_test(one_speaks_for_the_step),
		cmocka_unit_test(a_resolver_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
