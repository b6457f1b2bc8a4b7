/* words.h - words of a line, as a shell splits it. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include "base/buf.h"

/* Takes a word off the front of rest. Blanks, quotes and backslashes are as in
 * a shell, but that nothing is expanded; a quote may stay open. Owned, or NULL
 * at the end. */
char *words_take(struct str *rest);

#endif
