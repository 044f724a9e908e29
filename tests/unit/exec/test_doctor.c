/* SPDX-License-Identifier: MIT */
/*
 * The parts of `srank doctor` that take what others send: records, connections; and what
 * it makes of lists of interfaces.
 */
#include "spank/exec/names.h"
#include "spank/exec/reach.h"
#include "spank/exec/record.h"
#include "spank/exec/server.h"
#include "spank/exec/wire.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- records ---- */

static void records_come_back(void **state)
{
	struct exec_record record;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int64_t number;

	exec_record_put(out, "name", "%s", "two\nlines, a \\ and = signs");
	exec_record_put(out, "number", "%d", -7);
	exec_record_put(out, "empty", "%s", "");
	assert_int_equal(fclose(out), 0);
	assert_int_equal(exec_record_read(&record, text), 0);
	assert_string_equal(exec_record_get(&record, "name"),
			    "two\nlines, a \\ and = signs");
	assert_true(exec_record_number(&record, "number", &number));
	assert_int_equal(number, -7);
	assert_string_equal(exec_record_get(&record, "empty"), "");
	assert_false(exec_record_number(&record, "empty", &number));
	assert_false(exec_record_number(&record, "name", &number));
	assert_null(exec_record_get(&record, "none"));
	assert_string_equal(exec_record_text(&record, "none"), "");
	exec_record_clear(&record);
	free(text);
}

/*
 * As long as an environment may bring them, so many that they are no record together:
 * none keeps the others from being read, and an escape is whole or not there.
 */
static void long_values_are_cut(void **state)
{
	struct exec_record record;
	char *text = NULL, *value = malloc(131072);
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char key[8];

	assert_non_null(value);
	memset(value, 'x', 131071);
	value[131071] = '\0';
	/* The last byte that fits is the first one of an escape. */
	value[EXEC_RECORD_VALUE_MAX - 1] = '\n';
	for (int i = 0; i < 7; i++) {
		snprintf(key, sizeof(key), "list%d", i);
		exec_record_put(out, key, "%s", value);
	}
	value[EXEC_RECORD_VALUE_MAX - 1] = '\0';
	exec_record_put(out, "rank", "%d", 3);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(exec_record_read(&record, text), 0);
	assert_int_equal(record.count, 8);
	assert_string_equal(exec_record_get(&record, "rank"), "3");
	memcpy(value + EXEC_RECORD_VALUE_MAX - 1, "...", 4);
	for (int i = 0; i < 7; i++)
		assert_string_equal(record.entry[i].value, value);
	exec_record_clear(&record);
	free(text);
	free(value);
	/* And one that just fits. */
	out = open_memstream(&text, &size);
	exec_record_put(out, "list", "%*s", EXEC_RECORD_VALUE_MAX, "y");
	assert_int_equal(fclose(out), 0);
	assert_int_equal(exec_record_read(&record, text), 0);
	assert_int_equal(strlen(record.entry[0].value), EXEC_RECORD_VALUE_MAX);
	assert_string_equal(record.entry[0].value + EXEC_RECORD_VALUE_MAX - 1, "y");
	exec_record_clear(&record);
	free(text);
}

/* Nothing that could move a terminal's cursor, or be taken for a line of ours. */
static void records_are_made_harmless(void **state)
{
	struct exec_record record;
	char *large = calloc(EXEC_RECORD_MAX + 1, 1);

	assert_int_equal(exec_record_read(&record, "a=\x1b[2J\xff\nno line\n=b\n\nc=\\n\\"
						   "x\\\nd=99999999999999999999\n"),
			 0);
	assert_int_equal(record.count, 3);
	assert_string_equal(exec_record_get(&record, "a"), "?[2J?");
	assert_string_equal(exec_record_get(&record, "c"), "\n\\x\\");
	assert_false(exec_record_number(&record, "d", &(int64_t){0}));
	exec_record_clear(&record);
	memset(large, 'x', EXEC_RECORD_MAX);
	assert_int_equal(exec_record_read(&record, large), -E2BIG);
	exec_record_clear(&record);
	/* More entries than there are: the first ones count. */
	for (int i = 0; i < 2 * EXEC_RECORD_ENTRIES; i++)
		sprintf(large + 4 * i, "k=%d\n", i % 10);
	assert_int_equal(exec_record_read(&record, large), 0);
	assert_int_equal(record.count, EXEC_RECORD_ENTRIES);
	exec_record_clear(&record);
	free(large);
}

