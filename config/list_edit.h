/* list_edit.h - edits a list of strings, or a string, in a TOML text. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_LIST_EDIT_H
#define CONFIG_LIST_EDIT_H

#include "base/buf.h"

/*
 * Which list or string is edited: `key` in `[table]`. name: the file's name,
 * for messages.
 */
struct list_edit {
	const char *name, *table, *key;
};
/* Appends the text to out with item added to the list. Creates table and key if
 * they are missing. The rest of the text stays unchanged. Fails with ERR_CONFIG
 * if the text is not TOML, or if the list is written in a form that cannot be
 * extended. */
int list_edit_add(const struct list_edit *e, struct str text, struct str item,
		  struct buf *out, struct error *err);
/* Like list_edit_add(), but removes the item, which must be alone on its line.
 * ERR_NOT_FOUND if it is not in the list; ERR_CONFIG if the line has anything
 * else. */
int list_edit_remove(const struct list_edit *e, struct str text,
		     struct str item, struct buf *out, struct error *err);
/* Sets a string key to value. NULL removes the key's line, if there is one.
 * ERR_CONFIG if something else is on that line. */
int list_edit_string(const struct list_edit *e, struct str text,
		     const char *value, struct buf *out, struct error *err);

#endif
