/* shared_base.c - the base after a merge: what both sides share from then on.
 */
/* SPDX-License-Identifier: MIT */
#include "apply/shared_base.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "git/odb.h"

static bool is_file(unsigned mode)
{
	return (mode & 0170000) == 0100000;
}

/* A path on both sides of a comparison; mode 0: it is not there. */
struct path_sides {
	char *path; /* owned */
	unsigned before, after;
	char before_oid[GIT_OID], after_oid[GIT_OID];
};

struct side_list { /* by path */
	struct path_sides *list;
	size_t n;
};

struct computing {
	const struct shared_base *s;
	struct side_list changes; /* from the base to the sandbox's tree */
	struct side_list written; /* from the sandbox's tree to the merge's */
	const char **paths;       /* of the merge's stages, sorted */
	const char **oids;        /* of the same, sorted */
	bool *kept;               /* for each of changes */
	size_t n_kept;
};

static int add_sides(void *arg, const struct odb_record *d, struct error *err)
{
	struct side_list *l = arg;
	struct path_sides *one;

	(void)err;
	if (!(l->n & (l->n - 1)))
		l->list = xrealloc(l->list, l->n ? 2 * l->n : 1,
				   sizeof(*l->list));
	one = &l->list[l->n++];
	*one = (struct path_sides){ .path = xstrdup(d->path),
				    .before = d->old_mode,
				    .after = d->new_mode };
	if (d->old_mode)
		memcpy(one->before_oid, d->old_oid, strlen(d->old_oid) + 1);
	if (d->new_mode)
		memcpy(one->after_oid, d->new_oid, strlen(d->new_oid) + 1);
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct path_sides *)a)->path,
		      ((const struct path_sides *)b)->path);
}

static int read_sides(struct side_list *l, const struct git *g,
		      const char *before, const char *after,
		      const struct stop *stop, struct error *err)
{
	int rc = odb_tree_diff(g, before, after,
			       &(struct odb_sink){ add_sides, l }, stop, err);

	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), by_path);
	return rc;
}

static const struct path_sides *find_sides(const struct side_list *l,
					   const char *path)
{
	const struct path_sides key = { .path = (char *)path };

	return l->n ? bsearch(&key, l->list, l->n, sizeof(*l->list), by_path)
		    : NULL;
}

static void release_sides(struct side_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->list[i].path);
	free(l->list);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_text(const char **sorted, size_t n, const char *text)
{
	return n && bsearch(&text, sorted, n, sizeof(*sorted), by_text);
}

static void sort_stages(struct computing *k)
{
	const struct merge *m = k->s->merge;

	k->paths = xcalloc(m->n_stages + 1, sizeof(*k->paths));
	k->oids = xcalloc(m->n_stages + 1, sizeof(*k->oids));
	for (size_t i = 0; i < m->n_stages; i++) {
		k->paths[i] = m->stages[i].path;
		k->oids[i] = m->stages[i].oid;
	}
	if (m->n_stages) {
		qsort(k->paths, m->n_stages, sizeof(*k->paths), by_text);
		qsort(k->oids, m->n_stages, sizeof(*k->oids), by_text);
	}
}

/* Whether path is in the merge as the sandbox has it in c. */
static bool is_theirs(const struct computing *k, const char *path,
		      const struct path_sides *c)
{
	const struct path_sides *w = find_sides(&k->written, path);

	if (!w)
		return !strcmp(path, c->path);
	return w->after == c->after &&
	       (!w->after || !strcmp(w->after_oid, c->after_oid));
}

/* Whether path holds both sides in the merge. Only a merge of lines makes
 * bytes that are those of no side; where git cannot merge lines, it takes one
 * side's. */
static bool is_marked(const struct computing *k, const char *path,
		      const struct path_sides *c)
{
	const struct path_sides *w = find_sides(&k->written, path);
	const struct merge *m = k->s->merge;

	return w && is_file(w->after) && is_file(c->after) &&
	       !has_text(k->oids, m->n_stages, w->after_oid);
}

/* True for "d~sandbox" and "d~sandbox_1" beside "d". */
static bool is_beside(const char *path, const char *invented)
{
	size_t len = strlen(path);

	return !strncmp(path, invented, len) && invented[len] == '~';
}

/* The unmerged path of another name that has the sandbox's version of c: the
 * user has renamed the file, or git has. NULL: there is none. */
