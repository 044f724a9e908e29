/* SPDX-License-Identifier: MIT */
/*
 * The variable in which srun hands the layout of a step on to its tasks: written where
 * the layout is known, read where only the environment is. See order.h for the text.
 */
#include "spank/launch/order.h"

#include "spank/launch/hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a longer number only the end is counted up, so that it fits into 64 bits. */
#define DIGITS_MAX 18

/* No place yet. */
#define NOWHERE UINT32_MAX

struct writer {
	uint32_t nnodes;
	uint32_t *place; /* of each node of the list */
	char **name;     /* by place */
};

static void free_names(char **name, uint32_t count)
{
	for (uint32_t i = 0; name && i < count; i++)
		free(name[i]);
	free(name);
}

/* Ranks come in order here, so a node's first one is its lowest. */
static int find_places(struct writer *writer, const uint32_t *node_of, uint32_t ntasks)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < writer->nnodes; i++)
		writer->place[i] = NOWHERE;
	for (uint32_t rank = 0; rank < ntasks; rank++) {
		if (node_of[rank] >= writer->nnodes)
			return -EINVAL;
		if (writer->place[node_of[rank]] == NOWHERE)
			writer->place[node_of[rank]] = next++;
	}
	/* A node without tasks cannot be, but would have the last place. */
	for (uint32_t i = 0; i < writer->nnodes; i++) {
		if (writer->place[i] == NOWHERE)
			writer->place[i] = next++;
	}
	return 0;
}

static int keep_name(const char *name, uint32_t position, void *arg)
{
	struct writer *writer = arg;
	char *copy = strdup(name);

	writer->name[writer->place[position]] = copy;
	return copy ? 0 : -ENOMEM;
}

/* Length of NAME without the digits that end it. */
static size_t prefix_length(const char *name)
{
	size_t length = strlen(name), digits = 0;

	while (digits < length && digits < DIGITS_MAX &&
	       isdigit((unsigned char)name[length - digits - 1]))
		digits++;
	return length - digits;
}

/* NAME is FIRST, N further on, as a range that starts with FIRST would name it. */
static bool continues(const char *first, const char *name, size_t prefix, uint32_t n)
{
	unsigned long long number = strtoull(first + prefix, NULL, 10) + n;
	char digits[DIGITS_MAX + 4];

	snprintf(digits, sizeof(digits), "%0*llu", (int)strlen(first + prefix), number);
	return strcmp(name + prefix, digits) == 0;
}

static bool alike(const char *a, const char *b)
{
	size_t prefix = prefix_length(a);

	return a[prefix] && b[prefix_length(b)] && prefix == prefix_length(b) &&
	       strncmp(a, b, prefix) == 0;
}

/* Neighbours that differ in their number only share a bracket. */
static void write_names(FILE *out, char *const *name, uint32_t count)
{
	uint32_t first, end;

	for (first = 0; first < count; first = end) {
		size_t prefix = prefix_length(name[first]);

		for (end = first + 1; end < count && alike(name[first], name[end]);)
			end++;
		fputs(first ? "," : "", out);
		if (end == first + 1) {
			fputs(name[first], out);
			continue;
		}
		fprintf(out, "%.*s[", (int)prefix, name[first]);
		for (uint32_t low = first, high; low < end; low = high) {
			for (high = low + 1;
			     high < end &&
			     continues(name[low], name[high], prefix, high - low);)
				high++;
			fprintf(out, "%s%s", low > first ? "," : "", name[low] + prefix);
			if (high > low + 1)
				fprintf(out, "-%s", name[high - 1] + prefix);
		}
		fputc(']', out);
	}
}

static void write_placement(FILE *out, const uint32_t *place, const uint32_t *node_of,
			    uint32_t ntasks)
{
	for (uint32_t rank = 0, end; rank < ntasks; rank = end) {
		for (end = rank + 1; end < ntasks && node_of[end] == node_of[rank];)
			end++;
		fprintf(out, "%s%u", rank ? "," : "", place[node_of[rank]]);
		if (end > rank + 1)
			fprintf(out, "(x%u)", end - rank);
	}
}