/* ---- interfaces ---- */

static const struct {
	const char *list, *name;
	bool taken;
} lists[] = {
	{"eth0", "eth0", true},        {"eth", "eth0", true},
	{"=eth", "eth0", false},       {"=eth0", "eth0", true},
	{"ib,eth", "eth1", true},      {"ib0,eth1", "eth1", true},
	{"^eth", "eth0", false},       {"^eth", "ib0", true},
	{"^=eth", "eth0", true},       {"^=eth0", "eth0", false},
	{"^docker0", "lo", true},      {"bond0", "bond0.2093", true},
	{"=ib0,ib1", "ib1", true},     {"=bond0", "bond0.2093", false},
	{"", "eth0", false},           {",,", "eth0", false},
	{"eth00", "eth0", false},      {"mlx5_0:1,mlx5_2:1", "mlx5_2", true},
	{"=mlx5_1:1", "mlx5_1", true}, {"=mlx5_1:1", "mlx5_10", false},
};

static void lists_take_interfaces(void **state)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		assert_int_equal(exec_nccl_takes(lists[i].list, lists[i].name),
				 lists[i].taken);
}

/* In this order, of which the second leads to rank 0. */
static const char *const names[] = {"lo", "eth0", "ib0", "ib1"};

enum { LO, ETH0, IB0, IB1 };

static const struct {
	const char *list;
	enum exec_choice_state nccl, gloo;
	int nccl_interface, gloo_interface;
	const char *missing; /* what Gloo does not find */
} choices[] = {
	{NULL, EXEC_CHOICE_UNSET, EXEC_CHOICE_UNSET, -1, -1, ""},
	{"", EXEC_CHOICE_UNSET, EXEC_CHOICE_UNSET, -1, -1, ""},
	{"e", EXEC_CHOICE_UNSET, EXEC_CHOICE_UNSET, -1, -1, ""},
	{"eth0", EXEC_CHOICE_FINE, EXEC_CHOICE_FINE, ETH0, ETH0, ""},
	{"ib0", EXEC_CHOICE_OTHER, EXEC_CHOICE_OTHER, IB0, IB0, ""},
	{"ib", EXEC_CHOICE_OTHER, EXEC_CHOICE_MISSING, IB0, -1, "ib"},
	{"lo", EXEC_CHOICE_LOOPBACK, EXEC_CHOICE_LOOPBACK, -1, -1, ""},
	{"^docker0", EXEC_CHOICE_LOOPBACK, EXEC_CHOICE_MISSING, ETH0, -1, "^docker0"},
	{"^lo,eth", EXEC_CHOICE_OTHER, EXEC_CHOICE_MISSING, IB0, -1, "^lo"},
	{"ib7", EXEC_CHOICE_MISSING, EXEC_CHOICE_MISSING, -1, -1, "ib7"},
	/* NCCL takes what is there, Gloo wants all of them. */
	{"eth0,ib7", EXEC_CHOICE_FINE, EXEC_CHOICE_MISSING, ETH0, ETH0, "ib7"},
	{"ib7,eth0", EXEC_CHOICE_FINE, EXEC_CHOICE_MISSING, ETH0, ETH0, "ib7"},
	{"ib7,ib8", EXEC_CHOICE_MISSING, EXEC_CHOICE_MISSING, -1, -1, "ib7"},
	/* And uses all; what has not led to rank 0 is to be tried. */
	{"eth0,ib1", EXEC_CHOICE_FINE, EXEC_CHOICE_OTHER, ETH0, IB1, ""},
	{"ib1,ib0", EXEC_CHOICE_OTHER, EXEC_CHOICE_OTHER, IB0, IB1, ""},
	{"eth0,lo", EXEC_CHOICE_LOOPBACK, EXEC_CHOICE_LOOPBACK, ETH0, ETH0, ""},
	{"eth0,", EXEC_CHOICE_FINE, EXEC_CHOICE_FINE, ETH0, ETH0, ""},
	{",eth0", EXEC_CHOICE_FINE, EXEC_CHOICE_MISSING, ETH0, ETH0, "\"\""},
	{"eth0,,ib7", EXEC_CHOICE_FINE, EXEC_CHOICE_MISSING, ETH0, ETH0, "\"\""},
};

