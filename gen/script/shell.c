/* SPDX-License-Identifier: MIT */
/*
 * Recursive descent over the bytes, as POSIX.1-2017 (XCU 2, Shell Command Language) and
 * bash.1 have it; see shell.h. A fault ends the reading, as it ends bash's.
 */
#include "gen/script/shell.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A here-document whose lines come behind the next line end. */
struct pending {
	struct pending *next;
	struct shell_redirect *redirect;
	const char *delimiter;
	size_t length;
};

struct parser {
	const struct shell_text *text;
	struct spec_arena **arena;
	size_t at, end; /* END: of what may be read: a document, or the whole text */
	size_t last;    /* behind the last byte that belongs to a command */
	unsigned int depth;
	struct pending *pending, **pending_end;
	struct shell_program *program;
	int rc;
};

/* What a run of bytes stands in. */
enum mode {
	IN_WORD,         /* ends at a blank or an operator */
	IN_TEST,         /* [[ ]]: ends at a blank */
	IN_PATTERN,      /* of case: as IN_WORD */
	IN_DOUBLE,       /* ends at " */
	IN_BRACE,        /* ${X:-...}: ends at } */
	IN_QUOTED_BRACE, /* the same within double quotes */
	IN_INDEX,        /* ends at ] */
	IN_ARITHMETIC,   /* ends at ) on its own level */
	IN_DOCUMENT,     /* ends with the text */
	MODES,
};

/* Bytes that are not themselves in each mode, by bits of enum mode. */
static const struct {
	const char *bytes;
	unsigned int modes;
} specials[] = {
	{" \t\n", 1u << IN_WORD | 1u << IN_TEST | 1u << IN_PATTERN},
	{";&|<>()", 1u << IN_WORD | 1u << IN_PATTERN},
	{"'", 1u << IN_WORD | 1u << IN_TEST | 1u << IN_PATTERN | 1u << IN_BRACE |
		      1u << IN_INDEX},
	{"\"", (1u << MODES) - 1 - (1u << IN_DOCUMENT)},
	{"\\$`", (1u << MODES) - 1},
	{"}", 1u << IN_BRACE | 1u << IN_QUOTED_BRACE},
	{"]", 1u << IN_INDEX},
	{"()", 1u << IN_ARITHMETIC},
};

/* Filled before the first reading, always with the same. */
static uint16_t special[256];

static void fill_special(void)
{
	if (special['$'])
		return;
	for (size_t i = 0; i < sizeof(specials) / sizeof(*specials); i++) {
		for (const char *at = specials[i].bytes; *at; at++)
			special[(unsigned char)*at] |= (uint16_t)specials[i].modes;
	}
}

static struct shell_node *read_list(struct parser *p);
static struct shell_piece *read_pieces(struct parser *p, enum mode mode);

/* ---- bytes ---- */

/* The byte COUNT ahead; 0 behind the end, and for a NUL, which bash skips as well. */
static char peek(const struct parser *p, size_t count)
{
	return p->at + count < p->end ? p->text->bytes[p->at + count] : '\0';
}

static bool is_outer(const struct parser *p, size_t at)
{
	return p->text->outer && at < p->text->length && p->text->outer[at];
}

static uint32_t origin(const struct parser *p, size_t at)
{
	if (!p->text->origins)
		return (uint32_t)at;
	if (at < p->text->length)
		return p->text->origins[at];
	return p->text->length ? p->text->origins[p->text->length - 1] + 1 : 0;
}

/* END is as far behind BEGIN as SIZE bytes may well be, quotes and escapes included. */
static bool is_near(uint32_t begin, uint32_t end, size_t size)
{
	return end > begin && end - begin <= 4 * size + 64;
}

static struct script_range range_of(const struct parser *p, size_t begin, size_t end)
{
	struct script_range range = {origin(p, begin), origin(p, begin)};

	if (end <= begin)
		return range;
	range.end = origin(p, end - 1) + 1;
	if (!p->text->origins || is_near(range.begin, range.end, end - begin))
		return range;
	/* Text put together from several places: what follows may stand in the first. */
	range.end = origin(p, end);
	if (!is_near(range.begin, range.end, end - begin))
		range.end = range.begin + 1;
	return range;
}

static void *allocate(struct parser *p, size_t size)
{
	void *memory = p->rc < 0 ? NULL : spec_arena_alloc(p->arena, size);

	if (!memory && p->rc == 0)
		p->rc = -ENOMEM;
	if (!memory)
		p->at = p->end;
	return memory;
}

static char *copy(struct parser *p, const char *text, size_t length)
{
	char *memory = allocate(p, length + 1);

	return memory ? memcpy(memory, text, length) : NULL;
}

static bool stopped(const struct parser *p)
{
	return p->rc < 0 || (p->program->fault.kind != SHELL_FINE &&
			     p->program->fault.kind != SHELL_OPEN_DOCUMENT);
}

/* The first fault counts; nothing is read behind it. A here-document without its end is
 * only warned of, so that a worse one counts more. */
static void fault(struct parser *p, enum shell_fault_kind kind, size_t begin, size_t end)
{
	if (!stopped(p))
		p->program->fault = (struct shell_fault){
			.kind = kind,
			.range = range_of(p, begin, end),
			.end = origin(p, p->end),
		};
	p->at = p->end;
}

/* False, with a fault, when there is no going deeper; each true needs a leave(). */
static bool enter(struct parser *p, size_t begin)
{
	if (++p->depth <= SHELL_DEPTH_MAX)
		return true;
	p->depth--;
	fault(p, SHELL_TOO_DEEP, begin, begin + 1);
	return false;
}

static void leave(struct parser *p)
{
	p->depth--;
}

static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* ---- pieces ---- */

static struct shell_piece *new_piece(struct parser *p, enum shell_piece_kind kind,
				     enum shell_quoting quoting, size_t begin)
{
	struct shell_piece *piece = allocate(p, sizeof(*piece));

	if (!piece)
		return NULL;
	piece->kind = kind;
	piece->quoting = quoting;
	piece->begin = (uint32_t)begin;
	piece->op = "";
	if (p->text->outer && begin < p->text->length)
		piece->outer = p->text->outer[begin] & (SHELL_OUTER_FIRST - 1);
	return piece;
}

static struct shell_piece *end_piece(struct parser *p, struct shell_piece *piece)
{
	if (piece) {
		piece->end = (uint32_t)p->at;
		piece->range = range_of(p, piece->begin, p->at);
	}
	return piece;
}

/* TEXT, LENGTH bytes, as a literal whose spelling is from BEGIN to the current byte. */
static struct shell_piece *literal(struct parser *p, enum shell_quoting quoting,
				   size_t begin, const char *text, size_t length)
{
	struct shell_piece *piece = new_piece(p, SHELL_LITERAL, quoting, begin);

	if (!piece)
		return NULL;
	piece->text = text;
	piece->length = (uint32_t)length;
	return end_piece(p, piece);
}

