/* SPDX-License-Identifier: MIT */
/*
 * All connections in one poll(2), so that time-outs run side by side. A failure is told
 * by what connect(2) says, for each cause has another cure.
 */
#include "spank/exec/reach.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The first answer may wait for a thread to wake up there; the best of these counts. */
#define ROUNDS 4

/* Bytes of a large message: more than a packet has in any Ethernet (9000). */
#define LARGE (16 << 10)

/*
 * A load is twice as large each time, until it takes long enough to count: an eighth of a
 * second and not the time of one answer. TCP has opened its window by then.
 */
#define LOAD_FIRST  (1 << 20)
#define LOAD_ENOUGH INT64_C(125000000)

/* Bytes of a load that are sent at a time. */
#define LOAD_ROOM (256 << 10)

const char *const exec_reached_names[EXEC_REACHED_COUNT] = {
	[EXEC_REACHED] = "reached",
	[EXEC_REFUSED] = "refused",
	[EXEC_UNREACHABLE] = "unreachable",
	[EXEC_FILTERED] = "filtered",
	[EXEC_OTHER] = "other",
	[EXEC_SILENT] = "silent",
	[EXEC_SMALL_ONLY] = "small-only",
	[EXEC_NO_ADDRESS] = "no-address",
	[EXEC_FAILED_HERE] = "failed",
};

struct attempt {
	struct exec_target *target;
	int fd; /* -1: it has ended */
	bool connected;
	char *question;
	size_t length, sent;
	size_t load;           /* bytes of LENGTH that are none of QUESTION's */
	struct exec_wire head; /* of the answer */
	size_t got;
	uint32_t rounds;
	int64_t asked; /* CLOCK_MONOTONIC and CLOCK_REALTIME in ns */
	int64_t asked_at;
};

static int64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

socklen_t exec_address_length(const struct sockaddr_storage *address)
{
	switch (address->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

void exec_address_set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET)
		((struct sockaddr_in *)address)->sin_port = htons(port);
	else if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
}

void exec_address_text(const struct sockaddr_storage *address, char *text, size_t size)
{
	const void *number =
		address->ss_family == AF_INET
			? (const void *)&((const struct sockaddr_in *)address)->sin_addr
			: (const void *)&((const struct sockaddr_in6 *)address)
				  ->sin6_addr;

	if (!exec_address_length(address) ||
	    !inet_ntop(address->ss_family, number, text, (socklen_t)size))
		snprintf(text, size, "?");
}

int exec_address_parse(struct sockaddr_storage *address, const char *text, uint16_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

	*address = (struct sockaddr_storage){0};
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		address->ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
		address->ss_family = AF_INET6;
	else
		return -EINVAL;
	exec_address_set_port(address, port);
	return 0;
}

static void end(struct attempt *attempt, enum exec_reached reached, int error)
{
	attempt->target->reached = reached;
	attempt->target->error = error;
	if (attempt->fd >= 0)
		close(attempt->fd);
	attempt->fd = -1;
}

/* What an error of connect(2) or of the connection means. */
static enum exec_reached meaning_of(int error, bool connected)
{
	switch (error) {
	case ECONNREFUSED:
		return EXEC_REFUSED;
	case ECONNRESET:
	case EPIPE:
		return connected ? EXEC_OTHER : EXEC_REFUSED;
	case ETIMEDOUT:
		return EXEC_FILTERED;
	/* A local firewall or route may forbid it; else what ICMP has brought. */
	case EACCES:
	case EPERM:
	case EINVAL:
	case EADDRNOTAVAIL:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENETDOWN:
	case ENETUNREACH:
	case EAFNOSUPPORT:
		return EXEC_UNREACHABLE;
	default:
		return EXEC_FAILED_HERE;
	}
}

static bool prepare(struct attempt *attempt)
{
	const struct exec_target *target = attempt->target;
	size_t length = target->text ? strlen(target->text) : 0;
	struct exec_wire head = {
		.token = htobe64(target->token),
		.word = htobe64(target->op),
		.length = htobe64(length + attempt->load),
	};

	memcpy(head.magic, EXEC_WIRE_QUESTION, sizeof(head.magic));
	attempt->length = sizeof(head) + length + attempt->load;
	free(attempt->question);
	attempt->question = malloc(sizeof(head) + length);
	if (!attempt->question)
		return false;
	memcpy(attempt->question, &head, sizeof(head));
	if (length)
		memcpy(attempt->question + sizeof(head), target->text, length);
	return true;
}

