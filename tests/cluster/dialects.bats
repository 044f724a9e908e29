#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The ways in which a site wants GPUs to be asked for: in each, the tasks of a real step find the
# GPUs that `srank explain` says.

# Quoted text is for the shell of a task.
# shellcheck disable=SC2016
load helpers

setup_file() {
	cluster_need dialects --gpus 4 --plugstack "optional $PLUGIN"
}

teardown_file() {
	cluster down --name dialects
}

# job DIALECT BINDING: what each task of 2 x 4 has at the index that its program takes, and how
# many GPUs it sees, as "RANK GPU COUNT"; with LOCAL_RANK beyond the last index, modulo their number.
job() {
	cat >"$(home job.yaml)" <<-END
		launcher: torch
		resources: {nodes: 2, gpus_per_node: 4}
		batch: {output: log}
		binding: {gpus: $2}
		run:
		  command:
		  - bash
		  - -c
		  - |
		    IFS=, read -ra gpus <<<"\$CUDA_VISIBLE_DEVICES"
		    echo "\$RANK \${gpus[LOCAL_RANK % \${#gpus[@]}]} \${#gpus[@]}"
	END
	echo "gpu_dialect: $1" >"$(home site.yaml)"
	as_researcher srank gen job.yaml --site site.yaml -o job.sh --force
	as_researcher timeout 60 sbatch --parsable --wait job.sh >"$BATS_TEST_TMPDIR/id" || {
		cat "$(home log)"
		return 1
	}
	sort -n "$(home log)"
}

# explained COUNT: the same from the table of ranks.
explained() {
	as_researcher srank explain job.yaml --site site.yaml |
		awk -v count="$1" 'table && NF == 5 { print $1, $4, count } $1 == "rank" { table = 1 }'
}

@test "every dialect: all GPUs of the node, the own one at LOCAL_RANK" {
	local dialect rank
	for dialect in gres gpus_per_node gpus_per_task gpus; do
		job $dialect order >"$BATS_TEST_TMPDIR/found"
		for rank in {0..7}; do
			echo "$rank $((rank % 4)) 4"
		done | diff - "$BATS_TEST_TMPDIR/found"
		explained 4 | diff - "$BATS_TEST_TMPDIR/found"
	done
}

@test "every dialect: the own GPU alone with mask" {
	local dialect
	for dialect in gres gpus_per_node gpus_per_task gpus; do
		job $dialect mask >"$BATS_TEST_TMPDIR/found"
		explained 1 | diff - "$BATS_TEST_TMPDIR/found"
	done
}

@test "gpus_per_task and gpus: none: Slurm's own binding, one GPU a task" {
	job gpus_per_task none >"$BATS_TEST_TMPDIR/found"
	explained 1 | diff - "$BATS_TEST_TMPDIR/found"
}
