/* select.c - selects the files of the user's tree that a sandbox gets. */
/* SPDX-License-Identifier: MIT */
/*
 * dcode's git lists tracked files and files that are not ignored, using a copy
 * of the user's index (walk_tree(); each submodule is a separate walk). look()
 * decides about each path: by its name, its kind, whether it contains a secret,
 * and whether an --include pattern sends it nevertheless. Files that are not
 * sent are listed with a reason. The user's files are not written.
 *
 * Two attacks by a hostile tree are handled: a pipe named .gitignore, which git
 * would wait for (check_git_files()), and unreadable directories, which git
 * skips with a warning (find_unreadable()).
 */
#include "worktree/select.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "sandbox/files/glob_match.h"
#include "worktree/git.h"
#include "worktree/name.h"
#include "worktree/treefile.h"

enum {
	MODULE_DEPTH = 8, /* nested submodules */
	NAMES_MAX = 1000000,
	EXCLUDE_MAX = 4 << 20,
	/* levels of .state/workspaces/KEY below ~/.deepagents */
	STATE_DEPTH = 3,
	GIT_FILES_MAX = 300000, /* entries searched for pipes */
	GIT_FILES_DEPTH = 200,
	DIRECTORIES_MAX = 200000, /* maximum number of directories to list */
};

/* docs/spec.md of git-lfs: a pointer has less than 1024 bytes and begins with
 * lfs_mark; its object id needs 71. */
enum { POINTER_MIN = 120, POINTER_MAX = 1024 };

static const char lfs_mark[] = "version https://git-lfs.github.com/spec/v1\n";

#define SIZE_MAX_SENT ((int64_t)100 << 20)

/* Returns a name in lower case, because some file systems ignore case; cut to
 * size bytes. */
static struct str lower_name(struct str name, char *room, size_t size)
{
	size_t n = 0;

