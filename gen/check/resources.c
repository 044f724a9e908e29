/* SPDX-License-Identifier: MIT */
/*
 * Rules about what the header asks for: numbers that contradict each other, that Slurm
 * reads in another way than they look, or that do not fit what the job then runs.
 */
#include "gen/check/rules.h"

#include "gen/spec/scalar.h"
#include "spank/launch/nearest.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LL "%" PRId64

/* The number of a count, or behind the last colon of TYPE:N; -1: none. */
static int64_t number(const struct script_use *use)
{
	const char *text, *colon;
	char *end;
	int64_t value;

	if (!use || !use->value || use->fault)
		return -1;
	colon = strrchr(use->value, ':');
	text = colon ? colon + 1 : use->value;
	if (!isdigit((unsigned char)*text))
		return -1;
	value = strtoll(text, &end, 10);
	return *end ? -1 : value;
}

/* GPUs of --gres=gpu[:TYPE][:N]; -1: it asks for none. */
static int64_t gres_gpus(const struct script_use *use)
{
	const char *at = use && use->value && !use->fault ? use->value : NULL;

	for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t length = strcspn(at, ",");
		size_t colon = length;

		if (strncmp(at, "gpu", 3) != 0 || !strchr(":=,", at[3]))
			continue;
		while (colon > 0 && at[colon - 1] != ':' && at[colon - 1] != '=')
			colon--;
		return isdigit((unsigned char)at[colon]) ? strtoll(at + colon, NULL, 10)
							 : 1;
	}
	return -1;
}

static const struct script_use *gpu_use(const struct check_job *job)
{
	const struct script_use *all[] = {
		job->gpus_per_node,   gres_gpus(job->gres) >= 0 ? job->gres : NULL,
		job->gpus_per_task,   job->gpus,
		job->gpus_per_socket, job->tres_per_task,
		job->ntasks_per_gpu,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (all[i])
			return all[i];
	}
	return NULL;
}

/* Two options that may not be together: told at the one that comes later. */
static bool pair(struct rules *rules, enum rule rule, enum diag_severity severity,
		 const struct script_use *a, const struct script_use *b, const char *text)
{
	const struct script_use *first, *second;

	if (!a || !b)
		return false;
	first = a->range.begin <= b->range.begin ? a : b;
	second = first == a ? b : a;
	if (rules_tell_as(rules, rule, severity, second->range,
			  "--%s=%s with --%s=%s: %s", second->option->name,
			  second->value ? second->value : "", first->option->name,
			  first->value ? first->value : "", text))
		rules_also(rules, first->range, "--%s=%s is the other request",
			   first->option->name, first->value ? first->value : "");
	return true;
}

/* ---- options that exclude each other ---- */

static void exclusive_options(struct rules *rules, const struct check_job *job)
{
	const struct script_use *mem[] = {job->mem, job->mem_per_cpu, job->mem_per_gpu};
	const struct script_use *against[] = {job->ntasks_per_node, job->gpus_per_task,
					      job->gpus_per_socket, job->tres_per_task};
	static const char refused[] = "sbatch refuses them together";

	for (size_t i = 0, told = 0; i < 3 && !told; i++) {
		for (size_t j = i + 1; j < 3 && !told; j++)
			told = pair(rules, RULE_MEM_OPTIONS_EXCLUSIVE, DIAG_ERROR, mem[i],
				    mem[j], refused);
	}
	for (size_t i = 0; i < 3; i++) {
		const char *value = mem[i] ? mem[i]->value : NULL;
		const size_t digits = value ? strspn(value, "0123456789") : 0;

		if (digits > 0 && digits < 3 && value[digits] == '\0' &&
		    number(mem[i]) > 0 && number(mem[i]) <= 64)
			rules_tell(rules, RULE_MEM_WITHOUT_UNIT, mem[i]->range,
				   "--%s=%s is %s MiB", mem[i]->option->name, value,
				   value);
	}
	pair(rules, RULE_CPUS_PER_GPU_AND_CPUS_PER_TASK, DIAG_ERROR, job->cpus_per_gpu,
	     job->cpus_per_task, refused);
	for (size_t i = 0; i < sizeof(against) / sizeof(*against); i++) {
		if (pair(rules, RULE_NTASKS_PER_GPU_CONFLICT, DIAG_ERROR,
			 job->ntasks_per_gpu, against[i], refused))
			break;
	}
	if (job->exclusive && job->oversubscribe &&
	    rules_tell_as(
		    rules, RULE_EXCLUSIVE_AND_OVERSUBSCRIBE,
		    rules_before(rules, 2302) ? DIAG_WARNING : DIAG_ERROR,
		    job->oversubscribe->range,
		    rules_before(rules, 2302)
			    ? "--oversubscribe with --exclusive: the last one wins"
			    : "--oversubscribe with --exclusive: sbatch refuses them "
			      "together since 23.02"))
		rules_also(rules, job->exclusive->range, "--exclusive stands here");
}

