/* store_open.h - stores that are opened at once, and their directories. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_STORE_OPEN_H
#define TESTS_UNIT_STORE_OPEN_H

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/path.h"
#include "session/session.h"
#include "unit.h"

/* As store_new() and store_ready(); *out stays as it is on failure. */
static inline int store_open(struct store **out, const char *path,
			     void (*warn)(const char *line), struct error *err)
{
	struct store *s = store_new(path, warn);

	if (store_ready(s, err) < 0) {
		store_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

/* A store in a directory of its own. */
struct store_place {
	char dir[64];
	char path[128];
	struct store *store;
};

static inline int store_set_up(void **state)
{
	struct store_place *p = xcalloc(1, sizeof(*p));
	struct error err = { 0 };

	snprintf(p->dir, sizeof(p->dir), "/tmp/dcode-unit-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/dcode.db", p->dir);
	assert_int_equal(store_open(&p->store, p->path, NULL, &err), 0);
	*state = p;
	return 0;
}

static inline int store_tear_down(void **state)
{
	struct store_place *p = *state;
	struct error err = { 0 };

	store_close(p->store);
	assert_int_equal(path_remove_tree(p->dir, &err), 0);
	free(p);
	return 0;
}

#endif
