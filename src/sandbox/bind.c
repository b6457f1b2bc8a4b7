/* bind.c - a directory of this machine that is bound into a sandbox. */
/* SPDX-License-Identifier: MIT */

/*
 * bind_check() refuses directories that are not projects. bind_git_find() looks
 * for the git directory that a worktree or submodule needs and that lies
 * outside of it. bind_git_each() says which parts of it the sandbox may write.
 * The tree is not trusted: bind.h describes the attacks.
 */
#include "sandbox/bind.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/str.h"

/* True when a is b or a directory above it. */
static bool contains_path(const char *a, const char *b)
{
	size_t len = strlen(a);

	if (len == 1)
		return true; /* "/" */
	return !strncmp(a, b, len) && (b[len] == '/' || b[len] == '\0');
}

/* True for directories that would give a sandbox access to the host: kernel and
 * device trees, system files, and directories that all users share (sticky
 * bit), where other programs keep their sockets. */
static bool is_systems(const char *real)
{
	static const char *const trees[] = { "/proc", "/sys", "/dev", "/boot",
					     "/etc" };
	static const char *const places[] = { "/run", "/run/user",
					      "/usr", "/usr/bin",
					      "/var", "/var/lib" };
	struct stat st;

	if (contains_path("/dev/shm", real) && strcmp(real, "/dev/shm") != 0)
		return false;
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++)
		if (contains_path(trees[i], real))
			return true;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!strcmp(places[i], real))
			return true;
	return stat(real, &st) == 0 && (st.st_mode & S_ISVTX);
}

int bind_check(const struct settings *set, const char *dir, char **real,
	       struct error *err)
{
	char *own = realpath(settings_dir(set), NULL);
	char *home =
		settings_home(set) ? realpath(settings_home(set), NULL) : NULL;
	int rc = 0;

	*real = realpath(dir, NULL);
	if (!*real)
		rc = error_errno(err, "binding %s", dir);
	else if (contains_path(*real, "/") ||
		 (home && contains_path(*real, home)))
		rc = error_set(err, ERR_CONFIG, "refusing to bind %s: it is %s",
			       *real,
			       home && !strcmp(*real, home)
				       ? "your home directory"
				       : "above your home directory");
	else if (is_systems(*real))
		rc = error_set(err, ERR_CONFIG,
			       "refusing to bind %s: it belongs to the system "
			       "or is shared by all users",
			       *real);
	else if (own &&
		 (contains_path(own, *real) || contains_path(*real, own)))
		rc = error_set(
			err, ERR_CONFIG,
			"refusing to bind %s: it contains dcode's own files, "
			"or lies among them",
			*real);
	if (rc < 0)
		error_hint(err, "Start dcode in a project's directory, or use "
				"--workspace repo, which sends a copy.");
	free(own);
	free(home);
	return rc;
}

enum { SMALL_MAX = 64 << 10, CONFIG_MAX = 1 << 20 };

static const char not_back[] =
	"its .git file points to a repository that does not list this working "
	"tree";

static const char too_much[] = "its working tree, or its repository, is your "
			       "home directory or contains dcode's own files";

static const char is_link[] = "its .git is a link, a pipe or a device";

static const char reftable[] = "its repository is outside of the directory and "
			       "keeps its references in a reftable";

static const char in_system[] =
	"the sandbox has its own system files where the repository is";

/* Entries of a git directory that make git run commands or use other
 * directories. Attack: a command in the sandbox creates one, and git on the
 * host obeys it. So they are protected even while they do not exist. */
static const struct {
	const char *name;
	enum bind_git_use use;
} obeyed[] = {
	{ "config", BIND_GIT_NO_FILE },
	{ "config.worktree", BIND_GIT_NO_FILE },
	{ "gitdir", BIND_GIT_NO_FILE },
	{ "hooks", BIND_GIT_NO_DIRECTORY },
	{ "info", BIND_GIT_NO_DIRECTORY },
};

struct parts {
	const struct bind_git *git;
	void (*each)(void *arg, const char *path, enum bind_git_use use);
	void *arg;
};

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

/* False for paths that the sandbox uses for something else: a repository cannot
 * be mounted there. */
static bool can_mount(const char *path)
{
	static const char *const taken[] = { "/usr",    "/bin",      "/sbin",
					     "/lib",    "/lib32",    "/lib64",
					     "/libx32", "/etc",      "/proc",
					     "/dev",    "/sys",      "/boot",
					     "/run",    "/workspace" };

	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		if (is_below(path, taken[i]))
			return false;
	return true;
}

