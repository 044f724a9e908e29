/* SPDX-License-Identifier: MIT */
/*
 * Reads the recorded machines and makes trees of them.
 */
#include "tests/unit/launch/machine.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void read_cpus(struct launch_cpuset *set, const char *text)
{
	assert_int_equal(launch_cpuset_parse(set, text), 0);
}

static bool read_gpu(struct machine *machine, const char *line)
{
	struct machine_gpu *gpu = &machine->gpu[machine->ngpus];

	if (sscanf(line, "gpu %u %23s %511s %63s", &gpu->index, gpu->bus, gpu->cpus,
		   gpu->chiplet) < 3) {
		if (sscanf(line, "other %23s %511s", gpu->bus, gpu->cpus) != 2)
			return false;
		gpu->other = true;
	}
	read_cpus(&gpu->node, gpu->cpus);
	read_cpus(&gpu->local, gpu->chiplet[0] ? gpu->chiplet : gpu->cpus);
	machine->ngpus++;
	return true;
}

static bool read_task(struct machine *machine, const char *line)
{
	struct machine_case *steps = &machine->cases[machine->ncases - 1];
	char cpus[512];

	if (!machine->ncases || steps->ntasks == 16 ||
	    sscanf(line, "%511s %31s", cpus, steps->gpus[steps->ntasks]) != 2)
		return false;
	read_cpus(&steps->masks[steps->ntasks++], cpus);
	return true;
}

void machine_read(struct machine *machine, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[1024];

	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	memset(machine, 0, sizeof(*machine));
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "vendor %7s", machine->vendor) == 1 ||
		    sscanf(line, "board %31[^\n]", machine->board) == 1)
			continue;
		if (machine->npackages < 4 &&
		    sscanf(line, "package %511s", machine->package[machine->npackages]) ==
			    1) {
			read_cpus(&machine->packages[machine->npackages],
				  machine->package[machine->npackages]);
			machine->npackages++;
			continue;
		}
		if (machine->ncases < MACHINE_CASES &&
		    sscanf(line, "case %127[^\n]",
			   machine->cases[machine->ncases].label) == 1) {
			machine->ncases++;
			continue;
		}
		if (machine->ngpus < 17 && read_gpu(machine, line))
			continue;
		if (!read_task(machine, line))
			fail_msg("%s: cannot read \"%s\"", path, line);
	}
	fclose(file);
}

static bool intersects(const struct launch_cpuset *a, const struct launch_cpuset *b)
{
	for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++) {
		if (a->bits[word] & b->bits[word])
			return true;
	}
	return false;
}

struct launch_cpuset machine_socket(const struct machine *machine,
				    const struct launch_cpuset *local)
{
	struct launch_cpuset socket = {0};

	for (uint32_t i = 0; i < machine->npackages; i++) {
		if (!intersects(local, &machine->packages[i]))
			continue;
		for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++)
			socket.bits[word] |= machine->packages[i].bits[word];
	}
	return socket;
}

void machine_list(const struct machine *machine, char *list, size_t size)
{
	size_t used = 0;

	for (uint32_t i = 0; i < machine->ngpus; i++)
		if (!machine->gpu[i].other)
			used += (size_t)snprintf(list + used, size - used, "%s%u",
						 used ? "," : "", machine->gpu[i].index);
}

void machine_root(char *root, size_t size)
{
	const char *directory = getenv("TMPDIR");

	snprintf(root, size, "%s/srank-machine-XXXXXX", directory ? directory : "/tmp");
	assert_non_null(mkdtemp(root));
}

void machine_file(const char *root, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/'));
	     slash++) {
		*slash = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			fail_msg("%s: %s", path, strerror(errno));
		*slash = '/';
	}
	file = fopen(path, "we");
	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void plant_nvidia(const struct machine *machine, const char *root, uint32_t i)
{
	const struct machine_gpu *gpu = &machine->gpu[i];
	char name[256], text[1024];

	snprintf(name, sizeof(name), "proc/driver/nvidia/gpus/%s/information", gpu->bus);
	snprintf(text, sizeof(text),
		 "Model: \t\t NVIDIA A100-SXM4-40GB\n"
		 "IRQ:   \t\t %u\n"
		 "GPU UUID: \t GPU-%08x-0000-1111-2222-333344445555\n"
		 "Video BIOS: \t 92.00.19.00.0c\n"
		 "Bus Type: \t PCIe\n"
		 "DMA Size: \t 47 bits\n"
		 "DMA Mask: \t 0x7fffffffffff\n"
		 "Bus Location: \t %s\n"
		 "Device Minor: \t %u\n"
		 "GPU Firmware: \t 535.129.03\n"
		 "GPU Excluded:\t No\n",
		 300 + i, 0xc0ffee00 + i, gpu->bus, machine->ngpus - 1 - i);
	machine_file(root, name, text);
}

