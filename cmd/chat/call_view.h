/* call_view.h - a call that waits for approval, as the user is shown it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_CALL_VIEW_H
#define CMD_CHAT_CALL_VIEW_H

#include "agent/agent.h"
#include "ui/question.h"

enum {
	CALL_VIEW_ITEMS = 12,       /* arguments of a tool and what is added */
	CALL_VIEW_BYTES = 16 << 20, /* of what is shown */
};

struct call_view { /* what is shown; borrowed from the call */
	struct question_item items[CALL_VIEW_ITEMS];
	size_t n;
	size_t n_call;   /* those before where it runs, which is known anyway */
	char title[160]; /* with its line end */
	/* its own */
	char *owned[CALL_VIEW_ITEMS];
	size_t n_owned;
	struct buf unused; /* members that the tool does not read */
	struct buf
		change; /* of the file, in place of the texts it is made of */
};

/* The label of what changes in a file, whose lines begin as diff_text()'s. */
#define CALL_VIEW_CHANGE "change"

/* What the tool will read comes first, in the tool's own order: other members
 * could push it into the part that is left out. */
void call_view_open(struct call_view *v, const struct approval *a);
void call_view_close(struct call_view *v);

#endif
