/* SPDX-License-Identifier: MIT */
/*
 * `srank launchers` and `srank version`: what this build has.
 */
#include "gen/cli/cli.h"
#include "spank/launch/launchers.h"

#include <string.h>
#include <yaml.h>

/* True when the call has no argument; else EXIT is to be returned. */
static bool no_arguments(const struct cli_command *command, int argc, char **argv,
			 enum cli_exit *code)
{
	if (argc == 1)
		return true;
	if (argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
		cli_help(stdout, command);
		*code = CLI_FINE;
	} else {
		*code = cli_usage(command, "`%s`: this command takes no arguments",
				  argv[1]);
	}
	return false;
}

/* The names of the variables that LAUNCHER gets with elastic=, or without, as a block. */
static void print_variables(const struct launch_launcher *launcher, bool elastic)
{
	const char *indent = "                    ";
	size_t column = 0;

	for (const struct launch_variable *row = launcher->variables; row && row->name;
	     row++) {
		if ((row->when == LAUNCH_ELASTIC) != elastic)
			continue;
		if (column == 0 && elastic)
			printf("%swith elastic=MIN:MAX instead:\n", indent);
		if (column > 0 && column + strlen(row->name) > 66) {
			fputs(",\n", stdout);
			column = 0;
		}
		column += printf("%s%s", column ? ", " : indent, row->name);
	}
	if (column > 0)
		putchar('\n');
}

enum cli_exit cli_launchers(const struct cli_command *command, int argc, char **argv)
{
	enum cli_exit code;

	if (!no_arguments(command, argc, argv, &code))
		return code;
	printf("%-11s %-7s %s\n", "launcher", "shape", "for");
	for (size_t i = 0; i < launch_launchers_count; i++) {
		const struct launch_launcher *launcher = &launch_launchers[i];

		printf("%-11s %-7s %s\n", launcher->name,
		       launch_shape_name(launcher->shape), launcher->summary);
		print_variables(launcher, false);
		print_variables(launcher, true);
	}
	return CLI_FINE;
}

enum cli_exit cli_version(const struct cli_command *command, int argc, char **argv)
{
	enum cli_exit code;

	if (!no_arguments(command, argc, argv, &code))
		return code;
	printf("srank %s\nlibyaml %s\ntemplates", SRANK_VERSION,
	       yaml_get_version_string());
	for (size_t i = 0; i < script_builtins_count; i++)
		printf(" %s", script_builtins[i].name);
	putchar('\n');
	return CLI_FINE;
}
