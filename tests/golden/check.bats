#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# `srank check`: scripts that say themselves what must be found in them, and the command around
# the rules: formats, exit codes, --fix and what it leaves alone.
# shellcheck disable=SC2016,SC2154 # text for scripts; lines, status and output are bats'

load helpers

setup() {
	common_setup
	scripts=$here/check
}

# A script's own list: `#@ RULE...` at the end of a line, `#@N RULE...` for line N.
wanted() {
	awk 'match($0, /#@[0-9]* [a-z0-9 -]+$/) {
		line = NR
		n = split(substr($0, RSTART + 2), word, " ")
		from = 1
		if (substr($0, RSTART + 2, 1) ~ /[0-9]/) {
			line = word[1]
			from = 2
		}
		for (i = from; i <= n; i++)
			print line ":" word[i]
	}' "$1" | sort -u
}

# LINE:RULE of every error and warning, and of notes that the script asks for.
found() {
	srank check --format=gcc "$1" | sed -nE 's/^[^:]*:([0-9]+):[0-9]+: (error|warning|note): .* \[([a-z0-9-]+)\]$/\2 \1:\3/p' |
		while read -r severity what; do
			if [[ $severity != note ]] || wanted "$1" | grep -qxF "$what"; then
				echo "$what"
			fi
		done | sort -u
}

@test "every script has the findings that it says, and no others" {
	local script bad=0
	for script in "$scripts"/*.sbatch; do
		diff <(wanted "$script") <(found "$script") || {
			echo "in ${script##*/}"
			bad=1
		}
	done
	((bad == 0))
}

