#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The ways in which the ranks of a script can learn who they are: the same ranks meet and train
# whether the plugin is there or not.

# Quoted text is for the shell of a host; the helpers set top.
# shellcheck disable=SC2016,SC2154
load helpers

setup_file() {
	cluster_need means --gpus 4 --partition gpu_cluster
	give "$top/tests/train/tools" "$top/tests/train/configs" "$top/docs/examples"
}

teardown_file() {
	cluster down --name means
}

setup() {
	cluster plugstack
}

need_torch() {
	[[ -e /usr/lib/python3/dist-packages/torch ]] ||
		skip 'SKIPPED, NOT PASSED: python3-torch is not installed'
}

# trains LAUNCHER OPTION...: the example with 2 GPUs a node, and what its ranks report.
trains() {
	local launcher=$1
	shift
	rm -rf "$(home work_dirs)" "$(home log)"
	as_researcher srank gen examples/yolox-2x8.yaml -s "launcher=$launcher" \
		-s resources.gpus_per_node=2 "$@" -o job.sh --force
	job_ends 200 --output=log job.sh || {
		cat "$(home log)"
		return 1
	}
	/usr/bin/python3 "$top/tests/train/report.py" --world 4 --per-node 2 "$(home work_dirs)"/*
}

@test "plain shell, no plugin: mmengine and torchrun train" {
	need_torch
	local launcher
	for launcher in mmengine torchrun; do
		trains $launcher -s plugin=off
		run grep -c srank "$(home log)"
		[[ $output == 0 ]]
	done
}

@test "plain shell with the plugin there, and even asked: default=on" {
	need_torch
	cluster plugstack "optional $PLUGIN default=on"
	trains torch -s plugin=off
}

@test "srank exec, with the plugin and without: torchrun and mmengine train" {
	need_torch
	trains torchrun -s plugin=exec
	cluster plugstack "optional $PLUGIN"
	trains mmengine -s plugin=exec
}

# variables OPTION...: what each of the 4 ranks of a job has of the common set, by rank.
variables() {
	cat >"$(home show.yaml)" <<-'END'
		launcher: torch
		resources: {nodes: 2, gpus_per_node: 2}
		run:
		  command:
		  - sh
		  - -c
		  - 'echo "$RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK $NNODES $MASTER_ADDR $MASTER_PORT $CUDA_VISIBLE_DEVICES"'
		batch: {output: log}
	END
	as_researcher srank gen show.yaml "$@" -o show.sh --force
	job_ends 60 show.sh || {
		cat "$(home log)"
		return 1
	}
	sort -n "$(home log)"
}

@test "the same variables from the shell, from the plugin and from srank exec" {
	variables -s plugin=off >"$BATS_TEST_TMPDIR/shell"
	# One job later is another place in the range, so the port is compared by itself.
	diff <(cut -d' ' -f1-8,10 "$BATS_TEST_TMPDIR/shell") <(
		echo '0 4 0 2 0 0 2 node1 0,1'
		echo '1 4 1 2 0 0 2 node1 0,1'
		echo '2 4 0 2 1 1 2 node1 0,1'
		echo '3 4 1 2 1 1 2 node1 0,1'
	)
	[[ $(cut -d' ' -f9 "$BATS_TEST_TMPDIR/shell" | sort -u | wc -l) -eq 1 ]]
	cluster plugstack "optional $PLUGIN"
	variables >"$BATS_TEST_TMPDIR/plugin"
	diff <(cut -d' ' -f1-8,10 "$BATS_TEST_TMPDIR/shell") <(cut -d' ' -f1-8,10 "$BATS_TEST_TMPDIR/plugin")
	cluster plugstack
	variables -s plugin=exec >"$BATS_TEST_TMPDIR/exec"
	diff <(cut -d' ' -f1-8,10 "$BATS_TEST_TMPDIR/shell") <(cut -d' ' -f1-8,10 "$BATS_TEST_TMPDIR/exec")
}

@test "a profile that srank site wrote without the plugin means plain shell" {
	as_researcher srank site -o site.yaml --force
	variables --site site.yaml | cut -d' ' -f1-3 | diff - <(printf '%s\n' '0 4 0' '1 4 1' '2 4 0' '3 4 1')
	grep -q '^export RANK=' "$(home show.sh)"
}

@test "plain shell: Slurm hides the other GPUs for mask, and takes a list" {
	variables -s plugin=off -s binding.gpus=mask | cut -d' ' -f1,3,10 | diff - <(
		echo '0 0 0'
		echo '1 1 1'
		echo '2 0 0'
		echo '3 1 1'
	)
	variables -s plugin=off -s binding.gpus=map:1,0 | cut -d' ' -f1,3,10 | diff - <(
		echo '0 0 1'
		echo '1 1 0'
		echo '2 0 1'
		echo '3 1 0'
	)
}

@test "a script that needs the plugin says so where it is not" {
	as_researcher srank gen examples/yolox-2x8.yaml -s plugin=require -s resources.gpus_per_node=2 -o need.sh
	run job_ends 60 --output=log need.sh
	[[ $status -ne 0 ]]
	grep -q 'does not have the srank plugin' "$(home log)"
}
