/* SPDX-License-Identifier: MIT */
/*
 * Reading where the GPUs of a node sit, beside what a plugin that asks hwloc for it would
 * do: load the topology with its PCI devices. Both read the same recorded machine in the
 * same process, in turn, so that the ratio holds while the machine's speed drifts. A
 * report, never a test; but it fails when hwloc does not find the machine in the tree.
 */
#include "tests/unit/launch/machine.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 25
#define AIM    20.0

/* Cores that share a cache of the third level, as on AMD's Rome. */
#define CORES_L3 4

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

/* A mask as the kernel prints it: words of 32 bits, the highest first. */
static void print_mask(const struct launch_cpuset *set, char *text, size_t size)
{
	size_t used = 0;

	for (int word = 15; word >= 0; word--)
		used += (size_t)snprintf(
			text + used, size - used, "%08x%s",
			(unsigned int)(set->bits[word / 2] >> (word % 2 * 32)),
			word ? "," : "\n");
}

static void write_text(const char *root, const char *directory, const char *name,
		       const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	machine_file(root, path, text);
}

static void write_mask(const char *root, const char *directory, const char *name,
		       const struct launch_cpuset *set)
{
	char text[256];

	print_mask(set, text, sizeof(text));
	write_text(root, directory, name, text);
}

static void write_number(const char *root, const char *directory, const char *name,
			 uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u\n", number);
	write_text(root, directory, name, text);
}

static void add_cpu(struct launch_cpuset *set, uint32_t cpu)
{
	set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

static void plant_cache(const char *root, uint32_t cpu, uint32_t index, uint32_t level,
			const char *type, const char *size,
			const struct launch_cpuset *shared)
{
	char directory[128];

	snprintf(directory, sizeof(directory),
		 "sys/devices/system/cpu/cpu%u/cache/index%u", cpu, index);
	write_number(root, directory, "level", level);
	write_text(root, directory, "type", type);
	write_text(root, directory, "size", size);
	write_number(root, directory, "coherency_line_size", 64);
	write_number(root, directory, "number_of_sets", 64);
	write_number(root, directory, "physical_line_partition", 1);
	write_mask(root, directory, "shared_cpu_map", shared);
}

/* CPUs i and i + half are the threads of core i. */
static void plant_cpu(const struct machine *machine, const char *root, uint32_t cpu,
		      uint32_t half)
{
	struct launch_cpuset core = {0}, third = {0};
	uint32_t first = cpu % half;
	char directory[128];

	add_cpu(&core, first);
	add_cpu(&core, first + half);
	for (uint32_t i = 0; i < CORES_L3; i++) {
		add_cpu(&third, first / CORES_L3 * CORES_L3 + i);
		add_cpu(&third, first / CORES_L3 * CORES_L3 + i + half);
	}
	snprintf(directory, sizeof(directory), "sys/devices/system/cpu/cpu%u/topology",
		 cpu);
	for (uint32_t i = 0; i < machine->npackages; i++) {
		if (!(machine->packages[i].bits[cpu / 64] >> (cpu % 64) & 1))
			continue;
		write_number(root, directory, "physical_package_id", i);
		write_mask(root, directory, "package_cpus", &machine->packages[i]);
		write_mask(root, directory, "core_siblings", &machine->packages[i]);
	}
	write_number(root, directory, "core_id", first);
	write_mask(root, directory, "core_cpus", &core);
	write_mask(root, directory, "thread_siblings", &core);
	plant_cache(root, cpu, 0, 1, "Data\n", "32K\n", &core);
	plant_cache(root, cpu, 1, 1, "Instruction\n", "32K\n", &core);
	plant_cache(root, cpu, 2, 2, "Unified\n", "512K\n", &core);
	plant_cache(root, cpu, 3, 3, "Unified\n", "16384K\n", &third);
}

static void plant_node(const char *root, uint32_t node, const struct launch_cpuset *cpus)
{
	char directory[64], text[128];

	snprintf(directory, sizeof(directory), "sys/devices/system/node/node%u", node);
	write_mask(root, directory, "cpumap", cpus);
	snprintf(text, sizeof(text), "Node %u MemTotal:       131072000 kB\n", node);
	write_text(root, directory, "meminfo", text);
}

/* A node for each set of CPUs that GPUs are near, and one for what a package has left. */
static uint32_t plant_nodes(const struct machine *machine, const char *root)
{
	uint32_t nodes = 0;

	for (uint32_t i = 0; i < machine->npackages; i++) {
		struct launch_cpuset rest = machine->packages[i];

		for (uint32_t j = 0; j < machine->ngpus; j++) {
			const struct launch_cpuset *local = &machine->gpu[j].local;
			uint32_t cpu = launch_cpuset_first(local);

			if (!(rest.bits[cpu / 64] >> (cpu % 64) & 1))
				continue;
			plant_node(root, nodes++, local);
			for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++)
				rest.bits[word] &= ~local->bits[word];
		}
		if (launch_cpuset_count(&rest))
			plant_node(root, nodes++, &rest);
	}
	return nodes;
}

