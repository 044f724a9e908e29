#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What generated scripts do in a real Slurm: sweeps, components, signals and restarts, environments
# and containers, and values that would break out of a careless script.

# Quoted text is for the shell of a host; the helpers set top.
# shellcheck disable=SC2016,SC2154
load helpers

setup_file() {
	# Slurm starts a requeued job only when the credential of its first run is void: 120 seconds, if
	# nobody says otherwise.
	cluster_need scripts --gpus 4 --cpus 16 --plugstack "optional $PLUGIN" \
		--conf AuthInfo=cred_expire=5
}

teardown_file() {
	cluster down --name scripts
}

setup() {
	cluster plugstack "optional $PLUGIN"
	rm -f "$(home '')"log* "$(home '')"job.*
}

# spec: standard input is job.yaml in the researcher's home.
spec() {
	cat >"$(home job.yaml)"
	chown --reference="$(home '')" "$(home job.yaml)"
}

# generated OPTION...: job.sh from job.yaml.
generated() {
	as_researcher srank gen job.yaml "$@" -o job.sh --force
}

# completed JOB: all of its tasks, or components.
completed() {
	[[ $(as_researcher squeue --noheader --states=all --jobs="$1" --format=%T | sort -u) == COMPLETED ]]
}

# runs SECONDS OPTION...: the job of job.yaml completes, be it an array or of several components.
runs() {
	local seconds=$1 job
	shift
	generated "$@"
	job=$(as_researcher sbatch --parsable job.sh)
	until_true "$seconds" completed "$job"
}

# until_true SECONDS COMMAND...
until_true() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < deadline)) || {
			cat "$(home '')"log* || true
			return 1
		}
		sleep 0.3
	done
}

said() {
	grep -q -- "$1" "$(home log)" 2>/dev/null
}

# has JOB TEXT: what Slurm says of the job.
has() {
	as_researcher scontrol show job "$1" | grep -q -- "$2"
}

@test "a sweep as an array: every point once, with exactly its values" {
	spec <<-'END'
		launcher: torch
		resources: {nodes: 1, ntasks: 1}
		run: {command: [printf, '<%s>', "{lr}", "--name={name}", "{{lr}}", "{other}"]}
		env: {FROM: "a {name}"}
		batch: {output: "log.%a"}
		setup: echo "$FROM/$lr/$name"
		sweep:
		  matrix: {lr: [0.1, 1e-3, "$(touch pwned)"]}
		  zip: {name: ["it's", "two words"], n: [1, 2]}
	END
	runs 60
	local point=0 lr name
	# What is as a command in the words is a text.
	for lr in 0.1 1e-3 '$(touch pwned)'; do
		for name in "it's" 'two words'; do
			diff <(printf '%s\n<%s><%s><%s><%s>' "a $name/$lr/$name" "$lr" "--name=$name" "{$lr}" '{other}') \
				<(cat "$(home "log.$point")")
			((++point))
		done
	done
	[[ ! -e $(home log.$point) && ! -e $(home pwned) ]]
}

@test "a sweep as files: a script for each point, resources among the axes" {
	spec <<-'END'
		name: "point-{lr}"
		launcher: torch
		resources: {gpus_per_node: 2}
		run: {command: [sh, -c, 'echo $RANK of $WORLD_SIZE: {lr} $lr']}
		batch: {output: "log.{lr}.%N"}
		sweep: {matrix: {resources.nodes: [1, 2], lr: [1, 2]}, as: files}
	END
	as_researcher rm -rf points
	as_researcher srank gen job.yaml -o points
	local script
	for script in points/point-1-0.sbatch points/point-2-3.sbatch; do
		job_ends 60 "$script"
	done
	diff <(sort "$(home log.1.node1)") <(printf '%s\n' '0 of 2: 1 1' '1 of 2: 1 1')
	diff <(sort "$(home log.2.node1)") <(printf '%s\n' '0 of 4: 2 2' '1 of 4: 2 2' '2 of 4: 2 2' '3 of 4: 2 2')
	# And all of them by one command.
	as_researcher srank submit job.yaml -- --hold >"$BATS_TEST_TMPDIR/ids"
	[[ $(grep -c '^[0-9]*$' "$BATS_TEST_TMPDIR/ids") -eq 4 ]]
	as_researcher scancel --me
}

