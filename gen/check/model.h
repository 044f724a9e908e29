/* SPDX-License-Identifier: MIT */
/*
 * What a script comes to: the job that Slurm makes of its header, the steps that its
 * commands start, the launchers in them with their numbers, and the variables that all
 * of them see. Rules ask the model and never the text, so that a word in a comment, in an
 * `echo` or in quotes is not taken for what it says.
 *
 * The script is followed from top to bottom as a shell would, without executing anything:
 * constants are put in where they are used, branches and loops make a variable uncertain,
 * `bash -c '...'`, here-documents, functions and `eval` are entered, and the program
 * behind srun, env, time, numactl or a container is found. An expansion remembers which
 * shell does it: the batch shell, once, or a shell in every task of a step.
 */
#pragma once

#include "gen/script/directives.h"
#include "gen/script/shell.h"
#include "gen/script/text.h"
#include "gen/spec/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check_command;
struct check_launch;
struct check_shell;
struct check_step;

/* ---- numbers ---- */

/* Among what a value differs. */
enum check_varies {
	CHECK_SAME = 0,
	CHECK_PER_NODE = 1, /* bits */
	CHECK_PER_TASK = 2,
	CHECK_PER_STEP = 4,
	CHECK_PER_JOB = 8,
	CHECK_AT_RANDOM = 16, /* each time that it is computed: RANDOM, $$, date */
};

/*
 * What is known of a number: nothing, its bounds, or (LOW == HIGH, and VARIES is
 * CHECK_SAME) all.
 */
struct check_number {
	bool known;
	int64_t low, high;
	unsigned int varies; /* bits of enum check_varies */
};

static inline bool check_exact(const struct check_number *number)
{
	return number->known && number->low == number->high;
}

/* ---- values ---- */

enum check_expansion_kind {
	CHECK_PARAMETER,  /* $X, not a constant of the script */
	CHECK_SUBSTITUTE, /* $(...) */
	CHECK_ARITHMETIC, /* $((...)) that is no constant */
	CHECK_PROCESS,    /* <(...) */
};

/* What stands in a value for something that only the running job knows. */
struct check_expansion {
	enum check_expansion_kind kind;
	const char *name; /* PARAMETER: "SLURM_PROCID", "1", "@" */
	const char *op;   /* PARAMETER: as in struct shell_piece */
	/* The shell that expands it: shell->where says how often and where. */
	const struct check_shell *shell;
	bool quoted;               /* not split into words */
	uint32_t at, length;       /* in the value's text, as it is spelt */
	struct script_range range; /* in the script */
	struct check_number number;
	/* The variable whose value it is or is a part of: in `A=$(hostname)`, `echo $A`
	 * the substitution came through A; NULL: it stands there itself. */
	const struct check_assignment *through;
	/* SUBSTITUTE: its commands are model->commands[FIRST..LAST). */
	size_t first, last;
	/* ARITHMETIC, and a PARAMETER's operand: what is expanded within. */
	const struct check_expansion *inner;
	size_t inner_count;
	/*
	 * ARITHMETIC: within it is a number whose digits may start with 0, without 10# in
	 * front, so that bash reads it as octal. Others: their digits may start so.
	 */
	bool octal;
};

/* A word after all that is known of it was put in. */
struct check_value {
	const char *text; /* expansions that are left stand in it as they are spelt */
	uint32_t length;
	struct script_range range; /* of the word in the script that it comes from */
	/* The same, or where its constant stands: for $NPROC, the 8 of NPROC=8. */
	struct script_range source;
	bool constant;                            /* nothing is left to expand */
	bool quoted;                              /* some of it */
	const struct check_expansion *expansions; /* in the order of the text */
	uint32_t expansions_count;
	/* Of each byte of TEXT its place in the script, which for what a variable was
	 * put in for is that of the variable; NULL: unknown. SOURCES: likewise, but where
	 * the text itself stands; NULL: there, too. */
	const uint32_t *origins, *sources;
};

/* ---- shells ---- */

enum check_where {
	CHECK_BATCH,     /* once, on the job's first node */
	CHECK_STEP,      /* in every task of a step */
	CHECK_ELSEWHERE, /* on another host (ssh), in another job, or not at all: text
			    that is only written to a file */
};

enum check_shell_kind {
	CHECK_SHELL_SCRIPT,     /* the script itself */
	CHECK_SHELL_SUBSTITUTE, /* $(...), <(...) */
	CHECK_SHELL_SUBSHELL,   /* ( ... ) */
	CHECK_SHELL_STRING,     /* bash -c '...' */
	CHECK_SHELL_DOCUMENT,   /* bash << EOF; a script that the job writes and runs */
	CHECK_SHELL_EVAL,       /* eval, trap: text read by the same shell again */
	CHECK_SHELL_TRAP,       /* likewise, when the signal comes */
	CHECK_SHELL_FILE,       /* written by the script with cat > F << EOF */
};

