/* SPDX-License-Identifier: MIT */
/*
 * Rank 0 listens where the ranks will meet; the first task of each node goes there and,
 * by a port of its own, to the other nodes.
 */
#include "spank/exec/meet.h"

#include "spank/exec/reach.h"
#include "spank/exec/record.h"
#include "spank/exec/wait.h"
#include "spank/launch/hostlist.h"
#include "spank/launch/port_test.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define KEY_PORT "srank.doctor" /* "PORT OPENPORT TOKEN" of rank 0 */
#define KEY_MESH "srank.mesh"   /* "ADDRESS PORT" of the first task of a node */

/* Between two attempts where rank 0 may not have come yet, in ms. */
#define AGAIN_TIME 200

/* How long the leaders' addresses may take, where each node has its own, in seconds. */
#define ADDRESSES_TIME 5

/*
 * So many connections at once are sure of a place in the queue of rank 0
 * (net.core.somaxconn, which Linux 5.4 raised from 128 to 4096). More than that come one
 * crowd after the other, in ms, and once more when there was no answer.
 */
#define CROWD      128
#define CROWD_TIME 5

/* ---- who has a port ---- */

/* TCP_LISTEN in Linux's include/net/tcp_states.h. */
#define STATE_LISTEN 0x0a

/*
 * The inode of a socket on PORT in a table of /proc/net, of one that listens or of one
 * that has a connection from there; 0: none.
 */
static unsigned long find_inode(const char *file, uint16_t port, bool listens)
{
	FILE *table = fopen(file, "re");
	unsigned long inode = 0;
	char line[512];

	while (table && !inode && fgets(line, sizeof(line), table)) {
		unsigned int local, state;
		unsigned long found;

		/* proc(5): sl, local address, remote address, state. */
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*s %*s %lu",
			   &local, &state, &found) == 3 &&
		    local == port && (state == STATE_LISTEN) == listens)
			inode = found;
	}
	if (table)
		fclose(table);
	return inode;
}

static bool has_socket(const char *pid, const char *socket)
{
	char path[64 + NAME_MAX], link[64];
	struct dirent *entry;
	bool has = false;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	folder = opendir(path);
	while (folder && !has && (entry = readdir(folder))) {
		ssize_t length =
			readlinkat(dirfd(folder), entry->d_name, link, sizeof(link) - 1);

		if (length > 0) {
			link[length] = '\0';
			has = strcmp(link, socket) == 0;
		}
	}
	if (folder)
		closedir(folder);
	return has;
}

/* "process 7 (python)" that has the socket of INODE. False: this user sees none. */
static bool find_process(unsigned long inode, char *text, size_t size)
{
	char socket[48], path[64], name[32] = "?";
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	snprintf(socket, sizeof(socket), "socket:[%lu]", inode);
	while (folder && !found && (entry = readdir(folder))) {
		FILE *file;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !has_socket(entry->d_name, socket))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/comm", entry->d_name);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file))
			name[strcspn(name, "\n")] = '\0';
		if (file)
			fclose(file);
		snprintf(text, size, "process %.20s (%s)", entry->d_name, name);
		found = true;
	}
	if (folder)
		closedir(folder);
	return found;
}

/*
 * Who has PORT, as far as this user may see: only his own processes. A socket that is
 * bound and neither listens nor is connected is in no table.
 */
static void name_holder(uint16_t port, char *text, size_t size)
{
	static const char *const tables[] = {"/proc/net/tcp6", "/proc/net/tcp"};
	char process[64];

	for (int listens = 1; listens >= 0; listens--) {
		for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
			unsigned long inode = find_inode(tables[i], port, listens);

			if (!inode)
				continue;
			if (!find_process(inode, process, sizeof(process)))
				snprintf(process, sizeof(process), "%s",
					 "a process that this user cannot see");
			snprintf(text, size, "%s%s", process,
				 listens ? "" : ", for a connection");
			return;
		}
	}
	snprintf(text, size,
		 "a process that has bound it and does not listen; which one, Linux does "
		 "not tell");
}

