/* SPDX-License-Identifier: MIT */
/*
 * Reading a machine. A description may carry what its author wants to remember (sources,
 * notes, network cards), so keys that are not known are passed over; only one that looks
 * like a misspelt key of ours, which then is missing, is warned of.
 */
#include "gen/spec/machine.h"

#include "gen/spec/file.h"
#include "gen/spec/yaml.h"
#include "spank/launch/cards.h"
#include "spank/launch/nearest.h"
#include "spank/launch/tree.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* More sockets, NUMA nodes or GPUs than any machine has: a wrong file. */
#define ELEMENTS_MAX 1024

static const char *const vendors[] = {
	[LAUNCH_VENDOR_UNKNOWN] = NULL,
	[LAUNCH_VENDOR_NVIDIA] = "nvidia",
	[LAUNCH_VENDOR_AMD] = "amd",
	[LAUNCH_VENDOR_INTEL] = "intel",
};

#define VENDORS (sizeof(vendors) / sizeof(*vendors))

/* How the kernel numbers the threads of a core. */
enum numbering {
	NUMBERING_NONE,     /* one thread a core */
	NUMBERING_OFFSET,   /* i, i + offset, i + 2 offset, ... */
	NUMBERING_ADJACENT, /* consecutive numbers */
};

static const char *const numberings[] = {
	[NUMBERING_NONE] = "none",
	[NUMBERING_OFFSET] = "offset",
	[NUMBERING_ADJACENT] = "adjacent",
};

#define NUMBERINGS (sizeof(numberings) / sizeof(*numberings))

/* The keys of the description, of each of its parts. */
static const char *const machine_keys[] = {"name",     "vendor",         "cpus",
					   "packages", "numa",           "smt",
					   "gpus",     "reserved_cores", NULL};
static const char *const group_keys[] = {"id", "cpulist", NULL};
static const char *const smt_keys[] = {"threads_per_core", "numbering", "offset", NULL};
static const char *const gpu_keys[] = {"index", "vendor",  "model",
				       "numa",  "cpulist", NULL};

struct reading {
	struct spec_machine *machine;
	struct diag *diag;
	/* Of CPU i: its core (any number) and the index of its package. */
	uint16_t core[LAUNCH_CPUS_MAX];
	uint16_t package[LAUNCH_CPUS_MAX];
	struct launch_cpuset reserved;
};

static void free_reading(struct reading **reading)
{
	free(*reading);
}

/* The lowest CPU of SET that is in OTHER (IN) or is not; LAUNCH_CPUS_MAX: none. */
static uint32_t first_of(const struct launch_cpuset *set,
			 const struct launch_cpuset *other, bool in)
{
	struct launch_cpuset part = *set;

	if (in)
		launch_cpuset_keep(&part, other);
	else
		launch_cpuset_remove(&part, other);
	return launch_cpuset_first(&part);
}

__attribute__((format(printf, 3, 4))) static int refuse(const struct reading *reading,
							const struct spec_node *node,
							const char *format, ...)
{
	const struct diag_place place =
		node ? node->place : (struct diag_place){.file = reading->machine->file};
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (!text)
		return -ENOMEM;
	diag_add(reading->diag, DIAG_ERROR, "machine", &place, "%s", text);
	free(text);
	return -EINVAL;
}

/* The value of KEY in MAP; NULL when it is not there, or null. */
static const struct spec_node *get(const struct spec_node *map, const char *key)
{
	for (size_t i = 0; i + 1 < map->count; i += 2) {
		const struct spec_node *name = map->children[i];
		const struct spec_node *value = map->children[i + 1];

		if (name->kind == SPEC_NODE_SCALAR && strcmp(name->text, key) == 0)
			return value->kind == SPEC_NODE_SCALAR && value->null ? NULL
									      : value;
	}
	return NULL;
}

static size_t count_keys(const char *const *keys)
{
	size_t count = 0;

	while (keys[count])
		count++;
	return count;
}

static bool is_key(const char *const *keys, const char *name)
{
	for (; *keys; keys++) {
		if (strcmp(*keys, name) == 0)
			return true;
	}
	return false;
}

