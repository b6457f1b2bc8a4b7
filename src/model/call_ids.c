/* call_ids.c - the set of ids that the calls of a conversation have. */
/* SPDX-License-Identifier: MIT */
/* Each call of an answer is looked up in it, so the time for that must not grow
 * with the conversation: a hash table with linear probing. */
#include "model/call_ids.h"

#include <stdlib.h>

#include "base/mem.h"
#include "model/wire.h"

enum { ROOM_FIRST = 16 };

static uint64_t hash_of(const char *id)
{
	uint64_t hash = wire_hash_id(id);

	return hash ? hash : 1;
}

/* Returns the slot that has the hash, or the free one where it belongs. Call
 * only if there are slots. */
static uint64_t *find_slot(const struct call_ids *ids, uint64_t hash)
{
	size_t i = hash & (ids->room - 1);

	while (ids->slots[i] && ids->slots[i] != hash)
		i = (i + 1) & (ids->room - 1);
	return &ids->slots[i];
}

static void grow_table(struct call_ids *ids)
{
	struct call_ids larger = {
		.n = ids->n,
		.room = ids->room ? ids->room * 2 : ROOM_FIRST,
	};

	larger.slots = xcalloc(larger.room, sizeof(*larger.slots));
	for (size_t i = 0; i < ids->room; i++)
		if (ids->slots[i])
			*find_slot(&larger, ids->slots[i]) = ids->slots[i];
	free(ids->slots);
	*ids = larger;
}

bool call_ids_add(struct call_ids *ids, const char *id)
{
	uint64_t hash = hash_of(id);
	uint64_t *slot;

	if ((ids->n + 1) * 2 >= ids->room)
		grow_table(ids);
	slot = find_slot(ids, hash);
	if (*slot)
		return false;
	*slot = hash;
	ids->n++;
	return true;
}

bool call_ids_has(const struct call_ids *ids, const char *id)
{
	return ids->n && *find_slot(ids, hash_of(id));
}

void call_ids_release(struct call_ids *ids)
{
	free(ids->slots);
	*ids = (struct call_ids){ 0 };
}
