/* relist.c - a listing brought from one commit to another. */
/* SPDX-License-Identifier: MIT */
#include "worktree/relist.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "worktree/odb.h"

struct change {
	unsigned mode; /* 0: it is gone */
	char *path;
};

struct changes {
	struct change *list;
	struct odb_file *blobs; /* of those that are not gone */
	size_t n, n_blobs, cap, cap_blobs;
};

static size_t grown(size_t cap)
{
	return cap ? cap * 2 : 64;
}

static int add_change(void *arg, const struct odb_record *d, struct error *err)
{
	struct changes *c = arg;

	(void)err;
	if (c->n == c->cap) {
		c->cap = grown(c->cap);
		c->list = xrealloc(c->list, c->cap, sizeof(*c->list));
	}
	c->list[c->n++] = (struct change){ d->new_mode, xstrdup(d->path) };
	if (!d->new_mode)
		return 0;
	if (c->n_blobs == c->cap_blobs) {
		c->cap_blobs = grown(c->cap_blobs);
		c->blobs = xrealloc(c->blobs, c->cap_blobs, sizeof(*c->blobs));
	}
	c->blobs[c->n_blobs] = (struct odb_file){ 0 };
	memcpy(c->blobs[c->n_blobs++].oid, d->new_oid, strlen(d->new_oid) + 1);
	return 0;
}

static void change_listing(struct listing *l, const struct changes *c)
{
	size_t blob = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct change *one = &c->list[i];
		char hex[LISTING_HASH];

		if (!one->mode) {
			listing_drop(l, one->path);
			continue;
		}
		sodium_bin2hex(hex, sizeof(hex), c->blobs[blob++].hash,
			       ODB_HASH);
		listing_add(l, one->mode, hex, str_of(one->path));
	}
}

int relist_commit(struct listing *l, const struct git *g, const char *before,
		  const char *after, const struct stop *stop, struct error *err)
{
	struct changes c = { 0 };
	int rc = odb_tree_diff(g, before, after,
			       &(struct odb_sink){ add_change, &c }, stop, err);

	if (rc == 0)
		rc = odb_write_files(g, c.blobs, c.n_blobs, stop, err);
	if (rc == 0)
		change_listing(l, &c);
	for (size_t i = 0; i < c.n; i++)
		free(c.list[i].path);
	free(c.list);
	free(c.blobs);
	return rc;
}
