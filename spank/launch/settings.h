/* SPDX-License-Identifier: MIT */
/*
 * The settings of a launch: what `--srank=LIST`, SRANK=LIST and the arguments in
 * plugstack.conf say. One table of keys parses all three, prints `--srank=help` and feeds
 * the manual.
 */
#pragma once

#include "spank/launch/error.h"
#include "spank/launch/launchers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum launch_gpus_mode {
	LAUNCH_GPUS_ORDER,
	LAUNCH_GPUS_MASK,
	LAUNCH_GPUS_FIRST,
	LAUNCH_GPUS_MAP,
	LAUNCH_GPUS_NONE,
};

/* Which address of rank 0's node becomes MASTER_ADDR. */
enum launch_addr_mode {
	LAUNCH_ADDR_NAME,     /* its name */
	LAUNCH_ADDR_IP,       /* what a resolver makes of the name */
	LAUNCH_ADDR_NODEADDR, /* NodeAddr in slurm.conf */
};

/* Outside Linux's default range of client ports, 32768-60999 (ip_local_port_range). */
#define LAUNCH_PORT_LOW  20000
#define LAUNCH_PORT_HIGH 29999

struct launch_settings {
	bool on;      /* act in this step */
	bool asked;   /* by the user, and not by default=on alone */
	bool help;    /* print the keys and do nothing else */
	bool verbose; /* table at rank 0 */
	const struct launch_launcher *launcher; /* NULL: auto */
	enum launch_gpus_mode gpus;
	char gpus_map[256];           /* text behind map: */
	bool local_zero;              /* local=0 */
	uint16_t port;                /* port=N; 0: by rule */
	uint16_t port_low, port_high; /* ports=LO-HI */
	enum launch_addr_mode addr;
	char suffix[64];  /* inserted before the first dot of the host name */
	char domain[192]; /* appended behind the host name, without leading dot */
	bool busy_warns;  /* busy=warn */
	bool omp_keep;    /* omp=keep */
	uint32_t elastic_min, elastic_max; /* elastic=MIN:MAX; 0: static */
	/* What the site keeps to itself. */
	uint32_t locked;     /* bit i: the value of launch_keys[i] is fixed */
	char forbidden[256]; /* keys, KEY=VALUE and launchers, between colons */
};

/* Where a key may stand. */
enum launch_key_place {
	LAUNCH_KEY_JOB = 1,  /* --srank= and SRANK= */
	LAUNCH_KEY_SITE = 2, /* plugstack.conf */
	LAUNCH_KEY_ANY = 3,
};

/* One key, for the parser, for help texts and for the manual. */
struct launch_key {
	const char *name;   /* "gpus" */
	const char *values; /* "order|mask|first|map:LIST|none"; NULL: takes none */
	enum launch_key_place where;
	/* Reads VALUE (NULL for a bare word) into SETTINGS; -EINVAL with ERR. */
	int (*set)(const struct launch_key *key, struct launch_settings *settings,
		   const char *value, struct launch_error *err);
	const char *help; /* one line */
	/* Writes the value in SETTINGS as it would be set; NULL: it cannot be locked. */
	void (*show)(const struct launch_settings *settings, char *text, size_t size);
	const char *bare; /* what the name alone stands for; NULL: it needs a value */
};

/* The keys, ended by a NULL name. Launchers' names are words, too: see launchers.h. */
extern const struct launch_key launch_keys[];

/* Built-in defaults: off, auto, gpus=order, ports 20000-29999. */
void launch_settings_init(struct launch_settings *settings);

/*
 * Applies LIST ("torchrun,gpus=none,verbose") on top of SETTINGS; a later entry wins. An
 * empty list is NULL, too, and Slurm's literal "(null)" for an option without argument. A
 * list in which no later `off` or `help` stands switches on. Every key has a value that
 * undoes what an earlier list has set, and naming a launcher that has no use for it drops
 * an earlier list's elastic=. -EINVAL with ERR naming the entry, what is wrong and the
 * nearest known key, launcher or value, or that the site has locked or forbidden it;
 * SETTINGS is then unchanged. The caller says where the list came from.
 */
int launch_settings_parse(struct launch_settings *settings, const char *list,
			  struct launch_error *err);

/*
 * Applies one argument of plugstack.conf: the same keys but on, off and help, and
 * default=on|off, lock=KEY[:KEY...] (a list may then not change the values of these keys;
 * `default` stands for on and off) and forbid=WORD[:WORD...] (keys, KEY=VALUE and
 * launchers that no list may have). Does not switch on by itself. Errors as above.
 */
int launch_settings_site(struct launch_settings *settings, const char *argument,
			 struct launch_error *err);

/*
 * Prints the keys and launchers, as `--srank=help` shows them, and how SITE, what
 * plugstack.conf has made of the defaults, differs from them. NULL: not known here.
 */
void launch_settings_help(FILE *out, const struct launch_settings *site);
