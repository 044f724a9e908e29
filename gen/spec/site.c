/* SPDX-License-Identifier: MIT */
/* Reading a site profile, and looking a partition up in it. */
#include "gen/spec/site.h"

#include "gen/spec/arena.h"
#include "gen/spec/file.h"
#include "gen/spec/read.h"

#include <errno.h>
#include <stdio.h>
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
	struct spec_site *own = spec_arena_alloc(&site->arena, sizeof(*own));
	int rc, merged;

	if (!own)
		return -ENOMEM;
	site->file = spec_arena_copy(&site->arena, file, strlen(file));
	if (!site->file)
		return -ENOMEM;
	rc = spec_read_document(own, spec_site_fields, site->file, text, length,
				&site->arena, diag);
	if (rc == -ENOMEM)
		return rc;
	merged = spec_inherit(own, site, spec_site_fields, &site->arena);
	own->file = site->file;
	own->named = site->named;
	own->arena = site->arena;
	*site = *own;
	return merged < 0 ? merged : rc;
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

int spec_site_load(struct spec_site *site, const char *file,
		   const struct spec_value *profile, struct diag *diag)
{
	const char *name = profile->given ? profile->text : "site";
	char *paths[SPEC_FILE_PLACES + 1], *base;
	int count, result = 0;

	site->named = file;
	if (!file && strchr(name, '/'))
		file = name;
	if (file)
		return spec_site_read(site, file, diag);
	if (asprintf(&base, "%s.yaml", name) < 0)
		return -ENOMEM;
	count = spec_file_places(base, paths);
	free(base);
	if (count < 0)
		return count;
	if (count == 0 && profile->given) {
		diag_add(diag, DIAG_ERROR, "spec-profile", &profile->place,
			 "there is no profile %.60s: neither /etc/srank/%.60s.yaml nor "
			 "one "
			 "in ~/.config/srank",
			 name, name);
		return -EINVAL;
	}
	for (int i = 0; i < count; i++) {
		int rc = result == 0 || result == -EINVAL
				 ? spec_site_read(site, paths[i], diag)
				 : 0;

		if (rc < 0)
			result = rc;
		free(paths[i]);
	}
	return result;
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

const struct spec_partition *spec_site_default(const struct spec_site *site)
{
	const struct spec_partition *partitions = site->partitions.entries;

	for (size_t i = 0; i < site->partitions.count; i++) {
		if (partitions[i].is_default.number)
			return &partitions[i];
	}
	return NULL;
}

enum spec_means spec_site_means(const struct spec_site *site)
{
	if (site->rendezvous.given)
		return (enum spec_means)site->rendezvous.number;
	return site->plugin.number ? SPEC_MEANS_PLUGIN : SPEC_MEANS_SHELL;
}

unsigned int spec_site_slurm(const struct spec_site *site)
{
	unsigned int year, month;

	if (!site->slurm.given || sscanf(site->slurm.text, "%u.%u", &year, &month) != 2 ||
	    year > 99 || month > 12)
		return 0;
	return 100 * year + month;
}

void spec_site_clear(struct spec_site *site)
{
	spec_arena_free(&site->arena);
	memset(site, 0, sizeof(*site));
}
