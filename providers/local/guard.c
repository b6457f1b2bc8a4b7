/* guard.c - prevents files in a bound directory from running on the host. */
/* SPDX-License-Identifier: MIT */
/*
 * With "workspace" = "bind" the model writes a directory of the user. Its files
 * must not run programs on this machine: local.h says which files could. The
 * file has three parts, each based on the one before:
 *
 * - struct watch walks the tree once. It knows every directory and every name
 *   that could make a program run. Later it lists only what changed.
 * - each_config_file() finds the files in the tree that a repository's config
 *   makes git use.
 * - struct guard plans mounts from both: which names are read-only in the
 *   sandbox, and which missing ones are occupied by a placeholder (record.c).
 *   guard_check() reports what mounts cannot prevent.
 *
 * Begin with guard_open(). The sandbox changes the tree meanwhile, so no path
 * is trusted twice: names are looked up from the root's descriptor, without
 * following links.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"
#include "config/protect.h"
#include "providers/local/local.h"

/* What a directory or name in the tree is to git. This decides which names
 * inside are relevant, that is, can make git run a program. */
enum node_kind {
	NODE_TREE, /* an ordinary directory */
	NODE_GIT,  /* .git, or one of .git/modules */
	/* .git/modules and directories between it and a repository */
	NODE_MODULES,
	NODE_WORKTREES, /* .git/worktrees */
	NODE_WORKTREE,  /* .git/worktrees/NAME */
	NODE_LOGS,      /* .git/logs and its subdirectories */
	/* a relevant name; if it is a directory, its files are not examined */
	NODE_LEAF,
	/* a relevant name that is reported if new: no placeholder, but an
	 * existing directory is read-only */
	NODE_NAMED,
};

/* A directory, or a relevant name. */
struct node {
	char *path; /* owned, relative to the root; "" is the root */
	enum node_kind kind;
	uint64_t dev, ino;
	/* creation time in ns, 0 unknown: a new file may reuse an inode
	 * number */
	int64_t born;
	int64_t changed; /* ctime in ns when last listed; 0: must be listed */
	bool bare;       /* a git repository without .git */
};

/* The known directories. The tree is walked once, without following links.
 * Later only directories with a changed ctime are listed again. Directories are
 * ordered by depth. */
struct watch { /* zero-initialise */
	int root;
	char *root_path; /* owned, absolute, without links */
	struct protect names;
	struct node *nodes;
	size_t n;
	size_t *slots; /* hash table of paths: index + 1 */
	size_t n_slots;
	bool learning;
	bool over; /* the tree is too large: part of it was not searched */
	/* Called for a relevant name that is new, or that now names another
	 * file. */
	void (*found)(void *arg, const char *path);
	void *arg;
};

/* Kinds of paths in root to which a git config of the user refers: in
 * core.hooksPath, in include.path or as a program. The model may write root, so
 * without a guard it could change what the user's git runs. All paths are
 * relative to root, without "." and "..". Included configs are read, too. */
enum named_kind {
	NAMED_PROGRAM, /* may be a command instead of a path */
	NAMED_CONFIG,  /* a config, which git reads as soon as it exists */
	NAMED_HOOKS,   /* a directory of hooks */
};

enum {
	/* bubblewrap reads the mount table again for each mount: 300 take 0.2
	 * s, 1000 take 2.6 s (0.8.0 on one core). */
	MOUNTS_MAX = 400,
	NAMES_MAX = 20, /* names that one message lists */
	NODES_MAX = 100000,
	ENTRIES_MAX = 2000000, /* names read in the first walk */
	GITFILE_MAX = 4096,
	CONFIG_MAX = 1 << 20, /* bytes of a git config */
	INCLUDES_MAX = 4,     /* depth of configs that include each other */
	/* Kernels update ctime in steps of up to 10 ms: a directory that
	 * changed just before it was listed may change again in the same
	 * step. */
	STEP_NS = 100000000,
};

