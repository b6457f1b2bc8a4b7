/* dialog.c - the question whether a call may run, in the live part. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/dialog.h"

#include "base/sanitize.h"
#include "base/str.h"
#include "term/width.h"

enum {
	MAX_REASON = 2000, /* bytes */
	OWN_ROWS = 3,      /* title, what is hidden, answers */
};

void dialog_open(struct dialog *d, const struct approval *asked)
{
	*d = (struct dialog){ .asked = asked, .reason = BUF_INIT(MAX_REASON) };
	call_view_open(&d->view, asked);
}

void dialog_close(struct dialog *d)
{
	if (!d->asked)
		return;
	call_view_close(&d->view);
	buf_release(&d->reason);
	*d = (struct dialog){ 0 };
}

static void remove_last(struct buf *line)
{
	size_t at = 0;
	size_t last = 0;
	size_t cells;

	while (at < line->len) {
		last = at;
		at += width_next(str_skip(buf_str(line), at), &cells);
	}
	line->len = last;
}

static enum dialog_answer type_reason(struct dialog *d,
				      const struct key_event *ev)
{
	const struct key *key = &ev->key;

	if (ev->kind == KEY_EVENT_TEXT || ev->kind == KEY_EVENT_PASTE) {
		struct buf clean = BUF_INIT(MAX_REASON);

		sanitize_line(ev->text, &clean);
		buf_addstr(&d->reason, buf_str(&clean));
		buf_release(&clean);
	} else if (ev->kind == KEY_EVENT_KEY) {
		if (key->name == KEY_ENTER)
			return d->reason.len ? DIALOG_REASON : DIALOG_NO;
		if (key->name == KEY_ESCAPE)
			d->explains = false;
		else if (key->name == KEY_BACKSPACE)
			remove_last(&d->reason);
		else if (key->name == KEY_CHAR && key->c == 'u' &&
			 key->mods == KEY_CTRL)
			buf_clear(&d->reason);
	}
	return DIALOG_OPEN;
}

enum dialog_answer dialog_event(struct dialog *d, const struct key_event *ev)
{
	if (d->explains)
		return type_reason(d, ev);
	if (ev->kind == KEY_EVENT_KEY) {
		if (ev->key.name == KEY_ESCAPE ||
		    (ev->key.name == KEY_CHAR && ev->key.c == 'd' &&
		     ev->key.mods == KEY_CTRL))
			return DIALOG_NO;
		d->explains = ev->key.name == KEY_TAB;
		return DIALOG_OPEN;
	}
	if (ev->kind != KEY_EVENT_TEXT || ev->text.len != 1)
		return DIALOG_OPEN;
	switch (ev->text.ptr[0]) {
	case 'y':
	case 'Y':
		return d->seen ? DIALOG_YES : DIALOG_OPEN;
	case 'a':
	case 'A':
		return d->seen ? DIALOG_ALWAYS : DIALOG_OPEN;
	case 'n':
	case 'N':
		return DIALOG_NO;
	case 'w':
	case 'W':
		d->explains = true;
		return DIALOG_OPEN;
	case 'v':
	case 'V':
		return DIALOG_SHOW;
	default:
		return DIALOG_OPEN;
	}
}

static const struct style strong = { ATTR_BOLD, STYLE_WARN };
static const struct style plain = { 0, STYLE_PLAIN };
static const struct style muted = { 0, STYLE_MUTED };

/* -1 when it is too much to show. */
static int add_items(const struct call_view *v, struct question_screen room,
		     struct rows *out, size_t *hidden)
{
	struct buf text = BUF_INIT(CALL_VIEW_BYTES);
	int rc;

	*hidden = question_render(v->items, v->n, room, &text);
	rc = text.over ? -1 : 0;
	if (rc == 0)
		rows_add(out, plain, buf_str(&text));
	rows_close(out);
	buf_release(&text);
	return rc;
}

/* A line of ours, cut where the screen ends. */
static void add_line(struct rows *out, struct style style, struct str text,
		     size_t columns)
{
	text.len = width_prefix(text, columns);
	rows_add(out, style, text);
	rows_end(out);
}

/* The longer text where there is room for it. */
static struct str fitting(const char *text, const char *brief, size_t columns)
{
	return str_of(width_cells(str_of(text)) <= columns ? text : brief);
}

static void add_answers(const struct dialog *d, size_t columns,
			struct rows *out)
{
	struct str reason = buf_str(&d->reason);

	if (!d->explains) {
		add_line(out, strong,
			 fitting("y yes  n no  w no, because...  a always this "
				 " v view all",
				 "y/n/w/a, v: all", columns),
			 columns);
		return;
	}
	rows_add(out, strong, STR("No, because: "));
	while (width_cells(reason) + 14 > columns && reason.len) {
		size_t cells;

		reason = str_skip(reason, width_next(reason, &cells));
	}
	rows_add(out, plain, reason);
	rows_end(out);
}

/* -1 when it is too much to show. */
static int add_call(struct dialog *d, size_t columns, size_t rows,
		    struct rows *out)
{
	struct question_screen room = {
		.rows = rows > OWN_ROWS ? rows - OWN_ROWS : 1,
		.columns = columns,
	};

	add_line(out, strong, str_trim(str_of(d->view.title)), columns);
	if (add_items(&d->view, room, out, &d->hidden) < 0)
		return -1;
	if (d->hidden)
		add_line(out, muted,
			 fitting("Not all of it is shown: v shows the rest.",
				 "v shows the rest", columns),
			 columns);
	add_answers(d, columns, out);
	return 0;
}

void dialog_render(struct dialog *d, size_t columns, size_t rows,
		   struct rows *out)
{
	struct rows call = { 0 };
	int rc = add_call(d, columns, rows, &call);

	if (rc < 0) {
		add_line(out, strong, STR("Too long to be shown: n is no"),
			 columns);
	} else if (call.n > rows) {
		add_line(out, strong, STR("v shows it, n is no"), columns);
	} else {
		d->seen = true;
		rows_append(out, &call, 0, call.n);
	}
	rows_release(&call);
}

bool dialog_render_whole(struct dialog *d, size_t columns, struct rows *out)
{
	struct question_screen room = { .columns = columns };
	size_t hidden;

	add_line(out, strong, str_trim(str_of(d->view.title)), columns);
	if (add_items(&d->view, room, out, &hidden) < 0)
		return false;
	d->seen = true;
	return true;
}
