/* SPDX-License-Identifier: MIT */
/*
 * The end of a connection that goes out: whether it can be made, how long an answer
 * takes, how far the clocks are apart; and what keeps it from being made.
 */
#pragma once

#include "spank/exec/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum exec_reached {
	EXEC_REACHED,
	EXEC_REFUSED,     /* the host says that nobody listens */
	EXEC_UNREACHABLE, /* no way there: no route, prohibited */
	EXEC_FILTERED,    /* no answer at all */
	EXEC_OTHER,       /* somebody answers, but not a rank of this step */
	EXEC_SILENT,      /* the connection is taken, and nothing comes of it */
	EXEC_SMALL_ONLY,  /* a few bytes come through, and many do not */
	EXEC_NO_ADDRESS,  /* it was not told where to try */
	EXEC_FAILED_HERE, /* no socket, no memory: nothing is known */
	EXEC_REACHED_COUNT,
};

/* "reached", "refused", ... : the words of a record. */
extern const char *const exec_reached_names[EXEC_REACHED_COUNT];

struct exec_target {
	/* Set before. */
	struct sockaddr_storage address; /* with its port; zeroed: it is not known */
	uint64_t token;
	enum exec_wire_op op;
	const char *text; /* EXEC_WIRE_RECORD: shorter than EXEC_RECORD_MAX */
	bool large;       /* EXEC_WIRE_PING: with many bytes, too, there and back */
	/* Set after. */
	enum exec_reached reached;
	int error;          /* errno of the connection; 0: none */
	int64_t round_trip; /* the shortest of some, in ns */
	int64_t ahead;      /* the clock there before ours, in ns */
	int64_t rate;       /* EXEC_WIRE_LOAD: bytes a second */
	char *answer;       /* EXEC_WIRE_LISTING: to be freed; NULL: none */
};

/* Asks all of COUNT targets at once, and waits MILLISECONDS at most. */
void exec_reach(struct exec_target *targets, uint32_t count, unsigned int milliseconds);

/* Length of the address, by its family; 0: of no family that is known here. */
socklen_t exec_address_length(const struct sockaddr_storage *address);

void exec_address_set_port(struct sockaddr_storage *address, uint16_t port);

/* The number of the address, without port; "?" when it has none. */
void exec_address_text(const struct sockaddr_storage *address, char *text, size_t size);

/* The address that is written in TEXT as a number, with PORT. -EINVAL: it is none. */
int exec_address_parse(struct sockaddr_storage *address, const char *text, uint16_t port);
