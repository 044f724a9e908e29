#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# srank explain: the numbers with their reasons, the variables, the ranks.
# shellcheck disable=SC2154 # `here` and `examples` are set by the helpers

load helpers

setup() {
	common_setup
	cp "$examples"/*.yaml .
}

check() {
	local name=$1
	shift
	srank explain "$@" >first 2>notes
	golden first "scripts/$name.explain"
	[[ ! -s notes ]]
}

@test "2x8 torchrun" {
	check yolox-2x8.torchrun yolox-2x8.yaml
}

@test "2x8 torch" {
	check yolox-2x8.torch yolox-2x8.yaml -s launcher=torch
}

@test "each rank once, in block order" {
	srank explain yolox-2x8.yaml -s launcher=mmengine |
		awk 'table && NF == 5 {print $1, $2, $3, $4, $5} $1 == "rank" {table = 1} !NF {if (seen) table = 0; seen = table}' >rows
	local rank
	for rank in {0..15}; do
		echo "$rank node$((rank / 8)) $((rank % 8)) $((rank % 8)) 6"
	done | cmp - rows
}

@test "a port that is given is shown, and no rule for it" {
	srank explain yolox-2x8.yaml -s rendezvous.port=23456 >out
	grep -qx '  MASTER_PORT=23456' out
	refute grep -q PORT: out
}

@test "modes of binding" {
	srank explain yolox-1x8.yaml -s launcher=torch -s binding.gpus=mask >out
	grep -qx '  CUDA_VISIBLE_DEVICES=0' out
	grep -qE '^ +3  node0 +3  3 ' out
	srank explain yolox-1x8.yaml -s launcher=torch -s binding.gpus=map:7-0 >out
	grep -qE '^ +3  node0 +3  4 ' out
	srank explain yolox-1x8.yaml -s launcher=torch -s binding.gpus=none >out
	refute grep -q CUDA_VISIBLE_DEVICES out
}

@test "many ranks: the first and the last node" {
	srank explain yolox-2x8.yaml -s resources.nodes=100 >out
	grep -q '^    \.\.\. and 98 nodes alike$' out
	grep -qE '^ +799  node99 +7  7 ' out
	[[ $(grep -cE '^ +[0-9]+  node' out) -eq 16 ]]
}

@test "ranks without end: the first and the last of a node" {
	cat >many.yaml <<-'END'
		launcher: torch
		run: {script: a.py}
		resources: {nodes: 1, ntasks_per_node: 3000000}
	END
	srank explain many.yaml >out
	grep -q '^    \.\.\. and 2999968 ranks alike$' out
	grep -qE '^ +30  node0 +30  -' out
	grep -qE '^ +2999999  node0 +2999999  -' out
	[[ $(grep -cE '^ +[0-9]+  node' out) -eq 32 ]]
	# In the node shape, on two nodes.
	srank explain many.yaml -s launcher=torchrun -s 'resources={nodes: 2, gpus_per_node: 8, ntasks_per_node: 1, tasks_per_gpu: 100}' >out
	[[ $(grep -cE '^ +[0-9]+  node' out) -eq 64 ]]
	[[ $(grep -c '^    \.\.\. and 768 ranks alike$' out) -eq 2 ]]
	grep -qE '^ +1599  node1 +799  7 ' out
}

@test "variables of the spec are the user's own" {
	srank explain yolox-2x8.yaml -s env.MASTER_PORT=65535 -s env.MASTER_ADDR=h65535 >out
	grep -qx '  MASTER_PORT=65535' out
	grep -qx '  PET_MASTER_PORT=65535' out
	grep -qx '  MASTER_ADDR=h65535' out
	refute grep -q PORT: out
	srank explain yolox-2x8.yaml -s env.OMP_NUM_THREADS=1 -s env.CUDA_DEVICE_ORDER=FASTEST_FIRST >out
	refute grep -q OMP_NUM_THREADS= out
	refute grep -q CUDA_DEVICE_ORDER= out
	# An empty one counts as unset, and Slurm's own are Slurm's.
	srank explain yolox-2x8.yaml -s env.MASTER_PORT= -s env.SLURM_PROCID=7 -s env.SLURM_RESTART_COUNT=x >out
	grep -qx '  MASTER_PORT=PORT' out
	grep -qx '  NODE_RANK=0' out
	# The spec's own key gives way to it, as at launch.
	srank explain yolox-2x8.yaml -s env.MASTER_PORT=23456 -s rendezvous.port=23457 >out
	grep -qx '  MASTER_PORT=23456' out
	run srank explain yolox-2x8.yaml -s env.MASTER_PORT=abc
	[[ $status -eq 1 && $output == *'MASTER_PORT=abc is no port'* ]]
}

@test "the port that is not known yet, wherever it is a part" {
	srank explain yolox-2x8.yaml -s launcher=jax -s mmdet=null -s run.script=a.py >out
	grep -qx '  MASTER_PORT=PORT' out
	grep -qx '  JAX_COORDINATOR_ADDRESS=node0:PORT' out
	grep -qx '  JAX_COORDINATOR_PORT=PORT' out
	srank explain yolox-2x8.yaml -s launcher=jax -s mmdet=null -s run.script=a.py \
		-s env.MASTER_ADDR=fe80::1:20000 >out
	grep -qxF '  JAX_COORDINATOR_ADDRESS=[fe80::1:20000]:PORT' out
	# A worker of TensorFlow listens on a port of its own.
	srank explain yolox-2x8.yaml -s launcher=tensorflow -s mmdet=null -s run.script=a.py \
		-s resources.gpus_per_node=2 >out
	grep -qxF '  TF_CONFIG={"cluster":{"worker":["node0:PORT","node0:PORT+1","node1:PORT","node1:PORT+1"]},"task":{"type":"worker","index":0}}' out
}

@test "a site without the plugin: what Slurm gives" {
	echo 'plugin: no' >site.yaml
	srank explain yolox-2x8.yaml --site site.yaml -s launcher=mpi -s mmdet=null -s run.script=a.py >out
	grep -q '^This site has no srank plugin' out
	refute grep -q SRANK= out
	grep -qE '^ +11  node1 +3  3 ' out
}

@test "a fault in the spec: exit 1, nothing on standard output" {
	run srank explain yolox-2x8.yaml -s resources.gpus=3
	[[ $status -eq 1 ]]
	[[ $(srank explain yolox-2x8.yaml -s resources.gpus=3 2>/dev/null) == "" ]]
}
