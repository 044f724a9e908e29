/* SPDX-License-Identifier: MIT */
/*
 * What was asked for: arguments in plugstack.conf, SRANK= in the environment, and
 * --srank.
 */
#pragma once

#include "spank/launch/error.h"
#include "spank/launch/settings.h"

#include <slurm/spank.h>
#include <stdio.h>

/*
 * Reads the arguments of the plugstack.conf line. A bad one is remembered and told by
 * srank_options_resolve() to those who ask for the plugin, and to nobody else.
 */
void srank_options_site(int argc, char **argv);

/* Registers --srank; in slurm_spank_init only, the only place where Slurm allows it. */
void srank_options_register(spank_t spank);

/*
 * For the batch step: takes the option as its script has it, SRANK_OPTION_OF_SCRIPT,
 * unless slurmstepd handed it over. NULL: the script has none.
 */
void srank_options_inherit(const char *argument);

/*
 * The settings that hold: built-in < plugstack.conf < ENVIRONMENT (the value of SRANK;
 * NULL: not set) < --srank. settings->on says whether anything is to be done at all.
 * -EINVAL with ERR, which says where the fault is; settings->on is then true, for whoever
 * asked must be told. Where nobody asked and default=on alone would switch it on, a fault
 * in plugstack.conf switches it off: 0 with ERR, which is for the administrator.
 */
int srank_options_resolve(const char *environment, struct launch_settings *settings,
			  struct launch_error *err);

/* Prints launchers and keys, what the site has made of them, and its mistake, if any. */
void srank_options_help(FILE *out);

/* sysroot= in plugstack.conf: where /proc and /sys are read below; "" without it. */
const char *srank_options_sysroot(void);

/* Forgets all of it. */
void srank_options_clear(void);
