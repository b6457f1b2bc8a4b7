/* output.h - writes to a stream that nobody may be reading. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_OUTPUT_H
#define UI_OUTPUT_H

#include "base/stop.h"
#include "base/str.h"

/* Writes all of data. Once stop (NULL: never) has ended, a reader gets a second
 * to make room; then -1 with ECANCELED. -1 with errno for other failures. */
int output_write(int fd, struct str data, const struct stop *stop);

#endif
