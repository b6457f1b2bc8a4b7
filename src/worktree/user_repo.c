/* user_repo.c - reads the user's own repository without running git in it. */
/* SPDX-License-Identifier: MIT */
/*
 * git is never started in the user's repository, because its configuration
 * could make git run a program. dcode reads what it needs here, without
 * following links: the directories, HEAD, the index, patterns, attributes.
 * dcode's git reads objects from it as alternates, after a check that nothing
 * in there makes git wait. The only file that is ever written is the index, by
 * user_index_copy() under user_index_lock(), in the same way as git does it.
 *
 * Which files count can depend on the repository: [includeIf "gitdir:~/work/"].
 * user_config_value() reads the user's git settings, as they hold for this
 * repository. git decides that by its own git directory, but dcode never starts
 * git in the user's repository. So git only lists the settings of one file
 * at a time, and dcode decides here which files are included, by the rules of
 * git-config(1). Begin with user_config_value().
 */
#include "worktree/user_repo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/str.h"
#include "worktree/treefile.h"

enum {
	ATTRIBUTES_MAX = 1 << 20,
	SMALL_MAX = 64 << 10, /* bytes of a file that contains one name */
	CONFIG_MAX = 1 << 20,
	INDEX_MAX = 512 << 20,
	SHARED_MAX = 16, /* files of a split index */
	CHUNK = 64 << 10,
	ALTERNATES_DEPTH = 5, /* nested alternates, as in git */
	ALTERNATES_MAX = 64 << 10,
	OBJECT_DIRS_MAX = 4096,
	LOCK_MAX = 200, /* bytes of index.lock */
};

char *user_repo_root(const char *path, bool *is_repository, struct error *err)
{
	char *real = realpath(path, NULL);

	if (!real) {
		error_errno(err, "%s", path);
		return NULL;
	}
	real[project_root(real, project_owner(real), is_repository)] = '\0';
	return real;
}

