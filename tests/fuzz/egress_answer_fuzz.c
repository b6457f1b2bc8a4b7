/* egress_answer_fuzz.c - an answer has the same body whole and in pieces. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "egress/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the answer, `step` more bytes at a time. Returns the bytes that were
 * read. */
static size_t pass(const char *p, size_t size, size_t step, struct buf *body)
{
	struct answer_reader r;
	size_t have = step < size ? step : size;
	size_t done = 0;

	answer_begin(&r, size % 7 == 1, size % 7 == 2);
	while (!r.done) {
		struct str part;
		size_t used;
		enum answer_part kind =
			answer_read(&r, (struct str){ p + done, have - done },
				    have == size, &part, &used);

		if (used > have - done || part.len > used)
			abort();
		if (kind == ANSWER_BAD)
			return SIZE_MAX;
		if (kind == ANSWER_MORE) {
			if (have == size)
				return SIZE_MAX;
			have = have + step < size ? have + step : size;
			continue;
		}
		if (kind == ANSWER_BODY)
			buf_addstr(body, part);
		done += used;
	}
	return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data;
	struct buf a = BUF_INIT(1 << 20);
	struct buf b = BUF_INIT(1 << 20);
	size_t whole = pass(p, size, size ? size : 1, &a);
	size_t pieces = pass(p, size, 3, &b);

	if (whole != pieces || (whole != SIZE_MAX && a.len != b.len) ||
	    (whole != SIZE_MAX && a.len && memcmp(a.ptr, b.ptr, a.len)))
		abort();
	buf_release(&a);
	buf_release(&b);
	return 0;
}