/* Relevant names in git's directories; the first matching row counts. Links are
 * among them because git writes through them: if .git/COMMIT_EDITMSG or
 * .git/logs/HEAD is a link to ~/.bashrc, the user's next commit writes the
 * model's text there. So are the directories of an unfinished rebase, am or
 * cherry-pick: when the user continues it, git runs the lines "exec ..." and
 * applies the patches in there. With a placeholder at such a name, git would
 * take it for unfinished, and could not begin another. */
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
	{ NODE_GIT, 0, "rebase-apply", NODE_NAMED },
	{ NODE_GIT, 0, "rebase-merge", NODE_NAMED },
	{ NODE_GIT, 0, "sequencer", NODE_NAMED },
	{ NODE_GIT, S_IFDIR, "logs", NODE_LOGS },
	{ NODE_WORKTREES, S_IFDIR, NULL, NODE_WORKTREE },
	{ NODE_WORKTREE, 0, "config.worktree", NODE_LEAF },
	{ NODE_WORKTREE, 0, "commondir", NODE_LEAF },
	{ NODE_WORKTREE, 0, "gitdir", NODE_LEAF },
	{ NODE_WORKTREE, S_IFDIR, "modules", NODE_MODULES },
	{ NODE_WORKTREE, S_IFLNK, NULL, NODE_NAMED },
	{ NODE_WORKTREE, 0, "rebase-apply", NODE_NAMED },
	{ NODE_WORKTREE, 0, "rebase-merge", NODE_NAMED },
	{ NODE_WORKTREE, 0, "sequencer", NODE_NAMED },
	{ NODE_WORKTREE, S_IFDIR, "logs", NODE_LOGS },
	{ NODE_LOGS, S_IFLNK, NULL, NODE_NAMED },
	{ NODE_LOGS, S_IFDIR, NULL, NODE_LOGS },
};

/* Hashes a path. Every entry of the tree is looked up by path. */
static size_t hash_of(const char *path)
{
	size_t h = 14695981039346656037u; /* FNV-1a */

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 1099511628211u;
	return h;
}

/* NOLINTBEGIN(clang-analyzer-core.NullDereference): grow_table() made the slots
 * and the nodes */
/* Returns the slot of this path, or the empty one where it belongs. */
static size_t *slot_of(const struct watch *w, const char *path)
{
	size_t at = hash_of(path) & (w->n_slots - 1);

	while (w->slots[at] && strcmp(w->nodes[w->slots[at] - 1].path, path))
		at = (at + 1) & (w->n_slots - 1);
	return &w->slots[at];
}

/* Creates or doubles the table. */
static void grow_table(struct watch *w)
{
	w->n_slots = w->n_slots ? 2 * w->n_slots : 256;
	free(w->slots);
	w->slots = xcalloc(w->n_slots, sizeof(*w->slots));
	for (size_t i = 0; i < w->n; i++)
		*slot_of(w, w->nodes[i].path) = i + 1;
	w->nodes = xrealloc(w->nodes, w->n_slots / 2, sizeof(*w->nodes));
}

/* Returns NULL if the path is not known. */
static struct node *find_node(const struct watch *w, const char *path)
{
	size_t at = w->n_slots ? *slot_of(w, path) : 0;

	return at ? &w->nodes[at - 1] : NULL;
}

/* Returns a file's creation time combined with its type; 0 if unknown. */
static int64_t birth_time(const struct watch *w, const char *path)
{
	struct statx x = { 0 };

	if (statx(w->root, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME | STATX_TYPE,
		  &x) < 0)
		return 0;
	return x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec +
	       (x.stx_mode & S_IFMT);
}

/* True if the path still names the recorded file. */
static bool is_same(const struct watch *w, const struct node *node,
		    const struct stat *st)
{
	return node && node->dev == st->st_dev && node->ino == st->st_ino &&
	       (node->kind == NODE_TREE ||
		node->born == birth_time(w, node->path));
}

