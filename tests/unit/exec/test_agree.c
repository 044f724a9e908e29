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
	char put[2][128]; /* by scope, the last one */
	unsigned int slept;
	bool racy; /* of a Slurm before 23.02 */
	const char *places[8];
	bool same; /* what two addresses come to */
} server;

bool exec_source_is_same_host(const char *a, const char *b, uint32_t nnodes,
			      unsigned int seconds)
{
	return server.same;
}

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
	else if (strcmp(key, "srank.place") == 0 && rank < 8)
		value = server.places[rank];
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
	struct launch_settings settings;

	launch_settings_init(&settings);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct launch_facts facts = {
			.ntasks = 4, .rank = 2, .local_rank = 0, .local_size = 2};
		struct launch_task task = {.facts = &facts, .settings = &settings};
		struct launch_cpuset masks[2] = {0};
		struct launch_error err = {""};
		char text[64];

		memset(&server, 0, sizeof(server));
		server.port = words[i].port;
		server.peers = words[i].peers;
		memcpy(server.cpus, words[i].cpus, sizeof(words[i].cpus));
		assert_int_equal(exec_agree(NULL, &task, &facts, masks, 9, &err),
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
		for (int local_rank = 0; local_rank < 2; local_rank++) {
			launch_cpuset_text(&masks[local_rank], text, sizeof(text));
			assert_string_equal(text, words[i].masks[local_rank]);
		}
	}
}

/* Of rank 3, the second one on node2. */
static const struct {
	const char *first; /* of rank 0 */
	const char *addr, *port;
	uint16_t key; /* of port= */
	bool same;
	const char *twin; /* place of rank 2 */
	int r;
	const char *text; /* in the message; NULL: another rank says it */
} places[] = {
	/* What is found is nobody's own. */
	{"20007 20007 0 node1", NULL, NULL, 0, false, "", 0},
	{"0 23456 1 node1", "node1", "23456", 0, false, "", 0},
	{"0 23456 1 node1", "NODE1.example.org", "23456", 0, false, "", 0},
	{"0 23456 1 10.0.0.1", "node1", "23456", 0, true, "", 0},
	{"20007 20007 0 node1", "node1", NULL, 0, false, "", 0},
	{"20007 20007 1 node1", NULL, NULL, 0, false, "", 0},
	/* Where a resolver was asked, its answers may differ. */
	{"20007 20007 0 10.0.0.1", NULL, NULL, 0, false, "", 0},
	{"20007 20007 1 node1", "node2", NULL, 0, false, "20007 1 node1", -ENOTUNIQ,
	 "rank 3 on node2 has MASTER_ADDR=node2 and rank 0 has node1, "},
	{"20007 20007 0 node1", "node2", NULL, 0, false, "", -ENOTUNIQ,
	 "has MASTER_ADDR=node2 and rank 0 has node1, "},
	{"20007 20007 1 node3", NULL, NULL, 0, false, "", -ENOTUNIQ,
	 "has MASTER_ADDR=node1 and rank 0 has node3, "},
	{"20007 20007 1 node1.a.org", "node1.b.org", NULL, 0, false, "", -ENOTUNIQ,
	 "has MASTER_ADDR=node1.b.org and rank 0 has node1.a.org, "},
	{"0 23456 0 node1", NULL, "23457", 0, false, "", -ENOTUNIQ,
	 "rank 3 on node2 has MASTER_PORT=23457 and rank 0 has 23456, "},
	{"0 23456 0 node1", NULL, NULL, 23457, false, "", -ENOTUNIQ,
	 "has MASTER_PORT=23457 and rank 0 has 23456, "},
	{"20007 20007 0 node1", NULL, "23457", 0, false, "", -ENOTUNIQ,
	 "has MASTER_PORT=23457 and rank 0 has 20007, "},
	/* Rank 2 has said it. */
	{"0 23456 0 node1", NULL, "23457", 0, false, "23457 0 node1", -ENOTUNIQ, NULL},
	{"0 23456 1 node1", "node2", "23456", 0, false, "23456 1 node2", -ENOTUNIQ, NULL},
	/* Rank 0 has a fault of its own to tell, or needs no place. */
	{"0 ", "node2", NULL, 0, false, "", 0},
};

static void places_are_compared(void **state)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct launch_facts facts = {.ntasks = 4,
					     .nnodes = 2,
					     .rank = 3,
					     .local_rank = 1,
					     .local_size = 2,
					     .node = (char *)"node2",
					     .nodelist = (char *)"node[1-2]"};
		struct launch_settings settings;
		struct launch_task task = {.facts = &facts, .settings = &settings};
		struct launch_cpuset masks[2] = {0};
		struct launch_error err = {""};

		launch_settings_init(&settings);
		settings.port = places[i].key;
		facts.user_addr = (char *)places[i].addr;
		facts.user_port = (char *)places[i].port;
		memset(&server, 0, sizeof(server));
		server.port = places[i].first;
		server.same = places[i].same;
		server.peers = "2-3";
		server.cpus[2] = "0 0";
		server.cpus[3] = "1 1";
		server.places[2] = places[i].twin;
		server.places[3] = "";
		assert_int_equal(exec_agree(NULL, &task, &facts, masks, 9, &err),
				 places[i].r);
		if (places[i].r && places[i].text)
			assert_non_null(strstr(err.text, places[i].text));
		else
			assert_string_equal(err.text, "");
		assert_int_equal(server.slept, places[i].r && !places[i].text ? 3 : 0);
	}
}

/* Rank 0 on node1 tells all of them where it is. */
static void first_rank_tells_its_place(void **state)
{
	struct launch_facts facts = {.ntasks = 2,
				     .nnodes = 2,
				     .local_size = 1,
				     .node = (char *)"node1",
				     .user_addr = (char *)"gateway",
				     .user_port = (char *)"23456"};
	struct launch_settings settings;
	struct launch_task task = {.facts = &facts, .settings = &settings};
	struct launch_cpuset mask = {0};
	struct launch_error err = {""};

	launch_settings_init(&settings);
	memset(&server, 0, sizeof(server));
	server.port = "0 23456 1 gateway";
	server.peers = "0";
	server.cpus[0] = "0 0";
	assert_int_equal(exec_agree(NULL, &task, &facts, &mask, 9, &err), 0);
	assert_string_equal(server.put[EXEC_PMIX_ALL], "srank.port=0 23456 1 gateway");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_ranks_are_named),
		cmocka_unit_test(other_causes_are_told),
		cmocka_unit_test(words_are_understood),
		cmocka_unit_test(places_are_compared),
		cmocka_unit_test(first_rank_tells_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
