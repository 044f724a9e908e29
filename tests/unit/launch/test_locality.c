/* SPDX-License-Identifier: MIT */
/*
 * Reading the trees of /proc and /sys: every recorded machine, whole and with its parts
 * missing, and the lists that Slurm gives.
 */
#include "tests/unit/launch/machine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Four GPUs on four NUMA nodes of one socket, against the order of the cores. */
#define PERLMUTTER        "machines/perlmutter.txt"
#define PERLMUTTER_GPU(n) "proc/driver/nvidia/gpus/0000:" n ":00.0/information"

/* ROCm's order is neither that of the addresses nor that of the NUMA nodes. */
#define ROME "machines/rccl_rome_nps4_8gpu.txt"

static struct launch_gpus gpus;
static struct machine machine;
static char root[128];

/* What a device cgroup would deny: ends of file names, separated by blanks. */
static const char *denied = "";

/* Those that Slurm has set. */
static uint32_t variables;

static bool is_denied(const char *path)
{
	char list[256], *save = NULL;

	snprintf(list, sizeof(list), "%s", denied);
	for (char *end = strtok_r(list, " ", &save); end;
	     end = strtok_r(NULL, " ", &save)) {
		size_t length = strlen(path), tail = strlen(end);

		if (length >= tail && strcmp(path + length - tail, end) == 0)
			return true;
	}
	return false;
}

/* The linker puts these two in the place of the system's (--wrap). */
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);

int __wrap_access(const char *path, int mode)
{
	if (!is_denied(path))
		return __real_access(path, mode);
	errno = EPERM;
	return -1;
}

/* The topology of AMD's driver opens for everybody and then says nothing. */
ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	char link[64], path[512];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length < 0 ? 0 : length] = '\0';
	if (!is_denied(path))
		return __real_read(fd, buffer, size);
	errno = EPERM;
	return -1;
}

static int plant(void **state)
{
	machine_read(&machine, PERLMUTTER);
	machine_plant(&machine, root, sizeof(root));
	return 0;
}

static int plant_lumi(void **state)
{
	machine_read(&machine, "machines/lumi_g.txt");
	machine_plant(&machine, root, sizeof(root));
	return 0;
}

static int plant_rome(void **state)
{
	machine_read(&machine, ROME);
	machine_plant(&machine, root, sizeof(root));
	return 0;
}

static int plant_nothing(void **state)
{
	machine_root(root, sizeof(root));
	machine_file(root, "sys/devices/system/cpu/online", "0-63\n");
	return 0;
}

static int uproot(void **state)
{
	denied = "";
	variables = 0;
	machine_uproot(root);
	return 0;
}

static void read_ok(const char *list, const char *step_gpus)
{
	struct launch_error err = {{0}};

	memset(&gpus, 0xa5, sizeof(gpus));
	assert_int_equal(launch_gpus_read(&gpus, list, variables, step_gpus, root, &err),
			 0);
	assert_string_equal(err.text, "");
}

/* What stands for a GPU that is not located. */
#define ANY "any"

static void expect_local(uint32_t gpu, const char *name, const char *cpus)
{
	char text[256];

	assert_true(gpu < gpus.count);
	assert_string_equal(gpus.gpu[gpu].name, name);
	if (strcmp(cpus, ANY) == 0) {
		assert_false(gpus.gpu[gpu].located);
		return;
	}
	assert_true(gpus.gpu[gpu].located);
	launch_cpuset_text(&gpus.gpu[gpu].local, text, sizeof(text));
	assert_string_equal(text, cpus);
}

