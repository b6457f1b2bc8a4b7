/* mask.h - keeps secret values out of everything shown, stored or sent. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_MASK_MASK_H
#define BASE_MASK_MASK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/sanitize.h"
#include "base/screen_text.h"

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

/*
 * Appends a valid JSON document with each string masked as it reads, however
 * it was escaped; a number that is a secret becomes a string. What has nothing
 * to hide is copied byte for byte. Where a secret goes across several strings
 * the result is {"masked":"..."}, with the text of the document.
 */
void mask_json(const struct mask *m, struct str json, struct buf *out);

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
