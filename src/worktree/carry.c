/* carry.c - files of the tree, as one stream, to a script in the sandbox. */
/* SPDX-License-Identifier: MIT */
#include "worktree/carry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "sandbox/transfer.h"

enum {
	PROBE = 4 << 20,      /* bytes of the piece that is measured, */
	PROBE_FROM = 1 << 20, /* from here on: before, buffers fill */
	SMALL = 16 << 20,     /* a tree that is gzipped unmeasured */
	SLOW = 20000,         /* bytes per ms: 20 MB/s */
	UNPACK_MS = 3600000,
	CLEANUP_MS = 10000,
};

struct tree_stream {
	const struct carry *c;
	const struct stop *stop;
	struct odb_commit *commit;
	struct pass *pass;
	char trailer[32];
	int spool;       /* what was pulled so far; -1: it is not kept */
	int64_t spooled; /* bytes in it */
	int64_t from;    /* where the part at hand begins */
	int64_t at;      /* read of it */
	int64_t left;    /* of it */
	int64_t began;   /* ms, when the measured piece began; 0: not yet */
	int64_t ended;   /* ms, when its last bytes were asked for */
	int64_t rate;    /* bytes per ms, measured */
	char *first;     /* owned: where the parts are in the sandbox */
	char *rest;
	struct str inline_content;
	struct carried *out;
};

static void close_stream(struct tree_stream *s)
{
	odb_commit_abort(s->commit);
	pass_close(s->pass);
	if (s->spool >= 0)
		close(s->spool);
	s->commit = NULL;
	s->pass = NULL;
	s->spool = -1;
	s->spooled = 0;
}

