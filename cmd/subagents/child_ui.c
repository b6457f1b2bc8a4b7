/* child_ui.c - what a subagent does, for those who watch and are asked. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/run.h"
#include "cmd/subagents/subagents_impl.h"
#include "ui/summary.h"

enum { LINE_BYTES = 1 << 14, TURN_MS = 50 };

void subagents_event(void *arg, const struct agent_event *ev)
{
	struct run_subagents *s = arg;

	pthread_mutex_lock(&s->events);
	s->ui.event(s->ui.arg, ev);
	pthread_mutex_unlock(&s->events);
}

/* The user may take hours over the question of another one. */
int subagents_take_turn(struct run_subagents *s, const struct stop *stop,
			struct error *err)
{
	while (pthread_mutex_trylock(&s->questions))
		if (stop_sleep(stop, TURN_MS, err) < 0)
			return -1;
	if (!s->ui.apart)
		pthread_mutex_lock(&s->events);
	return 0;
}

void subagents_end_turn(struct run_subagents *s)
{
	if (!s->ui.apart)
		pthread_mutex_unlock(&s->events);
	pthread_mutex_unlock(&s->questions);
}

/* Others may have waited for their turn when the user stopped all. */
int subagents_approve(void *arg, struct approval *a, const struct stop *stop,
		      struct error *err)
{
	struct run_subagents *s = arg;
	int rc;

	if (subagents_take_turn(s, stop, err) < 0)
		return -1;
	rc = stop_check(stop, err);
	if (rc == 0)
		rc = s->ui.approve(s->ui.arg, a, stop, err);
	subagents_end_turn(s);
	return rc;
}

int subagents_ask(void *arg, struct inquiry *q, enum inquiry_end *end,
		  const struct stop *stop, struct error *err)
{
	struct run_subagents *s = arg;
	int rc;

	if (subagents_take_turn(s, stop, err) < 0)
		return -1;
	rc = s->ui.ask(s->ui.arg, q, end, stop, err);
	subagents_end_turn(s);
	return rc;
}

static int64_t cap_of(const struct run *r)
{
	struct meter_total total;

	meter_total(r->app->meter, &total);
	return total.cap;
}

/* Many may reach the cap at once: the user is asked by the first. */
bool child_raise(void *arg)
{
	struct child *c = arg;
	struct run_subagents *s = c->all;
	int64_t cap = cap_of(c->run);
	struct error ignored = { 0 };
	bool raised = false;

	roster_note(&s->roster, c->number, "waits for you: the cap is reached");
	if (subagents_take_turn(s, &c->stop, &ignored) < 0)
		return false;
	if (cap_of(c->run) != cap)
		raised = true;
	else if (s->declined != cap && stop_check(&c->stop, &ignored) == 0)
		raised = c->run->raise(c->run);
	if (!raised)
		s->declined = cap;
	subagents_end_turn(s);
	return raised;
}

void child_emit(struct child *c, const struct agent_event *inner, bool over,
		const char *end, const char *text)
{
	struct run_subagents *s = c->all;
	struct subagent_step step = { .type = c->kind->name,
				      .number = c->number,
				      .event = inner,
				      .over = over,
				      .end = end };
	struct buf line = BUF_INIT(LINE_BYTES);

	if (text && text[0])
		buf_addf(&line, "%s: %.4000s\n", c->label, text);
	pthread_mutex_lock(&s->events);
	if (inner)
		run_note_event(c->run, inner);
	s->ui.event(s->ui.arg, &(struct agent_event){ .kind = EVENT_SUBAGENT,
						      .call = c->order->call,
						      .text = buf_str(&line),
						      .subagent = &step });
	pthread_mutex_unlock(&s->events);
	buf_release(&line);
}

static void on_call(struct child *c, const struct agent_event *ev)
{
	struct buf line = BUF_INIT(LINE_BYTES);
	struct buf clean = BUF_INIT(LINE_BYTES);

	summary_of_call(ev->call, &line);
	mask_text(c->run->app->mask, buf_str(&line), &clean);
	if (print_is_ascii(c->run->app))
		summary_to_ascii(&clean);
	roster_note(&c->all->roster, c->number, clean.len ? clean.ptr : "");
	child_emit(c, ev, false, NULL, clean.ptr);
	buf_release(&clean);
	buf_release(&line);
}

static void on_text(struct child *c, const struct agent_event *ev)
{
	struct buf line = BUF_INIT(LINE_BYTES);

	buf_addstr(&line, ev->text);
	child_emit(c, ev, false, NULL, line.ptr);
	buf_release(&line);
}

static void on_event(void *arg, const struct agent_event *ev)
{
	struct child *c = arg;
	struct roster *roster = &c->all->roster;

	switch (ev->kind) {
	case EVENT_TEXT:
		roster_note(roster, c->number, "answering");
		break;
	case EVENT_THINKING:
		roster_note(roster, c->number, "thinking");
		break;
	case EVENT_TOOL_CALL:
		on_call(c, ev);
		break;
	case EVENT_TOOL_RESULT:
		roster_note(roster, c->number, "waiting for the model");
		child_emit(c, ev, false, NULL, NULL);
		break;
	case EVENT_TURN:
		roster_add_usage(roster, c->number, ev->usage);
		child_emit(c, ev, false, NULL, NULL);
		break;
	case EVENT_RESTART:
	case EVENT_WARNING:
	case EVENT_COMPACT:
		on_text(c, ev);
		break;
	case EVENT_TERMINAL:
		subagents_event(c->all, ev);
		break;
	default:
		break;
	}
}

/* A model calls what it was not offered: its file counts all the same. */
static bool is_permitted(const struct child *c, struct approval *a)
{
	const char *name = a->tool->spec.name;

	if (!(a->tool->flags & (TOOL_INTERACTIVE | TOOL_SINGLE)) &&
	    (a->tool->flags & TOOL_DELEGATES ||
	     subagent_has_tool(c->kind, name, a->tool->hook_name)))
		return true;
	buf_addf(&a->reason, "%s is not available to this subagent.", name);
	a->allowed = false;
	return false;
}

static int on_approve(void *arg, struct approval *a, const struct stop *stop,
		      struct error *err)
{
	struct child *c = arg;

	if (!is_permitted(c, a))
		return 0;
	a->subagent = c->label;
	a->acts_in = c->agent.sandbox;
	return subagents_approve(c->all, a, stop, err);
}

struct agent_ui child_ui(struct child *c)
{
	return (struct agent_ui){ .event = on_event,
				  .approve = on_approve,
				  .arg = c };
}
