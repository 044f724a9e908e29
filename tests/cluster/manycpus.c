/* SPDX-License-Identifier: MIT */
/*
 * The CPUs of a big machine, for slurmd and slurmstepd on a small one (LD_PRELOAD): the
 * kernel refuses a mask of CPUs that it has not, so this keeps the masks of processes
 * itself, and says them again to whoever asks. SRANK_TEST_CPUS is the number of CPUs.
 * What Slurm computes, and when, is all its own. Programs that tasks start are not told:
 * they run wherever they may.
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define CPUS_MAX      4096
#define PROCESSES_MAX 1024

struct process {
	_Atomic pid_t pid; /* 0: not taken */
	unsigned char mask[CPUS_MAX / 8];
};

/* Shared with the processes that are forked, as tasks are, until they start a program. */
static struct process *processes;
static unsigned char all[CPUS_MAX / 8];
static size_t bytes; /* of a mask, whole words as the kernel has them */

__attribute__((constructor)) static void make_table(void)
{
	const char *text = getenv("SRANK_TEST_CPUS");
	long cpus = text ? strtol(text, NULL, 10) : 0;

	if (cpus < 1 || cpus > CPUS_MAX)
		abort();
	for (long cpu = 0; cpu < cpus; cpu++)
		all[cpu / 8] |= 1u << (cpu % 8);
	bytes = (size_t)(cpus + 63) / 64 * 8;
	processes = mmap(NULL, PROCESSES_MAX * sizeof(*processes), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (processes == MAP_FAILED)
		abort();
}

/* The entry of PID; made where there is none and MAKE says so, else NULL. */
static struct process *find(pid_t pid, int make)
{
	if (!pid)
		pid = getpid();
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		pid_t none = 0;

		if (processes[i].pid == pid)
			return &processes[i];
		if (processes[i].pid)
			continue;
		if (!make)
			return NULL;
		if (atomic_compare_exchange_strong(&processes[i].pid, &none, pid))
			return &processes[i];
		if (none == pid)
			return &processes[i];
	}
	abort();
}

EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	unsigned char mask[sizeof(all)] = {0};
	int any = 0;

	memcpy(mask, set, size < bytes ? size : bytes);
	for (size_t i = 0; i < bytes; i++) {
		mask[i] &= all[i];
		any |= mask[i];
	}
	if (!any) {
		errno = EINVAL;
		return -1;
	}
	memcpy(find(pid, 1)->mask, mask, sizeof(mask));
	return 0;
}

EXPORT int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	const struct process *process = find(pid, 0);

	if (size < bytes) {
		errno = EINVAL;
		return -1;
	}
	memset(set, 0, size);
	memcpy(set, process ? process->mask : all, bytes);
	return 0;
}
