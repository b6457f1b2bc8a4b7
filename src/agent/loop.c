/* loop.c - the loop: ask the model, run its tools, until it is done. */
/* SPDX-License-Identifier: MIT */
/*
 * agent_run() runs one prompt: it counts turns and asks Stop hooks whether the
 * agent may end. run_turn() requests one answer and runs its tools; begin
 * reading there. answer_stream() shows and stores an answer while it arrives.
 * Every message is stored before it is sent, so nothing is lost if dcode is
 * killed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/compact.h"
#include "agent/hooked.h"
#include "agent/show.h"
#include "agent/toolrun.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/money.h"
#include "sandbox/jobs/jobs.h"
#include "session/history.h"
#include "session/records.h"
#include "session/session.h"
#include "tool/result.h"

static void emit_event(struct agent *a, enum agent_event_kind kind,
		       struct str text)
{
	show_event(&a->ui, a->mask,
		   &(struct agent_event){ .kind = kind, .text = text });
}

/* Stops storing this thread, because of err, and warns the user. */
static void agent_not_stored(struct agent *a, const struct error *err)
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

/* Stores a message. If that fails, warns the user, and the run continues
 * without storing. */
static void agent_store(struct agent *a, const struct message *m,
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

/* Discards the partial answer and emits EVENT_RESTART. */
static void answer_restart(struct agent *a, const char *why)
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

/* Like model_stream() of a->model, and also emits the deltas as events. Stores
 * the partial answer in the thread, marked as cut, at most four times a second.
 * The caller stores the complete answer. On -1 a->cut is the partial answer. */
static int answer_stream(struct agent *a, struct model_reply *reply,
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

/* Adds the partial answer a->cut to the thread and to the model's history. */
static void answer_keep_cut(struct agent *a)
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

/* Call after a request failed with err. If the vendor refused a file, every
 * later request with that file would fail too. Then rebuilds the model's
 * history with each file replaced by a line of text; the stored thread keeps
 * the files. Returns 1 if the request should be sent again; 0 if not, or if the
 * thread is not stored. */
static int answer_without_files(struct agent *a, const struct error *err)
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

enum {
	/* ms between two tries while other requests have reserved the money
	 * that is left */
	HELD_MS = 100,
	MOST_CUTS = 3,     /* consecutive answers that were cut inside a call */
	WHY_MAX = 1 << 16, /* maximum bytes of the result of a refused call */
	PROMPT_MAX = 160 << 20 /* bytes */
};

/* Uses the context window that window_probe has found out in the background. */
static void learn_window(struct agent *a)
{
	struct server_limits limits;
	struct buf line = BUF_INIT(1 << 8);

	if (!a->probe || !window_probe_take(a->probe, &limits))
		return;
	(void)window_learn(&a->window, limits.context, limits.max_output,
			   model_head_size(a->model));
	if (limits.context < WINDOW_LEAST) {
		buf_addf(&line,
			 "the server reports a context window of %lld tokens, "
			 "less than dcode needs: answers may lack context",
			 (long long)limits.context);
		emit_event(a, EVENT_WARNING, buf_str(&line));
	}
	buf_release(&line);
}

/* Masks a message, stores it and adds it to the next request, in this order: if
 * dcode is killed, nothing that was sent is lost. Takes ownership of m's
 * content. True if there was a secret in it. */
static bool store_and_push(struct agent *a, struct message *m)
{
	bool found = message_admit(a->mask, m);

	agent_store(a, m, NULL);
	model_push(a->model, m);
	message_release(m);
	return found;
}

/* Argument of append_ended_job(). */
struct ended {
	struct agent *agent;
	struct buf *out; /* lines for the model */
};

/* Appends a line for the model about one job that has ended, and shows it to
 * the user. */
static void append_ended_job(void *arg, const struct job_state *job)
{
	struct ended *e = arg;
	struct buf line = BUF_INIT(1 << 16);

	jobs_describe_end(job, &line);
	if (!job->shown)
		show_event(&e->agent->ui, e->agent->mask,
			   &(struct agent_event){
				   .kind = EVENT_JOB,
				   .text = buf_str(&line),
				   .failed = jobs_has_failed(job) });
	if (e->out->len)
		buf_addc(e->out, '\n');
	buf_addc(e->out, '[');
	buf_addstr(e->out, buf_str(&line));
	buf_addf(e->out, "; %" PRId64 " bytes of output: job_output]",
		 job->bytes);
	buf_release(&line);
}

/* Appends to *text a note about each background command that has ended. Not for
 * a subagent in its parent's sandbox: the parent gets these notes. */
static void append_ended_jobs(struct agent *a, char **text)
{
	struct buf out = BUF_INIT(1 << 20);
	struct ended e = { a, &out };
	char *all;

	/* If the sandbox is the parent's, the parent is told. If it is not
	 * ready yet, it has no jobs. */
	if (agent_shares_sandbox(a) || a->await)
		return;
	jobs_take_ended(a->sandbox->jobs, append_ended_job, &e);
	if (out.len) {
		all = xasprintf("%s\n\n%s", *text ? *text : "", out.ptr);
		free(*text);
		*text = all;
	}
	buf_release(&out);
}

/* Stores the prompt and adds it to the history: attached files first, then the
 * text. */
static void push_prompt(struct agent *a, const char *prompt, bool steering)
{
	struct message m = a->attached;
	char *text;

	/* Files go first: models read them best there
	 * (platform.claude.com/docs, "Images and vision", read 2026-11-23). */
	m.role = ROLE_USER;
	m.steering = steering;
	a->attached = (struct message){ 0 };
	for (size_t i = 0; i < m.n; i++)
		emit_event(a, EVENT_FILE, str_of(m.parts[i].text));
	text = a->note && !steering ? xasprintf("%s\n%s", a->note, prompt)
				    : xstrdup(prompt);
	append_ended_jobs(a, &text);
	message_add(&m, PART_TEXT)->text = text;
	if (store_and_push(a, &m) && !a->parent)
		emit_event(a, EVENT_WARNING,
			   STR("your message contains a known secret or what "
			       "looks like a credential; it is sent as "
			       "[masked:NAME] (dcode help redaction)"));
}

static bool has_visible_text(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TEXT &&
		    str_trim(str_of(m->parts[i].text)).len)
			return true;
	return false;
}

/* Sets a->answer. A subagent's last answer may be without text; then an earlier
 * one stays, because the parent sees only a->answer. */
static void note_answer(struct agent *a, const struct message *m)
{
	if (a->parent && !has_visible_text(m))
		return;
	buf_clear(&a->answer);
	a->thought = false;
	for (size_t i = 0; i < m->n; i++) {
		a->thought |= m->parts[i].kind == PART_THINKING;
		if (m->parts[i].kind == PART_TEXT)
			buf_adds(&a->answer, m->parts[i].text);
	}
}

static bool has_calls(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TOOL_CALL)
			return true;
	return false;
}

