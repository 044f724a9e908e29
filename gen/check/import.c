/* SPDX-License-Identifier: MIT */
/*
 * Script -> spec. The numbers are those of the model, so that `srank gen` of the spec
 * asks for the same nodes, GPUs, CPUs and memory; what starts the ranks becomes
 * `launcher`, and with it the tasks are those that it needs, whatever the script said.
 * Shell code around the step is kept as it stands. What the plugin does better (address,
 * port, ranks) goes.
 */
#include "gen/check/rules.h"

#include "gen/script/quote.h"
#include "gen/spec/arena.h"
#include "gen/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LL "%" PRId64

struct import {
	struct check_model *model;
	struct diag *diag;
	FILE *out;
	const char *section; /* that was begun last */
	const struct check_launch *launch;
	bool node_shape;
};

/* ---- YAML ---- */

/* Text that YAML 1.1 reads as itself without quotes, in a list in brackets, too. */
static bool is_plain(const char *text)
{
	static const char *const words[] = {"null", "true", "false", "yes", "no",
					    "on",   "off",  "y",     "n"};

	if (!isalpha((unsigned char)text[0]) && text[0] != '/' && text[0] != '_')
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcasecmp(text, words[i]) == 0)
			return false;
	}
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789_./+-=%@")] == '\0';
}

static void quoted(FILE *out, const char *text)
{
	size_t left = strlen(text);

	fputc('"', out);
	while (left > 0) {
		uint32_t code = 0;
		size_t bytes = utf8_decode(text, left, &code);

		if (bytes == 0)
			bytes = 1;
		if (code == '"' || code == '\\')
			fprintf(out, "\\%c", (int)code);
		else if (code == '\n')
			fputs("\\n", out);
		else if (code == '\t')
			fputs("\\t", out);
		else if (utf8_is_control(code))
			fprintf(out, code > 0xff ? "\\u%04x" : "\\x%02x",
				(unsigned int)code);
		else
			fwrite(text, 1, bytes, out);
		text += bytes;
		left -= bytes;
	}
	fputc('"', out);
}

static void scalar(FILE *out, const char *text)
{
	const size_t length = strlen(text);

	/* Counts stay bare; 010 and 1:30 would be other numbers to other readers. */
	if (is_plain(text) || (length > 0 && length < 16 && text[0] != '0' &&
			       strspn(text, "0123456789") == length))
		fputs(text, out);
	else
		quoted(out, text);
}

/* Begins the line of KEY in SECTION, "" for the top. */
static void key(struct import *import, const char *section, const char *name)
{
	if (import->section != section && *section)
		fprintf(import->out, "%s:\n", section);
	import->section = section;
	fprintf(import->out, "%s%s: ", *section ? "  " : "", name);
}

static void say(struct import *import, const char *section, const char *name,
		const char *text)
{
	key(import, section, name);
	scalar(import->out, text);
	fputc('\n', import->out);
}

static void count(struct import *import, const char *section, const char *name,
		  int64_t number)
{
	key(import, section, name);
	fprintf(import->out, LL "\n", number);
}

/* An option without a value, or with one of its words. */
static void flag(struct import *import, const char *section, const char *name,
		 const char *text)
{
	if (text && *text) {
		say(import, section, name, text);
		return;
	}
	key(import, section, name);
	fputs("true\n", import->out);
}

/* TEXT as a list, split at SIGN. */
static void list(struct import *import, const char *section, const char *name,
		 const char *text, char sign)
{
	const char *separator = "";

	key(import, section, name);
	fputc('[', import->out);
	while (*text) {
		size_t length = strchrnul(text, sign) - text;
		char *item = strndup(text, length);

		fputs(separator, import->out);
		separator = ", ";
		if (item)
			scalar(import->out, item);
		free(item);
		text += length + (text[length] != '\0');
	}
	fputs("]\n", import->out);
}

/* ---- what is lost ---- */

static void note(struct import *import, struct script_range range, const char *format,
		 ...) __attribute__((format(printf, 3, 4)));