/* A word made of PIECES, whose last byte is read. */
static struct shell_word *make_word(struct parser *p, struct shell_piece *pieces,
				    size_t begin)
{
	struct shell_word *word = allocate(p, sizeof(*word));
	size_t length = 0;
	char *text;

	if (!word)
		return NULL;
	word->pieces = pieces;
	word->range = range_of(p, begin, p->at);
	word->literal = word->bare = true;
	for (struct shell_piece *piece = pieces; piece; piece = piece->next) {
		word->literal &= piece->kind == SHELL_LITERAL;
		word->bare &=
			piece->kind == SHELL_LITERAL && piece->quoting == SHELL_BARE;
		length += piece->length;
	}
	if (!word->literal)
		return word;
	text = allocate(p, length + 1);
	if (!text)
		return NULL;
	word->text = text;
	word->length = (uint32_t)length;
	for (struct shell_piece *piece = pieces; piece; piece = piece->next) {
		memcpy(text, piece->text, piece->length);
		text += piece->length;
	}
	return word;
}

/* A word that is the rest of something in MODE; its end is not read. */
static struct shell_word *read_operand(struct parser *p, enum mode mode)
{
	const size_t begin = p->at;

	return make_word(p, read_pieces(p, mode), begin);
}

/* The ' that closes; one within an expansion that was done outside does not. */
static size_t find_single_end(const struct parser *p, size_t at)
{
	while (at < p->end) {
		const char *close = memchr(p->text->bytes + at, '\'', p->end - at);

		if (!close)
			break;
		at = (size_t)(close - p->text->bytes);
		if (!is_outer(p, at))
			return at;
		at++;
	}
	return p->end;
}

/* An expansion that was done outside. */
static struct shell_piece *read_outer(struct parser *p, enum shell_quoting quoting)
{
	struct shell_piece *piece = new_piece(p, SHELL_PARAMETER, quoting, p->at);

	if (!piece)
		return NULL;
	piece->text = "";
	do {
		p->at++;
	} while (is_outer(p, p->at) && p->at < p->end &&
		 !(p->text->outer[p->at] & SHELL_OUTER_FIRST));
	return end_piece(p, piece);
}

/*
 * '...' in a text that has expansions done outside: they are there whatever quotes stand
 * around them here.
 */
static struct shell_piece *read_single_mixed(struct parser *p, size_t close)
{
	struct shell_piece *first = NULL, **end = &first;

	while (p->at < close && !stopped(p)) {
		const size_t begin = p->at;

		if (is_outer(p, begin)) {
			*end = read_outer(p, SHELL_SINGLE);
		} else {
			do {
				p->at++;
			} while (p->at < close && !is_outer(p, p->at));
			*end = literal(p, SHELL_SINGLE, begin, p->text->bytes + begin,
				       p->at - begin);
		}
		if (*end)
			end = &(*end)->next;
	}
	if (!stopped(p))
		p->at = close + 1;
	return first;
}

/* '...': bytes up to the next '. */
static struct shell_piece *read_single(struct parser *p)
{
	const size_t begin = p->at++, from = p->at;
	const size_t close = find_single_end(p, from);

	if (close == p->end) {
		p->at = p->end;
		fault(p, SHELL_OPEN_QUOTE, begin, begin + 1);
		return literal(p, SHELL_SINGLE, begin, p->text->bytes + from,
			       p->end - from);
	}
	if (p->text->outer && close > from)
		return read_single_mixed(p, close);
	p->at = close + 1;
	return literal(p, SHELL_SINGLE, begin, p->text->bytes + from, close - from);
}

static const struct {
	char letter, byte;
} escapes[] = {
	{'a', '\a'}, {'b', '\b'}, {'e', '\033'}, {'E', '\033'}, {'f', '\f'},
	{'n', '\n'}, {'r', '\r'}, {'t', '\t'},   {'v', '\v'},
};

/* $'...' (bash.1, QUOTING). Code points above one byte stay as they are spelt. */
static struct shell_piece *read_ansi(struct parser *p)
{
	const size_t begin = p->at;
	size_t length = 0, size = 0;
	char *text;

	p->at += 2;
	while (p->at + size < p->end && peek(p, size) != '\'')
		size += peek(p, size) == '\\' ? 2 : 1;
	if (p->at + size >= p->end) {
		p->at = p->end;
		fault(p, SHELL_OPEN_QUOTE, begin, begin + 2);
		return literal(p, SHELL_SINGLE, begin, "", 0);
	}
	text = allocate(p, size + 1);
	if (!text)
		return NULL;
	while (peek(p, 0) != '\'') {
		char c = peek(p, 0);
		int digits = 0, value = 0;

		p->at++;
		if (c != '\\') {
			text[length++] = c;
			continue;
		}
		c = peek(p, 0);
		p->at++;
		if (c == 'x') {
			while (digits < 2 && isxdigit((unsigned char)peek(p, 0))) {
				const char digit = (char)tolower(peek(p, 0));

				value = value * 16 +
					(digit > '9' ? digit - 'a' + 10 : digit - '0');
				digits++;
				p->at++;
			}
		} else if (c >= '0' && c <= '7') {
			value = c - '0';
			for (digits = 1;
			     digits < 3 && peek(p, 0) >= '0' && peek(p, 0) <= '7';
			     digits++, p->at++)
				value = value * 8 + peek(p, 0) - '0';
		}
		if (digits > 0) {
			text[length++] = (char)value;
			continue;
		}
		for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++) {
			if (escapes[i].letter == c) {
				text[length++] = escapes[i].byte;
				digits = 1;
			}
		}
		if (digits > 0)
			continue;
		if (!strchr("\\'\"?", c))
			text[length++] = '\\';
		text[length++] = c;
	}
	p->at++;
	return literal(p, SHELL_SINGLE, begin, text, length);
}

/* Pieces of the text between double quotes, and the quotes. */
static struct shell_piece *read_double(struct parser *p)
{
	const size_t begin = p->at++;
	struct shell_piece *pieces = read_pieces(p, IN_DOUBLE);

	if (peek(p, 0) == '"' && !stopped(p))
		p->at++;
	else
		fault(p, SHELL_OPEN_QUOTE, begin, begin + 1);
	if (!pieces)
		return literal(p, SHELL_DOUBLE, begin, "", 0);
	return pieces;
}

/* Commands up to the ) that closes what was opened at BEGIN. */
static struct shell_node *read_parenthesised(struct parser *p, size_t begin)
{
	struct pending *pending = p->pending, **pending_end = p->pending_end;
	struct shell_node *list;

