/* redact_stream.h - a command's two streams as people and models may see them.
 */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_MASK_REDACT_STREAM_H
#define BASE_MASK_REDACT_STREAM_H

#include "base/mask/mask.h"
#include "base/sanitize.h"

enum { REDACT_STREAMS = 2 }; /* standard output, standard error */

/*
 * For the output of execute, of a setup script and of dcode sandbox exec.
 * Secrets are masked in each stream before its escape sequences are taken
 * out, for a value may hold control characters, and in both together after
 * that: a value may have come in halves, or with a sequence in its middle.
 * Zero-initialise.
 */
struct redact_stream {
	struct mask_stream before[REDACT_STREAMS];
	struct sanitizer clean[REDACT_STREAMS];
	struct mask_stream after;
	struct buf masked; /* scratch */
	struct buf text;   /* scratch */
};

/* Appends what may be shown of chunk to out; mask may be NULL. Some bytes may
 * be held back until more come. */
void redact_stream_feed(struct redact_stream *s, const struct mask *mask,
			size_t stream, struct str chunk, struct buf *out);
/* Appends what was held back and frees everything. */
void redact_stream_end(struct redact_stream *s, const struct mask *mask,
		       struct buf *out);

#endif
