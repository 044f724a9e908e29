/* SPDX-License-Identifier: MIT */
/*
 * Script -> spec. The numbers are those of the model, so that `srank gen` of the spec
 * asks for the same nodes, GPUs, CPUs and memory; what starts the ranks becomes
 * `launcher`, and with it the tasks are those that it needs, whatever the script said.
 * Shell code around the step is kept as it stands. What the plugin does better (address,
 * port, ranks) goes. What a spec cannot say is told, and where the job would run
 * something else for want of it, there is an error and no spec.
 */
#include "gen/check/import.h"

#include "gen/plan/plan.h"
#include "gen/script/quote.h"
#include "gen/script/script.h"
#include "gen/spec/arena.h"
#include "gen/spec/spec.h"
#include "gen/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LL "%" PRId64

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

void check_import_scalar(FILE *out, const char *text)
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
void check_import_key(struct import *import, const char *section, const char *name)
{
	if (strcmp(import->section, section) != 0 && *section)
		fprintf(import->out, "%s:\n", section);
	import->section = section;
	fprintf(import->out, "%s%s: ", *section ? "  " : "", name);
}

void check_import_say(struct import *import, const char *section, const char *name,
		      const char *text)
{
	check_import_key(import, section, name);
	check_import_scalar(import->out, text);
	fputc('\n', import->out);
}

static void count(struct import *import, const char *section, const char *name,
		  int64_t number)
{
	check_import_key(import, section, name);
	fprintf(import->out, LL "\n", number);
}

/* An option without a value, or with one of its words. */
void check_import_flag(struct import *import, const char *section, const char *name,
		       const char *text)
{
	if (text && *text) {
		check_import_say(import, section, name, text);
		return;
	}
	check_import_key(import, section, name);
	fputs("true\n", import->out);
}

/* TEXT as a list, split at SIGN. */
static void list(struct import *import, const char *section, const char *name,
		 const char *text, char sign)
{
	const char *separator = "";

	check_import_key(import, section, name);
	fputc('[', import->out);
	while (*text) {
		size_t length = strchrnul(text, sign) - text;
		char *item = strndup(text, length);

		fputs(separator, import->out);
		separator = ", ";
		if (item)
			check_import_scalar(import->out, item);
		free(item);
		text += length + (text[length] != '\0');
	}
	fputs("]\n", import->out);
}

/* ---- what is lost ---- */

void check_import_note(struct import *import, struct script_range range,
		       const char *format, ...)
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

