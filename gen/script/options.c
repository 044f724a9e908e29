/* SPDX-License-Identifier: MIT */
/* The table, and how sbatch reads a command line; see options.h. */
#include "gen/script/options.h"

#include <string.h>

/* clang-format off */
#define SPEC(member)   .source = SCRIPT_FROM_SPEC, .offset = offsetof(struct spec, member)
#define TRUE(member)   .source = SCRIPT_FROM_FLAG, .offset = offsetof(struct spec, member)
#define BATCH(member)  .source = SCRIPT_FROM_BATCH, .offset = offsetof(struct plan_batch, member)
#define PLAN(of)       .source = SCRIPT_FROM_PLAN, .quantity = of, .owned = true
#define EACH           .component = true
#define OWNED          .owned = true
#define FLAG           .takes = SCRIPT_TAKES_NONE
#define MAY            .takes = SCRIPT_MAY_TAKE
#define PLUGIN         .plugin = true
#define SBATCH         .commands = SCRIPT_SBATCH
#define SRUN           .commands = SCRIPT_SRUN
#define SALLOC         .commands = SCRIPT_SALLOC
#define ALLOCATES      .commands = SCRIPT_SBATCH | SCRIPT_SALLOC
#define BATCH_OR_RUN   .commands = SCRIPT_SBATCH | SCRIPT_SRUN
#define INTERACTIVE    .commands = SCRIPT_SRUN | SCRIPT_SALLOC

