/* SPDX-License-Identifier: MIT */
/*
 * The command: a table of sub-commands and the help made from it. A new sub-command is a
 * row here and a function.
 */
#include "gen/cli/cli.h"
#include "gen/utf8.h"
#include "spank/launch/nearest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define JOB_OPTIONS \
	"  -s, --set KEY.PATH=VALUE   change one value of the spec; VALUE null removes it\n" \
	"      --site FILE            site profile, instead of ~/.config/srank/site.yaml\n" \
	"                             or /etc/srank/site.yaml\n" \
	"  -d, --document DOCUMENT    one of several in the file, by name or place\n" \
	"      --point N              one of a sweep with `as: files`, from 0\n"
/* clang-format on */

static enum cli_exit help(const struct cli_command *command, int argc, char **argv);

/* clang-format off */
const struct cli_command cli_commands[] = {
	{"gen",
	 "SPEC [-o FILE] [-s KEY.PATH=VALUE]... [-d DOCUMENT] [--point N] [--site FILE]\n"
	 "                 [--force]",
	 "write the sbatch script of a job spec",
	 "SPEC is a YAML file, or - for standard input; see srank-spec(5).\n\n"
	 "  -o, --output FILE          write to FILE instead of standard output; of a sweep with\n"
	 "                             `as: files` a script for each point into folder FILE\n"
	 "      --force                replace FILE when it differs\n"
	 JOB_OPTIONS,
	 cli_gen},
	{"submit",
	 "SPEC [-s KEY.PATH=VALUE]... [-d DOCUMENT] [--point N] [--site FILE]\n"
	 "                    [-- SBATCH ARGUMENTS...]",
	 "write the script next to the job's logs and hand it to sbatch",
	 "Makes the log folders, writes NAME-DIGEST.sbatch into the one of batch.output, runs\n"
	 "sbatch and prints the job id. SBATCH ARGUMENTS go to sbatch as they are; numbers that\n"
	 "the script's commands depend on are changed with -s.\n\n"
	 JOB_OPTIONS,
	 cli_submit},
	{"explain",
	 "SPEC [-s KEY.PATH=VALUE]... [-d DOCUMENT] [--point N] [--site FILE]\n"
	 "                     [--machine FILE] [--svg FILE] [--force]",
	 "show every number of a job and why it is so",
	 "      --machine FILE         what the nodes are: a description in YAML or JSON, or a\n"
	 "                             folder with the proc and sys of one (/: this machine)\n"
	 "      --svg FILE             draw ranks and GPUs into FILE (-: only the figure, to\n"
	 "                             standard output)\n"
	 "      --force                replace FILE when it differs\n"
	 JOB_OPTIONS,
	 cli_explain},
	{"site", "[-o FILE] [--force]", "write this cluster's site profile",
	 "Asks scontrol and srun, so run it on a login host. Slurm says what there is, and not\n"
	 "what a site wants: look the profile over, and then put it to /etc/srank/site.yaml.\n\n"
	 "  -o, --output FILE          write to FILE instead of standard output\n"
	 "      --force                replace FILE when it differs\n",
	 cli_site},
	{"exec", "[--launcher L] [--gpus MODE] [OPTION]... [--] PROGRAM [ARGUMENT]...",
	 "inside a step without the plugin: set its environment, become PROGRAM",
	 "What the plugin would set for this task is set from SLURM_* and, under srun --mpi=pmix\n"
	 "or mpirun, from PMIx: then rank 0 finds a free port and tells the others. Where the\n"
	 "plugin is at work, PROGRAM is started at once. SRANK=LIST is heard as there.\n\n"
	 "  -l, --launcher L           as `srank launchers` lists them\n"
	 "  -g, --gpus MODE            order (default), mask, first, map:LIST, none\n"
	 "      --port N               MASTER_PORT\n"
	 "      --addr name|ip         which address of rank 0's node is MASTER_ADDR\n"
	 "      --srank LIST           any other keys, as srun --srank=LIST takes them; `help`\n"
	 "                             lists them\n"
	 "      --timeout SECONDS      how long to wait for the other ranks (120)\n"
	 "      --no-pmix              SLURM_* alone; for programs that use MPI themselves\n",
	 cli_exec},
	{"doctor", "[--tree PATH]... [--json] [--strict] [OPTION]...",
	 "inside a step: look whether its ranks could meet, and what is wrong",
	 "`srun --mpi=pmix ... srank doctor`, with the options of the run to come: each task looks\n"
	 "about, and rank 0 prints one report. Exit code 0: fine; 1: a problem was found.\n\n"
	 "      --tree PATH            is the file or folder the same on all nodes? may be repeated\n"
	 "      --json                 print the report as one JSON object\n"
	 "      --strict               warnings are problems, too\n"
	 "      --bandwidth            measure how much goes from each node to the next; takes PMIx\n"
	 "  -l, --launcher L           as `srank launchers` lists them\n"
	 "  -g, --gpus MODE            order (default), mask, first, map:LIST, none\n"
	 "      --port N               MASTER_PORT\n"
	 "      --addr name|ip         which address of rank 0's node is MASTER_ADDR\n"
	 "      --srank LIST           any other keys, as srun --srank=LIST takes them; `help`\n"
	 "                             lists them\n"
	 "      --timeout SECONDS      how long to wait for the other ranks (30; without PMIx 10)\n"
	 "      --no-pmix              SLURM_* alone; then only the way to rank 0 is tested\n",
	 cli_doctor},
	{"schema", "[spec|site]", "print the keys of a spec, or of a site profile, for editors",
	 "A JSON Schema (draft 2020-12), as editors use it to complete and check YAML.\n",
	 cli_schema},
	{"check", "[--fix | --diff] [--format=FORMAT] [--slurm=VERSION] [OPTIONS] SCRIPT...",
	 "find mistakes in sbatch scripts",
	 "SCRIPT is a file, or - for standard input. srank-rules(7) explains every rule.\n\n"
	 "      --fix                  put right what is certain, in the files; tell the rest\n"
	 "      --diff                 show what --fix would do\n"
	 "      --format=FORMAT        text, json, sarif or gcc\n"
	 "      --slurm=VERSION        the Slurm that will run it, such as 22.05; without this\n"
	 "                             option the site profile's, else any from 22.05 on\n"
	 "      --site FILE            site profile, instead of ~/.config/srank/site.yaml\n"
	 "                             or /etc/srank/site.yaml\n"
	 "      --strict               fail for warnings, too\n"
	 "      --pedantic             tell matters of taste as well\n"
	 "      --disable=RULE         without this rule; may be given again\n"
	 "      --sbatch=OPTION        an option of sbatch's command line, such as --nodes=4\n"
	 "      --environment          heed this shell's SBATCH_ variables, as sbatch does\n",
	 cli_check},
	{"import", "SCRIPT [-o FILE] [--site FILE] [--force]",
	 "make a job spec of an sbatch script",
	 "SCRIPT is a file, or - for standard input.\n\n"
	 "  -o, --output FILE          write to FILE instead of standard output\n"
	 "      --force                replace FILE when it differs\n"
	 "      --site FILE            site profile, instead of ~/.config/srank/site.yaml\n"
	 "                             or /etc/srank/site.yaml\n",
	 cli_import},
	{"rules", "[RULE]...", "list what `check` finds, or explain a rule", "", cli_rules},
	{"launchers", "", "list the launchers, their shapes and variables",
	 "A launcher of shape worker has one task per rank; of shape node, one task per node,\n"
	 "which starts the ranks there.\n",
	 cli_launchers},
	{"version", "", "show the version and what is built in", "", cli_version},
	{"help", "[COMMAND]", "show the commands, or one command's options", "", help},
	{NULL},
};
/* clang-format on */

