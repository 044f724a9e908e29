/* SPDX-License-Identifier: MIT */
/*
 * The network's part of `srank doctor`: where the ranks are to meet, whether each node
 * comes there, and whether any two nodes come together.
 */
#pragma once

#include "spank/exec/names.h"
#include "spank/exec/pmix.h"
#include "spank/exec/server.h"
#include "spank/exec/source.h"
#include "spank/launch/error.h"
#include "spank/launch/facts.h"
#include "spank/launch/rendezvous.h"
#include "spank/launch/settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Up to so many nodes, each pair has a connection of its own; from there on a node goes
 * to those at the distances 1, 2, 4, 8... */
#define EXEC_MESH_FULL 64

/* How long a connection and a name may take, in ms: a lost packet is sent again after 1 s
 * (TCP_TIMEOUT_INIT in Linux's include/net/tcp.h). */
#define EXEC_MEET_TIME 3000

struct exec_meeting {
	const struct launch_facts *facts;
	const struct launch_settings *settings;
	bool served; /* the environment is that of the ranks */
	bool leader; /* first task of its node */
	/* What the ranks will have. */
	char addr[LAUNCH_ADDR_MAX]; /* "": it could not be told */
	uint16_t port;
	/* What is tested. */
	uint16_t open_port; /* where rank 0 listens: PORT, unless it is held */
	struct exec_tokens tokens;
	int sockets[2];
	uint32_t sockets_count;
	uint16_t own_port;           /* of the leader, for the mesh */
	char held[LAUNCH_ERROR_MAX]; /* who has PORT; "": nobody */
	/* As this node sees it. */
	struct exec_interfaces interfaces;
	struct exec_resolved master;
	struct sockaddr_storage own; /* how others come here */
	int own_interface;           /* with that address; -1: there is none */
	/* And to rank 0, as it says itself with PMIx: by MASTER_ADDR, and as to others.
	 */
	struct sockaddr_storage head[2];
};

/*
 * Settles addr, and on rank 0 the port, and opens what is to listen. ERR has what the
 * rules of the launch refuse; the meeting goes on without it. -errno: nothing works here.
 */
int exec_meeting_open(struct exec_meeting *meeting, bool alone, struct launch_error *err);

/* For a task that is told nothing: what all ranks know by themselves is settled. */
void exec_meeting_alone(struct exec_meeting *meeting);

/* Puts what the others must know, for all; and reads it after the fence: -EIO with ERR.
 */
int exec_meeting_put(const struct exec_meeting *meeting, struct exec_pmix *pmix,
		     struct launch_error *err);
int exec_meeting_get(struct exec_meeting *meeting, struct exec_pmix *pmix,
		     struct launch_error *err);

/* Tries the way to rank 0, SECONDS long while it is refused, and writes what comes of it
 * into OUT, as a record. REACHED, unless it is NULL, is the address that was reached. */
bool exec_meeting_reach(const struct exec_meeting *meeting, unsigned int seconds,
			FILE *out, struct sockaddr_storage *reached);

/*
 * Leaves TEXT, a record and shorter than EXEC_RECORD_MAX, with rank 0: by the address
 * that was REACHED, or by the one that rank 0 has told. False: neither leads there.
 */
bool exec_meeting_send(const struct exec_meeting *meeting,
		       const struct sockaddr_storage *reached, const char *text);

/* How long a task's tries may take in all, in seconds; MESHED: with those by PMIx. */
unsigned int exec_meeting_time(const struct exec_meeting *meeting, bool meshed);

/* Where each of RANKS (COUNT entries), leaders, waits, as PMIx has it; zeroed: unknown.
 */
int exec_meeting_find(struct exec_pmix *pmix, const uint32_t *ranks, uint32_t count,
		      struct sockaddr_storage *addresses);

/* Tries the ways to the other nodes of LAYOUT. */
void exec_meeting_mesh(const struct exec_meeting *meeting, struct exec_pmix *pmix,
		       const struct exec_layout *layout, FILE *out);

/*
 * How much goes to the next node of LAYOUT while all nodes send to their next ones, as in
 * a ring of NCCL's.
 */
void exec_meeting_load(const struct exec_meeting *meeting, struct exec_pmix *pmix,
		       const struct exec_layout *layout, FILE *out);

/* Where this task would go, by what it alone knows. */
void exec_meeting_put_own(const struct exec_meeting *meeting, FILE *out);

/* Names, interfaces and what variables say of them. */
void exec_meeting_describe(const struct exec_meeting *meeting, FILE *out);

/* Where the leader whose record has "listen" waits. -EINVAL. */
int exec_meeting_parse(const char *text, struct sockaddr_storage *address);
