/* files.c - files in and out through Runloop. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/ids.h"
#include "base/str.h"
#include "providers/kit/http_files.h"
#include "providers/runloop/runloop.h"

static int call(struct sandbox *sb, const struct rest_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	char header[64] = "x-request-id: ";
	const char *const headers[] = { header,
					ask->data ? "Accept: application/"
						    "octet-stream"
						  : NULL,
					NULL };
	struct rest_ask own = *ask;

	ids_uuid7(header + strlen(header));
	own.headers = headers;
	return rest_call(&runloop_of(sb->host)->api, &own, res, stop, err);
}

static void get(struct sandbox *sb, const char *file,
		struct http_files_way *way)
{
	buf_addf(&way->path, "/v1/devboxes/%s/download_file", sb->id);
	buf_addc(&way->body, '{');
	json_member(&way->body, "path", str_of(file));
	buf_addc(&way->body, '}');
}

static void put(struct sandbox *sb, const char *file,
		struct http_files_way *way)
{
	(void)file;
	buf_addf(&way->path, "/v1/devboxes/%s/upload_file", sb->id);
	way->path_field = "path";
	way->file_field = "file";
	way->file_name = "upload";
}

/* What the API says of a file is not documented. */
static enum http_files_verdict judge(const struct http_response *res)
{
	if (res->status == 401)
		return FILES_FAILED;
	if (res->status == 408 || res->status == 429 || res->status >= 500)
		return FILES_AGAIN;
	return FILES_DOUBT;
}

static const struct http_files files_api = {
	.call = call,
	.get = get,
	.put = put,
	.judge = judge,
	.revive = runloop_revive,
};

int runloop_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	return http_files_upload(sb, &files_api, files, n, stop, err);
}

int runloop_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	return http_files_download(sb, &files_api, files, n, stop, err);
}
