/* SPDX-License-Identifier: MIT */
/*
 * The GPUs that the drivers of a node know, in the order in which the vendors' runtimes
 * count them: what an index in CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or
 * ZE_AFFINITY_MASK means.
 */
#pragma once

#include "spank/launch/gpus.h"
#include "spank/launch/tree.h"

#include <stdbool.h>
#include <stdint.h>

struct launch_card {
	enum launch_vendor vendor;
	unsigned long long address; /* domain, bus, device, function: a sort key */
	char bus[24];               /* "0000:07:00.0"; "" when it is not known */
	char uuid[48];              /* "GPU-..."; "" when the driver does not say */
	uint32_t tiles; /* as many devices where tiles are devices; 1 or more */
	bool denied;    /* a device cgroup keeps it from us */
	bool divided;   /* it has MIG instances */
};

struct launch_cards {
	uint32_t count;
	struct launch_card card[LAUNCH_GPUS_MAX];
};

/* The GPUs of NVIDIA's driver, in CUDA's order under CUDA_DEVICE_ORDER=PCI_BUS_ID. */
void launch_cards_nvidia(struct launch_cards *cards, const struct launch_tree *tree);

/* The GPUs of AMD's compute driver (KFD), in the order of ROCm's runtime. */
void launch_cards_amd(struct launch_cards *cards, const struct launch_tree *tree);

/* The GPUs of Intel's drivers (i915, xe), in Level Zero's order; no integrated ones. */
void launch_cards_intel(struct launch_cards *cards, const struct launch_tree *tree);

/*
 * For a node whose drivers show nothing of all that: the GPUs on the PCI bus, by address,
 * of the vendor that has the most there.
 */
void launch_cards_pci(struct launch_cards *cards, const struct launch_tree *tree);
