/* SPDX-License-Identifier: MIT */
/*
 * Which of the job's hosts a value is. `scontrol show hostnames` prints one a line in the
 * order of the nodes, rank 0's first; what stands behind it in the pipeline, or the index
 * of an array made of the lines, picks some of them. What is not understood is unknown.
 */
#include "gen/check/rules.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Lines of a list: COUNT of them (0: all that follow) from the one of index FIRST on,
 * which counts from the list's end where LAST is set. */
struct lines {
	bool known;
	bool last;
	bool joined; /* on one line, with blanks between */
	int64_t first, count;
};

static const struct lines unknown_lines;

static bool is_asker(const char *name)
{
	return strcmp(name, "scontrol") == 0 || strcmp(name, "nodeset") == 0;
}

/* Leaves the first COUNT of LINES. */
static void keep_first(struct lines *lines, int64_t count)
{
	if (count < 1)
		lines->known = false;
	else if (lines->count == 0 || count < lines->count)
		lines->count = count;
}

/* Leaves the one of number INDEX, from 1. */
static void keep_one(struct lines *lines, int64_t index)
{
	if (index < 1 || lines->last || (lines->count > 0 && index > lines->count)) {
		lines->known = false;
		return;
	}
	lines->first += index - 1;
	lines->count = 1;
}

static void keep_last(struct lines *lines, int64_t count)
{
	if (count < 1 || lines->last) {
		lines->known = false;
	} else if (lines->count == 0) {
		lines->last = true;
		lines->first = 0;
		lines->count = count;
	} else if (count < lines->count) {
		lines->first += lines->count - count;
		lines->count = count;
	}
}

/* -n N, -nN, -N, --lines=N of head and tail; they print 10 lines without. */
static int64_t lines_option(const struct check_command *command, bool *from)
{
	int64_t count = 10;

	for (size_t i = 1; i < command->words_count; i++) {
		const char *text = command->words[i].text;
		const char *next =
			i + 1 < command->words_count ? command->words[i + 1].text : "";

		if (!command->words[i].constant)
			return -1;
		if (strcmp(text, "-n") == 0 || strcmp(text, "--lines") == 0)
			text = next, i++;
		else if (strncmp(text, "--lines=", 8) == 0)
			text += 8;
		else if (strncmp(text, "-n", 2) == 0)
			text += 2;
		else if (text[0] == '-' && isdigit((unsigned char)text[1]))
			text++;
		else if (strcmp(text, "-q") == 0)
			continue;
		else
			return -1;
		*from = text[0] == '+';
		text += *from;
		if (!isdigit((unsigned char)text[0]) ||
		    text[strspn(text, "0123456789")] != '\0')
			return -1;
		count = strtoll(text, NULL, 10);
	}
	return count;
}

static void head_or_tail(struct lines *lines, const struct check_command *command)
{
	const bool head = strcmp(command->name, "head") == 0;
	bool from = false;
	const int64_t count = lines_option(command, &from);

	if (head && !from)
		keep_first(lines, count);
	else if (!head && !from)
		keep_last(lines, count);
	else
		lines->known = false;
}

/* sed -n 2p, sed -n '$p', sed 1q, sed '2!d'; a substitution leaves the lines. */
static void sed(struct lines *lines, const struct check_command *command)
{
	const bool silent =
		command->words_count > 2 && strcmp(command->words[1].text, "-n") == 0;
	const size_t at = silent ? 2 : 1;
	const char *text = command->words_count == at + 1 && command->words[at].constant
				   ? command->words[at].text
				   : "";
	char *end = NULL;
	const int64_t number =
		isdigit((unsigned char)text[0]) ? strtoll(text, &end, 10) : 0;

	if (silent && end && strcmp(end, "p") == 0)
		keep_one(lines, number);
	else if (silent && strcmp(text, "$p") == 0)
		keep_last(lines, 1);
	else if (!silent && end && strcmp(end, "q") == 0)
		keep_first(lines, number);
	else if (!silent && end && strcmp(end, "!d") == 0)
		keep_one(lines, number);
	else if (silent || strncmp(text, "s/", 2) != 0)
		lines->known = false;
}