/* A list of Slurm's, SLURM_STEP_GPUS, and the CPUs near each token's GPU. */
static void finds_gpus_of_tokens(void **state)
{
	static const char *const near[] = {"48-63,112-127", "32-47,96-111", "16-31,80-95",
					   "0-15,64-79"};
	static const struct {
		const char *list;
		const char *step_gpus;
		uint32_t count;
		const char *names[4];
		int gpu[4]; /* -1: not located */
	} cases[] = {
		{"0,1,2,3", NULL, 4, {"0", "1", "2", "3"}, {0, 1, 2, 3}},
		{"0,1,2,3", "0,1,2,3", 4, {"0", "1", "2", "3"}, {0, 1, 2, 3}},
		/* The node's own numbers, without a device cgroup. */
		{"2,3", "2,3", 2, {"2", "3"}, {2, 3}},
		{"3", NULL, 1, {"3"}, {3}},
		/* Numbers from 0 behind a device cgroup. */
		{"0,1", "2,3", 2, {"0", "1"}, {2, 3}},
		{"0", "3", 1, {"0"}, {3}},
		/* A list of another length says nothing about this one. */
		{"0,1", "2", 2, {"0", "1"}, {0, 1}},
		{"0,1", "", 2, {"0", "1"}, {0, 1}},
		/* More than the driver has. */
		{"3,4", NULL, 2, {"3", "4"}, {3, -1}},
		{"18446744073709551617", NULL, 1, {"18446744073709551617"}, {-1}},
		/* UUIDs, whole and a unique beginning; the pair may help out. */
		{"GPU-c0ffee02-0000-1111-2222-333344445555",
		 NULL,
		 1,
		 {"GPU-c0ffee02-0000-1111-2222-333344445555"},
		 {2}},
		{"GPU-C0FFEE01,GPU-c0ffee03",
		 NULL,
		 2,
		 {"GPU-C0FFEE01", "GPU-c0ffee03"},
		 {1, 3}},
		{"GPU-c0ffee", NULL, 1, {"GPU-c0ffee"}, {-1}},
		{"GPU-deadbeef", "1", 1, {"GPU-deadbeef"}, {1}},
		{"GPU-deadbeef", NULL, 1, {"GPU-deadbeef"}, {-1}},
		/* MIG instances: the old names tell the parent. */
		{"MIG-GPU-c0ffee02-0000-1111-2222-333344445555/1/0",
		 "0",
		 1,
		 {"MIG-GPU-c0ffee02-0000-1111-2222-333344445555/1/0"},
		 {2}},
		{"MIG-7e8f02ce-2f2c-5c1e-8d1a-5d0c7f2b2b6a",
		 "0",
		 1,
		 {"MIG-7e8f02ce-2f2c-5c1e-8d1a-5d0c7f2b2b6a"},
		 {-1}},
		/* Not names that anybody gives, but they harm nothing. */
		{"GPU-", NULL, 1, {"GPU-"}, {-1}},
		{"-1", NULL, 1, {"-1"}, {-1}},
		{"1x", NULL, 1, {"1x"}, {-1}},
		{",,1,,", NULL, 1, {"1"}, {1}},
		{" 1 ,\t3 , ", "1, 3", 2, {"1", "3"}, {1, 3}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		print_message("# %s\n", cases[i].list);
		read_ok(cases[i].list, cases[i].step_gpus);
		assert_int_equal(gpus.count, cases[i].count);
		for (uint32_t j = 0; j < gpus.count; j++)
			expect_local(j, cases[i].names[j],
				     cases[i].gpu[j] < 0 ? ANY : near[cases[i].gpu[j]]);
	}
}

static void takes_no_list(void **state)
{
	read_ok(NULL, NULL);
	assert_int_equal(gpus.count, 0);
	read_ok("", "0,1");
	assert_int_equal(gpus.count, 0);
	read_ok(",", NULL);
	assert_int_equal(gpus.count, 0);
}

static void tells_the_vendor(void **state)
{
	read_ok("0", NULL);
	assert_int_equal(gpus.vendor, LAUNCH_VENDOR_NVIDIA);
	/* Eight devices of gres.conf that are none of the driver's four. */
	read_ok("4,5,6,7", NULL);
	assert_int_equal(gpus.vendor, LAUNCH_VENDOR_UNKNOWN);
	read_ok("MIG-7e8f02ce-2f2c-5c1e-8d1a-5d0c7f2b2b6a", NULL);
	assert_int_equal(gpus.vendor, LAUNCH_VENDOR_NVIDIA);
}

/* A node with four GPUs of NVIDIA's and two of AMD's, each kind with its own variable. */
static void goes_by_the_variable(void **state)
{
	static const struct {
		uint32_t variables;
		const char *list;
		enum launch_vendor vendor;
		const char *first;
	} rows[] = {
		{0, "0,1", LAUNCH_VENDOR_NVIDIA, "48-63,112-127"},
		{1 << LAUNCH_GPU_CUDA, "0,1", LAUNCH_VENDOR_NVIDIA, "48-63,112-127"},
		{1 << LAUNCH_GPU_ROCR, "0,1", LAUNCH_VENDOR_AMD, "5"},
		{1 << LAUNCH_GPU_ROCR | 1 << LAUNCH_GPU_ORDINAL, "0,1", LAUNCH_VENDOR_AMD,
		 "5"},
		{15, "0,1", LAUNCH_VENDOR_NVIDIA, "48-63,112-127"},
		/* None of theirs, or more than they are: flags that are wrong. */
		{1 << LAUNCH_GPU_ZE, "0,1", LAUNCH_VENDOR_NVIDIA, "48-63,112-127"},
		{1 << LAUNCH_GPU_ORDINAL, "0,1", LAUNCH_VENDOR_NVIDIA, "48-63,112-127"},
		{1 << LAUNCH_GPU_ROCR, "0,1,2", LAUNCH_VENDOR_NVIDIA, "48-63,112-127"},
	};

	for (int i = 0; i < 2; i++) {
		char name[96], text[64];

		snprintf(name, sizeof(name), "sys/class/kfd/kfd/topology/nodes/%d/gpu_id",
			 i);
		machine_file(root, name, "77\n");
		snprintf(name, sizeof(name),
			 "sys/class/kfd/kfd/topology/nodes/%d/properties", i);
		snprintf(text, sizeof(text), "location_id %d\ndomain 0\n",
			 (0x50 + i) << 8);
		machine_file(root, name, text);
		snprintf(name, sizeof(name),
			 "sys/bus/pci/devices/0000:%02x:00.0/local_cpulist", 0x50 + i);
		machine_file(root, name, i ? "6\n" : "5\n");
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		print_message("# row %zu\n", i);
		variables = rows[i].variables;
		read_ok(rows[i].list, NULL);
		assert_int_equal(gpus.vendor, rows[i].vendor);
		expect_local(0, "0", rows[i].first);
	}
}

static void passes_over_excluded_gpus(void **state)
{
	/* Programs see the other three, and count those. */
	machine_file(root, PERLMUTTER_GPU("41"),
		     "Model: \t\t NVIDIA A100-SXM4-40GB\nGPU Excluded:\t Yes\n");
	read_ok("0,1,2", NULL);
	expect_local(0, "0", "48-63,112-127");
	expect_local(1, "1", "16-31,80-95");
	expect_local(2, "2", "0-15,64-79");
	machine_file(root, PERLMUTTER_GPU("41"), "Blacklisted:\t Yes\n");
	read_ok("1", NULL);
	expect_local(0, "1", "16-31,80-95");
	machine_file(root, PERLMUTTER_GPU("41"), "Blacklisted:\t No\n");
	read_ok("1", NULL);
	expect_local(0, "1", "32-47,96-111");
}

static void sorts_by_domain_first(void **state)
{
	/* Hexadecimal, as are the domains of POWER 9 and of Intel's VMD. */
	machine_file(root, "proc/driver/nvidia/gpus/10000:01:00.0/information", "");
	machine_file(root, "sys/bus/pci/devices/10000:01:00.0/local_cpulist", "7\n");
	machine_file(root, "proc/driver/nvidia/gpus/000a:f1:00.0/information", "");
	machine_file(root, "sys/bus/pci/devices/000a:f1:00.0/local_cpulist", "8\n");
	machine_file(root, "proc/driver/nvidia/gpus/0000:41:1f.7/information", "");
	machine_file(root, "sys/bus/pci/devices/0000:41:1f.7/local_cpulist", "9\n");
	/* Names that are no addresses are none of ours. */
	machine_file(root, "proc/driver/nvidia/gpus/0000:00:00.0x/information", "");
	machine_file(root, "proc/driver/nvidia/gpus/ 000:00:00.0/information", "");
	machine_file(root, "proc/driver/nvidia/gpus/version", "");
	read_ok("0,1,2,3,4,5,6", NULL);
	expect_local(0, "0", "48-63,112-127");
	expect_local(1, "1", "32-47,96-111");
	expect_local(2, "2", "9");
	expect_local(3, "3", "16-31,80-95");
	expect_local(4, "4", "0-15,64-79");
	expect_local(5, "5", "8");
	expect_local(6, "6", "7");
}

static void does_without_missing_files(void **state)
{
	char text[64];

	static const char *const odd[] = {"", "\n", "x\n", "0-", "0-15,9999", "3-1\n"};

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		machine_file(root, "sys/bus/pci/devices/0000:03:00.0/local_cpulist",
			     odd[i]);
		read_ok("0,1", NULL);
		assert_int_equal(gpus.vendor, LAUNCH_VENDOR_NVIDIA);
		expect_local(0, "0", ANY);
		expect_local(1, "1", "32-47,96-111");
	}
	/* Too long a list would be cut inside a number. */
	for (size_t length = 16382; length <= 16386; length += 2) {
		static char list[16387];

		memset(list, 0, sizeof(list));
		for (size_t i = 0; i < length; i += 2)
			memcpy(list + i, "5,", 2);
		list[length - 1] = '\n';
		machine_file(root, "sys/bus/pci/devices/0000:03:00.0/local_cpulist",
			     list);
		read_ok("0", NULL);
		expect_local(0, "0", length < 16384 ? "5" : ANY);
	}
	/*
	 * Without packages the socket is what is near; with the older name it is known.
	 */
	machine_file(root, "sys/devices/system/cpu/cpu32/topology/package_cpus_list",
		     "x");
	read_ok("1", NULL);
	launch_cpuset_text(&gpus.gpu[0].socket, text, sizeof(text));
	assert_string_equal(text, "32-47,96-111");
	machine_file(root, "sys/devices/system/cpu/cpu40/topology/core_siblings_list",
		     "0-127\n");
	machine_file(root, "sys/bus/pci/devices/0000:41:00.0/local_cpulist", "40-47\n");
	read_ok("1", NULL);
	launch_cpuset_text(&gpus.gpu[0].socket, text, sizeof(text));
	assert_string_equal(text, "0-127");
	/* A list that leaves its own CPU out must not be asked for ever. */
	machine_file(root, "sys/devices/system/cpu/cpu40/topology/core_siblings_list",
		     "0\n");
	read_ok("1", NULL);
	launch_cpuset_text(&gpus.gpu[0].socket, text, sizeof(text));
	assert_string_equal(text, "0,40-47");
}

