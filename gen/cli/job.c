/* SPDX-License-Identifier: MIT */
/*
 * From the options that name a job to its plan and its script.
 */
#include "gen/cli/cli.h"
#include "gen/script/script.h"
#include "gen/spec/file.h"
#include "spank/launch/nearest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPTION_SITE = 0x100,
};

static const struct option job_options[] = {
	{"help", no_argument, NULL, 'h'},
	{"set", required_argument, NULL, 's'},
	{"site", required_argument, NULL, OPTION_SITE},
};

#define JOB_OPTIONS (sizeof(job_options) / sizeof(*job_options))
#define OPTIONS_MAX 16
#define SHORTS_MAX  (2 * OPTIONS_MAX + 2)

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

bool cli_job_options(struct cli_job *job, const struct cli_command *command, int argc,
		     char **argv, const struct option *more,
		     void (*take)(int val, void *arg), void *arg, enum cli_exit *code)
{
	struct option options[OPTIONS_MAX + 1] = {{0}};
	char shorts[SHORTS_MAX] = ":";
	size_t count = JOB_OPTIONS, used = 1;
	int val;

	memcpy(options, job_options, sizeof(job_options));
	for (; more && more->name && count < OPTIONS_MAX; more++)
		options[count++] = *more;
	for (size_t i = 0; i < count; i++) {
		if (options[i].val >= OPTION_SITE)
			continue;
		shorts[used++] = options[i].val;
		if (options[i].has_arg == required_argument)
			shorts[used++] = ':';
	}
	job->overrides = calloc(argc, sizeof(*job->overrides));
	if (!job->overrides) {
		*code = cli_fail(command, "out of memory");
		return false;
	}
	opterr = 0;
	while ((val = getopt_long(argc, argv, shorts, options, NULL)) != -1) {
		/* A short option that is unknown may stand within a word. */
		char letter[] = {'-', optopt, '\0'};
		const char *word =
			optopt > 0 && optopt < OPTION_SITE ? letter : argv[optind - 1];

		switch (val) {
		case 'h':
			cli_help(stdout, command);
			*code = CLI_FINE;
			return false;
		case 's':
			job->overrides[job->overrides_count++] = optarg;
			break;
		case OPTION_SITE:
			job->site_file = optarg;
			break;
		case ':':
		case '?':
			*code = bad_option(command, options, word, val == ':');
			return false;
		default:
			take(val, arg);
			break;
		}
	}
	if (optind == argc) {
		*code = cli_usage(command, "no spec is named");
		return false;
	}
	job->file = argv[optind++];
	return true;
}

static int read_job(struct cli_job *job)
{
	char *site = NULL;
	int rc;

	/* Faults of the spec, the overrides and the profile are all told in one run. */
	rc = spec_read(&job->spec, job->file, &job->diag);
	if (rc < 0 && rc != -EINVAL)
		return rc;
	for (size_t i = 0; i < job->overrides_count; i++) {
		rc = spec_override(&job->spec, job->overrides[i], &job->diag);
		if (rc < 0 && rc != -EINVAL)
			return rc;
	}
	spec_site_init(&job->site);
	job->site.named = job->site_file;
	rc = job->site_file ? 0 : spec_file_find("site.yaml", &site);
	if (rc == 0)
		rc = spec_site_read(&job->site, job->site_file ? job->site_file : site,
				    &job->diag);
	free(site);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	if (job->diag.errors)
		return -EINVAL;
	return plan_make(&job->plan, &job->spec, &job->site, &job->diag);
}

bool cli_job_read(struct cli_job *job, const struct cli_command *command)
{
	int rc = read_job(job);

	if (rc < 0 && !job->diag.errors)
		cli_fail(command, "%s: %s", job->file, strerror(-rc));
	return rc == 0;
}

char *cli_job_script(struct cli_job *job, const struct cli_command *command,
		     size_t *length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, length);
	int rc;

	if (!out) {
		cli_fail(command, "out of memory");
		return NULL;
	}
	rc = script_write(out, &job->spec, &job->plan, &job->site, &job->templates,
			  &job->diag);
	if (fclose(out) != 0 && rc == 0)
		rc = -ENOMEM;
	if (rc == 0)
		return text;
	if (!job->diag.errors)
		cli_fail(command, "%s: %s", job->file, strerror(-rc));
	free(text);
	return NULL;
}

enum cli_exit cli_job_report(struct cli_job *job)
{
	diag_print(&job->diag, stderr, diag_look(stderr));
	return job->diag.errors ? CLI_FAILED : CLI_FINE;
}

void cli_job_clear(struct cli_job *job)
{
	free(job->overrides);
	plan_clear(&job->plan);
	spec_clear(&job->spec);
	spec_site_clear(&job->site);
	script_templates_clear(&job->templates);
	diag_clear(&job->diag);
}