/* ---- GPUs ---- */

static void gres_and_gpus_per_node(struct rules *rules, const struct check_job *job)
{
	int64_t gres = gres_gpus(job->gres), per_node = number(job->gpus_per_node);

	if (gres < 0 || per_node < 0)
		return;
	if (gres != per_node)
		pair(rules, RULE_CONFLICTING_GPU_REQUESTS, DIAG_ERROR, job->gres,
		     job->gpus_per_node,
		     "the job gets the gres and every srun fails; since 26.05 sbatch "
		     "refuses "
		     "them together");
	else if (!rules_before(rules, 2605))
		pair(rules, RULE_CONFLICTING_GPU_REQUESTS,
		     rules_since(rules, 2605) ? DIAG_ERROR : DIAG_WARNING, job->gres,
		     job->gpus_per_node, "since 26.05 sbatch refuses them together");
}

static void gpus_per_task(struct rules *rules, const struct check_job *job)
{
	const struct script_use *node = job->gpus_per_node          ? job->gpus_per_node
					: gres_gpus(job->gres) >= 0 ? job->gres
								    : NULL;
	int64_t per_node = job->gpus_per_node ? number(node) : gres_gpus(job->gres);
	int64_t per_task = number(job->gpus_per_task),
		tasks = number(job->ntasks_per_node);
	int64_t total = number(job->ntasks);

	if (per_task < 0)
		return;
	if (tasks < 0 && number(job->nodes) == 1)
		tasks = total;
	if (node && tasks > 0 && per_node >= 0 && per_task * tasks != per_node &&
	    rules_tell(rules, RULE_CONFLICTING_GPU_REQUESTS, job->gpus_per_task->range,
		       "--gpus-per-task " LL " x " LL
		       " tasks a node is not --%s=%s: sbatch "
		       "refuses them",
		       per_task, tasks, node->option->name, node->value))
		rules_also(rules, node->range, "--%s=%s asks for " LL " GPUs a node",
			   node->option->name, node->value, per_node);
	if (job->gpus && total > 0 && number(job->gpus) >= 0 &&
	    per_task * total != number(job->gpus) &&
	    rules_tell(rules, RULE_CONFLICTING_GPU_REQUESTS, job->gpus_per_task->range,
		       "--gpus-per-task " LL " x --ntasks " LL " is not --gpus=%s",
		       per_task, total, job->gpus->value))
		rules_also(rules, job->gpus->range, "--gpus=%s is the other request",
			   job->gpus->value);
	if (!job->gpus && !job->ntasks &&
	    (!job->ntasks_per_node || (!job->nodes && !rules_before(rules, 2411))))
		rules_tell(rules, RULE_GPUS_PER_TASK_WITHOUT_COUNT,
			   job->gpus_per_task->range,
			   "sbatch refuses --gpus-per-task=%s without --ntasks or --gpus",
			   job->gpus_per_task->value);
}

