/* SPDX-License-Identifier: MIT */
/*
 * Rules about the header: what sbatch's own reader refuses, misreads or passes over.
 */
#include "gen/check/rules.h"

#include "gen/spec/arena.h"
#include "gen/spec/scalar.h"

#include <errno.h>
#include <string.h>

static const char *bytes(const struct rules *rules, struct script_range range,
			 int *length)
{
	*length = (int)(range.end - range.begin);
	return rules->model->source.text + range.begin;
}

/* ---- lines that are no directives ---- */

/* Text that the script only writes or hands on: a directive in it is another script's. */
static bool is_quoted_by(const struct shell_node *node, uint32_t at);

static bool word_holds(const struct shell_word *word, uint32_t at)
{
	for (; word; word = word->next) {
		if (at > word->range.begin && at < word->range.end)
			return true;
	}
	return false;
}

static bool node_holds(const struct shell_node *node, uint32_t at)
{
	for (const struct shell_redirect *r = node->redirects; r; r = r->next) {
		if (at >= r->document.begin && at < r->document.end)
			return true;
	}
	for (const struct shell_assignment *a = node->assignments; a; a = a->next) {
		if (word_holds(a->value, at) || word_holds(a->items, at))
			return true;
	}
	return word_holds(node->words, at) || is_quoted_by(node->children, at);
}

static bool is_quoted_by(const struct shell_node *node, uint32_t at)
{
	for (; node; node = node->next) {
		/* A here-document stands behind the range of its command. */
		if (node->range.begin > at)
			break;
		if (node_holds(node, at))
			return true;
	}
	return false;
}

/* The line with its line end. */
static struct script_range whole_line(const struct rules *rules,
				      const struct script_directive *directive)
{
	struct script_range range = directive->line;

	if (range.end < rules->model->source.length)
		range.end++;
	return range;
}

/* `#SBATCH lines end here`: a remark about directives. */
static bool is_prose(const struct rules *rules, const struct script_directive *directive)
{
	const char *text = rules->model->source.text;
	uint32_t at = directive->keyword.end;

	while (at < directive->line.end && (text[at] == ' ' || text[at] == '\t'))
		at++;
	if (at == directive->line.end || text[at] < 'a' || text[at] > 'z' ||
	    directive->line.end - at < 8 || strncmp(text + at, "hetjob", 6) == 0 ||
	    strncmp(text + at, "packjob", 7) == 0)
		return false;
	while (at < directive->line.end && text[at] >= 'a' && text[at] <= 'z')
		at++;
	return at < directive->line.end && text[at] == ' ';
}

static void late(struct rules *rules, const struct script_directive *directive)
{
	const struct script_header *header = &rules->model->header;
	const struct script_text *source = &rules->model->source;
	struct script_range line = directive->line;
	uint32_t command = script_text_line(source, header->command.begin);
	struct script_range before = {
		script_text_line_range(source, command).begin,
		script_text_line_range(source, command).begin,
	};
	int length;
	const char *text;

	if (directive->lookalike &
	    (SCRIPT_LOOKALIKE_DOUBLED | SCRIPT_LOOKALIKE_SPACED | SCRIPT_LOOKALIKE_BARE))
		return;
	if (is_quoted_by(rules->model->program.list, line.begin) ||
	    is_prose(rules, directive))
		return;
	text = bytes(rules, line, &length);
	if (!rules_tell(
		    rules, RULE_LATE_DIRECTIVE, line,
		    "sbatch does not read `%.*s`: its header ends with the command on "
		    "line %u",
		    length, text, command))
		return;
	rules_fix(rules, "move it above line %u", command);
	if (directive->lookalike)
		return;
	rules_edit(rules, before, "%.*s\n", length, text);
	rules_edit(rules, whole_line(rules, directive), "%s", "");
}

/*
 * `# SBATCH -t 10` beside an `#SBATCH -t 20` that is read: one of several choices,
 * switched off on purpose.
 */
static bool is_choice(const struct rules *rules, size_t index)
{
	const struct script_header *header = &rules->model->header;

	for (size_t i = 0; i < header->uses_count; i++) {
		const struct script_use *use = &header->uses[i];

		if (use->line == index && use->option && use->lost &&
		    script_header_find(header, 0, use->option->name))
			return true;
	}
	return false;
}