/*
 * A shell that reads some of the script's text. Variables that one sets are its own and,
 * exported, its children's.
 */
struct check_shell {
	const struct check_shell *parent;    /* NULL: the script */
	const struct check_command *command; /* bash, srun ... that starts it; NULL */
	enum check_shell_kind kind;
	enum check_where where;
	const struct check_step *step;   /* CHECK_STEP: which; not NULL then */
	uint8_t level;                   /* 1: the script; its children 2 ... */
	bool errexit, pipefail, nounset; /* set at its start: bash -e, set -o in force */
	struct script_range range;       /* of its text */
};

/* ---- variables ---- */

enum check_export {
	CHECK_KEPT,         /* this shell alone sees it */
	CHECK_EXPORTED,     /* export X=, declare -x, set -a */
	CHECK_FOR_ONE,      /* X=1 command */
	CHECK_BY_ENV,       /* env X=1 command */
	CHECK_BY_SRUN,      /* srun --export=X=1, mpirun -x X=1 */
	CHECK_IN_CONTAINER, /* apptainer --env, docker -e */
};

struct check_assignment {
	size_t index; /* in model->assignments */
	/* The one before it of the same name, in the order of the script. */
	const struct check_assignment *earlier;
	const char *name;
	struct check_value value; /* of an array: its first element */
	enum check_export export;
	bool unset;       /* unset X */
	bool opaque;      /* read, for, printf -v, +=: what it gets is not known */
	bool conditional; /* in a branch or behind && or || */
	bool loop;        /* in the body of a loop */
	const struct check_shell *shell;
	/* FOR_ONE, BY_ENV, BY_SRUN: the command; else the one it is an argument of, or
	 * NULL. */
	const struct check_command *command;
	size_t order;                   /* commands before it */
	struct script_range range;      /* X=VALUE */
	struct script_range name_range; /* X */
	/* export X, behind X=: where it was made to reach others; empty: nowhere. */
	struct script_range exported;
};

/* Variables that launchers and frameworks read, in one array per command. */
enum check_variable {
	CHECK_MASTER_ADDR,
	CHECK_MASTER_PORT,
	CHECK_RANK,
	CHECK_WORLD_SIZE,
	CHECK_LOCAL_RANK,
	CHECK_LOCAL_WORLD_SIZE,
	CHECK_NODE_RANK,
	CHECK_CUDA_VISIBLE_DEVICES,
	CHECK_HIP_VISIBLE_DEVICES,
	CHECK_ROCR_VISIBLE_DEVICES,
	CHECK_OMP_NUM_THREADS,
	CHECK_NCCL_SOCKET_IFNAME,
	CHECK_SLURM_NTASKS,
	CHECK_SLURM_NTASKS_PER_NODE,
	CHECK_SLURM_CPUS_PER_TASK,
	CHECK_SRUN_CPUS_PER_TASK,
	CHECK_SLURM_EXPORT_ENV,
	CHECK_SLURM_GPUS_PER_NODE,
	CHECK_VARIABLES,
};

/* "MASTER_ADDR". */
const char *check_variable_name(enum check_variable variable);

/* ---- commands ---- */

/* What a command is, as far as rules care; others are known by their name. */
enum check_tool {
	CHECK_OTHER,
	CHECK_SRUN,
	CHECK_MPIRUN, /* mpirun, mpiexec, orterun, prterun, and mpiexec.hydra */
	CHECK_TORCHRUN,
	CHECK_TORCH_LAUNCH, /* python -m torch.distributed.launch; .run is torchrun */
	CHECK_ACCELERATE,
	CHECK_DEEPSPEED,
	CHECK_HOROVODRUN,
	CHECK_COLOSSALAI,
	CHECK_COMPOSER,
	CHECK_PYTHON,
	CHECK_PROGRAM,    /* a program that is no tool known here: ./solver */
	CHECK_SHELL_TOOL, /* bash, sh, zsh: with a string, a file or a document */
	CHECK_CONTAINER,  /* singularity, apptainer, docker, podman, shifter, ... */
	CHECK_SBATCH,
	CHECK_SALLOC,
	CHECK_SCONTROL,
	CHECK_SSH,
	CHECK_WAIT,
	CHECK_TRAP,
	CHECK_MODULE,
	CHECK_SOURCE, /* source F, . F: may set anything */
	CHECK_EXPORT, /* export, declare, typeset, readonly, local, unset */
	CHECK_SRANK,  /* this project's own command */
};

