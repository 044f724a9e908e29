/* SPDX-License-Identifier: MIT */
/*
 * Rules about what starts the ranks: launchers that are started too often or not at all,
 * counts that are not those of the job, and ranks that come from the wrong shell.
 */
#include "gen/check/rules.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LL "%" PRId64

static const char *plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

static bool is_launcher(const struct check_launch *launch)
{
	return launch->tool == CHECK_TORCHRUN || launch->tool == CHECK_TORCH_LAUNCH ||
	       launch->tool == CHECK_ACCELERATE;
}

static bool is_said(const struct check_launch *launch, enum check_key key)
{
	return launch->setting[key].name != NULL;
}

static int64_t said(const struct check_launch *launch, enum check_key key)
{
	return is_said(launch, key) ? exactly(&launch->setting[key].number) : -1;
}

static bool is_text(const struct check_setting *setting, const char *text)
{
	return setting->name && setting->value.constant && setting->value.text &&
	       strcmp(setting->value.text, text) == 0;
}

static bool says(const struct check_launch *launch, enum check_key key, const char *text)
{
	return is_text(&launch->setting[key], text);
}

/* c10d, etcd and the like, which give out the node ranks themselves. */
static bool is_elastic(const struct check_launch *launch)
{
	return is_said(launch, CHECK_KEY_BACKEND) &&
	       !says(launch, CHECK_KEY_BACKEND, "static");
}

static const struct check_job *job_of(const struct rules *rules,
				      const struct check_launch *launch)
{
	return launch->step ? launch->step->job : &rules->model->jobs[0];
}

static int64_t amount(const struct rules *rules, const struct check_launch *launch,
		      enum check_quantity quantity)
{
	return exactly(launch->step ? &launch->step->amount[quantity].number
				    : &job_of(rules, launch)->amount[quantity].number);
}

/* An option that a file or the words of a variable may hold as well. */
static bool is_open(const struct check_launch *launch)
{
	return rules_is_open(launch) || is_said(launch, CHECK_KEY_CONFIG);
}

/* ---- how often a launcher is started ---- */

/*
 * --num-gpus 8 --num-nodes 2 under 8 tasks a node: Lightning's devices by another name. A
 * program that starts its workers itself asks for the rank of its node besides.
 */
static bool counts_tasks(const struct check_launch *launch, int64_t workers)
{
	const struct check_setting *nodes = &launch->setting[CHECK_KEY_NUM_NODES];

	return nodes->name && strstr(nodes->name, "node") &&
	       !is_said(launch, CHECK_KEY_NODE_RANK) &&
	       workers == exactly(&launch->copies_per_node);
}

static void too_often(struct rules *rules, const struct check_launch *launch)
{
	const struct check_job *job = job_of(rules, launch);
	const struct script_use *use =
		job->ntasks_per_node ? job->ntasks_per_node : job->ntasks;
	int64_t copies = exactly(&launch->copies_per_node);
	int64_t workers = said(launch, CHECK_KEY_NPROC), cpus;

	if (is_launcher(launch) && launch->parent && is_launcher(launch->parent)) {
		rules_tell(rules, RULE_TORCHRUN_TIMES_NTASKS, launch->command->range,
			   "each worker of %s starts %s, which is a launcher, too",
			   launch->parent->command->name, launch->command->name);
		rules_fix(rules, "keep one of the two");
		return;
	}
	if (copies < 2)
		return;
	/* MosaicML's, which is for one a node, too. */
	if (launch->tool == CHECK_COMPOSER) {
		if (workers != 1)
			rules_tell(
				rules, RULE_TORCHRUN_TIMES_NTASKS, launch->command->range,
				LL
				" tasks on each node start %s, which is for one a node",
				copies, launch->command->name);
		return;
	}
	if (is_launcher(launch)) {
		/* A launcher for each rank, as a node of its own. */
		if (said(launch, CHECK_KEY_NNODES) == exactly(&launch->copies))
			return;
		if (workers > 1 &&
		    !rules_tell(rules, RULE_TORCHRUN_TIMES_NTASKS, launch->command->range,
				LL " tasks on each node start %s, each of which "
				   "starts " LL " workers: " LL
				   " processes a node, and one port",
				copies, launch->command->name, workers, copies * workers))
			return;
		if (workers <= 1 &&
		    !rules_tell(rules, RULE_TORCHRUN_TIMES_NTASKS, launch->command->range,
				LL
				" tasks on each node start %s, which is for one a node",
				copies, launch->command->name))
			return;
	} else {
		workers = said(launch, CHECK_KEY_SPAWN);
		/* A program that torchrun starts is one rank, and may be told of all. */
		if (workers < 2 || (launch->parent && is_launcher(launch->parent)) ||
		    counts_tasks(launch, workers))
			return;
		if (!rules_tell(rules, RULE_SPAWNER_TIMES_NTASKS, launch->command->range,
				LL " tasks on each node start a program with %s " LL
				   ": " LL " processes a node",
				copies, launch->setting[CHECK_KEY_SPAWN].name, workers,
				copies * workers))
			return;
	}
	cpus = exactly(&job->amount[CHECK_CPUS_PER_TASK].number);
	if (job->cpus_per_task && cpus > 0)
		rules_fix(rules,
			  "one task a node: --ntasks-per-node=1 --cpus-per-task=" LL
			  ", also on srun%s",
			  copies * cpus,
			  is_launcher(launch)
				  ? "; or no launcher, and a rank for each task"
				  : "");
	if (use)
		rules_also(
			rules, use->range, "--%s=%s starts %s " LL " times on each node",
			use->option->name, use->value ? use->value : "",
			launch->command->name[0] ? launch->command->name : "it", copies);
}

