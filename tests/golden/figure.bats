#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# srank explain --svg: well-formed, every rank once, lines that are far only where the distance is,
# nothing outside the page, and no file lost.
# shellcheck disable=SC2154 # `examples` and `top` are set by the helpers

load helpers

setup() {
	common_setup
	cp "$examples/yolox-2x8.yaml" "$examples/machines/dgx-a100.yaml" .
	cat >job.yaml <<-'END'
		name: job
		launcher: torch
		run: {script: a.py}
		resources: {nodes: 1, gpus_per_node: 2, cpus_per_gpu: 4}
	END
}

# The figure of these arguments, and what is in it: "rank 3 x y", "line RANK GPU CLASS".
draw() {
	srank explain "$@" --svg - >figure.svg
	python3 - figure.svg >parts <<-'END'
		import re
		import sys
		import xml.etree.ElementTree as tree

		root = tree.parse(sys.argv[1]).getroot()
		svg = "{http://www.w3.org/2000/svg}"
		assert root.find(svg + "title").text and root.find(svg + "desc").text
		for element in root.iter():
		    name = element.tag.removeprefix(svg)
		    if element.get("id", "").startswith("rank-"):
		        print("rank", element.get("id")[5:])
		    if name == "g" and element.get("class") == "gpu":
		        print("gpu", element.find(svg + "title").text)
		    if name == "path" and element.get("data-rank"):
		        print("line", element.get("data-rank"), element.get("data-gpu"), element.get("class"), element.get("data-distance"))
		    if name == "rect" and element.get("x"):
		        x, y, w, h = (float(element.get(k)) for k in ("x", "y", "width", "height"))
		        assert w > 0 and h > 0 and x >= 0 and y >= 0 and x + w <= 1600 and y + h <= 900, element.attrib
		    if name == "path":
		        for x, y in zip(*[iter(re.findall(r"[\d.]+", element.get("d")))] * 2):
		            assert float(x) <= 1600 and float(y) <= 900, element.attrib
	END
}

# Ranks $1 to $2, each once.
ranks() {
	diff <(seq "$1" "$2") <(awk '$1 == "rank" {print $2}' parts | sort -n)
}

@test "the figure of the manual" {
	srank explain yolox-2x8.yaml -s launcher=mmengine -s resources.cpus_per_gpu=32 \
		--machine dgx-a100.yaml --svg figure.svg >/dev/null
	if [[ ${SRANK_GOLDEN_UPDATE:-} == 1 ]]; then
		cp figure.svg "$top/docs/figures/yolox-2x8.svg"
	fi
	cmp figure.svg "$top/docs/figures/yolox-2x8.svg"
}

@test "every rank once, and lines that are far where the distance says so" {
	draw yolox-2x8.yaml -s launcher=mmengine -s resources.cpus_per_gpu=32 --machine dgx-a100.yaml
	ranks 0 15
	# NUMA nodes 1 and 3 of socket 0, 5 and 7 of socket 1 have GPUs; tasks go from socket to
	# socket: local ranks 0 1 4 5 are on nodes 0 4 2 6.
	local rank
	for rank in {0..15}; do
		case $((rank % 8)) in
		0 | 1 | 4 | 5) echo "$rank far same socket" ;;
		*) echo "$rank near local" ;;
		esac
	done | diff - <(awk '$1 == "line" {$1 = $3 = ""; print}' parts | tr -s ' ' | sed 's/^ //' | sort -n)
}

@test "without a machine: no line is called near or far" {
	draw yolox-2x8.yaml
	ranks 0 15
	[[ $(grep -c '^line .* unknown ?$' parts) -eq 16 ]]
	[[ $(grep -c '^line' parts) -eq 16 ]]
}

@test "a launcher's workers, some on another socket" {
	draw yolox-2x8.yaml -s resources.exclusive=true -s srun.distribution=block:block --machine dgx-a100.yaml
	ranks 0 15
	# One task of 48 CPUs: cores 0 to 23, on NUMA nodes 0 and 1.
	grep -qx 'line 2 2 near local' parts
	grep -qx 'line 0 0 far same socket' parts
	grep -qx 'line 15 7 far other socket' parts
	[[ $(grep -c '^line' parts) -eq 16 ]]
}

@test "many nodes: the first and the last" {
	draw yolox-2x8.yaml -s resources.nodes=100 --machine dgx-a100.yaml
	grep -q 'data-rank="799"' figure.svg
	grep -q '98 more nodes alike, ranks 8 to 791' figure.svg
	[[ $(grep -c '^rank' parts) -eq 16 ]]
	draw yolox-2x8.yaml -s resources.nodes=3 --machine dgx-a100.yaml
	grep -q '1 more node alike, ranks 8 to 15' figure.svg
}

@test "ranks that are dealt to the nodes in turn" {
	draw job.yaml -s resources.nodes=2 -s srun.distribution=cyclic
	ranks 0 3
	grep -q '>ranks 0 to 2, not all between<' figure.svg
	draw job.yaml -s resources.nodes=4 -s srun.distribution=cyclic
	grep -q '2 more nodes alike<' figure.svg
	[[ $(awk '$1 == "rank" {printf "%s ", $2}' parts) == '0 4 3 7 ' ]]
}

