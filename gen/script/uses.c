/* SPDX-License-Identifier: MIT */
/* getopt_long() over words with places; see uses.h. */
#include "gen/script/uses.h"

#include "spank/launch/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What reading works with. */
struct reading {
	enum script_command command;
	script_slurm slurm;
	const struct script_word *words;
	size_t count, at; /* AT: the word being read */
	struct spec_arena **arena;
	struct script_use *uses;
	size_t uses_count;
};

script_slurm script_slurm_parse(const char *text)
{
	unsigned int major = 0, minor = 0;
	size_t digits = strspn(text, "0123456789");

	if (digits != 2 || text[2] != '.' || strspn(text + 3, "0123456789") < 2)
		return 0;
	major = (unsigned int)(text[0] - '0') * 10 + (unsigned int)(text[1] - '0');
	minor = (unsigned int)(text[3] - '0') * 10 + (unsigned int)(text[4] - '0');
	if (text[5] && text[5] != '.' && text[5] != '-')
		return 0;
	return (script_slurm)(major * 100 + minor);
}

/* Bytes BEGIN up to END of the text of WORD, in the script. */
static struct script_range range_of(const struct script_word *word, size_t begin,
				    size_t end)
{
	const size_t length = strlen(word->text);
	struct script_range range = word->range;

	/* Said by the environment or a command line: nowhere in the script. */
	if (range.begin == range.end)
		return range;
	if (begin > 0)
		range.begin = word->origins && begin < length
				      ? word->origins[begin]
				      : word->range.begin + (uint32_t)begin;
	if (end < length)
		range.end = word->origins ? word->origins[end - 1] + 1
					  : word->range.begin + (uint32_t)end;
	/* A quote in front of the value belongs to it, as the one behind does. */
	if (begin > 0 && begin < length && word->origins)
		range.begin = word->origins[begin - 1] + 1;
	if (range.begin > range.end)
		range.begin = range.end;
	return range;
}

static struct script_use *add(struct reading *reading)
{
	const struct script_word *word = &reading->words[reading->at];
	struct script_use *use;

	reading->uses = spec_arena_grow(reading->arena, reading->uses,
					reading->uses_count, sizeof(*reading->uses));
	if (!reading->uses)
		return NULL;
	use = &reading->uses[reading->uses_count++];
	*use = (struct script_use){
		.word = reading->at,
		.line = word->line,
		.range = word->range,
		.name_range = word->range,
		.value_range = {word->range.end, word->range.end},
	};
	return use;
}

/* Of the names that may stand here the one that NAME was probably meant to be. */
static const struct script_option *find_nearest(const struct reading *reading,
						const char *name)
{
	const char *names[256] = {0};
	size_t count = 0;
	const char *nearest;

	for (size_t i = 0; i < script_options_count && count < 256; i++) {
		if (script_option_of(&script_options[i], reading->command,
				     reading->slurm) &&
		    !script_options[i].plugin)
			names[count++] = script_options[i].name;
	}
	nearest = launch_nearest(name, names, count, sizeof(*names));
	for (size_t i = 0; nearest && i < script_options_count; i++) {
		if (strcmp(script_options[i].name, nearest) == 0 &&
		    script_option_of(&script_options[i], reading->command,
				     reading->slurm))
			return &script_options[i];
	}
	return NULL;
}

/*
 * The row for NAME as getopt_long() finds it: the whole name, else the only one that
 * begins so. FAULT says why there is none.
 */
static const struct script_option *find_long(const struct reading *reading,
					     const char *name, bool *abbreviated,
					     enum script_use_fault *fault)
{
	const struct script_option *prefix = NULL, *elsewhere = NULL;
	const size_t length = strlen(name);
	bool ambiguous = false, other_version = false;

	for (size_t i = 0; i < script_options_count; i++) {
		const struct script_option *row = &script_options[i];

		/* What only some clusters have is not guessed at. */
		if (strncmp(row->name, name, length) != 0 ||
		    (row->plugin && row->name[length]))
			continue;
		if (script_option_of(row, reading->command, reading->slurm)) {
			if (!row->name[length])
				return row;
			ambiguous |= prefix != NULL;
			prefix = row;
		} else if (!row->name[length]) {
			other_version |= script_option_of(row, reading->command, 0);
			elsewhere = row;
		}
	}
	*abbreviated = prefix && !ambiguous && length > 0;
	if (*abbreviated)
		return prefix;
	*fault = other_version ? SCRIPT_USE_OTHER_VERSION
		 : elsewhere   ? SCRIPT_USE_OTHER_COMMAND
		 : ambiguous   ? SCRIPT_USE_AMBIGUOUS
			       : SCRIPT_USE_UNKNOWN;
	return *fault == SCRIPT_USE_UNKNOWN || *fault == SCRIPT_USE_AMBIGUOUS ? NULL
									      : elsewhere;
}

static const struct script_option *find_letter(const struct reading *reading, char letter,
					       enum script_use_fault *fault)
{
	const struct script_option *elsewhere = NULL;

	for (size_t i = 0; i < script_options_count; i++) {
		const struct script_option *row = &script_options[i];

		if (row->letter != letter)
			continue;
		if (script_option_of(row, reading->command, reading->slurm))
			return row;
		elsewhere = row;
	}
	*fault = elsewhere ? SCRIPT_USE_OTHER_COMMAND : SCRIPT_USE_UNKNOWN;
	return elsewhere;
}

