/* SPDX-License-Identifier: MIT */
/*
 * One exchange over PMIx. Only where rank 0 meets the others goes to all; the rest stays
 * on its node, so that what a rank has to take in does not grow with the size of the job.
 */
#include "spank/exec/agree.h"

#include "spank/exec/source.h"
#include "spank/launch/rendezvous.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/*
 * Of rank 0: the port that it has found, "0" where everybody knows it, and behind a blank
 * its place. "": it has no port.
 */
#define KEY_PORT  "srank.port"
#define KEY_PLACE "srank.place" /* of each rank, for those of its node */
#define KEY_CPUS  "srank.cpus"  /* "LOCALRANK CPUS" */

/* How long the present ranks are waited for when others are missing, in seconds. */
#define ANSWER_TIME 3

/* Names of missing ranks in a message. */
#define MISSING_SHOWN 16

/* Ranks that are looked at when some are missing: each is a message. */
#define MISSING_MAX 4096

/* Where a rank looks for rank 0: "PORT 1 ADDRESS"; 0 where nobody has set MASTER_ADDR. */
#define PLACE_MAX (LAUNCH_ADDR_MAX + 16)

/* Of one that has a fault, which is told later, and of one that does not look: "". */
static void find_place(const struct launch_task *task, char place[PLACE_MAX])
{
	const struct launch_launcher *launcher = task->settings->launcher;
	struct launch_error ignored = {""};
	enum launch_port_source source;
	char addr[LAUNCH_ADDR_MAX];
	uint16_t port;

	*place = '\0';
	if ((launcher && launcher->bare) ||
	    launch_address(task->facts, task->settings, addr, sizeof(addr), &ignored) ||
	    launch_port(task->facts, task->settings, &port, &source, &ignored))
		return;
	snprintf(place, PLACE_MAX, "%u %d %s", port, task->facts->user_addr != NULL,
		 addr);
}

static int put_port(struct exec_pmix *pmix, const struct launch_task *task,
		    struct launch_facts *facts, struct launch_error *err)
{
	char place[PLACE_MAX], text[PLACE_MAX + 8] = "";
	uint16_t port;
	int r = launch_task_find_port(task, &port, err);

	if (r == 0) {
		facts->agreed_port = port;
		find_place(task, place);
		snprintf(text, sizeof(text), "%u %s", port, place);
	}
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

/* Leaves rank 0's place in PLACE. */
static int get_port(struct exec_pmix *pmix, struct launch_facts *facts,
		    char place[PLACE_MAX], struct launch_error *err)
{
	char *text, *end;
	long port;

	if (exec_pmix_text(pmix, 0, KEY_PORT, &text))
		return launch_error_set(err, -EIO,
					"PMIx: rank 0's port did not arrive; --no-pmix "
					"does without");
	port = *text ? strtol(text, &end, 10) : -1;
	snprintf(place, PLACE_MAX, "%s", port >= 0 && *end == ' ' ? end + 1 : "");
	free(text);
	if (port < 0 || port > UINT16_MAX)
		return -EADDRINUSE;
	facts->agreed_port = port;
	return 0;
}

/* Calls TAKE with the text that each rank of this node has put under KEY. */
static int each_peer(struct exec_pmix *pmix, const struct launch_facts *facts,
		     const char *key,
		     int (*take)(uint32_t rank, const char *text, void *arg), void *arg)
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
			r = exec_pmix_text(pmix, rank, key, &text);
			if (r == 0)
				r = take(rank, text, arg);
			free(text);
		}
		end += *end == ',';
	}
	free(peers);
	return r;
}

/* As "PORT 1 ADDRESS" has them; false: it has none. */
static bool read_place(const char *place, unsigned int *port, bool *set,
		       const char **addr)
{
	int given, length = 0;

	if (sscanf(place, "%u %d %n", port, &given, &length) != 2 || !length)
		return false;
	*set = given;
	*addr = place + length;
	return true;
}

/* "node1" and "node1.example.org". */
static bool is_same_name(const char *a, const char *b)
{
	size_t length = strcspn(a, "."), other = strcspn(b, ".");

	return length == other && strncasecmp(a, b, length) == 0 &&
	       (!a[length] || !b[length]);
}

/* What two addresses that were set come to, in the same words or not. */
static bool is_same_address(const char *a, const char *b,
			    const struct launch_facts *facts)
{
	return strcasecmp(a, b) == 0 || is_same_name(a, b) ||
	       exec_source_is_same_host(a, b, facts->nnodes, EXEC_LOOK_UP_TIME);
}

/* Ranks of a node before this one that are at the same wrong place. */
struct twins {
	uint32_t rank;
	const char *place;
	bool found;
};

static int note_twin(uint32_t rank, const char *text, void *arg)
{
	struct twins *twins = arg;

	twins->found |= rank < twins->rank && strcmp(text, twins->place) == 0;
	return 0;
}