static void note(struct import *import, struct script_range range, const char *format,
		 ...)
{
	struct diag_place place = check_place(import->model, range);
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) >= 0) {
		diag_add(import->diag, DIAG_NOTE, "import", &place, "%s", text);
		free(text);
	}
	va_end(arguments);
}

/* ---- the header ---- */

enum form {
	TEXT,
	WORDS, /* a list, split at commas */
	FLAG,
	NUMBERS, /* the resources, which are written from the model */
	NOTHING,
};

static const struct {
	const char *option, *section, *key;
	enum form form;
} rows[] = {
	{"job-name", "", "name", TEXT},
	{"nodes", NULL, NULL, NUMBERS},
	{"ntasks", NULL, NULL, NUMBERS},
	{"ntasks-per-node", NULL, NULL, NUMBERS},
	{"tasks-per-node", NULL, NULL, NUMBERS},
	{"ntasks-per-gpu", NULL, NULL, NUMBERS},
	{"cpus-per-task", NULL, NULL, NUMBERS},
	{"cpus-per-gpu", NULL, NULL, NUMBERS},
	{"gres", NULL, NULL, NUMBERS},
	{"gpus", NULL, NULL, NUMBERS},
	{"gpus-per-node", NULL, NULL, NUMBERS},
	{"gpus-per-task", NULL, NULL, NUMBERS},
	{"gpu-bind", NULL, NULL, NOTHING},
	{"export", NULL, NULL, NOTHING},
	{"mem", "resources", "mem", TEXT},
	{"mem-per-cpu", "resources", "mem_per_cpu", TEXT},
	{"mem-per-gpu", "resources", "mem_per_gpu", TEXT},
	{"exclusive", "resources", "exclusive", FLAG},
	{"hint", "resources", "hint", TEXT},
	{"threads-per-core", "resources", "threads_per_core", TEXT},
	{"licenses", "resources", "licenses", TEXT},
	{"tmp", "resources", "tmp", TEXT},
	{"segment", "resources", "segment", TEXT},
	{"switches", "resources", "switches", TEXT},
	{"partition", "batch", "partition", TEXT},
	{"account", "batch", "account", TEXT},
	{"qos", "batch", "qos", TEXT},
	{"time", "batch", "time", TEXT},
	{"time-min", "batch", "time_min", TEXT},
	{"output", "batch", "output", TEXT},
	{"error", "batch", "error", TEXT},
	{"open-mode", "batch", "open_mode", TEXT},
	{"constraint", "batch", "constraint", TEXT},
	{"reservation", "batch", "reservation", TEXT},
	{"nodelist", "batch", "nodelist", TEXT},
	{"exclude", "batch", "exclude", TEXT},
	{"begin", "batch", "begin", TEXT},
	{"deadline", "batch", "deadline", TEXT},
	{"comment", "batch", "comment", TEXT},
	{"wckey", "batch", "wckey", TEXT},
	{"clusters", "batch", "clusters", TEXT},
	{"array", "batch", "array", TEXT},
	{"dependency", "batch", "dependency", TEXT},
	{"signal", "batch", "signal", TEXT},
	{"requeue", "batch", "requeue", FLAG},
	{"hold", "batch", "hold", FLAG},
	{"mail-user", "batch", "mail_user", TEXT},
	{"mail-type", "batch", "mail_type", WORDS},
	{"chdir", "run", "workdir", TEXT},
};

#define ROWS (sizeof(rows) / sizeof(*rows))

static bool is_last(const struct check_model *model, const struct script_use *use)
{
	return use->option && !use->fault && !use->lost && use->group == 0 &&
	       script_header_find(&model->header, 0, use->option->name) == use;
}

/* The rows of SECTION, in the order of the table. */
static void header(struct import *import, const char *section)
{
	for (size_t i = 0; i < ROWS; i++) {
		const struct script_use *use;

		if (!rows[i].section || strcmp(rows[i].section, section) != 0)
			continue;
		use = script_header_find(&import->model->header, 0, rows[i].option);
		if (!use)
			continue;
		if (rows[i].form == FLAG)
			flag(import, rows[i].section, rows[i].key, use->value);
		else if (rows[i].form == WORDS)
			list(import, rows[i].section, rows[i].key, use->value, ',');
		else if (use->value)
			say(import, rows[i].section, rows[i].key, use->value);
	}
}

