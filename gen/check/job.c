/* SPDX-License-Identifier: MIT */
/*
 * Rules about the script as a program and the life of its job: what the shell cannot
 * read, what belongs to Slurm, signals, traps and requeueing.
 */
#include "gen/check/rules.h"

#include <string.h>

static bool is_one_of(const char *const *names, const char *name)
{
	for (; *names; names++) {
		if (strcmp(*names, name) == 0)
			return true;
	}
	return false;
}

/* ---- the shell ---- */

static void fault(struct rules *rules, const struct shell_fault *fault)
{
	enum diag_severity severity = DIAG_ERROR;

	if (fault->kind == SHELL_FINE)
		return;
	/* bash reads the one and may read the other. */
	if (fault->kind == SHELL_OPEN_DOCUMENT)
		severity = DIAG_WARNING;
	else if (fault->kind == SHELL_TOO_DEEP)
		severity = DIAG_NOTE;
	if (rules_tell_as(rules, RULE_SHELL_SYNTAX, severity, fault->range, "%s",
			  shell_fault_text(fault->kind)) &&
	    fault->kind == SHELL_TOO_DEEP)
		rules_fix(rules, "nothing behind it is checked: put it into a file");
}

/* An option at the beginning of a line and of a command: the one before was to go on. */
static void continuation(struct rules *rules, const struct check_command *command)
{
	const char *text = rules->model->source.text;
	const struct check_value *word = command->words;
	uint32_t line, end;

	if (command->words_count == 0 || command->uncalled ||
	    (command->parent && command->parent->shell == command->shell) ||
	    command->where == CHECK_ELSEWHERE || word->text[0] != '-' ||
	    !strchr("-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
		    word->text[1]) ||
	    word->text[1] == '\0' || text[word->range.begin] != '-')
		return;
	for (line = word->range.begin; line > 0 && text[line - 1] != '\n'; line--) {
		if (text[line - 1] != ' ' && text[line - 1] != '\t')
			return;
	}
	end = line > 0 ? line - 1 : 0;
	while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t'))
		end--;
	rules_tell(
		rules, RULE_BROKEN_CONTINUATION, word->range,
		end + 1 < line && end > 0 && text[end - 1] == '\\'
			? "`%s` is run as a command: a blank behind the backslash of the "
			  "line before ends that one"
			: "`%s` is run as a command: the one before has ended",
		word->text);
}

/* ---- Slurm's own variables ---- */

/* Those that describe the job; srun takes some of them for options. */
static bool is_shape(const char *name, bool *option)
{
	static const char *const options[] = {"SLURM_NTASKS", "SLURM_NPROCS",
					      "SLURM_NNODES", "SLURM_JOB_NUM_NODES",
					      NULL};
	static const char *const facts[] = {
		"SLURM_NTASKS_PER_NODE",
		"SLURM_TASKS_PER_NODE",
		"SLURM_CPUS_PER_TASK",
		"SLURM_CPUS_ON_NODE",
		"SLURM_GPUS_PER_NODE",
		"SLURM_GPUS_ON_NODE",
		"SLURM_GPUS_PER_TASK",
		"SLURM_JOB_GPUS",
		"SLURM_PROCID",
		"SLURM_LOCALID",
		"SLURM_NODEID",
		"SLURM_JOB_ID",
		"SLURM_JOBID",
		"SLURM_JOB_NODELIST",
		"SLURM_NODELIST",
		"SLURM_STEP_NODELIST",
		"SLURM_ARRAY_TASK_ID",
		"SLURM_TRES_PER_TASK",
		NULL,
	};

	*option = is_one_of(options, name);
	return *option || is_one_of(facts, name);
}

static bool starts_in(const struct check_model *model, const struct check_assignment *set)
{
	for (size_t i = 0; i < model->steps_count; i++) {
		if (model->steps[i]->command->order >= set->order)
			return true;
	}
	return model->launches_count > 0;
}

