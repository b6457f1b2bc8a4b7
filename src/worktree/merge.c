/* merge.c - git's three-way merge, computed in dcode's repository. */
/* SPDX-License-Identifier: MIT */
/*
 * git merge-tree does the merge, without an index or work tree. It needs two
 * preparations: branches, because it names the sides in conflict markers after
 * its arguments; and a scratch git directory with the .gitattributes files of
 * the local side, which control how a file is merged. Its output lists trees,
 * stages and messages. Names that git invented are replaced by the user's.
 * Begin reading at merge_in().
 */
#include "worktree/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "worktree/odb.h"

enum { OUTPUT_MAX = 64 << 20, INFO_MAX = 2 << 20 };

#define MEMORY_MAX ((size_t)4 << 30) /* memory limit of git */

/* The last lines of info/attributes override all others. git does not limit the
 * size of conflict markers: one of 300 MB, set by a hostile tree, would fill
 * memory and disk. */
#define ALWAYS_OFF                                                             \
	"* -ident -filter -working-tree-encoding !conflict-marker-size\n"
#define LINE_ENDS_OFF "* -text -eol\n"

/*
 * A git directory below g's, with g's objects, and a work tree that contains
 * only the .gitattributes files of the local side, which control the merge:
 * merge=union, -merge, binary. Filters and encodings stay off; so do line ends
 * unless requested. An unknown merge driver merges as text, because no
 * configuration defines it.
 */
struct scratch {
	struct git git; /* g itself if there are no attributes */
	char *dir, *git_dir, *tree, *object_env; /* owned, or NULL */
	const char *env[2];
};

/* Writes info/attributes: the user's lines, then those of dcode. */
static int write_info(const struct scratch *s, const struct merge_sides *sides,
		      struct error *err)
{
	struct buf text = BUF_INIT(INFO_MAX);
	char *info = path_join(s->git_dir, "info");
	char *file = path_join(info, "attributes");
	int rc = path_mkdirs(info, 0700, err);

	buf_addstr(&text, sides->attributes.info);
	buf_adds(&text, "\n" ALWAYS_OFF);
	if (!sides->autocrlf)
		buf_adds(&text, LINE_ENDS_OFF);
	if (rc == 0)
		rc = buf_check(&text, "info/attributes", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(info);
	free(file);
	return rc;
}

/* The caller calls close_scratch() in any case. */
static int open_scratch(struct scratch *s, const struct git *g,
			const struct merge_sides *sides,
			const struct stop *stop, struct error *err)
{
	const struct merge_attributes *a = &sides->attributes;
	const struct named_files files = { .name = ".gitattributes",
					   .tree = sides->ours,
					   .first = a->global };
	struct error ignored = { 0 };
	size_t n = 0;
	int rc;

	*s = (struct scratch){ .git = *g, .dir = path_join(g->dir, "merge") };
	s->git_dir = path_join(s->dir, "git");
	s->tree = path_join(s->dir, "tree");
	(void)path_remove_tree(s->dir, &ignored); /* left by a killed process */
	rc = path_mkdirs(s->tree, 0700, err);
	if (rc == 0)
		rc = odb_write_named_files(&files, g, s->tree, &n, stop, err);
	if (rc < 0 ||
	    (!n && !a->info.len && !a->global.len && !sides->autocrlf))
		return rc;
	s->object_env = xasprintf("GIT_OBJECT_DIRECTORY=%s/objects", g->dir);
	s->env[0] = s->object_env;
	s->git.dir = s->git_dir;
	s->git.work_tree = s->tree;
	s->git.env = s->env;
	if (write_info(s, sides, err) < 0)
		return -1;
	return git_init(&s->git, stop, err);
}

static void close_scratch(struct scratch *s)
{
	struct error ignored = { 0 };

	(void)path_remove_tree(s->dir, &ignored);
	free(s->dir);
	free(s->git_dir);
	free(s->tree);
	free(s->object_env);
	*s = (struct scratch){ 0 };
}

static void add_conflict(struct merge *m, struct str path, struct str kind)
{
	m->conflicts = xrealloc(m->conflicts, m->n + 1, sizeof(*m->conflicts));
	m->conflicts[m->n++] = (struct merge_conflict){
		.path = xstrndup(path.len ? path.ptr : "", path.len),
		.kind = xstrndup(kind.len ? kind.ptr : "", kind.len)
	};
}

static void release_conflicts(struct merge *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->conflicts[i].path);
		free(m->conflicts[i].kind);
	}
	free(m->conflicts);
}

