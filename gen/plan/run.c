/* SPDX-License-Identifier: MIT */
/*
 * What a rank runs: the section `run` in one of its three forms, or MMDetection's
 * training script, see mmdet.c.
 */
#include "gen/plan/resolve.h"

#include "gen/spec/arena.h"
#include "gen/spec/read.h"
#include "spank/launch/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int plan_add_arg(struct plan_work *work, const char *text, const struct diag_place *place)
{
	struct plan *plan = work->plan;
	struct plan_run *run = &plan->run;
	const char **args =
		spec_arena_grow(&plan->arena, run->args, run->count, sizeof(*args));
	const struct diag_place **places =
		spec_arena_grow(&plan->arena, run->places, run->count, sizeof(*places));

	if (!args || !places || !text)
		return -ENOMEM;
	run->args = args;
	run->places = places;
	args[run->count] = text;
	places[run->count++] = place;
	return 0;
}

static int add_words(struct plan_work *work, const struct spec_value *words, size_t first)
{
	int rc = 0;

	for (size_t i = first; i < words->count && rc == 0; i++)
		rc = plan_add_arg(work, words->items[i].text, &words->items[i].place);
	return rc;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* python, python3, python3.11, with or without a path. */
static bool is_python(const char *word)
{
	const char *name = base_name(word);

	if (strncmp(name, "python", 6) != 0)
		return false;
	for (name += 6; isdigit((unsigned char)*name) || *name == '.'; name++)
		;
	return *name == '\0';
}

/* Takes `python X ...` and `python -m X ...` apart; other options of python stay a
 * command. */
static int take_command(struct plan_work *work)
{
	const struct spec_value *command = &work->spec->run.command;
	struct plan_run *run = &work->plan->run;
	const struct spec_item *words = command->items;
	size_t first = 0;

	if (command->count == 0) {
		diag_add(work->diag, DIAG_ERROR, "plan-run", &command->place,
			 "command has no words");
		return -EINVAL;
	}
	run->kind = PLAN_COMMAND;
	if (is_python(words[0].text) && command->count >= 3 &&
	    strcmp(words[1].text, "-m") == 0) {
		run->kind = PLAN_MODULE;
		run->target = words[2].text;
		run->target_place = &words[2].place;
		first = 3;
	} else if (is_python(words[0].text) && command->count >= 2 &&
		   words[1].text[0] != '-') {
		run->kind = PLAN_SCRIPT;
		run->target = words[1].text;
		run->target_place = &words[1].place;
		first = 2;
	}
	if (run->kind != PLAN_COMMAND) {
		run->python = words[0].text;
		run->python_place = &words[0].place;
	}
	return add_words(work, command, first);
}

/* The next word of shell code, its quotes included; NULL: none is left. */
static const char *next_word(const char *text, size_t *length)
{
	char quote = '\0';
	size_t at = 0;

	text += strspn(text, " \t\n");
	for (; text[at] && (quote || !strchr(" \t\n", text[at])); at++) {
		if (quote == text[at])
			quote = '\0';
		else if (text[at] == '\\' && quote != '\'' && text[at + 1])
			at++;
		else if (!quote && (text[at] == '\'' || text[at] == '"'))
			quote = text[at];
	}
	*length = at;
	return at ? text : NULL;
}

/* `>`, `2>&1`, `<file`, `&&`, `|`, `a;`: what a shell would not hand to the program. */
static bool is_syntax(const char *word, size_t length)
{
	static const char *const signs[] = {"|", "||", "|&", "&", "&&", ";", ";;"};
	const size_t digits = strspn(word, "0123456789");

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (strlen(signs[i]) == length && memcmp(signs[i], word, length) == 0)
			return true;
	}
	return (digits < length && (word[digits] == '<' || word[digits] == '>')) ||
	       (length > 1 && word[0] == '&' && word[1] == '>') ||
	       (length > 1 && word[length - 1] == ';' && word[length - 2] != '\\');
}

/* Such a word in a text, where it is most likely meant for a shell. */
static int refuse_syntax(struct plan_work *work, const char *name,
			 const struct spec_value *words)
{
	const char *word = words->text;
	size_t length;

	/* The elements of a list are words whatever they look like. */
	for (; word && (word = next_word(word, &length)); word += length) {
		if (!is_syntax(word, length))
			continue;
		diag_add(work->diag, DIAG_ERROR, "plan-run", &words->place,
			 "%s: no shell reads this, so `%.*s` would be a word for the "
			 "program",
			 name, length > 40 ? 40 : (int)length, word);
		diag_fix(work->diag, "%s",
			 strpbrk(word, "<>") && word[0] != '|' && word[0] != '&'
				 ? "batch.output and batch.error name the files of the "
				   "job; or a shell: command: [bash, -c, '...']; a plain "
				   "word stands in quotes"
				 : "a shell: command: [bash, -c, '...'], or setup and "
				   "teardown; a plain word stands in quotes");
		return -EINVAL;
	}
	return 0;
}

