# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The files that a private cluster's hosts read: a copy of the machine's /etc with Slurm's
# configuration, the hosts' names and the user "researcher" in it. Sourced by cluster, whose
# `opt`, `partitions`, `plugstack`, `cgroup`, `conf`, `environment`, `gres` and `mounts` hold
# the command line.
# shellcheck disable=SC2154

readonly RESEARCHER_ID=20001

conf_check()
{
	local key mount variable
	for key in nodes gpus cpus sockets threads memory; do
		# 010 would be eight in arithmetic below, and 08 a fault.
		[[ ${opt[$key]} =~ ^(0|[1-9][0-9]{0,6})$ ]] ||
			die "$EXIT_USAGE" "--$key ${opt[$key]} is no number"
	done
	if [[ ${opt[mpi-ports]} ]]; then
		if ! [[ ${opt[mpi-ports]} =~ ^([1-9][0-9]{0,4})-([1-9][0-9]{0,4})$ ]] ||
			((BASH_REMATCH[1] > BASH_REMATCH[2] || BASH_REMATCH[2] > 65535)); then
			die "$EXIT_USAGE" "--mpi-ports ${opt[mpi-ports]} is no range of ports: LO-HI"
		fi
	fi
	((opt[nodes] >= 1 && opt[nodes] <= 250)) || die "$EXIT_USAGE" '--nodes must be 1 to 250'
	((opt[gpus] <= 250)) || die "$EXIT_USAGE" '--gpus must be at most 250'
	((opt[cpus] && opt[sockets] && opt[threads] &&
		opt[cpus] % (opt[sockets] * opt[threads]) == 0)) ||
		die "$EXIT_USAGE" "--cpus ${opt[cpus]} is no multiple of" \
			"${opt[sockets]} sockets x ${opt[threads]} threads"
	[[ -z ${opt[root]} || -d ${opt[root]}/etc ]] ||
		die "$EXIT_USAGE" "--root ${opt[root]} holds no system"
	[[ -z ${opt[root]} ]] || opt[root]=$(realpath "${opt[root]}")
	for variable in "${environment[@]}"; do
		[[ $variable =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] ||
			die "$EXIT_USAGE" "--env $variable is not of the form NAME=VALUE"
	done
	for mount in "${mounts[@]}"; do
		[[ $mount == /*:/* ]] ||
			die "$EXIT_USAGE" "--mount $mount is not of the form /SRC:/DST"
	done
}

# Prints MAJOR*100+MINOR of the Slurm in the root folder, e.g. 2205.
conf_slurm_version()
{
	local version=''
	version=$(chroot "${opt[root]:-/}" /usr/sbin/slurmd -V)
	[[ $version =~ ([0-9]+)\.([0-9]+) ]]
	printf '%s' $((10#${BASH_REMATCH[1]} * 100 + 10#${BASH_REMATCH[2]}))
}

conf_needs_cgroups()
{
	[[ -n ${opt[constrain-devices]} || ${opt[task-plugin]} == *cgroup* ||
		" ${conf[*]} " == */cgroup* ]]
}

conf_write()
{
	local cores=$((opt[cpus] / opt[sockets] / opt[threads])) folder slurm_version
	slurm_version=$(conf_slurm_version)
	for folder in home log hosts local/bin local/lib/slurm local/share local/sbin; do
		mkdir -p "$state/$folder"
	done
	# The name that programs have in a virtual or conda environment; Debian has only python3.
	ln -s /usr/bin/python3 "$state/local/bin/python"
	install -d --mode=0700 --owner=$RESEARCHER_ID --group=$RESEARCHER_ID \
		"$state/home/researcher"
	# Whole: a fresh /etc of our own is how nothing of the machine's is touched, and how Slurm's
	# commands find their files with no variable set.
	cp -a "${opt[root]}/etc" "$state/etc"
	mkdir -p "$state/etc/slurm"
	conf_names
	conf_users
	conf_slurm >"$state/etc/slurm/slurm.conf"
	conf_gres >"$state/etc/slurm/gres.conf"
	conf_cgroup >"$state/etc/slurm/cgroup.conf"
	conf_plugstack "${plugstack[@]}"
	conf_torch
	conf_host >"$state/host.conf"
}

# Debian 12's torch 1.13 looks for the value 0 by iterating over a Flag, and Python 3.11 no
# longer gives the member of value 0 there ("What's New In Python 3.11", enum): its torchrun
# fails before it starts a worker. The hosts see that file with the member put back.
conf_torch()
{
	local file=/usr/lib/python3/dist-packages/torch/distributed/elastic/multiprocessing/api.py
	grep -qs 'for s in Std:' "${opt[root]}$file" || return 0
	sed 's/for s in Std:/for s in (*Std, Std.NONE):/' "${opt[root]}$file" >"$state/torch.py"
	mounts+=("$state/torch.py:$file")
}

conf_names()
{
	local k
	{
		printf 'login 10.42.0.1\n'
		for ((k = 1; k <= opt[nodes]; k++)); do
			printf 'node%d 10.42.1.%d\n' "$k" "$k"
		done
	} >"$state/hosts.list"
	{
		printf '127.0.0.1 localhost\n::1 localhost\n'
		awk '{ print $2, $1 }' "$state/hosts.list"
	} >"$state/etc/hosts"
}

conf_users()
{
	local file
	for file in passwd group; do
		awk -F: -v id=$RESEARCHER_ID '$1 != "researcher" && $3 != id' \
			"${opt[root]}/etc/$file" >"$state/etc/$file"
	done
	printf 'researcher:x:%d:%d:Researcher:/home/researcher:/bin/bash\n' \
		$RESEARCHER_ID $RESEARCHER_ID >>"$state/etc/passwd"
	printf 'researcher:x:%d:\n' $RESEARCHER_ID >>"$state/etc/group"
	# Without a line here PAM refuses su(1), by which slurmd gets the environment of sbatch
	# --export=NONE; 26.05 then holds the job, others run it without PATH and HOME.
	sed -i '/^researcher:/d' "$state/etc/shadow"
	printf 'researcher:*:19000::::::\n' >>"$state/etc/shadow"
	# munged refuses a key that others may read.
	mkdir -p "$state/etc/munge"
	head -c 128 /dev/urandom >"$state/etc/munge/munge.key"
	chmod 0400 "$state/etc/munge/munge.key"
	chroot "${opt[root]:-/}" id -u munge >"$state/munge.uid"
	chroot "${opt[root]:-/}" id -g munge >"$state/munge.gid"
	chown -R "$(<"$state/munge.uid"):$(<"$state/munge.gid")" "$state/etc/munge"
}

# Jobs must start at once and end at once: the scheduler runs at each event, without the pauses
# that spare a slurmctld of thousands of nodes. slurmd may claim what the machine has not
# (config_overrides), and a node that was away comes back (ReturnToService).
conf_slurm()
{
	local line key own=' ' defaults=() i partition
	defaults=(
		"ClusterName=$name"
		'SlurmctldHost=login'
		'SlurmUser=root'
		'AuthType=auth/munge'
		'StateSaveLocation=/var/spool/slurmctld'
		'SlurmdSpoolDir=/var/spool/slurmd'
		'SlurmctldPidFile=/run/slurmctld.pid'
		'SlurmdPidFile=/run/slurmd.pid'
		'SlurmctldLogFile=/var/log/slurmctld.log'
		'SlurmdLogFile=/var/log/slurmd.log'
		'SlurmdParameters=config_overrides'
		'PlugStackConfig=/etc/slurm/plugstack.conf'
		'ProctrackType=proctrack/linuxproc'
		"TaskPlugin=${opt[task-plugin]}"
		'JobAcctGatherType=jobacct_gather/none'
		'SelectType=select/cons_tres'
		'SelectTypeParameters=CR_Core_Memory'
		'SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1'
		'PriorityType=priority/basic'
		'MpiDefault=none'
		'PropagateResourceLimitsExcept=MEMLOCK'
		'ReturnToService=2'
		'KillWait=5'
		'InactiveLimit=0'
		'MessageTimeout=30'
		'SlurmdTimeout=300'
		'MinJobAge=3600'
	)
	[[ -z ${opt[mpi-ports]} ]] || defaults+=("MpiParams=ports=${opt[mpi-ports]}")
	((opt[gpus] == 0)) || defaults+=('GresTypes=gpu')
	defaults+=("NodeName=node[1-${opt[nodes]}] CPUs=${opt[cpus]} Sockets=${opt[sockets]} \
CoresPerSocket=$cores ThreadsPerCore=${opt[threads]} RealMemory=${opt[memory]}$(conf_node_gres)")
	((${#partitions[@]})) || partitions=(main)
	for i in "${!partitions[@]}"; do
		partition=${partitions[i]}
		line="PartitionName=${partition%%:*}"
		[[ $partition == *[:\ ]Nodes=* ]] || line+=' Nodes=ALL'
		[[ $i != 0 || $partition == *Default=* ]] || line+=' Default=YES'
		[[ $partition != *:* ]] || line+=" ${partition#*:}"
		defaults+=("$line")
	done
	for line in "${conf[@]}"; do
		key=${line%%=*}
		own+="${key,,} "
	done
	for line in "${defaults[@]}" "${conf[@]}"; do
		key=${line%%=*}
		[[ $own == *" ${key,,} "* && " ${conf[*]/#/ } " != *" $line "* ]] ||
			printf '%s\n' "$line"
	done
}

conf_node_gres()
{
	((opt[gpus] == 0)) || printf ' Gres=gpu:%s%d' "${opt[gpu-type]:+${opt[gpu-type]}:}" "${opt[gpus]}"
}

# Each socket has its share of the GPUs. Cores= counts cores, not threads: gres.conf(5).
conf_gres()
{
	local socket first last
	if ((${#gres[@]})); then
		printf '%s\n' "${gres[@]}"
		return
	fi
	for ((socket = 0; socket < opt[sockets]; socket++)); do
		first=$((socket * opt[gpus] / opt[sockets]))
		last=$(((socket + 1) * opt[gpus] / opt[sockets] - 1))
		((first <= last)) || continue
		printf 'Name=gpu%s File=/dev/nvidia%s Cores=%s\n' \
			"${opt[gpu-type]:+ Type=${opt[gpu-type]}}" \
			"$(conf_range $first $last)" \
			"$(conf_range $((socket * cores)) $(((socket + 1) * cores - 1)) bare)"
	done
}

conf_range()
{
	if (($1 == $2)); then
		printf '%d' "$1"
	elif [[ -n ${3-} ]]; then
		printf '%d-%d' "$1" "$2"
	else
		printf '[%d-%d]' "$1" "$2"
	fi
}

# CgroupPlugin=disabled is known from 23.11 on; before, slurmd insists on one, and cgroup/v1 asks
# for no controller as long as no other plugin does.
conf_cgroup()
{
	if ((slurm_version >= 2311)) && ! conf_needs_cgroups; then
		printf 'CgroupPlugin=disabled\n'
		return
	fi
	printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n'
	[[ -z ${opt[constrain-devices]} ]] || printf 'ConstrainDevices=yes\n'
	((${#cgroup[@]} == 0)) || printf '%s\n' "${cgroup[@]}"
}

conf_plugstack()
{
	local file=$state/etc/slurm/plugstack.conf
	{
		(($# == 0)) || printf '%s\n' "$@"
	} >"$file.new"
	mv "$file.new" "$file"
}

# What host needs to know, as variables.
conf_host()
{
	declare -p environment mounts
	printf '%s=%q\n' root "${opt[root]:-/}" gpus "${opt[gpus]}" \
		munge_uid "$(<"$state/munge.uid")" munge_gid "$(<"$state/munge.gid")" \
		cgroups "$(conf_needs_cgroups && echo yes)"
}
