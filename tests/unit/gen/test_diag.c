/* SPDX-License-Identifier: MIT */
/* The collector of diagnostics and its printer. */
#include "support.h"

static const char source[] = "name: x\n"
			     "\tgpus: 8 # tab\r\n"
			     "name: \xe4\xb8\xad\xe6\x96\x87 key: y\n"
			     "last";

static char *printed(struct diag *diag, unsigned int look)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	diag_print(diag, out, look);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void counts_and_sorts_by_place(void **state)
{
	struct diag diag;

	diag_init(&diag);
	diag_add(&diag, DIAG_WARNING, "r2", &(struct diag_place){"b.yaml", 1, 1, 2},
		 "second file");
	diag_add(&diag, DIAG_ERROR, "r1", &(struct diag_place){"a.yaml", 9, 3, 4},
		 "line %d", 9);
	diag_add(&diag, DIAG_NOTE, "r1", &(struct diag_place){"a.yaml", 2, 7, 8},
		 "column 7");
	diag_add(&diag, DIAG_ERROR, "r1", &(struct diag_place){"a.yaml", 2, 3, 4},
		 "column 3");
	diag_add(&diag, DIAG_ERROR, "r3", &(struct diag_place){"a.yaml", 0, 0, 0},
		 "whole file");
	diag_add(&diag, DIAG_ERROR, "r4", NULL, "no place");
	diag_fix(&diag, "do %s", "this");
	assert_int_equal(diag.errors, 4);
	assert_int_equal(diag.warnings, 1);
	assert_int_equal(diag.count, 6);
	assert_diag(&diag, "b.yaml:1:1: warning: second file [r2]\n"
			   "a.yaml: error: whole file [r3]\n"
			   "a.yaml:2:3: error: column 3 [r1]\n"
			   "a.yaml:2:7: note: column 7 [r1]\n"
			   "a.yaml:9:3: error: line 9 [r1]\n"
			   "srank: error: no place [r4]\n"
			   "  fix: do this\n");
}

static void drops_repetitions(void **state)
{
	struct diag diag = {0};
	const struct diag_place place = {"a", 1, 1, 2};

	diag_add(&diag, DIAG_ERROR, "r", &place, "same");
	diag_add(&diag, DIAG_ERROR, "r", &place, "same");
	diag_add(&diag, DIAG_ERROR, "r", &place, "other");
	assert_int_equal(diag.errors, 2);
	assert_int_equal(diag.count, 2);
	diag_clear(&diag);
}

/* A fix belongs to the item that was just added, and to no other when that was dropped.
 */
static void fixes_the_item_that_was_added(void **state)
{
	struct diag diag = {0};
	const struct diag_place place = {"a", 1, 1, 2};

	diag_fix(&diag, "nothing to fix");
	diag_add(&diag, DIAG_ERROR, "r", &place, "first");
	diag_fix(&diag, "fix of the first");
	diag_add(&diag, DIAG_ERROR, "r", &place, "second");
	diag_add(&diag, DIAG_ERROR, "r", &place, "first");
	diag_fix(&diag, "again");
	/* Sorting may put another one last. */
	diag_add(&diag, DIAG_ERROR, "r", &(struct diag_place){"a", 1, 0, 0}, "third");
	diag_sort(&diag);
	diag_fix(&diag, "too late");
	assert_diag(&diag, "a:1: error: third [r]\n"
			   "a:1:1: error: first [r]\n"
			   "  fix: fix of the first\n"
			   "a:1:1: error: second [r]\n");
}

static void escapes_what_a_terminal_would_obey(void **state)
{
	struct diag diag = {0};

	diag_add(&diag, DIAG_ERROR, "r", &(struct diag_place){"a\033[31m", 1, 1, 2},
		 "bell \a, newline \n, tab \t, not UTF-8 \xff, override \xe2\x80\xae, "
		 "\xc3\xa9");
	assert_diag(&diag, "a\\x1b[31m:1:1: error: bell \\x07, newline \\n, tab \\t, "
			   "not UTF-8 \\xff, override \\u202e, \xc3\xa9 [r]\n");
}

