/* agent.c - the loop: ask the model, run its tools, until it is done. */
/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

#include <stdlib.h>

#include "agent/toolrun.h"
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

/* Into the history that is sent, and onto the disk. */
static int keep(struct agent *a, const struct message *m,
		const struct usage *usage, struct error *err)
{
	model_push(a->model, m);
	return a->session ? session_append(a->session, m, usage, err) : 0;
}

static int keep_prompt(struct agent *a, const char *prompt, struct error *err)
{
	struct message m = { .role = ROLE_USER };
	int rc;

	message_add(&m, PART_TEXT)->text = xstrdup(prompt);
	rc = keep(a, &m, NULL, err);
	message_release(&m);
	return rc;
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
		.flush = on_flush,
		.arg = a,
	};
	struct model_reply reply = { 0 };
	struct message results = { 0 };
	struct error ignored = { 0 };
	int rc = -1;

	if (model_stream(a->model, &sink, &reply, stop, err) < 0)
		goto out;
	a->turns++;
	a->finish = reply.finish;
	usage_sum(&a->usage, &reply.usage);
	keep_answer(a, &reply.message);
	rc = keep(a, &reply.message, &reply.usage, err);
	a->ui.event(a->ui.arg, &(struct agent_event){ .kind = EVENT_TURN,
						      .usage = &reply.usage });
	if (!has_calls(&reply.message))
		goto out;
	/* Even when the disk failed each call gets its result: the history
	 * must stay valid. */
	if (rc == 0)
		rc = toolrun(a, &reply.message, &results, stop, err);
	if (results.n && keep(a, &results, NULL, rc ? &ignored : err) < 0)
		rc = -1;
	if (rc == 0)
		rc = 1;
out:
	message_release(&results);
	model_reply_release(&reply);
	return rc;
}

int agent_run(struct agent *a, const char *prompt, const struct stop *stop,
	      struct error *err)
{
	int rc;

	a->turns = 0;
	a->finish = 0;
	buf_clear(&a->answer);
	if (keep_prompt(a, prompt, err) < 0)
		return -1;
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
