/* SPDX-License-Identifier: MIT */
/*
 * Rules about devices: which GPUs a task sees, and which one it then takes.
 */
#include "gen/check/rules.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LL "%" PRId64

/* Tasks of the step see fewer GPUs than there are tasks on a node. */
static bool is_narrowed(const struct check_step *step)
{
	int64_t tasks = exactly(&step->amount[CHECK_NTASKS_PER_NODE].number);
	int64_t visible = exactly(&step->amount[CHECK_VISIBLE].number);

	if (!step->narrowed || tasks == 1)
		return false;
	return tasks < 0 || visible < 0 || visible < tasks;
}

static bool is_local_rank(const struct check_value *value)
{
	return check_value_expands(value, "SLURM_LOCALID") ||
	       check_value_expands(value, "LOCAL_RANK");
}

static const struct script_use *narrows(const struct check_step *step)
{
	return step->gpus_per_task        ? step->gpus_per_task
	       : step->gpu_bind           ? step->gpu_bind
	       : step->job->gpus_per_task ? step->job->gpus_per_task
	       : step->job->gpu_bind      ? step->job->gpu_bind
	       : step->job->tres_per_task ? step->job->tres_per_task
					  : step->job->ntasks_per_gpu;
}

static void because(struct rules *rules, const struct check_step *step)
{
	const struct script_use *use = narrows(step);

	if (use && use->option)
		rules_also(rules, use->range, "--%s=%s gives each task GPUs of its own",
			   use->option->name, use->value ? use->value : "");
}

/* CUDA_VISIBLE_DEVICES=$SLURM_LOCALID leaves one device, and its index is 0. */
static void masked(struct rules *rules, const struct check_launch *launch)
{
	static const enum check_variable masks[] = {CHECK_CUDA_VISIBLE_DEVICES,
						    CHECK_HIP_VISIBLE_DEVICES,
						    CHECK_ROCR_VISIBLE_DEVICES};
	const struct check_command *command = launch->command;
	const struct check_assignment *rank = command->sees[CHECK_LOCAL_RANK];
	const struct check_assignment *mask = NULL;
	const struct check_setting *index = &launch->setting[CHECK_KEY_DEVICE];

	if (!launch->step || launch->step->kind != CHECK_STEP_SRUN ||
	    exactly(&launch->step->amount[CHECK_NTASKS_PER_NODE].number) == 1)
		return;
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks) && !mask; i++) {
		mask = command->sees[masks[i]];
		if (mask &&
		    (mask->shell->where != CHECK_STEP || mask->unset ||
		     !is_local_rank(&mask->value) || strchr(mask->value.text, ',')))
			mask = NULL;
	}
	if (!mask)
		return;
	if (!index->name || !is_local_rank(&index->value))
		index = &launch->setting[CHECK_KEY_LOCAL_RANK];
	if (index->name && is_local_rank(&index->value)) {
		if (!rules_tell_as(rules, RULE_GPUS_PER_TASK_LOCALID, DIAG_WARNING,
				   index->range,
				   "%s counts up, and %s leaves each task one GPU, whose "
				   "index is 0",
				   index->name, mask->name))
			return;
	} else if (!rank || rank->unset || !is_local_rank(&rank->value) ||
		   !rules_tell_as(
			   rules, RULE_GPUS_PER_TASK_LOCALID, DIAG_WARNING, rank->range,
			   "LOCAL_RANK counts up, and %s leaves each task one GPU, "
			   "whose index is 0",
			   mask->name)) {
		return;
	}
	rules_fix(rules, "leave %s to Slurm, or count 0 in each task", mask->name);
	rules_also(rules, mask->range, "the mask");
}

