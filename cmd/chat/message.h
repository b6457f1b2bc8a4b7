/* message.h - what a user sends: text, files and pictures, or a command. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_MESSAGE_H
#define CMD_CHAT_MESSAGE_H

#include "base/buf.h"
#include "cmd/session/run.h"

/*
 * Of one chat. A picture has a number, and stands in a message as
 * "[image 1]"; where that is taken out it does not go along. May be
 * used by two threads.
 *
 * Attack: a text of others that is pasted, or words of the model or of
 * a file, with the path of a private picture in it. Only a text that is
 * nothing but paths of images counts, and only as the user's own paste
 * or message; the mark is seen before it is sent.
 */
struct pictures;
/* home is what "~" stands for, or NULL. */
struct pictures *pictures_new(const char *home);
void pictures_free(struct pictures *p);
/*
 * Where text has nothing but paths of image files of this machine (one as it
 * is; or some, as in a shell, quoted or with backslashes before blanks; or
 * file: URLs) they are remembered, and their marks appended to out: true. What
 * is an image its first bytes say. p NULL: false.
 */
bool pictures_take(struct pictures *p, struct str text, struct buf *out);

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

enum { MESSAGE_MAX_TOLD = 4 << 20 }; /* bytes */

enum message_kind {
	MESSAGE_PROMPT,
	MESSAGE_SLASH,
	MESSAGE_COMMAND,        /* "!ls": runs where the tools run */
	MESSAGE_HIDDEN_COMMAND, /* "!!ls": and the model never sees it */
	/* Of -m or a pipe. Attack: piped text of others that says "@" and the
	 * path of a key. It is sent as it is, and no file with it. */
	MESSAGE_GIVEN,
};

/* Up to the first blank or line break. */
struct str message_first_word(struct str line);
/* True for a slash and a word of letters, digits, "-" and "_", and for "exit".
 * Paths, and the rest of what begins with a slash, are text for the model. */
bool message_is_command(struct str line);
enum message_kind message_classify(struct str text);
/* The prefix of such a message: "", "!", "!!". */
const char *message_prefix(enum message_kind kind);
/*
 * Sends a prompt, with the files that it names, or runs a command; text is
 * without the prefix. told collects what the user's own commands have printed,
 * for the next prompt. Slash commands are slash_run()'s. -1 with err.
 */
int message_run(struct run *r, enum message_kind kind, const char *text,
		struct buf *told, const struct stop *stop, struct error *err);

#endif
