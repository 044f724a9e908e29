#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# srank site asks a real scontrol and a real srun, and what it says holds: a job of exactly that size
# is taken by sbatch, and a larger one is not.

# The helpers set top.
# shellcheck disable=SC2154
load helpers

setup_file() {
	cluster_need site --gpus 4 --gpu-type a100 --plugstack "optional $PLUGIN" \
		--partition 'gpu:MaxTime=60 DefaultTime=10' --partition 'small:MaxNodes=1 MaxCPUsPerNode=24' \
		--conf 'NodeName=node[1-2] CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=515000 MemSpecLimit=5000 CoreSpecCount=2 Gres=gpu:a100:4 Feature=ib'
}

teardown_file() {
	cluster down --name site
}

@test "the profile of a live cluster" {
	as_researcher srank site >"$BATS_TEST_TMPDIR/site.yaml"
	diff - "$BATS_TEST_TMPDIR/site.yaml" <<-'END'
		# What scontrol and srun say of this cluster, by `srank site`; srank-spec(5) explains the keys.
		version: 1
		name: site
		slurm: "22.05"
		select: cons_tres
		plugin: yes
		gpu_dialect: gres
		partitions:
		  # 2 nodes: 64 CPUs (4 reserved), 4 GPUs of type a100, 510000M
		  gpu:
		    default: yes
		    nodes: 2
		    cpus_per_node: 64
		    reserved_cpus: 4
		    threads_per_core: 2
		    sockets: 2
		    gpus_per_node: 4
		    gpu_types: [a100]
		    mem: 510000M
		    time: 01:00:00
		    default_time: 00:10:00
		    features: [ib]
		  # 2 nodes: 64 CPUs (4 reserved), 4 GPUs of type a100, 510000M
		  small:
		    nodes: 1
		    cpus_per_node: 64
		    max_cpus_per_node: 24
		    reserved_cpus: 4
		    threads_per_core: 2
		    sockets: 2
		    gpus_per_node: 4
		    gpu_types: [a100]
		    mem: 510000M
		    features: [ib]
	END
}

# fits PARTITION NODES CPUS GPUS MEMORY: sbatch takes a job of that size.
fits() {
	as_researcher sbatch --test-only --partition="$1" --nodes="$2" --ntasks-per-node=1 \
		--cpus-per-task="$3" --gres="gpu:a100:$4" --mem="$5" <<<$'#!/bin/sh\n:'
}

@test "its limits are those of sbatch" {
	fits gpu 2 60 4 510000M
	fits small 1 24 4 510000M
	run fits gpu 2 62 4 1000M
	[[ $status -ne 0 ]]
	run fits gpu 2 60 5 1000M
	[[ $status -ne 0 ]]
	run fits gpu 2 60 4 510001M
	[[ $status -ne 0 ]]
}

@test "a site without the plugin" {
	cluster plugstack
	as_researcher srank site | grep -qx 'plugin: no'
	cluster plugstack "optional $PLUGIN"
	as_researcher srank site | grep -qx 'plugin: yes'
}
