/* sse_fuzz.c - cuts of one stream must give the same events. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "net/events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int note(void *arg, struct str event, struct str data, struct error *err)
{
	struct buf *out = arg;

	(void)err;
	buf_addstr(out, event);
	buf_addc(out, '\x01');
	buf_addstr(out, data);
	buf_addc(out, '\x02');
	return 0;
}

static void feed(struct str text, size_t piece, struct buf *out)
{
	struct error err = { 0 };
	struct sse s;

	sse_init(&s);
	while (text.len) {
		size_t n = piece < text.len ? piece : text.len;

		if (sse_feed(&s, (struct str){ text.ptr, n }, note, out, &err) <
		    0)
			abort();
		text = str_skip(text, n);
	}
	sse_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT(1 << 24);
	struct buf cut = BUF_INIT(1 << 24);
	struct str text;

	if (size < 1)
		return 0;
	text = (struct str){ (const char *)data + 1, size - 1 };
	feed(text, size, &whole);
	feed(text, data[0] % 16u + 1, &cut);
	if (!str_eq(buf_str(&whole), buf_str(&cut)))
		abort();
	buf_release(&whole);
	buf_release(&cut);
	return 0;
}
