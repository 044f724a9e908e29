#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The plugin with AddressSanitizer and UndefinedBehaviorSanitizer inside real slurmstepd processes:
# every kind of step, and the ways that end one, without a report. srun has the ordinary plugin, and
# slurmstepd is started with the sanitizer's runtime; the tasks are not, for their environment is
# the job's.

# Quoted text is for the shell of a task; each test is a process of its own, and bats sets $stderr.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load helpers

# The same path in all hosts, another file in login.
readonly PLUGIN=/mnt/spank_srank_faults.so

setup_file()
{
	local top build=$BATS_FILE_TMPDIR/build runtime stepd host
	local module=tests/unit/plugin/spank_srank_faults.so
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	: "${SRANK_PLUGIN:=$top/build/spank/plugin/spank_srank.so}"
	: "${SRANK_PLUGIN_FAULTS:=${SRANK_PLUGIN%/spank/*}/$module}"
	export SRANK_CLUSTER=sanitizer-$$
	"$BATS_TEST_DIRNAME/cluster" check ||
		skip 'SKIPPED, NOT PASSED: this machine cannot boot hosts'
	[[ -e $SRANK_PLUGIN_FAULTS ]] ||
		skip "SKIPPED, NOT PASSED: there is no $SRANK_PLUGIN_FAULTS (it is built with the unit tests)"
	[[ -z ${SRANK_CLUSTER_ROOT-} ]] ||
		skip "SKIPPED, NOT PASSED: the sanitizer's runtime is this machine's, not that of $SRANK_CLUSTER_ROOT"
	runtime=$(ldconfig -p | sed -n 's/.*libasan\.so\.[0-9].* => //p' | head -n 1)
	[[ $runtime ]] || skip "SKIPPED, NOT PASSED: there is no libasan, which gcc's package brings"
	# Debian's is a link; a mount would go to where it ends.
	stepd=$(readlink -f "$(PATH=/usr/sbin:$PATH type -P slurmstepd)")

	if ! {
		# What is reported must not end slurmstepd: srun would wait for it.
		meson setup '-Db_sanitize=address,undefined' -Db_lundef=false \
			-Dc_args=-fsanitize-recover=address "$build" "$top" &&
			ninja -j2 -C "$build" "$module"
	} >"$BATS_FILE_TMPDIR/log" 2>&1; then
		cat "$BATS_FILE_TMPDIR/log" >&2
		return 1
	fi
	install -D -m 0755 "$SRANK_PLUGIN_FAULTS" "$BATS_FILE_TMPDIR/login/${PLUGIN##*/}"
	for host in node1 node2; do
		install -D -m 0755 "$build/$module" "$BATS_FILE_TMPDIR/$host/${PLUGIN##*/}"
	done
	# Leaks are the unit tests' to find: slurmstepd itself does not free what it has at its end.
	cat >"$BATS_FILE_TMPDIR/slurmstepd" <<-END
		#!/bin/sh
		export LD_PRELOAD=$runtime
		export ASAN_OPTIONS=detect_leaks=0:halt_on_error=0:log_path=/var/log/sanitizer
		export UBSAN_OPTIONS=print_stacktrace=1:log_path=/var/log/sanitizer
		exec /media/${stepd##*/} "\$@"
	END
	chmod 0755 "$BATS_FILE_TMPDIR/slurmstepd"
	install -m 0755 "$BATS_TEST_DIRNAME/plugin-show" "$BATS_FILE_TMPDIR/show"
	# Without a plugin at boot: slurmd has no sanitizer, and would load it.
	cluster up --mount "$BATS_FILE_TMPDIR/%h:${PLUGIN%/*}" --mount "${stepd%/*}:/media" \
		--mount "$BATS_FILE_TMPDIR/slurmstepd:$stepd"
	cluster install "$BATS_FILE_TMPDIR/show"
	# Some callbacks and the tasks are the user's.
	for host in node1 node2; do
		cluster run "$host" chmod 1777 /var/log
	done
	SRANK_LOGS=$(cluster env | sed -n 's/^SRANK_CLUSTER_LOGS=//p')
	export SRANK_LOGS SANITIZER=$runtime
}

teardown_file()
{
	cluster down
}

setup()
{
	cluster plugstack "optional $PLUGIN"
}

user()
{
	timeout 60 "$BATS_TEST_DIRNAME/cluster" run --user researcher login -- "$@" </dev/null
}

write()
{
	"$BATS_TEST_DIRNAME/cluster" run --user researcher login -- \
		bash -c 'cat >"$1" && chmod 0755 "$1"' - "$1"
}

no_report()
{
	local report found=0
	for report in "$SRANK_LOGS"/node*/sanitizer.*; do
		[[ -e $report ]] || continue
		cat "$report" >&2
		found=1
	done
	return "$found"
}

@test "a fault would be reported" {
	local callback
	for callback in init_post_opt user_init task_init task_exit; do
		cluster plugstack "optional $PLUGIN fault=$callback:overrun"
		user env SRANK=torch srun -N1 -n1 -w node1 true
		grep -q 'ERROR: AddressSanitizer: heap-buffer-overflow' "$SRANK_LOGS"/node1/sanitizer.*
		rm "$SRANK_LOGS"/node1/sanitizer.*
	done
}

@test "steps" {
	local option
	for option in torch torchrun,elastic=1:2 mmengine tensorflow,verbose jax,gpus=mask,local=0 \
		horovod,gpus=first mpi deepspeed,gpus=map:1-0 torch,addr=ip torch,addr=nodeaddr; do
		run --separate-stderr user srun -N2 --ntasks-per-node=1 --gres=gpu:2 "--srank=$option" show
		[[ $status == 0 && $(wc -l <<<"$output") == 2 ]]
	done
	run --separate-stderr user srun -N2 -n7 --srank show
	[[ $status == 0 && $(wc -l <<<"$output") == 7 ]]
	run --separate-stderr user srun --srank -w node2 -n1 : -w node1 -n2 show
	[[ $status == 0 && $(wc -l <<<"$output") == 3 ]]
	write hosts <<<$'node2\nnode1\nnode2'
	run --separate-stderr user env SLURM_HOSTFILE=hosts srun --srank=tensorflow -m arbitrary -n3 show
	[[ $status == 0 && $(wc -l <<<"$output") == 3 ]]
	run --separate-stderr user srun -N2 -n2 show
	[[ $status == 0 && $(wc -l <<<"$output") == 2 ]]
	no_report
}

# ends_well OPTION: does the job end in time? The sanitizer's allocator has no lock for fork(2) in
# GCC 12, so that a child of slurmstepd, which has threads, waits for ever once in a while: a job
# that hangs is ended, loudly, and may be tried again. A fault of ours would let it hang again.
ends_well()
{
	local job deadline
	job=$(user sbatch --parsable --output=out "$1" job)
	job_ended 60 "$job" || {
		echo "# job $job with $1 did not end well under the sanitizer" >&3
		deadline=$((SECONDS + 30))
		# Its nodes are to be free for the next one.
		while [[ $(user squeue --noheader --jobs="$job") ]] && ((SECONDS < deadline)); do
			sleep 0.3
		done
		return 1
	}
}

@test "scripts" {
	local option
	# The srun of a script has the node's plugin.
	write job <<-END
		#!/bin/bash
		#SBATCH -N2 -n2
		export ASAN_OPTIONS=detect_leaks=0:halt_on_error=0:log_path=/var/log/sanitizer
		LD_PRELOAD=$SANITIZER srun env -u LD_PRELOAD show
	END
	for option in torch addr=ip off; do
		ends_well "--srank=$option" || ends_well "--srank=$option"
		user cat out
		[[ $(user cat out | wc -l) == 2 ]]
	done
	no_report
}

@test "steps that end by an error" {
	local variable fault kind
	for variable in SRANK=torchrn SRANK=torchrun MASTER_PORT=0 MASTER_ADDR=localhost SRANK=torch,gpus=map:9; do
		run --separate-stderr user env "$variable" srun -N2 -n4 --gres=gpu:1 --srank= show
		[[ $status != 0 && $status != 124 ]]
	done
	for fault in init_post_opt user_init task_init; do
		for kind in slurm memory; do
			cluster plugstack "optional $PLUGIN fault=$fault:$kind"
			run --separate-stderr user env SRANK=torch srun -N2 -n4 show
			[[ $status != 0 && $status != 124 && $stderr == *'error: srank: '* ]]
		done
	done
	no_report
}