/* ---- where to meet ---- */

static int settle_address(struct exec_meeting *meeting, struct launch_error *err)
{
	const char *served = getenv("MASTER_ADDR");
	int r;

	if (meeting->served && served && *served) {
		snprintf(meeting->addr, sizeof(meeting->addr), "%s", served);
		return 0;
	}
	r = launch_address(meeting->facts, meeting->settings, meeting->addr,
			   sizeof(meeting->addr), err);
	if (r)
		meeting->addr[0] = '\0';
	return r;
}

static bool is_fixed(enum launch_port_source source)
{
	return source == LAUNCH_PORT_USER || source == LAUNCH_PORT_KEY;
}

/* Listens on PORT, or on another one when that cannot be. */
static int open_fixed(struct exec_meeting *meeting, uint16_t port)
{
	char holder[128];
	int fd;

	meeting->port = meeting->open_port = port;
	fd = exec_listen(&meeting->open_port);
	if (fd >= 0)
		return fd;
	if (fd == -EADDRINUSE)
		name_holder(port, holder, sizeof(holder));
	snprintf(meeting->held, sizeof(meeting->held),
		 "port %u, where rank 0 would "
		 "listen, %s%s",
		 port, fd == -EADDRINUSE ? "is held by " : "",
		 fd == -EADDRINUSE ? holder
		 : fd == -EACCES   ? "is for root only"
				   : strerror(-fd));
	meeting->open_port = 0;
	return exec_listen(&meeting->open_port);
}

/* Of all ports of a range, some of which are HELD, and some DENIED to this user. */
static const char *reason_of(bool held, bool denied)
{
	return !denied ? "are held"
	       : held  ? "are held or for root only"
		       : "are for root only";
}

/*
 * As launch_task_find_port(), which passes over ports that are held or not for this user,
 * but the port is kept; ALONE: nobody can be told.
 */
static int open_port(struct exec_meeting *meeting, bool alone, struct launch_error *err)
{
	const char *served = getenv("MASTER_PORT");
	enum launch_port_source source;
	bool held = false, denied = false;
	uint16_t port = 0;
	int fd, r;

	if (meeting->served && served && atoi(served) > 0 && atoi(served) <= UINT16_MAX)
		return open_fixed(meeting, (uint16_t)atoi(served));
	for (uint32_t nth = 0;; nth++) {
		r = launch_port_candidate(meeting->facts, meeting->settings, nth, &port,
					  &source, err);
		if (r)
			break;
		if (is_fixed(source) || alone)
			return open_fixed(meeting, port);
		fd = exec_listen(&port);
		if (fd >= 0) {
			meeting->port = meeting->open_port = port;
			return fd;
		}
		/* No socket to be had, and that is no matter of the port. */
		if (fd != -EADDRINUSE && fd != -EACCES)
			return open_fixed(meeting, port);
		held |= fd == -EADDRINUSE;
		denied |= fd == -EACCES;
	}
	if (r == -ERANGE)
		snprintf(meeting->held, sizeof(meeting->held),
			 "all ports from %u to %u, where rank 0 would listen, %s",
			 meeting->settings->port_low, meeting->settings->port_high,
			 reason_of(held, denied));
	meeting->open_port = 0;
	return exec_listen(&meeting->open_port);
}

/* By the rule, for ranks that are not told. */
static void settle_port(struct exec_meeting *meeting)
{
	struct launch_error ignored = {""};
	const char *served = getenv("MASTER_PORT");
	enum launch_port_source source;

	if (meeting->served && served)
		meeting->port = (uint16_t)atoi(served);
	else if (launch_port(meeting->facts, meeting->settings, &meeting->port, &source,
			     &ignored))
		meeting->port = 0;
	meeting->open_port = meeting->port;
}

