#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The generator holds its own script to the rules of `srank check`: what the spec brings into it is told
# at its place in the spec, an error leaves nothing behind, and the template's own lines are never
# told.
# shellcheck disable=SC2016,SC2154 # text for scripts; `here` and `examples` are set by the helpers

load helpers

setup() {
	common_setup
	export RECORD=$BATS_TEST_TMPDIR/record PATH=$here/stubs:$PATH
	mkdir "$RECORD"
	cat >job.yaml <<-'END'
		launcher: torchrun
		resources: {nodes: 2, gpus_per_node: 8, cpus_per_gpu: 6, mem: 64G}
		run: {script: train.py}
	END
}

# tells PLACE SEVERITY RULE ARGUMENT...: `srank gen job.yaml ARGUMENT...` tells that at PLACE,
# with what to do about it, and writes a script unless it is an error.
tells() {
	local place=$1 severity=$2 rule=$3
	shift 3
	rm -f out
	run srank gen job.yaml -o out "$@"
	[[ $output == *"$place"*": $severity: "*" [$rule]"*$'\n  fix: '* ]] || {
		echo "wanted: $place: $severity [$rule], got: $output"
		return 1
	}
	if [[ $severity == error ]]; then
		[[ $status -eq 1 && ! -e out ]]
	else
		[[ $status -eq 0 && -s out ]]
	fi
}

@test "what a spec brings into the script is told at its place in the spec" {
	local place severity rule set
	while IFS='|' read -r place severity rule set; do
		tells "$place" "$severity" "$rule" -s "$set"
	done <<-'END'
		-s:1:14|error|loopback-master|setup=export MASTER_ADDR=localhost
		-s:1:17|error|port-out-of-range|env.MASTER_PORT=99999
		-s:1:17|error|port-privileged|env.MASTER_PORT=80
		-s:1:10|warning|fixed-port|run.args=--master_port 29500
		-s:1:19|error|num-nodes-mismatch|run.args=--nnodes=3
		-s:1:6|error|variable-in-directive|name=$MODEL
		-s:1:14|error|variable-in-directive|batch.output=$HOME/logs/%j.out
		-s:1:15|warning|mem-without-unit|resources.mem=16
		-s:1:14|warning|log-folder|batch.output=%j/out.txt
	END
}

@test "lines of the script, and cures that a spec has a key for" {
	tells -s:1:7 error late-directive -s 'setup=#SBATCH --nodes=4'
	[[ $output == *' on line '+([0-9])' of the script [late-directive]'* ]]
	[[ $output == *'fix: say it by the keys of resources and batch, or in batch.extra'* ]]
	tells -s:1: error step-exceeds-job -s 'setup=mpirun -np 4 ./prepare'
	[[ $output == *'fix: ask for it under resources, or make the step smaller'* ]]
	# The rules that they are for exist.
	local rule count=0
	for rule in $(sed -n '/^} cures\[\]/,/^};/p; /^static const char .*told_before/,/^};/p' "$top/gen/cli/prove.c" |
		grep -oE '"[a-z0-9 -]+"' | tr -d '"'); do
		if [[ $rule == *-* ]]; then
			srank rules "$rule" >/dev/null
			((++count))
		fi
	done
	((count >= 30))
}

@test "numbers of the program that are not the plan's" {
	# Lightning is a task for each GPU, so its devices are the tasks of a node.
	tells -s:2:11 error ntasks-vs-gpus -s launcher=lightning -s 'run.args=[--devices, 4]'
	[[ $output == *'the program wants --devices 4 on each node, and srun starts 8 tasks there'* ]]
	srank gen job.yaml -s launcher=lightning -s 'run.args=[--devices, 8]' >out 2>words
	[[ -s out && ! -s words ]]
}

@test "a line of a block is told by its own place, whatever stands around it" {
	cat >>job.yaml <<-'END'
		setup:
		  - echo one
		  - |
		    # größe
		    if [ -d data ]; then

		      export MASTER_ADDR=127.0.0.1 # of this node
		    fi
		  - "export MASTER_PORT=80\necho"
		  - >
		    export MASTER_PORT=90
		    X=1
		teardown: |
		  exit 0
	END
	run srank gen job.yaml
	[[ $status -eq 1 ]]
	[[ $output == *'job.yaml:10:14: error: MASTER_ADDR is 127.0.0.1, '*'[loopback-master]'* ]]
	[[ $output == *'job.yaml:12:13: error: MASTER_PORT is 80, '*'[port-privileged]'* ]]
	# A folded text is another one in the script; then it is meant as a whole.
	[[ $output == *'job.yaml:13:5: error: MASTER_PORT is 90, '* ]]
	[[ $output == *'job.yaml:17:3: warning: teardown ends with `exit`, '*'[script-code]'* ]]
}

