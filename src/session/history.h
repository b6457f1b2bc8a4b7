/* history.h - a conversation rebuilt from stored messages, for any vendor. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_HISTORY_H
#define SESSION_HISTORY_H

#include <stdint.h>

#include "base/error.h"
#include "model/message.h"
#include "model/model.h"

struct store; /* session/session.h */

struct conversation {         /* start from { 0 }; history_release() after */
	struct message *list; /* owned */
	size_t n;
	size_t damaged; /* stored messages that could not be read */
	/* Filled by history_load(): */
	size_t stored;  /* messages of the thread, */
	size_t after;   /* of which a compaction replaced the first; 0: none */
	size_t results; /* of tools, in the whole thread */
	/* Tokens that the vendor counted for the last answer and all before it;
	 * 0: unknown. */
	int64_t tokens;
};
/* Reads what a model is to go on with in the thread no: its messages as they
 * are stored, or what the last compaction left and those after it; repaired. */
int history_load(struct conversation *c, struct store *s, int64_t no,
		 struct error *err);
/* As session_compact() stores it: {"results":N,"messages":[...]}. */
void history_to_json(const struct conversation *c, struct buf *out);
/* Appends one; takes *m over. */
void history_add(struct conversation *c, struct message *m);
/*
 * Makes a valid conversation of what a crash, a damaged row or another program
 * has left: every call gets its one result (a failed one that says that the
 * outcome is unknown), results without a call go, ids of calls are unique,
 * arguments and replays are JSON, and a refused prompt goes with all that came
 * of it, as model_forget_prompt() did. Any prompt may follow.
 */
void history_repair(struct conversation *c);
/* Makes of an answer that was cut what a model may go on with: its text, and
 * that it ended there. False: it has none. */
bool history_trim_cut(struct message *m);
/*
 * Hands the conversation on, message by message, to a model of this origin.
 * After results of calls that another vendor's model made comes a short answer:
 * Anthropic takes results without signed thinking before the calls for an
 * error, unless an answer ends them
 * (platform.claude.com/docs "Extended thinking", read 2026-11-20).
 */
void history_send(const struct conversation *c, const char *origin,
		  void (*push)(void *arg, const struct message *m), void *arg);
void history_push(const struct conversation *c, struct model *m);
void history_release(struct conversation *c);

#endif
