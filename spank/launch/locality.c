/* SPDX-License-Identifier: MIT */
/*
 * Which GPUs stand behind a step's device list and which CPUs are near them, from the
 * text files of /proc and /sys: two small files a GPU and one a socket. NVIDIA's GPUs are
 * located; AMD's are recognised, for the sake of their variable, and everything else is
 * left in Slurm's order.
 */
#include "spank/launch/gpus.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* A list of every second CPU of LAUNCH_CPUS_MAX has about 10 kB. */
#define TEXT_MAX 16384

#define CPU "%s/sys/devices/system/cpu/cpu%u"

/* One of the driver's GPUs. */
struct card {
	unsigned long long address; /* domain, bus, device, function: the sort key */
	char bus[24];               /* "0000:07:00.0" */
	char uuid[48];              /* "GPU-..."; "" when the driver does not say */
};

struct cards {
	uint32_t count;
	struct card card[LAUNCH_GPUS_MAX];
};

/* Part of a comma-separated list. */
struct token {
	const char *text;
	size_t length;
};

static void close_directory(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Whole file of a formatted name into TEXT; -EFBIG rather than a part of it. */
__attribute__((format(printf, 3, 4))) static int read_text(char *text, size_t size,
							   const char *format, ...)
{
	char path[PATH_MAX];
	size_t used = 0;
	ssize_t got;
	va_list arguments;
	int fd, length;

	va_start(arguments, format);
	length = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		got = read(fd, text + used, size - used);
		if (got > 0)
			used += (size_t)got;
	} while ((got > 0 && used < size) || (got < 0 && errno == EINTR));
	if (got < 0) {
		int error = errno;

		close(fd);
		return -error;
	}
	close(fd);
	if (used == size)
		return -EFBIG;
	text[used] = '\0';
	return 0;
}

/* Next token of *LIST, which moves behind it; empty ones are passed over. */
static bool next_token(const char **list, struct token *token)
{
	while (**list == ',')
		(*list)++;
	token->text = *list;
	token->length = strcspn(*list, ",");
	*list += token->length;
	return token->length != 0;
}

static uint32_t count_tokens(const char *list)
{
	struct token token;
	uint32_t count = 0;

	while (next_token(&list, &token))
		count++;
	return count;
}

static bool has_prefix(const struct token *token, const char *prefix)
{
	return token->length > strlen(prefix) &&
	       !strncasecmp(token->text, prefix, strlen(prefix));
}

