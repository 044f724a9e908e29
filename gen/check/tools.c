/* SPDX-License-Identifier: MIT */
/*
 * What the first word of a command is, where in its words the program stands that it
 * starts, and what changes for that program: its place, its variables, its shell. One
 * table row for each tool; the rest of a row's words is followed as a command again, so
 * that srun, env, a container and bash -c can stand in each other in any order.
 */
#include "gen/check/follow.h"

#include "gen/script/uses.h"
#include "gen/spec/arena.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How the words in front of the program are read. */
enum grammar {
	ALONE,   /* starts nothing that is looked at */
	OPTIONS, /* options, then OPERANDS words of its own, then the program */
	SRUN,
	ENV,
	STRING, /* bash: -c TEXT, FILE, or standard input */
	EVAL,
	TRAPS,
	PYTHON,
	SRANK,
	LAUNCHER, /* as OPTIONS, and what follows is Python's unless --no-python */
};

struct tool {
	const char *name;
	const char *subcommands; /* one of these must follow: "exec run"; NULL: none */
	enum grammar grammar;
	enum check_tool tool;
	/* Options that take the next word, when no = is in them, between blanks. */
	const char *valued;
	uint8_t operands;
	bool everything_valued; /* all options do but those of VALUED */
	enum check_where where; /* of the program; CHECK_BATCH: as before */
};

#define CONTAINER                                                                    \
	"-B --bind --mount -H --home --env --env-file -W --workdir --pwd --overlay " \
	"--network --app -S --scratch --security --apply-cgroups --dns --hostname "  \
	"--fusemount --pid-file "

#define DOCKER                                                                        \
	"-v --volume -e --env -w --workdir --name --gpus --ipc --shm-size --network " \
	"--net -u --user --entrypoint --ulimit -h --hostname --runtime --cpus -m "    \
	"--memory --mount --device -p --publish --env-file --cpuset-cpus "            \
	"--security-opt "

/* Flags of torch.distributed.run and .launch; everything else has a value. */
#define TORCHRUN                                                                  \
	"--standalone --no_python --no-python --run_path --run-path -m --module " \
	"--use_env --use-env --virtual_local_rank --virtual-local-rank -h --help "

/* Flags of `accelerate launch`. */
#define ACCELERATE                                                                \
	"--cpu --multi_gpu --multi-gpu --tpu --ipex --use_xpu --use_deepspeed "   \
	"--use_fsdp --use_tpu --use_megatron_lm --same_network --module -m "      \
	"--no_python --debug -q --quiet -h --help --dynamo_use_fullgraph "        \
	"--dynamo_use_dynamic --use_parallelism_config --downcast_bf16 "          \
	"--tpu_use_cluster --no_tpu_cluster --enable_cpu_affinity "               \
	"--use-deepspeed --use-fsdp --same-network --no-python --use_mps_device " \
	"--fp8_override_linear_precision "

/* Options of `deepspeed` that have a value. */
#define DEEPSPEED                                                                       \
	"-H --hostfile -i --include -e --exclude --num_nodes --num-nodes "              \
	"--min_elastic_nodes --max_elastic_nodes --num_gpus --num-gpus --master_port "  \
	"--master-port --master_addr --master-addr --node_rank --node-rank --launcher " \
	"--launcher_args --launcher-args --autotuning --bind_core_list --ssh_port "     \
	"--enable_each_rank_log --venv_script --log_level "

/* Options of Open MPI's and MPICH's mpirun that have one value. */
#define MPIRUN                                                                        \
	"-np --np -n --n -c -N -npernode --npernode -ppn -perhost -host --host -H "   \
	"-hosts -hostfile --hostfile -machinefile --machinefile -f --map-by -map-by " \
	"--bind-to -bind-to --rank-by -x -wdir --wdir -wd -output-filename "          \
	"--output-filename -iface -genvlist -launcher -bootstrap --prefix -prefix "   \
	"-npersocket --npersocket --cpus-per-proc -cpus-per-proc --mca -mca -gmca "   \
	"--gmca -genv -env --timeout --personality --display -tune --tune "

/* Those of them that have two. */
#define MPIRUN_TWO "--mca -mca -gmca --gmca -genv -env "

