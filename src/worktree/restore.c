/* restore.c - gives files in a sandbox the contents of another commit. */
/* SPDX-License-Identifier: MIT */
/*
 * Each line of the difference of two commits is a file with its old and its new
 * state. The script workspace_sync.sh, which also sends the user's own changes,
 * replaces a file only if it is in the old state. So nothing is overwritten
 * that the first commit does not have, even if the sandbox changes meanwhile.
 *
 * The commits went through the checks of a fetch (fetch_commit.h), and their
 * files return to a sandbox only, through a directory of dcode in which nothing
 * is run. Begin reading at restore_run().
 */
#include "worktree/restore.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "worktree/odb.h"
#include "worktree/stream_files.h"

enum {
	/* bytes of the names in one request, whose answer names them again */
	BATCH_BYTES = 128 << 10,
	LINE_BYTES = 2 * (6 + 1 + 64) + 2 + 1, /* without the path */
	LINK_MAX = 4096,
	PERMS_MAX = 2 << 20,  /* bytes of LABEL.perms that are read */
	PERMS_MOST = 1 << 20, /* that are written */
	TOKEN = sizeof("undo-") + 2 * crypto_generichash_BYTES_MIN,
};

#define NO_HASH                                                                \
	"0000000000000000000000000000000000000000000000000000000000000000"

static void set_side(struct restore_side *s, unsigned mode, const char *oid)
{
	s->mode = mode;
	snprintf(s->oid, sizeof(s->oid), "%s", oid);
	memcpy(s->hash, NO_HASH, sizeof(s->hash));
}

/* An odb_sink from `from` to `to`. */
static int add_line(void *arg, const struct odb_record *r, struct error *err)
{
	struct restore *u = arg;
	struct restore_line *l;

	(void)err;
	if (!(u->n & (u->n - 1)))
		u->lines = xrealloc(u->lines, u->n ? 2 * u->n : 1,
				    sizeof(*u->lines));
	l = &u->lines[u->n++];
	*l = (struct restore_line){ .path = xstrdup(r->path) };
	set_side(&l->old, r->old_mode, r->old_oid);
	set_side(&l->new, r->new_mode, r->new_oid);
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct restore_line *x = a;
	const struct restore_line *y = b;

	return strcmp(x->path, y->path);
}

/* Returns the file of dcode's own directory for a path. Owned. */
static char *scratch_path(const struct restore *u, const char *path)
{
	return xasprintf("%s/tree/%s", u->scratch, path);
}

static int make_parents(const char *file, struct error *err)
{
	char *directory = xstrndup(file, (size_t)(strrchr(file, '/') - file));
	int rc = path_mkdirs(directory, 0700, err);

	free(directory);
	return rc;
}

/* Writes the files to restore, as regular files, and sets all hashes. */
static int write_files(struct restore *u, struct error *err)
{
	struct odb_file *files = xcalloc(2 * u->n + 1, sizeof(*files));
	char **hashes = xcalloc(2 * u->n + 1, sizeof(*hashes));
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < u->n && rc == 0; i++) {
		struct restore_line *l = &u->lines[i];

		if (l->old.mode) {
			memcpy(files[n].oid, l->old.oid, GIT_OID);
			hashes[n++] = l->old.hash;
		}
		if (!l->new.mode)
			continue;
		memcpy(files[n].oid, l->new.oid, GIT_OID);
		files[n].path = scratch_path(u, l->path);
		hashes[n] = l->new.hash;
		rc = make_parents(files[n++].path, err);
	}
	if (rc == 0)
		rc = odb_write_files(&u->w->git, files, n, u->stop, err);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			sodium_bin2hex(hashes[i], LISTING_HASH, files[i].hash,
				       ODB_HASH);
		free(files[i].path);
	}
	free(files);
	free(hashes);
	return rc;
}

/* Replaces the file of a link by the link. All other files exist by now, so
 * nothing is written through it. */
static int make_link(struct restore *u, const struct restore_line *l,
		     struct error *err)
{
	struct buf target = BUF_INIT(LINK_MAX);
	char *file = scratch_path(u, l->path);
	int rc = path_read(file, &target, err);

	buf_addc(&target, '\0');
	if (rc == 0)
		rc = buf_check(&target, "the target of a link", err);
	if (rc == 0 && (unlink(file) < 0 || symlink(target.ptr, file) < 0))
		rc = error_errno(err, "%s", file);
	buf_release(&target);
	free(file);
	return rc;
}

static int make_root(const struct restore *u, struct error *err)
{
	char *root = path_join(u->scratch, "tree");
	int rc = path_mkdirs(root, 0700, err);

	free(root);
	return rc;
}

