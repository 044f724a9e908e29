/* SPDX-License-Identifier: MIT */
/*
 * Time and threads: whatever may take for ever is waited for so long, and no longer.
 */
#pragma once

#include <pthread.h>
#include <time.h>

/* Seconds of CLOCK_MONOTONIC. */
time_t exec_seconds_now(void);

/* The time of CLOCK_MONOTONIC that is MILLISECONDS from now. */
struct timespec exec_time_in(unsigned int milliseconds);

/* A condition that is waited for until such a time. */
void exec_cond_init(pthread_cond_t *cond);

/*
 * Starts RUN(ARG) in a thread to which no signal comes: these are for the task's first
 * one. THREAD is to be joined; NULL: nobody will. 0, or a negative errno.
 */
int exec_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

/*
 * Has WORK(ARG) done by a thread, and waits MILLISECONDS for it at most. 0: it is done.
 * -ETIMEDOUT: it still goes on, and ARG is no longer the caller's; the thread hands it to
 * DROP, should it ever come to an end. Another negative errno: there is no thread.
 */
int exec_call_within(unsigned int milliseconds, void (*work)(void *),
		     void (*drop)(void *), void *arg);

/*
 * srun drops what it has not read from its tasks when the step is ended for one of them
 * (client_io_handler_abort(), called in Slurm's src/api/step_launch.c). A task that has
 * said something and is about to fail gives it here the time to read.
 */
void exec_let_through(void);