static void start(struct attempt *attempt)
{
	const struct sockaddr_storage *address = &attempt->target->address;
	const int on = 1;

	attempt->fd = -1;
	if (!exec_address_length(address)) {
		end(attempt, EXEC_NO_ADDRESS, 0);
		return;
	}
	attempt->fd =
		socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (attempt->fd < 0 || !prepare(attempt)) {
		int error = errno;

		end(attempt, meaning_of(error, false), error);
		return;
	}
	/* Else the kernel may hold back a question until the last answer is confirmed. */
	setsockopt(attempt->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(attempt->fd, (const struct sockaddr *)address,
		    exec_address_length(address)) < 0 &&
	    errno != EINPROGRESS) {
		/* Of IPv4 it says that no port is left to call from: ip(7). */
		bool used_up = errno == EADDRNOTAVAIL && address->ss_family == AF_INET;

		end(attempt, used_up ? EXEC_FAILED_HERE : meaning_of(errno, false),
		    errno);
	}
}

static void ask(struct attempt *attempt)
{
	static const char zeros[LOAD_ROOM];
	const size_t own = attempt->length - attempt->load;
	const char *next = attempt->question + attempt->sent;
	size_t left = own - attempt->sent;
	ssize_t sent;

	if (attempt->sent == 0) {
		attempt->asked = now(CLOCK_MONOTONIC);
		attempt->asked_at = now(CLOCK_REALTIME);
	}
	if (attempt->sent >= own) {
		next = zeros;
		left = attempt->length - attempt->sent;
		left = left < LOAD_ROOM ? left : LOAD_ROOM;
	}
	sent = send(attempt->fd, next, left, MSG_NOSIGNAL);
	if (sent >= 0)
		attempt->sent += (size_t)sent;
	else if (errno != EAGAIN && errno != EINTR)
		end(attempt, meaning_of(errno, true), errno);
}

static bool is_ours(const struct attempt *attempt)
{
	return memcmp(attempt->head.magic, EXEC_WIRE_ANSWER,
		      sizeof(attempt->head.magic)) == 0 &&
	       be64toh(attempt->head.token) == attempt->target->token &&
	       be64toh(attempt->head.length) <= EXEC_WIRE_TEXT_MAX;
}

/* The way of the question is taken to be as long as that of the answer, as in NTP. */
static void take_time(struct attempt *attempt)
{
	struct exec_target *target = attempt->target;
	int64_t took = now(CLOCK_MONOTONIC) - attempt->asked;

	if (attempt->load || (attempt->rounds && took >= target->round_trip))
		return;
	target->round_trip = took;
	target->ahead = (int64_t)(be64toh(attempt->head.word) -
				  (uint64_t)(attempt->asked_at + took / 2));
}

static int64_t rate_of(int64_t bytes, int64_t nanoseconds)
{
	return (int64_t)((double)bytes * 1e9 /
			 (double)(nanoseconds > 0 ? nanoseconds : 1));
}

/* Whether another question is to follow the one that is answered. */
static bool goes_on(struct attempt *attempt)
{
	int64_t took = now(CLOCK_MONOTONIC) - attempt->asked;

	attempt->rounds++;
	switch (attempt->target->op) {
	case EXEC_WIRE_PING:
		if (attempt->rounds < ROUNDS)
			return true;
		if (attempt->load || !attempt->target->large)
			return false;
		attempt->load = LARGE;
		return prepare(attempt);
	case EXEC_WIRE_LOAD:
		attempt->target->rate = rate_of((int64_t)attempt->load, took);
		if (took >= LOAD_ENOUGH || attempt->load == EXEC_WIRE_LOAD_MAX)
			return false;
		attempt->load *= 2;
		return prepare(attempt);
	default:
		return false;
	}
}

/* One answer is here. */
static void finish(struct attempt *attempt)
{
	take_time(attempt);
	if (!goes_on(attempt)) {
		end(attempt, EXEC_REACHED, 0);
		return;
	}
	attempt->sent = attempt->got = 0;
	free(attempt->target->answer);
	attempt->target->answer = NULL;
	ask(attempt);
}

