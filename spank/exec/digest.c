/* SPDX-License-Identifier: MIT */
/*
 * A walk over a tree, by name, so that equal trees give equal listings wherever they are.
 */
#include "spank/exec/digest.h"

#include "spank/exec/wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
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

/* A thread's own until it ends; only the first lines are its starter's, too. */
struct walk {
	pthread_mutex_t mutex;
	char place[sizeof(((struct exec_digest *)0)->fault)]; /* the path, for all */
	char *top;
	uint32_t number;
	struct timespec until;
	struct exec_digest digest;
	FILE *listing;
	char *text; /* of it */
	size_t size;
	char path[PATH_MAX]; /* of what is looked at */
	uint32_t depth;
	uint32_t waiting; /* names that were read and not yet looked at */
	char buffer[65536];
};

/* Names of one folder. */
struct names {
	char **list;
	uint32_t count, room;
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *next = bytes;

	while (length--)
		hash = (hash ^ *next++) * PRIME;
	return hash;
}

/* The first one counts. */
static int fail(struct walk *walk, int error)
{
	struct exec_digest *digest = &walk->digest;

	if (!digest->error) {
		digest->error = error;
		snprintf(digest->fault, sizeof(digest->fault), "%.*s",
			 (int)sizeof(digest->fault) - 1, walk->path);
	}
	return error;
}

/* Where this thread can be looked for, should it not come back. */
static void tell_place(struct walk *walk)
{
	pthread_mutex_lock(&walk->mutex);
	snprintf(walk->place, sizeof(walk->place), "%.*s", (int)sizeof(walk->place) - 1,
		 walk->path);
	pthread_mutex_unlock(&walk->mutex);
}

