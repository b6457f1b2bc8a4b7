/* levels.c - quotes and lists within each other, as prefixes of rows. */
/* SPDX-License-Identifier: MIT */
#include "markup/levels.h"

#include <stdio.h>

#include "base/str.h"
#include "term/rows.h"

static const struct style muted = { .role = STYLE_MUTED };

static struct level *push(struct levels *l)
{
	l->items[l->n] = (struct level){ 0 };
	return &l->items[l->n++];
}

void levels_quote(struct levels *l, const struct theme *theme)
{
	const char *bar = theme_glyph(theme, GLYPH_QUOTE);
	struct level *quote = push(l);

	snprintf(quote->mark, sizeof(quote->mark), "%s ", bar);
	snprintf(quote->rest, sizeof(quote->rest), "%s ", bar);
}

void levels_list(struct levels *l, bool tight, size_t number)
{
	struct level *list;

	if (l->n && l->items[l->n - 1].tight)
		l->gap = false;
	list = push(l);
	list->tight = tight;
	list->number = number;
}

void levels_item(struct levels *l, const MD_BLOCK_LI_DETAIL *item,
		 const struct theme *theme)
{
	struct level *list = &l->items[l->n - 1];
	struct level *level = push(l);
	const char *sign = theme_glyph(theme, GLYPH_BULLET);

	level->tight = list->tight;
	if (list->begun && list->tight)
		l->gap = false;
	list->begun = true;
	if (item->is_task)
		sign = theme_glyph(theme, item->task_mark == ' '
						  ? GLYPH_TASK_OPEN
						  : GLYPH_TASK_DONE);
	if (list->number == LEVELS_UNORDERED)
		snprintf(level->mark, sizeof(level->mark), "%s ", sign);
	else
		snprintf(level->mark, sizeof(level->mark), "%zu. %s%s",
			 list->number++, item->is_task ? sign : "",
			 item->is_task ? " " : "");
	snprintf(level->rest, sizeof(level->rest), "%*s",
		 (int)width_cells(str_of(level->mark)), "");
}

static bool is_spaces(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] != ' ')
			return false;
	return true;
}

static void join_prefixes(struct levels *l)
{
	l->first.max = l->rest.max = sizeof(l->items);
	buf_clear(&l->first);
	buf_clear(&l->rest);
	for (size_t i = 0; i < l->n; i++) {
		struct level *level = &l->items[i];

		buf_adds(&l->first, level->mark[0] ? level->mark : level->rest);
		buf_adds(&l->rest, level->rest);
		level->mark[0] = '\0';
	}
}

struct wrap levels_begin(struct levels *l, size_t columns, struct rows *out)
{
	struct wrap w = { .columns = columns, .words = true };
	struct str bar;

	rows_close(out);
	if (l->n && l->items[l->n - 1].tight && !l->items[l->n - 1].mark[0])
		l->gap = false;
	join_prefixes(l);
	w.first.text = buf_str(&l->first);
	w.rest.text = buf_str(&l->rest);
	w.first.style = w.rest.style = muted;
	if (l->gap) {
		bar = str_trim(w.rest.text);
		bar.len += bar.len ? (size_t)(bar.ptr - w.rest.text.ptr) : 0;
		bar.ptr = w.rest.text.ptr;
		if (width_cells(bar) <= columns)
			rows_add(out, muted, bar);
		rows_end(out);
	}
	l->gap = true;
	return w;
}

void levels_close(struct levels *l, size_t columns, struct rows *out)
{
	const struct level *level = &l->items[l->n - 1];
	struct wrap w;

	if (level->mark[0] && is_spaces(str_of(level->rest))) {
		w = levels_begin(l, columns, out);
		if (width_cells(w.first.text) <= columns)
			rows_add(out, muted, w.first.text);
		rows_close(out);
	}
	l->n--;
}

void levels_release(struct levels *l)
{
	buf_release(&l->first);
	buf_release(&l->rest);
}
