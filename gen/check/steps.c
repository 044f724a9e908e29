/* SPDX-License-Identifier: MIT */
/*
 * Rules about srun and its like: what a step takes from the job, what it leaves to the
 * steps beside it, and what must not stand inside one.
 */
#include "gen/check/rules.h"

#include "gen/spec/scalar.h"

#include "gen/spec/arena.h"
#include "gen/spec/scalar.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LL "%" PRId64

static bool is_one_of(const char *const *names, const char *name)
{
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

static bool runs(const struct check_command *command)
{
	return command->where != CHECK_ELSEWHERE && !command->uncalled;
}

/* Programs that need neither CPUs nor GPUs to speak of. */
static bool is_trivial(const char *name)
{
	static const char *const names[] = {
		"mkdir",  "hostname", "echo",     "nvidia-smi", "rm",       "cp",
		"mv",     "date",     "env",      "ls",         "printenv", "true",
		"sleep",  "cat",      "rocm-smi", "chmod",      "touch",    "sbcast",
		"rsync",  "tar",      "ln",       "pkill",      "killall",  "uptime",
		"whoami", "pwd",      "test",     "free",       "lscpu",    "numactl",
		"df",     "unzip",    "kill",     "scontrol",   "srank",    NULL,
	};

	return is_one_of(names, name);
}

/* Commands of other shells that may stand between those of one step. */
#define BETWEEN 64

/* The innermost command that the step starts by its own words; NULL: not known. */
static const struct check_command *program(const struct check_model *model,
					   const struct check_step *step)
{
	const struct check_command *found = NULL;
	size_t between = 0;

	for (size_t i = step->command->order;
	     i < model->commands_count && between < BETWEEN; i++) {
		const struct check_command *command = model->commands[i];

		between += command->step != step;
		if (command->step == step && (!found || command->parent == found ||
					      command->parent == step->command))
			found = command;
	}
	return found;
}

static bool runs_trivial(const struct check_model *model, const struct check_step *step)
{
	const struct check_command *command = program(model, step);

	return command && is_trivial(command->name);
}

/* What one pass over all commands says of each. */
struct facts {
	/* The next one that waits for the steps before it; NULL: none. */
	const struct check_command **wait;
	bool *lasts;          /* something behind it takes time */
	size_t mpi;           /* the first that loads an MPI module */
	size_t *first_launch; /* of each step, in model->launches */
};

/* ---- what a step takes from the job ---- */

/* A launcher for one task a node is started by several, which is told of elsewhere. */
static bool starts_too_often(const struct check_model *model, size_t from,
			     const struct check_step *step)
{
	for (size_t i = from; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];
		const enum check_tool tool = launch->tool;

		if (launch->step && launch->step->index > step->index)
			break;
		if (launch->step == step &&
		    (tool == CHECK_TORCHRUN || tool == CHECK_TORCH_LAUNCH ||
		     tool == CHECK_ACCELERATE) &&
		    exactly(&launch->copies_per_node) > 1)
			return true;
	}
	return false;
}