static void shows_the_source_line(void **state)
{
	static const struct {
		struct diag_place place;
		const char *expected;
	} rows[] = {
		{{"a", 1, 1, 5}, "    1 | name: x\n      | ^~~~\n"},
		{{"a", 1, 7, 8}, "    1 | name: x\n      |       ^\n"},
		/* The tab is shown as one blank, the CR of CR LF not at all. */
		{{"a", 2, 2, 6}, "    2 |  gpus: 8 # tab\n      |  ^~~~\n"},
		/* Each of the two characters before `key` takes two columns on a
		   terminal. */
		{{"a", 3, 10, 13},
		 "    3 | name: \xe4\xb8\xad\xe6\x96\x87 key: y\n      |            "
		 "^~~\n"},
		{{"a", 4, 5, 6}, "    4 | last\n      |     ^\n"},
		{{"a", 5, 1, 2}, ""},
		{{"b", 1, 1, 2}, ""},
		{{"a", 0, 0, 0}, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag diag = {0};
		char *text, *newline;

		diag_source(&diag, "a", source, sizeof(source) - 1);
		diag_add(&diag, DIAG_ERROR, "r", &rows[i].place, "m");
		text = printed(&diag, DIAG_SOURCE);
		newline = strchr(text, '\n');
		assert_non_null(newline);
		assert_string_equal(newline + 1, rows[i].expected);
		free(text);
		diag_clear(&diag);
	}
}

static void cuts_a_long_source_line(void **state)
{
	struct diag diag = {0};
	char line[5000];
	char *text;

	memset(line, 'a', sizeof(line));
	line[3000] = 'X';
	diag_source(&diag, "a", line, sizeof(line));
	diag_add(&diag, DIAG_ERROR, "r", &(struct diag_place){"a", 1, 3001, 3002}, "m");
	text = printed(&diag, DIAG_SOURCE);
	assert_true(strlen(text) < 400);
	assert_non_null(strchr(text, 'X'));
	/* The caret stands below the X. */
	char *shown = strchr(text, '\n') + 1, *caret = strchr(shown, '\n') + 1;
	assert_int_equal(strchr(shown, 'X') - shown, strchr(caret, '^') - caret);
	free(text);
	diag_clear(&diag);
}

static void colours_only_when_asked(void **state)
{
	struct diag diag = {0};
	char *text;

	diag_add(&diag, DIAG_ERROR, "r", &(struct diag_place){"a", 1, 1, 2}, "m");
	text = printed(&diag, DIAG_COLOUR);
	assert_string_equal(text, "\033[1ma:1:1: \033[0m\033[1;31merror:\033[0m m [r]\n");
	free(text);
	text = printed(&diag, DIAG_PLAIN);
	assert_string_equal(text, "a:1:1: error: m [r]\n");
	free(text);
	diag_clear(&diag);
}

static void many_items_stay_in_order(void **state)
{
	struct diag diag = {0};

	for (int i = 0; i < 20000; i++)
		diag_add(&diag, DIAG_NOTE, "r", &(struct diag_place){"a", 1, 1, 2}, "%d",
			 i);
	diag_sort(&diag);
	assert_int_equal(diag.count, 20000);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(atoi(diag.items[i].message), i);
	diag_clear(&diag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_and_sorts_by_place),
		cmocka_unit_test(drops_repetitions),
		cmocka_unit_test(fixes_the_item_that_was_added),
		cmocka_unit_test(escapes_what_a_terminal_would_obey),
		cmocka_unit_test(shows_the_source_line),
		cmocka_unit_test(cuts_a_long_source_line),
		cmocka_unit_test(colours_only_when_asked),
		cmocka_unit_test(many_items_stay_in_order),
	};

	return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
