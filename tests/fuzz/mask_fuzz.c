/* mask_fuzz.c - a masked stream equals the masked whole, and hides all. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mask/mask.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* First line: up to four values between NULs; the rest is the text, cut into
 * chunks of the length of its first byte. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	struct mask *m = mask_new();
	struct buf whole = BUF_INIT(1 << 20);
	struct buf parts = BUF_INIT(1 << 20);
	struct mask_stream s = { 0 };
	struct str head;
	struct str value;
	size_t step;

	if (!str_split(&rest, '\n', &head))
		head = (struct str){ 0 };
	for (int i = 0; i < 4 && str_split(&head, '\0', &value); i++)
		mask_add(m, i % 2 ? "KEY" : "N", value);
	mask_text(m, rest, &whole);
	step = rest.len ? (unsigned char)rest.ptr[0] % 7 + 1 : 1;
	while (rest.len) {
		size_t len = rest.len < step ? rest.len : step;

		mask_feed(m, &s, (struct str){ rest.ptr, len }, &parts);
		rest = str_skip(rest, len);
	}
	mask_end(m, &s, &parts);
	if (!str_eq(buf_str(&whole), buf_str(&parts)))
		abort();
	buf_release(&whole);
	buf_release(&parts);
	mask_free(m);
	return 0;
}
