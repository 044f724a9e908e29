/* SPDX-License-Identifier: MIT */
/*
 * What differs between the releases of Slurm that the plugin is built for, 22.05
 * to 26.05, and nothing else. The rest of the room uses only what slurm/spank.h has had
 * since 22.05.
 */
#pragma once

#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdint.h>

/*
 * The option as a batch script has it, for its srun; "(null)" is no argument. A batch
 * step of 22.05 or 23.02 has this alone where sbatch was told --export=NONE: the variable
 * that is for slurmstepd is then dropped with the user's own.
 */
#define SRANK_OPTION_OF_SCRIPT "SLURM_SPANK__SLURM_SPANK_OPTION_srank_srank"

/*
 * Ends a step on all its nodes, by one message to slurmctld. For the parent process in
 * slurmstepd only: in a task, between fork() and execve(), another thread's locks may
 * still be held. 0, or -1 as slurm_kill_job_step().
 */
static inline int srank_kill_step(uint32_t job_id, uint32_t step_id)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	slurm_step_id_t id = {
		.job_id = job_id, .step_id = step_id, .step_het_comp = NO_VAL};

	return slurm_kill_job_step(&id, SIGKILL, 0);
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
	return slurm_kill_job_step(job_id, step_id, SIGKILL, 0);
#else
	return slurm_kill_job_step(job_id, step_id, SIGKILL);
#endif
}
