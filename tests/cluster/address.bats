#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# MASTER_ADDR on a cluster where a node has a name in Slurm, another as a host, and a third by which
# Slurm reaches it; where its own name is 127.0.1.1 to itself, as Debian's installer writes it; and
# where it is on two more networks, one of them IPv6.

# Quoted text is for the shell of a task; steps.bash and bats set what seems to be unset, and each
# test is a process of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load steps

setup_file()
{
	local host
	mkdir "$BATS_FILE_TMPDIR/hosts"
	for host in login node1 node2 node3; do
		names "$host" >"$BATS_FILE_TMPDIR/hosts/$host"
	done
	boot address --nodes 3 --mount "$BATS_FILE_TMPDIR/hosts/%h:/etc/hosts" \
		--conf "NodeName=gpu[1-3] NodeHostname=node[1-3] NodeAddr=adm[1-3] CPUs=64 \
Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=515000 Gres=gpu:8"
	for host in 1 2 3; do
		on "node$host" ip address add "10.43.1.$host/16" dev eth0
		[[ $(on "node$host" cat /proc/sys/net/ipv6/conf/eth0/disable_ipv6) != 0 ]] ||
			on "node$host" ip address add "fd00:43::1:$host/64" dev eth0 nodad
	done
}

# names HOST: its /etc/hosts. The name of node 3, gpu3, is in nobody's.
names()
{
	local i
	printf '%s\n' '127.0.0.1 localhost' '::1 localhost' '10.42.0.1 login'
	for i in 1 2 3; do
		printf '%s\n' "10.42.1.$i adm$i node$i" "10.43.1.$i gpu$i-ib gpu$i-ib.example.org" \
			"fd00:43::1:$i gpu$i-six" "169.254.1.$i gpu$i-link" "::1 gpu$i-self"
	done
	for i in 1 2; do
		[[ $1 == "node$i" ]] && printf '127.0.1.1 gpu%d\n' "$i" ||
			printf '10.42.1.%d gpu%d\n' "$i" "$i"
	done
	for i in 1 2 3; do
		[[ $1 == "node$i" ]] || printf '10.42.1.1 gpu1-but%d\n' "$i"
	done
	printf '%s\n' '10.42.1.1 gpu1-own'
}

teardown_file()
{
	cluster down
}

setup()
{
	fresh
}

teardown()
{
	need_nodes
}

need_ipv6()
{
	[[ $(on node1 ip -6 address show to fd00:43::/64) ]] ||
		skip 'SKIPPED, NOT PASSED: this machine has no IPv6'
}

# Rank 0 listens, the others call it at the address and port that they have.
write_meet()
{
	write meet.py <<-'END'
		import os
		import socket
		import time

		where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
		rank, others = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]) - 1
		if rank == 0:
		    dual = socket.has_dualstack_ipv6()
		    family = socket.AF_INET6 if dual else socket.AF_INET
		    server = socket.create_server(("", where[1]), family=family, dualstack_ipv6=dual)
		    for _ in range(others):
		        server.accept()[0].sendall(b"met")
		    print("met", flush=True)
		else:
		    for attempt in range(200):
		        try:
		            peer = socket.create_connection(where, 10)
		            break
		        except ConnectionRefusedError:
		            time.sleep(0.05)
		    print(peer.recv(3).decode(), where[0], flush=True)
	END
}

# addresses LIST ADDRESS [SRUN-OPTION]...: the MASTER_ADDR of every task, and the tasks meet there.
addresses()
{
	echo "$1"
	good "${wrapper[@]}" srun --srank="$1" "${@:3}" python3 meet.py
	diff <(printf '%s\n' met "met $2") <(sort -u <<<"$output")
}

@test "the name, the network that suffix= and domain= name, and what Slurm uses itself" {
	local list address wrapper=()
	write_meet
	while read -r list address; do
		addresses "$list" "$address" -N2 -n3
	done <<-'END'
		torch                              gpu1
		addr=name                          gpu1
		suffix=-ib                         gpu1-ib
		suffix=-ib,domain=example.org      gpu1-ib.example.org
		suffix=-ib,domain=.example.org     gpu1-ib.example.org
		addr=nodeaddr                      adm1
		addr=nodeaddr,suffix=-ib           adm1
		addr=ip                            10.42.1.1
		addr=ip,suffix=-ib                 10.43.1.1
		addr=ip,suffix=-ib,domain=example.org 10.43.1.1
	END
}

