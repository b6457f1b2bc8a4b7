/* single.c - reads and writes archives of one entry. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "archive/api.h"
#include "archive/archive.h"
#include "base/mem.h"

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

static la_ssize_t add_bytes(struct archive *a, void *arg, const void *data,
			    size_t len)
{
	struct buf *out = arg;

	(void)a;
	buf_add(out, data, len);
	return out->over ? -1 : (la_ssize_t)len;
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
