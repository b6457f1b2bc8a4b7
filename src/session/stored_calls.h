/* stored_calls.h - the tool calls of a stored thread, with their results. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_STORED_CALLS_H
#define SESSION_STORED_CALLS_H

#include "base/error.h"
#include "base/mask/mask.h"
#include "model/message.h"

struct store; /* session/store.h */

struct stored_call {
	struct part call; /* id, name and args; owned */
	struct part
		result; /* text, change and failed; zeroed if there is none */
};

/* initialise with { 0 }; call stored_calls_release() at the end */
struct stored_calls {
	struct stored_call *list; /* owned; in order */
	size_t n;
	size_t bytes; /* of all texts */
};

enum {
	STORED_CALLS_MOST = 1000, /* the newest calls are kept */
	STORED_CALLS_BYTES = 32 << 20,
};

/* Reads the newest calls of the thread with row ID no, with secrets masked.
 * Also those that compactions have removed from the model's history. */
int stored_calls_load(struct stored_calls *c, struct store *s, int64_t no,
		      const struct mask *mask, struct error *err);
void stored_calls_release(struct stored_calls *c);

#endif
