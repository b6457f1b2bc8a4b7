/* egress_hello_fuzz.c - a TLS greeting names one clean host, whole or cut. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "egress/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[EGRESS_NAME];
	char early[EGRESS_NAME];
	enum hello_result whole = hello_read(data, size, name);

	if (whole == HELLO_NAME &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") !=
		    strlen(name))
		abort();
	/* more bytes change no answer but "more" */
	for (size_t n = 0; n < size; n += 1 + size / 16) {
		enum hello_result got = hello_read(data, n, early);

		if (got != HELLO_MORE && got != whole)
			abort();
		if (got == HELLO_NAME && strcmp(early, name) != 0)
			abort();
	}
	return 0;
}