static const struct cli_command *find(const char *name)
{
	for (const struct cli_command *command = cli_commands; command->name; command++) {
		if (strcmp(command->name, name) == 0)
			return command;
	}
	return NULL;
}

static void help_all(FILE *out)
{
	fputs("srank writes sbatch scripts whose tasks, GPUs and CPUs match, from a YAML "
	      "job spec.\n\nusage: srank COMMAND [ARGUMENTS]\n\n",
	      out);
	for (const struct cli_command *command = cli_commands; command->name; command++)
		fprintf(out, "  %-10s %s\n", command->name, command->help);
	fputs("\n`srank help COMMAND` shows a command's options; srank(1) is the "
	      "manual.\n",
	      out);
}

void cli_help(FILE *out, const struct cli_command *command)
{
	fprintf(out, "srank %s: %s\n\nusage: srank %s%s%s\n", command->name,
		command->help, command->name, command->args[0] ? " " : "", command->args);
	if (command->more[0])
		fprintf(out, "\n%s", command->more);
}

/* One line, for file names and words of the command line may hold anything. */
static void say(const struct cli_command *command, const char *format, va_list list)
	__attribute__((format(printf, 2, 0)));

static void say(const struct cli_command *command, const char *format, va_list list)
{
	char *text;

	fprintf(stderr, "srank %s: ", command->name);
	if (vasprintf(&text, format, list) < 0) {
		fputs("out of memory\n", stderr);
		return;
	}
	utf8_escape(stderr, text);
	fputc('\n', stderr);
	free(text);
}

