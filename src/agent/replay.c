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
#include "base/json.h"
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

/* True if a turn begins with the message. */
static bool is_prompt(const struct message *m)
{
	return m->role == ROLE_USER && !m->steering;
}

/* What is shown of a conversation: from one prompt to the end, without the
 * messages from first_left to before first. */
struct extent {
	size_t prompt; /* SIZE_MAX: it was not loaded */
	size_t first_left;
	size_t first;
};

/* Finds the messages that fill the screen, and the prompt of the first of them.
 * Of a long turn, the messages in between are left out. Results need the
 * message with their calls. */
static struct extent find_extent(const struct conversation *c,
				 const struct replay_view *v)
{
	struct extent e = { .prompt = SIZE_MAX };
	size_t rows = 0;
	size_t at = c->n;

	while (at && rows < v->rows)
		rows += count_rows(&c->list[--at], v->columns);
	while (at && c->list[at].role == ROLE_TOOL)
		at--;
	e.first = at;
	for (rows = 0; at < c->n && !is_prompt(&c->list[at]) && at; at--)
		rows += count_rows(&c->list[at - 1], v->columns);
	if (at == c->n || !is_prompt(&c->list[at]))
		return e;
	e.prompt = at;
	e.first_left = at + 1;
	if (e.first <= e.first_left || rows <= v->rows)
		e.first = e.first_left;
	return e;
}

static void show(const struct replay_view *v, struct agent_event *ev)
{
	ev->replayed = true;
	ev->workdir = v->workdir;
	show_event(v->ui, v->mask, ev);
}

static void show_text(const struct replay_view *v, enum agent_event_kind kind,
		      const char *text)
{
	struct agent_event ev = { .kind = kind, .text = str_of(text) };

	if (ev.text.len)
		show(v, &ev);
}

static void show_call(const struct replay_view *v, const struct part *call)
{
	struct agent_event ev = { .kind = EVENT_TOOL_CALL, .call = call };

	show(v, &ev);
}

/* Shows the commands that the user ran before the message. */
static void show_commands(const struct replay_view *v, const struct message *m)
{
	char *text = message_with_commands(m);
	struct str rest = str_of(text);
	struct str command;
	struct str result;

	while (message_take_command(&rest, &command, &result)) {
		struct buf args = BUF_INIT(SIZE_MAX / 4);
		struct part call = { .kind = PART_TOOL_CALL,
				     .id = (char *)"own",
				     .name = (char *)"execute" };
		struct agent_event ev = { .kind = EVENT_PROMPT };

		buf_addc(&args, '!');
		buf_addstr(&args, command);
		ev.text = buf_str(&args);
		show(v, &ev);
		buf_clear(&args);
		buf_addc(&args, '{');
		json_member(&args, "command", command);
		buf_addc(&args, '}');
		call.args = args.ptr;
		show_call(v, &call);
		ev = (struct agent_event){ .kind = EVENT_TOOL_RESULT,
					   .call = &call,
					   .text = result };
		show(v, &ev);
		buf_release(&args);
	}
	free(text);
}

/* Shows what the user has typed. The prompts that dcode has sent for an
 * accepted plan are shown as that. */
