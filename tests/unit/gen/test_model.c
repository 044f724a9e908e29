/* SPDX-License-Identifier: MIT */
/*
 * What the model says of scripts. The numbers of jobs and steps are those that real
 * slurmctld of 22.05, 24.11 and 26.05 gave for these options.
 */
#include "support.h"

#include "gen/check/model.h"

static void make(struct check_model *model, const char *text, script_slurm slurm)
{
	const struct check_request request = {
		.file = "job.sbatch",
		.text = text,
		.length = strlen(text),
		.slurm = slurm,
	};

	assert_int_equal(check_model_make(model, &request), 0);
}

/* A script of OPTIONS, one directive, and BODY. */
static void make_job(struct check_model *model, const char *options, const char *body,
		     script_slurm slurm, char script[2048])
{
	snprintf(script, 2048, "#!/bin/bash\n#SBATCH %s\n%s", options, body);
	make(model, script, slurm);
}

static void put_number(FILE *out, const struct check_number *number)
{
	if (!number->known)
		fputc('?', out);
	else if (number->low == number->high)
		fprintf(out, "%lld", (long long)number->low);
	else
		fprintf(out, "%lld-%lld", (long long)number->low,
			(long long)number->high);
}

static void assert_numbers(const char *what, const struct check_number *numbers,
			   size_t count, const char *expected)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			fputc(' ', out);
		put_number(out, &numbers[i]);
	}
	fclose(out);
	if (strcmp(text, expected) != 0)
		print_error("%s\n", what);
	assert_string_equal(text, expected);
	free(text);
}

/* Nodes, tasks, tasks of the fullest node, CPUs a task, GPUs, GPUs a node, visible. */
static void assert_amounts(const char *what, const struct check_amount *amount,
			   const char *expected)
{
	static const enum check_quantity shown[] = {
		CHECK_NODES,         CHECK_NTASKS, CHECK_NTASKS_PER_NODE,
		CHECK_CPUS_PER_TASK, CHECK_GPUS,   CHECK_GPUS_PER_NODE,
		CHECK_VISIBLE,
	};
	struct check_number numbers[7];

	for (size_t i = 0; i < 7; i++)
		numbers[i] = amount[shown[i]].number;
	assert_numbers(what, numbers, 7, expected);
}

static const struct {
	const char *options, *amounts;
} jobs[] = {
	{"", "1 1 1 1 0 0 0"},
	{"-N2", "2 2 1 1 0 0 0"},
	{"-N1-3", "1-3 1-3 1 1 0 0 0"},
	{"-n2 --ntasks-per-node=2", "1 2 2 1 0 0 0"},
	{"-n4 --ntasks-per-node=2", "2 4 2 1 0 0 0"},
	{"-n5 --ntasks-per-node=2", "3 5 2 1 0 0 0"},
	{"-N2 -n1", "1 1 1 1 0 0 0"},
	{"-N2 --ntasks-per-node=4 -c8", "2 8 4 8 0 0 0"},
	{"-N2 --tasks-per-node=4 --gres=gpu:4", "2 8 4 1 8 4 4"},
	{"-N2 --gres=gpu:a100:4,nvme:1", "2 2 1 1 8 4 4"},
	{"--gres=gpu", "1 1 1 1 1 1 1"},
	{"--gres=gpu:v100:2(S:0-1)", "1 1 1 1 2 2 2"},
	{"-N2 --gpus-per-node=a100:4", "2 2 1 1 8 4 4"},
	{"--gres=gpu:4 --gpus-per-node=8", "1 1 1 1 4 4 4"},
	{"-N2 --gpus=4", "2 2 1 1 4 2-3 2-3"},
	{"-N1 --gpus=4", "1 1 1 1 4 4 4"},
	{"-N1 -n4 --gpus-per-task=1", "1 4 4 1 4 4 4"},
	{"--gpus-per-task=1 --gpus=4 -N1", "1 4 4 1 4 4 4"},
	{"--ntasks-per-gpu=1 --gpus-per-node=4 -N2", "2 8 4 1 8 4 4"},
	{"--cpus-per-gpu=8 --gpus-per-node=4 --ntasks-per-node=4 -N1", "1 4 4 8 4 4 4"},
	{"--exclusive -N2", "2 2 1 ? ? ? ?"},
	{"-n8", "1-8 8 1-8 1 0 0 0"},
	{"-N2 -n8", "2 8 4-7 1 0 0 0"},
	{"-N2- -n0x", "? ? 1 1 ? 0 0"},
};