	if (!enter(p, begin))
		return NULL;
	p->pending = NULL;
	p->pending_end = &p->pending;
	list = read_list(p);
	p->pending = pending;
	p->pending_end = pending ? pending_end : &p->pending;
	leave(p);
	if (peek(p, 0) == ')' && !stopped(p))
		p->at++;
	else
		fault(p, SHELL_OPEN_PAREN, begin, begin + 1);
	return list;
}

/*
 * Where the arithmetic that is opened by (( ends, with its second ); 0 when it is a
 * subshell within a subshell or substitution instead.
 */
static size_t find_arithmetic_end(const struct parser *p, size_t at)
{
	unsigned int depth = 0;

	for (; at < p->end; at++) {
		const char c = p->text->bytes[at];

		if (c == '\\') {
			at++;
		} else if (c == '(') {
			depth++;
		} else if (c == ')') {
			if (depth == 0)
				return at + 1 < p->end && p->text->bytes[at + 1] == ')'
					       ? at + 2
					       : 0;
			depth--;
		} else if (c == '\'' || c == '"') {
			const char *close =
				memchr(p->text->bytes + at + 1, c, p->end - at - 1);

			if (!close)
				return 0;
			at = (size_t)(close - p->text->bytes);
		}
	}
	return 0;
}

static struct shell_piece *read_arithmetic(struct parser *p, enum shell_quoting quoting,
					   size_t skip)
{
	const size_t begin = p->at;
	const char close = skip == 3 ? ')' : ']';
	struct shell_piece *piece = new_piece(p, SHELL_ARITHMETIC, quoting, begin);

	if (!piece || !enter(p, begin))
		return NULL;
	p->at += skip;
	piece->operand = read_operand(p, skip == 3 ? IN_ARITHMETIC : IN_INDEX);
	leave(p);
	if (peek(p, 0) == close && (skip != 3 || peek(p, 1) == ')') && !stopped(p))
		p->at += skip == 3 ? 2 : 1;
	else
		fault(p, SHELL_OPEN_PAREN, begin, begin + skip);
	return end_piece(p, piece);
}

static struct shell_piece *read_substitution(struct parser *p, enum shell_quoting quoting,
					     enum shell_piece_kind kind)
{
	const size_t begin = p->at;
	struct shell_piece *piece = new_piece(p, kind, quoting, begin);

	if (!piece)
		return NULL;
	p->at += 2;
	piece->body = read_parenthesised(p, begin);
	return end_piece(p, piece);
}

/*
 * `...`: a text of its own once the backslashes in front of $, ` and \ are gone, and of "
 * within double quotes.
 */
static struct shell_piece *read_backquotes(struct parser *p, enum shell_quoting quoting)
{
	const size_t begin = p->at;
	struct shell_piece *piece = new_piece(p, SHELL_SUBSTITUTE, quoting, begin);
	struct shell_text *text;
	struct parser inner = *p;
	size_t size = 0;
	char *bytes;
	uint32_t *origins, *around;
	uint8_t *outer = NULL;

	p->at++;
	while (p->at + size < p->end && peek(p, size) != '`')
		size += peek(p, size) == '\\' ? 2 : 1;
	if (!piece || p->at + size >= p->end) {
		fault(p, SHELL_OPEN_BACKQUOTE, begin, begin + 1);
		return end_piece(p, piece);
	}
	text = allocate(p, sizeof(*text));
	bytes = allocate(p, size + 1);
	origins = allocate(p, (size + 1) * sizeof(*origins));
	around = allocate(p, (size + 1) * sizeof(*around));
	if (p->text->outer)
		outer = allocate(p, size + 1);
	if (p->rc < 0)
		return NULL;
	for (size_t i = 0; i < size; i++) {
		if (peek(p, i) == '\\' && i + 1 < size &&
		    (strchr("$`\\", peek(p, i + 1)) ||
		     (quoting == SHELL_DOUBLE && peek(p, i + 1) == '"')))
			i++;
		origins[text->length] = origin(p, p->at + i);
		around[text->length] = p->text->around ? p->text->around[p->at + i]
						       : (uint32_t)(p->at + i);
		if (outer)
			outer[text->length] = p->text->outer[p->at + i];
		bytes[text->length++] = peek(p, i);
	}
	text->bytes = bytes;
	text->origins = origins;
	text->outer = outer;
	text->around = around;
	piece->quoted = text;
	p->at += size + 1;
	if (!enter(p, begin))
		return end_piece(p, piece);
	inner.text = text;
	inner.at = inner.last = 0;
	inner.end = text->length;
	inner.depth = p->depth;
	inner.pending = NULL;
	inner.pending_end = &inner.pending;
	piece->body = read_list(&inner);
	if (inner.at < inner.end && !stopped(&inner))
		fault(&inner, SHELL_UNEXPECTED, inner.at, inner.at + 1);
	if (inner.rc < 0)
		p->rc = inner.rc;
	leave(p);
	if (stopped(p))
		p->at = p->end;
	return end_piece(p, piece);
}

/* Longest first where one begins another. */
static const char *const parameter_ops[] = {
	":-", ":=", ":?", ":+", "##", "%%", "//", "/#", "/%", "^^", ",,",
	"-",  "=",  "?",  "+",  "#",  "%",  "/",  ":",  "^",  ",",  "@",
};

/* Digits, a name, or one of the special parameters, from the current byte on. */
static size_t parameter_length(const struct parser *p)
{
	size_t length = 0;

	if (is_name_start(peek(p, 0))) {
		while (is_name(peek(p, length)))
			length++;
	} else if (isdigit((unsigned char)peek(p, 0))) {
		while (isdigit((unsigned char)peek(p, length)))
			length++;
	} else if (peek(p, 0) && strchr("@*#?-$!", peek(p, 0))) {
		length = 1;
	}
	return length;
}

/* ${...} */
static struct shell_piece *read_braces(struct parser *p, enum shell_quoting quoting)
{
	const size_t begin = p->at;
	const bool quoted = quoting == SHELL_DOUBLE;
	struct shell_piece *piece = new_piece(p, SHELL_PARAMETER, quoting, begin);
	size_t length;

