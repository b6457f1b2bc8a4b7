/* turn_files.c - stores files that tools write without a sandbox. */
/* SPDX-License-Identifier: MIT */
/*
 * Two commits grow with each file that a turn writes: `before` gets its state
 * before the first write, `after` what the last write has left. checkpoint.c
 * names the second one. If a file is not as the last write left it, somebody
 * else has changed it, and the writes that follow become a checkpoint of their
 * own. Begin reading at checkpoint_before_write().
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "worktree/checkpoint.h"
#include "worktree/odb.h"
#include "worktree/restore.h"

enum { CHUNK = 64 << 10 };

static int read_content(int dir, const char *name, mode_t type, struct buf *out)
{
	char chunk[CHUNK];
	ssize_t n = 0;
	int fd;

	if (S_ISLNK(type)) {
		n = readlinkat(dir, name, chunk, sizeof(chunk));
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
		return n < 0 ? -1 : 0;
	}
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
	}
	if (fd >= 0)
		close(fd);
	return fd < 0 || n < 0 ? -1 : 0;
}

/* Reads the state of a path and its content. 1: it cannot be stored. */
static int read_state(const struct workspace *w, const char *path,
		      struct treefile *t, struct buf *content,
		      struct error *err)
{
	int root = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *name;
	int dir = root < 0 ? -1 : treefile_parent(root, path, &name);
	int absent = root >= 0 && dir < 0 && errno == ENOENT;
	struct stat st = { 0 };
	int rc = 0;

	*t = (struct treefile){ 0 };
	if (root >= 0)
		close(root);
	if (dir < 0)
		return absent ? 0 : 1;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		absent = errno == ENOENT;
		close(dir);
		return absent ? 0 : 1;
	}
	t->perm = st.st_mode & 07777;
	t->mode = S_ISLNK(st.st_mode)      ? NAME_LINK
		  : (st.st_mode & S_IXUSR) ? NAME_PROGRAM
					   : NAME_FILE;
	if (!(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) ||
	    st.st_size > CHECKPOINT_FILE)
		rc = 1;
	else if (read_content(dir, name, st.st_mode, content) < 0)
		rc = error_errno(err, "reading %s", path);
	else if (content->over)
		rc = 1;
	crypto_hash_sha256(t->hash, (const unsigned char *)content->ptr,
			   content->len);
	close(dir);
	return rc;
}

struct stored_state {
	/* the commit whose tree gets the file, or "" */
	const char *parent;
	/* the commit of the states before, or NULL */
	const char *second;
	const char *path;
	const struct treefile *state;
	struct str content;
};

/* Makes a commit of one more file. */
static int commit_file(const struct workspace *w, const struct stored_state *s,
		       char oid[GIT_OID], const struct stop *stop,
		       struct error *err)
{
	char *ref = odb_ref_name(w->label, "turn");
	const struct odb_commit_info info = {
		.ref = ref,
		.parent = s->parent[0] ? s->parent : NULL,
		.second = s->second,
		.message = "turn\n",
	};
	struct error ignored = { 0 };
	struct odb_commit *c = NULL;
	char made[GIT_OID];
	int rc = odb_commit_begin(&c, &w->git, &info, stop, err);

	if (rc == 0 && s->state->mode) {
		rc = odb_commit_file(c, s->state->mode, str_of(s->path),
				     (int64_t)s->content.len, err);
		if (rc == 0 && s->content.len)
			rc = odb_commit_data(c, s->content, err);
	} else if (rc == 0 && s->parent[0]) {
		rc = odb_commit_delete(c, str_of(s->path), err);
	}
	if (rc == 0)
		rc = odb_commit_end(c, made, err);
	else
		odb_commit_abort(c);
	if (rc == 0)
		memcpy(oid, made, GIT_OID);
	/* git keeps objects without a reference for two weeks */
	(void)odb_ref_set(&w->git, ref, NULL, stop, &ignored);
	free(ref);
	return rc;
}

static struct turn_file *find_file(const struct turn_files *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->list[i].path, path))
			return &t->list[i];
	return NULL;
}

static void add_file(struct turn_files *t, const char *path,
		     const struct treefile *state)
{
	if (!(t->n & (t->n - 1)))
		t->list = xrealloc(t->list, t->n ? 2 * t->n : 1,
				   sizeof(*t->list));
	t->list[t->n++] = (struct turn_file){ xstrdup(path), *state };
}

/* Gives the label the listing by which it is found and, after a while without
 * use, swept. */
static int note_use(struct workspace *w, const char *commit,
		    const struct stop *stop, struct error *err)
{
	struct listing none = { 0 };
	int rc = w->base[0] ? 0 : workspace_set_base(w, commit, stop, err);

	return rc < 0 ? -1 : workspace_write_listing(w, &none, w->base, err);
}

/* Adds a file that this turn has not written before. */
static int store_before(struct workspace *w, struct turn_files *t,
			struct stored_state *s, const struct stop *stop,
			struct error *err)
{
	char oid[GIT_OID];
	int rc = commit_file(w, s, oid, stop, err);

	if (rc == 0 && !t->n)
		rc = note_use(w, oid, stop, err);
	if (rc == 0 && t->after[0]) {
		/* if the tool fails, the file is the same in both */
		s->parent = t->after;
		s->second = oid;
		rc = commit_file(w, s, t->after, stop, err);
	}
	if (rc == 0)
		rc = restore_note_perm(w, s->path, s->state, err);
	if (rc < 0)
		return -1;
	memcpy(t->before, oid, GIT_OID);
	add_file(t, s->path, s->state);
	t->bytes += (int64_t)s->content.len;
	return 0;
}

int checkpoint_before_write(struct workspace *w, struct turn_files *t,
			    const char *path, const struct stop *stop,
			    struct error *err)
{
	struct buf content = BUF_INIT(CHECKPOINT_FILE);
	struct treefile now;
	const struct turn_file *known = find_file(t, path);
	struct stored_state s = { .path = path, .state = &now };
	int rc = read_state(w, path, &now, &content, err);

	if (rc == 0 && known && !treefile_equal(&now, &known->after)) {
		turn_files_release(t);
		known = NULL;
	}
	if (rc == 0 && t->bytes + (int64_t)content.len > CHECKPOINT_BYTES)
		rc = 1;
	s.parent = t->before;
	s.content = buf_str(&content);
	if (rc == 0 && !known)
		rc = store_before(w, t, &s, stop, err);
	buf_release(&content);
	return rc;
}

int checkpoint_after_write(struct workspace *w, struct turn_files *t,
			   const char *path, const struct stop *stop,
			   struct error *err)
{
	struct buf content = BUF_INIT(CHECKPOINT_FILE);
	struct turn_file *f = find_file(t, path);
	struct treefile now;
	struct stored_state s = { .parent = t->after[0] ? t->after : t->before,
				  .second = t->before,
				  .path = path,
				  .state = &now };
	int rc = f ? read_state(w, path, &now, &content, err) : 1;

	s.content = buf_str(&content);
	if (rc == 0 && !treefile_equal(&now, &f->after)) {
		rc = commit_file(w, &s, t->after, stop, err);
		t->unnamed = rc == 0;
		t->bytes += (int64_t)content.len;
		f->after = now;
	}
	buf_release(&content);
	return rc;
}

void turn_files_release(struct turn_files *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->list[i].path);
	free(t->list);
	free(t->ref);
	*t = (struct turn_files){ .turn = t->turn };
}
