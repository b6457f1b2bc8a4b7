/* network_fuzz.c - a host that is accepted has exactly one spelling. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/network/network.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
	if (!fact)
		abort();
}

/* Printed and parsed again, an entry is the same entry; a preset is not one
 * entry. */
static void check(const struct network *n, struct str text)
{
	const struct network_rule *rule;
	struct network again = { .mode = NETWORK_LIST };
	struct buf out = BUF_INIT(1 << 10);
	struct error err = { 0 };

	for (size_t i = 0; i < n->n; i++) {
		network_print_rule(&n->rules[i], &out);
		require(network_add(&again, buf_str(&out), &err) == 0);
		buf_clear(&out);
	}
	require(again.n == n->n);
	require(network_within(&again, n, &rule));
	require(network_within(n, &again, &rule));
	if (n->n == 1 && !n->rules[0].preset && !n->rules[0].family) {
		network_print_rule(&n->rules[0], &out);
		if (text.ptr[0] != '[')
			require(str_eq(buf_str(&out), text));
		require(network_allows(n, &n->rules[0], &rule) !=
			n->rules[0].denies);
	}
	network_release(&again);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct network n = { .mode = NETWORK_LIST };
	struct str text = { (const char *)data, size };
	struct error err = { 0 };

	if (network_add(&n, text, &err) == 0)
		check(&n, text);
	else
		require(err.code == ERR_USAGE && err.message[0]);
	network_release(&n);
	return 0;
}
