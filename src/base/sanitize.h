/* sanitize.h - takes terminal control out of bytes that we did not write. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_SANITIZE_H
#define BASE_SANITIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum sanitize_kind {
	SANITIZE_CONTROL, /* LF, CR, BS or TAB itself */
	SANITIZE_ESCAPE,  /* ESC and this character */
	SANITIZE_CSI,     /* a control sequence that ends in it */
};
/* Takes the place of out, for one who knows what a terminal does with it. */
struct sanitize_sink {
	/* c: the one character; 0: several, all printable ASCII. */
	void (*text)(void *arg, struct str bytes, uint32_t c);
	/* n: the first two numbers of a control sequence, -1 where there is
	 * none. Private ones, and those with intermediate bytes, do not come.
	 */
	void (*control)(void *arg, enum sanitize_kind kind, unsigned char c,
			const int *n);
	void *arg;
};

/*
 * A filter that lives as long as one stream, so that a sequence cut between
 * two chunks is still seen. Zero-initialise. Escape sequences (ECMA-48 CSI,
 * OSC, DCS, SOS, PM, APC, two-byte ones, 8-bit C1) are dropped whole, at
 * most to the end of their line; a lone
 * CR becomes LF and CR LF becomes LF; other controls but LF and TAB are
 * dropped; bytes that are no UTF-8 become U+FFFD; bidirectional and
 * zero-width format characters are dropped.
 */
struct sanitizer {
	unsigned char state;
	bool one_line; /* set by the caller: of all line ends only LF stays */
	bool after_cr;
	const struct sanitize_sink *sink; /* set by the caller: out is unused */
	int n[2];                         /* of a control sequence */
	unsigned char n_at;               /* which of them is being read */
	bool odd;                         /* it is private */
	unsigned char part[4];            /* an unfinished UTF-8 sequence */
	unsigned char part_len;
};

/* Appends the printable text of chunk to out. */
void sanitize_feed(struct sanitizer *c, struct str chunk, struct buf *out);
/* The end of the stream: an unfinished sequence becomes U+FFFD. */
void sanitize_end(struct sanitizer *c, struct buf *out);
/* One whole text at once. */
void sanitize_text(struct str text, struct buf *out);
/* For messages: only LF ends a line, so that no name within begins one. CR,
 * VT, FF, NEL, LINE and PARAGRAPH SEPARATOR become spaces. */
void sanitize_message(struct str text, struct buf *out);
/* The same in one line: LF and tabs become spaces, too. */
void sanitize_line(struct str text, struct buf *out);
/* Characters that reorder or hide text (Unicode UAX #9, general category Cf,
 * and fillers); U+200D joins emoji and is none of them. */
bool sanitize_is_invisible(uint32_t c);

#endif
