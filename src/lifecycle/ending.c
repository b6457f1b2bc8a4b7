/* ending.c - what an interrupted opening has made is deleted on a thread. */
/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lifecycle/lifecycle_impl.h"
#include "session/session.h"

enum {
	PROMPT_MS = 10,      /* for a deletion that is over at once */
	SHOWN_MS = 300,      /* a wait that is longer is named */
	LINES_MAX = 1 << 20, /* bytes of what it says */
};

struct lifecycle_ending {
	struct managed_sandbox *box; /* its own until `ended` is triggered */
	struct error why;
	struct store *store;    /* a connection of the thread's own; owned */
	struct store *callers;  /* what box has in place of it otherwise, */
	struct mask *mask;      /* for neither is for two threads */
	struct lifecycle_ui ui; /* the same */
	struct buf lines;       /* said meanwhile: 'p' or 'w', text, NUL */
	struct cancel ended;    /* triggered when it has */
	pthread_t thread;
};

static void add_line(struct lifecycle_ending *e, char kind, const char *line)
{
	buf_addc(&e->lines, kind);
	buf_add(&e->lines, line, strlen(line) + 1);
}

static void keep_progress(void *arg, const char *line)
{
	add_line(arg, 'p', line);
}

static void keep_warning(void *arg, const char *line)
{
	add_line(arg, 'w', line);
}

static void *end(void *arg)
{
	struct lifecycle_ending *e = arg;
	struct error ignored = { 0 };

	(void)store_ready(e->store, &ignored); /* each use tries again */
	lifecycle_abandon(e->box, false, &e->why);
	cancel_trigger(&e->ended);
	return NULL;
}

static int start(struct lifecycle_ending *e)
{
	sigset_t all;
	sigset_t before;
	int rc;

	sigfillset(&all); /* signals are for the other threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&e->thread, NULL, end, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc ? -1 : 0;
}

static void give_back(struct lifecycle_ending *e)
{
	e->box->request.store = e->callers;
	e->box->request.mask = e->mask;
	e->box->request.ui = e->ui;
}

static void release(struct lifecycle_ending *e)
{
	buf_release(&e->lines);
	cancel_release(&e->ended);
	store_close(e->store);
	free(e);
}

static int await(const struct lifecycle_ending *e, const struct stop *stop,
		 struct error *err)
{
	while (!cancel_triggered(&e->ended)) {
		struct pollfd p[] = {
			{ .fd = e->ended.fd[0], .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};

		if (stop_check(stop, err) < 0)
			return -1;
		(void)poll(p, 2, stop_poll_ms(stop, -1));
	}
	return 0;
}

bool lifecycle_ending_start(struct managed_sandbox *box,
			    const struct error *why)
{
	struct lifecycle_ending *e = xcalloc(1, sizeof(*e));
	struct lifecycle_request *r = &box->request;
	struct stop prompt = stop_cleanup(PROMPT_MS);
	struct error ignored = { 0 };

	*e = (struct lifecycle_ending){ .box = box,
					.why = *why,
					.store = store_again(r->store),
					.callers = r->store,
					.mask = r->mask,
					.ui = r->ui,
					.lines = BUF_INIT(LINES_MAX),
					.ended = { { -1, -1 } } };
	r->store = e->store;
	r->mask = NULL;
	r->resume = NULL; /* may be freed before the end */
	r->ui = (struct lifecycle_ui){ .progress = keep_progress,
				       .warn = keep_warning,
				       .arg = e };
	if (cancel_init(&e->ended, &ignored) < 0 || start(e) < 0) {
		give_back(e);
		release(e);
		return false;
	}
	box->ending = e;
	if (await(e, &prompt, &ignored) == 0)
		lifecycle_ending_finish(box);
	return true;
}

int lifecycle_await_ending(const struct managed_sandbox *box,
			   const struct stop *stop, struct error *err)
{
	const struct lifecycle_ending *e = box->ending;
	struct managed_sandbox callers = { .ending = NULL };
	struct stop soon = stop_within(stop, SHOWN_MS);
	char room[64];

	if (!e || await(e, &soon, err) == 0)
		return 0;
	if (stop_check(stop, err) < 0)
		return -1;
	callers.request =
		(struct lifecycle_request){ .ui = e->ui, .mask = e->mask };
	lifecycle_say(&callers,
		      "Waiting for the interrupted %s sandbox to be deleted...",
		      lifecycle_title(box, room));
	return await(e, stop, err);
}

/* Masked, as what is said at once is. */
static void say_lines(const struct managed_sandbox *box,
		      const struct buf *lines)
{
	size_t at = 0;

	while (at < lines->len) {
		const char *line = lines->ptr + at + 1;

		if (lines->ptr[at] == 'w')
			lifecycle_warn(box, "%s", line);
		else
			lifecycle_say(box, "%s", line);
		at += strlen(line) + 2;
	}
}

void lifecycle_ending_finish(struct managed_sandbox *box)
{
	struct lifecycle_ending *e = box->ending;
	struct stop ever = stop_on(NULL);
	struct error ignored = { 0 };

	if (!e)
		return;
	(void)lifecycle_await_ending(box, &ever, &ignored);
	pthread_join(e->thread, NULL);
	give_back(e);
	box->ending = NULL;
	say_lines(box, &e->lines);
	release(e);
	*box = (struct managed_sandbox){ .none_made = box->none_made };
}
