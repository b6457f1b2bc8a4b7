/* ask.h - questions to the user: may a call run, and the possible answers. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_ASK_H
#define CMD_CHAT_ASK_H

#include "agent/agent.h"
#include "cmd/session/run.h"
#include "ui/question.h"

enum {
	CALL_VIEW_ITEMS = 12, /* a tool's arguments and dcode's own lines */
	CALL_VIEW_BYTES = 16 << 20, /* bytes of the displayed text */
};

struct call_view { /* The displayed description of a call; its texts are
		      borrowed from the call. */
	struct question_item items[CALL_VIEW_ITEMS];
	size_t n;
	size_t n_call; /* items before the one that names where the call runs */
	char title[160]; /* including its line end */
	struct str path; /* the file that the call changes, or empty */
	/* Label of the item with the file's diff, whose lines begin as in
	 * diff_text(): "change (+5 -2)"; empty: there is none. */
	char change_label[64];
	/* private */
	char *owned[CALL_VIEW_ITEMS];
	size_t n_owned;
	char *opens;       /* the hosts that the call opens, or NULL */
	struct buf risks;  /* what the command touches */
	struct buf unused; /* arguments that the tool does not use */
	struct buf change; /* diff of the file, shown instead of the old and new
			      text */
};

/* Arguments that the tool uses come first, in the tool's own order. Otherwise a
 * model could hide them behind many unused ones, in the part of the question
 * that is cut out. */
void call_view_open(struct call_view *v, const struct approval *a);
void call_view_close(struct call_view *v);

/* Appends what the text of a command touches, in a few words with examples:
 * "deletes (rm), publishes (git push)". Nothing if no such word is known, which
 * does not mean that the command is harmless. */
void ask_add_risks(const struct approval *a, struct buf *out);

enum dialog_answer {
	DIALOG_OPEN, /* no answer yet */
	DIALOG_YES,
	DIALOG_ALWAYS,    /* allow exactly this call for the session */
	DIALOG_CONFIG,    /* the same, stored in the user's config.toml */
	DIALOG_NO,        /* decline and end the turn */
	DIALOG_REASON,    /* decline with the reason that was typed */
	DIALOG_SHOW,      /* print the whole call; the question stays open */
	DIALOG_EDITED,    /* the call was changed: judge and ask again */
	DIALOG_ELSEWHERE, /* edit the call in the user's own editor */
	DIALOG_TOGETHER,  /* ask one question for all calls of the model answer
			   */
	DIALOG_ONE,       /* go back to one question for each call */
	DIALOG_EDITS, /* Shift+Tab: allow this and later edits, if the caller
			 finds that auto-edit allows it */
};

/* A question whether the calls in list may run. */
struct question {
	struct approval *const *list; /* borrowed */
	size_t n;          /* if several, one answer is for all of them */
	struct buf edited; /* out, for DIALOG_EDITED: the changed text */
};

/* Decides about calls in both kinds of chat. Only the ask function differs. */
struct asker {
	struct run *run;
	/* Asks the question. Returns DIALOG_OPEN if the turn was stopped. */
	enum dialog_answer (*ask)(void *arg, struct question *q,
				  const struct stop *stop);
	void *arg;
	/* private */
	struct grants batch;   /* calls of one model answer that are allowed */
	struct grants refused; /* calls of the same model answer that were
				  declined with one reason */
	struct buf why;        /* the reason, as the model gets it */
	size_t last; /* number of the last call passed to ask_approval() */
};

/* Implements agent_ui.approve. */
int ask_approval(struct asker *k, struct approval *a, const struct stop *stop,
		 struct error *err);
void asker_release(struct asker *k);

/* True if "always" is one of the answers: the question is about one call, which
 * opens no host. */
static inline bool ask_may_last(const struct question *q)
{
	return q->n == 1 && !q->list[0]->opens.len;
}
/* True if several calls of the model answer still have to be asked about. */
bool ask_has_more(const struct question *q);
/* Returns the name of the argument that the user may edit, and its text
 * (borrowed). NULL: the call cannot be edited. */
const char *ask_editable(const struct question *q, struct str *text);

/* The longest reply, in bytes, to a question that dcode itself asks. */
enum { ASK_REPLY_BYTES = 256, ASK_NO_CHOICE = -2 };

/* Returns the index of the answer that line names by its word or first letter;
 * an empty line means the default. Otherwise ASK_NO_CHOICE. Control sequences
 * are removed first: a late terminal reply may precede the user's text. */
int ask_parse_choice(const struct app_question *q, struct str line);
/* Appends "'x' is not an answer." and what the answers are. typed: the wrong
 * answer, or "". */
void ask_add_advice(const struct app_question *q, struct str typed,
		    struct buf *out);

#endif
