/* e2b_files.c - files in and out through envd, in constant memory. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/e2b.h"
#include "providers/each_file.h"

enum {
	SMALL = 1 << 20, /* is held in memory, so that it can be sent again */
	TRIES = 5,
	PAUSE_MS = 200,
	LONGEST_MS = 24 * 3600 * 1000,
	IDLE_MS = 60000,
	RAW_SINCE = 507, /* envd 0.5.7 takes a body that is the file */
	USER_OPTIONAL = 400,
};

static void fail(struct transfer *f, enum file_error code, const char *detail)
{
	f->error = code;
	snprintf(f->detail, sizeof(f->detail), "%s", detail);
}

static bool path_ok(struct transfer *f)
{
	size_t len = f->path ? strlen(f->path) : 0;

	f->error = FILE_OK;
	f->detail[0] = '\0';
	if (len > 1 && f->path[0] == '/' && f->path[len - 1] != '/')
		return true;
	fail(f, FILE_INVALID_PATH, "");
	return false;
}

static bool fatal(const struct error *e)
{
	return e->code == ERR_CANCELLED || e->code == ERR_GONE ||
	       e->code == ERR_TIMEOUT || e->code == ERR_NETWORK;
}

static char *path_of(struct sandbox *sb, const char *file)
{
	const char *user = e2b_of(sb->host)->user;
	int version = e2b_version(sb);
	struct buf path = BUF_INIT(64 << 10);

	if (!user && version && version < USER_OPTIONAL)
		user = "user";
	buf_adds(&path, "/files?path=");
	rest_encode(&path, str_of(file));
	if (user) {
		buf_adds(&path, "&username=");
		rest_encode(&path, str_of(user));
	}
	return buf_detach(&path);
}

/* What envd's answer says about this file alone. */
static void refuse(struct transfer *f, const struct http_response *res,
		   const struct error *why)
{
	struct str body = buf_str(&res->body);
	bool denied = str_search(body, STR("permission denied")) < body.len;

	if (res->status == 404)
		fail(f, FILE_NOT_FOUND, "");
	else if (res->status == 401 || res->status == 403 || denied)
		fail(f, FILE_PERMISSION_DENIED, "");
	else if (str_search(body, STR("is a directory")) < body.len)
		fail(f, FILE_IS_DIRECTORY, "");
	else if (res->status == 400)
		fail(f, FILE_INVALID_PATH, "");
	else
		fail(f, FILE_OTHER, why->message);
}

/* The proxy's words when there is no sandbox, or none that answers. */
static bool not_envd(const struct http_response *res)
{
	struct str body = buf_str(&res->body);

	return res->status == 401 || res->status == 502 || res->status == 503 ||
	       (res->status == 404 &&
		str_search(body, STR("andbox")) < body.len &&
		str_search(body, STR("path '")) == body.len);
}

/*
 * After a request that failed: 0 to try again, 1 when the file is refused
 * (f says why), -1 when nothing more can be done.
 */
static int judge(struct sandbox *sb, struct transfer *f,
		 const struct http_response *res, const struct error *why,
		 const struct stop *stop, struct error *err)
{
	struct str body = buf_str(&res->body);
	bool denied = str_search(body, STR("permission denied")) < body.len;
	bool late = res->status == 408 || res->status == 429 ||
		    (res->status >= 500 && res->status != 507 && !denied);

	if (why->code == ERR_NETWORK)
		return 0;
	if (not_envd(res))
		return e2b_revive(sb, stop, err);
	if (late)
		return 0;
	if (res->status >= 400) {
		refuse(f, res, why);
		return 1;
	}
	*err = *why;
	return -1;
}

struct upload {
	struct transfer *file;
	struct buf whole; /* a small file */
	int64_t sent;
	bool failed;     /* the file's own source */
	struct buf head; /* of a multipart body */
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

/* The form's part around the file, for an envd that is older than raw bodies.
 * Its name is only shown: the path is in the query. */
static void wrap(struct upload *u, struct rest_ask *ask, char *type,
		 size_t room)
{
	char boundary[33];

	ids_random(boundary, 32);
	snprintf(type, room, "multipart/form-data; boundary=%s", boundary);
	u->head = BUF_INIT(1024);
	u->tail = BUF_INIT(1024);
	buf_addf(&u->head,
		 "--%s\r\nContent-Disposition: form-data; name=\"file\"; "
		 "filename=\"file\"\r\n"
		 "Content-Type: application/octet-stream\r\n\r\n",
		 boundary);
	buf_addf(&u->tail, "\r\n--%s--\r\n", boundary);
	ask->type = type;
}

static int send_once(struct sandbox *sb, struct upload *u, const char *path,
		     struct http_response *res, const struct stop *stop,
		     struct error *err)
{
	static const char *const raw[] = {
		"Content-Type: application/octet-stream", NULL
	};
	struct rest envd = { 0 };
	char type[96];
	int version = e2b_version(sb);
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.type = "application/octet-stream",
				.what = "writing the file",
				.timeout_ms = LONGEST_MS,
				.idle_ms = IDLE_MS };
	struct buf body = BUF_INIT(SMALL + 4096);
	int rc;

