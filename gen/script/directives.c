/* SPDX-License-Identifier: MIT */
/*
 * sbatch's own reading of a script's header, line by line; see directives.h. Facts are
 * those of Slurm's src/sbatch/opt.c (get_argument(), _opt_batch_script()), where one line
 * is one line whatever its quotes say, and of src/sbatch/xlate.c for #PBS and #BSUB.
 */
#include "gen/script/directives.h"

#include "gen/spec/arena.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* xlate.c gives up looking for #PBS and #BSUB behind so many lines without a #. */
#define FOREIGN_LINES_MAX 100

/* Slurm takes no more components (MAX_HET_JOB_COMPS in src/common/slurm_protocol_defs.h,
 * src/sbatch/sbatch.c). */
#define GROUPS_MAX 128

static const char bom[] = "\xef\xbb\xbf";
static const char nbsp[] = "\xc2\xa0";

struct reading {
	struct script_header *header;
	const struct script_text *source;
	const struct script_submission *submission;
	struct spec_arena **arena;
	uint16_t group;
	bool ended;         /* the first command was seen */
	unsigned int plain; /* lines without # in front, for FOREIGN_LINES_MAX */
	/* Room for a word of the longest line yet. */
	char *bytes;
	uint32_t *origins;
	size_t room;
};

/* isspace() in the C locale, which sbatch runs in as far as its header goes. */
static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t skip_blanks(const char *text, size_t at, size_t end)
{
	while (at < end && is_blank(text[at]))
		at++;
	return at;
}

static struct script_range range(size_t begin, size_t end)
{
	return (struct script_range){(uint32_t)begin, (uint32_t)end};
}

/* Bytes AT.. begin with WORD, case aside, and a blank or the end follows. */
static bool is_word(const char *text, size_t at, size_t end, const char *word)
{
	const size_t length = strlen(word);

	return end - at >= length && strncasecmp(text + at, word, length) == 0 &&
	       (at + length == end || is_blank(text[at + length]));
}

static struct script_word *add_word(struct reading *reading)
{
	struct script_header *header = reading->header;

	header->words = spec_arena_grow(reading->arena, header->words,
					header->words_count, sizeof(*header->words));
	if (!header->words)
		return NULL;
	header->words[header->words_count] = (struct script_word){0};
	return &header->words[header->words_count++];
}

/* The state of get_argument() within one word. */
struct lexer {
	const char *text;
	size_t at, end;
	char *bytes;
	uint32_t *origins;
	size_t length; /* 0: no byte yet, which get_argument() takes for no word */
	bool quoted;   /* something in the word is */
	char quote;    /* the one that is open; 0: none */
	size_t open;   /* where */
};

static void put(struct lexer *lexer)
{
	lexer->bytes[lexer->length] = lexer->text[lexer->at];
	lexer->origins[lexer->length++] = (uint32_t)lexer->at++;
}

static int make_room(struct reading *reading, size_t size)
{
	void *bytes, *origins;

	if (size <= reading->room)
		return 0;
	bytes = realloc(reading->bytes, size);
	if (bytes)
		reading->bytes = bytes;
	origins = realloc(reading->origins, size * sizeof(uint32_t));
	if (origins)
		reading->origins = origins;
	if (!bytes || !origins)
		return -ENOMEM;
	reading->room = size;
	return 0;
}

/* A word that needs neither quotes nor escapes, by far the usual case. */
static size_t plain_word(const struct lexer *lexer)
{
	size_t at = lexer->at;

	while (at < lexer->end && !is_blank(lexer->text[at])) {
		if (strchr("\\\"'#", lexer->text[at]))
			return lexer->at;
		at++;
	}
	return at;
}

