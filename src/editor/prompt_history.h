/* prompt_history.h - the prompts of this and earlier sessions. */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_PROMPT_HISTORY_H
#define EDITOR_PROMPT_HISTORY_H

/*
 * Stores the prompts in a file that all sessions share, and in a spool for this
 * session; Up and Down step through them. history_search.h is the search of
 * Ctrl+R. Neither limit of the file can be exceeded for long: see
 * PROMPT_HISTORY_COMPACT.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mask/mask.h"
#include "base/spool.h"

enum {
	PROMPT_HISTORY_KEEP = 5000, /* prompts, in a session and in the file */
	/* The file is rewritten when it has this many lines, or
	 * PROMPT_HISTORY_FILE bytes. */
	PROMPT_HISTORY_COMPACT = 6000,
	PROMPT_HISTORY_TEXT = 32768, /* bytes of a stored prompt, at most */
	/* Only this many bytes at the end of a larger file are read. */
	PROMPT_HISTORY_FILE = 16 << 20,
};

struct prompt {
	/* Owned: the text if it must not be written to a disk, or cannot be.
	 * NULL: it is in the spool. */
	char *text;
	size_t at;     /* position in the spool */
	size_t len;    /* bytes of the text */
	char *project; /* owned: the directory it was sent in; NULL: unknown */
	int64_t time;  /* Unix seconds when it was sent; 0: unknown */
};

/*
 * Each line of the file is a JSON object with "prompt", "project" and "time"
 * (Unix seconds), or a JSON string, as the Python dcode and earlier versions
 * write it. Several processes append to the file. Invalid lines are skipped.
 */
struct prompt_history {
	char *path;              /* owned; NULL: no file is used */
	char *project;           /* owned; NULL: unknown */
	const struct mask *mask; /* borrowed */
	/* Owned: the oldest first, but all of this project after all others. */
	struct prompt *items;
	size_t n;
	size_t cap;
	struct spool texts;
	size_t at;        /* index of the prompt shown; n: the draft */
	struct buf draft; /* the user's draft before stepping through prompts */
	struct buf filter; /* only prompts that contain this are shown */
	size_t lines;      /* lines in the file when last read or written */
};

/* Reads the file, which may be missing. project: a directory that stands for
 * the current project, or NULL; mask may be NULL. After a failure the history
 * is empty, but adding still works. */
int prompt_history_open(struct prompt_history *h, const char *path,
			const char *project, const struct mask *mask,
			struct error *err);
/*
 * Adds a sent prompt. Blank prompts and repetitions of the last one are not
 * added. Slash commands except /skill:, and prompts with a masked secret, are
 * kept in memory only. The file is created with mode 0600.
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
/* Returns the text of items[i], valid until a prompt is added. */
struct str prompt_history_text(const struct prompt_history *h, size_t i);
void prompt_history_release(struct prompt_history *h);

#endif
