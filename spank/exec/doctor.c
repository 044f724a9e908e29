/* SPDX-License-Identifier: MIT */
/*
 * The order of an examination. With PMIx: all tell where they listen, one fence; each
 * node tries the ways to the others, and every task looks about; the records go straight
 * to rank 0, and by PMIx only where no such way is open, for PMIx brings them to every
 * node; one fence, and rank 0 judges; a last fence keeps the servers until it has.
 * Without PMIx, or when it does not bring the ranks together, the same without fences.
 */
#include "spank/exec/doctor.h"

#include "spank/exec/agree.h"
#include "spank/exec/digest.h"
#include "spank/exec/findings.h"
#include "spank/exec/meet.h"
#include "spank/exec/pmix.h"
#include "spank/exec/print.h"
#include "spank/exec/probe.h"
#include "spank/exec/reach.h"
#include "spank/exec/record.h"
#include "spank/exec/server.h"
#include "spank/exec/source.h"
#include "spank/exec/wait.h"
#include "spank/launch/environment.h"
#include "spank/launch/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Seconds that ranks may come apart. Without PMIx a refused connection may be one to a
 * rank 0 that will come, so that each refusal costs as much.
 */
#define COME_TIME 30
#define CALL_TIME 10

/* How long trees may be read, in seconds. */
#define TREES_TIME 20

/* For --bandwidth: to find the next node, and to send there, in seconds. */
#define LOAD_TIME 8

/* For the records of those that have come to the fence, and for the last fence. */
#define ANSWER_TIME 5

/* Records a rank: an answer that was lost on its way brings the record again. */
#define RECORDS_ROOM 2

#define KEY_RECORD "srank.record"

/* Between a record and the listing of its trees, where they travel together. */
#define LISTING_MARK '\f'

/* One task. */
struct patient {
	const struct exec_doctor *doctor;
	struct launch_settings settings;
	struct exec_pmix *pmix;
	struct exec_source source;
	struct launch_facts facts;
	struct launch_environment env;
	struct exec_meeting meeting;
	struct exec_server *server;
	struct launch_cpuset *masks; /* of the node's tasks */
	struct launch_gpus *gpus;
	struct launch_error refused; /* by the rules of the launch */
	bool meshed;                 /* PMIx has brought the ranks together */
	bool unjoined;               /* only those of each node, which is how it is */
	char *record;
	char *listing;        /* of the trees; "" without */
	unsigned int seconds; /* that the others are waited for */
	unsigned int call;    /* the same without PMIx */
};

static void say(const char *line)
{
	fprintf(stderr, "srank doctor: %s\n", line);
}

/* ---- the facts ---- */

/* The launcher that the plugin has served. */
static void take_launcher(struct patient *patient)
{
	const char *name = getenv("SRANK_LAUNCHER");

	if (!patient->settings.launcher && name)
		patient->settings.launcher = launch_launcher_find(name);
}

static int open_patient(struct patient *patient, struct launch_error *err)
{
	unsigned int seconds = patient->doctor->timeout;
	int r = exec_source_connect(&patient->pmix, patient->doctor->pmix,
				    seconds ? seconds : COME_TIME, NULL, err);

	if (r == 0)
		r = exec_source_open(&patient->source, patient->pmix, err);
	if (r == 0)
		r = exec_source_read(&patient->source, &patient->facts, err);
	if (r)
		return r;
	patient->meeting.facts = &patient->facts;
	patient->meeting.settings = &patient->settings;
	patient->meeting.served =
		launch_environment_is_marked(exec_source_get, &patient->source);
	if (patient->meeting.served)
		take_launcher(patient);
	patient->seconds = seconds ? seconds : patient->pmix ? COME_TIME : CALL_TIME;
	/* With PMIx all have had their time when it comes to that. */
	patient->call = patient->seconds < CALL_TIME || !patient->pmix ? patient->seconds
								       : CALL_TIME;
	patient->masks = calloc(patient->facts.local_size, sizeof(*patient->masks));
	return patient->masks ? 0 : -ENOMEM;
}

static void close_patient(struct patient *patient)
{
	exec_server_stop(&patient->server);
	launch_environment_clear(&patient->env);
	launch_facts_clear(&patient->facts);
	exec_source_close(&patient->source);
	free(patient->masks);
	free(patient->gpus);
	free(patient->record);
	free(patient->listing);
}

