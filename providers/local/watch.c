/* watch.c - knows the names in a bound directory that run things. */
/* SPDX-License-Identifier: MIT */
#include "providers/local/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum {
	NODES_MAX = 100000,
	ENTRIES_MAX = 2000000, /* names read in the first walk */
	GITFILE_MAX = 4096,
	/* Kernels keep ctime in steps of up to 10 ms: a directory that changed
	 * just before it was listed may change again in the same step. */
	STEP_NS = 100000000,
};

static size_t hash_of(const char *path)
{
	size_t h = 14695981039346656037u; /* FNV-1a */

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 1099511628211u;
	return h;
}

/* NOLINTBEGIN(clang-analyzer-core.NullDereference): grow() made the slots and
 * the nodes */
/* The slot of this path, or the empty one where it would go. */
static size_t *slot_of(const struct watch *w, const char *path)
{
	size_t at = hash_of(path) & (w->n_slots - 1);

	while (w->slots[at] && strcmp(w->nodes[w->slots[at] - 1].path, path))
		at = (at + 1) & (w->n_slots - 1);
	return &w->slots[at];
}

static void grow(struct watch *w)
{
	w->n_slots = w->n_slots ? 2 * w->n_slots : 256;
	free(w->slots);
	w->slots = xcalloc(w->n_slots, sizeof(*w->slots));
	for (size_t i = 0; i < w->n; i++)
		*slot_of(w, w->nodes[i].path) = i + 1;
	w->nodes = xrealloc(w->nodes, w->n_slots / 2, sizeof(*w->nodes));
}

static struct node *find(const struct watch *w, const char *path)
{
	size_t at = w->n_slots ? *slot_of(w, path) : 0;

	return at ? &w->nodes[at - 1] : NULL;
}

static int64_t born(const struct watch *w, const char *path)
{
	struct statx x = { 0 };

	if (statx(w->root, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME | STATX_TYPE,
		  &x) < 0)
		return 0;
	return x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec +
	       (x.stx_mode & S_IFMT);
}

/* True while the path still names the file that was recorded. */
static bool is_same(const struct watch *w, const struct node *node,
		    const struct stat *st)
{
	return node && node->dev == st->st_dev && node->ino == st->st_ino &&
	       (node->kind == NODE_TREE || node->born == born(w, node->path));
}

static void set_node(struct watch *w, const char *path, enum node_kind kind,
		     const struct stat *st)
{
	struct node *node = find(w, path);

	if (!node) {
		if (w->n >= NODES_MAX) {
			w->over = true;
			return;
		}
		if (w->n + 1 >= w->n_slots / 2)
			grow(w);
		*slot_of(w, path) = w->n + 1;
		node = &w->nodes[w->n++];
		*node = (struct node){ .path = xstrdup(path) };
	}
	node->kind = kind;
	node->dev = st->st_dev;
	node->ino = st->st_ino;
	node->born = kind == NODE_TREE ? 0 : born(w, path);
	node->changed = 0;
}
/* NOLINTEND(clang-analyzer-core.NullDereference) */

char *watch_resolve(const struct watch *w, const char *path)
{
	char *whole = path_join(w->root_path, path);
	char *real = realpath(whole, NULL);
	size_t len = strlen(w->root_path);
	char *inside = NULL;

	if (real && !strncmp(real, w->root_path, len) && real[len] == '/')
		inside = xstrdup(real + len + 1);
	free(whole);
	free(real);
	return inside;
}

/* What a .git that is a file names: "gitdir: ../x". Owned, or NULL. */
static char *read_gitfile(const struct watch *w, const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) + 1 : 0;
	char text[GITFILE_MAX] = "";
	int fd = openat(w->root, path,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : io_read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 8 || strncmp(text, "gitdir: ", 8) != 0)
		return NULL;
	text[strcspn(text, "\r\n")] = '\0';
	if (text[8] == '/')
		return xstrdup(text + 8);
	return xasprintf("%.*s%s", dir, path, text + 8);
}

/* A .git that is a link, or a file that names a directory: if that one is
 * inside, too, it is to be treated like .git. */
