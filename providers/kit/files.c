/* files.c - uploads and downloads through a vendor's file API. */
/* SPDX-License-Identifier: MIT */
/* Three parts: the source of an upload, which holds a small file in memory
 * (file_source); what a vendor's API cannot check or do, so that the shell must
 * (stat_files); and the transfer through a vendor's struct http_files, with its
 * retries (send_part, download_one). classify_failure() decides what is
 * retried. */
#include "providers/kit/files.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/kit/vendor.h"
#include "sandbox/quote.h"
#include "sandbox/transfer.h"

enum {
	TRIES = 5,
	PAUSE_MS = 200,
	LONGEST_MS = 24 * 3600 * 1000,
	IDLE_MS = 60000,
	HEAD_MAX = 64 << 10,
	/* Constants for stat_files(): */
	COMMAND_MAX = 48 << 10,
	WORD_MAX = 12 << 10,
	STAT_MS = 60000,
};

static int store_failure(struct file_source *s, const struct error *err)
{
	s->failed = true;
	s->why = *err;
	return -1;
}

int file_source_open(struct file_source *s, struct transfer *f,
		     int64_t held_max, struct error *err)
{
	*s = (struct file_source){ .file = f, .is_held = f->size <= held_max };
	if (!s->is_held)
		return 0;
	s->held.max = (size_t)f->size;
	if (transfer_read_all(f, &s->held, (size_t)f->size, err) < 0)
		return store_failure(s, err);
	return 0;
}

int64_t file_source_read(void *arg, char *room, size_t len, struct error *err)
{
	struct file_source *s = arg;
	int64_t n = s->file->size - s->sent;

	if (n > (int64_t)len)
		n = (int64_t)len;
	if (n <= 0)
		return 0;
	if (s->is_held)
		memcpy(room, s->held.ptr + s->sent, (size_t)n);
	else
		n = transfer_read(s->file, room, (size_t)n, err);
	if (n < 0)
		return store_failure(s, err);
	s->sent += n;
	return n;
}

void file_source_release(struct file_source *s)
{
	buf_release(&s->held);
}

/* Each script prints one letter per file: k for a good file, d if it is a
 * directory, p if permission is denied, i if a parent is not a directory. */
static const char upload_sh[] =
	"c(){ d=${1%/*} d=${d:-/}\n"
	"[ -d \"$d\" ]||mkdir -p -- \"$d\" 2>/dev/null\n"
	"if [ -d \"$1\" ];then printf d;return;fi\n"
	"if [ -e \"$1\" ];then t=$1;else t=$d;fi\n"
	"if [ -e \"$t\" ]&&[ -d \"$d\" ];then\n"
	"[ -w \"$t\" ]&&printf k||printf p;return;fi\n"
	"while [ -n \"$t\" ]&&[ ! -e \"$t\" ];do t=${t%/*};done\n"
	"[ -d \"${t:-/}\" ]&&printf p||printf i;}\n";

static const char modes_sh[] =
	"c(){ chmod $2 \"$1\" 2>/dev/null&&printf k||printf p;}\n";

struct answers {
	char letters[512];
	size_t n;
};

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct answers *a = arg;

	(void)reply;
	(void)err;
	for (size_t i = 0; stream == EXEC_STDOUT && i < chunk.len; i++)
		if (a->n < sizeof(a->letters))
			a->letters[a->n++] = chunk.ptr[i];
	return 0;
}

static bool is_concerned(const struct transfer *f, enum stat_purpose what)
{
	return f->error == FILE_OK && (what != STAT_SET_MODES || f->mode);
}

static int set_error(struct transfer *f, char letter, struct error *err)
{
	switch (letter) {
	case 'k':
		return 0;
	case 'd':
		f->error = FILE_IS_DIRECTORY;
		return 0;
	case 'p':
		f->error = FILE_PERMISSION_DENIED;
		return 0;
	case 'i':
		f->error = FILE_INVALID_PATH;
		return 0;
	default:
		return error_set(
			err, ERR_PROTOCOL,
			"unexpected server response: nothing about %.100s",
			f->path);
	}
}

/* Checks as many of the files as fit into one command. Returns how many, or
 * -1. */
