/* SPDX-License-Identifier: MIT */
/*
 * What the ranks agree on, and what they say when some are missing, with a server in
 * place of PMIx's that knows of these alone.
 */
#include "spank/exec/agree.h"
#include "spank/exec/source.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the server ---- */

static struct {
	int fence;        /* what the fence comes to */
	uint32_t missing; /* ranks from FIRST on that have not come */
	uint32_t first;
	const char *port;  /* of rank 0; NULL: not there */
	const char *peers; /* ranks of the node */
	const char *cpus[8];
	char put[2][64]; /* by scope */
	unsigned int slept;
	bool racy; /* of a Slurm before 23.02 */
} server;

int exec_source_fence(struct exec_pmix *pmix, const struct launch_facts *facts,
		      unsigned int seconds, struct launch_error *err)
{
	return server.fence;
}

bool exec_source_is_racy(void)
{
	return server.racy;
}

int exec_pmix_put(struct exec_pmix *pmix, enum exec_pmix_scope scope, const char *key,
		  const char *text)
{
	snprintf(server.put[scope], sizeof(server.put[scope]), "%s=%s", key, text);
	return 0;
}

int exec_pmix_text(struct exec_pmix *pmix, uint32_t rank, const char *key, char **text)
{
	const char *value = NULL;

	if (strcmp(key, "srank.port") == 0 && rank == 0)
		value = server.port;
	else if (strcmp(key, "pmix.lpeers") == 0 && rank == EXEC_PMIX_JOB)
		value = server.peers;
	else if (strcmp(key, "srank.cpus") == 0 && rank < 8)
		value = server.cpus[rank];
	*text = value ? strdup(value) : NULL;
	return value ? 0 : -ENOENT;
}

int exec_pmix_gather(struct exec_pmix *pmix, const char *key, const uint32_t *ranks,
		     uint32_t count, unsigned int seconds, char **texts)
{
	assert_string_equal(key, EXEC_PMIX_HERE);
	for (uint32_t i = 0; i < count; i++) {
		if (ranks[i] < server.first || ranks[i] >= server.first + server.missing)
			texts[i] = strdup("");
	}
	return 0;
}

unsigned int sleep(unsigned int seconds)
{
	server.slept += seconds;
	return 0;
}

/* ---- ranks that are missing ---- */

static const struct {
	uint32_t ntasks, rank, local_rank;
	uint32_t first, missing;
	const char *text; /* how it begins; "": nothing is said */
} absences[] = {
	{4, 0, 0, 2, 1,
	 "1 of 4 ranks have not come to srank exec in 9 s: 2; every task "},
	{4, 0, 0, 1, 3, "3 of 4 ranks have not come to srank exec in 9 s: 1,2,3; every "},
	{100, 0, 0, 10, 20,
	 "20 of 100 ranks have not come to srank exec in 9 s: "
	 "10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,...; every task "},
	/* All are there when they are looked for: they were late, or are not heard. */
	{4, 0, 0, 0, 0,
	 "all ranks have come to srank exec by now, but not all of them in 9 s "
	 "(--timeout waits longer), or the PMIx servers "},
	/* As many as are looked at, and one more. */
	{4096, 0, 0, 0, 0, "all ranks have come to srank exec by now, but not "},
	{4097, 0, 0, 0, 0,
	 "the first 4096 of 4097 ranks have come to srank exec; of the others some have "
	 "not in 9 s, and their "},
	{4097, 0, 0, 4096, 1,
	 "the first 4096 of 4097 ranks have come to srank exec; of "},
	{4097, 0, 0, 4095, 2,
	 "1 of the first 4096 of 4097 ranks have not come to srank exec in 9 s: 4095; "},
	{100000, 0, 0, 1, 99999,
	 "4095 of the first 4096 of 100000 ranks have not come to srank exec in 9 s: "
	 "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,...; "},
	/* The others look for rank 0 alone: one a node, and on its own the next one. */
	{4, 1, 1, 0, 1, "rank 0 has not come to srank exec in 9 s; every task "},
	{4, 2, 0, 0, 1, "rank 0 has not come to srank exec in 9 s; every task "},
	{4, 3, 1, 0, 1, ""},
	{4, 2, 0, 3, 1, ""},
	{100000, 2, 0, 3, 1, ""},
};

/* The fence of FACTS has run into its time of 9 s. */
static void run_out(struct launch_facts *facts, struct launch_error *err)
{
	struct launch_settings settings;
	struct launch_task task = {.facts = facts, .settings = &settings};

	launch_settings_init(&settings);
	/* Nobody listens here. */
	settings.launcher = launch_launcher_find("mpi");
	*err = (struct launch_error){""};
	server.fence = -ETIMEDOUT;
	assert_int_equal(exec_agree(NULL, &task, facts, NULL, 9, err), -ETIMEDOUT);
}

