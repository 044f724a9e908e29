/* SPDX-License-Identifier: MIT */
/*
 * `srank exec`: the options, up to the first word that is none: the program.
 */
#include "spank/exec/exec.h"

#include "gen/cli/cli.h"

#include <stdlib.h>

/* A day: more is a slip. */
#define TIMEOUT_MAX 86400

enum {
	OPTION_ADDR = 0x100,
	OPTION_PORT,
	OPTION_SRANK,
	OPTION_TIMEOUT,
	OPTION_NO_PMIX,
};

struct call {
	const struct cli_command *command;
	struct exec_options exec;
	enum cli_exit code; /* of the first option that is wrong */
};

static void apply(struct call *call, const char *key, const char *text)
{
	if (!cli_settings_take(call->command, &call->exec.settings, key, text))
		call->code = CLI_FAILED;
}

static void take(int val, void *arg)
{
	struct call *call = arg;

	if (call->code != CLI_FINE)
		return;
	switch (val) {
	case OPTION_NO_PMIX:
		call->exec.pmix = false;
		break;
	case OPTION_TIMEOUT:
		if (!cli_timeout_take(call->command, TIMEOUT_MAX, optarg,
				      &call->exec.timeout))
			call->code = CLI_USAGE;
		break;
	case 'g':
		apply(call, "gpus", optarg);
		break;
	case OPTION_ADDR:
		apply(call, "addr", optarg);
		break;
	case OPTION_PORT:
		apply(call, "port", optarg);
		break;
	default:
		apply(call, "", optarg);
	}
}

enum cli_exit cli_exec(const struct cli_command *command, int argc, char **argv)
{
	static const struct option options[] = {
		{"launcher", required_argument, NULL, 'l'},
		{"gpus", required_argument, NULL, 'g'},
		{"addr", required_argument, NULL, OPTION_ADDR},
		{"port", required_argument, NULL, OPTION_PORT},
		{"srank", required_argument, NULL, OPTION_SRANK},
		{"timeout", required_argument, NULL, OPTION_TIMEOUT},
		{"no-pmix", no_argument, NULL, OPTION_NO_PMIX},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct call call = {
		.command = command,
		.exec = {.pmix = true, .timeout = EXEC_TIMEOUT},
	};
	struct launch_error err = {""};
	enum cli_exit code;

	cli_settings_init(&call.exec.settings, &err);
	if (!cli_options_ahead(command, argc, argv, options, take, &call, &code))
		return code;
	if (call.code != CLI_FINE)
		return call.code;
	if (cli_settings_help(&call.exec.settings))
		return cli_end(command, CLI_FINE);
	if (launch_error_is_set(&err))
		return cli_fail(command, "%s", err.text);
	if (optind == argc)
		return cli_usage(command, "there is no program to become");
	code = exec_program(&call.exec, argv + optind);
	fflush(NULL);
	_Exit(code);
}
