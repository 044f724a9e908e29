/* SPDX-License-Identifier: MIT */
/*
 * A walk over a tree, by name, so that equal trees give equal listings wherever they are.
 */
#include "spank/exec/digest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BASIS UINT64_C(14695981039346656037)
#define PRIME UINT64_C(1099511628211)

/* More folders within folders than this are a loop of mounts. */
#define DEPTH_MAX 64

/* Files that exec_digest_compare() names. */
#define NAMES_SHOWN 3

struct walk {
	struct exec_digest *digest;
	FILE *listing;
	uint32_t number;
	time_t until;
	char path[PATH_MAX]; /* of what is looked at */
	uint32_t depth;
	char buffer[65536];
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *next = bytes;

	while (length--)
		hash = (hash ^ *next++) * PRIME;
	return hash;
}

static time_t seconds_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* The first one counts. */
static int fail(struct walk *walk, int error)
{
	struct exec_digest *digest = walk->digest;

	if (!digest->error) {
		digest->error = error;
		snprintf(digest->fault, sizeof(digest->fault), "%.*s",
			 (int)sizeof(digest->fault) - 1, walk->path);
	}
	return error;
}

static void add(struct walk *walk, uint64_t hash)
{
	struct exec_digest *digest = walk->digest;

	digest->hash = mix(digest->hash, walk->path, strlen(walk->path) + 1);
	digest->hash = mix(digest->hash, &hash, sizeof(hash));
	digest->files++;
	fprintf(walk->listing, "%" PRIu32 " %016" PRIx64 " ", walk->number, hash);
	for (const char *c = walk->path; *c; c++)
		fputc(*c == '\n' || *c == '\f' ? '?' : *c, walk->listing);
	fputc('\n', walk->listing);
}

static int read_file(struct walk *walk, int fd)
{
	uint64_t hash = BASIS;
	ssize_t got;

	while ((got = read(fd, walk->buffer, sizeof(walk->buffer))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail(walk, -errno);
		hash = mix(hash, walk->buffer, (size_t)got);
		walk->digest->bytes += (uint64_t)got;
		if (seconds_now() > walk->until)
			return fail(walk, -ETIME);
	}
	add(walk, hash);
	return 0;
}

static int read_link(struct walk *walk, int folder, const char *name)
{
	ssize_t length = readlinkat(folder, name, walk->buffer, sizeof(walk->buffer));

	if (length < 0)
		return fail(walk, -errno);
	add(walk, mix(BASIS, walk->buffer, (size_t)length));
	return 0;
}

static int is_wanted(const struct dirent *entry)
{
	static const char *const left_out[] = {".", "..", "__pycache__", ".git"};

	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++) {
		if (strcmp(entry->d_name, left_out[i]) == 0)
			return 0;
	}
	return 1;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int visit(struct walk *walk, int folder, const char *name, bool top);

static int read_folder(struct walk *walk, int fd)
{
	size_t length = strlen(walk->path);
	struct dirent **names;
	int count, r = 0;

	if (walk->depth == DEPTH_MAX)
		return fail(walk, -ELOOP);
	count = scandirat(fd, ".", &names, is_wanted, by_bytes);
	if (count < 0)
		return fail(walk, -errno);
	walk->depth++;
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;

		if (r == 0 && length + strlen(name) + 2 > sizeof(walk->path))
			r = fail(walk, -ENAMETOOLONG);
		if (r == 0) {
			snprintf(walk->path + length, sizeof(walk->path) - length, "/%s",
				 name);
			r = visit(walk, fd, name, false);
			walk->path[length] = '\0';
		}
		free(names[i]);
	}
	free(names);
	walk->depth--;
	return r;
}

/*
 * Not opened before it is known what it is: opening a device may do things, and a pipe
 * waits for its other end.
 */
