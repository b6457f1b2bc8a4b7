/* guard.c - keeps a bound directory from running things on the host. */
/* SPDX-License-Identifier: MIT */
#include "providers/local/guard.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "providers/local/gitconfig.h"

enum {
	/* bubblewrap reads the mount table anew for each: 300 take 0.2 s,
	 * 1000 take 2.6 s (0.8.0 on one core). */
	MOUNTS_MAX = 400,
	NAMES_MAX = 20, /* in one message */
};

struct mount {
	char *path; /* owned, relative to the root */
	bool writable;
};

struct plan {
	struct guard *g;
	const char *base; /* bubblewrap's option for the root itself; or NULL */
	struct mount *list;
	size_t n;
};

static void add_mount(struct plan *p, const char *path, bool writable)
{
	char *whole;

	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->list[i].path, path))
			return;
	if (p->n >= MOUNTS_MAX) {
		p->g->left_out++;
		return;
	}
	p->list = xrealloc(p->list, p->n + 1, sizeof(*p->list));
	p->list[p->n++] = (struct mount){ xstrdup(path), writable };
	whole = path_join(p->g->watch.root_path, path);
	record_share(&p->g->record, whole);
	free(whole);
}

/* A mount on a link would land on what it points to, so that is what becomes
 * read-only; the link itself can be replaced, which guard_check() sees. */
static void protect(struct plan *p, const char *path, const struct stat *st)
{
	char *target;

	if (!S_ISLNK(st->st_mode)) {
		add_mount(p, path, false);
		return;
	}
	target = watch_resolve(&p->g->watch, path);
	if (target)
		add_mount(p, target, false);
	free(target);
}

static void protect_existing(struct plan *p, const char *path)
{
	struct stat st;

	if (fstatat(p->g->watch.root, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		protect(p, path, &st);
}

/* Makes a name read-only; a missing one is occupied by a placeholder. */
static void occupy(struct plan *p, const char *dir, const char *name,
		   bool directory)
{
	char *path = dir[0] ? path_join(dir, name) : xstrdup(name);
	char *whole = path_join(p->g->watch.root_path, path);
	struct stat st;

	if (fstatat(p->g->watch.root, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		protect(p, path, &st);
	} else if (p->n < MOUNTS_MAX) {
		record_plan(&p->g->record, whole, directory);
		add_mount(p, path, false);
	} else {
		p->g->left_out++;
	}
	free(whole);
	free(path);
}

/* A hooksPath or include.path that leads into the tree. A missing one can only
 * be occupied where its directory is there. */
static void add_named(void *arg, const char *path, enum named_kind kind)
{
	struct plan *p = arg;
	const char *slash = strrchr(path, '/');
	char *dir = xstrndup(path, slash ? (size_t)(slash - path) : 0);
	struct stat st;

	if (kind == NAMED_PROGRAM)
		protect_existing(p, path);
	else if (fstatat(p->g->watch.root, dir[0] ? dir : ".", &st, 0) == 0)
		occupy(p, "", path, kind == NAMED_HOOKS);
	free(dir);
}

/* Whatever git runs a program for is in these; without commondir it would
 * take them from where a commondir that the model writes says. */
static void add_git(struct plan *p, const char *path)
{
	if (path[0])
		add_mount(p, path, true);
	occupy(p, path, "config", false);
	occupy(p, path, "config.worktree", false);
	occupy(p, path, "hooks", true);
	occupy(p, path, "info", true);
	occupy(p, path, "commondir", false);
	gitconfig_each(p->g->watch.root_path, path, add_named, p);
}

static void add_node(struct plan *p, const struct node *node)
{
	switch (node->kind) {
	case NODE_TREE:
		if (node->bare)
			add_git(p, node->path);
		break;
	case NODE_GIT:
		add_git(p, node->path);
		break;
	case NODE_MODULES:
	case NODE_WORKTREES:
		add_mount(p, node->path, true);
		break;
	case NODE_WORKTREE:
		add_mount(p, node->path, true);
		occupy(p, node->path, "config.worktree", false);
		break;
	case NODE_LEAF:
		protect_existing(p, node->path);
		break;
	case NODE_LOGS:
	case NODE_NAMED:
		break;
	}
}

/* Names that are no patterns can be occupied while they are missing. */
static void add_plain(struct plan *p)
{
	const struct protect *names = &p->g->watch.names;

	for (size_t i = 0; i < names->n; i++)
		if (protect_is_plain(names->patterns[i]))
			occupy(p, "", names->patterns[i], true);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct mount *)a)->path,
		      ((const struct mount *)b)->path);
}

static void add_words(struct buf *out, const char *option, const char *from,
		      const char *to)
{
	buf_add(out, option, strlen(option) + 1);
	buf_add(out, from, strlen(from) + 1);
	buf_add(out, to, strlen(to) + 1);
}

/* A directory's mount comes before those inside it. */
static int write_arguments(struct plan *p, struct error *err)
{
	struct guard *g = p->g;
	struct buf out = BUF_INIT(16 << 20);
	int rc;

	if (p->n)
		qsort(p->list, p->n, sizeof(*p->list), by_path);
	if (p->base)
		add_words(&out, p->base, g->watch.root_path, g->inside);
	for (size_t i = 0; i < p->n; i++) {
		char *from = path_join(g->watch.root_path, p->list[i].path);
		char *to = path_join(g->inside, p->list[i].path);
		struct stat st;

		/* A placeholder that dcode could not make the sandbox, the
		 * same user, cannot make either. */
		if (lstat(from, &st) == 0)
			add_words(&out,
				  p->list[i].writable ? "--bind-try"
						      : "--ro-bind-try",
				  from, to);
		free(from);
		free(to);
	}
	rc = buf_check(&out, "the list of read-only names", err);
	g->arguments_len = out.len;
	g->arguments = buf_detach(&out);
	buf_release(&out);
	return rc;
}