@test "a heterogeneous job: one world over its components, each with its own program and environment" {
	spec <<-'END'
		launcher: torch
		run: {command: [sh, -c, 'echo $RANK $WORLD_SIZE $ROLE ${CUDA_VISIBLE_DEVICES-none} $MASTER_ADDR $MASTER_PORT']}
		env: {ROLE: learner}
		batch: {output: log}
		het:
		- resources: {nodes: 1, gpus_per_node: 2, cpus_per_gpu: 1}
		- resources: {nodes: 1, gpus_per_node: 0, ntasks_per_node: 3, cpus_per_task: 1}
		  env: {ROLE: "an actor"}
	END
	local means
	for means in require exec; do
		[[ $means == require ]] || cluster plugstack
		rm -f "$(home log)"
		runs 60 -s plugin=$means
		cut -d' ' -f1-2,3 "$(home log)" | sort -n |
			diff - <(printf '%s\n' '0 5 learner' '1 5 learner' '2 5 an' '3 5 an' '4 5 an')
		# One meeting place.
		[[ $(sed -E 's/.* ([^ ]+ [0-9]+)$/\1/' "$(home log)" | sort -u | wc -l) -eq 1 ]]
		grep -qE '^0 5 learner 0,1 node' "$(home log)"
		grep -qE '^4 5 an actor none node' "$(home log)"
	done
}

# A rank that saves on USR1 and ends, and its launcher.
trainer() {
	cat >"$(home trainer.py)" <<-'END'
		import os, signal, subprocess, sys, time
		if sys.argv[1:] == ["launcher"]:
		    ranks = [subprocess.Popen([sys.executable, __file__, str(i)]) for i in range(2)]
		    sys.exit(max(rank.wait() for rank in ranks))
		done = False
		def save(number, frame):
		    global done
		    done = True
		signal.signal(signal.SIGUSR1, save)
		print("rank", os.environ.get("SLURM_PROCID"), *sys.argv[1:], "starts", flush=True)
		while not done:
		    time.sleep(0.1)
		time.sleep(1)
		print("rank", os.environ.get("SLURM_PROCID"), *sys.argv[1:], "saved", flush=True)
		sys.exit(int(os.environ.get("CODE", "0")))
	END
}

@test "a signal reaches the ranks, who save; then the job starts again, as often as it may" {
	trainer
	spec <<-'END'
		launcher: torch
		resources: {nodes: 2, ntasks_per_node: 1}
		run: {script: trainer.py, python: python3}
		batch: {output: log, time: 5, signal: {name: USR1, before: 60}}
		retry: 1
		teardown: echo "teardown $status"
	END
	generated
	local job
	job=$(as_researcher sbatch --parsable job.sh)
	until_true 30 said 'rank 1 starts'
	as_researcher scancel --batch --signal=USR1 "$job"
	until_true 30 has "$job" 'Restarts=1'
	[[ $(grep -c saved "$(home log)") -eq 2 && $(grep -c 'goes back' "$(home log)") -eq 1 ]]
	said 'teardown 0'
	until_true 60 has "$job" 'JobState=RUNNING'
	until_true 30 eval '[[ $(grep -c starts "$(home log)") -eq 4 ]]'
	as_researcher scancel --batch --signal=USR1 "$job"
	until_true 30 has "$job" 'JobState=COMPLETED'
	has "$job" 'Restarts=1'
	said 'not started again: this was restart 1 of 1'
	[[ $(grep -c saved "$(home log)") -eq 4 ]]
}

@test "the ranks behind a launcher get the signal, and the launcher does not die of it" {
	trainer
	spec <<-'END'
		launcher: torchrun
		resources: {nodes: 2, gpus_per_node: 2}
		run: {script: trainer.py}
		batch: {output: log, time: 5, signal: {name: USR1, before: 60}}
	END
	generated
	# A stand-in that starts two ranks, and that USR1 would end.
	as_researcher sed -i 's/^\ttorchrun --nproc_per_node=2 .*/\tpython3 trainer.py launcher \&/; /^\ttrainer.py &$/d' job.sh
	grep -q 'trainer.py launcher' "$(home job.sh)"
	local job
	job=$(as_researcher sbatch --parsable job.sh)
	until_true 30 eval '[[ $(grep -c starts "$(home log)") -eq 4 ]]'
	as_researcher scancel --batch --signal=USR1 "$job"
	until_true 30 has "$job" 'JobState=COMPLETED'
	[[ $(grep -c saved "$(home log)") -eq 4 ]]
}

