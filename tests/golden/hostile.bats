#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Values that would break out of a careless script arrive byte for byte, and nothing runs
# that the user did not write as a command.
# The odd quoting here is the point: SC1003, SC1111, SC1112, SC2016, SC2088. SC2154: `here` and
# `examples` are set by the helpers.
# shellcheck disable=SC1003,SC1111,SC1112,SC2016,SC2088,SC2154

load helpers

setup() {
	common_setup
	export RECORD=$BATS_TEST_TMPDIR/record PATH=$here/stubs:$PATH
	mkdir "$RECORD"
	words=(
		'plain' 'two words' ' edge ' $'tab\there' $'line\nend' $'\nfirst' $'last\n'
		"it's" "'" '"' 'say "x"' "it's \"x\"" '$HOME' '${HOME}' '$(touch pwned)' '`touch pwned`'
		'; touch pwned' '&& touch pwned' '| touch pwned' '> pwned' '&' '#' 'run#3' '# comment'
		'back\slash' 'end\' '\' '\\' '\n' '*' '?' '[a]' '{a,b}' '~' '~root' '~/x' 'a=~' '!' '!!'
		'-x' '--' '--nodes=9' '-' '' ' ' '%s' '%j' 'größe' '日本語' '“quoted”' 'it’s' "it's “x”"
		$'cr\rx' $'dos\r\n' $'it\'s \r' $'~\r' $'“\r”' $'\e[31mred' $'a\u202eb'
		$'#SBATCH --nodes=9' $'x\n#SBATCH --nodes=9' $'EOF\n' '{{name}}' '}}' '<<EOF' '()' 'a;b' $'\u00a0'
	)
}

