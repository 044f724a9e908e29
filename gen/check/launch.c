/* SPDX-License-Identifier: MIT */
/*
 * Launchers: what each was told, by its options and by the variables that it reads, and
 * how many workers come of it. See model.h.
 */
#include "gen/check/follow.h"

#include "gen/spec/arena.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOOL(name) (1u << CHECK_##name)
#define TORCH      (TOOL(TORCHRUN) | TOOL(TORCH_LAUNCH))
#define PROGRAMS   (TOOL(PYTHON) | TOOL(PROGRAM))

/* What a setting's number is. */
enum form {
	NUMBER,
	RANGE,   /* MIN:MAX nodes of torchrun */
	WORKERS, /* a number, or gpu, auto, cpu */
	PORT_IN, /* HOST:PORT, tcp://HOST:PORT: the port */
	TEXT,
	FLAG,
	PPR, /* ppr:N:node */
};

/* Options; in names, - and _ are the same. A program's are looked for behind it. */
static const struct {
	unsigned int tools;
	const char *name;
	enum check_key key;
	enum form form;
} options[] = {
	{TORCH, "--nnodes", CHECK_KEY_NNODES, RANGE},
	{TORCH, "--nproc_per_node", CHECK_KEY_NPROC, WORKERS},
	{TORCH, "--node_rank", CHECK_KEY_NODE_RANK, NUMBER},
	{TORCH, "--master_addr", CHECK_KEY_ADDRESS, TEXT},
	{TORCH, "--master_port", CHECK_KEY_PORT, NUMBER},
	{TORCH, "--rdzv_backend", CHECK_KEY_BACKEND, TEXT},
	{TORCH, "--rdzv_endpoint", CHECK_KEY_ENDPOINT, PORT_IN},
	{TORCH, "--rdzv_id", CHECK_KEY_RUN_ID, TEXT},
	{TORCH, "--standalone", CHECK_KEY_STANDALONE, FLAG},
	/* Of `fabric run`. */
	{TOOL(TORCHRUN), "--devices", CHECK_KEY_NPROC, WORKERS},
	{TOOL(TORCHRUN), "--num_nodes", CHECK_KEY_NNODES, NUMBER},
	{TOOL(TORCHRUN), "--main_address", CHECK_KEY_ADDRESS, TEXT},
	{TOOL(TORCHRUN), "--main_port", CHECK_KEY_PORT, NUMBER},
	{TOOL(ACCELERATE), "--num_machines", CHECK_KEY_NNODES, NUMBER},
	{TOOL(ACCELERATE), "--num_processes", CHECK_KEY_WORLD, NUMBER},
	{TOOL(ACCELERATE), "--machine_rank", CHECK_KEY_NODE_RANK, NUMBER},
	{TOOL(ACCELERATE), "--main_process_ip", CHECK_KEY_ADDRESS, TEXT},
	{TOOL(ACCELERATE), "--main_process_port", CHECK_KEY_PORT, NUMBER},
	{TOOL(ACCELERATE), "--rdzv_backend", CHECK_KEY_BACKEND, TEXT},
	{TOOL(ACCELERATE), "--config_file", CHECK_KEY_CONFIG, TEXT},
	{TOOL(ACCELERATE), "--deepspeed_hostfile", CHECK_KEY_HOSTFILE, TEXT},
	{TOOL(DEEPSPEED), "--num_nodes", CHECK_KEY_NNODES, NUMBER},
	{TOOL(DEEPSPEED), "--num_gpus", CHECK_KEY_NPROC, WORKERS},
	{TOOL(DEEPSPEED), "--node_rank", CHECK_KEY_NODE_RANK, NUMBER},
	{TOOL(DEEPSPEED), "--master_addr", CHECK_KEY_ADDRESS, TEXT},
	{TOOL(DEEPSPEED), "--master_port", CHECK_KEY_PORT, NUMBER},
	{TOOL(DEEPSPEED), "--hostfile", CHECK_KEY_HOSTFILE, TEXT},
	{TOOL(DEEPSPEED), "-H", CHECK_KEY_HOSTFILE, TEXT},
	{TOOL(DEEPSPEED), "--launcher", CHECK_KEY_LAUNCHER, TEXT},
	{TOOL(COLOSSALAI), "--nproc_per_node", CHECK_KEY_NPROC, WORKERS},
	{TOOL(COLOSSALAI), "--num_nodes", CHECK_KEY_NNODES, NUMBER},
	{TOOL(COLOSSALAI), "--master_addr", CHECK_KEY_ADDRESS, TEXT},
	{TOOL(COLOSSALAI), "--master_port", CHECK_KEY_PORT, NUMBER},
	{TOOL(COLOSSALAI), "--hostfile", CHECK_KEY_HOSTFILE, TEXT},
	{TOOL(COMPOSER), "--nproc", CHECK_KEY_NPROC, WORKERS},
	{TOOL(COMPOSER), "-n", CHECK_KEY_NPROC, WORKERS},
	{TOOL(COMPOSER), "--world_size", CHECK_KEY_WORLD, NUMBER},
	{TOOL(COMPOSER), "--node_rank", CHECK_KEY_NODE_RANK, NUMBER},
	{TOOL(COMPOSER), "--master_addr", CHECK_KEY_ADDRESS, TEXT},
	{TOOL(COMPOSER), "--master_port", CHECK_KEY_PORT, NUMBER},
	{TOOL(MPIRUN) | TOOL(HOROVODRUN), "-np", CHECK_KEY_WORLD, NUMBER},
	{TOOL(MPIRUN), "--np", CHECK_KEY_WORLD, NUMBER},
	{TOOL(MPIRUN), "-n", CHECK_KEY_WORLD, NUMBER},
	{TOOL(MPIRUN), "--n", CHECK_KEY_WORLD, NUMBER},
	{TOOL(MPIRUN), "-c", CHECK_KEY_WORLD, NUMBER},
	{TOOL(HOROVODRUN), "--num-proc", CHECK_KEY_WORLD, NUMBER},
	{TOOL(MPIRUN), "-ppn", CHECK_KEY_PER_NODE, NUMBER},
	{TOOL(MPIRUN), "-perhost", CHECK_KEY_PER_NODE, NUMBER},
	{TOOL(MPIRUN), "-N", CHECK_KEY_PER_NODE, NUMBER},
	{TOOL(MPIRUN), "-npernode", CHECK_KEY_PER_NODE, NUMBER},
	{TOOL(MPIRUN), "--npernode", CHECK_KEY_PER_NODE, NUMBER},
	{TOOL(MPIRUN), "--map-by", CHECK_KEY_PER_NODE, PPR},
	{TOOL(MPIRUN), "-map-by", CHECK_KEY_PER_NODE, PPR},
	{TOOL(MPIRUN) | TOOL(HOROVODRUN), "--hostfile", CHECK_KEY_HOSTFILE, TEXT},
	{TOOL(MPIRUN) | TOOL(HOROVODRUN), "-hostfile", CHECK_KEY_HOSTFILE, TEXT},
	{TOOL(MPIRUN), "-machinefile", CHECK_KEY_HOSTFILE, TEXT},
	{TOOL(MPIRUN), "-f", CHECK_KEY_HOSTFILE, TEXT},
	{TOOL(MPIRUN), "--host", CHECK_KEY_HOSTFILE, TEXT},
	{TOOL(MPIRUN) | TOOL(HOROVODRUN), "-H", CHECK_KEY_HOSTFILE, TEXT},

	/* Lightning's command line and its usual names, with a section in front, too. */
	{PROGRAMS, "--devices", CHECK_KEY_DEVICES, WORKERS},
	{PROGRAMS, "--num_devices", CHECK_KEY_DEVICES, WORKERS},
	{PROGRAMS, "--trainer.devices", CHECK_KEY_DEVICES, WORKERS},
	{PROGRAMS, "trainer.devices", CHECK_KEY_DEVICES, WORKERS},
	{PROGRAMS, "--gpus", CHECK_KEY_DEVICES, WORKERS},
	{PROGRAMS, "--trainer.gpus", CHECK_KEY_DEVICES, WORKERS},
	{PROGRAMS, "trainer.gpus", CHECK_KEY_DEVICES, WORKERS},
	{PROGRAMS, "--gpus_per_node", CHECK_KEY_DEVICES, WORKERS},
	{PROGRAMS, "--num_nodes", CHECK_KEY_NUM_NODES, NUMBER},
	{PROGRAMS, "--nnodes", CHECK_KEY_NUM_NODES, NUMBER},
	{PROGRAMS, "--trainer.num_nodes", CHECK_KEY_NUM_NODES, NUMBER},
	{PROGRAMS, "trainer.num_nodes", CHECK_KEY_NUM_NODES, NUMBER},
	{PROGRAMS, "--num_machines", CHECK_KEY_NUM_NODES, NUMBER},
	{PROGRAMS, "--strategy", CHECK_KEY_STRATEGY, TEXT},
	{PROGRAMS, "--trainer.strategy", CHECK_KEY_STRATEGY, TEXT},
	{PROGRAMS, "trainer.strategy", CHECK_KEY_STRATEGY, TEXT},
	{PROGRAMS, "--launcher", CHECK_KEY_LAUNCHER, TEXT},
	/* detectron2, and those that call torch.multiprocessing.spawn() themselves */
	{PROGRAMS, "--num_gpus", CHECK_KEY_SPAWN, WORKERS},
	{PROGRAMS, "--ngpus", CHECK_KEY_SPAWN, WORKERS},
	{PROGRAMS, "--ngpu", CHECK_KEY_SPAWN, WORKERS},
	{PROGRAMS, "--ngpus_per_node", CHECK_KEY_SPAWN, WORKERS},
	{PROGRAMS, "--num_gpus_per_node", CHECK_KEY_SPAWN, WORKERS},
	{PROGRAMS, "--nproc", CHECK_KEY_SPAWN, WORKERS},
	{PROGRAMS, "--nprocs", CHECK_KEY_SPAWN, WORKERS},
	{PROGRAMS, "--nproc_per_node", CHECK_KEY_SPAWN, WORKERS},
	{PROGRAMS, "--machine_rank", CHECK_KEY_NODE_RANK, NUMBER},
	{PROGRAMS, "--node_rank", CHECK_KEY_NODE_RANK, NUMBER},
	{PROGRAMS, "--dist_url", CHECK_KEY_ENDPOINT, PORT_IN},
	{PROGRAMS, "--init_method", CHECK_KEY_ENDPOINT, PORT_IN},
	{PROGRAMS, "--distributed_init_method", CHECK_KEY_ENDPOINT, PORT_IN},
	{PROGRAMS, "--coordinator_address", CHECK_KEY_ENDPOINT, PORT_IN},
	{PROGRAMS, "--world_size", CHECK_KEY_WORLD, NUMBER},
	{PROGRAMS, "--distributed_world_size", CHECK_KEY_WORLD, NUMBER},
	{PROGRAMS, "--num_processes", CHECK_KEY_WORLD, NUMBER},
	{PROGRAMS, "--rank", CHECK_KEY_RANK, NUMBER},
	{PROGRAMS, "--distributed_rank", CHECK_KEY_RANK, NUMBER},
	{PROGRAMS, "--process_id", CHECK_KEY_RANK, NUMBER},
	{PROGRAMS, "--local_rank", CHECK_KEY_LOCAL_RANK, NUMBER},
	{PROGRAMS, "--device", CHECK_KEY_DEVICE, TEXT},
	{PROGRAMS, "--device_id", CHECK_KEY_DEVICE, TEXT},
	{PROGRAMS, "--gpu", CHECK_KEY_DEVICE, TEXT},
	{PROGRAMS, "--gpu_id", CHECK_KEY_DEVICE, TEXT},
	{PROGRAMS, "--master_addr", CHECK_KEY_ADDRESS, TEXT},
	{PROGRAMS, "--master_port", CHECK_KEY_PORT, NUMBER},
	{PROGRAMS, "--distributed_port", CHECK_KEY_PORT, NUMBER},
};

