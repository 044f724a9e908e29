/* SPDX-License-Identifier: MIT */
/*
 * `srank explain`: every number of a job and where it comes from, what the tasks will be
 * told, and which rank sits where, as text and as a figure. The facts, the variables and
 * the binding come from the rules that the plugin uses (spank/launch), from an
 * environment such as Slurm and the spec will have made, and from what --machine says of
 * the nodes.
 */
#include "gen/cli/cli.h"
#include "gen/cli/figure.h"
#include "gen/cli/place.h"
#include "gen/utf8.h"
#include "spank/launch/environment.h"
#include "spank/launch/gpus.h"
#include "spank/launch/rendezvous.h"
#include "spank/launch/report.h"

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
	DISTRIBUTION,
	PLANE_SIZE,
	GPUS_ON_NODE,
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
	[DISTRIBUTION] = "SLURM_DISTRIBUTION",
	[PLANE_SIZE] = "SLURM_DIST_PLANESIZE",
	[GPUS_ON_NODE] = "SLURM_GPUS_ON_NODE",
	[DEVICES] = NULL, /* by vendor */
};

enum {
	OPTION_MACHINE = 0x300,
	OPTION_SVG,
	OPTION_FORCE,
};

static const struct option options[] = {
	{"machine", required_argument, NULL, OPTION_MACHINE},
	{"svg", required_argument, NULL, OPTION_SVG},
	{"force", no_argument, NULL, OPTION_FORCE},
	{NULL},
};

/* All that is said about one job. */
struct explain {
	struct cli_job job;
	const char *machine_file, *svg;
	bool force;
	struct launch_settings settings;
	struct spec_machine machine;
	struct cli_place place;
};

/* One task of the job, with what it will find in its environment. */
struct task {
	const struct explain *explain;
	const char *devices; /* name of the variable DEVICES */
	char slurm[SLURM_VARIABLES][8 * LAUNCH_GPUS_MAX]; /* "": not set */
};