/* Stores the cost so far, and warns once when it passes one of the user's
 * thresholds. */
static void store_spend(struct agent *a)
{
	struct buf line = BUF_INIT(1 << 8);
	struct error ignored = { 0 };
	char room[MONEY_SIZE];
	int64_t passed;

	if (!a->meter)
		return;
	if (a->session)
		(void)spend_store(a->session, a->meter, &ignored);
	passed = meter_passed(a->meter);
	if (passed) {
		buf_addf(&line, "this run has cost more than %s",
			 money_short(passed, room));
		emit_event(a, EVENT_WARNING, buf_str(&line));
	}
	buf_release(&line);
}

/* Returns stop with a deadline at which the cost cap would be exceeded, because
 * a running sandbox costs money. */
static struct stop stop_at_cap(const struct agent *a, const struct stop *stop)
{
	int64_t ms = a->meter ? meter_time_left(a->meter) : INT64_MAX;

	return ms == INT64_MAX ? *stop : stop_within(stop, ms);
}

/* If the money below the cost cap is reserved for other requests, waits for
 * HELD_MS. True: try again. */
static bool waits_for_others(const struct stop *stop, const struct error *err)
{
	struct error ignored = { 0 };

	return err->exact == CASE_BUDGET_HELD &&
	       stop_sleep(stop, HELD_MS, &ignored) == 0;
}

/* Requests an answer. If the cost cap forbids it, the user may raise the cap.
 * If the vendor refuses a file, tries once more without files. */
static int stream_answer(struct agent *a, struct model_reply *reply,
			 const struct stop *stop, struct error *err)
{
	bool without_files = false;
	size_t bytes = model_size(a->model);
	int rc;

	for (;;) {
		rc = answer_stream(a, reply, stop, err);
		rc = meter_name_cap(a->meter, stop, rc, err);
		if (rc == 0)
			break;
		if (err->code == ERR_BUDGET &&
		    (waits_for_others(stop, err) ||
		     (a->raise && a->raise(a->raise_arg))))
			continue;
		if (without_files || !answer_without_files(a, err))
			return rc;
		without_files = true;
		bytes = model_size(a->model);
	}
	window_report(&a->window, &reply->usage, bytes);
	return rc;
}