static const struct tool tools[] = {
	{"srun", NULL, SRUN, CHECK_SRUN},
	{"mpirun", NULL, OPTIONS, CHECK_MPIRUN, MPIRUN},
	{"mpiexec", NULL, OPTIONS, CHECK_MPIRUN, MPIRUN},
	{"mpiexec.hydra", NULL, OPTIONS, CHECK_MPIRUN, MPIRUN},
	{"mpirun.mpich", NULL, OPTIONS, CHECK_MPIRUN, MPIRUN},
	{"mpirun.openmpi", NULL, OPTIONS, CHECK_MPIRUN, MPIRUN},
	{"mpirun_rsh", NULL, OPTIONS, CHECK_MPIRUN, MPIRUN},
	{"ibrun", NULL, OPTIONS, CHECK_MPIRUN, "-n -o "},
	{"orterun", NULL, OPTIONS, CHECK_MPIRUN, MPIRUN},
	{"prterun", NULL, OPTIONS, CHECK_MPIRUN, MPIRUN},
	{"horovodrun", NULL, OPTIONS, CHECK_HOROVODRUN,
	 "-np --num-proc -H --hosts -hostfile --hostfile -p --ssh-port "
	 "--network-interface --network-interfaces --output-filename --start-timeout "
	 "--ssh-identity-file --timeline-filename --fusion-threshold-mb --cycle-time-ms "
	 "--cache-capacity --log-level --min-np --min-num-proc --max-np --max-num-proc "
	 "--slots-per-host --elastic-timeout --reset-limit --host-discovery-script "
	 "--config-file --mpi-args --binding-args --gloo-timeout-seconds "},
	{"torchrun", NULL, LAUNCHER, CHECK_TORCHRUN, TORCHRUN, .everything_valued = true},
	{"ft_launcher", NULL, LAUNCHER, CHECK_TORCHRUN, TORCHRUN,
	 .everything_valued = true},
	/* Lightning's, which calls torchrun (lightning/fabric/cli.py). */
	{"fabric", "run", LAUNCHER, CHECK_TORCHRUN, "-h --help ",
	 .everything_valued = true},
	/* The same by its older name, `lightning run model`. */
	{"lightning", "run", LAUNCHER, CHECK_TORCHRUN, "-h --help ",
	 .everything_valued = true},
	{"accelerate", "launch", LAUNCHER, CHECK_ACCELERATE, ACCELERATE,
	 .everything_valued = true},
	{"accelerate-launch", NULL, LAUNCHER, CHECK_ACCELERATE, ACCELERATE,
	 .everything_valued = true},
	/* OpenMMLab's: CONFIG [CHECKPOINT] GPUS, the rest from variables (tools of
	 * MMDetection and its like). */
	{"dist_train.sh", NULL, LAUNCHER, CHECK_TORCHRUN, ""},
	{"dist_test.sh", NULL, LAUNCHER, CHECK_TORCHRUN, ""},
	{"deepspeed", NULL, LAUNCHER, CHECK_DEEPSPEED, DEEPSPEED},
	{"colossalai", "run", LAUNCHER, CHECK_COLOSSALAI,
	 "--hostfile -H --include --exclude --master_addr --master_port --nproc_per_node "
	 "--num_nodes --ssh-port --extra_launch_args --host "},
	{"composer", NULL, LAUNCHER, CHECK_COMPOSER,
	 "-n --nproc --stdout --stderr --world_size --base_rank --node_rank "
	 "--master_addr --master_port "},
	{"python", NULL, PYTHON, CHECK_PYTHON, "-W -X "},
	{"ipython", NULL, PYTHON, CHECK_PYTHON, "-W -X "},
	{"pypy", NULL, PYTHON, CHECK_PYTHON, "-W -X "},
	{"bash", NULL, STRING, CHECK_SHELL_TOOL},
	{"sh", NULL, STRING, CHECK_SHELL_TOOL},
	{"dash", NULL, STRING, CHECK_SHELL_TOOL},
	{"zsh", NULL, STRING, CHECK_SHELL_TOOL},
	{"ksh", NULL, STRING, CHECK_SHELL_TOOL},
	{"eval", NULL, EVAL, CHECK_OTHER},
	{"trap", NULL, TRAPS, CHECK_TRAP},
	{"env", NULL, ENV, CHECK_OTHER, "-u --unset -C --chdir -S --split-string "},
	{"singularity", "exec run shell", OPTIONS, CHECK_CONTAINER, CONTAINER, 1},
	{"apptainer", "exec run shell", OPTIONS, CHECK_CONTAINER, CONTAINER, 1},
	{"docker", "run exec", OPTIONS, CHECK_CONTAINER, DOCKER, 1},
	{"podman", "run exec", OPTIONS, CHECK_CONTAINER, DOCKER, 1},
	{"podman-hpc", "run exec", OPTIONS, CHECK_CONTAINER, DOCKER, 1},
	{"nerdctl", "run exec", OPTIONS, CHECK_CONTAINER, DOCKER, 1},
	{"sarus", "run", OPTIONS, CHECK_CONTAINER, "--mount -e --env -w --workdir ", 1},
	{"enroot", "start", OPTIONS, CHECK_CONTAINER, "-e --env -m --mount -c --conf ",
	 1},
	{"ch-run", NULL, OPTIONS, CHECK_CONTAINER,
	 "-b --bind -c --cd --set-env -g --gid -u --uid ", 1},
	{"shifter", NULL, OPTIONS, CHECK_CONTAINER,
	 "-i --image -V --volume -e --env -m --module "},
	{"exec", NULL, OPTIONS, CHECK_OTHER, "-a "},
	{"command", NULL, OPTIONS, CHECK_OTHER},
	{"builtin", NULL, OPTIONS, CHECK_OTHER},
	{"time", NULL, OPTIONS, CHECK_OTHER, "-f --format -o --output "},
	{"nohup", NULL, OPTIONS, CHECK_OTHER},
	{"setsid", NULL, OPTIONS, CHECK_OTHER},
	{"nice", NULL, OPTIONS, CHECK_OTHER, "-n --adjustment "},
	{"ionice", NULL, OPTIONS, CHECK_OTHER, "-c --class -n --classdata "},
	{"chrt", NULL, OPTIONS, CHECK_OTHER, "", 1},
	{"timeout", NULL, OPTIONS, CHECK_OTHER, "-k --kill-after -s --signal ", 1},
	{"stdbuf", NULL, OPTIONS, CHECK_OTHER, "-i -o -e --input --output --error "},
	{"unbuffer", NULL, OPTIONS, CHECK_OTHER},
	{"sudo", NULL, OPTIONS, CHECK_OTHER, "-u --user -g --group "},
	{"numactl", NULL, OPTIONS, CHECK_OTHER,
	 "-N --cpunodebind -m --membind -C --physcpubind -i --interleave -p --preferred "
	 "-l "},
	{"hwloc-bind", NULL, OPTIONS, CHECK_OTHER, "", 1},
	{"likwid-pin", NULL, OPTIONS, CHECK_OTHER, "-c -s -m "},
	{"nsys", "profile launch", OPTIONS, CHECK_OTHER,
	 "-t --trace -o --output -s --sample -c --capture-range -w --show-output -x "
	 "--stop-on-exit -y --delay -d --duration -f --force-overwrite "
	 "--capture-range-end --gpu-metrics-device --cuda-memory-usage "},
	{"ncu", NULL, OPTIONS, CHECK_OTHER,
	 "-o --export -k --kernel-name -c --launch-count -s --launch-skip --set "
	 "--section --metrics --target-processes "},
	{"rocprof", NULL, OPTIONS, CHECK_OTHER, "-i -o -d -t "},
	{"perf", "stat record", OPTIONS, CHECK_OTHER, "-o -e -F -g "},
	{"strace", NULL, OPTIONS, CHECK_OTHER, "-o -e -s -p "},
	{"xvfb-run", NULL, OPTIONS, CHECK_OTHER, "-s -n -f -e "},
	{"catchsegv", NULL, OPTIONS, CHECK_OTHER},
	{"flock", NULL, OPTIONS, CHECK_OTHER, "-w --timeout -E ", 1},
	{"conda", "run", OPTIONS, CHECK_OTHER, "-n --name -p --prefix --cwd "},
	{"mamba", "run", OPTIONS, CHECK_OTHER, "-n --name -p --prefix --cwd "},
	{"micromamba", "run", OPTIONS, CHECK_OTHER, "-n --name -p --prefix -r --cwd "},
	{"uv", "run", OPTIONS, CHECK_OTHER,
	 "--with --extra --group --project --python -p --directory --env-file "},
	{"poetry", "run", OPTIONS, CHECK_OTHER},
	{"pipenv", "run", OPTIONS, CHECK_OTHER},
	{"pixi", "run", OPTIONS, CHECK_OTHER, "-e --environment --manifest-path "},
	{"xargs", NULL, OPTIONS, CHECK_OTHER, "-n -P -I -L -d -a -s -E "},
	{"parallel", NULL, OPTIONS, CHECK_OTHER,
	 "-j --jobs -N -n --delay --joblog --colsep -C --results -a --timeout "
	 "--retries --sshlogin -S "},
	{"ssh", NULL, OPTIONS, CHECK_SSH, "-o -p -i -l -F -J -L -R ", 1,
	 .where = CHECK_ELSEWHERE},
	{"pdsh", NULL, OPTIONS, CHECK_SSH, "-w -x -R -f -t -u ", 0,
	 .where = CHECK_ELSEWHERE},
	{"clush", NULL, OPTIONS, CHECK_SSH, "-w -x -g -f -t -u ", 0,
	 .where = CHECK_ELSEWHERE},
	{"srank", NULL, SRANK, CHECK_SRANK},
	{"sbatch", NULL, ALONE, CHECK_SBATCH},
	{"salloc", NULL, ALONE, CHECK_SALLOC},
	{"scontrol", NULL, ALONE, CHECK_SCONTROL},
	{"wait", NULL, ALONE, CHECK_WAIT},
	{"module", NULL, ALONE, CHECK_MODULE},
	{"ml", NULL, ALONE, CHECK_MODULE},
	{"source", NULL, ALONE, CHECK_SOURCE},
	{".", NULL, ALONE, CHECK_SOURCE},
	{"export", NULL, ALONE, CHECK_EXPORT},
	{"declare", NULL, ALONE, CHECK_EXPORT},
	{"typeset", NULL, ALONE, CHECK_EXPORT},
	{"readonly", NULL, ALONE, CHECK_EXPORT},
	{"local", NULL, ALONE, CHECK_EXPORT},
	{"unset", NULL, ALONE, CHECK_EXPORT},
};

