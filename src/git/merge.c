/* merge.c - the three-way merge of git, computed in dcode's repository. */
/* SPDX-License-Identifier: MIT */
#include "git/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { OUTPUT_MAX = 64 << 20 };

static void add_conflict(struct merge *m, struct str path, struct str kind)
{
	m->conflicts = xrealloc(m->conflicts, m->n + 1, sizeof(*m->conflicts));
	m->conflicts[m->n++] = (struct merge_conflict){
		xstrndup(path.len ? path.ptr : "", path.len),
		xstrndup(kind.len ? kind.ptr : "", kind.len)
	};
}

void merge_release(struct merge *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->conflicts[i].path);
		free(m->conflicts[i].kind);
	}
	free(m->conflicts);
	*m = (struct merge){ 0 };
}

/* A commit that git finds the base of: its one parent. */
static int commit_on(const struct git *g, const char *tree, const char *parent,
		     char oid[GIT_OID], const struct stop *stop,
		     struct error *err)
{
	char name[GIT_OID + 8];
	const char *argv[] = { "commit-tree",        name,   "-m", "dcode",
			       parent ? "-p" : NULL, parent, NULL };
	struct buf out = BUF_INIT(256);
	int rc;

	snprintf(name, sizeof(name), "%s^{tree}", tree);
	rc = git_ask(g, argv, &out, stop, err);
	if (rc == 0 && (!out.len || out.len >= GIT_OID))
		rc = error_set(err, ERR_SYSTEM, "git commit-tree: no commit");
	if (rc == 0)
		memcpy(oid, out.ptr, out.len + 1);
	buf_release(&out);
	return rc;
}

/* merge-tree names the sides in markers and files as its arguments do, so
 * that branches are made for it. */
static int name_sides(const struct git *g, const struct merge_sides *s,
		      const struct stop *stop, struct error *err)
{
	const char *argv[] = { "update-ref", "--stdin", NULL };
	struct buf in = BUF_INIT(1024);
	struct git_request r = { .argv = argv };
	char base[GIT_OID], ours[GIT_OID], theirs[GIT_OID];
	int rc = commit_on(g, s->base, NULL, base, stop, err);

	if (rc == 0)
		rc = commit_on(g, s->ours, base, ours, stop, err);
	if (rc == 0)
		rc = commit_on(g, s->theirs, base, theirs, stop, err);
	if (rc == 0) {
		buf_addf(&in, "update refs/heads/local %s\n", ours);
		buf_addf(&in, "update refs/heads/sandbox %s\n", theirs);
		r.input = buf_str(&in);
		rc = git_run(g, &r, stop, err);
	}
	buf_release(&in);
	return rc;
}

/* "CONFLICT (contents)" is the kind "contents". */
static bool conflict_kind(struct str type, struct str *kind)
{
	static const char prefix[] = "CONFLICT (";

	if (!str_starts(type, prefix))
		return false;
	*kind = str_skip(type, sizeof(prefix) - 1);
	if (str_ends(*kind, ")"))
		kind->len--;
	return true;
}

static void add_once(struct merge *m, struct str path, struct str kind)
{
	for (size_t i = 0; i < m->n; i++)
		if (str_is(path, m->conflicts[i].path) &&
		    str_is(kind, m->conflicts[i].kind))
			return;
	add_conflict(m, path, kind);
}

/* One message: number of paths, paths, type, text. False: malformed. */
static bool parse_message(struct merge *m, struct str count, struct str *rest)
{
	struct str paths = *rest;
	struct str type, text, path;
	struct str kind = { 0 };
	int64_t n;

	if (!str_to_int(count, &n) || n < 0)
		return false;
	for (int64_t i = 0; i < n; i++)
		if (!str_split(rest, '\0', &path))
			return false;
	if (!str_split(rest, '\0', &type) || !str_split(rest, '\0', &text))
		return false;
	if (!conflict_kind(type, &kind))
		return true;
	for (int64_t i = 0; i < n; i++)
		if (str_split(&paths, '\0', &path))
			add_once(m, path, kind);
	return true;
}

static bool has_conflict(const struct merge *m, struct str path)
{
	for (size_t i = 0; i < m->n; i++)
		if (str_is(path, m->conflicts[i].path))
			return true;
	return false;
}

/* Unmerged paths, which come sorted by git, of which one is above another. */
static bool has_nested(struct str unmerged)
{
	struct str above = { 0 };
	struct str field;

	while (str_split(&unmerged, '\0', &field) && field.len) {
		struct str path = str_skip(field, str_find(field, '\t') + 1);

		if (above.len && path.len > above.len &&
		    path.ptr[above.len] == '/' &&
		    !memcmp(path.ptr, above.ptr, above.len))
			return true;
		if (!above.len || path.len <= above.len ||
		    memcmp(path.ptr, above.ptr, above.len) != 0)
			above = path;
	}
	return false;
}

/* git merge-tree -z: the tree; "MODE OID STAGE\tPATH" for each unmerged one;
 * an empty field; the messages (git-merge-tree(1), 2.39). */
static int parse_output(struct merge *m, struct str out, struct error *err)
{
	struct str field;
	struct str unmerged;
	bool ok = str_split(&out, '\0', &field) && field.len < GIT_OID;

	if (ok) {
		memcpy(m->tree, field.ptr, field.len);
		m->tree[field.len] = '\0';
	}
	unmerged = out;
	m->unwritable = ok && has_nested(out);
	while (ok && str_split(&out, '\0', &field) && field.len)
		;
	while (ok && str_split(&out, '\0', &field) && field.len)
		ok = parse_message(m, field, &out);
	while (ok && str_split(&unmerged, '\0', &field) && field.len) {
		struct str path = str_skip(field, str_find(field, '\t') + 1);

		if (!has_conflict(m, path))
			add_conflict(m, path, STR("contents"));
	}
	return ok ? 0
		  : error_set(err, ERR_PROTOCOL,
			      "git merge-tree printed something else");
}

int merge_compute(struct merge *m, const struct git *g,
		  const struct merge_sides *sides, const struct stop *stop,
		  struct error *err)
{
	const char *argv[] = { "merge-tree", "--write-tree", "-z", "--messages",
			       "local",      "sandbox",      NULL };
	struct buf out = BUF_INIT(OUTPUT_MAX);
	int status = 0;
	struct git_request r = { .argv = argv, .out = &out, .status = &status };
	int rc = name_sides(g, sides, stop, err);

	if (rc == 0)
		rc = git_run(g, &r, stop, err);
	if (rc == 0 && status != 0 && status != 1)
		rc = error_set(err, ERR_SYSTEM, "git merge-tree: status %d",
			       status);
	if (rc == 0)
		rc = parse_output(m, buf_str(&out), err);
	/* A conflict that it does not name a path of. */
	if (rc == 0 && status == 1 && !m->n)
		add_conflict(m, STR("."), STR("contents"));
	buf_release(&out);
	return rc;
}
