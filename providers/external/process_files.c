/* process_files.c - files in one message each, where a child can; else by
 * commands. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/external/process.h"
#include "sandbox/transfer.h"

enum {
	SLACK = 64 << 10,
	STAGED_LEAST = 128 << 10, /* bytes: less is as fast by commands */
};

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

/* 0 when it is this file's own fault; -1 when no other will do better. */
static int file_failed(struct transfer *f, int refused, const struct error *why,
		       struct error *err)
{
	transfer_fail(f, file_error_of(refused), "");
	if (f->error != FILE_OTHER)
		return 0;
	transfer_fail(f, FILE_OTHER, why->message);
	if (refused != JSONRPC_REFUSED && why->code == ERR_REMOTE)
		return 0;
	*err = *why;
	return -1;
}

static void add_base64(struct buf *out, struct str bytes)
{
	size_t size = sodium_base64_encoded_len(bytes.len,
						sodium_base64_VARIANT_ORIGINAL);
	char *room = buf_room(out, size);

	if (!room)
		return;
	sodium_bin2base64(room, size, (const unsigned char *)bytes.ptr,
			  bytes.len, sodium_base64_VARIANT_ORIGINAL);
	buf_added(out, size - 1);
}

struct sent { /* the whole of it, to a path of the child's sandbox */
	const char *path;
	int mode;
	struct str data;
	int refused; /* out: as of struct jsonrpc_ask */
};

static int send_file(struct sandbox *sb, struct sent *s,
		     const struct stop *stop, struct error *err)
{
	struct provider_process *c = provider_process_of(sb->host);
	struct buf params = BUF_INIT(c->max_file * 2 + SLACK);
	struct jsonrpc_ask ask = { .method = "upload",
				   .what = "writing the file",
				   .timeout_ms = c->p->limits.call };
	cJSON *result = NULL;
	int rc;

	provider_process_params(&params, sb->id);
	buf_addc(&params, ',');
	json_member(&params, "path", str_of(s->path));
	if (s->mode)
		buf_addf(&params, ",\"mode\":%d", s->mode);
	buf_adds(&params, ",\"data\":\"");
	add_base64(&params, s->data);
	buf_adds(&params, "\"}");
	ask.params = buf_str(&params);
	rc = buf_check(&params, "the file", err);
	if (rc == 0)
		rc = provider_process_call(c, &ask, &result, stop, err);
	s->refused = ask.refused;
	cJSON_Delete(result);
	buf_release(&params);
	return rc;
}

static int64_t from_memory(void *arg, char *room, size_t len, struct error *err)
{
	struct str *rest = arg;
	size_t n = rest->len < len ? rest->len : len;

	(void)err;
	memcpy(room, rest->ptr, n);
	*rest = str_skip(*rest, n);
	return (int64_t)n;
}

/* A class's own way is fast, but says nothing of modes, links and folders: it
 * only brings the bytes there. When it fails, commands bring them. */
static int upload_staged(struct sandbox *sb, struct transfer *f,
			 struct str data, const struct stop *stop,
			 struct error *err)
{
	struct transfer again = *f;
	struct error why = { 0 };
	char *staged = transfer_stage(f);
	struct sent sent = { .path = staged, .data = data };
	int rc = send_file(sb, &sent, stop, &why);
	transfer_fail(f, FILE_OK, "");
	if (rc == 0)
		rc = transfer_place(sb, f, staged, stop, &why);
	transfer_unstage(sb, staged);
	free(staged);
	if (rc == 0 && f->error == FILE_OK)
		return 0;
	again.read = from_memory;
	again.arg = &data;
	rc = transfer_upload(sb, &again, 1, stop, err);
	transfer_fail(f, again.error, again.detail);
	return rc;
}

