/* agent.c - the loop: ask the model, run its tools, until it is done. */
/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

#include <stdlib.h>

#include "agent/agent_impl.h"
#include "base/mem.h"

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

static void on_restart(void *arg, const char *why)
{
	struct buf line = BUF_INIT(1 << 12);

	buf_adds(&line, why);
	emit(arg, EVENT_RESTART, buf_str(&line));
	buf_release(&line);
}

static void on_flush(void *arg)
{
	emit(arg, EVENT_FLUSH, (struct str){ 0 });
}

/* A thread that cannot be stored is no reason to stop the work. */
static void save(struct agent *a, const struct message *m,
		 const struct usage *usage)
{
	struct buf line = BUF_INIT(1 << 12);
	struct error err = { 0 };

	if (!a->session)
		return;
	if (session_append(a->session, m, usage, &err) < 0) {
		a->session = NULL;
		buf_addf(&line, "this thread is not stored any more: %s",
			 err.message);
		emit(a, EVENT_WARNING, buf_str(&line));
	}
	buf_release(&line);
}

/* Stores what was put off until the request had been sent. */
static void save_put_off(struct agent *a)
{
	if (a->unsaved.n)
		save(a, &a->unsaved, NULL);
	message_release(&a->unsaved);
	a->unsaved = (struct message){ 0 };
}

static void on_sent(void *arg)
{
	save_put_off(arg);
}

/* Into the history that is sent now, and onto the disk while the model thinks
 * about it: the disk is slower than the way to the model. Takes m over. */
static void keep(struct agent *a, struct message *m)
{
	model_push(a->model, m);
	save_put_off(a);
	a->unsaved = *m;
	*m = (struct message){ 0 };
}

static void keep_prompt(struct agent *a, const char *prompt)
{
	struct message m = { .role = ROLE_USER };

	message_add(&m, PART_TEXT)->text = xstrdup(prompt);
	keep(a, &m);
}

static void keep_answer(struct agent *a, const struct message *m)
{
	buf_clear(&a->answer);
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TEXT)
			buf_adds(&a->answer, m->parts[i].text);
}

static bool has_calls(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TOOL_CALL)
			return true;
	return false;
}

/* One answer and its tools. 1 to go on, 0 when the model is done, -1. */
static int turn(struct agent *a, const struct stop *stop, struct error *err)
{
	const struct model_sink sink = {
		.text = on_text,
		.thinking = on_thinking,
		.restart = on_restart,
		.sent = on_sent,
		.flush = on_flush,
		.arg = a,
	};
	struct model_reply reply = { 0 };
	struct message results = { 0 };
	int rc = -1;

	if (model_stream(a->model, &sink, &reply, stop, err) < 0)
		goto out;
	a->turns++;
	a->finish = reply.finish;
	usage_sum(&a->usage, &reply.usage);
	reply.message.refused = reply.finish == FINISH_REFUSAL;
	keep_answer(a, &reply.message);
	save_put_off(a);
	model_push(a->model, &reply.message);
	save(a, &reply.message, &reply.usage); /* before its tools run */
	a->ui.event(a->ui.arg, &(struct agent_event){ .kind = EVENT_TURN,
						      .usage = &reply.usage });
	rc = 0;
	if (reply.finish == FINISH_REFUSAL)
		model_forget_prompt(a->model);
	if (!has_calls(&reply.message))
		goto out;
	rc = toolrun(a, &reply.message, &results, stop, err) < 0 ? -1 : 1;
	keep(a, &results);
out:
	message_release(&results);
	model_reply_release(&reply);
	return rc;
}

static int turns(struct agent *a, const struct stop *stop, struct error *err)
{
	int rc;

	do {
		if (a->max_turns && a->turns >= a->max_turns)
			return error_set(
				err, ERR_LIMIT,
				"Exceeded %lld agentic turns (--max-turns "
				"%lld). The agent may be stuck retrying "
				"rejected commands. Increase --max-turns or "
				"break the task into smaller steps.",
				(long long)a->max_turns,
				(long long)a->max_turns);
		rc = turn(a, stop, err);
	} while (rc > 0);
	return rc;
}

int agent_run(struct agent *a, const char *prompt, const struct stop *stop,
	      struct error *err)
{
	int rc;

	a->turns = 0;
	a->finish = 0;
	buf_clear(&a->answer);
	keep_prompt(a, prompt);
	rc = turns(a, stop, err);
	save_put_off(a);
	return rc;
}