static void cpus_per_task(struct rules *rules, const struct facts *facts,
			  const struct check_step *step)
{
	const struct script_use *use = step->job->cpus_per_task;
	const struct check_amount *amount = &step->amount[CHECK_CPUS_PER_TASK];
	struct script_range behind;
	int64_t cpus = use && use->value && !use->fault ? atoll(use->value) : 0;

	if (cpus < 2 || step->kind != CHECK_STEP_SRUN || step->unbound || step->opaque ||
	    amount->origin == CHECK_BY_STEP || amount->origin == CHECK_BY_VARIABLE ||
	    rules_since(rules, 2311) || rules_before(rules, 2205) ||
	    step->command->sees[CHECK_SRUN_CPUS_PER_TASK] ||
	    check_step_find(step, "cpus-per-gpu") ||
	    check_step_find(step, "cpus-per-task"))
		return;
	if (step->cpu_bind && step->cpu_bind->value &&
	    strcmp(step->cpu_bind->value, "none") == 0)
		return;
	if (runs_trivial(rules->model, step) || check_step_find(step, "pty"))
		return;
	/* Which Slurm will run it is not known: right since 23.11, and before 22.05. */
	if (!rules_tell_as(
		    rules, RULE_SRUN_WITHOUT_CPUS_PER_TASK,
		    rules->model->slurm > 0 ? DIAG_WARNING : DIAG_NOTE,
		    step->command->words[0].range,
		    "srun of Slurm 22.05 to 23.02 does not take --cpus-per-task=" LL
		    " from the job: each task is bound to one CPU there%s",
		    cpus,
		    rules->model->slurm > 0
			    ? ""
			    : "; --slurm=VERSION, or a profile by srank site, says "
			      "whether that is meant"))
		return;
	if (starts_too_often(rules->model, facts->first_launch[step->index], step)) {
		rules_fix(rules, "start the launcher once a node, then give srun "
				 "--cpus-per-task for all of its workers");
		return;
	}
	rules_fix(rules, "write `srun --cpus-per-task=" LL " ...`", cpus);
	behind = step->command->words[0].range;
	behind.begin = behind.end;
	/* A word that comes out of a variable is not the place for more. */
	if (step->command->words[0].constant &&
	    step->command->words[0].source.begin == step->command->words[0].range.begin)
		rules_edit(rules, behind, " --cpus-per-task=" LL, cpus);
}

static void ntasks_per_node(struct rules *rules, const struct check_step *step)
{
	const struct script_use *use = step->ntasks_per_node;
	const struct check_job *job = step->job;
	int64_t tasks = exactly(&job->amount[CHECK_NTASKS].number);
	int64_t nodes = exactly(&step->amount[CHECK_NODES].number), want;

	if (!use || !use->value || check_step_find(step, "ntasks") ||
	    step->kind != CHECK_STEP_SRUN ||
	    (!job->ntasks && !job->ntasks_per_node && !job->ntasks_per_gpu &&
	     !job->gpus_per_task))
		return;
	want = atoll(use->value);
	if (tasks < 1 || want < 1 || (nodes > 0 && nodes * want == tasks))
		return;
	if (check_step_find(step, "nodes") && rules_since(rules, 2411))
		return;
	if (!rules_tell(rules, RULE_SRUN_NTASKS_PER_NODE_IGNORED, use->range,
			"srun%s starts the job's " LL " tasks and ignores "
			"--ntasks-per-node=" LL,
			check_step_find(step, "nodes") ? " before 24.11" : "", tasks,
			want))
		return;
	if (nodes > 0)
		rules_fix(rules,
			  "write `srun -N " LL " -n " LL " --ntasks-per-node=" LL "`",
			  nodes, nodes * want, want);
}

static int64_t memory(const struct script_use *use)
{
	char hint[SPEC_HINT_MAX];
	uint64_t mib;

	if (!use || !use->value || spec_memory_read(use->value, &mib, hint) < 0)
		return -1;
	return mib == 0 ? -1 : (int64_t)mib;
}

