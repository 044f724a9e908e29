/* SPDX-License-Identifier: MIT */
/*
 * `srank explain`: every number of a job and where it comes from, what the tasks will be
 * told, and which rank sits where. The facts, the variables and the binding come from the
 * rules that the plugin uses (spank/launch), from an environment such as Slurm and the
 * spec will have made.
 */
#include "gen/cli/cli.h"
#include "gen/utf8.h"
#include "spank/launch/environment.h"
#include "spank/launch/gpus.h"
#include "spank/launch/rendezvous.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* With more ranks than this, only the first and the last node are shown, */
#define RANKS_SHOWN 64
/* and of each at most as many ranks as this. */
#define ROWS_SHOWN 32

/* The variables that Slurm gives to a task, and that the rules read. */
enum slurm_variable {
	JOB_ID,
	STEP_ID,
	NUM_NODES,
	NUM_TASKS,
	NODELIST,
	TASKS_PER_NODE,
	NODEID,
	PROCID,
	LOCALID,
	NODENAME,
	DEVICES,
	SLURM_VARIABLES,
};

static const char *const slurm_names[] = {
	[JOB_ID] = "SLURM_JOB_ID",
	[STEP_ID] = "SLURM_STEP_ID",
	[NUM_NODES] = "SLURM_STEP_NUM_NODES",
	[NUM_TASKS] = "SLURM_STEP_NUM_TASKS",
	[NODELIST] = "SLURM_STEP_NODELIST",
	[TASKS_PER_NODE] = "SLURM_STEP_TASKS_PER_NODE",
	[NODEID] = "SLURM_NODEID",
	[PROCID] = "SLURM_PROCID",
	[LOCALID] = "SLURM_LOCALID",
	[NODENAME] = "SLURMD_NODENAME",
	[DEVICES] = "CUDA_VISIBLE_DEVICES",
};

/* One task of the job, with what it will find in its environment. */
struct task {
	const struct cli_job *job;
	char slurm[SLURM_VARIABLES][4 * LAUNCH_GPUS_MAX]; /* "": not set */
};

static const char *look_up(const char *name, void *arg)
{
	const struct task *task = arg;
	const struct spec_value *env = &task->job->spec.env;

	for (size_t i = 0; i < SLURM_VARIABLES; i++) {
		if (task->slurm[i][0] && strcmp(name, slurm_names[i]) == 0)
			return task->slurm[i];
	}
	/* srun makes its own of these, whatever the script exports. */
	if (strncmp(name, "SLURM", 5) == 0)
		return NULL;
	for (size_t i = 0; i < env->count; i++) {
		if (strcmp(name, env->items[i].name) == 0)
			return env->items[i].text;
	}
	return NULL;
}

#define PRINT(task, variable, ...) \
	snprintf((task)->slurm[variable], sizeof((task)->slurm[variable]), __VA_ARGS__)

/* The devices that Slurm lets the task see: with --gpus-per-task its own, else all. */
static void make_devices(struct task *task, const struct plan *plan, uint32_t local)
{
	bool own = plan->dialect == SPEC_DIALECT_GPUS_PER_TASK && !plan->unbind;
	uint64_t count = plan_value(plan, own ? PLAN_GPUS_PER_TASK : PLAN_GPUS_PER_NODE);
	uint64_t first = own ? local * count : 0;
	size_t at = 0;

	/* At most LAUNCH_GPUS_MAX, or there would be no plan, of two digits and a comma.
	 */
	for (uint64_t i = 0; i < count; i++)
		at += (size_t)snprintf(task->slurm[DEVICES] + at,
				       sizeof(task->slurm[DEVICES]) - at, "%s%" PRIu64,
				       i ? "," : "", first + i);
}

/* What the plugin would know about one task of the job's step. To be cleared. */
static int make_facts(const struct cli_job *job, uint32_t node, uint32_t local,
		      struct launch_facts *facts, struct launch_error *err)
{
	const struct plan *plan = &job->plan;
	const uint64_t nodes = plan_value(plan, PLAN_NODES);
	const uint64_t tasks = plan_value(plan, PLAN_NTASKS_PER_NODE);
	struct task task = {.job = job};
	int rc;

