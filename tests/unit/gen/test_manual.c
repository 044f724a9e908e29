/* SPDX-License-Identifier: MIT */
/*
 * srank-spec(5) against the tables of fields: every key and alias is described under its
 * section's heading, and nothing else is.
 */
#include "support.h"

#include "gen/spec/read.h"
#include "gen/spec/site.h"
#include "gen/spec/spec.h"

#include <ctype.h>

static const char *source_root = ".";

static char *read_manual(void)
{
	char name[512];
	char *text = NULL;
	size_t size = 0;
	FILE *in;

	snprintf(name, sizeof(name), "%s/docs/srank-spec.5.scd", source_root);
	in = fopen(name, "r");
	assert_non_null(in);
	assert_true(getdelim(&text, &size, '\0', in) > 0);
	fclose(in);
	return text;
}

/* The text under the heading NAME in capitals, up to the next heading; the caller frees.
 */
static char *section_of(const char *manual, const char *name)
{
	char heading[64] = "\n# ";
	const char *start, *end;

	for (size_t i = 3; *name && i < sizeof(heading) - 2; name++)
		heading[i++] = (char)toupper((unsigned char)*name);
	strcat(heading, "\n");
	start = strstr(manual, heading);
	if (!start)
		fail_msg("no heading%s", heading);
	end = strstr(start + strlen(heading), "\n# ");
	return end ? strndup(start, (size_t)(end - start) + 1) : strdup(start);
}

/* The paragraph of the key NAME: its line and the indented ones behind; the caller frees.
 */
static char *paragraph_of(const char *section, const char *name)
{
	char key[64];
	const char *start, *end;

	snprintf(key, sizeof(key), "\n*%s*", name);
	start = strstr(section, key);
	if (!start)
		return NULL;
	end = strchr(start + 1, '\n');
	while (end && end[1] == '\t')
		end = strchr(end + 1, '\n');
	return end ? strndup(start, (size_t)(end - start)) : strdup(start);
}

/* In the running text an underscore is escaped, or scdoc would underline. */
static bool mentions(const char *paragraph, const char *word, size_t length)
{
	char text[128] = "*";
	size_t at = 1;

	for (size_t i = 0; i < length; i++) {
		if (word[i] == '_')
			text[at++] = '\\';
		text[at++] = word[i];
	}
	text[at++] = '*';
	text[at] = '\0';
	return strstr(paragraph, text);
}

static void check_aliases(const struct spec_field *field, const char *paragraph)
{
	const char *alias = field->aliases;

	while (alias && *alias) {
		size_t length = strcspn(alias, " ");

		if (!mentions(paragraph, alias, length))
			fail_msg("alias %.*s of %s is not in the manual", (int)length,
				 alias, field->name);
		alias += length;
		alias += strspn(alias, " ");
	}
}

static void check_table(const char *manual, const char *heading,
			const struct spec_field *fields)
{
	char *section = section_of(manual, heading);
	size_t count = 0, described = 0;

	for (const struct spec_field *field = fields; field->name; field++, count++) {
		char *paragraph = paragraph_of(section, field->name);

		if (!paragraph)
			fail_msg("%s is not under %s", field->name, heading);
		assert_non_null(field->help);
		check_aliases(field, paragraph);
		free(paragraph);
		if (field->type == SPEC_SECTION || field->type == SPEC_TABLE)
			check_table(manual, field->name, field->fields);
	}
	for (const char *at = section; (at = strstr(at, "\n*")); at++)
		described++;
	if (described != count)
		fail_msg("%s: %zu keys in the table, %zu in the manual", heading, count,
			 described);
	assert_true(count < SPEC_FIELDS_MAX);
	free(section);
}

static void every_key_is_in_the_manual(void **state)
{
	char *manual = read_manual();

	check_table(manual, "top level", spec_fields);
	check_table(manual, "site profile", spec_site_fields);
	free(manual);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_in_the_manual),
	};

	if (argc > 1)
		source_root = argv[1];
	return cmocka_run_group_tests_name("manual", tests, NULL, NULL);
}
