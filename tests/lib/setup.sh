# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What tests/run and tests/demo do before their own work, sourced by both: the packages, the
# build, a place for private clusters that is cleared however the program ends, and lines that
# say what is being done and how long it took. The caller has `set -euo pipefail`.

# shellcheck disable=SC2034 # top, build: for the callers
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$top/build
setup_log=$build/setup.log
# Where in the log this program's own lines begin, once it has written any.
log_start=
cluster=$top/tests/cluster/cluster
program=$(basename "$0")

# Debian's own programs, not those of a pyenv or a virtual environment of the caller's.
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL=C.UTF-8

readonly PACKAGES_BUILD=(gcc libc6-dev meson ninja-build pkg-config libslurm-dev libyaml-dev
	libpmix-dev)
readonly PACKAGES_CLUSTER=(slurmctld slurmd slurm-client munge iproute2 procps)
readonly PACKAGES_TRAIN=(python3-torch)
readonly PACKAGES_TEST=(bats binutils jq libcmocka-dev libhwloc-dev libopenmpi-dev openmpi-bin
	python3-jsonschema python3-yaml scdoc shellcheck strace yamllint)

say()
{
	printf '[%3d s] %s\n' "$SECONDS" "$*"
}

fail()
{
	printf '%s: %s\n' "$program" "$*" >&2
	exit 1
}

# Commands to run at the end, last added first, also when a signal is the end.
exit_commands=()

at_exit()
{
	exit_commands=("$1" "${exit_commands[@]}")
}

# shellcheck disable=SC2317 # by trap
run_exit_commands()
{
	local command
	# A second ctrl-C must not leave half of it behind.
	trap '' INT TERM HUP
	for command in "${exit_commands[@]}"; do
		"$command" || true
	done
}
trap run_exit_commands EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# One program at a time sets up in this tree: others would build and log into the same files. The
# kernel drops the lock, file descriptor 9, of a program that dies.
setup_lock()
{
	local lock=$build/setup.lock holder
	mkdir -p "$build"
	exec 9<>"$lock"
	if ! flock --nonblock 9; then
		holder=$(<"$lock")
		say "waiting for ${holder:-another program}, which is setting up in $build ..."
		flock 9
	fi
	printf '%s, process %d' "$program" $$ >"$lock"
	[[ $log_start ]] || begin_log
}

setup_unlock()
{
	: >"$build/setup.lock"
	exec 9>&-
}

# The log keeps what others have written, who may just have told their users to look there.
begin_log()
{
	local size=0
	[[ ! -e $setup_log ]] || size=$(stat --format=%s "$setup_log")
	if ((size > 4 * 1024 * 1024)); then
		: >"$setup_log"
		size=0
	fi
	log_start=$size
	printf '\n== %s, process %d, %(%F %T)T\n' "$program" $$ -1 >>"$setup_log"
}

# Runs COMMAND with its output in the log, of which the end is shown when it fails.
logged()
{
	local what=$1 began=$SECONDS rc=0
	shift
	say "$what ..."
	mkdir -p "$build"
	"$@" >>"$setup_log" 2>&1 9>&- || rc=$?
	if ((rc)); then
		tail -n 30 "$setup_log" >&2
		fail "$what: failed with exit code $rc; the whole log is $setup_log"
	fi
	((SECONDS - began < 2)) || say "... done in $((SECONDS - began)) s"
}

missing_packages()
{
	local package
	for package in "$@"; do
		[[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == \
			installed ]] || printf '%s\n' "$package"
	done
}

# Daemons that packages bring are started by their installation and at every boot. They are for
# private clusters here, so neither shall be: invoke-rc.d(8) asks policy-rc.d.
readonly POLICY=/usr/sbin/policy-rc.d
readonly POLICY_MARK='# Made by the tests of srank while they install packages.'

forbid_services()
{
	if [[ -e $POLICY ]] && ! grep -qxF "$POLICY_MARK" "$POLICY"; then
		mv "$POLICY" "$POLICY.srank-saved"
	fi
	printf '#!/bin/sh\n%s\nexit 101\n' "$POLICY_MARK" >"$POLICY"
	chmod 0755 "$POLICY"
}

allow_services()
{
	if [[ -e $POLICY ]] && grep -qxF "$POLICY_MARK" "$POLICY"; then
		rm -f "$POLICY"
	fi
	[[ ! -e $POLICY.srank-saved ]] || mv -f "$POLICY.srank-saved" "$POLICY"
}

