/* SPDX-License-Identifier: MIT */
/*
 * `srank doctor`: the options. Those of the launch are the ones of `srank exec`.
 */
#include "spank/exec/doctor.h"

#include "gen/cli/cli.h"
#include "spank/exec/wait.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define TREES_MAX 16

/* An hour: nobody waits longer for a report. */
#define TIMEOUT_MAX 3600

enum {
	OPTION_TREE = 0x100,
	OPTION_JSON,
	OPTION_STRICT,
	OPTION_BANDWIDTH,
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
	enum cli_exit code; /* of the first option that is wrong */
};

static void apply(struct call *call, const char *key, const char *text)
{
	if (!cli_settings_take(call->command, &call->doctor.settings, key, text))
		call->code = CLI_FAILED;
}

static void take_tree(struct call *call, const char *path)
{
	if (!*path)
		call->code =
			cli_usage(call->command, "--tree '' names no file or folder");
	else if (call->doctor.trees_count == TREES_MAX)
		call->code =
			cli_usage(call->command, "no more than %d --tree", TREES_MAX);
	else
		call->trees[call->doctor.trees_count++] = path;
}

static void take(int val, void *arg)
{
	struct call *call = arg;

	if (call->code != CLI_FINE)
		return;
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
	case OPTION_BANDWIDTH:
		call->doctor.bandwidth = true;
		break;
	case OPTION_TIMEOUT:
		if (!cli_timeout_take(call->command, TIMEOUT_MAX, optarg,
				      &call->doctor.timeout))
			call->code = CLI_USAGE;
		break;
	case OPTION_NO_PMIX:
		call->doctor.pmix = false;
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

/*
 * A socket must not get the number of a file that was closed for us, or the report goes
 * there. The one in the place of standard output cannot be written to, and the report is
 * lost with a message.
 */
static void fill_standard_files(void)
{
	static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};

	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			_Exit(CLI_FAILED);
	}
}

enum cli_exit cli_doctor(const struct cli_command *command, int argc, char **argv)
{
	static const struct option options[] = {
		{"tree", required_argument, NULL, OPTION_TREE},
		{"json", no_argument, NULL, OPTION_JSON},
		{"strict", no_argument, NULL, OPTION_STRICT},
		{"bandwidth", no_argument, NULL, OPTION_BANDWIDTH},
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
	struct launch_error err = {""};
	enum cli_exit code;

	cli_settings_init(&call.doctor.settings, &err);
	call.doctor.trees = call.trees;
	if (!cli_options(command, argc, argv, options, take, &call, &code))
		return code;
	if (call.code != CLI_FINE)
		return call.code;
	if (cli_settings_help(&call.doctor.settings))
		return cli_end(command, CLI_FINE);
	if (launch_error_is_set(&err))
		return cli_fail(command, "%s", err.text);
	if (optind < argc)
		return cli_usage(command,
				 "`%s` is no option: the doctor starts no program",
				 argv[optind]);
	fill_standard_files();
	code = exec_doctor(&call.doctor) ? CLI_FAILED : CLI_FINE;
	code = cli_end(command, code);
	if (ferror(stdout))
		exec_let_through();
	fflush(NULL);
	_Exit(code);
}
