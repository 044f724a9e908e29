#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# `srank schema`: a JSON Schema that says what the reader says, for every example, for specs that
# hold every kind of value, and for specs that are wrong in every way that a schema can see.
# shellcheck disable=SC2016,SC2154 # backquotes in messages; `here`, `examples`, `top` are the helpers'

load helpers

setup() {
	common_setup
	/usr/bin/python3 -c 'import jsonschema, yaml; jsonschema.Draft202012Validator' 2>/dev/null ||
		skip 'no python3-jsonschema and python3-yaml here, so no schema is checked'
	srank schema >spec.json
	srank schema site >site.json
}

validate() {
	/usr/bin/python3 "$here/validate.py" "$@"
}

# One file for each line of standard input, a spec in flow style.
split() {
	local -i n=0
	while IFS= read -r line; do
		((++n))
		printf '%s\n' "$line" >"$(printf '%s%02d.yaml' "$1" "$n")"
	done
}

@test "the examples and the profile that is shown are valid" {
	validate spec.json "$examples"/*.yaml "$here"/specs/{command,module}.yaml
	validate site.json "$top/templates/site.yaml" "$here/specs/per-node.yaml"
}

@test "what the reader takes is valid" {
	split good <<-'YAML'
		{}
		{version: 1, name: a, launcher: torchrun, plugin: exec, profile: x, include: [a.yaml]}
		{name: 7, run: {script: a.py, args: [-x, 1, 0.5, true], workdir: /a}}
		{run: {command: "python a.py 'b c'"}, venv: /v, conda: base, modules: [a/1, b]}
		{resources: {nodes: 2, gpus_per_node: 08, cpus_per_task: auto, mem: 64G, exclusive: user}}
		{resources: {procs: 4, tasks_per_node: auto, mem_gb: 64, hint: nomultithread, gres: nvme:1}}
		{batch: {time: 72:00:00, queue: a, array: 0-9%2, signal: "B:USR1@60", mail_type: [end, Fail]}}
		{batch: {timeout_min: 30, array: {range: "1,3", max: 2}, dependency: {afterok: [1, 2]}}}
		{batch: {time: 10:30, time_min: -1, requeue: no, hold: off, mail: {user: a, type: "BEGIN,END"}}}
		{rendezvous: {port: resv, elastic: off, busy: warn, range: 20000-20099}, binding: {gpu: mask, local: 0}}
		{rendezvous: {port: 29500, elastic: "1:4", verbose: yes}, binding: {omp_threads: 4, cpus: cores}}
		{env: {a: 1, B: no, C: ~, D: x}, setup: [a, b], teardown: "x"}
		{container: img.sif, srun: [--label], retry: 3, preflight: yes}
		{container: {runtime: pyxis, image: a, mounts: "/a:/b /c", home: yes}, retry: {max: 1, on: [timeout]}}
		{mmdet: c.py}
		{mmdet: {config: c, samples_per_gpu: 2, resume: true, num_workers: auto, cfg_options: {a.b: [1, [2]], c: x}}}
		{het: [{resources: {nodes: 1}, partition: a}, {run: {module: m}, env: {A: 1}}]}
		{sweep: {matrix: {lr: [1, 0.1], resources.nodes: [1, 2]}, zip: {a: [x]}, as: files}}
		{x-any: &a {nodes: 2}, resources: {<<: *a, gpus: 4}}
		{resources: ~, batch: {time: ~, array: ~}, env: ~, launcher: ~}
	YAML
	# What the second one names.
	: >a.yaml
	mkdir "$XDG_CONFIG_HOME/srank"
	echo 'name: x' >"$XDG_CONFIG_HOME/srank/x.yaml"
	local file
	for file in good*.yaml; do
		# The plan may lack something; the reader must not.
		run srank gen "$file"
		refute grep -q '\[spec-' <<<"$output"
		validate spec.json "$file"
	done
}

@test "what the reader refuses is not valid" {
	split bad <<-'YAML'
		{nam: a}
		{name: [a]}
		{name: "a\tb"}
		{version: 2}
		{launcher: torchrum}
		{plugin: maybe}
		{resources: {nodes: 0}}
		{resources: {nodes: two}}
		{resources: {nodes: -1}}
		{resources: {nodes: 2147483648}}
		{resources: {node: 1}}
		{resources: {mem: 64GiB}}
		{resources: {mem: 1G, mem_gb: 1}}
		{resources: {tasks_per_node: 1, ntasks_per_node: 1}}
		{resources: {exclusive: maybe}}
		{resources: {gpu_type: "a:8"}}
		{resources: [1]}
		{batch: {time: 4h}}
		{batch: {array: x-y}}
		{batch: {array: {rang: 1}}}
		{batch: {mail_type: [ENDS]}}
		{batch: {signal: "a b"}}
		{rendezvous: {port: 80}}
		{env: {a-b: 1}}
		{env: {SRANK: off}}
		{env: {A: [1]}}
		{env: [A]}
		{setup: {a: b}}
		{run: {args: {a: b}}}
		{run: {args: [[a]]}}
		{het: {a: 1}}
		{het: [{name: a}]}
		{sweep: {matrix: {lr: 1}}}
		{sweep: {matrix: {lr: []}}}
		{mmdet: {config: c, cfg_options: {a: {b: 1}}}}
		{mmdet: {config: c, seed: x}}
	YAML
	local file
	for file in bad*.yaml; do
		cat "$file"
		run srank gen "$file"
		[[ $status -eq 1 && $output == *'[spec-'* ]]
		run validate spec.json "$file"
		[[ $status -eq 1 && $output == *': wrong at '* ]]
	done
}

@test "profiles: what is read is valid, what is not read is not" {
	split good <<-'YAML'
		{slurm: 22.05, select: linear, plugin: no, rendezvous: shell, gpu_dialect: gpus, mem_dialect: none}
		{partitions: {a: {nodes: 1, time: 1-0, mem: 5G, gpu_type: [a100], default: yes}, b: ~}}
		{defaults: {batch: {account: x, mail: a@b}, env: {A: 1}, container: img}, extra: [--a=b], skip: mem}
	YAML
	split bad <<-'YAML'
		{gpu_dialect: gpu}
		{partitions: {a: 1}}
		{partitions: [a]}
		{partitions: {a: {node: 1}}}
		{launcher: torch}
		{defaults: {het: []}}
	YAML
	printf '{run: {script: a.py}, resources: {nodes: 1}}\n' >job
	local file
	for file in good*.yaml; do
		run srank gen job --site "$file"
		refute grep -q '\[spec-' <<<"$output"
		validate site.json "$file"
	done
	for file in bad*.yaml; do
		run srank gen job --site "$file"
		[[ $status -eq 1 && $output == *'[spec-'* ]]
		run validate site.json "$file"
		[[ $status -eq 1 && $output == *': wrong at '* ]]
	done
}

@test "every key of the manual is in a schema, with its description" {
	local key
	while read -r key; do
		grep -qF "\"$key\": {" spec.json site.json || {
			echo "$key is in the manual and in no schema"
			return 1
		}
	done < <(sed -nE 's/^\*([a-z_]+)\*( \(_.*)?$/\1/p' "$top/docs/srank-spec.5.scd")
	(($(grep -c '"description"' spec.json) > 150))
}

@test "calls: help, another name, more than one" {
	run srank schema --help
	[[ $status -eq 0 && ${lines[1]} == 'usage: srank schema [spec|site]' ]]
	run srank schema sit
	[[ $status -eq 2 && ${lines[0]} == 'srank schema: there is no schema `sit`; did you mean site?' ]]
	run srank schema spec site
	[[ $status -eq 2 && ${lines[0]} == 'srank schema: `site`: one schema at a time' ]]
	run srank schema spec
	[[ $status -eq 0 && $output == "$(<spec.json)" ]]
}
