/* SPDX-License-Identifier: MIT */
/*
 * `srank doctor`: the options. Those of the launch are the ones of `srank exec`.
 */
#include "spank/exec/doctor.h"

#include "gen/cli/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define TREES_MAX 16

/* An hour: nobody waits longer for a report. */
#define TIMEOUT_MAX 3600

enum {
	OPTION_TREE = 0x100,
	OPTION_JSON,
	OPTION_STRICT,
	OPTION_ADDR,
	OPTION_PORT,
	OPTION_SRANK,
	OPTION_TIMEOUT,
	OPTION_NO_PMIX,
};

struct call {
	const struct cli_command *command;
	struct exec_doctor doctor;
	const char *trees[TREES_MAX];
	struct launch_error err;
	enum cli_exit code;
};

static void apply(struct call *call, const char *key, const char *value)
{
	struct launch_error err = {""};
	char *item;

	if (asprintf(&item, "%s%s", key, value) < 0) {
		call->code = cli_fail(call->command, "out of memory");
		return;
	}
	launch_settings_parse(&call->doctor.settings, item, &err);
	if (launch_error_is_set(&err) && call->code == CLI_FINE)
		call->code = cli_fail(call->command, "%s", err.text);
	free(item);
}

static void take_timeout(struct call *call, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || value < 1 || value > TIMEOUT_MAX)
		call->code =
			cli_usage(call->command,
				  "--timeout %s is no number of seconds from 1 to %d",
				  text, TIMEOUT_MAX);
	call->doctor.timeout = (unsigned int)value;
}

static void take_tree(struct call *call, const char *path)
{
	if (call->doctor.trees_count == TREES_MAX)
		call->code =
			cli_usage(call->command, "no more than %d --tree", TREES_MAX);
	else
		call->trees[call->doctor.trees_count++] = path;
}

static void take(int val, void *arg)
{
	struct call *call = arg;

	switch (val) {
	case OPTION_TREE:
		take_tree(call, optarg);
		break;
	case OPTION_JSON:
		call->doctor.json = true;
		break;
	case OPTION_STRICT:
		call->doctor.strict = true;
		break;
	case OPTION_TIMEOUT:
		take_timeout(call, optarg);
		break;
	case OPTION_NO_PMIX:
		call->doctor.pmix = false;
		break;
	case 'g':
		apply(call, "gpus=", optarg);
		break;
	case OPTION_ADDR:
		apply(call, "addr=", optarg);
		break;
	case OPTION_PORT:
		apply(call, "port=", optarg);
		break;
	default:
		apply(call, "", optarg);
	}
}

enum cli_exit cli_doctor(const struct cli_command *command, int argc, char **argv)
{
	static const struct option options[] = {
		{"tree", required_argument, NULL, OPTION_TREE},
		{"json", no_argument, NULL, OPTION_JSON},
		{"strict", no_argument, NULL, OPTION_STRICT},
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
	struct call call = {.command = command, .doctor.pmix = true};
	const char *list = getenv("SRANK");
	enum cli_exit code;

	launch_settings_init(&call.doctor.settings);
	call.doctor.settings.on = call.doctor.settings.asked = true;
	call.doctor.trees = call.trees;
	if (list && *list)
		apply(&call, "", list);
	if (!cli_options(command, argc, argv, options, take, &call, &code))
		return code;
	if (call.code != CLI_FINE)
		return call.code;
	if (optind < argc)
		return cli_usage(command,
				 "`%s` is no option: the doctor starts no program",
				 argv[optind]);
	code = exec_doctor(&call.doctor) ? CLI_FAILED : CLI_FINE;
	fflush(NULL);
	_Exit(code);
}
