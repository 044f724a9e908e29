#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The command itself: diagnostics, exit codes, and files that are never lost.
# shellcheck disable=SC2016,SC2154 # backquotes in messages; `examples` is set by the helpers

load helpers

setup() {
	common_setup
	cp "$examples/yolox-2x8.yaml" job.yaml
	open=''
}

teardown() {
	if [[ $open ]]; then
		chmod -R u+rwx "$open"
		rm -rf "$open"
	fi
}

@test "a typo: place, cause, nearest key, exit 1, no file" {
	sed 's/gpus_per_node:/gpus_per_nod:/' job.yaml >typo.yaml
	run srank gen typo.yaml -o out.sbatch
	[[ $status -eq 1 ]]
	[[ ! -e out.sbatch ]]
	# A fault of one word is told once, and not by what follows from it.
	[[ ${lines[0]} == "typo.yaml:8:23: error: unknown key gpus_per_nod in resources; did you mean gpus_per_node? [spec-unknown-key]" ]]
	[[ $(srank gen typo.yaml 2>/dev/null) == "" ]]
}

@test "all faults of a run are told" {
	cat >bad.yaml <<-'END'
		launcher: torchrunn
		run: {script: a.py}
		resources: {nodes: two, gpus_per_node: 8}
		batch: {time: 4h}
	END
	run srank gen bad.yaml -s resources.gpuss=1
	[[ $status -eq 1 ]]
	[[ $output == *bad.yaml:1:11:*torchrun* ]]
	[[ $output == *bad.yaml:3:20:* ]]
	[[ $output == *bad.yaml:4:15:* ]]
	[[ $output == *-s:1:* ]]
}

@test "a contradiction shows the identity" {
	run srank gen job.yaml -s resources.gpus=12
	[[ $status -eq 1 ]]
	[[ $output == *"gpus 12 != nodes 2 x gpus_per_node 8"* ]]
}

@test "a spec that cannot be read" {
	run srank gen nothere.yaml
	[[ $status -eq 1 ]]
	[[ $output == "nothere.yaml: error: "*"No such file or directory"* ]]
	run srank gen .
	[[ $status -eq 1 ]]
}

@test "standard output on a full disk is a failure" {
	[[ -c /dev/full ]] || skip "there is no /dev/full"
	run bash -c '"$1" gen job.yaml >/dev/full' - "$SRANK_BIN"
	[[ $status -eq 1 ]]
	[[ $output == *"cannot write to standard output: No space left on device"* ]]
}

@test "doctor: a report on a full disk is a failure" {
	local option
	[[ -c /dev/full ]] || skip "there is no /dev/full"
	# The only task of a step.
	export SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=localhost SLURM_STEP_NUM_NODES=1
	export SLURM_STEP_NUM_TASKS=1 SLURM_STEP_TASKS_PER_NODE=1 SLURM_NODEID=0 SLURM_PROCID=0
	export SLURM_LOCALID=0 SLURMD_NODENAME=localhost
	run srank doctor
	[[ $output == *'verdict: '* ]]
	for option in --no-pmix --json; do
		run bash -c '"$1" doctor "$2" >/dev/full' - "$SRANK_BIN" "$option"
		[[ $status -eq 1 && $output == 'srank doctor: cannot write to standard output'* ]]
		# Closed, its number must not become a socket's.
		run bash -c '"$1" doctor "$2" 0>&- 2>&1 >&-' - "$SRANK_BIN" "$option"
		[[ $status -eq 1 && $output == 'srank doctor: cannot write to standard output'* ]]
	done
}

@test "wrong calls: exit 2, nearest name, usage" {
	run srank
	[[ $status -eq 2 ]]
	run srank gne
	[[ $status -eq 2 && $output == *'did you mean `gen`?'* ]]
	run srank gen
	[[ $status -eq 2 && $output == *"no spec is named"*"usage: srank gen "* ]]
	run srank gen --outptu=x job.yaml
	[[ $status -eq 2 && $output == *"unknown option --outptu=x; did you mean --output?"* ]]
	run srank gen -q job.yaml
	[[ $status -eq 2 && $output == *"unknown option -q"* ]]
	run srank gen -o
	[[ $status -eq 2 && $output == *"option -o needs a value"* ]]
	run srank gen job.yaml other.yaml
	[[ $status -eq 2 ]]
	run srank gen --force job.yaml
	[[ $status -eq 2 ]]
	run srank version now
	[[ $status -eq 2 ]]
	run srank help nothing
	[[ $status -eq 2 ]]
}

