/* SPDX-License-Identifier: MIT */
/*
 * What a step's own options are in a spec: the options of srun, and those of mpirun and
 * horovodrun, in whose place srun stands there. Each has a row that says what becomes of
 * it, and one without goes to srun.args as it stands; what is left out is told.
 */
#include "gen/check/import.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- GPUs ---- */

/* CUDA_VISIBLE_DEVICES=$SLURM_LOCALID in the task: one of its own. */
static bool masks_itself(const struct check_launch *launch)
{
	static const enum check_variable masks[] = {CHECK_CUDA_VISIBLE_DEVICES,
						    CHECK_HIP_VISIBLE_DEVICES,
						    CHECK_ROCR_VISIBLE_DEVICES};

	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		const struct check_assignment *set = launch->command->sees[masks[i]];

		if (set && !set->unset && set->shell->where == CHECK_STEP &&
		    (check_value_expands(&set->value, "SLURM_LOCALID") ||
		     check_value_expands(&set->value, "LOCAL_RANK")))
			return true;
	}
	return false;
}

static const struct script_use *narrows(const struct check_step *step)
{
	return step->gpu_bind             ? step->gpu_bind
	       : step->gpus_per_task      ? step->gpus_per_task
	       : step->job->gpu_bind      ? step->job->gpu_bind
	       : step->job->gpus_per_task ? step->job->gpus_per_task
					  : step->job->tres_per_task;
}

/*
 * A task that sees one GPU takes device 0, and one that sees all of them must not: the
 * spec's mask does for the program what Slurm's binding, or its own, did.
 */
static void binding(struct import *import)
{
	const struct check_launch *launch = import->launch;
	const struct check_step *step = launch->step;
	const struct check_assignment *rank = launch->command->sees[CHECK_LOCAL_RANK];
	const bool masked = masks_itself(launch);
	const bool told = check_import_told(import, "binding");
	const struct script_use *use;
	struct check_number number = {0};

	if (!step || step->kind != CHECK_STEP_SRUN || import->node_shape)
		return;
	use = narrows(step);
	if (!masked &&
	    !(step->narrowed && exactly(&step->amount[CHECK_VISIBLE].number) == 1)) {
		if (step->narrowed && use && !step->unbound)
			check_import_note(import, use->range,
					  "--%s=%s was left out: binding.gpus of a spec "
					  "says which GPUs a task sees",
					  use->option->name,
					  use->value ? use->value : "");
		return;
	}
	if (told || exactly(&step->amount[CHECK_GPUS_PER_NODE].number) == 0)
		return;
	check_import_say(import, "binding", "gpus", "mask");
	/* The one index that there is, unless the script has another use for the rank. */
	if (rank && !rank->unset)
		number = check_value_number(import->model, &rank->value);
	if (strcmp(check_import_launcher(import), "mpi") != 0 &&
	    (!rank || rank->unset || exactly(&number) == 0)) {
		check_import_key(import, "binding", "local");
		fputs("0\n", import->out);
	}
}

/* ---- srun ---- */

/* What becomes of an option of srun. */
enum fate {
	MODEL,  /* a number, which the resources say */
	KEY,    /* a key of the spec's section srun */
	COMMON, /* the header's, where it is the same; else srun.args */
	MPI,
	KILL,
	EXPORT,
	BINDING,
	NOTHING, /* a step within a job takes no notice of it */
	REFUSED,
};

static const struct {
	const char *option;
	enum fate fate;
	const char *text; /* KEY: the key */
} options[] = {
	{"nodes", MODEL, NULL},
	{"ntasks", MODEL, NULL},
	{"ntasks-per-node", MODEL, NULL},
	{"tasks-per-node", MODEL, NULL},
	{"cpus-per-task", MODEL, NULL},
	{"cpus-per-gpu", MODEL, NULL},
	{"gres", MODEL, NULL},
	{"gpus", MODEL, NULL},
	{"gpus-per-node", MODEL, NULL},
	{"gpus-per-task", BINDING, NULL},
	{"gpu-bind", BINDING, NULL},
	{"export", EXPORT, NULL},
	{"mpi", MPI, NULL},
	{"kill-on-bad-exit", KILL, NULL},
	{"label", KEY, "label"},
	{"unbuffered", KEY, "unbuffered"},
	{"wait", KEY, "wait"},
	{"distribution", KEY, "distribution"},
	{"time", COMMON, NULL},
	{"mem", COMMON, NULL},
	{"mem-per-cpu", COMMON, NULL},
	{"mem-per-gpu", COMMON, NULL},
	{"job-name", COMMON, NULL},
	{"partition", NOTHING, NULL},
	{"account", NOTHING, NULL},
	{"qos", NOTHING, NULL},
	{"network", NOTHING, NULL},
	{"srank", MODEL, NULL}, /* import_srank.c has it */
	{"multi-prog", REFUSED, NULL},
};

