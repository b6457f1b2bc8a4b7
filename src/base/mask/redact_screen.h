/* redact_screen.h - a command's output, both streams in one, as people and
 * models may see it. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_MASK_REDACT_SCREEN_H
#define BASE_MASK_REDACT_SCREEN_H

#include "base/mask/mask.h"
#include "base/screen_text.h"

/*
 * As redact_stream.h, for output that is shown as a terminal shows it at last
 * (base/screen_text.h). Secrets are masked before the cursor moves, and after:
 * a value may have been written in halves. Zero-initialise; screen.eager is the
 * caller's.
 */
struct redact_screen {
	struct mask_stream before;
	struct screen_text screen;
	struct mask_stream after;
	struct buf masked; /* scratch */
	struct buf text;   /* scratch */
};

/* Appends what is final, and may be shown, to out; mask may be NULL. */
void redact_screen_feed(struct redact_screen *s, const struct mask *mask,
			struct str chunk, struct buf *out);
/* Appends what follows that for now; it may change. */
void redact_screen_rest(struct redact_screen *s, const struct mask *mask,
			struct buf *out);
/* Gives all so far, as screen_text_give(). */
void redact_screen_give(struct redact_screen *s, const struct mask *mask,
			struct buf *out);
/* Gives all and frees everything. */
void redact_screen_end(struct redact_screen *s, const struct mask *mask,
		       struct buf *out);

#endif
