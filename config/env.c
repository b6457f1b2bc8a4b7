/* env.c - the environment and the .env files, merged, with their sources. */
/* SPDX-License-Identifier: MIT */
#include "config/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"

/* The least size of a block: with its head and the 16 bytes that
 * sodium_malloc() adds, one page. */
enum { BLOCK = 4096 - 3 * 8 - 16 };

struct env_block {
	struct env_block *next;
	size_t size, used;
	char bytes[];
};

/* Makes room for size bytes in one block. */
static void reserve_room(struct env *e, size_t size)
{
	struct env_block *b = e->blocks;
	size_t room = size > BLOCK ? size : BLOCK;

	if (b && size <= b->size - b->used)
		return;
	/* sodium_malloc() aligns the end: round up for the start. */
	room = ((sizeof(*b) + room + 15) & ~(size_t)15) - sizeof(*b);
	b = sodium_init() < 0 ? NULL : sodium_malloc(sizeof(*b) + room);
	if (!b)
		abort();
	*b = (struct env_block){ .next = e->blocks, .size = room };
	e->blocks = b;
}

static char *take_room(struct env *e, size_t size)
{
	reserve_room(e, size);
	e->blocks->used += size;
	return e->blocks->bytes + e->blocks->used - size;
}

static const struct env_var *find(const struct env *e, struct str name,
				  uint64_t code)
{
	size_t cursor = 0;
	uint32_t i;

	while (hash_next(&e->names, code, &cursor, &i))
		if (str_is(name, e->vars[i].name))
			return &e->vars[i];
	return NULL;
}

static struct env_var *add_slot(struct env_var **vars, size_t n)
{
	if ((n & (n - 1)) == 0)
		*vars = xrealloc(*vars, n ? n * 2 : 1, sizeof(**vars));
	return &(*vars)[n];
}

void env_add(struct env *e, struct str name, const char *value,
	     enum setting_source source, int line)
{
	uint64_t code = hash_code(name, 0);
	const struct env_var *there = find(e, name, code);
	size_t size = strlen(value) + 1;
	struct env_var *slot;
	char *copy;

	if (!name.len || (there && !strcmp(there->value, value)))
		return;
	copy = take_room(e, name.len + 1 + size);
	memcpy(copy, name.ptr, name.len);
	copy[name.len] = '\0';
	memcpy(copy + name.len + 1, value, size);
	if (there) {
		slot = add_slot(&e->shadowed, e->n_shadowed++);
	} else {
		hash_add(&e->names, code, (uint32_t)e->n);
		slot = add_slot(&e->vars, e->n++);
	}
	*slot = (struct env_var){ copy, copy + name.len + 1, source, line };
}

void env_add_all(struct env *e, char **entries)
{
	size_t size = 0;

	/* Each block costs system calls: one for all. */
	for (char **entry = entries; entry && *entry; entry++)
		size += strlen(*entry) + 1;
	reserve_room(e, size);
	for (; entries && *entries; entries++) {
		struct str entry = str_of(*entries);
		size_t at = str_find(entry, '=');

		if (at < entry.len)
			env_add(e, (struct str){ entry.ptr, at },
				entry.ptr + at + 1, SOURCE_ENV, 0);
	}
}

const struct env_var *env_get(const struct env *e, const char *name)
{
	struct str s = str_of(name);

	return find(e, s, hash_code(s, 0));
}

const struct env_var *env_prefixed(const struct env *e, const char *name)
{
	static const char prefix[] = "DEEPAGENTS_CODE_";
	size_t size = sizeof(prefix) + strlen(name);
	/* Asked several times for each setting: mostly not on the heap. */
	char room[128];
	char *full = size <= sizeof(room) ? room : xcalloc(1, size);
	const struct env_var *v;

	memcpy(full, prefix, sizeof(prefix) - 1);
	memcpy(full + sizeof(prefix) - 1, name, size - sizeof(prefix) + 1);
	v = env_get(e, full);
	if (full != room)
		free(full);
	return v;
}

const struct env_var *env_resolve(const struct env *e, const char *name)
{
	const struct env_var *v = env_prefixed(e, name);

	return v ? v : env_get(e, name);
}

void env_release(struct env *e)
{
	while (e->blocks) {
		struct env_block *b = e->blocks;

		e->blocks = b->next;
		sodium_free(b); /* zeroes it */
	}
	free(e->vars);
	free(e->shadowed);
	hash_release(&e->names);
	*e = (struct env){ 0 };
}
