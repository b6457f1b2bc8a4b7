/* files.c - files in and out of the data plane. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "providers/kit/http_files.h"
#include "providers/langsmith/langsmith.h"

static int call(struct sandbox *sb, const struct rest_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	struct rest plane = { 0 };
	int rc = langsmith_plane(sb, &plane, err);

	if (rc == 0)
		rc = rest_call(&plane, ask, res, stop, err);
	rest_release(&plane);
	return rc;
}

static void get(struct sandbox *sb, const char *file,
		struct http_files_way *way)
{
	(void)sb;
	buf_adds(&way->path, "/download?path=");
	rest_encode(&way->path, str_of(file));
}

/* The form's name is only shown: the path is in the query. */
static void put(struct sandbox *sb, const char *file,
		struct http_files_way *way)
{
	(void)sb;
	buf_adds(&way->path, "/upload?path=");
	rest_encode(&way->path, str_of(file));
	way->file_field = "file";
	way->file_name = "file";
}

static bool says(const struct http_response *res, const char *word)
{
	struct str body = buf_str(&res->body);

	return str_search(body, str_of(word)) < body.len;
}

/* A 404 may still be the file's: then the sandbox is there. */
static enum http_files_verdict judge(const struct http_response *res)
{
	if (res->status == 502 || res->status == 503 ||
	    ((res->status == 400 || res->status == 409) &&
	     says(res, "NotReady")))
		return FILES_REVIVE;
	if (res->status == 404 && !says(res, "FileNotFound"))
		return FILES_DOUBT;
	return FILES_REFUSED;
}

static const struct http_files files_api = {
	.call = call,
	.get = get,
	.put = put,
	.judge = judge,
	.revive = langsmith_revive,
};

int langsmith_upload(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	return http_files_upload(sb, &files_api, files, n, stop, err);
}

int langsmith_download(struct sandbox *sb, struct transfer *files, size_t n,
		       const struct stop *stop, struct error *err)
{
	return http_files_download(sb, &files_api, files, n, stop, err);
}
