/* SPDX-License-Identifier: MIT */
/*
 * Which GPUs stand behind a step's device list and which CPUs are near them, from the
 * text files of /proc and /sys: a few small files a GPU and one a socket. Whatever cannot
 * be told is left in Slurm's order.
 */
#include "spank/launch/cards.h"
#include "spank/launch/gpus.h"
#include "spank/launch/tree.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CPU "%s/devices/system/cpu/cpu%u"

/* More than any index. */
#define NO_INDEX UINT32_MAX

/* Part of a comma-separated list. */
struct token {
	const char *text;
	size_t length;
};

/*
 * Next token of *LIST, which moves behind it; empty ones are passed over. Slurm writes no
 * blanks, but people do, and the vendors' runtimes read past them.
 */
static bool next_token(const char **list, struct token *token)
{
	*list += strspn(*list, ", \t");
	token->text = *list;
	token->length = strcspn(*list, ",");
	*list += token->length;
	while (token->length && strchr(" \t", token->text[token->length - 1]))
		token->length--;
	return token->length != 0;
}

static uint32_t count_tokens(const char *list)
{
	struct token token;
	uint32_t count = 0;

	while (next_token(&list, &token))
		count++;
	return count;
}

static bool has_prefix(const struct token *token, const char *prefix)
{
	return token->length > strlen(prefix) &&
	       !strncasecmp(token->text, prefix, strlen(prefix));
}

/*
 * Number in a token: all of it, or, as Level Zero writes a tile of a device, up to a dot
 * ("1.0": ZE_AFFINITY_MASK in its specification). NO_INDEX when there is none.
 */
static uint32_t read_index(const struct token *token)
{
	uint32_t index = 0;
	size_t i;

	for (i = 0; i < token->length && isdigit((unsigned char)token->text[i]); i++) {
		index = index * 10 + (uint32_t)(token->text[i] - '0');
		if (index > LAUNCH_GPUS_MAX * LAUNCH_GPUS_MAX)
			return NO_INDEX;
	}
	if (!i || (i < token->length && token->text[i] != '.'))
		return NO_INDEX;
	return index;
}

/* The card at INDEX; with FLAT its tiles count one by one, with OPEN only what is ours.
 */
static const struct launch_card *find_index(const struct launch_cards *cards,
					    uint32_t index, bool flat, bool open)
{
	for (uint32_t i = 0; i < cards->count; i++) {
		const struct launch_card *card = &cards->card[i];
		uint32_t devices = flat ? card->tiles : 1;

		if (open && card->denied)
			continue;
		if (index < devices)
			return card;
		index -= devices;
	}
	return NULL;
}

/*
 * The GPU of "GPU-<uuid>", of which CUDA and ROCm take a unique beginning too, or the
 * parent of "MIG-GPU-<uuid>/<instance>/<instance>".
 */
static const struct launch_card *find_uuid(const struct launch_cards *cards,
					   const struct token *token)
{
	const struct launch_card *found = NULL;
	struct token uuid = *token;

	if (has_prefix(&uuid, "MIG-GPU-")) {
		uuid.text += strlen("MIG-");
		uuid.length = strcspn(uuid.text, "/,");
	}
	if (!has_prefix(&uuid, "GPU-"))
		return NULL;
	for (uint32_t i = 0; i < cards->count; i++) {
		if (strncasecmp(cards->card[i].uuid, uuid.text, uuid.length))
			continue;
		if (found)
			return NULL;
		found = &cards->card[i];
	}
	return found;
}

/*
 * "MIG-<uuid>" does not name its parent, and the driver tells nothing of these UUIDs but
 * through NVML; it does tell which GPUs are divided, and where only one that we may use
 * is, it is this one's instance.
 */
static const struct launch_card *find_divided(const struct launch_cards *cards)
{
	const struct launch_card *found = NULL;

	for (uint32_t i = 0; i < cards->count; i++) {
		if (!cards->card[i].divided || cards->card[i].denied)
			continue;
		if (found)
			return NULL;
		found = &cards->card[i];
	}
	return found;
}

/*
 * Whether a list counts tiles (ZE_FLAT_DEVICE_HIERARCHY=FLAT) and not cards: its numbers
 * go beyond these. Where they do not, it has Slurm's numbers of the cards, and the site
 * sets COMPOSITE for its users.
 */
static bool counts_tiles(const struct launch_cards *cards, const struct launch_gpus *gpus)
{
	bool beyond = false;

	for (uint32_t i = 0; i < gpus->count; i++) {
		struct token token = {gpus->gpu[i].name, strlen(gpus->gpu[i].name)};
		uint32_t index = read_index(&token);

		if (memchr(token.text, '.', token.length))
			return false;
		beyond |= index != NO_INDEX && index >= cards->count;
	}
	return beyond;
}