/* Without a spec: it would run something else. */
void check_import_refuse(struct import *import, struct script_range range,
			 const char *fix, const char *format, ...)
{
	struct diag_place place = check_place(import->model, range);
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) >= 0) {
		diag_add(import->diag, DIAG_ERROR, "import", &place, "%s", text);
		diag_fix(import->diag, "%s", fix);
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
	{"gpu-bind", NULL, NULL, NOTHING}, /* import_step.c has it */
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
			check_import_flag(import, rows[i].section, rows[i].key,
					  use->value);
		else if (rows[i].form == WORDS)
			list(import, rows[i].section, rows[i].key, use->value, ',');
		/* The folder that sbatch was called in is where a job starts anyway. */
		else if (use->value && (strcmp(rows[i].option, "chdir") != 0 ||
					strcmp(use->value, ".") != 0))
			check_import_say(import, rows[i].section, rows[i].key,
					 use->value);
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

		if (!is_last(import->model, use) || is_known(use->option->name) ||
		    /* Which is so without it. */
		    (strcmp(use->option->name, "export") == 0 && use->value &&
		     strcasecmp(use->value, "ALL") == 0))
			continue;
		if (*separator == '[')
			check_import_key(import, "batch", "extra");
		if (asprintf(&word, "--%s%s%s", use->option->name, use->value ? "=" : "",
			     use->value ? use->value : "") < 0)
			continue;
		fputs(separator, import->out);
		separator = ", ";
		check_import_scalar(import->out, word);
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

/* A job that does not say its nodes has one in the spec, with all that it asks for. */
static int64_t nodes_of(struct import *import)
{
	const struct check_job *job = &import->model->jobs[0];
	const struct script_use *use = job->ntasks ? job->ntasks
				       : job->gpus ? job->gpus
						   : job->ntasks_per_gpu;

	if (amount(job, CHECK_NODES) > 0)
		return amount(job, CHECK_NODES);
	if (job->nodes)
		check_import_refuse(
			import, job->nodes->range, "write one number",
			"how many nodes this job gets is not known, and a spec says it");
	else if (use)
		check_import_note(
			import, use->range,
			"without --nodes Slurm picks their number: the spec has 1");
	return 1;
}

/* Of QUANTITY on each of NODES nodes, where Slurm may share it out in several ways. */
static int64_t on_each(struct import *import, enum check_quantity quantity, int64_t each,
		       int64_t nodes)
{
	const struct check_job *job = &import->model->jobs[0];
	const char *name = quantity == CHECK_GPUS ? "GPUs" : "tasks";
	const struct script_use *use =
		quantity != CHECK_GPUS ? (job->ntasks ? job->ntasks : job->ntasks_per_gpu)
		: job->gpus            ? job->gpus
				       : job->gpus_per_task;
	int64_t all = amount(job, quantity);

	if (each >= 0 || all < 1 || !use)
		return each;
	if (all % nodes != 0) {
		check_import_refuse(import, use->range, "say how many each node has",
				    LL " %s are not the same number on each of " LL
				       " nodes, and in a spec they are",
				    all, name, nodes);
		return each;
	}
	if (amount(job, CHECK_NODES) > 0)
		check_import_note(import, use->range,
				  LL " %s on " LL " nodes: the spec has " LL " on each",
				  all, name, nodes, all / nodes);
	return all / nodes;
}

/* ---- what is run ---- */

static bool is_rendezvous(const char *name)
{
	static const char *const names[] = {
		"MASTER_ADDR",        "MASTER_PORT", "RANK",   "WORLD_SIZE",
		"LOCAL_RANK",         "NODE_RANK",   "NNODES", "LOCAL_WORLD_SIZE",
		"SRUN_CPUS_PER_TASK", "SRANK",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static bool ends(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Starts the ranks of a node, and a task a node starts it. */
static bool is_launcher(const struct check_launch *launch)
{
	return launch->tool == CHECK_TORCHRUN || launch->tool == CHECK_TORCH_LAUNCH ||
	       launch->tool == CHECK_ACCELERATE;
}

/* In whose place the spec's `launcher` stands. */
static bool is_stripped(const struct check_launch *launch)
{
	return is_launcher(launch) || launch->tool == CHECK_DEEPSPEED;
}

/* No more than a way to start tasks. */
static bool is_starter(enum check_tool tool)
{
	return tool == CHECK_MPIRUN || tool == CHECK_HOROVODRUN;
}

static bool is_mmdet(const struct check_launch *launch)
{
	return launch->program && launch->arguments_count > 0 &&
	       (ends(launch->program->text, "tools/train.py")) &&
	       launch->arguments[0].constant && ends(launch->arguments[0].text, ".py");
}

const char *check_import_launcher(const struct import *import)
{
	const struct check_launch *launch = import->launch;

	if (import->named)
		return import->named;
	if (launch->tool == CHECK_TORCHRUN || launch->tool == CHECK_TORCH_LAUNCH)
		return "torchrun";
	if (launch->tool == CHECK_ACCELERATE)
		return "accelerate";
	if (launch->tool == CHECK_DEEPSPEED)
		return "deepspeed";
	if (launch->parent && launch->parent->tool == CHECK_HOROVODRUN)
		return "horovod";
	if (is_mmdet(launch))
		return "mmengine";
	/* srank exec takes PMIx for itself, and is not for programs of MPI. */
	if (!import->exec && launch->step &&
	    (launch->step->kind == CHECK_STEP_MPIRUN ||
	     (launch->step->mpi && launch->step->mpi->value &&
	      strcmp(launch->step->mpi->value, "none") != 0)))
		return "mpi";
	if (!import->exec && launch->tool == CHECK_PROGRAM)
		return "mpi";
	if (launch->setting[CHECK_KEY_STRATEGY].name ||
	    launch->setting[CHECK_KEY_DEVICES].name)
		return "lightning";
	return "torch";
}

/* Tasks of a node: the step's own number, if it has one, where it is known. */
static int64_t tasks_of(struct import *import, int64_t nodes)
{
	const struct check_step *step = import->launch->step;
	const struct check_job *job = &import->model->jobs[0];
	int64_t tasks;

	if (!step || step->amount[CHECK_NTASKS].origin != CHECK_BY_STEP)
		return on_each(import, CHECK_NTASKS, amount(job, CHECK_NTASKS_PER_NODE),
			       nodes);
	tasks = exactly(&step->amount[CHECK_NTASKS].number);
	if (tasks < 1 || tasks % nodes == 0)
		return tasks < 1 ? -1 : tasks / nodes;
	check_import_refuse(import, step->amount[CHECK_NTASKS].range,
			    "say how many each node has",
			    LL " tasks are not the same number on each of " LL
			       " nodes, and in a spec they are",
			    tasks, nodes);
	return -1;
}

/* CPUs of a task: the header's, else the step's own. */
static int64_t cpus_of(const struct import *import)
{
	const struct check_job *job = &import->model->jobs[0];
	const struct check_step *step = import->launch->step;
	const struct check_amount *own = step ? &step->amount[CHECK_CPUS_PER_TASK] : NULL;

	if (own && own->origin == CHECK_BY_STEP)
		return exactly(&own->number);
	return job->cpus_per_task ? amount(job, CHECK_CPUS_PER_TASK) : -1;
}

/* The program itself says that it runs as many processes as there are GPUs, or is known
 * to: under srun these are its tasks. */
static bool counts_gpus(const struct check_launch *launch, int64_t gpus)
{
	const struct check_setting *devices = &launch->setting[CHECK_KEY_DEVICES];

	if (launch->tool == CHECK_DEEPSPEED || is_mmdet(launch))
		return true;
	if (launch->setting[CHECK_KEY_SPAWN].name)
		return false;
	if (devices->name)
		return exactly(&devices->number) < 0 || exactly(&devices->number) == gpus;
	return launch->setting[CHECK_KEY_STRATEGY].name != NULL;
}

/* Tells of a number of the launcher's that is another in the spec. */
static void compare_count(struct import *import, enum check_key key, int64_t number,
			  const char *what)
{
	const struct check_setting *said = &import->launch->setting[key];

	if (said->name && exactly(&said->number) > 0 && number > 0 &&
	    exactly(&said->number) != number)
		check_import_note(import, said->range,
				  "%s is " LL ", and the spec has " LL " %s", said->name,
				  exactly(&said->number), number, what);
}

static void resources(struct import *import)
{
	const struct check_job *job = &import->model->jobs[0];
	const struct check_launch *launch = import->launch;
	int64_t nodes = nodes_of(import), gpus = amount(job, CHECK_GPUS_PER_NODE);
	int64_t workers = exactly(&launch->setting[CHECK_KEY_NPROC].number);
	int64_t tasks = tasks_of(import, nodes), cpus = cpus_of(import);

	gpus = on_each(import, CHECK_GPUS, gpus, nodes);
	if (gpus < 0 && tasks > 0 && amount(job, CHECK_GPUS_PER_TASK) > 0)
		gpus = tasks * amount(job, CHECK_GPUS_PER_TASK);
	count(import, "resources", "nodes", nodes);
	if (gpus > 0)
		count(import, "resources", "gpus_per_node", gpus);
	if (gpus > 0 && job->gpu_type)
		check_import_say(import, "resources", "gpu_type", job->gpu_type);
	if (job->gres_rest)
		list(import, "resources", "gres", job->gres_rest, ',');
	if (import->node_shape) {
		/* The tasks of a node are one, with all their CPUs. */
		if (gpus < 1 && workers > 1)
			check_import_note(import, launch->setting[CHECK_KEY_NPROC].range,
					  "without GPUs the spec has one rank on each "
					  "node, not " LL,
					  workers);
		if (job->cpus_per_gpu && job->cpus_per_gpu->value)
			check_import_say(import, "resources", "cpus_per_gpu",
					 job->cpus_per_gpu->value);
		else if (cpus > 0)
			count(import, "resources", "cpus_per_task",
			      cpus * (tasks > 0 ? tasks : 1));
	} else {
		/* A spec has a rank for each GPU, with its share of the CPUs. */
		if (gpus > 0 && tasks > 0 && tasks < gpus) {
			if (!counts_gpus(launch, gpus))
				check_import_refuse(
					import, launch->command->range,
					"ask for as many GPUs as there are tasks; or, if "
					"the program is one rank of several, start it "
					"with torchrun or srun and a task for each GPU",
					LL " task%s see%s the " LL
					   " GPUs of a node here, and a spec starts a "
					   "rank for each GPU",
					tasks, tasks == 1 ? "" : "s",
					tasks == 1 ? "s" : "", gpus);
			else if (launch->tool != CHECK_DEEPSPEED)
				check_import_note(import, launch->command->range,
						  LL " task%s on a node of " LL
						     " GPUs: the spec has " LL,
						  tasks, tasks == 1 ? "" : "s", gpus,
						  gpus);
			if (cpus > 0 && cpus * tasks % gpus == 0)
				cpus = cpus * tasks / gpus;
			tasks = gpus;
		}
		if (tasks > 0 && tasks != gpus)
			count(import, "resources", "ntasks_per_node", tasks);
		if (job->cpus_per_gpu && job->cpus_per_gpu->value)
			check_import_say(import, "resources", "cpus_per_gpu",
					 job->cpus_per_gpu->value);
		else if (cpus > 0)
			count(import, "resources", "cpus_per_task", cpus);
	}
	if (gpus > 0 && is_stripped(launch)) {
		compare_count(import, CHECK_KEY_NPROC, gpus, "GPUs on each node");
		compare_count(import, CHECK_KEY_NNODES, nodes, "nodes");
		if (launch->tool == CHECK_ACCELERATE)
			compare_count(import, CHECK_KEY_WORLD, nodes * gpus,
				      "ranks in all");
	}
	header(import, "resources");
}

static int score(const struct check_launch *launch)
{
	const struct check_command *command = launch->command;

	if (is_starter(launch->tool) ||
	    (launch->parent && !is_starter(launch->parent->tool)) || command->uncalled ||
	    command->where == CHECK_ELSEWHERE || command->substitute || command->trapped)
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

/* NAME as a word of its own in TEXT. */
static bool names(const char *text, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = text; (at = strstr(at, name)); at += length) {
		const unsigned char behind = (unsigned char)at[length];
		const unsigned char front = at > text ? (unsigned char)at[-1] : ' ';

		if (!isalnum(behind) && behind != '_' && !isalnum(front) && front != '_')
			return true;
	}
	return false;
}

static void arguments(struct import *import, const char *name, size_t from)
{
	const struct check_launch *launch = import->launch;
	const char *separator = "";

	if (launch->arguments_count <= from)
		return;
	check_import_key(import, "run", name);
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
		check_import_scalar(import->out, text);
	}
	fputs("]\n", import->out);
}

/*
 * VALUE as a word for the shell that expands what is left in it: each constant part in
 * quotes where it needs them.
 */
static void shell_word(FILE *out, const struct check_value *value)
{
	uint32_t at = 0;

	for (size_t i = 0; i <= value->expansions_count; i++) {
		const struct check_expansion *expansion =
			i < value->expansions_count ? &value->expansions[i] : NULL;
		const uint32_t end = expansion ? expansion->at : value->length;
		char *part = strndup(value->text + at, end - at);

		if (part && (*part || value->length == 0))
			script_quote_word(out, part);
		free(part);
		if (!expansion)
			break;
		fprintf(out, expansion->quoted ? "\"%.*s\"" : "%.*s",
			(int)expansion->length, value->text + expansion->at);
		at = expansion->at + expansion->length;
	}
}

/* A variable that a shell in each task finds as the batch shell does. */
static bool reaches_tasks(const struct import *import,
			  const struct check_expansion *expansion)
{
	static const char *const per_task[] = {"SLURM_PROCID", "SLURM_LOCALID",
					       "SLURM_NODEID", "SLURM_GTIDS"};
	const struct check_model *model = import->model;
	const char *name = expansion->name;

	if (expansion->kind != CHECK_PARAMETER || !name ||
	    (expansion->op && *expansion->op) || expansion->inner_count > 0 ||
	    (!isalpha((unsigned char)name[0]) && name[0] != '_'))
		return false;
	/* ${X[i]} has the name of X. */
	if (memchr(import->model->source.text + expansion->range.begin, '[',
		   expansion->range.end - expansion->range.begin))
		return false;
	if (is_rendezvous(name))
		return true;
	for (size_t i = 0; i < sizeof(per_task) / sizeof(*per_task); i++) {
		if (strcmp(name, per_task[i]) == 0)
			return false;
	}
	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];

		if (strcmp(set->name, name) == 0 && set->export != CHECK_EXPORTED &&
		    range_is_empty(set->exported))
			return false;
	}
	return true;
}

/* Which shells can expand a word's expansions, so that they come out as in the script. */
enum {
	BY_TASK = 1,
	BY_BATCH = 2,
};

static unsigned int expanded_by(const struct import *import,
				const struct check_value *value)
{
	unsigned int by = BY_TASK | BY_BATCH;

	for (size_t i = 0; i < value->expansions_count; i++) {
		const struct check_expansion *expansion = &value->expansions[i];

		if (expansion->shell && expansion->shell->where != CHECK_BATCH)
			by &= ~(unsigned int)BY_BATCH;
		else if (!reaches_tasks(import, expansion))
			by &= ~(unsigned int)BY_TASK;
	}
	return by;
}

/* What a rank runs, as words. */
struct words {
	const char *front[2]; /* python -m */
	const struct check_value *program;
	const struct check_value *rest;
	size_t count;
};

static void write_words(FILE *out, const struct words *words)
{
	for (size_t i = 0; i < 2 && words->front[i]; i++)
		fprintf(out, "%s ", words->front[i]);
	shell_word(out, words->program);
	for (size_t i = 0; i < words->count; i++) {
		fputc(' ', out);
		shell_word(out, &words->rest[i]);
	}
}

/*
 * The command when words of it hold variables, which are expanded by a shell in each task
 * where they are the same, else by the set-up, in the one shell that did it before.
 */
static void by_shell(struct import *import, const struct words *words)
{
	static const char name[] = "RANK_COMMAND";
	const struct script_range range = import->launch->command->range;
	unsigned int by = expanded_by(import, words->program);
	char *text = NULL;
	size_t size;
	FILE *out;

	for (size_t i = 0; i < words->count; i++)
		by &= expanded_by(import, &words->rest[i]);
	if (!by) {
		check_import_refuse(
			import, range,
			"export the batch script's variables, or put what the tasks run "
			"into a "
			"script of its own",
			"words of this command are expanded by the batch shell and "
			"others "
			"by "
			"that of each task, which no spec can say");
		return;
	}
	out = open_memstream(&text, &size);
	if (!out)
		return;
	if (by & BY_TASK)
		fputs("exec ", out);
	else
		fprintf(out, "printf -v %s ' %%q' ", name);
	write_words(out, words);
	if (!(by & BY_TASK))
		fprintf(out, "\nexport %s", name);
	if (fclose(out) != 0) {
		free(text);
		return;
	}
	check_import_key(import, "run", "command");
	fputs("[bash, -c, ", import->out);
	if (by & BY_TASK) {
		check_import_scalar(import->out, text);
		free(text);
		check_import_note(
			import, range,
			"the words of this command hold variables, which a shell in each "
			"task expands");
	} else {
		fprintf(import->out, "'eval \"exec $%s\"'", name);
		import->expanded = text;
		check_import_note(import, range,
				  "the words of this command hold variables of the batch "
				  "shell: the "
				  "set-up expands them, into %s",
				  name);
	}
	fputs("]\n", import->out);
}

/* True when all arguments of tools/train.py have keys of their own. */
static bool mmdet(struct import *import, bool write)
{
	const struct check_launch *launch = import->launch;

	if (!is_mmdet(launch) || !all_constant(launch))
		return false;
	if (write)
		check_import_say(import, "mmdet", "config", launch->arguments[0].text);
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
				check_import_key(import, "mmdet",
						 text[3] == 'm' ? "amp"
								: "auto_scale_lr");
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
			check_import_say(import, "mmdet", name, value);
	}
	return true;
}