const struct script_option script_options[] = {
	{"job-name", 'J', SPEC(name), .variables = "SBATCH_JOB_NAME"},
	{"comment", 0, SPEC(batch.comment)},
	{"clusters", 'M', SPEC(batch.clusters), .variables = "SBATCH_CLUSTERS"},
	{"partition", 'p', EACH, BATCH(partition), .variables = "SBATCH_PARTITION"},
	{"account", 'A', EACH, SPEC(batch.account), .variables = "SBATCH_ACCOUNT"},
	{"qos", 'q', EACH, SPEC(batch.qos), .variables = "SBATCH_QOS"},
	{"wckey", 0, EACH, SPEC(batch.wckey), .variables = "SBATCH_WCKEY"},
	{"reservation", 0, EACH, SPEC(batch.reservation), .variables = "SBATCH_RESERVATION"},
	{"constraint", 'C', EACH, SPEC(batch.constraint), .variables = "SBATCH_CONSTRAINT"},
	{"nodelist", 'w', EACH, SPEC(batch.nodelist)},
	{"exclude", 'x', EACH, SPEC(batch.exclude)},
	/*
	 * Both, always: without --nodes, --ntasks-per-node is only an upper limit
	 * (sbatch.1), and the tasks may be laid out over other nodes than planned.
	 */
	{"nodes", 'N', EACH, PLAN(PLAN_NODES)},
	{"ntasks", 'n', EACH, OWNED, .source = SCRIPT_FROM_TASKS, .quantity = PLAN_NTASKS},
	{"ntasks-per-node", 0, EACH, PLAN(PLAN_NTASKS_PER_NODE)},
	{"cpus-per-task", 'c', EACH, PLAN(PLAN_CPUS_PER_TASK)},
	{"threads-per-core", 0, EACH, SPEC(resources.threads_per_core),
	 .variables = "SBATCH_THREADS_PER_CORE"},
	{"hint", 0, EACH, SPEC(resources.hint), .variables = "SBATCH_HINT"},
	{"gres", 0, EACH, OWNED, .source = SCRIPT_FROM_GPUS, .variables = "SBATCH_GRES"},
	{"mem", 0, EACH, .source = SCRIPT_FROM_MEMORY,
	 .variables = "SBATCH_MEM_PER_NODE SBATCH_MEM_PER_CPU SBATCH_MEM_PER_GPU"},
	{"tmp", 0, EACH, SPEC(resources.tmp)},
	{"exclusive", 0, EACH, MAY, .source = SCRIPT_FROM_EXCLUSIVE,
	 .offset = offsetof(struct spec, resources.exclusive), .variables = "SBATCH_EXCLUSIVE"},
	{"licenses", 'L', SPEC(resources.licenses)},
	{"segment", 0, EACH, SPEC(resources.segment), .since = 2405},
	{"switches", 0, EACH, SPEC(resources.switches), .variables = "SBATCH_REQ_SWITCH"},
	{"time", 't', EACH, SPEC(batch.time), .variables = "SBATCH_TIMELIMIT"},
	{"time-min", 0, EACH, SPEC(batch.time_min)},
	{"begin", 'b', SPEC(batch.begin)},
	{"deadline", 0, SPEC(batch.deadline)},
	{"nice", 0, MAY, SPEC(batch.nice)},
	{"priority", 0, SPEC(batch.priority)},
	{"hold", 'H', FLAG, TRUE(batch.hold)},
	{"array", 'a', SBATCH, BATCH(array), .variables = "SBATCH_ARRAY_INX"},
	{"dependency", 'd', BATCH(dependency)},
	{"requeue", 0, MAY, SBATCH, EACH, .source = SCRIPT_FROM_REQUEUE,
	 .variables = "SBATCH_REQUEUE"},
	{"signal", 0, BATCH(signal), .variables = "SBATCH_SIGNAL"},
	{"mail-user", 0, SPEC(batch.mail.user)},
	{"mail-type", 0, BATCH(mail_type)},
	{"export", 0, BATCH_OR_RUN, SPEC(batch.export), .variables = "SBATCH_EXPORT"},
	{"output", 'o', BATCH_OR_RUN, SPEC(batch.output), .variables = "SBATCH_OUTPUT"},
	{"error", 'e', BATCH_OR_RUN, SPEC(batch.error), .variables = "SBATCH_ERROR"},
	{"open-mode", 0, BATCH_OR_RUN, BATCH(open_mode),
	 .variables = "SBATCH_OPEN_MODE"},

	/* Other ways to say a number that is the plan's. */
	{"tasks-per-node", 0, OWNED},
	{"ntasks-per-gpu", 0, OWNED},
	{"ntasks-per-tres", 0, OWNED},
	{"cpus-per-gpu", 0, OWNED, .variables = "SBATCH_CPUS_PER_GPU"},
	{"gpus", 'G', OWNED, .variables = "SBATCH_GPUS"},
	{"gpus-per-node", 0, OWNED, .variables = "SBATCH_GPUS_PER_NODE"},
	{"gpus-per-socket", 0, OWNED, .variables = "SBATCH_GPUS_PER_SOCKET"},
	{"gpus-per-task", 0, OWNED, .variables = "SBATCH_GPUS_PER_TASK"},
	{"tres-per-task", 0, OWNED, .since = 2302, .variables = "SBATCH_TRES_PER_TASK"},

	/* All others; with submit in mind: what is not here takes the next word. */
	{"accel-bind", 0, SRUN},
	{"acctg-freq", 0, .variables = "SBATCH_ACCTG_FREQ"},
	{"async", 0, FLAG, SRUN, .since = 2605},
	{"autocomplete", 0, .since = 2302},
	{"batch", 0, SBATCH, .variables = "SBATCH_BATCH"},
	{"bb", 0, .variables = "SBATCH_BURST_BUFFER"},
	{"bbf", 0},
	{"bcast", 0, MAY, SRUN},
	{"bcast-exclude", 0, SRUN},
	{"bell", 0, FLAG, SALLOC},
	{"chdir", 'D'},
	{"cluster", 0},
	{"cluster-constraint", 0, .variables = "SBATCH_CLUSTER_CONSTRAINT"},
	{"compress", 0, MAY, SRUN},
	{"consolidate-segments", 0, FLAG, .since = 2511},
	{"container", 0, .variables = "SBATCH_CONTAINER"},
	{"container-id", 0, .since = 2302, .variables = "SBATCH_CONTAINER_ID"},
	{"container-type", 0, .since = 2605},
	{"context", 0},
	{"contiguous", 0, FLAG},
	{"core-spec", 'S', .variables = "SBATCH_CORE_SPEC"},
	{"cores-per-socket", 0},
	{"cpu-bind", 0, SRUN},
	{"cpu-freq", 0, .variables = "SBATCH_CPU_FREQ_REQ"},
	{"cpu_bind", 0, SRUN},
	{"debugger-test", 0, FLAG, SRUN},
	{"delay-boot", 0, .variables = "SBATCH_DELAY_BOOT"},
	{"disable-status", 'X', FLAG, SRUN},
	{"distribution", 'm', .variables = "SBATCH_DISTRIBUTION"},
	{"epilog", 0, SRUN},
	{"exact", 0, FLAG, SRUN},
	{"export-file", 0, SBATCH},
	{"external", 0, FLAG, SBATCH, .since = 2505},
	{"external-launcher", 0, MAY, SRUN, .since = 2311},
	{"extra", 0, .since = 2302},
	{"extra-node-info", 'B'},
	{"get-user-env", 0, MAY, ALLOCATES, .variables = "SBATCH_GET_USER_ENV"},
	{"gid", 0},
	{"gpu-bind", 0, .variables = "SBATCH_GPU_BIND"},
	{"gpu-freq", 0, .variables = "SBATCH_GPU_FREQ"},
	{"gres-flags", 0, .variables = "SBATCH_GRES_FLAGS"},
	{"help", 'h', FLAG},
	{"het-group", 0, SRUN},
	{"ignore-pbs", 0, FLAG, SBATCH, .variables = "SBATCH_IGNORE_PBS"},
	{"ignore-signals", 0, SRUN, .since = 2605},
	{"immediate", 'I', MAY, INTERACTIVE},
	{"input", 'i', BATCH_OR_RUN, .variables = "SBATCH_INPUT"},
	{"interactive", 0, FLAG, SRUN},
	{"jobid", 0, SRUN},
	{"kill-command", 'K', MAY, SALLOC},
	{"kill-on-bad-exit", 'K', MAY, SRUN},
	{"kill-on-invalid-dep", 0, SBATCH},
	{"label", 'l', FLAG, SRUN},
	{"mcs-label", 0},
	{"mem-bind", 0, .variables = "SBATCH_MEM_BIND"},
	{"mem-per-cpu", 0, .variables = "SBATCH_MEM_PER_CPU"},
	{"mem-per-gpu", 0, .variables = "SBATCH_MEM_PER_GPU"},
	{"mem-update", 0, .since = 2605},
	{"mincpus", 0},
	{"mpi", 0, SRUN},
	{"msg-timeout", 0, SRUN},
	{"multi-prog", 0, FLAG, SRUN},
	{"network", 0, .variables = "SBATCH_NETWORK"},
	{"no-allocate", 'Z', FLAG, SRUN},
	{"no-bell", 0, FLAG, SALLOC},
	{"no-kill", 'k', MAY, .variables = "SBATCH_NO_KILL"},
	{"no-requeue", 0, FLAG, SBATCH, .variables = "SBATCH_NO_REQUEUE"},
	{"no-shell", 0, FLAG, SALLOC},
	{"nodefile", 'F'},
	{"ntasks-per-core", 0},
	{"ntasks-per-socket", 0},
	{"oom-kill-step", 0, MAY, .since = 2411},
	{"overcommit", 'O', FLAG, .variables = "SBATCH_OVERCOMMIT"},
	{"overlap", 0, MAY, SRUN},
	{"oversubscribe", 's', FLAG},
	{"pack-group", 0, SRUN},
	{"parsable", 0, FLAG, BATCH_OR_RUN},
	{"power", 0, .until = 2405, .variables = "SBATCH_POWER"},
	{"prefer", 0},
	{"preserve-env", 'E', FLAG, SRUN},
	{"profile", 0, .variables = "SBATCH_PROFILE"},
	{"prolog", 0, SRUN},
	{"propagate", 0, MAY, BATCH_OR_RUN},
	{"pty", 0, MAY, SRUN},
	{"quiet", 'Q', FLAG},
	{"quit-on-interrupt", 0, FLAG, SRUN},
	{"reboot", 0, FLAG},
	{"relative", 'r', SRUN},
	{"resources", 0, .since = 2511},
	{"resv-ports", 0, MAY, SRUN},
	{"resv-ports", 0, MAY, ALLOCATES, .since = 2405},
	{"send-libs", 0, MAY, SRUN},
	{"slurmd-debug", 0, SRUN},
	{"sockets-per-node", 0},
	{"spread-job", 0, FLAG, .variables = "SBATCH_SPREAD_JOB"},
	{"spread-segments", 0, FLAG, .since = 2511},
	{"stepmgr", 0, FLAG, .since = 2405},
	{"task-epilog", 0, SRUN},
	{"task-prolog", 0, SRUN},
	{"test-only", 0, FLAG, BATCH_OR_RUN},
	{"thread-spec", 0, .variables = "SBATCH_THREAD_SPEC"},
	{"threads", 'T', SRUN},
	{"treewidth", 0, SRUN, .since = 2311},
	{"tres-bind", 0, .since = 2311, .variables = "SBATCH_TRES_BIND"},
	{"uid", 0},
	{"unbuffered", 'u', FLAG, SRUN},
	{"usage", 0, FLAG},
	{"use-min-nodes", 0, FLAG, .variables = "SBATCH_USE_MIN_NODES"},
	{"verbose", 'v', FLAG, .variables = "SBATCH_DEBUG"},
	{"version", 'V', FLAG},
	{"wait", 'W', FLAG, SBATCH, .variables = "SBATCH_WAIT"},
	{"wait", 'W', SRUN},
	{"wait-all-nodes", 0, ALLOCATES, .variables = "SBATCH_WAIT_ALL_NODES"},
	{"wait-for-children", 0, FLAG, SRUN, .since = 2505},
	{"whole", 0, FLAG, SRUN},
	{"wrap", 0, SBATCH},
	{"x11", 0, MAY, INTERACTIVE},

	/* What plugins of many sites add: pyxis (args.c in its source), shifter at NERSC,
	 * the container engine and uenv at CSCS, the switches of JSC, and our own. */
	{"container-image", 0, PLUGIN},
	{"container-mounts", 0, PLUGIN},
	{"container-workdir", 0, PLUGIN},
	{"container-name", 0, PLUGIN},
	{"container-save", 0, PLUGIN},
	{"container-env", 0, PLUGIN},
	{"image", 0, PLUGIN},
	{"volume", 0, PLUGIN},
	{"module", 0, PLUGIN},
	{"environment", 0, PLUGIN},
	{"uenv", 0, PLUGIN},
	{"view", 0, PLUGIN},
	{"container-mount-home", 0, FLAG, PLUGIN},
	{"no-container-mount-home", 0, FLAG, PLUGIN},
	{"container-remap-root", 0, FLAG, PLUGIN},
	{"no-container-remap-root", 0, FLAG, PLUGIN},
	{"container-entrypoint", 0, FLAG, PLUGIN},
	{"no-container-entrypoint", 0, FLAG, PLUGIN},
	{"container-entrypoint-log", 0, FLAG, PLUGIN},
	{"container-writable", 0, FLAG, PLUGIN},
	{"container-readonly", 0, FLAG, PLUGIN},
	{"disable-dcgm", 0, FLAG, PLUGIN},
	{"disable-perfparanoid", 0, FLAG, PLUGIN},
	{"disable-turbomode", 0, FLAG, PLUGIN},
	{"srank", 0, MAY, PLUGIN},
};
/* clang-format on */