static ssize_t stat_batch(struct sandbox *sb, enum stat_purpose what,
			  struct transfer *files, size_t n,
			  const struct stop *stop, struct error *err)
{
	static const char *const scripts[] = { upload_sh, modes_sh };
	struct buf command = BUF_INIT(COMMAND_MAX);
	struct answers a = { .n = 0 };
	struct exec_result res;
	struct exec_request req = { .cwd = "/",
				    .plain = true,
				    .timeout_ms = STAT_MS,
				    .output = on_output,
				    .arg = &a };
	size_t done = 0;
	size_t asked = 0;
	int rc = 0;

	buf_adds(&command, scripts[what]);
	for (; done < n && command.len < COMMAND_MAX - WORD_MAX &&
	       asked < sizeof(a.letters);
	     done++) {
		struct transfer *f = &files[done];

		if (!is_concerned(f, what))
			continue;
		if (strlen(f->path) > WORD_MAX / 4) {
			f->error = FILE_INVALID_PATH;
			continue;
		}
		buf_adds(&command, "c ");
		quote_word(&command, str_of(f->path));
		buf_addf(&command, " %o\n", f->mode & 07777);
		asked++;
	}
	req.command = buf_str(&command);
	if (asked)
		rc = sb->client->provider->ops->execute(sb, &req, &res, stop,
							err);
	for (size_t k = 0, at = 0; rc == 0 && k < done; k++)
		if (is_concerned(&files[k], what))
			rc = set_error(&files[k],
				       at < a.n ? a.letters[at] : '?', err),
			at++;
	buf_release(&command);
	return rc < 0 ? -1 : (ssize_t)done;
}

int stat_files(struct sandbox *sb, enum stat_purpose what,
	       struct transfer *files, size_t n, const struct stop *stop,
	       struct error *err)
{
	while (n > 0) {
		ssize_t done = stat_batch(sb, what, files, n, stop, err);

		if (done < 0)
			return -1;
		files += done;
		n -= (size_t)done;
	}
	return 0;
}

/* True for a path that can be written in JSON, in a form and in a query. */
static bool is_plain(const char *path)
{
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7F)
			return false;
	return str_is_utf8(str_of(path));
}

static enum file_retry classify_answer(const struct http_files *v,
				       const struct http_response *res)
{
	struct str body = buf_str(&res->body);
	bool denied = str_search(body, STR("permission denied")) < body.len;
	enum file_retry said =
		v->classify ? v->classify(res) : FILE_RETRY_NEVER;

	if (said != FILE_RETRY_NEVER)
		return said;
	/* Do not retry 507: the disk is full. */
	if (res->status == 408 || res->status == 429 ||
	    (res->status >= 500 && res->status != 507 && !denied))
		return FILE_RETRY;
	return FILE_RETRY_NEVER;
}

/* Decides what to do after a request failed with the error why. 0: retry. 1:
 * only this file fails. -1 (err filled): all files fail. */
static int classify_error(struct sandbox *sb, const struct http_files *v,
			  const struct http_response *res,
			  const struct error *why, const struct stop *stop,
			  struct error *err)
{
	enum file_retry said = FILE_RETRY_FATAL;

	if (why->code == ERR_NETWORK)
		return 0;
	if (res->status >= 400)
		said = classify_answer(v, res);
	if (said == FILE_RETRY_FATAL)
		*err = *why;
	if (said == FILE_RETRY || said == FILE_RETRY_NEVER)
		return said == FILE_RETRY_NEVER;
	if (said == FILE_RETRY_FATAL ||
	    vendor_ensure_running(sb, stop, err) < 0)
		return -1;
	return said == FILE_RETRY_UNSURE;
}

struct file_job { /* what the transfer of one file needs */
	struct sandbox *sb;
	const struct http_files *v;
	struct transfer *file;
	const struct stop *stop;
};

/* Like classify_error(), but limits the number of tries and pauses before a
 * retry. err is filled when this returns -1. */
static int classify_failure(const struct file_job *j,
			    const struct http_response *res, int tries,
			    const struct error *why, struct error *err)
{
	int rc = classify_error(j->sb, j->v, res, why, j->stop, err);

	if (rc == 0 && tries >= TRIES) {
		*err = *why;
		return -1;
	}
	return rc ? rc
		  : retry_sleep(why, (int64_t)tries * PAUSE_MS, j->stop, err);
}

static void release_request(struct file_request *req)
{
	buf_release(&req->path);
	buf_release(&req->body);
}

static struct file_request new_request(void)
{
	return (struct file_request){ .path = BUF_INIT(HEAD_MAX),
				      .body = BUF_INIT(HEAD_MAX) };
}