static void deepspeed(struct rules *rules, const struct check_launch *launch)
{
	int64_t copies = exactly(&launch->copies);

	if ((launch->tool != CHECK_DEEPSPEED && launch->tool != CHECK_COLOSSALAI) ||
	    !launch->step || launch->step->kind != CHECK_STEP_SRUN || copies == 1 ||
	    check_option(launch->command, 1, "--no_ssh", &(struct check_setting){0}))
		return;
	rules_tell(rules, RULE_DEEPSPEED_UNDER_SRUN, launch->command->range,
		   "srun starts %s %s, and each starts the workers of all nodes",
		   launch->command->name, copies > 1 ? "in every task" : "in its tasks");
}

/* True when some command reaches the other nodes, or may. */
static bool reaches_nodes(const struct check_model *model)
{
	static const char *const names[] = {
		"pdsh", "clush", "ray", "parallel-ssh", "pssh", "ansible", "horovodrun"};

	if (model->steps_count > 0)
		return true;
	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		if (command->tool == CHECK_SSH || command->tool == CHECK_HOROVODRUN)
			return true;
		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++) {
			if (strcmp(names[j], command->name) == 0)
				return true;
		}
	}
	return false;
}

static bool can_reach_nodes(struct rules *rules)
{
	if (rules->reaches_nodes == 0)
		rules->reaches_nodes = reaches_nodes(rules->model) ? 1 : -1;
	return rules->reaches_nodes > 0;
}

/*
 * `if [ $SLURM_NNODES -gt 1 ]; then srun torchrun ...; else torchrun ...; fi`: another
 * branch starts the same launcher in a step.
 */
static bool is_other_branch(struct rules *rules, const struct check_launch *launch)
{
	static const uint64_t looked = UINT64_C(1) << 63;
	const struct check_model *model = rules->model;

	if (!launch->command->conditional)
		return false;
	for (size_t i = 0; i < model->launches_count && !(rules->branches & looked);
	     i++) {
		const struct check_launch *other = model->launches[i];

		if (other->step && other->command->conditional &&
		    !other->command->uncalled)
			rules->branches |= UINT64_C(1) << other->tool;
	}
	rules->branches |= looked;
	return rules->branches & UINT64_C(1) << launch->tool;
}

/* Of $CMD the words stand elsewhere than the command. */
static struct script_range where_run(const struct check_command *command)
{
	const struct script_range word = command->words[0].range;
	const struct script_range node =
		command->node ? command->node->range : command->range;

	return word.begin >= node.begin && word.end <= node.end ? command->range : node;
}

static void not_everywhere(struct rules *rules, const struct check_launch *launch)
{
	const struct check_job *job = job_of(rules, launch);
	const struct script_use *cpus = job->cpus_per_task;
	int64_t nodes = exactly(&job->amount[CHECK_NODES].number);
	int64_t tasks = exactly(&job->amount[CHECK_NTASKS].number);
	struct script_range front = launch->command->range;

	front.end = front.begin;
	if (launch->step || launch->parent || launch->command->substitute ||
	    is_other_branch(rules, launch))
		return;
	if (is_launcher(launch) && nodes > 1) {
		const bool one = says(launch, CHECK_KEY_NNODES, "1") ||
				 is_said(launch, CHECK_KEY_STANDALONE);

		if (!rules_tell_as(
			    rules, RULE_MULTI_NODE_WITHOUT_SRUN,
			    one ? DIAG_WARNING : DIAG_ERROR, where_run(launch->command),
			    one ? "%s runs on the first of " LL
				  " nodes only: the others stay idle"
				: "%s is started on the first of " LL " nodes only",
			    launch->command->name, nodes))
			return;
		if (is_elastic(launch) && !one && tasks == nodes && cpus && cpus->value)
			rules_edit(rules, front, "srun --cpus-per-task=%s ", cpus->value);
		return;
	}
	if (launch->tool == CHECK_DEEPSPEED && nodes > 1 && !is_open(launch) &&
	    !is_said(launch, CHECK_KEY_HOSTFILE) && !launch->command->sourced &&
	    !check_option(launch->command, 1, "--include", &(struct check_setting){0}) &&
	    !check_option(launch->command, 1, "-i", &(struct check_setting){0})) {
		if (rules_tell_as(
			    rules, RULE_MULTI_NODE_WITHOUT_SRUN, DIAG_WARNING,
			    where_run(launch->command),
			    "deepspeed has no --hostfile, so it uses the first of " LL
			    " nodes only",
			    nodes))
			rules_fix(rules, "write a file of `HOST slots=GPUS` lines from "
					 "scontrol show hostnames, and --hostfile");
		return;
	}
	if (launch->tool != CHECK_PYTHON ||
	    (!job->ntasks && !job->ntasks_per_node && nodes < 2))
		return;
	if (nodes > 1 && launch->distributed) {
		rules_tell(rules, RULE_MULTI_NODE_WITHOUT_SRUN, launch->command->range,
			   "the program is started once, on the first of " LL " nodes",
			   nodes);
	} else if (nodes > 1 && !can_reach_nodes(rules)) {
		rules_tell_as(rules, RULE_MULTI_NODE_WITHOUT_SRUN, DIAG_WARNING,
			      launch->command->range,
			      "nothing in this script uses more than the first of " LL
			      " nodes",
			      nodes);
	} else if (tasks > 1 && is_said(launch, CHECK_KEY_DEVICES) &&
		   !is_said(launch, CHECK_KEY_SPAWN)) {
		if (rules_tell(rules, RULE_TASKS_WITHOUT_SRUN, launch->command->range,
			       "the job has " LL
			       " tasks, and the program is started once",
			       tasks) &&
		    cpus && cpus->value)
			rules_edit(rules, front, "srun --cpus-per-task=%s ", cpus->value);
	}
}

/* ---- ranks from the batch shell ---- */