# 127.0.1.1 to itself, and to no other.
@test "a node whose own name is loopback gives an address that others can use" {
	local wrapper=()
	write_meet
	[[ $(on node2 getent hosts gpu2) == 127.0.1.1* ]]
	addresses addr=ip 10.42.1.2 -N2 -n2 -w 'gpu[2-3]'
	# With no other node, any address will do that rank 0 can be called at.
	good srun --srank=addr=ip -N1 -n2 -w gpu2 python3 meet.py
	[[ $(wc -l <<<"$output") == 2 ]]
}

@test "a name that nobody resolves: addr=name asks nobody, addr=ip takes NodeAddr" {
	local wrapper=(env SLURM_HOSTFILE=hosts)
	write_meet
	run ! on node1 getent hosts gpu3
	printf '%s\n' gpu3 gpu1 gpu3 | write hosts
	good "${wrapper[@]}" srun --srank -n3 step-show
	[[ $(cut -d ' ' -f 10 <<<"$output" | sort -u) == gpu3 ]]
	addresses addr=ip 10.42.1.3 -n3
	addresses addr=nodeaddr adm3 -n3
}

@test "IPv6: bare in MASTER_ADDR, in brackets before a port" {
	local wrapper=() endpoint='[fd00:43::1:1]:PORT'
	need_ipv6
	write_meet
	addresses addr=ip,suffix=-six fd00:43::1:1 -N2 -n2
	good srun --srank=jax,addr=ip,suffix=-six,port=20800 -N2 -n2 \
		bash -c 'echo "$JAX_COORDINATOR_ADDRESS"'
	[[ $(sort -u <<<"$output") == "${endpoint/PORT/20800}" ]]
	good srun --srank=torchrun,elastic=1:2,addr=ip,suffix=-six,port=20800 -N2 -n2 --gres=gpu:1 \
		bash -c 'echo "$PET_LOCAL_ADDR $PET_RDZV_ENDPOINT $PET_RDZV_CONF"'
	diff - <(sort <<<"$output") <<-END
		fd00:43::1:1 ${endpoint/PORT/20800} is_host=1
		fd00:43::1:2 ${endpoint/PORT/20800} is_host=0
	END
	good srun --srank=tensorflow,addr=ip,suffix=-six,port=20800 -N2 -n2 \
		bash -c 'echo "${TF_CONFIG%%]\}*}"'
	[[ $(sort -u <<<"$output") == *'"[fd00:43::1:1]:20800","gpu2-six:20800"' ]]
}

@test "IPv6: PyTorch meets there" {
	need_ipv6
	user /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null ||
		skip 'SKIPPED, NOT PASSED: the hosts have no python3-torch'
	write gather.py <<-'END'
		import os
		import sys

		import torch.distributed as dist

		dist.init_process_group("gloo")
		nodes = [None] * dist.get_world_size()
		dist.all_gather_object(nodes, os.environ["SLURMD_NODENAME"])
		sys.stdout.write(f"{dist.get_rank()} {','.join(nodes)} {os.environ['MASTER_ADDR']}\n")
		dist.destroy_process_group()
	END
	good srun --srank=torchrun,addr=ip,suffix=-six -N2 -n2 --gres=gpu:1 torchrun gather.py
	diff - <(sort <<<"$output") <<-'END'
		0 gpu1,gpu2 fd00:43::1:1
		1 gpu1,gpu2 fd00:43::1:1
	END
}

@test "names and addresses by which nobody can be reached end the step with a cure" {
	bad srun --srank=addr=ip,suffix=-nowhere -N2 -n2 sleep 50 \
		-- 'addr=ip: gpu1-nowhere: ' 'use addr=name, or set MASTER_ADDR'
	bad srun --srank=addr=ip,suffix=-link -N2 -n2 sleep 50 \
		-- 'gpu1-link' '169.254.1.1 (link-local)' '/etc/hosts'
	bad srun --srank=addr=ip,suffix=-self -N2 -n2 sleep 50 -- 'gpu1-self' '::1 (loopback)'
	# On the one node alone.
	good srun --srank=addr=ip,suffix=-self -N1 -n2 step-show
	[[ $(cut -d ' ' -f 10 <<<"$output" | sort -u) == ::1 ]]
	# Nobody asks for what the user has said, or for what nobody reads.
	good env MASTER_ADDR=adm1 srun --srank=addr=ip,suffix=-nowhere -N2 -n2 step-show
	[[ $(cut -d ' ' -f 10 <<<"$output" | sort -u) == adm1 ]]
	good srun --srank=mpi,addr=ip,suffix=-nowhere -N2 -n2 true
}

