/* fetch_ignored.c - which new files stay behind, decided by the git here. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "git/named_files.h"
#include "tree/name.h"
#include "workspace/fetch/fetch_impl.h"

enum {
	PATTERNS_MAX = 1 << 20, /* bytes of those to include */
	NAMES_MAX = 256 << 20,
};

/* Of a commit that is needed only while names are matched. */
#define PATTERNS_REF "refs/dcode-fetch/patterns"

static bool is_gitignore(const char *path)
{
	const char *name = strrchr(path, '/');

	return !strcmp(name ? name + 1 : path, ".gitignore");
}

static bool is_refused(const char *path)
{
	return name_refuse(str_of(path), NAME_FILE) != NULL;
}

/* The .gitignore files of what the sandbox has, with the user's own patterns
 * before those of the root. */
static int write_patterns(struct fetching *g, const char *scratch,
			  struct error *err)
{
	const struct named_files files = { .name = ".gitignore",
					   .tree = g->f->theirs,
					   .first = g->request->exclude,
					   .skip = is_refused };

	return named_files_write(&files, &g->w->git, scratch, NULL, g->stop,
				 err);
}

/* What the user includes, as the only patterns. */
static int write_include(struct fetching *g, const char *scratch,
			 struct error *err)
{
	const struct fetch_request *r = g->request;
	char *file = path_join(scratch, ".gitignore");
	struct buf text = BUF_INIT(PATTERNS_MAX);
	int rc;

	for (size_t i = 0; i < r->n_include; i++)
		buf_addf(&text, "%s\n", r->include[i]);
	rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

/* Sets matched for each name that the .gitignore files in scratch match. */
static int match_names(struct fetching *g, const char *scratch, bool *matched,
		       struct error *err)
{
	/* check-ignore refuses to run with literal pathspecs. */
	static const char *const argv[] = { "--no-literal-pathspecs",
					    "check-ignore",
					    "-z",
					    "--stdin",
					    "--no-index",
					    NULL };
	struct buf names = BUF_INIT(NAMES_MAX);
	struct buf out = BUF_INIT(NAMES_MAX);
	struct git git = g->w->git;
	struct str rest;
	struct str name;
	int status = 0;
	size_t at = 0;
	int rc;

	git.work_tree = scratch;
	for (size_t i = 0; i < g->n; i++)
		buf_add(&names, g->names[i].path, strlen(g->names[i].path) + 1);
	rc = buf_check(&names, "the list of new files", err);
	if (rc == 0)
		rc = git_run(&git,
			     &(struct git_request){ .argv = argv,
						    .input = buf_str(&names),
						    .out = &out,
						    .status = &status },
			     g->stop, err);
	if (rc == 0 && status > 1)
		rc = error_set(err, ERR_SYSTEM, "git check-ignore: status %d",
			       status);
	rest = buf_str(&out);
	while (rc == 0 && str_split(&rest, '\0', &name)) {
		while (at < g->n && !str_is(name, g->names[at].path))
			at++;
		if (at < g->n)
			matched[at] = true;
	}
	buf_release(&names);
	buf_release(&out);
	return rc;
}

static int match_in(struct fetching *g, bool include, bool *matched,
		    struct error *err)
{
	char *scratch = path_join(g->w->directory, "ignored.XXXXXX");
	struct error ignored = { 0 };
	int rc = mkdtemp(scratch) ? 0 : error_errno(err, "%s", scratch);

	if (rc < 0) {
		free(scratch);
		return -1;
	}
	rc = include ? write_include(g, scratch, err)
		     : write_patterns(g, scratch, err);
	if (rc == 0)
		rc = match_names(g, scratch, matched, err);
	(void)path_remove_tree(scratch, &ignored);
	free(scratch);
	return rc;
}

static bool is_in_repository(const struct fetching *g, const char *path)
{
	for (size_t i = 0; i < g->scan.n; i++) {
		const struct scan_record *r = &g->scan.records[i];
		size_t len = strlen(r->path);

		if (r->kind == SCAN_REPOSITORY && len &&
		    !strncmp(path, r->path, len) && path[len] == '/')
			return true;
	}
	return false;
}

static bool may_come(struct fetching *g, const char *path)
{
	const char *why = name_refuse(str_of(path), NAME_FILE);

	if (why)
		fetch_note(&g->f->refused, &g->f->n_refused, path, why);
	return !why && !is_in_repository(g, path);
}

/* Paths that stay behind, borrowed of the scan's records. */
struct path_list {
	const char **list;
	size_t n;
};

static void add_path(struct path_list *l, const char *path)
{
	if (!(l->n & (l->n - 1)))
		l->list = xrealloc(l->list, l->n ? 2 * l->n : 1,
				   sizeof(*l->list));
	l->list[l->n++] = path;
}

static int drop_matched(struct fetching *g, struct path_list *dropped,
			struct error *err)
{
	bool *ignored = xcalloc(g->n, sizeof(*ignored));
	bool *included = xcalloc(g->n, sizeof(*included));
	size_t kept = 0;
	int rc = match_in(g, false, ignored, err);

	if (rc == 0 && g->request->n_include)
		rc = match_in(g, true, included, err);
	for (size_t i = 0; i < g->n && rc == 0; i++) {
		if (ignored[i] && !included[i])
			add_path(dropped, g->names[i].path);
		else
			g->names[kept++] = g->names[i];
	}
	g->n = kept;
	free(ignored);
	free(included);
	return rc;
}

/* New .gitignore files decide about the other names, and about themselves:
 * they come to a commit that is only read. */
static int fetch_patterns(struct fetching *g, const struct scan_request *r,
			  struct path_list *dropped, struct error *err)
{
	struct fetch f = { 0 };
	struct fetching p = { .w = g->w,
			      .request = g->request,
			      .f = &f,
			      .stop = g->stop,
			      .ref = PATTERNS_REF,
			      .scan = { .spool = -1 } };
	int rc = 0;

	for (size_t i = 0; i < g->n; i++)
		if (is_gitignore(g->names[i].path))
			fetch_announce(&p, g->names[i].path);
	if (p.n)
		rc = fetch_pack(&p, r, g->f->theirs, err);
	if (p.n && rc == 0) {
		char theirs[GIT_OID];

		memcpy(theirs, g->f->theirs, sizeof(theirs));
		memcpy(g->f->theirs, f.theirs, sizeof(theirs));
		rc = drop_matched(g, dropped, err);
		memcpy(g->f->theirs, theirs, sizeof(theirs));
	}
	odb_commit_abort(p.commit);
	scan_release(&p.scan);
	fetch_items_release(&p.links, &p.n_links);
	fetch_items_release(&p.originals, &p.n_originals);
	fetch_release(&f);
	free(p.names);
	return rc;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int fetch_drop_ignored(struct fetching *g, const struct scan_request *r,
		       struct error *err)
{
	struct path_list dropped = { 0 };
	size_t kept = 0;
	int rc;

	for (size_t i = 0; i < g->n; i++)
		if (may_come(g, g->names[i].path))
			g->names[kept++] = g->names[i];
	g->n = kept;
	if (!g->n)
		return 0;
	rc = drop_matched(g, &dropped, err);
	if (rc == 0)
		rc = fetch_patterns(g, r, &dropped, err);
	if (dropped.n)
		qsort(dropped.list, dropped.n, sizeof(*dropped.list),
		      compare_paths);
	if (rc == 0)
		fetch_collapse_ignored(g, dropped.list, dropped.n);
	free(dropped.list);
	return rc;
}