static void add(struct walk *walk, uint64_t hash)
{
	struct exec_digest *digest = &walk->digest;

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
		walk->digest.bytes += (uint64_t)got;
		if (exec_time_is_past(&walk->until))
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

static bool is_wanted(const char *name)
{
	static const char *const left_out[] = {".", "..", "__pycache__", ".git"};

	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++) {
		if (strcmp(name, left_out[i]) == 0)
			return false;
	}
	return true;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int keep_name(struct names *names, const char *name)
{
	char *copy = strdup(name), **list;
	uint32_t room = names->room ? 2 * names->room : 64;

	if (copy && names->count < names->room) {
		names->list[names->count++] = copy;
		return 0;
	}
	list = copy ? reallocarray(names->list, room, sizeof(*list)) : NULL;
	if (!list) {
		free(copy);
		return -ENOMEM;
	}
	names->list = list;
	names->room = room;
	names->list[names->count++] = copy;
	return 0;
}

/*
 * The limits hold while a folder is read, for it alone may have millions of files: those
 * that were looked at, and all whose turn is to come.
 */
static int read_names(struct walk *walk, DIR *folder, struct names *names)
{
	const struct dirent *entry;
	int r = 0;

	while (r == 0 && (errno = 0, entry = readdir(folder))) {
		if (!is_wanted(entry->d_name))
			continue;
		if (walk->digest.files + walk->waiting >= EXEC_DIGEST_FILES_MAX)
			r = -EFBIG;
		else if (exec_time_is_past(&walk->until))
			r = -ETIME;
		else
			r = keep_name(names, entry->d_name);
		walk->waiting += r == 0;
	}
	if (r == 0 && errno)
		r = -errno;
	return r ? fail(walk, r) : 0;
}

static int visit(struct walk *walk, int folder, const char *name, bool top);

static int visit_all(struct walk *walk, DIR *folder, const struct names *names)
{
	size_t length = strlen(walk->path);
	int r = 0;

	walk->depth++;
	for (uint32_t i = 0; r == 0 && i < names->count; i++) {
		const char *name = names->list[i];

		walk->waiting--;
		if (length + strlen(name) + 2 > sizeof(walk->path)) {
			r = fail(walk, -ENAMETOOLONG);
			break;
		}
		snprintf(walk->path + length, sizeof(walk->path) - length, "/%s", name);
		r = visit(walk, dirfd(folder), name, false);
		walk->path[length] = '\0';
	}
	walk->depth--;
	return r;
}

/* Takes FD over. */
static int read_folder(struct walk *walk, int fd)
{
	struct names names = {0};
	DIR *folder = NULL;
	int r;

	if (walk->depth == DEPTH_MAX) {
		r = fail(walk, -ELOOP);
	} else {
		folder = fdopendir(fd);
		r = folder ? read_names(walk, folder, &names) : fail(walk, -errno);
	}
	if (r == 0 && names.count) {
		qsort(names.list, names.count, sizeof(*names.list), by_bytes);
		r = visit_all(walk, folder, &names);
	}
	for (uint32_t i = 0; i < names.count; i++)
		free(names.list[i]);
	free(names.list);
	if (folder)
		closedir(folder);
	else
		close(fd);
	return r;
}

/*
 * Not opened before it is known what it is: opening a device may do things, and a pipe
 * waits for its other end. A file under another's lease is waited for (fcntl(2)), as a
 * program that reads it would.
 */
static int visit(struct walk *walk, int folder, const char *name, bool top)
{
	struct stat status;
	int fd, r;

	tell_place(walk);
	if (fstatat(folder, name, &status, top ? 0 : AT_SYMLINK_NOFOLLOW))
		return fail(walk, -errno);
	if (walk->digest.files >= EXEC_DIGEST_FILES_MAX)
		return fail(walk, -EFBIG);
	/* Names alone take time, too, where the server of the files is slow. */
	if (exec_time_is_past(&walk->until))
		return fail(walk, -ETIME);
	if (S_ISLNK(status.st_mode))
		return read_link(walk, folder, name);
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
		add(walk, status.st_mode & S_IFMT);
		return 0;
	}
	fd = openat(folder, name,
		    O_RDONLY | O_CLOEXEC | O_NOCTTY | (top ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return fail(walk, -errno);
	if (S_ISDIR(status.st_mode))
		return read_folder(walk, fd);
	r = read_file(walk, fd);
	close(fd);
	return r;
}

static void walk_tree(void *arg)
{
	struct walk *walk = arg;

	if (snprintf(walk->path, sizeof(walk->path), "%s", walk->top) >= PATH_MAX)
		fail(walk, -ENAMETOOLONG);
	else
		visit(walk, AT_FDCWD, walk->top, true);
	if (fclose(walk->listing)) {
		free(walk->text);
		walk->text = NULL;
		fail(walk, -ENOMEM);
	}
	walk->listing = NULL;
}

static void free_walk(void *arg)
{
	struct walk *walk = arg;

	if (walk->listing)
		fclose(walk->listing);
	free(walk->text);
	free(walk->top);
	pthread_mutex_destroy(&walk->mutex);
	free(walk);
}

static struct walk *make_walk(const char *path, uint32_t number, unsigned int seconds)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	pthread_mutex_init(&walk->mutex, NULL);
	walk->digest.hash = BASIS;
	walk->number = number;
	walk->until = exec_time_in(1000 * seconds);
	walk->top = strdup(path);
	walk->listing = open_memstream(&walk->text, &walk->size);
	if (walk->top && walk->listing)
		return walk;
	free_walk(walk);
	return NULL;
}

/* What has come of a walk that is done, or is given up. */
static void take_walk(struct walk *walk, bool done, struct exec_digest *digest,
		      FILE *listing)
{
	if (done) {
		*digest = walk->digest;
		if (walk->text)
			fwrite(walk->text, 1, walk->size, listing);
		return;
	}
	*digest = (struct exec_digest){.error = -ETIMEDOUT};
	pthread_mutex_lock(&walk->mutex);
	memcpy(digest->fault, walk->place, sizeof(digest->fault));
	pthread_mutex_unlock(&walk->mutex);
}

/*
 * Each in a thread of its own: nothing breaks off the wait for a file server that does
 * not answer (nfs(5), `hard`), and it is not to take the time of the other trees. The end
 * of the process does: such a wait ends by SIGKILL, as _Exit() sends it to the threads.
 */
void exec_digest_trees(struct exec_digest *digests, const char *const *paths,
		       uint32_t count, unsigned int seconds, FILE *listing)
{
	/* One second for those that find out for themselves. */
	const struct timespec until = exec_time_in(1000 * (seconds + 1));
	struct walk **walks = calloc(count, sizeof(*walks));
	struct exec_call **calls = calloc(count, sizeof(*calls));

	for (uint32_t i = 0; i < count; i++) {
		struct exec_digest *digest = &digests[i];

		*digest = (struct exec_digest){.error = -ENOMEM};
		snprintf(digest->fault, sizeof(digest->fault), "%.*s",
			 (int)sizeof(digest->fault) - 1, paths[i]);
		if (walks && calls && (walks[i] = make_walk(paths[i], i, seconds)))
			digest->error = exec_call_start(&calls[i], walk_tree, free_walk,
							walks[i]);
	}
	for (uint32_t i = 0; calls && i < count; i++) {
		if (!calls[i])
			continue;
		take_walk(walks[i], exec_call_wait(calls[i], &until), &digests[i],
			  listing);
		exec_call_close(&calls[i]);
	}
	free(calls);
	free(walks);
}

void exec_digest_text(const struct exec_digest *digest, const char *path,
		      unsigned int seconds, char *text, size_t size)
{
	const bool within = strcmp(digest->fault, path) != 0;
	const char *place = within ? digest->fault : "", *colon = within ? ": " : "";
	char mark = '!';

	switch (digest->error) {
	case 0:
		snprintf(text, size, "%016" PRIx64 " %" PRIu32 " %" PRIu64, digest->hash,
			 digest->files, digest->bytes);
		return;
	case -EFBIG:
		snprintf(text, size, "?it has more than %d files", EXEC_DIGEST_FILES_MAX);
		return;
	case -ETIME:
		snprintf(text, size, "?reading it takes longer than %u s", seconds);
		return;
	case -ETIMEDOUT:
		snprintf(text, size, "~%s%sno answer in %u s", place, colon, seconds);
		return;
	case -ENOENT:
		if (within) {
			snprintf(text, size, "*%s: gone while the tree was read", place);
			return;
		}
		break;
	case -EACCES:
	case -EPERM:
		mark = '#';
		break;
	/* nfs(5), `soft`; and a server that has exported something else since. */
	case -EIO:
	case -ESTALE:
		mark = '~';
		break;
	default:
		if (exec_error_is_want(digest->error))
			mark = '-';
	}
	snprintf(text, size, "%c%s%s%s", mark, place, colon, strerror(-digest->error));
}

void exec_digest_list(const char *const *paths, uint32_t count, char *text, size_t size)
{
	uint64_t hash = BASIS;
	size_t used;

	for (uint32_t i = 0; i < count; i++)
		hash = mix(hash, paths[i], strlen(paths[i]) + 1);
	used = (size_t)snprintf(text, size, "%016" PRIx64, hash);
	for (uint32_t i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, " %s", paths[i]);
}

bool exec_digest_is(const char *value)
{
	return *value && !strchr("!#*?~-", *value);
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
			 const char *node, char *text, size_t size)
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
			used += (size_t)snprintf(text + used, size - used, "%s%.*s%s%s%s",
						 used ? ", " : "", line->length,
						 line->path,
						 order < 0   ? " (only on "
						 : order > 0 ? " (not on "
							     : "",
						 order ? node : "", order ? ")" : "");
		}
		if (order <= 0)
			here = next_line(&ours, number, &our);
		if (order >= 0)
			there = next_line(&theirs, number, &their);
	}
}
