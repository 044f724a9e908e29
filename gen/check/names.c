/* SPDX-License-Identifier: MIT */
/*
 * The rule about names of variables that look like Slurm's and are none: a shell expands
 * them to nothing and says not a word. A site may well set others of its own, such as
 * SLURM_TMPDIR, so a name that is only unknown is passed over: told are those that are
 * one slip away from a name of Slurm's, and those that people think there are.
 */
#include "gen/check/rules.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a job's programs may find, and what srun, sbatch and salloc read: the ENVIRONMENT
 * VARIABLES of their manuals from 20.11 to 26.05, those of prologs and epilogs
 * (slurm.schedmd.com/prolog_epilog.html), and what slurmstepd and the PMI plugins set
 * besides. In the order of strcmp().
 */
static const char *const known[] = {
	"SLURMD_DEBUG",
	"SLURMD_NODENAME",
	"SLURMD_PORT",
	"SLURM_ACCOUNT",
	"SLURM_ACCTG_FREQ",
	"SLURM_ARRAY_JOB_ID",
	"SLURM_ARRAY_TASK_COUNT",
	"SLURM_ARRAY_TASK_ID",
	"SLURM_ARRAY_TASK_MAX",
	"SLURM_ARRAY_TASK_MIN",
	"SLURM_ARRAY_TASK_STEP",
	"SLURM_BCAST",
	"SLURM_BCAST_EXCLUDE",
	"SLURM_BITSTR_LEN",
	"SLURM_BURST_BUFFER",
	"SLURM_CLUSTERS",
	"SLURM_CLUSTER_CONSTRAINT",
	"SLURM_CLUSTER_NAME",
	"SLURM_COMPRESS",
	"SLURM_CONF",
	"SLURM_CONSTRAINT",
	"SLURM_CONTAINER",
	"SLURM_CONTAINER_ID",
	"SLURM_CONTAINER_TYPE",
	"SLURM_CORE_SPEC",
	"SLURM_CPUS_ON_NODE",
	"SLURM_CPUS_PER_GPU",
	"SLURM_CPUS_PER_TASK",
	"SLURM_CPU_BIND",
	"SLURM_CPU_BIND_LIST",
	"SLURM_CPU_BIND_TYPE",
	"SLURM_CPU_BIND_VERBOSE",
	"SLURM_CPU_FREQ_REQ",
	"SLURM_DEBUG",
	"SLURM_DEBUG_FLAGS",
	"SLURM_DELAY_BOOT",
	"SLURM_DEPENDENCY",
	"SLURM_DISABLE_STATUS",
	"SLURM_DISTRIBUTION",
	"SLURM_DIST_PLANESIZE",
	"SLURM_EPILOG",
	"SLURM_EXACT",
	"SLURM_EXCLUSIVE",
	"SLURM_EXIT_ERROR",
	"SLURM_EXIT_IMMEDIATE",
	"SLURM_EXPORT_ENV",
	"SLURM_GET_USER_ENV",
	"SLURM_GPUS",
	"SLURM_GPUS_ON_NODE",
	"SLURM_GPUS_PER_NODE",
	"SLURM_GPUS_PER_SOCKET",
	"SLURM_GPUS_PER_TASK",
	"SLURM_GPU_BIND",
	"SLURM_GPU_FREQ",
	"SLURM_GRES",
	"SLURM_GRES_FLAGS",
	"SLURM_GTIDS",
	"SLURM_HET_JOB_ID",
	"SLURM_HET_JOB_NODELIST",
	"SLURM_HET_JOB_OFFSET",
	"SLURM_HET_SIZE",
	"SLURM_HINT",
	"SLURM_HOSTFILE",
	"SLURM_IMMEDIATE",
	"SLURM_JOBID",
	"SLURM_JOB_ACCOUNT",
	"SLURM_JOB_COMMENT",
	"SLURM_JOB_CONSTRAINTS",
	"SLURM_JOB_CORE_SPEC_COUNT",
	"SLURM_JOB_CPUS",
	"SLURM_JOB_CPUS_PER_NODE",
	"SLURM_JOB_DEPENDENCY",
	"SLURM_JOB_DERIVED_EC",
	"SLURM_JOB_END_TIME",
	"SLURM_JOB_EXCLUSIVE",
	"SLURM_JOB_EXIT_CODE",
	"SLURM_JOB_EXIT_CODE2",
	"SLURM_JOB_EXIT_CODE_MAX",
	"SLURM_JOB_EXIT_CODE_MIN",
	"SLURM_JOB_EXTRA",
	"SLURM_JOB_GID",
	"SLURM_JOB_GPUS",
	"SLURM_JOB_GRES",
	"SLURM_JOB_GROUP",
	"SLURM_JOB_ID",
	"SLURM_JOB_LICENSES",
	"SLURM_JOB_MAIL_TYPE",
	"SLURM_JOB_MEM",
	"SLURM_JOB_NAME",
	"SLURM_JOB_NICS",
	"SLURM_JOB_NODELIST",
	"SLURM_JOB_NTASKS",
	"SLURM_JOB_NUM_NODES",
	"SLURM_JOB_OVERSUBSCRIBE",
	"SLURM_JOB_PARTITION",
	"SLURM_JOB_QOS",
	"SLURM_JOB_QUEUED_TIME",
	"SLURM_JOB_RESERVATION",
	"SLURM_JOB_RESTART_COUNT",
	"SLURM_JOB_RUN_TIME",
	"SLURM_JOB_SEGMENT_SIZE",
	"SLURM_JOB_SELINUX_CONTEXT",
	"SLURM_JOB_SLUID",
	"SLURM_JOB_STAGE_OUT_TIME",
	"SLURM_JOB_START_TIME",
	"SLURM_JOB_STATE",
	"SLURM_JOB_STDERR",
	"SLURM_JOB_STDIN",
	"SLURM_JOB_STDOUT",
	"SLURM_JOB_TERM_SIGNAL_MAX",
	"SLURM_JOB_UID",
	"SLURM_JOB_USER",
	"SLURM_JOB_WORK_DIR",
	"SLURM_JSON",
	"SLURM_JWT",
	"SLURM_KILL_BAD_EXIT",
	"SLURM_LABELIO",
	"SLURM_LAUNCH_NODE_IPADDR",
	"SLURM_LOCALID",
	"SLURM_MEM_BIND",
	"SLURM_MEM_BIND_LIST",
	"SLURM_MEM_BIND_PREFER",
	"SLURM_MEM_BIND_SORT",
	"SLURM_MEM_BIND_TYPE",
	"SLURM_MEM_BIND_VERBOSE",
	"SLURM_MEM_PER_CPU",
	"SLURM_MEM_PER_GPU",
	"SLURM_MEM_PER_NODE",
	"SLURM_MPI_TYPE",
	"SLURM_NETWORK",
	"SLURM_NNODES",
	"SLURM_NODEID",
	"SLURM_NODELIST",
	"SLURM_NODE_ALIASES",
	"SLURM_NO_KILL",
	"SLURM_NPROCS",
	"SLURM_NTASKS",
	"SLURM_NTASKS_PER_CORE",
	"SLURM_NTASKS_PER_GPU",
	"SLURM_NTASKS_PER_NODE",
	"SLURM_NTASKS_PER_SOCKET",
	"SLURM_NTASKS_PER_TRES",
	"SLURM_OOM_KILL_STEP",
	"SLURM_OPEN_MODE",
	"SLURM_OVERCOMMIT",
	"SLURM_OVERLAP",
	"SLURM_PACK_JOB_ID",
	"SLURM_PACK_JOB_NODELIST",
	"SLURM_PACK_JOB_OFFSET",
	"SLURM_PACK_SIZE",
	"SLURM_PARTITION",
	"SLURM_PMIXP_ABORT_AGENT_PORT",
	"SLURM_PMI_KVS_NO_DUP_KEYS",
	"SLURM_PMI_RESP_IFHN",
	"SLURM_POWER",
	"SLURM_PRIO_PROCESS",
	"SLURM_PROCID",
	"SLURM_PROFILE",
	"SLURM_PROLOG",
	"SLURM_PROLOG_CPU_MASK",
	"SLURM_PTY_PORT",
	"SLURM_PTY_WIN_COL",
	"SLURM_PTY_WIN_ROW",
	"SLURM_QOS",
	"SLURM_REMOTE_CWD",
	"SLURM_REQ_SWITCH",
	"SLURM_RESERVATION",
	"SLURM_RESTART_COUNT",
	"SLURM_RESV_PORTS",
	"SLURM_RLIMIT_AS",
	"SLURM_RLIMIT_CORE",
	"SLURM_RLIMIT_CPU",
	"SLURM_RLIMIT_DATA",
	"SLURM_RLIMIT_FSIZE",
	"SLURM_RLIMIT_MEMLOCK",
	"SLURM_RLIMIT_NOFILE",
	"SLURM_RLIMIT_NPROC",
	"SLURM_RLIMIT_RSS",
	"SLURM_RLIMIT_STACK",
	"SLURM_SEND_LIBS",
	"SLURM_SHARDS_ON_NODE",
	"SLURM_SIGNAL",
	"SLURM_SPREAD_JOB",
	"SLURM_SRUN_COMM_HOST",
	"SLURM_SRUN_COMM_PORT",
	"SLURM_SRUN_REDUCE_TASK_EXIT_MSG",
	"SLURM_STDERRMODE",
	"SLURM_STDINMODE",
	"SLURM_STDOUTMODE",
	"SLURM_STEPID",
	"SLURM_STEPMGR",
	"SLURM_STEP_GPUS",
	"SLURM_STEP_GRES",
	"SLURM_STEP_ID",
	"SLURM_STEP_KILLED_MSG_NODE_ID",
	"SLURM_STEP_LAUNCHER_PORT",
	"SLURM_STEP_NICS",
	"SLURM_STEP_NODELIST",
	"SLURM_STEP_NUM_NODES",
	"SLURM_STEP_NUM_TASKS",
	"SLURM_STEP_RESV_PORTS",
	"SLURM_STEP_TASKS_PER_NODE",
	"SLURM_SUBMIT_DIR",
	"SLURM_SUBMIT_HOST",
	"SLURM_TASKS_PER_NODE",
	"SLURM_TASK_EPILOG",
	"SLURM_TASK_PID",
	"SLURM_TASK_PROLOG",
	"SLURM_THREADS",
	"SLURM_THREADS_PER_CORE",
	"SLURM_THREAD_SPEC",
	"SLURM_TIMELIMIT",
	"SLURM_TIME_FORMAT",
	"SLURM_TOPOLOGY_ADDR",
	"SLURM_TOPOLOGY_ADDR_PATTERN",
	"SLURM_TOPO_LEN",
	"SLURM_TRES_BIND",
	"SLURM_TRES_PER_TASK",
	"SLURM_UID",
	"SLURM_UMASK",
	"SLURM_UNBUFFEREDIO",
	"SLURM_USE_MIN_NODES",
	"SLURM_VERSION",
	"SLURM_WAIT",
	"SLURM_WAIT4SWITCH",
	"SLURM_WCKEY",
	"SLURM_WORKING_CLUSTER",
	"SLURM_WORKING_DIR",
	"SLURM_YAML",
};

