#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the tasks of each launcher have, held to a table that is written by hand; and programs that
# read it: PyTorch's torchrun and torch.distributed, Open MPI, and a reader of TF_CONFIG that goes
# where it points.

# Quoted text is for the shell of a task; steps.bash and bats set what seems to be unset, and each
# test is a process of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load steps

setup_file()
{
	boot launchers
}

teardown_file()
{
	cluster down
}

setup()
{
	fresh
	write dump <<-'END'
		#!/bin/bash
		# Slurm's variables aside: other numbers in every step.
		env | grep -Ev '^(SLURM_|SRUN_|_=)' | sort >"$1.$SLURM_PROCID"
	END
}

teardown()
{
	need_nodes
}

# adds LIST SRUN-OPTION...: the variables that --srank=LIST adds to each task, as lines "RANK
# NAME=VALUE" in $output, the port as PORT; $port and $job. Nothing may be gone.
# The markers, SRANK_*, are for plugin.bats.
adds()
{
	local list=$1 rank
	shift
	good srun --srank=off "$@" ./dump without
	good srun --srank="$list" "$@" ./dump with
	port=$(sed -n 's/^MASTER_PORT=//p' "$(home with.0)")
	job=$(user squeue --noheader --states=all --format=%i --sort=-i | head -n 1)
	output=
	for rank in "$(home without)".*; do
		rank=${rank##*.}
		[[ -z $(comm -23 "$(home without.)$rank" "$(home with.)$rank") ]]
		output+=$(comm -13 "$(home without.)$rank" "$(home with.)$rank" |
			grep -v '^SRANK_' |
			sed -E "s/^/$rank /; s/\b${port:-none}\b/PORT/g")$'\n'
	done
}

# Those of the worker shape in an uneven cyclic step: ranks 0 and 2 on node1, 1 on node2.
common()
{
	local rank local_rank local_size node cpus
	cpus=$(user nproc)
	while read -r rank local_rank local_size node; do
		printf "$rank %s\n" RANK="$rank" WORLD_SIZE=3 LOCAL_RANK="$local_rank" \
			LOCAL_WORLD_SIZE="$local_size" NODE_RANK="$node" GROUP_RANK="$node" \
			NNODES=2 MASTER_ADDR=node1 MASTER_PORT=PORT OMP_NUM_THREADS="$cpus"
	done <<-'END'
		0 0 2 0
		1 0 1 1
		2 1 2 0
	END
}

# words: a line "RANK A B" as lines "RANK A" and "RANK B".
words()
{
	awk '{ for (i = 2; i <= NF; i++) print $1, $i }'
}

@test "each launcher of the worker shape" {
	local launcher rows workers
	workers='"node1:PORT","node2:PORT","node1:NEXT"'
	while read -r launcher; do
		echo "$launcher"
		case $launcher in
		mmengine) rows='
			0 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2
			1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1
			2 OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2
			0 OMPI_COMM_WORLD_SIZE=3
			1 OMPI_COMM_WORLD_SIZE=3
			2 OMPI_COMM_WORLD_SIZE=3' ;;
		deepspeed) rows='
			0 CROSS_RANK=0 CROSS_SIZE=2 LOCAL_SIZE=2
			1 CROSS_RANK=1 CROSS_SIZE=2 LOCAL_SIZE=1
			2 CROSS_RANK=0 CROSS_SIZE=2 LOCAL_SIZE=2' ;;
		jax) rows='
			0 JAX_COORDINATOR_ADDRESS=node1:PORT JAX_COORDINATOR_PORT=PORT
			1 JAX_COORDINATOR_ADDRESS=node1:PORT JAX_COORDINATOR_PORT=PORT
			2 JAX_COORDINATOR_ADDRESS=node1:PORT JAX_COORDINATOR_PORT=PORT' ;;
		tensorflow) rows="
			0 TF_CONFIG={\"cluster\":{\"worker\":[$workers]},\"task\":{\"type\":\"worker\",\"index\":0}}
			1 TF_CONFIG={\"cluster\":{\"worker\":[$workers]},\"task\":{\"type\":\"worker\",\"index\":1}}
			2 TF_CONFIG={\"cluster\":{\"worker\":[$workers]},\"task\":{\"type\":\"worker\",\"index\":2}}" ;;
		# Rank 2 is the only one with local rank 1.
		horovod) rows='
			0 HOROVOD_RANK=0 HOROVOD_SIZE=3 HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=2
			1 HOROVOD_RANK=1 HOROVOD_SIZE=3 HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=1
			2 HOROVOD_RANK=2 HOROVOD_SIZE=3 HOROVOD_LOCAL_RANK=1 HOROVOD_LOCAL_SIZE=2
			0 HOROVOD_CROSS_RANK=0 HOROVOD_CROSS_SIZE=2
			1 HOROVOD_CROSS_RANK=1 HOROVOD_CROSS_SIZE=2
			2 HOROVOD_CROSS_RANK=0 HOROVOD_CROSS_SIZE=1' ;;
		*) rows= ;;
		esac
		adds "$launcher" -N2 -n3 -m cyclic
		diff <({
			common
			words <<<"$rows"
		} | sed "s/NEXT/$((port + 1))/g" | sort) <(sort <<<"$output" | sed /^$/d)
	done <<-'END'
		auto
		torch
		mmengine
		lightning
		deepspeed
		jax
		tensorflow
		horovod
	END
}