static int check_keys(const struct reading *reading, const struct spec_node *map,
		      const char *const *keys)
{
	int rc = 0;

	for (size_t i = 0; i + 1 < map->count; i += 2) {
		const struct spec_node *name = map->children[i];
		const char *near;

		if (name->kind != SPEC_NODE_SCALAR) {
			rc = refuse(reading, name, "a key of a machine is a word");
			continue;
		}
		if (is_key(keys, name->text)) {
			for (size_t j = 0; j < i; j += 2) {
				if (map->children[j]->kind == SPEC_NODE_SCALAR &&
				    strcmp(map->children[j]->text, name->text) == 0)
					rc = refuse(reading, name,
						    "%s is given twice; keep one",
						    name->text);
			}
			continue;
		}
		near = launch_nearest(name->text, keys, count_keys(keys), sizeof(*keys));
		if (!near || get(map, near))
			continue;
		diag_add(reading->diag, DIAG_WARNING, "machine", &name->place,
			 "%.60s is passed over; did you mean %s?", name->text, near);
	}
	return rc;
}

/* A whole number of at least LEAST; *NUMBER is left alone when there is none. */
static int read_number(const struct reading *reading, const struct spec_node *node,
		       const char *name, long least, long most, long *number)
{
	char *end;
	long value;

	if (!node)
		return 0;
	if (node->kind == SPEC_NODE_SCALAR && *node->text) {
		errno = 0;
		value = strtol(node->text, &end, 10);
		if (!*end && !errno && value >= least && value <= most &&
		    !isspace((unsigned char)node->text[0])) {
			*number = value;
			return 0;
		}
	}
	return refuse(reading, node, "%s: '%.40s' is not a whole number from %ld to %ld",
		      name, node->kind == SPEC_NODE_SCALAR ? node->text : "...", least,
		      most);
}

static int read_cpus(const struct reading *reading, const struct spec_node *node,
		     const char *name, struct launch_cpuset *set)
{
	if (node->kind == SPEC_NODE_SCALAR && launch_cpuset_parse(set, node->text) == 0)
		return 0;
	return refuse(reading, node,
		      "%s: '%.60s' is not a list of CPUs below %d, such as 0-15,64-79",
		      name, node->kind == SPEC_NODE_SCALAR ? node->text : "...",
		      LAUNCH_CPUS_MAX);
}

/* One of CHOICES (COUNT, of which some may be NULL); *CHOICE: which. */
static int read_choice(const struct reading *reading, const struct spec_node *node,
		       const char *name, const char *const *choices, size_t count,
		       unsigned int *choice)
{
	const char *near;

	if (!node)
		return 0;
	for (unsigned int i = 0; node->kind == SPEC_NODE_SCALAR && i < count; i++) {
		if (choices[i] && strcmp(choices[i], node->text) == 0) {
			*choice = i;
			return 0;
		}
	}
	if (node->kind != SPEC_NODE_SCALAR)
		return refuse(reading, node, "%s is one word", name);
	near = launch_nearest(node->text, choices, count, sizeof(*choices));
	if (near)
		return refuse(reading, node, "%s: there is no '%.40s'; did you mean %s?",
			      name, node->text, near);
	return refuse(reading, node,
		      "%s: there is no '%.40s'; it is one of %s, %s and %s", name,
		      node->text, choices[count - 3] ? choices[count - 3] : "none",
		      choices[count - 2], choices[count - 1]);
}

static int read_text(const struct reading *reading, const struct spec_node *node,
		     const char *name, const char **text)
{
	if (!node)
		return 0;
	if (node->kind != SPEC_NODE_SCALAR)
		return refuse(reading, node, "%s is a text", name);
	*text = node->text;
	return 0;
}

/* The list NAME of maps; *LIST is NULL when there is none. */
static int get_list(const struct reading *reading, const struct spec_node *root,
		    const char *name, const struct spec_node **list)
{
	const struct spec_node *node = get(root, name);
	int rc = 0;

	*list = NULL;
	if (!node)
		return 0;
	if (node->kind != SPEC_NODE_SEQUENCE)
		return refuse(reading, node, "%s is a list, an entry for each", name);
	if (node->count > ELEMENTS_MAX)
		return refuse(reading, node, "%s has %zu entries, more than any machine",
			      name, node->count);
	for (size_t i = 0; i < node->count; i++) {
		if (node->children[i]->kind != SPEC_NODE_MAPPING)
			rc = refuse(reading, node->children[i],
				    "%s[%zu] is a map, with a key for each fact", name,
				    i);
	}
	*list = node;
	return rc;
}

