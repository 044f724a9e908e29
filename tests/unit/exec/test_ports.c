/* SPDX-License-Identifier: MIT */
/*
 * The port of rank 0, as `srank doctor` opens it: who has it where it is held, and what
 * is wrong where it is not held at all.
 */
#include "spank/exec/meet.h"
#include "spank/exec/reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* Longer names are cut by the kernel (TASK_COMM_LEN). */
#define OWN_NAME "test_exec_ports"

static char node[] = "localhost", counts[] = "1";

static const struct launch_facts facts = {
	.job_id = 7,
	.nnodes = 1,
	.ntasks = 1,
	.local_size = 1,
	.nodelist = node,
	.tasks_per_node = counts,
	.node = node,
};

/* Rank 0 opens PORT as MASTER_PORT, else one of LOW to HIGH; TEXT is who holds it. */
static int open_at(uint16_t port, uint16_t low, uint16_t high, char *text)
{
	struct launch_settings settings;
	struct exec_meeting meeting = {
		.facts = &facts, .settings = &settings, .served = port > 0};
	struct launch_error err = {""};
	char number[8];
	int r;

	launch_settings_init(&settings);
	settings.port_low = low;
	settings.port_high = high;
	snprintf(number, sizeof(number), "%u", port);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("MASTER_PORT", number, 1);
	r = exec_meeting_open(&meeting, port > 0, &err);
	for (uint32_t i = 0; i < meeting.sockets_count; i++)
		close(meeting.sockets[i]);
	/* It goes on by another one. */
	if (r == 0 && meeting.held[0])
		assert_true(meeting.open_port && meeting.open_port != port);
	strcpy(text, meeting.held);
	return r;
}

/* A socket on a port of 127.0.0.1 that is not told to be used again. */
static int bind_any(struct sockaddr_storage *address, uint16_t *port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t length;

	assert_true(fd >= 0);
	assert_int_equal(exec_address_parse(address, "127.0.0.1", 0), 0);
	length = exec_address_length(address);
	assert_int_equal(bind(fd, (const struct sockaddr *)address, length), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)address, &length), 0);
	*port = ntohs(((const struct sockaddr_in *)address)->sin_port);
	return fd;
}

static void the_holder_is_named(void **state)
{
	char text[LAUNCH_ERROR_MAX], expected[LAUNCH_ERROR_MAX];
	struct sockaddr_storage address, other;
	uint16_t port, far;
	int fd, listener;

	/* In no table as long as it does nothing. */
	fd = bind_any(&address, &port);
	assert_int_equal(open_at(port, 0, 0, text), 0);
	snprintf(expected, sizeof(expected),
		 "port %u, where rank 0 would listen, is held by a process that has "
		 "bound it and does not listen; which one, Linux does not tell",
		 port);
	assert_string_equal(text, expected);
	/* From which a connection goes out. */
	listener = bind_any(&other, &far);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(
		connect(fd, (const struct sockaddr *)&other, exec_address_length(&other)),
		0);
	assert_int_equal(open_at(port, 0, 0, text), 0);
	snprintf(expected, sizeof(expected),
		 "port %u, where rank 0 would listen, is held by process %d (" OWN_NAME
		 "), for a connection",
		 port, (int)getpid());
	assert_string_equal(text, expected);
	/* To which it leads: there the one that listens counts. */
	assert_int_equal(open_at(far, 0, 0, text), 0);
	snprintf(expected, sizeof(expected),
		 "port %u, where rank 0 would listen, is held by process %d (" OWN_NAME
		 ")",
		 far, (int)getpid());
	assert_string_equal(text, expected);
	/* The same in a range of ports. */
	assert_int_equal(open_at(0, far, far, text), 0);
	snprintf(expected, sizeof(expected),
		 "all ports from %u to %u, where rank 0 would listen, are held", far,
		 far);
	assert_string_equal(text, expected);
	close(fd);
	close(listener);
	assert_int_equal(open_at(far, 0, 0, text), 0);
	assert_string_equal(text, "");
}

static void ports_of_root(void **state)
{
	char text[LAUNCH_ERROR_MAX];
	FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");
	int first = 1024, r[2];
	uid_t before = geteuid();

	if (file) {
		if (fscanf(file, "%d", &first) != 1)
			first = 1024;
		fclose(file);
	}
	if (first <= 801 || (before == 0 && seteuid(65534))) {
		print_message("SKIPPED, NOT PASSED: every port is for every user\n");
		skip();
	}
	r[0] = open_at(800, 0, 0, text);
	assert_string_equal(text,
			    "port 800, where rank 0 would listen, is for root only");
	r[1] = open_at(0, 800, 801, text);
	assert_int_equal(seteuid(before), 0);
	assert_int_equal(r[0], 0);
	assert_int_equal(r[1], 0);
	assert_string_equal(text, "all ports from 800 to 801, where rank 0 would listen, "
				  "are for root only");
}

/* That is no matter of the port, and no other will do. */
static void no_socket_to_be_had(void **state)
{
	char text[LAUNCH_ERROR_MAX];
	struct rlimit before, none;
	int r[2];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	r[0] = open_at(23456, 0, 0, text);
	r[1] = open_at(0, 23456, 23466, text);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r[0], -EMFILE);
	assert_int_equal(r[1], -EMFILE);
	assert_null(strstr(text, "held"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_holder_is_named),
		cmocka_unit_test(ports_of_root),
		cmocka_unit_test(no_socket_to_be_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