struct check_command {
	size_t order; /* index in model->commands: the order of execution */
	enum check_tool tool;
	const char *name; /* without its folder; "" when it is not known */
	/* The words from the command's own name on: for the program behind srun they
	 * begin at the program. */
	const struct check_value *words;
	size_t words_count;
	/* The command in whose words it stands, or which runs the shell that runs it:
	 * srun -> env -> bash -> torchrun -> python. NULL: the script's own. */
	const struct check_command *parent;
	size_t operand; /* index in WORDS of the program or script that it starts;
			   words_count: none */
	const struct check_shell *shell;
	const struct shell_node *node; /* of the shell command it is a part of */
	struct script_range range;
	enum check_where where;
	const struct check_step *step;     /* it runs in; NULL: the batch step */
	const struct check_step *starts;   /* SRUN, and MPIRUN outside of a step */
	const struct check_launch *launch; /* that it is; NULL: none */
	bool background;                   /* itself or what it is a part of */
	uint8_t loops;                     /* loops around it */
	/* How often the innermost loop runs; unknown for while. */
	struct check_number rounds;
	bool conditional;       /* in a branch, or behind && or || */
	bool substitute;        /* in a command substitution */
	bool function;          /* in a function's body */
	bool uncalled;          /* in one that the script never calls */
	bool trapped;           /* runs when a signal comes */
	uint16_t stage, stages; /* place in its pipeline, from 0; 0 of 1: in none */
	bool pipefail, errexit; /* in force */
	/* What a program that it starts sees of each variable: the last assignment that
	 * reaches it, or, if none does, one that is set but not exported (export is
	 * CHECK_KEPT); NULL: the script never sets it. */
	const struct check_assignment *sees[CHECK_VARIABLES];
	/* Something may set any variable: source F, eval of unknown text, module load. */
	bool sourced;
};

/* ---- the job and its steps ---- */

/* Who said a number of a step. */
enum check_origin {
	CHECK_NOBODY,      /* not known */
	CHECK_BY_STEP,     /* an option of the srun line */
	CHECK_BY_JOB,      /* an option of the header, inherited */
	CHECK_BY_VARIABLE, /* SRUN_CPUS_PER_TASK, SLURM_NTASKS set in the script */
	CHECK_BY_DEFAULT,  /* Slurm's own default */
	CHECK_BY_SUM,      /* follows from the others */
};

enum check_quantity {
	CHECK_NODES,
	CHECK_NTASKS,
	CHECK_NTASKS_PER_NODE, /* tasks that run on the fullest node */
	CHECK_CPUS_PER_TASK,
	CHECK_GPUS,          /* of the job, or the step */
	CHECK_GPUS_PER_NODE, /* of the fullest node */
	CHECK_GPUS_PER_TASK, /* by an option; what each task is narrowed to */
	CHECK_VISIBLE,       /* GPUs that one task sees */
	CHECK_QUANTITIES,
};

struct check_amount {
	struct check_number number;
	enum check_origin origin;
	const struct script_use *use; /* the option that says it; NULL */
	struct script_range range;    /* of that option, or of what it follows from */
};

/* One component of the job; a usual job has one. */
struct check_job {
	uint16_t group;
	struct check_amount amount[CHECK_QUANTITIES];
	/* As asked, not resolved; NULL: not said. */
	const struct script_use *nodes, *ntasks, *ntasks_per_node, *ntasks_per_gpu,
		*cpus_per_task, *cpus_per_gpu, *gres, *gpus, *gpus_per_node,
		*gpus_per_socket, *gpus_per_task, *tres_per_task, *mem, *mem_per_cpu,
		*mem_per_gpu, *exclusive, *oversubscribe, *partition, *array, *time,
		*signal, *requeue, *open_mode, *export, *output, *error, *gpu_bind;
	const char *gpu_type;  /* a100; NULL: any */
	const char *gres_rest; /* gres that are no GPUs; NULL */
	bool whole;            /* --exclusive: the nodes are the job's alone */
	bool gpus_conflict;    /* gres and gpus-per-node do not agree */
};

enum check_step_kind {
	CHECK_STEP_SRUN,
	CHECK_STEP_MPIRUN, /* mpirun of the batch shell: starts its own over the nodes */
};

