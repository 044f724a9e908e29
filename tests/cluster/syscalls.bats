#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the plugin asks of the kernel, in slurmstepd, in the tasks before they are programs, and in
# srun: strace writes down every call that has to do with sockets, processes and files, with the
# functions that led to it, and the plugin's are those with a function of its own among them. None
# in a step for which nobody asks; else one socket, which rank 0's task binds to the port, and no
# process, ever.

# Quoted text is for the shell of a task; steps.bash and bats set what seems to be unset, and each
# test is a process of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load steps

setup_file()
{
	local stepd why
	cluster_possible
	[[ -z ${SRANK_CLUSTER_ROOT-} ]] ||
		skip "SKIPPED, NOT PASSED: strace is this machine's, not that of $SRANK_CLUSTER_ROOT"
	PATH=/usr/bin:$PATH type -P strace >/dev/null || skip 'SKIPPED, NOT PASSED: there is no strace'
	why=$(strace -k -o /dev/null true 2>&1) ||
		skip "SKIPPED, NOT PASSED: strace cannot trace here, or has no -k: ${why##*$'\n'}"
	# Debian's is a link; a mount would go to where it ends.
	stepd=$(readlink -f "$(PATH=/usr/sbin:$PATH type -P slurmstepd)")
	# Detached (-DDD), so that slurmd has the process that it started, and in one file a thread, so
	# that no call is cut in two by another's.
	cat >"$BATS_FILE_TMPDIR/slurmstepd" <<-END
		#!/bin/sh
		[ ! -e /usr/local/share/srank/trace ] || exec strace -DDD -f -ff -k -qq -e %network,%process,open,openat,access \\
			-o /var/log/trace /media/${stepd##*/} "\$@"
		exec /media/${stepd##*/} "\$@"
	END
	chmod 0755 "$BATS_FILE_TMPDIR/slurmstepd"
	: >"$BATS_FILE_TMPDIR/trace"
	boot syscalls --gpus 2 --mount "${stepd%/*}:/media" \
		--mount "$BATS_FILE_TMPDIR/slurmstepd:$stepd"
	SRANK_LOGS=$(cluster env | sed -n 's/^SRANK_CLUSTER_LOGS=//p')
	export SRANK_LOGS
	cluster install "$BATS_FILE_TMPDIR/trace"
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

# traced SRUN-OPTION...: the step, which must end well, with what its slurmstepd did written down.
traced()
{
	local node
	rm -f "$SRANK_LOGS"/node[12]/trace.*
	good srun "$@"
	# srun does not wait for slurmstepd.
	for node in node1 node2; do
		while on "$node" pgrep -x strace >/dev/null; do
			sleep 0.1
		done
		grep -q '^execve("/bin/true"' "$SRANK_LOGS/$node"/trace.*
	done
}

# calls FILE...: what the plugin asked for, a line a call: its name, and the path if it has one.
calls()
{
	awk '
		function finish() {
			if (own)
				print call
			own = 0
		}
		/^[a-z0-9_]+\(/ {
			finish()
			call = $0
			sub(/\(.*/, "", call)
			if (match($0, /"[^"]*"/))
				call = call " " substr($0, RSTART + 1, RLENGTH - 2)
		}
		/^ > .*\/spank_srank\.so\(/ { own = 1 }
		END { finish() }' "$@"
}

own()
{
	calls "$SRANK_LOGS/$1"/trace.*
}

# processes NODE: how many processes, threads aside, and programs were started.
processes()
{
	cat "$SRANK_LOGS/$1"/trace.* |
		grep -E '^(fork|vfork|clone|clone3|execve|execveat)\(' | grep -vc CLONE_THREAD || true
}

# tests_port CALLS: one socket, bound to any address; twice where the kernel has no IPv6.
tests_port()
{
	[[ $1 == $'socket\nsetsockopt\nsetsockopt\nbind ::' ||
		$1 == $'socket\nsocket\nsetsockopt\nbind 0.0.0.0' ]]
}

@test "who does not ask: no file, no socket, no process" {
	local node
	traced -N2 -n4 --gres=gpu:2 /bin/true
	for node in node1 node2; do
		[[ ! $(own "$node") ]]
		grep -q 'openat(.*/spank_srank\.so' "$SRANK_LOGS/$node"/trace.*
	done
}

# node1 has rank 0.
@test "who asks: one socket and one bind, by rank 0's task" {
	local option
	for option in tensorflow,verbose torchrun,elastic=1:2 mpi; do
		echo "$option"
		# One task a node, for torchrun.
		traced -N2 -n2 "--srank=$option" /bin/true
		case $option in
		mpi) [[ ! $(own node1) ]] ;;
		*) tests_port "$(own node1)" ;;
		esac
		[[ ! $(own node2) ]]
		[[ $option == mpi ]] ||
			[[ $(cd "$SRANK_LOGS/node1" && grep -lE '^bind\(.*AF_INET.*htons' trace.* | wc -l) == 1 ]]
	done
}

@test "where there are GPUs: files of /proc and /sys, and nothing else" {
	local node
	traced -N2 -n4 --gres=gpu:2 --srank=torch /bin/true
	for node in node1 node2; do
		run ! grep -vE '^(socket|setsockopt|bind .*|[a-z]+ /(proc|sys)(/.*)?)$' <(own "$node")
		[[ $(own "$node") == *' /proc/'* ]]
	done
	tests_port "$(own node1 | grep -vE ' /(proc|sys)(/|$)')"
	run ! grep -vE ' /(proc|sys)(/|$)' <(own node2)
}

# What a key asks for is seen, too; else the tests above might have seen nothing because they see
# nothing.
@test "a look-up: in each slurmstepd, in no task, and by no process of its own" {
	local node with
	traced -N2 -n2 --srank=addr=ip,verbose /bin/true
	for node in node1 node2; do
		[[ $(own "$node" | grep -c '^openat /etc/hosts$') == 1 ]]
		run ! grep -E '^(fork|vfork|clone|execve)' <(own "$node")
		with+="$(processes "$node") "
	done
	[[ $(own node1 | grep -cE '^bind (::|0\.0\.0\.0)$') == 1 ]]
	# As many as in the step without the plugin: the task and its program at the least.
	cluster plugstack
	traced -N2 -n2 /bin/true
	[[ $with == "$(processes node1) $(processes node2) " && $with =~ ^[2-9] ]]
}

@test "srun: nothing, but one question to slurmctld about a list of hosts" {
	write strace <<-'END'
		#!/bin/bash
		exec strace -f -ff -k -qq -e %network,%process,open,openat,access -o "$PWD/srun" srun "$@"
	END
	good ./strace -N2 -n2 --srank=torch,addr=ip /bin/true
	[[ ! $(calls "$(home srun.)"*) ]]
	rm "$(home srun.)"*
	printf '%s\n' node2 node1 | write hosts
	good env SLURM_HOSTFILE=hosts ./strace -n2 --srank=torch /bin/true
	[[ $(calls "$(home srun.)"* | grep -c '^connect 10.42.0.1$') == 1 ]]
	run ! grep -E '^(fork|vfork|clone|execve)' <(calls "$(home srun.)"*)
}
