#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `srank doctor` on a real step: a healthy cluster has no finding, and each thing that is broken on
# purpose is found, with its place, and nothing else is.

# Quoted text is for the shell of a task or of a host; steps.bash and bats set what seems to be
# unset, and each test is a process of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load steps

setup_file()
{
	boot doctor --nodes 8
}

teardown_file()
{
	cluster down --name doctor
	cluster down --name doctor-caged
}

setup()
{
	fresh
	cluster plugstack
	undo=()
	if user srun --mpi=list 2>&1 | grep -q pmix; then
		mpi=(--mpi=pmix)
	else
		mpi=()
		[[ $BATS_TEST_DESCRIPTION != PMIx:* ]] ||
			skip 'SKIPPED, NOT PASSED: this Slurm has no PMIx plugin'
	fi
	step=("${mpi[@]}" -N2 --ntasks-per-node=2 --nodelist='node1,node2' --gres=gpu:2)
}

teardown()
{
	local command
	release
	for command in "${undo[@]}"; do
		on "${command%%:*}" sh -c "${command#*:}"
	done
	need_nodes
}

# broken HOST COMMAND UNDO: done there now, and undone after the test.
broken()
{
	on "$1" sh -ec "$2"
	undo+=("$1:$3")
}

# A way of the researcher's own programs to ADDRESS that is none; Slurm's daemons, which are
# root's, go on: without them there would be no step. way NODE ADDRESS unreachable|filtered
way()
{
	local action=unreachable
	# To a machine that is not there.
	[[ $3 != filtered ]] || action='lookup 77'
	broken "$1" "ip neigh replace 10.42.200.200 lladdr 02:00:00:00:00:99 dev eth0 nud permanent
		ip route replace 10.42.0.0/16 via 10.42.200.200 dev eth0 table 77
		ip rule add uidrange 20001-20001 to $2 $action" "ip rule del uidrange 20001-20001 to $2 $action"
}

# hosts SED-SCRIPT: ./hosts COMMAND... then runs a command that sees, on node2, another /etc/hosts.
hosts()
{
	write hosts <<-END
		#!/bin/bash
		[[ \$SLURMD_NODENAME == node2 ]] || exec "\$@"
		# Of this task alone.
		sed '$1' /etc/hosts >/tmp/hosts.\$\$
		exec unshare --user --map-current-user --keep-caps --mount sh -c \\
			'mount --bind "\$0" /etc/hosts && exec "\$@"' /tmp/hosts.\$\$ "\$@"
	END
	user env SLURMD_NODENAME=node2 ./hosts true ||
		skip 'SKIPPED, NOT PASSED: this kernel has no user namespaces'
}

# Waits for FILE... of the researcher's.
appear()
{
	local file deadline=$((SECONDS + 30))
	for file in "$@"; do
		until [[ -e $(home "$file") ]]; do
			((SECONDS < deadline)) || {
				printf '%s\n' "$file does not appear" >&2
				return 1
			}
			sleep 0.1
		done
	done
}

# examine CODE WORD...: srun's words, or those behind env's variables, up to the doctor's.
examine()
{
	local code=$1
	shift
	run --separate-stderr user "$@"
	((status == code)) || {
		printf '%s\n' "$* ended with code $status" "$output" "$stderr" >&2
		return 1
	}
}

