/* pictures.h - image files whose paths were pasted or dragged into the chat. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_PICTURES_H
#define CMD_CHAT_PICTURES_H

#include "base/buf.h"

/*
 * Of one chat. A picture has a number, and stands in a message as "[image 1]";
 * where that is taken out it does not go along. May be used by two threads.
 *
 * Attack: a text of others that is pasted, or words of the model or of a file,
 * with the path of a private picture in it. Only a text that is nothing but
 * paths of images counts, and only as the user's own paste or message; the mark
 * is seen before it is sent.
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
/* Each picture whose mark is in text, once; p may be NULL. */
void pictures_each(struct pictures *p, struct str text,
		   void (*each)(void *arg, const char *path), void *arg);

#endif
