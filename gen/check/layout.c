/* SPDX-License-Identifier: MIT */
/*
 * How many nodes, tasks, CPUs and GPUs: what Slurm makes of the header, what a step takes
 * of it, and what it then puts into SLURM_* variables. Each rule holds for Slurm 22.05,
 * 24.11 and 26.05 where it does not name a version; all were seen on real slurmctld of
 * these three. See model.h.
 */
#include "gen/check/follow.h"

#include "gen/spec/arena.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* srun takes the job's --cpus-per-task before 22.05, and again since 23.11 (Slurm's
 * CHANGELOG of both); between, only SRUN_CPUS_PER_TASK. */
#define CPUS_LOST 2205
#define CPUS_BACK 2311

static const struct check_number unknown;

static struct check_number exact(int64_t value)
{
	return (struct check_number){.known = true, .low = value, .high = value};
}

static struct check_number between(int64_t low, int64_t high)
{
	return (struct check_number){.known = true, .low = low, .high = high};
}

static void set(struct check_amount *amount, struct check_number number,
		enum check_origin origin, const struct script_use *use)
{
	amount->number = number;
	amount->origin = number.known ? origin : CHECK_NOBODY;
	amount->use = use;
	if (use)
		amount->range = use->range;
}

/* A count as Slurm's parse_int() takes it; more than 32 bits is none. */
static struct check_number read_count(const char *text)
{
	char *end;
	long long value;

	if (!text || !isdigit((unsigned char)text[0]))
		return unknown;
	value = strtoll(text, &end, 10);
	return *end || value > INT32_MAX ? unknown : exact(value);
}

/* --nodes: N, MIN-MAX, and since 24.11 a list of which the largest is tried first. */
static struct check_number read_nodes(const char *text)
{
	char *end;
	long long low, high;

	if (!text || !isdigit((unsigned char)text[0]))
		return unknown;
	low = high = strtoll(text, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		high = strtoll(end + 1, &end, 10);
	while (*end == ',' && isdigit((unsigned char)end[1])) {
		const long long next = strtoll(end + 1, &end, 10);

		high = next > high ? next : high;
	}
	if (*end || low > high || high > INT32_MAX)
		return unknown;
	return between(low, high);
}

/* TYPE:N, N or TYPE, as --gpus and its like have it; TYPE is copied to *TYPE. */
static struct check_number read_gpus(struct spec_arena **arena, const char *text,
				     const char **type)
{
	const char *colon;

	if (!text)
		return unknown;
	colon = strrchr(text, ':');
	if (!colon && isdigit((unsigned char)text[0]))
		return read_count(text);
	if (!colon) {
		*type = text;
		return exact(1);
	}
	*type = spec_arena_copy(arena, text, (size_t)(colon - text));
	return read_count(colon + 1);
}

/*
 * --gres: entries NAME[:TYPE][:N] with commas between; gres:gpu:4 (22.05) and gres/gpu:4
 * (24.11) are gpu:4. The GPUs, or, when there is no such entry, unknown; the rest goes to
 * *REST.
 */
static struct check_number read_gres(struct spec_arena **arena, const char *text,
				     const char **type, const char **rest)
{
	struct check_number number = unknown;

	while (text && *text) {
		size_t length = strcspn(text, ",(");
		const char *entry = text, *end;

		text += length;
		if (*text == '(')
			text += strcspn(text, ")") + (strchr(text, ')') ? 1 : 0);
		text += *text == ',';
		end = entry + length;
		if (strncmp(entry, "gres:", 5) == 0 || strncmp(entry, "gres/", 5) == 0)
			entry += 5;
		length = (size_t)(end - entry);
		if (length >= 3 && strncmp(entry, "gpu", 3) == 0 &&
		    (length == 3 || entry[3] == ':' || entry[3] == '=')) {
			const char *value =
				length > 4 ? spec_arena_copy(arena, entry + 4, length - 4)
					   : "1";

			number = read_gpus(arena, value, type);
		} else if (rest && length > 0) {
			*rest = spec_arena_copy(arena, entry, length);
		}
	}
	return number;
}

static struct check_number times(struct check_number a, struct check_number b)
{
	if (!a.known || !b.known || a.high > INT32_MAX || b.high > INT32_MAX)
		return unknown;
	return between(a.low * b.low, a.high * b.high);
}

/* The most that falls to one of B when A are dealt out: A over B, rounded up. */
static struct check_number fullest(struct check_number a, struct check_number b)
{
	if (!a.known || !b.known || b.low <= 0)
		return unknown;
	return between((a.low + b.high - 1) / b.high, (a.high + b.low - 1) / b.low);
}

/* ---- the job ---- */

static const struct {
	const char *name;
	size_t offset;
} job_uses[] = {
	{"nodes", offsetof(struct check_job, nodes)},
	{"ntasks", offsetof(struct check_job, ntasks)},
	{"ntasks-per-node", offsetof(struct check_job, ntasks_per_node)},
	{"ntasks-per-gpu", offsetof(struct check_job, ntasks_per_gpu)},
	{"cpus-per-task", offsetof(struct check_job, cpus_per_task)},
	{"cpus-per-gpu", offsetof(struct check_job, cpus_per_gpu)},
	{"gres", offsetof(struct check_job, gres)},
	{"gpus", offsetof(struct check_job, gpus)},
	{"gpus-per-node", offsetof(struct check_job, gpus_per_node)},
	{"gpus-per-socket", offsetof(struct check_job, gpus_per_socket)},
	{"gpus-per-task", offsetof(struct check_job, gpus_per_task)},
	{"tres-per-task", offsetof(struct check_job, tres_per_task)},
	{"mem", offsetof(struct check_job, mem)},
	{"mem-per-cpu", offsetof(struct check_job, mem_per_cpu)},
	{"mem-per-gpu", offsetof(struct check_job, mem_per_gpu)},
	{"exclusive", offsetof(struct check_job, exclusive)},
	{"oversubscribe", offsetof(struct check_job, oversubscribe)},
	{"partition", offsetof(struct check_job, partition)},
	{"array", offsetof(struct check_job, array)},
	{"time", offsetof(struct check_job, time)},
	{"signal", offsetof(struct check_job, signal)},
	{"requeue", offsetof(struct check_job, requeue)},
	{"open-mode", offsetof(struct check_job, open_mode)},
	{"export", offsetof(struct check_job, export)},
	{"output", offsetof(struct check_job, output)},
	{"error", offsetof(struct check_job, error)},
	{"gpu-bind", offsetof(struct check_job, gpu_bind)},
};

static const char *value_of(const struct script_use *use)
{
	return use ? use->value : NULL;
}

/* GPUs by options, each as it is asked for. */
struct asked {
	struct check_number gres, per_node, per_task, total, per_gpu;
};

static struct asked read_asked(struct check_model *model, struct check_job *job)
{
	struct spec_arena **arena = &model->arena;
	const char *tres = value_of(job->tres_per_task);
	struct asked asked = {
		.gres = read_gres(arena, value_of(job->gres), &job->gpu_type,
				  &job->gres_rest),
		.per_node =
			read_gpus(arena, value_of(job->gpus_per_node), &job->gpu_type),
		.per_task =
			read_gpus(arena, value_of(job->gpus_per_task), &job->gpu_type),
		.total = read_gpus(arena, value_of(job->gpus), &job->gpu_type),
		.per_gpu = read_count(value_of(job->ntasks_per_gpu)),
	};