static void jobs_are_slurms(void **state)
{
	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		struct check_model model;
		char script[2048];

		make_job(&model, jobs[i].options, "", 2205, script);
		assert_amounts(jobs[i].options, model.jobs[0].amount, jobs[i].amounts);
		check_model_clear(&model);
	}
}

static const struct {
	const char *options, *step;
	const char *old, *new; /* 22.05, 24.11 */
} steps[] = {
	{"-N2 --ntasks-per-node=4 -c16 --gres=gpu:4", "srun a", "2 8 4 1 8 4 4",
	 "2 8 4 16 8 4 4"},
	{"-N2 --ntasks-per-node=4 -c16 --gres=gpu:4", "srun -n1 a", "1 1 1 1 4 4 4",
	 "1 1 1 16 4 4 4"},
	{"-N2 --ntasks-per-node=4 -c16", "srun -c 4 a", "2 8 4 4 0 0 0", "2 8 4 4 0 0 0"},
	{"-N2 --ntasks-per-node=4", "srun --ntasks-per-node=1 a", "2 8 4 1 0 0 0",
	 "2 8 4 1 0 0 0"},
	{"-N2 --ntasks-per-node=4", "srun -N2 --ntasks-per-node=1 a", "2 8 4 1 0 0 0",
	 "2 2 1 1 0 0 0"},
	{"-N2 --ntasks-per-node=4", "srun -N1 a", "1 8 8 1 0 0 0", "1 4 4 1 0 0 0"},
	{"-N2 --ntasks-per-node=4", "srun -N2 -n2 --ntasks-per-node=1 a", "2 2 1 1 0 0 0",
	 "2 2 1 1 0 0 0"},
	/* SLURM_NTASKS is not set by -N alone. */
	{"-N2", "srun --ntasks-per-node=4 a", "2 8 4 1 0 0 0", "2 8 4 1 0 0 0"},
	{"-N2", "srun a", "2 2 1 1 0 0 0", "2 2 1 1 0 0 0"},
	{"-N2 -n8 --gres=gpu:4", "export SLURM_NTASKS=2\nsrun a", "2 2 1 1 8 4 4",
	 "2 2 1 1 8 4 4"},
	{"-N1 -n4 -c8", "export SRUN_CPUS_PER_TASK=8\nsrun a", "1 4 4 8 0 0 0",
	 "1 4 4 8 0 0 0"},
	{"-N1 -n4 --gres=gpu:4", "srun -n1 --gres=gpu:1 a", "1 1 1 1 1 1 1",
	 "1 1 1 1 1 1 1"},
	{"-N1 -n4 --gpus-per-task=1", "srun a", "1 4 4 1 4 4 1", "1 4 4 1 4 4 1"},
	{"-N1 -n4 --gpus-per-task=1", "srun --gpu-bind=none a", "1 4 4 1 4 4 4",
	 "1 4 4 1 4 4 4"},
	{"-N1 -n4 --gres=gpu:4", "srun --gpu-bind=single:1 a", "1 4 4 1 4 4 1",
	 "1 4 4 1 4 4 1"},
	{"-N1 -n4 --gres=gpu:4", "srun --gpu-bind=closest a", "1 4 4 1 4 4 ?",
	 "1 4 4 1 4 4 ?"},
	{"-N2 --gres=gpu:4", "N=2; srun -N $N -n$((N * 4)) a", "2 8 4 1 8 4 4",
	 "2 8 4 1 8 4 4"},
	{"-N2", "srun $SRUN_ARGS -n4 a", "? 4 ? ? ? ? ?", "? 4 ? ? ? ? ?"},
};

