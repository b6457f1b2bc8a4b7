/* hash.h - an index from names to numbers; the names live elsewhere. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_HASH_H
#define CONFIG_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct hash_slot {
	uint64_t code;   /* of the name; 0 marks a free slot */
	uint32_t number; /* what the caller knows the name by */
};

/* Start from { 0 }. */
struct hash {
	struct hash_slot *slots; /* owned */
	size_t n;                /* used */
	size_t cap;              /* a power of two, or 0 */
};

/* Names of different scopes get different codes. Never 0. */
uint64_t hash_code(struct str name, uint32_t scope);
void hash_add(struct hash *h, uint64_t code, uint32_t number);
/*
 * Steps through the numbers that were added under code: start with *cursor 0.
 * Different names may share a code, so the caller compares the names.
 */
bool hash_next(const struct hash *h, uint64_t code, size_t *cursor,
	       uint32_t *number);
void hash_release(struct hash *h);

#endif