/* awk 'NR==2', awk 'NR==2 {print $1}', awk 'END{print}', awk '{print $2}' */
static void awk(struct lines *lines, const struct check_command *command)
{
	char text[32];
	size_t length = 0;
	const char *at = command->words_count == 2 && command->words[1].constant
				 ? command->words[1].text
				 : "?";
	char *end;
	int64_t number;

	for (; *at && length + 1 < sizeof(text); at++) {
		if (!isspace((unsigned char)*at) && *at != ';')
			text[length++] = *at;
	}
	text[length] = '\0';
	if (strncmp(text, "NR==", 4) == 0 && isdigit((unsigned char)text[4])) {
		number = strtoll(text + 4, &end, 10);
		if (*end == '\0' || strcmp(end, "{print}") == 0 ||
		    strcmp(end, "{print$1}") == 0 || strcmp(end, "{print$0}") == 0)
			keep_one(lines, number);
		else
			lines->known = false;
	} else if (strcmp(text, "END{print}") == 0 || strcmp(text, "END{print$1}") == 0 ||
		   strcmp(text, "END{print$0}") == 0) {
		keep_last(lines, 1);
	} else if (strncmp(text, "{print$", 7) == 0 && isdigit((unsigned char)text[7])) {
		number = strtoll(text + 7, &end, 10);
		if (strcmp(end, "}") != 0)
			lines->known = false;
		else if (lines->joined && number > 0)
			keep_one(lines, number);
		else if (!lines->joined && number > 1)
			lines->known = false;
	} else {
		lines->known = false;
	}
}

/* cut -d ' ' -f 2 of the hosts on one line; other cuts are within a name. */
static void cut(struct lines *lines, const struct check_command *command)
{
	const char *delimiter = "\t", *field = "";

	for (size_t i = 1; i < command->words_count; i++) {
		const char *text = command->words[i].text;
		const char *next =
			i + 1 < command->words_count ? command->words[i + 1].text : "";
		const char **to = text[0] == '-' && text[1] == 'd'   ? &delimiter
				  : text[0] == '-' && text[1] == 'f' ? &field
								     : NULL;

		if (!command->words[i].constant || !to) {
			lines->known = false;
			return;
		}
		*to = text[2] ? text + 2 : next;
		i += text[2] == '\0';
	}
	if (!lines->joined)
		return;
	if (strcmp(delimiter, " ") != 0 || field[strspn(field, "0123456789")] != '\0')
		lines->known = false;
	else
		keep_one(lines, strtoll(field, NULL, 10));
}

/* tr '\n' ' ' joins the lines; other ones change letters. */
static void tr(struct lines *lines, const struct check_command *command)
{
	const char *from = command->words_count == 3 ? command->words[1].text : "";
	const char *to = command->words_count == 3 ? command->words[2].text : "";

	if ((strcmp(from, "\\n") == 0 || strcmp(from, "\n") == 0) && strcmp(to, " ") == 0)
		lines->joined = true;
	else
		lines->known = false;
}

static void tac(struct lines *lines, const struct check_command *command)
{
	if (lines->count != 0 || lines->last)
		lines->known = false;
	lines->last = true;
	lines->first = 0;
}

/* By name the last one is the last node, as Slurm sorts them. */
static void sort(struct lines *lines, const struct check_command *command)
{
	if (command->words_count == 2 && strcmp(command->words[1].text, "-r") == 0)
		tac(lines, command);
	else
		lines->known = false;
}

static const struct {
	const char *name;
	void (*filter)(struct lines *, const struct check_command *);
} filters[] = {
	{"head", head_or_tail}, {"tail", head_or_tail}, {"sed", sed},  {"awk", awk},
	{"gawk", awk},          {"cut", cut},           {"tr", tr},    {"tac", tac},
	{"sort", sort},         {"xargs", NULL},        {"cat", NULL},
};