@test "torchrun itself and its ranks get the signal, and it does not die of it" {
	as_researcher sh -c "command -v torchrun" >/dev/null ||
		skip 'SKIPPED, NOT PASSED: the hosts have no torchrun'
	trainer
	spec <<-'END'
		launcher: torchrun
		resources: {nodes: 2, gpus_per_node: 2}
		run: {script: trainer.py}
		batch: {output: log, time: 5, signal: {name: USR1, before: 60}}
	END
	generated
	local job
	job=$(as_researcher sbatch --parsable job.sh)
	until_true 60 eval '[[ $(grep -o starts "$(home log)" | wc -l) -eq 4 ]]'
	as_researcher scancel --batch --signal=USR1 "$job"
	until_true 30 has "$job" 'JobState=COMPLETED'
	[[ $(grep -o saved "$(home log)" | wc -l) -eq 4 ]]
}

@test "Slurm's own signal before the time limit does the same" {
	trainer
	spec <<-'END'
		launcher: torch
		resources: {nodes: 1, ntasks: 1}
		run: {script: trainer.py, python: python3}
		batch: {output: log, time: 1, signal: {name: USR1, before: 50}}
		retry: 1
	END
	generated
	local job
	job=$(as_researcher sbatch --parsable job.sh)
	# slurmctld looks at limits, and starts what waits, every 30 s each: PERIODIC_TIMEOUT, sched_interval.
	until_true 120 has "$job" 'Restarts=1'
	said 'rank 0 saved'
	as_researcher scancel "$job"
}

@test "a step that fails starts the job again, and in the end gives its exit code" {
	spec <<-'END'
		launcher: torch
		resources: {nodes: 1, ntasks: 1}
		run: {command: [sh, -c, 'echo try ${SLURM_RESTART_COUNT:-0}; exit 7']}
		batch: {output: log}
		retry: {max: 1, on: fail}
	END
	generated
	local job
	job=$(as_researcher sbatch --parsable job.sh)
	until_true 30 has "$job" 'Restarts=1'
	# It is COMPLETING at first, and its exit code may not be there yet.
	until_true 60 has "$job" 'JobState=FAILED'
	until_true 10 has "$job" 'ExitCode=7:0'
	said 'try 1'
	said 'not started again'
}

@test "a job that is cancelled does not start again" {
	spec <<-'END'
		launcher: torch
		resources: {nodes: 1, ntasks: 1}
		run: {command: [sh, -c, 'echo started; sleep 60']}
		batch: {output: log, time: 5}
		retry: {max: 3, on: [timeout, fail]}
		teardown: echo "teardown $status"
	END
	generated
	local job
	job=$(as_researcher sbatch --parsable job.sh)
	until_true 30 said started
	as_researcher scancel "$job"
	until_true 30 has "$job" 'JobState=CANCELLED'
	until_true 30 said teardown
	has "$job" 'Restarts=0'
	run said 'goes back into the queue'
	[[ $status -ne 0 ]]
}

@test "one task of an array starts again alone" {
	spec <<-'END'
		launcher: torch
		resources: {nodes: 1, ntasks: 1}
		run: {command: [sh, -c, 'echo {n} of ${SLURM_RESTART_COUNT:-0}; exit {n}']}
		batch: {output: "log.%a"}
		retry: {max: 1, on: fail}
		sweep: {matrix: {n: [0, 0, 5]}}
	END
	generated
	local job
	job=$(as_researcher sbatch --parsable job.sh)
	until_true 60 has "${job}_2" 'Restarts=1'
	has "${job}_0" 'JobState=COMPLETED'
	has "${job}_1" 'JobState=COMPLETED'
	has "${job}_0" 'Restarts=0'
	has "${job}_1" 'Restarts=0'
	as_researcher scancel "$job"
}

@test "modules, conda and venv are what the ranks run in" {
	as_researcher python3 -m venv --without-pip 'my venv'
	mkdir -p "$(home conda/etc/profile.d)"
	cat >"$(home conda/etc/profile.d/conda.sh)" <<-'END'
		conda() { export CONDA_DEFAULT_ENV="$2" PATH="$HOME/conda/envs/$2/bin:$PATH"; }
	END
	cat >"$(home site.yaml)" <<-'END'
		setup: |
		  module() { echo "module $*"; export LOADED="$LOADED $*"; }
		  export -f module
	END
	spec <<-'END'
		launcher: torch
		resources: {nodes: 1, ntasks: 1}
		run: {command: [sh, -c, 'echo "$LOADED|$CONDA_DEFAULT_ENV|$VIRTUAL_ENV|$(command -v python3)|$LAST"']}
		modules: {purge: yes, use: ["/opt/a b"], load: [cuda, gcc]}
		conda: {env: torch, root: conda}
		venv: my venv
		env: {LAST: "1"}
		batch: {output: log}
	END
	runs 60 --site site.yaml
	tail -n 1 "$(home log)" | diff - <(echo ' purge use /opt/a b load cuda gcc|torch|/home/researcher/my venv|/home/researcher/my venv/bin/python3|1')
}

