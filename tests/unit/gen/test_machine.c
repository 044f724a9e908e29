/* SPDX-License-Identifier: MIT */
/* Machines: descriptions and recorded trees, their faults, and who gets which CPUs. */
#include "support.h"

#include "gen/spec/machine.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two sockets of two NUMA nodes of two cores of two threads, as NPS2 would number them.
 */
#define SMALL                                                                       \
	"name: small\n"                                                             \
	"packages: [{id: 0, cpulist: '0-3,8-11'}, {id: 1, cpulist: '4-7,12-15'}]\n" \
	"numa:\n"                                                                   \
	"- {id: 0, cpulist: '0-1,8-9'}\n"                                           \
	"- {id: 1, cpulist: '2-3,10-11'}\n"                                         \
	"- {id: 8, cpulist: '4-5,12-13'}\n"                                         \
	"- {id: 9, cpulist: '6-7,14-15'}\n"                                         \
	"smt: {threads_per_core: 2, numbering: offset, offset: 8}\n"

static int read_text(struct spec_machine *machine, const char *text, struct diag *diag)
{
	memset(machine, 0, sizeof(*machine));
	return spec_machine_read_text(machine, "m.yaml", text, strlen(text), diag);
}

static void must_read(struct spec_machine *machine, const char *text)
{
	struct diag diag = {0};

	assert_int_equal(read_text(machine, text, &diag), 0);
	assert_diag(&diag, "");
}

static void assert_cpus(const struct launch_cpuset *set, const char *expected)
{
	char text[LAUNCH_CPUS_MAX];

	launch_cpuset_text(set, text, sizeof(text));
	assert_string_equal(text, expected);
}

/* "0.0 1.0 0.4": cpu.package of the usable ones, in order. */
static void assert_usable(const struct spec_machine *machine, const char *expected)
{
	char text[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < machine->usable_count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d.%d",
					 i ? " " : "", machine->usable[i].cpu,
					 machine->usable[i].package);
	assert_string_equal(text, expected);
}

static void description(void **state)
{
	struct spec_machine machine;

	must_read(&machine, SMALL "vendor: amd\n"
				  "reserved_cores: '0,8'\n"
				  "gpus:\n"
				  "- {index: 4, numa: 9, model: MI100}\n"
				  "- {index: 1, cpulist: '0-1,8-9', numa: 1}\n"
				  "- {index: 2, numa: -1}\n"
				  "source: a dump\n"
				  "nic: {pci: x}\n");
	assert_string_equal(machine.name, "small");
	assert_cpus(&machine.cpus, "0-15");
	assert_int_equal(machine.packages_count, 2);
	assert_cpus(&machine.packages[1].cpus, "4-7,12-15");
	assert_int_equal(machine.numa_count, 4);
	assert_int_equal(machine.numa[2].id, 8);
	assert_usable(&machine, "1.0 9.0 2.0 10.0 3.0 11.0 4.1 12.1 5.1 13.1 6.1 14.1 "
				"7.1 15.1");
	assert_int_equal(machine.threads, 2);
	assert_int_equal(machine.vendor, LAUNCH_VENDOR_AMD);
	assert_int_equal(machine.gpus_count, 3);
	/* By index, and a list of its own before the NUMA node. */
	assert_int_equal(machine.gpus[0].index, 1);
	assert_cpus(&machine.gpus[0].local, "0-1,8-9");
	assert_null(machine.gpus[0].model);
	assert_int_equal(machine.gpus[1].index, 2);
	assert_cpus(&machine.gpus[1].local, "0-15");
	assert_int_equal(machine.gpus[2].index, 4);
	assert_cpus(&machine.gpus[2].local, "6-7,14-15");
	assert_string_equal(machine.gpus[2].model, "MI100");
	spec_machine_clear(&machine);
}

