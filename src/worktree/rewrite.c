/* rewrite.c - the last commits of the user's repository, without what is never
 * sent. */
/* SPDX-License-Identifier: MIT */
#include "worktree/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "worktree/git.h"
#include "worktree/rewrite_impl.h"
#include "worktree/treefile.h"
#include "worktree/user_repo.h"

enum {
	SHALLOW_MAX = 64 << 20,
	NAMES_MAX = 256 << 20,
	PACK_MS = 24 * 3600000,
	SHA1_DIGITS = 40,
};

/* The commits where the clone ends: git then asks for none of their parents.
 * The file is written anew, of ids alone. */
static int copy_shallow(struct rewrite *k, struct error *err)
{
	struct buf text = BUF_INIT(SHALLOW_MAX);
	struct buf ids = BUF_INIT(SHALLOW_MAX);
	char *file = path_join(k->dir, "shallow");
	int rc = user_repo_read(k->user.common, "shallow", &text, err);
	struct str rest = buf_str(&text);
	struct str line;

	while (rc == 0 && str_split(&rest, '\n', &line)) {
		size_t n = 0;

		while (n < line.len && strchr("0123456789abcdef", line.ptr[n]))
			n++;
		if (n == SHA1_DIGITS && n == line.len)
			buf_addf(&ids, "%.*s\n", (int)n, line.ptr);
	}
	k->out->is_shallow = ids.len != 0;
	if (rc == 0 && ids.len)
		rc = path_write(file, buf_str(&ids), 0600, err);
	buf_release(&text);
	buf_release(&ids);
	free(file);
	return rc < 0 ? -1 : 0;
}

static int open_store(struct rewrite *k, struct error *err)
{
	struct error ignored = { 0 };

	k->dir = xasprintf("%s/rewrite-%s", k->w->directory, k->w->label);
	(void)path_remove_tree(k->dir, &ignored); /* of one that was killed */
	k->git = (struct git){ .program = k->w->program, .dir = k->dir };
	if (git_init(&k->git, k->stop, err) < 0)
		return -1;
	k->objects = user_repo_objects(&k->user, err);
	k->git.objects = k->objects;
	return k->objects ? copy_shallow(k, err) : -1;
}

static int open_globs(struct rewrite *k, struct error *err)
{
	k->globs = xcalloc(k->r->n_include + 1, sizeof(void *));
	for (size_t i = 0; i < k->r->n_include; i++)
		if (glob_new(&k->globs[i], str_of(k->r->include[i]),
			     GLOB_HIDDEN, err) < 0)
			return error_wrap(err, "--include %s",
					  k->r->include[i]);
	return 0;
}

/* 1: there are no commits. */
static int open_rewrite(struct rewrite *k, struct error *err)
{
	if (user_repo_open(&k->user, k->w->root, &k->w->git, k->stop, err) < 0)
		return -1;
	if (!k->user.git_dir || !k->user.head[0])
		return 1;
	if (strlen(k->user.head) != SHA1_DIGITS)
		return error_set(err, ERR_USAGE,
				 "the repository's object format is not SHA-1");
	if (open_globs(k, err) < 0)
		return -1;
	return open_store(k, err);
}

static void close_rewrite(struct rewrite *k)
{
	struct error ignored = { 0 };

	if (k->dir)
		(void)path_remove_tree(k->dir, &ignored);
	for (size_t i = 0; i < k->n && k->commits; i++)
		free(k->commits[i].text);
	for (size_t i = 0; k->globs && i < k->r->n_include; i++)
		glob_free(k->globs[i]);
	free(k->globs);
	free(k->commits);
	free(k->parents);
	free(k->order);
	free(k->changes);
	free(k->blobs);
	buf_release(&k->paths);
	bare_repo_release(&k->bare);
	user_repo_release(&k->user);
	free(k->objects);
	free(k->dir);
	free(k);
}

/* Names that the last commit has and the tree lacks. */
struct absent_names {
	struct rewrite *k;
	struct tree_dir dir;
	struct buf sparse; /* of a sparse checkout, each with NUL, sorted */
	size_t at;         /* in sparse */
	struct buf text;
};

static int on_sparse(void *arg, const char *record, struct error *err)
{
	struct absent_names *a = arg;

	if (record[0] == 'S' && record[1] == ' ')
		buf_add(&a->sparse, record + 2, strlen(record + 2) + 1);
	return buf_check(&a->sparse, "what a sparse checkout leaves out", err);
}

/* Asked in order. */
static bool is_sparse(struct absent_names *a, const char *path)
{
	while (a->at < a->sparse.len) {
		const char *one = a->sparse.ptr + a->at;
		int order = strcmp(one, path);

		if (order >= 0)
			return order == 0;
		a->at += strlen(one) + 1;
	}
	return false;
}