static int compare_groups(const void *a, const void *b)
{
	const struct spec_machine_group *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

/*
 * The list NAME of sockets or NUMA nodes, which share no CPU. Those without CPUs, as the
 * memory of some GPUs is shown by Linux, are left out. *GROUPS is NULL without a list.
 */
static int read_groups(const struct reading *reading, const struct spec_node *root,
		       const char *name, struct spec_machine_group **groups,
		       size_t *count)
{
	struct launch_cpuset seen = {0};
	const struct spec_node *list;
	int rc = get_list(reading, root, name, &list);

	*groups = NULL;
	*count = 0;
	if (rc < 0 || !list)
		return rc;
	*groups = spec_arena_alloc(&reading->machine->arena,
				   (list->count + 1) * sizeof(**groups));
	if (!*groups)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		const struct spec_node *entry = list->children[i];
		struct spec_machine_group *group = &(*groups)[*count];
		const struct spec_node *cpus = get(entry, "cpulist");
		char label[64];
		long id = (long)i;
		uint32_t cpu;

		snprintf(label, sizeof(label), "%s[%zu].cpulist", name, i);
		if (check_keys(reading, entry, group_keys) < 0 ||
		    read_number(reading, get(entry, "id"), "id", 0, UINT16_MAX, &id) <
			    0) {
			rc = -EINVAL;
			continue;
		}
		for (size_t j = 0; j < *count; j++) {
			if ((*groups)[j].id == (uint32_t)id)
				rc = refuse(reading, entry,
					    "%s[%zu]: id %ld is given "
					    "to two entries",
					    name, i, id);
		}
		if (!cpus) {
			rc = refuse(reading, entry,
				    "%s[%zu] has no cpulist: say which "
				    "CPUs are its own, \"\" for none",
				    name, i);
			continue;
		}
		if (read_cpus(reading, cpus, label, &group->cpus) < 0) {
			rc = -EINVAL;
			continue;
		}
		cpu = first_of(&group->cpus, &seen, true);
		if (cpu < LAUNCH_CPUS_MAX)
			rc = refuse(reading, cpus, "%s: CPU %u is in an entry above, too",
				    label, cpu);
		launch_cpuset_join(&seen, &group->cpus);
		group->id = (uint32_t)id;
		if (launch_cpuset_count(&group->cpus))
			++*count;
	}
	qsort(*groups, *count, sizeof(**groups), compare_groups);
	return rc;
}

/* One group of all CPUs, where nothing is said of any. */
static int make_one_group(struct spec_machine *machine,
			  struct spec_machine_group **groups, size_t *count)
{
	*groups = spec_arena_alloc(&machine->arena, sizeof(**groups));
	if (!*groups)
		return -ENOMEM;
	(*groups)->cpus = machine->cpus;
	*count = 1;
	return 0;
}

static int settle_cpus(const struct reading *reading, const struct spec_node *root)
{
	struct spec_machine *machine = reading->machine;
	const struct spec_node *node = get(root, "cpus");
	long count = -1;
	uint32_t known;
	int rc = read_number(reading, node, "cpus", 1, LAUNCH_CPUS_MAX, &count);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < machine->packages_count; i++)
		launch_cpuset_join(&machine->cpus, &machine->packages[i].cpus);
	for (size_t i = 0; i < machine->numa_count; i++) {
		uint32_t cpu = first_of(&machine->numa[i].cpus, &machine->cpus, false);

		if (machine->packages_count && cpu < LAUNCH_CPUS_MAX)
			rc = refuse(reading, get(root, "numa"),
				    "NUMA node %u: CPU %u is in no entry of packages",
				    machine->numa[i].id, cpu);
		if (!machine->packages_count)
			launch_cpuset_join(&machine->cpus, &machine->numa[i].cpus);
	}
	known = launch_cpuset_count(&machine->cpus);
	if (count < 0 && !known)
		return refuse(reading, root,
			      "nothing says which CPUs the machine has; "
			      "give packages, numa or cpus");
	if (!known) {
		for (long cpu = 0; cpu < count; cpu++)
			launch_cpuset_add(&machine->cpus, (uint32_t)cpu);
	} else if (count >= 0 && known != (uint32_t)count) {
		return refuse(reading, node, "cpus %ld != %u CPUs in %s", count, known,
			      machine->packages_count ? "packages" : "numa");
	}
	if (rc == 0 && !machine->packages_count)
		rc = make_one_group(machine, &machine->packages,
				    &machine->packages_count);
	if (rc == 0 && !machine->numa_count)
		rc = make_one_group(machine, &machine->numa, &machine->numa_count);
	return rc;
}

