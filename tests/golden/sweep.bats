#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Sweeps that are a script for each point, and one document of several; sweeps as an array are in
# scripts.bats and, run, in tests/cluster.
# shellcheck disable=SC2016,SC2154 # odd values are the point; `here` is set by the helpers

load helpers

setup() {
	common_setup
	export RECORD=$BATS_TEST_TMPDIR/record PATH=$here/stubs:$PATH
	mkdir "$RECORD"
	cat >job.yaml <<-'END'
		name: "run {lr}"
		launcher: torch
		resources: {gpus_per_node: 4}
		run: {script: train.py, args: ["--lr={lr}", "{lr}{lr}", "x"]}
		batch: {output: "logs/{lr}/%j.out", time: 10}
		env: {LR: "<{lr}>"}
		sweep:
		  matrix: {resources.nodes: [1, 2], lr: [0.1, "it's $x", 3]}
		  as: files
		# srank: disable-file=variable-in-directive
	END
}

@test "a script for each point, with its values in their places" {
	srank gen job.yaml -o points
	[[ $(ls points) == $'run_0.1-0.sbatch\nrun_0.1-3.sbatch\nrun_3-2.sbatch\nrun_3-5.sbatch\nrun_it_s__x-1.sbatch\nrun_it_s__x-4.sbatch' ]]
	local script
	for script in points/*; do
		clean_script "$script"
		refute grep -q '{lr}' "$script"
	done
	grep -qx '#SBATCH --nodes=1' points/run_3-2.sbatch
	grep -qx '#SBATCH --nodes=2' points/run_3-5.sbatch
	script=points/run_it_s__x-4.sbatch
	grep -qxF '#SBATCH --job-name="run it'"'"'s $x"' $script
	grep -qxF '#SBATCH --output="logs/it'"'"'s $x/%j.out"' $script
	grep -qxF 'export LR="<it'"'"'s \$x>"' $script
	# Also a variable of the ranks.
	grep -qxF 'export lr="it'"'"'s \$x"' $script
	SRUN_PLUGIN=1 bash $script
	printf '%s\0' "--lr=it's \$x" "it's \$xit's \$x" x | cmp - <(tail -z -n 3 "$RECORD/argv")
}

@test "again: the same bytes, the same files; one point alone" {
	srank gen job.yaml -o points
	touch -d '2001-01-01' points/*
	srank gen job.yaml -o points
	[[ -z $(find points -newermt '2002-01-01' -type f) ]]
	srank gen job.yaml --point 4 | cmp - "points/run_it_s__x-4.sbatch"
	# What the script says makes it again makes it again.
	sed -n 's/^# Again:  //p' points/run_3-5.sbatch >call
	[[ $(<call) == 'srank gen job.yaml --point 5' ]]
	# shellcheck disable=SC1091 # it was made just now
	source call | cmp - points/run_3-5.sbatch
	srank explain job.yaml --point 3 | grep -q '2 nodes x 4 tasks = 8 ranks'
	srank explain job.yaml | grep -q '1 node x 4 tasks = 4 ranks'
}

@test "as many digits as the last point has" {
	srank gen job.yaml -s 'sweep.matrix={lr: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}' -s resources.nodes=1 -s name=x -o points
	[[ -e points/x-00.sbatch && -e points/x-10.sbatch && $(find points -type f | wc -l) -eq 11 ]]
}

@test "a file that differs is kept, unless --force" {
	srank gen job.yaml -o points
	cp -r points before
	echo mine >>points/run_3-2.sbatch
	run srank gen job.yaml -o points
	[[ $status -eq 1 ]]
	[[ $output == *'points/run_3-2.sbatch exists and differs, so it was kept; --force replaces it'* ]]
	grep -qx mine points/run_3-2.sbatch
	srank gen job.yaml -o points --force
	diff -r points before
}

@test "where to, and which" {
	run srank gen job.yaml
	[[ $status -eq 2 && $output == *'this sweep is 6 scripts: name a folder for them with -o, or one of them with --point'* ]]
	local point
	for point in 6 -1 x 1x '' 99999999999999999999; do
		run srank gen job.yaml --point "$point"
		[[ $status -eq 1 && $output == *"--point $point: the points are 0 to 5"* ]]
	done
	run srank gen job.yaml -s sweep=null -s resources.nodes=1 --point 0
	[[ $status -eq 1 && $output == *'--point is for a sweep that is a script for each point (sweep.as: files)'* ]]
	touch file
	run srank gen job.yaml -o file
	[[ $status -eq 1 && $output == *'cannot make the folder file: '* ]]
}

@test "a fault in one point is told, and nothing is submitted" {
	sed -i 's/resources.nodes: \[1, 2\]/resources.nodes: [1, 0]/' job.yaml
	run srank submit job.yaml
	[[ $status -eq 1 && $output == *error* ]]
	[[ ! -e $RECORD/argv && ! -e logs ]]
	run srank gen job.yaml -o points
	[[ $status -eq 1 ]]
}

@test "submit hands every point to sbatch, or one" {
	srank submit job.yaml >ids 2>words
	[[ $(grep -cx 4711 ids) -eq 6 && $(wc -l <ids) -eq 6 ]]
	[[ -d logs/0.1 && -d "logs/it's \$x" && $(find logs -name '*.sbatch' | wc -l) -eq 6 ]]
	srank submit job.yaml --point 2 >ids
	[[ $(wc -l <ids) -eq 1 ]]
	SBATCH_REFUSES=no run srank submit job.yaml
	[[ $status -eq 1 ]]
	[[ $(grep -c 'sbatch: error' <<<"$output") -eq 1 ]]
}

@test "in an array an axis cannot stand where all tasks are alike" {
	run srank gen job.yaml -s sweep.as=array -s 'sweep.matrix={lr: [1, 2]}' -s resources.nodes=1
	[[ $status -eq 1 ]]
	[[ $output == *'job.yaml:1:7: error: {lr} is another value in each task of the array, and an #SBATCH line is the same for all of them [script-sweep]'* ]]
	[[ $output == *'job.yaml:5:17: error: {lr} is another value'* ]]
	[[ $output == *'fix: write sweep.as: files for a script each, or %a for the number of the task'* ]]
}

@test "one document of several" {
	printf 'name: one\nlauncher: torch\nresources: {nodes: 1, ntasks: 1}\nrun: {command: a}\n---\nname: two\nlauncher: torch\nresources: {nodes: 1, ntasks: 2}\nrun: {command: b}\n' >many.yaml
	run srank gen many.yaml
	[[ $status -eq 1 && $output == *one* && $output == *two* ]]
	srank gen many.yaml --document two >first
	grep -qx '#SBATCH --job-name=two' first
	srank gen many.yaml -d 1 | grep -qx '#SBATCH --job-name=one'
	sed -n 's/^# Again:  //p' first >call
	[[ $(<call) == 'srank gen many.yaml --document two' ]]
	# shellcheck disable=SC1091 # it was made just now
	source call | cmp - first
	run srank gen many.yaml -d three
	[[ $status -eq 1 ]]
}

@test "the manual's example writes the scripts that it submits" {
	local call script
	call=$(sed -n 's/^\$ \(srank gen lr-sweep.yaml .*\)/\1/p' "$top/docs/srank.1.scd")
	script=$(sed -n 's/^\$ sbatch \(scripts\/sweep-.*\)/\1/p' "$top/docs/srank.1.scd")
	[[ $call && $script ]]
	cp "$examples/lr-sweep.yaml" .
	eval "$call"
	[[ $(find scripts -type f | wc -l) -eq 6 ]]
	clean_script "$script"
}
