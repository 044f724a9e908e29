/* SPDX-License-Identifier: MIT */
/*
 * One thread, one poll(2): connections are short, and none may hold up another. Whatever
 * comes is bounded in size and in time.
 */
#include "spank/exec/server.h"

#include "spank/exec/record.h"
#include "spank/exec/wait.h"
#include "spank/exec/wire.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS_MAX 2

/* At once; the others wait in the kernel's queue. Below the usual limit of open files. */
#define CONNECTIONS_MAX 512

/* How long a connection may take, in seconds: until it says what it wants, and in all. */
#define HEAD_TIME       2
#define CONNECTION_TIME 10

/* Bytes of a load that are read at a time, and reads before others have their turn. */
#define LOAD_ROOM (256 << 10)
#define TURNS     16

/* How long none is taken when there are no more open files to be had, in ms. */
#define STARVED_TIME 100

struct connection {
	int fd;
	time_t until;
	bool known;            /* it has said what it wants */
	struct exec_wire head; /* of the question, as far as it is there */
	size_t got;            /* bytes of it and of its text */
	char *text;
	char *answer;
	size_t length, sent;
};

struct exec_server {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int wake;
	int sockets[SOCKETS_MAX];
	uint32_t sockets_count;
	struct exec_tokens tokens;
	bool starved; /* of what a connection takes; see take() */
	char *listing;
	bool loads;
	struct exec_server_record *records;
	uint32_t records_count;
	uint32_t room[2]; /* that is left, for strangers' and for trusted ones */
	/* The thread's own. */
	struct connection connections[CONNECTIONS_MAX];
	uint32_t count;
};

static int listen_on(int family, uint16_t *port)
{
	struct sockaddr_in6 address6 = {.sin6_family = AF_INET6,
					.sin6_port = htons(*port),
					.sin6_addr = IN6ADDR_ANY_INIT};
	struct sockaddr_in address4 = {.sin_family = AF_INET,
				       .sin_port = htons(*port),
				       .sin_addr = {htonl(INADDR_ANY)}};
	void *address = family == AF_INET6 ? (void *)&address6 : &address4;
	socklen_t length = family == AF_INET6 ? sizeof(address6) : sizeof(address4);
	const int on = 1, off = 0;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    bind(fd, address, length) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, address, &length) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*port = ntohs(family == AF_INET6 ? address6.sin6_port : address4.sin_port);
	return fd;
}

int exec_listen(uint16_t *port)
{
	int fd = listen_on(AF_INET6, port);

	/* No IPv6 in this kernel, or switched off on all interfaces. */
	return fd < 0 && fd != -EADDRINUSE && fd != -EACCES ? listen_on(AF_INET, port)
							    : fd;
}

static void drop(struct exec_server *server, uint32_t i)
{
	struct connection *connection = &server->connections[i];

	close(connection->fd);
	free(connection->text);
	free(connection->answer);
	*connection = server->connections[--server->count];
}

/* Where the limit of open files is reached, the caller stays in the kernel's queue. */
static void take(struct exec_server *server, int listener)
{
	int fd;

	while (server->count < CONNECTIONS_MAX) {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			server->starved = errno == EMFILE || errno == ENFILE ||
					  errno == ENOBUFS || errno == ENOMEM;
			return;
		}
		server->connections[server->count++] = (struct connection){
			.fd = fd, .until = exec_seconds_now() + HEAD_TIME};
	}
}

/* False, and TEXT is still the caller's: there is no room, and it must not seem so. */
static bool keep_record(struct exec_server *server, char *text, uint64_t token)
{
	bool trusted, kept;

	pthread_mutex_lock(&server->mutex);
	trusted = server->tokens.secret && token == server->tokens.secret;
	kept = server->room[trusted] > 0;
	if (kept) {
		server->room[trusted]--;
		server->records[server->records_count++] =
			(struct exec_server_record){text, trusted};
		pthread_cond_signal(&server->changed);
	}
	pthread_mutex_unlock(&server->mutex);
	return kept;
}

/* The answer with room for its head; what follows it is in *LENGTH. */
static char *make_answer(struct exec_server *server, const struct exec_wire *question,
			 size_t *length)
{
	const uint64_t op = be64toh(question->word);
	const size_t head = sizeof(*question);
	char *answer;

	*length = op == EXEC_WIRE_PING ? be64toh(question->length) : 0;
	pthread_mutex_lock(&server->mutex);
	if (op == EXEC_WIRE_LISTING && server->listing)
		*length = strlen(server->listing);
	answer = calloc(head + *length, 1);
	if (answer && op == EXEC_WIRE_LISTING && server->listing)
		memcpy(answer + head, server->listing, *length);
	pthread_mutex_unlock(&server->mutex);
	return answer;
}