/* Returns the first line of a small file, trimmed and owned, or NULL. */
static char *read_line(const char *dir, const char *name)
{
	struct buf text = BUF_INIT(SMALL_MAX);
	char *path = path_join(dir, name);
	struct error ignored = { 0 };
	char *line = NULL;

	if (path_read_regular(path, &text, &ignored) == 0 && text.len) {
		struct str s = { text.ptr, str_find(buf_str(&text), '\n') };

		s = str_trim(s);
		line = xstrndup(s.ptr ? s.ptr : "", s.len);
	}
	buf_release(&text);
	free(path);
	return line;
}

/* Returns core.worktree as git writes it for a submodule, owned, or NULL. */
static char *read_worktree(const char *git_dir)
{
	struct buf text = BUF_INIT(CONFIG_MAX);
	char *path = path_join(git_dir, "config");
	struct error ignored = { 0 };
	bool in_core = false;
	char *value = NULL;
	struct str rest;
	struct str line;

	if (path_read_regular(path, &text, &ignored) == 0) {
		rest = buf_str(&text);
		while (str_split(&rest, '\n', &line)) {
			size_t at = str_find(line, '=');
			struct str key = { line.ptr, at };

			line = str_trim(line);
			if (str_starts(line, "["))
				in_core = str_is_nocase(line, "[core]");
			else if (in_core &&
				 str_is_nocase(str_trim(key), "worktree")) {
				struct str s = str_trim(str_skip(
					line, str_find(line, '=') + 1));

				free(value);
				value = xstrndup(s.ptr ? s.ptr : "", s.len);
			}
		}
	}
	buf_release(&text);
	free(path);
	return value;
}

/* True if the git directory points back to this tree. A linked worktree's git
 * directory has a file gitdir that names the .git file; a submodule's has
 * core.worktree in its config. */
static bool names_tree(const char *git_dir, const char *root, const char *dot)
{
	/* The path may be relative, with worktree.useRelativePaths (git
	 * 2.48). */
	char *back = read_line(git_dir, "gitdir");
	char *tree = back ? NULL : read_worktree(git_dir);
	char *whole =
		back || tree ? path_join(git_dir, back ? back : tree) : NULL;
	bool names = whole && path_is_same(whole, back ? dot : root);

	free(back);
	free(tree);
	free(whole);
	return names;
}

/* Returns the common git directory that the file commondir names, if it
 * contains git_dir as worktrees/NAME. Without that file, or if it has ".", the
 * placeholder that dcode writes, git_dir itself is the common one. Owned; or
 * NULL. */
static char *find_common(const char *git_dir)
{
	char *file = path_join(git_dir, "commondir");
	struct stat st;
	bool has_file = lstat(file, &st) == 0;
	char *line = has_file ? read_line(git_dir, "commondir") : NULL;
	char *named = path_join(git_dir, line ? line : ".");
	char *common = has_file && !line ? NULL : realpath(named, NULL);
	char *entry = common ? xasprintf("%s/worktrees%s", common,
					 strrchr(git_dir, '/'))
			     : NULL;

	if (common && !path_is_same(common, git_dir) &&
	    !path_is_same(entry, git_dir)) {
		free(common);
		common = NULL;
	}
	free(file);
	free(line);
	free(named);
	free(entry);
	return common;
}

/* Sets git_dir and common from a .git file, if the directory that it names
 * points back to this tree. */
static void follow_file(struct bind_git *b, const char *dot, uid_t owner)
{
	char *line = read_line(b->root, ".git");
	char *named = line && str_starts(str_of(line), "gitdir: ")
			      ? path_join(b->root, line + strlen("gitdir: "))
			      : NULL;
	char *real = named ? realpath(named, NULL) : NULL;

	if (real && names_tree(real, b->root, dot)) {
		b->common = find_common(real);
		b->git_dir = xstrdup(real);
	}
	if (!b->common || !project_trusts_git(b->git_dir, b->common, owner))
		b->limit = not_back;
	free(line);
	free(named);
	free(real);
}

/* With reftable all references share files that every writer replaces, so the
 * writer cannot be limited to one branch. */
static bool has_reftable(const char *common)
{
	char *dir = path_join(common, "reftable");
	bool has = access(dir, F_OK) == 0;

	free(dir);
	return has;
}

static void read_branch(struct bind_git *b)
{
	char *line = read_line(b->git_dir, "HEAD");

	if (line && str_starts(str_of(line), "ref: refs/heads/") &&
	    !strstr(line, ".."))
		b->branch = xstrdup(line + strlen("ref: "));
	free(line);
}

static bool may_bind(const struct settings *set, const char *path)
{
	struct error ignored = { 0 };
	char *real = NULL;
	bool may = bind_check(set, path, &real, &ignored) == 0;

	free(real);
	return may;
}

