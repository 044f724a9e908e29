/* SPDX-License-Identifier: MIT */
/*
 * What the rules have in common: their numbers in the table, and how a finding, its fix
 * and its edits are told. Each file of rules asks the model of model.h.
 */
#pragma once

#include "gen/check/check.h"
#include "gen/check/model.h"

enum rule {
	RULE_LATE_DIRECTIVE,
	RULE_MISSPELT_DIRECTIVE,
	RULE_UNKNOWN_OPTION,
	RULE_SRUN_ONLY_OPTION,
	RULE_OPTION_TOO_NEW,
	RULE_AMBIGUOUS_OPTION,
	RULE_ABBREVIATED_OPTION,
	RULE_SHORT_OPTION,
	RULE_DIRECTIVE_STRAY_WORD,
	RULE_DIRECTIVE_BLANK_AROUND_EQUAL,
	RULE_DIRECTIVE_MISSING_VALUE,
	RULE_DIRECTIVE_OPEN_QUOTE,
	RULE_DIRECTIVE_COLON,
	RULE_DIRECTIVE_CUT,
	RULE_VARIABLE_IN_DIRECTIVE,
	RULE_DOS_LINE_ENDS,
	RULE_NBSP_IN_DIRECTIVE,
	RULE_TYPOGRAPHIC_DASH,
	RULE_NO_SHEBANG,
	RULE_EMPTY_SCRIPT,
	RULE_NUL_IN_SCRIPT,
	RULE_SCRIPT_TOO_LONG,
	RULE_DUPLICATE_DIRECTIVE,
	RULE_DEPRECATED_DIRECTIVE,
	RULE_FOREIGN_DIRECTIVE,
	RULE_BAD_VALUE,
	RULE_LOG_FOLDER,
	RULE_MEM_OPTIONS_EXCLUSIVE,
	RULE_MEM_WITHOUT_UNIT,
	RULE_CPUS_PER_GPU_AND_CPUS_PER_TASK,
	RULE_CONFLICTING_GPU_REQUESTS,
	RULE_NTASKS_PER_GPU_CONFLICT,
	RULE_EXCLUSIVE_AND_OVERSUBSCRIBE,
	RULE_GPUS_PER_TASK_WITHOUT_COUNT,
	RULE_NTASKS_VS_NTASKS_PER_NODE,
	RULE_NTASKS_BELOW_NODES,
	RULE_NTASKS_PER_NODE_WITHOUT_NODES,
	RULE_NTASKS_VS_GPUS,
	RULE_GPUS_UNEVEN,
	RULE_ONE_CPU_PER_GPU_TASK,
	RULE_NO_GPU_REQUESTED,
	RULE_GPU_OPTION_WITHOUT_GPU,
	RULE_SEGMENT_NOT_DIVIDING,
	RULE_HET_NTASKS,
	RULE_OVER_LIMIT,
	RULE_UNKNOWN_PARTITION,
	RULE_SELECT_PLUGIN,
	RULE_EXCLUSIVE_WITHOUT_MEM,
	RULE_SRUN_WITHOUT_CPUS_PER_TASK,
	RULE_SRUN_NTASKS_PER_NODE_IGNORED,
	RULE_STEP_EXCEEDS_JOB,
	RULE_STEP_GRES_OVER_GPUS_PER_NODE,
	RULE_PARALLEL_STEPS_SERIALISED,
	RULE_PARALLEL_STEPS_ONE_PORT,
	RULE_STEP_WITHOUT_WAIT,
	RULE_EXPORT_WITHOUT_ALL,
	RULE_MPIRUN_INSIDE_SRUN,
	RULE_MPI_WITHOUT_PLUGIN,
	RULE_MPI_NOT_NEEDED,
	RULE_SRUN_INSIDE_STEP,
	RULE_SBATCH_INSIDE_JOB,
	RULE_SRANK_REFUSES,
	RULE_NO_KILL_ON_BAD_EXIT,
	RULE_PIPE_HIDES_STATUS,
	RULE_TORCHRUN_TIMES_NTASKS,
	RULE_SPAWNER_TIMES_NTASKS,
	RULE_DEEPSPEED_UNDER_SRUN,
	RULE_MULTI_NODE_WITHOUT_SRUN,
	RULE_TASKS_WITHOUT_SRUN,
	RULE_BATCH_EXPANDED_RANK,
	RULE_RANK_NOT_UNIQUE,
	RULE_UNEXPANDED_VARIABLE,
	RULE_NODE_RANK,
	RULE_NNODES_MISMATCH,
	RULE_ONE_NODE_LAUNCHER,
	RULE_HOSTS_BY_HAND,
	RULE_NNODES_FROM_WORLD_SIZE,
	RULE_GPU_CONSTANT_DRIFT,
	RULE_ACCELERATE_PROCESSES,
	RULE_NUM_NODES_MISMATCH,
	RULE_WORLD_SIZE_MISMATCH,
	RULE_TORCH_LAUNCH_DEPRECATED,
	RULE_MMENGINE_LAUNCHER,
	RULE_MMENGINE_IN_CONTAINER,
	RULE_ONE_PROCESS_MANY_GPUS,
	RULE_SLURM_VARIABLE_UNSET,
	RULE_SLURM_VARIABLE_MISSPELT,
	RULE_NTASKS_UNSET_IN_BATCH,
	RULE_TYPED_GPUS_PER_NODE,
	RULE_OMP_UNSET,
	RULE_STEP_HOSTNAME_MASTER,
	RULE_BATCH_HOSTNAME_MASTER,
	RULE_LOOPBACK_MASTER,
	RULE_LOOPBACK_FALLBACK,
	RULE_LAUNCH_NODE_IPADDR,
	RULE_SUBMIT_HOST_MASTER,
	RULE_HAND_PARSED_NODELIST,
	RULE_MASTER_NOT_FIRST_HOST,
	RULE_MASTER_FIXED,
	RULE_MASTER_MISSING,
	RULE_PORT_MISSING,
	RULE_PORT_OUT_OF_RANGE,
	RULE_PORT_PRIVILEGED,
	RULE_PORT_EPHEMERAL,
	RULE_PORT_PER_TASK,
	RULE_PORT_OCTAL,
	RULE_FIXED_PORT,
	RULE_C10D_IGNORES_STATIC_FLAGS,
	RULE_RDZV_ID_PER_TASK,
	RULE_UNEXPORTED_VARIABLE,
	RULE_HOSTNAME_VARIABLE_IN_STEP,
	RULE_SCONTROL_IN_CONTAINER,
	RULE_NCCL_EXCLUDE_WITHOUT_LO,
	RULE_NETWORK_OPTION,
	RULE_TASKS_TAKE_ONE_GPU,
	RULE_GPUS_PER_TASK_LOCALID,
	RULE_GPU_BIND_CLOSEST,
	RULE_CUDA_MASK_FROM_JOB_GPUS,
	RULE_MASK_ON_PER_TASK_BINDING,
	RULE_CUDA_MASK_FIXED,
	RULE_TWO_DEVICE_MASKS,
	RULE_CONTAINER_WITHOUT_GPUS,
	RULE_SHELL_SYNTAX,
	RULE_BROKEN_CONTINUATION,
	RULE_SLURM_VARIABLE_OVERWRITTEN,
	RULE_TRAP_FOREGROUND_SRUN,
	RULE_SIGNAL_MISSES_TRAP,
	RULE_SIGNAL_WITHOUT_TRAP,
	RULE_REQUEUE_WHOLE_ARRAY,
	RULE_REQUEUE_WITHOUT_APPEND,
};