/* False: the connection is to end. */
static bool answer(struct exec_server *server, struct connection *connection)
{
	const struct exec_wire *question = &connection->head;
	struct exec_wire head = {.token = question->token};
	struct timespec time;
	size_t length;

	if (be64toh(question->word) == EXEC_WIRE_RECORD) {
		if (!keep_record(server, connection->text, be64toh(question->token)))
			return false;
		connection->text = NULL;
	}
	free(connection->answer);
	connection->answer = make_answer(server, question, &length);
	if (!connection->answer)
		return false;
	memcpy(head.magic, EXEC_WIRE_ANSWER, sizeof(head.magic));
	head.length = htobe64(length);
	clock_gettime(CLOCK_REALTIME, &time);
	head.word = htobe64((uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec);
	memcpy(connection->answer, &head, sizeof(head));
	connection->length = sizeof(head) + length;
	connection->sent = 0;
	connection->got = 0;
	free(connection->text);
	connection->text = NULL;
	return true;
}

static bool may_ask(struct exec_server *server, uint64_t token, uint64_t op)
{
	uint64_t secret;

	if (op == EXEC_WIRE_LOAD && !server->loads)
		return false;
	pthread_mutex_lock(&server->mutex);
	secret = server->tokens.secret;
	pthread_mutex_unlock(&server->mutex);
	return (secret && token == secret) ||
	       (token == server->tokens.step && op != EXEC_WIRE_LISTING);
}

static bool is_load(const struct exec_wire *head)
{
	return be64toh(head->word) == EXEC_WIRE_LOAD;
}

static bool is_ours(struct exec_server *server, const struct exec_wire *head)
{
	return memcmp(head->magic, EXEC_WIRE_QUESTION, sizeof(head->magic)) == 0 &&
	       may_ask(server, be64toh(head->token), be64toh(head->word)) &&
	       be64toh(head->length) <
		       (is_load(head) ? EXEC_WIRE_LOAD_MAX + 1 : EXEC_RECORD_MAX);
}

/* Where the next bytes of the question go. Returns how many it may be; 0: all are here.
 */
static size_t next_bytes(struct connection *connection, char **to)
{
	const size_t head = sizeof(connection->head);
	size_t left;

	if (connection->got < head) {
		*to = (char *)&connection->head + connection->got;
		return head - connection->got;
	}
	left = head + be64toh(connection->head.length) - connection->got;
	if (is_load(&connection->head)) {
		*to = connection->text;
		return left < LOAD_ROOM ? left : LOAD_ROOM;
	}
	*to = connection->text + (connection->got - head);
	return left;
}

/* The head of a question is here. False: the connection is to end. */
static bool take_head(struct exec_server *server, struct connection *connection)
{
	const struct exec_wire *head = &connection->head;

	if (!is_ours(server, head))
		return false;
	if (!connection->known)
		connection->until += CONNECTION_TIME - HEAD_TIME;
	connection->known = true;
	connection->text =
		calloc(is_load(head) ? LOAD_ROOM : be64toh(head->length) + 1, 1);
	return connection->text != NULL;
}

/* False: the connection is to end. */
static bool read_more(struct exec_server *server, struct connection *connection)
{
	char *to;
	size_t want = next_bytes(connection, &to);

	for (int turn = 0; turn < TURNS && want; turn++) {
		ssize_t got = recv(connection->fd, to, want, 0);

		if (got < 0)
			return errno == EAGAIN || errno == EINTR;
		if (got == 0)
			return false;
		connection->got += (size_t)got;
		if (connection->got == sizeof(connection->head) && !connection->text &&
		    !take_head(server, connection))
			return false;
		want = next_bytes(connection, &to);
	}
	return want || answer(server, connection);
}

/* False: the connection is to end. */
static bool write_more(struct connection *connection)
{
	ssize_t sent = send(connection->fd, connection->answer + connection->sent,
			    connection->length - connection->sent, MSG_NOSIGNAL);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	connection->sent += (size_t)sent;
	return true;
}

static bool is_busy(const struct connection *connection)
{
	return connection->sent < connection->length;
}

static void serve(struct exec_server *server, const struct pollfd *polled)
{
	time_t now = exec_seconds_now();

	/* From the last, which takes the place of one that is dropped. */
	for (uint32_t i = server->count; i-- > 0;) {
		struct connection *connection = &server->connections[i];
		bool stays = now < connection->until;

		if (stays && polled[i].revents)
			stays = is_busy(connection) ? write_more(connection)
						    : read_more(server, connection);
		/* Most answers go at once. */
		if (stays && is_busy(connection))
			stays = write_more(connection);
		if (!stays)
			drop(server, i);
	}
}

static void *run(void *arg)
{
	struct exec_server *server = arg;
	struct pollfd polled[1 + SOCKETS_MAX + CONNECTIONS_MAX];

	for (;;) {
		struct pollfd *next = polled;
		bool full = server->count == CONNECTIONS_MAX || server->starved;

		*next++ = (struct pollfd){server->wake, POLLIN, 0};
		for (uint32_t i = 0; i < server->sockets_count; i++)
			*next++ = (struct pollfd){full ? -1 : server->sockets[i], POLLIN,
						  0};
		for (uint32_t i = 0; i < server->count; i++) {
			const struct connection *connection = &server->connections[i];

			*next++ = (struct pollfd){connection->fd,
						  is_busy(connection) ? POLLOUT : POLLIN,
						  0};
		}
		if (poll(polled, (nfds_t)(next - polled),
			 server->starved ? STARVED_TIME : 1000) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (polled[0].revents)
			break;
		server->starved = false;
		serve(server, polled + 1 + server->sockets_count);
		for (uint32_t i = 0; i < server->sockets_count; i++) {
			if (polled[1 + i].revents)
				take(server, server->sockets[i]);
		}
	}
	while (server->count)
		drop(server, 0);
	return NULL;
}

static void close_all(struct exec_server *server)
{
	for (uint32_t i = 0; i < server->sockets_count; i++)
		close(server->sockets[i]);
	if (server->wake >= 0)
		close(server->wake);
	for (uint32_t i = 0; i < server->records_count; i++)
		free(server->records[i].text);
	free(server->records);
	free(server->listing);
	free(server);
}

int exec_server_start(struct exec_server **server, const int *sockets, uint32_t count,
		      const struct exec_service *service)
{
	struct exec_server *new = calloc(1, sizeof(*new));
	struct exec_server_record *room = calloc(2 * service->records + 1, sizeof(*room));
	int r;

	*server = NULL;
	if (!new || !room) {
		free(new);
		free(room);
		for (uint32_t i = 0; i < count; i++)
			close(sockets[i]);
		return -ENOMEM;
	}
	memcpy(new->sockets, sockets, count * sizeof(*sockets));
	new->sockets_count = count;
	new->tokens = service->tokens;
	new->loads = service->loads;
	new->records = room;
	new->room[0] = new->room[1] = service->records;
	new->wake = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&new->mutex, NULL);
	exec_cond_init(&new->changed);
	r = new->wake < 0 ? -errno : exec_thread_start(&new->thread, run, new);
	if (r) {
		close_all(new);
		return r;
	}
	*server = new;
	return 0;
}

void exec_server_trust(struct exec_server *server, uint64_t secret)
{
	pthread_mutex_lock(&server->mutex);
	server->tokens.secret = secret;
	pthread_mutex_unlock(&server->mutex);
}

void exec_server_offer(struct exec_server *server, const char *text)
{
	char *copy = strndup(text, EXEC_WIRE_TEXT_MAX);

	/* No line feed: it has been cut. */
	if (copy && strlen(text) > EXEC_WIRE_TEXT_MAX)
		copy[EXEC_WIRE_TEXT_MAX - 1] = '?';
	pthread_mutex_lock(&server->mutex);
	free(server->listing);
	server->listing = copy;
	pthread_mutex_unlock(&server->mutex);
}

uint32_t exec_server_collect(struct exec_server *server, uint32_t count,
			     unsigned int seconds, struct exec_server_record **records)
{
	const struct timespec until = exec_time_in(seconds * 1000);
	int r = 0;

	pthread_mutex_lock(&server->mutex);
	while (server->records_count < count && r == 0)
		r = pthread_cond_timedwait(&server->changed, &server->mutex, &until);
	*records = server->records;
	count = server->records_count;
	server->records = NULL;
	server->records_count = server->room[0] = server->room[1] = 0;
	pthread_mutex_unlock(&server->mutex);
	return count;
}

void exec_server_stop(struct exec_server **server)
{
	const uint64_t one = 1;

	if (!*server)
		return;
	while (write((*server)->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join((*server)->thread, NULL);
	close_all(*server);
	*server = NULL;
}