static bool is_too_long(const struct error *err)
{
	return err->exact == CASE_TOO_LONG;
}

/* Waits for the sandbox, on the first call; see agent.await. */
static int await_sandbox(struct agent *a, struct error *err)
{
	int rc = a->await ? a->await(a->await_arg, err) : 0;

	if (rc >= 0) {
		a->await = NULL;
		a->call_begins = NULL;
	}
	return rc;
}

/* Call after a request or an answer did not fit into the window: compacts the
 * conversation. Returns 1 to ask again, 0 if it cannot be shortened, -1 with
 * err. */
static int compact_conversation(struct agent *a, const char *why,
				const struct stop *stop, struct error *err)
{
	const struct compact_order order = { .refused = true };
	int rc = await_sandbox(a, err);

	if (rc >= 0)
		rc = compact_now(a, &order, NULL, stop, err);
	if (rc > 0)
		answer_restart(a, why);
	return rc;
}

/* Requests one answer. If the request was too long for the window, or the
 * answer did not fit into it, compacts the conversation once and asks again. */
static int request_answer(struct agent *a, struct model_reply *reply,
			  const struct stop *stop, struct error *err)
{
	struct error failed = { 0 };
	size_t bytes;
	int rc;

	learn_window(a);
	if (a->await && window_is_full(&a->window, model_size(a->model)) &&
	    await_sandbox(a, err) < 0)
		return -1;
	if (compact_if_full(a, stop, err) < 0)
		return -1;
	bytes = model_size(a->model);
	rc = stream_answer(a, reply, stop, err);
	if (rc == 0 ? reply->finish != FINISH_WINDOW : !is_too_long(err))
		return rc;
	if (rc < 0)
		window_refused(&a->window, bytes, model_head_size(a->model));
	if (compact_conversation(
		    a,
		    rc == 0 ? "the answer exceeded the context window"
			    : err->message,
		    stop, &failed) <= 0) {
		if (failed.code == ERR_CANCELLED)
			*err = failed;
		return failed.code == ERR_CANCELLED ? -1 : rc;
	}
	usage_sum(&a->usage, &reply->usage);
	model_reply_release(reply);
	return stream_answer(a, reply, stop, err);
}

/* If the output limit cut the answer inside a call, that call did not run: adds
 * the reason to its result, so that the model tries a shorter one. Fails after
 * MOST_CUTS such answers in a row. */
static int explain_cut(struct agent *a, const struct model_reply *reply,
		       struct message *results, struct error *err)
{
	static const char words[] =
		" The answer reached the model's output limit within this "
		"call. Write less in one call: a large file in several parts.";
	struct part *last = results->n ? &results->parts[results->n - 1] : NULL;
	char *text;

	a->cuts = reply->cut_call ? a->cuts + 1 : 0;
	if (!a->cuts || !last)
		return 0;
	text = xasprintf("%s%s", last->text ? last->text : "", words);
	free(last->text);
	last->text = text;
	if (a->cuts < MOST_CUTS)
		return 0;
	a->cuts = 0;
	(void)error_set(
		err, ERR_LIMIT,
		"the model's output limit cut its tool call %d times in a row",
		MOST_CUTS);
	return error_hint(err, "Raise the limit (max_tokens in "
			       "--model-params), or ask for smaller steps.");
}

/* Starts asking the server for its context window in the background. Not before
 * the first answer, which shows that the server works, and only if there is
 * time for it: while tools run or the user types. */
static void start_probe(struct agent *a, const struct message *reply)
{
	if (a->probe && (has_calls(reply) || a->ui.ask))
		window_probe_start(a->probe);
}

static void append_news(struct agent *a, char **text)
{
	struct buf out = BUF_INIT(1 << 16);
	char *all;

	if (a->add_news)
		a->add_news(a->news_arg, &out);
	if (out.len) {
		all = xasprintf("%s\n\n%s", *text ? *text : "", out.ptr);
		free(*text);
		*text = all;
	}
	buf_release(&out);
}

/* Appends notes to the last result: about background commands that have ended,
 * and the news of the caller. */
static void append_notes(struct agent *a, struct message *results)
{
	for (size_t i = results->n; i > 0; i--) {
		struct part *p = &results->parts[i - 1];

		if (p->kind != PART_TOOL_RESULT)
			continue;
		append_ended_jobs(a, &p->text);
		append_news(a, &p->text);
		return;
	}
}

/* True if the run must end because the same call has failed too often. */
static bool ends_for_repeats(struct agent *a, struct error *err)
{
	struct error why = { 0 };

	if (!toolrun_repeats(&a->repeats, &why))
		return false;
	a->repeats = (struct repeats){ 0 };
	if (a->go_on && a->go_on(a->go_on_arg, &why))
		return false;
	*err = why;
	return true;
}