@test "the scripts differ in what is found: every one with a mistake has one" {
	local script clean=0 faulty=0
	for script in "$scripts"/*.sbatch; do
		if [[ $(wanted "$script") ]]; then faulty=$((faulty + 1)); else clean=$((clean + 1)); fi
	done
	((clean >= 20 && faulty >= 60))
}

# says FILE LINE RULE
says() {
	srank check --format=gcc "$1" | grep -qE "^$1:$2:[0-9]+: [a-z]+: .*\[$3\]$"
}

# severity '[OPTION...] SCRIPT' RULE: as gcc's lines have it.
severity() {
	# shellcheck disable=SC2086 # words
	srank check --format=gcc $1 | sed -nE "s/^[^:]*:[0-9]+:[0-9]+: ([a-z]+): .*\\[$2\\]\$/\1/p" | sort -u | paste -sd,
}

@test "severities follow what happens" {
	printf '%s\n' '#!/bin/bash' '# SBATCH --ntasks=2' 'srun ./a' >spaced.sbatch
	printf '%s\n' '#!/bin/bash' '#sbatch --ntasks=2' 'srun ./a' >small.sbatch
	[[ $(severity spaced.sbatch misspelt-directive) == warning ]]
	[[ $(severity small.sbatch misspelt-directive) == error ]]
	# Twice the same number of GPUs is refused by 26.05 only, another number fails everywhere.
	printf '%s\n' '#!/bin/bash' '#SBATCH --gres=gpu:4' '#SBATCH --gpus-per-node=4' 'srun ./a' >same.sbatch
	sed 's/node=4/node=8/' same.sbatch >other.sbatch
	[[ $(severity same.sbatch conflicting-gpu-requests) == note,warning ]]
	[[ $(severity other.sbatch conflicting-gpu-requests) == error,note ]]
	# What is near no option may be one of a plugin, which the site has.
	printf '%s\n' '#!/bin/bash' '#SBATCH --of-a-site=1 --ntasks=2' 'srun ./a' >plugin.sbatch
	sed 's/of-a-site/ntask-per-node/' plugin.sbatch >near.sbatch
	[[ $(severity plugin.sbatch unknown-option) == warning ]]
	[[ $(severity near.sbatch unknown-option) == error ]]
	# A list of node counts, and gpu=2, are read since 23.02.
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2,4' 'srun ./a' >list.sbatch
	[[ $(severity list.sbatch bad-value) == warning ]]
	[[ $(srank check --slurm=24.11 list.sbatch) != *bad-value* ]]
	# A program of MPI's takes the first device that it sees.
	printf '%s\n' '#!/bin/bash' '#SBATCH --ntasks=4 --gpus-per-node=4' 'srun --gpu-bind=closest ./a' >mpi.sbatch
	sed 's,[.]/a,python a.py,' mpi.sbatch >python.sbatch
	[[ $(severity mpi.sbatch gpu-bind-closest) == note ]]
	[[ $(severity python.sbatch gpu-bind-closest) == warning ]]
	# srun takes --cpus-per-task from the job but in 22.05 to 23.02.
	printf '%s\n' '#!/bin/bash' '#SBATCH --ntasks=2 --cpus-per-task=4' 'srun ./a' >cpus.sbatch
	[[ $(severity cpus.sbatch srun-without-cpus-per-task) == note ]]
	[[ $(severity '--slurm=22.05 cpus.sbatch' srun-without-cpus-per-task) == warning ]]
	[[ $(severity '--slurm=23.02 cpus.sbatch' srun-without-cpus-per-task) == warning ]]
	[[ $(severity '--slurm=23.11 cpus.sbatch' srun-without-cpus-per-task) == '' ]]
	[[ $(severity '--slurm=21.08 cpus.sbatch' srun-without-cpus-per-task) == '' ]]
	# One task that is told to have one CPU may be meant so.
	printf '%s\n' '#!/bin/bash' '#SBATCH --ntasks=1 --gpus-per-node=1 --cpus-per-task=1' 'srun python a.py' >one.sbatch
	sed 's/ntasks=1/ntasks=2/' one.sbatch >two.sbatch
	[[ $(severity one.sbatch one-cpu-per-gpu-task) == note ]]
	[[ $(severity two.sbatch one-cpu-per-gpu-task) == warning ]]
}

@test "the documents' job on two nodes: every claim that is wrong" {
	cp "$scripts"/seeds/*.sbatch .
	says two-nodes.sbatch 16 torchrun-times-ntasks
	says two-nodes.sbatch 18 batch-expanded-rank
	srank check --pedantic --format=gcc two-nodes.sbatch | grep -q '^two-nodes.sbatch:19:.*batch-hostname-master'
	says two-nodes.sbatch 22 mmengine-launcher
	says two-nodes.sbatch 15 mpi-not-needed
	says two-nodes.sbatch 15 network-option
	says two-nodes.sbatch 15 srun-without-cpus-per-task
	says two-nodes.sbatch 16 torch-launch-deprecated
	srank check two-nodes.sbatch | grep -q '8 tasks on each node start .*: 64 processes a node'
}

@test "the documents' other jobs" {
	cp "$scripts"/seeds/*.sbatch .
	says one-node-tasks.sbatch 11 torchrun-times-ntasks
	says one-node-tasks.sbatch 12 mmengine-launcher
	says one-process.sbatch 8 one-process-many-gpus
	says one-process.sbatch 8 cuda-mask-fixed
	says old-launch.sbatch 8 torch-launch-deprecated
	says old-launch.sbatch 8 mmengine-launcher
	says by-hand.sbatch 8 multi-node-without-srun
	says by-hand.sbatch 8 fixed-port
}

@test "import makes of each a spec whose script has no mistake" {
	local name
	for name in two-nodes one-node-tasks one-process old-launch by-hand; do
		srank import "$scripts/seeds/$name.sbatch" -o "$name.yaml"
		srank gen "$name.yaml" -o "$name.sbatch"
		clean_script "$name.sbatch"
		srank check --strict "$name.sbatch"
	done
}

@test "what srank itself writes has no mistake" {
	local script
	for script in "$here"/scripts/*.sbatch; do
		srank check --strict "$script"
	done
}

# ---- the command ----

job() {
	printf '%s\n' '#!/bin/bash' '#SBATCH --ntasks=2' '#SBATCH --cpus-per-task=4' "$@" >job.sbatch
}

@test "exit codes: errors only, warnings with --strict, wrong calls" {
	job 'srun -c 4 ./solver'
	srank check job.sbatch
	job 'srun ./solver'
	srank check --slurm=22.05 job.sbatch
	run srank check --slurm=22.05 --strict job.sbatch
	[[ $status -eq 1 ]]
	# Of a version that nobody names this is a note.
	srank check --strict job.sbatch
	job 'srun -c 4 mpirun -np 2 ./solver'
	run srank check job.sbatch
	[[ $status -eq 1 ]]
	run srank check
	[[ $status -eq 2 && $output == *'no script is named'* ]]
	run srank check --format=xml job.sbatch
	[[ $status -eq 2 && $output == *'text, json, sarif or gcc'* ]]
	run srank check --slurm=new job.sbatch
	[[ $status -eq 2 ]]
	run srank check --disable=mpirun-insid-srun job.sbatch
	[[ $status -eq 2 && $output == *'did you mean mpirun-inside-srun?'* ]]
	srank check --disable=mpirun-inside-srun job.sbatch
	run srank check nothere.sbatch job.sbatch
	[[ $status -eq 1 && $output == *'cannot read nothere.sbatch: No such file'* && $output == *mpirun-inside-srun* ]]
}

@test "text: place, message, source with a caret, why and fix" {
	job 'srun -c 4 mpirun -np 2 ./solver'
	run srank check job.sbatch
	[[ ${lines[0]} == 'job.sbatch:4:11: error: srun starts mpirun in each of its 2 tasks [mpirun-inside-srun]' ]]
	[[ ${lines[1]} == '    4 | srun -c 4 mpirun -np 2 ./solver' ]]
	[[ ${lines[2]} == '      |           ^~~~~~~'* ]]
	[[ ${lines[3]} == '  why: '* ]]
	[[ ${lines[4]} == '  fix: start mpirun without srun'* ]]
	refute grep -q $'\033' <<<"$output"
}

@test "standard input, and several scripts in one run" {
	job 'srun -c 4 mpirun -np 2 ./solver'
	srank check - <job.sbatch | grep -q '^-:4:11: error: '
	cp job.sbatch other.sbatch
	(($(srank check --format=gcc job.sbatch other.sbatch | grep -c mpirun-inside-srun) == 2))
}

@test "what the command line says goes before the header" {
	job 'srun -c 4 -N 2 ./solver'
	sed -i 's/^#SBATCH --ntasks=2/#SBATCH --nodes=1 --ntasks=2/' job.sbatch
	run srank check job.sbatch
	[[ $output == *step-exceeds-job* ]]
	srank check --sbatch=--nodes=2 job.sbatch
}

@test "what the environment says goes before the header, where it is asked for" {
	job 'srun -c 4 python a.py'
	[[ $(SBATCH_EXPORT=NONE srank check job.sbatch) == '' ]]
	[[ $(SBATCH_EXPORT=NONE srank check --environment job.sbatch) == *export-without-all* ]]
}

@test "the site profile gives Slurm's version and the partition's limits" {
	printf '%s\n' 'slurm: "24.11"' \
		'partitions: {gpu: {nodes: 2, cpus_per_node: 16, mem: 64G, time: 1-0}}' >site.yaml
	job 'srun ./solver'
	[[ $(srank check job.sbatch) == *srun-without-cpus-per-task* ]]
	[[ $(srank check --site site.yaml job.sbatch) == '' ]]
	[[ $(srank check --site site.yaml --slurm=22.05 job.sbatch) == *srun-without-cpus-per-task* ]]
	printf '%s\n' '#!/bin/bash' '#SBATCH --partition=gpu' '#SBATCH --nodes=4' '#SBATCH --ntasks-per-node=8' \
		'#SBATCH --cpus-per-task=4' '#SBATCH --mem=65G' '#SBATCH --time=24:01:00' 'srun -c 4 ./solver' >job.sbatch
	run srank check --site site.yaml job.sbatch
	[[ $output == *'4 nodes, and the partition has 2 [over-limit]'* ]]
	[[ $output == *'32 CPUs a node, and the partition has 16 [over-limit]'* ]]
	[[ $output == *'66560 MiB a node, and the partition has 65536 [over-limit]'* ]]
	[[ $output == *"--time=24:01:00 is above the partition's limit, 1-0 [over-limit]"* ]]
	sed -i 's/partition=gpu/partition=gpus/' job.sbatch
	[[ $(srank check --site site.yaml job.sbatch) == *unknown-partition*'did you mean gpu?'* ]]
}

@test "the site profile names the select plugin" {
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=1 --ntasks=2' '#SBATCH --gpus-per-task=1 --cpus-per-task=4' \
		'srun -c 4 ./solver' >job.sbatch
	printf 'select: linear\n' >site.yaml
	[[ $(srank check --site site.yaml job.sbatch) == *'--gpus-per-task is not for select/linear'* ]]
	sed -i 's/per-task=1/per-node=2/' job.sbatch
	[[ $(srank check --site site.yaml job.sbatch) == '' ]]
	printf 'select: cons_res\n' >site.yaml
	[[ $(srank check --site site.yaml job.sbatch) == *'--gpus-per-node is not for select/cons_res'* ]]
}

@test "json can be read, whatever bytes the script has" {
	[[ -x /usr/bin/python3 ]] || skip 'SKIPPED, NOT PASSED: no python3 to read JSON with'
	printf '#!/bin/bash\n#SBATCH --job-name=a"\\\xff\xc3\xa9 b\n#SBATCH --ntask-per-node=2\nsrun ./a\n' >odd.sbatch
	srank check --format=json odd.sbatch job.sbatch >out.json 2>/dev/null || true
	/usr/bin/python3 - out.json <<-'END'
		import json, sys
		found = json.load(open(sys.argv[1], encoding='utf-8'))
		assert found['tool'] == 'srank' and found['errors'] > 0
		one = [f for f in found['findings'] if f['rule'] == 'unknown-option'][0]
		assert one['file'] == 'odd.sbatch' and one['line'] == 3 and one['column'] == 9
		assert one['end_column'] == 25 and one['severity'] == 'error' and one['why'] and one['fix']
	END
}

@test "sarif has the shape of 2.1.0" {
	[[ -x /usr/bin/python3 ]] || skip 'SKIPPED, NOT PASSED: no python3 to read SARIF with'
	job 'srun mpirun -np 2 ./solver'
	mv job.sbatch 'my job.sbatch'
	srank check --slurm=22.05 --format=sarif 'my job.sbatch' >out.sarif || true
	/usr/bin/python3 - out.sarif <<-'END'
		import json, sys
		log = json.load(open(sys.argv[1], encoding='utf-8'))
		assert log['version'] == '2.1.0' and log['$schema'].endswith('sarif-schema-2.1.0.json')
		[run] = log['runs']
		driver = run['tool']['driver']
		assert driver['name'] == 'srank' and driver['version']
		ids = [rule['id'] for rule in driver['rules']]
		assert len(ids) == len(set(ids)) > 100
		for rule in driver['rules']:
		    assert rule['shortDescription']['text'] and rule['help']['text']
		    assert rule['defaultConfiguration']['level'] in ('error', 'warning', 'note')
		assert {r['ruleId'] for r in run['results']} == {'mpirun-inside-srun', 'srun-without-cpus-per-task'}
		for result in run['results']:
		    assert ids[result['ruleIndex']] == result['ruleId']
		    assert result['level'] in ('error', 'warning') and result['message']['text']
		    [location] = result['locations']
		    place = location['physicalLocation']
		    assert place['artifactLocation']['uri'] == 'my%20job.sbatch'
		    region = place['region']
		    assert region['startLine'] == 4 and 1 <= region['startColumn'] <= region['endColumn']
	END
}

# validates FILE SCHEMA: and a file that is spoilt is not valid.
validates() {
	/usr/bin/python3 - "$@" <<-'END'
		import copy, json, sys
		import jsonschema
		log, schema = (json.load(open(name, encoding='utf-8')) for name in sys.argv[1:])
		validator = jsonschema.validators.validator_for(schema)
		validator.check_schema(schema)
		validator = validator(schema)
		for error in validator.iter_errors(log):
		    sys.exit(f"{'/'.join(map(str, error.absolute_path))}: {error.message}")
		for spoil in (lambda log: log.pop('version'), lambda log: log['runs'][0].pop('tool'),
		              lambda log: log['runs'][0]['results'][0].update(level='fatal'),
		              lambda log: log['runs'][0]['results'][0].pop('message')):
		    spoilt = copy.deepcopy(log)
		    spoil(spoilt)
		    assert not validator.is_valid(spoilt), 'a spoilt log is valid'
	END
}

@test "sarif is valid: every kind of finding, odd names, a file without a place" {
	/usr/bin/python3 -c 'import jsonschema' || skip 'SKIPPED, NOT PASSED: there is no python3-jsonschema'
	cp "$scripts"/*.sbatch .
	: >'empty % ä.sbatch'
	srank check --pedantic --slurm=22.05 --format=sarif ./*.sbatch >out.sarif || true
	validates out.sarif "$here/sarif.json"
	# The standard's own schema, where there is a copy: SARIF_SCHEMA names it.
	if [[ -r ${SARIF_SCHEMA:-} ]]; then
		validates out.sarif "$SARIF_SCHEMA"
	fi
}

@test "gcc: one line for each finding" {
	job 'srun mpirun -np 2 ./solver'
	run srank check --slurm=22.05 --format=gcc job.sbatch
	[[ ${#lines[@]} -eq 2 ]]
	[[ ${lines[0]} =~ ^job\.sbatch:4:1:\ warning:\ .*\ \[srun-without-cpus-per-task\]$ ]]
}

# ---- fixes ----

@test "--fix: what is certain, and every other byte stays" {
	printf '%s\n' '#!/bin/bash' '# a remark,	with a tab ' '#SBATCH --ntask-per-node=2  # two' '  #SBATCH --nodes=1' \
		'#SBATCH --cpus-per-task = 4' 'module load x' '#SBATCH --time=4h' 'srun   ./solver  "a  b"' >job.sbatch
	printf '%s\n' '#!/bin/bash' '# a remark,	with a tab ' '#SBATCH --ntasks-per-node=2  # two' '#SBATCH --nodes=1' \
		'#SBATCH --cpus-per-task=4' '#SBATCH --time=04:00:00' 'module load x' \
		'srun --cpus-per-task=4   ./solver  "a  b"' >want.sbatch
	cp job.sbatch before.sbatch
	srank check --diff job.sbatch >change.diff || true
	cmp job.sbatch before.sbatch
	chmod 751 job.sbatch
	srank check --fix job.sbatch
	diff want.sbatch job.sbatch
	[[ $(stat -c %a job.sbatch) == 751 ]]
	# The difference is one that patch takes.
	patch -s before.sbatch change.diff
	cmp before.sbatch want.sbatch
	# Nothing is left to fix.
	[[ $(srank check --diff job.sbatch) == '' ]]
}

@test "--fix moves what belongs into the step" {
	local step='srun -c 4 bash -c "MASTER_PORT=25000 LOCAL_RANK=$SLURM_LOCALID RANK=$SLURM_PROCID python train.py"'
	job 'export MASTER_ADDR=$(hostname)' "$step"
	srank check --fix job.sbatch 2>/dev/null || true
	grep -qF "bash -c 'MASTER_PORT=25000 LOCAL_RANK=\$SLURM_LOCALID RANK=\$SLURM_PROCID python train.py'" job.sbatch
	# The batch shell alone knows $x, so this is not for a program to change.
	job 'read -r x' 'srun -c 4 bash -c "LOCAL_RANK=$SLURM_LOCALID python train.py $x"'
	cp job.sbatch before.sbatch
	srank check --fix job.sbatch 2>/dev/null || true
	cmp job.sbatch before.sbatch
}

@test "--fix: DOS line ends, a byte order mark, no-break spaces" {
	printf '\xef\xbb\xbf#!/bin/bash\r\n#SBATCH\xc2\xa0--ntasks=2\r\nsrun ./solver\r\n' >job.sbatch
	srank check --fix job.sbatch
	printf '#!/bin/bash\n#SBATCH --ntasks=2\nsrun ./solver\n' | cmp - job.sbatch
}

@test "--fix on standard input writes to standard output" {
	job 'srun ./solver'
	srank check --fix - <job.sbatch >out 2>err
	grep -q -- 'srun --cpus-per-task=4 ./solver' out
	printf 'nothing to fix' | srank check --fix - 2>/dev/null >out || true
	[[ -s out ]]
}

@test "--fix follows a link and keeps it" {
	job 'srun ./solver'
	mv job.sbatch real.sbatch
	ln -s real.sbatch job.sbatch
	srank check --fix job.sbatch
	[[ -L job.sbatch ]]
	grep -q -- '--cpus-per-task=4 ./solver' real.sbatch
}

@test "a script that cannot be written is told, and is as it was" {
	((EUID)) || skip 'SKIPPED, NOT PASSED: root may write anywhere'
	job 'srun ./solver'
	chmod 555 .
	run srank check --fix job.sbatch
	chmod 755 .
	[[ $status -eq 1 && $output == *'cannot write job.sbatch'* ]]
}

# ---- rules ----

@test "rules lists every rule, and explains one" {
	run srank rules
	[[ $status -eq 0 ]]
	(($(grep -cE '^  [a-z0-9-]+ +(error|warning|note) ' <<<"$output") > 100))
	run srank rules late-directive
	[[ $output == *'late-directive (error, --fix)'* && $output == *'why: '* && $output == *'found in:'* ]]
	run srank rules late-directiv
	[[ $status -eq 1 && $output == *'did you mean late-directive?'* ]]
}

@test "the manual page is one" {
	command -v scdoc >/dev/null || skip 'SKIPPED, NOT PASSED: scdoc is not installed'
	scdoc <"$top/docs/srank-rules.7.scd" >page.7
	grep -q 'late-directive' page.7
}

# ---- import ----

@test "import keeps what the script asks for, and the code around the step" {
	cat >job.sbatch <<-'END'
		#!/bin/bash
		#SBATCH --job-name=fit
		#SBATCH --nodes=2
		#SBATCH --ntasks-per-node=4
		#SBATCH --gpus-per-node=a100:4
		#SBATCH --cpus-per-task=8
		#SBATCH --mem=64G
		#SBATCH --time=1:00:00
		#SBATCH --mail-type=END,FAIL
		#SBATCH --array=0-3%2
		#SBATCH --spread-job
		module load cuda/12
		# where the data is
		export DATA="$SCRATCH/data"
		export MASTER_ADDR=$(scontrol show hostnames | head -n 1)
		export MASTER_PORT=29500
		srun -c 8 --label python fit.py --devices 4 --num_nodes 2 --name "a b"
		echo "done: $?"
	END
	srank import job.sbatch >job.yaml
	diff - job.yaml <<-'END'
		name: fit
		launcher: lightning
		run:
		  script: fit.py
		  args: ["--devices", 4, "--num_nodes", 2, "--name", "a b"]
		resources:
		  nodes: 2
		  gpus_per_node: 4
		  gpu_type: a100
		  cpus_per_task: 8
		  mem: "64G"
		batch:
		  time: "1:00:00"
		  array: "0-3%2"
		  mail_type: [END, FAIL]
		  extra: ["--spread-job"]
		srun:
		  label: true
		setup:
		  - |
		    module load cuda/12
		    # where the data is
		    export DATA="$SCRATCH/data"
		teardown:
		  - |
		    echo "done: $?"
	END
	srank gen job.yaml >out.sbatch
	clean_script out.sbatch
	srank check --strict out.sbatch
}

@test "import: variables of the job stay with a shell in each task" {
	job 'srun -c 4 python train.py --seed "$SLURM_ARRAY_TASK_ID" --out $USER/x'
	srank import job.sbatch >job.yaml 2>said
	grep -qF 'command: [bash, -c, "exec python train.py --seed \"$SLURM_ARRAY_TASK_ID\" --out $USER/x"]' job.yaml
	grep -q 'a shell in each task' said
	srank gen job.yaml >/dev/null
}

@test "import of a script that runs nothing, and of one that is not there" {
	job 'echo hello'
	run srank import job.sbatch
	[[ $status -eq 1 && $output == *'no command in it starts a program'* ]]
	run srank import nothere.sbatch
	[[ $status -eq 1 && $output == *'cannot read nothere.sbatch'* ]]
	run srank import
	[[ $status -eq 2 ]]
}

# imports LINE...: the spec of job.sbatch has all these lines, and gen takes it.
imports() {
	local line
	srank import job.sbatch >job.yaml 2>said || {
		cat said
		return 1
	}
	for line in "$@"; do
		grep -qxF -- "$line" job.yaml || {
			echo "not there: $line" && cat job.yaml
			return 1
		}
	done
	srank gen job.yaml >out.sbatch
	bash -n out.sbatch
}

# refuses WORDS: import fails, writes nothing, and says WORDS and what to do.
refuses() {
	refute srank import job.sbatch >job.yaml 2>said
	refute test -s job.yaml
	grep -qF -- "$1" said || {
		cat said
		return 1
	}
	grep -qF 'fix: ' said
}

@test "import maps a container, and tells each option of the launcher that goes" {
	job 'srun singularity exec --nv -B /data:/d,/w --cleanenv my.sif torchrun --nproc_per_node=2 --max_restarts=3 --tee 3 t.py --x 1'
	imports 'launcher: torchrun' '  script: t.py' '  args: ["--x", 1]' '  max_restarts: 3' \
		'  runtime: singularity' '  image: my.sif' '  mounts: ["/data:/d", /w]' '  options: ["--nv", "--cleanenv"]'
	grep -qF -- '--tee of torchrun was left out' said
	grep -qF 'singularity exec --bind /data:/d --bind /w --nv --cleanenv my.sif' out.sbatch
	job 'srun torchrun --nnodes=1:2 --nproc_per_node=2 t.py'
	imports '  elastic: "1:2"'
	job 'srun apptainer exec -B "$PWD:/w" my.sif torchrun --nproc_per_node=2 t.py'
	refuses 'what `apptainer` does around torchrun'
	job 'srun docker run my torchrun --nproc_per_node=2 t.py'
	refuses 'what `docker` does around torchrun'
	# Without a launcher to put there it is run as it stands.
	job 'srun docker run my python t.py'
	imports '  command: [docker, run, my, python, t.py]'
	job 'srun accelerate launch --mixed_precision bf16 --num_processes 2 t.py'
	refuses '--mixed_precision of accelerate has no key in a spec'
}

@test "import: what the batch shell expands is expanded by it" {
	local expand
	job 'lrs=(0.1 "0 2")' 'i=1' 'srun python3 train.py --lr "${lrs[$((i - SLURM_ARRAY_TASK_ID))]}" "${lrs[@]}" $(echo a b) '"'it''s'"
	imports "  command: [bash, -c, 'eval \"exec \$RANK_COMMAND\"']" '    lrs=(0.1 "0 2")' '    export RANK_COMMAND'
	expand=$(sed -n '/lrs=/p; /^i=1/p; /RANK_COMMAND$/p; /printf -v RANK_COMMAND/p' out.sbatch)
	# What a task then runs, each word in brackets.
	[[ $(SLURM_ARRAY_TASK_ID=0 bash -c "$expand"$'\n''python3() { printf "[%s]" "$@"; }; eval "$RANK_COMMAND"') == \
		"[train.py][--lr][0 2][0.1][0 2][a][b][its]" ]]

	# A set-up whose commands may fail, as this read does.
	job "read -r -d '' cmd <<EOF" 'cd /opt && python -u gpt.py nodes=${SLURM_NNODES}' 'EOF' 'srun bash -c "${cmd}"'
	imports '    set +e +o pipefail' '    set -eo pipefail' "  command: [bash, -c, 'eval \"exec \$RANK_COMMAND\"']"
	expand=$(sed -n '/^set -eo pipefail/p; /^trap.* ERR$/p; /^ON_ERR=/,/^eval /p' out.sbatch)
	run env SLURM_NNODES=2 bash -ec "$expand"$'\n''bash() { printf "[%s]" "$@"; }; eval "$RANK_COMMAND"; echo; (exit 3)'
	[[ $status -eq 3 && ${lines[0]} == '[-c][cd /opt && python -u gpt.py nodes=2]' ]]
	# The script's own trap is back, and only the last command ran into it.
	[[ ${#lines[@]} -eq 2 && ${lines[1]} == 'srank: line '*' failed with exit code 3: '* ]]

	# Some words by one shell and some by the other, and shell code around the program.
	job 'x=1' "srun bash -c 'cd /opt; python t.py --x \$SLURM_PROCID'"
	imports "  command: [bash, \"-c\", \"cd /opt; python t.py --x \$SLURM_PROCID\"]"
	job "srun bash -c 'cd /opt; torchrun --nproc_per_node=2 t.py'"
	refuses 'what `bash` does around torchrun'
}

@test "import: variables of the one command, srun's options, and the folder" {
	job 'A="x y" srun -c 4 --jobid $SLURM_JOBID --export=ALL,B=2 python t.py'
	imports "    export A='x y'" '    export B=2' '  script: t.py'
	refute grep -q jobid job.yaml
	job 'srun --container-image=a.sqsh --container-mounts=/l,$PWD:/w python t.py'
	refuses 'the value of --container-mounts holds a variable'
	printf '%s\n' '#!/bin/bash' '#SBATCH --chdir=.' 'srun python t.py' >job.sbatch
	imports '  script: t.py'
	refute grep -q workdir job.yaml
}

@test "import refuses what is more than one step" {
	job 'for i in 1 2; do srun --exact -n1 python run.py --seed $i & done' 'wait'
	refuses 'stands in a loop'
	job 'srun -n1 python run.py --seed 1'
	refuses "the step has 1 of the job's 2 tasks"
	job 'srun python train.py' 'srun python eval.py'
	refuses '`python` is another program'
	job 'srun python train.py && cp model.pt $HOME'
	refuses 'depends on how the step ends'
	job "trap 'kill -USR1 \$pid; wait \$pid' USR1" 'srun python train.py &' 'pid=$!' 'wait $pid'
	refuses 'this trap needs $pid'
	job 'pid=' "trap 'kill -USR1 \$pid' USR1" 'srun python train.py'
	imports '  script: train.py'
	job 'srun ./solver < in.txt > out.txt'
	refuses 'this input would be lost'
	job 'srun ./solver < /dev/null'
	imports
	job 'srun -n 1 ray start --block &' 'python tune.py'
	refuses 'python runs once, beside this step'
	job 'cd x && srun python train.py'
	refuses 'whether this command runs'
	job 'if [ -f x ]; then srun python train.py; fi'
	refuses 'whether this command runs'
	job 'bash tools/dist_train.sh configs/a.py 2'
	refuses 'what dist_train.sh does stands in a file'
	job 'go() { cd x; srun python train.py; }' 'go'
	refuses 'stands in a function'
	job '(' 'cd x' 'srun python train.py' ')'
	refuses 'in its group would be lost'
	job '#SBATCH hetjob' '#SBATCH --ntasks=1' 'srun python train.py'
	refuses 'heterogeneous'
}

@test "import: what a job asks for in all is what its spec asks for" {
	# DIRECTIVES | what gen then writes
	local asked given
	while IFS='|' read -r asked given; do
		printf '%s\n' '#!/bin/bash' "#SBATCH $asked" 'srun python t.py' >job.sbatch
		imports
		[[ $(sed -n 's/^#SBATCH //p' out.sbatch | paste -sd ' ') == "$given" ]] || {
			printf '%s\n' "of $asked" && cat out.sbatch && return 1
		}
	done <<-'END'
		-n 64|--nodes=1 --ntasks-per-node=64
		-N 2 -n 8|--nodes=2 --ntasks-per-node=4
		-N 2 -n 8 -G 8|--nodes=2 --ntasks-per-node=4 --gres=gpu:4
		-N 2 -n 8 -G 8 --gpus-per-task=1|--nodes=2 --ntasks-per-node=4 --gres=gpu:4
		-N 2 -n 8 -G a100:8|--nodes=2 --ntasks-per-node=4 --gres=gpu:a100:4
		-n 4 --gpus-per-task=1|--nodes=1 --ntasks-per-node=4 --gres=gpu:4
		-G 2 -n 2|--nodes=1 --ntasks-per-node=2 --gres=gpu:2
	END
	printf '%s\n' '#!/bin/bash' '#SBATCH -N 2 -n 7' 'srun python t.py' >job.sbatch
	refuses '7 tasks are not the same number on each of 2 nodes'
	printf '%s\n' '#!/bin/bash' '#SBATCH -N 2-4' 'srun python t.py' >job.sbatch
	refuses 'how many nodes this job gets'
}

@test "import leaves out the directives that sbatch does not read" {
	job 'module load x' '#SBATCH --time=1:00:00' 'export A=1' "cat <<-END >other" '#SBATCH --hold' END 'srun --mpi=pmi2 ./solver'
	imports '    module load x' '    export A=1' '    #SBATCH --hold'
	refute grep -q -- '--time' job.yaml
	tells 'sbatch does not read this directive, and it was left out' 5
}

# tells TEXT LINE: a note of the last import is about the line.
tells() {
	grep -qF -- "$1" <(sed -nE "s/^job\\.sbatch:$2:[0-9]+: note: //p" said) || {
		echo "not told of line $2: $1" && cat said
		return 1
	}
}

@test "import: every option of srun is kept, or told" {
	local line
	job '#SBATCH --gpus-per-node=2 --time=1:00:00' \
		'srun --time=30 --mem=4G -K0 --exact --job-name=s --gpu-bind=closest --export=A,B --network=ib -p gpu --srank=torch,gpus=mask -l -W 9 python t.py'
	imports '  kill_on_bad_exit: false' '  label: true' '  wait: 9' '  time: "1:00:00"' \
		'  args: ["--time=30", "--mem=4G", "--exact", "--job-name=s"]'
	tells '--gpu-bind=closest was left out: binding.gpus' 5
	tells '--export=A,B of srun was left out: the ranks of a spec have the whole environment' 5
	tells '--network=ib of srun was left out: a step takes no notice of it' 5
	tells '--partition=gpu of srun was left out: a step takes no notice of it' 5
	grep -qx 'export SRANK=torch,gpus=mask' out.sbatch
	grep -qF -- '--kill-on-bad-exit=0 --export=ALL' out.sbatch
	# What the header says as well is in the spec already.
	job '#SBATCH --mem=4G' 'srun --mem=4G -K --export=ALL --mpi=none python t.py'
	imports '  mem: "4G"'
	refute grep -q 'srun:' job.yaml
	refute grep -q srun said
	# The header's own environment.
	job '#SBATCH --export=NONE' 'srun python t.py'
	imports '  extra: ["--export=NONE"]'
	job '#SBATCH --export=ALL' 'srun python t.py'
	imports
	refute grep -q 'extra:' job.yaml
	job 'srun --multi-prog programs'
	refuses '--multi-prog starts several programs'
	# An MPI plugin that the script does not name.
	job 'srun ./solver'
	imports 'launcher: mpi'
	tells 'srun has no --mpi here' 4
	job '#SBATCH --gpus-per-node=2' 'srun -n 1 --mpi=pmix torchrun --nproc_per_node=2 t.py'
	imports 'launcher: torchrun'
	tells '--mpi=pmix of srun was left out: PMI is for programs of MPI' 5
	job 'srun --mpi=pmi2 ./solver'
	imports '  mpi: pmi2'
	refute grep -q srun said
}

@test "import: every option of mpirun and horovodrun is told" {
	job 'mpirun -np 2 --map-by ppr:2:node -x A -x B=1 --bind-to core --rank-by slot --mca btl tcp,self -genv C 1 -wdir /tmp --oversubscribe --tag-output ./solver'
	imports 'launcher: mpi' '  command: ["./solver"]' '    export B=1'
	tells 'srun --mpi=pmix starts the ranks in place of mpirun' 4
	tells '--bind-to core of mpirun was left out: binding.cpus' 4
	tells '--rank-by slot of mpirun was left out: srun.distribution' 4
	tells '-genv C 1 of mpirun was left out: env says it' 4
	tells '--mca btl tcp,self of mpirun was left out: variables OMPI_MCA_' 4
	tells '-wdir /tmp of mpirun was left out: run.workdir' 4
	tells '--oversubscribe of mpirun was left out' 4
	tells '--tag-output of mpirun was left out: srun.label' 4
	refute grep -qE -- '-np|ppr|-x ' said
	job '#SBATCH --gpus-per-node=2' 'horovodrun -np 2 --timeline-filename x.json --network-interface=ib0 python a.py'
	imports 'launcher: horovod' '  script: a.py'
	tells '--timeline-filename of horovodrun was left out' 5
	tells '--network-interface=ib0 of horovodrun was left out' 5
	job 'mpirun -np 1 ./solver'
	refuses "the step has 1 of the job's 2 tasks"
	job 'mpirun -np 1 ./a : -np 1 ./b'
	refuses 'starts several programs here'
}

@test "import: the tasks, CPUs and GPUs are those of the step" {
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2' 'srun -n 4 -c 8 python a.py' >job.sbatch
	imports '  ntasks_per_node: 2' '  cpus_per_task: 8'
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2 --gpus-per-node=4' 'srun -n 8 -c 8 python a.py' >job.sbatch
	imports '  gpus_per_node: 4' '  cpus_per_task: 8'
	[[ ! -s said ]] || { cat said && return 1; }
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2' 'srun -n 3 python a.py' >job.sbatch
	refuses '3 tasks are not the same number on each of 2 nodes'
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4' \
		'srun -N 1 -n 1 torchrun --nproc_per_node=4 a.py' >job.sbatch
	refuses "the step has 1 of the job's 2 nodes"
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=1 --ntasks=4 --gpus-per-node=4' \
		'srun --gpus-per-node=2 python a.py' >job.sbatch
	refuses "the step has 2 of the job's 4 GPUs a node"
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4' \
		'srun torchrun --nnodes=2 --nproc_per_node=2 --rdzv_conf=timeout=9 a.py' >job.sbatch
	imports
	tells '--nproc_per_node is 2, and the spec has 4 GPUs on each node' 3
	tells '--rdzv_conf of torchrun was left out' 3
	sed -i 's/torchrun.*/deepspeed --include localhost:0 a.py/' job.sbatch
	refuses '--include of deepspeed has no key in a spec'
}

