/* spend.h - what a thread has cost, stored at the prices of its time. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_SPEND_H
#define SESSION_SPEND_H

#include "model/money.h"

struct session; /* session/session.h */
struct store;

/* Adds what the meter has counted since the last call to the thread. Does
 * nothing, and the meter goes on, while nothing of the thread is stored. -1:
 * what was not stored is tried again by the next call. */
int spend_store(struct session *s, struct meter *m, struct error *err);
/* Every model and sandbox of a thread, the dearest first. */
int spend_each(struct store *s, int64_t thread,
	       void (*each)(void *arg, const struct meter_line *line),
	       void *arg, struct error *err);

#endif