static int write_scratch(struct restore *u, struct error *err)
{
	int rc;

	u->scratch = path_join(u->w->directory, "undo.XXXXXX");
	if (!mkdtemp(u->scratch)) {
		rc = error_errno(err, "%s", u->scratch);
		free(u->scratch);
		u->scratch = NULL;
		return rc;
	}
	rc = make_root(u, err);
	if (rc == 0)
		rc = write_files(u, err);
	for (size_t i = 0; i < u->n && rc == 0; i++)
		if (u->sandbox && u->lines[i].new.mode == LISTING_LINK)
			rc = make_link(u, &u->lines[i], err);
	return rc;
}

/* Makes the lines of the difference, without the skipped paths, and the files
 * to send. */
static int prepare(struct restore *u, struct error *err)
{
	const struct odb_sink sink = { add_line, u };
	size_t kept = 0;
	int rc = odb_tree_diff(&u->w->git, u->from, u->to, &sink, u->stop, err);

	if (u->n)
		qsort(u->lines, u->n, sizeof(*u->lines), compare_lines);
	for (size_t i = 0; i < u->n; i++)
		if (u->skips && u->skips(u->arg, u->lines[i].path))
			free(u->lines[i].path);
		else
			u->lines[kept++] = u->lines[i];
	u->n = kept;
	return rc == 0 && u->n ? write_scratch(u, err) : rc;
}

/* Appends the lines of the batch, in the form of workspace_sync.sh. */
static void write_lines(void *arg, struct listing *read, struct buf *out)
{
	const struct restore *u = arg;

	for (size_t i = 0; i < u->n_batch; i++) {
		const struct restore_line *l = u->batch[i];
		size_t from;

		if (l->new.mode && !listing_find(read, l->path))
			continue;
		buf_addf(out, "%06o %s %06o %s ", l->old.mode, l->old.hash,
			 l->new.mode, l->new.hash);
		from = out->len;
		buf_adds(out, l->path);
		for (size_t k = from; !out->over && k < out->len; k++)
			if (out->ptr[k] == '\n')
				out->ptr[k] = '\1';
		buf_addc(out, '\n');
	}
}

/* Marks what the sandbox says that it has done. Its paths count only if they
 * are in the batch. */
static void read_answer(struct restore *u, struct str said)
{
	struct str line;

	while (str_split(&said, '\n', &line)) {
		struct restore_line *l;
		struct restore_line key;
		struct str name = str_skip(line, 2);

		if (!str_starts(line, "t "))
			continue;
		key.path = xstrndup(name.len ? name.ptr : "", name.len);
		for (char *p = key.path; *p; p++)
			*p = *p == '\1' ? '\n' : *p;
		l = bsearch(&key, u->lines, u->n, sizeof(*u->lines),
			    compare_lines);
		for (size_t i = 0; l && i < u->n_batch; i++)
			l->taken |= u->batch[i] == l;
		free(key.path);
	}
}

/* Sets the files of the batch to send, and the paths to delete. */
static int list_batch(const struct restore *u, struct selected *files,
		      const char **gone, struct stream_request *c,
		      struct error *err)
{
	for (size_t i = 0; i < u->n_batch; i++) {
		const struct restore_line *l = u->batch[i];
		char *file = scratch_path(u, l->path);
		struct stat st = { 0 };

		if (!l->new.mode)
			gone[c->n_deleted++] = l->path;
		else if (lstat(file, &st) == 0)
			files[c->n++] = (struct selected){ .path = l->path,
							   .mode = l->new.mode,
							   .size = st.st_size };
		else
			(void)error_errno(err, "%s", file);
		free(file);
		if (err->code)
			return -1;
	}
	return 0;
}

