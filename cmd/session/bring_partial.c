/* bring_partial.c - dcode apply --partial: what has no place here stays. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/session/bring.h"
#include "cmd/session/tree_index.h"
#include "git/odb.h"

struct partial {
	struct bring *bring;
	const struct bring_partial *request;
	char **mine; /* paths that the user made or changed, sorted */
	size_t n_mine;
	size_t first; /* that this call has left out, of bring->left_out */
	struct tree_index index;
};

static void add_path(struct partial *p, const char *path)
{
	if (!(p->n_mine & (p->n_mine - 1)))
		p->mine = xrealloc(p->mine, p->n_mine ? 2 * p->n_mine : 1,
				   sizeof(*p->mine));
	p->mine[p->n_mine++] = xstrdup(path);
}

static int add_mine(void *arg, const struct odb_record *d, struct error *err)
{
	struct partial *p = arg;

	(void)err;
	if (d->new_mode)
		add_path(p, d->path);
	return 0;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether the user has a file or a link where path has a directory. */
static bool is_below_mine(const struct partial *p, const char *path)
{
	char *above = xstrdup(path);
	bool found = false;
	char *slash;

	while (!found && (slash = strrchr(above, '/'))) {
		const char *key = above;

		*slash = '\0';
		found = p->n_mine && bsearch(&key, p->mine, p->n_mine,
					     sizeof(*p->mine), compare_paths);
	}
	free(above);
	return found;
}

static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return !strncmp(path, directory, len) && path[len] == '/';
}

/* Whether the user has files in a directory where path is a file. */
static bool is_above_mine(const struct partial *p, const char *path)
{
	for (size_t i = 0; i < p->n_mine; i++)
		if (is_below(p->mine[i], path))
			return true;
	return false;
}

/* Whether something that the merge does not know is at path. */
static bool is_blocked(const struct partial *p, const char *path)
{
	for (size_t i = 0; i < p->request->n_blocked; i++)
		if (!strcmp(p->request->blocked[i], path))
			return true;
	return false;
}

/* Whether path is below a file that was left out, in a directory that it
 * replaces: git lists the file first. */
static bool is_below_left_out(const struct partial *p, const char *path)
{
	const struct bring *b = p->bring;

	for (size_t i = p->first; i < b->n_left_out; i++)
		if (is_below(path, b->left_out[i]))
			return true;
	return false;
}

/* One change of the sandbox, by path. */
static int check_change(void *arg, const struct odb_record *d,
			struct error *err)
{
	struct partial *p = arg;
	struct bring *b = p->bring;
	char mode[16];

	(void)err;
	if (!(d->new_mode &&
	      (is_above_mine(p, d->path) || is_blocked(p, d->path))) &&
	    !is_below_mine(p, d->path) && !is_below_left_out(p, d->path))
		return 0;
	apply_add_path(&b->left_out, &b->n_left_out, d->path);
	if (d->old_mode) {
		snprintf(mode, sizeof(mode), "%o", d->old_mode);
		tree_index_set(&p->index, str_of(mode), str_of(d->old_oid),
			       str_of(d->path));
	} else {
		tree_index_forget(&p->index, str_of(d->path));
	}
	return 0;
}

/* The sandbox's tree without what was left out; as a commit on the base where
 * that is one, and not a patch's. */
static int make_theirs(struct partial *p, const struct stop *stop,
		       struct error *err)
{
	struct bring *b = p->bring;
	const struct workspace *w = b->workspace;
	char tree[GIT_OID];
	const char *commit[] = { "commit-tree", tree,    "-p", w->base,
				 "-m",          "dcode", NULL };
	struct buf out = BUF_INIT(256);
	int rc = tree_index_update(&p->index, stop, err);

	if (rc == 0)
		rc = tree_index_write(&p->index, tree, stop, err);
	if (rc == 0 && !b->options.patch)
		rc = git_ask(&w->git, commit, &out, stop, err);
	if (rc == 0)
		snprintf(b->theirs, sizeof(b->theirs), "%s",
			 b->options.patch ? tree : out.ptr);
	buf_release(&out);
	return rc;
}

int bring_partial(struct bring *b, const struct bring_partial *q,
		  const struct stop *stop, struct error *err)
{
	struct workspace *w = b->workspace;
	struct partial p = { .bring = b, .request = q, .first = b->n_left_out };
	int rc;

	tree_index_init(&p.index, &w->git, w->directory, "partial.index");
	rc = odb_tree_diff(&w->git, q->base, q->ours,
			   &(struct odb_sink){ add_mine, &p }, stop, err);
	for (size_t i = 0; i < q->n_blocked; i++)
		add_path(&p, q->blocked[i]);
	if (rc == 0 && p.n_mine)
		qsort(p.mine, p.n_mine, sizeof(*p.mine), compare_paths);
	if (rc == 0)
		rc = tree_index_read(&p.index, b->theirs, stop, err);
	if (rc == 0)
		rc = odb_tree_diff(&w->git, q->base, b->theirs,
				   &(struct odb_sink){ check_change, &p }, stop,
				   err);
	if (rc == 0 && b->n_left_out > p.first)
		rc = make_theirs(&p, stop, err) < 0 ? -1 : 1;
	tree_index_release(&p.index);
	for (size_t i = 0; i < p.n_mine; i++)
		free(p.mine[i]);
	free(p.mine);
	return rc;
}