static bool is_rank(const char *name)
{
	return strcmp(name, "SLURM_PROCID") == 0 || strcmp(name, "SLURM_LOCALID") == 0 ||
	       strcmp(name, "SLURM_NODEID") == 0;
}

/* The rank variable that the batch shell expands in EXPANSIONS; NULL: none. */
static const struct check_expansion *batch_rank(const struct check_expansion *expansions,
						size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct check_expansion *found;

		if (expansions[i].kind == CHECK_PARAMETER && expansions[i].name &&
		    is_rank(expansions[i].name) && expansions[i].shell &&
		    expansions[i].shell->where == CHECK_BATCH)
			return &expansions[i];
		found = batch_rank(expansions[i].inner, expansions[i].inner_count);
		if (found)
			return found;
	}
	return NULL;
}

/*
 * True when the text between BEGIN and END means the same in the tasks' shells: it has
 * no quotes or commands, and only variables that the tasks have.
 */
static bool moves(const struct rules *rules, const struct check_command *command,
		  uint32_t begin, uint32_t end)
{
	const char *text = rules->model->source.text;

	for (uint32_t at = begin; at < end; at++) {
		char name[64];
		size_t length = 0;
		const struct check_assignment *set;

		if (strchr("'\"\\`\n", text[at]))
			return false;
		if (text[at] != '$')
			continue;
		at += at + 1 < end && text[at + 1] == '{';
		while (at + 1 < end && length + 1 < sizeof(name) &&
		       (isalnum((unsigned char)text[at + 1]) || text[at + 1] == '_'))
			name[length++] = text[++at];
		name[length] = '\0';
		if (length == 0 || (at + 1 < end && text[at + 1] == ':'))
			return false;
		set = check_sees(rules->model, command, name);
		if (strncmp(name, "SLURM_", 6) != 0 &&
		    (!set || set->export == CHECK_KEPT))
			return false;
	}
	return true;
}

/* `bash -c "..."` gets single quotes, other words a shell around them. */
static void move_into_step(struct rules *rules, const struct check_command *srun,
			   const struct check_expansion *expansion)
{
	const struct check_model *model = rules->model;
	const char *text = model->source.text;

	for (size_t i = 0; i < srun->words_count; i++) {
		struct script_range range = srun->words[i].range;
		struct script_range first = {range.begin, range.begin + 1};
		struct script_range last = {range.end - 1, range.end};

		if (expansion->range.begin < range.begin ||
		    expansion->range.end > range.end)
			continue;
		if (range.end - range.begin > 2 && text[range.begin] == '"' &&
		    text[range.end - 1] == '"' &&
		    moves(rules, srun, first.end, last.begin)) {
			const struct check_value *option =
				i > 0 ? &srun->words[i - 1] : NULL;

			if (!option || strcmp(option->text, "-c") != 0)
				return;
			rules_edit(rules, first, "'");
			rules_edit(rules, last, "'");
			return;
		}
		/* The program's words, up to the end of the command. */
		if (srun->operand < srun->words_count && i >= srun->operand) {
			struct script_range program = srun->words[srun->operand].range;
			struct script_range end =
				srun->words[srun->words_count - 1].range;

			if (!moves(rules, srun, program.begin, end.end))
				return;
			program.end = program.begin;
			end.begin = end.end;
			rules_edit(rules, program, "bash -c '");
			rules_edit(rules, end, "'");
		}
		return;
	}
}

static bool is_shown_only(const struct check_command *command)
{
	return strcmp(command->name, "echo") == 0 ||
	       strcmp(command->name, "printf") == 0 || strcmp(command->name, "[") == 0 ||
	       strcmp(command->name, "test") == 0;
}

/* Whether one value for all tasks of STEP is right. */
static bool is_one_rank(const struct check_step *step, const char *name)
{
	if (exactly(&step->amount[CHECK_NTASKS].number) == 1)
		return true;
	return strcmp(name, "SLURM_NODEID") == 0 &&
	       exactly(&step->amount[CHECK_NODES].number) == 1;
}

/* c10d takes no notice of --node_rank, whatever it is. */
static bool is_ignored(const struct check_model *model, const struct check_step *step,
		       const struct check_expansion *expansion)
{
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];
		const struct check_setting *rank = &launch->setting[CHECK_KEY_NODE_RANK];

		if (launch->step != step || !rank->name || !is_elastic(launch))
			continue;
		if (expansion->range.begin >= rank->range.begin &&
		    expansion->range.end <= rank->range.end)
			return true;
		if (check_value_expands(&rank->value, expansion->name))
			return true;
	}
	return false;
}

static void rank_in_words(struct rules *rules, const struct check_command *command)
{
	const struct check_step *step = command->step ? command->step : command->starts;

	if (!step || step->kind != CHECK_STEP_SRUN || command->uncalled ||
	    command->where == CHECK_ELSEWHERE || is_shown_only(command))
		return;
	for (size_t i = 0; i < command->words_count; i++) {
		const struct check_value *word = &command->words[i];
		const struct check_expansion *found =
			batch_rank(word->expansions, word->expansions_count);

		if (!found || is_one_rank(step, found->name) ||
		    is_ignored(rules->model, step, found))
			continue;
		/* The text of bash -c is told of by what it says. */
		if (command->starts && i > 0 && command->operand < command->words_count &&
		    i > command->operand && !command->launch && word->quoted &&
		    strchr(word->text, ' ') && strstr(word->text, "echo"))
			continue;
		if (!rules_tell(
			    rules, RULE_BATCH_EXPANDED_RANK, found->range,
			    "$%s is expanded in the batch shell, so every task gets 0",
			    found->name))
			continue;
		move_into_step(rules, step->command, found);
	}
}