/* The cores, by the rule that says which threads are siblings. */
static int read_cores(struct reading *reading, const struct spec_node *root)
{
	const struct spec_node *smt = get(root, "smt");
	unsigned int numbering = NUMBERING_NONE;
	long threads = 1, offset;
	int rc;

	if (smt && smt->kind != SPEC_NODE_MAPPING)
		return refuse(reading, smt,
			      "smt is a map of threads_per_core, numbering "
			      "and offset");
	if (smt) {
		rc = check_keys(reading, smt, smt_keys);
		if (rc == 0)
			rc = read_number(reading, get(smt, "threads_per_core"),
					 "threads_per_core", 1, 64, &threads);
		if (rc == 0 && threads > 1)
			numbering = NUMBERING_ADJACENT;
		if (rc == 0)
			rc = read_choice(reading, get(smt, "numbering"), "numbering",
					 numberings, NUMBERINGS, &numbering);
		if (rc < 0)
			return rc;
	}
	offset = launch_cpuset_count(&reading->machine->cpus) / threads;
	if (smt && numbering == NUMBERING_OFFSET) {
		rc = read_number(reading, get(smt, "offset"), "offset", 1,
				 LAUNCH_CPUS_MAX, &offset);
		if (rc < 0)
			return rc;
	}
	if (offset < 1 || (numbering == NUMBERING_NONE && threads > 1))
		return refuse(reading, smt,
			      "%ld threads a core need the numbering "
			      "offset or adjacent",
			      threads);
	for (long cpu = 0; cpu < LAUNCH_CPUS_MAX; cpu++)
		reading->core[cpu] = numbering == NUMBERING_OFFSET     ? cpu % offset
				     : numbering == NUMBERING_ADJACENT ? cpu / threads
								       : cpu;
	return 0;
}

