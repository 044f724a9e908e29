/* SPDX-License-Identifier: MIT */
/*
 * From a plan and a machine to CPUs and GPUs of each rank. CPUs are dealt as srun does
 * (gen/spec/deal.c), GPUs by the plugin's own rules.
 */
#include "gen/cli/place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A word of an option's value, and what it means to us. */
struct word {
	const char *name;
	int meaning;
};

/* The second part of -m. fcyclic spreads the CPUs of one task; we cannot tell how. */
static const struct word deals[] = {
	{"*", SPEC_DEAL_CYCLIC},
	{"cyclic", SPEC_DEAL_CYCLIC},
	{"block", SPEC_DEAL_BLOCK},
	{NULL},
};

static const struct word binds[] = {
	{"none", SPEC_BIND_NONE},       {"no", SPEC_BIND_NONE},
	{"threads", SPEC_BIND_THREADS}, {"cores", SPEC_BIND_CORES},
	{"sockets", SPEC_BIND_SOCKETS}, {"ldoms", SPEC_BIND_LDOMS},
	{"rank", SPEC_BIND_RANK},       {"map_cpu", SPEC_BIND_MAP},
	{"mask_cpu", SPEC_BIND_MASK},   {NULL},
};

/* The meaning of the LENGTH bytes at TEXT; -1: none of WORDS. */
static int find_word(const struct word *words, const char *text, size_t length)
{
	for (; words->name; words++) {
		if (strlen(words->name) == length &&
		    strncasecmp(words->name, text, length) == 0)
			return words->meaning;
	}
	return -1;
}

/* Where something is said that srun goes by. */
struct source {
	struct cli_place *place;
	struct diag *diag;
	const struct diag_place *at;
};

static void pass_over(const struct source *source, const char *value, const char *what)
{
	diag_add(source->diag, DIAG_NOTE, "explain-srun", source->at,
		 "%.80s: what that gives cannot be told before the job; %s is shown",
		 value, what);
}

static const struct word layouts[] = {
	{"*", LAUNCH_LAYOUT_BLOCK},
	{"block", LAUNCH_LAYOUT_BLOCK},
	{"cyclic", LAUNCH_LAYOUT_CYCLIC},
	{NULL},
};

/* "block:cyclic", "*:block:fcyclic,Pack", "plane=4"; the third part is task/cgroup's. */
static void take_distribution(const struct source *source, const char *value)
{
	struct cli_place *place = source->place;
	size_t first = strcspn(value, ":,=");
	int layout = find_word(layouts, value, first), deal;

	if (strncasecmp(value, "plane=", 6) == 0) {
		place->plane_size = (uint32_t)strtoul(value + 6, NULL, 10);
		place->layout =
			place->plane_size ? LAUNCH_LAYOUT_PLANE : LAUNCH_LAYOUT_BLOCK;
		/* lllp_distribution() fills the sockets one by one for planes. */
		place->cpus.deal = SPEC_DEAL_BLOCK;
		return;
	}
	if (layout < 0)
		pass_over(source, value, "block, where the ranks are concerned,");
	else
		place->layout = (enum launch_layout)layout;
	if (value[first] != ':')
		return;
	value += first + 1;
	deal = find_word(deals, value, strcspn(value, ":,"));
	if (deal < 0)
		pass_over(source, value, "cyclic");
	else
		place->cpus.deal = (enum spec_deal)deal;
}

static void take_bind(const struct source *source, const char *value)
{
	struct spec_cpus *cpus = &source->place->cpus;
	size_t length;
	int bind;

	/* "quiet," and "verbose," may stand in front. */
	while (strncasecmp(value, "q", 1) == 0 || strncasecmp(value, "v", 1) == 0) {
		const char *comma = strchr(value, ',');

		if (!comma)
			return;
		value = comma + 1;
	}
	length = strcspn(value, ":");
	bind = find_word(binds, value, length);
	if (bind < 0) {
		pass_over(source, value, "the default");
		return;
	}
	cpus->bind = (enum spec_bind)bind;
	cpus->list = value[length] ? value + length + 1 : value + length;
}

static void take_hint(const struct source *source, const char *value)
{
	source->place->cpus.one_thread = strcmp(value, "nomultithread") == 0;
}