/* The first $ of VALUE that is a variable's and that no shell expands. */
static const char *unexpanded(const struct check_value *value)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i <= value->expansions_count; i++) {
		const bool last = i == value->expansions_count;
		const uint32_t end = last ? value->length : value->expansions[i].at;

		for (; at + 1 < end; at++) {
			const char *name = value->text + at + 1;

			name += *name == '{';
			if (value->text[at] == '$' && (strncmp(name, "SLURM_", 6) == 0 ||
						       strncmp(name, "MASTER_", 7) == 0))
				return name;
		}
		if (!last && at < end + value->expansions[i].length)
			at = end + value->expansions[i].length;
	}
	return NULL;
}

static void literal(struct rules *rules, const struct check_launch *launch)
{
	if (!is_launcher(launch) || !launch->step ||
	    launch->step->kind != CHECK_STEP_SRUN)
		return;
	for (size_t i = 0; i < CHECK_KEYS; i++) {
		const struct check_setting *said = &launch->setting[i];
		const char *name = said->name ? unexpanded(&said->value) : NULL;

		if (name)
			rules_tell(
				rules, RULE_UNEXPANDED_VARIABLE, said->range,
				"no shell expands $%.*s here, so %s gets the name itself",
				(int)strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), name,
				launch->command->name);
	}
}

static void rank_in_environment(struct rules *rules, const struct check_launch *launch)
{
	static const enum check_variable variables[] = {CHECK_RANK, CHECK_LOCAL_RANK,
							CHECK_NODE_RANK};

	/* Launchers set these themselves, but for the node's rank of dist_train.sh. */
	const bool dist = check_is_dist_script(launch->command->name);

	if (!launch->step || launch->step->kind != CHECK_STEP_SRUN ||
	    (is_launcher(launch) && !dist) || launch->parent)
		return;
	for (size_t i = dist ? 2 : 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const struct check_assignment *set = launch->command->sees[variables[i]];
		const struct check_expansion *found;

		/* Of words, as those of bash -c, rank_in_words() tells. */
		if (!set || set->export == CHECK_KEPT ||
		    (set->shell->where != CHECK_BATCH &&
		     set->shell->kind != CHECK_SHELL_DOCUMENT &&
		     set->shell->kind != CHECK_SHELL_FILE))
			continue;
		found = batch_rank(set->value.expansions, set->value.expansions_count);
		if (!found || is_one_rank(launch->step, found->name))
			continue;
		/* A here-document without quotes is written with the batch shell's. */
		rules_tell(rules, RULE_BATCH_EXPANDED_RANK, set->range,
			   "%s=$%s is %s in the batch shell, so every task gets 0",
			   set->name, found->name,
			   set->shell->where == CHECK_BATCH ? "set" : "expanded");
	}
}

/* ---- counts ---- */

static void node_rank(struct rules *rules, const struct check_launch *launch)
{
	const struct check_setting *rank = &launch->setting[CHECK_KEY_NODE_RANK];
	int64_t nodes = amount(rules, launch, CHECK_NODES);

	if (!is_launcher(launch) || !launch->step || nodes < 2 || is_elastic(launch) ||
	    is_said(launch, CHECK_KEY_STANDALONE) || rules_has_plugin(rules, launch) ||
	    said(launch, CHECK_KEY_NNODES) == 1 || is_open(launch))
		return;
	/* Without an address the missing rank is not the first thing to say. */
	if (!is_said(launch, CHECK_KEY_ADDRESS) && !rank->name)
		return;
	if (!rank->name) {
		if (rules_tell(rules, RULE_NODE_RANK, launch->command->range,
			       "%s has no %s, which is then 0 on each of " LL " nodes",
			       launch->command->name,
			       launch->tool == CHECK_ACCELERATE ? "--machine_rank"
			       : check_is_dist_script(launch->command->name)
				       ? "NODE_RANK"
				       : "--node_rank",
			       nodes) &&
		    launch->tool == CHECK_ACCELERATE)
			rules_fix(rules, "--machine_rank $SLURM_NODEID inside the step");
	} else if (check_exact(&rank->number) && !rank->number.varies &&
		   (rank->value.constant ||
		    check_value_expands(&rank->value, "SLURM_LOCALID"))) {
		if (rules_tell(rules, RULE_NODE_RANK, rank->range,
			       "%s is " LL " on each of " LL " nodes", rank->name,
			       rank->number.low, nodes))
			rules_fix(rules, "%s $SLURM_NODEID inside the step", rank->name);
	}
}

/* Puts VALUE where the script has digits, and nothing else, for it. */
static void edit_number(struct rules *rules, const struct check_setting *setting,
			int64_t value)
{
	const char *text = rules->model->source.text;
	struct script_range range = setting->value.source;
	uint32_t end = range.end;

	if (rules->header_is_faulty)
		return;
	/* --nnodes=4 is one word, NPROC=8 another. */
	while (end > range.begin && isdigit((unsigned char)text[end - 1]))
		end--;
	if (end == range.end || (end > range.begin && !strchr("= ", text[end - 1])))
		return;
	range.begin = end;
	rules_edit(rules, range, LL, value);
}

