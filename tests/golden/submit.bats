#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# srank submit with a stand-in for sbatch; the real one is in tests/cluster.
# shellcheck disable=SC2016,SC2154 # backquotes in messages; `here` is set by the helpers

load helpers

setup() {
	common_setup
	export RECORD=$BATS_TEST_TMPDIR/record PATH=$here/stubs:$PATH
	mkdir "$RECORD"
	cp "$examples/yolox-2x8.yaml" job.yaml
}

@test "writes the script, hands it to sbatch, prints the job id" {
	srank submit job.yaml >id 2>words
	[[ $(<id) == 4711 ]]
	local script
	script=$(echo mmdet_train-*.sbatch)
	[[ $script =~ ^mmdet_train-[0-9a-f]{8}\.sbatch$ ]]
	srank gen job.yaml | cmp - "$script"
	printf '%s\0' --parsable "$script" | cmp - "$RECORD/argv"
	[[ $(<words) == "srank submit: the script is $script" ]]
}

@test "the log folders are made, and the script is in the first" {
	srank submit job.yaml -s batch.output=logs/deep/%x-%j.out -s batch.error=errors/%j.err
	[[ -d logs/deep && -d errors ]]
	[[ -f $(echo logs/deep/mmdet_train-*.sbatch) ]]
	# Again, and with a part of the path that only Slurm can make.
	srank submit job.yaml -s batch.output=logs/deep/%x-%j.out -s batch.error=errors/%j.err
	local files=(logs/deep/*)
	[[ ${#files[@]} -eq 1 ]]
	srank submit job.yaml -s batch.output=other/%j/out
	[[ -d other && $(ls other) == mmdet_train-*.sbatch ]]
}

@test "another job never takes the place of a script" {
	srank submit job.yaml
	srank submit job.yaml -s resources.nodes=1
	local files=(mmdet_train-*.sbatch)
	[[ ${#files[@]} -eq 2 ]]
}

@test "the script's name: job name, spec's name, standard input" {
	srank submit job.yaml -s name=null
	[[ -f $(echo job-*.sbatch) ]]
	rm job-*.sbatch
	srank submit - -s name=null <job.yaml
	[[ -f $(echo job-*.sbatch) ]]
	srank submit job.yaml -s "name=-a/b c#'1'.größe-x"
	printf '%s\0' --parsable "$(echo _a_b_c__1_.größe-x-*.sbatch)" | cmp - "$RECORD/argv"
}

@test "arguments behind -- go to sbatch as they are" {
	srank submit job.yaml -s launcher=torch -- --hold '--comment=a b' --dependency afterok:1
	printf '%s\0' --parsable --hold '--comment=a b' --dependency afterok:1 \
		"$(echo mmdet_train-*.sbatch)" | cmp - "$RECORD/argv"
}

@test "arguments that would not agree with the script are refused" {
	local argument
	for argument in --nodes=4 -N4 -N --ntasks=2 -n2 --ntasks-per-node=1 --ntasks-per-n=1 \
		--cpus-per-task=1 -c1 --gres=gpu:1 --gpus=1 -G1 --gpus-per-node=1 --cpus-per-gpu=1 \
		--tasks-per-node=1 --tres-per-task=cpu:1 -HN1 -vQn2; do
		run srank submit job.yaml -- $argument
		[[ $status -eq 2 ]]
		[[ $output == *"$argument would not agree with the script"*"-s resources.nodes=4"* ]]
	done
	[[ ! -e $RECORD/argv ]]
	srank submit job.yaml -- --nodelist=n1 --nice=10 --gpu-bind=none --time=1 -p other
}

@test "what sbatch would take for the script is refused" {
	local argument
	for argument in 'other.sh' '--hold other.sh' '-HW other.sh' '--time 1 other.sh' '-- other.sh'; do
		# shellcheck disable=SC2086 # several words
		run srank submit job.yaml -- $argument
		[[ $status -eq 2 ]]
		[[ $output == *'`other.sh` behind -- is no option, and sbatch would take it for the script'* ]]
	done
	[[ ! -e $RECORD/argv ]]
	srank submit job.yaml -- -pN1 -H --dependency afterok:1
	printf '%s\0' --parsable -pN1 -H --dependency afterok:1 "$(echo mmdet_train-*.sbatch)" |
		cmp - "$RECORD/argv"
}

@test "a log folder that looks like an option" {
	srank submit job.yaml -s batch.output=-p/%j.out
	[[ -d ./-p && -f $(echo ./-p/mmdet_train-*.sbatch) ]]
	printf '%s\0' --parsable "$(echo ./-p/mmdet_train-*.sbatch)" | cmp - "$RECORD/argv"
}

@test "a job's name that is longer than a file's may be" {
	local name
	name=$(printf 'ä%.0s' {1..150})
	srank submit job.yaml -s "name=$name"
	[[ $(echo ä*.sbatch) == "$(printf 'ä%.0s' {1..100})-"????????.sbatch ]]
	name=x$name
	srank submit job.yaml -s "name=$name"
	# 200 bytes end within a character, which goes.
	[[ $(echo x*.sbatch) == "x$(printf 'ä%.0s' {1..99})-"????????.sbatch ]]
}

@test "what sbatch says when it refuses is what the user sees" {
	SBATCH_REFUSES="Invalid account or account/partition combination specified" \
		run srank submit job.yaml
	[[ $status -eq 1 ]]
	[[ ${lines[0]} == "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified" ]]
	[[ ${lines[1]} == "srank submit: sbatch ended with exit code 1; the script is mmdet_train-"*.sbatch ]]
}

@test "no sbatch" {
	PATH=$BATS_TEST_TMPDIR/empty run "$SRANK_BIN" submit job.yaml
	[[ $status -eq 1 ]]
	[[ $output == *"cannot start sbatch: No such file or directory; submit from a login host"* ]]
}

@test "a spec with a fault submits nothing" {
	run srank submit job.yaml -s resources.nods=1
	[[ $status -eq 1 ]]
	[[ ! -e $RECORD/argv ]]
	[[ $(ls -A) == job.yaml ]]
}

@test "a folder that cannot be made" {
	touch logs
	run srank submit job.yaml -s batch.output=logs/%j.out
	[[ $status -eq 1 ]]
	[[ $output == *"cannot make the log folder logs: "* ]]
	[[ ! -e $RECORD/argv ]]
}

# has NAME: the variable reached sbatch.
has() {
	grep -zq "^$1=" "$RECORD/environment"
}

@test "SBATCH_ variables count where the script is silent, and are told where not" {
	export SBATCH_PARTITION=other SBATCH_ACCOUNT=proj SBATCH_GRES=gpu:1 SBATCH_MEM_PER_CPU=1G \
		SBATCH_TIMELIMIT=1 SBATCH_EXPORT=NONE SBATCH_TRES_PER_TASK=cpu:1 SBATCH_GPUS_PER_SOCKET=1
	srank submit job.yaml 2>words
	refute has SBATCH_PARTITION
	refute has SBATCH_GRES
	refute has SBATCH_MEM_PER_CPU
	refute has SBATCH_TIMELIMIT
	refute has SBATCH_TRES_PER_TASK
	refute has SBATCH_GPUS_PER_SOCKET
	has SBATCH_ACCOUNT
	has SBATCH_EXPORT
	grep -q 'note: SBATCH_PARTITION is not handed to sbatch: the spec says otherwise' words
	grep -q 'note: SBATCH_GRES is not handed to sbatch: the spec decides this' words
	refute grep -q SBATCH_ACCOUNT words
}

@test "a variable that says the opposite, or the same in another way, is not handed on" {
	export SBATCH_REQUEUE=1 SBATCH_NO_REQUEUE=1 SBATCH_MEM_PER_NODE=1G SBATCH_ARRAY_INX=0-3
	srank submit job.yaml -s batch.requeue=false -s resources.mem=null -s resources.mem_per_gpu=1G
	refute has SBATCH_REQUEUE
	refute has SBATCH_NO_REQUEUE
	refute has SBATCH_MEM_PER_NODE
	has SBATCH_ARRAY_INX
	srank submit job.yaml -s resources.mem=null -s batch.array=0-1
	has SBATCH_REQUEUE
	has SBATCH_MEM_PER_NODE
	refute has SBATCH_ARRAY_INX
}

@test "inside a job its own variables do not go on" {
	export SLURM_JOB_ID=1 SLURM_GPUS_PER_NODE=4 SLURM_MEM_PER_NODE=1 SLURM_CONF=/etc/x.conf OTHER=1
	srank submit job.yaml
	refute has SLURM_JOB_ID
	refute has SLURM_GPUS_PER_NODE
	refute has SLURM_MEM_PER_NODE
	has SLURM_CONF
	has OTHER
	unset SLURM_JOB_ID
	srank submit job.yaml
	has SLURM_GPUS_PER_NODE
}