	/* gres/gpu:1, gres/gpu=1, gres:gpu:1, with cpu=N beside it */
	if (tres && !asked.per_task.known)
		asked.per_task = read_gres(arena, tres, &job->gpu_type, NULL);
	return asked;
}

static void layout_nodes(struct check_job *job, const struct asked *asked)
{
	struct check_amount *nodes = &job->amount[CHECK_NODES];
	const struct check_number ntasks = read_count(value_of(job->ntasks));
	const struct check_number per_node = read_count(value_of(job->ntasks_per_node));

	if (job->nodes) {
		set(nodes, read_nodes(job->nodes->value), CHECK_BY_JOB, job->nodes);
		/* "can't run 1 processes on 2 nodes, setting nnodes to 1" */
		if (ntasks.known && nodes->number.known && ntasks.low >= 1 &&
		    ntasks.low < nodes->number.low)
			set(nodes, ntasks, CHECK_BY_SUM, job->ntasks);
		return;
	}
	if (ntasks.known && per_node.known && per_node.low > 0)
		set(nodes, fullest(ntasks, per_node), CHECK_BY_SUM, job->ntasks);
	else if (ntasks.known && ntasks.low > 0)
		set(nodes, between(1, ntasks.low), CHECK_BY_SUM, job->ntasks);
	else if (asked->total.known && asked->total.low > 1)
		set(nodes, between(1, asked->total.low), CHECK_BY_SUM, job->gpus);
	else
		set(nodes, exact(1), CHECK_BY_DEFAULT, NULL);
}

static void layout_tasks(struct check_job *job, const struct asked *asked)
{
	struct check_amount *amount = job->amount;
	struct check_amount *ntasks = &amount[CHECK_NTASKS];
	struct check_amount *per_node = &amount[CHECK_NTASKS_PER_NODE];
	const struct check_number nodes = amount[CHECK_NODES].number;
	const struct check_number given = read_count(value_of(job->ntasks));
	const struct check_number cap = read_count(value_of(job->ntasks_per_node));

	if (given.known) {
		set(ntasks, given, CHECK_BY_JOB, job->ntasks);
		set(per_node, fullest(given, nodes), CHECK_BY_SUM, job->ntasks);
		/* With --ntasks, --ntasks-per-node is but a limit (sbatch.1). */
		if (cap.known && per_node->number.known && cap.low > 0 &&
		    cap.low < per_node->number.high) {
			if (cap.low >= per_node->number.low)
				per_node->number.high = cap.low;
			per_node->use = job->ntasks_per_node;
		}
		/* Tasks may be dealt unevenly over nodes that have room. */
		if (per_node->number.known && nodes.known && nodes.high > 1 && !cap.known)
			per_node->number.high =
				given.low - nodes.low + 1 > per_node->number.low
					? given.low - nodes.low + 1
					: per_node->number.low;
		return;
	}
	if (cap.known) {
		set(per_node, cap, CHECK_BY_JOB, job->ntasks_per_node);
		set(ntasks, times(nodes, cap), CHECK_BY_SUM, job->ntasks_per_node);
	} else if (asked->per_gpu.known && (asked->per_node.known || asked->gres.known)) {
		const struct check_number gpus =
			asked->per_node.known ? asked->per_node : asked->gres;

		set(per_node, times(gpus, asked->per_gpu), CHECK_BY_SUM,
		    job->ntasks_per_gpu);
		set(ntasks, times(nodes, per_node->number), CHECK_BY_SUM,
		    job->ntasks_per_gpu);
	} else if (asked->per_gpu.known && asked->total.known) {
		set(ntasks, times(asked->total, asked->per_gpu), CHECK_BY_SUM,
		    job->ntasks_per_gpu);
		set(per_node, fullest(ntasks->number, nodes), CHECK_BY_SUM,
		    job->ntasks_per_gpu);
	} else if (asked->per_task.known && asked->per_task.low > 0 &&
		   asked->total.known) {
		set(ntasks, exact(asked->total.low / asked->per_task.low), CHECK_BY_SUM,
		    job->gpus_per_task);
		set(per_node, fullest(ntasks->number, nodes), CHECK_BY_SUM,
		    job->gpus_per_task);
	} else {
		set(per_node, exact(1), CHECK_BY_DEFAULT, NULL);
		set(ntasks, nodes, CHECK_BY_DEFAULT, job->nodes);
	}
}

static void layout_gpus(struct check_job *job, const struct asked *asked)
{
	struct check_amount *amount = job->amount;
	struct check_amount *per_node = &amount[CHECK_GPUS_PER_NODE];
	struct check_amount *total = &amount[CHECK_GPUS];
	const struct check_number nodes = amount[CHECK_NODES].number;

	if (asked->gres.known) {
		set(per_node, asked->gres, CHECK_BY_JOB, job->gres);
		job->gpus_conflict =
			asked->per_node.known && asked->per_node.low != asked->gres.low;
	} else if (asked->per_node.known) {
		set(per_node, asked->per_node, CHECK_BY_JOB, job->gpus_per_node);
	} else if (asked->per_task.known) {
		set(per_node,
		    times(asked->per_task, amount[CHECK_NTASKS_PER_NODE].number),
		    CHECK_BY_SUM,
		    job->gpus_per_task ? job->gpus_per_task : job->tres_per_task);
	} else if (asked->total.known) {
		/* -N2 --gpus=4 gives 3 + 1: each node one, the rest as it comes. */
		struct check_number most = fullest(asked->total, nodes);

		if (most.known)
			most.high = asked->total.high - nodes.low + 1;
		set(per_node, most, CHECK_BY_SUM, job->gpus);
	} else if (asked->per_gpu.known && asked->per_gpu.low > 0 && job->ntasks) {
		set(per_node,
		    fullest(amount[CHECK_NTASKS_PER_NODE].number, asked->per_gpu),
		    CHECK_BY_SUM, job->ntasks_per_gpu);
	} else if (job->gpus_per_socket || job->whole) {
		set(per_node, unknown, CHECK_NOBODY, NULL);
	} else {
		set(per_node, exact(0), CHECK_BY_DEFAULT, NULL);
	}
	if (asked->total.known)
		set(total, asked->total, CHECK_BY_JOB, job->gpus);
	else
		set(total, times(nodes, per_node->number), per_node->origin,
		    per_node->use);
}

static void layout_visible(struct check_job *job, const struct asked *asked)
{
	struct check_amount *visible = &job->amount[CHECK_VISIBLE];
	struct check_amount *per_task = &job->amount[CHECK_GPUS_PER_TASK];

	*visible = job->amount[CHECK_GPUS_PER_NODE];
	if (asked->per_task.known)
		set(per_task, asked->per_task, CHECK_BY_JOB,
		    job->gpus_per_task ? job->gpus_per_task : job->tres_per_task);
	else if (asked->per_gpu.known)
		set(per_task, exact(1), CHECK_BY_JOB, job->ntasks_per_gpu);
}

static void layout_cpus(struct check_job *job)
{
	struct check_amount *cpus = &job->amount[CHECK_CPUS_PER_TASK];
	const struct check_number per_task = read_count(value_of(job->cpus_per_task));
	const struct check_number per_gpu = read_count(value_of(job->cpus_per_gpu));
	const char *tres = value_of(job->tres_per_task);
	const struct check_number gpus = job->amount[CHECK_GPUS_PER_NODE].number;
	const struct check_number tasks = job->amount[CHECK_NTASKS_PER_NODE].number;

	if (per_task.known) {
		set(cpus, per_task, CHECK_BY_JOB, job->cpus_per_task);
	} else if (tres && strncmp(tres, "cpu", 3) == 0) {
		set(cpus, unknown, CHECK_NOBODY, NULL);
	} else if (per_gpu.known && check_exact(&gpus) && check_exact(&tasks) &&
		   tasks.low > 0) {
		set(cpus, exact(per_gpu.low * gpus.low / tasks.low), CHECK_BY_SUM,
		    job->cpus_per_gpu);
	} else if (job->cpus_per_gpu || job->whole) {
		set(cpus, unknown, CHECK_NOBODY, NULL);
	} else {
		set(cpus, exact(1), CHECK_BY_DEFAULT, NULL);
	}
}

int check_layout_job(struct check_model *model)
{
	const struct script_header *header = &model->header;

	model->jobs =
		spec_arena_alloc(&model->arena, header->groups * sizeof(*model->jobs));
	if (!model->jobs)
		return -ENOMEM;
	for (uint16_t group = 0; group < header->groups; group++) {
		struct check_job *job = &model->jobs[model->jobs_count++];
		struct asked asked;

		job->group = group;
		for (size_t i = 0; i < sizeof(job_uses) / sizeof(*job_uses); i++)
			*(const struct script_use **)((char *)job + job_uses[i].offset) =
				script_header_find(header, group, job_uses[i].name);
		/* Of the two the one said last (22.05; later versions refuse both). */
		job->whole = job->exclusive && !job->exclusive->value;
		asked = read_asked(model, job);
		layout_nodes(job, &asked);
		layout_tasks(job, &asked);
		layout_gpus(job, &asked);
		layout_visible(job, &asked);
		layout_cpus(job);
	}
	return 0;
}

/* ---- steps ---- */

/* The number of a use of STEP, whose value may have expansions. */
static struct check_number use_number(const struct check_follow *follow,
				      const struct check_step *step,
				      const struct script_use *use)
{
	const struct check_value *word;
	struct check_value whole;
	const char *at;

	if (!use || !use->value)
		return unknown;
	word = &step->command->words[use->word];
	if (use->separate) {
		word = &step->command->words[use->word + 1];
		return check_value_number(follow->model, word);
	}
	at = strstr(word->text, use->value);
	if (!at || word->constant)
		return read_count(use->value);
	whole = check_value_part((struct check_follow *)follow, word,
				 (size_t)(at - word->text), strlen(use->value));
	return check_value_number(follow->model, &whole);
}

static struct check_number lowest(struct check_number a, struct check_number b)
{
	if (!a.known)
		return b;
	if (!b.known)
		return a;
	return between(a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high);
}

/* What srun takes for -n when nothing is said: SLURM_NTASKS, which the batch shell has
 * only where the header gave Slurm a number of tasks. */
static struct check_amount inherited_tasks(const struct check_follow *follow,
					   const struct check_step *step)
{
	const struct check_job *job = step->job;
	const struct check_assignment *variable = step->command->sees[CHECK_SLURM_NTASKS];
	struct check_amount amount = {0};

	if (variable && !variable->unset) {
		set(&amount, check_value_number(follow->model, &variable->value),
		    CHECK_BY_VARIABLE, NULL);
		amount.range = variable->range;
		return amount;
	}
	if (!variable && job->amount[CHECK_NTASKS].origin != CHECK_BY_DEFAULT)
		return job->amount[CHECK_NTASKS];
	return amount;
}

static void layout_step_tasks(const struct check_follow *follow, struct check_step *step)
{
	const script_slurm slurm = follow->model->slurm;
	const struct check_job *job = step->job;
	const struct script_use *nodes_use = check_step_find(step, "nodes");
	const struct script_use *ntasks_use = check_step_find(step, "ntasks");
	struct check_amount *nodes = &step->amount[CHECK_NODES];
	struct check_amount *ntasks = &step->amount[CHECK_NTASKS];
	struct check_amount *per_node = &step->amount[CHECK_NTASKS_PER_NODE];
	const struct check_amount inherited = inherited_tasks(follow, step);
	const struct check_number cap = use_number(follow, step, step->ntasks_per_node);
	const bool said = ntasks_use != NULL;

	*nodes = job->amount[CHECK_NODES];
	if (nodes_use) {
		struct check_number number = use_number(follow, step, nodes_use);

		if (!number.known)
			number = read_nodes(nodes_use->value);
		set(nodes, number, CHECK_BY_STEP, nodes_use);
	}
	if (said) {
		set(ntasks, use_number(follow, step, ntasks_use), CHECK_BY_STEP,
		    ntasks_use);
	} else if (nodes_use && (!slurm || slurm >= 2311)) {
		/* 22.05 keeps SLURM_NTASKS with -N; 24.11 takes the job's tasks per node
		 * for these nodes, or the step's. */
		const struct check_number each =
			cap.known ? cap : job->amount[CHECK_NTASKS_PER_NODE].number;

		set(ntasks, times(nodes->number, each), CHECK_BY_SUM, nodes_use);
		if (!slurm && inherited.number.known && ntasks->number.known &&
		    inherited.number.low != ntasks->number.low)
			set(ntasks, lowest(inherited.number, ntasks->number),
			    CHECK_BY_SUM, nodes_use);
	} else if (inherited.origin != CHECK_NOBODY) {
		*ntasks = inherited;
	} else if (job->whole && job->cpus_per_task) {
		/* As many as fit. */
		set(ntasks, unknown, CHECK_NOBODY, NULL);
	} else if (cap.known) {
		set(ntasks, times(nodes->number, cap), CHECK_BY_STEP,
		    step->ntasks_per_node);
	} else {
		set(ntasks, nodes->number, CHECK_BY_DEFAULT, nodes->use);
	}
	/* Fewer tasks than nodes: the step has so many nodes. */
	if (ntasks->number.known && nodes->number.known &&
	    ntasks->number.high < nodes->number.high)
		set(nodes, lowest(nodes->number, ntasks->number), CHECK_BY_SUM,
		    ntasks->use);
	if (!said && ntasks->origin != CHECK_BY_STEP && !nodes_use &&
	    job->amount[CHECK_NTASKS].origin == ntasks->origin &&
	    ntasks->origin != CHECK_BY_VARIABLE) {
		*per_node = job->amount[CHECK_NTASKS_PER_NODE];
		if (ntasks->use && ntasks->use == step->ntasks_per_node)
			set(per_node, cap, CHECK_BY_STEP, step->ntasks_per_node);
		return;
	}
	set(per_node, fullest(ntasks->number, nodes->number), CHECK_BY_SUM, ntasks->use);
	if (cap.known && per_node->number.known && cap.low >= per_node->number.low &&
	    (said || nodes_use))
		per_node->number.high =
			cap.low < per_node->number.high ? cap.low : per_node->number.high;
}

static void layout_step_cpus(const struct check_follow *follow, struct check_step *step)
{
	const script_slurm slurm = follow->model->slurm;
	const struct script_use *use = check_step_find(step, "cpus-per-task");
	const struct check_assignment *variable =
		step->command->sees[CHECK_SRUN_CPUS_PER_TASK];
	const struct check_amount *job = &step->job->amount[CHECK_CPUS_PER_TASK];
	struct check_amount *cpus = &step->amount[CHECK_CPUS_PER_TASK];

	step->inherits_cpus = slurm && (slurm < CPUS_LOST || slurm >= CPUS_BACK);
	if (use) {
		set(cpus, use_number(follow, step, use), CHECK_BY_STEP, use);
	} else if (variable && !variable->unset &&
		   (!slurm || (slurm >= CPUS_LOST && slurm < CPUS_BACK))) {
		set(cpus, check_value_number(follow->model, &variable->value),
		    CHECK_BY_VARIABLE, NULL);
		cpus->range = variable->range;
	} else if (step->inherits_cpus || job->origin == CHECK_BY_DEFAULT) {
		*cpus = *job;
	} else if (slurm) {
		set(cpus, exact(1), CHECK_BY_DEFAULT, NULL);
	} else if (job->number.known) {
		set(cpus, between(1, job->number.high), CHECK_BY_JOB, job->use);
	}
}

/* --gpu-bind=WORD[:N]: how many GPUs a task sees; unknown where it depends. */
static struct check_number bound_gpus(const char *bind, struct check_number all)
{
	const char *colon;