static void device(struct rules *rules, const struct check_launch *launch)
{
	const struct check_step *step = launch->step;
	const struct check_setting *said = &launch->setting[CHECK_KEY_DEVICE];
	const struct check_setting *rank = &launch->setting[CHECK_KEY_LOCAL_RANK];
	const struct check_setting *devices = &launch->setting[CHECK_KEY_DEVICES];
	const struct check_assignment *set = launch->command->sees[CHECK_LOCAL_RANK];
	int64_t visible;

	if (!step || step->kind != CHECK_STEP_SRUN || !is_narrowed(step))
		return;
	visible = exactly(&step->amount[CHECK_VISIBLE].number);
	if (said->name && is_local_rank(&said->value)) {
		if (rules_tell(rules, RULE_GPUS_PER_TASK_LOCALID, said->range,
			       "%s goes by local rank, and each task sees " LL
			       " GPU, whose index is 0",
			       said->name, visible > 0 ? visible : 1))
			because(rules, step);
	} else if (rank->name && is_local_rank(&rank->value)) {
		if (rules_tell_as(rules, RULE_GPUS_PER_TASK_LOCALID, DIAG_WARNING,
				  rank->range,
				  "%s counts up, and each task sees " LL
				  " GPU, whose index is 0",
				  rank->name, visible > 0 ? visible : 1))
			because(rules, step);
	} else if (set && is_local_rank(&set->value) &&
		   !launch->command->sees[CHECK_CUDA_VISIBLE_DEVICES]) {
		if (rules_tell_as(rules, RULE_GPUS_PER_TASK_LOCALID, DIAG_WARNING,
				  set->range,
				  "LOCAL_RANK counts up, and each task sees " LL
				  " GPU, whose index is 0",
				  visible > 0 ? visible : 1)) {
			rules_fix(rules, "use --gpus-per-node, or LOCAL_RANK=0");
			because(rules, step);
		}
	} else if (devices->name && exactly(&devices->number) > 1 && visible > 0 &&
		   exactly(&devices->number) > visible) {
		if (rules_tell_as(rules, RULE_GPUS_PER_TASK_LOCALID, DIAG_WARNING,
				  devices->range,
				  "%s is " LL ", and each task sees " LL " GPU",
				  devices->name, exactly(&devices->number), visible))
			because(rules, step);
	}
}

static bool is_closest(const struct script_use *use)
{
	const char *value = use ? use->value : NULL;

	if (!value || use->fault)
		return false;
	if (strncmp(value, "verbose,", 8) == 0)
		value += 8;
	return strcmp(value, "closest") == 0;
}

static void drop(struct rules *rules, const struct script_use *use)
{
	const char *text = rules->model->source.text;
	struct script_range range = use->range;

	if (range_is_empty(range) || use->origin != SCRIPT_USE_DIRECTIVE)
		return;
	/* With the blank in front of it. */
	if (range.begin > 0 && text[range.begin - 1] == ' ')
		range.begin--;
	rules_edit(rules, range, "%s", "");
}

/*
 * A program that takes the first device that it sees, as MPI codes do, is well served by
 * the nearest ones; a framework counts from 0.
 */
static enum diag_severity by_program(const struct check_model *model,
				     const struct check_step *step)
{
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if ((!step || launch->step == step) &&
		    (launch->tool != CHECK_PROGRAM || launch->distributed))
			return DIAG_WARNING;
	}
	return DIAG_NOTE;
}

static void bindings(struct rules *rules)
{
	const struct check_model *model = rules->model;

	for (size_t i = 0; i < model->steps_count; i++) {
		const struct check_step *step = model->steps[i];
		const struct script_use *accel = check_step_find(step, "accel-bind");

		if (step->command->where == CHECK_ELSEWHERE || step->command->uncalled)
			continue;
		if (is_closest(step->gpu_bind) &&
		    rules_tell_as(
			    rules, RULE_GPU_BIND_CLOSEST, by_program(model, step),
			    step->gpu_bind->range,
			    "--gpu-bind=closest shows a task the GPUs of its socket "
			    "only, or "
			    "all where tasks are not bound to CPUs"))
			drop(rules, step->gpu_bind);
		if (accel && accel->value && strchr(accel->value, 'g') &&
		    rules_tell_as(rules, RULE_GPU_BIND_CLOSEST, by_program(model, step),
				  accel->range,
				  "--accel-bind=%s shows a task the GPUs of its socket "
				  "only, and "
				  "none at all since 24.11",
				  accel->value))
			drop(rules, accel);
	}
	for (size_t i = 0; i < model->jobs_count; i++) {
		const struct script_use *use = model->jobs[i].gpu_bind;

		if (is_closest(use))
			rules_tell_as(
				rules, RULE_GPU_BIND_CLOSEST, by_program(model, NULL),
				use->range,
				"--gpu-bind=closest shows a task the GPUs of its socket "
				"only, or all where tasks are not bound to CPUs");
	}
}