/* NAME=VALUE in front of the program, which a shell would take for a variable. */
static int refuse_leading_variable(struct plan_work *work)
{
	const struct spec_value *command = &work->spec->run.command;
	const char *word = command->count ? command->items[0].text : "";
	const char *at = word;

	if (isalpha((unsigned char)*at) || *at == '_') {
		while (isalnum((unsigned char)*at) || *at == '_')
			at++;
	}
	if (at == word || *at != '=')
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-run", &command->items[0].place,
		 "command: no shell reads this, so %.60s would be the program", word);
	diag_fix(work->diag, "env: {%.*s: %.60s}, and the command without it",
		 (int)(at - word), word, at[1] ? at + 1 : "''");
	return -EINVAL;
}

/* `train.py --lr 0.1`: a script with its arguments; `my train.py` is a name. */
static int refuse_arguments(struct plan_work *work)
{
	const struct spec_value *script = &work->spec->run.script;
	const char *text = script->given ? script->text : "";
	const size_t length = strcspn(text, " \t");
	const char *rest = text + length + strspn(text + length, " \t");

	if (!*rest || !((length > 3 && memcmp(text + length - 3, ".py", 3) == 0) ||
			strstr(text, " --")))
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-run", &script->place,
		 "script names one file, and '%.60s' has arguments behind it", text);
	diag_fix(work->diag, "run: {script: %.*s, args: %.80s}", (int)length, text, rest);
	return -EINVAL;
}

/* What is meant for a shell, where none is. */
static int refuse_shell(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	int rc = refuse_syntax(work, "command", &spec->run.command);

	if (refuse_syntax(work, "args", &spec->run.args) < 0)
		rc = -EINVAL;
	if (refuse_leading_variable(work) < 0)
		rc = -EINVAL;
	if (refuse_arguments(work) < 0)
		rc = -EINVAL;
	return rc;
}

/* True for a word that is the same in YAML's flow style. */
static bool is_simple(const char *word)
{
	for (; *word; word++) {
		if (!isalnum((unsigned char)*word) && !strchr("_./=-", *word))
			return false;
	}
	return true;
}

/*
 * What to write for `LAUNCHER [options] SCRIPT [arguments]`. Only a script of Python's is
 * told from the launcher's options for certain.
 */
static void fix_nested(struct plan_work *work, const char *program, const char *key)
{
	const struct spec_value *lists[] = {&work->spec->run.command,
					    &work->spec->run.args};
	const char *script = NULL;
	char args[160] = "";
	size_t used = 0;

	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < lists[i]->count; k++) {
			const char *word = lists[i]->items[k].text;
			const size_t length = strlen(word);

			if (!script) {
				if (length > 3 && strcmp(word + length - 3, ".py") == 0 &&
				    is_simple(word) && word[0] != '-')
					script = word;
				continue;
			}
			if (is_simple(word) && used + length + 3 < sizeof(args))
				used += (size_t)snprintf(args + used, sizeof(args) - used,
							 "%s%s", used ? ", " : "", word);
			else
				used = sizeof(args);
			if (used >= sizeof(args))
				goto told;
		}
	}
told:
	if (used >= sizeof(args))
		strcpy(args, "...");
	if (key && script)
		diag_fix(work->diag, "%s and run: {script: %.80s%s%s%s}", key, script,
			 used ? ", args: [" : "", args, used ? "]" : "");
	else if (key)
		diag_fix(work->diag, "%s, and the program behind %s alone in run", key,
			 program);
	else if (script)
		diag_fix(work->diag,
			 "run: {script: %.80s%s%s%s}, options of srun in srun.args",
			 script, used ? ", args: [" : "", args, used ? "]" : "");
	else
		diag_fix(work->diag,
			 "the program behind %s alone in run, its options in srun.args",
			 program);
}

/* `srank exec ...`, whose second word may be the first one of the arguments. */
static bool is_srank_exec(const struct plan_work *work, const char *program)
{
	const struct spec_value *command = &work->spec->run.command;
	const struct spec_value *args = &work->spec->run.args;
	const char *word = command->count > 1 ? command->items[1].text
			   : args->count      ? args->items[0].text
					      : "";

	return work->plan->run.kind == PLAN_COMMAND && strcmp(program, "srank") == 0 &&
	       strcmp(word, "exec") == 0;
}

/*
 * A program that starts ranks itself, where one rank's program belongs: each task would
 * start as many more, and all of them would take the same port.
 */
