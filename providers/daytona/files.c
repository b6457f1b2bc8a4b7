/* files.c - files in and out through the toolbox. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "providers/daytona/daytona.h"
#include "providers/kit/http_files.h"

static int call(struct sandbox *sb, const struct rest_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	struct rest box = { 0 };
	int rc = daytona_toolbox(sb, &box, err);

	if (rc == 0)
		rc = rest_call(&box, ask, res, stop, err);
	rest_release(&box);
	return rc;
}

static void get(struct sandbox *sb, const char *file,
		struct http_files_way *way)
{
	(void)sb;
	buf_adds(&way->path, "/files/download?path=");
	rest_encode(&way->path, str_of(file));
}

static void put(struct sandbox *sb, const char *file,
		struct http_files_way *way)
{
	(void)sb;
	(void)file;
	buf_adds(&way->path, "/files/bulk-upload");
	way->path_field = "files[0].path";
	way->file_field = "files[0].file";
	way->file_name = "file";
}

static bool says(const struct http_response *res, const char *words)
{
	struct str body = buf_str(&res->body);

	return str_search(body, str_of(words)) < body.len;
}

/* The proxy's words when there is no sandbox, or none that answers. */
static enum http_files_verdict judge(const struct http_response *res)
{
	int status = res->status;

	if (status == 401 || status == 502 || status == 503 || status == 504 ||
	    ((status == 400 || status == 404) && says(res, "andbox") &&
	     !says(res, "FILE_") && !says(res, "\"errors\"")))
		return FILES_REVIVE;
	return FILES_REFUSED;
}

static const struct http_files files_api = {
	.call = call,
	.get = get,
	.put = put,
	.judge = judge,
	.revive = daytona_revive,
	.keep = daytona_keep,
};

int daytona_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	return http_files_upload(sb, &files_api, files, n, stop, err);
}

int daytona_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	return http_files_download(sb, &files_api, files, n, stop, err);
}