static void nnodes(struct rules *rules, const struct check_launch *launch)
{
	const struct check_setting *setting = &launch->setting[CHECK_KEY_NNODES];
	int64_t nodes = amount(rules, launch, CHECK_NODES);

	if (!setting->name)
		return;
	if (check_value_expands(&setting->value, "WORLD_SIZE")) {
		rules_tell(rules, RULE_NNODES_FROM_WORLD_SIZE, setting->range,
			   "%s is taken from WORLD_SIZE, which counts ranks under Slurm",
			   setting->name);
		return;
	}
	if (nodes < 1 || !setting->number.known ||
	    is_said(launch, CHECK_KEY_STANDALONE) || setting->number.varies ||
	    (setting->number.low <= nodes && nodes <= setting->number.high))
		return;
	/* One launcher on one node of a larger job is told of elsewhere. */
	if (exactly(&setting->number) == 1 &&
	    (!launch->step || exactly(&launch->copies) > 1))
		return;
	if (exactly(&setting->number) == exactly(&launch->copies))
		return;
	/* A step for each node, one beside the other. */
	if (launch->step && launch->step->background &&
	    exactly(&setting->number) ==
		    exactly(&launch->step->job->amount[CHECK_NODES].number))
		return;
	if (!rules_tell(rules, RULE_NNODES_MISMATCH, setting->value.source,
			"%s is " LL ", and the %s has " LL " node%s", setting->name,
			setting->number.low, launch->step ? "step" : "job", nodes,
			plural(nodes)))
		return;
	rules_fix(rules, "write %s " LL, setting->name, nodes);
	if (check_exact(&setting->number))
		edit_number(rules, setting, nodes);
}

/* Each node starts a launcher that takes itself for the only one. */
static void one_node(struct rules *rules, const struct check_launch *launch)
{
	const struct check_setting *machines = &launch->setting[CHECK_KEY_NNODES];
	const struct check_setting *alone = &launch->setting[CHECK_KEY_STANDALONE];
	const char *program = launch->command->name;
	int64_t nodes = amount(rules, launch, CHECK_NODES);

	if (!is_launcher(launch) || !launch->step || launch->parent ||
	    launch->step->kind != CHECK_STEP_SRUN || nodes < 2 ||
	    exactly(&launch->copies_per_node) != 1 || rules_has_plugin(rules, launch))
		return;
	if (alone->name || said(launch, CHECK_KEY_NNODES) == 1) {
		const struct check_setting *said = alone->name ? alone : machines;

		rules_tell(rules, RULE_ONE_NODE_LAUNCHER, said->range,
			   "%s makes of each of " LL " nodes a training of its own",
			   said->name, nodes);
	} else if (!machines->name && !is_open(launch) && !launch->command->sourced) {
		rules_tell_as(rules, RULE_ONE_NODE_LAUNCHER, DIAG_WARNING,
			      launch->command->range,
			      "%s is not told of " LL
			      " nodes, so that each is a training of its own%s",
			      program, nodes,
			      launch->tool == CHECK_ACCELERATE
				      ? ", unless its default configuration says more"
				      : "");
	}
}

/* -H node1:4,node2:4 of mpirun and horovodrun. */
static void hosts(struct rules *rules, const struct check_launch *launch)
{
	const struct check_setting *setting = &launch->setting[CHECK_KEY_HOSTFILE];
	int64_t nodes = amount(rules, launch, CHECK_NODES);
	int64_t count = said(launch, CHECK_KEY_WORLD), slots = 0;
	bool named = false;

	if ((launch->tool != CHECK_MPIRUN && launch->tool != CHECK_HOROVODRUN) ||
	    !setting->name || !setting->value.constant ||
	    (strcmp(setting->name, "-H") != 0 && strcmp(setting->name, "--host") != 0))
		return;
	for (const char *at = setting->value.text; *at; at += *at == ',') {
		const size_t length = strcspn(at, ","), name = strcspn(at, ":,");

		slots += name < length ? atoll(at + name + 1) : 1;
		named |= name != 9 || strncmp(at, "localhost", 9) != 0;
		at += length;
	}
	if (count > slots && slots > 0 && launch->tool == CHECK_HOROVODRUN)
		rules_tell_as(rules, RULE_HOSTS_BY_HAND, DIAG_ERROR, setting->range,
			      "%s has " LL " slot%s for " LL " processes", setting->name,
			      slots, plural(slots), count);
	else if (named && nodes != 1)
		rules_tell(rules, RULE_HOSTS_BY_HAND, setting->range,
			   "%s names nodes, and the job may get others", setting->name);
	else if (!named && nodes > 1)
		rules_tell(rules, RULE_HOSTS_BY_HAND, setting->range,
			   "%s leaves the other " LL " node%s idle", setting->name,
			   nodes - 1, plural(nodes - 1));
}

/* deepspeed --include localhost:0,1,4: the numbers are the devices. */
static void included(struct rules *rules, const struct check_launch *launch)
{
	int64_t gpus = amount(rules, launch, CHECK_GPUS_PER_NODE), most = -1;
	struct check_setting setting = {0};

	if (launch->tool != CHECK_DEEPSPEED || gpus < 1 ||
	    (!check_option(launch->command, 1, "--include", &setting) &&
	     !check_option(launch->command, 1, "-i", &setting)) ||
	    !setting.value.constant)
		return;
	for (const char *at = strchr(setting.value.text, ':'); at && *at;) {
		const size_t part = strcspn(at, "@");

		for (size_t i = 1; i < part; i++) {
			if (isdigit((unsigned char)at[i]) && strchr(":,", at[i - 1]) &&
			    atoll(at + i) > most)
				most = atoll(at + i);
		}
		at = at[part] ? strchr(at + part, ':') : NULL;
	}
	if (most < gpus)
		return;
	if (rules_tell(rules, RULE_GPU_CONSTANT_DRIFT, setting.range,
		       "--include names device " LL ", and there %s " LL
		       " GPU%s on a node, from 0 on",
		       most, gpus == 1 ? "is" : "are", gpus, plural(gpus)))
		rules_fix(rules, "write numbers from 0 to " LL, gpus - 1);
}