	if (strncmp(bind, "verbose,", 8) == 0)
		bind += 8;
	colon = strchr(bind, ':');
	if (strncmp(bind, "none", 4) == 0)
		return all;
	if (strncmp(bind, "single", 6) == 0)
		return exact(1);
	if (strncmp(bind, "per_task:", 9) == 0)
		return read_count(colon + 1);
	if (strncmp(bind, "map_gpu:", 8) == 0)
		return exact(1);
	return unknown;
}

static void layout_step_gpus(const struct check_follow *follow, struct check_step *step)
{
	struct spec_arena **arena = &follow->model->arena;
	const struct check_job *job = step->job;
	const struct script_use *ntasks_per_gpu = check_step_find(step, "ntasks-per-gpu");
	const struct script_use *bind = step->gpu_bind ? step->gpu_bind : job->gpu_bind;
	struct check_amount *per_node = &step->amount[CHECK_GPUS_PER_NODE];
	struct check_amount *per_task = &step->amount[CHECK_GPUS_PER_TASK];
	struct check_amount *visible = &step->amount[CHECK_VISIBLE];
	const struct check_number nodes = step->amount[CHECK_NODES].number;
	const char *type = NULL;
	struct check_number number;

	*per_node = job->amount[CHECK_GPUS_PER_NODE];
	*per_task = job->amount[CHECK_GPUS_PER_TASK];
	step->amount[CHECK_GPUS] = job->amount[CHECK_GPUS];
	if (step->gres) {
		number = strcmp(step->gres->value ? step->gres->value : "", "none") == 0
				 ? exact(0)
				 : read_gres(arena, step->gres->value, &type, NULL);
		set(per_node, number, CHECK_BY_STEP, step->gres);
	} else if (step->gpus_per_node) {
		set(per_node, read_gpus(arena, step->gpus_per_node->value, &type),
		    CHECK_BY_STEP, step->gpus_per_node);
	} else if (step->gpus) {
		number = read_gpus(arena, step->gpus->value, &type);
		set(&step->amount[CHECK_GPUS], number, CHECK_BY_STEP, step->gpus);
		number = fullest(number, nodes);
		set(per_node, number, CHECK_BY_STEP, step->gpus);
	}
	if (step->gpus_per_task) {
		set(per_task, read_gpus(arena, step->gpus_per_task->value, &type),
		    CHECK_BY_STEP, step->gpus_per_task);
		if (per_node->origin != CHECK_BY_STEP && !job->gpus_per_node &&
		    !job->gres)
			set(per_node,
			    times(per_task->number,
				  step->amount[CHECK_NTASKS_PER_NODE].number),
			    CHECK_BY_STEP, step->gpus_per_task);
	} else if (ntasks_per_gpu) {
		set(per_task, exact(1), CHECK_BY_STEP, ntasks_per_gpu);
	}
	if (!step->gpus)
		set(&step->amount[CHECK_GPUS], times(nodes, per_node->number),
		    per_node->origin, per_node->use);
	*visible = *per_node;
	if (per_task->number.known) {
		*visible = *per_task;
		step->narrowed = true;
	}
	if (bind && bind->value) {
		number = bound_gpus(bind->value, per_node->number);
		step->unbound = strstr(bind->value, "none") != NULL;
		step->narrowed = !step->unbound;
		set(visible, number,
		    bind == step->gpu_bind ? CHECK_BY_STEP : CHECK_BY_JOB, bind);
	}
}

/* mpirun of the batch shell: a rank for each task of the job, unless it is told. */
static void layout_mpirun(struct check_step *step)
{
	const struct check_launch *launch = step->command->launch;
	const struct check_setting *world =
		launch ? &launch->setting[CHECK_KEY_WORLD] : NULL;

	for (size_t i = 0; i < CHECK_QUANTITIES; i++)
		step->amount[i] = step->job->amount[i];
	if (world && world->name) {
		const struct check_number nodes = step->amount[CHECK_NODES].number;
		const bool same =
			check_exact(&world->number) &&
			check_exact(&step->amount[CHECK_NTASKS].number) &&
			world->number.low == step->amount[CHECK_NTASKS].number.low;

		set(&step->amount[CHECK_NTASKS], world->number, CHECK_BY_STEP, NULL);
		step->amount[CHECK_NTASKS].range = world->range;
		if (!same)
			set(&step->amount[CHECK_NTASKS_PER_NODE],
			    fullest(world->number, nodes), CHECK_BY_SUM, NULL);
	}
}

void check_layout_step(struct check_follow *follow, struct check_step *step)
{
	if (step->kind == CHECK_STEP_MPIRUN) {
		layout_mpirun(step);
		return;
	}
	layout_step_tasks(follow, step);
	layout_step_cpus(follow, step);
	layout_step_gpus(follow, step);
	/* $SRUN_ARGS may say anything: only what stands there itself is sure. */
	for (size_t i = 0; i < CHECK_QUANTITIES && step->opaque; i++) {
		if (step->amount[i].origin != CHECK_BY_STEP)
			step->amount[i] = (struct check_amount){0};
	}
}

/* ---- variables ---- */

static struct check_meaning number_meaning(struct check_number number)
{
	return (struct check_meaning){
		.is = number.known ? CHECK_IS_NUMBER : CHECK_IS_SET,
		.number = number,
	};
}

static struct check_meaning unset_meaning(void)
{
	return (struct check_meaning){.is = CHECK_IS_UNSET};
}

static struct check_meaning as_typed(const struct script_use *use)
{
	struct check_meaning meaning = {.is = CHECK_IS_UNSET};