static void libraries_choose_interfaces(void **state)
{
	struct exec_interfaces interfaces = {.count = 4};
	struct exec_choice choice;

	for (int i = 0; i < 4; i++) {
		strcpy(interfaces.of[i].name, names[i]);
		interfaces.of[i].loopback = i == LO;
	}
	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
		exec_choose_nccl(&choice, &interfaces, choices[i].list, ETH0);
		assert_int_equal(choice.state, choices[i].nccl);
		assert_int_equal(choice.interface, choices[i].nccl_interface);
		exec_choose_gloo(&choice, &interfaces, choices[i].list, ETH0);
		assert_int_equal(choice.state, choices[i].gloo);
		assert_int_equal(choice.interface, choices[i].gloo_interface);
		assert_string_equal(choice.name, choices[i].missing);
	}
	/* Where no way is known, or rank 0 is here, none is another. */
	exec_choose_nccl(&choice, &interfaces, "ib0", -1);
	assert_int_equal(choice.state, EXEC_CHOICE_FINE);
	exec_choose_gloo(&choice, &interfaces, "ib0", LO);
	assert_int_equal(choice.state, EXEC_CHOICE_FINE);
	/* Of a list that was cut, none is said to be missing. */
	interfaces.cut = true;
	exec_choose_nccl(&choice, &interfaces, "ib7", ETH0);
	assert_int_equal(choice.state, EXEC_CHOICE_FINE);
	exec_choose_gloo(&choice, &interfaces, "ib7", ETH0);
	assert_int_equal(choice.state, EXEC_CHOICE_FINE);
}

static void names_resolve_or_say_why(void **state)
{
	struct exec_resolved resolved;
	struct exec_interfaces interfaces;

	exec_resolve("127.0.0.1", 3000, &resolved);
	assert_int_equal(resolved.count, 1);
	assert_true(exec_address_is_loopback(&resolved.address[0]));
	assert_true(exec_address_is_own(&resolved.address[0]));
	/* Of documentation: RFC 5737. */
	exec_resolve("192.0.2.1", 3000, &resolved);
	assert_false(exec_address_is_loopback(&resolved.address[0]));
	assert_false(exec_address_is_own(&resolved.address[0]));
	exec_resolve("no name at all", 3000, &resolved);
	assert_int_equal(resolved.count, 0);
	assert_true(resolved.error[0]);
	assert_false(resolved.unasked);
	exec_interfaces_read(&interfaces);
	assert_int_equal(exec_address_parse(&resolved.address[0], "127.0.0.1", 1), 0);
	for (uint32_t i = 0; i < interfaces.count; i++) {
		if (interfaces.of[i].loopback)
			assert_int_equal(exec_interfaces_route(
						 &interfaces, &resolved.address[0], NULL),
					 (int)i);
	}
}

/* Nobody was asked, and nothing is known of the name. */
static void names_are_not_blamed_for_limits(void **state)
{
	struct exec_resolved resolved;
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	exec_resolve("localhost", 3000, &resolved);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(resolved.count, 0);
	assert_string_equal(resolved.error, "Too many open files");
	assert_true(resolved.unasked);
}