static void exceeds(struct rules *rules, const struct check_step *step)
{
	static const struct {
		enum check_quantity quantity;
		const char *what;
	} counts[] = {
		{CHECK_NODES, "nodes"},
		{CHECK_GPUS_PER_NODE, "GPUs a node"},
	};
	const struct check_job *job = step->job;

	if (step->kind == CHECK_STEP_MPIRUN && (job->ntasks || job->ntasks_per_node)) {
		const struct check_amount *asked = &step->amount[CHECK_NTASKS];
		int64_t has = exactly(&job->amount[CHECK_NTASKS].number);

		if (asked->origin == CHECK_BY_STEP && has > 0 &&
		    exactly(&asked->number) > has &&
		    !check_option(step->command, 1, "--oversubscribe",
				  &(struct check_setting){0}))
			rules_tell(rules, RULE_STEP_EXCEEDS_JOB, asked->range,
				   "%s is to start " LL
				   " processes, and the job has slots for " LL " tasks",
				   step->command->name, exactly(&asked->number), has);
	}
	if (step->kind != CHECK_STEP_SRUN || step->het_several ||
	    check_step_find(step, "jobid"))
		return;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		const struct check_amount *asked = &step->amount[counts[i].quantity];
		const struct check_amount *has = &job->amount[counts[i].quantity];
		int64_t most = exactly(&has->number);

		if (asked->origin != CHECK_BY_STEP || most < 0 ||
		    has->origin == CHECK_NOBODY || exactly(&asked->number) <= most)
			continue;
		/* A job that names no GPUs may have them by its partition. */
		if (counts[i].quantity == CHECK_GPUS_PER_NODE && most == 0)
			continue;
		if (counts[i].quantity == CHECK_NODES && !job->nodes &&
		    (job->ntasks || job->gpus))
			continue;
		if (rules_tell(rules, RULE_STEP_EXCEEDS_JOB, asked->range,
			       "the step asks for " LL " %s, and the job has " LL,
			       exactly(&asked->number), counts[i].what, most))
			rules_also(rules, has->range, "the job has " LL " %s", most,
				   counts[i].what);
	}
	if (memory(step->mem) > memory(job->mem) && memory(job->mem) > 0)
		rules_tell(rules, RULE_STEP_EXCEEDS_JOB, step->mem->range,
			   "the step asks for --mem=%s, and the job has %s",
			   step->mem->value, job->mem->value);
}

static bool asks_gres_gpus(const struct script_use *gres)
{
	return gres && gres->value && strncmp(gres->value, "gpu", 3) == 0 &&
	       (gres->value[3] == ':' || gres->value[3] == '\0');
}

static void gres_over_gpus_per_node(struct rules *rules, const struct check_step *step)
{
	const struct script_use *gres = step->gres, *header = step->job->gpus_per_node;
	const char *number;

	if (!asks_gres_gpus(gres) || !header || step->gpus_per_node ||
	    rules_before(rules, 2605))
		return;
	if (!rules_tell(
		    rules, RULE_STEP_GRES_OVER_GPUS_PER_NODE, gres->range,
		    "--gres=%s meets --gpus-per-node=%s of the job, and since 26.05 srun "
		    "refuses them together",
		    gres->value, header->value ? header->value : ""))
		return;
	number = gres->value[3] ? gres->value + 4 : "1";
	rules_fix(rules, "write --gpus-per-node=%s on srun", number);
	if (!strchr(gres->value, ',') && range_is_empty(gres->value_range) == false)
		rules_edit(rules, gres->range, "--gpus-per-node=%s", number);
}

static void environment(struct rules *rules, const struct check_step *step)
{
	const struct check_command *command = program(rules->model, step);
	const struct script_use *use = step->export ? step->export : step->job->export;
	struct script_range start;
	bool list;

	if (!step->bare_environment || !use || !use->value || use->fault ||
	    step->kind != CHECK_STEP_SRUN || strstr(use->value, "PATH="))
		return;
	list = strchr(use->value, '=') != NULL;
	/* A program with its whole path runs, and NONE was meant. */
	if (!list && command && command->words_count > 0 &&
	    command->words[0].text[0] == '/')
		return;
	if (!rules_tell(
		    rules, RULE_EXPORT_WITHOUT_ALL, use->range,
		    "--export=%s takes everything else from the tasks: no PATH to find "
		    "%s, no HOME, no MASTER_ADDR",
		    use->value, command && *command->name ? command->name : "programs"))
		return;
	if (!list) {
		rules_fix(rules, step->export
					 ? "leave it out"
					 : "write `srun --export=ALL` in the commands");
		return;
	}
	rules_fix(rules, "write --export=ALL,%s", use->value);
	start = use->value_range;
	start.end = start.begin;
	if (!range_is_empty(use->value_range) && !strstr(use->value, "NONE"))
		rules_edit(rules, start, "ALL,");
}

