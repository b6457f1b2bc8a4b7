/* files.c - files of any source as a gzipped tar stream, pulled. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "archive/api.h"
#include "archive/archive.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	CHUNK = 64 << 10,  /* bytes of a file that are read at once */
	OUT_MAX = 1 << 20, /* what one step writes: a chunk, or a long name */
};

struct archive_files {
	struct archive_api api;
	struct archive *a;
	struct archive_entry *entry;
	const struct archive_file *files; /* borrowed */
	size_t n;
	size_t next;
	const struct archive_file *file; /* whose bytes come; NULL: none */
	int64_t left;                    /* bytes of it */
	const struct archive_file *failed;
	struct buf out; /* not yet pulled */
	bool ended;
	char chunk[CHUNK];
};

static la_ssize_t on_bytes(struct archive *a, void *arg, const void *data,
			   size_t len)
{
	struct archive_files *w = arg;

	(void)a;
	buf_add(&w->out, data, len);
	return w->out.over ? -1 : (la_ssize_t)len;
}

static int archive_error(struct archive_files *w, struct error *err)
{
	const char *why = w->api.error_string(w->a);

	return error_set(err, ERR_SYSTEM, "writing the archive: %s",
			 why ? why : "it failed");
}

static int put_header(struct archive_files *w, struct error *err)
{
	const struct archive_file *f = &w->files[w->next++];

	w->api.entry_clear(w->entry);
	w->api.entry_set_pathname(w->entry, f->path);
	w->api.entry_set_mode(w->entry, S_IFREG | (__LA_MODE_T)f->mode);
	w->api.entry_set_mtime(w->entry, time(NULL), 0);
	w->api.entry_set_size(w->entry, f->size);
	if (w->api.write_header(w->a, w->entry) < ARCHIVE_WARN) {
		w->failed = f;
		return archive_error(w, err);
	}
	w->file = f;
	w->left = f->size;
	return 0;
}

static int put_chunk(struct archive_files *w, struct error *err)
{
	const struct archive_file *f = w->file;
	size_t want = w->left < CHUNK ? (size_t)w->left : CHUNK;
	int64_t n = f->read(f->arg, w->chunk, want, err);

	if (n == 0)
		n = error_set(err, ERR_SYSTEM, "the file became shorter");
	if (n < 0 || (size_t)n > want) {
		w->failed = f;
		return -1;
	}
	if (w->api.write_data(w->a, w->chunk, (size_t)n) != n)
		return archive_error(w, err);
	w->left -= n;
	return 0;
}

static int step(struct archive_files *w, struct error *err)
{
	if (w->file && w->left)
		return put_chunk(w, err);
	w->file = NULL;
	if (w->next < w->n)
		return put_header(w, err);
	w->ended = true;
	return w->api.write_close(w->a) == ARCHIVE_OK ? 0
						      : archive_error(w, err);
}

int64_t archive_files_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct archive_files *w = arg;

	while (!w->out.len && !w->ended)
		if (step(w, err) < 0)
			return -1;
	if (len > w->out.len)
		len = w->out.len;
	if (len)
		memcpy(room, w->out.ptr, len);
	buf_consume(&w->out, len);
	return (int64_t)len;
}

static int begin(struct archive_files *w, struct error *err)
{
	struct archive_api *api = &w->api;

	if (archive_api_load(api, err) < 0)
		return -1;
	w->a = api->write_new();
	w->entry = api->entry_new();
	if (!w->a || !w->entry)
		return error_set(err, ERR_SYSTEM, "libarchive does not start");
	if (api->write_set_format_pax_restricted(w->a) < ARCHIVE_WARN ||
	    api->write_add_filter_gzip(w->a) < ARCHIVE_WARN ||
	    api->write_set_filter_option(w->a, "gzip", "compression-level",
					 "0") < ARCHIVE_WARN ||
	    api->write_set_bytes_per_block(w->a, 0) < ARCHIVE_WARN ||
	    api->write_open(w->a, w, NULL, on_bytes, NULL) != ARCHIVE_OK)
		return archive_error(w, err);
	return 0;
}

struct archive_files *archive_files_open(const struct archive_file *files,
					 size_t n, struct error *err)
{
	struct archive_files *w = xcalloc(1, sizeof(*w));

	w->files = files;
	w->n = n;
	w->out = BUF_INIT(OUT_MAX);
	if (begin(w, err) == 0)
		return w;
	archive_files_close(w);
	return NULL;
}

const struct archive_file *archive_files_failed(const struct archive_files *w)
{
	return w->failed;
}

void archive_files_close(struct archive_files *w)
{
	if (!w)
		return;
	if (w->entry)
		w->api.entry_free(w->entry);
	if (w->a)
		w->api.write_free(w->a);
	buf_release(&w->out);
	free(w);
}