static bool is_known(const char *option)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].option, option) == 0)
			return true;
	}
	return false;
}

/* Options that no key has a name for. */
static void extra(struct import *import)
{
	const struct script_header *all = &import->model->header;
	const char *separator = "[";

	for (size_t i = 0; i < all->uses_count; i++) {
		const struct script_use *use = &all->uses[i];
		char *word;

		if (!is_last(import->model, use) || is_known(use->option->name))
			continue;
		if (*separator == '[')
			key(import, "batch", "extra");
		if (asprintf(&word, "--%s%s%s", use->option->name, use->value ? "=" : "",
			     use->value ? use->value : "") < 0)
			continue;
		fputs(separator, import->out);
		separator = ", ";
		scalar(import->out, word);
		free(word);
	}
	if (*separator == ',')
		fputs("]\n", import->out);
}

/* ---- numbers ---- */

static int64_t amount(const struct check_job *job, enum check_quantity quantity)
{
	return exactly(&job->amount[quantity].number);
}

static void resources(struct import *import)
{
	const struct check_job *job = &import->model->jobs[0];
	const struct check_launch *launch = import->launch;
	int64_t nodes = amount(job, CHECK_NODES), gpus = amount(job, CHECK_GPUS_PER_NODE);
	int64_t tasks = amount(job, CHECK_NTASKS_PER_NODE);
	int64_t cpus = amount(job, CHECK_CPUS_PER_TASK);
	int64_t workers = exactly(&launch->setting[CHECK_KEY_NPROC].number);

	count(import, "resources", "nodes", nodes > 0 ? nodes : 1);
	if (gpus > 0)
		count(import, "resources", "gpus_per_node", gpus);
	if (gpus > 0 && job->gpu_type)
		say(import, "resources", "gpu_type", job->gpu_type);
	if (job->gres_rest)
		list(import, "resources", "gres", job->gres_rest, ',');
	if (import->node_shape) {
		/* The tasks of a node are one, with all their CPUs. */
		if (gpus < 1 && workers > 1)
			note(import, launch->setting[CHECK_KEY_NPROC].range,
			     "without GPUs the spec has one rank on each node, not " LL,
			     workers);
		if (job->cpus_per_gpu && job->cpus_per_gpu->value)
			say(import, "resources", "cpus_per_gpu",
			    job->cpus_per_gpu->value);
		else if (job->cpus_per_task && cpus > 0)
			count(import, "resources", "cpus_per_task",
			      cpus * (tasks > 0 ? tasks : 1));
	} else {
		/* A spec has a rank for each GPU, with its share of the CPUs. */
		if (gpus > 0 && tasks > 0 && tasks < gpus) {
			note(import, launch->command->range,
			     LL " task%s on a node of " LL " GPUs: the spec has " LL,
			     tasks, tasks == 1 ? "" : "s", gpus, gpus);
			if (cpus > 0 && cpus * tasks % gpus == 0)
				cpus = cpus * tasks / gpus;
			tasks = gpus;
		}
		if (tasks > 0 && tasks != gpus)
			count(import, "resources", "ntasks_per_node", tasks);
		if (job->cpus_per_gpu && job->cpus_per_gpu->value)
			say(import, "resources", "cpus_per_gpu",
			    job->cpus_per_gpu->value);
		else if (job->cpus_per_task && cpus > 0)
			count(import, "resources", "cpus_per_task", cpus);
	}
	header(import, "resources");
}

/* ---- what is run ---- */

