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

/*
 * The layout of a step, by one message to slurmctld; NULL with Slurm's errno. Free it
 * by slurm_job_step_layout_free(). In a heterogeneous job, whose components are jobs of
 * their own, the step has no component's number; where one job has them all, they come
 * merged.
 */
static inline slurm_step_layout_t *srank_step_layout(uint32_t job_id, uint32_t step_id)
{
	/* From 24.11 on there is a sluid, too; 0 is none. */
	slurm_step_id_t id = {
		.job_id = job_id, .step_id = step_id, .step_het_comp = NO_VAL};

	return slurm_job_step_layout_get(&id);
}

/*
 * What slurmctld knows of a job, by one message. 0 with JOBS, to be freed by
 * slurm_free_job_info_msg(), or -1 with Slurm's errno.
 */
static inline int srank_load_job(job_info_msg_t **jobs, uint32_t job_id)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	slurm_step_id_t id = {
		.job_id = job_id, .step_id = NO_VAL, .step_het_comp = NO_VAL};

	return slurm_load_job(jobs, id, 0);
#else
	return slurm_load_job(jobs, job_id, 0);
#endif
}

/*
 * Of src/common/read_config.c and src/common/xmalloc.c, the same in all releases, and in
 * no header that is installed. Weak, so that the plugin goes without in one that has lost
 * them.
 */
extern char *slurm_conf_get_address(const char *node_name) __attribute__((weak));
extern void slurm_xfree(void **item) __attribute__((weak));

/*
 * NodeAddr of a node in the tables by which slurmstepd itself sends messages: slurm.conf,
 * and from 23.11 on the addresses of cloud nodes in the step's credential. NULL: not
 * known. No message, no look-up.
 */
static inline char *srank_node_addr(const char *node_name)
{
	return slurm_conf_get_address && slurm_xfree ? slurm_conf_get_address(node_name)
						     : NULL;
}

static inline void srank_free_node_addr(char *addr)
{
	void *item = addr;

	slurm_xfree(&item);
}
