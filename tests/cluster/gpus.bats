#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Each task's GPU by the CPUs that Slurm has really given it: the plugin in steps on recorded
# machines, under all of srun's options that say which CPUs and which GPUs a task gets.
#
# The machine on which the tests run has two CPUs or so. What its kernel does with a mask of CPUs that
# it has not is taken over by manycpus.c in slurmd and slurmstepd, and hwloc makes their topology up;
# that Slurm gives these masks, and when and by which process, is its own doing.

# Options are words; each test is a process of its own; bats and steps.bash set these variables.
# shellcheck disable=SC2030,SC2031,SC2086,SC2154
bats_require_minimum_version 1.5.0

# shellcheck source-path=SCRIPTDIR source=steps.bash
source "${BATS_TEST_DIRNAME:?}/steps.bash"

# The site's line in plugstack.conf: GPUs and CPUs are described below /mnt/machine.
readonly SITE="optional $PLUGIN sysroot=/mnt/machine"

# plant MACHINE FOLDER: into FOLDER/machine what Linux and the makers' drivers show on a recorded
# machine (tests/unit/launch/machines, of which machine.h there says how they are written). Number N of
# its GPUs is /dev/nvidiaN of the hosts.
plant()
{
	local tree=$2/machine make='' word a b c d device node=0
	while read -r word a b c d; do
		case $word in
		vendor) make=$a ;;
		board) put sys/class/dmi/id/board_name <<<"$a $b $c $d" ;;
		package)
			put_each "$a" topology/package_cpus_list
			[[ $make != amd ]] || put "sys/class/kfd/kfd/topology/nodes/$((node++))/gpu_id" <<<0
			;;
		gpu)
			put "sys/bus/pci/devices/$b/local_cpulist" <<<"$c"
			[[ -z $d ]] || put_each "$d" cache/index3/shared_cpu_list
			case $make in
			nvidia)
				put "proc/driver/nvidia/gpus/$b/information" <<-END
					Model: NVIDIA A100
					GPU UUID: GPU-0000000$a-1111-2222-3333-444455556666
					Device Minor: $a
				END
				;;
			amd)
				IFS=:. read -r _ c d device <<<"$b"
				put "sys/class/kfd/kfd/topology/nodes/$node/gpu_id" <<<$((1000 + node))
				put "sys/class/kfd/kfd/topology/nodes/$((node++))/properties" <<-END
					vendor_id 4098
					location_id $((0x$c << 8 | 0x$d << 3 | 0x$device))
					domain $((0x${b%%:*}))
					drm_render_minor $((128 + a))
				END
				;;
			esac
			;;
		esac
	done <"$top/tests/unit/launch/machines/$1.txt"
	put sys/devices/system/cpu/online <<<0-255
	mkdir "$tree/sys/bus/pci/drivers"
	ln -s ../devices "$tree/sys/bus/pci/drivers/nvidia"
}

# put FILE: standard input into a file of the tree.
put()
{
	mkdir -p "$tree/${1%/*}"
	cat >"$tree/$1"
}

