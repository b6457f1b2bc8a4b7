/* config_file.h - changes ~/.deepagents/config.toml, as the user asked. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CONFIG_FILE_H
#define CMD_CONFIG_FILE_H

#include "cmd/app.h"

/* Appends the text as it shall be; name is the file's, for messages. */
typedef int config_edit(void *arg, const char *name, struct str text,
			struct buf *out, struct error *err);
/* One process at a time, atomically; a missing file is an empty text, and a
 * link to the file stays one. */
int config_file_edit(struct app *app, config_edit *edit, void *arg,
		     struct error *err);

#endif
