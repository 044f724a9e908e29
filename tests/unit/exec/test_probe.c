/* SPDX-License-Identifier: MIT */
/*
 * What a task makes of the files of its node, on trees that are laid out by hand: devices
 * and adapters that are there, that are not, and that are of no use.
 */
#include "spank/exec/probe.h"
#include "spank/exec/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NVIDIA                                                                         \
	"/proc/driver/nvidia/version=NVRM version: NVIDIA UNIX x86_64 Kernel Module  " \
	"535.104.05  Sat Aug 19\n|"                                                    \
	"/proc/driver/nvidia/gpus/0000:07:00.0/information="                           \
	"Model: \t\t NVIDIA A100-SXM4-80GB\nDevice Minor: \t 0\n|"                     \
	"/proc/driver/nvidia/gpus/0000:0a:00.0/information="                           \
	"Model: \t\t NVIDIA A100-SXM4-80GB\nDevice Minor: \t 1\n|"
#define NVIDIA_DEVICES "/dev/nvidia0|/dev/nvidia1|"
#define AMD                                                                      \
	"/sys/class/kfd/kfd/topology/nodes/0/gpu_id=0\n|"                        \
	"/sys/class/kfd/kfd/topology/nodes/1/gpu_id=4711\n|"                     \
	"/sys/class/kfd/kfd/topology/nodes/1/properties=drm_render_minor 128\n|" \
	"/sys/class/kfd/kfd/topology/nodes/2/gpu_id=4712\n|"                     \
	"/sys/class/kfd/kfd/topology/nodes/2/properties=drm_render_minor 129\n|" \
	"/dev/dri/renderD128|/dev/dri/renderD129|"
#define ADAPTER "/sys/class/infiniband/mlx5_0/ports/1/state=4: ACTIVE\n|"
#define VERBS   "/sys/class/infiniband_verbs/uverbs0/ibdev=mlx5_0\n|"

static const struct {
	const char *files; /* "PATH=CONTENT|PATH|", `+` in front of PATH: setuid */
	const char *variable;
	const char *key;
	const char *expected; /* NULL: nothing is said of it */
} rows[] = {
	/* Without a driver that knows GPUs, their files are all that there is to know. */
	{NVIDIA_DEVICES, NULL, "gpus.missing", NULL},
	{"/dev/nvidia0|", NULL, "gpus.missing", "/dev/nvidia1"},
	/* Slurm has bound the task to two of four, which SLURM_STEP_GPUS may not name. */
	{"/dev/nvidia0|", "SLURM_GPUS_ON_NODE=4", "gpus.missing", NULL},
	{"/dev/nvidia0|", "SLURM_GPUS_ON_NODE=2", "gpus.missing", "/dev/nvidia1"},
	{"", NULL, "gpus.missing", "GPU that a driver shows, nor /dev/nvidia0"},
	/* With it, CUDA wants more. */
	{NVIDIA NVIDIA_DEVICES "/dev/nvidiactl|/dev/nvidia-uvm|", NULL, "gpus.missing",
	 NULL},
	{NVIDIA NVIDIA_DEVICES "/dev/nvidiactl|", NULL, "gpus.missing",
	 "/dev/nvidia-uvm"},
	{NVIDIA NVIDIA_DEVICES "/dev/nvidia-uvm|", NULL, "gpus.missing",
	 "/dev/nvidiactl"},
	/* A container that was started without GPUs sees the host's driver. */
	{NVIDIA, NULL, "gpus.missing", "/dev/nvidiactl,/dev/nvidia-uvm"},
	/* They would be made; by a program that has the rights. */
	{NVIDIA NVIDIA_DEVICES "+/usr/bin/nvidia-modprobe|", NULL, "gpus.missing", NULL},
	{NVIDIA NVIDIA_DEVICES "/usr/bin/nvidia-modprobe|", NULL, "gpus.missing",
	 "/dev/nvidiactl,/dev/nvidia-uvm"},
	{NVIDIA "+/usr/bin/nvidia-modprobe|/dev/nvidia0|", NULL, "gpus.missing",
	 "/dev/nvidia1"},
	{AMD "/dev/kfd|", NULL, "gpus.missing", NULL},
	{AMD, NULL, "gpus.missing", "/dev/kfd"},
	{AMD "+/usr/bin/nvidia-modprobe|", NULL, "gpus.missing", "/dev/kfd"},
	{NVIDIA, NULL, "driver", "nvidia 535.104.05"},
	{NVIDIA, NULL, "models", "NVIDIA A100-SXM4-80GB"},
	{NVIDIA "/proc/driver/nvidia/gpus/0000:0b:00.0/information=Model: NVIDIA A100\n"
		"Device Minor: 2\n|",
	 NULL, "models", "NVIDIA A100-SXM4-80GB,NVIDIA A100"},
	{"", NULL, "models", NULL},
	/* InfiniBand: the adapter, a port that is up, and what opens it. */
	{"", NULL, "infiniband", NULL},
	{ADAPTER, NULL, "infiniband", NULL},
	{ADAPTER VERBS, NULL, "infiniband", NULL},
	{ADAPTER VERBS "/dev/infiniband/uverbs0|", NULL, "infiniband", "mlx5_0"},
	{ADAPTER VERBS "/dev/infiniband/uverbs1|", NULL, "infiniband", NULL},
	{"/sys/class/infiniband/mlx5_0/ports/1/state=1: DOWN\n|" VERBS
	 "/dev/infiniband/uverbs0|",
	 NULL, "infiniband", NULL},
	{"/sys/class/infiniband/mlx5_0/ports/1/state=1: DOWN\n|"
	 "/sys/class/infiniband/mlx5_0/ports/2/state=4: ACTIVE\n|" VERBS
	 "/dev/infiniband/uverbs0|",
	 NULL, "infiniband", "mlx5_0"},
	{ADAPTER VERBS "/dev/infiniband/uverbs0|", NULL, "infiniband.refused", NULL},
	{ADAPTER VERBS "/dev/infiniband/uverbs0|", "NCCL_IB_DISABLE=0",
	 "infiniband.refused", NULL},
	{ADAPTER VERBS "/dev/infiniband/uverbs0|", "NCCL_IB_DISABLE=1",
	 "infiniband.refused", "NCCL_IB_DISABLE"},
	{ADAPTER VERBS "/dev/infiniband/uverbs0|", "NCCL_NET=IB", "infiniband.refused",
	 NULL},
	{ADAPTER VERBS "/dev/infiniband/uverbs0|", "NCCL_NET=socket",
	 "infiniband.refused", "NCCL_NET"},
	{ADAPTER, "NCCL_IB_DISABLE=1", "infiniband.refused", NULL},
	/* An image is one, wherever the node keeps it. */
	{"", "APPTAINER_NAME=torch.sif", "container", "apptainer torch.sif"},
	{"", "ENROOT_ROOTFS=/run/enroot/node7/pyxis_1.0", "container",
	 "enroot pyxis_1.0"},
	{"", "SHIFTER_IMAGEREQUEST=docker:nvcr.io/pytorch:1", "container",
	 "shifter docker:nvcr.io/pytorch:1"},
	{"/.dockerenv|", NULL, "container", "docker"},
	{"", NULL, "container", NULL},
	/* Which srun has started it. */
	{"", "SLURM_SRUN_COMM_PORT=40123", "srun.port", "40123"},
	{"", NULL, "srun.port", NULL},
	/* The job's cgroup, and those around it. */
	{"/proc/meminfo=MemTotal:  1024 kB\n|", NULL, "memory", "1048576"},
	{"/proc/meminfo=MemTotal:  1024 kB\n|/proc/self/cgroup=0::/a/b\n|"
	 "/sys/fs/cgroup/a/memory.max=4096\n|/sys/fs/cgroup/a/b/memory.max=max\n|",
	 NULL, "memory", "4096"},
	{"/proc/self/cgroup=4:memory:/slurm/job_1\n|"
	 "/sys/fs/cgroup/memory/slurm/job_1/memory.limit_in_bytes=8192\n|",
	 NULL, "memory", "8192"},
};