/*
 * An index counts the GPUs that the process may use. Where a device cgroup hides others
 * from us, these are known. Where it hides them from the tasks only (cgroup v2, in which
 * slurmstepd is not under the constraint of its step), the list counts from 0 among what
 * is left, and SLURM_STEP_GPUS still has the node's own numbers
 * (gres_use_local_device_index() in Slurm's gres.c): PAIRED, the same entry of that.
 */
static const struct launch_card *find_card(const struct launch_cards *cards,
					   const struct token *token,
					   const struct token *paired, bool flat)
{
	const struct launch_card *card = find_uuid(cards, token);
	bool hidden = false;

	if (card)
		return card;
	if (has_prefix(token, "MIG-"))
		return has_prefix(token, "MIG-GPU-") ? NULL : find_divided(cards);
	for (uint32_t i = 0; i < cards->count; i++)
		hidden |= cards->card[i].denied;
	if (hidden)
		card = find_index(cards, read_index(token), flat, true);
	return card ? card : find_index(cards, read_index(paired), flat, false);
}

/*
 * The CPUs of the packages that LOCAL touches, by the name that Linux has used since 5.3
 * or by the older one (Documentation/ABI/stable/sysfs-devices-system-cpu). LOCAL itself
 * where neither is there.
 */
static void read_socket(struct launch_cpuset *socket, const struct launch_cpuset *local,
			const struct launch_tree *tree)
{
	struct launch_cpuset rest = *local, package;
	char text[LAUNCH_TREE_TEXT_MAX];

	*socket = *local;
	for (uint32_t cpu = launch_cpuset_first(&rest); cpu < LAUNCH_CPUS_MAX;
	     cpu = launch_cpuset_next(&rest, cpu)) {
		if (launch_tree_read(tree, text, sizeof(text),
				     CPU "/topology/package_cpus_list", tree->sys, cpu) &&
		    launch_tree_read(tree, text, sizeof(text),
				     CPU "/topology/core_siblings_list", tree->sys, cpu))
			return;
		if (launch_cpuset_parse(&package, text))
			return;
		launch_cpuset_join(socket, &package);
		launch_cpuset_remove(&rest, &package);
	}
}

/*
 * The CPUs of the NUMA nodes that are nearest to NODE, which has none of its own, as
 * where memory on the GPU's side of the machine is a node. A node's distances are in the
 * order of the nodes online (node_read_distance() in Linux's drivers/base/node.c).
 */
static int read_nearest(struct launch_cpuset *cpus, unsigned long node,
			const struct launch_tree *tree)
{
	char distances[LAUNCH_TREE_TEXT_MAX], text[LAUNCH_TREE_TEXT_MAX];
	unsigned long nearest = ULONG_MAX;
	struct launch_cpuset nodes, own;
	char *at = distances;

	if (launch_tree_read(tree, text, sizeof(text), "%s/devices/system/node/online",
			     tree->sys) ||
	    launch_cpuset_parse(&nodes, text) ||
	    launch_tree_read(tree, distances, sizeof(distances),
			     "%s/devices/system/node/node%lu/distance", tree->sys, node))
		return -ENOENT;
	for (uint32_t i = launch_cpuset_first(&nodes); i < LAUNCH_CPUS_MAX;
	     i = launch_cpuset_next(&nodes, i)) {
		char *end;
		unsigned long distance = strtoul(at, &end, 10);

		if (end == at)
			break;
		at = end;
		if (distance > nearest ||
		    launch_tree_read(tree, text, sizeof(text),
				     "%s/devices/system/node/node%u/cpulist", tree->sys,
				     i) ||
		    launch_cpuset_parse(&own, text) || launch_cpuset_is_empty(&own))
			continue;
		if (distance < nearest)
			memset(cpus, 0, sizeof(*cpus));
		nearest = distance;
		launch_cpuset_join(cpus, &own);
	}
	return 0;
}

/*
 * Reads NAME of the card's. A compute partition of AMD's MI300 has a function of its own
 * in older kernels, which the bus does not have: its neighbours are those of function 0.
 */
static int read_device(const struct launch_card *card, const char *name, char *text,
		       size_t size, const struct launch_tree *tree)
{
	int most = (int)strcspn(card->bus, ".");
	int error = launch_tree_read(tree, text, size, "%s/bus/pci/devices/%s/%s",
				     tree->sys, card->bus, name);

	if (error == -ENOENT && card->vendor == LAUNCH_VENDOR_AMD)
		error = launch_tree_read(tree, text, size, "%s/bus/pci/devices/%.*s.0/%s",
					 tree->sys, most, card->bus, name);
	return error;
}