@test "import: a process that has several GPUs to itself is not made several" {
	local command
	for command in 'python train.py' 'srun python train.py' './solver' 'python train_net.py --num-gpus 4' \
		'python fit.py --devices 2'; do
		printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4 --cpus-per-task=32' \
			"$command" >job.sbatch
		refuses '1 task sees the 4 GPUs of a node here'
	done
	# These count the GPUs themselves, and their tasks when there are some.
	for command in 'python fit.py --devices 4' 'python fit.py --strategy ddp' 'deepspeed train.py' \
		'python tools/train.py config.py'; do
		printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4 --cpus-per-task=32' \
			"$command" >job.sbatch
		imports '  cpus_per_task: 8'
	done
}

@test "import: a task that sees its own GPU alone does so in the spec" {
	local header='#SBATCH --nodes=1 --ntasks=4 --gpus-per-node=4'
	printf '%s\n' '#!/bin/bash' "$header --gpus-per-task=1" 'srun python a.py' >job.sbatch
	imports '  gpus: mask' '  local: 0'
	grep -qx 'export SRANK=torch,gpus=mask,local=0' out.sbatch
	printf '%s\n' '#!/bin/bash' "$header" 'srun --gpu-bind=single:1 python a.py' >job.sbatch
	imports '  gpus: mask' '  local: 0'
	printf '%s\n' '#!/bin/bash' "$header" \
		"srun bash -c 'CUDA_VISIBLE_DEVICES=\$SLURM_LOCALID RANK=\$SLURM_PROCID LOCAL_RANK=0 python a.py'" >job.sbatch
	imports '  gpus: mask' '  local: 0'
	# The rank is for something else than to choose a device.
	sed -i 's/LOCAL_RANK=0/LOCAL_RANK=$SLURM_LOCALID/' job.sbatch
	imports '  gpus: mask'
	refute grep -q 'local: 0' job.yaml
	printf '%s\n' '#!/bin/bash' "$header --gpus-per-task=1" 'srun --gpu-bind=none python a.py' >job.sbatch
	imports
	refute grep -q 'binding:' job.yaml
}

