/* thread.h - starts threads that receive no signals. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

#include "base/error.h"

/* Starts a thread in which all signals are blocked, because only the threads
 * that wait for signals should get them. ERR_SYSTEM on failure. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg,
		 struct error *err);

#endif
