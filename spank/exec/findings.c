/* SPDX-License-Identifier: MIT */
/*
 * The rules of `srank doctor`. Each looks at the records alone, so that it can be tested
 * without a cluster; equal findings of several places become one.
 */
#include "spank/exec/findings.h"

#include "spank/exec/digest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MIB INT64_C(1048576)

/* Clocks this far apart, in ns, confuse make, caches and checkpoints on shared files. */
#define SKEW_MAX INT64_C(1000000000)

/*
 * What a task may well want of /dev/shm: NCCL's buffers and a DataLoader's batches.
 * Docker gives a container 64 MiB for all its tasks.
 */
#define SHM_LITTLE (128 * MIB)
#define SHM_NONE   (32 * MIB)

/* Pages of buffers that InfiniBand keeps in place: with less, NCCL and MPI do not start.
 */
#define MEMLOCK_LITTLE (64 * MIB)

/* The kernel's own default; a DataLoader with several workers comes near. */
#define FILES_LITTLE 1024

/* Of rank 0 besides one connection for each rank: libraries, data, devices. */
#define FILES_OWN 256

/* Names in a list within a message, and places in front of it. */
#define NAMES_SHOWN  8
#define PLACES_SHOWN 4

/* Nodes of a step that srun serves by one port: src/api/step_launch.c of Slurm. */
#define NODES_PER_PORT 48

/* A link as slow as this is no chance: it is of the last generation, or worse. */
#define SLOW_FACTOR 3

enum id {
	RANKS_MISSING,
	PMIX_APART,
	PMIX_UNJOINED,
	STEP,
	RANKS_DIFFER,
	PORT_HELD,
	ADDRESS_UNRESOLVED,
	ADDRESS_LOOPBACK,
	REFUSED,
	UNREACHABLE,
	FILTERED,
	OTHER_PROGRAM,
	SILENT,
	LARGE_MESSAGES,
	NOT_TESTED,
	ADDRESS_DIFFERS,
	MESH,
	SLOW_LINK,
	INTERFACE_MISSING,
	INTERFACE_LOOPBACK,
	INTERFACE_OTHER,
	HOSTNAME_LOOPBACK,
	GPU_NONE,
	GPU_MISSING,
	GPU_DENIED,
	GPU_SHARED,
	GPU_IDLE,
	GPU_FEWER,
	GPU_COUNT_DIFFERS,
	GPU_MODEL_DIFFERS,
	DRIVER_DIFFERS,
	CPUS_FEW,
	CPUS_UNEVEN,
	BINDING,
	MEMORY_DIFFERS,
	MEMLOCK_LOW,
	FILES_LOW,
	LIMITS_DIFFER,
	SHM_SMALL,
	SHM_LOW,
	TREE_UNREADABLE,
	TREE_FORBIDDEN,
	TREE_STALLED,
	TREE_DIFFERS,
	TREES_OTHER,
	TREE_LARGE,
	TREE_CHANGING,
	NODES_IDLE,
	KERNEL_DIFFERS,
	LIBC_DIFFERS,
	SYSTEM_DIFFERS,
	CONTAINER_DIFFERS,
	CLOCK_SKEW,
	RULES,
};