static void total_gpus(struct rules *rules, const struct check_job *job)
{
	int64_t gpus = number(job->gpus), per_node = number(job->gpus_per_node);
	int64_t nodes = number(job->nodes);

	if (gpus >= 0 && per_node > 0 && nodes > 0 && gpus != nodes * per_node) {
		if (rules_tell(rules, RULE_CONFLICTING_GPU_REQUESTS, job->gpus->range,
			       "--gpus=%s is not --nodes " LL " x --gpus-per-node " LL,
			       job->gpus->value, nodes, per_node))
			rules_also(rules, job->gpus_per_node->range,
				   "--gpus-per-node=%s is the other request",
				   job->gpus_per_node->value);
		return;
	}
	if (nodes < 2 || job->gpus_per_node || gres_gpus(job->gres) >= 0)
		return;
	if (gpus > 0 && gpus < nodes) {
		rules_tell(rules, RULE_CONFLICTING_GPU_REQUESTS, job->gpus->range,
			   "sbatch refuses --gpus=%s for " LL " nodes: each needs one",
			   job->gpus->value, nodes);
	} else if (gpus > nodes) {
		if (rules_tell(rules, RULE_GPUS_UNEVEN, job->gpus->range,
			       "--gpus=%s over " LL " nodes may be spread as " LL
			       " on one and 1 on another",
			       job->gpus->value, nodes, gpus - nodes + 1) &&
		    gpus % nodes == 0)
			rules_fix(rules, "write --gpus-per-node=" LL, gpus / nodes);
	} else if (job->gpus_per_task && !job->ntasks_per_node &&
		   number(job->ntasks) > nodes) {
		int64_t tasks = number(job->ntasks);

		if (rules_tell(rules, RULE_GPUS_UNEVEN, job->ntasks->range,
			       "--ntasks=" LL " with --gpus-per-task over " LL
			       " nodes may be spread as " LL
			       " tasks on one and 1 on another",
			       tasks, nodes, tasks - nodes + 1) &&
		    tasks % nodes == 0)
			rules_fix(rules, "add --ntasks-per-node=" LL, tasks / nodes);
	}
}

static void per_gpu_options(struct rules *rules, const struct check_job *job)
{
	const struct script_use *uses[] = {job->mem_per_gpu, job->cpus_per_gpu};

	if (gpu_use(job) || job->gres_rest)
		return;
	for (size_t i = 0; i < 2; i++) {
		if (uses[i])
			rules_tell_as(rules, RULE_GPU_OPTION_WITHOUT_GPU,
				      /* A whole node comes with its GPUs. */
				      job->whole ? DIAG_WARNING : DIAG_ERROR,
				      uses[i]->range,
				      "--%s=%s counts per GPU, and the job asks for none",
				      uses[i]->option->name, uses[i]->value);
	}
}

/* ---- tasks and nodes ---- */