/* What comes out of the pipeline of a substitution that begins with the list. */
static struct lines piped(const struct check_model *model,
			  const struct check_expansion *expansion)
{
	struct lines lines = unknown_lines;

	for (size_t i = expansion->first;
	     i < expansion->last && i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];
		bool known = false;

		if (command->conditional || command->loops > 0)
			return unknown_lines;
		if (i == expansion->first) {
			if (!is_asker(command->name) || command->words_count < 2 ||
			    (strncmp(command->words[1].text, "show", 4) != 0 &&
			     strncmp(command->words[1].text, "-e", 2) != 0))
				return unknown_lines;
			/* nodeset prints them on one line. */
			lines = (struct lines){.known = true,
					       .joined = command->name[0] == 'n'};
			continue;
		}
		for (size_t f = 0; f < sizeof(filters) / sizeof(*filters); f++) {
			if (strcmp(filters[f].name, command->name) != 0)
				continue;
			known = filters[f].filter || command->words_count == 1;
			if (filters[f].filter)
				filters[f].filter(&lines, command);
			else if (strcmp(command->name, "xargs") == 0)
				lines.joined = true;
		}
		/* Each stage reads the one before. */
		if (!known || !lines.known || command->stage == 0)
			return unknown_lines;
	}
	return lines;
}

/* The text between the brackets of ${NAME[...]}. */
static bool index_of(const struct check_model *model,
		     const struct check_expansion *expansion, char *index, size_t size)
{
	const char *text = model->source.text + expansion->range.begin;
	const size_t length = expansion->range.end - expansion->range.begin;
	const char *open = memchr(text, '[', length);
	const char *close =
		open ? memchr(open, ']', length - (size_t)(open - text)) : NULL;
	size_t used = 0;

	if (!close || text[0] != '$' || open - text > 2 + (long)strlen(expansion->name))
		return false;
	for (open++; open < close && used + 1 < size; open++) {
		if (!isspace((unsigned char)*open))
			index[used++] = *open;
	}
	index[used] = '\0';
	return open == close;
}

static struct lines indexed(const struct check_model *model,
			    const struct check_expansion *expansion)
{
	struct lines lines;
	char index[16], *end;
	int64_t number;

	if (expansion->inner_count != 1 || (expansion->op && *expansion->op) ||
	    expansion->inner[0].kind != CHECK_SUBSTITUTE ||
	    !index_of(model, expansion, index, sizeof(index)))
		return unknown_lines;
	lines = piped(model, &expansion->inner[0]);
	if (!lines.known || lines.count == 1)
		return unknown_lines;
	if (strcmp(index, "@") == 0 || strcmp(index, "*") == 0)
		return lines;
	number = strtoll(index, &end, 10);
	if (end == index || *end)
		return unknown_lines;
	if (number == -1)
		keep_last(&lines, 1);
	else
		keep_one(&lines, number + 1);
	return lines;
}

enum rules_hosts rules_hosts(const struct check_model *model,
			     const struct check_expansion *expansion, int64_t nodes)
{
	struct lines lines = unknown_lines;

	if (expansion->kind == CHECK_SUBSTITUTE)
		lines = piped(model, expansion);
	else if (expansion->kind == CHECK_PARAMETER && expansion->name)
		lines = indexed(model, expansion);
	if (!lines.known)
		return RULES_HOSTS_UNKNOWN;
	/* Of one node every choice is the first. */
	if (lines.count != 1)
		return nodes == 1 ? RULES_HOSTS_FIRST : RULES_HOSTS_SEVERAL;
	if (lines.last)
		return nodes == 1 ? RULES_HOSTS_FIRST : RULES_HOSTS_LAST;
	return lines.first == 0 ? RULES_HOSTS_FIRST : RULES_HOSTS_OTHER;
}
