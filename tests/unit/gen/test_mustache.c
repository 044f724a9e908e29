/* SPDX-License-Identifier: MIT */
/*
 * The template engine by the rules of the mustache specification, and the two places
 * where it differs on purpose: nothing is escaped, and an unknown name is an error with
 * its line.
 */
#include "gen/script/mustache.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct row {
	const char *what;
	const char *template;
	const char *expected;
};

/*
 * The context of every row:
 *   name "Ada"  html "<b>&\"</b>"  empty ""  yes true  no false  lines "1\n2"
 *   list ["a", "b", "c"]  none []
 *   person { name "Bob", home { city "Bonn" } }
 *   people [ {name "Cy", tags ["x", "y"]}, {name "Di", tags []} ]
 *   nested [ ["1", "2"], ["3"] ]
 */
static struct script_value *make_context(void)
{
	struct script_value *root = script_value_create(), *list, *object;

	script_value_text(root, "name", "Ada");
	script_value_text(root, "html", "<b>&\"</b>");
	script_value_text(root, "empty", "");
	script_value_text(root, "lines", "1\n2");
	script_value_number(root, "number", 18446744073709551615ULL);
	script_value_flag(root, "yes", true);
	script_value_flag(root, "no", false);
	list = script_value_list(root, "list");
	script_value_text(list, NULL, "a");
	script_value_text(list, NULL, "b");
	script_value_text(list, NULL, "c");
	script_value_list(root, "none");
	object = script_value_object(root, "person");
	script_value_text(object, "name", "Bob");
	object = script_value_object(object, "home");
	script_value_text(object, "city", "Bonn");
	list = script_value_list(root, "people");
	object = script_value_object(list, NULL);
	script_value_text(object, "name", "Cy");
	object = script_value_list(object, "tags");
	script_value_text(object, NULL, "x");
	script_value_text(object, NULL, "y");
	object = script_value_object(list, NULL);
	script_value_text(object, "name", "Di");
	script_value_list(object, "tags");
	list = script_value_list(root, "nested");
	object = script_value_list(list, NULL);
	script_value_text(object, NULL, "1");
	script_value_text(object, NULL, "2");
	object = script_value_list(list, NULL);
	script_value_text(object, NULL, "3");
	assert_false(script_value_failed(root));
	return root;
}

static const struct {
	const char *name, *text;
} partials[] = {
	{"inline", "[{{name}}]"},
	{"lined", "<{{name}}>\n"},
	{"block", "|\n{{lines}}\n|\n"},
	{"outer", "o\n  {{>lined}}\n"},
	{"other", "{{=<% %>=}}<%name%>"},
	{"self", "{{#people}}{{name}}{{/people}}{{>self}}"},
	{"blank", ""},
	{"broken", "fine\n  {{wrong}}\n"},
};

static int find_partial(const char *name, struct script_template *template, void *arg,
			struct diag *diag)
{
	for (size_t i = 0; i < sizeof(partials) / sizeof(*partials); i++) {
		if (strcmp(partials[i].name, name) == 0) {
			*template = (struct script_template){partials[i].name,
							     partials[i].text,
							     strlen(partials[i].text)};
			return 0;
		}
	}
	return -ENOENT;
}

static int render(const char *text, char **result, struct diag *diag)
{
	const struct script_template template = {"t.mustache", text, strlen(text)};
	struct script_value *root = make_context();
	size_t length;
	FILE *out = open_memstream(result, &length);
	int rc;

	assert_non_null(out);
	rc = script_mustache(out, &template, root, find_partial, NULL, NULL, diag);
	assert_int_equal(fclose(out), 0);
	script_value_free(root);
	return rc;
}

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct diag diag = {0};
		char *result = NULL;
		int rc = render(rows[i].template, &result, &diag);

		if (rc != 0)
			diag_print(&diag, stderr, DIAG_PLAIN);
		if (rc != 0 || strcmp(result, rows[i].expected) != 0)
			print_error("row: %s\n", rows[i].what);
		assert_int_equal(rc, 0);
		assert_string_equal(result, rows[i].expected);
		free(result);
		diag_clear(&diag);
	}
}