/* 1: a word; 0: none is left. */
static int read_word(struct reading *reading, struct lexer *lexer)
{
	const script_slurm slurm = reading->submission->slurm;
	/* Since 24.11 (23.02 does not) a backslash keeps a blank in the word. */
	const bool keeps_blank = !slurm || slurm >= 2411;
	bool escaped = false;
	size_t plain = plain_word(lexer);

	if (plain > lexer->at) {
		lexer->bytes = spec_arena_copy(reading->arena, lexer->text + lexer->at,
					       plain - lexer->at);
		lexer->at = plain;
		return lexer->bytes ? 1 : -ENOMEM;
	}
	lexer->bytes = reading->bytes;
	lexer->origins = reading->origins;
	while (lexer->at < lexer->end) {
		const char c = lexer->text[lexer->at];

		if (!lexer->quote && is_blank(c))
			break;
		if (escaped) {
			escaped = false;
		} else if (c == '\\') {
			lexer->at++;
			lexer->quoted = true;
			escaped = true;
			if (keeps_blank && lexer->at < lexer->end &&
			    lexer->text[lexer->at] == ' ') {
				put(lexer);
				escaped = false;
			}
			continue;
		} else if (lexer->quote) {
			if (c == lexer->quote) {
				lexer->quote = 0;
				lexer->at++;
				continue;
			}
		} else if (c == '"' || c == '\'') {
			lexer->quote = c;
			lexer->open = lexer->at++;
			lexer->quoted = true;
			continue;
		} else if (c == '#') {
			break;
		}
		put(lexer);
	}
	if (lexer->length == 0)
		return 0;
	lexer->bytes = spec_arena_copy(reading->arena, reading->bytes, lexer->length);
	lexer->origins =
		spec_arena_alloc(reading->arena, lexer->length * sizeof(*lexer->origins));
	if (!lexer->bytes || !lexer->origins)
		return -ENOMEM;
	memcpy(lexer->origins, reading->origins, lexer->length * sizeof(*lexer->origins));
	return 1;
}

/*
 * The words of DIRECTIVE from AT on. What ends the line early, a # or a fault, is noted
 * in it.
 */
static int read_words(struct reading *reading, struct script_directive *directive,
		      size_t at)
{
	const char *text = reading->source->text;
	const size_t end = directive->line.end;
	const uint32_t index = (uint32_t)(directive - reading->header->directives);

	if (make_room(reading, end - at + 1) < 0)
		return -ENOMEM;
	directive->first = reading->header->words_count;
	for (;;) {
		struct lexer lexer = {.text = text, .end = end};
		struct script_word *word;
		size_t begin;
		int rc;

		at = skip_blanks(text, at, end);
		/* get_argument() wipes these out wherever a word may begin. */
		if (is_word(text, at, end, "packjob"))
			at = skip_blanks(text, at + 7, end);
		else if (is_word(text, at, end, "hetjob"))
			at = skip_blanks(text, at + 6, end);
		if (at < end && text[at] == ':') {
			directive->fault = SCRIPT_DIRECTIVE_COLON;
			directive->fault_range = range(at, at + 1);
			return 0;
		}
		begin = lexer.at = at;
		rc = read_word(reading, &lexer);
		if (rc < 0)
			return rc;
		at = lexer.at;
		if (lexer.quote) {
			directive->fault = SCRIPT_DIRECTIVE_OPEN_QUOTE;
			directive->fault_range = range(lexer.open, end);
		}
		if (rc > 0) {
			word = add_word(reading);
			if (!word)
				return -ENOMEM;
			*word = (struct script_word){
				.text = lexer.bytes,
				.range = range(begin, at),
				.origins = lexer.origins,
				.line = index,
				.quoted = lexer.quoted,
			};
			directive->count++;
		}
		if (at < end && text[at] == '#' && !lexer.quote) {
			directive->comment = range(at, end);
			directive->cut_word = rc > 0;
		}
		/* "" is no word, and the line is taken for ended there. */
		if (rc == 0 || directive->comment.end > 0 || lexer.quote)
			return 0;
	}
}

/* What word processors make of blanks and dashes. */
static void find_typography(const struct script_text *source,
			    struct script_directive *directive)
{
	const char *text = source->text;

	for (size_t at = directive->keyword.end; at < directive->line.end; at++) {
		if ((unsigned char)text[at] < 0x80)
			continue;
		if (directive->line.end - at >= 2 && memcmp(text + at, nbsp, 2) == 0 &&
		    !directive->nbsp.end)
			directive->nbsp = range(at, at + 2);
		/* U+2010 hyphen up to U+2015 bar; U+2212 minus */
		if (directive->line.end - at >= 3 && !directive->dash.end &&
		    ((memcmp(text + at, "\xe2\x80", 2) == 0 &&
		      (unsigned char)text[at + 2] >= 0x90 &&
		      (unsigned char)text[at + 2] <= 0x95) ||
		     memcmp(text + at, "\xe2\x88\x92", 3) == 0))
			directive->dash = range(at, at + 3);
	}
}