struct rules {
	struct check_model *model;
	const struct check_options *options;
	struct diag *diag;
	struct check_edits *edits; /* NULL: none wanted */
	const struct check_rule
		*rule; /* of the finding told last; NULL: it was not told */
	/* Some step picks its nodes, some command reaches the other nodes: -1 no, 1 yes,
	 * 0 not looked yet. */
	int picks_nodes, reaches_nodes;
	/* Bits of enum check_tool: what a branch starts in a step; the last one: looked.
	 */
	uint64_t branches;
	bool header_is_faulty; /* so its numbers may not be what was meant */
	int rc;
};

/*
 * Tells a finding at WHERE; the message names the script's own numbers. False when nobody
 * wants it (the script or the user switched the rule off): then the functions below do
 * nothing until the next finding.
 */
bool rules_tell(struct rules *rules, enum rule rule, struct script_range where,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same with another severity than the table's. */
bool rules_tell_as(struct rules *rules, enum rule rule, enum diag_severity severity,
		   struct script_range where, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* What to write instead; without it the table's cure stands there. */
void rules_fix(struct rules *rules, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A place that belongs to the finding, with a few words: a note of the same rule. */
void rules_also(struct rules *rules, struct script_range where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The edit that puts WHERE right, for what is certain only. */
void rules_edit(struct rules *rules, struct script_range where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* True when the Slurm that is meant is VERSION or later, or before it; false for both
 * when none is. */
bool rules_since(const struct rules *rules, script_slurm version);
bool rules_before(const struct rules *rules, script_slurm version);

static inline bool range_is_empty(struct script_range range)
{
	return range.begin >= range.end;
}

/* The exact number; -1 when it is not known. */
static inline int64_t exactly(const struct check_number *number)
{
	return check_exact(number) ? number->low : -1;
}

/* Some options of the launcher come from a variable that is not known: $ARGS. */
bool rules_is_open(const struct check_launch *launch);

/*
 * A program that is not known starts one that is: my_wrapper exec torchrun ... Whose
 * options those are is then not known either.
 */
bool rules_is_wrapper(const struct check_launch *launch);

/* Runs elsewhere or never, or is no launch that can be judged. */
static inline bool rules_skips(const struct check_launch *launch)
{
	return launch->command->where == CHECK_ELSEWHERE || launch->command->uncalled ||
	       rules_is_wrapper(launch);
}

/*
 * Whether the form of the values of sbatch's OPTION is known. Then *WHY gets what VALUE
 * has against it, or NULL, and HINT (SPEC_HINT_MAX bytes) what may be meant, or "".
 */
bool rules_value_form(const struct rules *rules, const char *option, const char *value,
		      const char **why, char *hint);

/*
 * Which of the job's hosts, as scontrol lists them, VALUE's expansion EXPANSION is:
 * hosts.c.
 */
enum rules_hosts {
	RULES_HOSTS_UNKNOWN,
	RULES_HOSTS_FIRST,
	RULES_HOSTS_LAST,
	RULES_HOSTS_OTHER,   /* one, and not the first */
	RULES_HOSTS_SEVERAL, /* more than one */
};
enum rules_hosts rules_hosts(const struct check_model *model,
			     const struct check_expansion *expansion, int64_t nodes);

/* The last assignment of NAME above BEFORE in the script; NULL: none. */
const struct check_assignment *rules_set_above(const struct check_model *model,
					       const char *name, uint32_t before);

/* This project's plugin, or `srank exec`, sets what the launch is not told. */
bool rules_has_plugin(const struct rules *rules, const struct check_launch *launch);

/* Tells at RANGE what the plugin has against LIST, given by NAME: "--srank", "SRANK". */
void rules_srank_list(struct rules *rules, struct script_range range, const char *name,
		      const char *list);

/* The rules, each file's in one call. */
void rules_directives(struct rules *rules);
void rules_values(struct rules *rules);
void rules_resources(struct rules *rules);
void rules_steps(struct rules *rules);
void rules_srank(struct rules *rules);
void rules_launchers(struct rules *rules);
void rules_ranks(struct rules *rules);
void rules_names(struct rules *rules);
void rules_rendezvous(struct rules *rules);
void rules_devices(struct rules *rules);
void rules_job(struct rules *rules);