/* Where the plugin has not been, what srank exec would give to the task. */
static void find_environment(struct patient *patient)
{
	const struct launch_settings *settings = &patient->settings;
	struct launch_facts *facts = &patient->facts;
	int r;

	if (patient->meeting.served || facts->submitit)
		return;
	facts->agreed_port = patient->meeting.port;
	r = launch_environment(facts, settings, &patient->env, &patient->refused);
	if (r == 0 && settings->gpus != LAUNCH_GPUS_NONE)
		r = exec_source_gpus(facts, &patient->gpus, &patient->refused);
	if (r == 0 && patient->gpus && launch_has_ranks(facts, settings))
		launch_gpus_bind(patient->gpus, patient->masks, facts->local_size, facts,
				 settings, &patient->env, &patient->refused);
}

/* ---- the record ---- */

/* Of the table that `verbose` prints, the lines that begin with "warning: ". */
static void put_binding(const struct patient *patient, FILE *out)
{
	static const char mark[] = "warning: ";
	const struct launch_report_node here = {
		.masks = patient->masks,
		.ntasks = patient->facts.local_size,
		.devices = &patient->facts,
		.gpus = patient->gpus,
	};
	struct launch_error ignored = {""};
	char *text = NULL, *line, *next, *kept;
	size_t size, used = 0;
	FILE *table = open_memstream(&text, &size);

	if (!table)
		return;
	launch_report_binding(table, &patient->facts, &patient->settings, &here,
			      &ignored);
	if (fclose(table)) {
		free(text);
		return;
	}
	kept = calloc(size + 1, 1);
	for (next = text; kept && (line = strsep(&next, "\n"));) {
		if (strncmp(line, mark, strlen(mark)) == 0)
			used += (size_t)sprintf(kept + used, "%s%s", used ? "\n" : "",
						line + strlen(mark));
	}
	if (used)
		exec_record_put(out, "binding", "%s", kept);
	free(kept);
	free(text);
}

static void put_trees(struct patient *patient, FILE *out)
{
	const uint32_t count = patient->doctor->trees_count;
	struct exec_digest *digests = calloc(count + 1, sizeof(*digests));
	char key[32], text[512];
	size_t size;
	FILE *listing = digests ? open_memstream(&patient->listing, &size) : NULL;

	if (count) {
		exec_digest_list(patient->doctor->trees, count, text, sizeof(text));
		exec_record_put(out, "trees", "%s", text);
	}
	if (!listing) {
		free(digests);
		return;
	}
	exec_digest_trees(digests, patient->doctor->trees, count, TREES_TIME, listing);
	for (uint32_t tree = 0; tree < count; tree++) {
		exec_digest_text(&digests[tree], patient->doctor->trees[tree], TREES_TIME,
				 text, sizeof(text));
		snprintf(key, sizeof(key), "tree.%" PRIu32, tree);
		exec_record_put(out, key, "%s", text);
	}
	free(digests);
	if (fclose(listing)) {
		free(patient->listing);
		patient->listing = NULL;
	} else if (patient->server) {
		exec_server_offer(patient->server, patient->listing);
	}
}

static void put_mesh(struct patient *patient, FILE *out)
{
	struct exec_layout layout = {0};
	struct launch_error ignored = {""};

	if (exec_layout_read(&layout, patient->pmix, &ignored) == 0 &&
	    patient->facts.rank < layout.ntasks) {
		exec_meeting_mesh(&patient->meeting, patient->pmix, &layout, out);
		if (patient->doctor->bandwidth)
			exec_meeting_load(&patient->meeting, patient->pmix, &layout, out);
	}
	exec_layout_clear(&layout);
}

/* All that this task finds out; REACHED as exec_meeting_reach(). */
static int make_record(struct patient *patient, struct sockaddr_storage *reached)
{
	struct launch_tree tree;
	const struct exec_probe probe = {
		.facts = &patient->facts,
		.settings = &patient->settings,
		.env = &patient->env,
		.tree = &tree,
	};
	bool leader = patient->meeting.leader;
	size_t size;
	FILE *out = open_memstream(&patient->record, &size);

	if (!out)
		return -ENOMEM;
	launch_tree_init(&tree, "");
	exec_probe_task(&probe, out);
	exec_meeting_put_own(&patient->meeting, out);
	exec_record_put(out, "launcher", "%s",
			patient->settings.launcher ? patient->settings.launcher->name
						   : "auto");
	if (patient->meeting.served)
		exec_record_put(out, "served", "1");
	if (launch_error_is_set(&patient->refused))
		exec_record_put(out, "error", "%s", patient->refused.text);
	/* PMIx may miss this one and bring rank 0 on, as when one server turns another
	 * away. */
	if (patient->pmix && !patient->meshed && !patient->unjoined)
		exec_record_put(out, "apart", "1");
	if (patient->facts.rank == 0) {
		exec_record_put(out, "head", "1");
		if (patient->meeting.held[0])
			exec_record_put(out, "port.held", "%s", patient->meeting.held);
	}
	if (leader) {
		exec_probe_node(&probe, out);
		exec_meeting_describe(&patient->meeting, out);
		put_binding(patient, out);
	}
	/* Without PMIx it is the way of the record, too. */
	if (leader || !patient->meshed)
		exec_meeting_reach(&patient->meeting, patient->meshed ? 0 : patient->call,
				   out, reached);
	if (leader && patient->meshed && patient->facts.nnodes > 1)
		put_mesh(patient, out);
	if (leader)
		put_trees(patient, out);
	return fclose(out) ? -ENOMEM : 0;
}

