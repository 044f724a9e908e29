/* SPDX-License-Identifier: MIT */
/*
 * `srank submit`: the script next to the job's logs, and sbatch run on it. sbatch keeps
 * the terminal: its words, and the job id of --parsable, reach the user as it says them.
 */
#include "gen/cli/cli.h"
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

/*
 * Options of sbatch that must agree with the script's own commands (the number of
 * workers,
 * --cpus-per-task on srun), and their letters. sbatch also takes unique prefixes.
 */
static const char *const owned[] = {
	"nodes",
	"ntasks",
	"ntasks-per-node",
	"ntasks-per-gpu",
	"cpus-per-task",
	"cpus-per-gpu",
	"gres",
	"gpus",
	"gpus-per-node",
	"gpus-per-task",
	"gpus-per-socket",
	"tres-per-task",
};
static const char owned_letters[] = "NncG";

/*
 * Variables that sbatch takes before the directives of the script (sbatch.1, INPUT
 * ENVIRONMENT VARIABLES), with the directive that each would override. NULL: it would
 * change numbers that the script relies on, whether or not it says them itself.
 */
static const struct {
	const char *name;
	const char *directive;
} sbatch_variables[] = {
	{"SBATCH_ACCOUNT", "--account"},
	{"SBATCH_CONSTRAINT", "--constraint"},
	{"SBATCH_CPUS_PER_GPU", NULL},
	{"SBATCH_ERROR", "--error"},
	{"SBATCH_EXCLUSIVE", "--exclusive"},
	{"SBATCH_GPUS", NULL},
	{"SBATCH_GPUS_PER_NODE", NULL},
	{"SBATCH_GPUS_PER_TASK", NULL},
	{"SBATCH_GRES", NULL},
	{"SBATCH_JOB_NAME", "--job-name"},
	{"SBATCH_MEM_PER_CPU", "--mem"},
	{"SBATCH_MEM_PER_GPU", "--mem"},
	{"SBATCH_MEM_PER_NODE", "--mem"},
	{"SBATCH_OUTPUT", "--output"},
	{"SBATCH_PARTITION", "--partition"},
	{"SBATCH_QOS", "--qos"},
	{"SBATCH_RESERVATION", "--reservation"},
	{"SBATCH_TIMELIMIT", "--time"},
};

/* SLURM_* that say how to reach Slurm; all others are the surrounding job's. */
static const char *const client_variables[] = {
	"SLURM_CLUSTERS", "SLURM_CONF",        "SLURM_CONF_SERVER",
	"SLURM_JWT",      "SLURM_TIME_FORMAT",
};

/* True when the script has the directive. */
static bool has_directive(const char *script, const char *directive)
{
	const size_t length = strlen(directive);

	for (const char *at = script; (at = strstr(at, "\n#SBATCH ")); at++) {
		const char *option = at + strlen("\n#SBATCH ");

		if (strncmp(option, directive, length) == 0 &&
		    (option[length] == '=' || option[length] == '\n'))
			return true;
	}
	return false;
}

/* ENTRY, "NAME=value", is a variable called NAME. */
static bool is_variable(const char *entry, const char *name)
{
	const size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static bool is_kept(const struct cli_command *command, const char *entry,
		    const char *script)
{
	for (size_t i = 0; i < sizeof(sbatch_variables) / sizeof(*sbatch_variables);
	     i++) {
		const char *directive = sbatch_variables[i].directive;

		if (!is_variable(entry, sbatch_variables[i].name))
			continue;
		if (directive && !has_directive(script, directive))
			return true;
		fprintf(stderr, "srank %s: note: %s is not handed to sbatch: %s\n",
			command->name, sbatch_variables[i].name,
			directive ? "the spec says otherwise" : "the spec decides this");
		return false;
	}
	/*
	 * Inside a job, SLURM_GPUS_PER_NODE, SLURM_MEM_PER_NODE and the like would go on
	 * into the new job, whose srun then fails ("Invalid generic resource").
	 */
	if (strncmp(entry, "SLURM_", 6) != 0 || !getenv("SLURM_JOB_ID"))
		return true;
	for (size_t i = 0; i < sizeof(client_variables) / sizeof(*client_variables);
	     i++) {
		if (is_variable(entry, client_variables[i]))
			return true;
	}
	return false;
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

/* The spec's key for an argument that may not be changed behind the script's back. */
static const char *owned_option(const char *argument)
{
	size_t length;

	if (argument[0] != '-')
		return NULL;
	if (argument[1] != '-')
		return argument[1] && strchr(owned_letters, argument[1]) ? argument
									 : NULL;
	length = strcspn(argument + 2, "=");
	for (size_t i = 0; length > 0 && i < sizeof(owned) / sizeof(*owned); i++) {
		if (strncmp(argument + 2, owned[i], length) == 0)
			return owned[i];
	}
	return NULL;
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
	/* FNV-1a, 64 bits. */
	uint64_t digest = 0xcbf29ce484222325;
	char *path, *base;

	if (strcmp(job->file, "-") == 0 || length == 0) {
		name = "job";
		length = 3;
	}
	if (job->spec.name.given) {
		name = job->spec.name.text;
		length = strlen(name);
	}
	for (; *script; script++)
		digest = (digest ^ (unsigned char)*script) * 0x100000001b3;
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
	size_t length, count = 0;
	enum cli_exit code;
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
	for (size_t i = 0; i < count; i++) {
		if (owned_option(arguments[i])) {
			code = cli_usage(
				command,
				"%s would not agree with the script: change the spec, or "
				"use -s, as in -s resources.nodes=4",
				arguments[i]);
			goto out;
		}
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
			 strerror(-rc));
		goto out;
	}
	code = run_sbatch(command, path, script, arguments, count);
	if (code == CLI_FINE)
		fprintf(stderr, "srank %s: the script is %s\n", command->name, path);
out:
	free(error);
	free(output);
	free(path);
	free(script);
	cli_job_clear(&job);
	return code;
}
