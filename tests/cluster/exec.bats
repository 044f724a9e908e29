#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `srank exec` where the plugin is not: the same environment, from PMIx and without it; a port that
# is free; a program that notices nothing of it; and every rank told when one is missing.

# Quoted text is for the shell of a task; steps.bash and bats set what seems to be unset, and each
# test is a process of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load steps

setup_file()
{
	boot exec --nodes 3
}

teardown_file()
{
	cluster down --name exec
}

setup()
{
	fresh
	# How srun starts the tasks in what is tried with PMIx and without it.
	means=none
	if [[ $BATS_TEST_DESCRIPTION == PMIx* ]]; then
		means=pmix
		user srun --mpi=list 2>&1 | grep -q pmix ||
			skip 'SKIPPED, NOT PASSED: this Slurm has no PMIx plugin'
	fi
}

teardown()
{
	release
	need_nodes
}

# Without the plugin, for the tests that are about what srank exec does alone.
no_plugin()
{
	cluster plugstack
}

# compare SRUN-OPTION... -- LAUNCHER [KEY...]: is the environment of srank exec in such a step the
# one of the plugin? Step and port are each step's own.
compare()
{
	local options=() list
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	options+=(--nodelist='node1,node2')
	list=$(IFS=,; echo "$*")
	write show <<-'END'
		#!/bin/bash
		env -u _ -u SHLVL | grep -v '^SLURM\|^SRUN\|^PMIX\|^OMPI\|^SRANK=' |
			PORT=${MASTER_PORT:-99999} perl -pe 's/\b(\d{5})\b/
				my $o = $1 - $ENV{PORT}; $o > -8 && $o < 8 ? "PORT" : $1/gex;
				s/^(SRANK_STEP|PET_RDZV_ID)=.*/$1/' |
			LC_ALL=C sort >"$1.$SLURM_PROCID"
	END
	good srun --mpi=none "${options[@]}" --srank="$list" ./show plugin
	cluster plugstack
	good srun --mpi="$means" "${options[@]}" srank exec --srank "$list" ./show option
	good env SRANK="$list" srun --mpi="$means" "${options[@]}" srank exec -- ./show variable
	cluster plugstack "optional $PLUGIN"
	for file in "$(home '')"/plugin.*; do
		for other in option variable; do
			diff "$file" "${file/plugin/$other}"
		done
	done
	[[ -e $(home plugin.1) && -e $(home option.1) ]]
	grep -q "^SRANK_VERSION=" "$(home option.1)"
	find "$(home '')" -mindepth 1 -delete
}

every_launcher()
{
	local launcher
	for launcher in torch mmengine lightning deepspeed jax tensorflow horovod mpi; do
		echo "$launcher"
		compare -N2 -n5 --gres=gpu:4 -- "$launcher"
	done
	for launcher in torchrun accelerate auto; do
		echo "$launcher"
		compare -N2 -n2 --ntasks-per-node=1 --gres=gpu:4 -- "$launcher"
	done
	compare -N2 -n2 --ntasks-per-node=1 --gres=gpu:2 -- torchrun elastic=1:2
}

@test "every launcher has the environment that the plugin gives without PMIx" {
	every_launcher
}

@test "PMIx: every launcher has the environment that the plugin gives" {
	every_launcher
}

every_binding()
{
	local mode
	for mode in order mask first map:3,2,1,0 none; do
		echo "$mode"
		compare -N2 --ntasks-per-node=4 --gres=gpu:4 -- torch "gpus=$mode"
	done
	compare -N2 --ntasks-per-node=4 --gres=gpu:4 -- torch gpus=mask local=0
	compare -N2 --ntasks-per-node=2 --gpus-per-task=2 -- torch
	compare -N2 --ntasks-per-node=2 -- torch
}

@test "every way to bind GPUs gives what the plugin gives without PMIx" {
	every_binding
}

@test "PMIx: every way to bind GPUs gives what the plugin gives" {
	every_binding
}

