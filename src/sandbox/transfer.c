/* transfer.c - file transfer, also for providers that can only run commands. */
/* SPDX-License-Identifier: MIT */

/*
 * sandbox_upload() and sandbox_download() use the provider's file API. Without
 * one, upload.sh and download.sh move a file in pieces that fit into a command,
 * or in one stream if commands have standard input. An upload is written to a
 * temporary file (the part) next to its target and renamed at the end, so that
 * nobody sees half of it. Uploads through a file API do the same
 * (transfer_begin(), transfer_finish()).
 */
#include "sandbox/transfer.h"

#include <stdio.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/exec.h"
#include "sandbox/helper.h"
#include "sandbox/quote.h"
#include "sandbox/sandbox.h"

enum {
	PLACE_MS = 300000, /* the file may have to be copied on a slow disk */
	DROP_MS = 2000,
	UNSTAGE_MS = 10000,
	PATH_SIZE = 64 << 10,
	LEN_DROP = -1, /* see upload.sh */
	LEN_BEGIN = -2,
	/* Base64 turns three bytes into four, and there are line ends: expect
	 * that three bytes of the file need five. */
	CODED = 5,
	PLAIN = 3,
};

struct step {
	const struct transfer *file;
	const struct transfer_part *part;
	int64_t len; /* bytes that will follow, or LEN_... */
};

void transfer_fail(struct transfer *f, enum file_error code, const char *detail)
{
	f->error = code;
	snprintf(f->detail, sizeof(f->detail), "%s", detail);
}

/* Sets the file's error from a helper's status other than "ok". */
static void fail_with_status(struct transfer *f, const char *status)
{
	enum file_error code = FILE_OTHER;

	if (strcmp(status, "file_not_found") == 0)
		code = FILE_NOT_FOUND;
	else if (strcmp(status, "permission_denied") == 0)
		code = FILE_PERMISSION_DENIED;
	else if (strcmp(status, "is_directory") == 0)
		code = FILE_IS_DIRECTORY;
	else if (strcmp(status, "not_a_directory") == 0)
		code = FILE_INVALID_PATH;
	transfer_fail(f, code, code == FILE_OTHER ? status : "");
}

bool transfer_path_ok(struct transfer *f)
{
	size_t len = f->path ? strlen(f->path) : 0;

	transfer_fail(f, FILE_OK, "");
	if (len > 1 && f->path[0] == '/' && f->path[len - 1] != '/')
		return true;
	transfer_fail(f, FILE_INVALID_PATH, "");
	return false;
}

bool transfer_fatal(const struct error *e)
{
	return e->code == ERR_CANCELLED || e->code == ERR_GONE ||
	       e->code == ERR_TIMEOUT || e->code == ERR_NETWORK ||
	       e->code == ERR_UNREACHABLE || e->code == ERR_AUTH;
}

int transfer_each(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct transfer_mover *m, const struct stop *stop,
		  struct error *err)
{
	struct error e = { 0 };
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		bool good = transfer_path_ok(&files[i]);

		/* an earlier file had a fatal error: it holds for this one
		 * too */
		if (rc < 0)
			transfer_fail(&files[i], FILE_OTHER, e.message);
		if (rc < 0 || !good)
			continue;
		e = (struct error){ 0 };
		if (m->move(m->arg, sb, &files[i], stop, &e) == 0)
			continue;
		transfer_fail(&files[i], FILE_OTHER, e.message);
		if (!transfer_fatal(&e))
			continue;
		*err = e;
		rc = -1;
	}
	return rc;
}

int64_t transfer_read(const struct transfer *f, char *room, size_t want,
		      struct error *err)
{
	int64_t got = f->read(f->arg, room, want, err);

	if (got == 0)
		return error_set(err, ERR_SYSTEM,
				 "the file became shorter while it was read");
	if (got > 0 && (size_t)got <= want)
		return got;
	if (err->code == ERR_NONE)
		error_set(err, ERR_SYSTEM, "the file cannot be read");
	return -1;
}

