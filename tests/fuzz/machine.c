/* SPDX-License-Identifier: MIT */
/*
 * Machines: any bytes are read, or refused with a message; on one that is read, the tasks
 * of a step get CPUs that it has. The first bytes choose the step.
 */
#include "gen/spec/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TASKS 8

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_inside(const struct launch_cpuset *set,
			   const struct launch_cpuset *whole)
{
	for (size_t word = 0; word < LAUNCH_CPUS_MAX / 64; word++)
		require(!(set->bits[word] & ~whole->bits[word]));
}

static void deal(const struct spec_machine *machine, uint8_t tasks, uint8_t each,
		 uint8_t how)
{
	struct launch_cpuset masks[TASKS];
	struct spec_cpus cpus = {
		.tasks = tasks % TASKS + 1,
		.cpus_per_task = each % 64 + 1,
		.deal = how & 1 ? SPEC_DEAL_BLOCK : SPEC_DEAL_CYCLIC,
		.one_thread = how & 2,
		.bind = (enum spec_bind)(how / 4 % SPEC_BIND_MAP),
	};
	int rc = spec_machine_deal(machine, &cpus, masks);

	require(rc == 0 || rc == -ENOSPC || rc == -ENOMEM);
	for (uint32_t task = 0; rc == 0 && task < cpus.tasks; task++) {
		require(launch_cpuset_count(&masks[task]) > 0);
		require_inside(&masks[task], &machine->cpus);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spec_machine machine = {0};
	struct launch_error err = {0};
	struct launch_gpus gpus;
	struct diag diag = {0};
	int rc;

	if (size < 3)
		return 0;
	rc = spec_machine_read_text(&machine, "m.yaml", (const char *)data + 3, size - 3,
				    &diag);
	require((rc == 0) == (diag.errors == 0));
	if (rc == 0) {
		require(machine.packages_count && machine.numa_count &&
			machine.usable_count && machine.threads);
		for (size_t i = 0; i < machine.usable_count; i++)
			require(machine.usable[i].package < machine.packages_count);
		require(spec_machine_gpus(&machine, machine.gpus_count, &gpus, &err) ==
			0);
		for (uint32_t i = 0; i < gpus.count; i++)
			require_inside(&gpus.gpu[i].local, &machine.cpus);
		deal(&machine, data[0], data[1], data[2]);
	}
	spec_machine_clear(&machine);
	diag_clear(&diag);
	return 0;
}
