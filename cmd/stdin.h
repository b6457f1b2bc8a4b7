/* stdin.h - reads all of standard input. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_STDIN_H
#define CMD_STDIN_H

#include "base/buf.h"
#include "base/stop.h"

/* Appends standard input until its end, or until text is full (text->over). -1
 * with ERR_CANCELLED, ERR_TIMEOUT, or a read error. */
int stdin_read(struct buf *text, const struct stop *stop, struct error *err);

#endif
