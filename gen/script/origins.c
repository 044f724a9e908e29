/* SPDX-License-Identifier: MIT */
/* A list that grows with the script, and is searched by halves; see origins.h. */
#include "gen/script/origins.h"

#include <stdlib.h>
#include <string.h>

void script_origins_add(struct script_origins *origins, size_t begin, size_t end,
			const struct diag_place *place)
{
	if (!origins || !place || !place->file || begin >= end)
		return;
	if (origins->count == origins->allocated) {
		size_t allocated = origins->allocated ? 2 * origins->allocated : 32;
		struct script_origin *grown =
			reallocarray(origins->items, allocated, sizeof(*grown));

		if (!grown) {
			origins->failed = true;
			return;
		}
		origins->items = grown;
		origins->allocated = allocated;
	}
	origins->items[origins->count++] = (struct script_origin){begin, end, *place};
}

const struct script_origin *script_origins_find(const struct script_origins *origins,
						size_t offset)
{
	size_t low = 0, high = origins->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct script_origin *item = &origins->items[middle];

		if (offset < item->begin)
			high = middle;
		else if (offset >= item->end)
			low = middle + 1;
		else
			return item;
	}
	return NULL;
}

void script_origins_clear(struct script_origins *origins)
{
	free(origins->items);
	memset(origins, 0, sizeof(*origins));
}