	PRINT(&task, JOB_ID, "1");
	PRINT(&task, STEP_ID, "0");
	PRINT(&task, NUM_NODES, "%" PRIu64, nodes);
	PRINT(&task, NUM_TASKS, "%" PRIu64, plan_value(plan, PLAN_NTASKS));
	if (nodes == 1)
		PRINT(&task, NODELIST, "node0");
	else
		PRINT(&task, NODELIST, "node[0-%" PRIu64 "]", nodes - 1);
	PRINT(&task, TASKS_PER_NODE, "%" PRIu64 "(x%" PRIu64 ")", tasks, nodes);
	PRINT(&task, NODEID, "%" PRIu32, node);
	PRINT(&task, PROCID, "%" PRIu64, node * tasks + local);
	PRINT(&task, LOCALID, "%" PRIu32, local);
	PRINT(&task, NODENAME, "node%" PRIu32, node);
	make_devices(&task, plan, local);
	rc = launch_facts_read(facts, look_up, &task, err);
	facts->ncpus = plan_value(plan, PLAN_CPUS_PER_TASK);
	return rc;
}

/* The variables of one task, as the plugin would set them. */
static int make_environment(const struct cli_job *job,
			    const struct launch_settings *settings, uint32_t node,
			    uint32_t local, struct launch_facts *facts,
			    struct launch_environment *env, struct launch_error *err)
{
	struct launch_gpus *gpus;
	int rc;

	rc = make_facts(job, node, local, facts, err);
	if (rc == 0)
		rc = launch_environment(facts, settings, env, err);
	if (rc < 0 || !facts->gpus || facts->submitit)
		return rc;
	gpus = calloc(1, sizeof(*gpus));
	if (!gpus)
		return -ENOMEM;
	/* No such folder: nothing is known of the nodes, so Slurm's order of the GPUs
	 * stays. */
	rc = launch_gpus_read(gpus, facts->gpus, NULL, "/nonexistent", err);
	if (rc == 0)
		rc = launch_gpus_bind(gpus, NULL, facts->local_size, facts, settings, env,
				      err);
	free(gpus);
	return rc;
}

static void print_number(const char *name, const char *value, const char *reason)
{
	printf("  %-17s %8s  ", name, value);
	/* It may name a file. */
	utf8_escape(stdout, reason);
	putchar('\n');
}

static void print_given(const char *name, const struct spec_value *value)
{
	char reason[512];

	if (!value->given)
		return;
	snprintf(reason, sizeof(reason), "given at %s:%" PRIu32 ":%" PRIu32,
		 value->place.file, value->place.line, value->place.column);
	print_number(name, value->text, reason);
}

static void print_numbers(const struct cli_job *job)
{
	const struct plan *plan = &job->plan;
	char sentence[256], value[24];

	plan_sentence(plan, sentence, sizeof(sentence));
	printf("%s\n\n", sentence);
	printf("launcher %s: %s (%s)\n\n", plan->launcher->name, plan->launcher->summary,
	       plan->launcher_given ? "given" : "nothing was said; the default");
	puts("numbers");
	for (int i = 0; i < PLAN_QUANTITIES; i++) {
		if (!plan_known(plan, i))
			continue;
		snprintf(value, sizeof(value), "%" PRIu64, plan_value(plan, i));
		print_number(plan_quantity_name(i), value, plan->number[i].reason);
	}
	print_given("mem", &job->spec.resources.mem);
	print_given("time", &job->spec.batch.time);
	if (plan->checked_count)
		puts("\nchecked");
	for (size_t i = 0; i < plan->checked_count; i++)
		printf("  %s\n", plan->checked[i]);
}

/* What the variable NAME is made from; LAUNCH_VALUE_TEXT: nothing with the port in it. */
static enum launch_value value_of(const struct launch_launcher *launcher,
				  const char *name)
{
	const struct launch_variable *row = launcher->variables;

	if (strcmp(name, "MASTER_PORT") == 0)
		return LAUNCH_VALUE_PORT;
	for (; row && row->name; row++) {
		if (strcmp(row->name, name) == 0 &&
		    (row->value == LAUNCH_VALUE_PORT ||
		     row->value == LAUNCH_VALUE_ENDPOINT ||
		     row->value == LAUNCH_VALUE_TF_CONFIG))
			return row->value;
	}
	return LAUNCH_VALUE_TEXT;
}

/* A list of "host:port", each of which is PORT or as far above it as the task on its
 * node. */
