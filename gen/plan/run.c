/* SPDX-License-Identifier: MIT */
/*
 * What a rank runs: the section `run` in one of its three forms, or MMDetection's
 * training script with the arguments that the section `mmdet` stands for.
 */
#include "gen/plan/resolve.h"

#include "gen/spec/arena.h"
#include "spank/launch/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* MMDetection 3.x: tools/train.py, run from the root of its source tree. */
#define MMDET_SCRIPT "tools/train.py"

/*
 * The value of tools/train.py's --launcher: it reads RANK, LOCAL_RANK, WORLD_SIZE,
 * MASTER_ADDR and MASTER_PORT (mmengine/dist/utils.py), which the plugin gives to every
 * rank in the worker shape, and torchrun and accelerate to theirs in the node shape.
 */
#define MMDET_LAUNCHER "pytorch"

static int add_arg(struct plan_work *work, const char *text)
{
	struct plan *plan = work->plan;
	const char **args = spec_arena_grow(&plan->arena, plan->run.args, plan->run.count,
					    sizeof(*args));

	if (!args || !text)
		return -ENOMEM;
	plan->run.args = args;
	args[plan->run.count++] = text;
	return 0;
}

static int add_words(struct plan_work *work, const struct spec_value *words, size_t first)
{
	int rc = 0;

	for (size_t i = first; i < words->count && rc == 0; i++)
		rc = add_arg(work, words->items[i].text);
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
		first = 3;
	} else if (is_python(words[0].text) && command->count >= 2 &&
		   words[1].text[0] != '-') {
		run->kind = PLAN_SCRIPT;
		run->target = words[1].text;
		first = 2;
	}
	if (run->kind != PLAN_COMMAND)
		run->python = words[0].text;
	return add_words(work, command, first);
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
		const char *launcher;
	} starters[] = {
		{"torchrun", "torchrun"},
		{"torch.distributed.run", "torchrun"},
		{"torch.distributed.launch", "torchrun"},
		{"accelerate", "accelerate"},
		{"accelerate.commands.launch", "accelerate"},
		{"deepspeed", "deepspeed"},
		{"deepspeed.launcher.runner", "deepspeed"},
		{"horovodrun", "horovod"},
		{"mpirun", "mpi"},
		{"mpiexec", "mpi"},
		{"srun", NULL},
	};
	const struct plan_run *run = &work->plan->run;
	const char *program = run->kind == PLAN_MODULE ? run->target : NULL;

	if (run->kind == PLAN_COMMAND)
		program = base_name(work->spec->run.command.items[0].text);
	if (!program)
		return 0;
	for (size_t i = 0; i < sizeof(starters) / sizeof(starters[0]); i++) {
		if (strcmp(program, starters[i].program) != 0)
			continue;
		diag_add(work->diag, DIAG_ERROR, "plan-nested", place,
			 "%s starts ranks itself, and would do so in every task; run is "
			 "what one rank runs",
			 program);
		if (starters[i].launcher)
			diag_fix(work->diag,
				 "launcher: %s, and the program behind %s alone in run",
				 starters[i].launcher, program);
		else
			diag_fix(work->diag,
				 "the program behind %s alone in run, "
				 "its options in srun.args",
				 program);
		return -EINVAL;
	}
	return 0;
}

static bool is_option(const char *word, const char *option)
{
	size_t length = strlen(option);

	return strncmp(word, option, length) == 0 &&
	       (word[length] == '\0' || word[length] == '=');
}

/* `--launcher` or `--work-dir` in run.args would silently win over ours: argparse takes
 * the last. */
static int check_mmdet_args(struct plan_work *work)
{
	static const char *const ours[] = {"--launcher", "--work-dir"};
	const struct spec_value *args = &work->spec->run.args;
	int rc = 0;

	for (size_t i = 0; i < args->count; i++) {
		const char *word = args->items[i].text;

		if (is_option(word, ours[0])) {
			diag_add(work->diag, DIAG_ERROR, "plan-run",
				 &args->items[i].place,
				 "%s stands in run.args, but mmdet adds it to fit the "
				 "launcher; remove it",
				 ours[0]);
			rc = -EINVAL;
		} else if (is_option(word, ours[1]) && work->spec->mmdet.work_dir.given) {
			diag_add(
				work->diag, DIAG_ERROR, "plan-run", &args->items[i].place,
				"%s stands in run.args and as mmdet.work_dir; remove one",
				ours[1]);
			rc = -EINVAL;
		}
	}
	return rc;
}

static int take_mmdet(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct spec_value *other =
		spec->run.command.given ? &spec->run.command : &spec->run.module;
	struct plan_run *run = &work->plan->run;
	int rc = check_mmdet_args(work);

	if (!spec->mmdet.config.given) {
		diag_add(work->diag, DIAG_ERROR, "plan-run", &spec->mmdet.work_dir.place,
			 "mmdet.work_dir is given without mmdet.config");
		rc = -EINVAL;
	}
	if (other->given) {
		diag_add(work->diag, DIAG_ERROR, "plan-run", &other->place,
			 "mmdet runs MMDetection's own script; give run.script for "
			 "another "
			 "one, or write all arguments here and remove mmdet");
		rc = -EINVAL;
	}
	if (work->plan->launcher->bare) {
		diag_add(work->diag, DIAG_ERROR, "plan-run", &spec->launcher.place,
			 "launcher %s leaves the ranks to PMIx, and MMDetection reads "
			 "RANK, "
			 "LOCAL_RANK and MASTER_ADDR",
			 work->plan->launcher->name);
		diag_fix(work->diag, "launcher: torchrun or launcher: mmengine");
		rc = -EINVAL;
	}
	if (rc < 0)
		return rc;
	run->kind = PLAN_SCRIPT;
	run->target = spec->run.script.given ? spec->run.script.text : MMDET_SCRIPT;
	rc = add_arg(work, spec->mmdet.config.text);
	if (rc == 0 && spec->mmdet.work_dir.given) {
		rc = add_arg(work, "--work-dir");
		if (rc == 0)
			rc = add_arg(work, spec->mmdet.work_dir.text);
	}
	if (rc == 0)
		rc = add_arg(work, "--launcher");
	if (rc == 0)
		rc = add_arg(work, MMDET_LAUNCHER);
	return rc;
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
	}
	return refuse_nested(work, &forms[first].value->place);
}

int plan_resolve_run(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	struct plan_run *run = &work->plan->run;
	bool mmdet = spec->mmdet.config.given || spec->mmdet.work_dir.given;
	int rc = mmdet ? take_mmdet(work) : take_run(work);

	if (rc < 0)
		return rc;
	if (spec->run.python.given && (run->kind == PLAN_COMMAND || run->python))
		diag_add(work->diag, DIAG_WARNING, "plan-run", &spec->run.python.place,
			 "run.python is not used: run.command names its own program");
	if (!run->python && run->kind != PLAN_COMMAND)
		run->python = spec->run.python.given ? spec->run.python.text : "python";
	if (spec->run.workdir.given)
		run->workdir = spec->run.workdir.text;
	return add_words(work, &spec->run.args, 0);
}
