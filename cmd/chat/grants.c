/* grants.c - calls that the user has allowed for the rest of the session. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/grants.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"

static void add_text(crypto_generichash_state *h, const char *text, size_t len)
{
	const uint64_t size = len;

	crypto_generichash_update(h, (const unsigned char *)&size,
				  sizeof(size));
	crypto_generichash_update(h, (const unsigned char *)text, len);
}

static void hash_call(const struct approval *a, unsigned char out[GRANT_BYTES])
{
	char *args = cJSON_PrintUnformatted(a->args);
	const char *real = a->real_path ? a->real_path : "";
	crypto_generichash_state h;

	crypto_generichash_init(&h, NULL, 0, GRANT_BYTES);
	add_text(&h, a->tool->spec.name, strlen(a->tool->spec.name));
	add_text(&h, args, strlen(args));
	add_text(&h, a->place.ptr ? a->place.ptr : "", a->place.len);
	add_text(&h, real, strlen(real));
	crypto_generichash_final(&h, out, GRANT_BYTES);
	cJSON_free(args);
}

bool grants_have(const struct grants *g, const struct approval *a)
{
	unsigned char hash[GRANT_BYTES];

	hash_call(a, hash);
	for (size_t i = 0; i < g->n; i++)
		if (!memcmp(g->list[i], hash, GRANT_BYTES))
			return true;
	return false;
}

void grants_add(struct grants *g, const struct approval *a)
{
	if (grants_have(g, a))
		return;
	if (g->n == g->cap) {
		g->cap = g->cap ? 2 * g->cap : 8;
		g->list = xrealloc(g->list, g->cap, sizeof(*g->list));
	}
	hash_call(a, g->list[g->n++]);
}

void grants_release(struct grants *g)
{
	free(g->list);
	*g = (struct grants){ 0 };
}
