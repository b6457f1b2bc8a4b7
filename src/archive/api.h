/* api.h - loads libarchive at run time, as a table of functions. */
/* SPDX-License-Identifier: MIT */
#ifndef ARCHIVE_API_H
#define ARCHIVE_API_H

#include <archive.h>
#include <archive_entry.h>

#include "base/error.h"

/*
 * libarchive needs libxml2 and ICU, which take longer to load than the rest of
 * dcode's start. So it is loaded only when an archive is used. The members are
 * its functions without their "archive_" prefix.
 */
struct archive_api {
	struct archive *(*write_new)(void);
	int (*write_set_format_gnutar)(struct archive *a);
	int (*write_set_format_pax_restricted)(struct archive *a);
	int (*write_add_filter_gzip)(struct archive *a);
	int (*write_set_filter_option)(struct archive *a, const char *module,
				       const char *name, const char *value);
	int (*write_set_bytes_per_block)(struct archive *a, int bytes);
	int (*write_open)(struct archive *a, void *arg, archive_open_callback *,
			  archive_write_callback *, archive_close_callback *);
	int (*write_header)(struct archive *a, struct archive_entry *e);
	la_ssize_t (*write_data)(struct archive *a, const void *data,
				 size_t len);
	int (*write_close)(struct archive *a);
	int (*write_free)(struct archive *a);
	struct archive *(*read_new)(void);
	int (*read_support_format_tar)(struct archive *a);
	int (*read_set_format_option)(struct archive *a, const char *module,
				      const char *name, const char *value);
	int (*read_open)(struct archive *a, void *arg, archive_open_callback *,
			 archive_read_callback *, archive_close_callback *);
	int (*read_next_header)(struct archive *a, struct archive_entry **e);
	int (*read_data_block)(struct archive *a, const void **data,
			       size_t *len, la_int64_t *offset);
	int (*read_free)(struct archive *a);
	const char *(*error_string)(struct archive *a);
	struct archive_entry *(*entry_new)(void);
	struct archive_entry *(*entry_clear)(struct archive_entry *e);
	void (*entry_free)(struct archive_entry *e);
	void (*entry_set_pathname)(struct archive_entry *e, const char *path);
	void (*entry_set_symlink)(struct archive_entry *e, const char *target);
	void (*entry_set_hardlink)(struct archive_entry *e, const char *target);
	void (*entry_set_mode)(struct archive_entry *e, __LA_MODE_T mode);
	void (*entry_set_uid)(struct archive_entry *e, la_int64_t uid);
	void (*entry_set_gid)(struct archive_entry *e, la_int64_t gid);
	void (*entry_set_size)(struct archive_entry *e, la_int64_t bytes);
	void (*entry_set_mtime)(struct archive_entry *e, time_t s, long ns);
	const char *(*entry_pathname)(struct archive_entry *e);
	const char *(*entry_symlink)(struct archive_entry *e);
	const char *(*entry_hardlink)(struct archive_entry *e);
	__LA_MODE_T (*entry_mode)(struct archive_entry *e);
	la_int64_t (*entry_uid)(struct archive_entry *e);
	la_int64_t (*entry_gid)(struct archive_entry *e);
	la_int64_t (*entry_size)(struct archive_entry *e);
	time_t (*entry_mtime)(struct archive_entry *e);
	int (*entry_mtime_is_set)(struct archive_entry *e);
};

/* Fills the table. -1: the error says what to install. Thread-safe. The library
 * stays loaded. */
int archive_api_load(struct archive_api *api, struct error *err);

#endif
