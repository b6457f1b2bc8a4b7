/* live_answer.c - what is typed at the question whether a call may run. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cmd/chat/elsewhere.h"
#include "cmd/live/live_impl.h"

static void answer(struct live *l, enum dialog_answer a)
{
	const struct question *q = l->asked;
	char text[64] = "running";

	if (q->n == 1)
		snprintf(text, sizeof(text), "running %.40s",
			 q->list[0]->call->name);
	dialog_close(&l->dialog);
	l->asked = NULL;
	transcript_waited(&l->transcript, clock_ms() - l->asked_at);
	worker_answer(&l->worker, (int)a);
	live_set_wait(l, text);
}

void live_withdraw_question(struct live *l)
{
	dialog_close(&l->dialog);
	l->asked = NULL;
	worker_answer(&l->worker, DIALOG_OPEN);
}

/* A no without a word ends the turn: the user says what he wants instead. */
static void refuse(struct live *l)
{
	l->refused = true;
	l->stopping = true;
	l->held = l->n_queue > 0;
	cancel_trigger(&l->run->app->cancel);
	answer(l, DIALOG_NO);
}

void live_show_question(struct live *l)
{
	struct rows whole = { 0 };

	if (dialog_render_whole(&l->dialog, screen_columns(&l->screen), &whole))
		screen_print(&l->screen, &whole, 0, whole.n);
	rows_release(&whole);
}

/* The call in the user's own editor; an unchanged one is asked about still. */
static void edit_elsewhere(struct live *l)
{
	struct buf text = BUF_INIT(CALL_VIEW_BYTES);
	struct str before;

	if (l->dialog.edits)
		editor_text(&l->dialog.editor, &text);
	else if (dialog_editable(l->asked, &before))
		buf_addstr(&text, before);
	if (elsewhere_edit_text(l, &text)) {
		buf_addstr(&l->asked->edited, buf_str(&text));
		answer(l, DIALOG_EDITED);
	}
	buf_release(&text);
}

static void take_edited(struct live *l)
{
	editor_text(&l->dialog.editor, &l->asked->edited);
	answer(l, DIALOG_EDITED);
}

void live_on_answer(struct live *l, const struct key_event *ev)
{
	enum dialog_answer said = dialog_event(&l->dialog, ev);

	switch (said) {
	case DIALOG_OPEN:
		break;
	case DIALOG_SHOW:
		live_show_question(l);
		break;
	case DIALOG_NO:
		refuse(l);
		break;
	case DIALOG_REASON:
		buf_addf(&l->asked->list[0]->reason,
			 "User rejected the tool call with reason: %s",
			 l->dialog.reason.ptr);
		answer(l, said);
		break;
	case DIALOG_EDITED:
		take_edited(l);
		break;
	case DIALOG_ELSEWHERE:
		edit_elsewhere(l);
		break;
	default:
		answer(l, said);
		break;
	}
}
