/* SPDX-License-Identifier: MIT */
/*
 * `srank import`: a spec from a script that is there.
 */
#include "gen/check/check.h"
#include "gen/cli/cli.h"
#include "gen/cli/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTION_FORCE = 0x200,
	OPTION_SITE,
};

static const struct option options[] = {
	{"help", no_argument, NULL, 'h'},
	{"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, OPTION_FORCE},
	{"site", required_argument, NULL, OPTION_SITE},
	{NULL},
};

struct import_options {
	const char *output, *site;
	bool force;
};

static void take(int val, void *arg)
{
	struct import_options *import = arg;

	if (val == 'o')
		import->output = optarg;
	else if (val == OPTION_SITE)
		import->site = optarg;
	else
		import->force = true;
}

/* The spec of FILE, to be freed; NULL after a fault, which was told. */
static char *read_spec(const struct cli_command *command, const char *file,
		       const struct spec_site *site, struct diag *diag, size_t *length)
{
	const struct check_options check = {.site = site};
	char *text = NULL, *spec = NULL;
	size_t size = 0;
	FILE *out = NULL;
	int rc = cli_read_file(file, &text, &size);

	if (rc < 0) {
		cli_fail(command, "cannot read %s: %s", file, cli_read_fault(rc));
		return NULL;
	}
	out = open_memstream(&spec, length);
	rc = out ? check_import(out, file, text, size, &check, diag) : -ENOMEM;
	if (out && fclose(out) != 0 && rc == 0)
		rc = -ENOMEM;
	free(text);
	if (rc == 0)
		return spec;
	if (!diag->errors)
		cli_fail(command, "%s: %s", file, strerror(-rc));
	free(spec);
	return NULL;
}

enum cli_exit cli_import(const struct cli_command *command, int argc, char **argv)
{
	const struct spec_value no_profile = {0};
	struct import_options import = {0};
	enum cli_exit code = CLI_FAILED;
	struct spec_site site = {0};
	struct diag diag = {0};
	char *spec = NULL;
	size_t length = 0;
	int rc;

	if (!cli_options(command, argc, argv, options, take, &import, &code))
		return code;
	if (optind != argc - 1)
		return cli_usage(command, optind == argc ? "no script is named"
							 : "one script at a time");
	spec_site_init(&site);
	rc = spec_site_load(&site, import.site, &no_profile, &diag);
	if (rc == 0)
		spec = read_spec(command, argv[optind], &site, &diag, &length);
	else if (!diag.errors)
		cli_fail(command, "the site profile: %s", strerror(-rc));
	diag_print(&diag, stderr, diag_look(stderr));
	if (!spec)
		goto out;
	code = CLI_FINE;
	if (!import.output) {
		fwrite(spec, 1, length, stdout);
		goto out;
	}
	rc = cli_write_file(import.output, spec, length, import.force);
	if (rc == -EEXIST)
		code = cli_fail(
			command,
			"%s exists and differs, so it was kept; --force replaces it",
			import.output);
	else if (rc < 0)
		code = cli_fail(command, "cannot write %s: %s", import.output,
				cli_write_fault(rc));
out:
	free(spec);
	spec_site_clear(&site);
	diag_clear(&diag);
	return code;
}
