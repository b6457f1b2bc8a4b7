/* patch.c - writes changes as a git patch; finds those to review. */
/* SPDX-License-Identifier: MIT */
/*
 * patch_write() prints the difference of two commits: the base, and the commit
 * that fetch_changes() (fetch.c) made of the sandbox's files. patch_save()
 * saves it as THREAD-N.patch before a sandbox is deleted, and patch_sweep()
 * deletes old patches. review_read() lists the changed files and marks those
 * that a user should check before taking them, because programs execute their
 * contents.
 */
#include "worktree/patch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"

enum {
	CHUNK = 64 << 10,
	NUMBERS = 100000, /* numbers tried for a thread's patch */
	TEMPORARY_S = 86400,
	/* the newest patch of a thread is kept this many times longer */
	NEWEST_TIMES = 12,
	/* maximum number of refused files, and of left ones, in the head */
	NAMED_MOST = 500,
	HEAD_MAX = 16 << 20,
};

#define SUFFIX ".patch"

int patch_write(const struct git *g, const char *before, const char *after,
		const struct patch_output *to, const struct stop *stop,
		struct error *err)
{
	const char *const argv[] = { "diff",
				     "--binary",
				     "--full-index",
				     "-M",
				     "--src-prefix=a/",
				     "--dst-prefix=b/",
				     before,
				     after,
				     "--",
				     NULL };
	const struct git_request r = { .argv = argv,
				       .sink = to->sink,
				       .sink_arg = to->arg };

	return git_run(g, &r, stop, err);
}

struct saved {
	char *name;
	size_t thread; /* length of the thread's id in the name */
	int64_t number;
	int64_t size;
	int64_t changed; /* Unix seconds */
	bool newest;     /* newest patch of its thread */
};

struct saved_list {
	struct saved *files;
	size_t n;
};

/* Parses "THREAD-N.patch". */
static bool read_name(const char *name, struct saved *s)
{
	struct str rest = str_of(name);
	size_t dash;

	if (!str_ends(rest, SUFFIX) || name[0] == '.')
		return false;
	rest.len -= strlen(SUFFIX);
	dash = rest.len;
	while (dash && rest.ptr[dash - 1] != '-')
		dash--;
	if (dash < 2 || !str_to_int(str_skip(rest, dash), &s->number) ||
	    s->number < 1)
		return false;
	s->thread = dash - 1;
	return true;
}

static bool same_thread(const struct saved *a, const struct saved *b)
{
	return a->thread == b->thread && !memcmp(a->name, b->name, a->thread);
}

static void mark_newest(struct saved_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		l->files[i].newest = true;
		for (size_t k = 0; k < l->n; k++)
			if (same_thread(&l->files[i], &l->files[k]) &&
			    l->files[k].number > l->files[i].number)
				l->files[i].newest = false;
	}
}

/* Removes an old temporary file that a crash has left. */
static void drop_temporary(int dir, const char *name, const struct stat *st)
{
	if (!strncmp(name, ".patch-", 7) &&
	    clock_unix_ms() / 1000 - st->st_mtime > TEMPORARY_S)
		(void)unlinkat(dir, name, 0);
}

/* Lists the saved patches of a directory and removes old temporary files. */
static void read_directory(const char *directory, struct saved_list *l)
{
	DIR *d = opendir(directory);
	struct dirent *e;

	*l = (struct saved_list){ 0 };
	while (d && (e = readdir(d))) {
		struct saved s = { 0 };
		struct stat st;

		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) <
			    0 ||
		    !S_ISREG(st.st_mode))
			continue;
		drop_temporary(dirfd(d), e->d_name, &st);
		if (!read_name(e->d_name, &s))
			continue;
		s.name = xstrdup(e->d_name);
		s.size = st.st_size;
		s.changed = st.st_mtime;
		l->files = xrealloc(l->files, l->n + 1, sizeof(s));
		l->files[l->n++] = s;
	}
	if (d)
		closedir(d);
}

