/* selection_list.h - choosing one of many rows, with a filter typed above. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_SELECTION_LIST_H
#define EDITOR_SELECTION_LIST_H

#include "editor/fuzzy.h"
#include "term/keys.h"
#include "term/rows.h"

enum selection_result {
	SELECTION_NOTHING,
	SELECTION_CHANGED,   /* draw anew */
	SELECTION_CHOSEN,    /* Enter: selection_list_chosen() is it */
	SELECTION_CANCELLED, /* Esc, Ctrl+C */
};

enum { SELECTION_MAX = 1000, SELECTION_FILTER = 200 };

/* Zero-initialise, then selection_list_open(). */
struct selection_list {
	struct str title;               /* borrowed */
	const struct fuzzy_item *items; /* borrowed; SELECTION_MAX are seen */
	size_t n_items;
	struct buf filter;
	size_t order[SELECTION_MAX]; /* those that match, best first */
	size_t n;
	size_t selected; /* in order */
	size_t top;      /* the first one that is drawn */
	size_t page;     /* rows drawn last */
};

/* selected: the index of the item to begin at, or n. */
void selection_list_open(struct selection_list *l, struct str title,
			 const struct fuzzy_item *items, size_t n,
			 size_t selected);
/* Typed text filters; up, down, page up and down, home, end and Tab move. */
enum selection_result selection_list_event(struct selection_list *l,
					   const struct key_event *event);
/* The index of the chosen item. */
size_t selection_list_chosen(const struct selection_list *l);
/* Appends title, filter, the rows that fit into max_rows, and the keys; the
 * caret is in the filter. */
void selection_list_render(struct selection_list *l, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column);
void selection_list_release(struct selection_list *l);

#endif
