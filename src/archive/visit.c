/* visit.c - reads an untrusted tar stream entry by entry. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/stat.h>

#include "archive/api.h"
#include "archive/archive.h"
#include "base/mem.h"
#include "base/str.h"

enum { CHUNK = 64 << 10 };

struct visit {
	struct archive_api api;
	struct archive *a;
	struct archive_entry *entry; /* current entry; owned by libarchive */
	const struct archive_visitor *v;
	struct error pull; /* why the stream stopped, if its code is set */
	char chunk[CHUNK];
};

static la_ssize_t on_read(struct archive *a, void *arg, const void **data)
{
	struct visit *t = arg;

	(void)a;
	*data = t->chunk;
	return (la_ssize_t)t->v->pull(t->v->arg, t->chunk, CHUNK, &t->pull);
}

static int set_read_error(struct visit *t, struct error *err)
{
	const char *why = t->api.error_string(t->a);

	if (t->pull.code != ERR_NONE) {
		*err = t->pull;
		return -1;
	}
	return error_set(err, ERR_PROTOCOL, "the archive is broken: %s",
			 why ? why : "invalid data");
}

/* Passes zeros for a hole of a sparse file. */
static int pass_zeros(struct visit *t, int64_t n, struct error *err)
{
	static const char zeros[4096];

	for (; n > 0; n -= (int64_t)sizeof(zeros)) {
		size_t len =
			n < (int64_t)sizeof(zeros) ? (size_t)n : sizeof(zeros);

		if (t->v->data(t->v->arg, (struct str){ zeros, len }, err) < 0)
			return -1;
	}
	return 0;
}

/* Passes the content of the current entry, with zeros for holes. */
static int pass_data(struct visit *t, int64_t size, struct error *err)
{
	int64_t given = 0;
	la_int64_t offset = 0;
	const void *data;
	size_t len;
	int rc;

	for (;;) {
		rc = t->api.read_data_block(t->a, &data, &len, &offset);
		if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
			break;
		if (offset < given || (int64_t)len > size - offset)
			return error_set(err, ERR_PROTOCOL,
					 "the archive is broken: a file is "
					 "longer than its header says");
		if (pass_zeros(t, offset - given, err) < 0 ||
		    t->v->data(t->v->arg, (struct str){ data, len }, err) < 0)
			return -1;
		given = offset + (int64_t)len;
	}
	return rc == ARCHIVE_EOF ? pass_zeros(t, size - given, err)
				 : set_read_error(t, err);
}

static int visit_entry(struct visit *t, struct error *err)
{
	struct archive_item item = {
		.path = str_of(t->api.entry_pathname(t->entry)),
		.mode = t->api.entry_mode(t->entry),
		.size = t->api.entry_size(t->entry),
		.mtime = t->api.entry_mtime(t->entry),
		.original = t->api.entry_hardlink(t->entry),
	};
	int rc;

	if (!item.original && S_ISLNK(item.mode))
		item.target = t->api.entry_symlink(t->entry);
	if (item.original || !S_ISREG(item.mode) || item.size < 0)
		item.size = 0;
	rc = t->v->entry(t->v->arg, &item, err);
	return rc > 0 ? pass_data(t, item.size, err) : rc;
}

static int visit_all(struct visit *t, struct error *err)
{
	int rc;

	if (t->api.read_support_format_tar(t->a) < ARCHIVE_WARN ||
	    t->api.read_set_format_option(t->a, "tar",
					  "read_concatenated_archives",
					  "1") < ARCHIVE_WARN ||
	    t->api.read_open(t->a, t, NULL, on_read, NULL) != ARCHIVE_OK)
		return set_read_error(t, err);
	for (;;) {
		rc = t->api.read_next_header(t->a, &t->entry);
		if (rc == ARCHIVE_EOF)
			return t->pull.code ? set_read_error(t, err) : 0;
		if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
			return set_read_error(t, err);
		if (visit_entry(t, err) < 0)
			return -1;
	}
}

int archive_visit(const struct archive_visitor *v, struct error *err)
{
	struct visit *t = xcalloc(1, sizeof(*t));
	int rc = archive_api_load(&t->api, err);

	t->v = v;
	if (rc == 0) {
		t->a = t->api.read_new();
		rc = t->a ? visit_all(t, err)
			  : error_set(err, ERR_SYSTEM,
				      "cannot start libarchive");
	}
	if (t->a)
		t->api.read_free(t->a);
	free(t);
	return rc;
}
