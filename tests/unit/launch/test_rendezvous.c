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
		/* What the source found out. */
		{{.nnodes = 2, .nodelist = "n[3-4]", .head_addr = "10.0.0.3"},
		 "addr=ip,suffix=i,domain=a.b",
		 "10.0.0.3",
		 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head_addr = "2001:db8::3"},
		 "addr=ip",
		 "2001:db8::3",
		 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head_addr = "ib-n3.x"},
		 "addr=nodeaddr,suffix=i,domain=a.b",
		 "ib-n3.x",
		 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head_addr = "10.0.0.3"},
		 "",
		 "n3",
		 0},
		{{.nnodes = 2, .nodelist = "n[3-4]"},
		 "addr=ip",
		 "addr=ip: the address of n3 was not found out; use addr=name, or set "
		 "MASTER_ADDR",
		 -EINVAL},
		{{.nnodes = 2, .nodelist = "n[3-4]"},
		 "addr=nodeaddr",
		 "addr=nodeaddr: the address of n3 was not found out",
		 -EINVAL},
		{{.nnodes = 2,
		  .nodelist = "n[3-4]",
		  .head_addr = "10.0.0.3",
		  .user_addr = "x"},
		 "addr=ip",
		 "x",
		 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head_addr = "127.0.0.1"},
		 "addr=nodeaddr",
		 "127.0.0.1, the address of rank 0's node n3, is each node itself; "
		 "correct",
		 -EINVAL},
		{{.nnodes = 1, .nodelist = "n3", .head_addr = "127.0.0.1"},
		 "addr=nodeaddr",
		 "127.0.0.1",
		 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head_addr = "a b"},
		 "addr=nodeaddr",
		 "node name a b is no host name",
		 -EINVAL},
		/*
		 * A machine's name for itself, in a step with others and in one without.
		 */
		{{.nnodes = 2, .nodelist = "localhost,n4"},
		 "",
		 "localhost, the address of rank 0's node localhost, is each node itself",
		 -EINVAL},
		{{.nnodes = 1, .nodelist = "localhost"}, "", "localhost", 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .user_addr = "localhost"},
		 "",
		 "MASTER_ADDR=localhost is each node itself, so that of the step's nodes "
		 "only "
		 "rank 0's would find it; unset MASTER_ADDR",
		 -EINVAL},
		{{.nnodes = 2, .nodelist = "n[3-4]", .user_addr = "127.0.0.1"},
		 "",
		 "MASTER_ADDR=127.0.0.1 is each node itself",
		 -EINVAL},
		{{.nnodes = 2, .nodelist = "n[3-4]", .user_addr = "[::1]"},
		 "",
		 "MASTER_ADDR=[::1] is each node itself",
		 -EINVAL},
		{{.nnodes = 1, .nodelist = "n3", .user_addr = "127.0.0.1"},
		 "",
		 "127.0.0.1",
		 0},
		/* Two components on one machine are two nodes of the step. */
		{{.nnodes = 2, .nodelist = "n3", .het = true, .user_addr = "localhost"},
		 "",
		 "localhost",
		 0},
		{{.nnodes = 2,
		  .nodelist = "n[3-4]",
		  .het = true,
		  .user_addr = "localhost"},
		 "",
		 "MASTER_ADDR=localhost is each node itself",
		 -EINVAL},
		/* Brackets are for endpoints. */
		{{.nnodes = 2, .nodelist = "n[3-4]", .user_addr = "[2001:db8::4]"},
		 "",
		 "2001:db8::4",
		 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .user_addr = "[fe80::4%ib0]"},
		 "",
		 "fe80::4%ib0",
		 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .user_addr = "[n4]"}, "", "[n4]", 0},
		{{.nnodes = 2, .nodelist = "n[3-4]", .user_addr = "["}, "", "[", 0},
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
	/*
	 * -m arbitrary with rank 0 on n3: 0 there, and the two nodes before it move up.
	 */
	static const uint32_t moved[] = {1, 2, 0, 3};
	struct launch_facts facts = {.nnodes = 4,
				     .nodelist = "n[1-4]",
				     .layout = LAUNCH_LAYOUT_OTHER,
				     .head = "n3",
				     .head_id = 2};

	for (facts.node_rank = 0; facts.node_rank < 4; facts.node_rank++)
		assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER),
				 moved[facts.node_rank]);

	/* One task a node: the rank, whether rank 0's node is known or not. */
	facts.node_rank = 3;
	facts.rank = 1;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_NODE), 1);
	facts.head = NULL;
	facts.head_id = 0;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_NODE), 1);
	assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), 3);

	facts.layout = LAUNCH_LAYOUT_CYCLIC;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), 3);

	/* Components are numbered one after the other: node id 0 has rank 0 ... */
	facts.layout = LAUNCH_LAYOUT_OTHER;
	facts.het = true;
	facts.head = "n3";
	facts.node_rank = 0;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), 0);
	/* ... unless the first has an arbitrary distribution itself. */
	facts.head_id = 1;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), 1);
	facts.node_rank = 1;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), 0);
	facts.node_rank = 2;
	assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER), 2);

	/* The whole layout is known: n3 n3 n1 n3 n2 n1. */
	facts = (struct launch_facts){.nnodes = 3,
				      .nodelist = "n[1-3]",
				      .layout = LAUNCH_LAYOUT_OTHER,
				      .order = "n[3,1-2]",
				      .placement = "0(x2),1,0,2,1"};
	for (facts.rank = 0; facts.rank < 6; facts.rank++)
		assert_int_equal(launch_node_rank(&facts, LAUNCH_WORKER),
				 ((uint32_t[]){0, 0, 1, 0, 2, 1})[facts.rank]);
}

