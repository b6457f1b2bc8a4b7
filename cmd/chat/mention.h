/* mention.h - @path in a message: the file goes with it. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_MENTION_H
#define CMD_CHAT_MENTION_H

#include "cmd/session/run.h"

/*
 * Appends the text, and behind it each file of the sandbox that "@path" names
 * there (spec/cli.md §4.4): blanks in a path follow a backslash; an "@" within
 * a word is none. Files of more than 256 KiB and those that are no text are
 * named only; images and PDF files go to r->agent.attached. Each that does not
 * go with the text gives a warning first. -1 with ERR_CANCELLED, ERR_GONE.
 */
int mention_expand(struct run *r, struct str text, struct buf *out,
		   const struct stop *stop, struct error *err);
/*
 * The same of a prompt without a chat, for images and PDF files only: typed is
 * the user's own part of it, whole all that is sent. Attack: a script that puts
 * the words of others into -n, where "@" and the path of a key would send it.
 */
int mention_attach(struct run *r, struct str typed, struct str whole,
		   struct buf *out, const struct stop *stop, struct error *err);
/* The files below the working directory, a path relative to it each, ended by
 * LF: for completion. */
int mention_list(struct run *r, struct buf *out, const struct stop *stop,
		 struct error *err);

#endif
