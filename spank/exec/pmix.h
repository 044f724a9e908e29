/* SPDX-License-Identifier: MIT */
/*
 * The PMIx client, as far as it is needed to learn where the ranks of a job are and to
 * tell them a few values. libpmix is opened at run time, so that the command starts on a
 * machine without it; what a process has of PMIx in the end is closed again, for the
 * program that takes its place.
 */
#pragma once

#include "spank/launch/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exec_pmix;

/* As a rank: the job as a whole. PMIX_RANK_WILDCARD in the PMIx standard. */
#define EXEC_PMIX_JOB (UINT32_MAX - 1)

/* A key that exec_pmix_fence() puts for every rank; see exec_pmix_gather(). */
#define EXEC_PMIX_HERE "srank.here"

/* Of the job: the ranks on this node, "0-3,8". PMIX_LOCAL_PEERS in the standard. */
#define EXEC_PMIX_PEERS "pmix.lpeers"

/* Longest name of a job (PMIX_MAX_NSLEN in the PMIx standard). */
#define EXEC_PMIX_NAME_MAX 256

/* What to put where; PMIX_LOCAL and PMIX_GLOBAL in the PMIx standard. */
enum exec_pmix_scope {
	EXEC_PMIX_NODE, /* for the ranks of this node */
	EXEC_PMIX_ALL,  /* for all ranks */
};

/*
 * Connects to the server. -ENOTSUP with ERR when there is no libpmix, or srank was built
 * without PMIx; -EIO with ERR when it cannot be opened or the server does not answer in
 * SECONDS; -ENOMEM. *PMIX is then NULL.
 */
int exec_pmix_open(struct exec_pmix **pmix, unsigned int seconds,
		   struct launch_error *err);

/*
 * Ends the connection, which takes seconds at most, and puts back the signals that
 * libpmix has changed.
 */
void exec_pmix_close(struct exec_pmix **pmix);

/* The job's name, unique among those that a server has, and this rank. */
const char *exec_pmix_name(const struct exec_pmix *pmix);
uint32_t exec_pmix_rank(const struct exec_pmix *pmix);

/*
 * Value of KEY ("pmix.job.size") of RANK, or of the job. What a rank has put is there
 * after exec_pmix_fence(); where it has to be fetched, that takes seconds at most.
 * -ENOENT when there is none, -EINVAL when it is no number. *TEXT is to be freed.
 */
int exec_pmix_number(struct exec_pmix *pmix, uint32_t rank, const char *key,
		     uint32_t *number);
int exec_pmix_text(struct exec_pmix *pmix, uint32_t rank, const char *key, char **text);

/* Whether the value of KEY of RANK is on this node by now. */
bool exec_pmix_has(struct exec_pmix *pmix, uint32_t rank, const char *key);

/* Puts TEXT for others to read under KEY, once this rank has come to exec_pmix_fence().
 */
int exec_pmix_put(struct exec_pmix *pmix, enum exec_pmix_scope scope, const char *key,
		  const char *text);

/*
 * Waits until all ranks of the job are here; what they have put for all is then with the
 * server of each. (Not to collect it would save that, but is no barrier: between nodes,
 * Slurm 22.05's server ends such a fence at once.) -ETIMEDOUT after SECONDS; then the
 * connection is good for exec_pmix_gather() and exec_pmix_close() alone, which may take
 * some seconds more. -EIO with ERR.
 */
int exec_pmix_fence(struct exec_pmix *pmix, unsigned int seconds,
		    struct launch_error *err);

/*
 * Asks RANKS (COUNT entries) for the text that each has put under KEY for all, and waits
 * SECONDS for all of it at most. TEXTS (as many entries, to be freed) has NULL for those
 * that have put none, or have not come to a fence since. -ENOMEM.
 */
int exec_pmix_gather(struct exec_pmix *pmix, const char *key, const uint32_t *ranks,
		     uint32_t count, unsigned int seconds, char **texts);

/*
 * Ends all ranks of the job, where this one cannot go on and they could not know; takes
 * seconds at most. The connection is then good for nothing.
 */
void exec_pmix_abort(struct exec_pmix *pmix);

/* "4.2.2" of the libpmix that would be opened; NULL when there is none. */
const char *exec_pmix_version(void);
