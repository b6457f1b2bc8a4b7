/* odb.c - dcode's own git repository: writes and reads exact commits. */
/* SPDX-License-Identifier: MIT */
/*
 * A commit is written as a stream to git fast-import (odb_commit_begin() to
 * odb_commit_end()), so that no filter or index changes its bytes. It is read
 * with two git commands: diff-tree lists paths (odb_tree_diff()), cat-file
 * prints many objects (odb_read()).
 */
#include "worktree/odb.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "worktree/listing.h"

enum {
	/* Setting a reference takes milliseconds: a git that hangs must not use
	 * up the time in which changes are saved at the end. */
	REF_MS = 10000,
	/* fast-import runs as long as the stream that feeds it */
	IMPORT_MS = 24 * 3600000,
	RECORD_MAX = LISTING_PATH + 512,
	CHUNK = 64 << 10,
	REPLY_MAX = 4096,
};

enum {                       /* reading objects */
       OIDS_MAX = 128 << 20, /* bytes of the list of objects to write */
       OBJECT_LINE_MAX = 4096,
       READ_MS = 3600000,
       TYPE_MAX = 16,
};

enum {                             /* files of one name, such as .gitignore */
       NAMED_BYTES_MAX = 1 << 20,  /* bytes of one file */
       NAMED_TOTAL_MAX = 64 << 20, /* bytes of all files */
       NAMED_MAX = 10000,
};

#define IDENTITY "dcode <dcode@localhost>"

char *odb_ref_name(const char *label, const char *which)
{
	return xasprintf("refs/dcode/%s/%s", label, which);
}

/* True for a SHA-1 or SHA-256 id. */
static bool is_oid(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!isxdigit((unsigned char)s.ptr[i]))
			return false;
	return s.len == 40 || s.len == 64;
}

static void copy_oid(char out[GIT_OID], struct str s)
{
	snprintf(out, GIT_OID, "%.*s", (int)s.len, s.ptr ? s.ptr : "");
}

int odb_ref_get(const struct git *g, const char *ref, char oid[GIT_OID],
		const struct stop *stop, struct error *err)
{
	const char *argv[] = { "rev-parse", "-q", "--verify", ref, NULL };
	struct buf out = BUF_INIT(REPLY_MAX);
	int status = 0;
	struct git_request r = { .argv = argv,
				 .out = &out,
				 .status = &status,
				 .timeout_ms = REF_MS };
	int rc = git_run(g, &r, stop, err);
	struct str text = str_trim(buf_str(&out));

	if (rc == 0 && status == 0 && is_oid(text))
		copy_oid(oid, text);
	else if (rc == 0)
		rc = error_set(err, ERR_NOT_FOUND, "git does not have %s", ref);
	buf_release(&out);
	return rc;
}

int odb_ref_set(const struct git *g, const char *ref, const char *oid,
		const struct stop *stop, struct error *err)
{
	const char *set[] = { "update-ref", "--no-deref", ref, oid, NULL };
	const char *drop[] = { "update-ref", "--no-deref", "-d", ref, NULL };
	struct git_request r = { .argv = oid ? set : drop,
				 .timeout_ms = REF_MS };

	return git_run(g, &r, stop, err);
}

struct odb_commit {
	struct git_process *import;
	/* fast-import's output: the commit's id and a newline */
	struct buf reply;
	struct buf line; /* the current command */
	int64_t left;    /* bytes of the current file still to send */
	bool in_file;
	bool done; /* the end of the stream was sent */
};

static int collect_reply(void *arg, struct str chunk, struct error *err)
{
	struct odb_commit *c = arg;

	buf_addstr(&c->reply, chunk);
	return buf_check(&c->reply, "git fast-import's answer", err);
}

void odb_quote_path(struct buf *out, struct str path)
{
	buf_addc(out, '"');
	for (size_t i = 0; i < path.len; i++) {
		unsigned char c = (unsigned char)path.ptr[i];

		if (c < ' ' || c > '~' || c == '"' || c == '\\')
			buf_addf(out, "\\%03o", c);
		else
			buf_addc(out, (char)c);
	}
	buf_addc(out, '"');
}

