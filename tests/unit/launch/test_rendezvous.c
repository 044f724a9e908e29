/* SPDX-License-Identifier: MIT */
/* Where the ranks meet: address, node ranks and port. */
#include "spank/launch/rendezvous.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void test_address(void **state)
{
	static const struct {
		struct launch_facts facts;
		const char *list; /* settings */
		const char *addr; /* or the beginning of the error */
		int error;
	} rows[] = {
		{{.nnodes = 2, .nodelist = "n[3-4]"}, "", "n3", 0},
		{{.nnodes = 2, .nodelist = "n[3-4]"}, "suffix=i", "n3i", 0},
		{{.nnodes = 2, .nodelist = "n[3-4]"}, "domain=a.b", "n3.a.b", 0},
		{{.nnodes = 2, .nodelist = "n[3-4]"},
		 "suffix=i,domain=a.b",
		 "n3i.a.b",
		 0},
		{{.nnodes = 1, .nodelist = "n3.x.y"}, "suffix=-ib0", "n3-ib0.x.y", 0},
		{{.nnodes = 1, .nodelist = "n3.x.y"}, "domain=x.y", "n3.x.y", 0},
		{{.nnodes = 1, .nodelist = "n3.xx.y"}, "domain=x.y", "n3.xx.y.x.y", 0},
		/* A name of the step's list that a source corrected. */
		{{.nnodes = 2, .nodelist = "n[3-4]", .head = "n4"}, "", "n4", 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head = "n4"}, "suffix=i", "n4i", 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head = "10.0.0.4"},
		 "suffix=i,domain=a.b",
		 "10.0.0.4",
		 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head = "2001:db8::4"},
		 "suffix=i",
		 "2001:db8::4",
		 0},
		/* The user's own is taken as it is. */
		{{.nnodes = 2, .nodelist = "n[3-4]", .head = "n4", .user_addr = "login"},
		 "suffix=i,domain=a.b",
		 "login",
		 0},
		{{.nnodes = 2,
		  .nodelist = "n[3-4]",
		  .head_uncertain = true,
		  .user_addr = "n4"},
		 "",
		 "n4",
		 0},
		/* One node: nothing to be uncertain about. */
		{{.nnodes = 1, .nodelist = "n3", .head_uncertain = true}, "", "n3", 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head_uncertain = true},
		 "",
		 "the node of rank 0 is not known: the step has -m arbitrary",
		 -EINVAL},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head_uncertain = true, .het = true},
		 "",
		 "the node of rank 0 is not known: Slurm sorts",
		 -EINVAL},
		{{.nnodes = 1, .nodelist = "n[3"}, "", "n[3 is not a host list", -EINVAL},
		{{.nnodes = 1, .nodelist = NULL},
		 "",
		 "(null) is not a host list",
		 -EINVAL},
		{{.nnodes = 1, .nodelist = "n\"3"},
		 "",
		 "node name n\"3 is no host name",
		 -EINVAL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings;
		struct launch_error err = {0};
		char addr[LAUNCH_ADDR_MAX];
		const char *text;
		int r;

		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, rows[i].list, &err), 0);
		r = launch_address(&rows[i].facts, &settings, addr, sizeof(addr), &err);
		text = r ? err.text : addr;
		if (r != rows[i].error ||
		    strncmp(text, rows[i].addr, strlen(rows[i].addr)) != 0)
			fail_msg("row %zu: %s", i, text);
		if (!r)
			assert_string_equal(addr, rows[i].addr);
	}
}

static void test_address_length(void **state)
{
	struct launch_facts facts = {.nnodes = 1};
	struct launch_settings settings;
	struct launch_error err = {0};
	char addr[LAUNCH_ADDR_MAX];
	char name[LAUNCH_ADDR_MAX + 1] = "";

	launch_settings_init(&settings);
	memset(name, 'n', LAUNCH_ADDR_MAX - 1);
	facts.user_addr = name;
	assert_int_equal(launch_address(&facts, &settings, addr, sizeof(addr), &err), 0);
	name[LAUNCH_ADDR_MAX - 1] = 'n';
	assert_int_equal(launch_address(&facts, &settings, addr, sizeof(addr), &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "MASTER_ADDR="));

	err = (struct launch_error){0};
	name[LAUNCH_ADDR_MAX - 1] = '\0';
	facts.user_addr = NULL;
	facts.nodelist = name;
	assert_int_equal(launch_address(&facts, &settings, addr, sizeof(addr), &err), 0);
	assert_int_equal(launch_settings_parse(&settings, "suffix=i", &err), 0);
	assert_int_equal(launch_address(&facts, &settings, addr, sizeof(addr), &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "suffix="));
}

