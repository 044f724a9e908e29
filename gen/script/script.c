/* SPDX-License-Identifier: MIT */
/*
 * Plan -> script: the header, and behind it the body from the launcher's template. What
 * no script can do is refused here, with its place in the spec.
 */
#include "gen/script/script.h"

#include "gen/script/options.h"
#include "gen/script/parts.h"
#include "gen/script/shell.h"
#include "gen/script/uses.h"
#include "gen/spec/within.h"
#include "spank/launch/settings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int script_folder(const struct spec_value *pattern, char **folder)
{
	const char *text = pattern->given ? pattern->text : "";
	size_t length = strcspn(text, "%");

	*folder = NULL;
	while (length > 0 && text[length - 1] != '/')
		length--;
	while (length > 0 && text[length - 1] == '/')
		length--;
	if (length == 0)
		return 0;
	/* As an argument of mkdir or sbatch, "-p" would be an option. */
	if (asprintf(folder, "%s%.*s", text[0] == '-' ? "./" : "", (int)length, text) < 0)
		*folder = NULL;
	return *folder ? 0 : -ENOMEM;
}

/* Says that TEXT, which looks as if a shell would expand it, is taken as it is. */
static void warn_literal(const char *text, const struct diag_place *place,
			 const char *fix, struct diag *diag)
{
	const char *at = text;

	/* A `$` in front of something else is one for a shell as well. */
	while ((at = strchr(at, '$')) && !(at[1] == '_' || at[1] == '{' || at[1] == '(' ||
					   isalpha((unsigned char)at[1])))
		at++;
	/* `~/x`, `~user/x`; `~30` is a number that is about right. */
	if (!at && !strchr(text, '`') &&
	    !(text[0] == '~' && (!text[1] || text[1] == '/' || strchr(text, '/'))))
		return;
	diag_add(diag, DIAG_WARNING, "script-literal", place,
		 "`%s` is taken as it is, nothing in it is expanded", text);
	diag_fix(diag, "%s", fix);
}

/* `bash -c ...`: a shell of each rank's own expands the words. */
static bool is_shell_code(const struct spec_value *command)
{
	static const char *const shells[] = {"bash", "sh", "dash", "zsh", "ksh"};

	for (size_t i = 0; i + 1 < command->count; i++) {
		const char *word = command->items[i].text;
		const char *slash = strrchr(word, '/');
		const char *next = command->items[i + 1].text;

		for (size_t k = 0; k < sizeof(shells) / sizeof(*shells); k++) {
			if (strcmp(slash ? slash + 1 : word, shells[k]) == 0 &&
			    next[0] == '-' && next[strlen(next) - 1] == 'c')
				return true;
		}
	}
	return false;
}

static void warn_literals(const struct spec *spec, struct diag *diag)
{
	static const char path[] = "write the path out";
	static const char cd[] = "write the path out, or use cd in setup";
	static const char export[] = "write the value out, or use export in setup";
	static const char source[] = "write the path out, or use source in setup";
	static const char out[] = "write the value out";
	static const char shells[] =
		"write the value out, or have a shell in each rank expand it: command: "
		"[bash, -c, '...']";
	const bool shell = is_shell_code(&spec->run.command);
	const struct {
		const struct spec_value *value;
		const char *fix;
	} paths[] = {
		{&spec->run.script, path},
		{&spec->mmdet.config, path},
		{&spec->mmdet.work_dir, path},
		{&spec->run.workdir, cd},
		{&spec->venv, source},
		{&spec->conda.env, source},
		{&spec->conda.root, source},
		{&spec->container.image, path},
		{&spec->container.workdir, path},
	};
	const struct {
		const struct spec_value *list;
		const char *fix;
	} lists[] = {
		{&spec->env, export},
		{&spec->modules.use, path},
		{&spec->container.mounts, path},
		{&spec->srun.args, out},
		{shell ? NULL : &spec->run.command, shells},
		{shell ? NULL : &spec->run.args, shells},
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (paths[i].value->given)
			warn_literal(paths[i].value->text, &paths[i].value->place,
				     paths[i].fix, diag);
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		const struct spec_value *list = lists[i].list;

		for (size_t k = 0; list && k < list->count; k++)
			warn_literal(list->items[k].text, &list->items[k].place,
				     lists[i].fix, diag);
	}
}

/* An error at the value, when it is given; FIX may be NULL. */
static int refuse(struct script_work *work, const struct spec_value *value,
		  const char *rule, const char *message, const char *fix)
{
	diag_add(work->diag, DIAG_ERROR, rule, value->given ? &value->place : NULL, "%s",
		 message);
	if (fix)
		diag_fix(work->diag, "%s", fix);
	return -EINVAL;
}

