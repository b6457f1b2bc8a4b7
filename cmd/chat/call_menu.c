/* call_menu.c - the list of a thread's tool calls that Ctrl+O opens. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/call_menu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/policy.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/ask.h"
#include "session/history.h"
#include "term/rows.h"
#include "tool/result.h"
#include "ui/calls/toolview.h"
#include "ui/summary.h"

enum { PREVIEW_LINES = 3 };

static bool is_listed(const struct call_menu *m, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(m->calls[i].call.call.id, id))
			return true;
	return false;
}

/* Sets the item to a finished call of this process, without its texts. */
static void set_logged(struct call_menu_item *item, const struct call_entry *e)
{
	item->entry = *e;
	item->call = (struct call_record){ .call.id = xstrdup(e->id),
					   .call.name = xstrdup(e->name),
					   .title = xstrdup(e->title),
					   .lines = e->lines,
					   .ms = e->ms };
	memcpy(item->call.state, e->state, sizeof(e->state));
	item->unread = true;
}

/* Takes over the texts of a stored call. */
static void add_stored(struct call_menu *m, struct stored_call *c)
{
	struct call_record *r = &m->calls[m->n++].call;
	struct str ignored;
	struct agent_event end = { .kind = EVENT_TOOL_RESULT,
				   .call = &r->call,
				   .failed = c->result.failed };

	r->call = c->call;
	c->call = (struct part){ 0 };
	if (!r->call.id)
		r->call.id = xstrdup("");
	r->output = BUF_INIT(SIZE_MAX / 4);
	if (c->result.text)
		buf_adds(&r->output, c->result.text);
	tool_change_store(&r->change, str_of(c->result.change));
	end.text = buf_str(&r->output);
	end.declined = end.failed && approval_read_decline(end.text, &ignored);
	r->ms = -1;
	call_record_describe(r, &end, m->workdir);
	if (!c->result.text)
		snprintf(r->state, sizeof(r->state), "no result");
}

/* Returns the call with its texts. */
static const struct call_record *load_call(struct call_menu *m, size_t i)
{
	struct call_menu_item *item = &m->calls[i];
	struct call_entry e = item->entry;

	if (!item->unread)
		return &item->call;
	item->unread = false;
	e.id = item->call.call.id;
	e.name = item->call.call.name;
	e.title = item->call.title;
	item->call = (struct call_record){ 0 };
	call_log_read(&m->transcript->log, &e, &item->call);
	free(e.id);
	free(e.name);
	free(e.title);
	return &item->call;
}

static int add_all_stored(struct call_menu *m, struct error *err)
{
	struct stored_calls stored = { 0 };
	size_t here = m->n;
	int rc = 0;

	if (m->store && m->thread)
		rc = stored_calls_load(&stored, m->store, m->thread, m->mask,
				       err);
	for (size_t i = stored.n; i && m->n < SELECTION_MAX; i--) {
		struct stored_call *c = &stored.list[i - 1];

		if (!c->call.id || !is_listed(m, here, c->call.id))
			add_stored(m, c);
	}
	stored_calls_release(&stored);
	return rc;
}

/* True if the open question is about this call. */
static bool is_asked(const struct call_menu *m, const char *id)
{
	for (size_t i = 0; m->asked && i < m->asked->n; i++) {
		const struct part *call = m->asked->list[i]->call;

		if (call->id && !strcmp(call->id, id))
			return true;
	}
	return false;
}

/* Reads the present state of a call that ran when the list was opened. */
static void refresh_item(struct call_menu *m, struct call_menu_item *item,
			 int64_t now)
{
	const struct call_log *log = &m->transcript->log;
	const char *id = item->call.call.id;
	struct call_record r;

	for (size_t i = 0; transcript_running_call(m->transcript, i, now, &r);
	     i++) {
		if (!strcmp(r.call.id, id)) {
			call_record_release(&item->call);
			item->call = r;
			return;
		}
		call_record_release(&r);
	}
	for (size_t i = log->n; i-- > 0;) {
		if (strcmp(log->list[i].id, id) != 0)
			continue;
		call_record_release(&item->call);
		set_logged(item, &log->list[i]);
		item->runs = false;
		return;
	}
}

