/* SPDX-License-Identifier: MIT */
/*
 * `srank check`: reads scripts, tells what is wrong in them, and puts right what is
 * certain.
 */
#include "gen/check/check.h"
#include "gen/cli/cli.h"
#include "gen/cli/read.h"
#include "gen/script/uses.h"
#include "spank/launch/nearest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Fixes that make way for others: a directive is moved up, then its option is spelt. */
#define ROUNDS 5

enum {
	OPTION_FIX = 0x200,
	OPTION_DIFF,
	OPTION_FORMAT,
	OPTION_SLURM,
	OPTION_SITE,
	OPTION_STRICT,
	OPTION_PEDANTIC,
	OPTION_DISABLE,
	OPTION_SBATCH,
	OPTION_ENVIRONMENT,
};

static const struct option options[] = {
	{"help", no_argument, NULL, 'h'},
	{"fix", no_argument, NULL, OPTION_FIX},
	{"diff", no_argument, NULL, OPTION_DIFF},
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"slurm", required_argument, NULL, OPTION_SLURM},
	{"site", required_argument, NULL, OPTION_SITE},
	{"strict", no_argument, NULL, OPTION_STRICT},
	{"pedantic", no_argument, NULL, OPTION_PEDANTIC},
	{"disable", required_argument, NULL, OPTION_DISABLE},
	{"sbatch", required_argument, NULL, OPTION_SBATCH},
	{"environment", no_argument, NULL, OPTION_ENVIRONMENT},
	{NULL},
};

struct check {
	const struct cli_command *command;
	struct check_options options;
	struct spec_site site;
	const char *site_file, *format_name, *slurm;
	enum check_format format;
	bool fix, diff, strict;
	const char **disabled;  /* options.disabled, to be freed */
	const char **arguments; /* options.arguments, to be freed */
	struct diag diag;
	bool failed; /* a file could not be read or written */
};

static void take(int val, void *arg)
{
	struct check *check = arg;

	switch (val) {
	case OPTION_FIX:
		check->fix = true;
		break;
	case OPTION_DIFF:
		check->diff = true;
		break;
	case OPTION_FORMAT:
		check->format_name = optarg;
		break;
	case OPTION_SLURM:
		check->slurm = optarg;
		break;
	case OPTION_SITE:
		check->site_file = optarg;
		break;
	case OPTION_STRICT:
		check->strict = true;
		break;
	case OPTION_PEDANTIC:
		check->options.pedantic = true;
		break;
	case OPTION_DISABLE:
		check->disabled[check->options.disabled_count++] = optarg;
		break;
	case OPTION_SBATCH:
		check->arguments[check->options.arguments_count++] = optarg;
		break;
	case OPTION_ENVIRONMENT:
		check->options.environment = (const char *const *)environ;
		while (environ[check->options.environment_count])
			check->options.environment_count++;
		break;
	}
}

/* The values of the options; false: CODE is to be returned. */
static bool read_values(struct check *check, enum cli_exit *code)
{
	const struct cli_command *command = check->command;
	const char *name = check->format_name;

	for (size_t i = 0; name; i++) {
		if (i == CHECK_FORMATS) {
			*code = cli_usage(command,
					  "--format=%s: it is text, json, sarif or gcc",
					  name);
			return false;
		}
		if (strcmp(check_format_names[i], name) == 0) {
			check->format = (enum check_format)i;
			break;
		}
	}
	if (check->slurm) {
		check->options.slurm = script_slurm_parse(check->slurm);
		if (check->options.slurm == 0) {
			*code = cli_usage(command,
					  "--slurm=%s: it is a version such as 22.05",
					  check->slurm);
			return false;
		}
	}
	for (size_t i = 0; i < check->options.disabled_count; i++) {
		const char *near, *id = check->disabled[i];

		if (check_rule_find(id) || strcmp(id, "all") == 0)
			continue;
		near = launch_nearest(id, &check_rules[0].id, check_rules_count,
				      sizeof(*check_rules));
		*code = near ? cli_usage(command,
					 "--disable=%s: there is no such rule; did you "
					 "mean %s?",
					 id, near)
			     : cli_usage(command,
					 "--disable=%s: there is no such rule; `srank "
					 "rules` "
					 "lists them",
					 id);
		return false;
	}
	return true;
}

static int look(struct check *check, const char *file, const char *text, size_t length,
		struct diag *diag, struct check_edits *edits)
{
	int rc = check_script(file, text, length, &check->options, diag, edits);

	if (rc < 0) {
		cli_fail(check->command, "%s: %s", file, strerror(-rc));
		check->failed = true;
	}
	return rc;
}

/*
 * TEXT with all that is certain put right, to be freed; NULL: nothing is. What it was is
 * told to SAID (NULL: nobody).
 */