/* The next word, whatever it is, is the value: getopt_long() does not look at it. */
static void take_next(struct reading *reading, struct script_use *use)
{
	const struct script_word *word;

	if (reading->at + 1 >= reading->count) {
		if (use->fault == SCRIPT_USE_FINE)
			use->fault = SCRIPT_USE_NO_VALUE;
		return;
	}
	word = &reading->words[++reading->at];
	use->value = word->text;
	use->value_range = word->range;
	use->separate = true;
	use->ate = word->line != use->line;
	/* Of what a variable put in the value may stand anywhere. */
	if (!use->ate && word->range.begin >= use->range.end)
		use->range.end = word->range.end;
}

/* Slurm has given up at this word; still tell its value from words of other options. */
static void take_next_of_unknown(struct reading *reading, struct script_use *use)
{
	static const char *const programs[] = {"bash",    "sh",        "env",
					       "python",  "python3",   "torchrun",
					       "numactl", "apptainer", "singularity"};
	const struct script_word *word = &reading->words[reading->at];

	if (reading->at + 1 >= reading->count || word[1].line != word->line ||
	    word[1].text[0] == '-')
		return;
	/* A switch of a plugin that is not known here, in front of srun's program. */
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		if (strcmp(word[1].text, programs[i]) == 0)
			return;
	}
	take_next(reading, use);
}

static int read_long(struct reading *reading)
{
	const struct script_word *word = &reading->words[reading->at];
	const char *text = word->text + 2;
	const size_t length = strcspn(text, "=");
	const bool with_value = text[length] == '=';
	const struct script_option *row;
	struct script_use *use = add(reading);

	if (!use)
		return -ENOMEM;
	use->name = spec_arena_copy(reading->arena, text, length);
	if (!use->name)
		return -ENOMEM;
	use->name_range = range_of(word, 0, length + 2);
	if (with_value) {
		use->value = text + length + 1;
		use->value_range = range_of(word, length + 3, strlen(word->text));
	}
	row = find_long(reading, use->name, &use->abbreviated, &use->fault);
	use->option = use->fault == SCRIPT_USE_FINE ? row : NULL;
	if (use->fault != SCRIPT_USE_FINE)
		use->nearest = find_nearest(reading, use->name);
	if (row && use->fault != SCRIPT_USE_FINE && !use->nearest)
		use->nearest = row;
	if (with_value && row && row->takes == SCRIPT_TAKES_NONE &&
	    use->fault == SCRIPT_USE_FINE)
		use->fault = SCRIPT_USE_UNWANTED_VALUE;
	if (with_value)
		return 0;
	if (use->fault != SCRIPT_USE_FINE && (!row || row->takes == SCRIPT_TAKES_VALUE))
		take_next_of_unknown(reading, use);
	else if (use->fault == SCRIPT_USE_FINE && row->takes == SCRIPT_TAKES_VALUE)
		take_next(reading, use);
	return 0;
}

static int read_letters(struct reading *reading)
{
	const struct script_word *word = &reading->words[reading->at];
	const size_t length = strlen(word->text);

	for (size_t i = 1; i < length; i++) {
		const char letter = word->text[i];
		const struct script_option *row;
		struct script_use *use = add(reading);

		if (!use)
			return -ENOMEM;
		use->name = spec_arena_copy(reading->arena, &letter, 1);
		if (!use->name)
			return -ENOMEM;
		use->letter = true;
		use->name_range = range_of(word, i > 1 ? i : 0, i + 1);
		use->range = use->name_range;
		row = find_letter(reading, letter, &use->fault);
		use->option = use->fault == SCRIPT_USE_FINE ? row : NULL;
		use->nearest = use->fault == SCRIPT_USE_FINE ? NULL : row;
		if (!row) {
			/* -ntasks-per-node: a dash is missing. */
			use->name = word->text + i;
			use->nearest = find_nearest(reading, use->name);
			use->range = range_of(word, i > 1 ? i : 0, length);
			take_next_of_unknown(reading, use);
			return 0;
		}
		if (row->takes == SCRIPT_TAKES_NONE)
			continue;
		if (i + 1 < length) {
			use->value = word->text + i + 1;
			use->value_range = range_of(word, i + 1, length);
			use->range = range_of(word, i > 1 ? i : 0, length);
		} else if (row->takes == SCRIPT_TAKES_VALUE) {
			take_next(reading, use);
		}
		return 0;
	}
	return 0;
}

static int read_stray(struct reading *reading)
{
	struct script_use *use = add(reading);

	if (!use)
		return -ENOMEM;
	use->fault = SCRIPT_USE_STRAY;
	use->name = reading->words[reading->at].text;
	return 0;
}

int script_uses_read(enum script_command command, script_slurm slurm, bool operands,
		     const struct script_word *words, size_t count,
		     struct spec_arena **arena, struct script_use **uses,
		     size_t *uses_count, size_t *end)
{
	struct reading reading = {
		.command = command,
		.slurm = slurm,
		.words = words,
		.count = count,
		.arena = arena,
	};
	bool options = true;
	int rc = 0;

	for (; reading.at < count && rc == 0; reading.at++) {
		const char *word = words[reading.at].text;

		if (options && strcmp(word, "--") == 0) {
			options = false;
		} else if (!options || word[0] != '-' || !word[1]) {
			if (operands)
				break;
			rc = read_stray(&reading);
		} else if (word[1] == '-') {
			rc = read_long(&reading);
		} else {
			rc = read_letters(&reading);
		}
	}
	*uses = reading.uses;
	*uses_count = reading.uses_count;
	if (end)
		*end = reading.at < count ? reading.at : count;
	return rc;
}
