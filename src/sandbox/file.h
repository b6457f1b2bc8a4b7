/* file.h - files on their way into a sandbox or out of it. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILE_H
#define SANDBOX_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum file_error {
	FILE_OK = 0,
	FILE_NOT_FOUND,
	FILE_PERMISSION_DENIED,
	FILE_IS_DIRECTORY,
	FILE_INVALID_PATH,
	FILE_NO_API, /* api_only, and the provider takes no files */
	FILE_OTHER,  /* see detail */
};
const char *file_error_name(enum file_error e); /* "file_not_found" */

/* One file to move. Directions differ in which callback is used. */
struct transfer {
	const char *path; /* absolute, in the sandbox */
	int64_t size;     /* upload: bytes that read() will give */
	int mode;      /* upload: permission bits, 0: 0644, kept if it exists */
	bool api_only; /* upload: never in a command's text (FILE_NO_API) */
	/* Upload: at most len bytes into room; 0 at the end, -1 aborts. */
	int64_t (*read)(void *arg, char *room, size_t len, struct error *err);
	/* Upload: read() begins again at the first byte, so that a cut can be
	 * made good; -1 (err filled) gives up. NULL: it cannot. */
	int (*rewind)(void *arg, struct error *err);
	/* Download: takes a chunk; -1 aborts. */
	int (*write)(void *arg, struct str chunk, struct error *err);
	void *arg;
	enum file_error error; /* out */
	char detail[160];      /* out: the provider's words for FILE_OTHER */
};

#endif
