/* threads_new_file.h - a file that appears once it is whole. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_THREADS_NEW_FILE_H
#define CMD_COMMANDS_THREADS_NEW_FILE_H

#include "base/stop.h"
#include "base/str.h"

struct new_file {
	int fd;
	char *path;      /* owned; NULL: standard output */
	char *temporary; /* owned: its name until it is whole */
	bool replace;
	struct stop stop;
};

/* path "-" is standard output. What exists is refused with ERR_USAGE, unless it
 * is a regular file and replace is set. The file is for its owner alone. */
int new_file_open(struct new_file *f, const char *path, bool replace,
		  const struct stop *stop, struct error *err);
int new_file_write(struct new_file *f, struct str data, struct error *err);
/* whole: gives it its name; else it is removed. Either way f is released. */
int new_file_close(struct new_file *f, bool whole, struct error *err);

#endif