/* Rank 0 may listen elsewhere by now, because the port of the rule is held. */
static void keep_port(struct exec_meeting *meeting, uint16_t port, uint16_t open_port)
{
	if (meeting->port != port && !meeting->held[0])
		snprintf(meeting->held, sizeof(meeting->held),
			 "port %u, where rank 0 would listen, is held, and the others "
			 "cannot be told of %u",
			 meeting->port, port);
	meeting->open_port = open_port;
}

void exec_meeting_alone(struct exec_meeting *meeting)
{
	const uint16_t port = meeting->port, open_port = meeting->open_port;

	settle_port(meeting);
	if (meeting->facts->rank == 0)
		keep_port(meeting, port, open_port);
	if (meeting->addr[0] && !meeting->master.count)
		exec_resolve(meeting->addr, EXEC_MEET_TIME, &meeting->master);
}

/*
 * A port that somebody has set is each task's own; any other one is the same for all, or
 * is told by rank 0. Of the plugin, MASTER_ADDR and MASTER_PORT are no user's.
 */
void exec_meeting_put_own(const struct exec_meeting *meeting, FILE *out)
{
	const struct launch_facts *facts = meeting->facts;
	struct launch_error ignored = {""};
	const char *served = getenv("MASTER_PORT");
	enum launch_port_source source;
	uint16_t port;

	if (meeting->addr[0])
		exec_record_put(out, "addr", "%s", meeting->addr);
	if (!meeting->served && facts->user_addr)
		exec_record_put(out, "addr.set", "1");
	if (meeting->served && served)
		exec_record_put(out, "port", "%d", atoi(served));
	else if (launch_port_candidate(facts, meeting->settings, 0, &port, &source,
				       &ignored) == 0 &&
		 is_fixed(source))
		exec_record_put(out, "port", "%u", port);
}

/* ---- the interface ---- */

static const struct {
	const char *variable, *prefix;
	void (*choose)(struct exec_choice *choice,
		       const struct exec_interfaces *interfaces, const char *list,
		       int route);
} choosers[] = {
	{"NCCL_SOCKET_IFNAME", "nccl", exec_choose_nccl},
	{"GLOO_SOCKET_IFNAME", "gloo", exec_choose_gloo},
};

#define CHOOSERS_COUNT (sizeof(choosers) / sizeof(*choosers))

/* The interface from which this node goes to rank 0, or is rank 0's; -1: not known. */
static int find_route(const struct exec_meeting *meeting, struct sockaddr_storage *own)
{
	return meeting->master.count
		       ? exec_interfaces_route(&meeting->interfaces,
					       &meeting->master.address[0], own)
		       : -1;
}

/*
 * The same to another node of the step, for one that is rank 0's own and whose name leads
 * to itself, as Debian's /etc/hosts has it.
 */
static int find_way_out(const struct exec_meeting *meeting, struct sockaddr_storage *own)
{
	const struct launch_facts *facts = meeting->facts;
	struct exec_resolved other = {0};
	char name[LAUNCH_HOST_MAX];

	for (uint32_t i = 0; i < 2 && facts->node && !other.count; i++) {
		if (launch_hostlist_nth(facts->nodelist, i, name, sizeof(name)) == 0 &&
		    strcmp(name, facts->node) != 0)
			exec_resolve(name, EXEC_MEET_TIME, &other);
	}
	return other.count ? exec_interfaces_route(&meeting->interfaces,
						   &other.address[0], own)
			   : -1;
}

/* Any by which another host could come; -1: there is none. */
static int find_any(const struct exec_interfaces *interfaces)
{
	for (uint32_t i = 0; i < interfaces->count; i++) {
		if (!interfaces->of[i].loopback)
			return (int)i;
	}
	return -1;
}

/*
 * The address at which the libraries of the other nodes will look for this one: that of
 * the interface which a variable names, else of the one that leads to rank 0 or to
 * another node, else any. Where the variables name several, one by which nobody goes to
 * rank 0 is tried, since the way to rank 0 has a trial of its own.
 */
