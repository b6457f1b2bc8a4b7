/* guest_fuzz.c - the filter of what a program draws on the user's terminal. */
/* SPDX-License-Identifier: MIT */
#include "pieces.h"
#include "term/guest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts at a byte that starts more than the filter knows. */
static void check_bytes(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		unsigned char next =
			i + 1 < s.len ? (unsigned char)s.ptr[i + 1] : 0;

		if ((c < 0x20 && (c < 0x07 || c > 0x0F) && c != 0x1B) ||
		    c == 0x7F || (c == 0xC2 && next < 0xA0) ||
		    (c == 0x1B && (next == ']' || next == 'P' || next == 'X' ||
				   next == '^' || next == '_' || next == 'Z' ||
				   next == 'c')))
			abort();
	}
}

/* What has passed the filter passes it again, unchanged. */
static enum err run(struct str all, size_t piece, struct buf *out)
{
	struct buf again = BUF_INIT(16 << 20);
	struct guest g;
	struct guest second;

	guest_init(&g);
	guest_init(&second);
	while (all.len) {
		size_t n = all.len < piece ? all.len : piece;

		guest_feed(&g, (struct str){ all.ptr, n }, out);
		all = str_skip(all, n);
	}
	if (!str_is_utf8(buf_str(out)))
		abort();
	check_bytes(buf_str(out));
	guest_feed(&second, buf_str(out), &again);
	if (!str_eq(buf_str(&again), buf_str(out)) ||
	    second.is_alternate != g.is_alternate)
		abort();
	buf_release(&again);
	return ERR_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_pieces(run, data, size);
}
