/* SPDX-License-Identifier: MIT */
/*
 * Listing a node's GPUs from what NVIDIA's, AMD's and Intel's drivers show in /proc and
 * /sys.
 */
#include "spank/launch/cards.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CPUs have a number there too. */
#define KFD_NODES_MAX 1024

#define TILES_MAX 8

/* A list under way, and where it is read. */
struct listing {
	struct launch_cards *cards;
	const struct launch_tree *tree;
};

/* Value of a line "NAME<blanks>value"; NULL when there is none. */
static const char *find_field(const char *text, const char *name)
{
	while (text) {
		if (!strncmp(text, name, strlen(name))) {
			text += strlen(name);
			return text + strspn(text, " \t");
		}
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return NULL;
}

static unsigned long long read_number(const char *text, const char *name)
{
	const char *value = find_field(text, name);

	return value ? strtoull(value, NULL, 10) : 0;
}

static void set_address(struct launch_card *card, unsigned int domain, unsigned int bus,
			unsigned int device, unsigned int function)
{
	card->address =
		(unsigned long long)domain << 24 | bus << 16 | device << 8 | function;
	snprintf(card->bus, sizeof(card->bus), "%04x:%02x:%02x.%x", domain, bus, device,
		 function);
}

/*
 * "0000:07:00.0", all hexadecimal, in LENGTH characters; the domain may have up to eight
 * digits. Nothing else than what is printed from the numbers gets into a file's name.
 */
static bool parse_bus(struct launch_card *card, const char *text, size_t length)
{
	unsigned int domain, bus, device, function;
	char name[sizeof(card->bus)];
	int end = 0;

	if (length >= sizeof(name) || length < strlen("0000:00:00.0"))
		return false;
	memcpy(name, text, length);
	name[length] = '\0';
	if (strspn(name, "0123456789abcdefABCDEF:.") != length ||
	    sscanf(name, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) !=
		    4 ||
	    (size_t)end != length)
		return false;
	set_address(card, domain, bus, device, function);
	return true;
}

static struct launch_card *add_card(struct launch_cards *cards, enum launch_vendor vendor)
{
	struct launch_card *card = &cards->card[cards->count];

	if (cards->count == LAUNCH_GPUS_MAX)
		return NULL;
	memset(card, 0, sizeof(*card));
	card->vendor = vendor;
	card->tiles = 1;
	cards->count++;
	return card;
}

static int compare_cards(const void *a, const void *b)
{
	const struct launch_card *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static void sort_cards(struct launch_cards *cards)
{
	qsort(cards->card, cards->count, sizeof(cards->card[0]), compare_cards);
}

static bool find_instance(const char *name, void *data)
{
	bool *found = data;

	*found |= !strncmp(name, "gi", strlen("gi"));
	return !*found;
}

/*
 * GPUs that the driver was told to exclude are listed too, but programs never see them.
 * MIG instances show under the minor number (NVIDIA's "MIG User Guide", device nodes),
 * without their UUIDs.
 */
static bool add_nvidia(const char *name, void *data)
{
	struct listing *list = data;
	struct launch_card *card = add_card(list->cards, LAUNCH_VENDOR_NVIDIA);
	const char *value;
	unsigned int minor;
	char text[4096];

	if (!card)
		return false;
	if (!parse_bus(card, name, strlen(name))) {
		list->cards->count--;
		return true;
	}
	if (launch_tree_read(list->tree, text, sizeof(text),
			     "/proc/driver/nvidia/gpus/%s/information", name))
		return true;
	value = find_field(text, "GPU Excluded:");
	/* The older drivers' name of it. */
	if (!value)
		value = find_field(text, "Blacklisted:");
	if (value && *value == 'Y') {
		list->cards->count--;
		return true;
	}
	value = find_field(text, "GPU UUID:");
	if (value)
		snprintf(card->uuid, sizeof(card->uuid), "%.*s",
			 (int)strcspn(value, " \t\n"), value);
	value = find_field(text, "Device Minor:");
	if (!value || !isdigit((unsigned char)*value))
		return true;
	minor = (unsigned int)strtoul(value, NULL, 10);
	card->denied = launch_tree_denied(list->tree, "/dev/nvidia%u", minor);
	launch_tree_list(list->tree, find_instance, &card->divided,
			 "/proc/driver/nvidia/capabilities/gpu%u/mig", minor);
	return true;
}

/*
 * By bus address: so CUDA counts under CUDA_DEVICE_ORDER=PCI_BUS_ID (CUDA C Programming
 * Guide, "CUDA Environment Variables"), and so do NVML and, through it, Slurm's
 * AutoDetect. The minor number of /dev/nvidiaN is another order.
 */
void launch_cards_nvidia(struct launch_cards *cards, const struct launch_tree *tree)
{
	struct listing list = {.cards = cards, .tree = tree};

	cards->count = 0;
	launch_tree_list(tree, add_nvidia, &list, "/proc/driver/nvidia/gpus");
	sort_cards(cards);
}

/*
 * location_id is bus, device and function; with several nodes on a GPU that is divided
 * (MI300's compute partitions), older kernels count these in the function and newer ones
 * in the highest four bits (kfd_topology_add_device() in Linux). unique_id is ROCm's UUID
 * (amd_filter_device.cpp in ROCR-Runtime).
 */
static void read_properties(struct launch_card *card, const struct launch_tree *tree,
			    unsigned int node)
{
	unsigned long long location, minor, unique;
	char text[4096];

	if (launch_tree_read(tree, text, sizeof(text),
			     "%s/class/kfd/kfd/topology/nodes/%u/properties", tree->sys,
			     node) ||
	    !find_field(text, "location_id"))
		return;
	location = read_number(text, "location_id");
	set_address(card, (unsigned int)read_number(text, "domain"), location >> 8 & 0xff,
		    location >> 3 & 0x1f, location & 0x7);
	unique = read_number(text, "unique_id");
	if (unique)
		snprintf(card->uuid, sizeof(card->uuid), "GPU-%016llx", unique);
	minor = read_number(text, "drm_render_minor");
	if (minor)
		card->denied = launch_tree_denied(tree, "/dev/dri/renderD%llu", minor);
}

/*
 * ROCm counts the nodes of the driver's topology that have a gpu_id (CPUs have 0), from
 * the lowest on and without those that a device cgroup denies: of these, the driver does
 * not tell the gpu_id (kfd_topology.c in Linux), or the render node does not open
 * (topology.c in ROCm's libhsakmt). That is the order of discovery, not of addresses.
 */
void launch_cards_amd(struct launch_cards *cards, const struct launch_tree *tree)
{
	char text[32];

	cards->count = 0;
	for (unsigned int node = 0; node < KFD_NODES_MAX; node++) {
		int error = launch_tree_read(tree, text, sizeof(text),
					     "%s/class/kfd/kfd/topology/nodes/%u/gpu_id",
					     tree->sys, node);
		bool denied = error == -EPERM || error == -EACCES;
		struct launch_card *card;

		if (error && !denied)
			return;
		if (!denied && !strtoul(text, NULL, 10))
			continue;
		card = add_card(cards, LAUNCH_VENDOR_AMD);
		if (!card)
			return;
		card->denied = denied;
		if (!denied)
			read_properties(card, tree, node);
	}
}

static struct launch_card *find_bus(struct launch_cards *cards, const char *bus)
{
	for (uint32_t i = 0; i < cards->count; i++)
		if (!strcmp(cards->card[i].bus, bus))
			return &cards->card[i];
	return NULL;
}

/* i915 has a directory for each tile's engine below the card, "gt0", "gt1". */
static bool count_tile(const char *name, void *data)
{
	uint32_t *tiles = data;

	if (!strncmp(name, "gt", 2) && isdigit((unsigned char)name[2]))
		(*tiles)++;
	return *tiles < TILES_MAX;
}

/* xe has one for each tile below the device, "tile0", "tile1". */
static bool count_xe_tile(const char *name, void *data)
{
	uint32_t *tiles = data;

	if (!strncmp(name, "tile", 4) && isdigit((unsigned char)name[4]))
		(*tiles)++;
	return *tiles < TILES_MAX;
}

static void count_tiles(struct launch_card *card, const struct launch_tree *tree,
			unsigned int number)
{
	uint32_t tiles = 0;

	launch_tree_list(tree, count_tile, &tiles, "%s/class/drm/card%u/gt", tree->sys,
			 number);
	if (!tiles)
		launch_tree_list(tree, count_xe_tile, &tiles,
				 "%s/class/drm/card%u/device", tree->sys, number);
	if (tiles)
		card->tiles = tiles;
}

/* "cardN" and "renderDN" of one device come in any order; connectors are "cardN-...". */
static bool add_intel(const char *name, void *data)
{
	struct listing *list = data;
	struct launch_card address, *card;
	unsigned int number;
	const char *value;
	char text[4096];
	bool render;
	int end = 0;

	if (sscanf(name, "card%3u%n", &number, &end) == 1 && !name[end])
		render = false;
	else if (sscanf(name, "renderD%3u%n", &number, &end) == 1 && !name[end])
		render = true;
	else
		return true;
	if (launch_tree_read(list->tree, text, sizeof(text),
			     "%s/class/drm/%s%u/device/uevent", list->tree->sys,
			     render ? "renderD" : "card", number))
		return true;
	value = find_field(text, "PCI_ID=8086:");
	if (!value)
		return true;
	value = find_field(text, "PCI_SLOT_NAME=");
	if (!value || !parse_bus(&address, value, strcspn(value, "\n")))
		return true;
	/* Intel's integrated GPUs all sit there, and Level Zero counts them last. */
	if (!strcmp(address.bus, "0000:00:02.0"))
		return true;
	card = find_bus(list->cards, address.bus);
	if (!card) {
		card = add_card(list->cards, LAUNCH_VENDOR_INTEL);
		if (!card)
			return false;
		card->address = address.address;
		memcpy(card->bus, address.bus, sizeof(card->bus));
	}
	if (render)
		card->denied =
			launch_tree_denied(list->tree, "/dev/dri/renderD%u", number);
	else
		count_tiles(card, list->tree, number);
	return true;
}

/*
 * Discrete GPUs first, each kind by bus address (comparePciIdBusNumber() in Intel's
 * compute-runtime, execution_environment.cpp).
 */
void launch_cards_intel(struct launch_cards *cards, const struct launch_tree *tree)
{
	struct listing list = {.cards = cards, .tree = tree};

	cards->count = 0;
	launch_tree_list(tree, add_intel, &list, "%s/class/drm", tree->sys);
	sort_cards(cards);
}

/*
 * By the high bytes of the class (PCI Code and ID Assignment): 3D and other display
 * controllers and processing accelerators. Of plain VGA are NVIDIA's boards for
 * workstations, but also the graphics in AMD's and Intel's processors and servers' BMCs.
 */
static enum launch_vendor tell_vendor(unsigned long class, const char *id)
{
	static const struct {
		const char *id;
		enum launch_vendor vendor;
		bool vga;
	} vendors[] = {{"0x10de", LAUNCH_VENDOR_NVIDIA, true},
		       {"0x1002", LAUNCH_VENDOR_AMD, false},
		       {"0x8086", LAUNCH_VENDOR_INTEL, false}};
	bool vga = class == 0x0300;

	for (size_t i = 0; i < sizeof(vendors) / sizeof(*vendors); i++)
		if (!strncmp(id, vendors[i].id, strlen(vendors[i].id)) &&
		    (!vga || vendors[i].vga))
			return vendors[i].vendor;
	return LAUNCH_VENDOR_UNKNOWN;
}

static bool add_pci(const char *name, void *data)
{
	struct listing *list = data;
	struct launch_card address, *card;
	enum launch_vendor vendor;
	unsigned long class;
	char text[32];

	if (!parse_bus(&address, name, strlen(name)) ||
	    launch_tree_read(list->tree, text, sizeof(text),
			     "%s/bus/pci/devices/%s/class", list->tree->sys, address.bus))
		return true;
	class = strtoul(text, NULL, 16) >> 8;
	if (class != 0x0300 && class != 0x0302 && class != 0x0380 && class != 0x1200)
		return true;
	if (launch_tree_read(list->tree, text, sizeof(text),
			     "%s/bus/pci/devices/%s/vendor", list->tree->sys,
			     address.bus))
		return true;
	vendor = tell_vendor(class, text);
	if (vendor == LAUNCH_VENDOR_UNKNOWN)
		return true;
	card = add_card(list->cards, vendor);
	if (!card)
		return false;
	card->address = address.address;
	memcpy(card->bus, address.bus, sizeof(card->bus));
	return true;
}

void launch_cards_pci(struct launch_cards *cards, const struct launch_tree *tree)
{
	struct listing list = {.cards = cards, .tree = tree};
	uint32_t number[LAUNCH_VENDOR_INTEL + 1] = {0};
	enum launch_vendor most = LAUNCH_VENDOR_NVIDIA;
	uint32_t kept = 0;

	cards->count = 0;
	launch_tree_list(tree, add_pci, &list, "%s/bus/pci/devices", tree->sys);
	for (uint32_t i = 0; i < cards->count; i++)
		number[cards->card[i].vendor]++;
	for (enum launch_vendor vendor = most; vendor <= LAUNCH_VENDOR_INTEL; vendor++)
		if (number[vendor] > number[most])
			most = vendor;
	for (uint32_t i = 0; i < cards->count; i++)
		if (cards->card[i].vendor == most)
			cards->card[kept++] = cards->card[i];
	cards->count = kept;
	sort_cards(cards);
}
