/* SPDX-License-Identifier: MIT */
/* The reader of shell: each tree written by hand from bash's grammar. */
#include "support.h"

#include "gen/script/shell.h"
#include "gen/spec/arena.h"

static void put_node(FILE *out, const struct shell_node *node);

static void put_list(FILE *out, const struct shell_node *node)
{
	for (; node; node = node->next) {
		put_node(out, node);
		if (node->next)
			fputs(" ; ", out);
	}
}

/* Literals as they are meant, in '' where quoted; expansions by their kind. */
static void put_word(FILE *out, const struct shell_word *word)
{
	for (const struct shell_piece *piece = word ? word->pieces : NULL; piece;
	     piece = piece->next) {
		const char *quote = piece->quoting == SHELL_SINGLE   ? "'"
				    : piece->quoting == SHELL_DOUBLE ? "\""
								     : "";

		fputs(quote, out);
		switch (piece->kind) {
		case SHELL_LITERAL:
			fwrite(piece->text, 1, piece->length, out);
			break;
		case SHELL_PARAMETER:
			fprintf(out, "${%s", piece->text);
			if (piece->index) {
				fputc('[', out);
				put_word(out, piece->index);
				fputc(']', out);
			}
			fputs(piece->op, out);
			put_word(out, piece->operand);
			fputc('}', out);
			break;
		case SHELL_ARITHMETIC:
			fputs("$((", out);
			put_word(out, piece->operand);
			fputs("))", out);
			break;
		case SHELL_SUBSTITUTE:
		case SHELL_PROCESS:
			fputs(piece->kind == SHELL_PROCESS ? "<(" : "$(", out);
			put_list(out, piece->body);
			fputc(')', out);
			break;
		}
		fputs(quote, out);
	}
}

static void put_words(FILE *out, const struct shell_word *word)
{
	for (; word; word = word->next) {
		put_word(out, word);
		if (word->next)
			fputc(' ', out);
	}
}

static void put_node(FILE *out, const struct shell_node *node)
{
	static const char *const names[] = {
		[SHELL_COMMAND] = "",     [SHELL_PIPELINE] = "pipe ",
		[SHELL_GROUP] = "group ", [SHELL_SUBSHELL] = "sub ",
		[SHELL_IF] = "if ",       [SHELL_WHILE] = "while ",
		[SHELL_FOR] = "for ",     [SHELL_CASE] = "case ",
		[SHELL_FUNCTION] = "fn ", [SHELL_TEST] = "test ",
		[SHELL_COMPUTE] = "let ", [SHELL_LIST] = "list ",
	};
	static const char *const links[] = {"", "&& ", "|| "};

	fprintf(out, "%s%s%s[%s", links[node->link], node->negated ? "! " : "",
		node->timed ? "time " : "", names[node->kind]);
	if (node->name)
		fprintf(out, "%s ", node->name);
	for (const struct shell_assignment *at = node->assignments; at; at = at->next) {
		fprintf(out, "%s%s%s=", at->argument ? "+" : "", at->name,
			at->append ? "+" : "");
		fputs(at->array ? "(" : "", out);
		put_words(out, at->array ? at->items : at->value);
		fputs(at->array ? ") " : " ", out);
	}
	put_words(out, node->words);
	for (const struct shell_redirect *at = node->redirects; at; at = at->next) {
		fputc(' ', out);
		if (at->descriptor >= 0)
			fprintf(out, "%d", at->descriptor);
		fputs(at->op, out);
		put_word(out, at->target);
		if (at->body) {
			fputc('{', out);
			put_word(out, at->body);
			fputc('}', out);
		}
	}
	if (node->children && node->words)
		fputc(' ', out);
	put_list(out, node->children);
	fprintf(out, "]%s%s", node->merged ? "|&" : "", node->background ? "&" : "");
}