	for (; n < name.len && n < size; n++) {
		char c = name.ptr[n];

		room[n] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	return (struct str){ room, n };
}

/* True for .env and .env.NAME, except examples such as .env.example: these do
 * not contain secrets. */
static bool is_env(struct str name)
{
	if (str_is(name, ".env"))
		return true;
	return str_starts(name, ".env.") && !str_ends(name, ".example") &&
	       !str_ends(name, ".sample") && !str_ends(name, ".template");
}

/* True for "id_ed25519", not for "id_map.c" or the public key "id_rsa.pub". */
static bool is_ssh_key(struct str name)
{
	return str_starts(name, "id_") && str_find(name, '.') == name.len;
}

static bool is_secret_name(struct str name)
{
	static const char *const names[] = { ".netrc", ".npmrc", ".pypirc" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_is(name, names[i]))
			return true;
	return false;
}

/* True for a line "-----BEGIN ... PRIVATE KEY-----" (RFC 7468; OpenPGP: BLOCK),
 * also if indented (YAML) or in a string followed by "\n" (JSON). Source code
 * that only mentions the marker does not match. */
static bool begins_key(struct str line)
{
	static const char mark[] = "-----BEGIN ";
	size_t at = str_search(line, str_of(mark));
	struct str rest = str_skip(line, at);
	size_t name = str_search(rest, STR(" PRIVATE KEY"));

	if (name == rest.len)
		return false;
	if (str_trim((struct str){ line.ptr, at }).len == 0)
		return true;
	rest = str_skip(rest, name);
	name = str_search(rest, STR("-----\\"));
	return name < rest.len;
}

/* True for PuTTY's format: "PuTTY-User-Key-File-3: ssh-ed25519". */
static bool begins_putty_key(struct str line)
{
	static const char mark[] = "PuTTY-User-Key-File-";
	struct str rest = str_skip(line, strlen(mark));

	return str_starts(line, mark) && rest.len > 1 && rest.ptr[0] >= '1' &&
	       rest.ptr[0] <= '9' && rest.ptr[1] == ':';
}

static bool has_key_line(struct str text)
{
	struct str line;

	if (str_starts(text, "\xef\xbb\xbf")) /* UTF-8's byte order mark */
		text = str_skip(text, 3);
	while (str_split(&text, '\n', &line))
		if (begins_key(line) || begins_putty_key(line))
			return true;
	return false;
}

/* Searches for key lines in UTF-16 of either byte order, which Windows editors
 * write. */
static bool has_wide_key(struct str head)
{
	struct buf text = BUF_INIT(SELECT_HEAD);
	bool found;

	if (str_search(head, STR("-\0B\0E\0G\0I\0N\0 ")) == head.len &&
	    str_search(head, STR("P\0u\0T\0T\0Y\0-")) == head.len)
		return false;
	if (str_starts(head, "\xff\xfe") || str_starts(head, "\xfe\xff"))
		head = str_skip(head, 2);
	for (size_t i = 0; i < head.len; i++)
		if (head.ptr[i])
			buf_addc(&text, head.ptr[i]);
	found = has_key_line(buf_str(&text));
	buf_wipe(&text);
	return found;
}

const char *select_secret(const char *path, int64_t size, struct str head)
{
	struct str rest = str_of(path);
	struct str name = rest;
	char room[NAME_MAX];

	while (str_split(&rest, '/', &name)) {
		name = lower_name(name, room, sizeof(room));
		if (rest.len && str_is(name, ".aws"))
			return "AWS credentials";
		if (rest.len && is_env(name))
			return "in a directory of secrets";
	}
	if (is_env(name) || is_secret_name(name))
		return "a file of secrets";
	if (is_ssh_key(name))
		return "a key";
	if (size > SIZE_MAX_SENT)
		return "larger than 100 MiB";
	return has_key_line(head) || has_wide_key(head) ? "a private key"
							: NULL;
}

/* Reads the first bytes of a file. False: the user may not read it. */
static bool read_head(const struct select_look *l, struct str *head)
{
	const char *slash = strrchr(l->path, '/');
	int fd = openat(l->dir, slash ? slash + 1 : l->path,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	bool refused = fd < 0 && (errno == EACCES || errno == EPERM);
	size_t len = 0;
	ssize_t n = fd < 0 ? 0 : 1;

	while (n > 0 && len < SELECT_HEAD) {
		n = io_read(fd, l->head + len, SELECT_HEAD - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	*head = (struct str){ l->head, len };
	return !refused;
}

const char select_unreadable[] = "cannot be read";

const char *select_find_secret(const struct select_look *l, bool *keyless)
{
	const char *why =
		select_secret(l->path, l->st->st_size, (struct str){ 0 });
	struct stat_cached known = { .keyless = false };
	struct str head;

	*keyless = false;
	if (why || !S_ISREG(l->st->st_mode))
		return why;
	*keyless = stat_cache_get(l->cache, l->path, l->st, &known) &&
		   known.keyless;
	if (!*keyless && !read_head(l, &head))
		return select_unreadable;
	if (!*keyless)
		why = select_secret(l->path, l->st->st_size, head);
	*keyless = !why;
	return why;
}

bool select_is_own(const struct workspace *w, const char *path)
{
	size_t root = str_is(str_of(w->root), "/") ? 0 : strlen(w->root);
	const char *own = w->directory;
	size_t len = strlen(own);

	for (int up = 0; up < STATE_DEPTH; up++)
		while (len && own[--len] != '/')
			;
	if (len <= root || strncmp(own, w->root, root) != 0 || own[root] != '/')
		return false;
	own += root + 1;
	len -= root + 1;
	return !strncmp(path, own, len) && (path[len] == '/' || !path[len]);
}

static int compare_selected(const void *a, const void *b)
{
	return strcmp(((const struct selected *)a)->path,
		      ((const struct selected *)b)->path);
}

static int compare_left(const void *a, const void *b)
{
	return strcmp(((const struct select_left *)a)->path,
		      ((const struct select_left *)b)->path);
}

/* Sorts the list and removes duplicates. Returns the new length. */
static size_t sort_left(struct select_left *list, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(list, n, sizeof(*list), compare_left);
	for (size_t i = 0; i < n; i++) {
		if (kept && !strcmp(list[kept - 1].path, list[i].path))
			free(list[i].path);
		else
			list[kept++] = list[i];
	}
	return kept;
}

/* Sorts all three lists by path, without duplicates (the index lists unmerged
 * paths three times), and counts the bytes. */
static void sort_selection(struct selection *s)
{
	size_t kept = 0;

	if (s->n)
		qsort(s->files, s->n, sizeof(*s->files), compare_selected);
	for (size_t i = 0; i < s->n; i++) {
		if (kept && !strcmp(s->files[kept - 1].path, s->files[i].path))
			free(s->files[i].path);
		else
			s->files[kept++] = s->files[i];
	}
	s->n = kept;
	s->bytes = 0;
	for (size_t i = 0; i < s->n; i++)
		s->bytes += s->files[i].size;
	s->n_left = sort_left(s->left, s->n_left);
	s->n_asked = sort_left(s->asked, s->n_asked);
}

void select_release(struct selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->files[i].path);
	for (size_t i = 0; i < s->n_left; i++)
		free(s->left[i].path);
	for (size_t i = 0; i < s->n_asked; i++)
		free(s->asked[i].path);
	free(s->files);
	free(s->left);
	free(s->asked);
	*s = (struct selection){ 0 };
}

/* True if the file starts like a Git LFS pointer. */
static bool is_pointer(struct tree_dir *dir, const char *path)
{
	char head[sizeof(lfs_mark) - 1];
	const char *name;
	int at = tree_dir_parent(dir, path, &name);
	int fd =
		at < 0 ? -1
		       : openat(at, name,
				O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && io_read(fd, head, sizeof(head)) == sizeof(head) &&
		  memcmp(head, lfs_mark, sizeof(head)) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

size_t select_count_pointers(const struct selection *s,
			     const struct workspace *w)
{
	struct tree_dir dir;
	struct error ignored = { 0 };
	size_t n = 0;

	if (tree_dir_open(&dir, w->root, &ignored) == 0)
		for (size_t i = 0; i < s->n; i++)
			if (s->files[i].mode != LISTING_LINK &&
			    s->files[i].size >= POINTER_MIN &&
			    s->files[i].size < POINTER_MAX)
				n += is_pointer(&dir, s->files[i].path);
	tree_dir_close(&dir);
	return n;
}

static const char *const git_files[] = { ".gitignore", ".gitattributes",
					 ".gitmodules", ".dcodeignore" };

struct git_files_walk {
	size_t seen;
	struct error *err;
};

static bool is_read_by_git(const char *name)
{
	for (size_t i = 0; i < sizeof(git_files) / sizeof(*git_files); i++)
		if (!strcmp(name, git_files[i]))
			return true;
	return false;
}

/* Fails if this file, which git reads, is a pipe or device. Links and
 * directories are harmless: git does not follow the links, and opening a
 * directory does not block. */
static int check_git_file(const struct git_files_walk *w, int dir,
			  const char *path, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode))
		return 0;
	error_set(w->err, ERR_CONFIG, "%s%s is a pipe or a device, not a file",
		  path, name);
	return error_hint(
		w->err, "Remove it: git would wait forever when it reads it.");
}

/* Checks a directory and those below it. Closes fd. */
static int walk_git_files(struct git_files_walk *w, int fd, const char *path,
			  int depth)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int rc = 0;

	if (!d && fd >= 0)
		close(fd);
	while (d && rc == 0 && w->seen++ < GIT_FILES_MAX && (e = readdir(d))) {
		char *below;

		if (is_read_by_git(e->d_name))
			rc = check_git_file(w, dirfd(d), path, e->d_name);
		if (e->d_type != DT_DIR || depth == GIT_FILES_DEPTH ||
		    !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !strcmp(e->d_name, ".git"))
			continue;
		below = xasprintf("%s%s/", path, e->d_name);
		if (rc == 0)
			rc = walk_git_files(w,
					    openat(dirfd(d), e->d_name,
						   O_RDONLY | O_DIRECTORY |
							   O_NOFOLLOW |
							   O_CLOEXEC),
					    below, depth + 1);
		free(below);
	}
	if (d)
		closedir(d);
	return rc;
}

/*
 * Attack: git would wait forever for a pipe or device named .gitignore.
 * ERR_CONFIG names the first one. In a tree with more than GIT_FILES_MAX
 * entries only git's time limit protects.
 */
static int check_git_files(const char *root, struct error *err)
{
	struct git_files_walk w = { .err = err };

	return walk_git_files(
		&w, open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0);
}

struct directory_names { /* owned */
	char **list;
	size_t n;
};

struct unreadable_request {    /* borrowed */
	const struct git *git; /* its work tree is searched */
	struct tree_dir *dir;  /* outermost root of the user's tree */
	/* path of that work tree below the root: "" or "sub/" */
	const char *prefix;
	const char *excludes; /* file with ignore patterns */
	bool dcodeignore;     /* .dcodeignore applies too */
	int (*each)(void *arg, const char *path, struct error *err);
	void *arg;
};

struct unreadable_walk {
	const struct unreadable_request *request;
	/* Directories, each with a slash at its end; sorted. */
	struct directory_names ignored;
	/* still to visit: "" or with a slash at its end */
	struct directory_names left;
	size_t seen;
};

static void add_name(struct directory_names *names, char *owned)
{
	if (names->n % 256 == 0)
		names->list = xrealloc(names->list, names->n + 256,
				       sizeof(*names->list));
	names->list[names->n++] = owned;
}

static void release_names(struct directory_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i]);
	free(names->list);
}