const struct exec_rule exec_rules[] = {
	[RANKS_MISSING] =
		{"ranks-missing", EXEC_ERROR,
		 "a task has not started, has ended before, or cannot reach "
		 "rank 0",
		 "see their own messages, and the log of slurmd on their nodes; "
		 "every task of the step must start srank doctor"},
	[PMIX_APART] =
		{"pmix-apart", EXEC_ERROR,
		 "a rank is missing, or the slurmstepd of the nodes do not reach "
		 "each other by the names and ports that they have",
		 "see ranks-missing; open all ports between compute nodes; with "
		 "Slurm before 23.02, whose nodes may turn each other away while a "
		 "step starts, start it again; the rest of this report is what "
		 "ranks told rank 0 without PMIx"},
	[PMIX_UNJOINED] =
		{"pmix-unjoined", EXEC_WARNING,
		 "PMIxCollFence=tree, or PMIxDirectConn=no, in mpi.conf: with fewer "
		 "nodes "
		 "than TreeWidth Slurm's fence then ends on each node for itself",
		 "SLURM_PMIX_FENCE=ring in front of srun, or PMIxCollFence=ring and "
		 "PMIxDirectConn=yes in mpi.conf; until then srank exec tests its port, "
		 "but "
		 "finds no other, and the doctor tries the ways to rank 0 alone"},
	[STEP] = {"step", EXEC_ERROR,
		  "the step cannot be served as it is, by the rules of the launch",
		  "as the message says"},
	[RANKS_DIFFER] =
		{"ranks-differ", EXEC_ERROR,
		 "each task was given a value of its own, as by "
		 "MASTER_ADDR=$(hostname), or a program that starts the tasks in "
		 "different ways",
		 "set it once, in front of srun, or leave it unset: it is found"},
	[PORT_HELD] = {"port-held", EXEC_ERROR,
		       "an earlier run that has not ended, or another job on the node",
		       "end that process, or set MASTER_PORT (--port) to a free one; "
		       "without MASTER_PORT a free one is looked for"},
	[ADDRESS_UNRESOLVED] = {"address-unresolved", EXEC_ERROR,
				"the name is not in /etc/hosts or DNS as this node (or "
				"its container) sees them",
				"add it there, or use an address: --addr ip, suffix= or "
				"domain= where names have another form, or MASTER_ADDR"},
	[ADDRESS_LOOPBACK] =
		{"address-loopback", EXEC_ERROR,
		 "a line such as `127.0.1.1 NAME` in this node's /etc/hosts, "
		 "or MASTER_ADDR=localhost: the node would meet itself",
		 "correct that line, or unset MASTER_ADDR"},
	[REFUSED] = {"refused", EXEC_ERROR,
		     "the address leads to a host where rank 0 is not, or a firewall "
		     "rejects the port",
		     "compare the address with rank 0's node, and open the ports "
		     "between compute nodes, or choose others with ports="},
	[UNREACHABLE] =
		{"unreachable", EXEC_ERROR,
		 "the node has no route into the network of that address, or a "
		 "firewall prohibits it",
		 "choose an address in a network that all nodes share: --addr ip, "
		 "suffix= or MASTER_ADDR; ip route get ADDRESS shows the way"},
	[FILTERED] = {"filtered", EXEC_ERROR,
		      "a firewall drops packets between the nodes, or the address is no "
		      "host's",
		      "open the ports between compute nodes, or choose others with "
		      "ports="},
	[OTHER_PROGRAM] = {"other-program", EXEC_ERROR,
			   "the address leads to another host than rank 0's, or a proxy "
			   "stands between",
			   "compare the address with rank 0's node; take the port of a "
			   "service that runs everywhere out of ports="},
	[SILENT] =
		{"silent", EXEC_ERROR,
		 "another program has the port there, or rank 0 is stopped or has too "
		 "much to do",
		 "compare the address with rank 0's node, and look what runs there; take "
		 "the port of a service that runs everywhere out of ports="},
	[LARGE_MESSAGES] = {"large-messages", EXEC_ERROR,
			    "an interface, switch or tunnel on the way takes smaller "
			    "packets (MTU) than "
			    "the node sends, and does not say so",
			    "give all of them one MTU: ip link shows the node's, and "
			    "ping -M do -s 8972 "
			    "ADDRESS whether packets of 9000 bytes pass"},
	[NOT_TESTED] = {"not-tested", EXEC_ERROR,
			"the task or its node lacks what the test takes",
			"see the limits of the task (open files, memory, processes) and "
			"the addresses of the node: ip -brief address"},
	[ADDRESS_DIFFERS] = {"address-differs", EXEC_WARNING,
			     "the nodes have different /etc/hosts, or DNS answers by "
			     "network",
			     "give all nodes the same names, or use --addr ip"},
	[MESH] = {"mesh", EXEC_ERROR,
		  "a firewall or a missing route between these nodes; NCCL and Gloo "
		  "connect any two ranks",
		  "open all ports between compute nodes, or leave the nodes out: "
		  "sbatch --exclude"},
	[SLOW_LINK] =
		{"slow-link", EXEC_WARNING,
		 "a cable, port or switch that works below its speed, another "
		 "interface than the others', or other jobs' traffic",
		 "measure again, and leave the node out (sbatch --exclude) while it "
		 "stays so; ethtool INTERFACE shows its speed"},
	[INTERFACE_MISSING] = {"interface-missing", EXEC_ERROR,
			       "names of interfaces differ from host to host, and the "
			       "variable has none of this one's that is up",
			       "set it to a prefix that all nodes have, or leave it "
			       "unset; ip -brief address shows the names"},
	[INTERFACE_LOOPBACK] =
		{"interface-loopback", EXEC_ERROR,
		 "the variable takes lo, by which no other node can come",
		 "name the network between the nodes; a list that excludes "
		 "must exclude lo as well: ^lo,docker0"},
	[INTERFACE_OTHER] =
		{"interface-other", EXEC_WARNING,
		 "ranks would meet in one network and talk in another, by "
		 "which not all connections between nodes were tried and made",
		 "make sure that this network joins all nodes (srun "
		 "--mpi=pmix tries it), or let both agree: suffix= or "
		 "MASTER_ADDR for an address in it"},
	[HOSTNAME_LOOPBACK] =
		{"hostname-loopback", EXEC_WARNING,
		 "the host's own line in its /etc/hosts, or DNS; Gloo "
		 "listens at the address of the host's own name, and others "
		 "cannot come there",
		 "give the name its address in the network, or set "
		 "GLOO_SOCKET_IFNAME to the interface"},
	[GPU_NONE] = {"gpu-none", EXEC_ERROR,
		      "GPUs were given by task (--gpus-per-task, --gpu-bind), or not on "
		      "all nodes",
		      "ask for GPUs by node: --gpus-per-node or --gres=gpu:N"},
	[GPU_MISSING] =
		{"gpu-missing", EXEC_ERROR,
		 "the GPU has fallen off the bus, the driver or a part of it "
		 "(nvidia_uvm) is not loaded, or the container was started without it",
		 "see dmesg, nvidia-smi and lsmod on that node, and leave it out: "
		 "sbatch --exclude; start containers with --nv, --rocm or --gpus"},
	[GPU_DENIED] = {"gpu-denied", EXEC_ERROR,
			"the job's device cgroup does not have it, or the file's mode "
			"or group is too strict",
			"compare gres.conf with the device files of the node; NVIDIA's "
			"have mode 0666, AMD's are open to the group render"},
	[GPU_SHARED] = {"gpu-shared", EXEC_WARNING,
			"more tasks than GPUs, or Slurm's own binding gave several tasks "
			"the same; NCCL refuses two ranks on one GPU",
			"start one task a GPU: --ntasks-per-node=GPUS, and leave "
			"--gpus-per-task and --gpu-bind out"},
	[GPU_IDLE] = {"gpu-idle", EXEC_WARNING, "fewer tasks than GPUs",
		      "start one task a GPU (--ntasks-per-node=GPUS), or a launcher "
		      "that starts the ranks (--launcher torchrun)"},
	[GPU_FEWER] = {"gpu-fewer", EXEC_WARNING,
		       "srun was given its own --gres or --gpus, or the job was changed",
		       "leave the GPUs to the job's header, or ask for as many there"},
	[GPU_COUNT_DIFFERS] = {"gpu-count-differs", EXEC_WARNING,
			       "the job asked for GPUs in all (--gpus), and Slurm spread "
			       "them as it liked",
			       "ask by node: --gpus-per-node"},
	[GPU_MODEL_DIFFERS] = {"gpu-model-differs", EXEC_WARNING,
			       "the partition has several kinds of nodes; the slowest "
			       "sets the pace",
			       "name the type: --gpus-per-node=TYPE:N, or --constraint"},
	[DRIVER_DIFFERS] = {"driver-differs", EXEC_WARNING,
			    "a node was not updated, or not started again after it",
			    "leave the node out (sbatch --exclude) until the driver is "
			    "the same"},
	[CPUS_FEW] = {"cpus-few", EXEC_WARNING,
		      "srun of Slurm 22.05 to 23.02 does not take --cpus-per-task from "
		      "the job, or the task was bound again (taskset, numactl)",
		      "repeat it on the srun line: srun --cpus-per-task=N"},
	[CPUS_UNEVEN] = {"cpus-uneven", EXEC_WARNING,
			 "tasks are bound by a list that does not suit them, or their "
			 "nodes are shared or different; the slowest rank sets the pace",
			 "give each task the same: --cpus-per-task, and no --cpu-bind of "
			 "your own"},
	[BINDING] = {"binding", EXEC_WARNING,
		     "CPUs and GPUs of the task are apart, or do not fit together",
		     "as the message says"},
	[MEMORY_DIFFERS] = {"memory-differs", EXEC_WARNING,
			    "the nodes are of different size, or the job has more tasks "
			    "on one of them",
			    "ask for the same on each node: --mem"},
	[MEMLOCK_LOW] = {"memlock-low", EXEC_ERROR,
			 "slurmd was started with a low limit of locked memory, or srun "
			 "hands on the one of the login host; InfiniBand needs it",
			 "LimitMEMLOCK=infinity for slurmd's unit, and "
			 "PropagateResourceLimitsExcept=MEMLOCK in slurm.conf"},
	[FILES_LOW] = {"files-low", EXEC_WARNING,
		       "srun hands on the limit of open files of the login host",
		       "ulimit -n 65536 in the script, in front of srun"},
	[LIMITS_DIFFER] = {"limits-differ", EXEC_WARNING,
			   "slurmd was started in another way on this node",
			   "compare the units of slurmd, and "
			   "PropagateResourceLimits in slurm.conf"},
	[SHM_SMALL] = {"shm-small", EXEC_ERROR,
		       "a container with Docker's default of 64 MiB, or a full /dev/shm; "
		       "NCCL and DataLoader workers end with a bus error",
		       "start the container with more (--shm-size, --ipc=host), and "
		       "remove what earlier jobs have left in /dev/shm"},
	[SHM_LOW] = {"shm-low", EXEC_WARNING,
		     "a small /dev/shm, or files of other jobs in it",
		     "start containers with more (--shm-size, --ipc=host), and remove "
		     "what earlier jobs have left in /dev/shm"},
	[TREE_UNREADABLE] = {"tree-unreadable", EXEC_ERROR,
			     "the file system is not mounted there, or the files are "
			     "only on the node where they were made",
			     "put them where all nodes see them, or copy them first: "
			     "sbcast, srun cp"},
	[TREE_FORBIDDEN] =
		{"tree-forbidden", EXEC_ERROR,
		 "the user of the job may not read it there: its mode, the "
		 "user's groups on that node, or a credential (Kerberos) that "
		 "the job has not",
		 "chmod or chgrp, and compare what id says on the nodes; leave "
		 "out what no run reads: --tree may be repeated"},
	[TREE_STALLED] = {"tree-stalled", EXEC_ERROR,
			  "its file server is down or has too much to do, or the mount "
			  "there is stale",
			  "have the mount looked at, and leave the node out meanwhile "
			  "(--exclude); a run would hang there, too"},
	[TREE_DIFFERS] = {"tree-differs", EXEC_ERROR,
			  "a local copy that is older, or a shared file system that "
			  "has not caught up",
			  "copy it again to all nodes, or use one that they share"},
	[TREES_OTHER] = {"trees-other", EXEC_ERROR,
			 "the tasks were started with different --tree options",
			 "give all tasks the same, in one order; a path that each shell "
			 "would make up for itself is to be written out"},
	[TREE_LARGE] = {"tree-large", EXEC_WARNING, "data lies among the code",
			"name the folders that have code: --tree may be repeated"},
	[TREE_CHANGING] =
		{"tree-changing", EXEC_WARNING,
		 "something writes there: logs, checkpoints or caches lie among "
		 "the code, or a copy is still under way",
		 "name the folders that have code (--tree may be repeated), and "
		 "wait for what fills them"},
	[NODES_IDLE] = {"nodes-idle", EXEC_WARNING,
			"srun was given fewer nodes or tasks than the job has",
			"leave -N and -n to the job's header"},
	[KERNEL_DIFFERS] = {"kernel-differs", EXEC_WARNING,
			    "a node was not updated, or not started again after it",
			    "mostly harmless; leave the node out when it alone fails"},
	[LIBC_DIFFERS] = {"libc-differs", EXEC_WARNING,
			  "the nodes have different systems, or not all tasks are in "
			  "the same container",
			  "programs built on one may not start on the other: run all in "
			  "one container, or use --constraint"},
	[SYSTEM_DIFFERS] = {"system-differs", EXEC_WARNING,
			    "the nodes have different systems, or not all tasks are in "
			    "the same container",
			    "run all in one container, or use --constraint"},
	[CONTAINER_DIFFERS] = {"container-differs", EXEC_WARNING,
			       "only some of the tasks were started in the container",
			       "start all of them in the same image"},
	[CLOCK_SKEW] = {"clock-skew", EXEC_WARNING,
			"no time service (chrony, ntpd) runs there; file times and logs "
			"of the nodes do not fit together",
			"chronyc tracking on that node shows why"},
	[RULES] = {NULL},
};