@test "import writes no spec that gen refuses" {
	job '#SBATCH --gpus-per-node=2' 'deepspeed --hostfile=h --master_addr $(hostname) train.py --deepspeed ds.json'
	imports 'launcher: deepspeed' '  script: train.py' '  args: ["--deepspeed", ds.json]'
	printf '%s\n' '#!/bin/bash' '#SBATCH --time=2days' 'srun python t.py' >job.sbatch
	run srank import job.sbatch
	[[ $status -eq 1 && $output == *'srank gen would refuse the spec'*2days* ]]
}

@test "bytes that no script has" {
	printf '#!/bin/bash\n#SBATCH --ntasks=1\necho a\0b\nsrun ./a\n' >nul.sbatch
	run srank check --format=gcc nul.sbatch
	[[ $status -eq 1 && $output == 'nul.sbatch:3:7: error: '*'[nul-in-script]' ]]
	{
		printf '#!/bin/bash\n#SBATCH --ntasks=1\n'
		head -c 5000000 /dev/zero | tr '\0' '#'
		printf '\nsrun ./a\n'
	} >long.sbatch
	run srank check --format=gcc long.sbatch
	[[ $status -eq 1 && $output == *'[script-too-long]'* ]]
	: >empty.sbatch
	run srank check --format=gcc empty.sbatch
	[[ $status -eq 1 && $output == *'[empty-script]'* ]]
	head -c 100000 /dev/urandom >random.sbatch
	run srank check --format=json random.sbatch
	[[ $status -eq 1 ]]
}

