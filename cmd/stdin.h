/* stdin.h - reads all of standard input. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_STDIN_H
#define CMD_STDIN_H

#include "base/buf.h"
#include "base/stop.h"

/* Appends standard input up to its end, or until text has its maximum size
 * (text->over). -1 with ERR_CANCELLED, ERR_TIMEOUT, or the error of a failed
 * read. */
int stdin_read(struct buf *text, const struct stop *stop, struct error *err);

#endif