/* Without dashes, _ being -: "--max_restarts=3" is "max-restarts". */
static bool is_option(const char *word, const char *name)
{
	while (*word == '-')
		word++;
	for (; *name; name++, word++) {
		if (*word != *name && !(*word == '_' && *name == '-'))
			return false;
	}
	return *word == '\0' || *word == '=';
}

/* Behind `python -u -m torch.distributed.run`, `accelerate launch`. */
static size_t first_option(const struct check_command *command)
{
	size_t first = 1;

	for (size_t i = 1; i < command->operand && i < command->words_count; i++) {
		const char *word = command->words[i].text;

		if (strcmp(word, "launch") == 0 || strncmp(word, "torch.", 6) == 0 ||
		    strncmp(word, "accelerate.", 11) == 0)
			first = i + 1;
	}
	return first;
}

static bool has_launcher_option(const struct check_launch *launch, const char *name)
{
	const struct check_command *command = launch->command;

	for (size_t i = first_option(command);
	     i < command->operand && i < command->words_count; i++) {
		if (command->words[i].text[0] == '-' &&
		    is_option(command->words[i].text, name))
			return true;
	}
	return false;
}

/* The options of the launcher in whose place the spec's stands. */
static void launcher_options(struct import *import)
{
	/* These are set at launch, by the names of each launcher. */
	static const char *const set[] = {
		"nnodes",
		"nproc-per-node",
		"node-rank",
		"master-addr",
		"master-port",
		"rdzv-backend",
		"rdzv-endpoint",
		"rdzv-id",
		"standalone",
		"local-addr",
		"m",
		"module",
		"no-python",
		"use-env",
		"num-processes",
		"num-machines",
		"machine-rank",
		"main-process-ip",
		"main-process-port",
		"multi-gpu",
		"same-network",
		"rdzv-backend",
		"hostfile",
		"H",
		"num-nodes",
		"num-gpus",
		"launcher",
		"no-ssh",
		"max-restarts",
	};
	const struct check_launch *launch = import->launch;
	const struct check_command *command = launch->command;
	struct check_setting restarts = {0};

	if (rules_is_open(launch))
		check_import_refuse(
			import, command->range,
			"write the options out in the script, and import it again",
			"some options of %s come from a variable that is not known",
			command->name);
	for (size_t i = first_option(command);
	     i < command->operand && i < command->words_count; i++) {
		const char *word = command->words[i].text;
		const int length = (int)strcspn(word, "=");
		bool known = word[0] != '-';

		for (size_t k = 0; !known && k < sizeof(set) / sizeof(*set); k++)
			known = is_option(word, set[k]);
		if (known)
			continue;
		/* torchrun takes each option from a variable, too: torch's
		 * distributed/argparse_util.py. */
		if (launch->tool == CHECK_TORCHRUN || launch->tool == CHECK_TORCH_LAUNCH)
			check_import_note(import, command->words[i].range,
					  "%.*s of %s was left out: a variable in env "
					  "says it, PET_ "
					  "and "
					  "the option's name in capitals",
					  length, word, command->name);
		else
			check_import_refuse(
				import, command->words[i].range,
				"say it in the program or its configuration, remove it "
				"from "
				"the script, and import it again",
				"%.*s of %s has no key in a spec, and without it the job "
				"would be another",
				length, word, command->name);
	}
	if (is_launcher(launch) && launch->setting[CHECK_KEY_NNODES].name &&
	    launch->setting[CHECK_KEY_NNODES].value.constant &&
	    import->settings.elastic_max == 0 &&
	    strchr(launch->setting[CHECK_KEY_NNODES].value.text, ':'))
		check_import_say(import, "rendezvous", "elastic",
				 launch->setting[CHECK_KEY_NNODES].value.text);
	if (is_launcher(launch) &&
	    check_option(command, 1, "--max_restarts", &restarts) &&
	    exactly(&restarts.number) > 0)
		count(import, "rendezvous", "max_restarts", exactly(&restarts.number));
}

