/* sanitize.h - removes terminal control sequences from untrusted bytes. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_SANITIZE_H
#define BASE_SANITIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { SANITIZE_SEQUENCE = 128 };
enum sanitize_kind {
	SANITIZE_CONTROL, /* the control character LF, CR, BS or TAB */
	SANITIZE_ESCAPE,  /* ESC followed by this character */
	/* a control sequence whose final byte is this character */
	SANITIZE_CSI,
};
/* For callers that interpret output like a terminal: receives text and
 * controls, and nothing is appended to out. */
struct sanitize_sink {
	/* c: the only character in bytes. 0: bytes is printable ASCII of any
	 * length. */
	void (*text)(void *arg, struct str bytes, uint32_t c);
	/* n: the first two parameters of a control sequence, -1 if missing.
	 * Private sequences and those with intermediate bytes are not
	 * reported. */
	void (*control)(void *arg, enum sanitize_kind kind, unsigned char c,
			const int *n);
	void *arg;
	/* NULL, or called instead of control for the sequences of ESC, with
	 * what follows ESC: "[1;31m", "(0". 8-bit ones are passed like those of
	 * 7 bits. Those with other bytes or longer than SANITIZE_SEQUENCE, and
	 * strings such as OSC, are not reported. control then also gets BEL,
	 * VT, FF, SO and SI. */
	void (*sequence)(void *arg, struct str bytes);
};

/*
 * A filter for one stream. It has a state, so that sequences split between
 * chunks are recognised. Zero-initialise. Removes escape sequences (ECMA-48
 * CSI, OSC, DCS, SOS, PM, APC, two-byte ones, 8-bit C1), at most up to the end
 * of the line. A single CR and CR LF become LF. Other control characters except
 * LF and TAB are removed. U+FFFD replaces invalid UTF-8. Bidirectional and
 * zero-width format characters are removed.
 */
struct sanitizer {
	unsigned char state;
	/* set by the caller: only LF ends a line, other line ends become
	 * spaces */
	bool one_line;
	bool after_cr;
	/* set by the caller, or NULL; if it is set, nothing is appended to
	 * out */
	const struct sanitize_sink *sink;
	int n[2]; /* the first two parameters of the current control sequence */
	unsigned char n_at; /* index of the parameter that is being read */
	/* the current sequence is private or has intermediate bytes */
	bool odd;
	/* what follows ESC in the current sequence, for sink->sequence */
	char raw[SANITIZE_SEQUENCE];
	size_t raw_len;        /* SANITIZE_SEQUENCE + 1: not to be reported */
	unsigned char part[4]; /* an unfinished UTF-8 sequence */
	unsigned char part_len;
};

/* Appends the printable text of chunk to out, unless there is a sink. */
void sanitize_feed(struct sanitizer *c, struct str chunk, struct buf *out);
/* Ends the stream: an unfinished UTF-8 sequence becomes U+FFFD. */
void sanitize_end(struct sanitizer *c, struct buf *out);
/* Filters one complete text. */
void sanitize_text(struct str text, struct buf *out);
/* For messages, in which a name must not start a new line: only LF ends a line.
 * CR, VT, FF, NEL, LINE and PARAGRAPH SEPARATOR become spaces. */
void sanitize_message(struct str text, struct buf *out);
/* Like sanitize_message(), but in one line: LF and tabs become spaces, too. */
void sanitize_line(struct str text, struct buf *out);
/* True for characters that reorder or hide text (Unicode UAX #9, general
 * category Cf, and fillers), except U+200D, which joins emoji. */
bool sanitize_is_invisible(uint32_t c);

#endif
