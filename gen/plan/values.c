/* SPDX-License-Identifier: MIT */
/*
 * Values that do not go together, or that only make sense with another one, and the forms
 * of some that sbatch would refuse later, when the place in the spec is no longer known.
 */
#include "gen/plan/resolve.h"

#include "spank/launch/hostlist.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Keys that say something about what another key names. */
static int check_lone_keys(struct plan_work *work)
{
	const struct spec *spec = work->spec;
	const struct spec_value *image = &spec->container.image;
	const struct spec_value *runtime = &spec->container.runtime;
	/* A runtime without an image is told by who writes the script. */
	const bool container = image->given || runtime->given;
	const struct {
		const struct spec_value *value;
		const char *name, *lacks;
		bool fine;
	} rows[] = {
		{&spec->container.mounts, "container.mounts", "container.image",
		 container},
		{&spec->container.workdir, "container.workdir", "container.image",
		 container},
		{&spec->container.name, "container.name", "container.image", container},
		{&spec->container.home, "container.home", "container.image", container},
		{&spec->container.writable, "container.writable", "container.image",
		 container},
		{&spec->container.env, "container.env", "container.image", container},
		{&spec->container.options, "container.options", "container.image",
		 container},
		{&spec->conda.root, "conda.root", "conda.env", spec->conda.env.given},
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].value->given || rows[i].fine)
			continue;
		diag_add(work->diag, DIAG_ERROR, "plan-value", &rows[i].value->place,
			 "%s is given without %s", rows[i].name, rows[i].lacks);
		rc = -EINVAL;
	}
	return rc;
}

static int check_names(struct plan_work *work)
{
	const struct spec_value *env = &work->spec->container.env;
	int rc = 0;

	for (size_t i = 0; i < env->count; i++) {
		const struct spec_item *item = &env->items[i];
		const char *text = item->text;

		for (;
		     (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		     *text == '_' || (text > item->text && *text >= '0' && *text <= '9');
		     text++)
			;
		if (text > item->text && *text == '\0')
			continue;
		diag_add(work->diag, DIAG_ERROR, "plan-value", &item->place,
			 "container.env: '%.60s' cannot be the name of a variable",
			 item->text);
		rc = -EINVAL;
	}
	return rc;
}

/* GPUs have keys of their own, from which tasks and CPUs follow. */
static void fix_gres(struct plan_work *work, const char *text)
{
	const char *type = text[3] == ':' ? text + 4 : "";
	const char *colon = strchr(type, ':');
	const char *count = colon ? colon + 1 : type;

	if (!count[0] || count[strspn(count, "0123456789")])
		diag_fix(work->diag, "gpus_per_node: COUNT");
	else if (colon)
		diag_fix(work->diag, "gpus_per_node: %s and gpu_type: %.*s", count,
			 (int)(colon - type), type);
	else
		diag_fix(work->diag, "gpus_per_node: %s", count);
}

static int check_gres(struct plan_work *work)
{
	const struct spec_value *gres = &work->spec->resources.gres;
	int rc = 0;

	for (size_t i = 0; i < gres->count; i++) {
		const char *text = gres->items[i].text;

		if (strncasecmp(text, "gres/", 5) == 0)
			text += 5;
		if (strncasecmp(text, "gpu", 3) != 0 || (text[3] && text[3] != ':'))
			continue;
		diag_add(
			work->diag, DIAG_ERROR, "plan-value", &gres->items[i].place,
			"gres `%.60s` asks for GPUs, which gpus_per_node and gpu_type do",
			gres->items[i].text);
		fix_gres(work, text);
		rc = -EINVAL;
	}
	return rc;
}

/* Names with commas between; sbatch takes any text, and slurmctld finds no such name. */
static int check_partition(struct plan_work *work)
{
	const struct spec_value *partition = &work->spec->batch.partition;
	static const char odd[] = " \t[]'\"";
	char names[128];
	size_t used = 0;

	if (!partition->given || !strpbrk(partition->text, odd))
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-value", &partition->place,
		 "partition: '%.60s' is no name of a partition, nor several with commas "
		 "between",
		 partition->text);
	/* `a, b`, `[a, b]` and `a b` are meant so. */
	for (const char *c = partition->text; *c && used + 1 < sizeof(names); c++) {
		const bool between = strchr(odd, *c) || *c == ',';

		if (!between)
			names[used++] = *c;
		else if (used > 0 && names[used - 1] != ',')
			names[used++] = ',';
	}
	while (used > 0 && names[used - 1] == ',')
		used--;
	diag_fix(work->diag, "partition: %.*s", (int)used, names);
	return -EINVAL;
}