static void steps_are_slurms(void **state)
{
	for (size_t i = 0; i < 2 * (sizeof(steps) / sizeof(*steps)); i++) {
		const size_t row = i / 2;
		struct check_model model;
		char script[2048];

		make_job(&model, steps[row].options, steps[row].step, i % 2 ? 2411 : 2205,
			 script);
		assert_int_equal(model.steps_count, 1);
		assert_amounts(steps[row].step, model.steps[0]->amount,
			       i % 2 ? steps[row].new : steps[row].old);
		check_model_clear(&model);
	}
}

/* The value of V at the end, as it is known, and as a number. */
static const struct {
	const char *body, *text, *number;
} values[] = {
	{"V=8", "8", "8"},
	{"N=4\nV=$N", "4", "4"},
	{"N=4; V=\"x${N}y\"", "x4y", "?"},
	{"V=$((2 * 3 + 4 % 3 - 10 / 5))", "5", "5"},
	{"N=4; V=$((N * 2))", "8", "8"},
	{"V=${M:-7}", "7", "7"},
	{"M=; V=${M:-7}", "7", "7"},
	{"M=; V=${M-7}", "", "?"},
	{"A=(1 2 3); V=${#A[@]}", "3", "3"},
	{"A=(1 2 3); V=${A[1]}", "2", "2"},
	{"V=$(echo 5)", "5", "5"},
	{"V=1; V+=2", "12", "12"},
	{"V=$SLURM_NNODES", "$SLURM_NNODES", "2"},
	{"V=$SLURM_NTASKS", "$SLURM_NTASKS", "8"},
	{"V=$SLURM_PROCID", "$SLURM_PROCID", "0"},
	{"V=$SLURM_GPUS_ON_NODE", "$SLURM_GPUS_ON_NODE", "4"},
	{"V=$SLURM_GPUS_PER_NODE", "$SLURM_GPUS_PER_NODE", "?"},
	{"V=$((20000 + SLURM_JOB_ID % 10000))", "$((20000 + SLURM_JOB_ID % 10000))",
	 "20000-29999"},
	{"V=$((SLURM_JOB_ID % 1000))", "$((SLURM_JOB_ID % 1000))", "0-999"},
	{"V=$((RANDOM % 100 + 1))", "$((RANDOM % 100 + 1))", "1-100"},
	{"V=$(expr 10000 + $(echo -n $SLURM_JOBID | tail -c 4))",
	 "$(expr 10000 + $(echo -n $SLURM_JOBID | tail -c 4))", "10000-19999"},
	{"V=1${SLURM_JOB_ID: -4}", "1${SLURM_JOB_ID: -4}", "10000-19999"},
	{"V=$(shuf -i 20000-21000 -n 1)", "$(shuf -i 20000-21000 -n 1)", "20000-21000"},
	{"V=$(scontrol show hostnames $SLURM_JOB_NODELIST | wc -l)",
	 "$(scontrol show hostnames $SLURM_JOB_NODELIST | wc -l)", "2"},
	{"V=$((SLURM_NNODES * SLURM_GPUS_ON_NODE))",
	 "$((SLURM_NNODES * SLURM_GPUS_ON_NODE))", "8"},
	/* Not known: each way that a variable can be lost. */
	{"X=1; if a; then X=2; fi; V=$X", "$X", "?"},
	{"X=1; [ $a ] && X=2; V=$X", "$X", "?"},
	{"X=1; a || X=2; V=$X", "$X", "?"},
	{"X=1; for i in 1 2; do X=$i; done; V=$X", "$X", "?"},
	{"X=1; while a; do ((X++)); done; V=$X", "$X", "?"},
	{"read X; V=$X", "$X", "?"},
	{"for X in 3 1 2; do V=$X; done", "$X", "1-3"},
	{"for X in {0..3}; do V=$X; done", "$X", "0-3"},
	/* And kept. */
	{"X=1; (X=2); V=$X", "1", "1"},
	{"X=1; a | X=2; V=$X", "1", "1"},
	{"X=1; X=2 a; V=$X", "1", "1"},
	{"X=1; a && X=2; V=$X", "2", "2"},
	{"X=1; f() { X=$1; }; f 3; V=$X", "3", "3"},
	{"X=1; { X=2; } & V=$X", "1", "1"},
	{"X=1; eval 'X=5'; V=$X", "5", "5"},
};