/* ---- connections ---- */

#define STEP  UINT64_C(0x0000000700000000)
#define TOKEN UINT64_C(0x0123456789abcdef)

static const struct exec_tokens tokens = {.step = STEP, .secret = TOKEN};

static struct exec_server *serve(uint16_t *port, uint32_t records)
{
	const struct exec_service service = {tokens, records, true};
	struct exec_server *server;
	int fd;

	*port = 0;
	fd = exec_listen(port);
	assert_true(fd >= 0 && *port);
	assert_int_equal(exec_server_start(&server, &fd, 1, &service), 0);
	return server;
}

static struct exec_target target_of(uint16_t port, enum exec_wire_op op)
{
	bool secret = op == EXEC_WIRE_LISTING;
	struct exec_target target = {.token = secret ? TOKEN : STEP, .op = op};

	assert_int_equal(exec_address_parse(&target.address, "127.0.0.1", port), 0);
	return target;
}

static void ranks_reach_each_other(void **state)
{
	uint16_t port, taken;
	struct exec_server *server = serve(&port, 1);
	struct exec_target targets[3] = {
		target_of(port, EXEC_WIRE_PING),
		target_of(port, EXEC_WIRE_LISTING),
		target_of(port, EXEC_WIRE_RECORD),
	};
	struct exec_server_record *records;
	char *large = malloc(1 << 20);

	taken = port;
	assert_int_equal(exec_listen(&taken), -EADDRINUSE);
	/* More than one buffer of the kernel's holds. */
	memset(large, 'x', (1 << 20) - 1);
	large[(1 << 20) - 1] = '\0';
	exec_server_offer(server, large);
	targets[2].text = "a=b\n";
	exec_reach(targets, 3, 3000);
	for (int i = 0; i < 3; i++)
		assert_int_equal(targets[i].reached, EXEC_REACHED);
	assert_true(targets[0].round_trip > 0);
	/* One machine has one clock. */
	assert_true(llabs(targets[0].ahead) <= targets[0].round_trip);
	assert_string_equal(targets[1].answer, large);
	free(targets[1].answer);
	free(large);
	assert_int_equal(exec_server_collect(server, 1, 3, &records), 1);
	assert_string_equal(records[0].text, "a=b\n");
	free(records[0].text);
	free(records);
	exec_server_stop(&server);
	exec_reach(targets, 1, 3000);
	assert_int_equal(targets[0].reached, EXEC_REFUSED);
}

static void strangers_are_told_apart(void **state)
{
	uint16_t port, silent = 0;
	struct exec_server *server = serve(&port, 1);
	struct exec_target target = target_of(port, EXEC_WIRE_PING);
	int fd = exec_listen(&silent);

	/* Another step. */
	target.token++;
	exec_reach(&target, 1, 3000);
	assert_int_equal(target.reached, EXEC_OTHER);
	/* Who says nothing. */
	target = target_of(silent, EXEC_WIRE_PING);
	exec_reach(&target, 1, 200);
	assert_int_equal(target.reached, EXEC_SILENT);
	close(fd);
	exec_server_stop(&server);
}

