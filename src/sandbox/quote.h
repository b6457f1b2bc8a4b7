/* quote.h - quotes bytes so that any POSIX shell reads them back exactly. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_QUOTE_H
#define SANDBOX_QUOTE_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends one single-quoted word. Use it only if the transport does not change
 * the text. */
void quote_word(struct buf *out, struct str s);
/* Appends a line "name=..." that consists of printable ASCII, newlines and
 * tabs. s must not contain NUL. */
void quote_assign(struct buf *out, const char *name, struct str s);
/* Appends a shell function "text" that prints the bytes, NUL included. Its code
 * is printable ASCII. base64 is used, and then required in the sandbox, if
 * allowed and shorter. Returns whether it is used. */
bool quote_content(struct buf *out, struct str bytes, bool base64);
/* Returns the maximum number of bytes that quote_content() appends. */
size_t quote_content_size(struct str bytes, bool base64);
/* Appends a script without indentation and comment lines, to send fewer
 * bytes. */
void quote_script(struct buf *out, struct str text);
/* The text of a script of scripts/sandbox that is embedded as an array of
 * bytes. Each array has a single #include, because clang-format sorts them. */
#define SCRIPT(array) ((struct str){ (const char *)(array), sizeof(array) })

#endif