static void what_is_not_said(void **state)
{
	struct spec_machine machine;

	must_read(&machine, "cpus: 4\n");
	assert_string_equal(machine.name, "m.yaml");
	assert_int_equal(machine.packages_count, 1);
	assert_int_equal(machine.numa_count, 1);
	assert_usable(&machine, "0.0 1.0 2.0 3.0");
	assert_int_equal(machine.threads, 1);
	assert_int_equal(machine.gpus_count, 0);
	assert_int_equal(machine.vendor, LAUNCH_VENDOR_UNKNOWN);
	spec_machine_clear(&machine);

	/* Ids may be left out; nodes without CPUs are those of GPUs' memory. */
	must_read(&machine, "numa: [{cpulist: '4-5'}, {cpulist: ''}, {cpulist: '0-1'}]\n"
			    "packages: null\n");
	assert_cpus(&machine.packages[0].cpus, "0-1,4-5");
	assert_int_equal(machine.numa_count, 2);
	assert_int_equal(machine.numa[1].id, 2);
	spec_machine_clear(&machine);

	/* JSON; threads side by side, whose cores may have holes between them. */
	must_read(&machine,
		  "{\"packages\": [{\"id\": 3, \"cpulist\": \"0-3,8-11\"}], "
		  "\"cpus\": 8, \"smt\": {\"threads_per_core\": 4, \"numbering\": "
		  "\"adjacent\"}, \"gpus\": [{\"vendor\": \"nvidia\", \"numa\": null}]}");
	assert_int_equal(machine.usable[3].core, 0);
	assert_int_equal(machine.usable[4].core, 8);
	assert_int_equal(machine.threads, 4);
	assert_int_equal(machine.vendor, LAUNCH_VENDOR_NVIDIA);
	spec_machine_clear(&machine);
}

static void faults(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"[1]", "m.yaml:1:1: error: a machine is a map with the keys packages, "
			"numa and gpus [machine]\n"},
		{"", "m.yaml: error: a machine is a map with the keys packages, numa and "
		     "gpus [machine]\n"},
		{"name: x", "m.yaml:1:1: error: nothing says which CPUs the machine has; "
			    "give packages, numa or cpus [machine]\n"},
		{"cpus: 0", "m.yaml:1:7: error: cpus: '0' is not a whole number from 1 "
			    "to 4096 [machine]\n"},
		{"cpus: [1]", "m.yaml:1:7: error: cpus: '...' is not a whole number "
			      "from 1 to 4096 [machine]\n"},
		{"packages: 2", "m.yaml:1:11: error: packages is a list, an entry for "
				"each [machine]\n"},
		{"packages: [2]", "m.yaml:1:12: error: packages[0] is a map, with a key "
				  "for each fact [machine]\n"},
		{"packages: [{cpulits: 0-3}]",
		 "m.yaml:1:12: error: packages[0] has no cpulist: say which CPUs are its "
		 "own, \"\" for none [machine]\n"
		 "m.yaml:1:13: warning: cpulits is passed over; did you mean cpulist? "
		 "[machine]\n"},
		{"packages: [{cpulist: 0-4096}]",
		 "m.yaml:1:22: error: packages[0].cpulist: '0-4096' is not a list of "
		 "CPUs "
		 "below 4096, such as 0-15,64-79 [machine]\n"},
		{"packages: [{cpulist: 0-3}, {cpulist: 3-5}]",
		 "m.yaml:1:38: error: packages[1].cpulist: CPU 3 is in an entry above, "
		 "too [machine]\n"},
		{"packages: [{id: 1, cpulist: 0-3}, {id: 1, cpulist: 4-5}]",
		 "m.yaml:1:35: error: packages[1]: id 1 is given to two entries "
		 "[machine]\n"},
		{"packages: [{cpulist: 0-3}]\nnuma: [{id: 2, cpulist: 3-4}]",
		 "m.yaml:2:7: error: NUMA node 2: CPU 4 is in no entry of packages "
		 "[machine]\n"},
		{"packages: [{cpulist: 0-3}]\ncpus: 8",
		 "m.yaml:2:7: error: cpus 8 != 4 CPUs in packages [machine]\n"},
		{"cpus: 4\ncpus: 4",
		 "m.yaml:2:1: error: cpus is given twice; keep one [machine]\n"},
		{"cpus: 4\nsmt: {threads_per_core: 2, numbering: ofset}",
		 "m.yaml:2:39: error: numbering: there is no 'ofset'; did you mean "
		 "offset? [machine]\n"},
		{"cpus: 4\nsmt: {threads_per_core: 2, numbering: none}",
		 "m.yaml:2:6: error: 2 threads a core need the numbering offset or "
		 "adjacent [machine]\n"},
		{"cpus: 4\nreserved_cores: 0-4",
		 "m.yaml:2:17: error: reserved_cores: the machine has no CPU 4 "
		 "[machine]\n"},
		{"cpus: 4\nreserved_cores: 0-3",
		 "m.yaml:2:17: error: all CPUs are reserved: none is left for jobs "
		 "[machine]\n"},
		{"cpus: 4\ngpus: [{numa: 1}]", "m.yaml:2:15: error: numa: no entry of "
					       "numa with CPUs has the id 1 [machine]\n"},
		{"cpus: 4\ngpus: [{cpulist: 4}]",
		 "m.yaml:2:18: error: cpulist: the machine has no CPU 4 [machine]\n"},
		{"cpus: 4\ngpus: [{index: 1}, {index: 1}]",
		 "m.yaml:2:20: error: index 1 is given to two GPUs [machine]\n"},
		{"cpus: 4\ngpus: [{vendor: nvidea}]",
		 "m.yaml:2:17: error: vendor: there is no 'nvidea'; did you mean nvidia? "
		 "[machine]\n"},
		{"cpus: 4\ngpus: [{vendor: matrox}]",
		 "m.yaml:2:17: error: vendor: there is no 'matrox'; it is one of nvidia, "
		 "amd and intel [machine]\n"},
		{"cpus: 4\ngpus: [{vendor: amd}, {vendor: intel}]",
		 "m.yaml:2:23: error: intel among GPUs of amd: a step has those of one "
		 "vendor; leave the others out [machine]\n"},
		/* All of them in one run. */
		{"cpus: 4\nnuma: 1\ngpu: []\npackages: [{}]",
		 "m.yaml:2:7: error: numa is a list, an entry for each [machine]\n"
		 "m.yaml:3:1: warning: gpu is passed over; did you mean gpus? "
		 "[machine]\n"
		 "m.yaml:4:12: error: packages[0] has no cpulist: say which CPUs are its "
		 "own, \"\" for none [machine]\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct spec_machine machine;
		struct diag diag = {0};

		assert_int_equal(read_text(&machine, rows[i].text, &diag), -EINVAL);
		assert_diag(&diag, rows[i].expected);
		spec_machine_clear(&machine);
	}
}