/* What a machine calls itself, and what only looks like it. */
static void test_loopback(void **state)
{
	static const struct {
		const char *addr;
		bool loopback;
	} rows[] = {
		{"127.0.0.1", true},
		{"127.0.1.1", true},
		{"127.255.255.255", true},
		{"127.1", true},
		{"0x7f000001", true},
		{"2130706433", true},
		{"0.0.0.0", true},
		{"0", true},
		{"::1", true},
		{"0:0:0:0:0:0:0:1", true},
		{"::", true},
		{"::ffff:127.0.0.1", true},
		{"::1%lo", true},
		{"localhost", true},
		{"LocalHost", true},
		{"localhost.localdomain", true},
		{"localhost4", true},
		{"localhost6.localdomain6", true},
		{"ip6-localhost", true},
		{"ip6-loopback", true},
		{"node.localhost", true},
		{"localhost.", true},
		{"10.0.0.1", false},
		{"128.0.0.1", false},
		{"126.255.255.255", false},
		{"169.254.1.1", false},
		{"2001:db8::1", false},
		{"::2", false},
		{"fe80::1%eth0", false},
		{"::ffff:10.0.0.1", false},
		{"n1", false},
		{"localhost1", false},
		{"localhosts", false},
		{"mylocalhost", false},
		{"local", false},
		{"127.0.0.1.example.org", false},
		{"", false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (launch_address_is_loopback(rows[i].addr) != rows[i].loopback)
			fail_msg("\"%s\" is %sloopback", rows[i].addr,
				 rows[i].loopback ? "not " : "");
	}
}

/* The resolver's order, without what other nodes cannot reach. */
static void test_choose(void **state)
{
	static const struct {
		uint32_t nnodes;
		const char *found[6];
		const char *addr; /* NULL: an error that begins with TEXT */
		const char *text;
	} rows[] = {
		{2, {"10.0.0.5"}, "10.0.0.5", NULL},
		{2, {"10.0.0.5", "10.0.1.5"}, "10.0.0.5", NULL},
		{2, {"2001:db8::5", "10.0.0.5"}, "2001:db8::5", NULL},
		/* Debian's own entry for the host's name, and what others put beside. */
		{2, {"127.0.1.1", "10.0.0.5"}, "10.0.0.5", NULL},
		{2, {"::1", "127.0.0.1", "10.0.0.5"}, "10.0.0.5", NULL},
		{2, {"169.254.3.4", "10.0.0.5"}, "10.0.0.5", NULL},
		{2, {"fe80::1%eth0", "fe80::2", "2001:db8::5"}, "2001:db8::5", NULL},
		{2,
		 {"0.0.0.0", "::", "224.0.0.1", "ff02::1", "10.0.0.5"},
		 "10.0.0.5",
		 NULL},
		{2, {"255.255.255.255", "node5", "10.0.0.5"}, "10.0.0.5", NULL},
		{2, {"::ffff:10.0.0.5"}, "10.0.0.5", NULL},
		{2, {"::ffff:127.0.0.1", "10.0.0.5"}, "10.0.0.5", NULL},
		/* Private, shared and unique local addresses are for just this. */
		{2, {"192.168.1.5"}, "192.168.1.5", NULL},
		{2, {"100.64.0.5"}, "100.64.0.5", NULL},
		{2, {"fd00::5"}, "fd00::5", NULL},
		/* Nobody else is to reach it. */
		{1, {"127.0.1.1", "10.0.0.5"}, "127.0.1.1", NULL},
		{1, {"::1"}, "::1", NULL},
		{1, {"::ffff:127.0.0.1"}, "127.0.0.1", NULL},
		{1, {"fe80::1", "169.254.3.4", "127.0.0.1"}, "127.0.0.1", NULL},
		{2,
		 {"127.0.1.1"},
		 NULL,
		 "node5 has no address at which other nodes reach it, but 127.0.1.1 "
		 "(loopback); correct its entry in /etc/hosts or DNS, use addr=name, or "
		 "set "
		 "MASTER_ADDR"},
		{2,
		 {"::1", "fe80::1", "169.254.3.4", "::", "ff02::1"},
		 NULL,
		 "node5 has no address at which other nodes reach it, but ::1 "
		 "(loopback), "
		 "fe80::1 (link-local), 169.254.3.4 (link-local), :: (unspecified), "
		 "ff02::1 "
		 "(multicast);"},
		{1,
		 {"fe80::1"},
		 NULL,
		 "node5 has no address at which other nodes reach it, but fe80::1 "
		 "(link-local);"},
		{2,
		 {"10.0.0.5.6"},
		 NULL,
		 "node5 has no address at which other nodes reach it, but 10.0.0.5.6 "
		 "(not an "
		 "address);"},
		{2,
		 {NULL},
		 NULL,
		 "node5 has no address at which other nodes reach it, but none at all;"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_error err = {0};
		char addr[LAUNCH_ADDR_MAX];
		size_t count = 0;
		int r;

		while (rows[i].found[count])
			count++;
		r = launch_address_choose("node5", rows[i].nnodes, rows[i].found, count,
					  addr, sizeof(addr), &err);
		if (r != (rows[i].addr ? 0 : -EINVAL))
			fail_msg("row %zu: %d %s", i, r, err.text);
		if (rows[i].addr)
			assert_string_equal(addr, rows[i].addr);
		else if (strncmp(err.text, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("row %zu: %s", i, err.text);
	}
}

/* However many there are, the message is of some length. */
static void test_choose_many(void **state)
{
	const char *found[1000];
	struct launch_error err = {0};
	char addr[LAUNCH_ADDR_MAX];

	for (size_t i = 0; i < COUNT(found); i++)
		found[i] = "fe80:1234:1234:1234:1234:1234:1234:1234%interface";
	assert_int_equal(launch_address_choose("node5", 2, found, COUNT(found), addr,
					       sizeof(addr), &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "(link-local), fe80"));
	assert_non_null(strstr(err.text, "(link-local); correct its entry"));
	found[COUNT(found) - 1] = "10.0.0.5";
	assert_int_equal(launch_address_choose("node5", 2, found, COUNT(found), addr,
					       sizeof(addr), &err),
			 0);
	/* Where it does not fit, it is not cut. */
	err = (struct launch_error){0};
	assert_int_equal(
		launch_address_choose("node5", 2, found, COUNT(found), addr, 8, &err),
		-EINVAL);
}

/* What a source is asked for, and what becomes of its answer. */
static void test_queries(void **state)
{
	static const struct {
		struct launch_facts facts;
		const char *list, *head, *node; /* NULL: nothing to ask */
	} rows[] = {
		{{.nnodes = 2, .nodelist = "n[3-4]", .node = "n4"}, "", NULL, NULL},
		{{.nnodes = 2, .nodelist = "n[3-4]", .node = "n4"},
		 "addr=ip,suffix=i,domain=a.b",
		 "n3i.a.b",
		 NULL},
		{{.nnodes = 2, .nodelist = "n[3-4]", .node = "n4"},
		 "addr=nodeaddr,suffix=i,domain=a.b",
		 "n3",
		 NULL},
		{{.nnodes = 2, .nodelist = "n[3-4]", .node = "n4"},
		 "torchrun,elastic=1:2,addr=ip,suffix=i",
		 "n3i",
		 "n4i"},
		{{.nnodes = 2, .nodelist = "n[3-4]", .node = "n4"},
		 "torchrun,elastic=1:2,addr=nodeaddr,suffix=i",
		 "n3",
		 "n4"},
		{{.nnodes = 2, .nodelist = "n[3-4]", .node = "n4"},
		 "torchrun,elastic=1:2",
		 NULL,
		 NULL},
		{{.nnodes = 2, .nodelist = "n[3-4]"},
		 "torchrun,elastic=1:2,addr=ip",
		 "n3",
		 NULL},
		{{.nnodes = 2, .nodelist = "n[3-4]", .head = "n4"},
		 "addr=ip",
		 "n4",
		 NULL},
		/* The user has said it, or nobody reads it. */
		{{.nnodes = 2, .nodelist = "n[3-4]", .user_addr = "x"},
		 "addr=ip",
		 NULL,
		 NULL},
		{{.nnodes = 2, .nodelist = "n[3-4]"}, "mpi,addr=ip", NULL, NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings;
		struct launch_error err = {0};
		char name[LAUNCH_ADDR_MAX];
		int r;

		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, rows[i].list, &err), 0);
		r = launch_head_query(&rows[i].facts, &settings, name, sizeof(name),
				      &err);
		assert_int_equal(r, rows[i].head != NULL);
		if (r)
			assert_string_equal(name, rows[i].head);
		r = launch_node_query(&rows[i].facts, &settings, name, sizeof(name),
				      &err);
		assert_int_equal(r, rows[i].node != NULL);
		if (r)
			assert_string_equal(name, rows[i].node);
	}
}

static void test_query_faults(void **state)
{
	struct launch_facts facts = {
		.nnodes = 2, .nodelist = "n[3-4]", .head_uncertain = true};
	struct launch_settings settings;
	struct launch_error err = {0};
	char name[LAUNCH_ADDR_MAX];

	launch_settings_init(&settings);
	assert_int_equal(launch_settings_parse(&settings, "addr=ip", &err), 0);
	assert_int_equal(launch_head_query(&facts, &settings, name, sizeof(name), &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "the node of rank 0 is not known"));
	facts.head_uncertain = false;
	err = (struct launch_error){0};
	assert_int_equal(launch_head_query(&facts, &settings, name, 2, &err), -EINVAL);
	assert_non_null(strstr(err.text, "longer than a host name can be"));
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

/* Every task of a node has a port of its own, and the first one MASTER_PORT. */
static void test_worker_ports(void **state)
{
	static const struct {
		struct launch_facts facts;
		const char *list;
		int ports[5]; /* of local ranks 0 to 4, or the error */
	} rows[] = {
		{{.user_port = "29500"}, "", {29500, 29501, 29502, 29503, 29504}},
		{{.resv_ports = "41001"},
		 "port=65533",
		 {65533, 65534, 65535, -ERANGE, -ERANGE}},
		{{.resv_ports = "41001-41005"}, "", {41001, 41002, 41003, 41004, 41005}},
		{{.resv_ports = "41005,41001-41004"},
		 "",
		 {41005, 41001, 41002, 41003, 41004}},
		/* Behind the reserved ones, those of the range that are not reserved;
		 * where it begins is for the hash to say. */
		{{.resv_ports = "41001"},
		 "ports=20000-20000",
		 {41001, 20000, -ERANGE, -ERANGE, -ERANGE}},
		{{.resv_ports = "20000,20002"},
		 "ports=20000-20001",
		 {20000, 20002, 20001, -ERANGE, -ERANGE}},
		{{.resv_ports = "65535"},
		 "ports=65534-65535",
		 {65535, 65534, -ERANGE, -ERANGE, -ERANGE}},
		{{.resv_ports = "41001-"},
		 "",
		 {-EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL}},
	};
	struct launch_settings settings;
	struct launch_error err = {""};

	for (size_t i = 0; i < COUNT(rows); i++) {
		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, rows[i].list, &err), 0);
		for (uint32_t j = 0; j < 5; j++) {
			uint16_t port = 0;
			int r = launch_port_worker(&rows[i].facts, &settings, j, &port);

			if ((r ? r : port) != rows[i].ports[j])
				fail_msg("row %zu, local rank %u: %d", i, j,
					 r ? r : port);
		}
	}

	/* Of 4,096 tasks none has another's port, wherever the hash begins. */
	for (uint32_t job = 1; job < 50; job++) {
		const struct launch_facts facts = {
			.job_id = job, .resv_ports = "20000,20007,20100-20199,29999"};
		static bool seen[UINT16_MAX + 1];

		memset(seen, 0, sizeof(seen));
		launch_settings_init(&settings);
		for (uint32_t j = 0; j < 4096; j++) {
			uint16_t port = 0;

			assert_int_equal(launch_port_worker(&facts, &settings, j, &port),
					 0);
			assert_false(seen[port]);
			seen[port] = true;
			assert_true(port >= 20000 && port <= 29999);
		}
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

/* The port of a step that nobody has given one. */
static uint16_t hashed(uint32_t job, uint32_t step, uint32_t restart, uint16_t low,
		       uint16_t high)
{
	const struct launch_facts facts = {
		.job_id = job, .step_id = step, .restart_count = restart};
	struct launch_settings settings;
	struct launch_error err = {0};
	enum launch_port_source source;
	uint16_t port;

	launch_settings_init(&settings);
	settings.port_low = low;
	settings.port_high = high;
	assert_int_equal(launch_port(&facts, &settings, &port, &source, &err), 0);
	assert_int_equal(source, LAUNCH_PORT_HASH);
	return port;
}

/* In any range, and at its ends; the same step always gets the same port. */
/* The first is the port of launch_port(); then every other one that there is, once. */
static void test_candidates(void **state)
{
	static const struct {
		struct launch_facts facts;
		const char *list;
		uint32_t count;
		uint16_t ports[8]; /* 0: any of 25000-25003 that did not come before */
	} rows[] = {
		{{.user_port = "29500"}, "", 1, {29500}},
		{{.resv_ports = "41001-41002"}, "port=7", 1, {7}},
		{{.agreed_port = 25001}, "ports=25000-25003", 1, {25001}},
		{{.job_id = 7}, "ports=25000-25000", 1, {25000}},
		{{.job_id = 7}, "ports=25000-25003", 4, {0}},
		{{.job_id = 8, .step_id = 3}, "ports=25000-25003", 4, {0}},
		{{.resv_ports = "41001-41002,41007"},
		 "ports=25000-25003",
		 7,
		 {41001, 41002, 41007}},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings;
		struct launch_error err = {0};
		enum launch_port_source source;
		bool seen[4] = {0};
		uint16_t port, first;

		launch_settings_init(&settings);
		assert_int_equal(launch_settings_parse(&settings, rows[i].list, &err), 0);
		assert_int_equal(
			launch_port(&rows[i].facts, &settings, &first, &source, &err), 0);
		for (uint32_t nth = 0; nth < rows[i].count; nth++) {
			assert_int_equal(launch_port_candidate(&rows[i].facts, &settings,
							       nth, &port, &source, &err),
					 0);
			if (nth == 0)
				assert_int_equal(port, first);
			if (rows[i].ports[nth]) {
				assert_int_equal(port, rows[i].ports[nth]);
				continue;
			}
			assert_in_range(port, 25000, 25003);
			assert_false(seen[port - 25000]);
			seen[port - 25000] = true;
			assert_int_equal(source, LAUNCH_PORT_HASH);
		}
		assert_int_equal(launch_port_candidate(&rows[i].facts, &settings,
						       rows[i].count, &port, &source,
						       &err),
				 -ERANGE);
	}
}

static void test_hash_range(void **state)
{
	static const uint16_t ranges[][2] = {
		{20000, 29999}, {1, 65535},     {65535, 65535}, {30000, 30001},
		{30000, 30062}, {30000, 30063}, {30000, 30070},
	};

	for (size_t i = 0; i < COUNT(ranges); i++) {
		uint16_t low = ranges[i][0], high = ranges[i][1];

		for (uint32_t job = 0; job < 2000; job++) {
			uint16_t port = hashed(job, 0xfffffffb, job % 3, low, high);

			assert_in_range(port, low, high);
			assert_int_equal(port,
					 hashed(job, 0xfffffffb, job % 3, low, high));
		}
	}
	assert_in_range(hashed(UINT32_MAX, UINT32_MAX, UINT32_MAX, 20000, 29999), 20000,
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
			hits[hashed(job, step, 0, 20000, 29999) - 20000]++;
	}
	for (size_t i = 0; i < COUNT(hits); i++)
		chi += (hits[i] - expected) * (hits[i] - expected) / expected;
	assert_true(chi < 10442);
	print_message("# chi-square %.0f of 10442\n", chi);
}

/*
 * As many consecutive steps of a job as there are ports, or 7 fewer, the batch step (-5)
 * and the interactive one (-6) among them, have a port each.
 */
static void test_hash_steps(void **state)
{
	static const struct {
		uint16_t low, high;
		uint32_t distinct;
	} rows[] = {
		{20000, 29999, 10000}, {1, 65535, 65528},  {30000, 30063, 64},
		{30000, 30070, 64},    {30000, 30071, 72}, {30000, 30062, 63},
		{30000, 30001, 2},     {65535, 65535, 1},
	};
	static const uint32_t jobs[] = {1, 4711, 4712, 67043328, UINT32_MAX};

	for (size_t i = 0; i < COUNT(rows) * COUNT(jobs); i++) {
		uint16_t low = rows[i / COUNT(jobs)].low;
		uint16_t high = rows[i / COUNT(jobs)].high;
		static bool taken[65536];

		memset(taken, 0, sizeof(taken));
		for (uint32_t n = 0; n < rows[i / COUNT(jobs)].distinct; n++) {
			uint16_t port =
				hashed(jobs[i % COUNT(jobs)], n - 6, 0, low, high);

			if (taken[port])
				fail_msg("row %zu: step %u meets another at %u", i, n - 6,
					 port);
			taken[port] = true;
		}
	}
}

/* What is sure to run side by side never meets: this is exact, not likely. */
static void test_hash_neighbours(void **state)
{
	/* Steps of either, the batch step among them. */
	static const uint32_t steps[] = {0xfffffffb, 0, 1, 2, 3, 7, 998, 1243};
	/* The tasks of an array are jobs, whose ids follow one another. */
	static const struct {
		uint32_t job, restart;
	} others[] = {
		{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, /* jobs on */
		{0, 1}, {0, 2}, {0, 7},                                 /* its requeues */
	};

	for (uint32_t job = 1; job <= 67000000; job += 33499) {
		for (size_t i = 0; i < COUNT(steps) * COUNT(steps) * COUNT(others); i++) {
			uint32_t step = steps[i % COUNT(steps)];
			uint32_t other = steps[i / COUNT(steps) % COUNT(steps)];
			size_t row = i / COUNT(steps) / COUNT(steps);

			assert_int_not_equal(hashed(job, step, 0, 20000, 29999),
					     hashed(job + others[row].job, other,
						    others[row].restart, 20000, 29999));
		}
	}
	for (uint32_t job = 1; job <= 100000; job++) {
		uint16_t port = hashed(job, 0, 0, 20000, 29999);

		assert_int_not_equal(port, hashed(job + 1, 0, 0, 20000, 29999));
		assert_int_not_equal(port, hashed(job, 1, 0, 20000, 29999));
		assert_int_not_equal(port, hashed(job, 0, 1, 20000, 29999));
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
		same += hashed(job, 0, 0, 20000, 29999) ==
			hashed(job + 10000, 0, 0, 20000, 29999);
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
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_choose_many),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_query_faults),
		cmocka_unit_test(test_endpoint),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_worker_ports),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_candidates),
		cmocka_unit_test(test_hash_range),
		cmocka_unit_test(test_hash_spreads),
		cmocka_unit_test(test_hash_steps),
		cmocka_unit_test(test_hash_neighbours),
		cmocka_unit_test(test_hash_modulus),
		cmocka_unit_test(test_source_names),
	};

	return cmocka_run_group_tests_name("rendezvous", tests, NULL, NULL);
}
