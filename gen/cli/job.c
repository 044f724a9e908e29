/* SPDX-License-Identifier: MIT */
/*
 * From the options that name a job to its plan and its script.
 */
#include "gen/cli/cli.h"
#include "gen/plan/sweep.h"
#include "gen/script/script.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTION_SITE = 0x100,
	OPTION_POINT,
};

static const struct option job_options[] = {
	{"help", no_argument, NULL, 'h'},
	{"set", required_argument, NULL, 's'},
	{"document", required_argument, NULL, 'd'},
	{"point", required_argument, NULL, OPTION_POINT},
	{"site", required_argument, NULL, OPTION_SITE},
};

/* Of the job's name in that of its script: with digest and ending it stays below
 * NAME_MAX. */
#define NAME_SHOWN 200

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

	switch (val) {
	case 's':
		job->overrides[job->overrides_count++] = optarg;
		break;
	case 'd':
		job->document = optarg;
		break;
	case OPTION_SITE:
		job->site_file = optarg;
		break;
	case OPTION_POINT:
		job->point = optarg;
		break;
	default:
		taker->take(val, taker->arg);
		break;
	}
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
	job->spec.document = job->document;
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
	if (rc == 0)
		rc = plan_sweep_check(&job->spec, &job->diag);
	if (rc < 0)
		return rc;
	if (job->spec.sweep.as.given && job->spec.sweep.as.number == SPEC_SWEEP_FILES)
		job->points = plan_sweep_points(&job->spec);
	if (job->points > 0) {
		job->sweep = job->spec;
		job->spec = (struct spec){0};
		job->here.sweep = &job->sweep;
	}
	return 0;
}

static int make_plan(struct cli_job *job)
{
	int rc = 0;

	if (job->points > 0) {
		spec_clear(&job->spec);
		rc = plan_sweep_apply(&job->sweep, job->here.number, &job->spec,
				      &job->diag);
	}
	plan_clear(&job->plan);
	if (rc == 0)
		rc = plan_make(&job->plan, &job->spec, &job->site, &job->diag);
	return rc;
}

/* 0; -ERANGE; -EINVAL. */
static int read_point(const char *text, uint64_t points, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	return errno || *number >= points ? -ERANGE : 0;
}

/* True when RC is 0; a failure that is not in the diagnostics is printed. */
static bool succeeded(const struct cli_job *job, const struct cli_command *command,
		      int rc)
{
	if (rc < 0 && !job->diag.errors)
		cli_fail(command, "%s: %s", job->file, strerror(-rc));
	return rc == 0;
}

bool cli_job_read(struct cli_job *job, const struct cli_command *command)
{
	int rc = read_job(job);

	if (rc == 0 && job->point)
		rc = read_point(job->point, job->points, &job->here.number);
	if (rc == -ERANGE && job->points == 0) {
		cli_fail(command, "--point is for a sweep that is a script for each "
				  "point (sweep.as: files)");
		return false;
	}
	if (rc == -ERANGE || (rc == -EINVAL && !job->diag.errors)) {
		cli_fail(command, "--point %s: the points are 0 to %" PRIu64, job->point,
			 job->points - 1);
		return false;
	}
	if (rc == 0)
		rc = make_plan(job);
	return succeeded(job, command, rc);
}

bool cli_job_seek(struct cli_job *job, const struct cli_command *command, uint64_t number)
{
	job->here.number = number;
	return succeeded(job, command, make_plan(job));
}

char *cli_job_name(const struct cli_job *job)
{
	const char *slash = strrchr(job->file, '/');
	const char *name = slash ? slash + 1 : job->file;
	size_t length = strcspn(name, ".");
	char *copy;

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
	copy = strndup(name, length);
	/* A job may be called "a/b", "my run", or "-x", which sbatch would take for an
	 * option. */
	for (char *c = copy; c && *c; c++) {
		bool plain = (unsigned char)*c >= 0x80 || (*c >= 'a' && *c <= 'z') ||
			     (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
			     strchr("_.", *c) || (*c == '-' && c > copy);

		if (!plain)
			*c = '_';
	}
	return copy;
}

char *cli_job_script(struct cli_job *job, const struct cli_command *command,
		     size_t *length)
{
	/* Of a sweep each value is held to the rules once, and not each combination. */
	const bool prove =
		!job->proved && (job->points == 0 || job->point ||
				 plan_sweep_is_first(job->here.sweep, job->here.number));
	struct script_origins origins = {0};
	char *text = NULL;
	FILE *out = open_memstream(&text, length);
	int rc;

	if (!out) {
		cli_fail(command, "out of memory");
		return NULL;
	}
	rc = script_write(out, &job->spec, &job->plan, &job->site,
			  job->points > 0 ? &job->here : NULL, &job->templates,
			  prove ? &origins : NULL, &job->diag);
	if (fclose(out) != 0 && rc == 0)
		rc = -ENOMEM;
	if (rc == 0 && prove)
		rc = cli_job_prove(job, text, *length, &origins);
	script_origins_clear(&origins);
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
	spec_clear(&job->sweep);
	spec_site_clear(&job->site);
	script_templates_clear(&job->templates);
	diag_clear(&job->diag);
}