/* Programs that do the same wherever they run, and have no ranks. */
static const char utilities[] =
	" hostname echo printf mkdir rmdir rm cp mv ln ls cat tee head tail grep sed awk "
	"sort uniq wc cut tr date sleep true false test [ pwd cd pushd popd touch chmod "
	"chown tar gzip gunzip zip unzip xz rsync scp sftp curl wget git find xargs du "
	"df "
	"free uptime top htop ps kill pkill killall nvidia-smi rocm-smi lscpu numastat "
	"lstopo env printenv which type hash id whoami groups uname ulimit umask set "
	"shopt read mapfile readarray getopts exit return break continue shift : let "
	"dirname basename realpath readlink seq expr bc shuf mktemp sync sha256sum "
	"md5sum "
	"sacct squeue sinfo scancel sstat sattach sbcast seff sprio sreport nproc jq ip "
	"ifconfig ibstat ibv_devinfo ping nc ss netstat lsof dd stat file diff cmp patch "
	"make cmake gcc g++ nvcc pip pip3 conda mamba module ml activate deactivate jobs "
	"fg bg disown alias unalias history trap wait ollama ray tensorboard wandb "
	"huggingface-cli hf aws gsutil gcloud az s3cmd rclone dcgmi ";

static bool is_listed(const char *list, const char *word, size_t length)
{
	const char *at = list;

	while (at && length > 0 && (at = strstr(at, word))) {
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
		at++;
	}
	return false;
}