/* ---- steps beside each other ---- */

/*
 * The step that runs beside STEP: another, or STEP itself in the next round of its loop;
 * NULL: none.
 */
static const struct check_step *beside(const struct check_model *model,
				       const struct facts *facts,
				       const struct check_step *step)
{
	const struct check_command *command = step->command;
	const struct check_command *wait = facts->wait[command->order];

	if (!step->background || step->nodelist || step->relative)
		return NULL;
	if (command->loops > 0 && exactly(&command->rounds) != 1 &&
	    (!wait || wait->loops < command->loops || wait->conditional))
		return step;
	for (size_t i = step->index + 1; i < model->steps_count; i++) {
		const struct check_step *other = model->steps[i];

		if (wait && other->command->order > wait->order)
			break;
		if (other->job == step->job && other->kind == CHECK_STEP_SRUN &&
		    runs(other->command) && !other->nodelist && !other->relative &&
		    /* Branches of an `if` do not run beside each other. */
		    !(other->command->conditional && command->conditional))
			return other;
	}
	return NULL;
}

static bool shares_gpus(const struct check_step *step)
{
	const struct check_job *job = step->job;

	if (step->gres || step->gpus || step->gpus_per_node || step->overlap)
		return false;
	/* --gpus-per-task on srun does not take less than the header's --gpus-per-node.
	 */
	return exactly(&job->amount[CHECK_GPUS_PER_NODE].number) > 0 &&
	       (!step->gpus_per_task || job->gpus_per_node);
}

static void serialised(struct rules *rules, const struct check_step *step,
		       const struct check_step *other)
{
	int64_t gpus = exactly(&step->job->amount[CHECK_GPUS_PER_NODE].number);
	struct script_range at = step->command->range;

	if (step->overlap || step->opaque || check_step_find(step, "oversubscribe") ||
	    runs_trivial(rules->model, step) || runs_trivial(rules->model, other))
		return;
	if (step != other && (other->overlap || !other->background))
		return;
	if (shares_gpus(step)) {
		if (rules_tell(rules, RULE_PARALLEL_STEPS_SERIALISED, at,
			       "each of these steps takes all " LL
			       " GPU%s of the node, so the "
			       "next one waits for it",
			       gpus, gpus == 1 ? "" : "s"))
			rules_fix(rules,
				  "give each srun --exact, its share of the GPUs as in "
				  "--gres=gpu:1, and --mem");
	} else if (step->job->mem && !step->mem && !step->mem_per_cpu &&
		   !step->mem_per_gpu) {
		if (rules_tell(
			    rules, RULE_PARALLEL_STEPS_SERIALISED, at,
			    "each of these steps takes all of --mem=%s, so the next one "
			    "waits for it",
			    step->job->mem->value ? step->job->mem->value : ""))
			rules_fix(rules, "give each srun its share as in --mem=4G");
	} else if (!step->exact &&
		   step->amount[CHECK_CPUS_PER_TASK].origin != CHECK_BY_STEP &&
		   !rules_since(rules, 2311)) {
		if (rules_tell(rules, RULE_PARALLEL_STEPS_SERIALISED, at,
			       "without --exact or -c each of these steps takes all CPUs "
			       "of the "
			       "node before Slurm 23.11, so the next one waits for it"))
			rules_fix(rules, "give each srun --exact");
	}
}

