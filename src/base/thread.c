/* thread.c - starts threads that receive no signals. */
/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>

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