static int compare_usable(const void *a, const void *b)
{
	const struct spec_machine_cpu *left = a, *right = b;

	if (left->package != right->package)
		return left->package < right->package ? -1 : 1;
	if (left->core != right->core)
		return left->core < right->core ? -1 : 1;
	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

/* Lists the CPUs that jobs may have, from cores, packages and reserved ones. */
static int list_usable(struct reading *reading, const struct spec_node *reserved)
{
	struct spec_machine *machine = reading->machine;
	uint16_t lowest[LAUNCH_CPUS_MAX];
	uint32_t threads = 0;

	memset(lowest, 0xff, sizeof(lowest));
	machine->usable =
		spec_arena_alloc(&machine->arena, launch_cpuset_count(&machine->cpus) *
							  sizeof(*machine->usable));
	if (!machine->usable)
		return -ENOMEM;
	for (size_t i = 0; i < machine->packages_count; i++) {
		for (uint32_t cpu = 0; cpu < LAUNCH_CPUS_MAX; cpu++) {
			if (launch_cpuset_has(&machine->packages[i].cpus, cpu))
				reading->package[cpu] = (uint16_t)i;
		}
	}
	/* Cores stand in the order of their first threads, whatever their numbers. */
	for (uint32_t cpu = 0; cpu < LAUNCH_CPUS_MAX; cpu++) {
		if (!launch_cpuset_has(&machine->cpus, cpu))
			continue;
		if (lowest[reading->core[cpu]] == UINT16_MAX)
			lowest[reading->core[cpu]] = (uint16_t)cpu;
		if (!launch_cpuset_has(&reading->reserved, cpu))
			machine->usable[machine->usable_count++] =
				(struct spec_machine_cpu){
					.cpu = (uint16_t)cpu,
					.core = lowest[reading->core[cpu]],
					.package = reading->package[cpu]};
	}
	if (!machine->usable_count)
		return refuse(reading, reserved,
			      "all CPUs are reserved: none is left "
			      "for jobs");
	qsort(machine->usable, machine->usable_count, sizeof(*machine->usable),
	      compare_usable);
	for (size_t i = 0; i < machine->usable_count; i++) {
		threads = i && machine->usable[i].core == machine->usable[i - 1].core
				  ? threads + 1
				  : 1;
		if (threads > machine->threads)
			machine->threads = threads;
	}
	return 0;
}

static int read_reserved(struct reading *reading, const struct spec_node *root)
{
	const struct spec_node *node = get(root, "reserved_cores");
	uint32_t cpu;
	int rc = 0;

	if (node)
		rc = read_cpus(reading, node, "reserved_cores", &reading->reserved);
	cpu = first_of(&reading->reserved, &reading->machine->cpus, false);
	if (rc == 0 && cpu < LAUNCH_CPUS_MAX)
		rc = refuse(reading, node, "reserved_cores: the machine has no CPU %u",
			    cpu);
	return rc ? rc : list_usable(reading, node);
}

static const struct spec_machine_group *find_numa(const struct spec_machine *machine,
						  long id)
{
	for (size_t i = 0; i < machine->numa_count; i++) {
		if (machine->numa[i].id == (uint32_t)id)
			return &machine->numa[i];
	}
	return NULL;
}

/* The CPUs near a GPU: its own list, or that of its NUMA node; else all. */
static int read_place(const struct reading *reading, const struct spec_node *entry,
		      struct spec_machine_gpu *gpu)
{
	const struct spec_machine *machine = reading->machine;
	const struct spec_node *cpus = get(entry, "cpulist"), *node = get(entry, "numa");
	const struct spec_machine_group *numa;
	long id = -1;
	uint32_t cpu;
	int rc = read_number(reading, node, "numa", -1, UINT16_MAX, &id);

	if (rc < 0)
		return rc;
	gpu->local = machine->cpus;
	if (cpus) {
		rc = read_cpus(reading, cpus, "cpulist", &gpu->local);
		cpu = first_of(&gpu->local, &machine->cpus, false);
		if (rc == 0 && cpu < LAUNCH_CPUS_MAX)
			rc = refuse(reading, cpus, "cpulist: the machine has no CPU %u",
				    cpu);
		return rc;
	}
	if (id < 0)
		return 0;
	numa = find_numa(machine, id);
	if (!numa)
		return refuse(reading, node,
			      "numa: no entry of numa with CPUs has the id %ld", id);
	gpu->local = numa->cpus;
	return 0;
}

static int compare_gpus(const void *a, const void *b)
{
	const struct spec_machine_gpu *left = a, *right = b;

	return (left->index > right->index) - (left->index < right->index);
}

static int read_gpus(const struct reading *reading, const struct spec_node *root)
{
	struct spec_machine *machine = reading->machine;
	unsigned int vendor = LAUNCH_VENDOR_UNKNOWN;
	const struct spec_node *list;
	int rc = read_choice(reading, get(root, "vendor"), "vendor", vendors, VENDORS,
			     &vendor);

	if (rc < 0)
		return rc;
	machine->vendor = vendor;
	rc = get_list(reading, root, "gpus", &list);
	if (rc < 0 || !list)
		return rc;
	if (list->count > LAUNCH_GPUS_MAX)
		return refuse(reading, list,
			      "gpus: %zu are more than the %d that a task "
			      "can be bound to",
			      list->count, LAUNCH_GPUS_MAX);
	machine->gpus = spec_arena_alloc(&machine->arena,
					 (list->count + 1) * sizeof(*machine->gpus));
	if (!machine->gpus)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		const struct spec_node *entry = list->children[i];
		struct spec_machine_gpu *gpu = &machine->gpus[i];
		unsigned int own = machine->vendor;
		long index = (long)i;

		if (check_keys(reading, entry, gpu_keys) < 0 ||
		    read_number(reading, get(entry, "index"), "index", 0, INT16_MAX,
				&index) < 0 ||
		    read_choice(reading, get(entry, "vendor"), "vendor", vendors, VENDORS,
				&own) < 0 ||
		    read_text(reading, get(entry, "model"), "model", &gpu->model) < 0 ||
		    read_place(reading, entry, gpu) < 0)
			rc = -EINVAL;
		gpu->index = (uint32_t)index;
		for (size_t j = 0; j < i; j++) {
			if (machine->gpus[j].index == gpu->index)
				rc = refuse(reading, entry,
					    "index %u is given to two "
					    "GPUs",
					    gpu->index);
		}
		if (machine->vendor == LAUNCH_VENDOR_UNKNOWN)
			machine->vendor = own;
		else if (own != machine->vendor)
			rc = refuse(reading, entry,
				    "%s among GPUs of %s: a step has "
				    "those of one vendor; leave the others out",
				    vendors[own], vendors[machine->vendor]);
	}
	machine->gpus_count = machine->devices = (uint32_t)list->count;
	qsort(machine->gpus, machine->gpus_count, sizeof(*machine->gpus), compare_gpus);
	return rc;
}

static int read_machine(struct reading *reading, const struct spec_node *root)
{
	struct spec_machine *machine = reading->machine;
	int rc;

	if (!root || root->kind != SPEC_NODE_MAPPING)
		return refuse(reading, root,
			      "a machine is a map with the keys packages, numa and gpus");
	/* Every part is read whatever the others have, so that all faults are told. */
	rc = check_keys(reading, root, machine_keys);
	if (read_text(reading, get(root, "name"), "name", &machine->name) < 0)
		rc = -EINVAL;
	if (read_groups(reading, root, "packages", &machine->packages,
			&machine->packages_count) < 0)
		rc = -EINVAL;
	if (read_groups(reading, root, "numa", &machine->numa, &machine->numa_count) < 0)
		rc = -EINVAL;
	if (rc == 0)
		rc = settle_cpus(reading, root);
	if (rc == 0)
		rc = read_cores(reading, root);
	if (rc == 0)
		rc = read_reserved(reading, root);
	if (rc == 0)
		rc = read_gpus(reading, root);
	return rc;
}