/* python3 and python3.11 are python. */
static bool is_python(const char *name)
{
	return strncmp(name, "python", 6) == 0 &&
	       strspn(name + 6, "0123456789.") == strlen(name + 6);
}

static const struct tool *find_tool(const char *name)
{
	if (is_python(name))
		name = "python";
	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++) {
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	}
	return NULL;
}

/* A word that is nothing but an expansion: it may be any options, or none. */
static bool is_opaque(const struct check_value *word)
{
	return word->expansions_count > 0 && word->expansions[0].at == 0 &&
	       !word->expansions[0].quoted && word->expansions[0].length == word->length;
}

/* A name for options: $SRUN_ARGS, $OPTS, $FLAGS. */
static bool names_options(const struct check_value *word)
{
	static const char *const parts[] = {"OPT", "ARG", "FLAG", "PARAM", "EXTRA"};
	const char *name = word->expansions[0].name;

	for (size_t i = 0; name && i < sizeof(parts) / sizeof(*parts); i++) {
		if (strcasestr(name, parts[i]))
			return true;
	}
	return false;
}

bool check_is_options(const struct check_value *word)
{
	return is_opaque(word) && names_options(word);
}

/* The index of the first word of COMMAND from AT on that is no option of TOOL. */
static size_t skip_options(const struct tool *tool, const struct check_command *command,
			   size_t at)
{
	for (; at < command->words_count; at++) {
		const struct check_value *word = &command->words[at];
		const bool equals = memchr(word->text, '=', word->length) != NULL;
		const bool last = at + 1 == command->words_count;
		bool listed, valued;

		if (strcmp(word->text, "--") == 0)
			return at + 1;
		if (!last && check_is_options(word))
			continue;
		if (word->text[0] != '-' || !word->text[1])
			return at;
		listed =
			tool->valued && is_listed(tool->valued, word->text, word->length);
		valued = tool->everything_valued ? !listed : listed;
		if (!valued || equals || last)
			continue;
		/* An option that is not known here, and has no value after all. */
		if (tool->everything_valued &&
		    (word[1].text[0] == '-' ||
		     (word[1].length > 3 &&
		      strcmp(word[1].text + word[1].length - 3, ".py") == 0)))
			continue;
		at++;
		if (tool->tool == CHECK_MPIRUN &&
		    is_listed(MPIRUN_TWO, word->text, word->length))
			at++;
	}
	return at < command->words_count ? at : command->words_count;
}

/* Follows the words of COMMAND from its operand on. */
static struct check_command *follow_operand(struct check_follow *follow,
					    struct check_command *command)
{
	const struct check_command *parent = follow->parent;
	struct check_command *child = NULL;

	if (command->operand >= command->words_count)
		return NULL;
	follow->parent = command;
	child = check_follow_words(follow, command->words + command->operand,
				   command->words_count - command->operand);
	follow->parent = parent;
	return child;
}

/* NAME=VALUE as an assignment that reaches what COMMAND starts. */
static void bind_word(struct check_follow *follow, const struct check_value *word,
		      enum check_export export, struct check_command *command)
{
	const size_t length = strcspn(word->text, "=");
	struct check_assignment *assignment;
	struct check_value name, value;

	if (!word->text[length] || length == 0)
		return;
	name = check_value_part(follow, word, 0, length);
	value = check_value_part(follow, word, length + 1, word->length - length - 1);
	assignment = check_bind(follow, name.text, &value, false, export, word->range,
				name.range);
	if (assignment)
		assignment->command = command;
}

static bool is_assignment(const struct check_value *word)
{
	size_t length = 0;

	if (!isalpha((unsigned char)word->text[0]) && word->text[0] != '_')
		return false;
	while (isalnum((unsigned char)word->text[length]) || word->text[length] == '_')
		length++;
	return word->text[length] == '=';
}

static void follow_env(struct check_follow *follow, const struct tool *tool,
		       struct check_command *command)
{
	const size_t mark = check_undo_mark(follow);
	const uint32_t isolation = follow->isolation, process = follow->process;
	size_t at = skip_options(tool, command, 1);

	for (size_t i = 1; i < at; i++) {
		if (strcmp(command->words[i].text, "-i") == 0 ||
		    strcmp(command->words[i].text, "--ignore-environment") == 0 ||
		    strcmp(command->words[i].text, "-") == 0) {
			follow->process = ++follow->processes;
			follow->isolation = follow->process;
		}
	}
	for (; at < command->words_count && is_assignment(&command->words[at]); at++)
		bind_word(follow, &command->words[at], CHECK_BY_ENV, command);
	command->operand = at;
	follow_operand(follow, command);
	follow->isolation = isolation;
	follow->process = process;
	check_undo_to(follow, mark);
}