static void absent_ranks_are_named(void **state)
{
	for (size_t i = 0; i < sizeof(absences) / sizeof(*absences); i++) {
		struct launch_facts facts = {.ntasks = absences[i].ntasks,
					     .nnodes = absences[i].ntasks,
					     .rank = absences[i].rank,
					     .local_rank = absences[i].local_rank,
					     .local_size = 1};
		struct launch_error err;

		memset(&server, 0, sizeof(server));
		server.first = absences[i].first;
		server.missing = absences[i].missing;
		run_out(&facts, &err);
		if (*absences[i].text)
			assert_ptr_equal(strstr(err.text, absences[i].text), err.text);
		else
			assert_string_equal(err.text, "");
		/* Who says nothing leaves rank 0 the time to. */
		assert_int_equal(server.slept, *absences[i].text ? 0 : 3);
	}
}

/* What else it may be, and what helps, depends on the nodes and on Slurm. */
static void other_causes_are_told(void **state)
{
	static const struct {
		uint32_t ntasks, nnodes;
		bool racy;
		const char *there, *not_there; /* in the message */
	} rows[] = {
		{4, 1, false, "; --no-pmix does without PMIx", "servers"},
		{4, 1, true, "; --no-pmix does without PMIx", "servers"},
		{4, 2, false, "do not reach each other (--no-pmix does ", "start it"},
		{4, 2, true, "so start it again (--no-pmix does without them)",
		 "do not reach"},
		{5000, 2, false, "do not reach each other (--no-pmix does ", "start it"},
		{5000, 2, true, "so start it again (--no-pmix does without them)",
		 "do not reach"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct launch_facts facts = {.ntasks = rows[i].ntasks,
					     .nnodes = rows[i].nnodes,
					     .local_size = 1};
		struct launch_error err;

		memset(&server, 0, sizeof(server));
		server.racy = rows[i].racy;
		run_out(&facts, &err);
		assert_non_null(strstr(err.text, rows[i].there));
		assert_null(strstr(err.text, rows[i].not_there));
		/* Or the end of it would be cut. */
		assert_true(strlen(err.text) < LAUNCH_ERROR_MAX - 32);
	}
}

/* ---- what they tell each other ---- */

static const struct {
	const char *port, *peers, *cpus[4];
	int r;
	uint16_t agreed;
	const char *masks[2]; /* by local rank */
} words[] = {
	{"29500", "2-3", {NULL, NULL, "0 0-3", "1 4-7"}, 0, 29500, {"0-3", "4-7"}},
	{"0", "3,2", {NULL, NULL, "0 0-3", "1 4-7"}, 0, 0, {"0-3", "4-7"}},
	{"65535", "2,3", {NULL, NULL, "1 4", "0 "}, 0, 65535, {"", "4"}},
	/* Rank 0 has none. */
	{"", "2-3", {NULL, NULL, "0 0", "1 1"}, -EADDRINUSE},
	{"65536", "2-3", {NULL, NULL, "0 0", "1 1"}, -EADDRINUSE},
	{NULL, "2-3", {NULL, NULL, "0 0", "1 1"}, -EIO},
	/* What did not come, or is none of ours. */
	{"0", NULL, {NULL, NULL, "0 0", "1 1"}, -EIO},
	{"0", "2-3", {NULL, NULL, "0 0", NULL}, -EIO},
	{"0", "2-3", {NULL, NULL, "0 0", "2 1"}, -EIO},
	{"0", "2-3", {NULL, NULL, "0 0", "x"}, -EIO},
	{"0", "2-3", {NULL, NULL, "0 0", "1 9999"}, -EIO},
	{"0", "2-4", {NULL, NULL, "0 0", "1 1"}, -EIO},
	{"0", "3-2", {NULL, NULL, "0 0", "1 1"}, -EIO},
	{"0", "node1", {NULL, NULL, "0 0", "1 1"}, -EIO},
	{"0", "4294967294-4294967295", {NULL, NULL, "0 0", "1 1"}, -EIO},
};

static void words_are_understood(void **state)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct launch_facts facts = {
			.ntasks = 4, .rank = 2, .local_rank = 0, .local_size = 2};
		struct launch_cpuset masks[2] = {0};
		struct launch_error err = {""};
		char text[64];

		memset(&server, 0, sizeof(server));
		server.port = words[i].port;
		server.peers = words[i].peers;
		memcpy(server.cpus, words[i].cpus, sizeof(words[i].cpus));
		assert_int_equal(exec_agree(NULL, NULL, &facts, masks, 9, &err),
				 words[i].r);
		/* Rank 0 says why there is no port. */
		assert_int_equal(launch_error_is_set(&err), words[i].r == -EIO);
		assert_ptr_equal(strstr(server.put[EXEC_PMIX_NODE], "srank.cpus=0 "),
				 server.put[EXEC_PMIX_NODE]);
		/* Of the port rank 0 speaks alone. */
		assert_string_equal(server.put[EXEC_PMIX_ALL], "");
		if (words[i].r)
			continue;
		assert_int_equal(facts.agreed_port, words[i].agreed);
		for (int task = 0; task < 2; task++) {
			launch_cpuset_text(&masks[task], text, sizeof(text));
			assert_string_equal(text, words[i].masks[task]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_ranks_are_named),
		cmocka_unit_test(other_causes_are_told),
		cmocka_unit_test(words_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
