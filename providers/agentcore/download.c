/* download.c - files out of a session: readFiles, many at once. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/agentcore/agentcore.h"
#include "sandbox/transfer.h"

enum {
	BATCH_FILES = 32,
	PATHS_MAX = 256 << 10,
	PATH_BYTES = 16 << 10,
	READ_MS = 300000,
};

struct read_batch { /* files that are asked for by one request */
	struct wanted_file {
		struct transfer *file;
		char *path; /* relative, owned */
		bool done;  /* the file was given its bytes, or refused them */
	} items[BATCH_FILES];
	size_t n;
	const char *cwd; /* borrowed */
	bool nul;        /* a text of this result holds a NUL */
};

/* "file:///a%20b" without the scheme, decoded. */
static void add_path(struct buf *out, struct str uri, bool decode)
{
	if (str_starts(uri, "file://"))
		uri = str_skip(uri, 7);
	for (size_t i = 0; i < uri.len; i++) {
		unsigned char byte = (unsigned char)uri.ptr[i];
		size_t n = 0;

		if (decode && byte == '%' && i + 2 < uri.len &&
		    sodium_hex2bin(&byte, 1, uri.ptr + i + 1, 2, NULL, &n,
				   NULL) == 0)
			i += 2;
		buf_addc(out, (char)byte);
	}
}

/* The vendor gives "file:///" and the path as it was asked for, or the whole
 * path. */
static bool is_path(struct str got, const struct read_batch *b,
		    const char *path)
{
	struct str rest = got;

	while (str_starts(rest, "./") || str_starts(rest, "/"))
		rest = str_skip(rest, rest.ptr[0] == '/' ? 1 : 2);
	if (str_is(rest, path))
		return true;
	return str_starts(got, b->cwd) &&
	       str_is(str_skip(got, strlen(b->cwd) + 1), path);
}

static struct wanted_file *find_file(struct read_batch *b, const char *uri)
{
	for (int decode = 0; decode < 2; decode++) {
		struct buf path = BUF_INIT(PATH_BYTES);
		struct wanted_file *found = NULL;

		add_path(&path, str_of(uri), decode);
		for (size_t i = 0; i < b->n && !found; i++)
			if (is_path(buf_str(&path), b, b->items[i].path))
				found = &b->items[i];
		buf_release(&path);
		if (found)
			return found;
	}
	return NULL;
}

static void write_data(struct wanted_file *w, struct str data)
{
	struct error why = { 0 };

	w->done = true;
	if (data.len && w->file->write(w->file->arg, data, &why) < 0)
		transfer_fail(w->file, FILE_OTHER, why.message);
}

/* Bytes that were no text come as U+FFFD then: not to be trusted. */
static bool is_lossy(struct str text)
{
	return str_search(text, STR("\xef\xbf\xbd")) < text.len;
}

static void parse_resource(struct read_batch *b, const cJSON *resource)
{
	const char *blob = json_string(resource, "blob", NULL);
	const char *text = json_string(resource, "text", NULL);
	struct wanted_file *w = find_file(b, json_string(resource, "uri", ""));
	size_t most = blob ? strlen(blob) : 0;
	unsigned char *room;
	size_t len = 0;

	if (!w || w->done)
		return;
	if (!blob) {
		if (text && !b->nul && !is_lossy(str_of(text)))
			write_data(w, str_of(text));
		return;
	}
	room = xcalloc(most + 1, 1);
	if (sodium_base642bin(room, most + 1, blob, most, "\r\n", &len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) == 0)
		write_data(w, (struct str){ (const char *)room, len });
	free(room);
}

static int on_result(void *arg, const cJSON *result, struct str raw,
		     struct error *err)
{
	struct read_batch *b = arg;
	const cJSON *block;

	(void)err;
	/* cJSON's strings end at a NUL. */
	b->nul = str_search(raw, STR("\\u0000")) < raw.len;
	if (json_bool(result, "isError", false))
		return 0;
	cJSON_ArrayForEach (block, json_get(result, "content")) {
		const cJSON *resource = json_get(block, "resource");

		if (cJSON_IsObject(resource))
			parse_resource(b, resource);
	}
	return 0;
}

static int read_files(struct sandbox *sb, struct read_batch *b,
		      const struct stop *stop, struct error *err)
{
	struct buf paths = BUF_INIT(PATHS_MAX);
	struct agentcore_invoke call = { .tool = "readFiles",
					 .key = "paths",
					 .what = "reading the files",
					 .timeout_ms = READ_MS,
					 .result = on_result,
					 .arg = b };
	int rc;

	for (size_t i = 0; i < b->n; i++) {
		if (i)
			buf_addc(&paths, ',');
		json_quote(&paths, str_of(b->items[i].path));
	}
	call.items = buf_str(&paths);
	rc = buf_check(&paths, "the names", err);
	if (rc == 0)
		rc = agentcore_invoke(sb, &call, stop, err);
	buf_release(&paths);
	return rc;
}

bool agentcore_is_fatal(const struct error *e)
{
	return e->code == ERR_CANCELLED || e->code == ERR_GONE ||
	       e->code == ERR_AUTH;
}

/* Reads all files of the batch at once, then by the shell those that did not
 * come: it has no limit of size, and says what is wrong with a path. Empties
 * the batch. */
static int read_batch(struct sandbox *sb, struct read_batch *b,
		      const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int rc = b->n ? read_files(sb, b, stop, &why) : 0;

	if (rc < 0 && !agentcore_is_fatal(&why) && stop_check(stop, &why) == 0)
		rc = 0;
	if (rc < 0)
		*err = why;
	for (size_t i = 0; i < b->n; i++) {
		struct wanted_file *w = &b->items[i];

		if (rc < 0 && !w->done)
			transfer_fail(w->file, FILE_OTHER, err->message);
		else if (!w->done)
			rc = transfer_download(sb, w->file, 1, stop, err);
		free(w->path);
	}
	b->n = 0;
	return rc;
}

int agentcore_download(struct sandbox *sb, struct transfer *files, size_t n,
		       const struct stop *stop, struct error *err)
{
	struct read_batch b = { .n = 0 };
	int rc = agentcore_find_cwd(sb, stop, err);
	size_t i = 0;

	b.cwd = agentcore_cwd(sb);
	for (; rc == 0 && i < n; i++) {
		char *path = files[i].path
				     ? agentcore_relative(sb, files[i].path)
				     : NULL;

		transfer_fail(&files[i], FILE_OK, "");
		if (!path) {
			rc = transfer_download(sb, &files[i], 1, stop, err);
			continue;
		}
		b.items[b.n++] = (struct wanted_file){ &files[i], path, false };
		if (b.n == BATCH_FILES)
			rc = read_batch(sb, &b, stop, err);
	}
	if (rc == 0)
		return read_batch(sb, &b, stop, err);
	for (size_t k = 0; k < b.n; k++) {
		transfer_fail(b.items[k].file, FILE_OTHER, err->message);
		free(b.items[k].path);
	}
	for (; i < n; i++)
		transfer_fail(&files[i], FILE_OTHER, err->message);
	return -1;
}
