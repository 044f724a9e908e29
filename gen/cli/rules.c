/* SPDX-License-Identifier: MIT */
/*
 * `srank rules`: what `srank check` knows, as a list, or one rule with its reason and an
 * example.
 */
#include "gen/check/check.h"
#include "gen/cli/cli.h"
#include "spank/launch/nearest.h"

#include <string.h>

static const struct option options[] = {
	{"help", no_argument, NULL, 'h'},
	{NULL},
};

static void take(int val, void *arg)
{
}

static void list(void)
{
	for (enum check_group group = 0; group < CHECK_GROUPS; group++) {
		printf("%s%s\n", group ? "\n" : "", check_group_name(group));
		for (size_t i = 0; i < check_rules_count; i++) {
			const struct check_rule *rule = &check_rules[i];

			if (rule->group == group)
				printf("  %-30s %-8s %s%s\n", rule->id,
				       diag_severity_name(rule->severity), rule->summary,
				       rule->flags & CHECK_PEDANTIC ? " (--pedantic)"
								    : "");
		}
	}
}

static void script(const char *title, const char *lines)
{
	if (!lines)
		return;
	printf("\n%s\n", title);
	while (*lines) {
		size_t length = strcspn(lines, "\n");

		fputs("    ", stdout);
		for (size_t i = 0; i < length; i++) {
			if (lines[i] == '\r')
				fputs("^M", stdout);
			else
				putchar(lines[i]);
		}
		putchar('\n');
		lines += length + (lines[length] == '\n');
	}
}

static void show(const struct check_rule *rule)
{
	printf("%s (%s%s%s)\n\n%s\n\nwhy: %s\nfix: %s\n", rule->id,
	       diag_severity_name(rule->severity),
	       rule->flags & CHECK_PEDANTIC ? ", with --pedantic" : "",
	       rule->flags & CHECK_FIXABLE ? ", --fix" : "", rule->summary, rule->why,
	       rule->cure);
	script("found in:", rule->bad);
	script("right:", rule->good);
}

enum cli_exit cli_rules(const struct cli_command *command, int argc, char **argv)
{
	enum cli_exit code;

	if (!cli_options(command, argc, argv, options, take, NULL, &code))
		return code;
	if (optind == argc)
		list();
	for (int i = optind; i < argc; i++) {
		const struct check_rule *rule = check_rule_find(argv[i]);
		const char *near;

		if (!rule) {
			near = launch_nearest(argv[i], &check_rules[0].id,
					      check_rules_count, sizeof(*check_rules));
			return near ? cli_fail(command,
					       "there is no rule %s; did you mean %s?",
					       argv[i], near)
				    : cli_fail(command, "there is no rule %s", argv[i]);
		}
		if (i > optind)
			putchar('\n');
		show(rule);
	}
	return CLI_FINE;
}
