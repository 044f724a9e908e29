#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Two programs that set up in one tree at the same time: the second waits and says for whom, and
# neither loses a line of the log.

setup()
{
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree/tests/lib"
	cp "$BATS_TEST_DIRNAME/setup.sh" "$tree/tests/lib/"
	# Builds nothing, but takes its time.
	cat >"$tree/program" <<-'END'
		set -euo pipefail
		source "$(dirname "$0")/tests/lib/setup.sh"
		meson()
		{
			echo "$1 of $NAME begins"
			: >"$build/$NAME.$1"
			sleep "$PAUSE"
			echo "$1 of $NAME ends"
			return "${CODE:-0}"
		}
		setup_build
		echo "$NAME has built"
	END
}

@test "the second waits, and says for whom" {
	NAME=one PAUSE=0.4 bash "$tree/program" >"$tree/one" &
	first=$!
	until [ -e "$tree/build/one.setup" ]; do
		sleep 0.02
	done
	NAME=two PAUSE=0 bash "$tree/program" >"$tree/two"
	wait "$first"
	grep -q 'waiting for program, process [0-9]*, which is setting up in .*/build \.\.\.$' "$tree/two"
	[ "$(grep -c waiting "$tree/one")" -eq 0 ]
	diff <(grep -v '^$' "$tree/build/setup.log" | sed 's/^== .*/==/') - <<-'END'
		==
		setup of one begins
		setup of one ends
		compile of one begins
		compile of one ends
		==
		setup of two begins
		setup of two ends
		compile of two begins
		compile of two ends
	END
}

@test "who fails shows its own end of the log, and blocks nobody" {
	NAME=one PAUSE=0 CODE=3 run bash "$tree/program"
	[ "$status" -eq 1 ]
	[[ $output == *"setup of one ends"*"failed with exit code 3; the whole log is $tree/build/setup.log"* ]]
	NAME=two PAUSE=0 run bash "$tree/program"
	[ "$status" -eq 0 ]
	[[ $output != *waiting* && $output == *"two has built" ]]
	grep -q '^setup of one ends$' "$tree/build/setup.log"
}
