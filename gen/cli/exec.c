/* SPDX-License-Identifier: MIT */
/*
 * `srank exec`: the options. They are the keys of --srank in the plugin, and parsed by
 * the same table.
 */
#include "spank/exec/exec.h"

#include "gen/cli/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A day: more is a slip. */
#define TIMEOUT_MAX 86400

static int apply(struct launch_settings *settings, const char *key, const char *value,
		 struct launch_error *err)
{
	char *item;
	int r;

	if (!key)
		return launch_settings_parse(settings, value, err);
	if (asprintf(&item, "%s=%s", key, value) < 0)
		return launch_error_set(err, -1, "out of memory");
	r = launch_settings_parse(settings, item, err);
	free(item);
	return r;
}

static bool read_seconds(const char *text, unsigned int *seconds)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	*seconds = value;
	return isdigit((unsigned char)*text) && !*end && value >= 1 &&
	       value <= TIMEOUT_MAX;
}

enum cli_exit cli_exec(const struct cli_command *command, int argc, char **argv)
{
	static const struct option options[] = {
		{"launcher", required_argument, NULL, 'l'},
		{"gpus", required_argument, NULL, 'g'},
		{"addr", required_argument, NULL, 'a'},
		{"port", required_argument, NULL, 'p'},
		{"srank", required_argument, NULL, 's'},
		{"timeout", required_argument, NULL, 't'},
		{"no-pmix", no_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static const char *const keys[] = {
		['g'] = "gpus", ['a'] = "addr", ['p'] = "port"};
	struct exec_options exec = {.pmix = true, .timeout = EXEC_TIMEOUT};
	struct launch_error err = {""};
	const char *list = getenv("SRANK"), *source = "SRANK: ";
	int option, code;

	launch_settings_init(&exec.settings);
	/* Who runs it has asked, as with an empty --srank. */
	exec.settings.on = exec.settings.asked = true;
	if (list && *list)
		launch_settings_parse(&exec.settings, list, &err);
	while ((option = getopt_long(argc, argv, "+l:g:h", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			cli_help(stdout, command);
			return CLI_FINE;
		case 'n':
			exec.pmix = false;
			break;
		case 't':
			if (!read_seconds(optarg, &exec.timeout))
				return cli_usage(command,
						 "--timeout %s is no number of seconds "
						 "from 1 to %d",
						 optarg, TIMEOUT_MAX);
			break;
		case 'l':
		case 's':
		case 'g':
		case 'a':
		case 'p':
			if (launch_error_is_set(&err))
				break;
			source = option == 's' ? "--srank: " : "";
			apply(&exec.settings,
			      option == 'l' || option == 's' ? NULL : keys[option],
			      optarg, &err);
			break;
		default:
			return cli_usage(command, NULL);
		}
	}
	if (optind == argc)
		return cli_usage(command, "there is no program to become");
	if (launch_error_is_set(&err))
		return cli_fail(command, "%s%s", source, err.text);
	code = exec_program(&exec, argv + optind);
	fflush(NULL);
	_Exit(code);
}