static int on_ignored(void *arg, const char *record, struct error *err)
{
	struct unreadable_walk *s = arg;

	(void)err;
	if (str_ends(str_of(record), "/"))
		add_name(&s->ignored,
			 xasprintf("%s%s", s->request->prefix, record));
	return 0;
}

/* Lists ignored directories; git knows them by their patterns, without reading
 * them. */
static int list_ignored(struct unreadable_walk *s, const char *pattern,
			const char *excludes, const struct stop *stop,
			struct error *err)
{
	const char *argv[] = { "ls-files",    "-z",    "-o",     "-i",
			       "--directory", pattern, excludes, NULL };
	struct nul_records each = { .each = on_ignored, .arg = s };

	return git_run_records(s->request->git, argv, &each, stop, err);
}

static int find_ignored(struct unreadable_walk *s, const struct stop *stop,
			struct error *err)
{
	char *from = xasprintf("--exclude-from=%s", s->request->excludes);
	int rc = list_ignored(s, "--exclude-per-directory=.gitignore", from,
			      stop, err);

	if (rc == 0 && s->request->dcodeignore)
		rc = list_ignored(s, "--exclude-per-directory=.dcodeignore",
				  NULL, stop, err);
	if (s->ignored.n)
		qsort(s->ignored.list, s->ignored.n, sizeof(*s->ignored.list),
		      str_compare);
	free(from);
	return rc;
}