@test "PMIx tells rank 0's node under every distribution" {
	no_plugin
	good srun --mpi=pmix -N3 -n7 -m block srank exec step-show
	meets '?'
	good srun --mpi=pmix -N3 -n7 -m cyclic srank exec step-show
	meets '?'
	good srun --mpi=pmix -N2 -n7 -m plane=2 srank exec step-show
	meets '?'
	printf '%s\n' node3 node1 node3 node2 | write hosts
	good env SLURM_HOSTFILE=hosts srun --mpi=pmix -n4 srank exec step-show
	meets 3,1,3,2
	# However the site lets PMIx's servers bring values together (PMIxCollFence).
	good env SLURM_PMIX_FENCE=tree srun --mpi=pmix -N3 -n7 -m cyclic srank exec step-show
	meets '?'
	[[ $stderr == *'PMIx does not join the nodes of this step'*SLURM_PMIX_FENCE=ring* ]]
	# Where no fence holds the others up, one that comes late has the same world.
	good env SLURM_PMIX_FENCE=tree srun --mpi=pmix -N2 -n2 sh -c \
		'[ $SLURM_PROCID = 0 ] || sleep 3; exec srank exec step-show'
	meets '?'
}

# SLURM_* alone do not tell it. The servers of Slurm 22.05's PMIx find each other only where the
# nodes of the components are in the order of their names.
@test "PMIx tells rank 0's node in a heterogeneous step" {
	no_plugin
	submit <<-'END'
		#!/bin/bash
		#SBATCH -w node1 -N1 -n1
		#SBATCH hetjob
		#SBATCH -w node2,node3 -N2 -n3
		srun --mpi=pmix --het-group=0 -n1 srank exec --launcher torch step-show : \
			--het-group=1 -N2 -n3 -m block srank exec --launcher torch step-show
	END
	ended
	cat "$(home err)" >&2
	wrote out
	meets 1,2,2,3
}

@test "without PMIx an arbitrary distribution is refused, in one line a node" {
	no_plugin
	printf '%s\n' node2 node1 node2 | write hosts
	bad env SLURM_HOSTFILE=hosts srun -n3 srank exec step-show -- \
		'the node of rank 0 is not known' 'set MASTER_ADDR'
	[[ $(grep -c 'not known' <<<"$stderr") == 2 ]]
	# Who knows it can say so; NODE_RANK is then Slurm's node id.
	good env SLURM_HOSTFILE=hosts MASTER_ADDR=node2 srun -n3 srank exec step-show
	[[ $(cut -d ' ' -f 1-4,10 <<<"$output" | sort) == \
		$'0 node2 0 3 node2\n1 node1 1 3 node2\n2 node2 2 3 node2' ]]
}