/* ---- shells ---- */

static const struct check_value *find_file(const struct check_follow *follow,
					   const struct check_value *path)
{
	const char *text = path->text;

	text += strncmp(text, "./", 2) == 0 ? 2 : 0;
	for (const struct check_file *file = follow->files; file; file = file->next) {
		if (strcmp(file->path, text) == 0)
			return file->content;
	}
	return NULL;
}

/* bash -c TEXT [NAME [ARG...]], bash FILE, bash < document. */
static void follow_string(struct check_follow *follow, struct check_command *command)
{
	const struct check_value *words = command->words;
	const size_t count = command->words_count;
	const struct check_value *file;
	bool string = false;
	size_t at = 1;

	for (; at < count && (words[at].text[0] == '-' || words[at].text[0] == '+') &&
	       words[at].text[1];
	     at++) {
		const char *text = words[at].text;

		if (strcmp(text, "--") == 0) {
			at++;
			break;
		}
		if (text[1] == '-') {
			at += strcmp(text, "--rcfile") == 0 ||
			      strcmp(text, "--init-file") == 0;
			continue;
		}
		string |= strchr(text, 'c') != NULL;
		at += text[strlen(text) - 1] == 'o' || text[strlen(text) - 1] == 'O';
	}
	if (at < count)
		command->operand = at;
	if (string && at < count) {
		const size_t first = at + 2 < count ? at + 2 : count;

		check_follow_text(follow, &words[at], CHECK_SHELL_STRING, command,
				  words + first, count - first);
		return;
	}
	if (at < count) {
		file = find_file(follow, &words[at]);
		if (file)
			check_follow_text(follow, file, CHECK_SHELL_FILE, command,
					  words + at + 1, count - at - 1);
		else if (check_is_dist_script(words[at].text))
			follow_operand(follow, command);
		return;
	}
	if (follow->document)
		check_follow_text(follow, follow->document, CHECK_SHELL_DOCUMENT, command,
				  NULL, 0);
}

static void follow_eval(struct check_follow *follow, struct check_command *command)
{
	const struct check_value text = check_value_join(follow, command->words + 1,
							 command->words_count - 1, ' ');

	for (size_t i = 0; i < text.expansions_count; i++)
		follow->sourced |= !text.expansions[i].quoted ||
				   text.expansions[i].kind == CHECK_SUBSTITUTE;
	check_follow_text(follow, &text, CHECK_SHELL_EVAL, command, follow->arguments,
			  follow->arguments_count);
}

static void follow_trap(struct check_follow *follow, struct check_command *command)
{
	size_t at = 1;

	if (at < command->words_count && strcmp(command->words[at].text, "--") == 0)
		at++;
	if (at + 1 >= command->words_count || command->words[at].text[0] == '-' ||
	    command->words[at].length == 0)
		return;
	command->operand = at;
	check_follow_text(follow, &command->words[at], CHECK_SHELL_TRAP, command,
			  follow->arguments, follow->arguments_count);
}

/* ---- srun ---- */

/* WORDS of COMMAND as getopt() gets them. */
static struct script_word *make_words(struct check_follow *follow,
				      const struct check_command *command)
{
	struct script_word *words =
		check_alloc(follow, command->words_count * sizeof(*words));

	for (size_t i = 0; words && i < command->words_count; i++) {
		const struct check_value *value = &command->words[i];

		words[i] = (struct script_word){
			.text = value->text,
			.range = value->range,
			.origins = value->origins,
			.quoted = value->quoted,
		};
		/* What came from several places is pointed at as a whole. */
		if (!value->origins || value->source.begin != value->range.begin ||
		    value->source.end != value->range.end)
			words[i].origins = NULL;
		if (words[i].range.begin == words[i].range.end)
			words[i].range.end++;
	}
	return words;
}

static int read_step_uses(struct check_follow *follow, struct check_step *step,
			  struct check_command *command)
{
	struct script_word *words = make_words(follow, command);
	size_t at = 1;

