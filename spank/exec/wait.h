/* SPDX-License-Identifier: MIT */
/*
 * Time and threads: whatever may take for ever is waited for so long, and no longer.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* Seconds of CLOCK_MONOTONIC. */
time_t exec_seconds_now(void);

/* The time of CLOCK_MONOTONIC that is MILLISECONDS from now. */
struct timespec exec_time_in(unsigned int milliseconds);

/* Whether it is later than UNTIL, as above. */
bool exec_time_is_past(const struct timespec *until);

/* A condition that is waited for until such a time. */
void exec_cond_init(pthread_cond_t *cond);

/* Of each thread that is started here, in bytes. */
#define EXEC_STACK_SIZE (4 << 20)

/*
 * Starts RUN(ARG) in a thread to which no signal comes: these are for the task's first
 * one. THREAD is to be joined; NULL: nobody will. 0, or a negative errno.
 */
int exec_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

struct exec_call;

/*
 * Lets a thread do WORK(ARG), and takes ARG over, whatever comes of it: DROP(ARG) is its
 * end. -ENOMEM, or the negative errno of a thread that cannot be had; *CALL is then NULL.
 */
int exec_call_start(struct exec_call **call, void (*work)(void *), void (*drop)(void *),
		    void *arg);

/* Waits until the work is done, or it is later than UNTIL. True: it is done. */
bool exec_call_wait(struct exec_call *call, const struct timespec *until);

/*
 * Whether ERROR, a negative errno, says what this task or its node lacks (threads,
 * memory, files), and nothing of what was looked at.
 */
bool exec_error_is_want(int error);

/*
 * Ends *CALL: ARG is dropped now, or by the thread should the work ever come to an end.
 */
void exec_call_close(struct exec_call **call);

/*
 * srun drops what it has not read from its tasks when the step is ended for one of them
 * (client_io_handler_abort(), called in Slurm's src/api/step_launch.c). A task that has
 * said something and is about to fail gives it here the time to read.
 */
void exec_let_through(void);
