#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Scripts that `srank check --fix` and `srank import` have put right, in a real Slurm: what
# slurmctld grants is what the script asked for, and the ranks meet.

# Quoted text is for the shell of a host; the helpers set top.
# shellcheck disable=SC2016,SC2154
load helpers

setup_file() {
	cluster_need check --partition gpu_cluster --partition mm_dev --plugstack "optional $PLUGIN"
	give "$top/tests/train/tools" "$top/tests/train/configs" "$top"/tests/golden/check/seeds/*.sbatch
}

teardown_file() {
	cluster down --name check
}

teardown() {
	nodes_are_well
}

need_torch() {
	[[ -e /usr/lib/python3/dist-packages/torch ]] ||
		skip 'SKIPPED, NOT PASSED: python3-torch is not installed'
}

# script NAME: standard input into the researcher's home.
script() {
	cat >"$(home "$1")"
	chown --reference="$(home '')" "$(home "$1")"
}

# granted SCRIPT: what slurmctld gives to a job with the header of SCRIPT.
granted() {
	local job state
	{
		grep -E '^#(!|SBATCH)' "$(home "$1")" | grep -vE '^#SBATCH --(array|dependency|signal|output|error)'
		echo 'sleep 60'
	} | script held.sbatch
	job=$(as_researcher sbatch --parsable --output=/dev/null held.sbatch)
	for ((i = 0; i < 100; i++)); do
		state=$(as_researcher squeue --noheader --states=all --jobs="$job" --format=%T)
		[[ $state != PENDING && $state != CONFIGURING ]] && break
		sleep 0.2
	done
	as_researcher scontrol show job --oneliner "$job" |
		sed 's!TimeLimit=365-00:00:00!TimeLimit=UNLIMITED!' | grep -oE ' (NumNodes|NumCPUs|TRES|TimeLimit|Partition|MinMemory[A-Za-z]*|OverSubscribe|Requeue)=[^ ]*' | sort
	echo "state $state"
	as_researcher scancel "$job"
}

# same NAME: the script and the one that is made of it ask for the same.
same() {
	as_researcher srank import "$1" -o "$1.yaml" --force
	as_researcher srank gen "$1.yaml" -o "$1.made" --force
	granted "$1" >"$BATS_TEST_TMPDIR/asked"
	grep -q 'state RUNNING' "$BATS_TEST_TMPDIR/asked" || {
		cat "$BATS_TEST_TMPDIR/asked"
		return 1
	}
	diff "$BATS_TEST_TMPDIR/asked" <(granted "$1.made")
}

@test "import and gen: slurmctld grants the same nodes, CPUs, GPUs and memory" {
	script workers.sbatch <<-'END'
		#!/bin/bash
		#SBATCH --partition=gpu_cluster
		#SBATCH --nodes=2
		#SBATCH --ntasks-per-node=4
		#SBATCH --gpus-per-node=4
		#SBATCH --cpus-per-task=3
		#SBATCH --mem=2G
		#SBATCH --time=1:00:00
		srun -c 3 python fit.py --devices 4 --num_nodes 2
	END
	script node.sbatch <<-'END'
		#!/bin/bash
		#SBATCH -p mm_dev -N 2 -t 30
		#SBATCH --ntasks-per-node=1
		#SBATCH --gres=gpu:2
		#SBATCH -c 8
		#SBATCH --mem-per-cpu=100M
		srun -c 8 torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d \
			--rdzv_id=$SLURM_JOB_ID --rdzv_endpoint=$(hostname):25000 train.py
	END
	script one.sbatch <<-'END'
		#!/bin/bash
		#SBATCH --partition=mm_dev
		#SBATCH --nodes=1
		#SBATCH --ntasks=1
		#SBATCH --gpus=2
		#SBATCH --cpus-per-task=5
		#SBATCH --mem=1G
		torchrun --standalone --nproc_per_node=2 train.py
	END
	script cpu.sbatch <<-'END'
		#!/bin/bash
		#SBATCH --partition=mm_dev
		#SBATCH --nodes=2
		#SBATCH --ntasks-per-node=6
		#SBATCH --cpus-per-task=2
		srun --mpi=pmix -c 2 ./solver
	END
	script whole.sbatch <<-'END'
		#!/bin/bash
		#SBATCH --partition=mm_dev
		#SBATCH --nodes=1
		#SBATCH --exclusive
		#SBATCH --ntasks-per-node=8
		#SBATCH --gres=gpu:8
		#SBATCH --cpus-per-task=2
		#SBATCH --mem=0
		srun -c 2 python tools/train.py configs/a.py --launcher slurm
	END
	local name
	for name in workers node one cpu whole; do
		echo "$name"
		same "$name.sbatch"
	done
}

@test "the documents' jobs: import and gen ask for the same" {
	local name
	for name in two-nodes one-node-tasks old-launch by-hand; do
		echo "$name"
		same "$name.sbatch"
	done
}

@test "import and gen: the ranks get the same words" {
	local name
	cat >"$(home show.py)" <<-'END'
		import os, sys
		print("rank", os.environ["SLURM_PROCID"], sys.argv[1:], os.environ.get("MODE"))
	END
	script array.sbatch <<-'END'
		#!/bin/bash
		#SBATCH --partition=mm_dev
		#SBATCH --nodes=2
		#SBATCH --ntasks-per-node=2
		rates=(0.1 "0 2")
		kept=$((1 + 1))
		MODE="a b" srun python3 show.py --rate "${rates[1]}" "${rates[@]}" --jobs $SLURM_JOB_NUM_NODES --x $kept
	END
	script document.sbatch <<-'END'
		#!/bin/bash
		#SBATCH --partition=mm_dev
		#SBATCH --nodes=1
		#SBATCH --ntasks-per-node=2
		read -r -d '' cmd <<EOF
		cd / && cd - >/dev/null && MODE=$SLURM_JOB_NUM_NODES python3 show.py "it's" \$SLURM_LOCALID
		EOF
		srun bash -c "${cmd}"
	END
	for name in array document; do
		echo "$name"
		job_ends 60 --output=before "$name.sbatch"
		made "$name"
		job_ends 60 --output=after "$name.made" || {
			cat "$(home after)"
			return 1
		}
		grep '^rank' "$(home before)" | sort >"$BATS_TEST_TMPDIR/before"
		[[ -s $BATS_TEST_TMPDIR/before ]]
		diff "$BATS_TEST_TMPDIR/before" <(grep '^rank' "$(home after)" | sort)
	done
}

# trains SCRIPT WORLD PER-NODE
trains() {
	rm -rf "$(home work_dirs)"
	job_ends 300 --output=log "$1" || {
		cat "$(home log)"
		return 1
	}
	/usr/bin/python3 "$top/tests/train/report.py" --world "$2" --per-node "$3" \
		"$(home work_dirs)"/*
}

made() {
	as_researcher srank import "$1.sbatch" -o "$1.yaml" --force
	as_researcher srank gen "$1.yaml" -o "$1.made" --force
}

@test "the documents' job on two nodes trains with 16 ranks after import" {
	need_torch
	made two-nodes
	trains two-nodes.made 16 8
}

@test "the documents' job with eight launchers trains with 8 ranks after import" {
	need_torch
	made one-node-tasks
	trains one-node-tasks.made 8 8
}

@test "the documents' old launcher trains with 4 ranks after --fix" {
	need_torch
	rm -rf "$(home work_dirs)"
	as_researcher srank check --fix old-launch.sbatch
	job_ends 300 --output=log old-launch.sbatch || {
		cat "$(home log)"
		return 1
	}
	# On one node torchrun's own address, 127.0.0.1, is right.
	(($(find "$(home work_dirs)" -name 'rank-*.json' | wc -l) == 4))
}
