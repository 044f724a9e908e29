/* SPDX-License-Identifier: MIT */
/* Reading a site profile, and looking a partition up in it. */
#include "gen/spec/site.h"

#include "gen/spec/arena.h"
#include "gen/spec/file.h"
#include "gen/spec/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void spec_site_init(struct spec_site *site)
{
	memset(site, 0, sizeof(*site));
	site->plugin.number = 1;
	site->plugin.text = "true";
	site->gpu_dialect.number = SPEC_DIALECT_GRES;
	site->gpu_dialect.text = "gres";
}

int spec_site_read_text(struct spec_site *site, const char *file, const char *text,
			size_t length, struct diag *diag)
{
	site->file = spec_arena_copy(&site->arena, file, strlen(file));
	if (!site->file)
		return -ENOMEM;
	return spec_read_document(site, spec_site_fields, site->file, text, length,
				  &site->arena, diag);
}

int spec_site_read(struct spec_site *site, const char *file, struct diag *diag)
{
	char *text;
	size_t length;
	int rc = spec_file_read(file, &text, &length, diag);

	if (rc < 0)
		return rc;
	rc = spec_site_read_text(site, file, text, length, diag);
	free(text);
	return rc;
}

const struct spec_partition *spec_site_partition(const struct spec_site *site,
						 const char *name)
{
	const struct spec_partition *partitions = site->partitions.entries;

	for (size_t i = 0; i < site->partitions.count; i++) {
		if (strcmp(partitions[i].name.text, name) == 0)
			return &partitions[i];
	}
	return NULL;
}

void spec_site_clear(struct spec_site *site)
{
	spec_arena_free(&site->arena);
	memset(site, 0, sizeof(*site));
}
