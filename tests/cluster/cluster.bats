#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The private cluster itself: hosts that differ, commands that run as on a real one, and a machine
# that is afterwards what it was.

# Quoted text is for the shell of a host; bats and the helpers set stderr_lines and here.
# shellcheck disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	cluster_possible
	# Away from everybody else's; the state's place must not matter.
	export SRANK_CLUSTER_DIR=$BATS_FILE_TMPDIR/clusters SRANK_CLUSTER=self
	machine >"$BATS_FILE_TMPDIR/before"
	cluster up --gpu-type a100 --plugstack '# first'
}

teardown_file() {
	cluster down --all
}

# What of the machine a cluster could leave changed.
machine() {
	ip -oneline link | sed 's/ qlen.*//'
	cat /proc/self/mountinfo
	find /etc -xdev -printf '%p %m %s %T@\n' 2>/dev/null | sort
	ls -d /sys/fs/cgroup/*/srank*-self-* /sys/fs/cgroup/*/srank*-other-* /run/netns/* 2>/dev/null || true
}

# one_line CODE TEXT COMMAND...: fails with that code and one line that says TEXT.
one_line() {
	local code=$1 text=$2
	shift 2
	run --separate-stderr "$@"
	echo "exit $status, $stderr"
	[[ $status == "$code" && ${#stderr_lines[@]} == 1 && $stderr == *"$text"* ]]
}

# until_true COMMAND...: within five seconds.
until_true() {
	local i
	for ((i = 0; i < 100; i++)); do
		! "$@" >/dev/null || return 0
		sleep 0.05
	done
	return 1
}

@test "each host has its own name, address, processes and devices" {
	local host what
	for what in 'hostname' 'hostname -i' 'readlink /proc/self/ns/net' 'readlink /proc/self/ns/pid' \
		'readlink /proc/self/ns/mnt' 'readlink /proc/self/ns/uts' 'readlink /proc/self/ns/ipc'; do
		[[ $(for host in login node1 node2; do
			on "$host" sh -c "$what"
		done | sort -u | wc -l) == 3 ]]
	done
	[[ $(on node2 sh -c 'hostname; hostname -i; uname -n') == $'node2\n10.42.1.2\nnode2' ]]
	on node1 sh -c 'touch /tmp/here /dev/shm/here /run/here /var/spool/here /var/tmp/here'
	on node1 test -e /tmp/here
	on node2 sh -c 'for d in /tmp /dev/shm /run /var/spool /var/tmp; do test ! -e $d/here || exit 1; done'
	[[ $(on node1 sh -c 'ls /sys/class/net | paste -sd " "') == 'eth0 lo' ]]
}

@test "hosts reach each other by name" {
	[[ $(on node2 getent hosts node1) == 10.42.1.1*node1 ]]
	on node2 bash -c '</dev/tcp/login/6817'
	on login bash -c '</dev/tcp/node2/6818'
}

@test "run keeps exit code, input, arguments and signals" {
	run on login sh -c 'exit 7'
	[[ $status == 7 ]]
	[[ $(printf 'a\nb' | on node1 cat) == $'a\nb' ]]
	[[ $(on node1 -- printf '<%s>' 'a b' '' '--name' 'x') == '<a b><><--name><x>' ]]
	run -127 on node1 no-such-command
	run timeout --signal=TERM 1 "$here/cluster" run node1 sleep 3141
	[[ $status == 124 ]]
	until_true bash -c "! '$here/cluster' run node1 pgrep -x -f 'sleep 3141'"
}

@test "run gives a clean environment in the user's home" {
	run as_researcher env -u TERM
	[[ $(sort <<<"$output") == "$(printf '%s\n' HOME=/home/researcher LANG=C.UTF-8 \
		LOGNAME=researcher PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
		SHELL=/bin/bash USER=researcher)" ]]
	[[ $(as_researcher sh -c 'pwd; id -u; id -G') == $'/home/researcher\n20001\n20001' ]]
	[[ $(on login sh -c 'pwd; id -u') == $'/root\n0' ]]
}

@test "the home is shared, and what is not the hosts' own cannot be written" {
	as_researcher sh -c 'echo text >file'
	[[ $(on --user researcher node2 cat file) == text ]]
	run on node1 touch /usr/bin/here /here
	[[ $status == 1 && $output == *'Read-only file system'* ]]
	on node1 sh -c 'echo x >/etc/here'
	[[ ! -e /etc/here && ! -e /home/researcher ]]
}

@test "install and plugstack reach all hosts" {
	printf '#!/bin/sh\necho one\n' >"$BATS_TEST_TMPDIR/tool"
	chmod +x "$BATS_TEST_TMPDIR/tool"
	mkdir -p "$BATS_TEST_TMPDIR/tree/lib/more"
	echo more >"$BATS_TEST_TMPDIR/tree/lib/more/text"
	: >"$BATS_TEST_TMPDIR/thing.so"
	cluster install "$BATS_TEST_TMPDIR"/{tool,tree,thing.so}
	[[ $(on --user researcher node2 tool) == one ]]
	on node1 test -e /usr/local/lib/slurm/thing.so -a -e /usr/local/lib/more/text
	[[ $(on node1 cat /etc/slurm/plugstack.conf) == '# first' ]]
	cluster plugstack '# second' '# third'
	[[ $(on node1 cat /etc/slurm/plugstack.conf) == $'# second\n# third' ]]
	cluster plugstack
	[[ ! $(on node1 cat /etc/slurm/plugstack.conf) ]]
}

@test "a step has the nodes and GPUs that it asked for" {
	[[ $(as_researcher srun -N2 --ntasks-per-node=1 --gres=gpu:a100:8 sh -c \
		'echo $(hostname) $CUDA_VISIBLE_DEVICES $(ls /dev/nvidia* | wc -l)' | sort) == \
		$'node1 0,1,2,3,4,5,6,7 8\nnode2 0,1,2,3,4,5,6,7 8' ]]
	run as_researcher srun --gres=gpu:9 true
	[[ $status != 0 ]]
	# 64 CPUs are claimed; the machine may have two.
	[[ $(as_researcher srun -N1 -n64 -w node2 hostname | sort | uniq -c) == *'64 node2' ]]
}

@test "a batch job runs as the researcher and starts at once" {
	local began=$SECONDS
	job_ends 30 -N2 --output=out --wrap 'srun sh -c "id -un; hostname"'
	[[ $(sort "$(home out)") == $'node1\nnode2\nresearcher\nresearcher' ]]
	((SECONDS - began < 10))
}

@test "an interrupt reaches the tasks of a step" {
	as_researcher sbatch --parsable --output=int --wrap 'srun python3 -c "
import time
print(\"up\", flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    print(\"interrupted\")"' >"$BATS_TEST_TMPDIR/job"
	until_true grep -qs up "$(home int)"
	as_researcher scancel --signal=INT "$(<"$BATS_TEST_TMPDIR/job")"
	until_true grep -q interrupted "$(home int)"
}

@test "status tells which daemon is down" {
	run cluster status
	[[ $status == 0 && $output == *login*slurmctld*node1*slurmd*node2*slurmd* ]]
	on node2 sh -c 'kill $(cat /run/slurmd.pid)'
	until_true bash -c "! '$here/cluster' status"
	run cluster status
	[[ $status == 1 && $output == *'node2 '*'a daemon is down'* ]]
}

@test "up takes the place of what is broken, but not of what works" {
	run cluster up
	[[ $status == 0 && $output == *'was left behind by a run that ended: removed'* ]]
	one_line 1 "cluster 'self' is up already" cluster up
}

@test "clusters live side by side on one subnet" {
	cluster up --name other --nodes 3 --gpus 2 --cpus 8 --threads 2 --partition 'p:MaxTime=5'
	[[ $(cluster run --name other login sinfo -h -o '%P %D %l %c %z %G') == \
		'p* 3 5:00 8 2:2:2 gpu:2'* ]]
	[[ $(cluster run --name other node3 hostname -i) == 10.42.1.3 ]]
	[[ $(as_researcher sinfo -h -o '%D') == 2 ]]
	cluster down --name other
	cluster status >/dev/null
}

@test "a tree is laid over one host" {
	mkdir -p "$BATS_TEST_TMPDIR/node1/nvidia"
	echo here >"$BATS_TEST_TMPDIR/node1/nvidia/version"
	cluster up --name other --nodes 2 --gpus 0 --mount "$BATS_TEST_TMPDIR/%h:/proc/driver"
	[[ $(cluster run --name other node1 cat /proc/driver/nvidia/version) == here ]]
	cluster run --name other node2 test ! -e /proc/driver/nvidia/version
	cluster down --name other
}

@test "slurmd has the variables, gres.conf and cgroup.conf the lines that are given" {
	local etc
	cluster up --name other --nodes 1 --gpus 2 --env 'HWLOC_HIDE_ERRORS=2 or more' \
		--gres 'Name=gpu File=/dev/nvidia[0-1] Flags=amd_gpu_env' --task-plugin task/cgroup \
		--cgroup ConstrainRAMSpace=no
	run cluster run --name other node1 bash -c 'tr "\\0" "\\n" </proc/$(pgrep -o -x slurmd)/environ'
	[[ $output == *'HWLOC_HIDE_ERRORS=2 or more'* ]]
	etc=$(cluster env --name other | sed -n 's/^SRANK_CLUSTER_ETC=//p')/slurm
	[[ $(<"$etc/gres.conf") == 'Name=gpu File=/dev/nvidia[0-1] Flags=amd_gpu_env' ]]
	grep -qx ConstrainRAMSpace=no "$etc/cgroup.conf"
	run cluster run --name other --user researcher login srun --gres=gpu:1 \
		sh -c 'echo "${CUDA_VISIBLE_DEVICES-unset} $ROCR_VISIBLE_DEVICES"'
	[[ $output == 'unset 0' ]]
	cluster down --name other
}

@test "a task may open only the devices that it was given" {
	[[ -e /sys/fs/cgroup/devices/cgroup.procs ]] ||
		skip 'SKIPPED, NOT PASSED: this machine has no cgroup v1 device controller'
	cluster up --name other --gpus 4 --task-plugin task/affinity,task/cgroup --constrain-devices
	# No driver is behind them: what may be opened is said to have no device.
	run cluster run --name other --user researcher login srun -N2 --gres=gpu:1 sh -c '
		for k in 0 1 2 3; do head -c 1 /dev/nvidia$k; done 2>&1 | grep -c "not permitted"'
	[[ $status == 0 && $output == $'3\n3' ]]
	compgen -G '/sys/fs/cgroup/devices/srank*-other-node1' >/dev/null
	cluster down --name other
	run ! compgen -G '/sys/fs/cgroup/*/srank*-other-*'
}

