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
	grep -q '^The srank plugin is not at work here: the tasks get what Slurm gives' out
	refute grep -q SRANK= out
	grep -qE '^ +11  node1 +3  3 ' out
}

@test "srank exec in the place of the plugin, and a preflight" {
	srank explain yolox-2x8.yaml -s launcher=torch -s plugin=exec -s preflight=yes >out
	grep -q '^srank exec with SRANK=torch gives the task of rank 0,' out
	grep -q '^srank exec goes on from there, when srun has --mpi=pmix,' out
	grep -qE '^  preflight +yes  .*, and whether the ranks can meet$' out
	srank explain yolox-2x8.yaml -s launcher=torch >out
	grep -q '^SRANK=torch gives' out
	refute grep -qE 'srank exec|preflight' out
}

@test "shell code in the place of the plugin" {
	srank explain yolox-2x8.yaml -s plugin=off >out
	grep -q '^The srank plugin is not at work here: shell code' out
	refute grep -q SRANK= out
	grep -qE '^ +11  node1 +3  3 ' out
}

@test "what was chosen, converted and made of parts, each with its reason" {
	cat >site.yaml <<-'YAML'
		mem_dialect: mem_per_cpu
		partitions:
		  small: {default: yes, nodes: 1, cpus_per_node: 64, gpus_per_node: 8}
		  large: {nodes: 9, cpus_per_node: 96, gpus_per_node: 8}
	YAML
	srank explain yolox-2x8.yaml --site site.yaml -s batch.partition=null -s retry=2 \
		-s batch.array=0-3 -s resources.cpus_per_gpu=null -s resources.cpus_per_task=auto >out 2>notes
	grep -qx '  cpus_per_task           96  partition large: 96 CPUs / 1 task' out
	# 64 GiB by 96 CPUs are 682.67 MiB.
	grep -qx '  mem_per_cpu           683M  mem 64G x 1 a node / 96 CPUs' out
	grep -qx '  partition            large  chosen: the job fits into it, and none is given' out
	grep -qx '  array                  0-3  given' out
	grep -qx '  signal          B:USR1@120  the job is started again (retry)' out
	grep -qx '  requeue            requeue  the job is started again (retry)' out
	grep -q 'note: the job does not fit into the default partition, small; large is taken' notes
}

@test "the samples of a step beside those that the learning rate is for" {
	srank explain yolox-2x8.yaml -s mmdet.auto_scale_lr=null -s resources.nodes=1 >out 2>notes
	grep -qx '  samples 64 = world_size 8 x batch_size 8, 1 times base_batch 64: the learning rate fits' out
	[[ ! -s notes ]]
	srank explain yolox-2x8.yaml -s mmdet.auto_scale_lr=null -s resources.gpus_per_node=4 \
		-s mmdet.batch_size=2 -s mmdet.num_workers=5 >out 2>notes
	grep -qx '  samples 16 = world_size 8 x batch_size 2, 0.25 times base_batch 64: the learning rate is not scaled' out
	grep -qx '  num_workers              5  loaders of a rank, which has 6 CPUs' out
	grep -qF 'it should be multiplied by 1/4' notes
}

@test "components of a heterogeneous job: numbers and ranks of each" {
	cat >het.yaml <<-'YAML'
		run: {script: a.py}
		het: [{resources: {nodes: 1, gpus_per_node: 2}}, {resources: {nodes: 2, gpus_per_node: 1}}]
	YAML
	srank explain het.yaml >out
	[[ $(head -n 1 out) == '1 node x 2 tasks + 2 nodes x 1 task = 4 ranks' ]]
	(($(grep -c '^component [01]: numbers$' out) == 2))
	grep -qx '          1  1 to 2           2 to 3' out
	run srank explain het.yaml --svg x.svg
	[[ $status -eq 1 && $output == *'neither drawn nor put on a machine'* && ! -e x.svg ]]
}

@test "a sweep of scripts: which point it is" {
	cat >sweep.yaml <<-'YAML'
		run: {script: a.py, args: ["--lr={lr}"]}
		resources: {nodes: 1}
		batch: {time: 14-00:00:00}
		sweep: {matrix: {lr: [1, 2, 3, 4]}, as: files}
	YAML
	srank explain sweep.yaml >out
	grep -qx 'point 0 of 0 to 3; --point N explains another' out
	srank explain sweep.yaml --point 2 >out
	grep -qx 'point 2 of 0 to 3' out
	# A value that is longer than most leaves the reasons in their column.
	grep -qE '^  nodes                    1  given' out
	grep -qE '^  time           14-00:00:00  given' out
}

@test "a fault in the spec: exit 1, nothing on standard output" {
	run srank explain yolox-2x8.yaml -s resources.gpus=3
	[[ $status -eq 1 ]]
	[[ $(srank explain yolox-2x8.yaml -s resources.gpus=3 2>/dev/null) == "" ]]
}
