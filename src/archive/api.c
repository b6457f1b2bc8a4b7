/* api.c - loads libarchive at run time, as a table of functions. */
/* SPDX-License-Identifier: MIT */
#include "archive/api.h"

#include <stddef.h>

#include "base/library.h"

static const struct library_symbol symbols[] = {
#define SYMBOL(member)                                                         \
	{                                                                      \
		"archive_" #member, offsetof(struct archive_api, member)       \
	}
	SYMBOL(write_new),
	SYMBOL(write_set_format_gnutar),
	SYMBOL(write_set_format_pax_restricted),
	SYMBOL(write_add_filter_gzip),
	SYMBOL(write_set_filter_option),
	SYMBOL(write_set_bytes_per_block),
	SYMBOL(write_open),
	SYMBOL(write_header),
	SYMBOL(write_data),
	SYMBOL(write_close),
	SYMBOL(write_free),
	SYMBOL(read_new),
	SYMBOL(read_support_format_tar),
	SYMBOL(read_set_format_option),
	SYMBOL(read_open),
	SYMBOL(read_next_header),
	SYMBOL(read_data_block),
	SYMBOL(read_free),
	SYMBOL(error_string),
	SYMBOL(entry_new),
	SYMBOL(entry_clear),
	SYMBOL(entry_free),
	SYMBOL(entry_set_pathname),
	SYMBOL(entry_set_symlink),
	SYMBOL(entry_set_hardlink),
	SYMBOL(entry_set_mode),
	SYMBOL(entry_set_uid),
	SYMBOL(entry_set_gid),
	SYMBOL(entry_set_size),
	SYMBOL(entry_set_mtime),
	SYMBOL(entry_pathname),
	SYMBOL(entry_symlink),
	SYMBOL(entry_hardlink),
	SYMBOL(entry_mode),
	SYMBOL(entry_uid),
	SYMBOL(entry_gid),
	SYMBOL(entry_size),
	SYMBOL(entry_mtime),
	SYMBOL(entry_mtime_is_set),
#undef SYMBOL
};

static const struct library library = {
	.name = "libarchive",
	.files = { "libarchive.so.13" },
	.package = "libarchive13",
	.needed = "3.2",
};

int archive_api_load(struct archive_api *api, struct error *err)
{
	return library_load(&library, symbols,
			    sizeof(symbols) / sizeof(*symbols), api, err);
}