# What is wrong with the words comes before what is wrong with the place.
@test "exec and doctor: wrong words, and those that are the program's" {
	local code word command list
	while IFS='|' read -r code word command; do
		echo "$command"
		# shellcheck disable=SC2086 # words
		run srank $command
		[[ $status -eq $code && ${lines[0]} == *"$word"* && $output != *'out of memory'* ]]
	done <<-'END'
		2|srank exec: unknown option --prot; did you mean --port?|exec --prot 3 true
		2|srank exec: unknown option -z|exec -zg true
		2|srank exec: option --gpus needs a value|exec --gpus
		2|srank exec: there is no program to become|exec --no-pmix
		2|srank exec: there is no program to become|exec --
		2|srank exec: --timeout 0 is no number of seconds from 1 to 86400|exec --timeout 0 true
		2|srank exec: --timeout 1e3 is no number|exec --timeout 1e3 true
		2|srank exec: --timeout 99999999999999999999 is no number|exec --timeout 99999999999999999999 true
		1|srank exec: gpus=ordre: no such value; did you mean gpus=order?|exec --gpus ordre --timeout 0 true
		1|srank exec: torchrum: no such key or launcher; did you mean torchrun?|exec -l torchrum true
		1|srank exec: SLURM_JOB_ID is not set, so this is no task of a Slurm step|exec true --prot
		2|srank doctor: --tree '' names no file or folder|doctor --tree=
		2|srank doctor: unknown option --trees; did you mean --tree?|doctor --trees a
		2|srank doctor: --timeout 3601 is no number of seconds from 1 to 3600|doctor --timeout 3601
		1|srank doctor: gpus=ordre: no such value|doctor --gpus ordre --timeout 0
		2|srank doctor: `python` is no option: the doctor starts no program|doctor python
	END
	for command in exec doctor; do
		# Where the message above leads, also with what it is about.
		for list in '' foo=1; do
			SRANK=$list run srank "$command" --srank=help
			[[ $status -eq 0 && ${lines[0]} == '--srank[=LIST], or SRANK=LIST '* ]]
			[[ $output == *$'\nLaunchers:\n  torch '*$'\nKeys:\n  launcher='* ]]
		done
		SRANK=help run srank "$command"
		[[ $status -eq 1 && $output == "srank $command: SRANK=help sets nothing; "* ]]
		SRANK=foo=1 run srank "$command" --help
		[[ $status -eq 0 && ${lines[0]} == "srank $command: "* ]]
	done
	SRANK=foo=1 run srank exec true
	[[ $status -eq 1 && $output == 'srank exec: SRANK: foo: no such key; --srank=help lists them' ]]
	SRANK=foo=1 run srank doctor
	[[ $status -eq 1 && $output == 'srank doctor: SRANK: foo: no such key; --srank=help lists them' ]]
}

@test "help in every form: exit 0, on standard output" {
	local name
	srank help | grep -q '^  gen '
	srank --help | cmp - <(srank help)
	srank -h | cmp - <(srank help)
	for name in gen submit explain launchers version; do
		srank help $name >long
		grep -q "^usage: srank $name" long
		srank $name --help | cmp - long
		srank $name -h | cmp - long
	done
}

@test "version and launchers" {
	[[ $(srank version) =~ ^"srank "[0-9]+\.[0-9]+\.[0-9]+$'\n'"libyaml " ]]
	srank --version | cmp - <(srank version)
	srank -V | cmp - <(srank version)
	[[ $(srank launchers | grep -cE '^(torch|torchrun|mmengine|accelerate|lightning|deepspeed|jax|tensorflow|horovod|mpi) +(worker|node) ') -eq 10 ]]
	srank launchers | grep -A2 '^torchrun ' | grep -q PET_NPROC_PER_NODE
	srank launchers | grep -A2 '^(all) *worker ' | grep -q LOCAL_WORLD_SIZE
}

@test "-o writes the same as standard output, readable to all" {
	umask 022
	srank gen job.yaml -o out.sbatch
	srank gen job.yaml | cmp - out.sbatch
	[[ $(stat -c %a out.sbatch) == 644 ]]
	umask 077
	srank gen job.yaml -o private.sbatch
	[[ $(stat -c %a private.sbatch) == 600 ]]
	# Nothing else is left in the folder.
	[[ $(ls -A) == $'job.yaml\nout.sbatch\nprivate.sbatch' ]]
}