static void words_of(const struct import *import, struct words *words)
{
	const struct check_launch *launch = import->launch;
	const struct check_command *command =
		import->whole ? import->whole : launch->command;

	if (is_stripped(launch) && launch->program) {
		if (!has_launcher_option(launch, "no-python")) {
			words->front[0] = "python";
			words->front[1] = launch->module ? "-m" : NULL;
		}
		words->program = launch->program;
		words->rest = launch->arguments;
		words->count = launch->arguments_count;
		return;
	}
	words->program = &command->words[0];
	words->rest = command->words + 1;
	words->count = command->words_count - 1;
}

static void run(struct import *import)
{
	const struct check_launch *launch = import->launch;
	const struct check_command *command = launch->command;
	const bool python = launch->tool == CHECK_PYTHON;
	struct words words = {0};
	bool constant;

	if (!import->whole && mmdet(import, false)) {
		mmdet(import, true);
		return;
	}
	words_of(import, &words);
	constant = words.program->constant;
	for (size_t i = 0; i < words.count; i++)
		constant = constant && words.rest[i].constant;
	if (!constant) {
		by_shell(import, &words);
	} else if (!import->whole && launch->program &&
		   (words.front[0] ||
		    /* python -u X is more than an interpreter's name. */
		    (python && command->operand == (launch->module ? 2u : 1u)))) {
		if (python && strcmp(command->words[0].text, "python") != 0)
			check_import_say(import, "run", "python", command->words[0].text);
		check_import_say(import, "run", launch->module ? "module" : "script",
				 launch->program->text);
		arguments(import, "args", 0);
	} else {
		check_import_key(import, "run", "command");
		fputc('[', import->out);
		check_import_scalar(import->out, words.program->text);
		for (size_t i = 0; i < words.count; i++) {
			fputs(", ", import->out);
			check_import_scalar(import->out, words.rest[i].text);
		}
		fputs("]\n", import->out);
	}
	header(import, "run");
}

