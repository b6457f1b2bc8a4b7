/* early.c - a prompt that is sent before what its tools act on is there. */
/* SPDX-License-Identifier: MIT */
#include "agent/early.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/answer.h"
#include "agent/hooked.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/money/meter.h"

enum {
	MOST_TEXT = 1 << 16,   /* bytes of the result of a call */
	PROMPT_MAX = 160 << 20 /* bytes */
};

struct early {
	struct agent *agent;
	struct stop stop;
	bool fatal;
	struct cancel ends;  /* of early_stop() */
	struct cancel cut;   /* of the request */
	struct cancel quits; /* of the watcher */
	pthread_t watcher;   /* triggers the first two when stop does */
	pthread_t asker;
	pthread_mutex_t lock;
	bool closed;           /* no prompt is taken */
	bool sent;             /* one was: there is an asker */
	bool joined;           /* it has ended */
	const char *cause;     /* of SessionStart, or NULL: no hooks */
	char *given;           /* what hooks have a say on; owned */
	struct message prompt; /* what is sent; under the lock */
	/* The asker's until it has ended. */
	struct model_reply reply;
	struct error err;
	int rc;
};

static int start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all;
	sigset_t before;
	int rc;

	sigfillset(&all); /* signals are for the other threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static void *watch(void *arg)
{
	const struct early *e = arg;
	struct pollfd p[] = {
		{ .fd = e->quits.fd[0], .events = POLLIN },
		{ .fd = stop_fd(&e->stop), .events = POLLIN },
	};

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (p[1].revents) {
		cancel_trigger(&e->ends);
		cancel_trigger(&e->cut);
	}
	return NULL;
}

/* Not of what agent_run() would ask again after: with less of the history, once
 * the money is there. */
static bool is_final(const struct error *err)
{
	return strcmp(err->reason, MODEL_TOO_LONG) != 0 &&
	       strcmp(err->reason, MODEL_FILE_REFUSED) != 0 &&
	       strcmp(err->reason, METER_HELD) != 0;
}

static void push(struct early *e, const char *text)
{
	e->prompt.role = ROLE_USER;
	message_add(&e->prompt, PART_TEXT)->text = xstrdup(text);
	model_push(e->agent->model, &e->prompt);
}

/* 0 to go on: a hook may end the run. */
static int run_hooks(struct early *e, const struct stop *stop)
{
	struct agent *a = e->agent;
	struct buf text = BUF_INIT(PROMPT_MAX);
	int rc = hooked_session_start(a, e->cause, stop, &e->err);

	if (rc == 0)
		rc = hooked_prompt(a, e->given, &text, stop, &e->err);
	if (rc == 0 && a->hook_end.ends)
		rc = 1;
	if (rc == 0) {
		pthread_mutex_lock(&e->lock);
		push(e, text.ptr ? text.ptr : "");
		pthread_mutex_unlock(&e->lock);
	}
	buf_release(&text);
	return rc;
}

static void *ask(void *arg)
{
	struct early *e = arg;
	struct stop stop = e->stop;

	stop.cancel = &e->cut;
	e->rc = e->cause ? run_hooks(e, &stop) : 0;
	if (e->rc == 0)
		e->rc = answer_stream(e->agent, &e->reply, &stop, &e->err);
	if (e->rc < 0 && e->fatal && is_final(&e->err))
		cancel_trigger(&e->ends);
	return NULL;
}

static void release(struct early *e)
{
	cancel_release(&e->ends);
	cancel_release(&e->cut);
	cancel_release(&e->quits);
	pthread_mutex_destroy(&e->lock);
	message_release(&e->prompt);
	model_reply_release(&e->reply);
	free(e->given);
	free(e);
}

int early_begin(struct agent *a, const struct stop *stop, bool fatal,
		struct error *err)
{
	struct early *e = xcalloc(1, sizeof(*e));
	int rc;

	*e = (struct early){ .agent = a,
			     .stop = *stop,
			     .fatal = fatal,
			     .ends = { { -1, -1 } },
			     .cut = { { -1, -1 } },
			     .quits = { { -1, -1 } } };
	pthread_mutex_init(&e->lock, NULL);
	if (cancel_init(&e->ends, err) < 0 || cancel_init(&e->cut, err) < 0 ||
	    cancel_init(&e->quits, err) < 0) {
		release(e);
		return -1;
	}
	rc = start(&e->watcher, watch, e);
	if (rc) {
		errno = rc;
		release(e);
		return error_errno(err, "starting a thread");
	}
	a->early = e;
	return 0;
}

struct stop early_stop(const struct agent *a, const struct stop *stop)
{
	struct stop both = *stop;

	both.cancel = &a->early->ends;
	return both;
}