int transfer_read_all(const struct transfer *f, struct buf *out, size_t want,
		      struct error *err)
{
	while (want) {
		char *room = buf_room(out, want);
		int64_t got;

		if (!room)
			return buf_check(out, "the file", err);
		got = transfer_read(f, room, want, err);
		if (got < 0)
			return -1;
		buf_added(out, (size_t)got);
		want -= (size_t)got;
	}
	return 0;
}

bool transfer_fits(const struct sandbox *sb, int64_t size)
{
	if (sb->client->provider->flags & SANDBOX_STDIN)
		return true;
	return size <= (int64_t)(helper_room(sb) / CODED * PLAIN);
}

/* Runs upload.sh for one step of an upload. */
static int run_upload_step(struct sandbox *sb, const struct step *s,
			   struct helper *h, const struct stop *stop,
			   struct error *err)
{
	const struct transfer *f = s->file;
	char numbers[4][24];
	int rc;

	*h = (struct helper){ .script = HELPER_UPLOAD,
			      .n_args = 6,
			      .timeout_ms = PLACE_MS,
			      .out = BUF_INIT(PATH_SIZE) };
	snprintf(numbers[3], sizeof(numbers[3]), "%o",
		 (unsigned)(f->mode ? f->mode & 07777 : 0644));
	h->args[0] = str_of(f->path);
	h->args[1] = helper_decimal(f->size, numbers[0]);
	h->args[2] = helper_decimal(s->len, numbers[1]);
	h->args[3] = helper_decimal(f->size, numbers[2]);
	h->args[4] = str_of(numbers[3]);
	h->args[5] = str_of(s->part->id);
	rc = helper_run(sb, h, stop, err);
	if (rc == 0 && h->timed_out)
		rc = error_set(err, ERR_TIMEOUT, "the upload timed out");
	return rc;
}

int transfer_begin(struct sandbox *sb, struct transfer *f,
		   struct transfer_part *p, const struct stop *stop,
		   struct error *err)
{
	struct step s = { f, p, LEN_BEGIN };
	struct helper h;
	char end[32];
	int rc;

	ids_random(p->id, 16);
	snprintf(end, sizeof(end), "/.dcode-%s", p->id);
	rc = run_upload_step(sb, &s, &h, stop, err);
	if (rc == 0 && strcmp(h.status, "ok") != 0)
		fail_with_status(f, h.status);
	else if (rc == 0 && (!str_starts(buf_str(&h.out), "/") ||
			     !str_ends(buf_str(&h.out), end) ||
			     memchr(h.out.ptr, 0, h.out.len)))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no path for the "
			       "temporary file");
	buf_release(&p->path);
	p->path = h.out;
	return rc;
}

int transfer_finish(struct sandbox *sb, struct transfer *f,
		    const struct transfer_part *p, const struct stop *stop,
		    struct error *err)
{
	struct step s = { f, p, 0 };
	struct helper h;
	int rc = run_upload_step(sb, &s, &h, stop, err);

	if (rc == 0 && (str_starts(str_of(h.status), "short ") ||
			strcmp(h.status, "no_base64") == 0))
		rc = 1;
	else if (rc == 0 && strcmp(h.status, "ok") != 0)
		fail_with_status(f, h.status);
	buf_release(&h.out);
	return rc;
}

void transfer_drop(struct sandbox *sb, const struct transfer *f,
		   const struct transfer_part *p)
{
	struct stop stop = stop_cleanup(DROP_MS);
	struct error ignored = { 0 };
	struct step s = { f, p, LEN_DROP };
	struct helper h;

	(void)run_upload_step(sb, &s, &h, &stop, &ignored);
	buf_release(&h.out);
}

char *transfer_stage(const struct transfer *f)
{
	const char *slash = strrchr(f->path, '/');
	char id[17];

	ids_random(id, 16);
	if (!f->api_only || !slash)
		return xasprintf("/tmp/.dcode-%s", id);
	return xasprintf("%.*s/.dcode-%s", (int)(slash - f->path), f->path, id);
}

