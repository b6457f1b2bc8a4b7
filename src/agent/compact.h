/* compact.h - a conversation made shorter before it passes the window. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_COMPACT_H
#define AGENT_COMPACT_H

#include "agent/agent.h"

struct compact_order {
	const char *focus; /* what matters, in the user's words; or NULL */
	/* By the user: whatever fills the window, but when the model fails to
	 * summarise, nothing is changed. Else an excerpt replaces it. */
	bool asked;
	bool refused; /* the vendor took the last request for too long */
};

/*
 * Makes the conversation shorter. Large old results of tools are cut first;
 * where that does not do, a summary by the model takes the place of the older
 * messages. Kept byte for byte: the system text, the last request of the user,
 * the last list of write_todos; and the newest messages. What the model goes on
 * with is stored, all messages stay in the thread, and their text is added to
 * a file of history_dir.
 *
 * 1: done, *step says what; 0: there is nothing to shorten. -1 with all as it
 * was: ERR_CANCELLED; ERR_LIMIT where the parts that are kept do not fit the
 * window, the largest named; or what failed.
 */
int compact_now(struct agent *a, const struct compact_order *order,
		struct compact_step *step, const struct stop *stop,
		struct error *err);
/* Before each request: the same where it might pass the window. 0, or -1 when
 * the request cannot be made. */
int compact_if_full(struct agent *a, const struct stop *stop,
		    struct error *err);

#endif
