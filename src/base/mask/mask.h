/* mask.h - hides secret values in everything that is shown, stored or sent. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_MASK_MASK_H
#define BASE_MASK_MASK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/sanitize.h"
#include "base/screen_text.h"

/*
 * The set of values to hide. Any thread may add and read: a background command
 * may run while the user switches to a model with another key. Copies are in
 * sodium_malloc() memory and zeroed when freed.
 */
struct mask;

struct mask *mask_new(void);
void mask_free(struct mask *m);
/*
 * Hides value as "[masked:NAME]" from now on. Returns false for values shorter
 * than 8 bytes (4 if the name contains KEY, TOKEN, SECRET or PASSWORD, in any
 * case): hiding them would also hide unrelated text. The caller should warn
 * once. Adding a value twice is allowed.
 */
bool mask_add(struct mask *m, const char *name, struct str value);
/* Appends text with every value replaced. At each position from left to right
 * the longest match wins. m may be NULL: copies. */
void mask_text(const struct mask *m, struct str text, struct buf *out);
/* Masks the whole text in place. True if that changed it. */
bool mask_buf(const struct mask *m, struct buf *text);
/* Replaces *text, which may be NULL, by its masked copy. Owned. */
bool mask_string(const struct mask *m, char **text);
/* Appends the first bytes of the masked text, at most that many and only whole
 * characters. Masks before it cuts, since half of a value would not be found.
 */
void mask_prefix(const struct mask *m, struct str text, size_t most,
		 struct buf *out);
/* True if the text contains a value. For guards: the text itself stays. */
bool mask_holds(const struct mask *m, struct str text);

/* What remains of a text that is printed (base/sanitize.h, base/str.h). */
enum clean_kind {
	CLEAN_LATER,   /* all: JSON or rows of the screen escape it */
	CLEAN_TEXT,    /* like sanitize_text(): lines */
	CLEAN_MESSAGE, /* like sanitize_message() */
	CLEAN_LINE,    /* like sanitize_line() */
	CLEAN_NAME,    /* like visible_line() */
	CLEAN_NAMES,   /* the same for each line */
};
/* Appends the text masked and cleaned. Masks again at the end, since a control
 * sequence may have split a value. */
void mask_clean(const struct mask *m, enum clean_kind kind, struct str text,
		struct buf *out);

/* Masks a stream. Bytes that may begin a value are held back until more arrive
 * or mask_end() is called, so that a value split between chunks is found. */
struct mask_stream {
	struct buf held; /* start from { 0 } */
};
void mask_feed(const struct mask *m, struct mask_stream *s, struct str chunk,
	       struct buf *out);
void mask_end(const struct mask *m, struct mask_stream *s, struct buf *out);
/* mask_feed(), and if this is the last chunk also mask_end(). */
void mask_pass(const struct mask *m, struct mask_stream *s, struct str chunk,
	       bool last, struct buf *out);

/*
 * Appends a valid JSON document with its strings masked in decoded form,
 * whatever their escapes. A number that is a secret becomes a string. A
 * document without secrets is copied unchanged. If a secret spans several
 * strings, the result is {"masked":"..."} with the text of the document.
 */
void mask_json(const struct mask *m, struct str json, struct buf *out);

enum { REDACT_STREAMS = 2 }; /* standard output, standard error */

/*
 * Filter for the output of execute, of setup scripts and of dcode sandbox exec.
 * Masks each stream before its escape sequences are removed, since a value may
 * contain control characters. Masks the combined text again afterwards, since a
 * value may have been split between the streams or by a sequence.
 * Zero-initialise.
 */
struct redact_stream {
	struct mask_stream before[REDACT_STREAMS];
	struct sanitizer clean[REDACT_STREAMS];
	struct mask_stream after;
	struct buf masked; /* scratch */
	struct buf text;   /* scratch */
};

/* Appends the text of chunk that may be shown. mask may be NULL. Some bytes may
 * be held back until more arrive. */
void redact_stream_feed(struct redact_stream *s, const struct mask *mask,
			size_t stream, struct str chunk, struct buf *out);
/* Appends the bytes that were held back, and frees everything. */
void redact_stream_end(struct redact_stream *s, const struct mask *mask,
		       struct buf *out);

/*
 * Like struct redact_stream, but produces what a terminal would show at the end
 * (base/screen_text.h). Masks before the cursor moves, and again afterwards,
 * since a value may have been written in parts. Zero-initialise; the caller
 * sets screen.eager.
 */
struct redact_screen {
	struct mask_stream before;
	struct screen_text screen;
	struct mask_stream after;
	struct buf masked; /* scratch */
	struct buf text;   /* scratch */
};

/* Appends the text that is final. mask may be NULL. */
void redact_screen_feed(struct redact_screen *s, const struct mask *mask,
			struct str chunk, struct buf *out);
/* Appends the text after that, which may still change. */
void redact_screen_rest(struct redact_screen *s, const struct mask *mask,
			struct buf *out);
/* Appends everything so far, like screen_text_give(). */
void redact_screen_give(struct redact_screen *s, const struct mask *mask,
			struct buf *out);
/* Appends everything and frees it. */
void redact_screen_end(struct redact_screen *s, const struct mask *mask,
		       struct buf *out);

#endif
