#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The plugin inside a real Slurm: what the tasks of a step find in their environment, and what
# becomes of mistakes. SRANK_PLUGIN names the plugin (default: the one in build/).

# Quoted text is for the shell of a task, and bats itself sets $stderr.
# Each test is a process of its own, so what it exports is its own, too.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers

# Mounted into the hosts, so that slurmd, too, has it from its start.
readonly PLUGIN=/mnt/spank_srank.so
readonly STEP=(srun -N2 --ntasks-per-node=2)

setup_file()
{
	local top
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	: "${SRANK_PLUGIN:=$top/build/spank/plugin/spank_srank.so}"
	export SRANK_CLUSTER=plugin-$$
	"$BATS_TEST_DIRNAME/cluster" check ||
		skip 'SKIPPED, NOT PASSED: this machine cannot boot hosts'
	[[ -e $SRANK_PLUGIN ]] || {
		echo "there is no plugin at $SRANK_PLUGIN: build first, or set SRANK_PLUGIN" >&2
		return 1
	}
	install -D -m 0755 "$SRANK_PLUGIN" "$BATS_FILE_TMPDIR/plugin/spank_srank.so"
	install -m 0755 "$BATS_TEST_DIRNAME/plugin-show" "$BATS_FILE_TMPDIR/show"
	boot --plugstack "required $PLUGIN"
}

boot()
{
	cluster up --mount "$BATS_FILE_TMPDIR/plugin:${PLUGIN%/*}" "$@"
	cluster install "$BATS_FILE_TMPDIR/show"
}

teardown_file()
{
	cluster down
	SRANK_CLUSTER+=-second cluster down
}

setup()
{
	# One line for all, so that a test that changes it cannot spoil the next.
	cluster plugstack "optional $PLUGIN"
}

# Some tests have a cluster of their own.
teardown()
{
	nodes_are_well
	[[ $SRANK_CLUSTER != *-second ]] || cluster down
}

# A command as root on a host.
on()
{
	timeout 120 "$BATS_TEST_DIRNAME/cluster" run "$@"
}

# A command as the researcher on the login host.
user()
{
	timeout 120 "$BATS_TEST_DIRNAME/cluster" run --user researcher login -- "$@"
}

# Writes standard input to the researcher's file NAME, executable.
write()
{
	user bash -c 'cat >"$1" && chmod 0755 "$1"' - "$1"
}

# sbatch, and the job's output when it has ended. Errors apart: srun says when a step had to wait
# for the one before, each release in its own words.
batch()
{
	job_ended 100 "$(user sbatch --parsable --output=out.txt --error=err.txt "$@")" >&2 || true
	user cat err.txt >&2
	user cat out.txt
}

# `show` prints "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK NNODES NODE"; "-" for
# what is not set.
@test "sixteen ranks on two nodes, each once and in its place" {
	local expected='' rank
	for rank in {0..15}; do
		expected+="$rank 16 $((rank % 8)) 8 $((rank / 8)) 2 node$((rank / 8 + 1))"$'\n'
	done
	run --separate-stderr user srun --srank -N2 --ntasks-per-node=8 --gres=gpu:8 show
	[[ $status == 0 ]]
	diff <(printf %s "$expected") <(sort -n <<<"$output")
}

