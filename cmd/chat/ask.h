/* ask.h - a question: whether a call may run, and who answers it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_ASK_H
#define CMD_CHAT_ASK_H

#include "agent/agent.h"
#include "cmd/session/run.h"
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

/* Arguments that the tool reads come first, in the tool's own order: unused
 * members could push them into the part that is left out. */
void call_view_open(struct call_view *v, const struct approval *a);
void call_view_close(struct call_view *v);

enum dialog_answer {
	DIALOG_OPEN, /* no answer yet */
	DIALOG_YES,
	DIALOG_ALWAYS,    /* this call, as it is shown, for the session */
	DIALOG_CONFIG,    /* the same, kept in the user's config.toml */
	DIALOG_NO,        /* and the turn ends */
	DIALOG_REASON,    /* no, for the reason that was typed */
	DIALOG_SHOW,      /* print all of it; the question stays */
	DIALOG_EDITED,    /* the call is changed: judge and ask anew */
	DIALOG_ELSEWHERE, /* to be changed in the user's own editor */
	DIALOG_TOGETHER,  /* one question for all calls of the answer */
	DIALOG_ONE,       /* one question for each, again */
	DIALOG_EDITS,     /* Shift+Tab: this edit and those to come, if the
			     caller finds that auto-edit allows it */
};

/* A question whether these calls may run. */
struct question {
	struct approval *const *list; /* borrowed */
	size_t n;                     /* several: all of them, or none */
	struct buf edited; /* out: DIALOG_EDITED: the text as it is now */
};

/* Decides about calls in both kinds of chat; only the function that puts the
 * question differs. */
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

/* Whether several calls of the answer are left to be asked about. */
bool ask_has_more(const struct question *q);
/* The name of the argument that the user may edit, with its text (borrowed);
 * NULL: none. */
const char *ask_editable(const struct question *q, struct str *text);

/* A reply to a question of the program's own may have so many bytes. */
enum { ASK_REPLY_BYTES = 256, ASK_NO_CHOICE = -2 };

/* The index of the answer that line is: its word, its first letter, or nothing
 * for the usual one. Else ASK_NO_CHOICE. The terminal's late reply to a query
 * may stand before the user's: control sequences are cut out. */
int ask_parse_choice(const struct app_question *q, struct str line);
/* Appends "Please answer y or n." */
void ask_add_advice(const struct app_question *q, struct buf *out);

#endif
