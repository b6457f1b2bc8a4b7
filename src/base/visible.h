/* visible.h - foreign bytes for a terminal, with nothing hidden. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_VISIBLE_H
#define BASE_VISIBLE_H

#include "base/buf.h"

/* Appends a line as it may be printed and reviewed: controls but tabs become
 * "^[", bytes that are no UTF-8 "<FF>", and the characters that terminals hide
 * or reorder text with "<U+202E>". */
void visible_line(struct str line, struct buf *out);

#endif