static bool ends(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool is_launcher(const struct check_launch *launch)
{
	return launch->tool == CHECK_TORCHRUN || launch->tool == CHECK_TORCH_LAUNCH ||
	       launch->tool == CHECK_ACCELERATE;
}

static bool is_mmdet(const struct check_launch *launch)
{
	return launch->program && launch->arguments_count > 0 &&
	       (ends(launch->program->text, "tools/train.py")) &&
	       launch->arguments[0].constant && ends(launch->arguments[0].text, ".py");
}

static const char *launcher(const struct check_launch *launch)
{
	if (launch->tool == CHECK_TORCHRUN || launch->tool == CHECK_TORCH_LAUNCH)
		return "torchrun";
	if (launch->tool == CHECK_ACCELERATE)
		return "accelerate";
	if (launch->tool == CHECK_DEEPSPEED)
		return "deepspeed";
	if (launch->tool == CHECK_HOROVODRUN)
		return "horovod";
	if (is_mmdet(launch))
		return "mmengine";
	if (launch->step &&
	    (launch->step->mpi || launch->step->kind == CHECK_STEP_MPIRUN))
		return "mpi";
	if (launch->tool == CHECK_PROGRAM)
		return "mpi";
	if (launch->setting[CHECK_KEY_STRATEGY].name ||
	    launch->setting[CHECK_KEY_DEVICES].name)
		return "lightning";
	return "torch";
}

static int score(const struct check_launch *launch)
{
	const struct check_command *command = launch->command;

	/* mpirun is no more than a way to start tasks. */
	if (launch->tool == CHECK_MPIRUN ||
	    (launch->parent && launch->parent->tool != CHECK_MPIRUN) ||
	    command->uncalled || command->where == CHECK_ELSEWHERE ||
	    command->substitute || command->trapped)
		return -1;
	if (is_launcher(launch) || launch->tool == CHECK_DEEPSPEED)
		return 4;
	if (launch->step && (launch->distributed || launch->tool == CHECK_PYTHON))
		return 3;
	if (launch->step)
		return 2;
	return launch->tool == CHECK_PYTHON ? 1 : 0;
}

/* What the script is there for. */
static const struct check_launch *main_launch(const struct check_model *model)
{
	const struct check_launch *best = NULL;

	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if (score(launch) >= 0 && (!best || score(launch) >= score(best)))
			best = launch;
	}
	return best;
}

static bool all_constant(const struct check_launch *launch)
{
	for (size_t i = 0; i < launch->arguments_count; i++) {
		if (!launch->arguments[i].constant)
			return false;
	}
	return !launch->program || launch->program->constant;
}

/* A shell word that means the same in the step. */
static void shell_word(FILE *out, const struct check_value *value)
{
	if (value->constant)
		script_quote_word(out, value->text);
	else if (value->quoted)
		fprintf(out, "\"%s\"", value->text);
	else
		fputs(value->text, out);
}

static void arguments(struct import *import, const char *name, size_t from)
{
	const struct check_launch *launch = import->launch;
	const char *separator = "";

	if (launch->arguments_count <= from)
		return;
	key(import, "run", name);
	fputc('[', import->out);
	for (size_t i = from; i < launch->arguments_count; i++) {
		const char *text = launch->arguments[i].text;

		/* The ranks come from the launcher that starts them. */
		if (import->node_shape && i > 0 && strcmp(text, "slurm") == 0 &&
		    strcmp(launch->arguments[i - 1].text, "--launcher") == 0)
			text = "pytorch";
		if (import->node_shape && strcmp(text, "--launcher=slurm") == 0)
			text = "--launcher=pytorch";
		fputs(separator, import->out);
		separator = ", ";
		scalar(import->out, text);
	}
	fputs("]\n", import->out);
}

/* Expansions are left to a shell in every task. */
static void by_shell(struct import *import)
{
	const struct check_launch *launch = import->launch;
	const struct check_command *command = launch->command;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	fputs("exec ", out);
	if (is_launcher(launch)) {
		fputs(launch->module ? "python -m " : "python ", out);
		shell_word(out, launch->program);
		for (size_t i = 0; i < launch->arguments_count; i++) {
			fputc(' ', out);
			shell_word(out, &launch->arguments[i]);
		}
	} else {
		for (size_t i = 0; i < command->words_count; i++) {
			if (i > 0)
				fputc(' ', out);
			shell_word(out, &command->words[i]);
		}
	}
	if (fclose(out) == 0) {
		key(import, "run", "command");
		fputs("[bash, -c, ", import->out);
		scalar(import->out, text);
		fputs("]\n", import->out);
		note(import, command->range,
		     "the words of this command hold variables, which a shell in each "
		     "task "
		     "expands");
	}
	free(text);
}