static void release_list(struct saved_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->files[i].name);
	free(l->files);
}

char *patch_newest(const char *directory, const char *thread)
{
	const struct saved *newest = NULL;
	struct saved_list l;
	char *path = NULL;

	read_directory(directory, &l);
	for (size_t i = 0; i < l.n; i++) {
		const struct saved *s = &l.files[i];

		if (s->thread == strlen(thread) &&
		    !memcmp(s->name, thread, s->thread) &&
		    (!newest || s->number > newest->number))
			newest = s;
	}
	if (newest)
		path = path_join(directory, newest->name);
	release_list(&l);
	return path;
}

static int compare_ages(const void *a, const void *b)
{
	const struct saved *x = a;
	const struct saved *y = b;

	return (x->changed > y->changed) - (x->changed < y->changed);
}

/* Deletes patches that were changed before oldest (Unix seconds), the oldest
 * first, until *all, the total size of all patches, is at most bytes; bytes -1:
 * deletes all of these. newest: only the newest patch of each thread, else only
 * the others. The name of a deleted patch is NULL. */
static size_t sweep_some(struct saved_list *l, const char *directory,
			 bool newest, int64_t oldest, int64_t *all,
			 int64_t bytes)
{
	size_t swept = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct saved *s = &l->files[i];
		char *path;

		if (!s->name || s->newest != newest || s->changed >= oldest ||
		    *all <= bytes)
			continue;
		path = path_join(directory, s->name);
		if (unlink(path) == 0) {
			*all -= s->size;
			swept++;
			free(s->name);
			s->name = NULL;
		}
		free(path);
	}
	return swept;
}

size_t patch_sweep(const char *directory, int64_t days, int64_t bytes)
{
	int64_t now = clock_unix_ms() / 1000;
	int64_t oldest = now - days * 86400;
	struct saved_list l;
	int64_t all = 0;
	size_t swept;

	read_directory(directory, &l);
	mark_newest(&l);
	if (l.n)
		qsort(l.files, l.n, sizeof(*l.files), compare_ages);
	for (size_t i = 0; i < l.n; i++)
		all += l.files[i].size;
	swept = sweep_some(&l, directory, false, oldest, &all, -1);
	swept += sweep_some(&l, directory, true,
			    now - NEWEST_TIMES * days * 86400, &all, -1);
	swept += sweep_some(&l, directory, false, INT64_MAX, &all, bytes);
	swept += sweep_some(&l, directory, true, oldest, &all, bytes);
	release_list(&l);
	return swept;
}

static int write_all(void *arg, struct str bytes, struct error *err)
{
	const int *fd = arg;

	if (io_write_all(*fd, bytes.ptr, bytes.len) < 0)
		return error_errno(err, "saving the patch");
	return 0;
}

static void add_names(struct buf *out, const char *what,
		      const struct fetch_item *items, size_t n)
{
	for (size_t i = 0; i < n && i < NAMED_MOST; i++) {
		char size[32];

		buf_addf(out, "%s: ", what);
		sanitize_line(str_of(items[i].path), out);
		str_format_size(items[i].size, size);
		if (items[i].size)
			buf_addf(out, " (%s)", size);
		buf_addf(out, " %s\n", items[i].why);
	}
	if (n > NAMED_MOST)
		buf_addf(out, "%s: %zu more\n", what, n - NAMED_MOST);
}

/* Writes lines before the first diff, which git apply ignores. */
static void add_head(const struct patch_save *s, struct buf *out)
{
	const struct workspace *w = s->workspace;

	buf_addf(out, "Thread: %s\nSandbox: %s\nTree: ", s->thread, w->label);
	sanitize_line(str_of(w->root), out);
	buf_addf(out, "\nBase: %s\n", w->base);
	add_names(out, "Refused", s->fetch->refused, s->fetch->n_refused);
	add_names(out, "Left", s->fetch->left, s->fetch->n_left);
	add_names(out, "Left", s->fetch->later, s->fetch->n_later);
	buf_addc(out, '\n');
}