/* NUMA node 5 has no CPUs: which of 0, 2 and 7, that have, is the nearest, and how far.
 */
static void takes_the_nearest_cpus(void **state)
{
	static const struct {
		const char *online, *distance, *cpus;
	} rows[] = {
		{"0,2,5,7\n", "32 12 10 32\n", "16-31"},
		{"0,2,5,7\n", "32 20 10 12\n", "32-47"},
		/* Two are as near. */
		{"0,2,5,7\n", "20 20 10 32\n", "0-31"},
		/* Node 9 is not there, so that its distance says nothing. */
		{"0,2,5,7,9\n", "20 32 10 32 11\n", "0-15"},
		{"0,2,5,7\n", "32 12\n", "16-31"},
		{"0,2,5,7\n", "x\n", ANY},
		{"0-\n", "32 12 10 32\n", ANY},
		{"5\n", "10\n", ANY},
	};

	machine_file(root, "proc/driver/nvidia/gpus/0000:03:00.0/information", "");
	machine_file(root, "sys/bus/pci/devices/0000:03:00.0/local_cpulist", "\n");
	read_ok("0", NULL);
	expect_local(0, "0", ANY);
	machine_file(root, "sys/bus/pci/devices/0000:03:00.0/numa_node", "5\n");
	read_ok("0", NULL);
	expect_local(0, "0", ANY);
	machine_file(root, "sys/devices/system/node/node0/cpulist", "0-15\n");
	machine_file(root, "sys/devices/system/node/node2/cpulist", "16-31\n");
	machine_file(root, "sys/devices/system/node/node5/cpulist", "\n");
	machine_file(root, "sys/devices/system/node/node7/cpulist", "32-47\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		machine_file(root, "sys/devices/system/node/online", rows[i].online);
		machine_file(root, "sys/devices/system/node/node5/distance",
			     rows[i].distance);
		read_ok("0", NULL);
		expect_local(0, "0", rows[i].cpus);
	}
	machine_file(root, "sys/devices/system/node/online", rows[0].online);
	machine_file(root, "sys/devices/system/node/node5/distance", rows[0].distance);
	machine_file(root, "sys/bus/pci/devices/0000:03:00.0/numa_node", "-1\n");
	read_ok("0", NULL);
	expect_local(0, "0", ANY);
}