	if (!piece || !enter(p, begin))
		return NULL;
	p->at += 2;
	/* ${#}, ${#-} and ${!} are the parameters # and !. */
	if ((peek(p, 0) == '#' && (is_name(peek(p, 1)) || strchr("@*", peek(p, 1))) &&
	     peek(p, 1)) ||
	    (peek(p, 0) == '!' && is_name(peek(p, 1)))) {
		piece->op = peek(p, 0) == '#' ? "len" : "!";
		p->at++;
	}
	length = parameter_length(p);
	piece->text = copy(p, p->text->bytes + (p->at < p->end ? p->at : 0), length);
	piece->length = 0;
	p->at += length;
	if (p->rc == 0 && peek(p, 0) == '[') {
		p->at++;
		piece->index = read_operand(p, IN_INDEX);
		if (peek(p, 0) == ']')
			p->at++;
	}
	for (size_t i = 0;
	     i < sizeof(parameter_ops) / sizeof(*parameter_ops) && !*piece->op; i++) {
		if (strncmp(parameter_ops[i], (char[]){peek(p, 0), peek(p, 1), '\0'},
			    strlen(parameter_ops[i])) == 0)
			piece->op = parameter_ops[i];
	}
	if (*piece->op && strcmp(piece->op, "len") != 0 && strcmp(piece->op, "!") != 0)
		p->at += strlen(piece->op);
	if (peek(p, 0) != '}' && !stopped(p))
		piece->operand = read_operand(p, quoted ? IN_QUOTED_BRACE : IN_BRACE);
	leave(p);
	if (peek(p, 0) == '}' && !stopped(p))
		p->at++;
	else
		fault(p, SHELL_OPEN_BRACE, begin, begin + 2);
	return end_piece(p, piece);
}

static struct shell_piece *read_dollar(struct parser *p, enum shell_quoting quoting)
{
	const size_t begin = p->at;
	struct shell_piece *piece;
	size_t length;

	switch (peek(p, 1)) {
	case '(':
		if (peek(p, 2) == '(' && find_arithmetic_end(p, p->at + 3))
			return read_arithmetic(p, quoting, 3);
		return read_substitution(p, quoting, SHELL_SUBSTITUTE);
	case '[':
		return read_arithmetic(p, quoting, 2);
	case '{':
		return read_braces(p, quoting);
	case '\'':
		if (quoting == SHELL_BARE)
			return read_ansi(p);
		break;
	case '"':
		if (quoting == SHELL_BARE) {
			p->at++;
			return read_double(p);
		}
		break;
	default:
		break;
	}
	p->at++;
	length = parameter_length(p);
	if (length == 0)
		return literal(p, quoting, begin, "$", 1);
	/* $10 is $1 and a zero. */
	if (isdigit((unsigned char)peek(p, 0)))
		length = 1;
	piece = new_piece(p, SHELL_PARAMETER, quoting, begin);
	if (!piece)
		return NULL;
	piece->text = copy(p, p->text->bytes + p->at, length);
	p->at += length;
	return end_piece(p, piece);
}

static struct shell_piece *read_backslash(struct parser *p, enum mode mode)
{
	const size_t begin = p->at;
	const bool quoted =
		mode == IN_DOUBLE || mode == IN_QUOTED_BRACE || mode == IN_DOCUMENT;
	const char c = peek(p, 1);
	size_t length = 2;

	/* In front of what another shell has put there nothing is known. */
	if (p->at + 1 >= p->end || is_outer(p, p->at + 1)) {
		p->at++;
		return literal(p, SHELL_ESCAPED, begin, "", 0);
	}
	if (c == '\n') {
		p->at += 2;
		return literal(p, quoted ? SHELL_DOUBLE : SHELL_BARE, begin, "", 0);
	}
	if (quoted && (!c || !strchr(mode == IN_DOCUMENT ? "$`\\" : "$`\"\\", c)) &&
	    !(mode == IN_QUOTED_BRACE && c == '}')) {
		p->at += 2;
		return literal(p, SHELL_DOUBLE, begin, p->text->bytes + begin, 2);
	}
	p->at += length;
	return literal(p, quoted ? SHELL_DOUBLE : SHELL_ESCAPED, begin,
		       p->text->bytes + begin + 1, 1);
}

/* The bytes from the current one on that are themselves in MODE. */
static struct shell_piece *read_run(struct parser *p, enum mode mode,
				    enum shell_quoting quoting)
{
	const size_t begin = p->at;

	while (p->at < p->end &&
	       !(special[(unsigned char)p->text->bytes[p->at]] & 1u << mode) &&
	       (p->at == begin || !is_outer(p, p->at)))
		p->at++;
	return literal(p, quoting, begin, p->text->bytes + begin, p->at - begin);
}

/*
 * ?(a|b) and its like are one pattern: the parenthesis is not an operator. Only bash with
 * extglob, or in case and [[ ]], takes them, but none else can be meant.
 */
static struct shell_piece *read_extended_glob(struct parser *p)
{
	const size_t begin = p->at;
	unsigned int depth = 0;

	do {
		const char c = peek(p, 0);

		depth += c == '(';
		depth -= c == ')';
		p->at++;
	} while (depth > 0 && p->at < p->end);
	return literal(p, SHELL_BARE, begin, p->text->bytes + begin, p->at - begin);
}

static bool is_extended_glob(const struct parser *p, size_t begin)
{
	return peek(p, 0) == '(' && p->at > begin &&
	       strchr("?*+@!", p->text->bytes[p->at - 1]) && p->text->bytes[p->at - 1];
}

/* Pieces up to what ends MODE, which is left to be read. NULL: none. */
static struct shell_piece *read_pieces(struct parser *p, enum mode mode)
{
	const enum shell_quoting quoting =
		mode == IN_DOUBLE || mode == IN_QUOTED_BRACE || mode == IN_DOCUMENT
			? SHELL_DOUBLE
			: SHELL_BARE;
	struct shell_piece *first = NULL, **end = &first;
	const size_t begin = p->at;
	unsigned int depth = 0;

	while (p->at < p->end && !stopped(p)) {
		const char c = peek(p, 0);
		struct shell_piece *piece;

		if (is_outer(p, p->at)) {
			piece = read_outer(p, quoting);
		} else if (c == '$') {
			piece = read_dollar(p, quoting);
		} else if (c == '`') {
			piece = read_backquotes(p, quoting);
		} else if ((c == '<' || c == '>') && peek(p, 1) == '(' &&
			   mode == IN_WORD) {
			piece = read_substitution(p, quoting, SHELL_PROCESS);
		} else if (!(special[(unsigned char)c] & 1u << mode)) {
			piece = read_run(p, mode, quoting);
		} else if (c == '\\') {
			piece = read_backslash(p, mode);
		} else if (c == '"' && mode != IN_DOUBLE) {
			/* Within "${X:-...}" quotes come in pairs and quote again. */
			if (!enter(p, p->at))
				break;
			piece = read_double(p);
			leave(p);
		} else if (c == '\'') {
			piece = read_single(p);
		} else if (mode == IN_ARITHMETIC && (c == '(' || depth > 0)) {
			const size_t at = p->at++;

			depth += c == '(' ? 1u : -1u;
			piece = literal(p, quoting, at, p->text->bytes + at, 1);
		} else if (mode == IN_WORD && is_extended_glob(p, begin)) {
			piece = read_extended_glob(p);
		} else {
			break;
		}
		if (!piece)
			break;
		*end = piece;
		while (*end)
			end = &(*end)->next;
	}
	return first;
}