	if (!words)
		return -ENOMEM;
	for (;;) {
		struct script_use *uses;
		size_t count, end;
		int rc;

		rc = script_uses_read(SCRIPT_SRUN, follow->model->slurm, true, words + at,
				      command->words_count - at, follow->arena, &uses,
				      &count, &end);
		if (rc < 0)
			return rc;
		for (size_t i = 0; i < count; i++) {
			struct script_use *grown =
				spec_arena_grow(follow->arena, (void *)step->uses,
						step->uses_count, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			grown[step->uses_count] = uses[i];
			grown[step->uses_count++].word += at;
			step->uses = grown;
		}
		at += end;
		if (at + 1 >= command->words_count ||
		    !check_is_options(&command->words[at]))
			break;
		step->opaque = true;
		at++;
	}
	command->operand = at;
	return 0;
}

/*
 * The variables that --export=LIST, LIST without ALL, lets through, and those that it
 * sets. Slurm cuts at each comma (facts of --export, slurm.schedmd.com/srun.html).
 */
static void bind_exports(struct check_follow *follow, struct check_command *command,
			 const struct check_step *step)
{
	const struct script_use *use = step->export;
	const struct check_value *word;
	const char *list, *equals;
	size_t at;

	if (!use || !use->value)
		return;
	word = &command->words[use->word + (use->separate ? 1 : 0)];
	equals = use->separate ? NULL : strchr(word->text, '=');
	at = equals ? (size_t)(equals + 1 - word->text) : 0;
	for (list = word->text + at; at < word->length;) {
		size_t length = strcspn(list, ",");
		struct check_value item;

		/* A comma within an expansion is none. */
		for (size_t i = 0; i < word->expansions_count; i++) {
			const struct check_expansion *in = &word->expansions[i];

			while (at + length < word->length && in->at <= at + length &&
			       at + length < in->at + in->length) {
				const size_t rest = in->at + in->length - at;

				length = rest + strcspn(list + rest, ",");
			}
		}
		item = check_value_part(follow, word, at, length);
		if (is_assignment(&item)) {
			bind_word(follow, &item, CHECK_BY_SRUN, command);
		} else if (step->bare_environment && item.length > 0 &&
			   strcmp(item.text, "NONE") != 0) {
			struct check_name *name =
				check_name_find(follow, item.text, item.length);

			if (name && name->now.assignment && name->now.exported &&
			    name->now.process < follow->isolation)
				name->now.process = follow->process;
		}
		at += length + 1;
		list += length + (list[length] ? 1 : 0);
	}
}

static bool is_all_exported(const char *list)
{
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncasecmp(at, "ALL", 3) == 0 && (!at[3] || at[3] == ','))
			return true;
	}
	return false;
}

/* Whether the step has but the variables that are named; srun's own word wins. */
static bool is_bare(const struct check_step *step, const struct check_command *command)
{
	const struct check_assignment *variable = command->sees[CHECK_SLURM_EXPORT_ENV];
	const struct script_use *job = step->job->export;

	if (step->export && step->export->value)
		return !is_all_exported(step->export->value);
	if (variable)
		return !variable->unset && variable->value.constant &&
		       !is_all_exported(variable->value.text);
	return job && job->value && !is_all_exported(job->value);
}

static const struct {
	const char *name;
	size_t offset;
} step_uses[] = {
	{"export", offsetof(struct check_step, export)},
	{"mpi", offsetof(struct check_step, mpi)},
	{"cpu-bind", offsetof(struct check_step, cpu_bind)},
	{"cpu_bind", offsetof(struct check_step, cpu_bind)},
	{"gpu-bind", offsetof(struct check_step, gpu_bind)},
	{"kill-on-bad-exit", offsetof(struct check_step, kill_on_bad_exit)},
	{"mem", offsetof(struct check_step, mem)},
	{"mem-per-cpu", offsetof(struct check_step, mem_per_cpu)},
	{"mem-per-gpu", offsetof(struct check_step, mem_per_gpu)},
	{"gres", offsetof(struct check_step, gres)},
	{"gpus", offsetof(struct check_step, gpus)},
	{"gpus-per-node", offsetof(struct check_step, gpus_per_node)},
	{"gpus-per-task", offsetof(struct check_step, gpus_per_task)},
	{"ntasks-per-node", offsetof(struct check_step, ntasks_per_node)},
	{"tasks-per-node", offsetof(struct check_step, ntasks_per_node)},
	{"container", offsetof(struct check_step, container)},
	{"container-image", offsetof(struct check_step, container)},
	{"distribution", offsetof(struct check_step, distribution)},
	{"nodelist", offsetof(struct check_step, nodelist)},
	{"relative", offsetof(struct check_step, relative)},
	{"output", offsetof(struct check_step, output)},
	{"multi-prog", offsetof(struct check_step, multi_prog)},
};

const struct script_use *check_step_find(const struct check_step *step, const char *name)
{
	const struct script_use *found = NULL;

	for (size_t i = 0; i < step->uses_count; i++) {
		const struct script_use *use = &step->uses[i];

		if (use->option && use->fault == SCRIPT_USE_FINE &&
		    strcmp(use->option->name, name) == 0)
			found = use;
		/* Options of plugins, pyxis above all, are in no table of Slurm's. */
		if (!use->option && use->name && strcmp(use->name, name) == 0)
			found = use;
	}
	return found;
}

static const struct check_job *find_job(const struct check_model *model,
					const struct check_step *step, bool *several)
{
	const struct script_use *use = check_step_find(step, "het-group");
	long group = 0;

	if (!use)
		use = check_step_find(step, "pack-group");
	if (use && use->value) {
		char *end;

		group = strtol(use->value, &end, 10);
		*several = *end != '\0';
	}
	return group >= 0 && (size_t)group < model->jobs_count ? &model->jobs[group]
							       : &model->jobs[0];
}

static struct check_step *note_step(struct check_follow *follow,
				    struct check_command *command,
				    enum check_step_kind kind)
{
	struct check_model *model = follow->model;
	struct check_step *step = check_alloc(follow, sizeof(*step));
	struct check_step **grown;