# The word as a YAML double-quoted scalar.
yaml() {
	local word=$1
	word=${word//\\/\\\\}
	word=${word//\"/\\\"}
	word=${word//$'\n'/\\n}
	word=${word//$'\t'/\\t}
	word=${word//$'\r'/\\r}
	word=${word//$'\e'/\\e}
	printf '"%s"' "$word"
}

# yaml_list WORD...
yaml_list() {
	local word
	printf '['
	for word in "$@"; do
		yaml "$word"
		printf ', '
	done
	printf ']\n'
}

# Runs the script of spec.yaml and shows that its step had exactly these last arguments.
run_and_compare() {
	srank gen spec.yaml >script
	# sbatch refuses DOS line ends.
	refute grep -q $'\r' script
	clean_script script
	bash script
	[[ ! -e pwned && ! -e $HOME/pwned ]]
	printf '%s\0' "$@" >expected
	tail -z -n "$#" "$RECORD/argv" | cmp - expected
}

@test "arguments of a program" {
	{
		echo 'launcher: torch'
		echo 'resources: {nodes: 1, ntasks: 1}'
		printf 'run: {command: '
		yaml_list prog "${words[@]}" | tr -d '\n'
		echo '}'
	} >spec.yaml
	run_and_compare prog "${words[@]}"
	# In front of them only what the script adds itself.
	printf '%s\0' --kill-on-bad-exit=1 --export=ALL | cmp - <(head -z -n 2 "$RECORD/argv")
	[[ $(tr -cd '\0' <"$RECORD/argv" | wc -c) -eq $((${#words[@]} + 3)) ]]
}

@test "arguments of a script under each kind of launcher" {
	local launcher
	for launcher in torch torchrun accelerate; do
		{
			echo "launcher: $launcher"
			echo 'resources: {nodes: 2, gpus_per_node: 2}'
			printf 'run: {script: "my train.py", args: '
			yaml_list "${words[@]}" | tr -d '\n'
			echo '}'
		} >spec.yaml
		run_and_compare 'my train.py' "${words[@]}"
	done
}

@test "names of programs, scripts and interpreters" {
	local word
	for word in 'a b' "it's" '$x' '`x`' 'a#b' 'größe' '~x' '*'; do
		{
			echo 'launcher: torch'
			echo 'resources: {nodes: 1, ntasks: 1}'
			printf 'run: {script: %s, python: %s}\n' "$(yaml "$word.py")" "$(yaml "$word")"
		} >spec.yaml
		run_and_compare "$word" "$word.py"
	done
}

@test "options of srun" {
	{
		echo 'launcher: torch'
		echo 'resources: {nodes: 1, ntasks: 1}'
		echo 'run: {command: prog}'
		printf 'srun: {args: '
		yaml_list "${words[@]}" | tr -d '\n'
		echo '}'
	} >spec.yaml
	run_and_compare "${words[@]}" prog
}

@test "variables, exact case and exact bytes" {
	local i names=()
	{
		echo 'launcher: torch'
		echo 'resources: {nodes: 1, ntasks: 1}'
		echo 'run: {command: prog}'
		echo 'env:'
		for i in "${!words[@]}"; do
			names+=("Var_$i")
			printf '  Var_%s: %s\n' "$i" "$(yaml "${words[i]}")"
		done
	} >spec.yaml
	srank gen spec.yaml >script 2>notes
	clean_script script
	RECORD_VARIABLES="${names[*]}" bash script
	[[ ! -e pwned ]]
	{
		printf 'SRANK=torch\0'
		for i in "${!words[@]}"; do
			printf 'Var_%s=%s\0' "$i" "${words[i]}"
		done
	} >expected
	cmp "$RECORD/variables" expected
	# What looks like an expansion is told to be none.
	grep -q '`\$HOME` is taken as it is' notes
}

@test "a name of a variable that is none is refused" {
	local name
	for name in 'A-B' '1A' 'A B' 'A=B' 'A;touch pwned' '' 'A$(x)'; do
		{
			echo 'launcher: torch'
			echo 'resources: {nodes: 1, ntasks: 1}'
			echo 'run: {command: prog}'
			printf 'env: {? %s : x}\n' "$(yaml "$name")"
		} >spec.yaml
		run srank gen spec.yaml
		[[ $status -eq 1 ]]
		[[ $output == *spec.yaml:4:*error* ]]
	done
}

# with_variable NAME: one.yaml, which exports it.
with_variable() {
	printf '%s\n' 'launcher: torch' 'resources: {nodes: 1, ntasks: 1}' 'run: {command: prog}' \
		"env: {$1: abc}" >one.yaml
}

@test "a variable that bash keeps for itself is refused, all others arrive" {
	local name names=() refused=0
	# No bash, which would change some of them itself.
	cat >srun <<-'END'
		#!/usr/bin/python3
		import os, sys
		if sys.argv[1] == "--help":
		    print("--srank")
		else:
		    with open(os.environ["RECORD"] + "/all", "wb") as out:
		        for name, value in os.environb.items():
		            out.write(name + b"=" + value + b"\0")
	END
	chmod +x srun
	for name in $(env -i /bin/bash -c 'compgen -v; echo BASHPID BASH_ARGC BASH_ARGV BASH_COMMAND \
		BASH_SOURCE EPOCHREALTIME FUNCNAME HISTCMD RANDOM SECONDS SRANDOM FOO'); do
		with_variable "$name"
		if srank gen one.yaml >one 2>words; then
			names+=("$name")
		else
			grep -q "^one.yaml:4:7: error: env: '$name' is bash's own and cannot be exported" words
			((++refused))
		fi
	done
	((refused >= 20))
	for name in "${names[@]}"; do
		# The shell of the script finds srun and its own way by these.
		[[ $name != @(PATH|PWD) ]] || continue
		with_variable "$name"
		srank gen one.yaml >script
		PATH=$PWD:$PATH bash script
		grep -zqx "$name=abc" "$RECORD/all"
	done
}

@test "a variable that has the name of one of the script's own arrives" {
	local name names=()
	cat >srun <<-'END'
		#!/bin/bash
		[[ $1 != --help ]] || exit 0
		while [[ $1 == --* ]]; do shift; done
		export SLURM_NNODES=1 SLURMD_NODENAME=node1 SLURM_GPUS_ON_NODE=2 SLURM_JOB_ID=7 SLURM_STEP_ID=0
		export SLURM_STEP_NODELIST=node1 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=1
		export SLURM_STEP_TASKS_PER_NODE=1 SLURM_ARRAY_TASK_ID=1
		exec "$@"
	END
	chmod +x srun
	cat >spec.yaml <<-'END'
		launcher: torchrun
		plugin: off
		resources: {nodes: 1, gpus_per_node: 2}
		run: {command: [bash, -c, 'env -0 >"$RECORD/all"']}
		preflight: yes
		retry: {max: 2, on: [fail, timeout]}
		teardown: 'true'
		sweep: {matrix: {lr: [1, 2]}}
	END
	printf 'suffix: -ib\ndomain: cluster\n' >site.yaml
	# Whatever is in lower case, and then some that were the script's own once.
	srank gen spec.yaml --site site.yaml >script 2>/dev/null
	readarray -t names < <({
		grep -oE '\b[a-z][a-z_]*=' script | tr -d =
		printf '%s\n' task check step later values rank rest name restart hash block place launcher job index
	} | grep -vE '^(srank_|lr$)' | sort -u)
	((${#names[@]} > 15))
	printf 'env:\n' >>spec.yaml
	printf '  %s: own\n' "${names[@]}" >>spec.yaml
	srank gen spec.yaml --site site.yaml >script 2>/dev/null
	# srank would run its doctor, and torchrun needs torch: neither is the matter.
	printf '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n' >torchrun
	chmod +x torchrun
	SLURM_ARRAY_TASK_ID=1 PATH=$PWD:/usr/bin:/bin bash script
	for name in "${names[@]}"; do
		grep -zqx "$name=own" "$RECORD/all" || {
			echo "$name did not arrive"
			return 1
		}
	done
	grep -zqx lr=2 "$RECORD/all"
}

@test "the folder of the job" {
	local word
	for word in 'a b' "it's" '$HOME' '`x`' 'a#b' 'größe' '~' '-x' '*' '“x”'; do
		mkdir -p -- "./$word"
		{
			echo 'launcher: torch'
			echo 'resources: {nodes: 1, ntasks: 1}'
			printf 'run: {command: prog, workdir: %s}\n' "$(yaml "./$word")"
		} >spec.yaml
		run_and_compare prog
		printf '%s\0' "$PWD/$word" | cmp - "$RECORD/folder"
	done
}

@test "a folder that looks like an option, and one that CDPATH has elsewhere" {
	local word
	mkdir -p -- -P - other/sub sub
	for word in -P - sub; do
		{
			echo 'launcher: torch'
			echo 'resources: {nodes: 1, ntasks: 1}'
			printf 'run: {command: prog, workdir: "%s"}\n' "$word"
		} >spec.yaml
		CDPATH=$PWD/other run_and_compare prog
		printf '%s\0' "$PWD/$word" | cmp - "$RECORD/folder"
	done
}

@test "values of directives" {
	local word
	for word in 'a b' "it's" '"x"' '$HOME' 'a#b' 'größe' 'a\b' '-x' '#' "a'b\"c\\d"; do
		{
			echo 'launcher: torch'
			echo 'resources: {nodes: 1, ntasks: 1}'
			echo 'run: {command: prog}'
			# A variable would be an error: sbatch expands none.
			printf 'name: %s # srank: disable=variable-in-directive\n' "$(yaml "$word")"
		} >spec.yaml
		srank gen spec.yaml >script
		clean_script script
		# Read back as get_argument() of Slurm's src/sbatch/opt.c reads: quotes group, a
		# backslash takes the next character as it is, an open '#' ends the line.
		sed -n 's/^#SBATCH --job-name=//p' script >value
		python3 - value <<-'END' >back
			import sys
			text, result, quote, i = open(sys.argv[1]).read().rstrip("\n"), "", "", 0
			while i < len(text):
			    c = text[i]
			    if c == "\\":
			        i += 1
			        result += text[i]
			    elif quote:
			        quote, result = ("", result) if c == quote else (quote, result + c)
			    elif c in "'\"":
			        quote = c
			    elif c == "#" or c.isspace():
			        break
			    else:
			        result += c
			    i += 1
			assert not quote
			print(result)
		END
		[[ $(<back) == "$word" ]]
	done
}

@test "a line end never makes a directive" {
	printf 'launcher: torch\nresources: {nodes: 1, ntasks: 1}\nrun: {command: prog}\n' >$'a\n#SBATCH --nodes=9\nb.yaml'
	srank gen $'a\n#SBATCH --nodes=9\nb.yaml' -s $'env.A=x\n#SBATCH --nodes=9' >script
	clean_script script
	# The value itself may look like one, but only behind the first command, where sbatch
	# looks for none.
	sed '/^set /,$d' script >header
	[[ $(grep -c '^#SBATCH --nodes' header) -eq 1 ]]
	grep -q '^#SBATCH --nodes=1$' header

	run srank gen $'a\n#SBATCH --nodes=9\nb.yaml' -s $'name=x\n#SBATCH --nodes=9'
	[[ $status -eq 1 ]]
}

@test "setup and teardown are run as written" {
	cat >spec.yaml <<-'END'
		launcher: torch
		resources: {nodes: 1, ntasks: 1}
		run: {command: prog}
		setup:
		  - export FROM_SETUP="$HOME/x"
		  - |
		    cat >made <<-X
		    	$FROM_SETUP
		    X
		teardown: echo "ended with $status" >ended
	END
	srank gen spec.yaml >script
	RECORD_VARIABLES=FROM_SETUP bash script
	printf '%s\0' SRANK=torch "FROM_SETUP=$HOME/x" | cmp - "$RECORD/variables"
	[[ $(<made) == "$HOME/x" ]]
	[[ $(<ended) == "ended with 0" ]]

	# The exit code of the step is that of the job, and teardown has seen it.
	SRUN_STATUS=7 run bash script
	[[ $status -eq 7 ]]
	[[ $output == *"failed with exit code 7: srun "* ]]
	[[ $(<ended) == "ended with 7" ]]
}

@test "a line of setup that fails stops the job before the step" {
	cat >spec.yaml <<-'END'
		launcher: torch
		resources: {nodes: 1, ntasks: 1}
		run: {command: prog}
		setup: [cat /nonexistent]
	END
	srank gen spec.yaml >script
	run bash script
	[[ $status -eq 1 ]]
	[[ $output == *"failed with exit code 1: cat /nonexistent"* ]]
	[[ ! -e $RECORD/argv ]]
}

@test "without the plugin the job stops with one message" {
	srank gen "$examples/yolox-2x8.yaml" >script
	SRUN_PLUGIN=0 run bash script
	[[ $status -eq 1 ]]
	[[ ${#lines[@]} -eq 1 ]]
	[[ $output == "srank: srun on "*" does not have the srank plugin"*plugstack.conf,*'plugin: exec'*'plugin: off into the spec' ]]
	[[ ! -e $RECORD/argv ]]
}

@test "a venv and a conda that are not there are named, and nothing is started" {
	srank gen "$examples/yolox-2x8.yaml" -s 'venv=/no such/env' >script
	clean_script script
	run bash script
	[[ $status -eq 1 && ${#lines[@]} -eq 1 ]]
	[[ $output == "srank: "*": venv: cannot read /no such/env/bin/activate in $PWD: make the environment,"* ]]
	srank gen "$examples/yolox-2x8.yaml" -s 'conda={env: a, root: /no such}' >script
	clean_script script
	run bash script
	[[ $status -eq 1 && ${#lines[@]} -eq 1 ]]
	[[ $output == "srank: "*": conda.root: cannot read /no such/etc/profile.d/conda.sh in $PWD:"* ]]
	[[ ! -e $RECORD/argv ]]
}

@test "srank exec is asked for on each node, once, before it is relied on" {
	srank gen "$examples/yolox-2x8.yaml" -s plugin=exec >script
	clean_script script
	SRUN_STATUS=1 run bash script
	[[ $status -eq 1 && $output == 'srank: nothing was started: plugin: exec '*'write plugin: off' ]]
	readarray -d '' -t argv <"$RECORD/argv"
	[[ ${argv[*]:2:3} == '--nodes=2 --ntasks=2 --ntasks-per-node=1' && ${argv[6]} == sh ]]
	PATH=/nonexistent SLURMD_NODENAME=node7 run /bin/sh -c "${argv[8]}"
	[[ $status -eq 1 && $output == 'srank: node7: the command srank is not in PATH' ]]
	# mpi does not use it, and what pyxis runs is in an image.
	srank gen "$examples/yolox-2x8.yaml" -s plugin=exec -s launcher=mpi -s mmdet=null -s run.script=a.py >script
	refute grep -q srank_means script
	srank gen "$examples/yolox-2x8.yaml" -s plugin=exec -s 'container={runtime: pyxis, image: i}' >script
	refute grep -q srank_means script
}
