/* shared.c - moves the base of a workspace: what both sides share. */
/* SPDX-License-Identifier: MIT */
#include "cmd/workspace/shared.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "workspace/blobs.h"

struct base_change {
	unsigned mode; /* 0: it is gone */
	char *path;
};

struct base_changes {
	struct base_change *list;
	struct blobs_file *blobs; /* of those that are not gone */
	size_t n, n_blobs;
};

static int add_change(void *arg, const struct odb_record *d, struct error *err)
{
	struct base_changes *c = arg;

	(void)err;
	c->list = xrealloc(c->list, c->n + 1, sizeof(*c->list));
	c->list[c->n++] = (struct base_change){ d->new_mode, xstrdup(d->path) };
	if (!d->new_mode)
		return 0;
	c->blobs = xrealloc(c->blobs, c->n_blobs + 1, sizeof(*c->blobs));
	c->blobs[c->n_blobs] = (struct blobs_file){ 0 };
	memcpy(c->blobs[c->n_blobs++].oid, d->new_oid, strlen(d->new_oid) + 1);
	return 0;
}

static int update_listing(const struct workspace *w,
			  const struct base_changes *c, struct error *err)
{
	struct listing l = { 0 };
	size_t blob = 0;
	int rc = workspace_read_listing(w, &l, err);

	for (size_t i = 0; rc == 0 && i < c->n; i++) {
		const struct base_change *one = &c->list[i];
		char hex[LISTING_HASH];

		(void)listing_remove(&l, one->path);
		if (!one->mode)
			continue;
		sodium_bin2hex(hex, sizeof(hex), c->blobs[blob++].hash,
			       TREEFILE_HASH);
		listing_add(&l, one->mode, hex, str_of(one->path));
	}
	if (rc == 0)
		rc = workspace_write_listing(w, &l, err);
	listing_release(&l);
	return rc;
}

static int move_base(struct workspace *w, const char *commit,
		     const struct stop *stop, struct error *err)
{
	struct base_changes c = { 0 };
	int rc = odb_tree_diff(&w->git, w->base, commit, add_change, &c, stop,
			       err);

	if (rc == 0)
		rc = blobs_write(&w->git, c.blobs, c.n_blobs, stop, err);
	if (rc == 0)
		rc = update_listing(w, &c, err);
	if (rc == 0)
		rc = workspace_set_base(w, commit, stop, err);
	for (size_t i = 0; i < c.n; i++)
		free(c.list[i].path);
	free(c.list);
	free(c.blobs);
	return rc;
}

int shared_move(struct workspace *w, const char *label, const char *commit,
		const struct stop *stop, struct error *err)
{
	struct workspace other = *w;
	int rc;

	if (!strcmp(label, w->label))
		return move_base(w, commit, stop, err);
	other.label = (char *)label;
	other.base_ref = odb_ref_name(label, "base");
	rc = odb_ref_get(&other.git, other.base_ref, other.base, stop, err);
	if (rc == 0)
		rc = move_base(&other, commit, stop, err);
	else if (err->code == ERR_NOT_FOUND)
		rc = 0; /* that sandbox's records have gone meanwhile */
	free(other.base_ref);
	return rc;
}
