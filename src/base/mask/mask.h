/* mask.h - keeps secret values out of everything shown, stored or sent. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_MASK_MASK_H
#define BASE_MASK_MASK_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * The set of values to hide. Any thread may add and read: a command in the
 * background goes on while the user changes to a model with another key.
 * Copies live in sodium_malloc memory and are zeroed on free.
 */
struct mask;

struct mask *mask_new(void);
void mask_free(struct mask *m);
/*
 * Hides value under "[masked:NAME]" from now on. Values shorter than 8 bytes
 * (4 when the name contains KEY, TOKEN, SECRET or PASSWORD, any case) are not
 * hidden, for they would hide innocent text: false is returned for them, so
 * that the caller can warn once. Adding a value twice is fine.
 */
bool mask_add(struct mask *m, const char *name, struct str value);
/* Appends text with every value replaced; the longest match at the leftmost
 * place wins. NULL m copies. */
void mask_text(const struct mask *m, struct str text, struct buf *out);

/* The same for a stream: a value cut between two chunks is still seen, for
 * bytes that may begin one are held back until more arrive or mask_end(). */
struct mask_stream {
	struct buf held; /* start from { 0 } */
};
void mask_feed(const struct mask *m, struct mask_stream *s, struct str chunk,
	       struct buf *out);
void mask_end(const struct mask *m, struct mask_stream *s, struct buf *out);

#endif