/* COUNT[@TIME] (sbatch.1, --switches). */
static int check_switches(struct plan_work *work)
{
	const struct spec_value *switches = &work->spec->resources.switches;
	const char *text = switches->text;
	char hint[SPEC_HINT_MAX];
	uint64_t seconds;
	size_t digits;

	if (!switches->given)
		return 0;
	digits = strspn(text, "0123456789");
	if (digits > 0 && digits < 10 &&
	    (text[digits] == '\0' ||
	     (text[digits] == '@' &&
	      spec_time_read(text + digits + 1, &seconds, hint) == 0)))
		return 0;
	diag_add(
		work->diag, DIAG_ERROR, "plan-value", &switches->place,
		"switches: '%.60s' is not a number of switches, with @TIME behind it for "
		"how long to wait for them",
		text);
	return -EINVAL;
}

static int check_times(struct plan_work *work)
{
	const struct spec_value *time = &work->spec->batch.time;
	const struct spec_value *least = &work->spec->batch.time_min;

	if (!time->given || !least->given || least->number <= time->number)
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-value", &least->place,
		 "time_min %.40s is longer than time %.40s", least->text, time->text);
	return -EINVAL;
}

/* A host list; a path names a file with one (sbatch.1, --nodelist). */
static int count_hosts(struct plan_work *work, const char *name,
		       const struct spec_value *list, uint32_t *count)
{
	*count = 0;
	if (!list->given || strchr(list->text, '/') ||
	    launch_hostlist_count(list->text, count) == 0)
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-value", &list->place,
		 "%s: '%.60s' is not a list of nodes, as n[1-4],m7", name, list->text);
	return -EINVAL;
}

struct overlap {
	const char *exclude;
	const char *name; /* of the first node that is in both */
	char text[LAUNCH_HOST_MAX];
};

static int find_excluded(const char *name, uint32_t position, void *arg)
{
	struct overlap *overlap = arg;
	uint32_t at;

	if (launch_hostlist_find(overlap->exclude, name, &at) != 0)
		return 0;
	snprintf(overlap->text, sizeof(overlap->text), "%s", name);
	overlap->name = overlap->text;
	return 1;
}

/* Longer lists are compared by slurmctld alone: each name is looked up in the other. */
#define NODES_COMPARED 4096

static int check_lists(struct plan_work *work)
{
	const struct spec_value *nodelist = &work->spec->batch.nodelist;
	const struct spec_value *exclude = &work->spec->batch.exclude;
	struct overlap overlap = {.exclude = exclude->text};
	uint32_t wanted, unwanted;
	int rc = count_hosts(work, "nodelist", nodelist, &wanted);

	if (count_hosts(work, "exclude", exclude, &unwanted) < 0)
		rc = -EINVAL;
	if (rc < 0 || !wanted || !unwanted || wanted > NODES_COMPARED ||
	    unwanted > NODES_COMPARED)
		return rc;
	launch_hostlist_each(nodelist->text, find_excluded, &overlap);
	if (!overlap.name)
		return 0;
	diag_add(work->diag, DIAG_ERROR, "plan-value", &exclude->place,
		 "node %.60s is in exclude and in nodelist", overlap.name);
	return -EINVAL;
}

int plan_check_nodelist(struct plan_work *work)
{
	const struct spec_value *nodelist = &work->spec->batch.nodelist;
	const uint64_t nodes = plan_value(work->plan, PLAN_NODES);
	const unsigned int slurm = spec_site_slurm(work->site);
	uint32_t count;

	/* 24.11 takes as many of them as it needs; 22.05 refuses the job. */
	if (work->failed || !nodes || slurm >= 2411 || !nodelist->given ||
	    strchr(nodelist->text, '/') ||
	    launch_hostlist_count(nodelist->text, &count) != 0 || count <= nodes)
		return 0;
	diag_add(work->diag, slurm ? DIAG_ERROR : DIAG_WARNING, "plan-value",
		 &nodelist->place,
		 "nodelist names %u nodes, all of which must be in the job, and nodes is "
		 "%llu%s",
		 (unsigned int)count, (unsigned long long)nodes,
		 slurm ? "" : "; Slurm before 24.11 refuses that");
	return slurm ? -EINVAL : 0;
}

int plan_check_values(struct plan_work *work)
{
	static int (*const parts[])(struct plan_work *) = {
		check_lone_keys, check_names, check_gres,  check_partition,
		check_switches,  check_times, check_lists,
	};
	int result = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i](work) < 0)
			result = -EINVAL;
	}
	return result;
}