static int upload_one(struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	struct provider_process *c = provider_process_of(sb->host);
	struct buf data = BUF_INIT(c->max_file + 1);
	struct error why = { 0 };
	struct sent sent = { .path = f->path, .mode = f->mode };
	int rc = transfer_read_all(f, &data, (size_t)f->size, err);

	sent.data = buf_str(&data);
	f->error = FILE_OK;
	if (rc == 0 && c->p->d.class_path)
		rc = upload_staged(sb, f, sent.data, stop, err);
	else if (rc == 0 && send_file(sb, &sent, stop, &why) < 0)
		rc = file_failed(f, sent.refused, &why, err);
	buf_release(&data);
	return rc;
}

static int put_file(const void *arg, struct sandbox *sb, struct transfer *f,
		    const struct stop *stop, struct error *err)
{
	struct provider_process *c = provider_process_of(sb->host);
	int64_t least = c->p->d.class_path && !f->api_only ? STAGED_LEAST : 0;

	(void)arg;
	if (str_is_utf8(str_of(f->path)) && f->size >= least &&
	    (uint64_t)f->size <= c->max_file)
		return upload_one(sb, f, stop, err);
	return transfer_upload(sb, f, 1, stop, err);
}

int provider_process_upload(struct sandbox *sb, struct transfer *files,
			    size_t n, const struct stop *stop,
			    struct error *err)
{
	const struct transfer_mover m = { put_file, NULL };

	if (!provider_process_of(sb->host)->uploads)
		return transfer_upload(sb, files, n, stop, err);
	return transfer_each(sb, files, n, &m, stop, err);
}

static int take(struct transfer *f, const cJSON *result, struct error *err)
{
	const cJSON *data = json_get(result, "data");
	size_t len = cJSON_IsString(data) ? strlen(data->valuestring) : 0;
	unsigned char *bytes;
	size_t got = 0;
	int rc = -1;

	if (!cJSON_IsString(data))
		return error_set(err, ERR_PROTOCOL,
				 "reading the file: the provider's answer "
				 "makes no sense: data is no string");
	bytes = xcalloc(1, len + 1);
	if (sodium_base642bin(bytes, len + 1, data->valuestring, len, " \r\n",
			      &got, NULL, sodium_base64_VARIANT_ORIGINAL) < 0)
		error_set(err, ERR_PROTOCOL,
			  "reading the file: the provider's answer makes no "
			  "sense: data is no base64");
	else
		rc = got ? f->write(f->arg, (struct str){ (char *)bytes, got },
				    err)
			 : 0;
	free(bytes);
	return rc;
}

/* 1: it is too large for a message. */
static int download_one(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct provider_process *c = provider_process_of(sb->host);
	struct buf params = BUF_INIT(SLACK);
	struct jsonrpc_ask ask = { .method = "download",
				   .what = "reading the file",
				   .timeout_ms = c->p->limits.call };
	struct error why = { 0 };
	cJSON *result = NULL;
	int rc;

	provider_process_params(&params, sb->id);
	buf_addc(&params, ',');
	json_member(&params, "path", str_of(f->path));
	buf_addf(&params, ",\"max_bytes\":%zu}", c->max_file);
	ask.params = buf_str(&params);
	f->error = FILE_OK;
	rc = provider_process_call(c, &ask, &result, stop, &why);
	if (rc == 0)
		rc = take(f, result, err);
	else if (ask.refused == CHILD_FILE_TOO_LARGE)
		rc = 1;
	else
		rc = file_failed(f, ask.refused, &why, err);
	cJSON_Delete(result);
	buf_release(&params);
	return rc;
}

static int get_file(const void *arg, struct sandbox *sb, struct transfer *f,
		    const struct stop *stop, struct error *err)
{
	int rc = str_is_utf8(str_of(f->path)) ? download_one(sb, f, stop, err)
					      : 1;

	(void)arg;
	return rc > 0 ? transfer_download(sb, f, 1, stop, err) : rc;
}

int provider_process_download(struct sandbox *sb, struct transfer *files,
			      size_t n, const struct stop *stop,
			      struct error *err)
{
	const struct transfer_mover m = { get_file, NULL };

	if (!provider_process_of(sb->host)->downloads)
		return transfer_download(sb, files, n, stop, err);
	return transfer_each(sb, files, n, &m, stop, err);
}