static void lookalike(struct rules *rules, const struct script_directive *directive)
{
	const struct script_header *header = &rules->model->header;
	const unsigned int bits = directive->lookalike;
	struct script_range front = {directive->line.begin, directive->keyword.end};
	const char *what = "is misspelt";
	int length;
	const char *text = bytes(rules, directive->keyword, &length);

	if (bits & SCRIPT_LOOKALIKE_DOUBLED || directive->count == 0 ||
	    header->words[directive->first].text[0] != '-')
		return;
	/* `# sbatch -N 2 job.sh` says how the script is submitted. */
	if (bits & SCRIPT_LOOKALIKE_SPACED && bits & SCRIPT_LOOKALIKE_CASE)
		return;
	if (bits == SCRIPT_LOOKALIKE_SPACED &&
	    is_choice(rules, (size_t)(directive - header->directives)))
		return;
	if (bits & SCRIPT_LOOKALIKE_BARE)
		what = "lacks its #, which makes it a command";
	else if (bits & SCRIPT_LOOKALIKE_INDENTED)
		what = "does not begin in column 1";
	else if (bits & SCRIPT_LOOKALIKE_SPACED)
		what = "has a blank behind its #";
	else if (bits & SCRIPT_LOOKALIKE_CASE)
		what = "is not in capitals";
	if (!rules_tell_as(rules, RULE_MISSPELT_DIRECTIVE,
			   bits == SCRIPT_LOOKALIKE_SPACED ? DIAG_WARNING : DIAG_ERROR,
			   directive->line, "sbatch does not read this line: `%.*s` %s",
			   length, text, what))
		return;
	rules_fix(rules,
		  "write #SBATCH in column 1, or ## when the line is off on purpose");
	/* A blank behind the # may be on purpose. */
	if (bits != SCRIPT_LOOKALIKE_SPACED)
		rules_edit(rules, front, "#SBATCH");
}

static void foreign(struct rules *rules, const struct script_directive *directive)
{
	struct script_range start = {directive->line.begin, directive->line.begin};
	int length;
	const char *text = bytes(rules, directive->keyword, &length);

	if (rules->model->header.ignore_pbs && directive->kind == SCRIPT_DIRECTIVE_PBS)
		return;
	if (is_quoted_by(rules->model->program.list, directive->line.begin))
		return;
	if (rules_tell(rules, RULE_FOREIGN_DIRECTIVE, directive->line,
		       "sbatch reads this %.*s line too, and it goes before #SBATCH",
		       length, text))
		rules_edit(rules, start, "#");
}

/* ---- the characters of a directive ---- */

/* In a remark everything may stand. */
static bool is_remarked(const struct script_directive *directive,
			struct script_range range)
{
	return !range_is_empty(directive->comment) &&
	       range.begin >= directive->comment.begin;
}

static bool is_in_quotes(const struct rules *rules,
			 const struct script_directive *directive,
			 struct script_range range)
{
	const struct script_word *words = rules->model->header.words + directive->first;

	for (size_t i = 0; i < directive->count; i++) {
		if (words[i].quoted && range.begin >= words[i].range.begin &&
		    range.end <= words[i].range.end)
			return true;
	}
	return false;
}

static bool begins_a_word(const struct rules *rules, struct script_range range)
{
	const char *text = rules->model->source.text;

	return range.begin > 0 && strchr(" \tH", text[range.begin - 1]);
}

/* False: what follows from the fault need not be told. */
static bool characters(struct rules *rules, const struct script_directive *directive)
{
	const char *text = rules->model->source.text;
	struct script_range range = directive->nbsp;

	if (!range_is_empty(range) && !is_remarked(directive, range) &&
	    !is_in_quotes(rules, directive, range)) {
		if (rules_tell(
			    rules, RULE_NBSP_IN_DIRECTIVE, range,
			    "this blank is not a blank but the bytes %02x %02x, a part "
			    "of the word for sbatch",
			    (unsigned char)text[range.begin],
			    (unsigned char)text[range.begin + 1]))
			rules_edit(rules, range, " ");
		return false;
	}
	range = directive->dash;
	if (!range_is_empty(range) && !is_remarked(directive, range) &&
	    begins_a_word(rules, range)) {
		struct script_range dash = range;

		if (!rules_tell(rules, RULE_TYPOGRAPHIC_DASH, range,
				"this dash is not `-`, so it begins no option"))
			return false;
		/* An em dash, or an en dash alone, stands for the two that were typed. */
		if (text[dash.end] == '-')
			dash.end++;
		rules_edit(rules, dash, "--");
		return false;
	}
	return true;
}