struct judge {
	struct exec_verdict *verdict;
	const struct exec_world *world;
	const struct exec_record **tasks; /* those that came, by component, node, rank */
	uint32_t tasks_count;
	double *shares; /* by task, the CPUs that it has for itself; 0: not known */
	const struct exec_record **nodes; /* the leaders among them, by rank */
	const struct exec_record **peers; /* the same by component, and then by rank */
	const struct exec_record **named; /* the same by name */
	uint32_t nodes_count;
	uint32_t missing; /* ranks */
	bool parts;       /* there are components */
	bool joined;      /* connections between nodes were tried, and none has failed */
	/* Findings by their hash: the index and one; 0: none. */
	uint32_t *table;
	uint32_t table_size; /* a power of 2 */
};

/* ---- gathering ---- */

const char *exec_severity_name(enum exec_severity severity)
{
	return severity == EXEC_ERROR ? "error" : "warning";
}

/* Whether a list of COUNT entries is full, so that it must become twice as long. */
static bool is_full(uint32_t count)
{
	return (count & (count - 1)) == 0;
}

static bool add_place(struct exec_finding *finding, const char *place)
{
	uint32_t count = finding->places;

	if (!*place || (count && strcmp(finding->place[count - 1], place) == 0))
		return true;
	if (is_full(count)) {
		char **list = reallocarray(finding->place, count ? 2 * count : 1,
					   sizeof(*list));

		if (!list)
			return false;
		finding->place = list;
	}
	finding->place[count] = strdup(place);
	finding->places += finding->place[count] != NULL;
	return finding->place[count];
}

static struct exec_finding *add_finding(struct exec_verdict *verdict, enum id id,
					char *text)
{
	uint32_t count = verdict->count;

	if (is_full(count)) {
		struct exec_finding *list = reallocarray(
			verdict->findings, count ? 2 * count : 1, sizeof(*list));

		if (!list)
			return NULL;
		verdict->findings = list;
	}
	verdict->findings[count] =
		(struct exec_finding){.rule = &exec_rules[id], .text = text};
	if (exec_rules[id].severity == EXEC_ERROR)
		verdict->errors++;
	else
		verdict->warnings++;
	verdict->count++;
	return &verdict->findings[count];
}

/* FNV-1a */
static uint32_t hash(const struct exec_rule *rule, const char *text)
{
	uint32_t sum = 2166136261U ^ (uint32_t)(rule - exec_rules);

	for (; *text; text++)
		sum = (sum ^ (unsigned char)*text) * 16777619U;
	return sum;
}

/* Where a finding of RULE with TEXT is, or would be. */
static uint32_t *find_place(const struct judge *judge, const struct exec_rule *rule,
			    const char *text)
{
	const struct exec_finding *findings = judge->verdict->findings;
	uint32_t i = hash(rule, text);

	for (;; i++) {
		uint32_t *slot = &judge->table[i & (judge->table_size - 1)];

		if (!*slot || (findings[*slot - 1].rule == rule &&
			       strcmp(findings[*slot - 1].text, text) == 0))
			return slot;
	}
}

/* Room for one more finding; half of the table stays empty. */
static bool make_room(struct judge *judge)
{
	const struct exec_verdict *verdict = judge->verdict;
	uint32_t size;

	if (2 * (verdict->count + 1) <= judge->table_size)
		return true;
	for (size = 64; size < 2 * (verdict->count + 1);)
		size *= 2;
	free(judge->table);
	judge->table = calloc(size, sizeof(*judge->table));
	judge->table_size = judge->table ? size : 0;
	for (uint32_t i = 0; judge->table && i < verdict->count; i++)
		*find_place(judge, verdict->findings[i].rule, verdict->findings[i].text) =
			i + 1;
	return judge->table;
}

/* Takes TEXT; NULL: there is no memory. */
static struct exec_finding *find_or_add(struct judge *judge, enum id id, char *text)
{
	struct exec_finding *finding;
	uint32_t *slot;

	if (!text || !make_room(judge)) {
		free(text);
		return NULL;
	}
	slot = find_place(judge, &exec_rules[id], text);
	if (*slot) {
		free(text);
		return &judge->verdict->findings[*slot - 1];
	}
	finding = add_finding(judge->verdict, id, text);
	if (finding)
		*slot = judge->verdict->count;
	else
		free(text);
	return finding;
}

static void found(struct judge *judge, enum id id, const char *place, const char *format,
		  ...) __attribute__((format(printf, 4, 5)));

static void found(struct judge *judge, enum id id, const char *place, const char *format,
		  ...)
{
	struct exec_finding *finding;
	va_list list;
	char *text;
	int length;

	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	finding = find_or_add(judge, id, length < 0 ? NULL : text);
	if (finding && add_place(finding, place))
		return;
	judge->verdict->lost = true;
	judge->verdict->errors++;
}

void exec_finding_place(const struct exec_finding *finding, char *text, size_t size)
{
	uint32_t shown = finding->places < PLACES_SHOWN ? finding->places : PLACES_SHOWN;
	size_t used = 0;

	*text = '\0';
	for (uint32_t i = 0; i < shown && used < size; i++)
		used += (size_t)snprintf(
			text + used, size - used, "%s%s",
			i == 0 ? "" : (i + 1 == finding->places ? " and " : ", "),
			finding->place[i]);
	if (finding->places > shown && used < size)
		snprintf(text + used, size - used, " and %" PRIu32 " more",
			 finding->places - shown);
}

void exec_verdict_clear(struct exec_verdict *verdict)
{
	for (uint32_t i = 0; i < verdict->count; i++) {
		free(verdict->findings[i].text);
		for (uint32_t place = 0; place < verdict->findings[i].places; place++)
			free(verdict->findings[i].place[place]);
		free(verdict->findings[i].place);
	}
	free(verdict->findings);
	*verdict = (struct exec_verdict){0};
}

/* ---- records ---- */

static const char *node_of(const struct exec_record *record)
{
	return exec_record_text(record, "node");
}

static int64_t number(const struct exec_record *record, const char *key)
{
	int64_t value;

	exec_record_number(record, key, &value);
	return value;
}

static bool is_head(const struct exec_record *record)
{
	return exec_record_get(record, "head");
}

static void name_task(const struct exec_record *record, char *place, size_t size)
{
	snprintf(place, size, "rank %" PRId64 " on %s", number(record, "rank"),
		 node_of(record));
}

/*
 * What components of a heterogeneous step do not share; each srun of them has a port of
 * its own. Where that is not known, a task of such a step is compared with none.
 */
static int64_t part_of(const struct exec_record *record)
{
	int64_t port = number(record, "srun.port");

	if (port || !exec_record_get(record, "het"))
		return port;
	return -1 - number(record, "rank");
}

static int compare(int64_t one, int64_t other)
{
	return (one > other) - (one < other);
}

