/* SPDX-License-Identifier: MIT */
/*
 * The rules of `srank check` against their own examples: each finds what it says in the
 * bad one and nothing in the good one, and what --fix changes is what was wrong.
 */
#include "gen/check/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE "docs/srank-rules.7.scd"

/* The first argument: where the sources are. */
static const char *root = ".";

#define SHEBANG "#!/bin/bash\n"

static char *with_shebang(const char *lines)
{
	char *text;

	assert_true(asprintf(&text, SHEBANG "%s", lines) > 0);
	return text;
}

static void check(const char *text, size_t length, struct diag *diag,
		  struct check_edits *edits)
{
	const struct check_options options = {.pedantic = true};

	assert_int_equal(check_script("job.sbatch", text, length, &options, diag, edits),
			 0);
}

static size_t findings(const struct diag *diag, const char *rule)
{
	size_t count = 0;

	for (size_t i = 0; i < diag->count; i++)
		count += strcmp(diag->items[i].rule, rule) == 0;
	return count;
}

/* ---- the table ---- */

static void every_rule_is_complete(void **state)
{
	for (size_t i = 0; i < check_rules_count; i++) {
		const struct check_rule *rule = &check_rules[i];

		assert_non_null(rule->id);
		assert_non_null(rule->summary);
		assert_non_null(rule->why);
		assert_non_null(rule->cure);
		assert_int_equal(
			strspn(rule->id, "abcdefghijklmnopqrstuvwxyz0123456789-"),
			strlen(rule->id));
		assert_ptr_equal(check_rule_find(rule->id), rule);
		/* One line, without a full stop: they go into messages. */
		assert_null(strpbrk(rule->why, "\n\t"));
		assert_true(rule->why[strlen(rule->why) - 1] != '.');
		assert_true(rule->cure[strlen(rule->cure) - 1] != '.');
		assert_int_equal(rule->bad == NULL, rule->good == NULL);
	}
	assert_null(check_rule_find("no-such-rule"));
}

static void examples_show_the_rule(void **state)
{
	for (size_t i = 0; i < check_rules_count; i++) {
		const struct check_rule *rule = &check_rules[i];
		struct diag bad = {0}, good = {0};
		char *text;

		if (!rule->bad)
			continue;
		text = with_shebang(rule->bad);
		check(text, strlen(text), &bad, NULL);
		free(text);
		if (findings(&bad, rule->id) == 0) {
			diag_print(&bad, stderr, DIAG_SOURCE);
			fail_msg("%s is not found in its example", rule->id);
		}
		text = with_shebang(rule->good);
		check(text, strlen(text), &good, NULL);
		free(text);
		if (findings(&good, rule->id) > 0 || good.errors || good.warnings) {
			diag_print(&good, stderr, DIAG_SOURCE);
			fail_msg("something is found in the good example of %s",
				 rule->id);
		}
		diag_clear(&bad);
		diag_clear(&good);
	}
}

/* An edit takes the finding away; a rule that claims edits has one for its example. */
static void edits_mend_the_examples(void **state)
{
	for (size_t i = 0; i < check_rules_count; i++) {
		const struct check_rule *rule = &check_rules[i];
		struct diag before = {0}, after = {0};
		struct check_edits edits = {0};
		char *text, *fixed;
		size_t size;

		if (!rule->bad || !(rule->flags & CHECK_FIXABLE))
			continue;
		text = with_shebang(rule->bad);
		check(text, strlen(text), &before, &edits);
		if (edits.count == 0)
			fail_msg("there is no edit for the example of %s", rule->id);
		assert_int_equal(
			check_fix_apply(text, strlen(text), &edits, &fixed, &size), 0);
		check(fixed, size, &after, NULL);
		if (findings(&after, rule->id) > 0) {
			diag_print(&after, stderr, DIAG_SOURCE);
			fail_msg("%s is still found after its fix", rule->id);
		}
		free(text);
		free(fixed);
		check_edits_clear(&edits);
		diag_clear(&before);
		diag_clear(&after);
	}
}

static void the_page_is_the_table(void **state)
{
	char *page = NULL, *want = NULL;
	size_t size = 0, length;
	FILE *out = open_memstream(&want, &length);
	char *path;
	FILE *in;

	assert_true(asprintf(&path, "%s/" PAGE, root) > 0);
	check_rules_describe(out);
	assert_int_equal(fclose(out), 0);
	if (getenv("SRANK_GOLDEN_UPDATE")) {
		out = fopen(path, "w");
		assert_non_null(out);
		fputs(want, out);
		assert_int_equal(fclose(out), 0);
	}
	in = fopen(path, "r");
	if (!in)
		fail_msg(PAGE " cannot be read");
	assert_true(getdelim(&page, &size, '\0', in) > 0);
	fclose(in);
	if (strcmp(page, want) != 0)
		fail_msg(PAGE
			 " is not what check_rules_describe() prints; run this test with "
			 "SRANK_GOLDEN_UPDATE=1");
	free(page);
	free(want);
	free(path);
}

/* ---- edits ---- */

static void put(struct check_edits *edits, size_t from, size_t to, const char *text)
{
	edits->items = realloc(edits->items, (edits->count + 1) * sizeof(*edits->items));
	assert_non_null(edits->items);
	edits->items[edits->count++] = (struct check_edit){from, to, strdup(text)};
}