static bool faults(struct rules *rules, const struct script_directive *directive)
{
	struct script_range range = directive->fault_range;
	const char *text = rules->model->source.text;

	switch (directive->fault) {
	case SCRIPT_DIRECTIVE_OPEN_QUOTE:
		rules_tell(
			rules, RULE_DIRECTIVE_OPEN_QUOTE, range,
			"this %c is not closed on its line: sbatch ends with Unmatched",
			text[range.begin]);
		return false;
	case SCRIPT_DIRECTIVE_COLON:
		if (rules_tell(rules, RULE_DIRECTIVE_COLON, range,
			       "sbatch ends with Unexpected `:` here"))
			rules_edit(rules, range, "%s", "");
		return false;
	default:
		return true;
	}
}

static void cut(struct rules *rules, const struct script_directive *directive)
{
	int length;
	const char *text = bytes(rules, directive->comment, &length);

	if (directive->cut_word)
		rules_tell(rules, RULE_DIRECTIVE_CUT, directive->comment,
			   "sbatch takes `%.*s` for a remark and drops it", length, text);
}

static void old_spelling(struct rules *rules, const struct script_directive *directive)
{
	static const char packjob[] = "packjob";
	const char *text = rules->model->source.text;
	struct script_range range = directive->line;
	const char *found = directive->packjob
				    ? memmem(text + range.begin, range.end - range.begin,
					     packjob, strlen(packjob))
				    : NULL;

	if (found) {
		range.begin = (uint32_t)(found - text);
		range.end = range.begin + (uint32_t)strlen(packjob);
		if (rules_tell(rules, RULE_DEPRECATED_DIRECTIVE, range,
			       "packjob is the old word for hetjob"))
			rules_edit(rules, range, "hetjob");
	}
	if (directive->slurm &&
	    rules_tell(rules, RULE_DEPRECATED_DIRECTIVE, directive->keyword,
		       "#SLURM is read, with an error message: the word is #SBATCH"))
		rules_edit(rules, directive->keyword, "#SBATCH");
}

/* ---- options ---- */

static const char *spelt(const struct script_use *use)
{
	return use->letter ? "-" : "--";
}

static void unknown(struct rules *rules, const struct script_use *use)
{
	/* A plugin of the cluster may have options of any long name (spank(8)). */
	const bool plugins = !use->letter && !use->nearest;

	if (!rules_tell_as(rules, RULE_UNKNOWN_OPTION,
			   plugins ? DIAG_WARNING : DIAG_ERROR, use->name_range,
			   "sbatch has no option %s%s%s", spelt(use), use->name,
			   plugins ? ", unless a plugin has it" : ""))
		return;
	if (!use->nearest)
		return;
	rules_fix(rules, "did you mean --%s?", use->nearest->name);
	if (!use->letter && strlen(use->name) > 4)
		rules_edit(rules, use->name_range, "--%s", use->nearest->name);
}

static void srun_only(struct rules *rules, const struct script_use *use)
{
	const bool value = use->value && *use->value;

	if (rules_tell(rules, RULE_SRUN_ONLY_OPTION, use->range,
		       "%s%s is an option of srun, which sbatch refuses", spelt(use),
		       use->name))
		rules_fix(rules, "write `srun %s%s%s%s ...` in the commands", spelt(use),
			  use->name, value ? use->letter ? " " : "=" : "",
			  value ? use->value : "");
}

static void version(struct rules *rules, const struct script_use *use)
{
	for (size_t i = 0; i < script_options_count; i++) {
		const struct script_option *row = &script_options[i];

		if (use->letter || strcmp(row->name, use->name) != 0 ||
		    row->since <= rules->model->slurm)
			continue;
		rules_tell(rules, RULE_OPTION_TOO_NEW, use->name_range,
			   "--%s came with Slurm %u.%02u, and this is %u.%02u", use->name,
			   row->since / 100u, row->since % 100u,
			   rules->model->slurm / 100u, rules->model->slurm % 100u);
		return;
	}
	unknown(rules, use);
}