	if (!use)
		return meaning;
	meaning.is = CHECK_IS_TEXT;
	meaning.text = use->value ? use->value : "";
	meaning.number = read_count(use->value);
	return meaning;
}

/* What is asked of a number: its place in the step, and what it is in the batch shell. */
static struct check_meaning index_meaning(enum check_where where,
					  const struct check_step *step,
					  enum check_quantity among, unsigned int varies)
{
	struct check_number number = exact(0);

	/* The batch shell is task 0 on node 0 of a step of its own. */
	if (where == CHECK_STEP && step) {
		const struct check_number count = step->amount[among].number;

		number = between(0, count.known && count.high > 0 ? count.high - 1
								  : INT32_MAX);
		if (number.high > 0)
			number.varies = varies;
	}
	return number_meaning(number);
}

/* --array=0-7:2%4: from the least to the greatest index. */
static struct check_number array_bounds(const struct script_use *use)
{
	struct check_number bounds = {.varies = CHECK_PER_JOB};
	const char *at = value_of(use);

	while (at && *at && *at != '%') {
		char *end;
		const long value = strtol(at, &end, 10);

		if (end == at) {
			at++;
			continue;
		}
		if (at[-(at != use->value)] != ':') {
			if (!bounds.known)
				bounds.low = bounds.high = value;
			bounds.known = true;
			bounds.low = value < bounds.low ? value : bounds.low;
			bounds.high = value > bounds.high ? value : bounds.high;
		}
		at = *end == '-' ? end + 1 : end;
	}
	return bounds;
}

enum source {
	JOB_ID,
	NNODES,
	STEP_NNODES,
	NTASKS,
	STEP_NTASKS,
	NTASKS_PER_NODE,
	PROCID,
	LOCALID,
	NODEID,
	GPUS_PER_NODE,
	GPUS,
	GPUS_PER_TASK,
	GPUS_ON_NODE,
	CPUS_PER_TASK,
	CPUS_PER_GPU,
	CPUS_ON_NODE,
	ARRAY_TASK,
	NODE_NAME,
	ALWAYS,
	IN_STEP,
	WITH_ARRAY,
};

static const struct {
	const char *name;
	enum source source;
} slurm_variables[] = {
	{"SLURM_JOB_ID", JOB_ID},
	{"SLURM_JOBID", JOB_ID},
	{"SLURM_ARRAY_JOB_ID", WITH_ARRAY},
	{"SLURM_ARRAY_TASK_ID", ARRAY_TASK},
	{"SLURM_ARRAY_TASK_COUNT", WITH_ARRAY},
	{"SLURM_ARRAY_TASK_MIN", WITH_ARRAY},
	{"SLURM_ARRAY_TASK_MAX", WITH_ARRAY},
	{"SLURM_NNODES", NNODES},
	{"SLURM_JOB_NUM_NODES", NNODES},
	{"SLURM_STEP_NUM_NODES", STEP_NNODES},
	{"SLURM_NTASKS", NTASKS},
	{"SLURM_NPROCS", NTASKS},
	{"SLURM_STEP_NUM_TASKS", STEP_NTASKS},
	{"SLURM_NTASKS_PER_NODE", NTASKS_PER_NODE},
	{"SLURM_PROCID", PROCID},
	{"SLURM_LOCALID", LOCALID},
	{"SLURM_NODEID", NODEID},
	{"SLURM_GPUS_PER_NODE", GPUS_PER_NODE},
	{"SLURM_GPUS", GPUS},
	{"SLURM_GPUS_PER_TASK", GPUS_PER_TASK},
	{"SLURM_GPUS_ON_NODE", GPUS_ON_NODE},
	{"SLURM_CPUS_PER_TASK", CPUS_PER_TASK},
	{"SLURM_CPUS_PER_GPU", CPUS_PER_GPU},
	{"SLURM_CPUS_ON_NODE", CPUS_ON_NODE},
	{"SLURM_JOB_NODELIST", ALWAYS},
	{"SLURM_NODELIST", ALWAYS},
	{"SLURM_TASKS_PER_NODE", ALWAYS},
	{"SLURM_JOB_NAME", ALWAYS},
	{"SLURM_JOB_PARTITION", ALWAYS},
	{"SLURM_JOB_USER", ALWAYS},
	{"SLURM_JOB_CPUS_PER_NODE", ALWAYS},
	{"SLURM_CLUSTER_NAME", ALWAYS},
	{"SLURM_SUBMIT_DIR", ALWAYS},
	{"SLURM_SUBMIT_HOST", ALWAYS},
	{"SLURMD_NODENAME", NODE_NAME},
	{"SLURM_TOPOLOGY_ADDR", NODE_NAME},
	{"SLURM_STEP_NODELIST", IN_STEP},
	{"SLURM_STEP_TASKS_PER_NODE", IN_STEP},
	{"SLURM_STEP_LAUNCHER_PORT", IN_STEP},
	{"SLURM_STEP_GPUS", IN_STEP},
	{"SLURM_STEP_ID", IN_STEP},
	{"SLURM_STEPID", IN_STEP},
	{"SLURM_SRUN_COMM_HOST", IN_STEP},
	{"SLURM_SRUN_COMM_PORT", IN_STEP},
	{"SLURM_DISTRIBUTION", IN_STEP},
	{"SLURM_LAUNCH_NODE_IPADDR", IN_STEP},
};

/* In a step always; in the batch shell where the header gave Slurm a number of tasks. */
static struct check_meaning tasks_meaning(const struct check_job *job,
					  const struct check_step *step, bool in_step)
{
	if (in_step)
		return number_meaning(step->amount[CHECK_NTASKS].number);
	return job->amount[CHECK_NTASKS].origin == CHECK_BY_DEFAULT
		       ? unset_meaning()
		       : number_meaning(job->amount[CHECK_NTASKS].number);
}

static struct check_meaning meaning_of(const struct check_model *model,
				       enum source source, enum check_where where,
				       const struct check_step *step)
{
	const struct check_job *job = step ? step->job : &model->jobs[0];
	const struct check_amount *amount = job->amount;
	const bool in_step = where == CHECK_STEP && step;
	struct check_meaning set_only = {.is = CHECK_IS_SET};

	switch (source) {
	case JOB_ID:
		return number_meaning(
			(struct check_number){true, 1, INT32_MAX, CHECK_PER_JOB});
	case NNODES:
		/* Of the step, inside of one, as srun sets it. */
		return number_meaning(in_step ? step->amount[CHECK_NODES].number
					      : amount[CHECK_NODES].number);
	case STEP_NNODES:
		return in_step ? number_meaning(step->amount[CHECK_NODES].number)
			       : unset_meaning();
	case NTASKS:
		return tasks_meaning(job, step, in_step);
	case STEP_NTASKS:
		return in_step ? number_meaning(step->amount[CHECK_NTASKS].number)
			       : unset_meaning();
	case NTASKS_PER_NODE:
		return as_typed(job->ntasks_per_node);
	case PROCID:
		return index_meaning(where, step, CHECK_NTASKS, CHECK_PER_TASK);
	case LOCALID:
		return index_meaning(where, step, CHECK_NTASKS_PER_NODE, CHECK_PER_TASK);
	case NODEID:
		return index_meaning(where, step, CHECK_NODES, CHECK_PER_NODE);
	case GPUS_PER_NODE:
		return as_typed(in_step && step->gpus_per_node ? step->gpus_per_node
							       : job->gpus_per_node);
	case GPUS:
		return as_typed(in_step && step->gpus ? step->gpus : job->gpus);
	case GPUS_PER_TASK:
		/* Since 24.11 it is SLURM_TRES_PER_TASK instead. */
		return model->slurm >= 2411 ? unset_meaning()
					    : as_typed(job->gpus_per_task);
	case GPUS_ON_NODE: {
		const struct check_number number =
			in_step ? step->amount[CHECK_GPUS_PER_NODE].number
				: amount[CHECK_GPUS_PER_NODE].number;

		if (check_exact(&number) && number.low == 0)
			return unset_meaning();
		/* With --exclusive the batch shell has all GPUs of the node. */
		return number_meaning(job->whole && !in_step ? unknown : number);
	}
	case CPUS_PER_TASK:
		return as_typed(job->cpus_per_task);
	case CPUS_PER_GPU:
		return as_typed(job->cpus_per_gpu);
	case CPUS_ON_NODE:
		return set_only;
	case ARRAY_TASK:
		return job->array ? number_meaning(array_bounds(job->array))
				  : unset_meaning();
	case WITH_ARRAY:
		set_only.number.varies = CHECK_PER_JOB;
		return job->array ? set_only : unset_meaning();
	case IN_STEP:
		return in_step ? set_only : unset_meaning();
	case NODE_NAME:
		if (in_step)
			set_only.number.varies = CHECK_PER_NODE;
		return set_only;
	case ALWAYS:
		break;
	}
	return set_only;
}

struct check_meaning check_slurm_variable(const struct check_model *model,
					  const char *name, enum check_where where,
					  const struct check_step *step)
{
	if (strncmp(name, "SLURM", 5) != 0) {
		const struct check_meaning some = {
			.is = strcmp(name, "CUDA_VISIBLE_DEVICES") == 0
				      ? CHECK_IS_SET
				      : CHECK_IS_UNKNOWN};

		return some;
	}
	for (size_t i = 0; i < sizeof(slurm_variables) / sizeof(*slurm_variables); i++) {
		if (strcmp(slurm_variables[i].name, name) == 0)
			return meaning_of(model, slurm_variables[i].source, where, step);
	}
	return (struct check_meaning){.is = CHECK_IS_UNKNOWN};
}
