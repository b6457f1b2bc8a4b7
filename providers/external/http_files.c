/* http_files.c - large files over templated requests, the rest by shell. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/external/http_provider.h"
#include "sandbox/quote.h"
#include "sandbox/transfer.h"

enum {
	SMALL = 48 << 10, /* bytes that go faster within a command */
	LONGEST_MS = 3600000,
};

struct upload {
	struct transfer *file;
	int64_t sent;
	bool failed; /* the source did */
};

static int64_t pull(void *arg, char *room, size_t len, struct error *err)
{
	struct upload *u = arg;
	int64_t left = u->file->size - u->sent;
	int64_t n;

	if (left <= 0)
		return 0;
	if ((int64_t)len > left)
		len = (size_t)left;
	n = transfer_read(u->file, room, len, err);
	if (n < 0) {
		u->failed = true;
		return -1;
	}
	u->sent += n;
	return n;
}

static int upload_large(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct http_provider_config *t = http_provider_of(sb->host);
	struct upload u = { .file = f };
	struct http_provider_call c = {
		.deed = DEED_WRITE,
		.values = http_provider_values(sb->host, sb),
		.timeout_ms = LONGEST_MS,
		.source = pull,
		.source_size = f->size,
		.arg = &u,
	};
	struct http_response res = { 0 };
	char *staged = transfer_stage(f);
	int rc;

	c.values.is[VALUE_PATH] = str_of(staged);
	rc = http_provider_send(t, &c, &res, stop, err);
	http_response_release(&res);
	if (rc == 0)
		rc = transfer_place(sb, f, staged, stop, err);
	else if (u.failed || c.status) {
		transfer_fail(f, FILE_OTHER, err->message);
		rc = 0;
	}
	transfer_unstage(sb, staged);
	free(staged);
	return rc;
}

static int put_file(const void *arg, struct sandbox *sb, struct transfer *f,
		    const struct stop *stop, struct error *err)
{
	(void)arg;
	return f->size > SMALL || f->api_only
		       ? upload_large(sb, f, stop, err)
		       : transfer_upload(sb, f, 1, stop, err);
}

int http_provider_upload(struct sandbox *sb, struct transfer *files, size_t n,
			 const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { put_file, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

struct download {
	struct transfer *file;
	int64_t got;
	bool failed; /* the sink did */
};

static int push(void *arg, struct str chunk, struct error *err)
{
	struct download *d = arg;

	if (!chunk.len)
		return 0;
	d->got += (int64_t)chunk.len;
	if (d->file->write(d->file->arg, chunk, err) == 0)
		return 0;
	d->failed = true;
	return -1;
}

static int collect(void *arg, enum exec_stream stream, struct str chunk,
		   struct buf *reply, struct error *err)
{
	(void)reply;
	(void)err;
	if (stream == EXEC_STDOUT)
		buf_addstr(arg, chunk);
	return 0;
}

/* How large is it, and a file at all? -1: the shell shall say what is wrong. */
static int64_t size_of(struct sandbox *sb, const char *path,
		       const struct stop *stop)
{
	struct exec_request req = { .cwd = "/", .plain = true };
	struct exec_result res;
	struct buf command = BUF_INIT(64 << 10);
	struct buf out = BUF_INIT(64);
	struct error ignored = { 0 };
	int64_t size = -1;

	buf_adds(&command, "f=");
	quote_word(&command, str_of(path));
	buf_adds(&command, "; [ -f \"$f\" ] && [ -r \"$f\" ] && wc -c <\"$f\"");
	req.command = buf_str(&command);
	req.output = collect;
	req.arg = &out;
	if (!command.over &&
	    http_provider_execute(sb, &req, &res, stop, &ignored) == 0 &&
	    res.exit_code == 0 && !str_to_int(str_trim(buf_str(&out)), &size))
		size = -1;
	buf_release(&command);
	buf_release(&out);
	return size;
}

static int download_large(struct sandbox *sb, struct transfer *f, int64_t size,
			  const struct stop *stop, struct error *err)
{
	struct http_provider_config *t = http_provider_of(sb->host);
	struct download d = { .file = f };
	struct http_provider_call c = {
		.deed = DEED_READ,
		.values = http_provider_values(sb->host, sb),
		.timeout_ms = LONGEST_MS,
		.data = push,
		.arg = &d,
	};
	struct http_response res = { 0 };
	int rc;

	c.values.is[VALUE_PATH] = str_of(f->path);
	rc = http_provider_send(t, &c, &res, stop, err);
	http_response_release(&res);
	if (rc == 0 && d.got < size) {
		error_set(err, ERR_PROTOCOL,
			  "only %lld of %lld bytes of the file came",
			  (long long)d.got, (long long)size);
		transfer_fail(f, FILE_OTHER, err->message);
	}
	if (rc == 0)
		return 0;
	if (!d.got && c.status >= 400 && err->code != ERR_CANCELLED) {
		*err = (struct error){ 0 };
		return transfer_download(sb, f, 1, stop, err);
	}
	transfer_fail(f, FILE_OTHER, err->message);
	return d.failed || c.status ? 0 : -1;
}

static int get_file(const void *arg, struct sandbox *sb, struct transfer *f,
		    const struct stop *stop, struct error *err)
{
	int64_t size = size_of(sb, f->path, stop);

	(void)arg;
	return size > SMALL ? download_large(sb, f, size, stop, err)
			    : transfer_download(sb, f, 1, stop, err);
}

int http_provider_download(struct sandbox *sb, struct transfer *files, size_t n,
			   const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { get_file, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}
