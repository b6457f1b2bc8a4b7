/* frames.h - takes the two streams of an exec apart. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_FRAMES_H
#define PROVIDERS_DOCKER_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Without a terminal the engine sends frames: one byte stream (0 standard
 * input, 1 output, 2 errors, 3 the engine's own error), three zero bytes,
 * four bytes length, big-endian, then so many bytes
 * (docs.docker.com/reference/api/engine, "Attach to a container", 2026-11).
 * Zero-initialise.
 */
struct docker_frames {
	unsigned char head[8];
	size_t head_len; /* bytes of the header so far */
	uint32_t left;   /* bytes of the payload still to come */
};

/* Calls each for every piece of payload, in order, as soon as it is there;
 * stream is 1, 2 or 3. Split at any byte. -1 when each says so, or with
 * ERR_PROTOCOL. */
int docker_frames_feed(struct docker_frames *f, struct str chunk,
		       int (*each)(void *arg, int stream, struct str chunk,
				   struct error *err),
		       void *arg, struct error *err);
/* The stream may end here: no frame is cut. */
bool docker_frames_whole(const struct docker_frames *f);

#endif
