/* inline_image.h - shows an image in a terminal that decodes it itself. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_INLINE_IMAGE_H
#define TERM_INLINE_IMAGE_H

#include "base/buf.h"

enum {
	INLINE_IMAGE_ROWS = 8,       /* height on the screen */
	INLINE_IMAGE_MOST = 4 << 20, /* bytes of an image that is shown */
};

/*
 * Appends the sequence that shows the image at the cursor, by kitty's graphics
 * protocol (PNG only) or iTerm2's inline images. dcode decodes nothing: it
 * passes the bytes on in base64. Returns false, with nothing appended, if the
 * terminal is not known by its variables to support this (never inside tmux or
 * screen), if it cannot show this kind of image, or if the image is too large.
 */
bool inline_image_encode(struct str image, struct buf *out);

#endif
