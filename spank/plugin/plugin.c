/* SPDX-License-Identifier: MIT */
/*
 * The SPANK callbacks: which of them acts in which context and which kind of step, and
 * what becomes of an error.
 *
 * In slurmstepd only task_init ever fails. What an earlier callback returns ends,
 * depending on the kind of step and on Slurm's release, in a step without tasks that srun
 * calls a success, in a drained node or in a job that is requeued for ever (spank(7), and
 * SchedMD's bug 7573); so these keep the first error, and task_init reports it.
 *
 * A failing task_init ends its own process. What it returns would count only where
 * plugstack.conf calls the plugin required (_do_call_stack() in Slurm's
 * src/common/plugstack.c, spank.c since 23.02); where it is optional, as it should be,
 * the task would start without its variables and wait for the others.
 */

/* Everything else in the plugin is hidden; see spank_srank.map. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>
#pragma GCC visibility pop

#include "spank/launch/error.h"
#include "spank/launch/facts.h"
#include "spank/launch/order.h"
#include "spank/plugin/compat.h"
#include "spank/plugin/layout.h"
#include "spank/plugin/options.h"
#include "spank/plugin/source.h"
#include "spank/plugin/task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)
SPANK_PLUGIN(srank, 1)
#pragma GCC visibility pop

/* What the plugin does in this process. */
enum role {
	ROLE_IDLE,  /* nobody asked, or nothing is to be done here: touch nothing */
	ROLE_TASKS, /* an ordinary step */
	ROLE_BATCH, /* the batch script */
};

/*
 * How far this process has come. Slurm calls a plugin once for each line of
 * plugstack.conf that has it, files that two others include among them; its check for
 * that compares two copies of a path by address (plugin_in_list() in Slurm's
 * src/common/plugstack.c). It opens the same file only once, though (dlopen(3)), so that
 * the calls meet here, and all but the first find that there is nothing left to do. The
 * arguments of the last line hold, since slurm_spank_init is called for all lines first.
 */
enum stage {
	STAGE_NONE,
	STAGE_OPTIONS, /* init_post_opt */
	STAGE_NODE,    /* user_init */
	STAGE_TASK,    /* task_init, in the process of the task */
};

static enum stage stage;
static bool marked; /* is_alone() has set MARKER */
static enum role role;
static struct srank_step step;

static bool reach(enum stage next)
{
	if (stage >= next)
		return false;
	stage = next;
	return true;
}

/*
 * Another file of this plugin in the same slurmstepd, an older release in another folder,
 * say, has variables of its own. The two know each other by the environment of
 * slurmstepd, which is not that of the tasks; the first one acts.
 */
#define MARKER "SRANK_PLUGIN_OF_PROCESS"

static bool is_alone(void)
{
	const char *value = getenv(MARKER);
	char own[16];

	snprintf(own, sizeof(own), "%d", (int)getpid());
	if (value && strcmp(value, own) == 0) {
		slurm_verbose("srank: plugstack.conf has another file of this plugin, "
			      "which acts already");
		return false;
	}
	marked = setenv(MARKER, own, 1) == 0;
	return true;
}

static void clear(void)
{
	srank_shared_destroy(&step.shared, step.ntasks);
	srank_found_clear(&step.found);
	launch_facts_clear(&step.devices);
	free(step.gpus);
	memset(&step, 0, sizeof(step));
	if (marked)
		unsetenv(MARKER);
	marked = false;
	role = ROLE_IDLE;
	stage = STAGE_NONE;
	srank_options_clear();
}

static void keep_error(const char *what, int r)
{
	/* The first one may have been set by what failed, with more to say. */
	launch_error_set(&step.error, r, "%s: %s", what, strerror(-r));
	if (step.abandon == SRANK_ABANDON_NO)
		step.abandon = srank_task_abandon(r, &step.found);
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	/* slurmd loads the plugin too, and would die with it. */
	if (spank_context() == S_CTX_SLURMD)
		return 0;
	clear();
	srank_options_site(argc, argv);
	srank_options_register(spank);
	return 0;
}