/* The launch in STEP that meets others at MASTER_PORT, or a port of its own. */
static const struct check_launch *meets(const struct check_model *model,
					const struct facts *facts,
					const struct check_step *step)
{
	for (size_t i = facts->first_launch[step->index];
	     i < model->launches_count && model->launches[i]->step == step; i++) {
		const struct check_launch *launch = model->launches[i];
		const bool launcher = launch->tool == CHECK_TORCHRUN ||
				      launch->tool == CHECK_TORCH_LAUNCH ||
				      launch->tool == CHECK_ACCELERATE;

		if (launch->parent)
			continue;
		if (launcher && !launch->setting[CHECK_KEY_STANDALONE].name)
			return launch;
		if (launch->command->sees[CHECK_RANK] &&
		    exactly(&step->amount[CHECK_NTASKS].number) != 1)
			return launch;
	}
	return NULL;
}

static bool is_same_value(const struct check_value *a, const struct check_value *b)
{
	return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static void one_port(struct rules *rules, const struct facts *facts,
		     const struct check_step *step, const struct check_step *other)
{
	const struct check_launch *a = meets(rules->model, facts, step);
	const struct check_launch *b = meets(rules->model, facts, other);
	const struct check_setting *port;
	const struct check_assignment *said, *too;

	if (!a || !b)
		return;
	port = &a->setting[CHECK_KEY_PORT];
	if (!port->name)
		port = &a->setting[CHECK_KEY_ENDPOINT];
	if (port->name && port->value.constant) {
		const struct check_setting *with = &b->setting[CHECK_KEY_PORT];

		if (!with->name)
			with = &b->setting[CHECK_KEY_ENDPOINT];
		if (with->name && is_same_value(&port->value, &with->value) &&
		    (step != other ||
		     port->value.source.begin == port->value.range.begin))
			rules_tell(rules, RULE_PARALLEL_STEPS_ONE_PORT, port->range,
				   "steps that run at the same time all meet at %s",
				   port->value.text);
		return;
	}
	said = a->command->sees[CHECK_MASTER_PORT];
	too = b->command->sees[CHECK_MASTER_PORT];
	if (!said || !too || said->opaque || said->shell->where != CHECK_BATCH ||
	    too->shell->where != CHECK_BATCH)
		return;
	if (said != too &&
	    !(said->value.constant && is_same_value(&said->value, &too->value)))
		return;
	/* Within the loop it may be another one each time. */
	if (step == other && said->loop && !said->value.constant)
		return;
	if (rules_tell(rules, RULE_PARALLEL_STEPS_ONE_PORT, said->range,
		       "steps that run at the same time all have this MASTER_PORT: the "
		       "second cannot bind it"))
		rules_also(rules, other->command->range,
			   "this step runs beside another with the same MASTER_PORT");
}

/* Commands that take no time: the script is over after them. */
static bool is_brief(const struct check_command *command)
{
	static const char *const names[] = {
		"echo",  "printf", "date",  "exit",   "true", "export",
		"cd",    "set",    "unset", "module", "trap", "touch",
		"mkdir", "rm",     ":",     "return", NULL,
	};

	return is_one_of(names, command->name) || command->trapped || command->uncalled ||
	       command->background || command->where != CHECK_BATCH;
}

static void unwaited(struct rules *rules, const struct facts *facts,
		     const struct check_step *step)
{
	const struct check_model *model = rules->model;

	if (!step->background || step->kind != CHECK_STEP_SRUN ||
	    step->command->shell->kind != CHECK_SHELL_SCRIPT || step->command->function ||
	    facts->lasts[step->command->order])
		return;
	if (!rules_tell(
		    rules, RULE_STEP_WITHOUT_WAIT, step->command->range,
		    "the script ends while this step runs, and its end kills the step"))
		return;
	if (step->index + 1 == model->steps_count && model->source.length > 0) {
		uint32_t end = (uint32_t)model->source.length;
		const bool open = model->source.text[end - 1] != '\n';

		rules_edit(rules, (struct script_range){end, end}, "%swait\n",
			   open ? "\n" : "");
	}
}

/* ---- what must not stand inside a step ---- */

static bool loads_mpi(const struct check_command *command)
{
	if (command->tool != CHECK_MODULE)
		return false;
	for (size_t i = 1; i < command->words_count; i++) {
		const char *word = command->words[i].text;

		if (strncasecmp(word, "openmpi", 7) == 0 || strstr(word, "/openmpi"))
			return true;
	}
	return false;
}

static void mpi(struct rules *rules, const struct facts *facts,
		const struct check_step *step)
{
	const struct check_model *model = rules->model;
	const struct check_command *command = program(model, step);
	const bool asked = step->mpi && step->mpi->value && !step->mpi->fault;

	if (step->kind != CHECK_STEP_SRUN || !command)
		return;
	if (!asked && command->tool == CHECK_PROGRAM && command->name[0] &&
	    !is_trivial(command->name) &&
	    !check_sees(model, step->command, "SLURM_MPI_TYPE") &&
	    (exactly(&step->amount[CHECK_NTASKS].number) != 1) &&
	    facts->mpi < step->command->order)
		rules_tell(
			rules, RULE_MPI_WITHOUT_PLUGIN, step->command->range,
			"%s gets no PMI from this srun unless the site sets MpiDefault",
			command->name);
	/* srank exec has the ranks meet by PMIx. */
	if (!asked || strcmp(step->mpi->value, "none") == 0 ||
	    check_within(command, CHECK_SRANK))
		return;
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if (launch->step == step && (launch->tool == CHECK_TORCHRUN ||
					     launch->tool == CHECK_TORCH_LAUNCH ||
					     launch->tool == CHECK_ACCELERATE))
			rules_tell(rules, RULE_MPI_NOT_NEEDED, step->mpi->range,
				   "%s takes nothing from --mpi=%s",
				   launch->tool == CHECK_ACCELERATE ? "accelerate"
								    : "torchrun",
				   step->mpi->value);
	}
}

