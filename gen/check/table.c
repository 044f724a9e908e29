/* SPDX-License-Identifier: MIT */
/*
 * What each rule is called and says. Why a rule holds is told with the Slurm versions in
 * which it was seen (22.05.8, 24.11.5 and 26.05.5, each in a cluster of four nodes) or
 * with the manual page or source that says so. The examples are run by the tests.
 */
#include "gen/check/rules.h"

#include <string.h>

#define MASTER                                                                         \
	"export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head " \
	"-n 1)\n"
#define PORT   "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))\n"
#define STATIC "--master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
#define C10D                                           \
	"--rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d " \
	"--rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT"
#define RANKS "RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID"
#define WORKERS_4                                                                     \
	"#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\n" \
	"#SBATCH --cpus-per-task=8\n"
#define WORKERS_2X4                                                                   \
	"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\n" \
	"#SBATCH --cpus-per-task=8\n"
#define NODES_2X4                                                                     \
	"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=4\n" \
	"#SBATCH --cpus-per-task=32\n"
#define ONE_TASK "#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=8\n"

/* clang-format off */
const struct check_rule check_rules[] = {
/*
 * Directives.
 */
[RULE_LATE_DIRECTIVE] = {
	"late-directive", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"a directive behind the first command is not read",
	"sbatch stops looking for #SBATCH at the first line that is neither blank nor a "
	"comment (sbatch.1); what follows is ignored without a word",
	"move the directive above the first command",
	ONE_TASK "module load cuda\n#SBATCH --gpus-per-node=1\nsrun -c 8 python train.py\n",
	ONE_TASK "#SBATCH --gpus-per-node=1\nmodule load cuda\nsrun -c 8 python train.py\n"},
[RULE_MISSPELT_DIRECTIVE] = {
	"misspelt-directive", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"a line that was meant as a directive is a plain comment",
	"a directive is the word #SBATCH in capitals in column 1; an indented, misspelt or "
	"differently written one is a comment to sbatch in every version",
	"write #SBATCH in column 1; ## in front says that a line is off on purpose",
	"#SBATCH --nodes=1\n  #SBATCH --ntasks=4\n#SBATCH -c 8\nsrun -c 8 ./solver\n",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=4\n#SBATCH -c 8\nsrun -c 8 ./solver\n"},
[RULE_UNKNOWN_OPTION] = {
	"unknown-option", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"sbatch has no such option, or srun",
	"sbatch refuses the script (unrecognized option, exit 255), and srun the step",
	"use an option of sbatch(1), or of srun(1)",
	"#SBATCH --ntask-per-node=4\nsrun ./solver\n",
	"#SBATCH --ntasks-per-node=4\nsrun ./solver\n"},
[RULE_SRUN_ONLY_OPTION] = {
	"srun-only-option", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, 0,
	"the option is srun's, not sbatch's",
	"sbatch refuses the script (unrecognized option, exit 255)",
	"give the option to srun in the script's commands",
	"#SBATCH --ntasks=4\n#SBATCH --cpu-bind=none\nsrun ./solver\n",
	"#SBATCH --ntasks=4\nsrun --cpu-bind=none ./solver\n"},
[RULE_OPTION_TOO_NEW] = {
	"option-too-new", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, 0,
	"this Slurm does not have the option yet",
	"--tres-per-task and --tres-bind came with Slurm 23.02 (its CHANGELOG); older ones "
	"refuse the script",
	"use the older spelling, such as --gpus-per-task", NULL, NULL},
[RULE_AMBIGUOUS_OPTION] = {
	"ambiguous-option", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, 0,
	"the beginning of an option's name fits several options",
	"sbatch refuses the script and lists the candidates",
	"write the whole name",
	"#SBATCH --ntasks=4\n#SBATCH --node=2\nsrun ./solver\n",
	"#SBATCH --ntasks=4\n#SBATCH --nodes=2\nsrun ./solver\n"},
[RULE_ABBREVIATED_OPTION] = {
	"abbreviated-option", CHECK_GROUP_DIRECTIVES, DIAG_NOTE, CHECK_FIXABLE,
	"the option's name is cut short",
	"getopt_long takes any unique beginning, and what is unique today need not be in the "
	"next Slurm, which has more options",
	"write the whole name",
	"#SBATCH --ntasks-per-n=4\nsrun ./solver\n",
	"#SBATCH --ntasks-per-node=4\nsrun ./solver\n"},
[RULE_SHORT_OPTION] = {
	"short-option", CHECK_GROUP_DIRECTIVES, DIAG_NOTE, CHECK_PEDANTIC,
	"a one-letter option",
	"it works, and the long name says what it does",
	"write the long name",
	"#SBATCH -n 4\nsrun ./solver\n", "#SBATCH --ntasks=4\nsrun ./solver\n"},
[RULE_DIRECTIVE_STRAY_WORD] = {
	"directive-stray-word", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"a directive holds a word that is neither an option nor a value",
	"sbatch refuses the script (Invalid directive found in batch script, exit 255)",
	"quote a value that has blanks; write remarks behind #",
	"#SBATCH --job-name=big run\nsrun ./solver\n",
	"#SBATCH --job-name=\"big run\"\nsrun ./solver\n"},
[RULE_DIRECTIVE_BLANK_AROUND_EQUAL] = {
	"directive-blank-around-equal", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"blanks around the = of an option",
	"the = or nothing becomes the value; sbatch refuses the script, or takes the wrong "
	"value for a text",
	"write --option=value without blanks",
	"#SBATCH --ntasks = 2\nsrun ./solver\n", "#SBATCH --ntasks=2\nsrun ./solver\n"},
[RULE_DIRECTIVE_MISSING_VALUE] = {
	"directive-missing-value", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, 0,
	"an option lacks its value",
	"sbatch joins all directives, so the option takes the next directive as its value, "
	"which then does not count; the last one is refused",
	"give the option its value, or remove it",
	"#SBATCH --job-name\n#SBATCH --ntasks=2\nsrun ./solver\n",
	"#SBATCH --job-name=solver\n#SBATCH --ntasks=2\nsrun ./solver\n"},
[RULE_DIRECTIVE_OPEN_QUOTE] = {
	"directive-open-quote", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, 0,
	"a quote in a directive is not closed",
	"a directive is one line; sbatch ends with `Unmatched` and the quote",
	"close the quote on the same line",
	"#SBATCH --job-name=\"big run\n#SBATCH --ntasks=2\nsrun ./solver\n",
	"#SBATCH --job-name=\"big run\"\n#SBATCH --ntasks=2\nsrun ./solver\n"},
[RULE_DIRECTIVE_COLON] = {
	"directive-colon", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"a colon behind #SBATCH",
	"sbatch ends with `Unexpected` and the colon",
	"remove the colon",
	"#SBATCH: --ntasks=2\nsrun ./solver\n", "#SBATCH --ntasks=2\nsrun ./solver\n"},
[RULE_DIRECTIVE_CUT] = {
	"directive-cut", CHECK_GROUP_DIRECTIVES, DIAG_WARNING, 0,
	"a # inside a word cuts the directive",
	"outside quotes # begins a remark even in the middle of a word "
	"(get_argument() in Slurm's src/sbatch/opt.c)",
	"quote the value",
	"#SBATCH --job-name=run#3 --ntasks=2\nsrun ./solver\n",
	"#SBATCH --job-name=\"run#3\" --ntasks=2\nsrun ./solver\n"},
[RULE_VARIABLE_IN_DIRECTIVE] = {
	"variable-in-directive", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, 0,
	"sbatch expands no shell variables, commands or ~",
	"the characters stay as they are: the job gets that name, or 22.05 fails it without a "
	"log because there is no such folder, and later ones make a folder of that name",
	"write the value itself, use a pattern of sbatch (%j %x %u %A %a %N), or give the "
	"option on sbatch's command line",
	"#SBATCH --ntasks=1\n#SBATCH --output=$HOME/logs/%j.out\nsrun ./solver\n",
	"#SBATCH --ntasks=1\n#SBATCH --output=/home/ada/logs/%j.out\nsrun ./solver\n"},
[RULE_DOS_LINE_ENDS] = {
	"dos-line-ends", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"the script has DOS line ends",
	"sbatch refuses a script in which any line ends in CR LF",
	"convert the file to LF line ends",
	"#SBATCH --ntasks=2\r\nsrun ./solver\r\n", "#SBATCH --ntasks=2\nsrun ./solver\n"},
[RULE_NBSP_IN_DIRECTIVE] = {
	"nbsp-in-directive", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"a directive has a blank that is none",
	"a no-break space or its like, as web pages have it, is part of the word for sbatch, "
	"which refuses the option or takes the character into the value",
	"replace it by a plain blank",
	"#SBATCH --ntasks=2\n#SBATCH --partition\302\240gpu\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --partition gpu\nsrun ./solver\n"},
[RULE_TYPOGRAPHIC_DASH] = {
	"typographic-dash", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"a directive has a dash that a word processor made",
	"an en or em dash begins no option, so sbatch refuses the script (Invalid directive)",
	"type two hyphens",
	"#SBATCH \342\200\223ntasks=2\nsrun ./solver\n",
	"#SBATCH --ntasks=2\nsrun ./solver\n"},
[RULE_NO_SHEBANG] = {
	"no-shebang", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"the first line does not say which program runs the script",
	"sbatch refuses it (This does not look like a batch script), as with a blank first "
	"line or a byte order mark",
	"begin the file with #!/bin/bash", NULL, NULL},
[RULE_EMPTY_SCRIPT] = {
	"empty-script", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, 0,
	"there is nothing in the script",
	"sbatch refuses it (Batch script is empty)", "write the script", NULL, NULL},
[RULE_NUL_IN_SCRIPT] = {
	"nul-in-script", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, 0,
	"there is a NUL byte in the script",
	"sbatch refuses it (does not allow scripts that contain a NULL character; "
	"Slurm's src/sbatch/sbatch.c)",
	"remove the byte; a file in UTF-16 is to be saved as UTF-8", NULL, NULL},
[RULE_SCRIPT_TOO_LONG] = {
	"script-too-long", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, 0,
	"the script is longer than 4 MiB",
	"slurmctld takes no more unless SchedulerParameters has max_script_size (slurm.conf.5)",
	"read the data from a file of its own", NULL, NULL},
[RULE_DUPLICATE_DIRECTIVE] = {
	"duplicate-directive", CHECK_GROUP_DIRECTIVES, DIAG_WARNING, 0,
	"an option is given twice with different values",
	"the last one wins, whichever spelling it has",
	"keep one of them",
	"#SBATCH --ntasks=2\n#SBATCH --ntasks=4\nsrun ./solver\n",
	"#SBATCH --ntasks=4\nsrun ./solver\n"},
[RULE_DEPRECATED_DIRECTIVE] = {
	"deprecated-directive", CHECK_GROUP_DIRECTIVES, DIAG_WARNING, CHECK_FIXABLE,
	"an old spelling that Slurm warns of",
	"packjob is called hetjob since 20.02, and #SLURM is read with an error message",
	"write #SBATCH and hetjob",
	"#SBATCH --ntasks=1\n#SBATCH packjob\n#SBATCH --ntasks=2\nsrun --het-group=1 ./solver\n",
	"#SBATCH --ntasks=1\n#SBATCH hetjob\n#SBATCH --ntasks=2\nsrun --het-group=1 ./solver\n"},
[RULE_FOREIGN_DIRECTIVE] = {
	"foreign-directive", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"a directive of another batch system is read too, and wins",
	"sbatch translates #PBS and #BSUB lines, anywhere in the script, and they go before "
	"#SBATCH in either order (22.05, 24.11, 26.05)",
	"remove the line, write ## in front, or add #SBATCH --ignore-pbs",
	"#PBS -l nodes=1\n#SBATCH --nodes=2\n#SBATCH --ntasks=2\nsrun ./solver\n",
	"##PBS -l nodes=1\n#SBATCH --nodes=2\n#SBATCH --ntasks=2\nsrun ./solver\n"},
[RULE_BAD_VALUE] = {
	"bad-value", CHECK_GROUP_DIRECTIVES, DIAG_ERROR, CHECK_FIXABLE,
	"sbatch does not take the value in this form",
	"sbatch refuses the script, and srun the step; the forms are those of sbatch(1), "
	"tried on 22.05, 24.11 and 26.05",
	"write the value in a form of sbatch(1)",
	"#SBATCH --ntasks=2\n#SBATCH --time=4h\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --time=04:00:00\nsrun ./solver\n"},
[RULE_LOG_FOLDER] = {
	"log-folder", CHECK_GROUP_DIRECTIVES, DIAG_WARNING, 0,
	"a pattern in the folder of the log",
	"before Slurm 23.02 the folder must be there when the job starts, and one that is "
	"named after the job cannot be: the job fails without a log (0:53)",
	"put the pattern into the file's name", 
	"#SBATCH --ntasks=2\n#SBATCH --output=run_%j/log.out\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --output=run_%j.out\nsrun ./solver\n"},
/*
 * Resources.
 */
[RULE_MEM_OPTIONS_EXCLUSIVE] = {
	"mem-options-exclusive", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"two of --mem, --mem-per-cpu and --mem-per-gpu",
	"sbatch refuses them together (mutually exclusive)",
	"keep one",
	"#SBATCH --ntasks=2\n#SBATCH --mem=64G\n#SBATCH --mem-per-cpu=4G\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --mem=64G\nsrun ./solver\n"},
[RULE_MEM_WITHOUT_UNIT] = {
	"mem-without-unit", CHECK_GROUP_RESOURCES, DIAG_WARNING, 0,
	"a memory of a few MiB, as a number without a letter",
	"a number without K, M, G or T is MiB (sbatch.1), and the job is killed when it needs "
	"more; told up to 64",
	"add G, or M where it is meant",
	"#SBATCH --ntasks=2\n#SBATCH --mem=64\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --mem=64G\nsrun ./solver\n"},
[RULE_CPUS_PER_GPU_AND_CPUS_PER_TASK] = {
	"cpus-per-gpu-and-cpus-per-task", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"--cpus-per-gpu and --cpus-per-task together",
	"sbatch refuses them together (mutually exclusive)",
	"keep --cpus-per-task",
	WORKERS_4 "#SBATCH --cpus-per-gpu=8\nsrun -c 8 python fit.py --devices 4\n",
	WORKERS_4 "srun -c 8 python fit.py --devices 4\n"},
[RULE_CONFLICTING_GPU_REQUESTS] = {
	"conflicting-gpu-requests", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"GPUs are asked for in two ways that do not agree",
	"--gres=gpu and --gpus-per-node: the job gets the gres and every srun fails (Invalid "
	"generic resource), and since 26.05 sbatch refuses them together; --gpus-per-task "
	"that does not fit the tasks per node is refused",
	"ask for GPUs once",
	WORKERS_4 "#SBATCH --gres=gpu:8\nsrun -c 8 python fit.py --devices 4\n",
	WORKERS_4 "srun -c 8 python fit.py --devices 4\n"},
[RULE_NTASKS_PER_GPU_CONFLICT] = {
	"ntasks-per-gpu-conflict", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"--ntasks-per-gpu together with another way to count tasks",
	"sbatch refuses --ntasks-per-gpu with --ntasks-per-node, --gpus-per-task, "
	"--gpus-per-socket or --tres-per-task (mutually exclusive)",
	"keep one of them",
	WORKERS_4 "#SBATCH --ntasks-per-gpu=1\nsrun -c 8 python fit.py --devices 4\n",
	WORKERS_4 "srun -c 8 python fit.py --devices 4\n"},
[RULE_EXCLUSIVE_AND_OVERSUBSCRIBE] = {
	"exclusive-and-oversubscribe", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"--exclusive and --oversubscribe together",
	"sbatch refuses them together since 23.02 (its CHANGELOG); before, the last one wins",
	"keep one",
	"#SBATCH --ntasks=2\n#SBATCH --exclusive\n#SBATCH --oversubscribe\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --exclusive\nsrun ./solver\n"},
[RULE_GPUS_PER_TASK_WITHOUT_COUNT] = {
	"gpus-per-task-without-count", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"--gpus-per-task without a number of tasks or GPUs",
	"sbatch refuses it (used without either --gpus or -n/--ntasks); 22.05 takes it with "
	"--ntasks-per-node, and all do with --nodes and --ntasks-per-node",
	"add --ntasks",
	"#SBATCH --gpus-per-task=1\n#SBATCH --cpus-per-task=8\nsrun -c 8 python run.py\n",
	"#SBATCH --ntasks=4\n#SBATCH --gpus-per-task=1\n#SBATCH --cpus-per-task=8\n"
	"srun -c 8 python run.py\n"},
[RULE_NTASKS_VS_NTASKS_PER_NODE] = {
	"ntasks-vs-ntasks-per-node", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"ntasks is not nodes x ntasks-per-node",
	"more tasks than nodes x ntasks-per-node are refused (Requested node configuration is "
	"not available); with fewer, --ntasks-per-node is only an upper limit: fewer tasks run "
	"than the line says, and 26.05 may never start the job",
	"keep --nodes and --ntasks-per-node, whose product is ntasks",
	"#SBATCH --nodes=2\n#SBATCH --ntasks=8\n#SBATCH --ntasks-per-node=1\nsrun ./solver\n",
	"#SBATCH --nodes=2\n#SBATCH --ntasks=8\n#SBATCH --ntasks-per-node=4\nsrun ./solver\n"},
[RULE_NTASKS_BELOW_NODES] = {
	"ntasks-below-nodes", CHECK_GROUP_RESOURCES, DIAG_WARNING, 0,
	"fewer tasks than nodes",
	"Slurm lowers the number of nodes to that of the tasks, with a warning",
	"ask for as many nodes as the tasks need",
	"#SBATCH --nodes=2\n#SBATCH --ntasks=1\nsrun ./solver\n",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=1\nsrun ./solver\n"},
[RULE_NTASKS_PER_NODE_WITHOUT_NODES] = {
	"ntasks-per-node-without-nodes", CHECK_GROUP_RESOURCES, DIAG_NOTE, 0,
	"--ntasks-per-node without --nodes",
	"with --ntasks it is only an upper limit (sbatch.1), and the tasks may be spread over "
	"more nodes",
	"say --nodes too",
	"#SBATCH --ntasks=8\n#SBATCH --ntasks-per-node=4\nsrun ./solver\n",
	"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\nsrun ./solver\n"},
[RULE_NTASKS_VS_GPUS] = {
	"ntasks-vs-gpus", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"tasks and GPUs of a node do not fit the program",
	"a program that is started by srun has one process per task, and each needs its own "
	"GPU: what the tasks do not use stays idle, and what they lack fails (Duplicate GPU "
	"detected, invalid device ordinal)",
	"make --ntasks-per-node the number of GPUs of a node",
	"#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\n#SBATCH --cpus-per-task=8\n"
	"srun -c 8 python fit.py --devices 4 --num_nodes 2\n",
	WORKERS_2X4 "srun -c 8 python fit.py --devices 4 --num_nodes 2\n"},
[RULE_GPUS_UNEVEN] = {
	"gpus-uneven", CHECK_GROUP_RESOURCES, DIAG_WARNING, 0,
	"the GPUs or tasks may be spread unevenly over the nodes",
	"--gpus=8 on two nodes was given 7 + 1 GPUs, and 8 tasks with --gpus-per-task=1 "
	"landed as 7 + 1 (22.05, 24.11, 26.05); a node needs at least one, no more",
	"use --gpus-per-node and --ntasks-per-node",
	"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus=8\n#SBATCH -c 8\n"
	"srun -c 8 python fit.py --devices 4 --num_nodes 2\n",
	WORKERS_2X4 "srun -c 8 python fit.py --devices 4 --num_nodes 2\n"},
[RULE_ONE_CPU_PER_GPU_TASK] = {
	"one-cpu-per-gpu-task", CHECK_GROUP_RESOURCES, DIAG_WARNING, 0,
	"one CPU for a task that feeds a GPU",
	"without --cpus-per-task a task gets one CPU, which the data loader's workers share "
	"with the training",
	"ask for the node's CPUs divided by its tasks, and repeat --cpus-per-task on srun",
	"#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\n"
	"srun python fit.py --devices 4\n",
	WORKERS_4 "srun -c 8 python fit.py --devices 4\n"},
[RULE_NO_GPU_REQUESTED] = {
	"no-gpu-requested", CHECK_GROUP_RESOURCES, DIAG_NOTE, 0,
	"the script speaks of GPUs and asks for none",
	"a job without a GPU option has every GPU variable removed, unless the partition "
	"gives whole nodes",
	"add --gpus-per-node",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=8\n"
	"torchrun --standalone --nproc_per_node=gpu train.py\n",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=8\n"
	"#SBATCH --gpus-per-node=4\ntorchrun --standalone --nproc_per_node=gpu train.py\n"},
[RULE_GPU_OPTION_WITHOUT_GPU] = {
	"gpu-option-without-gpu", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"an option that counts per GPU, and no GPU",
	"--mem-per-gpu without a GPU is refused; so is --cpus-per-gpu since 24.11, and 22.05 "
	"then fails every srun (Invalid generic resource)",
	"ask for GPUs, or count per task",
	"#SBATCH --ntasks=2\n#SBATCH --mem-per-gpu=20G\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --mem-per-cpu=4G\nsrun ./solver\n"},
[RULE_SEGMENT_NOT_DIVIDING] = {
	"segment-not-dividing", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"--segment does not divide --nodes",
	"sbatch refuses a segment size that does not divide the node count (sbatch.1)",
	"choose a divisor of --nodes",
	"#SBATCH --nodes=6\n#SBATCH --segment=4\n#SBATCH --ntasks=6\nsrun ./solver\n",
	"#SBATCH --nodes=6\n#SBATCH --segment=3\n#SBATCH --ntasks=6\nsrun ./solver\n"},
[RULE_HET_NTASKS] = {
	"het-ntasks", CHECK_GROUP_RESOURCES, DIAG_WARNING, 0,
	"a part of a heterogeneous job without --ntasks",
	"srun takes SLURM_NTASKS of the first part for the others: with --ntasks-per-node "
	"alone 24.11 and 26.05 run the part on one node",
	"write --ntasks in every part",
	"#SBATCH --ntasks=1\n#SBATCH hetjob\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n"
	"srun --het-group=1 ./solver\n",
	"#SBATCH --ntasks=1\n#SBATCH hetjob\n#SBATCH --nodes=2\n#SBATCH --ntasks=8\n"
	"#SBATCH --ntasks-per-node=4\nsrun --het-group=1 ./solver\n"},
[RULE_OVER_LIMIT] = {
	"over-limit", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"more than the partition has",
	"the site profile says so; Slurm refuses the job or leaves it pending for ever",
	"ask for less, or use another partition", NULL, NULL},
[RULE_UNKNOWN_PARTITION] = {
	"unknown-partition", CHECK_GROUP_RESOURCES, DIAG_WARNING, 0,
	"the site profile does not know the partition",
	"sbatch refuses a partition that does not exist",
	"use one of the profile's, or bring the profile up to date", NULL, NULL},
[RULE_SELECT_PLUGIN] = {
	"select-plugin", CHECK_GROUP_RESOURCES, DIAG_ERROR, 0,
	"the cluster's select plugin does not know the GPU option",
	"the site profile says which plugin there is: select/cons_res knows no --gpus option, "
	"and select/linear none that counts per task (since 24.11 it refuses it, CHANGELOG)",
	"use --gres=gpu:N, which every plugin knows", NULL, NULL},
[RULE_EXCLUSIVE_WITHOUT_MEM] = {
	"exclusive-without-mem", CHECK_GROUP_RESOURCES, DIAG_NOTE, CHECK_PEDANTIC,
	"--exclusive without --mem",
	"with DefMemPerCPU set, a whole node still comes with memory for the CPUs only",
	"add --mem=0, all memory of the node",
	"#SBATCH --ntasks=2\n#SBATCH --exclusive\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --exclusive\n#SBATCH --mem=0\nsrun ./solver\n"},
/*
 * Steps.
 */
[RULE_SRUN_WITHOUT_CPUS_PER_TASK] = {
	"srun-without-cpus-per-task", CHECK_GROUP_STEPS, DIAG_WARNING, CHECK_FIXABLE,
	"srun does not repeat the job's --cpus-per-task",
	"srun of 22.05 to 23.02 does not take it from the job, and binds each task to one CPU "
	"(RELEASE_NOTES of 22.05); 23.11 and later take it again (RELEASE_NOTES of 23.11). A "
	"note where neither --slurm nor a site profile says which version is meant",
	"repeat --cpus-per-task on srun, which is right in every version",
	"#SBATCH --ntasks=2\n#SBATCH --cpus-per-task=8\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --cpus-per-task=8\nsrun --cpus-per-task=8 ./solver\n"},
[RULE_SRUN_NTASKS_PER_NODE_IGNORED] = {
	"srun-ntasks-per-node-ignored", CHECK_GROUP_STEPS, DIAG_WARNING, 0,
	"srun ignores --ntasks-per-node here",
	"srun takes the number of tasks from the job, against which the option is only an "
	"upper limit, and says `can't honor`; 22.05 does so even with -N",
	"say -N and -n too",
	WORKERS_2X4 "srun --ntasks-per-node=1 mkdir -p /tmp/cache\n",
	WORKERS_2X4 "srun -N 2 -n 2 --ntasks-per-node=1 mkdir -p /tmp/cache\n"},
[RULE_STEP_EXCEEDS_JOB] = {
	"step-exceeds-job", CHECK_GROUP_STEPS, DIAG_ERROR, 0,
	"the step asks for more than the job has",
	"srun waits or fails (More processors requested than permitted)",
	"ask for it in the header, or make the step smaller",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=2\nsrun -N 2 -n 2 ./solver\n",
	"#SBATCH --nodes=2\n#SBATCH --ntasks=2\nsrun -N 2 -n 2 ./solver\n"},
[RULE_STEP_GRES_OVER_GPUS_PER_NODE] = {
	"step-gres-over-gpus-per-node", CHECK_GROUP_STEPS, DIAG_ERROR, CHECK_FIXABLE,
	"--gres=gpu on srun, --gpus-per-node in the header",
	"srun inherits SLURM_GPUS_PER_NODE, and since 26.05 ends with `--gpus-per-node and "
	"--gres=gpu are mutually exclusive`; older ones take it",
	"use the header's option on srun too",
	WORKERS_4 "#SBATCH --mem=64G\n"
	"srun --exact -n 1 -c 8 --gres=gpu:1 --mem=16G python run.py\n",
	WORKERS_4 "#SBATCH --mem=64G\n"
	"srun --exact -n 1 -c 8 --gpus-per-node=1 --mem=16G python run.py\n"},
[RULE_PARALLEL_STEPS_SERIALISED] = {
	"parallel-steps-serialised", CHECK_GROUP_STEPS, DIAG_WARNING, 0,
	"steps in the background that run one after another",
	"a step takes all GPUs and all memory of the job unless told otherwise, so the next "
	"one waits (22.05, 24.11, 26.05)",
	"give each srun --exact, its share of the GPUs and --mem",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=2\n#SBATCH --gres=gpu:2\n#SBATCH -c 8\n"
	"srun -n 1 -c 8 python run.py 0 &\nsrun -n 1 -c 8 python run.py 1 &\nwait\n",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=2\n#SBATCH --gres=gpu:2\n#SBATCH -c 8\n"
	"srun --exact -n 1 -c 8 --gres=gpu:1 --mem=16G python run.py 0 &\n"
	"srun --exact -n 1 -c 8 --gres=gpu:1 --mem=16G python run.py 1 &\nwait\n"},
[RULE_PARALLEL_STEPS_ONE_PORT] = {
	"parallel-steps-one-port", CHECK_GROUP_STEPS, DIAG_ERROR, 0,
	"steps that run at the same time share one MASTER_PORT",
	"rank 0 of the second step cannot bind the port (address already in use)",
	"give each step its own port",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=4\n#SBATCH --gres=gpu:4\n#SBATCH -c 8\n"
	"export MASTER_ADDR=$(hostname)\n" PORT
	"for seed in 1 2; do\n"
	"  srun --exact -n 2 -c 8 --gres=gpu:2 --mem=16G bash -c '" RANKS
	" exec python train.py' &\ndone\nwait\n",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=4\n#SBATCH --gres=gpu:4\n#SBATCH -c 8\n"
	"export MASTER_ADDR=$(hostname)\n"
	"for seed in 1 2; do\n"
	"  export MASTER_PORT=$((20000 + SLURM_JOB_ID % 5000 * 2 + seed))\n"
	"  srun --exact -n 2 -c 8 --gres=gpu:2 --mem=16G bash -c '" RANKS
	" exec python train.py' &\ndone\nwait\n"},
[RULE_STEP_WITHOUT_WAIT] = {
	"step-without-wait", CHECK_GROUP_STEPS, DIAG_ERROR, CHECK_FIXABLE,
	"a step in the background, and nothing waits for it",
	"the job ends with the script, which kills its steps; it is COMPLETED all the same",
	"end the script with wait",
	"#SBATCH --ntasks=1\nsrun ./solver &\n", "#SBATCH --ntasks=1\nsrun ./solver &\nwait\n"},
[RULE_EXPORT_WITHOUT_ALL] = {
	"export-without-all", CHECK_GROUP_STEPS, DIAG_ERROR, CHECK_FIXABLE,
	"--export without ALL takes the environment away",
	"the tasks get only what is listed: no PATH, no HOME, no MASTER_ADDR, and a program "
	"without a path is not found (execve(): No such file or directory)",
	"write --export=ALL,NAME=VALUE",
	"#SBATCH --ntasks=2\nsrun --export=OMP_NUM_THREADS=4 python run.py\n",
	"#SBATCH --ntasks=2\nsrun --export=ALL,OMP_NUM_THREADS=4 python run.py\n"},
[RULE_MPIRUN_INSIDE_SRUN] = {
	"mpirun-inside-srun", CHECK_GROUP_STEPS, DIAG_ERROR, 0,
	"srun starts mpirun",
	"every task starts an mpirun of its own, which asks Slurm for a step again: Open MPI "
	"4.1.4 hangs",
	"start mpirun without srun, or the program with srun --mpi=pmix",
	"#SBATCH --ntasks=4\nsrun mpirun -np 4 ./solver\n",
	"#SBATCH --ntasks=4\nmpirun -np 4 ./solver\n"},
[RULE_MPI_WITHOUT_PLUGIN] = {
	"mpi-without-plugin", CHECK_GROUP_STEPS, DIAG_WARNING, 0,
	"an MPI program under srun without --mpi",
	"with MpiDefault=none the tasks find no PMI: Open MPI 4 aborts in MPI_Init, and "
	"Open MPI 5 starts as many worlds of one",
	"say --mpi=pmix or what `srun --mpi=list` has",
	"#SBATCH --ntasks=4\nmodule load openmpi/5\nsrun ./mpi_solver\n",
	"#SBATCH --ntasks=4\nmodule load openmpi/5\nsrun --mpi=pmix ./mpi_solver\n"},
[RULE_MPI_NOT_NEEDED] = {
	"mpi-not-needed", CHECK_GROUP_STEPS, DIAG_NOTE, 0,
	"--mpi for a program that uses no MPI",
	"neither PyTorch nor its launchers take their ranks from PMI; where the plugin is "
	"missing srun refuses the option",
	"leave --mpi out",
	NODES_2X4 MASTER PORT
	"srun --mpi=pmi2 -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_SRUN_INSIDE_STEP] = {
	"srun-inside-step", CHECK_GROUP_STEPS, DIAG_ERROR, 0,
	"srun inside a step",
	"the inner step waits for what the outer one holds, for ever",
	"start it from the script itself, or with --overlap",
	"#SBATCH --ntasks=2\nsrun bash -c 'srun ./solver'\n",
	"#SBATCH --ntasks=2\nsrun ./solver\n"},
[RULE_SBATCH_INSIDE_JOB] = {
	"sbatch-inside-job", CHECK_GROUP_STEPS, DIAG_WARNING, 0,
	"a job is submitted from inside a job",
	"the new job inherits the SLURM_ variables of this one (GPUs, memory), so that its "
	"srun can fail with `Invalid generic resource`",
	"use sbatch --export=NONE, or unset the SLURM_ variables first",
	ONE_TASK "#SBATCH --gpus-per-node=1\nsrun -n 1 -c 8 bash -c 'python a.py && sbatch b.sh'\n",
	ONE_TASK "#SBATCH --gpus-per-node=1\nsrun -n 1 -c 8 python a.py\n"
	"sbatch --export=NONE b.sh\n"},
[RULE_SRANK_REFUSES] = {
	"srank-refuses", CHECK_GROUP_STEPS, DIAG_ERROR, 0,
	"a word that srank does not take",
	"sbatch and srun refuse a launcher or key that the plugin does not know "
	"(spank_srank(8)); srank exec and srank doctor end each task before its program "
	"starts (srank(1))",
	"srank launchers and srun --srank=help list what there is",
	"#SBATCH --ntasks=2\n#SBATCH --gpus-per-node=2\n#SBATCH --cpus-per-task=8\n"
	"srun -c 8 --mpi=pmix srank exec --laucher torch python train.py\n",
	"#SBATCH --ntasks=2\n#SBATCH --gpus-per-node=2\n#SBATCH --cpus-per-task=8\n"
	"srun -c 8 --mpi=pmix srank exec --launcher torch python train.py\n"},
[RULE_NO_KILL_ON_BAD_EXIT] = {
	"no-kill-on-bad-exit", CHECK_GROUP_STEPS, DIAG_NOTE, CHECK_PEDANTIC,
	"a failed task does not end the others",
	"without --kill-on-bad-exit the other ranks wait for the dead one until their "
	"time-out, unless the site sets KillOnBadExit",
	"add --kill-on-bad-exit=1",
	WORKERS_4 "srun -c 8 python fit.py --devices 4\n",
	WORKERS_4 "srun -c 8 --kill-on-bad-exit=1 python fit.py --devices 4\n"},
[RULE_PIPE_HIDES_STATUS] = {
	"pipe-hides-status", CHECK_GROUP_STEPS, DIAG_NOTE, 0,
	"the exit code of the step is lost in a pipe",
	"a pipe ends with the code of its last command, so a failed job is COMPLETED",
	"set -o pipefail",
	"#SBATCH --ntasks=2\nsrun ./solver | tee log\n",
	"#SBATCH --ntasks=2\nset -o pipefail\nsrun ./solver | tee log\n"},
/*
 * Launchers.
 */
[RULE_TORCHRUN_TIMES_NTASKS] = {
	"torchrun-times-ntasks", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, 0,
	"every task starts a launcher that starts all workers of the node",
	"a launcher is started once per node; several on a node want the same port (address "
	"already in use) and the same GPUs",
	"one task per node with all its CPUs, or no launcher",
	WORKERS_2X4 MASTER PORT
	"srun -c 8 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_SPAWNER_TIMES_NTASKS] = {
	"spawner-times-ntasks", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, 0,
	"every task starts a program that starts a process for each GPU",
	"tasks x GPUs processes share the GPUs and the port",
	"one task with all CPUs",
	WORKERS_4 "srun -c 8 python train_net.py --num-gpus 4\n",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --gpus-per-node=4\n#SBATCH -c 32\n"
	"srun -n 1 -c 32 python train_net.py --num-gpus 4\n"},
[RULE_DEEPSPEED_UNDER_SRUN] = {
	"deepspeed-under-srun", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, 0,
	"srun starts the launcher of DeepSpeed or Colossal-AI, which starts the other nodes itself",
	"each node's launcher starts all workers of all nodes by ssh",
	"start it once without srun, or use torchrun with srun",
	NODES_2X4 "srun -c 32 deepspeed --hostfile=hosts --num_nodes 2 --num_gpus 4 train.py\n",
	NODES_2X4 "deepspeed --hostfile=hosts --num_nodes 2 --num_gpus 4 train.py\n"},
[RULE_MULTI_NODE_WITHOUT_SRUN] = {
	"multi-node-without-srun", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, CHECK_FIXABLE,
	"several nodes, and a launcher on the first only",
	"the script runs on the first node; only srun or mpirun reach the others, so the "
	"launcher waits for them until its time-out",
	"put srun in front",
	NODES_2X4 MASTER PORT "torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_TASKS_WITHOUT_SRUN] = {
	"tasks-without-srun", CHECK_GROUP_LAUNCHERS, DIAG_WARNING, CHECK_FIXABLE,
	"several tasks, and a program that is started once",
	"the script is one process, whatever the number of tasks; Lightning then waits for "
	"ranks that nobody starts",
	"put srun in front",
	WORKERS_4 "python fit.py --devices 4\n", WORKERS_4 "srun -c 8 python fit.py --devices 4\n"},
[RULE_BATCH_EXPANDED_RANK] = {
	"batch-expanded-rank", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, CHECK_FIXABLE,
	"a rank is taken from the batch shell",
	"SLURM_PROCID, SLURM_LOCALID and SLURM_NODEID are 0 in the batch shell, and what is "
	"not in single quotes is expanded there: every task gets 0",
	"expand it inside the step: single quotes around the text of bash -c",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODEID " STATIC
	" train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 bash -c 'torchrun --nnodes=2 --nproc_per_node=4 "
	"--node_rank=$SLURM_NODEID " STATIC " train.py'\n"},
[RULE_RANK_NOT_UNIQUE] = {
	"rank-not-unique", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, 0,
	"several tasks have the same rank",
	"SLURM_LOCALID begins anew on each node and SLURM_NODEID is the same for all tasks of "
	"one; two processes of one rank replace each other in the store, and the others wait "
	"for ranks that never come",
	"RANK=$SLURM_PROCID inside the step",
	WORKERS_2X4 MASTER PORT
	"srun -c 8 bash -c 'RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS "
	"LOCAL_RANK=$SLURM_LOCALID python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_UNEXPANDED_VARIABLE] = {
	"unexpanded-variable", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, 0,
	"a launcher gets the name of a variable instead of its value",
	"srun starts programs, not a shell: what single quotes or a backslash kept from the "
	"batch shell nobody expands in the task",
	"put the command into the text of bash -c",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 --node_rank=\\$SLURM_NODEID " STATIC
	" train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 bash -c 'torchrun --nnodes=2 --nproc_per_node=4 "
	"--node_rank=$SLURM_NODEID " STATIC " train.py'\n"},
[RULE_NODE_RANK] = {
	"node-rank", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, 0,
	"the launchers of several nodes have the same node rank, or none",
	"static rendezvous takes the node's place from --node_rank alone: with the same one on "
	"all nodes it hangs",
	"--node_rank=$SLURM_NODEID inside the step, or --rdzv_backend=c10d",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " STATIC " train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 bash -c 'torchrun --nnodes=2 --nproc_per_node=4 "
	"--node_rank=$SLURM_NODEID " STATIC " train.py'\n"},
[RULE_NNODES_MISMATCH] = {
	"nnodes-mismatch", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, CHECK_FIXABLE,
	"the launcher is told another number of nodes",
	"too many: it waits for nodes that never come; too few: the others die",
	"use $SLURM_NNODES",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=4 --nproc_per_node=4 " C10D " train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_ONE_NODE_LAUNCHER] = {
	"one-node-launcher", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, 0,
	"a launcher that knows of one node is started on several",
	"each node then trains for itself, with ranks from 0 on: nothing fails, and the "
	"nodes write over each other's checkpoints. torchrun's default is --nnodes=1:1, "
	"accelerate's one machine",
	"tell it the nodes and where they meet, or ask for one node",
	NODES_2X4 "srun -c 32 torchrun --standalone --nproc_per_node=4 train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_HOSTS_BY_HAND] = {
	"hosts-by-hand", CHECK_GROUP_LAUNCHERS, DIAG_WARNING, 0,
	"mpirun or horovodrun gets hosts that are written into the script",
	"the next job has other nodes, and slots below -np are refused; under Slurm mpirun "
	"takes the job's own hosts",
	"leave -H out, or make the list with scontrol show hostnames",
	"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n"
	"mpirun -np 8 -H node1:4,node2:4 ./solver\n",
	"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\nmpirun -np 8 ./solver\n"},
[RULE_NNODES_FROM_WORLD_SIZE] = {
	"nnodes-from-world-size", CHECK_GROUP_LAUNCHERS, DIAG_WARNING, 0,
	"WORLD_SIZE or RANK as a number of nodes",
	"some clouds give these variables per node; under Slurm they count ranks",
	"use $SLURM_NNODES and $SLURM_NODEID",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=$WORLD_SIZE --nproc_per_node=4 " C10D " train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_GPU_CONSTANT_DRIFT] = {
	"gpu-constant-drift", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, CHECK_FIXABLE,
	"the number of workers is not that of the GPUs",
	"more workers than GPUs end in `invalid device ordinal`; with fewer, GPUs are idle",
	"use $SLURM_GPUS_ON_NODE inside the step",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=8 " C10D " train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_ACCELERATE_PROCESSES] = {
	"accelerate-processes", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, 0,
	"accelerate's counts do not fit the job",
	"--num_processes is the total; accelerate divides it by --num_machines and drops the "
	"rest (utils/launch.py)",
	"--num_machines=nodes and --num_processes=nodes x GPUs of a node",
	NODES_2X4 MASTER PORT
	"srun -c 32 bash -c 'accelerate launch --num_machines 2 --num_processes 4 "
	"--machine_rank $SLURM_NODEID --main_process_ip $MASTER_ADDR "
	"--main_process_port $MASTER_PORT train.py'\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 bash -c 'accelerate launch --num_machines 2 --num_processes 8 "
	"--machine_rank $SLURM_NODEID --main_process_ip $MASTER_ADDR "
	"--main_process_port $MASTER_PORT train.py'\n"},
[RULE_NUM_NODES_MISMATCH] = {
	"num-nodes-mismatch", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, CHECK_FIXABLE,
	"the program is told another number of nodes",
	"Lightning refuses to start when --num_nodes is not SLURM_NNODES",
	"say the number of nodes of the job",
	WORKERS_2X4 "srun -c 8 python fit.py --devices 4 --num_nodes 4\n",
	WORKERS_2X4 "srun -c 8 python fit.py --devices 4 --num_nodes 2\n"},
[RULE_WORLD_SIZE_MISMATCH] = {
	"world-size-mismatch", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, 0,
	"the world size is not the number of ranks",
	"too small: the ranks above it fail; too large: all wait for ranks that never come",
	"WORLD_SIZE=$SLURM_NTASKS inside the step",
	WORKERS_2X4 MASTER PORT "export WORLD_SIZE=$SLURM_NNODES\n"
	"srun -c 8 bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'\n",
	WORKERS_2X4 MASTER PORT
	"srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_TORCH_LAUNCH_DEPRECATED] = {
	"torch-launch-deprecated", CHECK_GROUP_LAUNCHERS, DIAG_NOTE, CHECK_FIXABLE,
	"torch.distributed.launch is the old name of torchrun",
	"PyTorch deprecates it since 1.9 and passes --local-rank, which newer programs do not "
	"take",
	"use torchrun",
	ONE_TASK "#SBATCH --gpus-per-node=2\n"
	"python -m torch.distributed.launch --nproc_per_node=2 --master_port=0 train.py\n",
	ONE_TASK "#SBATCH --gpus-per-node=2\ntorchrun --standalone --nproc_per_node=2 train.py\n"},
[RULE_MMENGINE_LAUNCHER] = {
	"mmengine-launcher", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, CHECK_FIXABLE,
	"--launcher does not say what starts the ranks",
	"MMEngine reads RANK and LOCAL_RANK with pytorch, SLURM_PROCID with slurm, and stays "
	"one process without --launcher; torchrun's workers all see the SLURM_PROCID of their "
	"launcher (mmengine/dist/utils.py)",
	"--launcher pytorch with torchrun, --launcher slurm with srun alone",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D
	" tools/train.py configs/a.py --launcher slurm\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D
	" tools/train.py configs/a.py --launcher pytorch\n"},
[RULE_MMENGINE_IN_CONTAINER] = {
	"mmengine-in-container", CHECK_GROUP_LAUNCHERS, DIAG_WARNING, 0,
	"--launcher slurm in a container without MASTER_ADDR",
	"MMEngine then asks scontrol, which the container does not have, and takes the error "
	"for the address (mmengine/dist/utils.py)",
	"export MASTER_ADDR before srun",
	WORKERS_2X4 "srun -c 8 --container-image=mm.sqsh python tools/train.py configs/a.py "
	"--launcher slurm\n",
	WORKERS_2X4 MASTER PORT
	"srun -c 8 --container-image=mm.sqsh python tools/train.py configs/a.py "
	"--launcher slurm\n"},
[RULE_ONE_PROCESS_MANY_GPUS] = {
	"one-process-many-gpus", CHECK_GROUP_LAUNCHERS, DIAG_NOTE, 0,
	"several GPUs, one process, and no launcher",
	"a program uses as many GPUs as it says in its code; CUDA_VISIBLE_DEVICES starts no "
	"processes",
	"use torchrun, or one task per GPU",
	ONE_TASK "#SBATCH --gpus-per-node=4\nsrun -c 8 python tools/train.py configs/a.py\n",
	ONE_TASK "#SBATCH --gpus-per-node=4\n"
	"torchrun --standalone --nproc_per_node=4 tools/train.py configs/a.py "
	"--launcher pytorch\n"},
[RULE_SLURM_VARIABLE_UNSET] = {
	"slurm-variable-unset", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, 0,
	"a SLURM_ variable that this job does not have",
	"Slurm sets SLURM_GPUS_PER_NODE, SLURM_NTASKS_PER_NODE, SLURM_CPUS_PER_TASK and the "
	"like only with the option of that name",
	"give the option, or use SLURM_GPUS_ON_NODE, which is always there",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --gres=gpu:4\n#SBATCH -c 32\n"
	"torchrun --standalone --nproc_per_node=$SLURM_GPUS_PER_NODE train.py\n",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --gres=gpu:4\n#SBATCH -c 32\n"
	"torchrun --standalone --nproc_per_node=$SLURM_GPUS_ON_NODE train.py\n"},
[RULE_SLURM_VARIABLE_MISSPELT] = {
	"slurm-variable-misspelt", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, CHECK_FIXABLE,
	"the name of a variable is near one of Slurm's, and is none",
	"a shell expands what is not set to nothing, without a word: an option gets no value, or "
	"the next word as its value. The names are those of srun.1, sbatch.1 and salloc.1; "
	"names that a site may set itself are passed over",
	"write the name as srun(1) has it",
	NODES_2X4 MASTER PORT
	"srun -c 32 bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODE_ID "
	STATIC " train.py'\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODEID "
	STATIC " train.py'\n"},
[RULE_NTASKS_UNSET_IN_BATCH] = {
	"ntasks-unset-in-batch", CHECK_GROUP_LAUNCHERS, DIAG_WARNING, 0,
	"SLURM_NTASKS is not set in the batch shell of this job",
	"it is set there only with --ntasks, --ntasks-per-node, --ntasks-per-gpu or "
	"--gpus-per-task; inside a step it always is",
	"add --ntasks-per-node, or expand it inside the step",
	"#SBATCH --nodes=2\n#SBATCH --gpus-per-node=1\n#SBATCH -c 8\n" MASTER PORT
	"export WORLD_SIZE=$SLURM_NTASKS\n"
	"srun -c 8 bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'\n",
	"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=1\n"
	"#SBATCH -c 8\n" MASTER PORT "export WORLD_SIZE=$SLURM_NTASKS\n"
	"srun -c 8 bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'\n"},
[RULE_TYPED_GPUS_PER_NODE] = {
	"typed-gpus-per-node", CHECK_GROUP_LAUNCHERS, DIAG_ERROR, CHECK_FIXABLE,
	"a number of GPUs is taken from a variable that holds a type too",
	"SLURM_GPUS_PER_NODE is the text of the option (a100:4), which torchrun refuses "
	"(Unsupported nproc_per_node value)",
	"use $SLURM_GPUS_ON_NODE, a plain number",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --gpus-per-node=a100:4\n#SBATCH -c 32\n"
	"torchrun --standalone --nproc_per_node=$SLURM_GPUS_PER_NODE train.py\n",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --gpus-per-node=a100:4\n#SBATCH -c 32\n"
	"torchrun --standalone --nproc_per_node=$SLURM_GPUS_ON_NODE train.py\n"},
[RULE_OMP_UNSET] = {
	"omp-unset", CHECK_GROUP_LAUNCHERS, DIAG_NOTE, CHECK_PEDANTIC,
	"OMP_NUM_THREADS is not set",
	"torchrun sets it to 1 for several workers; without torchrun a library takes all CPUs "
	"that it sees",
	"export OMP_NUM_THREADS, the CPUs of a worker",
	WORKERS_4 "srun -c 8 python fit.py --devices 4\n",
	WORKERS_4 "export OMP_NUM_THREADS=8\nsrun -c 8 python fit.py --devices 4\n"},
/*
 * Rendezvous.
 */
[RULE_STEP_HOSTNAME_MASTER] = {
	"step-hostname-master", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, 0,
	"every node takes itself for the master",
	"hostname in a task is the task's own node, so the nodes wait for each other",
	"find the first host once, in the batch shell",
	WORKERS_2X4 PORT
	"srun -c 8 bash -c 'export MASTER_ADDR=$(hostname); " RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_BATCH_HOSTNAME_MASTER] = {
	"batch-hostname-master", CHECK_GROUP_RENDEZVOUS, DIAG_NOTE, 0,
	"the batch host is taken for the node of rank 0",
	"the script runs on the first node of the job, which is rank 0's unless a step picks "
	"its nodes (-w, -x, -r, -m arbitrary) or the job is heterogeneous; told only then, and "
	"with --pedantic",
	"take the first host of the step",
	WORKERS_2X4 "export MASTER_ADDR=$(hostname)\n" PORT
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_LOOPBACK_MASTER] = {
	"loopback-master", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, 0,
	"the address of the master is that of the node itself",
	"localhost is another machine on each node: static rendezvous hangs, c10d ends in "
	"RendezvousTimeoutError",
	"take the first host of the job",
	WORKERS_2X4 "export MASTER_ADDR=localhost\n" PORT
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_LOOPBACK_FALLBACK] = {
	"loopback-fallback", CHECK_GROUP_RENDEZVOUS, DIAG_WARNING, 0,
	"the address falls back to localhost",
	"where the command before || is missing, as scontrol is in containers, every node is "
	"its own world of one and nothing says so",
	"let the script fail instead",
	WORKERS_2X4 "export MASTER_ADDR=$(scontrol show hostnames | head -n 1 || echo localhost)\n"
	PORT "srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_LAUNCH_NODE_IPADDR] = {
	"launch-node-ipaddr", CHECK_GROUP_RENDEZVOUS, DIAG_NOTE, 0,
	"SLURM_LAUNCH_NODE_IPADDR is where srun runs",
	"under sbatch that is the host of rank 0; under salloc or srun from a login node, with "
	"-w, -r or -m arbitrary it is not",
	"take the first host of the step",
	NODES_2X4 PORT
	"srun -c 32 bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d "
	"--rdzv_id=$SLURM_JOB_ID --rdzv_endpoint=$SLURM_LAUNCH_NODE_IPADDR:$MASTER_PORT "
	"train.py'\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_SUBMIT_HOST_MASTER] = {
	"submit-host-master", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, 0,
	"the address of the master is the host where sbatch was called",
	"SLURM_SUBMIT_HOST is the login node, where no rank runs: all ranks time out",
	"take the first host of the job",
	WORKERS_2X4 "export MASTER_ADDR=$SLURM_SUBMIT_HOST\n" PORT
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_HAND_PARSED_NODELIST] = {
	"hand-parsed-nodelist", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, CHECK_FIXABLE,
	"the list of nodes is cut by hand",
	"SLURM_JOB_NODELIST is compressed: node[1-3], node[1,3], rack1n[2-3],rack2n1; text "
	"tools get some of these wrong",
	"scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1",
	WORKERS_2X4 "export MASTER_ADDR=$(echo $SLURM_JOB_NODELIST | cut -d, -f1)\n" PORT
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_MASTER_NOT_FIRST_HOST] = {
	"master-not-first-host", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, 0,
	"the address of the master is not that of the first host",
	"Slurm puts rank 0 on the first host of the list, and rank 0 listens: at another one "
	"nobody answers, and two names in one variable are no name",
	"scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1",
	WORKERS_2X4
	"export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | tail -n 1)\n" PORT
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_MASTER_FIXED] = {
	"master-fixed", CHECK_GROUP_RENDEZVOUS, DIAG_WARNING, 0,
	"the address of the master is written into the script",
	"the job gets the nodes that are free; without --nodelist the host in the script is "
	"seldom one of them, and the ranks wait for it until their time-out",
	"scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1",
	WORKERS_2X4 "export MASTER_ADDR=gpu01\n" PORT
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_MASTER_MISSING] = {
	"master-missing", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, 0,
	"nobody says where the ranks of several nodes meet",
	"torchrun and accelerate then take 127.0.0.1, which is another machine on each node; "
	"env:// ends with `MASTER_ADDR expected, but not set`",
	"pass the first host of the job and a port",
	NODES_2X4 "srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_PORT_MISSING] = {
	"port-missing", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, 0,
	"the port is empty",
	"torchrun ends with `invalid int value: ''`, or with `The port number of the rendezvous "
	"endpoint must be an integer`; env:// with `MASTER_PORT expected, but not set`",
	"20000 + SLURM_JOB_ID % 10000",
	NODES_2X4 MASTER
	"srun -c 32 bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODEID "
	"--master_addr=$MASTER_ADDR --master_port= train.py'\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODEID "
	STATIC " train.py'\n"},
[RULE_PORT_OUT_OF_RANGE] = {
	"port-out-of-range", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, 0,
	"the port can be above 65535",
	"PyTorch ends with `port must have value from 0 to 65535`",
	"a port from 1024 to 32767, such as 20000 + SLURM_JOB_ID % 10000",
	WORKERS_2X4 MASTER "export MASTER_PORT=$((10000 + SLURM_JOB_ID))\n"
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_PORT_PRIVILEGED] = {
	"port-privileged", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, 0,
	"the port can be below 1024",
	"only root may bind such a port (permission denied)",
	"add at least 1024",
	WORKERS_2X4 MASTER "export MASTER_PORT=$((SLURM_JOB_ID % 1000))\n"
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_PORT_EPHEMERAL] = {
	"port-ephemeral", CHECK_GROUP_RENDEZVOUS, DIAG_WARNING, 0,
	"the port can be one that the system gives to clients",
	"Linux takes ports from 32768 to 60999 for outgoing connections "
	"(net.ipv4.ip_local_port_range), so one of them is sometimes in use",
	"a port below 32768",
	WORKERS_2X4 MASTER "export MASTER_PORT=$((SLURM_JOB_ID % 16384 + 49152))\n"
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_PORT_PER_TASK] = {
	"port-per-task", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, 0,
	"every task chooses a port of its own",
	"the ranks wait for each other at different ports until their time-out",
	"choose the port once, in the batch shell",
	WORKERS_4 MASTER
	"srun -c 8 bash -c 'export MASTER_PORT=$((20000 + RANDOM % 5000)) " RANKS
	"; python train.py'\n",
	WORKERS_4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_PORT_OCTAL] = {
	"port-octal", CHECK_GROUP_RENDEZVOUS, DIAG_WARNING, 0,
	"digits cut from the job id are taken for an octal number",
	"0899 is an error in $(( )), and 0177 is 127: it fails for one job in ten",
	"20000 + SLURM_JOB_ID % 10000, or 10# before the digits",
	WORKERS_4 MASTER
	"export MASTER_PORT=$((10000 + $(echo -n $SLURM_JOB_ID | tail -c 4)))\n"
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_FIXED_PORT] = {
	"fixed-port", CHECK_GROUP_RENDEZVOUS, DIAG_WARNING, 0,
	"the same port in every job",
	"two jobs whose first nodes are the same cannot both have it",
	"derive it from the job: 20000 + SLURM_JOB_ID % 10000",
	WORKERS_2X4 MASTER "export MASTER_PORT=29500\n"
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_C10D_IGNORES_STATIC_FLAGS] = {
	"c10d-ignores-static-flags", CHECK_GROUP_RENDEZVOUS, DIAG_NOTE, 0,
	"--node_rank and --master_addr have no effect here",
	"they belong to static rendezvous; with c10d the ranks are given out by the store "
	"(torch/distributed/run.py)",
	"remove them, or the --rdzv_ options",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 --node_rank=0 " C10D " train.py\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_RDZV_ID_PER_TASK] = {
	"rdzv-id-per-task", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, 0,
	"every node draws a rendezvous id of its own",
	"launchers with different ids never meet",
	"--rdzv_id=$SLURM_JOB_ID",
	NODES_2X4 MASTER PORT
	"srun -c 32 bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=$RANDOM "
	"--rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT train.py'\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 torchrun --nnodes=2 --nproc_per_node=4 " C10D " train.py\n"},
[RULE_UNEXPORTED_VARIABLE] = {
	"unexported-variable", CHECK_GROUP_RENDEZVOUS, DIAG_ERROR, CHECK_FIXABLE,
	"a variable that the ranks need is not exported",
	"srun passes the environment, not the shell's own variables: `environment variable "
	"MASTER_ADDR expected, but not set`",
	"export it",
	WORKERS_2X4
	"MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n" PORT
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_HOSTNAME_VARIABLE_IN_STEP] = {
	"hostname-variable-in-step", CHECK_GROUP_RENDEZVOUS, DIAG_WARNING, 0,
	"HOSTNAME in a task is the batch host's",
	"srun copies the variable, so it is the same on every node",
	"use $SLURMD_NODENAME or $(hostname)",
	"#SBATCH --nodes=2\n#SBATCH --ntasks=2\nsrun bash -c './solver -o out.$HOSTNAME'\n",
	"#SBATCH --nodes=2\n#SBATCH --ntasks=2\nsrun bash -c './solver -o out.$SLURMD_NODENAME'\n"},
[RULE_SCONTROL_IN_CONTAINER] = {
	"scontrol-in-container", CHECK_GROUP_RENDEZVOUS, DIAG_WARNING, 0,
	"a Slurm command inside a container",
	"the image has no scontrol or squeue, nor the keys to speak to Slurm",
	"call it in the batch shell and export the result",
	NODES_2X4 PORT
	"srun -c 32 --container-image=a.sqsh bash -c 'torchrun --nnodes=2 --nproc_per_node=4 "
	"--rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d "
	"--rdzv_endpoint=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1):$MASTER_PORT "
	"train.py'\n",
	NODES_2X4 MASTER PORT
	"srun -c 32 --container-image=a.sqsh torchrun --nnodes=2 --nproc_per_node=4 " C10D
	" train.py\n"},
[RULE_NCCL_EXCLUDE_WITHOUT_LO] = {
	"nccl-exclude-without-lo", CHECK_GROUP_RENDEZVOUS, DIAG_WARNING, CHECK_FIXABLE,
	"NCCL's list of excluded interfaces lacks lo",
	"a list of one's own replaces NCCL's ^lo,docker, so that it may choose the loopback",
	"add lo",
	WORKERS_2X4 MASTER PORT "export NCCL_SOCKET_IFNAME=^docker0\n"
	"srun -c 8 bash -c '" RANKS " python train.py'\n",
	WORKERS_2X4 MASTER PORT "export NCCL_SOCKET_IFNAME=^lo,docker0\n"
	"srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_NETWORK_OPTION] = {
	"network-option", CHECK_GROUP_RENDEZVOUS, DIAG_NOTE, 0,
	"--network does not make a program use InfiniBand",
	"the option is for switch plugins (srun.1); elsewhere any word is taken and nothing "
	"changes (22.05, 24.11, 26.05). NCCL finds InfiniBand by itself",
	"leave it out; NCCL_IB_HCA and NCCL_SOCKET_IFNAME choose the interfaces",
	"#SBATCH --ntasks=2\n#SBATCH --network=ib\nsrun ./solver\n",
	"#SBATCH --ntasks=2\nsrun ./solver\n"},
/*
 * Devices.
 */
[RULE_TASKS_TAKE_ONE_GPU] = {
	"tasks-take-one-gpu", CHECK_GROUP_DEVICES, DIAG_ERROR, 0,
	"tasks of a node are told to take the same GPU, or one that it does not have",
	"all ranks compute on one GPU and run out of its memory, or NCCL ends with `Duplicate "
	"GPU detected`; a number behind the last one is an `invalid device ordinal`",
	"LOCAL_RANK=$SLURM_LOCALID inside the step, and no mask",
	WORKERS_4 MASTER PORT
	"srun -c 8 bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=0 "
	"python train.py'\n",
	WORKERS_4 MASTER PORT "srun -c 8 bash -c '" RANKS " python train.py'\n"},
[RULE_GPUS_PER_TASK_LOCALID] = {
	"gpus-per-task-localid", CHECK_GROUP_DEVICES, DIAG_ERROR, 0,
	"a device is chosen by local rank where each task sees one GPU",
	"with --gpus-per-task, or --gpu-bind=single or per_task, a task sees one device, whose "
	"index is 0: the others end with `invalid device ordinal`",
	"--gpus-per-node instead of --gpus-per-task, or device 0",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=4\n#SBATCH --gpus-per-task=1\n#SBATCH -c 8\n"
	"srun -c 8 bash -c 'python run.py --device cuda:$SLURM_LOCALID'\n",
	WORKERS_4 "srun -c 8 bash -c 'python run.py --device cuda:$SLURM_LOCALID'\n"},
[RULE_GPU_BIND_CLOSEST] = {
	"gpu-bind-closest", CHECK_GROUP_DEVICES, DIAG_WARNING, CHECK_FIXABLE,
	"the GPUs that a task sees depend on where it runs",
	"--gpu-bind=closest and --accel-bind=g show a task the GPUs of its socket only, so "
	"index LOCAL_RANK is missing or another one's",
	"leave the option out",
	WORKERS_4 "srun -c 8 --gpu-bind=closest python fit.py --devices 4\n",
	WORKERS_4 "srun -c 8 python fit.py --devices 4\n"},
[RULE_CUDA_MASK_FROM_JOB_GPUS] = {
	"cuda-mask-from-job-gpus", CHECK_GROUP_DEVICES, DIAG_ERROR, 0,
	"the GPUs of the node are taken for those of the job",
	"SLURM_JOB_GPUS and SLURM_STEP_GPUS count the node's devices; where devices are "
	"constrained the job's own are 0, 1, ...: the job may get none, or another's",
	"keep the CUDA_VISIBLE_DEVICES that Slurm sets",
	ONE_TASK "#SBATCH --gpus-per-node=1\nexport CUDA_VISIBLE_DEVICES=$SLURM_JOB_GPUS\n"
	"python train.py\n",
	ONE_TASK "#SBATCH --gpus-per-node=1\npython train.py\n"},
[RULE_MASK_ON_PER_TASK_BINDING] = {
	"mask-on-per-task-binding", CHECK_GROUP_DEVICES, DIAG_ERROR, 0,
	"a mask by local rank where Slurm gives each task one GPU",
	"under a device cgroup the only device has index 0, so the masks 1, 2, ... are empty; "
	"without it they name GPUs of another job",
	"--gpus-per-node instead of --gpus-per-task, or no mask",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=4\n#SBATCH --gpus-per-task=1\n#SBATCH -c 8\n"
	"srun -c 8 bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python run.py'\n",
	WORKERS_4 "srun -c 8 bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python run.py'\n"},
[RULE_CUDA_MASK_FIXED] = {
	"cuda-mask-fixed", CHECK_GROUP_DEVICES, DIAG_WARNING, 0,
	"CUDA_VISIBLE_DEVICES is set by hand",
	"on a shared node the job's GPUs may be others; in the batch shell it has no effect on "
	"steps, for which Slurm sets its own",
	"keep the value that Slurm sets",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --gpus-per-node=2\n#SBATCH -c 8\n"
	"export CUDA_VISIBLE_DEVICES=0,1\ntorchrun --standalone --nproc_per_node=2 train.py\n",
	"#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --gpus-per-node=2\n#SBATCH -c 8\n"
	"torchrun --standalone --nproc_per_node=2 train.py\n"},
[RULE_TWO_DEVICE_MASKS] = {
	"two-device-masks", CHECK_GROUP_DEVICES, DIAG_WARNING, 0,
	"two layers of ROCm mask devices",
	"HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES count what ROCR_VISIBLE_DEVICES leaves: "
	"the same number in both leaves nothing",
	"set one of them",
	"#SBATCH --ntasks=1\n#SBATCH --gpus-per-node=2\n#SBATCH -c 8\n"
	"srun -c 8 bash -c 'export ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=1; python run.py'\n",
	"#SBATCH --ntasks=1\n#SBATCH --gpus-per-node=2\n#SBATCH -c 8\n"
	"srun -c 8 bash -c 'export ROCR_VISIBLE_DEVICES=1; python run.py'\n"},
[RULE_CONTAINER_WITHOUT_GPUS] = {
	"container-without-gpus", CHECK_GROUP_DEVICES, DIAG_WARNING, CHECK_FIXABLE,
	"a container does not get the job's GPUs",
	"without --nv or --rocm, Apptainer and Singularity leave the driver's libraries out, and "
	"the program finds no GPU, unless the site has `always use nv` in apptainer.conf; docker "
	"and podman leave out the devices, too",
	"add --nv, or --rocm for AMD's",
	ONE_TASK "#SBATCH --gpus-per-node=1\nsrun -c 8 apptainer exec a.sif python train.py\n",
	ONE_TASK "#SBATCH --gpus-per-node=1\nsrun -c 8 apptainer exec --nv a.sif python train.py\n"},
/*
 * The job and its shell.
 */
[RULE_SHELL_SYNTAX] = {
	"shell-syntax", CHECK_GROUP_JOB, DIAG_ERROR, 0,
	"the shell cannot read the script",
	"sbatch takes any text; the lines before run, then the job fails",
	"close what is open",
	"#SBATCH --ntasks=1\nsrun bash -c './solver\n",
	"#SBATCH --ntasks=1\nsrun bash -c './solver'\n"},
[RULE_BROKEN_CONTINUATION] = {
	"broken-continuation", CHECK_GROUP_JOB, DIAG_ERROR, 0,
	"an option stands where a command begins",
	"the command before ends too early: without a backslash at the very end of its line, "
	"with a blank behind it, or with a comment in between; it runs without these options",
	"end every line but the last with a backslash, and leave no comment in between",
	"#SBATCH --ntasks=1\nsrun ./solver \\\n  --input=a.in\n  --steps=100\n",
	"#SBATCH --ntasks=1\nsrun ./solver \\\n  --input=a.in \\\n  --steps=100\n"},
[RULE_SLURM_VARIABLE_OVERWRITTEN] = {
	"slurm-variable-overwritten", CHECK_GROUP_JOB, DIAG_ERROR, 0,
	"the script sets a variable that is Slurm's",
	"it does not change the job: srun ignores it, or ends with `set by two different "
	"environment variables` (24.11, 26.05)",
	"give srun the option instead",
	WORKERS_4 "export SLURM_CPUS_PER_TASK=2\nsrun -c 8 python fit.py --devices 4\n",
	WORKERS_4 "srun -c 8 python fit.py --devices 4\n"},
[RULE_TRAP_FOREGROUND_SRUN] = {
	"trap-foreground-srun", CHECK_GROUP_JOB, DIAG_WARNING, CHECK_FIXABLE,
	"the trap waits until the step has ended",
	"bash runs a trap when the command in the foreground is done; that is the end of the "
	"time limit",
	"srun ... & and wait",
	"#SBATCH --ntasks=2\n#SBATCH --signal=B:USR1@120\n"
	"trap 'touch stop' USR1\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --signal=B:USR1@120\n"
	"trap 'touch stop' USR1\nsrun ./solver &\nwait\n"},
[RULE_SIGNAL_MISSES_TRAP] = {
	"signal-misses-trap", CHECK_GROUP_JOB, DIAG_WARNING, 0,
	"the signal goes to the tasks, and the trap is in the script",
	"without B: --signal reaches the steps only (sbatch.1), and nobody when there is none",
	"--signal=B:USR1@120",
	"#SBATCH --ntasks=2\n#SBATCH --signal=USR1@120\n"
	"trap 'touch stop' USR1\nsrun ./solver &\nwait\n",
	"#SBATCH --ntasks=2\n#SBATCH --signal=B:USR1@120\n"
	"trap 'touch stop' USR1\nsrun ./solver &\nwait\n"},
[RULE_SIGNAL_WITHOUT_TRAP] = {
	"signal-without-trap", CHECK_GROUP_JOB, DIAG_WARNING, 0,
	"the signal kills the script",
	"with B: only the batch shell gets the signal, which ends it and the job (FAILED 0:10) "
	"unless a trap is set",
	"set a trap for the signal, or leave B: out",
	"#SBATCH --ntasks=2\n#SBATCH --signal=B:USR1@120\nsrun ./solver\n",
	"#SBATCH --ntasks=2\n#SBATCH --signal=USR1@120\nsrun ./solver\n"},
[RULE_REQUEUE_WHOLE_ARRAY] = {
	"requeue-whole-array", CHECK_GROUP_JOB, DIAG_ERROR, CHECK_FIXABLE,
	"one task of an array requeues all of them",
	"SLURM_ARRAY_JOB_ID names the whole array (22.05, 24.11, 26.05: every task restarts)",
	"scontrol requeue $SLURM_JOB_ID",
	"#SBATCH --ntasks=1\n#SBATCH --array=0-3\n"
	"./solver || scontrol requeue $SLURM_ARRAY_JOB_ID\n",
	"#SBATCH --ntasks=1\n#SBATCH --array=0-3\n"
	"./solver || scontrol requeue $SLURM_JOB_ID\n"},
[RULE_REQUEUE_WITHOUT_APPEND] = {
	"requeue-without-append", CHECK_GROUP_JOB, DIAG_NOTE, 0,
	"a requeued job begins its log anew",
	"without --open-mode=append the log of the run before is lost, unless the site sets "
	"JobFileAppend",
	"add --open-mode=append",
	"#SBATCH --ntasks=1\n#SBATCH --requeue\n#SBATCH --output=%j.out\nsrun ./solver\n",
	"#SBATCH --ntasks=1\n#SBATCH --requeue\n#SBATCH --output=%j.out\n"
	"#SBATCH --open-mode=append\nsrun ./solver\n"},
};
/* clang-format on */

const size_t check_rules_count = sizeof(check_rules) / sizeof(*check_rules);

static const char *const group_names[CHECK_GROUPS] = {
	[CHECK_GROUP_DIRECTIVES] = "Directives",
	[CHECK_GROUP_RESOURCES] = "Resources",
	[CHECK_GROUP_STEPS] = "Steps",
	[CHECK_GROUP_LAUNCHERS] = "Launchers and their counts",
	[CHECK_GROUP_RENDEZVOUS] = "Address, port and network",
	[CHECK_GROUP_DEVICES] = "Devices",
	[CHECK_GROUP_JOB] = "The script and the job's life",
};

const char *check_group_name(enum check_group group)
{
	return group_names[group];
}

const struct check_rule *check_rule_find(const char *id)
{
	for (size_t i = 0; i < check_rules_count; i++) {
		if (strcmp(check_rules[i].id, id) == 0)
			return &check_rules[i];
	}
	return NULL;
}