/* ---- what stands around it in the step ---- */

bool check_import_is_mask(const char *name)
{
	return ends(name, "_VISIBLE_DEVICES");
}

static bool is_below(const struct check_command *command,
		     const struct check_command *ancestor)
{
	for (; command; command = command->parent) {
		if (command == ancestor)
			return true;
	}
	return false;
}

static bool is_inside(const struct check_shell *shell, const struct check_shell *around)
{
	for (; shell; shell = shell->parent) {
		if (shell == around)
			return true;
	}
	return false;
}

/* The shell does more than to start the launch, and to set what is set at launch. */
static bool does_more(const struct import *import, const struct check_shell *shell)
{
	static const char *const idle[] = {":", "true", "set", "wait"};
	const struct check_model *model = import->model;
	const struct check_command *main = import->launch->command;

	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];
		bool known = command->tool == CHECK_EXPORT || is_below(command, main) ||
			     is_below(main, command) || !is_inside(command->shell, shell);

		for (size_t k = 0; !known && k < sizeof(idle) / sizeof(*idle); k++)
			known = strcmp(command->name, idle[k]) == 0;
		/* MASTER_ADDR=$(hostname) */
		if (!known && !command->substitute)
			return true;
	}
	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];

		if (is_inside(set->shell, shell) && !is_rendezvous(set->name) &&
		    !check_import_is_mask(set->name))
			return true;
	}
	return main->conditional || main->loops > 0;
}

/* The shell around put something into its text: bash -c "$CMD", bash -c "python $ARGS".
 */
static bool has_text_of_others(const struct check_command *command)
{
	for (size_t i = 0; i < command->words_count; i++) {
		const struct check_value *word = &command->words[i];

		for (size_t k = 0; k < word->expansions_count; k++) {
			if (word->expansions[k].shell != command->shell)
				return true;
		}
	}
	return false;
}

/* apptainer exec OPTIONS IMAGE PROGRAM, all of it known. */
static bool is_container(const struct check_command *command)
{
	if (strcmp(command->name, "apptainer") != 0 &&
	    strcmp(command->name, "singularity") != 0)
		return false;
	for (size_t i = 0; i < command->operand && i < command->words_count; i++) {
		if (!command->words[i].constant)
			return false;
	}
	return command->operand >= 3 && command->operand < command->words_count &&
	       strcmp(command->words[1].text, "exec") == 0;
}

/* Fills in container, whole and odd. */
static void look_around(struct import *import)
{
	const struct check_launch *launch = import->launch;
	const struct check_command *inner = launch->command, *command = inner->parent;
	const struct check_command *below = NULL; /* what srank exec becomes */

	for (; command && command->tool != CHECK_SRUN && !is_starter(command->tool);
	     inner = command, command = command->parent) {
		bool known;

		switch (command->tool) {
		case CHECK_CONTAINER:
			known = !import->container && is_container(command);
			import->container = known ? command : import->container;
			break;
		case CHECK_SRANK:
			known = check_srank_executes(command);
			import->exec = command;
			below = inner;
			break;
		case CHECK_SHELL_TOOL:
			known = !does_more(import, inner->shell) &&
				(is_stripped(launch) || !has_text_of_others(inner));
			break;
		default:
			known = strcmp(command->name, "exec") == 0 ||
				strcmp(command->name, "eval") == 0 ||
				(strcmp(command->name, "env") == 0 &&
				 command->words_count > 1 &&
				 command->words[1].text[0] != '-');
			break;
		}
		if (!known && !import->odd)
			import->odd = command;
	}
	if (!import->odd)
		return;
	import->container = NULL;
	import->whole = inner;
	if (import->exec && inner == import->exec)
		import->whole = below;
	else
		import->exec = NULL;
	if (is_stripped(launch))
		check_import_refuse(
			import, import->odd->range,
			import->odd->tool == CHECK_CONTAINER
				? "write the image, the mounts and the options out; "
				  "container.runtime is pyxis, apptainer or singularity"
				: "put it into the batch script, in front of srun, or "
				  "into "
				  "the program",
			"what `%s` does around %s has no place in a spec, whose launcher "
			"stands there instead",
			import->odd->name, launch->command->name);
}

