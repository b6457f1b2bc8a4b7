/* history_search.h - Ctrl+R: looks through the prompts while one types. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_HISTORY_SEARCH_H
#define EDITOR_HISTORY_SEARCH_H

#include "editor/editor.h"
#include "editor/prompt_history.h"

enum history_search_result {
	HISTORY_SEARCH_GOES_ON,
	HISTORY_SEARCH_TAKEN,     /* by Enter or Tab */
	HISTORY_SEARCH_LEFT,      /* taken, by a key that the editor gets now */
	HISTORY_SEARCH_CANCELLED, /* the draft is wanted again */
};

/* Zero-initialise; history_search_release(). The draft of the editor is not
 * touched while it looks. */
struct history_search {
	bool on;
	/* its own */
	const struct prompt_history *history; /* borrowed while on */
	struct buf query;                     /* UTF-8, of one line */
	struct buf last;                      /* the query of the last time */
	size_t at;                            /* what is shown; n: nothing */
	bool failed;                          /* nothing (more) has the query */
	struct editor view;                   /* shows it */
};

void history_search_begin(struct history_search *s,
			  const struct prompt_history *history);
/*
 * Text makes the query longer, Backspace shorter; Ctrl+R goes to an older
 * prompt that has it, Ctrl+S to a newer one; Esc, Ctrl+G and Ctrl+C give up. A
 * query without capitals finds those in any case (ASCII). It is off with each
 * result but HISTORY_SEARCH_GOES_ON.
 */
enum history_search_result history_search_event(struct history_search *s,
						const struct key_event *event);
/* What was taken; false: nothing was found. Valid until the history changes. */
bool history_search_text(const struct history_search *s, struct str *text);
/* A row of the query, where the caret is, and what is found below it; at most
 * max_rows. */
void history_search_render(struct history_search *s, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column);
void history_search_release(struct history_search *s);

#endif