/* A program that the batch shell itself starts sees the assignment. */
static bool reaches_batch(const struct check_model *model,
			  const struct check_assignment *set)
{
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if (!launch->step &&
		    launch->command->sees[CHECK_CUDA_VISIBLE_DEVICES] == set)
			return true;
	}
	return false;
}

static bool reaches_step(const struct check_model *model,
			 const struct check_assignment *set)
{
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if (launch->step &&
		    launch->command->sees[CHECK_CUDA_VISIBLE_DEVICES] == set)
			return true;
	}
	return false;
}

/* 0,1,2 and the like; not "", which hides all. */
static bool is_list(const struct check_value *value)
{
	if (!value->constant || value->length == 0)
		return false;
	for (uint32_t i = 0; i < value->length; i++) {
		if (!isdigit((unsigned char)value->text[i]) && value->text[i] != ',')
			return false;
	}
	return true;
}

static void mask(struct rules *rules, const struct check_assignment *set)
{
	const struct check_model *model = rules->model;
	const struct check_expansion *node =
		check_value_expands(&set->value, "SLURM_JOB_GPUS");
	const bool batch = set->shell->where == CHECK_BATCH;
	const struct check_step *step = set->shell->step;

	if (batch && set->command && set->command->step)
		step = set->command->step;
	if (!node)
		node = check_value_expands(&set->value, "SLURM_STEP_GPUS");
	if (node) {
		const bool harmless = batch && !step && !reaches_batch(model, set) &&
				      reaches_step(model, set);

		rules_tell_as(
			rules, RULE_CUDA_MASK_FROM_JOB_GPUS,
			harmless ? DIAG_NOTE : DIAG_ERROR, set->range,
			harmless ? "steps get their own CUDA_VISIBLE_DEVICES, so %s here "
				   "has no effect"
				 : "%s counts the node's devices, not the job's",
			node->name);
		return;
	}
	if (!batch && step && is_narrowed(step) && is_local_rank(&set->value)) {
		if (rules_tell(rules, RULE_MASK_ON_PER_TASK_BINDING, set->range,
			       "each task has GPUs of its own already, and index "
			       "SLURM_LOCALID "
			       "is not among them"))
			because(rules, step);
		return;
	}
	/* What is no number ends the list (CUDA C++ Programming Guide, Environment
	 * Variables): there is no GPU at all. */
	if (set->value.constant && strcasecmp(set->value.text, "all") == 0 &&
	    (!batch || step || reaches_batch(model, set))) {
		if (rules_tell_as(
			    rules, RULE_CUDA_MASK_FIXED, DIAG_ERROR, set->range,
			    "CUDA_VISIBLE_DEVICES=%s hides every GPU: it is a list of "
			    "numbers",
			    set->value.text))
			rules_fix(rules, "leave the line out");
		return;
	}
	if (batch && !step && check_value_expands(&set->value, "SLURM_LOCALID") &&
	    !reaches_batch(model, set) && reaches_step(model, set)) {
		if (rules_tell(
			    rules, RULE_CUDA_MASK_FIXED, set->range,
			    "$SLURM_LOCALID is 0 in the batch shell, and steps get their "
			    "own CUDA_VISIBLE_DEVICES, so this has no effect"))
			rules_fix(rules, "leave it out, or set it inside the step");
		return;
	}
	if (!is_list(&set->value) || model->jobs[0].whole)
		return;
	if (batch && !step && !reaches_batch(model, set)) {
		if (reaches_step(model, set))
			rules_tell_as(rules, RULE_CUDA_MASK_FIXED, DIAG_NOTE, set->range,
				      "steps get their own CUDA_VISIBLE_DEVICES, so this "
				      "has no "
				      "effect");
		return;
	}
	/* That all tasks of a node take the same is the worse of it: tasks-take-one-gpu.
	 */
	if (step && !strchr(set->value.text, ',') && !step->narrowed &&
	    exactly(&step->amount[CHECK_NTASKS_PER_NODE].number) > 1 &&
	    exactly(&step->amount[CHECK_VISIBLE].number) > 1)
		return;
	rules_tell(rules, RULE_CUDA_MASK_FIXED, set->range,
		   "the job's GPUs may be others than %s on a node that is shared",
		   set->value.text);
}