/* Writes the texts of the items, then points the items to them. */
static void describe_items(struct call_menu *m)
{
	size_t *ends = xcalloc(2 * m->n + 1, sizeof(*ends));

	for (size_t i = 0; i < m->n; i++) {
		const struct call_record *r = &m->calls[i].call;
		bool asked = m->calls[i].runs && is_asked(m, r->call.id);

		buf_addf(&m->texts, "%s\t%zu\t", asked ? "asked" : r->state,
			 r->lines);
		if (r->ms >= 0 && !asked)
			summary_add_time(r->ms, &m->texts);
		buf_addc(&m->texts, '\t');
		ends[2 * i] = m->texts.len;
		buf_adds(&m->texts, r->title);
		ends[2 * i + 1] = m->texts.len;
	}
	for (size_t i = 0, at = 0; i < m->n; at = ends[2 * i + 1], i++) {
		m->items[i].cells =
			(struct str){ m->texts.ptr + at, ends[2 * i] - at };
		m->items[i].name =
			(struct str){ m->texts.ptr + ends[2 * i],
				      ends[2 * i + 1] - ends[2 * i] };
	}
	free(ends);
}

/* Brings the rows of the calls that ran up to date. */
static void refresh_items(struct call_menu *m, int64_t now)
{
	bool any = false;

	for (size_t i = 0; i < m->n; i++) {
		if (!m->calls[i].runs)
			continue;
		refresh_item(m, &m->calls[i], now);
		any = true;
	}
	if (!any)
		return;
	buf_clear(&m->texts);
	describe_items(m);
	m->list.previewed = 0;
}

/* Implements list_view.preview. */
static void add_preview(void *arg, size_t i, struct buf *out)
{
	struct call_menu *m = arg;

	toolview_preview(load_call(m, i), &m->transcript->look, PREVIEW_LINES,
			 out);
}

bool call_menu_open(struct call_menu *m, const struct transcript *t,
		    int64_t now, struct error *err)
{
	call_menu_close(m);
	m->calls = xcalloc(SELECTION_MAX, sizeof(*m->calls));
	m->items = xcalloc(SELECTION_MAX, sizeof(*m->items));
	m->texts = BUF_INIT(SIZE_MAX / 4);
	m->transcript = t;
	while (m->n < SELECTION_MAX &&
	       transcript_running_call(t, m->n, now, &m->calls[m->n].call))
		m->calls[m->n++].runs = true;
	for (size_t i = t->log.n; i && m->n < SELECTION_MAX; i--)
		set_logged(&m->calls[m->n++], &t->log.list[i - 1]);
	(void)add_all_stored(m, err);
	if (!m->n)
		return false;
	describe_items(m);
	m->view = (struct list_view){
		.columns = { { "result", false },
			     { "lines", true },
			     { "time", true } },
		.n_columns = 3,
		.name = "call",
		.preview = add_preview,
		.arg = m,
	};
	selection_list_open(&m->list, STR("Tool calls, newest first"), m->items,
			    m->n, 0);
	selection_list_set_view(&m->list, &m->view);
	m->on = true;
	return true;
}

/* Copies the followed call from the log, once it has finished. */
static void read_final(struct call_menu *m)
{
	const struct call_log *log = &m->transcript->log;

	m->ended = true;
	for (size_t i = log->n; i-- > 0;) {
		if (strcmp(log->list[i].id, m->followed->id) != 0)
			continue;
		call_log_read(log, &log->list[i], &m->final);
		return;
	}
}

