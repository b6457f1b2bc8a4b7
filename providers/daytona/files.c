/* files.c - files in and out through the toolbox. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/files.h"

#include "base/str.h"
#include "providers/daytona/daytona.h"

static void get(struct sandbox *sb, const char *file, struct file_request *req)
{
	(void)sb;
	buf_adds(&req->path, "/files/download?path=");
	rest_encode(&req->path, str_of(file));
}

static void put(struct sandbox *sb, const char *file, struct file_request *req)
{
	(void)sb;
	(void)file;
	buf_adds(&req->path, "/files/bulk-upload");
	req->path_field = "files[0].path";
	req->file_field = "files[0].file";
	req->file_name = "file";
}

static bool says(const struct http_response *res, const char *words)
{
	struct str body = buf_str(&res->body);

	return str_search(body, str_of(words)) < body.len;
}

/* The proxy's words when there is no sandbox, or none that answers. */
static enum file_retry classify_failure(const struct http_response *res)
{
	int status = res->status;

	if (status == 401 || status == 502 || status == 503 || status == 504 ||
	    ((status == 400 || status == 404) && says(res, "andbox") &&
	     !says(res, "FILE_") && !says(res, "\"errors\"")))
		return FILE_RETRY_STARTED;
	return FILE_RETRY_NEVER;
}

const struct http_files daytona_files = {
	.call = vendor_send,
	.get = get,
	.put = put,
	.classify = classify_failure,
	.ensure_running = vendor_ensure_running,
	.touch = vendor_touch,
};
