#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# srank explain --machine: the table of CPUs, GPUs and distances for nodes that are described.
# shellcheck disable=SC2154 # `examples` is set by the helpers

load helpers

setup() {
	common_setup
	# Two sockets of one NUMA node and four cores each; GPU 0 is at the second one.
	cat >crossed.yaml <<-'END'
		name: crossed
		packages: [{cpulist: 0-3}, {cpulist: 4-7}]
		numa: [{cpulist: 0-3}, {cpulist: 4-7}]
		vendor: nvidia
		gpus: [{numa: 1}, {numa: 0}]
	END
	cat >job.yaml <<-'END'
		name: job
		launcher: torch
		run: {script: a.py}
		resources: {nodes: 1, gpus_per_node: 2, cpus_per_gpu: 4}
	END
}

# What --machine adds, of the job with these options.
place() {
	srank explain job.yaml --machine crossed.yaml "$@" >out 2>notes
	sed -n '/^machine /,$p' out
}

@test "each task on its nearest GPU, in the plugin's own table" {
	place >first
	diff -u first - <<-'END'
		machine      crossed: 2 sockets, 2 NUMA nodes, 8 CPUs, 2 GPUs (crossed.yaml)
		CPUs         as Slurm deals them with --distribution=block:cyclic on idle nodes
		distances    all 2 ranks near their GPU
		all tasks    CUDA_VISIBLE_DEVICES=1,0
		LOCAL_RANK  CPUS  GPUS  DISTANCE
		0           0-3   1     local
		1           4-7   0     local
	END
	grep -qx '  CUDA_VISIBLE_DEVICES=1,0' out
	grep -qE '^ +0  node0 +0  1 +4$' out
	grep -qE '^ +1  node0 +1  0 +4$' out
	refute grep -q 'nothing is known' out
	[[ ! -s notes ]]
}

@test "a task that cannot be near its GPU, and what cures it" {
	place -s binding.cpus=mask_cpu:3,c >first
	diff -u first - <<-'END'
		machine      crossed: 2 sockets, 2 NUMA nodes, 8 CPUs, 2 GPUs (crossed.yaml)
		CPUs         as Slurm deals them with --cpu-bind=mask_cpu on idle nodes
		distances    1 of 2 ranks near their GPU, 1 on another socket
		all tasks    CUDA_VISIBLE_DEVICES=0,1
		LOCAL_RANK  CPUS  GPUS  DISTANCE
		0           0-1   0     other socket
		1           2-3   1     local
		warning: local rank 0 has a GPU on a socket where it has no CPU; share out the job's 8 here: srun --cpus-per-task=4
	END
}

@test "a job's CPUs are shared among the sockets of its GPUs, unless it has whole nodes" {
	place -s resources.cpus_per_gpu=2 -s srun.distribution=block:block | grep -qx '1           4-5   0     local'
	place -s resources.cpus_per_gpu=2 -s srun.distribution=block:block -s resources.exclusive=true >first
	grep -qx 'CPUs         as Slurm deals them with --distribution=block:block in a job that has whole nodes' first
	grep -qx '0           0-1   0     other socket' first
	grep -qx '1           2-3   1     local' first
	place -s resources.cpus_per_gpu=2 -s resources.exclusive=user | grep -qx '1           4-5   0     local'
}

@test "a job with some of the GPUs" {
	place -s resources.gpus_per_node=1 >first
	grep -qx 'GPUs         1 of 2; which ones Slurm gives is sure at launch only' first
	# One of the socket on which the CPUs are.
	grep -qx '0           0-3   1     local' first
}

@test "modes of binding" {
	place -s binding.gpus=none | grep -qx '0           0-3   0     other socket'
	place -s binding.gpus=mask | grep -qx '0           0-3   1     local'
	grep -qx '  CUDA_VISIBLE_DEVICES=1' out
	place -s binding.gpus=map:0,1 | grep -qx '0           0-3   0     other socket'
}

