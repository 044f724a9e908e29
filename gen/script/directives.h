/* SPDX-License-Identifier: MIT */
/*
 * The header of an existing script, as sbatch reads it: _opt_batch_script() and
 * get_argument() in Slurm's src/sbatch/opt.c for #SBATCH, src/sbatch/xlate.c for the
 * #PBS and #BSUB that it reads as well. Lines that look like directives and are none, or
 * come too late, are kept too, marked, so that a rule can say what was lost.
 */
#pragma once

#include "gen/script/uses.h"
#include "gen/script/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum script_directive_kind {
	SCRIPT_DIRECTIVE_READ,      /* #SBATCH, and #SLURM, which sbatch complains of */
	SCRIPT_DIRECTIVE_HETJOB,    /* the line between two components */
	SCRIPT_DIRECTIVE_PBS,       /* read, wherever it stands */
	SCRIPT_DIRECTIVE_BSUB,      /* likewise */
	SCRIPT_DIRECTIVE_LATE,      /* behind the first command: a comment for sbatch */
	SCRIPT_DIRECTIVE_LOOKALIKE, /* meant as one, and a comment for sbatch */
	/* Late, but in a string or a here-document, so another script's; the reader of
	 * the shell says so (check_model_make()). */
	SCRIPT_DIRECTIVE_QUOTED,
};

/* What makes a look-alike one; the bits of one line. */
enum script_lookalike {
	SCRIPT_LOOKALIKE_INDENTED = 1, /* blanks in front of the # */
	SCRIPT_LOOKALIKE_SPACED = 2,   /* # SBATCH */
	SCRIPT_LOOKALIKE_CASE = 4,     /* #sbatch */
	SCRIPT_LOOKALIKE_DOUBLED = 8,  /* ##SBATCH: most often switched off on purpose */
	SCRIPT_LOOKALIKE_SPELT = 16,   /* #SABTCH, #SBATHC, #SBACTH */
	SCRIPT_LOOKALIKE_BARE = 32,    /* SBATCH --nodes=2: a command, and no comment */
};

enum script_directive_fault {
	SCRIPT_DIRECTIVE_FINE,
	SCRIPT_DIRECTIVE_OPEN_QUOTE, /* fatal: Unmatched `"` */
	SCRIPT_DIRECTIVE_COLON,      /* fatal: Unexpected `:` */
};

struct script_directive {
	enum script_directive_kind kind;
	unsigned int lookalike; /* LOOKALIKE, LATE: bits of enum script_lookalike */
	enum script_directive_fault fault;
	struct script_range fault_range;
	struct script_range line;    /* whole, without the line end */
	struct script_range keyword; /* "#SBATCH" as it is spelt */
	struct script_range comment; /* from the # that cuts the line; empty: none */
	bool cut_word;               /* that # stands inside a word: a#b */
	bool packjob;                /* HETJOB, by its old name */
	bool slurm;                  /* READ, written #SLURM */
	struct script_range nbsp;    /* the first no-break space; empty: none */
	struct script_range dash;    /* the first en or em dash; empty: none */
	uint32_t number;             /* of the line, from 1 */
	uint16_t group;
	size_t first, count; /* its words in header->words */
};

struct script_header {
	struct script_directive *directives; /* in the order of the file */
	size_t directives_count;
	struct script_word *words; /* of all directives, whatever their kind */
	size_t words_count;
	struct script_use *uses; /* of all; by kind, then in the order of the file */
	size_t uses_count;
	uint16_t groups; /* components: 1 for a usual job */

	bool empty;                     /* sbatch: "Batch script is empty!" */
	struct script_range no_shebang; /* what stands in its place; empty: fine */
	bool bom;                       /* a byte order mark is what hides it */
	struct script_range dos;        /* the first \r\n; empty: none */
	uint32_t dos_lines;             /* lines that end so */
	struct script_range nul;        /* the first NUL byte; empty: none */
	struct script_range shebang;    /* first line from `#!` */
	struct script_range command;    /* first line that is no comment, which ends the
					   header; empty: the file ends with it */
	bool ignore_pbs;                /* --ignore-pbs: #PBS is not read */
};

/* What a submission may say besides the script, for script_header_read(). */
struct script_submission {
	script_slurm slurm;
	const char *const *arguments; /* words between sbatch and the script */
	size_t arguments_count;
	const char *const *environment; /* "SBATCH_QOS=long"; other names are skipped */
	size_t environment_count;
};

/*
 * Reads the header of SOURCE into HEADER, whose texts are in ARENA. Total: any bytes make
 * a header. Cost is linear in the text. What SUBMISSION says is read behind it, and is
 * in the uses with its origin, ranges empty. 0; -ENOMEM.
 */
int script_header_read(struct script_header *header, const struct script_text *source,
		       const struct script_submission *submission,
		       struct spec_arena **arena);

/*
 * The use of option NAME (long name, without dashes) that counts in component GROUP: the
 * last of the strongest origin, lines that are not read and faulty uses apart. NULL:
 * none. --tasks-per-node is --ntasks-per-node.
 */
const struct script_use *script_header_find(const struct script_header *header,
					    uint16_t group, const char *name);
