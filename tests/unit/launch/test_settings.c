/* SPDX-License-Identifier: MIT */
/* Settings and the launchers that they name: one row for each key, value and mistake. */
#include "spank/launch/settings.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* All of SETTINGS that differs from the defaults, in one line. */
static void describe(const struct launch_settings *settings, char *text, size_t size)
{
	static const char *const modes[] = {"order", "mask", "first", "map", "none"};
	static const char *const addrs[] = {"name", "ip", "nodeaddr"};
	FILE *out = fmemopen(text, size, "w");

	assert_non_null(out);
	fprintf(out, "%s", settings->on ? "on" : "off");
	if (settings->help)
		fprintf(out, " help");
	if (settings->verbose)
		fprintf(out, " verbose");
	if (settings->launcher)
		fprintf(out, " launcher=%s", settings->launcher->name);
	if (settings->gpus != LAUNCH_GPUS_ORDER)
		fprintf(out, " gpus=%s", modes[settings->gpus]);
	if (settings->gpus_map[0])
		fprintf(out, ":%s", settings->gpus_map);
	if (settings->local_zero)
		fprintf(out, " local=0");
	if (settings->port)
		fprintf(out, " port=%u", settings->port);
	if (settings->port_low != 20000 || settings->port_high != 29999)
		fprintf(out, " ports=%u-%u", settings->port_low, settings->port_high);
	if (settings->addr)
		fprintf(out, " addr=%s", addrs[settings->addr]);
	if (settings->suffix[0])
		fprintf(out, " suffix=%s", settings->suffix);
	if (settings->domain[0])
		fprintf(out, " domain=%s", settings->domain);
	if (settings->busy_warns)
		fprintf(out, " busy=warn");
	if (settings->omp_keep)
		fprintf(out, " omp=keep");
	if (settings->elastic_max)
		fprintf(out, " elastic=%u:%u", settings->elastic_min,
			settings->elastic_max);
	fclose(out);
}