static int by_rank(const struct exec_record *one, const struct exec_record *other)
{
	/* They are in one array. */
	return (one > other) - (one < other);
}

static int by_part(const void *a, const void *b)
{
	const struct exec_record *one = *(const struct exec_record *const *)a;
	const struct exec_record *other = *(const struct exec_record *const *)b;
	int order = compare(part_of(one), part_of(other));

	return order ? order : by_rank(one, other);
}

static int by_name(const void *a, const void *b)
{
	const struct exec_record *one = *(const struct exec_record *const *)a;
	const struct exec_record *other = *(const struct exec_record *const *)b;
	int order = strcmp(node_of(one), node_of(other));

	return order ? order : by_rank(one, other);
}

static int by_part_and_name(const void *a, const void *b)
{
	const struct exec_record *one = *(const struct exec_record *const *)a;
	const struct exec_record *other = *(const struct exec_record *const *)b;
	int order = compare(part_of(one), part_of(other));

	return order ? order : by_name(a, b);
}

/* Whether the two belong to one component, and may be compared. */
static bool is_peer(const struct judge *judge, const struct exec_record *one,
		    const struct exec_record *other)
{
	return !judge->parts || part_of(one) == part_of(other);
}

/*
 * Where the peers of LIST[FIRST] end, in a list by component. Of those that came: a rule
 * that counts must ask whether all have.
 */
static uint32_t end_of_part(const struct judge *judge, const struct exec_record **list,
			    uint32_t count, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < count && is_peer(judge, list[first], list[end]))
		end++;
	return end;
}

/* Has VISIT look at the tasks of each component. */
static void for_each_part(struct judge *judge,
			  void (*visit)(struct judge *judge, uint32_t first,
					uint32_t last))
{
	for (uint32_t first = 0, last; first < judge->tasks_count; first = last) {
		last = end_of_part(judge, judge->tasks, judge->tasks_count, first);
		visit(judge, first, last);
	}
}

/* The same for the tasks of one component on each node. */
static void for_each_node(struct judge *judge,
			  void (*visit)(struct judge *judge, uint32_t first,
					uint32_t last))
{
	for (uint32_t first = 0, last; first < judge->tasks_count; first = last) {
		const struct exec_record *one = judge->tasks[first];

		last = first + 1;
		while (last < judge->tasks_count &&
		       is_peer(judge, one, judge->tasks[last]) &&
		       strcmp(node_of(one), node_of(judge->tasks[last])) == 0)
			last++;
		visit(judge, first, last);
	}
}

/* Whether LIST, with commas, has WORD, which is LENGTH long. */
static bool in_list(const char *list, const char *word, size_t length)
{
	while (*list) {
		size_t here = strcspn(list, ",");

		if (here == length && strncmp(list, word, length) == 0)
			return true;
		list += here + (list[here] == ',');
	}
	return false;
}

/* The first entry that two lists both have, "" when there is none. */
static void common(const char *ours, const char *theirs, char *name, size_t size)
{
	*name = '\0';
	while (*ours && !*name) {
		size_t length = strcspn(ours, ",");

		if (in_list(theirs, ours, length))
			snprintf(name, size, "%.*s", (int)length, ours);
		ours += length + (ours[length] == ',');
	}
}

static const char *first_line(const char *text, char *line, size_t size)
{
	snprintf(line, size, "%.*s", (int)strcspn(text, "\n"), text);
	return line;
}

/* ---- the step ---- */

/* TEXT of each node that has a missing rank, or of the step. */
static void found_missing(struct judge *judge, const char *text)
{
	const struct exec_world *world = judge->world;
	bool *told = calloc(world->nodes_count + 1, sizeof(*told));

	if (!told || !world->node_of)
		found(judge, RANKS_MISSING, "", "%s", text);
	for (uint32_t rank = 0; told && world->node_of && rank < world->ntasks; rank++) {
		uint32_t node = world->node_of[rank];

		if (world->records[rank].count || told[node])
			continue;
		told[node] = true;
		found(judge, RANKS_MISSING, world->nodes[node], "%s", text);
	}
	free(told);
}

static void find_missing(struct judge *judge)
{
	const struct exec_world *world = judge->world;
	const char *held = exec_record_get(&world->records[0], "port.held");
	uint32_t count = 0;
	char names[NAMES_SHOWN * 11 + 8] = "", text[NAMES_SHOWN * 11 + 128];
	size_t used = 0;

	for (uint32_t rank = 0; rank < world->ntasks; rank++) {
		if (world->records[rank].count)
			continue;
		if (count++ < NAMES_SHOWN)
			used += (size_t)snprintf(names + used, sizeof(names) - used,
						 "%s%" PRIu32, used ? "," : "", rank);
	}
	judge->missing = count;
	/* None could come without an address, or to the port of another program. */
	snprintf(text, sizeof(text),
		 "%" PRIu32 " of %" PRIu32 " ranks have not reported in %u s: %s%s",
		 count, world->ntasks, world->seconds, names,
		 count > NAMES_SHOWN ? ",..." : "");
	if (count && (world->meshed || (world->addr && !held)))
		found_missing(judge, text);
	if (world->apart)
		found(judge, PMIX_APART, "",
		      "PMIx has not brought the ranks together in %u s", world->seconds);
	if (world->unjoined)
		found(judge, PMIX_UNJOINED, "",
		      "PMIx does not join the nodes of this step");
}

static void find_step(struct judge *judge)
{
	for (uint32_t i = 0; i < judge->tasks_count; i++) {
		const char *text = exec_record_get(judge->tasks[i], "error");

		if (text)
			found(judge, STEP, node_of(judge->tasks[i]), "%s", text);
	}
}

/* In all components, what srun was asked for in the first one stands. */
static bool is_told_what_was_asked(const struct judge *judge,
				   const struct exec_record *task)
{
	return is_peer(judge, task, &judge->world->records[0]);
}

static void find_identities(struct judge *judge)
{
	const struct exec_record *first = &judge->world->records[0];
	int64_t nodes = number(first, "job.nodes");

	if (nodes > judge->world->nnodes)
		found(judge, NODES_IDLE, "",
		      "the job has %" PRId64 " nodes, and this step %" PRIu32, nodes,
		      judge->world->nnodes);
	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		int64_t asked = number(judge->nodes[i], "gpus.asked");
		int64_t got = number(judge->nodes[i], "gpus.step");

		if (asked > got && is_told_what_was_asked(judge, judge->nodes[i]))
			found(judge, GPU_FEWER, node_of(judge->nodes[i]),
			      "the job asked for %" PRId64 " GPUs a node, and the step "
			      "has %" PRId64,
			      asked, got);
	}
}

/* ---- the way to rank 0 ---- */

static void find_port(struct judge *judge)
{
	const struct exec_record *first = &judge->world->records[0];
	const char *held = exec_record_get(first, "port.held");

	if (held)
		found(judge, PORT_HELD, node_of(first), "%s", held);
}

static bool has_loopback(const char *addresses)
{
	return strncmp(addresses, "127.", 4) == 0 || strcmp(addresses, "::1") == 0 ||
	       strncmp(addresses, "::1,", 4) == 0;
}

/* What the result of a connection is as a rule. */
static const struct {
	const char *name;
	enum id id;
	const char *says; /* of the pair in a mesh */
	const char *text;
} results[] = {
	{"refused", REFUSED, "refused", "refuses the connection"},
	{"unreachable", UNREACHABLE, "no route", "cannot be reached from here"},
	{"filtered", FILTERED, "no answer", "does not answer"},
	{"other", OTHER_PROGRAM, "another program",
	 "answers, but it is no rank of this step"},
	{"silent", SILENT, "taken, but no answer",
	 "takes connections, but does not answer"},
	{"small-only", LARGE_MESSAGES, "large messages are lost",
	 "can be reached, but larger messages are lost"},
	{"no-address", NOT_TESTED, "no address of it is known", "has told no address"},
	{"failed", NOT_TESTED, "not tested", "could not be tried"},
};

#define RESULTS_COUNT (sizeof(results) / sizeof(*results))

static bool is_reached(const struct exec_record *node)
{
	return strcmp(exec_record_text(node, "reach"), "reached") == 0;
}

