/* SPDX-License-Identifier: MIT */
/*
 * `srank explain`: every number of a job and where it comes from, what the tasks will be
 * told, and which rank sits where. The variables and the binding come from the rules that
 * the plugin uses (spank/launch), on facts made from the plan.
 */
#include "gen/cli/cli.h"
#include "spank/launch/environment.h"
#include "spank/launch/gpus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* More ranks than this, and only those of the first and the last node are shown. */
#define RANKS_SHOWN 64

/* Stands for the port in the variables: no rule gives it, the range ends below. */
#define PORT_UNKNOWN "65535"

/* What the plugin would know about one task of the job's step. To be cleared. */
static int make_facts(const struct plan *plan, uint32_t node, uint32_t local,
		      bool port_given, struct launch_facts *facts)
{
	const uint32_t nodes = plan_value(plan, PLAN_NODES);
	const uint32_t tasks = plan_value(plan, PLAN_NTASKS_PER_NODE);
	const uint32_t gpus = plan_value(plan, PLAN_GPUS_PER_NODE);
	char *list = NULL;
	size_t length;
	FILE *out;
	int rc = 0;

	*facts = (struct launch_facts){
		.job_id = 1,
		.nnodes = nodes,
		.ntasks = plan_value(plan, PLAN_NTASKS),
		.node_rank = node,
		.rank = node * tasks + local,
		.local_rank = local,
		.local_size = tasks,
		.ncpus = plan_value(plan, PLAN_CPUS_PER_TASK),
	};
	if (nodes == 1)
		rc = asprintf(&facts->nodelist, "node0");
	else
		rc = asprintf(&facts->nodelist, "node[0-%" PRIu32 "]", nodes - 1);
	if (rc < 0) {
		facts->nodelist = NULL;
		return -ENOMEM;
	}
	if (asprintf(&facts->tasks_per_node, "%" PRIu32 "(x%" PRIu32 ")", tasks, nodes) <
	    0) {
		facts->tasks_per_node = NULL;
		return -ENOMEM;
	}
	if (asprintf(&facts->node, "node%" PRIu32, node) < 0) {
		facts->node = NULL;
		return -ENOMEM;
	}
	if (!port_given) {
		facts->user_port = strdup(PORT_UNKNOWN);
		if (!facts->user_port)
			return -ENOMEM;
	}
	if (!gpus)
		return 0;
	out = open_memstream(&list, &length);
	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < gpus; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", i);
	rc = fclose(out) == 0 ? 0 : -ENOMEM;
	facts->gpus = list;
	facts->gpu_variables = 1U << LAUNCH_GPU_CUDA;
	return rc;
}

/* The variables of one task, as the plugin would set them. */
static int make_environment(const struct plan *plan,
			    const struct launch_settings *settings, uint32_t node,
			    uint32_t local, struct launch_facts *facts,
			    struct launch_environment *env, struct launch_error *err)
{
	struct launch_gpus *gpus;
	int rc;

	rc = make_facts(plan, node, local, settings->port != 0, facts);
	if (rc == 0)
		rc = launch_environment(facts, settings, env, err);
	if (rc < 0 || !facts->gpus)
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
	printf("  %-17s %8s  %s\n", name, value, reason);
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

/* VALUE with the stand-in for the port as PORT. */
static void print_value(const char *value)
{
	const char *at;

	while ((at = strstr(value, PORT_UNKNOWN))) {
		printf("%.*sPORT", (int)(at - value), value);
		value = at + strlen(PORT_UNKNOWN);
	}
	puts(value);
}

static void print_rendezvous(const struct plan *plan,
			     const struct launch_settings *settings,
			     const struct launch_environment *env)
{
	printf("\nSRANK=%s gives the task of rank 0, with node0, node1, ... for the "
	       "nodes that "
	       "Slurm picks\n",
	       plan->srank);
	for (size_t i = 0; i < env->count; i++) {
		const char *name = env->list[i].name;

		/* By the markers an inner step knows our values from the user's. */
		if (!env->list[i].value || (strncmp(name, "SRANK_", 6) == 0 &&
					    strcmp(name, "SRANK_VERSION") != 0))
			continue;
		printf("  %s=", name);
		print_value(env->list[i].value);
	}
	if (!plan->launcher->bare && !settings->port)
		printf("PORT: the first one that Slurm reserved for the step, if the "
		       "site has "
		       "MpiParams=ports=;\nelse by a hash of job, step and restart, "
		       "between %u "
		       "and %u\n",
		       settings->port_low, settings->port_high);
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

/* The rows of one node. */
static int print_node(const struct plan *plan, const struct launch_settings *settings,
		      uint32_t node, struct launch_error *err)
{
	const uint32_t tasks = plan_value(plan, PLAN_NTASKS_PER_NODE);
	const uint32_t workers = plan_value(plan, PLAN_WORKERS_PER_NODE);
	const uint32_t each = workers / tasks;
	const uint64_t cpus = plan_value(plan, PLAN_CPUS_PER_TASK) / each;

	for (uint32_t task = 0; task < tasks; task++) {
		struct launch_environment env = {0};
		struct launch_facts facts = {0};
		char gpu[256], share[24] = "-";
		int rc;

		rc = make_environment(plan, settings, node, task, &facts, &env, err);
		if (cpus)
			snprintf(share, sizeof(share), "%" PRIu64, cpus);
		for (uint32_t i = 0; rc == 0 && i < each; i++) {
			uint32_t worker = task * each + i;

			gpu_of(&facts, settings, &env, worker, gpu, sizeof(gpu));
			printf("  %5" PRIu32 "  node%-5" PRIu32 " %5" PRIu32
			       "  %-7s %4s\n",
			       node * workers + worker, node, worker, gpu, share);
		}
		launch_environment_clear(&env);
		launch_facts_clear(&facts);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int print_ranks(const struct plan *plan, const struct launch_settings *settings,
		       struct launch_error *err)
{
	const uint32_t nodes = plan_value(plan, PLAN_NODES);
	bool all = plan_value(plan, PLAN_WORLD_SIZE) <= RANKS_SHOWN;
	int rc = 0;

	printf("\n  %5s  %-9s %5s  %-7s %4s\n", "rank", "node", "local", "GPU", "CPUs");
	for (uint32_t node = 0; node < nodes && rc == 0; node++) {
		if (!all && node == 1 && nodes > 2) {
			printf("    ... and %" PRIu32 " nodes alike\n", nodes - 2);
			node = nodes - 1;
		}
		rc = print_node(plan, settings, node, err);
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
	if (rc == 0)
		rc = make_environment(&job->plan, &settings, 0, 0, &facts, &env, &err);
	if (rc == 0) {
		print_numbers(job);
		print_rendezvous(&job->plan, &settings, &env);
		rc = print_ranks(&job->plan, &settings, &err);
	}
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
