/* keepalive.c - a sandbox stays alive while nobody runs anything in it. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "lifecycle/lifecycle_impl.h"

enum {
	SHARE = 3,       /* of the lifetime, from one extension to the next */
	CALL_MS = 30000, /* for one */
	GONE_MAX = 2,    /* answers that it has ended: then no more of them */
	LEAST_MS = 1000,
};

struct lifecycle_keepalive {
	struct sandbox *sandbox; /* borrowed */
	int64_t lifetime_s;
	struct cancel cancel;
	pthread_t thread;
};

/* A failure is no reason to end the session: the next command will tell. */
static void *extend(void *arg)
{
	struct lifecycle_keepalive *k = arg;
	struct stop stop = stop_on(&k->cancel);
	int64_t pause = k->lifetime_s * 1000 / SHARE;
	struct error err = { 0 };
	int gone = 0;

	if (pause < LEAST_MS)
		pause = LEAST_MS;
	while (gone < GONE_MAX && stop_sleep(&stop, pause, &err) == 0) {
		struct stop within = stop_within(&stop, CALL_MS);
		struct error why = { 0 };

		if (sandbox_extend(k->sandbox, k->lifetime_s, &within, &why) ==
			    0 ||
		    why.code != ERR_GONE)
			gone = 0;
		else
			gone++;
	}
	return NULL;
}

void lifecycle_keepalive_start(struct managed_sandbox *box, int64_t lifetime_s)
{
	const struct sandbox_client *host = box->sandbox.host;
	struct lifecycle_keepalive *k;
	struct error ignored = { 0 };
	sigset_t all;
	sigset_t before;
	int rc;

	if (!sandbox_can_extend(host) ||
	    host->provider->flags & SANDBOX_UNISOLATED || lifetime_s <= 0)
		return;
	k = xcalloc(1, sizeof(*k));
	k->sandbox = &box->sandbox;
	k->lifetime_s = lifetime_s;
	if (cancel_init(&k->cancel, &ignored) < 0) {
		free(k);
		return;
	}
	sigfillset(&all); /* signals are for the other threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&k->thread, NULL, extend, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0) {
		box->keepalive = k;
		return;
	}
	cancel_release(&k->cancel);
	free(k);
}

void lifecycle_keepalive_stop(struct managed_sandbox *box)
{
	struct lifecycle_keepalive *k = box->keepalive;

	if (!k)
		return;
	cancel_trigger(&k->cancel);
	pthread_join(k->thread, NULL);
	cancel_release(&k->cancel);
	free(k);
	box->keepalive = NULL;
}