static bool same_bytes(int a, const char *path)
{
	int b = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char *room = xcalloc(2, CHUNK);
	off_t at = 0;
	bool same = b >= 0;

	while (same) {
		ssize_t n = io_pread_all(a, room, CHUNK, at);

		same = n >= 0 &&
		       io_pread_all(b, room + CHUNK, CHUNK, at) == n &&
		       !memcmp(room, room + CHUNK, (size_t)n);
		if (n <= 0)
			break;
		at += n;
	}
	if (b >= 0)
		close(b);
	free(room);
	return same;
}

/* Gives the finished file a new, unused name, or the name of the patch that it
 * replaces. */
static int claim_name(const struct patch_save *s, const char *temporary,
		      const char *newest, char **path, struct error *err)
{
	struct saved last = { 0 };
	const char *slash = newest ? strrchr(newest, '/') : NULL;

	if (s->replace) {
		*path = xstrdup(s->replace);
		return rename(temporary, *path) == 0
			       ? 0
			       : error_errno(err, "saving the patch as %s",
					     *path);
	}
	if (slash)
		(void)read_name(slash + 1, &last);
	for (int64_t n = last.number + 1; n < last.number + NUMBERS; n++) {
		*path = xasprintf("%s/%s-%" PRId64 SUFFIX, s->directory,
				  s->thread, n);
		if (link(temporary, *path) == 0)
			return 0;
		free(*path);
		*path = NULL;
		if (errno != EEXIST)
			break;
	}
	return error_errno(err, "saving the patch in %s", s->directory);
}

static int write_patch(const struct patch_save *s, int fd,
		       const struct stop *stop, struct error *err)
{
	const struct workspace *w = s->workspace;
	const struct patch_output to = { write_all, &fd };
	struct buf head = BUF_INIT(HEAD_MAX);
	int rc;

	add_head(s, &head);
	rc = write_all(&fd, buf_str(&head), err);
	buf_release(&head);
	if (rc == 0)
		rc = patch_write(&w->git, w->base, s->fetch->theirs, &to, stop,
				 err);
	if (rc == 0 && io_fsync(fd) < 0)
		rc = error_errno(err, "saving the patch");
	return rc;
}

int patch_save(const struct patch_save *s, char **path, const struct stop *stop,
	       struct error *err)
{
	char *temporary = path_join(s->directory, ".patch-XXXXXX");
	char *newest = NULL;
	int fd = -1;
	int rc = path_mkdirs(s->directory, 0700, err);

	*path = NULL;
	if (rc == 0 && (fd = mkostemp(temporary, O_CLOEXEC)) < 0)
		rc = error_errno(err, "%s", s->directory);
	if (rc == 0)
		rc = write_patch(s, fd, stop, err);
	if (rc == 0)
		newest = patch_newest(s->directory, s->thread);
	if (rc == 0 && newest && same_bytes(fd, newest)) {
		*path = newest;
		newest = NULL;
	} else if (rc == 0) {
		rc = claim_name(s, temporary, newest, path, err);
	}
	if (fd >= 0) {
		(void)unlink(temporary);
		close(fd);
	}
	free(newest);
	free(temporary);
	return rc;
}

enum { CHANGES_MAX = 256 << 20 }; /* bytes of git's list */

static const char in_ci[] = "runs in CI";
static const char is_hook[] = "is run by git hooks";
static const char by_git[] = "configures git";

/* A path that ends in "/" matches everything below it. Compared ignoring
 * case. */
