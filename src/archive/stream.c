/* stream.c - builds a tar stream entry by entry. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/stat.h>

#include "archive/api.h"
#include "archive/archive.h"
#include "base/mem.h"

enum { OUT_MAX = 4 << 20 }; /* bytes that a header or chunk can add */

struct archive_stream {
	struct archive_api api;
	struct archive *a;
	struct archive_entry *entry;
	struct buf out;
};

static la_ssize_t on_bytes(struct archive *a, void *arg, const void *data,
			   size_t len)
{
	struct archive_stream *s = arg;

	(void)a;
	buf_add(&s->out, data, len);
	return s->out.over ? -1 : (la_ssize_t)len;
}

static int set_write_error(struct archive_stream *s, struct error *err)
{
	const char *why = s->api.error_string(s->a);

	return error_set(err, ERR_SYSTEM, "writing the archive: %s",
			 why ? why : "it failed");
}

/* level: gzip's compression level; NULL: no gzip. */
static int open_archive(struct archive_stream *s, bool pax, const char *level,
			struct error *err)
{
	struct archive_api *api = &s->api;
	int rc;

	if (archive_api_load(api, err) < 0)
		return -1;
	s->a = api->write_new();
	s->entry = api->entry_new();
	if (!s->a || !s->entry)
		return error_set(err, ERR_SYSTEM, "cannot start libarchive");
	rc = pax ? api->write_set_format_pax_restricted(s->a)
		 : api->write_set_format_gnutar(s->a);
	if (rc < ARCHIVE_WARN ||
	    (level &&
	     (api->write_add_filter_gzip(s->a) < ARCHIVE_WARN ||
	      api->write_set_filter_option(s->a, "gzip", "compression-level",
					   level) < ARCHIVE_WARN)) ||
	    api->write_set_bytes_per_block(s->a, 0) < ARCHIVE_WARN ||
	    api->write_open(s->a, s, NULL, on_bytes, NULL) != ARCHIVE_OK)
		return set_write_error(s, err);
	return 0;
}

static struct archive_stream *open_stream(bool pax, const char *level,
					  struct error *err)
{
	struct archive_stream *s = xcalloc(1, sizeof(*s));

	s->out = BUF_INIT(OUT_MAX);
	if (open_archive(s, pax, level, err) == 0)
		return s;
	archive_stream_close(s);
	return NULL;
}

struct archive_stream *archive_stream_open(bool gzip, struct error *err)
{
	return open_stream(false, gzip ? "3" : NULL, err);
}

struct archive_stream *archive_stream_open_pax(struct error *err)
{
	return open_stream(true, "0", err);
}

static __LA_MODE_T mode_of(const struct archive_header *item)
{
	if (item->link)
		return S_IFLNK | 0777;
	return (__LA_MODE_T)((item->directory ? S_IFDIR : S_IFREG) |
			     item->mode);
}

int archive_stream_entry(struct archive_stream *s,
			 const struct archive_header *item, struct error *err)
{
	const struct archive_api *api = &s->api;
	bool bare = item->link || item->original || item->directory;

	api->entry_clear(s->entry);
	api->entry_set_pathname(s->entry, item->path);
	api->entry_set_mode(s->entry, mode_of(item));
	if (item->link)
		api->entry_set_symlink(s->entry, item->link);
	if (item->original)
		api->entry_set_hardlink(s->entry, item->original);
	api->entry_set_mtime(s->entry, (time_t)item->mtime, 0);
	api->entry_set_size(s->entry, bare ? 0 : item->size);
	if (api->write_header(s->a, s->entry) < ARCHIVE_WARN)
		return set_write_error(s, err);
	return 0;
}

int archive_stream_data(struct archive_stream *s, struct str bytes,
			struct error *err)
{
	if (s->api.write_data(s->a, bytes.ptr, bytes.len) !=
	    (la_ssize_t)bytes.len)
		return set_write_error(s, err);
	return 0;
}

int archive_stream_end(struct archive_stream *s, struct error *err)
{
	return s->api.write_close(s->a) == ARCHIVE_OK ? 0
						      : set_write_error(s, err);
}

struct buf *archive_stream_out(struct archive_stream *s)
{
	return &s->out;
}

void archive_stream_close(struct archive_stream *s)
{
	if (!s)
		return;
	if (s->entry)
		s->api.entry_free(s->entry);
	if (s->a)
		s->api.write_free(s->a);
	buf_release(&s->out);
	free(s);
}