/* The way of NODE to rank 0, which has come to RESULT. */
static void found_way(struct judge *judge, const struct exec_record *node, size_t result)
{
	const char *address = exec_record_text(node, "reach.address");
	const char *why = exec_record_text(node, "reach.error");

	const struct exec_record *first = &judge->world->records[0];
	char where[320] = "where rank 0 listens on";

	if (exec_record_get(first, "addr.set"))
		snprintf(where, sizeof(where),
			 "which MASTER_ADDR says while rank 0 is on %s,", node_of(first));
	/* Not even an address is there when nobody could be asked for it. */
	found(judge, results[result].id, node_of(node), "%s%s%s%s, %s port %s, %s%s%s%s",
	      judge->world->addr, *address ? " (" : "", address, *address ? ")" : "",
	      where, exec_record_text(node, "reach.port"), results[result].text,
	      *why ? " (" : "", why, *why ? ")" : "");
}

static bool has_own(const struct judge *judge, const struct exec_record *task,
		    const char *key)
{
	const struct exec_record *first = &judge->world->records[0];

	return first->count &&
	       strcmp(exec_record_text(task, key), exec_record_text(first, key)) != 0;
}

/* What the ranks must have in common, and would not have. */
static void find_own(struct judge *judge)
{
	enum { ADDR, PORT, LAUNCHER };
	static const struct {
		const char *key, *what;
	} shared[] = {
		[ADDR] = {"addr", "MASTER_ADDR"},
		[PORT] = {"port", "MASTER_PORT"},
		[LAUNCHER] = {"launcher", "the launcher"},
	};
	const struct exec_record *first = &judge->world->records[0];

	for (uint32_t i = 0; i < judge->tasks_count; i++) {
		const struct exec_record *task = judge->tasks[i];

		for (size_t key = 0; key < sizeof(shared) / sizeof(*shared); key++) {
			const char *own = exec_record_text(task, shared[key].key);
			const char *other = exec_record_text(first, shared[key].key);

			/* Components may have launchers of their own. */
			if (key == LAUNCHER && !is_peer(judge, task, first))
				continue;
			if (has_own(judge, task, shared[key].key))
				found(judge, RANKS_DIFFER, node_of(task),
				      "%s is %s there, and %s on rank 0",
				      shared[key].what, *own ? own : "not set",
				      *other ? other : "not set");
		}
	}
}

static void find_reach(struct judge *judge)
{
	const struct exec_world *world = judge->world;

	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		const struct exec_record *node = judge->nodes[i];
		const char *addresses = exec_record_text(node, "master.addresses");
		const char *error = exec_record_get(node, "master.error");
		const char *reach = exec_record_text(node, "reach");

		if (has_own(judge, node, "addr"))
			continue;
		if (error) {
			found(judge, ADDRESS_UNRESOLVED, node_of(node),
			      "%s does not resolve: %s", world->addr, error);
			continue;
		}
		/* Of several addresses, programs go on to the next. */
		if (has_loopback(addresses) && !is_head(node) &&
		    (!is_reached(node) ||
		     has_loopback(exec_record_text(node, "reach.address")))) {
			found(judge, ADDRESS_LOOPBACK, node_of(node),
			      "%s is %.*s there, the node itself", world->addr,
			      (int)strcspn(addresses, ","), addresses);
			continue;
		}
		for (size_t result = 0; result < RESULTS_COUNT; result++) {
			if (strcmp(reach, results[result].name) != 0)
				continue;
			found_way(judge, node, result);
		}
	}
}

const struct exec_rule *exec_rule_of_way(const struct exec_record *record, bool at_head)
{
	const char *reach = exec_record_text(record, "reach");
	enum id id = NOT_TESTED;

	if (exec_record_get(record, "master.error"))
		return &exec_rules[ADDRESS_UNRESOLVED];
	if (has_loopback(exec_record_text(record, "master.addresses")) && !at_head)
		return &exec_rules[ADDRESS_LOOPBACK];
	/* And yet the record has not come there. */
	if (is_reached(record))
		return &exec_rules[LARGE_MESSAGES];
	for (size_t i = 0; i < RESULTS_COUNT; i++) {
		if (strcmp(reach, results[i].name) == 0)
			id = results[i].id;
	}
	return &exec_rules[id];
}

/*
 * Resolvers sort a name's addresses by the networks of the host that asks, and may leave
 * out those of a family that it has not: one that both have will do.
 */
static void find_address(struct judge *judge)
{
	const struct exec_record *reference = NULL;

	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		const struct exec_record *node = judge->nodes[i];
		const char *addresses = exec_record_text(node, "master.addresses");
		const char *expected;
		char both[64];

		if (!*addresses || has_loopback(addresses) ||
		    has_own(judge, node, "addr"))
			continue;
		if (!reference)
			reference = node;
		expected = exec_record_text(reference, "master.addresses");
		common(addresses, expected, both, sizeof(both));
		if (!*both)
			found(judge, ADDRESS_DIFFERS, node_of(node),
			      "%s is %s there, and %s on %s", judge->world->addr,
			      addresses, expected, node_of(reference));
	}
}

/* What bsearch(3) looks for. */
struct name {
	const char *text;
	size_t length;
};

static int is_name(const void *key, const void *entry)
{
	const struct name *name = key;
	const char *node = node_of(*(const struct exec_record *const *)entry);
	int order = strncmp(name->text, node, name->length);

	return order ? order : -(node[name->length] != '\0');
}

static const struct exec_record *find_node(const struct judge *judge, const char *name,
					   size_t length)
{
	const struct name key = {name, length};
	const struct exec_record *const *node = bsearch(
		&key, judge->named, judge->nodes_count, sizeof(*judge->named), is_name);

	return node ? *node : NULL;
}

/*
 * A node that does not even reach rank 0's has said so, as one that has no address; and
 * one that has not reported is among the missing.
 */
static bool is_told(const struct judge *judge, const struct exec_record *node,
		    const struct exec_record *other)
{
	if (!other)
		return judge->missing > 0;
	return !exec_record_get(other, "listen") ||
	       (is_head(node) && !is_reached(other)) ||
	       (is_head(other) && !is_reached(node));
}

/* Of "node3 filtered", which is LENGTH long, in words. */
static const char *result_of(const char *entry, size_t length)
{
	size_t name = strcspn(entry, " ,") + 1;

	for (size_t result = 0; result < RESULTS_COUNT; result++) {
		const char *word = results[result].name;

		if (name + strlen(word) == length &&
		    strncmp(entry + name, word, strlen(word)) == 0)
			return results[result].says;
	}
	return "?";
}

static void find_mesh(struct judge *judge)
{
	uint32_t failed = 0, pairs = 0, all = 0;
	char list[512] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		const struct exec_record *node = judge->nodes[i];
		const char *next = exec_record_text(node, "mesh.failed");

		pairs += (uint32_t)number(node, "mesh.pairs");
		/* "node3 filtered,node4 refused" */
		while (*next) {
			size_t length = strcspn(next, ","), name = strcspn(next, " ,");

			all++;
			if (!is_told(judge, node, find_node(judge, next, name)) &&
			    failed++ < NAMES_SHOWN && used < sizeof(list))
				used += (size_t)snprintf(list + used, sizeof(list) - used,
							 "%s%s to %.*s (%s)",
							 used ? ", " : "", node_of(node),
							 (int)name, next,
							 result_of(next, length));
			next += length + (next[length] == ',');
		}
		if (judge->world->meshed && judge->world->nnodes > 1 &&
		    !exec_record_get(node, "listen"))
			found(judge, NOT_TESTED, node_of(node),
			      "no other node has tried to come here: there is no address "
			      "but of the loopback interface or of one link");
	}
	judge->joined = judge->world->meshed && pairs && !all;
	if (failed)
		found(judge, MESH, "",
		      "%" PRIu32 " of %" PRIu32 " connections between nodes fail: %s%s",
		      failed, pairs, list, failed > NAMES_SHOWN ? ", ..." : "");
}

/* ---- interfaces and names ---- */