static enum fate fate_of(const struct script_use *use, const char **text)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		*text = options[i].text;
		if (strcmp(options[i].option, use->option->name) == 0)
			return options[i].fate;
	}
	*text = NULL;
	return COMMON;
}

static void left_out(struct import *import, const struct script_use *use, const char *why)
{
	check_import_note(import, use->range, "--%s%s%s of srun was left out: %s",
			  use->option->name, use->value ? "=" : "",
			  use->value ? use->value : "", why);
}

/* The header says the same, which the job has anyway. */
static bool is_the_jobs(const struct import *import, const struct script_use *use)
{
	const struct script_use *job =
		script_header_find(&import->model->header, 0, use->option->name);

	return job && job->value && use->value && strcmp(job->value, use->value) == 0;
}

/* ALL is among the words of LIST. */
static bool has_all(const char *list)
{
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncasecmp(at, "ALL", 3) == 0 && (!at[3] || at[3] == ','))
			return true;
	}
	return false;
}

static void mpi(struct import *import, const struct script_use *use)
{
	const bool none = !use->value || strcmp(use->value, "none") == 0;

	/* With srank exec the ranks meet by it. */
	if (strcmp(check_import_launcher(import), "mpi") == 0 || (import->exec && !none))
		check_import_say(import, "srun", "mpi", use->value ? use->value : "");
	else if (!none)
		left_out(import, use, "PMI is for programs of MPI; srun.mpi says it");
}

/* Keys first, since a section is written once; then the list of the other options. */
static void one_key(struct import *import, const struct script_use *use)
{
	const char *text;

	switch (fate_of(use, &text)) {
	case KEY:
		check_import_flag(import, "srun", text, use->value);
		break;
	case MPI:
		mpi(import, use);
		break;
	case KILL:
		if (use->value && strcmp(use->value, "0") == 0) {
			check_import_key(import, "srun", "kill_on_bad_exit");
			fputs("false\n", import->out);
		}
		break;
	case EXPORT:
		if (use->value && !has_all(use->value))
			left_out(import, use,
				 "the ranks of a spec have the whole environment");
		break;
	case NOTHING:
		left_out(import, use, "a step takes no notice of it");
		break;
	case REFUSED:
		check_import_refuse(import, use->range,
				    "write a script for each program, or a heterogeneous "
				    "job: het in a spec",
				    "--%s starts several programs, and a spec starts one",
				    use->option->name);
		break;
	case MODEL:
	case BINDING:
	case COMMON:
		break;
	}
}

static void one_argument(struct import *import, const struct script_use *use,
			 const char **separator)
{
	char *word;

	if (use->value && strpbrk(use->value, "$`"))
		check_import_refuse(
			import, use->range,
			"write out what the variable holds in the script, and "
			"import it again",
			"the value of --%s holds a variable, and in a spec "
			"srun's options are taken as they are",
			use->option->name);
	if (asprintf(&word, "--%s%s%s", use->option->name, use->value ? "=" : "",
		     use->value ? use->value : "") < 0)
		return;
	if (**separator == '[')
		check_import_key(import, "srun", "args");
	fputs(*separator, import->out);
	*separator = ", ";
	check_import_scalar(import->out, word);
	free(word);
}

static void srun(struct import *import, const struct check_step *step)
{
	const char *separator = "[", *text;

	for (size_t i = 0; i < step->uses_count; i++) {
		const struct script_use *use = &step->uses[i];

		if (use->option && !use->fault &&
		    check_step_find(step, use->option->name) == use)
			one_key(import, use);
	}
	if (!step->mpi && strcmp(check_import_launcher(import), "mpi") == 0)
		check_import_note(import, step->command->range,
				  "srun has no --mpi here, and with launcher mpi it gets "
				  "--mpi=pmix: srun.mpi says another");
	for (size_t i = 0; i < step->uses_count; i++) {
		const struct script_use *use = &step->uses[i];

		if (!use->option || use->fault || fate_of(use, &text) != COMMON ||
		    is_the_jobs(import, use) || strcmp(use->option->name, "jobid") == 0)
			continue;
		one_argument(import, use, &separator);
	}
	if (*separator == ',')
		fputs("]\n", import->out);
}