/* Stores the answer and its cost in one transaction. */
static void store_answer(struct agent *a, const struct model_reply *reply)
{
	struct session *s = a->session;
	struct error err = { 0 };

	if (s && session_begin(s, &err) < 0)
		agent_not_stored(a, &err);
	agent_store(a, &reply->message, &reply->usage);
	if (!s)
		return;
	if (a->session && a->meter)
		(void)spend_store(s, a->meter, &err);
	if (!a->session)
		session_rollback(s);
	else if (session_commit(s, &err) < 0)
		agent_not_stored(a, &err);
}

/* Gives each call a failed result because there is no sandbox. */
static void refuse_calls(struct agent *a, const struct message *m,
			 const struct error *why, struct message *results)
{
	struct agent_event ev = { .failed = true,
				  .interrupted = why->code == ERR_CANCELLED,
				  .ran_ms = -1 };

	results->role = ROLE_TOOL;
	for (size_t i = 0; i < m->n; i++) {
		const struct part *call = &m->parts[i];
		struct buf text = BUF_INIT(WHY_MAX);
		struct part *p;

		if (call->kind != PART_TOOL_CALL)
			continue;
		if (why->code == ERR_CANCELLED)
			result_add_cancelled(call, false, &text);
		else
			buf_addf(&text,
				 "This call has not run: there is no sandbox. "
				 "%s",
				 why->message);
		p = message_add(results, PART_TOOL_RESULT);
		p->id = xstrdup(call->id);
		p->name = xstrdup(call->name);
		p->failed = true;
		p->text = buf_detach(&text);
		ev.call = call;
		ev.kind = EVENT_TOOL_CALL;
		ev.text = (struct str){ 0 };
		show_event(&a->ui, a->mask, &ev);
		ev.kind = EVENT_TOOL_RESULT;
		ev.text = str_of(p->text);
		show_event(&a->ui, a->mask, &ev);
	}
}

/* Requests one answer and runs its tools. Returns 1 to continue, 0 when the
 * model is done, -1 with err. */
static int run_turn(struct agent *a, const struct stop *stop, struct error *err)
{
	struct model_reply reply = { 0 };
	struct message results = { 0 };
	struct stop limit;
	int place;
	int rc = -1;

	/* Which tools are offered depends on the sandbox, so not while it is
	 * being created. */
	if ((!a->await || a->call_begins) && a->update_tools &&
	    a->update_tools(a->tools_arg, stop, err) < 0)
		goto out;
	if (request_answer(a, &reply, stop, err) < 0) {
		/* what a subagent has said so far is part of its result */
		if (a->parent)
			note_answer(a, &a->cut);
		answer_keep_cut(a);
		goto out;
	}
	reply.message.refused = reply.finish == FINISH_REFUSAL;
	usage_sum(&a->usage, &reply.usage);
	/* stored before its tools run, so that a kill does not lose it */
	store_answer(a, &reply);
	a->has_answer = true;
	place = a->call_begins && !has_calls(&reply.message)
			? 0
			: await_sandbox(a, err);
	a->has_answer = false;
	if (place > 0) {
		answer_restart(a, "the sandbox has a different working "
				  "directory: asking the model again");
		rc = 1;
		goto out;
	}
	a->turns++;
	a->all_turns++;
	if (a->parent)
		a->parent->all_turns++;
	a->finish = reply.finish;
	snprintf(a->reason, sizeof(a->reason), "%s", reply.reason);
	note_answer(a, &reply.message);
	model_push(a->model, &reply.message);
	show_event(&a->ui, a->mask,
		   &(struct agent_event){ .kind = EVENT_TURN,
					  .usage = &reply.usage });
	start_probe(a, &reply.message);
	if (reply.finish == FINISH_REFUSAL)
		model_forget_prompt(a->model);
	if (place < 0) {
		refuse_calls(a, &reply.message, err, &results);
		if (results.n)
			(void)store_and_push(a, &results);
		goto out;
	}
	rc = 0;
	if (!has_calls(&reply.message))
		goto out;
	limit = stop_at_cap(a, stop);
	rc = toolrun(a, &reply.message, &results, &limit, err);
	rc = meter_name_cap(a->meter, stop, rc, err) < 0 ? -1 : 1;
	if (rc > 0 && explain_cut(a, &reply, &results, err) < 0)
		rc = -1;
	append_notes(a, &results);
	(void)store_and_push(a, &results);
	if (rc > 0 && ends_for_repeats(a, err))
		rc = -1;
	if (rc > 0 && a->hook_end.ends)
		rc = 0;
out:
	store_spend(a);
	message_release(&results);
	model_reply_release(&reply);
	return rc;
}