static struct script_directive *add_directive(struct reading *reading, uint32_t line,
					      struct script_range keyword)
{
	struct script_header *header = reading->header;
	struct script_directive *directive;

	header->directives =
		spec_arena_grow(reading->arena, header->directives,
				header->directives_count, sizeof(*header->directives));
	if (!header->directives)
		return NULL;
	directive = &header->directives[header->directives_count++];
	*directive = (struct script_directive){
		.number = line,
		.line = script_text_line_range(reading->source, line),
		.keyword = keyword,
		.group = reading->group,
	};
	return directive;
}

/*
 * The letters at AT, LENGTH of them, are SBATCH with one slip: two neighbours swapped, or
 * one letter left out, put in or changed.
 */
static bool is_misspelt(const char *text, size_t length)
{
	static const char right[] = "SBATCH";
	const size_t size = sizeof(right) - 1;
	size_t head = 0, tail = 0;

	while (head < length && head < size && toupper(text[head]) == right[head])
		head++;
	while (tail < length - head && tail < size - head &&
	       toupper(text[length - 1 - tail]) == right[size - 1 - tail])
		tail++;
	if (length == size && head + tail == size - 2)
		return toupper(text[head]) == right[head + 1] &&
		       toupper(text[head + 1]) == right[head];
	return (length == size && head + tail == size - 1) ||
	       (length + 1 == size && head + tail == length) ||
	       (length == size + 1 && head + tail == size);
}

/*
 * The bits of a line that looks like a directive; 0: it does not. KEYWORD gets its first
 * word, # included.
 */
static unsigned int look_alike(const char *text, struct script_range line,
			       struct script_range *keyword)
{
	const size_t first = skip_blanks(text, line.begin, line.end);
	unsigned int bits = first > line.begin ? SCRIPT_LOOKALIKE_INDENTED : 0;
	size_t at = first, hashes = 0, word, next;

	while (at < line.end && text[at] == '#') {
		at++;
		hashes++;
	}
	if (hashes == 0)
		bits |= SCRIPT_LOOKALIKE_BARE;
	if (hashes > 1)
		bits |= SCRIPT_LOOKALIKE_DOUBLED;
	word = hashes ? skip_blanks(text, at, line.end) : at;
	if (word > at)
		bits |= SCRIPT_LOOKALIKE_SPACED;
	for (at = word; at < line.end && isalpha((unsigned char)text[at]); at++)
		;
	if (at - word < 5 || at - word > 7)
		return 0;
	*keyword = range(first, at);
	if (at - word == 6 && strncasecmp(text + word, "SBATCH", 6) == 0)
		bits |= strncmp(text + word, "SBATCH", 6) == 0 ? 0
							       : SCRIPT_LOOKALIKE_CASE;
	else if (is_misspelt(text + word, at - word))
		bits |= SCRIPT_LOOKALIKE_SPELT;
	else
		return 0;
	/* Prose speaks of sbatch, too; what is meant as a directive has an option. In
	 * "sbatch --test-only x" it is a command. */
	next = skip_blanks(text, at, line.end);
	if (next == line.end || text[next] != '-' ||
	    (next == at && !(bits & ~(unsigned int)SCRIPT_LOOKALIKE_INDENTED)))
		return 0;
	if (bits & SCRIPT_LOOKALIKE_BARE && bits & SCRIPT_LOOKALIKE_CASE)
		return 0;
	return bits;
}

static int read_directive(struct reading *reading, uint32_t number, size_t keyword,
			  bool slurm)
{
	const char *text = reading->source->text;
	const struct script_range line = script_text_line_range(reading->source, number);
	const size_t at = skip_blanks(text, line.begin + keyword, line.end);
	struct script_directive *directive =
		add_directive(reading, number, range(line.begin, line.begin + keyword));

	if (!directive)
		return -ENOMEM;
	directive->slurm = slurm;
	if (reading->ended) {
		directive->kind = SCRIPT_DIRECTIVE_LATE;
	} else if (is_word(text, at, line.end, "hetjob") ||
		   is_word(text, at, line.end, "packjob")) {
		directive->kind = SCRIPT_DIRECTIVE_HETJOB;
		directive->packjob = toupper(text[at]) == 'P';
		if (reading->group + 1 < GROUPS_MAX)
			reading->group++;
		directive->group = reading->group;
	}
	find_typography(reading->source, directive);
	return read_words(reading, directive, line.begin + keyword);
}