static void take_threads(const struct source *source, const char *value)
{
	source->place->cpus.one_thread = strcmp(value, "1") == 0;
}

typedef void (*take_function)(const struct source *source, const char *value);

/* srun's options that say where a task runs, and the variables of the same meaning. */
static const struct {
	const char *option, *variable;
	take_function take;
} options[] = {
	{"-m", NULL, take_distribution},
	{"--distribution", "SLURM_DISTRIBUTION", take_distribution},
	{"--cpu-bind", "SLURM_CPU_BIND", take_bind},
	{"--cpu_bind", NULL, take_bind},
	{"--hint", "SLURM_HINT", take_hint},
	{"--threads-per-core", "SLURM_THREADS_PER_CORE", take_threads},
};

#define OPTIONS (sizeof(options) / sizeof(*options))

static void read_variables(struct source source, const struct spec_value *env)
{
	for (size_t i = 0; i < env->count; i++) {
		source.at = &env->items[i].place;
		for (size_t j = 0; j < OPTIONS; j++) {
			if (options[j].variable &&
			    strcmp(env->items[i].name, options[j].variable) == 0)
				options[j].take(&source, env->items[i].text);
		}
	}
}

static void read_field(struct source source, const struct spec_value *field,
		       take_function take)
{
	source.at = &field->place;
	if (field->given)
		take(&source, field->text);
}

static void read_options(struct source source, const struct spec_value *args)
{
	for (size_t i = 0; i < args->count; i++) {
		const char *text = args->items[i].text;

		source.at = &args->items[i].place;
		for (size_t j = 0; j < OPTIONS; j++) {
			size_t length = strlen(options[j].option);
			const char *value = text + length;

			if (strncmp(text, options[j].option, length) != 0)
				continue;
			if (*value == '\0' && i + 1 < args->count)
				value = args->items[i + 1].text;
			else if (*value == '=' && length > 2)
				value++;
			else if (length > 2)
				continue;
			options[j].take(&source, value);
		}
	}
}

/*
 * What srun goes by, the weakest first: the script's directives, which it finds in its
 * environment, variables, its own options.
 */
static void read_srun(struct cli_place *place, const struct spec *spec, struct diag *diag)
{
	struct source source = {.place = place, .diag = diag};

	read_options(source, &spec->batch.extra);
	read_field(source, &spec->resources.hint, take_hint);
	read_field(source, &spec->resources.threads_per_core, take_threads);
	read_variables(source, &spec->env);
	read_field(source, &spec->srun.distribution, take_distribution);
	read_field(source, &spec->binding.cpus, take_bind);
	read_options(source, &spec->srun.args);
}

static void name_deal(struct cli_place *place)
{
	static const char *const names[] = {
		[SPEC_BIND_AUTO] = NULL,
		[SPEC_BIND_THREADS] = NULL,
		[SPEC_BIND_CORES] = NULL,
		[SPEC_BIND_SOCKETS] = "--cpu-bind=sockets",
		[SPEC_BIND_LDOMS] = "--cpu-bind=ldoms",
		[SPEC_BIND_NONE] = "--cpu-bind=none",
		[SPEC_BIND_MAP] = "--cpu-bind=map_cpu",
		[SPEC_BIND_MASK] = "--cpu-bind=mask_cpu",
		[SPEC_BIND_RANK] = "--cpu-bind=rank",
	};

	place->deal = names[place->cpus.bind];
	if (!place->deal)
		place->deal = place->cpus.deal == SPEC_DEAL_BLOCK
				      ? "--distribution=block:block"
				      : "--distribution=block:cyclic";
}

