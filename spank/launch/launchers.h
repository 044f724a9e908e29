/* SPDX-License-Identifier: MIT */
/*
 * The launchers: which shape of step each needs and which variables it reads. This one
 * table drives the plugin, `srank exec`, the generator, `srank explain` and the manual.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum launch_shape {
	LAUNCH_WORKER, /* one task per worker (GPU) */
	LAUNCH_NODE,   /* one task per node, which forks the workers */
};

/* What a variable's value is made from; see environment.c for the rule of each. */
enum launch_value {
	LAUNCH_VALUE_TEXT, /* the text itself */
	LAUNCH_VALUE_RANK,
	LAUNCH_VALUE_WORLD_SIZE,
	LAUNCH_VALUE_LOCAL_RANK,
	LAUNCH_VALUE_LOCAL_SIZE,
	LAUNCH_VALUE_NODE_RANK,
	LAUNCH_VALUE_NNODES,
	LAUNCH_VALUE_CROSS_RANK, /* place of the node among the following */
	LAUNCH_VALUE_CROSS_SIZE, /* nodes that have a task with its local rank */
	LAUNCH_VALUE_NPROC, /* workers of the node: GPUs that the task sees, if any */
	LAUNCH_VALUE_ADDR,
	LAUNCH_VALUE_LOCAL_ADDR, /* this node's own address */
	LAUNCH_VALUE_PORT,
	LAUNCH_VALUE_ENDPOINT, /* addr:port, [v6]:port */
	LAUNCH_VALUE_RUN_ID,   /* the same in every task of a step and in no other step */
	LAUNCH_VALUE_ELASTIC,  /* MIN:MAX */
	LAUNCH_VALUE_IS_HOST,  /* is_host=1 on the node of MASTER_ADDR, else is_host=0,
				  behind what the user has set */
	LAUNCH_VALUE_TF_CONFIG,
};

enum launch_when {
	LAUNCH_ALWAYS,
	LAUNCH_STATIC,  /* without elastic= */
	LAUNCH_ELASTIC, /* with elastic= */
};

struct launch_variable {
	const char *name;
	enum launch_value value;
	enum launch_when when;
	const char *text; /* for LAUNCH_VALUE_TEXT */
	bool keep;        /* a user's own value stays */
	bool device;      /* programs take it for the index of their GPU: see local=0 */
};

struct launch_launcher {
	const char *name;
	enum launch_shape shape;
	const char *summary;                     /* one line for `srank launchers` */
	const struct launch_variable *variables; /* besides the shape's common set; ended
						    by a NULL name; NULL: none */
	bool bare; /* no common set either: the ranks come from PMIx */
	/* Variables that would undo the above and are removed; ended by NULL, or NULL. */
	const char *const *removes;
	/* How a command line begins that is this launcher's own program, ended by NULL;
	 * NULL: any program may be meant. "-m" is Python's. */
	const char *const *calls;
};

/* All launchers in the order in which they are shown; COUNT of them. */
extern const struct launch_launcher launch_launchers[];
extern const size_t launch_launchers_count;

/* By name; NULL when there is none. `auto` is not in the table. */
const struct launch_launcher *launch_launcher_find(const char *name);

/*
 * The launcher whose own program the command line PROGRAM (ended by NULL) starts, by the
 * file's name, with an interpreter in front or not: "/opt/bin/torchrun train.py",
 * "python3 -m torch.distributed.run". NULL when it is none.
 */
const struct launch_launcher *launch_launcher_of(char *const *program);

/* Whether LAUNCHER (NULL: auto) sets a variable of this VALUE. */
bool launch_launcher_takes(const struct launch_launcher *launcher,
			   enum launch_value value);

/*
 * Prints what every task gets, then each launcher with its shape and variables and what
 * their values are made from, as the Markdown page docs/launchers.md.
 */
void launch_launchers_describe(FILE *out);

/* The common set of SHAPE, but MASTER_ADDR and MASTER_PORT; ended by a NULL name. */
const struct launch_variable *launch_shape_variables(enum launch_shape shape);

/* "worker" or "node". */
const char *launch_shape_name(enum launch_shape shape);
