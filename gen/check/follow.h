/* SPDX-License-Identifier: MIT */
/* The parts of check_model_make(), each in a file of its own. */
#pragma once

#include "gen/check/model.h"

/* Shells within shells whose text is read: bash -c "bash -c '...'". */
#define CHECK_LEVEL_MAX 8

/* All that is put in for variables together, with what is kept of each copy: a script
 * that needs more is made to. */
#define CHECK_COPIED_MAX (8u << 20)

/* What a variable is at one moment. */
struct check_binding {
	const struct check_assignment *assignment; /* NULL: never set by the script */
	bool set;      /* VALUE, or ITEMS, is what it holds, expansions and all */
	bool exported; /* other programs see it */
	bool array;
	uint32_t process; /* the one that set it: $( ) and ( ) are their parent's */
	struct check_value value;
	const struct check_value *items; /* array: its elements */
	size_t items_count;
	struct check_number number; /* when not SET: what is known all the same */
};

struct check_name {
	struct check_name *next; /* of the same hash */
	char *name;
	struct check_binding now;
	struct check_assignment *last;          /* in the order of the script */
	const struct shell_node *function;      /* its body, as a function */
	const struct check_shell *function_of;  /* the shell that defines it */
	const struct shell_text *function_text; /* what it is a part of */
	const struct check_value *function_origin;
	struct check_name *next_function;
	bool function_listed, function_called, function_active;
};

/* What to put back when a subshell ends. */
struct check_undo {
	struct check_name *name;
	struct check_binding before;
};

/* A file that the script writes, and may run later. */
struct check_file {
	struct check_file *next;
	const char *path;
	const struct check_value *content;
};

#define CHECK_NAMES_HASH 4096

struct check_follow {
	struct check_model *model;
	struct spec_arena **arena;
	struct check_name **names;                     /* CHECK_NAMES_HASH of them */
	struct check_name *functions, **functions_end; /* in the order of the script */
	struct check_name *known[CHECK_VARIABLES];
	struct check_undo *undo; /* not in the arena: it shrinks */
	size_t undo_count, undo_room;
	struct check_file *files;
	uint32_t process, processes; /* the current one; all so far */
	uint32_t isolation;          /* variables of processes below it are not seen */
	size_t budget;               /* commands that may still be followed */
	size_t copied;               /* bytes that were put in for variables */
	unsigned int depth;          /* of functions */

	/* The circumstances of the command that is followed. */
	struct check_shell *shell;
	const struct shell_text *text;    /* that the shell reads */
	const struct check_value *origin; /* the value that became it; NULL: the script */
	const struct shell_node *node;
	const struct check_command *parent; /* of the next command; NULL */
	const struct check_value *document; /* here-document of the node; NULL */
	const struct check_step *step;
	enum check_where where;
	bool background, conditional, substitute, function, uncalled, trapped;
	bool pipefail, errexit, nounset, allexport, sourced;
	bool program; /* the next command is what a launcher of Python's starts */
	uint8_t loops;
	struct check_number rounds;
	uint16_t stage, stages;
	/* "$@" of a function or of `bash -c TEXT NAME ARGS`. */
	const struct check_value *arguments;
	size_t arguments_count;
	bool arguments_known;
	int rc;
};

/* Zeroed memory of the model; NULL, and follow->rc set, without. */
void *check_alloc(struct check_follow *follow, size_t size);
char *check_copy(struct check_follow *follow, const char *text, size_t length);

/* ---- follow.c: commands in order ---- */

/* Fills the model's commands, shells, steps, launches and assignments. 0; -ENOMEM. */
int check_follow(struct check_model *model);

/* All commands of the list that begins with NODE, in the current circumstances. */
void check_follow_list(struct check_follow *follow, const struct shell_node *node);

/* The commands of a substitution; their indices in *FIRST and *LAST. */
void check_follow_substitution(struct check_follow *follow,
			       const struct shell_piece *piece, size_t *first,
			       size_t *last);

/* TEXT as the commands of a shell of its own that COMMAND starts. */
void check_follow_text(struct check_follow *follow, const struct check_value *text,
		       enum check_shell_kind kind, const struct check_command *command,
		       const struct check_value *arguments, size_t arguments_count);

/* WORDS as a command in the current circumstances, with all that it starts. */
struct check_command *check_follow_words(struct check_follow *follow,
					 const struct check_value *words, size_t count);

struct check_name *check_name_find(struct check_follow *follow, const char *name,
				   size_t length);

/* NAME gets VALUE; the assignment is noted. RANGE is of all of it. */
struct check_assignment *check_bind(struct check_follow *follow, const char *name,
				    const struct check_value *value, bool opaque,
				    enum check_export export, struct script_range range,
				    struct script_range name_range);

size_t check_undo_mark(const struct check_follow *follow);
void check_undo_to(struct check_follow *follow, size_t mark);

/* The binding that the current shell sees; NULL: not set, or not exported to it. */
const struct check_binding *check_visible(const struct check_follow *follow,
					  const struct check_name *name);

/* ---- value.c: words -> values ---- */

/* WORD as one value, nothing split. */
struct check_value check_evaluate(struct check_follow *follow,
				  const struct shell_word *word);

/*
 * WORD and those linked behind it as the arguments they make, appended to *VALUES,
 * *COUNT.
 */
void check_evaluate_words(struct check_follow *follow, const struct shell_word *word,
			  struct check_value **values, size_t *count);

/* LENGTH bytes of VALUE from AT on. */
struct check_value check_value_part(struct check_follow *follow,
				    const struct check_value *value, size_t at,
				    size_t length);

/* VALUES as one, with BETWEEN between them; '\0': nothing. */
struct check_value check_value_join(struct check_follow *follow,
				    const struct check_value *values, size_t count,
				    char between);

/* Text that stands nowhere in the script, or at RANGE. */
struct check_value check_value_text(struct check_follow *follow, const char *text,
				    struct script_range range);

/* Arithmetic (bash.1, ARITHMETIC EVALUATION) over EXPRESSION. */
struct check_number check_arithmetic(struct check_follow *follow,
				     const struct check_value *expression, bool *octal);

/* ---- tools.c: what a command is and what it starts ---- */

/* Finds out what COMMAND is, and follows what it starts. */
void check_tool_follow(struct check_follow *follow, struct check_command *command);

/* WORD is nothing but a variable named as if for options, $SRUN_ARGS: any, or none. */
bool check_is_options(const struct check_value *word);

/* ---- layout.c: numbers of the job and its steps ---- */

int check_layout_job(struct check_model *model);
void check_layout_step(struct check_follow *follow, struct check_step *step);

/* ---- launch.c ---- */

/* COMMAND, whose tool and operand are known, as a launch; NULL: it is none. */
struct check_launch *check_launch_make(struct check_follow *follow,
				       struct check_command *command);