@test "colours only where somebody looks" {
	command -v script >/dev/null || skip 'SKIPPED, NOT PASSED: script is not installed'
	job 'srun -c 4 mpirun -np 2 ./solver'
	TERM=xterm script -qec "'$SRANK_BIN' check job.sbatch" /dev/null >seen || true
	grep -q $'\033\[1;31merror' seen
	NO_COLOR=1 TERM=xterm script -qec "'$SRANK_BIN' check job.sbatch" /dev/null >seen || true
	refute grep -q $'\033' seen
}

@test "srun that only prints something is no step" {
	job 'srun --help | grep -q srank' 'srun --version' 'srun -K1 -c 4 ./solver'
	[[ $(srank check --pedantic job.sbatch) == '' ]]
}

@test "a command in a variable is told of where it runs" {
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2 --ntasks-per-node=1' \
		'CMD="torchrun --nnodes=2 --nproc_per_node=4 train.py"' '$CMD' >job.sbatch
	says job.sbatch 4 multi-node-without-srun
}

@test "a value that a blank cuts gets a cure that sbatch takes" {
	job 'srun -c 4 ./solver'
	sed -i '2i #SBATCH --mem=64 GB' job.sbatch
	run srank check job.sbatch
	[[ $output == *'fix: write --mem=64GB'* && $output != *quote* ]]
}

