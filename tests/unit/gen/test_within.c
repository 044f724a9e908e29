/* SPDX-License-Identifier: MIT */
/* Places within a text of several lines that stands in a YAML file. */
#include "support.h"

#include "gen/spec/within.h"

/* The value begins at LINE:COLUMN of YAML, its text is TEXT, and MARKED, a part of it, is
 * meant. */
static const struct row {
	const char *yaml, *text, *marked;
	uint32_t line, column;          /* of the value */
	uint32_t wanted_line, from, to; /* of MARKED; 0: the place stays as it is */
} rows[] = {
	/* Behind its key, and in a list. */
	{"setup: export A=1\n", "export A=1", "A=1", 1, 8, 1, 15, 18},
	{"setup:\n  - export A=1\n", "export A=1", "export", 2, 5, 2, 5, 11},
	/* The key has the same word; the value begins behind it. */
	{"echo: echo\n", "echo", "echo", 1, 7, 1, 7, 11},
	/* Blocks: the text is below the sign, without its indentation. */
	{"setup: |\n  one\n  two x\n", "one\ntwo x\n", "one", 1, 8, 2, 3, 6},
	{"setup: |\n  one\n  two x\n", "one\ntwo x\n", "x", 1, 8, 3, 7, 8},
	{"setup: |\n  one\n\n    two x\n", "one\n\n  two x\n", "two", 1, 8, 4, 5, 8},
	{"- |\n  gr\xc3\xb6\xc3\x9f"
	 "e x\n",
	 "gr\xc3\xb6\xc3\x9f"
	 "e x\n",
	 "x", 1, 3, 2, 9, 10},
	/* The same line twice: the last is meant, as everywhere here. */
	{"setup: |\n  a\n  a\n", "a\na\n", "a", 1, 8, 3, 3, 4},
	/* In quotes the line is there as it is, or it is not. */
	{"setup: \"echo b\"\n", "echo b", "b", 1, 8, 1, 14, 15},
	{"setup: \"echo\\tb\"\n", "echo\tb", "b", 1, 8, 0, 0, 0},
	/* Folded. */
	{"setup: >\n  one\n  two\n", "one two\n", "two", 1, 8, 0, 0, 0},
};

static void places(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		struct diag diag = {0};
		struct diag_place place = {
			.file = "job.yaml",
			.line = row->line,
			.column = row->column,
			.end_column = row->column + 1,
		};
		const char *at = strstr(row->text, row->marked);
		size_t begin;
		const bool moved = row->wanted_line > 0;

		print_message("# row %zu\n", i);
		for (const char *next = at; next; next = strstr(at + 1, row->marked))
			at = next;
		begin = (size_t)(at - row->text);
		diag_source(&diag, "job.yaml", row->yaml, strlen(row->yaml));
		spec_place_within(&place, &diag, row->text, strlen(row->text), begin,
				  begin + strlen(row->marked));
		assert_int_equal(place.line, moved ? row->wanted_line : row->line);
		assert_int_equal(place.column, moved ? row->from : row->column);
		assert_int_equal(place.end_column, moved ? row->to : row->column + 1);
		diag_clear(&diag);
	}
}

/* A file whose text is not known, and none at all. */
static void no_source(void **state)
{
	struct diag diag = {0};
	struct diag_place place = {.file = "-s", .line = 1, .column = 7};

	diag_add(&diag, DIAG_NOTE, "x", &place, "only its name is known");
	spec_place_within(&place, &diag, "a b", 3, 2, 3);
	assert_int_equal(place.column, 7);
	place.file = NULL;
	spec_place_within(&place, &diag, "a b", 3, 2, 3);
	assert_int_equal(place.column, 7);
	diag_clear(&diag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(no_source),
	};

	return cmocka_run_group_tests_name("within", tests, NULL, NULL);
}