static void hear(struct attempt *attempt)
{
	const size_t head = sizeof(attempt->head);
	struct exec_target *target = attempt->target;

	while (attempt->fd >= 0) {
		bool in_head = attempt->got < head;
		size_t whole = head + (in_head ? 0 : be64toh(attempt->head.length));
		char *to = in_head ? (char *)&attempt->head + attempt->got
				   : target->answer + (attempt->got - head);
		ssize_t got;

		if (!in_head && attempt->got == whole) {
			finish(attempt);
			return;
		}
		got = recv(attempt->fd, to, whole - attempt->got, 0);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			end(attempt, EXEC_OTHER, got < 0 ? errno : 0);
			return;
		}
		attempt->got += (size_t)got;
		if (attempt->got != head)
			continue;
		if (!is_ours(attempt)) {
			end(attempt, EXEC_OTHER, 0);
			return;
		}
		target->answer = calloc(be64toh(attempt->head.length) + 1, 1);
		if (!target->answer)
			end(attempt, EXEC_FAILED_HERE, ENOMEM);
	}
}

static void go_on(struct attempt *attempt, short events)
{
	if (!attempt->connected) {
		int error = 0;
		socklen_t length = sizeof(error);

		getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &length);
		if (error) {
			end(attempt, meaning_of(error, false), error);
			return;
		}
		attempt->connected = true;
	}
	if (attempt->sent < attempt->length)
		ask(attempt);
	if (attempt->fd >= 0 && events & (POLLIN | POLLERR | POLLHUP))
		hear(attempt);
}

/*
 * Those that are left when the time is over. Of a load that is still on its way, what has
 * been sent so far tells the rate; some of it may be in buffers.
 */
static void give_up(struct attempt *attempt)
{
	const bool loads = attempt->target->op == EXEC_WIRE_LOAD;

	if (loads && attempt->connected && attempt->asked) {
		if (!attempt->target->rate)
			attempt->target->rate =
				rate_of((int64_t)attempt->sent,
					now(CLOCK_MONOTONIC) - attempt->asked);
		end(attempt, EXEC_REACHED, 0);
		return;
	}
	end(attempt,
	    !attempt->connected ? EXEC_FILTERED
	    : attempt->load     ? EXEC_SMALL_ONLY
				: EXEC_SILENT,
	    ETIMEDOUT);
}

/* Those that are open, for poll(2) takes no more than the limit of open files. */
static uint32_t fill(struct attempt *attempts, uint32_t count, struct pollfd *polled,
		     struct attempt **open)
{
	uint32_t filled = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct attempt *attempt = &attempts[i];

		if (attempt->fd < 0)
			continue;
		open[filled] = attempt;
		polled[filled++] = (struct pollfd){
			attempt->fd, attempt->sent < attempt->length ? POLLOUT : POLLIN,
			0};
	}
	return filled;
}

static void wait_for_all(struct attempt *attempts, uint32_t count, struct pollfd *polled,
			 struct attempt **open, int64_t until)
{
	for (;;) {
		int64_t left = (until - now(CLOCK_MONOTONIC)) / 1000000;
		uint32_t filled = fill(attempts, count, polled, open);

		if (!filled || left <= 0)
			return;
		if (poll(polled, filled, (int)left) < 0) {
			if (errno == EINTR)
				continue;
			for (uint32_t i = 0; i < filled; i++)
				end(open[i], EXEC_FAILED_HERE, errno);
			return;
		}
		for (uint32_t i = 0; i < filled; i++) {
			if (polled[i].revents)
				go_on(open[i], polled[i].revents);
		}
	}
}

void exec_reach(struct exec_target *targets, uint32_t count, unsigned int milliseconds)
{
	int64_t until = now(CLOCK_MONOTONIC) + (int64_t)milliseconds * 1000000;
	struct attempt *attempts = calloc(count ? count : 1, sizeof(*attempts));
	struct pollfd *polled = calloc(count ? count : 1, sizeof(*polled));
	struct attempt **open = calloc(count ? count : 1, sizeof(*open));
	const bool able = attempts && polled && open;

	for (uint32_t i = 0; i < count; i++) {
		targets[i].reached = EXEC_FAILED_HERE;
		targets[i].error = ENOMEM;
		targets[i].answer = NULL;
		if (!able)
			continue;
		attempts[i].target = &targets[i];
		attempts[i].load = targets[i].op == EXEC_WIRE_LOAD ? LOAD_FIRST : 0;
		start(&attempts[i]);
	}
	if (able)
		wait_for_all(attempts, count, polled, open, until);
	for (uint32_t i = 0; able && i < count; i++) {
		if (attempts[i].fd >= 0)
			give_up(&attempts[i]);
		free(attempts[i].question);
		if (targets[i].reached == EXEC_REACHED &&
		    targets[i].op == EXEC_WIRE_LISTING)
			continue;
		free(targets[i].answer);
		targets[i].answer = NULL;
	}
	free(attempts);
	free(polled);
	free(open);
}