static int refuse_nested(struct plan_work *work, const struct diag_place *place)
{
	static const struct {
		const char
			*program; /* first word of a command, or a module of Python's */
		const char *key;  /* of the spec, which says the same */
	} starters[] = {
		{"torchrun", "launcher: torchrun"},
		{"torch.distributed.run", "launcher: torchrun"},
		{"torch.distributed.launch", "launcher: torchrun"},
		{"accelerate", "launcher: accelerate"},
		{"accelerate.commands.launch", "launcher: accelerate"},
		{"deepspeed", "launcher: deepspeed"},
		{"deepspeed.launcher.runner", "launcher: deepspeed"},
		{"horovodrun", "launcher: horovod"},
		{"mpirun", "launcher: mpi"},
		{"mpiexec", "launcher: mpi"},
		{"srun", NULL},
	};
	const struct plan_run *run = &work->plan->run;
	const char *program = run->kind == PLAN_MODULE ? run->target : NULL;

	if (run->kind == PLAN_COMMAND)
		program = base_name(work->spec->run.command.items[0].text);
	if (!program)
		return 0;
	if (is_srank_exec(work, program)) {
		diag_add(work->diag, DIAG_ERROR, "plan-nested", place,
			 "srank exec is the script's to call, with the launcher of the "
			 "spec; run is what one rank runs");
		fix_nested(work, "srank exec and its options", "plugin: exec");
		return -EINVAL;
	}
	for (size_t i = 0; i < sizeof(starters) / sizeof(starters[0]); i++) {
		if (strcmp(program, starters[i].program) != 0)
			continue;
		diag_add(work->diag, DIAG_ERROR, "plan-nested", place,
			 "%s starts ranks itself, and would do so in every task; run is "
			 "what one rank runs",
			 program);
		fix_nested(work, program, starters[i].key);
		return -EINVAL;
	}
	return 0;
}

/* Which of script, command and module is given; exactly one may be. */
static int take_run(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct {
		const struct spec_value *value;
		const char *name;
		enum plan_program kind;
	} forms[] = {
		{&spec->run.script, "run.script", PLAN_SCRIPT},
		{&spec->run.module, "run.module", PLAN_MODULE},
		{&spec->run.command, "run.command", PLAN_COMMAND},
	};
	const struct diag_place file = {.file = spec->file};
	size_t first = 3;

	for (size_t i = 0; i < 3; i++) {
		if (!forms[i].value->given)
			continue;
		if (first < 3) {
			diag_add(work->diag, DIAG_ERROR, "plan-run",
				 &forms[i].value->place,
				 "%s is given beside %s; a job runs one program",
				 forms[i].name, forms[first].name);
			return -EINVAL;
		}
		first = i;
	}
	if (first == 3) {
		diag_add(work->diag, DIAG_ERROR, "plan-run", &file,
			 "the spec names no program to run");
		diag_fix(work->diag,
			 "add run.script, run.module, run.command or the section mmdet");
		return -EINVAL;
	}
	if (forms[first].kind == PLAN_COMMAND) {
		int rc = take_command(work);

		if (rc < 0)
			return rc;
	} else {
		work->plan->run.kind = forms[first].kind;
		work->plan->run.target = forms[first].value->text;
		work->plan->run.target_place = &forms[first].value->place;
	}
	return refuse_nested(work, &forms[first].value->place);
}

/* The first key of the section mmdet that is given; NULL: none is. */
static const struct spec_value *any_of_mmdet(const struct spec *spec, const char **name)
{
	const struct spec_field *section = spec_field_find(spec_fields, "mmdet");

	for (const struct spec_field *field = section->fields; field->name; field++) {
		const struct spec_value *value =
			(const void *)((const char *)spec + field->offset);

		*name = field->name;
		if (value->given)
			return value;
	}
	return NULL;
}

int plan_resolve_run(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	struct plan_run *run = &work->plan->run;
	const char *name;
	const struct spec_value *mmdet = any_of_mmdet(spec, &name);
	int rc = 0;

	if (mmdet && !spec->mmdet.config.given) {
		diag_add(work->diag, DIAG_ERROR, "plan-run", &mmdet->place,
			 "mmdet.%s is given without mmdet.config", name);
		return -EINVAL;
	}
	rc = mmdet ? plan_take_mmdet(work) : take_run(work);
	if (refuse_shell(work) < 0)
		rc = rc == -ENOMEM ? rc : -EINVAL;
	if (rc < 0)
		return rc;
	if (spec->run.python.given && (run->kind == PLAN_COMMAND || run->python))
		diag_add(work->diag, DIAG_WARNING, "plan-run", &spec->run.python.place,
			 "run.python is not used: run.command names its own program");
	if (!run->python && run->kind != PLAN_COMMAND) {
		run->python = spec->run.python.given ? spec->run.python.text : "python";
		run->python_place =
			spec->run.python.given ? &spec->run.python.place : NULL;
	}
	if (spec->run.workdir.given)
		run->workdir = spec->run.workdir.text;
	return add_words(work, &spec->run.args, 0);
}