void merge_release(struct merge *m)
{
	release_conflicts(m);
	for (size_t i = 0; i < m->n_stages; i++)
		free(m->stages[i].path);
	free(m->stages);
	*m = (struct merge){ 0 };
}

/* Makes a commit with one parent or none, so that git finds the merge base. */
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
		rc = error_set(err, ERR_SYSTEM,
			       "git commit-tree did not return a commit id");
	if (rc == 0)
		memcpy(oid, out.ptr, out.len + 1);
	buf_release(&out);
	return rc;
}

/* Makes branches, because merge-tree names the sides in markers and files after
 * its arguments. */
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

/* Sets kind to "contents" for "CONFLICT (contents)". */
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

/* True if kind replaces known for the same path: git reports "contents" for
 * every file that it could not merge, in addition to the kind with the
 * reason. */
static bool says_more(struct str kind, const char *known)
{
	return str_is(kind, MERGE_FILE_DIRECTORY) ||
	       (!strcmp(known, "contents") && !str_is(kind, known));
}

/* Adds a conflict once per path, with the more specific kind. */
static void add_once(struct merge *m, struct str path, struct str kind)
{
	for (size_t i = 0; i < m->n; i++) {
		struct merge_conflict *c = &m->conflicts[i];

		if (!str_is(path, c->path))
			continue;
		if (says_more(kind, c->kind)) {
			free(c->kind);
			c->kind = xstrndup(kind.ptr, kind.len);
		}
		return;
	}
	add_conflict(m, path, kind);
}

/* Parses a message: number of paths, paths, type, text. False: malformed. */
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

/* True if one unmerged path is above another; git prints them sorted. */
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

/* True if git 2.39 lost a file, because a directory was in the way of a rename:
 * it prints an unmerged path without a mode, and the tree contains a submodule
 * without a commit. */
static bool has_lost(struct str unmerged)
{
	struct str field;

	while (str_split(&unmerged, '\0', &field) && field.len)
		if (str_starts(field, "000000 "))
			return true;
	return false;
}

/* Parses "MODE OID STAGE\tPATH". */
static bool add_stage(struct merge *m, struct str field)
{
	struct str path = str_skip(field, str_find(field, '\t') + 1);
	struct str info = { field.ptr, str_find(field, '\t') };
	struct merge_stage s = { 0 };
	struct str mode = { 0 }, oid = { 0 };

	if (!str_split(&info, ' ', &mode) || !str_split(&info, ' ', &oid) ||
	    oid.len >= GIT_OID || info.len != 1 || info.ptr[0] < '1' ||
	    info.ptr[0] > '3')
		return false;
	for (size_t i = 0; i < mode.len; i++)
		s.mode = 8 * s.mode + (unsigned)(mode.ptr[i] - '0');
	memcpy(s.oid, oid.ptr, oid.len);
	s.stage = info.ptr[0] - '0';
	s.path = xstrndup(path.ptr, path.len);
	if (!(m->n_stages & (m->n_stages - 1)))
		m->stages =
			xrealloc(m->stages, m->n_stages ? 2 * m->n_stages : 1,
				 sizeof(*m->stages));
	m->stages[m->n_stages++] = s;
	return true;
}

/* Parses the output of git merge-tree -z: the tree; "MODE OID STAGE\tPATH" for
 * each unmerged path; an empty field; the messages (git-merge-tree(1),
 * 2.39). */
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
	m->unwritable = ok && (has_nested(out) || has_lost(out));
	while (ok && str_split(&out, '\0', &field) && field.len)
		ok = add_stage(m, field);
	while (ok && str_split(&out, '\0', &field) && field.len)
		ok = parse_message(m, field, &out);
	/* unmerged paths that no message names */
	while (ok && str_split(&unmerged, '\0', &field) && field.len) {
		struct str path = str_skip(field, str_find(field, '\t') + 1);

		if (!has_conflict(m, path))
			add_conflict(m, path, STR("contents"));
	}
	return ok ? 0
		  : error_set(err, ERR_PROTOCOL,
			      "git merge-tree printed unexpected output");
}