static void find_own(struct exec_meeting *meeting)
{
	const struct exec_interfaces *interfaces = &meeting->interfaces;
	struct sockaddr_storage own;
	int route = find_route(meeting, &own), found = -1;

	for (size_t i = 0; i < CHOOSERS_COUNT; i++) {
		struct exec_choice choice;

		choosers[i].choose(&choice, interfaces, getenv(choosers[i].variable),
				   route);
		if (choice.interface >= 0 && (found < 0 || found == route))
			found = choice.interface;
	}
	meeting->own = (struct sockaddr_storage){0};
	if (found < 0) {
		if (route < 0 || exec_address_is_loopback(&own))
			route = find_way_out(meeting, &own);
		if (route >= 0 && !exec_address_is_loopback(&own)) {
			meeting->own_interface = route;
			meeting->own = own;
			return;
		}
		found = find_any(interfaces);
	}
	meeting->own_interface = found;
	if (found >= 0)
		meeting->own = interfaces->of[found].address;
}

int exec_meeting_open(struct exec_meeting *meeting, bool alone, struct launch_error *err)
{
	int fd;

	meeting->leader = meeting->facts->local_rank == 0;
	/* All ranks know it, and no other step has it. */
	meeting->tokens.step =
		(uint64_t)meeting->facts->job_id << 32 | meeting->facts->step_id;
	settle_address(meeting, err);
	if (meeting->facts->rank == 0) {
		fd = open_port(meeting, alone, err);
		if (fd < 0)
			return fd;
		meeting->sockets[meeting->sockets_count++] = fd;
		if (!alone && getrandom(&meeting->tokens.secret,
					sizeof(meeting->tokens.secret), 0) < 0)
			meeting->tokens.secret = 0;
	}
	if (!alone && meeting->addr[0] && meeting->leader)
		exec_resolve(meeting->addr, EXEC_MEET_TIME, &meeting->master);
	exec_interfaces_read(&meeting->interfaces);
	if (!meeting->leader || alone)
		return 0;
	find_own(meeting);
	fd = exec_listen(&meeting->own_port);
	if (fd < 0)
		return fd;
	meeting->sockets[meeting->sockets_count++] = fd;
	return 0;
}

/* The number of MASTER_ADDR on rank 0's node, where it is one that others could use. */
static void name_master(const struct exec_meeting *meeting, char *text, size_t size)
{
	struct sockaddr_storage address = {0};

	for (uint32_t i = 0; i < meeting->master.count && !address.ss_family; i++) {
		if (!exec_address_is_loopback(&meeting->master.address[i]))
			address = meeting->master.address[i];
	}
	exec_address_text(&address, text, size);
}

int exec_meeting_put(const struct exec_meeting *meeting, struct exec_pmix *pmix,
		     struct launch_error *err)
{
	char text[128], address[64];
	int r = 0;

	if (meeting->facts->rank == 0) {
		name_master(meeting, address, sizeof(address));
		snprintf(text, sizeof(text), "%u %u %016" PRIx64 " %s", meeting->port,
			 meeting->open_port, meeting->tokens.secret, address);
		r = exec_pmix_put(pmix, EXEC_PMIX_ALL, KEY_PORT, text);
	}
	if (r == 0 && meeting->leader) {
		exec_address_text(&meeting->own, address, sizeof(address));
		snprintf(text, sizeof(text), "%s %u", address, meeting->own_port);
		r = exec_pmix_put(pmix, EXEC_PMIX_ALL, KEY_MESH, text);
	}
	return r ? launch_error_set(err, -EIO, "PMIx: the server takes no value") : 0;
}

int exec_meeting_get(struct exec_meeting *meeting, struct exec_pmix *pmix,
		     struct launch_error *err)
{
	unsigned int port, open_port;
	uint64_t secret;
	char *text, address[64];
	int fields;

