/* SPDX-License-Identifier: MIT */
/*
 * One exchange over PMIx. Only rank 0's port goes to all; the CPUs stay on their node, so
 * that what a rank has to take in does not grow with the size of the job.
 */
#include "spank/exec/agree.h"

#include "spank/exec/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY_PORT "srank.port" /* "29500"; "0": as everybody knows; "": there is none */
#define KEY_CPUS "srank.cpus" /* "LOCALRANK CPUS" */

/* How long the present ranks are waited for when others are missing, in seconds. */
#define ANSWER_TIME 3

/* Names of missing ranks in a message. */
#define MISSING_SHOWN 16

/* Ranks that are looked at when some are missing: each is a message. */
#define MISSING_MAX 4096

static int put_port(struct exec_pmix *pmix, const struct launch_task *task,
		    struct launch_error *err)
{
	char text[8] = "";
	uint16_t port;
	int r = launch_task_find_port(task, &port, err);

	if (r == 0)
		snprintf(text, sizeof(text), "%u", port);
	/* The others are told of the failure, too, and need not wait. */
	if (exec_pmix_put(pmix, EXEC_PMIX_ALL, KEY_PORT, text) && r == 0)
		return launch_error_set(err, -EIO, "PMIx: the server takes no value");
	return r;
}

int exec_agree_put_cpus(struct exec_pmix *pmix, const struct launch_facts *facts,
			struct launch_error *err)
{
	char text[LAUNCH_CPUS_TEXT_MAX + 16];
	struct launch_cpuset mask;
	int length = snprintf(text, sizeof(text), "%" PRIu32 " ", facts->local_rank);

	if (launch_cpuset_affinity(0, &mask) == 0)
		launch_cpuset_text(&mask, text + length, sizeof(text) - length);
	return exec_pmix_put(pmix, EXEC_PMIX_NODE, KEY_CPUS, text)
		       ? launch_error_set(err, -EIO, "PMIx: the server takes no value")
		       : 0;
}

/* Who is there of ranks 0 to LAST, but for the one that asks. */
struct roll {
	uint32_t last;
	bool cut;         /* there are more ranks than are looked at */
	uint32_t missing; /* ranks that have not come */
	char names[MISSING_SHOWN * 11 + 8];
};

static void note_missing(struct roll *roll, uint32_t rank)
{
	size_t used = strlen(roll->names);

	if (roll->missing++ < MISSING_SHOWN)
		snprintf(roll->names + used, sizeof(roll->names) - used, "%s%" PRIu32,
			 used ? "," : "", rank);
	else if (roll->missing == MISSING_SHOWN + 1)
		snprintf(roll->names + used, sizeof(roll->names) - used, ",...");
}

/* Rank 0 looks for all others; they look whether rank 0 is there to do so. */
static int call_roll(struct exec_pmix *pmix, const struct launch_facts *facts,
		     struct roll *roll)
{
	const uint32_t last = facts->rank == 0 ? facts->ntasks - 1 : 0;
	uint32_t *ranks;
	char **here;
	int r = -ENOMEM;

	*roll = (struct roll){.last = last, .cut = last >= MISSING_MAX};
	if (roll->cut)
		roll->last = MISSING_MAX - 1;
	ranks = calloc(roll->last + 1, sizeof(*ranks));
	here = calloc(roll->last + 1, sizeof(*here));
	for (uint32_t rank = 0; ranks && rank <= roll->last; rank++)
		ranks[rank] = rank;
	if (ranks && here)
		r = exec_pmix_gather(pmix, EXEC_PMIX_HERE, ranks, roll->last + 1,
				     ANSWER_TIME, here);
	for (uint32_t rank = 0; r == 0 && rank <= roll->last; rank++) {
		if (!here[rank] && rank != facts->rank)
			note_missing(roll, rank);
		free(here[rank]);
	}
	free(ranks);
	free(here);
	return r;
}

/* What else it may be where no rank was found missing, or not all were looked at. */
static const char *other_cause(const struct launch_facts *facts)
{
	if (facts->nnodes < 2)
		return "; --no-pmix does without PMIx";
	if (exec_source_is_racy())
		return ", or the PMIx servers of the nodes have not reached each other: "
		       "before Slurm 23.02 they may miss each other while a step "
		       "starts, so start it again (--no-pmix does without them)";
	return ", or the PMIx servers of the nodes do not reach each other (--no-pmix "
	       "does without them)";
}

/* A rank may have come between the end of the fence and the roll. */
static int tell_as_first(const struct roll *roll, const struct launch_facts *facts,
			 unsigned int seconds, struct launch_error *err)
{
	char among[32] = "";

	if (roll->cut)
		snprintf(among, sizeof(among), "the first %" PRIu32 " of ",
			 roll->last + 1);
	if (roll->missing)
		return launch_error_set(
			err, -ETIMEDOUT,
			"%" PRIu32 " of %s%" PRIu32 " ranks have not come to srank exec "
			"in %u s: %s; every task of the step must start it, and their "
			"own messages say why one ended (--timeout waits longer)",
			roll->missing, among, facts->ntasks, seconds, roll->names);
	if (roll->cut)
		return launch_error_set(
			err, -ETIMEDOUT,
			"%s%" PRIu32 " ranks have come to srank exec; of the others some "
			"have not in %u s, and their own messages say why (--timeout "
			"waits longer)%s",
			among, facts->ntasks, seconds, other_cause(facts));
	return launch_error_set(err, -ETIMEDOUT,
				"all ranks have come to srank exec by now, but not all "
				"of them in %u s (--timeout waits longer)%s",
				seconds, other_cause(facts));
}