/* Records which file the path names now. */
static void set_node(struct watch *w, const char *path, enum node_kind kind,
		     const struct stat *st)
{
	struct node *node = find_node(w, path);

	if (!node) {
		if (w->n >= NODES_MAX) {
			w->over = true;
			return;
		}
		if (w->n + 1 >= w->n_slots / 2)
			grow_table(w);
		*slot_of(w, path) = w->n + 1;
		node = &w->nodes[w->n++];
		*node = (struct node){ .path = xstrdup(path) };
	}
	node->kind = kind;
	node->dev = st->st_dev;
	node->ino = st->st_ino;
	node->born = kind == NODE_TREE ? 0 : birth_time(w, path);
	node->changed = 0;
}

/* NOLINTEND(clang-analyzer-core.NullDereference) */

/* Resolves a link. Returns its target relative to the root if that is inside,
 * owned by the caller, or NULL. */
static char *watch_resolve(const struct watch *w, const char *path)
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

/* Returns the path in a .git that is a file ("gitdir: ../x"), owned by the
 * caller, or NULL. */
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

/* Follows a .git that is a link, or a file that names a directory. If that
 * directory is in the tree, it is treated as a .git, too. */
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
	if (inside && !find_node(w, inside) &&
	    fstatat(w->root, inside, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode))
		set_node(w, inside, NODE_GIT, &st);
	free(inside);
	free(target);
}

/* Records a name, and reports it if it is new or names another file. */
static void add_name(struct watch *w, const char *path, enum node_kind kind,
		     const struct stat *st)
{
	if (!is_same(w, find_node(w, path), st)) {
		set_node(w, path, kind, st);
		if (!w->learning)
			w->found(w->arg, path);
	}
}

/* Records a relevant name that becomes read-only in the sandbox. */
static void add_leaf(struct watch *w, const char *path, const struct stat *st)
{
	add_name(w, path, NODE_LEAF, st);
}

/* Records a directory to list. A new one that belongs to git is reported
 * itself. */
static void add_directory(struct watch *w, const char *path,
			  enum node_kind kind, const struct stat *st)
{
	if (is_same(w, find_node(w, path), st))
		return;
	if (w->learning || kind == NODE_TREE || kind == NODE_LOGS)
		set_node(w, path, kind, st);
	else
		add_leaf(w, path, st);
}

/* Checks an entry of an ordinary directory. */
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

/* True if the rule matches. A pattern is a whole name, or a prefix followed by
 * "*". */
static bool is_rule_match(const struct git_rule *r, enum node_kind in,
			  const char *name, const struct stat *st)
{
	size_t n = r->pattern ? strcspn(r->pattern, "*") : 0;

	return r->in == in && (!r->type || r->type == (st->st_mode & S_IFMT)) &&
	       (!r->pattern || (strncmp(r->pattern, name, n) == 0 &&
				(r->pattern[n] || !name[n])));
}

/* Checks an entry of one of git's directories. False if no rule matches. */
static bool check_in_git(struct watch *w, enum node_kind in, const char *path,
			 const char *name, const struct stat *st)
{
	for (size_t i = 0; i < sizeof(git_rules) / sizeof(*git_rules); i++) {
		const struct git_rule *r = &git_rules[i];

		if (!is_rule_match(r, in, name, st))
			continue;
		if (r->kind == NODE_LEAF || r->kind == NODE_NAMED)
			add_name(w, path, r->kind, st);
		else
			add_directory(w, path, r->kind, st);
		return true;
	}
	return false;
}

/* Checks an entry of .git/modules. A directory that contains HEAD is a
 * repository. */
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

/* Checks an entry of the directory with index at. */
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

/* False for files whose names cannot be relevant: these need no stat(). */
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

/* Detects a bare repository. Any directory with HEAD, objects and refs is one,
 * and git obeys its config if it is the working directory. The same is true of
 * HEAD and commondir, with the config of the directory that commondir names. */
static void detect_bare_repo(struct watch *w, size_t at, int dir)
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

