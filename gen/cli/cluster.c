/* SPDX-License-Identifier: MIT */
/*
 * scontrol's text. Its lines are KEY=VALUE with blanks between (src/api/partition_info.c
 * and node_info.c of Slurm); keys come and go with the releases, and the ones that are
 * read here are in 22.05, 24.11 and 26.05 alike.
 */
#include "gen/cli/cluster.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A piece of a text. */
struct span {
	const char *text;
	size_t length;
};

static bool is(struct span span, const char *text)
{
	return span.length == strlen(text) && memcmp(span.text, text, span.length) == 0;
}

/* Takes the next line off *TEXT. */
static bool next_line(const char **text, struct span *line)
{
	if (!**text)
		return false;
	line->text = *text;
	line->length = strcspn(*text, "\n");
	*text += line->length;
	*text += **text == '\n';
	return true;
}

/*
 * The value of KEY in a line of KEY=VALUE; empty when it is not there. The first one
 * counts: what people wrote (Extra=, Comment=, Reason=) stands at the end of a node's
 * line.
 */
static struct span value_of(struct span line, const char *key)
{
	const size_t length = strlen(key);
	const char *at = line.text, *end = line.text + line.length;

	while (at < end) {
		const char *blank = memchr(at, ' ', end - at);
		const char *stop = blank ? blank : end;

		if ((size_t)(stop - at) > length && at[length] == '=' &&
		    memcmp(at, key, length) == 0)
			return (struct span){at + length + 1, stop - at - length - 1};
		at = stop + 1;
	}
	return (struct span){end, 0};
}

/* The number that SPAN is; 0 for UNLIMITED, N/A and the like. */
static uint64_t number_of(struct span span)
{
	uint64_t number = 0;

	for (size_t i = 0; i < span.length; i++) {
		if (!isdigit((unsigned char)span.text[i]) || number > UINT32_MAX)
			return 0;
		number = number * 10 + (span.text[i] - '0');
	}
	return number;
}

/* False: no memory. A value that says that there is none gives NULL. */
static bool copy(struct span span, char **copy)
{
	static const char *const none[] = {"",          "(null)", "NONE",
					   "UNLIMITED", "N/A",    "ALL"};

	*copy = NULL;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		if (is(span, none[i]))
			return true;
	}
	*copy = strndup(span.text, span.length);
	return *copy;
}

static uint64_t min_known(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a ? a : b;
	return a < b ? a : b;
}

/* `KEY      = VALUE` of `scontrol show config`. */
static struct span setting(const char *config, const char *key)
{
	const size_t length = strlen(key);
	struct span line;

	while (next_line(&config, &line)) {
		size_t at = length;

		if (line.length <= length || memcmp(line.text, key, length) != 0)
			continue;
		while (at < line.length && line.text[at] == ' ')
			at++;
		if (at + 2 > line.length || line.text[at] != '=')
			continue;
		at += 2;
		return (struct span){line.text + at, line.length - at};
	}
	return (struct span){config, 0};
}

/* TEXT up to the first of STOP. */
static struct span up_to(struct span span, const char *stop)
{
	for (size_t i = 0; i < span.length; i++) {
		if (strchr(stop, span.text[i])) {
			span.length = i;
			break;
		}
	}
	return span;
}

static int read_config(struct cli_cluster *cluster, const char *config)
{
	struct span select = setting(config, "SelectType");

	if (select.length > 7 && memcmp(select.text, "select/", 7) == 0)
		select = (struct span){select.text + 7, select.length - 7};
	if (!copy(setting(config, "ClusterName"), &cluster->name) ||
	    !copy(setting(config, "SLURM_VERSION"), &cluster->version) ||
	    !copy(select, &cluster->select))
		return -ENOMEM;
	return 0;
}

static void clear_kind(struct cli_cluster_kind *kind)
{
	for (size_t i = 0; i < CLI_TYPES_MAX; i++)
		free(kind->types[i]);
	*kind = (struct cli_cluster_kind){0};
}