/* Who knows the number of the step alone gets no names of files. */
static void secrets_are_kept(void **state)
{
	static const struct {
		uint64_t token;
		enum exec_reached ping, listing, record;
	} rows[] = {
		{TOKEN, EXEC_REACHED, EXEC_REACHED, EXEC_REACHED},
		{STEP, EXEC_REACHED, EXEC_OTHER, EXEC_REACHED},
		{0, EXEC_OTHER, EXEC_OTHER, EXEC_OTHER},
	};
	static const struct exec_service alone = {.tokens.step = STEP};
	uint16_t port;
	struct exec_server *server = serve(&port, 4);
	struct exec_target target;
	struct exec_server_record *records;
	int fd;

	exec_server_offer(server, "0 cbf29ce484222325 code\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct exec_target targets[] = {
			target_of(port, EXEC_WIRE_PING),
			target_of(port, EXEC_WIRE_LISTING),
			target_of(port, EXEC_WIRE_RECORD),
		};

		targets[2].text = "a=b\n";
		for (int op = 0; op < 3; op++)
			targets[op].token = rows[i].token;
		exec_reach(targets, 3, 3000);
		assert_int_equal(targets[0].reached, rows[i].ping);
		assert_int_equal(targets[1].reached, rows[i].listing);
		assert_int_equal(targets[2].reached, rows[i].record);
		free(targets[1].answer);
	}
	assert_int_equal(exec_server_collect(server, 2, 0, &records), 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(records[i].trusted, i == 0);
		free(records[i].text);
	}
	free(records);
	exec_server_stop(&server);
	/* As long as there is no secret, nobody has it. */
	port = 0;
	fd = exec_listen(&port);
	assert_int_equal(exec_server_start(&server, &fd, 1, &alone), 0);
	target = target_of(port, EXEC_WIRE_LISTING);
	target.token = 0;
	exec_reach(&target, 1, 3000);
	assert_int_equal(target.reached, EXEC_OTHER);
	exec_server_trust(server, TOKEN);
	target.token = TOKEN;
	exec_reach(&target, 1, 3000);
	assert_int_equal(target.reached, EXEC_REACHED);
	free(target.answer);
	/* It was not asked to be loaded. */
	target = target_of(port, EXEC_WIRE_LOAD);
	exec_reach(&target, 1, 3000);
	assert_int_equal(target.reached, EXEC_OTHER);
	exec_server_stop(&server);
}

static void loads_are_measured(void **state)
{
	uint16_t port;
	struct exec_server *server = serve(&port, 1);
	struct exec_target target = target_of(port, EXEC_WIRE_LOAD);

	exec_reach(&target, 1, 5000);
	assert_int_equal(target.reached, EXEC_REACHED);
	/* Slower than a MiB a second no machine talks to itself. */
	assert_true(target.rate > 1 << 20);
	assert_null(target.answer);
	target.token = STEP + 1;
	target.rate = 0;
	exec_reach(&target, 1, 5000);
	assert_int_equal(target.reached, EXEC_OTHER);
	assert_int_equal(target.rate, 0);
	exec_server_stop(&server);
}

/* However its bytes fall on the turns of the server. */
static void loads_are_answered(void **state)
{
	enum { PIECE = 256 << 10 };
	uint16_t port;
	struct exec_server *server = serve(&port, 1);
	struct exec_target target = target_of(port, EXEC_WIRE_LOAD);
	char *zeros = calloc(PIECE, 1);

	for (uint64_t pieces = 1; pieces <= 34; pieces++) {
		struct exec_wire head = {.token = htobe64(STEP),
					 .word = htobe64(EXEC_WIRE_LOAD),
					 .length = htobe64(pieces * PIECE)};
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		memcpy(head.magic, EXEC_WIRE_QUESTION, sizeof(head.magic));
		assert_int_equal(connect(fd, (const struct sockaddr *)&target.address,
					 exec_address_length(&target.address)),
				 0);
		assert_int_equal(send(fd, &head, sizeof(head), MSG_NOSIGNAL),
				 sizeof(head));
		for (uint64_t i = 0; i < pieces; i++)
			assert_int_equal(send(fd, zeros, PIECE, MSG_NOSIGNAL), PIECE);
		assert_int_equal(recv(fd, &head, sizeof(head), MSG_WAITALL),
				 sizeof(head));
		assert_memory_equal(head.magic, EXEC_WIRE_ANSWER, sizeof(head.magic));
		close(fd);
	}
	free(zeros);
	exec_server_stop(&server);
}

