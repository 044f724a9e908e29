/* SPDX-License-Identifier: MIT */
/*
 * Values made safe for their place in a script: an #SBATCH line, or a shell word.
 * Whatever a spec says arrives byte for byte, and none of it is ever executed.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/*
 * True when TEXT can stand in an #SBATCH line: sbatch reads a directive as one line
 * (get_argument() in Slurm's src/sbatch/opt.c), so no quoting carries a line end over.
 */
bool script_quote_directive_ok(const char *text);

/*
 * Writes TEXT as the value of an #SBATCH option: bare when sbatch's lexer takes every
 * character literally, else in double quotes. -EINVAL when script_quote_directive_ok() is
 * false; nothing is written then.
 */
int script_quote_directive(FILE *out, const char *text);

/*
 * Writes TEXT as one shell word, an argument or the value of an assignment (as the first
 * word of a command `A=b` would assign). Empty text, blanks, line ends, quotes, `$`,
 * backquotes, `#`, `~` and any other byte stay what they are; control characters but line
 * ends and tabs are written as escapes, so that no CR makes the line a DOS one, which
 * sbatch refuses. A leading dash is the program's own matter: quoting does not hide it.
 */
void script_quote_word(FILE *out, const char *text);

/* The same without line ends and tabs, for a command that stands in a comment. */
void script_quote_line(FILE *out, const char *text);
