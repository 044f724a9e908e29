/* SPDX-License-Identifier: MIT */
/*
 * The end of a connection that listens: a thread which answers the other ranks of the
 * step, and nobody else, while the task goes on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct exec_server;

/*
 * Listens on PORT of all addresses, both families where there are both, as PyTorch's
 * TCPStore does; 0 takes any. Returns the socket, or -EADDRINUSE and the like; *PORT is
 * then unchanged.
 */
int exec_listen(uint16_t *port);

/*
 * Who may ask. Without PMIx all that ranks have in common is the number of the step,
 * which anybody can know: that is enough to ask for the time, or to leave a record, which
 * is read as a stranger's. The secret is for names of files, and makes a record a rank's.
 */
struct exec_tokens {
	uint64_t step;
	uint64_t secret; /* 0: there is none, and nobody has it */
};

struct exec_service {
	struct exec_tokens tokens;
	uint32_t records; /* so many are kept of ranks, and as many of strangers */
	bool loads;       /* EXEC_WIRE_LOAD is served */
};

struct exec_server_record {
	char *text;   /* to be freed; may be anything */
	bool trusted; /* by the secret */
};

/*
 * Serves the connections that come to SOCKETS (COUNT, at most 2), which are taken over.
 * -ENOMEM or another -errno; the sockets are then closed, with -ENOMEM too.
 */
int exec_server_start(struct exec_server **server, const int *sockets, uint32_t count,
		      const struct exec_service *service);

/* From now on SECRET is the one; before, it is what the tokens say. */
void exec_server_trust(struct exec_server *server, uint64_t secret);

/* TEXT is from now on the answer to EXEC_WIRE_LISTING; it is copied. */
void exec_server_offer(struct exec_server *server, const char *text);

/*
 * Waits for COUNT records, SECONDS at most, and hands over those that have come, in no
 * order: *RECORDS, to be freed. Returns how many there are. None is taken any more.
 */
uint32_t exec_server_collect(struct exec_server *server, uint32_t count,
			     unsigned int seconds, struct exec_server_record **records);

/* Ends the thread, and closes all. */
void exec_server_stop(struct exec_server **server);
