/* history.h - rebuilds a conversation from stored messages, for any vendor. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_HISTORY_H
#define SESSION_HISTORY_H

#include <stdint.h>

#include "base/error.h"
#include "base/mask/mask.h"
#include "model/message.h"
#include "model/model.h"

struct store; /* session/session.h */

/* initialise with { 0 }; call history_release() at the end */
struct conversation {
	struct message *list; /* owned */
	size_t n;
	size_t damaged; /* stored messages that could not be parsed */
	/* Filled by history_load(): */
	size_t stored; /* number of stored messages of the thread */
	/* how many of them, from the first on, a compaction has replaced */
	size_t after;
	size_t results; /* number of tool results in the whole thread */
	/* Tokens of the last answer and everything before it, as counted by the
	 * vendor; 0: unknown. */
	int64_t tokens;
};
/* Loads and repairs the conversation with which a model continues the thread
 * with row ID no: all messages, or the last compaction and the messages after
 * it. */
int history_load(struct conversation *c, struct store *s, int64_t no,
		 struct error *err);
/* Appends {"results":N,"messages":[...]}, the body that session_compact()
 * stores. */
void history_to_json(const struct conversation *c, struct buf *out);
/* Appends a message and takes ownership of its contents; *m becomes empty. */
void history_add(struct conversation *c, struct message *m);
/*
 * Repairs a conversation after a crash, a damaged row or an import, so that any
 * prompt may follow: every call has exactly one result (if it was missing, a
 * failed one that says that the outcome is unknown), results without a call are
 * dropped, ids of calls are unique, and arguments and replays are JSON. A
 * refused prompt is removed with everything that followed it, like
 * model_forget_prompt().
 */
void history_repair(struct conversation *c);
/* Reduces an interrupted answer to its text and a note that it was interrupted.
 * False: it has no text. */
bool history_trim_cut(struct message *m);
/*
 * Passes the conversation, message by message, to a model of this origin
 * (model_origin(): its wire and vendor). After results of calls made by another
 * vendor's model it inserts a short answer: Anthropic rejects results without
 * signed thinking before the calls, unless an answer follows them
 * (platform.claude.com/docs "Extended thinking", read 2026-11-20).
 */
void history_send(const struct conversation *c, const char *origin,
		  void (*push)(void *arg, const struct message *m), void *arg);
void history_push(const struct conversation *c, struct model *m);
void history_release(struct conversation *c);

/* A tool call of a stored thread, with its result. */
struct stored_call {
	struct part call; /* id, name and args; owned */
	/* text, change and failed; zeroed if there is none */
	struct part result;
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
