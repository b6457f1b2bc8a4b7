/* history_search.h - Ctrl+R: a query, and the list of prompts with it. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_HISTORY_SEARCH_H
#define EDITOR_HISTORY_SEARCH_H

/*
 * Shows the stored prompts (prompt_history.h) that contain the typed query, the
 * newest of this project first, and each text once. It does no I/O. Begin
 * reading at history_search_event().
 */
#include <stdbool.h>

#include "base/buf.h"
#include "editor/prompt_history.h"
#include "term/keys.h"
#include "term/rows.h"

enum history_search_result {
	HISTORY_SEARCH_GOES_ON,
	HISTORY_SEARCH_TAKEN, /* accepted with Enter or Tab */
	HISTORY_SEARCH_LEFT, /* accepted with another key, which the editor must
				handle now */
	HISTORY_SEARCH_CANCELLED, /* cancelled: the draft is shown again */
};

/* Zero-initialise; free with history_search_release(). The search does not
 * change the editor's draft. */
struct history_search {
	bool on;
	/* private */
	const struct prompt_history *history; /* borrowed while on is set */
	struct buf query;                     /* one line of UTF-8 */
	struct buf last; /* the query of the previous search */
	size_t *texts;   /* owned: items with different texts, newest first */
	size_t n_texts;
	size_t *found; /* owned: those that contain the query */
	size_t n;
	size_t selected; /* index into found */
	size_t top;      /* index into found of the first row drawn */
	size_t page;     /* rows of the list when last drawn */
};

/* history must not change until the search has ended. */
void history_search_begin(struct history_search *s,
			  const struct prompt_history *history);
/*
 * Text extends the query, Backspace shortens it. Ctrl+R, Down and Page Down go
 * to older matches, Ctrl+S, Up and Page Up to newer ones. Esc, Ctrl+G and
 * Ctrl+C cancel. A query without capital letters ignores ASCII case. Every
 * result except HISTORY_SEARCH_GOES_ON ends the search.
 */
enum history_search_result history_search_event(struct history_search *s,
						const struct key_event *event);
/* Returns the selected prompt. False: no match. Valid until the history
 * changes. */
bool history_search_text(const struct history_search *s, struct str *text);
/* Appends a row with the query and the caret, and one row for each match below
 * it; at most max_rows rows. */
void history_search_render(struct history_search *s, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column);
void history_search_release(struct history_search *s);

#endif
