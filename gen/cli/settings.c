/* SPDX-License-Identifier: MIT */
/*
 * What `srank exec` and `srank doctor` are told: the keys of --srank in the plugin,
 * parsed by the same table.
 */
#include "gen/cli/cli.h"

#include "spank/exec/source.h"
#include "spank/launch/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void cli_settings_init(struct launch_settings *settings, struct launch_error *err)
{
	const char *list = getenv("SRANK");
	struct launch_error text = {""};

	launch_settings_init(settings);
	/* Who runs it has asked, as with an empty --srank. */
	settings->on = settings->asked = true;
	if (list && *list)
		launch_settings_parse(settings, list, &text);
	if (launch_error_is_set(&text)) {
		launch_error_set(err, -EINVAL, "SRANK: %s", text.text);
	} else if (settings->help && !settings->on) {
		/* As in the plugin: a job would end well that has done nothing. */
		launch_error_set(err, -EINVAL,
				 "SRANK=help sets nothing; unset it, or use "
				 "--srank=help, which runs nothing");
		settings->help = false;
		settings->on = true;
	}
}

bool cli_settings_help(const struct launch_settings *settings)
{
	const char *rank =
		getenv(exec_source_has_server() ? "PMIX_RANK" : "SLURM_PROCID");

	if (!settings->help || settings->on)
		return false;
	if (!rank || strcmp(rank, "0") == 0)
		launch_settings_help(stdout, NULL);
	return true;
}

bool cli_settings_take(const struct cli_command *command,
		       struct launch_settings *settings, const char *key,
		       const char *text)
{
	struct launch_error err = {""};
	char *item;

	if (asprintf(&item, "%s%s%s", key, *key ? "=" : "", text) < 0) {
		cli_fail(command, "out of memory");
		return false;
	}
	launch_settings_parse(settings, item, &err);
	free(item);
	if (!launch_error_is_set(&err))
		return true;
	cli_fail(command, "%s", err.text);
	return false;
}

bool cli_timeout_take(const struct cli_command *command, unsigned int most,
		      const char *text, unsigned int *seconds)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	*seconds = (unsigned int)value;
	if (isdigit((unsigned char)*text) && !*end && value >= 1 && value <= most)
		return true;
	cli_usage(command, "--timeout %s is no number of seconds from 1 to %u", text,
		  most);
	return false;
}
