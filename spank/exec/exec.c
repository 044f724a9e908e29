/* SPDX-License-Identifier: MIT */
/*
 * From the facts of this task to its program. Everything that can fail comes before the
 * first variable is set.
 */
#include "spank/exec/exec.h"

#include "spank/exec/agree.h"
#include "spank/exec/become.h"
#include "spank/exec/needs.h"
#include "spank/exec/pmix.h"
#include "spank/exec/source.h"
#include "spank/exec/wait.h"
#include "spank/launch/rendezvous.h"
#include "spank/launch/task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a program's name in a message. */
#define NAME_SHOWN 200

static void say(const char *line)
{
	fprintf(stderr, "srank exec: %s\n", line);
}

static int become(char **program)
{
	struct launch_error err = {""};
	int r = exec_become(program, &err);

	say(err.text);
	return r == -ENOENT ? EXEC_NOT_FOUND : EXEC_NOT_STARTABLE;
}

static int apply(const struct launch_environment *env, struct launch_error *err)
{
	for (size_t i = 0; i < env->count; i++) {
		const char *name = env->list[i].name, *value = env->list[i].value;

		if (value ? setenv(name, value, 1) : unsetenv(name))
			return launch_error_set(err, -errno, "cannot %s %s: %s",
						value ? "set" : "unset", name,
						strerror(errno));
	}
	return 0;
}

/*
 * An MPI program is a PMIx client itself, and a process can be one only once: Open MPI
 * 4.1 fails in MPI_Init when another client was there before it, in this process or in a
 * child of it.
 */
static bool leaves_pmix(const struct exec_options *options, char **program)
{
	const struct launch_launcher *launcher = options->settings.launcher;
	const char *rank = getenv("PMIX_RANK");
	char library[NEEDS_NAME_MAX], line[512];

	if (launcher && launcher->bare)
		return true;
	if (!exec_needs_mpi(program[0], library, sizeof(library)))
		return false;
	snprintf(line, sizeof(line),
		 "%.*s uses MPI (%s), so PMIx is left to it: the port is tested, but not "
		 "found by rank 0 (srank exec --no-pmix does the same without this line)",
		 NAME_SHOWN, program[0], library);
	launch_make_printable(line);
	if (strcmp(rank, "0") == 0)
		say(line);
	return true;
}

/*
 * What libpmix sets for itself (PMIX_MCA_psec...) is not for the program, which may be a
 * client with a libpmix of its own. KEPT is the list as it was; the texts in it stay.
 */
static char **keep_environment(void)
{
	size_t count = 0;
	char **kept;

	while (environ[count])
		count++;
	kept = calloc(count + 1, sizeof(*kept));
	if (kept)
		memcpy(kept, environ, count * sizeof(*kept));
	return kept;
}

/* Whether the ranks have anything to tell each other. */
static bool has_others(const struct launch_facts *facts,
		       const struct launch_settings *settings)
{
	return facts->ntasks > 1 && !facts->submitit && launch_has_ranks(facts, settings);
}

/* NCPUS as in struct launch_report_node. */
static int serve(const struct exec_options *options, struct exec_pmix *pmix,
		 struct launch_facts *facts, uint32_t ncpus,
		 struct launch_environment *env, struct launch_error *err)
{
	struct launch_task task = {
		.facts = facts,
		.settings = &options->settings,
		.ntasks = facts->local_size,
		.say = say,
	};
	struct launch_cpuset *masks = calloc(facts->local_size, sizeof(*masks));
	struct launch_gpus *gpus = NULL;
	int r = 0;

	if (!masks)
		return -ENOMEM;
	task.masks = masks;
	if (!facts->submitit)
		r = exec_source_addresses(facts, &options->settings, EXEC_LOOK_UP_TIME,
					  err);
	if (r == 0 && options->settings.gpus != LAUNCH_GPUS_NONE)
		r = exec_source_gpus(facts, &gpus, err);
	task.gpus = gpus;
	if (facts->local_size == 1)
		launch_cpuset_affinity(0, &masks[0]);
	if (r == 0 && pmix && has_others(facts, &options->settings)) {
		r = exec_agree(pmix, &task, facts, masks, options->timeout, err);
		task.port_tested = true;
	}
	if (r == 0)
		r = launch_task_environment(&task, env, err);
	if (r == 0)
		launch_task_report(&task, facts, ncpus);
	free(gpus);
	free(masks);
	return r;
}

/* Finds out ENV, which stays empty where this task has been served. */
static int prepare(const struct exec_options *options, struct exec_pmix *pmix,
		   struct launch_environment *env, struct launch_error *err)
{
	struct launch_facts facts = {0};
	struct exec_source source = {0};
	int r = exec_source_open(&source, pmix, err);

	if (r == 0 && !launch_environment_is_marked(exec_source_get, &source)) {
		r = exec_source_read(&source, &facts, err);
		if (r == 0)
			r = serve(options, pmix, &facts,
				  launch_facts_node_cpus(exec_source_get, &source), env,
				  err);
	}
	launch_facts_clear(&facts);
	exec_source_close(&source);
	return r;
}

/* What only this task suffers, the others cannot know: they are ended. */
static void fail(struct exec_pmix *pmix, int r, struct launch_error *err)
{
	bool alone = r == -EHOSTUNREACH || r == -ENOMEM || r == -EIO ||
		     (r == -ENOTUNIQ && launch_error_is_set(err));

	/* Else another rank has something to say. */
	if (r != -EADDRINUSE && r != -ETIMEDOUT && r != -ENOTUNIQ)
		launch_error_set(err, r, "%s", strerror(-r));
	if (launch_error_is_set(err) && exec_source_speaks(r)) {
		say(err->text);
		exec_let_through();
	}
	if (pmix && alone)
		exec_pmix_abort(pmix);
}

static const char *look_up(const char *name, void *arg)
{
	return getenv(name);
}

/*
 * Before PMIx is opened, which a program that uses MPI would have to pay for. The mark in
 * the environment of mpirun's ranks is that of the step in which mpirun's daemon runs.
 */
static bool is_served(void)
{
	return (!exec_source_has_server() || exec_source_is_slurm()) &&
	       launch_environment_is_marked(look_up, NULL);
}

/* Until every variable of this task is set. */
static int serve_task(const struct exec_options *options, char **program)
{
	const bool wanted = options->pmix && exec_source_has_server() &&
			    !leaves_pmix(options, program);
	struct launch_environment env = {0};
	struct launch_error err = {""};
	struct exec_pmix *pmix = NULL;
	char **kept = keep_environment();
	int r = kept ? 0 : -ENOMEM;

	if (r == 0)
		r = exec_source_connect(&pmix, wanted, options->timeout,
					options->settings.verbose ? say : NULL, &err);
	if (r == 0)
		r = prepare(options, pmix, &env, &err);
	if (r == 0) {
		/*
		 * Threads of libpmix may look into the environment, which must then not
		 * change: setenv(3). Memory for it is all that can be missing behind
		 * this, and the others are not held up any more.
		 */
		exec_pmix_close(&pmix);
		environ = kept;
		r = apply(&env, &err);
	}
	if (r)
		fail(pmix, r, &err);
	launch_environment_clear(&env);
	return r;
}

int exec_program(const struct exec_options *options, char **program)
{
	struct exec_options own = *options;

	/* Taken for a worker, each such program would make a world of its own node. */
	if (!own.settings.launcher)
		own.settings.launcher = launch_launcher_of(program);
	if (own.settings.on && !is_served() && serve_task(&own, program))
		return EXEC_FAILED;
	return become(program);
}