static void tasks(struct rules *rules, const struct check_job *job)
{
	int64_t nodes = number(job->nodes), ntasks = number(job->ntasks);
	int64_t per_node = number(job->ntasks_per_node);

	if (nodes > 0 && ntasks > 0 && ntasks < nodes)
		rules_tell(rules, RULE_NTASKS_BELOW_NODES, job->ntasks->range,
			   "--ntasks=" LL " is below --nodes=" LL ", so Slurm takes " LL
			   " node%s",
			   ntasks, nodes, ntasks, ntasks == 1 ? "" : "s");
	if (!job->nodes && job->ntasks_per_node && job->ntasks)
		rules_tell(rules, RULE_NTASKS_PER_NODE_WITHOUT_NODES,
			   job->ntasks_per_node->range,
			   "with --ntasks=%s and no --nodes, --ntasks-per-node=%s is "
			   "only an "
			   "upper limit",
			   job->ntasks->value ? job->ntasks->value : "",
			   job->ntasks_per_node->value ? job->ntasks_per_node->value
						       : "");
	if (nodes < 1 || ntasks < nodes || per_node < 1 || ntasks == nodes * per_node)
		return;
	/* 10 tasks as 4 + 4 + 2 make sense; 4 tasks on two nodes of 4 do not. */
	if (ntasks < nodes * per_node && nodes > 1 && ntasks > (nodes - 1) * per_node) {
		if (!gpu_use(job))
			return;
		if (!rules_tell_as(rules, RULE_NTASKS_VS_NTASKS_PER_NODE, DIAG_WARNING,
				   job->ntasks->range,
				   "--ntasks=" LL " fills " LL " nodes of " LL
				   " tasks unevenly, and their GPUs too",
				   ntasks, nodes, per_node))
			return;
	} else if (!rules_tell(rules, RULE_NTASKS_VS_NTASKS_PER_NODE, job->ntasks->range,
			       "--ntasks=" LL " is not --nodes " LL
			       " x --ntasks-per-node " LL " = " LL "%s",
			       ntasks, nodes, per_node, nodes * per_node,
			       ntasks > nodes * per_node
				       ? ": sbatch refuses it"
				       : ", which is only an upper limit then")) {
		return;
	}
	if (ntasks % nodes == 0)
		rules_fix(rules, "write --ntasks-per-node=" LL ", or --ntasks=" LL,
			  ntasks / nodes, nodes * per_node);
	rules_also(rules, job->ntasks_per_node->range,
		   "--ntasks-per-node=" LL " x " LL " nodes are " LL " tasks", per_node,
		   nodes, nodes * per_node);
}

static void heterogeneous(struct rules *rules)
{
	const struct check_model *model = rules->model;

	if (rules_before(rules, 2411))
		return;
	for (size_t i = 0; i < model->steps_count; i++) {
		const struct check_step *step = model->steps[i];
		const struct check_job *job = step->job;
		const struct script_use *use =
			job->ntasks_per_node ? job->ntasks_per_node : job->nodes;

		if (job->group == 0 || job->ntasks || !use || step->het_several ||
		    check_step_find(step, "ntasks"))
			continue;
		rules_tell(rules, RULE_HET_NTASKS, use->range,
			   "part %u of the job has no --ntasks, so srun takes that of "
			   "part 0",
			   job->group);
	}
}

/* ---- CPUs ---- */

static bool feeds_gpus(const struct check_launch *launch)
{
	static const char *const modules[] = {"venv", "pip", "virtualenv", "ensurepip"};

	switch (launch->tool) {
	case CHECK_TORCHRUN:
	case CHECK_TORCH_LAUNCH:
	case CHECK_ACCELERATE:
	case CHECK_DEEPSPEED:
		return true;
	case CHECK_PYTHON:
		for (size_t i = 0; launch->module && launch->program &&
				   i < sizeof(modules) / sizeof(*modules);
		     i++) {
			if (strcmp(launch->program->text, modules[i]) == 0)
				return false;
		}
		return true;
	default:
		return false;
	}
}

static void one_cpu(struct rules *rules, const struct check_job *job)
{
	const struct check_model *model = rules->model;
	const struct script_use *use = job->cpus_per_task;

	if (!gpu_use(job) || job->cpus_per_gpu || (use && number(use) != 1) ||
	    (job->tres_per_task && job->tres_per_task->value &&
	     strstr(job->tres_per_task->value, "cpu")) ||
	    /* Tasks that are not bound share the node. */
	    (job->whole && !use))
		return;
	if (!use)
		use = job->ntasks_per_node ? job->ntasks_per_node
		      : job->ntasks        ? job->ntasks
					   : gpu_use(job);
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];
		const struct check_step *step = launch->step;

		if ((step ? step->job : &model->jobs[0]) != job || !feeds_gpus(launch) ||
		    launch->command->uncalled ||
		    launch->command->where == CHECK_ELSEWHERE)
			continue;
		if (step && ((step->amount[CHECK_CPUS_PER_TASK].origin == CHECK_BY_STEP &&
			      exactly(&step->amount[CHECK_CPUS_PER_TASK].number) != 1) ||
			     step->kind == CHECK_STEP_MPIRUN || step->whole))
			continue;
		/* One task that is told to have one CPU may well be meant so. */
		rules_tell_as(
			rules, RULE_ONE_CPU_PER_GPU_TASK,
			job->cpus_per_task &&
					exactly(&job->amount[CHECK_NTASKS].number) == 1
				? DIAG_NOTE
				: DIAG_WARNING,
			use->range,
			"each task gets one CPU, %s, and line %u runs %s with GPUs in it",
			job->cpus_per_task ? "as --cpus-per-task says"
					   : "unless the partition sets DefCpuPerGPU",
			script_text_line(&model->source, launch->command->range.begin),
			launch->command->name);
		return;
	}
}

