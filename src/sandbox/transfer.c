/* transfer.c - files in and out for providers without a file API. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ids.h"
#include "base/str.h"
#include "sandbox/helper.h"

enum {
	BLOCK = 65536,
	BLOCKS = 16, /* of one download request without raw bytes */
	PIECE_MS = 300000,
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

struct upload {
	struct sandbox *sb;
	struct transfer *file;
	struct buf piece; /* read and not yet sent */
	int64_t sent;
	char id[17];
	bool streams;      /* whole, as the helper's input */
	bool octal;        /* no base64 there */
	struct error lost; /* why the stream ended early, when code is set */
};

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

/* A stream that cannot go on ends early: the helper then misses bytes and
 * takes back what it has. */
static int64_t stream(void *arg, char *room, size_t len, struct error *err)
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
		h.pull = stream;
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

static size_t fitting(const struct upload *u)
{
	size_t len = u->piece.len;

	while (len > 64 &&
	       !helper_fits(u->sb, (struct str){ u->piece.ptr, len },
			    !u->octal))
		len -= len / 16;
	return len;
}

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
		len = fitting(u);
		if (send_piece(u, (int64_t)len, status, stop, err))
			return -1;
		if (strcmp(status, "no_base64") == 0 && !u->octal) {
			u->octal = true;
			continue;
		}
		if (strcmp(status, "ok") != 0) {
			transfer_fail_status(u->file, status);
			return 0;
		}
		buf_consume(&u->piece, len);
		u->sent += (int64_t)len;
	} while (u->sent < u->file->size || strcmp(status, "ok") != 0);
	return 0;
}

/* In one request. */
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
		transfer_fail_status(u->file, status);
	return 0;
}

/* Takes back what an upload that did not end has left there. */
static void give_up(struct upload *u)
{
	struct stop stop = stop_cleanup(2000);
	struct error ignored = { 0 };
	char status[HELPER_STATUS];

	if (u->sent > 0)
		(void)send_piece(u, -1, status, &stop, &ignored); /* best */
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
		transfer_fail_status(f, h.status);
	buf_release(&h.out);
	return rc;
}

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
	/* Every provider's fallback ends here: a setup script's keys would be
	 * in the command's text, and that is an argument in the sandbox. */
	if (f->api_only) {
		transfer_fail(f, FILE_NO_API, "");
		return 0;
	}
	ids_random(u.id, 16);
	rc = u.streams ? upload_stream(&u, stop, err)
		       : upload_loop(&u, stop, err);
	if (rc || f->error != FILE_OK)
		give_up(&u);
	buf_release(&u.piece);
	return rc;
}

int transfer_upload(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { upload_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

struct download {
	struct transfer *file;
	int64_t got;
};

static int on_bytes(void *arg, struct str bytes, struct error *err)
{
	struct download *d = arg;

	d->got += (int64_t)bytes.len;
	return d->file->write(d->file->arg, bytes, err);
}

/* One request. *size: the file's size as it says. */
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
		transfer_fail_status(d->file, h.status);
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