static void test_lists(void **state)
{
	static const struct {
		const char *list, *settings;
	} rows[] = {
		/* The three ways in which Slurm hands on an option without argument. */
		{NULL, "on"},
		{"", "on"},
		{"(null)", "on"},
		{",", "on"},
		{"on", "on"},
		{"off", "off"},
		{"off,verbose", "off verbose"},
		{"off,on", "on"},
		{"torch,off", "off launcher=torch"},
		{"help", "off help"},
		{"verbose", "on verbose"},
		{"torchrun", "on launcher=torchrun"},
		{"launcher=torchrun", "on launcher=torchrun"},
		{"torchrun,torch", "on launcher=torch"},
		{"torchrun,auto", "on"},
		{"torchrun,launcher=auto", "on"},
		{"gpus=order", "on"},
		{"gpus=mask", "on gpus=mask"},
		{"gpus=first", "on gpus=first"},
		{"gpus=none", "on gpus=none"},
		{"gpus=map:0", "on gpus=map:0"},
		{"gpus=map:0-3,7*2,verbose", "on verbose gpus=map:0-3,7*2"},
		{"gpus=map:3,2,1,0,torch", "on launcher=torch gpus=map:3,2,1,0"},
		{"gpus=map:0+1,2+3", "on gpus=map:0+1,2+3"},
		{"gpus=map:GPU-8f6c,MIG-1a/2/0,port=1",
		 "on gpus=map:GPU-8f6c,MIG-1a/2/0 port=1"},
		{"gpus=map:0,1,gpus=none", "on gpus=none"},
		{"local=0", "on local=0"},
		{"gpus=mask,local=0", "on gpus=mask local=0"},
		{"local=0,local=rank", "on"},
		{"port=1", "on port=1"},
		{"port=65535", "on port=65535"},
		{"ports=1-65535", "on ports=1-65535"},
		{"ports=30000-30000", "on ports=30000-30000"},
		{"port=1,ports=30000-30009", "on ports=30000-30009"},
		{"port=1,port=auto", "on"},
		{"addr=ip", "on addr=ip"},
		{"addr=nodeaddr", "on addr=nodeaddr"},
		{"addr=ip,addr=name", "on"},
		{"suffix=-ib0", "on suffix=-ib0"},
		{"suffix=i,suffix=", "on"},
		{"domain=cluster.local", "on domain=cluster.local"},
		{"domain=.cluster.local", "on domain=cluster.local"},
		{"busy=warn", "on busy=warn"},
		{"busy=warn,busy=fail", "on"},
		{"omp=keep", "on omp=keep"},
		{"omp=keep,omp=set", "on"},
		{"elastic=1:4", "on elastic=1:4"},
		{"elastic=2:2", "on elastic=2:2"},
		{"elastic=2:2,elastic=off", "on"},
		/* Of one list, in any order, for launch_environment() to judge. */
		{"elastic=1:2,torch", "on launcher=torch elastic=1:2"},
		{"verbose=on", "on verbose"},
		{"verbose,verbose=off", "on"},
		{" torchrun , gpus=none ,, verbose ",
		 "on verbose launcher=torchrun gpus=none"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings;
		struct launch_error err = {0};
		char text[512];

		launch_settings_init(&settings);
		if (launch_settings_parse(&settings, rows[i].list, &err))
			fail_msg("%s: %s", rows[i].list, err.text);
		assert_false(launch_error_is_set(&err));
		describe(&settings, text, sizeof(text));
		assert_string_equal(text, rows[i].settings);
	}
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *list;
		const char *text; /* the error begins with it */
	} rows[] = {
		{"torchun", "torchun: no such key or launcher; did you mean torchrun?"},
		{"verbos", "verbos: no such key or launcher; did you mean verbose?"},
		{"gpsu=none", "gpsu: no such key; did you mean gpus?"},
		{"prot=1", "prot: no such key; did you mean port?"},
		{"verbos=1", "verbos: no such key; did you mean verbose?"},
		{"prts", "prts: no such key or launcher; did you mean ports=?"},
		/* --srank==5 */
		{"=5", "=5: no key stands before the \"=\"; write KEY=VALUE, such as "
		       "port=29500 (--srank=help lists the keys)"},
		{"torch,=", "=: no key stands before the \"=\"; write KEY=VALUE"},
		{"quantum", "quantum: no such key or launcher; --srank=help lists them"},
		{"quantum=1", "quantum: no such key; --srank=help lists them"},
		{"gpus=ordr", "gpus=ordr: no such value; did you mean gpus=order? "
			      "(order|mask|first|map:LIST|none)"},
		{"gpus=7", "gpus=7: expected gpus=order|mask|first|map:LIST|none"},
		{"gpus=", "gpus=: expected gpus=order|mask|first|map:LIST|none"},
		{"gpus=map", "gpus=map: expected gpus=order|mask|first|map:LIST|none"},
		{"gpus=map:", "gpus=map:: expected device indices"},
		{"gpus=map:0;1", "gpus=map:0;1: expected device indices"},
		{"gpus", "gpus needs a value: gpus=order|mask|first|map:LIST|none"},
		{"port", "port needs a value: port=N|auto"},
		{"launcher=torchun",
		 "launcher=torchun: no such launcher; did you mean launcher=torchrun?"},
		{"launcher=", "launcher=: no such launcher; --srank=help lists them"},
		{"launcher=quantum",
		 "launcher=quantum: no such launcher; --srank=help lists them"},
		{"local=1", "local=1: expected local=rank|0"},
		{"port=0", "port=0: expected port=N, a number from 1 to 65535, or "
			   "port=auto"},
		{"port=", "port=: expected port=N"},
		{"port=65536", "port=65536: expected port=N"},
		{"port=99999999999999999999",
		 "port=99999999999999999999: expected port=N"},
		{"port=-1", "port=-1: expected port=N"},
		{"port=1x", "port=1x: expected port=N"},
		{"port= 1", "port= 1: expected port=N"},
		{"ports=20000", "ports=20000: expected ports=LO-HI"},
		{"ports=2-1", "ports=2-1: expected ports=LO-HI"},
		{"ports=0-9", "ports=0-9: expected ports=LO-HI"},
		{"ports=1-65536", "ports=1-65536: expected ports=LO-HI"},
		{"ports=1-2-3", "ports=1-2-3: expected ports=LO-HI"},
		{"addr=ipv4",
		 "addr=ipv4: no such value; did you mean addr=ip? (name|ip|nodeaddr)"},
		{"addr=", "addr=: expected addr=name|ip|nodeaddr"},
		{"addr", "addr needs a value: addr=name|ip|nodeaddr"},
		{"lock=port", "lock= is for plugstack.conf"},
		{"forbid=port", "forbid= is for plugstack.conf"},
		{"suffix=a.b", "suffix=a.b: expected suffix=TEXT"},
		{"suffix=a b", "suffix=a b: expected suffix=TEXT"},
		{"domain=a/b", "domain=a/b: expected domain=NAME"},
		{"busy=wran",
		 "busy=wran: no such value; did you mean busy=warn? (fail|warn)"},
		{"omp=4", "omp=4: expected omp=set|keep"},
		{"elastic=4", "elastic=4: expected elastic=MIN:MAX"},
		{"elastic=0:4", "elastic=0:4: expected elastic=MIN:MAX"},
		{"elastic=4:2", "elastic=4:2: expected elastic=MIN:MAX"},
		{"elastic=", "elastic=: expected elastic=MIN:MAX, two numbers of nodes "
			     "from 1, the smaller one first, or elastic=off"},
		{"elastic", "elastic needs a value: elastic=MIN:MAX|off"},
		{"verbose=1", "verbose=1: expected verbose=on|off"},
		{"verbose=of", "verbose=of: no such value; did you mean verbose=off?"},
		{"on=1", "on=1: on takes no value"},
		{"auto=1", "auto=1: auto takes no value"},
		{"default=on", "default= is for plugstack.conf; write on or off"},
		{"torch,port=7,gpsu=none", "gpsu: no such key"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings, before;
		struct launch_error err = {0};

		launch_settings_init(&settings);
		settings.verbose = true;
		before = settings;
		assert_int_equal(launch_settings_parse(&settings, rows[i].list, &err),
				 -EINVAL);
		if (strncmp(err.text, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("%s: got \"%s\", want \"%s\"", rows[i].list, err.text,
				 rows[i].text);
		/* Nothing of a bad list is taken. */
		assert_memory_equal(&settings, &before, sizeof(settings));
	}
}

static void test_lengths(void **state)
{
	struct launch_settings settings;
	struct launch_error err = {0};
	char list[600];

	launch_settings_init(&settings);
	snprintf(list, sizeof(list), "suffix=%063d", 0);
	assert_int_equal(launch_settings_parse(&settings, list, &err), 0);
	snprintf(list, sizeof(list), "domain=%0191d", 0);
	assert_int_equal(launch_settings_parse(&settings, list, &err), 0);
	snprintf(list, sizeof(list), "gpus=map:%0255d", 0);
	assert_int_equal(launch_settings_parse(&settings, list, &err), 0);

	snprintf(list, sizeof(list), "suffix=%064d", 0);
	assert_int_equal(launch_settings_parse(&settings, list, &err), -EINVAL);
	snprintf(list, sizeof(list), "domain=%0192d", 0);
	assert_int_equal(launch_settings_parse(&settings, list, &err), -EINVAL);
	snprintf(list, sizeof(list), "gpus=map:%0256d", 0);
	assert_int_equal(launch_settings_parse(&settings, list, &err), -EINVAL);
	err = (struct launch_error){0};
	snprintf(list, sizeof(list), "%0500d", 0);
	assert_int_equal(launch_settings_parse(&settings, list, &err), -EINVAL);
	assert_non_null(strstr(err.text, "longer than an entry can be"));
}

static void test_site(void **state)
{
	static const struct {
		const char *argument, *settings, *error;
	} rows[] = {
		{"default=on", "on", NULL},
		{"default=off", "off", NULL},
		{"torchrun", "off launcher=torchrun", NULL},
		{"gpus=none,suffix=i", "off gpus=none suffix=i", NULL},
		{"gpus=map:1,0", "off gpus=map:1,0", NULL},
		{"(null)", "off", NULL},
		{"on", NULL, "on has no place in plugstack.conf; write default=on"},
		{"off", NULL, "off has no place in plugstack.conf"},
		{"help", NULL, "help has no place in plugstack.conf"},
		{"default=yes", NULL, "default=yes: expected default=on|off"},
		{"defalt=on", NULL, "defalt: no such key; did you mean default?"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings;
		struct launch_error err = {0};
		char text[512];
		int r;

		launch_settings_init(&settings);
		r = launch_settings_site(&settings, rows[i].argument, &err);
		if (rows[i].error) {
			assert_int_equal(r, -EINVAL);
			if (strncmp(err.text, rows[i].error, strlen(rows[i].error)) != 0)
				fail_msg("%s: %s", rows[i].argument, err.text);
			continue;
		}
		if (r)
			fail_msg("%s: %s", rows[i].argument, err.text);
		describe(&settings, text, sizeof(text));
		assert_string_equal(text, rows[i].settings);
	}
}

/* The job's list lies over the site's defaults and changes only what it names. */
static void test_layers(void **state)
{
	struct launch_settings settings;
	struct launch_error err = {0};
	char text[512];

	launch_settings_init(&settings);
	assert_int_equal(launch_settings_site(&settings, "suffix=i", &err), 0);
	assert_int_equal(launch_settings_site(&settings, "gpus=mask", &err), 0);
	assert_int_equal(launch_settings_site(&settings, "default=on", &err), 0);
	assert_int_equal(launch_settings_parse(&settings, "torch,gpus=order", &err), 0);
	describe(&settings, text, sizeof(text));
	assert_string_equal(text, "on launcher=torch suffix=i");
	assert_int_equal(launch_settings_parse(&settings, "off", &err), 0);
	assert_false(settings.on);
}

/* Whatever an earlier list has set, a later one can undo. */
static void test_undone(void **state)
{
	static const struct {
		const char *site, *outer, *list, *settings;
	} rows[] = {
		/* elastic= is torchrun's, and goes with it. */
		{"", "torchrun,elastic=1:2", "torch", "on launcher=torch"},
		{"", "torchrun,elastic=1:2", "launcher=jax", "on launcher=jax"},
		{"", "torchrun,elastic=1:2", "auto", "on"},
		{"torchrun,elastic=1:2", "", "torch", "on launcher=torch"},
		{"", "torchrun,elastic=1:2", "torchrun,verbose",
		 "on verbose launcher=torchrun elastic=1:2"},
		{"elastic=1:2", "", "torchrun", "on launcher=torchrun elastic=1:2"},
		{"", "torchrun,elastic=1:2", "verbose",
		 "on verbose launcher=torchrun elastic=1:2"},
		/* Said anew, it is meant. */
		{"", "torchrun,elastic=1:2", "torch,elastic=1:2",
		 "on launcher=torch elastic=1:2"},
		/* Fixed by the site, it stays, and the step says what is wrong. */
		{"torchrun,elastic=1:2,lock=elastic", "", "torch",
		 "on launcher=torch elastic=1:2"},
		/* Every key has a value that is as good as its absence. */
		{"", "torchrun,elastic=1:2", "elastic=off", "on launcher=torchrun"},
		{"", "torch", "launcher=auto", "on"},
		{"", "gpus=map:1,0", "gpus=order", "on"},
		{"", "local=0", "local=rank", "on"},
		{"", "port=7", "port=auto", "on"},
		{"", "ports=1-9", "ports=20000-29999", "on"},
		{"", "addr=ip", "addr=name", "on"},
		{"", "suffix=i", "suffix=", "on"},
		{"", "domain=x.y", "domain=", "on"},
		{"", "busy=warn", "busy=fail", "on"},
		{"", "omp=keep", "omp=set", "on"},
		{"", "verbose", "verbose=off", "on"},
		{"verbose,port=7", "", "verbose=off,port=auto", "on"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings;
		struct launch_error err = {0};
		char text[512];

		launch_settings_init(&settings);
		if (launch_settings_site(&settings, rows[i].site, &err) ||
		    launch_settings_parse(&settings, rows[i].outer, &err) ||
		    launch_settings_parse(&settings, rows[i].list, &err))
			fail_msg("row %zu: %s", i, err.text);
		describe(&settings, text, sizeof(text));
		if (strcmp(text, rows[i].settings) != 0)
			fail_msg("row %zu: %s", i, text);
	}
}

/* What a site keeps to itself: ARGUMENTS of plugstack.conf, then the list of a job. */
static void test_locks(void **state)
{
	static const struct {
		const char *arguments[4];
		const char *list;
		const char *settings; /* or NULL: an error that begins with TEXT */
		const char *text;
	} rows[] = {
		/* The value in force, whether the site set it or not. */
		{{"port=29500", "lock=port"},
		 "port=1",
		 NULL,
		 "port=1: port is fixed by this site (port=29500); leave it out"},
		{{"lock=port", "port=29500"},
		 "port=1",
		 NULL,
		 "port=1: port is fixed by this site (port=29500); leave it out"},
		{{"lock=port"},
		 "port=1",
		 NULL,
		 "port=1: port is fixed by this site (port=auto); leave it out"},
		/* Saying the same is no fault. */
		{{"port=29500", "lock=port"}, "port=29500", "on port=29500", NULL},
		{{"lock=gpus"}, "gpus=order,torch", "on launcher=torch", NULL},
		/* Another key that would change it. */
		{{"port=29500", "lock=port"},
		 "torch,ports=1-9",
		 NULL,
		 "ports=1-9: port is fixed by this site (port=29500)"},
		/* Not the last value counts, but each. */
		{{"lock=port"},
		 "port=1,ports=20000-29999",
		 NULL,
		 "port=1: port is fixed"},
		{{"lock=gpus"},
		 "gpus=none",
		 NULL,
		 "gpus=none: gpus is fixed by this site (gpus=order)"},
		{{"gpus=map:1,0", "lock=gpus"},
		 "gpus=map:0,1",
		 NULL,
		 "gpus=map:0,1: gpus is fixed by this site (gpus=map:1,0)"},
		{{"gpus=map:1,0", "lock=gpus"}, "gpus=map:1,0", "on gpus=map:1,0", NULL},
		{{"lock=local:ports"},
		 "local=0",
		 NULL,
		 "local=0: local is fixed by this site (local=rank)"},
		{{"lock=local:ports"},
		 "ports=1-9",
		 NULL,
		 "ports=1-9: ports is fixed by this site (ports=20000-29999)"},
		{{"lock=local:ports"}, "port=1", "on port=1", NULL},
		{{"lock=addr:suffix:domain", "suffix=i"},
		 "addr=ip",
		 NULL,
		 "addr=ip: addr is fixed by this site (addr=name)"},
		{{"lock=addr:suffix:domain", "suffix=i"},
		 "suffix=",
		 NULL,
		 "suffix=: suffix is fixed by this site (suffix=i)"},
		{{"lock=addr:suffix:domain", "suffix=i"},
		 "domain=x.y",
		 NULL,
		 "domain=x.y: domain is fixed by this site (domain=)"},
		{{"lock=busy", "lock=omp,lock=elastic"},
		 "busy=warn",
		 NULL,
		 "busy=warn: busy is fixed by this site (busy=fail)"},
		{{"lock=busy", "lock=omp,lock=elastic"},
		 "omp=keep",
		 NULL,
		 "omp=keep: omp is fixed by this site (omp=set)"},
		{{"lock=busy", "lock=omp,lock=elastic"},
		 "elastic=1:2",
		 NULL,
		 "elastic=1:2: elastic is fixed by this site (elastic=off)"},
		{{"elastic=1:2", "lock=elastic"},
		 "elastic=1:3",
		 NULL,
		 "elastic=1:3: elastic is fixed by this site (elastic=1:2)"},
		{{"lock=verbose"},
		 "verbose",
		 NULL,
		 "verbose: verbose is fixed by this site (verbose=off)"},
		{{"verbose", "lock=verbose"}, "verbose", "on verbose", NULL},
		{{"torchrun", "lock=launcher"},
		 "torch",
		 NULL,
		 "launcher=torch: launcher is fixed by this site (launcher=torchrun)"},
		{{"torchrun", "lock=launcher"},
		 "auto",
		 NULL,
		 "launcher=auto: launcher is fixed by this site (launcher=torchrun)"},
		{{"lock=launcher"},
		 "launcher=torch",
		 NULL,
		 "launcher=torch: launcher is fixed by this site (launcher=auto)"},
		{{"lock=launcher"}, "auto", "on", NULL},
		/* On and off. */
		{{"lock=default"},
		 "torch",
		 NULL,
		 "switching srank on: default is fixed by this site (default=off); "
		 "leave"},
		{{"lock=default"}, "torch,off", "off launcher=torch", NULL},
		{{"lock=default"}, "help", "off help", NULL},
		{{"default=on", "lock=default"},
		 "off",
		 NULL,
		 "switching srank off: default is fixed by this site (default=on)"},
		{{"default=on", "lock=default"}, "torch", "on launcher=torch", NULL},
		{{"default=on", "lock=default"}, "help", "off help", NULL},

		/* Words that no list may have. */
		{{"forbid=port"},
		 "port=1",
		 NULL,
		 "port=1: this site does not allow port=; leave it out"},
		{{"forbid=port"}, "ports=1-9", "on ports=1-9", NULL},
		{{"forbid=verbose"},
		 "verbose",
		 NULL,
		 "verbose: this site does not allow verbose; leave it out"},
		/* Said or meant. */
		{{"forbid=verbose=on"},
		 "verbose",
		 NULL,
		 "verbose: this site does not allow verbose=on; leave it out"},
		{{"forbid=verbose=on"},
		 "verbose=on",
		 NULL,
		 "verbose=on: this site does not allow verbose=on; leave it out"},
		{{"forbid=verbose=on"}, "verbose=off", "on", NULL},
		{{"forbid=off"},
		 "off",
		 NULL,
		 "off: this site does not allow off; leave it"},
		{{"forbid=gpus=none"},
		 "gpus=none",
		 NULL,
		 "gpus=none: this site does not allow gpus=none; leave it out"},
		{{"forbid=gpus=none"}, "gpus=mask", "on gpus=mask", NULL},
		{{"forbid=gpus=map"},
		 "gpus=map:1,0",
		 NULL,
		 "gpus=map:1,0: this site does not allow gpus=map; leave it out"},
		{{"forbid=horovod"},
		 "horovod",
		 NULL,
		 "launcher=horovod: this site does not allow launcher=horovod; leave it "
		 "out"},
		{{"forbid=horovod"},
		 "launcher=horovod",
		 NULL,
		 "launcher=horovod: this site does not allow launcher=horovod"},
		{{"forbid=launcher=horovod"},
		 "horovod",
		 NULL,
		 "launcher=horovod: this site does not allow launcher=horovod"},
		{{"forbid=horovod"}, "torch", "on launcher=torch", NULL},
		{{"forbid=torchrun"}, "torch", "on launcher=torch", NULL},
		{{"forbid=auto"},
		 "auto",
		 NULL,
		 "launcher=auto: this site does not allow launcher=auto"},
		{{"forbid=launcher"},
		 "torch",
		 NULL,
		 "launcher=torch: this site does not allow launcher=; leave it out"},
		{{"forbid=horovod:gpus=none", "forbid=busy=warn"},
		 "busy=warn",
		 NULL,
		 "busy=warn: this site does not allow busy=warn"},
		{{"forbid=horovod:gpus=none", "forbid=busy=warn"},
		 "gpus=none",
		 NULL,
		 "gpus=none: this site does not allow gpus=none"},
		{{"forbid=port=1"}, "port=12", "on port=12", NULL},
		/* The site's own arguments are free. */
		{{"forbid=port:gpus=none", "port=7,gpus=none"},
		 "torch",
		 "on launcher=torch gpus=none port=7",
		 NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings, before;
		struct launch_error err = {0};
		char text[512];
		int r;

		launch_settings_init(&settings);
		for (const char *const *argument = rows[i].arguments; *argument;
		     argument++) {
			if (launch_settings_site(&settings, *argument, &err))
				fail_msg("row %zu: %s", i, err.text);
		}
		before = settings;
		r = launch_settings_parse(&settings, rows[i].list, &err);
		if (r != (rows[i].settings ? 0 : -EINVAL))
			fail_msg("row %zu: %d %s", i, r, err.text);
		if (r) {
			if (strncmp(err.text, rows[i].text, strlen(rows[i].text)) != 0)
				fail_msg("row %zu: %s", i, err.text);
			assert_memory_equal(&settings, &before, sizeof(settings));
			continue;
		}
		describe(&settings, text, sizeof(text));
		assert_string_equal(text, rows[i].settings);
	}
}

static void test_lock_faults(void **state)
{
	static const struct {
		const char *argument, *text;
	} rows[] = {
		{"lock", "lock needs a value: lock=KEY[:KEY...]"},
		{"lock=", "lock=: expected lock=KEY[:KEY...]"},
		{"lock=port:", "lock=port:: expected lock=KEY[:KEY...]"},
		{"lock=prt", "prt: no such key; did you mean port?"},
		{"lock=port:gpsu", "gpsu: no such key; did you mean gpus?"},
		{"lock=on",
		 "lock=on: on has no value that could be locked; lock=default"},
		{"lock=auto", "lock=auto: auto has no value that could be locked;"},
		{"lock=lock", "lock=lock: lock has no value that could be locked;"},
		{"lock=torch", "torch: no such key"},
		{"forbid", "forbid needs a value: forbid=WORD[:WORD...]"},
		{"forbid=", "forbid=: expected forbid=WORD[:WORD...]"},
		{"forbid=port::gpus",
		 "forbid=port::gpus: expected forbid=WORD[:WORD...]"},
		{"forbid==1", "=1: no key stands before the \"=\""},
		{"forbid=horovodd",
		 "horovodd: no such key or launcher; did you mean horovod?"},
		{"forbid=gpus=nnoe", "gpus=nnoe: no such value; did you mean gpus=none?"},
		{"forbid=launcher=trch",
		 "launcher=trch: no such launcher; did you mean launcher=torch?"},
		{"forbid=port=0", "port=0: expected port=N"},
		{"forbid=gpsu=none", "gpsu: no such key; did you mean gpus?"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings settings;
		struct launch_error err = {0};

		launch_settings_init(&settings);
		assert_int_equal(launch_settings_site(&settings, rows[i].argument, &err),
				 -EINVAL);
		if (strncmp(err.text, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("%s: %s", rows[i].argument, err.text);
	}
}

/* As many words as fit, and not one more by half. */
static void test_forbid_length(void **state)
{
	struct launch_settings settings, before;
	struct launch_error err = {0};
	unsigned words = 0;

	launch_settings_init(&settings);
	do {
		before = settings;
		words++;
	} while (launch_settings_site(&settings, "forbid=launcher=horovod", &err) == 0);
	/* ":", then "launcher=horovod:" as often as 255 characters hold it. */
	assert_int_equal(words, 254 / 17 + 1);
	assert_string_equal(err.text, "forbid=: more than 254 characters in all");
	assert_memory_equal(&settings, &before, sizeof(settings));
}

/* Who asked: the user, in either form, and not the site. */
static void test_asked(void **state)
{
	struct launch_settings settings;
	struct launch_error err = {0};

	launch_settings_init(&settings);
	assert_false(settings.asked);
	assert_int_equal(launch_settings_site(&settings, "default=on", &err), 0);
	assert_int_equal(launch_settings_site(&settings, "torch", &err), 0);
	assert_true(settings.on);
	assert_false(settings.asked);
	assert_int_equal(launch_settings_parse(&settings, NULL, &err), 0);
	assert_true(settings.asked);
}

static char *help(const struct launch_settings *site)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	launch_settings_help(out, site);
	fclose(out);
	return text;
}

static void test_help_of_site(void **state)
{
	static const struct {
		const char *site, *text;
	} rows[] = {
		{"", "  the defaults are the built-in ones, and all can be changed\n"},
		{"default=off gpus=order",
		 "  the defaults are the built-in ones, and all can be changed\n"},
		{"default=on verbose",
		 "  verbose=on          default of this site (built-in: verbose=off)\n"
		 "  default=on          default of this site (built-in: default=off)\n"},
		{"port=20901 lock=port:gpus:default",
		 "  gpus=order          no job can change it\n"
		 "  port=20901          default of this site (built-in: port=auto); no "
		 "job "
		 "can change it\n"
		 "  default=off         no job can change it\n"},
		{"forbid=port:horovod gpus=map:0-3,4*4 suffix=-ib forbid=gpus=none",
		 "  gpus=map:0-3,4*4    default of this site (built-in: gpus=order)\n"
		 "  suffix=-ib          default of this site (built-in: suffix=)\n"
		 "  port                no job may say it\n"
		 "  launcher=horovod    no job may say it\n"
		 "  gpus=none           no job may say it\n"},
		{"domain=compute.hpc.example.org",
		 "  domain=compute.hpc.example.org\n"
		 "                      default of this site (built-in: domain=)\n"},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct launch_settings site;
		struct launch_error err = {""};
		char words[256], *rest = words, *word, *text, *end;

		launch_settings_init(&site);
		snprintf(words, sizeof(words), "%s", rows[i].site);
		while ((word = strsep(&rest, " "))) {
			if (*word)
				assert_int_equal(launch_settings_site(&site, word, &err),
						 0);
		}
		text = help(&site);
		end = strstr(text, "\nAt this site:\n");
		assert_non_null(end);
		assert_string_equal(end + strlen("\nAt this site:\n"), rows[i].text);
		free(text);
	}
}

static void test_help_names_all(void **state)
{
	char *text = help(NULL);

	assert_null(strstr(text, "At this site"));
	for (const struct launch_key *key = launch_keys; key->name; key++) {
		assert_non_null(strstr(text, key->name));
		assert_non_null(strstr(text, key->help));
	}
	for (size_t i = 0; i < launch_launchers_count; i++)
		assert_non_null(strstr(text, launch_launchers[i].summary));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		assert_true(strlen(line) <= 90);
		assert_int_not_equal(line[strlen(line) - 1], ' ');
	}
	free(text);
}

static void test_launchers(void **state)
{
	static const struct {
		const char *name;
		enum launch_shape shape;
	} rows[] = {
		{"torch", LAUNCH_WORKER},     {"torchrun", LAUNCH_NODE},
		{"mmengine", LAUNCH_WORKER},  {"accelerate", LAUNCH_NODE},
		{"lightning", LAUNCH_WORKER}, {"deepspeed", LAUNCH_WORKER},
		{"jax", LAUNCH_WORKER},       {"tensorflow", LAUNCH_WORKER},
		{"horovod", LAUNCH_WORKER},   {"mpi", LAUNCH_WORKER},
	};

	assert_int_equal(launch_launchers_count, COUNT(rows));
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct launch_launcher *launcher =
			launch_launcher_find(rows[i].name);

		assert_ptr_equal(launcher, &launch_launchers[i]);
		assert_int_equal(launcher->shape, rows[i].shape);
		/* A launcher's name must not hide a key. */
		for (const struct launch_key *key = launch_keys; key->name; key++)
			assert_string_not_equal(key->name, launcher->name);
	}
	assert_null(launch_launcher_find("auto"));
	assert_null(launch_launcher_find(""));
	assert_string_equal(launch_shape_name(LAUNCH_WORKER), "worker");
	assert_string_equal(launch_shape_name(LAUNCH_NODE), "node");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_site),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_help_names_all),
		cmocka_unit_test(test_help_of_site),
		cmocka_unit_test(test_launchers),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_lock_faults),
		cmocka_unit_test(test_forbid_length),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_undone),
	};

	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
