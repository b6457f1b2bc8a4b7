/* vi.h - the keys of vi for the draft, as a layer above the editor. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_VI_H
#define EDITOR_VI_H

/*
 * With [ui] keys = "vi" the chat passes keys to vi_event() instead of
 * editor_event(). In insert mode everything goes to the editor, except Esc. In
 * normal mode letters are commands, and other keys (arrows, Enter, Ctrl) still
 * go to the editor. A draft begins in insert mode.
 */
#include <stdbool.h>

#include "base/buf.h"
#include "editor/editor.h"

enum { VI_COUNT_MAX = 9999 };

/* Zero-initialise, then set on. */
struct vi {
	bool on;
	bool normal; /* normal mode; else insert mode */
	char op;     /* pending operator: 'd', 'c' or 'y'; 0: none */
	char waits;  /* command that waits for a character: 'r', 'f', 'g'... */
	char visual; /* 'v': characters are selected; 'V': lines; 0: neither
		      */
	size_t anchor;   /* the end of the selection that does not move */
	size_t count;    /* typed count; 0: none */
	size_t op_count; /* count before the operator; 0: none */
	char find;       /* last of 'f', 'F', 't', 'T'; 0: none */
	char found[4];   /* the character that it looked for, UTF-8 */
	size_t found_len;
	struct buf text;   /* deleted or yanked text, for p */
	bool lines;        /* it is whole lines */
	unsigned draft;    /* editor.drafts when it was deleted or yanked */
	struct buf keys;   /* typed for the command that is running */
	struct buf change; /* typed for the last change, for "." */
	bool inserts;      /* what is typed now is a part of that change */
	bool repeats;      /* "." types it again */
};

/* Handles a key. Returns what the caller has to do, like editor_event(). */
enum editor_result vi_event(struct vi *v, struct editor *e,
			    const struct key_event *event);
void vi_release(struct vi *v);

#endif
