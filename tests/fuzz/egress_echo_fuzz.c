/* egress_echo_fuzz.c - no answer gives a value away, whole or in pieces. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "egress/credential/credential.h"

#define VALUE "Ab+/9-zZ"
#define PLACEHOLDER "01234567890123456789012345678901"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Passes the data in pieces of `step` bytes. */
static void pass(const struct echo *e, const uint8_t *data, size_t size,
		 size_t step, struct buf *out)
{
	struct buf scan = BUF_INIT(1 << 20);

	for (size_t at = 0; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;
		size_t held;

		buf_add(&scan, data + at, n);
		held = echo_replace(e, scan.ptr, scan.len);
		if (held > scan.len)
			abort();
		buf_add(out, scan.ptr, scan.len - held);
		buf_consume(&scan, scan.len - held);
	}
	buf_addstr(out, buf_str(&scan));
	buf_release(&scan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct network_rule rule = { .host = (char *)"a.b" };
	struct secret secret = {
		.hosts = { .mode = NETWORK_LIST, .rules = &rule, .n = 1 },
		.value = (char *)VALUE,
		.placeholder = (char *)PLACEHOLDER
	};
	const struct secrets all = { &secret, 1 };
	struct echo *e = echo_new(&all, "a.b");
	struct buf whole = BUF_INIT(1 << 20);
	struct buf pieces = BUF_INIT(1 << 20);

	pass(e, data, size, size ? size : 1, &whole);
	pass(e, data, size, 3, &pieces);
	if (whole.len != size || pieces.len != size ||
	    (size && memmem(whole.ptr, size, VALUE, strlen(VALUE))) ||
	    (size && memmem(pieces.ptr, size, VALUE, strlen(VALUE))))
		abort();
	buf_release(&whole);
	buf_release(&pieces);
	echo_free(e);
	return 0;
}