/*
 * In srun, sbatch and salloc: what --srank says was refused already, SRANK= was not. -1
 * ends the command, but only where plugstack.conf calls the plugin required. It is asked
 * again for each component of a heterogeneous job, and for each line of plugstack.conf;
 * what was said once need not be repeated.
 */
static int check_local(void)
{
	struct launch_error err = {""};
	bool help;
	int r;

	r = srank_options_resolve(getenv("SRANK"), &step.settings, &err);
	help = r == 0 && step.settings.help && !step.settings.on;
	if (help)
		r = launch_error_set(&err, -EINVAL,
				     "SRANK=help sets nothing; unset it, or use "
				     "--srank=help, which runs nothing");
	if (r == 0)
		return 0;
	if (strcmp(err.text, step.error.text) != 0) {
		if (help)
			srank_options_help(stderr);
		slurm_error("srank: %s", err.text);
		step.error = err;
	}
	return -1;
}

static enum role find_role(spank_t spank)
{
	uint32_t step_id;

	if (spank_get_item(spank, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS) {
		keep_error("number of the step", -EIO);
		return ROLE_TASKS;
	}
	if (step_id == SLURM_BATCH_SCRIPT)
		return ROLE_BATCH;
	/* The extern step has no task, the interactive one is a shell on a node. */
	return step_id < SLURM_MAX_NORMAL_STEP_ID ? ROLE_TASKS : ROLE_IDLE;
}

static bool is_batch_step(spank_t spank)
{
	uint32_t step_id;

	return spank_get_item(spank, S_JOB_STEPID, &step_id) == ESPANK_SUCCESS &&
	       step_id == SLURM_BATCH_SCRIPT;
}

/*
 * Where rank 0 is and by what address, as far as that is to be asked for. Not later than
 * in init_post_opt: while user_init runs, slurmstepd holds the lock of its credentials
 * (auth_setuid_lock() in its drop_privileges() since 23.02), and a message to
 * slurmctld would be its end.
 */
static void find_meeting(spank_t spank)
{
	int r = srank_source_find(spank, role == ROLE_BATCH, &step.settings, &step.found,
				  &step.error);

	if (r)
		keep_error("address of rank 0", r);
}

static void check_remote(spank_t spank)
{
	struct srank_environment environment = {.spank = spank};
	const char *list;

	if (is_batch_step(spank))
		srank_options_inherit(
			srank_environment_get(SRANK_OPTION_OF_SCRIPT, &environment));
	list = srank_environment_get("SRANK", &environment);
	srank_options_resolve(list, &step.settings, &step.error);
	if (environment.error) {
		keep_error("SRANK", environment.error);
		step.settings.on = true;
	}
	srank_environment_clear(&environment);
	if (step.settings.on)
		role = find_role(spank);
	/* srun does not hear of this, as it should be: it is not the user's. */
	else if (launch_error_is_set(&step.error))
		slurm_error("srank: %s; default=on is without effect", step.error.text);
	if (role != ROLE_IDLE && !is_alone())
		role = ROLE_IDLE;
	if (role != ROLE_IDLE && !launch_error_is_set(&step.error))
		find_meeting(spank);
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
	switch (spank_context()) {
	case S_CTX_LOCAL:
	case S_CTX_ALLOCATOR:
		return check_local();
	case S_CTX_REMOTE:
		if (reach(STAGE_OPTIONS))
			check_remote(spank);
		return 0;
	default:
		return 0;
	}
}

/* -m, or SLURM_HOSTFILE by itself, as srun makes it known to the tasks. */
static bool is_arbitrary(void)
{
	return launch_layout_of(getenv("SLURM_DISTRIBUTION")) == LAUNCH_LAYOUT_ARBITRARY;
}

/*
 * In srun, when the step is made and its tasks are not started: what is set here, the
 * tasks get. It is never an error: without it they say themselves what is missing.
 */
int slurm_spank_local_user_init(spank_t spank, int argc, char **argv)
{
	uint32_t job_id, step_id;
	char *text;
	int r;

	if (!step.settings.on || launch_error_is_set(&step.error) || !is_arbitrary())
		return 0;
	if (spank_get_item(spank, S_JOB_ID, &job_id) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_STEPID, &step_id) != ESPANK_SUCCESS)
		return 0;
	r = srank_layout_order(job_id, step_id, &text);
	if (r == 0 && setenv(LAUNCH_ORDER_VARIABLE, text, 1) < 0)
		r = -errno;
	if (r)
		slurm_verbose("srank: layout of step %u.%u: %s", job_id, step_id,
			      strerror(-r));
	free(text);
	return 0;
}