# Each name is in the hosts files of all nodes but one. The tasks of the others would wait for
# theirs; --kill-on-bad-exit=0, Slurm's default, is said for those who have another.
@test "a name that one node alone does not know ends the step on all of them" {
	local began name nodes options
	while read -r name nodes options; do
		echo "$name $nodes $options"
		began=$EPOCHSECONDS
		# shellcheck disable=SC2086 # words
		bad srun --kill-on-bad-exit=0 --srank="addr=ip,suffix=-$name" -w "$nodes" $options \
			sleep 50 -- "addr=ip: gpu1-$name: "
		((EPOCHSECONDS - began < 10))
	done <<-'END'
		but2 gpu[1-2] -N2 -n2
		but3 gpu[1-3] -N3 -n7 -m cyclic
		but1 gpu[1-3] -N3 -n3
	END
	# The node's own address, which torchrun is handed.
	began=$EPOCHSECONDS
	bad srun --srank=torchrun,elastic=1:2,addr=ip,suffix=-own -w 'gpu[1-2]' -n2 --gres=gpu:1 \
		sleep 50 -- 'addr=ip: gpu2-own: '
	((EPOCHSECONDS - began < 10))
	# In a component of a heterogeneous step.
	began=$EPOCHSECONDS
	bad srun --srank=addr=ip,suffix=-but2 -w gpu1 -n1 sleep 50 : -w gpu2 -n2 sleep 50 \
		-- 'addr=ip: gpu1-but2: '
	((EPOCHSECONDS - began < 10))
}

# ended_steps: how often slurmctld was told to end one.
ended_steps()
{
	on login sdiag | sed -nE 's/^\s*REQUEST_CANCEL_JOB_STEP .*count:([0-9]+) .*/\1/p' | head -n 1 |
		grep . || echo 0
}

@test "a name that no node knows: the first node says so to slurmctld, and not every one" {
	local before after
	before=$(ended_steps)
	bad srun --srank=addr=ip,suffix=-nowhere -N3 -n9 sleep 50 -- 'gpu1-nowhere'
	after=$(ended_steps)
	echo "messages: $((after - before))"
	((after > before && after - before <= 3))
	# One node is the whole step, and its tasks end by themselves.
	before=$after
	bad srun --srank=addr=ip,suffix=-nowhere -N1 -n3 sleep 50 -- 'gpu1-nowhere'
	(($(ended_steps) == before))
}

@test "rank 0's node in other kinds of step: arbitrary, heterogeneous, a script, a script's subset" {
	local wrapper=(env SLURM_HOSTFILE=hosts)
	write_meet
	printf '%s\n' gpu2 gpu1 | write hosts
	addresses addr=ip 10.42.1.2 -n2
	addresses suffix=-ib gpu2-ib -n2
	good srun --srank=addr=ip -w gpu2 -n1 python3 meet.py : -w gpu1 -n1 python3 meet.py
	[[ $(sort <<<"$output") == $'met\nmet 10.42.1.2' ]]
	batch --srank=addr=ip,suffix=-ib -N3 -n3 <<-'END'
		#!/bin/bash
		echo "$MASTER_ADDR"
		srun -N2 -n2 -w 'gpu[2-3]' python3 meet.py | sort
	END
	[[ $output == $'10.43.1.1\nmet\nmet 10.43.1.2' ]]
}

@test "a site chooses the network, and a user may choose another" {
	local wrapper=()
	write_meet
	cluster plugstack "optional $PLUGIN suffix=-ib domain=example.org"
	addresses torch gpu1-ib.example.org -N2 -n2
	addresses addr=nodeaddr adm1 -N2 -n2
	good srun --srank=suffix=-six -N2 -n2 step-show
	[[ $(cut -d ' ' -f 10 <<<"$output" | sort -u) == gpu1-six.example.org ]]
	cluster plugstack "optional $PLUGIN addr=nodeaddr"
	addresses addr=name gpu1 -N2 -n2
}