/* `--nodes = 2`, `--nodes= 2`, `--nodes =2`: NEXT may be the 2. */
static bool blank_around_equal(struct rules *rules, const struct script_use *use,
			       const struct script_use *next)
{
	const bool stray =
		next && next->fault == SCRIPT_USE_STRAY && next->line == use->line;
	const char *value = use->value;
	struct script_range range = use->range;

	if (!value || use->letter || use->ate)
		return false;
	if (use->separate && value[0] == '=') {
		if (value[1] == '\0' && stray) {
			value = next->name;
			range.end = next->range.end;
		} else {
			value++;
		}
	} else if (!use->separate && value[0] == '\0' && stray) {
		value = next->name;
		range.end = next->range.end;
	} else {
		return false;
	}
	if (rules_tell(rules, RULE_DIRECTIVE_BLANK_AROUND_EQUAL, range,
		       "blanks around the = give --%s the value `%s`", use->name,
		       use->value)) {
		rules_fix(rules, "write --%s=%s", use->name, value);
		if (*value)
			rules_edit(rules, range, "--%s=%s", use->name, value);
	}
	return true;
}

/*
 * `--mem=64 GB`: a value of a known form has no blanks, so without them it may be what
 * was meant. False: the form of the option is not known.
 */
static bool joined(struct rules *rules, const struct script_use *before,
		   struct script_range all)
{
	const char *text = rules->model->source.text, *why;
	char value[128], hint[SPEC_HINT_MAX];
	size_t length = 0;

	for (uint32_t at = all.begin; at < all.end && length + 1 < sizeof(value); at++) {
		if (text[at] != ' ' && text[at] != '\t')
			value[length++] = text[at];
	}
	value[length] = '\0';
	if (!rules_value_form(rules, before->option->name, value, &why, hint))
		return false;
	if (why && !hint[0]) {
		rules_fix(rules, "write --%s in one word: %s", before->option->name, why);
		return true;
	}
	rules_fix(rules, "write --%s=%s", before->option->name, why ? hint : value);
	return true;
}

/* The words of a name with blanks: the value of BEFORE and the stray ones behind it. */
static void stray(struct rules *rules, const struct script_use *before,
		  const struct script_use *use, struct script_range range)
{
	const char *text;
	int length;
	struct script_range all = range;

	text = bytes(rules, range, &length);
	if (!rules_tell(rules, RULE_DIRECTIVE_STRAY_WORD, range,
			"sbatch refuses `%.*s`, which is neither an option nor a value",
			length, text))
		return;
	if (before && before->line == use->line && before->option && before->value &&
	    !range_is_empty(before->value_range) && !memchr(text, '"', length) &&
	    text[0] != '(' && text[0] != '/') {
		all.begin = before->value_range.begin;
		if (joined(rules, before, all))
			return;
		text = bytes(rules, all, &length);
		rules_fix(rules, "quote the whole value: \"%.*s\"", length, text);
		if (!memchr(text, '"', length) && !memchr(text, '\'', length) &&
		    (strcmp(before->option->name, "job-name") == 0 ||
		     strcmp(before->option->name, "comment") == 0))
			rules_edit(rules, all, "\"%.*s\"", length, text);
	} else {
		rules_fix(rules, "write remarks behind #");
	}
}

static bool is_remark(const struct script_use *use)
{
	return use->option && (strcmp(use->option->name, "comment") == 0 ||
			       strcmp(use->option->name, "wrap") == 0);
}

static void variable(struct rules *rules, const struct script_use *use)
{
	const char *value = use->value, *sign;

	if (!value || use->ate || is_remark(use) || range_is_empty(use->value_range))
		return;
	for (sign = strpbrk(value, "$`"); sign; sign = strpbrk(sign + 1, "$`")) {
		const char next = sign[1];

		if (*sign == '`' ? strchr(sign + 1, '`') != NULL
				 : next == '{' || next == '(' || next == '_' ||
					   (next >= 'A' && next <= 'Z') ||
					   (next >= 'a' && next <= 'z'))
			break;
	}
	if (!sign && value[0] == '~' && (value[1] == '/' || value[1] == '\0'))
		sign = value;
	if (sign)
		rules_tell(rules, RULE_VARIABLE_IN_DIRECTIVE, use->value_range,
			   "sbatch takes `%s` as it stands: it expands no %s", value,
			   *sign == '~' ? "~" : "variables or commands");
}

