/* files.c - files in as tar streams, and out of a session. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/str.h"
#include "providers/kit/http_files.h"
#include "providers/vercel/vercel.h"

enum {
	LONGEST_MS = 24 * 3600 * 1000,
	IDLE_MS = 60000,
};

/* As an archive of one entry, which is unpacked at "/". */
static int send_file(struct sandbox *sb, struct http_files_put *put,
		     struct http_response *res, const struct stop *stop,
		     struct error *err)
{
	static const char *const headers[] = { "x-cwd: /", NULL };
	const struct transfer *f = put->file;
	const struct archive_file file = { .path = put->path +
						   strspn(put->path, "/"),
					   .size = f->size,
					   .mode = f->mode ? f->mode : 0644,
					   .read = f->read,
					   .arg = f->arg };
	struct archive_files *tar = archive_files_open(&file, 1, err);
	char *path = vercel_path(sb->host->priv, "/fs/write", "");
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.type = "application/gzip",
				.what = "writing files",
				.headers = headers,
				.source = archive_files_pull,
				.source_size = -1,
				.arg = tar,
				.timeout_ms = LONGEST_MS,
				.idle_ms = IDLE_MS };
	int rc = tar ? vendor_send(sb, &ask, res, stop, err) : -1;

	put->own = !tar || (rc < 0 && archive_files_failed(tar));
	archive_files_close(tar);
	free(path);
	return rc;
}

static void get(struct sandbox *sb, const char *file, struct file_request *req)
{
	char *path = vercel_path(sb->host->priv, "/fs/read", "");

	buf_adds(&req->path, path);
	free(path);
	buf_addc(&req->body, '{');
	json_member(&req->body, "path", str_of(file));
	buf_addc(&req->body, '}');
}

static enum file_retry classify_failure(const struct http_response *res)
{
	switch (res->status) {
	case 401:
		return FILE_RETRY_FATAL;
	case 404:
		return FILE_RETRY_UNSURE;
	case 410:
	case 422:
		return FILE_RETRY_STARTED;
	default:
		return FILE_RETRY_NEVER;
	}
}

const struct http_files vercel_files = {
	.call = vendor_send,
	.get = get,
	.send = send_file,
	.classify = classify_failure,
	.ensure_running = vendor_ensure_running,
	.touch = vendor_touch,
};