static const char *look_up(const char *name, void *arg)
{
	const struct task *task = arg;
	const struct spec_value *env = &task->explain->job.spec.env;

	for (size_t i = 0; i < SLURM_VARIABLES; i++) {
		const char *own = i == DEVICES ? task->devices : slurm_names[i];

		if (task->slurm[i][0] && strcmp(name, own) == 0)
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
static void make_devices(struct task *task, const struct cli_place *place)
{
	const struct launch_facts nothing = {0};
	uint32_t count = place->own ? place->each : place->gpus.count;
	size_t at = 0;

	task->devices = launch_gpus_variable(&place->gpus, &nothing);
	/* Numbers of at most five digits, and commas, fit. */
	for (uint32_t i = 0; i < count && i < place->gpus.count; i++)
		at += (size_t)snprintf(task->slurm[DEVICES] + at,
				       sizeof(task->slurm[DEVICES]) - at, "%s%s",
				       i ? "," : "", place->gpus.gpu[i].name);
}

/* What the plugin would know about the first task of the job's step. To be cleared. */
static int make_facts(const struct explain *explain, struct launch_facts *facts,
		      struct launch_error *err)
{
	const struct plan *plan = &explain->job.plan;
	const struct cli_place *place = &explain->place;
	const uint64_t nodes = plan_value(plan, PLAN_NODES);
	struct task task = {.explain = explain};
	int rc;

	PRINT(&task, JOB_ID, "1");
	PRINT(&task, STEP_ID, "0");
	PRINT(&task, NUM_NODES, "%" PRIu64, nodes);
	PRINT(&task, NUM_TASKS, "%" PRIu64, plan_value(plan, PLAN_NTASKS));
	if (nodes == 1)
		PRINT(&task, NODELIST, "node0");
	else
		PRINT(&task, NODELIST, "node[0-%" PRIu64 "]", nodes - 1);
	PRINT(&task, TASKS_PER_NODE, "%" PRIu32 "(x%" PRIu64 ")", place->tasks, nodes);
	PRINT(&task, NODEID, "0");
	PRINT(&task, PROCID, "0");
	PRINT(&task, LOCALID, "0");
	PRINT(&task, NODENAME, "node0");
	if (place->layout == LAUNCH_LAYOUT_CYCLIC)
		PRINT(&task, DISTRIBUTION, "cyclic");
	if (place->layout == LAUNCH_LAYOUT_PLANE) {
		PRINT(&task, DISTRIBUTION, "plane");
		PRINT(&task, PLANE_SIZE, "%" PRIu32, place->plane_size);
	}
	if (place->gpus.count)
		PRINT(&task, GPUS_ON_NODE, "%" PRIu32, place->gpus.count);
	make_devices(&task, place);
	rc = launch_facts_read(facts, look_up, &task, err);
	facts->ncpus = plan_value(plan, PLAN_CPUS_PER_TASK);
	if (place->masks)
		facts->ncpus = launch_cpuset_count(&place->masks[0]);
	return rc;
}

/* The variables of the first task, as the plugin would set them. */
static int make_environment(const struct explain *explain, struct launch_facts *facts,
			    struct launch_environment *env, struct launch_error *err)
{
	const struct cli_place *place = &explain->place;
	int rc = launch_environment(facts, &explain->settings, env, err);

	if (rc < 0 || !facts->gpus || facts->submitit)
		return rc;
	return launch_gpus_bind(&place->gpus, place->masks, place->tasks, facts,
				&explain->settings, env, err);
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

static int print_rendezvous(const struct plan *plan,
			    const struct launch_settings *settings,
			    const struct launch_facts *facts,
			    const struct launch_environment *env,
			    struct launch_error *err)
{
	const bool exec = plan->means == SPEC_MEANS_EXEC;
	enum launch_port_source source = LAUNCH_PORT_USER;
	uint16_t port = 0;
	int rc = 0;

	if (plan->launcher->bare && plan->means != SPEC_MEANS_PLUGIN) {
		puts("\nThe srank plugin is not at work here: the tasks get what Slurm "
		     "gives.");
		return 0;
	}
	if (plan->means == SPEC_MEANS_SHELL) {
		puts("\nThe srank plugin is not at work here: shell code in the script "
		     "tells the ranks who they are.");
		return 0;
	}
	if (!plan->launcher->bare)
		rc = launch_port(facts, settings, &port, &source, err);
	if (rc < 0)
		return rc;
	if (source == LAUNCH_PORT_USER || source == LAUNCH_PORT_KEY)
		port = 0;
	printf("\n%sSRANK=%s gives the task of rank 0, with node0, node1, ... for the "
	       "nodes that "
	       "Slurm picks\n",
	       exec ? "srank exec with " : "", plan->srank);
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
	if (port && exec)
		puts("srank exec goes on from there, when srun has --mpi=pmix, to one on "
		     "which rank 0 can listen");
	return 0;
}

/* The names of the GPUs of a rank; "-" when it has none, "?" when they are not known. */
static void name_gpus(const struct cli_place *place, uint32_t worker, char *text,
		      size_t size)
{
	uint64_t set = cli_place_gpus(place, worker);
	size_t used = 0;

	snprintf(text, size, "%s", place->gpus.count && !place->bindings ? "?" : "-");
	for (; set && used < size; set &= set - 1)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
					 used ? "," : "",
					 place->gpus.gpu[__builtin_ctzll(set)].name);
}

/* The rows of one node, at most MOST of them. */
static void print_node(const struct explain *explain, uint32_t node, uint32_t most)
{
	const struct cli_place *place = &explain->place;
	const uint32_t each = place->workers / place->tasks;
	const uint64_t cpus = plan_value(&explain->job.plan, PLAN_CPUS_PER_TASK) / each;
	char gpu[8 * LAUNCH_GPUS_MAX], share[24] = "-";

	if (cpus)
		snprintf(share, sizeof(share), "%" PRIu64, cpus);
	for (uint32_t worker = 0; worker < place->workers; worker++) {
		if (place->workers > most && worker == most - 1) {
			printf("    ... and %" PRIu32 " ranks alike\n",
			       place->workers - most);
			worker = place->workers - 1;
		}
		name_gpus(place, worker, gpu, sizeof(gpu));
		printf("  %5" PRIu64 "  node%-5" PRIu32 " %5" PRIu32 "  %-7s %4s\n",
		       cli_place_rank(place, node, worker), node, worker, gpu, share);
	}
}

static void print_ranks(const struct explain *explain)
{
	const struct plan *plan = &explain->job.plan;
	const uint32_t nodes = (uint32_t)plan_value(plan, PLAN_NODES);
	const enum launch_gpus_mode mode = explain->settings.gpus;
	bool all = plan_value(plan, PLAN_WORLD_SIZE) <= RANKS_SHOWN;

	printf("\n  %5s  %-9s %5s  %-7s %4s\n", "rank", "node", "local", "GPU", "CPUs");
	for (uint32_t node = 0; node < nodes; node++) {
		if (!all && node == 1 && nodes > 2) {
			printf("    ... and %" PRIu32 " nodes alike\n", nodes - 2);
			node = nodes - 1;
		}
		print_node(explain, node, all ? RANKS_SHOWN : ROWS_SHOWN);
	}
	if (!explain->place.machine && plan->shape == LAUNCH_WORKER &&
	    plan_value(plan, PLAN_GPUS) && mode != LAUNCH_GPUS_MAP &&
	    mode != LAUNCH_GPUS_NONE)
		puts("\nGPU: in Slurm's order, as nothing is known of the nodes yet; at "
		     "launch each task gets the\none that is nearest to its CPUs; "
		     "--machine FILE says what the nodes are");
}

/* What --machine tells: CPUs and distances, in the table that verbose prints. */
static int print_place(const struct explain *explain, const struct launch_facts *facts,
		       struct launch_error *err)
{
	const struct cli_place *place = &explain->place;
	const struct spec_machine *machine = place->machine;
	struct launch_report_node here = {
		.masks = place->masks,
		.ntasks = place->tasks,
		.devices = facts,
		.gpus = &place->gpus,
		.ncpus = (uint32_t)(place->cpus.tasks * place->cpus.cpus_per_task),
	};
	char text[CLI_PLACE_TEXT_MAX];

	if (!machine)
		return 0;
	if (place->cpus.exclusive)
		here.ncpus = (uint32_t)machine->usable_count;
	fputs("\nmachine      ", stdout);
	cli_place_machine(place, text, sizeof(text));
	utf8_escape(stdout, text);
	fputs(" (", stdout);
	utf8_escape(stdout, machine->file);
	printf(")\nCPUs         as Slurm deals them with %s %s\n", place->deal,
	       place->cpus.exclusive ? "in a job that has whole nodes" : "on idle nodes");
	if (place->gpus.count && place->gpus.count < machine->gpus_count)
		printf("GPUs         %" PRIu32 " of %" PRIu32
		       "; which ones Slurm gives is sure at launch only\n",
		       place->gpus.count, machine->gpus_count);
	cli_place_summary(place, text, sizeof(text));
	if (text[0])
		printf("distances    %s\n", text);
	return launch_report_binding(stdout, facts, &explain->settings, &here, err);
}

static int print_all(const struct explain *explain, const struct launch_facts *facts,
		     const struct launch_environment *env, struct launch_error *err)
{
	const struct cli_job *job = &explain->job;
	int rc;

	cli_print_numbers(job);
	rc = print_rendezvous(&job->plan, &explain->settings, facts, env, err);
	if (rc < 0)
		return rc;
	print_ranks(explain);
	return print_place(explain, facts, err);
}

/* The figure, into its file or to standard output. */
static enum cli_exit draw(const struct explain *explain,
			  const struct cli_command *command)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	enum cli_exit code = CLI_FINE;
	int rc;

	if (!out)
		return cli_fail(command, "out of memory");
	rc = figure_draw(out, &explain->job.spec, &explain->job.plan, &explain->place);
	if (fclose(out) != 0 && rc == 0)
		rc = -ENOMEM;
	if (rc < 0)
		code = cli_fail(command, "%s: %s", explain->job.file, strerror(-rc));
	else if (strcmp(explain->svg, "-") == 0)
		fwrite(text, 1, length, stdout);
	else
		rc = cli_write_file(explain->svg, text, length, explain->force);
	free(text);
	if (code != CLI_FINE || rc == 0)
		return code;
	if (rc == -EEXIST)
		return cli_fail(command,
				"%s exists and differs, so it was kept; --force "
				"replaces it",
				explain->svg);
	return cli_fail(command, "cannot write %s: %s", explain->svg,
			cli_write_fault(rc));
}

/* Everything that can be wrong is found out before anything is written. */
static int settle(struct explain *explain, struct launch_facts *facts,
		  struct launch_environment *env, struct launch_error *err)
{
	struct cli_job *job = &explain->job;
	int rc;

	launch_settings_init(&explain->settings);
	rc = launch_settings_parse(&explain->settings, job->plan.srank, err);
	if (job->plan.means == SPEC_MEANS_SHELL)
		explain->settings.gpus = LAUNCH_GPUS_NONE;
	if (rc == 0)
		rc = cli_place_begin(&explain->place, &job->spec, &job->plan,
				     explain->machine_file ? &explain->machine : NULL,
				     &job->diag, err);
	if (rc == 0)
		rc = make_facts(explain, facts, err);
	if (rc == 0)
		rc = cli_place_bind(&explain->place, facts, &explain->settings, err);
	if (rc == 0)
		rc = make_environment(explain, facts, env, err);
	return rc;
}

/* The components have nodes of their own kind each: neither machine nor figure says so.
 */
static enum cli_exit explain_components(struct explain *explain,
					const struct cli_command *command)
{
	if (explain->svg || explain->machine_file)
		return cli_fail(command,
				"%s: a heterogeneous job is neither drawn nor put on a "
				"machine; explain each component as a spec of its own",
				explain->job.file);
	cli_job_report(&explain->job);
	cli_print_numbers(&explain->job);
	cli_print_components(&explain->job.plan);
	return CLI_FINE;
}

static enum cli_exit explain_job(struct explain *explain,
				 const struct cli_command *command)
{
	struct launch_environment env = {0};
	struct launch_facts facts = {0};
	struct launch_error err = {0};
	enum cli_exit code;
	int rc = settle(explain, &facts, &env, &err);

	code = cli_job_report(&explain->job);
	if (rc == 0 && code == CLI_FINE && explain->svg)
		code = draw(explain, command);
	if (rc == 0 && code == CLI_FINE &&
	    (!explain->svg || strcmp(explain->svg, "-") != 0))
		rc = print_all(explain, &facts, &env, &err);
	launch_environment_clear(&env);
	launch_facts_clear(&facts);
	if (rc == 0)
		return code;
	return cli_fail(command, "%s: %s", explain->job.file,
			launch_error_is_set(&err) ? err.text : strerror(-rc));
}

static void take(int val, void *arg)
{
	struct explain *explain = arg;

	switch (val) {
	case OPTION_MACHINE:
		explain->machine_file = optarg;
		break;
	case OPTION_SVG:
		explain->svg = optarg;
		break;
	default:
		explain->force = true;
		break;
	}
}

/* The job and the machine; faults of both are told in one run. */
static bool read_all(struct explain *explain, const struct cli_command *command)
{
	struct diag *diag = &explain->job.diag;
	bool fine = cli_job_read(&explain->job, command);
	size_t errors = diag->errors;
	int rc = 0;

	if (explain->machine_file)
		rc = spec_machine_read(&explain->machine, explain->machine_file, diag);
	if (rc < 0 && diag->errors == errors)
		cli_fail(command, "%s: %s", explain->machine_file, strerror(-rc));
	return fine && rc == 0;
}

enum cli_exit cli_explain(const struct cli_command *command, int argc, char **argv)
{
	struct explain explain = {0};
	enum cli_exit code;

	if (!cli_job_options(&explain.job, command, argc, argv, options, take, &explain,
			     &code))
		goto out;
	if (optind < argc) {
		code = cli_usage(command, "one spec at a time, and `%s` is another one",
				 argv[optind]);
		goto out;
	}
	if (explain.force && !explain.svg) {
		code = cli_usage(command, "--force is for a file named with --svg");
		goto out;
	}
	if (!read_all(&explain, command)) {
		cli_job_report(&explain.job);
		code = CLI_FAILED;
		goto out;
	}
	if (explain.job.plan.components_count)
		code = explain_components(&explain, command);
	else
		code = explain_job(&explain, command);
out:
	cli_place_clear(&explain.place);
	spec_machine_clear(&explain.machine);
	cli_job_clear(&explain.job);
	return code;
}