static void container(struct import *import)
{
	const struct check_command *command = import->container;
	const bool gpus = amount(&import->model->jobs[0], CHECK_GPUS_PER_NODE) > 0;
	size_t image;

	if (!command)
		return;
	image = command->operand - 1;
	check_import_say(import, "container", "runtime", command->name);
	check_import_say(import, "container", "image", command->words[image].text);
	/* Twice, as each list is one line. */
	for (int pass = 0; pass < 2; pass++) {
		const char *separator = NULL;

		for (size_t i = 2; i < image; i++) {
			const char *word = command->words[i].text, *value = NULL;
			bool bind = false;

			if (strcmp(word, "-B") == 0 || strcmp(word, "--bind") == 0) {
				bind = true;
				value = i + 1 < image ? command->words[++i].text : "";
			} else if (strncmp(word, "--bind=", 7) == 0) {
				bind = true;
				value = word + 7;
			} else if (strcmp(word, "--nv") == 0 && gpus) {
				continue;
			}
			if (bind != (pass == 0))
				continue;
			if (!separator) {
				check_import_key(import, "container",
						 bind ? "mounts" : "options");
				fputc('[', import->out);
			}
			if (!bind)
				value = word;
			do {
				const size_t length =
					bind ? strcspn(value, ",") : strlen(value);
				char *item = strndup(value, length);

				fputs(separator ? separator : "", import->out);
				separator = ", ";
				if (item)
					check_import_scalar(import->out, item);
				free(item);
				value += length + (value[length] != '\0');
			} while (*value);
		}
		if (separator)
			fputs("]\n", import->out);
	}
}

/* ---- the shell code around it ---- */

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

	if (check_import_is_made(model, node->range))
		return true;
	if (node->kind != SHELL_COMMAND)
		return false;
	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];

		if (set->range.begin < node->range.begin ||
		    set->range.end > node->range.end)
			continue;
		any = true;
		if (import->expanded && names(import->expanded, set->name))
			return false;
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

/*
 * The line at AT is one that looks like a directive, which sbatch does not read there:
 * the spec's script would have it where sbatch does not either.
 */
static bool is_late_directive(const struct check_model *model, uint32_t at)
{
	const struct script_directive *directives = model->header.directives;
	size_t low = 0, high = model->header.directives_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (directives[middle].line.begin < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < model->header.directives_count && directives[low].line.begin == at &&
	       directives[low].kind == SCRIPT_DIRECTIVE_LATE;
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
		check_import_note(import, range,
				  "this code has control characters and was left out");
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

		if (check_import_is_remark(import->model,
					   (struct script_range){range.begin, end})) {
			range.begin = end + 1;
			continue;
		}
		if (is_late_directive(import->model, range.begin)) {
			check_import_note(
				import, (struct script_range){range.begin, end},
				"sbatch does not read this directive, and it was "
				"left out");
			fputs("    #", out);
		} else if (end > range.begin) {
			fprintf(out, "    %.*s", (int)(end - range.begin),
				text + range.begin);
		}
		fputc('\n', out);
		range.begin = end + 1;
	}
}

/*
 * Code that should end the job when it fails, as srank's scripts do by set -e: what sets
 * up the environment. Other code may fail as a matter of course, as `read -d ''` does; it
 * runs without set -e, and without the trap on ERR, which set +e does not switch off.
 */
static bool may_fail(const struct import *import, const struct shell_node *node)
{
	static const char *const plain[] = {
		"module", "ml",  "source", ".",     "conda", "export", "mkdir", "cd",
		"echo",   "set", "ulimit", "unset", "umask", "date",   "spack", "mamba",
	};

	if (import->launch->command->errexit || node->kind == SHELL_FUNCTION ||
	    check_import_is_ours(import->model))
		return false;
	if (node->kind != SHELL_COMMAND || node->link != SHELL_THEN)
		return true;
	if (!node->words)
		return false;
	for (size_t i = 0; node->words->literal && i < sizeof(plain) / sizeof(*plain);
	     i++) {
		if (strcmp(node->words->text, plain[i]) == 0)
			return false;
	}
	return true;
}

static void line(struct import *import, const char *name, bool *begun, const char *text)
{
	if (!*begun)
		fprintf(import->out, "%s:\n", name);
	import->section = name;
	*begun = true;
	fputs("  - |\n", import->out);
	while (*text) {
		const size_t length = strcspn(text, "\n");

		fprintf(import->out, "    %.*s\n", (int)length, text);
		text += length + (text[length] != '\0');
	}
}

/* X=1 srun, env X=1, srun --export=ALL,X=1: for the step alone there, for it here. */
static void exports(struct import *import, bool *begun)
{
	const struct check_model *model = import->model;
	const struct check_command *main = import->launch->command;

	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];
		char *text = NULL;
		size_t size;
		FILE *out;

		if (!set->command || !is_below(main, set->command) ||
		    is_rendezvous(set->name) || check_import_is_mask(set->name) ||
		    (set->export != CHECK_FOR_ONE && set->export != CHECK_BY_ENV &&
		     set->export != CHECK_BY_SRUN) ||
		    set->shell->kind != CHECK_SHELL_SCRIPT)
			continue;
		/* Then its words are run as they stand. */
		if (set->export == CHECK_BY_ENV && import->whole)
			continue;
		out = open_memstream(&text, &size);
		if (!out)
			return;
		fprintf(out, "export %s=", set->name);
		shell_word(out, &set->value);
		if (fclose(out) == 0)
			line(import, "setup", begun, text);
		free(text);
	}
}

/* RUN without the remark at its end, which srank gen writes in front of the step. */
static void cut_remark(const struct check_model *model, struct script_range *run)
{
	const char *text = model->source.text;

	while (check_import_is_ours(model)) {
		uint32_t end = run->end, start;

		while (end > run->begin && isspace((unsigned char)text[end - 1]))
			end--;
		for (start = end; start > run->begin && text[start - 1] != '\n'; start--)
			;
		if (start == end || start == run->begin || text[start] != '#')
			return;
		run->end = start;
	}
}

