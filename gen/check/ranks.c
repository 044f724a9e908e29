/* SPDX-License-Identifier: MIT */
/*
 * Rules about what the tasks of a step tell their programs of themselves: each rank once,
 * and on each node a GPU for each task. A value is judged by the numbers that it can be:
 * one that has fewer of them than there are tasks cannot tell the tasks apart.
 */
#include "gen/check/rules.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LL "%" PRId64

/* Each task of its step is a process of the program's own. */
static bool is_native(const struct check_launch *launch)
{
	return (launch->tool == CHECK_PYTHON || launch->tool == CHECK_PROGRAM) &&
	       !launch->parent && launch->step && launch->step->kind == CHECK_STEP_SRUN &&
	       !launch->setting[CHECK_KEY_SPAWN].name;
}

static bool is_task_variable(const char *name)
{
	return strcmp(name, "SLURM_PROCID") == 0 || strcmp(name, "SLURM_LOCALID") == 0 ||
	       strcmp(name, "SLURM_NODEID") == 0;
}

/* In the batch shell they are those of its one task: batch-expanded-rank tells that. */
static bool is_of_batch(const struct check_expansion *expansions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct check_expansion *one = &expansions[i];

		if ((one->kind == CHECK_PARAMETER && one->name &&
		     is_task_variable(one->name) && one->shell &&
		     one->shell->where == CHECK_BATCH) ||
		    is_of_batch(one->inner, one->inner_count))
			return true;
	}
	return false;
}

/* The numbers that VALUE can be in the tasks; false: they are not known. */
static bool bounds(const struct check_model *model, const struct check_value *value,
		   struct check_number *number)
{
	*number = check_value_number(model, value);
	return number->known && !(number->varies & (CHECK_AT_RANDOM | CHECK_PER_JOB)) &&
	       !is_of_batch(value->expansions, value->expansions_count);
}

/* What the program gets as NAME, and where that is said. */
struct told {
	const char *name;
	const struct check_value *value;
	struct script_range range;
};

/* The option of KEY, else VARIABLE (CHECK_VARIABLES: none), of the launch. */
static bool find_told(const struct check_launch *launch, enum check_key key,
		      enum check_variable variable, struct told *told)
{
	const struct check_setting *said = &launch->setting[key];
	const struct check_assignment *set =
		variable < CHECK_VARIABLES ? launch->command->sees[variable] : NULL;

	if (said->name && said->value.text) {
		*told = (struct told){said->name, &said->value, said->range};
		return true;
	}
	if (!set || set->unset || set->opaque || set->export == CHECK_KEPT ||
	    !set->value.text)
		return false;
	*told = (struct told){set->name, &set->value, set->range};
	return true;
}

static void rank(struct rules *rules, const struct check_launch *launch)
{
	const int64_t tasks = exactly(&launch->step->amount[CHECK_NTASKS].number);
	struct check_number number;
	struct told told;

	if (tasks < 2 || rules_has_plugin(rules, launch) ||
	    !find_told(launch, CHECK_KEY_RANK, CHECK_RANK, &told) ||
	    !bounds(rules->model, told.value, &number) ||
	    number.high - number.low + 1 >= tasks)
		return;
	if (check_exact(&number))
		rules_tell(rules, RULE_RANK_NOT_UNIQUE, told.range,
			   "%s is " LL " in all " LL " tasks", told.name, number.low,
			   tasks);
	else
		rules_tell(rules, RULE_RANK_NOT_UNIQUE, told.range,
			   "%s is from " LL " to " LL " in " LL
			   " tasks, so several have the same",
			   told.name, number.low, number.high, tasks);
}

static const enum check_variable masks[] = {
	CHECK_CUDA_VISIBLE_DEVICES,
	CHECK_HIP_VISIBLE_DEVICES,
	CHECK_ROCR_VISIBLE_DEVICES,
};

/* What the tasks themselves make of the devices that Slurm leaves them; NULL: nothing. */
static const struct check_assignment *mask_of(const struct check_launch *launch)
{
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		const struct check_assignment *set = launch->command->sees[masks[i]];

		/* Of what is set before, slurmstepd sets its own in each task. */
		if (set && !set->unset && !set->opaque && set->value.text &&
		    (set->shell->where == CHECK_STEP || set->export == CHECK_BY_ENV))
			return set;
	}
	return NULL;
}

