#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The plugin in every kind of step that Slurm knows: wherever and however the tasks are placed,
# each rank is there once, and all of them know the node that rank 0 is on. What plugin.bats shows
# of the simplest steps is not repeated here.

# Quoted text is for the shell of a task; steps.bash and bats set what seems to be unset, and each
# test is a process of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load steps

setup_file()
{
	boot steps --nodes 3 --conf LaunchParameters=use_interactive_step
}

teardown_file()
{
	cluster down
	cluster down --name steps-extern
}

setup()
{
	fresh
}

teardown()
{
	need_nodes
}

# More than the node has CPUs for, as people start on a login node by mistake.
@test "three hundred tasks" {
	good srun --srank=torch,verbose --overcommit -N2 -n300 -m cyclic step-show
	meets '?'
	[[ $(cut -d ' ' -f 6 <<<"$output" | sort -u) == 150 ]]
}

# Four tasks on each of three nodes.
readonly TWELVE=(salloc --quiet -N3 -n12 -c16)

@test "every distribution, and steps on a part of the job's nodes" {
	local placement options
	while read -r placement options; do
		echo "$options"
		# shellcheck disable=SC2086 # words
		good "${TWELVE[@]}" srun --srank $options step-show
		meets "$placement"
	done <<-'END'
		1,1,1,1,2,2,2,2,3,3,3,3
		?             -n7
		?             -n7 -m block
		?             -n7 -m block,NoPack
		1,1,1,1,2,2,2,2 -N2 -n8 -m block
		1,2,3,1,2,3,1 -n7 -m cyclic
		1,2,1,2,1     -N2 -n5 -m cyclic:block
		1,2,3,1,2,3,1 -n7 -m plane=1
		1,1,2,2,3,3,1 -n7 -m plane=2
		1,1,1,2,2,2,3 -n7 -m plane=3
		2,2,3,3       -N2 -n4 -r1
		2,3           -N2 -n2 -w node[2-3]
		1,3,1         -N2 -n3 -x node2 -m cyclic
		3,3           -N1 -n2 -w node3
		1,1,1,1,1,1   -N1 -n6 --overcommit
		3             -N1 -n1 -w node3
	END
}

@test "a list of hosts says where rank 0 is, and in which order the nodes come" {
	local placement
	for placement in 2,1 3,1,3,2 3,3,1 1,2,3 2,3,2,3,1,1; do
		echo "$placement"
		tr ',' '\n' <<<"$placement" | sed 's/^/node/' | write hosts
		good env SLURM_HOSTFILE=hosts srun --srank -n "$(wc -l <"$(home hosts)")" \
			step-show SLURM_SRANK_NODES
		# Between srun and the plugin, and of no use to the tasks.
		[[ $(cut -d ' ' -f 12 <<<"$output" | sort -u) == - ]]
		output=$(cut -d ' ' -f 1-11 <<<"$output")
		meets "$placement"
	done
	# The other ways to say it.
	printf '%s\n' node3 node1 node3 node2 | write hosts
	good srun --srank -n4 -m arbitrary -w ./hosts step-show
	meets 3,1,3,2
	good srun --srank -n4 -m arbitrary -w node3,node1,node3,node2 step-show
	meets 3,1,3,2
	good "${TWELVE[@]}" env SLURM_HOSTFILE=hosts srun --srank -n4 step-show
	meets 3,1,3,2
	good env SLURM_HOSTFILE=hosts srun --srank -n4 --export=NONE /usr/local/bin/step-show
	meets 3,1,3,2
	good env SLURM_HOSTFILE=hosts SRANK=torch srun -n4 step-show
	meets 3,1,3,2
}

@test "a list of hosts for a launcher: node ranks follow the list" {
	printf '%s\n' node3 node1 node2 | write hosts
	good env SLURM_HOSTFILE=hosts srun --srank=torchrun -n3 --gres=gpu:2 bash -c \
		'echo $SLURMD_NODENAME $PET_NODE_RANK $PET_NNODES $PET_MASTER_ADDR $NODE_RANK ${RANK--}'
	diff - <(sort <<<"$output") <<-'END'
		node1 1 3 node3 1 -
		node2 2 3 node3 2 -
		node3 0 3 node3 0 -
	END
}