/* Of the types in two kinds that hold as many of them; as strcmp(). */
static int compare_types(const struct cli_cluster_kind *a,
			 const struct cli_cluster_kind *b)
{
	int order = 0;

	for (size_t i = 0; i < CLI_TYPES_MAX && order == 0; i++)
		order = strcmp(a->types[i] ? a->types[i] : "",
			       b->types[i] ? b->types[i] : "");
	return order;
}

static bool same_kind(const struct cli_cluster_kind *a, const struct cli_cluster_kind *b)
{
	return a->cpus == b->cpus && a->reserved == b->reserved &&
	       a->threads == b->threads && a->sockets == b->sockets && a->mem == b->mem &&
	       a->gpus == b->gpus && compare_types(a, b) == 0;
}

static bool add_type(struct cli_cluster_kind *kind, struct span type)
{
	for (size_t i = 0; i < CLI_TYPES_MAX; i++) {
		if (!kind->types[i])
			return copy(type, &kind->types[i]);
		if (is(type, kind->types[i]))
			return true;
	}
	return true;
}

/* "8", or "1K": a count can have the unit of a size (slurm.conf.5, Gres). */
static bool read_count(struct span word, uint64_t *count)
{
	static const char units[] = "KMGT";
	const char *unit =
		word.length > 1 ? strchr(units, word.text[word.length - 1]) : NULL;
	const struct span digits = {word.text, word.length - (unit ? 1 : 0)};

	if (!digits.length || digits.length > 9)
		return false;
	for (size_t i = 0; i < digits.length; i++) {
		if (!isdigit((unsigned char)digits.text[i]))
			return false;
	}
	*count = number_of(digits) << (unit ? 10 * (unit - units + 1) : 0);
	return true;
}

/* One entry of Gres=, "gpu[:TYPE][:no_consume][:COUNT]". */
static bool read_gpus(struct cli_cluster_kind *kind, struct span entry)
{
	const char *end = entry.text + entry.length;
	uint64_t count = 1;

	if (!is(up_to(entry, ":"), "gpu"))
		return true;
	for (const char *at = entry.text + 3; at < end;) {
		struct span word = up_to((struct span){at + 1, end - at - 1}, ":");

		at = word.text + word.length;
		if (at == end && read_count(word, &count))
			break;
		if (!is(word, "no_consume") && !add_type(kind, word))
			return false;
	}
	kind->gpus += count;
	return true;
}

/*
 * Gres=: "gpu:8", "gpu:a100:8(S:0-1)", "gpu:a100:4(S:0),gpu:h100:4(S:1),nvme:1". Commas
 * also stand in the brackets, between sockets.
 */
static bool read_gres(struct cli_cluster_kind *kind, struct span gres)
{
	const char *at = gres.text, *end = gres.text + gres.length;

	while (at < end) {
		struct span entry = up_to((struct span){at, end - at}, ",(");

		if (!read_gpus(kind, entry))
			return false;
		at = entry.text + entry.length;
		if (at < end && *at == '(') {
			at = memchr(at, ')', end - at);
			at = at ? at + 1 : end;
		}
		at += at < end;
	}
	return true;
}

static int read_kind(struct cli_cluster_kind *kind, struct span line)
{
	const uint64_t usable = number_of(value_of(line, "CPUEfctv"));
	const uint64_t cores = number_of(value_of(line, "CoresPerSocket"));
	const uint64_t threads = number_of(value_of(line, "ThreadsPerCore"));
	const uint64_t mem = number_of(value_of(line, "RealMemory"));
	const uint64_t kept = number_of(value_of(line, "MemSpecLimit"));

	*kind = (struct cli_cluster_kind){
		.nodes = 1,
		.cpus = number_of(value_of(line, "CPUTot")),
		.sockets = number_of(value_of(line, "Sockets")),
		.threads = 1,
		.mem = mem > kept ? mem - kept : mem,
	};
	if (usable && usable < kind->cpus)
		kind->reserved = kind->cpus - usable;
	/* CPUs= of slurm.conf may be the cores of a machine that has threads. */
	if (threads && kind->cpus == kind->sockets * cores * threads)
		kind->threads = threads;
	return read_gres(kind, value_of(line, "Gres")) ? 0 : -ENOMEM;
}

