/* SPDX-License-Identifier: MIT */
/*
 * The PMIx client over a libpmix that is opened at run time. The structures are filled
 * here and not with the macros of pmix_common.h, which call functions of the library from
 * version 5 on; their layout is the standard's and the same in 3, 4 and 5.
 */
#include "spank/exec/pmix.h"

#include <dlfcn.h>
#include <errno.h>
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* How long another node may take to answer, in seconds. */
#define ANSWER_TIME 10

/* What is waited for; the library's own thread says that it is there. */
struct waiting {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool done; /* the fence */
	pmix_status_t status;
	uint32_t round;    /* calls of exec_pmix_gather(), to tell what is late */
	uint32_t answered; /* questions of the last one */
	char **texts;      /* its answers; NULL: it has ended */
};

struct exec_pmix {
	struct library library;
	pmix_proc_t self;
	struct waiting waiting;
	struct sigaction signals[_NSIG];
	sigset_t blocked;
};

/* A question of exec_pmix_gather(); lives on when the answer is not waited for. */
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

static int prepare(struct waiting *waiting)
{
	pthread_condattr_t attributes;
	int r = -pthread_mutex_init(&waiting->mutex, NULL);

	if (r)
		return r;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	r = -pthread_cond_init(&waiting->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return r;
}

int exec_pmix_open(struct exec_pmix **pmix, struct launch_error *err)
{
	struct exec_pmix *new = calloc(1, sizeof(*new));
	pmix_status_t status;
	int r;

	*pmix = NULL;
	if (!new)
		return -ENOMEM;
	r = prepare(&new->waiting);
	if (r == 0)
		r = load(&new->library, err);
	if (r)
		goto failed;
	keep_signals(new);
	status = new->library.PMIx_Init(&new->self, NULL, 0);
	if (status != PMIX_SUCCESS) {
		r = fault(new, "no answer from the server that started this process",
			  status, err);
		restore_signals(new);
		goto failed;
	}
	*pmix = new;
	return 0;
failed:
	free(new);
	return r;
}

/*
 * The library stays mapped until the program is replaced: its destructors are not made
 * for dlclose().
 */
void exec_pmix_close(struct exec_pmix **pmix)
{
	if (!*pmix)
		return;
	(*pmix)->library.PMIx_Finalize(NULL, 0);
	restore_signals(*pmix);
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

/*
 * What this process has by now (PMIX_OPTIONAL), and of the job what the server of this
 * node has: no message leaves the node, which could wait for one that does not answer.
 */
static int get(struct exec_pmix *pmix, uint32_t rank, const char *key,
	       pmix_value_t **value)
{
	const pmix_proc_t of = process(pmix, rank);
	const pmix_info_t optional = directive(PMIX_OPTIONAL);
	pmix_status_t status;

	*value = NULL;
	status = pmix->library.PMIx_Get(&of, key, &optional, 1, value);
	if (status != PMIX_SUCCESS && rank == EXEC_PMIX_JOB) {
		const pmix_info_t immediate = directive(PMIX_IMMEDIATE);

		status = pmix->library.PMIx_Get(&of, key, &immediate, 1, value);
	}
	return status == PMIX_SUCCESS && *value ? 0 : -ENOENT;
}

static void release(pmix_value_t *value)
{
	if (value->type == PMIX_STRING)
		free(value->data.string);
	free(value);
}

int exec_pmix_number(struct exec_pmix *pmix, uint32_t rank, const char *key,
		     uint32_t *number)
{
	pmix_value_t *value;
	int r = get(pmix, rank, key, &value);

	if (r)
		return r;
	switch (value->type) {
	case PMIX_UINT32:
		*number = value->data.uint32;
		break;
	case PMIX_UINT16:
		*number = value->data.uint16;
		break;
	case PMIX_PROC_RANK:
		*number = value->data.rank;
		break;
	default:
		r = -EINVAL;
	}
	release(value);
	return r;
}

int exec_pmix_text(struct exec_pmix *pmix, uint32_t rank, const char *key, char **text)
{
	pmix_value_t *value;
	int r = get(pmix, rank, key, &value);

	*text = NULL;
	/* Slurm's fence by a tree (PMIxCollFence) leaves the values where they are. */
	if (r && rank != EXEC_PMIX_JOB)
		return exec_pmix_gather(pmix, key, rank, rank, ANSWER_TIME, text) ||
				       !*text
			       ? -ENOENT
			       : 0;
	if (r)
		return r;
	if (value->type == PMIX_STRING && value->data.string) {
		*text = value->data.string;
		value->data.string = NULL;
	} else {
		r = -EINVAL;
	}
	release(value);
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

static struct timespec deadline(unsigned int seconds)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += seconds;
	return time;
}

static void fence_done(pmix_status_t status, void *arg)
{
	struct waiting *waiting = arg;

	pthread_mutex_lock(&waiting->mutex);
	waiting->done = true;
	waiting->status = status;
	pthread_cond_signal(&waiting->changed);
	pthread_mutex_unlock(&waiting->mutex);
}

int exec_pmix_fence(struct exec_pmix *pmix, unsigned int seconds,
		    struct launch_error *err)
{
	struct waiting *waiting = &pmix->waiting;
	const pmix_info_t all = directive(PMIX_COLLECT_DATA);
	const struct timespec until = deadline(seconds);
	pmix_status_t status;
	int r;

	waiting->done = false;
	r = exec_pmix_put(pmix, EXEC_PMIX_ALL, EXEC_PMIX_HERE, "");
	if (r)
		return launch_error_set(err, r, "PMIx: the server takes no value");
	status = pmix->library.PMIx_Commit();
	if (status != PMIX_SUCCESS)
		return fault(pmix, "the server takes no value", status, err);
	status = pmix->library.PMIx_Fence_nb(NULL, 0, &all, 1, fence_done, waiting);
	if (status == PMIX_OPERATION_SUCCEEDED)
		return 0;
	if (status != PMIX_SUCCESS)
		return fault(pmix, "fence", status, err);
	pthread_mutex_lock(&waiting->mutex);
	while (!waiting->done && r == 0)
		r = -pthread_cond_timedwait(&waiting->changed, &waiting->mutex, &until);
	status = waiting->status;
	if (waiting->done)
		r = 0;
	pthread_mutex_unlock(&waiting->mutex);
	if (r)
		return r;
	return status == PMIX_SUCCESS ? 0 : fault(pmix, "fence", status, err);
}

static void answered(pmix_status_t status, pmix_value_t *value, void *arg)
{
	struct question *question = arg;
	struct waiting *waiting = question->waiting;

	pthread_mutex_lock(&waiting->mutex);
	/* The place of a late answer may by now be another's, or nobody's. */
	if (waiting->texts && question->round == waiting->round) {
		waiting->answered++;
		if (status == PMIX_SUCCESS && value && value->type == PMIX_STRING)
			waiting->texts[question->index] =
				strdup(value->data.string ? value->data.string : "");
		pthread_cond_signal(&waiting->changed);
	}
	pthread_mutex_unlock(&waiting->mutex);
}

/*
 * A server answers for a rank of its own when that has put its values, and asks the
 * servers of the others (direct modex).
 */
int exec_pmix_gather(struct exec_pmix *pmix, const char *key, uint32_t first,
		     uint32_t last, unsigned int seconds, char **texts)
{
	struct waiting *waiting = &pmix->waiting;
	const struct timespec until = deadline(seconds);
	uint32_t count = last - first + 1, asked = 0, round;
	/* Not freed: answers may come as long as this process lives, which is not long.
	 */
	struct question *questions = calloc(count, sizeof(*questions));
	int r = 0;

	if (!questions)
		return -ENOMEM;
	memset(texts, 0, count * sizeof(*texts));
	pthread_mutex_lock(&waiting->mutex);
	round = ++waiting->round;
	waiting->answered = 0;
	waiting->texts = texts;
	pthread_mutex_unlock(&waiting->mutex);
	for (uint32_t i = 0; i < count; i++) {
		const pmix_proc_t of = process(pmix, first + i);

		questions[i] = (struct question){waiting, round, i};
		if (pmix->library.PMIx_Get_nb(&of, key, NULL, 0, answered,
					      &questions[i]) == PMIX_SUCCESS)
			asked++;
	}
	pthread_mutex_lock(&waiting->mutex);
	while (waiting->answered < asked && r == 0)
		r = -pthread_cond_timedwait(&waiting->changed, &waiting->mutex, &until);
	waiting->texts = NULL;
	pthread_mutex_unlock(&waiting->mutex);
	return 0;
}

void exec_pmix_abort(struct exec_pmix *pmix)
{
	pmix->library.PMIx_Abort(1, "srank exec", NULL, 0);
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
