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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Of the job's name in that of its script: with digest and ending it stays below
 * NAME_MAX. */
#define NAME_SHOWN 200

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
		if (!option->owned && !has_directive(script, option->name))
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

/* Makes FOLDER and what is above it. */
static int make_folders(const char *folder)
{
	char *path = strdup(folder);
	struct stat info;
	int rc = 0;

	if (!path)
		return -ENOMEM;
	for (char *at = path + 1; rc == 0; at++) {
		const char end = *at;

		if (end != '/' && end != '\0')
			continue;
		*at = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			rc = -errno;
		*at = end;
		if (end == '\0')
			break;
	}
	if (rc == 0 && (stat(path, &info) < 0 || !S_ISDIR(info.st_mode)))
		rc = -ENOTDIR;
	free(path);
	return rc;
}

/* Makes the folder of the log PATTERN, and gives it back, to be freed; NULL: none. */
static enum cli_exit make_log_folder(const struct cli_command *command,
				     const struct spec_value *pattern, char **folder)
{
	int rc = script_folder(pattern, folder);

	if (rc == 0 && *folder)
		rc = make_folders(*folder);
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
	const char *slash = strrchr(job->file, '/');
	const char *name = slash ? slash + 1 : job->file;
	size_t length = strcspn(name, ".");
	uint64_t digest = spec_digest(SPEC_DIGEST_START, script, strlen(script));
	char *path, *base;

	if (strcmp(job->file, "-") == 0 || length == 0) {
		name = "job";
		length = 3;
	}
	if (job->spec.name.given) {
		name = job->spec.name.text;
		length = strlen(name);
	}
	if (length > NAME_SHOWN)
		length = NAME_SHOWN;
	/* Not within a character. */
	while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
		length--;
	if (asprintf(&path, "%s%s%.*s-%08" PRIx32 ".sbatch", folder ? folder : "",
		     folder ? "/" : "", (int)length, name,
		     (uint32_t)(digest ^ (digest >> 32))) < 0)
		return NULL;
	base = path + (folder ? strlen(folder) + 1 : 0);
	/* A job may be called "a/b", "my run", or "-x", which sbatch would take for an
	 * option. */
	for (char *c = base; *c; c++) {
		bool plain = (unsigned char)*c >= 0x80 || (*c >= 'a' && *c <= 'z') ||
			     (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
			     strchr("_.", *c) || (*c == '-' && c > base);

		if (!plain)
			*c = '_';
	}
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

enum cli_exit cli_submit(const struct cli_command *command, int argc, char **argv)
{
	char *script = NULL, *path = NULL, *output = NULL, *error = NULL;
	struct cli_job job = {0};
	char **arguments = argv + argc;
	size_t length, refused, count = 0;
	enum cli_exit code;
	bool owned;
	int rc;

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
	if (cli_job_read(&job, command))
		script = cli_job_script(&job, command, &length);
	cli_job_report(&job);
	code = CLI_FAILED;
	if (!script)
		goto out;
	if (make_log_folder(command, &job.spec.batch.output, &output) != CLI_FINE ||
	    make_log_folder(command, &job.spec.batch.error, &error) != CLI_FINE)
		goto out;
	path = script_path(&job, output, script);
	rc = path ? cli_write_file(path, script, length, false) : -ENOMEM;
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
	cli_job_clear(&job);
	return code;
}
