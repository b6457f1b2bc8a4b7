/* percent.h - percent-encoding of URLs (RFC 3986). */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_PERCENT_H
#define BASE_PERCENT_H

#include "base/buf.h"

/* Appends text, percent-encoded but for letters, digits, "-._~" and the
 * characters of keep. */
void percent_encode(struct buf *out, struct str text, const char *keep);
/* Appends the bytes that a value of a query or form stands for: "+" is a space.
 * What is no "%XX" stays as it is. */
void percent_decode(struct buf *out, struct str text);

#endif