# apt-get's output into the log; its progress on one line of a terminal, else now and then.
show_progress()
{
	local line count=0 last=$SECONDS
	while IFS= read -r line; do
		printf '%s\n' "$line" >>"$setup_log"
		[[ $line == @(Get:|Unpacking |Setting up )* ]] || continue
		((++count))
		line=${line% ...}
		if [[ -t 1 ]]; then
			printf '\r\033[K        %.70s' "$line"
		elif ((SECONDS - last >= 10)); then
			last=$SECONDS
			printf '        %.70s\n' "$line"
		fi
	done
	[[ ! -t 1 ]] || printf '\r\033[K'
}

install_packages()
(
	local units=() unit enabled
	export DEBIAN_FRONTEND=noninteractive
	trap allow_services EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
	forbid_services
	[[ -z $(dpkg --audit) ]] || dpkg --configure -a || exit
	apt-get --quiet update || echo 'apt-get update failed; going on with the lists there are'
	for unit in munge slurmctld slurmd; do
		[[ -e /lib/systemd/system/$unit.service ]] || units+=("$unit.service")
	done
	apt-get --quiet --yes --no-install-recommends -o DPkg::Lock::Timeout=120 install "$@" ||
		exit
	for unit in "${units[@]}"; do
		enabled=$(systemctl is-enabled "$unit" 2>/dev/null) || continue
		[[ $enabled != enabled ]] || systemctl --quiet disable "$unit" || true
	done
)

# Installs those of the packages that are not there; returns 1 with a line when it cannot.
setup_packages()
{
	local missing rc=0
	if [[ -z $(type -P dpkg-query) ]]; then
		# Another distribution: what is not there will be named when it is called.
		say "this is no Debian system: the packages are taken to be there"
		return 0
	fi
	readarray -t missing < <(missing_packages "$@")
	if ((${#missing[@]} == 0)); then
		return 0
	fi
	if ((EUID != 0)); then
		printf '%s: missing packages, and only root can install them: apt-get install %s\n' \
			"$program" "${missing[*]}" >&2
		return 1
	fi
	setup_lock
	# Another program may have installed them while this one waited.
	readarray -t missing < <(missing_packages "$@")
	((${#missing[@]} == 0)) || add_packages "${missing[@]}" || rc=1
	setup_unlock
	return "$rc"
}

add_packages()
{
	local began=$SECONDS
	say "installing packages: $* ..."
	if ! install_packages "$@" 2>&1 9>&- | show_progress; then
		tail --bytes=+$((log_start + 1)) "$setup_log" | grep -E '^(E|W|dpkg): ' |
			tail -n 5 >&2 || true
		printf '%s: packages could not be installed (%s); the whole log is %s\n' \
			"$program" "$*" "$setup_log" >&2
		return 1
	fi
	say "... installed in $((SECONDS - began)) s"
}

# setup_build OPTION...: configures and compiles what has changed. An option is asked for anew where
# the folder was configured without it: a part that was left out for want of a package must not
# stay out once the package is there.
setup_build()
{
	local option options=() done_file=$build/setup.options
	setup_lock
	[[ -e $build/build.ninja ]] || rm -f "$done_file"
	for option in "$@"; do
		grep -qsxF -e "$option" "$done_file" || options+=("$option")
	done
	if [[ ! -e $build/build.ninja ]]; then
		logged 'configuring the build' meson setup "${options[@]}" "$build" "$top"
	elif ((${#options[@]})); then
		logged 'configuring the build again' \
			meson setup --reconfigure "${options[@]}" "$build" "$top"
	fi
	((${#options[@]} == 0)) || printf '%s\n' "${options[@]}" >>"$done_file"
	logged 'building srank and its plugin' meson compile -C "$build"
	setup_unlock
}

# When a process started, in ticks since boot: with its number, which process it is. proc(5)
started()
{
	awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null
}

# Gives this program's clusters a folder of their own, and clears those whose program was killed.
setup_clusters()
{
	local folder owner
	for folder in /run/srank-tests/*-*; do
		[[ -d $folder ]] || continue
		owner=${folder##*/}
		[[ $(started "${owner%-*}") != "${owner#*-}" ]] || continue
		say "clearing what a killed run left in $folder"
		SRANK_CLUSTER_DIR=$folder "$cluster" down --all
		rm -rf "$folder"
	done
	SRANK_CLUSTER_DIR=/run/srank-tests/$$-$(started $$)
	export SRANK_CLUSTER_DIR
	mkdir -p "$SRANK_CLUSTER_DIR"
	at_exit clear_clusters
}

# shellcheck disable=SC2317 # by at_exit
clear_clusters()
{
	"$cluster" down --all
	rm -rf "$SRANK_CLUSTER_DIR"
	rmdir /run/srank-tests 2>/dev/null || true
}
