/* choices.h - lists to choose from, with a filter. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_CHOICES_H
#define EDITOR_CHOICES_H

/*
 * A list with a filter above it, for example that of /model or of threads. It
 * draws rows and handles keys. It does no I/O: the caller supplies the items.
 */
#include <stdbool.h>

#include "base/buf.h"
#include "editor/completion.h"
#include "term/keys.h"
#include "term/rows.h"

enum selection_result {
	SELECTION_NOTHING,
	SELECTION_CHANGED,   /* redraw the list */
	SELECTION_CHOSEN,    /* Enter: see selection_list_chosen() */
	SELECTION_CANCELLED, /* Esc, Ctrl+C */
};

enum { SELECTION_MAX = 1000, SELECTION_FILTER = 200 };

enum { LIST_COLUMNS = 6, LIST_GROUPS = 3 };

/* A list with columns, groups and a preview. All texts are borrowed. */
struct list_view {
	/* The columns left of the names, the most important one first: in a
	 * narrow window the last ones are left out. */
	struct list_column {
		const char *title;
		bool right; /* aligned on the right, for numbers */
	} columns[LIST_COLUMNS];
	size_t n_columns;
	const char *name; /* title of the column of names */
	/* Titles of the groups; NULL: none. The last group is hidden until
	 * Ctrl+A is pressed. */
	const char *groups[LIST_GROUPS];
	const char *hidden; /* what its items are, after a number */
	/* Appends lines about an item. The first one is shown faintly, a line
	 * that begins with "> " like a prompt. Called on the thread that
	 * draws. */
	void (*preview)(void *arg, size_t item, struct buf *out);
	/* Instead of it: appends at most rows rows with styles. */
	void (*preview_rows)(void *arg, size_t item, size_t columns,
			     size_t rows, struct rows *out);
	void *arg;
};

/* Zero-initialise, then selection_list_open(). */
struct selection_list {
	struct str title;               /* borrowed */
	const struct fuzzy_item *items; /* borrowed; SELECTION_MAX at most */
	size_t n_items;
	struct buf filter;
	size_t order[SELECTION_MAX]; /* indexes of matching items, best first */
	size_t n;
	size_t selected; /* index into order */
	size_t top;      /* index into order of the first row drawn */
	size_t page;     /* number of rows in the last drawing */
	const struct list_view *view; /* borrowed, or NULL */
	size_t widths[LIST_COLUMNS];  /* in cells */
	bool shows_hidden;            /* Ctrl+A was pressed */
	/* The typed text is the last item; its index is n_items. Set it after
	 * selection_list_open(). Not in a list with a view. */
	bool takes_typed;
	struct fuzzy_item typed;
	struct buf preview; /* lines about the item `previewed` */
	size_t previewed;   /* 1 + index into items; 0: none */
};

/* selected: index of the initially selected item, or n for none. */
void selection_list_open(struct selection_list *l, struct str title,
			 const struct fuzzy_item *items, size_t n,
			 size_t selected);
/* Draws the list with columns; call it directly after selection_list_open().
 * If all items are of the hidden group, they are shown
 * at once. */
void selection_list_set_view(struct selection_list *l,
			     const struct list_view *view);
/* Typed text changes the filter; Up, Down, Page Up, Page Down, Home, End and
 * Tab move the selection. */
enum selection_result selection_list_event(struct selection_list *l,
					   const struct key_event *event);
/* Returns the index of the chosen item. */
size_t selection_list_chosen(const struct selection_list *l);
/* Appends the title, the filter, the rows that fit into max_rows, and the keys.
 * The caret is in the filter. */
void selection_list_render(struct selection_list *l, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column);
void selection_list_release(struct selection_list *l);

#endif