# The text for another step, as a step inside a step inherits it.
@test "an order of nodes that is of another step is no order of this one" {
	printf '%s\n' node3 node1 | write hosts
	good env SLURM_SRANK_NODES=1.0:node2 SLURM_HOSTFILE=hosts srun --srank -n2 step-show
	meets 3,1
	good env SLURM_SRANK_NODES=1.0:node2 srun --srank -N2 -n2 step-show
	meets 1,2
	submit -N3 -n6 --srank <<-'END'
		#!/bin/bash
		SLURM_HOSTFILE=hosts srun -n2 bash -c '[[ $SLURM_PROCID != 0 ]] ||
			env -u SLURM_HOSTFILE srun --overlap -N3 -n3 -m cyclic step-show >inner'
	END
	ended
	wrote inner
	meets 1,2,3
}

@test "steps that run at once have each its own master and port" {
	local ports=() step
	submit -N3 --ntasks-per-node=4 -c4 --srank <<-'END'
		#!/bin/bash
		# Each waits until all of them have been there.
		step() {
			srun --exact -c2 "${@:2}" bash -c 'step-show; : >"here.$0.$SLURM_PROCID"
				until [[ $(ls here.* | wc -l) == 8 ]]; do sleep 0.1; done' "$1" >"$1" &
		}
		step a -N1 -n2 -w node2
		step b -N2 -n2 -w node[2-3]
		step c -N3 -n3
		step d -N1 -n1 -w node2
		wait
	END
	ended
	for step in a:2,2 b:2,3 c:1,2,3 d:2; do
		wrote "${step%:*}"
		meets "${step#*:}"
		ports+=("$port")
	done
	differ "${ports[@]}"
}

@test "steps that overlap, on the same CPUs, have each its own port" {
	local ports=() step
	submit -N2 -n4 --srank <<-'END'
		#!/bin/bash
		for step in 1 2 3; do
			srun --overlap bash -c 'step-show; : >"here.$0.$SLURM_PROCID"
				until [[ $(ls here.* | wc -l) == 12 ]]; do sleep 0.1; done' $step >$step &
		done
		wait
	END
	ended
	for step in 1 2 3; do
		wrote "$step"
		meets '?'
		ports+=("$port")
	done
	differ "${ports[@]}"
}