struct variable {
	const char *name;
	enum check_key key;
	enum form form;
};

/* PET_<DEST> is the default of an option of torchrun's (torch/distributed/run.py). */
static const struct variable pet[] = {
	{"PET_NNODES", CHECK_KEY_NNODES, RANGE},
	{"PET_NPROC_PER_NODE", CHECK_KEY_NPROC, WORKERS},
	{"PET_NODE_RANK", CHECK_KEY_NODE_RANK, NUMBER},
	{"PET_MASTER_ADDR", CHECK_KEY_ADDRESS, TEXT},
	{"PET_MASTER_PORT", CHECK_KEY_PORT, NUMBER},
	{"PET_RDZV_BACKEND", CHECK_KEY_BACKEND, TEXT},
	{"PET_RDZV_ENDPOINT", CHECK_KEY_ENDPOINT, PORT_IN},
	{"PET_RDZV_ID", CHECK_KEY_RUN_ID, TEXT},
};

/* What dist_train.sh reads. */
static const struct variable dist[] = {
	{"NNODES", CHECK_KEY_NNODES, NUMBER},
	{"NODE_RANK", CHECK_KEY_NODE_RANK, NUMBER},
	{"MASTER_ADDR", CHECK_KEY_ADDRESS, TEXT},
	{"PORT", CHECK_KEY_PORT, NUMBER},
};