#define CHECK_ROWS(...)                                         \
	do {                                                    \
		static const struct row rows[] = {__VA_ARGS__}; \
		check_rows(rows, sizeof(rows) / sizeof(*rows)); \
	} while (0)

static void variables(void **state)
{
	CHECK_ROWS({"no tag", "Hello\n", "Hello\n"}, {"empty template", "", ""},
		   {"variable", "Hi {{name}}!\n", "Hi Ada!\n"},
		   {"not escaped", "{{html}}", "<b>&\"</b>"},
		   {"three braces", "{{{html}}}", "<b>&\"</b>"},
		   {"ampersand", "{{&html}}", "<b>&\"</b>"},
		   {"padding", "{{ name }}|{{\tname\n}}|{{{ name }}}|{{& name }}",
		    "Ada|Ada|Ada|Ada"},
		   {"blanks around stay", " {{name}} \n", " Ada \n"},
		   {"not standalone", "  {{name}}\n", "  Ada\n"},
		   {"empty text", "({{empty}})", "()"},
		   {"number", "{{number}}", "18446744073709551615"},
		   {"dotted", "{{person.name}} in {{person.home.city}}", "Bob in Bonn"},
		   {"lone braces", "a { b } c }} d", "a { b } c }} d"},
		   {"value is not a template", "{{#person}}{{home.city}}{{/person}}",
		    "Bonn"});
}

static void sections(void **state)
{
	CHECK_ROWS({"true", "{{#yes}}x{{/yes}}", "x"}, {"false", "{{#no}}x{{/no}}", ""},
		   {"text", "{{#name}}<{{.}}>{{/name}}", "<Ada>"},
		   {"empty text", "{{#empty}}x{{/empty}}", ""},
		   {"list", "{{#list}}({{.}}){{/list}}", "(a)(b)(c)"},
		   {"empty list", "{{#none}}x{{/none}}", ""},
		   {"object", "{{#person}}{{name}}{{/person}}", "Bob"},
		   {"outer names", "{{#person}}{{name}} {{html}}{{/person}}",
		    "Bob <b>&\"</b>"},
		   {"list of objects",
		    "{{#people}}{{name}}:{{#tags}}{{.}}{{/tags}};{{/people}}",
		    "Cy:xy;Di:;"},
		   {"inner lookup", "{{#people}}{{person.name}}{{/people}}", "BobBob"},
		   {"nested lists", "{{#nested}}[{{#.}}{{.}},{{/.}}]{{/nested}}",
		    "[1,2,][3,]"},
		   {"dotted", "{{#person.home}}{{city}}{{/person.home}}", "Bonn"},
		   {"twice", "{{#yes}}1{{/yes}}{{#yes}}2{{/yes}}", "12"},
		   {"same name inside", "{{#yes}}a{{#yes}}b{{/yes}}c{{/yes}}", "abc"},
		   {"same name inside, hidden", "{{#no}}a{{#no}}b{{/no}}c{{/no}}d", "d"},
		   {"padding", "{{# yes }}x{{/ yes }}", "x"},
		   {"unknown names in a hidden body",
		    "{{#no}}{{x}}{{#y}}{{/y}}{{>z}}{{/no}}", ""});
}

static void inverted(void **state)
{
	CHECK_ROWS({"false", "{{^no}}x{{/no}}", "x"}, {"true", "{{^yes}}x{{/yes}}", ""},
		   {"empty list", "{{^none}}x{{/none}}", "x"},
		   {"list", "{{^list}}x{{/list}}", ""},
		   {"empty text", "{{^empty}}x{{/empty}}", "x"},
		   {"object", "{{^person}}x{{/person}}", ""},
		   {"context stays", "{{^no}}{{name}}{{/no}}", "Ada"});
}

