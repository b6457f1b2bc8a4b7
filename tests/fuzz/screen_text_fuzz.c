/* screen_text_fuzz.c - output as a terminal shows it: pieces do not matter, and
 * nothing that controls a terminal is left. */
/* SPDX-License-Identifier: MIT */
#include "base/screen_text.h"
#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err run(struct str all, size_t piece, struct buf *out)
{
	struct screen_text s = { 0 };
	struct screen_text appended = { .eager = true };
	struct buf scratch = BUF_INIT(16 << 20);

	while (all.len) {
		size_t n = all.len < piece ? all.len : piece;
		struct str one = { all.ptr, n };

		screen_text_feed(&s, one, out);
		screen_text_feed(&appended, one, &scratch);
		screen_text_rest(&s, &scratch);
		if (n % 3 == 0)
			screen_text_give(&appended, &scratch);
		all = str_skip(all, n);
	}
	screen_text_end(&s, out);
	screen_text_end(&appended, &scratch);
	for (size_t i = 0; i < scratch.len; i++)
		if ((unsigned char)scratch.ptr[i] < 0x20 &&
		    scratch.ptr[i] != '\n' && scratch.ptr[i] != '\t')
			abort();
	if (!str_is_utf8(buf_str(out)))
		abort();
	buf_release(&scratch);
	return ERR_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_pieces(run, data, size);
}
