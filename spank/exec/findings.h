/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with a step, by what its tasks have found out: one table of rules, each
 * with its cause and its cure.
 */
#pragma once

#include "spank/exec/record.h"

#include <stdbool.h>
#include <stdint.h>

enum exec_severity {
	EXEC_ERROR,   /* the run would not start, or hang */
	EXEC_WARNING, /* it would start, but hardly as it was meant */
};

struct exec_rule {
	const char *name; /* "address-loopback" */
	enum exec_severity severity;
	const char *cause; /* what mostly stands behind it */
	const char *cure;  /* what to do */
};

/* All rules, ended by a NULL name. */
extern const struct exec_rule exec_rules[];

struct exec_finding {
	const struct exec_rule *rule;
	char *text;
	char **place;    /* "node2", "rank 3 on node2" */
	uint32_t places; /* 0: the step */
};

struct exec_verdict {
	struct exec_finding *findings; /* errors first, in the order of the rules */
	uint32_t count;
	uint32_t errors, warnings;
	bool lost; /* one was lost for want of memory; it is counted */
};

/* All that rank 0 knows. */
struct exec_world {
	uint32_t ntasks, nnodes;
	const struct exec_record *records; /* by rank; an empty one has not come */
	const char *addr;                  /* MASTER_ADDR; NULL: it could not be told */
	uint16_t port;                     /* MASTER_PORT; 0: likewise */
	/* By rank, its node in NODES (NODES_COUNT names); NULL: not known. */
	const uint32_t *node_of;
	char *const *nodes;
	uint32_t nodes_count;
	bool meshed;              /* PMIx has brought the ranks together */
	bool apart;               /* it should have, and has not */
	bool unjoined;            /* it is not set up to */
	bool unmeasured;          /* the bandwidth could not be measured */
	unsigned int seconds;     /* that the ranks were waited for */
	const char *const *trees; /* the paths given */
	uint32_t trees_count;
	/* By tree: which files make the difference to rank 0's node; "" or NULL: this is
	 * not known. */
	char *const *differences;
};

/* Judges WORLD; VERDICT, which must be zeroed, is to be cleared. */
void exec_judge(struct exec_verdict *verdict, const struct exec_world *world);

void exec_verdict_clear(struct exec_verdict *verdict);

/* "error", "warning". */
const char *exec_severity_name(enum exec_severity severity);

/*
 * The place of a finding in words, of which the first four are named, "node1, node2,
 * node3, node4 and 3 more"; "" for the step.
 */
void exec_finding_place(const struct exec_finding *finding, char *text, size_t size);

/*
 * The rule that a single task's own record breaks on the way to rank 0, where it cannot
 * even send it there. AT_HEAD: it is on rank 0's node, which may well call itself
 * 127.0.1.1.
 */
const struct exec_rule *exec_rule_of_way(const struct exec_record *record, bool at_head);