@test "the tasks of a job array are worlds of their own" {
	local ports=() i
	submit --array=0-3 -N2 -n3 --srank --output=out.%a --error=err <<-'END'
		#!/bin/bash
		echo "$MASTER_ADDR $MASTER_PORT"
		srun -n3 -m cyclic step-show
	END
	ended
	for i in {0..3}; do
		wrote "out.$i"
		[[ $output =~ ^(node[1-3])\ ([0-9]+)$'\n' ]]
		# Of the batch script, first.
		ports+=("${BASH_REMATCH[2]}")
		output=${output#*$'\n'}
		meets '?' "${BASH_REMATCH[1]}"
		ports+=("$port")
	done
	differ "${ports[@]}"
}

# Two components never share a node: backfill.c's _het_job_start_now() and srun's
# _create_job_step() take the nodes of one from the next.
@test "heterogeneous jobs: steps over all components, over some, and in one" {
	local placement options
	while read -r placement options; do
		echo "$options"
		# shellcheck disable=SC2086
		good salloc --quiet -w node3 -n1 : -w node1 -n2 : -w node2 -n1 \
			srun --srank $options step-show
		meets "$placement"
	done <<-'END'
		3,1,1,2 --het-group=0-2
		3,1,1   --het-group=0,1
		3,2     --het-group=0,2
		1,1,2   --het-group=1,2
		1,1     --het-group=1
		2       --het-group=2
		3
	END
}

@test "heterogeneous jobs from sbatch, with components of several nodes" {
	submit --srank <<-'END'
		#!/bin/bash
		#SBATCH -w node3 -N1 -n2
		#SBATCH hetjob
		#SBATCH -w node[1-2] -N2 -n4 --ntasks-per-node=2 -c16
		echo $MASTER_ADDR
		srun --het-group=0,1 step-show >all
		srun --het-group=1 -m cyclic step-show >one
		srun --het-group=0 -n1 : --het-group=1 -n3 -m plane=1 step-show >parts
		srun --het-group=0,1 --export=NONE /usr/local/bin/step-show >none
		srun --het-group=1 -N1 -n2 -w node2 step-show >part
		srun --het-group=0 -n1 step-show >first
		srun --het-group=0 -n1 step-show : --het-group=1 -N1 -n1 -w node2 step-show >few
		srun --het-group=1 -N1 -n1 -r1 --srank=torchrun bash -c 'echo $PET_NNODES $PET_MASTER_ADDR' >node
	END
	ended
	wrote out
	[[ $output == node3 ]]
	wrote all
	meets '?' node3
	wrote one
	meets 1,2,1,2
	wrote parts
	meets '?' node3
	wrote none
	meets '?' node3
	# On a part of a component, and on parts of both.
	wrote part
	meets 2,2
	wrote first
	meets 3
	wrote few
	meets 3,2
	wrote node
	[[ $output == '1 node2' ]]
}

# slurmctld tells a component where rank 0 is as long as the step of the first one lasts: longer
# than it takes to start, in all programs that meet.
stay()
{
	write stay <<-'END'
		#!/bin/bash
		"$@"
		[[ $SLURM_PROCID != 0 ]] || sleep 1
	END
}

@test "heterogeneous steps of srun alone: rank 0 is in the first component" {
	local placement options
	stay
	while read -r placement options; do
		echo "$options"
		# shellcheck disable=SC2086
		good srun --srank ${options//SHOW/./stay /usr/local/bin/step-show}
		meets "$placement"
	done <<-'END'
		2,1,1   -w node2 -n1 SHOW : -w node1 -n2 SHOW
		3,1,2   -w node3 -n1 SHOW : -w node[1-2] -n2 SHOW
		2,3,1   -w node2 -n1 SHOW : -w node3 -n1 SHOW : -w node1 -n1 SHOW
		1,2,3,2 -w node1 -n1 SHOW : -w node[2-3] -N2 -n3 -m cyclic SHOW
		2,1     --export=NONE -w node2 -n1 SHOW : -w node1 -n1 SHOW
	END
}

@test "heterogeneous steps inside an ordinary allocation" {
	stay
	good "${TWELVE[@]}" srun --srank -w node3 -n1 ./stay step-show : \
		-w node[1-2] -N2 -n2 step-show
	meets 3,1,2
	good "${TWELVE[@]}" srun --srank -w node2 -n2 ./stay step-show : \
		-w node1 -N1 -n2 step-show
	meets 2,2,1,1
}

@test "heterogeneous steps of a launcher: node ranks go by component" {
	stay
	good srun --srank=torchrun -w node2 -n1 --gres=gpu:1 ./stay env : \
		-w node[1,3] -N2 -n2 --gres=gpu:2 env
	diff - <(grep -E '^PET_(MASTER_ADDR|NNODES|NODE_RANK|NPROC_PER_NODE)=' <<<"$output" | sort) <<-'END'
		PET_MASTER_ADDR=node2
		PET_MASTER_ADDR=node2
		PET_MASTER_ADDR=node2
		PET_NNODES=3
		PET_NNODES=3
		PET_NNODES=3
		PET_NODE_RANK=0
		PET_NODE_RANK=1
		PET_NODE_RANK=2
		PET_NPROC_PER_NODE=1
		PET_NPROC_PER_NODE=2
		PET_NPROC_PER_NODE=2
	END
}

# Frameworks look at the name of the job to find out whether it is a shell.
@test "jobs named bash or interactive are jobs like any other" {
	local name
	for name in bash interactive; do
		good srun --job-name="$name" --srank -N2 -n2 step-show
		meets 1,2
	done
	submit --job-name=bash --srank -N2 -n2 <<<$'#!/bin/bash\nsrun step-show >step'
	ended
	wrote step
	meets 1,2
}

@test "--export=NONE, =NAMES and =ALL,NAME=VALUE" {
	good env LOST=1 srun --export=NONE --srank -N2 -n3 -m cyclic /usr/local/bin/step-show LOST
	[[ $(cut -d ' ' -f 12 <<<"$output" | sort -u) == - ]]
	output=$(cut -d ' ' -f 1-11 <<<"$output")
	meets '?'
	good env A=1 B=2 C=3 srun --export=A,B --srank -N2 -n2 /usr/local/bin/step-show A B C
	[[ $(cut -d ' ' -f 12- <<<"$output" | sort -u) == '1 2 -' ]]
	# What the user has exported is his; what he has not exported is not there.
	good env MASTER_PORT=29001 srun --export=NONE --srank -N2 -n2 /usr/local/bin/step-show
	meets 1,2
	[[ $port != 29001 ]]
	good srun --export=ALL,MASTER_PORT=29001,MASTER_ADDR=node3 --srank -N2 -n2 step-show
	meets 1,2 node3
	[[ $port == 29001 ]]
	# SRANK is a variable, and goes with the others; SRANK in the list brings it back.
	good env SRANK=torch srun --export=NONE -N2 -n2 /usr/local/bin/step-show
	[[ $(cut -d ' ' -f 3- <<<"$output" | sort -u) == '- - - - - - - - -' ]]
	good env SRANK=torch srun --export=SRANK -N2 -n2 /usr/local/bin/step-show
	meets 1,2
}

@test "salloc: its steps have variables, its shells have none" {
	local i
	good salloc --quiet --srank -N2 -n2 bash -c 'echo "${MASTER_ADDR--} ${RANK--}"
		srun step-show; srun -n1 -N1 -w node2 step-show'
	[[ $(head -n 1 <<<"$output") == '- -' ]]
	output=$(tail -n +2 <<<"$output")
	output=${output%$'\n'*} meets 1,2
	output=${output##*$'\n'} meets 2
	# What salloc starts on the first node, by LaunchParameters, instead of a shell of its own.
	write shell <<-'END'
		#!/bin/bash
		hostname >shell.out
		env | grep -E '^(MASTER_|SRANK_|[A-Z_]*RANK=)' >>shell.out
		srun --overlap step-show >>shell.out
	END
	good script -qec 'SHELL=$PWD/shell salloc --srank -N2 -n2' /dev/null
	wrote shell.out
	[[ $(head -n 1 <<<"$output") == node1 ]]
	output=$(tail -n +2 <<<"$output")
	meets 1,2
}

# In a cluster of its own: with PrologFlags=Contain, salloc takes three seconds.
@test "the extern step gets nothing" {
	local sleeper
	boot steps-extern --nodes 1 --conf PrologFlags=Contain
	submit --srank -N1 -n1 -w node1 <<<$'#!/bin/bash\n: >here\nuntil [[ -e over ]]; do sleep 0.1; done'
	until [[ -e $(home here) ]]; do
		sleep 0.1
	done
	sleeper=$(on node1 pgrep -x -f 'sleep 100000000' || true)
	[[ $sleeper ]] || {
		: >"$(home over)"
		ended
		cluster down
		export SRANK_CLUSTER=steps
		skip 'SKIPPED, NOT PASSED: the extern step of this Slurm (26.05) has no process to look into'
	}
	# shellcheck disable=SC2086 # one a job, and no other job runs
	on node1 cat /proc/$sleeper/environ | tr '\0' '\n' >"$BATS_TEST_TMPDIR/environ"
	: >"$(home over)"
	ended
	grep -q '^SLURMD_NODENAME=node1$' "$BATS_TEST_TMPDIR/environ"
	run ! grep -E '^(MASTER_|SRANK_(VERSION|MASTER)|[A-Z_]*RANK=)' "$BATS_TEST_TMPDIR/environ"
	cluster down
	export SRANK_CLUSTER=steps
}

# A user's shell in a job, from which he starts what he works on.
@test "steps started inside a step are worlds of their own" {
	local line
	submit --srank -N3 --ntasks-per-node=2 <<-'END'
		#!/bin/bash
		srun -N1 -n2 -w node1 bash -c 'step-show >>outer; [[ $SLURM_PROCID != 1 ]] || {
			srun --overlap -N2 -n3 -w node[2-3] -m cyclic step-show >inner
			srun --overlap --srank=torchrun -N2 -n2 -w node[1-2] step-show PET_NODE_RANK >launcher
			MASTER_PORT=29002 srun --overlap -N1 -n1 -w node3 \
				srun --overlap -N2 -n2 -w node[1-2] step-show >third
		}'
	END
	ended
	wrote outer
	meets 1,1
	line=$port
	wrote inner
	meets '?' node2
	differ "$line" "$port"
	# The outer step's ranks would make a launcher take itself for a worker.
	wrote launcher
	diff <(sort -n "$(home launcher)" | sed -E 's/ 2[0-9]{4} / PORT /') - <<-'END'
		0 node1 - - - - 0 - 2 node1 PORT 0
		1 node2 - - - - 1 - 2 node1 PORT 1
	END
	# A port that the user has set holds for all that is inside.
	wrote third
	meets 1,2
	[[ $port == 29002 ]]
}

@test "ranks under torchrun's workers: what the launcher has left is gone" {
	local names=(TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE PET_NNODES PET_NODE_RANK
		PET_MASTER_ADDR PET_RDZV_BACKEND)
	good srun --srank=torchrun -N2 -n2 --gres=gpu:2 bash -c "[[ \$SLURM_PROCID != 1 ]] || {
		export RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 GROUP_RANK=1
		export TORCHELASTIC_RUN_ID=none TORCHELASTIC_USE_AGENT_STORE=True
		srun --overlap --srank=torch -N2 -n2 step-show ${names[*]}
	}"
	[[ $(cut -d ' ' -f 12- <<<"$output" | sort -u) == '- - - - - -' ]]
	output=$(cut -d ' ' -f 1-11 <<<"$output")
	meets 1,2
}

@test "what the batch script has is for the script, and no user's value for its steps" {
	local ports=()
	submit --srank -w node[2-3] -N2 -n4 <<-'END'
		#!/bin/bash
		echo "$MASTER_ADDR $MASTER_PORT ${RANK--} ${WORLD_SIZE--} ${LOCAL_RANK--} ${NODE_RANK--}"
		# As scripts do; the values stay srank's.
		export MASTER_ADDR MASTER_PORT
		srun -N1 -n1 -w node3 step-show >one
		srun -N2 -n2 step-show >two
		# These do not.
		MASTER_PORT=$((MASTER_PORT + 1)) srun -N2 -n2 step-show >own
	END
	ended
	wrote out
	[[ $output =~ ^node2\ ([0-9]+)\ -\ -\ -\ -$ ]]
	ports=("${BASH_REMATCH[1]}")
	wrote one
	meets 3
	ports+=("$port")
	wrote two
	meets 2,3
	ports+=("$port")
	wrote own
	meets 2,3
	((port == ports[0] + 1))
	differ "${ports[@]}"
}

@test "a program of the batch script can meet at its address and port" {
	batch --srank -N1 -n1 <<-'END'
		#!/bin/bash
		python3 - <<-'PYTHON'
			import os
			import socket

			where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
			with socket.create_server(where) as server, socket.create_connection(where):
			    print("met", server.accept()[1][0])
		PYTHON
	END
	[[ $output == 'met 10.42.1.'[123] ]]
}

@test "what the user has set: address and port are kept, ranks are not, empty is not set" {
	good env MASTER_ADDR=node3 srun --srank -N2 -n2 step-show
	meets 1,2 node3
	good env MASTER_ADDR=2001:db8::7 srun --srank -N2 -n2 step-show
	meets 1,2 2001:db8::7
	good env MASTER_ADDR= MASTER_PORT= srun --srank -N2 -n2 step-show
	meets 1,2
	good env RANK=7 WORLD_SIZE=9 LOCAL_RANK=3 LOCAL_WORLD_SIZE=5 NODE_RANK=8 GROUP_RANK=6 \
		NNODES=4 srun --srank -N2 -n3 -m cyclic step-show
	meets '?'
	# Each node itself, where the others would look for rank 0 in vain.
	bad env MASTER_ADDR=localhost srun --srank -N2 -n2 echo started \
		-- 'MASTER_ADDR=localhost' 'unset MASTER_ADDR'
	bad env MASTER_ADDR=127.0.1.1 srun --srank -N2 -n2 echo started -- 'unset MASTER_ADDR'
	good env MASTER_ADDR=localhost srun --srank -N1 -n2 step-show
	meets 1,1 localhost
	bad env MASTER_PORT=294O0 srun --srank -N2 -n2 echo started \
		-- 'MASTER_PORT=294O0 is no port' 'unset it'
}

@test "OMP_NUM_THREADS of the user is kept, of an outer step is not" {
	local cpus
	cpus=$(user nproc)
	good env OMP_NUM_THREADS=7 srun --srank -n1 step-show OMP_NUM_THREADS SRANK_OMP_NUM_THREADS
	[[ $output == *' 7 -' ]]
	good env OMP_NUM_THREADS=7 SRANK_OMP_NUM_THREADS=7 srun --srank -n1 step-show OMP_NUM_THREADS
	[[ $output == *" $cpus" ]]
	good srun --srank=omp=keep -n1 step-show OMP_NUM_THREADS
	[[ $output == *' -' ]]
}

@test "SRANK_VERSION is there where the plugin is at work, and nowhere else" {
	local version
	version=$(user srank version | head -n 1)
	good srun --srank -N2 -n2 step-show SRANK_VERSION
	[[ $(cut -d ' ' -f 12 <<<"$output" | sort -u) == "${version##* }" ]]
	good srun -N2 -n2 step-show SRANK_VERSION
	[[ $(cut -d ' ' -f 3- <<<"$output" | sort -u) == '- - - - - - - - - -' ]]
	batch --srank -N2 -n2 <<<$'#!/bin/bash\necho $SRANK_VERSION'
	[[ $output == "${version##* }" ]]
	batch -N2 -n2 <<<$'#!/bin/bash\necho ${SRANK_VERSION--} ${MASTER_ADDR--}'
	[[ $output == '- -' ]]
}

@test "submitit's jobs: neither the script nor its steps are touched" {
	batch --srank -N2 -n2 --export=ALL,SUBMITIT_EXECUTOR=slurm <<-'END'
		#!/bin/bash
		echo "${MASTER_ADDR--} ${SRANK_VERSION--}"
		srun step-show SRANK_VERSION | cut -d ' ' -f 3- | sort -u
	END
	[[ $output == $'- -\n- - - - - - - - - -' ]]
}