/* Uses of the script's header only: the command line has no place in it. */
static bool is_here(const struct script_use *use)
{
	return use->origin == SCRIPT_USE_DIRECTIVE && !use->lost;
}

/* Options that may be given several times, each time meaning more. */
static bool adds_up(const char *name)
{
	static const char *const names[] = {"mail-type", "verbose", "quiet", "help",
					    "usage"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

/* --tasks-per-node is --ntasks-per-node. */
static const char *meant(const struct script_use *use)
{
	const char *name = use->option->name;

	return strcmp(name, "tasks-per-node") == 0 ? "ntasks-per-node" : name;
}

static void duplicate(struct rules *rules, size_t index)
{
	const struct script_header *header = &rules->model->header;
	const struct script_use *use = &header->uses[index];

	for (size_t i = index; i-- > 0;) {
		const struct script_use *earlier = &header->uses[i];

		if (!is_here(earlier) || !earlier->option || earlier->fault ||
		    earlier->group != use->group ||
		    strcmp(meant(earlier), meant(use)) != 0)
			continue;
		if (!earlier->value || !use->value ||
		    strcmp(earlier->value, use->value) == 0 || adds_up(use->option->name))
			return;
		rules_tell(rules, RULE_DUPLICATE_DIRECTIVE, use->range,
			   "--%s is given twice, and `%s` wins over `%s` of line %u",
			   use->option->name, use->value, earlier->value,
			   script_text_line(&rules->model->source, earlier->range.begin));
		return;
	}
}

static void option(struct rules *rules, size_t index)
{
	const struct script_use *use = &rules->model->header.uses[index];

	if (use->ate) {
		rules_tell(
			rules, RULE_DIRECTIVE_MISSING_VALUE, use->name_range,
			"%s%s lacks its value and takes the next directive for it: `%s`",
			spelt(use), use->name, use->value);
		rules_also(rules, use->value_range, "this is the value of %s%s above",
			   spelt(use), use->name);
		return;
	}
	if (use->abbreviated && use->option &&
	    rules_tell(rules, RULE_ABBREVIATED_OPTION, use->name_range,
		       "--%s is short for --%s", use->name, use->option->name)) {
		rules_fix(rules, "write --%s", use->option->name);
		rules_edit(rules, use->name_range, "--%s", use->option->name);
	}
	if (use->letter && use->option &&
	    rules_tell(rules, RULE_SHORT_OPTION, use->name_range, "-%s is --%s",
		       use->name, use->option->name))
		rules_fix(rules, "write --%s", use->option->name);
	variable(rules, use);
	if (use->option)
		duplicate(rules, index);
}

static void ambiguous(struct rules *rules, const struct script_use *use)
{
	rules_tell(rules, RULE_AMBIGUOUS_OPTION, use->name_range,
		   "--%s is the beginning of several options", use->name);
}

static void uses(struct rules *rules, const bool *skip)
{
	const struct script_header *header = &rules->model->header;
	const struct script_use *before = NULL;

	for (size_t i = 0; i < header->uses_count; i++) {
		const struct script_use *use = &header->uses[i];
		const struct script_use *next =
			i + 1 < header->uses_count ? &header->uses[i + 1] : NULL;
		struct script_range range = use->range;

		if (!is_here(use) || skip[use->line])
			continue;
		switch (use->fault) {
		case SCRIPT_USE_UNKNOWN:
			unknown(rules, use);
			break;
		case SCRIPT_USE_OTHER_COMMAND:
			srun_only(rules, use);
			break;
		case SCRIPT_USE_OTHER_VERSION:
			version(rules, use);
			break;
		case SCRIPT_USE_AMBIGUOUS:
			ambiguous(rules, use);
			break;
		case SCRIPT_USE_NO_VALUE:
			rules_tell(rules, RULE_DIRECTIVE_MISSING_VALUE, use->name_range,
				   "%s%s lacks its value: sbatch refuses the script",
				   spelt(use), use->name);
			break;
		case SCRIPT_USE_UNWANTED_VALUE:
			rules_tell(rules, RULE_BAD_VALUE, use->range,
				   "--%s takes no value", use->name);
			break;
		case SCRIPT_USE_STRAY:
			/* One finding for all words in a row. */
			while (next && next->fault == SCRIPT_USE_STRAY &&
			       next->line == use->line && is_here(next)) {
				range.end = next->range.end;
				i++;
				next = i + 1 < header->uses_count ? &header->uses[i + 1]
								  : NULL;
			}
			stray(rules, before, use, range);
			break;
		default:
			if (blank_around_equal(rules, use, next)) {
				while (next && next->fault == SCRIPT_USE_STRAY &&
				       next->line == use->line) {
					i++;
					next = i + 1 < header->uses_count
						       ? &header->uses[i + 1]
						       : NULL;
				}
				break;
			}
			option(rules, i);
			break;
		}
		before = use;
	}
}

/* ---- the file ---- */

static void file(struct rules *rules)
{
	const struct script_header *header = &rules->model->header;
	struct script_range start = {0, 0};

	if (header->empty) {
		rules_tell(rules, RULE_EMPTY_SCRIPT, start, "the script is empty");
		return;
	}
	if (!range_is_empty(header->nul))
		rules_tell(
			rules, RULE_NUL_IN_SCRIPT, header->nul,
			"there is a NUL byte here, for which sbatch refuses the script");
	if (rules->model->too_long)
		rules_tell(rules, RULE_SCRIPT_TOO_LONG, start,
			   "the script has %zu MiB, and Slurm takes 4 by default; no "
			   "more was "
			   "read",
			   rules->model->source.length >> 20);
	if (!range_is_empty(header->no_shebang) || header->bom) {
		if (rules_tell(rules, RULE_NO_SHEBANG, header->no_shebang,
			       header->bom
				       ? "a byte order mark hides #! from sbatch"
				       : "the script does not begin with #!, so sbatch "
					 "refuses it")) {
			struct script_range mark = {0, header->bom ? 3 : 0};

			rules_edit(rules, mark, "%s", header->bom ? "" : "#!/bin/bash\n");
		}
	}
	if (!range_is_empty(header->dos) &&
	    rules_tell(
		    rules, RULE_DOS_LINE_ENDS, header->dos,
		    header->dos_lines == 1
			    ? "one line ends in CR LF, for which sbatch refuses the "
			      "script"
			    : "%u lines, this one first, end in CR LF, for which sbatch "
			      "refuses the script",
		    header->dos_lines)) {
		const char *text = rules->model->source.text;
		const size_t length = rules->model->source.length;

		for (size_t i = 0; i + 1 < length; i++) {
			if (text[i] == '\r' && text[i + 1] == '\n')
				rules_edit(rules,
					   (struct script_range){(uint32_t)i,
								 (uint32_t)i + 1},
					   "%s", "");
		}
	}
}

void rules_directives(struct rules *rules)
{
	const struct script_header *header = &rules->model->header;
	bool *skip;

	file(rules);
	/* Behind a byte order mark nothing is what it looks like. */
	if (header->empty || header->bom)
		return;
	skip = spec_arena_alloc(&rules->model->arena, header->directives_count + 1);
	if (!skip) {
		rules->rc = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < header->directives_count; i++) {
		const struct script_directive *directive = &header->directives[i];

		switch (directive->kind) {
		case SCRIPT_DIRECTIVE_LATE:
			late(rules, directive);
			break;
		case SCRIPT_DIRECTIVE_LOOKALIKE:
			lookalike(rules, directive);
			break;
		case SCRIPT_DIRECTIVE_PBS:
		case SCRIPT_DIRECTIVE_BSUB:
			foreign(rules, directive);
			break;
		case SCRIPT_DIRECTIVE_QUOTED:
			break;
		default:
			skip[i] = !characters(rules, directive);
			skip[i] |= !faults(rules, directive);
			cut(rules, directive);
			old_spelling(rules, directive);
			break;
		}
	}
	uses(rules, skip);
}