static void takes_an_empty_tree(void **state)
{
	char kept[sizeof(root)];

	memcpy(kept, root, sizeof(root));
	machine_root(root, sizeof(root));
	read_ok("0,1", NULL);
	assert_int_equal(gpus.vendor, LAUNCH_VENDOR_UNKNOWN);
	expect_local(0, "0", ANY);
	expect_local(1, "1", ANY);
	machine_uproot(root);
	read_ok("0", NULL);
	expect_local(0, "0", ANY);
	memset(root, 'x', sizeof(root) - 1);
	read_ok("0", NULL);
	expect_local(0, "0", ANY);
	memcpy(root, kept, sizeof(root));
}

/* A list of Slurm's and the CPUs near each of its GPUs, as on ROME's NUMA nodes. */
struct row {
	const char *list;
	const char *step_gpus;
	const char *denied;
	int node[8]; /* NUMA node of each GPU; -1: not located; ended by END */
};

#define END 99

static void expect_nodes(const struct row *row, const char *const *nodes)
{
	uint32_t count = 0;

	print_message("# %s, SLURM_STEP_GPUS %s, denied %s\n", row->list,
		      row->step_gpus ? row->step_gpus : "unset",
		      row->denied ? row->denied : "nothing");
	denied = row->denied ? row->denied : "";
	read_ok(row->list, row->step_gpus);
	for (; count < 8 && row->node[count] != END; count++) {
		assert_true(count < gpus.count);
		expect_local(count, gpus.gpu[count].name,
			     row->node[count] < 0 ? ANY : nodes[row->node[count]]);
	}
	assert_int_equal(gpus.count, count);
	denied = "";
}