/* A word of MODE; NULL: an operator, a line end or nothing is next. */
static struct shell_word *read_word(struct parser *p, enum mode mode)
{
	const size_t begin = p->at;
	struct shell_piece *pieces = read_pieces(p, mode);

	if (p->at == begin)
		return NULL;
	p->last = p->at;
	return make_word(p, pieces, begin);
}

/* ---- between words ---- */

/* The lines of the here-documents that wait, from the current byte on. */
static void read_documents(struct parser *p)
{
	for (; p->pending && !stopped(p); p->pending = p->pending->next) {
		const struct pending *pending = p->pending;
		struct shell_redirect *redirect = pending->redirect;
		const size_t begin = p->at;
		size_t end = p->end, next = p->end;
		bool closed = false;

		while (p->at < p->end && !closed) {
			const char *bytes = p->text->bytes;
			const char *stop = memchr(bytes + p->at, '\n', p->end - p->at);
			const size_t line = p->at;
			const size_t line_end = stop ? (size_t)(stop - bytes) : p->end;
			size_t from = line;

			while (redirect->strip && from < line_end && bytes[from] == '\t')
				from++;
			p->at = stop ? line_end + 1 : p->end;
			closed = line_end - from == pending->length &&
				 memcmp(bytes + from, pending->delimiter,
					pending->length) == 0;
			if (closed) {
				end = line;
				next = p->at;
			}
		}
		redirect->unclosed = !closed;
		redirect->begin = (uint32_t)begin;
		redirect->end = (uint32_t)end;
		redirect->document = range_of(p, begin, end);
		if (!closed && p->program->fault.kind == SHELL_FINE)
			p->program->fault = (struct shell_fault){
				.kind = SHELL_OPEN_DOCUMENT,
				.range = redirect->range,
				.end = origin(p, p->end),
			};
		p->at = begin;
		if (!redirect->quoted && end > begin) {
			const size_t limit = p->end;

			p->end = end;
			redirect->body = read_operand(p, IN_DOCUMENT);
			p->end = limit;
		}
		p->at = stopped(p) ? p->end : next;
	}
	if (!p->pending)
		p->pending_end = &p->pending;
}

/* Blanks, continued lines, and a comment up to the end of its line. */
static void skip_blanks(struct parser *p)
{
	for (;;) {
		const char c = peek(p, 0);

		if (c == ' ' || c == '\t' || (c == '\0' && p->at < p->end)) {
			p->at++;
		} else if (c == '\\' && peek(p, 1) == '\n') {
			p->at += 2;
		} else if (c == '\r' && peek(p, 1) == '\n') {
			p->at++;
		} else if (c == '#') {
			const char *stop =
				memchr(p->text->bytes + p->at, '\n', p->end - p->at);

			p->at = stop ? (size_t)(stop - p->text->bytes) : p->end;
		} else {
			return;
		}
	}
}

/* The same and line ends, with the documents behind them. */
static void skip_lines(struct parser *p)
{
	skip_blanks(p);
	while (peek(p, 0) == '\n') {
		p->at++;
		read_documents(p);
		skip_blanks(p);
	}
}

/* LENGTH of the bare word at the current byte if it can be a reserved one; 0: not. */
static size_t reserved_length(const struct parser *p)
{
	size_t length = 0;

	while (length < 9 && peek(p, length) &&
	       !(special[(unsigned char)peek(p, length)] & 1u << IN_WORD))
		length++;
	return length < 9 && !is_outer(p, p->at) &&
			       (!peek(p, length) ||
				strchr(" \t\n;&|<>()", peek(p, length)))
		       ? length
		       : 0;
}

static bool at_word(const struct parser *p, const char *word)
{
	const size_t length = strlen(word);

	return reserved_length(p) == length &&
	       memcmp(p->text->bytes + p->at, word, length) == 0;
}

/* Reads the reserved WORD, or tells that what was opened at BEGIN is not closed. */
static bool expect(struct parser *p, const char *word, size_t begin, size_t length)
{
	skip_lines(p);
	if (stopped(p))
		return false;
	if (at_word(p, word)) {
		p->at += strlen(word);
		p->last = p->at;
		return true;
	}
	if (p->at >= p->end)
		fault(p, SHELL_OPEN_COMPOUND, begin, begin + length);
	else
		fault(p, SHELL_UNEXPECTED, p->at,
		      p->at + (reserved_length(p) ? reserved_length(p) : 1));
	return false;
}

/* ---- commands ---- */

static struct shell_node *new_node(struct parser *p, enum shell_kind kind)
{
	struct shell_node *node = allocate(p, sizeof(*node));

	if (!node)
		return NULL;
	node->kind = kind;
	p->program->nodes++;
	return node;
}

static struct shell_node *end_node(struct parser *p, struct shell_node *node,
				   size_t begin)
{
	if (node)
		node->range = range_of(p, begin, p->last > begin ? p->last : begin);
	return node;
}

static const char *const redirect_ops[] = {
	"&>>", "<<<", "<<-", "&>", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">",
};

/* The op at the current byte behind DIGITS digits; NULL: none. */
static const char *redirect_op(const struct parser *p, size_t digits)
{
	const char bytes[] = {peek(p, digits), peek(p, digits + 1), peek(p, digits + 2),
			      '\0'};

	/* <( and >( are words. */
	if ((bytes[0] == '<' || bytes[0] == '>') && bytes[1] == '(')
		return NULL;
	for (size_t i = 0; i < sizeof(redirect_ops) / sizeof(*redirect_ops); i++) {
		if (strncmp(bytes, redirect_ops[i], strlen(redirect_ops[i])) == 0)
			return digits > 0 && redirect_ops[i][0] == '&' ? NULL
								       : redirect_ops[i];
	}
	return NULL;
}

static void add_document(struct parser *p, struct shell_redirect *redirect)
{
	struct pending *pending = allocate(p, sizeof(*pending));
	size_t length = 0;
	char *delimiter;

	if (!pending)
		return;
	/* The delimiter is what is written, without its quotes, unexpanded. */
	for (struct shell_piece *piece = redirect->target->pieces; piece;
	     piece = piece->next) {
		redirect->quoted |= piece->quoting != SHELL_BARE;
		length += piece->kind == SHELL_LITERAL ? piece->length
						       : piece->end - piece->begin;
	}
	delimiter = allocate(p, length + 1);
	if (!delimiter)
		return;
	pending->delimiter = delimiter;
	pending->length = length;
	pending->redirect = redirect;
	for (struct shell_piece *piece = redirect->target->pieces; piece;
	     piece = piece->next) {
		const bool known = piece->kind == SHELL_LITERAL;
		const size_t size = known ? piece->length : piece->end - piece->begin;

		memcpy(delimiter, known ? piece->text : p->text->bytes + piece->begin,
		       size);
		delimiter += size;
	}
	*p->pending_end = pending;
	p->pending_end = &pending->next;
}