/* Lists a directory. Returns how many names it read. */
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
		detect_bare_repo(w, at, fd);
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
		/* if another file has this name now, listing its parent finds
		 * that */
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	n = list_directory(w, at);
	w->nodes[at].changed = ns_of(now) - ns_of(st.st_ctim) > STEP_NS
				       ? ns_of(st.st_ctim)
				       : 0;
	return n;
}

/* Lists the directories from this index on, including those that it finds. */
static int list_new(struct watch *w, size_t from, const struct stop *stop,
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

/* Walks the tree for the first time. */
static int watch_open(struct watch *w, const char *root,
		      const struct protect *names, const struct stop *stop,
		      struct error *err)
{
	struct stat st;
	size_t end;

	*w = (struct watch){ .names = *names, .learning = true };
	w->root_path = xstrdup(root);
	w->root = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->root < 0 || fstat(w->root, &st) < 0)
		return error_errno(err, "opening %s", root);
	set_node(w, "", NODE_TREE, &st);
	if (list_new(w, 0, stop, err) < 0)
		return -1;
	end = w->n;
	for (size_t i = 0; i < end; i++)
		if (w->nodes[i].kind == NODE_LEAF)
			follow_git(w, w->nodes[i].path);
	if (list_new(w, end, stop, err) < 0)
		return -1;
	w->learning = false;
	return 0;
}

/* Calls found once for each new name. */
static void watch_scan(struct watch *w,
		       void (*found)(void *arg, const char *path), void *arg)
{
	w->found = found;
	w->arg = arg;
	for (size_t i = 0; i < w->n; i++)
		visit_directory(w, i);
}