@test "--fix tells what it has changed, one line each" {
	job 'srun ./solver' 'srun ./other' 'true' 'srun ./third'
	sed -i 's/--ntasks=2/--ntask-per-node=2/' job.sbatch
	srank check --fix job.sbatch 2>said
	grep -qxF 'job.sbatch:2: fixed [unknown-option]' said
	grep -qxF 'job.sbatch:4-5: fixed [srun-without-cpus-per-task]' said
	grep -qxF 'job.sbatch:7: fixed [srun-without-cpus-per-task]' said
	srank check --fix job.sbatch 2>said
	[[ ! -s said ]]
}

@test "of two findings about one step the cures agree" {
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=8 --cpus-per-task=6' \
		'srun torchrun --standalone --nproc_per_node=8 train.py' >job.sbatch
	run srank check job.sbatch
	[[ $output == *'--ntasks-per-node=1 --cpus-per-task=48'* && $output == *'starts torchrun 8 times on each node'* ]]
	[[ $output == *srun-without-cpus-per-task* && $output != *'--cpus-per-task=6 ...'* ]]
}

@test "what is nested too deeply to be read is said to be" {
	{
		printf '%s\n' '#!/bin/bash' '#SBATCH --ntasks=1'
		printf '( %.0s' {1..2000}
		printf 'true'
		printf ' )%.0s' {1..2000}
		echo
	} >deep.sbatch
	run srank check --format=gcc deep.sbatch
	[[ $output == *': note: '*'too deeply'*'[shell-syntax]' ]]
}

