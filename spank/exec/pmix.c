/* SPDX-License-Identifier: MIT */
/*
 * The PMIx client over a libpmix that is opened at run time. The structures are filled
 * here and not with the macros of pmix_common.h, which call functions of the library from
 * version 5 on; their layout is the standard's and the same in 3, 4 and 5.
 */
#include "spank/exec/pmix.h"

#include "spank/exec/wait.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libpmix.so.2"

_Static_assert(EXEC_PMIX_JOB == PMIX_RANK_WILDCARD, "the standard's");
_Static_assert(EXEC_PMIX_NAME_MAX > PMIX_MAX_NSLEN, "and its final zero");

/* The functions in use, by their names. */
#define FUNCTIONS(X)         \
	X(PMIx_Abort)        \
	X(PMIx_Commit)       \
	X(PMIx_Error_string) \
	X(PMIx_Fence_nb)     \
	X(PMIx_Finalize)     \
	X(PMIx_Get)          \
	X(PMIx_Get_nb)       \
	X(PMIx_Get_version)  \
	X(PMIx_Init)         \
	X(PMIx_Put)

struct library {
	void *handle;
#define MEMBER(name) __typeof__(&(name)) name;
	FUNCTIONS(MEMBER)
#undef MEMBER
};

/* How long a server may take to answer, in seconds. */
#define ANSWER_TIME 10

/* What is waited for, one round at a time; the library's threads say that it is there. */
struct waiting {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint32_t round;       /* to tell what is late */
	uint32_t answered;    /* questions of this round */
	pmix_status_t status; /* of the last one */
	char **texts;         /* their values; NULL: there are none to be had */
};

struct exec_pmix {
	struct library library;
	pmix_proc_t self;
	struct waiting waiting;
	bool stuck; /* a thread is left in a call of the library, and has this */
	struct sigaction signals[_NSIG];
	sigset_t blocked;
};

/* Part of what is waited for. */
struct question {
	struct waiting *waiting;
	uint32_t round, index;
};