static const struct check_number unknown;

static struct check_number exact(int64_t value)
{
	return (struct check_number){.known = true, .low = value, .high = value};
}

/* The option that begins TEXT is NAME: its length, else 0. */
static size_t match(const char *text, const char *name)
{
	size_t length = 0;
	const bool is_long = name[0] == '-' && name[1] == '-';

	for (; name[length]; length++) {
		const char a = text[length], b = name[length];

		if (a != b && !(is_long && length > 1 && (a == '-' || a == '_') &&
				(b == '-' || b == '_')))
			return 0;
	}
	return !text[length] || text[length] == '=' ? length : 0;
}

/* The last NAME among WORDS, COUNT of them, with its value; false: not there. */
static bool find_option(struct check_follow *follow, const struct check_value *words,
			size_t count, const char *name, bool flag,
			struct check_setting *setting)
{
	bool found = false;

	for (size_t i = 0; i < count; i++) {
		const struct check_value *word = &words[i];
		const size_t length = match(word->text, name);

		if (length == 0)
			continue;
		*setting = (struct check_setting){
			.name = word->text,
			.value = {.text = "", .constant = true, .range = word->range},
			.range = word->range,
		};
		if (word->text[length] == '=') {
			const struct check_value part =
				check_value_part(follow, word, 0, length);

			setting->name = part.text;
			setting->value = check_value_part(follow, word, length + 1,
							  word->length - length - 1);
		} else if (name[0] != '-') {
			/* trainer.devices=4 has its value in the word. */
			continue;
		} else if (!flag && i + 1 < count) {
			setting->value = words[i + 1];
			if (words[i + 1].range.end > setting->range.begin)
				setting->range.end = words[i + 1].range.end;
		}
		found = true;
	}
	return found;
}

