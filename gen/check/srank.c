/* SPDX-License-Identifier: MIT */
/*
 * srank itself within a script: the options of `srank exec` and `srank doctor`, behind
 * which the program stands, and the rule about words that srank or its plugin refuse.
 */
#include "gen/check/follow.h"
#include "gen/check/rules.h"

#include "spank/launch/nearest.h"
#include "spank/launch/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum {
	EXEC = 1,
	DOCTOR = 2,
	BOTH = EXEC | DOCTOR,
};

/* As the command line has them (srank(1)); an option's beginning is enough there. */
static const struct option_row {
	const char *name;
	unsigned int of; /* bits of the commands that have it */
	char letter;
	bool valued;
	const char *key; /* of the plugin's settings; "": a list of them; NULL: none */
} option_rows[] = {
	{"launcher", BOTH, 'l', true, ""},  {"gpus", BOTH, 'g', true, "gpus"},
	{"addr", BOTH, 0, true, "addr"},    {"port", BOTH, 0, true, "port"},
	{"srank", BOTH, 0, true, ""},       {"timeout", BOTH, 0, true, NULL},
	{"no-pmix", BOTH, 0, false, NULL},  {"help", BOTH, 'h', false, NULL},
	{"tree", DOCTOR, 0, true, NULL},    {"json", DOCTOR, 0, false, NULL},
	{"strict", DOCTOR, 0, false, NULL}, {"bandwidth", DOCTOR, 0, false, NULL},
};

static const char *const command_names[] = {
	"gen",    "submit", "explain", "site",  "exec",      "doctor",
	"schema", "check",  "import",  "rules", "launchers", "version",
	"help",   "-h",     "--help",  "-V",    "--version",
};

/* The bit of the sub-command; 0: it is another one. */
static unsigned int command_bit(const struct check_command *command)
{
	if (command->tool != CHECK_SRANK || command->words_count < 2)
		return 0;
	if (strcmp(command->words[1].text, "exec") == 0)
		return EXEC;
	return strcmp(command->words[1].text, "doctor") == 0 ? DOCTOR : 0;
}

static const struct option_row *find_letter(unsigned int of, char letter)
{
	for (size_t i = 0; i < COUNT(option_rows); i++) {
		if ((option_rows[i].of & of) && option_rows[i].letter == letter)
			return &option_rows[i];
	}
	return NULL;
}

/* NAME, or the only option that begins so. */
static const struct option_row *find_name(unsigned int of, const char *name,
					  size_t length)
{
	const struct option_row *found = NULL;
	size_t several = 0;

	for (size_t i = 0; i < COUNT(option_rows); i++) {
		const struct option_row *row = &option_rows[i];

		if (!(row->of & of) || strncmp(row->name, name, length) != 0)
			continue;
		if (!row->name[length])
			return row;
		found = row;
		several++;
	}
	return several == 1 ? found : NULL;
}

static const struct option_row *find_near(unsigned int of, const char *name,
					  size_t length)
{
	const char *names[COUNT(option_rows)];
	char word[64];
	const char *near;

	if (length >= sizeof(word))
		return NULL;
	memcpy(word, name, length);
	word[length] = '\0';
	for (size_t i = 0; i < COUNT(option_rows); i++)
		names[i] = option_rows[i].of & of ? option_rows[i].name : NULL;
	near = launch_nearest(word, names, COUNT(names), sizeof(*names));
	return near ? find_name(of, near, strlen(near)) : NULL;
}

bool check_srank_next(const struct check_command *command, size_t *at,
		      struct check_srank_use *use)
{
	const unsigned int of = command_bit(command);
	const struct check_value *word;
	const struct option_row *row;
	const char *text, *rest;

	while (*at < command->words_count && *at + 1 < command->words_count &&
	       check_is_options(&command->words[*at]))
		++*at;
	if (of == 0 || *at >= command->words_count)
		return false;
	word = &command->words[*at];
	text = word->text;
	if (text[0] != '-' || !text[1])
		return false;
	++*at;
	if (strcmp(text, "--") == 0)
		return false;
	*use = (struct check_srank_use){.word = word, .constant = word->constant};
	if (text[1] == '-') {
		const size_t length = strcspn(text + 2, "=");

		row = find_name(of, text + 2, length);
		if (row) {
			use->name = row->name;
		} else {
			row = find_near(of, text + 2, length);
			use->near = row ? row->name : NULL;
		}
		rest = text[2 + length] ? text + 2 + length + 1 : NULL;
	} else {
		row = find_letter(of, text[1]);
		use->name = row ? row->name : NULL;
		rest = text[2] ? text + 2 : NULL;
	}
	if (!row)
		return true;
	use->key = row->key;
	use->value = row->valued ? rest : NULL;
	if (!row->valued || rest)
		return true;
	if (*at == command->words_count) {
		use->lacks = true;
		return true;
	}
	use->value = command->words[*at].text;
	use->constant = command->words[*at].constant;
	++*at;
	return true;
}

