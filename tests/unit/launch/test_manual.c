/* SPDX-License-Identifier: MIT */
/*
 * spank_srank(8) against the table of keys: what --srank=help shows, the manual explains.
 */
#include "spank/launch/launchers.h"
#include "spank/launch/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Seen from the folder of this file. */
#define PAGE "../../../docs/spank_srank.8.scd"

static char *read_page(void)
{
	FILE *in = fopen(PAGE, "r");
	char *text = NULL;
	size_t size = 0;

	if (!in)
		fail_msg(PAGE " cannot be read");
	assert_true(getdelim(&text, &size, '\0', in) > 0);
	fclose(in);
	return text;
}

/* A line that begins a paragraph of the list of keys, and names KEY in bold. */
static bool explains(const char *page, const char *key)
{
	char bold[64];
	size_t length = snprintf(bold, sizeof(bold), "*%s", key);

	for (const char *line = page; line; line = strchr(line, '\n')) {
		const char *end;

		line += *line == '\n';
		end = strchrnul(line, '\n');
		if (*line != '*' || strncmp(end, "\n\t", 2) != 0)
			continue;
		for (const char *p = line; p < end; p++) {
			if (strncmp(p, bold, length) == 0 && strchr("=*", p[length]))
				return true;
		}
	}
	return false;
}

static void every_key_is_explained(void **state)
{
	char *page = read_page();

	for (const struct launch_key *key = launch_keys; key->name; key++) {
		if (!explains(page, key->name))
			fail_msg(PAGE " does not explain %s", key->name);
	}
	assert_false(explains(page, "gpu"));
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_explained),
	};

	return cmocka_run_group_tests_name("manual", tests, NULL, NULL);
}