bool check_option(const struct check_command *command, size_t from, const char *name,
		  struct check_setting *setting)
{
	for (size_t i = command->words_count; i > from; i--) {
		const struct check_value *word = &command->words[i - 1];
		const size_t length = match(word->text, name);

		if (length == 0 || (word->text[length] != '=' && name[0] != '-'))
			continue;
		*setting = (struct check_setting){
			.name = name,
			.range = word->range,
			.value = {.text = "", .constant = true, .range = word->range},
		};
		if (word->text[length] == '=') {
			/* A tail shares its word's text. */
			setting->value = *word;
			setting->value.text += length + 1;
			setting->value.length -= (uint32_t)length + 1;
			if (word->origins) {
				setting->value.origins += length + 1;
				setting->value.range.begin = word->origins[length] + 1;
			}
			setting->value.constant = word->constant;
			if (word->expansions_count > 0) {
				setting->value.expansions = NULL;
				setting->value.expansions_count = 0;
			}
		} else if (i < command->words_count) {
			setting->value = command->words[i];
			setting->range.end = command->words[i].range.end;
		}
		setting->number = check_value_number(NULL, &setting->value);
		return true;
	}
	return false;
}

static struct check_number visible_gpus(const struct check_follow *follow)
{
	if (follow->step)
		return follow->step->amount[CHECK_VISIBLE].number;
	return follow->model->jobs[0].amount[CHECK_GPUS_PER_NODE].number;
}

