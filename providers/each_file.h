/* each_file.h - a batch of files, moved one by one by a provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EACH_FILE_H
#define PROVIDERS_EACH_FILE_H

#include "sandbox/sandbox.h"

/* What happened to this file alone. */
void file_fail(struct transfer *f, enum file_error code, const char *detail);
/*
 * struct sandbox_ops.upload and .download on top of one that moves one file:
 * checks paths and keeps an error per file. one() returns -1 when the file
 * failed without file_fail(); what the rest cannot survive (the sandbox is
 * gone, no network, stopped) ends the batch.
 */
int each_file(struct sandbox *sb, struct transfer *files, size_t n,
	      int (*one)(struct sandbox *sb, struct transfer *f,
			 const struct stop *stop, struct error *err),
	      const struct stop *stop, struct error *err);
/* For a files API without modes: one command for all that want one. */
int each_file_mode(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err);

#endif