static void test_node_rank(void **state)
{
	/* -m arbitrary with rank 0 on n3: 0 there, and the two nodes before it move up.
	 */
	static const uint32_t moved[] = {1, 2, 0, 3};
	struct launch_facts facts = {.nnodes = 4,
				     .nodelist = "n[1-4]",
				     .layout = LAUNCH_LAYOUT_OTHER,
				     .head = "n3"};

	for (facts.node_rank = 0; facts.node_rank < 4; facts.node_rank++)
		assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER),
				 moved[facts.node_rank]);

	/* One task a node: the rank, whether rank 0's node is known or not. */
	facts.node_rank = 3;
	facts.rank = 1;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_NODE), 1);
	facts.head = NULL;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_NODE), 1);
	assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), 3);

	facts.layout = LAUNCH_LAYOUT_CYCLIC;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), 3);

	/* Components are numbered one after the other: node id 0 has rank 0. */
	facts.layout = LAUNCH_LAYOUT_OTHER;
	facts.het = true;
	facts.head = "n3";
	facts.node_rank = 0;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), 0);
}

static void test_endpoint(void **state)
{
	char endpoint[32];

	assert_true(launch_endpoint("n1", 20000, endpoint, sizeof(endpoint)));
	assert_string_equal(endpoint, "n1:20000");
	assert_true(launch_endpoint("2001:db8::1", 20000, endpoint, sizeof(endpoint)));
	assert_string_equal(endpoint, "[2001:db8::1]:20000");
	assert_true(launch_endpoint("[2001:db8::1]", 20000, endpoint, sizeof(endpoint)));
	assert_string_equal(endpoint, "[2001:db8::1]:20000");
	assert_true(launch_endpoint("n1", 20000, endpoint, 9));
	assert_false(launch_endpoint("n1", 20000, endpoint, 8));
}

static void test_reserved(void **state)
{
	static const struct {
		const char *text;
		uint32_t nth;
		int port; /* or the error */
	} rows[] = {
		{"41001-41003", 0, 41001},       {"41001-41003", 2, 41003},
		{"41001-41003", 3, -ERANGE},     {"41001", 0, 41001},
		{"41001,41005-41007", 0, 41001}, {"41001,41005-41007", 1, 41005},
		{"41001,41005-41007", 3, 41007}, {"41001,41005-41007", 4, -ERANGE},
		{"1-65535", 65534, 65535},       {"", 0, -EINVAL},
		{"(null)", 0, -EINVAL},          {"0", 0, -EINVAL},
		{"65536", 0, -EINVAL},           {"41003-41001", 0, -EINVAL},
		{"41001-", 0, -EINVAL},          {"41001,", 0, -EINVAL},
		{"41001;41002", 0, -EINVAL},     {"[41001-41002]", 0, -EINVAL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint16_t port = 0;
		int r = launch_port_reserved(rows[i].text, rows[i].nth, &port);

		assert_int_equal(r ? r : port, rows[i].port);
	}
}

static void test_port(void **state)
{
	static const struct {
		struct launch_facts facts;
		const char *list;
		int port; /* 0: an error that begins with TEXT */
		enum launch_port_source source;
		const char *text;
	} rows[] = {
		{{.user_port = "29500", .resv_ports = "41001"},
		 "port=7",
		 29500,
		 LAUNCH_PORT_USER,
		 NULL},
		{{.user_port = " 29500 "}, "", 29500, LAUNCH_PORT_USER, NULL},
		{{.user_port = "1"}, "", 1, LAUNCH_PORT_USER, NULL},
		{{.user_port = "65535"}, "", 65535, LAUNCH_PORT_USER, NULL},
		{{.resv_ports = "41001-41003"}, "port=7", 7, LAUNCH_PORT_KEY, NULL},
		{{.resv_ports = "41001-41003"},
		 "ports=20000-20001",
		 41001,
		 LAUNCH_PORT_RESERVED,
		 NULL},
		{{.job_id = 7}, "ports=25000-25000", 25000, LAUNCH_PORT_HASH, NULL},
		{{.user_port = "69420"},
		 "",
		 0,
		 LAUNCH_PORT_USER,
		 "MASTER_PORT=69420 is no port; set it to a number from 1 to 65535"},
		{{.user_port = "abc"},
		 "",
		 0,
		 LAUNCH_PORT_USER,
		 "MASTER_PORT=abc is no port"},
		{{.user_port = "0"}, "", 0, LAUNCH_PORT_USER, "MASTER_PORT=0 is no port"},
		{{.user_port = "-1"},
		 "",
		 0,
		 LAUNCH_PORT_USER,
		 "MASTER_PORT=-1 is no port"},
		{{.user_port = "29500.0"},
		 "",
		 0,
		 LAUNCH_PORT_USER,
		 "MASTER_PORT=29500.0 is no port"},
		{{.user_port = "29500 1"},
		 "",
		 0,
		 LAUNCH_PORT_USER,
		 "MASTER_PORT=29500 1 is no port"},
		{{.user_port = " "}, "", 0, LAUNCH_PORT_USER, "MASTER_PORT=  is no port"},
		{{.user_port = "4294996796"},
		 "",
		 0,
		 LAUNCH_PORT_USER,
		 "MASTER_PORT=4294996796 is no port"},
		{{.resv_ports = "x"},
		 "",
		 0,
		 LAUNCH_PORT_RESERVED,
		 "SLURM_STEP_RESV_PORTS=x is no list of ports"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings;
		struct launch_error err = {0};
		enum launch_port_source source;
		uint16_t port = 0;
		int r;

		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, rows[i].list, &err), 0);
		r = launch_port(&rows[i].facts, &settings, &port, &source, &err);
		assert_int_equal(source, rows[i].source);
		if (rows[i].port) {
			assert_int_equal(r, 0);
			assert_int_equal(port, rows[i].port);
		} else {
			assert_int_equal(r, -EINVAL);
			if (strncmp(err.text, rows[i].text, strlen(rows[i].text)) != 0)
				fail_msg("row %zu: %s", i, err.text);
		}
	}
}

