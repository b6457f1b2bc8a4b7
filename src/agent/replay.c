/* replay.c - shows the end of a stored thread as it was on the screen. */
/* SPDX-License-Identifier: MIT */
/*
 * The stored messages become the events that the agent sent when they were new,
 * so that prompts, Markdown, calls and edits look as they did. What a
 * compaction has replaced for the model is shown, too. Begin reading at
 * replay_thread().
 */
#include "agent/replay.h"

#include <stdlib.h>
#include <string.h>

#include "agent/policy.h"
#include "agent/show.h"
#include "base/str.h"
#include "session/history.h"
#include "tool/result.h"

enum {
	/* more messages than a screen has rows; a call takes two rows */
	MOST_MESSAGES = 400,
};

static bool keep_message(void *arg, struct thread_message *m)
{
	if (!m->damaged)
		history_add(arg, &m->message);
	return true;
}

/* Returns the number of rows that a message takes at least. */
static size_t count_rows(const struct message *m, size_t columns)
{
	size_t rows = 1;

	for (size_t i = 0; i < m->n; i++) {
		const struct part *p = &m->parts[i];
		struct str rest = str_of(p->text);
		struct str line;

		rows += p->kind == PART_TOOL_CALL;
		while (p->kind == PART_TEXT && str_split(&rest, '\n', &line))
			rows += 1 + line.len / (4 * columns);
	}
	return rows;
}

/* Returns the index of the first message to show: from it on they fill the
 * screen. Results need the message with their calls. */
static size_t find_begin(const struct conversation *c,
			 const struct replay_view *v)
{
	size_t rows = 0;
	size_t at = c->n;

	while (at && rows < v->rows)
		rows += count_rows(&c->list[--at], v->columns);
	while (at && c->list[at].role == ROLE_TOOL)
		at--;
	return at;
}

static void show(const struct replay_view *v, struct agent_event *ev)
{
	ev->replayed = true;
	show_event(v->ui, v->mask, ev);
}

static void show_text(const struct replay_view *v, enum agent_event_kind kind,
		      const char *text)
{
	struct agent_event ev = { .kind = kind, .text = str_of(text) };

	if (ev.text.len)
		show(v, &ev);
}

static void show_prompt(const struct replay_view *v, const struct message *m)
{
	char *typed = message_typed(m);
	struct agent_event ev = { .kind = EVENT_PROMPT,
				  .text = str_trim(str_of(typed)) };

	if (ev.text.len)
		show(v, &ev);
	free(typed);
}

/* Returns the part of m that has this kind and id, or NULL. m may be NULL. */
static const struct part *find_part(const struct message *m,
				    enum part_kind kind, const char *id)
{
	for (size_t i = 0; m && id && i < m->n; i++)
		if (m->parts[i].kind == kind && m->parts[i].id &&
		    !strcmp(m->parts[i].id, id))
			return &m->parts[i];
	return NULL;
}

static void show_call(const struct replay_view *v, const struct part *call)
{
	struct agent_event ev = { .kind = EVENT_TOOL_CALL, .call = call };

	show(v, &ev);
}

/* Shows an answer, and its calls that have no result in the next message. */
static void show_answer(const struct replay_view *v, const struct message *m,
			const struct message *next)
{
	struct agent_event turn = { .kind = EVENT_TURN };
	struct agent_event cut = { .kind = EVENT_FILE,
				   .text = STR("Interrupted") };

	for (size_t i = 0; i < m->n; i++) {
		if (m->parts[i].kind == PART_THINKING)
			show_text(v, EVENT_THINKING, m->parts[i].text);
		else if (m->parts[i].kind == PART_TEXT)
			show_text(v, EVENT_TEXT, m->parts[i].text);
	}
	show(v, &turn);
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].kind == PART_TOOL_CALL &&
		    !find_part(next, PART_TOOL_RESULT, m->parts[i].id))
			show_call(v, &m->parts[i]);
	if (m->cut)
		show(v, &cut);
}

/* Shows each call together with its result. asked: the message with the calls,
 * or NULL. */
static void show_results(const struct replay_view *v,
			 const struct message *asked, const struct message *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct part *result = &m->parts[i];
		struct agent_event ev = { .kind = EVENT_TOOL_RESULT,
					  .text = str_of(result->text),
					  .failed = result->failed };
		struct str ignored;
		bool ran = true;

		if (result->kind != PART_TOOL_RESULT)
			continue;
		ev.call = find_part(asked, PART_TOOL_CALL, result->id);
		ev.declined =
			ev.failed && approval_read_decline(ev.text, &ignored);
		if (!ev.call)
			continue;
		ev.interrupted = ev.failed &&
				 result_is_cancelled(ev.call, ev.text, &ran);
		ev.ran_ms = ran ? 0 : -1;
		if (ev.interrupted && str_ends(ev.text, RESULT_CANCELLED))
			ev.end = STR(RESULT_CANCELLED);
		show_call(v, ev.call);
		show(v, &ev);
	}
}

int replay_thread(const struct replay_view *v, struct store *store,
		  const struct thread *t, struct error *err)
{
	struct agent_event end = { .kind = EVENT_REPLAYED };
	const struct message *asked = NULL;
	struct conversation c = { 0 };
	int64_t skip =
		t->messages > MOST_MESSAGES ? t->messages - MOST_MESSAGES : 0;
	int rc = thread_each_message_from(store, t->no, skip, keep_message, &c,
					  err);

	for (size_t i = find_begin(&c, v); rc == 0 && i < c.n; i++) {
		const struct message *m = &c.list[i];

		if (m->role == ROLE_USER) {
			show_prompt(v, m);
		} else if (m->role == ROLE_ASSISTANT) {
			show_answer(v, m, i + 1 < c.n ? m + 1 : NULL);
			asked = m;
		} else {
			show_results(v, asked, m);
		}
	}
	if (rc == 0)
		show(v, &end);
	history_release(&c);
	return rc;
}
