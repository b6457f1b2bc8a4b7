/* shown.h - a command's two streams as people and models may see them. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_SHOWN_H
#define BASE_SHOWN_H

#include "base/clean.h"
#include "base/mask.h"

enum { SHOWN_STREAMS = 2 }; /* standard output, standard error */

/*
 * Secrets are masked in each stream before its escape sequences are taken
 * out, for a value may hold control characters, and in both together after
 * that: a value may have come in halves, or with a sequence in its middle.
 * Zero-initialise.
 */
struct shown {
	struct mask_stream before[SHOWN_STREAMS];
	struct clean clean[SHOWN_STREAMS];
	struct mask_stream after;
	struct buf masked; /* scratch */
	struct buf text;   /* scratch */
};

/* Appends what may be shown of chunk to out; mask may be NULL. Some bytes may
 * be held back until more come. */
void shown_feed(struct shown *s, const struct mask *mask, size_t stream,
		struct str chunk, struct buf *out);
/* Appends what was held back and frees everything. */
void shown_end(struct shown *s, const struct mask *mask, struct buf *out);

#endif