static struct reading *begin(struct spec_machine *machine, const char *file,
			     struct diag *diag)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	const char *base;
	size_t length = strlen(file);

	if (!reading)
		return NULL;
	while (length > 1 && file[length - 1] == '/')
		length--;
	base = memrchr(file, '/', length);
	base = base && length > 1 ? base + 1 : file;
	machine->file = file;
	machine->name =
		spec_arena_copy(&machine->arena, base, length - (size_t)(base - file));
	if (!machine->name) {
		free(reading);
		return NULL;
	}
	reading->machine = machine;
	reading->diag = diag;
	return reading;
}

int spec_machine_read_text(struct spec_machine *machine, const char *file,
			   const char *text, size_t length, struct diag *diag)
{
	__attribute__((cleanup(free_reading))) struct reading *reading =
		begin(machine, file, diag);
	struct spec_node *root;
	size_t errors = diag->errors;
	int rc;

	if (!reading)
		return -ENOMEM;
	diag_source(diag, file, text, length);
	rc = spec_yaml_parse(&root, file, text, length, NULL, &machine->arena, diag);
	if (rc == 0)
		rc = read_machine(reading, root);
	return rc == 0 && diag->errors > errors ? -EINVAL : rc;
}

#define CPU  "%s/devices/system/cpu/cpu%u/topology/"
#define NODE "%s/devices/system/node"

/* A list of CPUs from the file NAME of a CPU; false: there is none, or it is odd. */
static bool read_of_cpu(struct launch_cpuset *set, const struct launch_tree *tree,
			uint32_t cpu, const char *name)
{
	char text[LAUNCH_TREE_TEXT_MAX];

	return launch_tree_read(tree, text, sizeof(text), CPU "%s", tree->sys, cpu,
				name) == 0 &&
	       launch_cpuset_parse(set, text) == 0 && launch_cpuset_has(set, cpu);
}

/*
 * Sockets and cores, as far as they are recorded: else cores of one CPU, and no socket of
 * which one CPU is not told.
 */
static int find_packages(struct reading *reading, const struct launch_tree *tree)
{
	struct spec_machine *machine = reading->machine;
	struct launch_cpuset rest = machine->cpus, set;

	for (uint32_t cpu = 0; cpu < LAUNCH_CPUS_MAX; cpu++) {
		reading->core[cpu] = (uint16_t)cpu;
		/* Of each two names the second one is that of Linux before 5.3. */
		if (launch_cpuset_has(&machine->cpus, cpu) &&
		    (read_of_cpu(&set, tree, cpu, "core_cpus_list") ||
		     read_of_cpu(&set, tree, cpu, "thread_siblings_list")))
			reading->core[cpu] = (uint16_t)launch_cpuset_first(&set);
	}
	for (uint32_t cpu = 0; cpu < LAUNCH_CPUS_MAX; cpu++) {
		struct spec_machine_group *grown;

		if (!launch_cpuset_has(&rest, cpu))
			continue;
		if (!read_of_cpu(&set, tree, cpu, "package_cpus_list") &&
		    !read_of_cpu(&set, tree, cpu, "core_siblings_list")) {
			machine->packages_count = 0;
			return 0;
		}
		grown = spec_arena_grow(&machine->arena, machine->packages,
					machine->packages_count, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		machine->packages = grown;
		grown += machine->packages_count;
		memset(grown, 0, sizeof(*grown));
		grown->cpus = set;
		launch_cpuset_keep(&grown->cpus, &rest);
		launch_cpuset_remove(&rest, &set);
		grown->id = (uint32_t)machine->packages_count++;
	}
	return 0;
}

/* Where the NUMA nodes are gathered. */
struct gathering {
	struct spec_machine *machine;
	const struct launch_tree *tree;
	struct launch_cpuset rest; /* CPUs that are in none yet */
	int rc;
};

static bool take_node(const char *name, void *data)
{
	struct gathering *gathering = data;
	struct spec_machine *machine = gathering->machine;
	char text[LAUNCH_TREE_TEXT_MAX];
	struct spec_machine_group *grown;
	struct launch_cpuset set;
	unsigned int id;
	int end = 0;

	if (sscanf(name, "node%5u%n", &id, &end) != 1 || name[end] ||
	    launch_tree_read(gathering->tree, text, sizeof(text), NODE "/node%u/cpulist",
			     gathering->tree->sys, id) ||
	    launch_cpuset_parse(&set, text))
		return true;
	launch_cpuset_keep(&set, &gathering->rest);
	launch_cpuset_remove(&gathering->rest, &set);
	if (!launch_cpuset_count(&set))
		return true;
	grown = spec_arena_grow(&machine->arena, machine->numa, machine->numa_count,
				sizeof(*grown));
	if (!grown) {
		gathering->rc = -ENOMEM;
		return false;
	}
	machine->numa = grown;
	grown[machine->numa_count++] = (struct spec_machine_group){.id = id, .cpus = set};
	return true;
}

static int find_numa_nodes(struct spec_machine *machine, const struct launch_tree *tree)
{
	struct gathering gathering = {
		.machine = machine, .tree = tree, .rest = machine->cpus};

	launch_tree_list(tree, take_node, &gathering, NODE, tree->sys);
	if (gathering.rc == 0 && !machine->numa_count)
		return make_one_group(machine, &machine->numa, &machine->numa_count);
	if (gathering.rc == 0)
		qsort(machine->numa, machine->numa_count, sizeof(*machine->numa),
		      compare_groups);
	return gathering.rc;
}

/* The first COUNT devices of a recorded machine; tiles may be more than its GPUs. */
static int read_devices(const struct spec_machine *machine, uint32_t count,
			struct launch_gpus *gpus, struct launch_error *err)
{
	char list[LAUNCH_GPUS_MAX * 4] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < count && i < LAUNCH_GPUS_MAX; i++)
		used += (size_t)snprintf(
			list + used, sizeof(list) - used, "%s%u", i ? "," : "",
			count <= machine->gpus_count ? machine->gpus[i].index : i);
	return launch_gpus_read(gpus, list, 0, NULL, machine->root, err);
}

