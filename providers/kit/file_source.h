/* file_source.h - the bytes of a file that goes up, held while it is small. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_FILE_SOURCE_H
#define PROVIDERS_KIT_FILE_SOURCE_H

#include "sandbox/provider.h"

struct file_source {
	struct transfer *file; /* borrowed */
	struct buf held;       /* all of a small file */
	bool is_held;          /* it can be sent again: set sent to 0 */
	int64_t sent;          /* bytes that file_source_read() gave */
	bool failed;           /* the file itself cannot be read, see why */
	struct error why;
};

/* Reads all of a file of at most held_max bytes into memory. -1 when that
 * failed; release it in any case. */
int file_source_open(struct file_source *s, struct transfer *f,
		     int64_t held_max, struct error *err);
/* At most len bytes into room; 0 at the end, -1 as the file says. arg is the
 * struct file_source. */
int64_t file_source_read(void *arg, char *room, size_t len, struct error *err);
void file_source_release(struct file_source *s);

#endif