/* What needs more than the shell of a task knows. */
static int check_shell(struct script_work *work)
{
	static const char rule[] = "script-shell";
	static const char fix[] =
		"plugin: exec has `srank exec` do it, plugin: require the plugin";
	const struct spec *spec = work->spec;
	const struct plan *plan = work->plan;
	struct launch_settings settings;
	struct launch_error err = {0};
	int rc = 0;

	if (plan->means != SPEC_MEANS_SHELL || plan->launcher->bare)
		return 0;
	launch_settings_init(&settings);
	if (launch_settings_parse(&settings, plan->srank, &err) < 0)
		return -EINVAL;
	if (launch_launcher_takes(plan->launcher, LAUNCH_VALUE_TF_CONFIG))
		rc = refuse(work, &spec->launcher, rule,
			    "TF_CONFIG lists the addresses of all ranks, which plain "
			    "shell does not find out",
			    fix);
	if (settings.gpus == LAUNCH_GPUS_FIRST)
		rc = refuse(work, &spec->binding.gpus, rule,
			    "plain shell cannot put a task's own GPU in front of the "
			    "others",
			    "binding.gpus: mask has Slurm hide the others");
	if (strcmp(plan->rendezvous.addr, "name") != 0)
		rc = refuse(work, &spec->rendezvous.addr, rule,
			    "plain shell knows rank 0's node by its name alone", fix);
	if (plan->components_count)
		rc = refuse(work, &spec->launcher, rule,
			    "in a heterogeneous job plain shell does not find rank 0",
			    fix);
	return rc;
}

static int check_container(struct script_work *work, const struct spec *spec)
{
	static const char rule[] = "script-container";
	const uint64_t runtime =
		spec->container.runtime.given ? spec->container.runtime.number : 0;
	int rc = 0;

	if (spec->container.image.given && !spec->container.runtime.given) {
		diag_add(work->diag, DIAG_ERROR, rule, &spec->container.image.place,
			 "nothing says what runs the container");
		diag_fix(work->diag, "container.runtime: pyxis, apptainer or "
				     "singularity; a site says it for all in defaults");
		return -EINVAL;
	}
	if (runtime == SPEC_RUNTIME_NONE)
		return 0;
	if (!spec->container.image.given &&
	    (runtime != SPEC_RUNTIME_PYXIS || !spec->container.name.given))
		rc = refuse(work, &spec->container.runtime, rule,
			    "container.image is missing", NULL);
	if (runtime != SPEC_RUNTIME_PYXIS && spec->container.name.given)
		rc = refuse(work, &spec->container.name, rule,
			    "only pyxis keeps containers by name", "remove it");
	for (size_t i = 0; i < spec->container.mounts.count; i++) {
		const struct spec_item *mount = &spec->container.mounts.items[i];

		if (!strchr(mount->text, ','))
			continue;
		diag_add(work->diag, DIAG_ERROR, rule, &mount->place,
			 "a mount cannot have a comma, which %s takes for the end of it",
			 spec->container.runtime.text);
		rc = -EINVAL;
	}
	if (runtime == SPEC_RUNTIME_PYXIS && work->plan->means == SPEC_MEANS_EXEC)
		diag_add(work->diag, DIAG_NOTE, rule, &spec->container.runtime.place,
			 "`srank exec` runs inside the container, so the image must have "
			 "it");
	return rc;
}

static int check_containers(struct script_work *work)
{
	const struct plan *plan = work->plan;
	int rc = 0;

	if (!plan->components_count)
		return check_container(work, work->spec);
	for (size_t i = 0; i < plan->components_count; i++) {
		if (check_container(work, &plan->component_specs[i]) < 0)
			rc = -EINVAL;
	}
	return rc;
}

static bool lists(const struct spec_value *words, const char *word)
{
	for (size_t i = 0; i < words->count; i++) {
		if (strcmp(words->items[i].text, word) == 0)
			return true;
	}
	return false;
}

/* All but `fail` unless the spec says which. */
static bool after_timeout(const struct spec *spec)
{
	return spec->retry.max.given && spec->retry.max.number &&
	       (!spec->retry.on.given || lists(&spec->retry.on, "timeout"));
}

