/* docker_frames_fuzz.c - cuts of one stream must give the same output. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "providers/docker/exec.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int note(void *arg, int stream, struct str chunk, struct error *err)
{
	struct buf *out = arg;

	(void)err;
	if (stream < 1 || stream > 3 || !chunk.len)
		abort();
	buf_addstr(&out[stream], chunk);
	return 0;
}

static int feed(struct str text, size_t piece, struct buf *out)
{
	struct frames f = { 0 };
	struct error err = { 0 };
	int rc = 0;

	for (int i = 0; i < 4; i++)
		out[i] = BUF_INIT(1 << 24);
	while (rc == 0 && text.len) {
		size_t n = piece < text.len ? piece : text.len;

		rc = feed_frames(&f, (struct str){ text.ptr, n }, note, out,
				 &err);
		text = str_skip(text, n);
	}
	return rc ? -1 : is_between_frames(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole[4];
	struct buf cut[4];
	struct str text;

	if (size < 1)
		return 0;
	text = (struct str){ (const char *)data + 1, size - 1 };
	if (feed(text, size, whole) != feed(text, data[0] % 16u + 1, cut))
		abort();
	for (int i = 0; i < 4; i++) {
		if (!str_eq(buf_str(&whole[i]), buf_str(&cut[i])))
			abort();
		buf_release(&whole[i]);
		buf_release(&cut[i]);
	}
	return 0;
}