/* The value of "PREFIX.WHAT"; NULL: there is none. */
static const char *of_choice(const struct exec_record *node, const char *prefix,
			     const char *what)
{
	char key[32];

	snprintf(key, sizeof(key), "%s.%s", prefix, what);
	return exec_record_get(node, key);
}

/* The ways to rank 0 and, with PMIx, by one interface between all nodes were tried. */
static bool is_tried(const struct judge *judge, const struct exec_record *node,
		     const char *interface)
{
	return judge->world->nnodes < 2 ||
	       (judge->joined &&
		strcmp(exec_record_text(node, "listen.interface"), interface) == 0);
}

static void find_interface(struct judge *judge, const struct exec_record *node,
			   const char *variable, const char *prefix)
{
	const char *list = of_choice(node, prefix, "list");
	const char *state = of_choice(node, prefix, "state");
	const char *missing = of_choice(node, prefix, "missing");
	const char *interface = of_choice(node, prefix, "interface");

	if (!list || !state)
		return;
	if (strcmp(state, "missing") == 0 && missing)
		found(judge, INTERFACE_MISSING, node_of(node),
		      "%s=%s: %s is no interface of this node: it has %s", variable, list,
		      missing, exec_record_text(node, "interfaces"));
	else if (strcmp(state, "missing") == 0)
		found(judge, INTERFACE_MISSING, node_of(node),
		      "%s=%s takes no interface of this node: it has %s", variable, list,
		      exec_record_text(node, "interfaces"));
	else if (strcmp(state, "loopback") == 0 && judge->world->nnodes > 1)
		found(judge, INTERFACE_LOOPBACK, node_of(node),
		      "%s=%s takes the loopback interface", variable, list);
	else if (strcmp(state, "other") == 0 && interface &&
		 !is_tried(judge, node, interface))
		found(judge, INTERFACE_OTHER, node_of(node),
		      "%s=%s takes %s, and %s leads to rank 0", variable, list, interface,
		      exec_record_text(node, "interface"));
}

static void find_interfaces(struct judge *judge)
{
	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		const struct exec_record *node = judge->nodes[i];
		const char *own = exec_record_text(node, "host.own");
		const char *error = exec_record_get(node, "host.error");

		find_interface(judge, node, "NCCL_SOCKET_IFNAME", "nccl");
		find_interface(judge, node, "GLOO_SOCKET_IFNAME", "gloo");
		if (judge->world->nnodes < 2 || exec_record_get(node, "gloo.list"))
			continue;
		if (error)
			found(judge, HOSTNAME_LOOPBACK, node_of(node),
			      "the host's own name %s does not lead to it (%s), and Gloo "
			      "then takes the loopback interface",
			      exec_record_text(node, "host.name"), error);
		else if (has_loopback(own))
			found(judge, HOSTNAME_LOOPBACK, node_of(node),
			      "the host's own name %s is %s",
			      exec_record_text(node, "host.name"), own);
	}
}

static int by_number(const void *a, const void *b)
{
	const int64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* What half of the nodes, of two nodes the faster one, send at least; 0: not known. */
static int64_t usual_rate(const struct judge *judge)
{
	int64_t *rates = calloc(judge->nodes_count + 1, sizeof(*rates)), usual = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; rates && i < judge->nodes_count; i++) {
		rates[count] = number(judge->nodes[i], "load.rate");
		count += rates[count] > 0;
	}
	if (count) {
		qsort(rates, count, sizeof(*rates), by_number);
		usual = rates[count / 2];
	}
	free(rates);
	return usual;
}

static void find_slow_links(struct judge *judge)
{
	const int64_t usual = usual_rate(judge);

	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		const struct exec_record *node = judge->nodes[i];
		int64_t rate = number(node, "load.rate");

		if (rate > 0 && rate < usual / SLOW_FACTOR)
			found(judge, SLOW_LINK, node_of(node),
			      "%.2f Gbit/s go to %s, and half of the nodes send %.2f or "
			      "more",
			      (double)rate * 8 / 1e9, exec_record_text(node, "load.node"),
			      (double)usual * 8 / 1e9);
	}
}

static void find_skew(struct judge *judge)
{
	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		const struct exec_record *node = judge->nodes[i];
		double ahead = (double)number(node, "ahead");
		/* What the round trip leaves open is no skew. */
		double skew = (ahead < 0 ? -ahead : ahead) -
			      (double)number(node, "round_trip") / 2;

		if (is_reached(node) && skew > (double)SKEW_MAX)
			found(judge, CLOCK_SKEW, node_of(node),
			      "the clock is %.1f s %s rank 0's", skew / 1e9,
			      ahead > 0 ? "behind" : "before");
	}
}

/* ---- GPUs ---- */

/* The tasks FIRST..LAST of one node; those that are missing may well have the GPUs that
 * none of these has. */
static void find_sharing(struct judge *judge, uint32_t first, uint32_t last)
{
	const struct exec_record *one = judge->tasks[first];
	int64_t total = number(one, "gpus.step");
	uint32_t shared = 0, used = 0;
	char name[128], example[256] = "";
	int64_t tasks = 0;

	if (strcmp(exec_record_text(one, "shape"), "worker") != 0)
		return;
	for (uint32_t i = first; i < last; i++) {
		const char *own = exec_record_text(judge->tasks[i], "own");
		bool again = false;

		tasks += number(judge->tasks[i], "local_size");
		for (const char *c = own; *c; c++)
			used += *c == ',';
		used += *own != '\0';
		for (uint32_t other = first; other < i && !again; other++) {
			common(own, exec_record_text(judge->tasks[other], "own"), name,
			       sizeof(name));
			again = *name;
			if (again && !*example)
				snprintf(example, sizeof(example),
					 "ranks %" PRId64 " and %" PRId64 " both have %s",
					 number(judge->tasks[other], "rank"),
					 number(judge->tasks[i], "rank"), name);
		}
		shared += again;
	}
	if (shared)
		found(judge, GPU_SHARED, node_of(one),
		      "%" PRIu32 " of %" PRIu32 " tasks share the GPU of another: %s",
		      shared, last - first, example);
	else if (used && used < total && tasks == last - first)
		found(judge, GPU_IDLE, node_of(one),
		      "%" PRIu32 " of %" PRId64 " GPUs have a rank", used, total);
}

static void find_devices(struct judge *judge, uint32_t first, uint32_t last)
{
	char place[320];
	bool some = false;

	for (uint32_t i = first; i < last; i++)
		some |= number(judge->tasks[i], "gpus") > 0;
	for (uint32_t i = first; i < last; i++) {
		const struct exec_record *task = judge->tasks[i];
		const char *missing = exec_record_get(task, "gpus.missing");
		const char *denied = exec_record_get(task, "gpus.denied");

		name_task(task, place, sizeof(place));
		if (missing)
			found(judge, GPU_MISSING, node_of(task),
			      "Slurm has given the task %s, and there is no %s",
			      exec_record_text(task, "gpus.list"), missing);
		if (denied)
			found(judge, GPU_DENIED, node_of(task), "no access to %s",
			      denied);
		if (some && number(task, "gpus") == 0)
			found(judge, GPU_NONE, place,
			      "no GPU, where other ranks have some");
	}
}

static void find_gpus(struct judge *judge)
{
	for_each_part(judge, find_devices);
	for_each_node(judge, find_sharing);
}

/* ---- CPUs, memory, limits ---- */

/*
 * CPUs for each task of the node FIRST..LAST, which may have them together, as where
 * Slurm does not bind tasks. One that is missing has those of the others. 0: how many are
 * missing is not known.
 */
static void find_shares(struct judge *judge, uint32_t first, uint32_t last)
{
	int64_t tasks = 0;

	for (uint32_t i = first; i < last; i++)
		tasks += number(judge->tasks[i], "local_size");
	for (uint32_t i = first; i < last && tasks > 0; i++) {
		const char *cpus = exec_record_text(judge->tasks[i], "cpus");
		double together = 0;

		if (tasks > last - first)
			together = (double)tasks - (double)(last - first);
		for (uint32_t other = first; other < last; other++)
			together += strcmp(exec_record_text(judge->tasks[other], "cpus"),
					   cpus) == 0;
		judge->shares[i] = (double)number(judge->tasks[i], "ncpus") / together;
	}
}