static void gpus_of_a_step(void **state)
{
	struct spec_machine machine;
	struct launch_error err = {0};
	struct launch_gpus gpus;

	must_read(&machine, SMALL "vendor: nvidia\n"
				  "gpus: [{index: 0, numa: 9}, {index: 2, numa: 0}, "
				  "{index: 5}]\n");
	assert_int_equal(spec_machine_gpus(&machine, 3, &gpus, &err), 0);
	assert_int_equal(gpus.count, 3);
	assert_int_equal(gpus.vendor, LAUNCH_VENDOR_NVIDIA);
	assert_string_equal(gpus.gpu[1].name, "2");
	assert_true(gpus.gpu[1].located);
	assert_cpus(&gpus.gpu[1].local, "0-1,8-9");
	assert_cpus(&gpus.gpu[1].socket, "0-3,8-11");
	/* Near all CPUs is near none in particular. */
	assert_false(gpus.gpu[2].located);
	assert_int_equal(spec_machine_gpus(&machine, 0, &gpus, &err), 0);
	assert_int_equal(gpus.count, 0);
	/* Some: the socket of GPU 2 comes first, a GPU without a place last. */
	assert_int_equal(spec_machine_gpus(&machine, 1, &gpus, &err), 0);
	assert_string_equal(gpus.gpu[0].name, "2");
	assert_int_equal(spec_machine_gpus(&machine, 2, &gpus, &err), 0);
	assert_string_equal(gpus.gpu[0].name, "0");
	assert_string_equal(gpus.gpu[1].name, "2");
	assert_int_equal(machine.gpus[2].index, 5);
	assert_int_equal(spec_machine_gpus(&machine, 4, &gpus, &err), -ENOSPC);
	assert_string_equal(err.text, "the job wants 4 GPUs of a node, and small has 3; "
				      "ask for fewer, or give another --machine");
	spec_machine_clear(&machine);
}