#define KNOWN (sizeof(known) / sizeof(*known))

/*
 * Names that no Slurm has ever set for a job, and what is meant by them. SLURM_NODE_NAME
 * is there for the programs of slurmctld alone (slurm.conf.5, RebootProgram).
 */
static const struct {
	const char *name, *meant;
	const char *or_else; /* when MEANT alone is not certain */
} invented[] = {
	{"SLURM_ARRAY_ID", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_JOB_ID"},
	{"SLURM_CPUS", "SLURM_CPUS_ON_NODE", "SLURM_CPUS_PER_TASK"},
	{"SLURM_CPUS_PER_NODE", "SLURM_CPUS_ON_NODE", NULL},
	{"SLURM_GLOBAL_RANK", "SLURM_PROCID", NULL},
	{"SLURM_GPU_COUNT", "SLURM_GPUS_ON_NODE", NULL},
	{"SLURM_HOSTLIST", "SLURM_JOB_NODELIST", NULL},
	{"SLURM_HOSTNAME", "SLURMD_NODENAME", NULL},
	{"SLURM_HOSTS", "SLURM_JOB_NODELIST", NULL},
	{"SLURM_JOB_HOSTLIST", "SLURM_JOB_NODELIST", NULL},
	{"SLURM_JOB_HOSTS", "SLURM_JOB_NODELIST", NULL},
	{"SLURM_JOB_NNODES", "SLURM_JOB_NUM_NODES", NULL},
	{"SLURM_JOB_NODES", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NODELIST"},
	{"SLURM_JOB_NUM_TASKS", "SLURM_NTASKS", NULL},
	{"SLURM_LOCAL_RANK", "SLURM_LOCALID", NULL},
	{"SLURM_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE", NULL},
	{"SLURM_LOCAL_TASK_ID", "SLURM_LOCALID", NULL},
	{"SLURM_MEM", "SLURM_MEM_PER_NODE", NULL},
	{"SLURM_NCPUS", "SLURM_CPUS_ON_NODE", NULL},
	{"SLURM_NGPUS", "SLURM_GPUS_ON_NODE", NULL},
	{"SLURM_NODE_INDEX", "SLURM_NODEID", NULL},
	{"SLURM_NODE_NAME", "SLURMD_NODENAME", NULL},
	{"SLURM_NODE_RANK", "SLURM_NODEID", NULL},
	{"SLURM_NODENAME", "SLURMD_NODENAME", NULL},
	{"SLURM_NUM_CPUS", "SLURM_CPUS_ON_NODE", NULL},
	{"SLURM_NUM_GPUS", "SLURM_GPUS_ON_NODE", NULL},
	{"SLURM_NUM_NODES", "SLURM_NNODES", NULL},
	{"SLURM_NUM_PROCS", "SLURM_NTASKS", NULL},
	{"SLURM_NUM_TASKS", "SLURM_NTASKS", NULL},
	{"SLURM_PROC_RANK", "SLURM_PROCID", NULL},
	{"SLURM_QUEUE", "SLURM_JOB_PARTITION", NULL},
	{"SLURM_RANK", "SLURM_PROCID", NULL},
	{"SLURM_STEP_NNODES", "SLURM_STEP_NUM_NODES", NULL},
	{"SLURM_STEP_NTASKS", "SLURM_STEP_NUM_TASKS", NULL},
	{"SLURM_TASK_ID", "SLURM_PROCID", "SLURM_ARRAY_TASK_ID"},
	{"SLURM_TASK_RANK", "SLURM_PROCID", NULL},
	{"SLURM_TASKID", "SLURM_PROCID", "SLURM_ARRAY_TASK_ID"},
	{"SLURM_TOTAL_TASKS", "SLURM_NTASKS", NULL},
	{"SLURM_WORLD_SIZE", "SLURM_NTASKS", NULL},
};

/* No name of Slurm's is longer. */
#define NAME_MAX_LENGTH 48

/* Names of families: SLURM_SPANK_NAME, SLURM_RLIMIT_NOFILE. */
static bool is_of_family(const char *name)
{
	static const char *const families[] = {"SLURM_SPANK_", "SLURM_RLIMIT_",
					       "SLURM_PMI", "SLURM_CLI_", "SLURMDBD_"};

	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		if (strncmp(name, families[i], strlen(families[i])) == 0)
			return true;
	}
	return false;
}

static int compare(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

/* SLURM_JOB_NODELIST_HET_GROUP_1 is one component's SLURM_JOB_NODELIST. */
static bool is_known(const char *name)
{
	static const char *const groups[] = {"_HET_GROUP_", "_PACK_GROUP_"};

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (strstr(name, groups[i]))
			return true;
	}
	return is_of_family(name) ||
	       bsearch(name, known, KNOWN, sizeof(*known), compare) != NULL;
}

/* NAME in capitals and without _, in TEXT of NAME_MAX_LENGTH bytes; its length. */
static size_t fold(const char *name, char *text)
{
	size_t length = 0;

	for (; *name && length + 1 < NAME_MAX_LENGTH; name++) {
		if (*name != '_')
			text[length++] = (char)toupper((unsigned char)*name);
	}
	text[length] = '\0';
	return *name ? 0 : length;
}

/* A letter too much, too few or wrong, or two in the wrong order, or none of it. */
static bool is_a_slip(const char *a, size_t a_length, const char *b, size_t b_length)
{
	while (a_length > 0 && b_length > 0 && *a == *b) {
		a++, b++;
		a_length--, b_length--;
	}
	while (a_length > 0 && b_length > 0 && a[a_length - 1] == b[b_length - 1])
		a_length--, b_length--;
	return (a_length <= 1 && b_length <= 1) ||
	       (a_length == 2 && b_length == 2 && a[0] == b[1] && a[1] == b[0]);
}

/* What is meant by NAME; OR_ELSE: or by another; NULL: nothing that is known. */
static const char *meant_by(const char *name, const char **or_else)
{
	char text[NAME_MAX_LENGTH], other[NAME_MAX_LENGTH];
	const size_t length = fold(name, text);
	const char *near = NULL;

	*or_else = NULL;
	if (length == 0)
		return NULL;
	for (size_t i = 0; i < sizeof(invented) / sizeof(*invented); i++) {
		if (strcasecmp(invented[i].name, name) == 0) {
			*or_else = invented[i].or_else;
			return invented[i].meant;
		}
	}
	for (size_t i = 0; i < KNOWN; i++) {
		const size_t size = fold(known[i], other);

		if (size == length && memcmp(text, other, size) == 0)
			return known[i];
		if (!near && is_a_slip(text, length, other, size))
			near = known[i];
	}
	return near;
}

/* The script, or what it runs, sets NAME somewhere. */
static bool is_set(const struct check_model *model, const char *name)
{
	size_t low = 0, high = model->assignments_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = strcmp(model->by_name[middle]->name, name);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* ${X:-...} and its like say themselves what to do without. */
static bool has_default(const struct check_expansion *expansion)
{
	return expansion->op && strpbrk(expansion->op, "-=+?");
}

static void name(struct rules *rules, const struct check_expansion *expansion, bool shown)
{
	const char *name = expansion->name, *meant, *or_else, *found;
	const char *text = rules->model->source.text;
	struct script_range range = expansion->range;

	if (expansion->kind != CHECK_PARAMETER || !name ||
	    toupper((unsigned char)name[0]) != 'S' || strlen(name) < 6 ||
	    has_default(expansion) || is_known(name) ||
	    (expansion->shell && expansion->shell->where == CHECK_ELSEWHERE))
		return;
	meant = meant_by(name, &or_else);
	if (!meant || is_set(rules->model, name))
		return;
	if (!rules_tell_as(rules, RULE_SLURM_VARIABLE_MISSPELT,
			   shown ? DIAG_WARNING : DIAG_ERROR, range,
			   "Slurm sets no variable %s, so this is empty", name))
		return;
	if (or_else) {
		rules_fix(rules, "did you mean %s, or %s?", meant, or_else);
		return;
	}
	rules_fix(rules, "did you mean %s?", meant);
	if (range_is_empty(range))
		return;
	found = memmem(text + range.begin, range.end - range.begin, name, strlen(name));
	if (!found)
		return;
	range.begin = (uint32_t)(found - text);
	range.end = range.begin + (uint32_t)strlen(name);
	rules_edit(rules, range, "%s", meant);
}

static void names(struct rules *rules, const struct check_expansion *expansions,
		  size_t count, bool shown)
{
	for (size_t i = 0; i < count; i++) {
		name(rules, &expansions[i], shown);
		names(rules, expansions[i].inner, expansions[i].inner_count, shown);
	}
}

/* Prints or tests its words, and does nothing with them. */
static bool shows(const struct check_command *command)
{
	static const char *const names[] = {"echo", "printf", "[", "[[", "test"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(command->name, names[i]) == 0)
			return !command->substitute;
	}
	return false;
}

void rules_names(struct rules *rules)
{
	const struct check_model *model = rules->model;

	for (size_t i = 0; i < model->assignments_count; i++) {
		const struct check_assignment *set = model->assignments[i];

		if (set->shell->where != CHECK_ELSEWHERE)
			names(rules, set->value.expansions, set->value.expansions_count,
			      false);
	}
	for (size_t i = 0; i < model->commands_count; i++) {
		const struct check_command *command = model->commands[i];

		if (command->where == CHECK_ELSEWHERE || command->uncalled)
			continue;
		for (size_t j = 0; j < command->words_count; j++)
			names(rules, command->words[j].expansions,
			      command->words[j].expansions_count, shows(command));
	}
}