/* The GPUs of the drivers, in the order of launch_gpus_read(). */
static int find_gpus(struct spec_machine *machine, const struct launch_tree *tree)
{
	static void (*const sources[])(struct launch_cards * cards,
				       const struct launch_tree *tree) = {
		launch_cards_nvidia, launch_cards_amd, launch_cards_intel,
		launch_cards_pci};
	struct launch_error err = {0};
	struct launch_cards cards = {0};
	struct launch_gpus gpus;
	int rc;

	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && !cards.count; i++)
		sources[i](&cards, tree);
	rc = read_devices(machine, cards.count, &gpus, &err);
	if (rc < 0)
		return rc;
	machine->gpus = spec_arena_alloc(&machine->arena,
					 (gpus.count + 1) * sizeof(*machine->gpus));
	if (!machine->gpus)
		return -ENOMEM;
	for (uint32_t i = 0; i < gpus.count; i++)
		machine->gpus[i] = (struct spec_machine_gpu){
			.index = i,
			.local = gpus.gpu[i].located ? gpus.gpu[i].local : machine->cpus};
	machine->gpus_count = gpus.count;
	/* A tile may count for a device: launch_gpus_read() sees that by the list. */
	for (uint32_t i = 0; i < cards.count; i++)
		machine->devices += cards.card[i].tiles;
	machine->vendor = gpus.vendor;
	return 0;
}

/* The folder PATH, in which proc and sys are those of the machine. */
static int read_tree(struct spec_machine *machine, const char *path, struct diag *diag)
{
	__attribute__((cleanup(free_reading))) struct reading *reading =
		begin(machine, path, diag);
	char text[LAUNCH_TREE_TEXT_MAX];
	struct launch_tree tree;
	int rc;

	if (!reading)
		return -ENOMEM;
	if (strcmp(path, "/") == 0)
		machine->name = "this machine";
	machine->root = path;
	launch_tree_init(&tree, path);
	if (launch_tree_read(&tree, text, sizeof(text), "%s/devices/system/cpu/online",
			     tree.sys) ||
	    launch_cpuset_parse(&machine->cpus, text) ||
	    !launch_cpuset_count(&machine->cpus))
		return refuse(reading, NULL,
			      "no list of CPUs in sys/devices/system/cpu/online of this "
			      "folder; a recorded machine has the folders proc and sys, "
			      "and / is this one");
	rc = find_packages(reading, &tree);
	if (rc == 0)
		rc = find_numa_nodes(machine, &tree);
	/* As launch_gpus_read() has it: what is off a GPU's NUMA node is off its socket.
	 */
	if (rc == 0 && !machine->packages_count) {
		diag_add(diag, DIAG_NOTE, "machine", &(struct diag_place){.file = path},
			 "which CPUs share a socket or a core is not recorded "
			 "(cpu0/topology); each NUMA node counts as a socket");
		machine->packages = machine->numa;
		machine->packages_count = machine->numa_count;
	}
	if (rc == 0)
		rc = list_usable(reading, NULL);
	return rc ? rc : find_gpus(machine, &tree);
}