static void print_endpoints(const char *value, uint16_t port)
{
	const char *at;

	while ((at = strstr(value, ":")) != NULL) {
		size_t digits = strspn(at + 1, "0123456789");
		unsigned long number = strtoul(at + 1, NULL, 10);
		bool end = at[1 + digits] == '"' || at[1 + digits] == '\0';

		printf("%.*s:", (int)(at - value), value);
		value = at + 1;
		if (digits == 0 || !end)
			continue;
		fputs("PORT", stdout);
		if (number > port)
			printf("+%lu", number - port);
		value += digits;
	}
	utf8_escape(stdout, value);
}

/* One variable; PORT stands for a port that Slurm or a rule will choose, 0: it is known.
 */
static void print_variable(const struct launch_launcher *launcher,
			   const struct launch_assignment *variable, uint16_t port)
{
	printf("  %s=", variable->name);
	switch (port ? value_of(launcher, variable->name) : LAUNCH_VALUE_TEXT) {
	case LAUNCH_VALUE_PORT:
		fputs("PORT", stdout);
		break;
	case LAUNCH_VALUE_ENDPOINT:
	case LAUNCH_VALUE_TF_CONFIG:
		print_endpoints(variable->value, port);
		break;
	default:
		utf8_escape(stdout, variable->value);
		break;
	}
	putchar('\n');
}

static int print_rendezvous(const struct plan *plan, bool plugin,
			    const struct launch_settings *settings,
			    const struct launch_facts *facts,
			    const struct launch_environment *env,
			    struct launch_error *err)
{
	enum launch_port_source source = LAUNCH_PORT_USER;
	uint16_t port = 0;
	int rc = 0;

	if (!plugin) {
		puts("\nThis site has no srank plugin: the tasks get what Slurm gives.");
		return 0;
	}
	if (!plan->launcher->bare)
		rc = launch_port(facts, settings, &port, &source, err);
	if (rc < 0)
		return rc;
	if (source == LAUNCH_PORT_USER || source == LAUNCH_PORT_KEY)
		port = 0;
	printf("\nSRANK=%s gives the task of rank 0, with node0, node1, ... for the "
	       "nodes that "
	       "Slurm picks\n",
	       plan->srank);
	for (size_t i = 0; i < env->count; i++) {
		const char *name = env->list[i].name;

		/* By the markers an inner step knows our values from the user's. */
		if (env->list[i].value && (strncmp(name, "SRANK_", 6) != 0 ||
					   strcmp(name, "SRANK_VERSION") == 0))
			print_variable(plan->launcher, &env->list[i], port);
	}
	if (port)
		printf("PORT: the first one that Slurm reserved for the step, if the "
		       "site has "
		       "MpiParams=ports=;\nelse by a hash of job, step and restart, "
		       "between %u "
		       "and %u\n",
		       settings->port_low, settings->port_high);
	return 0;
}

/* The Nth token (from 0) of a list with commas, printed into TEXT. */
static void token(const char *list, uint32_t n, char *text, size_t size)
{
	size_t length;

	for (; n > 0 && *list; n--) {
		list += strcspn(list, ",");
		list += *list == ',';
	}
	length = strcspn(list, ",");
	snprintf(text, size, "%.*s", (int)length, list);
}

/* Which GPU the program of a worker takes, as the modes are meant to be used. */
static void gpu_of(const struct launch_facts *facts,
		   const struct launch_settings *settings,
		   const struct launch_environment *env, uint32_t worker, char *text,
		   size_t size)
{
	const char *list =
		launch_environment_get(env, launch_gpu_variables[LAUNCH_GPU_CUDA]);
	uint32_t count = launch_facts_ngpus(facts);

	if (!list)
		list = facts->gpus;
	if (!list) {
		snprintf(text, size, "-");
		return;
	}
	switch (settings->gpus) {
	case LAUNCH_GPUS_MASK:
	case LAUNCH_GPUS_MAP:
		snprintf(text, size, "%s", list);
		break;
	case LAUNCH_GPUS_FIRST:
		token(list, 0, text, size);
		break;
	case LAUNCH_GPUS_ORDER:
	case LAUNCH_GPUS_NONE:
		token(list, worker % count, text, size);
		break;
	}
}