/* Sends the lines of the batch with one request. */
static int send_batch(struct restore *u, struct error *err)
{
	char *cache = path_join(u->scratch, "stat");
	char *root = path_join(u->scratch, "tree");
	char *ref = odb_ref_name(u->w->label, "restore");
	struct workspace from = *u->w; /* its tree is that of the files */
	const struct odb_commit_info info = { .ref = ref,
					      .parent = u->from,
					      .message = "restore\n" };
	struct selected *files = xcalloc(u->n_batch + 1, sizeof(*files));
	const char **gone = xcalloc(u->n_batch + 1, sizeof(*gone));
	struct stream_result out = { .said = BUF_INIT(1) };
	struct error ignored = { 0 };
	struct stream_request c = { .sandbox = u->sandbox,
				    .workspace = &from,
				    .files = files,
				    .deleted = gone,
				    .trailer = write_lines,
				    .trailer_size = BATCH_BYTES + 8192 +
						    u->n_batch * LINE_BYTES,
				    .arg = u,
				    .commit = &info,
				    .script = HELPER_SYNC };
	int rc = list_batch(u, files, gone, &c, err);

	from.root = root;
	from.cache = stat_cache_open(cache);
	if (rc == 0)
		rc = stream_files(&c, &out, u->stop, err);
	if (rc == 0 && !str_starts(str_of(out.status), "ok done "))
		rc = error_set(err, ERR_REMOTE,
			       "restoring files in the sandbox: %s",
			       out.status);
	if (rc == 0)
		read_answer(u, buf_str(&out.said));
	if (rc < 0 || out.committed)
		(void)odb_ref_set(&u->w->git, ref, NULL, u->stop, &ignored);
	stream_result_release(&out);
	stat_cache_close(from.cache);
	free(files);
	free(gone);
	free(cache);
	free(root);
	free(ref);
	return rc;
}

/* Sends all lines, deletions first: a file may have replaced its directory. */
static int send_lines(struct restore *u, struct error *err)
{
	size_t bytes = 0;
	int rc = 0;

	u->batch = xcalloc(u->n + 1, sizeof(struct restore_line *));
	for (int gone = 1; gone >= 0; gone--)
		for (size_t i = 0; i < u->n && rc == 0; i++) {
			struct restore_line *l = &u->lines[i];

			if ((l->new.mode == 0) != (gone == 1))
				continue;
			u->batch[u->n_batch++] = l;
			bytes += strlen(l->path) + 3;
			if (bytes < BATCH_BYTES)
				continue;
			rc = send_batch(u, err);
			u->n_batch = bytes = 0;
		}
	return rc == 0 && u->n_batch ? send_batch(u, err) : rc;
}

/* Git knows only the executable bit: LABEL.perms has the permissions of other
 * files, "OCTAL PATH\0", for one that was deleted. */
int restore_note_perm(const struct workspace *w, const char *path,
		      const struct treefile *t, struct error *err)
{
	mode_t usual = t->mode == NAME_PROGRAM ? 0755 : 0644;
	char *file;
	char *line;
	struct stat st;
	int fd;
	int rc = 0;

	if (!t->mode || t->mode == NAME_LINK || t->perm == usual)
		return 0;
	file = xasprintf("%s/%s.perms", w->directory, w->label);
	fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	line = xasprintf("%o %s", (unsigned)t->perm, path);
	if (fd < 0 || fstat(fd, &st) < 0)
		rc = error_errno(err, "opening %s", file);
	else if (st.st_size + (off_t)strlen(line) >= PERMS_MOST)
		rc = error_set(err, ERR_LIMIT, "%s is full", file);
	else if (io_write_all(fd, line, strlen(line) + 1) < 0)
		rc = error_errno(err, "writing %s", file);
	if (fd >= 0)
		close(fd);
	free(line);
	free(file);
	return rc;
}

/* What new files and directories of the user's do not allow. umask() itself
 * would change it for a moment, also for other threads. */
static mode_t read_umask(void)
{
	struct buf text = BUF_INIT(1 << 16);
	struct error ignored = { 0 };
	mode_t mask = 077;
	struct str rest;

	if (path_read("/proc/self/status", &text, &ignored) == 0) {
		rest = buf_str(&text);
		rest = str_skip(rest, str_search(rest, STR("\nUmask:")));
		rest = str_trim(str_skip(rest, strlen("\nUmask:")));
		if (rest.len)
			mask = (mode_t)strtoul(rest.ptr, NULL, 8) & 0777;
	}
	buf_release(&text);
	return mask;
}

/* Sets the permissions that a deleted file had. */
static void find_perm(const struct restore *u, const char *path,
		      struct treefile *t)
{
	char *file = xasprintf("%s/%s.perms", u->w->directory, u->w->label);
	struct buf text = BUF_INIT(PERMS_MAX);
	struct error ignored = { 0 };
	struct str rest;
	struct str line;

	t->perm = (t->mode == NAME_PROGRAM ? 0755 : 0644) & ~read_umask();
	if (access(file, F_OK) == 0)
		(void)path_read(file, &text, &ignored);
	rest = buf_str(&text);
	while (str_split(&rest, '\0', &line)) {
		struct str perm = { 0 };

		if (str_split(&line, ' ', &perm) &&
		    str_eq(line, str_of(path)) && perm.len < 6)
			t->perm = (mode_t)strtoul(perm.ptr, NULL, 8) & 0777;
	}
	buf_release(&text);
	free(file);
}

