/* replay.c - carries out a plan, or takes it back. */
/* SPDX-License-Identifier: MIT */
#include "apply/replay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/durable.h"
#include "base/mem.h"

enum {
	TOKEN_MAX = 64,
	FILESYSTEMS = 16, /* mounted within one tree */
	BATCH_FILES = 4096,
	BATCH_BYTES = 256 << 20,
};

static const struct treefile *side(const struct replay *r,
				   const struct plan_change *c, bool from)
{
	return from == r->back ? &c->after : &c->before;
}

static int open_source(const struct replay *r, const struct plan_change *c,
		       struct error *err)
{
	char *path = xasprintf("%s/%s/%u", r->dir, r->back ? "before" : "after",
			       c->id);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		error_errno(err, "reading %s", path);
	free(path);
	return fd;
}

/* Whether it has to be written at all: -1, 0 or 1. */
static int check_now(const struct replay *r, const struct plan_change *c,
		     struct error *err)
{
	struct treefile now;

	if (!r->left)
		return 1; /* the write itself compares */
	if (treefile_stat(r->root, c->path, &now, err) < 0)
		return -1;
	if (treefile_equal(&now, side(r, c, false)))
		return 0;
	if (treefile_equal(&now, side(r, c, true)))
		return 1;
	r->left(r->arg, c->path);
	return 0;
}

/* token: room for TOKEN_MAX. */
static struct treefile_write write_of(const struct replay *r,
				      const struct plan_change *c, char *token)
{
	snprintf(token, TOKEN_MAX, "%s-%u", r->plan->token, c->id);
	return (struct treefile_write){ .root = r->root,
					.path = c->path,
					.from = side(r, c, true),
					.to = side(r, c, false),
					.source = -1,
					.token = token };
}

static int remove_files(const struct replay *r, struct error *err)
{
	for (size_t i = 0; i < r->plan->n; i++) {
		const struct plan_change *c = &r->plan->changes[i];
		char token[TOKEN_MAX];
		struct treefile_write w = write_of(r, c, token);
		int rc = w.to->mode ? 0 : check_now(r, c, err);

		if (rc > 0)
			rc = treefile_remove(&w, err);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* Files that are written beside their places, then synced, then put there:
 * changes first to last - 1 of the plan. */
struct placement {
	const struct replay *replay;
	size_t first, last;
	bool *staged; /* for each change of the plan */
	size_t n;     /* of them */
	int64_t bytes;
};

static int stage_file(struct placement *b, size_t i, struct error *err)
{
	const struct replay *r = b->replay;
	const struct plan_change *c = &r->plan->changes[i];
	char token[TOKEN_MAX];
	struct treefile_write w = write_of(r, c, token);
	struct stat st;
	int rc = w.to->mode ? check_now(r, c, err) : 0;

	if (rc <= 0)
		return rc;
	w.source = open_source(r, c, err);
	if (w.source < 0)
		return -1;
	rc = treefile_stage(&w, err);
	if (fstat(w.source, &st) == 0)
		b->bytes += st.st_size;
	close(w.source);
	b->staged[i] = rc == 0;
	b->n += rc == 0;
	return rc;
}

static int each_staged(const struct placement *b,
		       int (*act)(const struct treefile_write *w,
				  struct error *err),
		       struct error *err)
{
	int rc = 0;

	for (size_t i = b->first; rc == 0 && i < b->last; i++) {
		char token[TOKEN_MAX];
		struct treefile_write w = write_of(
			b->replay, &b->replay->plan->changes[i], token);

		if (b->staged[i])
			rc = act(&w, err);
	}
	return rc;
}

/* One wait for each file system that the tree is on. 0: each file has to be
 * synced; 1; -1. */
static int sync_filesystems(const struct placement *b, struct error *err)
{
	dev_t seen[FILESYSTEMS];
	size_t n = 0;

	for (size_t i = b->first; i < b->last; i++) {
		const char *path = b->replay->plan->changes[i].path;
		const char *name;
		struct stat st;
		size_t at = 0;
		int dir;
		int rc = 1;

		if (!b->staged[i])
			continue;
		dir = treefile_parent(b->replay->root, path, &name);
		if (dir < 0 || fstat(dir, &st) < 0)
			rc = -1;
		while (rc > 0 && at < n && seen[at] != st.st_dev)
			at++;
		if (rc > 0 && at == n)
			rc = n < FILESYSTEMS ? durable_filesystem(dir) : 0;
		if (rc > 0 && at == n)
			seen[n++] = st.st_dev;
		if (rc < 0)
			error_errno(err, "writing %s", path);
		if (dir >= 0)
			close(dir);
		if (rc <= 0)
			return rc;
	}
	return 1;
}

static int sync_batch(const struct placement *b, struct error *err)
{
	int rc = b->n > DURABLE_FEW ? sync_filesystems(b, err) : 0;

	if (rc == 0)
		return each_staged(b, treefile_sync, err);
	return rc < 0 ? -1 : 0;
}

/* What is written beside takes room twice: so not all of it at once. */
static int put_files(const struct replay *r, struct error *err)
{
	struct placement b = { .replay = r,
			       .staged =
				       xcalloc(r->plan->n + 1, sizeof(bool)) };
	int rc = 0;

	while (rc == 0 && b.last < r->plan->n) {
		b.first = b.last;
		b.n = 0;
		b.bytes = 0;
		while (rc == 0 && b.last < r->plan->n && b.n < BATCH_FILES &&
		       b.bytes < BATCH_BYTES)
			rc = stage_file(&b, b.last++, err);
		if (rc == 0)
			rc = sync_batch(&b, err);
		if (rc == 0)
			rc = each_staged(&b, treefile_put, err);
	}
	free(b.staged);
	return rc;
}

int replay_run(const struct replay *r, struct error *err)
{
	const struct apply_plan *p = r->plan;
	const struct plan_dirs *drop = r->back ? &p->make : &p->drop;
	const struct plan_dirs *make = r->back ? &p->drop : &p->make;

	if (remove_files(r, err) < 0)
		return -1;
	for (size_t i = drop->n; i > 0; i--)
		if (treefile_rmdir(r->root, drop->list[i - 1].path, err) < 0)
			return -1;
	for (size_t i = 0; i < make->n; i++)
		if (treefile_mkdir(r->root, make->list[i].path,
				   make->list[i].perm, err) < 0)
			return -1;
	return put_files(r, err);
}

int replay_clean(const struct replay *r, struct error *err)
{
	for (size_t i = 0; i < r->plan->n; i++) {
		const struct plan_change *c = &r->plan->changes[i];
		char token[TOKEN_MAX];
		struct treefile_write w = write_of(r, c, token);
		bool saved;

		if (treefile_clean(&w, &saved, err) < 0)
			return -1;
		if (saved && r->left)
			r->left(r->arg, c->path);
	}
	return 0;
}
