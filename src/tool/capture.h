/* capture.h - keeps the head and the tail of a long output. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_CAPTURE_H
#define TOOL_CAPTURE_H

#include <stdint.h>

#include "base/buf.h"

enum { CAPTURE_HALF = 5 << 20 }; /* bytes kept of each end */

struct capture {
	struct buf head;
	char *ring;   /* owned; the last bytes, once head is full */
	size_t half;  /* bytes of each end */
	size_t at;    /* where the next byte goes in ring */
	int64_t past; /* bytes that came after head was full */
};

/* half: CAPTURE_HALF, smaller in tests; at least 8. */
void capture_init(struct capture *c, size_t half);
void capture_release(struct capture *c);
void capture_add(struct capture *c, struct str chunk);
/* Keeps less of what has been added: half bytes of each end. */
void capture_shrink(struct capture *c, size_t half);
/* Appends what was kept, with a line in the place of what was not, never
 * cutting a UTF-8 sequence; true when bytes were dropped. Empties c. */
bool capture_finish(struct capture *c, struct buf *out);

#endif