struct check_step {
	size_t index; /* in model->steps */
	enum check_step_kind kind;
	const struct check_command *command;
	const struct check_job *job;   /* the component that it runs on */
	const struct script_use *uses; /* srun's options, in order */
	size_t uses_count;
	struct check_amount amount[CHECK_QUANTITIES];
	bool exact, overlap, whole;
	bool het_several;   /* --het-group=0,1 */
	bool inherits_cpus; /* this Slurm takes the job's --cpus-per-task */
	bool background;    /* runs beside what follows */
	bool narrowed;      /* each task sees only its own GPUs */
	bool unbound;       /* --gpu-bind=none */
	bool opaque;        /* some of its options come from $ARGS that is not known */
	const struct script_use *export, *mpi, *cpu_bind, *gpu_bind, *kill_on_bad_exit,
		*mem, *mem_per_cpu, *mem_per_gpu, *gres, *gpus, *gpus_per_node,
		*gpus_per_task, *ntasks_per_node, *container, *distribution, *nodelist,
		*relative, *output, *multi_prog;
	/* --export without ALL: the step has no PATH but what stands there. */
	bool bare_environment;
};

/* The use of option NAME in STEP that counts; NULL: none. */
const struct script_use *check_step_find(const struct check_step *step, const char *name);

/* ---- launchers ---- */

enum check_key {
	CHECK_KEY_NNODES,
	CHECK_KEY_NPROC,     /* workers that one launcher starts */
	CHECK_KEY_WORLD,     /* all workers: accelerate --num_processes, mpirun -np,
				--distributed-world-size */
	CHECK_KEY_PER_NODE,  /* mpirun -ppn, -npernode, --map-by ppr:N:node */
	CHECK_KEY_NODE_RANK, /* --node_rank, --machine_rank */
	CHECK_KEY_ADDRESS,   /* --master_addr, --main_process_ip */
	CHECK_KEY_PORT,
	CHECK_KEY_BACKEND,
	CHECK_KEY_ENDPOINT, /* --rdzv_endpoint, --dist-url */
	CHECK_KEY_RUN_ID,
	CHECK_KEY_STANDALONE,
	CHECK_KEY_HOSTFILE,
	CHECK_KEY_LAUNCHER,  /* --launcher slurm, of MMEngine's and DeepSpeed's */
	CHECK_KEY_DEVICES,   /* --devices, --gpus: GPUs of a node that the program uses,
				whoever starts its processes */
	CHECK_KEY_NUM_NODES, /* --num_nodes of the same program */
	CHECK_KEY_STRATEGY,  /* --strategy ddp */
	CHECK_KEY_SPAWN,     /* --num-gpus, --nproc: workers that the program itself
				starts */
	CHECK_KEY_DEVICE,    /* --device cuda:N */
	CHECK_KEY_LOCAL_RANK,
	CHECK_KEY_RANK,
	CHECK_KEY_CONFIG, /* accelerate --config_file, which may say all of these */
	CHECK_KEYS,
};

struct check_setting {
	const char *name; /* the option or variable as written; NULL: not said */
	struct check_value value;
	struct check_number number; /* of the value where the launcher runs */
	struct script_range range;  /* option and value */
	const struct check_assignment *assignment; /* said by a variable: PET_NNODES */
};

struct check_launch {
	size_t index;         /* in model->launches */
	enum check_tool tool; /* PYTHON, PROGRAM: started without a launcher of its own */
	const struct check_command *command;
	const struct check_step *step;     /* it runs in; NULL: the batch step */
	const struct check_launch *parent; /* launcher that starts it; NULL: none */
	struct check_setting setting[CHECK_KEYS];
	/* Copies of it that run at once, in all and on the fullest node: tasks of the
	 * step; 1 in the batch step. */
	struct check_number copies, copies_per_node;
	/* Workers of all copies together, as it will be, right or wrong. */
	struct check_number workers, workers_per_node;
	/* The program that the workers run, and the first of its arguments. */
	const struct check_value *program;
	const struct check_value *arguments;
	size_t arguments_count;
	bool module; /* PROGRAM is a module: -m */
	/* The program speaks of GPUs, ranks or a launcher: an option of the above, or a
	 * launcher around it. */
	bool distributed;
};

/* ---- the model ---- */

/* An option of a rule that the script sets: # srank: disable=RULE. */
struct check_pragma {
	struct script_range range;
	uint32_t line; /* it speaks of: its own, or the next when it stands alone */
	bool file;     /* # srank: disable-file=RULE, or alone above the first command */
	const char *rule; /* one each; "all" */
};

struct check_model {
	struct script_text source;
	struct script_header header;
	struct shell_program program;
	script_slurm slurm;           /* asked for, or the site's; 0: none said */
	const struct spec_site *site; /* NULL: none */