/* ---- rank 0 ---- */

static void free_list(char **list, uint32_t count)
{
	for (uint32_t i = 0; list && i < count; i++)
		free(list[i]);
	free(list);
}

/*
 * The listing of the node of RANK, its leader; to be freed. It is not for everybody, and
 * the secret that opens it goes nowhere but where PMIx says that the leader is.
 */
static char *fetch_listing(const struct patient *patient, uint32_t rank)
{
	struct exec_target target = {
		.token = patient->meeting.tokens.secret,
		.op = EXEC_WIRE_LISTING,
	};

	if (exec_meeting_find(patient->pmix, &rank, 1, &target.address))
		return NULL;
	exec_reach(&target, 1, EXEC_MEET_TIME);
	return target.answer;
}

/* The first rank whose node has another TREE than rank 0's; NTASKS: there is none. */
static uint32_t find_other(const struct exec_world *world, uint32_t tree)
{
	const char *list = exec_record_text(&world->records[0], "trees"), *ours;
	uint32_t rank;
	char key[32];

	snprintf(key, sizeof(key), "tree.%" PRIu32, tree);
	ours = exec_record_text(&world->records[0], key);
	if (!exec_digest_is(ours))
		return world->ntasks;
	for (rank = 0; rank < world->ntasks; rank++) {
		const char *value = exec_record_get(&world->records[rank], key);

		if (value && exec_digest_is(value) && strcmp(value, ours) != 0 &&
		    strcmp(exec_record_text(&world->records[rank], "trees"), list) == 0)
			break;
	}
	return rank;
}

/*
 * By tree, the files that make the difference to the first node that has another one.
 * Mostly it is one node, and its listing has all trees.
 */
static void find_differences(const struct patient *patient,
			     const struct exec_world *world, char *const *listings,
			     char **differences)
{
	uint32_t fetched = world->ntasks;
	char *listing = NULL, text[1024];

	for (uint32_t tree = 0; tree < world->trees_count; tree++) {
		uint32_t rank = find_other(world, tree);

		if (rank == world->ntasks || !patient->listing)
			continue;
		if (rank != fetched) {
			free(listing);
			listing = patient->meshed  ? fetch_listing(patient, rank)
				  : listings[rank] ? strdup(listings[rank])
						   : NULL;
			fetched = rank;
		}
		if (!listing)
			continue;
		exec_digest_compare(patient->listing, listing, tree,
				    patient->facts.node ? patient->facts.node : "rank 0",
				    text, sizeof(text));
		launch_make_printable(text);
		differences[tree] = strdup(text);
	}
	free(listing);
}

static void print(const struct patient *patient, const struct exec_world *world,
		  const struct exec_verdict *verdict)
{
	const struct exec_doctor *doctor = patient->doctor;

	if (doctor->json)
		exec_print_json(stdout, world, verdict, doctor->strict);
	else
		exec_print_text(stdout, world, verdict, doctor->strict);
	fflush(stdout);
}

/* PMIx knows where a rank should be that has not come. */
static void name_nodes(const struct patient *patient, struct exec_layout *layout,
		       struct exec_world *world)
{
	struct launch_error ignored = {""};

	if (!patient->pmix || exec_layout_read(layout, patient->pmix, &ignored) ||
	    layout->ntasks != world->ntasks)
		return;
	world->node_of = layout->node_of;
	world->nodes = layout->nodes;
	world->nodes_count = layout->nnodes;
}