static int send_line(struct odb_commit *c, struct error *err)
{
	int rc = buf_check(&c->line, "a path", err);

	if (rc == 0)
		rc = git_write(c->import, buf_str(&c->line), err);
	buf_clear(&c->line);
	return rc;
}

/* Sends the commit's header; "feature done" makes fast-import reject a
 * truncated stream. */
static int send_header(struct odb_commit *c, const struct odb_commit_info *info,
		       struct error *err)
{
	int64_t time = info->time ? info->time : clock_unix_ms() / 1000;

	buf_addf(&c->line,
		 "feature done\ncommit %s\nmark :1\ncommitter " IDENTITY
		 " %" PRId64 " +0000\ndata %zu\n",
		 info->ref, time, strlen(info->message));
	buf_adds(&c->line, info->message);
	buf_adds(&c->line, "\n");
	if (info->parent)
		buf_addf(&c->line, "from %s\n", info->parent);
	if (info->second)
		buf_addf(&c->line, "merge %s\n", info->second);
	return send_line(c, err);
}

int odb_commit_begin(struct odb_commit **out, const struct git *g,
		     const struct odb_commit_info *info,
		     const struct stop *stop, struct error *err)
{
	const char *argv[] = { "fast-import", "--quiet", "--force",
			       "--depth=0",   "--done",  NULL };
	/* Git before 2.36 ignores this setting, and syncs. */
	static const char *const unsynced[] = { "GIT_CONFIG_COUNT=1",
						"GIT_CONFIG_KEY_0=core.fsync",
						"GIT_CONFIG_VALUE_0=none",
						NULL };
	struct odb_commit *c = xcalloc(1, sizeof(*c));
	struct git own = *g;
	struct git_request r = { .argv = argv,
				 .sink = collect_reply,
				 .sink_arg = c,
				 .timeout_ms = IMPORT_MS };

	c->reply = BUF_INIT(REPLY_MAX);
	c->line = BUF_INIT(4 * LISTING_PATH + REPLY_MAX * 4);
	if (info->unsynced)
		own.env = unsynced;
	if (git_start(&c->import, &own, &r, stop, err) == 0 &&
	    send_header(c, info, err) == 0) {
		*out = c;
		return 0;
	}
	odb_commit_abort(c);
	return -1;
}

/* Fails if bytes of the current file are missing: fast-import would read the
 * next command as the rest of the file. */
static int check_whole(const struct odb_commit *c, struct error *err)
{
	if (c->left == 0)
		return 0;
	return error_set(err, ERR_SYSTEM,
			 "a file ended %" PRId64 " bytes too early", c->left);
}

/* Ends the previous file, if any. */
static int next_change(struct odb_commit *c, struct error *err)
{
	if (check_whole(c, err) < 0)
		return -1;
	if (c->in_file)
		buf_addc(&c->line, '\n');
	c->in_file = false;
	return 0;
}

int odb_commit_file(struct odb_commit *c, unsigned mode, struct str path,
		    int64_t size, struct error *err)
{
	if (next_change(c, err) < 0)
		return -1;
	buf_addf(&c->line, "M %06o inline ", mode);
	odb_quote_path(&c->line, path);
	buf_addf(&c->line, "\ndata %" PRId64 "\n", size);
	c->left = size;
	c->in_file = true;
	return send_line(c, err);
}

int odb_commit_data(struct odb_commit *c, struct str bytes, struct error *err)
{
	if ((int64_t)bytes.len > c->left)
		return error_set(err, ERR_SYSTEM,
				 "a file has more bytes than announced");
	c->left -= (int64_t)bytes.len;
	return git_write(c->import, bytes, err);
}

