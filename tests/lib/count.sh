# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Counting of test cases for tests/run: everything comes in as TAP, one line a case, and every
# case is counted as passed, failed or skipped. What a program said it would run and did not is
# failed. Sourced; results are in `passed`, `failed` and `skipped`.

passed=0 failed=0 skipped=0
# Lines for the end: what failed, and what was not checked and why.
failures=() skips=()

count_failed()
{
	((++failed))
	failures+=("$1")
}

# count_skipped HOW-MANY WHAT WHY
count_skipped()
{
	((skipped += $1)) || true
	skips+=("$2: $3")
}

# count_tap NAME EXIT-CODE [PATTERN] <TAP: counts the cases, of those whose text matches PATTERN.
# A skipped case says "# SKIP why"; cmocka writes it as "not ok".
count_tap()
{
	local name=$1 code=$2 pattern=${3-} line text planned='' seen=0 bad=0
	while IFS= read -r line; do
		if [[ $line =~ ^1\.\.([0-9]+) ]]; then
			planned=${BASH_REMATCH[1]}
			continue
		fi
		[[ $line =~ ^(not )?ok\ +[0-9]+\ *(- )?(.*)$ ]] || continue
		((++seen))
		text=${BASH_REMATCH[3]}
		[[ ! $pattern || $text =~ $pattern ]] || continue
		if [[ $text =~ ^(.*[^ ])?\ *#\ *[Ss][Kk][Ii][Pp][a-z]*:?\ *(.*)$ ]]; then
			count_skipped 1 "$name: ${BASH_REMATCH[1]}" "${BASH_REMATCH[2]:-no reason given}"
		elif [[ $line == not* ]]; then
			bad=1
			count_failed "$name: $text"
		else
			((++passed))
		fi
	done
	if [[ ! $planned ]]; then
		count_failed "$name: ended with code $code before it said how many tests it has"
	elif ((seen < planned)); then
		((failed += planned - seen - 1)) || true
		count_failed "$name: ended with code $code after $seen of $planned tests"
	elif ((code && !bad)) && [[ ! $pattern ]]; then
		count_failed "$name: ended with code $code though no test failed"
	fi
}

# The last line, and the exit code.
count_result()
{
	local line
	for line in "${skips[@]}"; do
		printf 'SKIPPED, NOT CHECKED: %s\n' "$line"
	done
	for line in "${failures[@]}"; do
		printf 'FAILED: %s\n' "$line"
	done
	printf '%d passed, %d failed' "$passed" "$failed"
	((skipped == 0)) || printf ', %d skipped' "$skipped"
	printf '\n'
	((failed == 0))
}
