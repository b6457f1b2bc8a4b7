/* stream.c - builds a tar stream entry by entry; archives of one entry. */
/* SPDX-License-Identifier: MIT */
/*
 * First the stream: begin reading at open_archive(). Then archives of one entry
 * in memory: archive_single_read() and archive_single_write().
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

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

/* Libarchive's callback: arg is the buffer that gets the bytes. */
static la_ssize_t add_bytes(struct archive *a, void *arg, const void *data,
			    size_t len)
{
	struct buf *out = arg;

	(void)a;
	buf_add(out, data, len);
	return out->over ? -1 : (la_ssize_t)len;
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
	    api->write_open(s->a, &s->out, NULL, add_bytes, NULL) != ARCHIVE_OK)
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

struct member_source {
	struct str bytes;
	bool given;
};

static la_ssize_t pass_bytes(struct archive *a, void *arg, const void **data)
{
	struct member_source *s = arg;

	(void)a;
	*data = s->bytes.ptr;
	if (s->given)
		return 0;
	s->given = true;
	return (la_ssize_t)s->bytes.len;
}

static void read_entry(const struct archive_api *api,
		       struct archive_entry *entry, struct archive_single *out)
{
	const char *link = api->entry_symlink(entry);

	*out = (struct archive_single){
		.mode = (int)(api->entry_mode(entry) & (S_IFMT | 07777)),
		.uid = api->entry_uid(entry),
		.gid = api->entry_gid(entry),
		.link = link ? xstrdup(link) : NULL,
	};
}

int archive_single_read(struct str bytes, struct archive_single *out,
			struct buf *data, struct error *err)
{
	struct archive_api api;
	struct member_source source = { .bytes = bytes };
	struct archive_entry *entry = NULL;
	struct archive *a;
	const void *block;
	size_t len;
	la_int64_t at;
	int rc = 0;

	if (archive_api_load(&api, err) < 0)
		return -1;
	a = api.read_new();
	if (!a || api.read_support_format_tar(a) < ARCHIVE_WARN ||
	    api.read_open(a, &source, NULL, pass_bytes, NULL) != ARCHIVE_OK ||
	    api.read_next_header(a, &entry) < ARCHIVE_WARN)
		rc = error_set(err, ERR_PROTOCOL, "not a tar archive");
	if (rc == 0)
		read_entry(&api, entry, out);
	while (rc == 0 && data &&
	       api.read_data_block(a, &block, &len, &at) == ARCHIVE_OK)
		buf_add(data, block, len);
	if (a)
		api.read_free(a);
	return rc;
}

int archive_single_write(const struct archive_single *e, const char *name,
			 struct buf *out, struct error *err)
{
	struct archive_api api;
	struct archive_entry *entry;
	struct archive *a;
	int rc = 0;

	if (archive_api_load(&api, err) < 0)
		return -1;
	a = api.write_new();
	entry = api.entry_new();
	if (!a || !entry)
		abort();
	api.entry_set_pathname(entry, name);
	api.entry_set_mode(entry, (__LA_MODE_T)e->mode);
	api.entry_set_uid(entry, e->uid);
	api.entry_set_gid(entry, e->gid);
	api.entry_set_mtime(entry, time(NULL), 0);
	if (api.write_set_format_pax_restricted(a) < ARCHIVE_WARN ||
	    api.write_set_bytes_per_block(a, 0) < ARCHIVE_WARN ||
	    api.write_open(a, out, NULL, add_bytes, NULL) != ARCHIVE_OK ||
	    api.write_header(a, entry) < ARCHIVE_WARN ||
	    api.write_close(a) != ARCHIVE_OK)
		rc = error_set(err, ERR_SYSTEM, "writing the archive: %s",
			       api.error_string(a));
	api.entry_free(entry);
	api.write_free(a);
	return rc;
}
