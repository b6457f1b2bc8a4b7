/* files.c - files in and out through Runloop. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/files.h"

#include "base/str.h"
#include "providers/runloop/runloop.h"

static int call(struct sandbox *sb, const struct rest_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	char header[VENDOR_HEADER];
	const char *const headers[] = { header,
					ask->data ? "Accept: application/"
						    "octet-stream"
						  : NULL,
					NULL };
	struct rest_ask own = *ask;

	runloop_request_id(header);
	own.headers = headers;
	return vendor_send(sb, &own, res, stop, err);
}

static void get(struct sandbox *sb, const char *file, struct file_request *req)
{
	buf_addf(&req->path, "/v1/devboxes/%s/download_file", sb->id);
	buf_addc(&req->body, '{');
	json_member(&req->body, "path", str_of(file));
	buf_addc(&req->body, '}');
}

static void put(struct sandbox *sb, const char *file, struct file_request *req)
{
	(void)file;
	buf_addf(&req->path, "/v1/devboxes/%s/upload_file", sb->id);
	req->path_field = "path";
	req->file_field = "file";
	req->file_name = "upload";
}

/* What the API says of a file is not documented. */
static enum file_retry classify_failure(const struct http_response *res)
{
	if (res->status == 401)
		return FILE_RETRY_FATAL;
	if (res->status == 408 || res->status == 429 || res->status >= 500)
		return FILE_RETRY;
	return FILE_RETRY_UNSURE;
}

const struct http_files runloop_files = {
	.call = call,
	.get = get,
	.put = put,
	.classify = classify_failure,
	.ensure_running = vendor_ensure_running,
};
