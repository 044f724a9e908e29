/* SPDX-License-Identifier: MIT */
/*
 * Reading of /proc, /sys, /dev and limits. What cannot be read is left out of the record,
 * and no rule is then about it.
 */
#include "spank/exec/probe.h"

#include "spank/exec/record.h"
#include "spank/launch/cards.h"
#include "spank/launch/cpuset.h"
#include "spank/launch/gpus.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Room for what is known of 64 GPUs, in a few words each. */
#define LIST_MAX 4096

/* No machine has as much: cgroups say "no limit" with a number that large. */
#define MEMORY_MAX (INT64_C(1) << 60)

/*
 * No task has as many. The kernel's own limit follows the size of memory (fork_init() in
 * Linux's kernel/fork.c), of which equal nodes have a little more or less.
 */
#define PROCESSES_MANY 8192

/* ---- the system ---- */

/* A number in a variable of Slurm's; 0: there is none. */
static uint32_t read_number(const char *name)
{
	const char *text = getenv(name);

	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

static void put_system(const struct exec_probe *probe, FILE *out)
{
	char text[LAUNCH_TREE_TEXT_MAX], libc[64];
	struct utsname name;
	char *line, *next = text;

	if (uname(&name) == 0)
		exec_record_put(out, "kernel", "%s %s", name.release, name.machine);
	if (confstr(_CS_GNU_LIBC_VERSION, libc, sizeof(libc)))
		exec_record_put(out, "libc", "%s", libc);
	/* os-release(5) */
	if (launch_tree_read(probe->tree, text, sizeof(text), "/etc/os-release"))
		return;
	while ((line = strsep(&next, "\n"))) {
		if (strncmp(line, "PRETTY_NAME=", 12) != 0)
			continue;
		line += 12;
		line += *line == '"';
		exec_record_put(out, "system", "%.*s", (int)strcspn(line, "\""), line);
		return;
	}
}

/* The name of the image, where the runtime tells it. */
static void put_container(const struct exec_probe *probe, FILE *out)
{
	static const struct {
		const char *variable, *runtime;
	} variables[] = {
		{"APPTAINER_NAME", "apptainer"},
		{"SINGULARITY_NAME", "singularity"},
		{"SHIFTER_IMAGEREQUEST", "shifter"},
		{"PYXIS_CONTAINER_NAME", "pyxis"},
		{"ENROOT_ROOTFS", "enroot"},
		/* systemd's convention, which podman and lxc keep: systemd(1). */
		{"container", "container"},
	};
	static const struct {
		const char *file, *runtime;
	} files[] = {{"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = getenv(variables[i].variable);

		if (!value || !*value)
			continue;
		/* A folder of the node (ENROOT_ROOTFS, a sandbox): its name will do. */
		if (*value == '/')
			value = strrchr(value, '/') + 1;
		exec_record_put(out, "container", "%s %s", variables[i].runtime, value);
		return;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s%s", probe->tree->root, files[i].file);
		if (access(path, F_OK))
			continue;
		exec_record_put(out, "container", "%s", files[i].runtime);
		return;
	}
}

/* ---- memory and limits ---- */

/* The number in a file of a cgroup; MEMORY_MAX: no limit, or no such file. */
static int64_t read_limit(const struct launch_tree *tree, const char *mount,
			  const char *path, const char *file)
{
	char text[64], *end;
	int64_t value;

	if (launch_tree_read(tree, text, sizeof(text), "%s/fs/cgroup%s%s/%s", tree->sys,
			     mount, path, file))
		return MEMORY_MAX;
	/* "max" is no number. */
	value = strtoll(text, &end, 10);
	return end == text || value <= 0 || value > MEMORY_MAX ? MEMORY_MAX : value;
}

/* Of the cgroup and of those around it, each of which holds. */
static int64_t climb(const struct launch_tree *tree, const char *mount, char *path,
		     const char *file)
{
	int64_t least = MEMORY_MAX;

	for (;;) {
		int64_t limit = read_limit(tree, mount, path, file);
		char *slash = strrchr(path, '/');

		if (limit < least)
			least = limit;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* cgroups(7), /proc/pid/cgroup: "4:memory:/slurm/uid_0/job_1", "0::/system.slice". */
static int64_t read_cgroup(const struct launch_tree *tree)
{
	char text[LAUNCH_TREE_TEXT_MAX], *line, *next = text;
	int64_t least = MEMORY_MAX;

	if (launch_tree_read(tree, text, sizeof(text), "/proc/self/cgroup"))
		return MEMORY_MAX;
	while ((line = strsep(&next, "\n"))) {
		char *names = strchr(line, ':'),
		     *path = names ? strchr(names + 1, ':') : NULL;
		int64_t limit;

		if (!path)
			continue;
		*path++ = '\0';
		if (names[1] == '\0')
			limit = climb(tree, "", path, "memory.max");
		else if (strcmp(names, ":memory") == 0)
			limit = climb(tree, "/memory", path, "memory.limit_in_bytes");
		else
			continue;
		if (limit < least)
			least = limit;
	}
	return least;
}

/* What the job may use: the limit of its cgroup, or all that the node has. */
static void put_memory(const struct exec_probe *probe, FILE *out)
{
	int64_t limit = read_cgroup(probe->tree), total = 0;
	char text[LAUNCH_TREE_TEXT_MAX];
	const char *line;

	if (launch_tree_read(probe->tree, text, sizeof(text), "/proc/meminfo") == 0) {
		line = strstr(text, "MemTotal:");
		total = line ? strtoll(line + 9, NULL, 10) * 1024 : 0;
	}
	if (total > 0 && total < limit)
		limit = total;
	if (limit < MEMORY_MAX)
		exec_record_put(out, "memory", "%" PRId64, limit);
}

static void put_shm(const struct exec_probe *probe, FILE *out)
{
	struct statvfs status;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/dev/shm", probe->tree->root);
	if (statvfs(path, &status))
		return;
	exec_record_put(out, "shm.size", "%" PRIu64,
			(uint64_t)status.f_blocks * status.f_frsize);
	exec_record_put(out, "shm.free", "%" PRIu64,
			(uint64_t)status.f_bavail * status.f_frsize);
}

/* -1: no limit */
static int64_t read_rlimit(int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return -1;
	return limit.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)limit.rlim_cur;
}

static void show_limit(char *text, size_t size, int64_t limit)
{
	if (limit < 0)
		snprintf(text, size, "unlimited");
	else
		snprintf(text, size, "%" PRId64, limit);
}

static void put_limits(FILE *out)
{
	static const struct {
		const char *name;
		int resource;
	} limits[] = {
		{"open files", RLIMIT_NOFILE}, {"locked memory", RLIMIT_MEMLOCK},
		{"processes", RLIMIT_NPROC},   {"stack", RLIMIT_STACK},
		{"address space", RLIMIT_AS},
	};
	char text[256] = "", number[24];
	size_t used = 0;

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		int64_t limit = read_rlimit(limits[i].resource);

		show_limit(number, sizeof(number), limit);
		if (limits[i].resource == RLIMIT_NPROC && limit >= PROCESSES_MANY)
			snprintf(number, sizeof(number), "%d or more", PROCESSES_MANY);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
					 used ? ", " : "", limits[i].name, number);
	}
	exec_record_put(out, "limits", "%s", text);
}

/* ---- GPUs ---- */

/* A list in the making, its entries apart by commas. */
struct list {
	char text[LIST_MAX];
	size_t used;
	uint32_t count;
};

static void add(struct list *list, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct list *list, const char *format, ...)
{
	size_t left = sizeof(list->text) - list->used;
	va_list args;
	int length;

	list->count++;
	if (left < LAUNCH_GPU_NAME_MAX + 2)
		return;
	if (list->used)
		list->text[list->used++] = ',';
	va_start(args, format);
	length = vsnprintf(list->text + list->used, LAUNCH_GPU_NAME_MAX, format, args);
	va_end(args);
	if (length > 0)
		list->used += (size_t)length < LAUNCH_GPU_NAME_MAX
				      ? (size_t)length
				      : LAUNCH_GPU_NAME_MAX - 1;
}

static bool has(const struct list *list, const char *entry)
{
	size_t length = strlen(entry);

	for (const char *next = list->text; *next; next += *next == ',') {
		size_t here = strcspn(next, ",");

		if (here == length && strncmp(next, entry, length) == 0)
			return true;
		next += here;
	}
	return false;
}

/* The GPUs of the node as a program in this task counts them: those it may open. */
struct devices {
	const struct launch_tree *tree;
	struct launch_cards cards; /* by a driver; none: it is not loaded, or not known */
	struct list denied;        /* "/dev/nvidia3" */
	uint32_t count;
	char name[LAUNCH_GPUS_MAX][24]; /* bus address, or "nvidia3" */
	bool nvidia;                    /* there are device files /dev/nvidiaN */
	bool divided;                   /* MIG: the numbers in Slurm's list are others */
	uint32_t minors[LAUNCH_GPUS_MAX], minors_count; /* of /dev/nvidiaN, sorted */
};

static bool take_minor(const char *name, void *data)
{
	struct devices *devices = data;
	char *end;
	unsigned long minor;

	if (strncmp(name, "nvidia", 6) != 0 || !isdigit((unsigned char)name[6]))
		return true;
	minor = strtoul(name + 6, &end, 10);
	if (*end || minor > UINT16_MAX || devices->minors_count == LAUNCH_GPUS_MAX)
		return true;
	devices->minors[devices->minors_count++] = (uint32_t)minor;
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

static void read_devices(struct devices *devices, const struct launch_tree *tree)
{
	struct launch_cards *cards = &devices->cards;

	devices->tree = tree;
	launch_tree_list(tree, take_minor, devices, "/dev");
	qsort(devices->minors, devices->minors_count, sizeof(*devices->minors),
	      by_number);
	devices->nvidia = devices->minors_count > 0;
	launch_cards_nvidia(cards, tree);
	if (!cards->count)
		launch_cards_amd(cards, tree);
	if (!cards->count)
		launch_cards_intel(cards, tree);
	for (uint32_t i = 0; i < cards->count; i++) {
		devices->divided |= cards->card[i].divided;
		if (cards->card[i].denied)
			continue;
		snprintf(devices->name[devices->count++], sizeof(devices->name[0]), "%s",
			 cards->card[i].bus);
	}
	for (uint32_t i = 0; !cards->count && i < devices->minors_count; i++) {
		uint32_t minor = devices->minors[i];

		if (!launch_tree_denied(tree, "/dev/nvidia%" PRIu32, minor))
			snprintf(devices->name[devices->count++],
				 sizeof(devices->name[0]), "nvidia%" PRIu32, minor);
	}
}

/* What makes a token of the vendor's variable the same device in another task. */
static const char *identify(const struct devices *devices, const char *token)
{
	char *end;
	unsigned long index = strtoul(token, &end, 10);

	if (end != token && !*end)
		return index < devices->count && devices->name[index][0]
			       ? devices->name[index]
			       : token;
	for (uint32_t i = 0; i < devices->cards.count; i++) {
		const struct launch_card *card = &devices->cards.card[i];

		if (card->uuid[0] && strcmp(card->uuid, token) == 0 && card->bus[0])
			return card->bus;
	}
	return token;
}

/* Of the task's environment as it will be. */
static const char *value_of(const struct exec_probe *probe, const char *name)
{
	for (size_t i = probe->env->count; i-- > 0;) {
		if (strcmp(probe->env->list[i].name, name) == 0)
			return probe->env->list[i].value;
	}
	return getenv(name);
}

/*
 * The device of this rank: programs take the one at LOCAL_RANK, or, with fewer than that,
 * begin again. In the node shape all are the launcher's.
 */
static void find_own(const struct exec_probe *probe, const struct devices *devices,
		     char *list, struct list *own)
{
	const char *text = value_of(probe, "LOCAL_RANK");
	unsigned long index = text ? strtoul(text, NULL, 10) : probe->facts->local_rank;
	bool all = launch_shape(probe->facts, probe->settings) == LAUNCH_NODE;
	uint32_t count = 1, place = 0;
	char *token;

	for (const char *c = list; *c; c++)
		count += *c == ',';
	while ((token = strsep(&list, ","))) {
		if (*token && (all || place == index % count))
			add(own, "%s", identify(devices, token));
		place++;
	}
}

static void put_own(const struct exec_probe *probe, const struct devices *devices,
		    FILE *out)
{
	const char *list = NULL;
	struct list own = {0};
	char *copy;

	for (int i = 0; i < LAUNCH_GPU_VARIABLES && !list; i++) {
		if (probe->facts->gpu_variables & 1U << i)
			list = value_of(probe, launch_gpu_variables[i]);
	}
	if (!list || !*list)
		return;
	copy = strdup(list);
	if (!copy)
		return;
	find_own(probe, devices, copy, &own);
	free(copy);
	exec_record_put(out, "own", "%s", own.text);
}

/*
 * Device files that Slurm's list names and that are not there. The numbers of
 * SLURM_STEP_GPUS are those of the device files (gres.conf(5), File), unless GPUs are
 * divided.
 */
static void find_missing(const struct devices *devices, const char *step_gpus,
			 struct list *missing, struct list *denied)
{
	const char *next = step_gpus;

	while (isdigit((unsigned char)*next)) {
		char *end;
		unsigned long minor = strtoul(next, &end, 10);
		uint32_t key = (uint32_t)minor;

		if (*end && *end != ',')
			return;
		if (!bsearch(&key, devices->minors, devices->minors_count, sizeof(key),
			     by_number))
			add(missing, "/dev/nvidia%lu", minor);
		else if (launch_tree_denied(devices->tree, "/dev/nvidia%lu", minor))
			add(denied, "/dev/nvidia%lu", minor);
		next = end + (*end == ',');
	}
}

/* Below the tree's root: does it exist, and with all bits of MODE? */
static bool exists(const struct launch_tree *tree, const char *file, mode_t mode)
{
	struct stat status;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", tree->root, file);
	return stat(path, &status) == 0 && (status.st_mode & mode) == mode;
}

/*
 * What the runtimes open besides the GPU's own file. NVIDIA's make theirs when it is not
 * there, by a program with root's rights (nvidia-modprobe(1)), unless the container or
 * whoever started it gives no such rights.
 */
static void find_controls(const struct devices *devices, struct list *missing,
			  struct list *denied)
{
	static const struct {
		enum launch_vendor vendor;
		const char *file;
	} controls[] = {
		{LAUNCH_VENDOR_NVIDIA, "/dev/nvidiactl"},
		{LAUNCH_VENDOR_NVIDIA, "/dev/nvidia-uvm"},
		{LAUNCH_VENDOR_AMD, "/dev/kfd"},
	};
	const struct launch_tree *tree = devices->tree;
	bool made = exists(tree, "/usr/bin/nvidia-modprobe", S_ISUID) &&
		    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;

	for (size_t i = 0; i < sizeof(controls) / sizeof(*controls); i++) {
		enum launch_vendor vendor = controls[i].vendor;
		const char *file = controls[i].file;

		if (!devices->cards.count || devices->cards.card[0].vendor != vendor)
			continue;
		if (launch_tree_denied(tree, "%s", file))
			add(denied, "%s", file);
		else if (!exists(tree, file, 0) &&
			 !(made && vendor == LAUNCH_VENDOR_NVIDIA))
			add(missing, "%s", file);
	}
}

static uint32_t count_of(const char *list)
{
	uint32_t count = *list != '\0';

	for (; *list; list++)
		count += *list == ',';
	return count;
}

static void put_gpus(const struct exec_probe *probe, FILE *out)
{
	const struct launch_facts *facts = probe->facts;
	const char *step_gpus = getenv("SLURM_STEP_GPUS");
	struct list missing = {0}, denied = {0};
	uint32_t count = launch_facts_ngpus(facts);
	uint32_t total = read_number("SLURM_GPUS_ON_NODE");
	struct devices *devices = calloc(1, sizeof(*devices));

	if (!devices)
		return;
	read_devices(devices, probe->tree);
	exec_record_put(out, "gpus", "%" PRIu32, count);
	if (count) {
		exec_record_put(out, "gpus.list", "%s", facts->gpus);
		if (!step_gpus)
			step_gpus = getenv("SLURM_JOB_GPUS");
		/* A task that Slurm has narrowed sees others than the step's, and all
		 * such tasks are told the first of these (SLURM_STEP_GPUS under
		 * --gpus-per-task and --gpu-bind; Slurm 22.05 to 26.05). */
		if (devices->nvidia && !devices->divided && step_gpus &&
		    count_of(step_gpus) == count && (!total || total == count))
			find_missing(devices, step_gpus, &missing, &denied);
		else if (count > devices->count && devices->cards.count)
			add(devices->cards.count >= count ? &denied : &missing,
			    "GPU %" PRIu32, devices->count);
		else if (!devices->nvidia && !devices->cards.count)
			add(&missing, "GPU that a driver shows, nor /dev/nvidia0");
		find_controls(devices, &missing, &denied);
		put_own(probe, devices, out);
	}
	if (missing.count)
		exec_record_put(out, "gpus.missing", "%s", missing.text);
	if (denied.count)
		exec_record_put(out, "gpus.denied", "%s", denied.text);
	free(devices);
}

/*
 * The kinds of the GPUs that may be opened, by the driver's order: "NVIDIA
 * A100-SXM4-80GB". How many there are in the node is of no concern to a job that was
 * given some.
 */
static void put_models(const struct exec_probe *probe, FILE *out)
{
	char text[LAUNCH_TREE_TEXT_MAX];
	struct list models = {0};
	struct launch_cards cards = {0};

	launch_cards_nvidia(&cards, probe->tree);
	for (uint32_t i = 0; i < cards.count; i++) {
		char model[64], *line;

		if (cards.card[i].denied ||
		    launch_tree_read(probe->tree, text, sizeof(text),
				     "/proc/driver/nvidia/gpus/%s/information",
				     cards.card[i].bus) ||
		    !(line = strstr(text, "Model:")))
			continue;
		line += 6;
		line += strspn(line, " \t");
		snprintf(model, sizeof(model), "%.*s", (int)strcspn(line, "\n"), line);
		if (!has(&models, model))
			add(&models, "%s", model);
	}
	if (models.count)
		exec_record_put(out, "models", "%s", models.text);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug ..." */
static void put_driver(const struct exec_probe *probe, FILE *out)
{
	char text[LAUNCH_TREE_TEXT_MAX];
	const char *version;

	if (launch_tree_read(probe->tree, text, sizeof(text),
			     "/proc/driver/nvidia/version") == 0) {
		version = strstr(text, "Module");
		version = version ? version + strcspn(version, "0123456789\n") : "";
		exec_record_put(out, "driver", "nvidia %.*s",
				(int)strcspn(version, " \n"), version);
	} else if (launch_tree_read(probe->tree, text, sizeof(text),
				    "%s/module/amdgpu/version", probe->tree->sys) == 0) {
		exec_record_put(out, "driver", "amdgpu %.*s", (int)strcspn(text, "\n"),
				text);
	}
}

/*
 * The adapters that a program can use: with a port that is up, for libraries pass over
 * the others, and with a device file, which a container may not have.
 */
struct adapters {
	const struct launch_tree *tree;
	struct list names;
	const char *name; /* of the one that is looked at */
	bool up, opens;
};

/* "4: ACTIVE": state_show() in Linux's drivers/infiniband/core/sysfs.c. */
static bool take_port(const char *port, void *data)
{
	struct adapters *adapters = data;
	char text[64];

	if (launch_tree_read(adapters->tree, text, sizeof(text),
			     "%s/class/infiniband/%s/ports/%s/state", adapters->tree->sys,
			     adapters->name, port) == 0)
		adapters->up |= strncmp(text, "4:", 2) == 0;
	return true;
}

/* "uverbs0" is /dev/infiniband/uverbs0: Linux's drivers/infiniband/core/uverbs_main.c. */
static bool take_verbs(const char *verbs, void *data)
{
	struct adapters *adapters = data;
	char text[64], file[PATH_MAX];

	if (launch_tree_read(adapters->tree, text, sizeof(text),
			     "%s/class/infiniband_verbs/%s/ibdev", adapters->tree->sys,
			     verbs))
		return true;
	text[strcspn(text, "\n")] = '\0';
	snprintf(file, sizeof(file), "/dev/infiniband/%s", verbs);
	if (strcmp(text, adapters->name) == 0)
		adapters->opens |= exists(adapters->tree, file, 0) &&
				   !launch_tree_denied(adapters->tree, "%s", file);
	return true;
}

static bool take_adapter(const char *name, void *data)
{
	struct adapters *adapters = data;

	adapters->name = name;
	adapters->up = adapters->opens = false;
	launch_tree_list(adapters->tree, take_port, adapters,
			 "%s/class/infiniband/%s/ports", adapters->tree->sys, name);
	launch_tree_list(adapters->tree, take_verbs, adapters,
			 "%s/class/infiniband_verbs", adapters->tree->sys);
	if (adapters->up && adapters->opens)
		add(&adapters->names, "%s", name);
	return true;
}

/* The variable that keeps NCCL from InfiniBand: NCCL's user guide; NULL: none does. */
static const char *find_refusal(void)
{
	const char *disable = getenv("NCCL_IB_DISABLE"), *net = getenv("NCCL_NET");

	if (disable && strtol(disable, NULL, 0) != 0)
		return "NCCL_IB_DISABLE";
	return net && strcasecmp(net, "Socket") == 0 ? "NCCL_NET" : NULL;
}

static void put_infiniband(const struct exec_probe *probe, FILE *out)
{
	struct adapters adapters = {.tree = probe->tree};
	const char *refusal = find_refusal();

	launch_tree_list(probe->tree, take_adapter, &adapters, "%s/class/infiniband",
			 probe->tree->sys);
	if (!adapters.names.count)
		return;
	exec_record_put(out, "infiniband", "%s", adapters.names.text);
	if (refusal)
		exec_record_put(out, "infiniband.refused", "%s", refusal);
}

/* ---- what was asked for ---- */

/* Of "4", "a100:4", "a100:2,v100:2": SLURM_GPUS_PER_NODE in sbatch(1). */
static uint32_t read_asked(const char *text)
{
	uint32_t count = 0;

	while (*text) {
		size_t length = strcspn(text, ",");
		const char *digits = text;

		for (const char *c = text; c < text + length; c++) {
			if (*c == ':')
				digits = c + 1;
		}
		count += (uint32_t)strtoul(digits, NULL, 10);
		text += length + (text[length] == ',');
	}
	return count;
}

static void put_asked(FILE *out)
{
	const char *gpus = getenv("SLURM_GPUS_PER_NODE");

	if (read_number("SLURM_JOB_NUM_NODES"))
		exec_record_put(out, "job.nodes", "%" PRIu32,
				read_number("SLURM_JOB_NUM_NODES"));
	exec_record_put(out, "gpus.step", "%" PRIu32, read_number("SLURM_GPUS_ON_NODE"));
	if (gpus)
		exec_record_put(out, "gpus.asked", "%" PRIu32, read_asked(gpus));
}

void exec_probe_node(const struct exec_probe *probe, FILE *out)
{
	exec_record_put(out, "leader", "1");
	exec_record_put(out, "local_size", "%" PRIu32, probe->facts->local_size);
	put_system(probe, out);
	put_container(probe, out);
	put_memory(probe, out);
	put_shm(probe, out);
	put_limits(out);
	put_driver(probe, out);
	put_models(probe, out);
	put_asked(out);
}

void exec_probe_task(const struct exec_probe *probe, FILE *out)
{
	const struct launch_facts *facts = probe->facts;
	char text[LAUNCH_CPUS_TEXT_MAX];
	struct launch_cpuset mask;

	exec_record_put(out, "node", "%s", facts->node ? facts->node : "?");
	exec_record_put(out, "rank", "%" PRIu32, facts->rank);
	if (facts->het)
		exec_record_put(out, "het", "1");
	/* Each component of a heterogeneous step has one of its own, and up to 48 nodes
	 * of a component share it: step_launch_state_create() in Slurm's
	 * src/api/step_launch.c. */
	if (read_number("SLURM_SRUN_COMM_PORT"))
		exec_record_put(out, "srun.port", "%" PRIu32,
				read_number("SLURM_SRUN_COMM_PORT"));
	exec_record_put(out, "shape", "%s",
			launch_shape_name(launch_shape(facts, probe->settings)));
	if (launch_cpuset_affinity(0, &mask) == 0) {
		launch_cpuset_text(&mask, text, sizeof(text));
		exec_record_put(out, "cpus", "%s", text);
		exec_record_put(out, "ncpus", "%" PRIu32, launch_cpuset_count(&mask));
	}
	if (read_number("SLURM_CPUS_PER_TASK"))
		exec_record_put(out, "cpus.asked", "%" PRIu32,
				read_number("SLURM_CPUS_PER_TASK"));
	exec_record_put(out, "memlock", "%" PRId64, read_rlimit(RLIMIT_MEMLOCK));
	exec_record_put(out, "nofile", "%" PRId64, read_rlimit(RLIMIT_NOFILE));
	put_infiniband(probe, out);
	put_gpus(probe, out);
}