static int check_signal(struct script_work *work)
{
	static const char rule[] = "script-signal";
	const struct spec *spec = work->spec;
	const struct plan_batch *batch = &work->plan->batch;
	const char *name = batch->signal_parts.name ? batch->signal_parts.name : "";
	int rc = 0;

	if (batch->signal_parts.batch &&
	    (strcmp(name, "KILL") == 0 || strcmp(name, "9") == 0 ||
	     strcmp(name, "STOP") == 0 || strcmp(name, "19") == 0))
		rc = refuse(work, &spec->batch.signal.name, rule,
			    "no shell can catch this signal, so the ranks would not get "
			    "it",
			    "signal: USR1, or batch: no for the tasks alone");
	if (after_timeout(spec) && (strcmp(name, "TERM") == 0 || strcmp(name, "15") == 0))
		rc = refuse(work, &spec->batch.signal.name, rule,
			    "scancel sends TERM, too, and a job that was cancelled would "
			    "start again",
			    "signal: USR1");
	if (after_timeout(spec) && name[0] && !batch->signal_parts.batch)
		rc = refuse(work, &spec->batch.signal.batch, rule,
			    "the shell must get the signal to start the job again after "
			    "a timeout",
			    "batch: yes");
	if (spec->retry.max.given && spec->retry.max.number &&
	    spec->batch.requeue.given && !spec->batch.requeue.number)
		rc = refuse(work, &spec->batch.requeue, rule,
			    "retry starts the job again, and requeue forbids it",
			    "remove one of them");
	if (spec->retry.exclude_bad_nodes.given && spec->retry.exclude_bad_nodes.number)
		rc = refuse(
			work, &spec->retry.exclude_bad_nodes, "script-retry",
			"when a program fails nothing tells which node was at fault, "
			"if any",
			"remove it: nodes that fail themselves are taken out of use by "
			"Slurm, and batch.exclude leaves out others");
	return rc;
}

/* An option of srun whose number is the plan's, and is the same; of none: false. */
static bool says_the_same(const struct plan *plan, const struct script_use *use)
{
	char number[24];

	if (use->option->source != SCRIPT_FROM_PLAN &&
	    use->option->source != SCRIPT_FROM_TASKS)
		return false;
	snprintf(number, sizeof(number), "%" PRIu64,
		 plan_value(plan, use->option->quantity));
	return plan_known(plan, use->option->quantity) && use->value &&
	       strcmp(use->value, number) == 0;
}

/* What srun.args may not say, for the step would be another one than was planned. */
static int check_srun(struct script_work *work)
{
	static const char rule[] = "script-srun";
	const struct spec_value *args = &work->spec->srun.args;
	const script_slurm slurm = (script_slurm)spec_site_slurm(work->site);
	struct script_word *words;
	struct script_use *uses;
	size_t count, end;
	int rc;

	words = spec_arena_alloc(&work->arena, (args->count + 1) * sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < args->count; i++)
		words[i].text = args->items[i].text;
	rc = script_uses_read(SCRIPT_SRUN, slurm, true, words, args->count, &work->arena,
			      &uses, &count, &end);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		const struct script_use *use = &uses[i];
		const struct spec_item *item = &args->items[use->word];
		const char *name = use->option ? use->option->name : "";

		if (strcmp(name, "export") == 0 && use->value &&
		    strncasecmp(use->value, "NONE", 4) == 0) {
			diag_add(work->diag, DIAG_ERROR, rule, &item->place,
				 "`%.60s` keeps the variables of the script from the "
				 "ranks",
				 item->text);
			diag_fix(work->diag, "remove it");
			rc = -EINVAL;
		} else if (use->option && use->option->owned &&
			   !says_the_same(work->plan, use)) {
			diag_add(work->diag, DIAG_ERROR, rule, &item->place,
				 "`%.60s` would start another step than the one that is "
				 "planned",
				 item->text);
			diag_fix(work->diag, "say it by the keys of resources");
			rc = -EINVAL;
		}
	}
	return rc;
}

/* The cure for code that is in pieces. */
static const char whole[] = "end within the code what begins in it; the script goes on "
			    "behind it";

/* Shell code of the spec under examination. */
struct code {
	struct script_work *work;
	const char *name; /* "setup of the site" */
	const struct spec_value *lines;
	const char *text; /* all items, each with a line end */
	size_t length;
	bool before; /* the ranks run behind it */
};

