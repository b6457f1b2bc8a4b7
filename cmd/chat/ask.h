/* ask.h - whether a call may run: judged, or asked of the chat's user. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_ASK_H
#define CMD_CHAT_ASK_H

#include "cmd/chat/dialog.h"
#include "cmd/session/run.h"

/* What both kinds of chat do before a call; asks differently in each. */
struct asker {
	struct run *run;
	/* Puts the question; DIALOG_OPEN: the turn was stopped instead. */
	enum dialog_answer (*ask)(void *arg, struct question *q,
				  const struct stop *stop);
	void *arg;
	/* its own */
	struct grants batch;   /* allowed, of the calls of one answer */
	struct grants refused; /* of these, with a reason for all */
	struct buf why;        /* that reason, as the model is told */
	size_t last;           /* number of the last call that was asked for */
};

/* As agent_ui.approve. */
int ask_approval(struct asker *k, struct approval *a, const struct stop *stop,
		 struct error *err);
void asker_release(struct asker *k);

#endif