@test "shapes of machines and jobs" {
	local cpus gpus list
	# 1 to 16 GPUs on two sockets, each on the socket of its rank.
	for gpus in 1 2 4 6 8 16; do
		list=
		for ((cpus = 0; cpus < gpus; cpus++)); do list+="{numa: $((cpus % 2))}, "; done
		echo "{numa: [{cpulist: 0-31}, {cpulist: 32-63}], packages: [{cpulist: 0-31}, {cpulist: 32-63}], gpus: [$list]}" >m.yaml
		draw job.yaml -s resources.gpus_per_node="$gpus" -s resources.exclusive=true --machine m.yaml
		ranks 0 $((gpus - 1))
		[[ $(grep -c '^gpu' parts) -eq $gpus && $(grep -c '^line .* near local$' parts) -eq $gpus ]]
	done
	# Two ranks a GPU, and GPUs that nobody asked for.
	draw job.yaml -s resources.gpus_per_node=4 -s resources.tasks_per_gpu=2 --machine m.yaml
	ranks 0 7
	[[ $(grep -c '^line' parts) -eq 8 && $(grep -c '^gpu .*not asked for' parts) -eq 12 ]]
	# Unbound tasks, and a place that is not known.
	draw job.yaml -s 'srun.args=--cpu-bind=none' --machine m.yaml
	ranks 0 1
	echo '{numa: [{cpulist: 0-3}, {cpulist: 4-7}], gpus: [{}, {numa: -1}]}' >m.yaml
	draw job.yaml --machine m.yaml
	grep -q 'near no NUMA node' figure.svg
	[[ $(grep -c '^line .* unknown ?$' parts) -eq 2 ]]
	# No GPU at all; more ranks than fit.
	draw job.yaml -s resources.gpus_per_node=0 -s resources.cpus_per_gpu=null -s resources.ntasks_per_node=4
	ranks 0 3
	draw job.yaml -s resources.gpus_per_node=1 -s resources.cpus_per_gpu=null -s resources.tasks_per_gpu=100
	ranks 0 63
	grep -q 'of which the first are shown' figure.svg
	# A NUMA node for every CPU.
	list=
	for ((cpus = 0; cpus < 512; cpus++)); do list+="{cpulist: $cpus}, "; done
	echo "{numa: [$list], gpus: [{numa: 0}, {numa: 511}]}" >m.yaml
	draw job.yaml --machine m.yaml
	ranks 0 1
}

@test "hostile names" {
	local name=$'</text><script>alert("1")&\u202e\u2028]]>'
	draw job.yaml -s "name=$name"
	refute grep -q '<script' figure.svg
	refute grep -qF $'\u202e' figure.svg
	draw job.yaml -s "name=$(printf 'x%.0s' {1..5000})"
	[[ $(grep -o 'xxxx*' figure.svg | awk '{if (length > most) most = length} END {print most}') -lt 100 ]]
	cat >m.yaml <<-'END'
		name: "<b>&'\x07"
		cpus: 8
		gpus: [{model: "a<b\"&"}, {model: ""}]
	END
	draw job.yaml --machine m.yaml
	grep -q '&lt;b&gt;&amp;' figure.svg
	printf 'launcher: torch\nname: "a\xc3\xa9\xe2\x82\xac"\nrun: {script: a.py}\n' >utf8.yaml
	draw utf8.yaml
	grep -q 'aé€: 1 node' figure.svg
}

@test "the same bytes each time" {
	srank explain job.yaml --svg - >one
	srank explain job.yaml --svg - | cmp - one
}

@test "a file is kept unless --force says otherwise" {
	srank explain job.yaml --svg f.svg >text
	grep -q '^numbers' text
	srank explain job.yaml --svg f.svg >/dev/null
	cp f.svg old
	run srank explain job.yaml -s name=other --svg f.svg
	[[ $status -eq 1 && $output == *'f.svg exists and differs, so it was kept; --force replaces it' ]]
	cmp f.svg old
	srank explain job.yaml -s name=other --svg f.svg --force >/dev/null
	grep -q 'other: 1 node' f.svg
	run srank explain job.yaml --svg nowhere/f.svg
	[[ $status -eq 1 && $output == *'cannot write nowhere/f.svg'* ]]
	run srank explain job.yaml --force
	[[ $status -eq 2 ]]
	# A fault leaves no file.
	run srank explain job.yaml -s resources.nodes=x --svg new.svg
	[[ $status -eq 1 && ! -e new.svg ]]
}

@test "a NUMA node on two sockets is named as one that is" {
	cat >split.yaml <<-'END'
		name: split
		packages: [{id: 0, cpulist: "0-7"}, {id: 1, cpulist: "8-15"}]
		numa: [{id: 0, cpulist: "0-15"}]
		smt: {threads_per_core: 1}
		vendor: nvidia
		gpus: [{index: 0, numa: 0}, {index: 1, numa: 0}]
	END
	draw job.yaml --machine split.yaml
	(($(grep -o 'NUMA 0, part<' figure.svg | wc -l) == 2))
	draw job.yaml --machine dgx-a100.yaml
	refute grep -q ', part<' figure.svg
}
