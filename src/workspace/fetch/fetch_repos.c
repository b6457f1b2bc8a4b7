/* fetch_repos.c - repositories that a sandbox made are taken out of a fetch. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tree/bare_repo.h"
#include "workspace/fetch/fetch_impl.h"

struct base_change { /* of a path since the base */
	char *path;
	unsigned mode; /* the base's; 0: it is new */
	char oid[GIT_OID];
};

struct repo_search {
	struct fetching *g;
	struct bare_repos repos;
	struct base_change *changes;
	size_t n;
	struct tree_dir disk;
	bool has_disk;
};

static int add_change(void *arg, const struct odb_record *r, struct error *err)
{
	struct repo_search *s = arg;
	struct base_change *c;

	(void)err;
	if (!(s->n & (s->n - 1)))
		s->changes = xrealloc(s->changes, s->n ? s->n * 2 : 1,
				      sizeof(*s->changes));
	c = &s->changes[s->n++];
	*c = (struct base_change){ .path = xstrdup(r->path),
				   .mode = r->old_mode };
	snprintf(c->oid, sizeof(c->oid), "%s", r->old_oid);
	bare_repo_add(&s->repos, str_of(r->path));
	return 0;
}

/* What of the changes is not in one leaves the list. */
static void keep_inside(struct repo_search *s)
{
	struct tree_dir *disk = s->has_disk ? &s->disk : NULL;
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (bare_repo_find(&s->repos, disk, s->changes[i].path) >= 0)
			s->changes[kept++] = s->changes[i];
		else
			free(s->changes[i].path);
	s->n = kept;
}

static int take_back(struct repo_search *s, struct error *err)
{
	struct fetching *g = s->g;
	char parent[GIT_OID];
	int rc;

	memcpy(parent, g->f->theirs, sizeof(parent));
	rc = fetch_begin_commit(g, parent, err);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < s->n && rc == 0; i++) {
		const struct base_change *c = &s->changes[i];
		struct str path = str_of(c->path);

		fetch_refuse(g, c->path, bare_repo_refused);
		rc = c->mode ? odb_commit_blob(g->commit, c->mode, path, c->oid,
					       err)
			     : odb_commit_delete(g->commit, path, err);
	}
	return fetch_end_commit(g, rc, err);
}

/* What was refused before is in the sandbox, too: the rest of a repository does
 * not come alone. */
static void add_known(struct repo_search *s)
{
	const struct fetching *g = s->g;

	for (size_t i = 0; i < g->base.n; i++)
		bare_repo_add(&s->repos, str_of(g->base.entries[i].path));
	for (size_t i = 0; i < g->f->n_refused; i++)
		bare_repo_add(&s->repos, str_of(g->f->refused[i].path));
}

int fetch_refuse_repositories(struct fetching *g, struct error *err)
{
	struct repo_search s = { .g = g };
	struct odb_sink sink = { add_change, &s };
	struct error ignored = { 0 };
	int rc;

	if (!strcmp(g->w->base, g->f->theirs))
		return 0;
	/* Where the user's tree is gone, nothing of it counts. */
	s.has_disk = g->w->root[0] &&
		     tree_dir_open(&s.disk, g->w->root, &ignored) == 0;
	rc = odb_tree_diff(&g->w->git, g->w->base, g->f->theirs, &sink, g->stop,
			   err);
	if (rc == 0 && s.n) {
		add_known(&s);
		keep_inside(&s);
	}
	if (rc == 0 && s.n)
		rc = take_back(&s, err);
	for (size_t i = 0; i < s.n; i++)
		free(s.changes[i].path);
	free(s.changes);
	if (s.has_disk)
		tree_dir_close(&s.disk);
	bare_repo_release(&s.repos);
	return rc;
}
