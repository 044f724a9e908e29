/* SPDX-License-Identifier: MIT */
/*
 * `srank gen`: the script of a spec, to standard output or into a file.
 */
#include "gen/cli/cli.h"
#include "gen/script/script.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPTION_FORCE = 0x200,
};

struct gen_options {
	const char *output;
	bool force;
};

static const struct option options[] = {
	{"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, OPTION_FORCE},
	{NULL},
};

static void take(int val, void *arg)
{
	struct gen_options *gen = arg;

	if (val == 'o')
		gen->output = optarg;
	else
		gen->force = true;
}

/* Slurm makes the folder of a log since 23.02; an unknown version may be older. */
static bool makes_folders(const struct spec_site *site)
{
	unsigned int year, month;

	return site->slurm.given &&
	       sscanf(site->slurm.text, "%u.%u", &year, &month) == 2 &&
	       (year > 23 || (year == 23 && month >= 2));
}

static void note_folder(struct cli_job *job, const struct spec_value *pattern)
{
	char *folder;

	if (script_folder(pattern, &folder) < 0 || !folder)
		return;
	if (access(folder, F_OK) != 0) {
		diag_add(&job->diag, DIAG_NOTE, "log-folder", &pattern->place,
			 "there is no folder `%s` here: before Slurm 23.02 the job fails "
			 "without a "
			 "log when it is missing",
			 folder);
		diag_fix(&job->diag, "mkdir -p it before sbatch, or use `srank submit`");
	}
	free(folder);
}

enum cli_exit cli_gen(const struct cli_command *command, int argc, char **argv)
{
	struct gen_options gen = {0};
	struct cli_job job = {0};
	enum cli_exit code;
	char *text = NULL;
	size_t length;

	if (!cli_job_options(&job, command, argc, argv, options, take, &gen, &code))
		goto out;
	if (optind < argc) {
		code = cli_usage(command, "one spec at a time, and `%s` is another one",
				 argv[optind]);
		goto out;
	}
	if (gen.force && !gen.output) {
		code = cli_usage(command, "--force is for a file named with -o");
		goto out;
	}
	if (cli_job_read(&job, command)) {
		text = cli_job_script(&job, command, &length);
		if (text && !makes_folders(&job.site)) {
			note_folder(&job, &job.spec.batch.output);
			note_folder(&job, &job.spec.batch.error);
		}
	}
	cli_job_report(&job);
	if (!text) {
		code = CLI_FAILED;
		goto out;
	}
	code = cli_output(command, gen.output, text, length, gen.force);
out:
	free(text);
	cli_job_clear(&job);
	return code;
}