/* True when a redirect was read, and put at the end of NODE's. */
static bool read_redirect(struct parser *p, struct shell_redirect ***end)
{
	const size_t begin = p->at;
	struct shell_redirect *redirect;
	const char *op;
	size_t digits = 0;

	while (digits < 4 && isdigit((unsigned char)peek(p, digits)))
		digits++;
	op = redirect_op(p, digits);
	if (!op)
		return false;
	redirect = allocate(p, sizeof(*redirect));
	if (!redirect)
		return false;
	redirect->op = op;
	redirect->descriptor = -1;
	for (size_t i = 0; i < digits; i++)
		redirect->descriptor =
			(i ? redirect->descriptor * 10 : 0) + peek(p, i) - '0';
	redirect->strip = strcmp(op, "<<-") == 0;
	p->at += digits + strlen(op);
	skip_blanks(p);
	redirect->target = read_word(p, IN_WORD);
	redirect->range = range_of(p, begin, p->at);
	if (!redirect->target) {
		if (!stopped(p))
			fault(p, SHELL_UNEXPECTED, begin, p->at);
		return false;
	}
	if (strncmp(op, "<<", 2) == 0 && op[2] != '<')
		add_document(p, redirect);
	**end = redirect;
	*end = &redirect->next;
	return true;
}

/* NAME=, NAME+= or NAME[...]= at the current byte: its length in front of the =. */
static size_t assignment_length(const struct parser *p)
{
	size_t length = 0;

	if (!is_name_start(peek(p, 0)) || is_outer(p, p->at))
		return 0;
	while (is_name(peek(p, length)))
		length++;
	if (peek(p, length) == '[') {
		while (peek(p, length) && !strchr("] \t\n;&|<>()", peek(p, length)))
			length++;
		if (peek(p, length) != ']')
			return 0;
		length++;
	}
	if (peek(p, length) == '=')
		return length;
	return peek(p, length) == '+' && peek(p, length + 1) == '=' ? length : 0;
}

/* (a b c), the elements of an array. */
static struct shell_word *read_elements(struct parser *p)
{
	const size_t begin = p->at++;
	struct shell_word *first = NULL, **end = &first;

	for (;;) {
		struct shell_word *word;

		skip_lines(p);
		if (peek(p, 0) == ')') {
			p->at++;
			p->last = p->at;
			return first;
		}
		word = read_word(p, IN_WORD);
		if (!word) {
			if (p->at >= p->end)
				fault(p, SHELL_OPEN_PAREN, begin, begin + 1);
			else
				fault(p, SHELL_UNEXPECTED, p->at, p->at + 1);
			return first;
		}
		*end = word;
		end = &word->next;
	}
}

static bool read_assignment(struct parser *p, struct shell_assignment ***end,
			    bool argument)
{
	const size_t length = assignment_length(p), begin = p->at;
	struct shell_assignment *assignment;
	size_t name = 0;

	if (length == 0)
		return false;
	assignment = allocate(p, sizeof(*assignment));
	if (!assignment)
		return false;
	while (is_name(peek(p, name)))
		name++;
	assignment->name = copy(p, p->text->bytes + p->at, name);
	assignment->name_range = range_of(p, begin, begin + name);
	assignment->argument = argument;
	if (peek(p, name) == '[') {
		p->at += name + 1;
		assignment->index = read_operand(p, IN_INDEX);
		p->at = begin + length;
	} else {
		p->at += length;
	}
	assignment->append = peek(p, 0) == '+';
	p->at += assignment->append ? 2 : 1;
	if (peek(p, 0) == '(') {
		assignment->array = true;
		assignment->items = read_elements(p);
	} else {
		assignment->value = read_operand(p, IN_WORD);
	}
	p->last = p->at;
	assignment->range = range_of(p, begin, p->at);
	**end = assignment;
	*end = &assignment->next;
	return true;
}

static const char *const declarations[] = {
	"export", "declare", "typeset", "local", "readonly",
};

static bool is_declaration(const struct shell_word *word)
{
	for (size_t i = 0; i < sizeof(declarations) / sizeof(*declarations); i++) {
		if (word->bare && strcmp(word->text, declarations[i]) == 0)
			return true;
	}
	return false;
}

/* Words, assignments and redirects up to an operator or the end of the line. */
static struct shell_node *read_simple(struct parser *p)
{
	const size_t begin = p->at;
	struct shell_node *node = new_node(p, SHELL_COMMAND);
	struct shell_assignment **assignments;
	struct shell_redirect **redirects;
	struct shell_word **words;
	bool declares = false;

	if (!node)
		return NULL;
	assignments = &node->assignments;
	redirects = &node->redirects;
	words = &node->words;
	while (!stopped(p)) {
		struct shell_word *word;

		skip_blanks(p);
		if (read_redirect(p, &redirects))
			continue;
		if (stopped(p))
			break;
		if ((!node->words || declares) &&
		    read_assignment(p, &assignments, declares))
			continue;
		word = read_word(p, IN_WORD);
		if (!word)
			break;
		*words = word;
		words = &word->next;
		if (node->words_count++ == 0)
			declares = is_declaration(word);
	}
	return end_node(p, node, begin);
}

static void read_redirects(struct parser *p, struct shell_node *node)
{
	struct shell_redirect **redirects = &node->redirects;

	do {
		skip_blanks(p);
	} while (!stopped(p) && read_redirect(p, &redirects));
}

/* A list as a child of a compound command. */
static struct shell_node **add_list(struct parser *p, struct shell_node **end)
{
	struct shell_node *list = new_node(p, SHELL_LIST);
	size_t begin;

	if (!list)
		return end;
	skip_lines(p);
	begin = p->at;
	list->children = read_list(p);
	end_node(p, list, begin);
	*end = list;
	return &list->next;
}

static void read_if(struct parser *p, struct shell_node *node)
{
	const size_t begin = p->at;
	struct shell_node **end = &node->children;

	do {
		p->at += at_word(p, "if") ? 2 : 4;
		end = add_list(p, end);
		if (!expect(p, "then", begin, 2))
			return;
		end = add_list(p, end);
	} while (at_word(p, "elif") && !stopped(p));
	if (at_word(p, "else") && !stopped(p)) {
		p->at += 4;
		end = add_list(p, end);
	}
	expect(p, "fi", begin, 2);
}

static void read_while(struct parser *p, struct shell_node *node)
{
	const size_t begin = p->at;
	struct shell_node **end = &node->children;

	p->at += 5;
	end = add_list(p, end);
	if (!expect(p, "do", begin, 5))
		return;
	add_list(p, end);
	expect(p, "done", begin, 5);
}