/* Of a record that there is no room for, nobody is to think that it has come. */
static void records_have_room_or_are_refused(void **state)
{
	static const enum exec_reached expected[] = {EXEC_REACHED, EXEC_OTHER};
	uint16_t port;
	struct exec_server *server = serve(&port, 1);
	struct exec_server_record *records;

	for (int i = 0; i < 4; i++) {
		struct exec_target target = target_of(port, EXEC_WIRE_RECORD);

		/* Strangers take no room of those who know the secret. */
		target.token = i < 2 ? STEP : TOKEN;
		target.text = "a=b\n";
		exec_reach(&target, 1, 3000);
		assert_int_equal(target.reached, expected[i % 2]);
	}
	assert_int_equal(exec_server_collect(server, 2, 0, &records), 2);
	free(records[0].text);
	free(records[1].text);
	free(records);
	exec_server_stop(&server);
}

/* Passes the small messages on, and stops at the first large one. */
static void *pass_small(void *arg)
{
	const struct sockaddr_in6 *to = arg;
	int listener = to->sin6_scope_id, from, fd;
	char buffer[4096];
	ssize_t got;

	from = accept(listener, NULL, NULL);
	fd = socket(AF_INET6, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)to, sizeof(*to)), 0);
	while ((got = recv(from, buffer, sizeof(buffer), 0)) > 0 && got < 1000) {
		send(fd, buffer, (size_t)got, MSG_NOSIGNAL);
		got = recv(fd, buffer, sizeof(buffer), 0);
		send(from, buffer, (size_t)got, MSG_NOSIGNAL);
	}
	usleep(500000);
	close(fd);
	close(from);
	return NULL;
}

static void large_messages_are_tried(void **state)
{
	uint16_t port, middle = 0;
	struct exec_server *server = serve(&port, 1);
	struct exec_target target = target_of(port, EXEC_WIRE_PING);
	int listener = exec_listen(&middle);
	struct sockaddr_in6 to = {.sin6_family = AF_INET6,
				  .sin6_port = htons(port),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT,
				  .sin6_scope_id = (uint32_t)listener};
	pthread_t thread;

	target.large = true;
	exec_reach(&target, 1, 3000);
	assert_int_equal(target.reached, EXEC_REACHED);
	assert_int_equal(fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) & ~O_NONBLOCK),
			 0);
	assert_int_equal(pthread_create(&thread, NULL, pass_small, &to), 0);
	target = target_of(middle, EXEC_WIRE_PING);
	target.large = true;
	exec_reach(&target, 1, 400);
	assert_int_equal(target.reached, EXEC_SMALL_ONLY);
	assert_true(target.round_trip > 0);
	pthread_join(thread, NULL);
	close(listener);
	exec_server_stop(&server);
}

/* poll(2) takes no more than that. */
static void more_targets_than_open_files(void **state)
{
	struct exec_target targets[64];
	struct rlimit before, few;
	uint16_t port;
	struct exec_server *server = serve(&port, 1);
	uint32_t failed = 0;

	for (int i = 0; i < 64; i++)
		targets[i] = target_of(port, EXEC_WIRE_PING);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 40;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	exec_reach(targets, 64, 300);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	/* The server is of this process, and may have found no file left, either. */
	for (int i = 0; i < 64; i++) {
		failed += targets[i].reached == EXEC_FAILED_HERE;
		assert_int_not_equal(targets[i].reached, EXEC_FILTERED);
	}
	assert_in_range(failed, 24, 63);
	exec_server_stop(&server);
}