static struct treefile treefile_of(const struct restore_side *s)
{
	struct treefile t = { .mode = s->mode,
			      .mtime = { .tv_nsec = UTIME_OMIT } };

	if (s->mode)
		(void)sodium_hex2bin(t.hash, sizeof(t.hash), s->hash,
				     sizeof(s->hash), NULL, NULL, NULL);
	return t;
}

/* Creates the directories above a path that are missing. */
static int make_directories(int root, const char *path, struct error *err)
{
	char *part = xstrdup(path);
	int rc = 0;

	for (char *p = part; rc == 0 && (p = strchr(p, '/')); *p++ = '/') {
		struct treefile now;

		*p = '\0';
		rc = treefile_stat(root, part, &now, err);
		if (rc == 0 && !now.mode)
			rc = treefile_mkdir(root, part, 0777 & ~read_umask(),
					    err);
	}
	free(part);
	return rc;
}

/*
 * Names the temporary files beside a path: the same ones after a kill, other
 * ones for each path. Attack: a repository that has a file or link of that name
 * would get it put in the place of the path. It cannot know the commits.
 */
static void make_token(const struct restore *u, const char *path,
		       char out[TOKEN])
{
	unsigned char hash[crypto_generichash_BYTES_MIN];
	char *text = xasprintf("%s %s %s", u->from, u->to, path);

	crypto_generichash(hash, sizeof(hash), (unsigned char *)text,
			   strlen(text), NULL, 0);
	memcpy(out, "undo-", 5);
	sodium_bin2hex(out + 5, TOKEN - 5, hash, sizeof(hash));
	free(text);
}

/* Replaces one file of the user's tree, without following a link. */
static int write_line(const struct restore *u, int root,
		      const struct restore_line *l, struct error *err)
{
	char *scratch = scratch_path(u, l->path);
	const struct treefile from = treefile_of(&l->old);
	struct treefile to = treefile_of(&l->new);
	char token[TOKEN];
	struct treefile_write write = { root, l->path, &from, &to, -1, token };
	struct treefile now = { 0 };
	bool saved;
	int rc;

	make_token(u, l->path, token);
	rc = treefile_clean(&write, &saved, err);
	if (rc == 0)
		rc = treefile_stat(root, l->path, &now, err);
	if (rc == 0 && treefile_equal(&now, &to))
		goto done; /* an interrupted undo has written it */
	if (rc == 0 &&
	    (now.mode == TREEFILE_BLOCKED || !treefile_equal(&now, &from)))
		rc = error_set(err, ERR_BUSY, "%s has changed", l->path);
	if (rc < 0)
		goto done;
	if (!to.mode) {
		rc = restore_note_perm(u->w, l->path, &now, err);
		if (rc == 0)
			rc = treefile_remove(&write, err);
		goto done;
	}
	find_perm(u, l->path, &to);
	if (now.mode == to.mode)
		to.perm = now.perm;
	write.source = open(scratch, O_RDONLY | O_CLOEXEC);
	rc = write.source < 0 ? error_errno(err, "%s", scratch)
			      : make_directories(root, l->path, err);
	if (rc == 0)
		rc = treefile_stage(&write, err);
	if (rc == 0)
		rc = treefile_sync(&write, err);
	if (rc == 0)
		rc = treefile_put(&write, err);
	if (write.source >= 0)
		close(write.source);
done:
	free(scratch);
	return rc;
}

/* Writes all lines to the user's tree, deletions first. */
static int write_tree(struct restore *u, struct error *err)
{
	int root = open(u->w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = root < 0 ? error_errno(err, "%s", u->w->root) : 0;

	for (int gone = 1; gone >= 0; gone--)
		for (size_t i = 0; i < u->n && rc == 0; i++) {
			struct restore_line *l = &u->lines[i];

			if ((l->new.mode == 0) != (gone == 1))
				continue;
			rc = write_line(u, root, l, err);
			l->taken = rc == 0;
			if (rc < 0 && err->code == ERR_BUSY) {
				*err = (struct error){ 0 };
				rc = 0;
			}
		}
	if (root >= 0)
		close(root);
	return rc;
}

int restore_run(struct restore *u, struct error *err)
{
	struct error ignored = { 0 };
	int rc = prepare(u, err);

	if (rc == 0 && u->n)
		rc = u->sandbox ? send_lines(u, err) : write_tree(u, err);
	if (u->scratch)
		(void)path_remove_tree(u->scratch, &ignored);
	return rc;
}

void restore_release(struct restore *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->lines[i].path);
	free(u->lines);
	free(u->batch);
	free(u->scratch);
}