/* Value of a line "NAME<blanks>value"; NULL when there is none. */
static const char *find_field(const char *text, const char *name)
{
	while (text) {
		if (!strncmp(text, name, strlen(name))) {
			text += strlen(name);
			return text + strspn(text, " \t");
		}
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return NULL;
}

static int compare_cards(const void *a, const void *b)
{
	const struct card *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

/* "0000:07:00.0", all hexadecimal; the domain may have up to eight digits. */
static bool parse_bus(struct card *card, const char *name)
{
	unsigned int domain, bus, device, function;
	int end = 0;

	if (strlen(name) >= sizeof(card->bus) || !isxdigit((unsigned char)name[0]))
		return false;
	if (sscanf(name, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) !=
		    4 ||
	    name[end])
		return false;
	strcpy(card->bus, name);
	card->address =
		(unsigned long long)domain << 24 | bus << 16 | device << 8 | function;
	return true;
}

/*
 * The GPUs of NVIDIA's driver by bus address: CUDA counts in this order under
 * CUDA_DEVICE_ORDER=PCI_BUS_ID (CUDA C Programming Guide, "CUDA Environment Variables"),
 * and so do NVML and, through it, Slurm's AutoDetect. The minor number of /dev/nvidiaN is
 * another order. GPUs that the driver was told to exclude are listed here too, but
 * programs never see them.
 */
static void read_nvidia(struct cards *cards, const char *root)
{
	__attribute__((cleanup(close_directory))) DIR *dir = NULL;
	char path[PATH_MAX];
	struct dirent *entry;
	char text[4096];

	cards->count = 0;
	if (snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", root) >= PATH_MAX)
		return;
	dir = opendir(path);
	while (dir && cards->count < LAUNCH_GPUS_MAX && (entry = readdir(dir))) {
		struct card *card = &cards->card[cards->count];
		const char *value;

		if (!parse_bus(card, entry->d_name))
			continue;
		card->uuid[0] = '\0';
		cards->count++;
		if (read_text(text, sizeof(text), "%s/%s/information", path, card->bus))
			continue;
		value = find_field(text, "GPU Excluded:");
		/* The older drivers' name of it. */
		if (!value)
			value = find_field(text, "Blacklisted:");
		if (value && *value == 'Y')
			cards->count--;
		value = find_field(text, "GPU UUID:");
		if (value)
			snprintf(card->uuid, sizeof(card->uuid), "%.*s",
				 (int)strcspn(value, " \t\n"), value);
	}
	qsort(cards->card, cards->count, sizeof(cards->card[0]), compare_cards);
}

/* The GPU that an index means; NULL when it is none or there is no such GPU. */
static const struct card *find_index(const struct cards *cards, const struct token *token)
{
	uint32_t index = 0;

	for (size_t i = 0; i < token->length; i++) {
		if (!isdigit((unsigned char)token->text[i]) || index > LAUNCH_GPUS_MAX)
			return NULL;
		index = index * 10 + (uint32_t)(token->text[i] - '0');
	}
	return index < cards->count ? &cards->card[index] : NULL;
}

/*
 * The GPU of "GPU-<uuid>", of which CUDA takes a unique beginning too, or the parent of
 * "MIG-GPU-<uuid>/<instance>/<instance>". "MIG-<uuid>" does not name its parent.
 */
static const struct card *find_uuid(const struct cards *cards, const struct token *token)
{
	const struct card *found = NULL;
	struct token uuid = *token;

	if (has_prefix(&uuid, "MIG-GPU-")) {
		uuid.text += strlen("MIG-");
		uuid.length = strcspn(uuid.text, "/,");
	}
	if (!has_prefix(&uuid, "GPU-"))
		return NULL;
	for (uint32_t i = 0; i < cards->count; i++) {
		if (strncasecmp(cards->card[i].uuid, uuid.text, uuid.length))
			continue;
		if (found)
			return NULL;
		found = &cards->card[i];
	}
	return found;
}

/*
 * The CPUs of the packages that LOCAL touches, by the name that Linux has used since 5.3
 * or by the older one (Documentation/ABI/stable/sysfs-devices-system-cpu). LOCAL itself
 * where neither is there.
 */
static void read_socket(struct launch_cpuset *socket, const struct launch_cpuset *local,
			const char *root)
{
	struct launch_cpuset rest = *local, package;
	char text[TEXT_MAX];
	uint32_t cpu;

	*socket = *local;
	while ((cpu = launch_cpuset_first(&rest)) < LAUNCH_CPUS_MAX) {
		if (read_text(text, sizeof(text), CPU "/topology/package_cpus_list", root,
			      cpu) &&
		    read_text(text, sizeof(text), CPU "/topology/core_siblings_list",
			      root, cpu))
			return;
		if (launch_cpuset_parse(&package, text))
			return;
		rest.bits[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
		for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++) {
			socket->bits[word] |= package.bits[word];
			rest.bits[word] &= ~package.bits[word];
		}
	}
}

/*
 * local_cpulist is the CPUs of the GPU's NUMA node, whatever the node's number, and all
 * CPUs when the firmware names no node (pci_dev_show_local_cpu() in Linux's
 * drivers/pci/pci-sysfs.c), so that numa_node and the node's own list say nothing more. A
 * list of all CPUs tells no task from another; an empty one is that of a NUMA node that
 * has memory only.
 */
static void locate(struct launch_gpus *gpus, struct launch_gpu *gpu,
		   const struct card *card, const struct launch_cpuset *online,
		   const char *root)
{
	char text[TEXT_MAX];

	if (read_text(text, sizeof(text), "%s/sys/bus/pci/devices/%s/local_cpulist", root,
		      card->bus) ||
	    launch_cpuset_parse(&gpu->local, text) ||
	    launch_cpuset_first(&gpu->local) == LAUNCH_CPUS_MAX ||
	    !memcmp(&gpu->local, online, sizeof(*online)))
		return;
	gpu->node = gpu->local;
	for (const struct launch_gpu *other = gpus->gpu; other < gpu; other++) {
		if (other->located &&
		    !memcmp(&other->local, &gpu->local, sizeof(gpu->local))) {
			gpu->socket = other->socket;
			gpu->located = true;
			return;
		}
	}
	read_socket(&gpu->socket, &gpu->local, root);
	gpu->located = true;
}

/*
 * Whether AMD's driver has at least COUNT GPUs: nodes of its topology with a gpu_id that
 * is not 0 (CPUs have 0), or that the step's device cgroup keeps from us (kfd_topology.c
 * in Linux). More devices than that are not AMD's, as on a workstation whose processor
 * has a small GPU of its own.
 */
static bool has_amd(const char *root, uint32_t count)
{
	__attribute__((cleanup(close_directory))) DIR *dir = NULL;
	char path[PATH_MAX];
	struct dirent *entry;
	uint32_t found = 0;
	char text[32];

	if (snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes", root) >=
	    PATH_MAX)
		return false;
	dir = opendir(path);
	while (dir && found < count && (entry = readdir(dir))) {
		int error;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		error = read_text(text, sizeof(text), "%s/%s/gpu_id", path,
				  entry->d_name);
		if (error == -EPERM || (!error && strtoul(text, NULL, 10)))
			found++;
	}
	return found == count;
}

static int read_names(struct launch_gpus *gpus, const char *list,
		      struct launch_error *err)
{
	struct token token;

	while (next_token(&list, &token)) {
		struct launch_gpu *gpu = &gpus->gpu[gpus->count];

		if (gpus->count == LAUNCH_GPUS_MAX) {
			gpus->count = 0;
			return launch_error_set(
				err, -ENOSPC,
				"the step has more than %d GPUs on this node, "
				"which gpus= cannot order; use gpus=none",
				LAUNCH_GPUS_MAX);
		}
		if (token.length >= sizeof(gpu->name)) {
			gpus->count = 0;
			return launch_error_set(
				err, -EINVAL,
				"the step's device list has a name of %zu "
				"characters, more than any GPU's, beginning "
				"\"%.32s\"; use gpus=none",
				token.length, token.text);
		}
		memset(gpu, 0, sizeof(*gpu));
		memcpy(gpu->name, token.text, token.length);
		gpus->count++;
	}
	return 0;
}

int launch_gpus_read(struct launch_gpus *gpus, const char *list, const char *step_gpus,
		     const char *root, struct launch_error *err)
{
	struct launch_cpuset online = {0};
	struct cards cards;
	char text[TEXT_MAX];
	int error;

	gpus->vendor = LAUNCH_VENDOR_UNKNOWN;
	gpus->count = 0;
	if (!list)
		return 0;
	error = read_names(gpus, list, err);
	if (error || !gpus->count)
		return error;
	if (!step_gpus || count_tokens(step_gpus) != gpus->count)
		step_gpus = NULL;
	read_nvidia(&cards, root);
	if (cards.count &&
	    !read_text(text, sizeof(text), "%s/sys/devices/system/cpu/online", root))
		launch_cpuset_parse(&online, text);
	for (uint32_t i = 0; i < gpus->count; i++) {
		struct launch_gpu *gpu = &gpus->gpu[i];
		struct token token = {gpu->name, strlen(gpu->name)}, paired = token;
		const struct card *card = find_uuid(&cards, &token);

		/*
		 * Where a device cgroup hides the other GPUs, the list counts from 0
		 * among those left, and SLURM_STEP_GPUS still has the node's own numbers
		 * (gres_use_local_device_index() in Slurm's src/interfaces/gres.c).
		 */
		if (step_gpus)
			next_token(&step_gpus, &paired);
		if (!card && !has_prefix(&token, "MIG-"))
			card = find_index(&cards, &paired);
		if (card)
			locate(gpus, gpu, card, &online, root);
		if (card || has_prefix(&token, "MIG-"))
			gpus->vendor = LAUNCH_VENDOR_NVIDIA;
	}
	if (gpus->vendor == LAUNCH_VENDOR_UNKNOWN && has_amd(root, gpus->count))
		gpus->vendor = LAUNCH_VENDOR_AMD;
	return 0;
}
