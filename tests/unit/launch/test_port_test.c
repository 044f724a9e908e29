/* SPDX-License-Identifier: MIT */
/* A port is called taken when, and only when, rank 0 could not listen on it. */
#include "spank/launch/port_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A socket at ADDRESS and a port that the kernel chooses; -1 without such addresses. */
static int hold(const char *address, bool reuse, bool listening, uint16_t *port)
{
	struct sockaddr_in6 address6 = {.sin6_family = AF_INET6};
	struct sockaddr_in address4 = {.sin_family = AF_INET};
	bool v6 = inet_pton(AF_INET6, address, &address6.sin6_addr) == 1;
	socklen_t length = v6 ? sizeof(address6) : sizeof(address4);
	struct sockaddr *any =
		v6 ? (struct sockaddr *)&address6 : (struct sockaddr *)&address4;
	const int on = reuse, only = 1;
	int fd;

	if (!v6)
		assert_int_equal(inet_pton(AF_INET, address, &address4.sin_addr), 1);
	fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	if (bind(fd, any, length) < 0 || getsockname(fd, any, &length) < 0 ||
	    (listening && listen(fd, 1) < 0)) {
		close(fd);
		return -1;
	}
	*port = ntohs(v6 ? address6.sin6_port : address4.sin_port);
	return fd;
}

static void test_table(void **state)
{
	static const struct {
		const char *address;
		bool reuse, listening;
		int expected;
	} rows[] = {
		{"0.0.0.0", true, true, -EADDRINUSE},
		{"127.0.0.1", true, true, -EADDRINUSE},
		{"::", true, true, -EADDRINUSE},
		{"::1", true, true, -EADDRINUSE},
		/* Holds the port without SO_REUSEADDR, and need not listen. */
		{"0.0.0.0", false, false, -EADDRINUSE},
		/* What another port test leaves for a moment. */
		{"0.0.0.0", true, false, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint16_t port;
		int fd = hold(rows[i].address, rows[i].reuse, rows[i].listening, &port);

		if (fd < 0) {
			print_message("# row %zu skipped: no address %s here\n", i,
				      rows[i].address);
			continue;
		}
		if (launch_port_test(port) != rows[i].expected)
			fail_msg("row %zu: %d", i, launch_port_test(port));
		close(fd);
		assert_int_equal(launch_port_test(port), 0);
	}
}

/* The remains of a connection on the port are no obstacle. */
static void test_time_wait(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	uint16_t port;
	int server = hold("127.0.0.1", true, true, &port), client, connection;

	assert_true(server >= 0);
	address.sin_port = htons(port);
	client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)),
			 0);
	connection = accept(server, NULL, NULL);
	assert_true(connection >= 0);
	/* The side that closes first keeps the port in TIME_WAIT. */
	close(connection);
	close(client);
	close(server);
	assert_int_equal(launch_port_test(port), 0);
}

static void test_root_port(void **state)
{
	FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");
	int first = 0, status;
	pid_t pid;

	if (!file || fscanf(file, "%d", &first) != 1 || first <= 1) {
		if (file)
			fclose(file);
		print_message("# skipped: users may take any port here\n");
		skip();
	}
	fclose(file);
	pid = fork();
	if (pid == 0) {
		if (getuid() == 0 && setuid(65534) < 0)
			_exit(2);
		_exit(launch_port_test(1) == -EACCES ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_own_address(void **state)
{
	/* Numbers for documentation are no host's (RFC 5737, RFC 3849). */
	static const struct {
		const char *addr;
		bool own;
	} rows[] = {
		{"127.0.0.1", true},  {"192.0.2.1", false}, {"2001:db8::1", false},
		{"localhost", false}, {"", false},          {"127.0.0.1 ", false},
		{"256.0.0.1", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (launch_port_is_own_address(rows[i].addr) != rows[i].own)
			fail_msg("\"%s\"", rows[i].addr);
	}
}

static void test_leaves_nothing(void **state)
{
	uint16_t port;
	int before = dup(0), after, fd;

	close(before);
	fd = hold("0.0.0.0", true, true, &port);
	launch_port_test(port);
	close(fd);
	launch_port_test(port);
	launch_port_is_own_address("127.0.0.1");
	launch_port_is_own_address("192.0.2.1");
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),          cmocka_unit_test(test_time_wait),
		cmocka_unit_test(test_root_port),      cmocka_unit_test(test_own_address),
		cmocka_unit_test(test_leaves_nothing),
	};

	return cmocka_run_group_tests_name("port_test", tests, NULL, NULL);
}