	if (!step)
		return NULL;
	grown = spec_arena_grow(follow->arena, model->steps, model->steps_count,
				sizeof(*grown));
	if (!grown) {
		follow->rc = -ENOMEM;
		return NULL;
	}
	model->steps = grown;
	*step = (struct check_step){
		.index = model->steps_count,
		.kind = kind,
		.command = command,
		.job = &model->jobs[0],
		.background = command->background,
	};
	grown[model->steps_count++] = step;
	command->starts = step;
	return step;
}

static void follow_srun(struct check_follow *follow, struct check_command *command)
{
	const struct check_step *outer = follow->step;
	const enum check_where where = follow->where;
	const uint32_t isolation = follow->isolation, process = follow->process;
	const size_t mark = check_undo_mark(follow);
	struct check_step *step = note_step(follow, command, CHECK_STEP_SRUN);

	if (!step)
		return;
	if (read_step_uses(follow, step, command) < 0) {
		follow->rc = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < sizeof(step_uses) / sizeof(*step_uses); i++) {
		const struct script_use *use = check_step_find(step, step_uses[i].name);

		if (use)
			*(const struct script_use **)((char *)step +
						      step_uses[i].offset) = use;
	}
	step->job = find_job(follow->model, step, &step->het_several);
	step->exact =
		check_step_find(step, "exact") || check_step_find(step, "exclusive");
	step->overlap = check_step_find(step, "overlap") != NULL;
	step->whole = check_step_find(step, "whole") != NULL;
	step->bare_environment = is_bare(step, command);
	check_layout_step(follow, step);
	if (where != CHECK_ELSEWHERE)
		follow->where = CHECK_STEP;
	follow->step = step;
	if (step->bare_environment) {
		follow->process = ++follow->processes;
		follow->isolation = follow->process;
	}
	bind_exports(follow, command, step);
	follow_operand(follow, command);
	follow->step = outer;
	follow->where = where;
	follow->isolation = isolation;
	follow->process = process;
	check_undo_to(follow, mark);
}

/* ---- launchers ---- */

static void follow_mpirun(struct check_follow *follow, const struct tool *tool,
			  struct check_command *command)
{
	const struct check_step *outer = follow->step;
	const enum check_where where = follow->where;
	const size_t mark = check_undo_mark(follow);
	struct check_step *step = NULL;

	command->operand = skip_options(tool, command, 1);
	for (size_t i = 1; i + 1 < command->operand; i++) {
		if (strcmp(command->words[i].text, "-x") == 0)
			bind_word(follow, &command->words[i + 1], CHECK_BY_SRUN, command);
	}
	check_launch_make(follow, command);
	/* In the batch shell it lays its ranks over the nodes of the job itself. */
	if (where == CHECK_BATCH && !outer) {
		step = note_step(follow, command, CHECK_STEP_MPIRUN);
		if (!step)
			return;
		check_layout_step(follow, step);
		follow->step = step;
		follow->where = CHECK_STEP;
	}
	follow_operand(follow, command);
	follow->step = outer;
	follow->where = where;
	check_undo_to(follow, mark);
}

static bool has_option(const struct check_command *command, size_t end, const char *name)
{
	for (size_t i = 1; i < end && i < command->words_count; i++) {
		if (strcmp(command->words[i].text, name) == 0)
			return true;
	}
	return false;
}

/* What torchrun and its like start: Python, unless they are told otherwise. */
static void follow_launcher(struct check_follow *follow, const struct tool *tool,
			    struct check_command *command, size_t first)
{
	const struct check_command *parent = follow->parent;
	bool python;

	command->operand = skip_options(tool, command, first);
	check_launch_make(follow, command);
	if (command->operand >= command->words_count)
		return;
	python = !has_option(command, command->operand, "--no_python") &&
		 !has_option(command, command->operand, "--no-python");
	if (!python) {
		follow_operand(follow, command);
		return;
	}
	follow->parent = command;
	follow->program = true;
	check_follow_words(follow, command->words + command->operand,
			   command->words_count - command->operand);
	follow->program = false;
	follow->parent = parent;
}

static const struct {
	const char *module;
	const char *tool;
} modules[] = {
	{"torch.distributed.run", "torchrun"},
	{"torch.distributed.launch", "torchrun"},
	{"torch.distributed.elastic.run", "torchrun"},
	{"accelerate.commands.launch", "accelerate-launch"},
	{"accelerate.commands.accelerate_cli", "accelerate"},
	{"deepspeed.launcher.runner", "deepspeed"},
	{"colossalai.cli", "colossalai"},
	{"composer.cli.launcher", "composer"},
};

/* Modules that run the script behind them, as python itself would. */
static const char python_wrappers[] =
	" coverage cProfile profile pdb trace memory_profiler "
	"line_profiler kernprof scalene viztracer ";

static void follow_python(struct check_follow *follow, const struct tool *tool,
			  struct check_command *command)
{
	size_t at = 1;