	if (exec_pmix_text(pmix, 0, KEY_PORT, &text))
		return launch_error_set(err, -EIO,
					"PMIx: rank 0's port did not arrive; "
					"--no-pmix does without");
	fields = sscanf(text, "%5u %5u %16" SCNx64 " %63s", &port, &open_port, &secret,
			address);
	free(text);
	if (fields != 4 || port > UINT16_MAX || open_port > UINT16_MAX)
		return launch_error_set(err, -EIO, "PMIx: rank 0's port is no port");
	meeting->port = (uint16_t)port;
	meeting->open_port = (uint16_t)open_port;
	meeting->tokens.secret = secret;
	/* Without any records go by PMIx. The leader tries the first one anyway. */
	if (!meeting->leader)
		exec_address_parse(&meeting->head[0], address, meeting->open_port);
	if (exec_pmix_text(pmix, 0, KEY_MESH, &text) == 0) {
		exec_meeting_parse(text, &meeting->head[1]);
		free(text);
	}
	return 0;
}

/* ---- trying ---- */

static void sleep_ms(uint32_t milliseconds)
{
	const struct timespec time = {milliseconds / 1000,
				      (long)(milliseconds % 1000) * 1000000};

	nanosleep(&time, NULL);
}

static void wait_for_turn(const struct exec_meeting *meeting)
{
	sleep_ms(meeting->facts->rank / CROWD * CROWD_TIME);
}

static bool is_crowded(const struct exec_meeting *meeting)
{
	return meeting->facts->ntasks > CROWD;
}

/* To rank 0, and there with the record; meshed, also to the others and by another way. */
unsigned int exec_meeting_time(const struct exec_meeting *meeting, bool meshed)
{
	const unsigned int tries = (meshed ? 4 : 2) * (is_crowded(meeting) ? 2 : 1);

	return (tries * EXEC_MEET_TIME + meeting->facts->ntasks / CROWD * CROWD_TIME) /
		       1000 +
	       (meshed ? ADDRESSES_TIME : 0);
}

static void put_addresses(FILE *out, const char *key,
			  const struct exec_resolved *resolved)
{
	char text[EXEC_ADDRESSES_MAX * 64] = "", number[64];
	size_t used = 0;

	for (uint32_t i = 0; i < resolved->count; i++) {
		exec_address_text(&resolved->address[i], number, sizeof(number));
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
					 used ? "," : "", number);
	}
	if (resolved->count)
		exec_record_put(out, key, "%s", text);
}

/* All addresses of rank 0 at once; programs take the first that works, and so does this.
 */
static const struct exec_target *try_addresses(const struct exec_meeting *meeting,
					       struct exec_target *targets)
{
	uint32_t count = meeting->master.count;

	memset(targets, 0, count * sizeof(*targets));
	for (uint32_t i = 0; i < count; i++) {
		targets[i].address = meeting->master.address[i];
		exec_address_set_port(&targets[i].address, meeting->open_port);
		targets[i].token = meeting->tokens.step;
		targets[i].op = EXEC_WIRE_PING;
		targets[i].large = meeting->leader;
	}
	exec_reach(targets, count, EXEC_MEET_TIME);
	for (uint32_t i = 0; i < count; i++) {
		if (targets[i].reached == EXEC_REACHED)
			return &targets[i];
	}
	return targets;
}

