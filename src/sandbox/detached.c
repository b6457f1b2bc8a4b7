/* detached.c - cancelled commands whose end their caller does not wait for. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/detached.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"

enum { PROMPT_MS = 30 }; /* for a kill that is over at once */

struct detached_run {
	struct detached_run *next; /* of struct detached */
	size_t waiting;            /* threads; under its lock, as removed */
	bool removed;              /* from the list */
	struct detached_command what;
	struct exec_request own; /* what it points to is owned */
	struct exec_result res;
	struct error err;
	int rc;
	struct cancel cancel;
	struct cancel ended;  /* triggered when it has */
	pthread_mutex_t lock; /* of caller, and while its output is called */
	const struct exec_request *caller; /* its request; NULL: it has left */
	struct stop stop;
	pthread_t thread;
};

struct detached {
	pthread_mutex_t lock;
	struct detached_run *first;
};

struct detached *detached_new(void)
{
	struct detached *d = xcalloc(1, sizeof(*d));

	pthread_mutex_init(&d->lock, NULL);
	return d;
}

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct detached_run *x = arg;
	int rc;

	pthread_mutex_lock(&x->lock);
	if (x->caller)
		rc = x->caller->output(x->caller->arg, stream, chunk, reply,
				       err);
	else
		rc = error_set(err, ERR_CANCELLED, "cancelled");
	pthread_mutex_unlock(&x->lock);
	return rc;
}

static struct str copy_str(struct str s)
{
	char *copy = xcalloc(s.len + 1, 1);

	if (s.len)
		memcpy(copy, s.ptr, s.len);
	return (struct str){ copy, s.len };
}

static struct detached_run *run_new(const struct detached_command *what,
				    const struct stop *stop)
{
	const struct exec_request *req = what->req;
	struct detached_run *x = xcalloc(1, sizeof(*x));

	*x = (struct detached_run){ .what = *what,
				    .own = *req,
				    .caller = req,
				    .cancel = { { -1, -1 } },
				    .ended = { { -1, -1 } },
				    .stop = *stop };
	x->own.command = copy_str(req->command);
	x->own.input = copy_str(req->input);
	x->own.cwd = req->cwd ? xstrdup(req->cwd) : NULL;
	x->own.aside = req->aside ? xstrdup(req->aside) : NULL;
	x->own.env = mem_copy_list(req->env);
	x->own.arg = x;
	x->own.output = req->output ? on_output : NULL;
	x->stop.cancel = &x->cancel;
	pthread_mutex_init(&x->lock, NULL);
	return x;
}

static void run_free(struct detached_run *x)
{
	mem_free_list(x->own.env);
	free((char *)x->own.command.ptr);
	free((char *)x->own.input.ptr);
	free((char *)x->own.cwd);
	free((char *)x->own.aside);
	cancel_release(&x->cancel);
	cancel_release(&x->ended);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

static void *run(void *arg)
{
	struct detached_run *x = arg;

	x->rc = x->what.execute(x->what.sb, &x->own, &x->res, &x->stop,
				&x->err);
	cancel_trigger(&x->ended);
	return NULL;
}

static int start(struct detached_run *x, struct error *err)
{
	if (cancel_init(&x->cancel, err) < 0 || cancel_init(&x->ended, err) < 0)
		return -1;
	return thread_start(&x->thread, run, x, err);
}

/* Until it has ended, or stop says so: 0, or -1. */
static int await_end(const struct detached_run *x, const struct stop *stop,
		     struct error *err)
{
	while (!cancel_triggered(&x->ended)) {
		struct pollfd p[] = {
			{ .fd = x->ended.fd[0], .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};

		if (stop_check(stop, err) < 0)
			return -1;
		poll(p, 2, stop_poll_ms(stop, -1));
	}
	return 0;
}

/* From now on nothing of the caller's is used. */
static void leave(struct detached *d, struct detached_run *x)
{
	pthread_mutex_lock(&x->lock);
	x->caller = NULL;
	pthread_mutex_unlock(&x->lock);
	pthread_mutex_lock(&d->lock);
	x->next = d->first;
	d->first = x;
	pthread_mutex_unlock(&d->lock);
}

int detached_execute(struct detached *d, const struct detached_command *what,
		     struct exec_result *res, const struct stop *stop,
		     struct error *err)
{
	/* The command sees the deadline itself. */
	struct stop cancelled = stop_on(stop->cancel);
	struct detached_run *x = run_new(what, stop);
	struct error why = { 0 };
	int rc;

	if (start(x, err) < 0) {
		run_free(x);
		return -1;
	}
	if (await_end(x, &cancelled, &why) < 0) {
		struct stop prompt = stop_cleanup(PROMPT_MS);
		struct error ignored = { 0 };

		cancel_trigger(&x->cancel);
		if (await_end(x, &prompt, &ignored) < 0) {
			*err = why;
			leave(d, x);
			return -1;
		}
	}
	pthread_join(x->thread, NULL);
	*res = x->res;
	rc = x->rc;
	if (rc < 0)
		*err = x->err;
	run_free(x);
	return rc;
}

static void remove_run(struct detached *d, struct detached_run *x)
{
	struct detached_run **at = &d->first;

	while (*at && *at != x)
		at = &(*at)->next;
	if (*at)
		*at = x->next;
	x->removed = true;
}

int detached_wait(struct detached *d, const struct stop *stop,
		  struct error *err)
{
	struct detached_run *x;
	int rc = 0;

	if (!d)
		return 0;
	pthread_mutex_lock(&d->lock);
	while (rc == 0 && (x = d->first)) {
		x->waiting++;
		pthread_mutex_unlock(&d->lock);
		rc = await_end(x, stop, err);
		pthread_mutex_lock(&d->lock);
		if (rc == 0)
			remove_run(d, x);
		if (--x->waiting || !x->removed)
			continue;
		pthread_join(x->thread, NULL);
		run_free(x);
	}
	pthread_mutex_unlock(&d->lock);
	return rc;
}

void detached_free(struct detached *d)
{
	struct stop ever = stop_on(NULL);
	struct error ignored = { 0 };

	if (!d)
		return;
	(void)detached_wait(d, &ever, &ignored);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