# GPU 0 is near CPU 1 and GPU 1 near CPU 0, on a machine that only these tasks see.
@test "PMIx: the tasks of a node agree on their GPUs by the CPUs of all" {
	local file
	no_plugin
	(($(nproc) > 1)) || skip 'SKIPPED, NOT PASSED: one CPU alone is near everything'
	while read -r file text; do
		mkdir -p "$(home "machine/${file%/*}")"
		echo "$text" >"$(home "machine/$file")"
	done <<-'END'
		proc/driver/nvidia/gpus/0000:01:00.0/information Device Minor: 0
		proc/driver/nvidia/gpus/0000:02:00.0/information Device Minor: 1
		sys/bus/pci/devices/0000:01:00.0/local_cpulist 1
		sys/bus/pci/devices/0000:02:00.0/local_cpulist 0
		sys/devices/system/cpu/online 0-1
		sys/devices/system/cpu/cpu0/topology/package_cpus_list 0
		sys/devices/system/cpu/cpu1/topology/package_cpus_list 1
	END
	write there <<-'END'
		#!/bin/bash
		exec unshare --user --map-current-user --keep-caps --mount sh -c '
			mount --bind machine/sys /sys && mount --bind machine/proc/driver /proc/driver &&
				exec taskset -c $SLURM_LOCALID "$@"' there "$@"
	END
	user unshare --user --map-current-user --keep-caps --mount true ||
		skip 'SKIPPED, NOT PASSED: this kernel has no user namespaces'
	good srun --mpi=pmix -N2 --ntasks-per-node=2 --gres=gpu:2 \
		./there srank exec --launcher torch step-show CUDA_VISIBLE_DEVICES OMP_NUM_THREADS
	[[ $(awk '{ print $2, $5, $12, $13 }' <<<"$output" | sort) == \
		$'node1 0 1,0 1\nnode1 1 1,0 1\nnode2 0 1,0 1\nnode2 1 1,0 1' ]]
	good srun --mpi=pmix -N2 --ntasks-per-node=2 --gres=gpu:2 \
		./there srank exec --gpus mask --launcher torch step-show CUDA_VISIBLE_DEVICES
	[[ $(awk '{ print $2, $5, $12 }' <<<"$output" | sort) == \
		$'node1 0 1\nnode1 1 0\nnode2 0 1\nnode2 1 0' ]]
	# Alone, a task does not know what the other one takes.
	good srun --mpi=none -N2 --ntasks-per-node=2 --gres=gpu:2 \
		./there srank exec --launcher torch step-show CUDA_VISIBLE_DEVICES
	[[ $(awk '{ print $12 }' <<<"$output" | sort -u) == 0,1 ]]
}

@test "PMIx: where nine of ten ports are held, every start has a free one" {
	local held=() seen=() port
	no_plugin
	for ((port = 23000; port < 23100; port++)); do
		((port % 10 == 7)) || held+=("$port")
	done
	hold node1 0.0.0.0 "${held[@]}"
	while ((${#seen[@]} < 10)); do
		good srun --mpi=pmix -N2 -n4 -w node1,node2 srank exec --srank ports=23000-23099 step-show
		meets 1,1,2,2 || meets 1,2,1,2 || meets '?'
		[[ $port =~ ^230[0-9]7$ ]]
		seen+=("$port")
	done
	# They go on from their own first choice, and not from the start of the range.
	(($(printf '%s\n' "${seen[@]}" | sort -u | wc -l) > 2))
}

@test "PMIx: a port that nobody may have ends every rank, with rank 0's message alone" {
	local began=$SECONDS
	no_plugin
	hold node1 0.0.0.0 23000 23001
	bad srun --mpi=pmix -N2 -n4 -w node1,node2 srank exec --srank ports=23000-23001 step-show -- \
		'all ports from 23000 to 23001 are taken on node1' 'ports='
	[[ $(grep -c 'taken' <<<"$stderr") == 1 ]]
	bad env MASTER_PORT=23001 srun --mpi=pmix -N2 -n4 -w node1,node2 srank exec step-show -- \
		'port 23001 (as set) is taken on node1' busy=warn
	[[ $(grep -c 'taken' <<<"$stderr") == 1 ]]
	bad srun --mpi=pmix -N2 -n4 -w node1,node2 srank exec --port 23000 step-show -- \
		'port 23000 (port=) is taken on node1'
	((SECONDS - began < 20))
	good srun --mpi=pmix -N2 -n4 -w node1,node2 srank exec --port 23000 --srank busy=warn step-show
	meets '?'
	[[ $port == 23000 && $(grep -c 'warning: port 23000' <<<"$stderr") == 1 ]]
	good srun --mpi=none -N2 -n2 -w node1,node2 srank exec --port 23000 --srank busy=warn step-show
	[[ $(grep -c 'warning: port 23000' <<<"$stderr") == 1 ]]
	bad srun --mpi=pmix -N2 -n2 -w node1,node2 srank exec --srank ports=1000-1001 step-show -- \
		'all ports from 1000 to 1001 are for root only on node1' 'others above 1023'
}

# What was set in each task instead of once for all.
@test "PMIx: ranks that were given different addresses or ports do not start" {
	local began=$SECONDS
	no_plugin
	write apart <<-'END'
		#!/bin/bash
		export MASTER_ADDR=$(hostname)
		exec srank exec sleep 100
	END
	bad srun --mpi=pmix -N2 --ntasks-per-node=2 ./apart -- \
		'rank 2 on node2 has MASTER_ADDR=node2 and rank 0 has node1, so they would not meet;'
	[[ $(grep -c 'would not meet' <<<"$stderr") == 1 ]]
	bad srun --mpi=pmix -N2 -n4 -m block sh -c \
		'exec srank exec --port 2345$((SLURM_PROCID == 3 ? 7 : 6)) sleep 100' -- \
		'rank 3 on node2 has MASTER_PORT=23457 and rank 0 has 23456, so they would not meet;'
	((SECONDS - began < 30))
	# One host in several spellings.
	good srun --mpi=pmix -N2 -n2 sh -c \
		'[ $SLURM_PROCID = 0 ] || export MASTER_ADDR=10.42.1.1; exec srank exec step-show'
	[[ $(awk '{ print $10 }' <<<"$output" | sort) == $'10.42.1.1\nnode1' ]]
}

named_by_program()
{
	no_plugin
	write torchrun <<-'END'
		#!/bin/bash
		echo "$PET_RDZV_BACKEND $PET_NNODES $PET_NODE_RANK $PET_MASTER_ADDR ${RANK--} $*"
	END
	good srun --mpi="$means" -N2 --ntasks-per-node=1 --gres=gpu:1 srank exec ./torchrun a b
	[[ $(sort <<<"$output") == $'static 2 0 node1 - a b\nstatic 2 1 node1 - a b' ]]
	bad srun --mpi="$means" -N2 --ntasks-per-node=2 srank exec ./torchrun -- torchrun 'one task'
	# Who names another knows why.
	good srun --mpi="$means" -N2 --ntasks-per-node=1 --gres=gpu:1 srank exec -l torch ./torchrun
	[[ $(sort <<<"$output") == $'    0 \n    1 ' ]]
}

@test "a program that is a launcher is taken for what it is without PMIx" {
	named_by_program
}

@test "PMIx: a program that is a launcher is taken for what it is" {
	named_by_program
}

@test "without PMIx rank 0 tests the port of the plugin's rule" {
	no_plugin
	hold node1 0.0.0.0 23000
	bad srun --kill-on-bad-exit=1 -N2 -n2 -w node1,node2 \
		srank exec --srank ports=23000-23000 sleep 30 -- \
		'port 23000 (hash of job, step and restart) is taken on node1'
}

@test "where the plugin is at work, the program starts at once" {
	good srun --srank=torch,port=23005 -N2 -n2 srank exec --launcher jax --port 23006 step-show
	meets '?'
	[[ $port == 23005 ]]
	# A step inside the step, without the plugin, is another one.
	write inner <<-'END'
		#!/bin/bash
		((SLURM_PROCID)) || srun --overlap --mpi=none -N2 -n2 --srank=off srank exec step-show SRANK_STEP
	END
	good srun --srank=torch -N2 -n2 ./inner
	[[ $(sort <<<"$output") =~ ^0\ node1\ 0\ 2.*$'\n'1\ node2\ 1\ 2 ]]
	[[ $(awk '{ print $NF }' <<<"$output" | sort -u) =~ ^[0-9]+\.1$ ]]
	good srun --export=ALL,SRANK=off -N2 -n2 srank exec step-show
	[[ $(sort <<<"$output") == $'0 node1 - - - - - - - - -\n1 node2 - - - - - - - - -' ]]
}

@test "PMIx: the program has our exit code, signals, and no open file of ours" {
	no_plugin
	write state <<-'END'
		#!/bin/bash
		{
			grep -E 'SigBlk|SigIgn|Cpus_allowed:|^Threads' /proc/self/status
			ls /proc/self/fd
			ulimit -a
			umask
			pwd
		} >"$1.$SLURM_PROCID"
	END
	# In the same task: slurmstepd hands on files of its own, not always the same ones.
	good srun --mpi=pmix -N2 -n2 bash -c 'trap "" USR1; ./state bare; exec srank exec ./state exec'
	for rank in 0 1; do
		# USR1 is number 10.
		grep -q '^SigIgn:.*2..$' "$(home "bare.$rank")"
		diff "$(home "bare.$rank")" "$(home "exec.$rank")"
	done
	run user srun --mpi=pmix -n2 srank exec sh -c 'exit $((SLURM_PROCID * 7))'
	[[ $status == 7 ]]
	run user srun --mpi=pmix -n2 srank exec sh -c 'kill -USR1 $$'
	[[ $status == 138 ]]
	run -127 user srun -n1 srank exec ./no-such-program
	[[ $output == *'./no-such-program: no such program'* ]]
	# Words are handed on as they are.
	good srun -n1 srank exec -- printf '<%s>' '' 'a b' '$HOME' -- -x
	[[ $output == '<><a b><$HOME><--><-x>' ]]
}

@test "PMIx: the program has no variable of PMIx that it would not have without" {
	no_plugin
	write names <<-'END'
		#!/bin/bash
		compgen -e | LC_ALL=C sort
	END
	good srun --mpi=pmix -N1 -n1 ./names
	echo "$output" >"$BATS_TEST_TMPDIR/bare"
	good srun --mpi=pmix -N1 -n1 srank exec ./names
	echo "$output" >"$BATS_TEST_TMPDIR/exec"
	[[ ! $(LC_ALL=C comm -23 "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/exec") ]]
	LC_ALL=C comm -13 "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/exec" >"$BATS_TEST_TMPDIR/more"
	diff <(grep -v '^SRANK_' "$BATS_TEST_TMPDIR/more") <(printf '%s\n' GROUP_RANK LOCAL_RANK \
		LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT NNODES NODE_RANK OMP_NUM_THREADS RANK WORLD_SIZE)
}

@test "PMIx of a step around this one is not its own" {
	no_plugin
	write inner <<-'END'
		#!/bin/bash
		((SLURM_PROCID)) || exec srun --overlap --mpi=$1 -N2 -n2 "${@:2}"
	END
	for mpi in none pmix; do
		good srun --mpi=pmix -N2 -n2 ./inner "$mpi" srank exec --timeout 20 step-show
		meets '?'
		[[ ! $stderr ]]
	done
	good srun --mpi=pmix -N2 -n2 ./inner none srank doctor --timeout 20 --strict
	[[ $output == *'verdict: fine'* ]]
}

@test "a program that does not start: by what it is told, and with the code of a shell" {
	no_plugin
	write plain </dev/null
	chmod -x "$(home plain)"
	run user srun -n1 srank exec ./plain
	[[ $status == 126 && $output == *'./plain: it is not executable: chmod +x'* ]]
	echo '#!/opt/none/bin/python' | write train-script
	run user srun -n1 srank exec ./train-script
	[[ $status == 126 && $output == *'./train-script: its interpreter /opt/none/bin/python is not on this node; '* ]]
	printf '#!/bin/sh\r\n' | write dos
	run user srun -n1 srank exec ./dos
	[[ $status == 126 && $output == *'./dos: its lines end as on DOS'* ]]
	run -127 user srun -n1 srank exec train-script
	[[ $output == *'train-script: no such program in PATH; this folder has one: ./train-script'* ]]
	on node1 sh -c 'mkdir -p /run/noexec && mount -t tmpfs -o noexec tmpfs /run/noexec && cp /bin/true /run/noexec'
	run user srun -n1 -w node1 srank exec /run/noexec/true
	on node1 umount /run/noexec
	[[ $status == 126 && $output == *'/run/noexec/true: it is in a file system from which nothing may be started (noexec); '* ]]
	# Without a first line, as under execvp(3).
	echo 'echo "by sh"' | write bare
	good srun -n1 srank exec ./bare
	[[ $output == 'by sh' ]]
}

# Only the port is each step's own, and where it comes from.
same_table()
{
	local options
	# Of a step in a job with more CPUs, which the table knows from the job alone.
	write steps <<-'END'
		#!/bin/bash
		step() { srun "$@" true 2>&1 | sed -E 's/^srank( exec)?: //; /^MASTER_PORT/d; s/2[0-9]{4}/PORT/g'; }
		export SRANK=torch,verbose
		if [[ $1 == plugin ]]; then
			step --mpi=none --srank=torch,verbose "${@:2}" >plugin
		else
			step --mpi="$1" "${@:2}" srank exec >"$1"
		fi
	END
	for options in "$@"; do
		echo "$options"
		# shellcheck disable=SC2086 # words
		good sbatch --wait -N2 --exclusive --gres=gpu:4 --wrap "./steps plugin $options"
		no_plugin
		# shellcheck disable=SC2086
		good sbatch --wait -N2 --exclusive --gres=gpu:4 --wrap "./steps $means $options"
		cluster plugstack "optional $PLUGIN"
		diff "$(home plugin)" "$(home "$means")"
		grep -q '^NODE_RANK  NODE ' "$(home plugin)"
	done
}

@test "verbose prints the plugin's table without PMIx" {
	# Alone, a task does not know what the others of its node have.
	same_table '-N2 -n2 --gres=gpu:1' '-N1 -n1 --gres=gpu:2'
	# What only the job's variables tell: the step has one CPU, and the job more.
	no_plugin
	good sbatch --wait -N1 --exclusive --gres=gpu:1 --output=out --wrap \
		'echo $SLURM_JOB_CPUS_PER_NODE; srun -n1 --gres=gpu:1 taskset -c 0 srank exec --srank torch,verbose true 2>&1'
	output=$(<"$(home out)")
	local ncpus=${output%%$'\n'*}
	((ncpus > 1))
	[[ $output == *"one CPU to feed a GPU with; share out the job's $ncpus here: srun --cpus-per-task=$ncpus"* ]]
}

@test "PMIx: verbose prints the plugin's table" {
	same_table '-N2 --ntasks-per-node=2 --gres=gpu:2 -c1' '-N2 -n2 --gres=gpu:1' '-N1 -n1 --gres=gpu:2'
}

@test "PMIx: missing ranks are named, by rank 0 or in its place" {
	no_plugin
	bad srun --mpi=pmix -N2 -n4 sh -c \
		'[ $SLURM_PROCID != 2 ] || exit 3; exec srank exec --timeout 2 step-show' -- \
		'1 of 4 ranks have not come to srank exec in 2 s: 2;' --timeout
	[[ $(grep -c 'have not come' <<<"$stderr") == 1 ]]
	# One that dies in the middle.
	bad srun --mpi=pmix -N2 -n4 sh -c \
		'[ $SLURM_PROCID -lt 2 ] || kill -9 $$; exec srank exec --timeout 2 step-show' -- \
		'2 of 4 ranks have not come to srank exec in 2 s: 2,3;'
	bad srun --mpi=pmix -N2 -n4 sh -c \
		'[ $SLURM_PROCID != 0 ] || exit 3; exec srank exec --timeout 2 step-show' -- \
		'rank 0 has not come to srank exec in 2 s'
	[[ $(grep -c 'has not come' <<<"$stderr") == 2 ]]
	# Too late, but there when the missing are looked for. The step then ends as one of which a
	# rank has left PMIx.
	run user srun --mpi=pmix -N2 -n4 sh -c \
		'[ $SLURM_PROCID != 2 ] || sleep 3; exec srank exec --timeout 2 step-show'
	[[ $status != 0 && $output == *'all ranks have come to srank exec by now, but not all of them in 2 s (--timeout waits longer), or'* ]]
	# Late, but in time.
	good srun --mpi=pmix -N2 -n4 sh -c 'sleep $SLURM_PROCID; exec srank exec --timeout 20 step-show'
	meets '?'
}

@test "PMIx: a limit that keeps libpmix from starting is told" {
	no_plugin
	bad srun --mpi=pmix -N1 -n1 bash -c 'ulimit -u 1; exec srank exec step-show' -- \
		'srank exec: PMIx: connection: cannot start a thread: Resource temporarily unavailable (--no-pmix does without)'
}

# Where a variable is wrong that tells who is to speak.
@test "what is wrong with the variables is told by one task a node at least" {
	no_plugin
	bad srun --mpi=none -N1 -n3 env SLURM_LOCALID=77 srank exec step-show -- SLURM_LOCALID=77
	[[ $(grep -c SLURM_LOCALID <<<"$stderr") == 1 ]]
	bad srun --mpi=none -N1 -n3 env SLURM_PROCID=x srank exec step-show -- SLURM_PROCID=x
	[[ $(grep -c SLURM_PROCID <<<"$stderr") == 1 ]]
}

@test "PMIx: what one node alone cannot find ends the step" {
	local began=$SECONDS
	no_plugin
	good srun --mpi=pmix -N2 -n4 srank exec --addr ip step-show
	meets '?' 10.42.1.1
	on node2 sh -c 'grep -v node1 /etc/hosts >/run/hosts && mount --bind /run/hosts /etc/hosts'
	run user srun --mpi=pmix -N2 -n4 srank exec --addr ip sleep 100
	on node2 umount /etc/hosts
	[[ $status != 0 && $output == *'addr=ip: node1: '* ]]
	((SECONDS - began < 30))
	run user srun -N2 -n2 srank exec --addr nodeaddr true
	[[ $status != 0 && $output == *'only the plugin'* ]]
}

@test "PMIx: a program that is linked with MPI keeps it" {
	user which mpicc >/dev/null || skip 'SKIPPED, NOT PASSED: the hosts have no mpicc'
	no_plugin
	write ranks.c <<-'END'
		#include <mpi.h>
		#include <stdio.h>
		#include <stdlib.h>

		int main(int argc, char **argv)
		{
			int rank, size;

			MPI_Init(&argc, &argv);
			MPI_Comm_rank(MPI_COMM_WORLD, &rank);
			MPI_Comm_size(MPI_COMM_WORLD, &size);
			printf("%d/%d %s/%s\n", rank, size, getenv("RANK"), getenv("WORLD_SIZE"));
			return MPI_Finalize();
		}
	END
	user mpicc -o ranks ranks.c
	good srun --mpi=pmix -N2 -n3 srank exec ./ranks
	[[ $(sort <<<"$output") == $'0/3 0/3\n1/3 1/3\n2/3 2/3' ]]
	[[ $(grep -c './ranks uses MPI (libmpi' <<<"$stderr") == 1 ]]
	good srun --mpi=pmix -N2 -n3 srank exec --no-pmix ./ranks
	[[ $(sort <<<"$output") == $'0/3 0/3\n1/3 1/3\n2/3 2/3' && ! $stderr ]]
	cluster plugstack "optional $PLUGIN"
	good srun --mpi=pmix --srank=torch -N2 -n3 srank exec ./ranks
	[[ $(sort <<<"$output") == $'0/3 0/3\n1/3 1/3\n2/3 2/3' && ! $stderr ]]
	no_plugin
	good srun --mpi=pmix -N2 -n3 srank exec --launcher mpi ./ranks
	[[ $(sort <<<"$output") == $'0/3 (null)/(null)\n1/3 (null)/(null)\n2/3 (null)/(null)' && ! $stderr ]]
}

@test "PMIx: a host without libpmix does with SLURM_* alone" {
	local library
	no_plugin
	library=$(readlink -f "$(ldconfig -p | sed -n 's/.*libpmix\.so\.2 .*=> //p' | head -n 1)")
	[[ $library ]]
	write hide <<-END
		#!/bin/bash
		exec unshare --user --map-current-user --keep-caps --mount sh -c \\
			'mount --bind /dev/null $library && exec "\$@"' hide "\$@"
	END
	user ./hide true || skip 'SKIPPED, NOT PASSED: this kernel has no user namespaces'
	good srun --mpi=pmix -N2 -n4 ./hide srank exec step-show
	meets '?'
	good srun --mpi=pmix -N2 -n4 ./hide srank exec --srank verbose step-show
	[[ $stderr == *libpmix.so.2* ]]
	good ./hide srank version
	[[ $output == *'PMIx none'* ]]
}

@test "ranks of Open MPI's own mpirun meet, too" {
	user which mpirun >/dev/null || skip 'SKIPPED, NOT PASSED: the hosts have no mpirun'
	no_plugin
	# What Slurm says of the allocation is not of these ranks.
	write show <<-'END'
		#!/bin/bash
		echo "$RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $NNODES $MASTER_ADDR"
	END
	good mpirun --oversubscribe -n 3 srank exec ./show
	[[ $(sort <<<"$output") == $'0 3 0 3 0 1 login\n1 3 1 3 0 1 login\n2 3 2 3 0 1 login' ]]
	# Without PMIx nothing tells where they are, which one of them says.
	run user mpirun --oversubscribe -n 3 srank exec --no-pmix ./show
	[[ $status == 1 && $(grep -c "these ranks are not Slurm's" <<<"$output") == 1 ]]
	submit -N2 --ntasks-per-node=2 <<-'END'
		#!/bin/bash
		mpirun --map-by node srank exec ./show >ranks
	END
	ended
	cat "$(home err)" >&2
	wrote ranks
	[[ $(sort <<<"$output") == $'0 4 0 2 0 2 node1\n1 4 0 2 1 2 node1\n2 4 1 2 0 2 node1\n3 4 1 2 1 2 node1' ]]
}

one_list()
{
	no_plugin
	good srun --mpi="$means" -N2 -n4 srank exec --srank=help echo started
	[[ $(grep -c '^Launchers:' <<<"$output") == 1 && $output != *started* ]]
}

@test "--srank=help is one list for the step, and starts nothing, without PMIx" {
	one_list
}

@test "PMIx: --srank=help is one list for the step, and starts nothing" {
	one_list
}

@test "outside of a step it says so, and starts nothing" {
	run user srank exec echo started
	[[ $status == 1 && $output == *'this is no task of a Slurm step; start the program with srun'* ]]
	submit -N1 <<-'END'
		#!/bin/bash
		srank exec echo started
	END
	ended
	[[ ! -s $(home out) ]]
	grep -q 'start the program with srun' "$(home err)"
	run user srank exec
	[[ $status == 2 && $output == *'no program'* ]]
	run user srank exec --launcher torchrum true
	[[ $status == 1 && $output == *torchrun* ]]
	run user srank exec --gpus ordre true
	[[ $status == 1 && $output == *order* ]]
	run user srank exec --timeout 0 true
	[[ $status == 2 ]]
}

@test "PMIx: PyTorch's ranks meet, as tasks and under torchrun" {
	user /usr/bin/python3 -c 'import torch' ||
		skip 'SKIPPED, NOT PASSED: the hosts have no PyTorch'
	no_plugin
	write sum.py <<-'END'
		import os, torch, torch.distributed as dist
		dist.init_process_group('gloo')
		t = torch.tensor([float(dist.get_rank())])
		dist.all_reduce(t)
		# In one piece: workers of a torchrun share their output.
		os.write(1, b'%d %d %d\n' % (dist.get_rank(), dist.get_world_size(), t.item()))
	END
	good srun --mpi=pmix -N2 -n4 srank exec /usr/bin/python3 sum.py
	[[ $(sort <<<"$output") == $'0 4 6\n1 4 6\n2 4 6\n3 4 6' ]]
	good srun --mpi=pmix -N2 -n2 --gres=gpu:2 srank exec \
		torchrun --nproc_per_node=2 sum.py
	[[ $(sort <<<"$output") == $'0 4 6\n1 4 6\n2 4 6\n3 4 6' ]]
}