static void show_prompt(const struct replay_view *v, const struct message *m)
{
	char *typed = message_typed(m);
	struct agent_event ev = { .kind = EVENT_PROMPT,
				  .text = str_trim(str_of(typed)) };

	show_commands(v, m);
	if (str_starts(ev.text, MESSAGE_PLAN_ACCEPTED)) {
		show_text(v, EVENT_FILE, "Plan accepted.");
		ev.text.len = 0;
	} else if (str_starts(ev.text, MESSAGE_PLAN_CHANGED)) {
		show_text(v, EVENT_FILE, "Plan accepted, as you changed it:");
		ev.text = str_trim(
			str_skip(ev.text, strlen(MESSAGE_PLAN_CHANGED)));
	}
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

/* Shows an answer, and its calls that have no result in the next message. */
static void show_answer(const struct replay_view *v, const struct message *m,
			const struct message *next)
{
	struct agent_event turn = { .kind = EVENT_TURN };

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
		struct tool_change change = { 0 };
		struct str ignored;
		bool ran = true;

		if (result->kind != PART_TOOL_RESULT)
			continue;
		tool_change_store(&change, str_of(result->change));
		ev.change = &change;
		ev.call = find_part(asked, PART_TOOL_CALL, result->id);
		ev.declined =
			ev.failed && approval_read_decline(ev.text, &ignored);
		if (!ev.call) {
			tool_change_release(&change);
			continue;
		}
		ev.interrupted = ev.failed &&
				 result_is_cancelled(ev.call, ev.text, &ran);
		ev.ran_ms = ran ? 0 : -1;
		if (ev.interrupted && str_ends(ev.text, RESULT_CANCELLED))
			ev.end = STR(RESULT_CANCELLED);
		show_call(v, ev.call);
		show(v, &ev);
		tool_change_release(&change);
	}
}

/* Shows how the turn ended whose last message is m, if not with an answer. */
static void show_end(const struct replay_view *v, const struct message *m)
{
	struct str ignored;
	bool calls = false;
	bool declined = false;

	for (size_t i = 0; i < m->n; i++) {
		const struct part *p = &m->parts[i];

		calls |= p->kind == PART_TOOL_CALL;
		declined |= p->kind == PART_TOOL_RESULT && p->failed &&
			    approval_read_decline(str_of(p->text), &ignored);
	}
	if (declined)
		show_text(v, EVENT_FILE, "Stopped");
	else if (m->role == ROLE_USER)
		show_text(v, EVENT_FILE, "No answer");
	else if (m->role == ROLE_TOOL || m->cut || calls)
		show_text(v, EVENT_FILE, "Interrupted");
}

/* Says how much of a long turn is left out. */
static void show_left_out(const struct replay_view *v,
			  const struct conversation *c, const struct extent *e)
{
	struct buf text = BUF_INIT(128);
	size_t n = 0;

	for (size_t i = e->first_left; i < e->first; i++)
		n += c->list[i].role == ROLE_ASSISTANT;
	if (e->prompt == SIZE_MAX)
		buf_adds(&text, "The beginning of this turn is left out");
	else if (n)
		buf_addf(&text, "%zu earlier step%s of this turn %s left out",
			 n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
	if (text.len) {
		buf_adds(&text, " (Ctrl+O lists the calls)");
		show_text(v, EVENT_FILE, text.ptr);
	}
	buf_release(&text);
}

int replay_thread(const struct replay_view *v, struct store *store,
		  const struct thread *t, struct error *err)
{
	struct agent_event end = { .kind = EVENT_REPLAYED };
	const struct message *asked = NULL;
	struct conversation c = { 0 };
	struct extent e;
	int64_t skip =
		t->messages > MOST_MESSAGES ? t->messages - MOST_MESSAGES : 0;
	int rc = thread_each_message_from(store, t->no, skip, keep_message, &c,
					  err);

	e = find_extent(&c, v);
	if (rc == 0 && e.prompt != SIZE_MAX)
		show_prompt(v, &c.list[e.prompt]);
	if (rc == 0 && c.n)
		show_left_out(v, &c, &e);
	for (size_t i = e.first; rc == 0 && i < c.n; i++) {
		const struct message *m = &c.list[i];

		if (i && is_prompt(m))
			show_end(v, m - 1);
		if (m->role == ROLE_USER) {
			show_prompt(v, m);
		} else if (m->role == ROLE_ASSISTANT) {
			show_answer(v, m, i + 1 < c.n ? m + 1 : NULL);
			asked = m;
		} else {
			show_results(v, asked, m);
		}
	}
	if (rc == 0 && c.n)
		show_end(v, &c.list[c.n - 1]);
	if (rc == 0)
		show(v, &end);
	history_release(&c);
	return rc;
}