/* Opens a file below directory without following links. -1 with errno. */
static int open_below(const char *directory, const char *name)
{
	struct tree_dir dir;
	struct error ignored = { 0 };
	const char *last;
	int fd = -1;
	int why;

	if (tree_dir_open(&dir, directory, &ignored) == 0 &&
	    tree_dir_parent(&dir, name, &last) >= 0)
		fd = openat(dir.fd, last,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	why = errno;
	tree_dir_close(&dir);
	errno = why;
	return fd;
}

/* Opens a regular file. 1: it does not exist. */
static int open_file(const char *directory, const char *name, int *fd,
		     struct error *err)
{
	struct stat st;

	*fd = open_below(directory, name);
	if (*fd < 0 && errno == ENOENT)
		return 1;
	if (*fd < 0 && errno != ELOOP && errno != ENOTDIR && errno != ENXIO)
		return error_errno(err, "%s/%s", directory, name);
	if (*fd >= 0 && fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return error_set(err, ERR_USAGE,
			 "dcode does not read %s/%s: it is a link, is reached "
			 "through a link, or is not a regular file",
			 directory, name);
}

int user_repo_read(const char *directory, const char *name, struct buf *out,
		   struct error *err)
{
	char *room = NULL;
	ssize_t n = 0;
	int fd;
	int rc = open_file(directory, name, &fd, err);

	if (rc != 0)
		return rc;
	room = xcalloc(1, CHUNK);
	while ((n = io_read(fd, room, CHUNK)) > 0 && !out->over)
		buf_add(out, room, (size_t)n);
	if (n < 0)
		rc = error_errno(err, "%s/%s", directory, name);
	else
		rc = buf_check(out, name, err);
	close(fd);
	free(room);
	return rc;
}

/* Asks git for a value in the text of a config, or for all (key NULL). 1: it is
 * not set. */
static int ask_config(const struct git *g, struct str text, const char *key,
		      struct buf *out, const struct stop *stop,
		      struct error *err)
{
	const char *argv[] = {
		"config", "--no-includes",          "-f",
		"-",      key ? "--get" : "--list", key ? key : "-z",
		NULL
	};
	int status = 0;
	struct git_request r = {
		.argv = argv, .input = text, .out = out, .status = &status
	};
	int rc = git_run(g, &r, stop, err);

	while (out->len && out->ptr[out->len - 1] == '\n')
		out->ptr[--out->len] = '\0';
	return rc == 0 && (status != 0 || !out->len) ? 1 : rc;
}

/* Appends config.worktree of this working tree, whose values go before those in
 * config, if the repository's extensions.worktreeConfig is set. */
static int add_worktree_config(const struct user_repo *u, const struct git *g,
			       struct buf *text, const struct stop *stop,
			       struct error *err)
{
	static const char *const yes[] = { "true", "yes", "on", "1" };
	char *file = path_join(u->git_dir, "config.worktree");
	struct buf value = BUF_INIT(SMALL_MAX);
	struct stat st;
	bool reads = false;
	int rc = 0;

	if (lstat(file, &st) == 0)
		rc = ask_config(g, buf_str(text), "extensions.worktreeConfig",
				&value, stop, err);
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		reads |= str_is_nocase(buf_str(&value), yes[i]);
	if (rc == 0 && reads) {
		buf_addc(text, '\n');
		rc = user_repo_read(u->git_dir, "config.worktree", text, err);
	}
	buf_release(&value);
	free(file);
	return rc < 0 ? -1 : 0;
}

int user_repo_config(const struct user_repo *u, const char *key,
		     const struct git *g, struct buf *out,
		     const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(CONFIG_MAX);
	int rc = user_repo_read(u->common, "config", &text, err);

	if (rc == 0)
		rc = add_worktree_config(u, g, &text, stop, err);
	if (rc == 0)
		rc = ask_config(g, buf_str(&text), key, out, stop, err);
	buf_release(&text);
	return rc;
}

/* Returns the first line of a small file, trimmed and owned, or NULL. */
static char *read_line(const char *directory, const char *name)
{
	struct buf text = BUF_INIT(SMALL_MAX);
	struct error ignored = { 0 };
	char *line = NULL;

	if (user_repo_read(directory, name, &text, &ignored) == 0 && text.len) {
		struct str s = { text.ptr, str_find(buf_str(&text), '\n') };

		s = str_trim(s);
		line = xstrndup(s.ptr ? s.ptr : "", s.len);
	}
	buf_release(&text);
	return line;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x;
	struct stat y;

	return lstat(a, &x) == 0 && lstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* True if git_dir points back to this tree: a worktree's git directory has a
 * file gitdir with the path of the tree's .git file, a submodule's has
 * core.worktree. Otherwise a .git file could name any repository. */
static bool points_back(char *git_dir, const char *root, const char *dot,
			const struct git *g, const struct stop *stop)
{
	const struct user_repo own = { .git_dir = git_dir, .common = git_dir };
	struct buf out = BUF_INIT(SMALL_MAX);
	struct error ignored = { 0 };
	char *back = read_line(git_dir, "gitdir");
	/* Relative with worktree.useRelativePaths (git 2.48). */
	char *whole = back ? path_join(git_dir, back) : NULL;
	bool is_back = whole && same_file(whole, dot);

	if (!back && user_repo_config(&own, "core.worktree", g, &out, stop,
				      &ignored) == 0) {
		char *tree = path_join(git_dir, out.ptr);

		is_back = same_file(tree, root);
		if (!is_back) {
			char *real = realpath(tree, NULL);

			is_back = real && same_file(real, root);
			free(real);
		}
		free(tree);
	}
	buf_release(&out);
	free(back);
	free(whole);
	return is_back;
}

/* Returns the directory that commondir names, if it contains git_dir as
 * worktrees/NAME, as git creates it; else NULL. Without the file commondir:
 * git_dir itself. Owned. */
static char *find_common(const char *git_dir)
{
	struct stat st;
	char *file = path_join(git_dir, "commondir");
	bool is_own = lstat(file, &st) < 0 && errno == ENOENT;
	char *line = is_own ? NULL : read_line(git_dir, "commondir");
	char *named = line && line[0] ? path_join(git_dir, line) : NULL;
	char *common = is_own ? xstrdup(git_dir) : NULL;
	char *back = NULL;

	if (named)
		common = realpath(named, NULL);
	if (named && common) {
		back = xasprintf("%s/worktrees%s", common,
				 strrchr(git_dir, '/'));
		/* "." is a placeholder that dcode writes in a sandbox into
		 * which the tree is mounted. */
		if (!same_file(common, git_dir) && !same_file(back, git_dir)) {
			free(common);
			common = NULL;
		}
	}
	free(file);
	free(line);
	free(named);
	free(back);
	return common;
}

/* Follows a .git that is a file: "gitdir: PATH". */
static void follow_git_file(struct user_repo *u, const char *root,
			    const char *dot, const struct git *g,
			    const struct stop *stop)
{
	char *line = read_line(root, ".git");
	char *named = NULL;
	char *real = NULL;

	u->refused = "has a .git that names a directory which does not point "
		     "back to it";

	if (line && str_starts(str_of(line), "gitdir: "))
		named = path_join(root, line + strlen("gitdir: "));
	if (named)
		real = realpath(named, NULL);
	if (real && points_back(real, root, dot, g, stop)) {
		u->common = find_common(real);
		u->git_dir = u->common ? xstrdup(real) : NULL;
		u->refused = u->common ? NULL
				       : "has a .git whose commondir names a "
					 "repository without this worktree";
	}
	if (u->git_dir &&
	    !project_trusts_git(u->git_dir, u->common, project_owner(root))) {
		free(u->git_dir);
		free(u->common);
		u->git_dir = u->common = NULL;
		u->refused = "has a .git that names another user's directory";
	}
	free(line);
	free(named);
	free(real);
}

static bool is_oid(const char *s)
{
	size_t n = strspn(s, "0123456789abcdef");

	return !s[n] && (n == 40 || n == 64);
}

/* Reads the commit of a reference without git, which would read the
 * configuration there. Packed references are searched in packed-refs. */
static void find_commit(struct user_repo *u, const char *ref)
{
	struct buf text = BUF_INIT(16 << 20);
	char *line = read_line(u->common, ref);
	struct error ignored = { 0 };
	struct str rest;
	struct str one;

	if (line && is_oid(line)) {
		snprintf(u->head, sizeof(u->head), "%s", line);
	} else if (user_repo_read(u->common, "packed-refs", &text, &ignored) ==
		   0) {
		rest = buf_str(&text);
		while (str_split(&rest, '\n', &one)) {
			size_t n = str_find(one, ' ');

			if (n < GIT_OID && str_is(str_skip(one, n + 1), ref))
				snprintf(u->head, sizeof(u->head), "%.*s",
					 (int)n, one.ptr);
		}
		if (!is_oid(u->head))
			u->head[0] = '\0';
	}
	free(line);
	buf_release(&text);
}

/* Reads HEAD. A branch without a commit has a name but no head. */
static void read_head(struct user_repo *u)
{
	static const char heads[] = "ref: refs/heads/";
	char *line = read_line(u->git_dir, "HEAD");

	if (line && str_starts(str_of(line), heads)) {
		free(u->branch);
		u->branch = xstrdup(line + strlen(heads));
		if (!strstr(line, ".."))
			find_commit(u, line + strlen("ref: "));
	} else if (line && is_oid(line)) {
		snprintf(u->head, sizeof(u->head), "%s", line);
	}
	free(line);
}

int user_repo_open(struct user_repo *u, const char *root, const struct git *g,
		   const struct stop *stop, struct error *err)
{
	char *dot = path_join(root, ".git");
	struct stat st;

	*u = (struct user_repo){ .branch = xstrdup("") };
	if (lstat(dot, &st) < 0)
		st.st_mode = 0;
	else if (!project_trusts(&st, project_owner(root)))
		u->refused = "has a .git that belongs to another user";
	if (u->refused)
		st.st_mode = 0;
	if (S_ISDIR(st.st_mode)) {
		u->git_dir = xstrdup(dot);
		u->common = xstrdup(dot);
	} else if (S_ISREG(st.st_mode)) {
		follow_git_file(u, root, dot, g, stop);
	} else if (st.st_mode) {
		u->refused = "has a .git that is a link, a pipe or a device";
	}
	free(dot);
	if (u->git_dir && u->common)
		read_head(u);
	return stop_check(stop, err);
}

void user_repo_release(struct user_repo *u)
{
	free(u->git_dir);
	free(u->common);
	free(u->branch);
	*u = (struct user_repo){ 0 };
}

/* Gives the copy of an index the time of the original. If a file is not older
 * than its index, git compares the text, because it may have been written again
 * in the same tick (git's Documentation/technical/racy-git.txt). */
static void keep_time(int from, int to)
{
	struct stat st;

	if (to >= 0 && fstat(from, &st) == 0)
		(void)futimens(to, (const struct timespec[]){ st.st_atim,
							      st.st_mtim });
}

/* Copies a file. 1: it does not exist. */
static int copy_file(const char *directory, const char *from, const char *to,
		     struct error *err)
{
	int in;
	int out = -1;
	int64_t left = INDEX_MAX;
	char *room;
	ssize_t n = 0;
	int rc = open_file(directory, from, &in, err);

	if (rc != 0)
		return rc;
	room = xcalloc(1, CHUNK);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while (out >= 0 && left >= 0 && (n = io_read(in, room, CHUNK)) > 0) {
		left -= n;
		if (io_write_all(out, room, (size_t)n) < 0)
			n = -1;
		if (n < 0)
			break;
	}
	if (out < 0 || n < 0)
		rc = error_errno(err, "copying %s", from);
	else if (left < 0)
		rc = error_set(err, ERR_LIMIT, "%s is larger than %d MiB", from,
			       INDEX_MAX >> 20);
	keep_time(in, out);
	close(in);
	if (out >= 0)
		close(out);
	free(room);
	return rc;
}

/* Copies the shared files of a split index, whose names contain a hash. */
static int copy_shared(const struct user_repo *u, const struct git *g,
		       struct error *err)
{
	DIR *d = opendir(u->git_dir);
	struct dirent *e;
	int copied = 0;
	int rc = 0;

	while (d && rc == 0 && copied < SHARED_MAX && (e = readdir(d))) {
		char *to;

		if (!str_starts(str_of(e->d_name), "sharedindex."))
			continue;
		to = path_join(g->dir, e->d_name);
		rc = copy_file(u->git_dir, e->d_name, to, err) < 0 ? -1 : 0;
		copied++;
		free(to);
	}
	if (d)
		closedir(d);
	return rc;
}

int user_repo_copy_index(const struct user_repo *u, const struct git *g,
			 const char *index, struct error *err)
{
	int rc;

	(void)unlink(index);
	if (!u->git_dir)
		return 0;
	rc = copy_file(u->git_dir, "index", index, err);
	return rc == 0 ? copy_shared(u, g, err) : rc > 0 ? 0 : -1;
}

static void end_line(struct buf *out)
{
	if (out->len && out->ptr[out->len - 1] != '\n')
		buf_addc(out, '\n');
}

/* Returns the path of name in the user's git configuration directory. Owned. */
static char *in_config(const char *home, const char *name)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");

	return xdg && xdg[0] == '/'
		       ? xasprintf("%s/git/%s", xdg, name)
		       : xasprintf("%s/.config/git/%s", home, name);
}

/* Returns the file that the user's git settings name, else git's default.
 * Owned. */
static char *named_file(const struct git *g, const char *home, const char *key,
			const char *name, const struct stop *stop)
{
	for (int i = 0; i < 2; i++) {
		char *config = i ? in_config(home, "config")
				 : path_join(home, ".gitconfig");
		const char *argv[] = { "config", "--no-includes",
				       "-f",     config,
				       key,      NULL };
		struct buf out = BUF_INIT(SMALL_MAX);
		struct error ignored = { 0 };
		char *found = NULL;

		if (access(config, R_OK) == 0 &&
		    git_ask(g, argv, &out, stop, &ignored) == 0 && out.len)
			found = path_expand(out.ptr, home);
		buf_release(&out);
		free(config);
		if (found)
			return found;
	}
	return in_config(home, name);
}

/* Appends the file; one that cannot be read is ignored. */
static void read_named_file(const struct git *g, const char *home,
			    const char *const names[2], struct buf *out,
			    const struct stop *stop)
{
	char *file = named_file(g, home, names[0], names[1], stop);
	struct error ignored = { 0 };

	if (file[0] == '/' && path_read_regular(file, out, &ignored) == 0)
		end_line(out);
	free(file);
}

int user_repo_excludes(const struct user_repo *u, const struct git *g,
		       const char *home, struct buf *out,
		       const struct stop *stop, struct error *err)
{
	static const char *const names[] = { "core.excludesFile", "ignore" };

	/* Fails on error: without these patterns more would be sent than
	 * expected. */
	if (u->common &&
	    user_repo_read(u->common, "info/exclude", out, err) < 0)
		return -1;
	end_line(out);
	if (home)
		read_named_file(g, home, names, out, stop);
	return buf_check(out, "the patterns of ignored files", err);
}

void user_repo_attributes(const struct user_repo *u, const struct git *g,
			  const char *home, struct user_attributes *a,
			  const struct stop *stop)
{
	static const char *const names[] = { "core.attributesFile",
					     "attributes" };
	struct error ignored = { 0 };

	*a = (struct user_attributes){ BUF_INIT(ATTRIBUTES_MAX),
				       BUF_INIT(ATTRIBUTES_MAX) };
	if (home)
		read_named_file(g, home, names, &a->global, stop);
	/* A file that is not regular or too large is ignored. */
	if (u->common && user_repo_read(u->common, "info/attributes", &a->info,
					&ignored) < 0)
		buf_clear(&a->info);
}

void user_repo_attributes_release(struct user_attributes *a)
{
	buf_release(&a->info);
	buf_release(&a->global);
}

struct object_walk {
	size_t directories; /* seen so far */
	struct error *err;
};

static int refuse_object(const struct object_walk *k, const char *path)
{
	return error_set(k->err, ERR_USAGE,
			 "dcode does not let git read %s: it is a pipe, a "
			 "device or a link to nothing",
			 path);
}

static int check_object_dir(struct object_walk *k, const char *path, int below);

static int check_object_entry(struct object_walk *k, DIR *d,
			      const char *directory, const struct dirent *e,
			      int below)
{
	char *path = path_join(directory, e->d_name);
	struct stat st = { 0 };
	int rc = 0;

	if (fstatat(dirfd(d), e->d_name, &st, 0) < 0)
		rc = errno == ENOENT && e->d_type != DT_LNK
			     ? 0
			     : refuse_object(k, path);
	else if (S_ISDIR(st.st_mode) && below > 0)
		rc = check_object_dir(k, path, below - 1);
	else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		rc = refuse_object(k, path);
	free(path);
	return rc;
}

/* Checks all entries of a directory, and of directories up to below levels
 * further down. */
static int check_object_dir(struct object_walk *k, const char *path, int below)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	int rc = 0;

	if (!d)
		return errno == ENOENT ? 0 : error_errno(k->err, "%s", path);
	if (++k->directories > OBJECT_DIRS_MAX)
		rc = error_set(k->err, ERR_LIMIT, "%s: too many directories",
			       path);
	while (rc == 0 && (e = readdir(d)))
		if (e->d_type != DT_REG && strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0)
			rc = check_object_entry(k, d, path, e, below);
	closedir(d);
	return rc;
}

static int check_objects(struct object_walk *k, const char *objects, int depth);

/* Checks alternates; git ignores those that do not exist. */
static int check_alternates(struct object_walk *k, const char *objects,
			    int depth)
{
	struct buf text = BUF_INIT(ALTERNATES_MAX);
	int rc = user_repo_read(objects, "info/alternates", &text, k->err);
	struct str rest = buf_str(&text);
	struct str line;

	while (rc == 0 && str_split(&rest, '\n', &line)) {
		char *one = xstrndup(line.ptr, line.len);
		char *path = path_join(objects, one);

		if (line.len && line.ptr[0] != '#')
			rc = check_objects(k, path, depth + 1);
		free(path);
		free(one);
	}
	buf_release(&text);
	return rc < 0 ? -1 : 0;
}

static int check_objects(struct object_walk *k, const char *objects, int depth)
{
	struct stat st;

	if (depth > ALTERNATES_DEPTH || stat(objects, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return refuse_object(k, objects);
	if (check_object_dir(k, objects, 2) < 0)
		return -1;
	return check_alternates(k, objects, depth);
}

char *user_repo_objects(const struct user_repo *u, struct error *err)
{
	struct object_walk k = { .err = err };
	char *objects = u->common ? path_join(u->common, "objects") : NULL;
	struct stat st;
	int rc = 0;

	if (!objects)
		return NULL;
	if (lstat(objects, &st) < 0 || !S_ISDIR(st.st_mode))
		rc = error_set(err, ERR_USAGE, "not a directory: %s", objects);
	if (rc == 0)
		rc = check_objects(&k, objects, 0);
	if (rc == 0)
		return objects;
	free(objects);
	return NULL;
}

static void lock_text(const char *token, char text[LOCK_MAX])
{
	snprintf(text, LOCK_MAX, "locked by dcode apply %s\n", token);
}

/* Writes the lock to a temporary file: it must be complete before a link gives
 * it its name. */
static int write_lock(const char *path, const char *text, struct error *err)
{
	int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     0600);
	int rc = 0;

	if (fd < 0 || io_write_all(fd, text, strlen(text)) < 0)
		rc = error_errno(err, "writing %s", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

int user_index_lock(const char *index, const char *token, struct error *err)
{
	char text[LOCK_MAX];
	char *lock = xasprintf("%s.lock", index);
	char *temporary = xasprintf("%s.dcode-%s", index, token);
	int rc;

	lock_text(token, text);
	rc = write_lock(temporary, text, err);
	/* A hard link makes the complete lock appear at once. */
	if (rc == 0 && link(temporary, lock) < 0) {
		bool busy = errno == EEXIST;

		rc = error_errno(err, "creating %s", lock);
		if (busy) {
			error_set(err, ERR_BUSY,
				  "another git is using the index: %s exists",
				  lock);
			error_hint(err, "Try again when it has finished, or "
					"remove the file if no git is "
					"running.");
		}
	}
	unlink(temporary);
	free(lock);
	free(temporary);
	return rc;
}

void user_index_unlock(const char *index, const char *token)
{
	char ours[LOCK_MAX];
	char *lock = xasprintf("%s.lock", index);
	char *temporary = xasprintf("%s.dcode-%s", index, token);
	char *copy = xasprintf("%s.dcode", index);
	struct buf text = BUF_INIT(LOCK_MAX);
	struct error ignored = { 0 };

	lock_text(token, ours);
	unlink(temporary);
	if (path_read_regular(lock, &text, &ignored) == 0 &&
	    str_is(buf_str(&text), ours)) {
		unlink(copy);
		unlink(lock);
	}
	buf_release(&text);
	free(lock);
	free(temporary);
	free(copy);
}

/* Syncs the copy under a temporary name before it gets its final name. */
int user_index_copy(const char *from, const char *to, struct error *err)
{
	unsigned char hash[TREEFILE_HASH];
	char *temporary = xasprintf("%s.dcode", to);
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int out = -1;
	int rc = 0;

	if (in < 0 && errno == ENOENT) {
		if (unlink(to) < 0 && errno != ENOENT)
			rc = error_errno(err, "removing %s", to);
		goto done;
	}
	(void)unlink(temporary);
	if (in >= 0)
		out = open(temporary,
			   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			   0644);
	if (in < 0 || out < 0 || treefile_copy(in, out, hash) < 0 ||
	    io_fsync(out) < 0 || rename(temporary, to) < 0)
		rc = error_errno(err, "writing %s", to);
done:
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	free(temporary);
	return rc;
}

/* Hashes a file. False if it is missing or cannot be read. */
static bool hash_file(const char *path, unsigned char hash[TREEFILE_HASH])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool there = fd >= 0 && treefile_copy(fd, -1, hash) == 0;

	if (fd >= 0)
		close(fd);
	return there;
}

bool user_index_same(const char *a, const char *b)
{
	unsigned char first[TREEFILE_HASH];
	unsigned char second[TREEFILE_HASH];
	bool there = hash_file(a, first);

	if (hash_file(b, second) != there)
		return false;
	return !there || !memcmp(first, second, TREEFILE_HASH);
}

/* Reads the user's own git configuration. */

enum {
	LISTED_MAX = 1 << 20, /* bytes of a file, and of git's list of it */
	INCLUDES_MAX = 10,    /* depth of includes, as in git */
	FILES_MAX = 100,      /* files that are read for one value */
	VALUE_MAX = 4096,     /* bytes of a name or address */
};

struct config_search {
	const struct user_repo *repo;
	const char *home;
	const char *key;
	const struct git *git;
	struct buf *out;
	const struct stop *stop;
	int depth;
	int files; /* read so far */
};

/* Matches one name of a path with a pattern without "/". */
static bool match_name(struct str pattern, struct str name, int flags)
{
	char *p = xstrndup(pattern.ptr, pattern.len);
	char *n = xstrndup(name.ptr, name.len);
	bool is_match = fnmatch(p, n, flags) == 0;

	free(p);
	free(n);
	return is_match;
}

/* Matches a path name by name; "**" stands for any number of names, but at the
 * end for at least one. */
static bool match_path(struct str pattern, struct str path, int flags)
{
	struct str part;
	struct str name;

	while (str_split(&pattern, '/', &part)) {
		if (str_is(part, "**") && !pattern.ptr)
			return path.ptr != NULL;
		if (str_is(part, "**")) {
			while (!match_path(pattern, path, flags))
				if (!str_split(&path, '/', &name))
					return false;
			return true;
		}
		if (!str_split(&path, '/', &name) ||
		    !match_name(part, name, flags))
			return false;
	}
	return !path.ptr;
}

/* Returns git_dir below the directory of $PWD, which may have links in it: git
 * compares both paths. Owned; NULL if they are the same, or if git_dir is not
 * in the working tree. */
static char *linked_path(const char *git_dir)
{
	const char *pwd = getenv("PWD");
	char *real = pwd && pwd[0] == '/' ? realpath(pwd, NULL) : NULL;
	size_t root = strlen(git_dir) - strlen("/.git");
	char *linked = NULL;

	if (real && str_ends(str_of(git_dir), "/.git") &&
	    !strncmp(real, git_dir, root) &&
	    (!real[root] || real[root] == '/') &&
	    str_ends(str_of(pwd), real + root))
		linked = xasprintf("%.*s/.git",
				   (int)(strlen(pwd) - strlen(real + root)),
				   pwd);
	free(real);
	return linked;
}

/* Returns the pattern of a gitdir condition as git completes it. Owned. file is
 * the config that contains it. */
static char *complete_pattern(const struct config_search *k,
			      const char *pattern, const char *file)
{
	char *whole = path_expand(pattern, k->home);
	const char *end = str_ends(str_of(pattern), "/") ? "**" : "";
	char *real = realpath(file, NULL);
	char *complete;

	if (str_starts(str_of(whole), "./") && real)
		complete =
			xasprintf("%.*s%s%s", (int)(strrchr(real, '/') - real),
				  real, whole + 1, end);
	else
		complete = xasprintf("%s%s%s", whole[0] == '/' ? "" : "**/",
				     whole, end);
	free(real);
	free(whole);
	return complete;
}

static bool is_git_dir(const struct config_search *k, const char *pattern,
		       const char *file, int flags)
{
	const char *git_dir = k->repo->git_dir;
	char *whole = complete_pattern(k, pattern, file);
	char *real = git_dir ? realpath(git_dir, NULL) : NULL;
	/* git compares "./" only with the real path. */
	bool both = real && !str_starts(str_of(pattern), "./");
	char *linked = both ? linked_path(real) : NULL;
	bool is_match =
		(real && match_path(str_of(whole), str_of(real), flags)) ||
		(linked && match_path(str_of(whole), str_of(linked), flags));

	free(linked);
	free(real);
	free(whole);
	return is_match;
}

static bool is_branch(const struct config_search *k, const char *pattern)
{
	char *whole = xasprintf("%s%s", pattern,
				str_ends(str_of(pattern), "/") ? "**" : "");
	bool is_match = k->repo->branch[0] &&
			match_path(str_of(whole), str_of(k->repo->branch), 0);

	free(whole);
	return is_match;
}

/* True if the key includes a file: "include.path", or
 * "includeif.CONDITION.path" with a condition that holds. */
static bool is_include(const struct config_search *k, struct str key,
		       const char *file)
{
	static const char start[] = "includeif.";
	size_t around = strlen(start) + strlen(".path");
	char *condition;
	bool holds = false;

	if (str_is(key, "include.path"))
		return true;
	if (!str_starts(key, start) || !str_ends(key, ".path") ||
	    key.len <= around)
		return false;
	condition = xstrndup(key.ptr + strlen(start), key.len - around);
	if (str_starts(str_of(condition), "gitdir:"))
		holds = is_git_dir(k, condition + strlen("gitdir:"), file, 0);
	else if (str_starts(str_of(condition), "gitdir/i:"))
		holds = is_git_dir(k, condition + strlen("gitdir/i:"), file,
				   FNM_CASEFOLD);
	else if (str_starts(str_of(condition), "onbranch:"))
		holds = is_branch(k, condition + strlen("onbranch:"));
	free(condition);
	return holds;
}

static void read_file(struct config_search *k, const char *file);

/* Reads an included file; its path is relative to the file that names it. */
static void read_included(struct config_search *k, const char *file,
			  struct str value)
{
	char *name = xstrndup(value.ptr, value.len);
	char *whole = path_expand(name, k->home);
	char *dir = xstrndup(file, (size_t)(strrchr(file, '/') - file));
	char *path = whole[0] == '/' ? xstrdup(whole) : path_join(dir, whole);

	read_file(k, path);
	free(path);
	free(dir);
	free(whole);
	free(name);
}

/* Goes through a file in order: a later value replaces an earlier one, also one
 * of an included file. A file that cannot be read is ignored. */
static void read_file(struct config_search *k, const char *file)
{
	static const char *const argv[] = {
		"config", "--no-includes", "-z", "-f", "-", "--list", NULL
	};
	struct buf text = BUF_INIT(LISTED_MAX);
	struct buf list = BUF_INIT(2 * LISTED_MAX);
	struct git_request r = { .argv = argv, .out = &list };
	struct error ignored = { 0 };
	struct str rest = { 0 };
	struct str record;

	if (k->depth >= INCLUDES_MAX || k->files >= FILES_MAX)
		return;
	k->depth++;
	k->files++;
	if (path_read_regular(file, &text, &ignored) == 0) {
		r.input = buf_str(&text);
		if (git_run(k->git, &r, k->stop, &ignored) == 0)
			rest = buf_str(&list);
	}
	while (str_split(&rest, '\0', &record)) {
		struct str key = { record.ptr, str_find(record, '\n') };
		struct str value = str_skip(record, key.len + 1);

		if (value.len && str_is_nocase(key, k->key)) {
			buf_clear(k->out);
			buf_addstr(k->out, value);
		} else if (value.len && is_include(k, key, file)) {
			read_included(k, file, value);
		}
	}
	k->depth--;
	buf_release(&text);
	buf_release(&list);
}

bool user_config_value(const struct user_repo *u, const char *home,
		       const char *key, const struct git *g, struct buf *out,
		       const struct stop *stop)
{
	struct config_search k = { u, home, key, g, out, stop, 0, 0 };
	const char *xdg = getenv("XDG_CONFIG_HOME");
	char *files[2];

	/* git reads the second file last. */
	files[0] = xdg && xdg[0] == '/' ? path_join(xdg, "git/config")
					: path_join(home, ".config/git/config");
	files[1] = path_join(home, ".gitconfig");
	buf_clear(out);
	for (int i = 0; i < 2; i++) {
		read_file(&k, files[i]);
		free(files[i]);
	}
	return out->len > 0;
}

/* Appends a name or address without the characters that git removes inside and
 * at the ends (crud() in git's ident.c). */
static void add_half(struct buf *out, struct str value)
{
	static const char at_ends[] = ".,:;<>\"\\'";

	while (value.len && ((unsigned char)value.ptr[0] <= ' ' ||
			     strchr(at_ends, value.ptr[0])))
		value = str_skip(value, 1);
	while (value.len && ((unsigned char)value.ptr[value.len - 1] <= ' ' ||
			     strchr(at_ends, value.ptr[value.len - 1])))
		value.len--;
	for (size_t i = 0; i < value.len; i++)
		if (!strchr("<>\n\r", value.ptr[i]))
			buf_addc(out, value.ptr[i]);
}

/* Reads the name or the email address of the identity. */
static bool read_half(const struct user_repo *u, const char *home, bool email,
		      const struct git *g, struct buf *out,
		      const struct stop *stop)
{
	const char *key = email ? "user.email" : "user.name";
	const char *env =
		getenv(email ? "GIT_AUTHOR_EMAIL" : "GIT_AUTHOR_NAME");
	struct buf value = BUF_INIT(VALUE_MAX);
	struct error ignored = { 0 };

	if (env)
		add_half(out, str_of(env));
	if (!out->len &&
	    user_repo_config(u, key, g, &value, stop, &ignored) == 0)
		add_half(out, buf_str(&value));
	if (!out->len && user_config_value(u, home, key, g, &value, stop))
		add_half(out, buf_str(&value));
	buf_release(&value);
	return out->len > 0;
}

int user_repo_identity(const struct user_repo *u, const char *home,
		       const struct git *g, char **identity,
		       const struct stop *stop, struct error *err)
{
	struct buf name = BUF_INIT(VALUE_MAX);
	struct buf email = BUF_INIT(VALUE_MAX);
	int rc = 0;

	if (read_half(u, home, false, g, &name, stop) &&
	    read_half(u, home, true, g, &email, stop)) {
		*identity = xasprintf("%s <%s>", name.ptr, email.ptr);
	} else {
		rc = error_set(err, ERR_CONFIG,
			       "no author for the commit: git has no user.name "
			       "or user.email");
		error_hint(
			err,
			"Run git config --global user.name \"Your Name\" and "
			"git config --global user.email you@example.org");
	}
	buf_release(&name);
	buf_release(&email);
	return rc;
}
