/* call_menu.c - the list of a thread's tool calls that Ctrl+O opens. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/call_menu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "session/stored_calls.h"
#include "ui/calls/toolview.h"

enum { PREVIEW_LINES = 3 };

static bool is_listed(const struct call_menu *m, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(m->calls[i].call.call.id, id))
			return true;
	return false;
}

/* Adds a finished call of this process, without its texts. */
static void add_logged(struct call_menu *m, const struct call_entry *e)
{
	struct call_menu_item *item = &m->calls[m->n++];

	item->entry = *e;
	item->call = (struct call_record){ .call.id = xstrdup(e->id),
					   .call.name = xstrdup(e->name),
					   .title = xstrdup(e->title),
					   .lines = e->lines };
	memcpy(item->call.state, e->state, sizeof(e->state));
	item->unread = true;
}

/* Takes over the texts of a stored call. */
static void add_stored(struct call_menu *m, struct stored_call *c)
{
	struct call_record *r = &m->calls[m->n++].call;
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
	end.text = buf_str(&r->output);
	call_record_describe(r, &end);
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
	call_log_read(m->log, &e, &item->call);
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

/* Writes the texts of the items, then points the items to them. */
static void describe_items(struct call_menu *m)
{
	size_t *ends = xcalloc(2 * m->n + 1, sizeof(*ends));

	for (size_t i = 0; i < m->n; i++) {
		const struct call_record *r = &m->calls[i].call;

		buf_addf(&m->texts, "%s\t%zu\t", r->state, r->lines);
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

/* Implements list_view.preview. */
static void add_preview(void *arg, size_t i, struct buf *out)
{
	struct call_menu *m = arg;

	toolview_preview(load_call(m, i), &m->look, PREVIEW_LINES, out);
}

bool call_menu_open(struct call_menu *m, const struct transcript *t,
		    struct error *err)
{
	call_menu_close(m);
	m->calls = xcalloc(SELECTION_MAX, sizeof(*m->calls));
	m->items = xcalloc(SELECTION_MAX, sizeof(*m->items));
	m->texts = BUF_INIT(SIZE_MAX / 4);
	m->log = &t->log;
	m->look = t->look;
	if (transcript_running_call(t, &m->calls[0].call))
		m->n++;
	for (size_t i = t->log.n; i && m->n < SELECTION_MAX; i--)
		add_logged(m, &t->log.list[i - 1]);
	(void)add_all_stored(m, err);
	if (!m->n)
		return false;
	describe_items(m);
	m->view = (struct list_view){
		.columns = { { "result", false }, { "lines", true } },
		.n_columns = 2,
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

const struct call_record *call_menu_event(struct call_menu *m,
					  const struct key_event *ev)
{
	switch (selection_list_event(&m->list, ev)) {
	case SELECTION_CHOSEN:
		m->on = false;
		return load_call(m, selection_list_chosen(&m->list));
	case SELECTION_CANCELLED:
		call_menu_close(m);
		return NULL;
	default:
		return NULL;
	}
}

void call_menu_render(struct call_menu *m, size_t columns, size_t max_rows,
		      struct rows *rows, size_t caret[2])
{
	selection_list_render(&m->list, columns, max_rows, rows, &caret[0],
			      &caret[1]);
}

void call_menu_close(struct call_menu *m)
{
	for (size_t i = 0; i < m->n; i++)
		call_record_release(&m->calls[i].call);
	selection_list_release(&m->list);
	free(m->calls);
	free(m->items);
	buf_release(&m->texts);
	*m = (struct call_menu){ .store = m->store,
				 .thread = m->thread,
				 .mask = m->mask };
}