bool exec_meeting_reach(const struct exec_meeting *meeting, unsigned int seconds,
			FILE *out, struct sockaddr_storage *reached)
{
	struct exec_target targets[EXEC_ADDRESSES_MAX];
	const struct exec_target *best;
	bool again = is_crowded(meeting);
	time_t until = exec_seconds_now() + (time_t)seconds;
	char address[64];

	put_addresses(out, "master.addresses", &meeting->master);
	if (!meeting->master.count) {
		if (meeting->master.unasked && meeting->open_port) {
			exec_record_put(out, "reach", "%s",
					exec_reached_names[EXEC_FAILED_HERE]);
			exec_record_put(out, "reach.port", "%u", meeting->open_port);
			exec_record_put(out, "reach.error", "%s", meeting->master.error);
		} else if (meeting->master.error[0]) {
			exec_record_put(out, "master.error", "%s", meeting->master.error);
		}
		return false;
	}
	if (!meeting->open_port)
		return false;
	wait_for_turn(meeting);
	for (;;) {
		best = try_addresses(meeting, targets);
		if (best->reached == EXEC_FILTERED && again)
			again = false;
		else if (best->reached == EXEC_REFUSED && exec_seconds_now() < until)
			sleep_ms(AGAIN_TIME);
		else
			break;
	}
	exec_address_text(&best->address, address, sizeof(address));
	exec_record_put(out, "reach", "%s", exec_reached_names[best->reached]);
	exec_record_put(out, "reach.address", "%s", address);
	exec_record_put(out, "reach.port", "%u", meeting->open_port);
	if (best->reached != EXEC_REACHED) {
		if (best->error)
			exec_record_put(out, "reach.error", "%s", strerror(best->error));
		return false;
	}
	exec_record_put(out, "round_trip", "%" PRId64, best->round_trip);
	exec_record_put(out, "ahead", "%" PRId64, best->ahead);
	if (reached)
		*reached = best->address;
	return true;
}

bool exec_meeting_send(const struct exec_meeting *meeting,
		       const struct sockaddr_storage *reached, const char *text)
{
	const struct sockaddr_storage *const ways[] = {reached, &meeting->head[0],
						       &meeting->head[1]};
	const struct exec_tokens *tokens = &meeting->tokens;

	wait_for_turn(meeting);
	for (size_t way = 0; way < sizeof(ways) / sizeof(*ways); way++) {
		struct exec_target target = {
			.address = *ways[way],
			.token = tokens->secret ? tokens->secret : tokens->step,
			.op = EXEC_WIRE_RECORD,
			.text = text,
		};

		if (!target.address.ss_family)
			continue;
		exec_reach(&target, 1, EXEC_MEET_TIME);
		if (target.reached == EXEC_FILTERED && is_crowded(meeting))
			exec_reach(&target, 1, EXEC_MEET_TIME);
		if (target.reached == EXEC_REACHED)
			return true;
	}
	return false;
}

int exec_meeting_parse(const char *text, struct sockaddr_storage *address)
{
	char number[64];
	unsigned int port;

	if (sscanf(text, "%63s %5u", number, &port) != 2 || port > UINT16_MAX)
		return -EINVAL;
	return exec_address_parse(address, number, (uint16_t)port);
}

/* Whether NODE is the one of the pair that connects to OTHER, of COUNT nodes. */
static bool is_mine(uint32_t node, uint32_t other, uint32_t count)
{
	uint32_t distance;

	if (count <= EXEC_MESH_FULL)
		return other > node;
	distance = (other + count - node) % count;
	return distance && (distance & (distance - 1)) == 0;
}

/* The lowest rank of each node, which is its first task. */
static uint32_t *find_leaders(const struct exec_layout *layout)
{
	uint32_t *leaders = calloc(layout->nnodes, sizeof(*leaders));

	for (uint32_t rank = layout->ntasks; leaders && rank-- > 0;)
		leaders[layout->node_of[rank]] = rank;
	return leaders;
}

/* The nodes that this one tries. */
struct mesh {
	const struct exec_layout *layout;
	uint32_t count;
	uint32_t *nodes; /* in the layout */
	struct exec_target *targets;
};