static void workers(struct rules *rules, const struct check_launch *launch)
{
	enum check_key key =
		is_said(launch, CHECK_KEY_NPROC) ? CHECK_KEY_NPROC : CHECK_KEY_SPAWN;
	const struct check_setting *setting = &launch->setting[key];
	int64_t count = said(launch, key),
		gpus = amount(rules, launch, CHECK_GPUS_PER_NODE);
	int64_t visible =
		launch->step ? exactly(&launch->step->amount[CHECK_VISIBLE].number) : -1;

	if (visible > 0 && visible < gpus)
		gpus = visible;
	if (count < 1 || gpus < 1 || count == gpus ||
	    exactly(&launch->copies_per_node) > 1 ||
	    (key == CHECK_KEY_SPAWN && launch->parent && is_launcher(launch->parent)))
		return;
	if (!rules_tell_as(
		    rules, RULE_GPU_CONSTANT_DRIFT,
		    count > gpus ? DIAG_ERROR : DIAG_WARNING, setting->value.source,
		    count > gpus ? "%s is " LL ", and there %s " LL " GPU%s on a node"
				 : "%s is " LL ", and there %s " LL
				   " GPU%s on a node: the others stay idle",
		    setting->name, count, gpus == 1 ? "is" : "are", gpus, plural(gpus)))
		return;
	if (setting->value.source.begin != setting->value.range.begin)
		rules_also(rules, setting->range, "%s is " LL " here", setting->name,
			   count);
	rules_fix(rules, "write %s " LL ", or $SLURM_GPUS_ON_NODE inside the step",
		  setting->name, gpus);
	if (count > gpus)
		edit_number(rules, setting, gpus);
}

static void accelerate(struct rules *rules, const struct check_launch *launch)
{
	const struct check_setting *setting = &launch->setting[CHECK_KEY_WORLD];
	int64_t count = said(launch, CHECK_KEY_WORLD);
	int64_t machines = said(launch, CHECK_KEY_NNODES);
	int64_t nodes = amount(rules, launch, CHECK_NODES);
	int64_t gpus = amount(rules, launch, CHECK_GPUS_PER_NODE);

	if (launch->tool != CHECK_ACCELERATE || count < 1)
		return;
	if (machines < 1)
		machines = is_said(launch, CHECK_KEY_CONFIG) ? -1 : 1;
	if (machines > 1 && count % machines != 0) {
		rules_tell(rules, RULE_ACCELERATE_PROCESSES, setting->range,
			   "%s " LL " is not a multiple of " LL
			   " machines, and accelerate drops the rest",
			   setting->name, count, machines);
		return;
	}
	/* Another number of machines is told of elsewhere. */
	if (gpus < 1 || machines < 1 || (nodes > 0 && machines != nodes) ||
	    count == machines * gpus)
		return;
	if (!rules_tell_as(rules, RULE_ACCELERATE_PROCESSES,
			   machines == 1 && count < gpus ? DIAG_WARNING : DIAG_ERROR,
			   setting->range,
			   "%s " LL " is the total, and " LL " node%s of " LL
			   " GPUs make " LL,
			   setting->name, count, machines, plural(machines), gpus,
			   machines * gpus))
		return;
	rules_fix(rules, "write %s " LL, setting->name, machines * gpus);
}

static void num_nodes(struct rules *rules, const struct check_launch *launch)
{
	const struct check_setting *setting = &launch->setting[CHECK_KEY_NUM_NODES];
	int64_t count = said(launch, CHECK_KEY_NUM_NODES);
	int64_t nodes = amount(rules, launch, CHECK_NODES);

	if (count < 1 || nodes < 1 || count == nodes || launch->tool == CHECK_DEEPSPEED)
		return;
	if (!rules_tell(rules, RULE_NUM_NODES_MISMATCH, setting->value.source,
			"%s is " LL ", and the job has " LL " node%s", setting->name,
			count, nodes, plural(nodes)))
		return;
	rules_fix(rules, "write %s " LL, setting->name, nodes);
	edit_number(rules, setting, nodes);
}

static void world_size(struct rules *rules, const struct check_launch *launch)
{
	const struct check_assignment *set = launch->command->sees[CHECK_WORLD_SIZE];
	const struct check_setting *setting = &launch->setting[CHECK_KEY_WORLD];
	int64_t tasks = amount(rules, launch, CHECK_NTASKS), size;

	/* What is not known may be a launcher. */
	if (is_launcher(launch) || launch->parent || tasks < 1 ||
	    launch->command->name[0] == '\0')
		return;
	if (launch->step && launch->step->kind == CHECK_STEP_MPIRUN)
		return;
	size = said(launch, CHECK_KEY_WORLD);
	if (launch->step && size > 0 && size != tasks &&
	    (launch->tool == CHECK_PYTHON || launch->tool == CHECK_PROGRAM)) {
		if (rules_tell(rules, RULE_WORLD_SIZE_MISMATCH, setting->range,
			       "%s " LL ", and srun starts " LL " task%s", setting->name,
			       size, tasks, plural(tasks)))
			rules_fix(rules, "write %s " LL, setting->name, tasks);
	}
	if (!launch->step || !set || set->export == CHECK_KEPT || set->opaque ||
	    set->unset)
		return;
	if (exactly(&launch->copies) == 1 && tasks == 1)
		return;
	{
		struct check_number number =
			check_value_number(rules->model, &set->value);

		size = number.varies ? -1 : exactly(&number);
	}
	if (size < 0 || size == tasks)
		return;
	if (check_value_expands(&set->value, "SLURM_NNODES") ||
	    check_value_expands(&set->value, "SLURM_JOB_NUM_NODES"))
		rules_tell(rules, RULE_WORLD_SIZE_MISMATCH, set->range,
			   "WORLD_SIZE is the number of nodes, " LL
			   ", and srun starts " LL " tasks",
			   size, tasks);
	else
		rules_tell(rules, RULE_WORLD_SIZE_MISMATCH, set->range,
			   "WORLD_SIZE is " LL ", and srun starts " LL " task%s", size,
			   tasks, plural(tasks));
}

/* ---- old and other launchers' words ---- */

