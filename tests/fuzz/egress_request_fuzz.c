/* egress_request_fuzz.c - HTTP requests pass alike, whole or in pieces. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "egress/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all that may be sent on of the first n bytes. Returns how many bytes
 * that is; *end: why it stopped. */
static size_t pass(const char *p, size_t size, size_t step, long *end)
{
	struct request_reader r = { .host = "a.b", .port = 80 };
	size_t passed = 0;
	size_t have = step < size ? step : size;

	for (;;) {
		size_t whole = 0;
		long n = request_read(&r, p + passed, have - passed, &whole);

		if (n == REQUEST_UPGRADE && (!whole || whole > have - passed))
			abort();
		if (n > (long)(have - passed))
			abort();
		*end = n;
		if (n < 0)
			return passed + whole;
		passed += (size_t)n;
		if (n)
			continue;
		if (have == size)
			return passed;
		have = have + step < size ? have + step : size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data;
	long whole;
	long pieces;
	size_t a = pass(p, size, size ? size : 1, &whole);
	size_t b = pass(p, size, 3, &pieces);

	/* in pieces a fault may be seen later, but nothing more passes */
	if (b > a || (whole >= 0 && (pieces < 0 || a != b)))
		abort();
	return 0;
}
