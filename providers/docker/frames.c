/* frames.c - takes the two streams of an exec apart. */
/* SPDX-License-Identifier: MIT */
#include "providers/docker/frames.h"

#include <string.h>

#include "base/str.h"

enum { HEAD = 8, LAST_STREAM = 3 };

/* Takes header bytes off the front of *chunk; 1 once the header is whole. */
static int take_head(struct docker_frames *f, struct str *chunk,
		     struct error *err)
{
	size_t take = HEAD - f->head_len;
	const unsigned char *h = f->head;

	if (take > chunk->len)
		take = chunk->len;
	memcpy(f->head + f->head_len, chunk->ptr, take);
	f->head_len += take;
	*chunk = str_skip(*chunk, take);
	if (f->head_len < HEAD)
		return 0;
	if (h[0] > LAST_STREAM || h[1] || h[2] || h[3])
		return error_set(err, ERR_PROTOCOL,
				 "the engine's output stream is garbled");
	f->left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 |
		  (uint32_t)h[6] << 8 | (uint32_t)h[7];
	return 1;
}

int docker_frames_feed(struct docker_frames *f, struct str chunk,
		       int (*each)(void *arg, int stream, struct str chunk,
				   struct error *err),
		       void *arg, struct error *err)
{
	while (chunk.len) {
		size_t take;

		if (f->head_len < HEAD && take_head(f, &chunk, err) < 0)
			return -1;
		if (f->head_len < HEAD)
			return 0;
		take = f->left < chunk.len ? f->left : chunk.len;
		if (take && f->head[0] &&
		    each(arg, f->head[0], (struct str){ chunk.ptr, take },
			 err) < 0)
			return -1;
		chunk = str_skip(chunk, take);
		f->left -= (uint32_t)take;
		if (!f->left)
			f->head_len = 0;
	}
	return 0;
}

bool docker_frames_whole(const struct docker_frames *f)
{
	return f->head_len == 0;
}