/*
 * SMALL has cores 0+8 1+9 2+10 3+11 on socket 0 and 4+12 5+13 6+14 7+15 on socket 1. The
 * expected masks follow from srun(1), --distribution and --cpu-bind, and from how
 * slurmctld picks cores.
 */
static void deals(void **state)
{
	static const struct {
		struct spec_cpus cpus;
		int rc;
		const char *masks[8];
	} rows[] = {
		/* A job's cores: on as few sockets as its tasks fit on, */
		{{.tasks = 4, .cpus_per_task = 2}, 0, {"0,8", "1,9", "2,10", "3,11"}},
		{{.tasks = 2, .cpus_per_task = 8}, 0, {"0-3,8-11", "4-7,12-15"}},
		/* a task that fits on none of them on all, */
		{{.tasks = 1, .cpus_per_task = 10}, 0, {"0-2,4-5,8-10,12-13"}},
		/* and for tasks of one CPU core by core on each in turn. */
		{{.tasks = 8, .cpus_per_task = 1},
		 0,
		 {"0", "4", "8", "12", "1", "5", "9", "13"}},
		/* In a job of whole nodes a task on each socket in turn. */
		{{.tasks = 4, .cpus_per_task = 2, .exclusive = true},
		 0,
		 {"0,8", "4,12", "1,9", "5,13"}},
		{{.tasks = 1, .cpus_per_task = 10, .exclusive = true}, 0, {"0-4,8-12"}},
		{{.tasks = 8, .cpus_per_task = 1, .exclusive = true},
		 0,
		 {"0", "8", "1", "9", "2", "10", "3", "11"}},
		/* Near as many GPUs as the job has, evenly, the rest on the last socket,
		 */
		{{.tasks = 4, .cpus_per_task = 2, .gpus = 4},
		 0,
		 {"0,8", "4,12", "1,9", "5,13"}},
		{{.tasks = 4, .cpus_per_task = 2, .gpus = 4, .deal = SPEC_DEAL_BLOCK},
		 0,
		 {"0,8", "1,9", "4,12", "5,13"}},
		{{.tasks = 5, .cpus_per_task = 2, .gpus = 3},
		 0,
		 {"0,8", "4,12", "1,9", "5,13", "6,14"}},
		{{.tasks = 2, .cpus_per_task = 2, .gpus = 2}, 0, {"0,8", "1,9"}},
		/* and elsewhere where there are too few. */
		{{.tasks = 1, .cpus_per_task = 10, .gpus = 1}, 0, {"0-4,8-12"}},
		/* Socket by socket. */
		{{.tasks = 3, .cpus_per_task = 2, .deal = SPEC_DEAL_BLOCK},
		 0,
		 {"0,8", "1,9", "2,10"}},
		{{.tasks = 2, .cpus_per_task = 6, .deal = SPEC_DEAL_BLOCK},
		 0,
		 {"0-2,8-10", "3-5,11-13"}},
		{{.tasks = 5,
		  .cpus_per_task = 2,
		  .deal = SPEC_DEAL_BLOCK,
		  .exclusive = true},
		 0,
		 {"0,8", "1,9", "2,10", "3,11", "4,12"}},
		/* Threads of one core for two tasks, */
		{{.tasks = 4, .cpus_per_task = 3, .deal = SPEC_DEAL_BLOCK},
		 0,
		 {"0-1,8", "2,9-10", "3-4,11", "5,12-13"}},
		{{.tasks = 2, .cpus_per_task = 3}, 0, {"0-1,8", "2,9-10"}},
		/* unless one would be left over, which takes the binding away. */
		{{.tasks = 2, .cpus_per_task = 3, .exclusive = true},
		 0,
		 {"0-1,4-5,8-9,12-13", "0-1,4-5,8-9,12-13"}},
		{{.tasks = 2,
		  .cpus_per_task = 3,
		  .exclusive = true,
		  .bind = SPEC_BIND_THREADS},
		 0,
		 {"0-1,8", "4-5,12"}},
		/* Whole cores, dealt again where there are too few. */
		{{.tasks = 2,
		  .cpus_per_task = 3,
		  .exclusive = true,
		  .bind = SPEC_BIND_CORES},
		 0,
		 {"0-1,8-9", "4-5,12-13"}},
		{{.tasks = 8, .cpus_per_task = 1, .bind = SPEC_BIND_CORES},
		 0,
		 {"0,8", "4,12", "1,9", "5,13", "0,8", "4,12", "1,9", "5,13"}},
		{{.tasks = 5,
		  .cpus_per_task = 3,
		  .deal = SPEC_DEAL_BLOCK,
		  .bind = SPEC_BIND_CORES},
		 0,
		 {"0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15", "0-1,8-9"}},
		/* No more than there is. */
		{{.tasks = 3, .cpus_per_task = 6}, -ENOSPC, {NULL}},
		{{.tasks = 17, .cpus_per_task = 1}, -ENOSPC, {NULL}},
		{{.tasks = 1, .cpus_per_task = UINT64_MAX}, -ENOSPC, {NULL}},
		/* --threads-per-core=1: a core counts for one CPU. */
		{{.tasks = 2, .cpus_per_task = 2, .one_thread = true}, 0, {"0-1", "2-3"}},
		{{.tasks = 2, .cpus_per_task = 2, .one_thread = true, .exclusive = true},
		 0,
		 {"0-1", "4-5"}},
		{{.tasks = 2, .cpus_per_task = 5, .one_thread = true}, -ENOSPC, {NULL}},
		/* --cpu-bind */
		{{.tasks = 4,
		  .cpus_per_task = 2,
		  .exclusive = true,
		  .bind = SPEC_BIND_SOCKETS},
		 0,
		 {"0-1,8-9", "4-5,12-13", "0-1,8-9", "4-5,12-13"}},
		{{.tasks = 2,
		  .cpus_per_task = 2,
		  .exclusive = true,
		  .bind = SPEC_BIND_LDOMS},
		 0,
		 {"0-1,8-9", "4-5,12-13"}},
		{{.tasks = 2, .cpus_per_task = 2, .bind = SPEC_BIND_NONE},
		 0,
		 {"0-1,8-9", "0-1,8-9"}},
		{{.tasks = 2, .cpus_per_task = 2, .bind = SPEC_BIND_RANK}, 0, {"0", "1"}},
		{{.tasks = 4,
		  .cpus_per_task = 2,
		  .bind = SPEC_BIND_MAP,
		  .list = "6*2,0x3"},
		 0,
		 {"6", "6", "3", "6"}},
		{{.tasks = 3,
		  .cpus_per_task = 2,
		  .bind = SPEC_BIND_MASK,
		  .list = "c,0x8001*2"},
		 0,
		 {"2-3", "0,15", "0,15"}},
		{{.tasks = 1, .cpus_per_task = 2, .bind = SPEC_BIND_MAP, .list = ""},
		 -EINVAL,
		 {NULL}},
		{{.tasks = 1, .cpus_per_task = 2, .bind = SPEC_BIND_MAP, .list = "1*0"},
		 -EINVAL,
		 {NULL}},
		{{.tasks = 1, .cpus_per_task = 2, .bind = SPEC_BIND_MAP, .list = "1*2x"},
		 -EINVAL,
		 {NULL}},
		{{.tasks = 1, .cpus_per_task = 2, .bind = SPEC_BIND_MASK, .list = "0"},
		 -EINVAL,
		 {NULL}},
		{{.tasks = 1, .cpus_per_task = 2, .bind = SPEC_BIND_MASK, .list = "g"},
		 -EINVAL,
		 {NULL}},
	};
	struct spec_machine machine;

	must_read(&machine, SMALL "gpus: [{numa: 0}, {numa: 1}, {numa: 8}, {numa: 9}]\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct launch_cpuset masks[32];

		assert_int_equal(spec_machine_deal(&machine, &rows[i].cpus, masks),
				 rows[i].rc);
		for (size_t task = 0; task < 8 && rows[i].masks[task]; task++)
			assert_cpus(&masks[task], rows[i].masks[task]);
	}
	spec_machine_clear(&machine);
}

