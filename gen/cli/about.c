/* SPDX-License-Identifier: MIT */
/*
 * `srank launchers` and `srank version`: what this build has.
 */
#include "gen/cli/cli.h"
#include "spank/exec/pmix.h"
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

#define INDENT "                    "

/* The names of the VARIABLES that are set with elastic=, or without, as a block. */
static void print_variables(const struct launch_variable *variables, bool elastic)
{
	size_t column = 0;

	for (; variables && variables->name; variables++) {
		if ((variables->when == LAUNCH_ELASTIC) != elastic)
			continue;
		if (column == 0 && elastic)
			printf("%swith elastic=MIN:MAX instead:\n", INDENT);
		if (column > 0 && column + strlen(variables->name) > 66) {
			fputs(",\n", stdout);
			column = 0;
		}
		column += printf("%s%s", column ? ", " : INDENT, variables->name);
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
	for (int shape = LAUNCH_WORKER; shape <= LAUNCH_NODE; shape++) {
		printf("%-11s %-7s besides MASTER_ADDR and MASTER_PORT, but for mpi\n",
		       "(all)", launch_shape_name(shape));
		print_variables(launch_shape_variables(shape), false);
	}
	for (size_t i = 0; i < launch_launchers_count; i++) {
		const struct launch_launcher *launcher = &launch_launchers[i];

		printf("%-11s %-7s %s\n", launcher->name,
		       launch_shape_name(launcher->shape), launcher->summary);
		print_variables(launcher->variables, false);
		print_variables(launcher->variables, true);
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
	printf("\nPMIx %s\n", exec_pmix_version() ? exec_pmix_version()
						   : "none: srank exec does without");
	return CLI_FINE;
}
