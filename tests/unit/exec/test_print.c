/* SPDX-License-Identifier: MIT */
/*
 * The report of `srank doctor` about a world that is written by hand: what a user has
 * given as a path may be any bytes, and neither JSON nor a terminal must suffer from it.
 */
#include "spank/exec/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES 6

/* By path: as it stands in JSON, and in the text. */
static const struct {
	const char *path, *json, *text;
} paths[] = {
	{"src/train.py", "src/train.py", "src/train.py"},
	{"caf\xc3\xa9", "caf\xc3\xa9", "caf\xc3\xa9"},
	{"say \"no\"\\", "say \\\"no\\\"\\\\", "say \"no\"\\"},
	/* Not UTF-8: Latin-1, cut off, an overlong slash. */
	{"caf\xe9/x", "caf\\ufffd/x", "caf\\xe9/x"},
	{"caf\xc3", "caf\\ufffd", "caf\\xc3"},
	{"\xc0\xaf", "\\ufffd\\ufffd", "\\xc0\\xaf"},
	/* An escape of a terminal, DEL, and CSI as C1 has it. */
	{"\x1b[2J", "\\u001b[2J", "\\x1b[2J"},
	{"a\x7f\xc2\x9b", "a\\u007f\\u009b", "a\\x7f\\u009b"},
	{"one\ntwo\t", "one\\u000atwo\\u0009", "one\\ntwo\\t"},
	/* What turns the text around it. */
	{"\xe2\x80\xaegpj", "\\u202egpj", "\\u202egpj"},
};

static void make_world(struct exec_world *world, struct exec_record *records,
		       const char *const *path)
{
	for (unsigned int rank = 0; rank < NODES; rank++) {
		char text[128];

		snprintf(text, sizeof(text),
			 "node=n%u\nrank=%u\nleader=1\nlocal_size=1\nnofile=65536\n"
			 "tree.0=%s\n",
			 rank, rank, rank ? "!No such file" : "1234 2 3");
		assert_int_equal(exec_record_read(&records[rank], text), 0);
	}
	*world = (struct exec_world){
		.ntasks = NODES,
		.nnodes = NODES,
		.records = records,
		.addr = "n0",
		.port = 29500,
		.seconds = 7,
		.trees = path,
		.trees_count = 1,
	};
}

static char *print(bool json, const char *path)
{
	struct exec_record records[NODES];
	struct exec_verdict verdict = {0};
	struct exec_world world;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	make_world(&world, records, &path);
	exec_judge(&verdict, &world);
	if (json)
		exec_print_json(out, &world, &verdict, true);
	else
		exec_print_text(out, &world, &verdict, true);
	assert_int_equal(fclose(out), 0);
	exec_verdict_clear(&verdict);
	for (int rank = 0; rank < NODES; rank++)
		exec_record_clear(&records[rank]);
	return text;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("there is no %s in %s", part, text);
}

static void paths_do_no_harm(void **state)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		char expected[256], *text = print(true, paths[i].path);

		snprintf(expected, sizeof(expected), ", \"trees\": [\"%s\"],",
			 paths[i].json);
		has(text, expected);
		snprintf(expected, sizeof(expected),
			 ", \"message\": \"%s: No such file\", \"cause\"", paths[i].json);
		has(text, expected);
		free(text);
		text = print(false, paths[i].path);
		snprintf(expected, sizeof(expected), "more: %s: No such file [",
			 paths[i].text);
		has(text, expected);
		free(text);
	}
}

static void json_has_all(void **state)
{
	char *text = print(true, "x");

	has(text,
	    "{\"version\": 1, \"verdict\": \"problem\", \"errors\": 1, \"warnings\": 0, "
	    "\"ranks\": 6, \"nodes\": 6, \"address\": \"n0\", \"port\": 29500, "
	    "\"mesh\": false, \"strict\": true, \"seconds\": 7, \"trees\": [\"x\"],\n");
	has(text, "{\"node\": \"n3\", \"rank\": 3, \"leader\": 1, \"local_size\": 1, "
		  "\"nofile\": 65536, \"tree.0\": \"!No such file\"}");
	has(text,
	    "\"id\": \"tree-unreadable\", \"place\": \"n1, n2, n3, n4 and 1 more\", "
	    "\"places\": [\"n1\", \"n2\", \"n3\", \"n4\", \"n5\"], ");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_do_no_harm),
		cmocka_unit_test(json_has_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
