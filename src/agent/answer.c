/* answer.c - one answer of the model: shown and stored while it arrives. */
/* SPDX-License-Identifier: MIT */
/*
 * The first functions are used by the other files of the loop: warnings,
 * storing messages. Then streaming of one answer: begin reading at
 * answer_stream(). At the end, the retry without files if the vendor refused
 * one.
 */
#include "agent/answer.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/show.h"
#include "base/mem.h"
#include "base/str.h"
#include "session/history.h"
#include "session/records.h"
#include "session/session.h"

static void emit_event(struct agent *a, enum agent_event_kind kind,
		       struct str text)
{
	show_event(&a->ui, a->mask,
		   &(struct agent_event){ .kind = kind, .text = text });
}

void agent_warn(struct agent *a, const char *what, const struct error *err)
{
	struct buf line = BUF_INIT(1 << 12);

	buf_addf(&line, "%s: %s%s%s", what, err->message,
		 err->hint[0] ? ". " : "", err->hint);
	emit_event(a, EVENT_WARNING, buf_str(&line));
	buf_release(&line);
}

void agent_not_stored(struct agent *a, const struct error *err)
{
	a->session = NULL;
	agent_warn(a, "this thread is no longer stored", err);
}

/* Stores an answer and its cost in one transaction, because each transaction
 * writes to the disk. */
static int append_answer(struct agent *a, const struct message *m,
			 const struct usage *usage, struct error *err)
{
	struct error ignored = { 0 };

	if (session_begin(a->session, err) < 0 ||
	    session_append(a->session, m, usage, err) < 0)
		return -1;
	if (a->meter)
		(void)spend_store(a->session, a->meter, &ignored);
	return session_commit(a->session, err);
}

void agent_store(struct agent *a, const struct message *m,
		 const struct usage *usage)
{
	struct error err = { 0 };

	if (a->memory) {
		struct message copy = message_copy(m);

		history_add(a->memory, &copy);
	}
	if (!a->session)
		return;
	if ((usage ? append_answer(a, m, usage, &err)
		   : session_append(a->session, m, usage, &err)) < 0)
		agent_not_stored(a, &err);
}

enum {
	/* minimum time between two writes of an unfinished answer */
	STORE_MS = 250,
	STORE_MOST_MS = 4000,
	/* The time between two writes is at least so many times the duration of
	 * the last write: writing then takes at most 2 % of the time. */
	STORE_SHARE = 50,
	/* bytes of one piece; draft.h limits a whole answer */
	PIECE_MAX = 64 << 20,
};

/* Consecutive deltas of one kind: text or thinking. */
struct arrived_part {
	enum part_kind kind;
	struct buf text;
};

/* The answer received so far. */
struct arrival {
	struct agent *agent;
	struct arrived_part *pieces; /* owned */
	size_t n;
	/* clock_ms() of the last write; before the first, of the request's
	 * start */
	int64_t stored;
	int64_t every; /* ms between two writes */
	bool waits;    /* some deltas are not stored yet */
};

/* Appends to the last piece, or starts a new one if that has another kind. A
 * cut answer is stored, or belongs to a subagent's result. Without a session or
 * a caller it is lost, so does nothing then. */
static void add_delta(struct arrival *x, enum part_kind kind, struct str delta)
{
	if (!x->agent->session && !x->agent->parent)
		return;
	if (!x->n || x->pieces[x->n - 1].kind != kind) {
		/* The capacity doubles whenever n is a power of two, so it need
		 * not be stored. */
		if (!(x->n & (x->n - 1)))
			x->pieces = xrealloc(x->pieces, x->n ? x->n * 2 : 1,
					     sizeof(*x->pieces));
		x->pieces[x->n++] =
			(struct arrived_part){ kind, BUF_INIT(PIECE_MAX) };
	}
	buf_addstr(&x->pieces[x->n - 1].text, delta);
	x->waits = true;
}

static void release_pieces(struct arrival *x)
{
	for (size_t i = 0; i < x->n; i++)
		buf_release(&x->pieces[i].text);
	free(x->pieces);
	x->pieces = NULL;
	x->n = 0;
	x->waits = false;
}

/* Moves the pieces into a message, which is marked as cut (unfinished). */
static struct message detach_message(struct arrival *x)
{
	const char *origin = model_origin(x->agent->model);
	struct message m = { .role = ROLE_ASSISTANT,
			     .origin = xstrdup(origin),
			     .cut = true };

	for (size_t i = 0; i < x->n; i++)
		message_add(&m, x->pieces[i].kind)->text =
			buf_detach(&x->pieces[i].text);
	release_pieces(x);
	return m;
}

/* Stores the unfinished answer and its cost so far in one transaction. */
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

