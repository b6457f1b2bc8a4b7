/* vercel_lines_fuzz.c - a command's NDJSON: any bytes, in pieces of any size.
 */
/* SPDX-License-Identifier: MIT */
#include "pieces.h"
#include "providers/vercel/exec.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err run(struct str all, size_t piece, struct buf *out)
{
	struct vercel_lines l = { .out = out };
	struct error err = { 0 };
	int rc = 0;

	while (rc == 0 && all.len) {
		size_t n = all.len < piece ? all.len : piece;

		rc = feed_lines(&l, (struct str){ all.ptr, n }, &err);
		all = str_skip(all, n);
	}
	if (rc == 0)
		(void)end_lines(&l, false, &err);
	release_lines(&l);
	return err.code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_pieces(run, data, size);
}