const size_t script_options_count = sizeof(script_options) / sizeof(*script_options);

enum verdict {
	ALONE,       /* fine, and the next word is one of its own */
	TAKES_VALUE, /* fine, and the next word is its value */
	IS_OWNED,
};

bool script_option_of(const struct script_option *option, enum script_command command,
		      script_slurm slurm)
{
	return (!option->commands || option->commands & command) &&
	       (!slurm || ((!option->since || slurm >= option->since) &&
			   (!option->until || slurm < option->until)));
}

static enum verdict verdict_on(const struct script_option *option, bool with_value)
{
	if (option->owned)
		return IS_OWNED;
	return option->takes != SCRIPT_TAKES_VALUE || with_value ? ALONE : TAKES_VALUE;
}

/* --NAME or --NAME=VALUE; any unambiguous beginning of a name will do for sbatch. */
static enum verdict read_long(const char *word)
{
	const size_t length = strcspn(word, "=");
	const bool with_value = word[length] != '\0';
	enum verdict verdict = with_value ? ALONE : TAKES_VALUE;

	for (size_t i = 0; i < script_options_count; i++) {
		const struct script_option *option = &script_options[i];

		if (!script_option_of(option, SCRIPT_SBATCH, 0) ||
		    strncmp(option->name, word, length) != 0)
			continue;
		if (!option->name[length] || option->owned)
			return verdict_on(option, with_value);
		if (option->takes != SCRIPT_TAKES_VALUE)
			verdict = ALONE;
	}
	return verdict;
}