	struct check_job *jobs; /* components */
	size_t jobs_count;
	struct check_command **commands;
	size_t commands_count;
	struct check_shell **shells;
	size_t shells_count;
	struct check_step **steps;
	size_t steps_count;
	struct check_launch **launches;
	size_t launches_count;
	struct check_assignment **assignments;
	size_t assignments_count;
	/* The same by name, those of one name in order; for check_sees(). */
	struct check_assignment **by_name;
	struct check_pragma *pragmas;
	size_t pragmas_count;
	/* A fault of the text of a shell within the script (bash -c '...'), with its
	 * shell; model->program.fault is the script's own. */
	struct check_shell_fault {
		struct shell_fault fault;
		const struct check_shell *shell;
	} * faults;
	size_t faults_count;
	bool shell_script; /* the shebang names a shell; else the body is not read */
	/* Longer than Slurm takes by default, 4 MiB: only so much was read. */
	bool too_long;
	bool cut; /* the script calls its functions so often that not all was followed */
	struct spec_arena *arena;
};

struct check_request {
	const char *file;
	const char *text;
	size_t length;
	script_slurm slurm;           /* 0: of SITE, else any */
	const struct spec_site *site; /* NULL: nothing is known */
	const char *const *arguments; /* as in struct script_submission */
	size_t arguments_count;
	const char *const *environment;
	size_t environment_count;
};

/*
 * Reads REQUEST, all of which must outlive MODEL (zeroed). Total: any bytes make a model.
 * 0; -EFBIG; -ENOMEM.
 */
int check_model_make(struct check_model *model, const struct check_request *request);
void check_model_clear(struct check_model *model);

/* ---- questions ---- */

/* VALUE, all of it, as a number, with what Slurm sets put in for SLURM_*. */
struct check_number check_value_number(const struct check_model *model,
				       const struct check_value *value);

/*
 * What Slurm sets variable NAME to for a program that runs at WHERE (STEP: in it).
 * NAME must begin with SLURM_ or be CUDA_VISIBLE_DEVICES.
 */
struct check_meaning {
	enum {
		CHECK_IS_UNKNOWN, /* not a variable known here */
		CHECK_IS_UNSET,   /* Slurm does not set it here */
		CHECK_IS_NUMBER,
		CHECK_IS_TEXT, /* known text: "a100:4" */
		CHECK_IS_SET,  /* to something: host lists, names */
	} is;
	struct check_number number;
	const char *text;
};
struct check_meaning check_slurm_variable(const struct check_model *model,
					  const char *name, enum check_where where,
					  const struct check_step *step);

/*
 * The assignment of NAME that a program started by COMMAND sees, as command->sees; any
 * name. NULL: the script does not set it.
 */
const struct check_assignment *check_sees(const struct check_model *model,
					  const struct check_command *command,
					  const char *name);

/* VALUE expands parameter NAME somewhere, inner ones included; NULL: it does not. */
const struct check_expansion *check_value_expands(const struct check_value *value,
						  const char *name);

/*
 * The value of option NAME ("--devices") among the words of COMMAND from FROM on, said as
 * `NAME VALUE` or `NAME=VALUE`, - and _ being the same in a long name. The last one
 * counts. *VALUE may be a part of a word. False: not said.
 */
bool check_option(const struct check_command *command, size_t from, const char *name,
		  struct check_setting *setting);

/* An option of `srank exec` or `srank doctor`. */
struct check_srank_use {
	const struct check_value *word; /* that it begins with */
	const char *name;  /* in full, without dashes; NULL: there is no such option */
	const char *near;  /* then the nearest one; NULL: none is near */
	const char *key;   /* of the plugin's settings, which VALUE is of; "": VALUE is a
			      list of them; NULL: none */
	const char *value; /* NULL: none */
	bool constant;     /* nothing is left to expand in WORD and VALUE */
	bool lacks;        /* the value that it needs */
};

/*
 * The next option among the words of COMMAND, a CHECK_SRANK, from *AT on, which is 2 at
 * first. False: there is none, and *AT is the first word behind the options; for a
 * sub-command that starts no program and has no rules here always.
 */
bool check_srank_next(const struct check_command *command, size_t *at,
		      struct check_srank_use *use);

/* COMMAND is `srank exec`. */
bool check_srank_executes(const struct check_command *command);

/* FILE is tools/dist_train.sh or dist_test.sh of OpenMMLab, which start
 * torch.distributed.launch. */
bool check_is_dist_script(const char *file);

/* COMMAND, or one that it stands in, is TOOL; the nearest such, or NULL. */
const struct check_command *check_within(const struct check_command *command,
					 enum check_tool tool);

/* The place of RANGE for a message. */
struct diag_place check_place(struct check_model *model, struct script_range range);