static const struct {
	const char *text, *tree;
} rows[] = {
	{"a b\nc", "[a b] ; [c]"},
	{"a;b&c", "[a] ; [b]& ; [c]"},
	{"a && b || c &\nd", "[a]& ; && [b]& ; || [c]& ; [d]"},
	{"a | b |& c", "[pipe [a] ; [b]|& ; [c]]"},
	{"! a | b", "! [pipe [a] ; [b]]"},
	{"time -p a", "time [a]"},
	{"a \\\n b # c d\ne", "[a b] ; [e]"},
	{"a b#c '#d'", "[a b#c '#d']"},
	{"a\\ b \"c d\"e'f g'", "[a b \"c d\"e'f g']"},
	{"\"a\\\"b\\$c\\d\"", "[\"a\"\"\"\"\"b\"\"$\"\"c\"\"\\d\"]"},
	{"$'a\\n\\x41\\101\\''", "['a\nAA'']"},
	{"$\"a\"", "[\"a\"]"},
	{"a \"\" ''", "[a \"\" '']"},
	{"$A${B}\"$C\"'$D'", "[${A}${B}\"${C}\"'$D']"},
	{"$1$10$@$#$?$$!$", "[${1}${1}0${@}${#}${?}${$}!$]"},
	{"${A:-b $C}${D%%x*}${#E}${F[@]}${G[1]:-2}",
	 "[${A:-b ${C}}${D%%x*}${Elen}${F[@]}${G[1]:-2}]"},
	{"\"${A:-\"b c\"}\"", "[\"${A:-\"b c\"}\"]"},
	{"${A: -4}${B//x/y}${!C}", "[${A: -4}${B//x/y}${C!}]"},
	{"$(a | b)`c \\`d\\``", "[$([pipe [a] ; [b]])$([c $([d])])]"},
	{"\"$(a \"b c\")\"", "[\"$([a \"b c\"])\"]"},
	{"$((1 + (2 * $A)))$[3]", "[$((1 + (2 * ${A})))$((3))]"},
	{"$( (a); b)", "[$([sub [a]] ; [b])]"},
	{"$((a) | b)", "[$([pipe [sub [a]] ; [b]])]"},
	{"a <(b) > c 2>&1 <<< \"d\"", "[a <([b]) >c 2>&1 <<<\"d\"]"},
	{"A=1 B=\"$C\" d e=2", "[A=1 B=\"${C}\" d e=2]"},
	{"A=(1 \"2 3\"\n # c\n $4) B+=5 C[2]=6", "[A=(1 \"2 3\" ${4}) B+=5 C=6 ]"},
	{"export A=$B C D=(1)", "[+A=${B} +D=(1) export C]"},
	{"cat <<E\na $B `c`\nE\nd",
	 "[cat <<E{\"a \"\"${B}\"\" \"\"$([c])\"\"\n\"}] ; [d]"},
	{"cat <<'E'\na $B\nE\nd", "[cat <<'E'] ; [d]"},
	{"cat <<-E\n\ta\n\tE\nd", "[cat <<-E{\"\ta\n\"}] ; [d]"},
	{"a <<E | b\nc\nE\nd", "[pipe [a <<E{\"c\n\"}] ; [b]] ; [d]"},
	{"$(cat <<E\na)\nE\n)b", "[$([cat <<E{\"a)\n\"}])b]"},
	{"if a; then b; elif c; then d; else e; fi > f",
	 "[if  >f[list [a]] ; [list [b]] ; [list [c]] ; [list [d]] ; [list [e]]]"},
	{"while a\ndo b; done", "[while [list [a]] ; [list [b]]]"},
	{"until a; do b & done", "[while [list [a]] ; [list [b]&]]"},
	{"for x in 1 $Y; do a; done &", "[for x 1 ${Y} [list [a]]]&"},
	{"for x; do a; done", "[for x [list [a]]]"},
	{"for ((i=0; i<3; i++)); do a; done", "[for i=0; i<3; i++ [list [a]]]"},
	{"case $x in a|b) c;; (d) ;; *) e; esac",
	 "[case ${x} [list a b [c]] ; [list d] ; [list * [e]]]"},
	{"f() { a; }\nfunction g { b; }\nh () ( c )",
	 "[fn f [group [a]]] ; [fn g [group [b]]] ; [fn h [sub [c]]]"},
	{"[[ $a =~ ^(b|c)$ && -n \"$d\" ]] && e",
	 "[test ${a} =~ ^(b|c)$ && -n \"${d}\"] ; && [e]"},
	{"(( i += 2 ))", "[let  i += 2 ]"},
	{"( a; b ) 2>c", "[sub  2>c[a] ; [b]]"},
	{"{ a; }; }x", "[group [a]] ; [}x]"},
	{"echo if then fi done", "[echo if then fi done]"},
	{"ls !(a|b) *.@(c)", "[ls !(a|b) *.@(c)]"},
	{"a\r\nb\r\n", "[a\r] ; [b\r]"},
};

static char *tree_of(const char *text, size_t length, struct shell_fault *fault)
{
	const struct shell_text input = {.bytes = text, .length = length};
	struct spec_arena *arena = NULL;
	struct shell_program program;
	char *tree = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&tree, &size);

	assert_non_null(out);
	assert_int_equal(shell_read(&program, &input, &arena), 0);
	put_list(out, program.list);
	fclose(out);
	*fault = program.fault;
	spec_arena_free(&arena);
	return tree;
}

static void trees_are_bashs(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct shell_fault fault;
		char *tree = tree_of(rows[i].text, strlen(rows[i].text), &fault);

		if (strcmp(tree, rows[i].tree) != 0 || fault.kind != SHELL_FINE)
			print_error("%s\n%s\n", rows[i].text,
				    shell_fault_text(fault.kind));
		assert_string_equal(tree, rows[i].tree);
		assert_int_equal(fault.kind, SHELL_FINE);
		free(tree);
	}
}

