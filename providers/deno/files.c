/* files.c - files in and out of a Deno sandbox, in constant memory. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/deno/deno.h"
#include "providers/kit/file_source.h"
#include "sandbox/transfer.h"

/*
 * "readFile" answers a whole file in one message, whatever its size; so files
 * are read as the output of a process.
 */
enum {
	SMALL = 128 << 10, /* in one message; can be sent again */
	PARAMS_MAX = 1 << 20,
	TRIES = 5,
	PAUSE_MS = 200,
	WRITE_MS = 60000, /* for the answer */
	IDLE_MS = 60000,  /* without a byte, then the rest is asked for */
	HEAD_MAX = 32,    /* "ok 123\n" */
};

/* Names of system errors, and of Deno's classes where there is no such. */
static enum file_error file_error_of(const char *code)
{
	static const struct {
		const char *name;
		enum file_error error;
	} names[] = {
		{ "ENOENT", FILE_NOT_FOUND },
		{ "NotFound", FILE_NOT_FOUND },
		{ "EACCES", FILE_PERMISSION_DENIED },
		{ "EPERM", FILE_PERMISSION_DENIED },
		{ "EROFS", FILE_PERMISSION_DENIED },
		{ "PermissionDenied", FILE_PERMISSION_DENIED },
		{ "NotCapable", FILE_PERMISSION_DENIED },
		{ "EISDIR", FILE_IS_DIRECTORY },
		{ "IsADirectory", FILE_IS_DIRECTORY },
		{ "ENOTDIR", FILE_INVALID_PATH },
		{ "NotADirectory", FILE_INVALID_PATH },
		{ "ENAMETOOLONG", FILE_INVALID_PATH },
		{ "EEXIST", FILE_INVALID_PATH }, /* a parent is a file */
		{ "AlreadyExists", FILE_INVALID_PATH },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i].name, code) == 0)
			return names[i].error;
	return FILE_OTHER;
}

/* The content is part of the message when the file is held; else it is a
 * stream, and the object lacks its "}". */
static void add_params(const struct file_source *s, struct buf *params)
{
	buf_addc(params, '{');
	json_member(params, "path", str_of(s->file->path));
	if (s->file->mode)
		buf_addf(params, ",\"options\":{\"mode\":%d}",
			 s->file->mode & 07777);
	if (!s->is_held)
		return;
	buf_adds(params, ",\"content\":\"");
	json_base64(params, buf_str(&s->held));
	buf_adds(params, "\"}");
}

static int write_once(struct sandbox *sb, struct file_source *s, char *code,
		      const struct stop *stop, struct error *err)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct deno_call c = { .method = "writeFile",
			       .source = s->is_held ? NULL : file_source_read,
			       .arg = s,
			       .idle_ms = WRITE_MS };
	int rc;

	add_params(s, &params);
	c.params = buf_str(&params);
	rc = buf_check(&params, "the file", err);
	if (rc == 0)
		rc = deno_call(sb, &c, "writing the file", stop, err);
	snprintf(code, DENO_CODE, "%s", c.code);
	buf_release(&params);
	return rc;
}

static int make_parent(struct sandbox *sb, const char *path, char *code,
		       const struct stop *stop, struct error *err)
{
	const char *end = strrchr(path, '/');
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct deno_call c = { .method = "mkdir", .idle_ms = IDLE_MS };
	int rc = 0;

	buf_addc(&params, '{');
	json_member(&params, "path",
		    (struct str){ path, (size_t)(end - path) });
	buf_adds(&params, ",\"options\":{\"recursive\":true}}");
	c.params = buf_str(&params);
	if (end > path)
		rc = deno_call(sb, &c, "making the directory", stop, err);
	snprintf(code, DENO_CODE, "%s", c.code);
	buf_release(&params);
	return rc;
}

/* The content is sent at once; the directory is made when it is missing. A
 * stream cannot be sent again: there it is made before. */
static int write_with_parent(struct sandbox *sb, struct file_source *s,
			     char *code, const struct stop *stop,
			     struct error *err)
{
	struct error why = { 0 };
	int rc = -1;

	if (s->is_held)
		rc = write_once(sb, s, code, stop, &why);
	if (rc < 0 && (!s->is_held || file_error_of(code) == FILE_NOT_FOUND)) {
		why = (struct error){ 0 };
		rc = make_parent(sb, s->file->path, code, stop, &why);
		if (rc == 0)
			rc = write_once(sb, s, code, stop, &why);
	}
	if (rc < 0)
		*err = why;
	return rc;
}

static bool is_passing(const struct error *why)
{
	return why->code == ERR_NETWORK || why->code == ERR_PROTOCOL;
}

static int upload_one(struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	struct file_source s;
	int rc = file_source_open(&s, f, SMALL, err);

	for (int i = 1; rc == 0; i++) {
		char code[DENO_CODE] = "";
		struct error why = { 0 };

		if (write_with_parent(sb, &s, code, stop, &why) == 0)
			break;
		if (why.code == ERR_REMOTE) {
			enum file_error e = file_error_of(code);

			transfer_fail(f, e, e == FILE_OTHER ? why.message : "");
			break;
		}
		if (s.failed || s.sent || i == TRIES || !is_passing(&why)) {
			*err = why;
			rc = -1;
		} else {
			rc = retry_sleep(&why, (int64_t)i * PAUSE_MS, stop,
					 err);
		}
	}
	if (rc < 0 && s.failed) {
		transfer_fail(f, FILE_OTHER, s.why.message);
		rc = 0;
	}
	file_source_release(&s);
	return rc;
}