@test "apptainer stands in front of the program in every task" {
	mkdir -p "$(home bin)"
	cat >"$(home bin/apptainer)" <<-'END'
		#!/bin/sh
		for word; do
			case $word in
			*.sif) break ;;
			esac
			printf '<%s>' "$word"
		done
		echo
		while [ "${1%.sif}" = "$1" ]; do shift; done
		shift
		exec "$@"
	END
	chmod +x "$(home bin/apptainer)"
	spec <<-'END'
		launcher: torch
		resources: {nodes: 1, gpus_per_node: 2}
		run: {command: [sh, -c, 'echo "rank $RANK $APPTAINERENV_OURS"']}
		container: {runtime: apptainer, image: "my image.sif", mounts: [/data, "/a b:/c"], workdir: /w, home: no, env: [OURS]}
		env: {OURS: wins}
		setup: PATH=$HOME/bin:$PATH
		batch: {output: log}
	END
	runs 60
	[[ $(grep -cxF '<exec><--nv><--bind></data><--bind></a b:/c><--pwd></w><--no-home>' "$(home log)") -eq 2 ]]
	said 'rank 0 wins'
	said 'rank 1 wins'
}

@test "preflight lets a job pass that is as planned, and stops one that is not" {
	spec <<-'END'
		launcher: torch
		resources: {nodes: 2, gpus_per_node: 2}
		run: {command: [echo, started]}
		preflight: yes
		batch: {output: log}
	END
	runs 60
	[[ $(grep -c started "$(home log)") -eq 4 ]]
	said '^srank doctor: 4 ranks on 2 nodes'
	said '^verdict: fine'
	rm "$(home log)"
	runs 60 -s resources.nodes=1 -s resources.gpus_per_node=1
	said '^srank doctor: 1 rank'
	said '^started'
	rm "$(home log)"
	# Where each task asks for its own GPUs, a node still has all that are planned.
	echo 'gpu_dialect: gpus_per_task' >"$(home site.yaml)"
	runs 60 --site site.yaml
	[[ $(grep -c started "$(home log)") -eq 4 ]]
	rm "$(home log)"
	generated
	as_researcher sed -i 's/gres=gpu:2/gres=gpu:1/' job.sh
	run job_ends 60 job.sh
	[[ $status -ne 0 ]]
	said '1 GPUs here, and 2 are planned; nothing was started'
	run said '^started'
	[[ $status -ne 0 ]]
}

# without_srank OPTION...: the job of job.yaml completes although node2 has no srank.
without_srank() {
	local job
	generated "$@"
	on node2 sh -c ': >/run/none && mount --bind /run/none /usr/local/bin/srank'
	job=$(as_researcher sbatch --parsable job.sh)
	until_true 60 eval '[[ $(as_researcher squeue --noheader --states=all --jobs='"$job"' --format=%T) =~ ^(COMPLETED|FAILED)$ ]]' || job=
	on node2 umount /usr/local/bin/srank
	[[ $job ]] && has "$job" 'JobState=COMPLETED'
}

@test "srank is not on all nodes: preflight says so and the job goes on; plugin: exec ends it" {
	spec <<-'END'
		launcher: torch
		resources: {nodes: 2, gpus_per_node: 2}
		run: {command: [echo, started]}
		batch: {output: log}
	END
	without_srank -s preflight=yes
	[[ $(grep -c started "$(home log)") -eq 4 ]]
	said '^srank: whether the ranks can meet was not tried: not all nodes of this job have the command srank in PATH;'
	rm "$(home log)"
	run without_srank -s plugin=exec
	[[ $status -ne 0 ]]
	said '^srank: node2: the command srank is not in PATH$'
	said '^srank: nothing was started: plugin: exec of the spec needs the command srank on all nodes;'
	run said '^started'
	[[ $status -ne 0 ]]
	# And where it is there.
	rm "$(home log)"
	runs 60 -s plugin=exec
	[[ $(grep -c started "$(home log)") -eq 4 ]]
}

# By names of another network, and over PMIx, as the job's own step does.
@test "preflight meets where the ranks will" {
	local node mpi=none
	! as_researcher srun --mpi=list 2>&1 | grep -q pmix || mpi=pmix
	spec <<-END
		launcher: torch
		plugin: off
		resources: {nodes: 2, gpus_per_node: 2}
		rendezvous: {suffix: -ib}
		srun: {mpi: $mpi}
		run: {command: [sh, -c, 'echo "ranks meet at \$MASTER_ADDR"']}
		preflight: yes
		batch: {output: log}
	END
	for node in node1 node2; do
		on "$node" sh -c 'sed "s/\(node[12]\).*/& \1-ib/" /etc/hosts >/run/hosts && mount --bind /run/hosts /etc/hosts'
	done
	runs 60 || node=failed
	on node1 umount /etc/hosts
	on node2 umount /etc/hosts
	[[ $node != failed ]]
	said '^srank doctor: 4 ranks on 2 nodes, to meet at node1-ib port'
	said '^ranks meet at node1-ib'
	said '^verdict: fine'
}

