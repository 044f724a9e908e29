#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# What README.md shows is what users get: its YAML is the example, its script is what srank makes
# of it, in the same order and to the letter.

setup()
{
	root=$BATS_TEST_DIRNAME/../..
	srank=${SRANK_BIN:-$root/build/gen/cli/srank}
}

# The code block of README.md that is marked with the language $1.
block()
{
	awk -v mark="\`\`\`$1" '$0 == "```" { inside = 0 } inside { print } $0 == mark { inside = 1 }' \
		"$root/README.md"
}

@test "README: the YAML is docs/examples/yolox-2x8.yaml" {
	diff <(block yaml) "$root/docs/examples/yolox-2x8.yaml"
}

@test "README: the script is what gen writes, without comments and guard" {
	"$srank" gen "$root/docs/examples/yolox-2x8.yaml" >"$BATS_TEST_TMPDIR/job"
	block bash >"$BATS_TEST_TMPDIR/shown"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/shown")" -ge 15 ]
	# Left out in README: comments, blank lines, what happens on a failure, the guard.
	diff "$BATS_TEST_TMPDIR/shown" <(sed '/^case /,/^esac$/d; /^set /d; /^trap /d; /^$/d' \
		"$BATS_TEST_TMPDIR/job" | grep -E '^(#!|#SBATCH)|^[^#]')
}

@test "README: the refused identity is refused, in those words" {
	cat >"$BATS_TEST_TMPDIR/job.yaml" <<-'YAML'
		name: x
		launcher: torch
		run: {script: a.py}
		resources:
		  nodes: 2
		  ntasks: 8
		  ntasks_per_node: 8
	YAML
	cd "$BATS_TEST_TMPDIR"
	run "$srank" gen job.yaml
	[ "$status" -eq 1 ]
	grep -F "$(grep -o 'job.yaml:7:20: error: .*ntasks_per_node 8:' "$root/README.md")" <<<"$output"
}