/* Marks the file at this path as made by dcode, so that it is not reported. */
static void watch_set_known(struct watch *w, const char *path)
{
	struct stat st;

	if (fstatat(w->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		set_node(w, path, NODE_LEAF, &st);
}

static void watch_release(struct watch *w)
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

struct gitconfig_reader {
	const char *root;
	char *top; /* owned: working directory of hooks */
	void (*each)(void *arg, const char *path, enum named_kind kind);
	void *arg;
	int depth;
};

/* Joins paths: "a/c" from "a/b" and "../c". Owned by the caller; NULL if the
 * result is outside of the root. */
static char *join_inside(const char *root, const char *base, const char *name)
{
	size_t len = strlen(root);
	struct buf out = BUF_INIT(1 << 16);
	char *whole;
	struct str left;
	struct str part;
	bool inside = true;

	if (!strncmp(name, root, len) && name[len] == '/')
		whole = xstrdup(name + len + 1);
	else if (name[0] == '/' || name[0] == '~')
		return NULL;
	else
		whole = xasprintf("%s/%s", base, name);
	left = str_of(whole);
	while (inside && str_split(&left, '/', &part)) {
		if (str_is(part, "..")) {
			inside = out.len > 0;
			while (out.len && out.ptr[--out.len] != '/')
				;
		} else if (part.len && !str_is(part, ".")) {
			buf_adds(&out, out.len ? "/" : "");
			buf_addstr(&out, part);
		}
	}
	free(whole);
	whole = inside && out.len ? xstrndup(out.ptr, out.len) : NULL;
	buf_release(&out);
	return whole;
}

/* Returns the directory part, owned by the caller; "" for a path without a
 * slash. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return xstrndup(path, slash ? (size_t)(slash - path) : 0);
}

static void read_config(struct gitconfig_reader *r, const char *path);

/* Passes on a path in root that a config names. If that is an included config,
 * reads it, too. */
static void name_file(struct gitconfig_reader *r, const char *base,
		      const char *value, enum named_kind kind)
{
	char *path = join_inside(r->root, base, value);

	if (!path)
		return;
	r->each(r->arg, path, kind);
	if (kind == NAMED_CONFIG && r->depth < INCLUDES_MAX)
		read_config(r, path);
	free(path);
}

/* True for keys whose value is a command, in any section (git-config(1)). */
static bool names_program(struct str key)
{
	static const char *const keys[] = {
		"askpass",  "clean",     "cmd",        "driver",   "editor",
		"external", "fsmonitor", "helper",     "pager",    "process",
		"program",  "smudge",    "sshcommand", "textconv",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (str_is_nocase(key, keys[i]))
			return true;
	return false;
}

/* Handles a key and its value, which is without quotes and comment. */
static void read_key(struct gitconfig_reader *r, const char *dir,
		     struct str key, char *value)
{
	if (str_is_nocase(key, "path")) {
		name_file(r, dir, value, NAMED_CONFIG);
	} else if (str_is_nocase(key, "hookspath")) {
		name_file(r, r->top, value, NAMED_HOOKS);
	} else if (str_is_nocase(key, "worktree")) {
		free(r->top);
		r->top = join_inside(r->root, dir, value);
		if (!r->top)
			r->top = xstrdup("");
	} else if (names_program(key)) {
		value[strcspn(value, " \t")] = '\0';
		name_file(r, r->top, value, NAMED_PROGRAM);
	}
}

/* Parses one line "key = value" of a config. Values that continue on the next
 * line are not supported. */
static void read_line(struct gitconfig_reader *r, const char *dir,
		      struct str line)
{
	char *value;
	size_t n = 0;
	size_t at;
	bool quoted = false;

	line = str_trim(line);
	/* a key may follow: [include] path = x */
	if (line.len && line.ptr[0] == '[')
		line = str_trim(str_skip(line, str_find(line, ']') + 1));
	at = str_find(line, '=');
	if (at >= line.len)
		return;
	value = xstrndup(line.ptr + at + 1, line.len - at - 1);
	line.len = at;
	for (const char *c = value + strspn(value, " \t"); *c; c++) {
		if (*c == '"')
			quoted = !quoted;
		else if (!quoted && (*c == '#' || *c == ';'))
			break;
		else if (*c != '\\' || *++c)
			value[n++] = *c;
	}
	while (n && (value[n - 1] == ' ' || value[n - 1] == '\t'))
		n--;
	value[n] = '\0';
	if (n)
		read_key(r, dir, str_trim(line), value);
	free(value);
}

/* Reads a config and those that it includes. */
static void read_config(struct gitconfig_reader *r, const char *path)
{
	struct buf text = BUF_INIT(CONFIG_MAX);
	char *whole = path_join(r->root, path);
	char *dir = directory_of(path);
	struct error ignored = { 0 };
	struct stat st;
	struct str left;
	struct str line;

	r->depth++;
	/* Only regular files: reading a FIFO of the model would block. */
	if (stat(whole, &st) == 0 && S_ISREG(st.st_mode) &&
	    path_read(whole, &text, &ignored) == 0) {
		left = (struct str){ text.ptr, text.len };
		while (str_split(&left, '\n', &line))
			read_line(r, dir, line);
	}
	r->depth--;
	buf_release(&text);
	free(dir);
	free(whole);
}

/* Calls each for every file in root that the repository's config names. */
static void each_config_file(const char *root, const char *git_dir,
			     void (*each)(void *arg, const char *path,
					  enum named_kind kind),
			     void *arg)
{
	static const char *const names[] = { "config", "config.worktree" };
	struct gitconfig_reader r = { root, directory_of(git_dir), each, arg,
				      0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *path = git_dir[0] ? path_join(git_dir, names[i])
					: xstrdup(names[i]);

		read_config(&r, path);
		free(path);
	}
	free(r.top);
}

struct guard { /* initialise with { .record.fd = -1, .record.lock = -1 } */
	struct watch watch;
	struct record record;
	char *inside;    /* owned: path of the directory in the sandbox */
	char *arguments; /* owned: bubblewrap's arguments, each with NUL */
	size_t arguments_len;
	size_t left_out; /* names without a mount, because of MOUNTS_MAX */
	char **found;    /* owned; relative paths that were reported */
	size_t n_found;
	/* 1: too many mounts was reported; 2: too large a tree, too */
	int reported;
};

/* A path that gets a separate mount. */
struct mount {
	char *path; /* owned, relative to the root */
	bool writable;
};

struct plan {
	struct guard *g;
	/* bubblewrap's option to mount the root; NULL: box.c mounts it */
	const char *base;
	struct mount *list;
	size_t n;
};

/* Adds a path once. Paths above the limit are only counted. */
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

/* Makes an existing name read-only. A mount on a link would cover its target,
 * so the target becomes read-only. The link itself can be replaced, which
 * guard_check() reports. */
static void protect_path(struct plan *p, const char *path,
			 const struct stat *st)
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
		protect_path(p, path, &st);
}

/* Makes an unfinished rebase read-only. Links in .git stay as they are: parts
 * of a repository may lie elsewhere in the tree. */
static void protect_directory(struct plan *p, const char *path)
{
	struct stat st;

	if (fstatat(p->g->watch.root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode))
		add_mount(p, path, false);
}

/* Makes a name read-only. If the name does not exist, a placeholder for it is
 * added to the record. */
static void protect_name(struct plan *p, const char *dir, const char *name,
			 bool directory)
{
	char *path = dir[0] ? path_join(dir, name) : xstrdup(name);
	char *whole = path_join(p->g->watch.root_path, path);
	struct stat st;

	if (fstatat(p->g->watch.root, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		protect_path(p, path, &st);
	} else if (p->n < MOUNTS_MAX) {
		record_plan(&p->g->record, whole, directory);
		add_mount(p, path, false);
	} else {
		p->g->left_out++;
	}
	free(whole);
	free(path);
}

/* Protects a path that git's config names: a program, a hooksPath or an
 * include.path. A missing program gets no placeholder. The others get one if
 * their directory exists. */
static void add_named(void *arg, const char *path, enum named_kind kind)
{
	struct plan *p = arg;
	const char *slash = strrchr(path, '/');
	char *dir = xstrndup(path, slash ? (size_t)(slash - path) : 0);
	struct stat st;

	if (kind == NAMED_PROGRAM)
		protect_existing(p, path);
	else if (fstatat(p->g->watch.root, dir[0] ? dir : ".", &st, 0) == 0)
		protect_name(p, "", path, kind == NAMED_HOOKS);
	free(dir);
}

/* Protects all names for which git runs programs. commondir is one of them: it
 * makes git read config and hooks from a directory that the model could
 * choose. */
static void add_git(struct plan *p, const char *path)
{
	if (path[0])
		add_mount(p, path, true);
	protect_name(p, path, "config", false);
	protect_name(p, path, "config.worktree", false);
	protect_name(p, path, "hooks", true);
	protect_name(p, path, "info", true);
	protect_name(p, path, "commondir", false);
	each_config_file(p->g->watch.root_path, path, add_named, p);
}

/* Plans the mounts of a directory that the walk has found. */
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
		protect_name(p, node->path, "config.worktree", false);
		break;
	case NODE_LEAF:
		protect_existing(p, node->path);
		break;
	case NODE_NAMED:
		protect_directory(p, node->path);
		break;
	case NODE_LOGS:
		break;
	}
}

/* Protects the names without a wildcard, even if they do not exist. */
static void add_plain(struct plan *p)
{
	const struct protect *names = &p->g->watch.names;

	for (size_t i = 0; i < names->n; i++)
		if (protect_is_plain(names->patterns[i]))
			protect_name(p, "", names->patterns[i], true);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct mount *)a)->path,
		      ((const struct mount *)b)->path);
}

