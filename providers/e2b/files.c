/* files.c - files in and out through envd. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/files.h"

#include "base/str.h"
#include "providers/e2b/e2b.h"

enum { RAW_SINCE = 507 }; /* envd 0.5.7 takes a body that is the file */

static void get(struct sandbox *sb, const char *file, struct file_request *req)
{
	const char *user = e2b_user(sb);

	buf_adds(&req->path, "/files?path=");
	rest_encode(&req->path, str_of(file));
	if (user) {
		buf_adds(&req->path, "&username=");
		rest_encode(&req->path, str_of(user));
	}
}

/* The form's name is only shown: the path is in the query. */
static void put(struct sandbox *sb, const char *file, struct file_request *req)
{
	int version = e2b_version(sb);

	get(sb, file, req);
	if (!version || version >= RAW_SINCE)
		return;
	req->file_field = "file";
	req->file_name = "file";
}

/* The proxy's words when there is no sandbox, or none that answers. */
static enum file_retry classify_failure(const struct http_response *res)
{
	struct str body = buf_str(&res->body);

	if (res->status == 401 || res->status == 502 || res->status == 503 ||
	    (res->status == 404 && str_search(body, STR("andbox")) < body.len &&
	     str_search(body, STR("path '")) == body.len))
		return FILE_RETRY_STARTED;
	return FILE_RETRY_NEVER;
}

const struct http_files e2b_files = {
	.call = vendor_send,
	.get = get,
	.put = put,
	.classify = classify_failure,
	.ensure_running = vendor_ensure_running,
	.touch = vendor_touch,
};