@test "mpi: threads, and no rank but Slurm's" {
	adds mpi -N2 -n2
	diff <(printf '%s\n' "0 OMP_NUM_THREADS=$(user nproc)" "1 OMP_NUM_THREADS=$(user nproc)") \
		<(sed /^$/d <<<"$output")
}

# Two nodes with a task and two GPUs each.
readonly NODES=(-N2 -n2 --gres=gpu:2)

# threads WORKERS: of a task that starts so many.
threads()
{
	local cpus
	cpus=$(user nproc)
	echo $((cpus > $1 ? cpus / $1 : 1))
}

@test "each launcher of the node shape" {
	local launcher rows node
	while read -r launcher; do
		echo "$launcher"
		rows=
		for node in 0 1; do
			rows+="$node MASTER_ADDR=node1 MASTER_PORT=PORT NODE_RANK=$node NNODES=2"
			rows+=" OMP_NUM_THREADS=$(threads 2)"$'\n'
			[[ $launcher == torchrun ]] || continue
			rows+="$node PET_NNODES=2 PET_NPROC_PER_NODE=2 PET_NODE_RANK=$node"$'\n'
			rows+="$node PET_RDZV_BACKEND=static PET_MASTER_ADDR=node1"$'\n'
			rows+="$node PET_MASTER_PORT=PORT"$'\n'
		done
		adds "$launcher,gpus=none" "${NODES[@]}"
		diff <(words <<<"$rows" | sort) <(sort <<<"$output" | sed /^$/d)
	done <<-'END'
		auto
		torchrun
		accelerate
	END
}

@test "torchrun,elastic=: the store is on the node of rank 0" {
	local rows='' node
	adds torchrun,elastic=1:3,gpus=none "${NODES[@]}"
	for node in 0 1; do
		rows+="$node MASTER_ADDR=node1 MASTER_PORT=PORT NODE_RANK=$node NNODES=2"$'\n'
		rows+="$node OMP_NUM_THREADS=$(threads 2) PET_NNODES=1:3 PET_NPROC_PER_NODE=2"$'\n'
		rows+="$node PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=node1:PORT"$'\n'
		rows+="$node PET_RDZV_ID=$job.0.0 PET_RDZV_CONF=is_host=$((1 - node))"$'\n'
		rows+="$node PET_LOCAL_ADDR=node$((node + 1)) PET_MAX_RESTARTS=3"$'\n'
	done
	diff <(words <<<"$rows" | sort) <(sort <<<"$output" | sed /^$/d)
}