/* Some file systems' names are no text, which JSON must be: the helper scripts
 * carry them. */
static bool is_text(const struct transfer *f)
{
	return str_is_utf8(str_of(f->path));
}

struct deno_download {
	struct transfer *file;
	char head[HEAD_MAX + 1]; /* "ok SIZE", without the line end */
	size_t head_len;
	bool headed;
	int64_t size; /* -1: not known */
	int64_t got;
	bool failed; /* the file's own sink, or it changed; why tells */
	struct error why;
};

static int fail_file(struct deno_download *d, const struct error *err)
{
	d->failed = true;
	d->why = *err;
	return -1;
}

static int parse_head(struct deno_download *d, struct error *err)
{
	struct str head = { d->head, d->head_len };
	int64_t size = -1;

	if (!str_starts(head, "ok ") ||
	    !str_to_int(str_skip(head, strlen("ok ")), &size) || size < 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no file");
	if (d->size >= 0 && d->size != size) {
		error_set(err, ERR_REMOTE, "the file changed in the meantime");
		return fail_file(d, err);
	}
	d->headed = true;
	d->size = size;
	return 0;
}

static int on_output(void *arg, struct str chunk, struct error *err)
{
	struct deno_download *d = arg;

	while (!d->headed && chunk.len) {
		char c = chunk.ptr[0];

		chunk = str_skip(chunk, 1);
		if (c != '\n' && d->head_len < HEAD_MAX)
			d->head[d->head_len++] = c;
		else if (parse_head(d, err) < 0)
			return -1;
	}
	if ((int64_t)chunk.len > d->size - d->got && d->headed) {
		error_set(err, ERR_REMOTE, "the file changed in the meantime");
		return fail_file(d, err);
	}
	d->got += (int64_t)chunk.len;
	if (!chunk.len || d->file->write(d->file->arg, chunk, err) == 0)
		return 0;
	return fail_file(d, err);
}

/* Reads the rest of the file, from d->got on. 0 with d->size -1: it cannot be
 * read so. */
static int read_once(struct sandbox *sb, struct deno_download *d,
		     const struct stop *stop, struct error *err)
{
	static const char script[] =
		"exec 3<\"$1\" && [ -f \"$1\" ] && "
		"printf 'ok %s\\n' \"$(($(wc -c <\"$1\")))\" && "
		"if [ \"$2\" = 1 ]; then exec cat <&3; "
		"else exec tail -c \"+$2\" <&3; fi";
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct buf out = BUF_INIT((size_t)DENO_FULL + DENO_MESSAGE_MAX);
	struct deno_call c = { .method = "spawn",
			       .out = &out,
			       .sink = on_output,
			       .arg = d,
			       .idle_ms = IDLE_MS };
	int rc;

	d->headed = false;
	d->head_len = 0;
	buf_adds(&params, "{\"command\":\"/bin/sh\",\"args\":[\"-c\",");
	json_quote(&params, str_of(script));
	buf_adds(&params, ",\"sh\",");
	json_quote(&params, str_of(d->file->path));
	buf_addf(&params, ",\"%" PRId64 "\"],", d->got + 1);
	buf_adds(&params, "\"stdout\":\"piped\",\"stderr\":\"null\"}");
	c.params = buf_str(&params);
	rc = buf_check(&params, "the file's name", err);
	if (rc == 0)
		rc = deno_call(sb, &c, "reading the file", stop, err);
	buf_release(&params);
	buf_release(&out);
	return rc;
}

/* 1: not read; the helper script can, or says why not. */
static int download_one(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct deno_download d = { .file = f, .size = -1 };

	for (int i = 1;; i++) {
		struct error why = { 0 };
		int64_t before = d.got;

		if (read_once(sb, &d, stop, &why) == 0) {
			if (d.size < 0)
				return 1;
			if (d.got == d.size)
				return 0;
			error_set(&why, ERR_NETWORK,
				  "the file became shorter while it was read");
		}
		if (d.failed) {
			transfer_fail(f, FILE_OTHER, d.why.message);
			return 0;
		}
		if (d.got > before)
			i = 0;
		if (i == TRIES || !is_passing(&why)) {
			*err = why;
			return -1;
		}
		if (retry_sleep(&why, (int64_t)i * PAUSE_MS, stop, err) < 0)
			return -1;
	}
}

static int put_file(const void *arg, struct sandbox *sb, struct transfer *f,
		    const struct stop *stop, struct error *err)
{
	(void)arg;
	return is_text(f) ? upload_one(sb, f, stop, err)
			  : transfer_upload(sb, f, 1, stop, err);
}

static int get_file(const void *arg, struct sandbox *sb, struct transfer *f,
		    const struct stop *stop, struct error *err)
{
	int rc = is_text(f) ? download_one(sb, f, stop, err) : 1;

	(void)arg;
	return rc > 0 ? transfer_download(sb, f, 1, stop, err) : rc;
}

int deno_upload(struct sandbox *sb, struct transfer *files, size_t n,
		const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { put_file, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

int deno_download(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { get_file, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}
