/* thread.h - starts threads that receive no signals; waits for them. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include "base/error.h"

/* Starts a thread in which all signals are blocked, because only the threads
 * that wait for signals should get them. ERR_SYSTEM on failure. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg,
		 struct error *err);
/* Waits at most ms for a change. Call with the lock held. */
void thread_wait(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t ms);

#endif
