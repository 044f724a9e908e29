/* SPDX-License-Identifier: MIT */
/*
 * The option and its sources. Slurm calls the option's function more than once (for the
 * environment and the command line in srun; twice in slurmstepd up to 23.11, see
 * _spank_stack_get_remote_options_env() in its plugstack.c, later spank.c) and keeps the
 * last argument; so does this.
 */
#include "spank/plugin/options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SYSROOT "sysroot="

static struct {
	struct launch_settings site;
	struct launch_error error; /* of plugstack.conf, or no memory */
	const char *sysroot;       /* in Slurm's own copy of plugstack.conf */
	char *list;                /* argument of --srank; NULL: none */
	bool given;                /* --srank was given, with or without */
} options;

void srank_options_site(int argc, char **argv)
{
	launch_settings_init(&options.site);
	for (int i = 0; i < argc; i++) {
		struct launch_error err = {""};

		if (strncmp(argv[i], SYSROOT, strlen(SYSROOT)) == 0)
			options.sysroot = argv[i] + strlen(SYSROOT);
		else if (launch_settings_site(&options.site, argv[i], &err))
			launch_error_set(&options.error, -EINVAL,
					 "plugstack.conf: %s (ask the administrator)",
					 err.text);
	}
}

const char *srank_options_sysroot(void)
{
	return options.sysroot ? options.sysroot : "";
}

void srank_options_help(FILE *out)
{
	launch_settings_help(out, &options.site);
	if (launch_error_is_set(&options.error))
		fprintf(out, "  %s\n", options.error.text);
}

static int parse(const char *source, const char *list, struct launch_settings *settings,
		 struct launch_error *err)
{
	struct launch_error inner = {""};
	int r = launch_settings_parse(settings, list, &inner);

	return r ? launch_error_set(err, r, "%s: %s", source, inner.text) : 0;
}

int srank_options_resolve(const char *environment, struct launch_settings *settings,
			  struct launch_error *err)
{
	struct launch_error first = {""};

	*settings = options.site;
	if (environment && *environment && parse("SRANK", environment, settings, &first))
		settings->on = settings->asked = true;
	if (options.given && parse("--srank", options.list, settings, &first))
		settings->on = settings->asked = true;
	/* Who switches it off is not bothered with what is wrong elsewhere. */
	if (!settings->on)
		return 0;
	if (!launch_error_is_set(&first))
		first = options.error;
	if (!launch_error_is_set(&first))
		return 0;
	launch_error_set(err, -EINVAL, "%s", first.text);
	if (settings->asked)
		return -EINVAL;
	/* default=on: a slip of the administrator's must not end every job there is. */
	settings->on = false;
	return 0;
}

static void keep_option(const char *argument)
{
	char *list = NULL;

	if (argument) {
		list = strdup(argument);
		if (!list)
			launch_error_set(&options.error, -ENOMEM,
					 "--srank: out of memory");
	}
	free(options.list);
	options.list = list;
	options.given = true;
}

void srank_options_inherit(const char *argument)
{
	if (argument && !options.given)
		keep_option(argument);
}

/*
 * In srun, sbatch and salloc -1 ends the command before anything is submitted. In
 * slurmstepd it would do so where no message of ours reaches the user, and may drain the
 * node; the list is then looked at later.
 */
static int take_option(int value, const char *argument, int remote)
{
	struct launch_settings settings;
	struct launch_error err = {""};

	keep_option(argument);
	if (remote)
		return 0;

	if (srank_options_resolve(getenv("SRANK"), &settings, &err)) {
		slurm_error("srank: %s", err.text);
		return -1;
	}
	if (settings.help && !settings.on) {
		/*
		 * Slurm lets a plugin end its commands only by an error, and adds a line
		 * of its own on stderr that calls "help" an invalid argument.
		 */
		srank_options_help(stdout);
		fflush(stdout);
		return -1;
	}
	return 0;
}

void srank_options_register(spank_t spank)
{
	/* Slurm copies it, but takes its strings as not const. */
	static struct spank_option option = {
		.name = (char *)"srank",
		.arginfo = (char *)"launcher,key=value,...",
		.usage = (char *)"[srank] give every task the rank, address, port and "
				 "GPU that distributed programs read; --srank=help "
				 "lists launchers and keys",
		.has_arg = 2,
		.cb = take_option,
	};
	spank_err_t r = spank_option_register(spank, &option);

	/* Another plugin has the name, for instance; SRANK= works all the same. */
	if (r != ESPANK_SUCCESS)
		slurm_verbose("srank: option --srank is not available: %s",
			      spank_strerror(r));
}

void srank_options_clear(void)
{
	free(options.list);
	memset(&options, 0, sizeof(options));
}
