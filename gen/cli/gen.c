/* SPDX-License-Identifier: MIT */
/*
 * `srank gen`: the script of a spec, to standard output or into a file.
 */
#include "gen/cli/cli.h"
#include "gen/plan/sweep.h"
#include "gen/script/script.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* The script of job->spec, to be freed, with what is to be said about it. */
static char *make(struct cli_job *job, const struct cli_command *command, size_t *length)
{
	char *text = cli_job_script(job, command, length);

	/* Of a sweep the first point speaks for all. */
	if (text && !makes_folders(&job->site) && (job->here.number == 0 || job->point)) {
		note_folder(job, &job->spec.batch.output);
		note_folder(job, &job->spec.batch.error);
	}
	return text;
}

/* Puts on disk what was written into FOLDER: once for all of it. */
static int synchronize(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd >= 0 && syncfs(fd) == 0 ? 0 : -errno;

	if (fd >= 0)
		close(fd);
	return rc;
}

/* FOLDER/NAME-NUMBER.sbatch, with as many digits as the last point has. To be freed. */
static char *point_path(const struct cli_job *job, const char *folder)
{
	char *name = cli_job_name(job), *path = NULL;
	int digits = snprintf(NULL, 0, "%" PRIu64, job->points - 1);

	if (!name || asprintf(&path, "%s/%s-%0*" PRIu64 ".sbatch", folder, name, digits,
			      job->here.number) < 0)
		path = NULL;
	free(name);
	return path;
}

/* Each value of the sweep held to the rules, before there is any file. */
static bool prove_points(struct cli_job *job, const struct cli_command *command)
{
	for (uint64_t i = 0; i < job->points; i++) {
		char *text = NULL;
		size_t length;

		if (!plan_sweep_is_first(job->here.sweep, i))
			continue;
		if (cli_job_seek(job, command, i))
			text = cli_job_script(job, command, &length);
		if (!text)
			return false;
		free(text);
	}
	job->proved = true;
	return true;
}

/* A script for each point of the sweep, into the folder. */
static bool write_points(struct cli_job *job, const struct cli_command *command,
			 const struct gen_options *gen)
{
	const unsigned int flags = CLI_WRITE_LAZY | (gen->force ? CLI_WRITE_FORCE : 0);
	int rc;

	if (!prove_points(job, command))
		return false;
	rc = cli_make_folders(gen->output);
	if (rc < 0) {
		cli_fail(command, "cannot make the folder %s: %s", gen->output,
			 strerror(-rc));
		return false;
	}
	for (uint64_t i = 0; i < job->points; i++) {
		char *text, *path = NULL;
		size_t length;
		bool written = false;

		if (!cli_job_seek(job, command, i))
			return false;
		text = make(job, command, &length);
		if (text) {
			path = point_path(job, gen->output);
			if (path)
				written = cli_output(command, path, text, length,
						     flags) == CLI_FINE;
			else
				cli_fail(command, "out of memory");
		}
		free(path);
		free(text);
		if (!written)
			return false;
	}
	rc = synchronize(gen->output);
	if (rc < 0)
		cli_fail(command, "cannot bring %s to disk: %s", gen->output,
			 strerror(-rc));
	return rc == 0;
}

/* A script can be written to PATH; what is not so is printed. */
static bool check_output(const struct cli_job *job, const struct cli_command *command,
			 const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat there, spec;
	char *folder;

	if (stat(path, &there) == 0) {
		if (S_ISDIR(there.st_mode)) {
			cli_fail(command,
				 "%s is a folder; name a file in it, as in -o "
				 "%s%sjob.sbatch",
				 path, path, slash && !slash[1] ? "" : "/");
			return false;
		}
		/* --force would put the script in the place of what it is made from. */
		if (S_ISREG(there.st_mode) && stat(job->file, &spec) == 0 &&
		    spec.st_dev == there.st_dev && spec.st_ino == there.st_ino) {
			cli_fail(command, "%s is the spec itself; name another file",
				 path);
			return false;
		}
		return true;
	}
	if (errno != ENOENT || !slash || slash == path)
		return true;
	folder = strndup(path, (size_t)(slash - path));
	if (!folder || access(folder, F_OK) == 0) {
		free(folder);
		return true;
	}
	cli_fail(command, "cannot write %s: there is no folder %s; make it with mkdir -p",
		 path, folder);
	free(folder);
	return false;
}

static enum cli_exit write_one(struct cli_job *job, const struct cli_command *command,
			       const struct gen_options *gen)
{
	enum cli_exit code;
	size_t length;
	char *text = make(job, command, &length);

	cli_job_report(job);
	if (!text || (gen->output && !check_output(job, command, gen->output))) {
		free(text);
		return CLI_FAILED;
	}
	code = cli_output(command, gen->output, text, length,
			  gen->force ? CLI_WRITE_FORCE : 0);
	free(text);
	return code;
}

enum cli_exit cli_gen(const struct cli_command *command, int argc, char **argv)
{
	struct gen_options gen = {0};
	struct cli_job job = {0};
	enum cli_exit code;
	bool fine;

	if (!cli_job_options(&job, command, argc, argv, options, take, &gen, &code))
		goto out;
	if (optind < argc) {
		code = cli_usage(command, "one spec at a time, and `%s` is another one",
				 argv[optind]);
		goto out;
	}
	if (gen.output && !gen.output[0]) {
		code = cli_usage(command, "-o names no file");
		goto out;
	}
	/* As of a spec, and so that no file of that name is left behind. */
	if (gen.output && strcmp(gen.output, "-") == 0)
		gen.output = NULL;
	if (gen.force && !gen.output) {
		code = cli_usage(command, "--force is for a file named with -o");
		goto out;
	}
	if (!cli_job_read(&job, command)) {
		cli_job_report(&job);
		code = CLI_FAILED;
	} else if (job.points == 0 || job.point) {
		code = write_one(&job, command, &gen);
	} else if (!gen.output) {
		code = cli_usage(command,
				 "this sweep is %" PRIu64 " scripts: name a folder for "
				 "them with -o, or one of them with --point",
				 job.points);
	} else {
		fine = write_points(&job, command, &gen);
		code = cli_job_report(&job) == CLI_FINE && fine ? CLI_FINE : CLI_FAILED;
	}
out:
	cli_job_clear(&job);
	return code;
}
