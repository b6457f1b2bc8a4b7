/* background.c - work in a sandbox that its first command waits for. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/background.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/thread.h"

struct background {
	struct background_work work;
	struct cancel cancel;
	struct cancel ended; /* triggered when it has; why is final then */
	struct error why;
	int rc;
	atomic_bool known; /* rc and why are final */
	bool said;         /* that it has failed */
	pthread_t thread;
};

static void *run(void *arg)
{
	struct background *b = arg;
	struct stop stop = stop_on(&b->cancel);

	b->rc = b->work.run(b->work.arg, &stop, &b->why);
	atomic_store(&b->known, true);
	cancel_trigger(&b->ended);
	return NULL;
}

static void release(struct background *b)
{
	if (b->work.release)
		b->work.release(b->work.arg);
	cancel_release(&b->cancel);
	cancel_release(&b->ended);
	free(b);
}

int background_start(struct background **at, const struct background_work *work,
		     struct error *err)
{
	struct background *b = xcalloc(1, sizeof(*b));
	*b = (struct background){ .work = *work,
				  .cancel = { { -1, -1 } },
				  .ended = { { -1, -1 } } };
	if (cancel_init(&b->cancel, err) == 0 &&
	    cancel_init(&b->ended, err) == 0 &&
	    thread_start(&b->thread, run, b, err) == 0) {
		*at = b;
		return 0;
	}
	release(b);
	return -1;
}

int background_wait(const struct background *b, const struct stop *stop,
		    struct error *err)
{
	while (b && !cancel_triggered(&b->ended)) {
		struct pollfd p[] = {
			{ .fd = b->ended.fd[0], .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};

		if (stop_check(stop, err) < 0)
			return -1;
		poll(p, 2, stop_poll_ms(stop, -1));
	}
	return 0;
}

int background_failed(struct background *b, struct error *err)
{
	if (!b || b->said || !atomic_load(&b->known) || b->rc == 0)
		return 0;
	b->said = true;
	*err = b->why;
	return -1;
}

int background_end(struct background **at, int64_t ms, struct error *err)
{
	struct background *b = *at;
	struct stop limit = stop_cleanup(ms);
	struct error ignored = { 0 };
	int rc;

	if (!b)
		return 0;
	if (background_wait(b, &limit, &ignored) < 0)
		cancel_trigger(&b->cancel);
	pthread_join(b->thread, NULL);
	rc = b->said ? 0 : b->rc;
	if (rc < 0)
		*err = b->why;
	release(b);
	*at = NULL;
	return rc;
}