static void deprecated(struct rules *rules, const struct check_launch *launch)
{
	const struct check_command *command = launch->command;
	struct script_range range;

	if (launch->tool != CHECK_TORCH_LAUNCH)
		return;
	if (!rules_tell(rules, RULE_TORCH_LAUNCH_DEPRECATED, command->range,
			"torch.distributed.launch is called torchrun now"))
		return;
	if (command->words_count < 4 || strcmp(command->words[1].text, "-m") != 0 ||
	    !strstr(command->words[2].text, "torch.distributed.launch"))
		return;
	for (size_t i = 0; i < 3; i++) {
		if (!command->words[i].constant ||
		    command->words[i].source.begin != command->words[i].range.begin)
			return;
	}
	range = command->words[0].range;
	range.end = command->words[2].range.end;
	rules_edit(rules, range, "torchrun");
	for (size_t i = 3; i < command->words_count && i < command->operand; i++) {
		range = command->words[i].range;
		if (strcmp(command->words[i].text, "--use_env") != 0 &&
		    strcmp(command->words[i].text, "--use-env") != 0)
			continue;
		range.begin = command->words[i - 1].range.end;
		rules_edit(rules, range, "%s", "");
	}
}

static bool ends(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* MMDetection and its like: tools/train.py CONFIG.py. */
static bool is_mmengine(const struct check_launch *launch)
{
	const char *program = launch->program ? launch->program->text : "";

	if (!ends(program, "tools/train.py") && !ends(program, "tools/test.py"))
		return false;
	return launch->arguments_count > 0 && (ends(launch->arguments[0].text, ".py") ||
					       launch->arguments[0].text[0] == '$');
}

static void mmengine(struct rules *rules, const struct check_launch *launch)
{
	struct check_setting said_last = launch->setting[CHECK_KEY_LAUNCHER];
	const struct check_setting *setting = &said_last;
	const struct check_command *command = launch->command;
	const bool torch =
		launch->tool == CHECK_TORCHRUN || launch->tool == CHECK_TORCH_LAUNCH;
	const bool native = launch->tool == CHECK_PYTHON && launch->step &&
			    launch->step->kind == CHECK_STEP_SRUN && !launch->parent;
	int64_t tasks = amount(rules, launch, CHECK_NTASKS);

	/* Behind torchrun it is an argument of the program. */
	if (!said_last.name &&
	    !check_option(command, command->operand, "--launcher", &said_last))
		said_last.name = NULL;
	if (torch && is_text(setting, "slurm")) {
		struct script_range range = setting->value.range;

		if (!rules_tell(
			    rules, RULE_MMENGINE_LAUNCHER, setting->range,
			    "--launcher slurm under %s: its workers all take the rank of "
			    "their launcher",
			    launch->tool == CHECK_TORCHRUN ? "torchrun"
							   : "torch.distributed.launch"))
			return;
		rules_fix(rules, "write --launcher pytorch");
		/* The value may share its word with the option. */
		if (range.end - range.begin >= 5 && setting->value.constant) {
			const char *text = rules->model->source.text;

			for (uint32_t at = range.begin; at + 5 <= range.end; at++) {
				if (memcmp(text + at, "slurm", 5) == 0) {
					rules_edit(rules,
						   (struct script_range){at, at + 5},
						   "pytorch");
					break;
				}
			}
		}
		return;
	}
	if (!is_mmengine(launch))
		return;
	if (torch && !setting->name) {
		struct script_range end =
			launch->arguments[launch->arguments_count - 1].range;

		if (rules_tell(rules, RULE_MMENGINE_LAUNCHER, command->range,
			       "%s has no --launcher, so every worker trains alone",
			       launch->program->text)) {
			rules_fix(rules, "add --launcher pytorch");
			end.begin = end.end;
			rules_edit(rules, end, " --launcher pytorch");
		}
	} else if (native && tasks > 1 && (!setting->name || is_text(setting, "none"))) {
		if (rules_tell(rules, RULE_MMENGINE_LAUNCHER, command->range,
			       "%s has no --launcher, so each of " LL
			       " tasks trains alone",
			       launch->program->text, tasks))
			rules_fix(rules, "add --launcher slurm");
	} else if (native && is_text(setting, "pytorch") && tasks > 1 &&
		   !command->sees[CHECK_LOCAL_RANK] && !command->sourced &&
		   !rules_has_plugin(rules, launch)) {
		if (rules_tell(rules, RULE_MMENGINE_LAUNCHER, setting->range,
			       "--launcher pytorch reads RANK and LOCAL_RANK, and nobody "
			       "sets "
			       "them"))
			rules_fix(rules, "write --launcher slurm");
	}
	if (native && is_text(setting, "slurm") && !command->sees[CHECK_MASTER_ADDR] &&
	    !rules_has_plugin(rules, launch) &&
	    (launch->step->container || check_within(command, CHECK_CONTAINER)))
		rules_tell(rules, RULE_MMENGINE_IN_CONTAINER, setting->range,
			   "--launcher slurm asks scontrol for MASTER_ADDR, which the "
			   "container "
			   "does not have");
}

static void one_process(struct rules *rules, const struct check_launch *launch)
{
	int64_t gpus = amount(rules, launch, CHECK_GPUS_PER_NODE);
	bool mm = is_mmengine(launch);

	if (launch->tool != CHECK_PYTHON || launch->parent || gpus < 2 ||
	    exactly(&launch->copies) != 1 || launch->command->substitute ||
	    (is_said(launch, CHECK_KEY_DEVICES) && !mm) ||
	    is_said(launch, CHECK_KEY_SPAWN) || is_said(launch, CHECK_KEY_NPROC) ||
	    is_said(launch, CHECK_KEY_WORLD) || is_said(launch, CHECK_KEY_STRATEGY))
		return;
	if (mm && is_said(launch, CHECK_KEY_LAUNCHER) &&
	    !says(launch, CHECK_KEY_LAUNCHER, "none"))
		return;
	if (!mm && (!launch->program || !strstr(launch->program->text, "train")))
		return;
	rules_tell_as(rules, RULE_ONE_PROCESS_MANY_GPUS, mm ? DIAG_ERROR : DIAG_NOTE,
		      launch->command->range,
		      "one process for " LL " GPUs, and no launcher", gpus);
}

/* ---- variables of Slurm's that are not there ---- */

static bool has_default(const struct check_expansion *expansion)
{
	const char *op = expansion->op;

	return op &&
	       (strchr(op, '-') || strchr(op, '=') || strchr(op, '+') || strchr(op, '?'));
}

static bool strips(const struct check_expansion *expansion)
{
	return expansion->op && (expansion->op[0] == '#' || expansion->op[0] == '%' ||
				 expansion->op[0] == '/');
}

/* The variables that exist with the option of their name only. */
static bool is_optional(const char *name)
{
	static const char *const names[] = {
		"SLURM_GPUS_PER_NODE",   "SLURM_GPUS",          "SLURM_GPUS_PER_TASK",
		"SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_PER_GPU",
		"SLURM_NTASKS",          "SLURM_NPROCS",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static void replace_name(struct rules *rules, const struct check_expansion *expansion)
{
	static const char old[] = "SLURM_GPUS_PER_NODE";
	const char *text = rules->model->source.text;
	struct script_range range = expansion->range;
	char *found;

	if (strcmp(expansion->name, old) != 0 || range_is_empty(range))
		return;
	found = memmem(text + range.begin, range.end - range.begin, old, strlen(old));
	if (!found)
		return;
	range.begin = (uint32_t)(found - text);
	range.end = range.begin + (uint32_t)strlen(old);
	rules_edit(rules, range, "SLURM_GPUS_ON_NODE");
}

static void expanded(struct rules *rules, const struct check_expansion *expansion,
		     bool assigned)
{
	const char *name = expansion->name;
	const struct check_shell *shell = expansion->shell;
	struct check_meaning meaning;

	for (size_t i = 0; i < expansion->inner_count; i++) {
		struct check_expansion inner = expansion->inner[i];

		if (!inner.shell)
			inner.shell = shell;
		/* ${X:-$SLURM_...} is only the second choice. */
		if (expansion->kind == CHECK_ARITHMETIC)
			expanded(rules, &inner, assigned);
	}
	if (expansion->kind != CHECK_PARAMETER || !name || !is_optional(name) || !shell ||
	    shell->where == CHECK_ELSEWHERE)
		return;
	meaning = check_slurm_variable(rules->model, name, shell->where,
				       shell->where == CHECK_STEP ? shell->step : NULL);
	if (meaning.is == CHECK_IS_UNSET && !has_default(expansion)) {
		const bool tasks = strcmp(name, "SLURM_NTASKS") == 0 ||
				   strcmp(name, "SLURM_NPROCS") == 0;

		if (tasks)
			rules_tell(
				rules, RULE_NTASKS_UNSET_IN_BATCH, expansion->range,
				"%s is empty here: the header has neither --ntasks nor "
				"--ntasks-per-node",
				name);
		else if (rules_tell_as(
				 rules, RULE_SLURM_VARIABLE_UNSET,
				 assigned && strcmp(name, "SLURM_CPUS_PER_TASK") == 0
					 ? DIAG_WARNING
					 : DIAG_ERROR,
				 expansion->range,
				 "%s is empty here: the header does not have the option "
				 "of that name",
				 name))
			replace_name(rules, expansion);
	} else if (meaning.is == CHECK_IS_TEXT && meaning.text &&
		   strchr(meaning.text, ':') && !strips(expansion)) {
		if (rules_tell(rules, RULE_TYPED_GPUS_PER_NODE, expansion->range,
			       "%s is `%s` here, which is no number", name, meaning.text))
			replace_name(rules, expansion);
	}
}

static bool is_used(const struct check_command *command)
{
	return command->where != CHECK_ELSEWHERE && !command->uncalled &&
	       !is_shown_only(command);
}

static void variables(struct rules *rules)
{
	const struct check_model *model = rules->model;

	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];

		if (set->shell->where == CHECK_ELSEWHERE)
			continue;
		for (size_t j = 0; j < set->value.expansions_count; j++)
			expanded(rules, &set->value.expansions[j], true);
	}
	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		if (!is_used(command))
			continue;
		for (size_t j = 0; j < command->words_count; j++) {
			const struct check_value *word = &command->words[j];

			for (size_t k = 0; k < word->expansions_count; k++)
				expanded(rules, &word->expansions[k], false);
		}
	}
}

void rules_launchers(struct rules *rules)
{
	const struct check_model *model = rules->model;

	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if (rules_skips(launch))
			continue;
		too_often(rules, launch);
		deepspeed(rules, launch);
		not_everywhere(rules, launch);
		literal(rules, launch);
		rank_in_environment(rules, launch);
		node_rank(rules, launch);
		nnodes(rules, launch);
		one_node(rules, launch);
		hosts(rules, launch);
		included(rules, launch);
		workers(rules, launch);
		accelerate(rules, launch);
		num_nodes(rules, launch);
		world_size(rules, launch);
		deprecated(rules, launch);
		mmengine(rules, launch);
		one_process(rules, launch);
		if (!launch->parent && !is_launcher(launch) && launch->distributed &&
		    !launch->command->sees[CHECK_OMP_NUM_THREADS])
			rules_tell(rules, RULE_OMP_UNSET, launch->command->range,
				   "OMP_NUM_THREADS is not set");
	}
	for (size_t i = 0; i < model->commands_count; i++)
		rank_in_words(rules, model->commands[i]);
	variables(rules);
}
