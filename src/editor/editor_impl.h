/* editor_impl.h - text, places and rows of a draft: for editor*.c only. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_EDITOR_IMPL_H
#define EDITOR_EDITOR_IMPL_H

#include "editor/editor.h"

/* A row as it is drawn: bytes start..end; the next begins at next, which is end
 * where it was cut and one more after a line end. */
struct editor_row {
	size_t start;
	size_t end;
	size_t next;
	bool last; /* of the text */
};

enum cluster_kind { CLUSTER_PLAIN, CLUSTER_TAB, CLUSTER_PASTE, CLUSTER_HIDDEN };

struct cluster {
	size_t len;
	size_t cells;
	enum cluster_kind kind;
};

size_t editor_len(const struct editor *e);
/* The cluster at a place that is not the end, in this column of its row. */
struct cluster editor_cluster(struct editor *e, size_t at, size_t column);
/* Where the cluster before and after a place begins. */
size_t editor_left_of(struct editor *e, size_t at);
size_t editor_right_of(struct editor *e, size_t at);
/* The row that holds a place. */
struct editor_row editor_row_at(struct editor *e, size_t at);
/* The row that begins here. */
struct editor_row editor_row_from(struct editor *e, size_t start);
/* Column of a place in its row, and the place at a column. */
size_t editor_column(struct editor *e, struct editor_row row, size_t at);
size_t editor_place(struct editor *e, struct editor_row row, size_t column);
/* What a cluster that is not plain is shown as, at most width cells. */
void editor_label(struct editor *e, size_t at, struct cluster c,
		  struct buf *out);

/* Takes the last change back, or repeats it; false: there is none. */
bool editor_undo(struct editor *e, bool again);
/* Replaces len bytes at a place and moves the caret behind; undo knows it. */
void editor_replace(struct editor *e, size_t at, size_t len, struct str text);

#endif
