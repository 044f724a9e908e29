# SPDX-License-Identifier: MIT
# What the tests on a private cluster share. SRANK_BIN and SRANK_PLUGIN name what is tested
# (default: what is in build/).
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
: "${SRANK_BIN:=$top/build/gen/cli/srank}" "${SRANK_PLUGIN:=$top/build/spank/plugin/spank_srank.so}"
# Where `cluster install` puts the plugin.
# shellcheck disable=SC2034 # for the tests
PLUGIN=/usr/local/lib/slurm/spank_srank.so

cluster() {
	"$here/cluster" "$@"
}

on() {
	cluster run "$@"
}

as_researcher() {
	cluster run --user researcher login -- "$@"
}

# Skips the tests of the file, loudly, where no hosts can be made.
cluster_possible() {
	local why
	why=$(cluster check 2>&1) || skip "SKIPPED, NOT PASSED: $why"
}

# cluster_need NAME [OPTION]...: a cluster of these options with srank and the plugin installed;
# one that is up already is taken as it is. For setup_file.
cluster_need() {
	local name=$1 state options
	shift
	cluster_possible
	export SRANK_CLUSTER=$name
	state=${SRANK_CLUSTER_DIR:-/run/srank-cluster}/$name
	options=$(printf '%q ' "$@")
	if [[ -e $state/ready && $(<"$state/options") == "$options" ]] && cluster status >/dev/null; then
		return
	fi
	[[ -x $SRANK_BIN && -e $SRANK_PLUGIN ]] || {
		echo "there is no $SRANK_BIN or no $SRANK_PLUGIN: build first" >&2
		return 1
	}
	cluster down
	cluster up "$@"
	cluster install "$SRANK_BIN" "$SRANK_PLUGIN"
}

# Where FILE of a host's shared home lies on the machine.
home() {
	printf '%s/home/researcher/%s' "${SRANK_CLUSTER_DIR:-/run/srank-cluster}/$SRANK_CLUSTER" "$1"
}

# give FILE...: into the researcher's home.
give() {
	cp -R "$@" "$(home '')"
	chown -R --reference="$(home '')" "$(home '')"
}

# job_ends SECONDS SBATCH-ARGUMENT...: submits, waits for the end, and fails unless the job is
# COMPLETED.
job_ends() {
	job_ended "$1" "$(as_researcher sbatch --parsable "${@:2}")"
}

# job_ended SECONDS JOB: the same for one that is submitted. Not sbatch --wait, which looks after 2,
# 10 and then every 32 seconds.
job_ended() {
	local seconds=$1 deadline=$((SECONDS + $1)) job=$2 state
	while :; do
		# One for each component of a heterogeneous job.
		state=$(as_researcher squeue --noheader --states=all --jobs="$job" --format=%T | sort -u)
		case $state in
		COMPLETED) return 0 ;;
		*PENDING* | *CONFIGURING* | *RUNNING* | *COMPLETING*) ;;
		*)
			echo "job $job: $state"
			return 1
			;;
		esac
		((SECONDS < deadline)) || {
			echo "job $job: still $state after $seconds s"
			as_researcher scancel "$job"
			return 1
		}
		sleep 0.3
	done
}

# For teardown: no test may cost a node. A cluster that gives no answer is not well either.
nodes_are_well() {
	local states
	states=$(on login sinfo --noheader --Node --format='%T %E' | sort -u)
	[[ $states =~ ^((allocated|completing|idle|mixed|planned)\ none($'\n')?)+$ ]] || {
		echo "nodes: ${states:-no answer}" >&2
		on login scontrol update NodeName=ALL State=RESUME || true
		return 1
	}
}
