/* quote.h - bytes written so that any POSIX shell reads them back exactly. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_QUOTE_H
#define SANDBOX_QUOTE_H

#include <stdbool.h>

#include "base/buf.h"

/* One single-quoted word. Only for text that the transport keeps as it is. */
void quote_word(struct buf *out, struct str s);
/* A line "name=..." in printable ASCII, line ends and tabs; no NUL in s. */
void quote_assign(struct buf *out, const char *name, struct str s);
/* A function "text" that prints the bytes, NUL included, in printable ASCII;
 * base64 is used (and needed there) if allowed and shorter. Returns whether
 * it is used. */
bool quote_content(struct buf *out, struct str bytes, bool base64);
/* Bytes that quote_content() writes for bytes at most. */
size_t quote_content_size(struct str bytes, bool base64);
/* Appends a script of ours without its indentation and comment lines: every
 * byte travels. */
void quote_script(struct buf *out, struct str text);

#endif