static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
}

static void make_file(const char *root, const char *entry, size_t length)
{
	bool setuid = *entry == '+';
	size_t name = strcspn(entry, "=|") - setuid;
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "%s%.*s", root, (int)name, entry + setuid);
	make_folders(path);
	out = fopen(path, "w");
	assert_non_null(out);
	if (entry[name + setuid] == '=')
		fwrite(entry + name + 1, 1, length - name - 1, out);
	assert_int_equal(fclose(out), 0);
	if (setuid)
		assert_int_equal(chmod(path, S_ISUID | 0755), 0);
}

static void make_tree(const char *root, const char *files)
{
	assert_int_equal(mkdir(root, 0755), 0);
	while (*files) {
		size_t length = strcspn(files, "|");

		make_file(root, files, length);
		files += length + 1;
	}
}

/* All that a leader with two GPUs finds out in the tree below ROOT. */
static void probe(const char *root, struct exec_record *record)
{
	char node[] = "a", gpus[] = "0,1", counts[] = "2";
	const struct launch_facts facts = {
		.node = node,
		.gpus = gpus,
		.tasks_per_node = counts,
		.nnodes = 1,
		.ntasks = 2,
		.local_size = 2,
	};
	const struct launch_settings settings = {0};
	const struct launch_environment env = {0};
	struct launch_tree tree;
	const struct exec_probe all = {&facts, &settings, &env, &tree};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	launch_tree_init(&tree, root);
	exec_probe_task(&all, out);
	exec_probe_node(&all, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(exec_record_read(record, text), 0);
	free(text);
}

static void set_variable(const char *variable)
{
	static const char *const names[] = {
		"NCCL_IB_DISABLE",
		"NCCL_NET",
		"APPTAINER_NAME",
		"ENROOT_ROOTFS",
		"SINGULARITY_NAME",
		"SHIFTER_IMAGEREQUEST",
		"container",
		"PYXIS_CONTAINER_NAME",
		"SLURM_SRUN_COMM_PORT",
		"SLURM_GPUS_ON_NODE",
	};
	char name[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	setenv("SLURM_STEP_GPUS", "0,1", 1);
	if (!variable)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(variable, "="), variable);
	setenv(name, strchr(variable, '=') + 1, 1);
}

static void finds_what_is_there(void **state)
{
	char top[] = "/tmp/srank-test-XXXXXX", root[64], command[64];

	assert_non_null(mkdtemp(top));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct exec_record record;
		const char *value;

		snprintf(root, sizeof(root), "%s/%zu", top, i);
		make_tree(root, rows[i].files);
		set_variable(rows[i].variable);
		probe(root, &record);
		value = exec_record_get(&record, rows[i].key);
		if (!value != !rows[i].expected ||
		    (value && strcmp(value, rows[i].expected) != 0))
			fail_msg("row %zu: %s is %s, and not %s", i, rows[i].key,
				 value ? value : "nothing",
				 rows[i].expected ? rows[i].expected : "nothing");
		exec_record_clear(&record);
	}
	snprintf(command, sizeof(command), "rm -r %s", top);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