static int copy_kind(struct cli_cluster_kind *to, const struct cli_cluster_kind *from)
{
	*to = *from;
	memset(to->types, 0, sizeof(to->types));
	for (size_t i = 0; i < CLI_TYPES_MAX && from->types[i]; i++) {
		if (!(to->types[i] = strdup(from->types[i])))
			return -ENOMEM;
	}
	return 0;
}

static int add_kind(struct cli_cluster_partition *partition,
		    const struct cli_cluster_kind *kind)
{
	struct cli_cluster_kind *kinds = partition->kinds;

	for (size_t i = 0; i < partition->kinds_count; i++) {
		if (same_kind(&kinds[i], kind)) {
			kinds[i].nodes++;
			return 0;
		}
	}
	kinds = reallocarray(kinds, partition->kinds_count + 1, sizeof(*kinds));
	if (!kinds)
		return -ENOMEM;
	partition->kinds = kinds;
	return copy_kind(&kinds[partition->kinds_count++], kind);
}

/* Into the sorted list, unless it is there. */
static int add_feature(struct cli_cluster_partition *partition, struct span feature)
{
	size_t low = 0, high = partition->features_count;
	char **list = partition->features, *name;

	while (low < high) {
		const size_t middle = (low + high) / 2;
		int order = strncmp(list[middle], feature.text, feature.length);

		if (order == 0 && !list[middle][feature.length])
			return 0;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	name = strndup(feature.text, feature.length);
	list = name ? reallocarray(list, partition->features_count + 1, sizeof(*list))
		    : NULL;
	if (!list) {
		free(name);
		return -ENOMEM;
	}
	memmove(list + low + 1, list + low,
		(partition->features_count - low) * sizeof(*list));
	list[low] = name;
	partition->features = list;
	partition->features_count++;
	return 0;
}

static int add_features(struct cli_cluster_partition *partition, struct span features)
{
	const char *at = features.text, *end = features.text + features.length;
	int rc = 0;

	if (is(features, "(null)"))
		return 0;
	while (rc == 0 && at < end) {
		struct span feature = up_to((struct span){at, end - at}, ",");

		at = feature.text + feature.length + 1;
		if (feature.length)
			rc = add_feature(partition, feature);
	}
	return rc;
}

static struct cli_cluster_partition *find(const struct cli_cluster *cluster,
					  struct span name)
{
	for (size_t i = 0; i < cluster->partitions_count; i++) {
		if (is(name, cluster->partitions[i].name))
			return &cluster->partitions[i];
	}
	return NULL;
}

static int read_node(struct cli_cluster *cluster, struct span line)
{
	struct span names = value_of(line, "Partitions");
	const char *at = names.text, *end = names.text + names.length;
	struct cli_cluster_kind kind;
	int rc = read_kind(&kind, line);

	while (rc == 0 && at < end) {
		struct span name = up_to((struct span){at, end - at}, ",");
		struct cli_cluster_partition *partition = find(cluster, name);

		at = name.text + name.length + 1;
		if (partition)
			rc = add_kind(partition, &kind);
		if (partition && rc == 0)
			rc = add_features(partition, value_of(line, "AvailableFeatures"));
	}
	clear_kind(&kind);
	return rc;
}

static int read_partition(struct cli_cluster *cluster, struct span line)
{
	struct cli_cluster_partition *list = reallocarray(
		cluster->partitions, cluster->partitions_count + 1, sizeof(*list));
	struct span share = value_of(line, "OverSubscribe");
	struct span qos = value_of(line, "AllowQos");
	struct cli_cluster_partition *partition;

	if (!list)
		return -ENOMEM;
	cluster->partitions = list;
	partition = &list[cluster->partitions_count++];
	*partition = (struct cli_cluster_partition){
		.is_default = is(value_of(line, "Default"), "YES"),
		.exclusive = is(share, "EXCLUSIVE"),
		.nodes = min_known(number_of(value_of(line, "MaxNodes")),
				   number_of(value_of(line, "TotalNodes"))),
		.min_nodes = number_of(value_of(line, "MinNodes")),
		.cpus = number_of(value_of(line, "MaxCPUsPerNode")),
		.mem = number_of(value_of(line, "MaxMemPerNode")),
		.mem_per_cpu = number_of(value_of(line, "DefMemPerCPU")),
		.max_mem_per_cpu = number_of(value_of(line, "MaxMemPerCPU")),
	};
	if (!copy(value_of(line, "MaxTime"), &partition->time) ||
	    !copy(value_of(line, "DefaultTime"), &partition->default_time) ||
	    !copy(qos, &partition->qos))
		return -ENOMEM;
	partition->name = strndup(value_of(line, "PartitionName").text,
				  value_of(line, "PartitionName").length);
	return partition->name ? 0 : -ENOMEM;
}

/* Most GPUs first, since a partition that has some is there for them. */
static int compare_kinds(const void *left, const void *right)
{
	const struct cli_cluster_kind *a = left, *b = right;

	if (a->gpus != b->gpus)
		return a->gpus < b->gpus ? 1 : -1;
	if (a->cpus != b->cpus)
		return a->cpus < b->cpus ? 1 : -1;
	if (a->mem != b->mem)
		return a->mem < b->mem ? 1 : -1;
	if (a->reserved != b->reserved)
		return a->reserved > b->reserved ? 1 : -1;
	if (a->threads != b->threads)
		return a->threads < b->threads ? 1 : -1;
	if (a->sockets != b->sockets)
		return a->sockets < b->sockets ? 1 : -1;
	return compare_types(a, b);
}

/* "22.05.8", "25.05.0-0rc1": a year, a month, and what follows. */
static bool is_version(const char *text)
{
	unsigned int year, month;

	return isdigit((unsigned char)text[0]) &&
	       sscanf(text, "%2u.%2u", &year, &month) == 2 &&
	       text[strspn(text, "0123456789.-rcpe")] == '\0';
}

int cli_cluster_read(struct cli_cluster *cluster, const char *config,
		     const char *partitions, const char *nodes, const char **fault)
{
	struct span line;
	int rc = read_config(cluster, config);

	if (rc == 0 && !(cluster->version && is_version(cluster->version))) {
		*fault = "`scontrol show config` says no SLURM_VERSION";
		return -EINVAL;
	}
	while (rc == 0 && next_line(&partitions, &line)) {
		if (value_of(line, "PartitionName").length)
			rc = read_partition(cluster, line);
	}
	if (rc == 0 && !cluster->partitions_count) {
		*fault = "`scontrol show partition` names no partition";
		return -EINVAL;
	}
	while (rc == 0 && next_line(&nodes, &line)) {
		if (value_of(line, "NodeName").length)
			rc = read_node(cluster, line);
	}
	for (size_t i = 0; i < cluster->partitions_count && rc == 0; i++) {
		struct cli_cluster_partition *partition = &cluster->partitions[i];

		if (partition->kinds_count)
			qsort(partition->kinds, partition->kinds_count,
			      sizeof(*partition->kinds), compare_kinds);
	}
	return rc;
}

void cli_cluster_clear(struct cli_cluster *cluster)
{
	for (size_t i = 0; i < cluster->partitions_count; i++) {
		struct cli_cluster_partition *partition = &cluster->partitions[i];

		for (size_t k = 0; k < partition->kinds_count; k++)
			clear_kind(&partition->kinds[k]);
		for (size_t k = 0; k < partition->features_count; k++)
			free(partition->features[k]);
		free(partition->features);
		free(partition->kinds);
		free(partition->name);
		free(partition->time);
		free(partition->default_time);
		free(partition->qos);
	}
	free(cluster->partitions);
	free(cluster->name);
	free(cluster->version);
	free(cluster->select);
	*cluster = (struct cli_cluster){0};
}