/* ---- the program ---- */

/* Whether each task of the launch is a rank of its own. */
static bool is_native(const struct check_launch *launch)
{
	return (launch->tool == CHECK_PYTHON || launch->tool == CHECK_PROGRAM) &&
	       !launch->parent && launch->step && launch->step->kind == CHECK_STEP_SRUN &&
	       range_is_empty(launch->setting[CHECK_KEY_SPAWN].range);
}

/* RANK is one of the step's, and not of the array's tasks. */
static bool is_rank_of_step(const struct check_launch *launch)
{
	const struct check_assignment *set = launch->command->sees[CHECK_RANK];

	return set && !(set->value.text &&
			check_value_expands(&set->value, "SLURM_ARRAY_TASK_ID"));
}

/* Each process splits its model over several GPUs, as vLLM's do. */
static bool splits_model(const struct check_launch *launch)
{
	static const char *const names[] = {"--tp", "--tp_size",
					    "--tensor_parallel_size"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (check_option(launch->command, launch->command->operand, names[i],
				 &(struct check_setting){0}))
			return true;
	}
	return false;
}

/* Slurm may spread the tasks as it likes, and they are too few or too many anyhow. */
static void total_tasks(struct rules *rules, const struct check_step *step, bool ranks,
			const struct script_use *tasks, const struct script_use *gpus)
{
	const int64_t count = exactly(&step->amount[CHECK_NTASKS].number);
	const int64_t each = exactly(&step->amount[CHECK_GPUS_PER_NODE].number);
	const int64_t nodes = exactly(&step->amount[CHECK_NODES].number);

	if (!ranks || !gpus || !tasks || step->narrowed || count < 1 || each < 1 ||
	    nodes < 1 || count == nodes * each)
		return;
	if (count > nodes * each)
		rules_tell(rules, RULE_NTASKS_VS_GPUS, tasks->range,
			   LL " tasks on " LL " nodes share " LL " GPUs", count, nodes,
			   nodes * each);
	else
		rules_tell_as(rules, RULE_NTASKS_VS_GPUS, DIAG_WARNING, gpus->range,
			      LL " tasks on " LL " nodes for " LL
				 " GPUs: the others stay idle",
			      count, nodes, nodes * each);
}

