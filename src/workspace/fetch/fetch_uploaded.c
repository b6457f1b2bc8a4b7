/* fetch_uploaded.c - what the user uploaded is not the agent's work. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "tree/blobs.h"
#include "workspace/fetch/fetch_impl.h"

struct candidate { /* a file or link that differs from the base and was uploaded
		    */
	char *path;
	char hash[LISTING_HASH]; /* of what was uploaded */
	unsigned sent_mode;      /* ... and its mode */
	unsigned new_mode;       /* in the sandbox now */
	unsigned mode;           /* the base's; 0: it has none */
	char oid[GIT_OID];       /* the base's */
};

struct uploads {
	struct listing *sent; /* borrowed */
	struct candidate *list;
	struct blobs_file *blobs; /* what is there now */
	size_t n;
};

static int add_change(void *arg, const struct odb_record *r, struct error *err)
{
	struct uploads *u = arg;
	const struct listing_entry *e = listing_find(u->sent, r->path);
	struct candidate *c;

	(void)err;
	if (!e || (!S_ISREG(r->new_mode) && !S_ISLNK(r->new_mode)) ||
	    S_ISLNK(r->new_mode) != S_ISLNK(e->mode))
		return 0;
	if (!(u->n & (u->n - 1))) {
		size_t cap = u->n ? 2 * u->n : 1;

		u->list = xrealloc(u->list, cap, sizeof(*u->list));
		u->blobs = xrealloc(u->blobs, cap, sizeof(*u->blobs));
	}
	u->blobs[u->n] = (struct blobs_file){ 0 };
	memcpy(u->blobs[u->n].oid, r->new_oid, strlen(r->new_oid) + 1);
	c = &u->list[u->n++];
	*c = (struct candidate){ .path = xstrdup(r->path),
				 .sent_mode = e->mode,
				 .new_mode = r->new_mode,
				 .mode = r->old_mode };
	memcpy(c->hash, e->hash, sizeof(c->hash));
	memcpy(c->oid, r->old_oid, strlen(r->old_oid) + 1);
	return 0;
}

static bool has_uploaded_bytes(const struct uploads *u, size_t i)
{
	char hex[LISTING_HASH];

	sodium_bin2hex(hex, sizeof(hex), u->blobs[i].hash, TREEFILE_HASH);
	return !strcmp(hex, u->list[i].hash);
}

/* The base's file, or none. A chmod in the sandbox stays: of a new file with
 * the bytes that it is about. */
static int restore_base(struct fetching *g, const struct candidate *c,
			struct error *err)
{
	bool chmod = c->new_mode != c->sent_mode && c->new_mode != c->mode;
	struct str path = str_of(c->path);

	if (chmod && !S_ISREG(c->mode))
		return 0;
	if (!c->mode)
		return odb_commit_delete(g->commit, path, err);
	return odb_commit_blob(g->commit, chmod ? c->new_mode : c->mode, path,
			       c->oid, err);
}

static int take_out(struct fetching *g, const struct uploads *u,
		    struct error *err)
{
	char parent[GIT_OID];
	int rc;

	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = fetch_begin_commit(g, parent, err);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < u->n && rc == 0; i++)
		if (has_uploaded_bytes(u, i))
			rc = restore_base(g, &u->list[i], err);
	return fetch_end_commit(g, rc, err);
}

int fetch_drop_uploaded(struct fetching *g, struct error *err)
{
	const struct git *git = &g->w->git;
	struct uploads u = { .sent = &g->uploaded };
	struct odb_sink sink = { add_change, &u };
	int rc = 0;

	if (u.sent->n)
		rc = odb_tree_diff(git, g->w->base, g->f->theirs, &sink,
				   g->stop, err);
	if (rc == 0 && u.n)
		rc = blobs_write(git, u.blobs, u.n, g->stop, err);
	if (rc == 0 && u.n)
		rc = take_out(g, &u, err);
	for (size_t i = 0; i < u.n; i++)
		free(u.list[i].path);
	free(u.list);
	free(u.blobs);
	return rc;
}

bool fetch_is_uploaded_link(struct fetching *g, const char *path,
			    const char *target)
{
	const struct listing_entry *e = listing_find(&g->uploaded, path);
	char hash[LISTING_HASH];

	if (!e || !S_ISLNK(e->mode))
		return false;
	listing_digest(str_of(target), hash);
	return !strcmp(hash, e->hash);
}
