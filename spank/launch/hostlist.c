/* SPDX-License-Identifier: MIT */
/*
 * Host lists and task counts, read in place. An entry such as `rack[1-2]node[1-3,7]` is
 * kept as a few cursors into the text, one a bracket, like the wheels of an odometer: the
 * n-th name is found by turning each wheel by division, the next one by turning the last.
 */
#include "spank/launch/hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct range {
	uint64_t low;
	uint32_t count;
	size_t width; /* characters of the low bound: zero padding */
};

struct bracket {
	const char *first; /* behind the '[' */
	const char *end;   /* the ']' */
	uint32_t count;    /* numbers in it */

	/* Where it stands: in RANGE, OFFSET numbers behind its low bound. */
	const char *next; /* the range behind RANGE, or end */
	struct range range;
	uint32_t offset;
};

struct entry {
	const char *start;
	const char *end;
	uint32_t count; /* names in it */
	unsigned nbrackets;
	struct bracket bracket[LAUNCH_HOST_BRACKETS_MAX];
};

static bool is_separator(char c)
{
	return c == ',' || c == ' ' || c == '\t' || c == '\n';
}

/* Decimal digits at *AT; moves *AT behind them. -EINVAL: none, or too large. */
static int read_number(const char **at, uint64_t *number)
{
	const char *p = *at;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (*number = 0; isdigit((unsigned char)*p); p++) {
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(*p - '0'), number))
			return -EINVAL;
	}
	*at = p;
	return 0;
}

/*
 * One `LOW` or `LOW-HIGH` at *AT; moves *AT to the next range or to the ']'. Blanks
 * before the low bound count for its width: `n[1, 2]` is n1,n02 in every Slurm release.
 */
static int read_range(const char **at, struct range *range)
{
	const char *p = *at;
	uint64_t high;

	while (*p == ' ')
		p++;
	if (read_number(&p, &range->low))
		return -EINVAL;
	range->width = p - *at;
	high = range->low;
	if (*p == '-') {
		p++;
		if (read_number(&p, &high) || high < range->low)
			return -EINVAL;
	}
	if (high - range->low >= UINT32_MAX)
		return -ERANGE;
	range->count = high - range->low + 1;
	if (*p == ',') {
		p++;
		/* `n[1,]` names nothing behind the comma. */
		if (*p == ']')
			return -EINVAL;
	} else if (*p != ']') {
		return -EINVAL;
	}
	*at = p;
	return 0;
}

/* The bracket that starts behind the '[' at *AT - 1; moves *AT behind its ']'. */
static int read_bracket(const char **at, struct bracket *bracket)
{
	const char *p = *at;
	struct range range;
	int r;

	bracket->first = p;
	bracket->count = 0;
	do {
		r = read_range(&p, &range);
		if (r)
			return r;
		if (__builtin_add_overflow(bracket->count, range.count, &bracket->count))
			return -ERANGE;
	} while (*p != ']');
	bracket->end = p;
	*at = p + 1;
	return 0;
}

/* The next entry at *AT: 1 when there is one, 0 at the end of the list. */
static int read_entry(const char **at, struct entry *entry)
{
	const char *p = *at;
	int r;

	while (is_separator(*p))
		p++;
	entry->start = p;
	entry->count = 1;
	entry->nbrackets = 0;
	while (*p && !is_separator(*p)) {
		struct bracket *bracket = &entry->bracket[entry->nbrackets];

		if (*p == ']')
			return -EINVAL;
		if (*p++ != '[')
			continue;
		if (entry->nbrackets == LAUNCH_HOST_BRACKETS_MAX)
			return -EINVAL;
		r = read_bracket(&p, bracket);
		if (r)
			return r;
		if (__builtin_mul_overflow(entry->count, bracket->count, &entry->count))
			return -ERANGE;
		entry->nbrackets++;
	}
	entry->end = p;
	*at = p;
	return p > entry->start;
}

/* What srun prints for a list that it does not have. */
static bool is_list(const char *list)
{
	return list && strcmp(list, "(null)") != 0;
}