/* TEXTS by rank, NULL for those that have not come. True: nothing is wrong. */
static bool judge(struct patient *patient, char *const *texts, char *const *listings)
{
	const struct exec_doctor *doctor = patient->doctor;
	const uint32_t ntasks = patient->facts.ntasks;
	struct exec_record *records = calloc(ntasks, sizeof(*records));
	char **differences = calloc(doctor->trees_count + 1, sizeof(*differences));
	struct exec_world world = {
		.ntasks = ntasks,
		.nnodes = patient->facts.nnodes,
		.records = records,
		.port = patient->meeting.port,
		.meshed = patient->meshed,
		.apart = patient->pmix && !patient->meshed && !patient->unjoined,
		.unjoined = patient->unjoined,
		.unmeasured = doctor->bandwidth && !patient->meshed,
		.seconds = patient->seconds,
		.trees = doctor->trees,
		.trees_count = doctor->trees_count,
		.differences = differences,
	};
	struct exec_verdict verdict = {0};
	struct exec_layout layout = {0};
	bool fine = false;

	if (records && differences) {
		name_nodes(patient, &layout, &world);
		for (uint32_t rank = 0; rank < ntasks; rank++) {
			if (!texts[rank])
				continue;
			exec_record_read(&records[rank], texts[rank]);
			world.apart |= exec_record_get(&records[rank], "apart") != NULL;
		}
		launch_make_printable(patient->meeting.addr);
		world.addr = patient->meeting.addr[0] ? patient->meeting.addr : NULL;
		find_differences(patient, &world, listings, differences);
		exec_judge(&verdict, &world);
		print(patient, &world, &verdict);
		fine = exec_verdict_is_fine(&verdict, doctor->strict);
	} else {
		say("out of memory");
	}
	exec_verdict_clear(&verdict);
	exec_layout_clear(&layout);
	for (uint32_t rank = 0; records && rank < ntasks; rank++)
		exec_record_clear(&records[rank]);
	free(records);
	free_list(differences, doctor->trees_count);
	return fine;
}

/* Until the records of all that have come should be there, in seconds. */
static unsigned int working_time(const struct patient *patient)
{
	return (patient->meshed ? patient->seconds : patient->call) +
	       exec_meeting_time(&patient->meeting, patient->meshed) +
	       (patient->doctor->bandwidth ? LOAD_TIME : 0) +
	       (patient->doctor->trees_count ? TREES_TIME : 0);
}

static int listen_to_all(struct patient *patient, struct launch_error *err)
{
	const struct exec_meeting *meeting = &patient->meeting;
	const struct exec_service service = {
		.tokens = meeting->tokens,
		.records = patient->facts.rank == 0 ? RECORDS_ROOM * patient->facts.ntasks
						    : 0,
		.loads = patient->doctor->bandwidth,
	};
	int r;

	if (patient->server || !meeting->sockets_count)
		return 0;
	r = exec_server_start(&patient->server, meeting->sockets, meeting->sockets_count,
			      &service);
	return r ? launch_error_set(err, r, "cannot listen: %s", strerror(-r)) : 0;
}

/* ---- with PMIx ---- */

static int meet(struct patient *patient, struct launch_error *err)
{
	struct exec_meeting *meeting = &patient->meeting;
	struct exec_pmix *pmix = patient->pmix;
	/* Before the fence, which PMIx may end for some earlier than for others. */
	int r = listen_to_all(patient, err);

	if (r == 0)
		r = exec_meeting_put(meeting, pmix, err);
	if (r == 0)
		r = exec_agree_put_cpus(pmix, &patient->facts, err);
	if (r == 0)
		r = exec_source_fence(pmix, &patient->facts, patient->seconds, err);
	if (r == 0)
		r = exec_meeting_get(meeting, pmix, err);
	if (r == 0)
		r = exec_agree_get_cpus(pmix, &patient->facts, patient->masks, err);
	patient->meshed = r == 0;
	if (r == 0 && patient->server)
		exec_server_trust(patient->server, meeting->tokens.secret);
	return r;
}

/* The rank that the record in TEXT says it is of; 0: none that could send one. */
static uint32_t rank_of(const char *text, uint32_t ntasks)
{
	struct exec_record record;
	int64_t rank = 0;

	if (exec_record_read(&record, text) == 0)
		exec_record_number(&record, "rank", &rank);
	exec_record_clear(&record);
	return rank > 0 && rank < ntasks ? (uint32_t)rank : 0;
}

/*
 * Takes what came straight, by rank: of trusted ones, or of the others where nothing is
 * there yet. LISTINGS, unless NULL, is where the listing behind a record begins.
 */