/* True when all arguments of tools/train.py have keys of their own. */
static bool mmdet(struct import *import, bool write)
{
	const struct check_launch *launch = import->launch;

	if (!is_mmdet(launch) || !all_constant(launch))
		return false;
	if (write)
		say(import, "mmdet", "config", launch->arguments[0].text);
	for (size_t i = 1; i < launch->arguments_count; i++) {
		const char *text = launch->arguments[i].text, *value = strchr(text, '=');
		const size_t length = strcspn(text, "=");
		const char *name = NULL;

		if (length == 10 && strncmp(text, "--work-dir", 10) == 0)
			name = "work_dir";
		else if (length == 10 && strncmp(text, "--launcher", 10) == 0)
			name = "";
		else if (strcmp(text, "--amp") == 0 ||
			 strcmp(text, "--auto-scale-lr") == 0) {
			if (write)
				key(import, "mmdet",
				    text[3] == 'm' ? "amp" : "auto_scale_lr");
			if (write)
				fputs("true\n", import->out);
			continue;
		} else {
			return false;
		}
		if (value)
			value++;
		else if (++i < launch->arguments_count)
			value = launch->arguments[i].text;
		else
			return false;
		if (*name && write)
			say(import, "mmdet", name, value);
	}
	return true;
}

static void run(struct import *import)
{
	const struct check_launch *launch = import->launch;
	const struct check_command *command = launch->command;
	const bool python = launch->tool == CHECK_PYTHON;

	if (mmdet(import, false)) {
		mmdet(import, true);
		return;
	}
	if (!all_constant(launch)) {
		by_shell(import);
	} else if (launch->program && (is_launcher(launch) || python) &&
		   /* python -u X is more than an interpreter's name. */
		   (!python || command->operand == (launch->module ? 2u : 1u))) {
		if (python && strcmp(command->words[0].text, "python") != 0)
			say(import, "run", "python", command->words[0].text);
		say(import, "run", launch->module ? "module" : "script",
		    launch->program->text);
		arguments(import, "args", 0);
	} else {
		const char *separator = "[";

		key(import, "run", "command");
		for (size_t i = 0; i < command->words_count; i++) {
			fputs(separator, import->out);
			separator = ", ";
			scalar(import->out, command->words[i].text);
		}
		fputs("]\n", import->out);
	}
	header(import, "run");
}

/* ---- the shell code around it ---- */

