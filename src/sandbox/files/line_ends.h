/* line_ends.h - the line ends of a text that is replaced as a whole. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_LINE_ENDS_H
#define SANDBOX_FILES_LINE_ENDS_H

#include "base/buf.h"

/* Appends text with the line ends that most lines of old have, and with a line
 * break at its end only if old has one; a byte order mark in front goes. What
 * differed from text is appended to kept: "CR LF line ends, no line break at
 * the end". */
void line_ends_keep(struct str old, struct str text, struct buf *out,
		    struct buf *kept);

#endif