@test "what srun is told about CPUs counts" {
	local row
	while read -r args cpus; do
		place -s "srun.args=${args//+/ }" >first
		row=$(grep '^0 ' first)
		[[ $row =~ ^0\ +"$cpus"\  ]] || { echo "$args: $row, not $cpus"; return 1; }
		[[ ! -s notes ]]
	done <<-'END'
		--distribution=*:block 0-3
		--distribution+block:cyclic,NoPack 0-3
		-mcyclic:block 0-3
		--cpu-bind=none 0-7
		--cpu-bind=verbose,none 0-7
		--cpu-bind+v,map_cpu:5,0 5
		--cpu-bind=mask_cpu:0xf0,f 4-7
		--cpu-bind=rank 0
		--cpu-bind=verbose 0-3
		--threads-per-core=1 0-3
		--hint=nomultithread 0-3
		--mpi=none 0-3
	END
}

@test "what the spec, its variables and its directives say counts, the last of them most" {
	place -s srun.distribution=block:block -s resources.cpus_per_gpu=2 -s resources.exclusive=true | grep -q '^1  *2-3 '
	place -s binding.cpus=map_cpu:5,0 | grep -q '^0  *5 '
	place -s env.SLURM_CPU_BIND=map_cpu:5,0 | grep -q '^0  *5 '
	place -s env.SLURM_CPU_BIND=map_cpu:5,0 -s srun.args=--cpu-bind=map_cpu:6,1 | grep -q '^0  *6 '
	place -s batch.extra='[--distribution=block:block]' -s resources.cpus_per_gpu=2 -s resources.exclusive=true | grep -q '^1  *2-3 '
}

@test "ranks are numbered over the nodes as srun does" {
	srank explain job.yaml -s resources.nodes=3 -s srun.distribution=cyclic >out
	awk '/^ +[0-9]+  node/ {print $1, $2, $3}' out >rows
	diff rows - <<-'END'
		0 node0 0
		3 node0 1
		1 node1 0
		4 node1 1
		2 node2 0
		5 node2 1
	END
	# Planes of two over five tasks a node: 0 1, 2 3 | 4 5, 6 7 | 8, 9.
	srank explain job.yaml -s resources.nodes=2 -s resources.gpus_per_node=5 -s srun.distribution=plane=2 >out
	[[ $(awk '/^ +[0-9]+  node/ {printf "%s ", $1}' out) == '0 1 4 5 8 2 3 6 7 9 ' ]]
	# A launcher's workers go by its node rank.
	srank explain job.yaml -s resources.nodes=3 -s launcher=torchrun -s srun.distribution=cyclic >out
	[[ $(awk '/^ +[0-9]+  node/ {printf "%s ", $1}' out) == '0 1 2 3 4 5 ' ]]
	srank explain job.yaml -s srun.distribution=arbitrary 2>notes >/dev/null
	grep -q 'arbitrary: what that gives cannot be told before the job; block, where the ranks' notes
}

@test "what cannot be told is passed over with a note at its place" {
	place -s 'srun.args=-m block:fcyclic' >first
	[[ $(<notes) == '-s:1:11: note: fcyclic: what that gives cannot be told before the job; cyclic is shown'* ]]
	grep -q -- '--distribution=block:cyclic' first
	place -s 'srun.args=--cpu-bind=mask_ldom:0x1' >first
	grep -q 'mask_ldom:0x1: what that gives cannot be told before the job' notes
	run srank explain job.yaml --machine crossed.yaml -s 'srun.args=--cpu-bind=map_cpu:x'
	[[ $status -eq 1 && $output == *'--cpu-bind=map_cpu:x: not a list that srun takes'* ]]
}

@test "one task a node: its launcher's workers take the GPUs as Slurm lists them" {
	place -s launcher=torchrun >first
	grep -qx '0           0-7   0,1   local' first
	grep -qE '^ +1  node0 +1  1 ' out
	place -s launcher=torchrun -s binding.cpus=mask_cpu:3 >first
	grep -qx 'distances    1 of 2 ranks near their GPU, 1 on another socket' first
}

