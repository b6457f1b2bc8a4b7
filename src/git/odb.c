/* odb.c - dcode's own git repository: commits of exact bytes, and the diffs
 * between them. */
/* SPDX-License-Identifier: MIT */
#include "git/odb.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "git/listing.h"

enum {
	/* One reference takes milliseconds: a git that hangs does not get all
	 * of the time in which changes are saved at the end. */
	REF_MS = 10000,
	IMPORT_MS = 24 * 3600000, /* as long as the stream that feeds it */
	RECORD_MAX = LISTING_PATH + 512,
	CHUNK = 64 << 10,
	REPLY_MAX = 4096,
};

#define IDENTITY "dcode <dcode@localhost>"

char *odb_ref_name(const char *label, const char *which)
{
	return xasprintf("refs/dcode/%s/%s", label, which);
}

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
	struct buf reply; /* the commit's id and a line end */
	struct buf line;  /* of a command */
	int64_t left;     /* bytes of the file at hand still to come */
	bool in_file;
	bool done; /* nothing more is sent */
};

static int on_reply(void *arg, struct str chunk, struct error *err)
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

static int begin(struct odb_commit *c, const struct odb_commit_info *info,
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
	/* Git before 2.36 does not know it, and syncs. */
	static const char *const unsynced[] = { "GIT_CONFIG_COUNT=1",
						"GIT_CONFIG_KEY_0=core.fsync",
						"GIT_CONFIG_VALUE_0=none",
						NULL };
	struct odb_commit *c = xcalloc(1, sizeof(*c));
	struct git own = *g;
	struct git_request r = { .argv = argv,
				 .sink = on_reply,
				 .sink_arg = c,
				 .timeout_ms = IMPORT_MS };

	c->reply = BUF_INIT(REPLY_MAX);
	c->line = BUF_INIT(4 * LISTING_PATH + REPLY_MAX * 4);
	if (info->unsynced)
		own.env = unsynced;
	if (git_start(&c->import, &own, &r, stop, err) == 0 &&
	    begin(c, info, err) == 0) {
		*out = c;
		return 0;
	}
	odb_commit_abort(c);
	return -1;
}

static int check_whole(const struct odb_commit *c, struct error *err)
{
	if (c->left == 0)
		return 0;
	return error_set(err, ERR_SYSTEM,
			 "a file ended %" PRId64 " bytes too early", c->left);
}

/* Ends the file before. */
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
			       "git fast-import names no commit");
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

static int add_bytes(struct odb_commit *c, const struct odb_change *change,
		     struct error *err)
{
	char *room = xcalloc(1, CHUNK);
	int64_t n = 1;
	int rc = odb_commit_file(c, change->mode, change->path, change->size,
				 err);

	while (rc == 0 && c->left > 0 && n > 0) {
		size_t want = c->left < CHUNK ? (size_t)c->left : CHUNK;

		n = change->read(change->arg, room, want, err);
		if (n < 0)
			rc = -1;
		else
			rc = odb_commit_data(c, (struct str){ room, (size_t)n },
					     err);
	}
	free(room);
	return rc < 0 ? -1 : check_whole(c, err);
}

static int add_change(struct odb_commit *c, const struct odb_change *change,
		      struct error *err)
{
	if (!change->mode)
		return odb_commit_delete(c, change->path, err);
	if (change->oid)
		return odb_commit_blob(c, change->mode, change->path,
				       change->oid, err);
	return add_bytes(c, change, err);
}

int odb_commit(const struct git *g, const struct odb_commit_info *info,
	       const struct odb_changes *changes, char oid[GIT_OID],
	       const struct stop *stop, struct error *err)
{
	struct odb_commit *c;

	if (odb_commit_begin(&c, g, info, stop, err) < 0)
		return -1;
	for (size_t i = 0; i < changes->n; i++)
		if (add_change(c, &changes->list[i], err) < 0) {
			odb_commit_abort(c);
			return -1;
		}
	return odb_commit_end(c, oid, err);
}

struct diff_reader {
	struct buf held; /* not yet a whole record */
	const struct odb_sink *sink;
};

/* ":OLDMODE NEWMODE OLDOID NEWOID STATUS" and a path. */
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
					 "git diff-tree: a broken record");
	if (!listing_path_ok(str_of(path)))
		return error_set(err, ERR_PROTOCOL,
				 "not a valid path in a tree: %.200s", path);
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

static int on_diff(void *arg, struct str chunk, struct error *err)
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
				 .sink = on_diff,
				 .sink_arg = &d };
	int rc = git_run(g, &r, stop, err);

	buf_release(&d.held);
	return rc;
}
