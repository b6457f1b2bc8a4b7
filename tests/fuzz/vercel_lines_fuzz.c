/* vercel_lines_fuzz.c - a command's NDJSON: any bytes, in pieces of any size.
 */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "providers/vercel/vercel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err run(struct str all, size_t piece, struct buf *out)
{
	struct vercel_lines l = { .out = out };
	struct error err = { 0 };
	int rc = 0;

	while (rc == 0 && all.len) {
		size_t n = all.len < piece ? all.len : piece;

		rc = vercel_lines_feed(&l, (struct str){ all.ptr, n }, &err);
		all = str_skip(all, n);
	}
	if (rc == 0)
		(void)vercel_lines_end(&l, false, &err);
	vercel_lines_release(&l);
	return err.code;
}

/* The first byte is the size of the pieces: they must not matter. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_INIT(1 << 20);
	struct buf pieces = BUF_INIT(1 << 20);
	struct str all;

	if (size < 2)
		return 0;
	all = (struct str){ (const char *)data + 1, size - 1 };
	if (run(all, all.len, &once) !=
		    run(all, (size_t)data[0] + 1, &pieces) ||
	    !str_eq(buf_str(&once), buf_str(&pieces)))
		abort();
	buf_release(&once);
	buf_release(&pieces);
	return 0;
}
