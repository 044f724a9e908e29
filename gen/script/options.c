/* SPDX-License-Identifier: MIT */
/* The table, and how sbatch reads a command line; see options.h. */
#include "gen/script/options.h"

#include <string.h>

/* clang-format off */
#define SPEC(member)   .source = SCRIPT_FROM_SPEC, .offset = offsetof(struct spec, member)
#define PLAN(of)       .source = SCRIPT_FROM_PLAN, .quantity = of, .owned = true
#define OWNED          .owned = true
#define FLAG           .flag = true

const struct script_option script_options[] = {
	{"job-name", 'J', SPEC(name), .variables = "SBATCH_JOB_NAME"},
	{"partition", 'p', SPEC(batch.partition), .variables = "SBATCH_PARTITION"},
	{"account", 'A', SPEC(batch.account), .variables = "SBATCH_ACCOUNT"},
	{"qos", 'q', SPEC(batch.qos), .variables = "SBATCH_QOS"},
	{"reservation", 0, SPEC(batch.reservation), .variables = "SBATCH_RESERVATION"},
	{"constraint", 'C', SPEC(batch.constraint), .variables = "SBATCH_CONSTRAINT"},
	/*
	 * Both, always: without --nodes, --ntasks-per-node is only an upper limit
	 * (sbatch.1), and the tasks may be laid out over other nodes than planned.
	 */
	{"nodes", 'N', PLAN(PLAN_NODES)},
	{"ntasks-per-node", 0, PLAN(PLAN_NTASKS_PER_NODE)},
	{"cpus-per-task", 'c', PLAN(PLAN_CPUS_PER_TASK)},
	{"gres", 0, OWNED, .source = SCRIPT_FROM_GPUS, .variables = "SBATCH_GRES"},
	{"mem", 0, SPEC(resources.mem),
	 .variables = "SBATCH_MEM_PER_NODE SBATCH_MEM_PER_CPU SBATCH_MEM_PER_GPU"},
	{"exclusive", 0, FLAG, .source = SCRIPT_FROM_EXCLUSIVE,
	 .variables = "SBATCH_EXCLUSIVE"},
	{"time", 't', SPEC(batch.time), .variables = "SBATCH_TIMELIMIT"},
	{"output", 'o', SPEC(batch.output), .variables = "SBATCH_OUTPUT"},
	{"error", 'e', SPEC(batch.error), .variables = "SBATCH_ERROR"},

	/* Other ways to say a number that is the plan's. */
	{"ntasks", 'n', OWNED},
	{"tasks-per-node", 0, OWNED},
	{"ntasks-per-gpu", 0, OWNED},
	{"ntasks-per-tres", 0, OWNED},
	{"cpus-per-gpu", 0, OWNED, .variables = "SBATCH_CPUS_PER_GPU"},
	{"gpus", 'G', OWNED, .variables = "SBATCH_GPUS"},
	{"gpus-per-node", 0, OWNED, .variables = "SBATCH_GPUS_PER_NODE"},
	{"gpus-per-socket", 0, OWNED, .variables = "SBATCH_GPUS_PER_SOCKET"},
	{"gpus-per-task", 0, OWNED, .variables = "SBATCH_GPUS_PER_TASK"},
	{"tres-per-task", 0, OWNED, .variables = "SBATCH_TRES_PER_TASK"},

	/* All others that take no value; what is not here takes the next word. */
	{"consolidate-segments", 0, FLAG},
	{"contiguous", 0, FLAG},
	{"external", 0, FLAG},
	{"get-user-env", 0, FLAG},
	{"help", 'h', FLAG},
	{"hold", 'H', FLAG},
	{"ignore-pbs", 0, FLAG},
	{"nice", 0, FLAG},
	{"no-kill", 'k', FLAG},
	{"no-requeue", 0, FLAG},
	{"overcommit", 'O', FLAG},
	{"oversubscribe", 's', FLAG},
	{"parsable", 0, FLAG},
	{"propagate", 0, FLAG},
	{"quiet", 'Q', FLAG},
	{"reboot", 0, FLAG},
	{"requeue", 0, FLAG},
	{"spread-job", 0, FLAG},
	{"stepmgr", 0, FLAG},
	{"test-only", 0, FLAG},
	{"usage", 0, FLAG},
	{"use-min-nodes", 0, FLAG},
	{"verbose", 'v', FLAG},
	{"version", 'V', FLAG},
	{"wait", 'W', FLAG},
};
/* clang-format on */

const size_t script_options_count = sizeof(script_options) / sizeof(*script_options);

enum verdict {
	ALONE,       /* fine, and the next word is one of its own */
	TAKES_VALUE, /* fine, and the next word is its value */
	IS_OWNED,
};

/* --NAME or --NAME=VALUE; any unambiguous beginning of a name will do for sbatch. */
static enum verdict read_long(const char *word)
{
	const size_t length = strcspn(word, "=");
	bool flag = false;

	for (size_t i = 0; i < script_options_count; i++) {
		const struct script_option *option = &script_options[i];

		if (strncmp(option->name, word, length) != 0)
			continue;
		if (option->owned)
			return IS_OWNED;
		flag |= option->flag;
	}
	return flag || word[length] ? ALONE : TAKES_VALUE;
}

static const struct script_option *find_letter(char letter)
{
	for (size_t i = 0; i < script_options_count; i++) {
		if (script_options[i].letter == letter)
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
		if (!option || !option->flag)
			return word[1] ? ALONE : TAKES_VALUE;
		/* -k can have a value, and only in the same word. */
		if (option->letter == 'k')
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