static bool is_rendezvous(const char *name)
{
	static const char *const names[] = {
		"MASTER_ADDR", "MASTER_PORT",      "RANK",
		"WORLD_SIZE",  "LOCAL_RANK",       "NODE_RANK",
		"NNODES",      "LOCAL_WORLD_SIZE", "SRUN_CPUS_PER_TASK",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

/* $NAME or ${NAME} somewhere outside of the bytes from BEGIN to END, or of SELF. */
static bool is_used(const struct check_model *model, const char *name,
		    struct script_range but, struct script_range self)
{
	const char *text = model->source.text, *end = text + model->source.length;
	const size_t length = strlen(name);
	const char *at = text;

	while ((at = memmem(at, (size_t)(end - at), name, length))) {
		const uint32_t here = (uint32_t)(at - text);
		const char *behind = at + length;

		at = behind;
		if ((here >= but.begin && here < but.end) ||
		    (here >= self.begin && here < self.end) || here < 2)
			continue;
		if (behind < end && (isalnum((unsigned char)*behind) || *behind == '_'))
			continue;
		if (text[here - 1] == '$' ||
		    (text[here - 1] == '{' && text[here - 2] == '$'))
			return true;
	}
	return false;
}

/* CONFIG=a.py, of which the main command alone makes use: its value is in the spec. */
static bool is_spent(const struct import *import, const struct check_assignment *set)
{
	const struct check_launch *launch = import->launch;
	const struct check_command *command =
		launch->step ? launch->step->command : launch->command;

	return set->export == CHECK_KEPT && set->value.constant && !set->opaque &&
	       !set->conditional && !set->command && command->node &&
	       !is_used(import->model, set->name, command->node->range, set->range);
}

/* A command that only sets what the plugin sets, or what is in the spec already. */
static bool is_superfluous(const struct import *import, const struct shell_node *node)
{
	const struct check_model *model = import->model;
	bool any = false;

	if (node->kind != SHELL_COMMAND)
		return false;
	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];

		if (set->range.begin < node->range.begin ||
		    set->range.end > node->range.end)
			continue;
		any = true;
		if (!is_rendezvous(set->name) && !is_spent(import, set))
			return false;
	}
	if (any)
		return true;
	/* export MASTER_ADDR MASTER_PORT */
	if (node->words && node->words->literal &&
	    strcmp(node->words->text, "export") == 0) {
		for (const struct shell_word *word = node->words->next; word;
		     word = word->next) {
			if (!word->literal || !is_rendezvous(word->text))
				return false;
		}
		return node->words->next != NULL;
	}
	return node->words && node->words->literal &&
	       strcmp(node->words->text, "wait") == 0;
}

static bool is_text(const char *text, size_t length)
{
	while (length > 0) {
		uint32_t code = 0;
		size_t bytes = utf8_decode(text, length, &code);

		if (bytes == 0 || (utf8_is_control(code) && code != '\n' && code != '\t'))
			return false;
		text += bytes;
		length -= bytes;
	}
	return true;
}

/* Code in a literal block, each line as it stands. */
static void block(struct import *import, const char *name, bool *begun,
		  struct script_range range)
{
	const char *text = import->model->source.text;
	FILE *out = import->out;

	while (range.end > range.begin && isspace((unsigned char)text[range.end - 1]))
		range.end--;
	if (range_is_empty(range))
		return;
	if (!is_text(text + range.begin, range.end - range.begin)) {
		note(import, range, "this code has control characters and was left out");
		return;
	}
	if (!*begun)
		fprintf(out, "%s:\n", name);
	import->section = name;
	*begun = true;
	fputs("  - |\n", out);
	while (range.begin < range.end) {
		const char *stop =
			memchr(text + range.begin, '\n', range.end - range.begin);
		const uint32_t end = stop ? (uint32_t)(stop - text) : range.end;

		if (end > range.begin)
			fprintf(out, "    %.*s", (int)(end - range.begin),
				text + range.begin);
		fputc('\n', out);
		range.begin = end + 1;
	}
}

/* The commands before the one that holds AT, or behind it. */
static void around(struct import *import, const char *name, uint32_t at, bool before)
{
	const struct check_model *model = import->model;
	const struct shell_node *node = model->program.list;
	bool begun = false;
	struct script_range run = {0, 0};

	for (; node; node = node->next) {
		uint32_t next = node->next ? node->next->range.begin
					   : (uint32_t)model->source.length;
		const bool here = at >= node->range.begin && at < next;

		/* Neighbours make one block, with the remarks between them. */
		if (here || before != (node->range.begin < at) ||
		    is_superfluous(import, node)) {
			block(import, name, &begun, run);
			run = (struct script_range){0, 0};
			continue;
		}
		if (range_is_empty(run))
			run.begin = node->range.begin;
		run.end = next;
	}
	block(import, name, &begun, run);
}

/* ---- the step ---- */