bool check_srank_executes(const struct check_command *command)
{
	return command_bit(command) == EXEC;
}

/* ---- the rule ---- */

/* The message has what is wrong, the fix what the reader of the settings proposes. */
static void tell_error(struct rules *rules, struct script_range range, const char *who,
		       const char *name, const struct launch_error *error)
{
	const char *cure = strstr(error->text, "; ");
	const size_t length = cure ? (size_t)(cure - error->text) : strlen(error->text);

	if (rules_tell(rules, RULE_SRANK_REFUSES, range, "%s%s: %.*s", who, name,
		       (int)length, error->text) &&
	    cure)
		rules_fix(rules, "%s", cure + 2);
}

void rules_srank_list(struct rules *rules, struct script_range range, const char *name,
		      const char *list)
{
	struct launch_settings settings;
	struct launch_error error = {""};

	launch_settings_init(&settings);
	if (launch_settings_parse(&settings, list, &error) < 0)
		tell_error(rules, range, "", name, &error);
}

static void option(struct rules *rules, const struct check_command *command,
		   const struct check_srank_use *use)
{
	const char *sub = command->words[1].text;
	const char *text = use->word->text;
	struct launch_settings settings;
	struct launch_error error = {""};
	char *item;

	if (!use->name) {
		if (!use->word->constant ||
		    !rules_tell(rules, RULE_SRANK_REFUSES, use->word->range,
				"srank %s has no option %.*s", sub,
				text[1] == '-' ? (int)strcspn(text, "=") : 2, text))
			return;
		if (use->near)
			rules_fix(rules, "did you mean --%s?", use->near);
		else
			rules_fix(rules, "`srank help %s` lists them", sub);
		return;
	}
	if (use->lacks) {
		if (rules_tell(rules, RULE_SRANK_REFUSES, use->word->range,
			       "%s of srank %s needs a value", text, sub))
			rules_fix(rules, "`srank help %s` lists the options", sub);
		return;
	}
	if (!use->key || !use->value || !use->constant)
		return;
	if (asprintf(&item, "%s%s%s", use->key, *use->key ? "=" : "", use->value) < 0) {
		rules->rc = -ENOMEM;
		return;
	}
	launch_settings_init(&settings);
	if (launch_settings_parse(&settings, item, &error) < 0)
		tell_error(rules, use->word->range, "srank ", sub, &error);
	free(item);
}

static void words(struct rules *rules, const struct check_command *command)
{
	const struct check_value *sub = &command->words[1];
	struct check_srank_use use;
	const char *near;
	bool needless = false; /* it is told of something else, or starts none */
	size_t at = 2;

	if (!sub->constant)
		return;
	for (size_t i = 0; i < COUNT(command_names); i++) {
		if (strcmp(command_names[i], sub->text) != 0)
			continue;
		while (check_srank_next(command, &at, &use)) {
			option(rules, command, &use);
			/* --srank=help starts none. */
			needless |= use.lacks ||
				    (use.value && strcmp(use.value, "help") == 0) ||
				    (use.name && strcmp(use.name, "help") == 0);
		}
		if (command_bit(command) == EXEC && at >= command->words_count &&
		    !needless &&
		    rules_tell(rules, RULE_SRANK_REFUSES, command->range,
			       "srank exec has no program to become"))
			rules_fix(rules, "write the program behind its options");
		return;
	}
	near = launch_nearest(sub->text, command_names, COUNT(command_names),
			      sizeof(*command_names));
	if (!rules_tell(rules, RULE_SRANK_REFUSES, sub->range,
			"srank has no command `%s`", sub->text))
		return;
	if (near)
		rules_fix(rules, "did you mean srank %s?", near);
	else
		rules_fix(rules, "`srank help` lists them");
}

void rules_srank(struct rules *rules)
{
	const struct check_model *model = rules->model;

	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		if (command->tool == CHECK_SRANK && command->words_count > 1 &&
		    command->where != CHECK_ELSEWHERE && !command->uncalled)
			words(rules, command);
	}
}
