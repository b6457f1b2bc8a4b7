/* show.c - shows events of a conversation, with secrets masked. */
/* SPDX-License-Identifier: MIT */
/*
 * Secrets are masked in two places. Everything that a user types, a tool
 * returns, a hook answers or a server complains about goes through
 * message_admit() before the model and the store get it, and through
 * show_event() before a screen shows it. So code that produces such a text need
 * not mask it, unless it cuts the text: half of a secret would not be
 * recognised.
 */
#include "agent/show.h"

#include <stdlib.h>

#include "base/str.h"
#include "tool/result.h"

struct shown_event { /* an event whose texts are masked copies */
	struct agent_event event;
	struct part call;
	struct tool_change change;
	struct buf text, end, changed;
};

static void copy_masked(const struct mask *mask, struct str *text,
			struct buf *out)
{
	*out = BUF_INIT(SIZE_MAX / 4);
	mask_text(mask, *text, out);
	*text = buf_str(out);
}

static void mask_call(const struct mask *mask, struct shown_event *s)
{
	if (!s->event.call)
		return;
	s->call = *s->event.call;
	s->call.args = message_masked_args(mask, s->event.call);
	s->event.call = &s->call;
}

static void mask_change(const struct mask *mask, struct shown_event *s)
{
	enum { TEXTS = 3 };
	struct tool_change *c = &s->change;
	struct buf *const texts[TEXTS] = { &c->before, &c->after, &c->stored };

	if (!tool_change_copy(c, s->event.change)) {
		s->event.change = NULL;
		return;
	}
	for (int i = 0; i < TEXTS; i++)
		(void)mask_buf(mask, texts[i]);
	s->event.change = c;
}

static void mask_event(const struct mask *mask, const struct agent_event *ev,
		       struct shown_event *s)
{
	*s = (struct shown_event){ .event = *ev };
	copy_masked(ev->exempt ? mask_values(mask) : mask, &s->event.text,
		    &s->text);
	copy_masked(mask, &s->event.end, &s->end);
	copy_masked(mask, &s->event.changed, &s->changed);
	/* Screens do not show the call's arguments with these two events. */
	if (ev->kind != EVENT_TOOL_OUTPUT && ev->kind != EVENT_SUBAGENT)
		mask_call(mask, s);
	mask_change(mask, s);
}

static void release_event(struct shown_event *s)
{
	free(s->call.args);
	tool_change_release(&s->change);
	buf_release(&s->text);
	buf_release(&s->end);
	buf_release(&s->changed);
}

void show_event(const struct agent_ui *ui, const struct mask *mask,
		const struct agent_event *ev)
{
	struct shown_event s;
	struct shown_event inner = { 0 };
	struct subagent_step step;

	/* The stored answers of earlier runs are not masked. */
	if (!ev->replayed &&
	    (ev->kind == EVENT_TEXT || ev->kind == EVENT_THINKING)) {
		ui->event(ui->arg, ev);
		return;
	}
	mask_event(mask, ev, &s);
	if (ev->subagent && ev->subagent->event) {
		mask_event(mask, ev->subagent->event, &inner);
		step = *ev->subagent;
		step.event = &inner.event;
		s.event.subagent = &step;
	}
	ui->event(ui->arg, &s.event);
	release_event(&inner);
	release_event(&s);
}

void agent_warn(struct agent *a, const char *what, const struct error *err)
{
	struct buf line = BUF_INIT(1 << 12);

	buf_addf(&line, "%s: %s%s%s", what, err->message,
		 err->hint[0] ? ". " : "", err->hint);
	show_event(&a->ui, a->mask,
		   &(struct agent_event){ .kind = EVENT_WARNING,
					  .text = buf_str(&line) });
	buf_release(&line);
}
