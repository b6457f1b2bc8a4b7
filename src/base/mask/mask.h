/* mask.h - hides secret values in everything that is shown, stored or sent. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_MASK_MASK_H
#define BASE_MASK_MASK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/screen_text.h"

/*
 * The set of values to hide. Any thread may add values while others mask: a
 * background command may run while the user switches to a model with another
 * key. The values are copied to sodium_malloc() memory, which is zeroed when
 * freed.
 */
struct mask;
struct shapes;

/* Hides no values yet, and all built-in kinds of base/shapes/shapes.h. */
struct mask *mask_new(void);
void mask_free(struct mask *m);
/* Replaces the set of shapes that are hidden, and takes ownership. NULL: hides
 * values only. */
void mask_set_shapes(struct mask *m, struct shapes *shapes);
/* Returns a mask that hides the same values and no shapes; it lives as long as
 * m. NULL for NULL. */
const struct mask *mask_values(const struct mask *m);
/*
 * Hides value as "[masked:NAME]" from now on. Returns false, and does not hide
 * it, if it is shorter than 8 bytes (4 if the name contains KEY, TOKEN, SECRET
 * or PASSWORD, in any case): that would also hide unrelated text. The caller
 * should warn once. Adding a value twice is allowed.
 */
bool mask_add(struct mask *m, const char *name, struct str value);
/*
 * Appends text with all values and shapes replaced. At each position, from left
 * to right, the longest value that matches is replaced by "[masked:NAME]", or
 * else the longest shape by its first characters and SHAPE_MARK KIND "]". m
 * NULL: copies the text.
 */
void mask_text(const struct mask *m, struct str text, struct buf *out);
/* Masks the whole text in place. True if that changed it. */
bool mask_buf(const struct mask *m, struct buf *text);
/* Replaces *text, an owned string or NULL, by its masked copy. True if that
 * changed it. */
bool mask_string(const struct mask *m, char **text);
/* Appends the first `most` bytes of the masked text, without splitting a
 * character. Masks before it cuts, because half of a value would not be
 * recognised. */
void mask_prefix(const struct mask *m, struct str text, size_t most,
		 struct buf *out);
/* True if the text contains a value; the text is not changed. */
bool mask_holds(const struct mask *m, struct str text);

/* Appends how many shapes of each kind were masked in a masked text: "2 GitHub
 * tokens, 1 JWT". Appends nothing if there were none. */
void mask_count(const struct mask *m, struct str text, struct buf *out);
/* Appends what masking would hide in a text, in the same way, also "1 known
 * value". Marks that the text has already are not counted. */
void mask_describe(const struct mask *m, struct str text, struct buf *out);
/* Takes what is written for a hidden value or shape, "[masked:NAME]", from the
 * front of *text, up to and with the first one. False if there is none. */
bool mask_take_mark(struct str *text, struct str *mark);
/* True if this mask has written that mark. */
bool mask_has_written(const struct mask *m, struct str mark);

/* How a text is cleaned before it is printed (base/sanitize.h, base/str.h). */
enum clean_kind {
	/* not at all: it will be printed as JSON or in rows of the screen,
	 * which escape it */
	CLEAN_LATER,
	CLEAN_TEXT,    /* like sanitize_text(): several lines */
	CLEAN_MESSAGE, /* like sanitize_message() */
	CLEAN_LINE,    /* like sanitize_line() */
	CLEAN_NAME,    /* like visible_line() */
	CLEAN_NAMES,   /* like visible_line(), for each line */
};
/* Appends the text masked and cleaned. Masks once more after cleaning, because
 * a control sequence may have split a value. */
void mask_clean(const struct mask *m, enum clean_kind kind, struct str text,
		struct buf *out);

/* Masks a stream. Bytes that may begin a value are held back until more arrive
 * or mask_end() is called, so that a value split between chunks is found. */
struct mask_stream { /* initialise with { 0 } */
	struct buf held;
	size_t done; /* bytes of held that were processed: context */
};
void mask_feed(const struct mask *m, struct mask_stream *s, struct str chunk,
	       struct buf *out);
void mask_end(const struct mask *m, struct mask_stream *s, struct buf *out);
/* mask_feed(), and if this is the last chunk also mask_end(). */
void mask_pass(const struct mask *m, struct mask_stream *s, struct str chunk,
	       bool last, struct buf *out);

/*
 * Appends a valid JSON document with its strings masked. They are compared in
 * decoded form, so that escapes cannot hide a value. A number that is a secret
 * becomes a string. A document without secrets is copied unchanged. If a secret
 * spans several strings, the result is {"masked":"..."} with the masked text of
 * the document.
 */
void mask_json(const struct mask *m, struct str json, struct buf *out);

/*
 * Filter for the output of commands and setup scripts: appends what a terminal
 * would show in the end (base/screen_text.h), masked. First masks the bytes,
 * because a value may contain control characters. Masks again after the cursor
 * has moved, because a value may have been written in several parts.
 * Zero-initialise; the caller sets screen.eager.
 */
struct redact_screen {
	struct mask_stream before;
	struct screen_text screen;
	struct mask_stream after;
	struct buf masked; /* temporary, between the steps */
	struct buf text;   /* temporary, between the steps */
};

/* How much text redact_screen_pass() appends. */
enum redact_until {
	REDACT_FINAL, /* the text that has become final */
	REDACT_ALL,   /* all, like screen_text_give() */
	REDACT_END,   /* all; also frees the filter */
};

/* Adds the chunk, which may be empty, and appends the text up to `until` that
 * was not appended yet. mask may be NULL. */
void redact_screen_pass(struct redact_screen *s, const struct mask *mask,
			struct str chunk, enum redact_until until,
			struct buf *out);
/* Appends the text that follows the final text and may still change. */
void redact_screen_rest(struct redact_screen *s, const struct mask *mask,
			struct buf *out);

#endif