/* ---- mpirun ---- */

/* Open MPI's and MPICH's options, horovodrun's too; a name stands for -NAME and --NAME.
 */
static const struct {
	const char *name;
	int words;       /* of its value */
	const char *why; /* it is left out; NULL: the numbers or the set-up have it */
} starters[] = {
	{"np", 1, NULL},
	{"n", 1, NULL},
	{"c", 1, NULL},
	{"N", 1, NULL},
	{"npernode", 1, NULL},
	{"ppn", 1, NULL},
	{"perhost", 1, NULL},
	{"num-proc", 1, NULL},
	{"x", 1, NULL},
	{"genvall", 0, NULL},
	{"bind-to", 1, "binding.cpus says what a rank is bound to"},
	{"map-by", 1, "srun.distribution says how ranks are laid out"},
	{"rank-by", 1, "srun.distribution says how ranks are laid out"},
	{"cpus-per-proc", 1, "cpus_per_task says it"},
	{"mca", 2, "variables OMPI_MCA_... in env say it"},
	{"gmca", 2, "variables OMPI_MCA_... in env say it"},
	{"genv", 2, "env says it"},
	{"env", 2, "env says it"},
	{"genvlist", 1, "the ranks of a spec have the whole environment"},
	{"hostfile", 1, "srun has the job's own hosts"},
	{"machinefile", 1, "srun has the job's own hosts"},
	{"f", 1, "srun has the job's own hosts"},
	{"host", 1, "srun has the job's own hosts"},
	{"hosts", 1, "srun has the job's own hosts"},
	{"H", 1, "srun has the job's own hosts"},
	{"wdir", 1, "run.workdir says it"},
	{"wd", 1, "run.workdir says it"},
	{"tag-output", 0, "srun.label says it"},
	{"output-filename", 1, "--output in srun.args says it"},
};

#define STARTERS (sizeof(starters) / sizeof(*starters))

static size_t starter_row(const char *word)
{
	size_t row = 0, length;

	word += strspn(word, "-");
	length = strcspn(word, "=");
	while (row < STARTERS && !(strlen(starters[row].name) == length &&
				   strncmp(starters[row].name, word, length) == 0))
		row++;
	return row;
}

/* --map-by ppr:N:node is a number of ranks, which the resources have. */
static bool is_a_count(const char *name, const char *value)
{
	return strcmp(name, "map-by") == 0 && strncmp(value, "ppr:", 4) == 0 &&
	       strstr(value, ":node");
}

static void starter(struct import *import, const struct check_command *command)
{
	for (size_t i = 1; i < command->words_count && i < command->operand; i++) {
		const struct check_value *word = &command->words[i];
		const bool equals = strchr(word->text, '=') != NULL;
		const size_t row = starter_row(word->text);
		struct script_range range = word->range;
		size_t values = 0;

		if (word->text[0] != '-')
			continue;
		if (row < STARTERS && !equals)
			values = (size_t)starters[row].words;
		if (i + values >= command->operand)
			values = command->operand - i - 1;
		if (row < STARTERS &&
		    (!starters[row].why ||
		     (values > 0 &&
		      is_a_count(starters[row].name, command->words[i + 1].text)))) {
			i += values;
			continue;
		}
		if (command->words[i + values].range.end > range.end)
			range.end = command->words[i + values].range.end;
		check_import_note(import, range, "%s%s%s%s%s of %s was left out: %s",
				  word->text, values > 0 ? " " : "",
				  values > 0 ? command->words[i + 1].text : "",
				  values > 1 ? " " : "",
				  values > 1 ? command->words[i + 2].text : "",
				  command->name,
				  row < STARTERS ? starters[row].why
						 : "srun starts the ranks in a spec");
		i += values;
	}
}

void check_import_step(struct import *import)
{
	const struct check_launch *launch = import->launch;
	const struct check_step *step = launch->step;
	const struct check_command *command = launch->command->parent;

	binding(import);
	if (step && step->kind == CHECK_STEP_SRUN)
		srun(import, step);
	for (; command; command = command->parent) {
		if (command->tool != CHECK_MPIRUN && command->tool != CHECK_HOROVODRUN)
			continue;
		starter(import, command);
		if (command->tool == CHECK_MPIRUN &&
		    strcmp(check_import_launcher(import), "mpi") == 0)
			check_import_note(
				import, command->range,
				"srun --mpi=pmix starts the ranks in place of %s, "
				"for an MPI that knows PMIx: srun.mpi says "
				"another",
				command->name);
	}
}
