/* transfer.h - moves files through commands if there is no file API. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_TRANSFER_H
#define SANDBOX_TRANSFER_H

#include "sandbox/sandbox.h"

/* Like sandbox_ops.upload and .download, but through execute and in constant
 * memory. -1 if the sandbox cannot be reached; then every file that was not
 * transferred has its error set. */
int transfer_upload(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err);
int transfer_download(struct sandbox *sb, struct transfer *files, size_t n,
		      const struct stop *stop, struct error *err);

/* Sets the error of one file. Also for file APIs. */
void transfer_fail(struct transfer *f, enum file_error code,
		   const char *detail);
/* Clears f's error. False, with FILE_INVALID_PATH, unless the path is
 * absolute. */
bool transfer_path_ok(struct transfer *f);
/* True if the error will occur for the next file too, so trying is
 * pointless. */
bool transfer_fatal(const struct error *e);
struct transfer_mover {
	/* Moves one file. 0: it was moved, or f->error is set. -1: the caller
	 * sets f->error from err. */
	int (*move)(const void *arg, struct sandbox *sb, struct transfer *f,
		    const struct stop *stop, struct error *err);
	const void *arg;
};
/* Moves each file that has a valid path, in order. After a fatal error the
 * remaining files get the same error, and it is returned. */
int transfer_each(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct transfer_mover *m, const struct stop *stop,
		  struct error *err);
/* Reads at most want bytes (not 0) of the file to upload. Returns their number,
 * or -1 with an error, also at the end of the file. */
int64_t transfer_read(const struct transfer *f, char *room, size_t want,
		      struct error *err);
/* Appends exactly the next want bytes of the file, for which out must have
 * room. */
int transfer_read_all(const struct transfer *f, struct buf *out, size_t want,
		      struct error *err);
/* For a download whose first bytes may arrive again after the connection
 * broke. */
struct transfer_sink {         /* Set file; zero the rest. */
	struct transfer *file; /* borrowed */
	int64_t got;           /* bytes passed to the file */
	/* bytes to skip, because the file has received them already */
	int64_t skip;
	bool failed; /* the file's own write() failed */
};
/* Writes the next bytes; arg is the struct transfer_sink. */
int transfer_sink_write(void *arg, struct str chunk, struct error *err);
/* True if transfer_upload() needs only one request. */
bool transfer_fits(const struct sandbox *sb, int64_t size);

/*
 * File APIs write directly into the target. If a transfer is cut off, half a
 * file remains, and writes of the old transfer may arrive after the file was
 * sent again. So each attempt writes a part, a file with a new name next to the
 * target, which is then moved to the target like transfer_upload()'s.
 */
struct transfer_part {
	char id[17];
	struct buf path; /* the caller releases */
};
/* Chooses the part's path for f and creates the parent directories. If f cannot
 * be written, f->error says why. Returns 0, or -1 like transfer_upload(). */
int transfer_begin(struct sandbox *sb, struct transfer *f,
		   struct transfer_part *p, const struct stop *stop,
		   struct error *err);
/* Moves the part to the target. 0: done, or f->error says why not. 1: bytes of
 * the part are missing. -1: like transfer_upload(). */
int transfer_finish(struct sandbox *sb, struct transfer *f,
		    const struct transfer_part *p, const struct stop *stop,
		    struct error *err);
/* Deletes the part within two seconds; failures are ignored. */
void transfer_drop(struct sandbox *sb, const struct transfer *f,
		   const struct transfer_part *p);
/* Copies staged, a file in the sandbox that was written by other means, to f's
 * path. Sets mode, follows links, creates directories and reports errors as for
 * any upload; file APIs differ in these. staged is not deleted. -1 if the
 * sandbox cannot be reached. */
int transfer_place(struct sandbox *sb, struct transfer *f, const char *staged,
		   const struct stop *stop, struct error *err);
/* transfer_stage() returns a new path for such a staged file, owned: in /tmp,
 * or next to f if others must not read it (api_only). transfer_unstage()
 * deletes the file within ten seconds. */
char *transfer_stage(const struct transfer *f);
void transfer_unstage(struct sandbox *sb, const char *staged);

#endif