@test "-o names what no script can be written to, or the spec itself" {
	local before
	before=$(<job.yaml)
	mkdir folder
	ln -s job.yaml link.yaml
	for name in job.yaml ./job.yaml link.yaml; do
		run srank gen job.yaml -o "$name" --force
		[[ $status -eq 1 && $output == "srank gen: $name is the spec itself; name another file" ]]
	done
	[[ $(<job.yaml) == "$before" ]]
	run srank gen job.yaml -o folder
	[[ $status -eq 1 && $output == 'srank gen: folder is a folder; name a file in it, as in -o folder/job.sbatch' ]]
	run srank gen job.yaml -o none/job.sbatch
	[[ $status -eq 1 ]]
	[[ $output == 'srank gen: cannot write none/job.sbatch: there is no folder none; make it with mkdir -p' ]]
	run srank gen job.yaml -o ''
	[[ $status -eq 2 && $output == *'-o names no file'* ]]
	# As a spec of that name is standard input.
	srank gen job.yaml -o - >out
	[[ -s out && ! -e ./- ]]
}

@test "-o keeps a file that differs, unless --force" {
	echo precious >out.sbatch
	chmod 750 out.sbatch
	run srank gen job.yaml -o out.sbatch
	[[ $status -eq 1 ]]
	[[ $output == "srank gen: out.sbatch exists and differs, so it was kept; --force replaces it" ]]
	[[ $(<out.sbatch) == precious ]]
	srank gen job.yaml -o out.sbatch --force
	srank gen job.yaml | cmp - out.sbatch
	[[ $(stat -c %a out.sbatch) == 750 ]]
}

@test "-o leaves a file with the same content alone" {
	srank gen job.yaml -o out.sbatch
	touch -d 2001-01-01 out.sbatch
	srank gen job.yaml -o out.sbatch
	[[ $(stat -c %Y out.sbatch) == $(date -d 2001-01-01 +%s) ]]
}

@test "-o never truncates when the new script is longer or shorter" {
	srank gen job.yaml -o out.sbatch
	head -c 100 out.sbatch >short.sbatch
	cat out.sbatch out.sbatch >long.sbatch
	run srank gen job.yaml -o short.sbatch
	[[ $status -eq 1 && $(stat -c %s short.sbatch) == 100 ]]
	run srank gen job.yaml -o long.sbatch
	[[ $status -eq 1 ]]
	cat out.sbatch out.sbatch | cmp - long.sbatch
}

@test "-o follows a link to the file, and does not replace it" {
	mkdir target
	echo old >target/out.sbatch
	ln -s target/out.sbatch link.sbatch
	srank gen job.yaml -o link.sbatch --force
	[[ -L link.sbatch ]]
	srank gen job.yaml | cmp - target/out.sbatch
}

@test "-o does not replace a link to a file that is not there" {
	ln -s nothere/out.sbatch link.sbatch
	run srank gen job.yaml -o link.sbatch
	[[ $status -eq 1 ]]
	[[ $output == "srank gen: cannot write link.sbatch: it is a link to a file that is not there; make that, or remove the link" ]]
	run srank gen job.yaml -o link.sbatch --force
	[[ $status -eq 1 && $(readlink link.sbatch) == nothere/out.sbatch ]]
}