/* The name of a file without its folder is the script's own: sbatch "$0". */
static bool resubmits(const struct check_command *command)
{
	for (size_t i = 1; i < command->words_count; i++) {
		const struct check_value *word = &command->words[i];

		if (check_value_expands(word, "0") ||
		    check_value_expands(word, "BASH_SOURCE"))
			return true;
	}
	return false;
}

static bool exports_none(const struct check_command *command)
{
	for (size_t i = 1; i < command->words_count; i++) {
		const char *word = command->words[i].text;

		if (strncmp(word, "--export", 8) == 0 &&
		    (strcasestr(word, "NONE") || strcasestr(word, "NIL") ||
		     (i + 1 < command->words_count && !word[8])))
			return true;
	}
	return false;
}

/* `unset SLURM_...`, `unset "${!SLURM_@}"`, env -i or -u. */
static bool cleans(const struct check_model *model, const struct check_command *command)
{
	for (size_t i = 0; i < command->order; i++) {
		const struct check_command *before = model->commands[i];

		for (size_t j = 1; j < before->words_count; j++) {
			if (strcmp(before->name, "unset") == 0 &&
			    strstr(before->words[j].text, "SLURM_"))
				return true;
			if (command->parent == before &&
			    strcmp(before->name, "env") == 0 &&
			    strncmp(before->words[j].text, "-", 1) == 0)
				return true;
		}
	}
	return false;
}

static void submits(struct rules *rules, const struct check_command *command)
{
	const struct check_job *job = &rules->model->jobs[0];
	const bool gpus = job->gpus_per_node || job->gpus_per_task;
	const bool leaks = gpus || job->mem || job->mem_per_cpu || job->mem_per_gpu;

	if (command->tool != CHECK_SBATCH || !runs(command) || exports_none(command) ||
	    cleans(rules->model, command))
		return;
	if (!command->step && (!leaks || resubmits(command)))
		return;
	/* Memory alone meets only a job that asks for it in another way. */
	rules_tell_as(
		rules, RULE_SBATCH_INSIDE_JOB,
		command->step || gpus ? DIAG_WARNING : DIAG_NOTE, command->range,
		"the new job inherits this one's SLURM_ variables (%s), which its srun "
		"takes for its own",
		job->gpus_per_node   ? "SLURM_GPUS_PER_NODE"
		: job->gpus_per_task ? "SLURM_GPUS_PER_TASK"
		: leaks              ? "SLURM_MEM_PER_NODE and the like"
				     : "those of the step");
}

