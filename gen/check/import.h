/* SPDX-License-Identifier: MIT */
/*
 * Script -> spec in three files: import.c reads the header, the command and the code
 * around it, import_step.c what the step's own options say, import_srank.c what this
 * project's plugin and `srank exec` are told.
 */
#pragma once

#include "gen/check/rules.h"

#include "spank/launch/settings.h"

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
	const struct check_command *exec; /* srank exec around it; NULL: none */
	struct launch_settings settings;  /* of the plugin, or of srank exec */
	const char *named; /* the launcher that they name; NULL: the command's own */
	char *expanded;    /* the set-up's line that expands the command; NULL: none */
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

/* The launcher of the spec: "torchrun". */
const char *check_import_launcher(const struct import *import);

/* Variables that hide GPUs: CUDA_VISIBLE_DEVICES and its like. */
bool check_import_is_mask(const char *name);

/* The sections `binding` and `srun`, from srun's options or from mpirun's. */
void check_import_step(struct import *import);

/*
 * Reads what the plugin or srank exec is told into import->settings and ->named.
 * STRIPPED: the command names a launcher itself.
 */
void check_import_settings(struct import *import, bool stripped);

/* The keys of SECTION that the settings have. False: there are none. */
bool check_import_told(struct import *import, const char *section);

/* `srank gen` has made the script. */
bool check_import_is_ours(const struct check_model *model);

/* COMMAND, which starts the ranks, runs what `srank gen` writes for `plugin: off`. */
bool check_import_is_off(const struct check_model *model,
			 const struct check_command *command);

/* The command at RANGE is one that `srank gen` puts into each script. */
bool check_import_is_made(const struct check_model *model, struct script_range range);

/* The same for LINE, a comment. */
bool check_import_is_remark(const struct check_model *model, struct script_range line);
