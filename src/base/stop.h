/* stop.h - ends blocking calls early: by a cancel or at a deadline. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A pipe. It becomes readable when the cancel is triggered, and stays
 * readable. */
struct cancel {
	int fd[2]; /* read end, write end; -1 when not initialised */
};

struct stop {
	const struct cancel *cancel; /* borrowed; NULL: cannot be cancelled */
	int64_t deadline;            /* CLOCK_MONOTONIC ms; INT64_MAX: none */
	/* clock_ms() before which the silence of a server does not count,
	 * because it may hold the request until then; 0: not set */
	int64_t held;
};

int64_t clock_ms(void);      /* CLOCK_MONOTONIC, ms */
int64_t clock_unix_ms(void); /* CLOCK_REALTIME, ms since 1970 */

int cancel_init(struct cancel *c, struct error *err);
void cancel_release(struct cancel *c);
/* A cancel for a part of the work. It can be triggered itself, and it counts as
 * triggered if outer is. outer may be NULL; it must outlive the chain. */
struct cancel_chain {
	struct cancel cancel;
	/* read end of the chain's own pipe; cancel.fd[0] is an epoll
	 * descriptor */
	int own;
};
int cancel_chain_init(struct cancel_chain *c, const struct cancel *outer,
		      struct error *err);
void cancel_chain_release(struct cancel_chain *c);
/* Callable from any thread and from signal handlers: only calls write(2). */
void cancel_trigger(const struct cancel *c);
/* Makes the cancel untriggered again. No other thread may be using it. */
void cancel_reset(const struct cancel *c);
bool cancel_triggered(const struct cancel *c);

/* Waits until the descriptor is readable, closed or broken. Returns 0, or -1 if
 * s ended the wait. */
int stop_await(const struct stop *s, int fd, struct error *err);
/* Waits until c is triggered. Returns 0, or -1 if stop ended the wait. */
int cancel_await(const struct cancel *c, const struct stop *stop,
		 struct error *err);

struct stop stop_on(const struct cancel *c); /* cancel only, no deadline */
/* Returns s with its deadline limited to now + ms. */
struct stop stop_within(const struct stop *s, int64_t ms);
/* For cleanup that must also run after Ctrl-C: a stop with a deadline that
 * cannot be cancelled. */
struct stop stop_cleanup(int64_t ms);
/* Returns the timeout in ms for poll(2): 0 if the deadline has passed; at most
 * max, where -1 means no maximum. */
int stop_poll_ms(const struct stop *s, int max);
/* Returns the descriptor to add to a poll set; -1 if s cannot be cancelled. */
int stop_fd(const struct stop *s);
/* Returns 0 to continue, or -1 with ERR_CANCELLED or ERR_TIMEOUT. */
int stop_check(const struct stop *s, struct error *err);
int stop_sleep(const struct stop *s, int64_t ms, struct error *err);
/* Sends len bytes over a socket. Waits while it is full. -1 if it is closed, or
 * if s ended the wait. Raises no SIGPIPE. */
int stop_send(const struct stop *s, int fd, const char *bytes, size_t len,
	      struct error *err);

#endif