/* Appends one option of bubblewrap and its two arguments. */
static void add_words(struct buf *out, const char *option, const char *from,
		      const char *to)
{
	buf_add(out, option, strlen(option) + 1);
	buf_add(out, from, strlen(from) + 1);
	buf_add(out, to, strlen(to) + 1);
}

/* Writes the arguments sorted by path, so that a directory's mount comes before
 * those inside it. */
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

		/* Some placeholders could not be made. The sandbox runs as the
		 * same user, so it cannot make these names either. */
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

/* Plans all mounts: directories first, then files, which are inside them. */
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

/* Makes the placeholders, writes bubblewrap's arguments and frees the plan. */
static int apply_plan(struct guard *g, struct plan *p, struct error *err)
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

/* Walks the tree and starts the record of placeholders. The record's lock is
 * held until apply_plan(). */
static int open_parts(struct guard **opened, const struct guard_request *r,
		      const struct stop *stop, struct error *err)
{
	struct guard *g = xcalloc(1, sizeof(*g));
	struct protect names;

	*g = (struct guard){ .record = { .fd = -1, .lock = -1 },
			     .inside = xstrdup(r->inside) };
	*opened = g;
	if (protect_load(&names, r->settings, err) < 0 ||
	    watch_open(&g->watch, r->root, &names, stop, err) < 0)
		return -1;
	return record_open(&g->record, settings_dir(r->settings), r->label,
			   stop, err);
}