bool bind_git_find(struct bind_git *b, const struct settings *set,
		   const char *dir)
{
	uid_t owner = project_owner(dir);
	bool is_repository = false;
	size_t len = project_root(dir, owner, &is_repository);
	struct stat st = { 0 };
	char *dot;

	*b = (struct bind_git){ .root = xstrndup(dir, len) };
	if (!is_repository)
		return false;
	dot = path_join(b->root, ".git");
	(void)lstat(dot, &st);
	if (S_ISREG(st.st_mode)) {
		follow_file(b, dot, owner);
	} else if (!S_ISDIR(st.st_mode)) {
		b->limit = dir[len] ? is_link : NULL;
	} else if (dir[len]) {
		b->git_dir = xstrdup(dot);
		b->common = xstrdup(dot);
	}
	free(dot);
	/* If both git directories are inside dir, they are bound with dir. */
	if (b->limit || !b->git_dir ||
	    (is_below(b->git_dir, dir) && is_below(b->common, dir)))
		return false;
	if (!can_mount(b->root) || !can_mount(b->git_dir) ||
	    !can_mount(b->common)) {
		b->limit = in_system;
		return false;
	}
	if (!may_bind(set, b->root) || !may_bind(set, b->git_dir) ||
	    !may_bind(set, b->common)) {
		b->limit = too_much;
		return false;
	}
	if (has_reftable(b->common)) {
		b->limit = reftable;
		return false;
	}
	read_branch(b);
	return true;
}

void bind_git_release(struct bind_git *b)
{
	free(b->root);
	free(b->git_dir);
	free(b->common);
	free(b->branch);
	*b = (struct bind_git){ 0 };
}

/* Calls found for each name in a directory of common; dir "" is common
 * itself. */
static void list_names(const struct parts *p, const char *dir,
		       void (*found)(const struct parts *p, const char *path,
				     const char *name, const struct stat *st))
{
	char *whole = path_join(p->git->common, dir);
	int fd = open(whole, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		struct stat st;
		char *path;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		path = dir[0] ? path_join(dir, e->d_name) : xstrdup(e->d_name);
		found(p, path, e->d_name, &st);
		free(path);
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	free(whole);
}

static void add_branch(const struct parts *p, const char *path,
		       const char *name, const struct stat *st)
{
	(void)name;
	if (S_ISDIR(st->st_mode))
		list_names(p, path, add_branch);
	else if (!p->git->branch || strcmp(path, p->git->branch) != 0)
		p->each(p->arg, path, BIND_GIT_READS);
}

/* Makes read-only the entries of the worktree's own git directory that a commit
 * does not write. For the names in `obeyed` the caller does that. */
static void add_own(const struct parts *p, const char *path, const char *name,
		    const struct stat *st)
{
	static const char *const dirs[] = { "objects", "refs", "logs" };
	static const char *const files[] = { "commondir", "packed-refs" };
	bool is_dir = S_ISDIR(st->st_mode);
	bool reads = is_dir || !strncmp(name, "config", 6);

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		reads &= !is_dir || strcmp(name, dirs[i]) != 0;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		reads |= !strcmp(name, files[i]);
	for (size_t i = 0; i < sizeof(obeyed) / sizeof(*obeyed); i++)
		reads &= strcmp(name, obeyed[i].name) != 0;
	if (reads)
		p->each(p->arg, path, BIND_GIT_READS);
}

void bind_git_each(const struct bind_git *b,
		   void (*each)(void *arg, const char *path,
				enum bind_git_use use),
		   void *arg)
{
	const struct parts p = { b, each, arg };
	const char *own = b->git_dir + strlen(b->common);
	char *logs = path_join(b->common, "logs/refs/heads");
	struct error ignored = { 0 };

	(void)path_mkdirs(logs, 0755, &ignored);
	own += own[0] == '/';
	each(arg, "objects", BIND_GIT_WRITES);
	each(arg, "objects/info", BIND_GIT_NO_DIRECTORY);
	each(arg, "refs/heads", BIND_GIT_WRITES);
	if (own[0]) {
		each(arg, "logs/refs/heads", BIND_GIT_WRITES);
		each(arg, own, BIND_GIT_WRITES);
	} else {
		each(arg, "refs", BIND_GIT_READS);
	}
	for (size_t i = 0; i < sizeof(obeyed) / sizeof(*obeyed); i++) {
		char *path = path_join(own, obeyed[i].name);

		each(arg, path, obeyed[i].use);
		free(path);
	}
	list_names(&p, own, add_own);
	list_names(&p, "refs/heads", add_branch);
	free(logs);
}
