/* prompt_input.h - the editor with its history, search and completion. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_PROMPT_INPUT_H
#define TERM_PROMPT_INPUT_H

#include "term/complete.h"
#include "term/editor.h"
#include "term/prompt_history.h"

/* Zero-initialise, then set editor.prompt, open history, and set what complete
 * needs; each is used directly as well. */
struct prompt_input {
	struct editor editor;
	struct prompt_history history;
	struct completer complete;
	bool searching; /* Ctrl+R: what is typed is looked for */
	bool missed;    /* and is in no older prompt */
	size_t found;   /* which prompt is shown */
	struct buf words;
	struct buf draft; /* as it was before the search */
};

/*
 * Handles a key, typed text or a paste. Up, Down, Ctrl+R, Tab and what a popup
 * needs are done here and give EDITOR_CHANGED or EDITOR_NOTHING; all else is
 * the caller's, as of editor_event().
 */
enum editor_result prompt_input_event(struct prompt_input *p,
				      const struct key_event *event);
/* The draft was sent: it goes into the history, and a new one begins. -1: the
 * history's file could not be written, which changes nothing else. */
int prompt_input_sent(struct prompt_input *p, struct error *err);
/* Files that were asked for have come. */
void prompt_input_files(struct prompt_input *p, struct str paths);
/* The rows of the draft and below them those of the popup or the search, at
 * most max_rows in all; the caret is in the draft. */
void prompt_input_render(struct prompt_input *p, size_t columns,
			 size_t max_rows, struct rows *rows, size_t *caret_row,
			 size_t *caret_column);
void prompt_input_release(struct prompt_input *p);

#endif