/* The driver's nodes 0 and 1 are the processors, 2 to 9 the GPUs. */
static void counts_amd_as_rocm_does(void **state)
{
	static const char *const nodes[] = {"0-15",  "16-31", "32-47",  "48-63",
					    "64-79", "80-95", "96-111", "112-127"};
	static const struct row rows[] = {
		{"0,1,2,3,4,5,6,7", NULL, NULL, {1, 2, 2, 3, 5, 5, 6, 7}},
		{"6,3", NULL, NULL, {6, 3, END}},
		/* Under the constraint of cgroup v2, which we are not. */
		{"0,1", "3,6", NULL, {3, 6, END}},
		/* Of v1, which we are: node 5 is GPU 3, node 8 is GPU 6. */
		{"0,1",
		 "3,6",
		 "2/gpu_id 3/gpu_id 4/gpu_id 6/gpu_id 7/gpu_id 9/gpu_id",
		 {3, 6, END}},
		{"0,1", NULL, "2/gpu_id 4/gpu_id", {2, 3, END}},
		/* Another device than we can see: the node's own number tells. */
		{"3",
		 "7",
		 "2/gpu_id 3/gpu_id 4/gpu_id 5/gpu_id 6/gpu_id 7/gpu_id",
		 {7, END}},
		/* What the topology shows, the render node may deny. */
		{"0", NULL, "/renderD128 /renderD129 /renderD130", {3, END}},
		/* UUIDs are 16 digits, or a beginning of them that no other GPU has. */
		{"GPU-0000feed00000006,GPU-0000FEED00000003", NULL, NULL, {6, 3, END}},
		{"GPU-0000feed0000000", NULL, NULL, {-1, END}},
		{"GPU-0000feed00000006", "5", "2/gpu_id", {6, END}},
		{"8", NULL, NULL, {-1, END}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		expect_nodes(&rows[i], nodes);
		assert_int_equal(gpus.vendor, LAUNCH_VENDOR_AMD);
	}
	/* More devices than AMD's driver has: they are somebody else's. */
	read_ok("0,1,2,3,4,5,6,7,8", NULL);
	assert_int_equal(gpus.vendor, LAUNCH_VENDOR_UNKNOWN);
	/* A driver without the topology's properties knows nothing of places. */
	machine_file(root, "sys/class/kfd/kfd/topology/nodes/4/properties", "");
	machine_file(root, "sys/class/kfd/kfd/topology/nodes/5/properties",
		     "location_id 4294967295\ndomain 4294967295\n");
	read_ok("1,2,3,4", NULL);
	expect_local(0, "1", "32-47");
	expect_local(1, "2", ANY);
	expect_local(2, "3", ANY);
	expect_local(3, "4", "80-95");
}

/* On this board each GPU is beside one chiplet of eight cores, of two in its NUMA node.
 */
static void knows_the_board_of_lumi(void **state)
{
	static const char *const chiplets[] = {
		"48-55,112-119", "56-63,120-127", "16-23,80-87",  "24-31,88-95",
		"0-7,64-71",     "8-15,72-79",    "32-39,96-103", "40-47,104-111"};
	static const struct row row = {
		"0,1,2,3,4,5,6,7", NULL, NULL, {0, 1, 2, 3, 4, 5, 6, 7}};
	char text[64];

	expect_nodes(&row, chiplets);
	launch_cpuset_text(&gpus.gpu[0].node, text, sizeof(text));
	assert_string_equal(text, "48-63,112-127");
	/* The firmware that puts the GPUs of NUMA node 2 on node 0. */
	machine_file(root, "sys/bus/pci/devices/0000:d9:00.0/local_cpulist",
		     "0-15,64-79\n");
	expect_nodes(&row, chiplets);
	launch_cpuset_text(&gpus.gpu[6].node, text, sizeof(text));
	assert_string_equal(text, "32-39,96-103");
	machine_file(root, "sys/class/dmi/id/board_name", "HPE CRAY EX235AX\n");
	read_ok("0,6", NULL);
	expect_local(0, "0", "48-63,112-127");
	expect_local(1, "6", "0-15,64-79");
	/* Without the caches nothing is known but the NUMA nodes. */
	machine_file(root, "sys/class/dmi/id/board_name", "HPE CRAY EX235A\n");
	machine_file(root, "sys/devices/system/cpu/cpu48/cache/index3/shared_cpu_list",
		     "");
	read_ok("0,1", NULL);
	expect_local(0, "0", "48-63,112-127");
	expect_local(1, "1", "56-63,120-127");
}

/* Two MI300A, one in three compute partitions (TPX), one whole. */
static void finds_partitions_at_their_gpu(void **state)
{
	static const char *const cpus[] = {"0-15", "16-31"};
	static const struct row row = {"0,1,2,3", NULL, NULL, {0, 0, 0, 1, END}};
	static const uint32_t shifts[] = {0, 28};

	machine_file(root, "sys/bus/pci/devices/0000:01:00.0/local_cpulist", "0-15\n");
	machine_file(root, "sys/bus/pci/devices/0001:01:00.0/local_cpulist", "16-31\n");
	machine_kfd(root, 0, 0, NULL, 0, 0, 0);
	machine_kfd(root, 1, 0, NULL, 0, 0, 0);
	for (size_t i = 0; i < 2; i++) {
		for (uint32_t part = 0; part < 3; part++)
			machine_kfd(root, 2 + part, 9000 + part, "0000:01:00.0",
				    part << shifts[i], 77, 128 + part);
		machine_kfd(root, 5, 9003, "0001:01:00.0", 0, 78, 131);
		expect_nodes(&row, cpus);
	}
	/* They have one UUID, which ROCm then does not take. */
	read_ok("GPU-000000000000004d,GPU-000000000000004e", NULL);
	expect_local(0, "GPU-000000000000004d", ANY);
	expect_local(1, "GPU-000000000000004e", "16-31");
}

static void counts_intel_as_level_zero_does(void **state)
{
	static const char *const cpus[] = {"0-15", "16-31", "32-47"};
	static const struct row rows[] = {
		{"0,1,2", NULL, NULL, {0, 1, 2, END}},
		{"2,0", NULL, NULL, {2, 0, END}},
		{"0,1", "1,2", NULL, {1, 2, END}},
		{"0,1", "1,2", "/renderD130", {1, 2, END}},
		/* COMPOSITE: tiles by name; FLAT: all counted, beyond the cards. */
		{"0.0,0.1,2.0,2.1", NULL, NULL, {0, 0, 2, 2, END}},
		{"0,1,2,3,4", NULL, NULL, {0, 0, 1, 1, 2, END}},
		{"3,4", NULL, NULL, {1, 2, END}},
		{"5", NULL, NULL, {-1, END}},
		{"1.x", NULL, NULL, {1, END}},
		{".1", NULL, NULL, {-1, END}},
	};

	machine_file(root, "sys/bus/pci/devices/0000:00:02.0/local_cpulist", "48-63\n");
	machine_file(root, "sys/bus/pci/devices/0000:18:00.0/local_cpulist", "0-15\n");
	machine_file(root, "sys/bus/pci/devices/0000:42:00.0/local_cpulist", "16-31\n");
	machine_file(root, "sys/bus/pci/devices/0001:18:00.0/local_cpulist", "32-47\n");
	machine_drm(root, "card0", "0000:00:02.0", "8086:46A6");
	machine_drm(root, "renderD128", "0000:00:02.0", "8086:46A6");
	machine_drm(root, "card1", "0001:18:00.0", "8086:0BDA");
	machine_drm(root, "renderD129", "0001:18:00.0", "8086:0BDA");
	machine_drm(root, "card2", "0000:18:00.0", "8086:0BD5");
	machine_drm(root, "renderD130", "0000:18:00.0", "8086:0BD5");
	machine_drm(root, "card3", "0000:42:00.0", "8086:0BD5");
	machine_drm(root, "renderD131", "0000:42:00.0", "8086:0BD5");
	machine_drm(root, "card4", "0000:03:00.0", "1A03:2000");
	machine_drm(root, "card1-DP-1", "0000:04:00.0", "8086:0BD5");
	/* i915 and xe say otherwise how many tiles a card has; one says nothing. */
	machine_file(root, "sys/class/drm/card2/gt/gt0/id", "0\n");
	machine_file(root, "sys/class/drm/card2/gt/gt1/id", "1\n");
	machine_file(root, "sys/class/drm/card3/device/tile0/gt0/name", "");
	machine_file(root, "sys/class/drm/card3/device/tile1/gt1/name", "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		expect_nodes(&rows[i], cpus);
		assert_int_equal(gpus.vendor, LAUNCH_VENDOR_INTEL);
	}
	read_ok("0,1,2,3,4,5", NULL);
	assert_int_equal(gpus.vendor, LAUNCH_VENDOR_UNKNOWN);
}

/* A driver that shows nothing leaves the addresses. */
static void takes_what_is_on_the_bus(void **state)
{
	static const char *const cpus[] = {"0-15", "16-31"};
	static const struct row both = {"0,1", NULL, NULL, {0, 1, END}};
	static const struct {
		const char *class, *vendor;
		enum launch_vendor is;
	} rows[] = {
		{"0x038000", "0x1002", LAUNCH_VENDOR_AMD},
		{"0x120000", "0x1002", LAUNCH_VENDOR_AMD},
		{"0x030200", "0x10de", LAUNCH_VENDOR_NVIDIA},
		{"0x030000", "0x10de", LAUNCH_VENDOR_NVIDIA},
		{"0x038000", "0x8086", LAUNCH_VENDOR_INTEL},
		/* A BMC, the graphics in a processor, a network device. */
		{"0x030000", "0x1a03", LAUNCH_VENDOR_UNKNOWN},
		{"0x030000", "0x1002", LAUNCH_VENDOR_UNKNOWN},
		{"0x030000", "0x8086", LAUNCH_VENDOR_UNKNOWN},
		{"0x020000", "0x10de", LAUNCH_VENDOR_UNKNOWN},
		{"", "", LAUNCH_VENDOR_UNKNOWN},
	};
	char kept[sizeof(root)];

	machine_file(root, "sys/bus/pci/devices/0000:c1:00.0/local_cpulist", "0-15\n");
	machine_file(root, "sys/bus/pci/devices/0000:c6:00.0/local_cpulist", "16-31\n");
	/* Fewer of another vendor's do not count. */
	machine_file(root, "sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
	machine_file(root, "sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (int j = 0; j < 2; j++) {
			const char *bus = j ? "c6" : "c1";
			char name[128];

			snprintf(name, sizeof(name),
				 "sys/bus/pci/devices/0000:%s:00.0/class", bus);
			machine_file(root, name, rows[i].class);
			snprintf(name, sizeof(name),
				 "sys/bus/pci/devices/0000:%s:00.0/vendor", bus);
			machine_file(root, name, rows[i].vendor);
		}
		if (rows[i].is == LAUNCH_VENDOR_NVIDIA) {
			read_ok("0,1,2", NULL);
			expect_local(1, "1", "0-15");
			expect_local(2, "2", "16-31");
		} else if (rows[i].is != LAUNCH_VENDOR_UNKNOWN) {
			expect_nodes(&both, cpus);
		} else {
			read_ok("0,1", NULL);
			expect_local(1, "1", ANY);
		}
		assert_int_equal(gpus.vendor, rows[i].is);
	}
	/* A recorded tree with the content of /sys at its top. */
	machine_file(root, "sys/bus/pci/devices/0000:c1:00.0/class", "0x038000");
	machine_file(root, "sys/bus/pci/devices/0000:c1:00.0/vendor", "0x1002");
	machine_file(root, "sys/bus/pci/devices/0000:c6:00.0/class", "0x038000");
	machine_file(root, "sys/bus/pci/devices/0000:c6:00.0/vendor", "0x1002");
	memcpy(kept, root, sizeof(root));
	strcat(root, "/sys");
	expect_nodes(&both, cpus);
	memcpy(root, kept, sizeof(root));
}

/* Minor numbers run against the addresses here: 3 is GPU 0. */
static void counts_what_the_cgroup_leaves(void **state)
{
	static const char *const near[] = {"48-63,112-127", "32-47,96-111", "16-31,80-95",
					   "0-15,64-79"};
	static const struct row rows[] = {
		{"0,1", NULL, "/dev/nvidia3 /dev/nvidia1", {1, 3, END}},
		{"0,1", "1,3", "/dev/nvidia3 /dev/nvidia1", {1, 3, END}},
		/* gres.conf in the order of the minors: Slurm's 1 and 3 are these. */
		{"0,1", "1,3", "/dev/nvidia2 /dev/nvidia0", {0, 2, END}},
		{"0,1,2,3", "0,1,2,3", NULL, {0, 1, 2, 3, END}},
		{"GPU-c0ffee00", NULL, "/dev/nvidia2", {0, END}},
		{"3", NULL, "/dev/nvidia3", {3, END}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect_nodes(&rows[i], near);
}

static void finds_the_only_divided_gpu(void **state)
{
	static const char *const list = "MIG-7e8f02ce-2f2c-5c1e-8d1a-5d0c7f2b2b6a,"
					"MIG-1e8f02ce-2f2c-5c1e-8d1a-5d0c7f2b2b6b,2";

	/* The minor number of GPU 1. */
	machine_file(root, "proc/driver/nvidia/capabilities/gpu2/mig/gi1/access", "");
	machine_file(root, "proc/driver/nvidia/capabilities/gpu0/mig/x", "");
	read_ok(list, NULL);
	expect_local(0, "MIG-7e8f02ce-2f2c-5c1e-8d1a-5d0c7f2b2b6a", "32-47,96-111");
	expect_local(1, "MIG-1e8f02ce-2f2c-5c1e-8d1a-5d0c7f2b2b6b", "32-47,96-111");
	expect_local(2, "2", "16-31,80-95");
	machine_file(root, "proc/driver/nvidia/capabilities/gpu0/mig/gi2/access", "");
	read_ok(list, NULL);
	expect_local(0, "MIG-7e8f02ce-2f2c-5c1e-8d1a-5d0c7f2b2b6a", ANY);
	/* The step has instances of one of the two only. */
	denied = "/dev/nvidia0";
	read_ok(list, NULL);
	expect_local(0, "MIG-7e8f02ce-2f2c-5c1e-8d1a-5d0c7f2b2b6a", "32-47,96-111");
}

static void make_link(const char *target, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

/* Nothing in a tree that somebody made may stop us or lead us elsewhere. */
static void survives_odd_trees(void **state)
{
	static const char *const buses[] = {
		"../../../../etc",
		"0000:18:00.0/../../0000:18:00.0",
		"0000:18:00",
		"0000: 8:00.0",
		"+000:18:00.0",
		"0000:18:00.0.",
		"000000000000000000000000000000000000000",
		"",
	};
	char name[256];

	/* 0: a pipe that nobody writes to; 1: a folder; 2: a loop; 3: no end. */
	snprintf(name, sizeof(name), "%s/pipe", root);
	assert_int_equal(mkfifo(name, 0600), 0);
	make_link("../../../../../pipe",
		  "sys/bus/pci/devices/0000:03:00.0/local_cpulist");
	make_link(".", "sys/bus/pci/devices/0000:41:00.0/local_cpulist");
	make_link("local_cpulist", "sys/bus/pci/devices/0000:82:00.0/local_cpulist");
	make_link("/dev/zero", "sys/bus/pci/devices/0000:c1:00.0/local_cpulist");
	make_link("..", "proc/driver/nvidia/gpus/0000:03:00.0/up");
	read_ok("0,1,2,3", NULL);
	for (uint32_t i = 0; i < 4; i++)
		assert_false(gpus.gpu[i].located);
	/* More GPUs and nodes than anybody has. */
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name),
			 "proc/driver/nvidia/gpus/0000:%02x:01.0/information", i);
		machine_file(root, name, "Device Minor: -1\n");
		machine_kfd(root, i, i + 1, "0000:18:00.0", 0, 0, 0);
	}
	read_ok("0,63,64", NULL);
	assert_false(gpus.gpu[2].located);
	/* Slot names that are none, in a tree with nothing else. */
	machine_uproot(root);
	plant_nothing(NULL);
	machine_file(root, "sys/bus/pci/devices/0000:18:00.0/local_cpulist", "1\n");
	for (size_t i = 0; i < sizeof(buses) / sizeof(*buses); i++) {
		machine_drm(root, "card0", buses[i], "8086:0BD5");
		read_ok("0", NULL);
		assert_int_equal(gpus.vendor, LAUNCH_VENDOR_UNKNOWN);
		expect_local(0, "0", ANY);
	}
	machine_drm(root, "card0", "0000:18:00.0", "8086:0BD5");
	read_ok("0", NULL);
	expect_local(0, "0", "1");
}

static void refuses_what_does_not_fit(void **state)
{
	struct launch_error err = {{0}};
	char list[4 * 65], name[LAUNCH_GPU_NAME_MAX + 1];
	size_t used = 0;

	for (int i = 0; i < 64; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d",
					 i ? "," : "", i);
	read_ok(list, NULL);
	assert_int_equal(gpus.count, 64);
	strcat(list, ",64");
	assert_int_equal(launch_gpus_read(&gpus, list, 0, NULL, root, &err), -ENOSPC);
	assert_int_equal(gpus.count, 0);
	assert_string_equal(err.text,
			    "the step has more than 64 GPUs on this node, which "
			    "gpus= cannot order; use gpus=none");

	memset(name, 'y', sizeof(name));
	name[LAUNCH_GPU_NAME_MAX - 1] = '\0';
	read_ok(name, NULL);
	assert_int_equal(gpus.count, 1);
	name[LAUNCH_GPU_NAME_MAX - 1] = 'y';
	name[LAUNCH_GPU_NAME_MAX] = '\0';
	err.text[0] = '\0';
	assert_int_equal(launch_gpus_read(&gpus, name, 0, NULL, root, &err), -EINVAL);
	assert_int_equal(gpus.count, 0);
	assert_string_equal(err.text,
			    "the step's device list has a name of 96 characters, "
			    "more than any GPU's, beginning \"yyyyyyyyyyyyyyyyyyyyyy"
			    "yyyyyyyyyy\"; use gpus=none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_gpus_of_tokens, plant, uproot),
		cmocka_unit_test_setup_teardown(takes_no_list, plant, uproot),
		cmocka_unit_test_setup_teardown(tells_the_vendor, plant, uproot),
		cmocka_unit_test_setup_teardown(goes_by_the_variable, plant, uproot),
		cmocka_unit_test_setup_teardown(passes_over_excluded_gpus, plant, uproot),
		cmocka_unit_test_setup_teardown(sorts_by_domain_first, plant, uproot),
		cmocka_unit_test_setup_teardown(does_without_missing_files, plant,
						uproot),
		cmocka_unit_test_setup_teardown(takes_the_nearest_cpus, plant_nothing,
						uproot),
		cmocka_unit_test_setup_teardown(takes_an_empty_tree, plant, uproot),
		cmocka_unit_test_setup_teardown(counts_amd_as_rocm_does, plant_rome,
						uproot),
		cmocka_unit_test_setup_teardown(knows_the_board_of_lumi, plant_lumi,
						uproot),
		cmocka_unit_test_setup_teardown(finds_partitions_at_their_gpu,
						plant_nothing, uproot),
		cmocka_unit_test_setup_teardown(counts_intel_as_level_zero_does,
						plant_nothing, uproot),
		cmocka_unit_test_setup_teardown(takes_what_is_on_the_bus, plant_nothing,
						uproot),
		cmocka_unit_test_setup_teardown(counts_what_the_cgroup_leaves, plant,
						uproot),
		cmocka_unit_test_setup_teardown(finds_the_only_divided_gpu, plant,
						uproot),
		cmocka_unit_test_setup_teardown(survives_odd_trees, plant, uproot),
		cmocka_unit_test_setup_teardown(refuses_what_does_not_fit, plant, uproot),
	};

	return cmocka_run_group_tests_name("locality", tests, NULL, NULL);
}
