/* SPDX-License-Identifier: MIT */
/*
 * What a script tells srank: the options of `srank exec`, --srank=LIST and SRANK=LIST are
 * keys of the spec, which has its own words for each; and the code that `srank gen` puts
 * into a script is left out, as it is made again.
 */
#include "gen/check/import.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Where a key of the plugin's settings stands in a spec. */
static const struct {
	const char *key, *section, *name;
} places[] = {
	{"gpus", "binding", "gpus"},          {"local", "binding", "local"},
	{"omp", "binding", "omp_threads"},    {"port", "rendezvous", "port"},
	{"ports", "rendezvous", "ports"},     {"addr", "rendezvous", "addr"},
	{"suffix", "rendezvous", "suffix"},   {"domain", "rendezvous", "domain"},
	{"busy", "rendezvous", "busy"},       {"elastic", "rendezvous", "elastic"},
	{"verbose", "rendezvous", "verbose"},
};

static const struct launch_key *find_key(const char *name)
{
	for (const struct launch_key *key = launch_keys; key->name; key++) {
		if (strcmp(key->name, name) == 0)
			return key;
	}
	return NULL;
}

static void apply(struct import *import, struct script_range range, const char *key,
		  const char *value)
{
	struct launch_error error = {""};
	char *item;

	if (asprintf(&item, "%s%s%s", key, *key ? "=" : "", value) < 0)
		return;
	if (launch_settings_parse(&import->settings, item, &error) < 0)
		check_import_note(import, range, "%s was left out: %s", item, error.text);
	free(item);
}

static void options(struct import *import)
{
	struct check_srank_use use;
	size_t at = 2;

	while (import->exec && check_srank_next(import->exec, &at, &use)) {
		const struct script_range range = use.word->range;

		if (use.key && use.value && use.constant)
			apply(import, range, use.key, use.value);
		else
			check_import_note(
				import, range, "%s of srank exec was left out: %s",
				use.word->text,
				!use.name ? "there is no such option"
				: use.key && use.value
					? "its value is not known before the job runs"
					: "a spec has no key for it");
	}
}

/* The launcher that the settings name, where the spec can have it. */
static void name_launcher(struct import *import, bool stripped)
{
	const struct launch_launcher *named = import->settings.launcher;
	const struct check_command *command = import->launch->command;

	if (!named)
		return;
	if (stripped) {
		const char *own = check_import_launcher(import);

		if (strcmp(own, named->name) != 0)
			check_import_note(import, command->range,
					  "the launcher is %s, as the command says, "
					  "and not %s",
					  own, named->name);
		return;
	}
	if (named->shape == LAUNCH_NODE)
		check_import_refuse(import, command->range,
				    "name the launcher that the command has",
				    "%s is to start the ranks, and the command does not "
				    "start %s",
				    named->name, named->name);
	import->named = named->name;
}

void check_import_settings(struct import *import, bool stripped)
{
	const struct check_launch *launch = import->launch;
	const struct check_assignment *set =
		check_sees(import->model, launch->command, "SRANK");
	const struct script_use *use =
		launch->step ? check_step_find(launch->step, "srank") : NULL;

	launch_settings_init(&import->settings);
	if (!use)
		use = script_header_find(&import->model->header, 0, "srank");
	if (set && !set->unset && !set->opaque && set->value.constant)
		apply(import, set->range, "", set->value.text);
	else if (set && !set->unset)
		check_import_note(import, set->range,
				  "SRANK was left out: its value is not known before the "
				  "job runs");
	if (use && use->value && !strpbrk(use->value, "$`"))
		apply(import, use->range, "", use->value);
	options(import);
	name_launcher(import, stripped);
}

bool check_import_told(struct import *import, const char *section)
{
	struct launch_settings usual;
	bool told = false;

	launch_settings_init(&usual);
	for (size_t i = 0; i < COUNT(places); i++) {
		const struct launch_key *key = find_key(places[i].key);
		char had[512], has[512];
		const char *value;

		if (!key || !key->show || strcmp(places[i].section, section) != 0)
			continue;
		key->show(&usual, had, sizeof(had));
		key->show(&import->settings, has, sizeof(has));
		value = strchr(has, '=');
		if (!value || strcmp(had, has) == 0)
			continue;
		check_import_say(import, section, places[i].name, value + 1);
		told = true;
	}
	return told;
}

/* ---- what srank gen has written ---- */

/*
 * How commands of templates/prologue.mustache, guard.mustache and means.mustache begin,
 * and, unless NULL, what they have in them.
 */
static const struct {
	const char *start, *within;
} made[] = {
	{"set -eo pipefail", NULL},
	{"trap 'echo \"srank: line $LINENO failed with exit code $?: $BASH_COMMAND\" "
	 ">&2' ERR",
	 NULL},
	{"case \"$(srun --help 2>&1)\" in\n*--srank*) ;;\n", "echo \"srank: "},
	{"srank_means=$(\n\tcat <<'MEANS'\n", NULL},
	{"if ! srun --kill-on-bad-exit=0 ", "sh -c \"$srank_means\"; then\n"},
};

/* Theirs and those of templates/environment.mustache. */
static const char *const remarks[] = {
	"# A line that fails ends the job and is named in the log. No -u: the set-up "
	"scripts of",
	"# conda and of environment modules read variables that are not set.",
	"# Without the plugin no task knows its rank: each torchrun would run a job of "
	"its own, and",
	"# other programs would wait for each other in vain.",
	"# Is srank on all nodes? Each task is to learn from it which rank it is.",
	"# What the plugin is to do in the tasks of the step.",
	"# What `srank exec` is to do in the tasks of the step.",
};

bool check_import_is_ours(const struct check_model *model)
{
	static const char mark[] = "\n# Made by srank ";
	const size_t length = model->source.length < 4096 ? model->source.length : 4096;

	return memmem(model->source.text, length, mark, sizeof(mark) - 1) != NULL;
}

bool check_import_is_off(const struct check_model *model,
			 const struct check_command *command)
{
	/* templates/task.mustache has the text. */
	static const char task[] = "sh -c \"$srank_task\" srank";
	const struct script_range range =
		command->node ? command->node->range : command->range;

	return check_import_is_ours(model) &&
	       memmem(model->source.text + range.begin, range.end - range.begin, task,
		      sizeof(task) - 1);
}

bool check_import_is_made(const struct check_model *model, struct script_range range)
{
	const char *text = model->source.text + range.begin;
	const size_t length = range.end - range.begin;

	for (size_t i = 0; i < COUNT(made) && check_import_is_ours(model); i++) {
		const size_t start = strlen(made[i].start);
		const char *within = made[i].within;
		const char last = made[i].start[start - 1];

		if (length >= start && strncmp(text, made[i].start, start) == 0 &&
		    (length == start || last == '\n' || last == ' ') &&
		    (!within || memmem(text, length, within, strlen(within))))
			return true;
	}
	return false;
}

bool check_import_is_remark(const struct check_model *model, struct script_range line)
{
	const size_t length = line.end - line.begin;

	for (size_t i = 0; i < COUNT(remarks); i++) {
		if (strlen(remarks[i]) == length &&
		    strncmp(model->source.text + line.begin, remarks[i], length) == 0)
			return check_import_is_ours(model);
	}
	return false;
}