	if (version && version < RAW_SINCE)
		wrap(u, &ask, type, sizeof(type));
	if (u->file->size <= SMALL) {
		buf_addstr(&body, buf_str(&u->head));
		buf_addstr(&body, buf_str(&u->whole));
		buf_addstr(&body, buf_str(&u->tail));
		ask.body = buf_str(&body);
		ask.headers = body.len ? NULL : raw;
	} else {
		ask.source = body_source;
		ask.source_size = u->file->size + (int64_t)u->head.len +
				  (int64_t)u->tail.len;
		ask.arg = u;
	}
	rc = e2b_envd(sb, &envd, err);
	if (rc == 0)
		rc = rest_call(&envd, &ask, res, stop, err);
	rest_release(&envd);
	buf_release(&body);
	buf_release(&u->head);
	buf_release(&u->tail);
	return rc;
}

/* A large file can be sent once only: its source does not go back. */
static int upload_one(struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	struct upload u = { .file = f };
	char *path = path_of(sb, f->path);
	int rc = f->size <= SMALL ? read_whole(&u, err) : 0;

	for (int i = 1; rc == 0; i++) {
		struct http_response res = { 0 };
		struct error why = { 0 };
		int next;

		if (send_once(sb, &u, path, &res, stop, &why) == 0) {
			http_response_release(&res);
			break;
		}
		next = u.failed ? -1 : judge(sb, f, &res, &why, stop, err);
		http_response_release(&res);
		if (next > 0)
			break;
		if (next < 0 && !err->code)
			*err = why;
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
	free(path);
	return rc;
}

static void fail_rest(struct transfer *files, size_t from, size_t n,
		      const struct error *err)
{
	for (size_t i = from; i < n; i++)
		fail(&files[i], FILE_OTHER, err->message);
}

int e2b_upload(struct sandbox *sb, struct transfer *files, size_t n,
	       const struct stop *stop, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct error e = { 0 };

		if (!path_ok(&files[i]))
			continue;
		e2b_keep(sb, stop);
		if (upload_one(sb, &files[i], stop, &e) == 0)
			continue;
		fail(&files[i], FILE_OTHER, e.message);
		if (!fatal(&e))
			continue;
		*err = e;
		fail_rest(files, i + 1, n, &e);
		return -1;
	}
	return each_file_mode(sb, files, n, stop, err);
}

struct download {
	struct transfer *file;
	int64_t got;   /* bytes given to the file */
	int64_t start; /* of this answer's body */
	int64_t at;    /* bytes of it that came */
	bool failed;   /* the file's own sink */
};

/* "Content-Range: bytes 100-199/200" */
static void on_header(void *arg, struct str line)
{
	struct download *d = arg;
	size_t colon = str_find(line, ':');
	struct str name = { line.ptr, colon };
	struct str value = str_trim(str_skip(line, colon + 1));
	int64_t start;

	if (!str_is_nocase(name, "content-range") ||
	    !str_starts(value, "bytes "))
		return;
	value = str_skip(value, 6);
	value.len = str_find(value, '-');
	if (str_to_int(value, &start) && start >= 0 && start <= d->got)
		d->start = start;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct download *d = arg;
	int64_t skip = d->got - (d->start + d->at);

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

/* After a cut, the rest; an envd that knows no ranges sends all again. */
static int get_once(struct sandbox *sb, struct download *d, const char *path,
		    struct http_response *res, const struct stop *stop,
		    struct error *err)
{
	char *range =
		d->got ? xasprintf("Range: bytes=%" PRId64 "-", d->got) : NULL;
	const char *const headers[] = { range, NULL };
	struct rest envd = { 0 };
	struct rest_ask ask = { .method = "GET",
				.path = path,
				.what = "reading the file",
				.data = on_data,
				.header = on_header,
				.arg = d,
				.headers = headers,
				.timeout_ms = LONGEST_MS,
				.idle_ms = IDLE_MS };
	int rc = e2b_envd(sb, &envd, err);

	d->start = 0;
	d->at = 0;
	if (rc == 0)
		rc = rest_call(&envd, &ask, res, stop, err);
	rest_release(&envd);
	free(range);
	return rc;
}

static int download_one(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct download d = { .file = f };
	char *path = path_of(sb, f->path);
	int rc = 0;

	for (int i = 1; rc == 0; i++) {
		struct http_response res = { 0 };
		struct error why = { 0 };
		int64_t before = d.got;
		int next;

		if (get_once(sb, &d, path, &res, stop, &why) == 0) {
			http_response_release(&res);
			break;
		}
		/* The rest of a file that was cut at its very end. */
		if (res.status == 416 && d.got)
			next = 1;
		else
			next = d.failed ? -1
					: judge(sb, f, &res, &why, stop, err);
		http_response_release(&res);
		if (next > 0)
			break;
		if (d.got > before)
			i = 0;
		if (next < 0 ? !err->code : i == TRIES) {
			*err = why;
			next = -1;
		}
		rc = next < 0 ? -1 : stop_sleep(stop, i * PAUSE_MS, err);
	}
	if (rc < 0 && d.failed) {
		fail(f, FILE_OTHER, err->message);
		rc = 0;
	}
	free(path);
	return rc;
}

int e2b_download(struct sandbox *sb, struct transfer *files, size_t n,
		 const struct stop *stop, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		struct error e = { 0 };

		if (!path_ok(&files[i]))
			continue;
		e2b_keep(sb, stop);
		if (download_one(sb, &files[i], stop, &e) == 0)
			continue;
		fail(&files[i], FILE_OTHER, e.message);
		if (!fatal(&e))
			continue;
		*err = e;
		fail_rest(files, i + 1, n, &e);
		return -1;
	}
	return 0;
}