static void values_are_the_shells(void **state)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		const struct check_assignment *found = NULL;
		struct check_number number;
		struct check_model model;
		char script[2048];

		make_job(&model, "-N2 --ntasks-per-node=4 --gpus-per-node=a100:4",
			 values[i].body, 2411, script);
		for (size_t j = 0; j < model.assignments_count; j++) {
			if (strcmp(model.assignments[j]->name, "V") == 0)
				found = model.assignments[j];
		}
		if (!found || strcmp(found->value.text, values[i].text) != 0)
			print_error("%s\n", values[i].body);
		assert_non_null(found);
		assert_string_equal(found->value.text, values[i].text);
		number = check_value_number(&model, &found->value);
		assert_numbers(values[i].body, &number, 1, values[i].number);
		check_model_clear(&model);
	}
}

/* One command line that ends in a launcher, and what comes of it. */
static const struct {
	const char *body;
	enum check_tool tool;
	const char *counts; /* copies, a node; workers, a node */
} launches[] = {
	{"srun torchrun --nnodes=2 --nproc_per_node=4 a.py", CHECK_TORCHRUN, "8 4 32 16"},
	{"srun -N2 -n2 torchrun --nproc-per-node gpu a.py", CHECK_TORCHRUN, "2 1 8 4"},
	{"torchrun --standalone --nproc_per_node=4 a.py", CHECK_TORCHRUN, "1 1 4 4"},
	{"python3 -m torch.distributed.run --nproc_per_node 2 a.py", CHECK_TORCHRUN,
	 "1 1 2 2"},
	{"srun -n2 -N2 python -u -m torch.distributed.launch --use_env "
	 "--nproc_per_node=4 a",
	 CHECK_TORCH_LAUNCH, "2 1 8 4"},
	{"srun -n2 -N2 accelerate launch --multi_gpu --num_machines 2 --num_processes 8 "
	 "a.py",
	 CHECK_ACCELERATE, "2 1 8 4"},
	{"deepspeed --num_gpus 4 a.py --deepspeed ds.json", CHECK_DEEPSPEED, "1 1 4 4"},
	{"deepspeed a.py", CHECK_DEEPSPEED, "1 1 4 4"},
	{"mpirun -np 8 --bind-to none ./a", CHECK_MPIRUN, "1 1 8 4"},
	{"mpirun -mca btl ^openib -x A=1 --map-by ppr:2:node ./a", CHECK_MPIRUN,
	 "1 1 8 2"},
	{"srun python a.py --devices 4", CHECK_PYTHON, "8 4 8 4"},
	{"srun -n1 python a.py --num-gpus 4", CHECK_PYTHON, "1 1 4 4"},
	{"export PET_NPROC_PER_NODE=3\ntorchrun a.py", CHECK_TORCHRUN, "1 1 3 3"},
};

static void launchers_are_counted(void **state)
{
	for (size_t i = 0; i < sizeof(launches) / sizeof(*launches); i++) {
		const struct check_launch *launch;
		struct check_model model;
		char script[2048];
		struct check_number numbers[4];

		make_job(&model, "-N2 --ntasks-per-node=4 --gres=gpu:4", launches[i].body,
			 2411, script);
		if (model.launches_count == 0)
			print_error("%s\n", launches[i].body);
		assert_true(model.launches_count > 0);
		launch = model.launches[0];
		assert_int_equal(launch->tool, launches[i].tool);
		numbers[0] = launch->copies;
		numbers[1] = launch->copies_per_node;
		numbers[2] = launch->workers;
		numbers[3] = launch->workers_per_node;
		assert_numbers(launches[i].body, numbers, 4, launches[i].counts);
		check_model_clear(&model);
	}
}