/* Stores the unfinished answer. The next write is due after STORE_SHARE times
 * the duration of this one, but between STORE_MS and STORE_MOST_MS. */
static void store_arrived(struct arrival *x)
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

/* For model_sink.keep_in: returns the milliseconds until the next write; -1 if
 * there is nothing to write. */
static int64_t ms_until_store(void *arg)
{
	const struct arrival *x = arg;
	int64_t left = x->stored + x->every - clock_ms();

	if (!x->waits || !x->agent->session)
		return -1;
	return left > 0 ? left : 0;
}

static void store_if_due(void *arg)
{
	if (ms_until_store(arg) == 0)
		store_arrived(arg);
}

static void on_text(void *arg, struct str delta)
{
	struct arrival *x = arg;

	add_delta(x, PART_TEXT, delta);
	emit_event(x->agent, EVENT_TEXT, delta);
}

static void on_thinking(void *arg, struct str delta)
{
	struct arrival *x = arg;

	add_delta(x, PART_THINKING, delta);
	emit_event(x->agent, EVENT_THINKING, delta);
}

static void on_call(void *arg)
{
	const struct arrival *x = arg;
	const struct agent *a = x->agent;

	if (a->await && a->call_begins)
		a->call_begins(a->await_arg);
}

static void on_wait(void *arg, const struct model_wait *wait)
{
	struct arrival *x = arg;

	x->agent->wait = *wait;
}

static void discard_answer(struct agent *a, const char *why, bool thought)
{
	struct buf line = BUF_INIT(1 << 12);
	struct error err = { 0 };

	if (a->session && session_drop_draft(a->session, &err) < 0)
		agent_not_stored(a, &err);
	buf_adds(&line, why);
	show_event(&a->ui, a->mask,
		   &(struct agent_event){ .kind = EVENT_RESTART,
					  .text = buf_str(&line),
					  .thought = thought,
					  .wait = a->wait });
	a->wait = (struct model_wait){ 0 };
	buf_release(&line);
}

void answer_restart(struct agent *a, const char *why)
{
	discard_answer(a, why, false);
}

/* Called when the connection broke or the answer was discarded: it starts
 * over. */
static void on_restart(void *arg, const char *why)
{
	struct arrival *x = arg;

	release_pieces(x);
	answer_restart(x->agent, why);
	x->stored = clock_ms();
}

static void on_thought(void *arg)
{
	struct arrival *x = arg;

	release_pieces(x);
	discard_answer(x->agent, "the text so far is the model's thinking",
		       true);
}

static void on_flush(void *arg)
{
	const struct arrival *x = arg;

	emit_event(x->agent, EVENT_FLUSH, (struct str){ 0 });
}

static void on_notice(void *arg, const char *line)
{
	const struct arrival *x = arg;

	emit_event(x->agent, EVENT_WARNING, str_of(line));
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
		.thought = on_thought,
		.call = on_call,
		.waits = on_wait,
		.sent = on_sent,
		.notice = on_notice,
		.flush = on_flush,
		.keep = store_if_due,
		.keep_in = ms_until_store,
		.arg = &x,
	};
	int rc;

	message_release(&a->cut); /* the partial answer of the previous try */
	a->cut = (struct message){ 0 };
	rc = model_stream(a->model, &sink, reply, stop, err);
	if (rc < 0 && x.n)
		a->cut = detach_message(&x);
	release_pieces(&x);
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

/* Loads the stored thread's history. -1 if the thread is not stored. */
static int load_history(const struct agent *a, struct conversation *c)
{
	struct error ignored = { 0 };
	struct store *store;
	int64_t no;

	if (!a->session)
		return -1;
	store = session_store(a->session, &no);
	return no ? history_load(c, store, no, &ignored) : -1;
}

/* True if the vendor refused a file, or refused the request's size (HTTP 413),
 * which is mostly files. */
static bool is_file_refusal(const struct error *err)
{
	return err->exact == CASE_FILE_REFUSED ||
	       (err->http_status == 413 && err->exact == CASE_TOO_LONG);
}

int answer_without_files(struct agent *a, const struct error *err)
{
	struct conversation c = { 0 };
	struct error ignored = { 0 };
	int rc = 0;

	if (!is_file_refusal(err) || !model_has_files(a->model))
		return 0;
	if (load_history(a, &c) == 0 &&
	    model_reset(a->model, NULL, 0, &ignored) == 0) {
		model_hide_files(a->model, true);
		history_push(&c, a->model);
		model_hide_files(a->model, false);
		agent_warn(a, "asking again without images and PDF files", err);
		rc = 1;
	}
	history_release(&c);
	return rc;
}