@test "torchrun: what the user says of workers and restarts is kept, of the meeting place is not" {
	good env PET_NPROC_PER_NODE=1 PET_MAX_RESTARTS=0 PET_RDZV_CONF=timeout=60 PET_NODE_RANK=7 \
		PET_RDZV_ENDPOINT=elsewhere:1 PET_STANDALONE=1 PET_LOG_DIR=logs \
		srun --srank=torchrun,elastic=1:2 "${NODES[@]}" env
	diff - <(grep -E '^PET_(N|M|RDZV_C|S|L.*DIR)' <<<"$output" | sort) <<-'END'
		PET_LOG_DIR=logs
		PET_LOG_DIR=logs
		PET_MAX_RESTARTS=0
		PET_MAX_RESTARTS=0
		PET_NNODES=1:2
		PET_NNODES=1:2
		PET_NPROC_PER_NODE=1
		PET_NPROC_PER_NODE=1
		PET_RDZV_CONF=timeout=60,is_host=0
		PET_RDZV_CONF=timeout=60,is_host=1
	END
	# One worker a node has all its CPUs.
	[[ $(grep ^OMP_NUM_THREADS <<<"$output" | sort -u) == "OMP_NUM_THREADS=$(user nproc)" ]]
	good env PET_RDZV_ENDPOINT=elsewhere:1 srun --srank=torchrun "${NODES[@]}" \
		bash -c 'echo "${PET_RDZV_ENDPOINT--} $PET_MASTER_ADDR"'
	[[ $(sort -u <<<"$output") == '- node1' ]]
}

@test "auto: the shape follows from tasks and GPUs" {
	local shape options
	while read -r shape options; do
		echo "$options"
		# shellcheck disable=SC2086 # words
		good srun --srank $options bash -c 'echo ${RANK+worker}'
		[[ $(sort -u <<<"${output:-node}") == "$shape" ]]
	done <<-'END'
		node   -N2 -n2 --gres=gpu:2
		node   -N1 -n1 --gres=gpu:8
		worker -N2 -n2 --gres=gpu:1
		worker -N2 -n2
		worker -N2 -n3 --gres=gpu:2
		worker -N2 --ntasks-per-node=2 --gres=gpu:2
	END
}

@test "launchers that do not fit the step end it with a cure" {
	bad srun --srank=torchrun,elastic=3:4 "${NODES[@]}" echo started \
		-- 'elastic=3:4 waits for 3 nodes, but the step has 2'
	bad srun --srank=torchrun,elastic=1:1 "${NODES[@]}" echo started -- 'use elastic=1:2'
	bad srun --srank=torch,elastic=1:2 -N2 -n2 echo started -- 'use torchrun,elastic=1:2'
	bad srun --srank=accelerate -N2 -n3 echo started -- '--ntasks-per-node=1' 'launcher torch'
}

# Each worker listens at its own entry, which only works on the host that has that address, and
# calls all the others at theirs.
@test "TF_CONFIG: every worker is where every other looks for it" {
	local options
	write worker.py <<-'END'
		import json
		import os
		import socket
		import time

		config = json.loads(os.environ["TF_CONFIG"])
		workers = [entry.rsplit(":", 1) for entry in config["cluster"]["worker"]]
		index = config["task"]["index"]
		assert config["task"]["type"] == "worker" and index == int(os.environ["SLURM_PROCID"])
		assert len(workers) == int(os.environ["SLURM_NTASKS"])
		server = socket.create_server((workers[index][0], int(workers[index][1])), backlog=64)
		for host, port in workers:
		    for attempt in range(200):
		        try:
		            peer = socket.create_connection((host, int(port)), 10)
		            break
		        except ConnectionRefusedError:
		            time.sleep(0.05)
		    peer.sendall(b"%d\n" % index)
		    peer.close()
		callers = [int(server.accept()[0].makefile().readline()) for _ in workers]
		assert sorted(callers) == list(range(len(workers))), callers
		print(index, "met", len(workers), flush=True)
	END
	printf '%s\n' node2 node1 node1 node2 node2 | write hosts
	while read -r options; do
		echo "$options"
		# shellcheck disable=SC2086
		good env $options python3 worker.py
		diff <(printf '%d met 5\n' 0 1 2 3 4) <(sort -n <<<"$output")
	done <<-'END'
		srun --srank=tensorflow -N2 -n5
		srun --srank=tensorflow -N2 -n5 -m cyclic
		srun --srank=tensorflow -N2 -n5 -m plane=2
		SLURM_HOSTFILE=hosts srun --srank=tensorflow -n5
	END
}

need_torch()
{
	user /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null ||
		skip 'SKIPPED, NOT PASSED: the hosts have no python3-torch'
}

