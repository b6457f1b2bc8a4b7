/* fake_store.h - the fake provider, with a store in a directory of its own. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FAKE_STORE_H
#define TESTS_UNIT_FAKE_STORE_H

#include <stdlib.h>

#include "base/path.h"
#include "fake_box.h"
#include "store_open.h"
#include "unit.h"

struct fake_store {
	char dir[64]; /* the sandboxes' working directory */
	struct store *store;
	struct sandbox_client client; /* of the fake provider */
};

static inline void fake_store_open(struct fake_store *f)
{
	struct error err = { 0 };
	char *path;

	fake_reset();
	snprintf(f->dir, sizeof(f->dir), "/tmp/dcode-unit-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(fake.workdir, sizeof(fake.workdir), "%s", f->dir);
	path = path_join(f->dir, "dcode.db");
	assert_int_equal(store_open(&f->store, path, NULL, &err), 0);
	free(path);
	f->client = (struct sandbox_client){ .provider = &fake_provider };
}

static inline void fake_store_close(struct fake_store *f)
{
	struct error err = { 0 };

	store_close(f->store);
	path_remove_tree(f->dir, &err);
	fake_reset();
}

#endif