static int read_foreign(struct reading *reading, uint32_t number,
			enum script_directive_kind kind, size_t keyword)
{
	const struct script_range line = script_text_line_range(reading->source, number);
	struct script_directive *directive =
		add_directive(reading, number, range(line.begin, line.begin + keyword));

	if (!directive)
		return -ENOMEM;
	directive->kind = kind;
	directive->group = 0;
	return read_words(reading, directive, line.begin + keyword);
}

static bool begins(const char *text, struct script_range line, const char *word)
{
	const size_t length = strlen(word);

	return line.end - line.begin >= length &&
	       memcmp(text + line.begin, word, length) == 0;
}

static int read_line(struct reading *reading, uint32_t number)
{
	const char *text = reading->source->text;
	const struct script_range line = script_text_line_range(reading->source, number);
	struct script_range keyword;
	unsigned int bits;
	size_t first;
	const bool hash = line.begin < line.end && text[line.begin] == '#';
	const bool foreign = reading->plain <= FOREIGN_LINES_MAX;

	if (hash && begins(text, line, "#SBATCH"))
		return read_directive(reading, number, 7, false);
	if (hash && begins(text, line, "#SLURM") && !reading->ended)
		return read_directive(reading, number, 6, true);
	if (hash && foreign && begins(text, line, "#PBS"))
		return read_foreign(reading, number, SCRIPT_DIRECTIVE_PBS, 4);
	if (hash && foreign && begins(text, line, "#BSUB"))
		return read_foreign(reading, number, SCRIPT_DIRECTIVE_BSUB, 5);
	reading->plain += !hash;
	first = skip_blanks(text, line.begin, line.end);
	if (first == line.end)
		return 0;
	if (text[first] != '#' && !reading->ended) {
		reading->ended = true;
		reading->header->command = range(first, line.end);
	}
	if (!strchr("#Ss", text[first]))
		return 0;
	bits = look_alike(text, line, &keyword);
	if (bits) {
		struct script_directive *directive =
			add_directive(reading, number, keyword);

		if (!directive)
			return -ENOMEM;
		directive->lookalike = bits;
		directive->kind = SCRIPT_DIRECTIVE_LOOKALIKE;
		return read_words(reading, directive, keyword.end);
	}
	return 0;
}

/* ---- options ---- */

static int add_uses(struct reading *reading, const struct script_use *uses, size_t count)
{
	struct script_header *header = reading->header;

	for (size_t i = 0; i < count; i++) {
		header->uses = spec_arena_grow(reading->arena, header->uses,
					       header->uses_count, sizeof(*uses));
		if (!header->uses)
			return -ENOMEM;
		header->uses[header->uses_count++] = uses[i];
	}
	return 0;
}

/*
 * The options of WORDS, which belong together for getopt_long(); ORIGIN, GROUP and LOST
 * go to each.
 */
static int read_uses(struct reading *reading, const struct script_word *words,
		     size_t count, enum script_use_origin origin, uint16_t group,
		     bool lost)
{
	const bool operands = origin == SCRIPT_USE_COMMAND_LINE;
	struct script_use *uses;
	size_t uses_count;
	int rc;

	rc = script_uses_read(SCRIPT_SBATCH, reading->submission->slurm, operands, words,
			      count, reading->arena, &uses, &uses_count, NULL);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < uses_count; i++) {
		uses[i].origin = origin;
		uses[i].group = group;
		uses[i].lost = lost;
	}
	return add_uses(reading, uses, uses_count);
}