static int read_local(struct launch_cpuset *local, const struct launch_card *card,
		      const struct launch_tree *tree)
{
	char text[LAUNCH_TREE_TEXT_MAX];
	int error;

	if (!card->bus[0])
		return -ENOENT;
	error = read_device(card, "local_cpulist", text, sizeof(text), tree);
	if (!error)
		error = launch_cpuset_parse(local, text);
	if (error || !launch_cpuset_is_empty(local))
		return error;
	error = read_device(card, "numa_node", text, sizeof(text), tree);
	if (error || !isdigit((unsigned char)text[0]))
		return error;
	return read_nearest(local, strtoul(text, NULL, 10), tree);
}

/*
 * local_cpulist is the CPUs of the GPU's NUMA node, whatever the node's number, and all
 * CPUs when the firmware names no node (pci_dev_show_local_cpu() in Linux's
 * drivers/pci/pci-sysfs.c), so that numa_node and the node's own list say nothing more. A
 * list of all CPUs tells no task from another.
 */
static void locate(struct launch_gpus *gpus, struct launch_gpu *gpu,
		   const struct launch_card *card, const struct launch_cpuset *online,
		   const struct launch_tree *tree)
{
	if (read_local(&gpu->local, card, tree) || launch_cpuset_is_empty(&gpu->local) ||
	    !memcmp(&gpu->local, online, sizeof(*online)))
		return;
	gpu->node = gpu->local;
	for (const struct launch_gpu *other = gpus->gpu; other < gpu; other++) {
		if (other->located &&
		    !memcmp(&other->local, &gpu->local, sizeof(gpu->local))) {
			gpu->socket = other->socket;
			gpu->located = true;
			return;
		}
	}
	read_socket(&gpu->socket, &gpu->local, tree);
	gpu->located = true;
}

static int read_names(struct launch_gpus *gpus, const char *list,
		      struct launch_error *err)
{
	struct token token;

	while (next_token(&list, &token)) {
		struct launch_gpu *gpu = &gpus->gpu[gpus->count];

		if (gpus->count == LAUNCH_GPUS_MAX) {
			gpus->count = 0;
			return launch_error_set(
				err, -ENOSPC,
				"the step has more than %d GPUs on this node, "
				"which gpus= cannot order; use gpus=none",
				LAUNCH_GPUS_MAX);
		}
		if (token.length >= sizeof(gpu->name)) {
			gpus->count = 0;
			return launch_error_set(
				err, -EINVAL,
				"the step's device list has a name of %zu "
				"characters, more than any GPU's, beginning "
				"\"%.32s\"; use gpus=none",
				token.length, token.text);
		}
		memset(gpu, 0, sizeof(*gpu));
		memcpy(gpu->name, token.text, token.length);
		gpus->count++;
	}
	return 0;
}

/*
 * Boards where each GPU hangs on one chiplet of the processor, which the firmware does
 * not say: a GPU's bus number, and a CPU beside it (ORNL's and LUMI's user guides: "CPU -
 * GPU binding").
 */
static const struct board {
	const char *name;
	struct {
		unsigned int bus;
		unsigned int cpu;
	} gpu[8];
} boards[] = {{"HPE CRAY EX235A",
	       {{0xc1, 48},
		{0xc6, 56},
		{0xc9, 16},
		{0xce, 24},
		{0xd1, 0},
		{0xd6, 8},
		{0xd9, 32},
		{0xde, 40}}}};

static const struct board *find_board(const struct launch_tree *tree)
{
	char text[64];

	if (launch_tree_read(tree, text, sizeof(text), "%s/class/dmi/id/board_name",
			     tree->sys))
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	for (size_t i = 0; i < sizeof(boards) / sizeof(*boards); i++)
		if (!strcmp(text, boards[i].name))
			return &boards[i];
	return NULL;
}

/*
 * Near the GPU are the CPUs that share a cache with the one beside it. Some firmware of
 * this board also gives a GPU a NUMA node that is not the chiplet's.
 */
static void locate_chiplet(struct launch_gpu *gpu, const struct launch_card *card,
			   const struct board *board, const struct launch_tree *tree)
{
	struct launch_cpuset chiplet;
	char text[LAUNCH_TREE_TEXT_MAX];
	uint32_t first;

	for (size_t i = 0; gpu->located && i < sizeof(board->gpu) / sizeof(*board->gpu);
	     i++) {
		if (card->address != (unsigned long long)board->gpu[i].bus << 16 ||
		    launch_tree_read(tree, text, sizeof(text),
				     CPU "/cache/index3/shared_cpu_list", tree->sys,
				     board->gpu[i].cpu) ||
		    launch_cpuset_parse(&chiplet, text))
			continue;
		first = launch_cpuset_first(&chiplet);
		if (first == LAUNCH_CPUS_MAX)
			continue;
		gpu->local = chiplet;
		if (!launch_cpuset_has(&gpu->node, first))
			gpu->node = chiplet;
	}
}

