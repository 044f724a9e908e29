/* SPDX-License-Identifier: MIT */
/*
 * A call that nothing can break off (a name server or a file server that does not answer)
 * is left behind in its thread.
 */
#include "spank/exec/wait.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* For srun, in ms. */
#define LEAD_TIME 300

/* Shared with the thread; the last of the two frees it. */
struct exec_call {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	void (*work)(void *arg);
	void (*drop)(void *arg);
	void *arg;
	bool done, left;
};

time_t exec_seconds_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

struct timespec exec_time_in(unsigned int milliseconds)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += milliseconds / 1000;
	time.tv_nsec += (long)(milliseconds % 1000) * 1000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

bool exec_time_is_past(const struct timespec *until)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > until->tv_sec ||
	       (now.tv_sec == until->tv_sec && now.tv_nsec > until->tv_nsec);
}

void exec_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

int exec_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t unused;
	int r;

	/*
	 * glibc would give it as much as RLIMIT_STACK says: with `ulimit -s` raised for
	 * Fortran's sake, and a limit of address space, not even one could be had.
	 * Resolvers (NSS) and libpmix need far less than this.
	 */
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, EXEC_STACK_SIZE);
	if (!thread)
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(thread ? thread : &unused, &attributes, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return r;
}

static void end_call(struct exec_call *call)
{
	call->drop(call->arg);
	pthread_cond_destroy(&call->changed);
	pthread_mutex_destroy(&call->mutex);
	free(call);
}

static void *run(void *arg)
{
	struct exec_call *call = arg;
	bool left;

	call->work(call->arg);
	pthread_mutex_lock(&call->mutex);
	call->done = true;
	left = call->left;
	pthread_cond_signal(&call->changed);
	pthread_mutex_unlock(&call->mutex);
	if (left)
		end_call(call);
	return NULL;
}

int exec_call_start(struct exec_call **call, void (*work)(void *), void (*drop)(void *),
		    void *arg)
{
	struct exec_call *new = calloc(1, sizeof(*new));
	int r;

	*call = NULL;
	if (!new) {
		drop(arg);
		return -ENOMEM;
	}
	*new = (struct exec_call){.work = work, .drop = drop, .arg = arg};
	pthread_mutex_init(&new->mutex, NULL);
	exec_cond_init(&new->changed);
	r = exec_thread_start(NULL, run, new);
	if (r)
		end_call(new);
	else
		*call = new;
	return r;
}

bool exec_call_wait(struct exec_call *call, const struct timespec *until)
{
	bool done;
	int r = 0;

	pthread_mutex_lock(&call->mutex);
	while (!call->done && r == 0)
		r = pthread_cond_timedwait(&call->changed, &call->mutex, until);
	done = call->done;
	pthread_mutex_unlock(&call->mutex);
	return done;
}

void exec_call_close(struct exec_call **call)
{
	bool done;

	if (!*call)
		return;
	pthread_mutex_lock(&(*call)->mutex);
	done = (*call)->done;
	(*call)->left = true;
	pthread_mutex_unlock(&(*call)->mutex);
	if (done)
		end_call(*call);
	*call = NULL;
}

bool exec_error_is_want(int error)
{
	static const int wants[] = {-EAGAIN, -ENOMEM, -EMFILE, -ENFILE, -ENOBUFS};

	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
		if (error == wants[i])
			return true;
	}
	return false;
}

void exec_let_through(void)
{
	const struct timespec lead = {.tv_nsec = LEAD_TIME * 1000000L};

	nanosleep(&lead, NULL);
}