# The rank of a task, as torch.distributed and the step's other ranks know it, and its node.
write_gather()
{
	write gather.py <<-'END'
		import os
		import sys

		if os.environ.get("TORCHELASTIC_RESTART_COUNT") == sys.argv[1] and os.environ["RANK"] == "1":
		    sys.exit("worker 1 of the first round is gone")

		import torch.distributed as dist

		dist.init_process_group("gloo")
		nodes = [None] * dist.get_world_size()
		dist.all_gather_object(nodes, os.environ["SLURMD_NODENAME"])
		# In one piece: workers share a pipe.
		sys.stdout.write(f"{dist.get_rank()} {os.environ['LOCAL_RANK']} {','.join(nodes)}\n")
		dist.destroy_process_group()
	END
}

@test "torch.distributed by env://, in an uneven cyclic step" {
	need_torch
	write_gather
	good srun --srank=torch -N2 -n3 -m cyclic python3 gather.py none
	diff - <(sort -n <<<"$output") <<-'END'
		0 0 node1,node2,node1
		1 0 node1,node2,node1
		2 1 node1,node2,node1
	END
}

@test "torchrun in the order of a list of hosts" {
	need_torch
	write_gather
	printf '%s\n' node2 node1 | write hosts
	good env SLURM_HOSTFILE=hosts srun --srank=torchrun -n2 --gres=gpu:2 torchrun gather.py none
	diff - <(sort -n <<<"$output") <<-'END'
		0 0 node2,node2,node1,node1
		1 1 node2,node2,node1,node1
		2 0 node2,node2,node1,node1
		3 1 node2,node2,node1,node1
	END
}

@test "torchrun,elastic=: a worker is lost, and all start again" {
	need_torch
	write_gather
	# torchrun looks after its workers every five seconds, if nobody says otherwise.
	good env PET_MONITOR_INTERVAL=0.2 srun --srank=torchrun,elastic=2:2 -N2 -n2 --gres=gpu:1 \
		torchrun gather.py 0
	[[ $stderr == *'worker 1 of the first round is gone'* ]]
	# Which node is first is not promised by this kind of rendezvous.
	[[ $(sort -n <<<"$output") =~ ^0\ 0\ (node[12],node[12])$'\n'1\ 0\ (node[12],node[12])$ ]]
	[[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
	differ "${BASH_REMATCH[1]%,*}" "${BASH_REMATCH[1]#*,}"
}

@test "Open MPI's ranks are ours, however they are placed" {
	local options
	user srun --mpi=list 2>&1 | grep -q pmix ||
		skip 'SKIPPED, NOT PASSED: this Slurm has no PMIx plugin'
	user which mpicc >/dev/null || skip 'SKIPPED, NOT PASSED: the hosts have no mpicc'
	write ranks.c <<-'END'
		#include <mpi.h>
		#include <stdio.h>
		#include <stdlib.h>

		int main(int argc, char **argv)
		{
			int rank, size, local, sum;
			MPI_Comm node;

			MPI_Init(&argc, &argv);
			MPI_Comm_rank(MPI_COMM_WORLD, &rank);
			MPI_Comm_size(MPI_COMM_WORLD, &size);
			MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
			MPI_Comm_rank(node, &local);
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			printf("%d/%d local %d, %s/%s local %s, sum %d\n", rank, size, local, getenv("RANK"),
			       getenv("WORLD_SIZE"), getenv("LOCAL_RANK"), sum);
			return MPI_Finalize();
		}
	END
	user mpicc -o ranks ranks.c
	printf '%s\n' node2 node1 node2 node1 node1 | write hosts
	while read -r options; do
		echo "$options"
		# shellcheck disable=SC2086
		good env $options ./ranks
		[[ $(wc -l <<<"$output") == 5 ]]
		[[ $(cut -d / -f 1 <<<"$output" | sort -n | paste -sd ' ') == '0 1 2 3 4' ]]
		run ! grep -vE '^([0-4])/5 local ([0-4]), \1/5 local \2, sum 10$' <<<"$output"
	done <<-'END'
		srun --mpi=pmix --srank -N2 -n5 -m cyclic
		srun --mpi=pmix --srank=torch -N2 -n5 -m plane=2
		SLURM_HOSTFILE=hosts srun --mpi=pmix --srank -n5
	END
}