struct file_upload {
	struct http_files_put put;
	int64_t sent;
	struct buf head; /* the form's bytes in front of the file */
	struct buf tail;
};

static int64_t read_file(struct file_upload *u, char *room, size_t len,
			 struct error *err)
{
	int64_t left = u->put.file->size - u->sent;
	int64_t n;

	if ((int64_t)len > left)
		len = (size_t)left;
	n = transfer_read(u->put.file, room, len, err);
	if (n < 0) {
		u->put.own = true;
		return -1;
	}
	u->sent += n;
	return n;
}

/* Supplies the request's body: the form's beginning, the file, the form's
 * end. */
static int64_t body_source(void *arg, char *room, size_t len, struct error *err)
{
	struct file_upload *u = arg;

	if (u->head.len)
		return buf_take(&u->head, room, len);
	if (u->sent < u->put.file->size)
		return read_file(u, room, len, err);
	return buf_take(&u->tail, room, len);
}

/* Builds the form around the file. The field with the path comes first, since
 * servers read the form as a stream. */
static void wrap_in_form(struct file_upload *u, const struct file_request *req,
			 char *type, size_t room)
{
	static const char part[] = "Content-Disposition: form-data; name=";
	char boundary[33];

	ids_random(boundary, 32);
	snprintf(type, room, "multipart/form-data; boundary=%s", boundary);
	if (req->path_field)
		buf_addf(&u->head, "--%s\r\n%s\"%s\"\r\n\r\n%s\r\n", boundary,
			 part, req->path_field, u->put.path);
	buf_addf(&u->head,
		 "--%s\r\n%s\"%s\"; filename=\"%s\"\r\n"
		 "Content-Type: application/octet-stream\r\n\r\n",
		 boundary, part, req->file_field, req->file_name);
	buf_addf(&u->tail, "\r\n--%s--\r\n", boundary);
}

/* Sends the whole file in one request. */
static int send_file(const struct file_job *j, struct file_upload *u,
		     struct http_response *res, struct error *err)
{
	struct file_request req = new_request();
	char type[96] = "application/octet-stream";
	struct http_request ask = { .method = "POST",
				    .type = type,
				    .what = "writing the file",
				    .source = body_source,
				    .arg = u,
				    .timeout_ms = LONGEST_MS,
				    .idle_ms = IDLE_MS };
	int rc;

	if (j->v->send)
		return j->v->send(j->sb, &u->put, res, j->stop, err);
	u->sent = 0;
	u->head = BUF_INIT(HEAD_MAX);
	u->tail = BUF_INIT(HEAD_MAX);
	j->v->put(j->sb, u->put.path, &req);
	if (req.file_field)
		wrap_in_form(u, &req, type, sizeof(type));
	ask.path = req.path.ptr;
	ask.source_size =
		u->put.file->size + (int64_t)u->head.len + (int64_t)u->tail.len;
	rc = j->v->call(j->sb, &ask, res, j->stop, err);
	release_request(&req);
	buf_release(&u->head);
	buf_release(&u->tail);
	return rc;
}

/* Uploads the file once to a temporary path. 0: the file is done; it may have
 * an error. 1: retry, why is set. -1: all files fail. */
static int send_part(const struct file_job *j, int tries, struct error *why,
		     struct error *err)
{
	struct transfer *f = j->file;
	struct file_upload u = { .put.file = f };
	struct transfer_part part = { .path = BUF_INIT(0) };
	struct http_response res = { 0 };
	int rc = transfer_begin(j->sb, f, &part, j->stop, err);

	if (rc < 0 || f->error != FILE_OK)
		goto out;
	u.put.path = part.path.ptr;
	if (!is_plain(u.put.path)) {
		rc = transfer_upload(j->sb, f, 1, j->stop, err);
		goto out;
	}
	rc = send_file(j, &u, &res, why);
	if (rc == 0) {
		rc = transfer_finish(j->sb, f, &part, j->stop, err);
		if (rc > 0)
			error_set(why, ERR_NETWORK, "not all of it arrived");
	} else if (u.put.own) {
		transfer_fail(f, FILE_OTHER, why->message);
		rc = 0;
	} else {
		rc = classify_failure(j, &res, tries, why, err);
		if (rc > 0)
			transfer_fail(f, FILE_OTHER, why->message);
		rc = rc < 0 ? -1 : !rc;
	}
	if (rc || f->error != FILE_OK)
		transfer_drop(j->sb, f, &part);
out:
	http_response_release(&res);
	buf_release(&part.path);
	return rc;
}

