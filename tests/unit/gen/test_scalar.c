/* SPDX-License-Identifier: MIT */
/*
 * The forms of times, sizes and words. What is accepted and refused was seen on sbatch of
 * Slurm 22.05, 24.11 and 26.05; the results are worked out by hand from sbatch's manual.
 */
#include "support.h"

#include "gen/spec/field.h"
#include "gen/spec/scalar.h"

#include <errno.h>

#define NEVER  SPEC_TIME_UNLIMITED
#define MINUTE UINT64_C(60)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

static void times(void **state)
{
	static const struct {
		const char *text;
		uint64_t seconds; /* 0: refused */
		const char *hint;
	} rows[] = {
		{"10", 10 * MINUTE, ""},
		{"10:30", 10 * MINUTE + 30, ""},
		{"00:30", 30, ""},
		{"1:60", 2 * MINUTE, ""},
		{"1:00:00", HOUR, ""},
		{"72:00:00", 72 * HOUR, ""},
		{"99:99:99", 99 * HOUR + 99 * MINUTE + 99, ""},
		{"1-0", DAY, ""},
		{"1-", DAY, ""},
		{"1-12", DAY + 12 * HOUR, ""},
		{"1-12:30", DAY + 12 * HOUR + 30 * MINUTE, ""},
		{"1-00:00:30", DAY + 30, ""},
		{"0", NEVER, ""},
		{"00:00:00", NEVER, ""},
		{"-1", NEVER, ""},
		{"UNLIMITED", NEVER, ""},
		{"infinite", NEVER, ""},
		{"4h", 0, "04:00:00"},
		{"30m", 0, "00:30:00"},
		{"30min", 0, "00:30:00"},
		{"90 s", 0, "00:01:30"},
		{"2d", 0, "2-00:00:00"},
		{"1h30m", 0, "01:30:00"},
		{"2 days 4 hours", 0, "2-04:00:00"},
		{"1.5", 0, ""},
		{"1.5h", 0, ""},
		{"1:2:3:4", 0, ""},
		{"1-2:3:4:5", 0, ""},
		{"10:", 0, ""},
		{":10", 0, ""},
		{"-", 0, ""},
		{"-2", 0, ""},
		{"1-x", 0, ""},
		{" 10", 0, ""},
		{"", 0, ""},
		{"soon", 0, ""},
		{"99999999999", 0, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char hint[SPEC_HINT_MAX] = "?";
		uint64_t seconds = 7;
		int rc = spec_time_read(rows[i].text, &seconds, hint);

		print_message("# time '%s'\n", rows[i].text);
		assert_int_equal(rc, rows[i].seconds ? 0 : -EINVAL);
		if (rc == 0)
			assert_int_equal(seconds, rows[i].seconds);
		assert_string_equal(hint, rows[i].hint);
	}
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		int64_t mib; /* -1: refused */
		const char *hint;
	} rows[] = {
		{"64G", 65536, ""},  {"64g", 65536, ""},    {"64GB", 65536, ""},
		{"64gb", 65536, ""}, {"64000", 64000, ""},  {"64000M", 64000, ""},
		{"1T", 1048576, ""}, {"64K", 1, ""},        {"1025K", 2, ""},
		{"0", 0, ""},        {"64Gi", -1, "64G"},   {"64GiB", -1, "64G"},
		{"64 G", -1, "64G"}, {"1.5G", -1, "1536M"}, {"0.5T", -1, "512G"},
		{"1P", -1, "1024T"}, {"1.5M", -1, ""},      {"-1", -1, ""},
		{"G", -1, ""},       {"64X", -1, ""},       {"64GG", -1, ""},
		{"", -1, ""},        {"all", -1, ""},       {"99999999999G", -1, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char hint[SPEC_HINT_MAX] = "?";
		uint64_t mib = 7;
		int rc = spec_memory_read(rows[i].text, &mib, hint);

		print_message("# size '%s'\n", rows[i].text);
		assert_int_equal(rc, rows[i].mib >= 0 ? 0 : -EINVAL);
		if (rc == 0)
			assert_int_equal(mib, rows[i].mib);
		assert_string_equal(hint, rows[i].hint);
	}
}

static void arrays(void **state)
{
	static const struct {
		const char *text;
		uint64_t count; /* 0: refused */
	} rows[] = {
		{"0-7", 8},    {"0-7%2", 8},   {"1,3,5", 3},
		{"0-10:2", 6}, {"0-7:2%2", 4}, {"[0-7]", 8},
		{"00-07", 8},  {"0-3,2-5", 8}, {"5", 1},
		{"0-7%0", 8},  {"0-7%", 8},    {"[1,2]%1", 2},
		{"8-1", 0},    {"a", 0},       {"0:3", 0},
		{"-1", 0},     {":0", 0},      {"0 - 7", 0},
		{"", 0},       {"0-", 0},      {"0-7%x", 0},
		{"0-7:0", 0},  {"[0-7", 0},    {"0-7]", 0},
		{"1,,2", 0},   {"1,", 0},      {"99999999999", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t count = 0;
		int rc = spec_array_read(rows[i].text, &count);

		print_message("# array '%s'\n", rows[i].text);
		assert_int_equal(rc, rows[i].count ? 0 : -EINVAL);
		if (rc == 0)
			assert_int_equal(count, rows[i].count);
	}
}

static void signals(void **state)
{
	static const struct {
		const char *text, *name; /* NULL: refused */
		bool batch, timed;
		uint32_t before;
	} rows[] = {
		{"USR1", "USR1", false, false, 60},
		{"SIGUSR1", "USR1", false, false, 60},
		{"usr1", "USR1", false, false, 60},
		{"10", "10", false, false, 60},
		{"B:USR1", "USR1", true, false, 60},
		{"b:USR1@0", "USR1", true, true, 0},
		{"USR1@65535", "USR1", false, true, 65535},
		{"KILL@10", "KILL", false, true, 10},
		{"64@60", "64", false, true, 60},
		{"@60", NULL},
		{"B:@60", NULL},
		{"USR1@65536", NULL},
		{"@abc", NULL},
		{"USR1:60", NULL},
		{"USR1@1:00", NULL},
		{"FOO@60", NULL},
		{"0@60", NULL},
		{"C:USR1", NULL},
		{"USR1 ", NULL},
		{"SIG", NULL},
		{"", NULL},
		{"USR1@", NULL},
	};
	struct spec_arena *arena = NULL;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct spec_signal signal;
		int rc = spec_signal_read(rows[i].text, &arena, &signal);

		print_message("# signal '%s'\n", rows[i].text);
		assert_int_equal(rc, rows[i].name ? 0 : -EINVAL);
		if (rc < 0)
			continue;
		assert_string_equal(signal.name, rows[i].name);
		assert_int_equal(signal.batch, rows[i].batch);
		assert_int_equal(signal.timed, rows[i].timed);
		assert_int_equal(signal.before, rows[i].before);
	}
	spec_arena_free(&arena);
}

static void words(void **state)
{
	static const struct {
		const char *text;
		const char
			*words[5]; /* first NULL and count 0: none; see refused below */
		size_t count;
	} rows[] = {
		{"", {NULL}, 0},
		{"  \n\t ", {NULL}, 0},
		{"a", {"a"}, 1},
		{" a  b\nc\t", {"a", "b", "c"}, 3},
		{"'a b' \"c d\"", {"a b", "c d"}, 2},
		{"a'b c'd", {"ab cd"}, 1},
		{"'' \"\" a", {"", "", "a"}, 3},
		{"a\\ b \\'", {"a b", "'"}, 2},
		{"'a\\b' \"a\\b\" \"a\\\"b\\\\\"", {"a\\b", "a\\b", "a\"b\\"}, 3},
		{"\"\\$x \\` '\"", {"$x ` '"}, 1},
		/* Nothing is expanded: the words are the program's, not the shell's. */
		{"$HOME `id` $(id) *.py ~ #x a;b",
		 {"$HOME", "`id`", "$(id)", "*.py", "~"},
		 7},
	};
	static const char *const refused[] = {"'a", "\"a", "a\\", "\"a\\\"", "a 'b"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct spec_arena *arena = NULL;
		const char **list;
		size_t count;

		print_message("# words, row %zu\n", i);
		assert_int_equal(spec_words_split(rows[i].text, &arena, &list, &count),
				 0);
		assert_int_equal(count, rows[i].count);
		for (size_t j = 0; j < count && j < 5; j++)
			assert_string_equal(list[j], rows[i].words[j]);
		spec_arena_free(&arena);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct spec_arena *arena = NULL;
		const char **list;
		size_t count;

		print_message("# refused '%s'\n", refused[i]);
		assert_int_equal(spec_words_split(refused[i], &arena, &list, &count),
				 -EINVAL);
		spec_arena_free(&arena);
	}
}

static void arena_keeps_large_and_small(void **state)
{
	struct spec_arena *arena = NULL;
	char *large = spec_arena_alloc(&arena, 100000);
	char *small = spec_arena_copy(&arena, "abc", 2);
	int *list = NULL;

	assert_non_null(large);
	memset(large, 1, 100000);
	assert_string_equal(small, "ab");
	for (size_t i = 0; i < 1000; i++) {
		list = spec_arena_grow(&arena, list, i, sizeof(*list));
		list[i] = (int)i;
	}
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(list[i], i);
	assert_string_equal(spec_arena_format(&arena, "%s-%d", small, 7), "ab-7");
	assert_null(spec_arena_alloc(&arena, SIZE_MAX));
	spec_arena_free(&arena);
	assert_null(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),  cmocka_unit_test(sizes),
		cmocka_unit_test(arrays), cmocka_unit_test(signals),
		cmocka_unit_test(words),  cmocka_unit_test(arena_keeps_large_and_small),
	};

	return cmocka_run_group_tests_name("scalar", tests, NULL, NULL);
}
