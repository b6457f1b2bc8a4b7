/* message.h - the user's messages: text, files and pictures, or commands. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_MESSAGE_H
#define CMD_CHAT_MESSAGE_H

#include "base/buf.h"
#include "cmd/session/run.h"

/*
 * The pictures of one chat. Each has a number and appears in a message as
 * "[image 1: shot.png, 640x480, 34 kB]"; if the user deletes that mark, the
 * picture is not sent. May be used by two threads.
 *
 * Attack: pasted text of someone else, or words of the model or of a file,
 * contain the path of a private picture. So paths count only in a paste or
 * message of the user that consists of nothing but image paths, and the user
 * sees the mark before it is sent.
 */
struct pictures;
/* An image without a path, from the clipboard, is a file in memory: its path is
 * this and its descriptor, which stays open while the program runs. */
#define PICTURES_MEMORY "/proc/self/fd/"
/* home replaces "~" in paths; may be NULL. */
struct pictures *pictures_new(const char *home);
void pictures_free(struct pictures *p);
/*
 * If text consists only of paths of image files on this machine, remembers
 * them, appends their marks to out and returns true. Accepted: one path as it
 * is; or several, quoted or with escaped spaces as in a shell; or file: URLs. A
 * file is an image if its first bytes say so. p NULL: returns false. False with
 * CASE_FILE_TOO_LARGE in err->exact: one of them is too large for a message.
 * out NULL: only checks the text for that, its marks too; returns false.
 */
bool pictures_take(struct pictures *p, struct str text, struct buf *out,
		   struct error *err);
/*
 * Attaches the files of a prompt without a chat; images and PDF files only.
 * typed is the user's own part of the prompt, whole the complete prompt.
 * Attack: a script passes someone else's words to -n, and "@" with the path of
 * a key would send the key.
 */
int mention_attach(struct run *r, struct str typed, struct str whole,
		   struct buf *out, const struct stop *stop, struct error *err);
/* Lists the files below the working directory for completion: relative paths,
 * each followed by LF. ignored: also those that git ignores. */
int mention_list(struct run *r, bool ignored, struct buf *out,
		 const struct stop *stop, struct error *err);

enum { MESSAGE_MAX_TOLD = 4 << 20 }; /* bytes */

enum message_kind {
	MESSAGE_PROMPT,
	MESSAGE_SLASH,
	MESSAGE_COMMAND,        /* "!ls": runs where the tools run */
	MESSAGE_HIDDEN_COMMAND, /* "!!ls": the same, but the model does not see
				   it */
	/* A message from -m or a pipe. Attack: piped text of someone else
	   contains "@" and the path of a key. The text is sent unchanged,
	   without any file. */
	MESSAGE_GIVEN,
};

/* Returns the text up to the first space or line break. */
struct str message_first_word(struct str line);
/* True for a slash followed by a word of letters, digits, "-" and "_", and for
 * "exit". Paths and other text that begins with a slash go to the model. */
bool message_is_command(struct str line);
enum message_kind message_classify(struct str text);
/* True if the message needs no sandbox before it is sent: it names no file,
 * picture or skill, and is no command. */
bool message_is_plain(enum message_kind kind, const char *typed);
/* Returns the prefix of messages of this kind: "", "!" or "!!". */
const char *message_prefix(enum message_kind kind);
/* Appends to whole the prompt as the model gets it: the output of the user's
 * own commands since the last prompt (told, which is emptied), the skill that
 * text names, the text, and the files in it. Images and PDF files go to
 * r->agent.attached. -1 with ERR_CANCELLED or ERR_GONE, or the skill's error.
 */
int message_prepare(struct run *r, const char *text, struct buf *told,
		    struct buf *whole, const struct stop *stop,
		    struct error *err);
/*
 * Sends a prompt with the files that it names, or runs a shell command; text is
 * without the prefix. told collects the output of the user's own commands for
 * the next prompt. Slash commands go to slash_run() instead. -1 with err.
 */
int message_run(struct run *r, enum message_kind kind, const char *text,
		struct buf *told, const struct stop *stop, struct error *err);

#endif
