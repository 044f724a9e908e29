#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What is said and where: plugstack.conf, SRANK and --srank, in srun, sbatch and salloc; what comes
# before what, what a site keeps to itself, and what is refused before anything is submitted. The
# port stands for any key, since every task shows it.

# Quoted text is for the shell of a task; steps.bash and bats set what seems to be unset, and each
# test is a process of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load steps

setup_file()
{
	boot options
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

# ports WORD...: the ports of the tasks, or "-" where the plugin does nothing.
ports()
{
	good "$@"
	output=$(awk '{ print $11 }' <<<"$output" | sort -u)
}

readonly TWO=(-N2 -n2)
readonly STEP=(srun -N2 -n2 step-show)

@test "srun: built-in, then plugstack.conf, then SRANK, then --srank" {
	ports srun "${TWO[@]}" --srank step-show
	[[ $output == 2[0-9][0-9][0-9][0-9] ]]
	cluster plugstack "optional $PLUGIN port=20901"
	ports "${STEP[@]}"
	[[ $output == - ]]
	ports srun "${TWO[@]}" --srank step-show
	[[ $output == 20901 ]]
	ports env SRANK=torch "${STEP[@]}"
	[[ $output == 20901 ]]
	ports env SRANK=port=20902 "${STEP[@]}"
	[[ $output == 20902 ]]
	ports env SRANK=port=20902 srun "${TWO[@]}" --srank step-show
	[[ $output == 20902 ]]
	ports env SRANK=port=20902 srun "${TWO[@]}" --srank=port=20903 step-show
	[[ $output == 20903 ]]
	# What the one does not say is taken from the other.
	good env SRANK=torchrun,port=20902 srun "${TWO[@]}" --srank=verbose \
		bash -c 'echo $PET_MASTER_PORT'
	[[ $(sort -u <<<"$output") == 20902 && $stderr == *'srank: launcher     torchrun'* ]]
}

# again ENVIRONMENT OPTION: a script that is there already as a batch job.
again()
{
	# shellcheck disable=SC2034 # for ended
	job=$(user env "$1" sbatch --parsable "${TWO[@]}" --output=out --error=err "$2" job)
	ended
	wrote out
}

@test "sbatch: the same for the script, and for its steps" {
	local environment option script step
	cluster plugstack "optional $PLUGIN port=20901"
	write job <<-'END'
		#!/bin/bash
		echo "${MASTER_PORT--}"
		srun step-show | awk '{ print $11 }' | sort -u
	END
	while read -r environment option script step; do
		echo "$environment $option"
		again "$environment" "$option"
		[[ $output == "$script"$'\n'"$step" ]]
	done <<-'END'
		NONE=                    --comment=none       - -
		SRANK=torch              --comment=none       20901 20901
		SRANK=port=20902         --comment=none       20902 20902
		SRANK=port=20902         --srank              20902 20902
		SRANK=port=20902         --srank=port=20903   20903 20903
		SRANK=off                --srank=port=20903   20903 20903
		SRANK=port=20902         --srank=off          - -
	END
}

@test "sbatch: in the script, a step's option comes before the job's, and SRANK does not" {
	submit "${TWO[@]}" <<-'END'
		#!/bin/bash
		#SBATCH --srank=torch,port=20903
		srun step-show >job
		srun --srank=port=20904 step-show >option
		SRANK=port=20905 srun step-show >environment
		SRANK=torchrun srun --srank=port=20906 bash -c 'echo $PET_MASTER_PORT' >both
		srun --srank=off step-show >off
	END
	ended
	wrote job
	[[ $(awk '{ print $11 }' <<<"$output" | sort -u) == 20903 ]]
	wrote option
	[[ $(awk '{ print $11 }' <<<"$output" | sort -u) == 20904 ]]
	wrote environment
	[[ $(awk '{ print $11 }' <<<"$output" | sort -u) == 20903 ]]
	wrote both
	[[ $(sort -u <<<"$output") == 20906 ]]
	wrote off
	[[ $(awk '{ print $4 }' <<<"$output" | sort -u) == - ]]
}

@test "salloc: the same for its steps" {
	cluster plugstack "optional $PLUGIN port=20901"
	ports salloc --quiet "${TWO[@]}" srun step-show
	[[ $output == - ]]
	ports env SRANK=port=20902 salloc --quiet "${TWO[@]}" srun step-show
	[[ $output == 20902 ]]
	ports env SRANK=port=20902 salloc --quiet "${TWO[@]}" --srank srun step-show
	[[ $output == 20902 ]]
	ports env SRANK=port=20902 salloc --quiet "${TWO[@]}" --srank=port=20903 srun step-show
	[[ $output == 20903 ]]
	ports salloc --quiet "${TWO[@]}" --srank=port=20903 srun --srank=port=20904 step-show
	[[ $output == 20904 ]]
	ports salloc --quiet "${TWO[@]}" --srank=port=20903 srun --srank=off step-show
	[[ $output == - ]]
}

@test "an option without argument, an empty one, and lists as people write them" {
	local list
	for list in --srank --srank= '--srank=(null)' --srank=on '--srank=,' \
		'--srank= torch , verbose ' --srank=launcher=torch --srank=off,on; do
		echo "$list"
		ports srun "${TWO[@]}" "$list" step-show
		[[ $output == 2[0-9][0-9][0-9][0-9] ]]
	done
	# The last word counts, in a list and among options.
	ports srun "${TWO[@]}" --srank=port=20911,port=20912 step-show
	[[ $output == 20912 ]]
	ports srun "${TWO[@]}" --srank=port=20911 --srank=port=20912 step-show
	[[ $output == 20912 ]]
	ports srun "${TWO[@]}" --srank=torch,off step-show
	[[ $output == - ]]
	ports env SRANK= "${STEP[@]}"
	[[ $output == - ]]
}

@test "default=on is for all, and who does not want it says off" {
	local environment option script step
	cluster plugstack "optional $PLUGIN default=on port=20901"
	write job <<-'END'
		#!/bin/bash
		echo "${MASTER_PORT--}"
		srun step-show | awk '{ print $11 }' | sort -u
	END
	while read -r environment option script step; do
		echo "$environment $option"
		again "$environment" "$option"
		[[ $output == "$script"$'\n'"$step" ]]
	done <<-'END'
		NONE=      --comment=none     20901 20901
		SRANK=off  --comment=none     - -
		NONE=      --srank=off        - -
		SRANK=off  --srank            20901 20901
	END
	ports salloc --quiet "${TWO[@]}" --srank=off srun step-show
	[[ $output == - ]]
	ports salloc --quiet "${TWO[@]}" --srank=off srun --srank=on step-show
	[[ $output == 20901 ]]
	cluster plugstack "optional $PLUGIN default=on" "optional $PLUGIN default=off"
	ports "${STEP[@]}"
	[[ $output == - ]]
	cluster plugstack "optional $PLUGIN default=on default=off"
	ports "${STEP[@]}"
	[[ $output == - ]]
}

@test "what is mistyped is refused at submit, and the right word is named" {
	local before list said command
	before=$(user scontrol show config | grep NEXT_JOB_ID)
	while IFS='|' read -r list said; do
		bad srun -n1 "--srank=$list" echo started -- "$said"
	done <<-'END'
		mmengin|mmengin: no such key or launcher; did you mean mmengine?
		launcher=jaks|launcher=jaks: no such launcher; did you mean launcher=jax?
		torch,prot=20000|prot: no such key; did you mean port?
		verbos|did you mean verbose?
		gpus=ordre|did you mean gpus=order?
		addr=adr|addr=adr
		addr=nodeadr|did you mean addr=nodeaddr?
		busy=wran|did you mean busy=warn?
		omp=kep|did you mean omp=keep?
		port=0|port=0
		port=70000|from 1 to 65535
		port=2e4|port=2e4
		ports=300-200|LO-HI
		ports=20000|LO-HI
		elastic=2|MIN:MAX
		elastic=4:2|the smaller one first
		suffix=a/b|suffix=a/b
		domain=a b|domain=a b
		gpus=map:|gpus=map:
		port|port
		off=1|off takes no value
		default=on|write on or off
		lock=gpus|is for plugstack.conf
		completelywrong|--srank=help lists them
	END
	for command in 'sbatch --wrap=true' 'salloc -n1 true'; do
		# shellcheck disable=SC2086 # words
		bad ${command/ / --srank=torch,prot=20000 } -- 'did you mean port?' 'Invalid --srank argument'
		# shellcheck disable=SC2086
		bad ${command/ / --srank=elastic=4:2 } -- 'elastic=4:2'
	done
	write job <<<$'#!/bin/bash\n#SBATCH --srank=torchrn'
	bad sbatch job -- 'did you mean torchrun?'
	[[ $(user scontrol show config | grep NEXT_JOB_ID) == "$before" ]]
}

# Nothing stands between the two but Slurm, which asks a plugin only where it is required.
@test "what is mistyped in SRANK is said at submit, and refused where the plugin is required" {
	local command
	good env SRANK=torchrn sbatch --wait --wrap='echo ran' --output=out
	[[ $stderr == *'SRANK: torchrn: no such key or launcher; did you mean torchrun?'* ]]
	wrote out
	[[ $output == *'did you mean torchrun?'*'the script runs without'*ran ]]
	good env SRANK=torchrn salloc --quiet -n1 echo ran
	[[ $output == ran && $stderr == *'did you mean torchrun?'* ]]
	cluster plugstack "required $PLUGIN"
	for command in 'sbatch --wrap=true' 'salloc -n1 echo ran' 'srun -n1 echo ran'; do
		# shellcheck disable=SC2086 # words
		bad env SRANK=torchrn $command -- 'did you mean torchrun?'
	done
	# An option does not mend it: both are read.
	bad env SRANK=torchrn srun -n1 --srank=torch echo ran -- 'did you mean torchrun?'
}

@test "help: all launchers and keys, from every command, and nothing is submitted" {
	local before command word
	before=$(user scontrol show config | grep NEXT_JOB_ID)
	for command in 'srun -n1 echo started' 'sbatch --wrap=true' 'salloc -n1 echo started'; do
		# shellcheck disable=SC2086
		run --separate-stderr user ${command/ / --srank=help }
		((status != 0))
		[[ $output != *started* ]]
		for word in torch torchrun mmengine accelerate lightning deepspeed jax tensorflow horovod mpi \
			launcher= auto gpus= local= port= ports= addr= suffix= domain= busy= omp= elastic= \
			verbose on off help default= lock= forbid=; do
			grep -qE "^  $word" <<<"$output"
		done
	done
	[[ $(user scontrol show config | grep NEXT_JOB_ID) == "$before" ]]
	[[ $output == *$'\nAt this site:\n  the defaults are the built-in ones, and all can be changed' ]]
}

# What is written there in other words is for the unit tests.
@test "help: what the site has set, fixed and forbidden, and got wrong" {
	local command
	cluster plugstack "optional $PLUGIN port=20901 lock=port forbid=horovod prot=1"
	for command in 'srun -n1 true' 'sbatch --wrap=true' 'salloc -n1 true'; do
		# shellcheck disable=SC2086
		run --separate-stderr user ${command/ / --srank=help }
		((status != 0))
		diff - <(sed '1,/^At this site/d' <<<"$output") <<-'END'
			  port=20901          default of this site (built-in: port=auto); no job can change it
			  launcher=horovod    no job may say it
			  plugstack.conf: prot: no such key; did you mean port? (ask the administrator)
		END
	done
	run --separate-stderr user env SRANK=help srun -n1 true
	[[ $stderr == *'  launcher=horovod    no job may say it'* ]]
}

@test "a site fixes values: the same is taken, another is refused, in its name" {
	local before command
	before=$(user scontrol show config | grep NEXT_JOB_ID)
	cluster plugstack "optional $PLUGIN port=20901 launcher=torch lock=port:launcher"
	for command in 'srun -n1 echo started' 'sbatch --wrap=true' 'salloc -n1 echo started'; do
		# shellcheck disable=SC2086
		bad ${command/ / --srank=port=20902 } \
			-- 'port=20902: port is fixed by this site (port=20901); leave it out'
		# A range would undo the port.
		# shellcheck disable=SC2086
		bad ${command/ / --srank=ports=21000-21999 } -- 'fixed by this site (port=20901)'
		# shellcheck disable=SC2086
		bad ${command/ / --srank=jax } -- 'launcher is fixed by this site (launcher=torch)'
	done
	[[ $(user scontrol show config | grep NEXT_JOB_ID) == "$before" ]]
	ports srun "${TWO[@]}" --srank=torch,port=20901,verbose step-show
	[[ $output == 20901 ]]
}

@test "a site fixes that the plugin is on, or off" {
	cluster plugstack "optional $PLUGIN default=on lock=default"
	bad srun -n1 --srank=off echo started -- 'by this site (default=on)'
	bad sbatch --srank=off --wrap=true -- 'by this site (default=on)'
	bad env SRANK=off srun -n1 echo started -- 'by this site (default=on)'
	ports srun "${TWO[@]}" --srank=port=20905 step-show
	[[ $output == 20905 ]]
	cluster plugstack "optional $PLUGIN lock=default"
	bad srun -n1 --srank echo started -- 'by this site (default=off)'
	ports srun "${TWO[@]}" --srank=off step-show
	[[ $output == - ]]
}

@test "a site forbids keys, values and launchers" {
	cluster plugstack "optional $PLUGIN forbid=port:gpus=none:horovod"
	bad srun -n1 --srank=port=20902 echo started -- 'this site does not allow port='
	bad srun -n1 --srank=gpus=none echo started -- 'this site does not allow gpus=none'
	bad sbatch --srank=horovod --wrap=true -- 'this site does not allow'
	bad salloc --srank=launcher=horovod true -- 'this site does not allow'
	ports srun "${TWO[@]}" --srank=torch,gpus=mask step-show
	[[ $output == 2[0-9][0-9][0-9][0-9] ]]
	# What it gives itself, it does not forbid itself.
	cluster plugstack "optional $PLUGIN port=20901 forbid=port"
	ports srun "${TWO[@]}" --srank step-show
	[[ $output == 20901 ]]
}

@test "a site's own mistakes are told to those who ask" {
	local argument said
	while IFS='|' read -r argument said; do
		cluster plugstack "optional $PLUGIN $argument"
		ports "${STEP[@]}"
		[[ $output == - && ! $stderr ]]
		bad srun -n1 --srank echo started -- 'plugstack.conf' "$said"
	done <<-'END'
		lock=prot|did you mean port?
		forbid=hrovod|did you mean horovod?
		forbid=gpus=nne|gpus=none
		default=yes|default=on|off
		off|write default=on or default=off
		ports=9-1|LO-HI
	END
}

# verbose OPTION...: what --srank=verbose says of a step, from the task of rank 0 alone.
verbose()
{
	good "${wrapper[@]}" srun "$@" true
	[[ ! $output ]]
	output=$(sed -n 's/^srank: //p' <<<"$stderr")
	# Nothing behind the last column.
	[[ $output$'\n' != *' '$'\n'* ]]
}

# The table with single blanks and, for the CPUs that this machine has, CPUS.
table()
{
	tr -s ' ' <<<"$output" |
		sed -E 's/^(0 node.*) [0-9,-]+ ([^ ]+)$/\1 CPUS \2/; s/ CPUs [0-9,-]+,/ CPUs CPUS,/
			s/^([0-9]+) [0-9,-]+ ([0-9,]+) /\1 CPUS \2 /'
}

@test "verbose: a table of the nodes" {
	local wrapper=()
	verbose --srank=verbose,port=20921,torchrun -N2 -n2 --gres=gpu:2
	diff - <(table) <<-'END'
		launcher torchrun (node shape)
		MASTER_ADDR node1
		MASTER_PORT 20921 (port=)
		GPUs order: all of the node's, as Slurm lists them
		NODE_RANK NODE TASKS RANKS CPUS GPUS
		0 node1 1 0 CPUS 0,1
		1 node2 1 1 ? ?
		all tasks CUDA_VISIBLE_DEVICES=0,1
		LOCAL_RANK CPUS GPUS DISTANCE
		0 CPUS 0,1 ?
	END
	# Ranks that are not side by side are not listed.
	verbose --srank=verbose,port=20921 -N2 -n3 -m cyclic
	diff - <(table) <<-'END'
		launcher auto (worker shape)
		MASTER_ADDR node1
		MASTER_PORT 20921 (port=)
		GPUs none in the step on this node
		NODE_RANK NODE TASKS CPUS GPUS
		0 node1 2 CPUS -
		1 node2 1 ? ?
	END
	verbose --srank=mpi,verbose -N2 -n2
	diff - <(table) <<-'END'
		launcher mpi (worker shape)
		ranks from PMIx
		GPUs none in the step on this node
		NODE_RANK NODE TASKS RANKS CPUS GPUS
		0 node1 1 0 CPUS -
		1 node2 1 1 ? ?
	END
}

@test "verbose: where the values come from" {
	local wrapper=(env MASTER_ADDR=node2 MASTER_PORT=20922)
	verbose --srank=torch,verbose -N2 -n2
	[[ $output == *$'\nMASTER_ADDR  node2 (as set)\nMASTER_PORT  20922 (as set)\n'* ]]
	wrapper=(env)
	verbose --srank=torch,verbose,ports=20923-20923 -N2 -n2
	[[ $output == *$'\nMASTER_PORT  20923 (hash of job, step and restart)\n'* ]]
	# For all who ask, by the site; and not for one who does not want it.
	cluster plugstack "optional $PLUGIN verbose"
	verbose --srank=torch -N2 -n2
	[[ $output == 'launcher     torch (worker shape)'* ]]
	verbose --srank=torch,verbose=off -N2 -n2
	[[ ! $output ]]
	verbose -N2 -n2
	[[ ! $output ]]
}

@test "verbose: nodes that are not in the order of their names" {
	local wrapper=(env SLURM_HOSTFILE=hosts)
	printf '%s\n' node2 node1 node2 | write hosts
	verbose --srank=verbose,port=20924 -n3
	diff - <(table) <<-'END'
		launcher auto (worker shape)
		MASTER_ADDR node2
		MASTER_PORT 20924 (port=)
		GPUs none in the step on this node
		nodes node[1-2] (by name)
		tasks 1,2 (likewise)
		node ranks node[2,1]
		rank 0 its node has CPUs CPUS, GPUs -
	END
}

# once LINE...: does the plugin in these lines of plugstack.conf do what it does in one?
once()
{
	echo "$*"
	cluster plugstack "$@"
	good srun "${TWO[@]}" --gres=gpu:2 --srank=torch,verbose,gpus=map:1-0 \
		step-show CUDA_VISIBLE_DEVICES
	[[ $(sort -n <<<"$output" | cut -d ' ' -f 11-) == $'20902 1\n20902 1' ]]
	[[ $(grep -c 'MASTER_PORT  20902' <<<"$stderr") == 1 ]]
	output=$(cut -d ' ' -f 1-11 <<<"$output")
	meets 1,2
	batch "${TWO[@]}" --srank <<<$'#!/bin/bash\necho $MASTER_PORT\nsrun step-show >step'
	[[ $output == 20902 ]]
	wrote step
	meets 1,2
	ports "${STEP[@]}"
	[[ $output == - ]]
	bad srun -n1 --srank=torchrn echo started -- 'did you mean torchrun?'
	[[ $(grep -c 'did you mean' <<<"$stderr") == 1 ]]
	# Where only the node can tell.
	bad srun "${TWO[@]}" --srank=torchrun,elastic=1:1 echo started -- 'use elastic=1:2'
	[[ $(grep -c 'use elastic=1:2' <<<"$stderr") == 2 ]]
}

# In srun, as once.
refuses()
{
	bad env SRANK=torchrn srun -n1 echo started -- 'did you mean torchrun?'
	[[ $(grep -c 'srun: error: srank: ' <<<"$stderr") == 1 ]]
}

# A file that two others include, for instance. Slurm calls it twice, and says so.
@test "the plugin in two lines of plugstack.conf does what it does in one" {
	once "optional $PLUGIN port=20901" "optional $PLUGIN port=20902"
	[[ $stderr == *'option "srank" provided by both'* ]]
	printf 'optional %s port=2090%d\n' "$PLUGIN" 1 >"$BATS_TEST_TMPDIR/90-srank.conf"
	printf 'optional %s port=2090%d\n' "$PLUGIN" 2 >"$BATS_TEST_TMPDIR/91-srank.conf"
	cluster install "$BATS_TEST_TMPDIR/90-srank.conf" "$BATS_TEST_TMPDIR/91-srank.conf"
	once 'include /usr/local/share/srank/9*-srank.conf'
	once "optional $PLUGIN port=20901" 'include /usr/local/share/srank/91-srank.conf'
	# No argument at all in one of them, and three.
	once "optional $PLUGIN" "optional $PLUGIN" "optional $PLUGIN port=20902"
}

@test "the plugin as required and as optional: what is required of it holds" {
	once "required $PLUGIN port=20901" "optional $PLUGIN port=20902"
	refuses
	once "optional $PLUGIN port=20901" "required $PLUGIN port=20902"
	refuses
}

# Of an older release in another folder, for instance.
@test "two files of the plugin: the first one acts" {
	local other=${PLUGIN%/*}/other_srank.so
	cp "$SRANK_PLUGIN" "$BATS_TEST_TMPDIR/other_srank.so"
	cluster install "$BATS_TEST_TMPDIR/other_srank.so"
	once "optional $PLUGIN port=20902" "optional $other port=20901"
	once "optional $other port=20902" "required $PLUGIN port=20901"
	# By what they know each other is none of the tasks' business.
	good srun "${TWO[@]}" --srank env
	[[ $output == *SRANK_VERSION=* && $output != *SRANK_PLUGIN* ]]
}