/* Returns the whole call, as far as it has come. */
static const struct call_record *read_followed(struct call_menu *m, int64_t now)
{
	struct call_record r;

	for (size_t i = 0; !m->ended; i++) {
		if (!transcript_running_call(m->transcript, i, now, &r)) {
			read_final(m);
		} else if (!strcmp(r.call.id, m->followed->id)) {
			call_record_release(&m->final);
			m->final = r;
			break;
		} else {
			call_record_release(&r);
		}
	}
	return m->final.title ? &m->final : NULL;
}

/* Closes the followed call; the list is as it was before. */
static void return_to_list(struct call_menu *m)
{
	call_record_release(&m->final);
	m->followed = NULL;
	m->ended = false;
}

static const struct call_record *
on_followed(struct call_menu *m, const struct key_event *ev, int64_t now)
{
	const struct key *key = &ev->key;

	if (ev->kind != KEY_EVENT_KEY)
		return NULL;
	if (key->name == KEY_ENTER)
		return read_followed(m, now);
	if (key->name == KEY_ESCAPE)
		return_to_list(m);
	else if (key->name == KEY_CHAR && key->c == 'c' &&
		 key->mods == KEY_CTRL)
		call_menu_close(m);
	return NULL;
}

const struct call_record *
call_menu_event(struct call_menu *m, const struct key_event *ev, int64_t now)
{
	struct call_menu_item *item;

	if (m->followed)
		return on_followed(m, ev, now);
	switch (selection_list_event(&m->list, ev)) {
	case SELECTION_CHOSEN:
		item = &m->calls[selection_list_chosen(&m->list)];
		if (!item->runs)
			return load_call(m, (size_t)(item - m->calls));
		m->followed = &item->call.call;
		return NULL;
	case SELECTION_CANCELLED:
		call_menu_close(m);
		return NULL;
	default:
		return NULL;
	}
}

static void add_followed_note(const struct call_menu *m, size_t columns,
			      struct rows *out)
{
	struct buf note = BUF_INIT(256);

	if (m->ended)
		buf_addf(&note, "Ended: %s. ", m->final.state);
	buf_adds(&note, "Esc: back, Enter shows all");
	cut_text_add(out, (struct style){ 0, STYLE_MUTED }, buf_str(&note),
		     columns);
	rows_end(out);
	buf_release(&note);
}

/* Draws the last rows of the followed call, and below them what the keys do. */
static void render_followed(struct call_menu *m, size_t columns, size_t most,
			    int64_t now, struct rows *out)
{
	const struct toolview_look *look = &m->transcript->look;
	struct rows rows = { 0 };
	size_t n;

	most -= most > 1; /* for the keys */
	if (!m->ended &&
	    !transcript_follow(m->transcript, m->followed, most, now, &rows))
		read_final(m);
	if (m->ended && m->final.title)
		toolview_full(&m->final, look, &rows);
	n = rows.n < most ? rows.n : most;
	rows_append(out, &rows, rows.n - n, n);
	rows_release(&rows);
	add_followed_note(m, columns, out);
}

void call_menu_render(struct call_menu *m, size_t columns, size_t max_rows,
		      int64_t now, struct rows *rows, size_t caret[2])
{
	if (!m->followed) {
		refresh_items(m, now);
		selection_list_render(&m->list, columns, max_rows, rows,
				      &caret[0], &caret[1]);
		return;
	}
	render_followed(m, columns, max_rows, now, rows);
	caret[0] = rows->n - 1;
	caret[1] = 0;
}

void call_menu_close(struct call_menu *m)
{
	for (size_t i = 0; i < m->n; i++)
		call_record_release(&m->calls[i].call);
	selection_list_release(&m->list);
	call_record_release(&m->final);
	free(m->calls);
	free(m->items);
	buf_release(&m->texts);
	*m = (struct call_menu){ .store = m->store,
				 .thread = m->thread,
				 .mask = m->mask,
				 .workdir = m->workdir,
				 .asked = m->asked };
}