/* ${CUDA_VISIBLE_DEVICES%%,*}: the first of the list. */
static bool is_first_of_list(const struct check_value *value)
{
	const struct check_expansion *one = value->expansions;

	return value->expansions_count == 1 && one->at == 0 &&
	       one->length == value->length && one->kind == CHECK_PARAMETER &&
	       one->name && strcmp(one->name, "CUDA_VISIBLE_DEVICES") == 0 && one->op &&
	       strcmp(one->op, "%%") == 0 && memmem(value->text, value->length, ",*", 2);
}

/* cuda:1, hip:1, gpu:1 or 1. */
static bool device_number(const struct check_value *value, struct check_number *number)
{
	const char *colon = strchr(value->text, ':');
	const char *digits = colon ? colon + 1 : value->text;

	if (!value->constant || !isdigit((unsigned char)digits[0]) ||
	    digits[strspn(digits, "0123456789")] != '\0')
		return false;
	number->low = number->high = strtoll(digits, NULL, 10);
	number->known = true;
	return true;
}

/* TOLD, which can be NUMBER, is where each of TASKS on a node has a GPU of VISIBLE. */
static void one_gpu(struct rules *rules, const struct told *told,
		    const struct check_number *number, int64_t tasks, int64_t visible,
		    enum diag_severity severity)
{
	/* What varies from node to node only is the same in all tasks of one. */
	if (check_exact(number))
		rules_tell_as(rules, RULE_TASKS_TAKE_ONE_GPU, severity, told->range,
			      "%s is " LL " in all " LL " tasks of a node", told->name,
			      number->low, tasks);
	else if (!(number->varies & CHECK_PER_TASK))
		rules_tell_as(rules, RULE_TASKS_TAKE_ONE_GPU, severity, told->range,
			      "%s is the same in all " LL " tasks of a node", told->name,
			      tasks);
	/* More tasks than GPUs is what ntasks-vs-gpus tells. */
	else if (number->high >= visible && number->low >= 0 && tasks <= visible)
		rules_tell_as(rules, RULE_TASKS_TAKE_ONE_GPU, severity, told->range,
			      "%s is up to " LL ", and the GPUs of a node are 0 to " LL,
			      told->name, number->high, visible - 1);
}

static void gpu(struct rules *rules, const struct check_launch *launch)
{
	const struct check_step *step = launch->step;
	const int64_t tasks = exactly(&step->amount[CHECK_NTASKS_PER_NODE].number);
	const int64_t visible = exactly(&step->amount[CHECK_VISIBLE].number);
	const struct check_assignment *mask = mask_of(launch);
	struct check_number number = {0};
	struct told told;

	if (tasks < 2 || visible < 2 || step->narrowed || rules_has_plugin(rules, launch))
		return;
	if (mask) {
		told = (struct told){mask->name, &mask->value, mask->range};
		if (is_first_of_list(told.value))
			rules_tell(rules, RULE_TASKS_TAKE_ONE_GPU, told.range,
				   "%s is the first GPU in all " LL " tasks of a node",
				   told.name, tasks);
		else if (bounds(rules->model, told.value, &number))
			one_gpu(rules, &told, &number, tasks, visible, DIAG_ERROR);
		/* What is left for a task to count is for gpus-per-task-localid. */
		return;
	}
	if (find_told(launch, CHECK_KEY_LOCAL_RANK, CHECK_LOCAL_RANK, &told) &&
	    bounds(rules->model, told.value, &number))
		one_gpu(rules, &told, &number, tasks, visible, DIAG_ERROR);
	/* A program may have other ideas of what its option means. */
	number = (struct check_number){0};
	if (find_told(launch, CHECK_KEY_DEVICE, CHECK_VARIABLES, &told) &&
	    (device_number(told.value, &number) ||
	     bounds(rules->model, told.value, &number)))
		one_gpu(rules, &told, &number, tasks, visible, DIAG_WARNING);
}

void rules_ranks(struct rules *rules)
{
	const struct check_model *model = rules->model;

	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if (rules_skips(launch) || !is_native(launch))
			continue;
		rank(rules, launch);
		gpu(rules, launch);
	}
}