static void bracket_seek(struct bracket *bracket, uint32_t n)
{
	bracket->next = bracket->first;
	for (;;) {
		/* The text was checked by read_entry(), so this cannot fail. */
		read_range(&bracket->next, &bracket->range);
		if (n < bracket->range.count)
			break;
		n -= bracket->range.count;
	}
	bracket->offset = n;
}

/* One number on; false behind the last one, with the bracket at its first again. */
static bool bracket_advance(struct bracket *bracket)
{
	if (++bracket->offset < bracket->range.count)
		return true;
	if (bracket->next == bracket->end) {
		bracket_seek(bracket, 0);
		return false;
	}
	bracket->offset = 0;
	read_range(&bracket->next, &bracket->range);
	return true;
}

static void entry_seek(struct entry *entry, uint32_t n)
{
	for (unsigned i = entry->nbrackets; i-- > 0;) {
		bracket_seek(&entry->bracket[i], n % entry->bracket[i].count);
		n /= entry->bracket[i].count;
	}
}

static void entry_advance(struct entry *entry)
{
	for (unsigned i = entry->nbrackets; i-- > 0;) {
		if (bracket_advance(&entry->bracket[i]))
			break;
	}
}

/* The name at which the entry stands. */
static int entry_name(const struct entry *entry, char *name, size_t size)
{
	const char *p = entry->start;
	size_t used = 0;

	for (unsigned i = 0; i <= entry->nbrackets; i++) {
		const struct bracket *bracket = &entry->bracket[i];
		const char *end = i < entry->nbrackets ? bracket->first - 1 : entry->end;
		size_t length = end - p;
		int digits;

		if (length >= size - used)
			return -ENAMETOOLONG;
		memcpy(name + used, p, length);
		used += length;
		if (i == entry->nbrackets)
			break;
		if (bracket->range.width >= size - used)
			return -ENAMETOOLONG;
		digits = snprintf(
			name + used, size - used, "%0*llu", (int)bracket->range.width,
			(unsigned long long)bracket->range.low + bracket->offset);
		if (digits < 0 || (size_t)digits >= size - used)
			return -ENAMETOOLONG;
		used += digits;
		p = bracket->end + 1;
	}
	name[used] = '\0';
	return 0;
}

int launch_hostlist_count(const char *list, uint32_t *count)
{
	struct entry entry;
	uint32_t sum = 0;
	int r;

	if (!is_list(list))
		return -EINVAL;
	while ((r = read_entry(&list, &entry)) > 0) {
		if (__builtin_add_overflow(sum, entry.count, &sum))
			return -ERANGE;
	}
	if (r < 0)
		return r;
	*count = sum;
	return sum ? 0 : -EINVAL;
}

int launch_hostlist_nth(const char *list, uint32_t n, char *name, size_t size)
{
	struct entry entry;
	uint32_t count;
	int r;

	/* A list that is broken behind the n-th name is still no list. */
	r = launch_hostlist_count(list, &count);
	if (r)
		return r;
	if (n >= count)
		return -ERANGE;
	if (!size)
		return -ENAMETOOLONG;
	while (read_entry(&list, &entry) > 0) {
		if (n < entry.count) {
			entry_seek(&entry, n);
			return entry_name(&entry, name, size);
		}
		n -= entry.count;
	}
	return -ERANGE;
}

int launch_hostlist_each(const char *list,
			 int (*visit)(const char *name, uint32_t position, void *arg),
			 void *arg)
{
	char name[LAUNCH_HOST_MAX];
	struct entry entry;
	uint32_t position = 0, count;
	int r;

	r = launch_hostlist_count(list, &count);
	if (r)
		return r;
	while (read_entry(&list, &entry) > 0) {
		entry_seek(&entry, 0);
		for (uint32_t i = 0; i < entry.count; i++) {
			r = entry_name(&entry, name, sizeof(name));
			if (r)
				return r;
			r = visit(name, position++, arg);
			if (r)
				return r;
			entry_advance(&entry);
		}
	}
	return 0;
}

struct search {
	const char *host;
	uint32_t position;
};

static int is_host(const char *name, uint32_t position, void *arg)
{
	struct search *search = arg;

	if (strcmp(name, search->host) != 0)
		return 0;
	search->position = position;
	return 1;
}

