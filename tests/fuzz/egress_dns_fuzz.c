/* egress_dns_fuzz.c - answers of the sandbox's DNS server stay in bounds. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "egress/internal.h"

enum { QUESTION = 512, ANSWER = QUESTION + 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct network_rule rule = { .wild = true, .host = (char *)"a.b" };
	struct network list = { .mode = NETWORK_LIST, .rules = &rule, .n = 1 };
	unsigned char *out;
	char refused[EGRESS_NAME];
	char found[EGRESS_NAME];
	bool waits = size & 1;
	size_t n;

	if (size > QUESTION)
		return 0;
	out = malloc(ANSWER);
	if (!out)
		return 0;
	n = names_answer(&list, waits, data, size, out, refused);
	if (n > size + 16 || n > ANSWER || (n && !(out[2] & 0x80)))
		abort();
	if (strspn(refused, "abcdefghijklmnopqrstuvwxyz0123456789-_.") !=
	    strlen(refused))
		abort();
	/* An address stands for its name. Unless the user can be asked about
	 * others, it is given for a listed name only. */
	if (n && out[7]) {
		struct in_addr a;

		memcpy(&a, out + n - 4, 4);
		if (!names_find(a, found))
			abort();
		if (!waits && (strlen(found) < 5 ||
			       strcmp(found + strlen(found) - 4, ".a.b") != 0))
			abort();
	}
	free(out);
	return 0;
}
