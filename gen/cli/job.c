/* SPDX-License-Identifier: MIT */
/*
 * From the options that name a job to its plan and its script.
 */
#include "gen/cli/cli.h"
#include "gen/script/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTION_SITE = 0x100,
};

static const struct option job_options[] = {
	{"help", no_argument, NULL, 'h'},
	{"set", required_argument, NULL, 's'},
	{"site", required_argument, NULL, OPTION_SITE},
};

#define JOB_OPTIONS (sizeof(job_options) / sizeof(*job_options))

/* Where an option of a job's goes, or of the command's own. */
struct taker {
	struct cli_job *job;
	void (*take)(int val, void *arg);
	void *arg;
};

static void take_option(int val, void *arg)
{
	struct taker *taker = arg;
	struct cli_job *job = taker->job;

	if (val == 's')
		job->overrides[job->overrides_count++] = optarg;
	else if (val == OPTION_SITE)
		job->site_file = optarg;
	else
		taker->take(val, taker->arg);
}

bool cli_job_options(struct cli_job *job, const struct cli_command *command, int argc,
		     char **argv, const struct option *more,
		     void (*take)(int val, void *arg), void *arg, enum cli_exit *code)
{
	struct option options[CLI_OPTIONS_MAX + 1] = {{0}};
	struct taker taker = {job, take, arg};
	size_t count = JOB_OPTIONS;

	memcpy(options, job_options, sizeof(job_options));
	for (; more && more->name && count < CLI_OPTIONS_MAX; more++)
		options[count++] = *more;
	job->overrides = calloc(argc, sizeof(*job->overrides));
	if (!job->overrides) {
		*code = cli_fail(command, "out of memory");
		return false;
	}
	if (!cli_options(command, argc, argv, options, take_option, &taker, code))
		return false;
	if (optind == argc) {
		*code = cli_usage(command, "no spec is named");
		return false;
	}
	job->file = argv[optind++];
	return true;
}

static int read_job(struct cli_job *job)
{
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
	rc = spec_site_load(&job->site, job->site_file, &job->spec.profile, &job->diag);
	if (rc < 0 && rc != -EINVAL)
		return rc;
	if (job->diag.errors)
		return -EINVAL;
	rc = spec_complete(&job->spec, &job->site.defaults);
	if (rc < 0)
		return rc;
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
