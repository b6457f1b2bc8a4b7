/* compact.h - shortens a conversation before it exceeds the context window. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_COMPACT_H
#define AGENT_COMPACT_H

#include "agent/agent.h"

struct compact_order {
	/* what the summary should keep, in the user's words; or NULL */
	const char *focus;
	/* The user asked for the compaction: do it even if the window is not
	 * full, and change nothing if the model cannot summarise. False: if the
	 * model fails, an excerpt replaces the summary. */
	bool asked;
	bool refused; /* the vendor refused the last request as too long */
};

/*
 * Makes the conversation shorter. Shortens large old tool results first; if
 * that is not enough, replaces the older messages by a summary of the model.
 * The system prompt, the user's last request, the last write_todos list and the
 * newest messages stay unchanged. Stores the new history. The thread keeps all
 * messages, and the text of removed ones is appended to a file in history_dir.
 *
 * Returns 1 if compacted, with details in *step; 0 if nothing can be shortened.
 * On -1 nothing has changed: ERR_CANCELLED; ERR_LIMIT, which names the largest
 * part, if the unchanged parts do not fit into the window; or another error.
 */
int compact_now(struct agent *a, const struct compact_order *order,
		struct compact_step *step, const struct stop *stop,
		struct error *err);
/* Call before each request: compacts if the request might exceed the window.
 * Returns 0, or -1 if the request cannot be sent. */
int compact_if_full(struct agent *a, const struct stop *stop,
		    struct error *err);

#endif