/* git invents names like "d~local" and "d~sandbox_1" for a file whose place a
 * directory has taken. Returns the length of the part before that suffix, or
 * 0. */
static size_t find_suffix(const char *path)
{
	static const char *const sides[] = { "~local", "~sandbox" };

	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
		const char *at = NULL;
		const char *next = path;
		const char *rest;

		while ((next = strstr(next, sides[i])))
			at = next++;
		rest = at ? at + strlen(sides[i]) : "?";
		if (*rest == '_' && rest[1])
			rest += 1 + strspn(rest + 1, "0123456789");
		if (!*rest && at > path)
			return (size_t)(at - path);
	}
	return 0;
}

/* An odb_sink: marks conflicts whose path exists as a file on some side. */
static int mark_real(void *arg, const struct odb_record *r, struct error *err)
{
	struct merge *m = arg;

	(void)err;
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->conflicts[i].path, r->path))
			m->conflicts[i].real = true;
	return 0;
}

/* Replaces invented names by the file's own, each path once. */
static void rename_conflicts(struct merge *m)
{
	struct merge renamed = { 0 };

	for (size_t i = 0; i < m->n; i++) {
		const struct merge_conflict *c = &m->conflicts[i];
		struct str path = str_of(c->path);
		size_t len = c->real ? 0 : find_suffix(c->path);

		if (len)
			path.len = len;
		add_once(&renamed, path, str_of(c->kind));
	}
	release_conflicts(m);
	m->conflicts = renamed.conflicts;
	m->n = renamed.n;
}

/* Replaces invented names by the file's own, unless a side has a file with that
 * name. */
static int drop_invented(struct merge *m, const struct git *g,
			 const struct merge_sides *s, const struct stop *stop,
			 struct error *err)
{
	const struct odb_sink sink = { mark_real, m };
	bool any = false;

	for (size_t i = 0; i < m->n; i++)
		any = any || find_suffix(m->conflicts[i].path);
	if (!any)
		return 0;
	if (odb_tree_diff(g, NULL, s->ours, &sink, stop, err) < 0 ||
	    odb_tree_diff(g, NULL, s->theirs, &sink, stop, err) < 0)
		return -1;
	rename_conflicts(m);
	return 0;
}

/* Reports that the merge was too large, the likely cause: git's exit status
 * does not tell why it gave up. */
static int too_large(int status, size_t most, struct error *err)
{
	error_set(
		err, ERR_LIMIT,
		"the files that changed on both sides cannot be merged in %zu "
		"MiB of memory (git merge-tree: status %d)",
		most >> 20, status);
	return error_hint(err,
			  "`dcode apply --interactive` applies some of them.");
}

/* Merges in g, which has the attributes of the local side. */
static int merge_in(struct merge *m, const struct git *g,
		    const struct merge_sides *sides, const struct stop *stop,
		    struct error *err)
{
	const char *argv[] = { "-c",         sides->autocrlf,
			       "-c",         sides->eol,
			       "-c",         "merge.renormalize=true",
			       "merge-tree", "--write-tree",
			       "-z",         "--messages",
			       "local",      "sandbox",
			       NULL };
	struct buf out = BUF_INIT(OUTPUT_MAX);
	int status = 0;
	size_t most = sides->memory_max ? sides->memory_max : MEMORY_MAX;
	struct git_request r = { .argv = sides->autocrlf ? argv : argv + 6,
				 .out = &out,
				 .status = &status,
				 .data_max = most };
	int rc = name_sides(g, sides, stop, err);

	if (rc == 0)
		rc = git_run(g, &r, stop, err);
	if (rc == 0 && status != 0 && status != 1)
		rc = too_large(status, most, err);
	if (rc == 0)
		rc = parse_output(m, buf_str(&out), err);
	/* git reported a conflict without a path. */
	if (rc == 0 && status == 1 && !m->n)
		add_conflict(m, STR("."), STR("contents"));
	if (rc == 0)
		rc = drop_invented(m, g, sides, stop, err);
	buf_release(&out);
	return rc;
}

int merge_compute(struct merge *m, const struct git *g,
		  const struct merge_sides *sides, const struct stop *stop,
		  struct error *err)
{
	struct scratch s;
	int rc = open_scratch(&s, g, sides, stop, err);

	if (rc == 0)
		rc = merge_in(m, &s.git, sides, stop, err);
	close_scratch(&s);
	return rc;
}