static int by_path(const void *key, const void *item)
{
	return strcmp(key, ((const struct selected *)item)->path);
}

static int on_name(void *arg, const char *path, struct error *err)
{
	struct absent_names *a = arg;
	const struct selection *s = a->k->r->files;
	struct stat st;
	const char *name;
	int dir;

	if (s->n && bsearch(path, s->files, s->n, sizeof(*s->files), by_path))
		return 0;
	dir = tree_dir_parent(&a->dir, path, &name);
	if (dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISDIR(st.st_mode))
		return 0; /* there, and not sent */
	if (is_sparse(a, path))
		return 0;
	for (; *path; path++)
		buf_addc(&a->text, *path == '\n' ? '\1' : *path);
	buf_addc(&a->text, '\n');
	return buf_check(&a->text, "the names of deleted files", err);
}

static int list_sparse(struct absent_names *a, struct error *err)
{
	static const char *const argv[] = { "ls-files", "-z", "-t", NULL };
	struct rewrite *k = a->k;
	struct nul_records each = { .each = on_sparse, .arg = a };
	struct git g = k->git;
	char *index = path_join(k->dir, "index-of-user");
	int rc = 0;

	g.index = index;
	if (k->r->files->sparse)
		rc = user_repo_copy_index(&k->user, &k->git, index, err);
	if (rc == 0 && k->r->files->sparse)
		rc = git_run_records(&g, argv, &each, k->stop, err);
	free(index);
	return rc;
}

static int list_absent(struct rewrite *k, struct buf *text, struct error *err)
{
	const char *argv[] = { "ls-tree",     "-r",         "-z",
			       "--name-only", k->out->head, NULL };
	struct absent_names a = { .k = k,
				  .sparse = BUF_INIT(NAMES_MAX),
				  .text = BUF_INIT(NAMES_MAX) };
	struct nul_records each = { .each = on_name, .arg = &a };
	int rc = tree_dir_open(&a.dir, k->w->root, err);

	if (rc == 0)
		rc = list_sparse(&a, err);
	if (rc == 0)
		rc = git_run_records(&k->git, argv, &each, k->stop, err);
	tree_dir_close(&a.dir);
	buf_release(&a.sparse);
	*text = a.text;
	return rc;
}

static int write_bytes(void *arg, struct str bytes, struct error *err)
{
	struct rewritten *out = arg;

	if (io_pwrite_all(out->fd, bytes.ptr, bytes.len, out->size) < 0)
		return error_errno(err, "keeping the commits");
	out->size += (int64_t)bytes.len;
	return 0;
}

/* Bitmaps of the user's packs would be believed: they are left aside. */
static int write_pack(struct rewrite *k, struct error *err)
{
	const char *argv[] = { "pack-objects",
			       "--revs",
			       "--stdout",
			       "-q",
			       "--delta-base-offset",
			       "--compression=6",
			       "--no-use-bitmap-index",
			       NULL };
	char *input = xasprintf("%s\n", k->out->head);
	struct git_request r = { .argv = argv,
				 .input = str_of(input),
				 .sink = write_bytes,
				 .sink_arg = k->out,
				 .timeout_ms = PACK_MS };
	int rc = git_run(&k->git, &r, k->stop, err);

	free(input);
	return rc;
}

static int write_out(struct rewrite *k, struct error *err)
{
	struct buf names;
	int rc = list_absent(k, &names, err);

	if (rc == 0) {
		k->out->fd = open(k->w->directory,
				  O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
		if (k->out->fd < 0)
			rc = error_errno(err, "a temporary file in %s",
					 k->w->directory);
	}
	if (rc == 0)
		rc = write_bytes(k->out, buf_str(&names), err);
	k->out->names_size = k->out->size;
	if (rc == 0)
		rc = write_pack(k, err);
	buf_release(&names);
	return rc;
}

int rewrite_commits(struct rewritten *out, const struct workspace *w,
		    const struct rewrite_request *r, const struct stop *stop,
		    struct error *err)
{
	struct rewrite *k = xcalloc(1, sizeof(*k));
	int rc;

	*out = (struct rewritten){ .fd = -1 };
	*k = (struct rewrite){ .w = w, .r = r, .stop = stop, .out = out };
	rc = open_rewrite(k, err);
	if (rc == 0)
		rc = rewrite_list(k, err);
	if (rc == 0)
		rc = rewrite_filter(k, err);
	if (rc == 0)
		rc = rewrite_import(k, err);
	if (rc == 0)
		rc = write_out(k, err);
	if (rc < 0)
		rewritten_release(out);
	close_rewrite(k);
	return rc < 0 ? -1 : 0;
}

void rewritten_release(struct rewritten *out)
{
	if (out->fd > 0)
		close(out->fd);
	*out = (struct rewritten){ .fd = -1 };
}