void transfer_unstage(struct sandbox *sb, const char *staged)
{
	struct stop stop = stop_cleanup(UNSTAGE_MS);
	struct buf command = BUF_INIT(PATH_SIZE);
	struct exec_request req = { .cwd = "/", .plain = true };
	struct error ignored = { 0 };
	struct exec_result res;

	buf_adds(&command, "rm -f -- ");
	quote_word(&command, str_of(staged));
	req.command = buf_str(&command);
	if (!command.over)
		(void)sandbox_execute(sb, &req, &res, &stop, &ignored);
	buf_release(&command);
}

enum {
	BLOCK = 65536,
	/* blocks of a file per download request if output must be text */
	BLOCKS = 16,
	PIECE_MS = 300000,
};

struct upload {
	struct sandbox *sb;
	struct transfer *file;
	struct buf piece; /* bytes read but not yet sent */
	int64_t sent;
	char id[17];
	bool streams;      /* the whole file is the helper's standard input */
	bool octal;        /* the sandbox has no base64 */
	struct error lost; /* why the stream ended early, if code is set */
};

struct download {
	struct transfer *file;
	int64_t got;
};

int transfer_sink_write(void *arg, struct str chunk, struct error *err)
{
	struct transfer_sink *s = arg;
	int64_t skip =
		s->skip < (int64_t)chunk.len ? s->skip : (int64_t)chunk.len;

	s->skip -= skip;
	chunk = str_skip(chunk, (size_t)skip);
	if (!chunk.len)
		return 0;
	s->got += (int64_t)chunk.len;
	if (s->file->write(s->file->arg, chunk, err) == 0)
		return 0;
	s->failed = true;
	return -1;
}

static int read_piece(struct upload *u, struct error *err)
{
	struct transfer *f = u->file;
	int64_t left = f->size - u->sent - (int64_t)u->piece.len;

	while (left > 0 && u->piece.len < u->piece.max) {
		size_t want = u->piece.max - u->piece.len;
		char *room;
		int64_t got;

		if ((int64_t)want > left)
			want = (size_t)left;
		if (want > BLOCK)
			want = BLOCK;
		room = buf_room(&u->piece, want);
		got = transfer_read(f, room, want, err);
		if (got < 0)
			return -1;
		buf_added(&u->piece, (size_t)got);
		left -= got;
	}
	return 0;
}

/* If the file cannot be read any further, ends the stream early. upload.sh then
 * finds that bytes are missing and deletes its temporary file. */
static int64_t read_upload(void *arg, char *room, size_t len, struct error *err)
{
	struct upload *u = arg;
	int64_t left = u->file->size - u->sent;
	int64_t got;

	(void)err;
	if (!left || u->lost.code != ERR_NONE)
		return 0;
	if ((int64_t)len > left)
		len = (size_t)left;
	got = transfer_read(u->file, room, len, &u->lost);
	u->sent += got < 0 ? 0 : got;
	return got < 0 ? 0 : got;
}

/* Sends a piece of len bytes with upload.sh. A len of -1 deletes the temporary
 * file instead. status: the script's answer. */
static int send_piece(struct upload *u, int64_t len, char *status,
		      const struct stop *stop, struct error *err)
{
	char numbers[4][24];
	struct helper h = { .script = HELPER_UPLOAD,
			    .n_args = 6,
			    .no_base64 = u->octal,
			    .timeout_ms = PIECE_MS,
			    .out = BUF_INIT(4096) };
	bool whole = u->streams && len >= 0;
	int rc;

	if (whole) {
		h.pull = read_upload;
		h.arg = u;
		h.timeout_ms = 0;
	}
	snprintf(numbers[3], sizeof(numbers[3]), "%o",
		 (unsigned)(u->file->mode ? u->file->mode & 07777 : 0644));
	h.args[0] = str_of(u->file->path);
	h.args[1] = helper_decimal(whole ? 0 : u->sent, numbers[0]);
	h.args[2] = helper_decimal(len, numbers[1]);
	h.args[3] = helper_decimal(u->file->size, numbers[2]);
	h.args[4] = str_of(numbers[3]);
	h.args[5] = str_of(u->id);
	if (len > 0 && !whole)
		h.content = (struct str){ u->piece.ptr, (size_t)len };
	rc = helper_run(u->sb, &h, stop, err);
	if (!rc && h.timed_out)
		rc = error_set(err, ERR_TIMEOUT, "upload timed out");
	snprintf(status, HELPER_STATUS, "%s", h.status);
	buf_release(&h.out);
	return rc;
}