static void standalone(void **state)
{
	CHECK_ROWS(
		{"section lines go", "a\n{{#yes}}\nb\n{{/yes}}\nc\n", "a\nb\nc\n"},
		{"indented tags too", "a\n  {{#yes}}\nb\n\t{{/yes}} \nc\n", "a\nb\nc\n"},
		{"first line", "{{#yes}}\nb\n{{/yes}}\n", "b\n"},
		{"no line end at the end", "a\n{{#yes}}\nb\n  {{/yes}}", "a\nb\n"},
		{"CR LF", "a\r\n{{#yes}}\r\nb\r\n{{/yes}}\r\nc", "a\r\nb\r\nc"},
		{"inverted", "a\n{{^no}}\nb\n{{/no}}\nc\n", "a\nb\nc\n"},
		{"list", "{{#list}}\n- {{.}}\n{{/list}}\n", "- a\n- b\n- c\n"},
		{"not alone: text before", "x {{#yes}}\ny\n{{/yes}}\n", "x \ny\n"},
		{"not alone: text after", "{{#yes}} x\ny\n{{/yes}}\n", " x\ny\n"},
		{"not alone: two tags", "{{#yes}}{{name}}\n{{/yes}}\n", "Ada\n"},
		{"not alone: tag before", "  {{name}} {{#yes}}\n{{/yes}}\n", "  Ada \n"},
		{"inline", " {{#yes}}x{{/yes}} \n", " x \n"},
		{"empty line stays", "{{#yes}}\n\n{{/yes}}\n", "\n"},
		{"comment", "a\n  {{! no }}  \nb\n", "a\nb\n"},
		{"comment of two lines", "a\n{{! no\nno }}\nb\n", "a\nb\n"},
		{"delimiters", "a\n{{=<% %>=}}\n<%name%>\n", "a\nAda\n"});
}

static void comments_and_delimiters(void **state)
{
	CHECK_ROWS(
		{"comment", "a{{! name }}b", "ab"},
		{"comment keeps blanks", "a {{!x}} b", "a  b"},
		{"empty comment", "a{{!}}b", "ab"},
		{"change", "{{=<% %>=}}<%name%> {{name}}", "Ada {{name}}"},
		{"one character", "{{=| |=}}|name|", "Ada"},
		{"and back", "{{=<% %>=}}<%name%><%={{ }}=%>{{name}}", "AdaAda"},
		{"three braces with them", "{{=<% %>=}}<%{html}%>", "<b>&\"</b>"},
		{"section, each time anew",
		 "{{#list}}{{.}}{{=<% %>=}}<%.%><%/list%><%name%>", "aabbccAda"},
		{"changed in a hidden body", "{{#no}}{{=<% %>=}}<%/no%><%name%>", "Ada"},
		{"padding", "{{=  <%   %>  =}}<% name %>", "Ada"});
}

static void partials_rule(void **state)
{
	CHECK_ROWS({"inline", "a {{>inline}} b\n", "a [Ada] b\n"},
		   {"sees the context", "{{#people}}{{> inline}}{{/people}}", "[Cy][Di]"},
		   {"standalone", "a\n{{>lined}}\nb\n", "a\n<Ada>\nb\n"},
		   {"indented", "a\n  {{>block}}\nb\n", "a\n  |\n  1\n2\n  |\nb\n"},
		   {"indents add up", " {{>outer}}\n", " o\n   <Ada>\n"},
		   {"inline is not indented", "  x{{>block}}", "  x|\n1\n2\n|\n"},
		   {"standalone at the end", "a\n  {{>lined}}", "a\n  <Ada>\n"},
		   {"empty", "a\n{{>blank}}\nb\n", "a\nb\n"},
		   {"own delimiters", "{{>other}}{{name}}", "AdaAda"},
		   {"default delimiters inside", "{{=<% %>=}}<%>inline%>", "[Ada]"});
}