/* The tasks FIRST..LAST of one component. */
static void find_cpus_of(struct judge *judge, uint32_t first, uint32_t last)
{
	double largest = 0;
	int64_t most = 0;
	char place[320];

	for (uint32_t i = first; i < last; i++) {
		if (number(judge->tasks[i], "ncpus") > most)
			most = number(judge->tasks[i], "ncpus");
		if (judge->shares[i] > largest)
			largest = judge->shares[i];
	}
	for (uint32_t i = first; i < last; i++) {
		const struct exec_record *task = judge->tasks[i];
		int64_t has = number(task, "ncpus"), asked = number(task, "cpus.asked");
		double share = judge->shares[i];

		if (has <= 0)
			continue;
		name_task(task, place, sizeof(place));
		if (has < asked && is_told_what_was_asked(judge, task))
			found(judge, CPUS_FEW, place,
			      "may run on %" PRId64 " CPU%s (%s), and %" PRId64
			      " were asked for it",
			      has, has > 1 ? "s" : "", exec_record_text(task, "cpus"),
			      asked);
		else if (has < most && share > 0 && share < largest)
			found(judge, CPUS_UNEVEN, place,
			      "may run on %" PRId64 " CPU%s (%s), and others on %" PRId64,
			      has, has > 1 ? "s" : "", exec_record_text(task, "cpus"),
			      most);
	}
}

static void find_cpus(struct judge *judge)
{
	for_each_node(judge, find_shares);
	for_each_part(judge, find_cpus_of);
}

static void find_binding(struct judge *judge)
{
	char line[512];

	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		const char *text = exec_record_text(judge->nodes[i], "binding");

		while (*text) {
			first_line(text, line, sizeof(line));
			found(judge, BINDING, node_of(judge->nodes[i]), "%s", line);
			text += strcspn(text, "\n");
			text += *text == '\n';
		}
	}
}

/* Firmware and crash kernels take more or less of equal nodes. */
static bool is_less(double has, double most)
{
	return has < most - most / 10;
}

/* Bytes for each task of the node; asked for by CPU or by task, they may be all there. */
static double memory_per_task(const struct exec_record *node)
{
	int64_t tasks = number(node, "local_size");

	return (double)number(node, "memory") / (double)(tasks > 0 ? tasks : 1);
}

/* The nodes FIRST..LAST of one component. */
static void find_memory_of(struct judge *judge, uint32_t first, uint32_t last)
{
	const struct exec_record *largest = judge->peers[first];

	for (uint32_t i = first; i < last; i++) {
		if (number(judge->peers[i], "memory") > number(largest, "memory"))
			largest = judge->peers[i];
	}
	for (uint32_t i = first; i < last; i++) {
		const struct exec_record *node = judge->peers[i];
		int64_t has = number(node, "memory"), most = number(largest, "memory");

		if (has > 0 && is_less((double)has, (double)most) &&
		    is_less(memory_per_task(node), memory_per_task(largest)))
			found(judge, MEMORY_DIFFERS, node_of(node),
			      "%" PRId64 " MiB of memory for the job, and %" PRId64
			      " MiB on %s",
			      has / MIB, most / MIB, node_of(largest));
	}
}

static void find_memory(struct judge *judge)
{
	for (uint32_t first = 0, last; first < judge->nodes_count; first = last) {
		last = end_of_part(judge, judge->peers, judge->nodes_count, first);
		find_memory_of(judge, first, last);
	}
}

static void find_limits(struct judge *judge)
{
	const struct exec_world *world = judge->world;

	for (uint32_t i = 0; i < judge->tasks_count; i++) {
		const struct exec_record *task = judge->tasks[i];
		int64_t memlock = number(task, "memlock"), files = number(task, "nofile");
		char place[320];

		name_task(task, place, sizeof(place));
		/* -1: no limit */
		if (exec_record_get(task, "infiniband") &&
		    !exec_record_get(task, "infiniband.refused") && memlock >= 0 &&
		    memlock < MEMLOCK_LITTLE)
			found(judge, MEMLOCK_LOW, node_of(task),
			      "no more than %" PRId64 " KiB of memory can be locked, and "
			      "there is InfiniBand (%s)",
			      memlock / 1024, exec_record_text(task, "infiniband"));
		if (files >= 0 && number(task, "rank") == 0 &&
		    files < (int64_t)world->ntasks + FILES_OWN)
			found(judge, FILES_LOW, place,
			      "may open %" PRId64 " files, and has a connection to "
			      "each of %" PRIu32 " ranks",
			      files, world->ntasks);
		else if (files > 0 && files < FILES_LITTLE)
			found(judge, FILES_LOW, node_of(task),
			      "a task may open %" PRId64 " files", files);
	}
}

/* Those that a launcher will start count, and not it. */
static int64_t workers_of(const struct exec_record *node)
{
	int64_t tasks = number(node, "local_size"), gpus = number(node, "gpus");

	return strcmp(exec_record_text(node, "shape"), "node") == 0 && gpus > tasks
		       ? gpus
		       : tasks;
}

static void find_shm(struct judge *judge)
{
	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		const struct exec_record *node = judge->nodes[i];
		int64_t free_bytes = number(node, "shm.free");
		int64_t workers = workers_of(node);

		if (!exec_record_get(node, "shm.free"))
			continue;
		if (free_bytes / SHM_LITTLE >= workers)
			continue;
		found(judge, free_bytes / SHM_NONE < workers ? SHM_SMALL : SHM_LOW,
		      node_of(node),
		      "/dev/shm has %" PRId64 " of %" PRId64 " MiB free, for %" PRId64
		      " rank%s",
		      free_bytes / MIB, number(node, "shm.size") / MIB, workers,
		      workers > 1 ? "s" : "");
	}
}

/* ---- what should be the same on all nodes ---- */

static const struct {
	const char *key;
	enum id id;
	const char *what;
	bool of_gpus; /* of no concern to nodes that have given none */
} sames[] = {
	{"gpus.step", GPU_COUNT_DIFFERS, "number of GPUs", false},
	{"models", GPU_MODEL_DIFFERS, "GPU", true},
	{"driver", DRIVER_DIFFERS, "GPU driver", true},
	{"limits", LIMITS_DIFFER, "limits", false},
	{"kernel", KERNEL_DIFFERS, "kernel", false},
	{"libc", LIBC_DIFFERS, "C library", false},
	{"system", SYSTEM_DIFFERS, "system", false},
	{"container", CONTAINER_DIFFERS, "container", false},
};

/* What one node says, in a list of those that are compared. */
struct saying {
	const char *value;
	const struct exec_record *node;
};

static int by_value(const void *a, const void *b)
{
	const struct saying *one = a, *other = b;
	int order = strcmp(one->value, other->value);

	return order ? order : by_rank(one->node, other->node);
}

/* What most say; of equally many, what the node of the lowest rank says. */
static struct saying find_usual(const struct saying *sayings, uint32_t count)
{
	struct saying usual = sayings[0];
	uint32_t most = 0;

	for (uint32_t first = 0, last; first < count; first = last) {
		last = first + 1;
		while (last < count &&
		       strcmp(sayings[last].value, sayings[first].value) == 0)
			last++;
		if (last - first < most || (last - first == most &&
					    by_rank(sayings[first].node, usual.node) > 0))
			continue;
		most = last - first;
		usual = sayings[first];
	}
	return usual;
}

/* Where each task has as many, the nodes differ as their tasks do. */
static bool is_by_task(enum id id, const struct exec_record *one,
		       const struct exec_record *other)
{
	return id == GPU_COUNT_DIFFERS &&
	       (double)number(one, "gpus.step") * (double)number(other, "local_size") ==
		       (double)number(other, "gpus.step") *
			       (double)number(one, "local_size");
}