static const char *find_renamed(const struct computing *k,
				const struct path_sides *c)
{
	const struct merge *m = k->s->merge;

	for (size_t i = 0; i < m->n_stages; i++) {
		const struct merge_stage *stage = &m->stages[i];
		const struct path_sides *own;

		if (stage->stage != 3 || strcmp(stage->oid, c->after_oid) != 0)
			continue;
		own = find_sides(&k->changes, stage->path);
		if (!own || strcmp(own->after_oid, c->after_oid) != 0)
			return stage->path;
	}
	return NULL;
}

static bool has_renames(const struct merge *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct str kind = str_of(m->conflicts[i].kind);

		if (str_starts(kind, "rename/") ||
		    str_starts(kind, "directory rename"))
			return true;
	}
	return false;
}

/* Whether the sandbox's version of c is not in the tree that is written. What
 * cannot be told stays with the sandbox. */
static bool stays_there(const struct computing *k, const struct path_sides *c)
{
	const struct path_sides *w = find_sides(&k->written, c->path);
	const char *renamed;

	if (is_theirs(k, c->path, c))
		return false;
	if (has_text(k->paths, k->s->merge->n_stages, c->path))
		return !is_marked(k, c->path, c);
	if (w && w->after) /* merged without a conflict, when both are files */
		return !is_file(w->after) || !is_file(c->after);
	renamed = find_renamed(k, c);
	if (renamed)
		return is_beside(c->path, renamed) ||
		       (!is_theirs(k, renamed, c) && !is_marked(k, renamed, c));
	return has_renames(k->s->merge);
}

static void choose(struct computing *k)
{
	const struct shared_base *s = k->s;

	sort_stages(k);
	k->kept = xcalloc(k->changes.n + 1, sizeof(*k->kept));
	for (size_t i = 0; i < k->changes.n; i++) {
		const struct path_sides *c = &k->changes.list[i];

		if (!stays_there(k, c))
			continue;
		k->kept[i] = true;
		k->n_kept++;
		s->kept(s->arg, c->path);
	}
}

/* Deletions first: a file may take a directory's place, or the reverse. */
static int put_back(const struct computing *k, struct odb_commit *to,
		    struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < k->changes.n; i++)
		if (k->kept[i] && !k->changes.list[i].before)
			rc = odb_commit_delete(
				to, str_of(k->changes.list[i].path), err);
	for (size_t i = 0; rc == 0 && i < k->changes.n; i++) {
		const struct path_sides *c = &k->changes.list[i];

		if (k->kept[i] && c->before)
			rc = odb_commit_blob(to, c->before, str_of(c->path),
					     c->before_oid, err);
	}
	return rc;
}

/* The sandbox's tree, with the paths that were kept as the base has them. */
static int make_base(const struct computing *k, char after[GIT_OID],
		     const struct stop *stop, struct error *err)
{
	const struct shared_base *s = k->s;
	char *ref = odb_ref_name(s->label, "shared");
	struct odb_commit_info info = { .ref = ref,
					.parent = s->theirs,
					.message = "what was applied" };
	struct error ignored = { 0 };
	struct odb_commit *c;
	int rc = odb_commit_begin(&c, s->git, &info, stop, err);

	if (rc == 0 && put_back(k, c, err) < 0) {
		odb_commit_abort(c);
		rc = -1;
	} else if (rc == 0) {
		rc = odb_commit_end(c, after, err);
	}
	/* Objects without a reference stay for two weeks (git/pack.h). */
	if (rc == 0)
		(void)odb_ref_set(s->git, ref, NULL, stop, &ignored);
	free(ref);
	return rc;
}

int shared_base_compute(const struct shared_base *s, char after[GIT_OID],
			const struct stop *stop, struct error *err)
{
	struct computing k = { .s = s };
	int rc = 0;

	memcpy(after, s->theirs, strlen(s->theirs) + 1);
	if (!s->merge->n)
		return 0;
	rc = read_sides(&k.changes, s->git, s->base, s->theirs, stop, err);
	if (rc == 0)
		rc = read_sides(&k.written, s->git, s->theirs, s->merge->tree,
				stop, err);
	if (rc == 0)
		choose(&k);
	if (rc == 0 && k.n_kept == k.changes.n)
		memcpy(after, s->base, strlen(s->base) + 1);
	else if (rc == 0 && k.n_kept)
		rc = make_base(&k, after, stop, err);
	release_sides(&k.changes);
	release_sides(&k.written);
	free(k.kept);
	free(k.paths);
	free(k.oids);
	return rc;
}