static void faults(void **state)
{
	static const struct {
		const char *template;
		const char *file;
		uint32_t line, column;
		const char *message;
	} rows[] = {
		{"{{nam}}", "t.mustache", 1, 1, "unknown variable `nam`"},
		{"a\nb\n  {{nam}}\n", "t.mustache", 3, 3, "unknown variable `nam`"},
		{"größe {{nam}}", "t.mustache", 1, 7, "unknown variable `nam`"},
		{"{{#nam}}{{/nam}}", "t.mustache", 1, 1, "unknown variable `nam`"},
		{"{{^nam}}{{/nam}}", "t.mustache", 1, 1, "unknown variable `nam`"},
		{"{{person.nam}}", "t.mustache", 1, 1, "unknown variable `person.nam`"},
		{"{{name.x}}", "t.mustache", 1, 1, "unknown variable `name.x`"},
		{"{{.x}}", "t.mustache", 1, 1, "unknown variable `.x`"},
		{"{{list}}", "t.mustache", 1, 1,
		 "`list` is not a text: use it as a section"},
		{"{{yes}}", "t.mustache", 1, 1,
		 "`yes` is not a text: use it as a section"},
		{"{{.}}", "t.mustache", 1, 1, "`.` is not a text: use it as a section"},
		{"a\n{{#yes}}\nb\n", "t.mustache", 2, 1,
		 "the section `yes` is not closed"},
		{"{{#no}}{{#yes}}{{/no}}", "t.mustache", 1, 16,
		 "`no` is closed here, but `yes` is open"},
		{"{{#no}}\n{{#yes}}", "t.mustache", 2, 1,
		 "the section `yes` is not closed"},
		{"a{{/yes}}", "t.mustache", 1, 2, "`yes` is closed here, but not open"},
		{"{{name", "t.mustache", 1, 1, "this tag is not closed: no `}}` follows"},
		{"{{{name}}", "t.mustache", 1, 1,
		 "this tag is not closed: no `}}}` follows"},
		{"{{}}", "t.mustache", 1, 1, "this tag has no name"},
		{"{{# }}", "t.mustache", 1, 1, "this tag has no name"},
		{"{{", "t.mustache", 1, 1, "this tag is not closed: no `}}` follows"},
		{"{{a b}}", "t.mustache", 1, 1, "`a b` is not a name: it has a blank"},
		{"{{>nothere}}", "t.mustache", 1, 1, "there is no template `nothere`"},
		{"{{>broken}}", "broken", 2, 3, "unknown variable `wrong`"},
		{"{{>self}}", "self", 1, 1,
		 "more than 64 sections and partials within each other; does a partial "
		 "include "
		 "itself?"},
		{"{{=<%=}}", "t.mustache", 1, 1,
		 "the delimiters must be two words without `=`, as in {{=<% %>=}}"},
		{"{{=a b c=}}", "t.mustache", 1, 1,
		 "the delimiters must be two words without `=`, as in {{=<% %>=}}"},
		{"{{= =}}", "t.mustache", 1, 1,
		 "the delimiters must be two words without `=`, as in {{=<% %>=}}"},
		{"{{=aaaaaaaaaaaaaaaa b=}}", "t.mustache", 1, 1,
		 "a delimiter has at most 15 characters"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct diag diag = {0};
		char *result = NULL;
		int rc = render(rows[i].template, &result, &diag);

		if (rc != -EINVAL || diag.count != 1)
			print_error("template: %s\n", rows[i].template);
		assert_int_equal(rc, -EINVAL);
		assert_int_equal(diag.count, 1);
		assert_string_equal(diag.items[0].message, rows[i].message);
		assert_string_equal(diag.items[0].rule, "script-template");
		assert_string_equal(diag.items[0].place.file, rows[i].file);
		assert_int_equal(diag.items[0].place.line, rows[i].line);
		assert_int_equal(diag.items[0].place.column, rows[i].column);
		free(result);
		diag_clear(&diag);
	}
}

/* Where bytes of the result come from: as often as they are inserted, and no others. */
static void origins(void **state)
{
	static const char text[] =
		"<{{a}}>{{#list}}\n{{.}}{{/list}}{{^a}}{{a}}{{/a}}{{b}}";
	static const char expected[] = "<x yy>\nq\nqzz";
	static const struct {
		size_t begin, end;
		uint32_t line; /* 0: nothing */
	} rows[] = {
		/* x, yy of `x yy`; each q; b has none. */
		{0, 1, 0}, {1, 2, 1}, {2, 3, 0},  {3, 5, 2},   {5, 7, 0},
		{7, 8, 3}, {8, 9, 0}, {9, 10, 4}, {10, 12, 0},
	};
	const struct script_template template = {"t", text, sizeof(text) - 1};
	const struct diag_place places[] = {{"s", 1, 1, 2},
					    {"s", 2, 1, 2},
					    {"s", 3, 1, 2},
					    {"s", 4, 1, 2},
					    {NULL, 5, 1, 2}};
	struct script_value *root = script_value_create(), *list;
	struct script_origins found = {0};
	struct diag diag = {0};
	char *result = NULL;
	size_t length;
	FILE *out = open_memstream(&result, &length);

	script_value_text(root, "a", "x yy");
	script_value_origin(root, 0, 1, &places[0]);
	script_value_origin(root, 2, 4, &places[1]);
	list = script_value_list(root, "list");
	script_value_text(list, NULL, "q");
	script_value_origin(list, 0, 1, &places[2]);
	script_value_text(list, NULL, "q");
	script_value_origin(list, 0, 1, &places[3]);
	script_value_text(root, "b", "zz");
	/* Of no file, and of none. */
	script_value_origin(root, 0, 2, &places[4]);
	script_value_origin(root, 0, 2, NULL);
	assert_int_equal(script_mustache(out, &template, root, NULL, NULL, &found, &diag),
			 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(result, expected);
	assert_int_equal(found.count, 4);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (size_t at = rows[i].begin; at < rows[i].end; at++) {
			const struct script_origin *origin =
				script_origins_find(&found, at);

			if (rows[i].line == 0) {
				assert_null(origin);
				continue;
			}
			assert_non_null(origin);
			assert_int_equal(origin->place.line, rows[i].line);
			assert_int_equal(origin->begin, rows[i].begin);
			assert_int_equal(origin->end, rows[i].end);
		}
	}
	assert_null(script_origins_find(&found, sizeof(expected)));
	script_origins_clear(&found);
	script_value_free(root);
	free(result);
}

static void no_memory_is_told(void **state)
{
	const struct script_template template = {"t", "x", 1};
	struct script_value *root = script_value_create();
	struct diag diag = {0};

	/* A text that its maker could not build. */
	script_value_text(script_value_list(root, "list"), NULL, NULL);
	assert_true(script_value_failed(root));
	assert_int_equal(
		script_mustache(stderr, &template, root, NULL, NULL, NULL, &diag),
		-ENOMEM);
	script_value_free(root);

	assert_true(script_value_failed(NULL));
	assert_null(script_value_object(NULL, "x"));
	assert_null(script_value_list(NULL, "x"));
	script_value_text(NULL, "x", "y");
	script_value_flag(NULL, "x", true);
	script_value_number(NULL, "x", 1);
	script_value_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables),
		cmocka_unit_test(sections),
		cmocka_unit_test(inverted),
		cmocka_unit_test(standalone),
		cmocka_unit_test(comments_and_delimiters),
		cmocka_unit_test(partials_rule),
		cmocka_unit_test(faults),
		cmocka_unit_test(origins),
		cmocka_unit_test(no_memory_is_told),
	};

	return cmocka_run_group_tests_name("mustache", tests, NULL, NULL);
}