static void follow_git(struct watch *w, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *target = NULL;
	char *inside;
	struct stat st;

	if (!protect_is_git(str_of(slash ? slash + 1 : path)) ||
	    fstatat(w->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISLNK(st.st_mode))
		target = xstrdup(path);
	else if (S_ISREG(st.st_mode))
		target = read_gitfile(w, path);
	inside = target ? watch_resolve(w, target) : NULL;
	if (inside && !find(w, inside) &&
	    fstatat(w->root, inside, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode))
		set_node(w, inside, NODE_GIT, &st);
	free(inside);
	free(target);
}

static void add_name(struct watch *w, const char *path, enum node_kind kind,
		     const struct stat *st)
{
	if (!is_same(w, find(w, path), st)) {
		set_node(w, path, kind, st);
		if (!w->learning)
			w->found(w->arg, path);
	}
}

/* A name that counts. */
static void add_leaf(struct watch *w, const char *path, const struct stat *st)
{
	add_name(w, path, NODE_LEAF, st);
}

/* A directory to list, with all that counts in it. One of git's that is new
 * is news itself. */
static void add_directory(struct watch *w, const char *path,
			  enum node_kind kind, const struct stat *st)
{
	if (is_same(w, find(w, path), st))
		return;
	if (w->learning || kind == NODE_TREE || kind == NODE_LOGS)
		set_node(w, path, kind, st);
	else
		add_leaf(w, path, st);
}

static void check_in_tree(struct watch *w, const char *path, const char *name,
			  const struct stat *st)
{
	bool git = protect_is_git(str_of(name));

	if (git && S_ISDIR(st->st_mode)) {
		add_directory(w, path, NODE_GIT, st);
	} else if (git || protect_matches(&w->names, str_of(name))) {
		add_leaf(w, path, st);
	} else if (S_ISDIR(st->st_mode)) {
		add_directory(w, path, NODE_TREE, st);
	}
}

/*
 * What counts in git's directories; the first row that fits. Git writes
 * through links: with .git/COMMIT_EDITMSG or .git/logs/HEAD a link to
 * ~/.bashrc, the user's next commit writes a text of the model's there. Of a
 * rebase that was begun, git runs the lines `exec ...`.
 */
static const struct git_rule {
	enum node_kind in;
	mode_t type;         /* S_IFDIR, S_IFLNK, or 0: any */
	const char *pattern; /* NULL: any name */
	enum node_kind kind;
} git_rules[] = {
	{ NODE_GIT, 0, "config*", NODE_LEAF },
	{ NODE_GIT, 0, "hooks", NODE_LEAF },
	{ NODE_GIT, 0, "info", NODE_LEAF },
	{ NODE_GIT, 0, "commondir", NODE_LEAF },
	{ NODE_GIT, S_IFDIR, "modules", NODE_MODULES },
	{ NODE_GIT, S_IFDIR, "worktrees", NODE_WORKTREES },
	{ NODE_GIT, S_IFLNK, NULL, NODE_NAMED },
	{ NODE_GIT, 0, "rebase-merge", NODE_NAMED },
	{ NODE_GIT, S_IFDIR, "logs", NODE_LOGS },
	{ NODE_WORKTREES, S_IFDIR, NULL, NODE_WORKTREE },
	{ NODE_WORKTREE, 0, "config.worktree", NODE_LEAF },
	{ NODE_WORKTREE, 0, "commondir", NODE_LEAF },
	{ NODE_WORKTREE, 0, "gitdir", NODE_LEAF },
	{ NODE_WORKTREE, S_IFDIR, "modules", NODE_MODULES },
	{ NODE_WORKTREE, S_IFLNK, NULL, NODE_NAMED },
	{ NODE_WORKTREE, 0, "rebase-merge", NODE_NAMED },
	{ NODE_WORKTREE, S_IFDIR, "logs", NODE_LOGS },
	{ NODE_LOGS, S_IFLNK, NULL, NODE_NAMED },
	{ NODE_LOGS, S_IFDIR, NULL, NODE_LOGS },
};

static bool fits(const struct git_rule *r, enum node_kind in, const char *name,
		 const struct stat *st)
{
	size_t n = r->pattern ? strcspn(r->pattern, "*") : 0;

	return r->in == in && (!r->type || r->type == (st->st_mode & S_IFMT)) &&
	       (!r->pattern || (strncmp(r->pattern, name, n) == 0 &&
				(r->pattern[n] || !name[n])));
}

/* False when no rule fits. */
static bool check_in_git(struct watch *w, enum node_kind in, const char *path,
			 const char *name, const struct stat *st)
{
	for (size_t i = 0; i < sizeof(git_rules) / sizeof(*git_rules); i++) {
		const struct git_rule *r = &git_rules[i];

		if (!fits(r, in, name, st))
			continue;
		if (r->kind == NODE_LEAF || r->kind == NODE_NAMED)
			add_name(w, path, r->kind, st);
		else
			add_directory(w, path, r->kind, st);
		return true;
	}
	return false;
}

static void check_in_modules(struct watch *w, const char *path,
			     const struct stat *st)
{
	char *head = path_join(path, "HEAD");
	struct stat file;
	bool git = fstatat(w->root, head, &file, AT_SYMLINK_NOFOLLOW) == 0;

	free(head);
	if (S_ISDIR(st->st_mode))
		add_directory(w, path, git ? NODE_GIT : NODE_MODULES, st);
	else
		add_leaf(w, path, st);
}

static void check_entry(struct watch *w, size_t at, const char *path,
			const char *name, const struct stat *st)
{
	enum node_kind in = w->nodes[at].kind;

	if (in == NODE_MODULES)
		check_in_modules(w, path, st);
	else if (in != NODE_TREE)
		check_in_git(w, in, path, name, st);
	else if (!w->nodes[at].bare ||
		 !check_in_git(w, NODE_GIT, path, name, st))
		check_in_tree(w, path, name, st);
}

/* Most names are of files that do not matter: no stat for those. */
static bool may_matter(const struct watch *w, const struct node *node,
		       const struct dirent *e)
{
	if (node->kind == NODE_LOGS)
		return e->d_type != DT_REG;
	return node->kind != NODE_TREE || node->bare || e->d_type == DT_DIR ||
	       e->d_type == DT_UNKNOWN || protect_is_git(str_of(e->d_name)) ||
	       protect_matches(&w->names, str_of(e->d_name));
}

static bool has_entry(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* HEAD, objects and refs make any directory a repository, whose config git
 * obeys for whoever stands in it; HEAD and commondir do so, too, with the
 * config of the directory that commondir names. */
static void note_bare(struct watch *w, size_t at, int dir)
{
	struct node *node = &w->nodes[at];

	if (node->kind != NODE_TREE || node->bare || !has_entry(dir, "HEAD") ||
	    !((has_entry(dir, "objects") && has_entry(dir, "refs")) ||
	      has_entry(dir, "commondir")))
		return;
	node->bare = true;
	if (!w->learning)
		w->found(w->arg, node->path[0] ? node->path : ".");
}

/* Returns how many names it read. */
static size_t list_directory(struct watch *w, size_t at)
{
	char *dir = xstrdup(w->nodes[at].path);
	int fd = openat(w->root, dir[0] ? dir : ".",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;
	size_t n = 0;

	if (d)
		note_bare(w, at, fd);
	while (d && (e = readdir(d))) {
		char *path;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		n++;
		if (!may_matter(w, &w->nodes[at], e))
			continue;
		path = dir[0] ? path_join(dir, e->d_name) : xstrdup(e->d_name);
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			check_entry(w, at, path, e->d_name, &st);
		free(path);
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	free(dir);
	return n;
}

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Lists the directory if it may have changed. Returns how many names it read.
 */
static size_t visit_directory(struct watch *w, size_t at)
{
	const char *path = w->nodes[at].path;
	struct timespec now;
	struct stat st;
	size_t n;

	if (w->nodes[at].kind == NODE_LEAF ||
	    fstatat(w->root, path[0] ? path : ".", &st, AT_SYMLINK_NOFOLLOW) <
		    0 ||
	    !S_ISDIR(st.st_mode) || st.st_ino != w->nodes[at].ino ||
	    st.st_dev != w->nodes[at].dev ||
	    ns_of(st.st_ctim) == w->nodes[at].changed)
		return 0; /* a new one in its place is in its parent's list */
	clock_gettime(CLOCK_REALTIME, &now);
	n = list_directory(w, at);
	w->nodes[at].changed = ns_of(now) - ns_of(st.st_ctim) > STEP_NS
				       ? ns_of(st.st_ctim)
				       : 0;
	return n;
}

static int learn(struct watch *w, size_t from, const struct stop *stop,
		 struct error *err)
{
	size_t seen = 0;

	for (size_t i = from; i < w->n; i++) {
		if (seen > ENTRIES_MAX)
			w->over = true;
		else
			seen += visit_directory(w, i);
		if (stop_check(stop, err) < 0)
			return -1;
	}
	return 0;
}

int watch_open(struct watch *w, const char *root, const struct protect *names,
	       const struct stop *stop, struct error *err)
{
	struct stat st;
	size_t end;

	*w = (struct watch){ .names = *names, .learning = true };
	w->root_path = xstrdup(root);
	w->root = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->root < 0 || fstat(w->root, &st) < 0)
		return error_errno(err, "opening %s", root);
	set_node(w, "", NODE_TREE, &st);
	if (learn(w, 0, stop, err) < 0)
		return -1;
	end = w->n;
	for (size_t i = 0; i < end; i++)
		if (w->nodes[i].kind == NODE_LEAF)
			follow_git(w, w->nodes[i].path);
	if (learn(w, end, stop, err) < 0)
		return -1;
	w->learning = false;
	return 0;
}

void watch_scan(struct watch *w, void (*found)(void *arg, const char *path),
		void *arg)
{
	w->found = found;
	w->arg = arg;
	for (size_t i = 0; i < w->n; i++)
		visit_directory(w, i);
}

void watch_set_known(struct watch *w, const char *path)
{
	struct stat st;

	if (fstatat(w->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		set_node(w, path, NODE_LEAF, &st);
}

void watch_release(struct watch *w)
{
	if (w->root_path && w->root >= 0)
		close(w->root);
	for (size_t i = 0; i < w->n; i++)
		free(w->nodes[i].path);
	free(w->nodes);
	free(w->slots);
	free(w->root_path);
	*w = (struct watch){ 0 };
}
