#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whatever fails in the plugin, and in whichever callback: a step runs with all of its variables, or
# its tasks do not start and srun says why and fails; the script of a job runs in any case but one.
# No node is drained, no job is requeued, nothing hangs, and the next job runs. With the plugin of
# tests/unit/plugin/faults.c.

# Quoted text is for the shell of a task; each test is a process of its own, and bats sets $stderr.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load helpers

readonly PLUGIN=/mnt/spank_srank_faults.so

setup_file()
{
	local top
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	: "${SRANK_PLUGIN:=$top/build/spank/plugin/spank_srank.so}"
	# In the same build folder.
	: "${SRANK_PLUGIN_FAULTS:=${SRANK_PLUGIN%/spank/*}/tests/unit/plugin/spank_srank_faults.so}"
	export SRANK_CLUSTER=faults-$$
	"$BATS_TEST_DIRNAME/cluster" check ||
		skip 'SKIPPED, NOT PASSED: this machine cannot boot hosts'
	[[ -e $SRANK_PLUGIN_FAULTS ]] ||
		skip "SKIPPED, NOT PASSED: there is no $SRANK_PLUGIN_FAULTS (it is built with the unit tests)"
	install -D -m 0755 "$SRANK_PLUGIN_FAULTS" "$BATS_FILE_TMPDIR/plugin/${PLUGIN##*/}"
	install -m 0755 "$BATS_TEST_DIRNAME/plugin-show" "$BATS_FILE_TMPDIR/show"
	cluster up --mount "$BATS_FILE_TMPDIR/plugin:${PLUGIN%/*}"
	cluster install "$BATS_FILE_TMPDIR/show"
}

teardown_file()
{
	cluster down
}

# A command as the researcher on the login host. What hangs is ended, and fails the test.
user()
{
	timeout 60 "$BATS_TEST_DIRNAME/cluster" run --user researcher login -- "$@" </dev/null
}

# Writes standard input to the researcher's file NAME, executable.
write()
{
	"$BATS_TEST_DIRNAME/cluster" run --user researcher login -- \
		bash -c 'cat >"$1" && chmod 0755 "$1"' - "$1"
}

# Where Slurm stands after a fault: all nodes well, no job left, and the next one runs.
slurm_is_well()
{
	local jobs
	if ! nodes_are_well || ! jobs=$(user squeue --noheader --format='%i %T %r'); then
		echo "$what left Slurm without an answer, or a node that is not well" >&2
		return 1
	fi
	jobs=$(sed '/COMPLETING/d' <<<"$jobs")
	[[ -z $jobs ]] || {
		echo "$what left: $jobs" >&2
		return 1
	}
	cluster plugstack "${line% fault=*}"
	run --separate-stderr user env SRANK=torch srun -N2 -n4 show
	[[ $status == 0 ]] && complete "$output"
	cluster plugstack "$line"
}

complete()
{
	diff - <(sort -n <<<"$1") <<-'END'
		0 4 0 3 0 2 node1
		1 4 1 3 0 2 node1
		2 4 2 3 0 2 node1
		3 4 0 1 1 2 node2
	END
}

# step EXPECTED [SRUN OPTION]...: runs, or fails with a message of ours.
step()
{
	run --separate-stderr user env SRANK=torch srun -N2 -n4 "${@:2}" show
	case $1:$status in
	runs:0)
		complete "$output"
		;;
	fails:124 | fails:0)
		echo "$what: ended with $status" >&2
		return 1
		;;
	fails:*)
		[[ $output == '' && $stderr == *'error: srank: '* ]]
		;;
	*)
		echo "$what: ended with $status, and not as one that $1" "$stderr" >&2
		return 1
		;;
	esac
}

# script EXPECTED [MASTER]: an ordinary script runs (MASTER: has MASTER_ADDR, or has it not), or
# does not and fails the job. Its step is left out, for it is what `step` is about.
script()
{
	local job
	user rm -f ran
	job=$(user env SRANK=torch sbatch --parsable --output=/dev/null job 2>/dev/null)
	run job_ended 60 "$job"
	case $1:$status in
	runs:0)
		[[ $(user cat ran) == "${2-} first" ]]
		;;
	fails:1)
		[[ $output != *still* ]]
		! user test -e ran
		;;
	*)
		echo "$what: $output, and the script is one that $1" >&2
		return 1
		;;
	esac
}

# faults CALLBACK KIND STEP SCRIPT [MASTER]
faults()
{
	local line what word
	write job <<-'END'
		#!/bin/bash
		#SBATCH -N2 -n4
		echo "${MASTER_ADDR-without} ${SLURM_RESTART_COUNT-first}" >>ran
	END
	for word in optional required; do
		line="$word $PLUGIN fault=$1:$2"
		what="$1 $2, $word"
		cluster plugstack "$line"
		step "$3"
		script "$4" "${5-}"
		slurm_is_well
	done
}

@test "slurm_spank_init" {
	# The option cannot be had, the variable can.
	faults init slurm runs runs node1
	faults init memory runs runs node1
}

@test "slurm_spank_init_post_opt" {
	# Not even the kind of the step is known, so the script ends, too.
	faults init_post_opt slurm fails fails
	faults init_post_opt memory fails runs without
}

@test "slurm_spank_local_user_init" {
	local line
	faults local_user_init slurm runs runs node1
	faults local_user_init memory runs runs node1
	# Only where it has something to do, and then the tasks say what is missing.
	write hosts <<<$'node2\nnode1\nnode1\nnode2'
	for line in "optional $PLUGIN" "required $PLUGIN"; do
		for kind in slurm memory; do
			what="local_user_init $kind, arbitrary"
			line="${line% fault=*} fault=local_user_init:$kind"
			cluster plugstack "$line"
			run --separate-stderr user env SLURM_HOSTFILE=hosts SRANK=torch srun -n4 show
			[[ $status != 0 && $status != 124 && $output == '' && $stderr == *'set MASTER_ADDR'* ]]
			slurm_is_well
		done
	done
}

@test "slurm_spank_user_init" {
	faults user_init slurm fails runs node1
	faults user_init memory fails runs node1
}

@test "slurm_spank_task_post_fork" {
	# Without the masks of the tasks, any GPU is as near as another.
	faults task_post_fork slurm runs runs node1
	faults task_post_fork memory runs runs node1
}

@test "slurm_spank_task_init" {
	faults task_init slurm fails runs without
	faults task_init memory fails runs without
}

@test "slurm_spank_task_exit" {
	faults task_exit slurm runs runs node1
	faults task_exit memory runs runs node1
}

@test "slurm_spank_exit" {
	faults exit slurm runs runs node1
	faults exit memory runs runs node1
}
