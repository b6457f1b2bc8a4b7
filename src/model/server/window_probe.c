/* window_probe.c - asks a server for a model's window beside a conversation. */
/* SPDX-License-Identifier: MIT */
#include "model/server/window_probe.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/server/window_file.h"

enum { PROBE_MS = 10000 };

struct window_probe {
	struct server_query *query;
	char *path;
	struct server_limits before; /* in the file */
	bool known, fresh;
	bool began;
	pthread_t thread;
	struct cancel cancel;
	/* written by the thread, before answered */
	struct server_limits limits;
	atomic_bool answered;
	bool taken;
};

struct window_probe *window_probe_new(const struct model *m, const char *path)
{
	struct window_probe *p = xcalloc(1, sizeof(*p));

	p->query = server_query_new(m);
	p->path = xstrdup(path);
	p->cancel = (struct cancel){ { -1, -1 } };
	p->known = window_file_read(path, server_query_name(p->query),
				    &p->before, &p->fresh);
	return p;
}

void window_probe_free(struct window_probe *p)
{
	if (!p)
		return;
	if (p->began) {
		cancel_trigger(&p->cancel);
		pthread_join(p->thread, NULL);
		cancel_release(&p->cancel);
	}
	server_query_free(p->query);
	free(p->path);
	free(p);
}

bool window_probe_known(const struct window_probe *p,
			struct server_limits *limits)
{
	*limits = p->before;
	return p->known && limits->context > 0;
}

static void *ask(void *arg)
{
	struct window_probe *p = arg;
	struct stop never = stop_on(&p->cancel);
	struct stop within = stop_within(&never, PROBE_MS);
	struct error err = { 0 };
	int rc = server_query_limits(p->query, &p->limits, &within, &err);

	/* a server that is not there now may say more the next time */
	if (rc < 0 && err.code != ERR_NOT_FOUND && !err.http_status)
		return NULL;
	window_file_add(p->path, server_query_name(p->query), &p->limits);
	atomic_store(&p->answered, rc == 0);
	return NULL;
}

void window_probe_start(struct window_probe *p)
{
	struct error ignored = { 0 };
	sigset_t all;
	sigset_t before;

	if (p->began || p->fresh || cancel_init(&p->cancel, &ignored) < 0)
		return;
	sigfillset(&all); /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	p->began = pthread_create(&p->thread, NULL, ask, p) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!p->began)
		cancel_release(&p->cancel);
	p->fresh = true; /* once */
}

bool window_probe_take(struct window_probe *p, struct server_limits *limits)
{
	if (p->taken || !atomic_load(&p->answered))
		return false;
	p->taken = true;
	*limits = p->limits;
	return true;
}
