/* e2b_events_fuzz.c - envd's stream: any bytes, in pieces of any size. */
/* SPDX-License-Identifier: MIT */
#include "pieces.h"
#include "providers/e2b/exec.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err run(struct str all, size_t piece, struct buf *out)
{
	struct e2b_events e = { .out = out };
	struct error err = { 0 };
	int rc = 0;

	while (rc == 0 && all.len) {
		size_t n = all.len < piece ? all.len : piece;

		rc = feed_events(&e, (struct str){ all.ptr, n }, &err);
		all = str_skip(all, n);
	}
	if (rc == 0)
		(void)end_events(&e, &err);
	release_events(&e);
	return err.code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_pieces(run, data, size);
}