static const struct {
	const char *path, *why;
} reviewed[] = {
	{ ".github/workflows/", in_ci },
	{ ".github/actions/", in_ci },
	{ ".circleci/", in_ci },
	{ ".buildkite/", in_ci },
	{ ".woodpecker/", in_ci },
	{ ".gitlab/ci/", in_ci },
	{ ".teamcity/", in_ci },
	{ ".gitlab-ci.yml", in_ci },
	{ ".travis.yml", in_ci },
	{ ".drone.yml", in_ci },
	{ ".woodpecker.yml", in_ci },
	{ ".cirrus.yml", in_ci },
	{ ".appveyor.yml", in_ci },
	{ "appveyor.yml", in_ci },
	{ "azure-pipelines.yml", in_ci },
	{ "bitbucket-pipelines.yml", in_ci },
	{ "cloudbuild.yaml", in_ci },
	{ "buildspec.yml", in_ci },
	{ ".githooks/", is_hook },
	{ ".husky/", is_hook },
	{ "hooks/", is_hook },
	{ ".pre-commit-config.yaml", is_hook },
	{ "lefthook.yml", is_hook },
};

static bool starts_nocase(struct str path, const char *prefix)
{
	size_t len = strlen(prefix);

	return path.len > len &&
	       str_is_nocase((struct str){ path.ptr, len }, prefix);
}

const char *review_path(const struct protect *p, struct str path)
{
	struct str rest = path;
	struct str name = { 0 };

	for (size_t i = 0; i < sizeof(reviewed) / sizeof(*reviewed); i++) {
		const char *what = reviewed[i].path;

		if (what[strlen(what) - 1] == '/' ? starts_nocase(path, what)
						  : str_is_nocase(path, what))
			return reviewed[i].why;
	}
	while (str_split(&rest, '/', &name)) {
		if (str_is_nocase(name, "Jenkinsfile"))
			return in_ci;
		if (!rest.ptr && (str_is_nocase(name, ".gitattributes") ||
				  str_is_nocase(name, ".gitmodules")))
			return by_git;
	}
	return p && protect_find(p, path).len
		       ? "is protected: programs run its contents"
		       : NULL;
}

/* Parses ":OLDMODE NEWMODE OLDOID NEWOID STATUS" and one path, or two for a
 * rename. */
static bool read_change(struct str *rest, struct review_file *f,
			const struct protect *p)
{
	struct str head;
	struct str path;
	struct str second;
	size_t space;

	if (!str_split(rest, '\0', &head) || !str_starts(head, ":") ||
	    head.len < 16 || !str_split(rest, '\0', &path))
		return false;
	space = head.len;
	while (space && head.ptr[space - 1] != ' ')
		space--;
	*f = (struct review_file){ .status = head.ptr[space] };
	f->loud = review_path(p, path);
	if (f->status == 'R' || f->status == 'C') {
		if (!str_split(rest, '\0', &second))
			return false;
		f->from = xstrndup(path.ptr, path.len);
		path = second;
		f->loud = f->loud ? f->loud : review_path(p, path);
	}
	f->path = xstrndup(path.ptr, path.len);
	return true;
}

static int parse_changes(struct review *v, struct str text, struct error *err)
{
	while (text.len) {
		struct review_file file = { 0 };

		if (!read_change(&text, &file, v->protect)) {
			free(file.from);
			return error_set(err, ERR_PROTOCOL,
					 "git's list of changes is invalid");
		}
		if (!(v->n & (v->n - 1)))
			v->files = xrealloc(v->files, v->n ? v->n * 2 : 1,
					    sizeof(*v->files));
		v->files[v->n++] = file;
		v->n_loud += file.loud != NULL;
	}
	return 0;
}

int review_read(struct review *v, const struct git *g, const char *before,
		const char *after, const struct stop *stop, struct error *err)
{
	const char *const argv[] = { "diff", "--raw", "-z", "-M", "--no-abbrev",
				     before, after,   "--", NULL };
	struct buf out = BUF_INIT(CHANGES_MAX);
	const struct git_request r = { .argv = argv, .out = &out };
	int rc = git_run(g, &r, stop, err);

	*v = (struct review){ .protect = v->protect };
	if (rc == 0)
		rc = parse_changes(v, buf_str(&out), err);
	buf_release(&out);
	if (rc < 0)
		review_release(v);
	return rc;
}

void review_release(struct review *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->files[i].path);
		free(v->files[i].from);
	}
	free(v->files);
	*v = (struct review){ 0 };
}