/*
 * More devices than can be bound, or such that none of us has seen: who asked for the
 * plugin is told, and where default=on alone has switched it on, they stay as they are.
 */
static int locate_gpus(const char *step_gpus)
{
	struct launch_error err = {""};
	int r;

	step.gpus = calloc(1, sizeof(*step.gpus));
	if (!step.gpus)
		return -ENOMEM;
	r = launch_gpus_read(step.gpus, step.devices.gpus, step.devices.gpu_variables,
			     step_gpus, srank_options_sysroot(), &err);
	if (r && step.settings.asked)
		return launch_error_set(&step.error, r, "%s", err.text);
	if (r) {
		slurm_verbose("srank: %s", err.text);
		free(step.gpus);
		step.gpus = NULL;
	}
	return 0;
}

/* The GPUs of the step on this node, and where they sit. */
static void find_gpus(spank_t spank)
{
	char *step_gpus = NULL;
	int r;

	r = srank_source_devices(spank, &step.devices, &step_gpus);
	if (r == 0 && step.devices.gpus && step.settings.gpus != LAUNCH_GPUS_NONE)
		r = locate_gpus(step_gpus);
	if (r)
		keep_error("GPUs of this node", r);
	free(step_gpus);
}

static void share(spank_t spank)
{
	spank_err_t r = spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &step.ntasks);

	if (r == ESPANK_SUCCESS) {
		step.shared = srank_shared_create(step.ntasks);
		if (!step.shared)
			keep_error("memory shared by the tasks of this node", -errno);
	} else {
		launch_error_set(&step.error, -EIO, "number of tasks on this node: %s",
				 spank_strerror(r));
	}
	if (!step.shared)
		step.abandon = SRANK_ABANDON_IN_TURN;
}

int slurm_spank_user_init(spank_t spank, int argc, char **argv)
{
	bool failed = launch_error_is_set(&step.error);

	if (role != ROLE_TASKS || !reach(STAGE_NODE))
		return 0;
	share(spank);
	if (!failed && step.shared)
		find_gpus(spank);
	return 0;
}

int slurm_spank_task_post_fork(spank_t spank, int argc, char **argv)
{
	int task;
	pid_t pid;

	/* Masks are for choosing GPUs, and for the table of `verbose`. */
	if (role != ROLE_TASKS || !step.shared || (!step.gpus && !step.settings.verbose))
		return 0;
	if (spank_get_item(spank, S_TASK_ID, &task) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_TASK_PID, &pid) != ESPANK_SUCCESS)
		return 0;
	/* A mask that cannot be read stays empty: the task is as near to any GPU. */
	if (task >= 0 && (uint32_t)task < step.ntasks)
		launch_cpuset_affinity(pid, &step.shared->masks[task]);
	return 0;
}

/* Tasks of a node mostly fail for the same reason, so one of them says it. */
static void report(const struct launch_error *err, int r)
{
	if (step.shared && atomic_exchange(&step.shared->reported, true))
		return;
	slurm_error("srank: %s", launch_error_is_set(err) ? err->text : strerror(-r));
}

static void wait_ms(long ms)
{
	const struct timespec time = {.tv_sec = ms / 1000,
				      .tv_nsec = ms % 1000 * 1000 * 1000};

	nanosleep(&time, NULL);
}

/*
 * When a step is ended (by this plugin, or by srun for --kill-on-bad-exit), srun drops
 * what it has not read from its tasks: client_io_handler_abort(), called in Slurm's
 * src/api/step_launch.c. The error that was just printed gets this lead; slurmstepd's own
 * thread hands it on meanwhile.
 */
