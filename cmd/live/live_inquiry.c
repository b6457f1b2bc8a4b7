/* live_inquiry.c - what the model asks the user, in the chat with a screen. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "cmd/live/live_impl.h"

enum { LONG_QUESTION = 400 /* bytes: all of it is printed above, too */ };

int live_inquire(void *arg, struct inquiry *q, enum inquiry_end *end,
		 const struct stop *stop, struct error *err)
{
	struct live *l = arg;
	int answer = worker_inquire(&l->worker, q);

	*end = (enum inquiry_end)answer;
	return answer < 0 ? stop_check(stop, err) : 0;
}

static void print_long_questions(struct live *l)
{
	for (size_t i = 0; i < l->asked_inquiry->n; i++)
		if (str_of(l->asked_inquiry->items[i].question).len >
		    LONG_QUESTION)
			live_say(l, (struct style){ 0, STYLE_PLAIN },
				 l->asked_inquiry->items[i].question);
}

void live_open_inquiry(struct live *l, int64_t now)
{
	print_long_questions(l);
	inquiry_dialog_open(&l->inquiry, l->asked_inquiry);
	l->opened = now;
}

static void answer(struct live *l, int end)
{
	inquiry_dialog_close(&l->inquiry);
	l->asked_inquiry = NULL;
	transcript_waited(&l->transcript, clock_ms() - l->asked_at);
	worker_answer(&l->worker, end);
	live_set_wait(l, "running");
}

void live_drop_inquiry(struct live *l)
{
	if (l->asked_inquiry)
		answer(l, -1);
}

void live_on_inquiry(struct live *l, const struct key_event *ev)
{
	enum inquiry_end end;

	if (inquiry_dialog_event(&l->inquiry, ev, &end))
		answer(l, (int)end);
}
