/* edit_fuzz.c - an edit's pieces always make up the file they promise. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/files/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* old, new and the file, separated by NUL; the first byte says all or one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct edit_change c = { .middle = BUF_INIT(1 << 20),
				 .near = BUF_INIT(1 << 12) };
	struct error err = { 0 };
	struct str rest;
	struct str old;
	struct str new;

	if (!size)
		return 0;
	rest = (struct str){ (const char *)data + 1, size - 1 };
	if (!str_split(&rest, '\0', &old) || !str_split(&rest, '\0', &new))
		return 0;
	if (edit_match(rest, old, new, data[0] & 1, &c, &err) == 0) {
		if (c.count < 1 || c.head + c.tail > rest.len)
			abort();
		if (!(data[0] & 1) && c.count != 1)
			abort();
		/* A change to itself changes nothing. */
		if (str_eq(old, new) && old.len &&
		    !str_eq(buf_str(&c.middle),
			    (struct str){ rest.ptr + c.head,
					  rest.len - c.head - c.tail }))
			abort();
	}
	buf_release(&c.middle);
	buf_release(&c.near);
	return 0;
}
