/* files.c - files in as tar streams, and out of a session. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/files.h"

#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/str.h"
#include "providers/vercel/vercel.h"
#include "sandbox/transfer.h"

enum {
	LONGEST_MS = 24 * 3600 * 1000,
	IDLE_MS = 60000,
	CHUNK = 64 << 10, /* bytes of a file that are read at once */
};

struct archived_file { /* an archive of one entry, pulled */
	struct archive_stream *tar;
	const struct transfer *file;
	int64_t left; /* bytes of the file */
	bool ended;
	bool failed; /* the file could not be read */
};

static int add_bytes(struct archived_file *a, struct error *err)
{
	char chunk[CHUNK];
	size_t want = a->left < CHUNK ? (size_t)a->left : CHUNK;
	int64_t n = transfer_read(a->file, chunk, want, err);

	a->failed = n < 0;
	if (n < 0)
		return -1;
	a->left -= n;
	return archive_stream_data(a->tar, (struct str){ chunk, (size_t)n },
				   err);
}

static int64_t pull_archive(void *arg, char *room, size_t len,
			    struct error *err)
{
	struct archived_file *a = arg;
	struct buf *out = archive_stream_out(a->tar);

	while (!out->len && !a->ended) {
		a->ended = !a->left;
		if ((a->ended ? archive_stream_end(a->tar, err)
			      : add_bytes(a, err)) < 0)
			return -1;
	}
	return buf_take(out, room, len);
}

/* It is unpacked at "/". */
static int send_file(struct sandbox *sb, struct http_files_put *put,
		     struct http_response *res, const struct stop *stop,
		     struct error *err)
{
	static const char *const headers[] = { "x-cwd: /", NULL };
	const struct transfer *f = put->file;
	const struct archive_header entry = { .path = put->path +
						      strspn(put->path, "/"),
					      .size = f->size,
					      .mode = f->mode ? f->mode : 0644,
					      .mtime = clock_unix_ms() / 1000 };
	struct archived_file a = { archive_stream_open_pax(err), f, f->size,
				   false, false };
	char *path = vercel_path(sb->client->priv, "/fs/write", "");
	struct rest_ask ask = { .method = "POST",
				.path = path,
				.type = "application/gzip",
				.what = "writing files",
				.headers = headers,
				.source = pull_archive,
				.source_size = -1,
				.arg = &a,
				.timeout_ms = LONGEST_MS,
				.idle_ms = IDLE_MS };
	int rc = -1;

	put->own = !a.tar || archive_stream_entry(a.tar, &entry, err) < 0;
	if (!put->own)
		rc = vendor_send(sb, &ask, res, stop, err);
	put->own |= a.failed;
	archive_stream_close(a.tar);
	free(path);
	return rc;
}

static void get(struct sandbox *sb, const char *file, struct file_request *req)
{
	char *path = vercel_path(sb->client->priv, "/fs/read", "");

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