static int load(struct library *library, struct launch_error *err)
{
	library->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return launch_error_set(err, -ENOTSUP, "PMIx: %s", dlerror());
#define FIND(name)                                                          \
	*(void **)&library->name = dlsym(library->handle, #name);           \
	if (!library->name) {                                               \
		dlclose(library->handle);                                   \
		return launch_error_set(err, -ENOTSUP,                      \
					"PMIx: " LIBRARY " has no " #name); \
	}
	FUNCTIONS(FIND)
#undef FIND
	return 0;
}

/*
 * libpmix ignores SIGPIPE and may block or catch others, for itself. Ignored and blocked
 * signals would stay so in the program that takes the place of this one.
 */
static void keep_signals(struct exec_pmix *pmix)
{
	for (int i = 1; i < _NSIG; i++)
		sigaction(i, NULL, &pmix->signals[i]);
	sigprocmask(SIG_SETMASK, NULL, &pmix->blocked);
}

static void restore_signals(const struct exec_pmix *pmix)
{
	for (int i = 1; i < _NSIG; i++)
		sigaction(i, &pmix->signals[i], NULL);
	sigprocmask(SIG_SETMASK, &pmix->blocked, NULL);
}

static int fault(const struct exec_pmix *pmix, const char *what, pmix_status_t status,
		 struct launch_error *err)
{
	return launch_error_set(err, -EIO, "PMIx: %s: %s", what,
				pmix->library.PMIx_Error_string(status));
}

/* ---- waiting ---- */

/* Returns the round, of which the questions must be. */
static uint32_t begin(struct waiting *waiting, char **texts)
{
	uint32_t round;

	pthread_mutex_lock(&waiting->mutex);
	round = ++waiting->round;
	waiting->answered = 0;
	waiting->texts = texts;
	pthread_mutex_unlock(&waiting->mutex);
	return round;
}

static char *text_of(const pmix_value_t *value)
{
	char *text = NULL;
	int r = 0;

	switch (value->type) {
	case PMIX_STRING:
		return strdup(value->data.string ? value->data.string : "");
	case PMIX_UINT32:
		r = asprintf(&text, "%" PRIu32, value->data.uint32);
		break;
	case PMIX_UINT16:
		r = asprintf(&text, "%" PRIu16, value->data.uint16);
		break;
	case PMIX_PROC_RANK:
		r = asprintf(&text, "%" PRIu32, value->data.rank);
		break;
	default:
		break;
	}
	return r < 0 ? NULL : text;
}

/* The place of a late answer may by now be another's, or nobody's. */
static void answer(const struct question *question, pmix_status_t status,
		   const pmix_value_t *value)
{
	struct waiting *waiting = question->waiting;

	pthread_mutex_lock(&waiting->mutex);
	if (question->round == waiting->round) {
		waiting->answered++;
		waiting->status = status;
		if (waiting->texts && status == PMIX_SUCCESS && value)
			waiting->texts[question->index] = text_of(value);
		pthread_cond_signal(&waiting->changed);
	}
	pthread_mutex_unlock(&waiting->mutex);
}

/* Until COUNT questions are answered. -ETIMEDOUT; STATUS, unless NULL, is the last one's.
 */
static int await(struct waiting *waiting, uint32_t count, const struct timespec *until,
		 pmix_status_t *status)
{
	int r = 0;

	pthread_mutex_lock(&waiting->mutex);
	while (waiting->answered < count && r == 0)
		r = -pthread_cond_timedwait(&waiting->changed, &waiting->mutex, until);
	if (waiting->answered >= count)
		r = 0;
	if (status)
		*status = waiting->status;
	waiting->round++;
	pthread_mutex_unlock(&waiting->mutex);
	return r;
}

/* A call that may never come back, from a server that is stopped. */
struct call {
	struct exec_pmix *pmix;
	pmix_status_t (*make)(struct exec_pmix *pmix);
	pmix_status_t status;
};

static void make_call(void *arg)
{
	struct call *call = arg;

	call->status = call->make(call->pmix);
}

/*
 * -ETIMEDOUT with ERR: it has not come back in SECONDS, and PMIX, which is stuck from now
 * on, must live as long as this process; -EIO with ERR: it failed, or there is no thread
 * to be had for it.
 */
static int call_for(struct exec_pmix *pmix, unsigned int seconds, const char *what,
		    pmix_status_t (*make)(struct exec_pmix *pmix),
		    struct launch_error *err)
{
	const struct timespec until = exec_time_in(seconds * 1000);
	struct call *call = calloc(1, sizeof(*call));
	struct exec_call *thread;
	pmix_status_t status = PMIX_ERROR;
	bool done;
	int r;

	if (!call)
		return -ENOMEM;
	*call = (struct call){pmix, make, PMIX_ERROR};
	r = exec_call_start(&thread, make_call, free, call);
	if (r)
		return launch_error_set(err, -EIO, "PMIx: %s: cannot start a thread: %s",
					what, strerror(-r));
	done = exec_call_wait(thread, &until);
	if (done)
		status = call->status;
	exec_call_close(&thread);
	pmix->stuck |= !done;
	if (!done)
		return launch_error_set(err, -ETIMEDOUT,
					"PMIx: %s: the server of this node does not "
					"answer in %u s",
					what, seconds);
	return status == PMIX_SUCCESS ? 0 : fault(pmix, what, status, err);
}

/* ---- the connection ---- */

static pmix_status_t make_init(struct exec_pmix *pmix)
{
	return pmix->library.PMIx_Init(&pmix->self, NULL, 0);
}

static pmix_status_t make_commit(struct exec_pmix *pmix)
{
	return pmix->library.PMIx_Commit();
}

static pmix_status_t make_finalize(struct exec_pmix *pmix)
{
	return pmix->library.PMIx_Finalize(NULL, 0);
}

static pmix_status_t make_abort(struct exec_pmix *pmix)
{
	return pmix->library.PMIx_Abort(1, "srank", NULL, 0);
}

int exec_pmix_open(struct exec_pmix **pmix, unsigned int seconds,
		   struct launch_error *err)
{
	struct exec_pmix *new = calloc(1, sizeof(*new));
	int r;

	*pmix = NULL;
	if (!new)
		return -ENOMEM;
	pthread_mutex_init(&new->waiting.mutex, NULL);
	exec_cond_init(&new->waiting.changed);
	r = load(&new->library, err);
	if (r)
		goto failed;
	keep_signals(new);
	r = call_for(new, seconds, "connection", make_init, err);
	if (r) {
		restore_signals(new);
		goto failed;
	}
	*pmix = new;
	return 0;
failed:
	if (r == -ETIMEDOUT)
		return -EIO;
	free(new);
	return r;
}

/*
 * The library stays mapped until the program is replaced: its destructors are not made
 * for dlclose().
 */
void exec_pmix_close(struct exec_pmix **pmix)
{
	struct launch_error ignored = {""};

	if (!*pmix)
		return;
	call_for(*pmix, ANSWER_TIME, "end", make_finalize, &ignored);
	restore_signals(*pmix);
	if (!(*pmix)->stuck)
		free(*pmix);
	*pmix = NULL;
}

const char *exec_pmix_name(const struct exec_pmix *pmix)
{
	return pmix->self.nspace;
}

uint32_t exec_pmix_rank(const struct exec_pmix *pmix)
{
	return pmix->self.rank;
}

static pmix_proc_t process(const struct exec_pmix *pmix, uint32_t rank)
{
	pmix_proc_t process = pmix->self;

	process.rank = rank;
	return process;
}

/* A directive for a call: KEY alone is a flag that is set. */
static pmix_info_t directive(const char *key)
{
	pmix_info_t info = {.value = {.type = PMIX_BOOL, .data.flag = true}};

	snprintf(info.key, sizeof(info.key), "%s", key);
	return info;
}

static void release(pmix_value_t *value)
{
	if (value->type == PMIX_STRING)
		free(value->data.string);
	free(value);
}

static void take_answer(pmix_status_t status, pmix_value_t *value, void *arg)
{
	answer(arg, status, value);
}

/*
 * Asks for KEY of all RANKS at once. The questions are not freed: answers may come as
 * long as this process lives, which is not long.
 */
static int ask(struct exec_pmix *pmix, const char *key, const pmix_info_t *how,
	       const uint32_t *ranks, uint32_t count, unsigned int seconds, char **texts)
{
	const struct timespec until = exec_time_in(seconds * 1000);
	struct question *questions = calloc(count, sizeof(*questions));
	uint32_t asked = 0, round;

	memset(texts, 0, count * sizeof(*texts));
	if (!questions)
		return -ENOMEM;
	round = begin(&pmix->waiting, texts);
	for (uint32_t i = 0; i < count; i++) {
		const pmix_proc_t of = process(pmix, ranks[i]);

		questions[i] = (struct question){&pmix->waiting, round, i};
		if (pmix->library.PMIx_Get_nb(&of, key, how, how ? 1 : 0, take_answer,
					      &questions[i]) == PMIX_SUCCESS)
			asked++;
	}
	await(&pmix->waiting, asked, &until, NULL);
	return 0;
}

/*
 * A server answers for a rank of its own when that has put its values, and asks the
 * servers of the others (direct modex).
 */
int exec_pmix_gather(struct exec_pmix *pmix, const char *key, const uint32_t *ranks,
		     uint32_t count, unsigned int seconds, char **texts)
{
	return count ? ask(pmix, key, NULL, ranks, count, seconds, texts) : 0;
}

/* What this process has by now; NULL: it would have to ask. */
static pmix_value_t *look(struct exec_pmix *pmix, uint32_t rank, const char *key)
{
	const pmix_info_t optional = directive(PMIX_OPTIONAL);
	const pmix_proc_t of = process(pmix, rank);
	pmix_value_t *value = NULL;

	return pmix->library.PMIx_Get(&of, key, &optional, 1, &value) == PMIX_SUCCESS
		       ? value
		       : NULL;
}

/* Else, with HOW, what the servers have. -ENOENT. */
static int find(struct exec_pmix *pmix, uint32_t rank, const char *key,
		const pmix_info_t *how, char **text)
{
	pmix_value_t *value = look(pmix, rank, key);

	*text = value ? text_of(value) : NULL;
	if (value)
		release(value);
	else
		ask(pmix, key, how, &rank, 1, ANSWER_TIME, text);
	return *text ? 0 : -ENOENT;
}

/*
 * With PMIX_IMMEDIATE no server asks another one. PMIx 4 has what a fence has collected
 * in the process, and 5 in the server.
 */
bool exec_pmix_has(struct exec_pmix *pmix, uint32_t rank, const char *key)
{
	const pmix_info_t immediate = directive(PMIX_IMMEDIATE);
	char *text;
	int r = find(pmix, rank, key, &immediate, &text);

	free(text);
	return r == 0;
}

/*
 * Of the job what the server of this node has (PMIX_IMMEDIATE): no message leaves the
 * node. Of a rank what its own server has: Slurm's fence by a tree (PMIxCollFence) leaves
 * the values there.
 */
int exec_pmix_text(struct exec_pmix *pmix, uint32_t rank, const char *key, char **text)
{
	const pmix_info_t immediate = directive(PMIX_IMMEDIATE);

	return find(pmix, rank, key, rank == EXEC_PMIX_JOB ? &immediate : NULL, text);
}

int exec_pmix_number(struct exec_pmix *pmix, uint32_t rank, const char *key,
		     uint32_t *number)
{
	const pmix_info_t immediate = directive(PMIX_IMMEDIATE);
	unsigned long value;
	char *text, *end;
	int r = find(pmix, rank, key, &immediate, &text);

	if (r)
		return r;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || value > UINT32_MAX)
		r = -EINVAL;
	else
		*number = (uint32_t)value;
	free(text);
	return r;
}

int exec_pmix_put(struct exec_pmix *pmix, enum exec_pmix_scope scope, const char *key,
		  const char *text)
{
	/* Copied by the library. */
	pmix_value_t value = {.type = PMIX_STRING, .data.string = (char *)text};
	pmix_status_t status = pmix->library.PMIx_Put(
		scope == EXEC_PMIX_ALL ? PMIX_GLOBAL : PMIX_LOCAL, key, &value);

	return status == PMIX_SUCCESS ? 0 : -EIO;
}

static void fence_done(pmix_status_t status, void *arg)
{
	answer(arg, status, NULL);
	free(arg);
}

int exec_pmix_fence(struct exec_pmix *pmix, unsigned int seconds,
		    struct launch_error *err)
{
	struct waiting *waiting = &pmix->waiting;
	const pmix_info_t all = directive(PMIX_COLLECT_DATA);
	const struct timespec until = exec_time_in(seconds * 1000);
	struct question *question;
	pmix_status_t status;
	int r;

	r = exec_pmix_put(pmix, EXEC_PMIX_ALL, EXEC_PMIX_HERE, "");
	if (r)
		return launch_error_set(err, r, "PMIx: the server takes no value");
	r = call_for(pmix, seconds, "values", make_commit, err);
	if (r)
		return r == -ETIMEDOUT ? -EIO : r;
	question = calloc(1, sizeof(*question));
	if (!question)
		return -ENOMEM;
	*question = (struct question){waiting, begin(waiting, NULL), 0};
	status = pmix->library.PMIx_Fence_nb(NULL, 0, &all, 1, fence_done, question);
	if (status == PMIX_OPERATION_SUCCEEDED || status != PMIX_SUCCESS)
		free(question);
	if (status == PMIX_OPERATION_SUCCEEDED)
		return 0;
	if (status != PMIX_SUCCESS)
		return fault(pmix, "fence", status, err);
	r = await(waiting, 1, &until, &status);
	if (r)
		return r;
	return status == PMIX_SUCCESS ? 0 : fault(pmix, "fence", status, err);
}

void exec_pmix_abort(struct exec_pmix *pmix)
{
	struct launch_error ignored = {""};

	call_for(pmix, ANSWER_TIME, "abort", make_abort, &ignored);
}

const char *exec_pmix_version(void)
{
	static char version[64];
	struct launch_error ignored = {""};
	struct library library;
	const char *text;

	if (load(&library, &ignored))
		return NULL;
	/* "OpenPMIx 4.2.2 (PMIx Standard: 4.1, ...)" */
	text = library.PMIx_Get_version();
	text += strcspn(text, "0123456789");
	snprintf(version, sizeof(version), "%.*s", (int)strcspn(text, " ,"), text);
	return version;
}
