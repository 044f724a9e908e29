#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What every file of the project keeps to, as far as a program can say.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	# What git does not know is somebody's work under way.
	readarray -d '' files < <(git ls-files -z)
	((${#files[@]})) || skip 'not a git checkout, so the files of the project are unknown'
}

@test "shell scripts are clean to shellcheck" {
	local scripts=() file
	for file in "${files[@]}"; do
		[[ -f $file ]] || continue
		case $file in
		# bats files are read by bats, whose words shellcheck knows.
		*.sh | *.bash | *.bats) scripts+=("$file") ;;
		*.*) ;;
		*) ! head -n 1 "$file" | grep -qE '^#!.*\b(ba)?sh\b' || scripts+=("$file") ;;
		esac
	done
	shellcheck --external-sources "${scripts[@]}"
}

@test "the examples are clean to yamllint" {
	yamllint --strict -d '{extends: default, rules: {document-start: disable, line-length: {max: 100}, comments: disable, braces: disable}}' docs/examples
}

@test "every source file says its licence" {
	local file bad=0
	for file in "${files[@]}"; do
		case $file in
		*.[ch] | *.sh | *.bash | *.bats | *.py | meson.build | */meson.build | meson.options) ;;
		*) continue ;;
		esac
		[[ ! -f $file ]] || head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' || {
			echo "$file: no SPDX-License-Identifier: MIT in its first lines"
			bad=1
		}
	done
	((bad == 0))
}

@test "the top folder holds what it is meant to hold" {
	local top=(.ci .clang-format .editorconfig .gitignore CHANGELOG.md CONTRIBUTING.md LICENSE README.md docs
		gen meson.build meson.options meson_options.txt spank templates tests)
	diff <(printf '%s\n' "${top[@]}" | sort) <(printf '%s\n' "${files[@]%%/*}" | sort -u)
	# What compilers, coverage and editors leave behind.
	run ! grep -E '\.(gcov|gcda|gcno|o|so|orig|rej|log|swp)$' < <(printf '%s\n' "${files[@]}")
}
