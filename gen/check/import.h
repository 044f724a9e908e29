/* SPDX-License-Identifier: MIT */
/*
 * Script -> spec in two files: import.c reads the header, the command and the code around
 * it, import_step.c what the step's own options say.
 */
#pragma once

#include "gen/check/rules.h"

struct import {
	struct check_model *model;
	struct diag *diag;
	FILE *out;
	const char *section; /* that was begun last */
	const struct check_launch *launch;
	bool node_shape;
	/* Around the launch in its step: the container, what is run when something else
	 * is there that no key has a name for, and that something. NULL: none. */
	const struct check_command *container, *whole, *odd;
	char *expanded; /* the set-up's line that expands the command; NULL: none */
};

/* TEXT as a value, in quotes where YAML needs them. */
void check_import_scalar(FILE *out, const char *text);

/* Begins the line of key NAME in SECTION, "" for the top; the caller ends it. */
void check_import_key(struct import *import, const char *section, const char *name);

/* The line `NAME: TEXT` in SECTION. */
void check_import_say(struct import *import, const char *section, const char *name,
		      const char *text);

/* The same for an option without a value (TEXT is NULL or ""), or with one of its words.
 */
void check_import_flag(struct import *import, const char *section, const char *name,
		       const char *text);

/* Tells what is not the same in the spec. */
void check_import_note(struct import *import, struct script_range range,
		       const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Without a spec, which would run something else: no spec is written after this. */
void check_import_refuse(struct import *import, struct script_range range,
			 const char *fix, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The launcher of the spec for LAUNCH: "torchrun". */
const char *check_import_launcher(const struct check_launch *launch);

/* Variables that hide GPUs: CUDA_VISIBLE_DEVICES and its like. */
bool check_import_is_mask(const char *name);

/* The sections `binding` and `srun`, from srun's options or from mpirun's. */
void check_import_step(struct import *import);