/* Fails if max_turns is reached. Turns of subagents count towards their
 * parent's. */
static int check_turns(const struct agent *a, struct error *err)
{
	const struct agent *root = a->parent ? a->parent : a;

	if (root->max_turns && root->all_turns >= root->max_turns &&
	    root->turns_by_policy)
		return error_set(
			err, ERR_LIMIT,
			"Exceeded %lld agentic turns, the limit of this "
			"machine's policy (runtime.recursion_limit). The agent "
			"may be stuck retrying rejected commands. Break the "
			"task into smaller steps.",
			(long long)root->max_turns);
	if (root->max_turns && root->all_turns >= root->max_turns)
		return error_set(
			err, ERR_LIMIT,
			"Exceeded %lld agentic turns (--max-turns %lld). The "
			"agent may be stuck retrying rejected commands. "
			"Increase --max-turns or break the task into smaller "
			"steps.",
			(long long)root->max_turns, (long long)root->max_turns);
	if (a->parent && a->max_turns && a->turns >= a->max_turns)
		return error_set(err, ERR_LIMIT,
				 "the subagent has used its %lld turns "
				 "(max_turns in its AGENTS.md)",
				 (long long)a->max_turns);
	return 0;
}

/* Sends one message of the user into the running turn, like any prompt. If a
 * hook refuses it, the turn continues without it. */
static int push_steering(struct agent *a, const char *prompt,
			 const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(PROMPT_MAX);
	struct error why = { 0 };
	int rc = hooked_prompt(a, prompt, &text, stop, &why);

	if (rc < 0 && why.code == ERR_REFUSED) {
		agent_warn(a, "your message was not sent", &why);
		message_release(&a->attached);
		rc = 0;
	} else if (rc < 0) {
		*err = why;
	} else if (!a->hook_end.ends) {
		push_prompt(a, text.ptr, true);
		/* The failing calls may be what the user writes about. */
		a->repeats = (struct repeats){ 0 };
	}
	if (rc == 0)
		a->steering.settle(a->steering.arg);
	buf_release(&text);
	return rc;
}

/* Sends what the user wrote while the tools ran. It follows their results, so
 * the model reads both at once. */
static int take_steering(struct agent *a, const struct stop *stop,
			 struct error *err)
{
	const struct agent_steering *s = &a->steering;
	int rc = s->take ? 1 : 0;

	while (rc > 0 && !a->hook_end.ends) {
		struct buf prompt = BUF_INIT(PROMPT_MAX);

		rc = s->take(s->arg, &prompt, stop, err);
		if (rc > 0 && push_steering(a, prompt.ptr, stop, err) < 0)
			rc = -1;
		buf_release(&prompt);
	}
	return rc < 0 ? -1 : 0;
}

int agent_run(struct agent *a, const char *prompt, const struct stop *stop,
	      struct error *err)
{
	struct buf text = BUF_INIT(PROMPT_MAX);
	int loops = 0;
	char *more;
	int rc;

	a->turns = 0;
	a->all_turns = 0;
	a->sent = false;
	a->finish = 0;
	a->hook_ended = false;
	a->cuts = 0;
	a->repeats = (struct repeats){ 0 };
	a->acts = a->refused_acts = 0;
	a->thought = false;
	a->reason[0] = '\0';
	buf_clear(&a->answer);
	if (a->parent)
		buf_adds(&text, prompt);
	rc = a->parent ? 0 : hooked_prompt(a, prompt, &text, stop, err);
	if (rc != 0 || hooked_ends(a))
		goto out;
	/* connect to the server while the prompt is written to disk */
	model_dial(a->model, stop);
	push_prompt(a, text.ptr, false);
	a->sent = true;
	for (;;) {
		rc = check_turns(a, err);
		if (rc == 0 && a->turns)
			rc = take_steering(a, stop, err);
		if (rc == 0 && !a->hook_end.ends)
			rc = run_turn(a, stop, err);
		if (rc > 0)
			continue;
		if (rc < 0 || hooked_ends(a) || a->parent ||
		    a->finish == FINISH_REFUSAL)
			break;
		/* A Stop hook may demand more work: its text is the next
		 * prompt. */
		rc = hooked_stop(a, loops++, &more, stop, err);
		if (rc <= 0)
			break;
		push_prompt(a, more, false);
		free(more);
	}
out:
	message_release(&a->attached);
	buf_release(&text);
	return rc;
}