static int deal_cpus(struct cli_place *place, const struct plan *plan,
		     const struct spec_value *exclusive, struct launch_error *err)
{
	const struct spec_machine *machine = place->machine;
	int rc;

	/* Where nothing is said, Slurm gives a task one CPU. */
	place->cpus.cpus_per_task = plan_known(plan, PLAN_CPUS_PER_TASK)
					    ? plan_value(plan, PLAN_CPUS_PER_TASK)
					    : 1;
	place->cpus.tasks = place->tasks;
	place->cpus.gpus = place->gpus.count;
	place->cpus.exclusive = exclusive->given && strcmp(exclusive->text, "true") == 0;
	name_deal(place);
	rc = -ENOSPC;
	if (place->tasks <= machine->usable_count) {
		place->masks = calloc(place->tasks, sizeof(*place->masks));
		if (!place->masks)
			return -ENOMEM;
		rc = spec_machine_deal(machine, &place->cpus, place->masks);
	}
	if (rc == -ENOSPC)
		return launch_error_set(
			err, rc,
			"the job wants %" PRIu32 " x %" PRIu64
			" CPUs of a node, and %.60s has %zu for jobs%s; lower "
			"cpus_per_task or cpus_per_gpu, or give another --machine",
			place->tasks, place->cpus.cpus_per_task, machine->name,
			machine->usable_count,
			place->cpus.one_thread ? ", of which one a core counts" : "");
	if (rc == -EINVAL)
		return launch_error_set(err, rc,
					"%s:%.80s: not a list that srun takes (srun(1), "
					"--cpu-bind)",
					place->deal, place->cpus.list);
	return rc;
}

int cli_place_begin(struct cli_place *place, const struct spec *spec,
		    const struct plan *plan, struct spec_machine *machine,
		    struct diag *diag, struct launch_error *err)
{
	uint32_t gpus = (uint32_t)plan_value(plan, PLAN_GPUS_PER_NODE);
	char list[LAUNCH_GPUS_MAX * 4] = "";
	size_t used = 0;
	int rc;

	place->machine = machine;
	place->tasks = (uint32_t)plan_value(plan, PLAN_NTASKS_PER_NODE);
	place->workers = (uint32_t)plan_value(plan, PLAN_WORKERS_PER_NODE);
	place->own = plan->dialect == SPEC_DIALECT_GPUS_PER_TASK && !plan->unbind;
	place->each = (uint32_t)plan_value(plan, PLAN_GPUS_PER_TASK);
	place->nodes = plan_value(plan, PLAN_NODES);
	read_srun(place, spec, diag);
	if (machine) {
		rc = spec_machine_gpus(machine, gpus, &place->gpus, err);
		return rc < 0 ? rc
			      : deal_cpus(place, plan, &spec->resources.exclusive, err);
	}
	/* At most LAUNCH_GPUS_MAX, or there would be no plan, of two digits and a comma.
	 */
	for (uint32_t i = 0; i < gpus; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%" PRIu32,
					 i ? "," : "", i);
	/* No such folder: the GPUs stay in Slurm's order. */
	return launch_gpus_read(&place->gpus, list, 0, NULL, "/nonexistent", err);
}

int cli_place_bind(struct cli_place *place, const struct launch_facts *facts,
		   const struct launch_settings *settings, struct launch_error *err)
{
	int rc;

	if (!place->gpus.count || place->tasks > CLI_PLACE_TASKS_MAX || facts->submitit)
		return 0;
	place->bindings = calloc(place->tasks, sizeof(*place->bindings));
	if (!place->bindings)
		return -ENOMEM;
	rc = launch_gpus_share(&place->gpus, place->masks, place->tasks, facts, settings,
			       place->bindings, err);
	if (rc < 0)
		return rc;
	/* What Slurm gives to each: its GPUs in their order. */
	for (uint32_t task = 0; task < place->tasks; task++) {
		struct launch_binding *binding = &place->bindings[task];

		if (binding->count || !place->own)
			continue;
		for (uint32_t i = 0; i < place->each; i++)
			binding->gpu[i] = (task * place->each + i) % place->gpus.count;
		binding->count = binding->owned = place->each;
	}
	return 0;
}

uint64_t cli_place_gpus(const struct cli_place *place, uint32_t worker)
{
	const uint32_t workers = place->workers / place->tasks; /* of a task */
	const struct launch_binding *binding;
	uint64_t set = 0;

	if (!place->bindings)
		return 0;
	binding = &place->bindings[worker / workers];
	if (!binding->owned)
		return 0;
	/* A launcher's workers take the task's devices by their own index. */
	if (workers > 1)
		return UINT64_C(1)
		       << binding->gpu[binding->own + worker % workers % binding->owned];
	for (uint32_t i = 0; i < binding->owned; i++)
		set |= UINT64_C(1) << binding->gpu[binding->own + i];
	return set;
}