static char *mend(struct check *check, const char *file, const char *text, size_t length,
		  size_t *size, FILE *said)
{
	char *last = NULL;

	for (int round = 0; round < ROUNDS; round++) {
		struct check_edits edits = {0};
		struct diag diag = {0};
		char *fixed = NULL;
		size_t fixed_size = 0;
		int rc = look(check, file, text, length, &diag, &edits);

		if (rc == 0 && edits.count > 0)
			rc = check_fix_apply(text, length, &edits, &fixed, &fixed_size);
		if (rc == 0 && fixed && said)
			check_fix_tell(said, file, text, &edits);
		check_edits_clear(&edits);
		diag_clear(&diag);
		if (rc < 0 || !fixed)
			break;
		if (fixed_size == length && memcmp(fixed, text, length) == 0) {
			free(fixed);
			break;
		}
		free(last);
		text = last = fixed;
		length = *size = fixed_size;
	}
	return last;
}

/* False: the file is as it was. */
static bool write_back(struct check *check, const char *file, const char *text,
		       size_t length)
{
	int rc;

	if (strcmp(file, "-") == 0) {
		fwrite(text, 1, length, stdout);
		return true;
	}
	rc = cli_write_file(file, text, length, true);
	if (rc < 0) {
		cli_fail(check->command, "cannot write %s: %s", file,
			 cli_write_fault(rc));
		check->failed = true;
	}
	return rc >= 0;
}

static void check_file(struct check *check, const char *file)
{
	char *text = NULL, *fixed = NULL, *told = NULL;
	size_t length = 0, size = 0, told_length = 0;
	FILE *said = NULL;
	int rc = cli_read_file(file, &text, &length);

	if (rc < 0) {
		cli_fail(check->command, "cannot read %s: %s", file, cli_read_fault(rc));
		check->failed = true;
		return;
	}
	/* What is no text there must stay readable by a program. */
	if (check->fix && !check->diff && check->format == CHECK_FORMAT_TEXT)
		said = open_memstream(&told, &told_length);
	if (check->fix || check->diff)
		fixed = mend(check, file, text, length, &size, said);
	if (said)
		fclose(said);
	if (fixed && check->diff)
		check_fix_diff(stdout, file, text, length, fixed, size);
	if (check->fix && !check->diff && (fixed || strcmp(file, "-") == 0) &&
	    write_back(check, file, fixed ? fixed : text, fixed ? size : length) && told)
		fputs(told, stderr);
	/* What --fix leaves, or what there is. */
	if (check->fix && !check->diff && fixed)
		look(check, file, fixed, size, &check->diag, NULL);
	else
		look(check, file, text, length, &check->diag, NULL);
	free(told);
	free(fixed);
	free(text);
}

static void report(struct check *check)
{
	const bool beside = check->diff || check->fix;
	FILE *out = beside ? stderr : stdout;
	const unsigned int terminal = diag_look(out);

	/* The difference is what was asked for. */
	if (check->diff)
		return;
	check_print(&check->diag, check->format, terminal & DIAG_COLOUR, out);
}

enum cli_exit cli_check(const struct cli_command *command, int argc, char **argv)
{
	struct check check = {.command = command};
	const struct spec_value no_profile = {0};
	enum cli_exit code = CLI_FAILED;
	struct diag diag = {0};
	int rc;

	check.disabled = calloc((size_t)argc, sizeof(*check.disabled));
	check.arguments = calloc((size_t)argc, sizeof(*check.arguments));
	if (!check.disabled || !check.arguments) {
		cli_fail(command, "out of memory");
		goto out;
	}
	if (!cli_options(command, argc, argv, options, take, &check, &code) ||
	    !read_values(&check, &code))
		goto out;
	if (optind == argc) {
		code = cli_usage(command, "no script is named");
		goto out;
	}
	check.options.disabled = check.disabled;
	check.options.arguments = check.arguments;
	spec_site_init(&check.site);
	rc = spec_site_load(&check.site, check.site_file, &no_profile, &diag);
	if (rc < 0) {
		if (rc != -EINVAL && !diag.errors)
			cli_fail(command, "the site profile: %s", strerror(-rc));
		diag_print(&diag, stderr, diag_look(stderr));
		code = CLI_FAILED;
		goto out;
	}
	check.options.site = &check.site;
	for (int i = optind; i < argc; i++)
		check_file(&check, argv[i]);
	report(&check);
	code = check.failed || check.diag.errors || (check.strict && check.diag.warnings)
		       ? CLI_FAILED
		       : CLI_FINE;
out:
	free(check.disabled);
	free(check.arguments);
	spec_site_clear(&check.site);
	diag_clear(&check.diag);
	diag_clear(&diag);
	return code;
}