int guard_open(struct guard **g, const struct guard_request *r,
	       const struct stop *stop, struct error *err)
{
	struct plan p = { 0 };

	if (open_parts(g, r, stop, err) < 0)
		return -1;
	p.g = *g;
	plan_tree(*g, &p);
	return apply_plan(*g, &p, err);
}

/* Adds the mount of one name in a repository that is outside of the bound
 * directory. */
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
		protect_name(p, dir, slash ? slash + 1 : path,
			     use == BIND_GIT_NO_DIRECTORY);
	free(dir);
}

int guard_open_git(struct guard **g, const struct guard_request *r,
		   const struct bind_git *git, const struct stop *stop,
		   struct error *err)
{
	bool is_one = !strcmp(git->git_dir, git->common);
	struct plan p = { .base = is_one ? "--bind" : "--ro-bind" };

	if (open_parts(g, r, stop, err) < 0)
		return -1;
	p.g = *g;
	if (is_one)
		add_git(&p, "");
	bind_git_each(git, add_use, &p);
	return apply_plan(*g, &p, err);
}

static void add_found(void *arg, const char *path)
{
	struct guard *g = arg;

	g->found = xrealloc(g->found, g->n_found + 1, sizeof(*g->found));
	g->found[g->n_found++] = xstrdup(path);
}

/* Reports once each kind of name that the guard cannot protect or notice. */
static void report_limits(struct guard *g,
			  void (*each)(void *arg, const char *line), void *arg)
{
	const struct watch *w = &g->watch;
	char *line;

	if (g->left_out && g->reported < 1) {
		line = xasprintf("%s has more protected names than dcode can "
				 "mount: %zu of them stay writable",
				 w->root_path, g->left_out);
		each(arg, line);
		free(line);
	}
	if (w->over && g->reported < 2) {
		line = xasprintf("%s is too large to search: dcode will not "
				 "notice new protected names in a part of it",
				 w->root_path);
		each(arg, line);
		free(line);
	}
	g->reported = w->over ? 2 : 1;
}

/* Appends the found names that still exist: "a, b and 3 more". */
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
				 "sandbox ran: %s. Check the contents first: "
				 "programs on this machine may run them",
				 g->watch.root_path, names.ptr);
		each(arg, line);
		free(line);
	}
	buf_release(&names);
}

struct str guard_arguments(const struct guard *g)
{
	return (struct str){ g->arguments, g->arguments_len };
}

const char *guard_inside(const struct guard *g)
{
	return g->inside;
}

void guard_free(struct guard *g)
{
	if (!g)
		return;
	record_release(&g->record);
	watch_release(&g->watch);
	for (size_t i = 0; i < g->n_found; i++)
		free(g->found[i]);
	free(g->found);
	free(g->inside);
	free(g->arguments);
	free(g);
}
