/* SPDX-License-Identifier: MIT */
/*
 * What goes over a connection of `srank doctor`: a question of fixed size, perhaps with a
 * text behind it, and an answer likewise. Numbers are big-endian. Both ends show a token,
 * so that another program, or another step, is told apart; and an answer does not begin
 * as its question, or whoever sends back what he hears would pass for a rank.
 */
#pragma once

#include <stdint.h>

#define EXEC_WIRE_QUESTION "srankdq1"
#define EXEC_WIRE_ANSWER   "srankda1"

enum exec_wire_op {
	EXEC_WIRE_PING = 1,    /* the time, and as many bytes as come behind it */
	EXEC_WIRE_LISTING = 2, /* the listing of the trees */
	EXEC_WIRE_RECORD = 3,  /* a record comes behind it */
	EXEC_WIRE_LOAD = 4,    /* bytes come behind it that are only counted */
};

struct exec_wire {
	char magic[8];
	uint64_t token;
	uint64_t word;   /* question: enum exec_wire_op; answer: CLOCK_REALTIME in ns */
	uint64_t length; /* of the text that follows */
};

/* Longest text, either way; and most bytes of one load. */
#define EXEC_WIRE_TEXT_MAX (4 << 20)
#define EXEC_WIRE_LOAD_MAX (1 << 30)
