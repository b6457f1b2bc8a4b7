/* prompt_history.h - the prompts of this and earlier sessions, and Ctrl+R. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_PROMPT_HISTORY_H
#define EDITOR_PROMPT_HISTORY_H

/*
 * prompt_history_*() keeps the prompts, in memory and in a file, and walks
 * through them with Up and Down. history_search_*() is what Ctrl+R shows: a
 * query, and the newest prompt that has it.
 */
#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mask/mask.h"
#include "editor/editor.h"

enum {
	PROMPT_HISTORY_KEEP = 100,      /* prompts, in memory and in the file */
	PROMPT_HISTORY_COMPACT = 200,   /* lines that make the file shrink */
	PROMPT_HISTORY_TEXT = 32768,    /* bytes of a prompt that are stored */
	PROMPT_HISTORY_FILE = 16 << 20, /* bytes read, from the file's end */
};

/*
 * The file has a JSON string on each line, as the Python dcode writes it.
 * Several processes append to it; lines that are none are skipped.
 */
struct prompt_history {
	char *path;              /* owned; NULL: nothing is stored */
	const struct mask *mask; /* borrowed */
	struct buf items[PROMPT_HISTORY_KEEP]; /* the oldest first */
	size_t n;
	size_t at;         /* what is shown; n: the draft */
	struct buf draft;  /* what was typed before walking, */
	struct buf filter; /* which prompts must contain */
	size_t lines;      /* in the file, as far as known */
};

/* Reads the file; a missing one is fine. mask may be NULL. On failure there is
 * no history, and adding works all the same. */
int prompt_history_open(struct prompt_history *h, const char *path,
			const struct mask *mask, struct error *err);
/*
 * Adds a prompt that was sent. Blank ones, one like the last, and slash
 * commands but /skill: are left out; one that has a secret of the mask is kept
 * in memory only. The file is made with mode 0600.
 */
int prompt_history_add(struct prompt_history *h, struct str prompt,
		       struct error *err);
/*
 * Up and Down: what to show instead of the draft as it is; false: nothing, it
 * is the oldest or the newest. The first Up keeps the draft and looks for
 * prompts that contain it; Down brings it back at last. A prompt that was
 * edited is a draft. *text is valid until the next call.
 */
bool prompt_history_older(struct prompt_history *h, struct str draft,
			  struct str *text);
bool prompt_history_newer(struct prompt_history *h, struct str draft,
			  struct str *text);
void prompt_history_release(struct prompt_history *h);

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