/* All words that sbatch reads for GROUP, in one row, as its argv is. */
static int read_group(struct reading *reading, uint16_t group)
{
	const struct script_header *header = reading->header;
	struct script_word *words = malloc((header->words_count + 1) * sizeof(*words));
	size_t count = 0;
	int rc;

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < header->directives_count; i++) {
		const struct script_directive *directive = &header->directives[i];

		if (directive->group != group || directive->count == 0 ||
		    (directive->kind != SCRIPT_DIRECTIVE_READ &&
		     directive->kind != SCRIPT_DIRECTIVE_HETJOB))
			continue;
		memcpy(words + count, header->words + directive->first,
		       directive->count * sizeof(*words));
		count += directive->count;
	}
	rc = read_uses(reading, words, count, SCRIPT_USE_DIRECTIVE, group, false);
	free(words);
	return rc;
}

static const struct script_option *find_option(const char *name)
{
	for (size_t i = 0; i < script_options_count; i++) {
		if (strcmp(script_options[i].name, name) == 0)
			return &script_options[i];
	}
	return NULL;
}

/* What sbatch makes of the letters of qsub and bsub; without a name it skips them. */
struct foreign {
	char letter;
	bool value;
	const char *name;
};

static const struct foreign pbs[] = {
	{'a', true, "begin"},    {'A', true, "account"},
	{'c', true, NULL},       {'C', true, NULL},
	{'d', true, "chdir"},    {'e', true, "error"},
	{'h', false, "hold"},    {'I', false, NULL},
	{'j', true, NULL},       {'J', true, "array"},
	{'k', true, NULL},       {'l', true, NULL},
	{'m', true, NULL},       {'M', true, "mail-user"},
	{'N', true, "job-name"}, {'o', true, "output"},
	{'p', true, "nice"},     {'q', true, "partition"},
	{'r', true, NULL},       {'S', true, NULL},
	{'t', true, "array"},    {'u', true, NULL},
	{'v', true, NULL},       {'V', false, NULL},
	{'W', true, NULL},       {'w', true, "chdir"},
	{'z', false, NULL},      {0},
};

static const struct foreign bsub[] = {
	{'c', true, "chdir"},
	{'e', true, "error"},
	{'J', true, "job-name"},
	{'m', true, "nodelist"},
	{'M', true, "mem-per-cpu"},
	{'n', true, "ntasks"},
	{'o', true, "output"},
	{'q', true, "partition"},
	{'W', true, "time"},
	{'x', false, "exclusive"},
	{0},
};

static const struct {
	const char *key;
	const char *name;
} pbs_resources[] = {
	{"walltime", "time"},
	{"cput", "time"},
	{"pcput", "time"},
	{"mem", "mem"},
	{"select", "nodes"},
	{"ncpus", "mincpus"},
	{"mpiprocs", "ntasks-per-node"},
	{"nice", "nice"},
};

static int add_foreign(struct reading *reading, const struct script_word *word,
		       const char *name, const char *value)
{
	const struct script_use use = {
		.option = find_option(name),
		.name = name,
		.value = value,
		.origin = SCRIPT_USE_FOREIGN,
		.range = word->range,
		.name_range = word->range,
		.value_range = word->range,
		.line = word->line,
		.separate = true,
	};

	return add_uses(reading, &use, 1);
}

/* nodes=2:ppn=4:gpus=1, as _parse_pbs_nodes_opts() has it: tasks are nodes times ppn. */
static int read_pbs_nodes(struct reading *reading, const struct script_word *word,
			  char *text)
{
	long nodes = 0, tasks = 0;
	char *save = NULL;
	int rc = 0;

	for (char *part = strtok_r(text, ":+", &save); part && rc == 0;
	     part = strtok_r(NULL, ":+", &save)) {
		if (strncmp(part, "ppn=", 4) == 0)
			tasks += strtol(part + 4, NULL, 10);
		else if (strncmp(part, "gpus=", 5) == 0)
			rc = add_foreign(reading, word, "gpus-per-node", part + 5);
		else if (isdigit((unsigned char)part[0]))
			nodes += strtol(part, NULL, 10);
	}
	if (rc == 0 && nodes > 0 && nodes < INT32_MAX)
		rc = add_foreign(reading, word, "nodes",
				 spec_arena_format(reading->arena, "%ld", nodes));
	nodes = nodes ? nodes : 1;
	if (rc == 0 && tasks > 0 && nodes < INT16_MAX && tasks < INT16_MAX)
		rc = add_foreign(reading, word, "ntasks",
				 spec_arena_format(reading->arena, "%ld", tasks * nodes));
	return rc;
}