static void *echo(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);
	char buffer[4096];
	ssize_t got;

	while ((got = recv(fd, buffer, sizeof(buffer), 0)) > 0)
		send(fd, buffer, (size_t)got, MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

/* The service of port 7 (RFC 862) says what it hears, tokens and all. */
static void an_echo_is_no_rank(void **state)
{
	uint16_t port = 0;
	int fd = exec_listen(&port), flags = fcntl(fd, F_GETFL);
	struct exec_target target = target_of(port, EXEC_WIRE_PING);
	pthread_t thread;

	assert_int_equal(fcntl(fd, F_SETFL, flags & ~O_NONBLOCK), 0);
	assert_int_equal(pthread_create(&thread, NULL, echo, &fd), 0);
	exec_reach(&target, 1, 3000);
	assert_int_equal(target.reached, EXEC_OTHER);
	pthread_join(thread, NULL);
	close(fd);
}

static void what_is_not_known_is_not_tried(void **state)
{
	struct exec_target target = {.token = TOKEN, .op = EXEC_WIRE_PING};

	exec_reach(&target, 1, 3000);
	assert_int_equal(target.reached, EXEC_NO_ADDRESS);
}

static int64_t cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/*
 * At the limit of open files, a caller waits, the server does not run in circles, and
 * goes on when it can.
 */
static void a_server_without_files_waits(void **state)
{
	uint16_t port;
	struct exec_server *server = serve(&port, 1);
	struct exec_target target = target_of(port, EXEC_WIRE_PING);
	struct rlimit before, none;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int64_t used;

	assert_true(fd >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&target.address,
				 exec_address_length(&target.address)),
			 0);
	used = cpu_time();
	usleep(500000);
	/* In circles it would be all of it. */
	assert_true(cpu_time() - used < 250);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	exec_reach(&target, 1, 3000);
	assert_int_equal(target.reached, EXEC_REACHED);
	close(fd);
	exec_server_stop(&server);
}

/* Whatever is sent, the server goes on, and keeps none of it. */
static void garbage_does_no_harm(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} garbage[] = {
		{"", 0},
		{"GET / HTTP/1.0\r\n\r\n", 18},
		{EXEC_WIRE_QUESTION, 8},
		{EXEC_WIRE_QUESTION "\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\x03\xff\xff\xff"
				    "\xff\xff\xff\xff\xff",
		 32},
		{EXEC_WIRE_QUESTION "\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0"
				    "\0\0\x09"
				    "half",
		 36},
		{EXEC_WIRE_QUESTION "\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\x63\0\0\0\0\0"
				    "\0\0\0",
		 32},
		/* A load that is larger than any. */
		{EXEC_WIRE_QUESTION "\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\0"
				    "\x40\0\0\x01",
		 32},
	};
	uint16_t port;
	struct exec_server *server = serve(&port, 4);
	struct exec_target target = target_of(port, EXEC_WIRE_PING);
	struct exec_server_record *records;

	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		assert_int_equal(connect(fd, (const struct sockaddr *)&target.address,
					 exec_address_length(&target.address)),
				 0);
		assert_int_equal(
			send(fd, garbage[i].bytes, garbage[i].length, MSG_NOSIGNAL),
			garbage[i].length);
		close(fd);
		exec_reach(&target, 1, 3000);
		assert_int_equal(target.reached, EXEC_REACHED);
	}
	assert_int_equal(exec_server_collect(server, 1, 0, &records), 0);
	free(records);
	exec_server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_back),
		cmocka_unit_test(long_values_are_cut),
		cmocka_unit_test(records_are_made_harmless),
		cmocka_unit_test(lists_take_interfaces),
		cmocka_unit_test(libraries_choose_interfaces),
		cmocka_unit_test(names_resolve_or_say_why),
		cmocka_unit_test(names_are_not_blamed_for_limits),
		cmocka_unit_test(ranks_reach_each_other),
		cmocka_unit_test(strangers_are_told_apart),
		cmocka_unit_test(secrets_are_kept),
		cmocka_unit_test(loads_are_measured),
		cmocka_unit_test(loads_are_answered),
		cmocka_unit_test(records_have_room_or_are_refused),
		cmocka_unit_test(large_messages_are_tried),
		cmocka_unit_test(more_targets_than_open_files),
		cmocka_unit_test(an_echo_is_no_rank),
		cmocka_unit_test(what_is_not_known_is_not_tried),
		cmocka_unit_test(a_server_without_files_waits),
		cmocka_unit_test(garbage_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