static void plan_tree(struct guard *g, struct plan *p)
{
	add_plain(p);
	for (size_t i = 0; i < g->watch.n; i++)
		if (g->watch.nodes[i].kind != NODE_LEAF)
			add_node(p, &g->watch.nodes[i]);
	for (size_t i = 0; i < g->watch.n; i++)
		if (g->watch.nodes[i].kind == NODE_LEAF)
			add_node(p, &g->watch.nodes[i]);
}

/* Placeholders and arguments; releases the plan. */
static int carry_out(struct guard *g, struct plan *p, struct error *err)
{
	int rc = record_make(&g->record, err);

	if (rc == 0)
		rc = write_arguments(p, err);
	for (size_t i = 0; i < p->n; i++) {
		if (!p->list[i].writable)
			watch_set_known(&g->watch, p->list[i].path);
		free(p->list[i].path);
	}
	free(p->list);
	return rc;
}

static int open_parts(struct guard *g, const struct guard_request *r,
		      const struct stop *stop, struct error *err)
{
	struct protect names;

	*g = (struct guard){ .record = { .fd = -1, .lock = -1 },
			     .inside = xstrdup(r->inside) };
	if (protect_load(&names, r->settings, err) < 0 ||
	    watch_open(&g->watch, r->root, &names, stop, err) < 0)
		return -1;
	return record_open(&g->record, settings_dir(r->settings), r->label,
			   stop, err);
}

int guard_open(struct guard *g, const struct guard_request *r,
	       const struct stop *stop, struct error *err)
{
	struct plan p = { .g = g };

	if (open_parts(g, r, stop, err) < 0)
		return -1;
	plan_tree(g, &p);
	return carry_out(g, &p, err);
}

static void add_use(void *arg, const char *path, enum bind_git_use use)
{
	struct plan *p = arg;
	const char *slash = strrchr(path, '/');
	char *dir = xstrndup(path, slash ? (size_t)(slash - path) : 0);

	if (use == BIND_GIT_WRITES)
		add_mount(p, path, true);
	else if (use == BIND_GIT_READS)
		protect_existing(p, path);
	else
		occupy(p, dir, slash ? slash + 1 : path,
		       use == BIND_GIT_NO_DIRECTORY);
	free(dir);
}

int guard_open_git(struct guard *g, const struct guard_request *r,
		   const struct bind_git *git, const struct stop *stop,
		   struct error *err)
{
	bool is_one = !strcmp(git->git_dir, git->common);
	struct plan p = { .g = g, .base = is_one ? "--bind" : "--ro-bind" };

	if (open_parts(g, r, stop, err) < 0)
		return -1;
	if (is_one)
		add_git(&p, "");
	bind_git_each(git, add_use, &p);
	return carry_out(g, &p, err);
}

static void add_found(void *arg, const char *path)
{
	struct guard *g = arg;

	g->found = xrealloc(g->found, g->n_found + 1, sizeof(*g->found));
	g->found[g->n_found++] = xstrdup(path);
}

static void report_limits(struct guard *g,
			  void (*each)(void *arg, const char *line), void *arg)
{
	const struct watch *w = &g->watch;
	char *line;

	if (g->left_out && g->reported < 1) {
		line = xasprintf("%s has more protected names than can be "
				 "mounted: %zu of them are not read-only",
				 w->root_path, g->left_out);
		each(arg, line);
		free(line);
	}
	if (w->over && g->reported < 2) {
		line = xasprintf("%s is too large to search: new protected "
				 "names in a part of it will not be noticed",
				 w->root_path);
		each(arg, line);
		free(line);
	}
	g->reported = w->over ? 2 : 1;
}

/* "a, b and 3 more" */
static void add_names(struct guard *g, size_t from, struct buf *out)
{
	size_t n = 0;
	size_t more = 0;

	for (size_t i = from; i < g->n_found; i++) {
		struct stat st;

		if (fstatat(g->watch.root, g->found[i], &st,
			    AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (n == NAMES_MAX) {
			more++;
			continue;
		}
		buf_adds(out, n++ ? ", " : "");
		buf_adds(out, g->found[i]);
	}
	if (more)
		buf_addf(out, " and %zu more", more);
}

void guard_check(struct guard *g, bool last,
		 void (*each)(void *arg, const char *line), void *arg)
{
	size_t before = g->n_found;
	struct buf names = BUF_INIT(1 << 16);
	char *line;

	watch_scan(&g->watch, add_found, g);
	report_limits(g, each, arg);
	add_names(g, last ? 0 : before, &names);
	if (names.len) {
		line = xasprintf("new, moved or replaced in %s while the "
				 "sandbox ran: %s. Programs on this machine "
				 "may run what is in there: check it first",
				 g->watch.root_path, names.ptr);
		each(arg, line);
		free(line);
	}
	buf_release(&names);
}

void guard_release(struct guard *g)
{
	record_release(&g->record);
	watch_release(&g->watch);
	for (size_t i = 0; i < g->n_found; i++)
		free(g->found[i]);
	free(g->found);
	free(g->inside);
	free(g->arguments);
	*g = (struct guard){ .record = { .fd = -1, .lock = -1 } };
}
