/* charset.h - text of any usual charset as UTF-8. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_CHARSET_H
#define WEB_CHARSET_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends text as UTF-8; what cannot be read becomes U+FFFD. The charset is
 * that of a byte order mark, else of type ("text/html; charset=x"), else of a
 * meta element in the first 1024 bytes; else UTF-8 where all of it is that, and
 * windows-1252 (WHATWG Encoding, read 2026-11). One that is not known: as if
 * none was named.
 */
void charset_decode(struct str text, const char *type, struct buf *out);

#endif
