/* overwrite.h - lines that a program has written several times. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_OVERWRITE_H
#define UI_OVERWRITE_H

#include "base/buf.h"

/* Appends a text as a terminal shows it at last: of a line whose parts a
 * carriage return separates, as those of a progress bar, only the last part. */
void overwrite_add(struct str text, struct buf *out);

#endif