static void edits_are_applied_in_order(void **state)
{
	struct check_edits edits = {0};
	char *fixed;
	size_t size;

	/* Told in any order; the second one at 4 overlaps and is left out. */
	put(&edits, 4, 6, "XY");
	put(&edits, 0, 0, "<");
	put(&edits, 5, 7, "lost");
	put(&edits, 8, 8, "a");
	put(&edits, 8, 8, "b");
	assert_int_equal(check_fix_apply("01234567", 8, &edits, &fixed, &size), 0);
	assert_string_equal(fixed, "<0123XY67ab");
	assert_int_equal(size, 11);
	free(fixed);
	check_edits_clear(&edits);
}

static void equal_edits_are_made_once(void **state)
{
	struct check_edits edits = {0};
	char *fixed;
	size_t size;

	put(&edits, 1, 1, "x");
	put(&edits, 1, 1, "x");
	put(&edits, 2, 3, "");
	put(&edits, 2, 3, "");
	assert_int_equal(check_fix_apply("abc", 3, &edits, &fixed, &size), 0);
	assert_string_equal(fixed, "axb");
	free(fixed);
	check_edits_clear(&edits);
}

static void expect_diff(const char *old, const char *new, const char *want)
{
	char *got = NULL;
	size_t length;
	FILE *out = open_memstream(&got, &length);

	check_fix_diff(out, "f", old, strlen(old), new, strlen(new));
	assert_int_equal(fclose(out), 0);
	assert_string_equal(got, want);
	free(got);
}

static void differences_are_unified(void **state)
{
	expect_diff("a\nb\n", "a\nb\n", "");
	expect_diff("a\nb\nc\n", "a\nB\nc\n",
		    "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
	/* Lines far apart are hunks of their own. */
	expect_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\nx\n2\n3\n4\n5\n6\n7\n8\n",
		    "--- f\n+++ f\n@@ -1,4 +1,5 @@\n 1\n+x\n 2\n 3\n 4\n"
		    "@@ -6,4 +7,3 @@\n 6\n 7\n 8\n-9\n");
	expect_diff("a", "a\nb\n",
		    "--- f\n+++ f\n@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of "
		    "file\n+a\n+b\n");
	expect_diff("", "a\n", "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n");
}

/* ---- versions ---- */

static size_t errors_for(script_slurm slurm, const char *rule, const char *lines)
{
	const struct check_options options = {.slurm = slurm};
	char *text = with_shebang(lines);
	struct diag diag = {0};
	size_t errors = 0;

	assert_int_equal(check_script("f", text, strlen(text), &options, &diag, NULL), 0);
	for (size_t i = 0; i < diag.count; i++)
		errors += strcmp(diag.items[i].rule, rule) == 0 &&
			  diag.items[i].severity != DIAG_NOTE;
	free(text);
	diag_clear(&diag);
	return errors;
}

#define GPUS "#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=4\n#SBATCH --cpus-per-task=8\n"

static void rules_follow_the_version(void **state)
{
	static const struct {
		const char *rule, *lines;
		script_slurm yes, no;
	} cases[] = {
		{"srun-without-cpus-per-task",
		 "#SBATCH --ntasks=2\n#SBATCH -c 8\nsrun ./solver\n", 2205, 2411},
		{"srun-without-cpus-per-task",
		 "#SBATCH --ntasks=2\n#SBATCH -c 8\nsrun ./solver\n", 2302, 2108},
		{"step-gres-over-gpus-per-node",
		 GPUS "#SBATCH --gpus-per-node=4\nsrun -n 1 -c 8 --gres=gpu:1 ./solver\n",
		 2605, 2411},
		{"conflicting-gpu-requests",
		 GPUS
		 "#SBATCH --gpus-per-node=4\n#SBATCH --gres=gpu:4\nsrun -c 8 ./solver\n",
		 2605, 2411},
		{"srun-ntasks-per-node-ignored",
		 GPUS "srun -N 1 -c 8 --ntasks-per-node=1 ./solver\n", 2205, 2411},
		{"log-folder", "#SBATCH --ntasks=1\n#SBATCH -o %j/a.out\nsrun ./solver\n",
		 2205, 2302},
		{"option-too-new",
		 "#SBATCH --ntasks=1\n#SBATCH --tres-per-task=cpu:2\nsrun a\n", 2205,
		 2302},
		{"het-ntasks",
		 "#SBATCH --ntasks=1\n#SBATCH hetjob\n#SBATCH --nodes=2\n"
		 "#SBATCH --ntasks-per-node=4\nsrun --het-group=1 ./solver\n",
		 2411, 2205},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (errors_for(cases[i].yes, cases[i].rule, cases[i].lines) == 0)
			fail_msg("%s (%zu) is not found for %u", cases[i].rule, i,
				 cases[i].yes);
		if (errors_for(cases[i].no, cases[i].rule, cases[i].lines) > 0)
			fail_msg("%s (%zu) is found for %u", cases[i].rule, i,
				 cases[i].no);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_is_complete),
		cmocka_unit_test(examples_show_the_rule),
		cmocka_unit_test(edits_mend_the_examples),
		cmocka_unit_test(the_page_is_the_table),
		cmocka_unit_test(edits_are_applied_in_order),
		cmocka_unit_test(equal_edits_are_made_once),
		cmocka_unit_test(differences_are_unified),
		cmocka_unit_test(rules_follow_the_version),
	};

	if (argc > 1)
		root = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