/* Where `p $SLURM_PROCID` runs and who expands it, however it is wrapped. */
static const struct {
	const char *body;
	enum check_where where, expanded;
} wraps[] = {
	{"p $SLURM_PROCID", CHECK_BATCH, CHECK_BATCH},
	{"srun p $SLURM_PROCID", CHECK_STEP, CHECK_BATCH},
	{"srun bash -c 'p $SLURM_PROCID'", CHECK_STEP, CHECK_STEP},
	{"srun bash -c \"p $SLURM_PROCID\"", CHECK_STEP, CHECK_BATCH},
	{"srun bash -c \"p \\$SLURM_PROCID\"", CHECK_STEP, CHECK_STEP},
	{"srun bash -c \"p '$SLURM_PROCID'\"", CHECK_STEP, CHECK_BATCH},
	{"srun sh -lc 'exec env A=1 nice -n 5 p $SLURM_PROCID'", CHECK_STEP, CHECK_STEP},
	{"srun bash -c 'bash -c \"p \\$SLURM_PROCID\"'", CHECK_STEP, CHECK_STEP},
	{"srun bash <<'E'\np $SLURM_PROCID\nE", CHECK_STEP, CHECK_STEP},
	{"srun bash <<E\np $SLURM_PROCID\nE", CHECK_STEP, CHECK_BATCH},
	{"srun bash <<E\np \\$SLURM_PROCID\nE", CHECK_STEP, CHECK_STEP},
	{"C='p $SLURM_PROCID'; srun bash -c \"$C\"", CHECK_STEP, CHECK_STEP},
	{"C=\"p $SLURM_PROCID\"; srun bash -c \"$C\"", CHECK_STEP, CHECK_BATCH},
	{"C=\"p $SLURM_PROCID\"; srun $C", CHECK_STEP, CHECK_BATCH},
	{"C=(p \"$SLURM_PROCID\"); srun \"${C[@]}\"", CHECK_STEP, CHECK_BATCH},
	{"f() { srun \"$@\"; }; f p $SLURM_PROCID", CHECK_STEP, CHECK_BATCH},
	{"f() { bash -c 'p $SLURM_PROCID'; }; f", CHECK_BATCH, CHECK_BATCH},
	{"srun apptainer exec --nv -B /a:/b img.sif p $SLURM_PROCID", CHECK_STEP,
	 CHECK_BATCH},
	{"srun --container-image=a --no-container-mount-home bash -c 'p $SLURM_PROCID'",
	 CHECK_STEP, CHECK_STEP},
	{"srun --unheard-of-switch bash -c 'p $SLURM_PROCID'", CHECK_STEP, CHECK_STEP},
	{"srun numactl -N 0 timeout -k 5 60 p $SLURM_PROCID", CHECK_STEP, CHECK_BATCH},
	{"cat > r.sh <<'E'\np $SLURM_PROCID\nE\nsrun bash r.sh", CHECK_STEP, CHECK_STEP},
	{"cat <<'E' > r.sh\np $SLURM_PROCID\nE\nchmod +x r.sh\nsrun ./r.sh", CHECK_STEP,
	 CHECK_STEP},
	{"ssh n1 p $SLURM_PROCID", CHECK_ELSEWHERE, CHECK_BATCH},
	{"mpirun -np 8 p $SLURM_PROCID", CHECK_STEP, CHECK_BATCH},
	{"for i in 1 2; do srun -n1 p $SLURM_PROCID & done; wait", CHECK_STEP,
	 CHECK_BATCH},
	{"eval \"srun bash -c 'p \\$SLURM_PROCID'\"", CHECK_STEP, CHECK_STEP},
	{"trap 'p $SLURM_PROCID' USR1", CHECK_BATCH, CHECK_BATCH},
	{"a=`p \\$SLURM_PROCID`", CHECK_BATCH, CHECK_BATCH},
};

static void expansions_know_their_shell(void **state)
{
	for (size_t i = 0; i < sizeof(wraps) / sizeof(*wraps); i++) {
		const struct check_command *found = NULL;
		struct check_model model;
		char script[2048];

		make_job(&model, "-N2 --ntasks-per-node=4", wraps[i].body, 2411, script);
		for (size_t j = 0; j < model.commands_count; j++) {
			if (strcmp(model.commands[j]->name, "p") == 0)
				found = model.commands[j];
		}
		if (!found || found->where != wraps[i].where)
			print_error("%s\n", wraps[i].body);
		assert_non_null(found);
		assert_int_equal(found->where, wraps[i].where);
		assert_int_equal(found->words[1].expansions_count, 1);
		if (found->words[1].expansions[0].shell->where != wraps[i].expanded)
			print_error("%s\n", wraps[i].body);
		assert_int_equal(found->words[1].expansions[0].shell->where,
				 wraps[i].expanded);
		assert_string_equal(found->words[1].expansions[0].name, "SLURM_PROCID");
		check_model_clear(&model);
	}
}

