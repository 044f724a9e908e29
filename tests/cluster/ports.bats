#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# MASTER_PORT: where it comes from, that what runs at the same time has each its own, and what
# becomes of a step whose port is somebody else's.

# Quoted text is for the shell of a task; steps.bash and bats set what seems to be unset, and each
# test is a process of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load steps

# Slurm starts a requeued job only when the credential of its first run is void: 120 seconds, if
# nobody says otherwise.
setup_file()
{
	boot ports --conf AuthInfo=cred_expire=5
	SRANK_CLUSTER=ports-reserved boot ports-reserved --mpi-ports 41000-41007
}

teardown_file()
{
	cluster down --name ports
	cluster down --name ports-reserved
}

setup()
{
	export SRANK_CLUSTER=ports
	[[ $BATS_TEST_DESCRIPTION != reserved* ]] || export SRANK_CLUSTER=ports-reserved
	fresh
}

teardown()
{
	release
	need_nodes
}

# taken NODE PORT SOURCE COMMAND...: which must end soon, and say so.
taken()
{
	local began=$EPOCHSECONDS
	bad "${@:4}" -- "port $2 ($3) is taken on $1" 'set MASTER_PORT to a free one' busy=warn
	((EPOCHSECONDS - began < 10))
}

@test "jobs on the same node, and their steps, have ports of their own" {
	local ports=() jobs=() i
	for i in 1 2 3 4; do
		submit --srank -N1 -n2 -w node1 --output=out.$i <<-'END'
			#!/bin/bash
			echo "$MASTER_PORT"
			: >here.$SLURM_JOB_ID
			until [[ $(ls here.* | wc -l) == 4 ]]; do sleep 0.1; done
			srun step-show
		END
		jobs+=("$job")
	done
	for job in "${jobs[@]}"; do
		ended
	done
	for i in 1 2 3 4; do
		wrote out.$i
		ports+=("${output%%$'\n'*}")
		output=${output#*$'\n'}
		meets 1,1
		ports+=("$port")
	done
	differ "${ports[@]}"
}

@test "a requeued job and its steps have other ports" {
	local ports=()
	submit --srank -N2 -n2 --requeue --open-mode=append <<-'END'
		#!/bin/bash
		run=${SLURM_RESTART_COUNT:-0}
		echo "$MASTER_ADDR $MASTER_PORT" >batch.$run
		srun step-show >step.$run
		((run)) || { scontrol requeue "$SLURM_JOB_ID"; sleep 60; }
	END
	ended
	wrote batch.0
	ports+=("${output#node1 }")
	wrote batch.1
	ports+=("${output#node1 }")
	wrote step.0
	meets 1,2
	ports+=("$port")
	wrote step.1
	meets 1,2
	ports+=("$port")
	differ "${ports[@]}"
}

@test "port= and ports= are obeyed" {
	local seen=()
	good srun --srank=port=20500 -N2 -n2 step-show
	meets 1,2
	[[ $port == 20500 ]]
	good srun --srank=ports=21000-21000 -N2 -n2 step-show
	meets 1,2
	[[ $port == 21000 ]]
	for _ in 1 2 3; do
		good srun --srank=ports=22000-22099 -N2 -n2 step-show
		meets 1,2
		((port >= 22000 && port <= 22099))
		seen+=("$port")
	done
	differ "${seen[@]}"
	# A fixed number is more than a range.
	good srun --srank=ports=22000-22099,port=20501 -n1 step-show
	[[ $output == *' 20501' ]]
}

@test "a port that is held on rank 0's node, whatever it is bound to" {
	local address
	for address in 0.0.0.0 :: 10.42.1.1 127.0.0.1; do
		echo "$address"
		hold node1 "$address" 20600
		taken node1 20600 port= srun --srank=port=20600 -N2 -n2 sleep 50
		release
	done
}

@test "a port that is held ends steps of every launcher that uses it, wherever it comes from" {
	hold node1 0.0.0.0 20601 20602
	taken node1 20601 'as set' env MASTER_PORT=20601 srun --srank -N2 -n4 sleep 50
	taken node1 20601 'hash of job, step and restart' \
		srun --srank=ports=20601-20601 -N2 -n4 sleep 50
	taken node1 20601 port= srun --srank=torchrun,port=20601 -N2 -n2 --gres=gpu:2 sleep 50
	taken node1 20602 port= srun --srank=tensorflow,port=20602 -N2 -n2 sleep 50
	taken node1 20601 port= srun --srank=port=20601 -N2 -n2 --kill-on-bad-exit=0 sleep 50
	# Ranks that meet elsewhere.
	good srun --srank=mpi,port=20601 -N2 -n2 true
	[[ ! $stderr ]]
}

@test "a port that is held elsewhere is free" {
	hold node2 0.0.0.0 20603
	good srun --srank=port=20603 -N2 -n2 step-show
	meets 1,2
	taken node2 20603 port= srun --srank=port=20603 -w node2 -n2 sleep 50
}

@test "busy=warn says it, and the step runs" {
	hold node1 0.0.0.0 20604
	good srun --srank=port=20604,busy=warn -N2 -n2 step-show
	meets 1,2
	[[ $(grep -c 'srank: warning: port 20604 (port=) is taken on node1' <<<"$stderr") == 1 ]]
	# A site's default, and a user who wants it otherwise.
	cluster plugstack "optional $PLUGIN busy=warn"
	good srun --srank=port=20604 -N2 -n2 true
	taken node1 20604 port= srun --srank=port=20604,busy=fail -N2 -n2 sleep 50
}

@test "a script starts though its port is held, and its step does not" {
	hold node1 0.0.0.0 20605
	batch --srank=port=20605 -N2 -n2 <<-'END'
		#!/bin/bash
		echo "script $MASTER_PORT"
		srun sleep 50
		echo "srun $?"
	END
	[[ $output == $'script 20605\nsrun '[1-9]* ]]
	grep -q 'port 20605 (port=) is taken on node1' "$(home err)"
}

# The port of another job, whose rank 0 is at work; when that has ended, its connections linger in
# TIME_WAIT, and the port is free all the same.
@test "a port that another step's rank 0 uses is taken until that has ended" {
	write rank0.py <<-'END'
		import os
		import socket
		import time

		where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
		with socket.create_server(where) as server, socket.create_connection(where):
		    peer = server.accept()[0]
		    open("listening", "w").close()
		    while not os.path.exists("enough"):
		        time.sleep(0.05)
		    peer.close()
	END
	submit --srank=port=20606 -N1 -n1 -w node1 <<<$'#!/bin/bash\nsrun python3 rank0.py'
	until [[ -e $(home listening) ]]; do
		sleep 0.1
	done
	taken node1 20606 port= srun --srank=port=20606 -w node1 -n2 sleep 50
	: >"$(home enough)"
	ended
	[[ $(on node1 ss -Htan state time-wait sport = :20606) ]]
	good srun --srank=port=20606 -w node1 -n2 step-show
	meets 1,1
}

@test "a port that only root may open" {
	[[ $(on node1 cat /proc/sys/net/ipv4/ip_unprivileged_port_start) -gt 80 ]] ||
		skip 'SKIPPED, NOT PASSED: every user of this machine may open port 80'
	bad srun --srank=port=80 -N2 -n2 sleep 50 \
		-- 'port 80 (port=) is for root only on node1' 'set MASTER_PORT to one above 1023'
}

# Slurm gives a step of N tasks on a node N ports there.
@test "reserved ports: steps of one job that run at once" {
	local ports=() step
	submit -N2 -n4 --srank <<-'END'
		#!/bin/bash
		for step in 1 2 3; do
			srun --overlap -N2 -n2 bash -c 'step-show SLURM_STEP_RESV_PORTS
				: >"here.$0.$SLURM_PROCID"
				until [[ $(ls here.* | wc -l) == 6 ]]; do sleep 0.1; done' $step >$step &
		done
		wait
	END
	ended
	for step in 1 2 3; do
		wrote $step
		output=$(cut -d ' ' -f 11- <<<"$output" | sort -u)
		[[ $output =~ ^(4100[0-7])\ (4100[0-7])(-4100[0-7])?$ ]]
		[[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
		ports+=("${BASH_REMATCH[1]}")
	done
	differ "${ports[@]}"
}

@test "reserved ports: what the user says comes first, a range does not" {
	good env MASTER_PORT=20700 srun --srank -N2 -n2 step-show
	[[ $(cut -d ' ' -f 11 <<<"$output" | sort -u) == 20700 ]]
	good srun --srank=port=20701 -N2 -n2 step-show
	[[ $(cut -d ' ' -f 11 <<<"$output" | sort -u) == 20701 ]]
	good srun --srank=ports=20702-20799 -N2 -n2 step-show
	[[ $(cut -d ' ' -f 11 <<<"$output" | sort -u) == 4100[0-7] ]]
	# The batch step has none.
	batch --srank -N2 -n2 <<<$'#!/bin/bash\necho $MASTER_PORT'
	[[ $output == 2[0-9][0-9][0-9][0-9] ]]
}

@test "reserved ports: each TensorFlow worker of a node has its own" {
	local range ports=()
	good srun --srank=tensorflow -N2 --ntasks-per-node=3 bash -c \
		'echo "$SLURM_STEP_RESV_PORTS $TF_CONFIG"'
	output=$(sed -E 's/,"task".*//' <<<"$output" | sort -u)
	for range in $(cut -d ' ' -f 1 <<<"$output" | tr ',' ' '); do
		mapfile -t -O ${#ports[@]} ports < <(seq "${range%-*}" "${range#*-}")
	done
	differ "${ports[@]:0:3}"
	diff - <(sed "s/${ports[0]}/A/g; s/${ports[1]}/B/g; s/${ports[2]}/C/g" <<<"${output#* }") <<-'END'
		{"cluster":{"worker":["node1:A","node1:B","node1:C","node2:A","node2:B","node2:C"]}
	END
}

# Fewer than there are tasks on a node, by the user's will.
@test "reserved ports: TensorFlow workers for whom there is none have one of ports=" {
	good srun --srank=tensorflow,ports=20710-20719 --resv-ports=2 -N2 --ntasks-per-node=4 bash -c \
		'echo "$SLURM_STEP_RESV_PORTS $TF_CONFIG"'
	output=$(sed -E 's/,"task".*//' <<<"$output" | sort -u)
	[[ $output =~ ^(4100[0-7])-(4100[0-7])\ (.*)$ ]]
	output=$(sed -E "s/${BASH_REMATCH[1]}/A/g; s/${BASH_REMATCH[2]}/B/g" <<<"${BASH_REMATCH[3]}")
	[[ $output =~ node1:(2071[0-9])\",\"node1:(2071[0-9])\" ]]
	differ "${BASH_REMATCH[@]:1:2}"
	diff - <(sed -E "s/${BASH_REMATCH[1]}/C/g; s/${BASH_REMATCH[2]}/D/g" <<<"$output") <<-'END'
		{"cluster":{"worker":["node1:A","node1:B","node1:C","node1:D","node2:A","node2:B","node2:C","node2:D"]}
	END
}

# srun puts the lists of the components together. Rank 0 stays until all have started: so long
# slurmctld tells where it is.
@test "reserved ports: one port in a heterogeneous step" {
	good srun --srank -w node2 -n1 bash -c 'step-show; sleep 1' : -w node1 -n2 step-show
	[[ $(cut -d ' ' -f 10- <<<"$output" | sort -u) == 'node2 4100'[0-7] ]]
	[[ $(sort -n <<<"$output" | cut -d ' ' -f 1-3 | paste -sd ,) == '0 node2 0,1 node1 1,2 node1 2' ]]
}

@test "reserved ports: one that is held ends the step" {
	hold node1 0.0.0.0 {41000..41007}
	bad srun --srank -N2 -n2 sleep 50 -- 'port 4100' '(reserved by Slurm) is taken on node1'
	release
	good srun --srank -N2 -n2 true
}