static void tasks_and_gpus(struct rules *rules, const struct check_launch *launch)
{
	const struct check_step *step = launch->step;
	const struct check_setting *said = &launch->setting[CHECK_KEY_DEVICES];
	const struct script_use *gpus, *tasks;
	int64_t per_node, devices, visible;
	bool ranks;

	if (!is_native(launch))
		return;
	tasks = step->job->ntasks_per_node ? step->job->ntasks_per_node
					   : step->job->ntasks;
	gpus = gpu_use(step->job);
	per_node = exactly(&step->amount[CHECK_NTASKS_PER_NODE].number);
	visible = exactly(&step->amount[CHECK_GPUS_PER_NODE].number);
	devices = said->name ? exactly(&said->number) : -1;
	ranks = launch->command->sees[CHECK_LOCAL_RANK] || is_rank_of_step(launch) ||
		(launch->setting[CHECK_KEY_DEVICE].name &&
		 check_value_expands(&launch->setting[CHECK_KEY_DEVICE].value,
				     "SLURM_LOCALID")) ||
		/* MMEngine's, whose local rank is SLURM_LOCALID. */
		(launch->setting[CHECK_KEY_LAUNCHER].name &&
		 strcmp(launch->setting[CHECK_KEY_LAUNCHER].value.text, "slurm") == 0);
	if (per_node < 1) {
		total_tasks(rules, step, ranks, tasks, gpus);
		return;
	}
	if (devices > 0 && devices != per_node &&
	    !(per_node == 1 && !launch->setting[CHECK_KEY_NUM_NODES].name &&
	      exactly(&step->amount[CHECK_NTASKS].number) == 1 && !tasks)) {
		struct script_range at =
			tasks && step->amount[CHECK_NTASKS].origin != CHECK_BY_STEP
				? tasks->range
			: gpus ? gpus->range
			       : said->range;

		if (rules_tell(rules, RULE_NTASKS_VS_GPUS, at,
			       "the program wants %s " LL
			       " on each node, and srun starts " LL " task%s there",
			       said->name, devices, per_node, per_node == 1 ? "" : "s")) {
			rules_fix(rules, "write --ntasks-per-node=" LL, devices);
			rules_also(rules, said->range,
				   "%s " LL " is for " LL " tasks a node", said->name,
				   devices, devices);
		}
		return;
	}
	if (!gpus || visible < 0)
		return;
	if (devices > 0 && visible > 0 && devices != visible && !step->narrowed) {
		rules_tell_as(rules, RULE_NTASKS_VS_GPUS,
			      devices > visible ? DIAG_ERROR : DIAG_WARNING, gpus->range,
			      "the program wants %s " LL
			      " on each node, and the step has " LL " GPU%s there",
			      said->name, devices, visible, visible == 1 ? "" : "s");
		return;
	}
	if (devices > 0 || !ranks || visible == 0 || splits_model(launch))
		return;
	if (per_node > visible)
		rules_tell(rules, RULE_NTASKS_VS_GPUS, tasks ? tasks->range : gpus->range,
			   LL " tasks on each node share its " LL " GPU%s", per_node,
			   visible, visible == 1 ? "" : "s");
	else if (per_node < visible && !step->narrowed)
		rules_tell_as(rules, RULE_NTASKS_VS_GPUS, DIAG_WARNING, gpus->range,
			      LL " task%s on each node for " LL
				 " GPUs: the others stay idle",
			      per_node, per_node == 1 ? "" : "s", visible);
}

static void no_gpu(struct rules *rules, const struct check_launch *launch)
{
	const struct check_model *model = rules->model;
	const struct check_job *job = launch->step ? launch->step->job : &model->jobs[0];
	const struct check_setting *said = &launch->setting[CHECK_KEY_NPROC];

	if (gpu_use(job) || job->gres_rest || job->whole)
		return;
	if (said->name && said->value.constant && strcmp(said->value.text, "gpu") == 0)
		rules_tell(rules, RULE_NO_GPU_REQUESTED, said->range,
			   "%s counts the GPUs, and the job asks for none", said->name);
}

/* ---- the site's limits ---- */

static void limit(struct rules *rules, const struct script_use *use,
		  const struct spec_value *most, int64_t asked, const char *what)
{
	if (use && most->given && asked > 0 && (uint64_t)asked > most->number)
		rules_tell(rules, RULE_OVER_LIMIT, use->range,
			   LL " %s, and the partition has %" PRIu64, asked, what,
			   most->number);
}

