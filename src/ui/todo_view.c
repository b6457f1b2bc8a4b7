/* todo_view.c - the list of steps as people see it. */
/* SPDX-License-Identifier: MIT */
#include "ui/todo_view.h"

#include "base/str.h"
#include "term/rows.h"

static const struct {
	const char *text; /* in plain text */
	enum glyph glyph;
	struct style style;
} marks[N_TODO] = {
	[TODO_PENDING] = { "[ ]", GLYPH_TASK_OPEN, { 0 } },
	[TODO_IN_PROGRESS] = { "[>]", GLYPH_TASK_NOW, { .attrs = ATTR_BOLD } },
	[TODO_COMPLETED] = { "[x]", GLYPH_TASK_DONE, { .role = STYLE_MUTED } },
};

static const struct style muted = { .role = STYLE_MUTED };

void todo_view_count(const struct todos *t, struct buf *out)
{
	buf_addf(out, "%zu of %zu done", todos_count(t, TODO_COMPLETED), t->n);
}

bool todo_view_sum(const struct part *call, struct buf *out)
{
	struct todos t = { 0 };

	if (!todos_read(&t, call))
		return false;
	todo_view_count(&t, out);
	todos_release(&t);
	return true;
}

/* The text of a step on one line. */
static void add_content(const struct todo *item, struct buf *out)
{
	struct str text = str_trim(str_of(item->content));

	for (size_t i = 0; i < text.len; i++)
		buf_addc(out, text.ptr[i] == '\n' || text.ptr[i] == '\r'
				      ? ' '
				      : text.ptr[i]);
}

void todo_view_text(const struct todos *t, struct buf *out)
{
	for (size_t i = 0; i < t->n; i++) {
		buf_addf(out, "%s ", marks[t->list[i].status].text);
		add_content(&t->list[i], out);
		buf_addc(out, '\n');
	}
}

static void add_row(const struct todo *item, const struct theme *theme,
		    size_t columns, struct rows *out)
{
	struct buf sign = BUF_INIT(32);
	struct buf text = BUF_INIT(4 * TODOS_CONTENT_CHARS + 1);
	struct style style = marks[item->status].style;
	struct wrap w = { .columns = columns, .words = true };
	struct rows line = { 0 };

	buf_addf(&sign, "    %s ",
		 theme_glyph(theme, marks[item->status].glyph));
	w.first.text = buf_str(&sign);
	w.first.style = style;
	w.rest.text = theme->ascii ? STR("        ") : STR("      ");
	add_content(item, &text);
	rows_add(&line, style, buf_str(&text));
	rows_close(&line);
	wrap_rows(&line, &w, out);
	rows_release(&line);
	buf_release(&text);
	buf_release(&sign);
}

static void add_note(size_t n, const char *what, struct rows *out)
{
	struct buf note = BUF_INIT(64);

	if (!n)
		return;
	buf_addf(&note, "    %zu %s", n, what);
	rows_add(out, muted, buf_str(&note));
	rows_close(out);
	buf_release(&note);
}

/* Where the part of a long list that is shown begins: what is at work, or is
 * the next, stands below the last step that is done. */
static size_t first_shown(const struct todos *t)
{
	size_t i = 0;

	if (t->n <= TODO_VIEW_ROWS)
		return 0;
	while (i < t->n && t->list[i].status == TODO_COMPLETED)
		i++;
	i = i ? i - 1 : 0;
	return i < t->n - TODO_VIEW_ROWS ? i : t->n - TODO_VIEW_ROWS;
}

bool todo_view_rows(const struct part *call, const struct theme *theme,
		    size_t columns, struct rows *out)
{
	struct todos t = { 0 };
	size_t first;
	size_t end;

	if (!todos_read(&t, call))
		return false;
	first = first_shown(&t);
	end = t.n - first > TODO_VIEW_ROWS ? first + TODO_VIEW_ROWS : t.n;
	add_note(first, "before", out);
	for (size_t i = first; i < end; i++)
		add_row(&t.list[i], theme, columns, out);
	add_note(t.n - end, "more", out);
	todos_release(&t);
	return true;
}

void todo_view_follow(struct todos *t, const struct agent_event *ev)
{
	if (ev->kind == EVENT_TOOL_RESULT && !ev->failed)
		(void)todos_read(t, ev->call);
}

void todo_view_live(const struct todos *t, const struct theme *theme,
		    size_t columns, struct rows *out)
{
	enum todo_status wanted = todos_count(t, TODO_IN_PROGRESS)
					  ? TODO_IN_PROGRESS
					  : TODO_PENDING;
	struct buf text = BUF_INIT(4 * TODOS_CONTENT_CHARS + 64);
	struct rows line = { 0 };
	struct rows wrapped = { 0 };
	struct wrap w = { .columns = columns, .words = true };
	size_t i = 0;

	while (i < t->n && t->list[i].status != wanted)
		i++;
	if (i < t->n) {
		buf_addf(&text, "%s ", theme_glyph(theme, marks[wanted].glyph));
		todo_view_count(t, &text);
		buf_adds(&text, ": ");
		add_content(&t->list[i], &text);
		rows_add(&line, muted, buf_str(&text));
		rows_close(&line);
		wrap_rows(&line, &w, &wrapped);
		rows_append(out, &wrapped, 0, 1);
	}
	rows_release(&wrapped);
	rows_release(&line);
	buf_release(&text);
}