/* do list done, or the { list } that bash takes as well. */
static void read_body(struct parser *p, struct shell_node *node, size_t begin)
{
	bool brace;

	skip_lines(p);
	if (peek(p, 0) == ';') {
		p->at++;
		skip_lines(p);
	}
	brace = at_word(p, "{");
	if (!expect(p, brace ? "{" : "do", begin, 3))
		return;
	add_list(p, &node->children);
	expect(p, brace ? "}" : "done", begin, 3);
}

/* The word of ((...)), and its parentheses. */
static struct shell_word *read_computed(struct parser *p)
{
	const size_t begin = p->at;
	struct shell_word *word;

	if (!enter(p, begin))
		return NULL;
	p->at += 2;
	word = read_operand(p, IN_ARITHMETIC);
	leave(p);
	if (peek(p, 0) == ')' && peek(p, 1) == ')' && !stopped(p))
		p->at += 2;
	else
		fault(p, SHELL_OPEN_PAREN, begin, begin + 2);
	p->last = p->at;
	return word;
}

static void read_for(struct parser *p, struct shell_node *node)
{
	const size_t begin = p->at;
	struct shell_word **end = &node->words;
	size_t name = 0;

	p->at += at_word(p, "for") ? 3 : 6;
	skip_blanks(p);
	if (peek(p, 0) == '(' && peek(p, 1) == '(') {
		node->counting = true;
		node->words = read_computed(p);
		read_body(p, node, begin);
		return;
	}
	while (is_name(peek(p, name)))
		name++;
	if (name == 0) {
		fault(p, SHELL_UNEXPECTED, p->at, p->at + 1);
		return;
	}
	node->name = copy(p, p->text->bytes + p->at, name);
	p->at += name;
	skip_lines(p);
	node->implied = !at_word(p, "in");
	if (!node->implied) {
		p->at += 2;
		for (;;) {
			struct shell_word *word;

			skip_blanks(p);
			word = read_word(p, IN_WORD);
			if (!word)
				break;
			*end = word;
			end = &word->next;
			node->words_count++;
		}
	}
	read_body(p, node, begin);
}

static void read_case(struct parser *p, struct shell_node *node)
{
	const size_t begin = p->at;
	struct shell_node **end = &node->children;

	p->at += 4;
	skip_blanks(p);
	node->words = read_word(p, IN_WORD);
	node->words_count = node->words != NULL;
	if (!expect(p, "in", begin, 4))
		return;
	for (skip_lines(p); !at_word(p, "esac") && p->at < p->end && !stopped(p);
	     skip_lines(p)) {
		const size_t clause_begin = p->at;
		struct shell_node *clause = new_node(p, SHELL_LIST);
		struct shell_word **words;

		if (!clause)
			return;
		words = &clause->words;
		if (peek(p, 0) == '(')
			p->at++;
		for (;;) {
			struct shell_word *word;

			skip_blanks(p);
			word = read_word(p, IN_PATTERN);
			if (!word)
				break;
			*words = word;
			words = &word->next;
			clause->words_count++;
			skip_blanks(p);
			if (peek(p, 0) != '|')
				break;
			p->at++;
		}
		if (peek(p, 0) != ')' || !clause->words) {
			if (p->at >= p->end)
				fault(p, SHELL_OPEN_COMPOUND, begin, begin + 4);
			else
				fault(p, SHELL_UNEXPECTED, p->at, p->at + 1);
			return;
		}
		p->at++;
		clause->children = read_list(p);
		end_node(p, clause, clause_begin);
		*end = clause;
		end = &clause->next;
		/* ;; ;& ;;& */
		while (peek(p, 0) == ';' || (peek(p, 0) == '&' && p->at > clause_begin))
			p->at++;
	}
	expect(p, "esac", begin, 4);
}

static void read_test(struct parser *p, struct shell_node *node)
{
	const size_t begin = p->at;
	struct shell_word **words = &node->words;

	p->at += 2;
	for (;;) {
		struct shell_word *word;

		skip_lines(p);
		word = read_word(p, IN_TEST);
		if (!word) {
			if (!stopped(p))
				fault(p, SHELL_OPEN_COMPOUND, begin, begin + 2);
			return;
		}
		if (word->bare && strcmp(word->text, "]]") == 0)
			return;
		/* ]]; has no blank in front of the operator. */
		if (word->bare && strncmp(word->text, "]]", 2) == 0 &&
		    strchr(";)&|<>", word->text[2])) {
			p->at -= word->length - 2;
			p->last = p->at;
			return;
		}
		*words = word;
		words = &word->next;
		node->words_count++;
	}
}

static struct shell_node *read_command(struct parser *p);

/* The body of a function, behind its name. */
static void read_function(struct parser *p, struct shell_node *node, size_t begin)
{
	skip_lines(p);
	if (p->at >= p->end) {
		fault(p, SHELL_OPEN_COMPOUND, begin, begin + 1);
		return;
	}
	node->children = read_command(p);
}

/* `NAME ()` at the current byte: the length of NAME; 0: not. */
static size_t function_length(const struct parser *p)
{
	size_t length = 0, at;

	while (peek(p, length) &&
	       (is_name(peek(p, length)) || strchr("-.:+/@", peek(p, length))))
		length++;
	for (at = length; peek(p, at) == ' ' || peek(p, at) == '\t'; at++)
		;
	if (length == 0 || peek(p, at) != '(')
		return 0;
	for (at++; peek(p, at) == ' ' || peek(p, at) == '\t'; at++)
		;
	return peek(p, at) == ')' ? length : 0;
}

static struct shell_node *read_named_function(struct parser *p, size_t length)
{
	const size_t begin = p->at;
	struct shell_node *node = new_node(p, SHELL_FUNCTION);

	if (!node)
		return NULL;
	node->name = copy(p, p->text->bytes + p->at, length);
	p->at += length;
	while (peek(p, 0) != ')')
		p->at++;
	p->at++;
	read_function(p, node, begin);
	return end_node(p, node, begin);
}

static struct shell_node *read_function_word(struct parser *p)
{
	const size_t begin = p->at;
	struct shell_node *node = new_node(p, SHELL_FUNCTION);
	struct shell_word *name;

	if (!node)
		return NULL;
	p->at += 8;
	skip_blanks(p);
	name = read_word(p, IN_WORD);
	node->name = name && name->literal ? name->text : "";
	skip_blanks(p);
	if (peek(p, 0) == '(') {
		p->at++;
		skip_blanks(p);
		if (peek(p, 0) == ')')
			p->at++;
	}
	read_function(p, node, begin);
	return end_node(p, node, begin);
}

static const struct {
	const char *word;
	enum shell_kind kind;
	void (*read)(struct parser *p, struct shell_node *node);
} compounds[] = {
	{"if", SHELL_IF, read_if},          {"while", SHELL_WHILE, read_while},
	{"until", SHELL_WHILE, read_while}, {"for", SHELL_FOR, read_for},
	{"select", SHELL_FOR, read_for},    {"case", SHELL_CASE, read_case},
	{"[[", SHELL_TEST, read_test},
};

