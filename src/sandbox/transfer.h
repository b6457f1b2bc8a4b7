/* transfer.h - files in and out for providers without a file API. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_TRANSFER_H
#define SANDBOX_TRANSFER_H

#include "sandbox/sandbox.h"

/* As sandbox_ops.upload and .download, over execute, in constant memory.
 * -1 when the sandbox cannot be reached; what was not moved says so. */
int transfer_upload(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err);
int transfer_download(struct sandbox *sb, struct transfer *files, size_t n,
		      const struct stop *stop, struct error *err);
/* What another way wrote to staged, a path in the sandbox, becomes the file f:
 * with its mode, links, folders and errors, which no API describes alike.
 * staged stays. -1 when the sandbox cannot be reached. */
int transfer_place(struct sandbox *sb, struct transfer *f, const char *staged,
		   const struct stop *stop, struct error *err);
/* What a helper's status ("ok", "is_directory") says of a file. */
void transfer_status(struct transfer *f, const char *status);

#endif