/* The commands before the one that holds AT, or behind it. */
static void around(struct import *import, const char *name, uint32_t at, bool before)
{
	const struct check_model *model = import->model;
	const struct shell_node *node = model->program.list;
	bool begun = false, lenient = false;
	struct script_range run = {0, 0};

	for (; before && node && node->range.begin < at; node = node->next)
		lenient |= at >= (node->next ? node->next->range.begin : UINT32_MAX) &&
			   may_fail(import, node) && !is_superfluous(import, node);
	if (lenient)
		line(import, name, &begun,
		     "ON_ERR=$(trap -p ERR)\ntrap - ERR\nset +e +o pipefail");
	for (node = model->program.list; node; node = node->next) {
		uint32_t next = node->next ? node->next->range.begin
					   : (uint32_t)model->source.length;
		const bool here = at >= node->range.begin && at < next;

		/* Neighbours make one block, with the remarks between them. */
		if (here || before != (node->range.begin < at) ||
		    is_superfluous(import, node)) {
			if (here && before)
				cut_remark(model, &run);
			block(import, name, &begun, run);
			run = (struct script_range){0, 0};
			continue;
		}
		if (range_is_empty(run))
			run.begin = node->range.begin;
		run.end = next;
	}
	block(import, name, &begun, run);
	if (before) {
		exports(import, &begun);
		if (import->expanded)
			line(import, name, &begun, import->expanded);
	}
	if (lenient)
		line(import, name, &begun, "set -eo pipefail\neval \"$ON_ERR\"");
}

/* ---- what is one step, and what is not ---- */

/* NAME is set behind AT of the script, and nowhere before. */
static bool is_set_behind(const struct check_model *model, const char *name, uint32_t at)
{
	bool behind = false;

	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];

		if (strcmp(set->name, name) != 0)
			continue;
		if (set->range.begin < at)
			return false;
		behind = true;
	}
	return behind;
}

/* A trap during the step, which needs what a teardown would set after it. */
static void traps(struct import *import, uint32_t at)
{
	const struct check_model *model = import->model;

	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		for (size_t w = 0; command->trapped && w < command->words_count; w++) {
			const struct check_value *word = &command->words[w];

			for (uint32_t e = 0; e < word->expansions_count; e++) {
				const struct check_expansion *found =
					&word->expansions[e];
				const char *name = found->through ? found->through->name
								  : found->name;

				if (found->kind != CHECK_PARAMETER || !name ||
				    !is_set_behind(model, name, at))
					continue;
				check_import_refuse(
					import, found->range,
					"remove the trap: batch.signal with batch: true "
					"and retry do it in a spec",
					"this trap needs $%s, which is set behind the "
					"step "
					"and in a spec only after it",
					name);
				return;
			}
		}
	}
}

/* mpirun -n 1 A : -n 3 B */
static void several_programs(struct import *import)
{
	const struct check_command *command =
		check_within(import->launch->command, CHECK_MPIRUN);

	for (size_t i = 1; command && i < command->words_count; i++) {
		if (strcmp(command->words[i].text, ":") == 0) {
			check_import_refuse(
				import, command->words[i].range,
				"write the programs as the list het of a spec, "
				"or a script for each",
				"%s starts several programs here, and a spec "
				"starts one",
				command->name);
			return;
		}
	}
}

/* The step has fewer of QUANTITY than the job. */
static void part_of_job(struct import *import, enum check_quantity quantity,
			const char *what)
{
	const struct check_amount *own = &import->launch->step->amount[quantity];
	const int64_t all = amount(&import->model->jobs[0], quantity);
	const int64_t some = exactly(&own->number);

	if (some >= 0 && some < all &&
	    (own->origin == CHECK_BY_STEP || own->origin == CHECK_BY_SUM) &&
	    !range_is_empty(own->range))
		check_import_refuse(import, own->range,
				    "ask in the header for what the step needs",
				    "the step has " LL " of the job's " LL
				    " %s, and in a spec it has all",
				    some, all, what);
}

/* True when the job is more than one command with code before and behind it. */
static bool is_refused(struct import *import, const struct check_command *command)
{
	const struct check_model *model = import->model;
	const struct check_launch *launch = import->launch;
	const uint32_t at = command->range.begin;
	const struct shell_node *node = model->program.list;
	const struct check_step *step = launch->step;
	const size_t errors = import->diag->errors;
	int64_t tasks, whole;

	if (model->program.fault.kind != SHELL_FINE &&
	    model->program.fault.kind != SHELL_OPEN_DOCUMENT)
		check_import_refuse(import, model->program.fault.range,
				    "srank check tells more",
				    "no shell can read this script: %s",
				    shell_fault_text(model->program.fault.kind));
	if (check_is_dist_script(launch->command->name))
		check_import_refuse(import, launch->command->range,
				    "write out what it runs: torchrun ... tools/train.py "
				    "CONFIG --launcher pytorch",
				    "what %s does stands in a file that was not read",
				    launch->command->name);
	if (model->jobs_count > 1)
		check_import_refuse(import,
				    model->jobs[1].nodes ? model->jobs[1].nodes->range
							 : command->range,
				    "write the components as the list het of a spec, see "
				    "srank-spec(5)",
				    "a heterogeneous job cannot be imported");
	if (command->loops > 0)
		check_import_refuse(
			import, command->range,
			"write the spec of one round, and sweep.matrix for the others: a "
			"job "
			"for each",
			"this command stands in a loop, and a spec starts one step");
	else if (command->conditional)
		check_import_refuse(
			import, command->range,
			"import a script in which it stands alone, or test in setup and "
			"`exit`",
			"whether this command runs depends on another, and a spec runs "
			"it "
			"always");
	else if (command->function)
		check_import_refuse(
			import, command->range,
			"write the command where the function is called",
			"this command stands in a function, whose other lines would be "
			"lost");
	while (node && node->next && node->next->range.begin <= at)
		node = node->next;
	if (import->diag->errors == errors && node && node->kind != SHELL_COMMAND &&
	    node->kind != SHELL_PIPELINE)
		check_import_refuse(
			import, command->range, "write the command on a line of its own",
			"the lines around this command in its group would be lost");
	if (import->diag->errors == errors && node && node->link != SHELL_THEN)
		check_import_refuse(
			import, command->range,
			"write the command before on a line of its own, and `|| exit` "
			"behind it",
			"whether this command runs depends on another, and a spec runs "
			"it "
			"always");
	if (node && node->next && node->next->link != SHELL_THEN)
		check_import_refuse(
			import, node->next->range,
			"a job of its own with --dependency does it, or remove it",
			"this depends on how the step ends, and a spec's teardown runs "
			"however it does");
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *other = model->launches[i];

		if (other == launch || score(other) < 2 ||
		    other->command->node == launch->command->node ||
		    (other->step && other->step == launch->step))
			continue;
		if (score(other) >= 3 || other->command->background ||
		    other->step->background)
			check_import_refuse(
				import, other->command->range,
				"a script for each of them, or a sweep where they differ "
				"in "
				"arguments only",
				"`%s` is another program that this script starts, and a "
				"spec "
				"has one step",
				other->command->name);
	}
	for (const struct shell_redirect *redirect =
		     command->node ? command->node->redirects : NULL;
	     redirect; redirect = redirect->next) {
		const struct script_range range = redirect->range;

		if ((strcmp(redirect->op, "<") == 0 ||
		     strcmp(redirect->op, "<<<") == 0) &&
		    !memmem(model->source.text + range.begin, range.end - range.begin,
			    "/dev/null", 9))
			check_import_refuse(
				import, range,
				"write srun --input=FILE, which goes to srun.args",
				"this input would be lost: a spec has no redirections");
	}
	traps(import, at);
	for (size_t i = 0; i < model->commands_count && !step; i++) {
		const struct check_command *other = model->commands[i];

		if (!other->starts || !other->background || other->uncalled)
			continue;
		check_import_refuse(
			import, other->range,
			"write the program of this step into the spec, or a script for "
			"each",
			"%s runs once, beside this step, and in a spec each rank runs it",
			command->name);
		break;
	}
	several_programs(import);
	if (step)
		part_of_job(import, CHECK_NODES, "nodes");
	if (step && step->kind == CHECK_STEP_SRUN)
		part_of_job(import, CHECK_GPUS_PER_NODE, "GPUs a node");
	if (!step || import->node_shape)
		return import->diag->errors > errors;
	tasks = exactly(&step->amount[CHECK_NTASKS].number);
	whole = amount(&model->jobs[0], CHECK_NTASKS);
	if (step->amount[CHECK_NTASKS].origin == CHECK_BY_STEP && tasks > 0 &&
	    tasks < whole)
		check_import_refuse(import, step->amount[CHECK_NTASKS].range,
				    "ask in the header for what the step needs",
				    "the step has " LL " of the job's " LL
				    " tasks, and in a spec it has all",
				    tasks, whole);
	return import->diag->errors > errors;
}