static void put_mesh(const struct mesh *mesh, FILE *out)
{
	char *failed = NULL;
	size_t size;
	FILE *list = open_memstream(&failed, &size);
	bool some = false;

	exec_record_put(out, "mesh.pairs", "%" PRIu32, mesh->count);
	for (uint32_t i = 0; list && i < mesh->count; i++) {
		enum exec_reached reached = mesh->targets[i].reached;

		if (reached == EXEC_REACHED)
			continue;
		fprintf(list, "%s%s %s", some ? "," : "",
			mesh->layout->nodes[mesh->nodes[i]], exec_reached_names[reached]);
		some = true;
	}
	if (list && fclose(list) == 0 && some)
		exec_record_put(out, "mesh.failed", "%s", failed);
	free(failed);
}

static void choose_nodes(struct mesh *mesh, uint32_t here)
{
	const uint32_t count = mesh->layout->nnodes;

	for (uint32_t node = 0; node < count; node++) {
		if (is_mine(here, node, count))
			mesh->nodes[mesh->count++] = node;
	}
}

/* All at once: one that cannot be had is not to hold up the others. */
int exec_meeting_find(struct exec_pmix *pmix, const uint32_t *ranks, uint32_t count,
		      struct sockaddr_storage *addresses)
{
	char **texts = calloc(count + 1, sizeof(*texts));
	int r = -ENOMEM;

	if (texts)
		r = exec_pmix_gather(pmix, KEY_MESH, ranks, count, ADDRESSES_TIME, texts);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		addresses[i] = (struct sockaddr_storage){0};
		if (texts[i])
			exec_meeting_parse(texts[i], &addresses[i]);
		free(texts[i]);
	}
	free(texts);
	return r;
}

static int find_targets(const struct exec_meeting *meeting, struct exec_pmix *pmix,
			enum exec_wire_op op, struct mesh *mesh)
{
	uint32_t *leaders = find_leaders(mesh->layout);
	uint32_t *ranks = calloc(mesh->count + 1, sizeof(*ranks));
	struct sockaddr_storage *addresses = calloc(mesh->count + 1, sizeof(*addresses));
	int r = -ENOMEM;

	for (uint32_t i = 0; leaders && ranks && i < mesh->count; i++)
		ranks[i] = leaders[mesh->nodes[i]];
	if (leaders && ranks && addresses)
		r = exec_meeting_find(pmix, ranks, mesh->count, addresses);
	for (uint32_t i = 0; r == 0 && i < mesh->count; i++)
		mesh->targets[i] = (struct exec_target){
			.address = addresses[i],
			.token = meeting->tokens.step,
			.op = op,
			.large = op == EXEC_WIRE_PING,
		};
	free(leaders);
	free(ranks);
	free(addresses);
	return r;
}

static bool open_mesh(struct mesh *mesh, const struct exec_layout *layout)
{
	*mesh = (struct mesh){
		.layout = layout,
		.nodes = calloc(layout->nnodes, sizeof(*mesh->nodes)),
		.targets = calloc(layout->nnodes, sizeof(*mesh->targets)),
	};
	return mesh->nodes && mesh->targets;
}

static void close_mesh(struct mesh *mesh)
{
	free(mesh->nodes);
	free(mesh->targets);
}

void exec_meeting_mesh(const struct exec_meeting *meeting, struct exec_pmix *pmix,
		       const struct exec_layout *layout, FILE *out)
{
	struct mesh mesh;

	if (open_mesh(&mesh, layout)) {
		choose_nodes(&mesh, layout->node_of[meeting->facts->rank]);
		if (find_targets(meeting, pmix, EXEC_WIRE_PING, &mesh) == 0) {
			exec_reach(mesh.targets, mesh.count, EXEC_MEET_TIME);
			put_mesh(&mesh, out);
		}
	}
	close_mesh(&mesh);
}

