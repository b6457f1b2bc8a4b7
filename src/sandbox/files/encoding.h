/* encoding.h - a text file's bytes as UTF-8 and back, without loss. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_ENCODING_H
#define SANDBOX_FILES_ENCODING_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

enum encoding_name {
	ENCODING_UTF8,
	ENCODING_UTF16LE, /* only with a byte order mark */
	ENCODING_UTF16BE,
	ENCODING_LATIN1, /* with the characters of windows-1252 */
};

struct encoding {
	enum encoding_name name;
	size_t mark; /* bytes of the byte order mark in front, 0 for none */
};

/*
 * What the bytes of a file, or of a part of one that begins with a line, are.
 * A byte order mark decides; else UTF-8 where all of it is that (a character
 * that the end cuts is allowed where cut is set); else Latin-1 where it looks
 * like text in a one-byte encoding: no control characters but those of text, no
 * byte 0xff, none that windows-1252 leaves open, and no UTF-8 in it. -1:
 * ERR_REMOTE "not_a_text_file".
 */
int encoding_detect(struct str raw, bool cut, struct encoding *e,
		    struct error *err);
/* All of raw, without its mark, as UTF-8 appended to out. Every byte counts:
 * the opposite gives the same ones. -1: an odd byte or half a pair in UTF-16.
 */
int encoding_decode(const struct encoding *e, struct str raw, struct buf *out,
		    struct error *err);
/* Text appended in the encoding, without a mark. -1: ERR_USAGE names the
 * character that it does not have. */
int encoding_encode(const struct encoding *e, struct str text, struct buf *out,
		    struct error *err);
/* The bytes that encoding_encode() would append. */
size_t encoding_size(const struct encoding *e, struct str text);
/* "UTF-16 (little-endian) with a byte order mark"; NULL for plain UTF-8. */
const char *encoding_label(const struct encoding *e);

#endif
