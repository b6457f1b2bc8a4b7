/* tar.h - files as a gzipped tar stream of known length. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_VERCEL_TAR_H
#define PROVIDERS_VERCEL_TAR_H

#include "sandbox/sandbox.h"

/*
 * POSIX ustar entries (a pax header where a name or a size needs one) in
 * deflate blocks that are stored, not compressed: thus the length is known
 * before the first byte, and memory does not grow with the files.
 */
struct vercel_tar;
/* files: borrowed, with absolute paths and the modes to write. */
struct vercel_tar *vercel_tar_new(struct transfer *const *files, size_t n);
int64_t vercel_tar_size(const struct vercel_tar *t);
/* As http_request.source; arg is the tar. -1 when a file failed. */
int64_t vercel_tar_pull(void *arg, char *room, size_t len, struct error *err);
/* The file that failed, or NULL. */
struct transfer *vercel_tar_failed(const struct vercel_tar *t);
void vercel_tar_free(struct vercel_tar *t);

#endif
