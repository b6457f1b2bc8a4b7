/* editor.h - a draft of several lines: keys in, rows and a caret out. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_EDITOR_H
#define EDITOR_EDITOR_H

/*
 * The line editor of the chat: editor_event() takes what was typed and says
 * what the caller has to do, editor_render() draws. It does no I/O.
 */
#include <stdbool.h>

#include "editor/draft_text.h"
#include "term/keys.h"
#include "term/rows.h"

/* What a key asks of the caller; the editor has done the rest. */
enum editor_result {
	EDITOR_NOTHING,   /* the key has no meaning here */
	EDITOR_CHANGED,   /* text or caret: draw anew */
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
	EDITOR_OUTPUT,    /* Ctrl+O: show the newest output */
	EDITOR_MODE,      /* Shift+Tab, Ctrl+T: the next approval mode */
};

/* How the last key left things, for keys that go on with it. */
enum editor_last { EDITOR_LAST_OTHER, EDITOR_LAST_KILL, EDITOR_LAST_YANK };

enum { KILLS_MAX = 16 };

/* What was cut from drafts, to put back. */
struct kills {
	struct buf texts[KILLS_MAX]; /* the newest first */
	size_t n;
	size_t at; /* the one that was put back last */
};

/* At a place, removed was replaced by inserted. */
struct undo_change {
	size_t at;
	size_t caret; /* before it */
	struct buf removed;
	struct buf inserted;
};

enum { UNDO_CHANGES = 500, UNDO_BYTES = 64 << 20 };

/* The changes of a text. The oldest are forgotten beyond either limit; the
 * newest is always there. */
struct undo {
	struct undo_change *changes; /* owned */
	size_t n;
	size_t done; /* changes[done..n) have been taken back */
	size_t bytes;
};

/*
 * The text is UTF-8 without controls but LF and tab, and has markers of pastes
 * (draft_text.h). Work of a key does not grow with the text. Zero-initialise.
 */
struct editor {
	struct gap text;
	size_t caret; /* byte */
	size_t top;   /* where the first row that is seen begins */
	size_t width; /* cells of a row, as drawn last; 0: never drawn */
	size_t goal;  /* column that Up and Down keep to */
	bool has_goal;
	enum editor_last last;   /* what the last key did */
	enum editor_last before; /* and the one before it */
	size_t yanked;           /* bytes of the last yank before the caret */
	struct str prompt;       /* borrowed, before the first row */
	struct style prompt_style;
	struct pastes pastes;
	struct buf pasting; /* the paste that is arriving */
	size_t clean;       /* bytes at its front that were found clean */
	bool had_cr;        /* each CR of it has become LF */
	bool had_lf;        /* an LF has come: its CRs stay */
	struct undo undo;
	struct kills kills;
};

enum editor_result editor_key(struct editor *e, struct key key);
/* Typed text goes to the caret. */
void editor_type(struct editor *e, struct str text);
/*
 * A bracketed paste of any bytes. Long ones, and those with controls or bytes
 * that are no UTF-8, become a marker; pasting the same again while its marker
 * is in the text puts the text there, unless it has controls. Terminals send CR
 * for LF: in a paste without LF each CR becomes one.
 */
void editor_paste_begin(struct editor *e);
void editor_paste_feed(struct editor *e, struct str bytes);
void editor_paste_end(struct editor *e);
/* Any of those four by the event; others give EDITOR_NOTHING. */
enum editor_result editor_event(struct editor *e,
				const struct key_event *event);

bool editor_is_empty(const struct editor *e);
/* Appends the draft with the pastes in their places: UTF-8, with the controls
 * that were pasted. */
void editor_text(struct editor *e, struct buf *out);
/* Replaces the draft, which undo brings back; the caret goes to its end. */
void editor_set(struct editor *e, struct str text);
/* Begins a new draft: forgets text, pastes and undo. What was cut stays. */
void editor_reset(struct editor *e);
void editor_release(struct editor *e);

/* Up to max bytes before the caret, valid until the next call. */
struct str editor_before(struct editor *e, size_t max);
/* Replaces len bytes before the caret, as a completion does. */
void editor_replace_before(struct editor *e, size_t len, struct str text);

/*
 * Appends the rows that are seen, at most max_rows of them, none wider than
 * columns less one cell for the caret, which is among them: *caret_row counts
 * from the first row appended.
 */
void editor_render(struct editor *e, size_t columns, size_t max_rows,
		   struct rows *rows, size_t *caret_row, size_t *caret_column);

#endif