/* LENGTH bytes of VALUE from AT on, as a number. */
static struct check_number part_number(struct check_follow *follow,
				       const struct check_value *value, size_t at,
				       size_t length)
{
	const struct check_value part = check_value_part(follow, value, at, length);

	return check_value_number(follow->model, &part);
}

/* Where the last C stands in VALUE outside of its expansions; its length: nowhere. */
static size_t find_last(const struct check_value *value, char c)
{
	size_t found = value->length;

	for (size_t i = 0, next = 0; i < value->length; i++) {
		while (next < value->expansions_count &&
		       value->expansions[next].at + value->expansions[next].length <= i)
			next++;
		if (next < value->expansions_count && value->expansions[next].at <= i)
			continue;
		if (value->text[i] == c)
			found = i;
	}
	return found;
}

static struct check_number read_form(struct check_follow *follow,
				     const struct check_value *value, enum form form)
{
	const size_t colon = find_last(value, ':');
	struct check_number number = check_value_number(follow->model, value);

	switch (form) {
	case FLAG:
		return exact(1);
	case TEXT:
		return number;
	case RANGE:
		if (colon < value->length) {
			const struct check_number least =
				part_number(follow, value, 0, colon);

			number = part_number(follow, value, colon + 1,
					     value->length - colon - 1);
			if (least.known && number.known)
				number.low = least.low;
		}
		return number;
	case WORKERS:
		if (strcmp(value->text, "gpu") == 0 || strcmp(value->text, "auto") == 0 ||
		    strcmp(value->text, "-1") == 0)
			return visible_gpus(follow);
		/* 0,1,2,3: so many devices */
		if (value->constant && strchr(value->text, ',')) {
			number = exact(1);
			for (const char *at = value->text; *at; at++)
				number.low += *at == ',' && at[1];
			number.high = number.low;
		}
		return number;
	case PORT_IN:
		return colon < value->length ? part_number(follow, value, colon + 1,
							   value->length - colon - 1)
					     : unknown;
	case PPR:
		if (strncmp(value->text, "ppr:", 4) != 0)
			return unknown;
		return strstr(value->text, ":node")
			       ? part_number(follow, value, 4,
					     strcspn(value->text + 4, ":"))
			       : unknown;
	case NUMBER:
		break;
	}
	return number;
}

static void read_options(struct check_follow *follow, struct check_launch *launch,
			 const struct check_value *words, size_t count)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		struct check_setting *setting = &launch->setting[options[i].key];
		struct check_setting found;

		if (!(options[i].tools & 1u << launch->tool) ||
		    !find_option(follow, words, count, options[i].name,
				 options[i].form == FLAG, &found))
			continue;
		/* --map-by slot says nothing of a number. */
		if (options[i].form == PPR && strncmp(found.value.text, "ppr:", 4) != 0)
			continue;
		*setting = found;
		setting->number = read_form(follow, &setting->value, options[i].form);
	}
}