static int open_spool(struct tree_stream *s, struct error *err)
{
	s->spool = open(s->c->workspace->directory,
			O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (s->spool < 0)
		return error_errno(err, "a temporary file in %s",
				   s->c->workspace->directory);
	return 0;
}

static int open_stream(struct tree_stream *s, bool gzip, bool kept,
		       struct error *err)
{
	const struct carry *c = s->c;
	struct pass_request r = { .workspace = c->workspace,
				  .files = c->files,
				  .n = c->n,
				  .tar_trailer = s->trailer,
				  .trailer = c->trailer,
				  .trailer_size = c->trailer_size,
				  .attachment = c->attachment,
				  .attachment_size = c->attachment_size,
				  .gzip = gzip,
				  .progress = c->progress,
				  .arg = c->arg };

	close_stream(s);
	if (odb_commit_begin(&s->commit, &c->workspace->git, c->commit, s->stop,
			     err) < 0)
		return -1;
	for (size_t i = 0; i < c->n_deleted; i++)
		if (odb_commit_delete(s->commit, str_of(c->deleted[i]), err) <
		    0)
			return -1;
	r.commit = s->commit;
	if (pass_open(&s->pass, &r, err) < 0)
		return -1;
	return kept ? open_spool(s, err) : 0;
}

/* Keeps what comes out of the pass, so that an upload can begin again. */
static int64_t pull_new(struct tree_stream *s, char *room, size_t len,
			struct error *err)
{
	int64_t n = pass_pull(s->pass, room, len, err);

	if (n > 0 && io_pwrite_all(s->spool, room, (size_t)n, s->spooled) < 0)
		return error_errno(err, "keeping what is sent");
	s->spooled += n > 0 ? n : 0;
	return n;
}

/* A part of the stream: from the spool as far as it goes. */
static int64_t read_part(void *arg, char *room, size_t len, struct error *err)
{
	struct tree_stream *s = arg;
	int64_t at = s->from + s->at;
	int64_t n;

	if ((int64_t)len > s->left - s->at)
		len = (size_t)(s->left - s->at);
	if (at < s->spooled && (int64_t)len > s->spooled - at)
		len = (size_t)(s->spooled - at);
	if (!s->began && s->at >= PROBE_FROM)
		s->began = clock_ms();
	if (!len)
		n = 0;
	else if (at < s->spooled)
		n = io_pread(s->spool, room, len, at);
	else
		n = pull_new(s, room, len, err);
	if (n < 0 && !err->code)
		return error_errno(err, "reading what is sent");
	s->at += n;
	if (n > 0)
		s->ended = clock_ms();
	return n;
}

static int rewind_part(void *arg, struct error *err)
{
	struct tree_stream *s = arg;

	(void)err;
	s->at = 0;
	s->began = 0;
	return 0;
}

static int upload_part(struct tree_stream *s, int64_t from, int64_t size,
		       char **path, struct error *err)
{
	struct transfer t = { .path = "/tmp/x",
			      .size = size,
			      .mode = 0600,
			      .read = read_part,
			      .rewind = rewind_part,
			      .arg = s };
	int64_t took;

	*path = transfer_stage(&t);
	t.path = *path;
	s->from = from;
	s->left = size;
	(void)rewind_part(s, err);
	if (sandbox_upload(s->c->sandbox, &t, 1, s->stop, err) < 0)
		return -1;
	if (t.error != FILE_OK)
		return error_set(err, ERR_REMOTE, "sending the tree: %s",
				 t.error == FILE_OTHER && t.detail[0]
					 ? t.detail
					 : file_error_name(t.error));
	/* Without the wait for the answer: that is latency, not speed. */
	took = s->began ? s->ended - s->began : 0;
	s->rate = (size - PROBE_FROM) / (took > 0 ? took : 1);
	return 0;
}

static void drop_part(struct tree_stream *s, char **path)
{
	if (*path)
		transfer_unstage(s->c->sandbox, *path);
	free(*path);
	*path = NULL;
}

/* All of it into the spool, then as one file, or within the command. */
static int send_gzip(struct tree_stream *s, struct error *err)
{
	char *room = xcalloc(1, 64 << 10);
	int64_t n = -1;

	if (open_stream(s, true, true, err) == 0)
		while ((n = pull_new(s, room, 64 << 10, err)) > 0)
			if (stop_check(s->stop, err) < 0) {
				n = -1;
				break;
			}
	free(room);
	if (n < 0)
		return -1;
	if (s->spooled <= (int64_t)helper_room(s->c->sandbox)) {
		char *bytes = xcalloc(1, (size_t)s->spooled + 1);
		struct str all = { bytes, (size_t)s->spooled };

		if (io_pread_all(s->spool, bytes, all.len, 0) != s->spooled) {
			free(bytes);
			return error_errno(err, "reading what is sent");
		}
		s->inline_content = all;
		if (helper_fits(s->c->sandbox, all, true))
			return 0;
		free(bytes);
		s->inline_content = (struct str){ NULL, 0 };
	}
	return upload_part(s, 0, s->spooled, &s->first, err);
}

/* A piece of it is measured: the rest follows, or all goes again, smaller. */
static int send_large(struct tree_stream *s, bool *gzip, struct error *err)
{
	int64_t size;

	if (open_stream(s, false, true, err) < 0)
		return -1;
	size = pass_size(s->pass, err);
	if (size < 0 || upload_part(s, 0, PROBE, &s->first, err) < 0)
		return -1;
	if (s->rate >= SLOW)
		return upload_part(s, PROBE, size - PROBE, &s->rest, err);
	drop_part(s, &s->first);
	*gzip = true;
	return send_gzip(s, err);
}

static int64_t total_size(const struct carry *c)
{
	int64_t total = c->attachment_size;

	for (size_t i = 0; i < c->n; i++)
		total += c->files[i].size + 1024;
	return total;
}

static int64_t pull_stdin(void *arg, char *room, size_t len, struct error *err)
{
	struct tree_stream *s = arg;

	return pass_pull(s->pass, room, len, err);
}

static int on_body(void *arg, struct str bytes, struct error *err)
{
	struct tree_stream *s = arg;

	buf_addstr(&s->out->said, bytes);
	return buf_check(&s->out->said, "what the sandbox says", err);
}

static int run_script(struct tree_stream *s, bool gzip, struct error *err)
{
	const struct carry *c = s->c;
	struct helper h = {
		.script = c->script,
		.args = { str_of(sandbox_tree_dir(c->sandbox)),
			  str_of(s->trailer), str_of(gzip ? "1" : ""),
			  str_of(s->rest), c->args[0], c->args[1], c->args[2],
			  c->args[3] },
		.n_args = 4 + CARRY_ARGS,
		.content = s->inline_content,
		.source = s->first,
		.body = on_body,
		.arg = s,
		.timeout_ms = UNPACK_MS,
	};

	if (!s->first && !s->inline_content.len)
		h.pull = pull_stdin;
	if (helper_run(c->sandbox, &h, s->stop, err) < 0)
		return -1;
	if (h.timed_out)
		return error_set(err, ERR_TIMEOUT, "unpacking the tree");
	snprintf(s->out->status, sizeof(s->out->status), "%s", h.status);
	return 0;
}

static int finish(struct tree_stream *s, struct error *err)
{
	struct odb_commit *commit = s->commit;
	struct listing *read = pass_listing(s->pass);

	s->out->read = *read;
	*read = (struct listing){ 0 };
	s->out->changed = pass_changed(s->pass);
	/* One without the base answers before it has read what comes. */
	if (!str_starts(str_of(s->out->status), "ok ") ||
	    str_starts(str_of(s->out->status), "ok nobase "))
		return 0;
	s->commit = NULL;
	return odb_commit_end(commit, s->out->oid, err);
}

int carry_run(const struct carry *c, struct carried *out,
	      const struct stop *stop, struct error *err)
{
	struct tree_stream s = {
		.c = c, .stop = stop, .spool = -1, .out = out
	};
	bool streams = c->sandbox->client->provider->flags & SANDBOX_STDIN;
	bool gzip = !streams && total_size(c) < SMALL;
	char random[17];
	int rc;

	*out = (struct carried){ .said = BUF_INIT(CARRY_SAID) };
	ids_random(random, 16);
	snprintf(s.trailer, sizeof(s.trailer), ".dcode-%s", random);
	if (streams)
		rc = open_stream(&s, false, false, err);
	else
		rc = gzip ? send_gzip(&s, err) : send_large(&s, &gzip, err);
	out->committed = rc == 0;
	if (rc == 0 && !streams)
		rc = odb_commit_done(s.commit, err);
	if (rc == 0)
		rc = run_script(&s, gzip, err);
	if (rc == 0)
		rc = finish(&s, err);
	if (rc < 0) {
		drop_part(&s, &s.first);
		drop_part(&s, &s.rest);
	}
	close_stream(&s);
	free((char *)s.inline_content.ptr);
	free(s.first);
	free(s.rest);
	return rc;
}

int carried_failed(const struct carried *out, const char *what,
		   struct error *err)
{
	struct str said = str_trim(buf_str(&out->said));
	struct buf line = BUF_INIT(512);

	if (!strcmp(out->status, "no_space")) {
		error_set(err, ERR_REMOTE,
			  "the sandbox's disk has no room for %s", what);
		return error_hint(
			err, "Run `df -h` there to see which disk is full.");
	}
	if (strcmp(out->status, "unpack") != 0)
		return error_set(err, ERR_REMOTE,
				 "the sandbox cannot take %s: %s", what,
				 out->status);
	sanitize_line(said, &line);
	error_set(err, ERR_REMOTE, "unpacking %s in the sandbox: %s", what,
		  line.len ? line.ptr : "no working tar");
	buf_release(&line);
	return error_hint(
		err, "The sandbox needs tar (and gzip); busybox's are enough.");
}

void carried_release(struct carried *out)
{
	buf_release(&out->said);
	listing_release(&out->read);
}
