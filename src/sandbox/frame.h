/* frame.h - the reply of a helper, picked out of a command's output. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FRAME_H
#define SANDBOX_FRAME_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * A frame is a line "@dcode:NONCE:ENC", a body, and a line
 * "@dcode:NONCE=STATUS". ENC: r raw, b base64, x hexadecimal. What comes before
 * a frame is noise (a shell's profile); several frames may follow each other.
 */
struct frame {
	char nonce[17];
	int state; /* enum in frame.c */
	char enc;
	struct buf held; /* not yet understood */
	unsigned bits;   /* of an unfinished base64 or hexadecimal group */
	int n_bits;
	char noise[201]; /* the first bytes that were no frame */
	size_t noise_len;
	unsigned done; /* frames complete */
};

struct frame_sink {
	/* Decoded bytes of a body; -1 (err filled) stops. */
	int (*body)(void *arg, struct str bytes, struct error *err);
	/* The end of a frame; status is NUL-terminated text. */
	int (*status)(void *arg, const char *status, struct error *err);
	void *arg;
};

void frame_init(struct frame *f, const char *nonce);
/* -1 with what the sink said, or ERR_PROTOCOL on an overlong line. */
int frame_feed(struct frame *f, struct str chunk, const struct frame_sink *sink,
	       struct error *err);
void frame_release(struct frame *f);

#endif