/* In any range, and at its ends; the same step always gets the same port. */
static void test_hash_range(void **state)
{
	static const uint16_t ranges[][2] = {
		{20000, 29999}, {1, 65535},     {65535, 65535}, {30000, 30001},
		{30000, 30062}, {30000, 30063}, {30000, 30070},
	};

	for (size_t i = 0; i < COUNT(ranges); i++) {
		uint16_t low = ranges[i][0], high = ranges[i][1];

		for (uint32_t job = 0; job < 2000; job++) {
			uint16_t port =
				launch_port_hash(job, 0xfffffffb, job % 3, low, high);

			assert_in_range(port, low, high);
			assert_int_equal(port, launch_port_hash(job, 0xfffffffb, job % 3,
								low, high));
		}
	}
	assert_in_range(
		launch_port_hash(UINT32_MAX, UINT32_MAX, UINT32_MAX, 20000, 29999), 20000,
		29999);
}

/*
 * 100,000 consecutive jobs with 4 steps each into 10,000 ports: 40 in each on average.
 * With 9,999 degrees of freedom chi-square is below 10,442 in 99.9% of all random cases
 * (Wilson-Hilferty: 9999 (1 - 2/(9 x 9999) + 3.0902 sqrt(2/(9 x 9999)))^3).
 */
static void test_hash_spreads(void **state)
{
	static uint32_t hits[10000];
	const double expected = 40;
	double chi = 0;

	for (uint32_t job = 4000000; job < 4100000; job++) {
		for (uint32_t step = 0; step < 4; step++)
			hits[launch_port_hash(job, step, 0, 20000, 29999) - 20000]++;
	}
	for (size_t i = 0; i < COUNT(hits); i++)
		chi += (hits[i] - expected) * (hits[i] - expected) / expected;
	assert_true(chi < 10442);
	print_message("# chi-square %.0f of 10442\n", chi);
}

/* What is sure to run side by side never meets: this is exact, not likely. */
static void test_hash_neighbours(void **state)
{
	for (uint32_t job = 1; job <= 100000; job++) {
		for (uint32_t step = 0; step < 4; step++) {
			uint16_t port = launch_port_hash(job, step, 0, 20000, 29999);

			assert_int_not_equal(
				port, launch_port_hash(job + 1, step, 0, 20000, 29999));
			assert_int_not_equal(
				port, launch_port_hash(job, step + 1, 0, 20000, 29999));
			assert_int_not_equal(
				port, launch_port_hash(job, step, 1, 20000, 29999));
		}
	}
}

/*
 * Jobs whose ids are the length of the range apart get the same place in a block of 8
 * ports, and meet when they get the same of its 1,250 blocks, too: 80 in 100,000, give or
 * take.
 */
static void test_hash_modulus(void **state)
{
	uint32_t same = 0;

	for (uint32_t job = 1; job <= 100000; job++)
		same += launch_port_hash(job, 0, 0, 20000, 29999) ==
			launch_port_hash(job + 10000, 0, 0, 20000, 29999);
	assert_in_range(same, 40, 120);
}

static void test_source_names(void **state)
{
	assert_string_equal(launch_port_source_name(LAUNCH_PORT_USER), "as set");
	assert_string_equal(launch_port_source_name(LAUNCH_PORT_KEY), "port=");
	assert_string_equal(launch_port_source_name(LAUNCH_PORT_RESERVED),
			    "reserved by Slurm");
	assert_string_equal(launch_port_source_name(LAUNCH_PORT_HASH),
			    "hash of job, step and restart");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_address_length),
		cmocka_unit_test(test_node_rank),
		cmocka_unit_test(test_endpoint),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_hash_range),
		cmocka_unit_test(test_hash_spreads),
		cmocka_unit_test(test_hash_neighbours),
		cmocka_unit_test(test_hash_modulus),
		cmocka_unit_test(test_source_names),
	};

	return cmocka_run_group_tests_name("rendezvous", tests, NULL, NULL);
}