/* Uploads one file with retries, if its source can be rewound. Small files are
 * sent by a command. */
static int upload_one(const void *arg, struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	const struct http_files *v = arg;
	struct file_job j = { sb, v, f, stop };

	if (v->touch)
		vendor_touch(sb, stop);
	if (!f->api_only && transfer_fits(sb, f->size))
		return transfer_upload(sb, f, 1, stop, err);
	for (int i = 1;; i++) {
		struct error why = { 0 };
		int rc = send_part(&j, i, &why, err);

		if (rc <= 0)
			return rc;
		if (i >= TRIES || !f->rewind) {
			*err = why;
			return -1;
		}
		if (f->rewind(f->arg, &why) < 0) {
			transfer_fail(f, FILE_OTHER, why.message);
			return 0;
		}
	}
}

int vendor_upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;
	struct transfer_mover m = { upload_one, v->files };

	return transfer_each(sb, files, n, &m, stop, err);
}

/* Reads a header like "Content-Range: bytes 100-199/200". */
static void on_header(void *arg, struct str line)
{
	struct transfer_sink *d = arg;
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
		d->skip = d->got - start;
}

/* Downloads the file, or its rest after an interruption. A server that does not
 * support ranges sends the whole file again. */
static int get_once(const struct file_job *j, struct transfer_sink *d,
		    struct http_response *res, struct error *err)
{
	struct file_request req = new_request();
	char *range =
		d->got ? xasprintf("Range: bytes=%" PRId64 "-", d->got) : NULL;
	const char *const headers[] = { range, NULL };
	struct http_request ask = { .method = "GET",
				    .what = "reading the file",
				    .data = transfer_sink_write,
				    .header = on_header,
				    .arg = d,
				    .timeout_ms = LONGEST_MS,
				    .idle_ms = IDLE_MS };
	int rc;

	d->skip = d->got;
	j->v->get(j->sb, d->file->path, &req);
	ask.path = req.path.ptr;
	if (req.body.len) {
		ask.method = "POST";
		ask.body = buf_str(&req.body);
	} else {
		ask.headers = headers;
	}
	rc = j->v->call(j->sb, &ask, res, j->stop, err);
	if (rc == 0 && d->skip > 0)
		rc = error_set(err, ERR_REMOTE,
			       "the file changed while it was read");
	release_request(&req);
	free(range);
	return rc;
}

/* Call after the API refused the file. If no byte has arrived yet, the
 * sandbox's shell downloads it, or reports an exact error. Otherwise the file
 * fails with why. */
static int download_by_shell(struct sandbox *sb, const struct transfer_sink *d,
			     const struct error *why, const struct stop *stop,
			     struct error *err)
{
	if (!d->got)
		return transfer_download(sb, d->file, 1, stop, err);
	transfer_fail(d->file, FILE_OTHER, why->message);
	return 0;
}

/* Downloads one file with retries, which continue at the bytes already
 * received. */
static int download_one(const void *arg, struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	const struct http_files *v = arg;
	struct file_job j = { sb, v, f, stop };
	struct transfer_sink d = { .file = f };
	int rc = 1;

	if (v->touch)
		vendor_touch(sb, stop);
	if (!is_plain(f->path))
		return transfer_download(sb, f, 1, stop, err);
	for (int i = 1; rc > 0; i++) {
		struct http_response res = { 0 };
		struct error why = { 0 };
		int64_t before = d.got;

		rc = get_once(&j, &d, &res, &why);
		if (d.got > before)
			i = 1;
		if (rc < 0 && d.failed) {
			transfer_fail(f, FILE_OTHER, why.message);
			rc = 0;
		} else if (rc < 0 && res.status == 416 && d.got) {
			/* nothing is missing: it broke after the last byte */
			rc = 0;
		} else if (rc < 0) {
			rc = classify_failure(&j, &res, i, &why, err);
			if (rc > 0)
				rc = download_by_shell(sb, &d, &why, stop, err);
			else if (rc == 0)
				rc = 1;
		}
		http_response_release(&res);
	}
	return rc;
}

int vendor_download(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err)
{
	const struct vendor *v = vendor_of(sb->client)->vendor;
	struct transfer_mover m = { download_one, v->files };

	return transfer_each(sb, files, n, &m, stop, err);
}