static void nested(struct rules *rules, const struct check_command *command)
{
	const struct check_step *outer = command->step;

	if (!outer || outer->kind != CHECK_STEP_SRUN || !runs(command))
		return;
	if (command->tool == CHECK_MPIRUN || command->tool == CHECK_HOROVODRUN) {
		int64_t tasks = exactly(&outer->amount[CHECK_NTASKS].number);

		if (tasks > 0)
			rules_tell(rules, RULE_MPIRUN_INSIDE_SRUN, command->range,
				   "srun starts %s in each of its " LL " task%s",
				   command->name, tasks, tasks == 1 ? "" : "s");
		else
			rules_tell(rules, RULE_MPIRUN_INSIDE_SRUN, command->range,
				   "srun starts %s in each of its tasks", command->name);
	}
	if (command->tool == CHECK_SRUN && command->starts && !command->starts->overlap &&
	    !outer->overlap && !check_step_find(command->starts, "jobid"))
		rules_tell(rules, RULE_SRUN_INSIDE_STEP, command->range,
			   "this srun waits for what the step of line %u holds",
			   script_text_line(&rules->model->source,
					    outer->command->range.begin));
}

/* ---- srun's own options ---- */

static void srun_option(struct rules *rules, const struct script_use *use)
{
	const char *dashes = use->letter ? "-" : "--";
	char hint[SPEC_HINT_MAX];
	const char *why;

	switch (use->fault) {
	case SCRIPT_USE_UNKNOWN:
	case SCRIPT_USE_OTHER_COMMAND:
		/* A plugin of the cluster may have options of any long name. */
		if (!rules_tell_as(
			    rules, RULE_UNKNOWN_OPTION,
			    use->letter || use->nearest ? DIAG_ERROR : DIAG_WARNING,
			    use->name_range, "srun has no option %s%s%s", dashes,
			    use->name,
			    use->letter || use->nearest ? ""
							: ", unless a plugin has it"))
			return;
		if (use->nearest)
			rules_fix(rules, "did you mean --%s?", use->nearest->name);
		else
			rules_fix(rules, "use an option of srun(1)");
		return;
	case SCRIPT_USE_AMBIGUOUS:
		rules_tell(rules, RULE_AMBIGUOUS_OPTION, use->name_range,
			   "--%s is the beginning of several options of srun", use->name);
		return;
	case SCRIPT_USE_UNWANTED_VALUE:
		rules_tell(rules, RULE_BAD_VALUE, use->range, "--%s takes no value",
			   use->name);
		return;
	case SCRIPT_USE_FINE:
		break;
	default:
		return;
	}
	if (!use->option || !use->value || strpbrk(use->value, "$`") ||
	    range_is_empty(use->value_range))
		return;
	if (strcmp(use->option->name, "srank") == 0) {
		rules_srank_list(rules, use->value_range, "--srank", use->value);
		return;
	}
	/* srun's --exclusive has other values. */
	if (strcmp(use->option->name, "exclusive") == 0 ||
	    !rules_value_form(rules, use->option->name, use->value, &why, hint) || !why)
		return;
	if (rules_tell(rules, RULE_BAD_VALUE, use->value_range,
		       "srun does not take `%s` for --%s: %s", use->value,
		       use->option->name, why) &&
	    hint[0])
		rules_fix(rules, "write --%s=%s", use->option->name, hint);
}

static void srun_options(struct rules *rules, const struct check_step *step)
{
	if (step->kind != CHECK_STEP_SRUN)
		return;
	for (size_t i = 0; i < step->uses_count; i++)
		srun_option(rules, &step->uses[i]);
}