static struct shell_node *read_group(struct parser *p, enum shell_kind kind)
{
	const size_t begin = p->at++;
	struct shell_node *node = new_node(p, kind);

	if (!node)
		return NULL;
	if (kind == SHELL_SUBSHELL) {
		node->children = read_parenthesised(p, begin);
		p->last = p->at;
	} else {
		node->children = read_list(p);
		expect(p, "}", begin, 1);
	}
	return node;
}

static struct shell_node *read_compound(struct parser *p)
{
	if (peek(p, 0) == '(') {
		if (peek(p, 1) == '(' && find_arithmetic_end(p, p->at + 2)) {
			struct shell_node *node = new_node(p, SHELL_COMPUTE);

			if (node)
				node->words = read_computed(p);
			return node;
		}
		return read_group(p, SHELL_SUBSHELL);
	}
	if (at_word(p, "{"))
		return read_group(p, SHELL_GROUP);
	for (size_t i = 0; i < sizeof(compounds) / sizeof(*compounds); i++) {
		struct shell_node *node;

		if (!at_word(p, compounds[i].word))
			continue;
		node = new_node(p, compounds[i].kind);
		if (node)
			compounds[i].read(p, node);
		return node;
	}
	return NULL;
}

/* One command; NULL: nothing that can be one is next. */
static struct shell_node *read_command(struct parser *p)
{
	const size_t begin = p->at;
	struct shell_node *node;
	size_t length;

	if (!enter(p, begin))
		return NULL;
	node = read_compound(p);
	if (node && !stopped(p))
		read_redirects(p, node);
	length = node || stopped(p) ? 0 : function_length(p);
	if (length > 0)
		node = read_named_function(p, length);
	else if (!node && !stopped(p) && at_word(p, "function"))
		node = read_function_word(p);
	else if (!node && !stopped(p))
		node = read_simple(p);
	leave(p);
	if (node && node->kind == SHELL_COMMAND && !node->words && !node->assignments &&
	    !node->redirects)
		return NULL;
	return end_node(p, node, begin);
}

static void unexpected(struct parser *p)
{
	const size_t length = reserved_length(p);

	if (!stopped(p))
		fault(p, SHELL_UNEXPECTED, p->at, p->at + (length ? length : 1));
}

/* Commands with | between them; one without stays what it is. */
static struct shell_node *read_pipeline(struct parser *p)
{
	const size_t begin = p->at;
	struct shell_node *first, *node, *pipeline = NULL;
	bool negated = false, timed = false;

	for (;; skip_blanks(p)) {
		if (at_word(p, "!")) {
			negated = true;
			p->at++;
		} else if (at_word(p, "time")) {
			timed = true;
			p->at += 4;
			skip_blanks(p);
			if (at_word(p, "-p"))
				p->at += 2;
		} else {
			break;
		}
		p->last = p->at;
	}
	first = node = read_command(p);
	skip_blanks(p);
	while (node && !stopped(p) && peek(p, 0) == '|' && peek(p, 1) != '|') {
		node->merged = peek(p, 1) == '&';
		p->at += node->merged ? 2 : 1;
		if (!pipeline) {
			pipeline = new_node(p, SHELL_PIPELINE);
			if (!pipeline)
				return NULL;
			pipeline->children = first;
		}
		skip_lines(p);
		node->next = read_command(p);
		if (!node->next)
			unexpected(p);
		node = node->next;
		skip_blanks(p);
	}
	if (pipeline)
		end_node(p, pipeline, begin);
	node = pipeline ? pipeline : first;
	if (node) {
		node->negated = negated;
		node->timed = timed;
	}
	return node;
}

static const char *const closers[] = {"then", "do",   "done", "fi",
				      "else", "elif", "esac", "}"};

/* What ends a list for the compound command around it. */
static bool at_closer(const struct parser *p)
{
	const char c = peek(p, 0);

	if (p->at >= p->end || c == ')' ||
	    (c == ';' && strchr(";&", peek(p, 1)) && peek(p, 1)))
		return true;
	if (!strchr("tdfe}", c))
		return false;
	for (size_t i = 0; i < sizeof(closers) / sizeof(*closers); i++) {
		if (at_word(p, closers[i]))
			return true;
	}
	return false;
}

/* Commands up to what closes the list, which is left to be read. */
static struct shell_node *read_list(struct parser *p)
{
	struct shell_node *first = NULL, **end = &first, **joined = &first;
	enum shell_link link = SHELL_THEN;

	for (skip_lines(p); !stopped(p) && !at_closer(p); skip_lines(p)) {
		struct shell_node *node = read_pipeline(p);
		char c;

		if (!node) {
			unexpected(p);
			break;
		}
		node->link = link;
		*end = node;
		end = &node->next;
		skip_blanks(p);
		c = peek(p, 0);
		if ((c == '&' || c == '|') && peek(p, 1) == c) {
			link = c == '&' ? SHELL_AND : SHELL_OR;
			p->at += 2;
			continue;
		}
		if (c == '&') {
			const struct script_range sign = range_of(p, p->at, p->at + 1);

			for (; *joined; joined = &(*joined)->next) {
				(*joined)->background = true;
				(*joined)->end = sign;
			}
			p->at++;
		} else if (c == ';' && !at_closer(p)) {
			p->at++;
		} else if (c != '\n' && !at_closer(p)) {
			unexpected(p);
			break;
		}
		link = SHELL_THEN;
		joined = end;
	}
	return first;
}

int shell_read(struct shell_program *program, const struct shell_text *text,
	       struct spec_arena **arena)
{
	struct parser p = {
		.text = text,
		.arena = arena,
		.end = text->length,
		.program = program,
	};

	fill_special();
	*program = (struct shell_program){0};
	p.pending_end = &p.pending;
	program->list = read_list(&p);
	if (!stopped(&p) && p.at < p.end)
		unexpected(&p);
	/* A document that was announced in the last line, without a line end. */
	if (!stopped(&p) && p.pending)
		read_documents(&p);
	return p.rc;
}

const char *shell_fault_text(enum shell_fault_kind kind)
{
	static const char *const texts[] = {
		[SHELL_FINE] = "nothing is wrong",
		[SHELL_OPEN_QUOTE] = "a quote is not closed",
		[SHELL_OPEN_BRACE] = "${ is not closed",
		[SHELL_OPEN_PAREN] = "( is not closed",
		[SHELL_OPEN_BACKQUOTE] = "` is not closed",
		[SHELL_OPEN_COMPOUND] = "a compound command is not closed",
		[SHELL_OPEN_DOCUMENT] = "a here-document is not closed",
		[SHELL_UNEXPECTED] = "this cannot stand here",
		[SHELL_TOO_DEEP] = "commands are nested too deeply to be read",
	};

	return texts[kind];
}
