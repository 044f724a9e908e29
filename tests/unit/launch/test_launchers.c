/* SPDX-License-Identifier: MIT */
/* The table of launchers, and the page of the manual that is made from it. */
#include "spank/launch/launchers.h"

#include "tests/unit/launch/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Seen from the folder of this file. */
#define PAGE "../../../docs/launchers.md"

static char *describe(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	launch_launchers_describe(out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_names_all(void **state)
{
	char *text = describe();

	for (size_t i = 0; i < launch_launchers_count; i++) {
		const struct launch_launcher *launcher = &launch_launchers[i];
		char row[256];

		snprintf(row, sizeof(row), "| [%s](#%s) | %s | %s |\n", launcher->name,
			 launcher->name, launch_shape_name(launcher->shape),
			 launcher->summary);
		assert_non_null(strstr(text, row));
		snprintf(row, sizeof(row), "\n## %s\n", launcher->name);
		assert_non_null(strstr(text, row));
		for (const struct launch_variable *variable = launcher->variables;
		     variable && variable->name; variable++) {
			snprintf(row, sizeof(row), "\n| `%s` | ", variable->name);
			assert_non_null(strstr(text, row));
		}
	}
	assert_null(strstr(text, "(null)"));
	free(text);
}

/* After a change of the table, what this prints is the page. */
static void test_page(void **state)
{
	char *text = describe();
	FILE *in = fopen(PAGE, "r");
	char page[32768];
	size_t size;

	if (!in)
		fail_msg(PAGE " cannot be read");
	size = fread(page, 1, sizeof(page) - 1, in);
	fclose(in);
	page[size] = '\0';
	if (strcmp(page, text) != 0)
		fail_msg(PAGE " is not what launch_launchers_describe() prints:\n%s",
			 text);
	free(text);
}

static void test_shapes(void **state)
{
	const struct launch_variable *node = launch_shape_variables(LAUNCH_NODE);

	assert_string_equal(launch_shape_variables(LAUNCH_WORKER)->name, "RANK");
	/* A rank for a whole node makes programs take themselves for a worker. */
	for (; node->name; node++) {
		assert_string_not_equal(node->name, "RANK");
		assert_string_not_equal(node->name, "LOCAL_RANK");
		assert_string_not_equal(node->name, "WORLD_SIZE");
	}
}

static void test_programs(void **state)
{
	static const struct {
		const char *launcher; /* NULL: none */
		const char *words[6];
	} rows[] = {
		{"torchrun", {"torchrun"}},
		{"torchrun", {"/opt/conda/bin/torchrun", "--nproc_per_node=2", "t.py"}},
		{"torchrun", {"python", "/opt/conda/bin/torchrun", "t.py"}},
		{"torchrun", {"/usr/bin/python3.11", "-m", "torch.distributed.run"}},
		{"torchrun", {"python3", "-u", "-m", "torch.distributed.launch", "t.py"}},
		{"torchrun", {"python", "-W", "ignore", "-m", "torch.distributed.run"}},
		{"accelerate", {"accelerate", "launch", "t.py"}},
		{"accelerate", {"python", "-m", "accelerate.commands.launch"}},
		{NULL, {"accelerate", "config"}},
		{NULL, {"accelerate"}},
		{NULL, {"python", "-u", "t.py", "torchrun"}},
		{NULL, {"python", "-m", "torch.distributed.runner"}},
		{NULL, {"python", "-m", "torch"}},
		{NULL, {"python", "-m"}},
		{NULL, {"python", "-W"}},
		{NULL, {"python"}},
		{NULL, {"torchrun.sh"}},
		{NULL, {"torch"}},
		{NULL, {"-m", "torch"}},
		{NULL, {""}},
		{NULL, {NULL}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct launch_launcher *launcher =
			launch_launcher_of((char *const *)rows[i].words);

		if (rows[i].launcher)
			assert_string_equal(launcher ? launcher->name : "none",
					    rows[i].launcher);
		else
			assert_null(launcher);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_all),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests_name("launchers", tests, NULL, NULL);
}
