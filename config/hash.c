/* hash.c - a hash table from names to numbers; the caller stores the names. */
/* SPDX-License-Identifier: MIT */
#include "config/hash.h"

#include <stdlib.h>

#include "base/mem.h"

enum { SMALLEST = 64 };

/* FNV-1a with 64 bits, followed by the final mixing steps of MurmurHash3. */
uint64_t hash_code(struct str name, uint32_t scope)
{
	uint64_t code = UINT64_C(0xcbf29ce484222325) ^ scope;

	for (size_t i = 0; i < name.len; i++) {
		code ^= (unsigned char)name.ptr[i];
		code *= UINT64_C(0x100000001b3);
	}
	code ^= code >> 33;
	code *= UINT64_C(0xff51afd7ed558ccd);
	code ^= code >> 33;
	return code ? code : 1;
}

static void insert_slot(struct hash *h, struct hash_slot slot)
{
	size_t at = slot.code & (h->cap - 1);

	while (h->slots[at].code)
		at = (at + 1) & (h->cap - 1);
	h->slots[at] = slot;
}

static void grow_table(struct hash *h)
{
	struct hash old = *h;

	h->cap = old.cap ? old.cap * 2 : SMALLEST;
	h->slots = xcalloc(h->cap, sizeof(*h->slots));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].code)
			insert_slot(h, old.slots[i]);
	free(old.slots);
}

void hash_add(struct hash *h, uint64_t code, uint32_t number)
{
	if (h->n >= h->cap / 2)
		grow_table(h);
	insert_slot(h, (struct hash_slot){ code, number });
	h->n++;
}

bool hash_next(const struct hash *h, uint64_t code, size_t *cursor,
	       uint32_t *number)
{
	for (; *cursor < h->cap; (*cursor)++) {
		size_t at = (code + *cursor) & (h->cap - 1);

		if (!h->slots[at].code)
			return false;
		if (h->slots[at].code != code)
			continue;
		*number = h->slots[at].number;
		(*cursor)++;
		return true;
	}
	return false;
}

void hash_release(struct hash *h)
{
	free(h->slots);
	*h = (struct hash){ 0 };
}