static void overwritten(struct rules *rules, const struct check_assignment *set)
{
	const struct check_model *model = rules->model;
	const struct check_expansion *own = check_value_expands(&set->value, set->name);
	struct check_meaning meaning;
	struct check_number number;
	bool option;

	if (set->unset || set->opaque || set->shell->where == CHECK_ELSEWHERE ||
	    !is_shape(set->name, &option) || !starts_in(model, set))
		return;
	/* For one program, such as a hostlist tool, or where there is no job. */
	if (set->export == CHECK_FOR_ONE || set->export == CHECK_BY_ENV ||
	    set->conditional)
		return;
	meaning = check_slurm_variable(model, set->name, set->shell->where,
				       set->shell->step);
	number = check_value_number(model, &set->value);
	if (meaning.is == CHECK_IS_NUMBER && check_exact(&meaning.number) &&
	    check_exact(&number) && meaning.number.low == number.low)
		return;
	/* ${X:-4}: only where Slurm says nothing. */
	if (own && own->op && (strchr(own->op, '-') || strchr(own->op, '=')))
		return;
	rules_tell_as(
		rules, RULE_SLURM_VARIABLE_OVERWRITTEN,
		own || option ? DIAG_WARNING : DIAG_ERROR, set->range,
		option ? "%s is Slurm's; say it by an option of srun"
		       : "%s is Slurm's, and the job stays as it is whatever the script "
			 "sets",
		set->name);
}

/* ---- signals ---- */

/* USR1 of SIGUSR1, usr1, B:USR1@60. */
static void signal_name(const char *text, char name[16])
{
	size_t length;
	const char *colon = strchr(text, ':');

	if (colon)
		text = colon + 1;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	length = strcspn(text, "@");
	if (length > 15)
		length = 15;
	memcpy(name, text, length);
	name[length] = '\0';
	if (strcmp(name, "10") == 0)
		strcpy(name, "USR1");
	else if (strcmp(name, "12") == 0)
		strcpy(name, "USR2");
	else if (strcmp(name, "15") == 0)
		strcpy(name, "TERM");
}

/* The trap that NAME runs in the script's shell; NULL: none. */
static const struct check_command *trap_for(const struct check_model *model,
					    const char *name)
{
	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		if (command->tool != CHECK_TRAP || command->where != CHECK_BATCH)
			continue;
		for (size_t j = 2; j < command->words_count; j++) {
			char other[16];

			if (!command->words[j].constant)
				return command;
			signal_name(command->words[j].text, other);
			if (strcasecmp(other, name) == 0)
				return command;
		}
	}
	return NULL;
}

static bool may_trap(const struct check_model *model)
{
	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		if (command->sourced || command->tool == CHECK_SOURCE ||
		    strcmp(command->name, "exec") == 0)
			return true;
		if (command->node && command->node->words &&
		    command->node->words->literal && command->node->words->text &&
		    command->node->words->length == 4 &&
		    memcmp(command->node->words->text, "exec", 4) == 0)
			return true;
	}
	return false;
}

static bool takes_long(const struct check_command *command)
{
	static const char *const brief[] = {"mkdir", "hostname", "echo",  "nvidia-smi",
					    "rm",    "cp",       "sleep", "true",
					    "date",  NULL};
	const struct check_launch *launch = command->launch;

	if (command->where != CHECK_BATCH || command->background || command->trapped ||
	    command->uncalled || command->substitute || command->step)
		return false;
	if (command->starts && command->starts->kind == CHECK_STEP_SRUN) {
		const struct check_value *program =
			command->operand < command->words_count
				? &command->words[command->operand]
				: NULL;

		return !program || !is_one_of(brief, program->text);
	}
	return launch && !command->parent && command->tool != CHECK_PROGRAM &&
	       (command->tool != CHECK_PYTHON || launch->distributed);
}

static void foreground(struct rules *rules, const struct check_command *trap)
{
	const struct check_model *model = rules->model;

	for (size_t i = trap->order + 1; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];
		const char *text = model->source.text;
		struct script_range end = command->range;

		if (!takes_long(command))
			continue;
		if (!rules_tell(rules, RULE_TRAP_FOREGROUND_SRUN, command->range,
				"the trap of line %u runs only when this %s has ended",
				script_text_line(&model->source, trap->range.begin),
				command->name))
			continue;
		rules_also(rules, trap->range,
			   "this trap waits for the command in the "
			   "foreground");
		if (command->node && command->stages <= 1 && !command->conditional &&
		    command->loops == 0 && !command->function) {
			end = command->node->range;
			end.begin = end.end;
			if (end.end == model->source.length || text[end.end] == '\n')
				rules_edit(rules, end, " &\nwait");
		}
	}
}

