#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The generated scripts, submitted by a researcher to a real Slurm: ranks that meet and train. Both
# examples in both shapes; what MMEngine's other launchers read; and that sbatch takes every
# script of the golden tests.

# Quoted text is for the shell of a host; the helpers set top.
# shellcheck disable=SC2016,SC2154
load helpers

setup_file() {
	cluster_need jobs --partition gpu_cluster --partition mm_dev --plugstack "optional $PLUGIN"
	give "$top/tests/train/tools" "$top/tests/train/configs" "$top/docs/examples"
}

teardown_file() {
	cluster down --name jobs
}

setup() {
	[[ -e /usr/lib/python3/dist-packages/torch ]] || [[ $BATS_TEST_DESCRIPTION == sbatch* ]] ||
		skip 'SKIPPED, NOT PASSED: python3-torch is not installed'
}

teardown() {
	nodes_are_well
}

# trains SPEC LAUNCHER WORLD: the job of that spec, and what its ranks report.
trains() {
	rm -rf "$(home work_dirs)"
	as_researcher srank gen "examples/$1.yaml" -s "launcher=$2" -o "$1.$2.sh"
	job_ends 300 --output=log "$1.$2.sh" || {
		cat "$(home log)"
		return 1
	}
	report "$3" 8
}

# report WORLD PER-NODE
report() {
	/usr/bin/python3 "$top/tests/train/report.py" --world "$1" --per-node "$2" \
		"$(home work_dirs)"/*
}

@test "one node, torchrun: eight workers of one task" {
	trains yolox-1x8 torchrun 8
}

@test "one node, mmengine: eight tasks" {
	trains yolox-1x8 mmengine 8
}

@test "two nodes, torchrun: eight workers on each" {
	trains yolox-2x8 torchrun 16
}

@test "two nodes, mmengine: eight tasks on each" {
	trains yolox-2x8 mmengine 16
}

@test "two nodes, torch: the same tasks" {
	trains yolox-2x8 torch 16
}

# step ARGUMENT...: two tasks on each node, as a researcher types it.
step() {
	rm -rf "$(home work_dirs)"
	as_researcher timeout 300 srun -N2 --ntasks-per-node=2 --gres=gpu:2 --kill-on-bad-exit=1 "$@"
}

readonly TRAIN=(python3 tools/train.py configs/yolox/yolox_s_8xb8-300e_coco.py)

@test "MMEngine's launchers slurm and mpi find what they read" {
	local launcher
	for launcher in slurm mpi; do
		step --srank=mmengine "${TRAIN[@]}" --launcher "$launcher"
		report 4 2
	done
}

@test "the stand-in fails as MMEngine does where nobody sets ranks" {
	run step "${TRAIN[@]}" --launcher pytorch
	[[ $status != 0 && $output == *"KeyError: 'RANK'"* ]]
	run step "${TRAIN[@]}" --launcher mpi
	[[ $status != 0 && $output == *"KeyError: 'OMPI_COMM_WORLD_LOCAL_RANK'"* ]]
}

@test "the report sees ranks that are wrong" {
	# The second node believes to be the first, as in scripts that expand SLURM_NODEID too early.
	local file
	step --srank=mmengine "${TRAIN[@]}" --launcher pytorch
	report 4 2
	for file in "$(home work_dirs)"/*/rank-[23].json; do
		sed -i 's/"node_rank": 1/"node_rank": 0/' "$file"
	done
	run report 4 2
	[[ $status == 1 && $output == *'WRONG: rank 2: NODE_RANK 0 and LOCAL_RANK 0, not 1 and 0'* ]]
	rm "$(home work_dirs)"/*/rank-3.json
	run report 4 2
	[[ $status == 1 && $output == *'but these did: 0 1 2' ]]
}

@test "sbatch takes every golden script, and every launcher's by every means" {
	local script partition partitions=() launcher means
	for partition in $(sed -n 's/^#SBATCH --partition=//p' "$top"/tests/golden/scripts/*.sbatch |
		tr ',' '\n' | sort -u); do
		partitions+=(--partition "$partition")
	done
	cluster up --name golden --gpu-type a100 "${partitions[@]}" --conf "NodeName=node[1-2] \
CPUs=64 Sockets=2 CoresPerSocket=32 RealMemory=515000 Gres=gpu:a100:8 Feature=ib,rome"
	cluster run --name golden login scontrol create reservation ReservationName=maint \
		StartTime=now Duration=7-0 Nodes=ALL Users=researcher Flags=IGNORE_JOBS
	for launcher in $("$SRANK_BIN" launchers | sed -nE 's/^([a-z]+) +(worker|node) .*/\1/p'); do
		for means in require exec off; do
			[[ $launcher/$means == tensorflow/off ]] ||
				"$SRANK_BIN" gen "$top/tests/golden/specs/features.yaml" -s "launcher=$launcher" \
					-s plugin=$means -o "$BATS_TEST_TMPDIR/$launcher.$means.sbatch"
		done
	done
	for script in "$top"/tests/golden/scripts/*.sbatch "$BATS_TEST_TMPDIR"/*.sbatch; do
		echo "$script"
		cluster run --name golden --user researcher login sbatch --test-only \
			--reservation=maint <"$script" >"$BATS_TEST_TMPDIR/said" 2>&1 || {
			cat "$BATS_TEST_TMPDIR/said"
			cluster down --name golden
			return 1
		}
		grep 'to start at' "$BATS_TEST_TMPDIR/said"
	done
	cluster down --name golden
}