static void sort_records(struct exec_server_record *came, uint32_t count, bool trusted,
			 char **texts, char **listings, uint32_t ntasks)
{
	for (uint32_t i = 0; i < count; i++) {
		char *mark = came[i].text ? strchr(came[i].text, LISTING_MARK) : NULL;
		uint32_t rank;

		if (!came[i].text || came[i].trusted != trusted)
			continue;
		if (mark)
			*mark = '\0';
		rank = rank_of(came[i].text, ntasks);
		if (!rank || texts[rank])
			continue;
		texts[rank] = came[i].text;
		came[i].text = NULL;
		if (listings)
			listings[rank] = mark ? mark + 1 : NULL;
	}
}

static void free_records(struct exec_server_record *came, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free(came[i].text);
	free(came);
}

/* Asks PMIx for those that did not. */
static int ask_for_missing(struct patient *patient, char **texts)
{
	const uint32_t ntasks = patient->facts.ntasks;
	uint32_t *ranks = calloc(ntasks, sizeof(*ranks)), count = 0;
	char **found = calloc(ntasks, sizeof(*found));
	int r = -ENOMEM;

	for (uint32_t rank = 0; ranks && rank < ntasks; rank++) {
		if (!texts[rank])
			ranks[count++] = rank;
	}
	if (ranks && found)
		r = exec_pmix_gather(patient->pmix, KEY_RECORD, ranks, count, ANSWER_TIME,
				     found);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		texts[ranks[i]] = found[i];
	free(ranks);
	free(found);
	return r;
}

/*
 * Those that PMIx has missed while it brought rank 0 on do not know the secret, and count
 * where nobody has come who does.
 */
static bool gather(struct patient *patient)
{
	const uint32_t ntasks = patient->facts.ntasks;
	char **texts = calloc(ntasks, sizeof(*texts));
	struct exec_server_record *came;
	uint32_t count = exec_server_collect(patient->server, 0, 0, &came);
	bool fine = false;

	if (texts)
		texts[0] = strdup(patient->record);
	if (texts && texts[0]) {
		sort_records(came, count, true, texts, NULL, ntasks);
		if (ask_for_missing(patient, texts) == 0) {
			sort_records(came, count, false, texts, NULL, ntasks);
			fine = judge(patient, texts, NULL);
		} else {
			say("out of memory");
		}
	} else {
		say("out of memory");
	}
	free_records(came, count);
	free_list(texts, ntasks);
	return fine;
}

static int examine_with_pmix(struct patient *patient, struct launch_error *err)
{
	struct launch_error ignored = {""};
	struct sockaddr_storage reached = {0};
	bool fine = true, complete;
	int r = meet(patient, err);

	if (r)
		return r;
	find_environment(patient);
	r = make_record(patient, &reached);
	if (r == 0 && patient->facts.rank != 0 &&
	    !exec_meeting_send(&patient->meeting, &reached, patient->record) &&
	    exec_pmix_put(patient->pmix, EXEC_PMIX_ALL, KEY_RECORD, patient->record))
		r = launch_error_set(err, -EIO, "PMIx: the server takes no value");
	if (r)
		return r;
	complete = exec_pmix_fence(patient->pmix, working_time(patient), &ignored) == 0;
	if (patient->facts.rank == 0)
		fine = gather(patient);
	/* A server that has lost all its ranks has no record of them. */
	if (complete)
		exec_pmix_fence(patient->pmix, ANSWER_TIME + EXEC_MEET_TIME / 1000,
				&ignored);
	return fine ? 0 : 1;
}

/* ---- without PMIx ---- */

static int collect(struct patient *patient, struct launch_error *err)
{
	const uint32_t ntasks = patient->facts.ntasks;
	char **texts = calloc(ntasks, sizeof(*texts));
	char **listings = calloc(ntasks, sizeof(*listings));
	bool hidden = patient->meeting.held[0] || !patient->meeting.addr[0];
	struct exec_server_record *came;
	uint32_t count;
	bool fine;

	if (!texts || !listings) {
		free(texts);
		free(listings);
		return -ENOMEM;
	}
	texts[0] = strdup(patient->record);
	/* To a port that is held, or an address that is not known, nobody can come. */
	count = exec_server_collect(patient->server, hidden ? 0 : ntasks - 1,
				    working_time(patient), &came);
	sort_records(came, count, true, texts, listings, ntasks);
	sort_records(came, count, false, texts, listings, ntasks);
	fine = judge(patient, texts, listings);
	free_records(came, count);
	free_list(texts, ntasks);
	free(listings);
	return fine ? 0 : 1;
}