@test "names of files cannot write to the terminal" {
	local name=$'\e[31mred\nline'
	run srank gen "$name"
	[[ $status -eq 1 && ${#lines[@]} -eq 1 && $output == '\x1b[31mred\nline: error: '* ]]
	run srank gen job.yaml "$name"
	[[ $status -eq 2 && $output == *'`\x1b[31mred\nline` is another one'* ]]
	run srank gen job.yaml -o "nothere/$name"
	[[ $status -eq 1 && ${#lines[@]} -eq 1 && $output == *'cannot write nothere/\x1b[31mred\nline: '* ]]
	run srank "$name"
	[[ $status -eq 2 && $output == 'srank: there is no command `\x1b[31mred\nline`'* ]]
	cp job.yaml "$name"
	srank explain "$name" >out
	refute grep -q $'\e' out
	grep -qF 'given at \x1b[31mred\nline:8:20' out
}

@test "-o to what is no file" {
	srank gen job.yaml -o /dev/null
	[[ -c /dev/null ]]
	srank gen job.yaml -o /dev/stdout | cmp - <(srank gen job.yaml)
	run srank gen job.yaml -o .
	[[ $status -eq 1 && $output == *". is a folder; name a file in it, as in -o ./job.sbatch"* ]]
	run srank gen job.yaml -o nothere/out.sbatch
	[[ $status -eq 1 && $output == *"cannot write nothere/out.sbatch: there is no folder nothere"* ]]
}

@test "-o leaves nothing behind when the disk is full" {
	# A file size limit stands for the disk.
	run bash -c 'trap "" XFSZ; ulimit -f 1; exec "$1" gen job.yaml -o out.sbatch' - "$SRANK_BIN"
	[[ $status -eq 1 ]]
	[[ $output == *"cannot write out.sbatch: File too large"* ]]
	[[ $(ls -A) == job.yaml ]]
}

@test "a site profile: named, the user's own, and one that is wrong" {
	echo 'gpu_dialect: gpus_per_node' >site.yaml
	srank gen job.yaml --site site.yaml | grep -q '^#SBATCH --gpus-per-node=8$'
	mkdir "$XDG_CONFIG_HOME/srank"
	cp site.yaml "$XDG_CONFIG_HOME/srank/site.yaml"
	srank gen job.yaml | grep -q '^#SBATCH --gpus-per-node=8$'
	echo 'gpu_dialect: gres' >other.yaml
	srank gen job.yaml --site other.yaml | grep -q '^#SBATCH --gres=gpu:8$'
	echo 'gpu_dialekt: gres' >other.yaml
	run srank gen job.yaml --site other.yaml
	[[ $status -eq 1 && $output == *other.yaml:1:1:*gpu_dialect* ]]
}

@test "a profile or template that may not be read is told, not passed over" {
	# For root there is nothing that may not be read, and bats' own folder is for root alone.
	local drop=() file
	[[ $EUID -ne 0 ]] || drop=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	open=$(mktemp -d)
	cp "$SRANK_BIN" "$open/srank"
	chmod -R a+rX "$open"
	mkdir -p "$open/config/srank/templates"
	drop+=(env XDG_CONFIG_HOME="$open/config")
	"${drop[@]}" "$open/srank" gen - <job.yaml >out ||
		skip "SKIPPED, NOT PASSED: another user cannot run $open/srank"
	for file in site.yaml templates/worker.mustache; do
		echo '# mine' >"$open/config/srank/$file"
		chmod a= "$open/config/srank/$file"
		run "${drop[@]}" "$open/srank" gen - -s launcher=torch <job.yaml
		[[ $status -eq 1 ]]
		[[ $output == "$open/config/srank/$file: error: "*"cannot be read: Permission denied"* ]]
		rm -f "$open/config/srank/$file"
	done
	# Nor is a folder that may not be looked into.
	chmod a= "$open/config/srank"
	run "${drop[@]}" "$open/srank" gen - <job.yaml
	[[ $status -eq 1 && $output == "$open/config/srank/site.yaml: error: "*"Permission denied"* ]]
}

@test "a site without the plugin gets a script that does without" {
	printf 'version: 1\nplugin: no\n' >site.yaml
	srank gen job.yaml --site site.yaml >script
	refute grep -q -e '--srank' -e 'export SRANK=' script
	grep -qF 'export PET_NODE_RANK=' script
	# Unless the spec insists.
	srank gen job.yaml --site site.yaml -s plugin=require >script
	grep -q -e '--srank' script
}

@test "a template of the user's, and one that is wrong" {
	mkdir -p "$XDG_CONFIG_HOME/srank/templates"
	echo '# mine: {{launcher}}' >"$XDG_CONFIG_HOME/srank/templates/torchrun.mustache"
	[[ $(srank gen job.yaml | tail -n 1) == "# mine: torchrun" ]]
	printf 'a\n{{#oops}}\n' >"$XDG_CONFIG_HOME/srank/templates/torchrun.mustache"
	run srank gen job.yaml -o out.sbatch
	[[ $status -eq 1 ]]
	[[ $output == *"torchrun.mustache:2:1: error: unknown variable \`oops\` [script-template]"* ]]
	[[ ! -e out.sbatch ]]
}
