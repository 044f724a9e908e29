/* SPDX-License-Identifier: MIT */
/*
 * `srank doctor`: every task looks about, and rank 0 says whether the step would do.
 */
#pragma once

#include "spank/launch/settings.h"

#include <stdbool.h>
#include <stdint.h>

struct exec_doctor {
	struct launch_settings settings;
	bool pmix;                /* use it where there is a server */
	bool json;                /* the report as one JSON object */
	bool strict;              /* warnings count, too */
	bool bandwidth;           /* measure it; takes PMIx */
	unsigned int timeout;     /* seconds to wait for the other ranks; 0: as usual */
	const char *const *trees; /* to be compared; TREES_COUNT of them */
	uint32_t trees_count;
};

/*
 * Examines the step, as one of its tasks. Rank 0 prints the report to standard output: 0
 * when nothing is wrong, else 1. The other ranks: 0, and 1 only when there will be no
 * report. Threads of libpmix may still be there, and its handlers at exit would wait for
 * them: call _Exit().
 */
int exec_doctor(const struct exec_doctor *doctor);