int odb_commit_blob(struct odb_commit *c, unsigned mode, struct str path,
		    const char *oid, struct error *err)
{
	if (next_change(c, err) < 0)
		return -1;
	buf_addf(&c->line, "M %06o %s ", mode, oid);
	odb_quote_path(&c->line, path);
	buf_addc(&c->line, '\n');
	return send_line(c, err);
}

int odb_commit_delete(struct odb_commit *c, struct str path, struct error *err)
{
	if (next_change(c, err) < 0)
		return -1;
	buf_adds(&c->line, "D ");
	odb_quote_path(&c->line, path);
	buf_addc(&c->line, '\n');
	return send_line(c, err);
}

int odb_commit_clear(struct odb_commit *c, struct error *err)
{
	if (next_change(c, err) < 0)
		return -1;
	buf_adds(&c->line, "deleteall\n");
	return send_line(c, err);
}

int odb_commit_done(struct odb_commit *c, struct error *err)
{
	if (next_change(c, err) < 0)
		return -1;
	c->done = true;
	buf_adds(&c->line, "\nget-mark :1\ndone\n");
	return send_line(c, err);
}

int odb_commit_end(struct odb_commit *c, char oid[GIT_OID], struct error *err)
{
	struct git_process *import = c->import;
	struct str text;
	int rc = c->done ? 0 : odb_commit_done(c, err);

	if (rc == 0) {
		c->import = NULL;
		rc = git_finish(import, err);
	}
	text = str_trim(buf_str(&c->reply));
	if (rc == 0 && !is_oid(text))
		rc = error_set(err, ERR_SYSTEM,
			       "git fast-import did not return a commit id");
	if (rc == 0)
		copy_oid(oid, text);
	odb_commit_abort(c);
	return rc;
}

void odb_commit_abort(struct odb_commit *c)
{
	if (!c)
		return;
	git_abort(c->import);
	buf_release(&c->reply);
	buf_release(&c->line);
	free(c);
}

struct diff_reader {
	struct buf held; /* an incomplete record */
	const struct odb_sink *sink;
};

/* Parses ":OLDMODE NEWMODE OLDOID NEWOID STATUS" and a path. */
static int read_record(const struct diff_reader *d, char *head,
		       const char *path, struct error *err)
{
	struct odb_record r = { .path = path };
	struct str rest = str_of(head);
	struct str part[5];
	char old_oid[GIT_OID] = "";
	char new_oid[GIT_OID] = "";

	for (int i = 0; i < 5; i++)
		if (!str_split(&rest, ' ', &part[i]))
			return error_set(err, ERR_PROTOCOL,
					 "unexpected output of git diff-tree");
	if (!listing_path_ok(str_of(path)))
		return error_set(err, ERR_PROTOCOL,
				 "not a valid path in a repository: %.200s",
				 path);
	r.old_mode = (unsigned)strtoul(part[0].ptr + 1, NULL, 8);
	r.new_mode = (unsigned)strtoul(part[1].ptr, NULL, 8);
	if (r.old_mode)
		copy_oid(old_oid, part[2]);
	if (r.new_mode)
		copy_oid(new_oid, part[3]);
	r.old_oid = old_oid;
	r.new_oid = new_oid;
	return d->sink->each(d->sink->arg, &r, err);
}

/* A git_sink: parses the output of diff-tree, whose records may be split. */
static int read_diff(void *arg, struct str chunk, struct error *err)
{
	struct diff_reader *d = arg;
	size_t done = 0;
	int rc = 0;

	buf_addstr(&d->held, chunk);
	if (buf_check(&d->held, "a path", err) < 0)
		return -1;
	while (rc == 0) {
		char *head = d->held.ptr + done;
		size_t left = d->held.len - done;
		char *end = left ? memchr(head, '\0', left) : NULL;
		char *path = end ? end + 1 : NULL;

		left = end ? left - (size_t)(path - head) : 0;
		end = left ? memchr(path, '\0', left) : NULL;
		if (!end)
			break;
		rc = read_record(d, head, path, err);
		done = (size_t)(end + 1 - d->held.ptr);
	}
	buf_consume(&d->held, done);
	return rc;
}