/* The rows of one node, at most MOST of them. */
static int print_node(const struct cli_job *job, const struct launch_settings *settings,
		      uint32_t node, uint32_t most, struct launch_error *err)
{
	const struct plan *plan = &job->plan;
	const uint32_t tasks = plan_value(plan, PLAN_NTASKS_PER_NODE);
	const uint32_t workers = plan_value(plan, PLAN_WORKERS_PER_NODE);
	const uint32_t each = workers / tasks;
	const uint64_t cpus = plan_value(plan, PLAN_CPUS_PER_TASK) / each;
	struct launch_environment env = {0};
	struct launch_facts facts = {0};
	char gpu[256], share[24] = "-";
	int rc = 0;

	if (cpus)
		snprintf(share, sizeof(share), "%" PRIu64, cpus);
	for (uint32_t worker = 0; worker < workers && rc == 0; worker++) {
		if (workers > most && worker == most - 1) {
			printf("    ... and %" PRIu32 " ranks alike\n", workers - most);
			worker = workers - 1;
		}
		if (worker == 0 || each == 1) {
			launch_environment_clear(&env);
			launch_facts_clear(&facts);
			rc = make_environment(job, settings, node, worker / each, &facts,
					      &env, err);
		}
		if (rc < 0)
			break;
		gpu_of(&facts, settings, &env, worker, gpu, sizeof(gpu));
		printf("  %5" PRIu32 "  node%-5" PRIu32 " %5" PRIu32 "  %-7s %4s\n",
		       node * workers + worker, node, worker, gpu, share);
	}
	launch_environment_clear(&env);
	launch_facts_clear(&facts);
	return rc;
}

static int print_ranks(const struct cli_job *job, const struct launch_settings *settings,
		       struct launch_error *err)
{
	const struct plan *plan = &job->plan;
	const uint32_t nodes = plan_value(plan, PLAN_NODES);
	bool all = plan_value(plan, PLAN_WORLD_SIZE) <= RANKS_SHOWN;
	int rc = 0;

	printf("\n  %5s  %-9s %5s  %-7s %4s\n", "rank", "node", "local", "GPU", "CPUs");
	for (uint32_t node = 0; node < nodes && rc == 0; node++) {
		if (!all && node == 1 && nodes > 2) {
			printf("    ... and %" PRIu32 " nodes alike\n", nodes - 2);
			node = nodes - 1;
		}
		rc = print_node(job, settings, node, all ? RANKS_SHOWN : ROWS_SHOWN, err);
	}
	if (rc == 0 && plan->shape == LAUNCH_WORKER && plan_value(plan, PLAN_GPUS) &&
	    settings->gpus != LAUNCH_GPUS_MAP && settings->gpus != LAUNCH_GPUS_NONE)
		puts("\nGPU: in Slurm's order, as nothing is known of the nodes yet; at "
		     "launch "
		     "each task gets the\none that is nearest to its CPUs");
	return rc;
}

static enum cli_exit explain(const struct cli_job *job, const struct cli_command *command)
{
	struct launch_environment env = {0};
	struct launch_facts facts = {0};
	struct launch_settings settings;
	struct launch_error err = {0};
	int rc;

	launch_settings_init(&settings);
	rc = launch_settings_parse(&settings, job->plan.srank, &err);
	if (!job->site.plugin.number)
		settings.gpus = LAUNCH_GPUS_NONE;
	if (rc == 0)
		rc = make_environment(job, &settings, 0, 0, &facts, &env, &err);
	if (rc == 0) {
		print_numbers(job);
		rc = print_rendezvous(&job->plan, job->site.plugin.number, &settings,
				      &facts, &env, &err);
	}
	if (rc == 0)
		rc = print_ranks(job, &settings, &err);
	launch_environment_clear(&env);
	launch_facts_clear(&facts);
	if (rc == 0)
		return CLI_FINE;
	return cli_fail(command, "%s: %s", job->file,
			launch_error_is_set(&err) ? err.text : strerror(-rc));
}

enum cli_exit cli_explain(const struct cli_command *command, int argc, char **argv)
{
	struct cli_job job = {0};
	enum cli_exit code;

	if (!cli_job_options(&job, command, argc, argv, NULL, NULL, NULL, &code))
		goto out;
	if (optind < argc) {
		code = cli_usage(command, "one spec at a time, and `%s` is another one",
				 argv[optind]);
		goto out;
	}
	if (!cli_job_read(&job, command)) {
		cli_job_report(&job);
		code = CLI_FAILED;
		goto out;
	}
	cli_job_report(&job);
	code = explain(&job, command);
out:
	cli_job_clear(&job);
	return code;
}
