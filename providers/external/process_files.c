/* process_files.c - files in one message each, or else by commands. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/str.h"
#include "providers/external/process.h"
#include "providers/kit/file_source.h"
#include "sandbox/transfer.h"

enum { STAGED_LEAST = 128 << 10 }; /* bytes: less is as fast by commands */

static enum file_error file_error_of(int code)
{
	switch (code) {
	case CHILD_FILE_NOT_FOUND:
		return FILE_NOT_FOUND;
	case CHILD_FILE_PERMISSION:
		return FILE_PERMISSION_DENIED;
	case CHILD_FILE_DIRECTORY:
		return FILE_IS_DIRECTORY;
	case CHILD_FILE_PATH:
		return FILE_INVALID_PATH;
	default:
		return FILE_OTHER;
	}
}

/* 0 when it is this file's own fault; -1 when the other files will fail too. */
static int set_file_error(struct transfer *f, int code, const struct error *why,
			  struct error *err)
{
	transfer_fail(f, file_error_of(code), "");
	if (f->error != FILE_OTHER)
		return 0;
	transfer_fail(f, FILE_OTHER, why->message);
	if (code != JSONRPC_NO_ERROR && why->code == ERR_REMOTE)
		return 0;
	*err = *why;
	return -1;
}

struct whole_file { /* to be written to a path of the child's sandbox */
	const char *path;
	int mode;
	struct str data;
	int error_code; /* out: as of struct jsonrpc_ask */
};

static int send_file(struct sandbox *sb, struct whole_file *file,
		     const struct stop *stop, struct error *err)
{
	struct buf params = process_params("sandbox", sb->id);
	struct jsonrpc_ask ask = { .method = "upload",
				   .what = "writing the file" };
	int rc;

	process_add_param(&params, "path", str_of(file->path));
	if (file->mode)
		buf_addf(&params, ",\"mode\":%d", file->mode);
	buf_adds(&params, ",\"data\":\"");
	json_base64(&params, file->data);
	buf_addc(&params, '"');
	rc = process_request(process_of(sb->client), &ask, &params, NULL, stop,
			     err);
	file->error_code = ask.error_code;
	return rc;
}

/* A class's own upload is fast, but says nothing of modes, links and folders:
 * it only brings the bytes there. When it fails, commands bring them. */
static int upload_staged(struct sandbox *sb, struct transfer *f,
			 struct file_source *source, const struct stop *stop,
			 struct error *err)
{
	struct transfer again = *f;
	struct error why = { 0 };
	char *staged = transfer_stage(f);
	struct whole_file file = { .path = staged,
				   .data = buf_str(&source->held) };
	int rc = send_file(sb, &file, stop, &why);

	transfer_fail(f, FILE_OK, "");
	if (rc == 0)
		rc = transfer_place(sb, f, staged, stop, &why);
	transfer_unstage(sb, staged);
	free(staged);
	if (rc == 0 && f->error == FILE_OK)
		return 0;
	again.read = file_source_read;
	again.arg = source;
	rc = transfer_upload(sb, &again, 1, stop, err);
	transfer_fail(f, again.error, again.detail);
	return rc;
}

static int upload_message(struct sandbox *sb, struct transfer *f,
			  const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	struct file_source source;
	struct whole_file file = { .path = f->path, .mode = f->mode };
	int rc = file_source_open(&source, f, f->size, err);

	file.data = buf_str(&source.held);
	f->error = FILE_OK;
	if (rc == 0 && process_of(sb->client)->p->config.class_path)
		rc = upload_staged(sb, f, &source, stop, err);
	else if (rc == 0 && send_file(sb, &file, stop, &why) < 0)
		rc = set_file_error(f, file.error_code, &why, err);
	file_source_release(&source);
	return rc;
}

static int upload_one(const void *arg, struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	const struct process_client *c = process_of(sb->client);
	bool staged = c->p->config.class_path && !f->api_only;

	(void)arg;
	if (!c->uploads || !str_is_utf8(str_of(f->path)) ||
	    (uint64_t)f->size > c->max_file ||
	    (staged && f->size < STAGED_LEAST))
		return transfer_upload(sb, f, 1, stop, err);
	return upload_message(sb, f, stop, err);
}

int process_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { upload_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

static int write_data(struct transfer *f, const cJSON *result,
		      const struct jsonrpc_ask *ask, struct error *err)
{
	const char *data = json_string(result, "data", NULL);
	struct buf bytes = BUF_INIT(JSONRPC_LINE);
	int rc = 0;

	if (!data)
		return process_bad_answer(ask, "data is not a string", err);
	if (!json_decode_base64(&bytes, str_of(data)))
		rc = process_bad_answer(ask, "data is not base64", err);
	else if (bytes.len)
		rc = f->write(f->arg, buf_str(&bytes), err);
	buf_release(&bytes);
	return rc;
}

static int download_one(const void *arg, struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct process_client *c = process_of(sb->client);
	struct buf params;
	struct jsonrpc_ask ask = { .method = "download",
				   .what = "reading the file" };
	struct error why = { 0 };
	cJSON *result = NULL;
	int rc;

	(void)arg;
	if (!c->downloads || !str_is_utf8(str_of(f->path)))
		return transfer_download(sb, f, 1, stop, err);
	params = process_params("sandbox", sb->id);
	process_add_param(&params, "path", str_of(f->path));
	buf_addf(&params, ",\"max_bytes\":%zu", c->max_file);
	f->error = FILE_OK;
	rc = process_request(c, &ask, &params, &result, stop, &why);
	if (rc == 0)
		rc = write_data(f, result, &ask, err);
	else if (ask.error_code == CHILD_FILE_TOO_LARGE)
		rc = transfer_download(sb, f, 1, stop, err);
	else
		rc = set_file_error(f, ask.error_code, &why, err);
	cJSON_Delete(result);
	return rc;
}

int process_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { download_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}