/* 0,1,2: all that the first mask leaves, if it is the same; or not known, as of $LIST. */
static bool is_all_in_order(const struct check_value *value)
{
	const char *at = value->text;

	if (!value->constant)
		return value->expansions_count != 1 ||
		       value->expansions[0].kind == CHECK_SUBSTITUTE;
	for (unsigned long next = 0;; next++) {
		char *end;

		if (strtoul(at, &end, 10) != next || end == at)
			return false;
		if (!*end)
			return true;
		at = end + 1;
	}
}

static void two_masks(struct rules *rules, const struct check_launch *launch)
{
	const struct check_assignment *rocr =
		launch->command->sees[CHECK_ROCR_VISIBLE_DEVICES];
	const struct check_assignment *other[] = {
		launch->command->sees[CHECK_HIP_VISIBLE_DEVICES],
		launch->command->sees[CHECK_CUDA_VISIBLE_DEVICES],
	};

	if (!rocr || rocr->unset || rocr->export == CHECK_KEPT)
		return;
	for (size_t i = 0; i < 2; i++) {
		const struct check_assignment *set = other[i];

		if (!set || set->unset || set->export == CHECK_KEPT || !set->value.text ||
		    !rocr->value.text || strcmp(set->value.text, rocr->value.text) != 0 ||
		    set->value.length == 0 || is_all_in_order(&set->value))
			continue;
		if (rules_tell(rules, RULE_TWO_DEVICE_MASKS, set->range,
			       "%s=%s counts the devices that ROCR_VISIBLE_DEVICES=%s "
			       "leaves",
			       set->name, set->value.text, rocr->value.text))
			rules_also(rules, rocr->range,
				   "ROCR_VISIBLE_DEVICES masks them first");
		return;
	}
}

/* ---- containers ---- */

/* What brings the driver's libraries and devices into a container of each kind. */
static const struct {
	const char *name;
	const char *flags[8];     /* as words, or the beginning of --flag=value */
	const char *variables[5]; /* that say the same */
	const char *cure;
} containers[] = {
	{"apptainer",
	 {"--nv", "--nvccli", "--rocm", "--intel-hpu"},
	 {"APPTAINER_NV", "APPTAINER_NVCCLI", "APPTAINER_ROCM", "SINGULARITY_NV",
	  "SINGULARITY_ROCM"},
	 "add --nv, or --rocm for AMD's"},
	{"singularity",
	 {"--nv", "--nvccli", "--rocm"},
	 {"SINGULARITY_NV", "SINGULARITY_NVCCLI", "SINGULARITY_ROCM", "APPTAINER_NV",
	  "APPTAINER_ROCM"},
	 "add --nv, or --rocm for AMD's"},
	{"docker",
	 {"--gpus", "--runtime", "--device", "--privileged"},
	 {NULL},
	 "add --gpus with the job's own devices"},
	{"podman",
	 {"--gpus", "--device", "--runtime", "--hooks-dir", "--privileged"},
	 {NULL},
	 "add --device nvidia.com/gpu=... with the job's own devices"},
	{"podman-hpc", {"--gpu", "--device", "--privileged"}, {NULL}, "add --gpu"},
};

#define CONTAINERS (sizeof(containers) / sizeof(*containers))

/* The row of COMMAND; CONTAINERS: of a kind that brings them by itself, or none. */
static size_t container_row(const struct check_command *command)
{
	size_t row = 0;

	while (row < CONTAINERS &&
	       (command->tool != CHECK_CONTAINER || command->words_count < 2 ||
		strcmp(containers[row].name, command->name) != 0 ||
		/* Into one that runs already. */
		(row >= 2 && strcmp(command->words[1].text, "exec") == 0) ||
		strstr(command->words[command->words_count > 2 ? 2 : 1].text,
		       "instance://")))
		row++;
	return row;
}