void early_hooks(struct early *e, const char *cause)
{
	e->cause = cause;
}

bool early_send(struct early *e, const char *prompt)
{
	struct model *model = e->agent->model;
	bool done = false;

	pthread_mutex_lock(&e->lock);
	if (!e->closed && !window_is_full(&e->agent->window,
					  model_size(model) + strlen(prompt))) {
		e->closed = true;
		if (e->cause)
			e->given = xstrdup(prompt);
		else
			push(e, prompt);
		done = e->sent = start(&e->asker, ask, e) == 0;
		if (!done && !e->cause)
			model_forget_prompt(model);
	}
	pthread_mutex_unlock(&e->lock);
	return done;
}

bool early_close(struct agent *a)
{
	struct early *e = a->early;
	bool sent;

	if (!e)
		return false;
	pthread_mutex_lock(&e->lock);
	e->closed = true;
	sent = e->sent;
	pthread_mutex_unlock(&e->lock);
	return sent;
}

bool early_has(const struct agent *a)
{
	return a->early && a->early->sent;
}

void early_save(struct agent *a)
{
	struct early *e = a->early;

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	if (e->prompt.n)
		agent_store(a, &e->prompt, NULL);
	message_release(&e->prompt);
	e->prompt = (struct message){ 0 };
	pthread_mutex_unlock(&e->lock);
}

void early_await(struct agent *a)
{
	struct early *e = a->early;

	if (!e || !e->sent || e->joined)
		return;
	pthread_join(e->asker, NULL);
	e->joined = true;
}

int early_take(struct agent *a, struct model_reply *reply, struct error *err)
{
	struct early *e = a->early;
	int rc;

	early_await(a);
	rc = e->rc;
	if (rc < 0)
		*err = e->err;
	*reply = e->reply;
	e->reply = (struct model_reply){ 0 };
	early_save(a);
	early_end(a);
	return rc;
}

void early_end(struct agent *a)
{
	struct early *e = a->early;

	if (!e)
		return;
	cancel_trigger(&e->cut);
	early_await(a);
	cancel_trigger(&e->quits);
	pthread_join(e->watcher, NULL);
	release(e);
	a->early = NULL;
}

static void emit_result(struct agent *a, const struct part *call,
			const struct part *result)
{
	struct agent_event ev = { .kind = EVENT_TOOL_CALL, .call = call };

	a->ui.event(a->ui.arg, &ev);
	ev.kind = EVENT_TOOL_RESULT;
	ev.text = str_of(result->text);
	ev.failed = true;
	a->ui.event(a->ui.arg, &ev);
}

static void add_result(struct agent *a, const struct part *call,
		       const struct error *why, struct message *results)
{
	struct part *p = message_add(results, PART_TOOL_RESULT);
	struct buf plain = BUF_INIT(MOST_TEXT);
	struct buf text = BUF_INIT(MOST_TEXT);

	if (why->code == ERR_CANCELLED)
		buf_addf(&plain,
			 "Tool call %s with id %s was cancelled before it ran.",
			 call->name, call->id);
	else
		buf_addf(&plain,
			 "This call has not run: there is no sandbox. %s",
			 why->message);
	mask_text(a->mask, buf_str(&plain), &text);
	p->id = xstrdup(call->id);
	p->name = xstrdup(call->name);
	p->failed = true;
	p->text = buf_detach(&text);
	emit_result(a, call, p);
	buf_release(&plain);
}

/* The answer, and of each of its calls that it has not run. */
static void keep_answer(struct agent *a, const struct model_reply *reply,
			const struct error *why)
{
	const struct message *m = &reply->message;
	struct message results = { .role = ROLE_TOOL };

	a->turns++;
	usage_sum(&a->usage, &reply->usage);
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TEXT)
			buf_adds(&a->answer, m->parts[i].text);
	agent_store(a, m, &reply->usage);
	a->ui.event(a->ui.arg, &(struct agent_event){ .kind = EVENT_TURN,
						      .usage = &reply->usage });
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TOOL_CALL)
			add_result(a, &m->parts[i], why, &results);
	if (results.n)
		agent_store(a, &results, NULL);
	message_release(&results);
}

void early_fail(struct agent *a, struct error *why)
{
	struct early *e = a->early;
	struct error none = { 0 };

	if (!early_close(a))
		return;
	cancel_trigger(&e->cut);
	early_await(a);
	if (e->rc < 0 && e->fatal && why->code == ERR_CANCELLED &&
	    stop_check(&e->stop, &none) == 0)
		*why = e->err;
	early_save(a);
	if (e->rc == 0 && !e->reply.message.refused &&
	    e->reply.finish != FINISH_REFUSAL)
		keep_answer(a, &e->reply, why);
}
