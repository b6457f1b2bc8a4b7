/* editor.h - edits a draft of several lines: keys in, rows and a caret out. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_EDITOR_H
#define EDITOR_EDITOR_H

/*
 * The line editor of the chat. editor_event() handles input and returns what
 * the caller has to do; editor_render() draws. It does no I/O.
 */
#include <stdbool.h>

#include "editor/draft_text.h"
#include "term/keys.h"
#include "term/rows.h"

/* What the caller has to do after a key. */
enum editor_result {
	EDITOR_NOTHING,   /* the key has no function */
	EDITOR_CHANGED,   /* text or caret changed: redraw */
	EDITOR_SUBMIT,    /* Enter */
	EDITOR_OLDER,     /* Up in the first row */
	EDITOR_NEWER,     /* Down in the last row */
	EDITOR_COMPLETE,  /* Tab */
	EDITOR_SEARCH,    /* Ctrl+R */
	EDITOR_ESCAPE,    /* Esc */
	EDITOR_INTERRUPT, /* Ctrl+C */
	EDITOR_EOF,       /* Ctrl+D with nothing typed */
	EDITOR_SUSPEND,   /* Ctrl+Z */
	EDITOR_REDRAW,    /* Ctrl+L */
	EDITOR_EXTERNAL,  /* Ctrl+X: edit with $EDITOR */
	EDITOR_IMAGE,     /* Ctrl+V: insert the image in the clipboard */
	EDITOR_OUTPUT,    /* Ctrl+O: list the tool calls */
	EDITOR_MODE,      /* Shift+Tab, Ctrl+T: the next approval mode */
};

/* The kind of the last key, for keys whose effect depends on it. */
enum editor_last { EDITOR_LAST_OTHER, EDITOR_LAST_KILL, EDITOR_LAST_YANK };

enum { KILLS_MAX = 16 };

/* Texts cut from drafts, for inserting again. */
struct kills {
	struct buf texts[KILLS_MAX]; /* the newest first */
	size_t n;
	size_t at; /* index of the text that was inserted last */
};

/* One change: at position `at`, the text removed was replaced by inserted. */
struct undo_change {
	size_t at;
	size_t caret; /* position before the change */
	struct buf removed;
	struct buf inserted;
};

enum { UNDO_CHANGES = 500, UNDO_BYTES = 64 << 20 };

/* The changes of a text. If either limit is exceeded, the oldest are dropped,
 * but never the newest. */
struct undo {
	struct undo_change *changes; /* owned */
	size_t n;
	size_t done; /* changes[done..n) have been undone */
	size_t bytes;
};

/*
 * The text is UTF-8 without control characters except LF and tab, and contains
 * markers for pastes (draft_text.h). The time for a key does not depend on the
 * text's length. Zero-initialise.
 */
struct editor {
	struct gap text;
	size_t caret; /* byte offset */
	size_t top;   /* offset of the first visible row */
	size_t width; /* cells in a row when last drawn; 0: never drawn */
	size_t goal;  /* column that Up and Down try to return to */
	bool has_goal;
	size_t mark_from, mark_to; /* these bytes are drawn in reverse */
	enum editor_last last;     /* kind of the last key */
	enum editor_last before;   /* kind of the key before the last one */
	size_t yanked; /* bytes before the caret that the last yank inserted */
	struct str prompt; /* borrowed; shown before the first row */
	struct style prompt_style;
	struct pastes pastes;
	struct pastes recent; /* those of earlier drafts, for editor_set() */
	unsigned drafts; /* calls of editor_reset(): markers of pastes that were
			    copied before are invalid */
	/* The text is an earlier message: completion offers nothing. The
	 * caller sets it after editor_set(); the next change clears it. */
	bool recalled;
	bool typed_ahead;   /* the next paste is what a person typed before the
			       screen was there: it gets no marker. Set by the
			       caller, cleared at the paste's end */
	struct buf pasting; /* the paste that is arriving */
	size_t clean; /* bytes at the front of pasting that are known to be
			 clean */
	bool had_cr;  /* CRs have been changed to LFs */
	bool had_lf;  /* an LF has arrived, so CRs are not changed */
	struct undo undo;
	struct kills kills;
};

enum editor_result editor_key(struct editor *e, struct key key);
/* Inserts typed text at the caret. */
void editor_type(struct editor *e, struct str text);
/*
 * A bracketed paste of any bytes. A long paste, or one with control characters
 * or invalid UTF-8, becomes a marker. Pasting the same again while its marker
 * is in the text replaces the marker by the text, unless it has control
 * characters. Terminals send CR for LF: in a paste without LF, each CR becomes
 * LF.
 */
void editor_paste_begin(struct editor *e);
void editor_paste_feed(struct editor *e, struct str bytes);
void editor_paste_end(struct editor *e);
/* Calls the function above that matches the event. Any other event returns
 * EDITOR_NOTHING. */
enum editor_result editor_event(struct editor *e,
				const struct key_event *event);

bool editor_is_empty(const struct editor *e);
/* Appends the draft with its pastes: UTF-8, including pasted control
 * characters. */
void editor_text(struct editor *e, struct buf *out);
/* Replaces the draft and moves the caret to its end. Undo restores the old
 * draft. */
void editor_set(struct editor *e, struct str text);
/* Begins a new draft: clears the text, pastes and undo, but not the cut texts.
 */
void editor_reset(struct editor *e);
void editor_release(struct editor *e);

/* Returns up to max bytes before the caret, valid until the next call. */
struct str editor_before(struct editor *e, size_t max);
/* Replaces len bytes before the caret, for a completion. */
void editor_replace_before(struct editor *e, size_t len, struct str text);

/*
 * Appends the visible rows, at most max_rows, each narrower than columns by at
 * least one cell, which is for the caret. The caret's row is always visible:
 * *caret_row counts from the first appended row.
 */
void editor_render(struct editor *e, size_t columns, size_t max_rows,
		   struct rows *rows, size_t *caret_row, size_t *caret_column);

#endif
