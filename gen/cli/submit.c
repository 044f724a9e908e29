/* SPDX-License-Identifier: MIT */
/*
 * `srank submit`: the script next to the job's logs, and sbatch run on it. sbatch keeps
 * the terminal: its words, and the job id of --parsable, reach the user as it says them.
 */
#include "gen/cli/cli.h"
#include "gen/script/options.h"
#include "gen/script/script.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* SLURM_* that say how to reach Slurm; all others are the surrounding job's. */
static const char client_variables[] =
	"SLURM_CLUSTERS SLURM_CONF SLURM_CONF_SERVER SLURM_JWT SLURM_TIME_FORMAT";

/* True when the script has a directive with the option. */
static bool has_directive(const char *script, const char *option)
{
	const size_t length = strlen(option);
	const char *mark = "\n#SBATCH --";

	for (const char *at = script; (at = strstr(at, mark)); at++) {
		const char *name = at + strlen(mark);

		if (strncmp(name, option, length) == 0 &&
		    (name[length] == '=' || name[length] == '\n'))
			return true;
	}
	return false;
}

/* True when the script says what the option says, be it by another one. */
static bool has_said(const char *script, const char *option)
{
	/* Of each line one is taken at a time. */
	static const char *const groups[][4] = {
		{"mem", "mem-per-cpu", "mem-per-gpu"},
		{"requeue", "no-requeue"},
	};

	if (has_directive(script, option))
		return true;
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		bool member = false, said = false;

		for (const char *const *name = groups[i]; *name; name++) {
			member |= strcmp(*name, option) == 0;
			said |= has_directive(script, *name);
		}
		if (member && said)
			return true;
	}
	return false;
}

/* ENTRY, "NAME=value", is a variable of LIST, a text of names separated by blanks. */
static bool is_variable(const char *entry, const char *list)
{
	const size_t length = strcspn(entry, "=");

	for (; list && *list; list += strspn(list, " ")) {
		const size_t size = strcspn(list, " ");

		if (size == length && strncmp(entry, list, length) == 0)
			return true;
		list += size;
	}
	return false;
}

static bool is_kept(const struct cli_command *command, const char *entry,
		    const char *script)
{
	for (size_t i = 0; i < script_options_count; i++) {
		const struct script_option *option = &script_options[i];

		if (!is_variable(entry, option->variables))
			continue;
		/* Numbers of the plan count whether the script says them itself or not.
		 */
		if (!option->owned && !has_said(script, option->name))
			return true;
		cli_say(command, "note: %.*s is not handed to sbatch: %s",
			(int)strcspn(entry, "="), entry,
			option->owned ? "the spec decides this"
				      : "the spec says otherwise");
		return false;
	}
	/*
	 * Inside a job, SLURM_GPUS_PER_NODE, SLURM_MEM_PER_NODE and the like would go on
	 * into the new job, whose srun then fails ("Invalid generic resource").
	 */
	return strncmp(entry, "SLURM_", 6) != 0 || !getenv("SLURM_JOB_ID") ||
	       is_variable(entry, client_variables);
}

/* The environment for sbatch: the array is to be freed, its texts are borrowed. */
static char **clean_environment(const struct cli_command *command, const char *script)
{
	size_t count = 0, kept = 0;
	char **list;

	while (environ[count])
		count++;
	list = calloc(count + 1, sizeof(*list));
	if (!list)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (is_kept(command, environ[i], script))
			list[kept++] = environ[i];
	}
	return list;
}

/* Makes the folder of the log PATTERN, and gives it back, to be freed; NULL: none. */
static enum cli_exit make_log_folder(const struct cli_command *command,
				     const struct spec_value *pattern, char **folder)
{
	int rc = script_folder(pattern, folder);

	if (rc == 0 && *folder)
		rc = cli_make_folders(*folder);
	if (rc < 0)
		return cli_fail(command, "cannot make the log folder %s: %s",
				*folder ? *folder : "", strerror(-rc));
	return CLI_FINE;
}

/*
 * FOLDER/NAME-DIGEST.sbatch. The digest is of the script, so that another script never
 * has the same name and the same script always has. To be freed.
 */
static char *script_path(const struct cli_job *job, const char *folder,
			 const char *script)
{
	uint64_t digest = spec_digest(SPEC_DIGEST_START, script, strlen(script));
	char *name = cli_job_name(job), *path = NULL;

	if (!name ||
	    asprintf(&path, "%s%s%s-%08" PRIx32 ".sbatch", folder ? folder : "",
		     folder ? "/" : "", name, (uint32_t)(digest ^ (digest >> 32))) < 0)
		path = NULL;
	free(name);
	return path;
}