/* The nodes FIRST..LAST of one component; SAYINGS has room for them. */
static void find_different_of(struct judge *judge, size_t same, uint32_t first,
			      uint32_t last, struct saying *sayings)
{
	struct saying usual;
	uint32_t count = 0;

	for (uint32_t i = first; i < last; i++) {
		const struct exec_record *node = judge->peers[i];

		if (sames[same].of_gpus && number(node, "gpus") == 0)
			continue;
		sayings[count].value = exec_record_text(node, sames[same].key);
		sayings[count++].node = node;
	}
	if (!count)
		return;
	qsort(sayings, count, sizeof(*sayings), by_value);
	usual = find_usual(sayings, count);
	for (uint32_t i = 0; i < count; i++) {
		const char *value = sayings[i].value;

		if (strcmp(value, usual.value) != 0 &&
		    !is_by_task(sames[same].id, sayings[i].node, usual.node))
			found(judge, sames[same].id, node_of(sayings[i].node),
			      "%s: %s, and %s on %s", sames[same].what,
			      *value ? value : "none",
			      *usual.value ? usual.value : "none", node_of(usual.node));
	}
}

static void find_different(struct judge *judge)
{
	struct saying *sayings = calloc(judge->nodes_count, sizeof(*sayings));

	if (!sayings) {
		judge->verdict->lost = true;
		judge->verdict->errors++;
		return;
	}
	for (size_t same = 0; same < sizeof(sames) / sizeof(*sames); same++) {
		for (uint32_t first = 0, last; first < judge->nodes_count; first = last) {
			last = end_of_part(judge, judge->peers, judge->nodes_count,
					   first);
			find_different_of(judge, same, first, last, sayings);
		}
	}
	free(sayings);
}

/* Why a tree is not known, by the first character: see exec_digest_text(). */
static void find_unread(struct judge *judge, const struct exec_record *node,
			const char *path, const char *value)
{
	static const struct {
		char mark;
		enum id id;
		const char *verb;
	} marks[] = {
		{'!', TREE_UNREADABLE, ""},
		{'#', TREE_FORBIDDEN, ""},
		{'~', TREE_STALLED, ""},
		{'-', NOT_TESTED, " was not compared"},
		{'?', TREE_LARGE, " was not compared"},
		{'*', TREE_CHANGING, " was not compared"},
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		if (*value == marks[i].mark)
			found(judge, marks[i].id, node_of(node), "%s%s: %s", path,
			      marks[i].verb, value + 1);
	}
}

/* Whether NODE was told to read the trees that rank 0's was. */
static bool has_same_trees(const struct judge *judge, const struct exec_record *node)
{
	return strcmp(exec_record_text(node, "trees"),
		      exec_record_text(judge->nodes[0], "trees")) == 0;
}

/* Behind the hash; see exec_digest_list(). */
static const char *names_of(const struct exec_record *node)
{
	const char *list = exec_record_text(node, "trees");
	const char *names = strchr(list, ' ');

	return names ? names + 1 : "none";
}

static void find_other_trees(struct judge *judge)
{
	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		if (!has_same_trees(judge, judge->nodes[i]))
			found(judge, TREES_OTHER, node_of(judge->nodes[i]),
			      "was to read %s, and %s %s, so these were not compared",
			      names_of(judge->nodes[i]), node_of(judge->nodes[0]),
			      names_of(judge->nodes[0]));
	}
}

static void find_tree(struct judge *judge, uint32_t tree)
{
	const struct exec_world *world = judge->world;
	const char *path = world->trees[tree];
	const char *expected, *difference, *compared = NULL;
	char key[32];

	difference = world->differences ? world->differences[tree] : NULL;
	snprintf(key, sizeof(key), "tree.%" PRIu32, tree);
	expected = exec_record_text(judge->nodes[0], key);
	for (uint32_t i = 0; i < judge->nodes_count; i++) {
		const struct exec_record *node = judge->nodes[i];
		const char *value = exec_record_text(node, key);

		if (!has_same_trees(judge, node))
			continue;
		find_unread(judge, node, path, value);
		if (!exec_digest_is(expected) || !exec_digest_is(value) ||
		    strcmp(value, expected) == 0)
			continue;
		/* The files are those of the first node that differs. */
		if (!compared)
			compared = value;
		if (difference && *difference && strcmp(value, compared) == 0)
			found(judge, TREE_DIFFERS, node_of(node),
			      "%s is not what it is on %s: %s", path,
			      node_of(judge->nodes[0]), difference);
		else
			found(judge, TREE_DIFFERS, node_of(node),
			      "%s is not what it is on %s", path,
			      node_of(judge->nodes[0]));
	}
}

/* ---- all of it ---- */

/*
 * Of the tasks by component. A large step has several ports as well; where it might be
 * one of components all the same, its nodes are compared as one.
 */
static bool has_parts(const struct judge *judge)
{
	uint32_t ports = 0;
	int64_t last = 0;
	bool het = false;

	for (uint32_t i = 0; i < judge->tasks_count; i++) {
		int64_t part = part_of(judge->tasks[i]);

		het |= exec_record_get(judge->tasks[i], "het") != NULL;
		ports += part > 0 && part != last;
		last = part;
	}
	return het ||
	       ports > (judge->world->nnodes + NODES_PER_PORT - 1) / NODES_PER_PORT;
}

static void sort_records(struct judge *judge)
{
	const struct exec_world *world = judge->world;
	size_t size = sizeof(*judge->tasks);

	for (uint32_t rank = 0; rank < world->ntasks; rank++) {
		const struct exec_record *record = &world->records[rank];

		if (!record->count)
			continue;
		judge->tasks[judge->tasks_count++] = record;
		if (exec_record_get(record, "leader"))
			judge->nodes[judge->nodes_count++] = record;
	}
	qsort(judge->tasks, judge->tasks_count, size, by_part_and_name);
	judge->parts = has_parts(judge);
	memcpy(judge->peers, judge->nodes, judge->nodes_count * size);
	if (judge->parts)
		qsort(judge->peers, judge->nodes_count, size, by_part);
	else
		qsort(judge->tasks, judge->tasks_count, size, by_name);
	memcpy(judge->named, judge->nodes, judge->nodes_count * size);
	qsort(judge->named, judge->nodes_count, size, by_name);
}

/* Errors first; then by rule, and as they were found. */
static int by_severity(const void *a, const void *b)
{
	const struct exec_finding *one = a, *other = b;

	if (one->rule->severity != other->rule->severity)
		return one->rule->severity == EXEC_ERROR ? -1 : 1;
	if (one->rule != other->rule)
		return one->rule < other->rule ? -1 : 1;
	return strcmp(one->text, other->text);
}

void exec_judge(struct exec_verdict *verdict, const struct exec_world *world)
{
	static void (*const rules[])(struct judge * judge) = {
		find_missing,    find_step,       find_identities, find_own,
		find_port,       find_reach,      find_address,    find_mesh,
		find_slow_links, find_interfaces, find_skew,       find_gpus,
		find_cpus,       find_binding,    find_memory,     find_limits,
		find_shm,
	};
	struct judge judge = {.verdict = verdict, .world = world};

	judge.tasks = calloc(world->ntasks, sizeof(*judge.tasks));
	judge.nodes = calloc(world->ntasks, sizeof(*judge.nodes));
	judge.shares = calloc(world->ntasks, sizeof(*judge.shares));
	judge.peers = calloc(world->ntasks, sizeof(*judge.peers));
	judge.named = calloc(world->ntasks, sizeof(*judge.named));
	if (!judge.tasks || !judge.shares || !judge.nodes || !judge.peers ||
	    !judge.named) {
		verdict->lost = true;
		verdict->errors++;
	} else {
		sort_records(&judge);
		for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
			rules[i](&judge);
		if (judge.nodes_count) {
			find_different(&judge);
			find_other_trees(&judge);
			for (uint32_t tree = 0; tree < world->trees_count; tree++)
				find_tree(&judge, tree);
		}
	}
	if (verdict->count)
		qsort(verdict->findings, verdict->count, sizeof(*verdict->findings),
		      by_severity);
	free(judge.tasks);
	free(judge.shares);
	free(judge.nodes);
	free(judge.peers);
	free(judge.named);
	free(judge.table);
}
