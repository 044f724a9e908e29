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

@test "a fault in the spec: exit 1, nothing on standard output" {
	run srank explain yolox-2x8.yaml -s resources.gpus=3
	[[ $status -eq 1 ]]
	[[ $(srank explain yolox-2x8.yaml -s resources.gpus=3 2>/dev/null) == "" ]]
}