	for (; at < command->words_count; at++) {
		const struct check_value *word = &command->words[at];

		if (strcmp(word->text, "-m") == 0 && at + 1 < command->words_count) {
			const struct check_value *module = word + 1;

			for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
				if (strcmp(module->text, modules[i].module) != 0)
					continue;
				tool = find_tool(modules[i].tool);
				command->tool = tool->tool;
				if (strcmp(module->text, "torch.distributed.launch") == 0)
					command->tool = CHECK_TORCH_LAUNCH;
				follow_launcher(follow, tool, command,
						at + 2 + (tool->subcommands != NULL));
				return;
			}
			if (is_listed(python_wrappers, module->text, module->length)) {
				at++;
				continue;
			}
			command->operand = at + 1;
			break;
		}
		/* -c TEXT: a program of Python's own, nothing to look into. */
		if (strcmp(word->text, "-c") == 0) {
			command->operand = at + 1 < command->words_count
						   ? at + 1
						   : command->words_count;
			return;
		}
		if (check_is_options(word) && at + 1 < command->words_count)
			continue;
		if (word->text[0] != '-' || !word->text[1]) {
			command->operand = at;
			break;
		}
		at += is_listed(tool->valued, word->text, word->length);
	}
	if (command->operand < command->words_count)
		check_launch_make(follow, command);
}

/* ---- all of them ---- */

static void follow_options(struct check_follow *follow, const struct tool *tool,
			   struct check_command *command, size_t first)
{
	const enum check_where where = follow->where;
	const size_t mark = check_undo_mark(follow);
	size_t at = skip_options(tool, command, first);

	for (size_t i = first; i < at; i++) {
		const struct check_value *word = &command->words[i];

		if (tool->tool != CHECK_CONTAINER)
			break;
		if ((strcmp(word->text, "--env") == 0 || strcmp(word->text, "-e") == 0) &&
		    i + 1 < at) {
			bind_word(follow, word + 1, CHECK_IN_CONTAINER, command);
		} else if (strncmp(word->text, "--env=", 6) == 0) {
			const struct check_value rest =
				check_value_part(follow, word, 6, word->length - 6);

			bind_word(follow, &rest, CHECK_IN_CONTAINER, command);
		}
	}
	at += tool->operands;
	command->operand = at < command->words_count ? at : command->words_count;
	if (tool->where != CHECK_BATCH)
		follow->where = tool->where;
	follow_operand(follow, command);
	follow->where = where;
	check_undo_to(follow, mark);
}

/* `srank exec` becomes the program; the others start none. */
static void follow_srank(struct check_follow *follow, struct check_command *command)
{
	struct check_srank_use use;
	size_t at = 2;

	if (!check_srank_executes(command))
		return;
	while (check_srank_next(command, &at, &use))
		;
	command->operand = at;
	follow_operand(follow, command);
}

/* A program that is no tool: what it does with ranks shows in its arguments. */
static void follow_program(struct check_follow *follow, struct check_command *command)
{
	const char *text = command->words[0].text;
	const size_t length = command->words[0].length;
	const bool script = length > 3 && strcmp(text + length - 3, ".py") == 0;
	const struct check_value *file;

	if (is_listed(utilities, command->name, strlen(command->name)))
		return;
	file = find_file(follow, &command->words[0]);
	if (file) {
		check_follow_text(follow, file, CHECK_SHELL_FILE, command,
				  command->words + 1, command->words_count - 1);
		return;
	}
	if (!script && !strchr(text, '/') && !follow->step && !command->parent)
		return;
	command->tool = CHECK_PROGRAM;
	command->operand = 0;
	check_launch_make(follow, command);
}

void check_tool_follow(struct check_follow *follow, struct check_command *command)
{
	const struct tool *tool;
	size_t first = 1;

	if (follow->program) {
		follow->program = false;
		command->tool = CHECK_PYTHON;
		command->operand = 0;
		check_launch_make(follow, command);
		return;
	}
	tool = find_tool(command->name);
	if (tool && tool->subcommands) {
		while (first < command->words_count &&
		       command->words[first].text[0] == '-')
			first++;
		if (first >= command->words_count ||
		    !is_listed(tool->subcommands, command->words[first].text,
			       command->words[first].length))
			tool = NULL;
		first++;
		if (tool && first < command->words_count &&
		    strcmp(tool->name, "lightning") == 0 &&
		    strcmp(command->words[first].text, "model") == 0)
			first++;
	}
	if (!tool) {
		follow_program(follow, command);
		return;
	}
	command->tool = tool->tool;
	switch (tool->grammar) {
	case ALONE:
		follow->sourced |=
			tool->tool == CHECK_SOURCE || tool->tool == CHECK_MODULE;
		break;
	case OPTIONS:
		if (tool->tool == CHECK_MPIRUN || tool->tool == CHECK_HOROVODRUN)
			follow_mpirun(follow, tool, command);
		else
			follow_options(follow, tool, command, first);
		break;
	case SRUN:
		follow_srun(follow, command);
		break;
	case ENV:
		follow_env(follow, tool, command);
		break;
	case STRING:
		follow_string(follow, command);
		break;
	case EVAL:
		follow_eval(follow, command);
		break;
	case TRAPS:
		follow_trap(follow, command);
		break;
	case PYTHON:
		follow_python(follow, tool, command);
		break;
	case SRANK:
		follow_srank(follow, command);
		break;
	case LAUNCHER:
		follow_launcher(follow, tool, command, first);
		break;
	}
}

const struct check_command *check_within(const struct check_command *command,
					 enum check_tool tool)
{
	while (command && command->tool != tool)
		command = command->parent;
	return command;
}
