/* bring_index.c - dcode apply --index: stages what was written. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/session/bring.h"
#include "cmd/session/gitlinks.h"
#include "cmd/session/user_git.h"

enum { PATHS_MAX = 256 << 20 };

static bool in_conflict(const struct bring *b, const char *path)
{
	const struct merge *m = &b->result.merge;

	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->conflicts[i].path, path))
			return true;
	return false;
}

static void list_paths(const struct apply_file *files, size_t n,
		       struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		if (!files[i].unstaged)
			buf_add(out, files[i].path, strlen(files[i].path) + 1);
}

static void leave_unstaged(struct apply_file *files, size_t n, struct str path)
{
	for (size_t i = 0; i < n; i++)
		if (str_is(path, files[i].path))
			files[i].unstaged = true;
}

static int leave_submodules(const struct git *g, struct apply_file *files,
			    size_t n, const struct stop *stop,
			    struct error *err)
{
	struct gitlinks links = { 0 };
	int rc = gitlinks_read(&links, g, stop, err);

	for (size_t i = 0; i < n; i++)
		if (gitlinks_touch(&links, files[i].path))
			files[i].unstaged = true;
	gitlinks_release(&links);
	return rc;
}

/* A merge of the user's own is not over: git add would end it there. */
static int leave_unmerged(const struct git *g, struct apply_file *files,
			  size_t n, const struct stop *stop, struct error *err)
{
	const char *argv[] = { "ls-files", "-u", "-z", NULL };
	struct buf out = BUF_INIT(PATHS_MAX);
	struct git_request r = { .argv = argv, .out = &out };
	int rc = git_run(g, &r, stop, err);
	struct str rest = buf_str(&out);
	struct str entry;

	while (rc == 0 && str_split(&rest, '\0', &entry))
		leave_unstaged(files, n,
			       str_skip(entry, str_find(entry, '\t') + 1));
	buf_release(&out);
	return rc;
}

/* git would run a program on these; only the user does. */
static int leave_filtered(const struct git *g, struct apply_file *files,
			  size_t n, const struct stop *stop, struct error *err)
{
	const char *argv[] = { "check-attr", "-z", "--stdin", "filter", NULL };
	struct buf in = BUF_INIT(PATHS_MAX);
	struct buf out = BUF_INIT(PATHS_MAX);
	struct git_request r = { .argv = argv, .out = &out };
	struct str rest, path, name, value;
	int rc;

	list_paths(files, n, &in);
	r.input = buf_str(&in);
	rc = git_run(g, &r, stop, err);
	rest = buf_str(&out);
	while (rc == 0 && str_split(&rest, '\0', &path) &&
	       str_split(&rest, '\0', &name) && str_split(&rest, '\0', &value))
		if (!str_is(value, "unspecified") && !str_is(value, "unset"))
			leave_unstaged(files, n, path);
	buf_release(&in);
	buf_release(&out);
	return rc;
}

/* Line ends as git add would store them. */
static int update(const struct git *g, const struct user_git *u,
		  struct apply_file *files, size_t n, const struct stop *stop,
		  struct error *err)
{
	const char *argv[] = { "-c",    u->autocrlf,    "-c",
			       u->eol,  "update-index", "--no-split-index",
			       "--add", "--remove",     "--replace",
			       "-z",    "--stdin",      NULL };
	struct buf in = BUF_INIT(PATHS_MAX);
	struct git_request r = { .argv = argv };
	int rc;

	list_paths(files, n, &in);
	r.input = buf_str(&in);
	rc = git_run(g, &r, stop, err);
	if (rc < 0)
		error_wrap(err, "staging");
	buf_release(&in);
	return rc;
}

int bring_index(void *bring, const char *before, const char *after,
		struct apply_file *files, size_t n, struct error *err)
{
	struct bring *b = bring;
	struct stop stop = app_stop(b->app);
	struct user_git u;
	struct git g;
	int rc;

	(void)before; /* user_repo_copy_index() has the same, and its parts */
	if (user_git_open(&u, b->workspace, &stop, err) < 0)
		return -1;
	g = u.git;
	g.index = after;
	g.work_tree = b->workspace->root;
	for (size_t i = 0; i < n; i++)
		files[i].unstaged = in_conflict(b, files[i].path);
	rc = user_repo_copy_index(&u.repo, &g, after, err);
	if (rc == 0)
		rc = leave_submodules(&g, files, n, &stop, err);
	if (rc == 0)
		rc = leave_unmerged(&g, files, n, &stop, err);
	if (rc == 0)
		rc = leave_filtered(&g, files, n, &stop, err);
	if (rc == 0)
		rc = update(&g, &u, files, n, &stop, err);
	user_git_close(&u);
	return rc;
}
