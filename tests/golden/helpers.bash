# SPDX-License-Identifier: MIT
# What the tests of the command share: the binary, a home of their own, comparison with a
# golden file. SRANK_BIN names the binary (default: the one in build/).

here=$BATS_TEST_DIRNAME
top=$(cd "$here/../.." && pwd)
: "${SRANK_BIN:=$top/build/gen/cli/srank}"
# shellcheck disable=SC2034 # for the tests
examples=$top/docs/examples

common_setup() {
	if [[ ! -x $SRANK_BIN ]]; then
		echo "there is no srank at $SRANK_BIN: build first, or set SRANK_BIN" >&2
		return 1
	fi
	# No profile or template of this machine's user may matter, nor a job around the test.
	export HOME=$BATS_TEST_TMPDIR/home XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config LC_ALL=C.UTF-8
	mkdir -p "$HOME" "$XDG_CONFIG_HOME"
	if [[ -e /etc/srank ]]; then
		skip "this machine has /etc/srank, which changes what srank writes"
	fi
	local name
	for name in $(compgen -e | grep -E '^(SLURM|SBATCH|SRUN|SRANK|PMIX?)_' | grep -vE '^SRANK_(BIN|GOLDEN_UPDATE)$'); do
		unset "$name"
	done
	mkdir -p "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return 1
}

srank() {
	"$SRANK_BIN" "$@"
}

# Fails when the command succeeds; `!` alone does not end a test.
refute() {
	if "$@"; then
		return 1
	fi
}

# Standard input without what changes from release to release or with a spec's text.
normalise() {
	sed -E -e "s/ srank [0-9]+\.[0-9]+\.[0-9]+ / srank @VERSION@ /" \
		-e 's/\(digest [0-9a-f]{16}\)/(digest @DIGEST@)/' \
		-e 's/^(  SRANK_VERSION=).*/\1@VERSION@/'
}

# Compares FILE with the golden file NAME; SRANK_GOLDEN_UPDATE=1 writes it instead, and the
# result is then to be read line by line before it is committed.
golden() {
	local file=$1 name=$here/$2
	if [[ ${SRANK_GOLDEN_UPDATE:-} == 1 ]]; then
		normalise <"$file" >"$name"
	fi
	diff -u "$name" <(normalise <"$file")
}

# The script is what bash and shellcheck take without a word.
clean_script() {
	bash -n "$1"
	if command -v shellcheck >/dev/null; then
		shellcheck "$1"
	else
		skip "shellcheck is not installed: the script was only compared"
	fi
}