/* Tells what bytes BEGIN up to END of the code are about, at their place in the spec. */
static void tell_code(const struct code *code, enum diag_severity severity, size_t begin,
		      size_t end, const char *fix, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

static void tell_code(const struct code *code, enum diag_severity severity, size_t begin,
		      size_t end, const char *fix, const char *format, ...)
{
	struct diag *diag = code->work->diag;
	struct diag_place place = code->lines->place;
	size_t start = 0;
	char *text = NULL;
	va_list list;

	/* What is missing at the end is missed behind the last word. */
	while (begin > 0 && (begin >= code->length || strchr(" \t\n", code->text[begin])))
		begin--;
	for (size_t i = 0; i < code->lines->count; i++) {
		const struct spec_item *item = &code->lines->items[i];
		const size_t length = strlen(item->text);

		if (begin <= start + length) {
			place = item->place;
			spec_place_within(&place, diag, item->text, length, begin - start,
					  end > begin ? end - start : 0);
			break;
		}
		start += length + 1;
	}
	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	diag_add(diag, severity, "script-code", &place, "%s", text ? text : code->name);
	free(text);
	if (fix)
		diag_fix(diag, "%s", fix);
}

/*
 * The code may end in && or a backslash, and would take the script's next command with
 * it.
 */
static int check_end(const struct code *code)
{
	struct spec_arena **arena = &code->work->arena;
	struct shell_program program;
	struct shell_text text = {0};
	const struct shell_node *last;
	int rc;

	text.bytes = spec_arena_format(arena, "%s:\n", code->text);
	if (!text.bytes)
		return -ENOMEM;
	text.length = code->length + 2;
	rc = shell_read(&program, &text, arena);
	if (rc < 0)
		return rc;
	for (last = program.list; last && last->next;)
		last = last->next;
	if (!last || (last->range.begin == code->length && last->link == SHELL_THEN))
		return 0;
	tell_code(code, DIAG_ERROR, code->length, 0, whole,
		  "%s is no whole piece of shell code: its last command goes on",
		  code->name);
	return -EINVAL;
}

/* Whether the shell always ends with COMMAND, or becomes another program. */
static bool is_end(const struct shell_node *command, const char **how)
{
	const struct shell_word *word = command->words;

	if (command->kind != SHELL_COMMAND || !word || !word->literal || !word->bare)
		return false;
	*how = word->text;
	/* exec with redirections alone goes on. */
	return strcmp(word->text, "exit") == 0 ||
	       (strcmp(word->text, "exec") == 0 && command->words_count > 1);
}

/* A command of LIST, outside of branches, at which the shell ends for certain. */
static const struct shell_node *find_end(const struct shell_node *list, const char **how)
{
	for (; list; list = list->next) {
		const struct shell_node *found = NULL;

		if (list->background || list->link != SHELL_THEN)
			continue;
		if (is_end(list, how))
			return list;
		if (list->kind == SHELL_GROUP || list->kind == SHELL_LIST)
			found = find_end(list->children, how);
		if (found)
			return found;
	}
	return NULL;
}

/* Code that never comes to its end. */
static int check_exit(const struct code *code, const struct shell_program *program)
{
	const char *how;
	const struct shell_node *end = find_end(program->list, &how);

	if (!end)
		return 0;
	if (code->before) {
		tell_code(code, DIAG_ERROR, end->range.begin, end->range.end,
			  "remove it; what is to end the job stands behind a condition, "
			  "as in [ -d data ] || exit 1",
			  "%s ends the job with `%s` before its ranks start", code->name,
			  how);
		return -EINVAL;
	}
	tell_code(code, DIAG_WARNING, end->range.begin, end->range.end,
		  "remove it: the job then ends as its ranks have ended",
		  "%s ends with `%s`, so a job that failed has the exit code of that",
		  code->name, how);
	return 0;
}

/* `trap ... EXIT`, by which signal names it (bash.1, trap). */
static bool traps_exit(const struct shell_node *command)
{
	const struct shell_word *word = command->words;

	if (command->kind != SHELL_COMMAND || command->words_count < 3 ||
	    !word->literal || strcmp(word->text, "trap") != 0)
		return false;
	word = word->next;
	/* It only prints what there is. */
	if (word->literal && strcmp(word->text, "-p") == 0)
		return false;
	while ((word = word->next)) {
		if (word->literal &&
		    (strcasecmp(word->text, "EXIT") == 0 || strcmp(word->text, "0") == 0))
			return true;
	}
	return false;
}

/* A command of LIST, in this shell itself, that traps the shell's end. */
static const struct shell_node *find_trap(const struct shell_node *list)
{
	for (; list; list = list->next) {
		const struct shell_node *found = NULL;

		if (list->background)
			continue;
		if (traps_exit(list))
			return list;
		if (list->kind != SHELL_SUBSHELL && list->kind != SHELL_FUNCTION &&
		    list->kind != SHELL_PIPELINE)
			found = find_trap(list->children);
		if (found)
			return found;
	}
	return NULL;
}

/* A shell has one trap for its end, and teardown runs by it. */
static int check_trap(const struct code *code, const struct shell_program *program)
{
	const struct shell_node *trap;

	if (!code->before || !code->work->spec->teardown.given)
		return 0;
	trap = find_trap(program->list);
	if (!trap)
		return 0;
	tell_code(code, DIAG_ERROR, trap->range.begin, trap->range.end,
		  "put what it runs into teardown",
		  "%s sets a trap for EXIT in the place of that by which teardown runs",
		  code->name);
	return -EINVAL;
}

/* The code can be read to its end, ends in itself, and lets the script go on. */
static int check_code(struct code *code)
{
	struct shell_program program;
	struct shell_text text = {0};
	enum shell_fault_kind kind;
	bool certain, open;
	int rc;

	code->text = "";
	for (size_t i = 0; i < code->lines->count; i++) {
		code->text = spec_arena_format(&code->work->arena, "%s%s\n", code->text,
					       code->lines->items[i].text);
		if (!code->text)
			return -ENOMEM;
	}
	code->length = strlen(code->text);
	text.bytes = code->text;
	text.length = code->length;
	rc = shell_read(&program, &text, &code->work->arena);
	if (rc < 0 || code->lines->count == 0)
		return rc;
	kind = program.fault.kind;
	if (kind == SHELL_TOO_DEEP)
		return 0;
	if (kind == SHELL_FINE) {
		rc = check_end(code);
		if (rc == 0)
			rc = check_exit(code, &program);
		return rc < 0 ? rc : check_trap(code, &program);
	}
	open = kind == SHELL_UNEXPECTED && program.fault.range.begin >= code->length;
	/* Only extglob, set in a line before, makes words of what are none otherwise. */
	certain = kind != SHELL_UNEXPECTED || open || !strstr(code->text, "extglob");
	tell_code(code, certain ? DIAG_ERROR : DIAG_WARNING, program.fault.range.begin,
		  program.fault.range.end, whole,
		  "%s is no whole piece of shell code: %s", code->name,
		  open ? "its last command goes on" : shell_fault_text(kind));
	return certain ? -EINVAL : 0;
}

static int check_codes(struct script_work *work)
{
	struct code codes[] = {
		{.name = "setup of the site",
		 .lines = &work->site->setup,
		 .before = true},
		{.name = "setup", .lines = &work->spec->setup, .before = true},
		{.name = "teardown", .lines = &work->spec->teardown},
	};
	int result = 0;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		int rc;

		codes[i].work = work;
		rc = check_code(&codes[i]);
		if (rc < 0)
			result = rc;
	}
	return result;
}

