#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The counting of tests, by hand-written TAP: a case that is lost here is a bug that passes.

setup() {
	# shellcheck source-path=SCRIPTDIR source=count.sh
	source "$BATS_TEST_DIRNAME/count.sh"
}

# expect PASSED FAILED SKIPPED
expect() {
	echo "$passed passed, $failed failed, $skipped skipped; expected $*"
	printf '%s\n' "${failures[@]}" "${skips[@]}"
	# shellcheck disable=SC2154 # set by count.sh
	[[ "$passed $failed $skipped" == "$*" ]]
}

@test "cases that pass, fail and are skipped" {
	count_tap prog 1 <<-'END'
		1..4
		ok 1 - one
		not ok 2 - two
		# not ok 9 is a comment
		ok 3 three # skip no GPU
		ok 4
	END
	expect 2 1 1
	[[ ${skips[0]} == 'prog: three: no GPU' ]]
	[[ ${failures[0]} == 'prog: two' ]]
}

@test "cmocka's own form of a skipped case" {
	count_tap prog 0 <<-'END'
		1..2
		not ok 1 # SKIP test_one
		ok 2 - test_two
	END
	expect 1 0 1
}

@test "cases that never ran are failed" {
	count_tap prog 139 <<-'END'
		1..5
		ok 1 - one
		ok 2 - two
	END
	expect 2 3 0
	[[ ${failures[0]} == 'prog: ended with code 139 after 2 of 5 tests' ]]
}

@test "a program that dies before its plan is one failure" {
	count_tap prog 127 </dev/null
	expect 0 1 0
}

@test "a program that fails though its cases pass is a failure" {
	count_tap prog 1 <<-'END'
		1..1
		ok 1 - one
	END
	expect 1 1 0
}

@test "a plan at the end, and no test at all" {
	count_tap prog 0 <<-'END'
		ok 1 - one
		1..1
	END
	count_tap none 0 <<<'1..0'
	expect 1 0 0
}

@test "a pattern picks cases" {
	count_tap prog 1 port <<-'END'
		1..3
		ok 1 - port_free
		not ok 2 - address
		ok 3 - address of a port
	END
	expect 2 0 0
}

@test "the last line" {
	passed=3 failed=0 skipped=0
	run count_result
	[[ $status == 0 && $output == '3 passed, 0 failed' ]]
	count_failed 'prog: two'
	count_skipped 2 prog 'no root'
	run count_result
	[[ $status == 1 && ${lines[-1]} == '3 passed, 1 failed, 2 skipped' ]]
	[[ ${lines[0]} == 'SKIPPED, NOT CHECKED: prog: no root' && ${lines[1]} == 'FAILED: prog: two' ]]
}
