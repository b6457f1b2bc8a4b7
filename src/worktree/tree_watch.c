/* tree_watch.c - what a command on this machine changed in the user's tree. */
/* SPDX-License-Identifier: MIT */
#include "worktree/tree_watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "worktree/treefile.h"

enum {
	EXCLUDE_MAX = 1 << 20,
	LIST_MAX = 4 << 20, /* bytes of git's listing */
	BLOBS_MAX = 32 << 20,
	SLOW_MOST = 3,   /* listings that took too long */
	OPEN_MS = 1000,  /* for the first begin, which makes git's directory */
	LIST_MS = 30000, /* for a listing that the user waits for */
};

/* A file that differs from the index, or is not in it. */
struct tree_watch_file {
	char *path; /* owned */
	struct stat st;
	bool exists;
	bool known; /* text is its content */
	struct buf text;
};

struct watched_files {
	struct tree_watch_file *list;
	size_t n;
};

static void release_list(struct watched_files *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->list[i].path);
		buf_release(&l->list[i].text);
	}
	free(l->list);
	*l = (struct watched_files){ 0 };
}

static void forget_before(struct tree_watch *t)
{
	struct watched_files before = { t->before, t->n };

	release_list(&before);
	t->before = NULL;
	t->n = 0;
	t->begun = false;
	if (t->index)
		(void)unlink(t->index);
}

static int compare_paths(const void *a, const void *b)
{
	const struct tree_watch_file *x = a;
	const struct tree_watch_file *y = b;

	return strcmp(x->path, y->path);
}

static bool same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_ino == b->st_ino &&
	       a->st_mode == b->st_mode &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Reads a regular file or a link of at most most bytes. */
static void read_content(int dir, const char *name, size_t most,
			 struct tree_watch_file *f)
{
	char link[4096];
	char *room;
	ssize_t n;
	int fd;

	f->text = BUF_INIT(TREE_WATCH_FILE);
	if (S_ISLNK(f->st.st_mode)) {
		n = readlinkat(dir, name, link, sizeof(link));
		f->known = n >= 0 && n < (ssize_t)sizeof(link) &&
			   (size_t)n <= most;
		if (f->known)
			buf_add(&f->text, link, (size_t)n);
		return;
	}
	if (!S_ISREG(f->st.st_mode) || f->st.st_size > (off_t)most)
		return;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	room = xcalloc((size_t)f->st.st_size + 1, 1);
	n = io_pread_all(fd, room, (size_t)f->st.st_size, 0);
	f->known = n == f->st.st_size;
	if (f->known)
		buf_add(&f->text, room, (size_t)n);
	free(room);
	close(fd);
}

/* Fills in the state of a path. Only a file or a link counts as one. */
static void look_at(struct tree_dir *d, struct tree_watch_file *f, size_t *left)
{
	size_t most = *left < TREE_WATCH_FILE ? *left : TREE_WATCH_FILE;
	const char *name;
	int dir = tree_dir_parent(d, f->path, &name);

	f->exists = dir >= 0 &&
		    fstatat(dir, name, &f->st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (S_ISREG(f->st.st_mode) || S_ISLNK(f->st.st_mode));
	if (f->exists)
		read_content(dir, name, most, f);
	*left -= f->text.len;
}

static int64_t listing_ms(const struct tree_watch *t)
{
	return t->most_ms ? t->most_ms : TREE_WATCH_MS;
}

/* Lists the files that differ from the copy of the index, with their state. */
static int list_files(const struct tree_watch *t, struct watched_files *out,
		      const struct stop *stop, struct error *err)
{
	char *from = xasprintf("--exclude-from=%s", t->excludes);
	const char *argv[] = { "ls-files", "-z",
			       "-m",       "-d",
			       "-o",       "--exclude-per-directory=.gitignore",
			       from,       NULL };
	struct buf text = BUF_INIT(LIST_MAX);
	struct git_request r = { .argv = argv,
				 .out = &text,
				 .timeout_ms = listing_ms(t) };
	struct git g = t->w.git;
	int rc;

	g.index = t->index;
	g.work_tree = t->w.root;
	rc = git_run(&g, &r, stop, err);
	for (size_t at = 0; rc == 0 && at < text.len;) {
		const char *path = text.ptr + at;
		size_t len = strnlen(path, text.len - at);

		at += len + 1;
		if (!len || path[len - 1] == '/')
			continue; /* another repository */
		if (out->n == TREE_WATCH_FILES)
			rc = error_set(err, ERR_LIMIT, "too many files");
		else if (out->n % 64 == 0)
			out->list = xrealloc(out->list, out->n + 64,
					     sizeof(*out->list));
		if (rc == 0)
			out->list[out->n++] = (struct tree_watch_file){
				.path = xstrndup(path, len)
			};
	}
	buf_release(&text);
	free(from);
	return rc;
}

/* Sorts the list, removes what is listed twice, and reads the files. */
static int read_files(const struct tree_watch *t, struct watched_files *l,
		      struct error *err)
{
	size_t left = TREE_WATCH_BYTES;
	struct tree_dir d;
	size_t n = 0;

	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), compare_paths);
	for (size_t i = 0; i < l->n; i++) {
		if (n && !strcmp(l->list[n - 1].path, l->list[i].path))
			free(l->list[i].path);
		else
			l->list[n++] = l->list[i];
	}
	l->n = n;
	if (tree_dir_open(&d, t->w.root, err) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++)
		look_at(&d, &l->list[i], &left);
	tree_dir_close(&d);
	return 0;
}