static int visit(struct walk *walk, int folder, const char *name, bool top)
{
	struct stat status;
	int fd, r;

	if (fstatat(folder, name, &status, top ? 0 : AT_SYMLINK_NOFOLLOW))
		return fail(walk, -errno);
	if (walk->digest->files >= EXEC_DIGEST_FILES_MAX)
		return fail(walk, -EFBIG);
	/* Names alone take time, too, where the server of the files is slow. */
	if (seconds_now() > walk->until)
		return fail(walk, -ETIME);
	if (S_ISLNK(status.st_mode))
		return read_link(walk, folder, name);
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
		add(walk, status.st_mode & S_IFMT);
		return 0;
	}
	fd = openat(folder, name,
		    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
			    (top ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return fail(walk, -errno);
	r = S_ISDIR(status.st_mode) ? read_folder(walk, fd) : read_file(walk, fd);
	close(fd);
	return r;
}

void exec_digest_tree(struct exec_digest *digest, const char *path, uint32_t number,
		      unsigned int seconds, FILE *listing)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	*digest = (struct exec_digest){.hash = BASIS};
	if (!walk) {
		digest->error = -ENOMEM;
		return;
	}
	walk->digest = digest;
	walk->listing = listing;
	walk->number = number;
	walk->until = seconds_now() + (time_t)seconds;
	if (snprintf(walk->path, sizeof(walk->path), "%s", path) >= PATH_MAX)
		fail(walk, -ENAMETOOLONG);
	else
		visit(walk, AT_FDCWD, path, true);
	free(walk);
}

/* A line of a listing, apart. */
struct line {
	const char *hash, *path;
	int length; /* of the path */
};

/* The next whole line of tree NUMBER; false: there is none. */
static bool next_line(const char **listing, uint32_t number, struct line *line)
{
	while (**listing) {
		const char *text = *listing;
		size_t length = strcspn(text, "\n");
		unsigned long tree;
		char *end;

		if (!text[length])
			return false;
		*listing += length + 1;
		tree = strtoul(text, &end, 10);
		/* A space, 16 digits, a space, and a path. */
		if (tree != number || *end != ' ' || end + 18 >= text + length ||
		    end[17] != ' ')
			continue;
		line->hash = end + 1;
		line->path = end + 18;
		line->length = (int)(text + length - line->path);
		return true;
	}
	return false;
}

/* By names, in the order of the walk: all of a folder comes before its next neighbour. */
static int compare_paths(const struct line *a, const struct line *b)
{
	for (int i = 0; i < a->length && i < b->length; i++) {
		int one = a->path[i] == '/' ? 1 : 2 + (unsigned char)a->path[i];
		int other = b->path[i] == '/' ? 1 : 2 + (unsigned char)b->path[i];

		if (one != other)
			return one - other;
	}
	return a->length - b->length;
}

static bool is_cut(const char *listing)
{
	size_t length = strlen(listing);

	return length && listing[length - 1] != '\n';
}

void exec_digest_compare(const char *ours, const char *theirs, uint32_t number,
			 char *text, size_t size)
{
	struct line our = {0}, their = {0};
	bool cut = is_cut(theirs);
	bool here = next_line(&ours, number, &our);
	bool there = next_line(&theirs, number, &their);
	size_t used = 0;
	int shown = 0;

	*text = '\0';
	while ((there || (here && !cut)) && used < size) {
		int order = !there ? -1 : !here ? 1 : compare_paths(&our, &their);
		const struct line *line = order <= 0 ? &our : &their;

		if (order || strncmp(our.hash, their.hash, 16) != 0) {
			if (shown++ == NAMES_SHOWN) {
				snprintf(text + used, size - used, ", ...");
				return;
			}
			used += (size_t)snprintf(text + used, size - used, "%s%.*s%s",
						 used ? ", " : "", line->length,
						 line->path,
						 order < 0   ? " (missing there)"
						 : order > 0 ? " (only there)"
							     : "");
		}
		if (order <= 0)
			here = next_line(&ours, number, &our);
		if (order >= 0)
			there = next_line(&theirs, number, &their);
	}
}