static bool is_ignored(const struct unreadable_walk *s, const char *path)
{
	return s->ignored.n && bsearch(&path, s->ignored.list, s->ignored.n,
				       sizeof(*s->ignored.list), str_compare);
}

static bool is_directory(int dir, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* True for another repository, that is, a directory with a .git: nothing in it
 * is sent. */
static bool is_other_repository(const struct unreadable_walk *s, int dir,
				const char *path)
{
	struct stat st;

	return strcmp(path, s->request->prefix) != 0 &&
	       fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void add_directory(struct unreadable_walk *s, int dir, const char *path,
			  const struct dirent *d)
{
	char *inner;

	if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
	    !strcmp(d->d_name, ".git") || !is_directory(dir, d))
		return;
	inner = xasprintf("%s%s/", path, d->d_name);
	if (is_ignored(s, inner))
		free(inner);
	else
		add_name(&s->left, inner);
}

/* Adds the subdirectories of a directory. Closes fd. */
static void add_directories(struct unreadable_walk *s, int fd, const char *path)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *d;

	if (!dir) {
		close(fd);
		return;
	}
	if (!is_other_repository(s, fd, path))
		while ((d = readdir(dir)))
			add_directory(s, fd, path, d);
	closedir(dir);
}

static int look_into(struct unreadable_walk *s, char *path, struct error *err)
{
	const char *name;
	int dir = tree_dir_parent(s->request->dir, path, &name);
	int fd = dir < 0 ? -1
			 : openat(dir, ".",
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					  O_CLOEXEC);

	if (fd >= 0) {
		add_directories(s, fd, path);
		return 0;
	}
	if (errno != EACCES || !path[0])
		return 0; /* the directory is gone or has become a link */
	path[strlen(path) - 1] = '\0';
	return s->request->each(s->request->arg, path, err);
}

/*
 * Calls each with the path of every unreadable directory that git does not
 * ignore, except in other repositories. Visits all directories of the tree.
 */
static int find_unreadable(const struct unreadable_request *r,
			   const struct stop *stop, struct error *err)
{
	struct unreadable_walk s = { .request = r };
	int rc = find_ignored(&s, stop, err);

	add_name(&s.left, xstrdup(r->prefix));
	while (rc == 0 && s.left.n && s.seen++ < DIRECTORIES_MAX) {
		char *path = s.left.list[--s.left.n];

		rc = stop_check(stop, err);
		if (rc == 0)
			rc = look_into(&s, path, err);
		free(path);
	}
	release_names(&s.ignored);
	release_names(&s.left);
	return rc;
}

