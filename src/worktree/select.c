/* select.c - which files of the user's tree a sandbox gets. */
/* SPDX-License-Identifier: MIT */
#include "worktree/select.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "sandbox/files/glob_match.h"
#include "worktree/git.h"
#include "worktree/git_files.h"
#include "worktree/name.h"
#include "worktree/treefile.h"
#include "worktree/unreadable.h"
#include "worktree/user_repo.h"

enum {
	DEEPEST = 8, /* submodules within each other */
	NAMES_MAX = 1000000,
	EXCLUDE_MAX = 4 << 20,
};

/* One walk: the tree, or a submodule in it. */
struct tree_walk {
	struct selection *s;
	const struct workspace *w;
	const struct select_request *r;
	const struct stop *stop;
	struct tree_dir dir; /* of the root of it all */
	struct glob **globs;
	char *index; /* a file of ours */
	char *head;  /* SELECT_HEAD bytes, owned */
	char *seen;  /* owned: the last directory that was looked at, ... */
	int bare;    /* ... and bare_repo_find() of it */
};

static void add_one(struct select_left **list, size_t *n, const char *path,
		    const char *why, bool asked)
{
	*list = xrealloc(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = (struct select_left){ .path = xstrdup(path),
						.why = why,
						.asked = asked };
}

static void add_left(struct tree_walk *k, const char *path, const char *why,
		     bool asked)
{
	add_one(&k->s->left, &k->s->n_left, path, why, asked);
}

static bool is_included(struct tree_walk *k, const char *path)
{
	for (size_t i = 0; i < k->r->n_include; i++)
		if (glob_match(k->globs[i], str_of(path)))
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether an include sends what stays here unasked; noted where it does. */
static bool is_asked(struct tree_walk *k, const char *path, const char *why)
{
	const struct select_request *r = k->r;
	struct selection *s = k->s;
	bool allowed = r->n_allowed && bsearch(&path, r->allowed, r->n_allowed,
					       sizeof(*r->allowed), by_name);

	if (!allowed && !is_included(k, path))
		return false;
	if (!s->n_asked || strcmp(s->asked[s->n_asked - 1].path, path) != 0)
		add_one(&s->asked, &s->n_asked, path, why, true);
	return true;
}

static int add_file(struct tree_walk *k, const char *path,
		    const struct stat *st, bool keyless, struct error *err)
{
	struct selection *s = k->s;

	if (s->n == NAMES_MAX)
		return error_set(err, ERR_LIMIT,
				 "the tree has more than %d files", NAMES_MAX);
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 256;
		s->files = xrealloc(s->files, s->cap, sizeof(*s->files));
	}
	s->files[s->n++] = (struct selected){
		.path = xstrdup(path),
		.mode = S_ISLNK(st->st_mode)      ? LISTING_LINK
			: (st->st_mode & S_IXUSR) ? LISTING_PROGRAM
						  : LISTING_FILE,
		.size = st->st_size,
		.ctime = st->st_ctim,
		.keyless = keyless,
	};
	return 0;
}

static const char is_bare[] = "is a bare repository";

/* A bare repository below the root is named once, and not sent. Files of one
 * directory come together. */
static bool leave_repository(struct tree_walk *k, const char *path)
{
	const struct selection *s = k->s;
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	bool leave;
	char *top;

	if (!k->seen || strlen(k->seen) != len || memcmp(k->seen, path, len)) {
		free(k->seen);
		k->seen = xstrndup(path, len);
		k->bare = bare_repo_find(NULL, &k->dir, path);
	}
	if (k->bare <= 0 || is_included(k, path))
		return false;
	top = xstrndup(path, (size_t)k->bare - 1);
	leave = !is_asked(k, top, is_bare);
	if (leave && (!s->n_left || strcmp(s->left[s->n_left - 1].path, top)))
		add_left(k, top, is_bare, true);
	free(top);
	return leave;
}

/* Looks at one path; 1: there is nothing. */
static int look(struct tree_walk *k, const char *path, bool anyway,
		struct error *err)
{
	struct select_look l;
	bool keyless = false;
	const char *why;
	const char *name;
	struct stat st;
	bool leave = !anyway && leave_repository(k, path);
	int dir = tree_dir_parent(&k->dir, path, &name);

	if (leave)
		return 0;
	if (dir < 0 && errno == EACCES) {
		add_left(k, path, select_unreadable, false);
		return 0;
	}
	if (dir < 0 || select_is_own(k->w, path) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISDIR(st.st_mode))
		return 1;
	why = name_refuse(str_of(path),
			  S_ISLNK(st.st_mode) ? LISTING_LINK : LISTING_FILE);
	if (!why && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		why = "is neither a file nor a link";
	if (why) {
		add_left(k, path, why, false);
		return 0;
	}
	l = (struct select_look){ k->w->cache, dir, path, &st, k->head };
	why = anyway ? NULL : select_find_secret(&l, &keyless);
	if (why && (why == select_unreadable || !is_asked(k, path, why))) {
		add_left(k, path, why, why != select_unreadable);
		return 0;
	}
	return add_file(k, path, &st, keyless, err);
}

/* A part of a walk: what git lists below a prefix. */
struct walk_part {
	struct tree_walk *k;
	const char *prefix; /* "" or "sub/module/" */
	int depth;
	char **modules; /* owned: found on the way */
	size_t n_modules;
	bool matching;  /* only what --include names */
	char **dropped; /* owned, sorted: what .dcodeignore names */
	size_t n_dropped;
	struct nested_repo nested;
};

static int on_dropped(void *arg, const char *record, struct error *err)
{
	struct walk_part *p = arg;

	(void)err;
	if (p->n_dropped % 256 == 0)
		p->dropped = xrealloc(p->dropped, p->n_dropped + 256,
				      sizeof(*p->dropped));
	p->dropped[p->n_dropped++] = xstrdup(record);
	return 0;
}

static bool is_dropped(const struct walk_part *p, const char *record)
{
	return p->n_dropped && bsearch(&record, p->dropped, p->n_dropped,
				       sizeof(*p->dropped), by_name);
}

static int on_tracked(void *arg, const char *record, struct error *err)
{
	struct walk_part *p = arg;
	const char *tab = strchr(record, '\t');
	unsigned mode;
	char *path;
	int rc = 0;

	if (!tab || tab - record < 10)
		return error_set(err, ERR_PROTOCOL,
				 "git ls-files: a broken record");
	mode = (unsigned)strtoul(record + 2, NULL, 8);
	path = xasprintf("%s%s", p->prefix, tab + 1);
	if (mode == 0160000) {
		p->modules = xrealloc(p->modules, p->n_modules + 1,
				      sizeof(*p->modules));
		p->modules[p->n_modules++] = path;
		return 0;
	}
	if (mode == 0040000)
		p->k->s->sparse++;
	else
		rc = look(p->k, path, false, err);
	if (rc > 0 && record[0] == 'S')
		p->k->s->sparse++;
	free(path);
	return rc < 0 ? -1 : 0;
}

static int on_other(void *arg, const char *record, struct error *err)
{
	struct walk_part *p = arg;
	char *path = xasprintf("%s%s", p->prefix, record);
	size_t len = strlen(path);
	int rc = 0;

	if (p->matching ? !is_included(p->k, path) : is_dropped(p, record)) {
		free(path);
		return 0;
	}
	len = len && path[len - 1] == '/'
		      ? len - 1
		      : nested_repo_find(&p->nested, &p->k->dir, path,
					 strlen(p->prefix));
	if (!len) {
		rc = look(p->k, path, false, err);
	} else if (!p->matching) {
		path[len] = '\0';
		add_left(p->k, path, "is another repository", false);
	}
	free(path);
	return rc < 0 ? -1 : 0;
}

static int on_unreadable(void *arg, const char *path, struct error *err)
{
	struct walk_part *p = arg;

	(void)err;
	add_left(p->k, path, select_unreadable, false);
	return 0;
}

/* Untracked files, then, with --include, those among the ignored ones. */
static int list_others(struct walk_part *p, struct git *g, const char *excludes,
		       bool is_repository, struct error *err)
{
	struct nul_records each = { .each = on_other, .arg = p };
	char *from = xasprintf("--exclude-from=%s", excludes);
	const char *plain[] = {
		"ls-files", "-z", "-o", "--exclude-per-directory=.gitignore",
		from,       NULL
	};
	const char *all[] = { "ls-files", "-z", "-o", NULL };
	const char *ours[] = { "ls-files",
			       "-z",
			       "-o",
			       "-i",
			       "--exclude-per-directory=.dcodeignore",
			       NULL };
	struct nul_records drop = { .each = on_dropped, .arg = p };
	struct unreadable_request unreadable = {
		.git = g,
		.dir = &p->k->dir,
		.prefix = p->prefix,
		.excludes = excludes,
		.dcodeignore = !is_repository,
		.each = on_unreadable,
		.arg = p,
	};
	int rc = 0;

	if (!is_repository)
		rc = git_run_records(g, ours, &drop, p->k->stop, err);
	if (p->n_dropped)
		qsort(p->dropped, p->n_dropped, sizeof(*p->dropped), by_name);
	if (rc == 0)
		rc = git_run_records(g, plain, &each, p->k->stop, err);
	if (rc == 0 && each.warned) /* of directories it cannot read */
		rc = unreadable_find(&unreadable, p->k->stop, err);
	if (rc == 0 && p->k->r->n_include) {
		p->matching = true;
		rc = git_run_records(g, all, &each, p->k->stop, err);
		p->matching = false;
	}
	free(from);
	return rc;
}

static int write_excludes(struct tree_walk *k, const struct user_repo *u,
			  const char *file, struct error *err)
{
	struct buf text = BUF_INIT(EXCLUDE_MAX);
	int rc = user_repo_excludes(u, &k->w->git, k->r->home, &text, k->stop,
				    err);

	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	return rc;
}

static int walk_tree(struct tree_walk *k, const char *prefix, int depth,
		     struct error *err);

static int walk_modules(struct walk_part *p, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < p->n_modules; i++) {
		char *prefix = xasprintf("%s/", p->modules[i]);

		if (rc == 0 && p->depth < DEEPEST)
			rc = walk_tree(p->k, prefix, p->depth + 1, err);
		free(prefix);
		free(p->modules[i]);
	}
	free(p->modules);
	for (size_t i = 0; i < p->n_dropped; i++)
		free(p->dropped[i]);
	free(p->dropped);
	nested_repo_release(&p->nested);
	return rc;
}

/* Of a submodule without a repository that is read nothing is sent: that is
 * said, but for one that the user has deleted. */
static void note_module(struct walk_part *p, const char *root,
			const struct user_repo *u)
{
	size_t len = strlen(p->prefix);
	char *path;

	if (p->depth == 0)
		return;
	p->k->s->submodules += u->git_dir != NULL;
	if (u->git_dir || access(root, F_OK) < 0)
		return;
	path = xstrndup(p->prefix, len - 1);
	add_left(p->k, path,
		 u->refused ? u->refused
			    : "is a submodule that is not checked out",
		 false);
	free(path);
}

static int list_part(struct walk_part *p, const char *root, struct git *g,
		     const char *excludes, struct error *err)
{
	static const char *const tracked[] = { "ls-files", "-z",       "-s",
					       "-t",       "--sparse", NULL };
	struct nul_records each = { .each = on_tracked, .arg = p };
	struct tree_walk *k = p->k;
	struct error why = { 0 };
	struct user_repo u;
	int rc = user_repo_open(&u, root, &k->w->git, k->stop, err);
	char *objects = rc == 0 ? user_repo_objects(&u, &why) : NULL;

	g->objects = objects; /* the trees that a sparse index stands for */
	note_module(p, root, &u);
	if (rc == 0 && p->depth == 0 && !u.git_dir && bare_repo_above(root))
		rc = error_set(err, ERR_USAGE,
			       "%s is inside a bare git repository, which has "
			       "no working tree: start dcode in a working tree "
			       "(git worktree add DIR)",
			       root);
	if (rc == 0)
		rc = user_repo_copy_index(&u, &k->w->git, k->index, err);
	if (rc == 0)
		rc = write_excludes(k, &u, excludes, err);
	if (rc == 0 && p->depth == 0)
		k->s->is_repository = u.git_dir != NULL;
	if (p->depth == 0)
		k->s->refused = u.refused;
	if (rc == 0 && u.git_dir)
		rc = git_run_records(g, tracked, &each, k->stop, err);
	if (rc < 0 && !objects && why.code)
		*err = why;
	if (rc == 0 && (u.git_dir || p->depth == 0))
		rc = list_others(p, g, excludes, u.git_dir != NULL, err);
	free(objects);
	g->objects = NULL;
	user_repo_release(&u);
	return rc;
}

static int walk_tree(struct tree_walk *k, const char *prefix, int depth,
		     struct error *err)
{
	struct walk_part p = { .k = k, .prefix = prefix, .depth = depth };
	char *root = workspace_path(k->w, prefix);
	char *excludes = xasprintf("%s.excludes", k->index);
	struct git g = k->w->git;
	size_t len = strlen(root);
	const char *name;
	int rc = 0;

	while (len > 1 && root[len - 1] == '/')
		root[--len] = '\0';
	g.index = k->index;
	g.work_tree = root;
	/* A submodule's directory may have become a link that leads out. */
	if (depth == 0 || tree_dir_parent(&k->dir, prefix, &name) >= 0)
		rc = list_part(&p, root, &g, excludes, err);
	(void)unlink(excludes);
	if (rc == 0)
		rc = walk_modules(&p, err);
	free(excludes);
	free(root);
	return rc;
}

static int open_walk(struct tree_walk *k, struct error *err)
{
	char random[17];

	ids_random(random, 16);
	k->index = xasprintf("%s/index-%s", k->w->directory, random);
	k->head = xcalloc(1, SELECT_HEAD);
	k->globs = xcalloc(k->r->n_include + 1, sizeof(void *));
	for (size_t i = 0; i < k->r->n_include; i++)
		if (glob_new(&k->globs[i], str_of(k->r->include[i]),
			     GLOB_HIDDEN, err) < 0)
			return error_wrap(err, "--include %s",
					  k->r->include[i]);
	return tree_dir_open(&k->dir, k->w->root, err);
}

static void close_walk(struct tree_walk *k)
{
	for (size_t i = 0; i < k->r->n_include; i++)
		glob_free(k->globs[i]);
	free(k->globs);
	(void)unlink(k->index);
	free(k->index);
	free(k->head);
	free(k->seen);
	tree_dir_close(&k->dir);
	free(k);
}

int select_files(struct selection *s, const struct workspace *w,
		 const struct select_request *r, const struct stop *stop,
		 struct error *err)
{
	struct tree_walk *k = xcalloc(1, sizeof(*k));
	int rc;

	*s = (struct selection){ 0 };
	*k = (struct tree_walk){
		.s = s, .w = w, .r = r, .stop = stop, .dir = { .root = -1 }
	};
	rc = open_walk(k, err);
	if (rc == 0)
		rc = git_files_check(w->root, err);
	if (rc == 0)
		rc = walk_tree(k, "", 0, err);
	for (size_t i = 0; rc == 0 && i < r->n_extra; i++)
		rc = look(k, r->extra[i], !r->guard_extra, err) < 0 ? -1 : 0;
	close_walk(k);
	select_sort(s);
	if (rc < 0)
		select_release(s);
	return rc;
}
