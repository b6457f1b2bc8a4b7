/* answer.c - one answer of the model, as it is shown while it arrives. */
/* SPDX-License-Identifier: MIT */
#include "agent/answer.h"

#include "base/str.h"

static void emit(struct agent *a, enum agent_event_kind kind, struct str text)
{
	a->ui.event(a->ui.arg,
		    &(struct agent_event){ .kind = kind, .text = text });
}

static void on_text(void *arg, struct str delta)
{
	emit(arg, EVENT_TEXT, delta);
}

static void on_thinking(void *arg, struct str delta)
{
	emit(arg, EVENT_THINKING, delta);
}

static void on_wait(void *arg, int64_t ms)
{
	struct agent *a = arg;

	a->wait_ms = ms;
}

void answer_restart(struct agent *a, const char *why)
{
	struct buf line = BUF_INIT(1 << 12);

	buf_adds(&line, why);
	a->ui.event(a->ui.arg, &(struct agent_event){ .kind = EVENT_RESTART,
						      .text = buf_str(&line),
						      .wait_ms = a->wait_ms });
	a->wait_ms = 0;
	buf_release(&line);
}

static void on_restart(void *arg, const char *why)
{
	answer_restart(arg, why);
}

static void on_flush(void *arg)
{
	emit(arg, EVENT_FLUSH, (struct str){ 0 });
}

static void on_notice(void *arg, const char *line)
{
	emit(arg, EVENT_WARNING, str_of(line));
}

static void on_sent_ahead(void *arg)
{
	struct agent *a = arg;

	if (a->request_sent)
		a->request_sent(a->tools_arg);
}

static void on_sent(void *arg)
{
	agent_save(arg);
	on_sent_ahead(arg);
}

int answer_stream(struct agent *a, bool ahead, struct model_reply *reply,
		  const struct stop *stop, struct error *err)
{
	const struct model_sink sink = {
		.text = on_text,
		.thinking = on_thinking,
		.restart = on_restart,
		.waits = on_wait,
		.sent = ahead ? on_sent_ahead : on_sent,
		.notice = on_notice,
		.flush = on_flush,
		.arg = a,
	};

	return model_stream(a->model, &sink, reply, stop, err);
}