#define LEAD_MS 300

/*
 * What one node cannot do, all of them may not be able to do, and slurmctld is to get one
 * message then and not ten thousand. So each node waits a little longer than the one
 * before it, and the step is ended meanwhile, by which these tasks go, too: none of them
 * is left to give the word (slurm_spank_task_exit).
 */
#define TURN_MS   50
#define TURNS_MAX 40

static void wait_turn(spank_t spank)
{
	uint32_t node;

	/* proctrack/linuxproc spares processes by the name of slurmstepd (kill_tree.c).
	 */
	prctl(PR_SET_NAME, "srank");
	if (spank_get_item(spank, S_JOB_NODEID, &node) != ESPANK_SUCCESS ||
	    node > TURNS_MAX)
		node = TURNS_MAX;
	wait_ms(TURN_MS * node);
}

/* Ends the process, as exec_task() in src/slurmd/slurmstepd/task.c would. */
static void end_task(spank_t spank)
{
	wait_ms(LEAD_MS);
	if (step.abandon == SRANK_ABANDON_IN_TURN)
		wait_turn(spank);
	if (step.shared && step.abandon != SRANK_ABANDON_NO)
		step.shared->abandon = true;
	_exit(EXIT_FAILURE);
}

/* In the process that is to become the task. */
static int start_task(spank_t spank)
{
	struct launch_error err = step.error;
	int r = -EINVAL;

	if (!step.shared)
		launch_error_set(&err, r, "Slurm started a task without user_init");
	if (!launch_error_is_set(&err))
		r = srank_task(spank, &step, &err);
	if (r) {
		report(&err, r);
		end_task(spank);
	}
	return 0;
}

/* The script starts, come what may: a failing batch step can drain the node. */
static int start_batch(spank_t spank)
{
	struct launch_error err = step.error;
	int r = -EINVAL;

	if (!launch_error_is_set(&err))
		r = srank_task_batch(spank, &step, &err);
	if (r)
		slurm_error(
			"srank: %s (the script runs without MASTER_ADDR and MASTER_PORT)",
			launch_error_is_set(&err) ? err.text : strerror(-r));
	return 0;
}

int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	if (role == ROLE_IDLE || !reach(STAGE_TASK))
		return 0;
	switch (role) {
	case ROLE_TASKS:
		return start_task(spank);
	case ROLE_BATCH:
		return start_batch(spank);
	case ROLE_IDLE:
		break;
	}
	return 0;
}

/*
 * The components of a heterogeneous job are jobs, and slurmctld ends a step in all of
 * them when it is called by the first one's number (kill_job_step() in its job_mgr.c;
 * their steps are numbered together). The environment, which has that number, too, is the
 * user's, and slurmstepd might end any job there is: it only says whether to ask.
 */
static uint32_t job_to_end(spank_t spank, uint32_t job_id)
{
	struct srank_environment environment = {.spank = spank};
	const char *components = srank_environment_get("SLURM_HET_SIZE", &environment);
	uint32_t leader = components ? srank_layout_leader(job_id) : job_id;

	srank_environment_clear(&environment);
	return leader;
}

/*
 * srun lets the other tasks of a step go on when one has failed (--kill-on-bad-exit is
 * off by default), and they would wait for it until they time out. So the node sends one
 * message to slurmctld, unless all others have the failure, too.
 */
int slurm_spank_task_exit(spank_t spank, int argc, char **argv)
{
	bool abandon = step.shared ? step.shared->abandon : step.abandon;
	uint32_t job_id, step_id;

	if (role != ROLE_TASKS || step.abandoned || !abandon)
		return 0;
	step.abandoned = true;
	if (spank_get_item(spank, S_JOB_ID, &job_id) == ESPANK_SUCCESS &&
	    spank_get_item(spank, S_JOB_STEPID, &step_id) == ESPANK_SUCCESS)
		srank_kill_step(job_to_end(spank, job_id), step_id);
	return 0;
}

int slurm_spank_exit(spank_t spank, int argc, char **argv)
{
	if (spank_context() != S_CTX_SLURMD)
		clear();
	return 0;
}
