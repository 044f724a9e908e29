/* SPDX-License-Identifier: MIT */
/*
 * The shared memory. slurmstepd's parent process writes the mask of every task in
 * slurm_spank_task_post_fork, when the task plugins have set it, and only then lets the
 * tasks go on to slurm_spank_task_init (_fork_all_tasks() in Slurm's
 * src/slurmd/slurmstepd/mgr.c), so no task can come too early.
 */
#include "spank/plugin/shared.h"

#include <stdlib.h>
#include <sys/mman.h>

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
	return shared == MAP_FAILED ? NULL : shared;
}

void srank_shared_destroy(struct srank_shared **shared, uint32_t ntasks)
{
	if (*shared)
		munmap(*shared, size_for(ntasks));
	*shared = NULL;
}