/* What reaches the program p of MASTER_ADDR: its value, and how. */
static const struct {
	const char *body;
	const char *value; /* NULL: nothing set it */
	enum check_export export;
} environments[] = {
	{"export MASTER_ADDR=a; srun p", "a", CHECK_EXPORTED},
	{"MASTER_ADDR=a; srun p", "a", CHECK_KEPT},
	{"MASTER_ADDR=a; export MASTER_ADDR; srun p", "a", CHECK_EXPORTED},
	{"set -a; MASTER_ADDR=a; srun p", "a", CHECK_EXPORTED},
	{"declare -x MASTER_ADDR=a; srun p", "a", CHECK_EXPORTED},
	{"MASTER_ADDR=a srun p", "a", CHECK_FOR_ONE},
	{"srun env MASTER_ADDR=a p", "a", CHECK_BY_ENV},
	{"srun --export=ALL,MASTER_ADDR=a p", "a", CHECK_BY_SRUN},
	{"srun bash -c 'export MASTER_ADDR=a; p'", "a", CHECK_EXPORTED},
	{"srun bash -c 'MASTER_ADDR=a p'", "a", CHECK_FOR_ONE},
	{"export MASTER_ADDR=a; export MASTER_ADDR=b; srun p", "b", CHECK_EXPORTED},
	{"export MASTER_ADDR=a; unset MASTER_ADDR; srun p", NULL, CHECK_KEPT},
	{"(export MASTER_ADDR=a); srun p", NULL, CHECK_KEPT},
	{"MASTER_ADDR=a true; srun p", NULL, CHECK_KEPT},
	{"apptainer exec --env MASTER_ADDR=a i p", "a", CHECK_IN_CONTAINER},
};

static void variables_reach_programs(void **state)
{
	for (size_t i = 0; i < sizeof(environments) / sizeof(*environments); i++) {
		const struct check_assignment *seen = NULL;
		struct check_model model;

		make(&model, environments[i].body, 0);
		for (size_t j = 0; j < model.commands_count; j++) {
			if (strcmp(model.commands[j]->name, "p") == 0)
				seen = model.commands[j]->sees[CHECK_MASTER_ADDR];
		}
		if (seen && seen->unset)
			seen = NULL;
		if (!seen != !environments[i].value)
			print_error("%s\n", environments[i].body);
		assert_int_equal(!seen, !environments[i].value);
		if (seen) {
			assert_string_equal(seen->value.text, environments[i].value);
			assert_int_equal(seen->export, environments[i].export);
		}
		check_model_clear(&model);
	}
}

/* A word is pointed at where it is written, and its constant where that is. */
static void places_of_values(void **state)
{
	static const char text[] = "#!/bin/bash\nN=8\nsrun bash -c \"torchrun "
				   "--nproc_per_node=$N a.py\"\n";
	struct check_model model;
	const struct check_setting *setting;
	struct diag_place place;

	make(&model, text, 0);
	setting = &model.launches[0]->setting[CHECK_KEY_NPROC];
	place = check_place(&model, setting->range);
	assert_int_equal(place.line, 3);
	assert_int_equal(place.column, 24);
	assert_int_equal(place.end_column, 43);
	place = check_place(&model, setting->value.source);
	assert_int_equal(place.line, 2);
	assert_int_equal(place.column, 3);
	check_model_clear(&model);
}