static int write_excludes(const struct tree_watch *t, const char *home,
			  const struct stop *stop, struct error *err)
{
	struct buf text = BUF_INIT(EXCLUDE_MAX);
	int rc =
		user_repo_excludes(&t->repo, &t->w.git, home, &text, stop, err);

	if (rc == 0)
		rc = path_write(t->excludes, buf_str(&text), 0600, err);
	buf_release(&text);
	return rc;
}

static int open_watch(struct tree_watch *t, const char *state, const char *cwd,
		      const char *home, const struct stop *stop,
		      struct error *err)
{
	struct error ignored = { 0 };
	bool repository;
	char *root = user_repo_root(cwd, &repository, err);
	int rc = root && repository ? 0 : -1;

	if (rc == 0)
		rc = workspace_open(&t->w, state, root, WORKSPACE_NO_SANDBOX,
				    stop, err);
	free(root);
	if (rc < 0)
		return -1;
	t->opened = true;
	if (user_repo_open(&t->repo, t->w.root, &t->w.git, stop, err) < 0 ||
	    !t->repo.git_dir)
		return -1;
	/* a listing must not use the files of the watch of the same chat */
	t->index = xasprintf("%s/%s.%d", t->w.directory,
			     t->most_ms ? "list" : "watch", (int)getpid());
	t->excludes = xasprintf("%s.excludes", t->index);
	t->objects = user_repo_objects(&t->repo, &ignored);
	return write_excludes(t, home, stop, err);
}

/* Undoes open_watch(), also one that failed in the middle. */
static void close_watch(struct tree_watch *t)
{
	if (t->excludes)
		(void)unlink(t->excludes);
	if (t->opened) {
		user_repo_release(&t->repo);
		workspace_close(&t->w);
	}
	free(t->index);
	free(t->excludes);
	free(t->objects);
	t->index = t->excludes = t->objects = NULL;
	t->opened = false;
}

/* A busy machine may be slow once, and files may come and go. */
static void note_failure(struct tree_watch *t, const struct error *err)
{
	if (err->code == ERR_CANCELLED || err->code == ERR_LIMIT)
		return;
	t->slow++;
	t->given_up = err->code != ERR_TIMEOUT || t->slow == SLOW_MOST;
}

void tree_watch_begin(struct tree_watch *t, const char *state, const char *cwd,
		      const char *home, const struct stop *stop)
{
	struct stop soon = stop_within(stop, OPEN_MS);
	struct watched_files files = { 0 };
	struct error ignored = { 0 };
	int rc = 0;

	if (t->given_up)
		return;
	if (!t->opened) {
		rc = open_watch(t, state, cwd, home, &soon, &ignored);
		if (rc < 0)
			close_watch(t);
	}
	if (rc == 0)
		rc = user_repo_copy_index(&t->repo, &t->w.git, t->index,
					  &ignored);
	if (rc == 0)
		rc = list_files(t, &files, &soon, &ignored);
	if (rc == 0)
		rc = read_files(t, &files, &ignored);
	if (rc < 0) {
		release_list(&files);
		forget_before(t);
		note_failure(t, &ignored);
		return;
	}
	t->before = files.list;
	t->n = files.n;
	t->begun = true;
}

/* Finds the content in git's answer about ":0:PATH", and moves at behind it. An
 * empty text if the index does not have the path. False: it is unreadable. */
static bool next_blob(struct str *answer, struct str *blob)
{
	size_t end = str_find(*answer, '\n');
	struct str head = { answer->ptr, end };
	size_t space = head.len;
	int64_t size;

	if (end == answer->len)
		return false;
	*answer = str_skip(*answer, end + 1);
	*blob = (struct str){ 0 };
	if (str_ends(head, " missing"))
		return true;
	while (space && head.ptr[space - 1] != ' ')
		space--;
	size = strtoll(head.ptr + space, NULL, 10);
	if (size < 0 || (uint64_t)size >= answer->len)
		return false;
	*blob = (struct str){ answer->ptr, (size_t)size };
	*answer = str_skip(*answer, (size_t)size + 1);
	return true;
}

static bool was_listed(const struct tree_watch *t,
		       const struct tree_watch_file *f)
{
	return t->n &&
	       bsearch(f, t->before, t->n, sizeof(*t->before), compare_paths);
}

