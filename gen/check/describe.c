/* SPDX-License-Identifier: MIT */
/*
 * The table of rules as the manual page srank-rules(7), in scdoc's own markup.
 */
#include "gen/check/check.h"

#include <string.h>

/* Text with what scdoc would take for markup escaped. */
static void text(FILE *out, const char *text)
{
	/* A dash begins the entry of a list. */
	if (*text == '-')
		fputc('\\', out);
	for (; *text; text++) {
		/* scdoc leaves an underscore between two letters alone. */
		if (strchr("\\*_`[]#|", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* A script as a literal block, which scdoc shows as it stands. */
static void script(FILE *out, const char *title, const char *lines)
{
	fprintf(out, "\t%s\n\n\t```\n", title);
	while (*lines) {
		size_t length = strcspn(lines, "\n");

		fputc('\t', out);
		for (size_t i = 0; i < length; i++) {
			const unsigned char byte = (unsigned char)lines[i];

			/* What cannot be seen is spelt. */
			if (byte == '\r')
				fputs("^M", out);
			else
				fputc(byte, out);
		}
		fputc('\n', out);
		lines += length + (lines[length] == '\n');
	}
	fputs("\t```\n\n", out);
}

static void rule(FILE *out, const struct check_rule *rule)
{
	fputc('*', out);
	text(out, rule->id);
	fprintf(out, "* (%s%s%s)\n\t", diag_severity_name(rule->severity),
		rule->flags & CHECK_PEDANTIC ? ", with --pedantic" : "",
		rule->flags & CHECK_FIXABLE ? ", --fix" : "");
	text(out, rule->summary);
	fputs(".\n\n\tWhy: ", out);
	text(out, rule->why);
	fputs(".\n\n\tFix: ", out);
	text(out, rule->cure);
	fputs(".\n\n", out);
	if (rule->bad)
		script(out, "Found in:", rule->bad);
}

void check_rules_describe(FILE *out)
{
	fputs("srank-rules(7)\n\n# NAME\n\nsrank-rules - what *srank check* finds in "
	      "sbatch "
	      "scripts\n\n# DESCRIPTION\n\n"
	      "This page is made from the table in gen/check/table.c; a test keeps both "
	      "the "
	      "same. *srank rules* prints it for one rule.\n\n"
	      "An *error* is a script that Slurm refuses, or that does not do what it "
	      "says. A "
	      "*warning* is one that fails on some clusters or in some versions, or "
	      "wastes "
	      "what it asked for. A *note* is worth knowing. Some severities follow the "
	      "Slurm "
	      "version of *--slurm* or of the site profile; without one the rules speak "
	      "of all "
	      "versions from 22.05 on.\n\n"
	      "A remark in the script switches a rule off. At the end of a line it is "
	      "for that "
	      "line, alone above a command for that command, alone above the first "
	      "command for "
	      "the whole script, and *disable-file* is for the whole script wherever it "
	      "stands. *all* stands for every rule, and several are parted by commas:\n\n"
	      "```\nsrun ./solver   # srank: disable=srun-without-cpus-per-task\n```\n\n",
	      out);
	for (enum check_group group = 0; group < CHECK_GROUPS; group++) {
		fprintf(out, "# ");
		for (const char *letter = check_group_name(group); *letter; letter++)
			fputc(*letter >= 'a' && *letter <= 'z' ? *letter - 'a' + 'A'
							       : *letter,
			      out);
		fputs("\n\n", out);
		for (size_t i = 0; i < check_rules_count; i++) {
			if (check_rules[i].group == group)
				rule(out, &check_rules[i]);
		}
	}
	fputs("# SEE ALSO\n\n*srank*(1), *srank-spec*(5), *sbatch*(1), *srun*(1)\n", out);
}