@test "one MASTER_ADDR, that of rank 0, and one MASTER_PORT below the ephemeral ports" {
	run --separate-stderr user srun --srank -N2 --ntasks-per-node=8 \
		bash -c 'echo $MASTER_ADDR $MASTER_PORT $SRANK_MASTER_ADDR $SRANK_MASTER_PORT'
	[[ $status == 0 ]]
	[[ $(wc -l <<<"$output") == 16 ]]
	[[ $(sort -u <<<"$output") =~ ^node1\ ([0-9]+)\ node1\ ([0-9]+)$ ]]
	[[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
	((BASH_REMATCH[1] >= 20000 && BASH_REMATCH[1] <= 29999))
}

@test "an uneven step" {
	run --separate-stderr user srun --srank -N2 -n3 show
	[[ $status == 0 ]]
	diff - <(sort -n <<<"$output") <<-'END'
		0 3 0 2 0 2 node1
		1 3 1 2 0 2 node1
		2 3 0 1 1 2 node2
	END
}

@test "a cyclic step" {
	run --separate-stderr user srun --srank -N2 --ntasks-per-node=2 -m cyclic show
	[[ $status == 0 ]]
	diff - <(sort -n <<<"$output") <<-'END'
		0 4 0 2 0 2 node1
		1 4 0 2 1 2 node2
		2 4 1 2 0 2 node1
		3 4 1 2 1 2 node2
	END
}

@test "a step on one of two nodes is about that node" {
	write job <<-'END'
		#!/bin/bash
		#SBATCH -N2 -n2
		srun -N1 -n1 -w node2 --srank bash -c 'echo $MASTER_ADDR $RANK $WORLD_SIZE $NNODES'
	END
	[[ $(batch job) == 'node2 0 1 1' ]]
}

@test "who does not ask has the environment, byte for byte, that he has without the plugin" {
	# Other numbers in every step, plugin or not: the job's and its processes' own.
	# JOB_START_TIME and JOB_END_TIME are in 24.11, JOB_SLUID in 26.05.
	local own='SLURM_(JOB_ID|JOBID|JOB_SLUID|JOB_START_TIME|JOB_END_TIME|TASK_PID'
	own+='|SRUN_COMM_PORT|STEP_LAUNCHER_PORT)'
	local line rank
	write dump <<-END
		#!/bin/bash
		# Not its own: a redirection is opened by a process that exec ends.
		tr '\0' '\n' < <(cat /proc/\$\$/environ) | sed -E '/^$own=/d' >dump.\$1.\$SLURM_PROCID
	END
	for line in "optional $PLUGIN" "required $PLUGIN" "optional $PLUGIN gpus=none verbose" \
		"optional $PLUGIN default=off" "optional $PLUGIN no=such key"; do
		cluster plugstack "$line"
		user "${STEP[@]}" --gres=gpu:2 ./dump with
		user "${STEP[@]}" --gres=gpu:2 --srank=off ./dump off
		cluster plugstack
		user "${STEP[@]}" --gres=gpu:2 ./dump without
		for rank in {0..3}; do
			user cmp dump.with."$rank" dump.without."$rank"
		done
		# The option itself travels in the environment, and Slurm takes it out again.
		for rank in {0..3}; do
			user cmp dump.off."$rank" dump.without."$rank"
		done
	done
	# And there was something to compare.
	[[ $(user cat dump.without.3) == *SLURM_PROCID=3* ]]
}

# Debian's package of 26.05 has no plugin for PMIx.
need_pmix()
{
	user srun --mpi=list 2>&1 | grep -q pmix ||
		skip 'SKIPPED, NOT PASSED: this Slurm has no PMIx plugin'
}

@test "PMIX_RANK is RANK" {
	need_pmix
	run --separate-stderr user srun --mpi=pmix --srank -N2 -n5 \
		bash -c 'echo $PMIX_RANK $RANK'
	[[ $status == 0 ]]
	diff <(printf '%s\n' '0 0' '1 1' '2 2' '3 3' '4 4') <(sort -n <<<"$output")
}

@test "an Open MPI program has the same rank and size" {
	need_pmix
	user which mpicc >/dev/null || skip 'SKIPPED, NOT PASSED: the hosts have no mpicc'
	write ranks.c <<-'END'
		#include <mpi.h>
		#include <stdio.h>
		#include <stdlib.h>

		int main(int argc, char **argv)
		{
			int rank, size, sum;

			MPI_Init(&argc, &argv);
			MPI_Comm_rank(MPI_COMM_WORLD, &rank);
			MPI_Comm_size(MPI_COMM_WORLD, &size);
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			printf("%d/%d %s/%s sum %d\n", rank, size, getenv("RANK"), getenv("WORLD_SIZE"), sum);
			return MPI_Finalize();
		}
	END
	user mpicc -o ranks ranks.c
	run --separate-stderr user srun --mpi=pmix --srank -N2 -n3 ./ranks
	[[ $status == 0 ]]
	diff - <(sort -n <<<"$output") <<-'END'
		0/3 0/3 sum 3
		1/3 1/3 sum 3
		2/3 2/3 sum 3
	END
	# Ranks that come from PMIx need no rendezvous of ours.
	run --separate-stderr user srun --mpi=pmix --srank=mpi -N2 -n3 ./ranks
	[[ $status == 0 ]]
	diff - <(sort -n <<<"$output") <<-'END'
		0/3 (null)/(null) sum 3
		1/3 (null)/(null) sum 3
		2/3 (null)/(null) sum 3
	END
}

@test "torchrun needs no rendezvous argument" {
	user /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null ||
		skip 'SKIPPED, NOT PASSED: the hosts have no python3-torch'
	write train.py <<-'END'
		import os
		import sys
		import torch
		import torch.distributed as dist

		dist.init_process_group("gloo")
		total = torch.tensor([dist.get_rank()])
		dist.all_reduce(total)
		names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK", "SLURMD_NODENAME")
		# In one piece: the workers of a node share a pipe.
		sys.stdout.write(" ".join(os.environ[name] for name in names) + f" {int(total)}\n")
	END
	run --separate-stderr user srun --srank=torchrun -N2 --ntasks-per-node=1 --gres=gpu:2 \
		torchrun train.py
	[[ $status == 0 ]]
	diff - <(sort -n <<<"$output") <<-'END'
		0 4 0 0 node1 6
		1 4 1 0 node1 6
		2 4 0 1 node2 6
		3 4 1 1 node2 6
	END
}

@test "one task a node that sees several GPUs is a launcher's" {
	run --separate-stderr user srun --srank -N2 --ntasks-per-node=1 --gres=gpu:4 show
	diff - <(sort <<<"$output") <<-'END'
		- - - - 0 2 node1
		- - - - 1 2 node2
	END
	# A program that wants a rank fails without leading here; so it is said, once.
	[[ $(grep -c 'srank: .* 4 GPUs .* (--ntasks-per-node=4)' <<<"$stderr") -eq 1 ]]
	run --separate-stderr user srun --srank=torchrun -N2 --ntasks-per-node=1 --gres=gpu:4 show
	[[ $stderr != *srank:* ]]
}

@test "SRANK= in a script is for its steps" {
	write job <<-'END'
		#!/bin/bash
		#SBATCH -N2 --ntasks-per-node=2
		echo "script ${MASTER_ADDR-unset} ${RANK-unset}"
		export SRANK=torch
		srun show | sort -n
		echo "script ${MASTER_ADDR-unset} ${RANK-unset}"
	END
	diff - <(batch job) <<-'END'
		script unset unset
		0 4 0 2 0 2 node1
		1 4 1 2 0 2 node1
		2 4 0 2 1 2 node2
		3 4 1 2 1 2 node2
		script unset unset
	END
}

@test "sbatch --srank is for the script and its steps, each with a port of its own" {
	write job <<-'END'
		#!/bin/bash
		#SBATCH -N2 --ntasks-per-node=2 --srank=torch
		echo "script $MASTER_ADDR ${RANK-unset} ${WORLD_SIZE-unset} ${LOCAL_RANK-unset}"
		srun bash -c 'echo $RANK $MASTER_ADDR' | sort -n
		{
			echo $MASTER_PORT
			srun -n1 -N1 bash -c 'echo $MASTER_PORT'
			srun -n1 -N1 bash -c 'echo $MASTER_PORT'
		} | sort -u | wc -l
		srun --srank=off -n1 -N1 bash -c 'echo "off ${RANK-unset}"'
	END
	diff - <(batch job) <<-'END'
		script node1 unset unset unset
		0 node1
		1 node1
		2 node1
		3 node1
		3
		off unset
	END
}

@test "salloc --srank is for its steps" {
	run --separate-stderr user salloc --srank=torch -N2 --ntasks-per-node=1 srun show
	[[ $status == 0 ]]
	diff <(printf '%s\n' '0 2 0 1 0 2 node1' '1 2 0 1 1 2 node2') <(sort -n <<<"$output")
}

@test "a port that the user set is kept, and one that an outer step chose is not" {
	run --separate-stderr user env MASTER_PORT=29511 "${STEP[@]}" --srank \
		bash -c 'echo $MASTER_PORT ${SRANK_MASTER_PORT-unset}'
	[[ $(sort -u <<<"$output") == '29511 unset' ]]

	write job <<-'END'
		#!/bin/bash
		#SBATCH -N2 -n2 --srank
		export RANK=5
		srun --overlap bash -c 'echo $RANK; [[ $SLURM_PROCID != 0 ]] ||
			srun --overlap -N2 -n2 bash -c "echo inner \$RANK \$MASTER_PORT $MASTER_PORT"' >lines
		awk '$1 == "inner" && $3 != $4 {print $1, $2}; NF == 1' lines | sort
	END
	diff <(printf '%s\n' 0 1 'inner 0' 'inner 1') <(batch job)
}

@test "steps that run at once have ports of their own" {
	write job <<-'END'
		#!/bin/bash
		#SBATCH -N1 -n3
		export SRANK=torch
		for i in 1 2 3; do
			srun --exact -n1 --mem=100M bash -c 'echo $MASTER_PORT; sleep 1' &
		done | sort -u | wc -l
		wait
	END
	[[ $(batch job) == 3 ]]
}

@test "--export=NONE does not lose the option" {
	run --separate-stderr user "${STEP[@]}" --export=NONE --srank /usr/local/bin/show
	[[ $status == 0 ]]
	[[ $(sort -n <<<"$output" | head -n 1) == '0 4 0 2 0 2 node1' ]]
}

@test "reserved ports are used where slurmctld hands them out" {
	export SRANK_CLUSTER+=-second
	boot --nodes 2 --mpi-ports 41000-41099 --plugstack "optional $PLUGIN"
	run --separate-stderr user "${STEP[@]}" --srank \
		bash -c 'echo $MASTER_PORT $SLURM_STEP_RESV_PORTS'
	[[ $status == 0 && $(sort -u <<<"$output") =~ ^(41[0-9]{3})\ (41[0-9]{3})-41[0-9]{3}$ ]]
	[[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
	# An explicit number comes before, and a range does not.
	run --separate-stderr user "${STEP[@]}" --srank=port=20126 bash -c 'echo $MASTER_PORT'
	[[ $(sort -u <<<"$output") == 20126 ]]
}

@test "a mistyped option is refused at submit, with the right name" {
	local before after command
	before=$(user scontrol show config | grep NEXT_JOB_ID)
	for command in "srun -N2 true" "sbatch --wrap=true" "salloc -N2 true"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr user ${command/ / --srank=torchrn }
		[[ $status != 0 && $stderr == *"torchrn: no such key or launcher; did you mean torchrun?"* ]]
		# shellcheck disable=SC2086
		run --separate-stderr user ${command/ / --srank=gpus=ordr }
		[[ $status != 0 && $stderr == *"did you mean gpus=order?"* ]]
	done
	after=$(user scontrol show config | grep NEXT_JOB_ID)
	[[ $before == "$after" ]]
}

@test "--srank=help shows the keys and runs nothing" {
	run --separate-stderr user srun --srank=help echo started
	[[ $status != 0 && $output == *torchrun* && $output == *gpus=order* && $output != *started* ]]
	[[ $stderr == 'srun: error: Invalid --srank argument: help' ]]
}

@test "mistakes end the step, required or optional" {
	local line
	write job <<-'END'
		#!/bin/bash
		#SBATCH -N2 -n2
		SRANK=torchrn srun echo started
		echo "srun $?"
	END
	for line in required optional; do
		cluster plugstack "$line $PLUGIN"
		# In the environment: srun says it, and only where required is a word of it obeyed.
		run --separate-stderr user env SRANK=torchrn "${STEP[@]}" echo started
		[[ $status != 0 && $output != *started* && $stderr == *'SRANK: torchrn'*'did you mean torchrun?'* ]]
		# A launcher that does not fit the step, which only the tasks can tell.
		run --separate-stderr user "${STEP[@]}" --srank=torchrun echo started
		[[ $status != 0 && $output != *started* && $stderr == *'--ntasks-per-node=1'* ]]
		# Once a node, not once a task.
		[[ $(grep -c 'error: srank' <<<"$stderr") == 2 ]]
		# A site's own mistake is told to those who ask.
		cluster plugstack "$line $PLUGIN prot=1"
		run --separate-stderr user "${STEP[@]}" --srank echo started
		[[ $status != 0 && $output != *started* && $stderr == *'plugstack.conf: prot'* ]]
		cluster plugstack "$line $PLUGIN"
		[[ $(batch job) == *'srun 1' && $(batch job) != *started* ]]
	done
}

@test "a mistake does not end the batch script" {
	local line
	write job <<-'END'
		#!/bin/bash
		#SBATCH -N2 -n2
		echo "ran ${MASTER_ADDR-unset}"
	END
	for line in required optional; do
		cluster plugstack "$line $PLUGIN"
		job_ended 60 "$(user env MASTER_PORT=69420 sbatch --srank --parsable --output=out.txt job)"
		run user cat out.txt
		[[ $output == *'MASTER_PORT=69420'*'the script runs without'* && $output == *'ran unset'* ]]
	done
}

@test "without the file, optional lets jobs run and required does not" {
	cluster plugstack "optional /nowhere/spank_srank.so"
	run --separate-stderr user "${STEP[@]}" echo started
	[[ $status == 0 && $(sort -u <<<"$output") == started ]]
	run --separate-stderr user env SRANK=torch "${STEP[@]}" bash -c 'echo "ran ${RANK-unset}"'
	[[ $status == 0 && $(sort -u <<<"$output") == 'ran unset' ]]
	cluster plugstack "required /nowhere/spank_srank.so"
	run --separate-stderr user "${STEP[@]}" echo started
	[[ $status != 0 && $output != *started* ]]
}

@test "a port that is taken ends the whole step at once" {
	local line holder began
	on node1 -- /usr/bin/python3 -c '
import socket, time
with socket.socket() as held:
    held.bind(("0.0.0.0", 20099))
    held.listen()
    print("held", flush=True)
    time.sleep(60)' >"$BATS_TEST_TMPDIR/held" 3>&- &
	holder=$!
	until [[ -s $BATS_TEST_TMPDIR/held ]]; do
		sleep 0.1
	done
	for line in required optional; do
		cluster plugstack "$line $PLUGIN"
		began=$EPOCHSECONDS
		run --separate-stderr user "${STEP[@]}" --srank=torch,port=20099 sleep 50
		[[ $status != 0 ]]
		[[ $stderr == *'port 20099 (port=) is taken on node1'*'set MASTER_PORT'* ]]
		((EPOCHSECONDS - began < 10))
		run --separate-stderr user env MASTER_PORT=20099 "${STEP[@]}" --srank sleep 50
		[[ $status != 0 && $stderr == *'is taken on node1'* ]]
		run --separate-stderr user "${STEP[@]}" --srank=torch,port=20099,busy=warn show
		[[ $status == 0 && $stderr == *'warning: port 20099'* && $(wc -l <<<"$output") == 4 ]]
		run --separate-stderr user "${STEP[@]}" --srank=mpi,port=20099 true
		[[ $status == 0 && $stderr == '' ]]
		# Where the ranks meet on another host, or rank 0 is a shell, it is no matter.
		run --separate-stderr user env MASTER_ADDR=login "${STEP[@]}" --srank=torch,port=20099 show
		[[ $status == 0 && $stderr == '' && $(wc -l <<<"$output") == 4 ]]
		run --separate-stderr user script -qec "srun --srank=torch,port=20099 --pty -n1 show" /dev/null
		[[ $status == 0 && $output == *'- - - - 0 1 node1'* && $output != *taken* ]]
	done
	kill "$holder"
	wait "$holder" || true
}

@test "a heterogeneous job from sbatch is one world" {
	write job <<-'END'
		#!/bin/bash
		#SBATCH -w node2 -N1 -n1
		#SBATCH hetjob
		#SBATCH -w node1 -N1 -n2
		srun --srank --het-group=0,1 bash -c 'echo $(show) $MASTER_ADDR' | sort -n
		srun --srank --het-group=1 bash -c 'echo $(show) $MASTER_ADDR' | sort -n
	END
	diff - <(batch job) <<-'END'
		0 3 0 1 0 2 node2 node2
		1 3 0 2 1 2 node1 node2
		2 3 1 2 1 2 node1 node2
		0 2 0 2 0 1 node1 node1
		1 2 1 2 0 1 node1 node1
	END
}

@test "rank 0 is where it is, and not where the list of nodes begins" {
	local option
	run --separate-stderr user srun --srank -w node2 -n1 : -w node1 -n2 \
		bash -c 'echo $(show) $MASTER_ADDR'
	[[ $status == 0 ]]
	diff - <(sort -n <<<"$output") <<-'END'
		0 3 0 1 0 2 node2 node2
		1 3 0 2 1 2 node1 node2
		2 3 1 2 1 2 node1 node2
	END
	write hosts <<<$'node2\nnode1\nnode2'
	for option in --export=ALL --export=NONE; do
		run --separate-stderr user env SLURM_HOSTFILE=hosts srun "$option" --srank -m arbitrary -n3 \
			/bin/bash -c 'echo $(/usr/local/bin/show) $MASTER_ADDR ${SLURM_SRANK_NODES-unset}'
		[[ $status == 0 ]]
		diff - <(sort -n <<<"$output") <<-'END'
			0 3 0 2 0 2 node2 node2 unset
			1 3 0 1 1 2 node1 node2 unset
			2 3 1 2 0 2 node2 node2 unset
		END
	done
	# Of an outer step, or made up: not of this step, so it says nothing, and srun sets its own.
	run --separate-stderr user env SLURM_HOSTFILE=hosts SLURM_SRANK_NODES=1.0:node1:0 \
		srun --srank -m arbitrary -n3 bash -c 'echo $MASTER_ADDR'
	[[ $status == 0 && $(sort -u <<<"$output") == node2 ]]
}

@test "a site's slip does not end the steps of those who did not ask" {
	local log
	cluster plugstack "optional $PLUGIN default=on gpus=oder"
	run --separate-stderr user "${STEP[@]}" show
	[[ $status == 0 && $stderr == '' ]]
	[[ $(sort -u <<<"$output") == $'- - - - - - node1\n- - - - - - node2' ]]
	write job <<-'END'
		#!/bin/bash
		echo "ran ${MASTER_ADDR-unset}"
	END
	[[ $(batch job) == 'ran unset' ]]
	log=$(cluster env | sed -n 's/^SRANK_CLUSTER_LOGS=//p')
	grep -q 'srank: plugstack.conf: gpus=oder.*default=on is without effect' "$log/node1/slurmd.log"
	run --separate-stderr user "${STEP[@]}" --srank show
	[[ $status != 0 && $output == '' && $stderr == *'did you mean gpus=order?'* ]]
}

@test "what a site has locked is refused at submit, in its name" {
	local command
	cluster plugstack "optional $PLUGIN lock=gpus gpus=none forbid=mpi"
	for command in "srun -n1 echo started" "sbatch --wrap=true" "salloc -n1 true"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr user ${command/ / --srank=gpus=mask }
		[[ $status != 0 && $output != *started* ]]
		[[ $stderr == *'gpus=mask: gpus is fixed by this site (gpus=none); leave it out'* ]]
		# shellcheck disable=SC2086
		run --separate-stderr user ${command/ / --srank=mpi }
		[[ $status != 0 && $stderr == *'this site does not allow'* ]]
	done
	run --separate-stderr user srun -n1 --srank=torch,gpus=none show
	[[ $status == 0 && $output == '0 1 0 1 0 1 node1' ]]
	# In the environment: the tasks end where srun does not.
	run --separate-stderr user env SRANK=gpus=mask srun -n1 show
	[[ $status != 0 && $output == '' && $stderr == *'fixed by this site'* ]]
}

@test "SRANK=help says that it does nothing" {
	run --separate-stderr user env SRANK=help srun -n1 show
	[[ $status == 0 && $output == '- - - - - - node1' ]]
	[[ $stderr == *torchrun*'srank: SRANK=help sets nothing'* ]]
	cluster plugstack "required $PLUGIN"
	run --separate-stderr user env SRANK=help srun -n1 show
	[[ $status != 0 && $output == '' && $stderr == *'SRANK=help sets nothing'* ]]
}

@test "a shell at a terminal is no rank of other tasks" {
	run --separate-stderr user script -qec "srun --srank --pty -N2 -n4 bash -c 'show; echo addr \$MASTER_ADDR'" /dev/null
	[[ $output == *'- - - - 0 2 node1'*'addr node1'* ]]
	run --separate-stderr user script -qec "srun --srank=torch --pty -n1 show" /dev/null
	[[ $output == *'- - - - 0 1 node1'* ]]
	# A program that is started from the shell with a step of its own is a rank of that.
	run --separate-stderr user script -qec \
		"srun --pty -N2 -n2 bash -c 'srun --overlap --srank -N2 -n2 show </dev/null | cat'" /dev/null
	[[ $output == *'0 2 0 1 0 2 node1'* && $output == *'1 2 0 1 1 2 node2'* ]]
}

@test "submitit's own launcher is left alone" {
	run --separate-stderr user env SUBMITIT_EXECUTOR=slurm "${STEP[@]}" --srank show
	[[ $status == 0 && $(sort -u <<<"$output") == $'- - - - - - node1\n- - - - - - node2' ]]
}

@test "default=on is for every step, and off is off" {
	cluster plugstack "optional $PLUGIN default=on port=20123"
	run --separate-stderr user srun -N2 -n2 bash -c 'echo $RANK $MASTER_PORT'
	[[ $(sort <<<"$output") == $'0 20123\n1 20123' ]]
	run --separate-stderr user srun -N2 -n2 --srank=port=20124 bash -c 'echo $RANK $MASTER_PORT'
	[[ $(sort <<<"$output") == $'0 20124\n1 20124' ]]
	run --separate-stderr user srun -N2 -n2 --srank=off show
	[[ $(sort -u <<<"$output") == $'- - - - - - node1\n- - - - - - node2' ]]
	run --separate-stderr user env SRANK=off srun -N2 -n2 show
	[[ $(sort -u <<<"$output") == $'- - - - - - node1\n- - - - - - node2' ]]
	# One task for which nobody asked may be a shell, too; with --srank it is a world of one.
	run --separate-stderr user srun -n1 show
	[[ $output == '- - - - 0 1 node1' ]]
	run --separate-stderr user srun -n1 --srank=torch show
	[[ $output == '0 1 0 1 0 1 node1' ]]
	# The shell that salloc starts on the node, where the site has that.
	run --separate-stderr user salloc -N1 -n2 srun --interactive show
	[[ $output == '- - - - - - node1' ]]
}

@test "slurmd lives with it" {
	local node
	for node in node1 node2; do
		[[ $(on "$node" cat /etc/slurm/plugstack.conf) == "optional $PLUGIN" ]]
		on "$node" ps -C slurmd -o comm= | grep -q slurmd
		on "$node" grep -q "$PLUGIN" "/proc/$(on "$node" pgrep -o -x slurmd)/maps"
	done
}

@test "verbose prints one table" {
	run --separate-stderr user srun --srank=torch,verbose,port=20125 -N2 -n3 true
	[[ $status == 0 && $output == '' ]]
	# CPUS are this machine's.
	diff - <(tr -s ' ' <<<"$stderr" | sed -E 's/^(srank: 0 node1 2 0-1) [0-9,-]+ /\1 CPUS /') <<-'END'
		srank: launcher torch (worker shape)
		srank: MASTER_ADDR node1
		srank: MASTER_PORT 20125 (port=)
		srank: GPUs none in the step on this node
		srank: NODE_RANK NODE TASKS RANKS CPUS GPUS
		srank: 0 node1 2 0-1 CPUS -
		srank: 1 node2 1 2 ? ?
	END
	run --separate-stderr user "${STEP[@]}" --gres=gpu:2 --srank=torch,verbose true
	[[ $status == 0 && $stderr == *'GPUs         order: all of the node'"'"'s, the nearest at index LOCAL_RANK'* ]]
	[[ $stderr =~ 0\ +node1\ +2\ +0-1\ +[0-9,-]+\ +0,1$'\n' ]]
}

@test "gpus=none leaves Slurm's devices as they are" {
	run --separate-stderr user "${STEP[@]}" --gres=gpu:2 --srank=torch,gpus=none \
		bash -c 'echo $CUDA_VISIBLE_DEVICES ${CUDA_DEVICE_ORDER-unset}'
	[[ $status == 0 && $(sort -u <<<"$output") == '0,1 unset' ]]
}

# Two tasks on CPUs 0 and 1, of a machine whose GPU 0 is near CPU 1 and GPU 1 near CPU 0.
@test "each task has the GPU that is near its CPUs" {
	local tree=$BATS_TEST_TMPDIR/local path text
	[[ $(nproc --all) -ge 2 ]] || skip 'SKIPPED, NOT PASSED: needs two CPUs'
	while read -r path text; do
		mkdir -p "$tree/machine/$(dirname "$path")"
		echo "$text" >"$tree/machine/$path"
	done <<-'END'
		proc/driver/nvidia/gpus/0000:01:00.0/information Device Minor: 0
		proc/driver/nvidia/gpus/0000:02:00.0/information Device Minor: 1
		sys/bus/pci/devices/0000:01:00.0/local_cpulist 1
		sys/bus/pci/devices/0000:01:00.0/numa_node 1
		sys/bus/pci/devices/0000:02:00.0/local_cpulist 0
		sys/bus/pci/devices/0000:02:00.0/numa_node 0
		sys/devices/system/node/node0/cpulist 0
		sys/devices/system/node/node1/cpulist 1
		sys/devices/system/cpu/cpu0/topology/physical_package_id 0
		sys/devices/system/cpu/cpu1/topology/physical_package_id 1
	END
	export SRANK_CLUSTER+=-second
	boot --nodes 1 --gpus 2 --cpus 2 --sockets 1 --task-plugin task/affinity \
		--plugstack "optional $PLUGIN sysroot=/usr/local/machine"
	cluster install "$tree"

	user srun -n2 --gres=gpu:2 --srank=torch \
		bash -c 'echo $RANK $(taskset -cp $$ | sed "s/.*: //") $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER' |
		sort | diff <(printf '%s\n' '0 0 1,0 PCI_BUS_ID' '1 1 1,0 PCI_BUS_ID') -
	# The other way round, and the order follows.
	user srun -n2 --gres=gpu:2 --srank=torch --cpu-bind=map_cpu:1,0 \
		bash -c 'echo $RANK $(taskset -cp $$ | sed "s/.*: //") $CUDA_VISIBLE_DEVICES' |
		sort | diff <(printf '%s\n' '0 1 0,1' '1 0 0,1') -
	user srun -n2 --gres=gpu:2 --srank=torch,gpus=mask bash -c 'echo $RANK $CUDA_VISIBLE_DEVICES' |
		sort | diff <(printf '%s\n' '0 1' '1 0') -
	# Slurm has bound each task to a GPU: its choice stays.
	user srun -n2 --gpus-per-task=1 --srank=torch bash -c 'echo $CUDA_VISIBLE_DEVICES' |
		sort | diff <(printf '%s\n' 0 1) -
}