void machine_kfd(const char *root, uint32_t node, uint32_t gpu_id, const char *bus,
		 uint32_t partition, unsigned long long unique_id, uint32_t minor)
{
	unsigned int domain = 0, number = 0, device = 0, function = 0;
	char name[256], text[1024];

	snprintf(name, sizeof(name), "sys/class/kfd/kfd/topology/nodes/%u/gpu_id", node);
	snprintf(text, sizeof(text), "%u\n", gpu_id);
	machine_file(root, name, text);
	if (gpu_id)
		assert_int_equal(
			sscanf(bus, "%x:%x:%x.%x", &domain, &number, &device, &function),
			4);
	snprintf(name, sizeof(name), "sys/class/kfd/kfd/topology/nodes/%u/properties",
		 node);
	snprintf(text, sizeof(text),
		 "cpu_cores_count %u\n"
		 "simd_count %u\n"
		 "mem_banks_count 1\n"
		 "max_waves_per_simd 8\n"
		 "vendor_id %u\n"
		 "device_id 29704\n"
		 "location_id %u\n"
		 "domain %u\n"
		 "drm_render_minor %u\n"
		 "hive_id 7262117434923061\n"
		 "unique_id %llu\n",
		 gpu_id ? 0 : 64, gpu_id ? 440 : 0, gpu_id ? 4098 : 0,
		 number << 8 | device << 3 | function | partition, domain, minor,
		 unique_id);
	machine_file(root, name, text);
}

void machine_drm(const char *root, const char *entry, const char *bus, const char *id)
{
	char name[256], text[1024];

	snprintf(name, sizeof(name), "sys/class/drm/%s/device/uevent", entry);
	snprintf(text, sizeof(text),
		 "DRIVER=i915\nPCI_CLASS=38000\nPCI_ID=%s\nPCI_SUBSYS_ID=8086:0000\n"
		 "PCI_SLOT_NAME=%s\nMODALIAS=pci:v00008086d00000BD5\n",
		 id, bus);
	machine_file(root, name, text);
}

/* As i915 shows a GPU of two tiles: its engines have a directory each. */
static void plant_intel(const char *root, uint32_t i, const char *bus)
{
	char name[64];

	snprintf(name, sizeof(name), "renderD%u", 128 + i);
	machine_drm(root, name, bus, "8086:0BD5");
	/* Number 0 is the BMC's. */
	snprintf(name, sizeof(name), "card%u", 1 + i);
	machine_drm(root, name, bus, "8086:0BD5");
	for (uint32_t tile = 0; tile < 2; tile++) {
		snprintf(name, sizeof(name), "sys/class/drm/card%u/gt/gt%u/id", 1 + i,
			 tile);
		machine_file(root, name, "0\n");
	}
}

static void plant_gpu(const struct machine *machine, const char *root, uint32_t i)
{
	const struct machine_gpu *gpu = &machine->gpu[i];
	struct launch_cpuset socket = machine_socket(machine, &gpu->node);
	char name[256], text[1024];

	if (strcmp(machine->vendor, "nvidia") == 0)
		plant_nvidia(machine, root, i);
	else if (strcmp(machine->vendor, "amd") == 0)
		machine_kfd(root, machine->npackages + i, 51000 + i, gpu->bus, 0,
			    0xfeed00000000ULL + i, 128 + i);
	else
		plant_intel(root, i, gpu->bus);
	snprintf(name, sizeof(name), "sys/bus/pci/devices/%s/local_cpulist", gpu->bus);
	snprintf(text, sizeof(text), "%s\n", gpu->cpus);
	machine_file(root, name, text);
	for (uint32_t j = 0; j < machine->npackages; j++) {
		struct launch_cpuset part = machine->packages[j];

		for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++)
			part.bits[word] &= socket.bits[word] & gpu->node.bits[word];
		if (launch_cpuset_first(&part) == LAUNCH_CPUS_MAX)
			continue;
		snprintf(name, sizeof(name),
			 "sys/devices/system/cpu/cpu%u/topology/package_cpus_list",
			 launch_cpuset_first(&part));
		snprintf(text, sizeof(text), "%s\n", machine->package[j]);
		machine_file(root, name, text);
	}
	if (gpu->chiplet[0]) {
		snprintf(name, sizeof(name),
			 "sys/devices/system/cpu/cpu%u/cache/index3/shared_cpu_list",
			 launch_cpuset_first(&gpu->local));
		machine_file(root, name, gpu->chiplet);
	}
}

void machine_plant(const struct machine *machine, char *root, size_t size)
{
	struct launch_cpuset all = {0};
	char online[LAUNCH_CPUS_MAX];

	machine_root(root, size);
	if (machine->board[0])
		machine_file(root, "sys/class/dmi/id/board_name", machine->board);
	if (strcmp(machine->vendor, "amd") == 0)
		for (uint32_t i = 0; i < machine->npackages; i++)
			machine_kfd(root, i, 0, NULL, 0, 0, 0);
	for (uint32_t i = 0; i < machine->ngpus; i++)
		plant_gpu(machine, root, i);
	for (uint32_t i = 0; i < machine->npackages; i++)
		for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++)
			all.bits[word] |= machine->packages[i].bits[word];
	launch_cpuset_text(&all, online, sizeof(online) - 1);
	strcat(online, "\n");
	machine_file(root, "sys/devices/system/cpu/online", online);
}

static int remove_entry(const char *path, const struct stat *status, int type,
			struct FTW *walk)
{
	return remove(path);
}

void machine_uproot(const char *root)
{
	assert_int_equal(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}
