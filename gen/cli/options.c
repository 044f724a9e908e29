/* SPDX-License-Identifier: MIT */
/*
 * The options of a sub-command, by getopt_long(3) and with messages of our own.
 */
#include "gen/cli/cli.h"
#include "spank/launch/nearest.h"

#include <stdlib.h>
#include <string.h>

/* Values from here on have no letter. */
#define LETTERS 0x100

#define SHORTS_MAX (2 * CLI_OPTIONS_MAX + 3)

static enum cli_exit bad_option(const struct cli_command *command,
				const struct option *options, const char *word,
				bool argument)
{
	const char *near = NULL;
	size_t count = 0;

	if (argument)
		return cli_usage(command, "option %s needs a value", word);
	while (options[count].name)
		count++;
	if (word[0] == '-' && word[1] == '-') {
		char *name = strndup(word + 2, strcspn(word + 2, "="));

		if (name)
			near = launch_nearest(name, &options[0].name, count,
					      sizeof(*options));
		free(name);
	}
	if (near)
		return cli_usage(command, "unknown option %s; did you mean --%s?", word,
				 near);
	return cli_usage(command, "unknown option %s", word);
}

/* MODE as the first characters of getopt(3)'s optstring. */
static bool parse(const char *mode, const struct cli_command *command, int argc,
		  char **argv, const struct option *options,
		  void (*take)(int val, void *arg), void *arg, enum cli_exit *code)
{
	char shorts[SHORTS_MAX];
	size_t used = (size_t)snprintf(shorts, sizeof(shorts), "%s", mode);
	int val;

	for (const struct option *option = options;
	     option->name && used + 2 < sizeof(shorts); option++) {
		if (option->val >= LETTERS)
			continue;
		shorts[used++] = (char)option->val;
		if (option->has_arg == required_argument)
			shorts[used++] = ':';
	}
	opterr = 0;
	while ((val = getopt_long(argc, argv, shorts, options, NULL)) != -1) {
		/* A short option may stand within a word, which is not yet behind; one
		 * that lacks its value is in the last. */
		char letter[] = {'-', (char)optopt, '\0'};
		bool within = optopt > 0 && optopt < LETTERS &&
			      (val != ':' || argv[optind - 1][1] != '-');
		const char *word = within ? letter : argv[optind - 1];

		switch (val) {
		case 'h':
			cli_help(stdout, command);
			*code = CLI_FINE;
			return false;
		case ':':
		case '?':
			*code = bad_option(command, options, word, val == ':');
			return false;
		default:
			take(val, arg);
			break;
		}
	}
	return true;
}

bool cli_options(const struct cli_command *command, int argc, char **argv,
		 const struct option *options, void (*take)(int val, void *arg),
		 void *arg, enum cli_exit *code)
{
	return parse(":", command, argc, argv, options, take, arg, code);
}

bool cli_options_ahead(const struct cli_command *command, int argc, char **argv,
		       const struct option *options, void (*take)(int val, void *arg),
		       void *arg, enum cli_exit *code)
{
	return parse("+:", command, argc, argv, options, take, arg, code);
}
