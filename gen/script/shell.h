/* SPDX-License-Identifier: MIT */
/*
 * A reader of shell: bytes -> a tree of commands, every word with its pieces, quoting and
 * place. It reads what sbatch scripts are written in, bash and POSIX shells, executes
 * nothing, and takes any bytes: what is wrong is a fault with a place, and the tree holds
 * what came before. Time is linear in the text and the nesting is bounded.
 */
#pragma once

#include "gen/script/text.h"
#include "gen/spec/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Compound commands and substitutions within each other; bash has no limit but memory,
 * and no person writes this many. */
#define SHELL_DEPTH_MAX 200

/* In shell_text.outer: the first byte of an expansion. */
#define SHELL_OUTER_FIRST 0x80

/*
 * Text that a shell reads. For the script itself ORIGINS and OUTER are NULL. For text
 * that was the value of a word in another shell (`bash -c '...'`), ORIGINS gives for each
 * byte where in the script it stands, and OUTER, where not 0, says that the byte belongs
 * to an expansion which that other shell has done already: 1 for the script's own shell,
 * 2 for a shell started by it, and so on. Such an expansion is one piece, whatever it
 * holds: of kind SHELL_PARAMETER, with an empty name.
 */
struct shell_text {
	const char *bytes;
	size_t length;
	const uint32_t *origins;
	const uint8_t *outer;
	/* Within backquotes, a text of its own without their backslashes: for each byte
	 * its offset in the text around. NULL: this is no such text. */
	const uint32_t *around;
};

enum shell_quoting {
	SHELL_BARE,
	SHELL_ESCAPED, /* \x */
	SHELL_SINGLE,  /* '...', and $'...' with its escapes resolved */
	SHELL_DOUBLE,  /* "..." */
};

enum shell_piece_kind {
	SHELL_LITERAL,
	SHELL_PARAMETER,  /* $X, ${X...} */
	SHELL_SUBSTITUTE, /* $(...), `...` */
	SHELL_ARITHMETIC, /* $((...)), $[...] */
	SHELL_PROCESS,    /* <(...), >(...) */
};

struct shell_word;
struct shell_node;

struct shell_piece {
	struct shell_piece *next;
	enum shell_piece_kind kind;
	enum shell_quoting quoting;
	uint8_t outer;             /* which shell did it, as in shell_text; 0: this */
	struct script_range range; /* in the script, spelling included */
	uint32_t begin, end;       /* in the shell_text */
	const char *text;          /* LITERAL: bytes meant, LENGTH; PARAMETER: its name */
	uint32_t length;
	/* PARAMETER: what follows the name: "", ":-", "-", ":=", "=", ":?", "?", ":+",
	 * "+", "#", "##", "%", "%%", "/", "//", ":", "^", "^^", ",", ",,", "@"; "len" for
	 * ${#X} and "!" for ${!X}. */
	const char *op;
	struct shell_word *operand;      /* behind the op; ARITHMETIC: the expression */
	struct shell_word *index;        /* ${X[index]}; NULL: none */
	struct shell_node *body;         /* SUBSTITUTE, PROCESS: the first of its list */
	const struct shell_text *quoted; /* `...`: what the offsets in BODY are of */
};

struct shell_word {
	struct shell_word *next;
	struct shell_piece *pieces;
	struct script_range range;
	bool literal; /* LITERAL pieces only, so that TEXT is its value */
	bool bare;    /* no quoting at all, so that it can be a reserved word */
	const char *text;
	uint32_t length;
};

struct shell_assignment {
	struct shell_assignment *next;
	const char *name;
	struct shell_word *value; /* NULL for an array */
	struct shell_word *items; /* (a b c): its first element */
	struct shell_word *index; /* X[index]=; NULL: none */
	bool array, append;       /* X=(...), X+= */
	bool argument;            /* behind export, declare, local ... */
	struct script_range range;
	struct script_range name_range;
};