/* What this task knows, and rank 0 will not. */
static void tell_alone(const struct patient *patient)
{
	struct launch_error text = {""};
	struct exec_record record;
	const struct exec_rule *rule;

	/* Why there is no address is the same for all, and rank 0 says it. */
	if (!patient->meeting.addr[0] || exec_record_read(&record, patient->record))
		return;
	rule = exec_rule_of_way(&record,
				patient->facts.node_rank == patient->facts.head_id);
	launch_error_set(&text, -EHOSTUNREACH,
			 "rank %" PRIu32 " on %s does not reach rank 0 at %s (%s) port "
			 "%u: %s; %s",
			 patient->facts.rank, exec_record_text(&record, "node"),
			 patient->meeting.addr,
			 exec_record_text(&record, "master.addresses"),
			 patient->meeting.port, rule->name, rule->cure);
	exec_record_clear(&record);
	say(text.text);
}

/* The listing as far as it fits beside the record. */
static char *join(const struct patient *patient)
{
	const char *listing = patient->listing ? patient->listing : "";
	size_t used = strlen(patient->record);
	char *text = malloc(EXEC_RECORD_MAX);

	if (!text || used >= EXEC_RECORD_MAX - 2) {
		free(text);
		return NULL;
	}
	if (snprintf(text, EXEC_RECORD_MAX - 1, "%s%c%s", patient->record, LISTING_MARK,
		     listing) >= EXEC_RECORD_MAX - 1)
		text[EXEC_RECORD_MAX - 3] = '?'; /* no line feed: it has been cut */
	return text;
}

static bool send_joined(const struct patient *patient,
			const struct sockaddr_storage *reached)
{
	char *text = join(patient);
	bool sent = text && exec_meeting_send(&patient->meeting, reached, text);

	free(text);
	return sent;
}

static int examine_alone(struct patient *patient, struct launch_error *err)
{
	struct exec_meeting *meeting = &patient->meeting;
	struct sockaddr_storage reached = {0};
	int r;

	/* With one mask of several each task would choose by rules of its own. */
	if (patient->unjoined)
		exec_agree_get_cpus(patient->pmix, &patient->facts, patient->masks, err);
	else if (patient->facts.local_size == 1)
		launch_cpuset_affinity(0, &patient->masks[0]);
	r = listen_to_all(patient, err);
	if (r)
		return r;
	/* After that: a slow resolver here is not to keep the others waiting. */
	exec_meeting_alone(meeting);
	find_environment(patient);
	r = make_record(patient, &reached);
	if (r)
		return r;
	if (patient->facts.rank == 0)
		return collect(patient, err);
	if (!send_joined(patient, &reached))
		tell_alone(patient);
	return 0;
}

int exec_doctor(const struct exec_doctor *doctor)
{
	struct patient patient = {.doctor = doctor, .settings = doctor->settings};
	struct launch_error err = {""};
	bool alone;
	int r = open_patient(&patient, &err);

	if (r == 0 && !patient.meeting.served)
		exec_source_addresses(&patient.facts, &patient.settings,
				      EXEC_LOOK_UP_TIME, &patient.refused);
	if (r == 0) {
		r = exec_meeting_open(&patient.meeting, !patient.pmix, &patient.refused);
		if (r)
			launch_error_set(&err, r, "cannot listen: %s", strerror(-r));
	}
	alone = !patient.pmix;
	if (r == 0 && !alone) {
		r = examine_with_pmix(&patient, &err);
		/* Ranks are missing, or their servers do not reach each other, which the
		 * others find out at the same time. */
		alone = r == -ETIMEDOUT || r == -ENOLINK;
		patient.unjoined = r == -ENOLINK;
		/* They may come apart as far as with a fence that joins them. */
		if (patient.unjoined)
			patient.call = patient.seconds;
		if (alone)
			r = 0;
	}
	if (r == 0 && alone)
		r = examine_alone(&patient, &err);
	if (r < 0) {
		launch_error_set(&err, r, "%s", strerror(-r));
		if (launch_error_is_set(&err) && exec_source_speaks(r))
			say(err.text);
	}
	if (r)
		exec_let_through();
	if (r < 0 && r != -EINVAL && patient.pmix)
		exec_pmix_abort(patient.pmix);
	else
		exec_pmix_close(&patient.pmix);
	close_patient(&patient);
	return r ? 1 : 0;
}
