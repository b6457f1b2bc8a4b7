/* answer.c - one answer of the model: shown and stored while it arrives. */
/* SPDX-License-Identifier: MIT */
#include "agent/answer.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "session/history.h"
#include "session/spend.h"

enum {
	STORE_MS = 250, /* between two writes of what has arrived */
	STORE_MOST_MS = 4000,
	/* A long answer is written less often: that takes at most a fiftieth
	 * of the time. */
	STORE_SHARE = 50,
	PIECE_MAX = 64 << 20, /* bytes; draft.h has the answer's own limit */
};

/* Text, or thinking, as it came in a row. */
struct arrived_part {
	enum part_kind kind;
	struct buf text;
};

/* The answer so far. */
struct arrival {
	struct agent *agent;
	struct arrived_part *pieces; /* owned */
	size_t n;
	int64_t stored; /* clock_ms() of the last write, or of the request */
	int64_t every;  /* ms between two */
	bool waits;     /* something of it is not stored yet */
};

static void emit(struct agent *a, enum agent_event_kind kind, struct str text)
{
	a->ui.event(a->ui.arg,
		    &(struct agent_event){ .kind = kind, .text = text });
}

static void add(struct arrival *x, enum part_kind kind, struct str delta)
{
	if (!x->agent->session)
		return;
	if (!x->n || x->pieces[x->n - 1].kind != kind) {
		/* grows at powers of two, so that no capacity need be kept */
		if (!(x->n & (x->n - 1)))
			x->pieces = xrealloc(x->pieces, x->n ? x->n * 2 : 1,
					     sizeof(*x->pieces));
		x->pieces[x->n++] =
			(struct arrived_part){ kind, BUF_INIT(PIECE_MAX) };
	}
	buf_addstr(&x->pieces[x->n - 1].text, delta);
	x->waits = true;
}

static void forget(struct arrival *x)
{
	for (size_t i = 0; i < x->n; i++)
		buf_release(&x->pieces[i].text);
	free(x->pieces);
	x->pieces = NULL;
	x->n = 0;
	x->waits = false;
}

/* The pieces as a message; they are empty afterwards. */
static struct message take(struct arrival *x)
{
	const char *origin = model_origin(x->agent->model);
	struct message m = { .role = ROLE_ASSISTANT,
			     .origin = xstrdup(origin),
			     .cut = true };

	for (size_t i = 0; i < x->n; i++)
		message_add(&m, x->pieces[i].kind)->text =
			buf_detach(&x->pieces[i].text);
	forget(x);
	return m;
}

/* With what it costs so far. */
static int write_draft(struct agent *a, const struct message *m,
		       struct error *err)
{
	if (session_begin(a->session, err) < 0)
		return -1;
	if (session_draft(a->session, m, err) < 0) {
		session_rollback(a->session);
		return -1;
	}
	if (a->meter)
		(void)spend_store(a->session, a->meter, err);
	return session_commit(a->session, err);
}

static void store(struct arrival *x)
{
	struct agent *a = x->agent;
	struct message m = { .role = ROLE_ASSISTANT,
			     .origin = (char *)model_origin(a->model),
			     .cut = true };
	struct error err = { 0 };
	int64_t began = clock_ms();
	int64_t took;

	for (size_t i = 0; i < x->n; i++)
		message_add(&m, x->pieces[i].kind)->text =
			x->pieces[i].text.ptr; /* borrowed */
	model_note_cost(a->model);
	if (write_draft(a, &m, &err) < 0)
		agent_not_stored(a, &err);
	free(m.parts);
	x->stored = clock_ms();
	took = (x->stored - began) * STORE_SHARE;
	x->every = took < STORE_MS        ? STORE_MS
		   : took > STORE_MOST_MS ? STORE_MOST_MS
					  : took;
	x->waits = false;
}

static int64_t keep_in(void *arg)
{
	const struct arrival *x = arg;
	int64_t left = x->stored + x->every - clock_ms();

	if (!x->waits || !x->agent->session)
		return -1;
	return left > 0 ? left : 0;
}

static void keep(void *arg)
{
	if (keep_in(arg) == 0)
		store(arg);
}

static void on_text(void *arg, struct str delta)
{
	struct arrival *x = arg;

	add(x, PART_TEXT, delta);
	emit(x->agent, EVENT_TEXT, delta);
}

static void on_thinking(void *arg, struct str delta)
{
	struct arrival *x = arg;

	add(x, PART_THINKING, delta);
	emit(x->agent, EVENT_THINKING, delta);
}

static void on_wait(void *arg, int64_t ms)
{
	struct arrival *x = arg;

	x->agent->wait_ms = ms;
}

void answer_restart(struct agent *a, const char *why)
{
	struct buf line = BUF_INIT(1 << 12);
	struct error err = { 0 };

	if (a->session && session_drop_draft(a->session, &err) < 0)
		agent_not_stored(a, &err);
	buf_adds(&line, why);
	a->ui.event(a->ui.arg, &(struct agent_event){ .kind = EVENT_RESTART,
						      .text = buf_str(&line),
						      .wait_ms = a->wait_ms });
	a->wait_ms = 0;
	buf_release(&line);
}

static void on_restart(void *arg, const char *why)
{
	struct arrival *x = arg;

	forget(x);
	answer_restart(x->agent, why);
	x->stored = clock_ms();
}

static void on_flush(void *arg)
{
	const struct arrival *x = arg;

	emit(x->agent, EVENT_FLUSH, (struct str){ 0 });
}

static void on_notice(void *arg, const char *line)
{
	const struct arrival *x = arg;

	emit(x->agent, EVENT_WARNING, str_of(line));
}

static void on_sent(void *arg)
{
	const struct arrival *x = arg;

	if (x->agent->request_sent)
		x->agent->request_sent(x->agent->tools_arg);
}

int answer_stream(struct agent *a, struct model_reply *reply,
		  const struct stop *stop, struct error *err)
{
	struct arrival x = { .agent = a,
			     .stored = clock_ms(),
			     .every = STORE_MS };
	const struct model_sink sink = {
		.text = on_text,
		.thinking = on_thinking,
		.restart = on_restart,
		.waits = on_wait,
		.sent = on_sent,
		.notice = on_notice,
		.flush = on_flush,
		.keep = keep,
		.keep_in = keep_in,
		.arg = &x,
	};
	int rc;

	message_release(&a->cut); /* another try takes its place */
	a->cut = (struct message){ 0 };
	rc = model_stream(a->model, &sink, reply, stop, err);
	if (rc < 0 && x.n)
		a->cut = take(&x);
	forget(&x);
	return rc;
}

void answer_keep_cut(struct agent *a)
{
	struct error err = { 0 };

	if (!a->cut.n)
		return;
	if (a->session && (session_draft(a->session, &a->cut, &err) < 0))
		agent_not_stored(a, &err);
	if (a->session)
		session_keep_draft(a->session);
	if (history_trim_cut(&a->cut))
		model_push(a->model, &a->cut);
	message_release(&a->cut);
	a->cut = (struct message){ 0 };
}