@test "a node that is too small" {
	run srank explain job.yaml --machine crossed.yaml -s resources.cpus_per_gpu=5
	[[ $status -eq 1 && ${#lines[@]} -eq 1 ]]
	[[ $output == *'the job wants 2 x 5 CPUs of a node, and crossed has 8 for jobs; lower cpus_per_task or cpus_per_gpu, or give another --machine' ]]
	run srank explain job.yaml --machine crossed.yaml -s resources.gpus_per_node=3
	[[ $status -eq 1 && ${#lines[@]} -eq 1 ]]
	[[ $output == *'the job wants 3 GPUs of a node, and crossed has 2; ask for fewer, or give another --machine' ]]
}

@test "faults of the machine and of the spec in one run" {
	echo 'gpus: [{numa: 2}]' >broken.yaml
	run srank explain job.yaml --machine broken.yaml -s resources.nodes=x
	[[ $status -eq 1 ]]
	[[ $output == *"-s:1:17: error: nodes: 'x'"* ]]
	[[ $output == *'broken.yaml:1:1: error: nothing says which CPUs the machine has'* ]]
	run srank explain job.yaml --machine nowhere.yaml
	[[ $status -eq 1 && $output == *'nowhere.yaml'*'No such file'* ]]
	run srank explain job.yaml --machine /proc
	[[ $status -eq 1 && $output == *'a recorded machine has the folders proc and sys'* ]]
}

@test "a machine in JSON, and one from standard input" {
	echo '{"cpus": 8, "gpus": [{"index": 0}, {"index": 7}], "notes": "index 1 was sold"}' >m.json
	srank explain job.yaml --machine m.json >out
	grep -qx 'distances    one NUMA node, each GPU as near as any' out
	grep -qE '^ +1  node0 +1  7 ' out
	srank explain job.yaml --machine - <crossed.yaml | grep -q '^machine      crossed: '
}

@test "AMD's variable for AMD's GPUs" {
	sed 's/nvidia/amd/' crossed.yaml >amd.yaml
	srank explain job.yaml --machine amd.yaml >out
	grep -qx '  ROCR_VISIBLE_DEVICES=1,0' out
	refute grep -q CUDA_ out
	# A variable of the user's that is not AMD's, Slurm leaves as it is.
	srank explain job.yaml --machine amd.yaml -s env.CUDA_VISIBLE_DEVICES=0 >out
	grep -qx '  ROCR_VISIBLE_DEVICES=1,0' out
	refute grep -q CUDA_ out
}

@test "a recorded tree" {
	local node bus
	mkdir -p tree/sys/devices/system/{cpu,node/node{0,1}}
	echo 0-7 >tree/sys/devices/system/cpu/online
	echo 0-3 >tree/sys/devices/system/node/node0/cpulist
	echo 4-7 >tree/sys/devices/system/node/node1/cpulist
	for node in 0 1; do
		bus=0000:0$node:00.0
		mkdir -p "tree/proc/driver/nvidia/gpus/$bus" "tree/sys/bus/pci/devices/$bus"
		echo 'Model: A100' >"tree/proc/driver/nvidia/gpus/$bus/information"
		cat "tree/sys/devices/system/node/node$((1 - node))/cpulist" >"tree/sys/bus/pci/devices/$bus/local_cpulist"
	done
	srank explain job.yaml --machine tree/ >out 2>notes
	grep -qx 'machine      tree: 2 sockets, 2 NUMA nodes, 8 CPUs, 2 GPUs (tree/)' out
	grep -qx '0           0-3   1     local' out
	grep -q 'each NUMA node counts as a socket' notes
}

@test "the example is the machine it says" {
	srank explain "$examples/yolox-2x8.yaml" --machine "$examples/machines/dgx-a100.yaml" >out
	grep -q '^machine      DGX A100: 2 sockets, 8 NUMA nodes, 256 CPUs, 8 GPUs' out
}