# put_each LIST FILE: the list of CPUs into a file of each of them.
put_each()
{
	local range cpu folders=()
	for range in ${1//,/ }; do
		for ((cpu = ${range%-*}; cpu <= ${range#*-}; cpu++)); do
			folders+=("$tree/sys/devices/system/cpu/cpu$cpu/${2%/*}")
		done
	done
	mkdir -p "${folders[@]}"
	tee "${folders[@]/%//${2##*/}}" <<<"$1" >/dev/null
}

# boot_machine CLUSTER MACHINE SOCKETS NUMA-NODES [OPTION]...: hosts like the machine, with as many
# NUMA nodes of 16 cores in each socket, and as second threads of all of them the higher CPUs.
boot_machine()
{
	local cores=$(($3 * $4 * 16)) cpus=() core mount=$BATS_FILE_TMPDIR/$2
	if [[ ! -e $mount ]]; then
		plant "$2" "$mount"
		# In the same build folder as the plugin.
		cp "${SRANK_PLUGIN%/spank/*}/tests/cluster/manycpus.so" "$mount"
	fi
	for ((core = 0; core < cores; core++)); do
		cpus+=("$core" $((core + cores)))
	done
	SRANK_CLUSTER=$1
	cluster_need "$1" --gpus 8 --cpus $((2 * cores)) --sockets "$3" --threads 2 \
		--conf SelectTypeParameters=CR_Core --plugstack "$SITE" --mount "$mount:/mnt" \
		--env LD_PRELOAD=/mnt/manycpus.so --env SRANK_TEST_CPUS=$((2 * cores)) \
		--env "HWLOC_SYNTHETIC=pack:$3 numa:$4 core:16 pu:2(indexes=$(IFS=, && echo "${cpus[*]}"))" \
		"${@:5}"
	cluster install "$here/gpu-show" "$here/step-show"
}

# The DGX A100: 2 sockets of 4 NUMA nodes of 16 cores, CPUs N and N+128 in one core. Its GPUs 0 and 1
# are near NUMA node 3 (CPUs 48-63), 2 and 3 near node 1 (16-31), 4 and 5 near node 7 (112-127), 6 and
# 7 near node 5 (80-95).
boot_dgx()
{
	boot_machine "$1" dgx_a100 2 4 --nodes 2 --gpu-type a100 "${@:2}"
}

setup_file()
{
	cluster_possible
	boot_dgx gpus --task-plugin task/affinity
	[[ ! -e /sys/fs/cgroup/devices/cgroup.procs ]] ||
		boot_dgx gpus-caged --task-plugin task/affinity,task/cgroup --constrain-devices
}

teardown_file()
{
	local name
	for name in '' -caged -cpus -lumi -makes -parts -uuids; do
		cluster down --name "gpus$name"
	done
}

setup()
{
	export SRANK_CLUSTER=gpus
	if [[ $BATS_TEST_DESCRIPTION == caged* ]]; then
		[[ -e /sys/fs/cgroup/devices/cgroup.procs ]] ||
			skip 'SKIPPED, NOT PASSED: this machine has no cgroup v1 device controller'
		SRANK_CLUSTER=gpus-caged
	fi
	fresh
	cluster plugstack "$SITE"
}

teardown()
{
	need_nodes
}

# A step on the whole node, with all of its GPUs; its lines in $output, by rank.
step()
{
	good srun --exclusive -N1 --gres=gpu:8 "$@"
	output=$(sort -n <<<"$output")
}

# own: of the lines of gpu-show in $output, the GPU of each task that its program takes, the one at
# the index LOCAL_RANK modulo what it sees; fails unless all tasks see the same.
own()
{
	local rank local_rank seen list own=() common=''
	while read -r rank local_rank seen _; do
		: "${common:=$seen}"
		[[ $seen == "$common" ]] || {
			echo "task $rank sees $seen, and another $common" >&2
			return 1
		}
		IFS=, read -r -a list <<<"$seen"
		own+=("${list[local_rank % ${#list[@]}]}")
	done <<<"$output"
	(IFS=, && echo "${own[*]}")
}

# seen: what each task sees, blanks between them.
seen()
{
	cut -d ' ' -f 3 <<<"$output" | paste -sd ' '
}

# is WHAT WANT: of the functions above.
is()
{
	local got
	got=$("$1")
	[[ $got == "$2" ]] || {
		printf '%s\n' "$1: $got, and not $2" "$output" "$stderr" >&2
		return 1
	}
}

# The table of verbose, without the lines that are not about tasks of the node.
tasks()
{
	sed -n 's/^srank: //; /^all tasks/,$p; /^LOCAL_RANK/,$p' <<<"$stderr" | awk '!seen[$0]++'
}

@test "whole NUMA nodes in blocks get the mapping that is published for the machine" {
	step -n8 -c32 -m block:block --srank=torch,verbose gpu-show CUDA_VISIBLE_DEVICES OMP_NUM_THREADS
	diff - <(echo "$output") <<-'END'
		0 0 0,2,3,1,4,6,7,5 0,2,3,1,4,6,7,5 32
		1 1 0,2,3,1,4,6,7,5 0,2,3,1,4,6,7,5 32
		2 2 0,2,3,1,4,6,7,5 0,2,3,1,4,6,7,5 32
		3 3 0,2,3,1,4,6,7,5 0,2,3,1,4,6,7,5 32
		4 4 0,2,3,1,4,6,7,5 0,2,3,1,4,6,7,5 32
		5 5 0,2,3,1,4,6,7,5 0,2,3,1,4,6,7,5 32
		6 6 0,2,3,1,4,6,7,5 0,2,3,1,4,6,7,5 32
		7 7 0,2,3,1,4,6,7,5 0,2,3,1,4,6,7,5 32
	END
	diff - <(tasks) <<-'END'
		all tasks    CUDA_VISIBLE_DEVICES=0,2,3,1,4,6,7,5
		LOCAL_RANK  CPUS             GPUS  DISTANCE
		0           0-15,128-143     0     same socket
		1           16-31,144-159    2     local
		2           32-47,160-175    3     same socket
		3           48-63,176-191    1     local
		4           64-79,192-207    4     same socket
		5           80-95,208-223    6     local
		6           96-111,224-239   7     same socket
		7           112-127,240-255  5     local
	END
}

# By hand, from the masks that the options mean and the sets of the GPUs.
@test "the order follows the CPUs, whichever options they come from" {
	local want options
	while IFS='|' read -r want options; do
		step --srank=torch $options gpu-show
		is own "${want// /}" || {
			echo "with $options" >&2
			return 1
		}
	done <<-'END'
		0,4,2,6,3,7,1,5 |-n8 -c32 -m block:cyclic
		0,2,3,1,4,6,7,5 |-n8 -c32 -m block:block --cpu-bind=cores
		0,4,2,6,3,7,1,5 |-n8 -c32 -m block:cyclic --cpu-bind=threads
		0,4,1,5,2,6,3,7 |-n8 -c32 -m block:cyclic --cpu-bind=sockets
		0,1,2,3,4,5,6,7 |-n8 -c32 --cpu-bind=none
		0,1,2,3,4,5,6,7 |-n8 -c32 --cpu-bind=map_cpu:48,49,16,17,112,113,80,81
		6,7,4,5,2,3,0,1 |-n8 -c32 --cpu-bind=map_cpu:80,81,112,113,16,17,48,49
		6,0 |-n2 -c128 --cpu-bind=mask_cpu:0xffff00000000000000000000,0xffff000000000000
		0,2,3,1,4,6,7,5 |-n8 -c16 -m block:block --hint=nomultithread
		0,2,3,1,4,6,7,5 |-n8 -c16 -m block:block --threads-per-core=1
		2,0,6,4 |-n4 -c64 -m block:block
		0,4 |-n2 -c128 -m block:block
		4,0 |-n2 -c128 --cpu-bind=mask_cpu:0xffffffffffffffff0000000000000000,0xffffffffffffffff
		0 |-n1 -c256
		2 |-n1 -c256 --cpu-bind=map_cpu:17
	END
}

# Task R has the cores 8R to 8R+7: tasks 2 and 3, 10 and 11 those of NUMA nodes 1 and 5, which have
# GPUs, as 6 and 7, 14 and 15 have those of 3 and 7. R and R+8 share what is at the index of R.
@test "more tasks than GPUs share them evenly" {
	step -n16 -c16 -m block:block --srank=torch gpu-show JAX_LOCAL_DEVICE_IDS
	is own 0,1,2,3,6,7,4,5,0,1,2,3,6,7,4,5
	[[ $(cut -d ' ' -f 4 <<<"$output" | paste -sd ' ') == '0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7' ]]
	step -n16 -c16 -m block:block --srank=torch,gpus=mask gpu-show
	is seen '0 0 2 2 3 3 1 1 4 4 6 6 7 7 5 5'
}

@test "fewer tasks than GPUs get several each" {
	step -n2 -c128 -m block:block --srank=torch,gpus=mask gpu-show JAX_LOCAL_DEVICE_IDS
	diff - <(echo "$output") <<-'END'
		0 0 0,1,2,3 0,1,2,3
		1 1 4,5,6,7 0,1,2,3
	END
	step -n4 -c64 -m block:block --srank=torch,gpus=first gpu-show JAX_LOCAL_DEVICE_IDS
	diff - <(echo "$output") <<-'END'
		0 0 2,3,0,1,4,5,6,7 0,1
		1 1 0,1,2,3,4,5,6,7 0,1
		2 2 6,7,0,1,2,3,4,5 0,1
		3 3 4,5,0,1,2,3,6,7 0,1
	END
	# Three tasks on eight: two each.
	step -n3 -c80 --cpu-bind=map_cpu:80,48,112 --srank=torch,gpus=mask gpu-show
	is seen '6,7 0,1 4,5'
}

@test "local=0 puts the task's own GPU at LOCAL_RANK" {
	step -n4 -c64 -m block:block --srank=mmengine,gpus=mask,local=0 gpu-show JAX_LOCAL_DEVICE_IDS \
		OMPI_COMM_WORLD_LOCAL_RANK SLURM_LOCALID
	diff - <(echo "$output") <<-'END'
		0 0 2,3 0,1 0 0
		1 0 0,1 0,1 0 1
		2 0 6,7 0,1 0 2
		3 0 4,5 0,1 0 3
	END
}

@test "a map is as written" {
	local want map
	while read -r want map; do
		step -n4 --srank="torch,gpus=map:$map" gpu-show
		is seen "${want//_/ }" || {
			echo "with $map" >&2
			return 1
		}
	done <<-'END'
		7_6_5_4 7,6,5,4
		7_6_5_4 7-4
		0_0_3_3 0*2,3*2
		1_2_1_2 1,2
		0,1_2,3_0,1_2,3 0+1,2+3
		1_2_3_1 1-3
	END
}

@test "a map that names no GPU of the step ends it, with those that there are" {
	local deadline=$((SECONDS + 20))
	bad srun -N1 -n4 --exclusive --gres=gpu:4 --srank=torch,gpus=map:0,9 gpu-show -- \
		'gpus=map:0,9: the step has no GPU "9" on this node; it has 0,1,2,3'
	[[ $(grep -c 'no GPU' <<<"$stderr") == 1 ]]
	bad srun -N1 -n4 --exclusive --gres=gpu:4 --srank=torch,gpus=map:0+0 gpu-show -- \
		'cannot read "0+0"; write a GPU for each task (0,1)'
	((SECONDS < deadline))
}

@test "a launcher's workers have Slurm's order, and share the task's CPUs" {
	step -n1 -c256 --srank=torchrun,verbose gpu-show OMP_NUM_THREADS PET_NPROC_PER_NODE
	[[ $output == '0 - 0,1,2,3,4,5,6,7 32 8' ]]
	diff - <(tasks) <<-'END'
		all tasks    CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
		LOCAL_RANK  CPUS   GPUS             DISTANCE
		0           0-255  0,1,2,3,4,5,6,7  local
	END
}

@test "CUDA_DEVICE_ORDER is the user's where it is set" {
	run --separate-stderr user env CUDA_DEVICE_ORDER=FASTEST_FIRST srun --exclusive -n2 --gres=gpu:2 \
		--srank=torch step-show CUDA_DEVICE_ORDER
	[[ $(cut -d ' ' -f 12 <<<"$output" | sort -u) == FASTEST_FIRST ]]
	good srun --exclusive -n2 --gres=gpu:2 --srank=torch step-show CUDA_DEVICE_ORDER
	[[ $(cut -d ' ' -f 12 <<<"$output" | sort -u) == PCI_BUS_ID ]]
	good srun --exclusive -n2 --gres=gpu:2 --srank=torch,gpus=none step-show CUDA_DEVICE_ORDER
	[[ $(cut -d ' ' -f 12 <<<"$output" | sort -u) == - ]]
}

# The number of Slurm's GPU is the node's, and two steps of one job have different ones.
@test "a step has the part of the job's GPUs that is its own" {
	batch -N1 -n4 -c8 --exclusive --gres=gpu:8 <<-'END'
		#!/bin/bash
		step='srun --exact -n2 -c8 --gres=gpu:4 --srank=torch'
		$step bash -c 'gpu-show CUDA_VISIBLE_DEVICES >>one.$SLURM_STEP_ID; sleep 3' &
		$step bash -c 'gpu-show CUDA_VISIBLE_DEVICES >>one.$SLURM_STEP_ID; sleep 3' &
		wait
	END
	local step all=() list
	for step in 0 1; do
		wrote "one.$step"
		[[ $(wc -l <<<"$output") == 2 && $(cut -d ' ' -f 4 <<<"$output" | sort -u | wc -l) == 1 ]]
		IFS=, read -r -a list < <(head -n 1 <<<"$output" | cut -d ' ' -f 4)
		((${#list[@]} == 4))
		all+=("${list[@]}")
	done
	differ "${all[@]}"
}

@test "a step without GPUs has none" {
	good srun -n2 --srank=torch,verbose step-show CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES \
		ZE_AFFINITY_MASK CUDA_DEVICE_ORDER JAX_LOCAL_DEVICE_IDS
	[[ $(cut -d ' ' -f 12- <<<"$output" | sort -u) == '- - - - -' ]]
	[[ $stderr == *'GPUs         none in the step on this node'* && $stderr != *LOCAL_RANK* ]]
	# A job with GPUs, and a step that takes none of them.
	[[ $(user srun --version) == 'slurm-wlm 22.05'* || $(user srun --version) == 'slurm 22.05'* ]] || {
		batch -n2 --gres=gpu:2 <<-'END'
			#!/bin/bash
			srun --gres=none --srank=torch step-show CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER
		END
		[[ $(cut -d ' ' -f 12- <<<"$output" | sort -u) == '- -' ]]
	}
}

# mask NUMA-NODE...: of their CPUs, in hexadecimal.
mask()
{
	local node groups=(0000 0000 0000 0000 0000 0000 0000 0000)
	for node; do
		groups[7 - node]=ffff
	done
	(IFS= && echo "0x${groups[*]}${groups[*]}")
}

# Each warning's own option, taken from its text, makes an end of it.
@test "what verbose warns of is cured by the option that it names" {
	local options cure warning masks=() nodes
	# Five tasks on the first socket, three on the second, and all CPUs in use.
	for nodes in 0 1 2 3 0 '4 5' 6 7; do
		masks+=("$(mask $nodes)")
	done
	while IFS='|' read -r warning options; do
		step --srank=torch,verbose $options gpu-show
		[[ $stderr == *"warning: local rank$warning"* ]] || {
			printf '%s\n' "with $options" "$stderr" >&2
			return 1
		}
		cure=$(sed -n 's/.*warning: .*: srun \(--[a-z-]*=[^ ]*\)$/\1/p' <<<"$stderr" | head -n 1)
		[[ $cure ]]
		step --srank=torch,verbose $options "$cure" gpu-show
		[[ $stderr != *warning:* && $stderr == *' local'* ]] || {
			printf '%s\n' "with $options, cured by $cure" "$stderr" >&2
			return 1
		}
	done <<-END
		s 0-7 have one CPU to feed a GPU with; share out the job's 256 here: srun --cpus-per-task=32|-n8 -c1
		s 4-7 have a GPU on a socket where they have no CPU; share out the job's 256 here: srun --cpus-per-task=32|-n8 -c2 -m block:block
		 4 has a GPU on a socket where it has no CPU; bind: srun --cpu-bind=mask_cpu:0x|-n8 -c32 --cpu-bind=mask_cpu:$(IFS=, && echo "${masks[*]}")
	END
}

# Which of the node's GPUs each task may open, and by which of its CUDA indices.
@test "caged: what a task is given it may open, and the others are in their places" {
	local hold
	# Relative to the job, and in the order of the masks: the job's GPUs are the node's 4 to 7.
	hold=$(user sbatch --parsable -w node1 -n1 -c2 --gres=gpu:4 --output=/dev/null --wrap 'sleep 60')
	until [[ $(user squeue --noheader --jobs="$hold" --format=%T) == RUNNING ]]; do
		sleep 0.1
	done
	# Cores 64-79 are NUMA node 4, 80-95 node 5, which has the GPUs 6 and 7.
	good srun -w node1 -n4 -c16 --gres=gpu:4 --cpu-bind=map_cpu:88,80,72,64 --srank=torch \
		gpu-show CUDA_VISIBLE_DEVICES SLURM_STEP_GPUS
	output=$(sort -n <<<"$output")
	[[ $(cut -d ' ' -f 4,5 <<<"$output" | sort -u) == '2,3,0,1 4,5,6,7' ]]
	is own 6,7,4,5
	user scancel "$hold"
	step -n8 -c32 -m block:block --srank=torch gpu-show
	is own 0,2,3,1,4,6,7,5
	is seen "$(yes 0,2,3,1,4,6,7,5 | head -n 8 | paste -sd ' ')"
}

# By the ids that Slurm gave; it is not for us to say which ones are nearest.
slurms_choice_stays()
{
	local want options each
	while IFS='|' read -r want options; do
		step -n4 -c32 -m block:block --srank=torch,verbose $options gpu-show
		if [[ $want == each:* ]]; then
			# So many each, and no two the same.
			each=${want#*:}
			want=$(seen)
			[[ $(tr ' ,' '\n' <<<"$want" | sort -u | wc -l) == $((4 * each)) ]] || want=differ
			[[ $(tr ' ' '\n' <<<"$want" | awk -F, '{ print NF }' | sort -u) == "$each" ]] || want=$each
		fi
		is seen "$want" || {
			echo "with $options" >&2
			return 1
		}
		[[ $stderr == *'order stands aside: Slurm gave the task of rank 0 '* && $stderr != *'all tasks'* ]] || {
			printf '%s\n' "with $options" "$stderr" >&2
			return 1
		}
	done <<-'END'
		each:1|--gpu-bind=single:1
		each:1|--gpu-bind=per_task:1
		each:2|--gpu-bind=per_task:2
		3 2 1 0|--gpu-bind=map_gpu:3,2,1,0
		7 0 7 0|--gpu-bind=map_gpu:7,0
		0,1 6,7 0,1 6,7|--gpu-bind=mask_gpu:0x3,0xc0
		0,1,2,3 0,1,2,3 0,1,2,3 0,1,2,3|--gpu-bind=closest
	END
	good srun -N1 -n4 -c32 --exclusive --gpus-per-task=2 --srank=torch,verbose gpu-show JAX_LOCAL_DEVICE_IDS
	[[ $(seen | tr ' ,' '\n' | sort -u | wc -l) == 8 ]]
	[[ $(cut -d ' ' -f 4 <<<"$output" | sort -u) == 0,1 ]]
	[[ $stderr == *'warning: Slurm left tasks no GPU at index LOCAL_RANK; leave --gpus-per-task and --gpu-bind out, or add local=0'* ]]
	good srun -N1 -n4 -c32 --exclusive --gpus-per-task=2 --srank=torch,local=0,verbose gpu-show
	[[ $(cut -d ' ' -f 2 <<<"$output" | sort -u) == 0 && $stderr != *warning* ]]
}

@test "Slurm's own binding stays, and verbose says so" {
	slurms_choice_stays
}

@test "caged: Slurm's own binding stays, and verbose says so" {
	slurms_choice_stays
}

# What Slurm leaves to all tasks is ordered; some releases unset its variables for these. Where no
# device cgroup holds a job to its GPUs, some of them then leave it those of the others.
all_that_is_left_is_ordered()
{
	local options
	while read -r options; do
		good srun -N1 -n4 -c32 -m block:block --exclusive --srank=torch $options gpu-show
		output=$(sort -n <<<"$output")
		# All four, in an order that is the same in all tasks.
		is own "$(own)"
		[[ $(head -n 1 <<<"$output" | cut -d ' ' -f 3 | tr , '\n' | sort | paste -sd ,) == 0,1,2,3 ]] || {
			printf '%s\n' "with $options" "$output" >&2
			return 1
		}
	done <<-'END'
		--gres=gpu:4
		--gres=gpu:a100:4
		--gpus=4
		--gpus=a100:4
		--gpus-per-node=4
		--gpus-per-node=a100:4
		--gres=gpu:4 --gpu-bind=none
		--gpus-per-task=1 --gpu-bind=none
		--gpus=4 --gpu-bind=verbose,none
	END
}

@test "the order is made of all that Slurm leaves open" {
	all_that_is_left_is_ordered
}

@test "caged: the order is made of all that Slurm leaves open" {
	all_that_is_left_is_ordered
}

# However Slurm has spread them, which need not be evenly.
@test "each node has an order of its own" {
	local node
	good srun -N2 -n8 -c32 -m block:block --gpus=8 --srank=torch gpu-show SLURMD_NODENAME SLURM_GPUS_ON_NODE
	for node in node1 node2; do
		[[ $(grep " $node " <<<"$output" | cut -d ' ' -f 3,5 | sort -u) =~ ^([0-7,]+)\ ([1-7])$ ]]
		[[ $(tr , '\n' <<<"${BASH_REMATCH[1]}" | sort -u | wc -l) == "${BASH_REMATCH[2]}" ]]
	done
}

# 22.05 unsets the variables of a task whose GPUs have a type, and leaves all of them open.
@test "caged: whatever a type does, the GPUs that are named may be opened" {
	local rank local_rank seen
	good srun -N1 -n4 -c32 --exclusive --gpus-per-task=a100:1 --srank=torch gpu-show CUDA_VISIBLE_DEVICES
	while read -r rank local_rank seen list; do
		[[ $seen && $(tr -cd , <<<"$seen") == "$(tr -cd , <<<"$list")" ]]
	done <<<"$output"
}

# Slurm finds the GPUs in the driver's files, whose NUMA nodes it wants to be sockets (gres.html, "Socket
# Affinity"), and names them by UUIDs, which are the same outside of the device cgroup and in it. The job
# has the node's GPUs 4 to 7, and CPUs near them: those of NUMA nodes 5 and 7, one task to each in turn.
@test "caged: UUIDs are taken for what they are" {
	local hold uuid=-1111-2222-3333-444455556666
	[[ $(user srun --version) =~ ([0-9]+)\.([0-9]+) ]]
	((10#${BASH_REMATCH[1]} * 100 + 10#${BASH_REMATCH[2]} >= 2605)) ||
		skip "SKIPPED, NOT PASSED: Slurm ${BASH_REMATCH[0]} has no Flags=env_uuid"
	boot_dgx gpus-uuids --task-plugin task/affinity,task/cgroup --constrain-devices --sockets 8 \
		--conf SlurmdParameters=config_overrides,numa_node_as_socket --gres AutoDetect=nvidia \
		--gres 'Name=gpu Type=a100 File=/dev/nvidia[0-7] Flags=env_uuid' \
		--mount "$BATS_FILE_TMPDIR/dgx_a100/machine/proc/driver:/proc/driver" \
		--mount "$BATS_FILE_TMPDIR/dgx_a100/machine/sys/bus:/sys/bus"
	hold=$(user sbatch --parsable -w node1 -n1 -c2 --gres=gpu:4 --output=/dev/null --wrap 'sleep 60')
	until [[ $(user squeue --noheader --jobs="$hold" --format=%T) == RUNNING ]]; do
		sleep 0.1
	done
	good srun -w node1 -n4 -c16 --gres=gpu:4 --cpu-bind=cores --srank=torch gpu-show CUDA_VISIBLE_DEVICES
	output=$(sort -n <<<"$output")
	is own 6,4,7,5
	[[ $(cut -d ' ' -f 4 <<<"$output" | sort -u) == "$(printf ",GPU-0000000%d$uuid" 6 4 7 5 | cut -c 2-)" ]]
	good srun -w node1 -n4 -c16 --gres=gpu:4 --cpu-bind=cores --srank=torch,gpus=mask,local=0 gpu-show
	output=$(sort -n <<<"$output")
	is seen '6 4 7 5'
	user scancel "$hold"
}

# Two tasks on the CPUs 0 and 1 that this machine has, by its own kernel: GPU 0 is near CPU 1.
@test "the order follows the CPUs of a cgroup, too" {
	local k want plugins options tree=$BATS_FILE_TMPDIR/two
	[[ -e /sys/fs/cgroup/cpuset/cgroup.procs ]] ||
		skip 'SKIPPED, NOT PASSED: this machine has no cgroup v1 cpuset controller'
	[[ $(</sys/devices/system/cpu/online) == 0-[1-9]* ]] ||
		skip 'SKIPPED, NOT PASSED: needs the CPUs 0 and 1'
	for k in 0 1; do
		mkdir -p "$tree/machine/proc/driver/nvidia/gpus/0000:0$k:00.0" \
			"$tree/machine/sys/bus/pci/devices/0000:0$k:00.0"
		: >"$tree/machine/proc/driver/nvidia/gpus/0000:0$k:00.0/information"
		echo $((1 - k)) >"$tree/machine/sys/bus/pci/devices/0000:0$k:00.0/local_cpulist"
	done
	SRANK_CLUSTER=gpus-cpus
	while IFS='|' read -r plugins want options; do
		cluster_need gpus-cpus --nodes 1 --gpus 2 --cpus 2 --sockets 1 --conf SelectTypeParameters=CR_Core \
			--conf "TaskPlugin=${plugins// /}" --cgroup ConstrainCores=yes --plugstack "$SITE" --mount "$tree:/mnt"
		cluster install "$here/gpu-show"
		good srun --gres=gpu:2 --srank=torch $options gpu-show
		is seen "${want% }" || {
			echo "with $options, $plugins" >&2
			return 1
		}
	done <<-'END'
		task/cgroup |0,1 0,1 |-n2
		task/cgroup |1,0 |-n1
		task/cgroup,task/affinity |1,0 1,0 |-n2
		task/cgroup,task/affinity |0,1 0,1 |-n2 --cpu-bind=map_cpu:1,0
		task/cgroup,task/affinity |0,1 0,1 |-n2 --cpu-bind=none
		task/cgroup,task/affinity |1,0 |-n1
	END
}

# LUMI-G: one socket of 4 NUMA nodes of 16 cores, CPUs N and N+64 in one core, a chiplet for each 8
# cores. The mappings are those that its user guide publishes (distribution-binding), and what the
# chiplets of the tasks' CPUs say. Its driver counts GPUs as ROCm does. A CUDA_VISIBLE_DEVICES that the
# user has, Slurm leaves there, since gres.conf names AMD's variable only.
@test "AMD's GPUs follow the CPUs, too, on a node of LUMI" {
	local want options
	boot_machine gpus-lumi lumi_g 1 4 --nodes 1 --task-plugin task/affinity \
		--gres 'Name=gpu File=/dev/nvidia[0-7] Flags=amd_gpu_env'
	while IFS='|' read -r want options; do
		step --srank=torch,verbose $options step-show ROCR_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES
		[[ $(cut -d ' ' -f 12- <<<"$output" | sort -u) == "${want// /} -" ]] || {
			printf '%s\n' "with $options" "$output" "$stderr" >&2
			return 1
		}
		[[ $(grep -c ' local$' <<<"$stderr") == 8 ]]
	done <<-'END'
		4,5,2,3,6,7,0,1 |-n8 -c16 -m block:block
		0,1,2,3,4,5,6,7 |-n8 -c16 --cpu-bind=map_cpu:49,57,17,25,1,9,33,41
		4,5,2,3,6,7,0,1 |-n8 -c16 -m block:block --export=ALL,CUDA_VISIBLE_DEVICES=0
		0,1,2,3,4,5,6,7 |-n8 -c16 --cpu-bind=mask_cpu:fe000000000000,fe00000000000000,fe0000,fe000000,fe,fe00,fe00000000,fe0000000000
	END
}

# Nodes of one cluster with other makes of GPU, of which gres.conf says which variables they have. What
# is AMD's its driver tells (its node 0 is the CPUs); the other make is not known by anything else.
@test "each make of GPU has its variable, in one layer" {
	local node want tree=$BATS_FILE_TMPDIR/makes
	plant dgx_a100 "$tree/node1"
	plant lumi_g "$tree/node2"
	mkdir -p "$tree/node3/machine"
	SRANK_CLUSTER=gpus-makes
	cluster_need gpus-makes --nodes 3 --gpus 4 --conf SelectTypeParameters=CR_Core \
		--gres 'NodeName=node1 Name=gpu File=/dev/nvidia[0-3]' \
		--gres 'NodeName=node2 Name=gpu File=/dev/nvidia[0-3] Flags=amd_gpu_env,opencl_env' \
		--gres 'NodeName=node3 Name=gpu File=/dev/nvidia[0-3] Flags=intel_gpu_env' \
		--plugstack "$SITE" --mount "$tree/%h:/mnt"
	cluster install "$here/step-show"
	while read -r node want; do
		good env HIP_VISIBLE_DEVICES=3 srun -w "node$node" -n4 --gres=gpu:4 --srank=torch,gpus=map:3,2,1,0 \
			step-show SLURM_PROCID CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES ZE_AFFINITY_MASK \
			GPU_DEVICE_ORDINAL HIP_VISIBLE_DEVICES CUDA_DEVICE_ORDER
		diff <(sort -n <<<"$output" | sed -n 1p | cut -d ' ' -f 13-) <(echo "$want") || {
			echo "on node$node" >&2
			return 1
		}
	done <<-'END'
		1 3 0,1,2,3 0,1,2,3 0,1,2,3 3 PCI_BUS_ID
		2 - 3 - - - -
		3 - - 3 - 3 -
	END
}

# A GPU of which several jobs have a part: one device, for all tasks of the step.
@test "a part of a GPU is the GPU" {
	local kind k gres
	for kind in shard mps; do
		gres=()
		for k in 0 1 2 3; do
			gres+=(--gres "Name=$kind Count=100 File=/dev/nvidia$k")
		done
		SRANK_CLUSTER=gpus-parts
		cluster_need gpus-parts --nodes 1 --gpus 4 --conf SelectTypeParameters=CR_Core \
			--conf "GresTypes=gpu,$kind" --conf "NodeName=node1 CPUs=64 Gres=gpu:4,$kind:400" \
			--gres 'Name=gpu File=/dev/nvidia[0-3]' "${gres[@]}" --plugstack "$SITE" \
			--mount "$BATS_FILE_TMPDIR/dgx_a100:/mnt"
		cluster install "$here/gpu-show"
		good srun -n2 --gres="$kind:50" --srank=torch,gpus=mask,local=0 gpu-show \
			JAX_LOCAL_DEVICE_IDS
		diff <(printf '%s\n' '0 0 0 0' '1 0 0 0') <(sort -n <<<"$output")
		good srun -n2 --gres="$kind:50" --srank=torch,verbose gpu-show
		is own 0,0
		[[ $stderr == *'2 tasks share 1 GPU, and LOCAL_RANK is no index from 1 on; add gpus=mask,local=0'* ]]
	done
}

# The device cgroup holds for slurmstepd too (version 1), and tells which GPUs are left: by their minor
# numbers, which run against the addresses here, the job's devices 4 to 7 are GPUs 3 to 0.
@test "caged: a GPU is known by its device file, whatever number Slurm gives it" {
	local tree=$BATS_FILE_TMPDIR/dgx_a100/minors hold file minor=8
	cp -R "$BATS_FILE_TMPDIR/dgx_a100/machine" "$tree"
	mkdir "$tree/dev"
	for file in "$tree"/proc/driver/nvidia/gpus/*/information; do
		minor=$((minor - 1))
		printf 'Device Minor: \t %d\n' "$minor" >"$file"
		mknod -m 0666 "$tree/dev/nvidia$minor" c 195 "$minor"
	done
	cluster plugstack "optional $PLUGIN sysroot=/mnt/minors"
	hold=$(user sbatch --parsable -n1 -c2 --gres=gpu:4 --output=/dev/null --wrap 'sleep 60')
	until [[ $(user squeue --noheader --jobs="$hold" --format=%T) == RUNNING ]]; do
		sleep 0.1
	done
	good srun -n4 -c16 -m block:block --gres=gpu:4 --srank=torch,verbose gpu-show CUDA_VISIBLE_DEVICES
	user scancel "$hold"
	# The node's GPUs 4 to 7 would be on the socket of these CPUs, 64 to 95; 0 to 3 are not.
	[[ $(sort -n <<<"$output" | cut -d ' ' -f 4 | sort -u) == 0,1,2,3 ]]
	(($(grep -c ' other socket$' <<<"$stderr") == 4)) || {
		printf '%s\n' "$output" "$stderr" >&2
		return 1
	}
}

# What `srank explain` says before a job runs is what `verbose` says in it: the same table, of the CPUs
# that Slurm was said to give and of those that it gave. Explain follows 22.05; later ones differ, in
# a job of whole nodes, where the CPUs of a task are no whole cores.
@test "explain foretells the tasks of a job" {
	local srun spec only told version
	version=$(user srun --version)
	echo '{name: job, launcher: torch, run: {script: a.py}, resources: {nodes: 1, gpus_per_node: 8}}' | write job.yaml
	give "$top/docs/examples/machines/dgx-a100.yaml"
	while IFS='|' read -r srun spec only; do
		[[ $version == *" $only"* ]] || continue
		good srun -N1 --gres=gpu:8 $srun --srank=torch,verbose true
		told=$(user srank explain job.yaml $spec --machine dgx-a100.yaml | sed -n '/^all tasks/,$p')
		diff <(tasks) <(echo "$told") || {
			echo "srun $srun" >&2
			return 1
		}
	done <<-'END'
		-n8 -c32|-s resources.cpus_per_gpu=32
		-n8 -c6|-s resources.cpus_per_gpu=6
		-n8 -c6 -m block:block|-s resources.cpus_per_gpu=6 -s srun.distribution=block:block
		-n8 -c6 --exclusive|-s resources.cpus_per_gpu=6 -s resources.exclusive=true
		-n8 -c24|-s resources.cpus_per_gpu=24
		-n8 -c5|-s resources.cpus_per_gpu=5
		-n8 -c7 --exclusive|-s resources.cpus_per_gpu=7 -s resources.exclusive=true|22.05
		-n8|
		-n8 -c8 --cpu-bind none|-s resources.cpus_per_gpu=8 -s binding.cpus=none
		-n8 -c8 --cpu-bind sockets --exclusive|-s resources.cpus_per_gpu=8 -s binding.cpus=sockets -s resources.exclusive=true
		-n8 -c5 --cpu-bind cores --exclusive|-s resources.cpus_per_gpu=5 -s binding.cpus=cores -s resources.exclusive=true|22.05
		-n8 -c8 --hint nomultithread|-s resources.cpus_per_gpu=8 -s resources.hint=nomultithread
		-n16 -c16 -m plane=4|-s resources.cpus_per_gpu=32 -s resources.tasks_per_gpu=2 -s srun.distribution=plane=4
	END
}
