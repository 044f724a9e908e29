#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# srank site on what scontrol printed elsewhere: site/RELEASE was recorded on private clusters of
# these releases of Slurm, the others were written by hand. The real scontrol is in tests/cluster.
# shellcheck disable=SC2154 # `here` and `examples` are set by the helpers

load helpers

setup() {
	common_setup
	export PATH=$here/stubs:$PATH
}

# profile NAME: what srank site says of the recorded cluster is site/NAME/profile.yaml, twice, and
# srank itself takes it.
profile() {
	RECORDED=$here/site/$1 srank site >first
	golden first "site/$1/profile.yaml"
	RECORDED=$here/site/$1 srank site | cmp first -
	printf '%s\n' 'run: {command: prog}' 'resources: {nodes: 1, ntasks: 1}' >job.yaml
	srank explain job.yaml --site first >/dev/null
}

@test "Slurm 22.05, 24.11 and 26.05: reserved CPUs and memory, a hidden partition, nodes without GPUs" {
	profile 22.05
	profile 24.11
	profile 26.05
}

@test "odd names, types on sockets, two types in a node, MIG, no RealMemory, a partition without nodes" {
	profile odd
}

@test "select/linear" {
	profile linear
}

@test "no node says its memory: no script asks for any" {
	cp -r "$here/site/linear" bare
	sed -i 's/RealMemory=64000/RealMemory=1/' bare/node
	RECORDED=$PWD/bare srank site >site.yaml
	grep -qx 'mem_dialect: none' site.yaml
	refute grep -q 'mem:' site.yaml
}

@test "a job over what was found is refused" {
	RECORDED=$here/site/26.05 srank site -o site.yaml
	cp "$examples/yolox-2x8.yaml" job.yaml
	run srank gen job.yaml --site site.yaml -s batch.partition=debug
	[[ $status -eq 1 ]]
	[[ $output == *'nodes 2'*debug* ]]
	srank gen job.yaml --site site.yaml -s batch.partition=gpu >/dev/null
	run srank gen job.yaml --site site.yaml -s batch.partition=gpu -s resources.gpus_per_node=9
	[[ $status -eq 1 ]]
	[[ $output == *'gpus_per_node 9'* ]]
}

@test "where only some nodes have GPUs, a job without them may have more" {
	RECORDED=$here/site/odd srank site -o site.yaml
	cat >job.yaml <<-'END'
		launcher: torch
		resources: {nodes: 1, gpus_per_node: 4, cpus_per_task: 13}
		batch: {partition: mixed}
		run: {command: prog}
	END
	run srank gen job.yaml --site site.yaml
	[[ $status -eq 1 && $output == *'cpus_per_node 52'*'mixed'* ]]
	srank gen job.yaml --site site.yaml -s resources.gpus_per_node=null -s resources.ntasks=4 -s resources.mem=450000 >/dev/null
	run srank gen job.yaml --site site.yaml -s resources.mem=400000
	[[ $status -eq 1 && $output == *'mem 400000'* ]]
}

@test "without the plugin" {
	RECORDED=$here/site/24.11 SRUN_PLUGIN=0 srank site | diff - "$here/site/24.11/profile.yaml" >changes || true
	[[ $(grep '^<' changes) == '< plugin: no' ]]
}

@test "-o keeps a file that differs" {
	export RECORDED=$here/site/24.11
	srank site -o site.yaml
	srank site -o site.yaml
	RECORDED=$here/site/26.05 run srank site -o site.yaml
	[[ $status -eq 1 ]]
	[[ $output == 'srank site: site.yaml exists and differs, so it was kept; --force replaces it' ]]
	RECORDED=$here/site/26.05 srank site -o site.yaml --force
	grep -q '"26.05"' site.yaml
}

@test "no cluster, no controller, no sense" {
	PATH=$BATS_TEST_TMPDIR/empty run "$SRANK_BIN" site
	[[ $status -eq 1 ]]
	[[ $output == 'srank site: cannot start scontrol: No such file or directory; run this on a login host of the cluster' ]]

	RECORDED=$PWD/none run srank site
	[[ $status -eq 1 ]]
	[[ ${lines[0]} == *'Unable to contact slurm controller'* ]]
	[[ ${lines[1]} == 'srank site: scontrol ended with exit code 1' ]]

	mkdir empty
	touch empty/config empty/partition empty/node
	RECORDED=$PWD/empty run srank site
	[[ $status -eq 1 ]]
	[[ $output == *'says no SLURM_VERSION'* ]]
	echo 'SLURM_VERSION           = 24.11.5' >empty/config
	echo 'No partitions in the system' >empty/partition
	RECORDED=$PWD/empty run srank site
	[[ $status -eq 1 ]]
	[[ $output == *'names no partition'* ]]
}

@test "wrong calls" {
	local call
	for call in 'x' '--force' '--ouput=x' '-o'; do
		# shellcheck disable=SC2086 # several words
		run srank site $call
		[[ $status -eq 2 ]]
	done
	srank site --help | grep -q scontrol
}
