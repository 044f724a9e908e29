#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What Slurm's releases do differently to a SPANK plugin, or might: how an option travels, what
# --export leaves of it, and a plugin that was built for another release. tests/matrix runs this
# under each of them; nothing here asks which one it is.

# Quoted text is for the shell of a task, and bats itself sets $stderr.
# shellcheck disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	cluster_need majors --plugstack "optional $PLUGIN"
}

teardown_file() {
	cluster down
}

setup() {
	export SRANK_CLUSTER=majors
	cluster plugstack "optional $PLUGIN"
}

teardown() {
	nodes_are_well
}

# A task's rank, and its launcher's own variable.
readonly REPORT='echo "${RANK-unset} ${PET_NNODES-unset}"'
readonly ONE_PER_NODE=(-N2 -n2)

# Writes standard input to the researcher's job script, runs it and prints what it said.
batch() {
	as_researcher bash -c 'cat >job.sh && chmod 0755 job.sh'
	as_researcher sbatch --quiet --wait --output=job.out "$@" job.sh || true
	as_researcher cat job.out
}

@test "srun, sbatch and salloc list the option" {
	local command
	for command in srun sbatch salloc; do
		[[ $(as_researcher "$command" --help) == *'--srank=launcher,key=value,...'* ]]
	done
}

@test "the option without argument, with one, and the last of several" {
	run --separate-stderr as_researcher srun "${ONE_PER_NODE[@]}" --srank bash -c "$REPORT"
	[[ $status == 0 && $(sort <<<"$output") == $'0 unset\n1 unset' ]]
	run --separate-stderr as_researcher srun "${ONE_PER_NODE[@]}" --srank=torchrun \
		bash -c "$REPORT"
	[[ $status == 0 && $(sort -u <<<"$output") == 'unset 2' ]]
	run --separate-stderr as_researcher srun "${ONE_PER_NODE[@]}" --srank=torchrun --srank=torch \
		bash -c "$REPORT"
	[[ $status == 0 && $(sort <<<"$output") == $'0 unset\n1 unset' ]]
}

# Slurm hands it to the script as SLURM_SPANK__SLURM_SPANK_OPTION_srank_srank, without argument as
# "(null)"; a user may set that, too.
@test "a script's option reaches its steps, also without argument" {
	[[ $(batch --srank -N2 -n2 <<-END
		#!/bin/bash
		srun bash -c '$REPORT' | sort
	END
	) == $'0 unset\n1 unset' ]]
	[[ $(batch --srank=torchrun -N2 -n2 <<-END
		#!/bin/bash
		srun bash -c '$REPORT' | sort -u
	END
	) == 'unset 2' ]]
	run --separate-stderr as_researcher env \
		SLURM_SPANK__SLURM_SPANK_OPTION_srank_srank=torchrun \
		srun "${ONE_PER_NODE[@]}" bash -c "$REPORT"
	[[ $status == 0 && $(sort -u <<<"$output") == 'unset 2' ]]
}

@test "--export=NONE and --export=NAME leave the option to the tasks" {
	run --separate-stderr as_researcher env KEPT=1 LOST=1 srun "${ONE_PER_NODE[@]}" --srank \
		--export=NONE /bin/bash -c 'echo "$RANK ${KEPT-unset} ${LOST-unset}"'
	[[ $status == 0 && $(sort <<<"$output") == $'0 unset unset\n1 unset unset' ]]
	run --separate-stderr as_researcher env KEPT=1 LOST=1 srun "${ONE_PER_NODE[@]}" --srank \
		--export=KEPT /bin/bash -c 'echo "$RANK ${KEPT-unset} ${LOST-unset}"'
	[[ $status == 0 && $(sort <<<"$output") == $'0 1 unset\n1 1 unset' ]]
}

@test "a script without the submitter's environment has the option, and so have its steps" {
	run --separate-stderr as_researcher env LOST=1 bash -c 'cat >job.sh <<-"END"
		#!/bin/bash
		echo "$HOME ${LOST-unset} $MASTER_ADDR ${RANK-unset}"
		srun --export=ALL bash -c "echo \$RANK" | sort
	END
	sbatch --quiet --wait --export=NONE --srank -N2 -n2 --output=job.out job.sh; cat job.out'
	[[ $status == 0 ]]
	[[ $output == $'/home/researcher unset node1 unset\n0\n1' ]]
}

# What a message is written with differs: 26.05 puts the time before it, others the host.
@test "a failing task's message reaches the user, and the step fails" {
	run --separate-stderr as_researcher srun -N2 -n4 --srank=torchrun echo ran
	[[ $status != 0 && $output == '' && $stderr == *'error: srank: '*'--ntasks-per-node=1'* ]]
}

# patch_version FILE: another minor release into what SPANK_PLUGIN() exports, which Slurm compares
# (_verify_syms() in its src/common/plugin.c); the number is MAJOR<<16 | MINOR<<8 | MICRO.
patch_version() {
	local value section address offset
	read -r value section < <(readelf --wide --dyn-syms "$1" |
		awk '$8 == "plugin_version" { print $2, $7 }')
	read -r address offset < <(readelf --wide --section-headers "$1" |
		sed 's/^ *\[ *//; s/\]//' | awk -v n="$section" '$1 == n { print $4, $5 }')
	printf '\x63' | dd of="$1" bs=1 conv=notrunc status=none \
		seek=$((16#$value - 16#$address + 16#$offset + 1))
}

@test "a plugin of another release: optional lets jobs run without it, required does not" {
	local other=$BATS_TEST_TMPDIR/other.so
	cp "$SRANK_PLUGIN" "$other"
	patch_version "$other"
	run ! cmp --silent "$SRANK_PLUGIN" "$other"
	cluster install "$other"
	cluster plugstack "optional ${PLUGIN%/*}/other.so"
	run --separate-stderr as_researcher srun "${ONE_PER_NODE[@]}" bash -c "$REPORT"
	[[ $status == 0 && $(sort -u <<<"$output") == 'unset unset' ]]
	cluster plugstack "required ${PLUGIN%/*}/other.so"
	run --separate-stderr as_researcher srun "${ONE_PER_NODE[@]}" bash -c "$REPORT"
	[[ $status != 0 && $output == '' ]]
}