static void plant_pci(const struct machine *machine, const char *root)
{
	for (uint32_t i = 0; i < machine->ngpus; i++) {
		const struct machine_gpu *gpu = &machine->gpu[i];
		char directory[128];

		snprintf(directory, sizeof(directory), "sys/bus/pci/devices/%s",
			 gpu->bus);
		write_text(root, directory, "class", "0x030200\n");
		write_text(root, directory, "vendor", "0x10de\n");
		write_text(root, directory, "device", "0x20b0\n");
		write_mask(root, directory, "local_cpus", &gpu->local);
	}
}

/* What hwloc wants to know besides. Returns the number of CPUs. */
static uint32_t plant_rest(const struct machine *machine, const char *root)
{
	char text[32];
	uint32_t cpus = 0, nodes = plant_nodes(machine, root);

	for (uint32_t i = 0; i < machine->npackages; i++)
		cpus += launch_cpuset_count(&machine->packages[i]);
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		plant_cpu(machine, root, cpu, cpus / 2);
	plant_pci(machine, root);
	snprintf(text, sizeof(text), "0-%u\n", cpus - 1);
	machine_file(root, "sys/devices/system/cpu/possible", text);
	snprintf(text, sizeof(text), "0-%u\n", nodes - 1);
	machine_file(root, "sys/devices/system/node/online", text);
	machine_file(root, "sys/devices/system/node/possible", text);
	machine_file(root, "proc/cpuinfo", "processor\t: 0\nmodel name\t: recorded\n");
	return cpus;
}

/* Loads the topology; false when it is not the machine of CPUS and NGPUS. */
static bool load_topology(uint32_t cpus, uint32_t ngpus)
{
	hwloc_topology_t topology;
	uint32_t pus = 0, devices = 0;

	if (hwloc_topology_init(&topology))
		return false;
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	if (hwloc_topology_load(topology) == 0) {
		pus = (uint32_t)hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
		devices = (uint32_t)hwloc_get_nbobjs_by_type(topology,
							     HWLOC_OBJ_PCI_DEVICE);
	}
	hwloc_topology_destroy(topology);
	if (pus != cpus || devices < ngpus)
		fprintf(stderr, "hwloc: %u of %u CPUs, %u of %u GPUs\n", pus, cpus,
			devices, ngpus);
	return pus == cpus && devices >= ngpus;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare_doubles);
	return values[ROUNDS / 2];
}

static bool measure(const struct machine *machine, const char *root, uint32_t cpus)
{
	static struct launch_gpus gpus;
	static double ours[ROUNDS], theirs[ROUNDS], ratios[ROUNDS];
	struct launch_error err = {{0}};
	char list[64];

	machine_list(machine, list, sizeof(list));
	for (int i = 0; i < ROUNDS; i++) {
		double start = now();

		if (launch_gpus_read(&gpus, list, 0, NULL, root, &err) ||
		    !gpus.gpu[0].located)
			return false;
		ours[i] = now() - start;
		start = now();
		if (!load_topology(cpus, machine->ngpus))
			return false;
		theirs[i] = now() - start;
		ratios[i] = theirs[i] / ours[i];
	}
	printf("places of %u GPUs among %u CPUs, microseconds, median of %d:\n",
	       machine->ngpus, cpus, ROUNDS);
	printf("  read from /proc and /sys %20.1f\n", median(ours));
	printf("  hwloc %s, with PCI %18.1f\n", HWLOC_VERSION, median(theirs));
	printf("  paired ratio %32.1f (aim, at least: %.0f)\n", median(ratios), AIM);
	return true;
}

int main(int argc, char **argv)
{
	static struct machine machine;
	char root[256];
	bool ok;

	if (argc != 2) {
		fprintf(stderr, "usage: %s MACHINE.txt\n", argv[0]);
		return 2;
	}
	machine_read(&machine, argv[1]);
	machine_plant(&machine, root, sizeof(root));
	setenv("HWLOC_FSROOT", root, 1);
	setenv("HWLOC_COMPONENTS", "linux,stop", 1);
	ok = measure(&machine, root, plant_rest(&machine, root));
	machine_uproot(root);
	return ok ? 0 : 1;
}
