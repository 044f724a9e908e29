# SPDX-License-Identifier: MIT
# What the tests of steps on a private cluster share: starting them as the researcher, and holding
# what the tasks report to the rules of the launch.
# shellcheck shell=bash
# shellcheck disable=SC2154 # here, output and status are of helpers.bash and bats

# shellcheck source-path=SCRIPTDIR source=helpers.bash
source "${BASH_SOURCE[0]%/*}/helpers.bash"

# boot NAME [OPTION]...: a cluster with the plugin and step-show. With memory counted, every job
# and every step would have all that a node has, and the next one would have to wait.
boot()
{
	cluster_need "$1" --plugstack "optional $PLUGIN" --conf SelectTypeParameters=CR_Core "${@:2}"
	cluster install "$here/step-show"
}

# For setup: an empty home, and the line in plugstack.conf that another test may have changed.
fresh()
{
	find "$(home '')" -mindepth 1 -delete
	cluster plugstack "optional $PLUGIN"
}

# For teardown: no test may cost a node, or leave a job.
need_nodes()
{
	[[ ${BATS_TEST_COMPLETED-} || ! -s $(home err) ]] || cat "$(home err)" >&2
	user scancel --user=researcher
	nodes_are_well
}

# A command as the researcher on the login host. A step that hangs fails the test, and srun has
# nothing to read: it would take the lines of a test's table.
user()
{
	timeout 60 "$here/cluster" run --user researcher login -- "$@" </dev/null
}

# The same, which must end well: its lines in $output, its errors in $stderr.
good()
{
	run --separate-stderr user "$@"
	((status == 0)) || {
		printf '%s\n' "$* ended with code $status" "$output" "$stderr" >&2
		return 1
	}
}

# The same for what must fail, start no task, and say every TEXT: bad COMMAND... -- TEXT...
bad()
{
	local command=() text
	while [[ $1 != -- ]]; do
		command+=("$1")
		shift
	done
	shift
	run --separate-stderr user "${command[@]}"
	if ((status == 0)) || [[ $output ]]; then
		printf '%s\n' "${command[*]} ended with code $status" "$output" "$stderr" >&2
		return 1
	fi
	for text in "$@"; do
		[[ $stderr == *"$text"* ]] || {
			printf '%s\n' "${command[*]} says" "$stderr" "and not: $text" >&2
			return 1
		}
	done
}

# Writes standard input to the researcher's file NAME, executable.
write()
{
	cat >"$(home "$1")"
	chmod 0755 "$(home "$1")"
	chown --reference="$(home '')" "$(home "$1")"
}

# submit [OPTION]...: the script on standard input as a batch job, $job its number.
submit()
{
	write job
	job=$(user sbatch --parsable --output=out --error=err "$@" job)
}

# Waits for the job. sbatch --wait looks after 2, 10, 42... seconds: _job_wait() in its source.
ended()
{
	local deadline=$((SECONDS + 60))
	while [[ $(user squeue --noheader --jobs="$job") ]]; do
		((SECONDS < deadline)) || {
			user scontrol show job "$job" >&2
			return 1
		}
		sleep 0.2
	done
}

# Both, and the output of the script in $output.
batch()
{
	submit "$@"
	ended
	output=$(<"$(home out)")
	cat "$(home err)" >&2
}

# What a step of the script has written into FILE, as $output.
wrote()
{
	output=$(<"$(home "$1")")
}

# meets PLACEMENT [ADDR]: are the lines of step-show in $output one world? PLACEMENT has the
# number of each rank's node, "1,1,2" for ranks 0 and 1 on node1 and 2 on node2; "?" is where
# Slurm has put them. The address is rank 0's node, or ADDR. What follows from it by the rule:
# ranks as Slurm counts them, local ranks from 0 on each node, nodes numbered by their lowest
# rank, one address, and one port of those that Linux gives to no client. Sets $port.
meets()
{
	local placement=$1 addr=${2-} node rank nodes=() expected=''
	local -A size=() local_rank=() node_rank=()
	if [[ $placement == '?' ]]; then
		mapfile -t nodes < <(sort -n <<<"$output" | cut -d ' ' -f 2)
	else
		IFS=, read -r -a nodes <<<"$placement"
		nodes=("${nodes[@]/#/node}")
	fi
	for node in "${nodes[@]}"; do
		: "${node_rank[$node]:=${#node_rank[@]}}"
		((++size[$node]))
	done
	port=${output%%$'\n'*}
	port=${port##* }
	for rank in "${!nodes[@]}"; do
		node=${nodes[rank]}
		expected+="$rank $node $rank ${#nodes[@]} ${local_rank[$node]:=0} ${size[$node]}"
		expected+=" ${node_rank[$node]} ${node_rank[$node]} ${#size[@]}"
		expected+=" ${addr:-${nodes[0]}} $port"$'\n'
		((++local_rank[$node]))
	done
	diff <(printf %s "$expected") <(sort -n <<<"$output")
	[[ $port =~ ^2[0-9]{4}$ ]]
}

# differ WORD...: is none of them there twice?
differ()
{
	[[ $(printf '%s\n' "$@" | sort -u | wc -l) == "$#" ]]
}

# hold NODE ADDRESS PORT...: a process there that listens, until release.
hold()
{
	rm -f "$(home released)" "$(home held)"
	# shellcheck disable=SC2016
	cluster run "$1" -- /usr/bin/python3 -c '
import os, socket, sys, time
held = []
for port in sys.argv[2:]:
    family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
    held.append(socket.socket(family))
    held[-1].bind((sys.argv[1], int(port)))
    held[-1].listen()
open("/home/researcher/held", "w").close()
end = time.time() + 120
while time.time() < end and not os.path.exists("/home/researcher/released"):
    time.sleep(0.1)' "${@:2}" </dev/null >&2 3>&- &
	holder=$!
	until [[ -e $(home held) ]]; do
		kill -0 "$holder"
		sleep 0.05
	done
}

release()
{
	[[ ${holder-} ]] || return 0
	: >"$(home released)"
	wait "$holder"
	unset holder
}
