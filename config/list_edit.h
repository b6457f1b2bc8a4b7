/* list_edit.h - changes a list of strings, or a string, of a TOML text. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_LIST_EDIT_H
#define CONFIG_LIST_EDIT_H

#include "base/buf.h"

/*
 * Appends text with item as a member of the list `key` in `[table]`, both of
 * which are made where they are missing. All else stays as it is written. name:
 * the file, for messages. -1 with ERR_CONFIG where the text is no TOML, or
 * where it says this in a way that cannot be added to.
 */
struct list_edit {
	const char *name, *table, *key;
};
int list_edit_add(const struct list_edit *e, struct str text, struct str item,
		  struct buf *out, struct error *err);
/* The same without each line that holds nothing but this item. ERR_NOT_FOUND
 * where it is not in the list; ERR_CONFIG where it shares a line. */
int list_edit_remove(const struct list_edit *e, struct str text,
		     struct str item, struct buf *out, struct error *err);
/* The same of a key that is a string: value in place of what it is; NULL: the
 * line goes, if there is one. ERR_CONFIG where it shares a line. */
int list_edit_string(const struct list_edit *e, struct str text,
		     const char *value, struct buf *out, struct error *err);

#endif