static int write_text(const struct writer *writer, uint32_t job_id, uint32_t step_id,
		      const uint32_t *node_of, uint32_t ntasks, char **text)
{
	size_t size;
	FILE *out = open_memstream(text, &size);

	if (!out)
		return -ENOMEM;
	fprintf(out, "%u.%u:", job_id, step_id);
	write_names(out, writer->name, writer->nnodes);
	fputc(':', out);
	write_placement(out, writer->place, node_of, ntasks);
	if (fclose(out)) {
		free(*text);
		*text = NULL;
		return -ENOMEM;
	}
	if (size <= LAUNCH_ORDER_MAX)
		return 0;
	free(*text);
	if (asprintf(text, "%u.%u:%s", job_id, step_id, writer->name[0]) >= 0)
		return 0;
	*text = NULL;
	return -ENOMEM;
}

int launch_order_write(uint32_t job_id, uint32_t step_id, const char *nodelist,
		       const uint32_t *node_of, uint32_t ntasks, char **text)
{
	struct writer writer = {0};
	int r = -ENOMEM;

	*text = NULL;
	if (!ntasks || launch_hostlist_count(nodelist, &writer.nnodes) ||
	    strchr(nodelist, ':'))
		return -EINVAL;
	writer.place = calloc(writer.nnodes, sizeof(*writer.place));
	writer.name = calloc(writer.nnodes, sizeof(*writer.name));
	if (!writer.place || !writer.name)
		goto out;
	r = find_places(&writer, node_of, ntasks);
	if (r)
		goto out;
	r = launch_hostlist_each(nodelist, keep_name, &writer);
	if (r == -ENAMETOOLONG)
		r = -EINVAL;
	if (r == 0)
		r = write_text(&writer, job_id, step_id, node_of, ntasks, text);
out:
	free_names(writer.name, writer.nnodes);
	free(writer.place);
	return r;
}

/* NUMBER and then END at *AT; moves *AT behind both. */
static bool read_id(const char **at, uint32_t number, char end)
{
	char digits[16];
	int length = snprintf(digits, sizeof(digits), "%u%c", number, end);

	if (strncmp(*at, digits, length) != 0)
		return false;
	*at += length;
	return true;
}

struct places {
	uint32_t nnodes;
	uint32_t known; /* places that a rank had so far */
	uint64_t ntasks;
};

/* Places are numbered as the ranks first come to them. */
static int check_run(uint32_t place, uint32_t ntasks, void *arg)
{
	struct places *places = arg;

	if (place > places->known || place >= places->nnodes)
		return -EINVAL;
	places->known += place == places->known;
	places->ntasks += ntasks;
	return 0;
}

static bool is_placement(const char *text, uint32_t nnodes, uint32_t ntasks)
{
	struct places places = {.nnodes = nnodes};

	return launch_counts_each(text, check_run, &places) == 0 &&
	       places.ntasks == ntasks;
}

int launch_order_read(const char *text, uint32_t job_id, uint32_t step_id,
		      uint32_t nnodes, uint32_t ntasks, char **nodes, char **placement)
{
	const char *end;
	uint32_t count;
	bool whole;

	*nodes = *placement = NULL;
	if (!read_id(&text, job_id, '.') || !read_id(&text, step_id, ':'))
		return -ENOENT;
	end = strchrnul(text, ':');
	whole = *end;
	*nodes = strndup(text, end - text);
	if (!*nodes)
		return -ENOMEM;
	if (launch_hostlist_count(*nodes, &count) || count != (whole ? nnodes : 1) ||
	    (whole && !is_placement(end + 1, nnodes, ntasks))) {
		free(*nodes);
		*nodes = NULL;
		return -EINVAL;
	}
	if (!whole)
		return 0;
	*placement = strdup(end + 1);
	if (*placement)
		return 0;
	free(*nodes);
	*nodes = NULL;
	return -ENOMEM;
}
