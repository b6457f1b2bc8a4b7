/* hash.h - a hash table from names to numbers; the caller stores the names. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_HASH_H
#define CONFIG_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct hash_slot {
	uint64_t code;   /* hash of the name; 0: the slot is free */
	uint32_t number; /* the caller's number for the name */
};

/* Initialize to { 0 }. */
struct hash {
	struct hash_slot *slots; /* owned */
	size_t n;                /* used slots */
	size_t cap;              /* a power of two, or 0 */
};

/* Returns the hash of a name, never 0. A name gets different hashes in
 * different scopes, such as one per table. */
uint64_t hash_code(struct str name, uint32_t scope);
void hash_add(struct hash *h, uint64_t code, uint32_t number);
/*
 * Steps through the numbers that were added with this code: true with the next
 * *number, false at the end. Start with *cursor 0. Different names may have the
 * same code, so the caller must compare the names.
 */
bool hash_next(const struct hash *h, uint64_t code, size_t *cursor,
	       uint32_t *number);
void hash_release(struct hash *h);

#endif