struct shell_redirect {
	struct shell_redirect *next;
	const char *op; /* "<", ">", ">>", "<<", "<<-", "<<<", "<&", ">&", "&>", ... */
	int descriptor; /* in front of it; -1: the op's own */
	struct shell_word *target; /* the delimiter of a here-document */
	struct script_range range;
	/* Here-document: the lines, and whether the delimiter is quoted, in which case
	 * this shell expands nothing in them. BODY is the word that they make else. */
	struct script_range document;
	uint32_t begin, end; /* of it, in the shell_text */
	bool quoted;
	bool strip; /* <<-: tabs at the start of lines go */
	bool unclosed;
	struct shell_word *body;
};

enum shell_kind {
	SHELL_COMMAND,  /* assignments, words, redirects */
	SHELL_PIPELINE, /* children: its commands */
	SHELL_GROUP,    /* { list; } */
	SHELL_SUBSHELL, /* ( list ) */
	SHELL_IF,       /* children: SHELL_LISTs: condition, body, ..., [else] */
	SHELL_WHILE,    /* children: SHELL_LISTs: condition, body; until too */
	SHELL_FOR,      /* NAME, WORDS; child: SHELL_LIST; select too, and for ((...)) */
	SHELL_CASE,     /* WORDS: the subject; children: SHELL_LISTs */
	SHELL_FUNCTION, /* NAME; child: its body */
	SHELL_TEST,     /* [[ ... ]]: words between */
	SHELL_COMPUTE,  /* ((...)): one word */
	SHELL_LIST,     /* children in order; only inside the above */
};

/* How a command hangs on the one before it in its list. */
enum shell_link {
	SHELL_THEN, /* first, or behind ; or & or a line end */
	SHELL_AND,
	SHELL_OR,
};

struct shell_node {
	struct shell_node *next; /* of the same list, pipeline or compound */
	struct shell_node *children;
	enum shell_kind kind;
	enum shell_link link;
	bool background; /* the and-or list that it belongs to ends in & */
	bool negated;    /* ! */
	bool timed;      /* time */
	bool merged;     /* |&: its standard error goes to the next one, too */
	bool counting;   /* SHELL_FOR: for ((...)) */
	bool implied;    /* SHELL_FOR: without `in`, over "$@" */
	struct script_range range;
	struct script_range end; /* the `&` of BACKGROUND; empty else */
	const char *name;
	struct shell_assignment *assignments;
	struct shell_word *words;
	uint32_t words_count;
	struct shell_redirect *redirects;
};

enum shell_fault_kind {
	SHELL_FINE,
	SHELL_OPEN_QUOTE, /* a ' or " without its second */
	SHELL_OPEN_BRACE, /* ${ without } */
	SHELL_OPEN_PAREN, /* $( or ( without ) */
	SHELL_OPEN_BACKQUOTE,
	SHELL_OPEN_COMPOUND, /* if without fi, for without done, { without } */
	SHELL_OPEN_DOCUMENT, /* a here-document up to the end: bash only warns */
	SHELL_UNEXPECTED,    /* a word or sign that cannot stand there */
	SHELL_TOO_DEEP,      /* SHELL_DEPTH_MAX; the rest was not read */
};

struct shell_fault {
	enum shell_fault_kind kind;
	struct script_range range; /* of what was opened, or is unexpected */
	uint32_t end;              /* where the text ended */
};

struct shell_program {
	struct shell_node *list;  /* the first command; NULL: none */
	struct shell_fault fault; /* the first one, where bash would stop */
	size_t nodes;
};

/*
 * Reads TEXT into PROGRAM, all of it in ARENA; TEXT and what it points to must live as
 * long. 0, whatever the bytes; -ENOMEM.
 */
int shell_read(struct shell_program *program, const struct shell_text *text,
	       struct spec_arena **arena);

/* What is open, or unexpected, in words: "a single quote is not closed". */
const char *shell_fault_text(enum shell_fault_kind kind);
