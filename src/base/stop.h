/* stop.h - what ends a blocking call early: a cancel or a deadline. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A pipe that is readable, and stays so, once triggered. */
struct cancel {
	int fd[2]; /* read end, write end; -1 when not initialised */
};

struct stop {
	const struct cancel *cancel; /* borrowed; NULL means cannot cancel */
	int64_t deadline; /* CLOCK_MONOTONIC ms; INT64_MAX means never */
	int64_t held;     /* until then an answer is not late; 0: at once */
};

int64_t clock_ms(void);      /* CLOCK_MONOTONIC, ms */
int64_t clock_unix_ms(void); /* CLOCK_REALTIME, ms since 1970 */

int cancel_init(struct cancel *c, struct error *err);
void cancel_release(struct cancel *c);
/* One that another triggers, too: for a part of the work that can be ended by
 * itself. outer (or NULL: none) outlives it. */
struct cancel_chain {
	struct cancel cancel;
	int own; /* its own read end */
};
int cancel_chain_init(struct cancel_chain *c, const struct cancel *outer,
		      struct error *err);
void cancel_chain_release(struct cancel_chain *c);
/* Any thread, and signal handlers: one write(2). */
void cancel_trigger(const struct cancel *c);
/* Makes it usable again; no other thread may be using it. */
void cancel_reset(const struct cancel *c);
bool cancel_triggered(const struct cancel *c);

/* Waits until c is triggered: 0, or -1 when stop ended the wait. */
int cancel_await(const struct cancel *c, const struct stop *stop,
		 struct error *err);

struct stop stop_on(const struct cancel *c); /* cancel only, no deadline */
/* The nearer of s and now + ms. */
struct stop stop_within(const struct stop *s, int64_t ms);
/* For cleanup that must outlive a Ctrl-C: only a deadline. */
struct stop stop_cleanup(int64_t ms);
/* Milliseconds for poll(2): 0 when past, at most max (-1: no maximum). */
int stop_poll_ms(const struct stop *s, int max);
/* The fd to add to a poll set, -1 when there is none. */
int stop_fd(const struct stop *s);
/* 0 to go on, or -1 with ERR_CANCELLED or ERR_TIMEOUT. */
int stop_check(const struct stop *s, struct error *err);
int stop_sleep(const struct stop *s, int64_t ms, struct error *err);

#endif