/* One line a node will do; on rank 0's own it is for the next one to say. */
static int tell_as_other(const struct roll *roll, const struct launch_facts *facts,
			 unsigned int seconds, struct launch_error *err)
{
	if (roll->missing && (facts->local_rank == 0 || facts->rank == 1))
		return launch_error_set(
			err, -ETIMEDOUT,
			"rank 0 has not come to srank exec in %u s; every task of the "
			"step must start it, and its own message says why it ended "
			"(--timeout waits longer)",
			seconds);
	/* Time for rank 0 to say it, before the first failure ends the step. */
	sleep(ANSWER_TIME);
	return -ETIMEDOUT;
}

static int name_missing(struct exec_pmix *pmix, const struct launch_facts *facts,
			unsigned int seconds, struct launch_error *err)
{
	struct roll roll;
	int r = call_roll(pmix, facts, &roll);

	if (r)
		return r;
	return facts->rank == 0 ? tell_as_first(&roll, facts, seconds, err)
				: tell_as_other(&roll, facts, seconds, err);
}

static int get_port(struct exec_pmix *pmix, struct launch_facts *facts,
		    struct launch_error *err)
{
	char *text;
	long port;

	if (exec_pmix_text(pmix, 0, KEY_PORT, &text))
		return launch_error_set(err, -EIO,
					"PMIx: rank 0's port did not arrive; --no-pmix "
					"does without");
	port = *text ? strtol(text, NULL, 10) : -1;
	free(text);
	if (port < 0 || port > UINT16_MAX)
		return -EADDRINUSE;
	facts->agreed_port = port;
	return 0;
}

/* Text of one task; what is odd in it is no task's of ours. */
static int take_cpus(const char *text, const struct launch_facts *facts,
		     struct launch_cpuset *masks)
{
	char *cpus;
	unsigned long local_rank = strtoul(text, &cpus, 10);

	if (cpus == text || *cpus != ' ' || local_rank >= facts->local_size)
		return -EINVAL;
	return launch_cpuset_parse(&masks[local_rank], cpus + 1);
}

/*
 * A task that has not all masks would number the GPUs in another way than those that
 * have, and two ranks would share one: that is an error.
 */
int exec_agree_get_cpus(struct exec_pmix *pmix, const struct launch_facts *facts,
			struct launch_cpuset *masks, struct launch_error *err)
{
	char *peers, *next, *end, *text;
	unsigned long first, last;
	int r = exec_pmix_text(pmix, EXEC_PMIX_JOB, EXEC_PMIX_PEERS, &peers);

	for (next = r == 0 ? peers : NULL; r == 0 && *next; next = end) {
		first = last = strtoul(next, &end, 10);
		if (end != next && *end == '-')
			last = strtoul(end + 1, &end, 10);
		if (end == next || last < first || last >= facts->ntasks)
			r = -EINVAL;
		for (unsigned long rank = first; r == 0 && rank <= last; rank++) {
			r = exec_pmix_text(pmix, rank, KEY_CPUS, &text);
			if (r == 0)
				r = take_cpus(text, facts, masks);
			free(text);
		}
		end += *end == ',';
	}
	free(peers);
	return r ? launch_error_set(err, -EIO,
				    "PMIx: the CPUs of this node's tasks did not arrive; "
				    "--no-pmix, or --gpus none, does without")
		 : 0;
}

/* Each rank has to do with what it knows, as without PMIx. */
static void do_without_port(const struct launch_task *task, struct launch_error *err)
{
	*err = (struct launch_error){""};
	if (task->facts->rank == 0)
		task->say("PMIx does not join the nodes of this step (PMIxCollFence=tree "
			  "or PMIxDirectConn=no in mpi.conf), so the port is tested, but "
			  "not found by rank 0; SLURM_PMIX_FENCE=ring in front of srun "
			  "may help");
}

int exec_agree(struct exec_pmix *pmix, const struct launch_task *task,
	       struct launch_facts *facts, struct launch_cpuset *masks,
	       unsigned int seconds, struct launch_error *err)
{
	int failed = 0, r;

	if (facts->rank == 0)
		failed = put_port(pmix, task, err);
	r = exec_agree_put_cpus(pmix, facts, err);
	if (r == 0)
		r = exec_source_fence(pmix, facts, seconds, err);
	if (r == -ETIMEDOUT)
		return name_missing(pmix, facts, seconds, err);
	if (r == 0)
		r = failed ? failed : get_port(pmix, facts, err);
	if (r == -ENOLINK) {
		do_without_port(task, err);
		r = 0;
	}
	return r ? r : exec_agree_get_cpus(pmix, facts, masks, err);
}