static const struct script_option *find_letter(char letter)
{
	for (size_t i = 0; i < script_options_count; i++) {
		if (script_options[i].letter == letter &&
		    script_option_of(&script_options[i], SCRIPT_SBATCH, 0))
			return &script_options[i];
	}
	return NULL;
}

/* Letters in one word, of which the first that takes a value has the rest: -HN1. */
static enum verdict read_letters(const char *word)
{
	for (; *word; word++) {
		const struct script_option *option = find_letter(*word);

		if (option && option->owned)
			return IS_OWNED;
		if (!option || option->takes == SCRIPT_TAKES_VALUE)
			return word[1] ? ALONE : TAKES_VALUE;
		/* -k can have a value, and only in the same word. */
		if (option->takes == SCRIPT_MAY_TAKE)
			return ALONE;
	}
	return ALONE;
}

size_t script_options_check(char *const *arguments, size_t count, bool *owned)
{
	bool options = true;

	*owned = false;
	for (size_t i = 0; i < count; i++) {
		const char *word = arguments[i];
		enum verdict verdict;

		if (!options || word[0] != '-' || !word[1])
			return i;
		options = strcmp(word, "--") != 0;
		if (!options)
			continue;
		verdict = word[1] == '-' ? read_long(word + 2) : read_letters(word + 1);
		*owned = verdict == IS_OWNED;
		if (*owned)
			return i;
		i += verdict == TAKES_VALUE;
	}
	return count;
}