/* Returns how many bytes of the piece fit into one command. */
static size_t fit_piece(const struct upload *u)
{
	size_t len = u->piece.len;

	while (len > 64 &&
	       !helper_fits(u->sb, (struct str){ u->piece.ptr, len },
			    !u->octal))
		len -= len / 16;
	return len;
}

/* Uploads the file in pieces, each with one command. Switches to octal if the
 * sandbox has no base64. */
static int upload_loop(struct upload *u, const struct stop *stop,
		       struct error *err)
{
	char status[HELPER_STATUS] = "ok";

	do {
		size_t len;

		if (read_piece(u, err)) {
			transfer_fail(u->file, FILE_OTHER, err->message);
			return 0;
		}
		len = fit_piece(u);
		if (send_piece(u, (int64_t)len, status, stop, err))
			return -1;
		if (strcmp(status, "no_base64") == 0 && !u->octal) {
			u->octal = true;
			continue;
		}
		if (strcmp(status, "ok") != 0) {
			fail_with_status(u->file, status);
			return 0;
		}
		buf_consume(&u->piece, len);
		u->sent += (int64_t)len;
	} while (u->sent < u->file->size || strcmp(status, "ok") != 0);
	return 0;
}

/* Uploads the file in one request. */
static int upload_stream(struct upload *u, const struct stop *stop,
			 struct error *err)
{
	char status[HELPER_STATUS] = "ok";
	int rc = send_piece(u, u->file->size, status, stop, err);

	if (rc)
		return -1;
	if (u->lost.code != ERR_NONE)
		transfer_fail(u->file, FILE_OTHER, u->lost.message);
	else if (strcmp(status, "ok") != 0)
		fail_with_status(u->file, status);
	return 0;
}

/* Deletes the temporary file of an upload that failed. */
static void delete_part(struct upload *u)
{
	struct stop stop = stop_cleanup(2000);
	struct error ignored = { 0 };
	char status[HELPER_STATUS];

	if (u->sent > 0)
		(void)send_piece(u, -1, status, &stop,
				 &ignored); /* best effort */
}

int transfer_place(struct sandbox *sb, struct transfer *f, const char *staged,
		   const struct stop *stop, struct error *err)
{
	char numbers[2][24];
	char mode[16];
	char id[17];
	struct helper h = { .script = HELPER_UPLOAD,
			    .n_args = 6,
			    .source = staged,
			    .timeout_ms = PIECE_MS,
			    .out = BUF_INIT(4096) };
	int rc;

	ids_random(id, 16);
	snprintf(mode, sizeof(mode), "%o",
		 (unsigned)(f->mode ? f->mode & 07777 : 0644));
	h.args[0] = str_of(f->path);
	h.args[1] = STR("0");
	h.args[2] = helper_decimal(f->size, numbers[0]);
	h.args[3] = helper_decimal(f->size, numbers[1]);
	h.args[4] = str_of(mode);
	h.args[5] = str_of(id);
	rc = helper_run(sb, &h, stop, err);
	if (rc == 0 && h.timed_out)
		transfer_fail(f, FILE_OTHER, "timed out");
	else if (rc == 0 && strcmp(h.status, "ok") != 0)
		fail_with_status(f, h.status);
	buf_release(&h.out);
	return rc;
}

/* Uploads one file: in one stream if the provider has standard input, else in
 * pieces. */
static int upload_one(const void *arg, struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	size_t most = sb->client->provider->max_command;
	struct upload u = {
		.sb = sb,
		.file = f,
		.piece = BUF_INIT(most ? most : BLOCK),
		.streams = sb->client->provider->flags & SANDBOX_STDIN,
	};
	int rc;

	(void)arg;
	/* Every upload ends here if the provider has no file API or it failed.
	 * A setup script's credentials must not be sent this way: the command's
	 * text is visible as a process argument in the sandbox. */
	if (f->api_only) {
		transfer_fail(f, FILE_NO_API, "");
		return 0;
	}
	ids_random(u.id, 16);
	rc = u.streams ? upload_stream(&u, stop, err)
		       : upload_loop(&u, stop, err);
	if (rc || f->error != FILE_OK)
		delete_part(&u);
	buf_release(&u.piece);
	return rc;
}

