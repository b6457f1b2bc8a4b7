/* call_ids.h - the set of ids that the calls of a conversation have. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_CALL_IDS_H
#define MODEL_CALL_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ids that wire_id() writes in the same way count as one. The set contains only
 * their hashes. Two different ids with the same hash count as one, too: then a
 * new call gets a random id, which does no harm. Initialize to { 0 }. */
struct call_ids {
	uint64_t *slots; /* owned; 0: free */
	size_t n;
	size_t room; /* number of slots: 0, or a power of two above 2 * n */
};

/* Adds the id. False if the set had it already. */
bool call_ids_add(struct call_ids *ids, const char *id);
bool call_ids_has(const struct call_ids *ids, const char *id);
void call_ids_release(struct call_ids *ids);

#endif