static void site(struct rules *rules, const struct check_job *job)
{
	const struct spec_site *profile = rules->model->site;
	const struct spec_partition *partition;
	int64_t cpus = number(job->cpus_per_task), tasks;
	char hint[SPEC_HINT_MAX];
	const char *near;
	uint64_t size;

	if (!profile || !job->partition || !job->partition->value ||
	    strchr(job->partition->value, ',') || profile->partitions.count == 0)
		return;
	partition = spec_site_partition(profile, job->partition->value);
	if (!partition) {
		rules_tell(rules, RULE_UNKNOWN_PARTITION, job->partition->range,
			   "the profile %s lists no partition %s",
			   profile->file ? profile->file : "of this site",
			   job->partition->value);
		near = launch_nearest(
			job->partition->value,
			&((const struct spec_partition *)profile->partitions.entries)
				 ->name.text,
			profile->partitions.count, sizeof(*partition));
		if (near)
			rules_fix(rules, "did you mean %s?", near);
		return;
	}
	tasks = exactly(&job->amount[CHECK_NTASKS_PER_NODE].number);
	limit(rules, job->nodes, &partition->nodes, number(job->nodes), "nodes");
	limit(rules, job->gpus_per_node ? job->gpus_per_node : job->gres,
	      &partition->gpus_per_node,
	      job->gpus_per_node ? number(job->gpus_per_node) : gres_gpus(job->gres),
	      "GPUs a node");
	if (tasks > 0)
		limit(rules, job->cpus_per_task, &partition->cpus_per_node, cpus * tasks,
		      "CPUs a node");
	if (job->mem && job->mem->value &&
	    spec_memory_read(job->mem->value, &size, hint) == 0)
		limit(rules, job->mem, &partition->mem, (int64_t)size, "MiB a node");
	if (job->time && job->time->value && partition->time.given &&
	    spec_time_read(job->time->value, &size, hint) == 0 &&
	    size > partition->time.number)
		rules_tell(rules, RULE_OVER_LIMIT, job->time->range,
			   "--time=%s is above the partition's limit, %s",
			   job->time->value, partition->time.text);
}

static void select_plugin(struct rules *rules, const struct check_job *job)
{
	const struct spec_site *profile = rules->model->site;
	const struct script_use *uses[] = {job->gpus_per_task, job->tres_per_task,
					   job->gpus_per_node, job->gpus,
					   job->gpus_per_socket};
	size_t count;

	if (!profile || !profile->select.given ||
	    profile->select.number == SPEC_SELECT_CONS_TRES)
		return;
	count = profile->select.number == SPEC_SELECT_LINEAR ? 2 : 5;
	for (size_t i = 0; i < count; i++) {
		if (uses[i] && uses[i]->option)
			rules_tell(
				rules, RULE_SELECT_PLUGIN, uses[i]->range,
				"--%s is not for select/%s, which the site profile names",
				uses[i]->option->name,
				count == 2 ? "linear" : "cons_res");
	}
}

static void segment(struct rules *rules, const struct check_job *job)
{
	const struct script_use *use =
		script_header_find(&rules->model->header, job->group, "segment");
	int64_t size = number(use), nodes = number(job->nodes);

	if (size > 0 && nodes > 0 && nodes % size != 0)
		rules_tell(rules, RULE_SEGMENT_NOT_DIVIDING, use->range,
			   "--segment=" LL " does not divide --nodes=" LL, size, nodes);
}

void rules_resources(struct rules *rules)
{
	const struct check_model *model = rules->model;

	for (size_t i = 0; i < model->jobs_count; i++) {
		const struct check_job *job = &model->jobs[i];

		exclusive_options(rules, job);
		gres_and_gpus_per_node(rules, job);
		gpus_per_task(rules, job);
		total_gpus(rules, job);
		per_gpu_options(rules, job);
		tasks(rules, job);
		segment(rules, job);
		select_plugin(rules, job);
		one_cpu(rules, job);
		site(rules, job);
		if (job->exclusive && !job->mem && !job->mem_per_cpu && !job->mem_per_gpu)
			rules_tell(rules, RULE_EXCLUSIVE_WITHOUT_MEM,
				   job->exclusive->range,
				   "--exclusive without --mem may leave memory unused");
	}
	for (size_t i = 0; i < model->launches_count; i++) {
		const struct check_launch *launch = model->launches[i];

		if (rules_skips(launch))
			continue;
		tasks_and_gpus(rules, launch);
		no_gpu(rules, launch);
	}
	heterogeneous(rules);
}