/* -l of qsub: nodes=2:ppn=4,walltime=1:00:00, or select=2:ncpus=8:mpiprocs=4. */
static int read_pbs_resources(struct reading *reading, const struct script_word *word,
			      const char *list)
{
	char *text = spec_arena_copy(reading->arena, list, strlen(list)), *save = NULL;
	int rc = 0;

	for (char *part = text ? strtok_r(text, ",", &save) : NULL; part && rc == 0;
	     part = strtok_r(NULL, ",", &save)) {
		char *inner = NULL;

		if (strncmp(part, "nodes=", 6) == 0) {
			rc = read_pbs_nodes(reading, word, part + 6);
			continue;
		}
		/* A time has colons of its own. */
		if (strncmp(part, "select=", 7) != 0) {
			inner = part + strlen(part);
		}
		while (part && rc == 0) {
			const size_t length = strcspn(part, "=");
			char *rest = inner ? NULL : strchr(part, ':');

			if (rest)
				*rest++ = '\0';
			for (size_t i = 0;
			     i < sizeof(pbs_resources) / sizeof(*pbs_resources) &&
			     part[length] && rc == 0;
			     i++) {
				if (strlen(pbs_resources[i].key) == length &&
				    strncmp(pbs_resources[i].key, part, length) == 0)
					rc = add_foreign(reading, word,
							 pbs_resources[i].name,
							 part + length + 1);
			}
			part = rest;
		}
	}
	return text ? rc : -ENOMEM;
}

static const struct foreign *find_foreign(const struct foreign *table, char letter)
{
	while (table->letter && table->letter != letter)
		table++;
	return table->letter ? table : NULL;
}

/* The words of one foreign line; getopt() stops at the first that is no option. */
static int read_foreign_uses(struct reading *reading,
			     const struct script_directive *directive)
{
	const bool is_pbs = directive->kind == SCRIPT_DIRECTIVE_PBS;
	const struct script_word *words = &reading->header->words[directive->first];
	int rc = 0;

	for (size_t i = 0; i < directive->count && rc == 0; i++) {
		const struct script_word *word = &words[i];
		const struct foreign *row;
		const char *value = NULL;

		if (word->text[0] != '-' || !word->text[1] || word->text[1] == '-')
			continue;
		row = find_foreign(is_pbs ? pbs : bsub, word->text[1]);
		if (!row) {
			const struct script_use use = {
				.name = word->text + 1,
				.fault = SCRIPT_USE_UNKNOWN,
				.origin = SCRIPT_USE_FOREIGN,
				.range = word->range,
				.name_range = word->range,
				.line = word->line,
				.letter = true,
			};

			rc = add_uses(reading, &use, 1);
			continue;
		}
		if (row->value && word->text[2])
			value = word->text + 2;
		else if (row->value && i + 1 < directive->count)
			value = words[++i].text;
		if (is_pbs && row->letter == 'l' && value)
			rc = read_pbs_resources(reading, word, value);
		else if (is_pbs && row->letter == 'W' && value &&
			 strncmp(value, "depend=", 7) == 0)
			rc = add_foreign(reading, word, "dependency", value + 7);
		else if (row->name)
			rc = add_foreign(reading, word, row->name, value);
	}
	return rc;
}

static int read_environment(struct reading *reading, const char *entry)
{
	const size_t length = strcspn(entry, "=");
	const struct script_option *found = NULL;

	if (strncmp(entry, "SBATCH_", 7) != 0 || !entry[length])
		return 0;
	/* The row of --mem names what `srank submit` must mind, too: the own row of
	 * --mem-per-cpu comes later. */
	for (size_t i = 0; i < script_options_count; i++) {
		const char *list = script_options[i].variables;

		if (list && strncmp(list, entry, length) == 0 &&
		    (!list[length] || list[length] == ' '))
			found = &script_options[i];
	}
	if (!found)
		return 0;
	return add_uses(reading,
			&(struct script_use){
				.option = found,
				.name = found->name,
				.value = entry + length + 1,
				.origin = SCRIPT_USE_ENVIRONMENT,
			},
			1);
}