static void write_spec(struct import *import)
{
	const struct check_launch *launch = import->launch;
	const struct check_command *command =
		launch->step ? launch->step->command : launch->command;
	uint32_t at = command->range.begin;

	import->node_shape = is_launcher(launch);
	if (check_import_is_off(import->model, command)) {
		check_import_refuse(
			import, command->range,
			"change the spec, which the script's second line names; or "
			"import what `srank gen -s plugin=exec` makes of it",
			"srank gen made this script with plugin: off, and what its shell "
			"does in each task is no part of a spec");
		return;
	}
	look_around(import);
	check_import_settings(import, is_stripped(launch));
	if (is_refused(import, command))
		return;
	header(import, "");
	check_import_say(import, "", "launcher", check_import_launcher(import));
	if (import->exec)
		check_import_say(import, "", "plugin", "exec");
	run(import);
	resources(import);
	header(import, "batch");
	extra(import);
	if (is_stripped(launch))
		launcher_options(import);
	check_import_told(import, "rendezvous");
	container(import);
	check_import_step(import);
	around(import, "setup", at, true);
	around(import, "teardown", at, false);
	if (strcmp(import->section, "teardown") == 0 && command->errexit)
		check_import_note(import, command->range,
				  "what follows this command runs in a spec's teardown, "
				  "which a step "
				  "that "
				  "failed does not keep from running");
	if (command->stages > 1 || (command->node && command->node->redirects))
		check_import_note(import, command->range,
				  "where this command's output goes was left out: "
				  "batch.output has it "
				  "all");
}

/* What gen would say of the spec TEXT goes to DIAG as errors of the script FILE. */
static int plan_spec(const char *text, size_t length, const char *file,
		     const struct spec_site *site, struct diag *diag)
{
	struct diag_place place = {.file = file};
	struct spec_site none = {0};
	struct spec spec = {0};
	struct plan plan = {0};
	struct script_templates templates = {0};
	struct diag found = {0};
	FILE *script;
	int rc;

	spec_site_init(&none);
	if (!site)
		site = &none;
	rc = spec_read_text(&spec, "spec", text, length, &found);
	if (rc == 0)
		rc = spec_complete(&spec, &site->defaults);
	if (rc == 0)
		rc = plan_make(&plan, &spec, site, &found);
	script = rc == 0 ? fopen("/dev/null", "w") : NULL;
	if (script) {
		rc = script_write(script, &spec, &plan, site, NULL, &templates, NULL,
				  &found);
		fclose(script);
	}
	for (size_t i = 0; i < found.count; i++) {
		const struct diag_item *item = &found.items[i];

		if (item->severity != DIAG_ERROR)
			continue;
		diag_add(diag, DIAG_ERROR, item->rule, &place,
			 "srank gen would refuse the spec of this script: %s",
			 item->message);
		if (item->fix)
			diag_fix(diag, "%s", item->fix);
	}
	script_templates_clear(&templates);
	plan_clear(&plan);
	spec_clear(&spec);
	spec_site_clear(&none);
	diag_clear(&found);
	return rc;
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
	struct import import = {.model = &model, .diag = diag, .section = ""};
	struct diag_place place = {.file = file};
	const size_t errors = diag->errors;
	char *spec = NULL;
	size_t size = 0;
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
	import.out = open_memstream(&spec, &size);
	if (!import.out) {
		rc = -ENOMEM;
		goto out;
	}
	write_spec(&import);
	if (fclose(import.out) != 0) {
		rc = -ENOMEM;
		goto out;
	}
	rc = diag->errors > errors ? -EINVAL
				   : plan_spec(spec, size, file, options->site, diag);
	if (rc == 0)
		fwrite(spec, 1, size, out);
out:
	free(spec);
	free(import.expanded);
	check_model_clear(&model);
	return rc;
}