/* One line a node for each place will do; who says none leaves the time to. */
static int tell_place(struct exec_pmix *pmix, const struct launch_facts *facts,
		      const char *place, struct launch_error *text,
		      struct launch_error *err)
{
	struct twins twins = {facts->rank, place, false};

	each_peer(pmix, facts, KEY_PLACE, note_twin, &twins);
	if (!twins.found)
		return launch_error_set(err, -ENOTUNIQ, "%s", text->text);
	sleep(ANSWER_TIME);
	return -ENOTUNIQ;
}

/*
 * FIRST is rank 0's place, OWN this one's, and PUT what it had of it before it knew rank
 * 0's port. Addresses that nobody has set follow from the same rules, and a resolver may
 * answer each node in another way (addr=ip, nodes with several interfaces).
 */
static int compare_places(struct exec_pmix *pmix, const struct launch_facts *facts,
			  const char *first, const char *own, const char *put,
			  struct launch_error *err)
{
	const char *node = facts->node ? facts->node : "its node";
	unsigned int their_port, our_port;
	const char *their_addr, *our_addr;
	struct launch_error text = {""};
	bool theirs_set, ours_set;

	if (!read_place(first, &their_port, &theirs_set, &their_addr) ||
	    !read_place(own, &our_port, &ours_set, &our_addr))
		return 0;
	if ((theirs_set || ours_set) && !is_same_address(our_addr, their_addr, facts))
		launch_error_set(&text, -ENOTUNIQ,
				 "rank %" PRIu32
				 " on %.80s has MASTER_ADDR=%.80s and rank 0 "
				 "has %.80s, so they would not meet; unset it, or set it "
				 "in front of the command that starts the tasks, so that "
				 "all have the same",
				 facts->rank, node, our_addr, their_addr);
	else if (our_port != their_port)
		launch_error_set(&text, -ENOTUNIQ,
				 "rank %" PRIu32 " on %.80s has MASTER_PORT=%u and rank "
				 "0 has %u, so they would not meet; give all tasks the "
				 "same MASTER_PORT, --port or ports=, or none",
				 facts->rank, node, our_port, their_port);
	else
		return 0;
	return tell_place(pmix, facts, put, &text, err);
}

struct masks {
	const struct launch_facts *facts;
	struct launch_cpuset *masks;
};

/* Text of one task; what is odd in it is no task's of ours. */
static int take_cpus(uint32_t rank, const char *text, void *arg)
{
	const struct masks *to = arg;
	char *cpus;
	unsigned long local_rank = strtoul(text, &cpus, 10);

	if (cpus == text || *cpus != ' ' || local_rank >= to->facts->local_size)
		return -EINVAL;
	return launch_cpuset_parse(&to->masks[local_rank], cpus + 1);
}

/*
 * A task that has not all masks would number the GPUs in another way than those that
 * have, and two ranks would share one: that is an error.
 */
int exec_agree_get_cpus(struct exec_pmix *pmix, const struct launch_facts *facts,
			struct launch_cpuset *masks, struct launch_error *err)
{
	struct masks to = {facts, masks};
	int r = each_peer(pmix, facts, KEY_CPUS, take_cpus, &to);

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

/* Behind the fence. PUT as in compare_places(). */
static int meet_first(struct exec_pmix *pmix, const struct launch_task *task,
		      struct launch_facts *facts, const char *put,
		      struct launch_error *err)
{
	char first[PLACE_MAX], own[PLACE_MAX];
	int r = get_port(pmix, facts, first, err);

	if (r)
		return r;
	find_place(task, own);
	return compare_places(pmix, facts, first, own, put, err);
}

/* Before the fence; FAILED is why rank 0 has no port, which the others are told, too. */
static int put_all(struct exec_pmix *pmix, const struct launch_task *task,
		   struct launch_facts *facts, char put[PLACE_MAX], int *failed,
		   struct launch_error *err)
{
	if (facts->rank == 0)
		*failed = put_port(pmix, task, facts, err);
	find_place(task, put);
	if (exec_pmix_put(pmix, EXEC_PMIX_NODE, KEY_PLACE, put))
		return launch_error_set(err, -EIO, "PMIx: the server takes no value");
	return exec_agree_put_cpus(pmix, facts, err);
}

int exec_agree(struct exec_pmix *pmix, const struct launch_task *task,
	       struct launch_facts *facts, struct launch_cpuset *masks,
	       unsigned int seconds, struct launch_error *err)
{
	char put[PLACE_MAX];
	int failed = 0, r = put_all(pmix, task, facts, put, &failed, err);

	if (r == 0)
		r = exec_source_fence(pmix, facts, seconds, err);
	if (r == -ETIMEDOUT)
		return name_missing(pmix, facts, seconds, err);
	if (r == 0)
		r = failed ? failed : meet_first(pmix, task, facts, put, err);
	if (r == -ENOLINK) {
		do_without_port(task, err);
		r = 0;
	}
	return r ? r : exec_agree_get_cpus(pmix, facts, masks, err);
}