/* Makes the file NAME below ROOT, and the folders above it. */
static void plant(const char *root, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/'));
	     slash++) {
		*slash = '\0';
		if (mkdir(path, 0777) < 0)
			assert_int_equal(errno, EEXIST);
		*slash = '/';
	}
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int remove_entry(const char *path, const struct stat *status, int type,
			struct FTW *walk)
{
	return remove(path);
}

static void recorded_trees(void **state)
{
	char root[] = "/tmp/srank-machine-XXXXXX", name[128], expected[512];
	struct spec_machine machine = {0};
	struct launch_error err = {0};
	struct launch_gpus gpus;
	struct diag diag = {0};

	assert_non_null(mkdtemp(root));
	assert_int_equal(spec_machine_read(&machine, root, &diag), -EINVAL);
	snprintf(expected, sizeof(expected),
		 "%s: error: no list of CPUs in sys/devices/system/cpu/online of this "
		 "folder; a recorded machine has the folders proc and sys, and / is this "
		 "one [machine]\n",
		 root);
	assert_diag(&diag, expected);
	spec_machine_clear(&machine);

	/* Two nodes, two GPUs at node 1, and nothing of sockets and cores. */
	plant(root, "sys/devices/system/cpu/online", "0-7\n");
	plant(root, "sys/devices/system/node/node0/cpulist", "0-3\n");
	plant(root, "sys/devices/system/node/node1/cpulist", "4-7\n");
	plant(root, "sys/devices/system/node/node9/cpulist", "\n");
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name),
			 "proc/driver/nvidia/gpus/0000:0%d:00.0/information", i);
		plant(root, name, "Model: A100\n");
		snprintf(name, sizeof(name),
			 "sys/bus/pci/devices/0000:0%d:00.0/local_cpulist", i);
		plant(root, name, "4-7\n");
	}
	assert_int_equal(spec_machine_read(&machine, root, &diag), 0);
	snprintf(expected, sizeof(expected),
		 "%s: note: which CPUs share a socket or a core is not recorded "
		 "(cpu0/topology); each NUMA node counts as a socket [machine]\n",
		 root);
	assert_diag(&diag, expected);
	assert_string_equal(machine.name, strrchr(root, '/') + 1);
	assert_int_equal(machine.numa_count, 2);
	assert_int_equal(machine.packages_count, 2);
	assert_int_equal(machine.gpus_count, 2);
	assert_usable(&machine, "0.0 1.0 2.0 3.0 4.1 5.1 6.1 7.1");
	assert_int_equal(spec_machine_gpus(&machine, 2, &gpus, &err), 0);
	assert_cpus(&gpus.gpu[1].local, "4-7");
	assert_int_equal(spec_machine_gpus(&machine, 3, &gpus, &err), -ENOSPC);
	spec_machine_clear(&machine);

	/* One socket, threads side by side. */
	for (int cpu = 0; cpu < 8; cpu++) {
		snprintf(name, sizeof(name),
			 "sys/devices/system/cpu/cpu%d/topology/package_cpus_list", cpu);
		plant(root, name, "0-7\n");
		snprintf(name, sizeof(name),
			 "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
			 cpu);
		snprintf(expected, sizeof(expected), "%d-%d\n", cpu / 2 * 2,
			 cpu / 2 * 2 + 1);
		plant(root, name, expected);
	}
	assert_int_equal(spec_machine_read(&machine, root, &diag), 0);
	assert_diag(&diag, "");
	assert_int_equal(machine.packages_count, 1);
	assert_int_equal(machine.threads, 2);
	assert_int_equal(machine.usable[5].core, 4);
	spec_machine_clear(&machine);
	assert_int_equal(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(description), cmocka_unit_test(what_is_not_said),
		cmocka_unit_test(faults),      cmocka_unit_test(gpus_of_a_step),
		cmocka_unit_test(deals),       cmocka_unit_test(recorded_trees),
	};

	return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