/* Where bash gives up, and what it takes before. */
static const struct {
	const char *text;
	enum shell_fault_kind kind;
	uint32_t begin;
	const char *tree;
} wrong[] = {
	{"a\nb 'c", SHELL_OPEN_QUOTE, 4, "[a] ; [b 'c']"},
	{"a \"b $c", SHELL_OPEN_QUOTE, 2, "[a \"b \"\"${c}\"]"},
	{"a $(b", SHELL_OPEN_PAREN, 2, "[a $([b])]"},
	{"a ${b", SHELL_OPEN_BRACE, 2, "[a ${b}]"},
	{"a `b", SHELL_OPEN_BACKQUOTE, 2, "[a $()]"},
	{"if a; then b", SHELL_OPEN_COMPOUND, 0, "[if [list [a]] ; [list [b]]]"},
	{"for i in a; do b", SHELL_OPEN_COMPOUND, 0, "[for i a [list [b]]]"},
	{"a; done", SHELL_UNEXPECTED, 3, "[a]"},
	{"a )", SHELL_UNEXPECTED, 2, "[a]"},
	{"a | | b", SHELL_UNEXPECTED, 4, "[pipe [a]]"},
	{"a && && b", SHELL_UNEXPECTED, 5, "[a]"},
	{"a >", SHELL_UNEXPECTED, 2, "[a]"},
	{"cat <<E\nx\n", SHELL_OPEN_DOCUMENT, 4, "[cat <<E{\"x\n\"}]"},
};

static void faults_have_a_place(void **state)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct shell_fault fault;
		char *tree = tree_of(wrong[i].text, strlen(wrong[i].text), &fault);

		if (fault.kind != wrong[i].kind || strcmp(tree, wrong[i].tree) != 0)
			print_error("%s\n", wrong[i].text);
		assert_int_equal(fault.kind, wrong[i].kind);
		assert_int_equal(fault.range.begin, wrong[i].begin);
		assert_string_equal(tree, wrong[i].tree);
		free(tree);
	}
}

/* Whatever is opened again and again ends the reading at a depth, in time and stack. */
static void nesting_is_bounded(void **state)
{
	static const char *const opens[] = {
		"(",  "$(",   "$((",    "\"$(",          "${a:-",
		"{ ", "if ",  "while ", "case x in a) ", "f() ",
		"`",  "a=(",  "<(",     "[[ ",           "((",
		"'",  "<<E ", "! ",     "time ",         "a|",
	};
	enum { COUNT = 20000 };

	for (size_t i = 0; i < sizeof(opens) / sizeof(*opens); i++) {
		const size_t length = strlen(opens[i]);
		char *text = malloc(COUNT * length);
		struct shell_fault fault;

		assert_non_null(text);
		for (size_t j = 0; j < COUNT; j++)
			memcpy(text + j * length, opens[i], length);
		free(tree_of(text, COUNT * length, &fault));
		free(text);
	}
}

/* Text that was a word of another shell: its places, and what that shell has done. */
static void text_within_text(void **state)
{
	static const char bytes[] = "a $X '$Y' \"b\"";
	uint32_t origins[sizeof(bytes)];
	uint8_t outer[sizeof(bytes)] = {0};
	const struct shell_text text = {bytes, sizeof(bytes) - 1, origins, outer, NULL};
	struct spec_arena *arena = NULL;
	struct shell_program program;
	const struct shell_word *word;

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		origins[i] = 100 + i;
	/* $Y stands in single quotes here, and was expanded all the same. */
	outer[6] = 1 | SHELL_OUTER_FIRST;
	outer[7] = 1;
	assert_int_equal(shell_read(&program, &text, &arena), 0);
	assert_int_equal(program.fault.kind, SHELL_FINE);
	word = program.list->words->next;
	assert_int_equal(word->pieces->outer, 0);
	assert_string_equal(word->pieces->text, "X");
	assert_int_equal(word->range.begin, 102);
	assert_int_equal(word->range.end, 104);
	word = word->next;
	assert_int_equal(word->pieces->outer, 1);
	assert_int_equal(word->pieces->kind, SHELL_PARAMETER);
	assert_int_equal(word->pieces->range.begin, 106);
	assert_int_equal(word->pieces->range.end, 108);
	assert_string_equal(word->next->text, "b");
	spec_arena_free(&arena);
}

static void nul_bytes(void **state)
{
	static const char bytes[] = "a\0b c\0\nd";
	struct shell_fault fault;
	char *tree = tree_of(bytes, sizeof(bytes) - 1, &fault);

	assert_int_equal(fault.kind, SHELL_FINE);
	free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_bashs),
		cmocka_unit_test(faults_have_a_place),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(text_within_text),
		cmocka_unit_test(nul_bytes),
	};

	return cmocka_run_group_tests_name("shell", tests, NULL, NULL);
}
