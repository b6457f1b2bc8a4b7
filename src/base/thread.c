/* thread.c - starts threads that receive no signals; waits for them. */
/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg,
		 struct error *err)
{
	sigset_t all;
	sigset_t before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = rc;
	return rc ? error_errno(err, "cannot start a thread") : 0;
}

void thread_wait(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	(void)pthread_cond_timedwait(changed, lock, &until);
}
