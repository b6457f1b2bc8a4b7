/* prompt_history.h - the prompts of this and of earlier sessions. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_PROMPT_HISTORY_H
#define EDITOR_PROMPT_HISTORY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mask/mask.h"

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

#endif