bool check_is_dist_script(const char *file)
{
	const char *name = strrchr(file, '/');

	name = name ? name + 1 : file;
	return strcmp(name, "dist_train.sh") == 0 || strcmp(name, "dist_test.sh") == 0;
}

/* CONFIG GPUS, and CONFIG CHECKPOINT GPUS. */
static void read_gpus_argument(struct check_follow *follow, struct check_launch *launch)
{
	const size_t at = strcmp(launch->command->name, "dist_test.sh") == 0 ? 1 : 0;
	struct check_setting *setting = &launch->setting[CHECK_KEY_NPROC];

	if (launch->arguments_count <= at)
		return;
	*setting = (struct check_setting){
		.name = "GPUS",
		.value = launch->arguments[at],
		.number = read_form(follow, &launch->arguments[at], NUMBER),
		.range = launch->arguments[at].range,
	};
}

static void read_variables(struct check_follow *follow, struct check_launch *launch,
			   const struct variable *variables, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct check_setting *setting = &launch->setting[variables[i].key];
		const struct check_name *name = check_name_find(
			follow, variables[i].name, strlen(variables[i].name));
		const struct check_binding *binding =
			name ? check_visible(follow, name) : NULL;

		if (setting->name || !binding || !binding->exported || !binding->set)
			continue;
		*setting = (struct check_setting){
			.name = variables[i].name,
			.value = binding->value,
			.number = read_form(follow, &binding->value, variables[i].form),
			.range = binding->assignment->range,
			.assignment = binding->assignment,
		};
	}
}

static struct check_number times(const struct check_number *a,
				 const struct check_number *b)
{
	if (!a->known || !b->known || a->high > INT32_MAX || b->high > INT32_MAX ||
	    a->low < 0 || b->low < 0)
		return unknown;
	return (struct check_number){true, a->low * b->low, a->high * b->high, 0};
}

static struct check_number over(const struct check_number *a,
				const struct check_number *b)
{
	if (!check_exact(a) || !check_exact(b) || b->low <= 0)
		return unknown;
	return exact(a->low / b->low);
}

/* How many one copy of LAUNCH starts. */
static struct check_number workers_of_one(const struct check_follow *follow,
					  const struct check_launch *launch)
{
	const struct check_setting *setting = launch->setting;
	const struct check_number one = exact(1);
	const struct check_number machines =
		setting[CHECK_KEY_NNODES].name ? setting[CHECK_KEY_NNODES].number : one;

	switch (launch->tool) {
	case CHECK_TORCHRUN:
	case CHECK_TORCH_LAUNCH:
		return setting[CHECK_KEY_NPROC].name ? setting[CHECK_KEY_NPROC].number
						     : one;
	case CHECK_ACCELERATE:
		if (setting[CHECK_KEY_WORLD].name)
			return over(&setting[CHECK_KEY_WORLD].number, &machines);
		return unknown;
	case CHECK_DEEPSPEED:
	case CHECK_COLOSSALAI:
	case CHECK_COMPOSER:
		if (setting[CHECK_KEY_NPROC].name)
			return setting[CHECK_KEY_NPROC].number;
		return visible_gpus(follow);
	case CHECK_MPIRUN:
	case CHECK_HOROVODRUN:
		if (setting[CHECK_KEY_WORLD].name)
			return setting[CHECK_KEY_WORLD].number;
		return follow->model->jobs[0].amount[CHECK_NTASKS].number;
	default:
		if (setting[CHECK_KEY_SPAWN].name && !launch->parent)
			return setting[CHECK_KEY_SPAWN].number;
		return one;
	}
}