# finds LINE...: are these all findings, in this order? A line may end with * for what follows.
finds()
{
	local found=() i
	mapfile -t found < <(grep -E '^(error|warning): ' <<<"$output")
	((${#found[@]} == $#)) || {
		printf '%s\n' "$# findings are expected:" "$@" 'and there are' "$output" "$stderr" >&2
		return 1
	}
	for ((i = 0; i < $#; i++)); do
		# shellcheck disable=SC2053 # a pattern
		[[ ${found[i]} == ${*:i + 1:1} ]] || {
			printf '%s\n' 'expected:' "${*:i + 1:1}" 'found:' "${found[i]}" >&2
			return 1
		}
	done
}

@test "a healthy cluster has no finding, from one task to eight nodes" {
	local shape
	for shape in '-N1 -n1' '-N1 -n4 --gres=gpu:4' '-N2 -n2' '-N3 -n7 -m cyclic' \
		'-N2 --ntasks-per-node=4 --gres=gpu:4' '-N4 --ntasks-per-node=2 -c1' \
		'-N8 --ntasks-per-node=1 --gres=gpu:1'; do
		echo "$shape"
		# shellcheck disable=SC2086 # words
		examine 0 srun "${mpi[@]}" $shape srank doctor --strict
		finds
		[[ $output == *'verdict: fine' ]]
		# shellcheck disable=SC2086
		examine 0 srun --mpi=none $shape srank doctor --strict
		finds
	done
	examine 0 srun "${mpi[@]}" -N2 --ntasks-per-node=1 --gres=gpu:4 srank doctor --strict \
		--launcher torchrun
	finds
	# Where the plugin has been, its address and port are tried.
	cluster plugstack "optional $PLUGIN"
	examine 0 srun --srank=torch,port=23456 "${step[@]}" srank doctor --strict
	finds
	[[ $output == *'to meet at node1 port 23456'* ]]
}

@test "PMIx: 64 tasks on 8 nodes are examined within seconds" {
	local began=${EPOCHREALTIME/./} took
	examine 0 srun --mpi=pmix -N8 --ntasks-per-node=8 --gres=gpu:8 srank doctor
	took=$(((${EPOCHREALTIME/./} - began) / 1000))
	finds
	echo "# 64 tasks on 8 nodes: $took ms" >&3
	# 1.3 s on two cores; other work beside it must not fail the test.
	((took < 15000))
	[[ $(grep -c '^node[1-8]  ' <<<"$output") == 8 ]]
}

@test "the report has a row for each node, and the same as JSON" {
	local member
	examine 0 srun "${step[@]}" srank doctor
	[[ $output =~ 'srank doctor: 4 ranks on 2 nodes, to meet at node1 port 2'[0-9]{4} ]]
	[[ $output =~ 'node1  0-1    2     2     '[0-9.]+' ms  '+'eth0 ' ]]
	[[ $output =~ 'node2  2-3    2     2     '[0-9.]+' ms  '+'eth0 ' ]]
	examine 1 env NCCL_SOCKET_IFNAME=ib0 srun "${step[@]}" srank doctor --json
	jq -e '.version == 1 and .verdict == "problem" and .errors == 1 and .ranks == 4
		and (.tasks | map(.rank)) == [0, 1, 2, 3] and .tasks[2].node == "node2"
		and .tasks[2].leader == 1 and .findings[0].id == "interface-missing"
		and .findings[0].place == "node1 and node2" and .findings[0].places == ["node1", "node2"]
		and (.findings[0].cure | length) > 0' <<<"$output"
	# The manual tells what each member is.
	examine 1 env MASTER_PORT=1 GLOO_SOCKET_IFNAME=eth0,ib0 srun "${step[@]}" srank doctor --json --tree /etc/hosts
	while read -r member; do
		grep -qF "_${member//_/\\_}_" "$top/docs/srank-doctor.1.scd" || {
			printf '%s\n' "srank-doctor(1) has no $member" >&2
			return 1
		}
	done < <(jq -r '(keys, (.tasks[] | keys), (.findings[] | keys))[]' <<<"$output" | sort -u)
	# A path of any bytes; jq takes what is no UTF-8 in the same way.
	examine 1 srun "${step[@]}" srank doctor --json --tree $'/tmp/caf\xe9\e[2J'
	jq -e '.trees == ["/tmp/caf\ufffd\u001b[2J"] and .findings[0].id == "tree-unreadable"' <<<"$output"
	examine 1 srun "${step[@]}" srank doctor --tree $'/tmp/caf\xe9\e[2J'
	finds 'error: node1 and node2: /tmp/caf\\xe9\\x1b\[2J: No such file or directory [[]tree-unreadable]'
}

@test "PMIx: a name that does not resolve, is the node itself, or is another address" {
	hosts 's/.*node1.*//'
	examine 1 srun "${step[@]}" ./hosts srank doctor
	finds 'error: node2: node1 does not resolve: *[[]address-unresolved]'
	[[ $output == *'  cause: '*'  cure: '*'verdict: problem (1 error, 0 warnings)'* ]]
	hosts 's/.*node1.*/127.0.1.1 node1/'
	examine 1 srun "${step[@]}" ./hosts srank doctor
	finds 'error: node2: node1 is 127.0.1.1 there, the node itself [[]address-loopback]'
	broken node1 'ip address add 10.42.9.9/16 dev eth0' 'ip address del 10.42.9.9/16 dev eth0'
	hosts 's/.*node1.*/10.42.9.9 node1/'
	examine 0 srun "${step[@]}" ./hosts srank doctor
	finds 'warning: node2: node1 is 10.42.9.9 there, and 10.42.1.1 on node1 [[]address-differs]'
	examine 1 srun "${step[@]}" ./hosts srank doctor --strict
}

@test "PMIx: values that each task has of its own, and all must share" {
	# The commonest of all.
	examine 1 srun "${step[@]}" sh -c 'MASTER_ADDR=$SLURMD_NODENAME exec srank doctor'
	finds 'error: node2: MASTER_ADDR is node2 there, and node1 on rank 0 [[]ranks-differ]'
	examine 1 srun "${step[@]}" sh -c \
		'[ $SLURM_PROCID != 3 ] || export MASTER_ADDR=node4 MASTER_PORT=1; exec srank doctor'
	finds 'error: node2: MASTER_ADDR is node4 there, and node1 on rank 0 [[]ranks-differ]' \
		'error: node2: MASTER_PORT is 1 there, and not set on rank 0 [[]ranks-differ]'
	examine 1 srun "${mpi[@]}" -N2 -n2 -w node1,node2 sh -c \
		'[ $SLURM_PROCID = 0 ] && exec srank doctor -l torch; exec srank doctor -l mpi'
	[[ $output == *'error: node2: the launcher is mpi there, and torch on rank 0 [ranks-differ]'* ]]
}

@test "without PMIx, who has an address of its own says where it has gone" {
	examine 1 srun --mpi=none -N2 -n2 -w node1,node2 sh -c \
		'MASTER_ADDR=$SLURMD_NODENAME exec srank doctor --timeout 2'
	finds 'error: 1 of 2 ranks have not reported in 2 s: 1 [[]ranks-missing]'
	[[ $stderr == *'rank 1 on node2 does not reach rank 0 at node2 (10.42.1.2) port '* ]]
}

@test "the host's own name on the loopback interface is Gloo's trouble" {
	hosts 's/.*node2.*/127.0.1.1 node2/'
	examine 0 srun "${step[@]}" ./hosts srank doctor
	finds "warning: node2: the host's own name node2 is 127.0.1.1 [[]hostname-loopback]"
	examine 0 env GLOO_SOCKET_IFNAME=eth0 srun "${step[@]}" ./hosts srank doctor
	finds
	hosts 's/.*node2.*/10.42.9.9 node2/'
	examine 0 srun "${step[@]}" ./hosts srank doctor
	finds "warning: node2: the host's own name node2 does not lead to it (10.42.9.9 is no address of it), and Gloo then takes the loopback interface [[]hostname-loopback]"
	hosts 's/.*node2.*//'
	examine 0 srun "${step[@]}" ./hosts srank doctor
	finds "warning: node2: the host's own name node2 does not lead to it (*), and Gloo then takes the loopback interface [[]hostname-loopback]"
}

@test "PMIx: rank 0's node may call itself by the loopback interface, as Debian does" {
	# And have a network of its own in front of the one that leads to the others, which is then a
	# bridge with eth0's address.
	broken node2 'ip link add docker0 type veth peer name docker1 && ip link set docker0 up &&
			ip address add 172.17.0.1/16 dev docker0 &&
			ip link add br0 address $(cat /sys/class/net/eth0/address) type bridge && ip link set br0 up &&
			ip address del 10.42.1.2/16 dev eth0 && ip link set eth0 master br0 &&
			ip address add 10.42.1.2/16 dev br0' \
		'ip link del br0; ip link del docker0; ip address add 10.42.1.2/16 dev eth0'
	hosts 's/.*node2.*/127.0.1.1 node2/'
	examine 0 srun --mpi=pmix -N2 --ntasks-per-node=2 -w node2,node3 --gres=gpu:2 \
		./hosts sh -c '[ $SLURM_NODEID = 0 ] && export GLOO_SOCKET_IFNAME=br0 ||
			export GLOO_SOCKET_IFNAME=eth0; exec srank doctor --strict'
	finds
	examine 0 srun --mpi=pmix -N2 --ntasks-per-node=2 -w node2,node3 --gres=gpu:2 ./hosts srank doctor --json
	jq -e '[.findings[].id] == ["hostname-loopback"] and .tasks[0]."listen.interface" == "br0"
		and .tasks[0].interfaces == "lo, docker0, br0"' <<<"$output"
}

@test "PMIx: no route, no answer, a refusal and another program are told apart" {
	way node2 10.42.1.1 unreachable
	examine 1 srun "${step[@]}" srank doctor
	finds 'error: node2: node1 (10.42.1.1), where rank 0 listens on port *, cannot be reached from here (*) [[]unreachable]'
	on node2 sh -c "${undo[0]#*:}"
	undo=()
	way node2 10.42.1.1 filtered
	examine 1 srun "${step[@]}" srank doctor
	finds 'error: node2: node1 (10.42.1.1), where rank 0 listens on port *, does not answer (*) [[]filtered]'
	on node2 sh -c "${undo[0]#*:}"
	undo=()
	# Rank 0 is on node1.
	examine 1 env MASTER_ADDR=node3 srun "${step[@]}" srank doctor
	finds 'error: node1 and node2: node3 (10.42.1.3), which MASTER_ADDR says while rank 0 is on node1, port *, refuses the connection (Connection refused) [[]refused]'
	hold node3 0.0.0.0 23456
	examine 1 env MASTER_ADDR=node3 MASTER_PORT=23456 srun "${step[@]}" srank doctor
	finds 'error: node1 and node2: node3 (10.42.1.3), which MASTER_ADDR says while rank 0 is on node1, port 23456, takes connections, but does not answer (*) [[]silent]'
}

# narrow: what has more than 600 bytes is lost on the way of the researcher's programs from node2 to
# node1, as where a switch takes smaller packets than the hosts send.
narrow()
{
	local address
	address=$(on node1 cat /sys/class/net/eth0/address)
	# It must not answer in the place of eth0 when others ask for node2.
	broken node2 "ip link add link eth0 name narrow type macvlan mode bridge &&
		ip link set narrow arp off up &&
		ip neigh add 10.42.1.1 lladdr $address dev narrow nud permanent &&
		tc qdisc add dev narrow root tbf rate 1gbit burst 600 limit 100k &&
		ip route replace 10.42.1.1/32 dev narrow src 10.42.1.2 table 77 &&
		ip rule add uidrange 20001-20001 to 10.42.1.1 lookup 77" \
		'ip rule del uidrange 20001-20001 to 10.42.1.1 lookup 77; ip link del narrow' ||
		skip 'SKIPPED, NOT PASSED: this kernel cannot narrow a link'
}

@test "PMIx: large messages that are lost are found, and small ones that pass do not hide them" {
	narrow
	examine 1 srun "${step[@]}" srank doctor
	finds 'error: node2: node1 (10.42.1.1), where rank 0 listens on port *, can be reached, but larger messages are lost (*) [[]large-messages]'
}

@test "without PMIx, who loses large messages says so" {
	narrow
	examine 1 srun --mpi=none -w node1,node2 -N2 -n2 srank doctor --timeout 2
	finds 'error: 1 of 2 ranks have not reported in 2 s: 1 [[]ranks-missing]'
	[[ $stderr == *'rank 1 on node2 does not reach rank 0 at node1 (10.42.1.1) port '*': large-messages; '* ]]
}

@test "PMIx: a node that is cut off altogether is named without PMIx" {
	local began=$SECONDS
	broken node2 'ip route add unreachable 10.42.1.1/32' 'ip route del unreachable 10.42.1.1/32'
	examine 1 srun "${step[@]}" srank doctor --timeout 3
	finds 'error: node2: 2 of 4 ranks have not reported in 3 s: 2,3 [[]ranks-missing]' \
		'error: PMIx has not brought the ranks together in 3 s [[]pmix-apart]'
	[[ $stderr == *'rank 2 on node2 does not reach rank 0 at node1 (10.42.1.1) port '*': unreachable; '* ]]
	((SECONDS - began < 30))
}

@test "PMIx: two nodes that do not reach each other are named" {
	way node2 10.42.1.3 filtered
	examine 1 srun --mpi=pmix -N4 -n4 srank doctor
	finds 'error: 1 of 6 connections between nodes fail: node2 to node3 (no answer) [[]mesh]'
	way node3 10.42.1.4 unreachable
	examine 1 srun --mpi=pmix -N4 -n4 srank doctor
	finds 'error: 2 of 6 connections between nodes fail: node2 to node3 (no answer), node3 to node4 (no route) [[]mesh]'
}

@test "PMIx: a link that is slower than the others is found" {
	examine 0 srun --mpi=pmix -N8 -n8 srank doctor --strict
	[[ $output != *'TO NEXT NODE'* ]]
	examine 0 srun --mpi=pmix -N8 -n8 srank doctor --bandwidth
	[[ $output == *'verdict: fine'* ]]
	[[ $output =~ 'TO NEXT NODE'.*'node1 '[^$'\n']*' s  '[0-9.]+' Gbit/s' ]]
	broken node2 'tc qdisc add dev eth0 root tbf rate 50mbit burst 64kbit latency 50ms' \
		'tc qdisc del dev eth0 root' ||
		skip 'SKIPPED, NOT PASSED: this kernel cannot slow down an interface'
	# What node1 sends there waits for answers that have to go the same way.
	examine 0 srun --mpi=pmix -N8 -n8 srank doctor --bandwidth
	grep 'Gbit/s go to' <<<"$output" | grep -v '^warning: node1: .* go to node2' >"$(home slow)"
	[[ $(<"$(home slow)") == 'warning: node2: 0.0'?' Gbit/s go to node3, and half of the nodes send '*' or more [slow-link]' ]]
}

@test "PMIx: a port that is held is named with its holder, and the network is tried by another" {
	hold node1 0.0.0.0 23456
	examine 1 env MASTER_PORT=23456 srun "${step[@]}" srank doctor
	finds 'error: node1: port 23456, where rank 0 would listen, is held by a process that this user cannot see [[]port-held]'
	# One of the user's own; and without MASTER_PORT a free one is found.
	submit -N1 -w node1 <<-'END'
		#!/bin/bash
		exec /usr/bin/python3 -c '
		import socket, time
		s = socket.create_server(("", 23457))
		open("held.mine", "w").close()
		time.sleep(60)'
	END
	appear held.mine
	examine 1 env MASTER_PORT=23457 srun "${step[@]}" srank doctor
	finds 'error: node1: port 23457, where rank 0 would listen, is held by process * (python3) [[]port-held]'
	examine 0 env SRANK=ports=23457-23458 srun "${step[@]}" srank doctor
	finds
	[[ $output == *'at node1 port 23458'* ]]
	examine 1 srun "${step[@]}" srank doctor --srank ports=23457-23457
	finds 'error: node1: all ports from 23457 to 23457, where rank 0 would listen, are held [[]port-held]'
}

@test "without PMIx rank 0 names who has not come, and they say why" {
	step=(--mpi=none -N2 --ntasks-per-node=2 --nodelist='node1,node2')
	way node2 10.42.1.1 unreachable
	examine 1 srun "${step[@]}" srank doctor --timeout 2
	finds 'error: 2 of 4 ranks have not reported in 2 s: 2,3 [[]ranks-missing]'
	[[ $stderr == *'rank 2 on node2 does not reach rank 0 at node1 (10.42.1.1) port '*': unreachable; '* ]]
	on node2 sh -c "${undo[0]#*:}"
	undo=()
	examine 1 srun "${step[@]}" sh -c \
		'[ $SLURM_PROCID != 2 ] || exit 0; exec srank doctor --timeout 2'
	finds 'error: 1 of 4 ranks have not reported in 2 s: 2 [[]ranks-missing]'
	# Late, but in time.
	examine 0 srun "${step[@]}" sh -c \
		'[ $SLURM_PROCID != 0 ] || sleep 2; exec srank doctor --strict'
	finds
}

@test "PMIx: a site whose PMIx does not join the nodes is told, and examined without it" {
	local late='[ $SLURM_PROCID != 2 ] || sleep 3; exec srank doctor'
	examine 0 env SLURM_PMIX_FENCE=tree srun "${step[@]}" sh -c "$late"
	finds 'warning: PMIx does not join the nodes of this step [[]pmix-unjoined]'
	examine 0 env SLURM_PMIX_DIRECT_CONN=false srun "${step[@]}" sh -c "$late"
	finds 'warning: PMIx does not join the nodes of this step [[]pmix-unjoined]'
}

@test "PMIx: missing ranks are named, and nothing hangs" {
	local began=$SECONDS
	examine 3 srun "${step[@]}" sh -c \
		'[ $SLURM_PROCID != 2 ] || exit 3; exec srank doctor --timeout 2'
	finds 'error: node2: 1 of 4 ranks have not reported in 2 s: 2 [[]ranks-missing]' \
		'error: PMIx has not brought the ranks together in 2 s [[]pmix-apart]'
	# Its GPU is not idle for all that is known.
	examine 3 srun "${step[@]}" sh -c \
		'[ $SLURM_PROCID != 3 ] || exit 3; exec srank doctor --timeout 2'
	finds 'error: node2: 1 of 4 ranks have not reported in 2 s: 3 [[]ranks-missing]' \
		'error: PMIx has not brought the ranks together in 2 s [[]pmix-apart]'
	examine 1 srun --mpi=pmix -N2 -n4 sh -c \
		'[ $SLURM_PROCID != 0 ] || exit 1; exec srank doctor --timeout 2'
	[[ $stderr == *'rank 1 on node'*' does not reach rank 0 at node1'* ]]
	((SECONDS - began < 45))
}

# Neither may a server that does not answer: slurmstepd of rank 1, the parent of the task, is
# stopped as a debugger or a hanging file system would do it. What it would hand on to srun goes
# into files.
@test "PMIx: a server that is stopped is not waited for" {
	local words pid
	write stopped <<-'END'
		#!/bin/bash
		if ((SLURM_PROCID == 1)); then
			echo $PPID >parent.new
			mv parent.new parent
			until grep -q 'State:.T' /proc/$PPID/status; do sleep 0.1; done
		fi
		"$@" >said.$SLURM_PROCID 2>&1
		echo $? >code.$SLURM_PROCID.new
		mv code.$SLURM_PROCID.new code.$SLURM_PROCID
	END
	for words in 'exec --timeout 2 true' 'doctor --timeout 2'; do
		rm -f "$(home '')"/{parent,code.*,said.*}
		submit -N2 --ntasks-per-node=1 <<-END
			#!/bin/bash
			exec srun --mpi=pmix -N2 -n2 ./stopped srank $words
		END
		appear parent
		pid=$(<"$(home parent)")
		on node2 grep -q slurmstepd "/proc/$pid/comm"
		on node2 kill -STOP "$pid"
		appear code.0 code.1
		on node2 kill -CONT "$pid"
		ended
		head "$(home '')"/{said,code}.[01]
		[[ $(<"$(home code.0)") == 1 && $(<"$(home code.1)") == 1 ]]
		grep -qF 'PMIx: connection: the server of this node does not answer in 2 s' \
			"$(home said.1)"
	done
}

@test "interfaces that NCCL and Gloo are told are there, and lead to the others" {
	local variable
	for variable in NCCL GLOO; do
		examine 1 env "${variable}_SOCKET_IFNAME=ib0" srun "${step[@]}" srank doctor
		finds "error: node1 and node2: ${variable}_SOCKET_IFNAME=ib0 takes no interface of this node: *[[]interface-missing]"
		examine 1 env "${variable}_SOCKET_IFNAME=lo" srun "${step[@]}" srank doctor
		finds "error: node1 and node2: ${variable}_SOCKET_IFNAME=lo takes the loopback interface [[]interface-loopback]"
		examine 0 env "${variable}_SOCKET_IFNAME=eth0" srun "${step[@]}" srank doctor --strict
		finds
	done
	# NCCL's list is of prefixes, and one that excludes takes lo unless it says otherwise.
	examine 0 env NCCL_SOCKET_IFNAME=ib,eth srun "${step[@]}" srank doctor --strict
	examine 0 env NCCL_SOCKET_IFNAME=^lo,docker0 srun "${step[@]}" srank doctor --strict
	examine 1 env NCCL_SOCKET_IFNAME=^docker0 srun "${step[@]}" srank doctor
	finds '*NCCL_SOCKET_IFNAME=^docker0 takes the loopback interface [[]interface-loopback]'
	examine 1 env GLOO_SOCKET_IFNAME=eth srun "${step[@]}" srank doctor
	finds '*GLOO_SOCKET_IFNAME=eth takes no interface*'
	# Gloo wants all that it is told.
	examine 1 env GLOO_SOCKET_IFNAME=eth0,ib0 srun "${step[@]}" srank doctor
	finds '*GLOO_SOCKET_IFNAME=eth0,ib0: ib0 is no interface of this node: *[[]interface-missing]'
	examine 1 env GLOO_SOCKET_IFNAME=eth0,lo srun "${step[@]}" srank doctor
	finds '*GLOO_SOCKET_IFNAME=eth0,lo takes the loopback interface [[]interface-loopback]'
}

# second NODE ADDRESS OTHER: fast0 of a network of its own, on which OTHER is unless it is empty;
# behind as many interfaces without an address as a node of virtual machines has.
second()
{
	broken "$1" "for i in \$(seq 40); do ip link add a\$i type veth peer name b\$i; done
		ip link add fast0 type veth peer name fast1 && ip link set fast0 up && ip link set fast1 up &&
		ip address add $2/32 dev fast0" \
		'for i in $(seq 40); do ip link del a$i; done; ip link del fast0'
	[[ ! $3 ]] || broken "$1" "ip route add $3/32 via 10.42.1.${3##*.} src $2" "ip route del $3/32"
}

@test "PMIx: another network than that of MASTER_ADDR is no fault where it joins the nodes" {
	local setting
	second node1 10.77.0.1 10.77.0.2
	second node2 10.77.0.2 10.77.0.1
	for setting in NCCL_SOCKET_IFNAME=fast0 GLOO_SOCKET_IFNAME=fast0 GLOO_SOCKET_IFNAME=eth0,fast0; do
		examine 0 env "$setting" srun "${step[@]}" srank doctor --strict
		finds
	done
	# One of the two is tried, that to which rank 0's way does not lead.
	examine 0 env NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=fast0 srun "${step[@]}" srank doctor --strict
	finds
	examine 0 srun "${step[@]}" env NCCL_SOCKET_IFNAME=fast0 srank doctor --json
	jq -e '.tasks[2]."listen.interface" == "fast0"' <<<"$output"
}

@test "without PMIx another network than that of MASTER_ADDR is warned of, as none is tried" {
	local setting
	second node1 10.77.0.1 10.77.0.2
	second node2 10.77.0.2 10.77.0.1
	step=(--mpi=none "${step[@]:${#mpi[@]}}")
	for setting in NCCL_SOCKET_IFNAME=fast0 GLOO_SOCKET_IFNAME=fast0 GLOO_SOCKET_IFNAME=eth0,fast0; do
		examine 0 env "$setting" srun "${step[@]}" srank doctor
		finds "warning: node1 and node2: $setting takes fast0, and eth0 leads to rank 0 [[]interface-other]"
	done
}

@test "PMIx: another network than that of MASTER_ADDR that joins nobody" {
	second node1 10.77.0.1 ''
	second node2 10.78.0.2 ''
	# A network that is not there, and not the way out by the gateway.
	broken node1 'ip route add unreachable 10.78.0.0/16' 'ip route del unreachable 10.78.0.0/16'
	run --separate-stderr user env NCCL_SOCKET_IFNAME=fast0 srun "${step[@]}" srank doctor
	[[ $output == *'warning: node1 and node2: NCCL_SOCKET_IFNAME=fast0 takes fast0, and eth0 leads to rank 0 [interface-other]'* ]]
	[[ $output == *'error: 1 of 1 connections between nodes fail: node1 to node2 (no route) [mesh]'* ]]
}

@test "components of a heterogeneous step are different on purpose" {
	local mode
	for mode in "${mpi[@]}" --mpi=none; do
		# srun alone does not say where rank 0 is.
		examine 0 env MASTER_ADDR=node1 srun "$mode" -w node1 -N1 -n2 -c2 --gres=gpu:2 \
			srank doctor --strict : -w node2 -N1 -n1 srank doctor
		finds
	done
	# Slurm's PMIx has the nodes of such a step by name, and its servers do not find each other.
	examine 0 env MASTER_ADDR=node2 srun --mpi=none -w node2 -N1 -n1 --gres=gpu:1 \
		srank doctor --strict : -w node1 -N1 -n2 -c1 srank doctor
	finds
	submit <<-'END'
		#!/bin/bash
		#SBATCH -w node1 -N1 -n1 --gpus-per-node=4
		#SBATCH hetjob
		#SBATCH -w node2,node3 -N2 -n4 --ntasks-per-node=2 --gpus-per-node=2
		srun --mpi=none --het-group=0,1 bash -c '
			[ $SLURM_PROCID != 4 ] || exec taskset -c 0 srank doctor
			exec srank doctor --launcher torch'
	END
	ended
	output=$(<"$(home out)")
	# Its only task has one of four GPUs; within a component they are compared.
	finds 'warning: node1: 1 of 4 GPUs have a rank [[]gpu-idle]' \
		'warning: rank 4 on node3: may run on 1 CPU (0), and others on * [[]cpus-uneven]'
}

@test "GPUs that are missing, denied, shared, idle or none" {
	broken node2 'mv /dev/nvidia1 /dev/gone' 'mv /dev/gone /dev/nvidia1'
	examine 1 srun "${step[@]}" srank doctor
	finds 'error: node2: Slurm has given the task 0,1, and there is no /dev/nvidia1 [[]gpu-missing]'
	on node2 mv /dev/gone /dev/nvidia1
	on node2 chmod 0600 /dev/nvidia1
	undo=('node2:chmod 0666 /dev/nvidia1')
	examine 1 srun "${step[@]}" srank doctor
	finds 'error: node2: no access to /dev/nvidia1 [[]gpu-denied]'
	on node2 chmod 0666 /dev/nvidia1
	examine 1 srun "${step[@]}" sh -c '[ $SLURM_PROCID != 3 ] ||
		export CUDA_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES= ZE_AFFINITY_MASK= GPU_DEVICE_ORDINAL=
		exec srank doctor'
	[[ $output == *'error: rank 3 on node2: no GPU, where other ranks have some [gpu-none]'* ]]
	step=("${mpi[@]}" -N2 --ntasks-per-node=2 --nodelist='node1,node2')
	examine 0 srun "${step[@]}" --gres=gpu:4 srank doctor
	finds 'warning: node1 and node2: 2 of 4 GPUs have a rank [[]gpu-idle]'
	examine 0 srun "${step[@]}" --gres=gpu:1 srank doctor
	[[ $output == *'warning: node1: 1 of 2 tasks share the GPU of another: ranks 0 and 1 both have nvidia0 [gpu-shared]'* ]]
	[[ $output == *'warning: node2: 1 of 2 tasks share the GPU of another: ranks 2 and 3 both have nvidia0 [gpu-shared]'* ]]
	examine 0 srun "${step[@]}" --gpus-per-task=1 srank doctor
	finds 'warning: node1 and node2: Slurm left tasks no GPU at index LOCAL_RANK; *[[]binding]'
	examine 0 srun "${step[@]}" --gres=gpu:2 sh -c '[ $SLURM_NODEID = 0 ] || SLURM_GPUS_ON_NODE=3
		export SLURM_GPUS_ON_NODE; exec srank doctor'
	[[ $output == *'warning: node2: number of GPUs: 3, and 2 on node1 [gpu-count-differs]'* ]]
}

@test "GPUs that Slurm keeps from a task are not taken for broken ones" {
	local shape
	[[ -e /sys/fs/cgroup/devices/cgroup.procs ]] ||
		skip 'SKIPPED, NOT PASSED: this machine has no cgroup v1 device controller'
	boot doctor-caged --task-plugin task/affinity,task/cgroup --constrain-devices
	# Another job has the first one.
	submit -w node1 --gres=gpu:1 <<<$'#!/bin/bash\nsleep 60'
	until [[ $(user squeue --noheader --states=running --jobs="$job") ]]; do sleep 0.2; done
	for shape in '-n2 --gres=gpu:2' '-n1 --gpus-per-task=1' '-n1 --gres=gpu:3'; do
		# shellcheck disable=SC2086
		examine 0 srun --mpi=none -w node1 $shape -c2 srank doctor --strict
		finds
	done
	# Each task is told that its device is the first of the step's.
	for shape in --gpus-per-task=1 '--gres=gpu:2 --gpu-bind=single:1'; do
		# shellcheck disable=SC2086
		examine 0 srun --mpi=none -w node1 -n2 -c2 $shape srank doctor
		finds 'warning: node1: Slurm left tasks no GPU at index LOCAL_RANK; *[[]binding]'
	done
	user scancel "$job"
}

# driver NODE VERSION MODEL: of NVIDIA, with two GPUs and what belongs to them in /dev.
driver()
{
	broken "$1" "mount -t tmpfs tmpfs /proc/driver && cd /proc/driver &&
		mkdir -p nvidia/gpus/0000:07:00.0 nvidia/gpus/0000:0a:00.0 &&
		echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  $2  Sat' >nvidia/version &&
		printf 'Model: \t\t $3\nDevice Minor: \t 0\n' >nvidia/gpus/0000:07:00.0/information &&
		printf 'Model: \t\t $3\nDevice Minor: \t 1\n' >nvidia/gpus/0000:0a:00.0/information &&
		mknod -m 0666 /dev/nvidiactl c 195 255 && mknod -m 0666 /dev/nvidia-uvm c 511 0" \
		'umount /proc/driver; rm -f /dev/nvidiactl /dev/nvidia-uvm'
}

@test "drivers and GPUs that differ" {
	driver node1 535.104.01 'NVIDIA A101'
	driver node2 535.104.02 'NVIDIA A102'
	examine 0 srun "${mpi[@]}" -N2 -n2 -w node1,node2 --gres=gpu:1 srank doctor
	finds 'warning: node2: GPU: NVIDIA A102, and NVIDIA A101 on node1 [[]gpu-model-differs]' \
		'warning: node2: GPU driver: nvidia 535.104.02, and nvidia 535.104.01 on node1 [[]driver-differs]'
	# A step without GPUs does not mind.
	examine 0 srun "${mpi[@]}" -N2 -n2 -w node1,node2 srank doctor --strict
	finds
	# Nor does one that was given some of more.
	on node2 sh -c 'cp /proc/driver/nvidia/version /run && umount /proc/driver && rm /dev/nvidiactl /dev/nvidia-uvm'
	driver node2 535.104.01 'NVIDIA A101'
	on node2 rm -r /proc/driver/nvidia/gpus/0000:0a:00.0
	examine 0 srun "${mpi[@]}" -N2 -n2 -w node1,node2 --gres=gpu:1 srank doctor --strict
	finds
}

@test "what CUDA needs besides the GPU's own device file" {
	[[ ! -u /usr/bin/nvidia-modprobe ]] || skip 'SKIPPED, NOT PASSED: this machine makes device files by itself'
	driver node1 535.104.01 'NVIDIA A100'
	driver node2 535.104.01 'NVIDIA A100'
	examine 0 srun "${step[@]}" srank doctor --strict
	finds
	on node2 chmod 0600 /dev/nvidiactl
	examine 1 srun "${step[@]}" srank doctor
	finds 'error: node2: no access to /dev/nvidiactl [[]gpu-denied]'
	on node2 chmod 0666 /dev/nvidiactl
	on node2 rm /dev/nvidia-uvm
	examine 1 srun "${step[@]}" srank doctor
	finds 'error: node2: Slurm has given the task 0,1, and there is no /dev/nvidia-uvm [[]gpu-missing]'
	# The step has no GPU.
	examine 0 srun "${mpi[@]}" -N2 -n2 -w node1,node2 srank doctor --strict
	finds
}

@test "CPUs that are fewer than asked for, or than others have" {
	(($(nproc) > 1)) || skip 'SKIPPED, NOT PASSED: this machine has one CPU'
	examine 0 srun "${step[@]}" --cpus-per-task=2 sh -c \
		'[ $SLURM_PROCID != 3 ] || exec taskset -c 0 srank doctor; exec srank doctor'
	[[ $output == *'warning: rank 3 on node2: may run on 1 CPU (0), and 2 were asked for it [cpus-few]'* ]]
	examine 0 srun "${mpi[@]}" -N2 -n4 sh -c \
		'[ $SLURM_PROCID != 1 ] || exec taskset -c 0 srank doctor; exec srank doctor'
	[[ $output =~ 'warning: rank 1 on node'[12]': may run on 1 CPU (0), and others on '[0-9]+' [cpus-uneven]' ]]
}

@test "memory, /dev/shm and limits" {
	broken node2 'echo "MemTotal: 4096 kB" >/run/meminfo && mount --bind /run/meminfo /proc/meminfo' \
		'umount /proc/meminfo'
	examine 0 srun "${step[@]}" srank doctor
	finds 'warning: node2: 4 MiB of memory for the job, and * MiB on node1 [[]memory-differs]'
	on node2 umount /proc/meminfo
	on node2 mount -t tmpfs -o size=16m tmpfs /dev/shm
	undo=('node2:umount /dev/shm')
	examine 1 srun "${step[@]}" srank doctor
	finds 'error: node2: /dev/shm has 16 of 16 MiB free, for 2 ranks [[]shm-small]'
	on node2 mount -o remount,size=100m /dev/shm
	examine 0 srun "${step[@]}" srank doctor
	finds 'warning: node2: /dev/shm has 100 of 100 MiB free, for 2 ranks [[]shm-low]'
	on node2 umount /dev/shm
	undo=()
	examine 0 srun "${step[@]}" sh -c '[ $SLURM_NODEID = 0 ] || ulimit -n 512; exec srank doctor'
	finds 'warning: node2: a task may open 512 files [[]files-low]' \
		'warning: node2: limits: open files 512, *, and open files *on node1 [[]limits-differ]'
	examine 0 srun "${step[@]}" sh -c '[ $SLURM_PROCID != 0 ] || ulimit -n 200; exec srank doctor'
	[[ $output == *'warning: rank 0 on node1: may open 200 files, and has a connection to each of 4 ranks [files-low]'* ]]
}

@test "locked memory, where InfiniBand is used" {
	local low='ulimit -l 64; exec srank doctor'
	# With a port that is up, and a device file to use it by.
	broken node2 'mount -t tmpfs tmpfs /sys/class && cd /sys/class && mkdir -p infiniband/mlx5_0/ports/1 \
			infiniband/mlx5_1/ports/1 infiniband_verbs/uverbs0 infiniband_verbs/uverbs1 &&
			echo 4: ACTIVE >infiniband/mlx5_0/ports/1/state && echo mlx5_0 >infiniband_verbs/uverbs0/ibdev &&
			echo 1: DOWN >infiniband/mlx5_1/ports/1/state && echo mlx5_1 >infiniband_verbs/uverbs1/ibdev &&
			mkdir /dev/infiniband && mknod -m 0666 /dev/infiniband/uverbs0 c 231 192 &&
			mknod -m 0666 /dev/infiniband/uverbs1 c 231 193' \
		'umount /sys/class; rm -rf /dev/infiniband'
	examine 1 srun "${step[@]}" sh -c "$low"
	finds 'error: node2: no more than 64 KiB of memory can be locked, and there is InfiniBand (mlx5_0) [[]memlock-low]'
	examine 0 env NCCL_IB_DISABLE=1 srun "${step[@]}" sh -c "$low"
	finds
	examine 0 env NCCL_NET=Socket srun "${step[@]}" sh -c "$low"
	finds
	examine 1 env NCCL_IB_DISABLE=0 srun "${step[@]}" sh -c "$low"
	# As in a container that was started without it.
	on node2 rm /dev/infiniband/uverbs0
	examine 0 srun "${step[@]}" sh -c "$low"
	finds
}

@test "code that is not the same on all nodes is named by its file" {
	local node
	for node in node1 node2; do
		broken "$node" 'mkdir -p /tmp/code/lib && cd /tmp/code && echo 1 >conf.py &&
			echo 2 >train.py && echo 3 >lib/model.py' 'rm -rf /tmp/code'
	done
	examine 0 srun "${step[@]}" srank doctor --strict --tree /tmp/code/conf.py --tree /tmp/code
	finds
	# What Python writes there itself does not count.
	on node1 sh -c 'mkdir /tmp/code/__pycache__ && date >/tmp/code/__pycache__/x.pyc'
	examine 0 srun "${step[@]}" srank doctor --strict --tree /tmp/code
	finds
	on node2 sh -c 'cd /tmp/code && echo 9 >lib/model.py && echo >extra.py && rm train.py'
	examine 1 srun "${step[@]}" srank doctor --tree /tmp/code/conf.py --tree /tmp/code
	finds 'error: node2: /tmp/code is not what it is on node1: /tmp/code/extra.py (not on node1), /tmp/code/lib/model.py, /tmp/code/train.py (only on node1) [[]tree-differs]'
	examine 1 srun --mpi=none "${step[@]:${#mpi[@]}}" srank doctor --tree /tmp/code
	finds 'error: node2: /tmp/code is not what it is on node1: /tmp/code/extra.py (not on node1), /tmp/code/lib/model.py, /tmp/code/train.py (only on node1) [[]tree-differs]'
	on node2 rm -r /tmp/code
	examine 1 srun "${step[@]}" srank doctor --tree /tmp/code
	finds 'error: node2: /tmp/code: No such file or directory [[]tree-unreadable]'
	# What is there for others alone.
	on node2 sh -c 'mkdir -p /tmp/code && echo >/tmp/code/key && chmod 0600 /tmp/code/key'
	examine 1 srun "${step[@]}" srank doctor --tree /tmp/code
	finds 'error: node2: /tmp/code: /tmp/code/key: Permission denied [[]tree-forbidden]'
	examine 1 srun "${step[@]}" sh -c 'exec srank doctor --tree "/tmp/code$SLURM_NODEID"'
	finds 'error: node1: /tmp/code0: No such file or directory [[]tree-unreadable]' \
		'error: node2: was to read /tmp/code1, and node1 /tmp/code0, so these were not compared [[]trees-other]'
}

# Who opens a file under another's lease waits until it is given up, as for a file server that does
# not answer: fcntl(2), F_SETLEASE.
@test "a file that does not answer is waited for so long, and the others are compared" {
	local began=$SECONDS node
	for node in node1 node2; do
		broken "$node" 'mkdir -p /tmp/code && cd /tmp/code && echo 1 >conf.py && echo 2 >train.py' \
			'rm -rf /tmp/code'
	done
	on node2 sh -c 'echo 9 >/tmp/code/conf.py'
	on node2 /usr/bin/python3 -c '
import fcntl, os, signal, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(os.open("/tmp/code/train.py", os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
open("/home/researcher/held", "w").close()
end = time.time() + 60
while time.time() < end and not os.path.exists("/home/researcher/released"):
    time.sleep(0.1)' </dev/null >&2 3>&- &
	holder=$!
	until [[ -e $(home held) ]]; do
		kill -0 "$holder"
		sleep 0.05
	done
	examine 1 srun "${step[@]}" srank doctor --tree /tmp/code --tree /tmp/code/conf.py
	finds 'error: node2: /tmp/code: /tmp/code/train.py: no answer in 20 s [[]tree-stalled]' \
		'error: node2: /tmp/code/conf.py is not what it is on node1: /tmp/code/conf.py [[]tree-differs]'
	((SECONDS - began < 40))
	# Nothing of it is left to run.
	[[ -z $(on node2 pgrep -f 'srank doctor') ]]
}

@test "a tree of too many files is told, and not taken for another one" {
	broken node1 'mkdir -p /tmp/many && touch /tmp/many/conf.py' 'rm -rf /tmp/many'
	broken node2 'mkdir -p /tmp/many && cd /tmp/many && touch conf.py && seq 100000 | xargs touch' \
		'rm -rf /tmp/many'
	examine 0 srun "${step[@]}" srank doctor --tree /tmp/many
	finds 'warning: node2: /tmp/many was not compared: it has more than 100000 files [[]tree-large]'
	examine 0 srun "${step[@]}" srank doctor --strict --tree /tmp/many/conf.py
	finds
}

@test "systems that differ" {
	broken node2 "sed 's/^PRETTY_NAME=.*/PRETTY_NAME=other/' /etc/os-release >/run/release &&
		mount --bind /run/release \$(readlink -f /etc/os-release)" \
		'umount $(readlink -f /etc/os-release)'
	examine 0 srun "${step[@]}" sh -c \
		'[ $SLURM_NODEID = 0 ] || { export APPTAINER_NAME=torch.sif; exec setarch --uname-2.6 srank doctor; }
		exec srank doctor'
	finds 'warning: node2: kernel: 2.6.*, and * on node1 [[]kernel-differs]' \
		'warning: node2: system: other, and * on node1 [[]system-differs]' \
		'warning: node2: container: apptainer torch.sif, and * on node1 [[]container-differs]'
}

# preload: the C on standard input as ./preload.so. under COMMAND: it, on node 1 of the step with that.
preload()
{
	write preload.c
	user cc -shared -fPIC -o preload.so preload.c ||
		skip 'SKIPPED, NOT PASSED: the hosts have no compiler'
}
readonly under='[ $SLURM_NODEID = 0 ] || export LD_PRELOAD=$PWD/preload.so; exec srank doctor'

@test "clocks that are apart" {
	preload <<-'END'
		#define _GNU_SOURCE
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>

		int clock_gettime(clockid_t clock, struct timespec *time)
		{
			int r = syscall(SYS_clock_gettime, clock, time);

			time->tv_sec += clock == CLOCK_REALTIME ? 90 : 0;
			return r;
		}
	END
	examine 0 srun "${step[@]}" sh -c "$under"
	finds "warning: node2: the clock is 90.0 s before rank 0's [[]clock-skew]"
}

@test "C libraries that differ" {
	preload <<-'END'
		#include <string.h>
		#include <unistd.h>

		size_t confstr(int name, char *text, size_t size)
		{
			strncpy(text, "glibc 2.17", size);
			return sizeof("glibc 2.17");
		}
	END
	examine 0 srun "${step[@]}" sh -c "$under"
	finds 'warning: node2: C library: glibc 2.17, and glibc 2.* on node1 [[]libc-differs]'
}

@test "PMIx: a node that lacks what a connection takes" {
	# The kernel gives no memory for one to another host.
	preload <<-'END'
		#define _GNU_SOURCE
		#include <arpa/inet.h>
		#include <errno.h>
		#include <sys/syscall.h>
		#include <unistd.h>

		int connect(int fd, const struct sockaddr *address, socklen_t length)
		{
			const struct sockaddr_in *to = (const struct sockaddr_in *)address;

			if (address->sa_family == AF_INET && ntohs(to->sin_port) >= 20000 &&
			    ntohl(to->sin_addr.s_addr) >> 24 != 127) {
				errno = ENOBUFS;
				return -1;
			}
			return syscall(SYS_connect, fd, address, length);
		}
	END
	examine 1 srun "${step[@]}" sh -c "$under"
	finds 'error: node2: node1 (10.42.1.1), where rank 0 listens on port *, could not be tried (No buffer space available) [[]not-tested]'
}

@test "what the rules of the launch refuse, and numbers of the header that the step has not" {
	examine 1 srun "${step[@]}" srank doctor --launcher torchrun
	[[ $output == *'error: node1 and node2: '*'[step]'* ]]
	submit -N3 --ntasks-per-node=2 --gpus-per-node=4 <<-'END'
		#!/bin/bash
		srun --mpi=none -N2 -n4 --gpus-per-node=2 --ntasks-per-node=2 env SLURM_GPUS_PER_NODE=4 srank doctor
	END
	ended
	output=$(<"$(home out)")
	finds 'warning: node1 and node2: the job asked for 4 GPUs a node, and the step has 2 [[]gpu-fewer]' \
		'warning: the job has 3 nodes, and this step 2 [[]nodes-idle]'
}

@test "without PMIx a rank 0 that nobody knows is told of" {
	printf '%s\n' node2 node1 node2 | write hosts
	examine 1 env SLURM_HOSTFILE=hosts srun --mpi=none -n3 srank doctor
	finds 'error: node2: the node of rank 0 is not known: *[[]step]'
	[[ $stderr != *'does not reach'* ]]
}

@test "PMIx: a rank 0 that nobody knows is found" {
	printf '%s\n' node2 node1 node2 | write hosts
	examine 0 env SLURM_HOSTFILE=hosts srun "${mpi[@]}" -n3 srank doctor --strict
	finds
	[[ $output == *'to meet at node2 port '* && $output =~ 'node2  0,2 ' ]]
}

@test "outside of a step, and with words that are none of its own" {
	run user srank doctor
	[[ $status == 1 && $output == *'this is no task of a Slurm step'* ]]
	run user srank doctor python train.py
	[[ $status == 2 && $output == *'the doctor starts no program'* ]]
	run user srank doctor --launcher torchrum
	[[ $status == 1 && $output == *torchrun* ]]
	run user srank doctor --timeout 0
	[[ $status == 2 ]]
}
