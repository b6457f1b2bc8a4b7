/* http_files.c - large files by requests, small ones by commands. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/str.h"
#include "providers/external/http_provider.h"
#include "providers/kit/file_source.h"
#include "sandbox/quote.h"
#include "sandbox/transfer.h"

enum {
	SMALL = 48 << 10, /* bytes that go faster within a command */
	LONGEST_MS = 3600000,
};

static int upload_large(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct http_call c = http_service_call(sb->client, sb, OP_WRITE);
	struct file_source source = { .file = f };
	struct http_response res = { 0 };
	char *staged = transfer_stage(f);
	int rc;

	c.values.is[VALUE_PATH] = str_of(staged);
	c.ask.timeout_ms = LONGEST_MS;
	c.ask.source = file_source_read;
	c.ask.source_size = f->size;
	c.ask.arg = &source;
	rc = http_call_send(&c, &res, NULL, stop, err);
	http_response_release(&res);
	if (rc == 0)
		rc = transfer_place(sb, f, staged, stop, err);
	else if (source.failed || res.status) {
		transfer_fail(f, FILE_OTHER, err->message);
		rc = 0;
	}
	transfer_unstage(sb, staged);
	free(staged);
	return rc;
}

static int upload_one(const void *arg, struct sandbox *sb, struct transfer *f,
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
	const struct transfer_mover m = { upload_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	(void)reply;
	(void)err;
	if (stream == EXEC_STDOUT)
		buf_addstr(arg, chunk);
	return 0;
}

/* The size of a file that can be read; -1: a download by commands will say what
 * is wrong with it. */
static int64_t get_size(struct sandbox *sb, const char *path,
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
	req.output = on_output;
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
	struct transfer_sink d = { .file = f };
	struct http_call c = http_service_call(sb->client, sb, OP_READ);
	struct http_response res = { 0 };
	int rc;

	c.values.is[VALUE_PATH] = str_of(f->path);
	c.ask.timeout_ms = LONGEST_MS;
	c.ask.data = transfer_sink_write;
	c.ask.arg = &d;
	rc = http_call_send(&c, &res, NULL, stop, err);
	http_response_release(&res);
	if (rc == 0 && d.got < size) {
		error_set(err, ERR_PROTOCOL,
			  "only %lld of %lld bytes of the file arrived",
			  (long long)d.got, (long long)size);
		transfer_fail(f, FILE_OTHER, err->message);
	}
	if (rc == 0)
		return 0;
	if (!d.got && res.status >= 400 && err->code != ERR_CANCELLED) {
		*err = (struct error){ 0 };
		return transfer_download(sb, f, 1, stop, err);
	}
	transfer_fail(f, FILE_OTHER, err->message);
	return d.failed || res.status ? 0 : -1;
}

static int download_one(const void *arg, struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	int64_t size = get_size(sb, f->path, stop);

	(void)arg;
	return size > SMALL ? download_large(sb, f, size, stop, err)
			    : transfer_download(sb, f, 1, stop, err);
}

int http_provider_download(struct sandbox *sb, struct transfer *files, size_t n,
			   const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { download_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}