@test "dependencies, comment, nice and hold reach Slurm" {
	local first second
	first=$(as_researcher sbatch --parsable --hold --output=log --wrap=true)
	spec <<-END
		name: "a name"
		launcher: torch
		resources: {nodes: 1, ntasks: 1}
		run: {command: "true"}
		batch: {output: log, comment: "say \"x\" # y", nice: 77, dependency: {afterok: $first}, begin: now, requeue: no}
	END
	generated
	second=$(as_researcher sbatch --parsable job.sh)
	has "$second" 'JobName=a name'
	has "$second" 'Comment=say "x" # y'
	has "$second" 'Nice=77'
	has "$second" "Dependency=afterok:$first"
	has "$second" 'Requeue=0'
	as_researcher scancel "$first" "$second"
}

@test "hostile values reach the tasks byte for byte, and nothing of them runs" {
	cat >"$(home show.py)" <<-'END'
		import os, sys
		rank = os.environ["RANK"]
		with open("seen." + rank, "wb") as out:
		    for word in sys.argv[1:]:
		        out.write(os.fsencode(word) + b"\0")
		    for name in sorted(os.environ):
		        if name.startswith("V_"):
		            out.write(os.fsencode(name + "=" + os.environ[name]) + b"\0")
		    out.write(os.fsencode(os.getcwd()) + b"\0")
	END
	cat >"$(home hostile.py)" <<-'END'
		import json, os
		words = ["two words", " edge ", "tab\there", "line\nend", "it's", '"', "$HOME", "$(touch pwned)",
		         "`touch pwned`", "; touch pwned", "&& touch pwned", "> pwned", "#", "run#3", "back\\slash",
		         "end\\", "*", "~", "~/x", "-x", "--", "--nodes=9", "", " ", "%j", "größe", "日本語",
		         "“quoted”", "it’s", "dos\r\n", "\x1b[31mred", "#SBATCH --nodes=9", "x\n#SBATCH --nodes=9",
		         "TASK\n", "{{name}}", "}}", "<<EOF", "a;b", "!", "\u00a0", "'$RANK'", '"$RANK"']
		spec = {"launcher": os.environ["LAUNCHER"], "plugin": os.environ["PLUGIN"],
		        "name": "it's \"a\" # $HOME `x` größe", "resources": {"nodes": 1, "ntasks": 1},
		        "run": {"script": "show.py", "python": "python3", "args": words, "workdir": "a '$x' b"},
		        "env": {"V_%02d" % i: word for i, word in enumerate(words) if word != ""},
		        "batch": {"output": "log"}}
		if os.environ["LAUNCHER"] == "torch":
		    spec["resources"]["ntasks"] = 2
		with open("job.yaml", "w") as out:
		    json.dump(spec, out)
		    # The name is meant as it is.
		    out.write("\n# srank: disable-file=variable-in-directive\n")
		with open("expected", "wb") as out:
		    for word in words:
		        out.write(os.fsencode(word) + b"\0")
		    for name in sorted(spec["env"]):
		        out.write(os.fsencode(name + "=" + spec["env"][name]) + b"\0")
		    out.write(os.fsencode(os.getcwd() + "/a '$x' b") + b"\0")
	END
	as_researcher mkdir -p "a '\$x' b"
	local means job
	for means in auto off; do
		as_researcher env LAUNCHER=torch PLUGIN=$means PYTHONUTF8=1 python3 hostile.py
		give "$(home show.py)" 2>/dev/null || true
		as_researcher cp show.py "a '\$x' b"
		generated
		as_researcher rm -f "a '\$x' b/seen.0" "a '\$x' b/seen.1"
		job=$(as_researcher sbatch --parsable job.sh)
		until_true 60 has "$job" 'JobState=COMPLETED'
		cmp "$(home "a '\$x' b/seen.0")" "$(home expected)"
		cmp "$(home "a '\$x' b/seen.1")" "$(home expected)"
		has "$job" "JobName=it's \"a\" # \$HOME \`x\` größe"
		has "$job" 'NumNodes=1 '
	done
	run find "$(home '')" -name pwned
	[[ -z $output ]]
}
