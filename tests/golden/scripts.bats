#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whole scripts against golden files, each also through bash -n and shellcheck, and twice.
# shellcheck disable=SC2154 # `here` and `examples` are set by the helpers

load helpers

setup() {
	common_setup
}

# check NAME ARGUMENT...: the script of `srank gen ARGUMENT...` is scripts/NAME.sbatch.
check() {
	local name=$1
	shift
	srank gen "$@" >first 2>notes
	golden first "scripts/$name.sbatch"
	srank gen "$@" >second 2>/dev/null
	cmp first second
	clean_script first
}

@test "1x8 torchrun" {
	check yolox-1x8.torchrun "$examples/yolox-1x8.yaml"
	[[ ! -s notes ]]
}

@test "1x8 mmengine" {
	check yolox-1x8.mmengine "$examples/yolox-1x8.yaml" -s launcher=mmengine
}

@test "1x8 torch" {
	check yolox-1x8.torch "$examples/yolox-1x8.yaml" -s launcher=torch
}

@test "2x8 torchrun" {
	check yolox-2x8.torchrun "$examples/yolox-2x8.yaml"
	[[ ! -s notes ]]
}

@test "2x8 mmengine" {
	check yolox-2x8.mmengine "$examples/yolox-2x8.yaml" -s launcher=mmengine
}

@test "2x8 torch" {
	check yolox-2x8.torch "$examples/yolox-2x8.yaml" -s launcher=torch
}

@test "a module under accelerate, typed GPUs by gres" {
	check module.accelerate "$here/specs/module.yaml" -s launcher=accelerate -s run.python=null
	# The log folder is missing here, and may be for Slurm of an unknown version.
	grep -q '\[log-folder\]' notes
}

@test "a module under torchrun, typed GPUs by --gpus-per-node" {
	check module.torchrun "$here/specs/module.yaml" --site "$here/specs/per-node.yaml"
	# Slurm 24.11 makes the log folder.
	[[ ! -s notes ]]
}

@test "a program under mpi with all that a script can hold" {
	check command.mpi "$here/specs/command.yaml"
}

@test "every example gives a clean script for every launcher that runs it" {
	local spec launcher
	for spec in "$examples"/*.yaml; do
		for launcher in torch torchrun mmengine; do
			srank gen "$spec" -s launcher=$launcher >script
			clean_script script
		done
	done
}

@test "the folder from which it is called does not matter" {
	srank gen "$examples/yolox-2x8.yaml" >first
	(cd "$examples" && srank gen yolox-2x8.yaml) >second
	cmp first second
	# Standard input has no name to be called by.
	srank gen - <"$examples/yolox-2x8.yaml" | grep -v '^# ' >third
	grep -v '^# ' first | cmp - third
}