static void octal_digits(void **state)
{
	static const struct {
		const char *expression;
		bool octal;
	} rows[] = {
		{"$((10000 + $(echo -n $SLURM_JOB_ID | tail -c 4)))", true},
		{"$((10000 + ${SLURM_JOB_ID: -4}))", true},
		{"$((10000 + 10#$(echo -n $SLURM_JOB_ID | tail -c 4)))", false},
		{"$((10000 + SLURM_JOB_ID % 10000))", false},
		{"$(expr 10000 + $(echo -n $SLURM_JOB_ID | tail -c 4))", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct check_model model;
		char script[256];

		snprintf(script, sizeof(script), "V=%s", rows[i].expression);
		make(&model, script, 0);
		assert_int_equal(model.assignments[0]->value.expansions[0].octal,
				 rows[i].octal);
		check_model_clear(&model);
	}
}

static void pragmas(void **state)
{
	static const char text[] =
		"#!/bin/bash\n# srank: disable=a,b\nx # srank: disable=c\n"
		"# srank: disable=d\ny\n# srank: disable-file=e\n"
		"echo 'srank: disable=f'\n";
	static const struct {
		const char *rule;
		uint32_t line;
		bool file;
	} expected[] = {
		{"a", 3, true},  {"b", 3, true}, {"c", 3, false},
		{"d", 5, false}, {"e", 7, true},
	};
	struct check_model model;

	make(&model, text, 0);
	assert_int_equal(model.pragmas_count, sizeof(expected) / sizeof(*expected));
	for (size_t i = 0; i < model.pragmas_count; i++) {
		assert_string_equal(model.pragmas[i].rule, expected[i].rule);
		assert_int_equal(model.pragmas[i].file, expected[i].file);
		if (!expected[i].file)
			assert_int_equal(model.pragmas[i].line, expected[i].line);
	}
	check_model_clear(&model);
}

/* The directives of a script within the script are not this one's. */
static void scripts_within(void **state)
{
	static const char text[] =
		"#!/bin/bash\ncat > x <<E\n#!/bin/bash\n#SBATCH -N9\nE\n"
		"y='\n#SBATCH -N8\n'\n#SBATCH -N7\n";
	struct check_model model;

	make(&model, text, 0);
	assert_int_equal(model.header.directives_count, 3);
	assert_int_equal(model.header.directives[0].kind, SCRIPT_DIRECTIVE_QUOTED);
	assert_int_equal(model.header.directives[1].kind, SCRIPT_DIRECTIVE_QUOTED);
	assert_int_equal(model.header.directives[2].kind, SCRIPT_DIRECTIVE_LATE);
	check_model_clear(&model);
}

static void shells_by_their_first_line(void **state)
{
	static const struct {
		const char *line;
		bool shell;
	} rows[] = {
		{"#!/bin/bash\n", true},
		{"#!/usr/bin/env bash\n", true},
		{"#! /bin/sh -e\n", true},
		{"#!/usr/bin/env -S bash -l\n", true},
		{"#!/usr/bin/env python3\n", false},
		{"#!/usr/bin/perl\n", false},
		{"true\n", true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct check_model model;

		make(&model, rows[i].line, 0);
		assert_int_equal(model.shell_script, rows[i].shell);
		check_model_clear(&model);
	}
}

/* Time and memory stay bounded for text that is made to double. */
static void growth_is_bounded(void **state)
{
	static const char *const lines[] = {
		"X=a$X$X\n",
		"X=$Q$X$X\n",
		"A+=(x \"${A[@]}\")\n",
		"f() { f; f; }; f\n",
		"eval \"eval eval a\"\n",
		"for i in a; do\n",
		"g() { f; f; }\n",
		"#SBATCH hetjob\n",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const size_t length = strlen(lines[i]), count = 5000;
		char *text = calloc(count, length + 1);
		struct check_model model;

		assert_non_null(text);
		for (size_t j = 0; j < count; j++)
			memcpy(text + j * length, lines[i], length);
		make(&model, text, 0);
		check_model_clear(&model);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_slurms),
		cmocka_unit_test(steps_are_slurms),
		cmocka_unit_test(values_are_the_shells),
		cmocka_unit_test(launchers_are_counted),
		cmocka_unit_test(expansions_know_their_shell),
		cmocka_unit_test(variables_reach_programs),
		cmocka_unit_test(places_of_values),
		cmocka_unit_test(octal_digits),
		cmocka_unit_test(pragmas),
		cmocka_unit_test(scripts_within),
		cmocka_unit_test(shells_by_their_first_line),
		cmocka_unit_test(growth_is_bounded),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