/*
 * Finds the GPUs of the list among CARDS; CERTAIN: it is enough that one of them is
 * there. Otherwise there must be as many as the list has.
 */
static bool find_cards(const struct launch_cards *cards, const struct launch_gpus *gpus,
		       const char *step_gpus, bool certain,
		       const struct launch_card **card_of)
{
	bool flat, one = false;
	uint32_t devices = 0;

	if (!cards->count)
		return false;
	flat = cards->card[0].vendor == LAUNCH_VENDOR_INTEL && counts_tiles(cards, gpus);
	for (uint32_t i = 0; i < gpus->count; i++) {
		struct token token = {gpus->gpu[i].name, strlen(gpus->gpu[i].name)};
		struct token paired = token;

		if (step_gpus)
			next_token(&step_gpus, &paired);
		card_of[i] = find_card(cards, &token, &paired, flat);
		one |= card_of[i] || has_prefix(&token, "MIG-");
	}
	for (uint32_t i = 0; i < cards->count; i++)
		devices += cards->card[i].tiles;
	return certain ? one : devices >= gpus->count;
}

/*
 * Where to look for the step's GPUs, in turn. NVIDIA's driver has only what Slurm may
 * give away; AMD's and Intel's also serve the small graphics of a workstation's
 * processor, and on the bus there is anything.
 */
static const struct {
	void (*read)(struct launch_cards *cards, const struct launch_tree *tree);
	enum launch_vendor vendor;
	bool certain;
} sources[] = {{launch_cards_nvidia, LAUNCH_VENDOR_NVIDIA, true},
	       {launch_cards_amd, LAUNCH_VENDOR_AMD, false},
	       {launch_cards_intel, LAUNCH_VENDOR_INTEL, false},
	       {launch_cards_pci, LAUNCH_VENDOR_UNKNOWN, false}};

/*
 * The cards behind the list. A node may have GPUs of two vendors, each with its Flags in
 * gres.conf, so those whose variable Slurm has set come first. The others are no less
 * sure where the flags are missing or wrong.
 */
static bool search(const struct launch_gpus *gpus, uint32_t variables,
		   const char *step_gpus, const struct launch_tree *tree,
		   struct launch_cards *cards, const struct launch_card **card_of)
{
	for (int other = 0; other < 2; other++) {
		for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
			enum launch_vendor vendor = sources[i].vendor;
			bool set = variables >> launch_vendor_variable(vendor) & 1;

			if (set == other)
				continue;
			sources[i].read(cards, tree);
			if (find_cards(cards, gpus, step_gpus, sources[i].certain,
				       card_of))
				return true;
		}
	}
	return false;
}

int launch_gpus_read(struct launch_gpus *gpus, const char *list, uint32_t variables,
		     const char *step_gpus, const char *root, struct launch_error *err)
{
	const struct launch_card *card_of[LAUNCH_GPUS_MAX];
	struct launch_cpuset online = {0};
	char text[LAUNCH_TREE_TEXT_MAX];
	const struct board *board = NULL;
	struct launch_cards cards;
	struct launch_tree tree;
	bool found;
	int error;

	gpus->vendor = LAUNCH_VENDOR_UNKNOWN;
	gpus->count = 0;
	if (!list)
		return 0;
	error = read_names(gpus, list, err);
	if (error || !gpus->count)
		return error;
	if (!step_gpus || count_tokens(step_gpus) != gpus->count)
		step_gpus = NULL;
	launch_tree_init(&tree, root);
	found = search(gpus, variables, step_gpus, &tree, &cards, card_of);
	/* Nobody else has such instances, whatever a container shows of the driver. */
	if (!found && !strncmp(gpus->gpu[0].name, "MIG-", strlen("MIG-")))
		gpus->vendor = LAUNCH_VENDOR_NVIDIA;
	if (!found)
		return 0;
	gpus->vendor = cards.card[0].vendor;
	if (!launch_tree_read(&tree, text, sizeof(text), "%s/devices/system/cpu/online",
			      tree.sys))
		launch_cpuset_parse(&online, text);
	for (uint32_t i = 0; i < gpus->count; i++)
		if (card_of[i])
			locate(gpus, &gpus->gpu[i], card_of[i], &online, &tree);
	if (gpus->vendor == LAUNCH_VENDOR_AMD)
		board = find_board(&tree);
	for (uint32_t i = 0; i < gpus->count && board; i++)
		if (card_of[i])
			locate_chiplet(&gpus->gpu[i], card_of[i], board, &tree);
	return 0;
}