@test "code that goes on into the script, and code that never lets it run" {
	local code
	while read -r code; do
		tells -s:1: error script-code -s "setup=$code"
		tells -s:1: error script-code -s "teardown=$code"
	done <<-'END'
		echo hi |
		echo hi |&
		echo hi &&
		echo hi || # or what
		echo hi \
		echo "hi
		echo 'hi
		echo $(hi
		echo ${hi
		echo `hi
		if true; then
		for i in 1 2; do
		case x in
		while true
		{ echo hi
		( echo hi
		f() {
		cat <<EOF
		echo hi )
		fi
		a ;; b
	END
	while read -r code; do
		tells -s:1:7 error script-code -s "setup=$code"
		[[ $output == *'ends the job with `'*'before its ranks start'* ]]
	done <<-'END'
		exit 0
		exit
		exec python train.py
	END
	while read -r code; do
		srank gen job.yaml -s "setup=$code" >out 2>words
		[[ -s out && ! -s words ]]
	done <<-'END'
		[ -d data ] || exit 1
		if [ ! -d data ]; then exit 1; fi
		exec 2>log
		(exit 0)
		f() { exit 1; }
		echo exit
		echo hi # |
	END
}

@test "a trap that would take the place of teardown's" {
	local code
	for code in 'trap cleanup EXIT' "if true; then trap 'rm -f x' INT EXIT; fi" 'cd / && trap - 0'; do
		tells -s:1: error script-code -s "setup=$code" -s 'teardown=rm -f lock'
		[[ $output == *'setup sets a trap for EXIT in the place of that by which teardown runs'* ]]
		# Without one it is the user's own.
		srank gen job.yaml -s "setup=$code" >out 2>words
		[[ -s out && ! -s words ]]
	done
	for code in '(trap cleanup EXIT)' 'trap cleanup INT' 'trap -p EXIT' 'f() { trap cleanup EXIT; }' 'trap'; do
		srank gen job.yaml -s "setup=$code" -s 'teardown=rm -f lock' >out 2>words
		[[ -s out && ! -s words ]]
	done
}

@test "a site's own lines are told in the profile" {
	printf 'plugin: yes\nsetup: |\n  echo one\n  export MASTER_ADDR=localhost\n' >site.yaml
	run srank gen job.yaml --site site.yaml
	[[ $status -eq 1 ]]
	[[ $output == *'site.yaml:4:10: error: MASTER_ADDR is localhost'* ]]
}

@test "an included file's lines are told there" {
	printf 'env: {MASTER_PORT: 80}\n' >more.yaml
	sed -i '1i include: more.yaml' job.yaml
	run srank gen job.yaml
	[[ $status -eq 1 ]]
	[[ $output == *'more.yaml:1:20: error: MASTER_PORT is 80'* ]]
}

@test "a remark switches a rule off, as it does in a script" {
	# At the end of the line, alone above it, above all, anywhere for the file; others do not.
	local remark='srank: disable=num-nodes-mismatch' place
	spec() {
		printf '%s\n' "$1" 'launcher: torchrun' 'resources: {nodes: 2, gpus_per_node: 8}' "$2" \
			"run: {script: t.py, args: [--nnodes=3]}$3" "$4" >job.yaml
	}
	for place in 1 2 3 4; do
		local lines=('' '' '' '')
		lines[place - 1]=" # $remark"
		spec "${lines[@]}"
		if ((place < 4)); then
			srank gen job.yaml >out 2>words
			[[ ! -s words ]]
		else
			run srank gen job.yaml
			[[ $status -eq 1 && $output == *num-nodes-mismatch* ]]
		fi
	done
	spec '' '' '' '# srank: disable-file=fixed-port,num-nodes-mismatch'
	srank gen job.yaml >out
	spec '' '' ' # srank: disable=fixed-port all' ''
	srank gen job.yaml >out
	for remark in 'disable=num-nodes' 'disable=num-nodes-mismatch-not' 'disabled=all'; do
		spec "# srank: $remark" '' " # srank: $remark" ''
		run srank gen job.yaml
		[[ $status -eq 1 ]]
	done
	# No comment: a # within a word.
	spec '' '' '' 'name: "x#srank: disable-file=all"'
	run srank gen job.yaml
	[[ $status -eq 1 ]]
}

@test "submit makes neither script nor folder of what gen refuses" {
	sed -i '$a batch: {output: logs/%j.out}' job.yaml
	run srank submit job.yaml -s env.MASTER_PORT=80
	[[ $status -eq 1 && $output == *'-s:1:17: error: MASTER_PORT is 80'* ]]
	[[ ! -e logs && ! -e $RECORD/argv && -z $(compgen -G '*.sbatch') ]]
}

@test "of a sweep every value is looked at, once, before there is any file" {
	cat >>job.yaml <<-'END'
		sweep:
		  matrix: {lr: [1, 2, 3], port: [20000, 80, 90]}
		  as: files
		env: {MASTER_PORT: "{port}"}
	END
	run srank gen job.yaml -o points
	[[ $status -eq 1 && ! -e points ]]
	# The first that is wrong; its place is that of the variable.
	[[ $(grep -c 'job.yaml:7:20: error: MASTER_PORT is' <<<"$output") -eq 1 ]]
	srank gen job.yaml -o points -s 'sweep.matrix={lr: [1, 2, 3], port: [20000, 20001]}' 2>words
	[[ $(find points -name '*.sbatch' | wc -l) -eq 6 ]]
	[[ $(grep -c 'warning: MASTER_PORT is' words) -le 1 ]]
}

@test "the lines of the templates are never found fault with" {
	local spec
	for spec in "$examples"/*.yaml "$here"/specs/*.yaml; do
		[[ $spec != */per-node.yaml ]] || continue
		srank gen "$spec" >script 2>/dev/null
		srank check --strict script
		srank check --strict --slurm=22.05 script
		srank check --strict --slurm=24.11 script
	done
}