int launch_hostlist_find(const char *list, const char *host, uint32_t *position)
{
	struct search search = {.host = host};
	int r;

	r = launch_hostlist_each(list, is_host, &search);
	if (r < 0)
		return r;
	if (r == 0)
		return -ENOENT;
	*position = search.position;
	return 0;
}

struct repeat {
	uint32_t tasks;
	uint32_t nodes;
};

/* One `COUNT` or `COUNT(xREPEAT)` at *AT: 1 when there is one, 0 at the end. */
static int read_repeat(const char **at, struct repeat *repeat)
{
	const char *p = *at;
	uint64_t tasks, nodes = 1;

	if (!*p)
		return 0;
	if (read_number(&p, &tasks) || tasks > UINT32_MAX)
		return -EINVAL;
	if (p[0] == '(') {
		if (p[1] != 'x')
			return -EINVAL;
		p += 2;
		if (read_number(&p, &nodes) || nodes == 0 || nodes > UINT32_MAX ||
		    *p != ')')
			return -EINVAL;
		p++;
	}
	if (*p == ',') {
		p++;
		if (!*p)
			return -EINVAL;
	} else if (*p) {
		return -EINVAL;
	}
	repeat->tasks = tasks;
	repeat->nodes = nodes;
	*at = p;
	return 1;
}

int launch_counts_each(const char *text,
		       int (*visit)(uint32_t tasks, uint32_t nodes, void *arg), void *arg)
{
	struct repeat repeat;
	int r;

	if (!text || !*text)
		return -EINVAL;
	while ((r = read_repeat(&text, &repeat)) > 0) {
		r = visit(repeat.tasks, repeat.nodes, arg);
		if (r)
			return r;
	}
	return r;
}

/* The visitors go on to the end: a text that is broken further on is still no list. */
struct nth {
	uint32_t left; /* nodes until the wanted one */
	bool found;
	uint32_t tasks;
};

static int visit_nth(uint32_t tasks, uint32_t nodes, void *arg)
{
	struct nth *nth = arg;

	if (!nth->found && nth->left < nodes) {
		nth->tasks = tasks;
		nth->found = true;
	}
	nth->left -= nth->found ? 0 : nodes;
	return 0;
}

int launch_counts_nth(const char *text, uint32_t n, uint32_t *tasks)
{
	struct nth nth = {.left = n};
	int r = launch_counts_each(text, visit_nth, &nth);

	if (r)
		return r;
	if (!nth.found)
		return -ERANGE;
	*tasks = nth.tasks;
	return 0;
}

struct above {
	uint32_t tasks;
	uint32_t left; /* nodes that are still to be looked at */
	uint32_t sum;
};

static int visit_above(uint32_t tasks, uint32_t nodes, void *arg)
{
	struct above *above = arg;
	uint32_t taken = nodes < above->left ? nodes : above->left;

	if (tasks > above->tasks)
		above->sum += taken;
	above->left -= taken;
	return 0;
}

int launch_counts_above(const char *text, uint32_t tasks, uint32_t nodes, uint32_t *above)
{
	struct above state = {.tasks = tasks, .left = nodes};
	int r = launch_counts_each(text, visit_above, &state);

	if (r)
		return r;
	*above = state.sum;
	return 0;
}

static int visit_sum(uint32_t tasks, uint32_t nodes, void *arg)
{
	struct launch_counts *sum = arg;
	uint32_t product;

	if (__builtin_mul_overflow(tasks, nodes, &product) ||
	    __builtin_add_overflow(sum->tasks, product, &sum->tasks) ||
	    __builtin_add_overflow(sum->nodes, nodes, &sum->nodes))
		return -ERANGE;
	if (tasks < sum->least)
		sum->least = tasks;
	if (tasks > sum->most)
		sum->most = tasks;
	return 0;
}

int launch_counts_read(const char *text, struct launch_counts *counts)
{
	struct launch_counts sum = {.least = UINT32_MAX};
	int r = launch_counts_each(text, visit_sum, &sum);

	if (r)
		return r;
	*counts = sum;
	return 0;
}