enum launch_distance cli_place_distance(const struct cli_place *place, uint32_t worker,
					uint32_t gpu)
{
	if (!place->masks)
		return LAUNCH_DISTANCE_UNKNOWN;
	return launch_gpu_distance(
		&place->gpus.gpu[gpu],
		&place->masks[worker / (place->workers / place->tasks)]);
}

enum launch_distance cli_place_farthest(const struct cli_place *place, uint32_t worker)
{
	enum launch_distance farthest = LAUNCH_DISTANCE_UNKNOWN;

	for (uint64_t set = cli_place_gpus(place, worker); set; set &= set - 1)
		farthest = launch_distance_farther(
			farthest, cli_place_distance(place, worker,
						     (uint32_t)__builtin_ctzll(set)));
	return farthest;
}

uint64_t cli_place_rank(const struct cli_place *place, uint64_t node, uint32_t worker)
{
	uint64_t plane = place->plane_size, rounds;

	/* A launcher numbers its workers node by node. */
	if (place->workers > place->tasks || place->layout == LAUNCH_LAYOUT_BLOCK)
		return node * place->workers + worker;
	if (place->layout == LAUNCH_LAYOUT_CYCLIC)
		return worker * place->nodes + node;
	/* Whole planes in turn, and at last what is left for each node. */
	rounds = worker / plane;
	if (place->workers - rounds * plane < plane)
		plane = place->workers - rounds * plane;
	return rounds * place->plane_size * place->nodes + node * plane +
	       worker % place->plane_size;
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

void cli_place_machine(const struct cli_place *place, char *text, size_t size)
{
	const struct spec_machine *machine = place->machine;
	uint32_t cpus = launch_cpuset_count(&machine->cpus);
	uint32_t gpus = machine->gpus_count;

	snprintf(text, size,
		 "%.128s: %zu socket%s, %zu NUMA node%s, %" PRIu32 " CPU%s, %" PRIu32
		 " GPU%s",
		 machine->name, machine->packages_count, plural(machine->packages_count),
		 machine->numa_count, plural(machine->numa_count), cpus, plural(cpus),
		 gpus, plural(gpus));
}

bool cli_place_flat(const struct cli_place *place)
{
	return place->machine && place->machine->packages_count == 1 &&
	       place->machine->numa_count == 1;
}

void cli_place_summary(const struct cli_place *place, char *text, size_t size)
{
	static const struct {
		enum launch_distance distance;
		const char *one, *many;
	} rows[] = {
		{LAUNCH_DISTANCE_LOCAL, "near its GPU", "near their GPU"},
		{LAUNCH_DISTANCE_NODE, "on its GPU's NUMA node",
		 "on their GPU's NUMA node"},
		{LAUNCH_DISTANCE_SOCKET, "on another NUMA node of its GPU's socket",
		 "on another NUMA node of its socket"},
		{LAUNCH_DISTANCE_OTHER, "on another socket than its GPU",
		 "on another socket"},
		{LAUNCH_DISTANCE_UNKNOWN, "with a GPU whose place is not known",
		 "with a GPU whose place is not known"},
	};
	uint32_t ranks[LAUNCH_DISTANCE_UNKNOWN + 1] = {0};
	const uint32_t all = place->workers;
	size_t used = 0;

	text[0] = '\0';
	if (!place->machine || !place->bindings)
		return;
	if (cli_place_flat(place)) {
		snprintf(text, size, "one NUMA node, each GPU as near as any");
		return;
	}
	for (uint32_t worker = 0; worker < all; worker++)
		ranks[cli_place_farthest(place, worker)]++;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t count = ranks[rows[i].distance];

		if (!count || used >= size)
			continue;
		if (all == 1)
			snprintf(text, size, "its rank %s", rows[i].one);
		else if (count == all)
			snprintf(text, size, "all %" PRIu32 " ranks %s", all,
				 rows[i].many);
		else if (used)
			used += (size_t)snprintf(text + used, size - used,
						 ", %" PRIu32 " %s", count, rows[i].many);
		else
			used = (size_t)snprintf(text, size,
						"%" PRIu32 " of %" PRIu32 " ranks %s",
						count, all, rows[i].many);
	}
}

void cli_place_clear(struct cli_place *place)
{
	free(place->masks);
	free(place->bindings);
	memset(place, 0, sizeof(*place));
}
