/* clipboard.h - reads an image from the desktop's clipboard. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_CLIPBOARD_H
#define TERM_CLIPBOARD_H

#include "base/buf.h"
#include "base/stop.h"

/*
 * Appends the image in the clipboard, as PNG if the clipboard offers that, else
 * as JPEG, WebP or GIF. Runs wl-paste (if WAYLAND_DISPLAY is set) or xclip (if
 * DISPLAY is), found by an absolute directory of PATH and started in /, for at
 * most two seconds. out->max limits the bytes. Attack: a program of the desktop
 * puts anything into the clipboard, so the caller must check the bytes. -1 with
 * err: there is no image, no such program, or it failed.
 */
int clipboard_read_image(struct buf *out, const struct stop *stop,
			 struct error *err);

#endif