@test "check knows the commands of srank and the options of exec and doctor" {
	local name option value
	while read -r name; do
		job "srun -c 4 srank $name true"
		[[ $(srank check job.sbatch) != *'has no command'* ]] || { echo "$name" && return 1; }
	done < <(srank help | sed -nE 's/^  ([a-z]+) .*/\1/p')
	for name in exec doctor; do
		while read -r option value; do
			job "srun -c 4 srank $name $option $value true"
			[[ $(srank check job.sbatch) != *srank-refuses* ]] || { echo "$name $option" && return 1; }
		done < <(srank help "$name" | sed -nE 's/^  (-[a-z]|   ),? +(--[a-z-]+) ?([A-Za-z|]*) .*/\1 \2 \3/p' |
			sed -E 's/^-[a-z] //; s/ L$/ torch/; s/ MODE$/ none/; s/ N$/ 2000/; s/ name.ip$/ ip/; s/ LIST$/ verbose/; s/ (SECONDS|PATH)$/ 9/')
	done
}

@test "what srank or its plugin refuses is told with the nearest word" {
	job 'srun -c 4 --srank=torchrn,gpu=order python t.py' 'export SRANK=mmengin' \
		'srun -c 4 srank exec --laucher torch python t.py' 'srun -c 4 srank exec -ltorhc python t.py' 'srun -c 4 srank doctr'
	run srank check job.sbatch
	[[ $output == *'--srank: torchrn: no such key or launcher [srank-refuses]'*'fix: did you mean torchrun?'* ]]
	[[ $output == *'SRANK: mmengin: no such key or launcher'*'fix: did you mean mmengine?'* ]]
	[[ $output == *'srank exec has no option --laucher'*'fix: did you mean --launcher?'* ]]
	[[ $output == *'srank exec: torhc: no such key or launcher'*'fix: did you mean torch?'* ]]
	[[ $output == *'srank has no command `doctr`'*'fix: did you mean srank doctor?'* ]]
	[[ $output != *'form of sbatch(1)'* ]]
}