int spec_machine_read(struct spec_machine *machine, const char *path, struct diag *diag)
{
	struct stat status;
	char *text;
	size_t length;
	int rc;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return read_tree(machine, path, diag);
	rc = spec_file_read(path, &text, &length, diag);
	if (rc < 0)
		return rc;
	rc = spec_machine_read_text(machine, path, text, length, diag);
	free(text);
	return rc;
}

/* The CPUs of the sockets that LOCAL touches. */
static struct launch_cpuset sockets_of(const struct spec_machine *machine,
				       const struct launch_cpuset *local)
{
	struct launch_cpuset sockets = *local;

	for (size_t i = 0; i < machine->packages_count; i++) {
		if (first_of(local, &machine->packages[i].cpus, true) < LAUNCH_CPUS_MAX)
			launch_cpuset_join(&sockets, &machine->packages[i].cpus);
	}
	return sockets;
}

size_t spec_machine_package(const struct spec_machine *machine, uint32_t gpu)
{
	const struct launch_cpuset *local = &machine->gpus[gpu].local;
	uint32_t cpu = launch_cpuset_first(local);
	size_t package = 0;

	if (memcmp(local, &machine->cpus, sizeof(*local)) == 0 || cpu == LAUNCH_CPUS_MAX)
		return machine->packages_count;
	while (package < machine->packages_count &&
	       !launch_cpuset_has(&machine->packages[package].cpus, cpu))
		package++;
	return package;
}

static size_t count_usable(const struct spec_machine *machine, size_t package)
{
	size_t count = 0;

	for (size_t i = 0; i < machine->usable_count; i++)
		count += machine->usable[i].package == package;
	return count;
}

/* For sorting: the socket with most CPUs first, GPUs of no socket at last. */
static int compare_sockets(const struct spec_machine *machine, uint32_t a, uint32_t b)
{
	size_t left = spec_machine_package(machine, a);
	size_t right = spec_machine_package(machine, b);
	size_t more = count_usable(machine, left), less = count_usable(machine, right);

	if (more != less)
		return more > less ? -1 : 1;
	return (left > right) - (left < right);
}

/* Moves the COUNT GPUs that Slurm would give to the front; both parts stay in order. */
static void choose_gpus(struct spec_machine *machine, uint32_t count)
{
	struct spec_machine_gpu *gpus = machine->gpus;

	/* Few, and stable: by insertion. */
	for (uint32_t i = 1; i < machine->gpus_count; i++) {
		for (uint32_t j = i; j > 0 && compare_sockets(machine, j, j - 1) < 0;
		     j--) {
			struct spec_machine_gpu swap = gpus[j];

			gpus[j] = gpus[j - 1];
			gpus[j - 1] = swap;
		}
	}
	if (count < machine->gpus_count) {
		qsort(gpus, count, sizeof(*gpus), compare_gpus);
		gpus += count;
		count = machine->gpus_count - count;
	} else {
		count = machine->gpus_count;
	}
	qsort(gpus, count, sizeof(*gpus), compare_gpus);
}

int spec_machine_gpus(struct spec_machine *machine, uint32_t count,
		      struct launch_gpus *gpus, struct launch_error *err)
{
	memset(gpus, 0, sizeof(*gpus));
	if (count > LAUNCH_GPUS_MAX || count > machine->devices)
		return launch_error_set(err, -ENOSPC,
					"the job wants %u GPUs of a node, and %.60s has "
					"%u; ask for fewer, or give another --machine",
					count, machine->name, machine->devices);
	choose_gpus(machine, count);
	if (machine->root)
		return read_devices(machine, count, gpus, err);
	gpus->vendor = machine->vendor;
	for (; gpus->count < count; gpus->count++) {
		const struct spec_machine_gpu *from = &machine->gpus[gpus->count];
		struct launch_gpu *gpu = &gpus->gpu[gpus->count];

		snprintf(gpu->name, sizeof(gpu->name), "%u", from->index);
		/* As of what Linux says: all CPUs, or none, tell no task from another. */
		gpu->located =
			launch_cpuset_count(&from->local) &&
			memcmp(&from->local, &machine->cpus, sizeof(from->local)) != 0;
		gpu->local = gpu->node = from->local;
		gpu->socket = sockets_of(machine, &from->local);
	}
	return 0;
}

void spec_machine_clear(struct spec_machine *machine)
{
	spec_arena_free(&machine->arena);
	memset(machine, 0, sizeof(*machine));
}