static void signals(struct rules *rules, const struct check_job *job)
{
	const struct check_model *model = rules->model;
	const struct script_use *use = job->signal;
	const struct check_command *trap;
	char name[16];

	if (!use || !use->value || use->fault || !model->shell_script)
		return;
	signal_name(use->value, name);
	trap = trap_for(model, name);
	if (strncasecmp(use->value, "B:", 2) == 0) {
		if (trap)
			foreground(rules, trap);
		else if (!may_trap(model))
			rules_tell(rules, RULE_SIGNAL_WITHOUT_TRAP, use->range,
				   "%s goes to the batch shell, which has no trap for it "
				   "and "
				   "dies",
				   name);
		return;
	}
	if (trap) {
		if (rules_tell(rules, RULE_SIGNAL_MISSES_TRAP, use->range,
			       "%s goes to the tasks only, and the trap of line %u never "
			       "runs",
			       name,
			       script_text_line(&model->source, trap->range.begin))) {
			rules_fix(rules, "write --signal=B:%s", use->value);
			rules_also(rules, trap->range, "this trap never runs");
		}
	} else if (model->steps_count == 0 && model->launches_count > 0) {
		rules_tell(rules, RULE_SIGNAL_MISSES_TRAP, use->range,
			   "%s goes to steps only, and the script starts none", name);
	}
}

/* ---- requeue ---- */

static bool requeues(const struct check_command *command)
{
	return command->tool == CHECK_SCONTROL && command->words_count > 1 &&
	       strcmp(command->words[1].text, "requeue") == 0 &&
	       command->where != CHECK_ELSEWHERE && !command->uncalled;
}

static void whole_array(struct rules *rules, const struct check_command *command)
{
	static const char old[] = "SLURM_ARRAY_JOB_ID";
	const char *text = rules->model->source.text;

	for (size_t i = 2; i < command->words_count; i++) {
		const struct check_value *word = &command->words[i];
		const struct check_expansion *found = check_value_expands(word, old);
		struct script_range range;
		const char *at;

		if (!found || check_value_expands(word, "SLURM_ARRAY_TASK_ID"))
			continue;
		range = found->range;
		if (!rules_tell(rules, RULE_REQUEUE_WHOLE_ARRAY, range,
				"SLURM_ARRAY_JOB_ID names every task of the array, and "
				"all of "
				"them start anew"))
			continue;
		at = memmem(text + range.begin, range.end - range.begin, old,
			    strlen(old));
		if (!at)
			continue;
		range.begin = (uint32_t)(at - text);
		range.end = range.begin + (uint32_t)strlen(old);
		rules_edit(rules, range, "SLURM_JOB_ID");
	}
}

void rules_job(struct rules *rules)
{
	const struct check_model *model = rules->model;
	const struct check_command *requeue = NULL;

	if (model->shell_script)
		fault(rules, &model->program.fault);
	for (size_t i = 0; i < model->faults_count; i++) {
		if (model->faults[i].shell->where != CHECK_ELSEWHERE)
			fault(rules, &model->faults[i].fault);
	}
	for (size_t i = 0; i < model->assignments_count; i++)
		overwritten(rules, model->assignments[i]);
	for (size_t i = 0; i < model->commands_count; i++) {
		continuation(rules, model->commands[i]);
		if (!requeues(model->commands[i]))
			continue;
		if (!requeue)
			requeue = model->commands[i];
		whole_array(rules, model->commands[i]);
	}
	for (size_t i = 0; i < model->jobs_count; i++) {
		const struct check_job *job = &model->jobs[i];

		signals(rules, job);
		if (i == 0 && !job->open_mode && job->output && (job->requeue || requeue))
			rules_tell(rules, RULE_REQUEUE_WITHOUT_APPEND,
				   job->requeue ? job->requeue->range : requeue->range,
				   "a requeued job writes its log anew");
	}
}
