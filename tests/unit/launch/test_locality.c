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

#include <cmocka.h>

/* Four GPUs on four NUMA nodes of one socket, against the order of the cores. */
#define PERLMUTTER        "machines/perlmutter.txt"
#define PERLMUTTER_GPU(n) "proc/driver/nvidia/gpus/0000:" n ":00.0/information"

static struct launch_gpus gpus;
static struct machine machine;
static char root[128];

static int plant(void **state)
{
	machine_read(&machine, PERLMUTTER);
	machine_plant(&machine, root, sizeof(root));
	return 0;
}

static int uproot(void **state)
{
	machine_uproot(root);
	return 0;
}

static void read_ok(const char *list, const char *step_gpus)
{
	struct launch_error err = {{0}};

	memset(&gpus, 0xa5, sizeof(gpus));
	assert_int_equal(launch_gpus_read(&gpus, list, step_gpus, root, &err), 0);
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

static void knows_amd(void **state)
{
	char kept[sizeof(root)];

	memcpy(kept, root, sizeof(root));
	machine_root(root, sizeof(root));
	machine_file(root, "sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
	machine_file(root, "sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51499\n");
	machine_file(root, "sys/class/kfd/kfd/topology/nodes/2/gpu_id", "8641\n");
	read_ok("0,1", NULL);
	assert_int_equal(gpus.vendor, LAUNCH_VENDOR_AMD);
	expect_local(0, "0", ANY);
	/* More devices than AMD's driver has: they are somebody else's. */
	read_ok("0,1,2", NULL);
	assert_int_equal(gpus.vendor, LAUNCH_VENDOR_UNKNOWN);
	machine_uproot(root);
	memcpy(root, kept, sizeof(root));
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
	assert_int_equal(launch_gpus_read(&gpus, list, NULL, root, &err), -ENOSPC);
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
	assert_int_equal(launch_gpus_read(&gpus, name, NULL, root, &err), -EINVAL);
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
		cmocka_unit_test_setup_teardown(passes_over_excluded_gpus, plant, uproot),
		cmocka_unit_test_setup_teardown(sorts_by_domain_first, plant, uproot),
		cmocka_unit_test_setup_teardown(does_without_missing_files, plant,
						uproot),
		cmocka_unit_test_setup_teardown(takes_an_empty_tree, plant, uproot),
		cmocka_unit_test_setup_teardown(knows_amd, plant, uproot),
		cmocka_unit_test_setup_teardown(refuses_what_does_not_fit, plant, uproot),
	};

	return cmocka_run_group_tests_name("locality", tests, NULL, NULL);
}
