/* SPDX-License-Identifier: MIT */
/*
 * The shared memory. slurmstepd's parent process writes the mask of every task in
 * slurm_spank_task_post_fork, when the task plugins have set it, and only then lets the
 * tasks go on to slurm_spank_task_init (_fork_all_tasks() in Slurm's
 * src/slurmd/slurmstepd/mgr.c), so no task can come too early.
 */
#include "spank/plugin/shared.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WORD_BITS (8 * sizeof(unsigned long))
#define SHIFT(i)  ((i)*WORD_BITS % 64)

/* More CPUs than Linux can be built for (NR_CPUS), in bytes. */
#define MASK_SIZE_MAX (64 * 1024)

static size_t size_for(uint32_t ntasks)
{
	return sizeof(struct srank_shared) +
	       (size_t)ntasks * sizeof(struct launch_cpuset);
}

struct srank_shared *srank_shared_create(uint32_t ntasks)
{
	struct srank_shared *shared;

	shared = mmap(NULL, size_for(ntasks), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return NULL;
	shared->ntasks = ntasks;
	return shared;
}

void srank_shared_destroy(struct srank_shared **shared)
{
	if (*shared)
		munmap(*shared, size_for((*shared)->ntasks));
	*shared = NULL;
}

static void copy_mask(struct launch_cpuset *mask, const unsigned long *words,
		      size_t count)
{
	memset(mask, 0, sizeof(*mask));
	for (size_t i = 0; i < count && i * WORD_BITS < LAUNCH_CPUS_MAX; i++)
		mask->bits[i * WORD_BITS / 64] |= (uint64_t)words[i] << SHIFT(i);
}

int srank_affinity(pid_t pid, struct launch_cpuset *mask)
{
	/* The kernel refuses a buffer that is too small for its own masks (EINVAL). */
	for (size_t size = LAUNCH_CPUS_MAX / 8; size <= MASK_SIZE_MAX; size *= 2) {
		unsigned long *words = calloc(1, size);
		int r = 0;

		if (!words)
			return -ENOMEM;
		if (sched_getaffinity(pid, size, (cpu_set_t *)words) < 0)
			r = -errno;
		else
			copy_mask(mask, words, size / sizeof(*words));
		free(words);
		if (r != -EINVAL)
			return r;
	}
	return -EINVAL;
}