/* SRANK=LIST of this project's plugin says what --srank=LIST does. */
static void srank_variable(struct rules *rules, const struct check_assignment *set)
{
	if (strcmp(set->name, "SRANK") == 0 && !set->unset && !set->opaque &&
	    set->value.constant && set->shell->where != CHECK_ELSEWHERE)
		rules_srank_list(rules, set->range, "SRANK", set->value.text);
}

static bool gather(struct rules *rules, struct facts *facts)
{
	const struct check_model *model = rules->model;
	struct spec_arena **arena = &rules->model->arena;
	const size_t count = model->commands_count;
	const struct check_command *wait = NULL;
	bool lasts = false;

	facts->wait = spec_arena_alloc(arena, (count + 1) * sizeof(*facts->wait));
	facts->lasts = spec_arena_alloc(arena, count + 1);
	facts->first_launch = spec_arena_alloc(
		arena, (model->steps_count + 1) * sizeof(*facts->first_launch));
	if (!facts->wait || !facts->lasts || !facts->first_launch)
		return false;
	facts->mpi = count;
	for (size_t i = count; i-- > 0;) {
		const struct check_command *command = model->commands[i];

		facts->wait[i] = wait;
		facts->lasts[i] = lasts;
		lasts |= command->tool == CHECK_WAIT || !is_brief(command);
		if (command->tool == CHECK_WAIT && command->where == CHECK_BATCH &&
		    !command->uncalled && !command->trapped)
			wait = command;
		if (loads_mpi(command))
			facts->mpi = i;
	}
	for (size_t i = 0; i < model->steps_count; i++)
		facts->first_launch[i] = model->launches_count;
	for (size_t i = model->launches_count; i-- > 0;) {
		if (model->launches[i]->step)
			facts->first_launch[model->launches[i]->step->index] = i;
	}
	return true;
}

void rules_steps(struct rules *rules)
{
	const struct check_model *model = rules->model;
	struct facts all, *facts = &all;

	if (!gather(rules, facts)) {
		rules->rc = -ENOMEM;
		return;
	}

	for (size_t i = 0; i < model->steps_count; i++) {
		const struct check_step *step = model->steps[i];
		const struct check_command *command = step->command;
		const struct check_step *other;

		if (!runs(command))
			continue;
		srun_options(rules, step);
		/* srun --help, --version, --mpi=list and the like start nothing. */
		if (step->kind == CHECK_STEP_SRUN && !step->multi_prog && !step->opaque &&
		    command->operand >= command->words_count)
			continue;
		cpus_per_task(rules, facts, step);
		ntasks_per_node(rules, step);
		exceeds(rules, step);
		gres_over_gpus_per_node(rules, step);
		environment(rules, step);
		mpi(rules, facts, step);
		unwaited(rules, facts, step);
		other = step->kind == CHECK_STEP_SRUN ? beside(model, facts, step) : NULL;
		if (other) {
			serialised(rules, step, other);
			one_port(rules, facts, step, other);
		}
		if (step->kind == CHECK_STEP_SRUN && !step->kill_on_bad_exit &&
		    exactly(&step->amount[CHECK_NTASKS].number) != 1)
			rules_tell(rules, RULE_NO_KILL_ON_BAD_EXIT,
				   command->words[0].range,
				   "a task that fails does not end the others");
		if (command->stage + 1 < command->stages && !command->pipefail &&
		    !command->substitute && !runs_trivial(model, step))
			rules_tell(rules, RULE_PIPE_HIDES_STATUS, command->range,
				   "the exit code of this step is lost in the pipe");
	}
	for (size_t i = 0; i < model->assignments_count; i++)
		srank_variable(rules, model->assignments[i]);
	for (size_t i = 0; i < model->commands_count; i++) {
		submits(rules, model->commands[i]);
		nested(rules, model->commands[i]);
	}
}
