/* SPDX-License-Identifier: MIT */
/*
 * What the ranks of a job tell each other before they start: the port that rank 0 found
 * free and where it is to be met, and the CPUs of the tasks of a node. One fence for all.
 */
#pragma once

#include "spank/exec/pmix.h"
#include "spank/launch/cpuset.h"
#include "spank/launch/error.h"
#include "spank/launch/facts.h"
#include "spank/launch/task.h"

/*
 * Settles FACTS' agreed_port, and fills MASKS (FACTS' local_size, by local rank; an entry
 * stays empty where the CPUs of a task are not known). TASK is of the same facts. All
 * ranks of the job must come here; they wait SECONDS at most. -ETIMEDOUT with ERR, which
 * names the ranks that are missing, and empty where another rank does; -EADDRINUSE with
 * ERR when rank 0 has no port, on all ranks, and empty but on rank 0; -ENOTUNIQ with ERR
 * when this rank was given another MASTER_ADDR or port than rank 0, and empty where
 * another one of its node says the same; -EIO with ERR; -ENOMEM.
 */
int exec_agree(struct exec_pmix *pmix, const struct launch_task *task,
	       struct launch_facts *facts, struct launch_cpuset *masks,
	       unsigned int seconds, struct launch_error *err);

/*
 * The parts of it that concern the CPUs. Errors as above, and from put also -EIO with
 * ERR. After a fence the masks are there.
 */
int exec_agree_put_cpus(struct exec_pmix *pmix, const struct launch_facts *facts,
			struct launch_error *err);
int exec_agree_get_cpus(struct exec_pmix *pmix, const struct launch_facts *facts,
			struct launch_cpuset *masks, struct launch_error *err);
