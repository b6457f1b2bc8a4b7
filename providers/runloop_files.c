/* runloop_files.c - files in and out through Runloop, in constant memory. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/look.h"
#include "providers/runloop.h"
#include "sandbox/transfer.h"

enum {
	SMALL = 1 << 20, /* is held in memory, so that it can be sent again */
	TRIES = 5,
	PAUSE_MS = 200,
	LONGEST_MS = 24 * 3600 * 1000,
	IDLE_MS = 60000,
	BOUNDARY = 32,
};

static void fail(struct transfer *f, enum file_error code, const char *detail)
{
	f->error = code;
	snprintf(f->detail, sizeof(f->detail), "%s", detail);
}

static void check_paths(struct transfer *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *path = files[i].path ? files[i].path : "";
		size_t len = strlen(path);

		fail(&files[i], FILE_OK, "");
		if (len < 2 || path[0] != '/' || path[len - 1] == '/')
			fail(&files[i], FILE_INVALID_PATH, "");
	}
}

static bool fatal(const struct error *e)
{
	return e->code == ERR_CANCELLED || e->code == ERR_GONE ||
	       e->code == ERR_TIMEOUT || e->code == ERR_NETWORK ||
	       e->code == ERR_AUTH;
}

/*
 * After a request that failed: 0 to try again, 1 when the file is refused (f
 * says why), -1 when nothing more can be done. What the API says of a file is
 * not documented: the sandbox's shell is asked.
 */
/* NOLINTNEXTLINE(readability-function-size): parameters to be gathered */
static int judge(struct sandbox *sb, struct transfer *f, int code,
		 enum look what, const struct error *why,
		 const struct stop *stop, struct error *err)
{
	if (why->code == ERR_NETWORK || code == 408 || code == 429 ||
	    code >= 500)
		return 0;
	if (code < 400 || code == 401) {
		*err = *why;
		return -1;
	}
	if (runloop_revive(sb, stop, err) < 0 ||
	    look(sb, what, f, 1, stop, err) < 0)
		return -1;
	if (f->error == FILE_OK)
		fail(f, FILE_OTHER, why->message);
	return 1;
}

struct upload {
	struct transfer *file;
	struct buf whole; /* a small file */
	int64_t sent;
	bool failed;     /* the file's own source */
	struct buf head; /* of the form */
	struct buf tail;
};

static int64_t read_file(struct upload *u, char *room, size_t len,
			 struct error *err)
{
	int64_t left = u->file->size - u->sent;
	int64_t n;

	if (left <= 0)
		return 0;
	if ((int64_t)len > left)
		len = (size_t)left;
	n = u->file->read(u->file->arg, room, len, err);
	if (n == 0)
		n = error_set(err, ERR_SYSTEM, "the file became shorter");
	if (n < 0 || (size_t)n > len) {
		u->failed = true;
		return -1;
	}
	u->sent += n;
	return n;
}

static int64_t take(struct buf *b, char *room, size_t len)
{
	size_t n = b->len < len ? b->len : len;

	memcpy(room, b->ptr, n);
	buf_consume(b, n);
	return (int64_t)n;
}

static int64_t body_source(void *arg, char *room, size_t len, struct error *err)
{
	struct upload *u = arg;

	if (u->head.len)
		return take(&u->head, room, len);
	if (u->sent < u->file->size)
		return read_file(u, room, len, err);
	return u->tail.len ? take(&u->tail, room, len) : 0;
}

static int read_whole(struct upload *u, struct error *err)
{
	u->whole = BUF_INIT(SMALL);
	while (u->sent < u->file->size) {
		size_t want = (size_t)(u->file->size - u->sent);
		int64_t n = read_file(u, buf_room(&u->whole, want), want, err);

		if (n < 0)
			return -1;
		buf_added(&u->whole, (size_t)n);
	}
	return 0;
}

static void wrap(struct upload *u, const char *boundary)
{
	static const char part[] = "Content-Disposition: form-data; name=";

	u->head = BUF_INIT(64 << 10);
	u->tail = BUF_INIT(1024);
	buf_addf(&u->head, "--%s\r\n%s\"path\"\r\n\r\n", boundary, part);
	buf_adds(&u->head, u->file->path);
	buf_addf(&u->head,
		 "\r\n--%s\r\n%s\"file\"; filename=\"upload\"\r\n"
		 "Content-Type: application/octet-stream\r\n\r\n",
		 boundary, part);
	buf_addf(&u->tail, "\r\n--%s--\r\n", boundary);
}

static int send_once(struct sandbox *sb, struct upload *u, int *code,
		     const struct stop *stop, struct error *err)
{
	char boundary[BOUNDARY + 1];
	char type[96];
	char *path = xasprintf("/v1/devboxes/%s/upload_file", sb->id);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.type = type,
				.what = "writing the file",
				.timeout_ms = LONGEST_MS,
				.idle_ms = IDLE_MS };
	struct buf body = BUF_INIT(SMALL + (128 << 10));
	int rc;

	ids_random(boundary, BOUNDARY);
	snprintf(type, sizeof(type), "multipart/form-data; boundary=%s",
		 boundary);
	wrap(u, boundary);
	if (u->file->size <= SMALL) {
		buf_addstr(&body, buf_str(&u->head));
		buf_addstr(&body, buf_str(&u->whole));
		buf_addstr(&body, buf_str(&u->tail));
		ask.body = buf_str(&body);
	} else {
		ask.source = body_source;
		ask.source_size = u->file->size + (int64_t)u->head.len +
				  (int64_t)u->tail.len;
		ask.arg = u;
	}
	rc = runloop_api(runloop_of(sb->host), &ask, NULL, code, stop, err);
	buf_release(&body);
	buf_release(&u->head);
	buf_release(&u->tail);
	free(path);
	return rc;
}