int transfer_upload(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { upload_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

static int on_bytes(void *arg, struct str bytes, struct error *err)
{
	struct download *d = arg;

	d->got += (int64_t)bytes.len;
	return d->file->write(d->file->arg, bytes, err);
}

/* Downloads one piece with one request. *size: the file's size as the sandbox
 * reports it. */
static int get_piece(struct sandbox *sb, struct download *d, int64_t *size,
		     const struct stop *stop, struct error *err)
{
	bool raw = sb->client->provider->flags & SANDBOX_STDIN;
	char numbers[2][24];
	struct helper h = { .script = HELPER_DOWNLOAD,
			    .n_args = 3,
			    .timeout_ms = raw ? 0 : PIECE_MS,
			    .body = on_bytes,
			    .arg = d };
	const char *rest = h.status + 3;

	h.args[0] = str_of(d->file->path);
	h.args[1] = helper_decimal(d->got / BLOCK, numbers[0]);
	h.args[2] = helper_decimal(raw ? 0 : BLOCKS, numbers[1]);
	if (helper_run(sb, &h, stop, err))
		return -1;
	if (h.timed_out)
		return error_set(err, ERR_TIMEOUT, "download timed out");
	if (!str_starts(str_of(h.status), "ok ")) {
		fail_with_status(d->file, h.status);
		return 0;
	}
	*size = helper_number(&rest);
	return 0;
}

static int download_one(const void *arg, struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct download d = { .file = f };
	int64_t size = -1;

	(void)arg;
	do {
		int64_t before = d.got;
		int64_t was = size;

		if (get_piece(sb, &d, &size, stop, err))
			return -1;
		if (f->error != FILE_OK)
			return 0;
		if ((was >= 0 && was != size) || d.got > size ||
		    (d.got == before && d.got < size)) {
			transfer_fail(f, FILE_OTHER,
				      "the file changed in the meantime");
			return 0;
		}
	} while (d.got < size);
	return 0;
}

int transfer_download(struct sandbox *sb, struct transfer *files, size_t n,
		      const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { download_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

int sandbox_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;

	if (stop_check(stop, err) ||
	    background_wait(sb->background, stop, err) ||
	    sandbox_await_kills(sb, stop, err))
		return -1;
	if (!ops->upload)
		return transfer_upload(sb, files, n, stop, err);
	return ops->upload(sb, files, n, stop, err)
		       ? sandbox_blame(sb->client, err)
		       : 0;
}

struct bytes_source {
	struct str all;
	struct str rest;
};

static int64_t read_bytes(void *arg, char *room, size_t len, struct error *err)
{
	struct bytes_source *s = arg;
	size_t n = len < s->rest.len ? len : s->rest.len;

	(void)err; /* (err) reading from memory cannot fail */
	if (n)
		memcpy(room, s->rest.ptr, n);
	s->rest = str_skip(s->rest, n);
	return (int64_t)n;
}

static int rewind_bytes(void *arg, struct error *err)
{
	struct bytes_source *s = arg;

	(void)err;
	s->rest = s->all;
	return 0;
}

int sandbox_upload_bytes(struct sandbox *sb, struct transfer *file,
			 struct str bytes, const struct stop *stop,
			 struct error *err)
{
	struct bytes_source source = { bytes, bytes };
	int rc;

	file->size = (int64_t)bytes.len;
	file->read = read_bytes;
	file->rewind = rewind_bytes;
	file->arg = &source;
	rc = sandbox_upload(sb, file, 1, stop, err);
	file->arg = NULL;
	return rc;
}

int sandbox_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	const struct sandbox_ops *ops = sb->client->provider->ops;

	if (stop_check(stop, err) || sandbox_await_kills(sb, stop, err))
		return -1;
	if (!ops->download)
		return transfer_download(sb, files, n, stop, err);
	return ops->download(sb, files, n, stop, err)
		       ? sandbox_blame(sb->client, err)
		       : 0;
}