/* Reads from the index the earlier content of files that were as in it. */
static int read_blobs(const struct tree_watch *t,
		      const struct watched_files *now, struct buf *out,
		      const struct stop *stop)
{
	static const char *const argv[] = { "cat-file", "--batch", NULL };
	struct buf names = BUF_INIT(LIST_MAX);
	struct git_request r = { .argv = argv,
				 .out = out,
				 .timeout_ms = listing_ms(t) };
	struct git g = t->w.git;
	struct error ignored = { 0 };
	int rc = 0;

	g.index = t->index;
	g.objects = t->objects;
	for (size_t i = 0; i < now->n; i++)
		if (!was_listed(t, &now->list[i]) &&
		    !strchr(now->list[i].path, '\n'))
			buf_addf(&names, ":0:%s\n", now->list[i].path);
	r.input = buf_str(&names);
	if (names.len)
		rc = git_run(&g, &r, stop, &ignored);
	buf_release(&names);
	return rc;
}

/* Reports a file if its content changed, or is not known. always: also if both
 * texts are equal. */
static void compare_file(const struct tree_comparison *k, const char *path,
			 struct str before, const struct tree_watch_file *now,
			 bool known, bool always)
{
	struct tree_watch_change c = { .path = path,
				       .before = before,
				       .after = buf_str(&now->text),
				       .known = known &&
						(!now->exists || now->known) };

	if (always || !c.known || !str_eq(c.before, c.after))
		k->each(k->arg, &c);
}

/* Compares a file that was listed before with its present state. */
static void compare_listed(const struct tree_comparison *k,
			   const struct tree_watch_file *was,
			   const struct tree_watch_file *now)
{
	bool is_new_or_gone = was->exists != now->exists;

	if (!is_new_or_gone && (!was->exists || same_stat(&was->st, &now->st)))
		return;
	compare_file(k, was->path, buf_str(&was->text), now,
		     !was->exists || was->known, is_new_or_gone);
}

/* Goes through both sorted lists. d reads files that are listed only before:
 * they are as in the index now, ignored, or gone. */
static void compare_lists(const struct tree_watch *t,
			  const struct watched_files *now, struct str blobs,
			  struct tree_dir *d, const struct tree_comparison *k)
{
	size_t left = TREE_WATCH_BYTES;
	bool readable = true;
	size_t i = 0;
	size_t j = 0;

	while (i < t->n || j < now->n) {
		int order = i == t->n     ? 1
			    : j == now->n ? -1
					  : strcmp(t->before[i].path,
						   now->list[j].path);

		if (order < 0) {
			struct tree_watch_file f = {
				.path = t->before[i].path
			};

			look_at(d, &f, &left);
			compare_listed(k, &t->before[i++], &f);
			buf_release(&f.text);
		} else if (order == 0) {
			compare_listed(k, &t->before[i++], &now->list[j++]);
		} else {
			const struct tree_watch_file *f = &now->list[j++];
			struct str blob = { 0 };
			bool named = !strchr(f->path, '\n');

			readable = readable &&
				   (!named || next_blob(&blobs, &blob));
			/* an empty file may be new, or gone */
			compare_file(k, f->path, blob, f, readable && named,
				     !f->text.len && !blob.len);
		}
	}
}

/* Lists the files again and passes what has changed to k. */
static int report_changes(const struct tree_watch *t,
			  const struct tree_comparison *k,
			  const struct stop *stop, struct error *err)
{
	struct buf blobs = BUF_INIT(BLOBS_MAX);
	struct watched_files now = { 0 };
	struct tree_dir d;
	int rc = list_files(t, &now, stop, err);

	if (rc == 0)
		rc = read_files(t, &now, err);
	if (rc == 0)
		rc = tree_dir_open(&d, t->w.root, err);
	if (rc == 0) {
		if (read_blobs(t, &now, &blobs, stop) < 0)
			buf_clear(&blobs);
		compare_lists(t, &now, buf_str(&blobs), &d, k);
		tree_dir_close(&d);
	}
	release_list(&now);
	buf_release(&blobs);
	return rc;
}

void tree_watch_end(struct tree_watch *t,
		    void (*each)(void *arg, const struct tree_watch_change *c),
		    void *arg, const struct stop *stop)
{
	const struct tree_comparison k = { each, arg };
	struct error why = { 0 };

	if (!t->begun)
		return;
	if (report_changes(t, &k, stop, &why) < 0)
		note_failure(t, &why);
	forget_before(t);
}

int tree_watch_list(const char *state, const char *cwd, const char *home,
		    const struct tree_comparison *k, const struct stop *stop,
		    struct error *err)
{
	struct tree_watch t = { .most_ms = LIST_MS };
	int rc = open_watch(&t, state, cwd, home, stop, err);

	if (rc < 0 && !err->code)
		rc = error_set(err, ERR_NOT_FOUND, "not a git repository: %s",
			       cwd);
	if (rc == 0)
		rc = user_repo_copy_index(&t.repo, &t.w.git, t.index, err);
	if (rc == 0) /* the list before is empty: all is as in the index */
		rc = report_changes(&t, k, stop, err);
	tree_watch_close(&t);
	return rc;
}

void tree_watch_close(struct tree_watch *t)
{
	forget_before(t);
	close_watch(t);
	*t = (struct tree_watch){ 0 };
}