/* A form and JSON can say it. For another name there is the shell. */
static bool plain(const char *path)
{
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7F)
			return false;
	return str_is_utf8(str_of(path));
}

/* A large file can be sent once only: its source does not go back. */
static int upload_one(struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	struct upload u = { .file = f };
	int rc = 0;

	if (!plain(f->path))
		return transfer_upload(sb, f, 1, stop, err);
	if (f->size <= SMALL)
		rc = read_whole(&u, err);
	for (int i = 1; rc == 0; i++) {
		struct error why = { 0 };
		int code = 0;
		int next;

		if (send_once(sb, &u, &code, stop, &why) == 0)
			break;
		if (u.failed) {
			*err = why;
			rc = -1;
			break;
		}
		next = judge(sb, f, code, LOOK_UPLOAD, &why, stop, err);
		if (next > 0)
			break;
		if (next == 0 && (i == TRIES || f->size > SMALL)) {
			*err = why;
			next = -1;
		}
		rc = next < 0 ? -1 : stop_sleep(stop, i * PAUSE_MS, err);
	}
	if (rc < 0 && u.failed) {
		fail(f, FILE_OTHER, err->message);
		rc = 0;
	}
	buf_release(&u.whole);
	return rc;
}

struct download {
	struct transfer *file;
	int64_t got; /* bytes given to the file */
	int64_t at;  /* bytes of this answer that came */
	bool failed; /* the file's own sink */
};

/* After a cut all is sent again; what we have is left out. */
static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct download *d = arg;
	int64_t skip = d->got - d->at;

	d->at += (int64_t)chunk.len;
	if (skip > 0)
		chunk = str_skip(chunk, (size_t)skip);
	if (!chunk.len)
		return 0;
	d->got += (int64_t)chunk.len;
	if (d->file->write(d->file->arg, chunk, err) == 0)
		return 0;
	d->failed = true;
	return -1;
}

static int get_once(struct sandbox *sb, struct download *d, int *code,
		    const struct stop *stop, struct error *err)
{
	char header[64] = "x-request-id: ";
	const char *const headers[] = { "Accept: application/octet-stream",
					header, NULL };
	char *path = xasprintf("/v1/devboxes/%s/download_file", sb->id);
	struct buf body = BUF_INIT(64 << 10);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.what = "reading the file",
				.data = on_data,
				.arg = d,
				.headers = headers,
				.timeout_ms = LONGEST_MS,
				.idle_ms = IDLE_MS };
	int rc;

	ids_uuid7(header + strlen(header));
	d->at = 0;
	buf_addc(&body, '{');
	json_member(&body, "path", str_of(d->file->path));
	buf_addc(&body, '}');
	ask.body = buf_str(&body);
	rc = runloop_api(runloop_of(sb->host), &ask, NULL, code, stop, err);
	if (rc == 0 && d->at < d->got)
		rc = error_set(err, ERR_PROTOCOL,
			       "the file changed while it was read");
	buf_release(&body);
	free(path);
	return rc;
}

static int download_one(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct download d = { .file = f };
	int rc = 0;

	if (!plain(f->path))
		return transfer_download(sb, f, 1, stop, err);
	for (int i = 1; rc == 0; i++) {
		struct error why = { 0 };
		int64_t before = d.got;
		int code = 0;
		int next;

		if (get_once(sb, &d, &code, stop, &why) == 0)
			break;
		if (d.failed) {
			*err = why;
			rc = -1;
			break;
		}
		next = judge(sb, f, code, LOOK_DOWNLOAD, &why, stop, err);
		if (next > 0)
			break;
		if (d.got > before)
			i = 0;
		if (next == 0 && i == TRIES) {
			*err = why;
			next = -1;
		}
		rc = next < 0 ? -1 : stop_sleep(stop, i * PAUSE_MS, err);
	}
	if (rc < 0 && d.failed) {
		fail(f, FILE_OTHER, err->message);
		rc = 0;
	}
	return rc;
}

static int for_each(struct sandbox *sb, struct transfer *files, size_t n,
		    int (*move)(struct sandbox *sb, struct transfer *f,
				const struct stop *stop, struct error *err),
		    const struct stop *stop, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct error e = { 0 };

		if (files[i].error != FILE_OK ||
		    move(sb, &files[i], stop, &e) == 0)
			continue;
		fail(&files[i], FILE_OTHER, e.message);
		if (!fatal(&e))
			continue;
		*err = e;
		for (size_t k = i + 1; k < n; k++)
			if (files[k].error == FILE_OK)
				fail(&files[k], FILE_OTHER, e.message);
		return -1;
	}
	return 0;
}

int runloop_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	check_paths(files, n);
	if (look(sb, LOOK_UPLOAD, files, n, stop, err) < 0 ||
	    for_each(sb, files, n, upload_one, stop, err) < 0)
		return -1;
	return look(sb, LOOK_MODES, files, n, stop, err);
}

int runloop_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	check_paths(files, n);
	return for_each(sb, files, n, download_one, stop, err);
}
