/* delegate.c - one call of task, from its order to its result. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/hooked.h"
#include "base/str.h"
#include "cmd/subagents/subagents_impl.h"
#include "model/money.h"
#include "tool/result.h"

enum { LAST_BYTES = 1 << 20, HOOK_MS = 5000 };

/* In the words of the Python program. */
static void refuse_unknown(const struct subagents *s, const char *type,
			   struct buf *out)
{
	buf_adds(out, "We cannot invoke subagent ");
	result_clip(str_of(type), RESULT_ECHO_CHARS, out);
	buf_adds(out,
		 " because it does not exist, the only allowed types are ");
	for (size_t i = 0; i < s->n; i++)
		buf_addf(out, "%s`%s`", i ? ", " : "", s->list[i].name);
}

/* What kept it from its end, as a word for scripts. */
static const char *end_word(const struct child *c, int rc,
			    const struct error *err)
{
	if (rc == 0)
		return c->agent.finish == FINISH_REFUSAL ? "refused"
		       : c->agent.finish == FINISH_LENGTH ||
				       c->agent.finish == FINISH_WINDOW
			       ? "cut"
			       : "success";
	switch (err->code) {
	case ERR_CANCELLED:
		return "cancelled";
	case ERR_BUDGET:
		return "max_usd";
	case ERR_LIMIT:
		return strcmp(err->reason, REPEATS_REASON) ? "max_turns"
							   : "repeated_calls";
	case ERR_TIMEOUT:
		return "timeout";
	default:
		return "error";
	}
}

static void add_answer(const struct child *c, struct buf *out)
{
	struct str text = buf_str(&c->agent.answer);

	while (text.len && strchr(" \t\r\n", text.ptr[text.len - 1]))
		text.len--;
	buf_addstr(out, text);
}

/* The result that its caller reads, whatever came of it. */
static void add_result(const struct child *c, int rc, const struct error *err,
		       struct buf *out)
{
	const char *why =
		err->code == ERR_CANCELLED ? "the user ended it" : err->message;

	if (rc < 0) {
		buf_addf(out, "The subagent %s did not finish: %s%s", c->label,
			 why, str_ends(str_of(why), ".") ? "" : ".");
		if (!c->agent.answer.len) {
			buf_adds(out, " It wrote no answer. What it changed so "
				      "far stays.");
			return;
		}
		buf_adds(out,
			 " What it changed so far stays. Its last words:\n\n");
	} else if (c->agent.finish == FINISH_REFUSAL) {
		buf_adds(out, "The model refused this task.\n");
	} else if (c->agent.finish == FINISH_LENGTH ||
		   c->agent.finish == FINISH_WINDOW) {
		buf_adds(out, "Its answer was cut by the model's limit:\n");
	}
	add_answer(c, out);
	if (rc == 0 && !c->agent.answer.len)
		buf_adds(out, "The subagent ended without an answer.");
}

static int work(struct child *c, struct error *err)
{
	const struct hooked_subagent begins = { .id = c->hook_id,
						.type = c->kind->name };

	snprintf(c->hook_id, sizeof(c->hook_id), "subagent-%u", c->number);
	if (child_open(c, err) < 0 ||
	    hooked_subagent(&c->agent, &begins, &c->stop, err) < 0)
		return -1;
	return agent_run(&c->agent, c->order->what->order, &c->stop, err);
}

/* What hooks say of its end is for its caller. */
static void tell_hooks(struct child *c, struct buf *out)
{
	struct stop stop = *c->order->stop;
	struct error ignored = { 0 };
	const struct hooked_subagent ends = {
		.id = c->hook_id,
		.type = c->kind->name,
		.last = c->agent.answer.len ? c->agent.answer.ptr : "",
		.context = out,
	};

	if (!c->model)
		return;
	if (stop_check(&stop, &ignored) < 0)
		stop = stop_cleanup(HOOK_MS);
	(void)hooked_subagent(&c->agent, &ends, &stop, &ignored);
}

/* -1 ends the turn of its caller: the user stopped all, or the sandbox that
 * both work in is gone. Else a failure is a result like any other. */
static int finish(struct child *c, int rc, const struct error *failed,
		  struct buf *out, struct error *err)
{
	struct error stopped = { 0 };
	const char *end = end_word(c, rc, failed);
	struct buf line = BUF_INIT(1 << 13);

	add_result(c, rc, failed, out);
	apart_bring(c, out);
	tell_hooks(c, out);
	buf_adds(&line, rc == 0 ? "done" : "did not finish: ");
	if (rc < 0)
		buf_adds(&line, failed->code == ERR_CANCELLED
					? "cancelled"
					: failed->message);
	roster_end(&c->all->roster, c->number, line.ptr);
	child_emit(c, NULL, true, end, line.ptr);
	buf_release(&line);
	if (rc == 0)
		return 0;
	*err = *failed;
	if (failed->code == ERR_CANCELLED &&
	    (stop_check(c->order->stop, &stopped) == 0 ||
	     stopped.code != ERR_CANCELLED))
		err->code = ERR_REMOTE; /* this one alone was cancelled */
	if (failed->code == ERR_GONE && c->apart)
		err->code = ERR_REMOTE; /* its own sandbox is, no other */
	return -1;
}

static int begin(struct child *c, struct error *err)
{
	const struct stop *outer = c->order->stop;
	struct error ignored = { 0 };

	if (cancel_chain_init(&c->cancel, outer->cancel, err) < 0)
		return -1;
	if (stop_check(outer, &ignored) == 0)
		c->all->brings_until = 0;
	c->stop = *outer;
	c->stop.cancel = &c->cancel.cancel;
	c->number = roster_begin(&c->all->roster, c->kind->name,
				 c->order->what->order, &c->cancel.cancel);
	snprintf(c->label, sizeof(c->label), "%s %u", c->kind->name, c->number);
	child_emit(c, NULL, false, NULL, "begins");
	return 0;
}

/* All of it costs for the one that began it. */
static void count(struct child *c)
{
	pthread_mutex_lock(&c->all->events);
	usage_sum(&c->order->parent->usage, &c->agent.usage);
	pthread_mutex_unlock(&c->all->events);
}

int subagents_delegate(void *arg, const struct delegation *d, struct buf *out,
		       struct error *err)
{
	struct run *r = arg;
	struct child c = { .run = r, .all = r->subagents, .order = d };
	struct error failed = { 0 };
	int rc;

	c.kind = subagents_find(&r->subagents->all, d->what->type);
	if (!c.kind) {
		refuse_unknown(&r->subagents->all, d->what->type, out);
		return 0;
	}
	if (begin(&c, err) < 0)
		return -1;
	meter_share(r->app->meter, 1);
	rc = work(&c, &failed);
	meter_share(r->app->meter, -1);
	count(&c);
	rc = finish(&c, rc, &failed, out, err);
	child_close(&c);
	return rc;
}