int script_write(FILE *out, const struct spec *spec, const struct plan *plan,
		 const struct spec_site *site, const struct script_point *point,
		 struct script_templates *templates, struct script_origins *origins,
		 struct diag *diag)
{
	struct script_work work = {
		.spec = spec,
		.plan = plan,
		.site = site,
		.point = point,
		.origins = origins,
		.diag = diag,
	};
	struct script_template template = {0};
	struct script_value *root = NULL;
	int rc = 0;

	if (check_shell(&work) < 0)
		rc = -EINVAL;
	if (check_containers(&work) < 0)
		rc = -EINVAL;
	if (check_signal(&work) < 0)
		rc = -EINVAL;
	if (check_codes(&work) < 0)
		rc = -EINVAL;
	if (check_srun(&work) < 0)
		rc = -EINVAL;
	if (spec->preflight.given && spec->preflight.number && plan->components_count)
		rc = refuse(&work, &spec->preflight, "script-preflight",
			    "preflight looks at nodes that are alike, and those of a "
			    "heterogeneous job are not",
			    "remove it");
	if (rc < 0)
		goto out;
	/* The launcher's own template, else the one of its shape. */
	rc = script_templates_find(plan->launcher->name, &template, templates, diag);
	if (rc == -ENOENT)
		rc = script_templates_find(launch_shape_name(plan->shape), &template,
					   templates, diag);
	if (rc == -ENOENT) {
		diag_add(diag, DIAG_ERROR, "script-template", NULL,
			 "there is no template for launcher %s: neither %s.mustache nor "
			 "%s.mustache",
			 plan->launcher->name, plan->launcher->name,
			 launch_shape_name(plan->shape));
		rc = -EINVAL;
	}
	if (rc < 0)
		goto out;
	rc = script_header(out, &work);
	if (rc == 0)
		rc = script_context(&work, &root);
	if (rc == 0)
		rc = script_mustache(out, &template, root, script_templates_find,
				     templates, origins, diag);
	if (rc == 0 && origins && origins->failed)
		rc = -ENOMEM;
	if (rc == 0)
		warn_literals(spec, diag);
	if (rc == 0 && ferror(out))
		rc = -EIO;
out:
	script_value_free(root);
	spec_arena_free(&work.arena);
	return rc;
}