static void step(struct import *import, const struct check_step *step)
{
	static const char *const numbers[] = {
		"nodes",    "ntasks",        "ntasks-per-node", "cpus-per-task", "gres",
		"gpus",     "gpus-per-node", "gpus-per-task",   "gpu-bind",      "export",
		"job-name", "partition",     "account",         "time",          "mem",
		"exact",    "cpus-per-gpu",  "srank",
	};
	static const struct {
		const char *option, *section, *key;
	} keys[] = {
		{"mpi", "srun", "mpi"},     {"kill-on-bad-exit", "srun", NULL},
		{"label", "srun", "label"}, {"unbuffered", "srun", "unbuffered"},
		{"wait", "srun", "wait"},   {"distribution", "srun", "distribution"},
	};
	const char *separator = "[";

	if (!step || step->kind != CHECK_STEP_SRUN)
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const struct script_use *use = check_step_find(step, keys[i].option);

		if (!use || !keys[i].key)
			continue;
		/* PMI is for MPI programs. */
		if (strcmp(keys[i].option, "mpi") == 0 &&
		    strcmp(launcher(import->launch), "mpi") != 0)
			continue;
		if (use->value)
			say(import, "srun", keys[i].key, use->value);
		else
			flag(import, "srun", keys[i].key, NULL);
	}
	for (size_t i = 0; i < step->uses_count; i++) {
		const struct script_use *use = &step->uses[i];
		bool known = !use->option || use->fault;
		char *word;

		for (size_t j = 0; !known && j < sizeof(numbers) / sizeof(*numbers); j++)
			known = strcmp(numbers[j], use->option->name) == 0;
		for (size_t j = 0; !known && j < sizeof(keys) / sizeof(*keys); j++)
			known = strcmp(keys[j].option, use->option->name) == 0;
		/* Switches and networks: see the rule network-option. */
		if (known || strcmp(use->option->name, "network") == 0)
			continue;
		if (asprintf(&word, "--%s%s%s", use->option->name, use->value ? "=" : "",
			     use->value ? use->value : "") < 0)
			continue;
		if (*separator == '[')
			key(import, "srun", "args");
		fputs(separator, import->out);
		separator = ", ";
		scalar(import->out, word);
		free(word);
	}
	if (*separator == ',')
		fputs("]\n", import->out);
}

static void write_spec(struct import *import)
{
	const struct check_launch *launch = import->launch;
	const struct check_command *command =
		launch->step ? launch->step->command : launch->command;
	uint32_t at = command->range.begin;

	import->node_shape = is_launcher(launch);
	header(import, "");
	say(import, "", "launcher", launcher(launch));
	run(import);
	resources(import);
	header(import, "batch");
	extra(import);
	step(import, launch->step);
	around(import, "setup", at, true);
	around(import, "teardown", at, false);
	if (command->stages > 1 || (command->node && command->node->redirects))
		note(import, command->range,
		     "where this command's output goes was left out: batch.output has it "
		     "all");
	if (command->loops > 0 || command->conditional || command->function)
		note(import, command->range,
		     "this command stands in a loop, a branch or a function, and the "
		     "spec runs "
		     "it once");
	if (import->model->jobs_count > 1)
		note(import,
		     import->model->jobs[1].nodes ? import->model->jobs[1].nodes->range
						  : command->range,
		     "the spec has the first part of this heterogeneous job only");
}

int check_import(FILE *out, const char *file, const char *text, size_t length,
		 const struct check_options *options, struct diag *diag)
{
	struct check_model model = {0};
	struct check_request request = {
		.file = file,
		.text = text,
		.length = length,
		.slurm = options->slurm,
		.site = options->site,
		.arguments = options->arguments,
		.arguments_count = options->arguments_count,
		.environment = options->environment,
		.environment_count = options->environment_count,
	};
	struct import import = {.model = &model, .diag = diag, .out = out, .section = ""};
	struct diag_place place = {.file = file};
	int rc = check_model_make(&model, &request);

	if (rc < 0)
		goto out;
	diag_source(diag, file, text, length);
	import.launch = main_launch(&model);
	if (!import.launch) {
		diag_add(diag, DIAG_ERROR, "import", &place,
			 "no command in it starts a program that a spec could run");
		rc = -EINVAL;
		goto out;
	}
	write_spec(&import);
out:
	check_model_clear(&model);
	return rc;
}