@test "srank exec is seen through: the ranks behind it are set, and --mpi is for it" {
	local head srun
	head='#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --cpus-per-task=4'
	srun='srun -c 4 --mpi=pmix srank exec -l torch python t.py --strategy ddp --rank 0'
	printf '%s\n' '#!/bin/bash' "$head" "$srun" >job.sbatch
	run srank check job.sbatch
	[[ $output != *rank-not-unique* && $output != *master-missing* && $output != *port-missing* ]]
	[[ $(sed 's/srank exec -l torch//' job.sbatch | srank check -) == *rank-not-unique* ]]
	srun='srun -c 16 --mpi=pmix srank exec -l torchrun torchrun --nproc_per_node=4 t.py'
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=16' "$srun" >job.sbatch
	run srank check job.sbatch
	[[ $output != *mpi-not-needed* && $output != *one-node-launcher* && $output != *node-rank* ]]
	[[ $(sed 's/srank exec -l torchrun//' job.sbatch | srank check -) == *mpi-not-needed* ]]
}

@test "import: srank exec and what it is told are keys of the spec" {
	local header='#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --cpus-per-task=4'
	printf '%s\n' '#!/bin/bash' "$header" 'srun -c 4 --mpi=pmix srank exec -l torch python t.py --lr 1' >job.sbatch
	imports 'launcher: torch' 'plugin: exec' '  script: t.py' '  args: ["--lr", 1]' '  mpi: pmix'
	[[ ! -s said ]] || { cat said && return 1; }
	grep -q 'srank exec --launcher torch -- ' out.sbatch
	refute grep -q 'srank exec.*srank exec' out.sbatch
	# Each option is a key, or told.
	printf '%s\n' '#!/bin/bash' "$header" 'export SRANK=verbose,busy=warn' \
		'srun --mpi=pmix srank exec --launcher=jax -g mask --port 23456 --addr ip --srank local=0,omp=keep --timeout 9 --no-pmix -- ./run' >job.sbatch
	imports 'launcher: jax' 'plugin: exec' '  command: ["./run"]' '  gpus: mask' '  local: "0"' \
		'  omp_threads: keep' '  port: 23456' '  addr: ip' '  busy: warn' '  verbose: "on"'
	tells '--timeout of srank exec was left out: a spec has no key for it' 4
	tells '--no-pmix of srank exec was left out: a spec has no key for it' 4
	refute grep -q SRANK job.yaml
	# The launcher that the command names is the one.
	printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=16' \
		'srun --mpi=pmix srank exec -l accelerate torchrun --nproc_per_node=4 t.py' >job.sbatch
	imports 'launcher: torchrun' 'plugin: exec' '  script: t.py'
	tells 'the launcher is torchrun, as the command says, and not accelerate' 3
	sed -i 's/-l accelerate torchrun --nproc_per_node=4/-l torchrun python/; s/gpus-per-node=4/gpus-per-node=1/' job.sbatch
	refuses 'the command does not start torchrun'
	# What stands between stays; without a launcher the program says which.
	printf '%s\n' '#!/bin/bash' "$header" 'srun --mpi=pmix srank exec numactl -N 0 python t.py' >job.sbatch
	imports 'launcher: torch' 'plugin: exec' '  command: [numactl, "-N", "0", python, t.py]'
	printf '%s\n' '#!/bin/bash' "$header" 'srun --mpi=pmix srank exec -l torhc python t.py' >job.sbatch
	imports 'launcher: torch'
	tells 'torhc was left out: torhc: no such key or launcher; did you mean torch?' 3
}

@test "import of what gen has written, and gen again: the same script" {
	local spec means
	for spec in "$top"/docs/examples/yolox-*.yaml; do
		for means in require exec; do
			srank gen "$spec" -s "plugin=$means" -s binding.gpus=mask -s rendezvous.port=23456 >first.sbatch
			srank import first.sbatch >again.yaml
			refute grep -q setup again.yaml
			srank gen again.yaml -s "plugin=$means" >second.sbatch
			diff <(grep -v '^# \(Made by\|Again:\)' first.sbatch) <(grep -v '^# \(Made by\|Again:\)' second.sbatch)
			# Code of the user's is kept, and nothing else.
			srank gen "$spec" -s "plugin=$means" -s 'setup=cd x || exit' -s env.A=1 >third.sbatch
			srank import third.sbatch >again.yaml
			[[ $(sed '1,/^setup:/d' again.yaml | grep -v '^ *$') == "$(printf '%s\n' '  - |' \
				'    export A=1' '    cd x || exit')" ]] || { cat again.yaml && return 1; }
		done
	done
	for spec in yolox-2x8 lr-sweep; do
		srank gen "$top/docs/examples/$spec.yaml" -s plugin=off >job.sbatch
		refuses 'srank gen made this script with plugin: off'
		[[ $(grep -c ': error: ' said) -eq 1 ]]
	done
}