static int read_submission(struct reading *reading)
{
	const struct script_submission *submission = reading->submission;
	struct script_word *words;
	int rc = 0;

	for (size_t i = 0; i < submission->environment_count && rc == 0; i++)
		rc = read_environment(reading, submission->environment[i]);
	if (rc < 0 || submission->arguments_count == 0)
		return rc;
	words = spec_arena_alloc(reading->arena,
				 submission->arguments_count * sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < submission->arguments_count; i++)
		words[i].text = submission->arguments[i];
	return read_uses(reading, words, submission->arguments_count,
			 SCRIPT_USE_COMMAND_LINE, 0, false);
}

static int read_options(struct reading *reading)
{
	struct script_header *header = reading->header;
	int rc = 0;

	for (unsigned int group = 0; group < header->groups && rc == 0; group++)
		rc = read_group(reading, (uint16_t)group);
	for (size_t i = 0; i < header->directives_count && rc == 0; i++) {
		const struct script_directive *directive = &header->directives[i];

		if (directive->count > 0 &&
		    (directive->kind == SCRIPT_DIRECTIVE_LATE ||
		     directive->kind == SCRIPT_DIRECTIVE_LOOKALIKE))
			rc = read_uses(reading, header->words + directive->first,
				       directive->count, SCRIPT_USE_DIRECTIVE,
				       directive->group, true);
	}
	if (rc == 0)
		rc = read_submission(reading);
	header->ignore_pbs = script_header_find(header, 0, "ignore-pbs") != NULL;
	for (size_t i = 0; i < header->directives_count && rc == 0; i++) {
		const struct script_directive *directive = &header->directives[i];

		if (directive->count > 0 &&
		    ((directive->kind == SCRIPT_DIRECTIVE_PBS && !header->ignore_pbs) ||
		     directive->kind == SCRIPT_DIRECTIVE_BSUB))
			rc = read_foreign_uses(reading, directive);
	}
	return rc;
}

/* ---- the file as a whole ---- */

static void look_at_bytes(struct script_header *header, const struct script_text *source)
{
	const char *text = source->text, *at = text;
	const size_t length = source->length;

	header->empty = length == 0;
	header->bom = length >= 3 && memcmp(text, bom, 3) == 0;
	if (length >= 2 && text[0] == '#' && text[1] == '!')
		header->shebang = script_text_line_range(source, 1);
	else
		header->no_shebang = script_text_line_range(source, 1);
	while ((at = memchr(at, '\r', length - (size_t)(at - text)))) {
		at++;
		if (at == text + length || *at != '\n')
			continue;
		if (header->dos_lines++ == 0)
			header->dos =
				range((size_t)(at - text) - 1, (size_t)(at - text) + 1);
	}
	at = memchr(text, '\0', length);
	if (at)
		header->nul = range((size_t)(at - text), (size_t)(at - text) + 1);
}

int script_header_read(struct script_header *header, const struct script_text *source,
		       const struct script_submission *submission,
		       struct spec_arena **arena)
{
	struct reading reading = {
		.header = header,
		.source = source,
		.submission = submission,
		.arena = arena,
	};
	int rc = 0;

	*header = (struct script_header){0};
	look_at_bytes(header, source);
	for (size_t line = 1; line <= source->lines_count && rc == 0; line++)
		rc = read_line(&reading, (uint32_t)line);
	header->groups = (uint16_t)(reading.group + 1);
	if (rc == 0)
		rc = read_options(&reading);
	free(reading.bytes);
	free(reading.origins);
	return rc;
}

static bool is_named(const struct script_use *use, const char *name)
{
	const char *own = use->option->name;

	if (strcmp(own, name) == 0)
		return true;
	return strcmp(name, "ntasks-per-node") == 0 && strcmp(own, "tasks-per-node") == 0;
}

const struct script_use *script_header_find(const struct script_header *header,
					    uint16_t group, const char *name)
{
	const struct script_use *found = NULL;

	for (size_t i = 0; i < header->uses_count; i++) {
		const struct script_use *use = &header->uses[i];

		if (use->group == group && !use->lost && use->option &&
		    use->fault == SCRIPT_USE_FINE && is_named(use, name) &&
		    (!found || use->origin >= found->origin))
			found = use;
	}
	return found;
}