@test "an interrupted up leaves nothing" {
	local pause
	for pause in 0.05 0.2 0.4 0.7; do
		timeout --signal=INT "$pause" env --default-signal "$here/cluster" up --name other \
			>/dev/null 2>&1 || true
		until_true test ! -e "$SRANK_CLUSTER_DIR/other" || cluster down --name other
		[[ ! $(pgrep -f "$SRANK_CLUSTER_DIR/other") ]]
	done
}

@test "a killed up is cleared by the next" {
	timeout --signal=KILL 0.5 "$here/cluster" up --name other >/dev/null 2>&1 || true
	run cluster up --name other --nodes 1
	[[ $status == 0 && $output == *"cluster 'other' is up"* ]]
	cluster down --name other
	[[ ! -e $SRANK_CLUSTER_DIR/other ]]
}

@test "what is asked for wrongly is named in one line" {
	one_line 2 '--nodes two is no number' cluster up --name other --nodes two
	one_line 2 '--gpus 010 is no number' cluster up --name other --gpus 010
	one_line 2 '--nodes 08 is no number' cluster up --name other --nodes 08
	one_line 2 '--nodes needs a value' cluster up --name other --nodes
	one_line 2 '--plugstack needs a value' cluster up --name other --plugstack
	one_line 2 '--name needs a value' cluster up --name
	one_line 2 '--user needs a value' cluster run --user
	one_line 2 '--mpi-ports foo is no range of ports' cluster up --name other --mpi-ports foo
	one_line 2 '--mpi-ports 9-8 is no range of ports' cluster up --name other --mpi-ports 9-8
	one_line 2 '2 sockets x 1 threads' cluster up --name other --cpus 7
	one_line 2 "unknown option '--gpu'" cluster up --name other --gpu 4
	one_line 2 '--mount x is not of the form' cluster up --name other --mount x
	one_line 2 '--env 1=x is not of the form NAME=VALUE' cluster up --name other --env 1=x
	one_line 2 '--gres needs a value' cluster up --name other --gres
	one_line 2 "'A B' is no cluster name" cluster status --name 'A B'
	one_line 2 "no host 'node9'" on node9 true
	one_line 2 "no user 'nobody9'" on --user nobody9 node1 true
	one_line 1 "cluster 'other' is not up" cluster run --name other node1 true
	one_line 1 "cluster 'other' is not up" cluster status --name other
	[[ ! -e $SRANK_CLUSTER_DIR/other ]]
}

@test "without root or namespaces it says so in one line, code 77" {
	local copy
	# The checkout may lie where only root can read it.
	copy=$(mktemp -d)
	chmod 0755 "$copy"
	cp "$here"/{cluster,conf.sh,host} "$copy"
	one_line 77 'needs root' setpriv --reuid 20001 --regid 20001 --clear-groups \
		"$copy/cluster" check
	one_line 77 'this machine lets no hosts be made' unshare --user --map-root-user \
		"$copy/cluster" check
	rm -r "$copy"
}

@test "down ends everything, twice if need be, and the machine is as before" {
	local namespace
	namespace=$(on node1 readlink /proc/self/ns/net)
	cluster down
	cluster down
	[[ ! -e $SRANK_CLUSTER_DIR/self ]]
	[[ ! $(pgrep -f "$SRANK_CLUSTER_DIR") ]]
	run grep -Fx "$namespace" <(readlink /proc/[0-9]*/ns/net)
	[[ $status == 1 ]]
	diff "$BATS_FILE_TMPDIR/before" <(machine)
}