void exec_meeting_load(const struct exec_meeting *meeting, struct exec_pmix *pmix,
		       const struct exec_layout *layout, FILE *out)
{
	const uint32_t here = layout->node_of[meeting->facts->rank];
	struct mesh mesh;

	if (open_mesh(&mesh, layout)) {
		mesh.nodes[mesh.count++] = (here + 1) % layout->nnodes;
		if (find_targets(meeting, pmix, EXEC_WIRE_LOAD, &mesh) == 0)
			exec_reach(mesh.targets, mesh.count, EXEC_MEET_TIME);
		if (mesh.targets[0].reached == EXEC_REACHED && mesh.targets[0].rate) {
			exec_record_put(out, "load.node", "%s",
					layout->nodes[mesh.nodes[0]]);
			exec_record_put(out, "load.rate", "%" PRId64,
					mesh.targets[0].rate);
		}
	}
	close_mesh(&mesh);
}

/* ---- what the node says of its network ---- */

static void put_interfaces(const struct exec_interfaces *interfaces, FILE *out)
{
	char text[EXEC_INTERFACES_MAX * (IF_NAMESIZE + 2) + 8] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < interfaces->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
					 used ? ", " : "", interfaces->of[i].name);
	exec_record_put(out, "interfaces", "%s%s", text, interfaces->cut ? ", ..." : "");
}

static void put_choice(const struct exec_meeting *meeting, size_t chooser, int route,
		       FILE *out)
{
	const struct exec_interfaces *interfaces = &meeting->interfaces;
	const char *list = getenv(choosers[chooser].variable);
	const char *prefix = choosers[chooser].prefix;
	struct exec_choice choice;
	char key[32];

	choosers[chooser].choose(&choice, interfaces, list, route);
	if (choice.state == EXEC_CHOICE_UNSET)
		return;
	snprintf(key, sizeof(key), "%s.list", prefix);
	exec_record_put(out, key, "%s", list);
	snprintf(key, sizeof(key), "%s.state", prefix);
	exec_record_put(out, key, "%s", exec_choice_names[choice.state]);
	if (choice.interface >= 0) {
		snprintf(key, sizeof(key), "%s.interface", prefix);
		exec_record_put(out, key, "%s", interfaces->of[choice.interface].name);
	}
	/* With a single name the list says it. */
	if (choice.name[0] && strchr(list, ',')) {
		snprintf(key, sizeof(key), "%s.missing", prefix);
		exec_record_put(out, key, "%s", choice.name);
	}
}

/* Where programs listen that go by the host's own name: Gloo at the first address of it
 * at which it can. */
static void put_host(FILE *out)
{
	struct exec_resolved host;
	char name[LAUNCH_ADDR_MAX], address[64];

	if (gethostname(name, sizeof(name)))
		return;
	name[sizeof(name) - 1] = '\0';
	exec_resolve(name, EXEC_MEET_TIME, &host);
	exec_record_put(out, "host.name", "%s", name);
	put_addresses(out, "host.addresses", &host);
	for (uint32_t i = 0; i < host.count; i++) {
		exec_address_text(&host.address[i], address, sizeof(address));
		if (!exec_address_is_own(&host.address[i]))
			continue;
		exec_record_put(out, "host.own", "%s", address);
		return;
	}
	if (host.count)
		exec_record_put(out, "host.error", "%s is no address of it", address);
	else if (!host.unasked)
		exec_record_put(out, "host.error", "%s", host.error);
}

void exec_meeting_describe(const struct exec_meeting *meeting, FILE *out)
{
	const struct exec_interfaces *interfaces = &meeting->interfaces;
	int route = find_route(meeting, NULL);
	char address[64];

	put_interfaces(interfaces, out);
	if (route >= 0)
		exec_record_put(out, "interface", "%s", interfaces->of[route].name);
	for (size_t i = 0; i < CHOOSERS_COUNT; i++)
		put_choice(meeting, i, route, out);
	if (meeting->own.ss_family) {
		exec_address_text(&meeting->own, address, sizeof(address));
		exec_record_put(out, "listen", "%s %u", address, meeting->own_port);
		exec_record_put(out, "listen.interface", "%s",
				interfaces->of[meeting->own_interface].name);
	}
	put_host(out);
}
