#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whole scripts against golden files, each also through bash -n and shellcheck, and twice.
# shellcheck disable=SC2154 # `here` and `examples` are set by the helpers

load helpers

setup() {
	common_setup
	# The script says by which names it was made.
	cp "$examples"/*.yaml "$here"/specs/*.yaml .
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
	# Nor does our own reader of scripts find anything.
	srank check --strict first
}

@test "1x8 torchrun" {
	check yolox-1x8.torchrun yolox-1x8.yaml
	[[ ! -s notes ]]
}

@test "1x8 mmengine" {
	check yolox-1x8.mmengine yolox-1x8.yaml -s launcher=mmengine
}

@test "1x8 torch" {
	check yolox-1x8.torch yolox-1x8.yaml -s launcher=torch
}

@test "2x8 torchrun" {
	check yolox-2x8.torchrun yolox-2x8.yaml
	[[ ! -s notes ]]
}

@test "2x8 mmengine" {
	check yolox-2x8.mmengine yolox-2x8.yaml -s launcher=mmengine
}

@test "2x8 torch" {
	check yolox-2x8.torch yolox-2x8.yaml -s launcher=torch
}

@test "a module under accelerate, typed GPUs by gres" {
	check module.accelerate module.yaml -s launcher=accelerate -s run.python=null
	# The log folder is missing here, and may be for Slurm of an unknown version.
	grep -q '\[log-folder\]' notes
}

@test "a module under torchrun, typed GPUs by --gpus-per-node" {
	check module.torchrun module.yaml --site per-node.yaml
	# Slurm 24.11 makes the log folder.
	[[ ! -s notes ]]
}

@test "a program under mpi with all that a script can hold" {
	check command.mpi command.yaml
}

@test "all that a long training wants, without the plugin: modules, conda, apptainer, signal, restarts" {
	check features.torchrun features.yaml
}

@test "a sweep as one array: the script grows with the axes and not with the points" {
	check sweep.torch sweep.yaml
	srank gen sweep.yaml -s 'sweep.matrix={lr: [1, 2, 3, 4, 5, 6, 7, 8, 9], batch: [8, 16, 32]}' >larger
	[[ $(wc -l <larger) -eq $(($(wc -l <first) + 1)) ]]
	grep -qx '#SBATCH --array=0-53%4' larger
}

@test "a heterogeneous job: one step, a component of the header for each" {
	check het.torch het.yaml
}

@test "a container by pyxis and srank exec in it" {
	check pyxis.mmengine pyxis.yaml
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

@test "every launcher by every means with all else that a spec can say is clean" {
	local launcher means count=0
	while read -r launcher _; do
		[[ $launcher != launcher ]] || continue
		for means in require exec off; do
			# TF_CONFIG lists every rank, and plain shell does not know them.
			[[ $launcher/$means != tensorflow/off ]] || continue
			srank gen features.yaml -s "launcher=$launcher" -s plugin=$means >script 2>/dev/null
			clean_script script
			srank check --strict script
			((++count))
		done
	done < <(srank launchers | grep -E '^[a-z]+ +(worker|node) ')
	((count == 29))
}

@test "the folder from which it is called does not matter" {
	srank gen "$examples/yolox-2x8.yaml" >first
	grep -qxF "# Again:  srank gen $examples/yolox-2x8.yaml" first
	srank gen yolox-2x8.yaml >second
	grep -qxF '# Again:  srank gen yolox-2x8.yaml' second
	diff <(grep -v '^# Again: ' first) <(grep -v '^# Again: ' second)
	# Standard input has no name to be called by.
	srank gen - <"$examples/yolox-2x8.yaml" | grep -v '^# ' >third
	grep -v '^# ' first | cmp - third
}

# again ARGUMENT...: what the script says to make it again by makes it again, to the byte.
again() {
	srank gen "$@" >first 2>/dev/null
	sed -n 's/^# Again:  //p' first >call
	[[ $(wc -l <call) -eq 1 ]]
	# shellcheck disable=SC1091 # it was made just now
	source call >second 2>/dev/null
	cmp first second
}

@test "the call in the script makes it again" {
	mkdir "my job's" "$XDG_CONFIG_HOME/srank"
	cp yolox-2x8.yaml "my job's/a b.yaml"
	cp yolox-2x8.yaml ./-job.yaml
	cp yolox-2x8.yaml $'line\nend.yaml'
	again yolox-2x8.yaml
	again "my job's/a b.yaml" -s resources.nodes=4 -s 'run.args=[x, "y z"]'
	again -- -job.yaml
	again $'line\nend.yaml'
	again yolox-2x8.yaml -s $'env.A=line\nend\r\n\ttab \e[31m \xff $HOME `x` it\'s \\' -s $'setup=a\nb'
	again yolox-2x8.yaml --site "$here/specs/per-node.yaml"
	grep -q -- --site call
	# The user's own profile is found again, and is not named by who did not name it.
	echo 'gpu_dialect: gpus_per_node' >"$XDG_CONFIG_HOME/srank/site.yaml"
	again yolox-2x8.yaml
	grep -q '^#SBATCH --gpus-per-node=8$' first
	[[ $(<call) == 'srank gen yolox-2x8.yaml' ]]
}
