/* config_file.h - edits ~/.deepagents/config.toml at the user's request. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CONFIG_FILE_H
#define CMD_CONFIG_FILE_H

#include "cmd/app.h"

/* Appends the file's new text to out. text is the old one. name is the file's
 * path, for messages. */
typedef int config_edit(void *arg, const char *name, struct str text,
			struct buf *out, struct error *err);
/* Edits the file atomically, one process at a time. A missing file counts as
 * empty. If the file is a symbolic link, its target is rewritten. */
int config_file_edit(struct app *app, config_edit *edit, void *arg,
		     struct error *err);

#endif