static bool has_gpus(const struct check_model *model, const struct check_command *command,
		     size_t row)
{
	for (size_t i = 1; i < command->words_count && i < command->operand; i++) {
		const struct check_value *word = &command->words[i];

		/* A word that may hold any options. */
		if (!word->constant && !word->quoted && word->text[0] == '$' &&
		    word[-1].text[0] != '-')
			return true;
		for (size_t f = 0; f < 8 && containers[row].flags[f]; f++) {
			const size_t length = strlen(containers[row].flags[f]);

			if (strncmp(word->text, containers[row].flags[f], length) == 0 &&
			    (word->text[length] == '\0' || word->text[length] == '='))
				return true;
		}
	}
	for (size_t v = 0; v < 5 && containers[row].variables[v]; v++) {
		if (check_sees(model, command, containers[row].variables[v]))
			return true;
	}
	return false;
}

/* Some container of the script gets its GPUs, or some launch needs no container. */
static bool others_have_gpus(const struct check_model *model)
{
	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];
		const size_t row = container_row(command);

		if (row < CONTAINERS && has_gpus(model, command, row))
			return true;
	}
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if (launch->step && launch->tool != CHECK_MPIRUN &&
		    !launch->step->container &&
		    !check_within(launch->command, CHECK_CONTAINER))
			return true;
	}
	return false;
}

/*
 * A program in a container that takes GPUs, as far as can be told: a launcher, or
 * Python's; what `run` starts stands in the image.
 */
static void in_container(struct rules *rules, const struct check_launch *launch,
			 const struct check_command *command)
{
	const struct check_step *step = command->step;
	const struct check_job *job = step ? step->job : &rules->model->jobs[0];
	const struct check_amount *gpus =
		&(step ? step->amount : job->amount)[CHECK_GPUS_PER_NODE];
	const size_t row = container_row(command);
	struct script_range behind;

	if (row == CONTAINERS ||
	    (launch->tool == CHECK_PROGRAM && !launch->distributed) ||
	    command->where == CHECK_ELSEWHERE || command->uncalled ||
	    gpus->origin == CHECK_NOBODY || gpus->origin == CHECK_BY_DEFAULT ||
	    exactly(&gpus->number) == 0)
		return;
	/* AMD's driver has no libraries of its own: ROCm in the image will do. */
	if (job->gpu_type && (strncasecmp(job->gpu_type, "mi", 2) == 0 ||
			      strncasecmp(job->gpu_type, "gfx", 3) == 0))
		return;
	/* A module may say it in a variable, as APPTAINER_NV, or bind ROCm. */
	if (!rules_tell_as(rules, RULE_CONTAINER_WITHOUT_GPUS,
			   command->sourced ? DIAG_NOTE : DIAG_WARNING, command->range,
			   "%s does not bring the job's GPUs into the container",
			   command->name))
		return;
	rules_fix(rules, "%s", containers[row].cure);
	/* Where there is no NVIDIA driver, Apptainer passes over --nv with a warning. */
	behind = command->words[1].range;
	behind.begin = behind.end;
	if (row < 2 && command->words[1].constant && command->words[1].text[0] != '-' &&
	    command->words[1].source.begin == command->words[1].range.begin)
		rules_edit(rules, behind, " --nv");
}

static void containers_without(struct rules *rules)
{
	const struct check_model *model = rules->model;
	const struct check_command *last = NULL;
	bool looked = false;

	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];
		const struct check_command *command =
			check_within(launch->command, CHECK_CONTAINER);

		/* A container and what is in it stand side by side. */
		if (!command || command == last)
			continue;
		if (!looked && others_have_gpus(model))
			return;
		looked = true;
		last = command;
		in_container(rules, launch, command);
	}
}

void rules_devices(struct rules *rules)
{
	const struct check_model *model = rules->model;

	bindings(rules);
	containers_without(rules);
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if (rules_skips(launch))
			continue;
		device(rules, launch);
		masked(rules, launch);
		two_masks(rules, launch);
	}
	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];

		if (strcmp(set->name, "CUDA_VISIBLE_DEVICES") == 0 && !set->unset &&
		    !set->opaque && set->shell->where != CHECK_ELSEWHERE)
			mask(rules, set);
	}
}
