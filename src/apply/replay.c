/* replay.c - carries out a plan, or takes it back. */
/* SPDX-License-Identifier: MIT */
#include "apply/replay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

enum { TOKEN_MAX = 64 };

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

static int write_change(const struct replay *r, const struct plan_change *c,
			struct error *err)
{
	char token[TOKEN_MAX];
	struct treefile_write w = {
		.root = r->root,
		.path = c->path,
		.from = side(r, c, true),
		.to = side(r, c, false),
		.source = -1,
		.token = token,
	};
	int rc = check_now(r, c, err);

	if (rc <= 0)
		return rc;
	snprintf(token, sizeof(token), "%s-%u", r->plan->token, c->id);
	if (!w.to->mode)
		return treefile_remove(&w, err);
	w.source = open_source(r, c, err);
	if (w.source < 0)
		return -1;
	rc = treefile_put(&w, err);
	close(w.source);
	return rc;
}

static int write_changes(const struct replay *r, bool removals,
			 struct error *err)
{
	for (size_t i = 0; i < r->plan->n; i++) {
		const struct plan_change *c = &r->plan->changes[i];

		if (!side(r, c, false)->mode == removals &&
		    write_change(r, c, err) < 0)
			return -1;
	}
	return 0;
}

int replay_run(const struct replay *r, struct error *err)
{
	const struct apply_plan *p = r->plan;
	const struct plan_dirs *drop = r->back ? &p->make : &p->drop;
	const struct plan_dirs *make = r->back ? &p->drop : &p->make;

	if (write_changes(r, true, err) < 0)
		return -1;
	for (size_t i = drop->n; i > 0; i--)
		if (treefile_rmdir(r->root, drop->list[i - 1].path, err) < 0)
			return -1;
	for (size_t i = 0; i < make->n; i++)
		if (treefile_mkdir(r->root, make->list[i].path,
				   make->list[i].perm, err) < 0)
			return -1;
	return write_changes(r, false, err);
}

int replay_clean(const struct replay *r, struct error *err)
{
	for (size_t i = 0; i < r->plan->n; i++) {
		const struct plan_change *c = &r->plan->changes[i];
		char token[TOKEN_MAX];
		struct treefile_write w = { .root = r->root,
					    .path = c->path,
					    .from = &c->before,
					    .to = &c->after,
					    .source = -1,
					    .token = token };
		bool saved;

		snprintf(token, sizeof(token), "%s-%u", r->plan->token, c->id);
		if (treefile_clean(&w, &saved, err) < 0)
			return -1;
		if (saved && r->left)
			r->left(r->arg, c->path);
	}
	return 0;
}