static void count_workers(const struct check_follow *follow, struct check_launch *launch)
{
	const struct check_step *step = launch->step;
	const struct check_number each = workers_of_one(follow, launch);
	const struct check_launch *parent = launch->parent;

	launch->copies = exact(1);
	launch->copies_per_node = exact(1);
	if (parent && parent->tool != CHECK_MPIRUN && parent->tool != CHECK_HOROVODRUN) {
		launch->copies = parent->workers;
		launch->copies_per_node = parent->workers_per_node;
	} else if (step) {
		launch->copies = step->amount[CHECK_NTASKS].number;
		launch->copies_per_node = step->amount[CHECK_NTASKS_PER_NODE].number;
	}
	launch->workers = times(&launch->copies, &each);
	launch->workers_per_node = times(&launch->copies_per_node, &each);
	if (launch->tool == CHECK_MPIRUN || launch->tool == CHECK_HOROVODRUN) {
		const struct check_number nodes =
			follow->model->jobs[0].amount[CHECK_NODES].number;

		launch->workers_per_node =
			launch->setting[CHECK_KEY_PER_NODE].name
				? launch->setting[CHECK_KEY_PER_NODE].number
				: over(&launch->workers, &nodes);
	}
}

/* Settings that only a program with ranks has; a number of GPUs alone may be one's. */
static bool is_distributed(const struct check_launch *launch)
{
	static const enum check_key keys[] = {
		CHECK_KEY_NUM_NODES, CHECK_KEY_STRATEGY,  CHECK_KEY_LAUNCHER,
		CHECK_KEY_SPAWN,     CHECK_KEY_NODE_RANK, CHECK_KEY_ENDPOINT,
		CHECK_KEY_WORLD,     CHECK_KEY_RANK,      CHECK_KEY_LOCAL_RANK,
		CHECK_KEY_ADDRESS,   CHECK_KEY_DEVICES,
	};

	if (launch->parent)
		return true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (launch->setting[keys[i]].name)
			return true;
	}
	return launch->tool != CHECK_PYTHON && launch->tool != CHECK_PROGRAM;
}

struct check_launch *check_launch_make(struct check_follow *follow,
				       struct check_command *command)
{
	struct check_model *model = follow->model;
	struct check_launch *launch = check_alloc(follow, sizeof(*launch));
	const bool program =
		command->tool == CHECK_PYTHON || command->tool == CHECK_PROGRAM;
	const size_t count = command->words_count, operand = command->operand;
	struct check_launch **grown;

	if (!launch)
		return NULL;
	grown = spec_arena_grow(follow->arena, model->launches, model->launches_count,
				sizeof(*grown));
	if (!grown) {
		follow->rc = -ENOMEM;
		return NULL;
	}
	model->launches = grown;
	*launch = (struct check_launch){
		.index = model->launches_count,
		.tool = command->tool,
		.command = command,
		.step = command->step,
	};
	grown[model->launches_count++] = launch;
	command->launch = launch;
	for (const struct check_command *at = command->parent; at && !launch->parent;
	     at = at->parent) {
		/* An outer mpirun that is a step of its own has no say in the ranks of a
		 * launcher within. */
		if (at->launch && at->tool != CHECK_PYTHON && at->tool != CHECK_PROGRAM)
			launch->parent = at->launch;
	}
	if (operand < count) {
		launch->program = &command->words[operand];
		launch->arguments = launch->program + 1;
		launch->arguments_count = count - operand - 1;
		launch->module =
			operand > 0 &&
			(strcmp(command->words[operand - 1].text, "-m") == 0 ||
			 strcmp(command->words[operand - 1].text, "--module") == 0);
	}
	if (program)
		read_options(follow, launch, launch->arguments, launch->arguments_count);
	else
		read_options(follow, launch, command->words + 1,
			     (operand < count ? operand : count) - 1);
	if (check_is_dist_script(command->name)) {
		read_gpus_argument(follow, launch);
		read_variables(follow, launch, dist, sizeof(dist) / sizeof(*dist));
	} else if (launch->tool == CHECK_TORCHRUN) {
		read_variables(follow, launch, pet, sizeof(pet) / sizeof(*pet));
	}
	count_workers(follow, launch);
	launch->distributed = is_distributed(launch);
	return launch;
}