int odb_tree_diff(const struct git *g, const char *before, const char *after,
		  const struct odb_sink *sink, const struct stop *stop,
		  struct error *err)
{
	const char *argv[] = { "diff-tree",
			       "-r",
			       "-z",
			       "--raw",
			       "--no-renames",
			       "--full-index",
			       before ? before : ODB_EMPTY_TREE,
			       after,
			       NULL };
	struct diff_reader d = { BUF_INIT(CHUNK + RECORD_MAX), sink };
	struct git_request r = { .argv = argv,
				 .sink = read_diff,
				 .sink_arg = &d };
	int rc = git_run(g, &r, stop, err);

	buf_release(&d.held);
	return rc;
}

/* Parses "OID TYPE SIZE" or "NAME missing". */
static int begin_object(struct odb_reader *b, struct error *err)
{
	struct str line = buf_str(&b->line);
	struct str oid = { NULL, 0 };
	struct str type = { NULL, 0 };
	struct odb_object o = { .i = b->next++, .oid = "", .type = "" };
	char oid_text[GIT_OID] = "";
	char type_text[TYPE_MAX] = "";

	if (o.i == b->asked)
		return error_set(err, ERR_PROTOCOL,
				 "git cat-file: more objects than asked for");
	if (str_ends(line, " missing")) {
		o.size = -1;
		return b->begin(b->arg, &o, err);
	}
	if (!str_split(&line, ' ', &oid) || !str_split(&line, ' ', &type) ||
	    !str_to_int(line, &o.size) || o.size < 0 || oid.len >= GIT_OID ||
	    type.len >= TYPE_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected output of git cat-file");
	snprintf(oid_text, sizeof(oid_text), "%.*s", (int)oid.len, oid.ptr);
	snprintf(type_text, sizeof(type_text), "%.*s", (int)type.len, type.ptr);
	o.oid = oid_text;
	o.type = type_text;
	b->left = b->data ? o.size + 1 : 0;
	return b->begin(b->arg, &o, err);
}

/* Passes bytes of the current object, without the newline that follows it. */
static int pass_data(struct odb_reader *b, struct str *chunk, struct error *err)
{
	struct str bytes = *chunk;
	bool ends;

	if ((int64_t)bytes.len > b->left)
		bytes.len = (size_t)b->left;
	*chunk = str_skip(*chunk, bytes.len);
	b->left -= (int64_t)bytes.len;
	ends = b->left == 0;
	bytes.len -= ends;
	return bytes.len ? b->data(b->arg, bytes, err) : 0;
}

/* A git_sink: reads header lines and contents alternately. */
static int read_batch(void *arg, struct str chunk, struct error *err)
{
	struct odb_reader *b = arg;
	int rc = 0;

	while (rc == 0 && chunk.len) {
		size_t n = str_find(chunk, '\n');

		if (b->left) {
			rc = pass_data(b, &chunk, err);
			continue;
		}
		buf_add(&b->line, chunk.ptr, n);
		if (n == chunk.len)
			return buf_check(&b->line, "an object's name", err);
		chunk = str_skip(chunk, n + 1);
		rc = begin_object(b, err);
		buf_clear(&b->line);
	}
	return rc;
}

int odb_read(const struct git *g, struct str names, struct odb_reader *b,
	     const struct stop *stop, struct error *err)
{
	const char *bytes[] = { "cat-file", "--batch", "--buffer", NULL };
	const char *sizes[] = { "cat-file", "--batch-check", "--buffer", NULL };
	struct git_request r = { .argv = b->data ? bytes : sizes,
				 .input = names,
				 .sink = read_batch,
				 .sink_arg = b,
				 .timeout_ms = READ_MS };
	int rc;

	b->line = BUF_INIT(OBJECT_LINE_MAX);
	b->next = 0;
	b->left = 0;
	b->asked = 0;
	for (size_t i = 0; i < names.len; i++)
		b->asked += names.ptr[i] == '\n';
	rc = git_run(g, &r, stop, err);
	if (rc == 0 && (b->next < b->asked || b->left || b->line.len))
		rc = error_set(err, ERR_PROTOCOL,
			       "git cat-file: fewer objects than asked for");
	buf_release(&b->line);
	return rc;
}

struct named_file {
	char *path; /* owned */
	char oid[GIT_OID];
};

struct file_list {
	const struct named_files *wanted;
	struct named_file *list;
	size_t n;
};

static bool is_wanted(const struct named_files *f, const struct odb_record *r)
{
	const char *slash = strrchr(r->path, '/');

	return !strcmp(slash ? slash + 1 : r->path, f->name) &&
	       S_ISREG(r->new_mode) && !(f->skip && f->skip(r->path));
}

/* An odb_sink: collects the files to write. */
static int note_file(void *arg, const struct odb_record *r, struct error *err)
{
	struct file_list *files = arg;
	struct named_file *file;

	(void)err;
	if (files->n == NAMED_MAX || !is_wanted(files->wanted, r))
		return 0;
	files->list = xrealloc(files->list, files->n + 1, sizeof(*file));
	file = &files->list[files->n++];
	file->path = xstrdup(r->path);
	snprintf(file->oid, sizeof(file->oid), "%s", r->new_oid);
	return 0;
}

/* Writes a file and creates its parent directories. */
static int write_below(const char *directory, const char *path, struct str text,
		       struct error *err)
{
	char *file = path_join(directory, path);
	char *slash = strrchr(file, '/');
	int rc;

	*slash = '\0';
	rc = path_mkdirs(file, 0700, err);
	*slash = '/';
	if (rc == 0)
		rc = path_write(file, text, 0600, err);
	free(file);
	return rc;
}

static void add_first(const struct named_files *f, struct buf *text)
{
	buf_addstr(text, f->first);
	if (f->first.len)
		buf_addc(text, '\n');
}

struct named_reader { /* receives the contents of all files from one git */
	struct file_list *files;
	const char *directory;
	int64_t total;
	size_t n; /* number of files that fit in NAMED_TOTAL_MAX */
	size_t at;
	int64_t left; /* bytes of the current file */
	struct buf text;
};

/* Counts how many files fit in NAMED_TOTAL_MAX together. */
static int add_size(void *arg, const struct odb_object *o, struct error *err)
{
	struct named_reader *r = arg;

	(void)err;
	r->total += o->size > 0 ? o->size : 0;
	if (r->total <= NAMED_TOTAL_MAX)
		r->n = o->i + 1;
	return 0;
}

static int write_file(struct named_reader *r, struct error *err)
{
	return write_below(r->directory, r->files->list[r->at].path,
			   buf_str(&r->text), err);
}

static int begin_file(void *arg, const struct odb_object *o, struct error *err)
{
	struct named_reader *r = arg;
	const struct named_files *f = r->files->wanted;

	if (o->size < 0)
		return error_set(err, ERR_PROTOCOL, "git does not have %s",
				 r->files->list[o->i].path);
	r->at = o->i;
	r->left = o->size;
	buf_clear(&r->text);
	if (!strcmp(r->files->list[o->i].path, f->name))
		add_first(f, &r->text);
	return r->left ? 0 : write_file(r, err);
}

static int add_bytes(void *arg, struct str bytes, struct error *err)
{
	struct named_reader *r = arg;

	buf_addstr(&r->text, bytes); /* a buf drops bytes beyond its max */
	r->left -= (int64_t)bytes.len;
	return r->left ? 0 : write_file(r, err);
}

static void list_oids(const struct named_reader *r, struct buf *names)
{
	buf_clear(names);
	for (size_t i = 0; i < r->n; i++)
		buf_addf(names, "%s\n", r->files->list[i].oid);
}

static int read_files(struct file_list *files, const struct git *g,
		      const char *directory, const struct stop *stop,
		      struct error *err)
{
	struct named_reader r = { .files = files,
				  .directory = directory,
				  .n = files->n,
				  .text = BUF_INIT(NAMED_BYTES_MAX) };
	struct odb_reader sizes = { .begin = add_size, .arg = &r };
	struct odb_reader bytes = { .begin = begin_file,
				    .data = add_bytes,
				    .arg = &r };
	struct buf names = BUF_INIT((size_t)NAMED_MAX * (GIT_OID + 1));
	int rc;

	list_oids(&r, &names);
	r.n = 0;
	rc = odb_read(g, buf_str(&names), &sizes, stop, err);
	list_oids(&r, &names);
	if (rc == 0 && r.n)
		rc = odb_read(g, buf_str(&names), &bytes, stop, err);
	buf_release(&names);
	buf_release(&r.text);
	return rc;
}

int odb_write_named_files(const struct named_files *f, const struct git *g,
			  const char *directory, size_t *n,
			  const struct stop *stop, struct error *err)
{
	struct file_list files = { .wanted = f };
	struct buf text = BUF_INIT(NAMED_BYTES_MAX);
	int rc = odb_tree_diff(g, NULL, f->tree,
			       &(struct odb_sink){ note_file, &files }, stop,
			       err);

	add_first(f, &text);
	if (rc == 0 && text.len)
		rc = write_below(directory, f->name, buf_str(&text), err);
	if (rc == 0 && files.n)
		rc = read_files(&files, g, directory, stop, err);
	if (n)
		*n = files.n;
	for (size_t i = 0; i < files.n; i++)
		free(files.list[i].path);
	free(files.list);
	buf_release(&text);
	return rc;
}

struct file_writer {
	struct odb_file *list;
	size_t at;    /* the current file */
	int64_t left; /* bytes of that file still to come */
	int fd;       /* -1: only hash */
	crypto_hash_sha256_state state;
};

/* Call after the last byte of a file. */
static void end_written_file(struct file_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	crypto_hash_sha256_final(&w->state, w->list[w->at].hash);
}

static int begin_written_file(void *arg, const struct odb_object *o,
			      struct error *err)
{
	struct file_writer *w = arg;
	const struct odb_file *f = &w->list[o->i];

	if (strcmp(o->oid, f->oid) != 0 || strcmp(o->type, "blob") != 0)
		return error_set(err, ERR_PROTOCOL,
				 "git does not have the object %s", f->oid);
	w->at = o->i;
	w->left = o->size;
	crypto_hash_sha256_init(&w->state);
	if (f->path) {
		w->fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			     0600);
		if (w->fd < 0)
			return error_errno(err, "writing %s", f->path);
	}
	if (!w->left)
		end_written_file(w);
	return 0;
}

static int write_file_bytes(void *arg, struct str bytes, struct error *err)
{
	struct file_writer *w = arg;

	crypto_hash_sha256_update(&w->state, (const unsigned char *)bytes.ptr,
				  bytes.len);
	if (w->fd >= 0 && io_write_all(w->fd, bytes.ptr, bytes.len) < 0)
		return error_errno(err, "writing %s", w->list[w->at].path);
	w->left -= (int64_t)bytes.len;
	if (!w->left)
		end_written_file(w);
	return 0;
}

int odb_write_files(const struct git *g, struct odb_file *list, size_t n,
		    const struct stop *stop, struct error *err)
{
	struct file_writer w = { .list = list, .fd = -1 };
	struct odb_reader b = { .begin = begin_written_file,
				.data = write_file_bytes,
				.arg = &w };
	struct buf names = BUF_INIT(OIDS_MAX);
	int rc;

	for (size_t i = 0; i < n; i++)
		buf_addf(&names, "%s\n", list[i].oid);
	rc = buf_check(&names, "the list of changed files", err);
	if (rc == 0 && n)
		rc = odb_read(g, buf_str(&names), &b, stop, err);
	if (w.fd >= 0)
		close(w.fd);
	buf_release(&names);
	return rc;
}