/* State of a walk through the tree or a submodule. */
struct tree_walk {
	struct selection *s;
	const struct workspace *w;
	const struct select_request *r;
	const struct stop *stop;
	struct tree_dir dir; /* outermost root of the user's tree */
	struct glob **globs;
	char *index; /* path of a temporary file of dcode */
	char *head;  /* SELECT_HEAD bytes, owned */
	char *seen;  /* owned: the directory that was checked last */
	int bare;    /* bare_repo_find() result for that directory */
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

/* True if an --include pattern sends a file that would otherwise not be sent;
 * records that. */
static bool is_asked(struct tree_walk *k, const char *path, const char *why)
{
	const struct select_request *r = k->r;
	struct selection *s = k->s;
	bool allowed =
		r->n_allowed && bsearch(&path, r->allowed, r->n_allowed,
					sizeof(*r->allowed), str_compare);

	if (!allowed && !is_included(k, path))
		return false;
	if (!s->n_asked || strcmp(s->asked[s->n_asked - 1].path, path) != 0)
		add_one(&s->asked, &s->n_asked, path, why, true);
	return true;
}

/* Adds a file to send. */
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

/* Lists a bare repository below the root once; it is not sent. Files of the
 * same directory come consecutively. */
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

/* Decides about one path. anyway: send it whatever its content. Returns 1 if
 * nothing exists there. */
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
	/* Last, because it may read the file's contents. */
	l = (struct select_look){ k->w->cache, dir, path, &st, k->head };
	why = anyway ? NULL : select_find_secret(&l, &keyless);
	if (why && (why == select_unreadable || !is_asked(k, path, why))) {
		add_left(k, path, why, why != select_unreadable);
		return 0;
	}
	return add_file(k, path, &st, keyless, err);
}

/* A part of a walk: the paths that git lists below a prefix. */
struct walk_part {
	struct tree_walk *k;
	const char *prefix; /* "" or "sub/module/" */
	int depth;
	char **modules; /* owned: submodules found */
	size_t n_modules;
	bool matching;  /* add only files that --include matches */
	char **dropped; /* owned, sorted: files that .dcodeignore matches */
	size_t n_dropped;
	struct nested_repo nested;
};

/* Handles a record of git ls-files: a file that .dcodeignore matches. */
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

/* True if .dcodeignore matches a file. It applies only in trees without git. */
static bool is_dropped(const struct walk_part *p, const char *record)
{
	return p->n_dropped && bsearch(&record, p->dropped, p->n_dropped,
				       sizeof(*p->dropped), str_compare);
}

/* Handles a record of git ls-files, "TAG MODE OID STAGE\tPATH". */
static int on_tracked(void *arg, const char *record, struct error *err)
{
	struct walk_part *p = arg;
	const char *tab = strchr(record, '\t');
	unsigned mode;
	char *path;
	int rc = 0;

	if (!tab || tab - record < 10)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected output of git ls-files");
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

/* Lists untracked files and, with --include, the ignored ones that it
 * matches. */
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
		qsort(p->dropped, p->n_dropped, sizeof(*p->dropped),
		      str_compare);
	if (rc == 0)
		rc = git_run_records(g, plain, &each, p->k->stop, err);
	/* git warned about directories that it cannot read */
	if (rc == 0 && each.warned)
		rc = find_unreadable(&unreadable, p->k->stop, err);
	if (rc == 0 && p->k->r->n_include) {
		p->matching = true;
		rc = git_run_records(g, all, &each, p->k->stop, err);
		p->matching = false;
	}
	free(from);
	return rc;
}

/* Writes the user's ignore patterns to a file for git. */
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

		if (rc == 0 && p->depth < MODULE_DEPTH)
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

/* Lists a submodule as not sent if it has no readable repository, unless the
 * user has deleted it. */
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

/* Lists one repository: its tracked files, then the others. */
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

	g->objects = objects; /* for the trees of a sparse index */
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

/* Lists the repository at prefix, then its submodules. */
static int walk_tree(struct tree_walk *k, const char *prefix, int depth,
		     struct error *err)
{
	struct walk_part p = { .k = k, .prefix = prefix, .depth = depth };
	char *root = path_join(k->w->root, prefix);
	char *excludes = xasprintf("%s.excludes", k->index);
	struct git g = k->w->git;
	size_t len = strlen(root);
	const char *name;
	int rc = 0;

	while (len > 1 && root[len - 1] == '/')
		root[--len] = '\0';
	g.index = k->index;
	g.work_tree = root;
	/* A submodule's directory may have been replaced by a link that leads
	 * out. */
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
		rc = check_git_files(w->root, err);
	if (rc == 0)
		rc = walk_tree(k, "", 0, err);
	for (size_t i = 0; rc == 0 && i < r->n_extra; i++)
		rc = look(k, r->extra[i], !r->guard_extra, err) < 0 ? -1 : 0;
	close_walk(k);
	sort_selection(s);
	if (rc < 0)
		select_release(s);
	return rc;
}
