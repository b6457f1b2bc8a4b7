/* files.c - files in and out through envd. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "providers/e2b/e2b.h"
#include "providers/kit/http_files.h"

enum {
	RAW_SINCE = 507, /* envd 0.5.7 takes a body that is the file */
	USER_OPTIONAL = 400,
};

static int call(struct sandbox *sb, const struct rest_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	struct rest envd = { 0 };
	int rc = e2b_envd(sb, &envd, err);

	if (rc == 0)
		rc = rest_call(&envd, ask, res, stop, err);
	rest_release(&envd);
	return rc;
}

static void get(struct sandbox *sb, const char *file,
		struct http_files_way *way)
{
	const char *user = e2b_of(sb->host)->user;
	int version = e2b_version(sb);

	if (!user && version && version < USER_OPTIONAL)
		user = "user";
	buf_adds(&way->path, "/files?path=");
	rest_encode(&way->path, str_of(file));
	if (user) {
		buf_adds(&way->path, "&username=");
		rest_encode(&way->path, str_of(user));
	}
}

/* The form's name is only shown: the path is in the query. */
static void put(struct sandbox *sb, const char *file,
		struct http_files_way *way)
{
	int version = e2b_version(sb);

	get(sb, file, way);
	if (!version || version >= RAW_SINCE)
		return;
	way->file_field = "file";
	way->file_name = "file";
}

/* The proxy's words when there is no sandbox, or none that answers. */
static enum http_files_verdict judge(const struct http_response *res)
{
	struct str body = buf_str(&res->body);

	if (res->status == 401 || res->status == 502 || res->status == 503 ||
	    (res->status == 404 && str_search(body, STR("andbox")) < body.len &&
	     str_search(body, STR("path '")) == body.len))
		return FILES_REVIVE;
	return FILES_REFUSED;
}

static const struct http_files files_api = {
	.call = call,
	.get = get,
	.put = put,
	.judge = judge,
	.revive = e2b_revive,
	.keep = e2b_keep,
};

int e2b_upload(struct sandbox *sb, struct transfer *files, size_t n,
	       const struct stop *stop, struct error *err)
{
	return http_files_upload(sb, &files_api, files, n, stop, err);
}

int e2b_download(struct sandbox *sb, struct transfer *files, size_t n,
		 const struct stop *stop, struct error *err)
{
	return http_files_download(sb, &files_api, files, n, stop, err);
}
