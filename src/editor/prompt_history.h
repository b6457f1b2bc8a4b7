/* prompt_history.h - the prompts of this and earlier sessions, and Ctrl+R. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_PROMPT_HISTORY_H
#define EDITOR_PROMPT_HISTORY_H

/*
 * prompt_history_*() stores the prompts in memory and in a file; Up and Down
 * step through them. history_search_*() is the search of Ctrl+R: a query, and
 * the newest prompt that contains it.
 */
#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mask/mask.h"
#include "editor/editor.h"

enum {
	PROMPT_HISTORY_KEEP = 100, /* prompts, in memory and in the file */
	/* The file is rewritten when it has this many lines. */
	PROMPT_HISTORY_COMPACT = 200,
	PROMPT_HISTORY_TEXT = 32768, /* bytes of a stored prompt, at most */
	/* Only this many bytes at the end of a larger file are read. */
	PROMPT_HISTORY_FILE = 16 << 20,
};

/*
 * Each line of the file is a JSON string, as the Python dcode writes it.
 * Several processes append to the file. Invalid lines are skipped.
 */
struct prompt_history {
	char *path;              /* owned; NULL: no file is used */
	const struct mask *mask; /* borrowed */
	struct buf items[PROMPT_HISTORY_KEEP]; /* the oldest first */
	size_t n;
	size_t at;        /* index of the prompt shown; n: the draft */
	struct buf draft; /* the user's draft before stepping through prompts */
	struct buf filter; /* only prompts that contain this are shown */
	size_t lines;      /* lines in the file when last read or written */
};

/* Reads the file, which may be missing. mask may be NULL. After a failure the
 * history is empty, but adding still works. */
int prompt_history_open(struct prompt_history *h, const char *path,
			const struct mask *mask, struct error *err);
/*
 * Adds a sent prompt. Blank prompts, repetitions of the last one, and slash
 * commands except /skill: are not added. A prompt with a masked secret is
 * stored in memory only. The file is created with mode 0600.
 */
int prompt_history_add(struct prompt_history *h, struct str prompt,
		       struct error *err);
/*
 * Up and Down: return the text that replaces the draft. False: there is no
 * older or newer prompt. The first Up saves the draft and selects the prompts
 * that contain it; the last Down restores it. An edited prompt counts as a
 * draft. *text is valid until the next call.
 */
bool prompt_history_older(struct prompt_history *h, struct str draft,
			  struct str *text);
bool prompt_history_newer(struct prompt_history *h, struct str draft,
			  struct str *text);
void prompt_history_release(struct prompt_history *h);

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
	struct buf last;    /* the query of the previous search */
	size_t at;          /* index of the prompt shown; n: none */
	bool failed;        /* no (further) prompt contains the query */
	struct editor view; /* displays the prompt */
};

void history_search_begin(struct history_search *s,
			  const struct prompt_history *history);
/*
 * Text extends the query, Backspace shortens it. Ctrl+R finds an older match,
 * Ctrl+S a newer one. Esc, Ctrl+G and Ctrl+C cancel. A query without capital
 * letters ignores ASCII case. Every result except HISTORY_SEARCH_GOES_ON ends
 * the search.
 */
enum history_search_result history_search_event(struct history_search *s,
						const struct key_event *event);
/* Returns the accepted prompt. False: no match. Valid until the history
 * changes. */
bool history_search_text(const struct history_search *s, struct str *text);
/* Appends a row with the query and the caret, and the match below it; at most
 * max_rows rows. */
void history_search_render(struct history_search *s, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column);
void history_search_release(struct history_search *s);

#endif