void cli_say(const struct cli_command *command, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say(command, format, list);
	va_end(list);
}

enum cli_exit cli_usage(const struct cli_command *command, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say(command, format, list);
	va_end(list);
	fprintf(stderr, "usage: srank %s%s%s\n", command->name,
		command->args[0] ? " " : "", command->args);
	return CLI_USAGE;
}

enum cli_exit cli_fail(const struct cli_command *command, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say(command, format, list);
	va_end(list);
	return CLI_FAILED;
}

/* A full disk or a closed pipe must not pass for success. */
enum cli_exit cli_end(const struct cli_command *command, enum cli_exit code)
{
	bool lost;

	errno = 0;
	lost = fflush(stdout) != 0 || ferror(stdout);
	if (!lost)
		return code;
	/* An earlier write may have failed, and nobody knows why. */
	cli_say(command, "cannot write to standard output%s%s", errno ? ": " : "",
		errno ? strerror(errno) : "");
	return code == CLI_FINE ? CLI_FAILED : code;
}

static enum cli_exit unknown(const char *name)
{
	const char *near;
	size_t count = 0;

	while (cli_commands[count].name)
		count++;
	near = launch_nearest(name, &cli_commands[0].name, count, sizeof(*cli_commands));
	fputs("srank: there is no command `", stderr);
	utf8_escape(stderr, name);
	fputc('`', stderr);
	if (near)
		fprintf(stderr, "; did you mean `%s`?", near);
	fputs("\n`srank help` lists the commands\n", stderr);
	return CLI_USAGE;
}

static enum cli_exit help(const struct cli_command *command, int argc, char **argv)
{
	const struct cli_command *topic;

	if (argc > 2)
		return cli_usage(command, "one command at a time");
	if (argc < 2 || argv[1][0] == '-') {
		help_all(stdout);
		return CLI_FINE;
	}
	topic = find(argv[1]);
	if (!topic)
		return unknown(argv[1]);
	cli_help(stdout, topic);
	return CLI_FINE;
}

int main(int argc, char **argv)
{
	const struct cli_command *command;
	const char *name;

	if (argc < 2) {
		help_all(stderr);
		return CLI_USAGE;
	}
	name = argv[1];
	if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0)
		name = "help";
	else if (strcmp(name, "-V") == 0 || strcmp(name, "--version") == 0)
		name = "version";
	command = find(name);
	if (!command)
		return unknown(name);
	return cli_end(command, command->run(command, argc - 1, argv + 1));
}