/* Runs sbatch on the script at PATH. ARGUMENTS: COUNT further ones. */
static enum cli_exit run_sbatch(const struct cli_command *command, const char *path,
				const char *script, char **arguments, size_t count)
{
	char **environment = clean_environment(command, script);
	char **argv = calloc(count + 4, sizeof(*argv));
	enum cli_exit code = CLI_FAILED;
	int status, rc;
	pid_t pid;

	if (!environment || !argv) {
		cli_fail(command, "out of memory");
		goto out;
	}
	/* posix_spawnp() does not write to them. */
	argv[0] = (char *)"sbatch";
	argv[1] = (char *)"--parsable";
	memcpy(argv + 2, arguments, count * sizeof(*argv));
	argv[count + 2] = (char *)path;
	rc = posix_spawnp(&pid, "sbatch", NULL, NULL, argv, environment);
	if (rc != 0) {
		cli_fail(command,
			 "cannot start sbatch: %s; submit from a login host of the "
			 "cluster (the "
			 "script is %s)",
			 strerror(rc), path);
		goto out;
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			cli_fail(command, "cannot wait for sbatch: %m");
			goto out;
		}
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		code = CLI_FINE;
	else if (WIFEXITED(status))
		cli_fail(command, "sbatch ended with exit code %d; the script is %s",
			 WEXITSTATUS(status), path);
	else
		cli_fail(command, "sbatch was ended by signal %d", WTERMSIG(status));
out:
	free(argv);
	free(environment);
	return code;
}

/* The current point of the job, or all of it: folders, script, sbatch. */
static enum cli_exit submit(struct cli_job *job, const struct cli_command *command,
			    char **arguments, size_t count)
{
	char *script, *path = NULL, *output = NULL, *error = NULL;
	enum cli_exit code = CLI_FAILED;
	size_t length;
	int rc;

	script = cli_job_script(job, command, &length);
	if (!script)
		return CLI_FAILED;
	if (make_log_folder(command, &job->spec.batch.output, &output) != CLI_FINE ||
	    make_log_folder(command, &job->spec.batch.error, &error) != CLI_FINE)
		goto out;
	path = script_path(job, output, script);
	rc = path ? cli_write_file(path, script, length, 0) : -ENOMEM;
	if (rc < 0) {
		cli_fail(command, "cannot write the script %s: %s", path ? path : "",
			 cli_write_fault(rc));
		goto out;
	}
	code = run_sbatch(command, path, script, arguments, count);
	if (code == CLI_FINE)
		cli_say(command, "the script is %s", path);
out:
	free(error);
	free(output);
	free(path);
	free(script);
	return code;
}

static bool is_many(const struct cli_job *job)
{
	return job->points > 0 && !job->point;
}

/* Makes every script, so that no point of a sweep is submitted when one has a fault. */
static bool check(struct cli_job *job, const struct cli_command *command)
{
	const uint64_t scripts = is_many(job) ? job->points : 1;
	size_t length;

	for (uint64_t i = 0; i < scripts; i++) {
		char *script = NULL;

		if (!is_many(job) || cli_job_seek(job, command, i))
			script = cli_job_script(job, command, &length);
		if (!script)
			return false;
		free(script);
	}
	job->proved = true;
	return true;
}

static enum cli_exit submit_all(struct cli_job *job, const struct cli_command *command,
				char **arguments, size_t count)
{
	enum cli_exit code = CLI_FINE;

	if (!is_many(job))
		return submit(job, command, arguments, count);
	for (uint64_t i = 0; i < job->points && code == CLI_FINE; i++) {
		code = CLI_FAILED;
		if (cli_job_seek(job, command, i))
			code = submit(job, command, arguments, count);
		if (code != CLI_FINE && i > 0)
			cli_say(command,
				"of the sweep points 0 to %" PRIu64 " were submitted",
				i - 1);
	}
	return code;
}

enum cli_exit cli_submit(const struct cli_command *command, int argc, char **argv)
{
	struct cli_job job = {0};
	char **arguments = argv + argc;
	size_t refused, count = 0;
	enum cli_exit code;
	bool owned, fine;

	/* What is behind `--` belongs to sbatch, and getopt would mix it with ours. */
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			arguments = argv + i + 1;
			count = argc - i - 1;
			argc = i;
		}
	}
	if (!cli_job_options(&job, command, argc, argv, NULL, NULL, NULL, &code))
		goto out;
	if (optind < argc) {
		code = cli_usage(command, "`%s`: arguments for sbatch go behind --",
				 argv[optind]);
		goto out;
	}
	refused = script_options_check(arguments, count, &owned);
	if (refused < count && owned) {
		code = cli_usage(
			command,
			"%s would not agree with the script: change the spec, or "
			"use -s, as in -s resources.nodes=4",
			arguments[refused]);
		goto out;
	}
	if (refused < count) {
		code = cli_usage(
			command,
			"`%s` behind -- is no option, and sbatch would take it for "
			"the script; a value stands behind its option",
			arguments[refused]);
		goto out;
	}
	fine = cli_job_read(&job, command) && check(&job, command);
	code = CLI_FAILED;
	if (cli_job_report(&job) == CLI_FINE && fine)
		code = submit_all(&job, command, arguments, count);
out:
	cli_job_clear(&job);
	return code;
}
